/* SPDX-License-Identifier: MIT
** Writing the log, and finding where a resumed run goes on in it.
*/
#include "train_log.h"

#include "files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_VALUES = 100000 };

/* What a line of the log is about. */
typedef enum LineKind { LINE_RUN, LINE_STEP, LINE_OTHER } LineKind;

typedef struct LogLine {
    int64_t step;
    char run[32]; /* of the run's line */
} LogLine;

static LineKind read_line(const char *path, const char *text, size_t length, LogLine *line) {
    Json j = { 0 };
    Error ignored = { 0 };
    LineKind kind = LINE_OTHER;
    *line = (LogLine){ 0 };
    if (json_parse(&j, path, text, length, LINE_VALUES, &ignored)) return kind;
    if (j.node[0].type == JSON_OBJECT) {
        const JsonNode *at = json_member(&j, j.node, "step");
        const JsonNode *run = json_member(&j, j.node, "run");
        if (at && json_int64(at, &line->step)) kind = LINE_STEP;
        else if (json_member(&j, j.node, "strata")) kind = LINE_RUN;
        if (run && run->text) print_text(line->run, sizeof line->run, "%s", run->text);
    }
    json_free(&j);
    return kind;
}

/* Zeros are what a power cut leaves of lines that were not on the disk yet.  A first line that has
** some is a log's only if nothing else says otherwise. */
static bool is_lost(const char *line, size_t n, int64_t number) {
    static const char start[] = "{\"strata\"";
    size_t at = 0;
    if (!memchr(line, 0, n)) return false;
    while (at < n && !line[at])
        at++;
    return number > 1 || at == n || (at && !strncmp(line + at, "{\"", 2))
        || (n > sizeof start && !memcmp(line, start, sizeof start - 1));
}

static int not_a_log(const char *path, Error *e) {
    return error_set(e, STATUS_USER,
                     "%s:1: expected a log of training, which starts with {\"strata\": …}; it is "
                     "left as it is",
                     path);
}

static int other_run(const char *path, Error *e) {
    return error_set(e, STATUS_USER,
                     "%s:1: expected the log of this run, found another run's; it is left as it "
                     "is: another --log, or --overwrite",
                     path);
}

/* Bytes of f to keep: the run's line and steps up to 'resume' (none if it is negative). */
static int scan(FILE *f, const char *path, const char *run, int64_t resume, off_t *keep, Error *e) {
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int status = STATUS_OK;
    *keep = 0;
    for (int64_t number = 1; !status && (n = getline(&line, &room, f)) > 0; number++) {
        LogLine at;
        bool whole = line[n - 1] == '\n';
        if (is_lost(line, (size_t)n, number)) break;
        LineKind kind = read_line(path, line, (size_t)n, &at);
        if (number == 1 && kind != LINE_RUN && (whole || n > 200)) status = not_a_log(path, e);
        else if (number == 1 && whole && run && strcmp(at.run, run) != 0)
            status = other_run(path, e);
        if (resume < 0 || !whole || (kind == LINE_STEP && at.step > resume)) break;
        if (!status && kind == LINE_OTHER)
            status = error_set(e, STATUS_USER,
                               "%s:%lld: expected a line of a training log, found something else",
                               path, (long long)number);
        *keep += n;
    }
    if (!status && ferror(f)) status = error_errno(e, path, "read", errno);
    free(line);
    return status;
}

static int train_log_cut(TrainLog *l, const char *run, int64_t resume, bool *fresh, Error *e) {
    int copy = dup(l->fd);
    FILE *f = copy < 0 ? NULL : fdopen(copy, "r");
    if (!f) {
        if (copy >= 0) close(copy);
        return error_errno(e, l->path, "read", errno);
    }
    off_t keep = 0;
    int status = scan(f, l->path, run, resume, &keep, e);
    fclose(f);
    *fresh = keep == 0;
    if (!status && ftruncate(l->fd, keep)) status = error_errno(e, l->path, "shorten", errno);
    return status;
}

/* What is written there is gone: nothing is cut, and no step is left out. */
static int open_stream(TrainLog *l, Error *e) {
    l->fd = open(l->path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
    return l->fd < 0 ? error_errno(e, l->path, "open", errno) : STATUS_OK;
}

int train_log_open(TrainLog *l, const char *path, const char *run, int64_t resume, bool *fresh,
                   Error *e) {
    *l = (TrainLog){ .fd = -1, .path = path };
    *fresh = true;
    if (!path) return STATUS_OK;
    if (output_is_stream(path)) return open_stream(l, e);
    l->fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666);
    if (l->fd < 0) return error_errno(e, path, "open", errno);
    struct stat st;
    int status = STATUS_OK;
    if (fstat(l->fd, &st) || !S_ISREG(st.st_mode))
        status = error_set(e, STATUS_USER,
                           "%s: expected a regular file for the log, found something else", path);
    if (!status && st.st_size && !(st.st_mode & 0222))
        status = error_set(e, STATUS_USER,
                           "%s: expected a log to write to, found one that is "
                           "read-only: another --log",
                           path);
    if (!status) status = train_log_cut(l, run, resume, fresh, e);
    if (status) train_log_close(l);
    return status;
}

int train_log_line(TrainLog *l, Error *e) {
    int status = text_status(&l->line, e);
    const char *at = l->line.at;
    size_t left = l->fd < 0 ? 0 : l->line.length;
    while (!status && left > 0) {
        ssize_t n = write(l->fd, at, left);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) status = error_errno(e, l->path, "write", errno);
        at += n > 0 ? n : 0;
        left -= n > 0 ? (size_t)n : 0;
    }
    text_clear(&l->line);
    return status;
}

static void train_log_number(Text *t, const char *key, double value) {
    text_add(t, ", \"%s\": ", key);
    text_json_number(t, value);
}

int train_log_step(TrainLog *l, const TrainStep *s, Error *e) {
    text_add(&l->line, "{\"step\": %lld", (long long)s->step);
    train_log_number(&l->line, "loss", s->loss);
    train_log_number(&l->line, "cross_entropy", s->cross_entropy);
    train_log_number(&l->line, "lr", s->lr);
    train_log_number(&l->line, "grad_norm", s->grad_norm);
    train_log_number(&l->line, "tokens_per_second", s->tokens_per_second);
    train_log_number(&l->line, "seconds", s->seconds);
    for (int32_t i = 0; i < s->routes; i++) {
        text_add(&l->line, i ? ", " : ", \"routed\": [");
        text_json_number(&l->line, s->routed[i]);
    }
    text_add(&l->line, s->routes ? "]" : "");
    for (int32_t i = 0; i < s->loads; i++) {
        text_add(&l->line, i ? ", " : ", \"load\": [");
        text_json_number(&l->line, s->load[i]);
    }
    text_add(&l->line, s->loads ? "]" : "");
    for (int32_t i = 0; i < s->sources; i++) {
        text_add(&l->line, i ? ", " : s->sources > 1 ? ", \"epochs\": [" : ", \"epoch\": ");
        text_json_number(&l->line, s->epoch[i]);
    }
    text_add(&l->line, s->sources > 1 ? "]}\n" : "}\n");
    return train_log_line(l, e);
}

int train_log_evaluation(TrainLog *l, const TrainEvaluation *x, Error *e) {
    text_add(&l->line, "{\"step\": %lld", (long long)x->step);
    train_log_number(&l->line, "val_loss", x->loss);
    if (x->training_form) train_log_number(&l->line, "loss_training_form", *x->training_form);
    train_log_number(&l->line, "best_val_loss", x->best);
    text_add(&l->line, ", \"best_step\": %lld", (long long)x->best_step);
    for (int i = 0; x->val->sources > 1 && i < x->val->sources; i++) {
        text_add(&l->line, i ? "}, {\"name\": " : ", \"val_files\": [{\"name\": ");
        text_json_string(&l->line, x->val->source[i].name);
        train_log_number(&l->line, "loss", x->val_loss[i]);
    }
    text_add(&l->line, x->val->sources > 1 ? "}]}\n" : "}\n");
    return train_log_line(l, e);
}

void train_log_close(TrainLog *l) {
    if (l->fd >= 0) close(l->fd);
    l->fd = -1;
    text_free(&l->line);
}
