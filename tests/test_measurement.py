"""Measurements on the page: what may be asked, one at a time, beside answers, stopped, and what comes out."""

from __future__ import annotations

import csv
import io
import json
import zipfile

import pytest

import recap
from recap.bench import manifest
from studio import measurement
from studio.conversation import Conversation
from studio.jobs import Answer
from studio.limits import Limits
from studio.measurement import Laboratory, Measurement
from studio.worker import Refused, Worker

from . import tiny

LIMITS = Limits(characters=100, tokens=64, upload_megabytes=1, megapixels=1)


def read(visitor=None, methods=("pld",), budget="auto", source="own", own="What is it?\n\n Why? ", picture=None, limit=6,
         most=8, repeats=1, file=None, lens=False):  # fmt: skip
    return measurement.read(
        visitor or Conversation(), list(methods), budget, source, own, file, limit, most, repeats, lens, picture, LIMITS
    )


@pytest.fixture
def worker(target):
    made = Worker(lambda: target("llava"))
    yield made
    made.close(10)


def over(job: Measurement) -> Measurement:
    for _ in job.follow(0.01):
        pass
    return job


def test_own_prompts_are_lines_and_go_with_the_picture():
    job = read(own="  What is it?\n\n<b>Why?</b>\n", picture="/some/cat.png", repeats=2)
    assert [(one.turns, one.images) for one in job.manifest.inputs] == [
        (("What is it?",), ("/some/cat.png",)), (("<b>Why?</b>",), ("/some/cat.png",))
    ]  # fmt: skip
    assert [one.name for one in job.contenders] == ["ar", "pld auto"] and job.total == 2 * 2 * 2


def test_both_budgets_and_the_inputs_that_ship():
    job = read(methods=["recap", "lookahead"], budget="both", source="shipped", limit=5)
    assert [one.name for one in job.contenders] == ["ar", "recap auto", "recap paper", "lookahead"]
    shipped = manifest.read(manifest.DEFAULT).inputs
    assert len(job.manifest.inputs) == 5 and set(job.manifest.inputs) <= set(shipped)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (dict(methods=[]), "Choose a method"), (dict(methods=["magic"]), "method must be one of"),
        (dict(methods=[["ar"]]), "method must be one of"), (dict(budget="huge"), "budget must be one of"),
        (dict(budget=[]), "budget must be one of"), (dict(source="/etc/passwd"), "source must be one of"),
        (dict(own=" \n "), "Write a prompt"), (dict(own=None), "Write a prompt"), (dict(own="x\n" * 51), "51 prompts"),
        (dict(own="x" * 101), "101 characters"), (dict(limit=0), "Inputs must be"), (dict(limit=True), "Inputs must be"),
        (dict(limit=float("nan")), "Inputs must be"), (dict(repeats=2.5), "Repetitions must be"),
        (dict(most=65), "max_new_tokens must be"), (dict(most="8"), "max_new_tokens must be"),
        (dict(own="x\n" * 50, methods=["recap", "pld", "sam", "lookahead"], repeats=5), "1,250 answers"),
    ],
)  # fmt: skip
def test_what_cannot_be_measured_is_told(given, words):
    with pytest.raises(ValueError, match=words):
        read(**given)


def test_a_measurement_beside_an_answer(worker, tmp_path):
    """Figures come input by input; its visitor goes on asking meanwhile, and both give what they give alone."""
    picture = tmp_path / "picture.png"
    tiny.picture(1).save(picture)
    visitor = Conversation()
    job, laboratory = read(visitor, methods=["recap", "pld"], picture=str(picture), repeats=2), Laboratory(worker)
    laboratory.begin(job)
    answer = worker.ask(Answer(visitor, "What is the woman carrying?", None, "recap", 20))
    assert visitor.busy and visitor.measurement is job
    over(job)
    assert (job.state, job.error, job.answered, job.done) == ("done", "", 12, 4) and job.total == 12
    assert visitor.measurement is None and visitor.latest_measurement is job
    assert {record["name"] for record in job.records} == {"ar", "recap auto", "pld auto"}
    assert all(record["identical"] for record in job.records)
    for _ in answer.follow(0.01):
        pass
    alone = recap.generate(worker.target, "What is the woman carrying?", max_new_tokens=20)
    assert answer.trace.token_ids == alone.token_ids
    assert [table.title for table in job.tables()][0] == "S and tau by category"
    assert len(job.pictures()) == 4 and set(job.pictures()[0].specs) == {"light", "dark"}
    rows = list(csv.DictReader(io.StringIO(job.saved("csv"))))
    assert {row["method"] for row in rows} == {"ar", "recap auto", "pld auto"} and {row["inputs"] for row in rows} == {"2"}
    assert [json.loads(line) for line in job.saved("jsonl").splitlines()] == job.records
    assert job.saved("html").startswith("<!DOCTYPE html>") and "own prompts" in job.saved("html")


def test_one_at_a_time_and_the_next_when_it_has_ended(worker):
    laboratory, first, second = Laboratory(worker), read(own="a\n" * 40, most=60), read()
    laboratory.begin(first)
    with pytest.raises(Refused, match="Another visitor's measurement is running"):
        laboratory.begin(second)
    with pytest.raises(Refused, match="Your last measurement"):
        laboratory.begin(read(first.visitor))
    first.stop()
    over(first)
    assert first.state == "done" and first.answered < first.total
    laboratory.begin(second)
    assert over(second).answered == second.total


def test_a_visitor_who_leaves_takes_it_along_and_a_new_chat_does_not(worker):
    laboratory, visitor = Laboratory(worker), Conversation()
    job = read(visitor, own="a\n" * 40, most=60)
    laboratory.begin(job)
    visitor.clear()
    assert not job.stopped
    visitor.leave()
    assert over(job).stopped and visitor.idle


def test_nothing_is_saved_before_the_first_input_is_complete():
    job = read()
    assert job.tables() == [] and job.pictures() == [] and job.seconds_left is None
    with pytest.raises(ValueError, match="nothing is measured yet"):
        job.saved("csv")


def test_an_input_that_cannot_be_asked_is_left_out(worker, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_text("no picture")
    job, laboratory = read(own="What?", picture=str(broken)), Laboratory(worker)
    laboratory.begin(job)
    over(job)
    assert job.state == "done" and job.answered == job.total and "error" in job.records[0]
    assert job.tables() == []


def test_an_uploaded_manifest_with_the_lens(worker, tmp_path, monkeypatch):
    """Its pictures are kept while they are used, in the folder of uploads, and the lens tells of RECAP's passes."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    (tmp_path / "uploads").mkdir()
    with zipfile.ZipFile(tmp_path / "own.zip", "w") as archive:
        for number in range(2):
            tiny.picture(number).save(tmp_path / f"{number}.png")
            archive.write(tmp_path / f"{number}.png", f"images/{number}.png")
        inputs = [{"prompt": "What is it?", "image": f"{number}.png"} for number in range(2)] + [{"prompt": "", "id": "bad"}]
        archive.writestr("manifest.jsonl", "\n".join(map(json.dumps, inputs)))
    job = read(methods=["pld", "recap"], budget="paper", source="file", file=str(tmp_path / "own.zip"), lens=True, most=12)
    (folder,) = (tmp_path / "uploads").iterdir()
    Laboratory(worker).begin(job)
    over(job)
    assert (job.state, job.error, job.done) == ("done", "", 2) and not folder.exists()
    seen = {record["name"]: record.get("lens") for record in job.records}
    assert seen["ar"] is None and seen["pld paper"] is None
    assert sum(group["roots"] for group in seen["recap paper"]) > 0
    titles = [table.title for table in job.tables()]
    assert "Who needs the picture" in titles and "Left out" in titles
    assert "Who needs the picture" in [one.title for one in job.pictures()]


def test_the_lens_needs_recap_and_a_refused_file_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path))
    with pytest.raises(ValueError, match="have recap among the methods"):
        read(methods=["pld"], lens=True)
    with pytest.raises(ValueError, match="Choose a file first"):
        read(source="file")
    assert list(tmp_path.iterdir()) == []
