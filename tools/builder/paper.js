// Make the one long page of the book one to print. Called with what the cover says, once formulas
// are set and the styles of paper.css are there.
(cover) => {
  "use strict";
  const article = document.querySelector("article");
  const make = (tag, name, text) => {
    const node = document.createElement(tag);
    node.className = name;
    node.textContent = text;
    return node;
  };

  // What one looks up on a screen is not printed: the reference, long tables, the build's status.
  for (const page of ["api/", "appendix_tables", "guarantees"])
    for (const mark of document.querySelectorAll(`[id^="document-chapters/${page}"]`)) {
      mark.nextElementSibling.remove();  // the section of the page
      mark.remove();
    }

  // On paper nothing unfolds.
  for (const node of document.querySelectorAll(".toggle-hidden")) node.classList.remove("toggle-hidden");
  for (const box of article.querySelectorAll("details")) {
    const open = document.createElement("div");
    const [title, ...rest] = box.children;
    open.append(make("p", "paper-title", title.textContent.trim()), ...rest);
    box.replaceWith(open);
  }

  // A link leads to a place in this file, or it is text.
  for (const link of article.querySelectorAll("a[href]")) {
    const href = link.getAttribute("href").replace(/^index\.html(?=#)/, "");
    if (/^https?:/.test(href)) continue;
    if (href.startsWith("#") && document.getElementById(decodeURIComponent(href.slice(1)))) link.setAttribute("href", href);
    else if (link.matches(".sd-stretched-link")) link.remove();  // its words are for screen readers
    else link.replaceWith(...link.childNodes);
  }

  // Cover and contents.
  const front = make("section", "paper-cover", "");
  front.append(make("p", "paper-name", cover.title), make("p", "paper-subtitle", cover.subtitle));
  for (const line of cover.lines) front.append(make("p", "paper-foot", line));
  const contents = make("section", "paper-contents", "");
  contents.append(make("h2", "", "Contents"));
  const captions = [...document.querySelectorAll("nav.bd-links p.caption")].map((p) => p.textContent.trim());
  article.querySelectorAll(".toctree-wrapper").forEach((part, i) => {
    const sections = [...part.children].filter((node) => node.tagName === "SECTION");
    if (sections.length) contents.append(make("p", "paper-part", captions[i] ?? ""));
    for (const section of sections) {
      const title = section.querySelector("h2"), head = title.cloneNode(true);
      title.id = `paper-${contents.childElementCount}`;  // sections of other chapters share their ids
      head.querySelectorAll(".headerlink").forEach((mark) => mark.remove());
      const link = make("a", "", "");
      section.classList.add("paper-chapter");
      link.href = `#${title.id}`;
      link.append(make("span", "", head.textContent.trim()), make("span", "paper-page", ""));
      contents.append(link);
    }
  });
  article.prepend(front, contents);

  // A table that is too wide is set smaller; long tables, code and boxes go on overleaf.
  for (const table of article.querySelectorAll("table"))
    if (table.scrollWidth > article.clientWidth + 1) table.classList.add("paper-tight");
  for (const box of article.querySelectorAll("table, .cell_input, .admonition"))
    if (box.offsetHeight > 400) box.classList.add("paper-long");
  return [...contents.querySelectorAll("a")].map((link) => link.getAttribute("href").slice(1));
}
