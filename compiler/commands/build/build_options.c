/* SPDX-License-Identifier: MIT
** The command line of strata build. */
#include "build.h"
#include "command.h"
#include "kept_rows.h"

#include <stdlib.h>
#include <string.h>

Keep keep_called(const char *name) {
    return !strcmp(name, "small") ? KEEP_SMALL : !strcmp(name, "fast") ? KEEP_FAST : KEEP_AUTO;
}

/* A triple of another system or processor; one that no target has is refused later. */
bool build_is_foreign(const CodegenOptions *o) {
    return o->triple && codegen_has_target(o->triple)
        && (!strstr(o->triple, "linux") || !codegen_is_host(o->triple));
}

/* Programs and shared libraries are linked here, for Linux. */
static int check_foreign(const CodegenOptions *o, Error *e) {
    bool links = o->emit == EMIT_EXE || o->emit == EMIT_SHARED;
    if (!links || !build_is_foreign(o)) return STATUS_OK;
    return error_set(e, STATUS_USER,
                     "--target: expected a triple of %s, where the model is linked, found %.80s; "
                     "--emit obj, static, ir and asm are not linked",
                     strstr(o->triple, "linux") ? "this machine's processor" : "Linux", o->triple);
}

Multiply multiply_named(const char *name) {
    static const char *const names[MULTIPLIERS] = { "", "auto", "generated", "openblas" };
    int i = MULTIPLY_DEFAULT;
    if (name)
        for (i = MULTIPLY_AUTO; i < MULTIPLIERS && strcmp(names[i], name); i++)
            ;
    return (Multiply)i;
}

int operands_of(PassOptions *to, const char *command, const Options *o, Error *e) {
    const OptionValue *cache = option_of(o, STRATA_OPTION_CACHE);
    const char *small = option_of(o, STRATA_OPTION_WEIGHTS_TYPE)->text;
    /* choices are in the order of the lists */
    to->bf16 = option_of(o, STRATA_OPTION_PRECISION)->choice == 1;
    to->small = (Small)option_of(o, STRATA_OPTION_WEIGHTS_TYPE)->choice;
    to->cache = cache->given ? cache->choice : to->bf16 ? KEPT_BF16 : KEPT_F32;
    if (!to->small || to->inference) return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "strata %s: --weights %s: expected --inference too, as small weights are not "
                     "trained; found none",
                     command, small);
}

int build_options(BuildOptions *b, const Options *o, Error *e) {
    const OptionValue *v = o->value;
    *b = (BuildOptions){
        .output = v[STRATA_OPTION_OUTPUT].text,
        .depfile = v[STRATA_OPTION_DEPFILE].text,
        .keeps = !v[STRATA_OPTION_OVERWRITE].given,
        .no_cache = v[STRATA_OPTION_NO_KERNEL_CACHE].given,
        .multiply = multiply_named(v[STRATA_OPTION_BLAS].text),
        .code = {
            .emit = (EmitKind)v[STRATA_OPTION_EMIT].choice, /* in the order of its list */
            .cpu = v[STRATA_OPTION_CPU].text,
            .triple = v[STRATA_OPTION_TARGET].text,
            .prefix = v[STRATA_OPTION_PREFIX].text,
            .passes.inference = v[STRATA_OPTION_NO_TRAINING].given,
            .passes.check = v[STRATA_OPTION_CHECK].given,
            .passes.keep = keep_called(v[STRATA_OPTION_KEEP].text),
            .passes.two_phase = two_phase_named(v[STRATA_OPTION_TWO_PHASE].text),
            .chunk = atoi(v[STRATA_OPTION_CHUNK].text), /* auto: 0 */
            .level = v[STRATA_OPTION_LEVEL].choice,
        },
    };
    const char *off = v[STRATA_OPTION_NO_PASS].text;
    int status = operands_of(&b->code.passes, "build", o, e);
    if (!status && off) status = no_pass_parse("build", off, &b->code.passes.off, e);
    if (!status) status = check_foreign(&b->code, e);
    return status ? status : spec_of(o, &b->spec, e);
}
