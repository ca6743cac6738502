#!/bin/sh
# The table of bench/speed.sh from measurements that are given: medians, ratios and verdicts come out as counted
# by hand.  Nothing is timed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/rows"
# round, ours, floor, bytes, eager, its MiB, compiled, its MiB
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
2.0 600 1000 1048576000 - - - -
END
RESULTS=$work ROWS='d512-haares* vocab' AMX=noamx sh "$here/bench/speed.sh" none 0 > "$work/table"
expect() {
    awk -v row="$1" -v must="$2" -v found="$3" -v pass="$4" '
        $1 == row && $6 == must { seen = $7 " " $8 }
        END { if (seen != found " " pass) { print row, must ": expected " found, pass ", found " seen; exit 1 } }' "$work/table"
}
expect d512-haares 1.5xcompile 1.100 no
expect d512-haares 0.96xd512-standard 0.990 ratio
expect d512-haares 45%memory 0.500 no
expect d512-standard 1.4xcompile 1.200 no
expect d512-standard 65%memory 0.500 ratio
expect d512-haares-bf16 1.5xd512-haares 2.020 ratio
expect d512-haares-bf16 0.92xd512-standard-bf16 - floor
expect vocab 1.8xeager - '?'
! grep -q 'd128\|3.2xcompile' "$work/table" || { echo "expected the chosen rows only, and none for AMX"; exit 1; }
! RESULTS=$work ROWS=nothing sh "$here/bench/speed.sh" none 0 2> /dev/null || { echo "a row that is none was taken"; exit 1; }
