"""Test of the installed package where nothing but NumPy and autograd is beside it.

`tools/wheel.py` runs this file outside the checkout, in an environment of its own. It uses the
package as somebody would who has just installed it, and ends at the first thing that fails.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import gt2lite
from gt2lite import GT2Regressor, load_dataset
from gt2lite.metrics import picp

ABSENT = ("matplotlib", "pandas", "scipy", "sklearn", "yaml")


def check(holds: object, what: str) -> None:
    """Print `what`, or end with it if it does not hold."""
    if not holds:
        sys.exit(f"smoke test: FAILED: {what}")
    print(f"smoke test: {what}")


def check_install() -> None:
    """The package is the installed one, alone, and can be asked about."""
    home = Path(gt2lite.__file__).resolve()
    check(home.is_relative_to(Path(sys.prefix).resolve()), "the package comes from the environment")
    check(not any(map(find_spec, ABSENT)), f"without {', '.join(ABSENT)}")
    check((home.parent / "py.typed").is_file(), "it has types")
    command = [sys.executable, "-I", "-m", "gt2lite"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    check(gt2lite.__version__ in said, "python -m gt2lite")
    try:
        import_module("gt2lite.plots")
    except ImportError as error:
        check("gt2lite[plot]" in str(error), "plots say how to get matplotlib")


def check_intervals(folder: Path) -> None:
    """A system is trained, calibrated, asked, saved and read again."""
    data = load_dataset("pp")
    X, X_cal, X_new = np.split(data.X[:2000], [300, 500])
    y, y_cal, y_new = np.split(data.y[:2000], [300, 500])
    reg = GT2Regressor(epochs=30, learning_rate=0.01, random_state=0).fit(X, y)
    reg.calibrate(X_cal, y_cal, "conformal")
    lower, upper = reg.predict_interval(X_new, coverage=0.9)
    coverage = picp(y_new, lower, upper)
    check(0.8 < coverage < 0.98, f"fit, calibrate, predict_interval: 90% covers {coverage:.1%}")
    reg.save(folder / "model.json")
    again = GT2Regressor.load(folder / "model.json").predict_interval(X_new, coverage=0.9)
    check(np.array_equal(again, [lower, upper]), "save and load give the same intervals")


if __name__ == "__main__":
    check_install()
    with tempfile.TemporaryDirectory() as place:
        check_intervals(Path(place))
