// The submission page while it runs: state and log over one server-sent event stream.
// The stream goes on behind the last event, so a lost connection or a sleeping laptop loses no line.
import { grow } from "./charts.js";
import { tellTime } from "./log.js";
import { number } from "./numbers.js";
import { isChanged, tell, toast } from "./site.js";

const KEEP_LINES = 5000; // in the page; the whole log can be downloaded
const live = document.getElementById("live");
const log = document.getElementById("log");
const follow = document.getElementById("log-follow");
const counter = document.getElementById("log-count");

const units = [
  ["d", 86400],
  ["h", 3600],
  ["min", 60],
  ["s", 1],
];
/** Seconds in the two largest units, as the server writes them. */
export function duration(seconds) {
  if (seconds < 9.95) return `${number(seconds, 1)} s`;
  let rest = Math.round(seconds);
  const parts = [];
  for (const [name, size] of units) {
    if (rest >= size && parts.length < 2) {
      parts.push(`${Math.floor(rest / size)} ${name}`);
      rest %= size;
    } else if (parts.length) break;
  }
  return parts.join(" ") || "0 s";
}

function setBar(block, value, max, text) {
  const bar = block.querySelector("progress");
  bar.max = max || 1;
  bar.value = Math.min(value, bar.max);
  block.querySelector("[data-progress-text]").textContent = text;
}

const clocks = new Map(); // run id -> what lets its time bar move between two messages

function showTime(block, used, budget) {
  block.querySelector("progress").classList.toggle("warn", used > 0.8 * budget);
  setBar(block, used, budget, `${duration(used)} of ${duration(budget)}`);
}

const ICONS = { "is-done": "check", "is-now": "loader-circle", "is-bad": "x", "": "circle" };

function showRun(run) {
  const card = live.querySelector(`[data-run="${run.id}"]`);
  if (!card) return;
  for (const item of card.querySelectorAll("[data-stage]")) {
    const css = run.stages[item.dataset.stage] ?? "";
    if (item.className === css) continue;
    item.className = css;
    item.toggleAttribute("aria-current", false);
    if (css === "is-now") item.setAttribute("aria-current", "step");
    const use = item.querySelector("use");
    use.setAttribute("href", use.getAttribute("href").replace(/#.*/, `#${ICONS[css]}`));
  }
  const badge = card.querySelector("[data-badge]"); // where there are several runs
  if (badge) badge.innerHTML = run.badge;
  const status = card.querySelector("[data-status]");
  if (status.textContent !== run.words) status.textContent = run.words;
  setBar(
    card.querySelector("[data-tasks]"),
    run.tasks_done,
    run.tasks_total,
    `${run.tasks_done} of ${run.tasks_total}`,
  );
  showTime(card.querySelector("[data-time]"), run.seconds_used, run.budget_seconds);
  clocks.set(run.id, { card, run, since: performance.now() });
}

let pending = [];
let titles = {};
let stages = {};
let shown = log ? log.querySelectorAll(".log__line").length : 0;
let total = Number(log?.dataset.total ?? 0);

const showCount = () => {
  counter.textContent = total === 1 ? "1 line" : `${number(total)} lines`;
};

/** The part of the log that an attempt writes; a new attempt folds the ones before it. */
function partOf(key) {
  const known = log.querySelector(`[data-part="${CSS.escape(key)}"]`);
  if (known) return known;
  const run = key.split(".")[0];
  for (const part of log.querySelectorAll(`[data-run="${CSS.escape(run)}"]`)) part.open = false;
  const part = document.createElement("details");
  part.className = "log__part";
  part.open = true;
  part.dataset.part = key;
  part.dataset.run = run;
  part.append(
    Object.assign(document.createElement("summary"), { textContent: titles[key] ?? "Next attempt" }),
  );
  log.append(part);
  log.classList.toggle("log--single", log.childElementCount < 2);
  return part;
}

/** A heading above the first line of a stage. */
function showStage(part, stage) {
  const known = (part.dataset.stages ?? "").split(" ");
  if (known.includes(stage)) return;
  part.dataset.stages = [...known, stage].join(" ");
  part.append(
    Object.assign(document.createElement("div"), {
      className: "log__stage",
      textContent: stages[stage] ?? stage,
    }),
  );
}

function flush() {
  if (!pending.length) return;
  for (const [stream, text, key, stage, at] of pending) {
    showStage(partOf(key), stage);
    const line = document.createElement("div");
    line.className = `log__line log__line--${stream}`;
    line.textContent = text;
    line.dataset.at = at;
    if (log.classList.contains("log--times")) tellTime(line);
    partOf(key).append(line);
  }
  shown += pending.length;
  total += pending.length;
  pending = [];
  for (; shown > KEEP_LINES; shown -= 1) log.querySelector(".log__line").remove();
  document.getElementById("log-empty")?.remove();
  showCount();
  if (follow?.checked) log.scrollTop = log.scrollHeight;
}

/** Whether a reload would throw away what somebody is writing or choosing. */
function isBusy() {
  const controls = [...document.querySelectorAll("main form")].flatMap((form) => [...form.elements]);
  const changed = controls.some((one) => one.matches("input, select, textarea") && isChanged(one));
  return changed || document.querySelector("dialog[open]") !== null;
}

/** How the submission ended, in words, and the tone of its badge. */
function outcome() {
  const badge = document.querySelector("#live-badge .badge");
  const tone = ["good", "bad", "warn"].find((one) => badge.classList.contains(`badge--${one}`));
  return [`The submission has ended. ${badge.textContent.trim()}.`, tone];
}

function finish() {
  if (isBusy()) {
    const href = location.pathname + location.search;
    tell(...outcome(), { href, words: "Reload the page to see how it ended." });
    return;
  }
  sessionStorage.setItem("ended", live.dataset.stream);
  location.reload();
}

async function listen() {
  const { follow: followStream } = await import("./stream.js"); // most pages are of what has ended
  let measured = live.dataset.measured;
  const address = (after) => `${live.dataset.stream}?after=${after}&measured=${measured}`;
  const stream = followStream(address, log.dataset.last, {
    measures(news) {
      measured = news.last;
      grow(news);
    },
    state(state) {
      document.getElementById("live-badge").innerHTML = state.badge;
      for (const run of state.runs) showRun(run);
      if (!state.ended) return;
      stream.end();
      flush();
      finish();
    },
    log(news) {
      titles = { ...titles, ...news.titles };
      stages = { ...stages, ...news.stages };
      for (const line of news.lines) pending.push(line);
      if (pending.length > KEEP_LINES) {
        total += pending.length - KEEP_LINES;
        pending = pending.slice(-KEEP_LINES);
      }
      requestAnimationFrame(flush);
    },
  });
  setInterval(() => {
    if (!stream.isLive()) return;
    for (const { card, run, since } of clocks.values()) {
      if (!run.ticking) continue;
      const used = Math.min(run.seconds_used + (performance.now() - since) / 1000, run.budget_seconds);
      showTime(card.querySelector("[data-time]"), used, run.budget_seconds);
    }
  }, 500);
}

if (log && total) showCount();
if (live?.dataset.live) listen();
else if (live && sessionStorage.getItem("ended") === live.dataset.stream) {
  sessionStorage.removeItem("ended");
  toast(...outcome());
}
