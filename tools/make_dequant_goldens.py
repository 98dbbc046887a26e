#!/usr/bin/env python3
"""Writes src/weights/testdata/{dequant,quant}_goldens.bin: what the Python package `gguf` makes of blocks of each type.

Usage: make_dequant_goldens.py            (run it with a Python that has gguf and numpy)
       python3 -m venv build/goldens-venv && build/goldens-venv/bin/pip install gguf==0.19.0 numpy
       build/goldens-venv/bin/python tools/make_dequant_goldens.py

Both files are a row of records: u32 GGUF type id, u32 number of blocks, u32 bytes per block, u32 elements per block;
then for dequant: the blocks' bytes and the FP32 values; for quant: the FP32 values and the blocks' bytes.
Blocks are random bytes with sane scales: positive, negative, zero, and denormal in F16.
"""
import pathlib
import struct

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as T
from gguf.quants import dequantize, quantize

OUT = pathlib.Path(__file__).resolve().parent.parent / "src" / "weights" / "testdata"
# Byte offsets of the F16 scales in a block.
SCALES = {T.Q8_0: [0], T.Q4_0: [0], T.Q4_1: [0, 2], T.Q5_0: [0], T.Q5_1: [0, 2], T.Q2_K: [80, 82], T.Q3_K: [108],
          T.Q4_K: [0, 2], T.Q5_K: [0, 2], T.Q6_K: [208], T.IQ4_NL: [0], T.IQ4_XS: [0]}
PLAIN = [T.F32, T.F16, T.BF16]
EDGES = [0.0, -0.0, 6e-8, -6e-8, 3e-5, -1.0, 65504.0]


def record(kind: T, num_blocks: int, first: bytes, second: bytes) -> bytes:
    elements, size = GGML_QUANT_SIZES[kind]
    return struct.pack("<4I", kind, num_blocks, size, elements) + first + second


def dequant_record(kind: T, rng: np.random.Generator) -> bytes:
    elements, size = GGML_QUANT_SIZES[kind]
    if kind in PLAIN:
        values = np.concatenate([rng.normal(0, 3, 250), EDGES[:-1]]).astype(np.float32)
        raw = np.ascontiguousarray(quantize(values, kind)).view(np.uint8).reshape(-1, size)
    else:
        raw = rng.integers(0, 256, (6 if elements == 256 else 24, size), dtype=np.uint8)
        for offset in SCALES[kind]:
            scales = rng.normal(0, 0.05, len(raw))
            scales[: min(len(EDGES), len(raw) - 1)] = rng.permutation(EDGES)[: len(raw) - 1]
            raw[:, offset : offset + 2] = scales.astype(np.float16).view(np.uint8).reshape(-1, 2)
    values = np.ascontiguousarray(dequantize(raw, kind), dtype=np.float32)
    return record(kind, len(raw), raw.tobytes(), values.tobytes())


def quant_record(kind: T, rng: np.random.Generator) -> bytes:
    values = rng.normal(0, 0.02, (32, 32)).astype(np.float32)
    values[0] = 0
    values[1] = 0.25
    values[2, :4] = [1, -1, 1, -1]  # a tie for the largest magnitude
    values[3] *= 1e-6
    values[4] *= 1e5
    return record(kind, len(values), values.tobytes(), quantize(values, kind).tobytes())


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(20261129)
    (OUT / "dequant_goldens.bin").write_bytes(b"".join(dequant_record(kind, rng) for kind in [*PLAIN, *SCALES]))
    kinds = [T.Q8_0, T.Q4_0, T.Q4_1, T.Q5_0, T.Q5_1]
    (OUT / "quant_goldens.bin").write_bytes(b"".join(quant_record(kind, rng) for kind in kinds))


if __name__ == "__main__":
    main()
