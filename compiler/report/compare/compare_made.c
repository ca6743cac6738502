/* SPDX-License-Identifier: MIT
** How a comparison was made: date, machine, its load, files of training and evaluation; see
** comparison.h.  What cannot be found out is left out without an error.
*/
#include "comparison.h"

#include "escape.h"
#include "files.h"
#include "hash.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FILES_SHOWN = 32, PIECE = 1 << 16 };

/* Of a file's bytes; "": it cannot be read. */
static void hash_file(const DataFile *f, char to[65]) {
    static unsigned char piece[PIECE];
    Input in;
    Sha256 s;
    if (data_file_open(f, &in, NULL)) return;
    sha256_start(&s);
    uint64_t at = 0, end = (uint64_t)f->before.st_size;
    for (size_t n; at < end; at += n) {
        n = end - at < PIECE ? (size_t)(end - at) : PIECE;
        if (input_read(&in, at, piece, n, NULL)) break;
        sha256_add(&s, piece, n);
    }
    if (at == end) sha256_text(&s, to);
    input_close(&in);
}

static void add_files(Circumstances *made, const DataWords *words, bool validation) {
    DataFiles f;
    Error e = { 0 };
    if (!words->words || data_files_open(&f, words, &e)) return;
    for (int i = 0; i < f.files; i++) {
        if (made->files == FILES_SHOWN) {
            made->more++;
            continue;
        }
        TextFile *to = &made->file[made->files++];
        *to = (TextFile){ .bytes = (int64_t)f.file[i].before.st_size, .validation = validation };
        text_escape(to->name, sizeof to->name, f.file[i].path, strlen(f.file[i].path));
        if (to->bytes <= DATA_WHOLE) hash_file(&f.file[i], to->sha256);
    }
    data_files_free(&f);
}

static int usable(void) {
    cpu_set_t set;
    if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void compare_look_back(Comparison *c) {
    if (getloadavg(&c->made.after, 1) != 1) c->made.after = NAN;
}

void compare_look_around(Comparison *c, const DataWords *data, const DataWords *val) {
    Circumstances *made = &c->made;
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(made->date, sizeof made->date, "%Y-%m-%d %H:%M UTC", &utc);
    processor_name(made->processor, sizeof made->processor);
    made->processors = usable();
    if (getloadavg(&made->load, 1) != 1) made->load = NAN;
    made->after = NAN;
    made->file = calloc(FILES_SHOWN, sizeof *made->file);
    if (!made->file) return;
    add_files(made, data, false);
    add_files(made, val, true);
}

void compare_load_warning(const Comparison *c, char to[160]) {
    const Circumstances *made = &c->made;
    *to = 0;
    if (!(c->rounds || c->text) || !made->processors
        || !(made->load > load_quiet(made->processors)))
        return;
    print_text(to, 160, "load %s on %d processor%s before it began: times are not to be trusted",
               FIGURES(made->load, 2), made->processors, made->processors == 1 ? "" : "s");
}
