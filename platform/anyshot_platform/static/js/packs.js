// Sends packs in parts, one after the other, before the form that makes a version of them is sent.
// Without this script the same form sends the files in one piece.
import { answer, beginOrResume, forget, headers, sendParts, size } from "./resumable.js";

const form = document.getElementById("packs-form");
const input = form.querySelector("input[type=file]");
const panel = document.getElementById("packs-progress");
const problem = document.getElementById("packs-error");
const button = form.querySelector("button[type=submit]");
const { begin, parts } = form.dataset;

function showProgress(name, sent, total, text) {
  panel.hidden = false;
  const bar = panel.querySelector("progress");
  bar.max = total || 1;
  bar.value = sent;
  panel.querySelector("[data-progress-text]").textContent =
    `${name}: ${text ?? `${size(sent)} of ${size(total)}`}`;
}

function showProblem(text) {
  problem.hidden = !text;
  problem.querySelector(".alert__body").textContent = text;
}

async function send(file) {
  if (file.size > Number(form.dataset.max))
    throw new Error(
      `${file.name} has ${size(file.size)}; a pack has at most ${size(Number(form.dataset.max))}.`,
    );
  const upload = await beginOrResume(file, begin, parts);
  await sendParts(file, upload, {
    parts,
    chunkBytes: Number(form.dataset.chunk),
    showProgress: (sent, text) => showProgress(file.name, sent, file.size, text),
    isPaused: () => false,
    isWanted: () => true,
    onPart: () => {},
  });
  showProgress(file.name, file.size, file.size, "is checked");
  const finish = fetch(`${begin}/${upload.id}/pack`, { method: "POST", headers: headers() });
  const pack = await answer(await finish).catch((error) => {
    forget(file, begin);
    throw new Error(`${file.name}: ${error.message}`);
  });
  forget(file, begin);
  return pack.digest;
}

form.addEventListener("submit", async (event) => {
  if (!input.files.length) return;
  event.preventDefault();
  showProblem("");
  button.disabled = true;
  try {
    const digests = [];
    for (const file of input.files) digests.push(await send(file));
    for (const digest of digests) {
      const field = Object.assign(document.createElement("input"), {
        type: "hidden",
        name: "pack_digest",
        value: digest,
      });
      form.append(field);
    }
    input.required = false;
    input.value = ""; // the bytes are there already: the form must not send them again
    form.submit();
  } catch (error) {
    showProblem(error.message);
    button.disabled = false;
  }
});
