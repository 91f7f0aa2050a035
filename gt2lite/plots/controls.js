// Sliders, panels and axes of live figures: plain SVG and native controls, no library.
// Every figure brings its data along; `start` finds those that still stand and draws them. All
// sentences that change are also reported to screen readers.
window.gt2liteControls ??= (() => {
  "use strict";

  const add = (parent, tag, attributes = {}, text = "") => {
    if (tag === "svg") parent.insertAdjacentHTML("beforeend", "<svg></svg>");
    else parent.append(document.createElementNS(parent.namespaceURI, tag));
    const node = parent.lastElementChild;
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text) node.textContent = text;
    return node;
  };

  // A labelled slider; `say` turns its value into what is shown and spoken.
  const slider = (parent, name, { min, max, step, value, say = String }, moved) => {
    const row = add(parent, "div", { class: "gt2-slider" });
    const label = add(row, "label");
    add(label, "span", {}, name);
    const input = add(label, "input", { type: "range", min, max, step, value });
    const shown = add(row, "span", { class: "gt2-value", "aria-hidden": "true" });
    const tell = () => {
      shown.textContent = say(input.valueAsNumber);
      input.setAttribute("aria-valuetext", shown.textContent);
    };
    input.addEventListener("input", () => {
      tell();
      moved();
    });
    tell();
    return input;
  };

  // A picture as wide as its place and at most `tallest` high, drawn again when its width
  // changes; returns how to redraw it.
  const panel = (parent, label, tallest, draw, grow = 1) => {
    const place = add(parent, "div", { class: "gt2-panel", style: `flex-grow: ${grow}` });
    const root = add(place, "svg", { role: "img", "aria-label": label });
    let width = 0;
    const redraw = () => {
      const height = Math.round(Math.min(tallest, 0.75 * width));
      root.replaceChildren();
      root.setAttribute("height", height);
      root.setAttribute("viewBox", `0 0 ${width} ${height}`);
      draw(root, width, height);
    };
    new ResizeObserver(() => {
      if (place.clientWidth && place.clientWidth !== width) {
        width = place.clientWidth;
        redraw();
      }
    }).observe(place);
    return () => width && redraw();
  };

  // Scales, ticks and names of two axes; returns the functions from values to pixels.
  const axes = (root, width, height, x, y) => {
    const [left, right, top, bottom] = [38, 10, 24, 40];
    const X = (v) => left + ((v - x.from) / (x.to - x.from)) * (width - left - right);
    const Y = (v) => height - bottom - ((v - y.from) / (y.to - y.from)) * (height - top - bottom);
    for (const v of y.ticks ?? ticks(y.from, y.to)) {
      add(root, "path", { class: "gt2-grid", d: `M${left} ${Y(v)}H${width - right}` });
      add(root, "text", { x: left - 5, y: Y(v) + 4, "text-anchor": "end" }, number(v));
    }
    for (const v of x.ticks ?? ticks(x.from, x.to)) {
      add(root, "path", { class: "gt2-grid", d: `M${X(v)} ${top}V${height - bottom}` });
      add(root, "text", { x: X(v), y: height - bottom + 16, "text-anchor": "middle" }, number(v));
    }
    const middle = (left + width - right) / 2;
    add(root, "text", { x: middle, y: height - 7, "text-anchor": "middle" }, x.name);
    add(root, "text", { x: 2, y: 13 }, y.name);
    return [X, Y];
  };

  const ticks = (from, to) => {
    const raw = (to - from) / 5;
    const ten = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].find((s) => s * ten >= raw) * ten;
    const found = [];
    for (let i = Math.ceil(from / step - 1e-9); i * step <= to + 1e-9 * step; i++) found.push(i * step);
    return found;
  };

  const minus = (text) => text.replace("-", "\u2212");
  const number = (v) => minus(String(Number(v.toPrecision(6))));
  const fixed = (v, digits = 2) => minus(v.toFixed(digits));
  const path = (points, close = "") => `M${points.map((p) => p.map((v) => v.toFixed(1))).join("L")}${close}`;

  // Cross for a target outside its interval
  const miss = (svg, x, y) => add(svg, "path", { class: "gt2-miss", d: `M${x - 3} ${y - 3}l6 6m0 -6l-6 6` });

  // Draw all figures of these kinds: `kinds[name](root, data)`.
  const start = (kinds) => {
    for (const element of document.querySelectorAll(".gt2-live:not([data-ready])")) {
      if (!(element.dataset.kind in kinds)) continue;
      element.dataset.ready = "";
      const data = JSON.parse(element.querySelector("script[type='application/json']").textContent);
      for (const still of element.querySelectorAll(".gt2-still")) still.hidden = true;
      kinds[element.dataset.kind](add(element, "div"), data);
    }
  };

  return { add, slider, panel, axes, ticks, minus, number, fixed, path, miss, start };
})();
