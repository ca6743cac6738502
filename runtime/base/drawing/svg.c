/* SPDX-License-Identifier: MIT
** See svg.h.  Colours after Okabe and Ito, lighter ones where the page is dark. */
#include "svg.h"

#include "escape.h"

#include <math.h>
#include <string.h>

/* Page, ink, soft, line, box, and the colours of things. */
#define LIGHT                                                                            \
    "#fff", "#1b1b1b", "#5b5b5b", "#c4c4c4", "#f3f3f1", "#0072b2", "#e69f00", "#009e73", \
        "#cc79a7", "#56b4e9", "#d55e00"
#define DARK                                                                                \
    "#161616", "#ececec", "#a8a8a8", "#4a4a4a", "#232323", "#4da3dd", "#f0b429", "#2fbf94", \
        "#e09cc2", "#8fd0f5", "#f08a4b"
#define WITH(rules, ...) rules(__VA_ARGS__)

/* Plain colours, no variables: not only browsers draw these. */
#define COLOURS(page, ink, soft, line, box, c0, c1, c2, c3, c4, c5)                                \
    "svg{background:" page "}.page{fill:" page "}.ink,.title,.name{fill:" ink                      \
    "}.soft,.mono,.tip{fill:" soft "}"                                                             \
    ".line,.group{stroke:" line "}.flow,.edge{stroke:" soft "}.box{fill:" box ";stroke:" line      \
    "}.tall{stroke:" page "}"                                                                      \
    ".c0{fill:" c0 "}.c1{fill:" c1 "}.c2{fill:" c2 "}.c3{fill:" c3 "}.c4{fill:" c4 "}.c5{fill:" c5 \
    "}"                                                                                            \
    ".s0{stroke:" c0 "}.s1{stroke:" c1 "}.s2{stroke:" c2 "}.s3{stroke:" c3 "}.s4{stroke:" c4       \
    "}.s5{stroke:" c5 "}.plain{stroke:" soft "}"
#define SHAPES                                                                    \
    ".soft{font-size:12px}.title{font-weight:600;font-size:16px}.mono{font:12px " \
    "ui-monospace,monospace}.name{font-weight:600}"                               \
    ".line,.flow,.group,.edge{fill:none}.flow{stroke-width:1.2}"                  \
    ".edge{stroke-dasharray:3 2}.curve{fill:none;stroke-width:1.8}"               \
    ".halo{stroke-width:4;stroke-linejoin:round;paint-order:stroke}"              \
    ".said *{fill-opacity:0}.said rect{width:1px;height:1px}"                     \
    ".group{stroke-dasharray:4 3}.tall{stroke-width:.3}" WITH(                    \
        COLOURS, LIGHT) "@media(prefers-color-scheme:dark){" WITH(COLOURS, DARK) "}"

/* Narrower windows scroll: smaller letters cannot be read. */
static const char svg_style[] =
    "svg{width:100%;min-width:600px;max-width:1100px;height:auto;display:block;margin:auto;"
    "color-scheme:light dark;font:14px system-ui,sans-serif}" SHAPES;

/* A page is for browsers: what is no picture takes its colours from these. */
#define VARIABLES(page, ink, soft, line, box, c0, c1, c2, c3, c4, c5)                            \
    ":root{--page:" page ";--ink:" ink ";--soft:" soft ";--line:" line ";--box:" box ";--c0:" c0 \
    ";--c1:" c1 ";--c2:" c2 ";--c3:" c3 ";--c4:" c4 ";--c5:" c5 "}"

static const char page_style[] = ":root{color-scheme:light dark}" WITH(
    VARIABLES,
    LIGHT) "@media(prefers-color-scheme:dark){" WITH(VARIABLES,
                                                     DARK) "}"
                                                           "svg{width:100%;height:auto;display:"
                                                           "block;font:14px "
                                                           "system-ui,sans-serif}" SHAPES;

void svg_page_style(Text *t) { text_add(t, "%s", page_style); }

void svg_begin(Text *t, const char *label, double width, double height) {
    text_add(t, "<svg viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"", width, height);
    svg_escaped(t, label);
    text_add(t, "\">\n");
}

void svg_escaped(Text *t, const char *text) {
    for (size_t used; *text; text += used) {
        unsigned char c = (unsigned char)*text;
        bool inert;
        used = text_character(text, strlen(text), &inert);
        if (c == '<') text_add(t, "&lt;");
        else if (c == '>') text_add(t, "&gt;");
        else if (c == '&') text_add(t, "&amp;");
        else if (c == '"') text_add(t, "&quot;");
        else if (used == 1 && c >= 0x80) text_add(t, "\xef\xbf\xbd"); /* no UTF-8 */
        else text_bytes(t, c < 32 ? " " : text, used);
    }
}

void svg_open(Text *t, const char *title, double height) {
    text_add(t,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" role=\"img\" "
             "aria-label=\"",
             SVG_WIDTH, height);
    svg_escaped(t, title);
    text_add(t, "\">\n<style>%s</style>\n", svg_style);
    text_add(t, "<rect width=\"%d\" height=\"%.0f\" class=\"page\"/>\n", SVG_WIDTH, height);
    svg_text(t, 16, 26, "title", "start", 70, title);
}

void svg_close(Text *t) { text_add(t, "</svg>\n"); }

/* The first 'most' characters, an ellipsis in place of the rest. */
static void svg_cut(Text *t, const char *text, int most) {
    char part[512];
    size_t n = 0;
    int characters = 0;
    for (; text[n] && n + 8 < sizeof part; n++) {
        if (((unsigned char)text[n] & 0xc0) != 0x80 && characters++ == most) break;
        part[n] = text[n];
    }
    part[n] = 0;
    svg_escaped(t, part);
    if (text[n]) text_add(t, "\xe2\x80\xa6");
}

void svg_text(Text *t, double x, double y, const char *class, const char *anchor, int most,
              const char *text) {
    text_add(t, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\"", x, y, class);
    if (strcmp(anchor, "start")) text_add(t, " text-anchor=\"%s\"", anchor);
    text_add(t, ">");
    svg_cut(t, text, most);
    text_add(t, "</text>\n");
}

void svg_line(Text *t, double x1, double y1, double x2, double y2, const char *class) {
    text_add(t, "<path class=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", class, x1, y1, x2, y2);
}

void svg_vertical(Text *t, double x, double y, const char *text) {
    text_add(t,
             "<text class=\"soft\" text-anchor=\"middle\" transform=\"translate(%.1f "
             "%.1f)rotate(-90)\">",
             x, y);
    svg_escaped(t, text);
    text_add(t, "</text>\n");
}

/* Digits of usual fonts are 0.56 to 0.6 of the letter size wide. */
double svg_width(const char *text, double letter) {
    int n = 0;
    for (; *text; text++)
        n += ((unsigned char)*text & 0xc0) != 0x80;
    return 0.6 * letter * n;
}

double svg_left(double ticks) { return SVG_NAME + 8 + ticks + 8; }

const char *svg_tick_text(char to[32], double value, double apart) {
    return print_figures(to, fabs(value) < 1e-6 * apart ? 0 : value, 4);
}

double svg_ticks_width(double low, double high, double apart) {
    double most = 0;
    char text[32];
    for (double y = apart * ceil(low / apart); y <= high; y += apart)
        most = fmax(most, svg_width(svg_tick_text(text, y, apart), 12));
    return most;
}

double svg_key(Text *t, double x, double y, int colour, const char *text) {
    text_add(t, "<rect x=\"%.1f\" y=\"%.1f\" width=\"11\" height=\"11\" class=\"c%d\"/>\n", x,
             y - 10, colour % SVG_COLOURS);
    svg_text(t, x + 16, y, "soft", "start", 84, text);
    return x + 16 + 6.6 * (double)strlen(text) + 16;
}

double svg_tick(double most, int count, bool binary) {
    if (!(most > 0)) return 1;
    if (binary) return exp2(ceil(log2(most / count)));
    double unit = pow(10, floor(log10(most / count))), step = most / count / unit;
    return unit * (step <= 1 ? 1 : step <= 2 ? 2 : step <= 5 ? 5 : 10);
}
