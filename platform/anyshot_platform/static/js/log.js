// Reading a log: search, times, long lines, the way to the error, and whether it follows what is written.

const log = document.getElementById("log");
const follow = document.getElementById("log-follow");

/** The time of a line in the reader's zone, which the style shows before it. */
export function tellTime(line) {
  line.dataset.time ??= new Date(1000 * line.dataset.at).toLocaleTimeString("en", { hour12: false });
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
  const showEnd = () => {
    log.scrollTop = log.scrollHeight;
  };
  showEnd();
  log.closest("details")?.addEventListener("toggle", showEnd, { once: true }); // folded, it has no height
  log.addEventListener(
    "wheel",
    () => {
      if (follow) follow.checked = log.scrollTop + log.clientHeight > log.scrollHeight - 40;
    },
    { passive: true },
  );
  follow?.addEventListener("change", () => {
    if (follow.checked) showEnd();
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
  choose("times", (on) => {
    if (on) for (const line of log.querySelectorAll(".log__line")) tellTime(line);
    log.classList.toggle("log--times", on);
  });
  choose("wrap", (on) => log.classList.toggle("log--long", !on));
}
