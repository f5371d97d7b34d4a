import { h } from "./dom.js";
import { genOf } from "./follow.js";
import { duration, plural } from "./numbers.js";
import { marked } from "./marked.js";
import { drawnView, missing, section } from "./parts.js";
import { brief, changeOf, genLink, markOf, textBlock } from "./texts.js";

// The insights reports as a timeline: insights, recommendations, and their outcomes.

function outcomesOf(run, recommendation) {
  const given = recommendation.given_to || [];
  if (!given.length) return h("p", { class: "quiet" }, "Given to no generation.");
  const rows = (recommendation.outcomes || []).map((outcome) => h("li", null, genLink(run, outcome.generation), " ", markOf(outcome.mark, run), " ", outcome.change === null ? null : changeOf(run, outcome.change, genOf(run, outcome.generation).value), outcome.followed ? h("span", { class: "quiet" }, ` followed: ${outcome.followed}`) : null));
  return h("div", null, h("p", { class: "quiet" }, recommendation.sentence), h("ul", { class: "outcomes" }, rows.slice(0, 60)));
}

// Insights under the headings of their document.
function insightGroups(run, insights) {
  const groups = new Map();
  for (const insight of insights) groups.set(insight.title || "", [...(groups.get(insight.title || "") || []), insight]);
  return [...groups].map(([title, found]) => [title ? h("h4", null, brief(title, 200)) : null, h("ul", { class: "insights" }, found.map((insight) => h("li", null, marked(run, insight.text))))]);
}

// What is unfolded is drawn; `opened` holds which documents are.
function documentPart(run, document, opened) {
  const details = h("details", { class: "document", "data-key": document.after, open: opened.has(document.after) }, h("summary", null,
    h("b", null, "after ", h("span", { class: "number" }, document.after), " programs"), h("span", { class: "quiet" }, `  ${plural(document.insights.length, "insight", "insights")}, ${plural(document.recommendations.length, "recommendation", "recommendations")}  ·  ${duration(document.t === null ? null : document.t - run.began)} after the run began`)));
  const fill = () => details.children.length > 1 || details.append(documentBody(run, document.after));
  details.addEventListener("toggle", () => {
    opened[details.open ? "add" : "delete"](document.after);
    if (details.open) fill();
  });
  if (opened.has(document.after)) fill();
  return details;
}

function documentBody(run, after) {
  const document = run.meta.find((each) => each.after === after);
  const corrections = document.corrections || [];
  return h("div", { class: "unfolded" },
    document.warning ? h("p", { class: "bad-quiet" }, `⚠ ${document.warning}`) : null,
    h("h3", null, "Insights"), document.insights.length ? insightGroups(run, document.insights) : h("p", { class: "empty" }, "None."),
    h("h3", null, "Recommendations"), document.recommendations.length ? document.recommendations.map((each) => h("div", { class: "recommendation" }, h("p", null, h("b", { class: "number" }, `${each.number}. `), marked(run, each.text)), outcomesOf(run, each))) : h("p", { class: "empty" }, "None."),
    document.outcomes.length ? [h("h3", null, "Outcomes of earlier recommendations"), h("ul", { class: "insights" }, document.outcomes.map((each) => h("li", null, marked(run, each))))] : null,
    corrections.length ? [h("h3", null, "Corrections"), h("ul", null, corrections.map((each) => h("li", null, typeof each === "string" ? each : JSON.stringify(each))))] : null,
    h("details", { class: "folded" }, h("summary", null, "the report as it was written"), textBlock(document.text)));
}

export async function metaView(context) {
  const run = await context.source.run(context.name);
  const opened = new Set();
  let wanted = context.query.has("document") ? Number(context.query.get("document")) : null;
  return drawnView(context, run, "meta", "insights", () => {
    if (wanted === null && run.meta.length) wanted = run.meta[run.meta.length - 1].after;
    if (wanted !== null && run.meta.some((document) => document.after === wanted)) {
      opened.add(wanted);
      wanted = NaN; // once: what is folded afterwards stays so
    }
    const documents = run.meta.slice().reverse().map((document) => documentPart(run, document, opened));
    return section("Insights reports", documents.length ? "newest report first" : null, run.uplift ? h("p", { class: "uplift" }, `Does guidance help? ${run.uplift.sentence}`) : null, missing(run, 2000), documents);
  });
}
