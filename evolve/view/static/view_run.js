import { address, button, h, link, put } from "./dom.js";
import { curve } from "./curve.js";
import { countsOf } from "./curve_model.js";
import { genOf } from "./follow.js";
import { percent, plural, small, valueText } from "./numbers.js";
import { morph } from "./morph.js";
import { inline } from "./marked.js";
import { missing, runHead, section } from "./parts.js";
import { GAIN_UNIT, audited, behind, brief, changeOf, doubtWord, doubts, genLink, targetWord, than } from "./texts.js";
import { programDiff } from "./difference.js";

// The first screen of a run: its best, cost, lineage and checks.

const MOST_STEPS = 40;
const FAILED = new Set(["failed", "refused", "duplicate", "quarantined", "unanswered"]);

function tile(word, big, below, kind) {
  return h("div", { class: `tile ${kind || ""}` }, h("div", { class: "tile-word" }, word), h("div", { class: "tile-big number" }, big), h("div", { class: "tile-below quiet" }, below));
}

function bestTile(run) {
  const initial = (run.lines || []).find((line) => line.name === "initial");
  if (run.best === null || run.best === undefined) return tile("best", "–", "no correct program yet");
  const best = genOf(run, run.best);
  const from = initial && initial.value !== null ? `from ${valueText(initial.value)}, ` : "";
  const word = `best ${brief(run.objective.metric, 40)}${run.objective.unit ? `, ${brief(run.objective.unit, 20)}` : ""}${best.fallen ? ": claimed, measured" : ""}`;
  return tile(word, audited(best.fallen, valueText(best.value)), [from, genLink(run, run.best, `generation ${run.best}`), " · ", link(["run", run.name, "program", run.best], { show: "code" }, "code"), run.believed.orders ? h("div", null, brief(run.believed.orders, 100)) : null, run.believed.remeasured ? h("div", null, `measured at the end: ${brief(run.believed.remeasured, 200)}`) : null]);
}

// The best known value and the distance from it, unless the gap is to it anyway.
function knownText(run) {
  const known = run.best_known;
  if (!known || (run.bound && run.bound.proven)) return null;
  const source = known.where_from ? `, ${brief(known.where_from, 70)}` : "";
  if (run.target.name === "best known") return source;
  const short = behind(run, run.best_value, known.value);
  if (short < 0 && !known.beaten) return h("div", null, `not confirmed against the best known (${valueText(known.value)}${source})`);
  return h("div", { class: short < 0 ? "gain" : "" }, `${short < 0 ? "beyond the best known by" : "to the best known"} ${small(Math.abs(short))} (${valueText(known.value)}${source})`);
}

function gapTile(run) {
  const { target, gap } = run;
  if (!target) return tile("gap", "no bound", "the task has neither a bound nor a best known value");
  const word = targetWord(run);
  if (gap === null) return tile(`gap to ${word}`, "–", `${word} ${valueText(target.value)}`);
  const share = target.value ? percent(Math.abs(gap / target.value)) : null;
  const below = [share ? `${share} of ${valueText(target.value)}` : valueText(target.value), knownText(run)];
  if (gap < 0 && target.name === "best known" && !run.best_known.beaten) return tile(`gap to ${word}`, "not confirmed", below);
  return gap < 0 ? tile(`beyond the ${word} by`, small(-gap), below, "good") : tile(`gap to ${word}`, small(gap), below);
}

// Whether the best does worse on the held-out suite than the best before it.
function worse(run) {
  const held = run.believed.held_out;
  return Boolean(held && / worse than /.test(held.change || ""));
}

function heldTile(run) {
  const { believed } = run;
  const held = believed.held_out;
  if (!held) return tile("held-out", "–", "no held-out suite, or not scored yet");
  const word = believed.overfitted ? h("span", { class: "bad" }, "⚠ overfitted") : held.correct ? (worse(run) ? "correct there" : believed.holds ? "✓ holds" : "correct there") : h("span", { class: "bad" }, "⚠ fails there");
  return tile(`held-out${held.suite ? ` (${held.suite})` : ""}`, valueText(held.value), [held.gap === null || held.gap === undefined ? null : `gap ${small(held.gap)} · `, word, held.change ? h("div", { class: worse(run) ? "loss" : "" }, held.change) : null]);
}

function believedTile(run) {
  const { strict, sandbox, quarantined, fresh } = run.believed;
  const against = doubts(run);
  const below = [
    strict === "agrees" ? "strict agrees" : strict ? null : "strict not asked",
    sandbox ? `sandbox ${sandbox}` : null, `${quarantined || 0} quarantined`,
    run.objective.unit === GAIN_UNIT ? "a program runs in the process of its tests: they catch mistakes, not malice, so read its patch" : fresh ? `fresh instances ${brief(fresh.text, 300)}` : null,
  ].filter(Boolean).join(" · ");
  const audit = run.audit ? h("div", { class: run.audit.falls ? "bad" : null }, run.audit.text) : null;
  if (run.audit && run.audit.falls) return tile("checks", h("span", { class: "bad" }, `⚠ ${plural(run.audit.falls, "claim falls", "claims fall")}`), [audit, against.map((doubt) => h("div", { class: "bad" }, brief(doubt, 500))), below]);
  if (against.length) return tile("checks", h("span", { class: "bad" }, `⚠ ${doubtWord(against)}`), [against.map((doubt) => h("div", { class: "bad" }, brief(doubt, 500))), audit, below]);
  return tile("checks", run.best === null ? "–" : worse(run) ? "held-out got worse" : run.funnel.find((row) => row.stage === "new").count ? "✓ no check failed" : "–", run.best !== null && !run.funnel.find((row) => row.stage === "new").count ? "no proposal was evaluated: only the initial program stands" : [audit, below]);
}

// The gain of a step. A failed parent has no value to compare with, and a crossover is compared with another program than its parent.
function gainOf(run, gen) {
  const parent = genOf(run, gen.parents[0]);
  if (gen.change === null && gen.value !== null && parent && parent.value === null) {
    const first = !run.gens.n.some((n, at) => n < gen.n && run.gens.value[at] !== null);
    return h("span", { class: "number gain" }, `${first ? "first correct" : "correct again"}, ${valueText(gen.value)}`);
  }
  const against = gen.base !== null && gen.base !== gen.parents[0] ? h("span", { class: "quiet against" }, `${than(gen.change)} generation ${gen.base}`) : null;
  return [changeOf(run, gen.change, gen.value, gen.medians), against];
}

// One step in the lineage of the best: its gain in words, its diff when unfolded.
function step(run, n, context) {
  const gen = genOf(run, n);
  const parent = gen.parents[0];
  const body = h("div", { class: "unfolded", "data-own": "" });
  const details = h("details", { class: "step", "data-key": n },
    h("summary", null, h("span", { class: "step-n number" }, n), gainOf(run, gen), h("span", { class: "code-name" }, brief(gen.name || gen.kind, 70)), h("span", { class: "step-diff" }, "diff"), gen.overfitted ? h("span", { class: "bad" }, "⚠ overfitted") : null),
    body);
  details.addEventListener("toggle", async () => {
    if (!details.open || body.firstChild) return;
    put(body, h("p", { class: "quiet" }, "Opening …"));
    try {
      const [before, after] = await Promise.all([context.source.gen(run.name, parent), context.source.gen(run.name, n)]);
      put(body, gen.why ? h("p", null, brief(gen.why, 600)) : null,
        h("p", { class: "quiet" }, genLink(run, n, "whole program"), " · ", link(["run", run.name, "program", n], { show: "attempts" }, "prompt and answer"), " · ", gen.kind, gen.model ? ` by ${gen.model}` : "", " · value ", valueText(gen.value)),
        ...programDiff(before, after, `generation ${parent} to ${n}`));
    } catch (error) {
      put(body, h("p", { class: "bad" }, error.message));
    }
  });
  return details;
}

function wayToBest(run, context, far, further) {
  const steps = run.path.filter((n) => genOf(run, n) && genOf(run, n).parents.length);
  const ends = [run.since_best, run.tuning_baseline].map((remark) => (remark && remark.text ? h("p", null, brief(remark.text, 400)) : null));
  if (!steps.length) return section("Lineage of the best", null, h("p", { class: "empty" }, run.best === null ? "No correct program yet." : "The initial program is still the best one."), ends);
  const hidden = far ? 0 : Math.max(0, steps.length - MOST_STEPS);
  const list = h("div", { class: "steps" }, steps.slice(0, steps.length - hidden).map((n) => step(run, n, context)), hidden ? button(`${hidden} more steps`, further) : null);
  return section("Lineage of the best", `${plural(steps.length, "step", "steps")}, change against the parent`, list, ends);
}

function learnt(run) {
  const newest = run.meta[run.meta.length - 1];
  if (!newest) return section("Insights report", null, missing(run, 300));
  // Tables are only shown in the view of the report.
  const insights = newest.insights.filter((insight) => !/\|\s*-{3}/.test(insight.text || "")).slice(0, 4).map((insight) => h("li", null, inline(run, brief(insight.text || insight.title))));
  return section("Insights report", `after ${newest.after} programs`, missing(run, 300), h("ul", { class: "insights" }, insights),
    h("p", null, link(["run", run.name, "meta"], null, `${plural(newest.insights.length, "insight", "insights")}, ${plural(newest.recommendations.length, "recommendation", "recommendations")} with their outcomes`)));
}

function failed(run) {
  const counts = countsOf(run.gens.n.flatMap((_, at) => (FAILED.has(run.gens.mark[at]) ? [run.gens.reason[at] || run.gens.mark[at]] : [])));
  const rows = Object.entries(counts).sort((a, b) => b[1] - a[1]);
  const lost = rows.reduce((sum, [, count]) => sum + count, 0);
  const list = rows.slice(0, 6).map(([reason, count]) => [link(["run", run.name, "generations"], { q: reason }, `${brief(reason, 60)} ${count}`), " · "]);
  const again = run.failures.reduce((sum, row) => sum + row.again.length, 0);
  return section("What failed", `${lost} of ${plural(run.funnel[0].count, "proposal", "proposals")}`, h("p", null, list, again ? `${plural(again, "answer", "answers")} refused and asked for again · ` : null, link(["run", run.name, "failures"], null, "all failures")));
}

export async function runView(context) {
  const run = await context.source.run(context.name);
  const head = runHead(run, "", context.source.live);
  const chosen = { across: context.query.get("across"), up: context.query.get("up") };
  const choose = (across, up) => context.replace(address(["run", run.name], { across: across === "attempt" ? null : across, up: up === "value" ? null : up }));
  const picture = curve(run, chosen, choose, (n) => context.go(address(["run", run.name, "program", n])));
  let far = false;
  const tilesOf = () => h("div", { class: "tiles" }, bestTile(run), gapTile(run), heldTile(run), believedTile(run));
  const belowOf = () => h("div", { class: "two" }, h("div", null, wayToBest(run, context, far, further)), h("div", null, learnt(run), failed(run)));
  const further = () => {
    far = true;
    morph(below, belowOf());
  };
  const [tiles, below] = [tilesOf(), belowOf()];
  const stop = context.source.follow(run.name, (_, changed) => {
    picture.update(changed);
    head.update();
    morph(tiles, tilesOf());
    if (changed.rest || changed.generations.length) morph(below, belowOf());
  });
  return { title: run.name, head: head.node, nodes: [tiles, picture.node, below], stop, run };
}
