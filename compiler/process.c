/* Child processes; see process.h. */
#include "process.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void stops(sigset_t *set) {
    sigemptyset(set);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGHUP);
}

void process_hold(sigset_t *before) {
    sigset_t set;
    stops(&set);
    sigaddset(&set, SIGCHLD);
    signal(SIGCHLD, SIG_DFL);       /* if it is ignored, children cannot be waited for */
    sigprocmask(SIG_BLOCK, &set, before);
}

void process_release(const sigset_t *before) { sigprocmask(SIG_SETMASK, before, NULL); }

/* nohup and shells' background jobs ignore signals for their children: so do we. */
static bool is_ignored(int number) {
    struct sigaction how;
    return !sigaction(number, NULL, &how) && how.sa_handler == SIG_IGN;
}

int process_wait(pid_t child, int *stop) {
    sigset_t set;
    int how;
    stops(&set);
    sigaddset(&set, SIGCHLD);
    *stop = 0;
    for (;;) {
        pid_t ended = waitpid(child, &how, WNOHANG);
        if (ended == child) return how;
        if (ended < 0 && errno != EINTR) return -1;
        int number = sigwaitinfo(&set, NULL);
        if (number <= 0 || number == SIGCHLD || is_ignored(number)) continue;
        *stop = number;
        kill(child, SIGTERM);
    }
}

int process_stopped(int stop, Error *e) { return error_set(e, 128 + stop, "strata build: stopped by signal %d", stop); }

int process_listen(void) { return memfd_create("words", MFD_CLOEXEC); }

void process_said(int words, Error *e) {
    char text[2048];
    ssize_t n = words < 0 ? 0 : pread(words, text, sizeof text - 1, 0);
    if (words >= 0) close(words);
    text[n > 0 ? n : 0] = 0;
    char *rest = text;
    for (char *line; (line = strsep(&rest, "\n"));)
        if (*line) error_line(e, "%s", line);
}

/* Starts argv[0] with standard error going to 'words'; 0 or an errno. */
static int start(pid_t *child, char *const *argv, const sigset_t *mask, int words) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    posix_spawnattr_init(&attributes);
    posix_spawn_file_actions_init(&files);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    posix_spawnattr_setsigmask(&attributes, mask);
    if (words >= 0) posix_spawn_file_actions_adddup2(&files, words, STDERR_FILENO);
    int number = posix_spawnp(child, argv[0], &files, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&files);
    return number;
}

int process_run(char *const *argv, const sigset_t *mask, Error *e) {
    pid_t child;
    int words = process_listen(), number = start(&child, argv, mask, words), status = STATUS_OK;
    if (number) {
        if (words >= 0) close(words);
        return error_set(e, STATUS_IO, "%s: expected a program of this name in PATH to link with, found: %s", argv[0], strerror(number));
    }
    int stop, how = process_wait(child, &stop);
    if (stop) status = process_stopped(stop, e);
    else if (how > 0 && WIFSIGNALED(how)) status = error_set(e, STATUS_IO, "%s: expected it to link the model, found it killed by signal %d", argv[0], WTERMSIG(how));
    else if (how) status = error_set(e, STATUS_IO, "%s: expected it to link the model, found exit status %d", argv[0], WEXITSTATUS(how));
    if (status && !stop) process_said(words, e);
    else if (words >= 0) close(words);
    return status;
}
