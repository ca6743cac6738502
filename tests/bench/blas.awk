# SPDX-License-Identifier: MIT
# The table of blas.sh: lines "way tokens/s", the ways in turns.
{ rate[$1, ++count[$1]] = $2 }

function all(way,    i, v) {
    for (i = 1; i <= count[way]; i++) v[i] = rate[way, i]
    return middle(v, count[way])
}

# Median over rounds of 'way's time over that of 'other', or of the faster one where it is "".
function times(way, other,    i, v, best) {
    for (i = 1; i <= count[way]; i++) {
        best = rate["generated", i] > rate["openblas", i] ? "generated" : "openblas"
        v[i] = rate[other == "" ? best : other, i] / rate[way, i]
    }
    return middle(v, count[way])
}

END {
    printf "%-10s %10s %10s %10s\n", "products", "tokens/s", "time", "of best"
    printf "%-10s %10.1f %10s %10.3f\n", "generated", all("generated"), "1",
        times("generated", "")
    printf "%-10s %10.1f %10.3f %10.3f\n", "openblas", all("openblas"),
        times("openblas", "generated"), times("openblas", "")
    printf "%-10s %10.1f %10.3f %10.3f\n", "auto", all("auto"), times("auto", "generated"),
        times("auto", "")
}
