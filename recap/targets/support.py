"""Which models can be decoded with a packed cache, and a plain sentence for those that cannot."""

from __future__ import annotations

from typing import Any


def refuse_unsupported(config: Any) -> None:
    """Raises ValueError with the reason when the model's cache is not one entry per token and layer."""
    from transformers.cache_utils import DynamicCache, DynamicLayer

    name = getattr(config, "model_type", type(config).__name__)
    if getattr(config, "is_encoder_decoder", False):
        raise ValueError(
            f"{name} is an encoder-decoder model; RECAP needs a decoder whose cache grows by one entry per token"
        )
    text = config.get_text_config(decoder=True)
    if getattr(text, "is_encoder_decoder", False) or not hasattr(text, "num_hidden_layers"):
        raise ValueError(f"{name} has no plain decoder; RECAP needs one whose cache grows by one entry per token")
    try:
        layers = DynamicCache(config=config).layers
    except (KeyError, AttributeError, TypeError) as error:
        raise ValueError(f"{name} keeps a cache that transformers cannot describe ({error}); RECAP cannot use it") from None
    for layer in layers:
        if type(layer) is not DynamicLayer:
            kind = "sliding-window" if getattr(layer, "is_sliding", False) else type(layer).__name__
            raise ValueError(
                f"{name} has {kind} cache layers; tree verification needs a plain cache that keeps every token. "
                "Choose a model with full attention in every layer"
            )
