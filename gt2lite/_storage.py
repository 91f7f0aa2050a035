"""One file for a fitted system: an `.npz` of plain arrays with a JSON header, no pickle.

Nothing in the file can run: object arrays are refused, the header is text. What is
not such a file, or only a part of one, gets a `ModelFileError` that says so.
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

FORMAT, VERSION = "gt2lite model", 1


class ModelFileError(ValueError):
    """A file is not a model of this library, or is damaged."""


def write(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write header and arrays to `path`, which either has all of it afterwards or is untouched."""
    target = Path(path)
    text = json.dumps({"format": FORMAT, "version": VERSION, **header})
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            np.savez(
                file,
                header=np.frombuffer(text.encode(), dtype=np.uint8),
                **arrays,  # type: ignore[arg-type]
            )
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise


def read(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a file that `write` made."""
    try:
        with open(path, "rb") as file:
            if file.read(2) != b"PK":
                raise ModelFileError(f"{path} is not a gt2lite model: it is no .npz file")
            file.seek(0)
            with np.load(file, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
        header = json.loads(arrays.pop("header").tobytes().decode())
    except KeyError:
        raise ModelFileError(f"{path} is not a gt2lite model: it has no header") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ModelFileError(f"{path} is damaged or incomplete: {error}") from error
    except ModelFileError:
        raise
    except ValueError as error:  # object arrays, a header that is no JSON or no text
        raise ModelFileError(f"{path} is not a gt2lite model, or is damaged: {error}") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a gt2lite model: its header is another's")
    if header.get("version") != VERSION:
        raise ModelFileError(
            f"{path} has format version {header.get('version')!r}, this gt2lite reads {VERSION}: "
            "load it with the version that wrote it, or train again"
        )
    return header, arrays


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
