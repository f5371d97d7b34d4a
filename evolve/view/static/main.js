import { address, h, link, put, visible } from "./dom.js";
import { failure } from "./parts.js";
import { reportSource } from "./source_report.js";
import { liveSource } from "./source_live.js";
import { runsView } from "./view_runs.js";
import { runView } from "./view_run.js";
import { generationsView } from "./view_generations.js";
import { programView } from "./view_program.js";
import { treeView } from "./view_tree.js";
import { instancesView } from "./view_instances.js";
import { failuresView } from "./view_failures.js";
import { metaView } from "./view_meta.js";
import { aboutView, callsView } from "./view_calls.js";
import { compareView } from "./view_compare.js";

// The entry point: opens the source of runs, shows the view that the address names, and handles keys.

const RUN_VIEWS = { "": runView, generations: generationsView, program: programView, tree: treeView, instances: instancesView, failures: failuresView, meta: metaView, calls: callsView, about: aboutView };
const KEYS = [["/", "filter"], ["j  k", "next and previous row or program"], ["Enter", "open the row"], ["b", "the best program"], ["g t i f", "generations, tree, instances, failures"], ["r", "the run"], ["Esc", "back"], ["?", "these keys"]];

const page = { source: null, stop: null, list: null, run: null, turn: 0 };

// `quiet`: it is not an error.
function say(text, quiet) {
  const status = document.getElementById("status");
  put(status, text);
  status.classList.toggle("shown", Boolean(text));
  status.classList.toggle("calm", Boolean(quiet));
}

function parsed(hash) {
  const [path, query] = hash.replace(/^#\/?/, "").split("?");
  let parts;
  try {
    parts = path.split("/").filter(Boolean).map((part, at, all) => (all[0] === "compare" && at ? part.split("+").filter(Boolean).map(decodeURIComponent) : decodeURIComponent(part)));
  } catch {
    parts = ["?"];
  }
  return { parts, query: new URLSearchParams(query || "") };
}

function viewOf(parts) {
  if (!parts.length) return [runsView, null, []];
  if (parts[0] === "run" && parts.length > 1 && RUN_VIEWS[parts[2] || ""]) return [RUN_VIEWS[parts[2] || ""], parts[1], parts.slice(3)];
  if (parts[0] === "compare" && parts.length > 1) return [compareView, parts[1], []];
  return [null, null, []];
}

function topOf(view) {
  return h("div", { class: "top" }, link([], null, "evolve"), h("span", { class: "quiet" }, page.source && page.source.live ? " live" : " report"), h("button", { type: "button", class: "help-button", "aria-label": "keys", on: { click: help } }, "? keys"), (view && view.head) || null);
}

async function show() {
  const turn = (page.turn += 1);
  const { parts, query } = parsed(location.hash);
  const [view, name, rest] = viewOf(parts);
  if (page.stop) page.stop();
  Object.assign(page, { stop: null, list: null, run: null });
  let found;
  let keyed = null;
  const context = { source: page.source, name, rest, query, go, instead, replace, keys: (list) => (keyed = list) };
  try {
    if (!view) throw new Error(`no such page: ${location.hash.slice(0, 200)}`);
    found = await view(context);
  } catch (error) {
    found = { title: "evolve", nodes: [failure(error)] };
  }
  if (turn !== page.turn) {
    if (found.stop) found.stop();
    return;
  }
  document.title = visible(found.title) + " · evolve";
  put(document.getElementById("head"), topOf(found));
  const main = document.getElementById("main");
  put(main, found.nodes);
  main.dataset.view = parts[0] === "run" ? parts[2] || "run" : parts[0] || "runs";
  for (const current of document.querySelectorAll(".views [aria-current], .tabs [aria-current]")) current.scrollIntoView({ block: "nearest", inline: "nearest" });
  window.scrollTo(0, 0);
  Object.assign(page, { stop: found.stop || null, list: keyed, run: found.run || null });
  requestAnimationFrame(() => keyed && keyed.redraw && keyed.redraw());
}

function go(to) {
  if (location.hash === to) show();
  else location.hash = to;
}

// Shows another view in place of this one, so that “back” leads to the view before this one.
function instead(to) {
  replace(to);
  show();
}

// Puts a filter or the unfolded parts into the address, without a step in the history.
function replace(to) {
  history.replaceState(null, "", to);
}

function help() {
  const dialog = h("dialog", { "aria-label": "keys" }, h("h2", null, "Keys"), h("dl", { class: "facts" }, KEYS.map(([key, words]) => [h("dt", null, h("kbd", null, key)), h("dd", null, words)])));
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", () => dialog.close());
  document.body.append(dialog);
  dialog.showModal();
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const dialog = document.querySelector("dialog");
  if (dialog) {
    dialog.close();
    return;
  }
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName) && event.target.type !== "checkbox") {
    pressedInField(event);
    return;
  }
  const actions = { Escape: () => history.back(), "?": help, ...(page.list ? listActions(event) : {}), ...(page.run ? runActions() : {}) };
  if (!Object.hasOwn(actions, event.key)) return;
  if (event.key !== "Enter" && event.key !== "Escape") event.preventDefault();
  actions[event.key]();
}

function pressedInField(event) {
  const leaves = event.key === "Enter" && page.list && event.target.classList.contains("filter");
  if (event.key === "Escape" || leaves) event.target.blur();
  if (leaves) page.list.move(1);
}

function listActions(event) {
  return {
    "/": () => page.list.focus(),
    j: () => page.list.move(1),
    k: () => page.list.move(-1),
    Enter: () => !event.target.closest("a, button, summary, svg") && page.list.open(),
  };
}

function runActions() {
  const run = address(["run", page.run.name]);
  const { best } = page.run;
  return {
    b: () => best !== null && best !== undefined && go(`${run}/program/${best}`),
    r: () => go(run),
    g: () => go(`${run}/generations`),
    t: () => go(`${run}/tree`),
    i: () => go(`${run}/instances`),
    f: () => go(`${run}/failures`),
  };
}

async function begin() {
  const data = document.getElementById("data");
  try {
    page.source = data ? await reportSource(data) : liveSource(say);
  } catch (error) {
    put(document.getElementById("main"), failure(error));
    return;
  }
  window.addEventListener("hashchange", show);
  window.addEventListener("keydown", pressed);
  const only = data && !location.hash ? (await page.source.runs()).rows : [];
  if (only.length === 1) replace(address(["run", only[0].name]));
  await show();
}

begin();
