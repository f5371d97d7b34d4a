import { h, link, put } from "./dom.js";
import { morph } from "./morph.js";
import { count, duration, moment, spentText } from "./numbers.js";
import { brief, doubtWord, doubts } from "./texts.js";

// The shared parts of a run's views: its head, its navigation, sections.

const VIEWS = [["", "run"], ["generations", "generations"], ["tree", "tree"], ["instances", "instances"], ["failures", "failures"], ["meta", "insights"], ["calls", "calls"], ["about", "about"]];

const UNDER_WAY = { answered: "being judged", machine_lost: "its workers were lost" };

// The number of ended proposals and their limit; for a running run, also the open ones on record.
function progressOf(run) {
  const { mark, stage, status, n } = run.gens;
  const places = n.map((_, at) => at).filter((at) => stage[at] !== null);
  const open = places.filter((at) => mark[at] === "open");
  const most = run.config && run.config.generations;
  const ended = `${places.length - open.length}${most ? ` of ${most}` : ""} generations`;
  const words = open.map((at) => `${n[at]} (${UNDER_WAY[status[at]] || "asked"})`);
  return !run.state.running || !open.length ? ended : `${ended}; under way: ${words.slice(0, 4).join(", ")}${words.length > 4 ? ` and ${words.length - 4} more` : ""}`;
}

// The trouble with each model in a line: the calls that failed since its last answer, the server's message, and the time of the next try; or the
// length of its silence, and when the request is given up.
function troublesOf(run, live) {
  const ongoing = live && run.state.running;
  const lines = run.troubles.map((one) => {
    const now = Date.now() / 1000;
    const since = Math.max(1, Math.round(now - one.t));
    const said = `⚠ ${brief(one.model, 60)}: ${brief(one.message, 300)}`;
    if (one.status === "silent") {
      const end = one.gives_up_t === null ? "" : `, gives up at ${duration(one.gives_up_t - one.t)}`;
      return ongoing && now >= one.shown_t ? `${said} for ${duration(since)}${end}` : null;
    }
    const next = one.next_t > now ? `; next try in ${duration(one.next_t - now)}` : "";
    return `${said}, ${one.failed} failed${ongoing ? `, the last ${duration(since)} ago${next}` : " since its last answer"}`;
  });
  return lines.filter(Boolean).join("\n");
}

// The workers of a cluster in a line: how many are there, and which were lost, refused or expelled.
function workersOf(run) {
  const { workers } = run;
  if (!workers.length) return "";
  const there = workers.filter((worker) => worker.change === "joined");
  const pace = run.state.running ? `, ${there.reduce((sum, worker) => sum + worker.per_minute, 0).toFixed(1)} candidates/min` : " took part";
  const others = workers.filter((worker) => worker.change !== "joined").map((worker) => `${brief(worker.worker, 40)} ${worker.change}`);
  return [`${there.length} ${there.length === 1 ? "worker" : "workers"}${pace}`, ...others.slice(0, 6)].join(" · ");
}

export function runHead(run, view, live) {
  const state = h("span", { class: "state" });
  const cost = h("span", { class: "quiet number" });
  const clock = h("span", { class: "quiet number clock" });
  const progress = h("span", { class: "progress number" });
  const doubted = h("span");
  const troubles = h("div", { class: "bad troubles" });
  const workers = h("div", { class: "quiet" });
  const line = h("div", { class: "run-head" }, h("h1", null, run.task, " / ", run.suite), h("span", { class: "run-name" }, brief(run.name, 80)), state, progress, clock, cost, doubted);
  // The clock also runs between two events.
  const tick = () => {
    const since = live && run.state.running ? Math.max(0, Date.now() / 1000 - run.newest) : 0;
    const text = duration(run.spent.seconds + since);
    if (clock.textContent !== text) put(clock, text);
    const lines = troublesOf(run, live);
    if (troubles.textContent !== lines) put(troubles, lines);
  };
  const update = () => {
    tick();
    put(progress, progressOf(run));
    const models = [...new Set(run.gens.model.filter(Boolean))];
    state.classList.toggle("running", run.state.running);
    state.title = moment(run.newest);
    put(doubted, doubts(run).length ? link(["run", run.name], null, h("span", { class: "bad", title: doubts(run).join(" ") }, `⚠ ${doubtWord(doubts(run))}`)) : null);
    put(state, run.state.running ? (live ? "● running" : "was running when this was written") : run.state.text);
    put(workers, workersOf(run));
    put(cost, [models.length ? brief(models.join(", "), 60) : null, `${count(run.spent.tokens)} tokens`, spentText(run.spent, run.state.running)].filter(Boolean).join(" · "));
  };
  update();
  if (live) {
    let shown = false;
    const timer = setInterval(() => {
      if (shown && !line.isConnected) clearInterval(timer);
      shown = shown || line.isConnected;
      tick();
    }, 1000);
  }
  const views = h("nav", { class: "views", "aria-label": "views of this run" }, VIEWS.map(([key, word]) => {
    const item = link(key ? ["run", run.name, key] : ["run", run.name], null, word);
    if (key === view || (view === "program" && key === "generations")) item.setAttribute("aria-current", "page");
    return item;
  }));
  return { node: h("div", null, line, workers, troubles, views), update };
}

// A view that depends only on the run: `draw` gives its nodes, and each event updates their differences.
export function drawnView(context, run, view, title, draw) {
  const head = runHead(run, view, context.source.live);
  const drawn = () => h("div", { class: "drawn" }, draw());
  const node = drawn();
  const stop = context.source.follow(run.name, (_, changed) => {
    head.update();
    if (changed.rest || changed.generations.length) morph(node, drawn());
  });
  return { title: `${run.name}: ${title}`, head: head.node, nodes: [node], stop, run };
}

export function section(title, note, ...children) {
  return h("section", { class: "part" }, h("h2", null, title, note ? h("span", { class: "quiet note-of-title" }, "  ", note) : null), children);
}

// Why there is no insights report yet, and why the last round gave none, in the words of the command.
export function missing(run, most) {
  const { absence, failures } = run.learning;
  return [absence ? h("p", { class: "empty" }, `${absence[0].toUpperCase()}${absence.slice(1)}.`) : null, failures.map((failure) => h("p", { class: "bad-quiet" }, `⚠ ${brief(failure, most)}`))];
}

export function failure(error) {
  return h("div", { class: "failure" }, h("p", null, h("b", null, "This could not be shown. "), error.message), h("p", { class: "quiet" }, "Use the links above for other pages."));
}

// Pairs of a word and its value, in two columns.
export function facts(pairs, kind) {
  return h("dl", { class: kind ? `facts ${kind}` : "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([word, value]) => [h("dt", null, word), h("dd", null, value)]));
}
