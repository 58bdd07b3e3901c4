"""Small traces made by hand, whose panels can be checked by value, and a reader of HTML."""

from __future__ import annotations

from html.parser import HTMLParser

from recap.trace import Comparison, Row, RowTable, Step, Trace

from . import synthetic

WORDS = {0: "The", 1: " cat", 2: " dog", 3: " sat", 4: " head", 5: " hat", 6: "\n", 7: " mat"}
CONFIG = {"fusion": "entropy", "priors": [0.7, 0.2, 0.1], "depth_priors": [0.68, 0.63], "width": 8, "max_depth": 10}
HOSTILE = (
    "<script>x</script>", "</div>", "\u202eabc", "\x00", "\ud83d", "x" * 10_000, "\"'><b onclick=x>", " \n\n", "",
)  # fmt: skip


def tree() -> Step:
    """Root " cat"; 1 " sat" of G and U, accepted; 2 " head" of all, refused; 3 " hat" below 1, refused; 4 " mat" below
    2, a suffix node. The model chose " sat" after " cat", then " dog", which no candidate held."""
    table = RowTable(texts=dict(WORDS))
    of_g = synthetic.add(table, Row((4, 3), (0.75, 0.25), 0.5))
    of_c = synthetic.add(table, Row((4, 5), (0.5, 0.5), 0.5))
    of_u = synthetic.add(table, Row((4, 3), (0.625, 0.375), 0.25))
    below = synthetic.add(table, Row((5, 2), (0.875, 0.125), 0.5))
    fused = synthetic.add(table, Row((4, 3, 5), (0.6875, 0.21875, 0.09375), 0.5))
    said = synthetic.add(table, Row((3, 4), (0.75, 0.25), 0.5))
    then = synthetic.add(table, Row((2, 5), (0.625, 0.375), 0.5))
    last = synthetic.add(table, Row((6, 7), (0.5, 0.5), 0.5))
    none = [-1, -1, -1]
    weights = [0.75, 0.125, 0.125]
    return Step(
        index=1, prefix_length=9, max_nodes=3, suffix_tokens=1, tokens=[1, 3, 4, 5, 7], parents=[-1, 0, 0, 1, 2],
        depths=[0, 1, 1, 2, 2], scores=[1.0, 0.14875, 0.4675, 0.08, 0.0],
        origins=["root", "memory", "memory", "memory", "suffix"],
        weights=[[0.0] * 3, weights, weights, [0.0, 0.0, 1.0], [0.0] * 3],
        shares=[[0.0] * 3, [0.62, 0.0, 0.38], [0.75, 0.15, 0.1], [0.0, 0.0, 1.0], [0.0] * 3],
        rows=[[of_g, of_c, of_u], [-1, -1, below], [-1, of_c, of_u], none, none], fused=[fused, below, -1, -1, -1],
        target=[said, then, last, last, last], choices=[3, 2, 6, 6, 6], accepted=[True, True, False, False, False],
        committed=[3, 2], draft_ms=1.0, verify_ms=40.0, update_ms=2.0, sizes={"G": 4, "C": 5, "U": 60, "bytes": 2**20},
        table=table,
    )  # fmt: skip


def trace(method: str = "recap", seconds: float = 2.0, theirs: list[int] | None = None) -> Trace:
    """An answer "The cat sat dog" in two passes, the second of which is `tree()`; T is `seconds`. `theirs`: the tokens
    of plain decoding, which took 4 s."""
    second = tree()
    first = Step(**{**vars(plain(0, 1)), "table": second.table})
    ids = [0, 1, 3, 2]
    whole = Trace(
        model="m", device="cpu", dtype="float32", exact=True, backend="python", method=method, config=dict(CONFIG),
        messages=[], pictures=[], prompt_tokens=9, cached_tokens=0, max_new_tokens=20, temperature=0.0, seed=None,
        created="2026-11-29T12:00:00Z", versions={}, table=second.table, steps=[first, second], token_ids=ids,
        text="The cat sat dog", finish_reason="stop", encode_seconds=0.25, prefill_seconds=0.5,
        decode_seconds=seconds - 0.75,
    )  # fmt: skip
    if theirs is not None:
        at = next((i for i, (one, other) in enumerate(zip(ids, theirs)) if one != other), None)
        if at is None and len(ids) != len(theirs):
            at = min(len(ids), len(theirs))
        whole.comparison = Comparison(theirs, "", 0.25, 0.5, 3.25, at)
    return whole


def plain(token: int, said: int, index: int = 0) -> Step:
    """A pass of plain decoding: the root alone, no rows."""
    return Step(
        index=index, prefix_length=8, max_nodes=3, suffix_tokens=1, tokens=[token], parents=[-1], depths=[0],
        scores=[1.0], origins=["root"], weights=[[0.0] * 3], shares=[[0.0] * 3], rows=[[-1, -1, -1]], fused=[-1],
        target=[-1], choices=[said], accepted=[True], committed=[said], draft_ms=0.0, verify_ms=38.0, update_ms=0.0,
        sizes={}, table=RowTable(texts=dict(WORDS)),
    )  # fmt: skip


class Page(HTMLParser):
    """What a browser makes of a fragment: elements with their attributes, and the text; `words` has single blanks."""

    def __init__(self, fragment: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(fragment)
        self.close()
        assert not self.open, f"never closed: {self.open}"
        self.words = " ".join(self.text.split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in ("input", "br"):
            self.open.append(tag)
        self.text += " " * (tag in ("p", "h4", "h5", "th", "td", "li", "dt", "dd", "div", "small"))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def named(self, name: str) -> list[dict[str, str]]:
        """Attributes of the elements of a class."""
        return [attributes for _, attributes in self.elements if name in attributes.get("class", "").split()]


def harmless(fragment: str) -> None:
    """No element, attribute or style that a token's text could have brought in; no character that turns text around."""
    page = Page(fragment)
    tags = {tag for tag, _ in page.elements}
    blocks, words = "p h4 h5 section div table thead tbody tr th td dl dt dd ul li", "b i small code span button label input"
    assert tags <= {*blocks.split(), *words.split()}
    for _, attributes in page.elements:
        assert not any(name.startswith("on") for name in attributes)
        assert set(attributes.get("style", "")) <= set("-:;.0123456789abcdefghijklmnopqrstuvwxyz")
    assert not set("\u202e\x00\ud83d") & set(fragment)


def hostile(number: int, some: Trace) -> Trace:
    """The same trace with one hostile text as every token."""
    some.table.texts.update(dict.fromkeys(some.table.texts, HOSTILE[number]))
    return some
