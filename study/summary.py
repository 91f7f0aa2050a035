"""What came of a run in plain text, for the screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from study.cells import verdicts, winners
from study.claims import check_claims
from study.field.contestants import BOOSTED
from study.field.records import FieldRecord
from study.field.tables import values_of
from study.field.verdicts import by_table, overall, ratios, targets
from study.paper import claims
from study.records import Record
from study.stored import Difference
from study.tallies import agreement, count_winners, margins, tally


def protocol_lines(rows: list[Record]) -> Iterator[str]:
    """Yield the verdicts on each cell and claim of the paper."""
    cells = verdicts(rows)
    yield "Published against ours (mean ± std over the seeds; RMSE and PINAW times 100)"
    for v in cells:
        unit = "points" if v.metric == "picp" else "%"
        yield (
            f"  {v.dataset:4} {100 * v.level:.0f} % {v.metric:5} {v.model:10} "
            f"{v.paper_mean:7.2f} ±{v.paper_std:5.2f}   {v.our_mean:7.2f} ±{v.our_std:5.2f}   "
            f"p {v.p:.3f}, Holm {v.p_holm:.3f}   refuted: {v.refuted:6}   "
            f"equal within {v.margin:.1f} {unit}, at best {v.best:.1f}"
        )
    found = agreement(cells)
    yield (
        f"  {found.results} distinct results: {found.kept} not refuted, {found.refuted} refuted "
        f"({found.better} better, {found.worse} worse); {found.spreads} spreads refuted"
    )
    for m in margins(cells):
        yield (
            f"  shown to be equal within {m.margin}: {m.shown}, with Holm {m.shown_holm}; "
            f"possible at best {m.best}, with Holm {m.best_holm}"
        )
    won = count_winners(winners(rows))
    yield f"  bold winners: {won.same} of {won.rows} the same, {won.beyond} others beyond chance"
    checked = check_claims(rows)
    counts = tally(checked)
    yield (
        f"{counts.entries} entries, {counts.claims} different claims: {counts.hold} hold, "
        f"{counts.fail} do not, {counts.chance} within chance, {counts.untested} not testable"
    )
    told = {claim.id: claim.claim for claim in claims()}
    for c in checked:
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
    yield "This run against the stored one (tolerance: the most that rounding was seen to do)"
    for d in differences:
        yield (
            f"  {d.metric:14} {d.n} numbers, {d.n_equal} equal to the last bit, "
            f"largest difference {d.largest:.3g}{f' ({d.where})' if d.where else ''}, "
            f"tolerance {d.tolerance:.3g}, beyond it {d.n_beyond}"
        )
