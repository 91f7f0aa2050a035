"""Draw the picture of the README: python tools/headline.py, which writes assets/headline.png.

Left: one training for 99% on Power Plant, and the 90% interval calibrated from it. Right:
the coverage of its planes on the calibration set, from which any level can be read.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from gt2lite import plots
from gt2lite.calibration import ExactCalibrator
from gt2lite.datasets import load_dataset, prepare
from gt2lite.system import Planes
from gt2lite.training import train

ROWS = 60  # as many test samples as a picture of this size can show


def main() -> None:
    """Train, calibrate, draw."""
    data = prepare(load_dataset("pp"), seed=0)
    params = train(data.X_train, data.y_train, seed=0).params
    exact = ExactCalibrator().fit(Planes(params, data.X_cal), data.y_cal)
    alpha = exact.alpha(0.9)

    test, restore = Planes(params, data.X_test[:ROWS]), data.scaler.inverse_y
    bands = {
        "99%: trained once": tuple(map(restore, test(0.01))),
        f"90%: the plane $\\alpha = {alpha:.2f}$ of it": tuple(map(restore, test(alpha))),
    }
    plots.use_style()
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(2, 1))
    plots.interval_bands(left, restore(data.y_test[:ROWS]), bands, restore(test.output((0.01, 1))))
    left.set(xlabel="test sample, by prediction", ylabel="power (MW)")
    planes = np.linspace(0.01, 1, 200)
    coverage = np.array([exact.coverage(a) for a in planes])
    right.plot(planes, 100 * coverage, color=plots.BLUE)
    right.plot([alpha, alpha, 0], [0, 90, 90], ":", color="#777777")
    right.plot(alpha, 90, "o", color=plots.VERMILION)
    right.set(xlabel=r"plane $\alpha$", ylabel="coverage (%)", xlim=(0, 1.01), ylim=(0, 101))
    target = Path(__file__).resolve().parents[1] / "assets" / "headline.png"
    figure.savefig(target, dpi=160, metadata={"Software": None})


if __name__ == "__main__":
    main()
