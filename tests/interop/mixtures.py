# SPDX-License-Identifier: MIT
# Cases of import.py, and fixtures, of models beyond plain dense transformers: experts, latent
# attention, recurrences, other residual streams.
import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForImageTextToText

EXPERTS = dict(moe_intermediate_size=24, num_experts_per_tok=2)
LATENT = dict(num_key_value_heads=4, kv_lora_rank=20, q_lora_rank=28, qk_nope_head_dim=12,
              qk_rope_head_dim=8, v_head_dim=10)
YARN = dict(rope_type="yarn", rope_theta=1000.0, factor=4.0, original_max_position_embeddings=32)
BF16 = dict(dtype=torch.bfloat16)
KEPT = dict(dtype=torch.bfloat16, keep=True)

DEEPSEEK = dict(EXPERTS, **LATENT, n_routed_experts=8, first_k_dense_replace=1)
KIMI = dict(EXPERTS, **dict(LATENT, q_lora_rank=None), num_local_experts=8, linear_num_heads=3,
            linear_head_dim=12, num_hidden_layers=5)
INKLING = dict(EXPERTS, n_routed_experts=6, head_dim=10, swa_num_attention_heads=3,
               swa_num_key_value_heads=1, swa_head_dim=12, sliding_window_size=16, d_rel=6,
               rel_extent=24, log_scaling_n_floor=20, num_hidden_layers=4, route_scale=3.0,
               layer_types=["hybrid_sliding", "hybrid"] * 2, n_layers_per_attn_res_block=2,
               unpadded_vocab_size=131)
BEAM = dict(EXPERTS, head_dim=12, num_experts=8, sliding_window=16, num_hidden_layers=7,
            mlp_layer_types=["dense"] + ["sparse"] * 6, n_group=4, topk_group=2)
HYPER = dict(EXPERTS, **LATENT, n_routed_experts=8, index_topk=256, index_head_dim=16,
             index_n_heads=2, hc_mult=3, swiglu_limit=0.8)

NEXT = dict(EXPERTS, **dict(LATENT, qk_rope_head_dim=0), n_routed_experts=8, index_topk=128,
            index_head_dim=16, index_n_heads=2, index_kpool=4, swiglu_limit=0.8,
            linear_head_dim=12, linear_num_heads=3, hc_mult=3, hc_eps=1e-4,
            mlp_layer_types=["dense"] + ["sparse"] * 3, num_hidden_layers=4,
            layer_types=["linear_attention"] * 3 + ["indexed_attention"])
GATED = dict(EXPERTS, num_experts=6, shared_expert_intermediate_size=28, head_dim=12,
             linear_key_head_dim=8, linear_value_head_dim=10, linear_num_key_heads=2,
             linear_num_value_heads=4, hc_count=3, hc_lowrank=7, indexer_n_heads=2,
             indexer_kv_heads=1, indexer_head_dim=12, indexer_budget=128,
             indexer_compress_ratio=4, num_hidden_layers=4,
             layer_types=["linear_attention", "full_attention"] * 2,
             rope_parameters=dict(rope_type="default", rope_theta=1000.0,
                                  partial_rotary_factor=0.5, mrope_section=[1, 1, 1],
                                  mrope_interleaved=True))
MUSE = dict(EXPERTS, head_dim=12, num_local_experts=6, moe_hidden_size=20, sliding_window=16,
            num_hidden_layers=4, mlp_layer_types=["dense"] + ["sparse"] * 3, output_multiplier=0.4)
ZAYA = dict(head_dim=12, moe_intermediate_size=24, num_experts=5, router_hidden_size=20,
            sliding_window=16, num_hidden_layers=4, layer_types=["hybrid", "hybrid_sliding"] * 2)
SPARSE, HEAVY = "compressed_sparse_attention", "heavily_compressed_attention"
SEEK = dict(EXPERTS, num_key_value_heads=1, head_dim=16, q_lora_rank=20, n_routed_experts=6,
            hc_mult=3, sliding_window=16, o_groups=2, o_lora_rank=10, index_n_heads=2,
            index_head_dim=16, index_topk=32, partial_rotary_factor=0.5, num_hidden_layers=4,
            compress_rates={SPARSE: 4, HEAVY: 8}, mlp_layer_types=["hash_moe"] + ["moe"] * 3,
            layer_types=["sliding_attention", HEAVY, SPARSE, "sliding_attention"])
SIGHT = dict(patch_size=2, pos_emb_height=2, pos_emb_width=2, num_attention_heads=2,
             num_hidden_layers=1, hidden_size=8, intermediate_size=8)
SOUND = dict(patch_sizes=(2, 2), hidden_sizes=(4, 8), depths=(1, 1), num_hidden_layers=2,
             mlp_ratio=1.0)
VISION = dict(depth=1, hidden_size=8, num_heads=2, image_size=4, patch_size=2, intermediate_size=8,
              projection_intermediate_size=8, temporal_patch_size=1, spatial_merge_size=1)


# A random model of a model_type; some are the text part of a larger one.
def model_of(kind, fields):
    auto = AutoModelForCausalLM
    if kind == "glm5_next":
        auto = AutoModelForImageTextToText
        fields = dict(text_config=fields, vision_config=dict(VISION,
                                                             out_hidden_size=fields["hidden_size"]))
    if kind == "muse_spark":
        auto = AutoModelForImageTextToText
        fields = dict(text_config=fields, vision_config=SIGHT, out_hidden_size=8,
                      audio_config=dict(SOUND, out_hidden_size=fields["hidden_size"]),
                      projector_hidden_size=8, image_token_id=1000, video_token_id=1001,
                      audio_token_id=1002)
    return auto.from_config(AutoConfig.for_model(kind, **fields), attn_implementation="eager")


# What a folder has, in float32.
def load(kind, folder):
    wide = kind in ("glm5_next", "muse_spark")
    auto = AutoModelForImageTextToText if wide else AutoModelForCausalLM
    return auto.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()


# name, model_type, what differs from BASE, how it is saved
CASES = [
    ("qwen3_moe-plain", "qwen3_moe", dict(EXPERTS, num_experts=8, head_dim=16), {}),
    ("qwen3_moe-mixed", "qwen3_moe",
     dict(EXPERTS, num_experts=7, head_dim=8, num_hidden_layers=6, decoder_sparse_step=2,
          mlp_only_layers=[3], norm_topk_prob=True, tie_word_embeddings=True), KEPT),
    ("qwen3_moe-biases-window", "qwen3_moe",
     dict(EXPERTS, num_experts=5, num_experts_per_tok=5, head_dim=12, num_key_value_heads=1,
          attention_bias=True, use_sliding_window=True, sliding_window=11), dict(shard="60KB")),
    ("qwen3_moe-yarn", "qwen3_moe", dict(EXPERTS, num_experts=4, num_experts_per_tok=1,
                                         rope_parameters=YARN), BF16),
    ("mixtral-plain", "mixtral", dict(num_local_experts=8), {}),
    ("mixtral-window", "mixtral", dict(num_local_experts=5, num_experts_per_tok=3,
                                       sliding_window=17, num_key_value_heads=4, head_dim=20),
     dict(shard="50KB", **BF16)),
    ("mixtral-tied", "mixtral", dict(num_local_experts=3, num_experts_per_tok=1,
                                     tie_word_embeddings=True), KEPT),
    ("deepseek_v3-plain", "deepseek_v3", dict(DEEPSEEK, n_group=4, topk_group=2), {}),
    ("deepseek_v3-no-q-latent", "deepseek_v3",
     dict(DEEPSEEK, q_lora_rank=None, n_group=1, topk_group=1, first_k_dense_replace=0,
          attention_bias=True, rope_interleave=False, norm_topk_prob=False, n_shared_experts=2),
     {}),
    ("deepseek_v3-yarn", "deepseek_v3",
     dict(DEEPSEEK, n_group=2, topk_group=1, num_experts_per_tok=3, attention_bias=True,
          rope_parameters=dict(YARN, mscale=0.7, mscale_all_dim=1.0)), dict(shard="80KB", **BF16)),
    ("deepseek_v3-yarn-plain", "deepseek_v3",
     dict(DEEPSEEK, n_group=8 // 2, topk_group=4, routed_scaling_factor=1.0,
          rope_parameters=YARN, tie_word_embeddings=True), KEPT),
    ("deepseek_v3-dense", "deepseek_v3", dict(DEEPSEEK, n_group=2, topk_group=2,
                                              first_k_dense_replace=3), {}),
    ("kimi_linear-plain", "kimi_linear", KIMI, {}),
    ("kimi_linear-groups", "kimi_linear",
     dict(KIMI, n_group=2, topk_group=1, n_shared_experts=2, linear_conv_kernel_dim=3,
          rms_norm_eps=1e-3, layer_types=["linear_attention"] * 3 + ["full_attention"] * 2), BF16),
    ("kimi_linear-latent-queries", "kimi_linear",
     dict(KIMI, q_lora_rank=16, attention_bias=True, norm_topk_prob=False, num_hidden_layers=3,
          layer_types=["full_attention", "linear_attention", "full_attention"],
          mlp_layer_types=["sparse", "dense", "sparse"]), dict(shard="70KB")),
    ("inkling2-plain", "inkling2_text", INKLING, {}),
    ("inkling2-padded", "inkling2_text",
     dict(INKLING, unpadded_vocab_size=117, rms_norm_eps=1e-4, qk_l2_clip_threshold=3.0,
          rel_l2_clip_threshold=2.0, mlp_gate_softcap=1.0, mlp_up_softcap=2.0,
          num_key_value_heads=4, swa_num_attention_heads=4, swa_num_key_value_heads=2), BF16),
    ("inkling2-defaults", "inkling2_text",
     dict(INKLING, layer_types=None, num_hidden_layers=7, n_layers_per_attn_res_block=3,
          conv_kernel_size=3, final_logit_softcapping=4.0), KEPT),
    ("beam-plain", "beam", BEAM, {}),
    ("beam-biases", "beam", dict(BEAM, attention_bias=True, num_key_value_heads=4, n_group=1,
                                 topk_group=1, norm_topk_prob=False, tie_word_embeddings=True,
                                 final_logit_softcapping=None), BF16),
    ("beam-ropes", "beam",
     dict(BEAM, num_hidden_layers=3, mlp_layer_types=["sparse"] * 3,
          layer_types=["full_attention", "sliding_attention", "full_attention"],
          rope_parameters=dict(full_attention=YARN,
                               sliding_attention=dict(rope_type="default", rope_theta=300.0))),
     KEPT),
    ("hy_v4-plain", "hy_v4", HYPER, {}),
    ("hy_v4-groups", "hy_v4", dict(HYPER, n_group=4, topk_group=2, n_shared_experts=2,
                                   hc_magnitude=1.7, hc_eps=1e-3, attention_bias=True,
                                   mlp_layer_types=["sparse", "dense", "sparse"],
                                   rope_parameters=YARN), dict(shard="90KB", **BF16)),
    ("glm5_next-plain", "glm5_next", NEXT, {}),
    ("glm5_next-groups", "glm5_next",
     dict(NEXT, n_group=2, topk_group=1, n_shared_experts=2, rms_norm_eps=1e-3,
          linear_lower_bound=-2.0, hc_sinkhorn_iters=1, attention_bias=True,
          layer_types=["indexed_attention", "linear_attention"] * 2), dict(shard="90KB", **BF16)),
    ("qwen4_exp-plain", "qwen4_exp_text", GATED, {}),
    ("qwen4_exp-sigmoid", "qwen4_exp_text",
     dict(GATED, output_gate_type="sigmoid", norm_topk_prob=False, hc_count=2, rms_norm_eps=1e-3,
          linear_conv_kernel_dim=3, linear_num_value_heads=2, num_key_value_heads=4,
          layer_types=["full_attention", "linear_attention"] * 2, tie_word_embeddings=True),
     dict(shard="90KB", **BF16)),
    ("zaya-plain", "zaya", ZAYA, {}),
    ("zaya-biases", "zaya",
     dict(ZAYA, attention_bias=True, num_key_value_heads=1, cca_time0=3, cca_time1=4,
          tie_word_embeddings=False, rms_norm_eps=1e-3), dict(shard="90KB", **BF16)),
    ("zaya-ropes", "zaya",
     dict(ZAYA, num_key_value_heads=4, head_dim=8, cca_time0=1, cca_time1=1, num_experts=2,
          layer_types=["hybrid_sliding", "hybrid"] * 2, rope_parameters=dict(
              hybrid=YARN, hybrid_sliding=dict(rope_type="default", rope_theta=300.0,
                                               partial_rotary_factor=0.25))), KEPT),
    ("deepseek_v4-plain", "deepseek_v4", SEEK, {}),
    ("deepseek_v4-sliding", "deepseek_v4",
     dict(SEEK, layer_types=["sliding_attention"] * 4, partial_rotary_factor=1.0, o_groups=4,
          scoring_func="sigmoid", routed_scaling_factor=1.0, mlp_layer_types=["moe"] * 4),
     dict(shard="90KB", **BF16)),
    ("deepseek_v4-yarn", "deepseek_v4",
     dict(SEEK, layer_types=[SPARSE, HEAVY] * 2, compress_rates={SPARSE: 3, HEAVY: 20},
          index_topk=40, swiglu_limit=0.7, num_attention_heads=2, o_groups=1, hc_sinkhorn_iters=2,
          hc_eps=1e-3, scoring_func="sigmoid", num_experts_per_tok=3,
          rope_parameters=dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32)),
     KEPT),
    ("muse_spark-plain", "muse_spark", MUSE, {}),
    ("muse_spark-biases", "muse_spark",
     dict(MUSE, attention_bias=True, num_key_value_heads=1, routed_scaling_factor=1.7,
          residual_gate_temperature=0.9, post_norm_eps=1e-3, qk_scale_factor=2.0,
          final_logit_softcapping=6.0, layer_rope_theta=[0, 1e4, 0, 1e4],
          layer_types=["full_attention", "sliding_attention"] * 2,
          mlp_layer_types=["sparse"] * 4), dict(shard="90KB", **BF16)),
    ("muse_spark-yarn", "muse_spark",
     dict(MUSE, rope_parameters=YARN, mlp_layer_types=["dense"] * 4, num_key_value_heads=4), KEPT),
]

SMALL = dict(moe_intermediate_size=8, num_experts_per_tok=2)
NARROW = dict(num_key_value_heads=4, kv_lora_rank=8, q_lora_rank=8, qk_nope_head_dim=4,
              qk_rope_head_dim=4, v_head_dim=6)
SHORT = dict(YARN, original_max_position_embeddings=16)

# A tiny one of each, as fixtures.py takes them: model_type, what differs, shards.
FIXTURES = {
    "qwen3_moe": ("qwen3_moe", dict(SMALL, num_experts=4, head_dim=6, mlp_only_layers=[0],
                                    attention_bias=True), None),
    "mixtral": ("mixtral", dict(num_local_experts=3, intermediate_size=8, sliding_window=5, head_dim=4,
                                rope_parameters=SHORT), "9KB"),
    "deepseek_v3": ("deepseek_v3",
                    dict(SMALL, **NARROW, n_routed_experts=6, n_group=3, topk_group=2,
                         first_k_dense_replace=1, attention_bias=True,
                         rope_parameters=dict(SHORT, mscale=0.7, mscale_all_dim=1.0)), None),
    "kimi_linear": ("kimi_linear",
                    dict(SMALL, **dict(NARROW, q_lora_rank=None), num_local_experts=4,
                         num_hidden_layers=3, linear_num_heads=2, linear_head_dim=6,
                         layer_types=["linear_attention", "linear_attention", "full_attention"],
                         rms_norm_eps=1e-3), None),
    "inkling2_text": ("inkling2_text",
                      dict(SMALL, n_routed_experts=4, head_dim=6, swa_num_attention_heads=2,
                           swa_num_key_value_heads=1, swa_head_dim=6, sliding_window_size=5,
                           d_rel=3, rel_extent=7, log_scaling_n_floor=4, num_hidden_layers=3,
                           unpadded_vocab_size=29, vocab_size=32, conv_kernel_size=3,
                           n_layers_per_attn_res_block=2, qk_l2_clip_threshold=2.0,
                           rel_l2_clip_threshold=1.0, mlp_gate_softcap=1.0, mlp_up_softcap=2.0,
                           layer_types=["hybrid_sliding", "hybrid", "hybrid_sliding"]), None),
    "beam": ("beam", dict(SMALL, head_dim=6, num_experts=4, n_group=2, topk_group=1,
                          sliding_window=5, mlp_layer_types=["dense", "sparse"]), None),
    "hy_v4": ("hy_v4", dict(SMALL, **NARROW, n_routed_experts=4, index_topk=64, index_head_dim=6,
                            index_n_heads=1, hc_mult=2, hc_magnitude=1.7, hc_eps=1e-3,
                            swiglu_limit=0.3), None),
    "glm5_next": ("glm5_next",
                  dict(SMALL, **dict(NARROW, qk_rope_head_dim=0), n_routed_experts=4,
                       index_topk=64, index_head_dim=4, index_n_heads=1, index_kpool=4,
                       swiglu_limit=0.3, linear_head_dim=6, linear_num_heads=2, hc_mult=2,
                       hc_eps=1e-3, hc_sinkhorn_iters=3, mlp_layer_types=["dense", "sparse"],
                       layer_types=["linear_attention", "indexed_attention"]), None),
    "deepseek_v4": ("deepseek_v4",
                    dict(SEEK, moe_intermediate_size=8, head_dim=8, q_lora_rank=6, n_routed_experts=4,
                         hc_mult=2, sliding_window=4, o_lora_rank=5, index_head_dim=8,
                         num_hidden_layers=3, layer_types=["sliding_attention", HEAVY, SPARSE],
                         compress_rates={SPARSE: 2, HEAVY: 3}, mlp_layer_types=["hash_moe"] + ["moe"] * 2,
                         rope_parameters=dict(rope_type="yarn", factor=4.0,
                                              original_max_position_embeddings=16)), None),
    "muse_spark": ("muse_spark",
                   dict(MUSE, moe_intermediate_size=8, num_local_experts=4, moe_hidden_size=8,
                        head_dim=6, sliding_window=5, num_hidden_layers=3, post_norm_eps=1e-4,
                        mlp_layer_types=["dense", "sparse", "sparse"]), None),
    "zaya": ("zaya", dict(ZAYA, head_dim=8, moe_intermediate_size=8, num_experts=3,
                          router_hidden_size=5, sliding_window=5, num_hidden_layers=2, cca_time1=3,
                          attention_bias=True, layer_types=["hybrid", "hybrid_sliding"]), None),
    "qwen4_exp_text": ("qwen4_exp_text",
                       dict(GATED, moe_intermediate_size=8, shared_expert_intermediate_size=6,
                            num_experts=4, head_dim=6, linear_key_head_dim=4,
                            linear_value_head_dim=3, hc_count=2, hc_lowrank=3,
                            indexer_head_dim=4, num_hidden_layers=2, indexer_budget=64,
                            layer_types=["linear_attention", "full_attention"],
                            rope_parameters=dict(rope_type="default", rope_theta=1000.0,
                                                 partial_rotary_factor=0.7,
                                                 mrope_section=[1, 1, 0])), None),
}
