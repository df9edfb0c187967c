// The submission page while it runs: state and log over one server-sent event stream.
// The stream resumes by itself (Last-Event-ID), so a lost connection or a sleeping laptop loses no line.
import { toast } from "./site.js";

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
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
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
let shown = log ? log.childElementCount : 0;
let total = shown;

function flush() {
  if (!pending.length) return;
  const fragment = document.createDocumentFragment();
  for (const [stream, text] of pending) {
    const line = document.createElement("div");
    line.className = `log__line log__line--${stream}`;
    line.textContent = text;
    fragment.append(line);
  }
  shown += pending.length;
  total += pending.length;
  pending = [];
  log.append(fragment);
  for (; shown > KEEP_LINES; shown -= 1) log.firstElementChild.remove();
  document.getElementById("log-empty")?.remove();
  counter.textContent = `${total.toLocaleString()} lines`;
  if (follow.checked) log.scrollTop = log.scrollHeight;
}

function listen() {
  const source = new EventSource(`${live.dataset.stream}?after=${log.dataset.last}`);
  source.addEventListener("state", (event) => {
    const state = JSON.parse(event.data);
    document.getElementById("live-badge").innerHTML = state.badge;
    for (const run of state.runs) showRun(run);
    if (state.ended) {
      source.close();
      flush();
      sessionStorage.setItem("ended", live.dataset.stream);
      location.reload();
    }
  });
  source.addEventListener("log", (event) => {
    for (const line of JSON.parse(event.data)) pending.push(line);
    if (pending.length > KEEP_LINES) {
      total += pending.length - KEEP_LINES;
      pending = pending.slice(-KEEP_LINES);
    }
    requestAnimationFrame(flush);
  });
  setInterval(() => {
    for (const { card, run, since } of clocks.values()) {
      if (!run.ticking) continue;
      const used = Math.min(run.seconds_used + (performance.now() - since) / 1000, run.budget_seconds);
      showTime(card.querySelector("[data-time]"), used, run.budget_seconds);
    }
  }, 500);
  addEventListener("pagehide", () => source.close());
}

if (log) {
  log.scrollTop = log.scrollHeight;
  log.addEventListener(
    "wheel",
    () => {
      follow.checked = log.scrollTop + log.clientHeight > log.scrollHeight - 40;
    },
    { passive: true },
  );
  follow.addEventListener("change", () => {
    if (follow.checked) log.scrollTop = log.scrollHeight;
  });
  if (total) counter.textContent = `${total.toLocaleString()} lines`;
}
if (live?.dataset.live) listen();
else if (live && sessionStorage.getItem("ended") === live.dataset.stream) {
  sessionStorage.removeItem("ended");
  toast("The submission has ended.", "info");
}
