# SPDX-License-Identifier: MIT
# Of lines "WHAT TYPE ours theirs" (tokens/s), medians and their ratio; 'least': "WHAT-TYPE ratio"
# pairs, what must hold. llama.sh sorts what comes in.
{
    key = $1 "-" $2
    if (!(key in count)) order[++rows] = key
    n = ++count[key]
    ours[key, n] = $3
    theirs[key, n] = $4
}

function median_of(from, key,    i, v) {
    for (i = 1; i <= count[key]; i++) v[i] = from[key, i]
    return middle(v, count[key])
}

END {
    pairs = split(least, word, " ")
    for (i = 1; i < pairs; i += 2) must[word[i]] = word[i + 1]
    printf "%-12s %10s %10s %7s %6s\n", "tokens/s", "Strata", "llama.cpp", "ratio", "must"
    for (i = 1; i <= rows; i++) {
        key = order[i]
        us = median_of(ours, key)
        them = median_of(theirs, key)
        ratio = them > 0 ? us / them : 0
        printf "%-12s %10.1f %10.1f %7.2f %6s  of %d\n", key, us, them, ratio, \
            key in must ? must[key] (ratio >= must[key] ? "" : " no") : "", count[key]
    }
}
