import { mergeRun, replaceRun } from "./follow.js";
import { prepared } from "./texts.js";

// Follows the server while the page is visible. A hidden page sends nothing and keeps no connection, since browsers allow a host six for all of its
// pages together.

const EVERY_MS = 2500;
const AGAIN_MS = 5000;
// Slow answers are requested less often.
const pauseAfter = (began) => Math.max(EVERY_MS, 20 * (performance.now() - began));

function whileLookedAt(begin, end) {
  const turn = () => (document.hidden ? end() : begin());
  document.addEventListener("visibilitychange", turn);
  turn();
  return () => {
    document.removeEventListener("visibilitychange", turn);
    end();
  };
}

// Asks repeatedly; calls onNews(answer) when the answer changes. Returns a function that ends it.
export function watched(ask, before, onNews, say) {
  let known = JSON.stringify(before);
  let [timer, wanted] = [null, false];
  const later = (pause) => {
    clearTimeout(timer);
    if (wanted) timer = setTimeout(look, pause);
  };
  const look = async () => {
    const began = performance.now();
    try {
      const found = await ask();
      const text = JSON.stringify(found);
      if (wanted && text !== known) {
        known = text;
        onNews(found);
      }
      say("");
    } catch (error) {
      say(error.message);
    }
    later(pauseAfter(began));
  };
  return whileLookedAt(() => {
    wanted = true;
    later(before === undefined || timer !== null ? 0 : EVERY_MS);
  }, () => {
    wanted = false;
    clearTimeout(timer);
  });
}

// Follows a run: its events are merged into `run` as they come; the keys that they leave out are requested soon after, and at once when the run ends.
// Calls onChange(run, {generations, fields, rest, whole}) for each event, and onEnded(again) with the command that starts the server again when it
// ends. Returns a function that ends it.
export function listened(run, path, stream, ask, onChange, say, onEnded) {
  let [events, timer, busy, wanted, lost] = [null, null, false, false, false];
  let [next, ended] = [0, false];
  const tell = (changed) => onChange(prepared(run), { rest: false, whole: false, ...changed });

  async function askRest() {
    timer = null;
    busy = true;
    const began = performance.now();
    const version = run.version;
    try {
      const found = await ask(`${path}/rest`);
      if (wanted) tell({ ...mergeRun(run, found), rest: true });
    } catch (error) {
      say(error.message);
    }
    busy = false;
    next = performance.now() + pauseAfter(began);
    if (run.version !== version) restSoon();
  }

  function restSoon() {
    if (!wanted || busy || (timer !== null && run.state.running)) return;
    clearTimeout(timer);
    timer = setTimeout(askRest, run.state.running ? Math.max(0, next - performance.now()) : 0);
  }

  function open() {
    wanted = true;
    if (run.rest_version !== run.version) restSoon();
    events = new EventSource(stream(run));
    events.onmessage = (message) => {
      tell(mergeRun(run, JSON.parse(message.data)));
      restSoon();
    };
    events.addEventListener("whole", (message) => tell({ ...replaceRun(run, JSON.parse(message.data)), rest: true, whole: true }));
    events.addEventListener("ended", (message) => {
      ended = true;
      close();
      onEnded(JSON.parse(message.data).again);
    });
    events.addEventListener("trouble", (message) => say(JSON.parse(message.data).error));
    events.onopen = () => {
      if (lost) say("");
      lost = false;
    };
    events.onerror = () => {
      lost = true;
      if (events.readyState === EventSource.CLOSED) refused();
      else say("The server does not answer; this page shows the last state that it sent. Trying again.");
    };
  }

  // The server refuses the stream of this run: the answer to a plain request says why.
  async function refused() {
    close();
    const [answer] = await Promise.allSettled([ask(path)]);
    say(answer.status === "rejected" ? answer.reason.message : "");
    setTimeout(() => !ended && !document.hidden && !events && open(), AGAIN_MS);
  }

  function close() {
    wanted = false;
    clearTimeout(timer);
    timer = null;
    if (events) events.close();
    events = null;
  }

  const end = whileLookedAt(() => !ended && open(), close);
  return () => {
    ended = true;
    end();
  };
}
