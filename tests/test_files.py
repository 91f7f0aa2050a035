"""Facts about files: what is read is what was written, or it is refused."""

import json
import os
import struct
import sys
import tracemalloc
import warnings
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from model_files.make import KINDS, predictions

from gt2lite import GT2Regressor
from gt2lite import model_file as storage
from gt2lite.model_file import FileFormatError

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools" / "campaign"))
import hostile  # noqa: E402

FILES = ROOT / "tests" / "model_files"
SOUND = (FILES / "v2" / "conformal.npz").read_bytes()
FIRST = (FILES / "v1" / "conformal.npz").read_bytes()
each_version = pytest.mark.parametrize("content", [FIRST, SOUND], ids=["v1", "v2"])


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.npz"


def read(path, content):
    path.write_bytes(content)
    return storage.read(path, "model")


def refuse(path, content, match=""):
    with pytest.raises(FileFormatError, match=rf"model\.npz .*{match}"):
        read(path, content)


# ------------------------------------------------------------------ what is written


def test_what_is_written_is_read(path):
    arrays = {
        "number": np.array(3.0),
        "empty": np.zeros((0, 4)),
        "table": np.arange(6.0).reshape(2, 3),
        "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "every/second": np.arange(10.0)[::2],
        "counts": np.arange(3),
        "odd values": np.array([np.nan, np.inf, -0.0, 5e-324]),
    }
    header = {"name": "año", "n": np.int64(3), "x": np.float32(0.5), "yes": np.bool_(True)}
    storage.write(path, "model", header | {"half": Fraction(1, 2), "none": None}, arrays)
    found, values = storage.read(path, "model")
    assert found == {
        **{"format": "gt2lite model", "version": 2, "name": "año", "n": 3, "x": 0.5},
        **{"yes": True, "half": 0.5, "none": None},
    }
    assert list(values) == list(arrays)
    for name, value in values.items():
        assert value.dtype == np.float64 and value.flags.c_contiguous and value.flags.writeable
        assert value.tobytes() == arrays[name].astype(float).tobytes()
        assert value.shape == arrays[name].shape


@pytest.mark.parametrize("dtype", ["complex", "datetime64[s]", "timedelta64[s]", "U3", "O", "V8"])
def test_what_could_not_be_read_is_not_written(path, dtype):
    with pytest.raises(TypeError, match="a_name must hold real numbers"):
        storage.write(path, "model", {}, {"a_name": np.zeros(2, dtype=dtype)})
    assert not list(path.parent.iterdir())


def test_names_and_sizes_that_a_file_cannot_hold_are_refused_at_once(path, monkeypatch):
    with pytest.raises(ValueError, match="digest"):
        storage.write(path, "model", {"digest": 1}, {})
    with pytest.raises(ValueError, match="header"):
        storage.write(path, "model", {}, {"header": np.ones(2)})
    monkeypatch.setattr(storage, "MAX_HEADER_BYTES", 1000)
    with pytest.raises(ValueError, match="too much for a gt2lite model"):
        storage.write(path, "model", {"x": "x" * 1000}, {})
    assert not list(path.parent.iterdir())


def test_a_write_that_fails_half_way_leaves_the_old_file(path):
    path.write_text("old")

    def fail(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        storage.replace(path, fail)
    assert path.read_text() == "old" and list(path.parent.iterdir()) == [path]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
def test_a_file_has_the_permissions_that_the_user_gives_to_files(path):
    before = os.umask(0o027)
    try:
        storage.write(path, "model", {}, {})
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640


# ------------------------------------------------------------------ what is no file of ours


def test_a_path_that_cannot_be_opened_says_so(tmp_path):
    with pytest.raises(FileNotFoundError):
        storage.read(tmp_path / "nothing", "model")


def test_a_folder_in_place_of_a_file_is_refused(path):
    path.mkdir()
    with pytest.raises(FileFormatError, match="folder"):
        storage.read(path, "model")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes in folders here")
def test_a_pipe_in_place_of_a_file_is_refused_without_waiting(path):
    os.mkfifo(path)
    with pytest.raises(FileFormatError, match="pipe"):
        storage.read(path, "model")


def test_a_link_to_itself_is_refused(path):
    path.symlink_to(path)
    with pytest.raises(FileFormatError, match="cannot be opened"):
        storage.read(path, "model")


@each_version
def test_an_error_of_the_system_in_the_middle_of_a_file_is_one_of_the_file(path, content):
    place = len(content) - 6  # where its directory begins: members then lie before the file
    (offset,) = struct.unpack_from("<L", content, place)
    refuse(path, content[:place] + struct.pack("<L", offset + 5000) + content[-2:])


@pytest.mark.parametrize("error", [RecursionError, MemoryError, OverflowError, AttributeError])
def test_every_error_while_reading_is_one_of_the_file(path, error, monkeypatch):
    def fail(*args):
        raise error("inside")

    monkeypatch.setattr(storage, "_array", fail)
    refuse(path, SOUND, f"{error.__name__}: inside")


CRAFTED = {
    "RuntimeError": "params/c.npy is called encrypted",
    "NotImplementedError": "params/c.npy has method 99",
    "OSError": "params/c.npy has method 12",
    "TypeError": "params/c.npy has a true shape",
    "TokenError": "params/c.npy has an open string",
    "MemoryError": "params/c.npy has a huge shape",
    "OverflowError": "params/c.npy has an overflowing shape",
    "AttributeError": "header.npy is empty",
    "RecursionError": "a header that is deep",
    "UnicodeDecodeError": "a header that is no text",
    "none, and one was lost": "params/c.npy is there twice",
    "none, and data was lost": "params/c.npy has more data",
}


@pytest.fixture(scope="module")
def crafted():
    return dict(hostile.crafted(SOUND))


@pytest.mark.parametrize("name", CRAFTED.values(), ids=CRAFTED)
def test_whatever_a_careless_reader_would_raise_the_file_is_refused(path, crafted, name):
    refuse(path, crafted[name])


def test_every_other_crafted_file_is_refused(path, crafted):
    assert len(crafted) >= 200
    for name in list(crafted)[::5]:
        refuse(path, crafted[name])


# ------------------------------------------------------------------ damage


@pytest.mark.parametrize("version", [1, 2])
def test_one_flipped_bit_in_the_shape_of_an_array_is_noticed(path, version):
    # long enough that a reader who stops after no numbers does not see the checksum
    content = hostile.sealed({"version": version}, {"x": np.ones(2000)})
    assert read(path, content)[1]["x"].size == 2000
    shape = content.index(b"'shape': (2000,)") + len("'shape': (")
    assert content[shape] ^ 0b10 == ord("0")
    refuse(path, content[:shape] + b"0" + content[shape + 1 :])


def test_a_change_that_the_archive_does_not_notice_is_noticed_by_the_digest(path):
    members = hostile.open_members(SOUND)
    for name, member in members.items():
        changed = bytearray(member)
        changed[-1] ^= 1  # of the last number, or of the bracket that ends the header
        refuse(path, hostile.archive(members | {name: bytes(changed)}))
    left, right = "params/raw_l.npy", "params/raw_r.npy"
    swapped = {left: members[right], right: members[left]}
    refuse(path, hostile.archive(members | swapped), "not what was written")


def test_of_corrupted_files_none_loads_as_something_else(path):
    rng, refused = np.random.default_rng(0), 0
    whole, arrays = read(path, SOUND)
    for case in range(300):
        try:
            found, values = read(path, hostile.corrupted(SOUND, rng))
        except FileFormatError:
            refused += 1
            continue
        assert found == whole and list(values) == list(arrays), case
        assert all(values[n].tobytes() == arrays[n].tobytes() for n in arrays), case
        assert all(values[n].shape == arrays[n].shape for n in arrays), case
    assert refused > 250


# ------------------------------------------------------------------ size


def peak(path, content):
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError):
            storage.read(path, "model")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_small_file_takes_little_memory(path):
    members = hostile.open_members(SOUND)
    bomb = hostile.archive(members | {"x.npy": bytes(5 * 10**7)}, compressed="x.npy")
    assert len(bomb) < 10**6 and peak(path, bomb) < 10**7
    bomb = hostile.archive(members | {"header.npy": bytes(5 * 10**7)}, compressed="header.npy")
    assert len(bomb) < 10**6 and peak(path, bomb) < 10**7
    size = struct.pack("<L", 2**31)  # members that say that they are larger than the file
    entry = SOUND.index(b"PK\x01\x02")
    assert peak(path, SOUND[: entry + 20] + 2 * size + SOUND[entry + 28 :]) < 10**7


def test_unknown_and_compressed_members_are_refused(path):
    members = hostile.open_members(SOUND)
    refuse(path, hostile.archive(members | {"x.npy": members["params/c.npy"]}), "header lists")
    refuse(path, hostile.archive(members | {"x": b""}), "it holds 'x'")
    refuse(path, hostile.archive(members, compressed="params/c.npy"), "compressed")


def test_the_longest_header_is_bounded(path):
    members = hostile.open_members(SOUND)
    long = hostile.npy_bytes(b" " * (storage.MAX_HEADER_BYTES + 5000))
    refuse(path, hostile.archive(members | {"header.npy": long}), "too long")


# ------------------------------------------------------------------ versions


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("version", [1, 2])
def test_models_of_every_version_predict_what_they_did(version, kind):
    folder = FILES / f"v{version}"
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    header, _ = storage.read(folder / f"{kind}.npz", "model")
    assert header["version"] == version
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # groups are small here
        found = predictions(GT2Regressor.load(folder / f"{kind}.npz"), expected["X"], kind)
    for name, values in expected[kind].items():
        # Not to the last bit: another processor's exp and sums may round otherwise.
        np.testing.assert_allclose(found[name], values, rtol=1e-12)


def test_a_file_of_a_later_version_is_refused_with_advice(path):
    refuse(path, hostile.sealed({"version": 3}, {}), "version 3.* newer gt2lite")


def test_a_file_of_another_kind_is_refused(path):
    storage.write(path, "run", {}, {})
    with pytest.raises(FileFormatError, match="another's"):
        storage.read(path, "model")


def test_a_missing_folder_and_a_folder_in_the_way_are_named(tmp_path):
    from gt2lite.model_file import write

    with pytest.raises(FileNotFoundError, match=r"no folder .*nowhere.*mkdir"):
        write(tmp_path / "nowhere" / "model.npz", "model", {}, {})
    with pytest.raises(IsADirectoryError, match="is a folder: name a file in it"):
        write(tmp_path, "model", {}, {})
    assert list(tmp_path.iterdir()) == []
