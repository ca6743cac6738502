/* SPDX-License-Identifier: MIT
** Pictures: self-contained SVG, 640 units wide, readable from 400 pixels on, light
** and dark by prefers-color-scheme.  Colours are classes: c0 ... c5 for kinds of
** things (told apart by the colour-blind too), ink, soft, line and box for the rest; curves
** have "curve" and s0 ... s5, or plain.
*/
#ifndef STRATA_SVG_H
#define STRATA_SVG_H

#include "json.h"

enum { SVG_WIDTH = 640, SVG_COLOURS = 6, SVG_NAME = 14 };

void svg_open(Text *t, const char *title, double height);
void svg_close(Text *t);

/* Pictures in an HTML page: the style once, as a style sheet's text, then pictures of any
** width that have none of their own. */
void svg_page_style(Text *t);
void svg_begin(Text *t, const char *label, double width, double height);

/* Text at (x, y); anchor is start, middle or end; what is long is cut to 'most' characters. */
void svg_text(Text *t, double x, double y, const char *class, const char *anchor, int most,
              const char *text);
void svg_line(Text *t, double x1, double y1, double x2, double y2, const char *class);
/* An axis name beside a vertical axis, its middle at (x, y). */
void svg_vertical(Text *t, double x, double y, const char *text);
/* Pixels that a text of this letter size takes at most, and the least left edge of a plot whose
** ticks have texts so wide, with an axis name beside them at SVG_NAME. */
double svg_width(const char *text, double letter);
double svg_left(double ticks);
/* "%.4g" of a tick, where ticks are so far apart: what is nearly 0 is 0. */
const char *svg_tick_text(char to[32], double value, double apart);
/* How wide the texts of all ticks between two values are. */
double svg_ticks_width(double low, double high, double apart);
/* A name and its coloured square; returns where the next one may begin. */
double svg_key(Text *t, double x, double y, int colour, const char *text);
void svg_escaped(Text *t, const char *text);

/* A round distance of marks: 1, 2 or 5 times a power of ten (of two: a power of two),
** about 'count' of them up to 'most'. */
double svg_tick(double most, int count, bool binary);

#endif
