import { address, button, h, put, s } from "./dom.js";
import { genOf } from "./follow.js";
import { plural, valueText } from "./numbers.js";
import { runHead } from "./parts.js";
import { brief, signOf, worded } from "./texts.js";
import { treeLayout } from "./tree_layout.js";

// The lineage of all programs. The line to the best is straight; side branches without a new best are folded to a count.

const TREE_TOP = 40;
const MOST_UNFOLDED = 100;

function drawTree(run, unfolded, width, context, again) {
  const layout = treeLayout(run, unfolded);
  const [laneHeight, beyond, least] = layout.folds.size ? [46, 125, 38] : [32, 50, 20]; // a count of folded ones takes room
  const left = layout.lanes.length > 1 ? 84 : 30;
  const step = Math.max(least, Math.min(120, (width - left - 60) / Math.max(1, layout.columns - 1)));
  const at = new Map(layout.nodes.map((node) => [node.n, { x: left + node.column * step, y: TREE_TOP + node.row * laneHeight }]));
  const lanes = layout.lanes.length < 2 ? [] : [s("text", { class: "tick", x: 4, y: TREE_TOP + 4 }, "to the best")].concat(layout.lanes.map((lane) => [
    s("line", { class: "lane-line", x1: 0, x2: left + layout.columns * step + 60, y1: TREE_TOP + lane.row * laneHeight - laneHeight / 2, y2: TREE_TOP + lane.row * laneHeight - laneHeight / 2 }),
    s("text", { class: "tick", x: 4, y: TREE_TOP + lane.row * laneHeight + 4 }, `island ${lane.island}`)]));
  const edges = layout.edges.map((edge) => {
    const [from, to] = [at.get(edge.from), at.get(edge.to)];
    const bend = Math.min(step, Math.max(18, (to.x - from.x) / 2));
    const d = from.y === to.y && edge.kind !== "second" ? `M${from.x} ${from.y}H${to.x}`
      : edge.kind === "second" ? `M${from.x} ${from.y}C${from.x + bend} ${from.y - 20} ${to.x - bend} ${to.y - 20} ${to.x} ${to.y}`
      : `M${from.x} ${from.y}C${from.x + 14} ${from.y} ${from.x + 4} ${to.y} ${from.x + 20} ${to.y}H${to.x}`;
    return s("path", { class: `edge edge-${edge.kind}`, d });
  });
  const nodes = layout.nodes.map((node) => {
    const { x, y } = at.get(node.n);
    const mark = run.gens.mark[node.at];
    const shape = s("a", { href: address(["run", run.name, "program", node.n]), class: "tree-node" }, s("title", null, titleOf(run, node.n)),
      mark === "best" || mark === "correct" ? s("circle", { class: `node node-${node.onPath ? "path" : mark}`, cx: x, cy: y, r: mark === "best" ? 6 : 4.5 }) : s("text", { class: `node-sign mark-${mark}`, x, y: y + 5, "text-anchor": "middle" }, signOf(mark, run).sign),
      s("text", { class: node.onPath ? "node-n on-path" : "node-n", x, y: y - 11, "text-anchor": "middle" }, String(node.n)));
    const fold = layout.folds.get(node.n);
    return [shape, fold ? stub(run, node, fold, x, y, step, () => again(node.n)) : null];
  });
  const [w, height] = [left + Math.max(0, layout.columns - 1) * step + beyond, TREE_TOP + layout.rows * laneHeight + 6];
  return { svg: s("svg", { class: "tree", width: w, height, viewBox: `0 0 ${w} ${height}` }, lanes, edges, nodes), layout };
}

// "12 proposals, none on the way to a new best", as a small branch that a click unfolds.
function stub(run, node, fold, x, y, step, unfold) {
  const words = `${plural(fold.count, "proposal", "proposals")}, none on the way to a new best`;
  const marks = Object.entries(fold.marks).map(([mark, number]) => `${number} ${signOf(mark, run).word}`).join(", ");
  const open = (event) => (event.type === "click" || event.key === "Enter") && unfold();
  return s("g", { class: "stub", role: "button", tabindex: 0, on: { click: open, keydown: open } },
    s("title", null, `${words}, from generation ${node.n}: ${marks}. Click to unfold.`),
    s("path", { class: "edge edge-first", d: `M${x} ${y + 6}v7h5` }),
    s("text", { class: "stub-text", x: x + 8, y: y + 17 }, step > 118 ? `+${fold.count} folded` : `+${fold.count}`));
}

function titleOf(run, n) {
  const gen = genOf(run, n);
  return [`generation ${n}, ${signOf(gen.mark, run).word}`, gen.value === null ? null : `${valueText(gen.value)} (${worded(run, gen.change, gen.value)})`, brief(gen.name, 80), brief(gen.why, 200), gen.reason].filter(Boolean).join("\n");
}

export async function treeView(context) {
  const run = await context.source.run(context.name);
  const head = runHead(run, "tree", context.source.live);
  const unfolded = (context.query.get("open") || "").split(",").filter(Boolean).map(Number);
  const stage = h("div", { class: "tree-stage", tabindex: "0", role: "region", "aria-label": "lineage" });
  const summary = h("p", { class: "quiet" });
  const toggle = (n) => {
    unfolded.push(n);
    context.replace(address(["run", run.name, "tree"], { open: unfolded.join(",") }));
    draw();
  };
  const fold = button("fold all", () => {
    unfolded.length = 0;
    context.replace(address(["run", run.name, "tree"]));
    draw();
  });
  function draw() {
    if (!run.gens.n.length) return put(stage, h("p", { class: "empty" }, "No generation has begun."));
    if (unfolded.length > MOST_UNFOLDED) unfolded.length = 0;
    const { svg, layout } = drawTree(run, unfolded, stage.clientWidth || 1200, context, toggle);
    put(stage, svg);
    const proposals = run.gens.parents.filter((parents) => parents.length).length;
    const unseen = run.gens.n.length - layout.nodes.length;
    put(summary, unseen ? `${plural(unseen, "proposal", "proposals")} of ${proposals} led to no new best and ${unseen === 1 ? "is" : "are"} folded (+12 = 12 proposals; click to show the best twelve). ` : `${plural(proposals, "proposal", "proposals")}. `, "Dashed: crossover donor. ", unfolded.length ? fold : null);
    return undefined;
  }
  const node = h("section", { class: "part" }, h("h2", null, "Lineage", h("span", { class: "quiet note-of-title" }, "  time runs to the right; the thick line leads to the best")), summary, stage);
  requestAnimationFrame(() => {
    draw();
    stage.scrollLeft = 0;
  });
  const stop = context.source.follow(run.name, (_, changed) => {
    head.update();
    if (changed.whole || changed.generations.length) draw();
  });
  return { title: `${run.name}: tree`, head: head.node, nodes: [node], stop, run };
}
