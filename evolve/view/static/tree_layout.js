import { placeOf } from "./follow.js";

// The position of each program in the picture of the lineage. Time runs to the right; side branches are folded to a count.

const AT_ONCE = 12;
const ALL_OPEN = 60;

// The best `most` folded children of a program; of those without a value, the earliest.
function unfoldedOf(run, kept, parent, most) {
  const gens = run.gens;
  const sign = run.objective.direction === "maximise" ? 1 : -1;
  const worth = (at) => (gens.value[at] === null ? -Infinity : sign * gens.value[at]);
  const places = gens.n.map((_, at) => at).filter((at) => gens.parents[at][0] === parent && !kept.has(gens.n[at]));
  return places.sort((a, b) => (worth(a) === worth(b) ? a - b : worth(b) - worth(a))).slice(0, most).map((at) => gens.n[at]);
}

// The visible programs: all of a short run; else the lineages of the best, of each island's best and of every new best, and what the reader unfolded.
function keptOf(run, unfolded) {
  const gens = run.gens;
  if (gens.n.filter((_, at) => gens.parents[at].length).length <= ALL_OPEN) return new Set(gens.n);
  const kept = new Set();
  const up = (n) => {
    for (let at = placeOf(run, n); at >= 0 && !kept.has(gens.n[at]); at = gens.parents[at].length ? placeOf(run, gens.parents[at][0]) : -1) kept.add(gens.n[at]);
  };
  run.path.forEach((n) => kept.add(n));
  const best = new Map();
  gens.n.forEach((n, at) => {
    if (gens.mark[at] === "best") up(n);
    if (gens.mark[at] !== "correct" && gens.mark[at] !== "best") return;
    const island = gens.island[at];
    const sign = run.objective.direction === "maximise" ? 1 : -1;
    if (!best.has(island) || sign * (gens.value[at] - gens.value[best.get(island)]) > 0) best.set(island, at);
  });
  for (const at of best.values()) up(gens.n[at]);
  gens.n.forEach((n, at) => {
    if (!gens.parents[at].length) kept.add(n);
  });
  for (const n of new Set(unfolded)) unfoldedOf(run, kept, n, AT_ONCE * unfolded.filter((each) => each === n).length).forEach(up);
  return kept;
}

// The folded descendants of each kept program: {count, marks: {mark: count}, generations}.
function foldsOf(run, kept) {
  const gens = run.gens;
  const anchor = new Map();
  const folds = new Map();
  const rootOf = (n) => {
    const way = [];
    let at = n;
    while (at !== null && !kept.has(at) && !anchor.has(at)) {
      way.push(at);
      const place = placeOf(run, at);
      at = place >= 0 && gens.parents[place].length ? gens.parents[place][0] : null;
    }
    const root = at === null ? null : kept.has(at) ? at : anchor.get(at);
    way.forEach((each) => anchor.set(each, root));
    return root;
  };
  gens.n.forEach((n, at) => {
    if (kept.has(n)) return;
    const root = rootOf(n);
    if (root === null) return;
    if (!folds.has(root)) folds.set(root, { count: 0, marks: {}, generations: [] });
    const fold = folds.get(root);
    fold.count += 1;
    fold.marks[gens.mark[at]] = (fold.marks[gens.mark[at]] || 0) + 1;
    fold.generations.push(n);
  });
  return folds;
}

// {nodes: [{n, at, column, row, onPath}], edges: [{from, to, kind}], folds, rows, columns, lanes: [{island, row}]}
export function treeLayout(run, unfolded) {
  const gens = run.gens;
  const kept = keptOf(run, unfolded);
  const folds = foldsOf(run, kept);
  const order = gens.n.filter((n) => kept.has(n));
  const column = new Map(order.map((n, at) => [n, at]));
  const path = new Set(run.path);
  const chains = chainsOf(run, order, path);
  const { rowOf, lanes, rows } = rowsOf(run, chains, column, path);
  const nodes = order.map((n) => ({ n, at: placeOf(run, n), column: column.get(n), row: rowOf.get(n), onPath: path.has(n) }));
  const edges = [];
  for (const n of order) {
    const at = placeOf(run, n);
    const others = [...gens.parents[at].slice(1), ...(gens.kind[at] === "cross" ? gens.inspirations[at].slice(0, 1) : [])];
    if (gens.parents[at].length && kept.has(gens.parents[at][0])) edges.push({ from: gens.parents[at][0], to: n, kind: path.has(n) && path.has(gens.parents[at][0]) ? "path" : "first" });
    for (const other of new Set(others)) if (other !== gens.parents[at][0] && kept.has(other)) edges.push({ from: other, to: n, kind: "second" });
  }
  return { nodes, edges, folds, rows, columns: order.length, lanes };
}

// First-parent lines that are drawn straight: one is the lineage of the best, each other begins where it branches off.
function chainsOf(run, order, path) {
  const chains = [run.path.slice()];
  const chainOf = new Map(run.path.map((n) => [n, chains[0]]));
  const goneOn = new Set();
  for (const n of order) {
    if (path.has(n)) continue;
    const parent = run.gens.parents[placeOf(run, n)][0];
    const chain = chainOf.get(parent);
    if (chain && chain !== chains[0] && chain[chain.length - 1] === parent && !goneOn.has(parent)) {
      goneOn.add(parent);
      chain.push(n);
      chainOf.set(n, chain);
    } else {
      const begun = [n];
      chains.push(begun);
      chainOf.set(n, begun);
    }
  }
  return chains.filter((chain) => chain.length);
}

// A row for each chain: the lineage of the best first, then island by island; free rows are used again.
function rowsOf(run, chains, column, path) {
  const islandOf = (chain) => run.gens.island[placeOf(run, chain[0])] ?? 0;
  const rowOf = new Map();
  const lanes = [];
  let base = 0;
  const main = chains.find((chain) => path.has(chain[0]));
  if (main) {
    main.forEach((n) => rowOf.set(n, 0));
    base = 1;
  }
  const rest = chains.filter((chain) => chain !== main);
  for (const island of [...new Set(rest.map(islandOf))].sort((a, b) => a - b)) {
    const ends = [];
    for (const chain of rest.filter((each) => islandOf(each) === island)) {
      const parent = run.gens.parents[placeOf(run, chain[0])][0];
      const from = parent === undefined || !column.has(parent) ? column.get(chain[0]) : Math.min(column.get(parent) + 1, column.get(chain[0]));
      let row = ends.findIndex((end) => end < from);
      if (row < 0) row = ends.push(-1) - 1;
      ends[row] = column.get(chain[chain.length - 1]) + 1;
      chain.forEach((n) => rowOf.set(n, base + row));
    }
    lanes.push({ island, row: base, rows: ends.length });
    base += ends.length;
  }
  return { rowOf, lanes, rows: Math.max(1, base) };
}
