"""What must work where nothing but the package, NumPy and autograd is installed.

`tools/wheel.py` runs this file outside the checkout, in an environment of its own. It uses the
package as somebody would who has just installed it, and ends at the first thing that fails.
"""

from __future__ import annotations

import pydoc
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import gt2lite
from gt2lite import GT2Regressor, load_dataset
from gt2lite.metrics import picp

ABSENT = ("matplotlib", "pandas", "scipy", "sklearn", "yaml")
N_TRAIN, N_CAL = 300, 500  # how many rows train, and where the calibration rows end


def check(holds: object, what: str) -> None:
    """Print `what`, or end with it where it does not hold."""
    if not holds:
        sys.exit(f"smoke test: FAILED: {what}")
    print(f"smoke test: {what}")


def check_install() -> None:
    """The package is the installed one, and it is alone."""
    home = Path(gt2lite.__file__).resolve()
    check(home.is_relative_to(Path(sys.prefix).resolve()), "the package comes from the environment")
    check(not any(map(find_spec, ABSENT)), f"without {', '.join(ABSENT)}")
    check((home.parent / "py.typed").is_file(), "it has types")


def check_help() -> None:
    """Everything that has a name on the front can be asked about."""
    told = pydoc.render_doc(gt2lite, renderer=pydoc.plaintext)
    check(gt2lite.__version__ in told and "GT2Regressor" in told, "help(gt2lite)")
    told = pydoc.render_doc(GT2Regressor, renderer=pydoc.plaintext)
    check("n_rules" in told and "predict_interval" in told, "help(GT2Regressor)")
    names = [name for name in gt2lite.__all__ if not name.startswith("_")]
    check(
        all(getattr(gt2lite, name).__doc__ for name in names), "every public name has a docstring"
    )


def check_plots() -> None:
    """Plots say what they lack."""
    try:
        import gt2lite.plots  # noqa: F401
    except ImportError as error:
        check("gt2lite[plot]" in str(error), "plots say how to get matplotlib")
    else:
        check(False, "plots need matplotlib")


def check_intervals(folder: Path) -> None:
    """A system is trained, calibrated, asked, saved and read again."""
    data = load_dataset("pp")
    check(len(data.y) == 9568, "the data came along")
    (X, X_cal, X_new), (y, y_cal, y_new) = (
        np.split(values[:2000], [N_TRAIN, N_CAL]) for values in (data.X, data.y)
    )
    reg = GT2Regressor(epochs=30, learning_rate=0.01, random_state=0).fit(X, y)
    reg.calibrate(X_cal, y_cal, "conformal")
    lower, upper = reg.predict_interval(X_new, coverage=0.9)
    coverage = picp(y_new, lower, upper)
    check(0.8 < coverage < 0.98, f"fit, calibrate, predict_interval: 90 % covers {coverage:.1%}")
    reg.save(folder / "model.json")
    again = GT2Regressor.load(folder / "model.json").predict_interval(X_new, coverage=0.9)
    check(np.array_equal(again, [lower, upper]), "save and load give the same intervals")


def check_command() -> None:
    """The package as a program, if it is one, tells its version."""
    if find_spec("gt2lite.__main__") is not None:
        command = [sys.executable, "-I", "-m", "gt2lite"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said = done.stdout + done.stderr
        check(done.returncode == 0 and gt2lite.__version__ in said, "python -m gt2lite")


if __name__ == "__main__":
    check_install()
    check_help()
    check_plots()
    with tempfile.TemporaryDirectory() as place:
        check_intervals(Path(place))
    check_command()
