#!/usr/bin/env python3
"""What strata export writes, loaded by the libraries that it is for.

    python3 tests/interop/export.py STRATA SPEC.lua ...

Each spec is built, trained some steps, exported, loaded by transformers and compared: logits with
those of the program, and what generate() writes without a cache with its greedy continuation.
Needs torch, transformers and safetensors; no test of the suite runs it.
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
               "--max-tokens", "12")
    ids = torch.tensor([list(prompt.encode())])
    out = model.generate(ids, max_new_tokens=12, do_sample=False)[0, len(prompt):]
    theirs = bytes(out.tolist()).decode("utf-8", "replace")
    same = ours == theirs
    print(f"{spec}: {type(model).__name__}, logits {worst:.2g}, "
          f"generate {'agrees' if same else repr((ours, theirs))}", flush=True)
    return worst < TOLERANCE


def main():
    strata = pathlib.Path(sys.argv[1]).resolve()
    wrong = 0
    for spec in sys.argv[2:]:
        with tempfile.TemporaryDirectory() as folder:
            try:
                wrong += not check(strata, pathlib.Path(spec).resolve(), pathlib.Path(folder))
            except (SystemExit, Exception) as error:
                print(f"{spec}: {error}")
                wrong += 1
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
