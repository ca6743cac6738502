/* SPDX-License-Identifier: MIT
** Child processes; see process.h. */
#include "process.h"

#include "fatal.h"

#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void process_stops(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

void process_hold(sigset_t *before) {
    sigset_t set;
    process_stops(&set);
    sigaddset(&set, SIGCHLD);
    signal(SIGCHLD, SIG_DFL); /* if it is ignored, children cannot be waited for */
    sigprocmask(SIG_BLOCK, &set, before);
}

void process_release(const sigset_t *before) { sigprocmask(SIG_SETMASK, before, NULL); }

/* nohup and shells' background jobs ignore signals for their children: so do we. */
static bool is_ignored(int number) {
    struct sigaction how;
    return !sigaction(number, NULL, &how) && how.sa_handler == SIG_IGN;
}

int process_wait(pid_t child, const ProcessTick *tick, int *stop) {
    static const struct timespec between = { .tv_nsec = 500000000 };
    sigset_t set;
    int how;
    process_stops(&set);
    sigaddset(&set, SIGCHLD);
    *stop = 0;
    for (;;) {
        pid_t ended = waitpid(child, &how, WNOHANG);
        if (ended == child) return how;
        if (ended < 0 && errno != EINTR) return -1;
        int number = tick ? sigtimedwait(&set, NULL, &between) : sigwaitinfo(&set, NULL);
        if (number < 0 && tick) tick->call(tick->user);
        if (number <= 0 || number == SIGCHLD || is_ignored(number)) continue;
        *stop = number;
        kill(child, SIGTERM);
    }
}

double process_children_seconds(void) {
    struct rusage u;
    if (getrusage(RUSAGE_CHILDREN, &u)) return 0;
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec)
        + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

int process_stopped(int stop, Error *e) {
    return error_set(e, 128 + stop, "strata: stopped by signal %d", stop);
}

int process_listen(void) { return memfd_create("words", MFD_CLOEXEC); }

bool process_lacked_memory(const char *line) {
    static const char *const ways[] = {
        "out of memory",
        "bad_alloc",
        "not enough memory",
        "annot allocate memory",
        "memory exhausted",
        "libgcc_s.so.1 must be installed", /* it could not be loaded to unwind */
        "terminate called recursively",    /* bad_alloc, all that LLVM throws, in two threads */
        NO_MEMORY
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strstr(line, ways[i])) return true;
    return false;
}

void process_said(int words, Error *e) {
    char text[2048];
    ssize_t n = words < 0 ? 0 : pread(words, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line) error_line(e, "%s", line);
}

/* Starts argv[0] with standard output going to 'out' and standard error to 'words', where
** these are files; 0 or an errno. */
static int process_start(pid_t *child, char *const *argv, char *const *variables,
                         const sigset_t *mask, int out, int words) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, mask);
    int number = 0;
    if (out >= 0) number = posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    if (!number && words >= 0)
        number = posix_spawn_file_actions_adddup2(&files, words, STDERR_FILENO);
    if (!number) number = posix_spawnp(child, argv[0], &files, &attributes, argv, variables);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return number;
}

int process_unstarted(int number, Error *e) {
    bool limit = number == ENOMEM || number == EAGAIN;
    return error_set(e, limit ? STATUS_LIMIT : STATUS_IO,
                     "strata: expected to start a process, found: %s%s", strerror(number),
                     errno_limit(number));
}

/* What ended a tool may be what the shell allows. */
static int by_limit(const char *tool, Error *e) {
    static const int number[] = { EMFILE, EAGAIN };
    for (int i = 0; i < 2; i++)
        if (strstr(e->text, strerror(number[i])))
            return error_set(e, STATUS_LIMIT, "%s: expected it to link the model, found: %s%s",
                             tool, strerror(number[i]), errno_limit(number[i]));
    if (process_lacked_memory(e->text)) e->status = STATUS_LIMIT;
    return e->status;
}

/* The environment with TMPDIR, in memory that is one piece; NULL: there is none. */
static char **with_temporary(const char *folder) {
    size_t n = 0, length = strlen(folder) + sizeof "TMPDIR=";
    while (environ[n])
        n++;
    char **variables = malloc((n + 2) * sizeof *variables + length);
    if (!variables) return NULL;
    char *own = (char *)(variables + n + 2);
    print_text(own, length, "TMPDIR=%s", folder);
    size_t to = 0;
    variables[to++] = own;
    for (size_t i = 0; i < n; i++)
        if (strncmp(environ[i], "TMPDIR=", 7) != 0) variables[to++] = environ[i];
    variables[to] = NULL;
    return variables;
}

int process_run(char *const *argv, const char *temporary, const sigset_t *mask, Error *e) {
    pid_t child;
    char **variables = with_temporary(temporary);
    if (!variables) return error_memory(e, argv[0], strlen(temporary));
    int words = process_listen(), status = STATUS_OK;
    int number = process_start(&child, argv, variables, mask, -1, words);
    free(variables);
    if (number) {
        if (words >= 0) close(words);
        if (number == EAGAIN) return process_unstarted(number, e);
        return error_set(e, number == ENOMEM ? STATUS_LIMIT : STATUS_IO,
                         "%s: expected a program of this name in PATH to link with, found: %s",
                         argv[0], strerror(number));
    }
    int stop, how = process_wait(child, NULL, &stop);
    if (stop) status = process_stopped(stop, e);
    else if (how > 0 && WIFSIGNALED(how))
        status = error_set(e, STATUS_IO,
                           "%s: expected it to link the model, found it killed by signal %d",
                           argv[0], WTERMSIG(how));
    else if (how)
        status = error_set(e, STATUS_IO, "%s: expected it to link the model, found exit status %d",
                           argv[0], WEXITSTATUS(how));
    if (status && !stop) process_said(words, e);
    if (words >= 0) close(words);
    return status ? by_limit(argv[0], e) : STATUS_OK;
}

static bool is_note(const char *line) { return !strncmp(line, "note: ", 6); }

const char *process_error(int words, char *said, size_t size) {
    ssize_t n = words < 0 ? 0 : pread(words, said, size - 1, 0);
    said[n > 0 ? n : 0] = 0;
    while (is_note(said) && strchr(said, '\n'))
        said = strchr(said, '\n') + 1;
    said[strcspn(said, "\n")] = 0;
    return said + (strncmp(said, "error: ", 7) ? 0 : 7);
}

static void pass_notes(int words, FILE *to) {
    char text[4096];
    ssize_t n = to ? pread(words, text, sizeof text - 1, 0) : 0;
    text[n > 0 ? n : 0] = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (is_note(line)) fprintf(to, "%s\n", line), fflush(to);
}

/* The program's own error, its exit status with it. */
static int failed(const char *name, int how, int words, Error *e) {
    char said[512];
    const char *text = process_error(words, said, sizeof said);
    if (WIFSIGNALED(how))
        return error_set(e, STATUS_INTERNAL,
                         "%s: expected its program to end, found it killed by signal %d", name,
                         WTERMSIG(how));
    return error_set(e, WEXITSTATUS(how), "%s: its program: %s", name, text);
}

static int take_output(int out, Text *t, Error *e) {
    char piece[65536];
    ssize_t n;
    for (off_t at = 0; (n = pread(out, piece, sizeof piece, at)) > 0; at += n)
        text_bytes(t, piece, (size_t)n);
    return n < 0 ? error_errno(e, "a program's output", "read", errno) : text_status(t, e);
}

int process_read(char *const *argv, const char *name, const sigset_t *mask, const ProcessTick *tick,
                 FILE *notes, Text *output, Error *e) {
    pid_t child;
    int out = process_listen(), words = process_listen(), stop, status = STATUS_OK;
    int number = out < 0 || words < 0 ? errno
                                      : process_start(&child, argv, environ, mask, out, words);
    if (number) status = error_errno(e, argv[0], "run", number);
    int how = number ? 0 : process_wait(child, tick, &stop);
    if (!number) pass_notes(words, notes);
    if (!number && stop) status = process_stopped(stop, e);
    else if (how) status = failed(name, how, words, e);
    else if (!number) status = take_output(out, output, e);
    if (out >= 0) close(out);
    if (words >= 0) close(words);
    return status;
}
