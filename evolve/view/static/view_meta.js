import { h } from "./dom.js";
import { duration, plural } from "./numbers.js";
import { marked } from "./marked.js";
import { runHead, section } from "./parts.js";
import { brief, changeOf, genLink, markOf, textBlock } from "./texts.js";

// The meta documents as a timeline: what was learnt, what was recommended, and what came of it.

function outcomesOf(run, recommendation) {
  const given = recommendation.given_to || [];
  if (!given.length) return h("p", { class: "quiet" }, "Given to no generation.");
  const rows = (recommendation.outcomes || []).map((outcome) => h("li", null, genLink(run, outcome.generation), " ", markOf(outcome.mark), " ", outcome.change === null ? null : changeOf(outcome.change)));
  const gained = (recommendation.outcomes || []).filter((outcome) => outcome.change > 0).length;
  return h("div", null, h("p", { class: "quiet" }, `Given to ${plural(given.length, "generation", "generations")}; ${gained ? `${gained} better than the parent` : "none better than its parent"}:`), h("ul", { class: "outcomes" }, rows.slice(0, 60)));
}

// Insights under the headings of their document.
function insightGroups(run, insights) {
  const groups = new Map();
  for (const insight of insights) groups.set(insight.title || "", [...(groups.get(insight.title || "") || []), insight]);
  return [...groups].map(([title, found]) => [title ? h("h4", null, brief(title, 200)) : null, h("ul", { class: "insights" }, found.map((insight) => h("li", null, marked(run, insight.text))))]);
}

function documentPart(run, document, open) {
  const details = h("details", { class: "document", open }, h("summary", null,
    h("b", null, "after ", h("span", { class: "number" }, document.after), " programs"), h("span", { class: "quiet" }, `  ${plural(document.insights.length, "insight", "insights")}, ${plural(document.recommendations.length, "recommendation", "recommendations")}  ·  ${duration(document.t === null ? null : document.t - run.began)} after the run began`)));
  const body = () => [
    document.problem ? h("p", { class: "bad-quiet" }, `⚠ ${document.problem}`) : null, document.warning ? h("p", { class: "bad-quiet" }, `⚠ ${document.warning}`) : null,
    h("h3", null, "Insights"), document.insights.length ? insightGroups(run, document.insights) : h("p", { class: "empty" }, "None."),
    h("h3", null, "Recommendations"), document.recommendations.length ? document.recommendations.map((each) => h("div", { class: "recommendation" }, h("p", null, h("b", { class: "number" }, `${each.number}. `), marked(run, each.text)), outcomesOf(run, each))) : h("p", { class: "empty" }, "None."),
    (document.corrections || []).length ? [h("h3", null, "Corrections"), h("ul", null, document.corrections.map((each) => h("li", null, typeof each === "string" ? each : JSON.stringify(each))))] : null,
    h("details", { class: "folded" }, h("summary", null, "the document as it was written"), textBlock(document.text)),
  ];
  const fill = () => details.children.length > 1 || details.append(...[h("div", { class: "unfolded" }, body())]);
  details.addEventListener("toggle", fill);
  if (open) fill();
  return details;
}

export async function metaView(context) {
  const run = await context.source.run(context.name);
  const head = runHead(run, "meta", context.source.live);
  const wanted = context.query.has("document") ? Number(context.query.get("document")) : run.meta.length ? run.meta[run.meta.length - 1].after : null;
  const documents = run.meta.slice().reverse().map((document) => documentPart(run, document, document.after === wanted));
  const nodes = documents.length ? documents : h("p", { class: "empty" }, "No meta document. Every ten programs one is written, unless meta_every is 0.");
  return { title: `${run.name}: learnt`, head: head.node, nodes: [section("What was learnt", "newest document first", nodes)], best: run.best, run };
}
