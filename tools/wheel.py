"""Build wheel and sdist into dist/, install them into an empty environment, and try them there.

python tools/wheel.py

The wheel that is tried is built from the unpacked sdist and must hold the same files as the one
built from the checkout. Its environment has the package's own dependencies, with the hashes of
requirements.lock, and nothing else; it is made in a temporary folder and goes away with it.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIP = ("-m", "pip", "--disable-pip-version-check", "--no-input", "-qq")


class WheelError(Exception):
    """A distribution that cannot be built, or lacks something."""


def run(command: Sequence[str | Path], folder: Path) -> None:
    """Run a command in `folder`, with no path of ours to import from.

    Raises:
        WheelError: where it fails; what it said has been printed.
    """
    hidden = ("PYTHONPATH", "PYTHONHOME")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    done = subprocess.run(command, cwd=folder, env=environment, check=False)
    if done.returncode:
        raise WheelError(f"this failed: {' '.join(map(str, command))}")


def build(source: Path, target: Path, *kinds: str) -> list[Path]:
    """Build distributions of the project in `source` and return their files, in the order asked.

    Args:
        source: a checkout or an unpacked sdist.
        target: the folder for them.
        kinds: "sdist" and "wheel".
    """
    chosen = [part for kind in kinds for part in ("--target", kind)]
    run([sys.executable, "-m", "hatchling", "build", "-d", target, *chosen], source)
    endings = {"sdist": "*.tar.gz", "wheel": "*.whl"}
    return [next(target.glob(endings[kind])) for kind in kinds]


def contents(wheel: Path) -> dict[str, int]:
    """Return name and checksum of each file of a wheel but its own list of them."""
    with zipfile.ZipFile(wheel) as archive:
        members = archive.infolist()
    return {item.filename: item.CRC for item in members if not item.filename.endswith("RECORD")}


def unpack(sdist: Path, target: Path) -> Path:
    """Unpack an sdist and return its one folder."""
    with tarfile.open(sdist) as archive:
        archive.extractall(target, filter="data")
    (folder,) = target.iterdir()
    return folder


def own_dependencies(root: Path) -> list[str]:
    """Return the names of what the package needs, extras apart."""
    with (root / "pyproject.toml").open("rb") as file:
        wanted = tomllib.load(file)["project"]["dependencies"]
    return [re.split(r"[\s<>=~!;\[]", name)[0] for name in wanted]


def locked(lock: str, names: Iterable[str]) -> str:
    r"""Return the entries of a lock for `names`, with their hashes.

    >>> lock = "a==1 \\\n    --hash=sha256:0\n    # via b\nab==2 \\\n    --hash=sha256:1\n"
    >>> print(locked(lock, ["a"]))
    a==1 \
        --hash=sha256:0
    """
    found = []
    for name in names:
        entry = re.search(rf"^{re.escape(name)}==.*(\n {{4}}--hash.*)+", lock, re.MULTILINE)
        if entry is None:
            raise WheelError(f"requirements.lock has no entry for {name}")
        found.append(entry.group())
    return "\n".join(found)


def make_environment(folder: Path, requirements: Path, wheel: Path) -> Path:
    """Make an environment with the locked requirements and the wheel, and return its Python."""
    run([sys.executable, "-m", "venv", folder], folder.parent)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    run([python, *PIP, "install", "--require-hashes", "-r", requirements], folder)
    run([python, *PIP, "install", "--no-deps", "--no-index", wheel], folder)
    return python


def try_out(root: Path, dist: Path) -> None:
    """Build both distributions, and use what the sdist gives as a user would."""
    shutil.rmtree(dist, ignore_errors=True)
    sdist, wheel = build(root, dist, "sdist", "wheel")
    with tempfile.TemporaryDirectory() as place:
        work = Path(place).resolve()
        for name in ("sdist", "built", "empty"):
            (work / name).mkdir()
        (again,) = build(unpack(sdist, work / "sdist"), work / "built", "wheel")
        differing = sorted({name for name, _ in contents(wheel).items() ^ contents(again).items()})
        if differing:
            raise WheelError(f"wheels from checkout and sdist differ: {', '.join(differing)}")
        lock = (root / "requirements.lock").read_text(encoding="utf-8")
        requirements = work / "requirements.txt"
        requirements.write_text(locked(lock, own_dependencies(root)) + "\n", encoding="utf-8")
        python = make_environment(work / "env", requirements, again)
        shutil.copy(root / "tools" / "smoke.py", work)
        run([python, "-I", work / "smoke.py"], work / "empty")
    for path in (sdist, wheel):
        print(f"{path.relative_to(root)}: {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    try:
        try_out(ROOT, ROOT / "dist")
    except WheelError as error:
        sys.exit(f"wheel: {error}")
