import { address, h, link, put } from "./dom.js";
import { codeBlock } from "./syntax.js";
import { programDiff } from "./difference.js";
import { genOf, placeOf } from "./follow.js";
import { count, dollars, duration, plural } from "./numbers.js";
import { failure, facts, runHead } from "./parts.js";
import { morph } from "./morph.js";
import { attemptsPart, copyButton, feedbackPart, instancesPart, notesPart, picturesPart, trustPart, valueLine } from "./program_parts.js";
import { MARKS, brief, genLink, genLinks, markOf, textBlock } from "./texts.js";
import { winsOf } from "./view_generations.js";

// One program: its code, its changes, its prompt and answer, its results on each instance.

const PARTS = [["diff", "diff"], ["code", "code"], ["attempts", "prompt and answer"], ["feedback", "feedback"], ["instances", "instances"], ["pictures", "pictures"], ["trust", "checks"]];

// The number of instances on which a failed program succeeded.
function succeeded(doc) {
  const outcomes = (doc.results || []).map(([, outcome]) => outcome);
  const well = outcomes.filter((outcome) => outcome === "ok").length;
  if (well === outcomes.length) return null;
  return h("p", { class: "quiet" }, `${well} of ${plural(outcomes.length, "instance", "instances")} succeeded`);
}

function programHead(run, gen, doc) {
  return [...titleLines(run, gen, doc), facts([...originFacts(run, gen, doc), ...comparedFacts(gen, doc), ...makingFacts(run, gen)], "double"), notesPart(doc)];
}

// The name of a generation, its value, and what is to say of both.
function titleLines(run, gen, doc) {
  const at = placeOf(run, gen.n);
  const near = (place, word) => (run.gens.n[place] === undefined ? h("span", { class: "quiet" }, word) : link(["run", run.name, "program", run.gens.n[place]], null, word));
  return [
    h("div", { class: "program-head" }, h("h2", null, `Generation ${gen.n}`), markOf(gen.mark, run), gen.name ? h("span", { class: "code-name" }, brief(gen.name, 120)) : null,
      h("span", { class: "near" }, near(at - 1, "← previous"), "  ", near(at + 1, "next →"))),
    gen.value === null ? null : h("p", { class: "value-line" }, valueLine(run, gen), doubtsOf(gen)),
    gen.reason ? h("p", { class: "bad-quiet" }, `${gen.mark === "quarantined" ? "⚠ " : ""}${MARKS[gen.mark].word}: ${brief(gen.reason, 300)}`) : null,
    succeeded(doc),
    (doc.asked || []).length ? h("p", { class: "quiet" }, doc.asked.join("; ")) : null,
    gen.why ? h("p", { class: "why" }, brief(gen.why, 800)) : null,
    doc.description && gen.mark !== "best" && gen.mark !== "correct" ? h("p", { class: "why quiet" }, brief(doc.description, 800)) : null,
  ];
}

function doubtsOf(gen) {
  const bad = (words) => h("span", { class: "bad" }, `  ${words}`);
  return [gen.excluded ? bad("excluded by a person") : null, gen.overfitted ? bad(`⚠ overfitted: ${brief(gen.overfitted, 300)}`) : null];
}

// Who made a program, from which ones, and which were made from it.
function originFacts(run, gen, doc) {
  const parents = gen.parents.map((n) => [genLink(run, n), " "]);
  const children = doc.children || [];
  return [
    ["made by", [gen.kind, gen.model ? ` by ${brief(gen.model, 80)}` : "", gen.island === null ? "" : `, island ${gen.island}`]],
    ["parent", gen.parents.length ? parents : null], ["inspired by", gen.inspirations.length ? genLinks(run, gen.inspirations) : null],
    ["children", children.length ? genLinks(run, children, 24) : "none"],
  ];
}

function comparedFacts(gen, doc) {
  return [
    ["instances", gen.wins ? [winsOf(gen.wins), h("span", { class: "quiet" }, gen.base === null || gen.base === gen.parents[0] ? " better, same, worse than the parent" : ` better, same, worse than generation ${gen.base}`)] : null],
    ["against the best", gen.best_wins ? [winsOf(gen.best_wins), h("span", { class: "quiet" }, " better, same, worse than the best at that time")] : null],
    ["audit", doc.audited ? h("span", { class: gen.fallen ? "bad" : null }, brief(doc.audited, 600)) : null],
    ["claimed", doc.claim ? brief(doc.claim, 600) : null],
  ];
}

// What was changed, by which advice and at what cost.
function makingFacts(run, gen) {
  return [
    ["changed", gen.features.length ? gen.features.join(", ") : null],
    ["guided by", gen.document === null ? null : link(["run", run.name, "meta"], { document: gen.document }, `${gen.guidance ? `recommendation ${gen.guidance[1]}` : "the notes alone"} of the insights report after ${gen.document}`)],
    ["took", [gen.tuning_evaluations ? `${count(gen.tuning_evaluations)} evaluations of its numbers, ` : "", gen.tokens ? `${count(gen.tokens)} tokens, ${dollars(gen.cost_usd)}, ` : "", `ended ${duration(gen.t === null ? null : gen.t - run.began)} after the run began`]],
    ["evaluated", gen.host ? `on host ${brief(gen.host, 60)}; CPU time, memory, crashes and a self-judged score are its word` : null],
    ["commit", gen.commit ? h("code", null, gen.commit.slice(0, 8)) : null], ["", gen.stale ? "⚠ scored by an earlier version of the judge" : null],
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
    return [h("p", { class: "empty" }, `This generation has no program.${answered ? " Its answer is under “prompt and answer”." : ""}`)];
  }
  if (other === null) return [bar, h("p", { class: "empty" }, "It has no parent. Type the number of a generation to compare it with.")];
  if (placeOf(run, other) < 0) return [bar, h("p", { class: "empty" }, `The run has no generation ${other}.`)];
  const otherDoc = await context.source.gen(run.name, other);
  if (otherDoc.code === null) return [bar, h("p", { class: "empty" }, `Generation ${other} has no program.`)];
  const patch = doc.patch && other === doc.parent ? h("details", { class: "folded" }, h("summary", null, "the patch as text"), textBlock(doc.patch)) : null;
  return [bar, ...programDiff(otherDoc, doc, `generation ${other} to ${doc.n}`), patch];
}

// The code of a program: of several files one at a time, behind a tab for each.
function codePart(run, doc, context) {
  if (doc.code === null) return h("p", { class: "empty" }, "This generation has no program.");
  if (!doc.files) return [h("p", null, copyButton(doc.code)), codeBlock(doc.code)];
  const paths = Object.keys(doc.files).sort();
  const path = paths.includes(context.query.get("file")) ? context.query.get("file") : paths[0];
  const tabs = h("nav", { class: "tabs files", "aria-label": "files of this program" }, paths.map((each) => {
    const item = link(["run", run.name, "program", doc.n], { show: "code", file: each }, brief(each, 200));
    if (each === path) item.setAttribute("aria-current", "page");
    return item;
  }));
  return [tabs, h("p", null, copyButton(doc.files[path])), codeBlock(doc.files[path])];
}

async function partOf(run, doc, context, show, go) {
  const instance = context.query.has("instance") ? Number(context.query.get("instance")) : null;
  const to = /^\d+$/.test(context.query.get("to") || "") ? Number(context.query.get("to")) : null;
  if (show === "code") return codePart(run, doc, context);
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
  const head = runHead(run, "program", context.source.live);
  if (!genOf(run, n)) return { title: run.name, head: head.node, nodes: [failure(new Error(`The run has no generation ${context.rest[0]}.`))], run };
  let doc = await context.source.gen(run.name, n);
  const usual = () => (doc.code === null ? "attempts" : genOf(run, n).parents.length ? "diff" : "code");
  const show = context.query.get("show") || usual();
  const go = (query) => context.go(address(["run", run.name, "program", n], query));
  const tabs = h("nav", { class: "tabs", "aria-label": "parts of this program" }, PARTS.map(([key, word]) => {
    const item = link(["run", run.name, "program", n], { show: key }, word);
    if (key === show) item.setAttribute("aria-current", "page");
    return item;
  }));
  const shown = async () => {
    try {
      return h("div", { class: "program-part" }, await partOf(run, doc, context, show, go));
    } catch (error) {
      return h("div", { class: "program-part" }, failure(error));
    }
  };
  const topOf = () => h("div", null, programHead(run, genOf(run, n), doc));
  const [top, body] = [topOf(), h("div")];
  body.append(await shown());
  const near = (by) => {
    const at = placeOf(run, n) + by;
    if (run.gens.n[at] !== undefined) context.instead(address(["run", run.name, "program", run.gens.n[at]], { show: context.query.get("show") }));
  };
  if (show !== "instances") context.keys({ move: near, open: () => {}, focus: () => {} });
  const inside = ({ children, notes, ...all }) => JSON.stringify(all);
  let { best } = run;
  // A program never changes, but it gets children, checks and notes, or is still under way.
  const asks = (changed) => changed.whole || changed.fields.includes("notes") || changed.generations.some((each) => each === n || run.gens.parents[placeOf(run, each)][0] === n);
  const update = async (changed) => {
    const before = [inside(doc), run.best === best];
    best = run.best;
    if (asks(changed) && genOf(run, n)) {
      try {
        doc = await context.source.gen(run.name, n);
      } catch {
        return; // the stream reports the failure of the run
      }
    }
    morph(top, topOf());
    if (inside(doc) === before[0] && before[1]) return;
    if (show === "instances") put(body, await shown());
    else morph(body.firstChild, await shown());
  };
  let updated = Promise.resolve(); // one update after the other, so that no older answer is drawn over a newer one
  const stop = context.source.follow(run.name, (_, changed) => {
    head.update();
    updated = updated.then(() => update(changed));
  });
  return { title: `${run.name}: generation ${n}`, head: head.node, nodes: [top, tabs, body], stop, run };
}
