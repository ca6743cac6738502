/* SPDX-License-Identifier: MIT
** See routed_programs.h. */
#include "routed_programs.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>

const char routed_text[] = "to <b>&\"be\033[31m or\n not\xc3\xa9 to";

static const char shape[] = "return model { name = '%s', vocab = 256, context = 26, dim = 16, "
                            "tokenizer = 'bytes', norm = rmsnorm {}, residual = %s,\n"
                            "  route_penalty = 0.01, train = { optimizer = adamw { lr = 1e-2 } },\n"
                            "  layers = { one(), one(%s), one(%s), one(%s), one(%s) } }\n";
static const char one[] = "local function one(r) return layer { attention { heads = 2, rope = {} "
                          "}, mlp { hidden = 24 }, route = r } end\n";

/* It makes a list that nothing reads, too. */
static const char own[] =
    "return route { run = function(r, site, x, body)\n"
    "  local z = reshape(r:linear(site, 'router', x, 1, true), {})\n"
    "  rows(step(z - 1))\n"
    "  local list = rows(step(z))\n"
    "  local part = gather(x, list)\n"
    "  return x + reshape(sigmoid(z), { 1 }) * scatter(body(part) - part, list)\n"
    "end }\n";

/* It takes no token at all. */
static const char never[] =
    "return route { run = function(r, site, x, body)\n"
    "  local list = rows(step(reshape(r:linear(site, 'router', x, 1, true), {}) - 1000))\n"
    "  local part = gather(x, list)\n"
    "  return x + scatter(body(part) - part, list)\n"
    "end }\n";

const RoutedKind routed_kind[] = {
    { "mixed",
      "haares { blocks = 2 }",
      { "dtr {}", "dtr { choice = 'skip' }", "dtr { choice = 'expert', capacity = 1 }",
        "dtr { bypass = 'none' }" } },
    { "whole",
      "standard {}",
      { "mod { capacity = 0.4 }", "mod { capacity = 1 }", "dllm { hidden = 6, reserve = 1 }",
        "require 'own' {}" } },
};

const RoutedKind routed_gated = { "gated",
                                  "highway {}",
                                  { "require 'never' {}", "dtr {}", "dtr {}", "dtr {}" } };

void routed_open(Folder *f) {
    folder_open(f);
    folder_write(f, "text", routed_text, sizeof routed_text - 1);
    folder_write(f, "own.lua", own, sizeof own - 1);
    folder_write(f, "never.lua", never, sizeof never - 1);
}

void routed_build(const Folder *f, const RoutedKind *k) {
    char spec[2000], file[64];
    int n = snprintf(spec, sizeof spec, "%s", one);
    n += snprintf(spec + n, sizeof spec - (size_t)n, shape, k->name, k->residual, k->route[0],
                  k->route[1], k->route[2], k->route[3]);
    snprintf(file, sizeof file, "%s.lua", k->name);
    folder_write(f, file, spec, (size_t)n);
    folder_shell(f, "strata build %s", file);
    folder_shell(f, "./%s train --data text --steps 0 --out %s.st", k->name, k->name);
}

void routed_probe(const Folder *f, const RoutedKind *k, Json *j) {
    size_t length;
    Error e = { 0 };
    folder_shell(f, "./%s probe --weights %s.st --data text --json -o page.html", k->name, k->name);
    char *out = folder_read(f, "out", &length);
    if (json_parse(j, "out", out, length, 100000, &e)) fail_msg("%s", e.text);
    free(out);
}
