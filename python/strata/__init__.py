# SPDX-License-Identifier: MIT
"""Models that Strata compiled (strata build --emit shared), with numpy.

    model = strata.build("model.lua")          # or strata.load("model.so")
    model.init(seed=1)                         # or model.load("model.safetensors")
    loss = model.step(tokens, targets)         # [B, T] each: forward, backward, AdamW
    logits = model.logits(tokens)              # [B, T, vocab]
    sequence = model.sequence()
    logits = sequence.prefill(tokens)          # [vocab]; sequence.decode(id) goes on
    model.weights["layers.0.attention.q.weight"]        # a view, not a copy
"""
from .compiler import build, compile
from .library import Error, Sampler, Tokenizer
from .model import Loss, Model, Sequence
from .version import version as _version

__version__ = _version()
load = Model

__all__ = ["Error", "Loss", "Model", "Sampler", "Sequence", "Tokenizer", "build", "compile", "load"]
