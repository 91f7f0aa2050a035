"""Attack files and stores: ``python tools/campaign/files.py --cases 20000 --seed 0``.

Every corrupted or crafted file must be refused by a `FileFormatError`, or load to exactly what
was written; no kill, crowd, full disk or read-only folder may lose a run or block the next one.
Prints counts; the exit status is that of the worst.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import hostile
import numpy as np
import stores

from gt2lite import model_file as storage

MODELS = Path(__file__).resolve().parents[2] / "tests" / "model_files"

CASES = 20_000
"""Corrupted files."""


def corruptions(folder: Path, cases: int, seed: int) -> Counter[str]:
    """Corrupt files of each kind; count what became of them."""
    rng = np.random.default_rng(seed)
    files = sorted((MODELS / f"v{storage.VERSION}").glob("*.npz"))
    sound = [(path.read_bytes(), _content(path)) for path in files]
    picked = (sound[rng.integers(len(sound))] for _ in range(cases))
    return _count(folder, ((hostile.corrupted(b, rng), expected) for b, expected in picked))


def crafted(folder: Path) -> Counter[str]:
    """Read crafted files; each of them must be refused."""
    path = MODELS / f"v{storage.VERSION}" / "search.npz"
    return _count(folder, ((b, None) for _, b in hostile.crafted(path.read_bytes())))


def _count(folder: Path, files: Iterable[tuple[bytes, str | None]]) -> Counter[str]:
    counts, path = Counter[str](), folder / "file.npz"
    for content, expected in files:
        counts["cases"] += 1
        path.write_bytes(content)
        try:
            loaded = _content(path)
        except storage.FileFormatError:
            counts["refused"] += 1
        except Exception as error:
            counts["wrong"] += 1
            print(f"case {counts['cases']}: {type(error).__name__}: {error}", file=sys.stderr)
        else:
            equal = loaded == expected
            counts["loaded equal" if equal else "wrong"] += 1
            if not equal:
                print(f"case {counts['cases']}: loaded as something else", file=sys.stderr)
    return counts


def _content(path: Path) -> str:
    header, arrays = storage.read(path, "model")
    bits = {name: [str(v.dtype), v.shape, v.tobytes().hex()] for name, v in arrays.items()}
    return json.dumps([header, bits], sort_keys=True)


def parts(
    cases: int, kills: int, openings: int, seed: int
) -> dict[str, Callable[[Path], Counter[str]]]:
    """Return the attacks by name: what each does in a folder, and counts."""
    return {
        "corrupted files": lambda folder: corruptions(folder, cases, seed),
        "crafted files": crafted,
        "kills": lambda folder: stores.kills(folder, kills, seed),
        "openings at once": lambda folder: stores.openings(folder, openings),
        "three writers": stores.three_writers,
        "full disk": lambda folder: stores.full_disk(folder, seed),
        "read-only folder": stores.read_only,
    }


def run(cases: int, seed: int) -> list[tuple[str, int, int]]:
    """Make all attacks, the others in proportion to the corrupted files: (name, cases, wrong)."""
    share = cases / CASES
    found = []
    for name, part in parts(cases, round(120 * share) or 1, round(400 * share) or 1, seed).items():
        with tempfile.TemporaryDirectory() as folder:
            counts = part(Path(folder))
        n = next(n for what, n in counts.items() if what != "wrong")
        found.append((name, n, counts["wrong"]))
    return found


def main() -> int:
    """Run the campaign; return 1 where anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=CASES, help="corrupted files")
    parser.add_argument("--kills", type=int, default=120, help="killed processes")
    parser.add_argument("--openings", type=int, default=400, help="new stores, opened at once")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    print(f"seed {given.seed}")
    wrong = 0
    for name, part in parts(given.cases, given.kills, given.openings, given.seed).items():
        clock = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            counts = part(Path(folder))
        wrong += counts["wrong"]
        told = ", ".join(f"{what} {n}" for what, n in counts.items() if what != "wrong")
        print(f"{name:17} {told}, wrong {counts['wrong']} ({time.monotonic() - clock:.0f} s)")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
