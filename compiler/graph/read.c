/* SPDX-License-Identifier: MIT
** Reads what print.c writes.  The text may come from anyone: every mistake is
** a message with its line.  A line equal to an earlier one is that node; the
** lines after it still count it, so that hand-written graphs may repeat
** themselves.  '#' starts a comment.
*/
#include "op.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const int64_t largest = (int64_t)1 << 48; /* elements of a shape */

typedef struct Reader {
    Graph *g;
    const char *at;
    int line;
    Node **node; /* as numbered in the text */
    int n, cap;
    char *error;
    size_t size;
    jmp_buf *failed;
} Reader;

__attribute__((format(printf, 2, 3))) static _Noreturn void fail(Reader *r, const char *fmt, ...) {
    va_list ap;
    int used = snprintf(r->error, r->size, "line %d: ", r->line);
    va_start(ap, fmt);
    if (used >= 0 && (size_t)used < r->size)
        vsnprintf(r->error + used, r->size - (size_t)used, fmt, ap);
    va_end(ap);
    longjmp(*r->failed, 1);
}

/* == Tokens =============================================================== */

static void blanks(Reader *r) {
    while (*r->at == ' ' || *r->at == '\t')
        r->at++;
}

/* What stands where something else was expected, cut to one short word. */
static const char *found(Reader *r) {
    blanks(r);
    int length = 0;
    while (r->at[length] > ' ' && r->at[length] < 127 && length < 20)
        length++;
    return length ? graph_format(r->g, "'%.*s'", length, r->at) : "the end of the line";
}

static bool accept(Reader *r, const char *token) {
    blanks(r);
    size_t length = strlen(token);
    if (strncmp(r->at, token, length)) return false;
    r->at += length;
    return true;
}

static void expect(Reader *r, const char *token) {
    if (!accept(r, token)) fail(r, "expected '%s', found %s", token, found(r));
}

static int64_t read_integer(Reader *r, const char *what, int64_t most) {
    char *end;
    blanks(r);
    if (*r->at < '0' || *r->at > '9') fail(r, "expected %s, found %s", what, found(r));
    long long v = strtoll(r->at, &end, 10);
    if (v > most) fail(r, "expected %s of at most %lld", what, (long long)most);
    r->at = end;
    return v;
}

static double real(Reader *r) {
    char *end;
    blanks(r);
    double v = strtod(r->at, &end); /* would skip the end of the line */
    if (end == r->at || *r->at <= ' ') fail(r, "expected a number, found %s", found(r));
    r->at = end;
    return v;
}

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

static int hex(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char escaped(Reader *r) {
    if (*r->at != 'x') return *r->at++;
    int high = hex(r->at[1]), low = high < 0 ? -1 : hex(r->at[2]);
    if (low < 0 || !(high || low)) fail(r, "expected two hexadecimal digits after \\x");
    r->at += 3;
    return (char)(high * 16 + low);
}

static const char *quoted(Reader *r) {
    expect(r, "\"");
    char *s = graph_alloc(r->g, strcspn(r->at, "\n") + 1), *out = s;
    while (*r->at != '"') {
        if (!*r->at || *r->at == '\n') fail(r, "expected '\"', found the end of the line");
        char c = *r->at++;
        if (c == '\\' && (!*r->at || *r->at == '\n')) fail(r, "expected '\"' before the end");
        *out++ = c == '\\' ? escaped(r) : c;
    }
    r->at++;
    return graph_string(r->g, s);
}

/* Numbers with commas between them. */
static double *reals(Reader *r, int64_t *count) {
    int64_t n = 0, most = 1;
    for (const char *c = r->at; *c && *c != '\n'; c++)
        most += *c == ',';
    double *list = graph_alloc(r->g, (size_t)most * sizeof *list);
    do
        list[n++] = real(r);
    while (accept(r, ","));
    *count = n;
    return list;
}

/* == Parts of a line ====================================================== */

static Shape shape(Reader *r) {
    Shape s = { 0 };
    s.type = accept(r, "int32") ? I32 : F32;
    expect(r, "[");
    if (accept(r, "tokens")) s.lead = LEAD_TOKENS;
    else if (accept(r, "rows")) {
        s.lead = LEAD_TOKENS;
        s.list = (int)read_integer(r, "the number of a list of rows", MAXLISTS);
        if (!graph_list(r->g, s.list))
            fail(r, "expected a list of rows from before, found rows%d", s.list);
    }
    while (!accept(r, "]")) {
        if (s.rank || s.lead == LEAD_TOKENS) expect(r, ",");
        if (s.rank == MAXRANK) fail(r, "expected at most %d axes", MAXRANK);
        s.dim[s.rank++] = read_integer(r, "the length of an axis", largest);
    }
    return s;
}

static Op op_named(Reader *r) {
    size_t length = 0;
    blanks(r);
    while (is_word(r->at[length]))
        length++;
    for (int op = 0; op < NOP; op++)
        if (strlen(op_info[op].name) == length && !strncmp(r->at, op_info[op].name, length)) {
            r->at += length;
            return (Op)op;
        }
    fail(r, "expected the name of an op, found %s", found(r));
}

static Node *operand(Reader *r) {
    expect(r, "%");
    int64_t id = read_integer(r, "a node's number", INT_MAX);
    if (id >= r->n) fail(r, "expected a node from before, found %%%lld", (long long)id);
    return r->node[id];
}

static Node **operands(Reader *r, int *count) {
    Node **in = NULL;
    int n = 0, cap = 0;
    blanks(r);
    if (*r->at == '%') {
        do {
            in = graph_grown(r->g, in, n, &cap, sizeof *in);
            in[n++] = operand(r);
        } while (accept(r, ","));
    }
    *count = n;
    return in;
}

static Init init(Reader *r, int64_t *count) {
    Init i = { 0 };
    *count = -1;
    if (accept(r, "list")) {
        i.kind = INIT_LIST;
        i.list = reals(r, count);
    } else if (accept(r, "uniform")) {
        i.kind = INIT_UNIFORM;
        i.list = reals(r, &i.points);
        if (i.points < 2) fail(r, "expected two numbers or more of a line");
    } else {
        i.kind = accept(r, "normal") ? INIT_NORMAL : INIT_CONSTANT;
        if (i.kind == INIT_CONSTANT) expect(r, "constant");
        i.value = real(r);
    }
    return i;
}

static Tuning tuning(Reader *r) {
    Tuning t = { .frozen = accept(r, "frozen") };
    t.muon = accept(r, "muon");
    t.own_rate = accept(r, "rate");
    if (t.own_rate) t.rate = real(r);
    t.own_decay = accept(r, "weight_decay");
    if (t.own_decay) t.weight_decay = real(r);
    return t;
}

static void permutation(Reader *r, int *perm) {
    blanks(r);
    for (int i = 0; i < MAXRANK && *r->at >= '0' && *r->at <= '9'; i++, accept(r, ","))
        perm[i] = (int)read_integer(r, "an axis", MAXRANK);
}

/* The flag is the last one read. */
static void field(Reader *r, Attr *a, const AttrField *f, bool *flag) {
    void *x = (char *)a + f->at;
    if (f->type == FIELD_FLAG) {
        *flag = *(bool *)x = accept(r, f->text);
        if (!*flag) expect(r, f->otherwise);
        return;
    }
    if (f->type == FIELD_OPTION) {
        if (accept(r, *flag ? f->text : f->otherwise))
            *(int64_t *)x = read_integer(r, "a size", largest);
        return;
    }
    if (f->type == FIELD_AMOUNT) {
        if (accept(r, f->text)) *(double *)x = real(r);
        return;
    }
    expect(r, f->text);
    switch (f->type) {
    case FIELD_TEXT: *(const char **)x = quoted(r); break;
    case FIELD_NUMBER: *(double *)x = real(r); break;
    case FIELD_AXIS: *(int *)x = (int)read_integer(r, "a number", MAXRANK); break;
    case FIELD_SIZE: *(int64_t *)x = read_integer(r, "a size", largest); break;
    case FIELD_RESULT: *(int64_t *)x = read_integer(r, "a number", MAXRESULT); break;
    case FIELD_PERMUTATION: permutation(r, x); break;
    case FIELD_LIST: *(const double **)x = reals(r, &a->count); break;
    default: break; /* shapes: they follow */
    }
}

static Attr attribute(Reader *r, Op op) {
    Attr a = { 0 };
    bool flag = false;
    for (const AttrField *f = attr_fields(op_info[op].attr); f->type; f++)
        field(r, &a, f, &flag);
    return a;
}

/* What may follow the shape: how the node was made. */
static void history(Reader *r, Attr *a) {
    a->copy = accept(r, "copy=") ? (int)read_integer(r, "a number", INT_MAX) : 0;
    r->g->backward = accept(r, "backward");
    r->g->loc = (Loc){ 0 };
    r->g->site = NULL;
    if (accept(r, "@")) {
        r->g->loc.file = quoted(r);
        expect(r, ":");
        r->g->loc.line = (int)read_integer(r, "a number", INT_MAX);
    }
    if (accept(r, "site")) r->g->site = quoted(r);
}

/* == Lines ================================================================ */

static void read_number(Reader *r, Node *n) {
    r->node = graph_grown(r->g, r->node, r->n, &r->cap, sizeof *r->node);
    r->node[r->n++] = n;
}

static void read_node(Reader *r) {
    const char *error;
    int nin;
    int64_t listed = -1;
    Init start = { 0 };
    Tuning how = { 0 };
    if (read_integer(r, "a node's number", INT_MAX) != r->n)
        fail(r, "expected node %%%d next", r->n);
    expect(r, "=");
    Op op = op_named(r);
    Node **in = operands(r, &nin);
    Attr a = attribute(r, op);
    if (op == OP_param) start = init(r, &listed), how = tuning(r);
    expect(r, ":");
    Shape s = shape(r);
    a.shape = s;
    history(r, &a);
    if (op == OP_param && listed >= 0 && (error = shape_check(r->g, &s))) fail(r, "%s", error);
    if (listed >= 0 && listed != shape_count(&s))
        fail(r, "expected %lld initial values, found %lld", (long long)shape_count(&s),
             (long long)listed);
    const Node *same = op == OP_rows ? graph_list(r->g, (int)a.count) : NULL;
    if (same && (nin != 1 || same->in[0] != in[0]))
        fail(r, "expected another number for a list of rows, found %d again", (int)a.count);
    Node *n = op == OP_param
        ? (a.buffer ? graph_buffer : graph_param)(r->g, a.name, s, start, &error)
        : node_new(r->g, op, nin, in, a, &error);
    if (!n) fail(r, "%s: %s", op_info[op].name, error);
    if (op == OP_param) graph_tune(r->g, a.name, how);
    if (!shape_equal(&n->shape, &s))
        fail(r, "expected shape %s, found %s", shape_text(r->g, &n->shape), shape_text(r->g, &s));
    read_number(r, n);
}

static void read_output(Reader *r) {
    const char *name = quoted(r);
    graph_output(r->g, name, operand(r));
}

static void read_lines(Reader *r) {
    while (*r->at) {
        r->line++;
        if (accept(r, "%")) read_node(r);
        else if (accept(r, "output")) read_output(r);
        blanks(r);
        if (*r->at == '#') r->at += strcspn(r->at, "\n");
        if (*r->at && *r->at != '\n') fail(r, "expected the end of the line, found %s", found(r));
        if (*r->at) r->at++;
    }
    r->g->loc = (Loc){ 0 };
    r->g->site = NULL;
    r->g->backward = false;
}

Graph *graph_read(const char *text, char *error, size_t size) {
    jmp_buf failed;
    Graph *g = graph_new();
    Reader r = { .g = g, .at = text, .error = error, .size = size, .failed = &failed };
    if (setjmp(failed)) {
        graph_free(g);
        return NULL;
    }
    read_lines(&r);
    return g;
}
