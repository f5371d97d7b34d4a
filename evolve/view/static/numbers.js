// Numbers for people. Every function takes null for "unknown".

const NONE = "–";

function signed(text) {
  return text.startsWith("-") ? "−" + text.slice(1) : text;
}

// The number of decimals that distinguish these values, at most six.
export function decimalsFor(values) {
  const known = [...new Set(values.filter((value) => value !== null && Number.isFinite(value)))].sort((a, b) => a - b);
  if (known.every(Number.isInteger)) return 0;
  let gap = Infinity;
  for (let i = 1; i < known.length; i += 1) if (known[i] - known[i - 1] > 1e-9) gap = Math.min(gap, known[i] - known[i - 1]);
  if (gap === Infinity) gap = Math.abs(known[0]) / 1000 || 1;
  return Math.max(0, Math.min(6, Math.ceil(-Math.log10(gap)) + 1));
}

export function fixed(value, decimals) {
  if (value === null || value === undefined) return NONE;
  return signed(value.toLocaleString("en-US", { minimumFractionDigits: decimals, maximumFractionDigits: decimals }));
}

// A score by itself: six decimals below a thousand, whole numbers whole.
export function valueText(value) {
  if (value === null || value === undefined) return NONE;
  if (Number.isInteger(value)) return fixed(value, 0);
  const size = Math.abs(value);
  if (size && size < 1e-4) return signed(value.toExponential(3));
  return fixed(value, size >= 10000 ? 1 : size >= 1000 ? 3 : 6);
}

// A difference, to three figures.
export function small(value) {
  if (value === null || value === undefined) return NONE;
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return fixed(value, 0);
  if (size < 1e-5) return signed(value.toExponential(1));
  return signed(String(Number(value.toPrecision(3))));
}

// A difference as on the terminal and in prompts: whole numbers whole, else four decimals.
export function amount(value) {
  const size = Math.abs(value);
  if (size >= 1e12) return signed(value.toExponential(6));
  if (Number.isInteger(value)) return fixed(value, 0);
  return size < 5e-5 ? signed(String(Number(value.toPrecision(2)))) : fixed(value, 4);
}

export function percent(share) {
  if (share === null || share === undefined || !Number.isFinite(share)) return NONE;
  const value = 100 * share;
  const size = Math.abs(value);
  return signed(size === 0 ? "0 %" : size < 0.01 ? "< 0.01 %" : `${value.toFixed(size < 1 ? 2 : size < 10 ? 1 : 0)} %`);
}

export function count(value) {
  if (value === null || value === undefined) return NONE;
  return Math.abs(value) < 1e5 ? fixed(value, 0) : Math.abs(value) < 1e6 ? `${(value / 1e3).toFixed(0)} k` : `${(value / 1e6).toFixed(2)} M`;
}

export function dollars(value) {
  if (value === null || value === undefined) return NONE;
  if (value === 0) return "$0";
  return value < 0.01 ? "$" + Number(value.toPrecision(2)).toString() : "$" + fixed(value, value < 1 ? 3 : 2);
}

// The cost of a run; if a price is missing, the known part and a note.
export function spentText(spent, running) {
  const open = spent.under_way.calls && !running ? ` · ${spent.under_way.calls} interrupted, not counted yet` : "";
  return costText(spent) + open;
}

function costText(spent) {
  if (spent.calls && !spent.tokens && spent.cost_usd === 0) return "$0";
  if (spent.cost_usd !== null && spent.cost_usd !== undefined) return dollars(spent.cost_usd);
  return spent.known_usd ? `${dollars(spent.known_usd)} and calls of unknown price` : "price unknown";
}

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const two = (number) => String(number).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  return `${Math.floor(whole / 3600)}h ${two(Math.floor((whole % 3600) / 60))}m`;
}

export function moment(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  return new Date(1000 * seconds).toISOString().replace("T", " ").slice(0, 19) + " UTC";
}

// The time since a moment, in its largest unit.
export function ago(seconds) {
  if (seconds === null || seconds === undefined) return NONE;
  const past = Math.max(0, Date.now() / 1000 - seconds);
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) if (past >= size) return `${fixed(Math.floor(past / size), 0)} ${unit} ago`;
  return "just now";
}

export function plural(number, one, many) {
  return `${fixed(number, 0)} ${number === 1 ? one : many}`;
}

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length === 0 ? null : sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
}
