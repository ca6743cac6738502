# SPDX-License-Identifier: MIT
# The table of speed.sh: its rows on input, one line for each thing that must hold; folder/NAME has
# the row's measurements, a line a round: round, ours, floor (of float32 in vectors), bytes, eager,
# its MiB, compiled, its MiB, the floor by what others left of the machine meanwhile; "-" for none.
# Speeds are tokens per second, medians of rounds.  Ratios are medians of the rounds' own ratios, of
# medians where two rows were not measured in the same rounds.  pass: "ratio" (what must hold does),
# "floor" (it does not, but ours reaches 75 % of the floor in float32, 55 % in bf16), "no", "?" (not
# measured).
function load(name,    line, f, n) {
    while ((getline line < (folder "/" name)) > 0) {
        n = split(line, f, " ")
        for (i = 2; i <= n; i++) if (f[i] != "-") value[name, f[1], i] = f[i]
        id[name, ++rounds[name]] = f[1]
    }
}

function median(name, column,    r, n, v) {
    for (r = 1; r <= rounds[name]; r++)
        if ((name, id[name, r], column) in value) v[++n] = value[name, id[name, r], column]
    return middle(v, n)
}

# Of a row's own speed to a column of some row, "" if there is none.
function ratio(name, other, column,    r, n, v, key, a, b) {
    for (r = 1; r <= rounds[name]; r++) {
        key = id[name, r]
        if (((name, key, 2) in value) && ((other, key, column) in value))
            v[++n] = value[name, key, 2] / value[other, key, column]
    }
    if (n) return middle(v, n)
    a = median(name, 2)
    b = median(other, column)
    return a == "" || b == "" || b == 0 ? "" : a / b
}

# What was found of "1.6xcompile", "0.96xROW", "65%memory" or "90%floor"; "limit" is what must be.
function found(name, word,    of, bytes, peer) {
    limit = word + 0
    of = word
    sub(/^[0-9.]+[x%]/, "", of)
    if (word ~ /%/) limit /= 100
    if (of == "eager") return ratio(name, name, 5)
    if (of == "compile") return ratio(name, name, 7)
    if (of == "floor") return ratio(name, name, 3)
    if (of != "memory") return ratio(name, of, 2)
    bytes = median(name, 4)
    peer = median(name, 6)
    return bytes == "" || peer == "" ? "" : bytes / 1048576 / peer
}

function verdict(name, word, got, precision,    share, good, enough) {
    good = word ~ /memory/ ? got <= limit : got >= limit
    if (got != "" && good) return "ratio"
    share = ratio(name, name, 3)
    enough = precision == "f32" ? 0.75 : 0.55
    if (word !~ /memory/ && share != "" && share >= enough) return "floor"
    return got == "" ? "?" : "no"
}

function show(x, form) { return x == "" ? "-" : sprintf(form, x) }

function print_columns(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p) {
    printf "%-21s %-27s %-26s %6s %-5s %10s %8s %8s %7s %9s %10s %8s %9s %9s %9s %11s\n",
        a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p
}

function print_row(name, work, word, precision,    got, pass, memory) {
    got = pass = ""
    if (word != "-") {
        got = found(name, word)
        pass = rounds[name] ? verdict(name, word, got, precision) : "?"
    }
    memory = median(name, 4)
    print_columns(name, work, word, show(got, "%.3f"), pass == "" ? "-" : pass,
        show(median(name, 2), "%.1f"), show(median(name, 5), "%.1f"), show(median(name, 7), "%.1f"),
        show(ratio(name, name, 5), "%.2f"), show(ratio(name, name, 7), "%.2f"),
        show(median(name, 3), "%.1f"), show(ratio(name, name, 3), "%.3f"),
        show(ratio(name, name, 9), "%.3f"),
        show(memory == "" ? "" : memory / 1048576, "%.0f"), show(median(name, 6), "%.0f"),
        show(median(name, 8), "%.0f"))
}

{ row[NR] = $0; load($1) }

END {
    print_columns("row", "work", "must", "found", "pass", "tokens/s", "eager", "compile",
        "x eager", "x compile", "floor", "of floor", "meanwhile", "MiB", "MiB eager", "MiB compile")
    for (r = 1; r <= NR; r++) {
        fields = split(row[r], f, " ")
        for (i = 6; i <= fields; i++) {
            word = f[i]
            if (word ~ /^(no)?amx:/ && word !~ ("^" amx ":")) continue
            sub(/^(no)?amx:/, "", word)
            print_row(f[1], f[2] " " f[3] " " f[4] " " f[5], word, f[5])
        }
    }
}
