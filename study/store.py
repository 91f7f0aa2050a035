"""A folder of finished runs, so that nothing that was computed is computed again.

A run is kept under a key that is made of all that determines it, see `study.keys`. Files
appear whole or not at all; any number of processes may share a folder, and a run that one
of them has claimed is not begun by another. A process that is killed blocks nobody: its claims
end with it, and the next one that opens the folder removes what it left.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import time
import warnings
from pathlib import Path
from typing import Any

from gt2lite._validation import Array
from gt2lite.model_file import FileFormatError
from study import locks
from study import npz as storage

LAYOUT = 1

LEFTOVER_SECONDS = 60.0
"""A file that has been half-written for so long belongs to a process that was killed."""

_MARK = "store.json"
_RUNS = re.compile(r"[0-9a-f]{24}\.(npz|claim|damaged(-[0-9a-f]{16})?)")
_TEMPORARY = re.compile(  # the last two are names that earlier versions used
    r"\.([0-9a-f]{24}\.npz|store\.json)\.[0-9a-f]{16}|\.[0-9a-f]{24}\.npz\.\w{8}|store\.\d+"
)


class StoreError(RuntimeError):
    """A folder cannot serve as a store."""


class DamagedRunWarning(UserWarning):
    """A stored run could not be read; it was set aside and will be computed again."""


class Store:
    """Runs in a folder, one file each.

    Args:
        folder: made where it does not exist. One that was written by another version of
            this class, or that holds something else, is refused.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        mark = self.folder / _MARK
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            raise StoreError(f"{self.folder} is no folder: name another one") from error
        # Looked at before the mark is: another process adds runs only once the mark is there.
        found = {path.name for path in self.folder.iterdir()}
        if not os.path.lexists(mark):
            foreign = sorted(
                name for name in found if not (_RUNS.fullmatch(name) or _TEMPORARY.fullmatch(name))
            )
            if foreign:
                raise StoreError(
                    f"{self.folder} is not a store and not empty, it holds {foreign[0]!r}: "
                    "name another folder"
                )
            text = json.dumps({"layout": LAYOUT}).encode()
            storage.replace(mark, lambda file: file.write(text))
        _check_layout(mark)
        for name in found:
            _clean(self.folder / name)

    @classmethod
    def default(cls) -> Store:
        """Return the store that `GT2LITE_STORE` names, else one in the working folder."""
        return cls(os.environ.get("GT2LITE_STORE") or "gt2lite-store")

    def path(self, key: str) -> Path:
        """Return the file of a run."""
        return self.folder / f"{key}.npz"

    def has(self, key: str) -> bool:
        """Return whether a run is there, without reading it."""
        return self.path(key).exists()

    def load(self, key: str) -> tuple[dict[str, Any], dict[str, Array]] | None:
        """Return header and arrays of a run, or None where it is not there.

        A file that cannot be read is renamed, with a warning, so that it can be looked at.
        """
        path = self.path(key)
        try:
            header, arrays = storage.read(path, "run")
            if header.get("key") != key:
                raise FileFormatError(f"{path} holds the run {header.get('key')!r}")
        except FileNotFoundError:
            return None
        except FileFormatError as error:
            _set_aside(path, error)
            return None
        return header, arrays

    def save(self, key: str, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        """Keep a finished run, and give up the claim on it."""
        whole = {"key": key, **header}
        try:
            storage.write(self.path(key), "run", whole, arrays)
        except FileNotFoundError:  # it took so long that another process saw a leftover in it
            storage.write(self.path(key), "run", whole, arrays)
        self.release(key)

    def claim(self, key: str) -> bool:
        """Say that this process is about to compute a run; False where another one is at it."""
        return locks.take(self._claim(key))

    def release(self, key: str) -> None:
        """Give up a claim of this process."""
        locks.give_up(self._claim(key))

    def _claim(self, key: str) -> Path:
        return self.folder / f"{key}.claim"


def _set_aside(path: Path, why: FileFormatError) -> None:
    aside = path.with_suffix(".damaged")
    if os.path.lexists(aside):
        aside = aside.with_name(f"{aside.name}-{secrets.token_hex(8)}")
    with contextlib.suppress(FileNotFoundError):  # another process has been quicker
        os.replace(path, aside)
    warnings.warn(
        f"{why}; set aside as {aside.name}, it will be computed again",
        DamagedRunWarning,
        stacklevel=3,
    )


def _check_layout(mark: Path) -> None:
    try:
        layout = json.loads(mark.read_text(encoding="utf-8"))["layout"]
    except PermissionError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(
            f"{mark} is damaged ({type(error).__name__}: {error}): delete it if the runs beside "
            "it are your own, it will be made again; or name another folder"
        ) from error
    if layout != LAYOUT:
        raise StoreError(
            f"{mark.parent} has store layout {layout!r}, this gt2lite uses {LAYOUT}: "
            "name another folder"
        )


def _clean(path: Path) -> None:
    """Remove what a killed process left under this name; nothing where it may not be removed."""
    with contextlib.suppress(OSError):
        if path.suffix == ".claim":
            locks.remove_if_free(path)
        elif _TEMPORARY.fullmatch(path.name):
            age = time.time() - path.stat().st_mtime
            if abs(age) > LEFTOVER_SECONDS:  # a date ahead is one of a clock that was wrong
                path.unlink()
