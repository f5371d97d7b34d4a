import { button, h, put, s } from "./dom.js";
import { MEASURES, linear, logTicks, logarithmic, stairs, ticksOf, xAxis, xTicks, yAxis } from "./axes.js";
import { LANES, countsOf, curveModel, gapRange, measuresOf, valueRange } from "./curve_model.js";
import { decimalsFor, fixed, small, valueText } from "./numbers.js";
import { MARKS, behind, brief, changeOf, markOf, maximises, signOf, targetWord, than } from "./texts.js";
import { genOf } from "./follow.js";

// The curve of a run: every proposal is a mark, failures are on a strip below, and a new point is added without redrawing the others.

const LANE = 15;
const LEFT = 92;

const GLYPHS = {
  best: (x, y) => `M${x} ${y}h0`,
  correct: (x, y) => `M${x} ${y}h0`,
  outside: (x, y) => `M${x - 3} ${y - 5}l3 5l3 -5`,
  failed: (x, y) => `M${x - 3} ${y - 3}l6 6m-6 0l6 -6`,
  refused: (x, y) => `M${x - 3.5} ${y}a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0M${x - 3} ${y + 3}l6 -6`,
  duplicate: (x, y) => `M${x - 3} ${y - 2}h6m-6 4h6`,
  quarantined: (x, y) => `M${x - 4} ${y + 3.5}h8l-4 -7zM${x} ${y - 1}v2`,
  unanswered: (x, y) => `M${x - 2} ${y - 2}a2 2 0 1 1 2.6 2.2v1.3m0 1.6v.4`,
  open: (x, y) => `M${x} ${y}m-2 0a2 2 0 1 0 4 0a2 2 0 1 0 -4 0`,
};

// `chosen`: {across, up} of the address; onChoose(across, up) is called when another axis is chosen.
export function curve(run, chosen, onChoose, onOpen) {
  let measure = measuresOf(run).includes(chosen.across) ? chosen.across : "attempt";
  let mode = chosen.up === "gap" && run.target ? "gap" : "value";
  let frame = null;
  let around = "";
  let picked = -1;
  const svg = s("svg", { class: "curve", role: "img", tabindex: "0", "aria-label": `best value of ${run.name} over its proposals` });
  const tip = h("div", { class: "tip", hidden: true });
  const bar = h("div", { class: "bar curve-bar" });
  const stage = h("div", { class: "stage" }, svg, tip);
  const beyond = h("p", { class: "beyond" });
  const node = h("section", { class: "curve-box" }, bar, stage, beyond);

  function drawBar() {
    const words = measuresOf(run);
    const pressed = (word, on, act) => button(word, act, { class: "choice", "aria-pressed": on ? "true" : "false" });
    const { target } = run;
    const legend = ["best", "correct"].map((mark) => h("span", { class: "legend" }, markOf(mark)));
    const has = (column) => run.gens[column].some((value) => value !== null);
    put(bar, h("span", { class: "choices" }, "across: ", words.map((key) => pressed(MEASURES[key].word, key === measure, () => again({ measure: key })))),
      target ? h("span", { class: "choices" }, "up: ", pressed(brief(run.objective.metric, 40), mode === "value", () => again({ mode: "value" })), pressed("gap, log", mode === "gap", () => again({ mode: "gap" }))) : null,
      h("span", { class: "legends" }, legend, h("span", { class: "legend line-best" }, "best so far"), has("held_out_gap") ? h("span", { class: "legend line-held" }, "held-out") : null));
  }

  function again(next) {
    if (next.measure) measure = next.measure;
    if (next.mode) mode = next.mode;
    onChoose(measure, mode);
    drawBar();
    draw();
  }

  // A full redraw: the model, the scales, the paths by kind of mark.
  function draw() {
    around = surroundings();
    const width = Math.max(280, stage.clientWidth || 900);
    const height = Math.max(240, Math.min(430, Math.round(width * 0.36) + 15));
    const model = curveModel(run, measure);
    const target = mode === "gap" ? run.target : null;
    const range = target ? gapRange(run, model, target) : valueRange(run, model);
    const lanes = LANES.filter((lane) => model.points.some((point) => point.mark === lane) || (lane === "open" && run.state.running));
    const right = width - 12;
    const bottom = height - 49 - lanes.length * LANE;
    const room = run.state.running ? 1.15 : 1.01;
    const xHigh = Math.max(model.xMost * room, measure === "attempt" ? model.xMost + (run.state.running ? 5 : 1) : 1e-9);
    const x = linear(0, xHigh, LEFT, right);
    const value = !range ? null : target ? logarithmic(range[0], range[1], 22, bottom) : linear(range[0], range[1], bottom, 22);
    const y = (v) => (target ? value(behind(run, v, target.value)) : value(v));
    // A held-out value has its own bound: on the axis of gaps it is at the gap to that bound.
    const yHeld = ([, v, gap]) => (target ? value(gap) : value(v));
    frame = { width, height, bottom, right, xHigh, x, y, yHeld, range, target, lanes, model, spots: [], marks: new Map(), groups: {} };
    svg.classList.toggle("many", model.points.length > 600);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const { behindMarks, aboveMarks } = references();
    put(svg, axes(), behindMarks, s("path", { class: "held-line" }), s("path", { class: "held-line held-tail" }), s("path", { class: "best-line" }), s("path", { class: "best-line best-tail" }), s("g", { class: "marks" }), aboveMarks, s("circle", { class: "halo", r: 7, cx: -20, cy: -20 }));
    drawLines();
    addMarks(model.points);
    const pointed = picked >= 0 && frame.spots.find((spot) => spot.n === picked);
    if (pointed) show(pointed);
    else hide();
  }

  function axes() {
    const { bottom, right, x, range, target, lanes, height, xHigh, y } = frame;
    const parts = [];
    if (range) {
      const ticks = target ? logTicks(range[0], range[1]) : ticksOf(range[0], range[1], Math.max(4, bottom / 50));
      const decimals = decimalsFor(ticks);
      const scale = target ? (gap) => y(maximises(run) ? target.value - gap : target.value + gap) : y;
      parts.push(yAxis(ticks, scale, LEFT, right, (tick) => (target ? small(tick) : fixed(tick, decimals))));
      const unit = run.objective.unit ? `, ${brief(run.objective.unit, 20)}` : "";
      const caption = target ? `gap to the ${targetWord(run)}${unit}: up is nearer` : `${brief(run.objective.metric, 60)}${unit}: ${maximises(run) ? "more" : "less"} is better`;
      parts.push(s("text", { class: "caption", x: LEFT, y: 12 }, caption));
    } else parts.push(s("text", { class: "caption", x: LEFT + 8, y: 40 }, "No correct program yet: nothing to draw a curve through."));
    const counts = countsOf(run.gens.mark);
    lanes.forEach((lane, at) => {
      const middle = bottom + 10 + at * LANE + LANE / 2;
      parts.push(s("line", { class: "lane", x1: LEFT, x2: right, y1: middle, y2: middle }));
      parts.push(s("text", { class: `lane-word mark-${lane}`, "data-lane": lane, x: LEFT - 8, y: middle + 4, "text-anchor": "end" }, laneText(lane, counts[lane] || 0)));
    });
    parts.push(s("line", { class: "axis", x1: LEFT, x2: right, y1: bottom + 0.5, y2: bottom + 0.5 }));
    parts.push(xAxis(xTicks(measure, xHigh, right - LEFT), x, height - 43, MEASURES[measure], right));
    return s("g", null, parts);
  }

  const laneText = (lane, number) => `${lane === "open" ? signOf(lane, run).word : lane === "quarantined" ? "quarant." : lane === "unanswered" ? "no answer" : MARKS[lane].word} ${number}`;

  // Ceiling, initial and baselines: thin lines with their names at the end away from the curve, moved apart where they would overlap; those off the
  // scale are named below the picture.
  function references() {
    const { model, range, right, bottom, y, target } = frame;
    put(beyond);
    if (!range) return { behindMarks: null, aboveMarks: null };
    const all = model.lines.filter((line) => !target || line.kind === "baseline").map((line) => ({ ...line, y: y(line.value) })).sort((a, b) => a.y - b.y);
    const named = (line) => `${line.name} ${valueText(line.value)}`;
    const sides = [["↑ off the chart", all.filter((line) => line.y < 20).reverse()], ["↓ off the chart", all.filter((line) => line.y > bottom + 1)]];
    put(beyond, sides.filter(([, lines]) => lines.length).map(([where, lines]) => h("span", null, `${where}: ${lines.map(named).join(", ")}`)));
    const wanted = all.filter((line) => line.y >= 20 && line.y <= bottom + 1);
    const levels = model.best.map(([at, v]) => [frame.x(at), y(v)]);
    // The distance of the curve from a label, at the left or at the right end.
    const room = (from, to, at) => levels.reduce((least, [px, py], k) => (px <= to && (k + 1 === levels.length || levels[k + 1][0] >= from) ? Math.min(least, Math.abs(py - at)) : least), 1000);
    const last = { start: -Infinity, end: -Infinity };
    const texts = wanted.map((line) => {
      const text = named(line);
      const wide = 6.3 * text.length;
      const [left, end] = [room(LEFT, LEFT + 10 + wide, line.y - 8), room(right - wide, right, line.y - 8)];
      const side = left > end ? "start" : "end";
      const below = Math.max(left, end) < 12 && line.kind === "baseline";
      const at = Math.max(below ? line.y + 14 : line.y - 4, last[side] + 13);
      last[side] = at;
      return s("g", { class: `reference ${line.kind}` }, s("text", { x: side === "start" ? LEFT + 10 : right - 2, y: at, "text-anchor": side }, text));
    });
    const drawn = wanted.map((line) => s("g", { class: `reference ${line.kind}` }, s("line", { x1: LEFT, x2: right, y1: line.y, y2: line.y })));
    return { behindMarks: drawn, aboveMarks: texts };
  }

  function drawLines() {
    const { model, x, y, yHeld, range, xHigh } = frame;
    if (!range) return;
    const end = x(run.state.running ? Math.min(model.xMost, xHigh) : model.xMost);
    // The level part since the last gain is a separate path: it grows with each attempt, and the others stay unchanged.
    const draw = (name, points, level) => {
      const spots = points.map((point) => [x(point[0]), level(point)]);
      const last = spots[spots.length - 1];
      set(`.${name}-line`, stairs(spots));
      set(`.${name}-tail`, last ? `M${last[0].toFixed(1)} ${last[1].toFixed(1)}H${end.toFixed(1)}` : "");
    };
    const set = (selector, d) => {
      const path = svg.querySelector(selector);
      if (path.getAttribute("d") !== d) path.setAttribute("d", d);
    };
    draw("best", model.best, ([, v]) => y(v));
    draw("held", model.held, yHeld);
  }

  function spotOf(point) {
    const { x, y, range, lanes, bottom } = frame;
    const lane = lanes.indexOf(point.mark);
    if (lane >= 0) return { n: point.n, kind: point.mark, x: x(point.x), y: bottom + 10 + lane * LANE + LANE / 2 };
    if (!range || point.v === null) return null;
    const at = y(point.v);
    const outside = at > bottom || at < 20;
    return { n: point.n, kind: outside ? "outside" : point.mark, x: x(point.x), y: outside ? (at > bottom ? bottom - 1 : 24) : at };
  }

  function addMarks(points) {
    const paths = {};
    for (const point of points) {
      const spot = spotOf(point);
      frame.marks.set(point.n, point.mark);
      if (!spot) continue;
      frame.spots.push(spot);
      paths[spot.kind] = (paths[spot.kind] || "") + GLYPHS[spot.kind](Number(spot.x.toFixed(1)), Number(spot.y.toFixed(1)));
    }
    const layer = svg.querySelector(".marks");
    const order = ["correct", "outside", ...LANES, "best"];
    for (const kind of order.filter((each) => paths[each])) layer.append(s("path", { class: `glyph glyph-${kind}`, "data-kind": kind, d: paths[kind] }));
  }

  // The frame around the marks: it changes with the first program, the first answer with a cost, the first held-out value.
  const surroundings = () => JSON.stringify([measuresOf(run), run.target, run.bound, run.best_known, run.lines, run.objective, run.gens.held_out_gap.some((value) => value !== null), run.state.running]);

  // Draws the changes; redraws everything only if a scale or an old mark changes.
  function update(changed) {
    const model = curveModel(run, measure);
    const wanted = new Set(changed.generations);
    if (changed.whole || surroundings() !== around) {
      drawBar();
      return draw();
    }
    if (!wanted.size) return undefined;
    const points = model.points.filter((point) => wanted.has(point.n));
    const moved = points.filter((point) => frame.marks.get(point.n) !== point.mark);
    const settled = moved.some((point) => frame.marks.has(point.n) && frame.marks.get(point.n) !== "open");
    if (settled || !fits(model, points)) return draw();
    frame.model = model;
    frame.spots = frame.spots.filter((spot) => spot.kind !== "open");
    svg.querySelectorAll(".glyph-open").forEach((glyph) => glyph.remove());
    addMarks(moved.filter((point) => point.mark !== "open"));
    addMarks(model.points.filter((point) => point.mark === "open"));
    const counts = countsOf(run.gens.mark);
    for (const name of frame.lanes) svg.querySelector(`[data-lane=${name}]`).textContent = laneText(name, counts[name] || 0);
    drawLines();
    const newest = moved.length ? frame.spots.find((spot) => spot.n === moved[moved.length - 1].n) : null;
    if (newest) arrive(newest);
    return undefined;
  }

  // Whether the frame has room for the points and for the lines of a model.
  function fits(model, points) {
    const outside = (level) => level < 20 || level > frame.bottom;
    if (points.some((point) => point.x > frame.xHigh || (LANES.includes(point.mark) && !frame.lanes.includes(point.mark)))) return false;
    if (!frame.range) return model.best.length === 0;
    return !model.best.some(([, v]) => outside(frame.y(v))) && !model.held.some((point) => outside(frame.yHeld(point)));
  }

  function arrive(spot) {
    const ring = s("circle", { class: "arrival", cx: spot.x, cy: spot.y, r: 9 });
    ring.addEventListener("animationend", () => ring.remove());
    svg.append(ring);
  }

  function nearest(event) {
    const box = svg.getBoundingClientRect();
    const [mx, my] = [event.clientX - box.left, event.clientY - box.top];
    let found = null;
    let least = 28 * 28;
    for (const spot of frame.spots) {
      const far = (spot.x - mx) ** 2 + (spot.y - my) ** 2 - (spot.kind === "best" ? 12 : 0);
      if (far < least) [found, least] = [spot, far];
    }
    return found;
  }

  function show(spot) {
    const halo = svg.querySelector(".halo");
    halo.setAttribute("cx", spot.x);
    halo.setAttribute("cy", spot.y);
    put(tip, tipOf(run, spot.n));
    tip.hidden = false;
    const left = spot.x + 14 + tip.offsetWidth > frame.width ? spot.x - 14 - tip.offsetWidth : spot.x + 14;
    tip.style.setProperty("left", `${Math.max(0, left)}px`);
    tip.style.setProperty("top", `${Math.max(0, Math.min(spot.y - 10, frame.height - tip.offsetHeight))}px`);
    picked = spot.n;
    svg.style.setProperty("cursor", "pointer");
  }

  function hide() {
    tip.hidden = true;
    picked = -1;
    svg.style.setProperty("cursor", "default");
    const halo = svg.querySelector(".halo");
    if (halo) halo.setAttribute("cx", -20);
  }

  svg.addEventListener("pointermove", (event) => {
    const spot = nearest(event);
    if (!spot) hide();
    else if (spot.n !== picked) show(spot);
  });
  svg.addEventListener("pointerleave", hide);
  svg.addEventListener("click", (event) => {
    const spot = nearest(event);
    if (spot) onOpen(spot.n);
  });
  svg.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (event.key === "Enter" && picked >= 0) onOpen(picked);
    if (!step) return;
    event.preventDefault();
    const row = [...frame.spots].sort((a, b) => a.x - b.x || a.n - b.n);
    const at = row.findIndex((spot) => spot.n === picked);
    const next = row[at < 0 ? (step > 0 ? 0 : row.length - 1) : Math.max(0, Math.min(row.length - 1, at + step))];
    if (next) show(next);
  });
  let width = 0;
  new ResizeObserver(() => {
    if (stage.clientWidth === width || !stage.clientWidth) return;
    width = stage.clientWidth;
    requestAnimationFrame(draw);
  }).observe(stage);
  drawBar();
  return { node, update: (changed) => frame && update(changed) };
}

// The value of a program, its change, and its distance from the target.
function valueParts(run, gen) {
  const { target } = run;
  const change = gen.change === null ? null : [changeOf(run, gen.change, gen.value, gen.medians), gen.base === gen.parents[0] ? null : ` ${than(gen.change)} generation ${gen.base}`];
  const gap = target && gen.mark !== "quarantined" ? h("span", { class: "quiet" }, `  ${small(behind(run, gen.value, target.value))} to ${target.name}`) : null;
  return [h("b", { class: "number" }, valueText(gen.value)), "  ", change, gap];
}

// The tooltip of a mark.
function tipOf(run, n) {
  const gen = genOf(run, n);
  const line = (...parts) => h("div", null, ...parts);
  return [
    line(h("b", null, `generation ${n}`), "  ", markOf(gen.mark, run), gen.stale ? "  (scored by an earlier judge)" : null),
    gen.value === null ? null : line(valueParts(run, gen)),
    gen.held_out === null ? null : line(h("span", { class: "quiet" }, "held-out "), valueText(gen.held_out)),
    gen.overfitted ? line(h("span", { class: "bad" }, `⚠ overfitted: ${brief(gen.overfitted, 160)}`)) : null,
    gen.name ? line(h("span", { class: "code-name" }, brief(gen.name, 80))) : null,
    gen.reason ? line(h("span", { class: "bad" }, brief(gen.reason, 200))) : null,
    gen.why ? line(h("span", { class: "quiet" }, brief(gen.why, 220))) : null,
    line(h("span", { class: "quiet" }, [gen.kind, gen.model, gen.island === null ? null : `island ${gen.island}`, gen.parents.length ? `from ${gen.parents.join(", ")}` : null].filter(Boolean).join(" · "))),
  ];
}
