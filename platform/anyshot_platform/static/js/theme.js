// Loaded before the first paint so that a chosen theme never flashes.
(() => {
  try {
    const chosen = localStorage.getItem("theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    /* storage is blocked: the system's preference holds */
  }
  document.documentElement.classList.add("js");
})();
