"""EfficientNet-Lite0: which of the 1,000 ImageNet classes a picture shows. Inference only."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

SIZE = 224
"""Side of the square the network sees, pixels."""
_EPSILON = 1e-3
_STAGES = (  # (kernel, stride, expansion, channels out, blocks)
    (3, 1, 1, 16, 1),
    (3, 2, 6, 24, 2),
    (5, 2, 6, 40, 2),
    (3, 2, 6, 80, 3),
    (5, 1, 6, 112, 3),
    (5, 2, 6, 192, 4),
    (3, 1, 6, 320, 1),
)


class _Conv(nn.Conv2d):
    """Convolution without bias, padded as TensorFlow's "SAME": the odd pixel goes to the bottom and the right."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1):
        super().__init__(inputs, outputs, kernel, stride, groups=groups, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        kernel, stride = self.kernel_size[0], self.stride[0]
        height, width = (max((-(-side // stride) - 1) * stride + kernel - side, 0) for side in x.shape[-2:])
        if height or width:
            x = functional.pad(x, (width // 2, width - width // 2, height // 2, height - height // 2))
        return super().forward(x)


class _Block(nn.Module):
    """Inverted bottleneck: widen, filter each channel, narrow; added to its input where shapes allow."""

    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int, expansion: int):
        super().__init__()
        hidden = inputs * expansion
        if expansion != 1:
            self._expand_conv = _Conv(inputs, hidden, 1)
            self._bn0 = nn.BatchNorm2d(hidden, eps=_EPSILON)
        self._depthwise_conv = _Conv(hidden, hidden, kernel, stride, groups=hidden)
        self._bn1 = nn.BatchNorm2d(hidden, eps=_EPSILON)
        self._project_conv = _Conv(hidden, outputs, 1)
        self._bn2 = nn.BatchNorm2d(outputs, eps=_EPSILON)
        self.widens, self.adds = expansion != 1, stride == 1 and inputs == outputs

    def forward(self, x: Tensor) -> Tensor:
        y = functional.relu6(self._bn0(self._expand_conv(x))) if self.widens else x
        y = functional.relu6(self._bn1(self._depthwise_conv(y)))
        y = self._bn2(self._project_conv(y))
        return x + y if self.adds else y


class Lite0(nn.Module):
    """(n, 3, 224, 224) float32 to (n, 1000) logits. Module names are those of the published weights."""

    def __init__(self) -> None:
        super().__init__()
        self._conv_stem = _Conv(3, 32, 3, 2)
        self._bn0 = nn.BatchNorm2d(32, eps=_EPSILON)
        blocks, inputs = [], 32
        for kernel, stride, expansion, outputs, count in _STAGES:
            for index in range(count):
                blocks.append(_Block(inputs, outputs, kernel, 1 if index else stride, expansion))
                inputs = outputs
        self._blocks = nn.ModuleList(blocks)
        self._conv_head = _Conv(inputs, 1280, 1)
        self._bn1 = nn.BatchNorm2d(1280, eps=_EPSILON)
        self._fc = nn.Linear(1280, 1000)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu6(self._bn0(self._conv_stem(x)))
        for block in self._blocks:
            x = block(x)
        x = functional.relu6(self._bn1(self._conv_head(x)))
        return self._fc(x.mean((2, 3)))


def load(weights: Path) -> Lite0:
    """The network in evaluation mode. Every tensor of the file must have its place (strict)."""
    network = Lite0()
    network.load_state_dict(load_file(weights), strict=True)
    return network.eval().requires_grad_(False)


def prepare(image: Image.Image) -> Tensor:
    """RGB image to (1, 3, 224, 224) float32: central square, then (value - 127) / 128 as the weights were trained."""
    side = min(image.size)
    left, top = (image.width - side) // 2, (image.height - side) // 2
    box = (left, top, left + side, top + side)
    square = image.resize((SIZE, SIZE), Image.Resampling.BICUBIC, box, reducing_gap=2.0)
    values = (np.asarray(square, np.float32) - 127.0) / 128.0
    return torch.from_numpy(values).permute(2, 0, 1)[None].contiguous()


@torch.inference_mode()
def logits(network: Lite0, image: Image.Image) -> Tensor:
    """(1000,) float32 of an RGB image."""
    return network(prepare(image))[0]


def probabilities(network: Lite0, image: Image.Image) -> Tensor:
    """(1000,) float32, summing to 1. Without a temperature: one fitted on labelled photos by `python -m
    training.calibrate` (1.05, 95 % 0.97 to 1.14) was no better on photos that its fit had not seen."""
    return logits(network, image).softmax(-1)
