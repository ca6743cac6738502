/* SPDX-License-Identifier: MIT
** How much machine code an object, or an archive of objects, holds: its executable sections but
** that of the probe, which no training or generating program runs. */
#include "build.h"

#include "files.h"

#include <ar.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

static int code_size_wrong(const char *path, Error *e) {
    return error_set(e, STATUS_INTERNAL, "%s: expected a 64-bit ELF object, found something else",
                     path);
}

/* An object in a file. */
typedef struct Object {
    Input *in;
    uint64_t at; /* where it begins */
    Elf64_Ehdr head;
    Elf64_Shdr names; /* of its sections */
} Object;

static int section(const Object *o, uint64_t i, Elf64_Shdr *s, Error *e) {
    return input_read(o->in, o->at + o->head.e_shoff + i * sizeof *s, s, sizeof *s, e);
}

/* With 65280 sections or more their number is in the first one. */
static int count_sections(const Object *o, uint64_t *n, Error *e) {
    Elf64_Shdr first;
    *n = o->head.e_shnum;
    int status = *n || !o->head.e_shoff ? STATUS_OK : section(o, 0, &first, e);
    if (!status && !*n && o->head.e_shoff) *n = first.sh_size;
    return status;
}

static bool is_probe(const Object *o, const Elf64_Shdr *s) {
    static const char probe[] = ".text.probe";
    char name[sizeof probe];
    Error unread = { 0 };
    return s->sh_name + sizeof name <= o->names.sh_size
        && !input_read(o->in, o->at + o->names.sh_offset + s->sh_name, name, sizeof name, &unread)
        && !memcmp(name, probe, sizeof name);
}

static int add_object(Input *in, const char *path, uint64_t at, int64_t *bytes, Error *e) {
    Object o = { .in = in, .at = at };
    const Elf64_Ehdr *h = &o.head;
    uint64_t n = 0;
    int status = input_read(in, at, &o.head, sizeof o.head, e);
    if (!status
        && (memcmp(h->e_ident, ELFMAG, SELFMAG) || h->e_ident[EI_CLASS] != ELFCLASS64
            || (h->e_shnum && h->e_shentsize != sizeof(Elf64_Shdr))))
        status = code_size_wrong(path, e);
    if (!status) status = count_sections(&o, &n, e);
    if (!status && n) status = section(&o, h->e_shstrndx, &o.names, e);
    for (uint64_t i = 0; !status && i < n; i++) {
        Elf64_Shdr s;
        status = section(&o, i, &s, e);
        if (!status && (s.sh_flags & SHF_EXECINSTR) && !is_probe(&o, &s))
            *bytes += (int64_t)s.sh_size;
    }
    return status;
}

static int add_archive(Input *in, const char *path, int64_t *bytes, Error *e) {
    struct ar_hdr head;
    uint64_t size, end = (uint64_t)in->before.st_size;
    int status = STATUS_OK;
    for (uint64_t at = SARMAG; !status && at < end; at += (size + 1) / 2 * 2) {
        status = input_read(in, at, &head, sizeof head, e);
        size = status ? 0 : strtoull(head.ar_size, NULL, 10);
        at += sizeof head;
        if (!status) status = add_object(in, path, at, bytes, e);
    }
    return status;
}

int code_size(const char *path, int64_t *bytes, Error *e) {
    Input in;
    char magic[SARMAG];
    int status = input_open(&in, path, e);
    *bytes = 0;
    if (!status) status = input_read(&in, 0, magic, sizeof magic, e);
    if (!status && !memcmp(magic, ARMAG, SARMAG)) status = add_archive(&in, path, bytes, e);
    else if (!status) status = add_object(&in, path, 0, bytes, e);
    input_close(&in);
    return status;
}
