"""A table as people have them, and one that is easy."""

from __future__ import annotations

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
