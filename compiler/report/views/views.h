/* SPDX-License-Identifier: MIT
** What 'strata inspect' prints of a Report: one file of this folder for each view.
*/
#ifndef STRATA_VIEWS_H
#define STRATA_VIEWS_H

#include "report.h"

typedef enum View {
    VIEW_SUMMARY,
    VIEW_GRAPH,
    VIEW_AFTER,
    VIEW_PASSES,
    VIEW_FOLDED,
    VIEW_HEADER,
    VIEW_KERNELS,
    VIEW_MEMORY,
    VIEW_COST,
    VIEW_MATRIX
} View;

/* json.c: an object and a line end, the same for all views but the matrix */
void report_json(const Report *r, Text *t);

/* text.c, and a file for each view */
void report_text(const Report *r, Text *t);
void report_cost_text(const Report *r, Text *t);

/* cost_svg.c */
void report_cost_svg(const Report *r, Text *t);

/* routed_view.c: what routes leave of work and cache, by length; routed_svg.c: a part of a
** picture, of a report with its dense twin, and how high it is */
void report_routed_text(const Report *r, Text *t);
void report_routed_json(const Report *r, Text *t);
double report_routed_height(const Report *r);
void report_routed_picture(const Report *r, Text *t);

/* listing.c: kernels operation by operation */
void report_kernels_text(const Report *r, Text *t);
/* A kernel's lines alone; with 'places' the Lua line of each goes there, a line for a line. */
void report_kernel_lines(const Report *r, const ReportKernel *k, Text *t, Text *places);

/* memory_view.c: the plan of a training step, or of reading in an inference build */
void report_memory_text(const Report *r, Text *t);
void report_memory_svg(const Report *r, Text *t);

/* graph_view.c: the primitive graph as text; the forward program's kernels, equal
** layers folded, as a picture */
void report_graph_text(const Report *r, Text *t);
void report_graph_svg(const Report *r, Text *t);

/* pass_view.c: the passes of all programs; the graph of the training step, or of reading in an
** inference build, after a pass, which it must run */
void report_passes_text(const Report *r, Text *t);
int report_after_text(const Report *r, Text *t, Error *e);

/* header_view.c: the C header of the model's object */
void report_header(const Report *r, Text *t);

/* fold.c: the primitive graph, equal layers written once */
void report_graph_folded(const Report *r, Text *t);

/* mixing_view.c: the depth-mixing matrix; what can fail is a limit */
int report_matrix_text(const Report *r, Text *t, Error *e);
int report_matrix_json(const Report *r, Text *t, Error *e);
int report_matrix_svg(const Report *r, Text *t, Error *e);

#endif
