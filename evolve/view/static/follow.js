// Merges the events of a run into its document on a live page.

const PLACES = new WeakMap();

// The places of a run's generations in its columns, by their numbers.
function placesOf(run) {
  if (!PLACES.has(run)) PLACES.set(run, new Map(run.gens.n.map((n, at) => [n, at])));
  return PLACES.get(run);
}

// Merges changed columns into a run's generations: rows of a known `n` are replaced, others inserted in order. Returns the `n` that changed.
function mergeGens(run, changed) {
  const { gens } = run;
  const places = placesOf(run);
  let sorted = true;
  for (let row = 0; row < changed.n.length; row += 1) {
    const n = changed.n[row];
    if (!places.has(n)) {
      sorted = sorted && (!gens.n.length || gens.n[gens.n.length - 1] < n);
      places.set(n, gens.n.length);
      for (const column of Object.keys(gens)) gens[column].push(null);
    }
    for (const column of Object.keys(changed)) gens[column][places.get(n)] = changed[column][row];
  }
  if (!sorted) {
    const order = gens.n.map((_, at) => at).sort((a, b) => gens.n[a] - gens.n[b]);
    for (const column of Object.keys(gens)) gens[column] = order.map((at) => gens[column][at]);
    PLACES.delete(run);
  }
  return changed.n;
}

// One event: {"gens": changed columns, ...header fields that changed}. Updates `run` in place; returns what changed.
export function mergeRun(run, event) {
  const generations = event.gens ? mergeGens(run, event.gens) : [];
  const fields = Object.keys(event).filter((key) => key !== "gens");
  for (const key of fields) run[key] = event[key];
  return { generations, fields };
}

// Replaces the whole run in place.
export function replaceRun(run, found) {
  PLACES.delete(run);
  for (const key of Object.keys(run)) delete run[key];
  Object.assign(run, found, { rest_version: found.version });
  return { generations: run.gens.n, fields: Object.keys(found) };
}

// Where a generation stands in the columns, or -1.
export function placeOf(run, n) {
  return placesOf(run).get(n) ?? -1;
}

// One generation as an object, or null.
export function genOf(run, n) {
  const at = placeOf(run, n);
  return at < 0 ? null : Object.fromEntries(Object.keys(run.gens).map((column) => [column, run.gens[column][at]]));
}
