#!/bin/sh
# SPDX-License-Identifier: MIT
# Models whose names others bear too: functions of libstrata and of the C library, the compiler's
# own, words of C and C++.
#   sh tests/names.sh STRATA SOURCE LIBSTRATA
# As programs; as objects, all of them in one program in C and in C++, with libstrata and a caller
# that has functions called as libstrata calls its own; as shared and static libraries.
set -eu
if [ -n "${STRATA_SANITIZE:-}" ]; then
    echo "skipped: what links a sanitized libstrata needs the sanitizers' flags"
    exit 77
fi
strata=$(realpath "$1") include=$(realpath "$2")/runtime library=$(realpath "$3")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export LC_ALL=C
fail() { echo "names.sh: $*" >&2; exit 1; }
run() { "$@" >log 2>&1 || { cat log; fail "$*"; }; }

spec() {    # spec NAME DIM
    cat <<END
return model {
  name = "$1", vocab = 16, context = 8, dim = $2, norm = rmsnorm {},
  layers = times(1, layer { mlp { hidden = 8 } }),
}
END
}

# == Programs ==================================================================
for name in weights session command strata sem k model; do
    spec $name 8 >$name.lua
    run "$strata" build $name.lua -o program
    ./program info >out || fail "$name: status $?"
    grep -q "^model  *$name," out || fail "$name: found $(cat out)"
done

# == Objects, all in one program ===============================================
names="weights session command k model_state k_model rows0 int class main log Printf strata1"
dim=8
{
    echo '#include "strata.h"'
    for name in $names; do echo "#include \"$name.h\""; done
    cat <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int error_set(void);
int error_set(void) { return 1; }
int utf8proc_iterate(void);
int utf8proc_iterate(void) { return 2; }
int json_pair(void);
int json_pair(void) { return 3; }
static void *memory(int64_t bytes) {
    void *p = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    if (!p) exit(3);
    return p;
}
static int one(strata_api a, const char *name, int64_t dim) {
    const strata_model *m = a.model();
    static const int32_t token[2] = { 1, 2 };
    float out[2 * 16];
    void *ctx = memory(m->ctx_bytes), *arena = memory((int64_t)a.arena_bytes(2, 1));
    float *w = (float *)memory(m->weights_bytes);
    strata_weights_init(m, 1, w);
    int wrong = strcmp(strata_string(m, m->name), name) != 0 || m->dim != dim
        || a.init(ctx, (size_t)m->ctx_bytes, NULL) || a.logits(ctx, w, arena, token, 1, 2, out);
    printf("%s %s\n", name, wrong ? "wrong" : "right");
    free(ctx), free(arena), free(w);
    return wrong;
}
int main(void) {
    strata_pool *pool = strata_pool_new(2);
    int wrong = error_set() + utf8proc_iterate() + json_pair() != 6;
    strata_pool_free(pool);
END
    for name in $names; do
        dim=$((dim + 8))
        printf '    wrong += one(%s_api(), "%s", %d);\n' $name $name $dim
    done
    echo '    return wrong;'
    echo '}'
} >all.c
dim=8
objects=
for name in $names; do
    dim=$((dim + 8))
    spec $name $dim >$name.lua
    run "$strata" build $name.lua --emit obj --inference -o $name.o
    objects="$objects $name.o"
done
flags="-Wall -Wextra -Werror -I. -I$include"
run ${CC:-cc} -std=c11 -D_GNU_SOURCE $flags all.c $objects "$library" -pthread -lm -o all-c
run ${CXX:-c++} -std=c++17 -D_GNU_SOURCE $flags -x c++ all.c -x none $objects "$library" -pthread \
    -lm -o all-cpp
for program in all-c all-cpp; do
    ./$program >out || fail "$program: $(grep -v right out)"
    [ "$(wc -l <out)" = "$(echo $names | wc -w)" ] || fail "$program: found $(cat out)"
done

# == Libraries =================================================================
run "$strata" build weights.lua --emit static --inference -o libone.a
run "$strata" build session.lua --emit shared --inference -o libtwo.so
run "$strata" build weights.lua --emit shared --inference --prefix model -o libthree.so
cat >two.c <<'END'
#include "strata.h"
#include "libone.h"
#include "libtwo.h"
#include "libthree.h"
int main(void) {
    return weights_model() == model_model() || weights_model()->dim == session_model()->dim
        || strata_processors() < 1;
}
END
run ${CC:-cc} $flags two.c libone.a libtwo.so libthree.so "$library" -pthread -lm \
    -Wl,-rpath,"$work" -o two
./two || fail "two models in libraries: status $?"

# Two of one prefix, which a program loads one after the other, for all to see: each has its own
# functions in its table.
run "$strata" build session.lua --emit shared --inference --prefix model -o libfour.so
cat >load.c <<'END'
#include "strata.h"
#include <dlfcn.h>
#include <stdio.h>
static int dim(const char *file) {
    void *library = dlopen(file, RTLD_NOW | RTLD_GLOBAL);
    strata_api api = { .struct_size = sizeof api };
    if (!library) return printf("%s\n", dlerror()), 0;
    strata_model_api_fn table = (strata_model_api_fn)dlsym(library, "strata_model_api");
    return table && !table(&api) ? api.model()->dim : 0;
}
int main(void) { return printf("%d %d\n", dim("./libthree.so"), dim("./libfour.so")) < 0; }
END
run ${CC:-cc} -I"$include" load.c -o load -ldl
./load >out || fail "two libraries that are loaded: status $?"
[ "$(cat out)" = "$(awk -F 'dim = ' '/dim/ { print $2 + 0 }' weights.lua session.lua | xargs)" ] ||
    fail "two libraries of one prefix: found $(cat out)"

# == What is exported ==========================================================
nm -g --defined-only --format=posix "$library" | awk 'NF > 1 && $1 !~ /^strata_/' >log
[ ! -s log ] || fail "libstrata has symbols that are not strata's: $(head -n 3 log)"
nm -g --defined-only --format=posix program | grep '^model_' >log &&
    fail "a program exports functions of its model: $(cat log)"
echo "names: $(echo $names | wc -w) models in one program, C and C++"
