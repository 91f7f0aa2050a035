"""Files that are not what they should be: corrupted by chance, or crafted to do harm."""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gt2lite import model_file as storage

Members = dict[str, bytes]
END = b"PK\x05\x06"


def corrupted(content: bytes, rng: np.random.Generator) -> bytes:
    """Return what a disk, a network or a careless program could make of a file."""
    return CORRUPTIONS[rng.integers(len(CORRUPTIONS))](bytearray(content), rng)


def flip_bits(content: bytearray, rng: np.random.Generator) -> bytes:
    """Turn over one bit, or a few."""
    for place in rng.integers(len(content), size=rng.choice([1, 1, 1, 2, 8])):
        content[place] ^= 1 << int(rng.integers(8))
    return bytes(content)


def set_bytes(content: bytearray, rng: np.random.Generator) -> bytes:
    """Write random bytes, zeros or ones over a stretch."""
    start, length = int(rng.integers(len(content))), int(rng.integers(1, 64))
    length = min(length, len(content) - start)
    kind = rng.integers(3)
    content[start : start + length] = rng.bytes(length) if kind else bytes(length)
    return bytes(content)


def truncate(content: bytearray, rng: np.random.Generator) -> bytes:
    """Cut off the end, or the beginning."""
    place = int(rng.integers(len(content)))
    return bytes(content[:place] if rng.integers(4) else content[place:])


def splice(content: bytearray, rng: np.random.Generator) -> bytes:
    """Repeat, remove or move a stretch."""
    a, b = sorted(int(i) for i in rng.integers(len(content), size=2))
    kind = rng.integers(3)
    if kind == 0:
        return bytes(content[:b] + content[a:])
    if kind == 1:
        return bytes(content[:a] + content[b:])
    return bytes(content[b:] + content[a:b] + content[:a])


def insert(content: bytearray, rng: np.random.Generator) -> bytes:
    """Put random bytes in between, before or behind."""
    place = int(rng.choice([0, len(content), rng.integers(len(content))]))
    return bytes(content[:place] + rng.bytes(int(rng.integers(1, 40))) + content[place:])


def sealed_again(content: bytearray, rng: np.random.Generator) -> bytes:
    """Turn over a bit within one member, and mend the archive's own checksum."""
    members = open_members(bytes(content))
    name = str(rng.choice(list(members)))
    members[name] = flip_bits(bytearray(members[name]), rng)
    return archive(members)


def noise(content: bytearray, rng: np.random.Generator) -> bytes:
    """Return random bytes, some with an archive's beginning."""
    return (b"PK\x03\x04" if rng.integers(2) else b"") + rng.bytes(int(rng.integers(1, 3000)))


CORRUPTIONS: list[Callable[[bytearray, np.random.Generator], bytes]] = [
    *[flip_bits, flip_bits, flip_bits, set_bytes, truncate],
    *[splice, insert, sealed_again, sealed_again, noise],
]


# ------------------------------------------------------------------ crafted


def crafted(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield a name and the content of files that must be refused, made from a sound one."""
    members = open_members(content)
    for name in members:
        yield f"{name} is missing", archive({n: m for n, m in members.items() if n != name})
        yield f"{name} is there twice", archive(members, twice=name)
        yield f"{name} is compressed", archive(members, compressed=name)
        yield f"{name} is empty", archive(members | {name: b""})
        for bit, flag in ((0, "encrypted"), (3, "of unknown length"), (5, "patched")):
            yield f"{name} is called {flag}", flagged(content, name, 1 << bit)
        for method in (1, 8, 12, 14, 93, 99):
            yield f"{name} has method {method}", with_method(content, name, method)
        for what, array in foreign_arrays():
            yield f"{name} is {what}", archive(members | {name: npy(array)})
        for what, member in described_wrongly(members[name]):
            yield f"{name} has {what}", archive(members | {name: member})
    for name in ("x.npy", "../x.npy", "/x.npy", "x", "x/", "header", "header.npy.npy"):
        yield f"{name!r} besides", archive(members | {name: members["params/c.npy"]})
    header = json.loads(storage_header(members))
    for what, text in headers(header):
        yield f"a header that is {what}", archive(members | {"header.npy": npy_bytes(text)})
    yield "too many members", archive(members | {f"{i}.npy": b"" for i in range(20_000)})
    yield "a comment behind it", content[:-2] + b"\x04\x00text"
    yield "another layout", content[:-22] + b"PK\x06\x07" + bytes(16) + content[-22:]
    yield "a directory without end", content[:-10] + b"\xff" * 8 + content[-2:]


def headers(header: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Yield headers that must be refused."""
    plain = {name: v for name, v in header.items() if name not in ("arrays", "digest")}
    for version in (0, -1, 3, 10**400, 2.0, 1.0, True, "2", None, [], {}, 1e300):
        yield f"of version {str(version)[:9]}", json.dumps({**header, "version": version}).encode()
    for name in ("format", "version", "arrays", "digest"):
        yield f"without {name}", json.dumps({n: v for n, v in header.items() if n != name}).encode()
    for name in ("arrays", "digest", "format"):
        for value in (None, 0, "", [], {}, "gt2lite run", {"params/c": [10**9]}):
            yield f"with {name} {value!r}", json.dumps({**header, name: value}).encode()
    yield "deep", b"[" * 100_000
    yield "deep and closed", b"[" * 100_000 + b"]" * 100_000
    yield "deep in names", b'{"a":' * 50_000 + b"0" + b"}" * 50_000
    yield "a long number", b"9" * 1_000_000
    yield "no text", b"\xff\xfe\x00{"
    yield "UTF-16", json.dumps(header).encode("utf-16")
    yield "a list", json.dumps([header]).encode()
    yield "a number", b"1e999"
    yield "nothing", b""
    yield "cut off", json.dumps(header).encode()[:-1]
    yield "too long", json.dumps({**header, "x": "x" * storage.MAX_HEADER_BYTES}).encode()
    yield "changed", json.dumps({**header, "gt2lite": "another"}).encode()
    yield "one name more", json.dumps({**header, "more": 1}).encode()
    yield "without the seal", json.dumps(plain).encode()


def foreign_arrays() -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    """Yield arrays of types that no file of ours has."""
    ones = np.ones((2, 3))
    for dtype in ("<c16", "<f4", ">f8", "<i8", "|b1", "<M8[s]", "<m8[s]", "<U3", "|S3", "|V8"):
        yield f"of {dtype}", np.zeros((2, 2), dtype=dtype)
    yield "in Fortran order", np.asfortranarray(ones)
    yield "of records", np.zeros(2, dtype=[("a", "<f8"), ("b", "<f8")])


def described_wrongly(member: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield members whose description is not that of their data."""
    length = int.from_bytes(member[8:10], "little")
    data = member[10 + length :]
    for what, text in {
        "a huge shape": "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000, 9), }",
        "an overflowing shape": "{'descr': '<f8', 'fortran_order': False, 'shape': "
        "(4294967296, 4294967296), }",
        "a negative shape": "{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }",
        "a true shape": "{'descr': '<f8', 'fortran_order': False, 'shape': (True,), }",
        "a shape by name": "{'descr': '<f8', 'fortran_order': False, 'shape': (x,), }",
        "a call": "{'descr': '<f8', 'fortran_order': False, 'shape': (len('a'),), }",
        "objects": "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "a list": "[1, 2]",
        "brackets": "(" * 9000,
        "an open string": "{'descr': '",
        "no description": "",
    }.items():
        yield what, described(text.encode(), data)
    yield "more data", member + bytes(8)
    yield "less data", member[:-1]
    yield "a later layout", member[:6] + b"\x02\x00" + member[8:]
    yield "a pickle", b"\x80\x04\x95"


# ------------------------------------------------------------------ archives


def open_members(content: bytes) -> Members:
    """Return the members of an archive."""
    with zipfile.ZipFile(io.BytesIO(content)) as found:
        return {name: found.read(name) for name in found.namelist()}


def archive(members: Members, twice: str = "", compressed: str = "") -> bytes:
    """Return an archive with sound checksums; one member may be there twice or be compressed."""
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w") as file:
        for name, member in members.items():
            method = zipfile.ZIP_DEFLATED if name == compressed else zipfile.ZIP_STORED
            file.writestr(zipfile.ZipInfo(name), member, compress_type=method)
    content = memory.getvalue()
    if twice:  # under a name of the same length, which is then put right
        other = "~" * len(twice)
        content = archive({**members, other: members[twice]})
        content = content.replace(other.encode(), twice.encode())
    return content


def sealed(header: dict[str, Any], arrays: dict[str, Any], kind: str = "model") -> bytes:
    """Return a file whose digest is right, whatever it holds."""
    whole = {"format": f"gt2lite {kind}", "version": storage.VERSION, **header}
    text = json.dumps(storage.seal(whole, arrays)).encode()
    parts = {"header.npy": npy_bytes(text)}
    return archive(parts | {f"{name}.npy": npy(value) for name, value in arrays.items()})


def storage_header(members: Members) -> bytes:
    """Return the text of a file's header."""
    return np.load(io.BytesIO(members["header.npy"])).tobytes()


def npy(array: np.ndarray[Any, Any]) -> bytes:
    """Return an array as a member."""
    memory = io.BytesIO()
    np.lib.format.write_array(memory, array, allow_pickle=False)
    return memory.getvalue()


def npy_bytes(text: bytes) -> bytes:
    """Return bytes as a member."""
    return npy(np.frombuffer(text, dtype=np.uint8))


def described(text: bytes, data: bytes) -> bytes:
    """Return data as a member with a description of any kind."""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text) + 1) + text + b"\n" + data


def flagged(content: bytes, name: str, bits: int) -> bytes:
    """Set bits among the flags of a member."""
    return _patched(content, name, 8, 6, lambda old: old | bits)


def with_method(content: bytes, name: str, method: int) -> bytes:
    """Say that a member is compressed in some way."""
    return _patched(content, name, 10, 8, lambda _: method)


def _patched(
    content: bytes, name: str, listed: int, local: int, change: Callable[[int], int]
) -> bytes:
    changed = bytearray(content)
    for mark, header, field in ((b"PK\x01\x02", 46, listed), (b"PK\x03\x04", 30, local)):
        start = content.find(mark)
        while start >= 0:
            if content[start + header :].startswith(name.encode()):
                (old,) = struct.unpack_from("<H", changed, start + field)
                struct.pack_into("<H", changed, start + field, change(old))
            start = content.find(mark, start + 1)
    return bytes(changed)
