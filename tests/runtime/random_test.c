/* SPDX-License-Identifier: MIT
** Random numbers, hashes, numbers as text: known answers and the properties that others rely on. */
#include "test.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "error.h"
#include "hash.h"
#include "philox.h"
#include "random.h"

/* From the known-answer file of Random123, the authors' own implementation. */
static void philox_known_answers(void **state) {
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], out[4];
    } row[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { ~0u, ~0u, ~0u, ~0u },
          { ~0u, ~0u },
          { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 },
          { 0xa4093822, 0x299f31d0 },
          { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint32_t out[4];
        philox(row[i].counter, row[i].key, out);
        assert_memory_equal(out, row[i].out, sizeof out);
    }
}

static void below_is_in_range_and_even(void **state) {
    (void)state;
    enum { N = 7, DRAWS = 70000 };
    int times[N] = { 0 };
    for (int i = 0; i < DRAWS; i++) {
        uint64_t v = random_below(42, (uint64_t)i / 16, (uint32_t)i % 16, N);
        assert_true(v < N);
        times[v]++;
    }
    double chi = 0;
    for (int i = 0; i < N; i++)
        chi += (times[i] - DRAWS / N) * (double)(times[i] - DRAWS / N) / (DRAWS / N);
    assert_true(chi < 30); /* 6 degrees of freedom: 30 is a chance of 4e-5, and the draw is fixed */
    for (uint32_t row = 0; row < 1000; row++) { /* nearly half of all draws must be rejected here */
        uint64_t n = (UINT64_C(1) << 63) + 1;
        assert_true(random_below(1, 2, row, n) < n);
        assert_int_equal(random_below(1, 2, row, 1), 0);
    }
}

/* n = 3/4 of 2^64: a remainder alone would give the first third half of the draws. */
static void below_has_no_bias(void **state) {
    (void)state;
    enum { DRAWS = 3000 };
    int first_third = 0;
    for (uint64_t step = 0; step < DRAWS; step++)
        first_third += random_below(8, step, 0, UINT64_C(3) << 62) < UINT64_C(1) << 62;
    assert_in_range(first_third, DRAWS / 3 - 130, DRAWS / 3 + 130); /* five deviations of 26 */
}

static void below_depends_on_everything(void **state) {
    (void)state;
    uint64_t n = UINT64_MAX, a = random_below(1, 2, 3, n);
    assert_true(a == random_below(1, 2, 3, n));
    assert_true(a != random_below(2, 2, 3, n));
    assert_true(a != random_below(1, UINT64_C(0x100000002), 3, n));
    assert_true(a != random_below(1, 3, 3, n));
    assert_true(a != random_below(1, 2, 4, n));
}

static void uniform_mean_and_range(void **state) {
    (void)state;
    double sum = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        double u = random_uniform(9, 1, i);
        assert_true(u >= 0 && u < 1);
        sum += u;
    }
    assert_true(fabs(sum / 20000 - 0.5) < 0.01);
    assert_true(random_uniform(9, 1, 0) != random_uniform(9, 2, 0));
}

/* A third of the places is between any two points; another name or seed, other places. */
static void even_on_a_line(void **state) {
    (void)state;
    enum { N = 30000 };
    static const double points[] = { -1, 0, 10, 4 };
    static float x[N], part[10];
    int place[3] = { 0 };
    double low = 0;
    random_even(5, random_stream("w"), (Evenly){ points, 4 }, 0, N, x);
    for (int i = 0; i < N; i++) {
        assert_true(x[i] >= -1 && x[i] <= 10);
        if (x[i] < 0) place[0]++, low += x[i];
        else if (x[i] < 4) place[1]++;
    }
    assert_in_range(place[0], N / 3 - 400, N / 3 + 400);
    assert_in_range(place[1], N * 2 / 15 - 300, N * 2 / 15 + 300);
    assert_true(fabs(low / place[0] + 0.5) < 0.02);
    random_even(5, random_stream("w"), (Evenly){ points, 4 }, 77, 10, part);
    assert_memory_equal(part, x + 77, sizeof part);
    random_even(6, random_stream("w"), (Evenly){ points, 4 }, 77, 10, part);
    assert_true(part[0] != x[77] && part[1] != x[78]);
    random_even(5, random_stream("v"), (Evenly){ points, 4 }, 77, 10, part);
    assert_true(part[0] != x[77] && part[1] != x[78]);
    random_even(5, random_stream("w"), (Evenly){ points + 1, 2 }, 0, 10, part);
    assert_true(part[0] >= 0 && part[0] < 10);
}

static void normal_moments(void **state) {
    (void)state;
    enum { N = 200000 };
    float *x = malloc(N * sizeof *x);
    assert_non_null(x);
    random_normal(3, random_stream("w"), 0, N, 0.5, x);
    double m1 = 0, m2 = 0, m4 = 0;
    int beyond = 0;
    for (int i = 0; i < N; i++) {
        double v = x[i] / 0.5;
        m1 += v / N, m2 += v * v / N, m4 += v * v * v * v / N;
        beyond += fabs(v) > 1.959964;
    }
    assert_true(fabs(m1) < 0.01 && fabs(m2 - 1) < 0.02 && fabs(m4 - 3) < 0.1);
    assert_true(fabs(beyond / (double)N - 0.05) < 0.003);
    free(x);
}

/* The formula, with the library's functions: ours must agree to the last bits of a double. */
static void normal_is_box_muller(void **state) {
    (void)state;
    uint64_t seed = UINT64_C(0x123456789abcdef0),
             stream = random_stream("layers.0.attention.q.weight");
    uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) }, x[4];
    for (uint32_t block = 0; block < 1000; block++) {
        float out[4];
        philox((uint32_t[]){ block, 0, (uint32_t)stream, (uint32_t)(stream >> 32) }, key, x);
        random_normal(seed, stream, 4 * (int64_t)block, 4, 1, out);
        for (int i = 0; i < 4; i += 2) {
            double r = sqrt(-2 * log((x[i] + 0.5) / 4294967296.0));
            double turn = 2 * acos(-1)
                * ((double)(x[i + 1] >> 30) / 4 + (x[i + 1] & 0x3fffffff) / 4294967296.0 - 0.125);
            assert_true(fabs(out[i] - r * cos(turn)) <= 1e-12 + 6e-8 * fabs(out[i]));
            assert_true(fabs(out[i + 1] - r * sin(turn)) <= 1e-12 + 6e-8 * fabs(out[i + 1]));
        }
    }
}

/* Bits that must never change: models are trained from them. */
static void normal_is_frozen_and_divisible(void **state) {
    (void)state;
    float all[37], piece[37];
    random_normal(42, random_stream("embedding.weight"), 0, 37, 0.02, all);
    random_normal(42, random_stream("embedding.weight"), 0, 5, 0.02, piece);
    random_normal(42, random_stream("embedding.weight"), 5, 2, 0.02, piece + 5);
    random_normal(42, random_stream("embedding.weight"), 7, 30, 0.02, piece + 7);
    assert_memory_equal(all, piece, sizeof all);
    uint32_t bits[4];
    memcpy(bits, all, sizeof bits);
    static const uint32_t frozen[4] = { 0xbc47ac0a, 0xba649e3f, 0x3c9c7c8d, 0x3ce7bf4f };
    assert_memory_equal(bits, frozen, sizeof bits);
    random_normal(42, random_stream("head.weight"), 0, 37, 0.02, piece);
    assert_memory_not_equal(all, piece, sizeof all);
}

static void sha256_known_answers(void **state) {
    (void)state;
    static const struct {
        const char *text, *hash;
    } row[] = {
        { "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
    };
    char out[65];
    Sha256 s;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        sha256_start(&s);
        sha256_add(&s, row[i].text, strlen(row[i].text));
        sha256_text(&s, out);
        assert_string_equal(out, row[i].hash);
    }
    sha256_start(&s);
    char a[997];
    memset(a, 'a', sizeof a);
    for (int left = 1000000; left > 0; left -= (int)sizeof a)
        sha256_add(&s, a, left < (int)sizeof a ? (size_t)left : sizeof a);
    sha256_text(&s, out);
    assert_string_equal(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static void hashes_do_not_depend_on_pieces(void **state) {
    (void)state;
    unsigned char text[300];
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)(i * 7 + i / 13);
    for (size_t n = 0; n <= sizeof text; n += 3) {
        char whole[65], pieces[65];
        Sha256 s;
        Xxh64 x;
        sha256_start(&s);
        sha256_add(&s, text, n);
        sha256_text(&s, whole);
        sha256_start(&s);
        xxh64_start(&x, 5);
        for (size_t at = 0; at < n;) {
            size_t take = 1 + at % 71 < n - at ? 1 + at % 71 : n - at;
            sha256_add(&s, text + at, take);
            xxh64_add(&x, text + at, take);
            at += take;
        }
        sha256_text(&s, pieces);
        assert_string_equal(whole, pieces);
        assert_true(xxh64_end(&x) == xxh64(text, n, 5));
    }
}

static void xxh64_known_answers(void **state) {
    (void)state;
    assert_true(xxh64("", 0, 0) == UINT64_C(0xef46db3751d8e999));
    assert_true(xxh64("abc", 3, 0) == UINT64_C(0x44bc2cf5ad770999));
    const char *text = "Nobody inspects the spammish repetition";
    assert_true(xxh64(text, strlen(text), 0) == UINT64_C(0xfbcea83c8a378bf1));
}

/* == Numbers and errors as text =========================================== */

static void numbers_are_strict(void **state) {
    (void)state;
    static const char *const bad[] = { "",   "-",   "+", " 1", "1 ",  "0x10",  "inf",   "nan",
                                       "1e", "1e+", ".", "-.", "1,5", "1.2.3", "1e999", "--1" };
    static const char *const not_integers[] = {
        "1.0", "1e3", "9223372036854775808", "-9223372036854775809", "+1", ""
    };
    double d;
    int64_t i;
    uint64_t u;
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
        assert_false(parse_double(bad[k], -INFINITY, INFINITY, &d));
    for (size_t k = 0; k < sizeof not_integers / sizeof *not_integers; k++)
        assert_false(parse_int64(not_integers[k], INT64_MIN, INT64_MAX, &i));
    assert_true(parse_int64("-9223372036854775808", INT64_MIN, INT64_MAX, &i) && i == INT64_MIN);
    assert_true(parse_int64("9223372036854775807", INT64_MIN, INT64_MAX, &i) && i == INT64_MAX);
    assert_false(parse_int64("5", 0, 4, &i));
    assert_true(parse_uint64("18446744073709551615", &u) && u == UINT64_MAX);
    assert_false(parse_uint64("18446744073709551616", &u));
    assert_false(parse_uint64("-1", &u));
    assert_true(parse_double("-.5e-3", -1, 1, &d) && d == -0.0005);
    assert_false(parse_double("2", -1, 1, &d));
}

static void doubles_print_shortest_and_read_back(void **state) {
    (void)state;
    static const struct {
        double v;
        const char *text;
    } row[] = {
        { 0.1, "0.1" },      { 3e-4, "0.0003" },    { 1, "1" },
        { -0.0, "-0" },      { 1e300, "1e+300" },   { 5e-324, "5e-324" },
        { INFINITY, "inf" }, { -INFINITY, "-inf" }, { NAN, "nan" },
    };
    char out[32];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_string_equal(print_double(out, row[i].v), row[i].text);
    for (uint64_t i = 0; i < 2000; i++) {
        double v = (random_uniform(1, 0, i) - 0.5) * pow(10, (double)(i % 600) - 300), back;
        assert_true(parse_double(print_double(out, v), -INFINITY, INFINITY, &back));
        assert_true(back == v);
    }
}

static void figures_are_for_people(void **state) {
    (void)state;
    static const struct {
        double value;
        int digits;
        const char *text;
    } row[] = {
        { 0, 2, "0" },
        { 9.96, 2, "10" },
        { 99.6, 2, "100" },
        { 100, 2, "100" },
        { 1234.5, 3, "1234" },
        { -250.4, 2, "-250" },
        { 999.6, 3, "1000" },
        { 1e6, 6, "1000000" },
        { 123456789, 4, "123456789" },
        { 0.0001, 3, "0.0001" },
        { 1e-5, 1, "0.00001" },
        { 1.234e-6, 2, "0.0000012" },
        { 84.25, 3, "84.2" },
        { 1e14, 3, "100000000000000" },
        { 1e300, 3, "1e+300" },
        { 1e-30, 3, "1e-30" },
        { INFINITY, 3, "inf" },
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_string_equal(FIGURES(row[i].value, row[i].digits), row[i].text);
    for (double v = 1.2345e-15; v < 9e14; v *= 1.7)
        for (int digits = 1; digits < 7; digits++) {
            const char *text = FIGURES(v, digits);
            assert_null(strpbrk(text, "eE"));
            assert_true(fabs(strtod(text, NULL) / v - 1) <= 0.5001 * pow(10, 1 - digits));
        }
}

static void numbers_ignore_the_locale(void **state) {
    (void)state;
    const char *comma = setlocale(LC_ALL, "de_DE.UTF-8");
    char out[32];
    double d;
    assert_true(parse_double("1.5", 0, 2, &d) && d == 1.5);
    assert_string_equal(print_double(out, 1.5), "1.5");
    setlocale(LC_ALL, "C");
    if (!comma) print_message("no locale with a decimal comma on this machine\n");
}

static void errors_escape_what_they_quote(void **state) {
    (void)state;
    Error e = { 0 };
    assert_int_equal(
        error_set(&e, STATUS_USER, "%s: bad", "a\x1b[2J\n\tb\x7f\xc2\x9b\xff\xe2\x80\xae\xc3\xa9"),
        STATUS_USER);
    assert_string_equal(e.text, "a\\x1b[2J\\n\\tb\\x7f\\u009b\\xff\\u202e\xc3\xa9: bad");
    error_line(&e, "more %d\n", 5);
    assert_string_equal(strchr(e.text, '\n'), "\n  more 5\\n");
}

static void errors_are_bounded(void **state) {
    (void)state;
    char *big = malloc(100001);
    assert_non_null(big);
    memset(big, 0x1b, 100000);
    big[100000] = 0;
    Error e = { 0 };
    error_set(&e, STATUS_IO, "%s", big);
    assert_true(strlen(e.text) < sizeof e.text);
    assert_int_equal(e.text[strlen(e.text) - 1], 'b'); /* cut between escapes, not in one */
    for (int i = 0; i < 100; i++)
        error_line(&e, "detail %d", i);
    assert_true(strlen(e.text) < sizeof e.text);
    error_set(NULL, STATUS_IO, "nobody listens");
    free(big);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(below_is_in_range_and_even),
        cmocka_unit_test(below_has_no_bias),
        cmocka_unit_test(below_depends_on_everything),
        cmocka_unit_test(uniform_mean_and_range),
        cmocka_unit_test(even_on_a_line),
        cmocka_unit_test(normal_moments),
        cmocka_unit_test(normal_is_box_muller),
        cmocka_unit_test(normal_is_frozen_and_divisible),
        cmocka_unit_test(sha256_known_answers),
        cmocka_unit_test(figures_are_for_people),
        cmocka_unit_test(hashes_do_not_depend_on_pieces),
        cmocka_unit_test(xxh64_known_answers),
        cmocka_unit_test(numbers_are_strict),
        cmocka_unit_test(doubles_print_shortest_and_read_back),
        cmocka_unit_test(numbers_ignore_the_locale),
        cmocka_unit_test(errors_escape_what_they_quote),
        cmocka_unit_test(errors_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
