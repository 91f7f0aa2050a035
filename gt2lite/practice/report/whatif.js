// The panel "What if?" of a report: inputs to move, the prediction with its interval, and the rules.
(() => {
  "use strict";
  const { add, slider, panel, ticks, number, minus, start } = window.gt2liteControls;
  const SHOWN = 6; // inputs that are not folded

  const whatIf = (root, data) => {
    const model = gt2liteModel(data.model);
    const readable = data.readable ? gt2liteModel(data.readable) : model;
    const columns = data.order.map((name) => model.columns.find((column) => column.name === name));
    const read = {}; // for each column: the present value
    const short = (v) => minus(Math.abs(v) >= 1000 ? Math.round(v).toLocaleString("en") : number(Number(v.toPrecision(4))));
    const day = (v) => new Date(v * 86400000).toISOString().slice(0, 10);

    const list = (parent, name, options) => {
      const label = add(add(parent, "div", { class: "gt2-slider" }), "label");
      add(label, "span", {}, name);
      const select = add(label, "select", { "aria-label": name });
      for (const [value, words] of options) add(select, "option", { value: JSON.stringify(value) }, words);
      select.addEventListener("change", () => update());
      read[name] = () => JSON.parse(select.value);
    };
    const range = (parent, { name, kind, low, high, fill, flag }) => {
      const room = 0.2 * (high - low) || 1; // one may leave the training range
      const step = data.whole.includes(name) || kind === "date" ? 1 : ticks(0, high - low || 1)[1] / 50;
      const [min, max] = [Math.floor((low - room) / step) * step, Math.ceil((high + room) / step) * step];
      const middle = kind === "date" ? (low + high) / 2 : fill[0];
      const say = (v) => (missing?.checked ? "missing" : kind === "date" ? day(v) : short(v));
      let missing = null;
      const input = slider(parent, name, { min, max, step, value: Math.round(middle / step) * step, say }, () => update());
      if (flag) {
        missing = add(add(input.closest(".gt2-slider"), "label", { class: "gt2-gap" }, "missing "), "input", { type: "checkbox" });
        missing.addEventListener("change", () => {
          input.disabled = missing.checked;
          input.dispatchEvent(new Event("input"));
        });
      }
      read[name] = () => (missing?.checked ? null : input.valueAsNumber);
    };
    const control = (parent, column) => {
      if (column.kind === "number" || column.kind === "date") return range(parent, column);
      const yes = column.fill[0] >= 0.5;
      const known = column.kind === "category" ? column.categories.map((v) => [v, v])
        : [[yes ? "yes" : "no", yes ? "yes" : "no"], [yes ? "no" : "yes", yes ? "no" : "yes"]];
      if (column.rare?.length) known.push([column.rare[0], "another, rare value"]);
      return list(parent, column.name, [...known, [null, "missing"]]);
    };

    const reachable = (percent) => {
      try {
        model.interval(row(), percent / 100);
        return true;
      } catch (error) {
        return false;
      }
    };
    const row = () => Object.fromEntries(columns.map((column) => [column.name, read[column.name]()]));
    const controls = add(root, "div", { class: "gt2-controls" });
    columns.slice(0, SHOWN).forEach((column) => control(controls, column));
    if (columns.length > SHOWN) {
      const more = add(root, "details");
      add(more, "summary", {}, `${columns.length - SHOWN} more inputs, of less importance`);
      const folded = add(more, "div", { class: "gt2-controls" });
      columns.slice(SHOWN).forEach((column) => control(folded, column));
    }
    const most = Array.from({ length: 50 }, (_, i) => 99 - i).find(reachable) ?? 50;
    const level = slider(root, "Level",
      { min: Math.min(50, most), max: most, step: 1, value: Math.min(data.level, most), say: (v) => `${v}%` }, () => update());
    const said = add(root, "p", { class: "gt2-say", "aria-live": "polite" });
    const answer = add(said, "strong");
    const outside = add(said, "span", { class: "gt2-warn" });
    let found = null;
    const redraw = panel(root, "The prediction and its interval over the targets of the training rows", 90, (svg, w, h) => {
      const [least, largest] = data.range;
      const pad = 0.1 * (largest - least);
      const [from, to] = [Math.min(least - pad, found.prediction), Math.max(largest + pad, found.prediction)];
      const X = (v) => 10 + ((Math.min(Math.max(v, from), to) - from) / (to - from)) * (w - 20);
      const y = h / 2 - 8;
      add(svg, "path", { class: "gt2-outer", d: `M${X(least)} ${y - 12}H${X(largest)}v24H${X(least)}Z` });
      for (const v of ticks(from, to)) {
        add(svg, "path", { class: "gt2-grid", d: `M${X(v)} ${y - 18}v36` });
        add(svg, "text", { x: X(v), y: y + 32, "text-anchor": "middle" }, short(v));
      }
      const [low, high] = found.interval;
      add(svg, "path", { class: "gt2-bar", d: `M${X(low)} ${y}H${X(high)}M${X(low)} ${y - 9}v18M${X(high)} ${y - 9}v18` });
      add(svg, "circle", { class: "gt2-now", cx: X(found.prediction), cy: y, r: 7 });
    });
    add(root, "p", { class: "gt2-note" }, `Pale: ${data.target} of the training rows. ${data.about}`);
    const rules = add(root, "ol", { class: "gt2-rules" });
    const bars = data.rules.map(({ condition, formula }) => {
      const item = add(rules, "li");
      const share = add(item, "span", { class: "gt2-share" });
      add(item, "span", {}, `if ${condition}, then ${formula}`);
      return { item, share };
    });

    const update = () => {
      const now = row();
      found = { prediction: model.predict(now), interval: model.interval(now, level.valueAsNumber / 100) };
      const [low, high] = found.interval.map((v) => (Number.isFinite(v) ? short(v) : "any value"));
      answer.textContent = `${data.target} is predicted as ${short(found.prediction)}; the ${level.value}% interval reaches from ${low} to ${high}. `;
      const beyond = Object.entries(model.unusual(now)).filter(([, words]) => words.includes("training"));
      outside.textContent = beyond.length
        ? `${beyond.map(([name, words]) => `${name} is ${words}`).join("; ")}: no training row was like this, so do not rely on the interval${data.clipped ? ". The nearest value seen is used" : ""}.` : "";
      redraw();
      const weights = readable.weights(data.readable ? model.inputs(now) : now);
      data.rules.forEach((rule, i) => {
        const share = weights[rule.number - 1];
        bars[i].share.textContent = `Rule ${rule.number}: ${(100 * share).toFixed(0)}%`;
        bars[i].item.style.setProperty("--share", share.toFixed(3));
        bars[i].item.classList.toggle("gt2-speaks", share >= 0.05);
      });
    };
    update();
  };

  start({ whatif: whatIf });
})();
