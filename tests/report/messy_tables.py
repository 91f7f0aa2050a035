"""A table as people have them, and one that is easy."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd

COLORS = ["rot", "grün", "blau"]


def messy_csv(n=120, seed=0, color=None):
    """Return a German CSV file: semicolon, decimal comma, Latin-1, and columns of every kind."""
    rng = np.random.default_rng(seed)
    lines = ["Nr;Größe;Farbe;Garten;verkauft am;Notiz;Land;Zimmer;fast leer;Preis"]
    for i in range(n):
        size, yes, rooms = rng.uniform(20, 200), rng.random() < 0.5, rng.integers(1, 7)
        name = color or COLORS[rng.integers(3)]
        price = 2 * size + 40 * (name == "rot") + 30 * yes + rng.normal(scale=5)
        cells = [
            f"{i + 1000}",
            f"{size:.2f}".replace(".", ","),
            name,
            "ja" if yes else "nein",
            f"{1 + i % 28:02d}.{1 + i % 12:02d}.2023",
            f"Notiz {i}: schön",
            "DE",
            "" if rng.random() < 0.1 else str(rooms),
            "x" if i % 9 == 0 else "",
            f"{price:.1f}".replace(".", ","),
        ]
        lines.append(";".join(cells))
    return "\r\n".join(lines).encode("latin-1")


def easy(n=120, seed=0):
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=(2, n))
    return pd.DataFrame(
        {
            "x": x,
            "z": z,
            "person_id": np.arange(n) // 4 * 7,
            "day": pd.date_range("2024-01-01", periods=n),
            "y": 3 * x + z + rng.normal(size=n),
        }
    )


DAYS = pd.date_range("2023-02-09 00:30", periods=150, freq="31h")
FRENCH = ["janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août"]
MONTHS = ["Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August"]


def _write(columns, separator=",", above="", below=""):
    """Return a CSV file of columns of text, with cells in quotes where they need it."""
    file = io.StringIO()
    writer = csv.writer(file, delimiter=separator, lineterminator="\n")
    writer.writerows([list(columns), *zip(*columns.values(), strict=True)])
    return (above + file.getvalue() + below).encode()


def _dates(pattern, days=DAYS):
    return [day.strftime(pattern) for day in days]


def foreign_tables(n=150, seed=3):
    """Return CSV files by name, as others write them: the column "v" is the one in question.

    Each comes with what is to be read in "v": numbers or dates, or None if it cannot be read.
    """
    rng = np.random.default_rng(seed)
    x, v = rng.uniform(1, 9, n).round(2), rng.uniform(20, 90, n).round(3)
    y = (2 * x + v + rng.normal(size=n)).round(1)
    whole = rng.integers(900, 9_000, n)
    comma, point = [f"{a:.2f}".replace(".", ",") for a in x], [f"{a:g}" for a in v]
    tenths = [f"{a:.1f}" for a in v]
    days, hours = DAYS.floor("D"), DAYS.floor("min")
    zones = [("+02:00", "-07:00", "+09:00")[i % 3] for i in range(n)]
    german = [f"{d.day}. {MONTHS[d.month - 1]} {d.year}" for d in DAYS]
    mixed = [p if i % 3 else p.replace(".", ",") for i, p in enumerate(point)]
    share = [f"{100 * a:.0f}%" if i % 2 else f"{a}" for i, a in enumerate((v / 100).round(2))]
    money = [f"{'$' if i % 2 else '€'}{a}" for i, a in enumerate(v)]
    us, months = _dates("%m/%d/%Y", days), pd.date_range("1990-03-01", periods=n, freq="MS")

    def table(cells, separator=",", target=None, **around):
        first = comma if separator == ";" else [str(a) for a in x]
        target = [str(a) for a in y] if target is None else target
        return _write({"x": first, "v": cells, "y": target}, separator, **around)

    numbers = {
        "points beside commas": (table(point, ";"), v),
        "both marks, decided": (
            table([p.replace(".", ".,"[i % 3 == 0]) for i, p in enumerate(tenths)], ";"),
            list(map(float, tenths)),
        ),
        "both marks": (table(mixed, ";"), None),
        "pounds": (table([f"{a} lbs" for a in whole]), whole),
        "square feet": (table([f"{a:,} sqft" for a in whole]), whole),
        "dollars": (table([f"$ {a:,}" for a in whole]), whole),
        "currency code": (
            table([f"EUR {a:.2f}".replace(".", ",") for a in v], ";"),
            [float(f"{a:.2f}") for a in v],
        ),
        "percent": (table([f"{a} %" for a in v]), v),
        "unit at times": (table([f"{a} kg" if i % 2 else str(a) for i, a in enumerate(v)]), v),
        "percent at times": (table(share), None),
        "two currencies": (table(money), None),
        "two units": (
            table([f"{a} kg" if i % 3 else f"{a / 2} lb" for i, a in enumerate(v)]),
            None,
        ),
        "accountant": (table([f"({a})" if i % 4 == 0 else str(a) for i, a in enumerate(v)]), None),
        "lakhs": (table([f"1,{a % 90 + 10},000" for a in whole]), None),
        "negative dollars": (
            table([f"-${a}" if i % 5 == 0 else f"${a}" for i, a in enumerate(v)]),
            None,
        ),
        "below a limit": (
            table([f"<{a}" if i % 5 == 0 else f"{a}" for i, a in enumerate(v)]),
            None,
        ),
        "minus sign": (table([f"\u2212{a}" for a in v]), -v),
        "US dollars": (table([f"US${a}" for a in v]), v),
        "dollars of two countries": (
            table([f"{'US$' if i % 2 else 'A$'}{a}" for i, a in enumerate(v)]),
            None,
        ),
    }
    dates = {
        "Sep 27, 2023": (table(_dates("%b %d, %Y")), days),
        "September 27, 2023": (table(_dates("%A, %B %d, %Y")), days),
        "13-Mar-2023": (table(_dates("%d-%b-%Y")), days),
        "13-MAR-23": (table([d.upper() for d in _dates("%d-%b-%y")]), days),
        "12 May 2023": (table(_dates("%d %B %Y")), days),
        "12. Mai 2023": (table(german), days),
        "AM/PM": (table(_dates("%m/%d/%Y %I:%M %p")), hours),
        "AM/PM, comma": (
            table([d.replace(" 0", " ") for d in _dates("%m/%d/%Y, %I:%M:%S %p")]),
            hours,
        ),
        "yyyymmdd": (table(_dates("%Y%m%d")), days),
        "yyyymm": (table(_dates("%Y%m", months)), months),
        "mm.yyyy": (table(_dates("%m.%Y", months)), months),
        "mm.yyyy beside commas": (table(_dates("%m.%Y", months), ";"), months),
        "m/yyyy": (table(_dates("%m/%Y", months)), months),
        "Mar-2023": (table(_dates("%b-%Y", months)), months),
        "13MAR2023": (table([d.upper() for d in _dates("%d%b%Y")]), days),
        "Mar-13-2023": (table(_dates("%b-%d-%Y")), days),
        "23-03-13": (table(_dates("%y-%m-%d")), days),
        "m/yy": (table([f"{d.month}/{d.year % 100}" for d in months]), None),
        "Mar-23": (table(_dates("%b-%y", months)), None),
        "2023M03": (table(_dates("%YM%m", months)), None),
        "French": (table([f"{d.day} {FRENCH[d.month - 1]} {d.year}" for d in DAYS]), None),
        "hours and minutes": (table([f"{a:.0f}h {a % 60:.0f}m" for a in v]), None),
        "one zone": (table(_dates("%Y-%m-%d %H:%M+02:00")), hours),
        "UTC": (table(_dates("%Y-%m-%dT%H:%M:%SZ")), hours),
        "milliseconds": (table(_dates("%Y-%m-%dT%H:%M:%S.123Z")), hours),
        "three zones": (
            table([d + z for d, z in zip(_dates("%Y-%m-%d %H:%M"), zones, strict=True)]),
            hours,
        ),
        "US days": (table(us), days),
        "weeks": (table(_dates("%G-W%V-%u")), None),
        "two formats": (
            table([d if i % 2 else u for i, (d, u) in enumerate(zip(german, us, strict=True))]),
            None,
        ),
        "times of day": (table(_dates("%H:%M")), None),
        "days and months": (table(_dates("%d.%m.")), None),
    }
    targets = {
        "both marks": (table(point, ";", mixed), "decimal"),
        "words": (
            table(point, target=["n/k" if i % 12 == 0 else str(a) for i, a in enumerate(y)]),
            "'n/k'",
        ),
        "two currencies": (table(point, target=money), "'€"),
    }
    sums = {
        "Total": table(point, below=f"Total,{v.sum():.3f},{y.sum():.1f}\n"),
        "Summe": table(point, below=f"Summe:,,{y.sum():.1f}\n"),
        "mean": table(point, below=f"Mean,{v.mean():.3f},{y.mean():.1f}\n"),
        "of a part": _write(
            {"place": [*["Rom", "Ulm"] * 75, "Total Ulm"], "x": [*x, 9], "y": [*y, sum(y[::2])]}
        ),
        "without a word": table(point, below=f"{x.sum():.2f},{v.sum():.3f},{y.sum():.1f}\n"),
    }
    return {"numbers": numbers, "dates": dates, "targets": targets, "sums": sums}
