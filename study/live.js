// The figures of `live.py`, drawn with `controls.js`.
(() => {
  "use strict";
  const { add, slider, panel, axes, ticks, minus, number, fixed, path, start } = window.gt2liteControls;

  // A general type-2 set as a body to turn and to cut

  const set3d = (root, { c, sigma, s_l, s_r, alpha, x_cut }) => {
    const mu = (x) => Math.exp(-((x - c) ** 2) / (2 * sigma ** 2));
    const kappa = (a) => Math.sqrt(Math.log(a) / Math.log(0.01));
    const low = (x, k) => mu(x) * (1 - k * s_l);
    const high = (x, k) => mu(x) + k * (1 - mu(x)) * s_r;
    const [from, to, steps] = [c - 3 * sigma, c + 3 * sigma, 24];
    const grid = Array.from({ length: steps + 1 }, (_, i) => from + ((to - from) * i) / steps);

    const controls = add(root, "div", { class: "gt2-controls" });
    const moved = () => update();
    const degrees = (v) => `${minus(String(v))}°`;
    const cut = slider(
      controls, "Height α of the cut",
      { min: 0.01, max: 1, step: 0.01, value: alpha, say: (v) => fixed(v) }, moved,
    );
    const at = slider(
      controls, "Place x′ of the cut",
      { min: from, max: to, step: (to - from) / 120, value: x_cut, say: (v) => fixed(v) }, moved,
    );
    const turn = slider(
      controls, "Turn", { min: -180, max: 180, step: 5, value: -25, say: degrees }, moved,
    );
    const tilt = slider(controls, "Tilt", { min: 0, max: 90, step: 5, value: 35, say: degrees }, moved);
    const panels = add(root, "div", { class: "gt2-panels" });
    const told = add(root, "p", { class: "gt2-say", "aria-live": "polite" });

    const drawBody = (svg, w, h) => {
      const [t, e] = [turn, tilt].map((input) => (input.valueAsNumber * Math.PI) / 180);
      // The box is 2 wide, 1 deep and 0.8 high, seen without perspective, as large as fits.
      const flat = (x, u, z) => {
        const [X, U, Z] = [(2 * (x - from)) / (to - from) - 1, u - 0.5, 0.8 * z];
        const away = X * Math.sin(t) + U * Math.cos(t);
        return [X * Math.cos(t) - U * Math.sin(t), -Z * Math.cos(e) - away * Math.sin(e)];
      };
      const corners = [[from, 0], [to, 0], [to, 1], [from, 1]];
      const seen = corners.flatMap((p) => [flat(...p, 0), flat(...p, 1)]);
      const [xs, ys] = [0, 1].map((i) => seen.map((p) => p[i]));
      const size = [xs, ys].map((v) => Math.max(...v) - Math.min(...v));
      const unit = Math.min(200, (w - 130) / size[0], (h - 72) / size[1]);
      const spot = (...place) => {
        const [px, py] = flat(...place);
        return [w / 2 + unit * (px - Math.min(...xs) - size[0] / 2), (h - unit * size[1]) / 2 - 8 + unit * (py - Math.min(...ys))];
      };
      const shape = (name, points, close = "Z") =>
        add(svg, "path", { class: name, d: path(points.map((p) => spot(...p)), close) });
      const sign = (place, text, shift = [0, 0]) => {
        const [px, py] = spot(...place);
        const anchor = Math.abs(shift[0]) < 10 ? "middle" : shift[0] < 0 ? "end" : "start";
        const where = { x: px + shift[0], y: py + shift[1] + 4, "text-anchor": anchor };
        add(svg, "text", where, text);
      };
      // The floor, with names along its edges that are near
      shape("gt2-floor", [[from, 0, 0], [to, 0, 0], [to, 1, 0], [from, 1, 0]]);
      const near = { x: Math.sin(t) > 0 ? from : to, u: Math.cos(t) > 0 ? 0 : 1 };
      const names = (p, q, all, place, name, opposite) => {
        const [a, b] = [spot(...p), spot(...q)];
        const long = Math.hypot(b[0] - a[0], b[1] - a[1]);
        if (long < 60) return; // seen from its end
        const ticks = long < 100 ? [all[0], all.at(-1)] : all; // a short edge has no room for more
        const [near, far] = [spot(...place((ticks[0] + ticks.at(-1)) / 2)), spot(...opposite)];
        const [dx, dy] = e < 0.2 ? [0, 1] : [near[0] - far[0], near[1] - far[1]];
        const out = (d) => [dx, dy].map((v) => (d * v) / Math.hypot(dx, dy));
        for (const v of ticks) sign(place(v), number(v), out(12));
        // The name stands between two ticks: beside them where the edge runs upwards, else below.
        const middle = Math.floor((ticks.length - 1) / 2);
        const upwards = Math.abs(dx) > Math.abs(dy);
        sign(place((ticks[middle] + ticks[middle + 1]) / 2), name, out(upwards ? 14 : 33));
      };
      const away = { x: near.x === from ? to : from, u: 1 - near.u };
      names([from, near.u, 0], [to, near.u, 0], ticks(from, to), (v) => [v, near.u, 0], "input x", [c, away.u, 0]);
      names([near.x, 0, 0], [near.x, 1, 0], [0, 0.5, 1], (v) => [near.x, v, 0], "grade u", [away.x, 0.5, 0]);
      // The upright axis stands at the corner that is leftmost
      const corner = corners.reduce((a, b) => (spot(...b, 0)[0] < spot(...a, 0)[0] ? b : a));
      if (e < 1.4) {
        shape("gt2-grid", [[...corner, 0], [...corner, 1]], "");
        for (const v of [0.5, 1]) sign([...corner, v], number(v), [-14, 0]);
        sign([...corner, 1], "α", [0, -14]);
      }
      // Sheets are parallel: drawn from the far one to the near one, each hides what it must.
      // Between two of them lie a strip of the plane and a piece of the ridge.
      const a = cut.valueAsNumber;
      const places = [...grid, at.valueAsNumber].sort((p, q) => (Math.sin(t) > 0 ? q - p : p - q));
      const part = (x, k1, k2) => {
        const ks = Array.from({ length: 13 }, (_, i) => k1 + ((k2 - k1) * i) / 12);
        const left = ks.map((k) => [x, low(x, k), 0.01 ** (k * k)]);
        return [...left, ...ks.reverse().map((k) => [x, high(x, k), 0.01 ** (k * k)])];
      };
      const k = kappa(a);
      places.forEach((x, i) => {
        const mark = x === at.valueAsNumber ? " gt2-marked" : "";
        shape(`gt2-sheet${mark}`, [[x, low(x, 1), 0], ...part(x, 1, k), [x, high(x, 1), 0]]);
        shape(`gt2-cap${mark}`, part(x, k, 0));
        const next = places[i + 1];
        if (next === undefined) return;
        shape("gt2-plane", [[x, low(x, k), a], [x, high(x, k), a], [next, high(next, k), a], [next, low(next, k), a]]);
        shape("gt2-ridge", [[x, mu(x), 1], [next, mu(next), 1]], "");
      });
    };
    const drawAbove = (svg, w, h) => {
      const unitTicks = [0, 0.2, 0.4, 0.6, 0.8, 1];
      const [X, Y] = axes(
        svg, w, h,
        { from, to, name: "input x" },
        { from: 0, to: 1, name: "the cut at α: grade u", ticks: unitTicks },
      );
      const k = kappa(cut.valueAsNumber);
      const fine = Array.from({ length: 97 }, (_, i) => from + ((to - from) * i) / 96);
      const edge = (f, k) => fine.map((x) => [X(x), Y(f(x, k))]);
      add(svg, "path", { class: "gt2-outer", d: path([...edge(low, 1), ...edge(high, 1).reverse()], "Z") });
      add(svg, "path", { class: "gt2-plane", d: path([...edge(low, k), ...edge(high, k).reverse()], "Z") });
      add(svg, "path", { class: "gt2-ridge", d: path(fine.map((x) => [X(x), Y(mu(x))])) });
      add(svg, "path", { class: "gt2-guide", d: `M${X(at.valueAsNumber)} ${Y(0)}V${Y(1)}` });
    };
    const drawSide = (svg, w, h) => {
      const [x, a] = [at.valueAsNumber, cut.valueAsNumber];
      const [X, Y] = axes(
        svg, w, h,
        { from: 0, to: 1, name: "grade u", ticks: [0, 0.2, 0.4, 0.6, 0.8, 1] },
        { from: 0, to: 1, name: "the cut at x′: height α", ticks: [0, 0.5, 1] },
      );
      const ks = Array.from({ length: 41 }, (_, i) => 1 - i / 40);
      const spot = (f) => (k) => [X(f(x, k)), Y(0.01 ** (k * k))];
      const bell = [...ks.map(spot(low)), ...ks.reverse().map(spot(high))];
      add(svg, "path", { class: "gt2-sheet gt2-marked", d: path(bell, "Z") });
      const ends = [low, high].map((f) => X(f(x, kappa(a))));
      add(svg, "path", { class: "gt2-bar", d: `M${ends[0]} ${Y(a)}H${ends[1]}m0 -6v12M${ends[0]} ${Y(a) - 6}v12` });
      add(svg, "circle", { class: "gt2-dot", cx: X(mu(x)), cy: Y(1), r: 3.5 });
    };
    const body = add(panels, "div", { class: "gt2-body" });
    const redraw = [
      panel(body, "The set as a body over input and grade, with the cut", 330, drawBody),
      panel(panels, "The cut at the height alpha: a band around the primary membership", 220, drawAbove),
      panel(panels, "The cut at the place x prime: the secondary membership", 220, drawSide),
    ];
    // The body also turns by dragging; up and down stays free to scroll the page.
    let held = null;
    body.addEventListener("pointerdown", (event) => {
      held = [event.clientX, turn.valueAsNumber];
      body.setPointerCapture(event.pointerId);
    });
    body.addEventListener("pointermove", (event) => {
      if (!held) return;
      const angle = held[1] + (event.clientX - held[0]) / 2;
      turn.value = ((((angle + 180) % 360) + 360) % 360) - 180;
      turn.dispatchEvent(new Event("input"));
    });
    for (const name of ["pointerup", "pointercancel"]) body.addEventListener(name, () => (held = null));

    const update = () => {
      const [x, a] = [at.valueAsNumber, cut.valueAsNumber];
      redraw.forEach((draw) => draw());
      told.textContent =
        `At x′ = ${fixed(x)} the primary grade is ${fixed(mu(x))}. Cut at α = ${fixed(a)}, grades from ` +
        `${fixed(low(x, kappa(a)))} to ${fixed(high(x, kappa(a)))} remain.`;
    };
    update();
  };

  // The switch point of Karnik and Mendel

  const switchPoint = (root, { y, f_lower, f_upper }) => {
    const P = y.length;
    // Up to the switch point the lower end takes upper firings, after it lower ones; the upper
    // end the other way round. Where no rule has any weight there is no mean.
    const weight = (end, p, k) => (p < k === (end === 0) ? f_upper[p] : f_lower[p]);
    const mean = (end, k) => {
      const total = y.reduce((sum, _, p) => sum + weight(end, p, k), 0);
      return total > 0 ? y.reduce((sum, v, p) => sum + weight(end, p, k) * v, 0) / total : null;
    };
    const means = [0, 1].map((end) => Array.from({ length: P + 1 }, (_, k) => mean(end, k)));
    const pad = 0.06 * (y[P - 1] - y[0]) || 1;
    const top = 1.08 * Math.max(...f_upper);
    const all = means.flat().filter((m) => m !== null);
    const spread = [Math.min(...all), Math.max(...all)];
    const room = 0.1 * (spread[1] - spread[0]) || 1;
    const columns = add(root, "div", { class: "gt2-panels" });

    const side = (end) => {
      const isLower = end === 0;
      const [name, best] = isLower ? ["lower", "smallest"] : ["upper", "largest"];
      const value = means[end];
      const known = value.filter((m) => m !== null);
      const goal = isLower ? Math.min(...known) : Math.max(...known);
      const where = value.indexOf(goal);
      const column = add(columns, "div", { class: "gt2-column", role: "group", "aria-label": `The ${name} end` });
      add(column, "strong", {}, `The ${name} end`);
      const control = slider(
        column,
        "Switch after rule",
        { min: 0, max: P, step: 1, value: isLower ? P : 0, say: (k) => `${k} of ${P}` },
        () => update(),
      );
      const drawWeights = (svg, w, h) => {
        const k = control.valueAsNumber;
        const [X, Y] = axes(
          svg, w, h,
          { from: y[0] - pad, to: y[P - 1] + pad, name: "consequent of the rule" },
          { from: 0, to: top, name: "weight" },
        );
        y.forEach((v, p) => {
          add(svg, "path", { class: "gt2-range", d: `M${X(v)} ${Y(f_lower[p])}V${Y(f_upper[p])}` });
          add(svg, "path", { class: "gt2-stem", d: `M${X(v)} ${Y(0)}V${Y(weight(end, p, k))}` });
          add(svg, "circle", { class: "gt2-dot", cx: X(v), cy: Y(weight(end, p, k)), r: 4 });
        });
        const between = k === 0 ? y[0] - pad / 2 : k === P ? y[P - 1] + pad / 2 : (y[k - 1] + y[k]) / 2;
        add(svg, "path", { class: "gt2-guide", d: `M${X(between)} ${Y(0)}V${Y(top)}` });
        if (value[k] === null) return;
        add(svg, "path", { class: "gt2-bar", d: `M${X(value[k])} ${Y(0)}V${Y(top)}` });
        const anchor = X(value[k]) > w / 2 ? ["end", -5] : ["start", 5];
        const place = { class: "gt2-mean", x: X(value[k]) + anchor[1], y: Y(top) - 5, "text-anchor": anchor[0] };
        add(svg, "text", place, "mean");
      };
      const drawMeans = (svg, w, h) => {
        const k = control.valueAsNumber;
        const every = Math.ceil(P / 10);
        const marks = value.map((_, i) => i).filter((i) => i % every === 0);
        const [X, Y] = axes(
          svg, w, h,
          { from: 0, to: P, name: "switch point", ticks: marks },
          { from: spread[0] - room, to: spread[1] + room, name: "mean" },
        );
        const points = value.map((m, i) => [X(i), m === null ? null : Y(m)]).filter((p) => p[1] !== null);
        add(svg, "path", { class: "gt2-line", d: path(points) });
        for (const [cx, cy] of points) add(svg, "circle", { class: "gt2-dot", cx, cy, r: 2.5 });
        add(svg, "circle", { class: "gt2-ring", cx: X(where), cy: Y(goal), r: 9 });
        if (value[k] !== null) add(svg, "circle", { class: "gt2-now", cx: X(k), cy: Y(value[k]), r: 5.5 });
      };
      const redraw = [
        panel(column, `Weights of the rules for the ${name} end, and their mean`, 220, drawWeights),
        panel(column, `The mean for each switch point, with a ring around the ${best}`, 200, drawMeans),
      ];
      const told = add(column, "p", { class: "gt2-say", "aria-live": "polite" });
      const update = () => {
        const k = control.valueAsNumber;
        redraw.forEach((draw) => draw());
        const [before, after] = isLower ? ["upper", "lower"] : ["lower", "upper"];
        const rules = (n, firing) => `${n} ${n === 1 ? "rule takes" : "rules take"} the ${firing} firing`;
        const taken = k === 0 ? `all ${rules(P, after)}` : k === P ? `all ${rules(P, before)}`
          : `the first ${rules(k, before)}, the other ${rules(P - k, after)}`;
        const middle = value[k] === null ? "no rule has any weight" : `the mean is ${fixed(value[k], 3)}`;
        const verdict = value[k] !== null && Math.abs(value[k] - goal) <= 1e-9 * (spread[1] - spread[0])
          ? `This is the ${best}: the ${name} end.`
          : `The ${best}, ${fixed(goal, 3)}, is at switch point ${where}.`;
        told.textContent = `In the order of their consequents ${taken}: ${middle}. ${verdict}`;
      };
      update();
    };
    side(0);
    side(1);
  };

  start({ set: set3d, switch: switchPoint });
})();
