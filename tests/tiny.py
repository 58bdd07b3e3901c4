"""Whole image-text-to-text models of a few hundred kilobytes, written with save_pretrained: nothing is downloaded.

Each folder has what a checkpoint on the hub has: configuration, weights, tokenizer, chat template, image processor,
processor settings and generation configuration. Weights are random, scaled so that greedy answers vary with the prompt
and the picture, repeat themselves often enough for drafts to be accepted, and rarely come near a tie.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from PIL import Image

from . import tiny_tokenizers as tokenizers

HIDDEN = 48
TEXT = dict(
    hidden_size=HIDDEN, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2,
    max_position_embeddings=1024, tie_word_embeddings=False,
)
CLIP = dict(
    hidden_size=32, intermediate_size=48, num_hidden_layers=3, num_attention_heads=2, image_size=28, patch_size=7,
    projection_dim=32,
)
PLAIN = ("<tool_call>", "[OBJ]")
"""Added tokens that are not special, as many real tokenizers have."""

CHATML = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}PICTURE{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
VICUNA = (
    "{% for message in messages %}{% if message['role'] == 'system' %}"
    "{{ message['content'] if message['content'] is string else message['content'][0]['text'] }}{% else %}"
    "{{ message['role'].upper() }}: "
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'image') %}<image>\n{% endfor %}"
    "{% for part in message['content'] | selectattr('type', 'equalto', 'text') %}{{ part['text'] }}{% endfor %}"
    "{% endif %}{% if message['role'] == 'assistant' %}</s>{% else %} {% endif %}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)
SMOL = (
    "<|im_start|>{% for message in messages %}{{ message['role'] | capitalize }}"
    "{% if message['content'] is string %}: {{ message['content'] }}{% else %}"
    "{% if message['content'][0]['type'] == 'image' %}:{% else %}: {% endif %}"
    "{% for part in message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}<image>{% endif %}"
    "{% endfor %}{% endif %}<end_of_utterance>\n{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}"
)


def picture(seed: int, width: int = 90, height: int = 60) -> Image.Image:
    """Blocks of random colours, reproducible."""
    blocks = np.random.default_rng(seed).integers(0, 256, (6, 9, 3), dtype=np.uint8)
    return Image.fromarray(blocks).resize((width, height), Image.Resampling.NEAREST)


def randomise(model: torch.nn.Module, seed: int, rare: list[int], gain: float = 0.95, head: float = 0.6) -> None:
    """Fill every weight in place, in a fixed order.

    `gain` scales what attention and MLP add to the last token's embedding: smaller means more repetition. `head` scales
    the logits: larger means clearer margins. Control tokens (`rare`) get small logits, so that answers rarely hold one.
    """
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim < 2:
                if "norm" not in name or name.endswith("bias"):
                    weight.copy_(0.1 * torch.randn(weight.shape, generator=generator))
            elif "lm_head" in name:
                weight.copy_(head * torch.randn(weight.shape, generator=generator))
                weight[rare] *= 0.1
            elif "embed" in name and "patch" not in name:
                weight.copy_(torch.randn(weight.shape, generator=generator))
            else:
                fan_in = weight[0].numel()
                weight.copy_(torch.randn(weight.shape, generator=generator) * gain / fan_in**0.5)


def _ids(tokenizer: Any, **names: str) -> dict[str, int]:
    return {name: tokenizer.convert_tokens_to_ids(text) for name, text in names.items()}


def _save(folder: Path, model: Any, tokenizer: Any, image_processor: Any, template: str, seed: int,
          processor: tuple[str, dict[str, Any]], generation: dict[str, Any] | None = None) -> Path:
    randomise(model, seed, sorted(tokenizer.added_tokens_decoder))
    model.generation_config = transformers.GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id, bos_token_id=tokenizer.bos_token_id,
        **(generation or {}),
    )
    model.save_pretrained(folder)
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    image_processor.save_pretrained(folder)
    name, settings = processor
    (folder / "processor_config.json").write_text(json.dumps({"processor_class": name, **settings}))
    return folder


def qwen2_5_vl(folder: Path, seed: int = 0, **text: Any) -> Path:
    """M-RoPE, dynamic resolution. Ships the repetition penalty and the sampling defaults that the real ones ship."""
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>",
               "<|video_pad|>"]
    tokenizer = tokenizers.byte_level("<|im_end|>", "<|endoftext|>", special, PLAIN)
    config = transformers.Qwen2_5_VLConfig(
        text_config={**TEXT, "vocab_size": len(tokenizer) + 7, "bos_token_id": None, "head_dim": None,
                     "eos_token_id": tokenizer.eos_token_id,
                     "rope_parameters": {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [2, 2, 2]},
                     **text},
        vision_config=dict(depth=2, hidden_size=32, intermediate_size=48, num_heads=2, out_hidden_size=HIDDEN,
                           fullatt_block_indexes=[1], window_size=56),
        **_ids(tokenizer, image_token_id="<|image_pad|>", video_token_id="<|video_pad|>",
               vision_start_token_id="<|vision_start|>", vision_end_token_id="<|vision_end|>"),
    )
    return _save(
        folder, transformers.Qwen2_5_VLForConditionalGeneration(config), tokenizer,
        Qwen2VLImageProcessorPil(size={"shortest_edge": 28 * 28, "longest_edge": 28 * 28 * 12}),
        CHATML.replace("PICTURE", "<|vision_start|><|image_pad|><|vision_end|>"), seed, ("Qwen2_5_VLProcessor", {}),
        dict(do_sample=True, temperature=0.1, top_p=0.9, repetition_penalty=1.05),
    )


def _llava_tokenizer(kind: str) -> Any:
    if kind == "bytes":
        return tokenizers.byte_level("</s>", "<pad>", ["</s>", "<pad>", "<image>"], PLAIN)
    return {"llama": tokenizers.llama, "legacy": tokenizers.llama_legacy}[kind](["<image>"], PLAIN)


def llava_next(folder: Path, seed: int = 1, tokenizer: str = "llama") -> Path:
    """LLaVA-NeXT over Llama, pictures cut into tiles by aspect ratio. tokenizer: llama | legacy | bytes."""
    from transformers.models.llava_next.image_processing_pil_llava_next import LlavaNextImageProcessorPil

    words = _llava_tokenizer(tokenizer)
    pinpoints = [[28, 56], [56, 28], [56, 56]]
    config = transformers.LlavaNextConfig(
        text_config=transformers.LlamaConfig(**TEXT, vocab_size=len(words) + 5), image_seq_length=16,
        vision_config=transformers.CLIPVisionConfig(**CLIP), image_grid_pinpoints=pinpoints,
        image_token_index=words.convert_tokens_to_ids("<image>"), tie_word_embeddings=False,
    )
    side = {"height": 28, "width": 28}
    return _save(
        folder, transformers.LlavaNextForConditionalGeneration(config), words,
        LlavaNextImageProcessorPil(size={"shortest_edge": 28}, crop_size=side, image_grid_pinpoints=pinpoints),
        VICUNA, seed, ("LlavaNextProcessor", dict(patch_size=7, vision_feature_select_strategy="default",
                                                  image_token="<image>", num_additional_image_tokens=1)),
    )


def llava(folder: Path, seed: int = 2, tokenizer: str = "bytes", language: Callable[..., Any] | None = None) -> Path:
    """Plain LLaVA, one square crop per picture. tokenizer: llama | legacy | bytes.

    `language` makes the language model's configuration, by default Qwen2's, from the settings that all of them share.
    """
    from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

    words = _llava_tokenizer(tokenizer)
    config = transformers.LlavaConfig(
        text_config=(language or transformers.Qwen2Config)(**TEXT, vocab_size=len(words) + 5), image_seq_length=16,
        vision_config=transformers.CLIPVisionConfig(**CLIP), tie_word_embeddings=False,
        image_token_index=words.convert_tokens_to_ids("<image>"),
    )
    return _save(
        folder, transformers.LlavaForConditionalGeneration(config), words,
        CLIPImageProcessorPil(size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}), VICUNA, seed,
        ("LlavaProcessor", dict(patch_size=7, vision_feature_select_strategy="default", image_token="<image>",
                                num_additional_image_tokens=1)),
    )


def smolvlm(folder: Path, seed: int = 3) -> Path:
    """SmolVLM: tiles with row and column tokens, features merged two by two."""
    from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil

    special = ["<|endoftext|>", "<|im_start|>", "<end_of_utterance>", "<fake_token_around_image>", "<image>",
               "<global-img>", *(f"<row_{row}_col_{column}>" for row in range(1, 5) for column in range(1, 5))]
    tokenizer = tokenizers.byte_level(
        "<end_of_utterance>", "<|endoftext|>", special, PLAIN, fake_image_token="<fake_token_around_image>",
        image_token="<image>", global_image_token="<global-img>", end_of_utterance_token="<end_of_utterance>",
    )
    config = transformers.SmolVLMConfig(
        text_config=transformers.LlamaConfig(**TEXT, vocab_size=len(tokenizer) + 3), scale_factor=2,
        vision_config=dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
                           image_size=28, patch_size=7),
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"), tie_word_embeddings=False,
        pad_token_id=tokenizer.pad_token_id,
    )
    return _save(
        folder, transformers.SmolVLMForConditionalGeneration(config), tokenizer,
        SmolVLMImageProcessorPil(size={"longest_edge": 56}, max_image_size={"longest_edge": 28}),
        SMOL, seed, ("SmolVLMProcessor", dict(image_seq_len=4)),
    )


def internvl(folder: Path, seed: int = 4) -> Path:
    """InternVL: pictures between start and end tokens, cropped to patches, pixel shuffle, over Qwen2."""
    from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil

    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<img>", "</img>", "<IMG_CONTEXT>", "<video>"]
    tokenizer = tokenizers.byte_level(
        "<|im_end|>", "<|endoftext|>", special, PLAIN, start_image_token="<img>", end_image_token="</img>",
        context_image_token="<IMG_CONTEXT>", video_token="<video>",
    )
    config = transformers.InternVLConfig(
        text_config=transformers.Qwen2Config(**TEXT, vocab_size=len(tokenizer) + 3), image_seq_length=4,
        vision_config=dict(hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
                           image_size=[28, 28], patch_size=[7, 7]),
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"), tie_word_embeddings=False,
    )
    return _save(
        folder, transformers.InternVLForConditionalGeneration(config), tokenizer,
        GotOcr2ImageProcessorPil(size={"height": 28, "width": 28}, crop_to_patches=True, max_patches=4),
        CHATML.replace("PICTURE", "<IMG_CONTEXT>\n"), seed, ("InternVLProcessor", dict(image_seq_length=4)),
    )


FAMILIES: dict[str, Callable[..., Path]] = {
    "qwen2_5_vl": qwen2_5_vl, "llava_next": llava_next, "llava": llava, "smolvlm": smolvlm, "internvl": internvl,
}


def write(family: str, folder: Path, **options: Any) -> Path:
    """Write a tiny model of the family into `folder`, which is made, and return it."""
    folder.mkdir(parents=True, exist_ok=True)
    return FAMILIES[family](folder, **options)


def with_end_tokens(folder: Path, copy: Path, ids: list[int]) -> Path:
    """A copy of a model's folder whose answers end at any of these ids."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    path = copy / "generation_config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "eos_token_id": ids}))
    return copy
