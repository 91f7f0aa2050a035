"""How fast the library is by itself: stored benchmarks of inference, memory, growth and protocol.

`make bench` runs the scripts in `benchmarks/`, and `study.results.bench(name)` reads
what one of them found. The functions here take that whole and return what is told of it, and of
where the numbers come from. What levels cost, see `study.costs`; what other programs
take for the same, `study.rivals`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from study.costs import Stored

# --------------------------------------------------------------------- inference and memory


class Inference(NamedTuple):
    """Microseconds per sample and plane, and exact calibration in planes of its rows."""

    us_anew: float
    us_kept: float
    rows: int
    in_planes: float


class Memory(NamedTuple):
    """What many rows take, in seconds and in megabytes above inputs and outputs."""

    rows: int
    inputs: int
    levels: int
    predict: float
    predict_seconds: float
    calibrate: float
    calibrate_seconds: float
    limit: float
    held: str  # whether the limit was
    chunks: str  # by how much working in chunks changes results
    guess_low: float  # seconds that the times of `Inference` foretell for predicting, memberships
    guess_high: float  # kept and computed anew


def inference(stored: Stored) -> Inference:
    """Return what an interval costs, and a calibration in units of it."""
    planes, calibrations = (stored["results"][part] for part in ("planes", "calibrations"))
    us = "us_per_sample_and_plane"
    return Inference(
        planes["interval, one plane, anew"][us],
        planes["interval, one plane, kept"][us],
        stored["settings"]["rows"],
        calibrations["exact"]["price_in_planes"],
    )


def memory(stored: Stored, speed: Inference) -> Memory:
    """Return what many rows took, and how long they would at the speed of few."""
    found, settings = stored["results"], stored["settings"]
    chunks = max(case["difference_of_chunks"] for case in found.values())
    above = max(case["above"] for case in found.values())
    samples = settings["rows"] * len(settings["levels"])
    return Memory(
        rows=settings["rows"],
        inputs=settings["inputs"],
        levels=len(settings["levels"]),
        predict=found["predict"]["above"] / 1e6,
        predict_seconds=found["predict"]["seconds"],
        calibrate=found["calibrate"]["above"] / 1e6,
        calibrate_seconds=found["calibrate"]["seconds"],
        limit=settings["limit"] / 1e6,
        held="within" if above <= settings["limit"] else "beyond",
        chunks=f"by at most {chunks:.0e}" if chunks else "in no bit",
        guess_low=1e-6 * speed.us_kept * samples,
        guess_high=1e-6 * speed.us_anew * samples,
    )


# ---------------------------------------------------------------------------------- growth


class Growth(NamedTuple):
    """The fit of a fixed cost and a power to the time over one size."""

    what: str
    varied: str
    smallest: int
    largest: int
    fixed: float  # milliseconds
    time: float  # exponent
    off: float  # per cent by which a point is off the best straight line, at most
    memory: float  # exponent


class Steepest(NamedTuple):
    """The largest exponents of time, and the point that is farthest off a straight line."""

    rules: float
    others: float
    off: float
    where: str


def growth_curves(stored: Stored, what: str) -> dict[str, tuple[Array, Array]]:
    """Return sizes and times for each size that was varied, as shares of the largest."""
    return {
        line["varied"]: (
            np.divide(line["sizes"], line["sizes"][-1]),
            np.divide(line["seconds"], line["seconds"][-1]),
        )
        for line in stored["results"]["lines"]
        if line["what"] == what
    }


def growth(stored: Stored) -> list[Growth]:
    """Return a row for each size that was varied."""
    return [
        Growth(
            what=line["what"],
            varied=line["varied"],
            smallest=line["sizes"][0],
            largest=line["sizes"][-1],
            fixed=1e3 * line["time"]["fixed"],
            time=line["time"]["exponent"],
            off=100 * line["off_a_straight_line"],
            memory=line["memory"]["exponent"],
        )
        for line in stored["results"]["lines"]
    ]


def steepest(rows: Sequence[Growth]) -> Steepest:
    """Return what grows fastest: with the number of rules, and with the other sizes."""
    others = [row for row in rows if row.varied != "rules"]
    worst = max(others, key=lambda row: row.off)
    return Steepest(
        rules=max(row.time for row in rows if row.varied == "rules"),
        others=max(row.time for row in others),
        off=worst.off,
        where=f"{worst.what}, {worst.varied}",
    )


# ---------------------------------------------------------------------- the whole protocol


class ProtocolCost(NamedTuple):
    """All trainings of the paper, and importing what they need."""

    trainings: int
    core: float  # minutes of one core
    minutes: float  # by the clock
    jobs: int
    calibrating: float  # per cent of the work
    import_ours: float  # milliseconds
    import_base: float  # NumPy and autograd


class Part(NamedTuple):
    """A part of a training, and its share of the time in per cent."""

    part: str
    share: float


def protocol_cost(stored: Stored, imports: Stored) -> ProtocolCost:
    """Return what the protocol took, and what an import takes."""
    found, imported = stored["results"]["protocol"], imports["results"]["imports"]
    work = found["training_seconds"] + found["calibration_seconds"]
    return ProtocolCost(
        trainings=found["n_trainings"],
        core=work / 60,
        minutes=found["seconds"] / 60,
        jobs=found["jobs"],
        calibrating=100 * found["calibration_seconds"] / work,
        import_ours=1e3 * imported["gt2lite"]["seconds"],
        import_base=1e3 * imported["numpy and autograd"]["seconds"],
    )


def profile(stored: Stored) -> list[Part]:
    """Return where the time of a training goes."""
    shares = stored["results"]["training"]["shares"]
    return [Part(part, 100 * share) for part, share in shares.items()]


# ------------------------------------------------------------------------- several systems


class Ensembles(NamedTuple):
    """What several systems take beside one, and their predictions beside boosting."""

    rows: int
    inputs: int
    rules: int
    systems: int
    alone: float  # times as long as one system, in one process
    parallel: float  # the same, in processes on all cores
    choice: float  # seconds, of `GT2Regressor.strong()` on one core
    chosen: int  # systems that it kept
    predict: float  # times as long as boosting, tuned
    predict_one: float  # the same, of one system
    trees: int  # of boosting, tuned
    parallel_goal: str  # such as "3: missed", as are the next two
    choice_goal: str
    predict_goal: str


PARALLEL_GOAL = 3.0
"""How many times as long as one system five may take on two cores."""

CHOICE_GOAL = 20.0
"""How many seconds of one core a choice may take for 1,000 rows and ten inputs."""

PREDICT_GOAL = 2.0
"""How many times as long as boosting a prediction of `strong` may take."""


def ensembles(stored: Stored) -> Ensembles:
    """Return what several systems cost."""
    settings, found = stored["settings"], stored["results"]
    cases = found["cases"]
    seconds = {name: case["seconds"] for name, case in cases.items()}
    parallel = cases["several, all cores"]["ratio"]
    choice = seconds["choice, one process"]
    boosting = seconds["predict, boosting, tuned"]
    predict = seconds["predict, chosen"] / boosting
    return Ensembles(
        **{name: settings[name] for name in ("rows", "inputs", "rules", "systems")},
        alone=cases["several, one process"]["ratio"],
        parallel=parallel,
        choice=choice,
        chosen=found["chosen"],
        predict=predict,
        predict_one=seconds["predict, one system"] / boosting,
        trees=found["trees"],
        parallel_goal=_goal(parallel, PARALLEL_GOAL),
        choice_goal=_goal(choice, CHOICE_GOAL),
        predict_goal=_goal(predict, PREDICT_GOAL),
    )


def _goal(found: float, most: float) -> str:
    return f"{most:g}: {'met' if found <= most else 'missed'}"


# --------------------------------------------------------------------- where they come from


class Origin(NamedTuple):
    """When a script was run, of which commit, and how busy the machine was."""

    script: str
    date: str
    commit: str
    load: str


class Origins(NamedTuple):
    """The stored measurements, and what they were made on and with."""

    rows: list[Origin]
    machines: str
    versions: str


def origins(stored: Mapping[str, Stored]) -> Origins:
    """Return where measurements come from, by the name of their script."""
    rows = []
    machines: dict[str, str] = {}
    versions: dict[str, str] = {}
    for script, whole in stored.items():
        facts = whole["provenance"]
        load = facts["load_average_at_start"]
        commit = facts["commit"][:10] + facts["commit"][40:]  # and whether it was changed since
        rows.append(Origin(script, facts["date"], commit, str(load[0]) if load else "-"))
        machine = f"{facts['processor']}, {facts['cores']} cores, {facts['machine']}"
        machines[f"{machine}, Python {facts['python']}"] = script
        versions |= {"numpy": facts["numpy"], **facts["versions"]}
    used = ", ".join(f"{name} {version}" for name, version in sorted(versions.items()))
    return Origins(rows, "; ".join(machines), used)
