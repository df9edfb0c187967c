// Shows a text in Markdown as the page would, below its field, while somebody writes it.
import { csrfToken } from "./site.js";

const PAUSE = 400; // milliseconds without a key before the text is sent

function place(field) {
  const box = document.createElement("section");
  box.className = "card preview";
  box.style.blockSize = `${field.offsetHeight}px`; // what arrives later must not move the button that is being pressed
  box.setAttribute("aria-label", "Preview");
  box.tabIndex = 0; // it scrolls
  const problems = document.createElement("p");
  problems.className = "preview__problems small";
  problems.setAttribute("role", "status");
  const body = document.createElement("div");
  body.className = "card__body prose";
  box.append(problems, body);
  field.after(box);
  return { body, problems };
}

async function show(field, shown, number) {
  const answer = await fetch(field.dataset.preview, {
    method: "POST",
    headers: { "X-CSRF-Token": csrfToken(), Accept: "application/json" },
    body: new URLSearchParams({ body: field.value }),
  }).catch(() => null);
  if (number !== shown.latest) return;
  if (!answer?.ok) {
    shown.problems.textContent = "The preview cannot be shown just now.";
    return;
  }
  const { html, problems } = await answer.json();
  shown.body.innerHTML = html; // sanitised by the site, as every page is
  shown.problems.textContent = problems.join(" ");
}

for (const field of document.querySelectorAll("textarea[data-preview]")) {
  let shown = null;
  let timer = 0;
  const refresh = () => {
    shown ??= { ...place(field), latest: 0 };
    shown.latest += 1;
    const number = shown.latest;
    clearTimeout(timer);
    timer = setTimeout(() => show(field, shown, number), shown.latest === 1 ? 0 : PAUSE);
  };
  if ("previewNow" in field.dataset) refresh();
  field.addEventListener("focus", () => shown ?? refresh());
  field.addEventListener("input", refresh);
}
