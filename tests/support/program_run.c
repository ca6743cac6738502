/* SPDX-License-Identifier: MIT
** Processes and folders for tests of whole programs; anything unexpected aborts.
*/
#include "program_run.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "strata.h"

static void must(bool good, const char *what) {
    if (good) return;
    perror(what);
    abort();
}

static void join(const Folder *f, const char *name, char *to, size_t size) {
    must((size_t)snprintf(to, size, "%s/%s", f->path, name) < size, name);
}

void folder_open(Folder *f) {
    const char *base = getenv("TMPDIR");
    snprintf(f->path, sizeof f->path, "%s/strata-test-XXXXXX", base ? base : "/tmp");
    must(mkdtemp(f->path) != NULL, f->path);
}

void folder_close(Folder *f) {
    DIR *d = opendir(f->path);
    struct dirent *entry;
    char path[512];
    while (d && (entry = readdir(d)))
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..")) {
            join(f, entry->d_name, path, sizeof path);
            remove(path);
        }
    if (d) closedir(d);
    rmdir(f->path);
}

void folder_write(const Folder *f, const char *name, const void *bytes, size_t length) {
    char path[512];
    join(f, name, path, sizeof path);
    FILE *file = fopen(path, "wb");
    must(file && fwrite(bytes, 1, length, file) == length && fclose(file) == 0, path);
}

char *folder_read(const Folder *f, const char *name, size_t *length) {
    char path[512];
    struct stat st;
    join(f, name, path, sizeof path);
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    must(fstat(fileno(file), &st) == 0, path);
    char *text = malloc((size_t)st.st_size + 1);
    must(text && fread(text, 1, (size_t)st.st_size, file) == (size_t)st.st_size, path);
    fclose(file);
    text[st.st_size] = 0;
    if (length) *length = (size_t)st.st_size;
    return text;
}

bool folder_same(const Folder *f, const char *a, const char *b) {
    size_t n = 0, m = 1;
    char *x = folder_read(f, a, &n), *y = folder_read(f, b, &m);
    bool same = x && y && n == m && memcmp(x, y, n) == 0;
    free(x);
    free(y);
    return same;
}

bool folder_has(const Folder *f, const char *name) {
    char path[512];
    join(f, name, path, sizeof path);
    return access(path, F_OK) == 0;
}

void folder_shell(const Folder *f, const char *format, ...) {
    char words[512], command[1024];
    va_list args;
    va_start(args, format);
    must(vsnprintf(words, sizeof words, format, args) < (int)sizeof words, format);
    va_end(args);
    int n = snprintf(command, sizeof command,
                     "cd '%s' && PATH='%s':\"$PATH\" %s >out 2>err </dev/null", f->path, BUILD_DIR,
                     words);
    must(n < (int)sizeof command, words);
    int status = system(command);
    if (status == 0) return;
    char *err = folder_read(f, "err", NULL);
    fprintf(stderr, "%s: status %d: %s\n", words, WIFEXITED(status) ? WEXITSTATUS(status) : -1,
            err ? err : "");
    abort();
}

static void redirect(const char *name, int flags, int fd) {
    int file = open(name, flags, 0644);
    must(file >= 0 && dup2(file, fd) == fd, name);
    if (file != fd) close(file);
}

pid_t program_fork(const Folder *f, const char *input, int (*body)(void *user), void *user) {
    folder_write(f, "stdin", input ? input : "", input ? strlen(input) : 0);
    fflush(NULL);
    pid_t pid = fork();
    must(pid >= 0, "fork");
    if (pid) return pid;
    must(chdir(f->path) == 0, f->path);
    redirect("stdin", O_RDONLY, 0);
    redirect("stdout", O_WRONLY | O_CREAT | O_TRUNC, 1);
    redirect("stderr", O_WRONLY | O_CREAT | O_TRUNC, 2);
    exit(body(user));
}

typedef struct Words {
    const strata_api *api;
    const char *words;
} Words;

static int main_of_words(void *user) {
    const Words *w = user;
    char text[1024], *word[64] = { "model" };
    int count = 1;
    snprintf(text, sizeof text, "%s", w->words);
    for (char *at = strtok(text, " "); at && count < 63; at = strtok(NULL, " ")) {
        for (char *c = at; *c; c++)
            *c = *c == '\1' ? ' ' : *c;
        word[count++] = at;
    }
    return strata_main(count, word, w->api);
}

pid_t program_start(const strata_api *api, const Folder *f, const char *input, const char *words) {
    return program_fork(f, input, main_of_words, &(Words){ api, words });
}

int program_wait(pid_t pid) {
    int status = 0;
    must(waitpid(pid, &status, 0) == pid, "waitpid");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static size_t take(const Folder *f, const char *name, char *to, size_t size) {
    size_t n = 0;
    char *text = folder_read(f, name, &n);
    must(text != NULL, name);
    n = n < size - 1 ? n : size - 1;
    memcpy(to, text, n);
    to[n] = 0;
    free(text);
    return n;
}

void program_collect(Ran *r, const Folder *f, pid_t pid) {
    r->status = program_wait(pid);
    r->out_length = take(f, "stdout", r->out, sizeof r->out);
    take(f, "stderr", r->err, sizeof r->err);
}

void program_run(Ran *r, const strata_api *api, const Folder *f, const char *input,
                 const char *words) {
    program_collect(r, f, program_start(api, f, input, words));
}
