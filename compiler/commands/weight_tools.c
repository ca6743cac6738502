/* SPDX-License-Identifier: MIT
** strata weights: looks at files of weights and makes other ones of them.  Tensors are copied as
** they are; what a run needs to go on, optimizer.* and the metadata, is left out.
*/
#include "weight_tools.h"

#include "build.h"
#include "command.h"
#include "wildcard.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* == What is written ====================================================== */

void weight_output_free(WeightOutput *o) {
    for (int i = 0; i < o->blocks; i++)
        free(o->memory[i]);
    free(o->memory);
    tensors_free(&o->list);
    *o = (WeightOutput){ 0 };
}

void *weight_output_room(WeightOutput *o, const char *what, size_t bytes, Error *e) {
    if (o->blocks == o->room) {
        int room = o->room ? 2 * o->room : 64;
        void **more = realloc(o->memory, (size_t)room * sizeof *more);
        if (!more) return error_memory(e, what, (size_t)room * sizeof *more), NULL;
        o->memory = more, o->room = room;
    }
    void *p = bytes > memory_physical() ? NULL : malloc(bytes ? bytes : 1);
    if (!p) return error_memory(e, what, bytes), NULL;
    return o->memory[o->blocks++] = p;
}

int weight_output_copy(WeightOutput *o, const Safetensors *s, const Tensor *t, Error *e) {
    void *p = weight_output_room(o, t->name, t->bytes, e);
    if (!p) return e->status;
    int status = input_read(&s->in, t->at, p, t->bytes, e);
    return status ? status : tensors_add(&o->list, "", t->name, t->dtype, t->rank, t->shape, p, e);
}

int weight_output_write(const WeightOutput *o, const char *path, Error *e) {
    return safetensors_write(path, &o->list, NULL, 0, SAFETENSORS_CHECKSUM, e);
}

int weight_file_open(Safetensors *s, const char *path, Error *e) {
    int status = safetensors_open(s, path, e);
    if (status) return status;
    status = safetensors_verify(s, NULL, e);
    if (status) safetensors_close(s);
    return status;
}

/* What a run needs to go on. */
static bool is_state(const Tensor *t) { return !strncmp(t->name, "optimizer.", 10); }

/* == list ================================================================= */

static void print_tensor(const Tensor *t) {
    char shape[256] = "[", line[320];
    size_t n = 1;
    for (int d = 0; d < t->rank; d++)
        n += (size_t)snprintf(shape + n, sizeof shape - n, d ? ",%" PRId64 : "%" PRId64,
                              t->shape[d]);
    snprintf(shape + n, sizeof shape - n, "]");
    snprintf(line, sizeof line, "%-5s %-20s ", dtype_name(t->dtype), shape);
    show_line(stdout, line, t->name, "");
}

static int list(const char *path, Error *e) {
    Safetensors s = { 0 };
    int64_t count = 0;
    int status = weight_file_open(&s, path, e);
    if (status) return status;
    for (int32_t i = 0; i < s.count; i++) {
        print_tensor(&s.tensor[i]);
        count += s.tensor[i].count;
    }
    printf("%d tensors, %" PRId64 " numbers\n", s.count, count);
    safetensors_close(&s);
    return STATUS_OK;
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

static int strip(const char *path, const char *patterns, const char *to, Error *e) {
    Safetensors s = { 0 };
    WeightOutput out = { 0 };
    int status = weight_file_open(&s, path, e), left = 0, matched = 0;
    for (int32_t i = 0; !status && i < s.count; i++) {
        const Tensor *t = &s.tensor[i];
        bool matches = is_matched(patterns, t->name);
        matched += matches, left += matches;
        if (matches) continue;
        if (is_state(t)) left++;
        else status = weight_output_copy(&out, &s, t, e);
    }
    if (!status && patterns && !matched)
        status = error_set(e, STATUS_USER, "%s: expected tensors that %s matches, found none", path,
                           patterns);
    if (!status) status = weight_output_write(&out, to, e);
    if (!status) printf("%d tensors kept, %d left out\n", out.list.count, left);
    weight_output_free(&out);
    safetensors_close(&s);
    return status;
}

/* == diff ================================================================= */

static bool is_shaped_as(const Tensor *a, const Tensor *b) {
    return a->rank == b->rank && !memcmp(a->shape, b->shape, (size_t)a->rank * sizeof *a->shape);
}

static bool is_float(const Tensor *t) {
    return t->dtype == DTYPE_F64 || t->dtype == DTYPE_F32 || t->dtype == DTYPE_F16
        || t->dtype == DTYPE_BF16;
}

/* The largest difference of two tensors and their largest number. */
static int compare_values(const Safetensors *a, const Tensor *x, const Safetensors *b,
                          const Tensor *y, double *apart, double *most, Error *e) {
    WeightOutput room = { 0 };
    size_t bytes = (size_t)x->count * sizeof(double);
    double *p = weight_output_room(&room, x->name, bytes, e),
           *q = p ? weight_output_room(&room, x->name, bytes, e) : NULL;
    int status = q ? safetensors_read_f64(a, x, p, e) : e->status;
    if (!status) status = safetensors_read_f64(b, y, q, e);
    for (int64_t i = 0; !status && i < x->count; i++) {
        *apart = fmax(*apart, fabs(p[i] - q[i]));
        *most = fmax(*most, fmax(fabs(p[i]), fabs(q[i])));
    }
    weight_output_free(&room);
    return status;
}

/* What is said of a tensor of the first file. */
static int diff_tensor(const Safetensors *a, const Tensor *x, const Safetensors *b, int *differ,
                       Error *e) {
    const Tensor *y = safetensors_find(b, x->name);
    double apart = 0, most = 0;
    char line[96];
    int status = STATUS_OK;
    if (y && is_shaped_as(x, y) && is_float(x) && is_float(y)) {
        status = compare_values(a, x, b, y, &apart, &most, e);
        if (status || apart == 0) return status;
        snprintf(line, sizeof line, "differs by %.3g of %.3g   ", apart, most);
    } else {
        if (y && is_shaped_as(x, y) && x->dtype == y->dtype) return STATUS_OK;
        snprintf(line, sizeof line, "%s", y ? "another shape or type   " : "only in the first   ");
    }
    ++*differ;
    show_line(stdout, line, x->name, "");
    return status;
}

static int diff(const char *first, const char *second, Error *e) {
    Safetensors a = { 0 }, b = { 0 };
    int status = weight_file_open(&a, first, e), differ = 0;
    if (!status) status = weight_file_open(&b, second, e);
    for (int32_t i = 0; !status && i < a.count; i++)
        if (!is_state(&a.tensor[i])) status = diff_tensor(&a, &a.tensor[i], &b, &differ, e);
    for (int32_t i = 0; !status && i < b.count; i++) {
        if (is_state(&b.tensor[i]) || safetensors_find(&a, b.tensor[i].name)) continue;
        show_line(stdout, "only in the second   ", b.tensor[i].name, "");
        differ++;
    }
    if (!status) printf("%d tensors differ\n", differ);
    safetensors_close(&a);
    safetensors_close(&b);
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
    return STATUS_OK;
}

int command_weights(const Options *o, Allowance *a, Error *e) {
    const char *out = option_of(o, STRATA_OPTION_NEW_WEIGHTS)->text,
               *patterns = option_of(o, STRATA_OPTION_MATCH)->text;
    int which, status = check_words(o, &which, e);
    if (!status && which != MERGE) status = allowance_unchosen(a, e);
    if (status) return status;
    switch (which) {
    case LIST: return list(o->word[1], e);
    case STRIP: return strip(o->word[1], patterns, out, e);
    case DIFF: return diff(o->word[1], o->word[2], e);
    default: return weights_merge(o->word[1], o->word[2], out, a, e);
    }
}
