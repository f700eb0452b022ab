/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU engine's blocks without tests: what is known of a run of blocks before it runs, the tape that such blocks
 * run, and that nobody can tell which of the two a block has run. */
#include "tests/rig/sim_rig.h"
#include <stdarg.h>

/* ---- intervals ------------------------------------------------------------------------ */
enum { TAPES = 150, VALUES = 26, THREADS = 40, GRID_X = 3, GRID_Y = 2, BLOCKS = GRID_X * GRID_Y };
typedef struct writer {
    char text[8192];
    size_t at;
    uint64_t seed;
    char type[64][4]; /* of %0, %1, ... ; "" where it is no number */
    int n;
} writer;

static uint32_t below(writer *w, uint32_t n)
{
    w->seed ^= w->seed << 13, w->seed ^= w->seed >> 7, w->seed ^= w->seed << 17;
    return (uint32_t)((w->seed >> 20) % n);
}

static SETT_PRINTF(2, 3) void put(writer *w, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    w->at += (size_t)vsnprintf(w->text + w->at, sizeof w->text - w->at, format, ap);
    va_end(ap);
    ck_assert_uint_lt(w->at, sizeof w->text);
}

static SETT_PRINTF(3, 4) int define(writer *w, const char *type, const char *format, ...)
{
    va_list ap;
    char op[128];
    va_start(ap, format);
    vsnprintf(op, sizeof op, format, ap);
    va_end(ap);
    put(w, "%%%d = %s\n", w->n, op);
    snprintf(w->type[w->n], sizeof w->type[0], "%s", type);
    return w->n++;
}

static int some(writer *w, const char *type)
{
    for (;;) {
        int v = (int)below(w, (uint32_t)w->n);
        if (!strcmp(w->type[v], type))
            return v;
    }
}

static void some_constant(writer *w, const char *type)
{
    static const int64_t edge[] = {INT32_MAX, INT32_MIN, -1, 0, 1, 2, 31, 32};
    bool is_unsigned = *type == 'u', wide = !strcmp(type, "i64");
    int64_t x = below(w, 3)   ? (int64_t)below(w, 200) - (is_unsigned ? 0 : 40)
                : below(w, 2) ? (int64_t)1 << below(w, wide ? 63 : 31)
                              : edge[below(w, 8)];
    define(w, type, "const %s %lld", type, (long long)(is_unsigned ? (int64_t)(uint32_t)x : x));
}

static void some_value(writer *w)
{
    static const char *const number[] = {"i32", "i32", "u32", "i64"};
    static const char *const two[] = {"add", "sub", "mul", "add", "mul", "div", "rem", "min", "max", "and", "or", "xor", "shl", "shr"};
    static const char *const test[] = {"lt", "le", "gt", "ge", "eq", "ne"}, *const logic[] = {"and", "or", "xor"};
    const char *type = number[below(w, 4)];
    switch (below(w, 12)) {
    case 0:
    case 1:
        define(w, "i1", "%s i1 %%%d, %%%d", test[below(w, 6)], some(w, type), some(w, type));
        break;
    case 2:
        define(w, "i1", "%s i1 %%%d, %%%d", logic[below(w, 3)], some(w, "i1"), some(w, "i1"));
        break;
    case 3:
        define(w, "i1", "not i1 %%%d", some(w, "i1"));
        break;
    case 4:
        define(w, type, "select %s %%%d, %%%d, %%%d", type, some(w, "i1"), some(w, type), some(w, type));
        break;
    case 5:
        define(w, type, "convert %s %%%d", type, some(w, number[below(w, 4)]));
        break;
    case 6:
    case 7:
        some_constant(w, type);
        break;
    default:
        define(w, type, "%s %s %%%d, %%%d", two[below(w, SETT__COUNT(two))], type, some(w, type), some(w, type));
    }
}

/* Ends in a store of every value, as i64, to D[block][value][thread]. */
static void write_tape(writer *w)
{
    put(w, "sett tape 2\nsym M\nparam D i64 (%d):(1) align 8 write\nblock %d\n", BLOCKS * VALUES * THREADS, THREADS);
    static const char *const given[] = {"tid.x", "bid.x", "bid.y", "lane", "gdim.x", "bdim.x"};
    define(w, "i32", "sym i32 M");
    for (size_t i = 0; i < SETT__COUNT(given); i++)
        define(w, "i32", "%s i32", given[i]);
    define(w, "u32", "convert u32 %%1");
    define(w, "i64", "convert i64 %%2");
    define(w, "i1", "lt i1 %%1, %%0");
    while (w->n < VALUES)
        some_value(w);
    put(w, "%%40 = param i64 D\n%%41 = mul i32 %%3, %%5\n%%42 = add i32 %%41, %%2\n%%43 = const i32 %d\n%%44 = mul i32 %%42, %%43\n"
           "%%45 = add i32 %%44, %%1\n", VALUES * THREADS);
    for (int v = 0; v < VALUES; v++) {
        bool wide = !strcmp(w->type[v], "i64");
        if (!wide)
            put(w, "%%%d = convert i64 %%%d\n", 100 + v, v);
        put(w, "store %%40[%%45 + %d] i64 %%%d align 8\n", v * THREADS, wide ? v : 100 + v);
    }
}

static bool contains(const sett__range *r, int64_t x)
{
    uint64_t mask = r->bits >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << r->bits) - 1;
    return r->lo <= x && x <= r->hi && !(((uint64_t)x ^ r->rest) & mask);
}

/* Every value that a thread computes lies in what was said of its block, alone and in runs of blocks. */
START_TEST(test_ranges)
{
    static int64_t d[BLOCKS][VALUES][THREADS];
    uint64_t seed = 88172645463325252u, exact = 0, tests = 0;
    for (int k = 0; k < TAPES; k++) {
        writer w = {.seed = seed};
        write_tape(&w);
        int32_t m = (int32_t)below(&w, 100) - 10;
        seed = w.seed;
        job j = {.text = w.text, .grid = {GRID_X, GRID_Y}, .block = {THREADS}, .data = {d}, .bytes = {sizeof d}, .n_data = 1,
            .n_sym = 1, .sym = {m}, .threads = 1};
        runs(&j);
        sett__tape t = {0};
        parse(&t, w.text);
        uint32_t op[VALUES], n = 0;
        sett__range known[VALUES];
        for (uint32_t v = 0; n < VALUES; v++)
            op[n] = v, n += t.op[v].code != SETT__PARAM;
        sett__program p = {.given = &t};
        ck_assert(sett__find_facts(&p, op, VALUES));
        ck_assert_uint_eq(p.n_fact, VALUES);
        unsigned char params[16] = {0};
        memcpy(params + 8, &m, sizeof m);
        sett__sim_launch l = {.grid = {GRID_X, GRID_Y, 1}, .block = {THREADS, 1, 1}, .params = params, .params_len = 12};
        for (uint32_t v = 0; v < VALUES; v++)
            p.fact[v].test = false;
        for (uint64_t from = 0; from < BLOCKS; from++)
            for (uint64_t to = from + 1; to <= BLOCKS; to++) {
                ck_assert_int_eq(sett__prove(&p, &l, known, from, to), SETT__EVERYWHERE);
                for (uint64_t i = 0; i < (to - from) * VALUES * THREADS; i++) {
                    uint64_t b = from + i / (VALUES * THREADS), v = i / THREADS % VALUES, thread = i % THREADS;
                    if (!contains(&known[v], d[b][v][thread]))
                        ck_abort_msg("%%%d = %lld of block %d is not in [%lld, %lld] and %llu mod 2^%d\n%s", (int)v,
                            (long long)d[b][v][thread], (int)b, (long long)known[v].lo, (long long)known[v].hi,
                            (unsigned long long)known[v].rest, known[v].bits, w.text);
                }
                for (uint32_t v = 10; v < VALUES; v++)
                    exact += known[v].lo == known[v].hi, tests++;
            }
        free(p.fact);
        sett__tape_free(&t);
    }
    ck_assert_msg(exact * 4 > tests, "only %d of %d values are known", (int)exact, (int)tests); /* else it says nothing */
}
END_TEST

static void sees(const char *tests, uint64_t from, uint64_t to, sett__proof want)
{
    char text[1024];
    snprintf(text, sizeof text, "sett tape 2\nsym M\nsym N\nparam D i32 (1000):(1) align 4 write\nblock 128\n%%0 = tid.x i32\n%%1 = bid.x i32\n%%2 = bid.y i32\n"
             "%%3 = param i32 D\n%%4 = sym i32 M\n%%5 = sym i32 N\n%%6 = const i32 128\n%%7 = mul i32 %%1, %%6\n%%8 = add i32 %%7, %%0\n%s", tests);
    sett__tape t = {0};
    sett__program *p;
    sett_error e;
    unsigned char params[16] = {0};
    const int32_t size[2] = {1000, 20};
    sett__range known[64];
    memcpy(params + 8, size, sizeof size);
    sett__sim_launch l = {.grid = {8, 4, 1}, .block = {128, 1, 1}, .params = params, .params_len = sizeof params};
    parse(&t, text);
    ck_assert_int_eq(sett__program_make(&t, false, &p, &e), SETT_OK);
    ck_assert_uint_gt(p->n_fact, 0);
    ck_assert_uint_le(p->n_fact, SETT__COUNT(known));
    ck_assert_msg(sett__prove(p, &l, known, from, to) == want, "blocks %d to %d of\n%s", (int)from, (int)to, tests);
    sett__program_free(p);
    sett__tape_free(&t);
}

/* 8 x 4 blocks of 128 threads; M = 1000 ends in the last block of each row. */
START_TEST(test_proofs)
{
    static const char inside[] = "%10 = lt i1 %8, %4\nstore %3[%8] i32 %0 align 4 pred %10\n";
    sees(inside, 0, 7, SETT__EVERYWHERE);
    sees(inside, 0, 8, SETT__OPEN);
    sees(inside, 8, 15, SETT__EVERYWHERE);
    sees(inside, 6, 10, SETT__OPEN);
    static const char row[] = "%10 = add i32 %2, %0\n%11 = lt i1 %10, %5\nif %11 {\nstore %3[%8] i32 %0 align 4\n}\n";
    sees(row, 0, 32, SETT__OPEN);
    static const char both[] = "%9 = const i32 8\n%10 = shr i32 %0, %9\n%11 = add i32 %2, %10\n%12 = lt i1 %11, %5\n%13 = lt i1 %8, %4\n%14 = and i1 %12, %13\nif %14 {\nstore %3[%8] i32 %0 align 4\n}\n";
    sees(both, 24, 31, SETT__EVERYWHERE);
    sees(both, 31, 32, SETT__OPEN);
    static const char never[] = "%10 = ge i1 %0, %4\nif %10 {\nstore %3[%8] i32 %0 align 4\n}\n";
    sees(never, 0, 1, SETT__NOWHERE);
    static const char thread[] = "%9 = const i32 500\n%10 = sub i32 %4, %9\n%11 = and i32 %8, %9\n%12 = lt i1 %11, %10\n%13 = sub i32 %10, %9\n%14 = ge i1 %0, %13\nif %12 {\nstore %3[%8] i32 %0 align 4 pred %14\n}\n";
    sees(thread, 3, 4, SETT__OPEN);
    static const char loop[] = "%9 = const i32 4\nfor %10 = %0 to %6 step %9 {\n%11 = lt i1 %10, %4\nif %11 {\nstore %3[%8] i32 %10 align 4\n}\n}\n";
    sees(loop, 0, 32, SETT__EVERYWHERE);
    static const char aligned[] = "%9 = const i32 4\n%10 = mul i32 %8, %9\n%11 = add i32 %10, %5\n%12 = const i32 3\n%13 = and i32 %11, %12\n%14 = const i32 0\n%15 = eq i1 %13, %14\nif %15 {\nstore %3[%0] i32 %0 align 4\n}\n";
    sees(aligned, 0, 32, SETT__EVERYWHERE);
}
END_TEST

/* ---- the tape ----------------------------------------------------------------------------- */
static char *printed(const sett__tape *t)
{
    char *text = NULL;
    sett_error e = {.status = SETT_OK};
    ck_assert_msg(!sett__tape_print(t, false, NULL, &text, &e), "%s", e.text);
    return text;
}

/* NULL: there is nothing to change. */
static void becomes(const char *text, bool tests_hold, const char *want)
{
    sett__tape t = {0}, u = {0};
    sett__rewritten a;
    sett_error e = {.status = SETT_OK};
    parse(&t, text);
    ck_assert(sett__rewrite(&t, tests_hold, &a));
    ck_assert_int_eq(a.changed, want != NULL);
    ck_assert_int_eq(a.n_test > 0, a.changed && tests_hold);
    if (want) {
        ck_assert_msg(!sett__tape_verify(&a.tape, NULL, &e), "%s", e.text);
        parse(&u, want);
        char *is = printed(&a.tape), *should_be = printed(&u);
        ck_assert_str_eq(is, should_be);
        free(is), free(should_be);
        sett__tape_free(&u);
        sett__arena_free(&a.tape.arena);
    }
    sett__tape_free(&t);
}

#define GUARD "%0 = tid.x i32\n%1 = bid.x i32\n%2 = param i32 A\n%3 = param i32 D\n%4 = const i32 32\n%5 = mul i32 %1, %4\n%6 = add i32 %5, %0\n%7 = const i32 96\n%8 = lt i1 %6, %7\n"
#define PLACE(A) A_D "block 32\n%0 = tid.x i32\n%1 = bid.x i32\n" A "%3 = param i32 D\n%4 = const i32 32\n%5 = mul i32 %1, %4\n%6 = add i32 %5, %0\n"
#define A_TOO "%2 = param i32 A\n"
static const struct { const char *name, *text, *want; } tape[] = {
    {"tests of the thread alone stay", A_D "block 32\n" IDS "%4 = const i32 7\n%5 = lt i1 %0, %4\nif %5 {\nstore %3[%0] i32 %1 align 4\n}\n", NULL},
    {"so do tests of the block alone", A_D "block 32\n" IDS "%4 = const i32 7\n%5 = lt i1 %1, %4\nif %5 {\nstore %3[%0] i32 %1 align 4\n}\n", NULL},
    {"and of what is loaded", A_D "block 32\n" IDS "%4 = load i32 %2[%0] align 4\n%5 = lt i1 %4, %1\nif %5 {\nstore %3[%0] i32 %1 align 4\n}\n", NULL},
    {"a predicate", A_D "block 32\n" GUARD "%9 = load i32 %2[%6] align 4 pred %8 fill %7\nstore %3[%6] i32 %9 align 4 pred %8\n",
     PLACE(A_TOO) "%7 = load i32 %2[%6] align 4\nstore %3[%6] i32 %7 align 4\n"},
    {"one arm", A_D "block 32\n" GUARD "if %8 {\nstore %3[%6] i32 %0 align 4\n} else {\nif %8 {\nstore %3[%6] i32 %1 align 4\n}\n}\nstore %3[%6] i32 %4 align 4\n",
     PLACE() "store %3[%6] i32 %0 align 4\nstore %3[%6] i32 %4 align 4\n"},
    {"regions inside", A_D "block 32\n" GUARD "%9 = const i32 1\n%10 = eq i1 %0, %9\nif %8 {\nif %10 {\nstore %3[%6] i32 %0 align 4\n} else {\nbarrier\n}\nfor %11 = %9 to %4 step %9 {\nstore %3[%11] i32 %0 align 4\n}\n}\n",
     PLACE() "%7 = const i32 1\n%8 = eq i1 %0, %7\nif %8 {\n    store %3[%6] i32 %0 align 4\n} else {\n    barrier\n}\nfor %13 = %7 to %4 step %7 {\n    store %3[%13] i32 %0 align 4\n}\n"},
    {"an array filled in parts", A_D "block 32\n" GUARD "%9 = rmem i32x4\nif %8 {\n%10 = load i32x2 %2[%6] align 4\nstore %9[0] i32x2 %10 align 8\n%11 = load i32x2 %2[%6 + 32] align 4\nstore %9[2] i32x2 %11 align 8\n}\n"
     "%20 = load i32x4 %9[0] align 16\nstore %3[%6] i32x4 %20 align 4\n%21 = load i32x2 %9[0] align 8\nstore %3[%6] i32x2 %21 align 4\n%22 = load i32 %9[3] align 4\nstore %3[%6] i32 %22 align 4\n",
     PLACE(A_TOO) "%7 = load i32x2 %2[%6] align 4\n%8 = load i32x2 %2[%6 + 32] align 4\n%9 = pack i32x4 %7, %8\nstore %3[%6] i32x4 %9 align 4\nstore %3[%6] i32x2 %7 align 4\n%12 = pick i32 %8 [1]\nstore %3[%6] i32 %12 align 4\n"},
    {"one that is not filled", A_D "block 32\n" GUARD "%9 = rmem i32x2\nstore %9[0] i32 %0 align 4 pred %8\n%10 = load i32x2 %9[0] align 8\nstore %3[%6] i32x2 %10 align 4\n",
     PLACE() "%7 = rmem i32x2\nstore %7[0] i32 %0 align 4\n%9 = load i32x2 %7[0] align 8\nstore %3[%6] i32x2 %9 align 4\n"},
    {"one that is set somewhere in it", A_D "block 32\n" GUARD "%9 = rmem i32x2\nstore %9[0] i32 %0 align 4 pred %8\n%10 = const i32 1\n%11 = and i32 %0, %10\nstore %9[%11] i32 %1 align 4\n%12 = load i32 %9[0] align 4\nstore %3[%6] i32 %12 align 4\n",
     PLACE() "%7 = rmem i32x2\nstore %7[0] i32 %0 align 4\n%8 = const i32 1\n%9 = and i32 %0, %8\nstore %7[%9] i32 %1 align 4\n%12 = load i32 %7[0] align 4\nstore %3[%6] i32 %12 align 4\n"},
    {"one that a round sets", A_D "block 32\n" GUARD "%9 = rmem i32x1\n%10 = const i32 1\nstore %9[0] i32 %0 align 4 pred %8\nfor %11 = %10 to %4 step %10 {\n%12 = load i32 %9[0] align 4\n%13 = add i32 %12, %11\nstore %9[0] i32 %13 align 4\n%14 = load i32 %9[0] align 4\nstore %3[%6] i32 %14 align 4\n}\n"
     "%15 = load i32 %9[0] align 4\nstore %3[%6] i32 %15 align 4\n",
     PLACE() "%7 = rmem i32x1\n%8 = const i32 1\nstore %7[0] i32 %0 align 4\nfor %10 = %8 to %4 step %8 {\n    %11 = load i32 %7[0] align 4\n    %12 = add i32 %11, %10\n    store %7[0] i32 %12 align 4\n    store %3[%6] i32 %12 align 4\n}\n"
     "%16 = load i32 %7[0] align 4\nstore %3[%6] i32 %16 align 4\n"},
    {"one that an arm may set", A_D "block 32\n" GUARD "%9 = rmem i32x1\n%10 = eq i1 %0, %4\nstore %9[0] i32 %0 align 4 pred %8\nif %10 {\n%11 = load i32 %9[0] align 4\nstore %3[%6] i32 %11 align 4\nstore %9[0] i32 %1 align 4\n}\n%12 = load i32 %9[0] align 4\nstore %3[%6] i32 %12 align 4\n",
     PLACE() "%7 = rmem i32x1\n%8 = eq i1 %0, %4\nstore %7[0] i32 %0 align 4\nif %8 {\n    store %3[%6] i32 %0 align 4\n    store %7[0] i32 %1 align 4\n}\n%13 = load i32 %7[0] align 4\nstore %3[%6] i32 %13 align 4\n"},
    {"one that is read as another type", A_D "block 32\n" GUARD "%9 = rmem i32x2\nstore %9[0] i32 %0 align 4 pred %8\nstore %9[1] i32 %1 align 4\n%10 = load i16 %9[2] align 2\n%11 = convert i32 %10\nstore %3[%6] i32 %11 align 4\n",
     PLACE() "%7 = rmem i32x2\nstore %7[0] i32 %0 align 4\nstore %7[1] i32 %1 align 4\n%10 = load i16 %7[2] align 2\n%11 = convert i32 %10\nstore %3[%6] i32 %11 align 4\n"},
};

START_TEST(test_tapes)
{
    becomes(tape[_i].text, true, tape[_i].want);
}
END_TEST

/* ---- either way is the same -------------------------------------------------------------------- */
static const struct { const char *name, *text; uint32_t grid, block; const char *want; } both[] = {
    {"bounds", A_D "block 64\n" GUARD "if %8 {\n%9 = load i32 %2[%6 + 940] align 4 @ a.c:5 f\nstore %3[%6] i32 %9 align 4\n}\n", 2, 32,
     "a.c:5: load of A: element 1000 of 1000 (byte 4000) is outside, block (1,0,0) thread (28,0,0), kernel k"},
    {"no line", A_D "block 64\n" GUARD "if %8 {\n%9 = load i32 %2[%6 + 940] align 4\nstore %3[%6] i32 %9 align 4\n}\n", 2, 32,
     "line 15 of the tape: load of A: element 1000 of 1000 (byte 4000) is outside, block (1,0,0) thread (28,0,0), kernel k"},
    {"the first of several", A_D "block 64\n" GUARD "store %3[%6] i32 %0 align 4 pred %8\nassert %8, \"in\" @ a.c:6 f\n", 5, 32,
     "a.c:6: assertion failed: in, block (3,0,0) thread (0,0,0), kernel k"},
    {"barrier", A_D "block 64\n" GUARD "%9 = const i32 48\nif %8 {\n%10 = lt i1 %0, %9\nif %10 {\nbarrier @ a.c:8 f\n}\n}\n", 2, 64,
     "a.c:8: barrier in a branch: only 16 of the warp's 32 threads are here; lanes 16-31 did not take the branch at line 17, block (0,0,0) thread (48,0,0), kernel k"},
    {"deadlock", A_D "block 64\n" GUARD "%9 = const i32 32\nif %8 {\n%10 = lt i1 %0, %9\nif %10 {\nbarrier @ a.c:8 f\n}\n}\n", 2, 64,
     "a.c:8: barrier that not all threads reach: warp 0 waits at a.c:8; warp 1 ended, block (0,0,0), kernel k"},
    {"shared memory", "sett tape 2\nparam A i32 (1000):(1) align 4 read\nparam D i32 (1000):(1) align 4 write\nblock 40\nsmem 160 align 4\n" GUARD
     "%9 = smem i32x40 at 0\nif %8 {\nstore %9[%0] i32 %6 align 4\n} else {\nstore %9[%0] i32 %7 align 4\n}\nbarrier\n%12 = const i32 39\n%13 = sub i32 %12, %0\n%14 = load i32 %9[%13] align 4\nstore %3[%6] i32 %14 align 4\n", 5, 40, NULL},
    {"printing", A_D "block 32\n" GUARD "%9 = const i32 30\n%10 = ge i1 %0, %9\nif %8 {\nif %10 {\nprintf \"%d \", %6\n}\n}\n", 5, 32, NULL},
    {"a shuffle", A_D "block 32\n" GUARD "%9 = const i32 1\n%10 = rmem i32x2\nstore %10[0] i32 %6 align 4 pred %8\nstore %10[1] i32 %0 align 4 pred %8\n%11 = load i32x2 %10[0] align 8\n%12 = shfl.bfly i32x2 %11, %9\n"
     "%13 = pick i32 %12 [0]\nstore %3[%6] i32 %13 align 4 pred %8\n", 5, 32, NULL},
};

static void listen(void *user, const char *s, size_t n)
{
    strncat(user, s, n);
}

static sett_status run_one_way(pair *p, int way, char *said, char *report, bool unguarded)
{
    sett__tape t = {0};
    sett__program *program;
    sett_error e = {.status = SETT_OK};
    job j = pair_job(p, both[way].text, both[way].grid, both[way].block);
    bool any_order = both[way].block == 32 && !both[way].want && !strstr(j.text, "printf"); /* of blocks, seen in the end */
    j.threads = any_order ? 3 : 1;
    j.print = listen;
    j.user = said;
    parse(&t, j.text);
    ck_assert_int_eq(sett__program_make(&t, false, &program, &e), SETT_OK);
    ck_assert_ptr_nonnull(program->unguarded);
    program->n_fact = unguarded ? program->n_fact : 0;
    sett_status s = run_program(program, &j, &e);
    snprintf(report, sizeof e.text, "%s", s ? e.text : "");
    sett__program_free(program);
    sett__tape_free(&t);
    return s;
}

START_TEST(test_either_way)
{
    pair first, second;
    char said[2][4096] = {"", ""}, report[2][sizeof((sett_error *)0)->text];
    sett_status a = run_one_way(&first, _i, said[0], report[0], false), b = run_one_way(&second, _i, said[1], report[1], true);
    ck_assert_int_eq(a, b);
    ck_assert_str_eq(report[0], both[_i].want ? both[_i].want : "");
    ck_assert_str_eq(report[1], report[0]);
    ck_assert_str_eq(said[1], said[0]);
    ck_assert_mem_eq(second.d, first.d, sizeof first.d);
}
END_TEST

/* ---- accesses that are one ----------------------------------------------------------------------- */
#define AD_D HEAD("param A i32 (1000):(1) align 8 read write\nparam D i32 (1000):(1) align 4 write\n")
#define EIGHT AD_D "block 32\n" IDS "%4 = const i32 8\n%5 = mul i32 %0, %4\n"
#define TWO_LOADS "%6 = load i32x4 %2[%5 + 2] align 4 @ a.c:5 f\n%7 = load i32x4 %2[%5 + 6] align 4 @ a.c:6 f\n%8 = pack i32x8 %6, %7\n%9 = add i32x8 %8, %4\n"
#define TWO_STORES "%10 = pick i32x4 %9 [0..3]\nstore %3[%5 + 1] i32x4 %10 align 4 @ a.c:7 f\n%12 = pick i32x4 %9 [4..7]\nstore %3[%5 + 5] i32x4 %12 align 4 @ a.c:8 f\n"
#define D_TOO "%0 = tid.x i32\n%2 = param i32 A\n%3 = param i32 D\n%4 = const i32 8\n%5 = mul i32 %0, %4\n"
static const struct { const char *name, *text, *want; } joined[] = {
    {"two and two", EIGHT TWO_LOADS TWO_STORES,
     AD_D "block 32\n" D_TOO "%6 = load i32x8 %2[%5 + 2] align 4\n%7 = pack i32x8 %6\n%8 = add i32x8 %7, %4\n%9 = pick i32x8 %8 [0..7]\nstore %3[%5 + 1] i32x8 %9 align 4\n"},
    {"lanes that lie together already", AD_D "block 32\n" IDS "%4 = const i32 4\n%5 = mul i32 %0, %4\n" TWO_LOADS TWO_STORES, NULL},
    {"lanes further apart than both", AD_D "block 32\n" IDS "%4 = const i32 12\n%5 = mul i32 %0, %4\n" TWO_LOADS TWO_STORES, NULL},
    {"something between that could tell", EIGHT "%6 = load i32x4 %2[%5] align 4\nbarrier\n%7 = load i32x4 %2[%5 + 4] align 4\n%8 = pack i32x8 %6, %7\nstore %3[%5] i32x8 %8 align 4\n", NULL},
    {"a gap", EIGHT "%6 = load i32x4 %2[%5] align 4\n%7 = load i32x4 %2[%5 + 5] align 4\n%8 = pack i32x8 %6, %7\nstore %3[%5] i32x8 %8 align 4\n", NULL},
    {"another order", EIGHT "%6 = load i32x4 %2[%5] align 4\n%7 = load i32x4 %2[%5 + 4] align 4\n%8 = pack i32x8 %7, %6\nstore %3[%5] i32x8 %8 align 4\n", NULL},
    {"one that is wanted alone", EIGHT "%6 = load i32x4 %2[%5] align 4\n%7 = load i32x4 %2[%5 + 4] align 4\n%8 = pack i32x8 %6, %7\nstore %3[%5] i32x8 %8 align 4\nstore %3[%5] i32x4 %6 align 4\n", NULL},
    {"a store after a load of the same", EIGHT "%6 = load i32x4 %2[%5] align 4\nstore %2[%5 + 4] i32x4 %6 align 4\n", NULL},
    {"a promise that the first does not make", EIGHT "%6 = load i32x4 %2[%5] align 4\n%7 = load i32x4 %2[%5 + 4] align 8\n%8 = pack i32x8 %6, %7\nstore %3[%5] i32x8 %8 align 4\n", NULL},
};

START_TEST(test_joined)
{
    becomes(joined[_i].text, false, joined[_i].want);
}
END_TEST

/* Whole warps, part of one, in rows too, and where lanes after all are not what they seemed. */
START_TEST(test_joined_values)
{
    static const struct { const char *more; uint32_t block[2]; } way[] = {
        {"", {64, 1}}, {"", {43, 1}}, {"", {8, 5}}, {"%20 = const i32 0\n%21 = reduce.add i32 %8, %20\nstore %3[%0 + 900] i32 %21 align 4\n", {64, 1}},
        {"%20 = const i32 0\n%21 = reduce.add i32 %8, %20\nstore %3[%0 + 900] i32 %21 align 4\n", {43, 1}}};
    pair p;
    for (size_t k = 0; k < SETT__COUNT(way); k++) {
        char text[2048];
        snprintf(text, sizeof text, "%s%s", EIGHT TWO_LOADS TWO_STORES, way[k].more);
        job j = pair_job(&p, text, 1, way[k].block[0]);
        j.block[1] = way[k].block[1];
        runs(&j);
        int n = (int)way[k].block[0] * 8;
        ck_assert_int_eq(p.d[0], -1);
        ck_assert_int_eq(p.d[n + 1], -1);
        for (int i = 0; i < n; i++)
            ck_assert_int_eq(p.d[i + 1], i + 2 + 8);
        for (int t = 0; t < n / 8 && *way[k].more; t++)
            ck_assert_int_eq(p.d[900 + t], 8 * (8 * t + 2) + 28);
    }
}
END_TEST

/* Which of them is outside or not aligned is told as if each were alone. */
START_TEST(test_joined_faults)
{
    pair p;
    job j = pair_job(&p, EIGHT TWO_LOADS TWO_STORES, 1, 32);
    j.bytes[0] = 254 * 4;
    faults(&j, "a.c:6: load of A: elements 254 to 257 of 254 (byte 1016) is outside, block (0,0,0) thread (31,0,0), kernel k");
    j.bytes[0] = 253 * 4;
    faults(&j, "a.c:5: load of A: elements 250 to 253 of 253 (byte 1000) is outside, block (0,0,0) thread (31,0,0), kernel k");
    ck_assert_int_eq(p.d[1], -1);
    j = pair_job(&p, EIGHT TWO_LOADS TWO_STORES, 1, 32);
    j.bytes[1] = 256 * 4;
    faults(&j, "a.c:8: store to D: elements 253 to 256 of 256 (byte 1012) is outside, block (0,0,0) thread (31,0,0), kernel k");
    ck_assert_int_eq(p.d[1], 10); /* the first has been done */
    ck_assert_int_eq(p.d[5], -1);
    static const char *const skewed = AD_D "block 32\n" IDS
        "%4 = const i32 8\n%5 = mul i32 %0, %4\n%6 = load i32x4 %2[%5 + 2] align 8 @ a.c:5 f\n%7 = load i32x4 %2[%5 + 6] align 8 @ a.c:6 f\n%8 = pack i32x8 %6, %7\nstore %3[%5] i32x8 %8 align 4\n";
    _Alignas(16) static int32_t a[400];
    j = pair_job(&p, skewed, 1, 32);
    j.data[0] = a + 1, j.bytes[0] = sizeof a - 4;
    faults(&j, "a.c:5: load of A: element 2 (byte 8) is not aligned to 8 bytes, block (0,0,0) thread (0,0,0), kernel k");
}
END_TEST

Suite *sim_bounds_suite(void)
{
    Suite *s = suite_create("sim_bounds");
    TCase *c = tcase_create("bounds");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_ranges);
    tcase_add_test(c, test_proofs);
    tcase_add_loop_test(c, test_tapes, 0, (int)SETT__COUNT(tape));
    tcase_add_loop_test(c, test_joined, 0, (int)SETT__COUNT(joined));
    tcase_add_test(c, test_joined_values);
    tcase_add_test(c, test_joined_faults);
    tcase_add_loop_test(c, test_either_way, 0, (int)SETT__COUNT(both));
    suite_add_tcase(s, c);
    return s;
}
