// Everything, in the order of the page.

drawHead();
drawNav();
drawFindings();
drawHeat();
drawDrops();
drawTable();
drawTime();
drawSweep();

window.addEventListener("scroll", hideTip, { passive: true });
// What is folded away on a screen is unfolded on paper.
window.addEventListener("beforeprint", () =>
  document.querySelectorAll("details").forEach((one) => {
    one.dataset.was = one.open;
    one.open = true;
  }),
);
window.addEventListener("afterprint", () =>
  document.querySelectorAll("details").forEach((one) => {
    one.open = one.dataset.was === "true";
  }),
);
