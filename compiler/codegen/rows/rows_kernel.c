/* SPDX-License-Identifier: MIT
** A row kernel as a function: tiles of tokens, the groups of each tile, what is cleared before the
** tiles, and what is written after them.
*/
#include "attributes.h"
#include "lines.h"
#include "rows_code.h"
#include "fatal.h"

#include <stdlib.h>
#include <string.h>

/* Small results were kept with a tile's tokens side by side. */
static void flush_small(RowCode *c) {
    Emit *e = c->e;
    c->now.mode = MODE_CHANNELS;
    c->now.lanes = 1;
    memory_begin(c);
    for (int i = 0; i < c->r->nvalue; i++) {
        const RowValue *v = &c->r->value[i];
        if (!v->here || !v->stored || !v->lies.nout || !rows_small(v->n)
            || v->n->shape.lead != LEAD_TOKENS)
            continue;
        Loop rows = e_loop(e, e_i64(e, 0), c->now.rows, 1);
        c->now.row = rows.i;
        c->now.t = e_iadd(e, c->now.t0, rows.i);
        Loop l = e_loop(e, e_i64(e, 0), e_i64(e, shape_count(&v->n->shape)), 1);
        int64_t step = 0;
        V at = memory_scratch_address(c, v, l.i, &step);
        memory_test(c, memory_scratch(c), at, 1, false);
        V x = e_load(e, at, 1);
        for (int k = 0; k < v->lies.nout; k++)
            memory_write_out(c, v->lies.out[k], v->n, l.i, 0, x);
        e_end(e, l);
        e_end(e, rows);
    }
}

/* A granule's sums start at zero with its first token. */
static void clear_partials(RowCode *c) {
    Emit *e = c->e;
    bool any = false;
    for (int i = 0; i < c->r->nfixed; i++)
        any |= c->r->operand[i].ref.area == AREA_GRANULE;
    if (!any) return;
    V place = LLVMBuildSRem(e->b, c->now.t0, e_i64(e, GRANULE), "");
    LLVMBasicBlockRef after = e_if(e, LLVMBuildICmp(e->b, LLVMIntEQ, place, e_i64(e, 0), ""));
    V granule = e_idiv(e, c->now.t0, GRANULE);
    for (int i = 0; i < c->r->nfixed; i++) {
        const Operand *o = &c->r->operand[i];
        if (o->ref.area != AREA_GRANULE) continue;
        V stride = memory_stride(c, i),
          row = e_at(e, memory_base(c, i), e_imul(e, granule, stride));
        Loop l = e_loop(e, e_i64(e, 0), stride, 1);
        V at = e_at(e, row, l.i);
        memory_test(c, i, at, 1, true);
        e_store(e, at, e_f32(e, 0));
        e_end(e, l);
    }
    e_endif(e, after);
}

static void emit_tiles(RowCode *c) {
    Emit *e = c->e;
    int step = c->r->lanes;
    Loop tiles = e_loop(e, c->first, c->end, step);
    c->now.t0 = tiles.i;
    c->now.rows = e_imin(e, e_i64(e, step), e_isub(e, c->end, tiles.i));
    memory_begin(c);
    clear_partials(c);
    for (int i = 0; i < c->r->ngroup;)
        i = c->r->group[i].mode != MODE_UNIFORM ? loops_emit(c, i) : i + 1;
    flush_small(c);
    e_end(e, tiles);
}

void rows_emit(Emit *e, const Rows *r, const char *name) {
    LLVMTypeRef args[] = { e->ptr, e->i64, e->i64, e->ptr };
    V fn = e_function(e, name, 4, args);
    Loc loc = r->step->n ? r->step->node[0]->loc : (Loc){ 0 };
    lines_function(e->lines, name, loc);
    attribute_add(fn, "noinline"); /* profiles name it; a call is nothing beside it */
    if (e->plain || e->check) attribute_add(fn, "optnone");
    if (e->plain) LLVMSetSection(fn, ".text.probe");
    RowCode c = { .e = e, .r = r, .now.copies = 1 };
    c.p = checked_new((size_t)r->noperand + 1, sizeof *c.p);
    c.stacks.row_table = checked_new((size_t)r->nvalue + 1, sizeof *c.stacks.row_table);
    c.stacks.wanted = checked_new((size_t)r->nvalue + 1, sizeof *c.stacks.wanted);
    c.first = LLVMGetParam(fn, 1);
    c.end = e_iadd(e, c.first, LLVMGetParam(fn, 2));
    c.scratch = LLVMGetParam(fn, 3);
    c.table = LLVMGetParam(fn, 0);
    memory_begin(&c);
    if (r->count) c.count = e_number(e, memory_base(&c, r->count_at));
    c.fence = fence_open(e, c.table, r->noperand, c.scratch, r->scratch);
    for (int i = 0; i < r->ngroup; i++)
        if (r->group[i].mode == MODE_UNIFORM) loops_emit(&c, i);
    if (r->step->kind == STEP_ROW) emit_tiles(&c);
    e_return(e);
    lines_none(e->lines);
    free(c.p), free(c.stacks.row_table), free(c.stacks.wanted), free(c.memos.at),
        free(c.memos.last);
}
