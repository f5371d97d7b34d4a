import { h } from "./dom.js";
import { coloured, pieces } from "./syntax.js";
import { linesOf } from "./texts.js";

// The changes between two texts, line by line (Myers, "An O(ND) Difference Algorithm and Its Variations", 1986).

const MOST_EDITS = 3000;

// [["=", i, j], ["-", i, null], ["+", null, j], ...]: the shortest edit, or all of `a` removed and all of `b` added if the search would take too long.
export function edits(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const script = [];
  for (let i = 0; i < start; i += 1) script.push(["=", i, i]);
  for (const [sign, i, j] of middle(a.slice(start, a.length - end), b.slice(start, b.length - end))) script.push([sign, i === null ? null : i + start, j === null ? null : j + start]);
  for (let i = end; i > 0; i -= 1) script.push(["=", a.length - i, b.length - i]);
  return script;
}

function middle(a, b) {
  const [n, m] = [a.length, b.length];
  const size = Math.min(n + m, MOST_EDITS);
  const reach = new Int32Array(2 * size + 3);
  const trace = [];
  for (let d = 0; d <= size; d += 1) {
    trace.push(reach.slice(size + 1 - d - 1, size + 1 + d + 2));
    for (let k = -d; k <= d; k += 2) {
      const at = size + 1 + k;
      let x = k === -d || (k !== d && reach[at - 1] < reach[at + 1]) ? reach[at + 1] : reach[at - 1] + 1;
      while (x < n && x - k < m && a[x] === b[x - k]) x += 1;
      reach[at] = x;
      if (x >= n && x - k >= m) return walkedBack(trace, n, m, d);
    }
  }
  return [...a.map((_, i) => ["-", i, null]), ...b.map((_, j) => ["+", null, j])];
}

function walkedBack(trace, n, m, steps) {
  const script = [];
  let [x, y] = [n, m];
  for (let d = steps; d >= 0; d -= 1) {
    const reach = trace[d];
    const at = (k) => reach[k + d + 1];
    const k = x - y;
    const before = d === 0 ? 0 : k === -d || (k !== d && at(k - 1) < at(k + 1)) ? k + 1 : k - 1;
    const [px, py] = d === 0 ? [0, 0] : [at(before), at(before) - before];
    while (x > px && y > py) script.push(["=", (x -= 1), (y -= 1)]);
    if (d === 0) break;
    if (x > px) script.push(["-", (x -= 1), null]);
    else script.push(["+", null, (y -= 1)]);
  }
  return script.reverse();
}

// The changed parts, each with `around` lines of context: [[first, last)] of the script.
export function hunksOf(script, around = 3) {
  const found = [];
  script.forEach(([sign], at) => {
    if (sign === "=") return;
    const last = found[found.length - 1];
    if (last && at - around <= last[1]) last[1] = Math.min(script.length, at + 1 + around);
    else found.push([Math.max(0, at - around), Math.min(script.length, at + 1 + around)]);
  });
  return found;
}

// A diff for reading: line numbers of both sides, a sign, the line. `words` names the two sides.
export function diffBlock(before, after, words) {
  const [old, now] = [before.split("\n"), after.split("\n")];
  const [oldLines, newLines] = [coloured(before), coloured(after)];
  const script = edits(old, now);
  const hunks = hunksOf(script);
  const added = script.filter(([sign]) => sign === "+").length;
  const removed = script.filter(([sign]) => sign === "-").length;
  const head = h("p", { class: "diff-head" }, words, "  ", h("span", { class: "gain number" }, `+${added}`), " ", h("span", { class: "loss number" }, `−${removed}`), " lines");
  if (!hunks.length) return h("div", { class: "diff" }, h("p", { class: "empty" }, `${words}: no difference.`));
  const digits = String(Math.max(old.length, now.length)).length;
  const number = (place) => (place === null ? "" : String(place + 1)).padStart(digits, "\u00a0");
  const row = ([sign, i, j]) => {
    const line = sign === "+" ? newLines[j] : oldLines[i];
    const kind = sign === "+" ? "added" : sign === "-" ? "removed" : "same";
    return h("span", { class: `line ${kind}`, "data-lines": `${number(i)} ${number(j)}`, "data-sign": sign === "=" ? " " : sign === "-" ? "−" : "+" }, pieces(line), "\n");
  };
  const blocks = hunks.map(([first, last], at) => {
    const skipped = first - (at ? hunks[at - 1][1] : 0);
    return [skipped > 0 ? h("span", { class: "skipped" }, `${skipped} unchanged ${skipped === 1 ? "line" : "lines"}\n`) : null, script.slice(first, last).map(row)];
  });
  return h("div", { class: "diff" }, head, h("pre", { class: "code", css: { "--numbers": `${2 * digits + 1}ch` } }, blocks));
}

// The diff of two programs: of several files each that differs, by path.
export function programDiff(before, after, words) {
  if (!after.files) return [diffBlock(before.code || "", after.code || "", words)];
  const [old, now] = [before, after].map((doc) => new Map(Object.entries(doc.files || {}))); // a path may be "constructor"
  const paths = [...new Set([...old.keys(), ...now.keys()])].sort().filter((path) => old.get(path) !== now.get(path));
  if (!paths.length) return [h("p", { class: "empty" }, `${words}: no difference.`)];
  const what = (path) => (!old.has(path) ? `${path} (new)` : !now.has(path) ? `${path} (deleted)` : path);
  return paths.map((path) => diffBlock(old.get(path) || "", now.get(path) || "", `${what(path)}, ${words}`));
}

// A unified diff that was made elsewhere, with its lines marked by kind.
export function unifiedBlock(text) {
  const kind = (line) => (/^(---|\+\+\+|@@)/.test(line) ? "hunk" : line[0] === "+" ? "added" : line[0] === "-" ? "removed" : "same");
  return h("div", { class: "diff" }, h("pre", { class: "code unified" }, linesOf(text).map((line) => h("span", { class: `line ${kind(line)}` }, line, "\n"))));
}
