// A report that is being computed: says how far it is, and shows it when it is there.
const box = document.querySelector("[data-watch]");
const ENDED = ["finished", "failed", "cancelled", "timed_out"];

async function look() {
  try {
    const answer = await fetch(box.dataset.watch, { headers: { accept: "application/json" } });
    if (answer.ok) {
      const report = await answer.json();
      if (ENDED.includes(report.state)) {
        location.reload();
        return;
      }
      const words = box.querySelector("[data-words]");
      if (report.progress && words.textContent !== report.progress) words.textContent = report.progress;
    }
  } catch {
    /* the network is away: the next look tells */
  }
  setTimeout(look, document.hidden ? 15000 : 2500);
}

if (box) setTimeout(look, 2500);
