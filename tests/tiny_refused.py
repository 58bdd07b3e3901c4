"""Tiny models that RECAP must refuse: their cache is not one entry per token in every layer."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import transformers

from . import tiny
from . import tiny_tokenizers as tokenizers


def sliding_window(folder: Path) -> Path:
    """LLaVA over Mistral, every layer with a window of 16 tokens."""
    return tiny.llava(folder, language=lambda **text: transformers.MistralConfig(**text, sliding_window=16))


def partly_sliding(folder: Path) -> Path:
    """Qwen2.5-VL whose second layer alone has a window."""
    return tiny.qwen2_5_vl(folder, use_sliding_window=True, sliding_window=16, max_window_layers=1)


def hybrid(folder: Path) -> Path:
    """LLaVA over LFM2: one convolution layer with a state, one attention layer."""
    def language(**text: Any) -> Any:
        return transformers.Lfm2Config(**text, layer_types=["conv", "full_attention"], block_multiple_of=16)

    return tiny.llava(folder, language=language)


def encoder_decoder(folder: Path) -> Path:
    """A picture encoder and a text decoder with cross attention."""
    from transformers.models.vit.image_processing_pil_vit import ViTImageProcessorPil

    words = tokenizers.byte_level("</s>", "<pad>", ["</s>", "<pad>", "<image>"])
    encoder = transformers.ViTConfig(hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=2,
                                     image_size=28, patch_size=7)
    decoder = transformers.GPT2Config(n_embd=32, n_layer=1, n_head=2, vocab_size=len(words), add_cross_attention=True,
                                      is_decoder=True)
    config = transformers.VisionEncoderDecoderConfig.from_encoder_decoder_configs(encoder, decoder)
    config.decoder_start_token_id, config.pad_token_id = words.eos_token_id, words.pad_token_id
    transformers.VisionEncoderDecoderModel(config).save_pretrained(folder)
    words.chat_template = tiny.VICUNA
    words.save_pretrained(folder)
    ViTImageProcessorPil(size={"height": 28, "width": 28}).save_pretrained(folder)
    return folder


def text_only(folder: Path) -> Path:
    """A language model that takes no pictures."""
    words = tokenizers.byte_level("<|im_end|>", "<|endoftext|>", ["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    words.chat_template = tiny.CHATML
    words.save_pretrained(folder)
    transformers.Qwen2ForCausalLM(transformers.Qwen2Config(**tiny.TEXT, vocab_size=len(words))).save_pretrained(folder)
    return folder


def without_template(folder: Path) -> Path:
    """LLaVA without a chat template."""
    tiny.llava(folder)
    (folder / "chat_template.jinja").unlink()
    return folder


def without_weights(folder: Path) -> Path:
    """LLaVA with its weights cut off in the middle, as an interrupted copy leaves them."""
    tiny.llava(folder)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[: weights.stat().st_size // 2])
    return folder


def empty(folder: Path) -> Path:
    """A folder with nothing in it."""
    shutil.rmtree(folder)
    folder.mkdir()
    return folder


REFUSED: dict[str, tuple[Callable[[Path], Path], str]] = {
    "sliding_window": (sliding_window, "sliding"),
    "partly_sliding": (partly_sliding, "sliding"),
    "hybrid": (hybrid, "cache|recurrent|state"),
    "encoder_decoder": (encoder_decoder, "encoder"),
    "text_only": (text_only, "image-text-to-text|picture"),
    "without_template": (without_template, "chat template"),
    "without_weights": (without_weights, "load|weights|safetensors"),
    "empty": (empty, "config.json"),
}
"""For each: how to write it, and a word that the sentence must hold (regular expression, any case)."""
