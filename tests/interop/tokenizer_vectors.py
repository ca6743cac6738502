#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes small vocabularies and what the libraries make of some texts by them:

    tokenizer_vectors.py FOLDER      tests/runtime/tokenizers is what it wrote

vectors.json: of each file its texts in hexadecimal, their ids and what these decode to.
"""
import json
import os
import random
import sys

import sentencepiece
import tiktoken
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers,
                        processors, trainers)

import compare_tokenizers as compare

TEXT = ["the cat sat on the mat, and the dog's bone isn't theirs: 1234 567", "naïve café, Ünïcode façade",
        "we'll they're I'd it's the THE The", "int main(void) { return 0; }\n\n\treturn x;", "  two  spaces   three",
        "日本語 世界 世界 日本", "Привет мир мир"] * 20


def trained(t, size, **options):
    t.train_from_iterator(TEXT, trainers.BpeTrainer(vocab_size=size, show_progress=False, **options))
    return t


def byte_level(pre, size=340, **options):
    t = Tokenizer(models.BPE(**options))
    t.pre_tokenizer = pre
    t.decoder = decoders.ByteLevel()
    return trained(t, size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet())


def gpt2():
    t = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.add_special_tokens(["<|endoftext|>"])
    return t


def llama3():
    t = byte_level(pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(compare.SHORT % "{1,3}"), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]), ignore_merges=True)
    t.add_special_tokens(["<|begin_of_text|>", "<|end_of_text|>"])
    t.post_processor = processors.TemplateProcessing(single="<|begin_of_text|> $A",
                                                     special_tokens=[("<|begin_of_text|>", 340)])
    return t


def qwen():
    t = byte_level(pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(compare.SHORT % ""), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    t.normalizer = normalizers.NFC()
    t.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    t.add_tokens([AddedToken("<L>", lstrip=True), AddedToken("<R>", rstrip=True),
                  AddedToken("cat", single_word=True), AddedToken("<L>>")])
    return t


def tekken():
    return byte_level(pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(compare.TEKKEN), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))


def digits():
    return byte_level(pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=True)]))


def llama2():
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence(compare.FALLBACK + [decoders.Strip(" ", 1, 0)])
    special = ["<unk>", "<s>", "</s>"] + ["<0x%02X>" % b for b in range(256)]
    trained(t, 420, special_tokens=special, limit_alphabet=60)
    j = json.loads(t.to_str())
    j["added_tokens"] = j["added_tokens"][:3]
    return Tokenizer.from_str(json.dumps(j))


def metaspace():
    t = Tokenizer(models.BPE(unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Metaspace()
    return trained(t, 150, special_tokens=["<unk>"], limit_alphabet=50)


class Tiktoken:
    """300 ranks, of a pattern and special tokens that are told."""

    def __init__(self):
        vocab = json.loads(gpt2().to_str())["model"]["vocab"]
        back = {c: b for b, c in compare.BYTES.items()}
        ranks = {bytes(back[c] for c in p): i for p, i in vocab.items() if i < 300}
        self.lines = "".join("%s %d\n" % (compare.base64.b64encode(p).decode(), i) for p, i in ranks.items())
        self.t = tiktoken.Encoding("small", pat_str=compare.CL100K, mergeable_ranks=ranks,
                                   special_tokens={"<|endoftext|>": 300})


def model(folder, name, **options):
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TEXT), model_prefix=folder + "/" + name,
                                             minloglevel=2, character_coverage=1.0, **options)
    os.remove(folder + "/" + name + ".vocab")
    return sentencepiece.SentencePieceProcessor(model_file=folder + "/" + name + ".model")


def texts(added):
    r = random.Random(5)
    every = compare.generators(added)
    return ["", " ", "the cat's mats", "  <L>  <R>  cats cat<L>>"] + [every[i % len(every)](r) for i in range(30)]


def rows(encode, decode, added=(), keeps=True):
    """keeps: what is not UTF-8 is kept, where the libraries take U+FFFD (stray_bytes_test.c)."""
    out = []
    for s in texts(list(added)):
        raw = s if isinstance(s, bytes) else s.encode()
        if keeps and not compare.is_utf8(raw):
            continue
        ids = encode(s)
        out.append({"text": raw.hex(), "ids": ids, "decoded": decode(ids).encode().hex()})
    return out


def utf8(s):
    return s if isinstance(s, str) else s.decode("utf-8", "replace")


def main():
    folder, all_rows = sys.argv[1], {}
    os.makedirs(folder, exist_ok=True)
    for make in (gpt2, llama3, qwen, tekken, digits, llama2, metaspace):
        name = make.__name__ + ".json"
        t = make()
        with open(folder + "/" + name, "w") as f:
            f.write(t.to_str())
        t = Tokenizer.from_file(folder + "/" + name)
        added = [a.content for a in t.get_added_tokens_decoder().values()]
        all_rows[name] = rows(lambda s: t.encode(utf8(s)).ids, t.decode, added, make != metaspace)
    x = Tiktoken()
    with open(folder + "/small.tiktoken", "w") as f:
        f.write(x.lines)
    all_rows["small.tiktoken"] = rows(lambda s: x.t.encode(utf8(s), allowed_special="all"),
                                      lambda ids: x.t.decode([i for i in ids if i < 300]), ["<|endoftext|>"])
    with open(folder + "/rules.tsv", "w") as f:
        f.write("41\t61\nC0\t61 300\n66 69\tFB01\n3000\t20\nD\t\n")
    for name, options in {
            "bpe": dict(model_type="bpe", vocab_size=480, byte_fallback=True, normalization_rule_name="identity",
                        user_defined_symbols=["<x>", "a  b"]),
            "unigram": dict(vocab_size=75, normalization_rule_tsv=folder + "/rules.tsv",
                            user_defined_symbols=["<x>", "the"])}.items():
        t = model(folder, name, **options)
        all_rows[name + ".model"] = rows(t.encode, t.decode, ["<x>", "fi", "A", "\u3000"],
                                        name == "bpe")
    os.remove(folder + "/rules.tsv")
    t = compare.unigram_of(folder + "/unigram.model", pre_tokenizers.Metaspace())
    t.save(folder + "/unigram.json", pretty=False)
    all_rows["unigram.json"] = rows(lambda s: t.encode(utf8(s)).ids, t.decode, ["<s>", "fi", "A"],
                                    False)
    with open(folder + "/vectors.json", "w") as f:
        f.write("{\n" + ",\n".join("\"%s\": [\n%s\n]" % (n, ",\n".join(json.dumps(r) for r in rs))
                                   for n, rs in all_rows.items()) + "\n}\n")


if __name__ == "__main__":
    main()
