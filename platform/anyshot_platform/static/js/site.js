// What every page has: theme, menus, dialogs, local dates, copying, confirmation, small conveniences.
// Everything here is an addition: each page works without it.

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
/** Moments as the server writes them, "28 Nov 2026, 13:50 CET": in the reader's zone, or in `timeZone`. */
function stampIn(timeZone) {
  const form = new Intl.DateTimeFormat("en-GB", {
    day: "numeric",
    month: "short",
    year: "numeric",
    hour: "2-digit",
    minute: "2-digit",
    timeZoneName: "short",
    timeZone,
  });
  return (date) => form.format(date).replace("Sept", "Sep");
}
const stamp = stampIn();
const utcStamp = stampIn("UTC");
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });

/** "in 3 hours", "2 days ago" for a Date. */
export function fromNow(date) {
  const seconds = (date - Date.now()) / 1000;
  for (const [unit, size] of [
    ["day", 86400],
    ["hour", 3600],
    ["minute", 60],
  ]) {
    if (Math.abs(seconds) >= size) return relative.format(Math.round(seconds / size), unit);
  }
  return Math.abs(seconds) < 5 ? "just now" : relative.format(Math.round(seconds), "second");
}

/** Rewrites every <time> below `root` in the reader's zone; UTC, and the zone of a deadline, stay in its title. */
export function localizeTimes(root = document) {
  for (const element of root.querySelectorAll("time[data-when]")) {
    const date = new Date(element.dateTime);
    if (Number.isNaN(date.getTime())) continue;
    const { when, there } = element.dataset;
    const others = [utcStamp(date), there].filter(Boolean).join("; ");
    const beside = zone === "UTC" ? there : others;
    element.title = when === "ago" ? `${stamp(date)} (${others})` : others;
    if (when === "ago") element.textContent = fromNow(date);
    else element.textContent = when === "both" && beside ? `${stamp(date)} (${beside})` : stamp(date);
  }
}

/** Counts down to the moment of an element, behind what it stands after: ", in 0:04:59", or days before ", in 3 days". */
function countDown(element) {
  const end = new Date(element.dataset.countdown);
  const left = Math.ceil((end - Date.now()) / 1000);
  const two = (number) => String(number).padStart(2, "0");
  const clock = `${Math.floor(left / 3600)}:${two(Math.floor(left / 60) % 60)}:${two(left % 60)}`;
  const soon = left > 0 ? `, in ${clock}` : ", which is over";
  element.textContent = left > 48 * 3600 ? `, ${fromNow(end)}` : soon;
  if (left > 0) setTimeout(countDown, 250, element);
}
for (const element of document.querySelectorAll("[data-countdown]")) countDown(element);

/** Writes the header of its column beside each cell, for where a table stacks. */
function labelCells(table) {
  const heads = [...(table.tHead?.rows[0]?.cells ?? [])].map((head) => head.textContent.trim());
  for (const body of table.tBodies)
    for (const row of body.rows)
      if (row.cells.length === heads.length)
        [...row.cells].forEach((cell, place) => {
          if (
            cell.tagName === "TD" &&
            heads[place] &&
            !cell.querySelector(":scope > input") &&
            cell.innerHTML.trim()
          )
            cell.dataset.label ??= heads[place];
        });
}

/** The page's CSRF token, for requests made by scripts. */
export const csrfToken = () => document.querySelector('meta[name="csrf-token"]')?.content ?? "";

/** Shows a message that stays, with a link if one is given, and announces it to screen readers. */
export function tell(text, tone = "info", link = null) {
  let region = document.querySelector(".toasts");
  if (!region) {
    region = Object.assign(document.createElement("div"), { className: "toasts" });
    region.setAttribute("role", "status");
    document.body.append(region);
  }
  const note = Object.assign(document.createElement("div"), { className: `alert alert--${tone}` });
  const body = Object.assign(document.createElement("div"), { className: "alert__body", textContent: text });
  if (link)
    body.append(
      " ",
      Object.assign(document.createElement("a"), { href: link.href, textContent: link.words }),
    );
  note.append(document.createElement("span"), body);
  region.append(note);
  return note;
}

/** Shows a passing message. */
export function toast(text, tone = "info") {
  const note = tell(text, tone);
  setTimeout(() => note.remove(), 6000);
}

function chooseTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {
    /* the choice lasts for this page only */
  }
}

async function copyFrom(button) {
  const source = document.getElementById(button.dataset.copy);
  await navigator.clipboard.writeText((source.value ?? source.textContent).trim());
  toast("Copied to the clipboard.", "good");
}

function openDialog(id) {
  const dialog = document.getElementById(id);
  if (dialog && !dialog.open) dialog.showModal();
}

/** A confirmation that asks for a name keeps its button disabled until the name is typed. */
function watchConfirmation(input) {
  const button = input.form.querySelector("[type=submit]:not([data-cancel])");
  const update = () => {
    button.disabled = input.value.trim() !== input.dataset.confirmName;
  };
  input.addEventListener("input", update);
  update();
}

document.addEventListener("click", (event) => {
  const target = event.target.closest(
    "[data-theme-toggle], [data-copy], [data-dialog], [data-close], [data-toggle-secret]",
  );
  if (target) {
    if (target.matches("[data-theme-toggle]")) chooseTheme();
    else if (target.matches("[data-copy]")) copyFrom(target);
    else if (target.matches("[data-dialog]")) {
      event.preventDefault();
      openDialog(target.dataset.dialog);
    } else if (target.matches("[data-close]")) {
      event.preventDefault();
      target.closest("dialog")?.close();
    } else {
      const field = document.getElementById(target.dataset.toggleSecret);
      field.type = field.type === "password" ? "text" : "password";
      target.setAttribute("aria-pressed", String(field.type === "text"));
    }
  }
  for (const menu of document.querySelectorAll("details.menu[open]"))
    if (!menu.contains(event.target)) menu.open = false;
});
function openAround(element) {
  for (let fold = element?.closest("details"); fold; fold = fold.parentElement.closest("details"))
    fold.open = true;
}
/** A field that is not filled in right is shown, however deep it is folded away. */
document.addEventListener(
  "invalid",
  (event) => {
    openAround(event.target);
  },
  true,
);
/** A link to a part of the page opens it, and what it is folded into. */
function unfold() {
  openAround(document.getElementById(decodeURIComponent(location.hash.slice(1))));
}
addEventListener("hashchange", unfold);
unfold();
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape")
    for (const menu of document.querySelectorAll("details.menu[open]")) {
      menu.open = false;
      menu.querySelector("summary").focus();
    }
  if (event.key === "/" && !event.target.closest("input, textarea, select, [contenteditable]")) {
    const search = document.querySelector("input[type=search]");
    if (search) {
      event.preventDefault();
      search.focus();
    }
  }
});
/** Whether a control is not as the page showed it. */
export function isChanged(control) {
  if ("checked" in control && ["checkbox", "radio"].includes(control.type))
    return control.checked !== control.defaultChecked;
  if (control.options) return [...control.options].some((one) => one.selected !== one.defaultSelected);
  return control.value !== control.defaultValue;
}

// A form of changes sends what was changed, and names the rest, which stays as it is: see `forms.seen_fields`.
document.addEventListener("formdata", ({ target: form, formData }) => {
  const may = form.querySelector("input[data-unchanged]")?.dataset.unchanged;
  if (may === undefined) return;
  const parts = new Map(); // fields that mean something together are sent together
  for (const control of form.elements) {
    if (!control.name || ["button", "file", "hidden", "submit"].includes(control.type)) continue;
    const part = control.closest("[data-together]")?.dataset.together ?? control.name;
    parts.set(part, [...(parts.get(part) ?? []), control]);
  }
  const asShown = (control) =>
    !isChanged(control) &&
    !control.closest("[data-unsaved]") && // a proposal: it counts once it is saved
    (may === "*" || may.split(" ").includes(control.name));
  const left = [...parts.values()].filter((controls) => controls.every(asShown)).flat();
  for (const { name } of left) formData.delete(name);
  formData.append("unchanged", [...new Set(left.map((control) => control.name))].join(" "));
});
// A form is sent once, however often its button is pressed. Some are answered with a file and stay on the page, so this
// ends after a while; not for a form whose second sending would cost something, however long the first one takes.
document.addEventListener("submit", (event) => {
  if (event.defaultPrevented) return;
  const { dataset } = event.target;
  if (dataset.sent) {
    event.preventDefault();
    if ("once" in dataset) toast("This form was sent already. Please wait for the answer.");
    return;
  }
  dataset.sent = "1";
  if (!("once" in dataset)) setTimeout(() => delete dataset.sent, 3000);
});
addEventListener("pageshow", () => {
  for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
});
document.addEventListener("change", (event) => {
  if (event.target.matches("select[data-submit], input[data-submit]")) event.target.form.requestSubmit();
  if (event.target.matches("[data-check-all]")) {
    const boxes = event.target
      .closest("form, table")
      .querySelectorAll(`input[type=checkbox][name="${event.target.dataset.checkAll}"]`);
    for (const box of boxes) box.checked = event.target.checked;
  }
});
for (const table of document.querySelectorAll(".table--stack")) labelCells(table);
localizeTimes();
setInterval(() => localizeTimes(), 30_000);
for (const input of document.querySelectorAll("[data-confirm-name]")) watchConfirmation(input);
for (const field of document.querySelectorAll("input[name=timezone][type=hidden]")) field.value = zone;
// Where a navigation scrolls sideways, as on a phone, the current item is brought into sight.
for (const item of document.querySelectorAll(".tabs [aria-current], .sidenav [aria-current]")) {
  const bar = item.parentElement;
  const [at, from] = [item.getBoundingClientRect(), bar.getBoundingClientRect()];
  if (bar.scrollWidth > bar.clientWidth)
    bar.scrollLeft += at.left - from.left - (bar.clientWidth - at.width) / 2;
}

// Messages about this page are read once it is open.
const seen = document.querySelector("[data-seen]");
if (seen) {
  const body = new URLSearchParams({ url: seen.dataset.seen });
  fetch("/notifications/seen", { method: "POST", headers: { "X-CSRF-Token": csrfToken() }, body });
}
