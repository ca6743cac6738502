#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Texts of llama.cpp beside ours: greedy, of the same GGUF export.

    llama_text.py STRATA FOLDER [NAME ...]

FOLDER is what folders.py left, of whose models those are taken that were exported (all NAMEs).  How
many ids a prompt has is compared, and the greedy text behind it.  Needs xllamacpp. Exit status 1
where some differ, or nothing was compared.
"""
import glob
import json
import os
import subprocess
import sys

import xllamacpp

PROMPTS = ["The tower", "a b  c", "I'm 1234 years,\n\n old", "\u00e9t\u00e9 \u4f60\u597d \U0001f600 x", "foo_bar(1)[x]",
           "one two three", "Stra\u00dfe \u043c\u0438\u0440...", " a", "http://a.b/?c=d\t \n", "3.14 = pi"]


def run(*words):
    r = subprocess.run(words, capture_output=True, check=False)
    if r.returncode:
        sys.exit(f"{words}: {r.stderr.decode()[:300]}")
    return r.stdout.decode("utf-8", "replace")


def serve(file):
    p = xllamacpp.CommonParams()
    p.model.path = file
    p.n_ctx, p.n_parallel, p.warmup, p.n_gpu_layers, p.cpuparams.n_threads = 128, 1, False, 0, 1
    return xllamacpp.Server(p)


def compare(strata, prefix):
    file = prefix + ".llama"
    said = subprocess.run([strata, "export", prefix + "-s.lua", "--weights",
                           prefix + "-s.safetensors", "--to", "gguf", file, "--type", "f32",
                           "--overwrite"], capture_output=True, check=False)
    if said.returncode:
        sys.exit(f"{prefix}: {said.stderr.decode()[:300]}")
    spaced = b"llama.cpp puts a space in front" in said.stdout + said.stderr
    tokenizer = next(f for f in (prefix + "-s." + kind for kind in
                                 ("tokenizer.json", "tokenizer.model", "tiktoken"))
                     if os.path.exists(f))
    info = json.loads(run(strata, "tokenizer", "info", "--json", tokenizer))
    around = json.loads(run(strata, "tokenizer", "encode", "--json", tokenizer, "a"))["ids"]
    if around[-1] in [e["id"] for e in info["ends"]]:
        print(f"{os.path.basename(prefix)}: llama.cpp reads the end behind a prompt too")
        return False
    server, wrong, written = serve(file), 0, 0
    prompts = [p for p in PROMPTS if not (spaced and p.startswith(" "))]
    for prompt in prompts:
        ids = json.loads(run(strata, "tokenizer", "encode", "--json", tokenizer, prompt))["ids"]
        said = server.handle_completions({
            "prompt": prompt, "temperature": 0, "max_tokens": 12, "top_k": 1, "repeat_penalty": 1,
            "cache_prompt": False})
        their = said["usage"]["prompt_tokens"], said["choices"][0]["text"].rstrip("\n")
        ours = len(ids), run(prefix + ".x", "generate", "-w", prefix + "-s.safetensors",
                             "--temperature", "0", "--repeat-penalty", "1", "--max-tokens", "12",
                             "--prompt", prompt).rstrip("\n")
        written += len(ours[1])
        if their != ours:
            wrong += 1
            print(f"{prefix}: {prompt!r}: expected {their!r}, found {ours!r}")
    print(f"{os.path.basename(prefix)}: {len(prompts)} prompts, {written} characters behind "
          f"them, {wrong} differ", flush=True)
    return wrong or not written


def main():
    strata, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    names = sys.argv[3:] or [os.path.basename(p)[:-len("-s.lua")] for p in
                             sorted(glob.glob(folder + "/*-s.lua"))]
    made = [n for n in names if sys.argv[3:] or os.path.exists(f"{folder}/{n}.gguf")]
    failed = [n for n in made if compare(strata, f"{folder}/{n}")]
    print(f"{len(made)} models, {len(failed)} with differences")
    sys.exit(bool(failed) or not made)


if __name__ == "__main__":
    main()
