"""One file for one result: an `.npz` of plain arrays with a JSON header, no pickle.

Nothing in the file can run: object arrays are refused, the header is text. What is
not such a file, or only a part of one, gets a `FileFormatError` that says so.
"""

from __future__ import annotations

import json
import os
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from gt2lite._checks import Array

VERSION = 1

Location = str | os.PathLike[str]


class FileFormatError(ValueError):
    """A file is not what it should be: foreign, damaged, incomplete or of another version."""


def write(path: Location, kind: str, header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write a file of a `kind`; afterwards `path` has all of it, or is as it was before."""
    whole = {"format": f"gt2lite {kind}", "version": VERSION, **header}
    text = json.dumps(whole, default=lambda value: value.item())  # NumPy's numbers are numbers
    content = {"header": np.frombuffer(text.encode(), dtype=np.uint8), **arrays}
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(file, **content)  # type: ignore[arg-type]
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def read(path: Location, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a file that `write` made."""
    try:
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                raise FileFormatError(f"{path} is not a gt2lite {kind}: it is no .npz file")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop("header").tobytes().decode())
    except FileFormatError:
        raise
    except KeyError:
        raise FileFormatError(f"{path} is not a gt2lite {kind}: it has no header") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise FileFormatError(f"{path} is damaged or incomplete: {error}") from error
    except ValueError as error:  # object arrays, a header that is no JSON or no text
        raise FileFormatError(f"{path} is not a gt2lite {kind}, or is damaged: {error}") from error
    if not isinstance(header, dict) or header.get("format") != f"gt2lite {kind}":
        raise FileFormatError(f"{path} is not a gt2lite {kind}: its header is another's")
    if header.get("version") != VERSION:
        raise FileFormatError(
            f"{path} has format version {header.get('version')!r}, this gt2lite reads {VERSION}: "
            "read it with the version that wrote it, or make it again"
        )
    return header, arrays


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
