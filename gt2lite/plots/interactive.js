// The figure of `interactive.py`, drawn with `controls.js`.
(() => {
  "use strict";
  const { add, slider, panel, axes, fixed, path, miss, start } = window.gt2liteControls;

  // The height of the cut against what its intervals cover

  const alphaSlider = (root, { name, y, lower, upper, scale, covered, width, total, start }) => {
    const value = (v) => scale[0] + (v / 999) * (scale[1] - scale[0]);
    const outer = { lower: lower[0], upper: upper[0] };
    let plane = 0;
    const control = slider(
      root,
      "Height α of the cut",
      { min: 0.01, max: 1, step: 0.01, value: start, say: (v) => fixed(v) },
      () => update(),
    );
    const panels = add(root, "div", { class: "gt2-panels" });
    const told = add(root, "p", { class: "gt2-say", "aria-live": "polite" });

    const band = (X, Y, low, high) => {
      const [up, down] = [[], []];
      low.forEach((_, i) => {
        for (const side of [i + 0.5, i + 1.5]) {
          up.push([X(side), Y(value(high[i]))]);
          down.unshift([X(side), Y(value(low[i]))]);
        }
      });
      return path([...up, ...down], "Z");
    };
    const inside = (i) => lower[plane][i] <= y[i] && y[i] <= upper[plane][i];
    const drawBand = (svg, w, h) => {
      const x = { from: 0.5, to: y.length + 0.5, name: "rows, in the order of their prediction" };
      const [X, Y] = axes(svg, w, h, x, { from: scale[0], to: scale[1], name });
      add(svg, "path", { class: "gt2-outer", d: band(X, Y, outer.lower, outer.upper) });
      add(svg, "path", { class: "gt2-band", d: band(X, Y, lower[plane], upper[plane]) });
      y.forEach((v, i) => {
        const [px, py] = [X(i + 1), Y(value(v))];
        if (inside(i)) add(svg, "circle", { class: "gt2-dot", cx: px, cy: py, r: 2 });
        else miss(svg, px, py);
      });
    };
    const share = (k) => (100 * covered[k]) / total;
    const drawCurve = (svg, w, h) => {
      const [X, Y] = axes(
        svg, w, h,
        { from: 0, to: 1, name: "α", ticks: [0, 0.5, 1] },
        { from: 0, to: 100, name: "coverage (%)", ticks: [0, 20, 40, 60, 80, 100] },
      );
      const points = covered.map((_, k) => [X((k + 1) / 100), Y(share(k))]);
      add(svg, "path", { class: "gt2-line", d: path(points) });
      const [px, py] = points[plane];
      add(svg, "path", { class: "gt2-guide", d: `M${X(0)} ${py}H${px}V${Y(0)}` });
      add(svg, "circle", { class: "gt2-now", cx: px, cy: py, r: 6 });
    };
    const redraw = [
      panel(panels, `Targets and their intervals, ${name} by sample`, 260, drawBand, 2),
      panel(panels, "Coverage against the height of the cut, with a point at the present one", 260, drawCurve),
    ];
    const update = () => {
      plane = Math.round(100 * control.valueAsNumber) - 1;
      redraw.forEach((draw) => draw());
      const hits = y.filter((_, i) => inside(i)).length;
      told.textContent =
        `The plane α = ${fixed(control.valueAsNumber)} covers ${share(plane).toFixed(1)}% of all ` +
        `${total} targets, ${hits} of the ${y.length} shown (crosses lie outside). Its mean width is ` +
        `${((100 * width[plane]) / width[0]).toFixed(0)}% of that at α = 0.01.`;
    };
    update();
  };

  start({ alpha: alphaSlider });
})();
