// The figures of `play.py`: a level to choose, rows to draw and move, a switch point to drag, two
// ranks to compare. Models are evaluated by `evaluator.js`, sliders and panels are those of `controls.js`.
(() => {
  "use strict";
  const { add, slider, panel, axes, fixed, path, miss, start } = window.gt2liteControls;

  // Numbers

  const random = (seed) => () => {  // mulberry32: the same rows for every reader
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const normal = (draw) => Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
  // The distribution function of the bell curve (Abramowitz and Stegun 7.1.26, to 1.5e-7).
  const phi = (z) => {
    const [v, t] = [Math.abs(z) / Math.SQRT2, 1 / (1 + (0.3275911 * Math.abs(z)) / Math.SQRT2)];
    const tail =
      t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))));
    const erf = 1 - tail * Math.exp(-v * v);
    return z < 0 ? (1 - erf) / 2 : (1 + erf) / 2;
  };
  const logFactorial = [0];
  const factorial = (n) => {
    for (let i = logFactorial.length; i <= n; i++) logFactorial.push(logFactorial[i - 1] + Math.log(i));
    return logFactorial[n];
  };
  // The k-th smallest of Q: density of its coverage at p, and the chance to be below p.
  const density = (k, Q, p) => {
    if (p <= 0 || p >= 1) return (p <= 0 && k === 1) || (p >= 1 && k === Q) ? Q : 0;
    const log = factorial(Q) - factorial(k - 1) - factorial(Q - k);
    return Math.exp(log + (k - 1) * Math.log(p) + (Q - k) * Math.log1p(-p));
  };
  const below = (k, Q, p) => {  // which is when at least k of Q uniform numbers lie below p
    let sum = 0;
    for (let j = k; j <= Q; j++) {
      const log = factorial(Q) - factorial(j) - factorial(Q - j);
      sum += Math.exp(log + j * Math.log(p) + (Q - j) * Math.log1p(-p));
    }
    return Math.min(sum, 1);
  };
  const exactRank = (percent, Q) => gt2liteModel.rank(percent / 100, Q);
  const conformalRank = (percent, Q) => exactRank(percent, Q + 1);
  // The interval at position t of the family: the plane kappa = t, beyond 1 the envelope and a margin.
  const member = (planes, t) => {
    const margin = Math.max(t - 1, 0);
    const [low, high] = planes(Math.min(t, 1));
    return [low - margin, high + margin];
  };

  const button = (parent, name, pressed) => {
    const node = add(parent, "button", { type: "button" }, name);
    node.addEventListener("click", pressed);
    return node;
  };
  const law = (svg, X, Y, k, Q, kind) => {
    const points = Array.from({ length: 201 }, (_, i) => [X(i / 2), Y(density(k, Q, i / 200))]);
    add(svg, "path", { class: kind, d: path(points) });
  };
  const highest = (...laws) =>
    1.1 * Math.max(...laws.flatMap(([k, Q]) => Array.from({ length: 201 }, (_, i) => density(k, Q, i / 200))));
  const marked = (svg, X, h, percent, name) => {
    add(svg, "path", { class: "gt2-guide", d: `M${X(percent)} 24V${h - 40}` });
    const end = percent > 50 ? ["end", -4] : ["start", 4];
    add(svg, "text", { x: X(percent) + end[1], y: 20, "text-anchor": end[0] }, name);
  };

  // Rows to draw and to move, and the band that they calibrate

  const calibrate = (root, data) => {
    const { x, mean, sd, seed } = data;
    const m = x.length;
    const [from, to] = [x[0], x[m - 1]];
    const model = gt2liteModel(data.model);
    const places = x.map((place) => model.planes([place]));
    let draw = random(seed);
    let rows = [];
    let history = [];

    // A value at a place between two points of the grid
    const at = (values, place) => {
      const t = ((place - from) / (to - from)) * (m - 1);
      const i = Math.min(Math.max(Math.floor(t), 0), m - 2);
      return values[i] + (t - i) * (values[i + 1] - values[i]);
    };
    // The smallest kappa that covers, by bisection; past the envelope 1 plus the margin that it takes.
    const score = ([place, y]) => {
      const planes = model.planes([place]);
      const outside = (kappa) => {
        const [low, high] = planes(kappa);
        return Math.max(low - y, y - high);
      };
      if (outside(1) > 0) return 1 + outside(1);
      let [a, b] = [0, 1];
      while (b - a > 1e-4) {
        const middle = (a + b) / 2;
        if (outside(middle) > 0) a = middle;
        else b = middle;
      }
      return b;
    };
    const band = (threshold) => {
      const ends = places.map((planes) => member(planes, threshold));
      return [ends.map(([low]) => low), ends.map(([, high]) => high)];
    };
    // What a band covers of new rows whose noise is so many times that of the old ones
    const coverage = ([low, high], times) =>
      x.reduce((sum, _, i) => {
        const part = phi((high[i] - mean[i]) / (times * sd[i])) - phi((low[i] - mean[i]) / (times * sd[i]));
        return sum + part * (i === 0 || i === m - 1 ? 0.5 : 1);
      }, 0) / (m - 1);

    const controls = add(root, "div", { class: "gt2-controls" });
    const count = slider(
      controls, "Calibration rows Q", { min: 5, max: 200, step: 1, value: data.Q }, () => renew(false),
    );
    const level = slider(
      controls, "Level",
      { min: 50, max: 95, step: 1, value: data.level, say: (v) => `${v}%` }, () => restart(),
    );
    const noise = slider(
      controls, "Noise of new rows",
      { min: 0.5, max: 2, step: 0.1, value: 1, say: (v) => `${fixed(v, 1)} times` }, () => restart(),
    );
    const chosen = slider(
      controls, "Row to move", { min: 1, max: data.Q, step: 1, value: 1, say: (v) => `row ${v}` }, () => pick(),
    );
    const lift = slider(
      controls, "Its target", { min: -4, max: 8, step: 0.05, value: 0, say: (v) => fixed(v) }, () => {
        rows[chosen.valueAsNumber - 1][1] = lift.valueAsNumber;
        update();
      },
    );
    const buttons = add(root, "p", { class: "gt2-buttons" });
    button(buttons, "Draw new rows", () => renew(true));
    button(buttons, "100 times", () => {
      for (let i = 0; i < 100; i++) note();
      renew(true);
    });
    button(buttons, "Start again", () => {
      draw = random(seed);
      renew(false);
    });
    const panels = add(root, "div", { class: "gt2-panels" });
    const told = add(root, "p", { class: "gt2-say", "aria-live": "polite" });

    const sample = () =>
      Array.from({ length: count.valueAsNumber }, () => {
        const place = from + (to - from) * draw();
        return [place, at(mean, place) + at(sd, place) * normal(draw)];
      });
    const rank = () => conformalRank(level.valueAsNumber, rows.length);
    const threshold = (some) => {
      const k = conformalRank(level.valueAsNumber, some.length);
      return k > some.length ? Infinity : some.map(score).sort((a, b) => a - b)[k - 1];
    };
    const share = (some) => {
      const t = threshold(some);
      return t === Infinity ? 100 : 100 * coverage(band(t), noise.valueAsNumber);
    };
    const note = () => history.push(share(sample()));

    const [lowest, topmost] = band(1);
    const span = [Math.min(...lowest) - 0.8, Math.max(...topmost) + 0.8];
    const drawRows = (svg, w, h) => {
      const [X, Y] = axes(svg, w, h, { from, to, name: "input x" }, { from: span[0], to: span[1], name: "target y" });
      const t = threshold(rows);
      if (t !== Infinity) {
        const [low, high] = band(t);
        const up = x.map((v, i) => [X(v), Y(high[i])]);
        const down = x.map((v, i) => [X(v), Y(low[i])]).reverse();
        add(svg, "path", { class: "gt2-band", d: path([...up, ...down], "Z") });
      }
      rows.forEach((row, i) => {
        const [px, py] = [X(row[0]), Y(Math.min(Math.max(row[1], span[0]), span[1]))];
        if (score(row) <= t) add(svg, "circle", { class: "gt2-dot", cx: px, cy: py, r: 2.5 });
        else miss(svg, px, py);
        if (i === chosen.valueAsNumber - 1) add(svg, "circle", { class: "gt2-ring", cx: px, cy: py, r: 8 });
      });
      // Drag the nearest row up or down; its place stays.
      const where = (event) => {
        const box = svg.getBoundingClientRect();
        return [event.clientX - box.left, event.clientY - box.top];
      };
      svg.style.cursor = "ns-resize";
      svg.style.touchAction = "pan-y";  // a finger scrolls the page, and moves rows by the sliders
      svg.onpointerdown = (event) => {
        const [px, py] = where(event);
        const far = rows.map(([a, b]) => (X(a) - px) ** 2 + (Y(b) - py) ** 2);
        chosen.value = 1 + far.indexOf(Math.min(...far));
        chosen.dispatchEvent(new Event("input"));
        svg.setPointerCapture(event.pointerId);
        svg.onpointermove = (move) => {
          const y = span[1] - ((where(move)[1] - 24) / (h - 64)) * (span[1] - span[0]);
          lift.value = Math.min(Math.max(y, span[0]), span[1]);
          lift.dispatchEvent(new Event("input"));
        };
      };
      svg.onpointerup = () => {
        svg.onpointermove = null;
      };
    };
    const drawLaw = (svg, w, h) => {
      const [k, Q] = [rank(), rows.length];
      const top = k > Q ? 1 : highest([k, Q]);
      const [X, Y] = axes(
        svg, w, h,
        { from: 0, to: 100, name: "coverage of new rows (%)", ticks: [0, 25, 50, 75, 100] },
        { from: 0, to: top, name: "how often", ticks: [] },
      );
      if (k <= Q) law(svg, X, Y, k, Q, "gt2-line");
      const bins = new Array(50).fill(0);
      for (const v of history) bins[Math.min(Math.floor(v / 2), 49)]++;
      bins.forEach((n, i) => {
        if (!n) return;
        const tall = (n / history.length) * 50;
        const [a, b] = [X(2 * i), X(2 * i + 2)];
        const up = Y(Math.min(tall, top));
        add(svg, "path", { class: "gt2-plane", d: `M${a} ${Y(0)}V${up}H${b}V${Y(0)}Z` });
      });
      marked(svg, X, h, level.valueAsNumber, "level");
      add(svg, "path", { class: "gt2-bar", d: `M${X(share(rows))} ${Y(0)}V${Y(top)}` });
    };
    const redraw = [
      panel(panels, "Calibration rows and the band that they calibrate", 300, drawRows, 2),
      panel(panels, "The law of the coverage, past draws as bars, and the present one", 300, drawLaw),
    ];
    const tell = () => {
      const [k, Q, now] = [rank(), rows.length, share(rows)];
      const t = threshold(rows);
      const margin = t - 1;
      const reach = margin > 0 ? `the widest plane and a margin of ${fixed(margin)} on both sides` : `the plane kappa = ${fixed(t)}`;
      const answer = t === Infinity
        ? `The rank would be ${k}, and there are ${Q} rows: no band can promise this level.`
        : `In rising order the band goes up to score ${k} of ${Q}: ${reach}. It covers ${now.toFixed(1)}% of new rows.`;
      const average = history.reduce((a, b) => a + b, 0) / history.length;
      const past = history.length
        ? ` Mean of ${history.length} ${history.length === 1 ? "draw" : "draws"} before: ${average.toFixed(1)}%.` : "";
      const promise = k <= Q ? ` The law has the mean ${((100 * k) / (Q + 1)).toFixed(1)}%.` : "";
      told.textContent = answer + promise + past;
    };
    const update = () => {
      redraw.forEach((again) => again());
      tell();
    };
    const pick = () => {
      lift.value = rows[chosen.valueAsNumber - 1][1];
      lift.setAttribute("aria-valuetext", fixed(lift.valueAsNumber));
      lift.closest(".gt2-slider").querySelector(".gt2-value").textContent = fixed(lift.valueAsNumber);
      update();
    };
    const restart = () => {
      history = [];
      update();
    };
    const renew = (keep) => {
      if (!keep) history = [];
      else history.push(share(rows));
      rows = sample();
      chosen.max = rows.length;
      if (chosen.valueAsNumber > rows.length) chosen.value = rows.length;
      pick();
    };
    lift.min = span[0];
    lift.max = span[1];
    renew(false);
  };

  // A switch point to drag, in the right order of firings and in the misprinted one

  const drag = (root, { y, f_lower, f_upper }) => {
    const P = y.length;
    const pad = 0.08 * (y[P - 1] - y[0]) || 1;
    const top = 1.1 * Math.max(...f_upper);
    const controls = add(root, "div", { class: "gt2-controls" });
    const control = slider(
      controls, "Switch after rule", { min: 0, max: P, step: 1, value: P, say: (k) => `${k} of ${P}` }, () => update(),
    );
    const form = slider(
      controls, "Before the switch",
      { min: 0, max: 1, step: 1, value: 0, say: (v) => (v ? "lower firing" : "upper firing") }, () => update(),
    );
    const panels = add(root, "div", { class: "gt2-panels" });
    const told = add(root, "p", { class: "gt2-say", "aria-live": "polite" });
    const weight = (p, k, wrong) => ((p < k) !== Boolean(wrong) ? f_upper[p] : f_lower[p]);
    const mean = (k, wrong) => {
      let [sum, total] = [0, 0];
      y.forEach((v, p) => {
        sum += weight(p, k, wrong) * v;
        total += weight(p, k, wrong);
      });
      return total > 0 ? sum / total : NaN;
    };
    const all = (wrong) => Array.from({ length: P + 1 }, (_, k) => mean(k, wrong));
    const [end] = gt2liteModel.typeReduce(f_lower, f_upper, y);
    const between = (k) => (k === 0 ? y[0] - pad / 2 : k === P ? y[P - 1] + pad / 2 : (y[k - 1] + y[k]) / 2);
    const drawWeights = (svg, w, h) => {
      const [k, wrong] = [control.valueAsNumber, form.valueAsNumber];
      const [X, Y] = axes(
        svg, w, h, { from: y[0] - pad, to: y[P - 1] + pad, name: "consequent of the rule" },
        { from: 0, to: top, name: "weight" },
      );
      y.forEach((v, p) => {
        add(svg, "path", { class: "gt2-range", d: `M${X(v)} ${Y(f_lower[p])}V${Y(f_upper[p])}` });
        add(svg, "path", { class: "gt2-stem", d: `M${X(v)} ${Y(0)}V${Y(weight(p, k, wrong))}` });
        add(svg, "circle", { class: "gt2-dot", cx: X(v), cy: Y(weight(p, k, wrong)), r: 4 });
      });
      add(svg, "path", { class: "gt2-guide", d: `M${X(between(k))} ${Y(0)}V${Y(top)}` });
      add(svg, "path", { class: "gt2-grip", d: `M${X(between(k)) - 9} ${Y(top)}h18l-9 12Z` });
      const now = mean(k, wrong);
      if (!Number.isNaN(now)) add(svg, "path", { class: "gt2-bar", d: `M${X(now)} ${Y(0)}V${Y(top)}` });
      svg.style.cursor = "ew-resize";
      svg.style.touchAction = "pan-y";
      const follow = (event) => {
        const place = event.clientX - svg.getBoundingClientRect().left;
        const far = all(false).map((_, i) => Math.abs(X(between(i)) - place));
        control.value = far.indexOf(Math.min(...far));
        control.dispatchEvent(new Event("input"));
      };
      svg.onpointerdown = (event) => {
        svg.setPointerCapture(event.pointerId);
        svg.onpointermove = follow;
        follow(event);
      };
      svg.onpointerup = () => {
        svg.onpointermove = null;
      };
    };
    const drawMeans = (svg, w, h) => {
      const wrong = form.valueAsNumber;
      const found = all(wrong);
      const known = [...all(false), ...all(true)].filter((v) => !Number.isNaN(v));
      const room = 0.1 * (Math.max(...known) - Math.min(...known)) || 1;
      const [X, Y] = axes(
        svg, w, h, { from: 0, to: P, name: "switch point", ticks: found.map((_, i) => i) },
        { from: Math.min(...known) - room, to: Math.max(...known) + room, name: "mean" },
      );
      const points = found.map((v, i) => [X(i), Y(v), v]).filter((p) => !Number.isNaN(p[2]));
      add(svg, "path", { class: "gt2-line", d: path(points.map((p) => p.slice(0, 2))) });
      for (const [cx, cy] of points) add(svg, "circle", { class: "gt2-dot", cx, cy, r: 2.5 });
      add(svg, "path", { class: "gt2-guide", d: `M${X(0)} ${Y(end)}H${X(P)}` });
      add(svg, "text", { x: X(0) + 4, y: Y(end) - 5 }, "lower endpoint");
      const k = control.valueAsNumber;
      if (!Number.isNaN(found[k])) add(svg, "circle", { class: "gt2-now", cx: X(k), cy: Y(found[k]), r: 5.5 });
    };
    const redraw = [
      panel(panels, "Weights of the rules, the switch point to drag, and the mean", 240, drawWeights, 2),
      panel(panels, "The mean for each switch point, and the lower endpoint as a dotted line", 240, drawMeans),
    ];
    const update = () => {
      const [k, wrong] = [control.valueAsNumber, form.valueAsNumber];
      redraw.forEach((again) => again());
      const now = mean(k, wrong);
      if (Number.isNaN(now)) told.textContent = "No rule has any weight: there is no mean.";
      else if (Math.abs(now - end) < 1e-9) {
        told.textContent = `The mean is ${fixed(now, 3)}: this is the lower endpoint. The switch lies where the mean is.`;
      } else {
        const least = Math.min(...all(wrong).filter((v) => !Number.isNaN(v)));
        const hope = wrong && least > end + 1e-9
          ? `In this order no switch point comes below ${fixed(least, 3)}.`
          : now < between(k) ? "The mean lies to the left of the switch: move it there."
            : "The mean lies to the right of the switch: move it there.";
        told.textContent = `The mean is ${fixed(now, 3)}, the lower endpoint is ${fixed(end, 3)}. ${hope}`;
      }
    };
    update();
  };

  // Two ranks beside each other

  const ranks = (root, data) => {
    const controls = add(root, "div", { class: "gt2-controls" });
    const count = slider(
      controls, "Calibration rows Q", { min: 1, max: 100, step: 1, value: data.Q }, () => update(),
    );
    const level = slider(
      controls, "Level", { min: 50, max: 99, step: 1, value: data.level, say: (v) => `${v}%` }, () => update(),
    );
    const panels = add(root, "div", { class: "gt2-panels" });
    const told = add(root, "p", { class: "gt2-say", "aria-live": "polite" });
    const both = () => {
      const [Q, percent] = [count.valueAsNumber, level.valueAsNumber];
      return [Q, percent, exactRank(percent, Q), conformalRank(percent, Q)];
    };
    const drawLaws = (svg, w, h) => {
      const [Q, percent, e, c] = both();
      const top = highest(...[[e, Q], ...(c <= Q ? [[c, Q]] : [])]);
      const [X, Y] = axes(
        svg, w, h, { from: 0, to: 100, name: "coverage of new rows (%)", ticks: [0, 25, 50, 75, 100] },
        { from: 0, to: top, name: "how often", ticks: [] },
      );
      law(svg, X, Y, e, Q, "gt2-line");
      if (c <= Q) law(svg, X, Y, c, Q, "gt2-law");
      marked(svg, X, h, percent, "level");
    };
    const drawMeans = (svg, w, h) => {
      const [Q, percent] = both();
      const [X, Y] = axes(
        svg, w, h, { from: 0, to: 100, name: "calibration rows Q", ticks: [0, 25, 50, 75, 100] },
        { from: Math.min(50, percent - 20), to: 100, name: "mean coverage (%)" },
      );
      add(svg, "path", { class: "gt2-guide", d: `M${X(0)} ${Y(percent)}H${X(100)}` });
      for (let n = 1; n <= 100; n++) {
        const [e, c] = [exactRank(percent, n), conformalRank(percent, n)];
        const low = Math.max((100 * e) / (n + 1), Math.min(50, percent - 20));
        add(svg, "circle", { class: "gt2-small", cx: X(n), cy: Y(low), r: n === Q ? 5 : 2 });
        if (c <= n) {
          const [px, py, r] = [X(n), Y((100 * c) / (n + 1)), n === Q ? 6 : 2.5];
          add(svg, "path", { class: "gt2-now", d: `M${px - r} ${py + r}h${2 * r}l${-r} ${-2 * r}Z` });
        }
      }
    };
    const redraw = [
      panel(panels, "Laws of the coverage: line for the exact rank, bold for the conformal one", 260, drawLaws),
      panel(panels, "Mean coverage by number of rows: dots exact, triangles conformal", 260, drawMeans),
    ];
    const say = (name, k, Q, percent) =>
      k > Q ? `${name}: the rank would be ${k} of ${Q}, so it has no answer.`
        : `${name}: rank ${k} of ${Q}, mean coverage ${((100 * k) / (Q + 1)).toFixed(1)}%, below the level in ${(100 * below(k, Q, percent / 100)).toFixed(0)}% of calibrations.`;
    const update = () => {
      const [Q, percent, e, c] = both();
      redraw.forEach((again) => again());
      told.textContent = `${say("Exact (line, dots)", e, Q, percent)} ${say("Conformal (bold, triangles)", c, Q, percent)}`;
    };
    update();
  };

  // A calibrated band whose level the reader moves

  const levelBand = (root, { model, x, y, scores, level, x_name, y_name }) => {
    const { interval, planes, predict } = gt2liteModel(model);
    const at = (place, percent) =>  // calibrated by the scores, or else by the model
      scores ? member(planes([place]), scores[conformalRank(percent, scores.length) - 1]) : interval([place], percent / 100);
    const span = (values, room) => {
      const [least, most] = [Math.min(...values), Math.max(...values)];
      return { from: least - room * (most - least), to: most + room * (most - least) };
    };
    const [xs, ys] = [span(x, 0.01), span(y, 0.1)];
    const grid = Array.from({ length: 81 }, (_, i) => xs.from + ((xs.to - xs.from) * i) / 80);
    const line = grid.map((place) => predict([place]));
    const control = slider(
      root, "Level", { min: 50, max: 98, step: 1, value: level, say: (v) => `${v}%` }, () => update(),
    );
    const panels = add(root, "div", { class: "gt2-panels" });
    const told = add(root, "p", { class: "gt2-say", "aria-live": "polite" });
    let [ends, inside] = [[], []];
    const redraw = panel(panels, `${y_name} by ${x_name}, the prediction, and the band of the level`, 340, (svg, w, h) => {
      const [X, Y] = axes(svg, w, h, { ...xs, name: x_name }, { ...ys, name: y_name });
      const side = (i) => grid.map((place, k) => [X(place), Y(Math.min(Math.max(ends[k][i], ys.from), ys.to))]);
      add(svg, "path", { class: "gt2-band", d: path([...side(1), ...side(0).reverse()], "Z") });
      add(svg, "path", { class: "gt2-line", d: path(grid.map((place, k) => [X(place), Y(line[k])])) });
      x.forEach((place, i) => {
        if (inside[i]) add(svg, "circle", { class: "gt2-dot", cx: X(place), cy: Y(y[i]), r: 2 });
        else miss(svg, X(place), Y(y[i]));
      });
    });
    const update = () => {
      const percent = control.valueAsNumber;
      ends = grid.map((place) => at(place, percent));
      inside = x.map((place, i) => {
        const [low, high] = at(place, percent);
        return low <= y[i] && y[i] <= high;
      });
      redraw();
      const n = inside.filter(Boolean).length;
      told.textContent = `The ${control.value}% band holds ${n} of ${x.length} new rows, ${((100 * n) / x.length).toFixed(1)}%.`
        + " Crosses lie outside. The model was trained once; moving the level does not train it again.";
    };
    update();
  };

  start({ calibrate, drag, ranks, level: levelBand });
})();
