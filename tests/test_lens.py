"""The image lens: by values on hand-made traces, and on tiny models that see."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch

import recap
from recap.__main__ import main
from recap.forced import Forced
from recap.lens import look, mean_picture
from recap.roots import by_accepted, verdicts
from recap.trace import Lens, Trace
from recap.trace_json import TraceError
from visual import export, listing, ribbon
from visual import lens as words

from . import panels
from .tiny import picture


def lensed() -> Trace:
    """The hand-made answer "The cat sat dog": only " sat", token 2, changes, under the second control."""
    trace = panels.trace()
    trace.lens = Lens(
        ["mean", "other"], [0, 1, 3, 2], [0.5, 0.5, 0.8, 0.25], [[0, 1, 3, 2], [0, 1, 4, 2]],
        [[0.5, 0.25, 0.4, 0.5], [0.25, 0.5, 0.1, 0.5]], [[0.5, 0.25, 0.4, 0.5], [0.25, 0.5, 0.6, 0.5]],
    )  # fmt: skip
    return trace


class TestByHand:
    def test_change_under_either_control_and_the_smaller_decrease(self):
        trace = lensed()
        assert [trace.lens.changed(token) for token in range(4)] == [False, False, True, False]
        assert [trace.lens.dependence(token) for token in range(4)] == pytest.approx(
            [0.0, 0.0, math.log(2), -math.log(2)]
        )

    def test_a_root_is_the_first_token_that_its_step_committed(self):
        trace = lensed()
        assert [trace.first_of(step) for step in (0, 1)] == [1, 2]
        _, second = verdicts(trace)
        assert second[:3] == (1, 2, True) and second[4:] == (3, 0.8, {"mean": (3, 0.4, 0.4), "other": (4, 0.6, 0.1)})
        (group,) = by_accepted([trace])  # the first pass had no candidates
        assert (group.accepted, group.roots, group.changed) == ("1-4", 1, 1.0)
        assert group.dependence == pytest.approx(math.log(2))
        assert by_accepted([panels.trace()]) == []

    def test_it_survives_json_and_a_damaged_one_does_not(self):
        trace = lensed()
        assert Trace.from_json(trace.to_json()) == trace
        document = json.loads(trace.to_json())
        for name, wrong in (("choices", [0, 1, 3]), ("controls", ["mean"]), ("controls", ["mean", "none"]),
                            ("probs", [0.5, 0.5, 1.8, 0.2]), ("kept", [[0.5] * 4] * 3), ("swapped", [[0, 1, 3, -1]] * 2),
                            ("more", 1)):  # fmt: skip
            damaged = {**document, "lens": {**document["lens"], name: wrong}}
            with pytest.raises(TraceError, match="lens"):
                Trace.from_json(json.dumps(damaged))

    def test_older_traces_have_none(self):
        document = json.loads(panels.trace().to_json())
        del document["lens"]
        assert Trace.from_json(json.dumps({**document, "version": 2})).lens is None


class TestRibbon:
    def test_a_mark_beside_the_colour_and_a_sentence(self):
        tokens = panels.Page(ribbon.html(lensed())).named("token")
        assert [("sees" in one["class"].split()) for one in tokens] == [False, False, True, False]
        assert tokens[2]["title"].endswith(
            "Proposed by G 62 %, U 38 %; the model accepted it. ◉ Needs the picture: 80 % sure with it; with a picture of "
            "nothing but its mean colour the same (40 %); with another picture the model would write “␣head” (60 %, this "
            "word 10 %)."
        )
        assert tokens[1]["title"].endswith(
            "Does not need the picture: 50 % sure with it, 25 % with a picture of nothing but its mean colour, 50 % with "
            "another picture."
        )

    def test_entries_that_come_later_are_the_same(self):
        trace = lensed()
        whole = ribbon.fragments(trace)
        assert [ribbon.fragments(trace, first) for first in range(4)] == [whole[first:] for first in range(4)]

    def test_the_page_says_what_the_mark_means(self):
        assert "· m, " in listing.origin(lensed(), "file")
        assert panels.Page(listing.origin(lensed(), "file")).words.endswith(" 1 of its 4 tokens need the picture, marked ◉.")
        assert "need" not in listing.origin(panels.trace(), "file")
        assert "1 of its 4 tokens need the picture" in export.document("ribbon", lensed(), 1, None, "light", None, None).html
        assert "need the picture" not in export.document("ribbon", panels.trace(), 1, None, "light", None, None).html

    def test_nothing_changes_without_a_lens(self):
        assert words.verdict(panels.trace(), 1) is None and "sees" not in ribbon.html(panels.trace())

    @pytest.mark.parametrize("number", range(len(panels.HOSTILE)))
    def test_texts_stay_text(self, number):
        panels.harmless(ribbon.html(panels.hostile(number, lensed())))


def test_mean_picture():
    image = mean_picture(picture(3, 20, 10))
    pixels = np.asarray(picture(3, 20, 10)).reshape(-1, 3)
    assert image.size == (20, 10) and len(image.getcolors()) == 1
    assert np.abs(np.array(image.getpixel((0, 0))) - pixels.mean(axis=0)).max() <= 0.5


@pytest.mark.parametrize("family", ["llava", "qwen2_5_vl", "smolvlm"])
class TestOnModels:
    def test_every_choice_is_that_of_plain_decoding_on_the_same_tokens(self, target, family):
        model = target(family)
        answer = recap.generate(model, "What is it?", images=[picture(1)], max_new_tokens=40,
                                config=recap.RecapConfig(budget="paper")).trace  # fmt: skip
        lens = look(model, answer, [picture(1)], [picture(2)])
        assert lens is answer.lens and lens.controls == ["mean", "other"]
        assert lens.choices == answer.token_ids
        # the other picture's first choice is that picture's own answer
        other = recap.generate(model, "What is it?", images=[picture(2)], method="ar", max_new_tokens=1)
        assert lens.swapped[1][0] == other.token_ids[0]
        # one forward pass of the whole sequence says the same
        prompt = model.prompt("What is it?", [picture(2)])
        forced = Forced.read(model, prompt)
        said = torch.cat([predictions.logits for _, predictions in forced.of(answer.token_ids)])
        probs = torch.softmax(said.double(), dim=-1)
        assert lens.swapped[1] == probs.argmax(dim=-1).tolist()
        assert lens.kept[1] == pytest.approx(probs[range(len(said)), answer.token_ids].tolist())
        assert lens.taken[1] == pytest.approx(probs.max(dim=-1).values.tolist())
        assert Trace.from_json(answer.to_json()).lens == lens

    def test_the_same_picture_changes_nothing(self, target, family):
        model = target(family)
        answer = recap.generate(model, "What is it?", images=[picture(1)], method="ar", max_new_tokens=20).trace
        lens = look(model, answer, [picture(1)], [picture(1)])
        assert lens.swapped[1] == lens.choices and lens.kept[1] == lens.probs


class TestRefusals:
    @pytest.fixture()
    def answer(self, target):
        return recap.generate(target("llava"), "What is it?", images=[picture(1)], method="ar", max_new_tokens=12).trace

    def test_another_picture_than_the_trace_is_told(self, target, answer):
        with pytest.raises(ValueError, match="would not give this answer"):
            look(target("llava"), answer, [picture(2)])
        with pytest.raises(ValueError, match="pictures"):
            look(target("llava"), answer, [picture(1), picture(2)])
        with pytest.raises(ValueError, match="needs a picture"):
            look(target("llava"), answer, [])
        assert answer.lens is None

    def test_it_can_be_left_off(self, target, answer):
        left = iter([True, True, False])
        assert look(target("llava"), answer, [picture(1)], proceed=lambda: next(left, False)) is None
        assert answer.lens is None

    def test_the_command(self, target, tiny_folder, tmp_path, capsys):
        picture(1).save(tmp_path / "a.png")
        picture(2).save(tmp_path / "b.png")
        model = ["--model", str(tiny_folder("llava")), "--dtype", "float32", "--device", "cpu"]
        file = tmp_path / "t.json"
        asked = ["trace", "lens", "--prompt", "What is it?", "--image", str(tmp_path / "a.png"), "--max-new-tokens", "12"]
        assert main([*asked, "-o", str(file), *model]) == 0
        assert Trace.from_json(file.read_text()).lens.controls == ["mean"]
        again = ["trace", "lens", str(file), "--image", str(tmp_path / "a.png"), "--other", str(tmp_path / "b.png")]
        assert main([*again, *model]) == 0
        lens = Trace.from_json(file.read_text()).lens
        assert lens.controls == ["mean", "other"]
        changed = sum(lens.changed(token) for token in range(len(lens.choices)))
        assert f"{changed} of {len(lens.choices)} tokens change" in capsys.readouterr().out
        for wrong in (["trace", "lens"], ["trace", "lens", str(file)], [*asked[:-2], "--other", "nothing.png"],
                      [*asked, "-o", "x.txt"]):  # fmt: skip
            assert main([*wrong, *model]) == 2
