/* SPDX-License-Identifier: MIT
** See page.h. */
#include "page.h"

#include "svg.h"

static const char common[] =
    "body{margin:0;background:var(--page);color:var(--ink);font:16px/1.5 system-ui,sans-serif}"
    "main{max-width:1500px;margin:auto;padding:16px clamp(12px,3vw,48px) 48px}"
    "h1{font-size:1.5em;line-height:1.25;overflow-wrap:anywhere}"
    "h2{font-size:1.2em;margin:2em 0 .3em}"
    "p{margin:.4em 0;max-width:75em;overflow-wrap:anywhere}"
    ".note,small,figcaption span{color:var(--soft)}small{font-size:.9em}"
    /* a shadow at the edge behind which a table goes on: covers move with what scrolls */
    ".scroll{overflow-x:auto;margin:.8em 0;"
    "background:linear-gradient(90deg,var(--page) 40%,transparent) 0 0/44px 100% no-repeat local,"
    "linear-gradient(270deg,var(--page) 40%,transparent) 100% 0/44px 100% no-repeat local,"
    "linear-gradient(90deg,var(--line),transparent) 0 0/16px 100% no-repeat scroll,"
    "linear-gradient(270deg,var(--line),transparent) 100% 0/16px 100% no-repeat scroll}"
    "table{border-collapse:separate;border-spacing:0;font-size:14px;font-variant-numeric:tabular-"
    "nums}"
    "th,td{padding:5px 12px;text-align:right;vertical-align:top;border-bottom:1px solid "
    "var(--line)}"
    "td{white-space:nowrap}thead th{vertical-align:bottom}th:first-child{text-align:left}"
    "@media(max-width:700px){th[scope=row]{position:sticky;left:0;background:var(--page);box-"
    "shadow:inset 0 -1px var(--line)}}"
    ".command{white-space:pre-wrap;overflow-wrap:anywhere}"
    ".figures{display:grid;gap:24px;"
    "grid-template-columns:repeat(auto-fill,minmax(min(100%,400px),1fr))}"
    "figure{margin:0;min-width:0;max-width:640px}figcaption{font-weight:600;overflow-wrap:anywhere}"
    ".scale{max-width:430px;margin:.6em 0}"
    "figcaption span{display:block;font-weight:400;font-size:.85em}summary{cursor:pointer}";

void page_open(Text *t) {
    text_add(t,
             "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
             "<title>");
}

void page_body(Text *t, const char *style) {
    text_add(t, "</title>\n<style>");
    svg_page_style(t);
    text_add(t, "%s%s</style>\n</head>\n<body>\n<main>\n<h1>", common, style);
}

void page_close(Text *t) { text_add(t, "</main>\n</body>\n</html>\n"); }

void page_heading(Text *t, const char *title, const char *note) {
    text_add(t, "<h2>%s</h2>\n<p class=\"note\">%s</p>\n", title, note);
}

void page_table(Text *t, const char *label) {
    text_add(t, "<div class=\"scroll\" role=\"region\" aria-label=\"%s\" tabindex=\"0\"><table>\n",
             label);
}

void page_table_end(Text *t) { text_add(t, "</tbody></table></div>\n"); }
