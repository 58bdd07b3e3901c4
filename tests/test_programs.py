"""/chat and /race as programs use them: gradio_client, names, types, values, and a sentence for whatever is sent."""

from __future__ import annotations

import json
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from gradio_client import Client, handle_file

from .app_fixtures import PATIENCE


@pytest.fixture(scope="module")
def client(address: str) -> Client:
    return Client(address, verbose=False)


def test_programs_see_two_endpoints_with_clear_names(client: Client) -> None:
    endpoints = client.view_api(print_info=False, return_format="dict")["named_endpoints"]
    assert set(endpoints) == {"/chat", "/race"}
    for endpoint in endpoints.values():
        names = [one["parameter_name"] for one in endpoint["parameters"]]
        assert names == ["prompt", "image", "method", "max_new_tokens"]
    gives = [(one["label"], one["python_type"]["type"]) for one in endpoints["/race"]["returns"]]
    assert gives == [("text", "str"), ("text_ar", "str"), ("S", "float"), ("tau", "float"), ("identical", "bool")]
    assert [one["python_type"]["type"] for one in endpoints["/chat"]["returns"]] == ["str"]


def test_both_methods_say_the_same_and_text_streams(client: Client, picture: Path) -> None:
    said = {
        method: client.predict("What colour is this?", handle_file(picture), method, 16, api_name="/chat")
        for method in ("recap", "ar")
    }
    assert said["recap"] and said["recap"] == said["ar"]
    job = client.submit("Write a sentence about rain.", None, "recap", 24, api_name="/chat")
    final = job.result(timeout=PATIENCE / 1000)
    parts = job.outputs()
    assert final == parts[-1] and all(final.startswith(part.rstrip()) for part in parts) and len(parts) > 1


def test_a_race_gives_both_texts_and_its_numbers(client: Client, picture: Path) -> None:
    job = client.submit(
        prompt="What colour is this?", image=handle_file(picture), method="recap", max_new_tokens=12, api_name="/race"
    )
    text, text_ar, speed, tau, identical = job.result(timeout=PATIENCE / 1000)
    assert text and text == text_ar and identical is True
    assert isinstance(speed, (int, float)) and speed > 0 and 1.0 <= tau <= 12
    alone = client.predict("What colour is this?", handle_file(picture), "ar", 12, api_name="/chat")
    assert text == alone
    earlier = job.outputs()
    assert all(text.startswith(one[0].rstrip()) and text_ar.startswith(one[1].rstrip()) for one in earlier)
    assert earlier[0][4] is False, "not known before both have ended"


def test_two_at_once_take_turns(address: str) -> None:
    said: dict[int, str] = {}

    def run(number: int) -> None:
        own = Client(address, verbose=False)
        said[number] = own.predict("Name three colours.", None, "recap", 16, api_name="/chat")

    threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    [thread.start() for thread in threads]
    [thread.join(PATIENCE / 1000) for thread in threads]
    assert len(said) == 2 and said[0] == said[1] and said[0]


class Fetched(BaseHTTPRequestHandler):
    """A server that must not be asked for anything."""

    asked: list[str] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_error(404)


@pytest.mark.parametrize("endpoint", ["chat", "race"])
def test_programs_get_a_sentence_for_whatever_they_send(address: str, picture: Path, endpoint: str) -> None:
    """The log of the app is searched for tracebacks when the tests end."""
    other = ThreadingHTTPServer(("127.0.0.1", 0), Fetched)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{other.server_port}/p.png"
    mark = {"meta": {"_type": "gradio.FileData"}}
    number, image = "max_new_tokens must be a whole number", "image must be null or a picture uploaded"
    for given, sentence in (
        (["Hello", None, "guessing", 8], "method must be one of"),
        (["Hello", None, None, 8], "method must be one of"),
        (["Hello", None, "recap", 0], number),
        (["Hello", None, "recap", None], number),
        (["Hello", None, "recap", "eight"], number),
        (["Hello", None, "recap", 10**300], number),
        ([" \n", None, "recap", 8], "Type a question first"),
        ([5, None, "recap", 8], "prompt must be text"),
        ([None, None, "recap", 8], "prompt must be text"),
        (["Hello", {}, "recap", 8], image),
        (["Hello", "cat.png", "recap", 8], image),
        (["Hello", {"url": url}, "recap", 8], image),
        (["Hello", {"path": url, **mark}, "recap", 8], image),
        (["Hello", {"path": url}, "recap", 8], image),
        (["Hello", {"path": 5, **mark}, "recap", 8], image),
        (["Hello", {"path": str(picture)}, "recap", 8], "none that was uploaded"),
        (["Hello", {"path": "/etc/hostname", **mark}, "recap", 8], "none that was uploaded"),
        (["very long " * 20_000, None, "recap", 8], "tokens"),
        (["Hello"], "does not fit this endpoint"),
    ):
        said = posted(address, endpoint, given)
        assert sentence in said and len(said) < 400 and str(picture.parent) not in said and "/etc" not in said, said
    assert Fetched.asked == []
    other.shutdown()


def posted(address: str, endpoint: str, given: list[Any]) -> str:
    """The error that an endpoint answers with."""
    call = f"{address}gradio_api/call/{endpoint}"
    body = json.dumps({"data": given}).encode()
    asked = urllib.request.Request(call, body, {"content-type": "application/json"})
    event = json.load(urllib.request.urlopen(asked, timeout=30))["event_id"]
    answer = urllib.request.urlopen(f"{call}/{event}", timeout=PATIENCE / 1000).read().decode()
    assert "event: error" in answer
    return json.loads(answer.rpartition("data: ")[2])["error"] or "no word"
