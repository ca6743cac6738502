/* SPDX-License-Identifier: MIT
** See two_phase_model.h. */
#include "two_phase_model.h"

#include "test.h"

#include <stdio.h>
#include <string.h>

#include "scratch.h"

const char *const two_phase_applies[APPLIES] = {
    "attnres { blocks = 3 }",
    "attnres { block_size = 3 }",
    "attnres { full = true }",
    "attnres { block_size = 1 }",
    "attnres { full = true, window = 5 }",
    "attnres { block_size = 3, heads = 4 }",
    "attnres { full = true, kernel = 'sigmoid' }",
    "attnres { block_size = 3, heads = 2, kernel = 'sigmoid', key_norm = false }",
    "attnres { full = true, key_gain = false }",
    "attnres { block_size = 3, query = 'static' }",
    "attnres { full = true, query = 'static', window = 4 }",
    "haares { blocks = 3 }",
    "haares { block_size = 4, heads = 2 }",
    "haares { blocks = 2, bias = 0.5, rms_match = false }",
    "haares { block_size = 3, kernel = 'sigmoid' }",
    "haares { block_size = 3, detail = 'duplicate' }",
    "denseformer {}",
    "(require 'pair') {}",
    "(require 'chance') {}",
    "(require 'chance') { soft = true }",
};

/* A mixer in no paper: every state so far, weights by the sum of logits along two axes. */
static const char pair[] =
    "return mixer {\n"
    "  options = {},\n"
    "  open = function(m, e) return { h = e, all = { e } } end,\n"
    "  read = function(m, s, site)\n"
    "    local N, D = #s.all, m.dim\n"
    "    m:sources(N)\n"
    "    local V = stack(s.all)\n"
    "    local P = tanh(reshape(V * m:param(site, 'key', { D }, 0.5), { N, 2, D // 2 }))\n"
    "    local z = sum(sum(P, 3) * m:param(site, 'two', { N, 2 }, 1), 2) + m:param(site, 'old', { "
    "N }, 0)\n"
    "    return sum(V * reshape(softmax(z, 1), { N, 1 }), 1)\n"
    "  end,\n"
    "  write = function(m, s, site, out)\n"
    "    local all = table.move(s.all, 1, #s.all, 1, {})\n"
    "    all[#all + 1] = s.h + out\n"
    "    return { h = s.h + out, all = all }\n"
    "  end,\n"
    "  close = function(m, s) return s.h end,\n"
    "}\n";

/* Sources weighed by numbers drawn for each, or left out by chance with noise on their logits. */
static const char chance[] =
    "local function read(m, s, site)\n"
    "  local N, D = #s, m.dim\n"
    "  m:sources(N)\n"
    "  local V, u, last = stack(s), random(N), {}\n"
    "  for i = 1, N do last[i] = i == N and 1 or 0 end\n"
    "  if not m.options.soft then return sum(reshape(u, { N, 1 }) * V, 1) end\n"
    "  local q = m:param(site, 'query', { D }, 0.5)\n"
    "  local z = sum(V * q, 2) * rsqrt(mean(V * V, 2) + m.eps)\n"
    "  z = select(sampling(), z - 0.3 * log(-log(u)), z)\n"
    "  local keep = max(step(u - 0.3), stack(last))\n"
    "  z = select(reshape(sampling(), { 1 }) * (1 - keep), -1e9, z)\n"
    "  return sum(reshape(softmax(z, 1), { N, 1 }) * V, 1)\n"
    "end\n"
    "return mixer {\n"
    "  options = { soft = { type = 'boolean', default = false } },\n"
    "  open = function(m, e) return { e } end, read = read, close = read,\n"
    "  write = function(m, s, site, out)\n"
    "    local all = table.move(s, 1, #s, 1, {})\n"
    "    all[#all + 1] = out\n"
    "    return all\n"
    "  end,\n"
    "}\n";

const char *two_phase_text(const char *residual, int layers, int dim, char *text, size_t size) {
    snprintf(text, size,
             "return model { name = 'two', vocab = %d, context = 32, dim = %d, norm = rmsnorm {}, "
             "residual = %s,\n"
             "  layers = times(%d, layer { attention { heads = 2, rope = {} }, mlp { hidden = 24 } "
             "}) }\n",
             VOCAB, dim, residual, layers);
    return text;
}

Model *two_phase_load(void **state, const char *residual, int layers, int dim) {
    char path[SCRATCH_PATH], text[1024];
    Error error;
    two_phase_text(residual, layers, dim, text, sizeof text);
    scratch_write(scratch_path(state, "two.lua", path), text, strlen(text));
    Model *m = spec_load(path, NULL, &error);
    if (!m) fail_msg("%s", error.text);
    return m;
}

int two_phase_setup(void **state) {
    char path[SCRATCH_PATH];
    int status = scratch_setup(state);
    if (status) return status;
    scratch_write(scratch_path(state, "pair.lua", path), pair, sizeof pair - 1);
    scratch_write(scratch_path(state, "chance.lua", path), chance, sizeof chance - 1);
    return 0;
}
