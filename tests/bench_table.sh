#!/bin/sh
# SPDX-License-Identifier: MIT
# The tables of bench/speed.sh, blas.sh and routes.sh from measurements that are given: medians,
# ratios and verdicts come out as counted by hand.  Nothing is timed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/rows"
fail() { echo "$*"; exit 1; }
# round, ours, floor, bytes, eager, its MiB, compiled, its MiB, the floor meanwhile
cat > "$work/rows/d512-standard" <<'END'
1.0 300 1000 1048576000 200 2000 250 1900
1.1 330 1000 1048576000 200 2000 250 1900
1.2 100 1000 1048576000 100 2000 100 1900
END
cat > "$work/rows/d512-haares" <<'END'
1.0 297 900 1048576000 100 2000 270 2000
1.1 297 900 1048576000 100 2000 270 2000
1.2 99 900 1048576000 100 2000 90 2000
END
cat > "$work/rows/d512-haares-bf16" <<'END'
2.0 600 1000 1048576000 - - - - 800
END
RESULTS=$work ROWS='d512-haares* vocab' AMX=noamx sh "$here/bench/speed.sh" none 0 > "$work/table"
expect() {
    awk -v row="$1" -v must="$2" -v found="$3" -v pass="$4" '
        $1 == row && $6 == must { seen = $7 " " $8 }
        END {
            if (seen == found " " pass) exit
            print row, must ": expected " found, pass ", found " seen
            exit 1
        }' "$work/table"
}
expect d512-haares 1.5xcompile 1.100 no
expect d512-haares 0.96xd512-standard 0.990 ratio
expect d512-haares 45%memory 0.500 no
expect d512-standard 1.4xcompile 1.200 no
expect d512-standard 65%memory 0.500 ratio
expect d512-haares-bf16 1.5xd512-haares 2.020 ratio
expect d512-haares-bf16 0.92xd512-standard-bf16 - floor
expect vocab 1.8xeager - '?'
grep -q '^d512-haares-bf16 .* 1000.0  *0.600  *0.750  *1000 ' "$work/table" ||
    fail "expected 0.600 of the floor, 0.750 of the one meanwhile"
grep -q '^d512-haares .* 900.0  *0.330  *-  *1000 ' "$work/table" ||
    fail "expected no floor meanwhile where none was measured"
! grep -q 'd128\|3.2xcompile' "$work/table" ||
    fail "expected the chosen rows only, and none for AMX"
! RESULTS=$work ROWS=nothing sh "$here/bench/speed.sh" none 0 2> /dev/null ||
    fail "a row that is none was taken"

# three rounds; rounds' times are compared, not their medians
printf '%s\n' 'generated 100' 'openblas 80' 'auto 99' 'generated 50' 'openblas 60' 'auto 59' \
    'generated 100' 'openblas 90' 'auto 100' |
    awk -f "$here/bench/median.awk" -f "$here/bench/blas.awk" > "$work/table"
for line in 'generated 100.0 1 1.000' 'openblas 80.0 1.111 1.111' 'auto 99.0 1.000 1.010'; do
    grep -Eq "^$(echo "$line" | sed 's/ / +/g')\$" "$work/table" ||
        { cat "$work/table"; fail "blas.awk: expected $line"; }
done

# 3 routed layers and 2 dense: the output's and the value's products are 6 of 14
routed() {      # routed FILE ROUND TOKENS/S PAIRS ROWS ALL LISTS ROUTER
    cat >> "$work/$1" <<END
$2 $3
$2 attention_8x60 sequence 2 100
$2 linear_480x480 product 14 $6
$2 attention_8x60_some sequence 3 $4
$2 linear_480x480_some product 6 $5
$2 gather_480_some routing 9 $7
$2 linear_2x240 product 3 $8
END
}
for round in 1 2 3; do
    routed prefill.64.routed.1 1.$round 10 8 $((3 + round)) 14 0 0
    routed prefill.64.routed.0.5 1.$round $((10 + 10 * round)) 3 3 14 1 4
    echo "1.$round 10" >> "$work/prefill.64.dense.1"
done
echo '0.4 0.2' > "$work/allowed.64"
RESULTS=$work LENGTHS=64 TRAIN= SHARES='1 0.5' SHARE=0.5 sh "$here/bench/routes.sh" none 0 \
    > "$work/table"
line() {
    pattern="^ *$(echo "$1" | sed 's/ / +/g')\$"
    grep -Eq "$pattern" "$work/table" || { echo "expected '$1'"; cat "$work/table"; exit 1; }
}
line '64 1 10.0 8000.0 5000.0 6000.0 19000.0 19000.0 1.000'
line '64 0.5 30.0 3000.0 3000.0 6000.0 12000.0 10500.0 1.143'
line 'prefill 64 0.5 10.0 30.0 3.000 2.500 1.200 0.80 3.20'

printf '%s\n' 'decode q8 140 100' 'prefill q8 300 210' 'decode q8 120 100' 'decode q8 130 90' \
    'decode q4 100 200' > "$work/measured"
RESULTS=$work sh "$here/bench/llama.sh" none 0 > "$work/table"
line 'decode-q8 130.0 100.0 1.30 1.3 of 3'
line 'prefill-q8 300.0 210.0 1.43 1.5 no of 1'
line 'decode-q4 100.0 200.0 0.50 1.3 no of 1'
