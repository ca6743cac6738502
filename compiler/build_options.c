/* The command line of strata build. */
#include "build.h"
#include "command.h"

#include <string.h>

const Flag build_flags[] = {
    { "-o", "FILE", "what is written (./NAME, the model's name, and .o .a .so .ll .s)" },
    { "--emit", "exe|obj|static|shared|ir|asm", "what kind (exe); obj, static and shared write FILE.h too" },
    { "--cpu", "NAME", "native, x86-64-v2, x86-64-v3, x86-64-v4 or a processor (native)" },
    { "--target", "TRIPLE", "an x86_64 triple (x86_64-unknown-linux-gnu)" },
    { "--precision", "f32|bf16", "what products take (f32); they add up in f32, like everything else" },
    { "--inference", NULL, "leaves training out" },
    { "--no-blas", NULL, "generated products only" },
    { "-O", "0|1|2|3", "how much LLVM optimises (2)" },
    { "--two-phase", "on|off|auto", "two-phase depth reads (auto; on is not in this version)" },
    { "--memory", "small|fast|auto", "what training keeps for the backward pass: small computes products again too, fast stores what is sooner loaded (auto)" },
    { "--check", NULL, "tests every access of row kernels, shares no memory between values" },
    { "--profile", NULL, "kernels report to setup.profile (they always do)" },
    { "--prefix", "NAME", "of exported symbols, a C identifier (the model's name)" },
    { "--depfile", "FILE", "writes a rule for make and ninja: what is built depends on the Lua files that were read" },
    { NULL, NULL, NULL },
};

static const char *const kinds[] = { "exe", "obj", "static", "shared", "ir", "asm" };

Keep keep_called(const char *name) {
    return !strcmp(name, "small") ? KEEP_SMALL : !strcmp(name, "fast") ? KEEP_FAST : KEEP_AUTO;
}

/* What the table lists and this version lacks. */
static int later(const char *name, const char *value, Error *e) {
    static const char *const row[][2] = {
        { "--two-phase", "on" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (!strcmp(row[i][0], name) && !strcmp(row[i][1], value))
            return error_set(e, STATUS_USER, "strata build: %s %s: not in this version", name, value);
    return STATUS_OK;
}

static int set(BuildOptions *o, const char *name, const char *value, Error *e) {
    if (!strcmp(name, "-o")) o->output = value;
    else if (!strcmp(name, "--cpu")) o->code.cpu = value;
    else if (!strcmp(name, "--target")) o->code.triple = value;
    else if (!strcmp(name, "--prefix")) o->code.prefix = value;
    else if (!strcmp(name, "--depfile")) o->depfile = value;
    else if (!strcmp(name, "--inference")) o->code.inference = true;
    else if (!strcmp(name, "--check")) o->code.check = true;
    else if (!strcmp(name, "--precision")) o->code.bf16 = !strcmp(value, "bf16");
    else if (!strcmp(name, "--memory")) o->code.keep = keep_called(value);
    else if (!strcmp(name, "-O")) o->code.level = *value - '0';
    else if (!strcmp(name, "--emit"))
        for (int i = 0; i < 6; i++) o->code.emit = strcmp(kinds[i], value) ? o->code.emit : (EmitKind)i;
    return value ? later(name, value, e) : STATUS_OK;
}

int build_parse(BuildOptions *o, int argc, char **argv, Error *e) {
    const Command c = { .name = "build", .flags = build_flags };
    *o = (BuildOptions){ .code = { .level = 2, .cpu = "native" } };
    for (int i = 1; i < argc; i++) {
        const Flag *flag;
        const char *value;
        int status = STATUS_OK;
        if (argv[i][0] == '-' && argv[i][1]) {
            status = flag_parse(&c, argc, argv, &i, &flag, &value, e);
            if (!status) status = set(o, flag->name, value, e);
        } else if (o->spec) {
            status = error_set(e, STATUS_USAGE, "strata build: expected one spec, found '%s' too", argv[i]);
        } else {
            o->spec = argv[i];
        }
        if (status) return status;
    }
    return o->spec ? STATUS_OK : error_set(e, STATUS_USAGE, "strata build: expected a spec, found nothing");
}
