import { address, h, link } from "./dom.js";
import { count, decimalsFor, dollars, duration, fixed, valueText } from "./numbers.js";
import { runHead } from "./parts.js";
import { audited, brief, changeOf, markOf, signOf, worded } from "./texts.js";
import { table } from "./table.js";

// Every generation in one table.

function columnsOf(run) {
  const gens = run.gens;
  const column = (key) => (at) => gens[key][at];
  const values = gens.value.filter((value) => value !== null);
  const decimals = Math.min(6, decimalsFor(values));
  const plain = values.every((value) => Math.abs(value) < 1e7 && (Math.abs(value) > 1e-4 || value === 0));
  const spends = gens.tokens.some((tokens) => tokens > 0);
  const held = gens.held_out.some((value) => value !== null);
  const several = (key) => new Set(gens[key].filter((value) => value !== null && value !== "")).size > 1;
  // 1240 in all, so that no column is out of sight at 1280: name and words have the room of columns that are not there.
  const wider = gens.fallen.some(Boolean) ? 84 : 0; // claimed and measured
  const unit = run.objective.unit ? 70 : 0; // a change names it
  const room = (held ? 0 : 82) + (several("model") ? 0 : 78) + (several("island") ? 0 : 62) + (spends ? 0 : 144) - wider - unit;
  const words = (at) => `${faultOf(gens, at)} ${gens.why[at] || ""}`.trim();
  const time = (at) => (gens.t[at] === null ? null : gens.t[at] - run.began);
  return [
    { key: "n", title: "gen", width: 56, number: true, value: column("n"), show: (at) => link(["run", run.name, "program", gens.n[at]], null, String(gens.n[at])) },
    { key: "mark", title: "outcome", width: 108, value: (at) => signOf(gens.mark[at], run).word, show: (at) => markOf(gens.mark[at], run) },
    { key: "value", title: "value", hint: run.objective.metric, width: 96 + wider, number: true, value: column("value"), show: (at) => audited(gens.fallen[at], plain ? fixed(gens.value[at], decimals) : valueText(gens.value[at])), tip: (at) => (gens.fallen[at] ? `claimed; measured ${valueText(gens.fallen[at].measured)}: ${brief(gens.fallen[at].why, 400)}` : "") },
    { key: "change", title: "change", width: 108 + unit, number: true, value: column("change"), show: (at) => changeOf(run, gens.change[at], gens.value[at]), tip: (at) => `${gens.base[at] === null || gens.base[at] === gens.parents[at][0] ? "" : `than generation ${gens.base[at]} `}${gens.medians[at] ? "by medians" : ""}`, text: (at) => worded(run, gens.change[at], gens.value[at]), hint: "against its parent; for a crossover, against the best program in its prompt" },
    ...(held ? [{ key: "held", title: "held-out", width: 82, number: true, value: column("held_out"), show: (at) => valueText(gens.held_out[at]) }] : []),
    { key: "name", title: "name", width: 68 + 0.4 * room, value: column("name"), show: (at) => brief(gens.name[at], 120), style: "code-name", tip: (at) => gens.name[at] },
    { key: "words", title: "what for, or what failed", width: 94 + 0.6 * room, value: words, show: (at) => [faultOf(gens, at) ? h("span", { class: gens.reason[at] ? "bad-quiet" : "bad" }, faultOf(gens, at), gens.why[at] ? ": " : "") : null, brief(gens.why[at], 240)], tip: (at) => brief(words(at), 600) },
    { key: "kind", title: "kind", width: 60, value: column("kind") },
    ...(several("model") ? [{ key: "model", title: "model", width: 78, value: column("model"), show: (at) => brief(gens.model[at], 60) }] : []),
    ...(several("island") ? [{ key: "island", title: "island", width: 62, number: true, value: column("island") }] : []),
    { key: "parent", title: "parent", width: 70, number: true, value: (at) => gens.parents[at][0] ?? null, show: (at) => (gens.parents[at].length ? link(["run", run.name, "program", gens.parents[at][0]], null, String(gens.parents[at][0])) : "–") },
    { key: "wins", title: "instances", width: 94, number: true, value: (at) => (gens.wins[at] ? gens.wins[at][0] - gens.wins[at][2] : null), show: (at) => winsOf(gens.wins[at]), hint: "instances better, same and worse than the parent's", text: () => "" },
    ...(spends ? [{ key: "tokens", title: "tokens", width: 74, number: true, value: column("tokens"), show: (at) => count(gens.tokens[at]) }, { key: "cost", title: "cost", width: 76, number: true, value: column("cost_usd"), show: (at) => dollars(gens.cost_usd[at]) }] : []),
    { key: "t", title: "at", width: 66, number: true, value: time, show: (at) => duration(time(at)) },
  ];
}

// A word for the fault of a generation; empty without one.
function faultOf(gens, at) {
  return gens.reason[at] ? brief(gens.reason[at], 120) : gens.excluded[at] ? "excluded" : gens.overfitted[at] ? "⚠ overfitted" : "";
}

export function winsOf(wins) {
  if (!wins) return h("span", { class: "quiet" }, "–");
  return h("span", { class: "number" }, h("span", { class: wins[0] ? "gain" : "quiet" }, `${wins[0]}↑`), " ", h("span", { class: "quiet" }, `${wins[1]}=`), " ", h("span", { class: wins[2] ? "loss" : "quiet" }, `${wins[2]}↓`));
}

export async function generationsView(context) {
  const run = await context.source.run(context.name);
  const head = runHead(run, "generations", context.source.live);
  const places = () => run.gens.n.map((_, at) => at);
  const open = (at) => context.go(address(["run", run.name, "program", run.gens.n[at]]));
  const list = table(columnsOf(run), places(), {
    words: ["row", "rows"], label: "generations", filter: context.query.get("q"), sort: ["n", false], open,
    onFilter: (q) => context.replace(address(["run", run.name, "generations"], { q })), empty: "No generation has begun.",
  });
  context.keys(list);
  const stop = context.source.follow(run.name, () => {
    head.update();
    list.set(places(), columnsOf(run)); // how many decimals there are, and whether anything was spent, is up to all values
  });
  return { title: `${run.name}: generations`, head: head.node, nodes: [list.node], stop, run };
}
