# SPDX-License-Identifier: MIT
# middle(v, n): the median of v[1], .. v[n], "" of none; v is sorted.
function sort(v, n,    i, j, x) {
    for (i = 2; i <= n; i++) {
        x = v[i]
        for (j = i - 1; j >= 1 && v[j] > x; j--) v[j + 1] = v[j]
        v[j + 1] = x
    }
}

function middle(v, n) {
    sort(v, n)
    return n == 0 ? "" : n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
}
