"""Standings: a row for each contestant, a column for each data set, the best in bold."""

from __future__ import annotations

from typing import NamedTuple

from study.field.tables import Values, title


class Standing(NamedTuple):
    """What a contestant is called, and its mean on each data set, written down."""

    title: str
    means: dict[str, str]  # empty where it did not take part


def standings(
    values: Values, form: str = "{:.2f}", *, scale: float = 1.0, mark_best: bool = True
) -> list[Standing]:
    """Return means over the seeds, for `study.pages.table` with `standings_columns`.

    Args:
        values: see `study.field.tables.values_of`.
        form: how a mean is written.
        scale: what it is multiplied by before.
        mark_best: whether the smallest of a column is printed bold.
    """
    means = {name: {d: float(v.mean()) for d, v in values[name].items()} for name in values}
    datasets = _datasets(values)
    best = {d: min(of_one[d] for of_one in means.values() if d in of_one) for d in datasets}
    rows = []
    for name, of_one in means.items():
        texts = dict.fromkeys(datasets, "")
        for dataset, mean in of_one.items():
            text = form.format(scale * mean)
            texts[dataset] = f"**{text}**" if mark_best and mean == best[dataset] else text
        rows.append(Standing(title(name), texts))
    return rows


def standings_columns(values: Values) -> dict[str, str]:
    """Return the columns of a table of standings."""
    return {"": "{title}"} | {d.upper(): f"{{means[{d}]}}" for d in _datasets(values)}


def _datasets(values: Values) -> list[str]:
    return list(dict.fromkeys(name for of_one in values.values() for name in of_one))
