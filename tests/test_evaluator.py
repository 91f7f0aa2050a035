"""The JavaScript evaluator computes what the library does, in the browser and in Node."""

from __future__ import annotations

import json
import subprocess
import warnings
from pathlib import Path

import numpy as np
import pytest
from javascript import NODE, run_in, run_in_node, skip_without
from planted_system import make

from gt2lite import GT2Regressor

pd = pytest.importorskip("pandas", reason="needs the extra `report`")

from gt2lite.practice import model_file  # noqa: E402
from gt2lite.practice.columns import Columns, specify  # noqa: E402
from gt2lite.practice.report.model import TableModel  # noqa: E402

EVALUATOR = model_file.EVALUATOR.read_text(encoding="utf-8")
ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = [path for top in ("gt2lite", "study", "tools") for path in (ROOT / top).rglob("*.js")]
ENGINES = ["node", pytest.param("chromium", marks=pytest.mark.browser)]
N_TRAIN, N_CAL, N_NEW = 150, 600, 130
LEVELS = [0.07, 0.5, 0.9, 0.99]
FAST = {"epochs": 4, "learning_rate": 0.05, "batch_size": 16, "n_rules": 6}
REGRESSORS = {
    "the paper's recipe": ({}, {}),
    "one membership": ({"alphas": (0.01, 0.4), "smf": "scalar"}, {"method": "exact"}),
    "aligned": ({"objective": "aligned", "n_rules": 40}, {"sides": "each"}),
    "ranks and margins": ({"n_systems": 3, "inputs": "ranks", "margins": 0.5}, {}),
    "constant margins": ({"margins": 0.0, "clip_inputs": True}, {"sides": "upper"}),
    "log target": ({"target_transform": "log", "n_systems": 2}, {"tails": (0.2, 0.8)}),
    "one-sided log": ({"target_transform": "log", "clip_inputs": True}, {"sides": "lower"}),
    "groups": ({"n_systems": 2}, {"groups": True, "small_groups": "pool"}),
    "sides of groups": ({}, {"groups": True, "small_groups": "pool", "sides": "each"}),
    "leading rules": ({"n_systems": 2}, {"groups": "rules", "small_groups": "pool"}),
    "beyond the planes": ({"coverage": 0.3, "epochs": 20}, {}),
    "type 1": ({}, {}),
}


def draw(n, seed, spread=1.0):
    """Rows with a repeated value, a long tail and a constant, and positive targets."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=n), rng.integers(0, 4, n), rng.lognormal(size=n)])
    X = np.column_stack([spread * X, np.full(n, 7.0)])
    y = np.exp(0.3 * X[:, 0] + 0.1 * X[:, 1]) * (1 + 0.1 * rng.random(n) * X[:, 2])
    return X, np.abs(y) + 0.1


def groups_of(X):
    return np.where(X[:, 0] < -2.2, "few", np.where(X[:, 1] > 1, "some", "most"))


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """For each model: its file, rows, their groups, the unit of the target, and what NumPy says."""
    folder, found = tmp_path_factory.mktemp("models"), {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, (settings, options) in REGRESSORS.items():
            found[name] = regressor_case(folder / "model.json", name, settings, dict(options))
        found |= table_cases(folder / "model.json")
    return found


def regressor_case(path, name, settings, options):
    X, y = draw(N_TRAIN + N_CAL, seed=0)
    if "tails" in options:
        options["sides"] = "each"
    if options.get("groups") is True:
        options["groups"] = groups_of(X[N_TRAIN:])
    reg = make(**FAST | settings).fit(X[:N_TRAIN], y[:N_TRAIN])
    reg = reg.as_type1() if name == "type 1" else reg
    reg.calibrate(X[N_TRAIN:], y[N_TRAIN:], **options)
    rows, _ = draw(N_NEW, seed=1)
    far, _ = draw(20, seed=2, spread=1e4 if "clip_inputs" in settings else 6.0)
    rows = np.concatenate([rows, far, 50 * far] if name == "type 1" else [rows, far])
    groups = groups_of(rows) if isinstance(options.get("groups"), np.ndarray) else None
    reg.save(path)
    lower, upper = reg.predict_interval(rows, LEVELS, groups=groups)
    expected = np.column_stack([reg.predict(rows), lower, upper, reg.rule_weights(rows)])
    return json.loads(path.read_text()), rows.tolist(), groups, reg.scaler_.y_std, expected


def draw_table(n, seed):
    """A table with all kinds of columns, gaps, rare and unknown values."""
    rng = np.random.default_rng(seed)
    days = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D")
    times = days + pd.to_timedelta(rng.integers(0, 24, n), unit="h")
    colours = ["red", "blue", "a b", "rare" if seed else "odd"]
    table = {
        "size": rng.normal(50, 9, n).round(2),
        "colour": rng.choice(colours, n, p=[0.5, 0.3, 0.19, 0.01]),
        "two": rng.choice(["x", "y"], n),
        "garden": rng.choice(["yes", "no"], n),
        "sold": days.strftime("%d.%m.%Y"),
        "iso": times.strftime("%Y-%m-%d %H:%M"),
    }
    frame = pd.DataFrame(table).astype({"size": object})
    for name in ("size", "colour", "garden", "sold"):
        frame.loc[rng.random(n) < 0.08, name] = None
    if seed:
        frame.loc[:3, "size"] = ["12 %", "€ 40", "n/a", " 7e1 "]
        frame.loc[:3, "two"] = ["z", " x ", None, "y"]
        frame.loc[:3, "sold"] = ["31.02.2022", "1.1.2022", "2022-01-01", "01.13.2022"]
    y = pd.to_numeric(frame["size"], "coerce").fillna(50) + 5 * (frame["colour"] == "red")
    return frame, y.to_numpy(float) + rng.normal(size=n)


def table_cases(path):
    frame, y = draw_table(N_TRAIN + N_CAL, seed=0)
    rows, _ = draw_table(N_NEW, seed=1)
    records = rows.astype(object).where(rows.notna(), None).to_dict("records")
    reg = GT2Regressor(**FAST, columns="auto", inputs="ranks").fit(frame[:N_TRAIN], y[:N_TRAIN])
    reg.calibrate(frame[N_TRAIN:], y[N_TRAIN:])
    reg.save(path)
    lower, upper = reg.predict_interval(rows, LEVELS)
    expected = np.column_stack([reg.predict(rows), lower, upper, reg.rule_weights(rows)])
    encoded = json.loads(path.read_text()), records, None, np.std(y), expected

    columns = specify(frame.assign(y=y), np.arange(N_TRAIN), "y")
    X = columns.encode(frame).inputs
    reg = GT2Regressor(**FAST, clip_inputs=True).fit(X[:N_TRAIN], y[:N_TRAIN])
    reg.calibrate(X[N_TRAIN:], y[N_TRAIN:])
    model = TableModel(reg, columns, "y", tuple(LEVELS), (45.0, 60.0))
    model.save(path)
    found = model.predict(rows).drop(columns="flags").to_numpy(float)
    expected = [found[:, :1], found[:, 1::2], found[:, 2::2]]
    expected.append(reg.rule_weights(columns.encode(rows).inputs))
    table = json.loads(path.read_text()), records, None, np.std(y), np.hstack(expected)
    return {"table model": table, "encoded columns": encoded}


EVALUATE = """(file, rows, groups, levels) => {
  const model = gt2liteModel(file);
  const shown = (v) => (Number.isFinite(v) ? v : String(v));
  return rows.map((row, i) => {
    const bounds = model.interval(row, levels, groups?.[i]);
    return [model.predict(row), ...bounds.map((b) => b[0]), ...bounds.map((b) => b[1]),
      ...model.weights(row)].map(shown);
  });
}"""


@pytest.fixture(scope="module", params=ENGINES)
def run(request):
    """Either engine; `-m "not browser"` leaves Node."""
    if request.param == "chromium":
        return run_in(request.getfixturevalue("chromium").new_page())
    return run_in_node if NODE else skip_without("Node on the PATH")


def error(run, case, script=EVALUATOR, last=0):
    """Return the largest difference from NumPy, in standard deviations of the learned target."""
    file, rows, groups, unit, expected = case
    groups = None if groups is None else groups[-last:].tolist()
    found = np.array(run(f"{script};({EVALUATE})", file, rows[-last:], groups, LEVELS), dtype=float)
    expected, n_values = expected[-last:].copy(), 1 + 2 * len(LEVELS)
    assert found.shape == expected.shape and np.isfinite(expected).mean() > 0.5
    same = found == expected  # infinite ones
    with np.errstate(invalid="ignore", divide="ignore"):
        if file["content"].get("settings", {}).get("target_transform") == "log":
            for values in (found, expected):  # the target that is learned is log(y)
                values[:, :n_values] = np.log(values[:, :n_values])
        difference = np.where(same, 0.0, np.abs(found - expected))
    difference[:, :n_values] /= unit
    return float(np.max(np.nan_to_num(difference, nan=np.inf)))


@pytest.mark.parametrize("name", [*REGRESSORS, "table model", "encoded columns"])
def test_javascript_computes_what_numpy_does(run, cases, name):
    assert error(run, cases[name]) < 1e-12


@pytest.mark.skipif(NODE is None, reason="needs Node on the PATH")
def test_node_requires_the_file(cases):
    script = f"const gt2liteModel = require({json.dumps(str(model_file.EVALUATOR))})"
    assert error(run_in_node, cases["the paper's recipe"], script) < 1e-12


@pytest.mark.skipif(NODE is None, reason="needs Node on the PATH")
@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_a_script_has_no_syntax_error(path):
    subprocess.run([NODE, "--check", path], check=True)


REFUSED = {
    "version": ("gt2liteModel({ ...file, version: 2 })", "version 1, got 2"),
    "kind": ("gt2liteModel({ ...file, kind: 'head' })", 'kind "head" needs Python'),
    "planes": (
        "open({ planes: [0.5], systems: content.systems.map(({ recipe, ...rest }) => rest) })",
        "planes must rise from 0.01",
    ),
    "level": ("model.interval(row, 1)", "level must lie in"),
    "reach": ("model.interval(row, 0.9999)", "level 0.9999 is out of reach"),
    "gap": ("model.predict([...row.slice(1), null])", "a value for each of x0, x1, x2, x3"),
    "name": ("model.predict({ x0: 1, x1: 1, x2: 1 })", "a value for each of"),
    "length": ("model.predict([1, 2, 3])", "a value for each of"),
    "calibration": (
        "open({ calibration: null, reference: null }).interval(row, 0.9)",
        "not calibrated",
    ),
    "method": ("open({ calibration: table }).interval(row, 0.9)", '"table" needs Python'),
    "weights": ("open({ calibration: weighted }).interval(row, 0.9)", '"weighted" needs Python'),
    "group": ("open({ calibration: grouped }).interval(row, 0.9, 'b')", "group must be one of a"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_bad_requests_are_refused_by_name(run, cases, what):
    call, match = REFUSED[what]
    file, rows, *_ = cases["the paper's recipe"]
    asked = f"""((file, row) => {{
      const {{ content }} = file;
      const open = (changed) => gt2liteModel({{ ...file, content: {{ ...content, ...changed }} }});
      const ones = content.calibration.arrays.side.map(() => 1);
      const arrays = {{ critical_alpha: ones, margin: ones.map(() => 0), side: ones.map(() => 0) }};
      const {{ alpha_min }} = content.calibration.arrays;
      const each = {{ sides: "both", tails: [0.5, 0.5] }};
      const options = {{ step: 0.1, interpolation: "linear" }};
      const table = {{ state: {{ kind: "table", options }},
        arrays: {{ ...arrays, alpha_min: [0.01], alpha: [0.01] }} }};
      const weighted = {{ state: {{ kind: "weighted", options: each }},
        arrays: {{ ...arrays, alpha_min, weight: ones }} }};
      const small_groups = "raise";
      const grouped = {{ state: {{ kind: "group", labels: ["a"],
        options: {{ method: "exact", ...each, small_groups }} }},
        arrays: {{ ...arrays, alpha_min, group: arrays.side }} }};
      const model = gt2liteModel(file);
      return {call};
    }})"""
    with pytest.raises(Exception, match=match):
        run(f"{EVALUATOR};{asked}", file, rows[0])


def test_what_is_unusual_about_a_row_is_what_python_flags(run, cases):
    file, rows, *_ = cases["table model"]
    far = [{**rows[5], "size": 10.0**4, "sold": "01.01.2099", "iso": f"{year}-01-01 00:00"}
           for year in (1999, 2099)]  # fmt: skip
    rows = [*rows, *far]
    asked = "(file, rows) => rows.map((row) => gt2liteModel(file).unusual(row))"
    found = run(f"{EVALUATOR};({asked})", file, rows)
    frame = pd.DataFrame(rows)
    for column in Columns.from_json(file["content"]["columns"]).columns:
        if column.name not in frame:  # the target
            continue
        _, _, flags = column.encode(frame[column.name])
        python = [flag.removeprefix(f"{column.name}: ") for flag in flags]
        kinds = [
            next((k for k in ("filled", "unknown") if flag.endswith(k)), flag) for flag in python
        ]
        later = "later than the training rows"  # one note says so in Python, for all rows
        words = [one.get(column.name, "") for one in found]
        assert [word if word != later else "" for word in words] == kinds
        assert (later in words) == (column.name in ("sold", "iso"))


SPELLINGS = json.loads(Path(__file__).with_name("date_spellings.json").read_text(encoding="utf-8"))


def test_dates_are_read_as_in_python_or_refused(run):
    asked = """(table) => table.map(([format, texts]) => texts.map((text) => {
      const days = gt2liteModel.asDate(text, format || null);
      const date = new Date(1000 * Math.round(86400 * days));
      return days === null ? null : date.toISOString().slice(0, 19);
    }))"""
    table = [[date_format, list(spellings)] for date_format, spellings in SPELLINGS.items()]
    found = run(f"{EVALUATOR};({asked})", table)
    assert found == [list(spellings.values()) for spellings in SPELLINGS.values()]


FAULTS = {  # what is replaced by what, and a model that shows it
    "the sigmoid": (
        "Math.round(2 ** 54 / (1 + Math.exp(-raw))) / 2 ** 54",
        "1 / (1 + Math.exp(-raw))",
        "type 1",
    ),
    "the room below": ("sum(sL.map((s) => Math.log(room(s))))", "0", "aligned"),
    "the room above": ("[Math.log(room(s)), Math.log(", "[0, Math.log(", "aligned"),
    "the number of inputs": ("/ (2 * M)", "/ 2", "aligned"),
    "the switch point": ("j <= last ?", "j < last ?", "aligned"),
    "the switched sums": ("after[0][j + 1];", "after[0][j];", "aligned"),
    "repeated values": ("(low + high) / 2 - 0.5", "low - 0.5", "ranks and margins"),
    "the conformal rank": ('method === "conformal" ? 1 : 0', "0", "aligned"),
    "the plain fraction": ("if (d <= most)", "if (true)", "one membership"),
    "the sides": ("row.side !== side", "row.side === side", "aligned"),
    "the margin": ("(i ? margin : -margin)", "0", "beyond the planes"),
    "the lowest plane": ("(1 - 2 ** -26) * widest", "1", "beyond the planes"),
    "the floor of widths": ("margins.usual, FLOOR", "margins.usual, 1", "ranks and margins"),
    "clipped inputs": ("(scaled) => (limits", "(scaled) => (false", "constant margins"),
    "the logarithm": ('target_transform === "log"', "target_transform === 0", "log target"),
    "the tails": ("-1, options.tails[0]", "-1, options.tails[1]", "log target"),
    "the pool": ('small_groups !== "pool"', 'small_groups !== ""', "groups"),
    "the leading rule": ("Math.max(...weights)", "Math.min(...weights)", "leading rules"),
    "the categories": ("(category === found)", "(category !== found)", "table model"),
    "the last category": ("categories.slice(0, -1)", "categories.slice(1)", "table model"),
    "the weekday": ("getUTCDay() + 6", "getUTCDay() + 5", "table model"),
    "filled gaps": ("let inputs = fill", "let inputs = fill.map(() => 0)", "table model"),
    "the bounds": ("Math.max(plain, least), most", "plain, Infinity", "table model"),
}


REFUSING = {  # those that show when the file is opened, or a level is asked for
    "the pool": "out of reach",
    "the lowest plane": "alpha_min must be that of the systems",
    "the last category": "columns must encode the features",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(run, cases, fault):
    right, wrong, name = FAULTS[fault]
    assert EVALUATOR.count(right) == 1
    script = EVALUATOR.replace(right, wrong)
    if fault in REFUSING:
        with pytest.raises(Exception, match=REFUSING[fault]):
            error(run, cases[name], script, last=100)
    else:
        assert error(run, cases[name], script, last=100) > 1e-9
