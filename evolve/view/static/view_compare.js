import { button, h, link, put, s } from "./dom.js";
import { MEASURES, linear, stairs, ticksOf, xAxis, xTicks, yAxis } from "./axes.js";
import { unifiedBlock } from "./difference.js";
import { morph } from "./morph.js";
import { count, decimalsFor, dollars, duration, fixed, plural, valueText } from "./numbers.js";
import { section } from "./parts.js";
import { plainTable } from "./table.js";
import { brief } from "./texts.js";

// Runs side by side: the differences of their configurations, their curves, and their results at equal budgets.

const AXIS = { attempts: [0, "attempt"], usd: [1, "usd"], tokens: [2, "tokens"], seconds: [3, "time"] };

// The numbers of the picture: its axes' ranges, a staircase for each run and a band for each group that has one.
function pictureOf(judged, axis) {
  const place = AXIS[axis][0];
  const runs = judged.groups.flatMap((group, at) => group.runs.map((run) => ({ run, at, points: run.curve.filter((point) => point[place] !== null && point[4] !== null).map((point) => [point[place], point[4]]) })));
  const bands = (judged.bands || []).filter((band) => band.axis === axis).map((band) => ({ ...band, at: judged.groups.findIndex((group) => group.label === band.label) }));
  const most = Math.max(0, ...runs.map((each) => each.run[axis] ?? 0));
  const values = runs.flatMap((each) => each.points.map(([, value]) => value));
  if (!values.length || !most) return null;
  const maximise = judged.objective.direction === "maximise";
  const ends = runs.filter((each) => each.points.length).map((each) => each.points[each.points.length - 1][1]);
  let [low, high] = [Math.min(...values), Math.max(...values)];
  const near = maximise ? Math.max(...ends) : Math.min(...ends);
  if (judged.bound !== null && Math.abs(judged.bound - near) <= 1.5 * (high - low)) [low, high] = [Math.min(low, judged.bound), Math.max(high, judged.bound)];
  const pad = 0.05 * (high - low || Math.abs(high) || 1);
  return { runs, bands, most, low: low - pad, high: high + pad };
}

function curvesOf(judged, axis, width) {
  const found = pictureOf(judged, axis);
  if (!found) return h("p", { class: "empty" }, "No run has a correct program along this axis.");
  const [left, right, height] = [78, width - 12, Math.max(255, Math.min(435, width * 0.36 + 15))];
  const bottom = height - 49;
  const [x, y] = [linear(0, found.most * 1.01, left, right), linear(found.low, found.high, bottom, 20)];
  const ticks = ticksOf(found.low, found.high, Math.max(4, bottom / 50));
  const decimals = decimalsFor(ticks);
  const measure = AXIS[axis][1];
  const bandOf = (band) => {
    const known = band.x.map((_, at) => at).filter((at) => band.low[at] !== null);
    if (known.length < 2) return null;
    const edge = (side, order) => order.map((at) => `${x(band.x[at]).toFixed(1)} ${y(band[side][at]).toFixed(1)}`).join("L");
    return [s("path", { class: `band series-${band.at % 7}`, d: `M${edge("low", known)}L${edge("high", known.slice().reverse())}Z` }),
      s("path", { class: `median series-${band.at % 7}`, d: stairs(known.map((at) => [x(band.x[at]), y(band.median[at])])) })];
  };
  const lineOf = ({ run, at, points }) => s("path", { class: `series series-${at % 7} ${found.bands.some((band) => band.at === at) ? "faint" : ""}`, d: stairs(points.map(([px, value]) => [x(px), y(value)]), x(run[axis] ?? 0)) },
    s("title", null, `${judged.groups[at].label}: ${brief(run.run, 80)}, ${valueText(run.value)}`));
  const bound = judged.bound !== null && judged.bound >= found.low && judged.bound <= found.high
    ? s("g", { class: "reference target" }, s("line", { x1: left, x2: right, y1: y(judged.bound), y2: y(judged.bound) }), s("text", { x: right - 2, y: y(judged.bound) - 4, "text-anchor": "end" }, `bound ${valueText(judged.bound)}`)) : null;
  const caption = `best ${judged.objective.metric}${judged.objective.unit ? `, ${judged.objective.unit}` : ""}: ${judged.objective.direction === "maximise" ? "more" : "less"} is better`;
  return s("svg", { class: "curve compare", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": caption },
    yAxis(ticks, y, left, right, (tick) => fixed(tick, decimals)), s("text", { class: "caption", x: left, y: 12 }, caption), s("line", { class: "axis", x1: left, x2: right, y1: bottom, y2: bottom }),
    xAxis(xTicks(measure, found.most, right - left), x, bottom, MEASURES[measure], right), found.bands.map(bandOf), found.runs.map(lineOf), bound);
}

// `current()`: the present comparison. Returns {node, draw}.
function curvesPart(current) {
  let axis = null;
  const stage = h("div", { class: "stage" });
  const bar = h("div", { class: "bar curve-bar" });
  const draw = () => {
    const judged = current();
    const axes = Object.keys(AXIS).filter((each) => judged.groups.some((group) => group.runs.some((run) => run[each] > 0)));
    const across = axis || axes[0] || "attempts";
    put(bar, h("span", { class: "choices" }, "across: ", axes.map((key) => button(MEASURES[AXIS[key][1]].word, () => {
      axis = key;
      draw();
    }, { class: "choice", "aria-pressed": key === across ? "true" : "false" }))), h("span", { class: "legends" }, judged.groups.map((group, at) => h("span", { class: `legend series-key series-${at % 7}` }, groupName(judged, group)))));
    put(stage, curvesOf(judged, across, Math.max(280, stage.clientWidth || 1100)));
  };
  let width = 0;
  new ResizeObserver(() => stage.clientWidth !== width && stage.clientWidth && ((width = stage.clientWidth), requestAnimationFrame(draw))).observe(stage);
  draw();
  const banded = (current().bands || []).length;
  return { node: section("Best so far", banded ? "thick: the median of a group's seeds, with the interval that holds it" : "a line for each run", bar, stage), draw };
}

const MOST_OWN = 60;

// The distinguishing settings of a group, the models and the strategy first, as many as fit.
function ownOf(judged, group) {
  const differing = (judged.differences || []).map((each) => [each.key, each.values[group.label]]);
  const ofModels = differing.map(([key, value]) => [key.match(/^models\.(.+)\.model$/), value]).filter(([found]) => found);
  const models = ofModels.filter(([, value]) => value !== null && value !== undefined).map(([found]) => found[1]);
  const others = differing.filter(([key]) => !key.startsWith("models.") && key !== "initial").map(([key, value]) => [key === "search.strategy", `${key.split(".").pop()} ${textOf(value)}`]);
  const words = [...(ofModels.length ? [models.join(" + ") || "offline"] : []), ...others.sort(([a], [b]) => b - a).map(([, word]) => word)];
  return words.reduce((text, word) => (text && text.length + word.length > MOST_OWN ? text : text ? `${text}, ${word}` : brief(word, MOST_OWN)), "");
}

function groupName(judged, group) {
  const own = ownOf(judged, group);
  return `${group.label}${own ? `: ${own}` : ""} (${plural(group.runs.length, "run", "runs")})`;
}

function textOf(value) {
  return brief(typeof value === "string" ? value : value === undefined || value === null ? "–" : JSON.stringify(value), 120);
}

function runCost(run) {
  if (!run.priced) return run.usd ? `${dollars(run.usd)} + ?` : "unknown";
  return dollars(run.usd);
}

function runsPart(judged) {
  const runs = judged.groups.flatMap((group) => group.runs.map((run) => [group, run]));
  const decimals = decimalsFor(runs.flatMap(([, run]) => [run.value, run.held_out]));
  const rows = runs.map(([group, run]) => [group.label, link(["run", run.run], null, brief(run.run, 80)), String(run.seed ?? "–"), fixed(run.value, decimals), run.generation === null ? "–" : link(["run", run.run, "program", run.generation], null, String(run.generation)),
    fixed(run.held_out, decimals), fixed(run.attempts, 0), count(run.tokens), runCost(run), duration(run.seconds), run.warnings.map((warning) => h("div", { class: "bad" }, `⚠ ${brief(warning, 300)}`))]);
  const n = (text) => ({ text, number: true });
  return section("Runs", null, plainTable(["group", "run", n("seed"), n("best"), n("generation"), n("held-out"), n("proposals"), n("tokens"), n("cost"), n("time"), ""], rows));
}

function budgetsPart(judged) {
  const all = [...(judged.cuts || []), judged.finals];
  const decimals = decimalsFor(all.flatMap((cut) => cut.groups.flatMap((group) => group.values)));
  const rows = all.flatMap((cut) => cut.groups.map((group, at) => [at ? "" : cut.label, group.label, fixed(group.median, decimals),
    group.interval ? `${fixed(group.interval.low, decimals)} to ${fixed(group.interval.high, decimals)}` : h("span", { class: "quiet" }, "fewer than five seeds"), group.interval ? `${(100 * group.interval.level).toFixed(2)} %` : "–", fixed(group.best, decimals),
    h("span", { class: "quiet number" }, group.values.length > 8 ? plural(group.values.length, "value", "values") : group.values.map((value) => fixed(value, decimals)).join("  "))]));
  const n = (text) => ({ text, number: true });
  const sentences = (judged.sentences || []).map((each) => h("p", { class: "sentence" }, each));
  const smaller = (judged.smaller_sentences || []).map((each) => h("p", null, each));
  return section("At equal budgets, and at the end", "the interval holds the median at the level in the next column", sentences,
    smaller.length ? h("details", { class: "folded" }, h("summary", null, "at smaller budgets"), smaller) : null, plainTable(["budget", "group", n("median"), n("interval"), n("level"), n("best"), n("values")], rows));
}

function judgedPart(judged, alone, curves) {
  const differences = judged.differences || [];
  const heads = ["key", ...judged.groups.map((group) => group.label)];
  const rows = differences.map((each) => [h("code", null, each.key), ...judged.groups.map((group) => textOf(each.values[group.label]))]);
  const judge = Object.entries(judged.judge || {}).filter(([key]) => key === "task" || key === "suite").map(([, value]) => value).join(" / ");
  return [
    alone ? null : h("h2", { class: "judge" }, judge),
    (judged.remarks || []).map((remark) => h("p", { class: "bad" }, `⚠ ${remark}`)),
    section("What differs", judge, judged.alike ? h("p", null, judged.alike) : plainTable(heads, rows, "The configurations are equal.")),
    curves, judged.groups.length > 1 || judged.groups[0].runs.length > 1 ? budgetsPart(judged) : null, runsPart(judged),
    (judged.diffs || []).map((each) => section("The best programs", `${each.names[0]} against ${each.names[1]}`, each.diff ? h("details", { class: "folded" }, h("summary", null, "their diff"), unifiedBlock(each.diff)) : h("p", null, "They are equal."))),
  ];
}

export async function compareView(context) {
  const names = context.name;
  let found = await context.source.compare(names);
  if (!found) throw new Error("this file has no comparison of these runs; make one with evolve report RUN RUN..., or print it with evolve compare");
  const curves = new Map();
  const curvesAt = (at) => {
    if (!curves.has(at)) curves.set(at, curvesPart(() => found.judges[at]));
    return curves.get(at);
  };
  const draw = (place) => {
    const shown = found.judges.flatMap((judged) => judged.groups.flatMap((group) => group.runs.map((run) => run.run)));
    return h("div", { class: "drawn" }, h("h1", null, `${plural(shown.length, "run", "runs")} side by side`), shown.some((name) => !names.includes(name)) ? h("p", { class: "quiet" }, "This file only has the comparison of all its runs.") : null,
      found.apart ? h("p", { class: "bad" }, `⚠ ${found.apart}`) : null, found.judges.map((judged, at) => judgedPart(judged, found.judges.length === 1, h("div", { "data-own": "", "data-key": `curves ${at}` }, place ? curvesAt(at).node : null))));
  };
  const node = draw(true);
  // A new drawing reuses the curves that are there.
  const stop = context.source.watchCompare(names, found, (next) => {
    found = next;
    morph(node, draw(false));
    found.judges.forEach((_, at) => {
      const place = node.querySelector(`[data-key="curves ${at}"]`);
      if (!place.firstChild) place.append(curvesAt(at).node);
      curvesAt(at).draw();
    });
  });
  return { title: `compare ${names.join(", ")}`, nodes: [node], stop };
}
