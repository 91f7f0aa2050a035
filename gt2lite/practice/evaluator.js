// Predictions and intervals of a gt2lite model file, without Python: no dependency, no request.
//
//   const model = gt2liteModel(JSON.parse(text));     // a file of GT2Regressor.save, or of a report
//   const row = { AT: 15, V: 41, AP: 1013, RH: 70 };  // or [15, 41, 1013, 70]
//   model.predict(row);                               // a number
//   model.interval(row, 0.9);                         // [lower, upper]; a third argument: the group
//   model.weights(row);                               // the share of each rule in the prediction
//   model.unusual(row);                               // { name: "above the training range", ... }
//
// In a page load it by a script element; in Node: const gt2liteModel = require("./evaluator.js").
// Names and equations are those of the Python modules named below; tests hold both to 1e-12.
var gt2liteModel = (() => { // var: a page may hold several figures, each with this script
  "use strict";

  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const max = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  const kappaOf = (alpha) => Math.sqrt(Math.abs(Math.log(alpha)) / -Math.log(ALPHA_0));
  const sigmoid = (raw) => 1 / (1 + Math.exp(-raw));

  const ALPHA_0 = 0.01; // the envelope of training
  const FLOOR = 0.05; // smallest relative width of a margin
  const TINY = 2 ** -1022; // smallest normal number
  const LOWEST_LOG = -1e300; // keeps differences of logarithms finite

  // ------------------------------------------------------------------ type reduction (reduction.py)

  // The weights that minimise the mean of `y`: the smallest consequents take the upper firing, the
  // others the lower one. All switch points are tried, by sums of terms of one sign.
  const lowerWeights = (lower, upper, y) => {
    const order = y.map((_, p) => p).sort((a, b) => y[a] - y[b]);
    const P = order.length;
    const after = [new Array(P + 1).fill(0), new Array(P + 1).fill(0)]; // of the lower firings
    for (let j = P - 1; j >= 0; j--) {
      const p = order[j];
      after[0][j] = after[0][j + 1] + lower[p];
      after[1][j] = after[1][j + 1] + lower[p] * y[p];
    }
    let [weight, moment, best, last] = [0, 0, Infinity, 0];
    for (let j = 0; j < P; j++) {
      const p = order[j];
      weight += upper[p];
      moment += upper[p] * y[p];
      const total = weight + after[0][j + 1];
      const mean = (moment + after[1][j + 1]) / total;
      if (total > 0 && mean < best) [best, last] = [mean, j];
    }
    const weights = new Array(P);
    order.forEach((p, j) => (weights[p] = j <= last ? upper[p] : lower[p]));
    return { mean: best, weights };
  };

  const typeReduce = (lower, upper, y) => [
    lowerWeights(lower, upper, y).mean,
    -lowerWeights(lower, upper, y.map((v) => -v)).mean,
  ];

  // ----------------------------------------------------------- one system (memberships.py, system.py)

  const makeSystem = ({ params, inputs }) => {
    const { c, a, a0 } = params;
    const [P, M] = [c.length, c[0].length];
    const share = (raw) => c[0].map((_, m) => sigmoid(raw[raw.length > 1 ? m : 0]));
    const [sL, sR] = [share(params.raw_l), share(params.raw_r)];
    const widest = 1 / Math.max(max(sL), max(sR), TINY);
    const alphaMin = Math.min(Math.max(ALPHA_0 ** (((1 - 2 ** -26) * widest) ** 2), TINY), ALPHA_0);

    // Everything at scaled inputs `x` that the planes share; then `ends(kappa)` and `weights(kappa)`.
    const at = (x) => {
      const y = a.map((slopes, p) => a0[p] + sum(slopes.map((slope, m) => slope * x[m])));
      const logMu = c.map((centres, p) =>
        centres.map((centre, m) => -(((x[m] - centre) / params.raw_sigma[p][m]) ** 2) / (2 * M)));
      const logF = logMu.map((row) => Math.max(sum(row), LOWEST_LOG));

      const firings = (kappa) => {
        let [logLower, logUpper] = [logF, logF];
        if (kappa > 0) {
          const room = (s) => Math.max(1 - kappa * s, 2 ** -53);
          const below = sum(sL.map((s) => Math.log(room(s))));
          const above = sR.map((s) => [Math.log(room(s)), Math.log(kappa * s)]);
          logLower = logF.map((log) => log + below);
          logUpper = logMu.map((row) => Math.max(LOWEST_LOG, sum(row.map((log, m) => {
            const [u, v] = [log + above[m][0], above[m][1]]; // mu (1 - t) and t
            return u === v ? u + Math.LN2 : Math.max(u, v) + Math.log1p(Math.exp(-Math.abs(u - v)));
          }))));
        }
        const top = max(logUpper); // a common factor does not matter
        return [logLower, logUpper].map((logs) => logs.map((log) => Math.exp(log - top)));
      };
      const middle = typeReduce(...firings(0), y)[0]; // type 1: contained in all planes
      const ends = (kappa) => {
        const [low, high] = kappa > 0 ? typeReduce(...firings(kappa), y) : [middle, middle];
        return [Math.min(low, middle), Math.max(high, middle)];
      };
      const weights = (kappa) => {
        const [lower, upper] = firings(kappa);
        const both = [y, y.map((v) => -v)].map((values) => lowerWeights(lower, upper, values).weights);
        const totals = both.map(sum);
        return y.map((_, p) => (both[0][p] / totals[0] + both[1][p] / totals[1]) / 2);
      };
      return { ends, weights };
    };
    return { at, alphaMin, inputs, P };
  };

  // ---------------------------------------------------------------------------- ranks (selection.py)

  const interpolate = (x, places, values) => { // as numpy.interp
    const last = places.length - 1;
    if (x >= places[last]) return values[last];
    if (x < places[0]) return values[0];
    let [low, high] = [0, last];
    while (high - low > 1) {
      const j = (low + high) >> 1;
      if (places[j] <= x) low = j;
      else high = j;
    }
    const slope = (values[low + 1] - values[low]) / (places[low + 1] - places[low]);
    return slope * (x - places[low]) + values[low];
  };

  const makeRanks = (knots) => {
    const grid = knots.map((_, i) => i / (knots.length - 1));
    const columns = knots[0].map((_, m) => knots.map((row) => row[m]));
    const mirrored = columns.map((column) => column.map((v) => -v).reverse());
    return (x) => x.map((value, m) => {
      if (columns[m][0] === columns[m][grid.length - 1]) return 0;
      const low = interpolate(value, columns[m], grid);
      const high = 1 - interpolate(-value, mirrored[m], grid);
      return ((low + high) / 2 - 0.5) / Math.sqrt(1 / 12);
    });
  };

  // -------------------------------------------------------------------- calibration (calibration.py)

  // The fraction that a level stands for: 7/100 for 0.07 (Fraction.limit_denominator in Python).
  const fraction = (value) => {
    const most = 10n ** 8n;
    let [n, d] = [value, 1n];
    for (; n % 1; n *= 2) d *= 2n;
    n = BigInt(n);
    if (d <= most) return [n, d];
    let [p0, q0, p1, q1, a, b] = [0n, 1n, 1n, 0n, n, d];
    for (;;) {
      const k = a / b;
      if (q0 + k * q1 > most) break;
      [p0, q0, p1, q1, a, b] = [p1, q1, p0 + k * p1, q0 + k * q1, b, a - k * b];
    }
    const k = (most - q0) / q1;
    const [p, q] = 2n * b * (q0 + k * q1) <= d ? [p1, q1] : [p0 + k * p1, q0 + k * q1];
    return value < 1 && (p === 0n || p === q) ? [n, d] : [p, q];
  };

  // n (1 - tail (1 - level)), rounded up in exact arithmetic
  const rank = (level, n, tail = 1) => {
    const [[p, q], [s, t]] = [fraction(level), fraction(tail)];
    const [numerator, denominator] = [BigInt(n) * (t * q - s * (q - p)), t * q];
    return Number((numerator + denominator - 1n) / denominator);
  };

  const makeCalibration = ({ state: { kind, options, labels }, arrays }) => {
    if (!["exact", "conformal", "two-sided", "group"].includes(kind)) {
      throw new Error(`calibration by "${kind}" needs Python: calibrate by "conformal" or "exact"`);
    }
    const method = options.method ?? kind;
    const each = kind === "two-sided" || options.sides === "each";
    const all = arrays.critical_alpha.map((alpha, i) =>
      ({ alpha, margin: arrays.margin[i], side: arrays.side[i], group: labels?.[arrays.group[i]] }));
    const sorted = new Map();
    const ordered = (group, side) => {
      const key = JSON.stringify([group, side]);
      if (!sorted.has(key)) {
        const rows = all.filter((row) => group === undefined || row.group === group)
          .map((row) => (side && row.side !== side ? { alpha: 1, margin: 0 } : row));
        sorted.set(key, rows.sort((a, b) => b.alpha - a.alpha || a.margin - b.margin));
      }
      return sorted.get(key);
    };
    const cut = (level, group, side, tail) => {
      if (tail === 0) return { alpha: 0, margin: Infinity };
      const scores = ordered(group, side);
      const k = rank(level, scores.length + (method === "conformal" ? 1 : 0), tail);
      if (k > scores.length) throw new RangeError(`level ${level} is out of reach`);
      return scores[k - 1];
    };
    // Where lower and upper bound are cut for a level: a plane, 0 for the lowest, and a margin.
    const cuts = (level, group) => {
      if (!(level > 0 && level < 1)) throw new RangeError(`level must lie in (0, 1), got ${level}`);
      if (labels && !labels.includes(group)) {
        throw new RangeError(`group must be one of ${labels.join(", ")}, got ${group}`);
      }
      const find = (chosen) => (each
        ? [cut(level, chosen, -1, options.tails[0]), cut(level, chosen, 1, options.tails[1])]
        : new Array(2).fill(cut(level, chosen, 0, 1)));
      try {
        return find(labels ? group : undefined);
      } catch (error) {
        if (options.small_groups !== "pool") throw error;
        return find(undefined);
      }
    };
    return { cuts };
  };

  // ------------------------------------------------------------------------- columns (columns.py)

  const YES = ["yes", "true", "ja", "oui", "si", "sí", "y", "t", "j", "wahr", "vrai", "1"];
  const NO = ["no", "false", "nein", "non", "n", "f", "falsch", "faux", "0"];
  const asText = (value) => (value === null || value === undefined || Number.isNaN(value) ? "" : String(value).trim());
  const withoutUnit = (text, unit) => {
    if (text.startsWith(unit)) return text.slice(unit.length).trim();
    if (text.endsWith(unit)) return text.slice(0, -unit.length).trim();
    return unit === "%" ? "" : text;
  };
  const asNumber = (value, unit) => {
    const text = unit && typeof value !== "number" ? withoutUnit(asText(value), unit) : asText(value);
    const found = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text) ? Number(text) : NaN;
    return Number.isFinite(found) ? found : null;
  };
  const PARTS = { "%Y": "(?<Y>\\d{4})", "%m": "(?<m>\\d\\d?)", "%d": "(?<d>\\d\\d?)", "%H": "(?<H>\\d\\d?)", "%M": "(?<M>\\d\\d?)", "%S": "(?<S>\\d\\d?)" };
  const ISO = "%Y-%m(?:-%d)?(?:[T ]%H(?::%M(?::%S(?:\\.\\d+)?)?)?)?";
  const asDate = (value, format) => { // in days since 1970; a number is that already
    if (typeof value === "number") return value;
    const pattern = (format ? format.replace(/[.]/g, "\\.") : ISO).replace(/%[YmdHMS]/g, (code) => PARTS[code]);
    const found = asText(value).match(new RegExp(`^${pattern}$`));
    if (!found) return null;
    const { Y, m, d = 1, H = 0, M = 0, S = 0 } = found.groups;
    const date = new Date(Date.UTC(Y, m - 1, d, H, M, S));
    const same = date.getUTCMonth() === m - 1 && date.getUTCDate() === Number(d) && H < 24 && M < 60 && S < 60;
    return same ? date.getTime() / 86400000 : null;
  };
  const datePart = {
    day: (days) => days,
    month: (days) => new Date(days * 86400000).getUTCMonth() + 1,
    weekday: (days) => (new Date(days * 86400000).getUTCDay() + 6) % 7,
    hour: (days) => new Date(days * 86400000).getUTCHours(),
  };

  const read = (column, value) => {
    const text = asText(value);
    if (column.kind === "number") return asNumber(value, column.unit);
    if (column.kind === "date") return asDate(value, column.date_format);
    if (column.kind !== "yes/no") return text || null;
    return YES.includes(text.toLowerCase()) ? 1 : NO.includes(text.toLowerCase()) ? 0 : null;
  };

  const encode = (column, value) => {
    const { kind, categories, rare, fill, flag, parts } = column;
    const found = read(column, value);
    let inputs = fill;
    if (kind === "category") {
      const coded = rare.length || categories.length > 2 ? categories : categories.slice(0, -1);
      const known = found !== null && (rare.length > 0 || categories.includes(found));
      if (known) inputs = coded.map((category) => Number(category === found));
    } else if (found !== null) inputs = kind === "date" ? parts.map((part) => datePart[part](found)) : [found];
    return flag ? [...inputs, Number(found === null)] : inputs;
  };

  const remark = (column, value) => {
    const found = read(column, value);
    if (found === null) return "filled";
    if (column.kind === "category") {
      return [...column.categories, ...column.rare].includes(found) ? "" : "unknown";
    }
    if (column.kind !== "number" && column.kind !== "date") return "";
    return found < column.low ? "below the training range" : found > column.high ? "above the training range" : "";
  };

  // ---------------------------------------------------------------------------- the model

  const open = (file) => {
    if (file.version !== 1) throw new Error(`expected a model file of version 1, got ${file.version}`);
    if (!["regressor", "table model"].includes(file.kind)) {
      throw new Error(`a model of kind "${file.kind}" needs Python; "regressor" and "table model" do not`);
    }
    const isTable = file.kind === "table model";
    const content = isTable ? file.content.regressor : file.content;
    const { scaler, planes, limits, margins, settings } = content;
    const columns = (isTable ? file.content.columns : content.columns)?.filter((column) => column.used);
    const names = columns?.map((column) => column.name)
      ?? content.features ?? scaler.x_mean.map((_, m) => `x${m}`);
    const systems = content.systems.map(makeSystem);
    const ranks = content.ranks && makeRanks(content.ranks);
    let calibration; // read when the first interval is asked for
    const lowest = margins ? TINY : max(systems.map((system) => system.alphaMin));
    const [least, most] = (isTable ? file.content.bounds : [null, null]).map((b, i) => b ?? [-Infinity, Infinity][i]);

    const toInputs = (row) => {
      const values = Array.isArray(row) ? row : names.map((name) => row[name]);
      const inputs = columns ? columns.flatMap((column, i) => encode(column, values[i])) : values.map((value) => asNumber(value));
      if (values.length !== names.length || inputs.includes(null)) {
        throw new TypeError(`a row must have a value for each of ${names.join(", ")}`);
      }
      return inputs;
    };
    const toScaled = (row) => {
      const scaled = toInputs(row).map((value, m) => (value - scaler.x_mean[m]) / scaler.x_std[m]);
      return limits ? scaled.map((z, m) => Math.min(Math.max(z, limits[0][m]), limits[1][m])) : scaled;
    };
    const toUser = (z) => {
      const value = z * scaler.y_std + scaler.y_mean; // infinite bounds stay so
      const plain = settings.target_transform === "log"
        ? (z === Infinity ? z : Math.min(Math.exp(value), Number.MAX_VALUE)) : value;
      return Math.min(Math.max(plain, least), most);
    };
    const mean = (members, evaluate) => { // over the systems, of each number that `evaluate` returns
      const found = members.map(evaluate);
      return found[0].map((_, i) => sum(found.map((values) => values[i])) / found.length);
    };

    // Prediction and nested intervals at one row; memberships are computed once.
    const at = (row) => {
      const scaled = toScaled(row);
      const ranked = ranks && ranks(scaled);
      const members = systems.map((system) => system.at(system.inputs === "ranks" ? ranked : scaled));
      const ends = (kappa) => mean(members, (member) => member.ends(kappa));
      const shares = planes.map((alpha) => alpha / (2 * sum(planes)));
      const output = () => sum(planes.map((alpha, k) => shares[k] * sum(ends(kappaOf(alpha)))));
      const family = () => {
        if (!margins) return ends;
        const centre = output();
        const [low, high] = margins.power === 0 ? [0, margins.usual] : ends(1);
        const half = (Math.max((high - low) / margins.usual, FLOOR) ** margins.power * margins.usual) / 2;
        return (kappa) => [centre - kappa * half, centre + kappa * half];
      };
      const weights = (system = 0) => {
        const byPlane = planes.map((alpha) => members[system].weights(kappaOf(alpha)));
        return byPlane[0].map((_, p) => sum(byPlane.map((found, k) => 2 * shares[k] * found[p])));
      };
      return { ends, family, output, weights };
    };

    const byRule = content.rule_groups; // the group of a row is then its leading rule
    const ruleGroup = (weights) => {
      const rule = weights.indexOf(Math.max(...weights)) + 1;
      return byRule.own.includes(rule) ? rule : "other rules";
    };

    return {
      names,
      columns,
      groups: byRule ? undefined : content.calibration?.state.labels,
      inputs: toInputs, // the numbers that a row becomes
      predict: (row) => toUser(at(row).output()),
      planes: (row) => { // the trained intervals as a function of kappa in [0, 1], not calibrated
        const { ends } = at(row);
        return (kappa) => ends(kappa).map(toUser);
      },
      interval: (row, level, group) => {
        if (!content.calibration) throw new Error("this model is not calibrated");
        calibration ??= makeCalibration(content.calibration);
        const here = at(row);
        const cuts = calibration.cuts(level, byRule ? ruleGroup(here.weights(byRule.system)) : group);
        const family = here.family();
        return cuts.map(({ alpha, margin }, i) =>
          toUser(family(kappaOf(alpha > 0 ? alpha : lowest))[i] + (i ? margin : -margin)));
      },
      weights: (row, system = 0) => at(row).weights(system),
      unusual: (row) => Object.fromEntries((columns ?? [])
        .map((column, i) => [column.name, remark(column, Array.isArray(row) ? row[i] : row[column.name])])
        .filter(([, words]) => words)),
    };
  };

  return Object.assign(open, { typeReduce, rank });
})();
if (typeof module !== "undefined") module.exports = gt2liteModel;
