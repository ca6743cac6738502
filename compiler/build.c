/*
** strata build: spec to program.  Everything that runs inside LLVM happens in
** a forked child, because running out of memory there ends the process; output
** is written beside its place and appears by rename only.
*/
#include "command.h"
#include "build.h"
#include "link.h"
#include "spec.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* == Options ================================================================ */

typedef struct Flag { const char *name, *argument, *help; } Flag;

static const Flag flags[] = {
    { "-o", "FILE", "output (default: the model's name in the working directory)" },
    { "--emit", "KIND", "exe, obj, static, shared, ir or asm (default exe)" },
    { "--cpu", "NAME", "native, x86-64-v2, x86-64-v3, x86-64-v4 or a processor's name (default native)" },
    { "--target", "TRIPLE", "an x86_64 triple (default x86_64-unknown-linux-gnu)" },
    { "--precision", "f32", "float32; bf16 is not in this version" },
    { "--inference", NULL, "leave training out" },
    { "--no-blas", NULL, "generated products only" },
    { "-O0", NULL, "optimisation level, -O0 to -O3 (default -O2)" },
    { "--check", NULL, "test every access of row kernels, share no memory between values" },
    { "--prefix", "NAME", "of exported symbols (default: the model's name)" },
    { "--two-phase", "off|auto", "two-phase depth reads: on is not in this version" },
    { "--memory", "auto", "small and fast are not in this version" },
};

static void help(void) {
    printf("usage: strata build SPEC [options]\n\nCompiles a spec, a Lua program, to a program that trains, evaluates and generates.\n\n");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        printf("  %-12s %-9s %s\n", flags[i].name, flags[i].argument ? flags[i].argument : "", flags[i].help);
    printf("\nLimits of a spec: %zu MB of Lua memory, %lld million instructions, %zu MB of source, %lld layers.\n"
           "Exit status: 0 done, 1 the spec is wrong, 2 usage, 3 a limit, 4 input or output, 5 internal error.\n",
           spec_limits.memory >> 20, (long long)spec_limits.instructions / 1000000, spec_limits.file >> 20, (long long)spec_limits.layers);
}

static int usage(const char *expected, const char *found) {
    fprintf(stderr, "error: strata build: expected %s, found %.200s\n", expected, found);
    return 2;
}

static int not_yet(const char *what) {
    fprintf(stderr, "error: strata build: %s is not in this version\n", what);
    return 1;
}

static const char *const kinds[] = { "exe", "obj", "static", "shared", "ir", "asm" };

static int set_kind(BuildOptions *o, const char *name) {
    for (int i = 0; i < 6; i++)
        if (!strcmp(kinds[i], name)) return o->code.emit = (EmitKind)i, 0;
    return usage("--emit exe, obj, static, shared, ir or asm", name);
}

static int set_named(BuildOptions *o, const char *flag, const char *value) {
    if (!strcmp(flag, "-o")) return o->output = value, 0;
    if (!strcmp(flag, "--emit")) return set_kind(o, value);
    if (!strcmp(flag, "--cpu")) return o->code.cpu = value, 0;
    if (!strcmp(flag, "--target")) return o->code.triple = value, 0;
    if (!strcmp(flag, "--prefix")) return o->code.prefix = value, 0;
    if (!strcmp(flag, "--precision"))
        return !strcmp(value, "f32") ? 0 : !strcmp(value, "bf16") ? not_yet("--precision bf16") : usage("--precision f32 or bf16", value);
    if (!strcmp(flag, "--two-phase"))
        return !strcmp(value, "off") || !strcmp(value, "auto") ? 0 : !strcmp(value, "on") ? not_yet("--two-phase on") : usage("--two-phase on, off or auto", value);
    return !strcmp(value, "auto") ? 0 : !strcmp(value, "small") || !strcmp(value, "fast") ? not_yet("--memory small or fast") : usage("--memory small, fast or auto", value);
}

static int set_plain(BuildOptions *o, const char *flag) {
    if (!strcmp(flag, "--inference")) o->code.inference = true;
    if (!strcmp(flag, "--no-blas")) o->no_blas = true;
    if (!strcmp(flag, "--check")) o->code.check = true;
    return 0;
}

static int set_flag(BuildOptions *o, int argc, char **argv, int *i) {
    const char *arg = argv[*i];
    if (!strncmp(arg, "-O", 2) && arg[2] >= '0' && arg[2] <= '3' && !arg[3]) return o->code.level = arg[2] - '0', 0;
    for (size_t k = 0; k < sizeof flags / sizeof *flags; k++) {
        if (strcmp(flags[k].name, arg)) continue;
        if (!flags[k].argument) return set_plain(o, arg);
        if (*i + 1 == argc) return usage("a value after the option", arg);
        return set_named(o, arg, argv[++*i]);
    }
    return usage("an option that strata build --help lists", arg);
}

static int parse(BuildOptions *o, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] != '-' || !argv[i][1]) {
            if (o->spec) return usage("one spec", argv[i]);
            o->spec = argv[i];
            continue;
        }
        int status = set_flag(o, argc, argv, &i);
        if (status) return status;
    }
    return o->spec ? 0 : usage("a spec", "none");
}

static bool is_identifier(const char *s) {
    if (!isalpha((unsigned char)*s) && *s != '_') return false;
    for (; *s; s++)
        if (!isalnum((unsigned char)*s) && *s != '_') return false;
    return true;
}

/* == Compiling ============================================================== */

static ModelInfo info_of(const Model *m) {
    return (ModelInfo){
        .name = m->name, .file = m->file, .tokenizer = m->tokenizer, .mixer = m->mixer, .vocab = m->vocab,
        .context = m->context, .dim = m->dim, .layers = m->layers, .sublayers = m->sublayers, .batch = m->batch,
        .seed = m->seed, .hash = m->hash, .lr = m->lr, .beta1 = m->beta1, .beta2 = m->beta2, .eps = m->eps,
        .weight_decay = m->weight_decay, .clip = m->clip, .schedule = (int)m->schedule, .warmup = m->warmup,
        .decay = m->decay, .min_lr = m->min_lr,
    };
}

/* A name beside the output that nobody else uses. */
static char *beside(const char *output, const char *what) {
    char *name;
    if (asprintf(&name, "%s.%ld.%s", output, (long)getpid(), what) < 0) return NULL;
    return name;
}

static int write_file(const char *path, const void *data, size_t size) {
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(data, 1, size, f) == size;
    if (f && fclose(f)) ok = false;
    if (ok) return 0;
    fprintf(stderr, "error: %s: expected to write %zu bytes, found: %s\n", path, size, strerror(errno));
    return 4;
}

static int write_header(const char *path, const Code *code, const ModelInfo *info, const char *prefix) {
    FILE *f = fopen(path, "w");
    if (f) codegen_header(code, info, prefix, f);
    if (f && !fclose(f)) return 0;
    fprintf(stderr, "error: %s: expected to write the header, found: %s\n", path, strerror(errno));
    return 4;
}

/* In the child: the object to 'object', the header to 'header' if that is asked for. */
static int compile(const Model *m, const BuildOptions *o, const char *object, const char *header) {
    char error[512] = "";
    ModelInfo info = info_of(m);
    Code code;
    int status = codegen_compile(m->graph, &info, &o->code, &code, error, sizeof error);
    if (status) return fprintf(stderr, "%s\n", error), status;
    status = write_file(object, code.data, code.size);
    if (!status && header) status = write_header(header, &code, &info, o->code.prefix);
    codegen_free(&code);
    return status;
}

static int in_child(const Model *m, const BuildOptions *o, const char *object, const char *header) {
    fflush(stdout);
    pid_t child = fork();
    if (child < 0) return fprintf(stderr, "error: strata build: expected to start a process, found: %s\n", strerror(errno)), 4;
    if (child == 0) {
        int status = compile(m, o, object, header);
        fflush(stderr);
        _exit(status);
    }
    int how;
    while (waitpid(child, &how, 0) < 0 && errno == EINTR) {}
    if (WIFEXITED(how)) return WEXITSTATUS(how);
    fprintf(stderr, "error: %s: expected code generation to end, found it killed by signal %d: out of memory, or a defect to report\n",
            o->spec, WTERMSIG(how));
    return WTERMSIG(how) == SIGKILL ? 3 : 5;
}

/* FILE.o, FILE.h: without a .o or .a that the user gave. */
static char *header_name(const char *output) {
    size_t n = strlen(output);
    if (n > 2 && (!strcmp(output + n - 2, ".o") || !strcmp(output + n - 2, ".a"))) n -= 2;
    else if (n > 3 && !strcmp(output + n - 3, ".so")) n -= 3;
    char *name;
    return asprintf(&name, "%.*s.h", (int)n, output) < 0 ? NULL : name;
}

static int appear(const char *from, const char *to) {
    if (!rename(from, to)) return 0;
    fprintf(stderr, "error: %s: expected to put the output there, found: %s\n", to, strerror(errno));
    return 4;
}

static int build_files(const Model *m, const BuildOptions *o, const char *output) {
    bool library = o->code.emit == EMIT_OBJ || o->code.emit == EMIT_STATIC || o->code.emit == EMIT_SHARED;
    bool linked = o->code.emit == EMIT_EXE || o->code.emit == EMIT_STATIC || o->code.emit == EMIT_SHARED;
    char *object = beside(output, "o"), *header = beside(output, "h"), *result = beside(output, "out"), *to = header_name(output);
    if (!object || !header || !result || !to) return 3;
    int status = in_child(m, o, object, library ? header : NULL);
    if (!status && linked) status = link_output(o, object, result);
    if (!status && library) status = appear(header, to);
    if (!status) status = appear(linked ? result : object, output);
    unlink(object), unlink(header), unlink(result);
    free(object), free(header), free(result), free(to);
    return status;
}

int build_model(const Model *m, BuildOptions *o) {
    static const char *const suffix[] = { "", ".o", ".a", ".so", ".ll", ".s" };
    char name[256];
    if (!o->code.prefix) o->code.prefix = m->name;
    if (!is_identifier(o->code.prefix) || strlen(o->code.prefix) > 64) return usage("--prefix with a C identifier of at most 64 letters", o->code.prefix);
    o->code.main = o->code.emit == EMIT_EXE;
    snprintf(name, sizeof name, "%s%s", m->name, suffix[o->code.emit]);
    const char *output = o->output ? o->output : name;
    struct stat s;
    if (!stat(output, &s) && !S_ISREG(s.st_mode)) {
        fprintf(stderr, "error: %s: expected a file to write, found something that is no regular file\n", output);
        return 4;
    }
    return build_files(m, o, output);
}

int command_build(int argc, char **argv) {
    BuildOptions o = { .code = { .level = 2, .cpu = "native" } };
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help")) return help(), 0;
    int status = parse(&o, argc, argv);
    if (status) return status;
    SpecError error;
    Model *m = spec_load(o.spec, NULL, &error);
    if (!m) return fprintf(stderr, "%s\n", error.message), error.status;
    for (int i = 0; i < m->nnote; i++) fprintf(stderr, "note: %s\n", m->note[i]);
    status = build_model(m, &o);
    spec_free(m);
    return status;
}
