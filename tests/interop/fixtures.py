# SPDX-License-Identifier: MIT
# Writes tests/checkpoints: a tiny checkpoint of each architecture, as transformers saves it, with
# the logits that it computes for some tokens (expected.safetensors), for tests without Python.
#   PYTHON tests/interop/fixtures.py tests/checkpoints [NAME...]
import os, shutil, sys
import torch
import mixtures
from safetensors.torch import save_file
from transformers import logging
from importlib import import_module

cases = import_module("import")
logging.set_verbosity_error()
logging.disable_progress_bar()

TINY = dict(vocab_size=29, hidden_size=16, intermediate_size=24, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
GPT2 = dict(vocab_size=29, n_embd=16, n_layer=2, n_head=4, n_positions=32, n_inner=24)
LLAMA3 = dict(cases.LLAMA3, original_max_position_embeddings=16)
YARN = dict(cases.YARN, original_max_position_embeddings=16)

FIXTURES = {
    "llama": ("llama", dict(rope_parameters=LLAMA3, attention_bias=True), "8KB"),
    "mistral": ("mistral", dict(sliding_window=5, head_dim=6), None),
    "qwen2": ("qwen2", dict(rope_parameters=YARN, use_sliding_window=True, sliding_window=6,
                            max_window_layers=1, tie_word_embeddings=True), None),
    "qwen3": ("qwen3", dict(head_dim=8, rope_parameters=dict(YARN, truncate=False)), None),
    "smollm3": ("smollm3", dict(num_hidden_layers=3, no_rope_layer_interval=2), None),
    "gpt2": ("gpt2", {}, None),
    "olmo2": ("olmo2", dict(rms_norm_eps=1e-5), None),
    "gemma3_text": ("gemma3_text", dict(num_hidden_layers=3, head_dim=6, sliding_window=5,
                                        sliding_window_pattern=2, query_pre_attn_scalar=9,
                                        final_logit_softcapping=6.0), None),
    "granite": ("granite", dict(embedding_multiplier=6.0, attention_multiplier=0.3,
                                residual_multiplier=0.4, logits_scaling=3.0), None),
    "nanochat": ("nanochat", {}, None),
    "phi3": ("phi3", dict(sliding_window=7, rope_parameters=dict(  # specs/library/importers.md
        rope_type="default", rope_theta=500.0, partial_rotary_factor=0.5)), None),
    **mixtures.FIXTURES,
}


def main():
    root, names = sys.argv[1], sys.argv[2:] or list(FIXTURES)
    for name in names:
        kind, changes, shard = FIXTURES[name]
        folder = os.path.join(root, name)
        shutil.rmtree(folder, ignore_errors=True)
        none = dict(pad_token_id=None, bos_token_id=None, eos_token_id=None)
        torch.manual_seed(1)
        model = mixtures.model_of(kind, {**(GPT2 if kind == "gpt2" else TINY), **none, **changes})
        cases.stir(model)
        model.to(torch.bfloat16).save_pretrained(folder, max_shard_size=shard or "5GB")
        os.remove(os.path.join(folder, "generation_config.json"))
        model = mixtures.load(kind, folder)
        tokens = torch.randint(0, 29, (2, 12), generator=torch.Generator().manual_seed(5))
        with torch.no_grad():
            logits = model(tokens).logits
        save_file({"tokens": tokens.to(torch.int32), "logits": logits.float().contiguous()},
                  os.path.join(folder, "expected.safetensors"))


if __name__ == "__main__":
    main()
