// The form of a task protocol: only the chosen one's fields are open, and the example task follows them.
// Without it all protocols can be opened by hand, and there is no example.

const form = document.getElementById("tasks.protocol");
const picture = form?.querySelector(".example img");
const problem = form?.querySelector("[data-example-problem]");
const next = form?.querySelector("[data-example-next]");
let number = -1; // none is drawn yet

function showChosen(role) {
  const name = role.querySelector("select");
  for (const part of role.querySelectorAll("[data-protocol]")) {
    part.open = part.dataset.protocol === name.value;
    part.hidden = !part.open;
  }
}

function draw() {
  if (!picture || number < 0) return;
  const query = new URLSearchParams({ number });
  for (const field of form.querySelectorAll("[name]")) query.set(field.name, field.value);
  picture.src = picture.parentElement.href = `${form.dataset.example}?${query}`;
}

async function explain() {
  picture.parentElement.hidden = true;
  const answer = await fetch(picture.src, { headers: { Accept: "application/json" } });
  if (!answer.ok) problem.textContent = (await answer.json()).message ?? "No example can be drawn.";
}

for (const role of document.querySelectorAll("[data-protocols]")) {
  role.querySelector("select").addEventListener("change", () => showChosen(role));
  showChosen(role);
}
form?.addEventListener("change", draw);
if (picture) {
  picture.addEventListener("error", explain);
  picture.addEventListener("load", () => {
    picture.parentElement.hidden = false;
    problem.textContent = "";
  });
  picture.closest("figure").hidden = false;
  next.addEventListener("click", () => {
    number += 1;
    draw();
  });
}
