# SPDX-License-Identifier: MIT
# Every field of the configuration class of every importer, and of ropes: left out, null, changed.
# A small model of random weights is saved once; then its config.json changes, one field at a time,
# and strata imports the folder and transformers loads it.  "equal": the same logits; "refused": one
# line that names a field of config.json, or a tensor; "no model": what was imported is none for
# transformers, which refuses the value or finds weights missing; anything else is WRONG.
#   PYTHON tests/interop/field_sweep.py IMPORT_LOGITS [--short] [KIND ...]
import copy, json, os, re, subprocess, sys, tempfile
import numpy, torch
import classes, mixtures
from importlib import import_module
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoModelForImageTextToText, logging

cases = import_module("import")
torch.set_num_threads(1)
logging.set_verbosity(logging.CRITICAL)
logging.disable_progress_bar()
OFF, LENGTH = 5e-4, 40      # theirs are calculated in float32, ours in float64
WIDE = ("glm5_next", "muse_spark")
GONE = object()

# Sizes at which what classes say of groups and experts makes a model.
NONE = dict(pad_token_id=None, bos_token_id=None, eos_token_id=None)
TINY = dict(vocab_size=61, hidden_size=16, intermediate_size=24, num_hidden_layers=4,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64)
EXPERTS = dict(moe_intermediate_size=8, num_experts_per_tok=3)
LATENT = dict(num_key_value_heads=4, kv_lora_rank=8, q_lora_rank=8, qk_nope_head_dim=4,
              qk_rope_head_dim=4, v_head_dim=6)
S, H = mixtures.SPARSE, mixtures.HEAVY
BASES = {
    "llama": {}, "qwen2": dict(use_sliding_window=True, sliding_window=9, max_window_layers=2),
    "mistral": dict(sliding_window=9),
    "qwen3": dict(head_dim=6, use_sliding_window=True, sliding_window=9, max_window_layers=2),
    "smollm3": dict(use_sliding_window=True, sliding_window=9, no_rope_layer_interval=2,
                    rope_parameters=dict(rope_type="default", rope_theta=300.0)),
    "gpt2": dict(vocab_size=61, n_embd=16, n_layer=3, n_head=4, n_positions=64, n_inner=24),
    "olmo2": {},
    "gemma3_text": dict(num_hidden_layers=7, head_dim=6, sliding_window=9, query_pre_attn_scalar=9,
                        final_logit_softcapping=6.0, rope_parameters=dict(
        full_attention=dict(rope_type="default", rope_theta=5000.0),
        sliding_attention=dict(rope_type="default", rope_theta=70.0))),
    "granite": dict(embedding_multiplier=6.0, attention_multiplier=0.3, residual_multiplier=0.4,
                    logits_scaling=3.0),
    "nanochat": dict(final_logit_softcapping=4.0),
    "qwen3_moe": dict(EXPERTS, num_experts=9, head_dim=6, norm_topk_prob=True,
                      use_sliding_window=True, sliding_window=9),
    "mixtral": dict(num_local_experts=9, intermediate_size=8, sliding_window=9, head_dim=4,
                    num_experts_per_tok=3),
    "deepseek_v3": dict(EXPERTS, **LATENT, n_routed_experts=16, n_group=4, topk_group=2,
                        first_k_dense_replace=1, routed_scaling_factor=1.5),
    "kimi_linear": dict(EXPERTS, **LATENT, num_local_experts=16, num_hidden_layers=6,
                        linear_num_heads=2, linear_head_dim=6, routed_scaling_factor=1.5,
                        n_group=4, topk_group=2),
    "inkling2_text": dict(EXPERTS, n_routed_experts=9, head_dim=6, swa_num_attention_heads=4,
                          swa_num_key_value_heads=2, swa_head_dim=6, sliding_window_size=9, d_rel=3,
                          rel_extent=7, log_scaling_n_floor=4, num_hidden_layers=7,
                          unpadded_vocab_size=59, conv_kernel_size=3, route_scale=3.0,
                          n_layers_per_attn_res_block=2, qk_l2_clip_threshold=2.0,
                          rel_l2_clip_threshold=1.0, mlp_gate_softcap=1.0, mlp_up_softcap=2.0),
    "beam": dict(EXPERTS, head_dim=6, num_experts=16, n_group=4, topk_group=2, sliding_window=9,
                 num_hidden_layers=7, routed_scaling_factor=1.5, final_logit_softcapping=6.0),
    "hy_v4": dict(EXPERTS, **LATENT, n_routed_experts=16, index_topk=64, index_head_dim=6,
                  index_n_heads=1, hc_mult=2, hc_magnitude=1.7, hc_eps=1e-3, swiglu_limit=0.3,
                  n_group=4, topk_group=2, routed_scaling_factor=1.5),
    "glm5_next": dict(EXPERTS, **dict(LATENT, qk_rope_head_dim=0), n_routed_experts=16,
                      index_topk=64, index_head_dim=4, index_n_heads=1, index_kpool=4, n_group=4,
                      topk_group=2, swiglu_limit=0.3, linear_head_dim=6, linear_num_heads=2,
                      hc_mult=2, hc_eps=1e-3, hc_sinkhorn_iters=3, linear_lower_bound=-2.0,
                      routed_scaling_factor=1.5, num_hidden_layers=5),
    "qwen4_exp_text": dict(mixtures.GATED, vocab_size=61, moe_intermediate_size=8,
                           shared_expert_intermediate_size=6, num_experts=12, head_dim=6,
                           num_experts_per_tok=3, linear_key_head_dim=4, linear_value_head_dim=3,
                           hc_count=2, hc_lowrank=3, indexer_head_dim=6, indexer_budget=64,
                           layer_types=["linear_attention"] * 3 + ["full_attention"],
                           rope_parameters=dict(rope_type="default", rope_theta=1000.0)),
    "deepseek_v4": dict(mixtures.SEEK, vocab_size=61, moe_intermediate_size=8, head_dim=16,
                        q_lora_rank=6, n_routed_experts=8, hc_mult=2, sliding_window=4,
                        o_lora_rank=5, index_head_dim=8, num_hidden_layers=5,
                        layer_types=[H, H, H, S, H], compress_rates={S: 2, H: 3},
                        mlp_layer_types=["hash_moe"] * 3 + ["moe"] * 2, swiglu_limit=0.7,
                        rope_parameters=dict(rope_type="yarn", factor=4.0,
                                             original_max_position_embeddings=16)),
    "muse_spark": dict(mixtures.MUSE, vocab_size=61, moe_intermediate_size=8, num_local_experts=9,
                       moe_hidden_size=8, head_dim=6, sliding_window=9, num_hidden_layers=5,
                       num_experts_per_tok=3, mlp_layer_types=["sparse"] * 5),
    "zaya": dict(mixtures.ZAYA, head_dim=8, moe_intermediate_size=8, num_experts=5,
                 router_hidden_size=5, sliding_window=9, num_hidden_layers=3, cca_time1=3,
                 layer_types=["hybrid", "hybrid_sliding", "hybrid"], attention_bias=True),
}
YARN = dict(rope_type="yarn", rope_theta=900.0, factor=4.0, original_max_position_embeddings=16)
ROPES = [dict(rope_type="default", rope_theta=900.0), dict(type="linear", factor=3.0),
         dict(rope_theta=900.0), {}, YARN, dict(YARN, mscale=0.7, mscale_all_dim=0.5),
         dict(YARN, beta_fast=8.0, beta_slow=2.0, truncate=False, attention_factor=1.2),
         dict(rope_type="llama3", rope_theta=900.0, factor=8.0, low_freq_factor=1.0,
              high_freq_factor=4.0, original_max_position_embeddings=16),
         dict(rope_type="dynamic", rope_theta=900.0, factor=2.0),
         dict(rope_type="default", rope_theta=900.0, partial_rotary_factor=0.5)]

# What files have beside the fields of the class.
BESIDE = {"rope_theta": [900.0], "partial_rotary_factor": [0.5, 1.0], "head_dim": [4, 8],
          "rope_scaling": ROPES, "original_max_position_embeddings": [16, 32],
          "sliding_window_pattern": [2, 3], "_sliding_window_pattern": [2],
          "rope_local_base_freq": [300.0], "rope_interleaved": [False, True],
          "use_mrope": [False, True], "qk_head_dim": [3, 10], "n_ctx": [32],
          "num_key_value_heads": [1, 4], "first_k_dense_replace": [0, 2],
          "linear_attn_config": [dict(head_dim=6, num_heads=2, short_conv_kernel_size=4),
                                 dict(full_attn_layers=[2], kda_layers=[1, 3, 4, 5, 6]),
                                 dict(full_attn_layers=[2]), dict(num_heads=3), {}],
          "moe_layer_freq": [1, 2], "scoring_func": ["sigmoid", "softmax"],
          "topk_method": ["noaux_tc", "greedy"], "moe_router_activation_func": ["sigmoid"],
          "full_attention_interval": [2, 4], "num_nextn_predict_layers": [0, 1],
          "qk_rope_head_dim": [4, 8], "tie_word_embeddings": [True, False],
          "hidden_act": ["gelu", "relu"], "is_decoder": [True], "quantization_config": [{}],
          "max_window_layers": [0, 1], "indexer_types": [], "use_sliding_window": [True, False],
          "sliding_window": [5], "temperature": [0.3], "do_sample": [True], "layer_types": [],
          "num_hash_layers": [1], "compress_ratios": [[0, 4, 128, 4, 128]]}


# Other values of a field that has this one.
def others(name, value):
    if isinstance(value, bool):
        return [not value]
    if name.startswith("hidden_act") or name == "activation_function":
        return ["gelu", "gelu_pytorch_tanh", "relu", "silu", "swish", "relu2", "tanh"]
    if isinstance(value, float) and 0 < value < 1e-2:
        return [value * 2, 0.05, 0, 1, -1]
    if isinstance(value, (int, float)):
        return [value + 1, value * 2, value / 2 if isinstance(value, float) else max(value // 2, 1),
                0, 1, -1]
    if isinstance(value, list) and value:
        out = [value[::-1], value[1:], [value[0]] * len(value), [value[-1]] * len(value), []]
        return out + [[value[-1]] + value[1:]]
    if value is None:
        return [1, 2, 0.5, 5.0, True, "silu", "sigmoid"]
    return []


def edits_of_rope(config):
    out = []
    for key in ("rope_parameters",):
        given = config.get(key)
        if not isinstance(given, dict):
            continue
        for value in ROPES:
            out.append((f"{key}={value}", lambda c, v=value: c.update(rope_parameters=dict(v))))
        both = [k for k, v in given.items() if isinstance(v, dict) or v is None]
        for part in both:
            for value in [GONE, None] + ROPES:
                out.append((f"{key}.{part}={'gone' if value is GONE else value}",
                            lambda c, p=part, v=value: change(c[key], p, v)))
        for base in ROPES[4:8]:
            for name in list(base) + ["type"]:
                for value in (GONE, None):
                    def edit(c, b=base, n=name, v=value):
                        made = dict(b)
                        change(made, n, v)
                        c["rope_parameters"] = {p: dict(made) for p in both} if both else made
                    out.append((f"{key} {base['rope_type']} {name}="
                                f"{'gone' if value is GONE else value}", edit))
    return out


def change(config, name, value):
    if value is GONE:
        config.pop(name, None)
    else:
        config[name] = copy.deepcopy(value)


# What is done to the part of config.json that the class reads: what it is called, the edit.
def edits_of(kind, config, short):
    defaults = classes.fields_of(kind)
    of = classes.class_of(kind)
    names = list(dict.fromkeys([*config, *defaults, *of.attribute_map, *BESIDE]))
    out = [("as it is", lambda c: None)]
    for name in names:
        if name in ("model_type", "architectures", "transformers_version", "dtype"):
            continue
        values = [GONE, None]
        if not short:
            more = [v for v in others(name, config.get(name)) if v != config.get(name)]
            values += more[:1] if name in classes.INERT else more
            values += BESIDE.get(name, [])
            if name in defaults and defaults[name][0] is not None:
                values.append(defaults[name][0])
            if name in of.attribute_map:
                first = config.get(of.attribute_map[name])
                values += [first, first + 1 if isinstance(first, int) else 1.5]
        for value in values:
            if value is GONE and name not in config:
                continue
            out.append((f"{name}={'gone' if value is GONE else json.dumps(value)}",
                        lambda c, n=name, v=value: change(c, n, v)))
    for alias, name in of.attribute_map.items():             # under its other name
        if name in config:
            out.append((f"{name} as {alias}", lambda c, a=alias, n=name: c.update({a: c.pop(n)})))
    if kind not in ("gpt2", "inkling2_text", "kimi_linear", "glm5_next"):
        out += edits_of_rope(config)
        out.append(("rope_parameters=gone rope_theta=900",
                    lambda c: (c.pop("rope_parameters", 0), c.update(rope_theta=900.0))))
        for value in ROPES:
            out.append((f"rope_parameters=gone rope_scaling={value}",
                        lambda c, v=value: (c.pop("rope_parameters", 0),
                                            c.update(rope_scaling=dict(v)))))
        if kind == "gemma3_text":
            out.append(("old: two thetas", lambda c: (c.pop("rope_parameters"), c.update(
                rope_theta=900.0, rope_local_base_freq=40.0))))
    return out


class Ours:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)

    # ([time, vocab], None) or (None, "STATUS message")
    def ask(self, folder, name, tokens):
        for ending in (".lua", ".safetensors", ".logits"):
            if os.path.exists(name + ending):
                os.remove(name + ending)
        self.process.stdin.write(f"{folder} {name} {tokens}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline().strip()
        if line.startswith("ok "):
            return [int(word) for word in line.split()[1:]], None
        return None, line or f"CRASH {self.process.wait()}"


# The logits that transformers computes, or why there are none.
def theirs_of(kind, folder, tokens):
    auto = AutoModelForImageTextToText if kind in WIDE else AutoModelForCausalLM
    try:
        model, info = auto.from_pretrained(folder, dtype=torch.float32, output_loading_info=True,
                                           attn_implementation="eager")
        lost = list(info["missing_keys"]) + list(info["mismatched_keys"])
        if lost:
            return None, f"weights: {lost[0]}"
        with torch.no_grad():
            logits = model.eval()(tokens).logits.double().numpy()
        if not numpy.isfinite(logits).all():
            return None, "not finite"
        return logits, None
    except Exception as e:
        text = (str(e).splitlines() or [""])[0]
        return None, f"{type(e).__name__}: {text[:100]}"


def judge(kind, folder, work, ours, tokens, file):
    sizes, said = ours.ask(folder, f"{work}/o", file)
    if said is not None:
        named = re.match(r"[13] \S*(/config\.json: |: (importer: )?expected a tensor|\.safetensors:)", said)
        return ("refused" if named else "WRONG"), said
    time, vocab = sizes
    want, why = theirs_of(kind, folder, tokens[:, :time].clamp(max=vocab - 1))
    if want is None:
        return "no model", why
    got = numpy.fromfile(f"{work}/o.logits").reshape(*want.shape[:2], vocab)
    want = want[:, :, :vocab]
    off = abs(got - want).max() / abs(want).max()
    return ("equal", f"{off:.0e}") if off <= OFF else ("WRONG", f"logits off by {off:.1e}")


# The fields of a saved folder that the importer's class reads, in config.json.
def part_of(kind, config):
    return config["text_config"] if kind in WIDE else config


def sweep_kind(kind, program, short, verbose):
    ours, seen, bad = Ours(program), {}, []
    base = BASES[kind] if kind == "gpt2" else {**TINY, **BASES[kind]}
    with tempfile.TemporaryDirectory() as work:
        folder = f"{work}/hf"
        cases.saved(kind, {**NONE, **base}, {}, folder)
        if os.path.exists(f"{folder}/generation_config.json"):
            os.remove(f"{folder}/generation_config.json")
        whole = json.load(open(f"{folder}/config.json"))
        draws = []
        for seed in (3, 4):
            g = torch.Generator().manual_seed(seed)
            tokens, file = torch.randint(0, 50, (2, LENGTH), generator=g), f"{work}/{seed}.tokens"
            save_file({"tokens": tokens.to(torch.int32)}, file)
            draws.append((tokens, file))
        for called, edit in edits_of(kind, part_of(kind, whole), short):
            config = copy.deepcopy(whole)
            try:
                edit(part_of(kind, config))
            except (AttributeError, TypeError, KeyError):
                continue
            json.dump(config, open(f"{folder}/config.json", "w"))
            found, why = judge(kind, folder, work, ours, *draws[0])
            if why.startswith("logits off"):  # two experts of a token may be alike to float32
                found, why = judge(kind, folder, work, ours, *draws[1])
            if called == "as it is" and found != "equal":
                found = "WRONG"
            seen[found] = seen.get(found, 0) + 1
            if found == "WRONG":
                bad.append(called)
                print(f"BAD  {kind} {called}: {why}", flush=True)
                if "CRASH" in why:
                    ours = Ours(program)
            elif verbose:
                print(f"     {kind} {called}: {found} ({why})", flush=True)
    rest = ", ".join(f"{seen.get(w, 0)} {w}" for w in ("equal", "refused", "no model"))
    print(f"{kind:15} {sum(seen.values())} edits: {rest}, {len(bad)} WRONG", flush=True)
    return len(bad)


def main(words):
    program, short = os.path.realpath(words[0]), "--short" in words
    kinds = [w for w in words[1:] if not w.startswith("-")] or list(BASES)
    wrong = sum(sweep_kind(k, program, short, os.environ.get("VERBOSE")) for k in kinds)
    print(f"{wrong} wrong of {len(kinds)} importers")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
