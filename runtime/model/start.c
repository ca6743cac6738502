/* SPDX-License-Identifier: MIT
** The main() of a standalone program; the rest of it is libstrata. */
#include "functions.h"
#include "plain.h"

int strata_main(int argc, char **argv, const strata_api *api);

/* Plain, as model_init is: a processor that lacks something is told about, not tried. */
PLAIN __attribute__((visibility("default"))) int main(int argc, char **argv) {
    strata_api api = {
        .struct_size = sizeof api,
#define API(slot, name, member, type, parameters, need) .member = model_##name,
#include "abi.def"
    };
    return strata_main(argc, argv, &api);
}
