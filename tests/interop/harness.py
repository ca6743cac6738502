# SPDX-License-Identifier: MIT
# score beside lm-evaluation-harness itself (0.4.13, its hf model): three small tasks of its kinds,
# multiple choice, loglikelihood and rolling perplexity, on small random models with vocabularies
# that packages carry (vocabularies.py) and with five that are made here.  Every request that the harness makes is a line for score: the same log-likelihood to
# 1e-4 of it, the same is_greedy.  Then pairs that the harness stops at: score says why.
#   PYTHON tests/interop/harness.py STRATA [NAME ...]      NAME: gpt2, mistral-v1, made-gpt2, unigram, ...
# KEEP=DIR leaves models and requests there.  Needs torch, transformers, tokenizers, sentencepiece,
# lm-eval, accelerate and datasets; takes nothing from the network.
import io, json, os, shutil, subprocess, sys, tempfile

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", TOKENIZERS_PARALLELISM="false",
                  HF_DATASETS_DISABLE_PROGRESS_BARS="1")
import torch
from tokenizers import (Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)
from transformers import (AutoTokenizer, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast)

import vocabularies
from vocabularies import LLAMA3, QWEN

WORDS = ["The answer is a boat on the lake.", "A lamp and a ladder stand in the hall\u3000",
         "the cat naps while 1234 drops of rain fall; it's 56 o'clock", "caf\u00e9 na\u00efve",
         "\u65e5\u672c\u8a9e\u306e\u6587\u7ae0\u3067\u3059\u3002", "def f(x):\n    return x + 1\n"]
CONTEXT = 40


MODELS = {}     # by name: a SentencePiece model that is read here in the place of tokenizer.json


def byte_level(pattern, specials, bos, eos, normalizer=None, front=False):
    t = Tokenizer(models.BPE())
    if normalizer:
        t.normalizer = normalizer
    split = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    if pattern:
        split = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), split])
    t.pre_tokenizer, t.decoder = split, decoders.ByteLevel()
    t.train_from_iterator(WORDS * 20, trainers.BpeTrainer(
        vocab_size=340, special_tokens=specials, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    if front:
        t.post_processor = processors.TemplateProcessing(
            single=f"{bos} $A", special_tokens=[(bos, t.token_to_id(bos))])
    return PreTrainedTokenizerFast(tokenizer_object=t, bos_token=bos, eos_token=eos)


def pieces(model, bos):
    """SentencePiece's kinds as tokenizer.json has them, with <s> in front."""
    t = Tokenizer(model)
    t.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"),
                                         normalizers.Replace(" ", "\u2581")])
    t.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(),
                                   decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.post_processor = processors.TemplateProcessing(
        single=f"{bos} $A", special_tokens=[(bos, t.token_to_id(bos))])
    return PreTrainedTokenizerFast(tokenizer_object=t, bos_token="<s>", eos_token="</s>",
                                   unk_token="<unk>")


def sentencepiece_model(kind):
    import sentencepiece
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(WORDS * 20), model_writer=made, vocab_size=360, model_type=kind,
        byte_fallback=True, hard_vocab_limit=False, minloglevel=2, normalization_rule_name="identity",
        remove_extra_whitespaces=False)
    return sentencepiece.SentencePieceProcessor(model_proto=made.getvalue())


def unigram(name=None):
    s = sentencepiece_model("unigram")
    if name:
        MODELS[name] = s.serialized_model_proto()
    return pieces(models.Unigram([(s.id_to_piece(i), s.get_score(i)) for i in range(len(s))],
                                 unk_id=0, byte_fallback=True), "<s>")


def sentence_bpe():
    s = sentencepiece_model("bpe")
    vocab = {s.id_to_piece(i): i for i in range(len(s))}
    merges = [(a, p[len(a):]) for p, _ in sorted(vocab.items(), key=lambda x: x[1])
              for a in [p[:k] for k in range(1, len(p))] if a in vocab and p[len(a):] in vocab
              and not p.startswith("<")]
    return pieces(models.BPE(vocab, merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True),
                  "<s>")


def carried(tokenizer, bos, eos):
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=bos, eos_token=eos)


def qwen():
    return vocabularies.tiktoken(RANKS["tiktoken"], vocabularies.QWEN_TOKENS, pattern=QWEN)


RANKS = {"tiktoken": vocabularies.package("dashscope", "resources", "qwen.tiktoken")}
END = "<\uff5cend\u2581of\u2581sentence\uff5c>"
TOKENIZERS = {
    "gpt2": lambda: carried(vocabularies.gpt2(["<|endoftext|>"]), None, "<|endoftext|>"),
    "llama3": lambda: carried(vocabularies.llama3(), "<|begin_of_text|>", "<|end_of_text|>"),
    "qwen": lambda: carried(qwen(), None, "<|endoftext|>"),
    "tiktoken": lambda: carried(qwen(), None, "<|endoftext|>"),
    "deepseek": lambda: carried(vocabularies.deepseek(), END.replace("end", "begin"), END),
    "claude": lambda: carried(vocabularies.litellm("anthropic_tokenizer.json"), "<META_START>",
                              "<EOT>"),
    "mistral-v1": lambda: vocabularies.mistral("tokenizer.model.v1"),
    "mistral-v3": lambda: vocabularies.mistral("mistral_instruct_tokenizer_240323.model.v3"),
    "made-gpt2": lambda: byte_level(None, ["<|endoftext|>"], "<|endoftext|>", "<|endoftext|>"),
    "made-llama3": lambda: byte_level(LLAMA3, ["<|begin_of_text|>", "<|end_of_text|>"],
                                 "<|begin_of_text|>", "<|end_of_text|>", front=True),
    "made-qwen2": lambda: byte_level(QWEN, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], None,
                                "<|endoftext|>", normalizers.NFC()),
    "unigram": lambda: unigram("unigram"),
    "unigram-json": unigram,
    "sentence-bpe": sentence_bpe,
}


def write_model(folder, tokenizer):
    model_file = isinstance(tokenizer, str)
    if model_file: # a .model, which transformers reads as LlamaTokenizer
        os.makedirs(folder)
        shutil.copy(tokenizer, f"{folder}/tokenizer.model")
        with open(f"{folder}/tokenizer_config.json", "w") as f:
            json.dump(dict(tokenizer_class="LlamaTokenizer", add_bos_token=True, bos_token="<s>",
                           eos_token="</s>", unk_token="<unk>", legacy=True), f)
        tokenizer = AutoTokenizer.from_pretrained(folder)
    torch.manual_seed(5)
    model = LlamaForCausalLM(LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=CONTEXT,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id))
    for p in model.parameters():
        if p.dim() > 1:
            p.data.normal_(0, 0.3)
    model.save_pretrained(folder)
    if not model_file:
        tokenizer.save_pretrained(folder)


def import_model(strata, name, work):
    """Words for score: a SentencePiece model alone does not say that a begin token is in front."""
    folder, more = f"{work}/{name}", []
    if name in MODELS or name in RANKS:
        folder = f"{work}/{name}-pieces"
        shutil.copytree(f"{work}/{name}", folder)
        os.remove(f"{folder}/tokenizer.json")
    if name in MODELS:
        more = ["--bos", "yes"]
        os.remove(f"{folder}/tokenizer_config.json")
        with open(f"{folder}/tokenizer.model", "wb") as f:
            f.write(MODELS[name])
    if name in RANKS:   # the file of ranks itself
        shutil.copy(RANKS[name], folder)
    run(strata, "import", folder, "-o", f"{name}-m", cwd=work)
    run(strata, "build", f"{name}-m.lua", "-o", f"{name}.x", cwd=work)
    return more


# == Tasks ======================================================================

CHOICES = [dict(question=q, choices=c, answer=a) for q, c, a in [
    ("The answer is", ["a boat", "a lamp", "\u65e5\u672c"], 0),
    ("A lamp and a ladder stand in the", ["hall", "lake", "rain of it"], 1),
    ("\u6587\u7ae0\u3000", ["\u3067\u3059", "caf\u00e9"], 1),
    ("1234 drops of rain fall; it's 56 o'clock and the cat naps while the boat is on the lake, "
     "which is long: ", ["it is", "x + 1"], 0)]]
LAST_WORDS = [dict(context=c, word=w) for c, w in [
    ("The answer is a boat on the", " lake"), ("the cat naps\u00a0", "while"), ("caf\u00e9\u2028", "is"),
    ("a\x1d\x85 ", "b"), ("def f(x):\n    ", "return"), ("", "The answer"), ("lamp \t\n", "hall"),
    ("the " * 40, "boat"), ("\u65e5\u672c\u8a9e\u306e\u3000", "\u6587\u7ae0")]]
TEXTS = [dict(text=t) for t in [
    "The answer", "A lamp and a ladder stand in the hall. " * 5, "x", "\u65e5\u672c\u8a9e\u306e\u6587\u7ae0\u3067\u3059\u3002" * 7,
    " leading and trailing ", "def f(x):\n    return x + 1\n" * 4, "the cat " * 12]]

TASKS = {
    "small_choice": (CHOICES, """output_type: multiple_choice
doc_to_text: "{{question}}"
doc_to_choice: "{{choices}}"
doc_to_target: "{{answer}}"
metric_list: [{metric: acc}, {metric: acc_norm}]
"""),
    "small_last_word": (LAST_WORDS, """output_type: loglikelihood
doc_to_text: "{{context}}"
doc_to_target: "{{word}}"
target_delimiter: ""
metric_list: [{metric: perplexity}, {metric: acc}]
"""),
    "small_rolling": (TEXTS, """output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{text}}"
metric_list: [{metric: word_perplexity}, {metric: byte_perplexity}, {metric: bits_per_byte}]
"""),
}


def write_tasks(folder):
    for name, (rows, task) in TASKS.items():
        with open(f"{folder}/{name}.jsonl", "w") as f:
            f.writelines(json.dumps(row) + "\n" for row in rows)
        with open(f"{folder}/{name}.yaml", "w") as f:
            f.write(f"task: {name}\ndataset_path: json\ndataset_kwargs:\n  data_files:\n    test: "
                    f"{folder}/{name}.jsonl\ntest_split: test\nnum_fewshot: 0\n{task}")


def harness(folder, tasks):
    """[(context, continuation) or (text,), likelihood, is_greedy or None] of all requests."""
    import lm_eval
    from lm_eval.tasks import TaskManager
    made = lm_eval.simple_evaluate(
        model="hf", tasks=list(TASKS), batch_size=1, log_samples=True, bootstrap_iters=0,
        model_args=f"pretrained={folder},dtype=float32", device="cpu",
        task_manager=TaskManager(include_path=tasks, include_defaults=False))
    found = []
    for name in TASKS:
        for sample in made["samples"][name]:
            for asked, said in zip(sample["arguments"], sample["resps"]):
                said = said[0] if isinstance(said, (list, tuple)) and len(said) == 1 else said
                if len(asked) == 2:
                    found.append((tuple(asked), float(said[0]), said[1] in (True, "True")))
                else:
                    said = said[0] if isinstance(said, (list, tuple)) else said
                    found.append((tuple(asked), float(said), None))
    return found, made["results"]


def run(*command, cwd, status=0):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode != status:
        sys.exit(f"{command}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def write_lines(path, asked):
    with open(path, "w") as f:
        for a in asked:
            line = dict(text=a[0]) if len(a) == 1 else dict(context=a[0], continuation=a[1])
            f.write(json.dumps(line) + "\n")


def check(strata, name, work, tasks):
    folder = f"{work}/{name}"
    write_model(folder, TOKENIZERS[name]())
    more = import_model(strata, name, work)
    found, results = harness(folder, tasks)
    write_lines(f"{work}/{name}.jsonl", [f[0] for f in found])
    out = run(f"./{name}.x", "score", "--weights", f"{name}-m.safetensors", f"{name}.jsonl",
              "--json", *more, cwd=work)
    lines = [json.loads(line) for line in out.splitlines()]
    wrong = 0
    for (asked, value, greedy), line in zip(found, lines):
        ours = line["loglikelihood"]
        same = ours is not None and abs(ours - value) <= 1e-4 * max(1, abs(value))
        if not same or (greedy is not None and line["is_greedy"] != greedy):
            wrong += 1
            print(f"  {name}: {asked!r}: harness {value:.6f} {greedy}, score {line}")
    summary, rolling = lines[-1]["summary"]["texts"], results["small_rolling"]
    theirs = rolling["bits_per_byte,none"]
    if abs(summary["bits_per_byte"] - theirs) > 1e-4 * theirs:
        wrong += 1
        print(f"  {name}: bits per byte: harness {theirs}, score {summary['bits_per_byte']}")
    print(f"{name}: {len(found)} requests, {wrong} differ")
    return wrong, found


def check_stops(strata, name, work):
    """What the harness asserts against: the others are scored."""
    asked = [("1234", "56"), ("caf", "\u00e9"), ("a", "b" * 400), ("a", ""), ("The", " answer")]
    write_lines(f"{work}/stops.jsonl", asked)
    done = subprocess.run([f"./{name}.x", "score", "--weights", f"{name}-m.safetensors",
                           "stops.jsonl", "--json"], cwd=work, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    why = [line.get("not_scored", "") for line in lines[:5]]
    good = (done.returncode == 1 and why[2].startswith("the continuation has")
            and why[3] == "the continuation is empty" and why[4] == "" and len(lines) == 6)
    print(f"{name}: pairs that stop the harness: {why}: {'told' if good else 'WRONG'}")
    return not good


def main():
    strata = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as own:
        work = os.path.abspath(os.environ.get("KEEP", own))
        os.makedirs(work, exist_ok=True)
        write_tasks(work)
        wrong = 0
        for name in sys.argv[2:] or TOKENIZERS:
            wrong += check(strata, name, work, work)[0]
            wrong += check_stops(strata, name, work)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
