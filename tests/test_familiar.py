"""Pictures that come with the studio are looked at once for all visitors; others by each visitor's own session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

import recap
from studio import familiar
from studio.conversation import Conversation
from studio.jobs import Answer
from studio.worker import Worker

from .test_worker import wait

OURS = familiar.PLACE / "receipt.png"


@pytest.fixture
def looked(target: Any, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Digests of the pictures that the target was made to look at."""
    seen: list[str] = []
    model, see = target("llava"), target("llava").see
    monkeypatch.setattr(model, "see", lambda opened: seen.append(opened.digest) or see(opened))
    familiar._seen.pop(model, None)
    return seen


def ask(worker: Worker, picture: Path) -> Answer:
    answer = wait(worker.ask(Answer(Conversation(), "What is it?", str(picture), "recap", 6)))
    assert answer.state == "done", answer.error
    return answer


def test_ours_are_looked_at_once_and_others_by_every_session(target: Any, looked: list[str], tmp_path: Path) -> None:
    worker = Worker(lambda: target("llava"))
    worker.start()
    Image.open(OURS).save(tmp_path / "copy.png")  # other bytes, the same pixels
    one, two = ask(worker, OURS), ask(worker, tmp_path / "copy.png")
    assert one.trace.token_ids == two.trace.token_ids and len(looked) == 1
    assert one.trace.token_ids == recap.generate(target("llava"), "What is it?", str(OURS), max_new_tokens=6).token_ids
    del looked[:]
    with Image.open(OURS) as image:
        own = image.convert("RGB")
        own.putpixel((0, 0), (1, 2, 3))
        own.save(tmp_path / "own.png")
    ask(worker, tmp_path / "own.png")
    ask(worker, tmp_path / "own.png")
    assert len(looked) == 2
    worker._thread.shutdown(wait=True)


def test_what_is_no_picture_is_told_as_ever(target: Any, looked: list[str], tmp_path: Path) -> None:
    worker = Worker(lambda: target("llava"))
    worker.start()
    (tmp_path / "no.png").write_text("nothing")
    answer = wait(worker.ask(Answer(Conversation(), "What is it?", str(tmp_path / "no.png"), "recap", 6)))
    assert answer.state == "failed" and "no.png" in answer.error and looked == []
    worker._thread.shutdown(wait=True)
