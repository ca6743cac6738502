# SPDX-License-Identifier: MIT
# Imports of checkpoints that transformers made: small, random, of every architecture and several
# configurations each.  The imported program's logits are those of transformers to 2e-4 of the
# largest, and its greedy choices, token by token, are those of transformers' generate.
#   PYTHON tests/interop/import.py STRATA [WORD]      WORD: only cases whose name holds it
#   PYTHON tests/interop/import.py STRATA --sweep COUNT [SEED [KIND ...]]   sweep.py: COUNT random
#       configurations of each architecture, which agree, are refused by name, or differ
# KEEP=DIR leaves the checkpoints there; AGAIN=1 exports what was imported and compares that too.  Needs torch, transformers and safetensors.
import itertools, json, os, re, subprocess, sys, tempfile
import torch
import mixtures
import sweep
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, logging

logging.set_verbosity_error()
logging.disable_progress_bar()

BASE = dict(vocab_size=131, hidden_size=48, intermediate_size=80, num_hidden_layers=3,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=128,
            pad_token_id=None, bos_token_id=None, eos_token_id=None)
GPT2 = dict(vocab_size=131, n_embd=48, n_layer=3, n_head=4, n_positions=128, bos_token_id=None,
            eos_token_id=None)
LLAMA3 = dict(rope_type="llama3", rope_theta=1000.0, factor=8.0, low_freq_factor=1.0,
              high_freq_factor=4.0, original_max_position_embeddings=32)
YARN = dict(rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=32)


LONGROPE = dict(rope_type="longrope", rope_theta=1000.0, original_max_position_embeddings=112,
                short_factor=[1.0, 1.1, 1.25, 1.5, 2.0, 2.5], long_factor=[1.0, 1.5, 2, 3.5, 6, 9])


def rope(theta, **more):
    return dict(rope_parameters=dict(rope_type="default", rope_theta=theta, **more))


# name, model_type, what differs from BASE, how it is saved.  context: what the spec's is made;
# one beyond that of training changes what longrope turns by, there for sequences beyond it, so
# that token by token there is nothing to compare.
CASES = [
    ("llama-plain", "llama", {}, {}),
    ("llama-mha-tied", "llama", dict(num_key_value_heads=4, tie_word_embeddings=True), {}),
    ("llama-mqa-biases", "llama", dict(num_key_value_heads=1, attention_bias=True, mlp_bias=True,
                                       rms_norm_eps=1e-3), {}),
    ("llama-llama3", "llama", dict(rope_parameters=LLAMA3), {}),
    ("llama-yarn", "llama", dict(rope_parameters=YARN), {}),
    ("llama-yarn-untruncated", "llama",
     dict(rope_parameters=dict(YARN, truncate=False, beta_fast=8.0, beta_slow=2.0)), {}),
    ("llama-yarn-factor", "llama", dict(rope_parameters=dict(YARN, attention_factor=0.9)), {}),
    ("llama-yarn-mscale", "llama",
     dict(rope_parameters=dict(YARN, mscale=1.0, mscale_all_dim=0.7)), {}),
    ("llama-linear", "llama",
     dict(rope_parameters=dict(rope_type="linear", rope_theta=500.0, factor=4.0)), {}),
    ("llama-dynamic", "llama",
     dict(rope_parameters=dict(rope_type="dynamic", rope_theta=500.0, factor=4.0)), {}),
    ("llama-longrope", "llama", dict(rope_parameters=LONGROPE), {}),
    ("llama-longrope-factor", "llama", dict(rope_parameters=dict(LONGROPE, factor=6.0)), {}),
    ("llama-longrope-given", "llama", dict(rope_parameters=dict(LONGROPE, attention_factor=1.3)),
     dict(old=True)),
    ("llama-longrope-short-only", "llama", dict(rope_parameters=dict(
        LONGROPE, original_max_position_embeddings=128)), {}),
    ("llama-longrope-long", "llama", dict(rope_parameters=dict(
        LONGROPE, original_max_position_embeddings=32)), dict(context=128)),
    ("llama-wide-heads", "llama", dict(head_dim=20), {}),
    ("llama-gelu", "llama", dict(hidden_act="gelu"), {}),
    ("llama-one-layer", "llama", dict(num_hidden_layers=1, num_attention_heads=3,
                                      num_key_value_heads=3), {}),
    ("llama-shards", "llama", dict(num_hidden_layers=6), dict(shard="40KB")),
    ("llama-bf16", "llama", {}, dict(dtype=torch.bfloat16)),
    ("llama-bf16-kept", "llama", dict(tie_word_embeddings=True),
     dict(dtype=torch.bfloat16, keep=True)),
    ("llama-f16-kept-shards", "llama", {}, dict(dtype=torch.float16, keep=True, shard="30KB")),
    ("llama-old-fields", "llama", dict(rope_parameters=LLAMA3), dict(old=True)),
    ("llama-old-linear", "llama", dict(rope_parameters=dict(rope_type="linear", rope_theta=800.0,
                                                            factor=2.5)), dict(old=True)),
    ("mistral-window", "mistral", dict(sliding_window=16), {}),
    ("mistral-no-window", "mistral", dict(sliding_window=None, head_dim=16), {}),
    ("qwen2-plain", "qwen2", {}, {}),
    ("qwen2-windows", "qwen2", dict(use_sliding_window=True, sliding_window=12,
                                    max_window_layers=2, num_hidden_layers=5), {}),
    ("qwen2-yarn-tied", "qwen2", dict(rope_parameters=YARN, tie_word_embeddings=True),
     dict(dtype=torch.bfloat16)),
    ("qwen3-plain", "qwen3", dict(head_dim=16), {}),
    ("qwen3-biases-windows", "qwen3",
     dict(head_dim=24, attention_bias=True, use_sliding_window=True, sliding_window=9,
          max_window_layers=1), {}),
    ("qwen3-tied-kept", "qwen3", dict(head_dim=32, tie_word_embeddings=True),
     dict(dtype=torch.bfloat16, keep=True, shard="50KB")),
    ("smollm3-plain", "smollm3", dict(num_hidden_layers=8, **rope(5000.0)), {}),
    ("smollm3-biases", "smollm3", dict(no_rope_layers=[0, 1, 1], attention_bias=True,
                                       mlp_bias=True, tie_word_embeddings=False), {}),
    ("smollm3-windows", "smollm3", dict(num_hidden_layers=5, use_sliding_window=True,
                                        sliding_window=10, no_rope_layer_interval=2), {}),
    ("smollm3-types", "smollm3", dict(
        num_hidden_layers=4, use_sliding_window=True, sliding_window=8, no_rope_layers=[1, 0, 1, 1],
        layer_types=["sliding_attention", "full_attention", "full_attention",
                     "sliding_attention"]), {}),
    ("gpt2-plain", "gpt2", {}, {}),
    ("gpt2-inner-relu", "gpt2", dict(n_inner=100, activation_function="relu",
                                     layer_norm_epsilon=1e-3), {}),
    ("gpt2-untied", "gpt2", dict(tie_word_embeddings=False, activation_function="gelu"),
     dict(shard="60KB")),
    ("gpt2-unscaled", "gpt2", dict(scale_attn_weights=False), {}),
    ("gpt2-by-layer", "gpt2", dict(scale_attn_by_inverse_layer_idx=True),
     dict(dtype=torch.bfloat16, keep=True)),
    ("olmo2-plain", "olmo2", {}, {}),
    ("olmo2-mha-biases", "olmo2", dict(num_key_value_heads=None, attention_bias=True,
                                       tie_word_embeddings=True), {}),
    ("olmo2-yarn", "olmo2", dict(rope_parameters=YARN), dict(dtype=torch.bfloat16)),
    ("gemma3-plain", "gemma3_text", dict(num_hidden_layers=8, sliding_window=16, head_dim=16,
                                         query_pre_attn_scalar=24), {}),
    ("gemma3-caps", "gemma3_text",
     dict(num_hidden_layers=3, sliding_window=10, head_dim=12, final_logit_softcapping=5.0,
          attn_logit_softcapping=3.0, query_pre_attn_scalar=16, attention_bias=True,
          layer_types=["full_attention", "sliding_attention", "full_attention"]), {}),
    ("gemma3-linear", "gemma3_text",
     dict(num_hidden_layers=6, sliding_window=16, head_dim=16,
          rope_parameters=dict(full_attention=dict(rope_type="linear", factor=8.0,
                                                   rope_theta=100000.0),
                               sliding_attention=dict(rope_type="default", rope_theta=300.0))),
     dict(dtype=torch.bfloat16, keep=True)),
    ("gemma3-yarn", "gemma3_text",    # a nested truncate is not looked at there
     dict(num_hidden_layers=3, sliding_window=16, head_dim=12,
          layer_types=["full_attention", "sliding_attention", "full_attention"],
          rope_parameters=dict(full_attention=dict(YARN, truncate=False),
                               sliding_attention=dict(YARN, truncate=False))), {}),
    ("gemma3-old-fields", "gemma3_text", dict(num_hidden_layers=7, sliding_window=16, head_dim=16,
                                              rope_parameters=dict(
        full_attention=dict(rope_type="linear", factor=2.0, rope_theta=5000.0),
        sliding_attention=dict(rope_type="default", rope_theta=70.0))), dict(old=True)),
    ("granite-plain", "granite", dict(embedding_multiplier=6.0, attention_multiplier=0.2,
                                      residual_multiplier=0.35, logits_scaling=4.0), {}),
    ("granite-ones", "granite", dict(attention_bias=True, mlp_bias=True, tie_word_embeddings=True,
                                     attention_multiplier=0.3), {}),
    ("nanochat-plain", "nanochat", {}, {}),
    ("nanochat-biases", "nanochat", dict(attention_bias=True, num_key_value_heads=4,
                                         final_logit_softcapping=4.0, tie_word_embeddings=True),
     {}),
    ("nanochat-llama3", "nanochat", dict(rope_parameters=LLAMA3, hidden_act="gelu",
                                         final_logit_softcapping=None), {}),
]

CASES += mixtures.CASES


# No gain is 1, no bias 0, and values are large enough for every part to count.
def stir(model):
    g = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for name, p in model.named_parameters():
            noise = torch.randn(p.shape, generator=g)
            if p.dim() == 1 or "A_log" in name:
                p.add_(0.3 * noise)
            else:
                p.copy_(noise * (0.9 / p.shape[-1] ** 0.5 if "embed" not in name else 0.6))
        for name, p in model.named_buffers():
            if "bias" in name:                                # of routers
                p.copy_(0.2 * torch.randn(p.shape, generator=g))
            if "tid2eid" in name:                             # experts by token
                p.copy_(torch.randint(0, model.config.n_routed_experts, p.shape, generator=g))
            if "balancing_biases" in name:      # transformers 5.24 makes it -1 whenever it loads
                p[-1] = -1.0


def make(kind, changes, how, folder):
    base = dict(GPT2 if kind == "gpt2" else BASE, **changes)
    if kind == "olmo2" and "rms_norm_eps" not in base:
        base["rms_norm_eps"] = 1e-5
    return saved(kind, base, how, folder)


# A random model of so many fields, as a folder has it.
def saved(kind, fields, how, folder):
    torch.manual_seed(1)
    model = mixtures.model_of(kind, fields)
    stir(model)
    model = model.to(how.get("dtype", torch.float32)).eval()
    model.save_pretrained(folder, max_shard_size=how.get("shard", "5GB"))
    return mixtures.load(kind, folder)


# config.json as versions before 5 wrote it.
def make_old(folder):
    path = f"{folder}/config.json"
    config = json.load(open(path))
    given = config.pop("rope_parameters")
    config["torch_dtype"] = config.pop("dtype")
    if "full_attention" in given:
        config["rope_local_base_freq"] = given["sliding_attention"]["rope_theta"]
        given = given["full_attention"]
        config.pop("layer_types")
        config["sliding_window_pattern"] = config.pop("_sliding_window_pattern")
    config["rope_theta"] = given.pop("rope_theta")
    config["rope_scaling"] = given
    json.dump(config, open(path, "w"))


exported = itertools.count()


def set_context(spec, tokens):
    text = open(spec).read()
    open(spec, "w").write(re.sub(r"context = \d+", f"context = {tokens}", text, count=1))


def run(*command, cwd):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr.strip()}")


def logits(work, tokens, *more):
    save_file({"tokens": tokens.to(torch.int32).contiguous()}, f"{work}/in.safetensors")
    run(f"{work}/m", "logits", "--weights", "m.safetensors", "--tokens", "in.safetensors", "--out",
        "out.safetensors", *more, cwd=work)
    return load_file(f"{work}/out.safetensors")["logits"]


# The logits of what is exported again, as transformers computes them, beside those of 'theirs'.
# Folders have names of their own: transformers keeps their code by name.
def off_again(strata, tokens, theirs, work):
    folder = f"again_{next(exported)}"
    run(strata, "export", "m.lua", "--weights", "m.safetensors", "--to", "hf", folder, "--overwrite",
        cwd=work)
    model = AutoModelForCausalLM.from_pretrained(f"{work}/{folder}", dtype=torch.float32,
                                                 trust_remote_code=True).eval()
    with torch.no_grad():
        ours = model(tokens).logits
    return ((ours - theirs).abs().max() / theirs.abs().max()).item()


def check(strata, name, kind, changes, how, work):
    model = make(kind, changes, how, f"{work}/hf")
    if how.get("old"):
        make_old(f"{work}/hf")
    run(strata, "import", "hf", "-o", "m", *(["--keep", "bf16"] if how.get("keep") else []),
        cwd=work)
    if "context" in how:
        set_context(f"{work}/m.lua", how["context"])
    run(strata, "build", "m.lua", "--inference", "-o", "m", cwd=work)
    g = torch.Generator().manual_seed(11)
    config = model.config.get_text_config()
    vocab = getattr(config, "unpadded_vocab_size", config.vocab_size)
    tokens = torch.randint(0, vocab, (3, 100), generator=g)
    with torch.no_grad():
        theirs = model(tokens).logits
        text = model.generate(tokens[:1, :8], attention_mask=torch.ones(1, 8), max_new_tokens=64,
                              min_new_tokens=64, do_sample=False, pad_token_id=0)
    ours = logits(work, tokens)
    off = ((ours - theirs).abs().max() / theirs.abs().max()).item()
    if os.environ.get("AGAIN"):
        off = max(off, off_again(strata, tokens, theirs, work))
    if "context" in how:
        return off, 64
    chosen = logits(work, text, "--as-generated").argmax(-1)[0, 7:-1]
    equal = (chosen == text[0, 8:]).sum().item()
    return off, equal


def main():
    strata = os.path.realpath(sys.argv[1])
    word = sys.argv[2] if len(sys.argv) > 2 else ""
    if word == "--sweep":
        count, seed = int(sys.argv[3]), int(sys.argv[4]) if len(sys.argv) > 4 else 1
        return sweep.sweep(sys.modules[__name__], strata, count, seed, sys.argv[5:])
    keep, bad, count = os.environ.get("KEEP"), 0, 0
    for name, kind, changes, how in CASES:
        if word not in name:
            continue
        count += 1
        with tempfile.TemporaryDirectory() as temporary:
            work = os.path.join(keep, name) if keep else temporary
            os.makedirs(work, exist_ok=True)
            try:
                off, equal = check(strata, name, kind, changes, how, work)
                ok = off <= 2e-4 and equal == 64
                print(f"{'ok  ' if ok else 'BAD '} {name:24} logits off by {off:.1e}, "
                      f"{equal} of 64 tokens", flush=True)
            except Exception as e:
                ok = False
                print(f"BAD  {name:24} {e}", flush=True)
            bad += not ok
    print(f"{count - bad} of {count} imports agree with transformers")
    return 1 if bad or not count else 0


if __name__ == "__main__":
    sys.exit(main())
