"""What came of a run in plain text, for the screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gt2lite.study.cells import verdicts, winners
from gt2lite.study.claims import check_claims
from gt2lite.study.field.contestants import BOOSTED
from gt2lite.study.field.records import FieldRecord
from gt2lite.study.field.tables import values_of
from gt2lite.study.field.verdicts import by_table, overall, ratios, targets
from gt2lite.study.paper import claims
from gt2lite.study.records import Record
from gt2lite.study.results import Difference


def protocol_lines(rows: list[Record]) -> Iterator[str]:
    """Yield the verdict on each cell and claim of the paper."""
    cells = verdicts(rows)
    yield "Published against ours (mean ± std over the seeds; RMSE and PINAW times 100)"
    for v in cells:
        yield (
            f"  {v.dataset:4} {100 * v.level:.0f} % {v.metric:5} {v.model:10} "
            f"{v.paper_mean:7.2f} ±{v.paper_std:5.2f}   {v.our_mean:7.2f} ±{v.our_std:5.2f}   "
            f"{v.difference:+6.2f} = {v.difference_in_std:+5.2f} std   p {v.p:.3f}   {v.verdict}"
        )
    words = ("agrees", "better", "differs")
    counted = ", ".join(f"{sum(v.verdict == word for v in cells)} {word}" for word in words)
    yield f"  {len(cells)} cells: {counted}"
    won = winners(rows)
    beyond = sum(not w.agrees and not w.within_chance for w in won)
    same = sum(w.agrees for w in won)
    yield f"  bold winners: {same} of {len(won)} the same, {beyond} others beyond chance"
    yield "Claims"
    told = {claim.id: claim.claim for claim in claims()}
    for c in check_claims(rows):
        yield f"  {c.verdict:14} {told[c.id]}\n{'':17}{c.explanation}"


def field_lines(rows: list[FieldRecord]) -> Iterator[str]:
    """Yield how contestants compare with the best boosted rival, tables with losses first."""
    yield "Interval score against the best boosted rival (geometric mean of tables and levels)"
    names = [name for name in values_of(rows, "interval_score") if name not in BOOSTED]
    for name in names:
        found = by_table(ratios(rows, name, BOOSTED))
        if not found:
            continue
        mean = overall(found.values())
        yield f"  {name:20} {mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}] on {mean.n} tables"
        yield "    " + ", ".join(f"{table} {ratio:.2f}" for table, ratio in found.items())
    for target in targets(rows):
        yield f"  {target.met:3} {target.what}: {target.found} (goal: {target.goal})"


def difference_lines(differences: Iterable[Difference]) -> Iterator[str]:
    """Yield how far a run is from the reference."""
    yield "This run against the stored one (tolerance: what the last bit of the start does)"
    for d in differences:
        yield (
            f"  {d.metric:14} {d.n} numbers, {d.n_equal} equal to the last bit, "
            f"largest difference {d.largest:.3g}, tolerance {d.tolerance:.3g}"
        )
