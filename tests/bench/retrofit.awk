# SPDX-License-Identifier: MIT
# Curves of retrofit.sh as a picture: a panel a mixer, validation loss by step, of the plain stream
# (grey), of the mixer as published (red) and with the start that computes the same (blue).
#   awk -v folder=FOLDER -f retrofit.awk <NAMES
BEGIN { low = 1e9; top = 0; wide = 210; tall = 150; across = 4 }

function y_of(loss) { return loss > top ? 0 : (top - loss) / (top - low) * (tall - 44) }

function draw(name, colour, x0, y0,   i, path) {
    for (i = 0; i < count[name]; i++)
        path = path sprintf("%s%.1f %.1f", i ? "L" : "M", x0 + step[name, i] / most * (wide - 56),
            y0 + y_of(loss[name, i]))
    if (path != "")
        printf "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" d=\"%s\"/>\n", colour, path
}

{
    file = folder "/" $1 ".jsonl"
    while ((getline line < file) > 0)
        if (match(line, /"step": [0-9]+, "val_loss": [0-9.e-]+/)) {
            split(substr(line, RSTART, RLENGTH), part, /[:,] /)
            i = count[$1]++
            step[$1, i] = part[2]; loss[$1, i] = part[4]
            if (part[2] + 0 > most) most = part[2] + 0
            if (part[4] + 0 < low) low = part[4] + 0
        }
    close(file)
    panel = $1
    sub(/_equal$/, "", panel)
    if (count[$1] > 1 && panel != "standard" && !seen[panel]++) panels[n++] = panel
}

END {
    top = low + 0.5
    rows = int((n + across - 1) / across)
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" " \
        "font-family=\"sans-serif\" font-size=\"11\">\n", across * wide, rows * tall + 4
    printf "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n"
    for (p = 0; p < n; p++) {
        x = p % across * wide + 40; y = int(p / across) * tall + 22
        printf "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s</text>\n", x, y - 6, panels[p]
        for (at = int(low * 10 + 1) / 10; at <= top; at += 0.1) {
            printf "<path stroke=\"#ddd\" d=\"M%d %.1fh%d\"/>\n", x, y + y_of(at), wide - 56
            printf "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#555\">%.1f</text>\n",
                x - 4, y + y_of(at) + 4, at
        }
        for (at = 0; at <= most; at += most)
            printf "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#555\">%d</text>\n",
                x + at / most * (wide - 56), y + tall - 30, at
        draw("standard", "#999", x, y)
        draw(panels[p], "#c22", x, y)
        draw(panels[p] "_equal", "#15c", x, y)
    }
    print "</svg>"
}
