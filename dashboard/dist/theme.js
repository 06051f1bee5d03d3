// Blocking on purpose: the chosen scheme stands before the first paint.
try {
  var chosen = localStorage.getItem("theme");
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
} catch {
  // Storage is refused: the system's scheme stays.
}
