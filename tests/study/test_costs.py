"""Stored benchmarks as frames: hand-made ones with known answers, and the real ones whole."""

from __future__ import annotations

from study import costs, results


def test_prices_and_quality_are_those_of_the_benchmark():
    stored = results.bench("cost")
    found, cost = costs.prices(stored), stored["results"]["pp"]["cost"]["retrain"]
    assert found.seconds["pp", "retrain", 1] == cost["seconds"][0]
    assert found.evaluations["pp", "retrain", 20] == cost["evaluations"][-1]
    assert len(found) == 2 * len(costs.WAYS) * 20
    found = costs.quality(stored).set_index(["dataset", "way", "seed", "level"])
    quality = stored["results"]["ww"]["quality"]["aligned"]
    assert found.pinaw["ww", "aligned", 3, 0.95] == quality["pinaw"][3][1]
    assert found.crossed["ww", "aligned", 3, 0.95] == quality["crossed"][3][0]
    assert found.index.is_unique


def test_wrong_and_failed_reductions_are_marked():
    def line(name, error, failed=0.0):
        entry = {"error": error, "failed": failed}
        return {"name": name, "P": 5, "seconds": 1.0, "over_ours": 2.0, "even": entry,
                "uneven": None, "sparse": {"error": 0.0, "failed": 0.0}}  # fmt: skip

    lines = [line("good", 1e-3), line("wrong", 1.1e-3), line("failing", None, 0.25)]
    found = costs.reductions({"results": {"lines": lines}}).set_index("name")
    assert found.wrong.to_dict() == {"good": False, "wrong": True, "failing": True}
    assert found.even["failing"].replace("\xa0", " ").startswith("- (25")
    assert (found.uneven == "-").all()
    assert found.error["good"] == 1e-3


def test_ours_is_right_for_all_numbers_of_rules():
    found = costs.reductions(results.bench("reduction"))
    ours = found[found.name == "gt2lite"]
    assert not ours.wrong.any()
    assert ours.error.max() < 1e-12
