/* SPDX-License-Identifier: MIT
** Graphs as text, for tests.
*/
#ifndef TESTS_GRAPH_FILE_H
#define TESTS_GRAPH_FILE_H

#include "graph.h"

/* What graph_print writes; to be freed. */
char *graph_printed(const Graph *g, bool locations);
/* A graph from a file; *text, to be freed, is the file's.  Ends the program,
** with the reader's message, if there is a mistake. */
Graph *graph_from_file(const char *path, char **text);

#endif
