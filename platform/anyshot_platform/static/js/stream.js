// A page's stream of events. Browsers open one again after a lost connection, but give it up for good at the first
// answer that is not 200: a proxy's 502 while the site restarts, 401 after a log-out, 429 for one live page too many.
import { tell } from "./site.js";

const LONGEST_PAUSE = 60; // seconds between two tries
const NO_ANSWER = 10_000; // milliseconds

/** Why the site refuses the stream: its status and its words, as far as it says any. */
async function refusal(address) {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), NO_ANSWER);
  try {
    const answer = await fetch(address, { signal: stop.signal });
    if (answer.ok || answer.status >= 500) return { status: answer.status, words: "" };
    const { message } = await answer.json();
    return { status: answer.status, words: message ?? "" };
  } catch {
    return { status: 0, words: "" }; // no answer, or a proxy's page
  } finally {
    clearTimeout(timer);
    stop.abort(); // an answer of 200 would go on
  }
}

/**
 * Calls `events` by their names with the data of each event, until `end` is called.
 *
 * `address` makes the address from the id of the last event, which is `after` at first. A stream that ends is opened
 * again with growing pauses. It rests while nobody sees the page: a browser has six connections to a site in all.
 */
export function follow(address, after, events) {
  let source = null;
  let last = after;
  let live = false;
  let ended = false;
  let failures = 0;
  let timer = 0;
  let note = null;

  function hush() {
    note?.remove();
    note = null;
  }

  function close() {
    clearTimeout(timer);
    source?.close();
    source = null;
    live = false;
  }

  function open() {
    source = new EventSource(address(last));
    for (const [name, take] of Object.entries(events))
      source.addEventListener(name, ({ data, lastEventId, target }) => {
        if (target !== source) return;
        live = true;
        failures = 0;
        last = lastEventId;
        hush();
        take(JSON.parse(data));
      });
    source.addEventListener("error", lose);
  }

  async function lose({ target }) {
    if (target !== source) return;
    const refused = target.readyState === EventSource.CLOSED;
    close();
    const pause = Math.min(2 ** failures, LONGEST_PAUSE) * (0.75 + Math.random() / 2); // not all pages at once
    failures += 1;
    timer = setTimeout(open, 1000 * pause);
    if (!refused && failures < 2) return; // the site ends each stream after an hour
    const { status, words } = refused ? await refusal(address(last)) : { status: 0, words: "" };
    if (!live && !ended) explain(status, words);
  }

  function explain(status, words) {
    const text = `This page is not live at the moment. ${status === 401 ? "" : words}`.trim();
    const here = encodeURIComponent(location.pathname + location.search);
    const link = status === 401 ? { href: `/login?next=${here}`, words: "Please log in." } : null;
    if (note?.dataset.why === `${status} ${text}`) return; // it is announced once
    hush();
    note = tell(text, "warn", link);
    note.dataset.why = `${status} ${text}`;
  }

  addEventListener("pagehide", close);
  document.addEventListener("visibilitychange", () => {
    close();
    if (!document.hidden && !ended) open();
  });
  if (!document.hidden) open();
  return {
    isLive: () => live,
    end() {
      ended = true;
      close();
      hush();
    },
  };
}
