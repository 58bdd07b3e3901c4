"""The training of the built-in reader: pictures, simulated evidence, adapters, resuming, and the exam's marking."""

import itertools
import random

import pytest
import torch
from safetensors.torch import save_file
from transformers import LlamaForCausalLM

from recap.targets.builtin import reader
from recap.targets.builtin.reader import Adapter
from recap.targets.cpu.checkpoint import Checkpoint
from training import words
from training.ask import write
from training.ask_photo import named
from training.batches import Encoded, batches, padded
from training.draw import draw
from training.exam import Question, questions, right
from training.lora import adapt, save
from training.scenes import KINDS, make
from training.simulate import as_read, photo, simulate
from training.train import Plan, Trainer

from . import llamas


def test_the_halves_of_the_split_share_no_word_font_or_colour():
    from training import palette

    train, held = words.lists("train"), words.lists("held")
    assert set(train) == set(held)
    for topic in train:
        assert not {word.lower() for word in train[topic]} & {word.lower() for word in held[topic]}, topic
    for choices in (palette._FONTS, palette._PAPERS, palette._HUES):
        assert not set(choices["train"]) & set(choices["held"])
    with pytest.raises(ValueError, match="split must be one of train, held"):
        words.lists("test")


@pytest.mark.parametrize("kind", KINDS)
def test_scenes_pictures_and_evidence_follow_from_the_seed(kind):
    scene = make(kind, "train", 3)
    assert scene == make(kind, "train", 3) and scene != make(kind, "train", 4) != make(kind, "held", 4)
    assert draw(scene).tobytes() == draw(scene).tobytes() and min(draw(scene).size) >= 200
    read, evidence = simulate(scene)
    assert simulate(scene)[1].to_text() == evidence.to_text()
    turns = write(read, evidence, random.Random(1), 8)
    assert turns == write(read, evidence, random.Random(1), 8) and 4 <= len(turns) <= 9
    assert all(question and answer and "{" not in question + answer for question, answer in turns)


def test_noise_is_rare_and_can_be_turned_off():
    scenes = [make("receipt", "train", seed) for seed in range(60)]
    assert all(simulate(scene, noise=0.0)[0].lines == scene.lines for scene in scenes)
    spoilt = sum(simulate(scene)[0].lines != scene.lines for scene in scenes)
    assert 2 <= spoilt <= 40


def test_what_the_front_end_read_replaces_what_was_drawn():
    scene = make("receipt", "train", 1)
    _, evidence = simulate(scene, noise=0.0)
    assert as_read(scene, evidence).lines == scene.lines
    assert as_read(make("receipt", "train", 2), evidence).lines != scene.lines


def test_names_get_the_article_that_english_wants():
    assert [named(name) for name in ("espresso", "tabby cat", "sunglasses", "broccoli", "wine glass")] == [
        "an espresso", "a tabby cat", "sunglasses", "broccoli", "a wine glass",
    ]  # fmt: skip
    assert photo("train", 1) == photo("train", 1)


# The adapter.


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return llamas.write(tmp_path_factory.mktemp("llama"))


def trained(model, seed=1):
    adapter = adapt(model, rank=4, scale=2.0, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in adapter.items():
        if name.endswith(".b"):
            parameter.data.normal_(0, 0.02, generator=generator)
        parameter.data.copy_(parameter.data.to(torch.bfloat16))
    return adapter


def test_merging_equals_applying(folder, tmp_path):
    plain = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    applied = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    path = tmp_path / "reader.safetensors"
    save(trained(applied), 2.0, path)
    ids = torch.arange(3, 19)[None]
    before = plain(ids).logits
    Adapter(path).merge_into(plain)
    with torch.no_grad():
        merged, wanted = plain(ids).logits, applied(ids).logits
    change = (wanted - before).abs().max()
    assert change > 0 and (merged - wanted).abs().max() < 0.2 * change  # merged weights are rounded to bfloat16


def test_compiled_passes_and_torch_read_the_same_merged_weights(folder, tmp_path):
    model = LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)
    path = tmp_path / "reader.safetensors"
    save(trained(LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32)), 2.0, path)
    adapter = Adapter(path)
    adapter.merge_into(model)
    with Checkpoint(folder, adapter.merged).open() as weights:
        found = weights.layer(0)
    layer = model.model.layers[0]
    assert torch.equal(found[1].float(), layer.self_attn.q_proj.weight)
    assert torch.equal(found[8].float(), layer.mlp.down_proj.weight)
    with Checkpoint(folder).open() as weights:
        assert not torch.equal(weights.layer(0)[1].float(), layer.self_attn.q_proj.weight)


def test_the_reader_can_be_chosen(monkeypatch, tmp_path):
    file = tmp_path / "mine.safetensors"
    save_file({"x.a": torch.zeros(1)}, file, {"scale": "2.0"})
    monkeypatch.delenv(reader.VARIABLE, raising=False)
    assert reader.chosen("plain") is None and reader.chosen(str(file)).scale == 2.0
    monkeypatch.setenv(reader.VARIABLE, "plain")
    assert reader.chosen("auto") is None
    monkeypatch.delenv(reader.VARIABLE)
    monkeypatch.setattr(reader, "FILE", tmp_path / "absent")
    assert reader.chosen("auto") is None
    with pytest.raises(ValueError, match="absent is missing"):
        reader.chosen("tuned")
    with pytest.raises(ValueError, match="reader must be tuned, plain, or the path"):
        reader.chosen("blue")
    save_file({"x": torch.zeros(1)}, file)
    with pytest.raises(ValueError, match="no reader adapter"):
        Adapter(file)


# Training.


def conversations(count=12):
    rng = random.Random(2)
    made = []
    for _ in range(count):
        length = rng.randint(6, 30)
        ids, taught = tuple(rng.randint(3, 60) for _ in range(length)), tuple(n > length // 2 for n in range(length))
        made.append(Encoded(ids, taught, rng.random() < 0.2))
    return made


def test_an_interrupted_run_gives_the_losses_of_an_uninterrupted_one(folder, tmp_path):
    def trainer():
        return Trainer(LlamaForCausalLM.from_pretrained(folder, dtype=torch.float32), conversations(), plan)

    plan = Plan(rank=2, rate=1e-2, batch=64, tokens=600)
    whole = trainer()
    losses = list(whole.run())
    assert len(losses) > 6 and whole.tokens >= plan.tokens and whole.epoch >= 1
    first = trainer()
    list(itertools.islice(first.run(), 5))
    first.save(tmp_path / "half.pt")
    second = trainer()
    second.load(tmp_path / "half.pt")
    list(second.run())
    assert second.losses == losses and sum(losses[-3:]) < sum(losses[:3])
    answers, chat = whole.check(conversations())
    untaught, same = trainer().check(conversations())
    assert answers < untaught and abs(same) < 1e-6 < chat
    other = Trainer(
        LlamaForCausalLM.from_pretrained(folder), conversations(), Plan(rank=2, rate=1e-3, batch=64, tokens=600)
    )
    with pytest.raises(ValueError, match="other settings .rate."):
        other.load(tmp_path / "half.pt")


def test_batches_hold_every_conversation_once():
    made = conversations(40)
    found = batches(made, 80, 1)
    assert sorted(one.ids for batch in found for one in batch) == sorted(one.ids for one in made)
    assert found == batches(made, 80, 1) != batches(made, 80, 2)
    assert all(len(batch) == 1 or len(batch) * max(len(one.ids) for one in batch) <= 80 for batch in found)
    ids, taught = padded(made[:3])
    assert ids.shape == taught.shape and taught.sum() == sum(sum(one.taught) for one in made[:3])


# The exam.


@pytest.mark.parametrize(
    "question, good, bad",
    [
        (Question("", "", ("17.90",)), "The total is £17.90.", "The total is 7.90."),
        (Question("", "", ("17.90",)), "It is 17.90", "It is 17.905"),
        (Question("", "", ("Rye bread",), ("Milk",)), "Rye bread is dearer than milk", "Milk, then rye bread"),
        (Question("", "", near=(46, 2)), "It reaches about 45.", "It reaches about 40."),
        (Question("", "", near=(2020, 0), rivals=("2019",)), "2019 has 2020", "2019"),
        (Question("", "", unseen=True), "I can't see a dog in the picture.", "Yes, there is a dog."),
        (Question("", "", ("Market Hall", "7 pm")), "Market Hall\n7 pm", "Market Hall"),
    ],
)
def test_answers_are_marked(question, good, bad):
    assert right(question, good) and not right(question, bad)


def test_every_drawing_gives_questions_and_a_perfect_answer_is_right():
    for kind in KINDS:
        asked = list(questions(make(kind, "held", 1)))
        assert len(asked) >= 2 and any(question.unseen for question in asked)
        for question in asked:
            answer = ", ".join(question.wanted) or (str(question.near[0]) if question.near else "I can't see that.")
            assert right(question, answer), (kind, question)
