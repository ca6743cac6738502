# SPDX-License-Identifier: MIT
# Random configurations of every architecture, for import.py: what fields may say is drawn, a small
# model of that is made by transformers, imported and compared, as a whole and token by token.
# Refused by name is an error that names a field of config.json; anything else that is not the same
# logits differs.
import os, random, re, tempfile
import torch
import mixtures

OFF = 2e-4


# == What fields may say =======================================================

def maybe(r, p, **fields):
    return fields if r.random() < p else {}


def some(r, *values):
    return r.choice(values)


# Theta, and a way to longer contexts; d: how many channels of a head there are.
def rope(r, d, partial=False):
    out = dict(rope_type="default", rope_theta=some(r, 100.0, 1000.0, 10000.0, 5e5))
    way = r.choice(["default"] * 3 + ["linear", "dynamic", "yarn", "yarn", "llama3", "longrope"])
    factor = dict(factor=some(r, 1.0, 2.0, 4.0, 8.5))
    first = dict(original_max_position_embeddings=some(r, 16, 32, 64))
    out["rope_type"] = way
    if way in ("linear", "dynamic"):
        out.update(factor)
    if way == "yarn":
        out.update(**factor, **first, **maybe(r, 0.3, attention_factor=some(r, 0.8, 1.3)),
                   **maybe(r, 0.3, beta_fast=some(r, 8.0, 16.0), beta_slow=2.0),
                   **maybe(r, 0.2, truncate=False),
                   **maybe(r, 0.3, mscale=some(r, 0.7, 1.0), mscale_all_dim=some(r, 0.0, 0.5, 1.0)))
    if way == "llama3":
        out.update(**factor, **first, low_freq_factor=1.0, high_freq_factor=some(r, 2.0, 4.0))
    share = 1.0
    if partial and r.random() < 0.5:
        share = out["partial_rotary_factor"] = some(r, 0.25, 0.5, 1.0)
    if way == "longrope":
        n = int(d * share) // 2
        out.update(original_max_position_embeddings=some(r, 32, 64, 128),
                   short_factor=[1 + r.random() for _ in range(n)],
                   long_factor=[1 + 5 * r.random() for _ in range(n)],
                   **maybe(r, 0.5, **factor), **maybe(r, 0.3, attention_factor=1.2))
    return out


def layers_of(r, n, *words):
    return [r.choice(words) for _ in range(n)]


# What decoders have in common; heads of an even size.
def base(r, head_dim="maybe"):
    heads = some(r, 1, 2, 3, 4, 6)
    d = 2 * r.randint(2, 8)
    kv = r.choice([k for k in range(1, heads + 1) if heads % k == 0])
    out = dict(vocab_size=r.randint(60, 160), hidden_size=heads * d,
               intermediate_size=r.randint(5, 90), num_hidden_layers=r.randint(1, 5),
               num_attention_heads=heads, num_key_value_heads=kv, max_position_embeddings=128,
               rms_norm_eps=some(r, 1e-6, 1e-5, 1e-3), pad_token_id=None, bos_token_id=None,
               eos_token_id=None, tie_word_embeddings=r.random() < 0.4)
    if head_dim == "always" or head_dim == "maybe" and r.random() < 0.5:
        d = out["head_dim"] = 2 * r.randint(2, 12)
    return out, d


def activation(r):
    known = ["silu"] * 6 + ["gelu", "gelu_pytorch_tanh", "gelu_new", "relu", "swish", "relu2"]
    return some(r, *known * 2, "quick_gelu", "mish")


def dense(r, biases=(), **kwargs):
    out, d = base(r, **kwargs)
    out.update(hidden_act=activation(r), rope_parameters=rope(r, d))
    for name in biases:
        out.update(maybe(r, 0.4, **{name: True}))
    return out


def windows(r, out, use=True):
    n = out["num_hidden_layers"]
    out.update(maybe(r, 0.6, sliding_window=r.randint(1, 40)))
    if use and "sliding_window" in out:
        out["use_sliding_window"] = r.random() < 0.7
        out.update(maybe(r, 0.7, max_window_layers=r.randint(0, n)))
    if out.get("sliding_window") and out.get("use_sliding_window", True):
        out.update(maybe(r, 0.5, layer_types=layers_of(r, n, "full_attention",
                                                       "sliding_attention")))
    return out


# A number of experts, multiples of sizes that all of torch's ways take.
def experts(r, count):
    n = some(r, 2, 3, 4, 8)
    return {count: n, "num_experts_per_tok": r.randint(1, min(n, 3)),
            "moe_intermediate_size": 8 * r.randint(1, 4)}


def groups(r, out, count):
    choices = [g for g in (1, 2, 4) if out[count] % g == 0 and out[count] // g >= 2] or [1]
    g = r.choice(choices)
    kept = r.randint(1, g)
    while kept * (out[count] // g) < out["num_experts_per_tok"]:
        kept += 1
    out.update(n_group=g, topk_group=kept, norm_topk_prob=r.random() < 0.7,
               routed_scaling_factor=some(r, 1.0, 2.5, 0.5))


def latent(r, turned=True):
    return dict(kv_lora_rank=r.randint(4, 24), q_lora_rank=some(r, 8, 20),
                qk_nope_head_dim=r.randint(2, 12), v_head_dim=r.randint(2, 12),
                qk_rope_head_dim=2 * r.randint(1, 5) if turned else 0)


# == Architectures =============================================================

def llama(r):
    return dense(r, ("attention_bias", "mlp_bias"))


def mistral(r):
    return {**dense(r), "sliding_window": some(r, None, 1, 7, 30, 500)}


def qwen2(r):
    return windows(r, dense(r, head_dim="never"))


def qwen3(r):
    return windows(r, dense(r, ("attention_bias",), head_dim="always"))


def smollm3(r):
    out = dense(r, ("attention_bias", "mlp_bias"), head_dim="never")
    n = out["num_hidden_layers"]
    out.update(some(r, {}, dict(no_rope_layer_interval=r.randint(1, 3)),
                    dict(no_rope_layers=[r.randint(0, 1) for _ in range(n)])))
    out = windows(r, out)
    out.pop("max_window_layers", None)
    return out


def gpt2(r):
    heads = some(r, 1, 2, 3, 4)
    return dict(vocab_size=r.randint(60, 160), n_embd=heads * r.randint(3, 16), n_head=heads,
                n_layer=r.randint(1, 4), n_positions=128, bos_token_id=None, eos_token_id=None,
                n_inner=some(r, None, 30, 100), layer_norm_epsilon=some(r, 1e-5, 1e-3),
                activation_function=activation(r), scale_attn_weights=r.random() < 0.7,
                scale_attn_by_inverse_layer_idx=r.random() < 0.3,
                reorder_and_upcast_attn=r.random() < 0.2, tie_word_embeddings=r.random() < 0.7)


def olmo2(r):
    return dense(r, ("attention_bias",), head_dim="never")


def gemma3_text(r):
    out, d = base(r, head_dim="always")
    n = out["num_hidden_layers"]
    out.update(hidden_activation=some(r, "gelu_pytorch_tanh", activation(r)),
               query_pre_attn_scalar=some(r, d, 9, 40), sliding_window=r.randint(1, 40),
               attention_bias=r.random() < 0.3,
               rope_parameters=dict(full_attention=rope(r, d), sliding_attention=rope(r, d)),
               **maybe(r, 0.6, layer_types=layers_of(r, n, "full_attention", "sliding_attention")),
               **maybe(r, 0.4, final_logit_softcapping=some(r, 5.0, 30.0)),
               **maybe(r, 0.2, attn_logit_softcapping=20.0))
    return out


def granite(r):
    return dict(dense(r, ("attention_bias", "mlp_bias"), head_dim="never"),
                embedding_multiplier=some(r, 1.0, 6.0), attention_multiplier=some(r, 0.2, 1.0),
                residual_multiplier=some(r, 1.0, 0.3), logits_scaling=some(r, 1.0, 4.0))


def nanochat(r):
    return dict(dense(r, ("attention_bias",), head_dim="never"),
                final_logit_softcapping=some(r, None, 4.0, 15.0))


def qwen3_moe(r):
    out = dict(dense(r, ("attention_bias",)), **experts(r, "num_experts"),
               norm_topk_prob=r.random() < 0.5, decoder_sparse_step=some(r, 1, 1, 2))
    out.update(maybe(r, 0.3, mlp_only_layers=[r.randrange(out["num_hidden_layers"])]))
    out.update(maybe(r, 0.4, use_sliding_window=r.random() < 0.7, sliding_window=r.randint(1, 40)))
    return out


def mixtral(r):
    out = dict(dense(r), **experts(r, "num_local_experts"), sliding_window=some(r, None, 1, 9, 200))
    out["intermediate_size"] = out.pop("moe_intermediate_size")
    return out


def deepseek_v3(r):
    out, _ = base(r, head_dim="never")
    out.update(num_key_value_heads=out["num_attention_heads"], **latent(r),
               **experts(r, "n_routed_experts"), n_shared_experts=some(r, 1, 2),
               first_k_dense_replace=r.randint(0, 3), rope_interleave=r.random() < 0.7,
               attention_bias=r.random() < 0.3, **maybe(r, 0.2, hidden_act=activation(r)))
    out.update(maybe(r, 0.3, q_lora_rank=None),
               rope_parameters=rope(r, out["qk_rope_head_dim"]))
    groups(r, out, "n_routed_experts")
    return out


def kimi_linear(r):
    out, _ = base(r, head_dim="never")
    n = out["num_hidden_layers"]
    out.update(num_key_value_heads=out["num_attention_heads"], **latent(r),
               **experts(r, "num_local_experts"), n_shared_experts=some(r, 1, 2),
               attention_bias=r.random() < 0.3, linear_num_heads=r.randint(1, 4),
               linear_head_dim=r.randint(3, 14), linear_conv_kernel_dim=r.randint(1, 5),
               **maybe(r, 0.6, layer_types=layers_of(r, n, "full_attention", "linear_attention")),
               **maybe(r, 0.6, mlp_layer_types=layers_of(r, n, "sparse", "dense")))
    out.update(maybe(r, 0.5, q_lora_rank=None))
    groups(r, out, "num_local_experts")
    return out


def inkling2_text(r):
    out, _ = base(r, head_dim="always")
    heads, n = out["num_attention_heads"], out["num_hidden_layers"]
    out.update(**experts(r, "n_routed_experts"), swa_num_attention_heads=heads, d_rel=r.randint(1, 8),
               swa_num_key_value_heads=out["num_key_value_heads"], swa_head_dim=2 * r.randint(2, 8),
               sliding_window_size=r.randint(1, 40), rel_extent=r.randint(1, 60),
               log_scaling_n_floor=r.randint(1, 60), log_scaling_alpha=some(r, 0.0, 0.1, 0.4),
               conv_kernel_size=r.randint(1, 5), route_scale=some(r, 1.0, 3.0),
               n_layers_per_attn_res_block=r.randint(1, 4), mlp_gate_softcap=some(r, 1.0, 4.0),
               mlp_up_softcap=some(r, 1.0, 25.0), final_logit_softcapping=some(r, 4.0, 30.0),
               unpadded_vocab_size=out["vocab_size"] - some(r, 0, 7),
               **maybe(r, 0.7, layer_types=layers_of(r, n, "hybrid", "hybrid_sliding")))
    out.pop("tie_word_embeddings")
    return out


def beam(r):
    out, d = base(r, head_dim="always")
    n = out["num_hidden_layers"]
    out.update(**experts(r, "num_experts"), sliding_window=r.randint(1, 40),
               attention_bias=r.random() < 0.3, final_logit_softcapping=some(r, None, 8.0),
               rope_parameters=dict(full_attention=some(r, None, rope(r, d)),
                                    sliding_attention=some(r, None, rope(r, d), rope(r, d))),
               **maybe(r, 0.6, layer_types=layers_of(r, n, "full_attention", "sliding_attention")),
               **maybe(r, 0.6, mlp_layer_types=layers_of(r, n, "sparse", "dense")))
    groups(r, out, "num_experts")
    return out


def hy_v4(r):
    out, _ = base(r, head_dim="never")
    n = out["num_hidden_layers"]
    out.update(num_key_value_heads=out["num_attention_heads"], **latent(r),
               **experts(r, "n_routed_experts"), n_shared_experts=some(r, 1, 2), index_topk=128,
               index_head_dim=16, index_n_heads=2, hc_mult=r.randint(1, 4),
               hc_magnitude=some(r, 1.0, 2.0), hc_eps=some(r, 1e-6, 1e-3),
               swiglu_limit=some(r, 0.5, 10.0), attention_bias=r.random() < 0.3,
               mlp_layer_types=layers_of(r, n, "sparse", "dense"))
    out["rope_parameters"] = rope(r, out["qk_rope_head_dim"])
    groups(r, out, "n_routed_experts")
    return out


def glm5_next(r):
    out, _ = base(r, head_dim="never")
    n = out["num_hidden_layers"]
    out.update(num_key_value_heads=out["num_attention_heads"], **latent(r, turned=False),
               **experts(r, "n_routed_experts"), n_shared_experts=some(r, 1, 2), index_topk=128,
               index_head_dim=16, index_n_heads=2, index_kpool=4, hc_mult=r.randint(1, 4),
               hc_sinkhorn_iters=some(r, 1, 3, 20), hc_eps=some(r, 1e-6, 1e-3),
               swiglu_limit=some(r, 0.5, 10.0), attention_bias=r.random() < 0.3,
               linear_head_dim=r.randint(3, 14), linear_num_heads=r.randint(1, 4),
               linear_lower_bound=some(r, -5.0, -2.0),
               mlp_layer_types=layers_of(r, n, "sparse", "dense"),
               layer_types=layers_of(r, n, "linear_attention", "indexed_attention"))
    groups(r, out, "n_routed_experts")
    return out


def qwen4_exp_text(r):
    out, d = base(r, head_dim="always")
    n, keys = out["num_hidden_layers"], r.randint(1, 3)
    turn = rope(r, d, partial=True)
    out.update(**experts(r, "num_experts"), shared_expert_intermediate_size=8 * r.randint(1, 4),
               linear_num_key_heads=keys, linear_num_value_heads=keys * r.randint(1, 2),
               linear_key_head_dim=r.randint(3, 12), linear_value_head_dim=r.randint(3, 12),
               linear_conv_kernel_dim=r.randint(2, 5), hc_count=r.randint(2, 4),
               hc_lowrank=r.randint(1, 9), norm_topk_prob=r.random() < 0.7, rope_parameters=turn,
               layer_types=layers_of(r, n, "linear_attention", "full_attention"),
               indexer_n_heads=2, indexer_kv_heads=1, indexer_head_dim=24, indexer_budget=128,
               indexer_compress_ratio=4, **maybe(r, 0.5, output_gate_type=some(r, "silu", "sigmoid")))
    return out


def deepseek_v4(r):
    sparse, heavy = mixtures.SPARSE, mixtures.HEAVY
    out, d = base(r, head_dim="always")
    n, heads = out["num_hidden_layers"], out["num_attention_heads"]
    kinds = ["sliding_attention", sparse, heavy]
    way = rope(r, d)
    way.pop("rope_theta")
    out.update(**experts(r, "n_routed_experts"), num_key_value_heads=1, q_lora_rank=r.randint(4, 20),
               hc_mult=r.randint(1, 4), hc_sinkhorn_iters=some(r, 1, 3, 20),
               hc_eps=some(r, 1e-6, 1e-3), swiglu_limit=some(r, 0.5, 10.0),
               sliding_window=r.randint(1, 40), o_lora_rank=r.randint(2, 12),
               o_groups=r.choice([g for g in range(1, heads + 1) if heads % g == 0]),
               index_n_heads=2, index_head_dim=d, index_topk=some(r, 8, 64),
               partial_rotary_factor=some(r, 0.5, 1.0), rope_parameters=way,
               compress_rates={sparse: r.randint(2, 6), heavy: r.randint(2, 20)},
               scoring_func=some(r, "sqrtsoftplus", "sigmoid"), mlp_bias=r.random() < 0.1,
               routed_scaling_factor=some(r, 1.0, 2.5), norm_topk_prob=r.random() < 0.8,
               mlp_layer_types=layers_of(r, n, "hash_moe", "moe"),
               layer_types=layers_of(r, n, *kinds), **maybe(r, 0.3, hidden_act=activation(r)))
    out.pop("intermediate_size")
    return out


def muse_spark(r):
    out, d = base(r, head_dim="always")
    n = out["num_hidden_layers"]
    out.update(**experts(r, "num_local_experts"), moe_hidden_size=8 * r.randint(1, 4),
               sliding_window=r.randint(1, 40), attention_bias=r.random() < 0.3,
               output_multiplier=some(r, 0.3, 1.0), qk_scale_factor=some(r, 1.0, 4.0),
               post_norm_eps=some(r, 1e-8, 1e-4), final_logit_softcapping=some(r, 5.0, 20.0),
               residual_gate_temperature=some(r, 0.3, 1.0), routed_scaling_factor=some(r, 1.0, 2.0),
               rope_parameters=rope(r, d), mlp_layer_types=layers_of(r, n, "sparse", "dense"),
               **maybe(r, 0.5, layer_types=layers_of(r, n, "full_attention", "sliding_attention")),
               **maybe(r, 0.5, layer_rope_theta=[some(r, 0, 1e4) for _ in range(n)]))
    out["tie_word_embeddings"] = False
    return out


def zaya(r):
    out, d = base(r, head_dim="always")
    n = out["num_hidden_layers"]
    out.update(num_experts=some(r, 1, 2, 5), moe_intermediate_size=8 * r.randint(1, 4),
               router_hidden_size=r.randint(2, 20), cca_time0=r.randint(1, 4),
               cca_time1=r.randint(1, 4), sliding_window=r.randint(1, 40),
               attention_bias=r.random() < 0.3,
               layer_types=layers_of(r, n, "hybrid", "hybrid_sliding"))
    out["rope_parameters"] = dict(hybrid=rope(r, d, partial=True),
                                  hybrid_sliding=rope(r, d, partial=True))
    return out


KINDS = [llama, mistral, qwen2, qwen3, smollm3, gpt2, olmo2, gemma3_text, granite, nanochat,
         qwen3_moe, mixtral, deepseek_v3, kimi_linear, inkling2_text, beam, hy_v4, glm5_next,
         qwen4_exp_text, deepseek_v4, muse_spark, zaya]


# == Comparing =================================================================

HOW = [{}, {}, dict(shard="20KB"), dict(dtype=torch.bfloat16), dict(dtype=torch.float16),
       dict(dtype=torch.bfloat16, keep=True)]


# "agrees", "refused: FIELD", "invalid" (transformers makes no such model) or what is wrong.
def outcome(cases, strata, kind, fields, how, work):
    length = 40
    try:
        model = cases.saved(kind, fields, how, f"{work}/hf")
        config = model.config.get_text_config()
        vocab = getattr(config, "unpadded_vocab_size", config.vocab_size)
        tokens = torch.randint(0, vocab, (2, length), generator=torch.Generator().manual_seed(3))
        with torch.no_grad():
            theirs = model(tokens).logits
        if not theirs.isfinite().all():
            return "invalid"
    except Exception as e:
        return f"invalid ({type(e).__name__}: {str(e).splitlines()[0][:90]})"
    try:
        cases.run(strata, "import", "hf", "-o", "m",
                  *(["--keep", "bf16"] if how.get("keep") else []), cwd=work)
    except RuntimeError as e:
        named = re.search(r"status 1\nerror: hf/config\.json: ([\w.]+): expected", str(e))
        return f"refused: {named[1]}" if named else f"DIFFERS: {e}"
    try:
        cases.run(strata, "build", "m.lua", "--inference", "-O1", "-o", "m", cwd=work)
        context = int(re.search(r"context = (\d+)", open(f"{work}/m.lua").read())[1])
        if context < length:
            tokens = tokens[:, :context]
            with torch.no_grad():
                theirs = model(tokens).logits
        off = max(((cases.logits(work, tokens, *more) - theirs).abs().max()
                   / theirs.abs().max()).item() for more in ([], ["--as-generated"]))
    except Exception as e:
        return f"DIFFERS: {e}"
    return "agrees" if off <= OFF else f"DIFFERS: logits off by {off:.1e}"


def sweep(cases, strata, count, seed, words):
    wrong = 0
    for draw in KINDS:
        kind, seen, invalid, at = draw.__name__, {}, 0, 0
        if words and kind not in words:
            continue
        while sum(seen.values()) < count and invalid <= 10 * count:
            r = random.Random(f"{kind} {seed + at}")
            fields, how = draw(r), r.choice(HOW)
            with tempfile.TemporaryDirectory() as work:
                found = outcome(cases, strata, kind, fields, how, work)
            at += 1
            if found.startswith("invalid"):
                invalid += 1
                if os.environ.get("VERBOSE"):
                    print(f"     {kind} {seed + at - 1}: {found}", flush=True)
                continue
            if found.startswith("DIFFERS"):
                print(f"BAD  {kind} {seed + at - 1}: {found}\n     {fields} {how}", flush=True)
                found = "DIFFERS"
            seen[found] = seen.get(found, 0) + 1
        wrong += seen.get("DIFFERS", 0)
        rest = ", ".join(f"{n} {name}" for name, n in sorted(seen.items()) if name != "agrees")
        print(f"{kind:15} {seen.get('agrees', 0)} of {sum(seen.values())} agree"
              + (f"; {rest}" if rest else "") + f" ({invalid} are no models there)", flush=True)
    print(f"{wrong} differ")
    return 1 if wrong else 0
