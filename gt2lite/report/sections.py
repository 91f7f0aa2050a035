"""The sections of the page: what was found, in plain words, tables and pictures."""

from __future__ import annotations

from typing import Any

import numpy as np

from gt2lite.report import figures
from gt2lite.report.analysis import MOST_ROWS_SHOWN, Findings
from gt2lite.report.model import percent
from gt2lite.report.page import box, code, figure, items, percentage, shown, table, text
from gt2lite.report.reading import Table

_MOST_BARS = 15
_COLUMNS_SHOWN = 5
_CLEARLY = 0.9  # of a width: narrower than that is worth a sentence
_LONGEST = 40  # characters of a value of the table

Section = tuple[str, list[str]]


def sections(found: Findings, source: Table, seed: int) -> list[Section]:
    """Return all sections, in their order."""
    return [
        ("In short", _short(found)),
        ("Your table", _table(found, source)),
        ("Accuracy", _accuracy(found)),
        ("Coverage", _coverage(found)),
        ("Widths", _widths(found)),
        ("Where it covers more, and less", _regions(found)),
        ("The widest cases and the misses", _extremes(found)),
        ("Which inputs matter", _importance(found)),
        ("What the model learnt", _rules(found)),
        ("What is promised, and what would break it", _promise(found)),
        ("How it was made", _making(found, seed)),
        ("Use the model", _use(found)),
    ]


def _short(found: Findings) -> list[str]:
    row = next(row for row in found.coverages if row.level == found.main)
    ours, mean, boosted, plain = found.accuracies
    better = "smaller" if ours.rmse < boosted.rmse else "larger"
    sentences = [
        f"Asked for intervals that hold {percent(row.level)} % of the values of "
        f"{found.model.target!r}, the model's intervals held {percentage(row.share)} of "
        f"{row.n_rows:,} test rows ({row.verdict}). They are {shown(row.width)} wide on average.",
        f"The typical error of a prediction (RMSE) is {shown(ours.rmse)}; always saying the mean "
        f"has {shown(mean.rmse)}. Boosted trees have {shown(boosted.rmse)}: the error of this "
        f"model is {better}.",
    ]
    if ours.rmse >= mean.rmse:
        sentences.append(
            "Beware: this model predicts no better than the mean. Either the columns say little "
            "about the target, or there are too few rows."
        )
    at = found.coverages.index(row)
    if plain.widths[at] < _CLEARLY * ours.widths[at]:
        sentences.append(
            f"On this table intervals of one width for all rows, around the same predictions, are "
            f"narrower: {shown(plain.widths[at])}. With more rows the model can learn better where "
            "it is unsure."
        )
    parts = [box(*sentences)]
    if found.doubts:
        parts.append(box(*found.doubts, kind="warn"))
    return parts


def _table(found: Findings, source: Table) -> list[str]:
    rows = [(c.name, c.kind, found.counts[c.name], c.fate) for c in found.model.columns.columns]
    parts = [
        text(f"{source.name}:", *source.notes),
        table(
            "What became of each column", ("column", "kind", "missing", "what became of it"), rows
        ),
    ]
    if found.notes:
        parts += [text("What was odd:"), items(found.notes)]
    return parts


def _accuracy(found: Findings) -> list[str]:
    heads = ["model", "RMSE", "mean error", "R²"]
    rows = [[a.name, a.rmse, a.mae, a.r2] for a in found.accuracies[:3]]
    wide_heads = ["model"]
    wide_rows: list[list[Any]] = [[a.name] for a in found.accuracies]
    for i, row in enumerate(found.coverages):
        name = percent(row.level)
        wide_heads += [f"width at {name} %", f"covered at {name} %"]
        for cells, a in zip(wide_rows, found.accuracies, strict=True):
            cells += [a.widths[i], percentage(a.coverages[i])]
    lower, upper = found.ends(found.main)
    y_hat = found.predictions["prediction"].to_numpy()
    name = percent(found.main)
    return [
        text(
            "All learnt from the same rows and are judged by the same test rows. Smaller errors "
            "are better; R² is 1 for perfect predictions and 0 for the mean. The intervals of "
            "this model have a width of their own for each row; all others have one width for "
            "all rows, plus and minus a quantile of the errors on calibration rows."
        ),
        table("Errors on test rows", heads, rows),
        table("Mean width of intervals, and what they cover", wide_heads, wide_rows),
        figure(
            figures.drawn(
                lambda ax: figures.intervals(ax, found.y, y_hat, lower, upper, found.model.target)
            ),
            f"Test rows in the order of their predictions, with {name} % intervals. Rows outside "
            "their interval are crosses.",
            f"Targets, predictions and {name} % intervals of test rows.",
        ),
    ]


def _coverage(found: Findings) -> list[str]:
    n_cal = len(found.split.calibration)
    rows = [
        (
            f"{percent(r.level)} %",
            f"{r.n_covered:,} of {r.n_rows:,}",
            percentage(r.share),
            f"{percentage(r.low)} to {percentage(r.high)}",
            r.verdict,
        )
        for r in found.coverages
    ]
    return [
        text(
            f"With {n_cal:,} calibration rows and {len(found.y):,} test rows, chance alone moves "
            "coverage: where the promise holds, it lies in the range given in 95 of 100 draws of "
            "the rows (Beta-binomial law)."
        ),
        table(
            "Coverage at each level",
            ("level", "rows covered", "share", "range of luck", "verdict"),
            rows,
        ),
        figure(
            figures.drawn(lambda ax: figures.curve(ax, found.curve)),
            "Coverage on test rows against the level asked for; the band is what luck alone does.",
            "A curve of coverage against level, near the diagonal where all is well.",
        ),
    ]


def _widths(found: Findings) -> list[str]:
    rows = [(f"{percent(r.level)} %", r.width, r.median_width) for r in found.coverages]
    lower, upper = found.ends(found.main)
    at = [row.level for row in found.coverages].index(found.main)
    name, fixed = percent(found.main), found.accuracies[2].widths[at]
    return [
        table("Widths of intervals on test rows", ("level", "mean", "median"), rows),
        figure(
            figures.drawn(lambda ax: figures.widths(ax, upper - lower, fixed, name)),
            f"How wide the {name} % intervals are: narrow where the model is sure, wide where it "
            "is not.",
            "A histogram of widths with a line for the one width of boosted trees.",
        ),
    ]


def _regions(found: Findings) -> list[str]:
    rows = [
        (
            r.what,
            r.where,
            r.n_rows,
            percentage(r.share),
            f"{percentage(r.low)} to {percentage(r.high)}",
            "below" if r.share < r.low else "above" if r.share > r.high else "within",
            r.width,
        )
        for r in found.regions
    ]
    low = [r for r in found.regions if r.share < r.low]
    name = percent(found.main)
    sentence = "Nowhere in this table is coverage lower than luck explains."
    if low:
        places = "; ".join(f"{r.what}: {r.where}" for r in low[:5])
        sentence = f"Coverage is lower than luck explains here: {places}."
    return [
        text(
            f"The promise is about all rows together. In parts of the table the {name} % "
            "intervals may cover more or less.",
            sentence,
        ),
        table(
            f"Coverage of the {name} % intervals by region",
            ("by", "where", "rows", "covered", "range of luck", "which is", "mean width"),
            rows,
        ),
    ]


def _extremes(found: Findings) -> list[str]:
    lower, upper = found.ends(found.main)
    width = upper - lower
    beyond = np.maximum(lower - found.y, found.y - upper)
    widest = np.argsort(-width, kind="stable")[:MOST_ROWS_SHOWN]
    missed = np.flatnonzero(beyond > 0)
    worst = missed[np.argsort(-beyond[missed], kind="stable")][:MOST_ROWS_SHOWN]
    name = percent(found.main)
    heads = ["row", found.model.target, "prediction", "lower", "upper"]
    most = [column for column, _ in found.importance[:_COLUMNS_SHOWN]]
    parts = [
        table(f"The widest {name} % intervals", [*heads, *most], _rows(found, widest, most)),
    ]
    if len(worst):
        caption = f"The {len(worst)} of {len(missed):,} misses that are farthest out"
        parts.append(table(caption, [*heads, *most], _rows(found, worst, most)))
    else:
        parts.append(text("No test row lies outside its interval."))
    return [text("Rows are named as in the table, the first one below the header is 1."), *parts]


def _rows(found: Findings, places: Any, columns: list[str]) -> list[list[Any]]:
    lower, upper = found.ends(found.main)
    y_hat = found.predictions["prediction"].to_numpy()
    return [
        [
            str(found.rows.index[i]),
            *(float(v[i]) for v in (found.y, y_hat, lower, upper)),
            *(_cell(found.rows[column].iloc[i]) for column in columns),
        ]
        for i in places
    ]


def _cell(value: Any) -> str:
    result = shown(value)
    return result if len(result) <= _LONGEST else f"{result[: _LONGEST - 3]}..."


def _importance(found: Findings) -> list[str]:
    top = found.importance[:_MOST_BARS]
    return [
        text(
            "Each column was shuffled among test rows, and the error grew by so many per cent. "
            "Columns that tell the same thing share their importance."
        ),
        figure(
            figures.drawn(
                lambda ax: figures.bars(ax, top, "growth of the error (%)"),
                (6.4, 1.0 + 0.3 * len(top)),
            ),
            "How much predictions need each column.",
            "Bars: " + ", ".join(f"{name} {value:.0f} %" for name, value in top[:5]) + ".",
        ),
    ]


def _rules(found: Findings) -> list[str]:
    return [
        text(
            "The model is made of rules. These weigh most; inputs that make no difference in a "
            "rule are left out of it."
        ),
        code(found.rules),
    ]


def _promise(found: Findings) -> list[str]:
    n_cal = len(found.split.calibration)
    levels = " and ".join(f"{percent(level)} %" for level in found.model.levels)
    parts = [
        text(
            f"Calibration is conformal, with {n_cal:,} rows that training never saw. If new rows "
            f"come from the same source as these, in no particular order, their intervals cover at "
            f"least {levels} of the values, on average over all such draws of rows, whatever the "
            "data are like and however good the model is."
        ),
        items(
            [
                "It is about all rows together, not about each kind of row: see the regions above.",
                "It breaks when the world changes: prices rise, a sensor drifts, other customers "
                "come. Measure coverage again on new rows, and calibrate again.",
                "It breaks when rows come in families (one person, one place, one day) and new "
                "rows are from new families: then keep groups together (--groups).",
                "It breaks when the model is used on rows that were chosen by its own predictions.",
            ]
        ),
    ]
    if found.time is not None:
        parts.append(
            box(
                f"Rows were split in the order of {found.time!r}. The promise does not cover this: "
                "later rows need not be like earlier ones. The coverage above shows how well it "
                "held when the past had to predict the future.",
                kind="warn",
            )
        )
    if found.groups is not None:
        parts.append(
            box(
                f"Whole groups of {found.groups!r} were kept together, as if new rows came from "
                "new groups. Rows of a group are alike, so coverage is less certain than the "
                "ranges of luck say, the more so the fewer groups there are.",
                kind="warn",
            )
        )
    return [*parts, *(box(doubt, kind="warn") for doubt in found.doubts)]


def _making(found: Findings, seed: int) -> list[str]:
    return [
        items([*found.split.words, *found.settings]),
        text(
            "Kinds of columns were read off all rows; fill values, categories and everything else "
            f"were learnt from training rows alone. The seed is {seed}: the same call gives the "
            "same page."
        ),
    ]


def _use(found: Findings) -> list[str]:
    names = found.predictions.columns
    return [
        text("On new rows, in a file with the same columns, the target may be absent:"),
        code("python -m gt2lite predict model.json new.csv --out predictions.csv"),
        text("Or in Python:"),
        code(
            "from gt2lite.report import load\n\n"
            'model = load("model.json")\n'
            'frame = model.predict("new.csv", levels=[0.9])  # or a data frame\n'
            "print(model.notes)  # unseen categories, missing columns\n"
        ),
        text(
            f"The result has the column {names[0]!r} and both ends for each level, such as "
            f"'lower_{percent(found.main)}' and 'upper_{percent(found.main)}'. Beside this page "
            "lie predictions.csv, with the test rows, and model.json. The model file holds numbers "
            "and the column table above, no rows of your table and no program."
        ),
    ]
