import { mergeRun } from "./follow.js";
import { doubts, prepared } from "./texts.js";

// Runs from the server that sent this page, and what happens in them as it is written.

async function asked(path) {
  const reply = await fetch(path, { headers: { accept: "application/json" } });
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
  const part = encodeURIComponent;
  const run = async (name) => {
    const document = prepared(await asked(`/api/run/${part(name)}`));
    kept.set(name, document);
    return document;
  };
  return {
    live: true,
    unreadable: [],
    async runs() {
      const told = await asked("/api/runs");
      this.unreadable = told.unreadable;
      return told.runs.map((row) => ({ ...row, doubts: doubts(row) }));
    },
    run: async (name) => (kept.has(name) && kept.get(name).followed ? kept.get(name) : run(name)),
    gen: (name, n) => asked(`/api/run/${part(name)}/gen/${n}`),
    compare: (names) => asked("/api/compare?" + names.map((name) => `run=${part(name)}`).join("&")),
    // Calls onChange(run, {generations, fields}) for each event, until the function that it returns is called.
    follow: (name, onChange) => {
      const document = kept.get(name);
      const since = document ? `&since=${part(document.version)}` : "";
      const events = new EventSource(`/api/events?run=${part(name)}${since}`);
      let lost = false;
      const changed = (known, event) => {
        const what = mergeRun(known, event);
        onChange(prepared(known), what);
      };
      if (document) document.followed = true;
      events.onmessage = (message) => {
        const known = kept.get(name);
        if (known) changed(known, JSON.parse(message.data));
      };
      events.addEventListener("trouble", (message) => say(JSON.parse(message.data).error));
      events.onopen = async () => {
        if (!lost) return;
        lost = false;
        say("");
        const known = kept.get(name);
        if (known) changed(known, await asked(`/api/run/${part(name)}`));
      };
      events.onerror = () => {
        lost = true;
        say("The server does not answer; what stands here is the last that it told. Trying again.");
      };
      return () => {
        events.close();
        if (kept.has(name)) kept.get(name).followed = false;
      };
    },
  };
}
