// Sends a file in parts, and goes on where a broken connection stopped, also after the page was loaded again.

import { number } from "./numbers.js";
import { csrfToken } from "./site.js";

const wait = (ms) => new Promise((done) => setTimeout(done, ms));

export const headers = () => ({
  "X-CSRF-Token": csrfToken(),
  Accept: "application/json",
});
export const size = (bytes) =>
  bytes < 1048576 ? `${Math.ceil(bytes / 1024)} KiB` : `${number(bytes / 1048576, 1)} MiB`;

/** The JSON of an answer; throws an error with the platform's words, `status` and `body` for a refusal. */
export async function answer(response) {
  const body = await response.json().catch(() => ({}));
  if (response.ok) return body;
  throw Object.assign(new Error(body.message ?? `The platform answered ${response.status}.`), {
    status: response.status,
    body,
  });
}

/**
 * The JSON of what an address answers; throws as `answer` does, and in the reader's words where nothing answers.
 * What a busy site refuses is sent again: the ticket that came with the refusal, a cookie, keeps its place.
 */
export async function call(address, options) {
  const lost = () => {
    throw new Error("The site cannot be reached. Try again when the connection is back.");
  };
  for (let tries = 1; ; tries += 1) {
    const response = await fetch(address, { headers: headers(), ...options }).catch(lost);
    if (response.status !== 503 || tries === 10) return answer(response);
    await wait(1000 * tries * Number(response.headers.get("Retry-After") ?? 2));
  }
}

/** The key of a file among those that are sent to the address `begin`. */
export const memory = (file, begin) => `upload:${begin}:${file.name}:${file.size}:${file.lastModified}`;

/** Forgets the upload of a file that was used or refused. */
export const forget = (file, begin) => localStorage.removeItem(memory(file, begin));

/** Begins an upload at the address `begin`, or finds the one that was broken off, among `parts`. */
export async function beginOrResume(file, begin, parts) {
  const known = localStorage.getItem(memory(file, begin));
  if (known) {
    const found = await call(`${parts}/${known}`).catch((error) => {
      if (error.status !== 404) throw error;
    });
    if (found) return found;
    forget(file, begin); // it was used, or it is too old
  }
  const begun = await call(begin, {
    method: "POST",
    headers: { ...headers(), "Content-Type": "application/json" },
    body: JSON.stringify({ filename: file.name, size: file.size }),
  });
  localStorage.setItem(memory(file, begin), begun.id);
  return begun;
}

/**
 * Sends what is missing of a file; false if it is not wanted any more.
 * `how`: parts (address), chunkBytes, showProgress(sent, text), isPaused(), isWanted(), onPart(controller).
 */
export async function sendParts(file, upload, how) {
  let offset = upload.received;
  let failures = 0;
  while (offset < file.size) {
    while (how.isPaused() && how.isWanted()) await wait(150);
    if (!how.isWanted()) return false;
    how.showProgress(offset);
    const controller = new AbortController();
    how.onPart(controller);
    try {
      const response = await fetch(`${how.parts}/${upload.id}?offset=${offset}`, {
        method: "PUT",
        headers: { ...headers(), "Content-Type": "application/octet-stream" },
        body: file.slice(offset, offset + how.chunkBytes),
        signal: controller.signal,
      });
      const body = await answer(response);
      offset = body.received;
      failures = 0;
    } catch (error) {
      if (!how.isWanted()) return false;
      if (how.isPaused() && error.name === "AbortError") continue;
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
      const seconds = 2 ** Math.min(failures, 5) / 2;
      how.showProgress(offset, `connection lost, trying again in ${seconds} s`);
      await wait(500 * 2 ** Math.min(failures, 5));
      const now = await fetch(`${how.parts}/${upload.id}`, { headers: headers() }).catch(() => null);
      if (now?.ok) offset = (await now.json()).received;
    }
  }
  how.showProgress(file.size, `${size(file.size)}, complete`);
  return true;
}
