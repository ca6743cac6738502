/* SPDX-License-Identifier: MIT
** See fuzz_lists.h.  A read writes its pieces, vectors of the model's width, into the Lua list p,
** run by run: pieces of a run are of one kind.  Then they become a matrix [n, D], and what is made
** of that is a vector again.  Values stay between -1 and 1 or so.
*/
#include "fuzz_lists.h"

#include <stdio.h>
#include <stdlib.h>

#include "numeric.h"

typedef struct Lists {
    FILE *f;
    Random random;
    int dim, streams, shortest, longest, pieces, names;
    bool outputs; /* the state has every output so far */
} Lists;

static int below(Lists *s, int count) { return draw_below(&s->random, count); }
static bool coin(Lists *s) { return below(s, 2); }

#define say(s, ...) fprintf((s)->f, __VA_ARGS__)

/* == Vectors ============================================================== */

static void vector(Lists *s, int depth);

/* A parameter's shape follows; each text of one has a name of its own. */
static void param(Lists *s) { say(s, "P('p%d', ", s->names++); }

static void leaf(Lists *s) {
    switch (below(s, 7)) {
    case 0: say(s, "e"); break;
    case 1: say(s, "from(%d)", below(s, 9)); break;
    case 2: param(s), say(s, "{ D })"); break;
    case 3:
        if (s->pieces) {
            say(s, "p[%d]", 1 + below(s, s->pieces));
            break;
        } /* fallthrough */
    default: say(s, "h");
    }
}

static void computed(Lists *s, int depth) {
    static const char *const before[] = { "tanh(", "0.8 * (", "erf(", "-(" };
    int way = below(s, 7);
    if (way < 4) say(s, "%s", before[way]), vector(s, depth - 1), say(s, ")");
    if (way == 4) say(s, "silu("), vector(s, depth - 1), say(s, ")");
    if (way == 5)
        say(s, "(0.6 * "), vector(s, depth - 1), say(s, " + 0.5 * "), vector(s, depth - 1),
            say(s, ")");
    if (way == 6)
        say(s, "("), vector(s, depth - 1), say(s, " * "), param(s),
            say(s, coin(s) ? "{ D }))" : "{ 1 }))");
}

static void viewed(Lists *s, int depth) {
    int way = below(s, 6);
    if (way < 2) say(s, "roll("), vector(s, depth - 1), say(s, ", %d)", below(s, 9));
    if (way == 2) say(s, "swap("), vector(s, depth - 1), say(s, ", %d)", 1 + below(s, 5));
    if (way == 3)
        say(s, "joined("), vector(s, depth - 1), say(s, ", "), vector(s, depth - 1),
            say(s, ", %d)", below(s, 9));
    if (way > 3) {
        int rows = 1 + below(s, 5);
        say(s, "row("), vector(s, depth - 1), say(s, " * "), param(s);
        say(s, "{ %d, D }), %d)", rows, 1 + below(s, rows));
    }
}

/* A stack in a stack: of as few as one, so that it is not one. */
static void nested(Lists *s, int depth) {
    int n = 1 + below(s, 4);
    say(s, coin(s) ? "mean(stack { " : "chosen(stack { ");
    for (int i = 0; i < n; i++)
        vector(s, depth - 1), say(s, i + 1 < n ? ", " : " }, 1)");
}

static void vector(Lists *s, int depth) {
    int way = depth > 0 ? below(s, 12) : 0;
    if (way < 3) leaf(s);
    else if (way < 7) computed(s, depth);
    else if (way < 10) viewed(s, depth);
    else if (way == 10) nested(s, depth);
    else if (coin(s)) say(s, "unit("), vector(s, depth - 1), say(s, ")");
    else say(s, "linear(h + "), vector(s, depth - 1), say(s, ", "), param(s), say(s, "{ D, D }))");
}

/* == Runs ================================================================= */

typedef void Run(Lists *s, int count);

#define EACH "    for i = 1, %d do p[#p + 1] = "

/* Rows of one matrix, of a value computed here, stored or of parameters. */
static void rows_of_one(Lists *s, int count) {
    static const char *const piece[] = { "row(v, i)", "roll(row(v, i), i)", "row(v, %d - i)",
                                         "tanh(row(v, i))", "swap(row(v, i), 2)" };
    int way = below(s, 4);
    say(s, "    v = ");
    if (way < 2)
        say(s, "reshape("), vector(s, 2), say(s, ", { 1, D }) * "), param(s),
            say(s, "{ %d, D })\n", count);
    if (way == 2)
        say(s, "reshape(linear(h - "), vector(s, 1), say(s, ", "), param(s),
            say(s, "{ %d * D, D })), { %d, D })\n", count, count);
    if (way == 3) param(s), say(s, "{ %d, D })\n", count);
    say(s, EACH, count);
    say(s, piece[below(s, 5)], count + 1);
    say(s, " end\n");
}

static void computed_each(Lists *s, int count) {
    say(s, EACH, count);
    say(s, "tanh(("), vector(s, 1),
        say(s, ") * P('p%d.' .. i, { %s })) end\n", s->names++, coin(s) ? "D" : "1");
}

static void params_each(Lists *s, int count) {
    say(s, EACH "P('p%d.' .. i, { D }) end\n", count, s->names++);
}

static void repeated(Lists *s, int count) {
    say(s, "    v = "), vector(s, 3);
    say(s, "\n" EACH "v end\n", count);
}

static void chain(Lists *s, int count) {
    say(s, "    v = "), vector(s, 1);
    say(s, "\n    for i = 1, %d do\n      v = %s\n      p[#p + 1] = %s\n    end\n", count,
        coin(s) ? "0.9 * v + 0.1 * h" : "tanh(v * P('c', { 1 }) + 0.2 * h)",
        coin(s) ? "v" : "roll(v, i)");
}

static void outputs(Lists *s, int count) { say(s, EACH "from(i) end\n", count); }

static void different(Lists *s, int count) {
    for (int i = 0; i < count; i++)
        say(s, "    p[#p + 1] = "), vector(s, 2), say(s, "\n");
}

/* What is in the list already, once more, through a stack of it. */
static void again(Lists *s, int count) {
    if (!s->pieces) {
        repeated(s, count);
        return;
    }
    say(s, "    v = stack(p)\n");
    say(s, EACH "row(v, 1 + (i * %d) %% %d) end\n", count, 1 + below(s, 7), s->pieces);
}

static void shared(Lists *s, int count) {
    if (!s->pieces) {
        computed_each(s, count);
        return;
    }
    say(s, EACH "%s end\n", count,
        coin(s) ? "p[1 + i % (#p // 2 + 1)]" : "0.5 * p[1 + (i * 5) % #p]");
}

static void columns(Lists *s, int count) {
    int other = s->names++;
    say(s, "    v = "), vector(s, 2);
    say(s, "\n    local w%d = ", other), vector(s, 1);
    say(s, "\n" EACH "joined(v, w%d, i) end\n", count, other);
}

static void products(Lists *s, int count) {
    say(s, EACH "linear(h, P('p%d.' .. i, { D, D })) end\n", count, s->names++);
}

static void add_run(Lists *s, int left) {
    static Run *const run[] = { rows_of_one, rows_of_one, rows_of_one, computed_each, params_each,
                                repeated,    chain,       outputs,     different,     again,
                                shared,      columns,     products };
    static const int most[] = { 300, 300, 300, 300, 300, 300, 40, 300, 12, 300, 300, 300, 6 };
    int way = below(s, sizeof most / sizeof *most);
    int count = 1 + below(s, left < most[way] ? left : most[way]);
    if (left <= most[way] && !below(s, 4)) count = left;
    say(s, "    -- %d from %d\n", count, s->pieces + 1);
    run[way](s, count);
    s->pieces += count;
}

/* == Reads ================================================================ */

/* The list p, all of it, as a matrix V of rows. */
static void matrix(Lists *s) {
    int n = s->pieces;
    switch (below(s, n % 2 ? 5 : 7)) {
    case 0: say(s, "    V = reshape(concat(p, 1), { %d, D })\n", n); break;
    case 1: say(s, "    V = concat({ stack(p), "), param(s), say(s, "{ 1, D }) }, 1)\n"); break;
    case 2:
        say(s, "    for i = 1, %d do p[i] = reshape(p[i], { D, 1 }) end\n", n);
        say(s, "    V = transpose(concat(p, 2), { 2, 1 })\n");
        break;
    case 5:
        say(s,
            "    V = reshape(stack { stack(table.move(p, 1, %d, 1, {})), "
            "stack(table.move(p, %d, %d, 1, {})) }, { %d, D })\n",
            n / 2, n / 2 + 1, n, n);
        break;
    case 6:
        say(s,
            "    V = concat({ stack(table.move(p, %d, %d, 1, {})), "
            "stack(table.move(p, 1, %d, 1, {})) }, 1)\n",
            n / 2 + 1, n, n / 2);
        break;
    default: say(s, "    V = stack(p)\n");
    }
    if (!below(s, 4)) say(s, "    V = V * "), param(s), say(s, "{ %s, 1 })\n", "V:shape()[1]");
}

/* A vector made of all rows of V, or of some. */
static void reading(Lists *s) {
    switch (below(s, 8)) {
    case 0:
    case 1: say(s, "weighted(V, softmax(sum(V * "), param(s), say(s, "{ D }), 2), 1))"); break;
    case 2: say(s, "weighted(V, "), param(s), say(s, "{ V:shape()[1] })) / n ^ 0.5"); break;
    case 3: say(s, "sum(softmax(V * "), param(s), say(s, "{ 1 }), 1) * V, 1)"); break;
    case 4: say(s, "largest(V)"); break;
    case 5: say(s, "some(V, %d, %d)", below(s, 300), below(s, 300)); break;
    case 6: say(s, "reshape(sum(V, 1), { D }) / n"); break;
    default: say(s, "weighted(V, softmax(sum(V * h, 2) * rsqrt(mean(V * V, 2) + 0.1), 1))");
    }
}

static void list_of(Lists *s) {
    static const int lengths[] = { 2, 3, 5, 8, 15, 16, 17, 18, 24, 31, 32, 33, 48, 64, 65 };
    int n = below(s, 3) ? lengths[below(s, 15)] : 2 + below(s, s->longest - 1);
    if (n > s->longest) n = s->longest;
    if (n < s->shortest) n = s->shortest;
    say(s, "    p = {}\n");
    for (s->pieces = 0; s->pieces < n;)
        add_run(s, n - s->pieces);
    if (coin(s)) say(s, "    p = mixed(p, %d)\n", 1 + below(s, 20));
    matrix(s);
    say(s, "    n = V:shape()[1]\n    m:sources(n)\n");
    for (int reads = 1 + below(s, 2) * below(s, 3); reads; reads--)
        say(s, "    r = r + "), reading(s), say(s, "\n");
    s->pieces = 0;
}

/* == Specs ================================================================ */

/* Helpers of the mixer; D is the width. */
static const char helpers[] =
    "local function row(v, i)\n"
    "  local D = v:shape()[2]\n"
    "  return reshape(slice(v, 1, i, 1), { D })\n"
    "end\n"
    "local function roll(x, i)\n"
    "  local D = x:shape()[1]\n"
    "  i = i % D\n"
    "  if i == 0 then return x end\n"
    "  return concat({ slice(x, 1, i + 1, D - i), slice(x, 1, 1, i) }, 1)\n"
    "end\n"
    "local function joined(x, y, i)\n"
    "  local D = x:shape()[1]\n"
    "  i = i % D\n"
    "  if i == 0 then return x + 0.1 * y end\n"
    "  return concat({ slice(x, 1, 1, i), slice(y, 1, i + 1, D - i) }, 1)\n"
    "end\n"
    "local function swap(x, k)\n"
    "  local D = x:shape()[1]\n"
    "  while D % k > 0 do k = k - 1 end\n"
    "  return reshape(transpose(reshape(x, { k, D // k }), { 2, 1 }), { D })\n"
    "end\n"
    "local function silu(x) return x * sigmoid(x) end\n"
    "local function unit(x) return x * rsqrt(mean(x * x, 1) + 0.1) end\n"
    "local function weighted(V, w) return sum(reshape(w, { V:shape()[1], 1 }) * V, 1) end\n"
    "local function chosen(V, axis) return sum(softmax(V, axis) * V, axis) end\n"
    "local function largest(V)\n"
    "  local top = peak(V, 1)\n"
    "  return top + log(mean(exp(V - reshape(top, { 1, V:shape()[2] })), 1))\n"
    "end\n"
    "local function some(V, i, count)\n"
    "  local n = V:shape()[1]\n"
    "  i = i % n\n"
    "  count = 1 + count % (n - i)\n"
    "  return sum(slice(V, 1, i + 1, count), 1) / count + 0.05 * mean(V, 1)\n"
    "end\n"
    "local function mixed(p, step)\n"
    "  local q, n = {}, #p\n"
    "  while n % step == 0 and step > 1 do step = step - 1 end\n"
    "  local function common(a, b) return b == 0 and a or common(b, a % b) end\n"
    "  if common(n, step) > 1 then step = 1 end\n"
    "  for i = 1, n do q[i] = p[1 + i * step % n] end\n"
    "  return q\n"
    "end\n";

static void read_function(Lists *s) {
    say(s,
        "local function look(m, state, site)\n"
        "  local D, h, e, o = m.dim, state.h, state.e, state.outputs\n"
        "  local p, r, n, v, V = nil, 0\n"
        "  local function P(name, shape) return m:param(site, name, shape, normal(0.3)) end\n"
        "  local function from(i) return o[1 + i %% #o] end\n"
        "  do\n");
    if (s->streams) say(s, "    h = row(state.X, 1 + site.index %% %d)\n", s->streams);
    for (int lists = 1 + !below(s, 3); lists; lists--)
        list_of(s);
    say(s, "  end\n  return r + %s\nend\n", coin(s) ? "0.2 * h" : "0.3 * h");
}

static void mixer(Lists *s) {
    read_function(s);
    say(s, "local own = mixer {\n  open = function(m, e) return { h = e, e = e, ");
    if (s->streams)
        say(s, "X = reshape(e, { 1, m.dim }) * m:param('x', 'open', { %d, m.dim }, 1), ",
            s->streams);
    say(s,
        "outputs = { e } } end,\n  read = look,\n"
        "  write = function(m, state, site, out)\n"
        "    local o, X = table.move(state.outputs, 1, #state.outputs, 1, {}), state.X\n");
    if (s->outputs) say(s, "    o[#o + 1] = out\n");
    if (s->streams)
        say(s,
            "    local A = m:param(site, 'mix', { %d, %d, 1 }, normal(0.4))\n"
            "    X = sum(A * reshape(X, { 1, %d, m.dim }), 2) + reshape(out, { 1, m.dim })\n",
            s->streams, s->streams, s->streams);
    say(s, "    return { h = %s, e = state.e, X = X, outputs = o }\n  end,\n",
        coin(s) ? "state.h + out" : "0.7 * state.h + tanh(out)");
    say(s, "  close = %s,\n}\n",
        coin(s)          ? "look"
            : s->streams ? "function(m, state) return sum(state.X, 1) + state.h end"
                         : "function(m, state) return state.h end");
}

static void layers(Lists *s) {
    int heads = s->dim % 2 ? 1 : 2;
    bool attends = !below(s, 3);
    say(s, "  layers = times(%d, layer { ", 1 + below(s, 3));
    if (attends) say(s, "attention { heads = %d, head_dim = %d }, ", heads, 1 + below(s, 6));
    if (!attends || coin(s)) say(s, "mlp { hidden = %d }, ", 1 + below(s, 40));
    say(s, "}),\n");
}

char *fuzz_lists(uint64_t seed, int shortest, int longest) {
    static const int dims[] = { 1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 48, 64, 100 };
    char *text = NULL;
    size_t size;
    Lists s = { .f = open_memstream(&text, &size), .random = { seed * 15485863 + 7 } };
    if (!s.f) abort();
    s.shortest = shortest;
    s.longest = longest;
    s.dim = dims[below(&s, sizeof dims / sizeof *dims)];
    s.streams = below(&s, 3) ? 0 : 1 + below(&s, 4);
    s.outputs = below(&s, 3);
    fputs(helpers, s.f);
    mixer(&s);
    say(&s, "return model {\n  name = 'lists_%llu', vocab = %d, context = %d, dim = %d,\n",
        (unsigned long long)seed, 2 + below(&s, 12), 5 + below(&s, 12), s.dim);
    say(&s, "  norm = rmsnorm { eps = 1e-3 }, residual = own {},\n");
    layers(&s);
    say(&s, "}\n");
    if (fclose(s.f)) abort();
    return text;
}
