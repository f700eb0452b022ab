/* SPDX-License-Identifier: Apache-2.0 */
/* Neighbouring blocks, and warps, that the CPU engine runs as one: what it may do so for, and that nobody can tell. */
#include "tests/rig/sim_rig.h"

enum { ELEMENTS = 1 << 16 };
static int32_t a[ELEMENTS], d[ELEMENTS];

/* One launch, with strips or block by block; the number of accesses that may go on from block to block. */
static uint32_t launch(const job *j, bool strips, sett_error *e)
{
    sett__tape t = {0};
    sett__program *p;
    parse(&t, j->text);
    *e = (sett_error){.status = SETT_OK};
    ck_assert_msg(!sett__program_make(&t, false, &p, e), "%s", e->text);
    uint32_t n = p->n_access;
    for (sett__program *q = p; q && !strips; q = q->unguarded)
        q->n_access = 0;
    run_program(p, j, e);
    sett__program_free(p);
    sett__tape_free(&t);
    return n;
}

static void start(int32_t *p, int factor)
{
    for (int i = 0; i < ELEMENTS; i++)
        p[i] = (int32_t)((uint32_t)i * (uint32_t)factor % 1000003u);
}

#define PARAMS HEAD("param A i32 (65536):(1) align 16 read\nparam D i32 (65536):(1) align 16 read write\n")

/* Where thread t of block (x, y) works, G blocks wide: the tape's and C's; four elements, or one. */
typedef struct place {
    const char *text;
    int wide, threads, accesses, at; /* at: of place_of */
} place;
static const place places[] = {
    {"%4 = const i32 4\n%5 = mul i32 %0, %4\n%6 = const i32 128\n%7 = mul i32 %1, %6\n%9 = add i32 %5, %7\n", 4, 32, 3, 0},
    {"%4 = const i32 5\n%5 = shr i32 %0, %4 nonneg\n%6 = const i32 31\n%7 = and i32 %0, %6\n%8 = gdim.x i32\n%10 = const i32 128\n"
     "%11 = mul i32 %8, %10\n%12 = mul i32 %5, %11\n%13 = const i32 4\n%14 = mul i32 %7, %13\n%15 = mul i32 %1, %10\n"
     "%16 = add i32 %12, %14\n%9 = add i32 %15, %16\n", 4, 96, 3, 1},
    {"%4 = const i32 32\n%5 = mul i32 %1, %4\n%9 = add i32 %0, %5\n", 1, 32, 3, 2},
    {"%4 = convert i64 %1\n%5 = const i64 128\n%6 = mul i64 %4, %5\n%7 = const i32 4\n%8 = mul i32 %0, %7\n%10 = convert i64 %8\n"
     "%9 = add i64 %6, %10\n", 4, 32, 3, 0},
    {"%4 = const i32 4\n%5 = mul i32 %0, %4\n%6 = gdim.x i32\n%7 = const i32 1\n%8 = sub i32 %6, %7\n%10 = sub i32 %8, %1\n%11 = const i32 128\n"
     "%12 = mul i32 %10, %11\n%9 = add i32 %5, %12\n", 4, 32, 3, 3},
    {"%4 = const i32 4\n%5 = mul i32 %0, %4\n%6 = const i32 160\n%7 = mul i32 %1, %6\n%9 = add i32 %5, %7\n", 4, 32, 3, 4},
    {"%4 = const i32 4\n%5 = mul i32 %0, %4\n%6 = const i32 1\n%7 = xor i32 %1, %6\n%8 = const i32 128\n%10 = mul i32 %7, %8\n%9 = add i32 %5, %10\n", 4,
     32, 0, 5},
    {"%4 = const i32 4\n%5 = mul i32 %0, %4\n%6 = const i32 384\n%7 = mul i32 %1, %6\n%9 = add i32 %5, %7\n", 4, 96, 3, 7},
    {"%4 = const i32 64\n%5 = mul i32 %1, %4\n%9 = add i32 %0, %5\n", 1, 64, 3, 8},
    {"%4 = const i32 4\n%5 = mul i32 %0, %4\n%6 = const i32 256\n%7 = xor i32 %5, %6\n%8 = const i32 512\n%10 = mul i32 %1, %8\n%9 = add i32 %7, %10\n", 4,
     128, 3, 9},
    {"%4 = const i32 4\n%5 = mul i32 %0, %4\n%6 = const i32 128\n%7 = mul i32 %1, %1\n%8 = mul i32 %7, %6\n%9 = add i32 %5, %8\n", 4, 32, 0, 6},
};

static int place_of(int at, int t, int x, int grid)
{
    switch (at) {
    case 0:
        return t * 4 + x * 128;
    case 1:
        return t / 32 * grid * 128 + t % 32 * 4 + x * 128;
    case 2:
        return t + x * 32;
    case 3:
        return t * 4 + (grid - 1 - x) * 128;
    case 4:
        return t * 4 + x * 160;
    case 5:
        return t * 4 + (x ^ 1) * 128;
    case 7:
        return t * 4 + x * 384;
    case 8:
        return t + x * 64;
    case 9:
        return (t * 4 ^ 256) + x * 512;
    default:
        return t * 4 + x * x * 128;
    }
}

/* d = select(a < d, d * 3, a) + a, in place or not, by each way to place it, in grids that end within a strip. */
START_TEST(test_places)
{
    static const int grids[] = {1, 2, 7, 20, 38};
    for (size_t k = 0; k < SETT__COUNT(places) * SETT__COUNT(grids) * 2; k++) {
        const place *p = &places[k % SETT__COUNT(places)];
        int grid = grids[k / SETT__COUNT(places) % SETT__COUNT(grids)], n = p->wide;
        bool alone = k >= SETT__COUNT(places) * SETT__COUNT(grids); /* A and D are one */
        if (p->at == 6 && grid > 20)
            continue;
        char text[2048];
        snprintf(text, sizeof text, PARAMS "block %d\n%s%s%%30 = load i32x%d %%2[%%9] align 4\n%%31 = load i32x%d %%3[%%9] align 4\n%%32 = lt i1x%d %%30, %%31\n"
                 "%%33 = const i32 3\n%%34 = mul i32x%d %%31, %%33\n%%35 = select i32x%d %%32, %%34, %%30\n%%36 = add i32x%d %%35, %%30\n"
                 "store %%3[%%9] i32x%d %%36 align 4\n", p->threads, IDS, p->text, n, n, n, n, n, n, n);
        for (char *one; n == 1 && (one = strstr(text, "x1 "));) /* one element has no count */
            memmove(one, one + 2, strlen(one + 2) + 1);
        job j = {.text = text, .grid = {(uint32_t)grid}, .block = {(uint32_t)p->threads}, .data = {alone ? d : a, d}, .bytes = {sizeof a, sizeof d}, .n_data = 2, .threads = 1};
        static int32_t want[ELEMENTS];
        sett_error e;
        start(a, 7919), start(d, 104729), start(want, 104729);
        for (int i = 0; i < grid * p->threads * n; i++) {
            int at = place_of(p->at, i / n % p->threads, i / n / p->threads, grid) + i % n;
            int32_t x = alone ? want[at] : a[at];
            want[at] = (x < want[at] ? want[at] * 3 : x) + x;
        }
        ck_assert_uint_eq(launch(&j, true, &e), (uint32_t)p->accesses);
        ck_assert_msg(!e.status, "%s", e.text);
        ck_assert_msg(!memcmp(d, want, sizeof d), "%s grid %d", text, grid);
    }
}
END_TEST

/* The place of a store that is computed behind a load, from what is used last there, may lie where that of the load was. */
START_TEST(test_late_place)
{
    enum { GRID = 7, THREADS = 64, WIDE = 4, BLOCK = THREADS * WIDE };
    static const char text[] = PARAMS "block 64\n" IDS "%4 = const i32 4\n%5 = const i32 512\n%6 = const i32 256\n"
        "%7 = mul i32 %1, %6\n%8 = mul i32 %0, %4\n%9 = mul i32 %1, %5\n%10 = add i32 %8, %9\n%11 = load i32x4 %2[%10] align 4\n"
        "%12 = add i32x4 %11, %11\n%13 = add i32 %7, %8\nstore %3[%13] i32x4 %12 align 4\n";
    const job j = {.text = text, .grid = {GRID}, .block = {THREADS}, .data = {a, d}, .bytes = {sizeof a, sizeof d}, .n_data = 2, .threads = 1};
    sett_error e;
    start(a, 7919), start(d, 104729);
    ck_assert_uint_eq(launch(&j, true, &e), 2);
    ck_assert_msg(!e.status, "%s", e.text);
    for (int i = 0; i < GRID * BLOCK; i++)
        ck_assert_msg(d[i] == 2 * a[i / BLOCK * 2 * BLOCK + i % BLOCK], "element %d is %d", i, d[i]);
}
END_TEST

/* What may not: what a block computes of its own index, of its threads' or of a load, with a barrier or shared memory. */
START_TEST(test_refusals)
{
    static const char *const way[] = {
        "%31 = add i32x4 %30, %1\n", "%31 = add i32x4 %30, %0\n",
        "%20 = load i32 %2[%0] align 4\n%31 = add i32x4 %30, %20\n", "%31 = add i32x4 %30, %5\nbarrier\n",
        "%20 = pick i32 %30 [2]\n%31 = add i32x4 %30, %20\n"};
    for (size_t k = 0; k < SETT__COUNT(way); k++) {
        char text[2048];
        sett_error e;
        static int32_t want[ELEMENTS];
        snprintf(text, sizeof text, PARAMS "block 32\n%s%s%%30 = load i32x4 %%2[%%9] align 4\n%sstore %%3[%%9] i32x4 %%31 align 4\n", IDS,
            places[0].text, way[k]);
        job j = {.text = text, .grid = {40}, .block = {32}, .data = {a, d}, .bytes = {sizeof a, sizeof d}, .n_data = 2, .threads = 1};
        start(a, 7919), start(d, 1), start(want, 1);
        for (int i = 0; i < 40 * 128; i++) {
            int t = i / 4 % 32, more[] = {i / 128, t, a[t], t * 4, a[i / 4 * 4 + 2]};
            want[i] = a[i] + more[k];
        }
        ck_assert_msg(!launch(&j, true, &e), "%s", text);
        ck_assert_msg(!e.status, "%s", e.text);
        ck_assert_msg(!memcmp(d, want, sizeof d), "%s", text);
    }
}
END_TEST

/* What is stored is the same in all of the launch, and has one row. */
START_TEST(test_fill)
{
    static const struct { const char *text; int threads, n; } way[] = {
        {"%9 = const i32 32\n%10 = mul i32 %1, %9\n%11 = add i32 %0, %10\n%12 = const i32 77\nstore %3[%11] i32 %12 align 4\n", 32, 1},
        {"%9 = const i32 128\n%10 = mul i32 %1, %9\n%11 = add i32 %0, %10\n%12 = const i32 77\nstore %3[%11] i32 %12 align 4\n", 128, 1},
        {"%9 = const i32 128\n%10 = mul i32 %1, %9\n%13 = const i32 4\n%14 = mul i32 %0, %13\n%11 = add i32 %14, %10\n%15 = const i32 77\n"
         "%12 = pack i32x4 %15, %15, %15, %15\nstore %3[%11] i32x4 %12 align 4\n", 32, 4}};
    for (size_t k = 0; k < SETT__COUNT(way); k++) {
        char text[1024];
        sett_error e;
        snprintf(text, sizeof text, PARAMS "block %d\n%s%s", way[k].threads, IDS, way[k].text);
        job j = {.text = text, .grid = {40}, .block = {(uint32_t)way[k].threads}, .data = {a, d}, .bytes = {sizeof a, sizeof d}, .n_data = 2, .threads = 1};
        start(d, 11);
        launch(&j, true, &e);
        ck_assert_msg(!e.status, "%s", e.text);
        for (int i = 0; i < 40 * way[k].threads * way[k].n; i++)
            ck_assert_int_eq(d[i], 77);
    }
}
END_TEST

/* Halves that become floats and halves again, a number of the launch, and rows of tiles: as block by block. */
START_TEST(test_types)
{
    static const char text[] = HEAD("param A f16 (65536):(1) align 16 read\nparam D f16 (65536):(1) align 16 read write\nsym S\n") "block 64\n"
        "%0 = tid.x i32\n%1 = bid.x i32\n%2 = param f16 A\n%3 = param f16 D\n%4 = bid.y i32\n%5 = const i32 5\n%6 = shr i32 %0, %5 nonneg\n"
        "%7 = const i32 31\n%8 = and i32 %0, %7\n%9 = const i32 8\n%10 = mul i32 %8, %9\n%11 = const i32 8192\n%12 = mul i32 %6, %11\n"
        "%13 = const i32 16384\n%14 = mul i32 %4, %13\n%15 = const i32 256\n%16 = mul i32 %1, %15\n%17 = add i32 %10, %12\n%18 = add i32 %14, %16\n"
        "%19 = add i32 %17, %18\n%20 = const i32 4096\n%21 = add i32 %19, %20\n%22 = load f16x8 %2[%19] align 16\n%23 = load f16x8 %2[%21] align 16\n"
        "%24 = pack f16x16 %22, %23\n%25 = convert f32x16 %24\n%26 = sym i32 S\n%27 = convert f32 %26\n%28 = mul f32x16 %25, %27\n"
        "%29 = convert f16x16 %28\n%30 = add f16x16 %29, %24\n%31 = pick f16x8 %30 [0..7]\nstore %3[%19] f16x8 %31 align 16\n"
        "%32 = pick f16x8 %30 [8..15]\nstore %3[%21] f16x8 %32 align 16\n";
    static uint16_t x[ELEMENTS], y[2][ELEMENTS];
    for (int i = 0; i < ELEMENTS; i++)
        x[i] = (uint16_t)(i * 40503u);
    for (int threads = 1; threads <= 3; threads += 2) {
        for (int k = 0; k < 2; k++) {
            sett_error e;
            memset(y[k], 0x55, sizeof y[k]);
            job j = {.text = text, .grid = {16, 4}, .block = {64}, .data = {x, y[k]}, .bytes = {sizeof x, sizeof y[k]}, .n_data = 2, .n_sym = 1, .sym = {3}, .threads = threads};
            ck_assert_uint_eq(launch(&j, !k, &e), 4);
            ck_assert_msg(!e.status, "%s", e.text);
        }
        ck_assert(!memcmp(y[0], y[1], sizeof y[0]));
        ck_assert_uint_ne(y[0][ELEMENTS - 1], 0x5555);
    }
}
END_TEST

/* A tensor that ends within a strip: the same report, and the same memory, as block by block. */
START_TEST(test_faults)
{
    char text[1024];
    static int32_t kept[ELEMENTS];
    snprintf(text, sizeof text, PARAMS "block 32\n%s%s%%30 = load i32x4 %%2[%%9] align 4\n%%31 = add i32x4 %%30, %%30\nstore %%3[%%9] i32x4 %%31 align 4\n",
        IDS, places[0].text);
    for (size_t blocks = 0; blocks < 30; blocks += 3)
        for (int k = 0; k < 2; k++) {
            sett_error e[2];
            job j = {.text = text, .grid = {40}, .block = {32}, .data = {d, d}, .bytes = {sizeof d, blocks * 512 + 64}, .n_data = 2, .threads = 1};
            j.bytes[0] = k ? j.bytes[1] : j.bytes[0];
            for (int strips = 0; strips < 2; strips++) {
                start(d, 11);
                ck_assert_uint_eq(launch(&j, strips, &e[strips]), 2);
                if (strips)
                    ck_assert(!memcmp(d, kept, sizeof d));
                memcpy(kept, d, sizeof d);
            }
            char want[64];
            snprintf(want, sizeof want, "block (%zu,0,0)", blocks);
            ck_assert_int_eq(e[0].status, SETT_E_FAULT);
            ck_assert_msg(strstr(e[0].text, want), "%s", e[0].text);
            ck_assert_str_eq(e[0].text, e[1].text);
        }
}
END_TEST

Suite *sim_strip_suite(void)
{
    Suite *s = suite_create("sim_strip");
    TCase *c = tcase_create("strips");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_places);
    tcase_add_test(c, test_late_place);
    tcase_add_test(c, test_refusals);
    tcase_add_test(c, test_fill);
    tcase_add_test(c, test_types);
    tcase_add_test(c, test_faults);
    suite_add_tcase(s, c);
    return s;
}
