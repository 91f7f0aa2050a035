"""Mutated model files: Python and JavaScript both refuse one, or both compute the same with it.

`N_MUTANTS` of each file by default; the environment variable GT2LITE_MUTANTS sets another number.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from javascript import NODE, run_in_node
from planted_system import make

from gt2lite import GT2Regressor
from gt2lite.practice import model_file, schema
from gt2lite.practice.cv_plus import CVPlusRegressor
from gt2lite.practice.model_file import FileFormatError

pd = pytest.importorskip("pandas", reason="needs the extra `report`")

from gt2lite.practice.columns import specify  # noqa: E402
from gt2lite.practice.report import model as report_model  # noqa: E402

N_MUTANTS = int(os.environ.get("GT2LITE_MUTANTS", "40"))
LEVELS = [0.3, 0.7, 0.8]
SMALL = {"n_rules": 2, "epochs": 2, "learning_rate": 0.1, "batch_size": 8}
REGRESSORS = {  # settings, and options of the calibration
    "not calibrated": ({}, None),
    "search": ({}, {"method": "search"}),
    "table": ({"smf": "scalar"}, {"method": "table"}),
    "exact": ({"alphas": [0.01, 0.4]}, {"method": "exact"}),
    "conformal": ({"n_systems": 2}, {}),
    "sides": ({"objective": "aligned"}, {"sides": "each"}),
    "tails": ({"target_transform": "log"}, {"sides": "each", "tails": (0.2, 0.8)}),
    "margins": ({"margins": 0.5, "inputs": "ranks"}, {"sides": "upper"}),
    "constant margins": ({"margins": 0.0, "clip_inputs": True}, {}),
    "groups": ({}, {"groups": True, "small_groups": "pool"}),
    "sides of groups": ({"margins": 1.0}, {"groups": True, "sides": "each", "method": "exact"}),
    "rules": ({"n_systems": 2}, {"groups": "rules", "min_rows": 1, "small_groups": "pool"}),
    "weights": ({}, {"sample_weight": np.linspace(0.5, 1, 24)}),
}
NEED_PYTHON = ("search", "table", "weights")
UNUSED = {"marks", "candidates", "sides", "seen", "reference", "history", "recipe", "settings"} | {
    *("levels", "target"),
}
"""Entries that `evaluator.js` does not read; "settings" but for the transform and the clipping."""


def draw():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(44, 2)).round(3)
    return X, np.exp(1 + X[:, 0] / 4 + 0.2 * rng.normal(size=44)).round(3)


def labels_of(X):
    return np.where(X[:, 0] < -0.8, "few", "most")


def regressor(settings, options):
    X, y = draw()
    reg = make(**SMALL | settings).fit(X[:20], y[:20])
    if options is not None:
        groups = labels_of(X[20:]) if options.get("groups") is True else options.get("groups")
        reg.calibrate(X[20:], y[20:], **options | {"groups": groups})
    return "regressor", model_file.pack_regressor(reg)


def frame_of_all_kinds():
    X, y = draw()
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(X, columns=["a", "b"])
    frame["colour"] = rng.choice(["red", "blue", "green"], 44)
    frame["yes"] = rng.choice(["yes", "no"], 44)
    frame["day"] = (
        pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 500, 44), "D")
    ).strftime("%d.%m.%Y")
    frame["weight"] = [f"{kg} kg" for kg in rng.integers(20, 90, 44)]
    frame.loc[:4, "colour"] = None
    return frame, y


def encoded():
    frame, y = frame_of_all_kinds()
    reg = make(**SMALL, columns="auto").fit(frame[:20], y[:20])
    return "regressor", model_file.pack_regressor(reg.calibrate(frame[20:], y[20:]))


def table_model():
    frame, y = frame_of_all_kinds()
    columns = specify(frame.assign(y=y), np.arange(20), "y")
    X = columns.encode(frame).inputs
    reg = make(**SMALL, clip_inputs=True).fit(X[:20], y[:20]).calibrate(X[20:], y[20:])
    model = report_model.TableModel(reg, columns, "y", (0.7,), (0.0, 9.0))
    return "table model", model.content()


def cv_plus():
    X, y = draw()
    reg = CVPlusRegressor(make(**SMALL), n_folds=2).fit(X[:31], y[:31])
    folds = [
        {"regressor": model_file.pack_regressor(one), "scores": scores.arrays()}
        for one, scores in zip(reg.systems_, reg.scores_, strict=True)
    ]
    return "cv plus", {"random_state": 0, "fold": reg.fold_, "folds": folds}


FILES = {name: partial(regressor, *how) for name, how in REGRESSORS.items()}
FILES |= {"encoded": encoded, "table model": table_model, "cv plus": cv_plus}


# ------------------------------------------------------------------ mutations

NUMBERS = [0, 1, -1, 2, 0.5, 0.01, 3.7, 1e-310, 1e-300, 1e150, 1e300, 1.7e308, 2**53]
OTHERS = [None, True, False, "", "x", "1", "log", "each", "conformal", [], {}, [0.0], [[1.0]]]


def change_number(value, rng):
    near = [value * 2, -value, value + 1, value / 2, value * (1 + 1e-6), value + 0.5]
    new = [*near, *NUMBERS, *NUMBERS][rng.integers(6 + 2 * len(NUMBERS))]
    is_whole = isinstance(value, int) and float(new).is_integer()
    return int(new) if is_whole else new  # 1.0 and 1 are the same in JSON


def change_list(value, rng):
    i, j = rng.integers(len(value), size=2) if value else (0, 0)
    return [
        lambda: value[1:],
        lambda: value[:-1],
        lambda: [*value, value[-1]] if value else [0.0],
        lambda: value[::-1],
        lambda: [value[i]] * len(value) if value else [],
        lambda: [*value[:i], value[j], *value[i + 1 :]] if value else [],
        lambda: dict(enumerate(value)),
    ][rng.integers(7)]()


def change_object(value, rng):
    key = str(rng.choice(list(value))) if value else "zz"
    rest = {k: v for k, v in value.items() if k != key}
    changes = [(rest, key), (rest | {"zz": value.get(key)}, key), (value | {"zz": 1}, "zz")]
    return changes[rng.integers(3)]


def mutate(value, rng, path=()):
    """Return a value with one change, and the path of the change."""
    inner = isinstance(value, (dict, list)) and len(value) > 0
    if inner and rng.random() < 0.93:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        key = keys[rng.integers(len(keys))]
        found, where = mutate(value[key], rng, (*path, key))
        new = copy.copy(value)
        new[key] = found
        return new, where
    if path and rng.random() < 0.15:
        return OTHERS[rng.integers(len(OTHERS))], path
    if isinstance(value, dict):
        found, key = change_object(value, rng)
        return found, (*path, key)
    if isinstance(value, list):
        return change_list(value, rng), path
    if isinstance(value, bool):
        return not value, path
    if isinstance(value, (int, float)):
        return change_number(value, rng), path
    return [*OTHERS, 0, 1][rng.integers(len(OTHERS) + 2)], path


# ------------------------------------------------------------------ both languages

FAR = np.array([[0.3, -0.2], [-1.5, 2.0], [6.0, -40.0], [300.0, 0.0]])
LOAD = {
    "regressor": GT2Regressor.load,
    "table model": report_model.load,
    "cv plus": CVPlusRegressor.load,
}


def rows_of(name):
    if name not in ("encoded", "table model"):
        return FAR
    frame = frame_of_all_kinds()[0][:4]
    frame.loc[1, ["a", "day"]] = [80.0, "1.1.1999"]
    frame.loc[2, ["colour", "yes", "weight"]] = ["violet", None, "12"]
    return frame


def labels_for(rows):
    return labels_of(rows).tolist() if isinstance(rows, np.ndarray) else [None] * len(rows)


def answers(model, rows):
    """Return prediction and bounds (N, 1 + 2 L) of a loaded model, or the error that it raises."""
    try:
        if isinstance(model, report_model.TableModel):
            return model.predict(rows, LEVELS).drop(columns="flags").to_numpy(float)
        found = [np.asarray(model.predict(rows))[:, None]]
        kind = model.calibrator_.kind if hasattr(model, "calibrator_") else "none"
        if kind in RANKED or isinstance(model, CVPlusRegressor):
            by_name = kind == "group" and not hasattr(model, "rule_groups_")
            named = {"groups": labels_for(rows)} if by_name else {}
            bounds = model.predict_interval(rows, LEVELS, **named)
            found.append(np.stack(bounds, axis=2).reshape(len(rows), -1))
        return np.hstack(found)
    except Exception as error:
        return repr(error)


RANKED = ("exact", "conformal", "two-sided", "group")
ANSWERS = """(base, mutants, rows, groups, levels, known) => mutants.map((content) => {
  let model;
  try {
    model = gt2liteModel({ ...base, content });
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
  const isRanked = known.includes((content.regressor ?? content).calibration?.state.kind);
  try {
    return rows.map((row, i) => {
      const bounds = isRanked ? model.interval(row, levels, groups[i]).flat() : [];
      return [model.predict(row), ...bounds].map((v) => (Number.isFinite(v) ? v : String(v)));
    });
  } catch (error) {
    return `in use: ${error}`;
  }
})"""


def in_python(path, kind, content, rows):
    try:
        path.write_bytes(model_file.encode(kind, content))
        model = LOAD[kind](path)
    except FileFormatError as error:
        return f"FileFormatError: {error}"
    return answers(model, rows)


def in_javascript(kind, contents, rows):
    base = {"version": 1, "kind": kind}
    if isinstance(rows, np.ndarray):
        table = rows.tolist()
    else:
        table = rows.astype(object).where(rows.notna(), None).to_dict("records")
    script = model_file.EVALUATOR.read_text(encoding="utf-8")
    given = base, contents, table, labels_for(rows), LEVELS, RANKED
    found = run_in_node(f"{script};({ANSWERS})", *given)
    return [one if isinstance(one, str) else np.array(one, dtype=float) for one in found]


def size_of(content):
    """Return how large numbers of a model are, in units of what it learned."""
    scaler, systems = content["scaler"], content["systems"]
    largest = max(np.abs(one["params"][name]).max() for one in systems for name in ("a", "a0"))
    margins = content["margins"]["usual"] if content["margins"] else 0
    errors = content["calibration"]["arrays"]["margin"] if content["calibration"] else [0]
    far = np.max((1e3 + np.abs(scaler["x_mean"])) / scaler["x_std"])
    size = largest * (1 + far) + margins + max(errors)
    return abs(scaler["y_mean"]) + scaler["y_std"] * size


def verdict(python, javascript, content, is_unused, before):
    """Return "refused", "same", or what is wrong with the answers of both to a mutant."""
    refused = [
        isinstance(one, str) and one.startswith("FileFormat") for one in (python, javascript)
    ]
    if all(refused):
        return "refused"
    if refused[0] and is_unused and not isinstance(javascript, str):
        return "not read" if np.array_equal(javascript, before) else "wrong: read after all"
    if (
        "planes must be those of every system" in str(python)
        and content["systems"][0]["recipe"]["objective"] == "aligned"
    ):
        return "not computed"  # the planes of this objective need quantiles of the normal law
    if any(refused):
        return f"wrong: {'Python' if refused[0] else 'JavaScript'} alone refuses it"
    if isinstance(python, str) or isinstance(javascript, str):
        both = isinstance(python, str) and isinstance(javascript, str)
        return "error in use" if both else "wrong: an error in one language"
    regressor = content.get("regressor", content)
    with np.errstate(all="ignore"):
        if regressor["settings"]["target_transform"] == "log":
            python, javascript = np.log(python), np.log(javascript)
        near = np.abs(python - javascript) <= 1e-9 * size_of(regressor)
    return "same" if ((python == javascript) | near).all() else "wrong: other numbers"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The content of each file as JSON."""
    path, found = tmp_path_factory.mktemp("files") / "model.json", {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, pack in FILES.items():
            kind, content = pack()
            model_file.write(path, kind, content)
            found[name] = kind, model_file.read(path, kind)
    return found


@pytest.mark.skipif(NODE is None, reason="needs Node on the PATH")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in FILES if name != "cv plus"])
def test_a_mutant_is_refused_by_both_languages_or_means_the_same_in_both(files, tmp_path, name):
    kind, content = files[name]
    rng, rows = np.random.default_rng(sum(map(ord, name))), rows_of(name)
    mutants, paths = zip(*(mutate(content, rng) for _ in range(N_MUTANTS)), strict=True)
    path = tmp_path / "model.json"
    python = [in_python(path, kind, one, rows) for one in (content, *mutants)]
    before, *javascript = in_javascript(kind, [content, *mutants], rows)
    assert verdict(python[0], before, content, False, before) == "same"
    counts, wrong = {}, []
    for one, where, here, there in zip(mutants, paths, python[1:], javascript, strict=True):
        in_calibration = "calibration" in where
        is_unused = name in NEED_PYTHON if in_calibration else bool(UNUSED & set(where))
        found = verdict(here, there, one, is_unused, before)
        counts[found] = counts.get(found, 0) + 1
        if found.startswith("wrong"):
            wrong.append((found, where, here, there))
    print(name, counts)
    assert not wrong
    assert counts["refused"] > 0.2 * N_MUTANTS < sum(counts.values()) / 2


@pytest.mark.parametrize("name", FILES)
def test_the_schema_is_read_as_a_validator_of_json_schema_does(files, name):
    jsonschema = pytest.importorskip("jsonschema")
    kind, content = files[name]
    text = Path(model_file.__file__).with_name("model.schema.json").read_text(encoding="utf-8")
    validator = jsonschema.Draft202012Validator(json.loads(text))
    head = {"format": "gt2lite model", "version": 1, "gt2lite": "0", "sha256": 64 * "0"}
    rng, found = np.random.default_rng(1), []
    for one in (content, *(mutate(content, rng)[0] for _ in range(N_MUTANTS))):
        valid = validator.is_valid(head | {"kind": kind, "content": one})
        with contextlib.nullcontext() if valid else pytest.raises(ValueError, match="content"):
            schema.check(one, kind.replace(" ", "_"))
        found.append(valid)
    assert found[0] and 0.1 < np.mean(found) < 0.9


@pytest.mark.filterwarnings("ignore")
def test_a_mutant_of_a_cv_plus_file_is_refused_or_gives_nested_intervals(files, tmp_path):
    kind, content = files["cv plus"]
    rng, counts = np.random.default_rng(0), {}
    for _ in range(N_MUTANTS):
        mutant, where = mutate(content, rng)
        found = in_python(tmp_path / "model.json", kind, mutant, FAR)
        if not isinstance(found, str):
            lower, upper = found[:, 1::2], found[:, 2::2]
            assert np.isfinite(found).all() and (lower <= upper).all(), where
            assert (np.diff(lower) <= 0).all() and (np.diff(upper) >= 0).all(), where
        word = "refused" if isinstance(found, str) and found.startswith("File") else "used"
        counts[word] = counts.get(word, 0) + 1
    print("cv plus", counts)
    assert counts["refused"] > 0.2 * N_MUTANTS
