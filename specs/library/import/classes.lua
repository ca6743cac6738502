-- SPDX-License-Identifier: MIT
-- Made by tests/interop/classes.py of transformers 5.24: what its configuration
-- classes give fields that config.json leaves out.  null: the fields that may be null;
-- theta: the base of rope's frequencies; alias: second names of fields.  See class.lua.
return {
  beam = { theta = 10000.0, fields = {
    attention_bias = false, final_logit_softcapping = 30.0, head_dim = 128, hidden_act = "silu",
    hidden_size = 5120, intermediate_size = 20480, max_position_embeddings = 8192,
    moe_intermediate_size = 2560, n_group = 8, norm_topk_prob = true, num_attention_heads = 48,
    num_experts = 256, num_experts_per_tok = 8, num_hidden_layers = 52, num_key_value_heads = 8,
    rms_norm_eps = 1e-06, routed_scaling_factor = 2.5, sliding_window = 512,
    tie_word_embeddings = false, topk_group = 4, vocab_size = 151936,
  }, null = {
    final_logit_softcapping = true, layer_types = true, mlp_layer_types = true, n_group = true,
    rope_parameters = true, sliding_window = true, topk_group = true,
  }, alias = {
  } },
  deepseek_v3 = { theta = 10000.0, fields = {
    attention_bias = false, first_k_dense_replace = 3, hidden_act = "silu", hidden_size = 7168,
    intermediate_size = 18432, kv_lora_rank = 512, max_position_embeddings = 4096,
    moe_intermediate_size = 2048, n_group = 8, n_routed_experts = 256, n_shared_experts = 1,
    norm_topk_prob = true, num_attention_heads = 128, num_experts_per_tok = 8,
    num_hidden_layers = 61, num_key_value_heads = 128, num_nextn_predict_layers = 1,
    q_lora_rank = 1536, qk_nope_head_dim = 128, qk_rope_head_dim = 64, rms_norm_eps = 1e-06,
    rope_interleave = true, routed_scaling_factor = 2.5, tie_word_embeddings = false,
    topk_group = 4, v_head_dim = 128, vocab_size = 129280,
  }, null = {
    first_k_dense_replace = true, n_group = true, norm_topk_prob = true,
    num_experts_per_tok = true, num_key_value_heads = true, q_lora_rank = true,
    rope_interleave = true, rope_parameters = true, topk_group = true, v_head_dim = true,
  }, alias = {
    num_local_experts = "n_routed_experts", num_mtp_layers = "num_nextn_predict_layers",
  } },
  deepseek_v4 = { theta = 10000.0, fields = {
    attention_bias = false, compress_rope_theta = 160000.0, hc_eps = 1e-06, hc_mult = 4,
    hc_sinkhorn_iters = 20, head_dim = 512, hidden_act = "silu", hidden_size = 4096,
    index_head_dim = 128, index_n_heads = 64, index_topk = 512,
    max_position_embeddings = 1048576, mlp_bias = false, moe_intermediate_size = 2048,
    n_routed_experts = 256, n_shared_experts = 1, norm_topk_prob = true,
    num_attention_heads = 64, num_experts_per_tok = 6, num_hidden_layers = 43,
    num_key_value_heads = 1, num_nextn_predict_layers = 1, o_groups = 8, o_lora_rank = 1024,
    q_lora_rank = 1024, rms_norm_eps = 1e-06, rope_theta = 10000.0, routed_scaling_factor = 1.5,
    scoring_func = "sqrtsoftplus", sliding_window = 128, swiglu_limit = 10.0,
    tie_word_embeddings = false, vocab_size = 129280,
  }, null = {
    compress_rates = true, layer_types = true, mlp_layer_types = true,
    partial_rotary_factor = true, rope_parameters = true,
  }, alias = {
    intermediate_size = "moe_intermediate_size", num_local_experts = "n_routed_experts",
  } },
  gemma3_text = { theta = { ["global"] = 1000000.0, ["local"] = 10000.0 }, fields = {
    attention_bias = false, head_dim = 256, hidden_activation = "gelu_pytorch_tanh",
    hidden_size = 2304, intermediate_size = 9216, max_position_embeddings = 131072,
    num_attention_heads = 8, num_hidden_layers = 26, num_key_value_heads = 4,
    query_pre_attn_scalar = 256, rms_norm_eps = 1e-06, sliding_window = 4096,
    tie_word_embeddings = true, use_bidirectional_attention = false, vocab_size = 262208,
  }, null = {
    attn_logit_softcapping = true, final_logit_softcapping = true, layer_types = true,
    rope_parameters = true, sliding_window = true, use_bidirectional_attention = true,
  }, alias = {
  } },
  glm5_next = { theta = 10000.0, fields = {
    attention_bias = false, hc_eps = 1e-06, hc_mult = 4, hc_sinkhorn_iters = 20, head_dim = 0,
    hidden_act = "silu", hidden_size = 4096, index_head_dim = 128, index_kpool = 16,
    index_kpool_always_select_tail = true, index_n_heads = 32, index_topk = 2048,
    intermediate_size = 12288, kv_lora_rank = 512, linear_conv_kernel_dim = 4,
    linear_head_dim = 128, linear_lower_bound = -5.0, linear_num_heads = 64,
    max_position_embeddings = 1048576, moe_intermediate_size = 2048, n_group = 1,
    n_routed_experts = 288, n_shared_experts = 1, norm_topk_prob = true,
    num_attention_heads = 64, num_experts_per_tok = 8, num_hidden_layers = 45,
    num_key_value_heads = 64, q_lora_rank = 1536, qk_nope_head_dim = 256, qk_rope_head_dim = 0,
    rms_norm_eps = 1e-05, routed_scaling_factor = 2.5, swiglu_limit = 10.0,
    tie_word_embeddings = false, topk_group = 1, v_head_dim = 256, vocab_size = 154880,
  }, null = {
    indexer_types = true, layer_types = true, linear_lower_bound = true, mlp_layer_types = true,
  }, alias = {
    num_local_experts = "n_routed_experts",
  } },
  gpt2 = { theta = 10000.0, fields = {
    activation_function = "gelu_new", add_cross_attention = false, layer_norm_epsilon = 1e-05,
    n_embd = 768, n_head = 12, n_layer = 12, n_positions = 1024, reorder_and_upcast_attn = false,
    scale_attn_by_inverse_layer_idx = false, scale_attn_weights = true,
    summary_first_dropout = 0.1, summary_proj_to_labels = true, summary_type = "cls_index",
    summary_use_proj = true, tie_word_embeddings = true, vocab_size = 50257,
  }, null = {
    n_inner = true, summary_activation = true,
  }, alias = {
    hidden_size = "n_embd", max_position_embeddings = "n_positions",
    num_attention_heads = "n_head", num_hidden_layers = "n_layer",
  } },
  granite = { theta = 10000.0, fields = {
    attention_bias = false, attention_multiplier = 1.0, embedding_multiplier = 1.0,
    hidden_act = "silu", hidden_size = 4096, intermediate_size = 11008, logits_scaling = 1.0,
    max_position_embeddings = 2048, mlp_bias = false, num_attention_heads = 32,
    num_hidden_layers = 32, residual_multiplier = 1.0, rms_norm_eps = 1e-06,
    tie_word_embeddings = false, vocab_size = 32000,
  }, null = {
    num_key_value_heads = true, rope_parameters = true,
  }, alias = {
  } },
  hy_v4 = { theta = 10000.0, fields = {
    attention_bias = false, hc_eps = 1e-06, hc_magnitude = 2.0, hc_mult = 4, head_dim = 256,
    hidden_act = "silu", hidden_size = 2816, index_head_dim = 128, index_n_heads = 16,
    index_topk = 2048, intermediate_size = 6912, kv_lora_rank = 512, learnable_sink_init = 0.0,
    max_position_embeddings = 262144, moe_intermediate_size = 768, n_group = 1,
    n_routed_experts = 256, n_shared_experts = 1, norm_topk_prob = true,
    num_attention_heads = 32, num_experts_per_tok = 8, num_hidden_layers = 34,
    num_key_value_heads = 32, q_lora_rank = 1536, qk_nope_head_dim = 192, qk_rope_head_dim = 64,
    rms_norm_eps = 1e-05, routed_scaling_factor = 2.827, swiglu_limit = 10.0,
    tie_word_embeddings = false, topk_group = 1, v_head_dim = 256, vocab_size = 120832,
  }, null = {
    indexer_types = true, layer_types = true, mlp_layer_types = true, rope_parameters = true,
  }, alias = {
    num_local_experts = "n_routed_experts",
  } },
  inkling2_text = { theta = 10000.0, fields = {
    conv_kernel_size = 4, d_rel = 16, final_logit_softcapping = 30.0, head_dim = 128,
    hidden_act = "silu", hidden_size = 4608, log_scaling_alpha = 0.1,
    log_scaling_n_floor = 128000, max_position_embeddings = 1048576, mlp_gate_softcap = 4.0,
    mlp_up_softcap = 25.0, moe_intermediate_size = 2304, n_layers_per_attn_res_block = 6,
    n_routed_experts = 384, num_attention_heads = 48, num_experts_per_tok = 8,
    num_hidden_layers = 48, num_key_value_heads = 8, qk_l2_clip_threshold = 22.627416997969522,
    rel_extent = 1024, rel_l2_clip_threshold = 8.0, rms_norm_eps = 1e-06, route_scale = 8.0,
    scoring_func = "sigmoid", sliding_window_size = 1024, swa_head_dim = 128,
    swa_num_attention_heads = 48, swa_num_key_value_heads = 8, unpadded_vocab_size = 200058,
    vocab_size = 201024,
  }, null = {
    layer_types = true,
  }, alias = {
    intermediate_size = "moe_intermediate_size", model_max_length = "max_position_embeddings",
    num_local_experts = "n_routed_experts", routed_scaling_factor = "route_scale",
    sconv_kernel_size = "conv_kernel_size", sliding_window = "sliding_window_size",
  } },
  kimi_linear = { theta = 10000.0, fields = {
    attention_bias = false, hidden_act = "silu", hidden_size = 2304, intermediate_size = 9216,
    kv_lora_rank = 512, linear_conv_kernel_dim = 4, linear_head_dim = 128, linear_num_heads = 32,
    model_max_length = 1048576, moe_intermediate_size = 1024, moe_renormalize = true,
    num_attention_heads = 32, num_expert_group = 1, num_experts = 256, num_experts_per_token = 8,
    num_hidden_layers = 27, num_key_value_heads = 32, num_shared_experts = 1,
    qk_nope_head_dim = 128, qk_rope_head_dim = 64, rms_norm_eps = 1e-05,
    routed_scaling_factor = 2.446, tie_word_embeddings = false, topk_group = 1, v_head_dim = 128,
    vocab_size = 163840,
  }, null = {
    layer_types = true, mlp_layer_types = true, num_experts_per_token = true,
    num_key_value_heads = true, q_lora_rank = true, topk_group = true, v_head_dim = true,
  }, alias = {
    max_position_embeddings = "model_max_length", n_group = "num_expert_group",
    n_shared_experts = "num_shared_experts", norm_topk_prob = "moe_renormalize",
    num_experts_per_tok = "num_experts_per_token", num_local_experts = "num_experts",
  } },
  llama = { theta = 10000.0, fields = {
    attention_bias = false, hidden_act = "silu", hidden_size = 4096, intermediate_size = 11008,
    max_position_embeddings = 2048, mlp_bias = false, num_attention_heads = 32,
    num_hidden_layers = 32, rms_norm_eps = 1e-06, tie_word_embeddings = false,
    vocab_size = 32000,
  }, null = {
    head_dim = true, num_key_value_heads = true, rope_parameters = true,
  }, alias = {
  } },
  mistral = { theta = 10000.0, fields = {
    hidden_act = "silu", hidden_size = 4096, intermediate_size = 14336,
    max_position_embeddings = 131072, num_attention_heads = 32, num_hidden_layers = 32,
    num_key_value_heads = 8, rms_norm_eps = 1e-06, sliding_window = 4096,
    tie_word_embeddings = false, vocab_size = 32000,
  }, null = {
    head_dim = true, rope_parameters = true, sliding_window = true,
  }, alias = {
  } },
  mixtral = { theta = 1000000.0, fields = {
    hidden_act = "silu", hidden_size = 4096, intermediate_size = 14336,
    max_position_embeddings = 131072, num_attention_heads = 32, num_experts_per_tok = 2,
    num_hidden_layers = 32, num_key_value_heads = 8, num_local_experts = 8, rms_norm_eps = 1e-05,
    tie_word_embeddings = false, vocab_size = 32000,
  }, null = {
    head_dim = true, rope_parameters = true, sliding_window = true,
  }, alias = {
    num_experts = "num_local_experts",
  } },
  muse_spark = { theta = 10000.0, fields = {
    attention_bias = false, final_logit_softcapping = 20.0, head_dim = 64, hidden_act = "silu",
    hidden_size = 8192, intermediate_size = 16384, max_position_embeddings = 1048576,
    moe_hidden_size = 4096, moe_intermediate_size = 4096, num_attention_heads = 128,
    num_experts_per_tok = 8, num_hidden_layers = 62, num_key_value_heads = 16,
    num_local_experts = 256, output_multiplier = 0.1767766952966369, post_norm_eps = 1e-08,
    qk_scale_factor = 5.4730064863875, residual_gate_temperature = 0.3, rms_norm_eps = 1e-05,
    routed_scaling_factor = 1.0, sliding_window = 2048, tie_word_embeddings = false,
    vocab_size = 202048,
  }, null = {
    layer_rope_theta = true, layer_types = true, mlp_layer_types = true, rope_parameters = true,
    sliding_window = true,
  }, alias = {
  } },
  nanochat = { theta = 10000.0, fields = {
    attention_bias = false, final_logit_softcapping = 15.0, hidden_act = "relu2",
    hidden_size = 768, intermediate_size = 8192, max_position_embeddings = 2048,
    num_attention_heads = 6, num_hidden_layers = 12, rms_norm_eps = 1e-06,
    tie_word_embeddings = false, vocab_size = 50304,
  }, null = {
    final_logit_softcapping = true, num_key_value_heads = true, rope_parameters = true,
  }, alias = {
  } },
  olmo2 = { theta = 10000.0, fields = {
    attention_bias = false, hidden_act = "silu", hidden_size = 4096, intermediate_size = 11008,
    max_position_embeddings = 2048, num_attention_heads = 32, num_hidden_layers = 32,
    rms_norm_eps = 1e-05, tie_word_embeddings = false, vocab_size = 50304,
  }, null = {
    num_key_value_heads = true, rope_parameters = true,
  }, alias = {
  } },
  qwen2 = { theta = 10000.0, fields = {
    hidden_act = "silu", hidden_size = 4096, intermediate_size = 22016,
    max_position_embeddings = 32768, max_window_layers = 28, num_attention_heads = 32,
    num_hidden_layers = 32, num_key_value_heads = 32, rms_norm_eps = 1e-06,
    sliding_window = 4096, tie_word_embeddings = false, use_sliding_window = false,
    vocab_size = 151936,
  }, null = {
    layer_types = true, num_key_value_heads = true, rope_parameters = true,
    sliding_window = true,
  }, alias = {
  } },
  qwen3 = { theta = 10000.0, fields = {
    attention_bias = false, head_dim = 128, hidden_act = "silu", hidden_size = 4096,
    intermediate_size = 22016, max_position_embeddings = 32768, max_window_layers = 28,
    num_attention_heads = 32, num_hidden_layers = 32, num_key_value_heads = 32,
    rms_norm_eps = 1e-06, sliding_window = 4096, tie_word_embeddings = false,
    use_sliding_window = false, vocab_size = 151936,
  }, null = {
    layer_types = true, num_key_value_heads = true, rope_parameters = true,
    sliding_window = true,
  }, alias = {
  } },
  qwen3_moe = { theta = 10000.0, fields = {
    attention_bias = false, decoder_sparse_step = 1, hidden_act = "silu", hidden_size = 2048,
    intermediate_size = 6144, max_position_embeddings = 32768, moe_intermediate_size = 768,
    norm_topk_prob = false, num_attention_heads = 32, num_experts_per_tok = 8,
    num_hidden_layers = 24, num_key_value_heads = 4, num_local_experts = 128,
    rms_norm_eps = 1e-06, sliding_window = 4096, tie_word_embeddings = false,
    use_sliding_window = false, vocab_size = 151936,
  }, null = {
    mlp_only_layers = true, rope_parameters = true, sliding_window = true,
  }, alias = {
    num_experts = "num_local_experts",
  } },
  qwen4_exp_text = { theta = 10000.0, fields = {
    attention_bias = false, hc_count = 4, hc_lowrank = 320, head_dim = 256, heads_per_ngram = 8,
    hidden_act = "silu", hidden_size = 2048, linear_conv_kernel_dim = 4,
    linear_key_head_dim = 128, linear_num_key_heads = 16, linear_num_value_heads = 32,
    linear_value_head_dim = 128, make_ngram_vocab_size_divisible_by = 128,
    max_position_embeddings = 32768, moe_intermediate_size = 512, ngram_size = 3,
    ngram_vocab_size_base = 20000000, norm_topk_prob = true, num_attention_heads = 16,
    num_experts = 512, num_experts_per_tok = 10, num_hidden_layers = 40, num_key_value_heads = 2,
    ple_conv_kernel_size = 4, rms_norm_eps = 1e-06, seed = 1234,
    shared_expert_intermediate_size = 512, split_ngram_parts = 512, tie_word_embeddings = false,
    vocab_size = 248320,
  }, null = {
    indexer_budget = true, indexer_compress_ratio = true, indexer_head_dim = true,
    indexer_kv_heads = true, indexer_n_heads = true, layer_types = true, output_gate_type = true,
    ple_embed_dim = true, ple_layer_ids = true, rope_parameters = true,
  }, alias = {
  } },
  smollm3 = { theta = 2000000.0, fields = {
    attention_bias = false, hidden_act = "silu", hidden_size = 2048, intermediate_size = 11008,
    max_position_embeddings = 32768, mlp_bias = false, no_rope_layer_interval = 4,
    num_attention_heads = 16, num_hidden_layers = 36, num_key_value_heads = 4,
    rms_norm_eps = 1e-06, tie_word_embeddings = true, use_sliding_window = false,
    vocab_size = 128256,
  }, null = {
    layer_types = true, no_rope_layers = true, num_key_value_heads = true,
    rope_parameters = true, sliding_window = true,
  }, alias = {
  } },
  zaya = { theta = 10000.0, fields = {
    attention_bias = false, cca_time0 = 2, cca_time1 = 2, head_dim = 128, hidden_act = "silu",
    hidden_size = 2048, lm_head_bias = false, max_position_embeddings = 131072,
    moe_intermediate_size = 2048, num_attention_heads = 8, num_experts = 16,
    num_experts_per_tok = 1, num_hidden_layers = 40, num_key_value_heads = 2,
    rms_norm_eps = 1e-05, router_hidden_size = 256, tie_word_embeddings = true,
    vocab_size = 262272,
  }, null = {
    layer_types = true, rope_parameters = true, sliding_window = true,
  }, alias = {
  } },
}
