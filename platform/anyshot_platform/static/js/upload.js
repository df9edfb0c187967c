// Upload in parts that resume, with the checks shown before anything is queued.
// Without this script the same form sends the file in one piece.
import { beginOrResume, call, forget, sendParts, size } from "./resumable.js";

const form = document.getElementById("upload-form");
const input = document.getElementById("file");
const zone = document.getElementById("dropzone");
const panel = document.getElementById("upload-progress");
const problem = document.getElementById("upload-error");
const checks = document.getElementById("check-list");
const chunkBytes = Number(form.dataset.chunk);
const maxBytes = Number(form.dataset.max);
const sendButtons = [...form.querySelectorAll("[data-send]")];
const wasDisabled = new Map(sendButtons.map((button) => [button, button.disabled]));
let paused = false;
let controller = null; // of the part that is on its way
let current = 0; // counts files chosen; an older upload that still runs stops

function allowSending(allowed) {
  for (const button of sendButtons) button.disabled = wasDisabled.get(button) || !allowed;
}

function showProblem(text) {
  problem.hidden = !text;
  problem.querySelector(".alert__body").textContent = text;
}

function showProgress(sent, total, text) {
  panel.hidden = false;
  const done = sent === total;
  panel.querySelector("[data-progress-label]").textContent = done ? "Uploaded" : "Uploading";
  panel.querySelector("[data-upload-pause]").hidden = done;
  const bar = panel.querySelector("progress");
  bar.max = total || 1;
  bar.value = sent;
  panel.querySelector("[data-progress-text]").textContent = text ?? `${size(sent)} of ${size(total)}`;
}

function setPaused(now) {
  paused = now;
  panel.querySelector("[data-upload-pause] span").textContent = paused ? "Resume" : "Pause";
}

/** What the form would send is no longer wanted: another file takes its place. */
function dropWaiting() {
  form.elements.upload_id.value = "";
  form.querySelector("[data-waiting]")?.remove();
}

function icon(name) {
  const href = document.querySelector("#dropzone use").getAttribute("href").replace(/#.*/, `#${name}`);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("aria-hidden", "true");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  use.setAttribute("href", href);
  svg.append(use);
  return svg;
}

/** Text with `code` in backticks as nodes. */
function withCode(text) {
  return text
    .split("`")
    .map((part, place) =>
      place % 2 ? Object.assign(document.createElement("code"), { textContent: part }) : part,
    );
}

/** What is wrong stands open, what passed is folded. */
function showChecks(list) {
  const passed = list.filter((check) => check.outcome === "ok");
  const more = Object.assign(document.createElement("details"), { className: "disclosure" });
  const inside = Object.assign(document.createElement("ul"), { className: "checks disclosure__body" });
  inside.append(...passed.map(checkItem));
  const words = `${passed.length} ${passed.length === 1 ? "check" : "checks"} passed`;
  more.append(Object.assign(document.createElement("summary"), { textContent: words }), inside);
  const item = document.createElement("li");
  item.append(more);
  checks.replaceChildren(
    ...list.filter((check) => check.outcome !== "ok").map(checkItem),
    ...(passed.length ? [item] : []),
  );
}

function checkItem(check) {
  const item = document.createElement("li");
  const tone = { ok: "good", warning: "warn", failed: "bad" }[check.outcome] ?? "warn";
  item.className = `check check--${tone}`;
  const body = document.createElement("div");
  const add = (className, text) => {
    const line = Object.assign(document.createElement("p"), { className });
    line.append(...withCode(text));
    body.append(line);
  };
  add("strong", tone === "bad" ? `Failed: ${check.title}` : check.title);
  if (check.found) add("small muted break", check.found);
  if (check.remedy && tone !== "good") add("small break", `What to do: ${check.remedy}`);
  item.append(icon({ good: "circle-check", bad: "circle-x", warn: "triangle-alert" }[tone]), body);
  return item;
}

async function take(file) {
  current += 1;
  const mine = current;
  controller?.abort();
  setPaused(false);
  dropWaiting();
  showProblem("");
  showChecks([]);
  allowSending(false);
  zone.querySelector("[data-dropzone-title]").textContent = file.name;
  if (file.size === 0) {
    showProblem(`${file.name} is empty (0 bytes). Choose the zip of your submission.`);
    return;
  }
  if (file.size > maxBytes) {
    showProblem(`${file.name} has ${size(file.size)}; a submission has at most ${size(maxBytes)}.`);
    return;
  }
  try {
    const upload = await beginOrResume(file, form.dataset.uploads, form.dataset.uploads);
    const whole = await sendParts(file, upload, {
      parts: form.dataset.uploads,
      chunkBytes,
      showProgress: (sent, text) => showProgress(sent, file.size, text),
      isPaused: () => paused,
      isWanted: () => mine === current,
      onPart: (part) => {
        controller = part;
      },
    });
    if (!whole) return;
    const result = await call(form.dataset.check.replace("{id}", upload.id), { method: "POST" });
    if (mine !== current) return;
    showChecks(result.checks);
    if (result.ok) {
      form.elements.upload_id.value = upload.id;
      allowSending(true);
    } else {
      forget(file, form.dataset.uploads);
      showProblem("This zip would be refused. Nothing was queued, and no quota was used.");
    }
  } catch (error) {
    if (mine === current) showProblem(error.message);
  }
}

function again() {
  current += 1;
  controller?.abort();
  panel.hidden = true;
  dropWaiting();
  showChecks([]);
  showProblem("");
  zone.querySelector("[data-dropzone-title]").textContent = "Choose a zip, or drop it here";
  allowSending(false);
  input.focus();
}

// The field is emptied: the form must not send the bytes again, and a browser says nothing about a choice that is the
// same as the last one.
input.addEventListener("change", () => {
  const [file] = input.files;
  input.value = "";
  if (file) take(file);
});
for (const name of ["dragenter", "dragover"])
  zone.addEventListener(name, (event) => {
    event.preventDefault();
    zone.classList.add("is-over");
  });
for (const name of ["dragleave", "drop"])
  zone.addEventListener(name, (event) => {
    event.preventDefault();
    zone.classList.remove("is-over");
  });
zone.addEventListener("drop", (event) => {
  if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
});
panel.querySelector("[data-upload-pause]").addEventListener("click", () => {
  setPaused(!paused);
  if (paused) controller?.abort();
});
panel.querySelector("[data-upload-abort]").addEventListener("click", again);
allowSending(Boolean(form.elements.upload_id.value));
