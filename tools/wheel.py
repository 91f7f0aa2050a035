"""Build wheel and sdist into dist/, install the wheel into an empty environment, and try it there.

python tools/wheel.py

The wheel is built from the sdist, so both hold what they need. Its environment has the package's
own dependencies, with the hashes of requirements.lock, and nothing else; it is made in a temporary
folder and goes away with it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from book import ROOT, finish
from builder.source import BookError

PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "-qq")


def build(root: Path, dist: Path) -> tuple[Path, Path]:
    """Build the sdist of a checkout into `dist`, and from it the wheel; return both files."""
    hatch = [sys.executable, "-m", "hatchling", "build", "-d", dist, "--target", "sdist"]
    subprocess.run(hatch, cwd=root, check=True)
    (sdist,) = dist.glob("*.tar.gz")
    offline = ["--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([sys.executable, *PIP, "wheel", *offline, "-w", dist, sdist], check=True)
    (wheel,) = dist.glob("*.whl")
    return sdist, wheel


def locked(root: Path) -> str:
    """Return the entries of the lock, with their hashes, for what the package itself needs."""
    with (root / "pyproject.toml").open("rb") as file:
        needs = tomllib.load(file)["project"]["dependencies"]
    names = "|".join(re.escape(re.split(r"[\s<>=~!;\[]", need)[0]) for need in needs)
    lock = (root / "requirements.lock").read_text(encoding="utf-8")
    entries = list(re.finditer(rf"^(?:{names})==.*(\n {{4}}--hash.*)+\n", lock, re.MULTILINE))
    if len(entries) < len(needs):
        raise BookError(f"requirements.lock lacks an entry for one of {', '.join(needs)}")
    return "".join(entry[0] for entry in entries)


def try_out(root: Path, dist: Path) -> None:
    """Build both distributions, and use the wheel as a user would."""
    shutil.rmtree(dist, ignore_errors=True)
    made = build(root, dist)
    with tempfile.TemporaryDirectory() as place:
        work = Path(place).resolve()
        (work / "requirements.txt").write_text(locked(root))
        subprocess.run([sys.executable, "-m", "venv", work / "env"], check=True)
        python = work / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        pip = [python, *PIP, "install"]
        subprocess.run([*pip, "--require-hashes", "-r", work / "requirements.txt"], check=True)
        subprocess.run([*pip, "--no-deps", "--no-index", made[1]], check=True)
        # isolated, and not in the checkout
        subprocess.run([python, "-I", root / "tools" / "smoke.py"], cwd=work, check=True)
    for path in made:
        print(f"{path.relative_to(root)}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(finish("wheel", lambda: try_out(ROOT, ROOT / "dist")))
