import { prepared, rowOf } from "./texts.js";

// Runs from the file itself: base64 of deflated JSON in <script id="data">, with each line of text once.

async function unpacked(base64) {
  const bytes = Uint8Array.from(atob(base64.replace(/\s+/g, "")), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return JSON.parse(await new Response(stream).text());
}

// A value with every {"$lines": k} in it replaced by its text.
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
    throw new Error(`the data in this file cannot be read (is the file complete?): ${error.message}`);
  }
  if (packed.format !== 1) throw new Error(`this file's data has format ${packed.format}, and this page reads format 1`);
  // The texts of runs are restored now, generations one by one when they are opened.
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
