/* SPDX-License-Identifier: MIT
** See stretches.h.
*/
#include "stretches.h"
#include "fatal.h"

/* == What belongs to a stretch ============================================ */

static uint64_t hash_of(const void *what) {
    return hash_word(HASH_START, (uint64_t)(uintptr_t)what);
}

static bool is_item(const void *item, const void *what) {
    return ((const Item *)item)->what == what;
}

/* NULL: it belongs to none. */
static const Item *find_stretches(const Reroll *r, const void *what) {
    return table_find(&r->items, hash_of(what), is_item, what);
}

static void add_item(Reroll *r, int *items, void *what, int stretch, int place) {
    Item *item = &r->item[(*items)++];
    *item = (Item){ what, stretch, place };
    table_add(&r->items, hash_of(what), item);
}

LLVMBasicBlockRef stretches_behind(const Reroll *r, int i) {
    return i + 1 < r->n ? r->stretch[i + 1].entry : r->after;
}

/* Blocks of a stretch were appended between its first one and that of the next. */
LLVMBasicBlockRef stretches_next(const Reroll *r, int i, LLVMBasicBlockRef block) {
    LLVMBasicBlockRef next = LLVMGetNextBasicBlock(block);
    return next == stretches_behind(r, i) ? NULL : next;
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
        for (LLVMBasicBlockRef b = r->stretch[i].begin; b; b = stretches_next(r, i, b)) {
            int values = count_values(b);
            r->stretch[i].n += values;
            n += values + 1;
        }
    return n;
}

void stretches_find(Reroll *r) {
    int items = 0, most = count_items(r);
    r->item = checked_new((size_t)most, sizeof *r->item);
    table_reserve(&r->items, (size_t)most);
    for (int i = 0; i < r->n; i++) {
        Stretch *s = &r->stretch[i];
        int first = items, n = 0;
        s->value = checked_new((size_t)s->n, sizeof *s->value);
        for (LLVMBasicBlockRef b = s->begin; b; b = stretches_next(r, i, b)) {
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
    if (LLVMGetInstructionOpcode(a) != LLVMGetInstructionOpcode(b)) return false;
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
    const Item *x = find_stretches(r, a), *y = find_stretches(r, b);
    if (x && y && x->stretch == i && y->stretch == j) return x->place == y->place;
    return a == b && !x;
}

static bool same_operand(const Reroll *r, int i, V a, int j, V b, bool numbers) {
    if (numbers && is_number(r, a) && is_number(r, b)) return true;
    if (!LLVMValueIsBasicBlock(a) || !LLVMValueIsBasicBlock(b)) return same_place(r, i, a, j, b);
    LLVMBasicBlockRef to_a = LLVMValueAsBasicBlock(a), to_b = LLVMValueAsBasicBlock(b);
    return (to_a == stretches_behind(r, i) && to_b == stretches_behind(r, j))
        || same_place(r, i, to_a, j, to_b);
}

static bool same_sources(const Reroll *r, int i, V a, int j, V b) {
    unsigned n = LLVMIsAPHINode(a) ? LLVMCountIncoming(a) : 0;
    for (unsigned k = 0; k < n; k++)
        if (!same_place(r, i, LLVMGetIncomingBlock(a, k), j, LLVMGetIncomingBlock(b, k)))
            return false;
    return true;
}

bool stretches_alike(const Reroll *r, int i, int j) {
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

bool stretches_number(const Reroll *r, V of, unsigned operand) {
    return takes_numbers(of) && is_number(r, LLVMGetOperand(of, operand));
}
