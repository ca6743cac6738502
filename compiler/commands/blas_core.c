/* SPDX-License-Identifier: MIT
** An OpenBLAS is asked by a program that is linked with it, as models are. */
#include "blas_library.h"

#include "files.h"
#include "process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static const char source[] = "#include <stdio.h>\n"
                             "char *openblas_get_corename(void);\n"
                             "int main(void) { return puts(openblas_get_corename()) < 0; }\n";

static int link_probe(const BlasLibrary *l, char *file, char *program, const sigset_t *mask,
                      Error *e) {
    char *cc[] = { "cc", "-pthread", "-o", program, file, (char *)l->path, "-lm", NULL };
    FILE *f = fopen(file, "w");
    bool good = f && fputs(source, f) >= 0;
    if (f && fclose(f)) good = false;
    return good ? process_run(cc, mask, e) : STATUS_IO;
}

static int run_probe(char *program, bool environment, const sigset_t *mask, Text *out, Error *e) {
    char *as_it_is[] = { program, NULL };
    char *without[] = {
        "env",   "-u", "OPENBLAS_CORETYPE", "-u", "OPENBLAS_L2_SIZE", "-u", "OPENBLAS_BLOCK_FACTOR",
        program, NULL
    };
    return process_read(environment ? as_it_is : without, "openblas", mask, NULL, out, e);
}

bool blas_core(const BlasLibrary *l, bool environment, char *core, size_t size) {
    const char *where = getenv("TMPDIR");
    char folder[256], file[300], program[300];
    Text out = { 0 };
    Error ignored = { 0 };
    sigset_t before;
    int n = print_text(folder, sizeof folder, "%s/strata-XXXXXX", where && *where ? where : "/tmp");
    if (n >= (int)sizeof folder || !mkdtemp(folder)) return false;
    print_text(file, sizeof file, "%s/openblas.c", folder);
    print_text(program, sizeof program, "%s/openblas", folder);
    process_hold(&before);
    int status = link_probe(l, file, program, &before, &ignored);
    if (!status) status = run_probe(program, environment, &before, &out, &ignored);
    process_release(&before);
    unlink(file), unlink(program), rmdir(folder);
    if (!status) print_text(core, size, "%.*s", (int)strcspn(out.at, "\n"), out.at);
    text_free(&out);
    return !status;
}

/* As OpenBLAS names its kernels for x86-64. */
int blas_core_bits(const char *core) {
    static const struct {
        const char *name;
        int bits;
    } known[] = { { "SkylakeX", 512 },    { "Cooperlake", 512 }, { "SapphireRapids", 512 },
                  { "Haswell", 256 },     { "Zen", 256 },        { "Excavator", 256 },
                  { "Steamroller", 256 }, { "Piledriver", 256 }, { "Bulldozer", 256 },
                  { "Sandybridge", 256 }, { "Prescott", 128 },   { "Core2", 128 },
                  { "Penryn", 128 },      { "Dunnington", 128 }, { "Nehalem", 128 },
                  { "Athlon", 128 },      { "Opteron", 128 },    { "Opteron_SSE3", 128 },
                  { "Barcelona", 128 },   { "Bobcat", 128 },     { "Nano", 128 },
                  { "Atom", 128 },        { "Katmai", 128 },     { "Coppermine", 128 },
                  { "Northwood", 128 },   { "Banias", 128 } };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strcasecmp(core, known[i].name)) return known[i].bits;
    return 0;
}

const char *blas_core_better(const char *core, const char *native) {
    int bits = blas_core_bits(core);
    bool wide = native && !strncmp(native, "x86-64-v4", 9),
         middle = native && !strncmp(native, "x86-64-v3", 9);
    if (!bits) return NULL;
    if (wide && bits < 512) return "SkylakeX";
    return middle && bits < 256 ? "Haswell" : NULL;
}
