import { h } from "./dom.js";
import { count, dollars, duration, fixed, moment, percent, plural } from "./numbers.js";
import { drawnView, facts, section } from "./parts.js";
import { copyButton } from "./program_parts.js";
import { plainTable } from "./table.js";
import { brief, genLink, textBlock } from "./texts.js";

// The calls to models, and the facts of the run: configuration, sessions, replay.

const KINDS = { patch: "patches", repair: "repairs", retry: "retries", insights: "insights reports" };

const numbers = (...words) => words.map((text) => ({ text, number: true }));

export async function callsView(context) {
  const run = await context.source.run(context.name);
  return drawnView(context, run, "calls", "calls", () => callsParts(run));
}

function callFacts(run) {
  const calls = run.calls;
  const latency = calls.latency_s;
  const open = run.spent.under_way;
  return facts([
    ["calls", fixed(calls.total, 0)], ["latency", latency ? `median ${duration(latency.median)}, 95 % below ${duration(latency.p95)}` : "no call was timed"],
    ["tokens", `${count(calls.tokens_in)} in${calls.tokens_cached ? ` (${count(calls.tokens_cached)} from the cache)` : ""}, ${count(calls.tokens_out)} out`], ["cost", calls.cost_usd === null ? "a price is not known" : dollars(calls.cost_usd)],
    ["failed or lost", calls.unanswered ? `${plural(calls.unanswered, "call", "calls")}, ${calls.unanswered_usd === null ? "of unknown price" : dollars(calls.unanswered_usd)} of that` : null],
    [run.state.running ? "under way" : "cut off", open.calls ? `${plural(open.calls, "call", "calls")}, for which ${count(open.tokens)} tokens, ${open.cost_usd === null ? "of unknown price" : dollars(open.cost_usd)}, are kept${run.state.running ? "" : ": they count as spent once the run is resumed"}` : null]]);
}

function callsParts(run) {
  const calls = run.calls;
  const kinds = plainTable(["for", ...numbers("calls", "share", "tokens", "cost", "failed or lost")], calls.kinds.map((row) => [
    KINDS[row.kind], fixed(row.total, 0), percent(row.total / calls.total), count(row.tokens_in + row.tokens_out), dollars(row.cost_usd), fixed(row.unanswered, 0)]), "None.");
  const messages = (status) => calls.said.filter((row) => row.status === status).map((row) => h("div", null, `${fixed(row.calls, 0)}: ${brief(row.message, 300)}`));
  const status = plainTable(["status", ...numbers("calls"), "the server's message"], Object.entries(calls.by_status || {}).map(([word, number]) => [word, fixed(number, 0), messages(word)]), "No model was called: the proposer works without one.");
  const models = plainTable(["model", ...numbers("calls", "tokens in", "tokens out", "cost", "median", "95 %")], (calls.models || []).map((row) => [
    brief(row.model, 80), fixed(row.total ?? null, 0), count(row.tokens_in), count(row.tokens_out), dollars(row.cost_usd), row.latency_s ? duration(row.latency_s.median) : "–", row.latency_s ? duration(row.latency_s.p95) : "–"]), "None.");
  const adapted = calls.adapted && calls.adapted.length ? section("Adapted requests", "the endpoint rejected a parameter", h("ul", null, calls.adapted.map((change) => h("li", null, brief(change, 300))))) : null;
  return [section("Calls", null, callFacts(run)), section("What they were for", "a repair follows a refusal or a failed evaluation; a retry sends the same request again", kinds), adapted, section("How they ended", null, status), section("By model", null, models), section("Most expensive generations", null, mostExpensive(run))];
}

function mostExpensive(run) {
  const costly = run.gens.n.map((_, at) => at).filter((at) => run.gens.tokens[at] > 0).sort((a, b) => (run.gens.cost_usd[b] ?? 0) - (run.gens.cost_usd[a] ?? 0) || run.gens.tokens[b] - run.gens.tokens[a]).slice(0, 10);
  return plainTable(["generation", "model", ...numbers("tokens", "cost"), "outcome"], costly.map((at) => [genLink(run, run.gens.n[at]), brief(run.gens.model[at], 60), count(run.gens.tokens[at]), dollars(run.gens.cost_usd[at]), run.gens.mark[at]]), "None.");
}

export async function aboutView(context) {
  const run = await context.source.run(context.name);
  return drawnView(context, run, "about", "about", () => aboutParts(run, context.source.live));
}

function aboutParts(run, live) {
  const replay = run.replay ? section("Run the best again", "and compare it with the record", h("p", { class: "command" }, h("code", null, run.replay), " ", copyButton(run.replay))) : null;
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const changed = plainTable(["key", "default", "this run"], run.config.changed.map(([key, usual, now]) => [h("code", null, key), text(usual), h("b", null, text(now))]), "Nothing differs from the defaults.");
  const sessions = plainTable(["when", "what", "detail"], run.sessions.map((session) => [h("span", { class: "when" }, moment(session.t)), session.event, session.event === "created" ? "" : brief(Object.entries(session.detail || {}).map(([key, value]) => `${key}: ${text(value)}`).join(", "), 400)]), "None.");
  const workers = run.workers.length ? section("Workers", "of the cluster; candidates per minute are those of the last five minutes", plainTable(["worker", "host", "state", "level", "evaluated", "per minute"], run.workers.map((one) => [brief(one.worker, 60), brief(one.host, 60), one.why ? `${one.change}: ${brief(one.why, 300)}` : one.change, one.level, String(one.done), one.per_minute.toFixed(1)]))) : null;
  const notes = run.notes.length ? section("Notes", null, plainTable(["when", "generation", "note"], run.notes.map((note) => [moment(note.t), note.generation === null ? "–" : genLink(run, note.generation), h("span", { class: "note" }, note.text)]))) : null;
  return [section("About this run", null, runFacts(run, live)), replay, section("Configuration: what differs from the defaults", run.config.problem || null, changed), h("details", { class: "folded" }, h("summary", null, "the whole configuration"), textBlock(run.config.text)), section("Sessions", null, sessions), workers, notes];
}

function runFacts(run, live) {
  const believed = run.believed;
  return facts([
    ["task / suite", `${run.task} / ${run.suite}`], ["scores", `${run.objective.metric}, ${run.objective.direction}${run.objective.unit ? `, in ${run.objective.unit}` : ""}`], ["seed", String(run.seed)],
    ["began", moment(run.began)], ["newest event", moment(run.newest)], ["state", run.state.text], ["run id", run.run_id ? h("code", null, run.run_id) : null], ["fingerprint", run.fingerprint ? h("code", null, run.fingerprint) : live ? "not computed on a live page; evolve list RUN --json prints it" : null],
    ["sandbox", believed.sandbox], ["evaluator version", believed.evaluator_version], ["bound", run.bound ? `${run.bound.value}, ${run.bound.proven ? "proven to be the optimum" : "proven, but it may be out of reach"}` : "none known"],
    ["best known", run.best_known ? `${run.best_known.value}${run.best_known.where_from ? `, ${run.best_known.where_from}` : ""}` : null], ["self-judged", run.self_judged ? "⚠ yes: the program shares the scoring process" : "no"]]);
}
