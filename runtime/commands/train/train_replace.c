/* SPDX-License-Identifier: MIT
** A run and existing files: the files of another run stay unless --overwrite is given, and with it
** they are removed when this run has written its own.
*/
#include "train.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* == Keeping what is there ================================================ */

#define HOW "expected --resume, another --out, or --overwrite"

/* May this file be replaced?  beside: it is no checkpoint of the run, but its best. */
static int check_run(const Run *r, const char *path, const Checkpoint *there, bool beside,
                     Error *e) {
    const Checkpoint *c = &r->state;
    bool same = there->run[0] && !strcmp(there->run, c->run);
    if (there->step == 0 || (same && beside)) return STATUS_OK;
    if (same && checkpoint_done(there) && there->steps == c->steps && !there->minutes
        && !c->minutes)
        return STATUS_OK; /* which ends with the same bits */
    return error_set(e, STATUS_USER, "%s holds step %lld of %s: " HOW, path, (long long)there->step,
                     same ? "this run" : "another run");
}

static int check_replaced(const Run *r, const char *path, bool beside, Error *e) {
    struct stat is;
    Safetensors f = { 0 };
    Checkpoint there;
    Error unread = { 0 };
    if (stat(path, &is)) return errno == ENOENT ? STATUS_OK : error_errno(e, path, "open", errno);
    if (!is.st_size) return STATUS_OK;
    if (!(is.st_mode & 0222)) return error_set(e, STATUS_USER, "%s is read-only: " HOW, path);
    int status = safetensors_open(&f, path, &unread);
    if (status && status != STATUS_USER) return error_set(e, status, "%s", unread.text);
    if (status)
        return error_set(e, STATUS_USER,
                         "%s holds something else than weights: expected another --out, or "
                         "--overwrite",
                         path);
    status = checkpoint_about(&f, &there)
        ? check_run(r, path, &there, beside, e)
        : error_set(e, STATUS_USER,
                    "%s holds weights that do not say of which run: expected another --out, or "
                    "--overwrite",
                    path);
    safetensors_close(&f);
    return status;
}

/* The best too where none will be made: it would lie beside weights of this run. */
int run_keeps(Run *r, Error *e) {
    const Outputs *o = r->outputs;
    struct stat is;
    if (!o) return STATUS_OK;
    bool newest = !stat(r->out, &is) && is.st_size;
    int status = check_replaced(r, r->out, false, e);
    if (!status) status = check_replaced(r, o->before, newest, e);
    return status ? status : check_replaced(r, o->best, true, e);
}

/* == Replacing it ========================================================= */

/* Of another run for certain: what cannot be read is not. */
static bool is_of_another(const Run *r, const char *path) {
    Safetensors f = { 0 };
    Checkpoint there;
    Error ignored = { 0 };
    if (safetensors_open(&f, path, &ignored)) return false;
    bool other = checkpoint_about(&f, &there) && strcmp(there.run, r->state.run) != 0;
    safetensors_close(&f);
    return other;
}

/* Whatever it is where --overwrite says so; else what run_keeps let pass, untrained weights. */
static int leave_none(Run *r, const char *path, bool told, Error *e) {
    if (!option(r->p, OPTION_OVERWRITE)->given && !is_of_another(r, path)) return STATUS_OK;
    if (unlink(path)) return errno == ENOENT ? STATUS_OK : error_errno(e, path, "remove", errno);
    if (told)
        progress_note(&r->outputs->progress, "%s: removed with the run that was replaced", path);
    return STATUS_OK;
}

int run_replaces(Run *r, Error *e) {
    const Outputs *o = r->outputs;
    int status = leave_none(r, o->before, false, e);
    return status || o->saved_best ? status : leave_none(r, o->best, true, e);
}
