/* SPDX-License-Identifier: MIT
** A small program that is linked with OpenBLAS as models are, and reports which OpenBLAS it is.
*/
#include "blas_library.h"

#include "files.h"
#include "process.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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
