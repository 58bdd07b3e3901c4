"""The vision tower's training, with a tiny tower and a tiny reader: it learns to tell pictures apart."""

import itertools

import pytest
import torch
from PIL import Image
from transformers import LlamaForCausalLM

from training.batches import Encoded
from training.tower import FILLER, Size, SoftEyes, Teacher, examples, pixels_of

from . import llamas

SIZE = Size(side=32, patch=16, width=16, layers=1, heads=2, tokens=3)
FIRST, SECOND = 21, 22  # the answers to be learned


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return llamas.write(tmp_path_factory.mktemp("llama"))


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # for matrices this small a second one only waits
    yield
    torch.set_num_threads(before)


def teacher(folder) -> Teacher:
    torch.manual_seed(1)
    return Teacher(LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32), SIZE, filler=7, rate=3e-2)


def pair() -> list:
    """A black and a white picture, the same question, different answers."""
    taught = (False,) * 5 + (True,)
    return [
        (pixels_of(Image.new("RGB", (50, 30), colour), SIZE.side), Encoded((3, 7, 7, 7, 4, answer), taught))
        for colour, answer in (("black", FIRST), ("white", SECOND))
    ]


def test_the_tower_alone_learns_and_the_pictures_decide(folder, tmp_path):
    made = teacher(folder)
    before = [weight.clone() for weight in made.reader.parameters()]
    losses = [made.learn(pair(), step / 40) for step in range(40)]
    assert losses[-1] < 0.3 * losses[0]
    assert all(torch.equal(one, other) for one, other in zip(before, made.reader.parameters()))
    swapped = [(pixels, other) for (pixels, _), (_, other) in zip(pair(), reversed(pair()))]
    assert made.loss(swapped) > 2 * made.loss(pair())
    made.save(tmp_path / "tower.pt")
    again = teacher(folder)
    again.load(tmp_path / "tower.pt")
    assert again.step == 40 and torch.equal(again.loss(pair()), made.loss(pair()))
    image = Image.new("RGB", (9, 9), "black")
    assert SoftEyes(made.tower).look(image).shape == (3, made.reader.config.hidden_size)


def test_misfits_are_refused(folder, tmp_path):
    made = teacher(folder)
    pixels, one = pair()[0]
    with pytest.raises(ValueError, match="3 places for soft tokens"):
        made.loss([(pixels, Encoded((3, 7, 7, 4, 5), one.taught[:5]))])
    made.save(tmp_path / "tower.pt")
    other = Teacher(made.reader, Size(32, 16, 16, 1, 2, 2), 7)
    with pytest.raises(ValueError, match="another size"):
        other.load(tmp_path / "tower.pt")


def test_examples_hold_the_places_and_the_picture_whole():
    from recap.targets.builtin import store
    from recap.targets.builtin.language_model import END_TOKENS, open_language_model

    if store.fault(store.cache_folder() / "smollm2-135m-instruct-1") is not None:
        pytest.skip("the built-in model is not set up: python -m recap.targets.builtin.assets")
    _, tokenizer = open_language_model(None, "plain")
    (filler,) = tokenizer(FILLER, add_special_tokens=False)["input_ids"]
    for pixels, one in itertools.islice(examples(tokenizer, Size(side=64), END_TOKENS[1], seed=3), 2):
        assert pixels.shape == (3, 64, 64) and -1 <= pixels.min() < pixels.max() <= 1
        assert one.ids.count(filler) == 64 and any(one.taught)
