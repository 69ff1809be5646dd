"""Writes the golden vectors beside this file with the `gguf` Python package, an implementation independent of ours.

    pip install gguf==0.19.0 numpy
    python crates/gguf/tests/golden/make.py

dequantize_<type>.bin: four blocks as in a file, then their weights as little-endian f32.
quantize_<type>.bin:   weights as little-endian f32, then the blocks that the reference quantiser makes of them.
"""

from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type
from gguf.quants import dequantize, quantize

FOLDER = Path(__file__).parent
BLOCKS = 4
rng = np.random.default_rng(35)


def halfs(size):
    """Finite half-precision scales of all magnitudes, subnormal ones and negative ones among them."""
    values = rng.normal(size=size) * 10.0 ** rng.integers(-7, 1, size=size)
    return values.astype(np.float16).view(np.uint8).reshape(size, 2)


# Where each block has half-precision scales: random bytes would make infinities there.
SCALES = {Type.Q8_0: [0], Type.Q4_0: [0], Type.Q4_K: [0, 2], Type.Q5_K: [0, 2], Type.Q6_K: [208]}
MORE_SCALES = {Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.IQ4_NL: [0], Type.IQ4_XS: [0],
               Type.Q2_K: [80, 82], Type.Q3_K: [108]}


def write_dequantized(kind, places):
    _, size = GGML_QUANT_SIZES[kind]
    blocks = rng.integers(0, 256, size=(BLOCKS, size), dtype=np.uint8)
    for place in places:
        blocks[:, place : place + 2] = halfs(BLOCKS)
    weights = dequantize(blocks, kind).astype("<f4")
    (FOLDER / f"dequantize_{kind.name.lower()}.bin").write_bytes(blocks.tobytes() + weights.tobytes())


for kind, places in SCALES.items():
    write_dequantized(kind, places)

# Every magnitude that half precision knows, its borders, and ties to be rounded.
special = np.array([0.0, -0.0, 65504.0, -65504.0, 65519.9, 6e-8, -2.9e-8, 6.1e-5, 1.0 + 2**-11, 1.0 + 3 * 2**-11,
                    1.0 + 2**-8, 1.0 + 3 * 2**-8, np.inf, -np.inf], dtype=np.float32)
floats = np.concatenate([special, (rng.normal(size=114) * 10.0 ** rng.integers(-8, 4, size=114)).astype(np.float32)])
# A block each of ordinary weights, of zeros, of equal weights, of exact ties, of a positive and a negative extreme.
blocks = np.concatenate([
    rng.normal(size=(8, 32)) * 0.02,
    np.zeros((1, 32)),
    np.full((1, 32), -0.75),
    np.tile(np.arange(-16, 16) / 2 + 0.25, (1, 1)) / 8,
    np.tile(np.arange(32), (1, 1)) - 15.0,
    np.tile(np.arange(32), (1, 1)) - 16.0,
]).astype(np.float32).ravel()
for kind, weights in [(Type.F16, floats), (Type.BF16, floats), (Type.Q8_0, blocks), (Type.Q4_0, blocks)]:
    made = quantize(weights, kind)
    (FOLDER / f"quantize_{kind.name.lower()}.bin").write_bytes(weights.astype("<f4").tobytes() + made.tobytes())

# Last, so that the numbers drawn for the others stay what they were.
for kind, places in MORE_SCALES.items():
    write_dequantized(kind, places)
