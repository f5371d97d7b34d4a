import { h } from "./dom.js";
import { linesOf } from "./texts.js";

// Colours for code: strings, comments, numbers and keywords, for Python and for languages with a syntax like C.

const PYTHON = "and as assert async await break case class continue def del elif else except False finally for from global if import in is lambda match None nonlocal not or pass raise return True try while with yield";
const BRACES = "auto bool break case catch char class const constexpr continue default delete do double else enum export extends extern false final float fn for func function go if impl import in inline int interface let long loop match mod mut namespace new nil null nullptr operator package private protected pub public return self short signed size_t sizeof static struct super switch template this throw trait true try type typedef typename union unsigned use using var virtual void volatile where while";
const PYTHON_TOKEN = /(#[^\n]*)|([rbfuRBFU]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))|(\b(?:0[xXoObB][\da-fA-F_]+|\d[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?)\b)|([A-Za-z_]\w*)/g;
const BRACES_TOKEN = /(\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|^[ \t]*#[^\n]*)|("(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?)|(\b(?:0[xX][\da-fA-F_]+|\d[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?[fFlLuU]*)\b)|([A-Za-z_]\w*)/gm;
const LONGEST_COLOURED = 200000;

function looksLikeBraces(code) {
  const lines = code.split("\n", 400);
  return lines.filter((line) => /[;{}]\s*$/.test(line)).length > lines.filter((line) => /:\s*(#.*)?$/.test(line)).length;
}

// The code's lines, each a list of [class or null, text].
export function coloured(code) {
  const lines = [[]];
  const text = linesOf(code).join("\n");
  const add = (kind, part) => {
    part.split("\n").forEach((piece, at) => {
      if (at) lines.push([]);
      if (piece) lines[lines.length - 1].push([kind, piece]);
    });
  };
  if (text.length > LONGEST_COLOURED) {
    add(null, text);
    return lines;
  }
  const braces = looksLikeBraces(text);
  const words = new Set((braces ? BRACES : PYTHON).split(" "));
  let at = 0;
  for (const found of text.matchAll(braces ? BRACES_TOKEN : PYTHON_TOKEN)) {
    const [whole, comment, string, number, word] = found;
    const kind = comment ? "c" : string ? "s" : number ? "n" : words.has(word) ? "k" : null;
    if (!kind) continue;
    if (found.index > at) add(null, text.slice(at, found.index));
    add(kind, whole);
    at = found.index + whole.length;
  }
  add(null, text.slice(at));
  return lines;
}

export function pieces(line) {
  return line.map(([kind, text]) => (kind ? h("span", { class: `syntax-${kind}` }, text) : text));
}

// Code with line numbers that are not copied with it.
export function codeBlock(code) {
  const lines = coloured(code);
  return h("pre", { class: "code" }, lines.map((line, at) => h("span", { class: "line", "data-line": at + 1 }, pieces(line), "\n")));
}
