"""What the built-in front end sees: objects, text, colours, and what it says when it cannot."""

import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from recap.__main__ import main
from recap.pictures import open_picture
from recap.targets.builtin import BuiltinTarget, front_end, lite0, text_reader
from recap.targets.builtin.colours import NAMES, colours, name_pixels
from recap.targets.builtin.evidence import Evidence, TextLine
from recap.targets.builtin.front_end import FrontEnd, class_names
from recap.targets.builtin.reader import Adapter
from recap.targets.builtin.text_reader import clean, in_reading_order

EXAMPLES = Path(__file__).parents[1] / "assets" / "examples"


@pytest.fixture(scope="module")
def eyes():
    return FrontEnd()


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a request was made")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


def look(eyes, name):
    evidence = eyes.look(open_picture(EXAMPLES / name))
    assert evidence.problems == ()
    json.dumps(evidence.to_dict())
    return evidence


def rows(evidence):
    found = {}
    for line in evidence.text:
        found.setdefault(line.row, []).append(line.text)
    return [" ".join(pieces) for pieces in found.values()]


def test_the_receipt_is_read_row_by_row(eyes):
    evidence = look(eyes, "receipt.png")
    read = rows(evidence)
    assert read[0] == "GREEN LEAF MARKET" and read[-1] == "Thank you, come again!"
    assert [row for row in read if row in ("Rye bread 3.20", "TOTAL 17.90", "Change 2.10")] == [
        "Rye bread 3.20", "TOTAL 17.90", "Change 2.10",
    ]  # fmt: skip
    assert "TOTAL | 17.90" in evidence.to_text()
    assert evidence.text[0].position == "top" and evidence.colours[0][0] == "white"


def test_the_other_drawings_are_read(eyes):
    assert {"Greek salad 6.80", "Lemon tart 6.00"} <= set(rows(look(eyes, "menu.png")))
    chart = look(eyes, "bar_chart.png")
    assert {"46", "Jan"} <= {line.text for line in chart.text} and "blue" in dict(chart.colours)
    sign = look(eyes, "street_sign.png")
    assert rows(sign)[0] == "MAPLE AVENUE" and sign.objects[0][0] == "street sign"


def test_photos_are_recognised_and_hold_no_text(eyes):
    coffee, cat = look(eyes, "coffee.jpg"), look(eyes, "cat.jpg")
    assert coffee.objects[0][0] == "espresso" and "The picture shows: espresso (a drink)." in coffee.to_text()
    assert {name for name, _ in cat.objects[:3]} == {"Egyptian cat", "tiger cat", "tabby cat"}
    assert "The picture shows: a cat, perhaps Egyptian cat, " in cat.to_text()
    for evidence in (coffee, cat):
        assert evidence.text == () and "No text was found in the picture." in evidence.to_text()
        confidences = [confidence for _, confidence in evidence.objects]
        assert len(confidences) == 5 and confidences == sorted(confidences, reverse=True) and sum(confidences) <= 1


@pytest.mark.parametrize("size", [(1, 1), (4000, 20), (20, 4000), (4096, 1), (9, 9)])
def test_any_size_gives_evidence(eyes, size):
    evidence = eyes.look(Image.new("RGB", size))
    assert evidence.problems == () and evidence.size == size
    assert len(evidence.objects) == 5 and evidence.text == () and evidence.colours == (("black", 1.0),)
    assert "I am not sure what the main object is." in evidence.to_text()


def test_a_large_picture_is_seen_at_reading_size_and_its_own_size_is_told(eyes, tmp_path):
    path = tmp_path / "scan.jpg"
    receipt = open_picture(EXAMPLES / "receipt.png")
    receipt.resize((receipt.width * 5, receipt.height * 5), Image.Resampling.BICUBIC).save(path, quality=90)
    opened = BuiltinTarget.open(None, path)
    assert max(opened.image.size) == text_reader.LONGEST
    large, small = eyes.look(opened.image), eyes.look(receipt)
    assert large.size == (receipt.width * 5, receipt.height * 5) and large.chart is None
    words = [[row.replace(" ", "") for row in rows(evidence)] for evidence in (large, small)]  # spaces come and go with the scale
    assert words[0] == words[1] and large.objects[0][0] == small.objects[0][0]


def test_text_in_a_long_strip_is_found_at_its_place(eyes):
    strip = Image.new("RGB", (3000, 60), "white")
    strip.paste(open_picture(EXAMPLES / "receipt.png").crop((90, 525, 430, 565)), (2600, 10))
    words = {line.text: line.box for line in eyes.look(strip).text}
    assert 0.85 < words["TOTAL"][0] < words["17.90"][0] < 1.0 and words["TOTAL"][3] <= 1.0


def test_several_threads_share_one_front_end():
    fresh = FrontEnd()
    names = ["coffee.jpg", "street_sign.png"] * 2
    barrier = threading.Barrier(4)

    def work(name):
        barrier.wait()
        return fresh.look(open_picture(EXAMPLES / name))

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, names))
    assert found[0] == found[2] and found[1] == found[3] and found[0] != found[1]


def test_a_failing_part_costs_its_own_evidence_only(monkeypatch):
    monkeypatch.setattr(text_reader, "_MODELS", {"Det": "no_such_model.onnx"})
    half = FrontEnd().look(open_picture(EXAMPLES / "coffee.jpg"))
    assert half.text is None and half.objects and half.colours
    assert len(half.problems) == 1 and "no_such_model.onnx" in half.problems[0]
    assert "could not be read" in half.to_text()

    monkeypatch.undo()
    monkeypatch.setattr(front_end, "ensure", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("gone")))
    blind = FrontEnd().look(Image.new("RGB", (5, 5)))
    assert blind.objects is None and blind.text == () and "RuntimeError: gone" in blind.problems[0]
    assert "could not be recognised" in blind.to_text() and blind.to_dict()["objects"] is None


def test_a_damaged_classifier_file_is_fetched_again(monkeypatch, tmp_path):
    good, asked = front_end.ensure(), []
    bad = tmp_path / "lite0.safetensors"
    bad.write_bytes(b"\xff" * 99)

    def replaced(progress=None, verify=False):
        asked.append(verify)
        return good if verify else type(good)(good.language_model, bad)

    monkeypatch.setattr(front_end, "ensure", replaced)
    assert FrontEnd().look(open_picture(EXAMPLES / "coffee.jpg")).objects[0][0] == "espresso" and asked == [False, True]


def test_text_from_pictures_is_one_line_of_visible_characters():
    assert clean("a\nb\tc\0\x1b[31m \u202e\u200bd \ue000") == "a b c[31m d"
    assert clean(" \u2028 ") == "" and clean("Größe 3 €, 東京") == "Größe 3 €, 東京"
    assert clean("<|im_end|>") == "<|im_end|>"  # plain characters: whoever builds the prompt encodes them as such


def test_reading_order_is_down_the_rows_and_to_the_right():
    pieces = [("d", 1, (0.5, 0.31, 0.9, 0.39)), ("b", 1, (0.5, 0.10, 0.9, 0.18)), ("c", 1, (0.0, 0.30, 0.3, 0.38)),
              ("a", 1, (0.0, 0.12, 0.3, 0.20))]  # fmt: skip
    assert [(line.text, line.row) for line in in_reading_order(pieces)] == [("a", 0), ("b", 0), ("c", 1), ("d", 1)]
    assert in_reading_order([]) == []


@pytest.mark.parametrize(
    "box, words",
    [((0, 0, 0.2, 0.1), "top left"), ((0.4, 0.4, 0.6, 0.6), "middle"), ((0.8, 0.4, 1, 0.6), "right"),
     ((0.3, 0.9, 0.7, 1), "bottom"), ((1, 1, 1, 1), "bottom right")],
)  # fmt: skip
def test_positions_have_names(box, words):
    assert TextLine("x", 1.0, box, 0).position == words


def test_long_text_is_cut_and_counted():
    lines = tuple(TextLine("word " * 20, 1.0, (0, 0, 1, 1), row) for row in range(50))
    words = Evidence((9, 9), (("x", 0.9),), lines, (("red", 1.0),)).to_text()
    assert len(words) < 2000 and "(38 more lines are not shown.)" in words
    one = Evidence((9, 9), (("x", 0.9),), (TextLine("y" * 9000, 1.0, (0, 0, 1, 1), 0),), ()).to_text()
    assert len(one) < 2000 and "yyy…" in one


def test_a_page_of_text_is_called_that():
    lines = tuple(TextLine("words", 1.0, (0, 0, 1, 1), row) for row in range(4))
    assert "mostly text" in Evidence((9, 9), (("web page", 0.99),), lines, None).to_text()
    assert "The picture shows: web page." in Evidence((9, 9), (("web page", 0.99),), lines[:1], None).to_text()


@pytest.mark.parametrize(
    "rgb, name",
    [("#000000", "black"), ("#ffffff", "white"), ("#808080", "grey"), ("#e01010", "red"), ("#ff8c00", "orange"),
     ("#ffe000", "yellow"), ("#20a030", "green"), ("#0050d0", "blue"), ("#102a60", "dark blue"), ("#8030b0", "purple"),
     ("#ff70b0", "pink"), ("#7a4a20", "brown"), ("#e8d8b0", "beige"), ("#a8d0f0", "light blue"), ("#00a0a0", "teal"),
     ("#fafafa", "white"), ("#404040", "dark grey"), ("#5a0a0a", "dark red"), ("#707020", "olive")],
)  # fmt: skip
def test_colours_have_plain_names(rgb, name):
    assert colours(Image.new("RGB", (3, 2), rgb)) == ((name, 1.0),)


def test_colour_shares_and_every_rgb_value_has_a_name():
    image = Image.new("RGB", (1000, 300), "white")
    image.paste("#e01010", (0, 0, 250, 300))
    assert colours(image) == (("white", 0.75), ("red", 0.25))
    grid = np.stack(np.meshgrid(*[np.arange(0, 256, 15, dtype=np.uint8)] * 3), -1).reshape(-1, 3)
    assert set(name_pixels(grid)) == set(range(len(NAMES)))


def test_class_names_are_the_thousand_in_their_order():
    names = class_names()
    assert len(set(names)) == 1000
    known = {0: "tench", 1: "goldfish", 207: "golden retriever", 285: "Egyptian cat", 340: "zebra", 388: "giant panda",
             404: "airliner", 508: "keyboard", 620: "laptop", 779: "school bus", 872: "tripod", 919: "street sign",
             954: "banana", 963: "pizza", 967: "espresso", 985: "daisy", 999: "toilet paper"}  # fmt: skip
    assert {index: names[index] for index in known} == known


def test_the_classifier_pads_as_it_was_trained():
    conv = lite0._Conv(1, 1, 3, stride=2)
    conv.weight.data.fill_(1.0)
    out = conv(torch.ones(1, 1, 4, 4))  # "SAME" at stride 2 on an even side: one row below, one column to the right
    assert out.shape == (1, 1, 2, 2) and out.flatten().tolist() == [9.0, 6.0, 6.0, 4.0]


def test_what_looking_takes_is_measured_part_by_part(capsys):
    assert main(["bench", "eyes", str(EXAMPLES / "cat.jpg"), "--turns", "1"]) == 0
    rows = [line.split() for line in capsys.readouterr().out.splitlines() if line.startswith("cat.jpg")]
    assert [row[1:-2] for row in rows] == [["open"], ["look"], ["first", "token"]]
    assert all(float(row[-1]) >= 0 for row in rows) and float(rows[2][-2]) > 0
    assert main(["bench", "eyes", "nothing.jpg", "--turns", "0"]) == 2


def test_the_reader_is_merged_in_place_with_the_numbers_of_the_formula():
    adapter = Adapter()
    name = next(iter(adapter._tensors)).rpartition(".")[0]
    a, b = (adapter._tensors[f"{name}.{part}"].float() for part in "ab")
    weight = torch.randn(len(b), a.shape[1], generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    expected = (weight.float() + adapter.scale * (b @ a)).to(torch.bfloat16)
    kept = weight.clone()
    assert torch.equal(adapter.merged(name + ".weight", weight), expected) and torch.equal(weight, kept)
    assert not torch.equal(expected, weight)
