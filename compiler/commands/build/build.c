/* SPDX-License-Identifier: MIT
** strata build: from a spec to a program.  Everything that runs inside LLVM happens in a forked
** child, because running out of memory there ends the process.  All files are made in a temporary
** folder; what the user asked for appears whole, by rename, or not at all.
*/
#include "build.h"
#include "blas_library.h"
#include "command.h"
#include "kernel_cache.h"
#include "kernel_object.h"
#include "link.h"
#include "prefix.h"
#include "probe_graph.h"
#include "process.h"
#include "json.h"
#include "publish.h"
#include "report.h"
#include "model_info.h"
#include "planned.h"
#include "work_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Files on the way; "" where there is none. */
typedef struct Scratch {
    WorkFolder folder;
    char object[WORK_FILE_PATH], kernels[WORK_FILE_PATH], library[WORK_FILE_PATH];
    char header[WORK_FILE_PATH], result[WORK_FILE_PATH];
    char carried[WORK_FILE_PATH];  /* a file's bytes */
    char assembly[WORK_FILE_PATH]; /* what makes an object of them */
    char mark[WORK_FILE_PATH];     /* the same of what says that a build made it */
} Scratch;

/* == Compiling, in the child ============================================== */

static int write_failed(const char *path, Error *e) { return error_errno(e, path, "write", errno); }

static int write_bytes(const char *path, const void *data, size_t size, Error *e) {
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(data, 1, size, f) == size;
    if (f && fclose(f)) ok = false;
    return ok ? STATUS_OK : write_failed(path, e);
}

static int write_marked(const char *path, const CompiledModel *code, EmitKind emit, Error *e) {
    const char *mark = build_mark(emit);
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(code->data, 1, code->size, f) == code->size && fputs(mark, f) >= 0;
    if (f && fclose(f)) ok = false;
    return ok ? STATUS_OK : write_failed(path, e);
}

static int write_header(const char *path, const CompiledModel *code, const ModelInfo *info,
                        const char *prefix, Error *e) {
    FILE *f = fopen(path, "w");
    if (f) codegen_header(code, info, prefix, f);
    bool ok = f && !ferror(f);
    if (f && fclose(f)) ok = false;
    return ok ? STATUS_OK : write_failed(path, e);
}

static int write_library(const char *path, int library, Error *e) {
    size_t size;
    const void *data = kernel_object(library, &size);
    return write_bytes(path, data, size, e);
}

/* What compiling takes is told of all of it. */
static int compile_cached(const Graph *g, const ModelInfo *info, const BuildOptions *o,
                          CompiledModel *out, Error *e) {
    CodegenOptions code = o->code;
    KernelCache cache;
    if (o->no_cache || o->facts) return planned_compile(g, info, &code, out, e);
    kernel_cache_open(&cache);
    if (cache.folder >= 0) code.store = &cache.store;
    int status = planned_compile(g, info, &code, out, e);
    kernel_cache_close(&cache, o->allowance->console);
    return status;
}

static int compile(const Model *m, const BuildOptions *o, const Scratch *s, Error *e) {
    ModelInfo info = model_info(m);
    CompiledModel code;
    ProbeGraph probe = { 0 };
    if (o->code.main) probe = probe_graph(m), info.probe = &probe;
    int status = compile_cached(m->graph, &info, o, &code, e);
    if (status) return status;
    status = write_marked(s->object, &code, o->code.emit, e);
    if (!status && code.kernels)
        status = write_bytes(s->kernels, code.kernels, code.kernels_size, e);
    if (!status && code.library >= 0) status = write_library(s->library, code.library, e);
    if (!status && *s->header) status = write_header(s->header, &code, &info, o->code.prefix, e);
    codegen_free(&code);
    graph_free(probe.graph);
    return status;
}

/* What compiling takes, for the child. */
typedef struct CompileWork {
    const Model *m;
    const BuildOptions *o;
    const Scratch *s;
} CompileWork;

/* No handlers of exit: LLVM's take longer than the end of the process. */
static int compile_work(void *work, Error *e) {
    const CompileWork *w = work;
    _exit(compile(w->m, w->o, w->s, e));
}

/* == Files ================================================================ */

static int scratch_open(Scratch *s, const char *prefix, bool header, Allowance *a, Error *e) {
    int status = work_folder_open(&s->folder, a, e);
    const char *folder = s->folder.path;
    if (status) return status;
    snprintf(s->object, sizeof s->object, "%s/%.64s.o", folder, prefix);
    snprintf(s->kernels, sizeof s->kernels, "%s/%.64s.kernels.a", folder, prefix);
    snprintf(s->library, sizeof s->library, "%s/%.64s.library.o", folder, prefix);
    snprintf(s->header, sizeof s->header, header ? "%s/model.h" : "", folder);
    snprintf(s->result, sizeof s->result, "%s/result", folder);
    snprintf(s->carried, sizeof s->carried, "%s/carried", folder);
    snprintf(s->mark, sizeof s->mark, "%s/mark.s", folder);
    snprintf(s->assembly, sizeof s->assembly, "%s/carried.s", folder);
    return STATUS_OK;
}

/* By their names: there may be no descriptor left to list the folder with. */
static void scratch_close(Scratch *s, Allowance *a) {
    const char *file[] = { s->object, s->kernels, s->library,  s->header,
                           s->result, s->carried, s->assembly, s->mark };
    for (size_t i = 0; i < sizeof file / sizeof *file; i++)
        if (*file[i]) unlink(file[i]);
    work_folder_close(&s->folder, a);
}

/* FILE.h: FILE without its .o, .a or .so. */
static char *header_name(const char *output) {
    static const char *const suffix[] = { ".o", ".a", ".so" };
    size_t n = strlen(output);
    for (int i = 0; i < 3; i++) {
        size_t k = strlen(suffix[i]);
        if (n > k && !strcmp(output + n - k, suffix[i])) {
            n -= k;
            break;
        }
    }
    char *name;
    return asprintf(&name, "%.*s.h", (int)n, output) < 0 ? NULL : name;
}

/* == Building ============================================================= */

/* An object that may not have been made: NULL. */
static int made(const char *path, const char **file, Error *e) {
    bool there = !access(path, F_OK);
    *file = there ? path : NULL;
    return there || errno == ENOENT ? STATUS_OK : error_errno(e, path, "look at", errno);
}

static int objects_made(const Scratch *s, LinkObjects *objects, Error *e) {
    objects->own = s->object;
    int status = made(s->kernels, &objects->kernels, e);
    return status ? status : made(s->library, &objects->library, e);
}

static int add_code(const char *path, int64_t *bytes, Error *e) {
    int64_t more = 0;
    int status = path ? code_size(path, &more, e) : STATUS_OK;
    *bytes += more;
    return status;
}

static int compile_counted(const Model *m, const BuildOptions *o, const Scratch *s,
                           LinkObjects *objects, const sigset_t *mask, Error *e) {
    CompileWork w = { m, o, s };
    double start = process_children_seconds();
    step_note(allowance_step(o->allowance), m->graph->n, "code generation");
    int status = allowance_run(o->allowance, compile_work, &w, mask, e);
    if (!status) status = objects_made(s, objects, e);
    if (status || !o->facts) return status;
    int64_t *bytes = &o->facts->code_bytes;
    o->facts->seconds = process_children_seconds() - start;
    *bytes = 0;
    status = add_code(objects->own, bytes, e);
    if (!status) status = add_code(objects->kernels, bytes, e);
    return status ? status : add_code(objects->library, bytes, e);
}

/* The tokenizer's file as the program finds it (runtime/commands/program_tokenizer.c): its hash in
** 72 bytes, its size, its bytes. */
static int carry_file(const CarriedFile *f, const Scratch *s, LinkObjects *objects, Error *e) {
    Text t = { 0 };
    text_add(&t,
             "\t.section .rodata.strata_tokenizer_file,\"a\",@progbits\n"
             "\t.globl strata_tokenizer_file\n\t.balign 16\nstrata_tokenizer_file:\n"
             "\t.ascii \"%s\"\n\t.zero 8\n\t.quad %zu\n\t.incbin \"",
             f->sha256, f->size);
    for (const char *c = s->carried; *c; c++)
        text_add(&t, "\\%03o", (unsigned char)*c);
    text_add(&t, "\"\n\t.section .note.GNU-stack,\"\",@progbits\n");
    int status = text_status(&t, e);
    if (!status) status = write_bytes(s->carried, f->bytes, f->size, e);
    if (!status) status = write_bytes(s->assembly, t.at, t.length, e);
    text_free(&t);
    objects->carried = s->assembly;
    return status;
}

/* Own and library to one object, which takes the place of the first. */
static int build_join(const Scratch *s, const LinkObjects *objects, const sigset_t *mask,
                      Error *e) {
    int status = link_object(objects, s->result, mask, e);
    if (!status && rename(s->result, s->object)) return write_failed(s->object, e);
    return status;
}

static int build_make(const Model *m, const BuildOptions *o, const char *output, const char *header,
                      const sigset_t *mask, Error *e) {
    EmitKind emit = o->code.emit;
    bool linked = emit == EMIT_EXE || emit == EMIT_STATIC || emit == EMIT_SHARED;
    Scratch s;
    int status = scratch_open(&s, o->code.prefix, header, o->allowance, e);
    if (status) return status;
    LinkObjects objects = { .blas = o->blas, .temporary = s.folder.path };
    status = compile_counted(m, o, &s, &objects, mask, e);
    if (!status && objects.library && (emit == EMIT_OBJ || emit == EMIT_STATIC))
        status = build_join(&s, &objects, mask, e);
    if (!status && emit == EMIT_EXE && m->tokenizer_file.bytes)
        status = carry_file(&m->tokenizer_file, &s, &objects, e);
    if (!status && (emit == EMIT_EXE || emit == EMIT_SHARED))
        status = build_mark_file(objects.mark = s.mark, e);
    if (!status && linked) status = link_output(emit, &objects, s.result, mask, e);
    if (!status) status = publish(output, linked ? s.result : s.object, header, s.header, e);
    scratch_close(&s, o->allowance);
    return status;
}

static int make_held(const Model *m, const BuildOptions *o, const char *output, const char *header,
                     Error *e) {
    sigset_t before;
    if (!o->before) process_hold(&before);
    int status = build_places(&(BuildPlaces){ output, header, o->depfile }, m, o->keeps, e);
    if (!status) status = build_make(m, o, output, header, o->before ? o->before : &before, e);
    if (!status && o->depfile) status = depfile_write(m, output, o->depfile, e);
    if (!o->before) process_release(&before);
    return status;
}

static int make_chosen(const Model *m, const BuildOptions *asked, const char *output,
                       const char *header, Error *e) {
    BuildOptions o = *asked;
    ProductRatios ratios;
    BlasLibrary library;
    int status = blas_choose(&o, &ratios, &library, e);
    if (*library.path) o.blas = library.path;
    return status ? status : make_held(m, &o, output, header, e);
}

int build_model(const Model *m, BuildOptions *o, Error *e) {
    static const char *const suffix[] = { "", ".o", ".a", ".so", ".ll", ".s", ".s" };
    char name[256];
    o->code.main = o->code.emit == EMIT_EXE;
    o->code.link = true;
    o->code.passes.step = allowance_step(o->allowance);
    int status = prefix_check("build", o->code.prefix, m, !o->code.main, e);
    if (status) return status;
    if (!o->code.prefix) o->code.prefix = m->name;
    snprintf(name, sizeof name, "%s%s", m->name, suffix[o->code.emit]);
    const char *output = o->output ? o->output : name;
    bool library = o->code.emit == EMIT_OBJ || o->code.emit == EMIT_STATIC
        || o->code.emit == EMIT_SHARED;
    library = library && !output_is_stream(output);
    char *header = library ? header_name(output) : NULL;
    if (library && !header) return error_memory(e, output, strlen(output) + 3);
    status = make_chosen(m, o, output, header, e);
    free(header);
    return status;
}

Model *build_load(const char *spec, Allowance *a, Error *e) {
    SpecLimits limits = allowance_limits(a);
    allowance_spec(a, spec);
    return spec_load(spec, &limits, e);
}

void build_notes(const Model *m, const Allowance *a) {
    for (int i = 0; i < m->nnote; i++)
        show_line(a->console, "note: ", m->note[i], "");
}

int command_build(const Options *o, Allowance *a, Error *e) {
    BuildOptions b;
    int status = build_options(&b, o, e);
    if (status) return status;
    b.allowance = a;
    Model *m = build_load(b.spec, a, e);
    if (!m) return e->status;
    status = build_model(m, &b, e);
    if (!status) build_notes(m, a);
    if (!status && build_is_foreign(&b.code))
        show_line(a->console, "note: --target ", b.code.triple,
                  ": nothing was linked, and libstrata (threads, weights, tokenizers) is POSIX: it "
                  "was built for Linux");
    spec_free(m);
    return status;
}
