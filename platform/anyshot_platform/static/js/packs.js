// Sends packs in parts, one after the other, before the form that makes a version of them is sent.
// Without this script the same form sends the files in one piece.
import { beginOrResume, call, forget, memory, sendParts, size } from "./resumable.js";

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

class Refused extends Error {} // a pack that is not sound: the others go on without it

// These say nothing about the pack: who may not, what is gone, what took too long, what was too much.
const NOT_THE_PACK = [401, 403, 404, 408, 429];
const saysThatItIsUnsound = ({ status }) => status >= 400 && status < 500 && !NOT_THE_PACK.includes(status);
const arrived = new Map(); // digests of the packs that are kept already: after a failure they are not sent again

function addField(name, value) {
  form.append(Object.assign(document.createElement("input"), { type: "hidden", name, value }));
}

async function send(file) {
  if (file.size > Number(form.dataset.max))
    throw new Refused(`This has ${size(file.size)}; a pack has at most ${size(Number(form.dataset.max))}.`);
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
  const pack = await call(`${begin}/${upload.id}/pack`, { method: "POST" }).catch((error) => {
    if (!saysThatItIsUnsound(error)) throw error;
    forget(file, begin);
    throw new Refused(error.message);
  });
  forget(file, begin);
  return pack.digest;
}

async function sendOnce(file) {
  const key = memory(file, begin);
  if (!arrived.has(key)) arrived.set(key, await send(file));
  return arrived.get(key);
}

form.addEventListener("submit", async (event) => {
  if (!input.files.length) return;
  event.preventDefault();
  showProblem("");
  button.disabled = true;
  try {
    const digests = [];
    const leftOut = [];
    for (const file of input.files)
      try {
        digests.push(await sendOnce(file));
      } catch (error) {
        if (!(error instanceof Refused)) throw new Error(`${file.name}: ${error.message}`);
        leftOut.push(`${file.name}: ${error.message}`);
      }
    if (!digests.length) throw new Error(leftOut.join(" "));
    for (const digest of digests) addField("pack_digest", digest);
    for (const words of leftOut) addField("left_out", words);
    input.required = false;
    input.value = ""; // the bytes are there already: the form must not send them again
    form.submit();
  } catch (error) {
    showProblem(error.message);
    button.disabled = false;
  }
});
