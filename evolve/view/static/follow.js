// What a live page is told of a run, put into the document that it has.

// Lays changed columns over a run's generations: rows of a known `n` are replaced, others put where they belong. Returns the `n` that changed.
export function mergeGens(gens, changed) {
  const places = new Map(gens.n.map((n, at) => [n, at]));
  let sorted = true;
  for (let row = 0; row < changed.n.length; row += 1) {
    const at = places.has(changed.n[row]) ? places.get(changed.n[row]) : gens.n.length;
    if (at === gens.n.length) {
      sorted = sorted && (at === 0 || gens.n[at - 1] < changed.n[row]);
      places.set(changed.n[row], at);
      for (const column of Object.keys(gens)) gens[column].push(null);
    }
    for (const column of Object.keys(changed)) {
      if (!gens[column]) gens[column] = gens.n.map(() => null);
      gens[column][at] = changed[column][row];
    }
  }
  if (!sorted) {
    const order = gens.n.map((_, at) => at).sort((a, b) => gens.n[a] - gens.n[b]);
    for (const column of Object.keys(gens)) gens[column] = order.map((at) => gens[column][at]);
  }
  return changed.n;
}

// One event: {"gens": changed columns, ...header fields that changed}. Mends `run` in place; returns what changed.
export function mergeRun(run, event) {
  const generations = event.gens ? mergeGens(run.gens, event.gens) : [];
  const fields = Object.keys(event).filter((key) => key !== "gens");
  for (const key of fields) run[key] = event[key];
  run.places = null;
  return { generations, fields };
}

// Where a generation stands in the columns, or -1.
export function placeOf(run, n) {
  if (!run.places) run.places = new Map(run.gens.n.map((each, at) => [each, at]));
  return run.places.has(n) ? run.places.get(n) : -1;
}

// One generation as an object, or null.
export function genOf(run, n) {
  const at = placeOf(run, n);
  return at < 0 ? null : Object.fromEntries(Object.keys(run.gens).map((column) => [column, run.gens[column][at]]));
}
