"""Coverage by bins of rows, pooled over the seeds: what holds on average and fails in places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from gt2lite._validation import Array
from study.field.conditional import Bin
from study.field.records import BinCount, FieldRecord
from study.field.tables import title, values_of
from study.statistics import worst_by_chance

SMOOTH = ("ww", "pm", "pp")
"""The data sets whose targets have more than two values: with two, coverage moves in leaps."""

KINDS = ("width", "region", "rarity", "group")


class Outside(NamedTuple):
    """How many bins of a contestant lie farther from the level than chance explains."""

    name: str
    width: int
    region: int
    rarity: int
    of: int


class OutsideFacts(NamedTuple):
    """Who has the fewest and who the most bins outside, of all kinds together."""

    least: str
    fewest: int
    most: str
    largest: int
    of: int


class Climb(NamedTuple):
    """How the coverage of the widest intervals compares with that of the narrowest."""

    name: str
    ends: dict[str, str]  # narrowest and widest fifth by data set, in per cent
    rises: str  # the data sets on which it is higher beyond chance
    falls: str


class Patients(NamedTuple):
    """The coverage of single patients by all contestants, in per cent."""

    n: int  # patients
    low: float  # the lowest coverage of any patient by any contestant
    half: str  # how many are covered less than half of the time


class Worst(NamedTuple):
    """The coverage of the worst bin in per cent."""

    name: str
    width: float
    region: float
    rarity: float
    group: float


class Mended(NamedTuple):
    """A region of the inputs with one plane for all and with a plane of its own."""

    region: str
    n_cal: int
    n: int
    before: float  # coverage in per cent
    after: float
    width_before: float
    width_after: float


class MendedFacts(NamedTuple):
    """What it costs to give each region a plane of its own."""

    cost: float  # change of the mean width in per cent
    sd: float  # of a region's coverage by chance, in points


class Halves(NamedTuple):
    """One margin for two halves of rows, one quiet and one loud: coverage in per cent."""

    margin: float
    quiet: float
    loud: float


def pooled(
    counts: Iterable[BinCount], contestant: str, dataset: str, by: str, *, split: str = "random"
) -> dict[str, tuple[int, int]]:
    """Return rows and covered rows of each bin, over all seeds, in the order of the bins."""
    found: dict[str, tuple[int, int]] = {}
    wanted = contestant, dataset, by, split
    for row in counts:
        if (row.contestant, row.dataset, row.by, row.split) == wanted:
            n, covered = found.get(row.bin, (0, 0))
            found[row.bin] = n + row.n, covered + row.covered
    return dict(sorted(found.items(), key=lambda item: int(item[0])))


def shares(bins: Mapping[str, tuple[int, int]]) -> Array:
    """Return the coverage of each bin that `pooled` found."""
    return np.array([covered / n for n, covered in bins.values()])


def outside(
    counts: Sequence[BinCount], names: Iterable[str], level: float, sets: Sequence[str] = SMOOTH
) -> list[Outside]:
    """Return how many bins lie more than two standard deviations of chance from the level."""

    def far(name: str, by: str) -> Array:
        bins = [pooled(counts, name, dataset, by) for dataset in sets]
        n, covered = np.array([pair for found in bins for pair in found.values()]).T
        return np.abs(covered / n - level) > 2 * np.sqrt(level * (1 - level) / n)

    found = []
    for name in names:
        width, region, rarity = (far(name, by) for by in ("width", "region", "rarity"))
        counted = int(width.sum()), int(region.sum()), int(rarity.sum())
        found.append(Outside(title(name), *counted, of=region.size))
    return found


def outside_facts(found: Iterable[Outside]) -> OutsideFacts:
    """Return who leaves the band of chance in the fewest bins, and who in the most."""
    sums = {one.name: (one.width + one.region + one.rarity, 3 * one.of) for one in found}
    in_order = sorted(sums.items(), key=lambda one: one[1])
    (least, (low, of)), (most, (high, _)) = in_order[0], in_order[-1]
    return OutsideFacts(least, low, most, high, of)


def climbs(
    counts: Sequence[BinCount], names: Iterable[str], level: float, sets: Sequence[str]
) -> list[Climb]:
    """Return the coverage of the narrowest and the widest fifth of intervals, by contestant.

    They differ beyond chance where they lie more than two standard deviations apart. Where
    a contestant has fewer than five bins, many of its intervals are equally wide: no ends.
    """
    found = []
    for name in names:
        ends: dict[str, str] = {}
        rises: list[str] = []
        falls: list[str] = []
        for dataset in sets:
            bins = list(pooled(counts, name, dataset, "width").values())
            ends[dataset] = ""
            if len(bins) == 5:
                (n_first, first), (n_last, last) = bins[0], bins[-1]
                low, high = first / n_first, last / n_last
                ends[dataset] = f"{100 * low:.0f} to {100 * high:.0f}"
                chance = 2 * np.sqrt(level * (1 - level) * (1 / n_first + 1 / n_last))
                if abs(high - low) > chance:
                    (rises if high > low else falls).append(dataset.upper())
        found.append(Climb(title(name), ends, ", ".join(rises), ", ".join(falls)))
    return found


def patients(strips: Mapping[str, Array]) -> Patients:
    """Return what is told about the coverage of patients (patients,) by contestant, in per cent."""
    counted = [int((values < 50).sum()) for values in strips.values()]
    low, high = min(counted), max(counted)
    half = "none of them is" if high == 0 else f"{high} of them are"
    if low < high:
        half = f"{low} to {high} of them, depending on the method, are"
    everyone = np.concatenate(list(strips.values()))
    return Patients(len(next(iter(strips.values()))), float(everyone.min()), half)


def worst_rows(
    rows: Sequence[FieldRecord],
    counts: Iterable[BinCount],
    names: Iterable[str],
    level: float,
    sets: Sequence[str] = SMOOTH,
) -> list[Worst]:
    """Return the worst bin by chance alone, and that of each contestant; mean of sets and seeds."""
    sizes: dict[tuple[str, str, int], list[int]] = {}
    for row in counts:
        if row.split == "random" and row.contestant == "gb_cqr" and row.dataset in sets:
            sizes.setdefault((row.by, row.dataset, row.seed), []).append(row.n)

    def by_chance(by: str) -> float:
        found = [worst_by_chance(n, level) for key, n in sizes.items() if key[0] == by]
        return 100 * float(np.mean(found))

    def of_one(name: str, by: str) -> float:
        of_sets = values_of(rows, f"worst_{by}", level=level)[name]
        return 100 * float(np.mean([v.mean() for d, v in of_sets.items() if d in sets]))

    found = [Worst("by chance alone", *(by_chance(by) for by in KINDS))]
    return found + [Worst(title(name), *(of_one(name, by) for by in KINDS)) for name in names]


def mended(before: Sequence[Bin], after: Sequence[Bin], sizes: Mapping[int, int]) -> list[Mended]:
    """Return a row for each region.

    Args:
        before: what one plane for all covers in each region.
        after: what planes of their own cover.
        sizes: of the regions in the calibration part.
    """
    return [
        Mended(b.label, sizes[i], b.n, 100 * b.coverage, 100 * a.coverage, b.width, a.width)
        for i, (b, a) in enumerate(zip(before, after, strict=True), start=1)
    ]


def mended_facts(found: Sequence[Mended], level: float) -> MendedFacts:
    """Return what planes of their own cost, and what chance does to the regions."""
    n = np.array([row.n for row in found])
    before, after = (np.array([getattr(row, f"width_{w}") for row in found]) @ n
                     for w in ("before", "after"))  # fmt: skip
    sd = 100 * np.sqrt(level * (1 - level) / n.mean())
    return MendedFacts(100 * float(after / before - 1), float(sd))


def two_halves(level: float, quiet: float = 1.0, loud: float = 3.0) -> Halves:
    """Return what one margin for all covers where half of the rows have more normal noise.

    >>> halves = two_halves(0.9)
    >>> round(halves.margin, 2), round((halves.quiet + halves.loud) / 2, 6)
    (3.85, 90.0)
    """

    def covered(margin: float, sigma: float) -> float:
        return 2 * NormalDist(0.0, sigma).cdf(margin) - 1

    low, high = 0.0, 20 * loud
    for _ in range(200):  # halve until nothing is left between them
        middle = (low + high) / 2
        if covered(middle, quiet) + covered(middle, loud) < 2 * level:
            low = middle
        else:
            high = middle
    return Halves(high, 100 * covered(high, quiet), 100 * covered(high, loud))
