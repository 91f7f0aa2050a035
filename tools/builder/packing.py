"""Zips that are the same bytes for the same files."""

from __future__ import annotations

import zipfile
from pathlib import Path

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the first date that a zip knows: the same book, the same bytes


def pack(folder: Path, target: Path) -> None:
    """Write all files of `folder` into the zip `target`, below a folder called like the zip."""
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = f"{target.stem}/{path.relative_to(folder).as_posix()}"
            entry = zipfile.ZipInfo(name, _EPOCH)
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)
