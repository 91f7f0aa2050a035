"""A folder of finished runs, so that nothing that was computed is computed again.

A run is kept under a key that is made of all that determines it, see `gt2lite.study.keys`. Files
appear whole or not at all; any number of processes may share a folder, and a run that one
of them has claimed is not begun by another.
"""

from __future__ import annotations

import json
import os
import socket
import time
import warnings
from pathlib import Path
from typing import Any

from gt2lite import _files as storage
from gt2lite._checks import Array

LAYOUT = 1
_MARK = "store.json"
_CLAIM_SECONDS = 3600.0  # of another machine, whose processes cannot be seen


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
        if mark.exists():
            try:
                layout = json.loads(mark.read_text(encoding="utf-8"))["layout"]
            except (ValueError, KeyError, TypeError) as error:
                raise StoreError(f"{mark} is damaged ({error}): delete it if the runs beside it "
                                 "are your own, or name another folder") from error  # fmt: skip
            if layout != LAYOUT:
                raise StoreError(
                    f"{self.folder} has store layout {layout!r}, this gt2lite uses {LAYOUT}: "
                    "name another folder"
                )
            return
        if self.folder.is_dir() and any(self.folder.iterdir()):
            raise StoreError(f"{self.folder} is not a store and not empty: name another folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        # Two processes may both get here: they write the same, and each file appears whole.
        temporary = mark.with_suffix(f".{os.getpid()}")
        temporary.write_text(json.dumps({"layout": LAYOUT}), encoding="utf-8")
        os.replace(temporary, mark)

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
                raise storage.FileFormatError(f"{path} holds the run {header.get('key')!r}")
        except FileNotFoundError:
            return None
        except storage.FileFormatError as error:
            aside = path.with_suffix(".damaged")
            os.replace(path, aside)
            warnings.warn(
                f"{error}; set aside as {aside.name}, it will be computed again",
                DamagedRunWarning,
                stacklevel=2,
            )
            return None
        return header, arrays

    def save(self, key: str, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        """Keep a finished run, and give up the claim on it."""
        storage.write(self.path(key), "run", {"key": key, **header}, arrays)
        self.release(key)

    def claim(self, key: str) -> bool:
        """Say that this process is about to compute a run; False where another one is at it."""
        if os.name == "nt":  # no way to see there whether a process lives: work may be done twice
            return True
        claim = self._claim(key)
        for _ in range(2):
            try:
                with claim.open("x", encoding="utf-8") as file:
                    file.write(_owner())
                return True
            except FileExistsError:
                if self.claimed(key):
                    return False
                claim.unlink(missing_ok=True)  # its owner is gone
        return False

    def claimed(self, key: str) -> bool:
        """Return whether another process that still lives has claimed a run."""
        claim = self._claim(key)
        try:
            host, _, pid = claim.read_text(encoding="utf-8").rpartition(" ")
            age = time.time() - claim.stat().st_mtime
        except FileNotFoundError:
            return False
        if f"{host} {pid}" == _owner() or age > _CLAIM_SECONDS:
            return False
        if host != socket.gethostname() or not pid.isdigit():  # written this moment, or elsewhere
            return True
        try:
            os.kill(int(pid), 0)  # asks, does not kill
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True

    def release(self, key: str) -> None:
        """Give up a claim of this process."""
        claim = self._claim(key)
        try:
            mine = claim.read_text(encoding="utf-8") == _owner()
        except FileNotFoundError:
            return
        if mine:
            claim.unlink(missing_ok=True)

    def _claim(self, key: str) -> Path:
        return self.folder / f"{key}.claim"


def _owner() -> str:
    return f"{socket.gethostname()} {os.getpid()}"
