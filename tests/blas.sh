#!/bin/sh
# SPDX-License-Identifier: MIT
# build --blas: programs, libraries and objects that call OpenBLAS, what is refused, and what
# 'auto' takes of a measurement.
#   sh tests/blas.sh STRATA
# 77, "skipped": no OpenBLAS that several threads may call.
set -eu
strata=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
export XDG_CACHE_HOME="$work/cache" LC_ALL=C
unset STRATA_OPENBLAS OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
fail() { echo "blas.sh: $*"; cat out err 2>/dev/null; exit 1; }
"$strata" doctor | grep -q '^openblas .* kernels' ||
    { echo "skipped: $("$strata" doctor | grep '^openblas')"; exit 77; }
library=$("$strata" doctor | sed -n 's/^openblas .*: //p')
cat >m.lua <<'END'
return model {
  name = "m", vocab = 256, context = 64, dim = 48, tokenizer = "bytes", norm = rmsnorm {},
  residual = haares { blocks = 2 },
  layers = times(2, layer { attention { heads = 4 }, mlp { hidden = 128, activation = "swiglu" } }),
  train = { optimizer = adamw { lr = 3e-3 }, schedule = constant {}, batch = 8, seed = 3 },
}
END
yes 'the quick brown fox jumps over the lazy dog' | head -c 20000 >text

# == Programs ==================================================================
"$strata" build m.lua --blas openblas -o blas
"$strata" build m.lua --blas generated -o plain
./blas info >out && grep -q 'products: OpenBLAS [0-9.]*, ' out || fail "what info says"
./blas info --json >out && grep -q '"products": "openblas"' out || fail "info --json"
./plain info >out && grep -q 'products: generated$' out || fail "what info says of generated ones"
case $library in
    *.a) if ldd ./blas | grep openblas; then fail "an archive, and it needs a library"; fi ;;
esac
for threads in 1 2 3; do
    ./blas train --data text --steps 12 --threads $threads --out w$threads >out 2>err
    ./blas generate --weights w1 --prompt 'the qu' --max-tokens 40 --temperature 0 \
        --threads $threads >text$threads
done
cmp w1 w2 && cmp w1 w3 || fail "threads change weights"
cmp text1 text2 && cmp text1 text3 || fail "threads change what is generated"
loss() { sed -n 's/.*"loss": \([0-9.]*\),.*/\1/p' "$1"; }
./blas eval --weights w1 --data text --json >one
./plain eval --weights w1 --data text --json >two
awk -v a="$(loss one)" -v b="$(loss two)" 'BEGIN { exit !(a > 0 && (a - b) ^ 2 < 1e-9) }' ||
    fail "other losses: $(cat one two)"

./blas bench --train --steps 2 >out
grep -q '^products, .* generated  *OpenBLAS' out || fail "bench shows no two of them"
[ "$(grep -c 'OpenBLAS$' out)" -gt 5 ] || fail "bench shows few products"
./blas bench --train --steps 2 --json >out
for key in '"products": {"built"' '"generated": {"seconds"' '"seconds_openblas"'; do
    grep -q "$key" out || fail "bench --json: expected $key"
done
OPENBLAS_CORETYPE=Haswell ./blas bench --train --steps 1 >out
grep -q 'environment has OPENBLAS_CORETYPE=Haswell' out || fail "bench: no word of a core type"
./blas bench --train --steps 2 --blas built >out
if grep -q '^products, ' out; then fail "bench --blas built compares"; fi
./plain bench --train --steps 2 >out
if grep -q '^products, ' out; then fail "bench of a program without OpenBLAS compares"; fi
"$strata" inspect m.lua --blas openblas >out
grep -q '^  OpenBLAS  *[0-9]* of [0-9]* kernels' out || fail "what inspect says"
"$strata" inspect m.lua --blas openblas --json >out
grep -q '"products": "openblas"' out && grep -q '"openblas": true' out || fail "inspect --json"
"$strata" inspect m.lua >out
if grep -q OpenBLAS out; then fail "inspect tells of OpenBLAS that nobody asked for"; fi
OPENBLAS_CORETYPE=Haswell "$strata" doctor >out
grep -q 'OPENBLAS_CORETYPE=Haswell makes' out || fail "doctor: no word of OPENBLAS_CORETYPE"
# Kernels for a processor of narrower vectors are warned of, with what to type.
case $(sed -n 's/^builds for *//p' out) in
x86-64-v4*) better=SkylakeX ;;
x86-64-v3*) better=Haswell ;;
*) better= ;;
esac
OPENBLAS_CORETYPE=Prescott "$strata" doctor >out
if [ -n "$better" ] && grep -q '^openblas  *Prescott' out; then
    grep -q "warning: vectors of 128 bits.*try OPENBLAS_CORETYPE=$better" out ||
        fail "doctor: expected a warning of Prescott's kernels"
fi
OPENBLAS_CORETYPE=$better "$strata" doctor >out
if [ -n "$better" ] && grep -q "^openblas  *$better" out && grep -q 'warning: vectors' out; then
    fail "doctor: a warning of $better"
fi

# == The library that is found =================================================
folder=$(dirname "$library")
if [ -e "$folder/libopenblas.so" ]; then
    STRATA_OPENBLAS="$folder/libopenblas.so" "$strata" build m.lua --blas openblas -o shared
    ldd ./shared | grep -q openblas || fail "a program with a shared OpenBLAS needs none"
    LD_LIBRARY_PATH="$folder" ./shared eval --weights w1 --data text --json >two
    cmp one two || fail "archive and shared library differ"
    LD_LIBRARY_PATH="$folder" ./shared info >out
    grep -q 'products: OpenBLAS' out || fail "info of a program with a shared OpenBLAS"
fi
printf 'int openblas_serial;\n' >serial.c && cc -c serial.c && ar rc libserial.a serial.o
# refused WORDS TEXT: one line, no file
refused() {
    status=0
    # shellcheck disable=SC2086
    "$strata" build m.lua $1 -o refused >out 2>err || status=$?
    [ $status = 1 ] && [ "$(wc -l <err)" = 1 ] && grep -q "^error: .*$2" err && [ ! -e refused ] ||
        fail "build $1: status $status, expected '$2'"
}
refused '--blas openblas --precision bf16' 'found --precision bf16$'
refused '--blas openblas --inference --weights q8' 'found --weights q8$'
refused '--blas openblas --emit obj --target x86_64-apple-darwin' 'found x86_64-apple-darwin$'
STRATA_OPENBLAS='' refused '--blas openblas' 'expected OpenBLAS (apt-get .*), found none$'
STRATA_OPENBLAS="$work/libserial.a" refused '--blas openblas' 'several threads .*libserial.a$'
"$strata" build m.lua --blas openblas --cpu x86-64-v2 -o old && ./old info >/dev/null

# == Objects and libraries ====================================================
"$strata" build m.lua --blas openblas --emit obj -o m.o
grep -q 'define M_BLAS INT64_C(1)' m.h || fail "the header does not say that it needs OpenBLAS"
nm m.o | grep -q ' U cblas_sgemm' || fail "the object does not call OpenBLAS"
"$strata" build m.lua --emit obj -o n.o
grep -q 'define M_BLAS INT64_C(0)' n.h || fail "the header says that it needs OpenBLAS"
[ "$(nm n.o | sed -n 's/.* U //p' | grep -vcxE 'mem(cpy|move|set)')" = 0 ] || fail "$(nm n.o)"
cat >user.c <<'END'
#include <stdlib.h>
#include <stdio.h>
#include "m.h"
static _Alignas(64) char ctx[M_CTX_BYTES];
static void one_by_one(void *pool, int64_t tasks, strata_task_fn fn, void *arg) {
    for (int64_t i = 0; i < tasks; i++) fn(arg, i, (int32_t)(i % 2));
    (void)pool;
}
int main(void) {
    strata_setup s = { .struct_size = sizeof s, .par_for = one_by_one, .workers = 2 };
    int32_t ids[64] = { 1, 2, 3 };
    void *w = aligned_alloc(64, M_WEIGHTS_BYTES), *a = aligned_alloc(64, m_arena_bytes(64, 2));
    float *out = malloc(64 * 256 * sizeof *out), *weights = w;
    for (long i = 0; i < M_WEIGHTS_BYTES / 4; i++) weights[i] = 0.01f * (float)(i % 7);
    int32_t status = m_init(ctx, sizeof ctx, &s);
    if (!status) status = m_logits(ctx, w, a, ids, 1, 64, out);
    printf("%d %s %.3f\n", status, m_message(ctx), (double)out[5]);
    return status;
}
END
"$strata" build m.lua --blas openblas --emit static -o libm_model.a >/dev/null
for objects in m.o libm_model.a; do
    cc -O2 -Wall -Werror user.c $objects "$library" -lm -pthread -o user && ./user >out ||
        fail "a program with $objects"
done
# one that counts its calls: two layers of attention and MLP are more than ten
cat >counts.c <<'END'
#include <stdio.h>
#include <stdlib.h>
static int calls;
static void tell(void) { printf("%d calls\n", calls); }
void cblas_sgemm(void) { calls++ ? 0 : atexit(tell); }
void openblas_set_num_threads(int n) { (void)n; }
int openblas_get_parallel(void) { return 1; }
END
cc -w user.c m.o counts.c -o user && ./user >out
[ "$(sed -n 's/ calls//p' out)" -gt 10 ] || fail "OpenBLAS is not called"
# an OpenBLAS for one thread: one worker is served, two are not
cat >serial.c <<'END'
void cblas_sgemm(void) {}
void openblas_set_num_threads(int n) { (void)n; }
int openblas_get_parallel(void) { return 0; }
END
cc -w user.c m.o serial.c -o user
if ./user >out; then fail "a serial OpenBLAS was taken for two workers"; fi
grep -q '^1 OpenBLAS was not built to be called from several threads.*workers is 2' out ||
    fail "no word of a serial OpenBLAS"

"$strata" build m.lua --blas openblas --emit shared -o libm.so
[ "$(nm -D --defined-only libm.so | grep -vcE ' (m_|strata_model_api)')" = 0 ] ||
    fail "the library shows OpenBLAS"

# == Auto =====================================================================
# kept RATIO: as doctor --measure would have found it for all products
"$strata" build m.lua -o first && ./first info >out
grep -q 'products: generated$' out || fail "products without a measurement"
native=$("$strata" doctor | sed -n 's/^builds for *//p')
kept() {
    mkdir -p "$XDG_CACHE_HOME/strata"
    all=$(yes "$1" | head -n 25 | paste -sd, -)
    printf '{"threads": 1, "products_per_second": 1e9, "sequences_per_second": 1e9, %s
        "openblas_time": {"forward": [%s], "back": [%s], "weight": [%s]}}\n' \
        '"rows_per_second": 1e9, "functions_per_second": 1e9, "bytes_per_second": 1e9,
        "waiting": 0,' \
        "$all" "$all" "${2:-$all}" \
        >"$XDG_CACHE_HOME/strata/rates-$native-$(getconf _NPROCESSORS_ONLN).json"
}
# says OPTIONS TEXT: what a program that is built so says
says() {
    # shellcheck disable=SC2086
    "$strata" build m.lua $1 -o says && ./says info >out
    grep -q "products: $2\$" out || fail "build $1: expected $2"
}
kept 1.3
says '' generated
says '--blas auto' generated
kept 0.7
says '' 'generated, and where it is faster OpenBLAS [0-9.]*, .*'
says '--blas generated' generated
says '--blas auto --precision bf16' generated
says '--cpu x86-64-v2' generated
STRATA_OPENBLAS='' says '' generated
"$strata" build m.lua --emit obj -o n.o
grep -q 'M_BLAS INT64_C(0)' n.h || fail "an object's auto"
"$strata" build m.lua --emit obj --blas auto -o n.o
grep -q 'M_BLAS INT64_C(1)' n.h || fail "an object with --blas auto"
kept 0.7 "$(yes 1.3 | head -n 25 | paste -sd, -)"
"$strata" build m.lua -o mixed
./mixed bench --train --steps 1 >out
grep -q '^linear_weight_.* generated$' out || fail "weight gradients that OpenBLAS is slow at"
grep -q '^linear_back_.* OpenBLAS$' out || fail "products that OpenBLAS is fast at"
"$strata" run m.lua info >out && grep -q 'where it is faster' out || fail "strata run"
kept 1.3
"$strata" run m.lua info >out && grep -q 'products: generated$' out || fail "a cached program"
kept 0
says '' generated

# == Side by side =============================================================
"$strata" compare m.lua --blas generated,openblas --measure --rounds 2 --threads 1 --json \
    >out 2>err || fail "compare"
for way in generated openblas; do
    grep -q "\"name\": \"m, $way\"" out || fail "compare does not name $way"
done
echo "blas: $library"
