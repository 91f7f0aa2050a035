"""Build wheel and sdist into dist/, install the wheel into an empty environment, and try it there.

python tools/wheel.py

The wheel is built from the unpacked sdist, so both hold what they need. Its environment has the
package's own dependencies, with the hashes of requirements.lock, and nothing else; it is made in a
temporary folder and goes away with it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path

from book import ROOT, finish
from builder.source import BookError

PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "-qq")


def run(command: Sequence[str | Path], folder: Path) -> None:
    """Run a command in `folder`, with no path of ours to import from.

    Raises:
        BookError: if it fails; what it said has been printed.
    """
    hidden = ("PYTHONPATH", "PYTHONHOME")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    done = subprocess.run(command, cwd=folder, env=environment, check=False)
    if done.returncode:
        raise BookError(f"this failed: {' '.join(map(str, command))}")


def build(root: Path, dist: Path, work: Path) -> tuple[Path, Path]:
    """Build the sdist of a checkout, and from it the wheel; return both files.

    Args:
        root: the checkout.
        dist: the folder for them.
        work: a folder in which the sdist is unpacked.
    """
    hatch = [sys.executable, "-m", "hatchling", "build", "-d", dist, "--target"]
    run([*hatch, "sdist"], root)
    (sdist,) = dist.glob("*.tar.gz")
    shutil.unpack_archive(sdist, work, filter="data")
    run([*hatch, "wheel"], work / sdist.name.removesuffix(".tar.gz"))
    (wheel,) = dist.glob("*.whl")
    return sdist, wheel


def own_dependencies(root: Path) -> list[str]:
    """Return the names of what the package needs, extras apart."""
    with (root / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]
    return [re.split(r"[\s<>=~!;\[]", name)[0] for name in wanted]


def locked(lock: str, names: Iterable[str]) -> str:
    """Return the entries of a lock for `names`, with their hashes."""
    found = []
    for name in names:
        entry = re.search(rf"^{re.escape(name)}==.*(\n {{4}}--hash.*)+", lock, re.MULTILINE)
        if entry is None:
            raise BookError(f"requirements.lock has no entry for {name}")
        found.append(entry.group() + "\n")
    return "".join(found)


def try_out(root: Path, dist: Path) -> None:
    """Build both distributions, and use the wheel as a user would."""
    shutil.rmtree(dist, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        work = Path(place).resolve()
        made = build(root, dist, work)
        lock = (root / "requirements.lock").read_text(encoding="utf-8")
        (work / "requirements.txt").write_text(locked(lock, own_dependencies(root)))
        run([sys.executable, "-m", "venv", work / "env"], work)
        python = work / "env" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
        run([python, *PIP, "install", "--require-hashes", "-r", "requirements.txt"], work)
        run([python, *PIP, "install", "--no-deps", "--no-index", made[1]], work)
        run([python, "-I", root / "tools" / "smoke.py"], work / "env")  # not in the checkout
    for path in made:
        print(f"{path.relative_to(root)}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    sys.exit(finish("wheel", lambda: try_out(ROOT, ROOT / "dist")))
