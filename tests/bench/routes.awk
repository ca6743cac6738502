# SPDX-License-Identifier: MIT
# The tables of routes.sh, from what it measured; see there.
# What is counted of a kernel: "pairs", "rows" (products and row operations of the routed alone),
# "all" (those that value and output take for every token, in routed layers), "lists", "router".
function kind_of(name, family) {
    if (family == "routing") return "lists"
    if (name ~ /^attention_.*_some$/) return "pairs"
    if (name ~ /_some$/) return "rows"
    if (name == "linear_480x480") return "all"
    if (name ~ /_240x480$|_2x240$/) return "router"
    return ""
}

# Fills rate[file] and time[file, kind], medians of rounds; the step's time is of kind "step".
function load(file,    line, f, n, at, count, id, kind, sum, calls, routed, k, v, kinds, i, part) {
    delete sum
    while ((getline line < (folder "/" file)) > 0) {
        n = split(line, f, " ")
        if (n == 2) {
            id[++count] = f[1]
            v[count] = f[2]
            continue
        }
        kind = kind_of(f[2], f[3])
        sum[f[1], "step"] += f[5]
        if (kind != "") sum[f[1], kind] += f[5]
        if (kind == "pairs") routed = f[4]
        if (kind == "all") calls = f[4]
    }
    close(folder "/" file)
    rate[file] = middle(v, count)
    n = split("step lists pairs rows all router", kinds, " ")
    for (k = 1; k <= n; k++) {
        delete v
        part = kinds[k] == "all" && calls ? 2 * routed / calls : 1
        for (i = 1; i <= count; i++) v[i] = sum[id[i], kinds[k]] * part
        time[file, kinds[k]] = middle(v, count)
    }
    return count
}

function table(tokens,    s, n, i, file, first, took, ideal) {
    n = split(shares, s, " ")
    for (i = 1; i <= n; i++) {
        file = "prefill." tokens ".routed." s[i]
        if (!load(file)) continue
        if (i == 1) first = file
        took = time[file, "pairs"] + time[file, "rows"] + time[file, "all"]
        ideal = s[i] * s[i] * time[first, "pairs"] + s[i] * time[first, "rows"] + time[first, "all"]
        printf "%7d %7s %10.1f %10.1f %9.1f %9.1f %9.1f %9.1f %9.3f\n", tokens, s[i], rate[file],
            1e3 * time[file, "pairs"], 1e3 * time[file, "rows"], 1e3 * time[file, "all"],
            1e3 * took, 1e3 * ideal, took / ideal
    }
}

function speed(work, tokens, column,    line, f, dense, routed, gain, allowed) {
    dense = work "." tokens ".dense.1"
    routed = work "." tokens ".routed." share
    if (!load(dense) || !load(routed) || (getline line < (folder "/allowed." tokens)) <= 0) return
    split(line, f, " ")
    close(folder "/allowed." tokens)
    gain = rate[routed] / rate[dense]
    allowed = 1 / f[column]
    printf "%-8s %7d %7s %10.1f %10.1f %9.3f %9.3f %9.3f %9.2f %9.2f\n",
        work, tokens, share, rate[dense], rate[routed], gain, allowed, gain / allowed,
        100 * time[routed, "lists"] / time[routed, "step"],
        100 * time[routed, "router"] / time[routed, "step"]
}

BEGIN {
    n = split(lengths, length_of, " ")
    m = split(train, window, " ")
    print "\nprefill, attention of routed layers, ms"
    printf "%7s %7s %10s %10s %9s %9s %9s %9s %9s\n", "tokens", "share", "tokens/s", "pairs",
        "q, k", "v, o", "all", "ideal", "of ideal"
    for (i = 1; i <= n; i++) table(length_of[i])
    print "\nagainst the dense twin"
    printf "%-8s %7s %7s %10s %10s %9s %9s %9s %9s %9s\n", "", "tokens", "share", "dense",
        "tokens/s", "speed-up", "allowed", "of it", "lists %", "router %"
    for (i = 1; i <= m; i++) speed("train", window[i], 2)
    for (i = 1; i <= n; i++) speed("prefill", length_of[i], 1)
}
