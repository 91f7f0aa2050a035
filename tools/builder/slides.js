// Walk through the slides: arrow keys, Page Up and Down, space, Home, End, or a swipe; N shows notes.
(() => {
  "use strict";
  const slides = [...document.querySelectorAll(".slide")];
  const count = document.createElement("p");
  count.className = "book-count";
  count.setAttribute("aria-live", "polite");
  document.body.append(count);
  const fromAddress = () => Math.min(Math.max(parseInt(location.hash.slice(1), 10) || 1, 1), slides.length) - 1;
  let at = 0;
  const show = (next) => {
    at = Math.min(Math.max(next, 0), slides.length - 1);
    slides.forEach((slide, i) => slide.classList.toggle("now", i === at));
    count.textContent = `${at + 1} / ${slides.length}`;
    if (fromAddress() !== at) history.replaceState(null, "", `#${at + 1}`);
    window.scrollTo(0, 0);
  };
  const steps = { ArrowRight: 1, PageDown: 1, " ": 1, ArrowLeft: -1, PageUp: -1, Home: -Infinity, End: Infinity };
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() === "n") document.body.classList.toggle("notes");
    if (!(event.key in steps) || event.target.closest("input, button, summary")) return;
    event.preventDefault();
    show(at + steps[event.key]);
  });
  let start = null;
  document.addEventListener("touchstart", (event) => {
    start = event.touches[0].clientX;
  });
  document.addEventListener("touchend", (event) => {
    const way = start === null ? 0 : event.changedTouches[0].clientX - start;
    if (Math.abs(way) > 60) show(at - Math.sign(way));
  });
  window.addEventListener("hashchange", () => show(fromAddress()));
  const begin = () => {
    document.body.classList.add("ready");  // formulas are set while all slides have a width
    show(fromAddress());
  };
  (window.MathJax?.startup?.promise ?? Promise.resolve()).then(begin);
})();
