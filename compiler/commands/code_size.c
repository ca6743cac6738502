/* SPDX-License-Identifier: MIT
** How much machine code an object holds: its executable sections but that of the probe,
** which no training or generating program runs. */
#include "build.h"

#include "files.h"

#include <elf.h>
#include <string.h>

static int wrong(const char *path, Error *e) {
    return error_set(e, STATUS_INTERNAL, "%s: expected a 64-bit ELF object, found something else",
                     path);
}

static int section(Input *in, const Elf64_Ehdr *h, uint64_t i, Elf64_Shdr *s, Error *e) {
    return input_read(in, h->e_shoff + i * sizeof *s, s, sizeof *s, e);
}

/* With 65280 sections or more their number is in the first one. */
static int count_sections(Input *in, const Elf64_Ehdr *h, uint64_t *n, Error *e) {
    Elf64_Shdr first;
    *n = h->e_shnum;
    int status = *n || !h->e_shoff ? STATUS_OK : section(in, h, 0, &first, e);
    if (!status && !*n && h->e_shoff) *n = first.sh_size;
    return status;
}

static bool is_probe(const Input *in, const Elf64_Shdr *names, const Elf64_Shdr *s) {
    static const char probe[] = ".text.probe";
    char name[sizeof probe];
    Error unread = { 0 };
    return s->sh_name + sizeof name <= names->sh_size
        && !input_read(in, names->sh_offset + s->sh_name, name, sizeof name, &unread)
        && !memcmp(name, probe, sizeof name);
}

int code_size(const char *path, int64_t *bytes, Error *e) {
    Input in;
    Elf64_Ehdr h;
    uint64_t n = 0;
    Elf64_Shdr names = { 0 };
    int status = input_open(&in, path, e);
    *bytes = 0;
    if (!status) status = input_read(&in, 0, &h, sizeof h, e);
    if (!status
        && (memcmp(h.e_ident, ELFMAG, SELFMAG) || h.e_ident[EI_CLASS] != ELFCLASS64
            || (h.e_shnum && h.e_shentsize != sizeof(Elf64_Shdr))))
        status = wrong(path, e);
    if (!status) status = count_sections(&in, &h, &n, e);
    if (!status && n) status = section(&in, &h, h.e_shstrndx, &names, e);
    for (uint64_t i = 0; !status && i < n; i++) {
        Elf64_Shdr s;
        status = section(&in, &h, i, &s, e);
        if (!status && (s.sh_flags & SHF_EXECINSTR) && !is_probe(&in, &names, &s))
            *bytes += (int64_t)s.sh_size;
    }
    input_close(&in);
    return status;
}
