// The submission page while it runs: state and log over one server-sent event stream.
// The stream resumes by itself (Last-Event-ID), so a lost connection or a sleeping laptop loses no line.
import { grow } from "./charts.js";
import { toast } from "./site.js";
import { _, language, number } from "./words.js";

const KEEP_LINES = 5000; // in the page; the whole log can be downloaded
const live = document.getElementById("live");
const log = document.getElementById("log");
const follow = document.getElementById("log-follow");
const counter = document.getElementById("log-count");

const units = [
  [_("d"), 86400],
  [_("h"), 3600],
  [_("min"), 60],
  [_("s"), 1],
];
/** Seconds in the two largest units, as the server writes them. */
export function duration(seconds) {
  if (seconds < 9.95) return `${number(seconds, 1)} ${_("s")}`;
  let rest = Math.round(seconds);
  const parts = [];
  for (const [name, size] of units) {
    if (rest >= size && parts.length < 2) {
      parts.push(`${Math.floor(rest / size)} ${name}`);
      rest %= size;
    } else if (parts.length) break;
  }
  return parts.join(" ") || `0 ${_("s")}`;
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
  setBar(block, used, budget, _("%(done)s of %(all)s", { done: duration(used), all: duration(budget) }));
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
    _("%(done)s of %(all)s", { done: run.tasks_done, all: run.tasks_total }),
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
  counter.textContent = total === 1 ? _("1 line") : _("%(number)s lines", { number: number(total) });
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
    Object.assign(document.createElement("summary"), { textContent: titles[key] ?? _("Next attempt") }),
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

function listen() {
  const source = new EventSource(
    `${live.dataset.stream}?after=${log.dataset.last}&measured=${live.dataset.measured}`,
  );
  source.addEventListener("measures", (event) => grow(JSON.parse(event.data)));
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
    const news = JSON.parse(event.data);
    titles = { ...titles, ...news.titles };
    stages = { ...stages, ...news.stages };
    for (const line of news.lines) pending.push(line);
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

/** The time of a line in the reader's zone, which the style shows before it. */
function tellTime(line) {
  line.dataset.time ??= new Date(1000 * line.dataset.at).toLocaleTimeString(language, { hour12: false });
}

/** A choice on how the log looks, which the browser remembers. */
function choose(name, look) {
  const box = document.getElementById(`log-${name}`);
  if (!box) return;
  const key = `log.${name}`;
  const show = () => {
    look(box.checked);
    localStorage.setItem(key, box.checked ? "yes" : "no");
  };
  box.checked = localStorage.getItem(key) ? localStorage.getItem(key) === "yes" : box.checked;
  look(box.checked);
  box.addEventListener("change", show);
}

/** Mark what the log has of a text, and go to the first place. */
function search(text) {
  let first = null;
  for (const line of log.querySelectorAll(".log__line")) {
    const found = text !== "" && line.textContent.toLowerCase().includes(text);
    line.classList.toggle("is-found", found);
    if (found) first ??= line;
  }
  if (first) show(first);
}

function show(line) {
  if (follow) follow.checked = false;
  line.closest("details").open = true;
  log.scrollTop = line.offsetTop - log.offsetTop - 40;
}

if (log) {
  log.scrollTop = log.scrollHeight;
  log.addEventListener(
    "wheel",
    () => {
      if (follow) follow.checked = log.scrollTop + log.clientHeight > log.scrollHeight - 40;
    },
    { passive: true },
  );
  follow?.addEventListener("change", () => {
    if (follow.checked) log.scrollTop = log.scrollHeight;
  });
  document
    .getElementById("log-search")
    .addEventListener("input", (event) => search(event.target.value.trim().toLowerCase()));
  const errors = [...log.querySelectorAll(".log__line--stderr")].filter((line) =>
    /Traceback|Error\b|Exception\b/.test(line.textContent),
  );
  const jump = document.getElementById("log-error");
  jump.hidden = !errors.length;
  jump.addEventListener("click", () => show(errors.at(-1)));
  if (total) showCount();
  choose("times", (on) => {
    if (on) for (const line of log.querySelectorAll(".log__line")) tellTime(line);
    log.classList.toggle("log--times", on);
  });
  choose("wrap", (on) => log.classList.toggle("log--long", !on));
}
if (live?.dataset.live) listen();
else if (live && sessionStorage.getItem("ended") === live.dataset.stream) {
  sessionStorage.removeItem("ended");
  const badge = document.querySelector("#live-badge .badge");
  const tone = ["good", "bad", "warn"].find((one) => badge.classList.contains(`badge--${one}`));
  toast(`${_("The submission has ended.")} ${badge.textContent.trim()}.`, tone);
}
