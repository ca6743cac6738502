#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What strata export writes, loaded by the libraries that it is for.

    python3 tests/interop/export.py STRATA SPEC.lua ...

Each spec is built, trained some steps, exported, loaded by transformers and compared: logits with
those of the program, and what generate() writes with its greedy continuation. What llama.cpp runs
is exported in every type, too, and loaded by llama_cpp; bounds are those of its float16 caches.
Needs torch, transformers and safetensors, for the second part llama-cpp-python; no test of the
suite runs it. Specs have 256 ids, which are bytes.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy as np
import torch
from safetensors.numpy import load_file, save_file
from transformers import AutoModelForCausalLM

TOLERANCE = 2e-4
GGUF_TOLERANCE = {"f32": 2e-3, "f16": 4e-3, "bf16": 2e-2, "q8_0": 6e-2}


def run(*words, **more):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, **more)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.returncode}\n{done.stderr}")
    return done.stdout


def stir(weights, seed):
    """So that no gain is 1 and no bias 0."""
    rng = np.random.default_rng(seed)
    tensors = load_file(weights)
    for name, x in tensors.items():
        if x.dtype == np.float32 and not name.startswith("optimizer."):
            tensors[name] = (x + 0.05 * rng.standard_normal(x.shape)).astype(np.float32)
    save_file(tensors, weights)


def check(strata, spec, work):
    program, weights = work / "model", work / "w.safetensors"
    run(strata, "build", spec, "-o", program)
    text = work / "text"
    text.write_text("the quick brown fox jumps over the lazy dog. " * 400)
    run(program, "train", "--data", text, "--steps", "3", "--batch", "2", "--out", weights)
    stir(weights, 7)
    run(strata, "export", spec, "--weights", weights, "--to", "hf", work / f"hf_{spec.stem}", "--check")
    model = AutoModelForCausalLM.from_pretrained(work / f"hf_{spec.stem}", trust_remote_code=True).eval()
    tokens = np.random.default_rng(1).integers(0, model.config.vocab_size, (2, 33)).astype(np.int32)
    save_file({"tokens": tokens}, work / "tokens")
    run(program, "logits", "--weights", weights, "--tokens", work / "tokens", "--out", work / "out",
        "--as-generated")
    ours = load_file(work / "out")["logits"]
    with torch.no_grad():
        theirs = model(torch.tensor(tokens, dtype=torch.long)).logits.float().numpy()
    worst = np.abs(ours - theirs).max() / np.abs(ours).max()
    prompt = "the quick brown "
    ours = run(program, "generate", "--weights", weights, "--prompt", prompt, "--temperature", "0",
               "--max-tokens", "12").removesuffix("\n")
    ids = torch.tensor([list(prompt.encode())])
    out = model.generate(ids, max_new_tokens=12, do_sample=False)[0, len(prompt):]
    theirs = bytes(out.tolist()).decode("utf-8", "replace")
    same = ours == theirs
    print(f"{spec}: {type(model).__name__}, logits {worst:.2g}, "
          f"generate {'agrees' if same else repr((ours, theirs))}", flush=True)
    return worst < TOLERANCE and same


def check_gguf(strata, spec, work):
    """With the weights that check() left."""
    import llama_cpp

    good = True
    tokens = load_file(work / "tokens")["tokens"][0]
    ours = load_file(work / "out")["logits"][0]
    for kind, bound in GGUF_TOLERANCE.items():
        file = work / f"{kind}.gguf"
        done = subprocess.run([strata, "export", spec, "--weights", work / "w.safetensors", "--to",
                               "gguf", file, "--type", kind, "--check"], capture_output=True,
                              text=True)
        if done.returncode:
            print("   gguf:", done.stderr.strip())
            return True
        model = llama_cpp.Llama(str(file), n_ctx=64, logits_all=True, verbose=False)
        model.eval(tokens.tolist())
        theirs = np.array(model.scores[: len(tokens)])
        worst = np.abs(ours - theirs).max() / np.abs(ours).max()
        print(f"   gguf {kind}: logits {worst:.2g}", flush=True)
        good &= bool(worst < bound)
    return good


def main():
    strata = pathlib.Path(sys.argv[1]).resolve()
    wrong = 0
    for spec in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                place = pathlib.Path(spec).resolve(), pathlib.Path(folder)
                wrong += not (check(strata, *place) and check_gguf(strata, *place))
            except (SystemExit, Exception) as error:
                print(f"{spec}: {error}")
                wrong += 1
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
