/* SPDX-License-Identifier: MIT
** strata weights: shows files of weights and makes new ones.  Tensors are copied unchanged; what
** only a run needs (optimizer.* and the position in its data) is left out.  A matrix that strata
** quantize rounded is shown as one tensor, however it is stored.
*/
#include "weight_tools.h"

#include "build.h"
#include "command.h"
#include "wildcard.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A file, and the bits that its small weights have; 0: it is of others. */
typedef struct WeightFile {
    Safetensors s;
    int bits;
} WeightFile;

static int tools_open_file(WeightFile *f, const char *path, Error *e) {
    int status = weight_file_open(&f->s, path, e);
    return status ? status : small_file_bits(&f->s, &f->bits, e);
}

/* The codes that a tensor belongs to, as scales of theirs; NULL: it stands for itself. */
static const Tensor *codes_of(const WeightFile *f, const Tensor *t) {
    return f->bits ? small_codes_of(&f->s, t) : NULL;
}

/* A tensor as its reader knows it; one that is not rounded has bits 0 and nothing but 'of'. */
static int view(const WeightFile *f, const Tensor *t, SmallMatrix *m, Error *e) {
    *m = (SmallMatrix){ .of = *t };
    return f->bits && small_code_bits(t) ? small_matrix(&f->s, t, m, e) : STATUS_OK;
}

/* What a run needs to go on. */
static bool is_state(const Tensor *t) { return !strncmp(t->name, "optimizer.", 10); }

/* == list ================================================================= */

static void print_tensor(const SmallMatrix *m) {
    char shape[TENSOR_TEXT], line[320];
    snprintf(line, sizeof line, "%-5s %-20s ",
             m->bits ? small_name(m->bits) : dtype_name(m->of.dtype),
             shape_print(shape, m->of.rank, m->of.shape));
    show_line(stdout, line, m->of.name, "");
}

/* Which step of which run it is, if a run made it. */
static void print_run(const Safetensors *s) {
    const char *run = safetensors_metadata(s, "run");
    int64_t step;
    char line[64];
    if (!weight_file_step(s, &step)) return;
    snprintf(line, sizeof line, "step %" PRId64 "%s", step, run && *run ? " of run " : "");
    show_line(stdout, line, run ? run : "", "");
}

static int list(const char *path, Error *e) {
    WeightFile f = { 0 };
    SmallMatrix m;
    int64_t count = 0;
    int tensors = 0, rounded = 0, status = tools_open_file(&f, path, e);
    if (!status) print_run(&f.s);
    for (int32_t i = 0; !status && i < f.s.count; i++) {
        if (codes_of(&f, &f.s.tensor[i])) continue;
        status = view(&f, &f.s.tensor[i], &m, e);
        if (status) break;
        print_tensor(&m);
        count += m.of.count, tensors++, rounded += m.bits != 0;
    }
    if (!status) printf("%d tensors, %" PRId64 " numbers", tensors, count);
    if (!status && f.bits) printf("; %s: %d matrices are rounded", small_name(f.bits), rounded);
    if (!status) printf("\n");
    safetensors_close(&f.s);
    return status;
}

/* == strip ================================================================ */

/* Whether one of the patterns, with commas between, matches. */
static bool is_matched(const char *patterns, const char *name) {
    char pattern[256];
    while (patterns && *patterns) {
        size_t n = strcspn(patterns, ",");
        snprintf(pattern, sizeof pattern, "%.*s", (int)n, patterns);
        if (wildcard_matches(pattern, name)) return true;
        patterns += n + (patterns[n] == ',');
    }
    return false;
}

/* What it says of itself, which is now weights alone. */
static int add_about(WeightOutput *o, const WeightFile *f, Error *e) {
    const char *format = safetensors_metadata(&f->s, "format");
    Pair first[SMALL_PAIRS] = { { "format", WEIGHTS_FORMAT } };
    int pairs = f->bits ? SMALL_PAIRS : format && !strcmp(format, CHECKPOINT_FORMAT);
    if (f->bits) small_file_metadata(f->bits, first);
    return weight_output_about(o, &f->s, first, pairs, e);
}

/* Scales go with their codes; they are counted as one tensor. */
static int strip(const char *path, const char *patterns, const FilePlace *to, Error *e) {
    WeightFile f = { 0 };
    WeightOutput out = { 0 };
    int status = tools_open_file(&f, path, e), left = 0, matched = 0, kept = 0;
    for (int32_t i = 0; !status && i < f.s.count; i++) {
        const Tensor *t = &f.s.tensor[i], *codes = codes_of(&f, t);
        bool matches = is_matched(patterns, codes ? codes->name : t->name),
             leave = matches || is_state(t);
        matched += matches;
        if (!codes) left += leave, kept += !leave;
        if (!leave) status = weight_output_copy(&out, &f.s, t, e);
    }
    if (!status && patterns && !matched)
        status = error_set(e, STATUS_USER, "%s: expected tensors that %s matches, found none", path,
                           patterns);
    if (!status) status = add_about(&out, &f, e);
    if (!status) status = weight_output_write(&out, to, e);
    if (!status) printf("%d tensors kept, %d left out\n", kept, left);
    weight_output_free(&out);
    safetensors_close(&f.s);
    return status;
}

/* == diff ================================================================= */

static bool is_shaped_as(const Tensor *a, const Tensor *b) {
    return a->rank == b->rank && !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

static bool has_values(const SmallMatrix *m) {
    Dtype type = m->of.dtype;
    return m->bits || type == DTYPE_F64 || type == DTYPE_F32 || type == DTYPE_F16
        || type == DTYPE_BF16;
}

static int read_values(const WeightFile *f, const SmallMatrix *m, double *x, Error *e) {
    if (!m->bits) return safetensors_read_f64(&f->s, &m->of, x, e);
    SmallGroup *g = malloc((size_t)m->groups * sizeof *g);
    int status = g ? STATUS_OK : error_memory(e, m->of.name, (size_t)m->groups * sizeof *g);
    for (int64_t row = 0; !status && row < m->rows; row++) {
        status = small_matrix_rows(&f->s, m, row, 1, g, e);
        for (int64_t i = 0, n; !status && i < m->groups; i++, x += n) {
            n = m->steps - i * GROUP < GROUP ? m->steps - i * GROUP : GROUP;
            small_values(&g[i], m->bits, n, x);
        }
    }
    free(g);
    return status;
}

/* The largest difference of two tensors and their largest number. */
static int compare_values(const WeightFile *a, const SmallMatrix *x, const WeightFile *b,
                          const SmallMatrix *y, double *apart, double *most, Error *e) {
    WeightOutput room = { 0 };
    size_t bytes = (size_t)x->of.count * sizeof(double);
    double *p = weight_output_room(&room, x->of.name, bytes, e),
           *q = p ? weight_output_room(&room, x->of.name, bytes, e) : NULL;
    int status = q ? read_values(a, x, p, e) : e->status;
    if (!status) status = read_values(b, y, q, e);
    for (int64_t i = 0; !status && i < x->of.count; i++) {
        *apart = fmax(*apart, fabs(p[i] - q[i]));
        *most = fmax(*most, fmax(fabs(p[i]), fabs(q[i])));
    }
    weight_output_free(&room);
    return status;
}

/* What is said of a tensor of the first file. */
static int diff_tensor(const WeightFile *a, const Tensor *first, const WeightFile *b, int *differ,
                       Error *e) {
    const Tensor *second = safetensors_find(&b->s, first->name);
    double apart = 0, most = 0;
    char line[96];
    SmallMatrix x, y;
    int status = view(a, first, &x, e);
    if (!status && second) status = view(b, second, &y, e);
    if (status) return status;
    bool alike = second && is_shaped_as(&x.of, &y.of);
    if (alike && has_values(&x) && has_values(&y)) {
        status = compare_values(a, &x, b, &y, &apart, &most, e);
        if (status || apart == 0) return status;
        snprintf(line, sizeof line, "differs by %.3g of %.3g   ", apart, most);
    } else {
        if (alike && first->dtype == second->dtype) return STATUS_OK;
        snprintf(line, sizeof line, "%s",
                 second ? "another shape or type   " : "only in the first   ");
    }
    ++*differ;
    show_line(stdout, line, first->name, "");
    return status;
}

static bool is_told(const WeightFile *f, const Tensor *t) {
    return !is_state(t) && !codes_of(f, t);
}

static int diff(const char *first, const char *second, Error *e) {
    WeightFile a = { 0 }, b = { 0 };
    int status = tools_open_file(&a, first, e), differ = 0;
    if (!status) status = tools_open_file(&b, second, e);
    for (int32_t i = 0; !status && i < a.s.count; i++)
        if (is_told(&a, &a.s.tensor[i])) status = diff_tensor(&a, &a.s.tensor[i], &b, &differ, e);
    for (int32_t i = 0; !status && i < b.s.count; i++) {
        const Tensor *t = &b.s.tensor[i];
        if (!is_told(&b, t) || safetensors_find(&a.s, t->name)) continue;
        show_line(stdout, "only in the second   ", t->name, "");
        differ++;
    }
    if (!status) printf("%d tensors differ\n", differ);
    safetensors_close(&a.s);
    safetensors_close(&b.s);
    return status;
}

/* == The command ========================================================== */

static const struct {
    const char *name, *takes;
    int words;
    bool writes;
} tool[] = {
    { "list", "a file", 1, false },
    { "strip", "a file", 1, true },
    { "diff", "two files", 2, false },
    { "merge", "a spec and a file", 2, true },
};
enum { LIST, STRIP, DIFF, MERGE, TOOLS };

static FilePlace tools_place_of(const Options *o) {
    return (FilePlace){ .path = option_of(o, STRATA_OPTION_NEW_WEIGHTS)->text,
                        .overwrite = option_of(o, STRATA_OPTION_OVERWRITE)->given };
}

/* Options of one that writes, or of strip alone. */
static int tools_check_options(const Options *o, int which, Error *e) {
    static const int options[] = { STRATA_OPTION_MATCH, STRATA_OPTION_NEW_WEIGHTS,
                                   STRATA_OPTION_OVERWRITE };
    char name[32];
    for (int i = 0; i < 3; i++)
        if (option_of(o, options[i])->given && which != STRIP && (!i || !tool[which].writes))
            return error_set(e, STATUS_USAGE, "strata weights %s: expected no %s, which is of %s",
                             tool[which].name, option_name(name, &o->table->option[options[i]]),
                             i ? "strip and merge" : "strip");
    return STATUS_OK;
}

/* And what it writes replaces nothing. */
static int check_words(const Options *o, int *which, Error *e) {
    const char *word = o->words ? o->word[0] : "nothing";
    for (*which = 0; *which < TOOLS && strcmp(word, tool[*which].name); ++*which)
        ;
    if (*which == TOOLS)
        return error_set(e, STATUS_USAGE,
                         "strata weights: expected list, strip, diff or merge, found %s", word);
    if (o->words != 1 + tool[*which].words)
        return error_set(e, STATUS_USAGE, "strata weights %s: expected %s, found %d words", word,
                         tool[*which].takes, o->words - 1);
    const char *out = option_of(o, STRATA_OPTION_NEW_WEIGHTS)->text;
    if (tool[*which].writes && !out)
        return error_set(e, STATUS_USAGE, "strata weights %s: expected -o FILE, found none", word);
    const FilePlace to = tools_place_of(o);
    int unread = tools_check_options(o, *which, e);
    if (unread || !tool[*which].writes) return unread;
    int status = place_unread_all(out, (const char *const *)o->word + 1, o->words - 1, e);
    return status ? status : place_check(&to, e);
}

int command_weights(const Options *o, Allowance *a, Error *e) {
    const char *patterns = option_of(o, STRATA_OPTION_MATCH)->text;
    const FilePlace to = tools_place_of(o);
    int which, status = check_words(o, &which, e);
    if (!status && which != MERGE) status = allowance_unchosen(a, e);
    if (!status && which != MERGE && option_of(o, STRATA_OPTION_CHANGED)->given)
        status = error_set(e, STATUS_USAGE,
                           "strata weights %s: --changed is of merge, which reads a spec",
                           tool[which].name);
    if (status) return status;
    switch (which) {
    case LIST: return list(o->word[1], e);
    case STRIP: return strip(o->word[1], patterns, &to, e);
    case DIFF: return diff(o->word[1], o->word[2], e);
    default: return weights_merge(o, &to, a, e);
    }
}
