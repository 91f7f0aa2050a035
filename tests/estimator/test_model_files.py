"""Facts about the files of `GT2Regressor`: what comes back is what was saved, or an error."""

import contextlib
import io
import json
import zipfile

import numpy as np
import pytest

from gt2lite import GT2Regressor
from gt2lite import model_file as files
from gt2lite.calibration import CALIBRATORS
from gt2lite.model_file import FileFormatError

FAST = {"n_rules": 3, "epochs": 5}


@pytest.mark.parametrize("calibrated", CALIBRATORS, indirect=True)
def test_a_loaded_model_says_the_same_at_levels_old_and_new(data, calibrated, tmp_path):
    X, _ = data
    calibrated.predict_interval(X[:3], coverage=0.8)
    calibrated.save(tmp_path / "model.npz")
    loaded = GT2Regressor.load(tmp_path / "model.npz")
    assert loaded.get_params() == calibrated.get_params()
    np.testing.assert_array_equal(loaded.predict(X), calibrated.predict(X))
    np.testing.assert_array_equal(
        loaded.predict_interval(X, coverage=[0.8, 0.7]),
        calibrated.predict_interval(X, coverage=[0.8, 0.7]),
    )
    assert loaded.calibrator_.reached(0.6) == calibrated.calibrator_.reached(0.6)


@pytest.mark.parametrize(
    "settings", [{"smf": "scalar"}, {"alphas": [0.01, 0.4]}, {"objective": "aligned"}]
)
def test_every_kind_of_model_survives_the_file(data, settings, tmp_path):
    X, y = data
    reg = GT2Regressor(**FAST, **settings, random_state=None).fit(X, y)
    reg.save(str(tmp_path / "model"))  # any name will do, and is kept
    assert [p.name for p in tmp_path.iterdir()] == ["model"]
    np.testing.assert_array_equal(GT2Regressor.load(tmp_path / "model").predict(X), reg.predict(X))


def test_settings_changed_after_the_fit_do_not_change_the_model(data, tmp_path):
    X, y = data
    reg = GT2Regressor(**FAST).fit(X, y)
    before = reg.predict(X)
    reg.set_params(alphas=(0.01,), n_rules=9, smf="scalar")
    np.testing.assert_array_equal(reg.predict(X), before)
    reg.save(tmp_path / "m.npz")
    loaded = GT2Regressor.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(loaded.predict(X), before)
    assert loaded.n_rules == 3 and loaded.alphas is None


def test_settings_may_be_numbers_of_numpy(data, tmp_path):
    X, y = data
    settings = {"n_rules": np.int64(2), "coverage": np.float32(0.9), "random_state": np.int64(3)}
    reg = GT2Regressor(epochs=np.int32(4), batch_size=np.int64(50), **settings).fit(X, y)
    reg.calibrate(X, y, method="table", step=np.float64(0.5)).save(tmp_path / "m.npz")
    loaded = GT2Regressor.load(tmp_path / "m.npz")
    np.testing.assert_array_equal(loaded.predict(X), reg.predict(X))
    assert loaded.random_state == 3 and loaded.calibrator_.step == 0.5


def test_names_survive_the_file(data, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = data
    reg = GT2Regressor(**FAST).fit(pd.DataFrame(X, columns=["año", "b", "c"]), y)
    reg.save(tmp_path / "m.npz")
    assert list(GT2Regressor.load(tmp_path / "m.npz").feature_names_in_) == ["año", "b", "c"]


@pytest.fixture
def model_file(data, tmp_path):
    X, y = data
    path = tmp_path / "model.npz"
    GT2Regressor(**FAST).fit(X, y).calibrate(X, y, method="exact").save(path)
    return path


def _rewrite(path, change):
    """Change header or arrays of a model file, and write it as a sound archive."""
    with np.load(path) as archive:
        arrays = dict(archive)
    header = json.loads(arrays.pop("header").tobytes())
    change(header, arrays)
    with contextlib.suppress(AttributeError, TypeError, ValueError):  # what is no array of numbers
        header = files.seal(header, arrays)  # so that it is not the digest that complains
    arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(path, **arrays)


def test_a_truncated_file_is_refused_at_any_length(model_file):
    content = model_file.read_bytes()
    for length in np.linspace(0, len(content) - 1, 60).astype(int):
        model_file.write_bytes(content[:length])
        with pytest.raises(FileFormatError, match=r"model\.npz"):
            GT2Regressor.load(model_file)


def test_a_flipped_bit_never_goes_unnoticed_in_the_data(model_file):
    content = bytearray(model_file.read_bytes())
    with zipfile.ZipFile(io.BytesIO(bytes(content))) as archive:
        entry = archive.getinfo("params/c.npy")
    content[entry.header_offset + 30 + len("params/c.npy") + 200] ^= 1
    model_file.write_bytes(bytes(content))
    with pytest.raises(FileFormatError, match="damaged"):
        GT2Regressor.load(model_file)


@pytest.mark.parametrize(
    "change",
    [
        lambda header, arrays: arrays.pop("params/c"),
        lambda header, arrays: arrays.update({"params/c": arrays["params/c"][:2]}),
        lambda header, arrays: arrays.update({"params/a": arrays["params/a"] * np.nan}),
        lambda header, arrays: arrays.update({"params/a": np.array("text")}),
        lambda header, arrays: arrays.update({"scaler/x_std": np.ones(7)}),
        lambda header, arrays: header.pop("settings"),
        lambda header, arrays: header["settings"].update(no_such_setting=1),
        lambda header, arrays: header["settings"].update(n_rules=7),
        lambda header, arrays: header["settings"].update(smf="scalar"),
        lambda header, arrays: header["calibrator"].update(method="magic"),
        lambda header, arrays: header.update(calibrator=[]),
        lambda header, arrays: header.update(feature_names=["one"]),
        lambda header, arrays: header.update(format="another program"),
        lambda header, arrays: header.update(version=3),
    ],
)
def test_a_file_that_does_not_fit_together_is_refused(model_file, change):
    _rewrite(model_file, change)
    with pytest.raises(FileFormatError, match=r"model\.npz"):
        GT2Regressor.load(model_file)


def test_a_foreign_file_is_refused(tmp_path):
    path = tmp_path / "model.npz"
    np.savez(path, x=np.ones(3))
    with pytest.raises(FileFormatError, match="no header"):
        GT2Regressor.load(path)
    path.write_text("just text")
    with pytest.raises(FileFormatError, match=r"no \.npz"):
        GT2Regressor.load(path)
    with pytest.raises(FileNotFoundError):
        GT2Regressor.load(tmp_path / "nothing.npz")


def test_no_code_of_a_file_is_run(model_file, tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    _rewrite(model_file, lambda header, arrays: arrays.update({"params/a": np.array([Trap()])}))
    (tmp_path / "sprung").unlink(missing_ok=True)
    with pytest.raises(FileFormatError):
        GT2Regressor.load(model_file)
    assert not (tmp_path / "sprung").exists()


def test_a_failed_save_leaves_the_old_file(model_file, data, monkeypatch):
    before = model_file.read_bytes()

    def full_disk(*args, **kwargs):
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="no space"):
        GT2Regressor(**FAST).fit(*data).save(model_file)
    assert model_file.read_bytes() == before
    assert list(model_file.parent.iterdir()) == [model_file]


def test_an_unfitted_model_cannot_be_saved(tmp_path):
    with pytest.raises((RuntimeError, ValueError), match="not fitted"):
        GT2Regressor().save(tmp_path / "m.npz")
