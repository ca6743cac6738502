/*
** Fuzzing the readers of safetensors, checkpoints and tokenizers.
** Valid files are mutated (bits, bytes, numbers, stretches copied, cut and doubled) and
** read to the end.  Nothing is asserted but what must hold of any file: no crash, and
** what is accepted keeps the reader's promises.  Sanitizers see the rest.
**   safetensors_fuzz [ITERATIONS [SEED]]      FUZZ_SECONDS: run that long instead
*/
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint.h"
#include "random.h"
#include "safetensors.h"

enum { ROOM = 8192, KINDS = 7 };

typedef struct Fuzz {
    uint64_t seed, drawn;
    int fd;
    char path[64];
    unsigned char bytes[ROOM];
    size_t n;
} Fuzz;

static size_t below(Fuzz *f, size_t n) { return (size_t)random_below(f->seed, f->drawn++, 0, n); }

static void broken(const Fuzz *f, const char *promise) {
    fprintf(stderr, "seed %llu: %s\n", (unsigned long long)f->seed, promise);
    fwrite(f->bytes, 1, f->n, stdout);
    abort();
}

/* == Mutations ============================================================ */

static void move(Fuzz *f, size_t to, size_t from, size_t n) {
    memmove(f->bytes + to, f->bytes + from, n);
}

static void insert(Fuzz *f, size_t at, const void *bytes, size_t n) {
    if (f->n + n > ROOM) return;
    move(f, at + n, at, f->n - at);
    memcpy(f->bytes + at, bytes, n);
    f->n += n;
}

static void erase(Fuzz *f, size_t at, size_t n) {
    move(f, at, at + n, f->n - at - n);
    f->n -= n;
}

static void interesting(Fuzz *f, size_t at) {
    static const char *const text[] = { "-1",
                                        "0",
                                        "4294967296",
                                        "9223372036854775807",
                                        "18446744073709551615",
                                        "1e9",
                                        "[",
                                        "]",
                                        "{",
                                        "}",
                                        "\"",
                                        "\\u0000",
                                        "\\ud800",
                                        "null",
                                        ",",
                                        ":",
                                        "\"F64\"",
                                        "\"__metadata__\"",
                                        "\xff",
                                        "\xc3",
                                        "[[[[[[[[",
                                        "0.5" };
    const char *t = text[below(f, sizeof text / sizeof *text)];
    insert(f, at, t, strlen(t));
}

static void mutate(Fuzz *f) {
    if (!f->n) return;
    /* the header is where the decisions are */
    size_t head = f->n < 600 ? f->n : 600, at = below(f, below(f, 4) ? head : f->n);
    size_t span = 1 + below(f, 16);
    unsigned char copy[16];
    if (span > f->n - at) span = f->n - at;
    switch (below(f, KINDS)) {
    case 0: f->bytes[at] ^= (unsigned char)(1u << below(f, 8)); break;
    case 1: f->bytes[at] = (unsigned char)below(f, 256); break;
    case 2: f->bytes[at] = (unsigned char)('0' + below(f, 10)); break;
    case 3: erase(f, at, span); break;
    case 4:
        memcpy(copy, f->bytes + at, span);
        insert(f, below(f, f->n), copy, span);
        break;
    case 5: interesting(f, at); break;
    default: f->n = at; break;
    }
}

/* Half of the time the length is put right, so that the header's text is reached. */
static void repair_length(Fuzz *f) {
    const unsigned char *end = f->n > 8 ? memchr(f->bytes + 8, '\n', f->n - 8) : NULL;
    if (!end || !below(f, 2)) return;
    uint64_t n = (uint64_t)(end - f->bytes) - 7;
    for (int i = 0; i < 8; i++)
        f->bytes[i] = (unsigned char)(n >> 8 * i);
}

/* == Valid files; the header ends with a newline, by which repair_length finds its end == */

static void make(Fuzz *f, const char *header, size_t data) {
    size_t n = strlen(header);
    memset(f->bytes, 0, ROOM);
    f->bytes[0] = (unsigned char)n, f->bytes[1] = (unsigned char)(n >> 8);
    memcpy(f->bytes + 8, header, n);
    f->n = 8 + n + data;
    for (size_t i = 8 + n; i < f->n; i++)
        f->bytes[i] = (unsigned char)(i % 3 ? 0 : i);
}

static void start_file(Fuzz *f) {
    static const struct {
        const char *header;
        size_t data;
    } valid[] = {
        { "{\"__metadata__\":{\"format\":\"pt\",\"k\":\"v\"},"
          "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
          "\"b\":{\"dtype\":\"BF16\",\"shape\":[4],\"data_offsets\":[24,32]},"
          "\"c\":{\"dtype\":\"F64\",\"shape\":[],\"data_offsets\":[32,40]},"
          "\"tokenizer.chars\":{\"dtype\":\"I64\",\"shape\":[2],\"data_offsets\":[40,56]}}\n",
          56 },
        { "{\"tokenizer.chars\":{\"dtype\":\"I32\",\"shape\":[5],\"data_offsets\":[0,20]}}\n", 20 },
        { "{\"x\":{\"dtype\":\"F16\",\"shape\":[1,1,1,1,1,1,1,8],\"data_offsets\":[0,16]},"
          "\"e\":{\"dtype\":\"U8\",\"shape\":[0,9],\"data_offsets\":[16,16]}}\n",
          16 },
        { "{ \"__metadata__\": {\"checksum\": \"xxh64:0123456789abcdef\",\"format\":\"strata "
          "checkpoint\","
          "\"version\":\"1\",\"spec\":\"m\",\"spec_hash\":\"1\",\"precision\":\"f32\",\"step\":"
          "\"3\"}}\n",
          0 },
    };
    size_t k = below(f, sizeof valid / sizeof *valid);
    make(f, valid[k].header, valid[k].data);
}

/* == Reading ============================================================== */

/* S8 said once more, differently: sizes add up to the data, and no two tensors share a byte. */
static void check_promises(const Fuzz *f, const Safetensors *s) {
    uint64_t sum = 0;
    for (int32_t i = 0; i < s->count; i++) {
        const Tensor *t = &s->tensor[i];
        sum += t->bytes;
        if (t->at < s->data || t->at + t->bytes > f->n)
            broken(f, "a tensor lies outside of the data");
        if (t->bytes != (uint64_t)t->count * (uint64_t)dtype_size(t->dtype))
            broken(f, "a size is wrong");
        if (safetensors_find(s, t->name) != t) broken(f, "a tensor is not found by its name");
        for (int32_t k = 0; k < i; k++) {
            const Tensor *u = &s->tensor[k];
            if (t->bytes && u->bytes && t->at < u->at + u->bytes && u->at < t->at + t->bytes)
                broken(f, "tensors overlap");
        }
    }
    if (sum != f->n - s->data) broken(f, "the data is not covered");
}

static void read_all(const Fuzz *f, const Safetensors *s) {
    static double out[ROOM];
    Error e;
    Tokenizer t;
    bool found;
    check_promises(f, s);
    for (int32_t i = 0; i < s->count; i++) {
        if (s->tensor[i].bytes > ROOM) broken(f, "a tensor is larger than the file");
        safetensors_read_f32(s, &s->tensor[i], (float *)out, &e);
        safetensors_read_f64(s, &s->tensor[i], out, &e);
        safetensors_read_i32(s, &s->tensor[i], (int32_t *)out, &e);
    }
    safetensors_verify(s, &found, &e);
    if (!tokenizer_load(&t, &tokenizer_chars, 1000, s, &e)) tokenizer_free(&t);
}

static bool try_one(Fuzz *f) {
    Safetensors s;
    CheckpointFile c;
    Error e = { 0 };
    if (ftruncate(f->fd, 0) || pwrite(f->fd, f->bytes, f->n, 0) != (ssize_t)f->n) {
        perror("memfd");
        exit(1);
    }
    int status = safetensors_open(&s, f->path, &e);
    if (status && (!e.text[0] || e.status != status || strlen(e.text) >= sizeof e.text))
        broken(f, "an error says nothing");
    if (!status) {
        read_all(f, &s);
        safetensors_close(&s);
    }
    if (!checkpoint_open(&c, f->path, &e)) checkpoint_close(&c);
    return !status;
}

int main(int count, char **argument) {
    long iterations = count > 1 ? atol(argument[1]) : 20000, accepted = 0, done = 0;
    const char *seconds = getenv("FUZZ_SECONDS");
    time_t end = seconds ? time(NULL) + atol(seconds) : 0;
    Fuzz f = { .fd = memfd_create("fuzz", 0) };
    if (f.fd < 0) return perror("memfd"), 1;
    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
    for (; end ? time(NULL) < end : done < iterations; done++) {
        f.seed = (uint64_t)(count > 2 ? atol(argument[2]) : 1) * 1000003 + (uint64_t)done;
        f.drawn = 0;
        start_file(&f);
        for (size_t k = below(&f, 6); k; k--)
            mutate(&f);
        repair_length(&f);
        accepted += try_one(&f);
    }
    printf("%ld files, %ld accepted\n", done, accepted);
    /* a fuzzer that reaches neither side of the checks tests nothing */
    return accepted == 0 || accepted == done;
}
