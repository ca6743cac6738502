/* SPDX-License-Identifier: MIT
** Notes where a comparison's numbers come from; see provenance.h.
*/
#include "compare_source.h"

#include "files.h"
#include "spec.h"
#include "workshop.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double load(void) {
    double x;
    return getloadavg(&x, 1) == 1 ? x : (double)NAN;
}

static void note_processor(Provenance *p) {
    FILE *f = fopen("/proc/cpuinfo", "re");
    char line[256];
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "model name : %127[^\n]", p->processor) == 1) break;
    if (f) fclose(f);
    cpu_set_t set;
    p->processors = sched_getaffinity(0, sizeof set, &set) ? 0 : CPU_COUNT(&set);
}

static int note_data(const DataWords *words, SourceFile *to, Error *e) {
    DataFiles f;
    Text name = { 0 };
    if (!words->words) return STATUS_OK;
    int status = data_files_open(&f, words, e);
    if (status) return status;
    status = data_files_identify(&f, e);
    memcpy(to->sha256, f.sha256, sizeof to->sha256);
    for (int i = 0; i < f.files; i++)
        to->bytes += (double)f.file[i].before.st_size;
    for (int i = 0; i < words->words; i++)
        text_add(&name, "%s%s", i ? " " : "", words->word[i]);
    if (!status) status = text_status(&name, e);
    to->name = name.at;
    data_files_free(&f);
    return status;
}

/* == Specs and what they read ============================================= */

static bool is_noted(const Provenance *p, const char *name) {
    for (int i = 0; i < p->files; i++)
        if (!strcmp(p->file[i].name, name)) return true;
    return false;
}

static int note_file(Provenance *p, const char *name, Error *e) {
    size_t size;
    const char *library = spec_library_text(name, &size);
    Text text = { 0 };
    if (is_noted(p, name)) return STATUS_OK;
    SourceFile *more = realloc(p->file, (size_t)(p->files + 1) * sizeof *more);
    if (!more) return error_memory(e, name, (size_t)(p->files + 1) * sizeof *more);
    p->file = more;
    if (library) text_bytes(&text, library, size);
    else if (workshop_read(name, &text, e)) return text_free(&text), e->status;
    p->file[p->files] = (SourceFile){ .name = strdup(name), .text = text.at };
    return p->file[p->files++].name && !text.failed ? STATUS_OK : error_memory(e, name, size);
}

/* The library's mixer too, whose name is that of its file. */
static int note_variant(Provenance *p, const Model *m, Error *e) {
    char mixer[256];
    size_t size;
    int status = STATUS_OK;
    for (int i = 0; !status && i < m->nread_file; i++)
        status = note_file(p, m->read_file[i], e);
    print_text(mixer, sizeof mixer, "library/mixers/%s.lua", m->mixer ? m->mixer : "");
    return status || !spec_library_text(mixer, &size) ? status : note_file(p, mixer, e);
}

int source_note(Comparison *c, const DataWords *data, const DataWords *val, Error *e) {
    Provenance *p = &c->source;
    time_t now = time(NULL);
    struct tm utc;
    strftime(p->date, sizeof p->date, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    note_processor(p);
    p->load_before = p->load_after = load();
    int status = note_data(data, &p->data, e);
    if (!status) status = note_data(val, &p->val, e);
    for (int i = 0; !status && i < c->n; i++)
        status = note_file(p, c->variant[i].report->model->file, e);
    for (int i = 0; !status && i < c->n; i++)
        status = note_variant(p, c->variant[i].report->model, e);
    return status;
}

void source_end(Comparison *c) { c->source.load_after = load(); }
