import { s } from "./dom.js";
import { dollars, duration, count } from "./numbers.js";

// Scales and their ticks, for the curve of a run and for runs side by side.

// About `most` round numbers between two values; the two themselves if floats are too coarse for any between them.
export function ticksOf(low, high, most) {
  const span = high - low;
  if (!(span > 0)) return [low];
  const raw = span / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= raw * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  if (!Number.isFinite(count) || Math.abs(first) + count > Number.MAX_SAFE_INTEGER) return [low, high];
  return Array.from({ length: Math.max(0, count) }, (_, k) => (first + k === 0 ? 0 : (first + k) * step));
}

// Round times in seconds, minutes or hours.
function timeTicks(high, most) {
  const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400].find((each) => high / each <= most) || high / most;
  const found = [];
  for (let at = 0; at <= high * 1.0001; at += step) found.push(at);
  return found;
}

// The possible horizontal axes of a run: name, unit, and the text of a tick.
export const MEASURES = {
  attempt: { word: "proposals", counts: "proposals that have ended", text: (value) => String(value) },
  tokens: { word: "tokens", counts: "tokens, in and out", text: (value) => count(value) },
  usd: { word: "$", counts: "US dollars spent", text: (value) => dollars(value) },
  time: { word: "time", counts: "time in sessions of the run", text: (value) => (value === 0 ? "0" : duration(value)) },
};

const FAR = 1e6;

// A position on the page, limited to far outside the picture, since paths take no infinities.
const placed = (at) => (Number.isNaN(at) ? 0 : Math.max(-FAR, Math.min(FAR, at)));

export function linear(low, high, from, to) {
  const span = high / 2 - low / 2 || 1; // halves: a difference of two floats may be beyond all of them
  return (value) => placed(from + ((value / 2 - low / 2) / span) * (to - from));
}

export function logarithmic(low, high, from, to) {
  const scale = linear(Math.log10(low), Math.log10(high), from, to);
  return (value) => scale(Math.log10(Math.max(value, low)));
}

// Powers of ten between two values; 2 and 5 between them where there are few.
export function logTicks(low, high) {
  if (!(low > 0 && Number.isFinite(high))) return [];
  const found = [];
  const few = Math.log10(high / low) < 2.5;
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power += 1)
    for (const factor of few ? [1, 2, 5] : [1]) if (factor * 10 ** power >= low && factor * 10 ** power <= high) found.push(factor * 10 ** power);
  return found;
}

export function xTicks(measure, high, width) {
  const most = Math.max(2, Math.floor(width / 90));
  if (measure === "time") return timeTicks(high, most);
  const ticks = ticksOf(0, high, most);
  return measure === "usd" ? ticks : ticks.filter(Number.isInteger);
}

// Horizontal lines with their numbers to the left.
export function yAxis(ticks, scale, left, right, text) {
  return ticks.map((tick) => [
    s("line", { class: "grid", x1: left, x2: right, y1: Math.round(scale(tick)) + 0.5, y2: Math.round(scale(tick)) + 0.5 }),
    s("text", { class: "tick", x: left - 8, y: scale(tick) + 4, "text-anchor": "end" }, text(tick)),
  ]);
}

export function xAxis(ticks, scale, top, { text, counts }, right) {
  const caption = s("text", { class: "caption", x: right, y: top + 34, "text-anchor": "end" }, counts);
  return [caption, ticks.map((tick) => {
    const x = scale(tick);
    return [
      s("line", { class: "tickmark", x1: x, x2: x, y1: top, y2: top + 5 }),
      s("text", { class: "tick", x, y: top + 18, "text-anchor": x > right - 16 ? "end" : "middle" }, text(tick)),
    ];
  })];
}

// The path of a staircase through points [x, y], each level held until the next one.
export function stairs(points, until) {
  if (!points.length) return "";
  let path = `M${points[0][0].toFixed(1)} ${points[0][1].toFixed(1)}`;
  for (const [x, y] of points.slice(1)) path += `H${x.toFixed(1)}V${y.toFixed(1)}`;
  return until === undefined ? path : `${path}H${until.toFixed(1)}`;
}
