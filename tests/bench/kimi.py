#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The small Kimi Linear of specs/kimi in transformers, eager, float32, random weights: what kimi.sh
compares with.

    kimi.py train STEPS     seconds of a training step of 2 x 1024 tokens, the median, AdamW
    kimi.py kda STEPS       of one KDA layer, 2048 tokens, forward and backward
    kimi.py prefill STEPS   of 1024 tokens that fill a cache
    kimi.py decode STEPS    of a token after 512

Prints one number.
"""
import statistics
import sys
import time

import torch
from transformers import KimiLinearConfig, KimiLinearForCausalLM

LAYERS = 12


def config():
    c = KimiLinearConfig(
        vocab_size=256, hidden_size=256, intermediate_size=672, moe_intermediate_size=224,
        num_hidden_layers=LAYERS, num_attention_heads=4, num_key_value_heads=4, n_shared_experts=1,
        kv_lora_rank=128, q_lora_rank=None, qk_rope_head_dim=32, v_head_dim=64,
        qk_nope_head_dim=64, n_group=1, topk_group=1, num_experts_per_tok=2, num_local_experts=16,
        linear_head_dim=64, linear_num_heads=4, pad_token_id=None, bos_token_id=None,
        eos_token_id=None,
        layer_types=["full_attention" if i % 4 == 3 else "linear_attention" for i in range(LAYERS)],
        mlp_layer_types=["dense"] + ["sparse"] * (LAYERS - 1))
    c._attn_implementation = "eager"
    return c


def model():
    torch.manual_seed(1)
    return KimiLinearForCausalLM(config()).float()


def ids(batch, time_):
    return torch.randint(0, 256, (batch, time_))


def train():
    m, x = model().train(), ids(2, 1025)
    optimizer = torch.optim.AdamW(m.parameters(), lr=1e-3, fused=True)

    def step():
        logits = m(x[:, :-1], use_cache=False).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), x[:, 1:].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return step


def kda():
    layer = model().train().model.layers[0].self_attn
    x = torch.randn(1, 2048, 256, requires_grad=True)

    def step():
        layer(x).sum().backward()
        x.grad = None
        layer.zero_grad(set_to_none=True)
    return step


def prefill():
    m, x = model().eval(), ids(1, 1024)

    @torch.no_grad()
    def step():
        m(x, use_cache=True, logits_to_keep=1)
    return step


def decode():
    m = model().eval()
    with torch.no_grad():
        past = m(ids(1, 512), use_cache=True).past_key_values

    @torch.no_grad()
    def step():
        m(ids(1, 1), past_key_values=past, use_cache=True)
    return step


def main():
    step = {"train": train, "kda": kda, "prefill": prefill, "decode": decode}[sys.argv[1]]()
    step()
    seconds = []
    for _ in range(int(sys.argv[2])):
        begin = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - begin)
    print(f"{statistics.median(seconds):.6f}")


main()
