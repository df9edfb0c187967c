// Upload in parts that resume, with the checks shown before anything is queued.
// Without this script the same form sends the file in one piece.
import { csrfToken } from "./site.js";

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
let controller = null;
let current = 0; // counts files chosen; an older upload that still runs stops

const headers = () => ({ "X-CSRF-Token": csrfToken(), Accept: "application/json" });
const size = (bytes) =>
  bytes < 1048576 ? `${Math.ceil(bytes / 1024)} KiB` : `${(bytes / 1048576).toFixed(1)} MiB`;
const wait = (ms) => new Promise((done) => setTimeout(done, ms));

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

function showChecks(list) {
  checks.replaceChildren(
    ...list.map((check) => {
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
    }),
  );
}

async function answer(response) {
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  throw Object.assign(new Error(body.message ?? `The platform answered ${response.status}.`), {
    status: response.status,
    body,
  });
}

/** Where an earlier, broken upload of the same file stopped. */
const memory = (file) => `upload:${file.name}:${file.size}:${file.lastModified}`;

async function beginOrResume(file) {
  const known = localStorage.getItem(memory(file));
  if (known) {
    const response = await fetch(`${form.dataset.uploads}/${known}`, { headers: headers() });
    if (response.ok) return response.json();
    localStorage.removeItem(memory(file));
  }
  const begun = await answer(
    await fetch(form.dataset.uploads, {
      method: "POST",
      headers: { ...headers(), "Content-Type": "application/json" },
      body: JSON.stringify({ filename: file.name, size: file.size }),
    }),
  );
  localStorage.setItem(memory(file), begun.id);
  return begun;
}

async function sendParts(file, upload, mine) {
  let offset = upload.received;
  let failures = 0;
  while (offset < file.size) {
    while (paused && mine === current) await wait(150);
    if (mine !== current) return false;
    showProgress(offset, file.size);
    controller = new AbortController();
    try {
      const response = await fetch(`${form.dataset.uploads}/${upload.id}?offset=${offset}`, {
        method: "PUT",
        headers: { ...headers(), "Content-Type": "application/octet-stream" },
        body: file.slice(offset, offset + chunkBytes),
        signal: controller.signal,
      });
      const body = await answer(response);
      offset = body.received;
      failures = 0;
    } catch (error) {
      if (mine !== current) return false;
      if (paused && error.name === "AbortError") continue;
      if (error.status === 409 && Number.isInteger(error.body.received)) {
        offset = error.body.received;
        continue;
      }
      if (error.status && error.status < 500) throw error;
      failures += 1;
      if (failures > 8)
        throw new Error(
          "The connection keeps breaking. Choose the same file again to go on where it stopped.",
        );
      showProgress(offset, file.size, `connection lost, trying again in ${2 ** Math.min(failures, 5) / 2} s`);
      await wait(500 * 2 ** Math.min(failures, 5));
      const now = await fetch(`${form.dataset.uploads}/${upload.id}`, { headers: headers() }).catch(
        () => null,
      );
      if (now?.ok) offset = (await now.json()).received;
    }
  }
  showProgress(file.size, file.size, `${size(file.size)}, complete`);
  return true;
}

async function take(file) {
  current += 1;
  const mine = current;
  paused = false;
  form.elements.upload_id.value = "";
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
    const upload = await beginOrResume(file);
    if (!(await sendParts(file, upload, mine))) return;
    const result = await answer(
      await fetch(form.dataset.check.replace("{id}", upload.id), { method: "POST", headers: headers() }),
    );
    if (mine !== current) return;
    localStorage.removeItem(memory(file));
    showChecks(result.checks);
    if (result.ok) {
      form.elements.upload_id.value = upload.id;
      input.disabled = true; // the bytes are there already: the form must not send them again
      allowSending(true);
    } else showProblem("This zip would be refused. Nothing was queued, and no quota was used.");
  } catch (error) {
    if (mine === current) showProblem(error.message);
  }
}

function again() {
  current += 1;
  controller?.abort();
  input.disabled = false;
  input.value = "";
  panel.hidden = true;
  form.elements.upload_id.value = "";
  showChecks([]);
  showProblem("");
  zone.querySelector("[data-dropzone-title]").textContent = "Choose a zip, or drop it here";
  allowSending(false);
  input.focus();
}

input.addEventListener("change", () => {
  if (input.files.length) take(input.files[0]);
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
  if (event.dataTransfer.files.length) {
    input.disabled = false;
    take(event.dataTransfer.files[0]);
  }
});
panel.querySelector("[data-upload-pause]").addEventListener("click", (event) => {
  paused = !paused;
  event.currentTarget.querySelector("span").textContent = paused ? "Go on" : "Pause";
  if (paused) controller?.abort();
});
panel.querySelector("[data-upload-abort]").addEventListener("click", again);
allowSending(Boolean(form.elements.upload_id.value));
