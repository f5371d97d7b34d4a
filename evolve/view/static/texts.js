import { h, link } from "./dom.js";
import { amount, valueText } from "./numbers.js";

// The words of the page: the names of marks, the references of values, the doubts about a run.

export const MARKS = {
  best: { sign: "●", word: "new best" },
  correct: { sign: "•", word: "correct" },
  failed: { sign: "×", word: "failed" },
  refused: { sign: "∅", word: "refused" },
  duplicate: { sign: "=", word: "duplicate" },
  quarantined: { sign: "⚠", word: "quarantined" },
  unanswered: { sign: "?", word: "unanswered" },
  open: { sign: "…", word: "under way" },
};

const UNENDED = { sign: "…", word: "not ended" };

// The sign and word of a mark; in a `run` that has stopped, nothing is under way.
export function signOf(mark, run) {
  if (mark === "open" && run && !run.state.running) return UNENDED;
  return MARKS[mark] || { sign: "?", word: String(mark) };
}

export function markOf(mark, run) {
  const known = signOf(mark, run);
  return h("span", { class: `mark mark-${MARKS[mark] ? mark : "open"}` }, h("span", { class: "sign" }, known.sign), " ", known.word);
}

// A run for the views: one without any program gets a default objective.
export function prepared(run) {
  if (!run.objective) run.objective = { metric: "score", direction: "maximise", unit: "" };
  return run;
}

// A row of the table of runs, live and in a report, with the doubts about its best.
export function rowOf(row) {
  return { ...row, doubts: doubts(row) };
}

// The name of the gap's reference.
export function targetWord(run) {
  return run.bound && run.bound.proven ? `proven ${run.target.name}` : run.target.name;
}

export function maximises(run) {
  return run.objective.direction === "maximise";
}

// The distance of a value behind a target, in the direction of the task; negative if it is beyond.
export function behind(run, value, target) {
  return maximises(run) ? target - value : value - target;
}

const SAME = 1e-9;

export const GAIN_UNIT = "times"; // of a repository's task

// A change in words: "5 slots better"; a negative one is worse. A change of how many times better something is, with the value that it reached: "25 % better".
export function worded(run, change, reached = null) {
  if (change === null || change === undefined) return "–";
  if (Math.abs(change) <= SAME) return "the same";
  const how = change > 0 ? "better" : "worse";
  const unit = run.objective.unit;
  if (unit !== GAIN_UNIT) return `${amount(Math.abs(change))}${unit ? ` ${brief(unit, 20)}` : ""} ${how}`;
  const before = reached === null ? 0 : reached - change;
  if (before <= 0) return `${amount(Math.abs(change))} ${how}`;
  const percent = (100 * Math.abs(change)) / before;
  return `${percent >= 0.1 ? percent.toFixed(1) : percent.toPrecision(2)} % ${how}`;
}

// The word after a change: "5 slots better than", "the same as".
export function than(change) {
  return Math.abs(change) <= SAME ? "as" : "than";
}

// `medians`: both were confirmed in other orders, and the change is between their medians.
export function changeOf(run, change, reached = null, medians = false) {
  return h("span", { class: `number ${change > SAME ? "gain" : change < -SAME ? "loss" : "quiet"}` }, worded(run, change, reached), medians ? " by medians" : "");
}

export function genLink(run, n, text) {
  return link(["run", run.name, "program", n], null, text || `gen ${n}`);
}

export function genLinks(run, generations, most = 40) {
  const shown = generations.slice(0, most).map((n) => [genLink(run, n, String(n)), " "]);
  return h("span", { class: "gens" }, shown, generations.length > most ? h("span", { class: "quiet" }, `and ${generations.length - most} more`) : null);
}

// The doubts about a run's best. `warnings` are the terminal's.
export function doubts(run) {
  const believed = run.believed || {};
  const found = [];
  if (run.self_judged) found.push("self-judged: the program shares the scoring process");
  if (believed.strict && believed.strict !== "agrees") found.push(`strict re-evaluation: ${believed.strict}`);
  found.push(...(believed.warnings || []));
  return found;
}

// The first doubt in a word; the run's first screen has all of them.
export function doubtWord(found) {
  const word = found[0].split(":")[0];
  return word.length > 40 ? "warning" : word;
}

const KEPT_END = 10;

// A name that loses its middle if it is too long for its place, since names of runs differ at their ends.
export function nameInPlace(name) {
  const text = brief(name, 200);
  if (text.length <= KEPT_END + 4) return text;
  return [h("span", { class: "middle" }, text.slice(0, -KEPT_END)), text.slice(-KEPT_END)];
}

export function valueWithUnit(run, value) {
  return valueText(value) + (run.objective.unit && value !== null ? ` ${brief(run.objective.unit, 20)}` : "");
}

// A value; where a claim fell in an audit, the claimed value struck through, with the measured one behind it.
export function audited(fallen, shown) {
  if (!fallen) return shown;
  return h("span", { class: "fallen", title: `claimed; an audit did not confirm it: ${brief(fallen.why, 400)}` }, h("s", null, fallen.claimed === null ? shown : valueText(fallen.claimed)), " ", h("span", { class: "bad" }, fallen.measured === null ? "no value" : valueText(fallen.measured)));
}

const LONGEST = 2000;

// A text as lines; a line too long to draw is cut, with a note about its length.
export function linesOf(text) {
  return String(text ?? "").split("\n").map((line) => (line.length <= LONGEST ? line : `${line.slice(0, LONGEST)} … (${(line.length - LONGEST).toLocaleString("en-US")} more characters in this line)`));
}

export function textBlock(text, kind) {
  return h("pre", { class: kind ? `text ${kind}` : "text" }, linesOf(text).join("\n"));
}

// At most `most` characters of a text, on one line, cut between words.
export function brief(text, most = 240) {
  const line = String(text ?? "").replace(/\s+/g, " ").trim();
  return line.length > most ? line.slice(0, most).replace(/(?<=\S)\s+\S*$/, "") + " …" : line;
}
