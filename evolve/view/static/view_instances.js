import { address, h, link, put } from "./dom.js";
import { placeOf } from "./follow.js";
import { runHead } from "./parts.js";
import { percent, plural, small, valueText } from "./numbers.js";
import { table } from "./table.js";
import { winsOf } from "./view_generations.js";

// Instances by programs: each cell shows the distance of the cost from its bound, on one scale for the whole picture.

// Shares of the bound (or, without bounds, of the best cost that any program here had), [column][instance]: null where it failed.
export function sharesOf(found) {
  const better = found.direction === "maximise" ? -1 : 1;
  const count = found.indices.length;
  const bounded = found.bounds.some((bound) => bound !== null);
  const against = [];
  for (let i = 0; i < count; i += 1) {
    const costs = found.costs.map((column) => column[i]).filter((cost) => cost !== null && cost !== undefined);
    against.push(found.bounds[i] ?? (costs.length ? better * Math.min(...costs.map((cost) => better * cost)) : null));
  }
  const shares = found.costs.map((column) => column.map((cost, i) => (cost === null || against[i] === null ? null : (better * (cost - against[i])) / (Math.abs(against[i]) || 1))));
  return { shares, against, bounded };
}

// Better, same and worse of one column of costs against another one.
function winsBetween(found, column, other) {
  const better = found.direction === "maximise" ? -1 : 1;
  const wins = [0, 0, 0];
  found.costs[column].forEach((cost, i) => {
    const before = found.costs[other][i];
    const value = (each) => (each === null ? Infinity : better * each);
    wins[value(cost) < value(before) ? 0 : value(cost) > value(before) ? 2 : 1] += 1;
  });
  return wins;
}

function shade(share, most) {
  if (share === null) return null;
  return Math.round(6 + 74 * Math.max(0, Math.min(1, share / most)) ** 0.35);
}

function legendOf(most, bounded) {
  const steps = [0, 0.001, 0.01, 0.1, 0.4, 1].map((part) => part * most);
  return h("p", { class: "heat-legend" }, h("span", { class: "quiet" }, bounded ? "gap to the instance's bound: " : "no bounds are known; gap to the best cost that any program here had: "),
    steps.map((share) => h("span", { class: "heat heat-key", css: { "--heat": `${share === 0 ? 0 : shade(share, most)}%` } }, share === 0 ? "0" : percent(share))), " ", h("span", { class: "heat heat-failed heat-key" }, "× failed"));
}

const winsOverParent = (run, n) => run.gens.wins[placeOf(run, n)] ?? null;

// The comparison of a column's instances with its parent and with the best, below its number.
function winsBelow(run, found, column) {
  const last = found.columns.length - 1;
  const n = found.columns[column];
  const line = (wins, word) => {
    const label = wins && `${word}: better on ${wins[0]}, same on ${wins[1]}, worse on ${wins[2]}`;
    return h("span", { class: "wins-line", title: label, "aria-label": label }, winsOf(wins));
  };
  return h("span", { class: "wins-below number" }, line(winsOverParent(run, n), "against its parent"), line(column === last ? null : winsBetween(found, column, last), `against the best, generation ${found.columns[last]}`));
}

// The best, the initial program, and the other new bests, the newest first.
function bestFirst(found) {
  const [first, ...others] = found.columns.map((n, column) => [n, column]);
  return others.length ? [others.pop(), first, ...others.reverse()] : [first];
}

function heatColumns(run, found, heat) {
  const { shares, against, bounded, most, last } = heat;
  const open = (column, i) => address(["run", run.name, "program", found.columns[column]], { show: "pictures", instance: i });
  const cell = (column) => (i) => {
    const share = shares[column][i];
    if (share === null) return h("a", { class: "heat heat-failed", href: open(column, i), title: `generation ${found.columns[column]}: ${(found.outcomes[column] || [])[i] || "no cost"}` }, "×");
    return h("a", { class: "heat", href: open(column, i), css: { "--heat": `${share <= 1e-12 ? 0 : shade(share, most)}%` }, title: `generation ${found.columns[column]}, instance ${i}: cost ${valueText(found.costs[column][i])}, ${bounded ? "bound" : "best"} ${valueText(against[i])}` }, share <= 1e-12 ? "0" : percent(share));
  };
  const words = h("span", { class: "wins-below" }, h("span", { class: "wins-line" }, "vs parent"), h("span", { class: "wins-line" }, "vs best"));
  return [
    { key: "instance", title: "no.", width: 56, number: true, value: (i) => found.indices[i], show: (i) => link(["run", run.name, "program", found.columns[last]], { show: "pictures", instance: found.indices[i] }, String(found.indices[i])) },
    ...(window.innerWidth < 640 || !(found.names || []).length ? [] : [{ key: "name", title: "what it is", width: 236, value: (i) => (found.names || [])[i] || "" }]),
    { key: "bound", title: bounded ? "bound" : "best cost", width: 84, number: true, value: (i) => against[i], show: (i) => small(against[i]) },
    { key: "share", title: "holds back", width: 92, number: true, hint: `the share of this instance in the best program's ${bounded ? "distance from all bounds" : "sum"}, as in prompts`, value: (i) => found.shares[i], show: (i) => (shares[last][i] === null ? "×" : percent(found.shares[i])), below: words },
    ...bestFirst(found).map(([n, column]) => ({ key: `g${n}`, title: column === last ? `best: ${n}` : column === 0 ? `first: ${n}` : String(n), width: 86, number: true, style: "heat-cell", value: (i) => shares[column][i] ?? Infinity, show: cell(column), text: () => "", below: winsBelow(run, found, column) })),
  ];
}

// The numbers of the picture: shares, and the scale of its colours.
function heatOf(found) {
  const heat = sharesOf(found);
  const last = found.columns.length - 1;
  const sorted = heat.shares.flat().filter((share) => share !== null).sort((a, b) => a - b);
  const most = Math.max(1e-9, sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.98))] || 0);
  return { ...heat, last, most };
}

function wordsOf(found, { shares, bounded, last }) {
  const reached = shares[last].filter((share) => share !== null && share <= 1e-12).length;
  const wins = last ? winsBetween(found, last, 0) : null;
  const half = halfOf(found.shares.map((share) => share || 0));
  return [
    bounded ? `The best program reaches the bound on ${plural(reached, "instance", "instances")} of ${found.indices.length}.` : null,
    wins ? ` Against the initial program it is better on ${wins[0]}, same on ${wins[1]}, worse on ${wins[2]}.` : null,
    half ? ` ${half === 1 ? "One instance makes" : `${half} instances make`} up half of ${bounded ? "its distance from the bounds" : "its sum"}.` : null,
  ];
}

export async function instancesView(context) {
  const run = await context.source.run(context.name);
  const head = runHead(run, "instances", context.source.live);
  const part = h("section", { class: "part" });
  let [list, drawn] = [null, ""];
  const draw = () => {
    const found = run.instances;
    // The costs may come before the generations that they belong to: what those add must then be drawn too.
    const now = JSON.stringify([found, found && found.columns.map((n) => winsOverParent(run, n))]);
    if (now === drawn) return;
    drawn = now;
    if (!found || !found.columns.length || !found.indices.length) {
      list = null;
      put(part, h("p", { class: "empty" }, "No instance has been judged, or this task keeps no costs of single instances."));
      return;
    }
    const heat = heatOf(found);
    const [columns, rows, sort] = [heatColumns(run, found, heat), found.indices.map((_, i) => i), [`g${found.columns[heat.last]}`, true]];
    const words = h("div", { class: "heat-words" }, h("h2", null, "Instances", h("span", { class: "quiet note-of-title" }, "  columns: the best, the initial program and the other new bests; ↑ better, = same, ↓ worse")), h("p", null, wordsOf(found, heat)), legendOf(heat.most, heat.bounded));
    if (list) {
      list.set(rows, columns, sort);
      part.querySelector(".heat-words").replaceWith(words);
      return;
    }
    list = table(columns, rows, { words: ["instance", "instances"], sort, open: (i) => context.go(address(["run", run.name, "program", run.best ?? 0], { show: "pictures", instance: i })) });
    put(part, words, list.node);
    context.keys(list);
  };
  draw();
  const stop = context.source.follow(run.name, () => {
    head.update();
    draw();
  });
  return { title: `${run.name}: instances`, head: head.node, nodes: [part], stop, run };
}

// The number of largest shares that make up half of the whole.
function halfOf(shares) {
  let sum = 0;
  return [...shares].sort((a, b) => b - a).findIndex((share) => (sum += share) >= 0.5 - 1e-9) + 1;
}
