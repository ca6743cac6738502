/* SPDX-License-Identifier: MIT
** Event files as a reader sees them: framing and checksums, then the messages' fields,
** decoded here by their wire types.
*/
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event_file.h"
#include "scratch.h"

/* CRC-32C by a table, unlike the writer's. */
static uint32_t crc32c(const unsigned char *p, size_t n) {
    uint32_t table[256], crc = 0xffffffff;
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t c = i;
        for (int k = 0; k < 8; k++)
            c = c & 1 ? c >> 1 ^ 0x82f63b78 : c >> 1;
        table[i] = c;
    }
    for (size_t i = 0; i < n; i++)
        crc = table[(crc ^ p[i]) & 255] ^ crc >> 8;
    return crc ^ 0xffffffff;
}

static uint32_t masked(const unsigned char *p, size_t n) {
    uint32_t crc = crc32c(p, n);
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static uint64_t little(const unsigned char *p, int n) {
    uint64_t x = 0;
    for (int i = n; i-- > 0;)
        x = x << 8 | p[i];
    return x;
}

static uint64_t varint(const unsigned char **p) {
    uint64_t x = 0;
    for (int shift = 0;; shift += 7) {
        unsigned char byte = *(*p)++;
        x |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return x;
    }
}

typedef struct Event {
    double wall_time;
    int64_t step;
    int started, scalars;
    char version[32], tag[8][80];
    float value[8];
    char text[4000]; /* of a value that is a text for the plugin "text" */
} Event;

/* The metadata of a value: the plugin is named "text", the class of data is TENSOR. */
static const unsigned char text_plugin[] = { 1 << 3 | 2, 6,   1 << 3 | 2, 4,      't',
                                             'e',        'x', 't',        4 << 3, 2 };

/* A tensor: its type, STRING, then its text. */
static void read_text(Event *e, const unsigned char *p, size_t n) {
    const unsigned char *end = p + n;
    assert_int_equal(varint(&p), 1 << 3);
    assert_int_equal(varint(&p), 7);
    assert_int_equal(varint(&p), 8 << 3 | 2);
    size_t length = varint(&p);
    assert_int_equal(length, end - p);
    assert_true(length < sizeof e->text);
    memcpy(e->text, p, length);
}

static void read_value(Event *e, const unsigned char *p, const unsigned char *end) {
    assert_true(e->scalars < 8);
    while (p < end) {
        uint64_t key = varint(&p);
        if (key == (1 << 3 | 2)) {
            size_t n = varint(&p);
            assert_true(n < 80);
            memcpy(e->tag[e->scalars], p, n);
            p += n;
        } else if ((key & 7) == 2) {
            size_t n = varint(&p);
            if (key >> 3 == 8) read_text(e, p, n);
            else {
                assert_int_equal(key >> 3, 9);
                assert_int_equal(n, sizeof text_plugin);
                assert_memory_equal(p, text_plugin, n);
            }
            p += n;
        } else {
            assert_int_equal(key, 2 << 3 | 5);
            uint32_t bits = (uint32_t)little(p, 4);
            memcpy(&e->value[e->scalars], &bits, 4);
            p += 4;
        }
    }
    e->scalars++;
}

static void read_part(Event *e, int field, const unsigned char *p, size_t n) {
    const unsigned char *end = p + n;
    if (field == 3) {
        assert_true(n < sizeof e->version);
        memcpy(e->version, p, n);
    } else if (field == 7) {
        assert_int_equal(varint(&p), 1 << 3);
        e->started = (int)varint(&p);
    } else {
        assert_int_equal(field, 5);
        while (p < end) {
            assert_int_equal(varint(&p), 1 << 3 | 2);
            size_t size = varint(&p);
            read_value(e, p, p + size);
            p += size;
        }
    }
}

static Event read_event(const unsigned char *p, size_t n) {
    Event e = { .step = -1 };
    for (const unsigned char *end = p + n; p < end;) {
        uint64_t key = varint(&p);
        if (key == (1 << 3 | 1)) {
            uint64_t bits = little(p, 8);
            memcpy(&e.wall_time, &bits, 8);
            p += 8;
        } else if (key == (2 << 3 | 0)) {
            e.step = (int64_t)varint(&p);
        } else {
            assert_int_equal(key & 7, 2);
            size_t size = varint(&p);
            assert_true(size <= (size_t)(end - p));
            read_part(&e, (int)(key >> 3), p, size);
            p += size;
        }
    }
    return e;
}

/* All events of a file; fails on a wrong checksum or a cut record. */
static int read_events(const char *path, Event *event, int most) {
    size_t size, at = 0;
    unsigned char *bytes = (unsigned char *)scratch_read(path, &size);
    int n = 0;
    assert_non_null(bytes);
    while (at < size) {
        assert_true(size - at >= 16 && n < most);
        size_t length = little(bytes + at, 8);
        assert_true(length <= size - at - 16);
        assert_int_equal(little(bytes + at + 8, 4), masked(bytes + at, 8));
        assert_int_equal(little(bytes + at + 12 + length, 4), masked(bytes + at + 12, length));
        event[n++] = read_event(bytes + at + 12, length);
        at += length + 16;
    }
    free(bytes);
    return n;
}

static void scalars_are_read_back(void **state) {
    static const EventScalar scalar[] = { { "loss/training", 2.5 }, { "learning_rate", 1e-3 } };
    char folder[SCRATCH_PATH];
    Event event[8];
    EventFile f, other;
    assert_int_equal(crc32c((const unsigned char *)"123456789", 9), 0xe3069283);
    scratch_path(state, "events", folder);
    assert_int_equal(event_file_open(&f, folder, 0, NULL), STATUS_OK);
    /* in the same second: another name */
    assert_int_equal(event_file_open(&other, folder, 70000, NULL), STATUS_OK);
    assert_string_not_equal(f.path, other.path);
    assert_int_equal(event_file_add(&f, 1, scalar, 2, NULL), STATUS_OK);
    assert_int_equal(event_file_add(&f, 70000, scalar, 1, NULL), STATUS_OK);
    assert_int_equal(read_events(f.path, event, 8), 3);
    assert_string_equal(event[0].version, "brain.Event:2");
    assert_true(event[0].wall_time > 1.6e9 && event[2].wall_time >= event[0].wall_time);
    assert_int_equal(event[1].step, 1);
    assert_int_equal(event[1].scalars, 2);
    assert_string_equal(event[1].tag[1], "learning_rate");
    assert_true(event[1].value[0] == 2.5f && event[1].value[1] == 1e-3f);
    assert_int_equal(event[2].step, 70000);
    assert_int_equal(event[2].scalars, 1);
    assert_int_equal(read_events(other.path, event, 8), 2);
    assert_int_equal(event[1].started, 1);
    assert_int_equal(event[1].step, 70001);
    assert_non_null(strstr(f.path, "tfevents"));
    event_file_close(&f), event_file_close(&other);
}

/* Longer than what is made of scalars. */
static void texts_are_read_back(void **state) {
    char folder[SCRATCH_PATH], text[3000];
    Event event[4];
    EventFile f;
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = 0;
    scratch_path(state, "texts", folder);
    assert_int_equal(event_file_open(&f, folder, 0, NULL), STATUS_OK);
    assert_int_equal(event_file_text(&f, 0, "run", text, NULL), STATUS_OK);
    assert_int_equal(event_file_text(&f, 7, "run", "", NULL), STATUS_OK);
    assert_int_equal(event_file_add(&f, 8, &(EventScalar){ "x", 1 }, 1, NULL), STATUS_OK);
    assert_int_equal(read_events(f.path, event, 4), 4);
    assert_string_equal(event[1].tag[0], "run");
    assert_string_equal(event[1].text, text);
    assert_int_equal(event[2].step, 7);
    assert_string_equal(event[2].text, "");
    assert_true(event[3].value[0] == 1);
    event_file_close(&f);
}

static void nothing_is_kept_without_a_folder(void **state) {
    EventFile f;
    Error e = { 0 };
    char path[SCRATCH_PATH];
    assert_int_equal(event_file_open(&f, NULL, 0, &e), STATUS_OK);
    assert_int_equal(event_file_add(&f, 1, &(EventScalar){ "x", 1 }, 1, &e), STATUS_OK);
    assert_int_equal(event_file_text(&f, 1, "x", "y", &e), STATUS_OK);
    event_file_close(&f);
    scratch_write(scratch_path(state, "file", path), "x", 1);
    assert_int_not_equal(event_file_open(&f, path, 0, &e), STATUS_OK);
    assert_non_null(strstr(e.text, path));
    event_file_close(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_are_read_back),
        cmocka_unit_test(texts_are_read_back),
        cmocka_unit_test(nothing_is_kept_without_a_folder),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}
