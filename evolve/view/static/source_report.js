import { prepared, summaryOf } from "./texts.js";

// Runs out of the file itself: base64 of deflated JSON in <script id="data">, each line of text in it once.

async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64.replace(/\s+/g, "")), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

// A value with every {"$lines": [...]} in it as the text that it stands for.
function joined(value, lines) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((each) => joined(each, lines));
  if (Array.isArray(value.$lines)) return value.$lines.map((number) => lines[number]).join("\n");
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key === "$lines " ? "$lines" : key, joined(each, lines)]));
}

export async function reportSource(node) {
  let packed;
  try {
    packed = await unpacked(node.textContent);
  } catch (error) {
    throw new Error(`the data in this file cannot be opened (was it cut off on its way?): ${error.message}`);
  }
  if (packed.format !== 1) throw new Error(`this file's data has format ${packed.format}, and this page reads format 1`);
  const runs = new Map(packed.runs.map((run) => [run.name, prepared(run)]));
  const found = (name) => {
    if (!runs.has(name)) throw new Error(`no run ${name} in this file; there are ${[...runs.keys()].join(", ")}`);
    return runs.get(name);
  };
  const opened = new Set();
  return {
    live: false,
    unreadable: [],
    runs: async () => packed.runs.map(summaryOf),
    run: async (name) => {
      const run = found(name);
      if (!opened.has(name)) {
        for (const key of Object.keys(run)) if (key !== "gendocs" && key !== "gens") run[key] = joined(run[key], packed.lines);
        opened.add(name);
      }
      return run;
    },
    gen: async (name, n) => {
      const doc = found(name).gendocs[n];
      if (!doc) throw new Error(`generation ${n} of ${name} is not in this file`);
      return joined(doc, packed.lines);
    },
    follow: () => () => {},
    compare: async () => (packed.compare ? joined(packed.compare, packed.lines) : null),
  };
}
