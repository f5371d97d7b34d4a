import { listened, watched } from "./listening.js";
import { prepared, rowOf } from "./texts.js";

// Runs from the server that sent this page, and what happens in them as it is written. Its addresses stand below that of the page, which holds the key.

const KEPT_MS = 10000;

async function answered(path) {
  const reply = await fetch(path, { headers: { accept: "application/json" } }).catch(() => {
    throw new Error("The server does not answer; this page shows the last state that it sent.");
  });
  const text = await reply.text();
  if (!reply.ok) {
    let message = text;
    try {
      message = JSON.parse(text).error || text;
    } catch {
      // the server's plain text says it
    }
    throw new Error(message.slice(0, 500) || `the server answered ${reply.status} for ${path}`);
  }
  return JSON.parse(text);
}

export function liveSource(say) {
  const kept = new Map();
  let over = ""; // what is said once the server has told that it ends: nobody is asked any more
  const asked = (path) => (over ? Promise.reject(new Error(over)) : answered(path));
  const tell = (text) => say(over || text, Boolean(over));
  const onEnded = (again) => {
    over = `The command that showed this has ended; what stands here is all that was recorded. Open it again with: ${again}`;
    tell(over);
  };
  const part = encodeURIComponent;
  const compared = (names) => asked("api/compare?" + names.map((name) => `run=${part(name)}`).join("&"));
  const listed = async () => {
    const told = await asked("api/runs");
    return { rows: told.runs.map(rowOf), unreadable: told.unreadable };
  };
  return {
    live: true,
    runs: listed,
    // The run as it was told a moment ago, or as it is: whoever follows it is told at once what has changed since.
    run: async (name) => {
      const found = kept.get(name);
      if (found && (over || found.followers || performance.now() - found.left < KEPT_MS)) return found.run;
      const run = prepared(await asked(`api/run/${part(name)}`));
      run.rest_version = run.version;
      kept.set(name, { run, followers: 0, left: performance.now() });
      return run;
    },
    gen: (name, n) => asked(`api/run/${part(name)}/gen/${n}`),
    compare: compared,
    // Calls onChange for each event until the function that it returns is called (listening.js).
    follow: (name, onChange) => {
      const found = kept.get(name);
      found.followers += 1;
      if (over) return () => (found.followers -= 1);
      const end = listened(found.run, `api/run/${part(name)}`, (run) => `api/events?run=${part(name)}&since=${part(run.version)}`, asked, onChange, tell, onEnded);
      return () => {
        found.followers -= 1;
        found.left = performance.now();
        end();
      };
    },
    watchRuns: (before, onNews) => watched(listed, before, onNews, tell),
    watchCompare: (names, before, onNews) => watched(() => compared(names), before, onNews, tell),
  };
}
