// Predictions and intervals of a gt2lite model file, without Python: no dependency, no request.
//
//   const model = gt2liteModel(JSON.parse(text));     // a file of GT2Regressor.save, or of a report
//   const row = { AT: 15, V: 41, AP: 1013, RH: 70 };  // or [15, 41, 1013, 70]
//   model.predict(row);                               // a number
//   model.interval(row, 0.9);                         // [lower, upper]; a third argument: the group
//   model.interval(row, [0.5, 0.9]);                  // [[lower, upper], ...], nested
//   model.weights(row);                               // the share of each rule in the prediction
//   model.unusual(row);                               // { name: "above the training range", ... }
//
// A file that contradicts itself is refused by a FileFormatError, as in Python. What is not used here
// is not read: hashes of rows, candidates, histories,
// settings of training, calibrations by table, search and weights.
//
// In a page load it by a script element; in Node: const gt2liteModel = require("./evaluator.js").
// Names and equations are those of the Python modules named below; tests hold both to 1e-12.
var gt2liteModel = (() => { // var: a page may hold several figures, each with this script
  "use strict";

  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const max = (values) => values.reduce((a, b) => Math.max(a, b), -Infinity);
  const kappaOf = (alpha) => Math.sqrt(Math.abs(Math.log(alpha)) / -Math.log(ALPHA_0));
  // as accurate as 1 + tanh in Python: 0 below some -37, where a share no longer counts
  const sigmoid = (raw) => Math.round(2 ** 54 / (1 + Math.exp(-raw))) / 2 ** 54;

  const ALPHA_0 = 0.01; // the envelope of training
  const FLOOR = 0.05; // smallest relative width of a margin
  const TINY = 2 ** -1022; // smallest normal number
  const LOWEST_LOG = -1e300; // keeps differences of logarithms finite
  const FARTHEST = 1e150; // standard deviations beyond which nothing is computed

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

  const NEED_PYTHON = ["table", "search", "weighted"];
  const makeCalibration = ({ state: { kind, options, labels }, arrays }) => {
    if (NEED_PYTHON.includes(kind)) {
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
    // Where lower and upper bound are cut for each level: a plane, 0 for the lowest, and a margin.
    const cuts = (levels, group) => {
      const wrong = levels.find((level) => !(level > 0 && level < 1));
      if (wrong !== undefined) throw new RangeError(`level must lie in (0, 1), got ${wrong}`);
      if (labels && !labels.includes(group)) {
        throw new RangeError(`group must be one of ${labels.join(", ")}, got ${group}`);
      }
      const find = (chosen) => levels.map((level) => (each
        ? [cut(level, chosen, -1, options.tails[0]), cut(level, chosen, 1, options.tails[1])]
        : new Array(2).fill(cut(level, chosen, 0, 1))));
      try {
        return find(labels ? group : undefined);
      } catch (error) {
        if (options.small_groups !== "pool") throw error;
        return find(undefined); // all levels: intervals are nested
      }
    };
    return { cuts };
  };

  // ------------------------------------------------------------------------- columns (columns.py)

  const YES = ["yes", "true", "ja", "oui", "si", "sí", "y", "t", "j", "wahr", "vrai", "1"];
  const NO = ["no", "false", "nein", "non", "n", "f", "falsch", "faux", "0"];
  const SPACE = "[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+"; // str.strip
  const AROUND = new RegExp(`^${SPACE}|${SPACE}$`, "g");
  const strip = (text) => text.replace(AROUND, "");
  const asText = (value) => { // as str in Python: True, 100000000000000000000, 1e-05
    if (value === null || value === undefined || Number.isNaN(value)) return "";
    if (typeof value === "boolean") return value ? "True" : "False";
    if (Number.isInteger(value)) return String(BigInt(value));
    if (typeof value === "number" && Math.abs(value) < 1e-4) return value.toExponential().replace(/-(\d)$/, "-0$1");
    return strip(String(value));
  };
  const withoutUnit = (text, unit) => {
    if (text.startsWith(unit)) return strip(text.slice(unit.length));
    if (text.endsWith(unit)) return strip(text.slice(0, -unit.length));
    return unit === "%" ? "" : text;
  };
  const asNumber = (value, unit) => {
    const text = unit && typeof value !== "number" ? withoutUnit(asText(value), unit) : asText(value);
    const found = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text) ? Number(text) : NaN;
    return Number.isFinite(found) ? found : null;
  };

  // dates in text (dates.py)
  const CODES = {
    "%Y": "(?<Y>\\d{4})", "%y": "(?<y>\\d\\d)", "%m": "(?<m>1[0-2]|0?[1-9])", "%b": "(?<b>[a-zäÄ]{3,9})\\.?",
    "%d": "(?<d>3[01]|[12]\\d|0?[1-9])", "%H": "(?<H>2[0-3]|[01]?\\d)", "%I": "(?<I>1[0-2]|0?[1-9])",
    "%M": "(?<M>[0-5]?\\d)", "%S": "(?<S>[0-5]?\\d)(?:[.,]\\d+)?", "%p": "(?<p>[ap])\\.?m\\.?",
    "%z": "(?:[ \\t]*(?:z|[a-z]{3,5}|[-+](?:2[0-3]|[01]\\d)(?::?[0-5]\\d)?))?",
  };
  const TIME = "(?:(?:T|[ \\t]+)%H(?::%M(?::%S)?)?%z)?";
  const ISO = [`%Y([-/.])%m(?:\\2%d${TIME})?`, `%Y%m%d${TIME}`, "%Y%m%d(?:T|[ \\t]+)%H%M%S%z", "%Y"];
  const WEEKDAY = "(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*\\.?,?[ \\t]+)?";
  const ORDINAL = "(?:st|nd|rd|th|\\.)?";
  const MONTHS = ["january januar", "february februar", "march märz mrz", "april", "may mai", "june juni", "july juli",
    "august", "september", "october oktober", "november", "december dezember"];
  const patterns = (format) => {
    const named = format?.includes("%b");
    const spaced = format?.replace(/\./g, "\\.").replace(/ (%p)?/g, (_, half) => (half ? "[ \\t]*%p" : ",?[ \\t]+"));
    const given = format ? [`${named ? WEEKDAY : ""}${spaced}${/%[HI]/.test(format) ? "%z" : ""}`] : ISO;
    return given.map((one) => new RegExp(`^(?:${one.replace(/(?:%[YmdHMS])+|%./g, (run) => {
      const codes = run.match(/%./g).map((code) => CODES[code] + (named && code === "%d" ? ORDINAL : ""));
      return codes.length > 1 ? codes.join("").replace(/([\]0])\?/g, "$1") : codes[0];
    })})$`, "i"));
  };
  const DAYS = ["%Y-%m-%d", "%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y", "%d/%m/%y",
    "%m/%d/%y", "%d-%m-%y", "%m-%d-%y", "%d %b %Y", "%b %d %Y", "%d-%b-%Y", "%d/%b/%Y", "%d %b %y", "%d-%b-%y", "%Y-%b-%d",
    "%d%b%Y", "%b-%d-%Y", "%y-%m-%d"];
  const TIMES = ["", " %H:%M", " %H:%M:%S", "T%H:%M", "T%H:%M:%S", " %I:%M %p", " %I:%M:%S %p"];
  const COMPACT = { "%Y%m%d": 1e7, "%Y%m": 1e5 }; // the least number that is such a date, and no days since 1970
  const DATE_FORMATS = ["%Y-%m", "%b %Y", "%b-%Y", "%m/%Y", "%m.%Y", ...Object.keys(COMPACT), ...DAYS.flatMap((day) => TIMES.map((time) => day + time))];
  const known = new Map();
  const asDate = (value, format) => { // in days since 1970; a number is that already
    if (typeof value === "number" && !(value >= COMPACT[format])) return Number.isFinite(value) ? value : null;
    if (!known.has(format)) known.set(format, patterns(format));
    const text = asText(value);
    const found = known.get(format).map((pattern) => text.match(pattern)).find(Boolean);
    if (!found) return null;
    const { Y, y, m, b, d = 1, H = 0, I, M = 0, S = 0, p } = found.groups;
    const year = Y === undefined ? 1969 + (Number(y) + 31) % 100 : Number(Y);
    const month = b ? MONTHS.findIndex((names) => ` ${names}`.includes(` ${b.toLowerCase()}`)) : (m ?? 1) - 1;
    const date = new Date(0);
    date.setUTCFullYear(year, month, d);
    date.setUTCHours(p ? (I % 12) + (/p/i.test(p) ? 12 : 0) : H, M, S);
    const same = year > 0 && month >= 0 && date.getUTCMonth() === month && date.getUTCDate() === Number(d);
    return same ? date.getTime() / 86400000 : null;
  };
  const dateOf = (days) => new Date(1000 * Math.round(86400 * days));
  const datePart = {
    day: (days) => days,
    month: (days) => dateOf(days).getUTCMonth() + 1,
    weekday: (days) => (dateOf(days).getUTCDay() + 6) % 7,
    hour: (days) => dateOf(days).getUTCHours(),
  };

  const read = (column, value) => {
    const text = asText(value);
    if (column.kind === "number") return asNumber(value, column.unit);
    if (column.kind === "date") return asDate(value, column.date_format);
    if (column.kind !== "yes/no") return text || null;
    return YES.includes(text.toLowerCase()) ? 1 : NO.includes(text.toLowerCase()) ? 0 : null;
  };

  const coded = ({ categories, rare }) => (rare.length || categories.length > 2 ? categories : categories.slice(0, -1));
  const encode = (column, value) => {
    const { kind, categories, rare, fill, flag, parts } = column;
    const found = read(column, value);
    let inputs = fill;
    if (kind === "category") {
      const known = found !== null && (rare.length > 0 || categories.includes(found));
      if (known) inputs = coded(column).map((category) => Number(category === found));
    } else if (found !== null) inputs = kind === "date" ? parts.map((part) => datePart[part](found)) : [found];
    return flag ? [...inputs, Number(found === null)] : inputs;
  };

  const inputNames = (column) => {
    const { name, kind, parts, flag } = column;
    const found = kind === "category" ? coded(column).map((category) => `${name} = ${category}`)
      : kind === "date" ? parts.map((part) => `${name} (${part === "day" ? "days since 1970" : part})`) : [name];
    return flag ? [...found, `${name} is missing`] : found;
  };
  const namesOf = (columns) => { // of all inputs, each once: the second "size" is "size (2)"
    const found = [];
    for (const name of columns.filter(({ used }) => used).flatMap(inputNames)) {
      let unique = name;
      for (let i = 2; found.includes(unique); i++) unique = `${name} (${i})`;
      found.push(unique);
    }
    return found;
  };

  const remark = (column, value) => {
    const found = read(column, value);
    if (found === null) return "filled";
    if (column.kind === "category") {
      return [...column.categories, ...column.rare].includes(found) ? "" : "unknown";
    }
    if (column.kind !== "number" && column.kind !== "date") return "";
    if (found < column.low) return "below the training range";
    if (found <= column.high) return "";
    // new rows of a column that runs on, as a date does, lie there as a matter of course
    return column.rises || column.kind === "date" ? "later than the training rows" : "above the training range";
  };

  // ------------------------------------------------- checks (model_file.py, model.schema.json)

  class FileFormatError extends Error {
    get name() { return "FileFormatError"; }
  }
  const need = (holds, words) => {
    if (!holds) throw new FileFormatError(`not a readable gt2lite model: ${words}`);
  };

  // Shapes: functions of a value and its name that throw if it is something else.
  const shape = (fits, words) => (value, name) =>
    fits(value) || need(false, `${name} must be ${words}, got ${String(JSON.stringify(value)).slice(0, 40)}`);
  const number = (low = -Number.MAX_VALUE, high = Number.MAX_VALUE) =>
    shape((v) => typeof v === "number" && v >= low && v <= high, `a number from ${low} to ${high}`);
  const whole = (low, high = 1e12) => shape((v) => Number.isInteger(v) && v >= low && v <= high, `a whole number from ${low} to ${high}`);
  const oneOf = (...options) => shape((v) => options.includes(v), `one of ${options.join(", ")}`);
  const text = shape((v) => typeof v === "string", "text");
  const anything = () => {};
  const isObject = (v) => v !== null && typeof v === "object" && !Array.isArray(v);
  const orNull = (inner) => (value, name) => value === null || inner(value, name);
  const list = (item, least = 1, most = Infinity) => (value, name) => {
    need(Array.isArray(value) && value.length >= least && value.length <= most, `${name} must be a list of the right length`);
    value.forEach((one) => item(one, `an item of ${name}`));
  };
  const object = (shapes, unused = []) => (value, name) => {
    need(isObject(value), `${name} must be an object`);
    for (const key of Object.keys(value)) need(Object.hasOwn(shapes, key) || unused.includes(key), `${name} has an unknown entry, ${key}`);
    for (const key of Object.keys(shapes)) {
      need(Object.hasOwn(value, key), `${name} lacks the entry ${key}`);
      shapes[key](value[key], `${name}.${key}`);
    }
  };

  const [TERMS, PLANE, SHARE] = [list(number(-FARTHEST, FARTHEST)), number(ALPHA_0, 1), number(0, 1)];
  const BY_RULE = list(TERMS);
  const [MEAN, SPREAD] = [number(-1e300, 1e300), number(1e-300, 1e300)];
  const ROWS = (least, most) => list(list(number()), least, most);
  const SIDES = { sides: oneOf("both", "each"), tails: list(SHARE, 2, 2) };
  const METHOD = { method: oneOf("exact", "conformal") };
  const CALIBRATIONS = { // by kind: options, and arrays besides those of all
    exact: [{}, {}],
    conformal: [{}, {}],
    "two-sided": [{ ...METHOD, tails: SIDES.tails }, {}],
    group: [{ ...METHOD, ...SIDES, small_groups: oneOf("raise", "pool") }, { group: list(whole(0)) }],
  };
  const SCORES = { critical_alpha: list(SHARE), margin: list(number(0)), side: list(oneOf(-1, 0, 1)), alpha_min: list(number(TINY, ALPHA_0), 1, 1) };
  const LABEL = shape((v) => typeof v === "string" || Number.isSafeInteger(v), "text or a whole number below 2**53");
  const CALIBRATION = (value, name) => {
    object({ state: isObject, arrays: isObject })(value, name);
    const kind = value.state?.kind;
    if (NEED_PYTHON.includes(kind)) return;
    oneOf(...Object.keys(CALIBRATIONS))(kind, `${name}.state.kind`);
    const [options, arrays] = CALIBRATIONS[kind];
    object({ kind: anything, options: object(options), ...(kind === "group" && { labels: list(LABEL) }) })(value.state, `${name}.state`);
    object({ ...SCORES, ...arrays })(value.arrays, `${name}.arrays`);
  };
  const COLUMN = (value, name) => object({
    name: text, kind: oneOf("number", "yes/no", "category", "date", "text"), used: oneOf(true, false), treatment: text,
    identifier: oneOf("", "unique", "repeats"), fill: list(number(), 0), flag: oneOf(true, false), low: number(), high: number(),
    categories: list(text, 0), rare: list(text, 0), parts: list(oneOf(...Object.keys(datePart)), 0),
    date_format: oneOf(null, ...DATE_FORMATS), unit: text, rises: oneOf(true, false),
  })({ unit: "", rises: false, ...value }, name);
  const SYSTEM = object({
    params: object({ c: BY_RULE, raw_sigma: BY_RULE, raw_l: TERMS, raw_r: TERMS, a: BY_RULE, a0: TERMS }),
    inputs: oneOf("scaled", "ranks"), leads: orNull(list(whole(0))),
  }, ["recipe", "history"]);
  const REGRESSOR = object({
    settings: (value, name) => need(isObject(value) && [null, "log"].includes(value.target_transform), `${name} must have a target_transform, null or "log"`),
    features: orNull(list(text, 0)), columns: orNull(list(COLUMN, 0)),
    scaler: object({ x_mean: list(MEAN), x_std: list(SPREAD), y_mean: MEAN, y_std: SPREAD }),
    planes: list(PLANE), systems: list(SYSTEM), ranks: orNull(ROWS(2)), limits: orNull(ROWS(2, 2)),
    margins: orNull(object({ power: SHARE, usual: shape((v) => typeof v === "number" && v > 0 && v < FARTHEST, `above 0 and below ${FARTHEST}`) })),
    calibration: orNull(CALIBRATION), rule_groups: orNull(object({ system: whole(0), own: list(whole(1), 0) })),
  }, ["marks", "candidates", "sides", "seen", "reference"]);
  const TABLE_MODEL = object({
    bounds: list(orNull(number()), 2, 2), columns: list(COLUMN, 0), regressor: REGRESSOR,
  }, ["target", "levels"]);

  const rises = (rows, M) => rows.every((row, i) => row.length === M && (i === 0 || row.every((v, m) => v >= rows[i - 1][m])));
  const alike = (a, b) => a.length === b.length && a.every((v, i) => v === b[i]);

  const checkColumns = (columns, M) => {
    for (const column of columns) {
      const { name, kind, used, fill, flag, unit = "" } = column;
      const n = inputNames(column).length;
      const fits = kind !== "text" && n > 0 && n === fill.length + flag;
      need((fits || !used) && (kind === "number" || unit === ""), `invalid specification of column ${name}`);
    }
    const n = namesOf(columns).length;
    need(n === M, `columns must encode ${M} inputs, not ${n}`);
  };

  const checkScores = ({ critical_alpha, margin, side, alpha_min: [lowest] }, wanted) => {
    const Q = critical_alpha.length;
    need(margin.length === Q && side.length === Q && critical_alpha.every((alpha, i) => (
      (alpha === 0 || alpha >= lowest) && (margin[i] > 0) === (alpha === 0) && (side[i] === 0) === (alpha === 1)
    )), "critical_alpha, margin and side are not valid scores, or contradict each other");
    const [found, right] = [kappaOf(lowest), kappaOf(wanted)];
    need(Math.abs(found - right) <= 1e-8 * Math.max(found, right), `alpha_min must be that of the systems, ${wanted}`);
  };

  const codePoints = (label) => Array.from(label, (c) => c.codePointAt(0).toString(16).padStart(6, "0")).join("");
  const follows = (a, b) => (typeof a !== typeof b ? typeof a === "string"
    : typeof a === "string" ? codePoints(a) > codePoints(b) : a > b);

  const checkCalibration = ({ state: { kind, options, labels }, arrays }, lowest) => {
    if (NEED_PYTHON.includes(kind)) return;
    checkScores(arrays, lowest);
    const { group } = arrays;
    if (options.tails) {
      const [[p, q], [s, t]] = options.tails.map(fraction);
      need(p * t + s * q === q * t, "tails must add up to 1");
      need(options.sides !== "both" || options.tails[0] === 0.5, "tails must be halves if sides is both");
    }
    need(!group || (group.length === arrays.side.length && labels.every((label, i) => group.includes(i) && (i === 0 || follows(label, labels[i - 1])))
      && max(group) < labels.length), "group must hold the places of groups in labels, which rise");
  };

  const checkRuleGroups = ({ system, own }, systems, calibration) => {
    need(calibration?.state.kind === "group", "rule_groups must be null without a calibration by groups");
    const leads = systems[system]?.leads;
    need(leads, "rule_groups must be null unless rules have leads");
    const rarestFirst = leads.map((_, p) => p + 1).sort((p, q) => leads[p - 1] - leads[q - 1]);
    need(own.length <= leads.length && alike(own, rarestFirst.slice(leads.length - own.length).sort((p, q) => p - q)), "own must be the numbers of the rules that lead most often, rising");
    const known = [...own, ...(own.length < leads.length ? ["other rules"] : [])];
    need(calibration.state.labels.every((label) => known.includes(label)), "labels must be those of rule_groups");
  };

  // What entries say of each other; `alphaMin` is the lowest plane of the systems.
  const checkRegressor = (content, alphaMin) => {
    const { settings, features, columns, scaler, planes, systems, ranks, limits, margins, calibration } = content;
    const M = scaler.x_mean.length;
    need(scaler.x_std.length === M, "x_mean and x_std must have one value for each input");
    for (const { params: { c, raw_sigma, raw_l, raw_r, a, a0 }, leads, recipe } of systems) {
      const P = c.length;
      const fits = [c, raw_sigma, a].every((rows) => rows.length === P && rows.every((row) => row.length === M));
      need(fits && a0.length === P && [1, M].includes(raw_l.length) && raw_r.length === raw_l.length, "params do not have the shapes of a system");
      need(raw_sigma.flat().every((v) => Math.abs(v) > TINY), "raw_sigma must not be 0");
      need(leads === null || (leads.length === P && max(leads) > 0), "leads must count the training rows of each rule");
      need(recipe === undefined || (isObject(recipe) && (recipe.alphas === null || Array.isArray(recipe.alphas))), "recipe must have planes, or null for the usual ones");
      // those of the objective "aligned" are not computed here
      const given = recipe?.alphas ?? (recipe?.objective === "dual" ? [ALPHA_0, 0.5, 1] : planes);
      need(!recipe || (recipe.n_rules === P && raw_l.length === (recipe.smf === "scalar" ? 1 : M)), "params do not have the shapes of the recipe");
      need(alike([...new Set(given)].sort((p, q) => p - q), planes), "planes must be those of every system");
    }
    need(planes[0] === ALPHA_0 && planes.every((alpha, k) => k === 0 || alpha > planes[k - 1]), `planes must rise from ${ALPHA_0}`);
    need((ranks !== null) === systems.some(({ inputs }) => inputs === "ranks"), 'ranks belong to systems with inputs "ranks"');
    need((ranks === null || rises(ranks, M)) && (limits === null || rises(limits, M)), `ranks and limits must be rising values of ${M} inputs`);
    need((settings.clip_inputs ?? limits !== null) === (limits !== null), "limits must be null exactly if clip_inputs is false");
    if (columns) checkColumns(columns, M);
    const names = columns?.map(({ name }) => name);
    need(!features || (names ? alike(features, names) : features.length === M), "columns and features must name the same columns");
    need(calibration || !content.reference, "reference must be null without a calibration");
    if (calibration) checkCalibration(calibration, margins ? TINY : alphaMin);
    if (content.rule_groups) checkRuleGroups(content.rule_groups, systems, calibration);
  };

  // ---------------------------------------------------------------------------- the model

  const open = (file) => {
    if (file.version !== 1) throw new Error(`expected a model file of version 1, got ${file.version}`);
    if (!["regressor", "table model"].includes(file.kind)) {
      throw new Error(`a model of kind "${file.kind}" needs Python; "regressor" and "table model" do not`);
    }
    const isTable = file.kind === "table model";
    (isTable ? TABLE_MODEL : REGRESSOR)(file.content, "content");
    const content = isTable ? file.content.regressor : file.content;
    const { scaler, planes, limits, margins, settings } = content;
    const systems = content.systems.map(makeSystem);
    const alphaMin = max(systems.map((system) => system.alphaMin));
    checkRegressor(content, alphaMin);
    const allColumns = isTable ? file.content.columns : content.columns;
    const columns = allColumns?.filter((column) => column.used);
    const names = columns?.map((column) => column.name)
      ?? content.features ?? scaler.x_mean.map((_, m) => `x${m}`);
    const ranks = content.ranks && makeRanks(content.ranks);
    let calibration; // read when the first interval is asked for
    const lowest = margins ? TINY : alphaMin;
    const [least, most] = (isTable ? file.content.bounds : [null, null]).map((b, i) => b ?? [-Infinity, Infinity][i]);
    if (isTable) {
      checkColumns(allColumns, scaler.x_mean.length);
      need(!content.columns && alike(content.features ?? [], namesOf(columns)), "columns must encode the features of the regressor");
      need(content.calibration, "the regressor of a table model must be calibrated");
      need(least < most, "bounds must rise");
    }

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
      const far = scaled.findIndex((z) => !(Math.abs(z) <= FARTHEST));
      if (far >= 0) throw new RangeError(`input ${far} is more than ${FARTHEST} standard deviations away from the training data`);
      return clip(scaled);
    };
    const clip = (scaled) => (limits
      ? scaled.map((z, m) => Math.min(Math.max(z, limits[0][m]), limits[1][m])) : scaled);
    const toUser = (z, mayBeOpen = false) => {
      const value = z * scaler.y_std + scaler.y_mean; // infinite bounds stay so
      if (!Number.isFinite(value) && !(mayBeOpen && Math.abs(z) === Infinity)) {
        throw new RangeError("a prediction overflows: the target is too large");
      }
      const plain = settings.target_transform === "log"
        ? (z === Infinity ? z : Math.min(Math.exp(value), Number.MAX_VALUE)) : value;
      return Math.min(Math.max(plain, least), most);
    };
    const mean = (members, evaluate) => { // over the systems, of each number that `evaluate` returns
      const found = members.map(evaluate);
      return found[0].map((_, i) => sum(found.map((values) => values[i])) / found.length);
    };

    // Prediction and nested intervals at one row; memberships are computed once.
    const at = (row) => atScaled(toScaled(row));
    const atScaled = (scaled) => {
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

    const middle = atScaled(clip(scaler.x_mean.map(() => 0)));
    need([middle.output(), ...middle.family()(1)].every((z) => Number.isFinite(z * scaler.y_std + scaler.y_mean)),
      "predictions are not finite at the mean of the training rows");

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
        return (kappa) => ends(kappa).map((z) => toUser(z));
      },
      interval: (row, level, group) => {
        if (!content.calibration) throw new Error("this model is not calibrated");
        calibration ??= makeCalibration(content.calibration);
        const here = at(row);
        const own = byRule ? ruleGroup(here.weights(byRule.system)) : group;
        const family = here.family();
        const found = calibration.cuts([level].flat(), own).map((cuts) => cuts.map(({ alpha, margin }, i) =>
          toUser(family(kappaOf(alpha > 0 ? alpha : lowest))[i] + (i ? margin : -margin), true)));
        return Array.isArray(level) ? found : found[0];
      },
      weights: (row, system = 0) => at(row).weights(system),
      unusual: (row) => Object.fromEntries((columns ?? [])
        .map((column, i) => [column.name, remark(column, Array.isArray(row) ? row[i] : row[column.name])])
        .filter(([, words]) => words)),
    };
  };

  return Object.assign(open, { typeReduce, rank, asDate });
})();
if (typeof module !== "undefined") module.exports = gt2liteModel;
