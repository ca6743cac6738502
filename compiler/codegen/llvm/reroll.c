/* SPDX-License-Identifier: MIT
** Stretches of code as loops.  A run is a group of 'period' stretches that comes 'count' times: of
** all that differs between them, integers of 64 bits alone, the loop has a column of numbers.
** Columns that differ by a constant are one; what grows by a constant is no table's.
*/
#include "reroll.h"
#include "fatal.h"
#include "table.h"

#include <stdlib.h>
#include <string.h>

enum {
    PERIODS = 4, /* stretches that come again together, at most */
    OFTEN = 3    /* so many times at least is a loop less code */
};

/* An instruction or a block: of which stretch, and its number there. */
typedef struct Item {
    void *what;
    int stretch, place;
} Item;

typedef struct Stretch {
    LLVMBasicBlockRef begin, end; /* the first block and the one that leaves it */
    LLVMBasicBlockRef entry; /* what comes before goes there: 'begin', or what leads to a loop */
    V *value;                /* its instructions */
    int n;
    uint64_t hash; /* of what they do, not of what they do it with */
} Stretch;

struct Reroll {
    Emit *e;
    LLVMBasicBlockRef before, after; /* which goes to the first; where the last goes */
    Stretch *stretch;
    int n, most;
    Item *item;
    Table items;
};

Reroll *reroll_open(Emit *e) {
    Reroll *r = checked_new(1, sizeof *r);
    r->e = e;
    r->before = LLVMGetInsertBlock(e->b);
    return r;
}

/* The builder goes on in a block of its own. */
static LLVMBasicBlockRef cut(Reroll *r) {
    Emit *e = r->e;
    LLVMBasicBlockRef next = LLVMAppendBasicBlockInContext(e->ctx, e->fn, "");
    LLVMMetadataRef line = LLVMGetCurrentDebugLocation2(e->b); /* positioning changes it */
    if (r->n) r->stretch[r->n - 1].end = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, next);
    LLVMPositionBuilderAtEnd(e->b, next);
    LLVMSetCurrentDebugLocation2(e->b, line);
    return next;
}

void reroll_next(Reroll *r) {
    LLVMBasicBlockRef begin = cut(r);
    if (r->n == r->most) {
        r->most = r->most ? 2 * r->most : 16;
        r->stretch = checked_more(r->stretch, (size_t)r->most, sizeof *r->stretch);
    }
    r->stretch[r->n++] = (Stretch){ .begin = begin, .entry = begin, .hash = HASH_START };
}

/* == What belongs to a stretch ============================================ */

static uint64_t hash_of(const void *what) {
    return hash_word(HASH_START, (uint64_t)(uintptr_t)what);
}

static bool is_item(const void *item, const void *what) {
    return ((const Item *)item)->what == what;
}

/* NULL: it belongs to none. */
static const Item *find(const Reroll *r, const void *what) {
    return table_find(&r->items, hash_of(what), is_item, what);
}

static void add_item(Reroll *r, int *items, void *what, int stretch, int place) {
    Item *item = &r->item[(*items)++];
    *item = (Item){ what, stretch, place };
    table_add(&r->items, hash_of(what), item);
}

/* Blocks of a stretch were appended between its first one and that of the next. */
static LLVMBasicBlockRef next_block(const Reroll *r, int i, LLVMBasicBlockRef block) {
    LLVMBasicBlockRef next = LLVMGetNextBasicBlock(block);
    return next == (i + 1 < r->n ? r->stretch[i + 1].entry : r->after) ? NULL : next;
}

static int count_values(LLVMBasicBlockRef block) {
    int n = 0;
    for (V v = LLVMGetFirstInstruction(block); v; v = LLVMGetNextInstruction(v))
        n++;
    return n;
}

/* Instructions of all stretches, and their blocks. */
static int count_items(Reroll *r) {
    int n = 0;
    for (int i = 0; i < r->n; i++)
        for (LLVMBasicBlockRef b = r->stretch[i].begin; b; b = next_block(r, i, b)) {
            int values = count_values(b);
            r->stretch[i].n += values;
            n += values + 1;
        }
    return n;
}

static void find_items(Reroll *r) {
    int items = 0, most = count_items(r);
    r->item = checked_new((size_t)most, sizeof *r->item);
    table_reserve(&r->items, (size_t)most);
    for (int i = 0; i < r->n; i++) {
        Stretch *s = &r->stretch[i];
        int first = items, n = 0;
        s->value = checked_new((size_t)s->n, sizeof *s->value);
        for (LLVMBasicBlockRef b = s->begin; b; b = next_block(r, i, b)) {
            add_item(r, &items, b, i, items - first);
            for (V v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v)) {
                add_item(r, &items, v, i, items - first);
                s->hash = hash_word(s->hash, LLVMGetInstructionOpcode(v));
                s->value[n++] = v;
            }
        }
    }
}

/* == Stretches that are alike ============================================= */

static bool same_mask(V a, V b) {
    unsigned n = LLVMGetNumMaskElements(a);
    if (LLVMGetNumMaskElements(b) != n) return false;
    for (unsigned i = 0; i < n; i++)
        if (LLVMGetMaskValue(a, i) != LLVMGetMaskValue(b, i)) return false;
    return true;
}

/* Beside operands; false for what kernels do not have. */
static bool same_kind(V a, V b) {
    if (LLVMTypeOf(a) != LLVMTypeOf(b) || LLVMHasMetadata(a) != LLVMHasMetadata(b)) return false;
    switch (LLVMGetInstructionOpcode(a)) {
    case LLVMBr:
    case LLVMPHI:
    case LLVMSelect:
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMFNeg:
    case LLVMAnd:
    case LLVMOr:
    case LLVMXor:
    case LLVMBitCast:
    case LLVMPtrToInt:
    case LLVMSExt:
    case LLVMInsertElement:
    case LLVMExtractElement: return true;
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMShl: return LLVMGetNSW(a) == LLVMGetNSW(b) && LLVMGetNUW(a) == LLVMGetNUW(b);
    case LLVMLShr:
    case LLVMAShr: return LLVMGetExact(a) == LLVMGetExact(b);
    case LLVMZExt: return LLVMGetNNeg(a) == LLVMGetNNeg(b);
    case LLVMICmp: return LLVMGetICmpPredicate(a) == LLVMGetICmpPredicate(b);
    case LLVMFCmp: return LLVMGetFCmpPredicate(a) == LLVMGetFCmpPredicate(b);
    case LLVMShuffleVector: return same_mask(a, b);
    case LLVMLoad:
    case LLVMStore: return LLVMGetAlignment(a) == LLVMGetAlignment(b);
    case LLVMCall: return LLVMGetInstructionCallConv(a) == LLVMGetInstructionCallConv(b);
    case LLVMGetElementPtr:
        return LLVMGetGEPSourceElementType(a) == LLVMGetGEPSourceElementType(b)
            && LLVMIsInBounds(a) == LLVMIsInBounds(b);
    default: return false;
    }
}

/* An integer among its operands may be another one each time: divisors, say, stay constants. */
static bool takes_numbers(V v) {
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMICmp:
    case LLVMPHI:
    case LLVMSelect: return true;
    case LLVMGetElementPtr: return LLVMGetNumOperands(v) == 2;
    case LLVMCall: return !LLVMGetIntrinsicID(LLVMGetCalledValue(v));
    default: return false;
    }
}

static bool is_number(const Reroll *r, V v) {
    return LLVMIsAConstantInt(v) && LLVMTypeOf(v) == r->e->i64;
}

/* What instruction or block a is to stretch i, b is to stretch j. */
static bool same_place(const Reroll *r, int i, const void *a, int j, const void *b) {
    const Item *x = find(r, a), *y = find(r, b);
    if (x && y && x->stretch == i && y->stretch == j) return x->place == y->place;
    return a == b && !x;
}

static LLVMBasicBlockRef behind(const Reroll *r, int i) {
    return i + 1 < r->n ? r->stretch[i + 1].begin : r->after;
}

static bool same_operand(const Reroll *r, int i, V a, int j, V b, bool numbers) {
    if (numbers && is_number(r, a) && is_number(r, b)) return true;
    if (!LLVMValueIsBasicBlock(a) || !LLVMValueIsBasicBlock(b)) return same_place(r, i, a, j, b);
    LLVMBasicBlockRef to_a = LLVMValueAsBasicBlock(a), to_b = LLVMValueAsBasicBlock(b);
    return (to_a == behind(r, i) && to_b == behind(r, j)) || same_place(r, i, to_a, j, to_b);
}

static bool same_sources(const Reroll *r, int i, V a, int j, V b) {
    unsigned n = LLVMIsAPHINode(a) ? LLVMCountIncoming(a) : 0;
    for (unsigned k = 0; k < n; k++)
        if (!same_place(r, i, LLVMGetIncomingBlock(a, k), j, LLVMGetIncomingBlock(b, k)))
            return false;
    return true;
}

static bool alike(const Reroll *r, int i, int j) {
    const Stretch *s = &r->stretch[i], *t = &r->stretch[j];
    if (s->n != t->n || s->hash != t->hash) return false;
    for (int k = 0; k < s->n; k++) {
        V a = s->value[k], b = t->value[k];
        int operands = LLVMGetNumOperands(a);
        if (!same_kind(a, b) || LLVMGetNumOperands(b) != operands) return false;
        for (int o = 0; o < operands; o++)
            if (!same_operand(r, i, LLVMGetOperand(a, (unsigned)o), j,
                              LLVMGetOperand(b, (unsigned)o), takes_numbers(a)))
                return false;
        if (!same_sources(r, i, a, j, b)) return false;
    }
    return true;
}

/* == A run as a loop ====================================================== */

typedef struct Run {
    int first, period, count;
} Run;

/* Numbers of the times that a run's stretches come. */
typedef struct Column {
    int64_t *number;
    V value; /* the loop's */
} Column;

typedef struct Rolled {
    Reroll *r;
    Run run;
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
static V value_of(Rolled *l, int64_t *number) {
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
    if (!is_number(l->r, one) || !takes_numbers(of)) return;
    int64_t *number = checked_new((size_t)l->run.count, sizeof *number);
    for (int i = 0; i < l->run.count; i++) {
        V x = LLVMGetOperand(of_time(l, stretch, place, i), operand);
        number[i] = LLVMConstIntGetSExtValue(x);
        differs |= x != one;
    }
    if (differs) LLVMSetOperand(of, operand, value_of(l, number));
    else free(number);
}

static void drop(const Reroll *r, int stretch) {
    const Stretch *s = &r->stretch[stretch];
    LLVMBasicBlockRef block = s->begin;
    for (int i = 0; i < s->n; i++)
        if (LLVMGetFirstUse(s->value[i]))
            LLVMReplaceAllUsesWith(s->value[i], LLVMGetUndef(LLVMTypeOf(s->value[i])));
    for (int i = s->n; i-- > 0;)
        LLVMInstructionEraseFromParent(s->value[i]);
    for (LLVMBasicBlockRef next; block; block = next) {
        next = next_block(r, stretch, block);
        LLVMDeleteBasicBlock(block);
    }
}

static void roll(Reroll *r, Run run) {
    Emit *e = r->e;
    Rolled l = { .r = r, .run = run };
    Stretch *first = &r->stretch[run.first], *last = first + run.period - 1;
    int next = run.first + run.period * run.count;
    LLVMBasicBlockRef before = LLVMInsertBasicBlockInContext(e->ctx, first->begin, "");
    LLVMBasicBlockRef behind_it = next < r->n ? r->stretch[next].entry : r->after;
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
        drop(r, i);
    for (int i = 0; i < l.columns; i++)
        free(l.column[i].number);
    free(l.column);
}

/* == Runs ================================================================= */

/* The one from stretch i on that leaves most out. */
static Run find_run(const Reroll *r, int i) {
    Run best = { i, 1, 1 };
    for (int p = 1; p <= PERIODS && i + p * OFTEN <= r->n; p++) {
        int k = i + p;
        while (k < r->n && alike(r, k - p, k))
            k++;
        int count = (k - i) / p;
        if (count >= OFTEN && (count - 1) * p > (best.count - 1) * best.period)
            best = (Run){ i, p, count };
    }
    return best;
}

/* From the last one on: what comes before a run is as it was when it becomes a loop. */
static void roll_all(Reroll *r) {
    Run *run = checked_new((size_t)r->n + 1, sizeof *run);
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
        r->after = cut(r);
        find_items(r);
        roll_all(r);
        LLVMPositionBuilderAtEnd(e->b, r->after);
        LLVMSetCurrentDebugLocation2(e->b, line);
    }
    for (int i = 0; i < r->n; i++)
        free(r->stretch[i].value);
    table_free(&r->items);
    free(r->item), free(r->stretch), free(r);
}
