// Three things the theme lacks: boxes that show that they scroll sideways, figures that a press
// enlarges, and parts of the table of contents that fold.

// Content wider than its box scrolls there, and shows it: it fades out on the side where more is to
// come, a word stands below it, and the keyboard reaches it.
(() => {
  "use strict";
  const BOXES = [
    ".pst-scrollable-table-container", ".bd-article .math mjx-container", ".bd-article pre",
    ".bd-article .cell_output .text_html",  // a data frame
    ".bd-article .book-drawing",
  ].join();
  const WORD = "\u21c6 scroll sideways";

  // A formula brings words for screen readers along, which have no width to the eye.
  const content = (box) => {
    const picture = box.matches("mjx-container") && box.querySelector("svg");
    return picture ? picture.getBoundingClientRect().width : box.scrollWidth;
  };
  const shade = (box) => {
    const rest = box.scrollWidth - box.clientWidth - box.scrollLeft;
    box.classList.toggle("book-more-right", rest > 0.5);
    box.classList.toggle("book-more-left", box.scrollLeft > 0.5);
  };
  const cue = (box, wanted) => {
    const place = box.closest("div.math") ?? box;
    const there = place.nextElementSibling?.matches(".book-cue") ? place.nextElementSibling : null;
    if (!wanted) there?.remove();
    else if (!there && !box.closest("span.math")) {
      const word = document.createElement("span");
      word.className = "book-cue";
      word.setAttribute("aria-hidden", "true");
      word.textContent = WORD;
      place.after(word);
    }
  };
  const look = () => {
    for (const box of document.querySelectorAll(BOXES)) {
      if (!box.clientWidth) continue;
      const wide = content(box) > box.clientWidth + 1;
      if (wide !== box.classList.contains("book-scrolls")) {
        box.classList.toggle("book-scrolls", wide);
        cue(box, wide);
        if (!wide) box.removeAttribute("tabindex");
      }
      if (wide) {  // each time: it may have become wider, and the theme counts what fits on paper
        box.tabIndex = 0;
        shade(box);
      } else box.classList.remove("book-more-right", "book-more-left");
    }
  };
  const start = () => {
    look();
    window.MathJax?.startup?.promise?.then(look);
    let waiting = 0;
    for (const change of ["resize", "afterprint"]) {
      window.addEventListener(change, () => {
        cancelAnimationFrame(waiting);
        waiting = requestAnimationFrame(look);
      });
    }
    document.addEventListener("scroll", (event) => {
      if (event.target.classList?.contains("book-scrolls")) shade(event.target);
    }, { capture: true, passive: true });
    document.addEventListener("toggle", look, true);  // what was folded has a width now
    document.addEventListener("click", () => requestAnimationFrame(look));
  };
  if (document.readyState === "complete") start();
  else window.addEventListener("load", start);
})();

// A press on a figure shows it in full size, a quarter larger than on a wide page; it scrolls on a
// phone. Another press, or Escape, closes it. Without scripts it is a link to the picture.
(() => {
  "use strict";
  const box = document.createElement("dialog");
  box.className = "book-zoom";
  box.setAttribute("aria-label", "Enlarged figure: press to close");
  box.addEventListener("click", () => box.close());
  box.addEventListener("keydown", (event) => { if (event.key === "Escape") box.close(); });
  document.body.append(box);
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a.book-figure");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const picture = link.querySelector("img").cloneNode();
    picture.removeAttribute("style");
    picture.width = picture.naturalWidth / 1.6;  // figures have two pixels for one of the screen
    box.replaceChildren(picture);
    box.showModal();
  });
})();

// Each part of the table of contents folds; the part of this page is open. On the first page, which
// belongs to none, the first two are.
(() => {
  "use strict";
  const captions = [...document.querySelectorAll("nav.bd-links p.caption")];
  const isHere = (list) => list.querySelector(".current") !== null;
  const lists = captions.map((caption) => caption.nextElementSibling);
  const somewhere = lists.some(isHere);
  captions.forEach((caption, i) => {
    const button = document.createElement("button");
    const list = lists[i];
    const show = (open) => {
      list.hidden = !open;
      button.setAttribute("aria-expanded", String(open));
    };
    button.type = "button";
    button.className = "book-part";
    button.append(...caption.childNodes);
    list.id ||= `book-part-${i}`;
    button.setAttribute("aria-controls", list.id);
    button.addEventListener("click", () => show(list.hidden));
    caption.append(button);
    show(somewhere ? isHere(list) : i < 2);
  });
})();
