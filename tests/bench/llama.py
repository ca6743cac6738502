#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tests/bench/llama.sh needs of llama.cpp, through llama-cpp-python, and weights.

    llama.py folder DIR              a Hugging Face folder: the shape of SmolLM 360M, random bfloat16
    llama.py q4_0 FROM.gguf TO.gguf  llama.cpp's own quantiser
    llama.py bench FILE.gguf PROMPT DECODED THREADS STEPS
                                     one JSON line: tokens/s of reading the prompt (the median of
                                     STEPS, after one more) and of decoding after it, greedily
"""
import json
import pathlib
import statistics
import struct
import sys
import time

CONFIG = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
    "hidden_size": 960, "intermediate_size": 2560, "num_hidden_layers": 32,
    "num_attention_heads": 15, "num_key_value_heads": 5, "vocab_size": 49152,
    "max_position_embeddings": 2048, "rms_norm_eps": 1e-5, "rope_theta": 100000.0,
    "tie_word_embeddings": True, "torch_dtype": "bfloat16",
}


def shapes():
    dim, hidden = CONFIG["hidden_size"], CONFIG["intermediate_size"]
    narrow = dim // CONFIG["num_attention_heads"] * CONFIG["num_key_value_heads"]
    yield "model.embed_tokens.weight", (CONFIG["vocab_size"], dim)
    yield "model.norm.weight", (dim,)
    for i in range(CONFIG["num_hidden_layers"]):
        at = f"model.layers.{i}."
        yield at + "input_layernorm.weight", (dim,)
        yield at + "post_attention_layernorm.weight", (dim,)
        for name, rows, columns in (("self_attn.q_proj", dim, dim), ("self_attn.k_proj", narrow, dim),
                                    ("self_attn.v_proj", narrow, dim), ("self_attn.o_proj", dim, dim),
                                    ("mlp.gate_proj", hidden, dim), ("mlp.up_proj", hidden, dim),
                                    ("mlp.down_proj", dim, hidden)):
            yield f"{at}{name}.weight", (rows, columns)


def write_folder(folder):
    import numpy as np

    folder = pathlib.Path(folder)
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    header, at = {}, 0
    for name, shape in shapes():
        size = 2 * int(np.prod(shape))
        header[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    draw = np.random.default_rng(1)
    with open(folder / "model.safetensors", "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for _, shape in shapes():
            x = draw.standard_normal(shape, dtype=np.float32) * np.float32(0.02)
            if len(shape) == 1:
                x += 1
            out.write((x.view(np.uint32) >> 16).astype(np.uint16).tobytes())


def quantise(before, after):
    import llama_cpp as l

    params = l.llama_model_quantize_default_params()
    params.ftype = l.LLAMA_FTYPE_MOSTLY_Q4_0
    if l.llama_model_quantize(before.encode(), after.encode(), params):
        raise SystemExit(f"{before}: llama.cpp cannot quantise it")


def decode(l, context, tokens):
    """Runs tokens; the most likely next one."""
    array = (l.llama_token * len(tokens))(*tokens)
    if l.llama_decode(context, l.llama_batch_get_one(array, len(tokens))):
        raise SystemExit("llama_decode failed")
    l.llama_synchronize(context)
    import numpy as np

    logits = l.llama_get_logits_ith(context, -1)
    return int(np.ctypeslib.as_array(logits, (CONFIG["vocab_size"],)).argmax())


def bench(file, prompt, decoded, threads, steps):
    import llama_cpp as l

    l.llama_backend_init()
    model = l.llama_model_load_from_file(file.encode(), l.llama_model_default_params())
    params = l.llama_context_default_params()
    params.n_ctx = prompt + decoded
    params.n_batch = params.n_ubatch = prompt
    params.n_threads = params.n_threads_batch = threads
    context = model and l.llama_init_from_model(model, params)
    if not context:
        raise SystemExit(f"{file}: llama.cpp cannot open it")
    tokens = [(7919 * i + 13) % CONFIG["vocab_size"] for i in range(prompt)]
    prefill = []
    for _ in range(steps + 1):
        l.llama_memory_clear(l.llama_get_memory(context), True)
        start = time.perf_counter()
        token = decode(l, context, tokens)
        prefill.append(prompt / (time.perf_counter() - start))
    start = time.perf_counter()
    for _ in range(decoded):
        token = decode(l, context, [token])
    print(json.dumps({"prefill": statistics.median(prefill[1:]),
                      "decode": decoded / (time.perf_counter() - start)}))


def main():
    match sys.argv[1:]:
        case ["folder", folder]:
            write_folder(folder)
        case ["q4_0", before, after]:
            quantise(before, after)
        case ["bench", file, *counts] if len(counts) == 4:
            bench(file, *map(int, counts))
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
