"""Writes a model of each kind, and what it predicts, for the format version that is current.

To be run once for each version, ``python tests/model_files/make.py FOLDER``; the files are then
kept as they are, so that tests can tell whether a later release still reads them.
"""

import json
import sys
from pathlib import Path

import numpy as np

from gt2lite import GT2Regressor

KINDS = {
    "none": None,
    "search": {"method": "search"},
    "table": {"method": "table"},
    "exact": {"method": "exact"},
    "conformal": {"method": "conformal"},
    "each_side": {"method": "conformal", "sides": "each"},
    "groups": {"method": "conformal", "groups": True},
}
LEVELS = [0.4, 0.7]


def groups_of(X):
    return ["low" if row[0] < 0 else "high" for row in X]


def predictions(model, X, kind):
    """Return what a model says about rows, in plain lists."""
    options = KINDS[kind]
    asked = {"alpha": 0.01} if options is None else {"coverage": LEVELS}
    if options is not None and options.get("groups"):
        asked["groups"] = groups_of(X)
    lower, upper = model.predict_interval(X, **asked)
    return {
        "predict": model.predict(X).tolist(),
        "lower": np.asarray(lower).tolist(),
        "upper": np.asarray(upper).tolist(),
    }


def make(folder):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 2))
    y = 100 + 20 * X[:, 0] - 5 * X[:, 1] + 3 * rng.normal(size=160)
    rows = X[:5]
    expected = {"X": rows.tolist()}
    for kind, options in KINDS.items():
        model = GT2Regressor(n_rules=2, epochs=20, learning_rate=0.1, batch_size=16).fit(
            X[:60], y[:60]
        )
        if options is not None:
            given = dict(options)
            if given.pop("groups", False):
                given["groups"] = groups_of(X[60:])
            model.calibrate(X[60:], y[60:], **given)
        expected[kind] = predictions(model, rows, kind)
        model.save(folder / f"{kind}.npz")
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(exist_ok=True)
    make(target)
