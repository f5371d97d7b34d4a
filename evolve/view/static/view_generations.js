import { address, h, link } from "./dom.js";
import { count, decimalsFor, dollars, duration, fixed, valueText } from "./numbers.js";
import { runHead } from "./parts.js";
import { MARKS, brief, changeOf, markOf, worded } from "./texts.js";
import { table } from "./table.js";

// Every generation in one table.

function columnsOf(run) {
  const gens = run.gens;
  const column = (key) => (at) => gens[key][at];
  const values = gens.value.filter((value) => value !== null);
  const decimals = Math.min(6, decimalsFor(values));
  const plain = values.every((value) => Math.abs(value) < 1e7 && (Math.abs(value) > 1e-4 || value === 0));
  const spends = gens.tokens.some((tokens) => tokens > 0);
  const time = (at) => (gens.t[at] === null ? null : gens.t[at] - run.began);
  return [
    { key: "n", title: "gen", width: 64, number: true, value: column("n"), show: (at) => link(["run", run.name, "program", gens.n[at]], null, String(gens.n[at])) },
    { key: "mark", title: "outcome", width: 124, value: (at) => (MARKS[gens.mark[at]] || { word: gens.mark[at] }).word, show: (at) => markOf(gens.mark[at]) },
    { key: "value", title: "value", hint: run.objective.metric, width: 110, number: true, value: column("value"), show: (at) => (plain ? fixed(gens.value[at], decimals) : valueText(gens.value[at])) },
    { key: "change", title: "change", width: 132, number: true, value: column("change"), show: (at) => changeOf(run, gens.change[at]), tip: (at) => (gens.base[at] === null || gens.base[at] === gens.parents[at][0] ? "" : `than generation ${gens.base[at]}`), text: (at) => worded(run, gens.change[at]), hint: "against its parent, of a crossover against the best program that it saw" },
    { key: "held", title: "held-out", width: 96, number: true, value: column("held_out"), show: (at) => valueText(gens.held_out[at]) },
    { key: "name", title: "name", width: 190, value: column("name"), show: (at) => brief(gens.name[at], 120), style: "code-name", tip: (at) => brief(gens.why[at], 600) },
    { key: "reason", title: "reason", width: 136, value: column("reason"), show: (at) => (gens.reason[at] ? h("span", { class: "bad-quiet" }, brief(gens.reason[at], 120)) : gens.excluded[at] ? h("span", { class: "bad" }, "excluded") : gens.overfitted[at] ? h("span", { class: "bad" }, "⚠ overfitted") : ""), text: (at) => `${gens.reason[at] || ""} ${gens.overfitted[at] ? "overfitted" : ""} ${brief(gens.why[at], 300)}` },
    { key: "kind", title: "kind", width: 70, value: column("kind") },
    { key: "model", title: "model", width: 96, value: column("model"), show: (at) => brief(gens.model[at], 60) },
    { key: "island", title: "island", width: 62, number: true, value: column("island") },
    { key: "parent", title: "parent", width: 70, number: true, value: (at) => gens.parents[at][0] ?? null, show: (at) => (gens.parents[at].length ? link(["run", run.name, "program", gens.parents[at][0]], null, String(gens.parents[at][0])) : "–") },
    { key: "wins", title: "instances", width: 124, number: true, value: (at) => (gens.wins[at] ? gens.wins[at][0] - gens.wins[at][2] : null), show: (at) => winsOf(gens.wins[at]), hint: "instances better, same and worse than the parent's", text: () => "" },
    ...(spends ? [{ key: "tokens", title: "tokens", width: 90, number: true, value: column("tokens"), show: (at) => count(gens.tokens[at]) }, { key: "cost", title: "cost", width: 90, number: true, value: column("cost_usd"), show: (at) => dollars(gens.cost_usd[at]) }] : []),
    { key: "t", title: "at", width: 80, number: true, value: time, show: (at) => duration(time(at)) },
  ];
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
    words: ["generation", "generations"], filter: context.query.get("q"), sort: ["n", false], open,
    onFilter: (q) => context.replace(address(["run", run.name, "generations"], { q })), empty: "No generation has begun.",
  });
  context.keys(list);
  const stop = context.source.follow(run.name, () => {
    head.update();
    list.set(places(), columnsOf(run)); // how many decimals there are, and whether anything was spent, is up to all values
  });
  return { title: `${run.name}: generations`, head: head.node, nodes: [list.node], stop, run };
}
