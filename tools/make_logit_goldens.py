#!/usr/bin/env python3
"""Writes tests/parity/data: logits of small random checkpoints of every architecture, by transformers in FP32.

Needs torch and transformers (PyPI) in an environment of its own. The weights are not stored: both this script and
tests/parity make them from a hash of (tensor name, index), as integers times a power of two, so that they are
exact in F32, F16 and BF16 alike.

Usage: make_logit_goldens.py OUT_FOLDER [CASE...]
"""
import json
import pathlib
import sys

import numpy as np
import torch
import transformers

VOCAB = 260
PROMPT = 100
POSITIONS = [0, 1, 7, 15, 16, 19, 20, 23, 24, 31, 32, 33, 63, 64, 65, 99]


def fnv1a64(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def hash_bytes(name, count):
    """Integers in [-128, 127]: the top byte of splitmix64(fnv1a64(name) + index * golden ratio)."""
    with np.errstate(over="ignore"):
        z = np.uint64(fnv1a64(name)) + np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(56)).astype(np.int64) - 128


def make_weight(name, shape):
    """Norm weights lie about 1 (or about 0 where the family adds 1: the same rule is used), matrices about 0."""
    values = hash_bytes(name, int(np.prod(shape))).astype(np.float32)
    if len(shape) == 1:
        offset = 0.0 if name.endswith(".bias") else 1.0
        values = np.trunc(values / 4) / 64 + offset  # in [0.5, 1.484], 7 bits of fraction at most
    else:
        values = values / (256 if "embed" in name or "lm_head" in name else 512)
    return torch.from_numpy(values.astype(np.float32).reshape(shape))


BASE = dict(vocab_size=VOCAB, hidden_size=64, intermediate_size=96, num_hidden_layers=3, num_attention_heads=4,
            num_key_value_heads=2, max_position_embeddings=512, rms_norm_eps=1e-5, hidden_act="silu",
            tie_word_embeddings=False, bos_token_id=1, eos_token_id=2, rope_theta=10000.0)


def case(model_type, architecture, **fields):
    return dict(BASE, model_type=model_type, architectures=[architecture], **fields)


LLAMA3 = dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
              original_max_position_embeddings=64)
YARN = dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32)
CASES = {
    "llama2": case("llama", "LlamaForCausalLM", num_key_value_heads=4),
    "llama3": case("llama", "LlamaForCausalLM", rope_theta=500000.0, rope_scaling=LLAMA3, tie_word_embeddings=True),
    "llama_linear": case("llama", "LlamaForCausalLM", rope_scaling=dict(type="linear", factor=4.0), mlp_bias=True,
                         attention_bias=True),
    "llama_yarn": case("llama", "LlamaForCausalLM", rope_scaling=YARN),
    "llama_yarn_mscale": case("llama", "LlamaForCausalLM", v5=True, rope_parameters=dict(
        YARN, rope_theta=150000.0, truncate=False, mscale=1.0, mscale_all_dim=0.5, beta_fast=16.0, beta_slow=2.0)),
    "smollm2": case("llama", "LlamaForCausalLM", hidden_size=144, num_attention_heads=9, num_key_value_heads=3,
                    tie_word_embeddings=True, rope_theta=100000.0),
    "smollm3": case("smollm3", "SmolLM3ForCausalLM", num_hidden_layers=4, no_rope_layers=[1, 1, 1, 0],
                    no_rope_layer_interval=4, tie_word_embeddings=True, rope_theta=5000000.0, rms_norm_eps=1e-6,
                    use_sliding_window=False, pad_token_id=0),
    "mistral_window": case("mistral", "MistralForCausalLM", head_dim=32, sliding_window=20),
    "qwen2": case("qwen2", "Qwen2ForCausalLM", tie_word_embeddings=True, rope_theta=1000000.0, rms_norm_eps=1e-6,
                  use_sliding_window=False, sliding_window=20, max_window_layers=1),
    "qwen2_window": case("qwen2", "Qwen2ForCausalLM", num_hidden_layers=4, use_sliding_window=True, sliding_window=20,
                         max_window_layers=2),
    "qwen3": case("qwen3", "Qwen3ForCausalLM", head_dim=32, rope_theta=1000000.0, rms_norm_eps=1e-6),
    "qwen3_yarn": case("qwen3", "Qwen3ForCausalLM", head_dim=32, rms_norm_eps=1e-6, v5=True, num_hidden_layers=2,
                       rope_parameters=dict(YARN, rope_theta=1000000.0)),
    "gemma3": case("gemma3_text", "Gemma3ForCausalLM", num_hidden_layers=7, head_dim=32, query_pre_attn_scalar=24,
                   sliding_window=20, sliding_window_pattern=6, rope_theta=1000000.0, rope_local_base_freq=10000.0,
                   rope_scaling=dict(rope_type="linear", factor=8.0), hidden_activation="gelu_pytorch_tanh",
                   rms_norm_eps=1e-6, tie_word_embeddings=True, pad_token_id=0),
    "gemma3_v5": case("gemma3_text", "Gemma3ForCausalLM", num_hidden_layers=4, head_dim=32, query_pre_attn_scalar=32,
                      sliding_window=20, hidden_activation="gelu_pytorch_tanh", rms_norm_eps=1e-6, v5=True,
                      layer_types=["sliding_attention", "full_attention"] * 2, tie_word_embeddings=True,
                      pad_token_id=0,
                      rope_parameters=dict(full_attention=dict(rope_type="default", rope_theta=1000000.0),
                                           sliding_attention=dict(rope_type="default", rope_theta=10000.0))),
}
CASES["gemma3"].pop("hidden_act")
CASES["gemma3_v5"].pop("hidden_act")


def write_case(name, fields, folder):
    fields = dict(fields)
    if fields.pop("v5", False):
        fields.pop("rope_theta", None)
    config = transformers.AutoConfig.for_model(**json.loads(json.dumps(fields)))
    config._attn_implementation = "eager"
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config).float().eval()
    tied = config.tie_word_embeddings
    tensors = []
    with torch.no_grad():
        for tensor_name, parameter in model.named_parameters():
            if tied and tensor_name == "lm_head.weight":
                continue
            parameter.copy_(make_weight(tensor_name, tuple(parameter.shape)))
            tensors.append([tensor_name, list(parameter.shape)])
        ids = (hash_bytes("prompt." + name, PROMPT) + 128) % VOCAB
        logits = model(torch.from_numpy(ids)[None]).logits[0].numpy()
    golden = dict(config=fields, tensors=tensors, ids=ids.tolist(), positions=POSITIONS,
                  transformers=transformers.__version__)
    (folder / f"{name}.json").write_text(json.dumps(golden, indent=None, separators=(",", ":")) + "\n")
    logits[POSITIONS].astype("<f4").tofile(folder / f"{name}.f32")
    print(f"{name}: logits in [{logits.min():.3f}, {logits.max():.3f}], std {logits.std():.3f}, rope "
          f"{getattr(config, 'rope_parameters', None)}, layers {getattr(config, 'layer_types', None)}")


if __name__ == "__main__":
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for case_name in sys.argv[2:] or CASES:
        write_case(case_name, CASES[case_name], out)
