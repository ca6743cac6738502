/* SPDX-License-Identifier: MIT
** See rows_repeats.h.  The loop has a column of numbers for each number that differs.  Columns that
** differ by a constant are merged, and a column that grows by a constant needs no table.
*/
#include "rows_repeats.h"
#include "array.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>

enum {
    PERIODS = 4, /* parts that come again together, at most */
    OFTEN = 3,   /* so many times at least is a loop less code */
    CODE = 32    /* numbers of a table that take the room of a part's code, roughly */
};

/* == Parts ================================================================ */

void parts_next(LikeParts *p) {
    checked(ARRAY_ROOM(p->part, p->n, p->most, 64) ? p->part : NULL);
    p->part[p->n++] = (PartStart){ p->words, p->numbers };
}

void parts_word(LikeParts *p, int64_t word) {
    checked(ARRAY_ROOM(p->word, p->words, p->most_words, 64) ? p->word : NULL);
    p->word[p->words++] = word;
}

void parts_number(LikeParts *p, const void *of, NumberKind kind, int64_t value) {
    checked(ARRAY_ROOM(p->number, p->numbers, p->most_numbers, 64) ? p->number : NULL);
    p->number[p->numbers++] = (PlanNumber){ of, kind, value };
}

void parts_free(LikeParts *p) { free(p->part), free(p->word), free(p->number); }

/* Where the next part begins. */
static PartStart end_of(const LikeParts *p, int part) {
    return part + 1 < p->n ? p->part[part + 1] : (PartStart){ p->words, p->numbers };
}

static int count_numbers(const LikeParts *p, int part) {
    return end_of(p, part).number - p->part[part].number;
}

static const PlanNumber *numbers_of(const LikeParts *p, int part) {
    return p->number + p->part[part].number;
}

static bool parts_alike(const LikeParts *p, int a, int b) {
    int words = end_of(p, a).word - p->part[a].word, numbers = count_numbers(p, a);
    if (end_of(p, b).word - p->part[b].word != words || count_numbers(p, b) != numbers)
        return false;
    for (int i = 0; i < numbers; i++)
        if (numbers_of(p, a)[i].kind != numbers_of(p, b)[i].kind) return false;
    return !words
        || !memcmp(p->word + p->part[a].word, p->word + p->part[b].word,
                   (size_t)words * sizeof *p->word);
}

/* Of the times that a part of the period comes, a number's. */
static int64_t number_at(const LikeParts *p, PartsRun run, int part, int number, int time) {
    return numbers_of(p, run.first + part + time * run.period)[number].value;
}

/* Each time as much more as the time before. */
static bool grows(const LikeParts *p, PartsRun run, int part, int number) {
    int64_t first = number_at(p, run, part, number, 0),
            step = number_at(p, run, part, number, 1) - first;
    for (int i = 2; i < run.count; i++)
        if (number_at(p, run, part, number, i) != first + i * step) return false;
    return true;
}

/* The room that a loop saves, in numbers: a longer period may do without tables. */
static int64_t worth(const LikeParts *p, PartsRun run) {
    int64_t room = (int64_t)CODE * (run.count - 1) * run.period;
    for (int i = 0; i < run.period; i++)
        for (int k = 0; k < count_numbers(p, run.first + i); k++)
            if (!grows(p, run, i, k)) room -= run.count;
    return room;
}

PartsRun parts_run(const LikeParts *p, int first) {
    PartsRun best = { first, 1, 1 };
    int64_t most = 0;
    for (int period = 1; period <= PERIODS && first + period * OFTEN <= p->n; period++) {
        int i = first + period;
        while (i < p->n && parts_alike(p, i - period, i))
            i++;
        PartsRun run = { first, period, (i - first) / period };
        int64_t room = run.count >= OFTEN ? worth(p, run) : 0;
        if (room > most) best = run, most = room;
    }
    return best;
}

/* == Columns ============================================================== */

/* Numbers of the times that a run's parts come. */
typedef struct Column {
    int64_t *number;
    V value; /* the loop's */
} Column;

typedef struct NumberColumns {
    Emit *e;
    V time; /* the loop's index */
    int count;
    Column *column;
    int n;
} NumberColumns;

/* By how much b is more than a, each time alike. */
static bool constant_apart(const NumberColumns *c, const int64_t *a, const int64_t *b,
                           int64_t *apart) {
    *apart = b[0] - a[0];
    for (int i = 1; i < c->count; i++)
        if (b[i] - a[i] != *apart) return false;
    return true;
}

/* A table takes no more room than its numbers need. */
static LLVMTypeRef type_of(const NumberColumns *c, const int64_t *number) {
    for (int i = 0; i < c->count; i++)
        if (number[i] != (int32_t)number[i]) return c->e->i64;
    return c->e->i32;
}

static V load_number(const NumberColumns *c, const int64_t *number) {
    Emit *e = c->e;
    LLVMTypeRef type = type_of(c, number);
    V *constant = checked_new((size_t)c->count, sizeof *constant);
    for (int i = 0; i < c->count; i++)
        constant[i] = LLVMConstInt(type, (uint64_t)number[i], 1);
    V table = LLVMAddGlobal(e->mod, LLVMArrayType2(type, (uint64_t)c->count), "numbers");
    LLVMSetInitializer(table, LLVMConstArray2(type, constant, (uint64_t)c->count));
    LLVMSetGlobalConstant(table, 1);
    LLVMSetUnnamedAddress(table, LLVMGlobalUnnamedAddr); /* equal ones may be one */
    LLVMSetLinkage(table, LLVMPrivateLinkage);
    free(constant);
    V time = c->time, at = LLVMBuildGEP2(e->b, type, table, &time, 1, "");
    V x = LLVMBuildLoad2(e->b, type, at, "");
    return type == e->i64 ? x : LLVMBuildSExt(e->b, x, e->i64, "");
}

/* Takes 'number'. */
static V value_of(NumberColumns *c, int64_t *number, bool grows) {
    Emit *e = c->e;
    int64_t apart;
    for (int i = 0; i < c->n; i++)
        if (constant_apart(c, c->column[i].number, number, &apart)) {
            free(number);
            return e_iadd(e, c->column[i].value, e_i64(e, apart));
        }
    V step = e_i64(e, number[1] - number[0]);
    V value = grows ? e_iadd(e, e_imul(e, c->time, step), e_i64(e, number[0]))
                    : load_number(c, number);
    c->column = checked_more(c->column, (size_t)c->n + 1, sizeof *c->column);
    c->column[c->n++] = (Column){ number, value };
    return value;
}

/* NULL: it is the same each time. */
static V varying_value(NumberColumns *c, const LikeParts *p, PartsRun run, int part, int number) {
    int64_t *of_time = checked_new((size_t)run.count, sizeof *of_time);
    bool differs = false;
    for (int i = 0; i < run.count; i++) {
        of_time[i] = number_at(p, run, part, number, i);
        differs |= of_time[i] != of_time[0];
    }
    if (differs) return value_of(c, of_time, grows(p, run, part, number));
    free(of_time);
    return NULL;
}

/* == The loop ============================================================= */

static uint64_t hash_varying(const Varying *v) {
    uint64_t hash = hash_word(HASH_START, (uint64_t)(uintptr_t)v->of);
    return hash_word(hash_word(hash, (uint64_t)v->kind), (uint64_t)v->part);
}

static bool same_varying(const void *item, const void *key) {
    const Varying *a = item, *b = key;
    return a->part == b->part && a->of == b->of && a->kind == b->kind;
}

void repeats_open(Emit *e, Repeats *r, const LikeParts *p, PartsRun run) {
    int most = 0, n = 0;
    for (int i = 0; i < run.period; i++)
        most += count_numbers(p, run.first + i);
    r->loop = e_loop(e, e_i64(e, 0), e_i64(e, run.count), 1);
    r->varying = checked_new((size_t)most + 1, sizeof *r->varying);
    NumberColumns c = { .e = e, .time = r->loop.i, .count = run.count };
    for (int i = 0; i < run.period; i++)
        for (int k = 0; k < count_numbers(p, run.first + i); k++) {
            const PlanNumber *number = &numbers_of(p, run.first + i)[k];
            V value = varying_value(&c, p, run, i, k);
            if (!value) continue;
            r->varying[n] = (Varying){ i, number->of, number->kind, value };
            table_add(&r->find, hash_varying(&r->varying[n]), &r->varying[n]);
            n++;
        }
    for (int i = 0; i < c.n; i++)
        free(c.column[i].number);
    free(c.column);
}

void repeats_close(Emit *e, Repeats *r) {
    e_end(e, r->loop);
    table_free(&r->find);
    free(r->varying);
}

V repeats_number(Emit *e, const Repeats *r, const void *of, NumberKind kind, int64_t value) {
    if (!r) return e_i64(e, value);
    Varying key = { r->part, of, kind, NULL };
    const Varying *v = table_find(&r->find, hash_varying(&key), same_varying, &key);
    return v ? v->value : e_i64(e, value);
}
