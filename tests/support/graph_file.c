/* SPDX-License-Identifier: MIT
** Graphs as text: a test that cannot have its graph has nothing to report.
*/
#include "graph_file.h"

#include <stdlib.h>

char *graph_printed(const Graph *g, bool locations) {
    char *text;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    if (!f) abort();
    graph_print(g, f, locations);
    fclose(f);
    return text;
}

static char *contents(const char *path) {
    char *text;
    size_t size;
    int c;
    FILE *from = fopen(path, "r"), *to = open_memstream(&text, &size);
    if (!from || !to) {
        perror(path);
        exit(1);
    }
    while ((c = fgetc(from)) != EOF)
        fputc(c, to);
    fclose(from);
    fclose(to);
    return text;
}

Graph *graph_from_file(const char *path, char **text) {
    char error[200] = "";
    *text = contents(path);
    Graph *g = graph_read(*text, error, sizeof error);
    if (!g) {
        fprintf(stderr, "%s: %s\n", path, error);
        exit(1);
    }
    return g;
}
