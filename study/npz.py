"""Container of stored runs: an `.npz` of plain arrays with a JSON header, no pickle.

A file is data: nothing in it is run or evaluated, and it takes no more memory than four times
its own size, the header aside (100 MB at most). It holds a member `header`, JSON in bytes, and
one member for each array: 64-bit floats, the lowest byte first, rows after one another, not
compressed. The header lists the arrays with their shapes and has a SHA-256 of all of it. What
is not such a file, or not the whole of it, gets a `FileFormatError` that says so, whatever went
wrong inside.

The promise: a file that a release wrote is read by every later one, and gives the same arrays.
Version 1 had neither list nor digest; all other checks hold for it, too. A file of a version
that is newer than this code is refused, not guessed at.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import re
import secrets
import stat
import struct
import zipfile
from collections.abc import Callable
from numbers import Integral, Real
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from gt2lite.model_file import FileFormatError

Array = NDArray[np.float64]

VERSION = 2

MAX_BYTES = 2**31 - 1
"""Of a file; beyond it the archive would need another layout."""
MAX_HEADER_BYTES = 2**22
MAX_ARRAYS = 10_000

Location = str | os.PathLike[str]

_HEADER, _SUFFIX = "header", ".npy"
OWN_KEYS = frozenset({"format", "version", "arrays", "digest"})
"""What a header has by itself; the rest is the caller's."""
_FLOATS, _BYTES = "<f8", "|u1"
_UTF8_NAME = 0x800  # the one flag of a member that says nothing about its content
_ENTRY_BYTES = 512  # of a member in the archive's directory, at most
_END = struct.Struct("<4s4HLLH")  # the last record of an archive
_END64_BYTES = 20  # of the record before it, in an archive of another layout
_MAGIC = b"\x93NUMPY\x01\x00"
_DESCRIPTION = re.compile(
    rb"\{'descr': '([^']+)', 'fortran_order': False, "
    rb"'shape': \((|\d{1,10},|\d{1,10}(?:, \d{1,10}){1,15})\), \} *\n"
)
_MACHINE = (errno.EMFILE, errno.ENFILE)  # errors of opening that tell nothing about the file


def write(path: Location, kind: str, header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write a file of a `kind`; afterwards `path` has all of it, or is as it was before.

    Args:
        path: where; what was there before is replaced.
        kind: what it holds, such as "model".
        header: plain values. Numbers of any type come back as int or float.
        arrays: numbers; they come back as 64-bit floats.
    """
    taken = [name for name in sorted(OWN_KEYS) if name in header] + [
        name for name in arrays if name == _HEADER
    ]
    if taken:
        raise ValueError(f"{', '.join(taken)}: the file has entries of its own with this name")
    floats = {name: _as_floats(name, value) for name, value in arrays.items()}
    whole = seal({"format": f"gt2lite {kind}", "version": VERSION, **header}, floats)
    text = json.dumps(whole).encode()
    size = sum(value.nbytes for value in floats.values())
    if len(floats) > MAX_ARRAYS or len(text) > MAX_HEADER_BYTES or size > MAX_BYTES - 2**24:
        raise ValueError(
            f"{len(floats)} arrays of {size} bytes with a header of {len(text)} are too much for "
            f"a gt2lite {kind}, which has at most {MAX_ARRAYS} arrays, {MAX_BYTES} bytes, and "
            f"{MAX_HEADER_BYTES} in its header"
        )
    content: dict[str, Any] = {_HEADER: np.frombuffer(text, dtype=np.uint8), **floats}
    replace(path, lambda file: np.savez(file, **content))


def read(path: Location, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    """Return the header and the arrays of a file that `write` made.

    Raises:
        FileFormatError: where it is no such file, or not as it was written.
        FileNotFoundError, PermissionError: where it cannot be opened.
    """
    try:
        with _open(path) as file:
            return _read(file, kind)
    except FileFormatError as error:
        raise FileFormatError(f"{path} {error}") from error.__cause__


def seal(header: dict[str, Any], arrays: dict[str, Array]) -> dict[str, Any]:
    """Return a header as plain values, with a list of the arrays and a digest of everything."""
    shapes = {name: list(value.shape) for name, value in arrays.items()}
    plain: dict[str, Any] = json.loads(
        json.dumps({**header, "arrays": shapes, "digest": ""}, default=_plain)
    )
    return {**plain, "digest": _digest(plain, arrays)}


def replace(path: Location, write: Callable[[BinaryIO], object]) -> None:
    """Let `write` make a file, which takes its name only when all of it is on the disk.

    Until then it is called `.name.` and 16 hexadecimal digits; a killed process leaves that.
    """
    target = Path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"{path} cannot be written: there is no folder {target.parent}. Make it first, such as "
            "by Path(...).mkdir(parents=True)"
        )
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder: name a file in it, such as {target.name}.npz")
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


# ------------------------------------------------------------------ inside


def _open(path: Location) -> BinaryIO:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileFormatError("is no file: it is a folder, a pipe or a device")
        return open(path, "rb")
    except (FileNotFoundError, PermissionError):
        raise
    except OSError as error:
        if error.errno in _MACHINE:
            raise
        raise FileFormatError(f"cannot be opened: {error}") from error


def _read(file: BinaryIO, kind: str) -> tuple[dict[str, Any], dict[str, Array]]:
    try:
        members = _members(file, kind)
        if _HEADER not in members:
            raise FileFormatError(f"is not a gt2lite {kind}: it has no header")
        text = members.pop(_HEADER).tobytes()
        header = json.loads(text.decode())
        if not isinstance(header, dict) or header.get("format") != f"gt2lite {kind}":
            raise FileFormatError(f"is not a gt2lite {kind}: its header is another's")
        _check_version(header.get("version"))
        if header["version"] > 1:
            _check_whole(header, members)
    except FileFormatError:
        raise
    except Exception as error:  # a damaged file can raise anything
        what = f"{type(error).__name__}: {error}"
        raise FileFormatError(f"is damaged or incomplete ({what})") from error
    return {name: v for name, v in header.items() if name not in ("arrays", "digest")}, members


def _members(file: BinaryIO, kind: str) -> dict[str, NDArray[Any]]:
    """Return what an archive holds; each member is read to its end, where its checksum is."""
    size = _check_ends(file, kind)
    with zipfile.ZipFile(file) as archive:
        entries = archive.infolist()
        names = [entry.filename.removesuffix(_SUFFIX) for entry in entries]
        if len(set(names)) < len(names):
            raise FileFormatError("is damaged: two of its members have one name")
        if sum(entry.file_size for entry in entries) > size:
            raise FileFormatError("is damaged: its members are larger than the file")
        for entry in entries:
            if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
                raise FileFormatError(f"is not a gt2lite {kind}: its members are compressed")
            if not entry.filename.endswith(_SUFFIX) or entry.flag_bits & ~_UTF8_NAME:
                raise FileFormatError(f"is not a gt2lite {kind}: it holds {entry.filename!r}")
            if entry.filename == _HEADER + _SUFFIX and entry.file_size > MAX_HEADER_BYTES + 2**10:
                raise FileFormatError(f"has a header of {entry.file_size} bytes: that is too long")
        return {
            name: _array(name, archive.read(entry))
            for name, entry in zip(names, entries, strict=True)
        }


def _check_ends(file: BinaryIO, kind: str) -> int:
    """Return the size of a file if it begins and ends as an archive of few members does."""
    size = os.fstat(file.fileno()).st_size
    if file.read(2) != b"PK":
        raise FileFormatError(f"is not a gt2lite {kind}: it is no .npz file")
    if size > MAX_BYTES:
        raise FileFormatError(f"has {size} bytes, more than the {MAX_BYTES} of a gt2lite {kind}")
    file.seek(max(size - _END.size - _END64_BYTES, 0))
    tail = file.read()
    mark, _, _, _, n_members, directory, _, comment = _END.unpack(tail[-_END.size :])
    if mark != b"PK\x05\x06" or comment or tail.startswith(b"PK\x06\x07"):
        raise FileFormatError("is damaged or incomplete: it does not end as an .npz file does")
    if n_members > MAX_ARRAYS + 1 or directory > (MAX_ARRAYS + 1) * _ENTRY_BYTES:
        raise FileFormatError(f"is not a gt2lite {kind}: it has too many members")
    file.seek(0)
    return size


def _array(name: str, member: bytes) -> NDArray[Any]:
    """Return the array in a member; its description is matched, not evaluated."""
    start = len(_MAGIC) + 2
    end = start + int.from_bytes(member[start - 2 : start], "little")
    found = _DESCRIPTION.fullmatch(member[start:end])
    dtype = _BYTES if name == _HEADER else _FLOATS
    if not member.startswith(_MAGIC) or found is None or found[1].decode() != dtype:
        raise FileFormatError(f"is damaged: its array {name!r} is not one of {dtype} in C order")
    shape = tuple(int(n) for n in found[2].split(b",") if n)
    if math.prod(shape) * np.dtype(dtype).itemsize != len(member) - end:
        raise FileFormatError(f"is damaged: the size of its array {name!r} is not that of {shape}")
    return np.frombuffer(member, dtype, offset=end).reshape(shape).astype(dtype[1:])  # a copy


def _check_version(version: Any) -> None:
    if type(version) is not int or version < 1:
        raise FileFormatError(f"has format version {version!r}, which is none")
    if version > VERSION:
        raise FileFormatError(
            f"has format version {version}, this gt2lite reads up to {VERSION}: install a newer "
            "gt2lite, or make the file again with this one"
        )


def _check_whole(header: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Check that the arrays are those that the header lists, and that nothing has changed."""
    if header["arrays"] != {name: list(value.shape) for name, value in arrays.items()}:
        raise FileFormatError("is damaged: its arrays are not those that its header lists")
    if header["digest"] != _digest({**header, "digest": ""}, arrays):
        raise FileFormatError("is damaged: its content is not what was written")


def _digest(header: dict[str, Any], arrays: dict[str, Array]) -> str:
    digest = hashlib.sha256(json.dumps(header, sort_keys=True).encode())
    for _, value in sorted(arrays.items()):
        digest.update(np.ascontiguousarray(value, dtype=_FLOATS).data)
    return digest.hexdigest()


def _as_floats(name: str, value: Any) -> Array:
    array = np.asarray(value)
    if not np.can_cast(array.dtype, np.float64):
        raise TypeError(f"{name} must hold real numbers, got an array of {array.dtype}")
    return np.asarray(array, dtype=_FLOATS, order="C")


def _plain(value: Any) -> Any:
    """Return a number of any type as one that JSON knows."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    return value.item()  # NumPy's truth values
