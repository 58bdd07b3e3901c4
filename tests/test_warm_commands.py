"""`memory build`, `memory info` and --warm on a tiny model, and a warm U in the studio."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from PIL import Image

import recap
from recap.__main__ import main
from recap.bench.contenders import contenders, warmed
from recap.bench.manifest import Input, marks
from recap.trace import Trace
from studio.conversation import Conversation
from studio.jobs import Answer, Contest
from studio.limits import Limits
from studio.metrics import Metrics
from studio.visitors import Visitors
from studio.worker import Worker

from .test_operator import values
from .test_worker import wait

PAPER = recap.RecapConfig(budget="paper")


@pytest.fixture(scope="module")
def tiny(tiny_folder) -> list[str]:
    return ["--model", str(tiny_folder("llava")), "--dtype", "float32", "--device", "cpu"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A manifest of three inputs, two of which show the same picture."""
    place = tmp_path_factory.mktemp("inputs")
    for name, colour in (("red", "red"), ("blue", "blue")):
        Image.new("RGB", (30, 20), colour).save(place / f"{name}.png")
    lines = [
        {"id": "known", "prompt": "What is this?", "image": "red.png"}, {"id": "same", "prompt": "Why?", "image": "red.png"},
        {"id": "other", "prompt": "What is this?", "image": "blue.png"}, {"id": "words", "prompt": "A cat and a dog and"},
    ]  # fmt: skip
    (place / "all.jsonl").write_text("\n".join(map(json.dumps, lines)))
    (place / "some.jsonl").write_text(json.dumps(lines[0]))
    return place


@pytest.fixture(scope="module")
def file(tiny, folder) -> str:
    path = str(folder / "warm.safetensors")
    assert main(["memory", "build", "--manifest", str(folder / "some.jsonl"), "--max-new-tokens", "12", "-o", path, *tiny]) == 0
    return path


def test_a_file_is_built_and_told_about(tiny, file, folder, capsys, target):
    assert main(["memory", "info", file]) == 0
    said = capsys.readouterr().out
    memory = recap.WarmMemory.load(file)
    assert f"{memory.base.rows:,} of {target('llava').runtime.vocabulary:,} tokens, 8 ids each, digest {memory.digest}" in said
    assert "1 inputs, 12 tokens of answers" in said and f"weights {memory.origin.weights}" in said
    assert memory.origin.model == "model" and memory.origin.config["budget"] == "paper", "the folder's path is not written"
    assert str(folder) not in str(memory.origin)
    [one] = [Input("known", "", ("What is this?",), (str(folder / "red.png"),))]
    assert set(memory.origin.sources) == marks(one)


def test_questions_from_a_text_file_and_other_settings(tiny, tmp_path, capsys):
    (tmp_path / "questions.txt").write_text("What is it?\n\n  A cat and a dog.  \n")
    out = str(tmp_path / "warm")
    asked = ["memory", "build", "--prompts", str(tmp_path / "questions.txt"), "--max-new-tokens", "6", "-o", out]
    assert main([*asked, "--set", "top_k=4", "--set", "width=4", "--set", "max_nodes=7", *tiny]) == 0
    origin = recap.WarmMemory.load(out).origin
    assert (origin.top_k, origin.inputs, origin.config["max_nodes"]) == (4, 2, 7)
    assert "2 inputs" in capsys.readouterr().out
    assert main(["generate", "--prompt", "Hi", "--warm", out, *tiny]) == 2
    assert "rows of 4 ids, and top_k is 8" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["memory", "build", "-o", "no/such/folder/w"], "--output"),
        (["memory", "build", "-o", "w", "--prompts", "nowhere.txt"], "--prompts"),
        (["memory", "build", "-o", "w", "--manifest", "nowhere.jsonl"], "nowhere.jsonl"),
        (["memory", "build", "-o", "w", "--limit", "0"], "--limit"),
        (["memory", "info", "nowhere"], "there is no warm memory 'nowhere'"),
        (["generate", "--prompt", "a", "--warm", "nowhere"], "there is no warm memory 'nowhere'"),
        (["generate", "--prompt", "a", "--warm", "nowhere", "--method", "pld"], "pld has none"),
        (["bench", "run", "--warm", "nowhere"], "there is no warm memory 'nowhere'"),
    ],
)
def test_mistakes_are_one_sentence_before_a_model_is_loaded(arguments, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert words in printed.err and len(printed.err.strip().splitlines()) == 1 and not printed.out


def test_generate_with_a_warm_memory(tiny, file, tmp_path, capsys):
    trace = tmp_path / "trace.json"
    asked = ["generate", "--prompt", "What is this?", "--max-new-tokens", "12", "--set", "budget=paper"]
    assert main([*asked, "--warm", file, "--compare", "--trace", str(trace), *tiny]) == 0
    assert "same tokens" in capsys.readouterr().err
    assert Trace.from_json(trace.read_text()).versions["warm memory"] == recap.WarmMemory.load(file).digest


def test_a_benchmark_measures_with_and_without_and_on_other_inputs(tiny, file, folder, tmp_path, capsys):
    run = ["bench", "run", "--manifest", str(folder / "all.jsonl"), "--warm", file, "--methods", "recap", "pld"]
    out = tmp_path / "run"
    assert main([*run, "--budget", "paper", "--max-new-tokens", "8", "--out", str(out), *tiny]) == 0
    assert "2 of 4 inputs are left out: the warm memory knows them or their pictures" in capsys.readouterr().err
    records = [json.loads(line) for line in (out / "records.jsonl").read_text().splitlines()]
    assert {record["id"] for record in records} == {"other", "words"}
    assert {record["name"] for record in records} == {"ar", "recap paper", "recap paper warm", "pld paper"}
    assert all(record["identical"] for record in records)
    chosen = json.loads((out / "run.json").read_text())["configuration"]["contenders"]
    assert chosen["recap paper warm"]["warm"] == recap.WarmMemory.load(file).digest and "warm" not in chosen["recap paper"]
    by_name = {name: [record["histogram"] for record in records if record["name"] == name] for name in chosen}
    assert by_name["recap paper"] != by_name["recap paper warm"]
    run[3] = str(folder / "some.jsonl")
    assert main([*run, *tiny, "--out", str(tmp_path / "none")]) == 2
    assert "measure it on others" in capsys.readouterr().err
    assert main(["bench", "run", "--methods", "pld", "--warm", file]) == 2
    assert "have recap among the methods" in capsys.readouterr().err


def test_who_takes_part_with_it(file):
    memory = recap.WarmMemory.load(file)
    made = warmed(contenders(["recap", "pld", "recap:fusion=prior"], ["auto"]), memory)
    assert [one.name for one in made if one.warm is memory] == ["recap auto warm", "recap:fusion=prior auto warm"]
    assert [one.name for one in made if one.warm is None] == ["ar", "recap auto", "pld auto", "recap:fusion=prior auto"]
    with pytest.raises(ValueError, match="top_k"):
        warmed(contenders(["recap:top_k=4,width=4"]), memory)


@pytest.fixture
def worker(target) -> Iterator[Worker]:
    one = Worker(lambda: target("llava"), Limits())
    yield one
    one.close(10)
    one._thread.shutdown(wait=True)


def asked(worker: Worker, visitor: Conversation, question: str, picture: str | None = None) -> Answer:
    return wait(worker.ask(Answer(visitor, question, picture, "recap", 12, config=PAPER)))


def test_every_visitor_has_it_and_a_memory_of_their_own(worker, file, target):
    metrics, size = Metrics(), 'recap_warm_memory_bytes'
    metrics.watch(worker, Visitors())
    assert values(metrics.text().decode())[size] == 0
    worker.warm = memory = recap.WarmMemory.load(file)
    visitors = [Conversation(), Conversation()]
    answers = [asked(worker, one, question) for one, question in zip(visitors, ("What is this?", "A cat."))]
    assert [one.trace.versions["warm memory"] for one in answers] == [memory.digest] * 2
    assert all(one.drafter().base is memory.base for one in visitors)
    assert values(metrics.text().decode())[size] == memory.base.bytes
    for visitor, answer in zip(visitors, answers):
        plain = recap.generate(target("llava"), answer.prompt, method="ar", max_new_tokens=12)
        assert answer.trace.token_ids == plain.token_ids
    kept = visitors[0]._session.remembered_bytes()
    assert kept == visitors[0].drafter().stats()["bytes"]
    visitors[0].tidy(kept - 1)  # its own rows go, what is warm stays
    assert visitors[0].drafter().stats()["U"] == 0 and visitors[0].drafter().base is memory.base
    race = wait(worker.ask(Contest(Conversation(), "What is this?", None, max_new_tokens=8)))
    assert "warm memory" not in race.race.traces[1].versions, "a race begins with nothing"


def test_the_memory_view_says_whose_a_row_is(worker, file, folder) -> None:
    from studio.shelf import Shelf
    from studio.views import views

    worker.warm = memory = recap.WarmMemory.load(file)
    shelf, visitors = Shelf(), Visitors()
    mine = visitors.of("page")
    answer = asked(worker, mine, "What is this?", str(folder / "red.png"))
    name = shelf.put(answer.trace, note="answer", owner=mine.key)
    mine.shown.append(name)
    look = next(one for one in views(shelf, visitors, worker) if one.__name__ == "memory")
    own = {int(token) for token in mine.drafter().export()[0]}
    nodes = [(step, node) for step in answer.trace.steps for node in range(len(step)) if step.tokens[node] in own]
    step, node = next(one for one in nodes if recap.Drafter(base=memory.base).from_base([one[0].tokens[one[1]]]))
    wish = {"id": name, "key": mine.key, "step": step.index, "node": node, "theme": "light"}
    assert "memory holds now" in look(wish)["found"] and "warm" not in look(wish)["found"], "its own row comes first"
    mine.forget()
    mine.session(worker.target)  # as the next answer would
    assert "U (warm)" in look(wish)["found"] and "loaded for every visitor" in look(wish)["found"]
