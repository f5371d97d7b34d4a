import { button, h, picture, put } from "./dom.js";
import { audited, changeOf, genLink, linesOf, textBlock, than, valueWithUnit } from "./texts.js";
import { count, decimalsFor, dollars, duration, fixed, percent, small, valueText } from "./numbers.js";
import { facts, section } from "./parts.js";
import { plainTable, table } from "./table.js";

// The parts of a program's page, one for each tab.

const ALREADY = 40000;

// A long text folded to its size, which a click opens; a short one open.
function folded(word, text, open) {
  if (text === null || text === undefined || text === "") return null;
  const size = `${count(linesOf(text).length)} lines, ${count(text.length)} characters`;
  const body = h("div");
  const details = h("details", { class: "folded" }, h("summary", null, word, h("span", { class: "quiet" }, `  ${size}`)), body);
  const fill = () => body.firstChild || put(body, textBlock(text));
  if (open && text.length < ALREADY) {
    details.open = true;
    fill();
  }
  details.addEventListener("toggle", fill);
  return details;
}

// Each HTTP request: its outcome, cost and message.
function callsOf(calls) {
  if (!calls || !calls.length) return null;
  const n = (text) => ({ text, number: true });
  const rows = calls.map((call) => [
    `${call.status}${call.http_status ? ` (HTTP ${call.http_status})` : ""}`, call.latency_s ? duration(call.latency_s) : "–", count(call.tokens_in), count(call.tokens_out), dollars(call.cost_usd),
    h("span", { class: "lines" }, [Object.entries(call.sampled || {}).map(([key, value]) => `${key} ${value}`).join(", "), call.message, ...(call.adapted || [])].filter(Boolean).join("\n"))]);
  return plainTable(["ended as", n("time"), n("tokens in"), n("tokens out"), n("cost"), "message"], rows);
}

// Every question of this generation: prompt, reasoning, answer, calls.
export function attemptsPart(run, doc) {
  if (!doc.attempts.length) return h("p", { class: "empty" }, "No model was asked for this program.");
  return doc.attempts.map((attempt) =>
    section(`Attempt ${attempt.attempt + 1}: ${attempt.status}${attempt.reason ? `, ${attempt.reason}` : ""}`, usageText(attempt),
      attempt.guidance ? h("p", null, guidanceText(attempt)) : null,
      attempt.message ? textBlock(attempt.message, "bad-quiet") : null,
      folded("prompt", attempt.prompt, false), folded("reasoning", attempt.reasoning, false), folded("answer", attempt.answer, true),
      attempt.prompt || attempt.answer ? null : h("p", { class: "quiet" }, "No model was asked: no prompt and no answer are on record."), callsOf(attempt.calls)));
}

function usageText(attempt) {
  return [attempt.model, attempt.tokens_in === undefined ? null : `${count(attempt.tokens_in)} tokens in, ${count(attempt.tokens_out)} out`, attempt.cost_usd === undefined ? null : dollars(attempt.cost_usd), attempt.latency_s ? duration(attempt.latency_s) : null, attempt.finish_reason ? `ended: ${attempt.finish_reason}` : null, attempt.tuning ? `${count(attempt.tuning.numbers)} numbers searched in ${count(attempt.tuning.evaluations)} evaluations` : null].filter(Boolean).join(" · ");
}

function guidanceText({ guidance, followed }) {
  const given = guidance.recommendation === undefined ? "the notes alone" : `recommendation ${guidance.recommendation}`;
  return `It was given ${given} of the insights report after ${guidance.document ?? "no"} programs${followed ? `; followed: ${followed}` : ""}.`;
}

export function feedbackPart(doc) {
  const failed = (doc.failures || []).map((each) => [String(each.instance ?? "–"), each.outcome, h("span", { class: "lines" }, each.detail)]);
  return [
    section("Feedback", "in the next prompt", doc.feedback ? textBlock(doc.feedback) : h("p", { class: "empty" }, "None.")),
    doc.detail ? section("Detail", null, textBlock(doc.detail)) : null,
    doc.quarantine ? section("Quarantine", null, textBlock(`⚠ ${doc.quarantine}`, "bad")) : null,
    section("Failures", null, plainTable(["instance", "outcome", "detail"], failed, "No instance failed.")),
    section("Metrics", null, plainTable(["metric", { text: "value", number: true }], Object.entries(doc.metrics || {}).map(([name, value]) => [name, valueText(value)]), "None.")),
    doc.private && Object.keys(doc.private).length ? section("Private", "never shown to a model", textBlock(JSON.stringify(doc.private, null, 2))) : null,
  ];
}

// One row per instance; worst gap first. A click shows the pictures of its answers.
export function instancesPart(run, doc, context, chosen, onChoose) {
  const rows = (doc.results || []).map(([instance, outcome, cost, bound, gap, parent, best]) => ({ instance, outcome, cost, bound, gap, parent, best }));
  if (!rows.length) return { nodes: h("p", { class: "empty" }, "No instance was judged."), list: null };
  const names = (run.instances && run.instances.names) || [];
  const decimals = decimalsFor(rows.flatMap((row) => [row.cost, row.bound]));
  const share = (row) => (row.gap === null || !row.bound ? null : row.gap / Math.abs(row.bound));
  const sense = (word) => (word === "better" ? h("span", { class: "gain" }, "↑ better") : word === "worse" ? h("span", { class: "loss" }, "↓ worse") : h("span", { class: "quiet" }, word ? "= same" : "–"));
  const columns = [
    { key: "instance", title: "instance", width: 84, number: true, value: (row) => row.instance },
    { key: "name", title: "what it is", width: 250, value: (row) => names[row.instance] || "" },
    { key: "outcome", title: "outcome", width: 100, value: (row) => row.outcome, show: (row) => (row.outcome === "ok" ? "ok" : h("span", { class: "bad-quiet" }, `× ${row.outcome}`)) },
    { key: "cost", title: "cost", width: 120, number: true, value: (row) => row.cost, show: (row) => fixed(row.cost, decimals) },
    { key: "bound", title: "bound", width: 120, number: true, value: (row) => row.bound, show: (row) => fixed(row.bound, decimals) },
    { key: "gap", title: "gap", width: 100, number: true, value: (row) => row.gap, show: (row) => small(row.gap) },
    { key: "share", title: "gap, %", width: 90, number: true, value: share, show: (row) => percent(share(row)) },
    { key: "parent", title: "vs parent", width: 100, value: (row) => row.parent, show: (row) => sense(row.parent) },
    { key: "best", title: "vs best", width: 100, value: (row) => row.best, show: (row) => sense(row.best) },
  ];
  const list = table(columns, rows, { words: ["instance", "instances"], sort: ["share", true], open: (row) => onChoose(row.instance) });
  context.keys(list);
  return { nodes: list.node, list };
}

// Pictures of the answers to one instance: the initial program's, this one's, the best's.
export async function picturesPart(run, doc, context, instance, onChoose) {
  const others = [[0, "initial program"], [doc.n, `generation ${doc.n}`], [run.best, `best, generation ${run.best}`]];
  const wanted = others.filter(([n], at) => n !== null && others.findIndex(([other]) => other === n) === at);
  const docs = await Promise.all(wanted.map(([n]) => (n === doc.n ? doc : context.source.gen(run.name, n))));
  const drawn = docs.map((each) => each.pictures || {});
  const instances = [...new Set(drawn.flatMap((each) => Object.keys(each)))].map(Number).sort((a, b) => a - b);
  if (!instances.length) return h("p", { class: "empty" }, "No pictures: the task draws none, or no answers of these programs are kept.");
  const at = instances.includes(instance) ? instance : instances[0];
  const select = h("select", { "aria-label": "instance", on: { change: () => onChoose(Number(select.value)) } }, instances.map((each) => h("option", { value: each, selected: each === at }, `instance ${each}  ${(run.instances.names || [])[each] || ""}`.slice(0, 120))));
  const cost = (each) => {
    const row = (each.results || []).find((one) => one[0] === at);
    return row ? (row[2] === null ? row[1] : `cost ${valueText(row[2])}`) : "";
  };
  const shown = docs.map((each, place) => h("figure", null, h("figcaption", null, genLink(run, each.n, wanted[place][1]), "  ", h("span", { class: "number quiet" }, cost(each))),
    drawn[place][at] ? picture(drawn[place][at], `answer of ${wanted[place][1]} to instance ${at}`) : h("p", { class: "quiet" }, "no picture kept")));
  return [h("p", null, select, " ", docs.map((each) => each.pictures_problem).filter(Boolean)[0] || ""), h("div", { class: "pictures" }, shown)];
}

const pairsOf = (value) => Object.entries(value || {}).filter(([, each]) => each !== null && each !== "" && !(Array.isArray(each) && !each.length)).map(([key, each]) => [key.replace(/_/g, " "), typeof each === "object" ? JSON.stringify(each) : typeof each === "number" ? valueText(each) : String(each)]);

// The checks of its score: strict re-evaluation, the held-out suite, fresh instances.
export function trustPart(run, doc) {
  const absent = doc.fresh && doc.fresh.state === "not_available";
  const fresh = doc.fresh && { ...doc.fresh, samples: doc.fresh.samples && doc.fresh.samples.length > 1 ? doc.fresh.samples : null };
  const part = (title, value, words) => section(title, null, value ? facts(pairsOf(value)) : h("p", { class: "empty" }, words));
  return [
    part("Strict re-evaluation", doc.strict, "Not done: only new bests are evaluated a second time, in other orders and processes."),
    part("Held-out suite", doc.held_out, "Not scored on it: only the initial program and new bests are."),
    part("Fresh instances", absent ? null : fresh, absent ? doc.fresh.text : "Not tried on them: only the best at a session's end is."),
    doc.remeasured ? part("Fresh pairs of runs", doc.remeasured.result) : null,
    section("How it was scored", null, facts([
      ["published score", doc.published_score === undefined ? null : valueText(doc.published_score)], ["sandbox", doc.sandbox], ["evaluator version", doc.evaluator_version],
      ["run time", duration(doc.runtime_s)], ["most memory", doc.peak_memory_mb ? `${fixed(doc.peak_memory_mb, 0)} MB` : null], ["self-judged", run.self_judged ? "⚠ yes: the program shares the process that made its score" : "no"]])),
  ];
}

export function notesPart(doc) {
  if (!(doc.notes || []).length) return null;
  return section("Notes", null, doc.notes.map((note) => h("blockquote", null, textBlock(note.text))));
}

export function valueLine(run, gen) {
  return [h("span", { class: "tile-big number" }, audited(gen.fallen, valueWithUnit(run, gen.value))), "  ", gen.change === null ? null : [changeOf(run, gen.change, gen.value, gen.medians), h("span", { class: "quiet" }, gen.base === null || gen.base === gen.parents[0] ? ` ${than(gen.change)} its parent` : ` ${than(gen.change)} generation ${gen.base}`)]];
}

export function copyButton(text) {
  return button("copy", async (event) => {
    await navigator.clipboard.writeText(text);
    event.target.textContent = "copied";
  });
}
