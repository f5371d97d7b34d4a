import { h, link } from "./dom.js";
import { amount, dollars, percent, small } from "./numbers.js";
import { drawnView, section } from "./parts.js";
import { plainTable } from "./table.js";
import { brief, genLinks, linesOf } from "./texts.js";

// The stages that generations reached, the reasons of failures, and the yield of each kind, model and feature.

const STAGES = { asked: "asked", answered: "answered", parsed: "a patch could be read", applied: "it applied", new: "a new program", correct: "correct", improved: "better than its parent", best: "new best" };

function funnelPart(run) {
  const most = Math.max(1, ...run.funnel.map((row) => row.count));
  const rows = run.funnel.map((row, at) => {
    const next = run.funnel[at + 1];
    const lost = next ? row.count - next.count : 0;
    return h("div", { class: "funnel-row" }, h("span", { class: "funnel-word" }, STAGES[row.stage] || row.stage),
      h("span", { class: "funnel-bar" }, h("span", { class: "funnel-fill", css: { width: `${(100 * row.count) / most}%` } })),
      h("span", { class: "number funnel-count" }, row.count), h("span", { class: "number quiet funnel-share" }, percent(row.count / most)),
      h("span", { class: "funnel-lost quiet" }, lost > 0 ? ["ended here: ", genLinks(run, row.generations, 12)] : null));
  });
  return section("How far they came", "of all proposals", h("div", { class: "funnel" }, rows));
}

function failuresPart(run) {
  const rows = run.failures.map((row) => [
    link(["run", run.name, "generations"], { q: row.reason }, row.reason), String(row.count), percent(row.count / Math.max(1, run.funnel[0].count)),
    genLinks(run, row.generations, 14), String(row.again.length), genLinks(run, row.again, 14), h("span", { class: "lines" }, linesOf(row.example).join("\n"))]);
  return section("What failed", "count: generations that ended for that reason; asked again: refused answers and failed programs that were repaired in the same generation", plainTable(["reason", { text: "count", number: true }, { text: "share", number: true }, "generations", { text: "asked again", number: true }, "in generations", "an example"], rows, "Nothing failed."));
}

function yieldsPart(run) {
  const groups = [["kind", "patch kind"], ["model", "model"], ["feature", "feature"]];
  const heads = ["asked", "answered", "applied", "correct", "improved", "best", "gain", "cost", "gain per $"].map((text) => ({ text, number: true }));
  const failed = new Map(run.models.map((row) => [row.model, row.calls_failed_share]));
  return groups.map(([by, word]) => {
    const found = run.yields.filter((row) => row.by === by);
    const rows = found.slice(0, 60).map((row) => [
      h("span", { class: "code-name" }, brief(row.name, 70)), ...[row.asked, row.answered, row.applied, row.correct, row.improved, row.best].map(String),
      h("span", { class: row.gain > 0 ? "gain" : "quiet" }, row.gain ? amount(row.gain) : "0"), dollars(row.cost_usd), row.gain_per_usd === null ? "–" : small(row.gain_per_usd),
      ...(by === "model" ? [percent(failed.get(row.name))] : [])]);
    return section(`What each ${word} gave`, found.length > 60 ? `the 60 most requested of ${found.length}` : "improved: better than the parent, or correct if only the parent failed; gain: the sum of all improvements with a value", plainTable([word, ...heads, ...(by === "model" ? [{ text: "calls failed", number: true }] : [])], rows, "None."));
  });
}

export async function failuresView(context) {
  const run = await context.source.run(context.name);
  return drawnView(context, run, "failures", "failures", () => [funnelPart(run), failuresPart(run), yieldsPart(run)]);
}
