/*
** strata build: spec to program.  Everything that runs inside LLVM happens in
** a forked child, because running out of memory there ends the process.  All is
** made in a folder of its own for temporary files; what the user asked for
** appears whole, by rename, or not at all.
*/
#include "build.h"
#include "command.h"
#include "link.h"
#include "prefix.h"
#include "probe_graph.h"
#include "process.h"
#include "publish.h"
#include "report.h"
#include "model_info.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Files on the way; "" where there is none. */
typedef struct Scratch {
    char folder[256], object[384], side[384], header[384], result[384];
} Scratch;

/* == Compiling, in the child ============================================== */

static int write_failed(const char *path, Error *e) { return error_errno(e, path, "write", errno); }

static int write_bytes(const char *path, const void *data, size_t size, Error *e) {
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(data, 1, size, f) == size;
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

static int compile(const Model *m, const BuildOptions *o, const Scratch *s, Error *e) {
    ModelInfo info = model_info(m);
    CompiledModel code;
    ProbeGraph probe = { 0 };
    if (o->code.main) probe = probe_graph(m), info.probe = &probe;
    int status = codegen_compile(m->graph, &info, &o->code, &code, e);
    if (status) return status;
    status = write_bytes(s->object, code.data, code.size, e);
    if (!status && code.side) status = write_bytes(s->side, code.side, code.side_size, e);
    if (!status && *s->header) status = write_header(s->header, &code, &info, o->code.prefix, e);
    codegen_free(&code);
    graph_free(probe.graph);
    return status;
}

/* == The child, from outside ============================================== */

/* The child ended as fatal.h has it, or LLVM or the system ended it. */
static int died(const BuildOptions *o, int how, int words, Error *e) {
    char said[2048];
    const char *line = process_error(words, said, sizeof said);
    if (WIFEXITED(how) && *line) return error_set(e, WEXITSTATUS(how), "%s", line);
    int number = WIFSIGNALED(how) ? WTERMSIG(how) : 0;
    if (number == SIGKILL || strstr(line, "out of memory") || strstr(line, "bad_alloc"))
        return error_set(e, STATUS_LIMIT,
                         "%s: expected memory enough to compile it, found the compiler out of it",
                         o->spec);
    error_set(e, STATUS_INTERNAL,
              "%s: expected code generation to end, found it killed by signal %d", o->spec, number);
    process_said(words, e);
    return e->status;
}

static int in_child(const Model *m, const BuildOptions *o, const Scratch *s, const sigset_t *mask,
                    Error *e) {
    Error *told = mmap(NULL, sizeof *told, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                       0);
    if (told == MAP_FAILED) return error_memory(e, "strata build", sizeof *told);
    int words = process_listen(), status, stop;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        process_release(mask);
        if (words >= 0) dup2(words, STDERR_FILENO);
        _exit(compile(m, o, s, told));
    }
    int how = child < 0 ? 0 : process_wait(child, &stop);
    if (child < 0)
        status = error_set(e, STATUS_IO, "strata build: expected to start a process, found: %s",
                           strerror(errno));
    else if (stop) status = process_stopped(stop, e);
    else if (WIFEXITED(how) && WEXITSTATUS(how) == told->status) *e = *told, status = told->status;
    else status = died(o, how, words, e);
    if (words >= 0) close(words);
    munmap(told, sizeof *told);
    return status;
}

/* == Files ================================================================ */

static int scratch_open(Scratch *s, const char *prefix, bool header, bool linked, Error *e) {
    const char *where = getenv("TMPDIR");
    int n = snprintf(s->folder, sizeof s->folder, "%s/strata-XXXXXX",
                     where && *where ? where : "/tmp");
    if (n >= (int)sizeof s->folder)
        return error_set(e, STATUS_USER,
                         "TMPDIR: expected a name of at most 240 bytes, found a longer one");
    if (!mkdtemp(s->folder))
        return error_errno(e, s->folder, "make a folder for temporary files", errno);
    snprintf(s->object, sizeof s->object, "%s/%.64s.o", s->folder, prefix);
    snprintf(s->side, sizeof s->side, "%s/%.64s.side.o", s->folder, prefix);
    snprintf(s->header, sizeof s->header, header ? "%s/model.h" : "", s->folder);
    snprintf(s->result, sizeof s->result, linked ? "%s/%s" : "", s->folder, "result");
    return STATUS_OK;
}

static void scratch_close(const Scratch *s) {
    unlink(s->object);
    unlink(s->side);
    if (*s->header) unlink(s->header);
    if (*s->result) unlink(s->result);
    rmdir(s->folder);
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

/* Processor seconds of all children that ended. */
static double children_seconds(void) {
    struct rusage u;
    if (getrusage(RUSAGE_CHILDREN, &u)) return 0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec)
        + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static int compile_counted(const Model *m, const BuildOptions *o, const Scratch *s,
                           const sigset_t *mask, Error *e) {
    double start = children_seconds();
    int status = in_child(m, o, s, mask, e);
    if (status || !o->facts) return status;
    o->facts->seconds = children_seconds() - start;
    int64_t side = 0;
    status = code_size(s->object, &o->facts->code_bytes, e);
    if (!status && !access(s->side, R_OK)) status = code_size(s->side, &side, e);
    o->facts->code_bytes += side;
    return status;
}

static int make(const Model *m, const BuildOptions *o, const char *output, const char *header,
                const sigset_t *mask, Error *e) {
    bool linked = o->code.emit == EMIT_EXE || o->code.emit == EMIT_STATIC
        || o->code.emit == EMIT_SHARED;
    Scratch s;
    int status = scratch_open(&s, o->code.prefix, header, linked, e);
    if (status) return status;
    status = compile_counted(m, o, &s, mask, e);
    if (!status && linked)
        status = link_output(o, s.object, access(s.side, R_OK) ? NULL : s.side, s.result, mask, e);
    if (!status) status = publish(output, linked ? s.result : s.object, header, s.header, e);
    scratch_close(&s);
    return status;
}

int build_model(const Model *m, BuildOptions *o, Error *e) {
    static const char *const suffix[] = { "", ".o", ".a", ".so", ".ll", ".s" };
    char name[256];
    o->code.main = o->code.emit == EMIT_EXE;
    int status = prefix_check("build", o->code.prefix, m, !o->code.main, e);
    if (status) return status;
    if (!o->code.prefix) o->code.prefix = m->name;
    snprintf(name, sizeof name, "%s%s", m->name, suffix[o->code.emit]);
    const char *output = o->output ? o->output : name;
    bool library = o->code.emit == EMIT_OBJ || o->code.emit == EMIT_STATIC
        || o->code.emit == EMIT_SHARED;
    char *header = library ? header_name(output) : NULL;
    if (library && !header) return error_memory(e, output, strlen(output) + 3);
    sigset_t before;
    if (!o->before) process_hold(&before);
    status = publish_check(o->spec, output, header, e);
    if (!status && o->depfile) status = publish_check(o->spec, o->depfile, NULL, e);
    if (!status) status = make(m, o, output, header, o->before ? o->before : &before, e);
    if (!status && o->depfile) status = depfile_write(m, output, o->depfile, e);
    if (!o->before) process_release(&before);
    free(header);
    return status;
}

int command_build(const Options *o, Error *e) {
    BuildOptions b;
    int status = build_options(&b, o, e);
    if (status) return status;
    Model *m = spec_load(b.spec, NULL, e);
    if (!m) return e->status;
    status = build_model(m, &b, e);
    for (int i = 0; !status && i < m->nnote; i++)
        show_line(stderr, "note: ", m->note[i], "");
    spec_free(m);
    return status;
}
