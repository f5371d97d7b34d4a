import { h, link, put } from "./dom.js";
import { count, duration, moment, spentText } from "./numbers.js";
import { brief, doubts, stateText } from "./texts.js";

// What several views of a run have in common: its head, its views, sections.

const VIEWS = [["", "run"], ["generations", "generations"], ["tree", "tree"], ["instances", "instances"], ["failures", "failures"], ["meta", "learnt"], ["calls", "calls"], ["about", "about"]];

export function runHead(run, view, live) {
  const state = h("span", { class: run.state.running ? "state running" : "state", title: moment(run.newest) });
  const cost = h("span", { class: "quiet number" });
  const line = h("div", { class: "run-head" },
    h("h1", null, run.task, " / ", run.suite), h("span", { class: "run-name" }, brief(run.name, 80)), state, cost,
    doubts(run).length ? link(["run", run.name], null, h("span", { class: "bad" }, `⚠ ${doubts(run)[0].split(":")[0]}`)) : null);
  const models = [...new Set(run.gens.model.filter(Boolean))];
  const update = () => {
    put(state, run.state.running ? (live ? "● running" : "was running when this was written") : stateText(run.state));
    put(cost, [models.length ? brief(models.join(", "), 60) : null, duration(run.spent.seconds), `${count(run.spent.tokens)} tokens`, spentText(run.spent)].filter(Boolean).join(" · "));
  };
  update();
  const views = h("nav", { class: "views", "aria-label": "views of this run" }, VIEWS.map(([key, word]) => {
    const item = link(key ? ["run", run.name, key] : ["run", run.name], null, word);
    if (key === view || (view === "program" && key === "generations")) item.setAttribute("aria-current", "page");
    return item;
  }));
  return { node: h("div", null, line, views), update };
}

export function section(title, beside, ...children) {
  return h("section", { class: "part" }, h("h2", null, title, beside ? h("span", { class: "quiet beside" }, "  ", beside) : null), children);
}

export function failure(error) {
  return h("div", { class: "failure" }, h("p", null, h("b", null, "This could not be shown. "), error.message), h("p", { class: "quiet" }, "What else there is stays reachable by the links above."));
}

// Pairs of a word and what it is, in two columns.
export function facts(pairs, kind) {
  return h("dl", { class: kind ? `facts ${kind}` : "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([word, value]) => [h("dt", null, word), h("dd", null, value)]));
}
