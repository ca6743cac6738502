/* SPDX-License-Identifier: MIT
** The command info: describes the program from the model's descriptor alone.
*/
#include "chat_template.h"
#include "choices.h"
#include "commands.h"
#include "program_tokenizer.h"

#include <inttypes.h>
#include <string.h>

#include "settings.h"
#include "text_words.h"
#include "tuning.h"
#include "weights_small.h"

static const char *const schedule_name[] = {
#define KIND(name, text) [SCHEDULE_##name] = text,
#include "settings.def"
};

static void json_pair(Text *t, const char *key, const char *value) {
    text_add(t, "\"%s\": ", key);
    text_json_string(t, value);
    text_add(t, ", ");
}

static void json_number(Text *t, const char *key, double value) {
    text_add(t, "\"%s\": ", key);
    text_json_number(t, value);
    text_add(t, ", ");
}

/* What weights and caches are kept as. */
static void kept_json(Text *t, const strata_model *m) {
    if (weights_small_name(m)) json_pair(t, "weights", weights_small_name(m));
    json_pair(t, "cache", state_cache_name(m) ? state_cache_name(m) : "f32");
}

/* What begins and ends texts, of a tokenizer's file. */
static void texts_json(Text *t, const Tokenizer *own) {
    if (!own->kind) return;
    text_add(t, "\"texts\": {\"end\": ");
    text_words_token(t, own, own->end, true);
    text_words_json(t, own);
    text_add(t, "}, ");
}

static void texts_lines(Text *t, const Tokenizer *own) {
    const TextFacts *f = &own->facts;
    text_add(t, "texts        begin with %s", tokenizer_begins_texts(own) ? "" : "nothing");
    if (tokenizer_begins_texts(own)) text_words_token(t, own, f->begin, false);
    text_add(t, ", end at %s", f->ends ? "" : "nothing");
    for (int i = 0; i < f->ends; i++) {
        text_add(t, i ? ", " : "");
        text_words_token(t, own, f->end[i], false);
    }
    if (f->template) text_add(t, "; chat template %s", chat_template_name(f->template));
    if (f->sampled) text_add(t, "\nsampling     "), text_words_sampling(t, f);
    text_add(t, "\n");
}

static void tokenizer_json(Text *t, const Program *p, const Tokenizer *own) {
    json_pair(t, "tokenizer", model_text(p, p->m->tokenizer));
    if (program_tokenizer_hash()) json_pair(t, "tokenizer_sha256", program_tokenizer_hash());
    texts_json(t, own);
}

static int info_json(const Program *p, const Tokenizer *own, Error *e) {
    const strata_model *m = p->m;
    Text t = { 0 };
    char hash[17];
    print_text(hash, sizeof hash, "%016" PRIx64, m->spec_hash);
    text_add(&t, "{");
    json_pair(&t, "strata", STRATA_VERSION);
    json_pair(&t, "spec", model_text(p, m->name));
    json_pair(&t, "spec_file", model_text(p, m->spec_file));
    json_pair(&t, "spec_hash", hash);
    text_add(&t, "\"options\": %s, ", model_text(p, m->options));
    json_pair(&t, "compiler", model_text(p, m->compiler));
    json_pair(&t, "cpu", model_text(p, m->cpu));
    json_pair(&t, "features", model_text(p, m->features));
    json_pair(&t, "precision", model_text(p, m->precision));
    kept_json(&t, m);
    json_pair(&t, "residual", model_text(p, m->mixer));
    tokenizer_json(&t, p, own);
    json_pair(&t, "blas", program_blas(p));
    json_pair(&t, "products", model_text(p, m->blas));
    json_number(&t, "vocab", m->vocab);
    json_number(&t, "context", m->context);
    json_number(&t, "dim", m->dim);
    json_number(&t, "layers", m->layers);
    json_number(&t, "sublayers", m->sublayers);
    json_number(&t, "parameters", (double)m->parameters);
    json_number(&t, "parameters_trained", m->training ? (double)strata_trained(m) : 0);
    json_number(&t, "tensors", m->tensors);
    json_number(&t, "tensors_frozen", m->frozen);
    json_number(&t, "gradient_bytes", (double)m->gradients * sizeof(float));
    json_number(&t, "optimizer_bytes", m->training ? (double)strata_optimizer_bytes(m) : 0);
    json_number(&t, "kernels", m->kernels);
    json_number(&t, "flops_forward", m->flops_forward);
    json_number(&t, "flops_training", m->flops_training);
    json_number(&t, "activation_bytes_per_token", (double)m->arena_per_token);
    json_number(&t, "state_bytes_per_token", (double)m->state_per_token);
    text_add(&t, "\"training\": %s}\n", m->training ? "true" : "false");
    return console_text(&t, e);
}

static void optimizer_line(Text *t, const strata_model *m) {
    char a[32], b[32], c[32], d[32];
    if (m->muon_tensors)
        text_add(t, "training     muon, lr %s, momentum %s%s, %d steps, weight decay %s",
                 print_double(a, m->lr), print_double(b, m->momentum),
                 m->muon & STRATA_NESTEROV ? " (nesterov)" : "", m->newton_schulz,
                 print_double(c, m->weight_decay));
    else
        text_add(t, "training     adamw, lr %s, betas %s %s, weight decay %s",
                 print_double(a, m->lr), print_double(b, m->beta1), print_double(c, m->beta2),
                 print_double(d, m->weight_decay));
}

static void training_lines(Text *t, const strata_model *m) {
    char a[32], b[32];
    optimizer_line(t, m);
    text_add(t, ", clip %s; schedule %s; batch %d; seed %" PRIu64 "\n", print_double(a, m->clip),
             schedule_name[m->schedule], m->batch, m->seed);
    tuning_lines(t, m);
    if (!m->frozen) return;
    text_add(t, "trained      %" PRId64 " of the parameters, %d tensors are frozen",
             strata_trained(m), m->frozen);
    text_add(t, "; gradients %s, optimizer %s\n",
             human_bytes(a, (double)m->gradients * sizeof(float)),
             human_bytes(b, (double)strata_optimizer_bytes(m)));
}

static int info_text(const Program *p, const Tokenizer *own, Error *e) {
    const strata_model *m = p->m;
    Text t = { 0 };
    char a[32], b[32], c[32];
    const char *tokenizer = model_text(p, m->tokenizer);
    text_add(&t, "model        %s, from %s (%016" PRIx64 ")\n", model_text(p, m->name),
             model_text(p, m->spec_file), m->spec_hash);
    choices_line(p, &t);
    text_add(&t, "shape        %d layers, %d sublayers, width %d, residual %s\n", m->layers,
             m->sublayers, m->dim, model_text(p, m->mixer));
    text_add(&t, "text         vocabulary %d, context %d, tokenizer %s", m->vocab, m->context,
             *tokenizer ? tokenizer : "none");
    if (program_tokenizer_hash()) text_add(&t, " (%.12s)", program_tokenizer_hash());
    text_add(&t, "\n");
    if (own->kind) texts_lines(&t, own);
    text_add(&t, "parameters   %" PRId64 " in %d tensors\n", m->parameters, m->tensors);
    text_add(&t, "built        by strata %s for %s, %s", model_text(p, m->compiler),
             model_text(p, m->cpu), model_text(p, m->precision));
    if (weights_small_name(m)) text_add(&t, ", weights %s", weights_small_name(m));
    text_add(&t, "%s; products: %s\n", m->training ? "" : ", inference only", program_products(p));
    if (m->training) training_lines(&t, m);
    text_add(&t, "work         %s per token forward", human_flops(a, m->flops_forward));
    if (m->training) text_add(&t, ", %s training", human_flops(a, m->flops_training));
    text_add(&t, "; %d kernels\n", m->kernels);
    double packed = (double)strata_packed_bytes(m);
    text_add(&t, "memory       weights %s, gradients and optimizer %s, activations %s per token",
             human_bytes(a, (double)m->weights_bytes),
             human_bytes(b, (double)m->train_bytes - packed),
             human_bytes(c, (double)m->arena_per_token));
    if (packed > 0) text_add(&t, ", packed weights %s", human_bytes(a, packed));
    text_add(&t, "\n");
    if (m->state_per_token)
        text_add(&t, "state        %s per token, %s\n", human_bytes(a, (double)m->state_per_token),
                 state_cache_name(m) ? state_cache_name(m) : "f32");
    return console_lines(&t, e);
}

int command_info(const Program *p, Error *e) {
    Tokenizer own = { 0 };
    int status = program_tokenizer_open(p, NULL, &own, e);
    if (!status)
        status = option(p, OPTION_JSON)->given ? info_json(p, &own, e) : info_text(p, &own, e);
    tokenizer_free(&own);
    return status;
}
