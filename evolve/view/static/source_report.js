import { prepared, rowOf } from "./texts.js";

// Runs out of the file itself: base64 of deflated JSON in <script id="data">, each line of text in it once.

async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64.replace(/\s+/g, "")), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

// A value with every {"$lines": k} in it as the text that it stands for.
function joined(value, packed) {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.map((each) => joined(each, packed));
  if (Number.isInteger(value.$lines)) return packed.texts[value.$lines].map((number) => packed.lines[number]).join("\n");
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key === "$lines " ? "$lines" : key, joined(each, packed)]));
}

export async function reportSource(node) {
  let packed;
  try {
    packed = await unpacked(node.textContent);
  } catch (error) {
    throw new Error(`the data in this file cannot be opened (was it cut off on its way?): ${error.message}`);
  }
  if (packed.format !== 1) throw new Error(`this file's data has format ${packed.format}, and this page reads format 1`);
  // Whatever is read of a run, its name above all, is a text from here on; generations are opened one by one.
  for (const run of packed.runs) for (const key of Object.keys(run)) if (key !== "gendocs" && key !== "gens") run[key] = joined(run[key], packed);
  const runs = new Map(packed.runs.map((run) => [run.name, prepared(run)]));
  const found = (name) => {
    if (!runs.has(name)) throw new Error(`no run ${name} in this file; there are ${[...runs.keys()].join(", ")}`);
    return runs.get(name);
  };
  return {
    live: false,
    runs: async () => ({ rows: packed.rows.map((row) => rowOf(joined(row, packed))), unreadable: [] }),
    run: async (name) => found(name),
    gen: async (name, n) => {
      const doc = found(name).gendocs[n];
      if (!doc) throw new Error(`generation ${n} of ${name} is not in this file`);
      return joined(doc, packed);
    },
    follow: () => () => {},
    watchRuns: () => () => {},
    watchCompare: () => () => {},
    compare: async () => (packed.compare ? joined(packed.compare, packed) : null),
  };
}
