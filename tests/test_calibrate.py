"""Calibration: the fit finds a known temperature, measures follow their definitions, the manifest is usable."""

import json

import numpy as np
import pytest

from training import calibrate, real


def drawn(temperature, count=3000, classes=8, seed=1):
    """Logits whose softmax at this temperature is the truth, and whether each first guess is right."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 3, (count, classes)).astype(np.float32)
    sharp = np.exp(logits / temperature)
    truth = (sharp.cumsum(1) / sharp.sum(1, keepdims=True) < rng.random((count, 1))).sum(1)
    return logits, truth == logits.argmax(1)


@pytest.mark.parametrize("temperature", [0.6, 1.0, 2.5])
def test_the_fit_finds_the_temperature_that_the_truth_was_drawn_with(temperature):
    logits, right = drawn(temperature)
    costs = calibrate.losses(logits, right)
    groups = np.arange(len(right)) % 5
    assert calibrate.fit(costs) == pytest.approx(temperature, rel=0.08)
    apart = calibrate.held_out(costs, groups)
    assert apart == pytest.approx(temperature, rel=0.1)
    after = calibrate.confidences(logits, apart)
    assert after == pytest.approx(np.exp(logits.max(1) / apart) / np.exp(logits / apart[:, None]).sum(1), rel=1e-4)
    assert calibrate.expected_error(after, right) < 0.04


def test_a_group_is_left_out_of_its_own_fit():
    (sharp, good), (flat, bad) = drawn(0.5), drawn(3.0, seed=2)
    costs = calibrate.losses(np.concatenate([sharp, flat]), np.concatenate([good, bad]))
    apart = calibrate.held_out(costs, np.repeat(["sharp", "flat"], len(good)))
    assert apart[0] == pytest.approx(3.0, rel=0.1) and apart[-1] == pytest.approx(0.5, rel=0.1)


def test_bins_error_and_interval_are_those_of_their_definitions():
    stated, right = np.array([0.05, 0.2, 0.34, 0.95, 1.0]), np.array([False, False, True, True, True])
    rows = calibrate.reliability(stated, right)
    assert [(count, good) for *_, count, good, _ in rows] == [(1, 0), (0, 0), (2, 1), (0, 0), (0, 0), (0, 0), (2, 2)]
    assert rows[2][4] == pytest.approx(0.27)
    assert calibrate.expected_error(stated, right) == pytest.approx((0.05 + abs(1 - 0.54) + abs(2 - 1.95)) / 5)
    low, high = calibrate.interval(lambda chosen: right[chosen].mean(), np.arange(5))
    assert 0.0 <= low <= 0.4 and high == 1.0
    assert calibrate.share(5, 10) == "50% (24% to 76%)" and calibrate.share(0, 0) == "-"
    assert calibrate.by_chance(np.full(400, 0.5)) == pytest.approx(np.sqrt(2 / np.pi) * 0.5 / 20, rel=0.15)


def test_the_manifest_names_many_different_photos_and_none_of_the_other_page():
    listed = calibrate.photos()
    others = {(entry.package, entry.path) for entry in real.entries()}
    assert len(listed) >= 120 and len({photo.sha256 for photo in listed}) == len(listed)
    assert not others & {(photo.package, photo.path) for photo in listed}
    assert all(len(photo.sha256) == 64 and photo.licence and photo.shows for photo in listed)
    packages = [photo.package for photo in listed]
    assert len(set(packages)) >= 30 and max(map(packages.count, packages)) <= 12
    assert 0.3 < np.mean([not photo.objects for photo in listed]) < 0.5  # people upload what no class fits


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"from": "git"}, "line 1: from must be one of wheel, sdist, npm, not 'git'"),
        ({"objects": ["motorcycle"]}, "no name of the classifier's: motorcycle"),
        ({"sha256": None}, "line 1: no 'sha256'"),
    ],
)
def test_a_wrong_line_is_refused_with_its_number(tmp_path, change, message):
    line = {"package": "p", "version": "1", "from": "npm", "path": "a.jpg", "sha256": "0" * 64, "licence": "MIT",
            "shows": "a beagle", "objects": ["beagle"], "kinds": ["plant"]}  # fmt: skip
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps(line))
    assert calibrate.photos(path)[0].kinds == {"dog", "animal", "plant"}
    path.write_text(json.dumps({key: value for key, value in (line | change).items() if value is not None}))
    with pytest.raises(ValueError, match=message):
        calibrate.photos(path)


def test_another_picture_at_the_labelled_place_is_refused(monkeypatch):
    monkeypatch.setattr(calibrate.fetch, "archive", lambda *_: None)
    monkeypatch.setattr(calibrate.fetch, "file_in", lambda *_: b"another picture")
    with pytest.raises(calibrate.fetch.FetchError, match="not the picture that was labelled"):
        calibrate.looked_at(calibrate.photos()[:1], None)
