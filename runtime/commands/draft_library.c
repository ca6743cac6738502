/* SPDX-License-Identifier: MIT
** See draft_library.h. */
#include "draft_library.h"

#include <dlfcn.h>
#include <string.h>

#include "files.h"
#include "tokenizer_identity.h"
#include "weights.h"

/* A name without a folder is one of a file, not of the system's libraries. */
static int draft_library_load(DraftLibrary *x, const char *path, Error *e) {
    char beside[4096];
    Input in;
    int status = input_open(&in, path, e); /* of a pipe dlopen waits for a writer */
    if (status) return status;
    input_close(&in);
    print_text(beside, sizeof beside, "%s%s", strchr(path, '/') ? "" : "./", path);
    x->handle = dlopen(beside, RTLD_NOW | RTLD_LOCAL);
    if (!x->handle)
        return error_set(e, STATUS_USER,
                         "--draft: expected a model that was built with --emit shared, found: %s",
                         dlerror());
    void *symbol = dlsym(x->handle, "strata_model_api");
    strata_model_api_fn fill;
    memcpy(&fill, &symbol, sizeof fill); /* ISO C knows no pointer to both */
    x->api.struct_size = sizeof x->api;
    if (!symbol || fill(&x->api))
        return error_set(e, STATUS_USER,
                         "--draft: %s: expected a model that this version of strata built with "
                         "--emit shared, found another library",
                         path);
    return STATUS_OK;
}

static int other_vocabulary(const char *file, const char *what, Error *e) {
    return error_set(e, STATUS_USER,
                     "--draft: %s: expected a model of the same vocabulary, found %s", file, what);
}

/* Kinds that weights hold: each id must stand for the same. */
static int library_same_text(const Program *p, const Safetensors *f, const Tokenizer *t, Error *e) {
    Tokenizer own = { 0 };
    int status = tokenizer_load(&own, t->kind, p->m->vocab, f, e);
    bool same = own.ids == t->ids;
    for (int32_t i = 0; !status && same && i < t->ids; i++) {
        Decoder a = { .begun = true }, b = { .begun = true };
        const char *x = NULL, *y = NULL;
        int n = t->kind->decode(t, i, &a, &x);
        same = n == own.kind->decode(&own, i, &b, &y) && (n <= 0 || !memcmp(x, y, (size_t)n));
        decoder_free(&a), decoder_free(&b);
    }
    if (!status && !same) status = other_vocabulary(f->path, "other characters", e);
    tokenizer_free(&own);
    return status;
}

static int read_weights(const Program *p, Session *session, const Tokenizer *t, Error *e) {
    Safetensors f = { 0 };
    int status = session_weights(session, e);
    if (!status) status = safetensors_open(&f, option(p, OPTION_DRAFT_WEIGHTS)->text, e);
    if (status) return status;
    status = safetensors_verify(&f, NULL, e);
    if (!status) status = weights_options(session->m, &f, option(p, OPTION_CHANGED)->text, e);
    if (!status) status = weights_read(session->m, &f, session_write_weights(session), e);
    if (!status) status = tokenizer_expect(&f, t, e);
    if (!status && t->kind && t->kind->tensor) status = library_same_text(p, &f, t, e);
    safetensors_close(&f);
    return status;
}

/* Of "bytes", "chars" and files, is the draft's tokenizer another one than ours?  Of two files
** their sums tell, which weights have. */
static bool is_other_kind(const char *draft, const Tokenizer *own) {
    const TokenizerKind *kind;
    bool built_in = !tokenizer_kind(draft, &kind, NULL), file = own->sha256[0];
    if (!*draft || !own->kind) return false;
    return built_in ? file || own->kind != kind : !file;
}

static int library_check_model(const Program *p, const strata_model *m, const Tokenizer *t,
                               const char *path, Error *e) {
    char what[160];
    const char *own = strata_string(m, m->tokenizer), *site = strata_string(m, m->acausal),
               *ahead = strata_string(m, m->ahead);
    print_text(what, sizeof what, "%d ids of '%s', not %d of '%s'", m->vocab, own, p->m->vocab,
               model_text(p, p->m->tokenizer));
    if (m->vocab != p->m->vocab || is_other_kind(own, t)) return other_vocabulary(path, what, e);
    if (site[0] || ahead[0])
        return error_set(e, STATUS_USER,
                         "--draft: %s: expected a model that can go token by token, found that %s "
                         "sees later tokens",
                         path, site[0] ? site : ahead);
    return STATUS_OK;
}

int draft_library_open(DraftLibrary *x, const Program *p, const Session *s, const Tokenizer *t,
                       Error *e) {
    const char *path = option(p, OPTION_DRAFT)->text;
    int status = options_require(&p->options, OPTION_DRAFT_WEIGHTS, e);
    if (!status) status = draft_library_load(x, path, e);
    if (!status) status = session_beside(&x->session, &x->api, s, e);
    if (!status) status = library_check_model(p, x->session.m, t, path, e);
    return status ? status : read_weights(p, &x->session, t, e);
}

void draft_library_close(DraftLibrary *x) {
    session_close(&x->session);
    if (x->handle) dlclose(x->handle);
    x->handle = NULL;
}
