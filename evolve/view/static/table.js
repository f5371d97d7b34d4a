import { h, put } from "./dom.js";
import { plural } from "./numbers.js";

// A table of any length: its head stays, a click sorts, typing filters, and only the visible rows are in the page.

const ROW_HEIGHT = 28;
const BEYOND = 12;

function compare(a, b) {
  if (a === b) return 0;
  if (a === null || a === undefined) return 1;
  if (b === null || b === undefined) return -1;
  return typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
}

// columns: [{key, title, width, number?, value(row), show?(row), hint?}]; rows: any values; options: {words, filter, sort: [key, descending],
// label, open(row), onFilter(text), identity(row)}; a column's `below`: nodes below its title. Returns {node, set(rows, columns?, sort?), move(by), open(), focus()}.
export function table(columns, rows, options) {
  let shown = [];
  let chosen = -1;
  let sort = options.sort || null;
  let texts = new Map();
  const body = h("tbody");
  const filter = h("input", { type: "search", class: "filter", placeholder: "filter rows  ( / )", "aria-label": "filter", autocomplete: "off", spellcheck: "false" });
  filter.value = options.filter || "";
  const counts = h("span", { class: "quiet", role: "status" });
  const headRow = h("tr");
  const grid = h("table", { class: "grid-table" }, h("thead", null, headRow), body);
  let heads = [];
  let resorted = false;
  const scroller = h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": options.label || options.words[1], on: { scroll: () => draw() } }, grid);
  const node = h("div", { class: "table" }, h("div", { class: "bar" }, filter, " ", counts, options.action ? options.action : null), scroller);

  const identity = options.identity || ((row) => row);

  function arrangeHeads() {
    heads = columns.map((column) => h("th", { scope: "col", class: column.number ? "number" : null, title: column.hint, css: { width: `${column.width}px` } },
      h("button", { type: "button", on: { click: () => sortBy(column) } }, column.title), column.below || null));
    put(headRow, heads);
    grid.style.setProperty("min-width", `${columns.reduce((sum, column) => sum + column.width, 0)}px`);
  }

  function textOf(row) {
    if (!texts.has(row)) texts.set(row, columns.map((column) => (column.text ? column.text(row) : column.value(row))).join("  ").toLowerCase());
    return texts.get(row);
  }

  function arrange() {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const kept = chosen >= 0 && shown[chosen] !== undefined ? identity(shown[chosen]) : undefined;
    shown = words.length ? rows.filter((row) => words.every((word) => textOf(row).includes(word))) : rows.slice();
    if (sort) {
      const column = columns.find((each) => each.key === sort[0]);
      const keys = new Map(shown.map((row) => [row, column.value(row)]));
      const missing = (key) => key === null || key === undefined;
      shown.sort((a, b) => {
        const [left, right] = [keys.get(a), keys.get(b)];
        return missing(left) || missing(right) ? compare(left, right) : sort[1] ? compare(right, left) : compare(left, right);
      });
    }
    chosen = kept === undefined ? -1 : shown.findIndex((row) => identity(row) === kept);
    heads.forEach((cell, at) => {
      const mine = sort && columns[at].key === sort[0];
      cell.setAttribute("aria-sort", mine ? (sort[1] ? "descending" : "ascending") : "none");
    });
    put(counts, shown.length === rows.length ? plural(rows.length, ...options.words) : `${shown.length.toLocaleString("en-US")} of ${plural(rows.length, ...options.words)}`);
    draw(true);
  }

  let drawn = "";
  function draw(always) {
    const height = scroller.clientHeight || 600;
    const first = Math.max(0, Math.floor(scroller.scrollTop / ROW_HEIGHT) - BEYOND);
    const last = Math.min(shown.length, Math.ceil((scroller.scrollTop + height) / ROW_HEIGHT) + BEYOND);
    const key = `${first}-${last}-${chosen}`;
    if (!always && key === drawn) return;
    drawn = key;
    const gap = (rowsThere) => h("tr", { class: "gap", "aria-hidden": "true" }, h("td", { colspan: columns.length, css: { height: `${rowsThere * ROW_HEIGHT}px` } }));
    const cells = shown.slice(first, last).map((row, at) => rowOf(row, first + at));
    put(body, first ? gap(first) : null, cells, last < shown.length ? gap(shown.length - last) : null);
    if (!shown.length) put(body, h("tr", null, h("td", { colspan: columns.length, class: "empty" }, rows.length ? `No row has all of these words: ${filter.value}` : options.empty || "Nothing here yet.")));
  }

  function rowOf(row, at) {
    const cells = columns.map((column) => {
      const content = column.show ? column.show(row) : column.value(row);
      return h("td", { class: [column.number ? "number" : "", column.style || ""].join(" ").trim() || null, title: column.tip ? column.tip(row) : null }, content ?? "–");
    });
    const pressed = (event) => {
      if (event.target.closest("a, button, input")) return;
      choose(at);
      if (options.open) options.open(row);
    };
    return h("tr", { class: at === chosen ? "chosen" : null, "aria-selected": at === chosen ? "true" : null, on: { click: pressed } }, cells);
  }

  function sortBy(column) {
    resorted = true;
    sort = sort && sort[0] === column.key ? [column.key, !sort[1]] : [column.key, Boolean(column.number)];
    arrange();
  }

  function choose(at) {
    chosen = Math.max(0, Math.min(shown.length - 1, at));
    const top = chosen * ROW_HEIGHT;
    if (top < scroller.scrollTop) scroller.scrollTop = top;
    else if (top + 2 * ROW_HEIGHT > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + 2 * ROW_HEIGHT - scroller.clientHeight;
    draw();
  }

  filter.addEventListener("input", () => {
    scroller.scrollTop = 0;
    arrange();
    if (options.onFilter) options.onFilter(filter.value);
  });
  new ResizeObserver(() => requestAnimationFrame(() => draw())).observe(scroller);
  arrangeHeads();
  arrange();
  return {
    node,
    set: (next, nextColumns, nextSort) => {
      rows = next;
      texts = new Map();
      if (nextColumns) {
        columns = nextColumns;
        if (!resorted || !columns.some((column) => column.key === sort[0])) sort = nextSort || sort;
        arrangeHeads();
      }
      arrange();
    },
    move: (by) => choose(chosen < 0 && by < 0 ? 0 : chosen + by),
    open: () => chosen >= 0 && options.open && options.open(shown[chosen]),
    focus: () => filter.focus(),
    redraw: () => draw(true),
  };
}

// A short table, all of it in the page. heads: [text or {text, number}]; rows: lists of nodes or texts.
export function plainTable(heads, rows, words) {
  const isNumber = heads.map((head) => typeof head === "object" && head.number);
  const cell = (tag, content, at) => h(tag, { class: isNumber[at] ? "number" : null, scope: tag === "th" ? "col" : null }, content ?? "–");
  if (!rows.length) return h("p", { class: "empty" }, words || "Nothing here.");
  return h("div", { class: "sideways" }, h("table", { class: "plain" },
    h("thead", null, h("tr", null, heads.map((head, at) => cell("th", typeof head === "object" ? head.text : head, at)))),
    h("tbody", null, rows.map((row) => h("tr", null, row.map((content, at) => cell("td", content, at)))))));
}
