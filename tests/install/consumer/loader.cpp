/* SPDX-License-Identifier: MIT */
// Loads the library that is named first, as a program does that knows no model: its table is that of
// the functions that this program is linked with.
#include "echoed.h"
#include "strata.h"

#include <cstdio>
#include <cstring>
#include <dlfcn.h>

int main(int, char **argv) {
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return std::fprintf(stderr, "%s\n", dlerror()), 1;
    auto table = reinterpret_cast<strata_model_api_fn>(dlsym(library, "strata_model_api"));
    strata_api api = {}, wrong = {};
    api.struct_size = sizeof api;
    wrong.struct_size = 8;
    if (!table || table(&wrong) != STRATA_ERROR_ARGUMENT || table(nullptr) != STRATA_ERROR_ARGUMENT)
        return std::fprintf(stderr, "no table, or a wrong one was filled\n"), 1;
    if (table(&api) != STRATA_OK || api.decode != echo_decode || api.probe || api.reserved[0])
        return std::fprintf(stderr, "the table lacks functions\n"), 1;
    std::printf("%s, %d processors\n", strata_string(api.model(), api.model()->name),
                strata_processors() > 0);
    return std::strcmp(echo_strerror(STRATA_OK), api.strerror_(STRATA_OK));
}
