/* SPDX-License-Identifier: MIT
** Turns repeated stretches of code into loops.  A run is a group of 'period' stretches that occurs
** 'count' times.  Only 64-bit integers may differ between the repetitions; the loop has a column
** of numbers for each difference.  Columns that differ by a constant are merged, and a column that
** grows by a constant needs no table.
*/
#include "stretches.h"
#include "fatal.h"

#include <stdlib.h>

enum {
    PERIODS = 4, /* stretches that come again together, at most */
    OFTEN = 3    /* so many times at least is a loop less code */
};

Reroll *reroll_open(Emit *e) {
    Reroll *r = checked_new(1, sizeof *r);
    r->e = e;
    r->before = LLVMGetInsertBlock(e->b);
    return r;
}

/* The builder goes on in a block of its own. */
static LLVMBasicBlockRef reroll_cut(Reroll *r) {
    if (r->n) r->stretch[r->n - 1].end = LLVMGetInsertBlock(r->e->b);
    return e_next_block(r->e);
}

void reroll_next(Reroll *r) {
    LLVMBasicBlockRef begin = reroll_cut(r);
    if (r->n == r->most) {
        r->most = r->most ? 2 * r->most : 16;
        r->stretch = checked_more(r->stretch, (size_t)r->most, sizeof *r->stretch);
    }
    r->stretch[r->n++] = (Stretch){ .begin = begin, .entry = begin, .hash = HASH_START };
}

/* == A run as a loop ====================================================== */

typedef struct Repeats {
    int first, period, count;
} Repeats;

/* Numbers of the times that a run's stretches come. */
typedef struct Column {
    int64_t *number;
    V value; /* the loop's */
} Column;

typedef struct Rolled {
    Reroll *r;
    Repeats run;
    V time; /* the loop's index */
    Column *column;
    int columns;
} Rolled;

static V of_time(const Rolled *l, int stretch, int place, int time) {
    return l->r->stretch[l->run.first + time * l->run.period + stretch].value[place];
}

/* By how much b is more than a, each time alike. */
static bool constant_apart(const Rolled *l, const int64_t *a, const int64_t *b, int64_t *apart) {
    *apart = b[0] - a[0];
    for (int i = 1; i < l->run.count; i++)
        if (b[i] - a[i] != *apart) return false;
    return true;
}

static V load_number(const Rolled *l, const int64_t *number) {
    Emit *e = l->r->e;
    V *constant = checked_new((size_t)l->run.count, sizeof *constant);
    for (int i = 0; i < l->run.count; i++)
        constant[i] = e_i64(e, number[i]);
    LLVMTypeRef type = LLVMArrayType2(e->i64, (uint64_t)l->run.count);
    V table = LLVMAddGlobal(e->mod, type, "numbers");
    LLVMSetInitializer(table, LLVMConstArray2(e->i64, constant, (uint64_t)l->run.count));
    LLVMSetGlobalConstant(table, 1);
    LLVMSetLinkage(table, LLVMPrivateLinkage);
    free(constant);
    V time = l->time;
    return LLVMBuildLoad2(e->b, e->i64, LLVMBuildGEP2(e->b, e->i64, table, &time, 1, ""), "");
}

/* Takes 'number'. */
static V reroll_value_of(Rolled *l, int64_t *number) {
    Emit *e = l->r->e;
    int64_t apart;
    for (int i = 0; i < l->columns; i++)
        if (constant_apart(l, l->column[i].number, number, &apart)) {
            free(number);
            return e_iadd(e, l->column[i].value, e_i64(e, apart));
        }
    int64_t step = number[1] - number[0];
    bool grows = true;
    for (int i = 2; i < l->run.count; i++)
        grows &= number[i] - number[i - 1] == step;
    V value = grows ? e_iadd(e, e_imul(e, l->time, e_i64(e, step)), e_i64(e, number[0]))
                    : load_number(l, number);
    l->column = checked_more(l->column, (size_t)l->columns + 1, sizeof *l->column);
    l->column[l->columns++] = (Column){ number, value };
    return value;
}

/* The operand of an instruction of the first time takes the value of each. */
static void set_operand(Rolled *l, int stretch, int place, unsigned operand) {
    V of = of_time(l, stretch, place, 0), one = LLVMGetOperand(of, operand);
    bool differs = false;
    if (!stretches_number(l->r, of, operand)) return;
    int64_t *number = checked_new((size_t)l->run.count, sizeof *number);
    for (int i = 0; i < l->run.count; i++) {
        V x = LLVMGetOperand(of_time(l, stretch, place, i), operand);
        number[i] = LLVMConstIntGetSExtValue(x);
        differs |= x != one;
    }
    if (differs) LLVMSetOperand(of, operand, reroll_value_of(l, number));
    else free(number);
}

static void reroll_drop(const Reroll *r, int stretch) {
    const Stretch *s = &r->stretch[stretch];
    LLVMBasicBlockRef block = s->begin;
    for (int i = 0; i < s->n; i++)
        if (LLVMGetFirstUse(s->value[i]))
            LLVMReplaceAllUsesWith(s->value[i], LLVMGetUndef(LLVMTypeOf(s->value[i])));
    for (int i = s->n; i-- > 0;)
        LLVMInstructionEraseFromParent(s->value[i]);
    for (LLVMBasicBlockRef next; block; block = next) {
        next = stretches_next(r, stretch, block);
        LLVMDeleteBasicBlock(block);
    }
}

static void roll(Reroll *r, Repeats run) {
    Emit *e = r->e;
    Rolled l = { .r = r, .run = run };
    Stretch *first = &r->stretch[run.first], *last = first + run.period - 1;
    int next = run.first + run.period * run.count;
    LLVMBasicBlockRef before = LLVMInsertBasicBlockInContext(e->ctx, first->begin, "");
    LLVMBasicBlockRef behind_it = stretches_behind(r, next - 1);
    LLVMBasicBlockRef head = LLVMInsertBasicBlockInContext(e->ctx, first->begin, "pieces");
    V zero = e_i64(e, 0);
    LLVMBasicBlockRef from = run.first ? first[-1].end : r->before;
    LLVMSetSuccessor(LLVMGetBasicBlockTerminator(from), 0, before);
    first->entry = before;

    LLVMPositionBuilderAtEnd(e->b, before);
    LLVMBuildBr(e->b, head);
    LLVMPositionBuilderAtEnd(e->b, head);
    l.time = LLVMBuildPhi(e->b, e->i64, "i");
    LLVMAddIncoming(l.time, &zero, &before, 1);
    for (int s = 0; s < run.period; s++)
        for (int k = 0; k < first[s].n; k++)
            for (int o = 0; o < LLVMGetNumOperands(first[s].value[k]); o++)
                set_operand(&l, s, k, (unsigned)o);
    LLVMBuildBr(e->b, first->begin);

    LLVMInstructionEraseFromParent(LLVMGetBasicBlockTerminator(last->end));
    LLVMPositionBuilderAtEnd(e->b, last->end);
    V time = e_iadd(e, l.time, e_i64(e, 1));
    LLVMBuildCondBr(e->b, e_ilt(e, time, e_i64(e, run.count)), head, behind_it);
    LLVMAddIncoming(l.time, &time, &last->end, 1);
    for (int i = run.first + run.period; i < next; i++)
        reroll_drop(r, i);
    for (int i = 0; i < l.columns; i++)
        free(l.column[i].number);
    free(l.column);
}

/* == Runs ================================================================= */

/* The one from stretch i on that leaves most out. */
static Repeats find_run(const Reroll *r, int i) {
    Repeats best = { i, 1, 1 };
    for (int p = 1; p <= PERIODS && i + p * OFTEN <= r->n; p++) {
        int k = i + p;
        while (k < r->n && stretches_alike(r, k - p, k))
            k++;
        int count = (k - i) / p;
        if (count >= OFTEN && (count - 1) * p > (best.count - 1) * best.period)
            best = (Repeats){ i, p, count };
    }
    return best;
}

/* From the last one on: what comes before a run is as it was when it becomes a loop. */
static void roll_all(Reroll *r) {
    Repeats *run = checked_new((size_t)r->n + 1, sizeof *run);
    int runs = 0;
    for (int i = 0; i < r->n; i += run[runs - 1].period * run[runs - 1].count)
        run[runs++] = find_run(r, i);
    while (runs-- > 0)
        if (run[runs].count > 1) roll(r, run[runs]);
    free(run);
}

void reroll_close(Reroll *r) {
    Emit *e = r->e;
    if (r->n) {
        LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(e->b);
        r->after = reroll_cut(r);
        stretches_find(r);
        roll_all(r);
        LLVMPositionBuilderAtEnd(e->b, r->after);
        LLVMSetCurrentDebugLocation2(e->b, line);
    }
    for (int i = 0; i < r->n; i++)
        free(r->stretch[i].value);
    table_free(&r->items);
    free(r->item), free(r->stretch), free(r);
}
