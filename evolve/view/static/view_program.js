import { address, h, link, put } from "./dom.js";
import { codeBlock } from "./syntax.js";
import { diffBlock } from "./difference.js";
import { genOf, placeOf } from "./follow.js";
import { count, dollars, duration } from "./numbers.js";
import { failure, facts, runHead } from "./parts.js";
import { attemptsPart, copyButton, feedbackPart, instancesPart, notesPart, picturesPart, trustPart, valueLine } from "./program_parts.js";
import { brief, genLink, genLinks, markOf, textBlock } from "./texts.js";
import { winsOf } from "./view_generations.js";

// One program: its code, what it changed, who asked for it with which words, how it did on each instance.

const PARTS = [["diff", "diff"], ["code", "code"], ["attempts", "prompt and answer"], ["feedback", "feedback"], ["instances", "instances"], ["pictures", "pictures"], ["trust", "believed?"]];

function programHead(run, gen, doc) {
  const at = placeOf(run, gen.n);
  const near = (place, word) => (run.gens.n[place] === undefined ? h("span", { class: "quiet" }, word) : link(["run", run.name, "program", run.gens.n[place]], null, word));
  const parents = gen.parents.map((n) => [genLink(run, n), " "]);
  const children = doc.children || [];
  return [
    h("div", { class: "program-head" }, h("h2", null, `Generation ${gen.n}`), markOf(gen.mark), gen.name ? h("span", { class: "code-name" }, brief(gen.name, 120)) : null,
      h("span", { class: "near" }, near(at - 1, "← previous"), "  ", near(at + 1, "next →"))),
    gen.value === null ? null : h("p", { class: "value-line" }, valueLine(run, gen), gen.overfitted ? h("span", { class: "bad" }, `  ⚠ overfitted: ${brief(gen.overfitted, 300)}`) : null),
    gen.reason ? h("p", { class: "bad-quiet" }, `${gen.mark === "quarantined" ? "⚠ " : ""}${brief(gen.reason, 300)}`) : null,
    gen.why ? h("p", { class: "why" }, brief(gen.why, 800)) : null,
    facts([
      ["made by", [gen.kind, gen.model ? ` by ${brief(gen.model, 80)}` : "", gen.island === null ? "" : `, island ${gen.island}`]],
      ["parent", gen.parents.length ? parents : null], ["inspired by", gen.inspirations.length ? genLinks(run, gen.inspirations) : null],
      ["children", children.length ? genLinks(run, children, 24) : "none"], ["instances", gen.wins ? [winsOf(gen.wins), h("span", { class: "quiet" }, " better, same, worse than the parent")] : null],
      ["changed", gen.features.length ? gen.features.join(", ") : null],
      ["guided by", gen.guidance ? link(["run", run.name, "meta"], { document: gen.guidance[0] }, `recommendation ${gen.guidance[1]} of the document after ${gen.guidance[0]}`) : null],
      ["took", [gen.tokens ? `${count(gen.tokens)} tokens, ${dollars(gen.cost_usd)}, ` : "", `ended ${duration(gen.t === null ? null : gen.t - run.began)} after the run began`]],
      ["commit", gen.commit ? h("code", null, gen.commit.slice(0, 12)) : null], ["", gen.stale ? "⚠ scored by an earlier version of the judge" : null]], "double"),
    notesPart(doc),
  ];
}

// The diff to another program, and a field to choose which.
async function diffPart(run, doc, context, to, go) {
  const other = to === null ? (doc.parent ?? null) : to;
  const field = h("input", { type: "text", class: "short", value: other ?? "", "aria-label": "generation to compare with", autocomplete: "off", on: { change: () => go({ show: "diff", to: field.value.trim() }) } });
  const quick = [["parent", doc.parent], ["initial", 0], ["best", run.best]].filter(([, n]) => n !== null && n !== undefined && n !== doc.n);
  const bar = h("p", { class: "diff-bar" }, "from generation ", field, "  ", quick.map(([word, n]) => [link(["run", run.name, "program", doc.n], { show: "diff", to: n }, `${word} (${n})`), "  "]));
  if (doc.code === null) {
    const answered = doc.attempts.some((attempt) => attempt.answer);
    return [h("p", { class: "empty" }, `No program came of this generation.${answered ? " What was answered stands under “prompt and answer”." : ""}`)];
  }
  if (other === null) return [bar, h("p", { class: "empty" }, "It has no parent. Type the number of a generation to compare it with.")];
  if (placeOf(run, other) < 0) return [bar, h("p", { class: "empty" }, `The run has no generation ${other}.`)];
  const otherDoc = await context.source.gen(run.name, other);
  if (otherDoc.code === null) return [bar, h("p", { class: "empty" }, `No program came of generation ${other}.`)];
  const patch = doc.patch && other === doc.parent ? h("details", { class: "folded" }, h("summary", null, "the patch as text"), textBlock(doc.patch)) : null;
  return [bar, diffBlock(otherDoc.code, doc.code, `generation ${other} to ${doc.n}`), patch];
}

async function partOf(run, doc, context, show, go) {
  const instance = context.query.has("instance") ? Number(context.query.get("instance")) : null;
  const to = /^\d+$/.test(context.query.get("to") || "") ? Number(context.query.get("to")) : null;
  if (show === "code") return doc.code === null ? h("p", { class: "empty" }, "No program came of this generation.") : [h("p", null, copyButton(doc.code)), codeBlock(doc.code)];
  if (show === "attempts") return attemptsPart(run, doc);
  if (show === "feedback") return feedbackPart(doc);
  if (show === "trust") return trustPart(run, doc);
  if (show === "pictures") return picturesPart(run, doc, context, instance, (each) => go({ show: "pictures", instance: each }));
  if (show === "instances") return instancesPart(run, doc, context, instance, (each) => go({ show: "pictures", instance: each })).nodes;
  return diffPart(run, doc, context, to, go);
}

export async function programView(context) {
  const run = await context.source.run(context.name);
  const n = Number(context.rest[0]);
  const gen = genOf(run, n);
  const head = runHead(run, "program", context.source.live);
  if (!gen) return { title: run.name, head: head.node, nodes: [failure(new Error(`The run has no generation ${context.rest[0]}.`))], run };
  const doc = await context.source.gen(run.name, n);
  const show = context.query.get("show") || (gen.parents.length && doc.code !== null ? "diff" : doc.code === null ? "attempts" : "code");
  const go = (query) => context.go(address(["run", run.name, "program", n], query));
  const tabs = h("nav", { class: "tabs", "aria-label": "parts of this program" }, PARTS.map(([key, word]) => {
    const item = link(["run", run.name, "program", n], { show: key }, word);
    if (key === show) item.setAttribute("aria-current", "page");
    return item;
  }));
  const body = h("div", { class: "program-part" });
  try {
    put(body, await partOf(run, doc, context, show, go));
  } catch (error) {
    put(body, failure(error));
  }
  const at = placeOf(run, n);
  const near = (by) => run.gens.n[at + by] !== undefined && context.go(address(["run", run.name, "program", run.gens.n[at + by]], { show: context.query.get("show") }));
  if (show !== "instances") context.keys({ move: near, open: () => {}, focus: () => {} });
  return { title: `${run.name}: generation ${n}`, head: head.node, nodes: [programHead(run, gen, doc), tabs, body], best: run.best, run };
}
