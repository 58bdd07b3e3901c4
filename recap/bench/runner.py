"""The measurement itself: every method on every input, interleaved, as records that anybody can count with.

For each input all contenders answer one after another, in turns which of them goes first. Each has a session of its
own, so that none sees another's memories; what a method keeps across requests (U) it keeps over the inputs, and begins
without it in every repetition. Pictures are looked at once per input and repetition, and the time is charged to all.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from typing import Any

from ..generation import generate, stream
from ..lens import looking
from ..roots import by_accepted
from ..session import Session
from ..trace import Trace, first_difference
from .contenders import PLAIN, Contender
from .looking import Looked, look
from .manifest import Input
from .peers import Conversation, Peer

Record = dict[str, Any]
Key = tuple[int, str]
"""Repetition and input: the records of one are made, kept and counted together."""

REBUILT = 50
"""Inputs that are answered again, unrecorded, to fill the memories of a run that goes on where it was stopped."""
_HELLO = "Hello. Say something about yourself."


def total(inputs: Sequence[Input], contenders: Sequence[Contender], peers: Sequence[str], repeats: int) -> int:
    """Answers that a whole run takes."""
    return len(inputs) * (len(contenders) + len(peers)) * repeats


def warm_up(target: Any, contenders: Sequence[Contender], peers: Sequence[Peer] = (), progress: Any = None) -> None:
    """Do now what first use would otherwise be charged for: measuring passes, loading parts, first calls."""
    for _ in warming(target, contenders, peers, progress):
        pass


def warming(
    target: Any, contenders: Sequence[Contender], peers: Sequence[Peer] = (), progress: Any = None
) -> Iterator[None]:
    """The same in pieces: yields after each."""
    if any(one.budget == "auto" for one in contenders):
        target.measure(progress)
        yield
    for one in contenders:
        generate(target, _HELLO, method=one.method, config=one.config, max_new_tokens=8)
        yield
    for peer in peers:
        peer(target.prompt(_HELLO).ids, max_new_tokens=8)
        yield


def measure(
    target: Any,
    inputs: Sequence[Input],
    contenders: Sequence[Contender],
    max_new_tokens: int,
    repeats: int = 1,
    peers: Sequence[Peer] = (),
    done: Collection[Key] = (),
    proceed: Callable[[], bool] = lambda: True,
    answered: Callable[[str], None] = lambda name: None,
    lens: str | None = None,
) -> Iterator[list[Record]]:
    """All of `pieces` at once, without the None between. `proceed` is asked at every pass, and with the first False the
    generator ends."""
    for found in pieces(target, inputs, contenders, max_new_tokens, repeats, peers, done, answered, lens):
        if found is not None:
            yield found
        if not proceed():
            return


def pieces(
    target: Any,
    inputs: Sequence[Input],
    contenders: Sequence[Contender],
    max_new_tokens: int,
    repeats: int = 1,
    peers: Sequence[Peer] = (),
    done: Collection[Key] = (),
    answered: Callable[[str], None] = lambda name: None,
    lens: str | None = None,
) -> Iterator[list[Record] | None]:
    """Yields the records of one input in one repetition after another: one for each contender and peer, with "error" where
    a peer failed, or a single one with "error" and no name for an input that this target cannot be asked. In between, None
    after every pass: there others may use the device, whose time is not counted, and there the generator may be closed.

    `lens` names a contender whose answers about pictures are looked at through the image lens in the first repetition, with
    their mean colour and with another input's picture in their place: after all have answered, and in nobody's time. What
    it finds is in that contender's records, under "lens" (`recap.roots.by_accepted`).

    `done` are left out; memories are filled as if they had just been answered, up to `REBUILT` inputs back. `answered` is
    told the name after every answer. Call `warm_up` before. The contenders must include plain decoding; ids and names must
    differ. A record's fields are described in docs/laboratory.md.
    """
    if PLAIN not in [one.name for one in contenders]:
        raise ValueError(f"the contenders must include {PLAIN!r}, with which all are compared")
    for repeat in range(repeats):
        waiting = [number for number, one in enumerate(inputs) if (repeat, one.id) not in done]
        if not waiting:
            continue
        sessions = {one.name: Session(target, one.method, one.config, one.warm) for one in contenders}
        for one in inputs[max(0, waiting[0] - REBUILT) : waiting[0]]:
            yield from _rebuild(target, one, sessions, max_new_tokens)
        for number in waiting:
            looked_at = (lens, _other(inputs, number)) if lens is not None and repeat == 0 else None
            records = yield from _ask(
                target, inputs[number], number + repeat, sessions, peers, max_new_tokens, answered, looked_at
            )
            by_name = {one.name: one for one in contenders}
            for record in records:
                own = by_name.get(record["name"])
                record |= {"repeat": repeat, "method": own.method if own else "", "budget": own.budget if own else ""}
            yield records


def _ask(
    target: Any,
    one: Input,
    rotation: int,
    sessions: dict[str, Session],
    peers: Sequence[Peer],
    max_new_tokens: int,
    answered: Callable[[str], None],
    lens: tuple[str, str | None] | None,
) -> Generator[None, None, list[Record]]:
    """The records of an input. `lens`: whose answers are looked at, and the picture to put in place of the input's."""
    try:
        looked = look(target, one.images, bool(peers))
        yield
        jobs: dict[str, Callable[[], Generator[None, None, list[Any]]]] = {
            name: lambda session=session: _converse(session, one, looked, max_new_tokens) for name, session in sessions.items()
        }
        jobs |= {peer.name: lambda peer=peer: _converse_with(peer, target, one, looked) for peer in peers}
        failed: dict[str, str] = {}
        names = list(jobs)
        first = rotation % len(names)
        answers: dict[str, list[Any]] = {}
        for name in names[first:] + names[:first]:
            try:
                answers[name] = yield from jobs[name]()
            except ValueError as error:  # what other people's decoders cannot do ends nothing
                if name in sessions:
                    raise
                answers[name], failed[name] = [], _sentence(error)
            answered(name)
        roots = (yield from _look(target, answers[lens[0]], one.images, lens[1])) if lens and one.images else None
    except ValueError as error:
        return [{"id": one.id, "category": one.category, "name": "", "error": _sentence(error)}]
    places = {name: place for place, name in enumerate(answers)}

    def made(name: str) -> Record:
        if name in failed:
            return {"error": failed[name]}
        return (_record if name in sessions else _peer_record)(answers[name], answers[PLAIN], looked)

    return [
        {"id": one.id, "category": one.category, "name": name, "place": places[name]} | made(name)
        | ({"lens": roots} if roots is not None and lens and name == lens[0] else {})
        for name in names
    ]  # fmt: skip


def _other(inputs: Sequence[Input], number: int) -> str | None:
    """A picture of the next input that has another one; None where there is none."""
    own = set(inputs[number].images)
    return next(
        (image for one in [*inputs[number + 1 :], *inputs[:number]] for image in one.images if image not in own), None
    )


def _look(
    target: Any, traces: Sequence[Trace], images: Sequence[str], other: str | None
) -> Generator[None, None, list[dict[str, Any]]]:
    """What the lens finds at the roots of the passes of an input, by accepted length. A turn that it cannot follow, because
    its chat is not the same tokens when it is written anew, is left out."""
    for trace in traces:
        try:
            yield from looking(target, trace, images, () if other is None else (other,))
        except ValueError:
            pass
    return [group._asdict() for group in by_accepted(traces)]


def _sentence(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]


def _rebuild(target: Any, one: Input, sessions: dict[str, Session], max_new_tokens: int) -> Iterator[None]:
    """Answer an input for the memories' sake."""
    try:
        looked = look(target, one.images)
        for name, session in sessions.items():
            if name != PLAIN:
                yield from _converse(session, one, looked, max_new_tokens)
    except ValueError:  # it could not be asked the first time either
        pass


def _converse(
    session: Session, one: Input, looked: Looked, max_new_tokens: int
) -> Generator[None, None, list[Trace]]:
    """All turns of an input in a conversation of its own."""
    for picture in looked.pictures:
        session.show(picture)
    traces = []
    try:
        for number, turn in enumerate(one.turns):
            images = one.images if number == 0 else ()
            with stream(session.target, turn, images, session=session, max_new_tokens=max_new_tokens) as answer:
                yield from answer.reading()
                for _ in answer:
                    yield
            traces.append(answer.trace)
    finally:
        session.reset()
    return traces


def _converse_with(peer: Peer, target: Any, one: Input, looked: Looked) -> Generator[None, None, list[Any]]:
    conversation = Conversation(peer, target, looked.pictures, looked.inputs)
    answers = []
    for turn in one.turns:
        answers.append(conversation.ask(turn))
        yield
    return answers


def _record(traces: list[Trace], plain: list[Trace], looked: Looked) -> Record:
    """What a method did with an input, all turns together."""
    turns = [_turn(trace, looked.seconds if number == 0 else 0.0) for number, trace in enumerate(traces)]
    nodes = Counter(len(step) for trace in traces for step in trace.steps)
    passes = sum(nodes.values())
    accepted = sum(turn["accepted"] for turn in turns)
    return {
        **_sums(turns), "passes": passes, "accepted": accepted, "tau": 1.0 + accepted / passes if passes else 1.0,
        "nodes": sum(size * count for size, count in nodes.items()) / passes if passes else 1.0,
        "histogram": {str(size): nodes[size] for size in sorted(nodes)},
        "prompt_tokens": traces[0].prompt_tokens, "seeded_rows": traces[0].seeded_rows,
        "turns": turns, **_compared(traces, plain),
    }  # fmt: skip


def _turn(trace: Trace, encode: float) -> Record:
    spent = {
        name: sum(getattr(step, f"{name}_ms") for step in trace.steps) / 1000.0
        for name in ("draft", "verify", "update")
    }
    return {
        "tokens": len(trace.token_ids), "passes": len(trace.steps),
        "accepted": sum(len(step.accepted_nodes) for step in trace.steps), "finish": trace.finish_reason,
        "seconds": {"encode": encode, "prefill": trace.prefill_seconds, "decode": trace.decode_seconds, **spent},
        "token_ids": trace.token_ids,
    }  # fmt: skip


def _peer_record(answers: list[Any], plain: list[Trace], looked: Looked) -> Record:
    """The same of a peer, of which only whole answers are known. What it encodes itself is in its decoding."""
    turns = [
        {
            "tokens": len(answer.token_ids), "token_ids": answer.token_ids,
            "seconds": {
                "encode": 0.0 if number else looked.prepared if looked.inputs else looked.seconds,
                "prefill": 0.0, "decode": answer.seconds,
            },
        }
        for number, answer in enumerate(answers)
    ]  # fmt: skip
    return {**_sums(turns), "turns": turns, **_compared(answers, plain)}


def _sums(turns: list[Record]) -> Record:
    """Tokens, seconds by part, and T, their sum, over the turns."""
    parts = {name: sum(turn["seconds"][name] for turn in turns) for name in turns[0]["seconds"]}
    whole = parts["encode"] + parts["prefill"] + parts["decode"]
    return {"tokens": sum(turn["tokens"] for turn in turns), "T": whole, "seconds": parts}


def _compared(answers: list[Any], plain: list[Trace]) -> Record:
    """Whether all turns have the tokens of plain decoding; if not, the first difference and how close the call was."""
    for turn, (ours, theirs) in enumerate(zip(answers, plain)):
        at = first_difference(ours.token_ids, theirs.token_ids)
        if at is not None:
            known = isinstance(ours, Trace) and at < len(ours.token_ids) and at < len(theirs.token_ids)
            margin = ours.margin(at, theirs.token_ids[at]) if known else None
            return {"identical": False, "difference": {"turn": turn, "token": at, "margin": margin}}
    return {"identical": True, "difference": None}
