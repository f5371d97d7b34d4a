import { behind, maximises } from "./texts.js";

// The numbers of a run's curve, without drawing.

export const LANES = ["failed", "refused", "duplicate", "quarantined", "unanswered", "open"];

// The position of a generation on the horizontal axis. Attempts are counted as they end; the initial program is none.
export function xOf(run, at, measure) {
  const gens = run.gens;
  if (measure === "tokens") return gens.tokens_after[at];
  if (measure === "usd") return gens.spent_usd_after[at];
  if (measure === "time") return gens.seconds[at]; // in sessions only, without the time between them
  return gens.position[at] === null ? null : gens.position[at] - 1;
}

export function countsOf(words) {
  const counts = {};
  for (const word of words) counts[word] = (counts[word] || 0) + 1;
  return counts;
}

// The horizontal axes with values: a run without cost has none in dollars.
export function measuresOf(run) {
  const some = (column) => column.some((value) => value > 0);
  return ["attempt", ...(some(run.gens.tokens_after) ? ["tokens"] : []), ...(some(run.gens.spent_usd_after) ? ["usd"] : []), "time"];
}

// {points: [{at, n, mark, x, v}], best: [[x, v]], held: [[x, v, gap]], xMost, lines: [{name, value, kind}]}
export function curveModel(run, measure) {
  const gens = run.gens;
  const points = [];
  let xMost = 0;
  for (let at = 0; at < gens.n.length; at += 1) {
    const x = xOf(run, at, measure);
    if (x !== null) xMost = Math.max(xMost, x);
    const stands = (gens.mark[at] === "best" || gens.mark[at] === "correct") && !gens.stale[at]; // an earlier judge's values are on another scale
    points.push({ at, n: gens.n[at], mark: gens.mark[at], x, v: stands ? gens.value[at] : null });
  }
  for (const point of points) if (point.x === null) point.x = measure === "attempt" ? (xMost += 1) : xMost;
  const inOrder = points.filter((point) => gens.position[point.at] !== null).sort((a, b) => gens.position[a.at] - gens.position[b.at]);
  // Another suite's values are on another scale: without their own bound they are not drawn.
  const held = inOrder.filter((point) => gens.held_out[point.at] !== null && gens.held_out_gap[point.at] !== null).map((point) => [point.x, gens.held_out[point.at], gens.held_out_gap[point.at]]);
  return { points, best: bestSteps(gens, inOrder), held, xMost, lines: referencesOf(run, held) };
}

function bestSteps(gens, inOrder) {
  const best = [];
  for (const point of inOrder) {
    const value = gens.best_after[point.at];
    if (value !== null && (!best.length || best[best.length - 1][1] !== value)) best.push([point.x, value]);
  }
  return best;
}

// The values that are the same all through the run: baselines, bounds, the best known value.
function referencesOf(run, held) {
  const lines = (run.lines || []).filter((line) => line.value !== null).map((line) => ({ ...line, kind: "baseline" }));
  const { bound, best_known: known, target } = run;
  // An unproven bound may be unreachable, so the picture need not include it if there is a best known value.
  if (bound) lines.push({ name: target.name, value: bound.value, kind: bound.proven || !known ? "target" : "baseline" });
  if (known && !(bound && bound.proven)) lines.push({ name: "best known", value: known.value, kind: "target" });
  if (held.length) {
    const [, value, gap] = held[held.length - 1];
    lines.push({ name: `held-out ${maximises(run) ? "ceiling" : "bound"}`, value: maximises(run) ? value + gap : value - gap, kind: "held" });
  }
  return lines;
}

// The range of values in the picture, without far outliers on the bad side and distant bounds.
export function valueRange(run, model) {
  const sign = maximises(run) ? 1 : -1;
  const stand = model.points.filter((point) => point.v !== null).map((point) => sign * point.v).sort((a, b) => a - b);
  const needed = [...model.best, ...model.held].map(([, value]) => sign * value);
  if (!needed.length && !stand.length) return null;
  const most = Math.max(...needed, stand.length ? stand[stand.length - 1] : -Infinity);
  const least = Math.min(...needed, stand.length ? stand[Math.floor(stand.length / 20)] : Infinity);
  const [low, high] = withLines(least, most, model.lines.map((line) => ({ value: sign * line.value, kind: line.kind })));
  return sign > 0 ? [low, high] : [-high, -low];
}

// The range from `least` to `most`, extended to the lines that are near it, with a margin. More is better.
function withLines(least, most, lines) {
  const span = most - least || Math.abs(most) / 10 || 1;
  let [low, high] = [least, most];
  for (const { value, kind } of lines) {
    if (value > high && value - most <= (kind === "baseline" ? 0.2 : 1.5) * span) high = value;
    if (value < low && low - value <= 0.1 * span) low = value;
  }
  const pad = 0.05 * (high - low || span);
  return [low - pad, high + pad];
}

// The range of gaps to the target on a logarithmic axis: [smallest, largest], both above 0.
export function gapRange(run, model, target) {
  const gaps = [...model.best.map(([, value]) => value), ...model.points.filter((point) => point.v !== null).map((point) => point.v)]
    .map((value) => behind(run, value, target.value))
    .concat(model.held.map(([, , gap]) => gap))
    .filter((gap) => gap > Math.abs(target.value) * 1e-12);
  if (!gaps.length) return null;
  const sorted = gaps.sort((a, b) => a - b);
  const largest = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * 0.98))];
  return [sorted[0] / 1.5, Math.max(largest, sorted[0] * 2) * 1.3];
}
