import { listened, watched } from "./listening.js";
import { prepared, rowOf } from "./texts.js";

// Runs from the server of this page, followed live. The server's addresses are below that of the page, which has the key.

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
      // the server's plain text is the message
    }
    throw new Error(message.slice(0, 500) || `the server answered ${reply.status} for ${path}`);
  }
  return JSON.parse(text);
}

export function liveSource(say) {
  const kept = new Map();
  let over = ""; // the message once the server has ended, after which no request is sent
  const asked = (path) => (over ? Promise.reject(new Error(over)) : answered(path));
  const tell = (text) => say(over || text, Boolean(over));
  const onEnded = (again) => {
    over = `The server has ended; this page shows the whole record. Open it again with: ${again}`;
    tell(over);
  };
  const part = encodeURIComponent;
  const compared = (names) => asked("api/compare?" + names.map((name) => `run=${part(name)}`).join("&"));
  const listed = async () => {
    const answer = await asked("api/runs");
    return { rows: answer.runs.map(rowOf), unreadable: answer.unreadable };
  };
  return {
    live: true,
    runs: listed,
    // The run from the cache if it is recent, else from the server; `follow` sends the changes since at once.
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
