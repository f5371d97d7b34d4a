// Builds the page. Every text is inserted as text, never parsed as markup, so a run's record cannot inject any.

const SVG = "http://www.w3.org/2000/svg";
const ATTRIBUTES = new Set(
  "class id title role tabindex type placeholder value checked disabled colspan rowspan scope for name open width height alt hidden autocomplete spellcheck selected".split(" "),
);
// Bidirectional marks, invisible joiners, tags, variation selectors and other characters that change the look of their neighbours.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

const LONE = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

// The text with invisible characters written as ⟨U+202E⟩.
export function visible(text) {
  return String(text).replace(UNSEEN, (found) => {
    const code = found.codePointAt(0);
    return `⟨U+${code.toString(16).toUpperCase().padStart(4, "0")}⟩`;
  });
}

function append(node, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false) continue;
    if (Array.isArray(child)) append(node, child);
    else node.append(child instanceof Node ? child : document.createTextNode(visible(child)));
  }
}

function listen(node, listeners) {
  for (const [name, listener] of Object.entries(listeners)) node.addEventListener(name, listener);
}

function assign(node, props) {
  for (const [key, value] of Object.entries(props)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") listen(node, value);
    else if (key === "css") for (const [name, setting] of Object.entries(value)) node.style.setProperty(name, setting);
    else setAttribute(node, key, value);
  }
}

function setAttribute(node, key, value) {
  if (key === "href") {
    if (!value.startsWith("#/")) throw new Error(`a link leads out of the page: ${value}`);
    node.setAttribute("href", value);
  } else if (ATTRIBUTES.has(key) || /^(aria|data)-[a-z-]+$/.test(key)) node.setAttribute(key, value === true ? "" : visible(value));
  else throw new Error(`no attribute of this page: ${key}`);
}

// One HTML element: h("td", {class: "number"}, "12"). Children are nodes, texts, lists, or null.
export function h(tag, props, ...children) {
  const node = document.createElement(tag);
  if (props) assign(node, props);
  append(node, children);
  return node;
}

// One SVG element. Its attributes are our own numbers and words; texts of a record are children only.
export function s(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "on") listen(node, value);
    else if (value !== null && value !== undefined) node.setAttribute(key, value);
  }
  append(node, children);
  return node;
}

export function put(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

// The SVG text of a task's `draw` as an image, in which nothing runs or loads.
export function picture(svg, words) {
  const bytes = new TextEncoder().encode(svg);
  let binary = "";
  for (let at = 0; at < bytes.length; at += 8192) binary += String.fromCharCode(...bytes.subarray(at, at + 8192));
  const image = h("img", { class: "picture", alt: words });
  image.src = "data:image/svg+xml;base64," + btoa(binary);
  return image;
}

// The address of a view: its path parts (a list: joined by +), and its query.
export function address(parts, query) {
  const encoded = (part) => (Array.isArray(part) ? part.map(encoded).join("+") : encodeURIComponent(String(part).replace(LONE, "\ufffd")));
  const path = "#/" + parts.map(encoded).join("/");
  const asked = Object.entries(query || {}).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return asked.length ? path + "?" + new URLSearchParams(asked.map(([key, value]) => [key, String(value)])) : path;
}

export function link(parts, query, ...children) {
  return h("a", { href: address(parts, query) }, ...children);
}

export function button(text, onClick, props) {
  return h("button", { type: "button", ...props, on: { click: onClick } }, text);
}
