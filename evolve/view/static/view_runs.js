import { address, button, h, put, s } from "./dom.js";
import { linear, stairs } from "./axes.js";
import { ago, count, duration, moment, plural, small, spentText, valueText } from "./numbers.js";
import { brief, doubtWord, nameInPlace } from "./texts.js";
import { table } from "./table.js";

// Every run in one table; two or more that are ticked can be compared.

function sparkline(row) {
  const curve = row.curve || [];
  if (curve.length < 2) return h("span", { class: "quiet" }, "–");
  const [low, high] = [Math.min(...curve), Math.max(...curve)];
  const [x, y] = [linear(0, curve.length - 1, 1, 95), linear(low, high, 18, 3)];
  const points = curve.map((value, at) => [x(at), y(value)]).filter((point, at, all) => at === 0 || at === all.length - 1 || point[1] !== all[at - 1][1]);
  return s("svg", { class: "sparkline", width: 96, height: 20, "aria-hidden": "true" }, s("path", { d: stairs(points, 95) }));
}

export async function runsView(context) {
  const before = await context.source.runs();
  const ticked = new Set();
  const compare = button("compare", () => context.go(address(["compare", [...ticked]])), { disabled: true, class: "strong" });
  const update = () => {
    compare.disabled = ticked.size < 2;
    compare.textContent = ticked.size < 2 ? "compare: tick two or more" : `compare ${ticked.size} runs`;
  };
  const tick = (row) => {
    const box = h("input", { type: "checkbox", "aria-label": `tick ${row.name} to compare it`, on: { change: () => (box.checked ? ticked.add(row.name) : ticked.delete(row.name)) } });
    box.addEventListener("change", update);
    box.checked = ticked.has(row.name);
    return box;
  };
  update();
  // 1240 in all: no column is out of sight at 1280.
  const columns = [
    { key: "tick", title: "", width: 34, style: "tick-cell", value: (row) => (ticked.has(row.name) ? 1 : 0), show: tick, text: () => "" },
    { key: "name", title: "run", width: 150, value: (row) => row.name, show: (row) => h("a", { class: "run-link", href: address(["run", row.name]) }, nameInPlace(row.name)), tip: (row) => row.name },
    { key: "state", title: "state", width: 140, value: (row) => row.state.text, show: stateCell, tip: (row) => [row.state.text, ...(row.doubts || [])].join("; ") },
    { key: "task", title: "task / suite", width: 140, value: (row) => `${row.task} / ${row.suite}`, show: (row) => brief(`${row.task} / ${row.suite}`, 60), tip: (row) => `${row.task} / ${row.suite}` },
    { key: "curve", title: "best so far", width: 108, value: (row) => (row.curve || []).length, show: sparkline, text: () => "" },
    { key: "best", title: "best", width: 112, number: true, value: (row) => row.best, show: (row) => [(row.doubts || []).length ? h("span", { class: "bad" }, "⚠ ") : null, valueText(row.best)], tip: (row) => (row.objective ? [`${row.objective.metric}, ${row.objective.direction}`, ...(row.doubts || [])].join("; ") : "") },
    { key: "gap", title: "gap", width: 84, number: true, value: (row) => row.gap, show: (row) => (row.gap === null ? h("span", { class: "quiet" }, "no bound") : small(row.gap)), tip: (row) => (row.target ? `to the ${row.target.name}, ${valueText(row.target.value)}` : "") },
    { key: "held", title: "held-out", width: 94, number: true, value: (row) => row.held_out, show: (row) => valueText(row.held_out) },
    { key: "programs", title: "programs", width: 86, number: true, value: (row) => row.programs, show: (row) => count(row.programs), tip: (row) => `${row.correct} of them correct; ${plural(row.generations, "proposal has", "proposals have")} ended` },
    { key: "tokens", title: "tokens", width: 68, number: true, value: (row) => row.spent.tokens, show: (row) => count(row.spent.tokens) },
    { key: "cost", title: "cost", width: 74, number: true, value: (row) => row.spent.cost_usd, show: (row) => spentText(row.spent, row.state.running), tip: (row) => spentText(row.spent, row.state.running) },
    { key: "time", title: "time", width: 70, number: true, value: (row) => row.spent.seconds, show: (row) => duration(row.spent.seconds) },
    { key: "began", title: "began", width: 80, number: true, value: (row) => row.began, show: (row) => ago(row.began), tip: (row) => moment(row.began), style: "quiet ago" },
  ];
  if (window.innerWidth < 640) columns.splice(2, 0, ...columns.splice(5, 2)); // first how far each got
  const list = table(columns, before.rows, {
    words: ["run", "runs"], sort: ["began", true], open: (row) => context.go(address(["run", row.name])), action: compare, filter: context.query.get("q"), identity: (row) => row.name,
    empty: "No runs here yet. Begin one with: evolve run --task placement",
  });
  context.keys(list);
  const unreadable = h("div");
  const warn = (found) => put(unreadable, found.unreadable.map((each) => h("p", { class: "bad" }, `⚠ ${brief(each.run, 80)} cannot be read: ${brief(each.reason, 600)}`)));
  warn(before);
  const stop = context.source.watchRuns(before, (found) => {
    list.set(found.rows);
    warn(found);
  });
  const clock = setInterval(list.redraw, 60000); // "2 min ago" grows older by itself
  return { title: "runs", nodes: [h("h1", null, "Runs"), list.node, unreadable], stop: () => (clearInterval(clock), stop && stop()) };
}

function stateCell(row) {
  if ((row.doubts || []).length) return h("span", { class: "bad" }, `⚠ ${doubtWord(row.doubts)}`);
  return row.state.running ? h("span", { class: "state running" }, "● running") : row.state.text;
}
