"""The recipes for tables larger than memory: what comes out is what all rows at once give."""

import numpy as np
import pytest

from gt2lite import GT2Regressor

pd = pytest.importorskip("pandas")

COLUMNS = ["a", "b"]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    frame = pd.DataFrame(X, columns=COLUMNS)
    return frame.assign(y=X[:, 0] - X[:, 1] ** 2 + 0.3 * rng.normal(size=1000))


@pytest.fixture(scope="module")
def reg(frame):
    reg = GT2Regressor(n_rules=3, epochs=10, learning_rate=0.03)
    return reg.fit_calibrate(frame[COLUMNS], frame["y"])


@pytest.fixture(scope="module")
def whole(frame, reg):
    return with_intervals(frame, reg)


def with_intervals(part, reg):
    """Return a part of a table with a prediction and an interval for each row."""
    lower, upper = reg.predict_interval(part[COLUMNS], coverage=0.9)
    return part.assign(prediction=reg.predict(part[COLUMNS]), lower=lower, upper=upper)


def assert_same(found, whole):
    assert list(found.columns) == list(whole.columns)
    np.testing.assert_allclose(found.to_numpy(), whole.to_numpy(), rtol=0, atol=1e-9)


def test_by_chunks_of_a_file(frame, reg, whole, tmp_path):
    source, target = tmp_path / "rows.csv", tmp_path / "intervals.csv"
    frame.to_csv(source, index=False)
    for i, chunk in enumerate(pd.read_csv(source, chunksize=137)):
        done = with_intervals(chunk, reg)
        done.to_csv(target, mode="a", header=i == 0, index=False)
    assert_same(pd.read_csv(target), whole)


def test_by_parts_of_a_folder_with_dask(frame, reg, whole, tmp_path):
    dask = pytest.importorskip("dask")
    for i, start in enumerate(range(0, 1000, 300)):
        frame.iloc[start : start + 300].to_csv(tmp_path / f"part-{i}.csv", index=False)
    reg.save(tmp_path / "model.json")

    @dask.delayed
    def work(path):  # as a worker does it: load the model, read a part, write a part
        model = GT2Regressor.load(tmp_path / "model.json")
        done = with_intervals(pd.read_csv(path), model)
        done.to_csv(path.with_suffix(".out"), index=False)
        return len(done)

    parts = sorted(tmp_path.glob("part-*.csv"))
    counts = dask.compute(*map(work, parts), scheduler="threads")
    assert counts == (300, 300, 300, 100)
    done = pd.concat([pd.read_csv(path.with_suffix(".out")) for path in parts])
    assert_same(done, whole)


def test_by_blocks_of_an_array_with_dask(frame, reg, whole):
    da = pytest.importorskip("dask.array")

    def ends(block):
        lower, upper = reg.predict_interval(pd.DataFrame(block, columns=COLUMNS), coverage=0.9)
        return np.column_stack([lower, upper])

    blocks = da.from_array(frame[COLUMNS].to_numpy(), chunks=(256, 2))
    found = blocks.map_blocks(ends, dtype=float, meta=np.empty((0, 2))).compute()
    np.testing.assert_allclose(found, whole[["lower", "upper"]], rtol=0, atol=1e-9)


def test_by_partitions_of_a_frame_with_dask(frame, reg, whole):
    pytest.importorskip("pyarrow")  # data frames of Dask need it
    dd = pytest.importorskip("dask.dataframe")
    table = dd.from_pandas(frame, npartitions=4)
    meta = with_intervals(frame.head(1), reg).head(0)
    assert_same(table.map_partitions(with_intervals, reg, meta=meta).compute(), whole)
