import { h, link } from "./dom.js";
import { plainTable } from "./table.js";
import { linesOf } from "./texts.js";

// The part of Markdown that insights reports use: bold, code, tables. Mentioned generations become links.

const INLINE = /\*\*(.+?)\*\*|`([^`]+)`|\b(gen(?:eration)?s? |Generations? )(\d+)((?:(?:, | and | to |, and )\d+)*)/g;

// One line of text with its bold, its code and its links.
export function inline(run, text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(INLINE)) {
    const [whole, bold, code, word, first, more] = found;
    parts.push(text.slice(at, found.index));
    if (bold !== undefined) parts.push(h("b", null, inline(run, bold)));
    else if (code !== undefined) parts.push(h("code", null, code));
    else parts.push(word, (first + more).split(/(\d+)/).map((piece) => (/^\d+$/.test(piece) ? link(["run", run.name, "program", piece], null, piece) : piece)));
    at = found.index + whole.length;
  }
  parts.push(text.slice(at));
  return parts;
}

const cellsOf = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

// A text with its tables as tables and the rest as paragraphs.
export function marked(run, text) {
  const blocks = [];
  let rows = [];
  const flush = () => {
    if (!rows.length) return;
    const cells = rows.map(cellsOf);
    const body = cells.slice(1).filter((row) => !row.every((cell) => /^:?-+:?$/.test(cell)));
    const numeric = cells[0].map((_, at) => body.length > 0 && body.every((row) => /^[-+−]?[\d.]|^$|^-$/.test(row[at] || "")));
    blocks.push(plainTable(cells[0].map((head, at) => ({ text: head, number: numeric[at] })), body.map((row) => row.map((cell) => inline(run, cell)))));
    rows = [];
  };
  const spread = /\|\s*-{3}/.test(text) && !text.includes("\n") ? text.replace(/\| \|(?=[^|])/g, "|\n|") : text;
  for (const line of linesOf(spread)) {
    if (/^\s*\|.*\|\s*$/.test(line)) rows.push(line);
    else {
      flush();
      if (line.trim()) blocks.push(h("span", { class: "line-of-text" }, inline(run, line), " "));
    }
  }
  flush();
  return blocks;
}
