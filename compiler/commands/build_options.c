/* The command line of strata build. */
#include "build.h"
#include "command.h"

#include <stdlib.h>
#include <string.h>

Keep keep_called(const char *name) {
    return !strcmp(name, "small") ? KEEP_SMALL : !strcmp(name, "fast") ? KEEP_FAST : KEEP_AUTO;
}

int build_options(BuildOptions *b, const Options *o, Error *e) {
    const OptionValue *v = o->value;
    *b = (BuildOptions){
        .output = v[STRATA_OPTION_OUTPUT].text,
        .depfile = v[STRATA_OPTION_DEPFILE].text,
        .code = {
            .emit = (EmitKind)v[STRATA_OPTION_EMIT].choice, /* in the order of its list */
            .cpu = v[STRATA_OPTION_CPU].text,
            .triple = v[STRATA_OPTION_TARGET].text,
            .prefix = v[STRATA_OPTION_PREFIX].text,
            .passes.inference = v[STRATA_OPTION_NO_TRAINING].given,
            .passes.check = v[STRATA_OPTION_CHECK].given,
            .passes.bf16 = !strcmp(v[STRATA_OPTION_PRECISION].text, "bf16"),
            .passes.small = (Small)v[STRATA_OPTION_WEIGHTS_TYPE].choice, /* the same */
            .passes.keep = keep_called(v[STRATA_OPTION_KEEP].text),
            .passes.two_phase = two_phase_named(v[STRATA_OPTION_TWO_PHASE].text),
            .chunk = atoi(v[STRATA_OPTION_CHUNK].text), /* auto: 0 */
            .level = v[STRATA_OPTION_LEVEL].choice,
        },
    };
    if (b->code.passes.small && !b->code.passes.inference)
        return error_set(
            e, STATUS_USAGE,
            "strata build: --weights %s: expected --inference too, as small weights are not "
            "trained; found none",
            v[STRATA_OPTION_WEIGHTS_TYPE].text);
    const char *off = v[STRATA_OPTION_NO_PASS].text;
    int status = off ? no_pass_parse("build", off, &b->code.passes.off, e) : STATUS_OK;
    return status ? status : spec_of(o, &b->spec, e);
}
