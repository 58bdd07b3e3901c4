"""What visitors and programs send, read before it is used: what does not fit is refused in a sentence."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr
from gradio.exceptions import InvalidPathError
from starlette.routing import BaseRoute

from recap.pictures import PictureError, picture_size

from .light import PageConfig

if TYPE_CHECKING:
    from .limits import Limits
    from .metrics import Metrics
    from .visitors import Visitors

log = logging.getLogger(__name__)

UNFIT = "Something in this request does not fit, or went wrong here."
MOST_TOKENS = 1_000_000
"""More than any model's context; the model's own limit is told when the question is read."""
MOST_CHARACTERS = 10_000_000
MOST_OF_A_NAME = 128


def session(name: Any) -> str:
    """The session hash of a request to one of the page's events; gradio lets `run/predict` come without one, and whoever has
    none would share a conversation with all others who have none. Raises gr.Error with a sentence."""
    if not isinstance(name, str) or not 1 <= len(name) <= MOST_OF_A_NAME:
        raise gr.Error(
            f"This event belongs to a page: it needs a session_hash of 1 to {MOST_OF_A_NAME} characters. Programs call /chat and "
            "/race.", print_exception=False,
        )  # fmt: skip
    return name


def question(prompt: Any, most: int = MOST_CHARACTERS) -> str:
    """Raises ValueError unless it is text that says something, in at most so many characters."""
    if not isinstance(prompt, str):
        raise ValueError(f"prompt must be text, got {_short(prompt)}.")
    if not prompt.strip():
        raise ValueError("Type a question first.")
    if len(prompt) > most:
        raise ValueError(
            f"The question has {len(prompt):,} characters; here it may have {most:,}, some {most // 4:,} tokens. Shorten it."
        )
    return prompt.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # no half of a character


def tokens(most: Any, limit: int = MOST_TOKENS) -> int:
    """Raises ValueError unless it is a whole number from 1 to `limit`."""
    number = isinstance(most, (int, float)) and not isinstance(most, bool)
    if not number or not 1 <= most <= limit or most != int(most):
        raise ValueError(f"max_new_tokens must be a whole number from 1 to {limit:,}, got {_short(most)}.")
    return int(most)


def method(name: Any, known: Iterable[str]) -> str:
    """Raises ValueError unless it is one of the known names."""
    known = list(known)
    if not isinstance(name, str) or name not in known:
        raise ValueError(f"method must be one of {', '.join(known)}, got {_short(name)}.")
    return name


def uploaded(picture: Any) -> dict[str, Any] | None:
    """What gradio is to make of a picture: a file that was uploaded here, or None.

    Raises ValueError for anything else; web addresses above all, which gradio would fetch.
    """
    if picture is None:
        return None
    path = picture.get("path") if isinstance(picture, dict) else None
    if not isinstance(path, str) or not path or "://" in path:
        raise ValueError(
            "image must be null or a picture uploaded to this server, with its path as the upload gave it; web "
            "addresses are not fetched."
        )
    name = picture.get("orig_name")
    # with this mark gradio checks that the path is one of its uploads
    return {"path": path, "orig_name": name if isinstance(name, str) else None, "meta": {"_type": "gradio.FileData"}}


def picture(path: str | None, megapixels: float) -> None:
    """Raises ValueError for a picture of more pixels. One that cannot be opened is the engine's to speak of."""
    try:
        width, height = picture_size(path) if path is not None else (0, 0)
    except PictureError:
        return
    if width * height > 1e6 * megapixels:
        raise ValueError(
            f"The picture has {width:,} x {height:,} pixels; here it may have {megapixels:g} million. Scale it down."
        )


def path_of(payload: Any) -> str | None:
    """What stands in for gradio's own reading of a picture: the engine opens pictures itself, and says what is wrong."""
    return payload.path if payload else None


def unread(payload: Any) -> Any:
    """What stands in for gradio's own reading of a control whose value is checked, and spoken of, by `studio.settings`."""
    return payload


def _short(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, int) and abs(value) > 10**18:
        return "a number of more than 18 digits"
    shown = repr(value[:60] if isinstance(value, str) else value)
    return shown if len(shown) <= 60 else shown[:59] + "…"


class Checked(gr.Blocks):
    """Blocks whose inputs are checked before gradio fetches or opens anything. What it refuses itself is told as well,
    in a sentence that names no path of this server, instead of a traceback in the log and no word to the sender."""

    routes: Sequence[BaseRoute] = ()
    """What is answered beside gradio's own addresses."""
    limits: Limits
    metrics: Metrics
    visitors: Visitors

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self.default_config.__class__ = PageConfig

    async def process_api(self, *given: Any, **named: Any) -> Any:
        try:
            return await super().process_api(*given, **named)
        except gr.Error:
            raise
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            if Path(place.filename).parent == Path(gr.__file__).parent:  # asked for what there is not
                log.warning("an event failed: %s in %s", type(error).__name__, place.name)
            else:
                log.exception("an event failed")
            raise gr.Error(UNFIT, print_exception=False) from None

    async def preprocess_data(self, block_fn: Any, given: list[Any], state: Any, *rest: Any, **named: Any) -> list[Any]:
        pictures = [block for block in block_fn.inputs if isinstance(block, gr.Image)]
        as_given = [*pictures, *(block for block in block_fn.inputs if block.preprocess is unread)]
        try:
            given = [uploaded(value) if block in pictures else value for block, value in zip(block_fn.inputs, given)]
        except ValueError as error:
            raise gr.Error(str(error), print_exception=False) from None
        for block in as_given:
            if state is not None and block._id in state:  # gradio makes a part anew whenever an event may change it
                state[block._id].preprocess = block.preprocess
        try:
            return await super().preprocess_data(block_fn, given, state, *rest, **named)
        except gr.Error as error:
            raise gr.Error(str(error.message)[:200], print_exception=False) from None
        except InvalidPathError:
            raise gr.Error("The picture is none that was uploaded to this server.", print_exception=False) from None
        except OSError:
            raise gr.Error("The picture is not on this server: upload it again.", print_exception=False) from None
        except (ValueError, TypeError) as error:
            sentence = f"The request does not fit this endpoint ({type(error).__name__})."
            raise gr.Error(sentence, print_exception=False) from None
