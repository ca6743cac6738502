/* The command line of strata build. */
#include "build.h"
#include "command.h"

#include <stdlib.h>
#include <string.h>

const Flag build_flags[] = {
    { "-o", "FILE", "what is written (./NAME, the model's name, and .o .a .so .ll .s)" },
    { "--emit", "exe|obj|static|shared|ir|asm",
      "what kind (exe); obj, static and shared write FILE.h too" },
    { "--cpu", "NAME", "native, x86-64-v2, x86-64-v3, x86-64-v4 or a processor (native)" },
    { "--target", "TRIPLE", "an x86_64 triple (x86_64-unknown-linux-gnu)" },
    { "--precision", "f32|bf16",
      "what products take (f32); they add up in f32, like everything else" },
    { "--inference", NULL, "leaves training out" },
    { "--no-blas", NULL, "generated products only" },
    { "-O", "0|1|2|3", "how much LLVM optimises (2)" },
    { "--two-phase", "on|off|auto",
      "depth reads share passes over their sources: wherever they can, nowhere, where it moves "
      "less (auto)" },
    { "--chunk", "64|128|256|512|auto",
      "tokens of a task: few stay in a core's cache between a layer's steps, many read weights "
      "less often (auto)" },
    { "--memory", "small|fast|auto",
      "what training keeps for the backward pass: small computes products again too, fast stores "
      "what is sooner loaded (auto)" },
    { "--check", NULL, "tests every access of row kernels, shares no memory between values" },
    { "--profile", NULL, "kernels report to setup.profile (they always do)" },
    { "--prefix", "NAME", "of exported symbols, a C identifier (the model's name)" },
    { "--depfile", "FILE",
      "writes a rule for make and ninja: what is built depends on the Lua files that were read" },
    { NULL, NULL, NULL },
};

static const char *const kinds[] = { "exe", "obj", "static", "shared", "ir", "asm" };

Keep keep_called(const char *name) {
    return !strcmp(name, "small") ? KEEP_SMALL : !strcmp(name, "fast") ? KEEP_FAST : KEEP_AUTO;
}

static void set(BuildOptions *o, const char *name, const char *value) {
    if (!strcmp(name, "-o")) o->output = value;
    else if (!strcmp(name, "--cpu")) o->code.cpu = value;
    else if (!strcmp(name, "--target")) o->code.triple = value;
    else if (!strcmp(name, "--prefix")) o->code.prefix = value;
    else if (!strcmp(name, "--depfile")) o->depfile = value;
    else if (!strcmp(name, "--inference")) o->code.inference = true;
    else if (!strcmp(name, "--check")) o->code.check = true;
    else if (!strcmp(name, "--precision")) o->code.bf16 = !strcmp(value, "bf16");
    else if (!strcmp(name, "--memory")) o->code.keep = keep_called(value);
    else if (!strcmp(name, "--two-phase")) o->code.two_phase = two_phase_named(value);
    else if (!strcmp(name, "--chunk")) o->code.chunk = atoi(value); /* auto: 0 */
    else if (!strcmp(name, "-O")) o->code.level = *value - '0';
    else if (!strcmp(name, "--emit"))
        for (int i = 0; i < 6; i++)
            o->code.emit = strcmp(kinds[i], value) ? o->code.emit : (EmitKind)i;
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
            if (!status) set(o, flag->name, value);
        } else if (o->spec) {
            status = error_set(e, STATUS_USAGE, "strata build: expected one spec, found '%s' too",
                               argv[i]);
        } else {
            o->spec = argv[i];
        }
        if (status) return status;
    }
    return o->spec ? STATUS_OK
                   : error_set(e, STATUS_USAGE, "strata build: expected a spec, found nothing");
}
