"""The built-in model on real prompts: transformers' tokens in float32, AR's own in bfloat16 where it says exact."""

from __future__ import annotations

import pytest
import torch
from PIL import Image, ImageDraw

import recap
from recap.targets.builtin import store
from recap.targets.builtin.language_model import load_language_model

FOLDER = store.cache_folder() / "smollm2-135m-instruct-1"
pytestmark = pytest.mark.skipif(
    store.fault(FOLDER) is not None, reason="the built-in model is not set up: python -m recap.targets.builtin.assets"
)
LENGTH = 32


def sign() -> Image.Image:
    image = Image.new("RGB", (420, 160), "white")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, 420, 20), fill="navy")
    draw.text((20, 40), "OPEN 9 - 17", fill="black", font_size=48)
    draw.text((20, 100), "DOGS WELCOME", fill="darkred", font_size=36)
    return image


PROMPTS = [
    ("Write the numbers from one to twelve in words, separated by commas.", []),
    ("What is written on this sign? Answer in one sentence.", [sign()]),
]


@pytest.fixture(scope="module")
def expected():
    """transformers' greedy answer to known ids, on its own copy in float32."""
    model, _ = load_language_model(torch.float32)  # with the same reader merged

    def answer(ids) -> list[int]:
        prompt = torch.from_numpy(ids)[None]
        out = model.generate(prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=LENGTH)
        return out[0, prompt.shape[1] :].tolist()

    return answer


def test_float32_equals_transformers(expected):
    loaded = recap.load_target("builtin", device="cpu", dtype="float32")
    session = recap.Session(loaded, config=recap.RecapConfig(budget="paper"))
    accepted = []
    for text, pictures in PROMPTS:
        answer = recap.generate(loaded, text, pictures, session=session, max_new_tokens=LENGTH)
        ids = expected(answer.prompt_ids)
        assert answer.token_ids == ids
        accepted.append(answer.acceptance_length)
    assert max(accepted) > 1.2


def test_bfloat16_equals_its_own_ar():
    loaded = recap.load_target("builtin", device="cpu", dtype="bfloat16")
    if not loaded.exact:
        pytest.skip("this machine's kernels are not row-invariant, and the target says so")
    sessions = [recap.Session(loaded, method=method) for method in ("recap", "ar")]
    for text, pictures in PROMPTS[:1]:
        ours, theirs = (
            recap.generate(loaded, text, pictures, session=session, max_new_tokens=LENGTH) for session in sessions
        )
        assert ours.prompt_ids.tolist() == theirs.prompt_ids.tolist()
        assert ours.token_ids == theirs.token_ids
