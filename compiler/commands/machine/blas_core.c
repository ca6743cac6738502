/* SPDX-License-Identifier: MIT
** A small program that is linked with OpenBLAS as models are, and reports which OpenBLAS it is.
*/
#include "blas_library.h"

#include "files.h"
#include "process.h"
#include "work_folder.h"

#include <stdio.h>
#include <string.h>

static const char source[] = "#include <stdio.h>\n"
                             "char *openblas_get_corename(void);\n"
                             "int main(void) { return puts(openblas_get_corename()) < 0; }\n";

static int link_probe(const BlasLibrary *l, char *file, char *program, const char *temporary,
                      const sigset_t *mask, Error *e) {
    char *cc[] = { "cc", "-pthread", "-o", program, file, (char *)l->path, "-lm", NULL };
    FILE *f = fopen(file, "w");
    bool good = f && fputs(source, f) >= 0;
    if (f && fclose(f)) good = false;
    return good ? process_run(cc, temporary, mask, e) : STATUS_IO;
}

static int run_probe(char *program, bool environment, const sigset_t *mask, Text *out, Error *e) {
    char *as_it_is[] = { program, NULL };
    char *without[] = {
        "env",   "-u", "OPENBLAS_CORETYPE", "-u", "OPENBLAS_L2_SIZE", "-u", "OPENBLAS_BLOCK_FACTOR",
        program, NULL
    };
    return process_read(environment ? as_it_is : without, "openblas", mask, NULL, NULL, out, e);
}

bool blas_core(const BlasLibrary *l, bool environment, Allowance *a, char *core, size_t size) {
    WorkFolder w;
    char file[WORK_FILE_PATH], program[WORK_FILE_PATH];
    Text out = { 0 };
    Error ignored = { 0 };
    sigset_t before;
    if (work_folder_open(&w, a, &ignored)) return false;
    print_text(file, sizeof file, "%s/openblas.c", w.path);
    print_text(program, sizeof program, "%s/openblas", w.path);
    process_hold(&before);
    int status = link_probe(l, file, program, w.path, &before, &ignored);
    if (!status) status = run_probe(program, environment, &before, &out, &ignored);
    process_release(&before);
    work_folder_close(&w, a);
    if (!status) print_text(core, size, "%.*s", (int)strcspn(out.at, "\n"), out.at);
    text_free(&out);
    return !status;
}
