/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU engine's memory: every space, width and order of lanes, predicates, arrays of a thread, atomics. */
#include "tests/rig/sim_rig.h"

/* Every way to go through memory in one: lanes that follow each other, a stride, a reverse, one address. */
START_TEST(test_access_patterns)
{
    static const struct { int mul, add; } way[] = {{4, 0}, {5, 3}, {-4, 400}, {0, 8}, {4, 1}, {2, 0}};
    pair p;
    for (size_t k = 0; k < SETT__COUNT(way); k++)
        for (int wide = 1; wide <= 8; wide += wide) {
            char text[1024];
            snprintf(text, sizeof text, A_D "block 70\n%s%%4 = const i32 %d\n%%5 = mul i32 %%0, %%4\n%%6 = load i32x%d %%2[%%5 + %d] align 4\n"
                     "%%7 = const i32 %d\n%%8 = mul i32 %%0, %%7\nstore %%3[%%8] i32x%d %%6 align 4\n", IDS, way[k].mul, wide, way[k].add + 100, wide, wide);
            if (wide > 2 && way[k].mul < 0)
                continue;
            job j = pair_job(&p, text, 1, 70);
            runs(&j);
            for (int t = 0; t < 70; t++)
                for (int e = 0; e < wide; e++)
                    ck_assert_int_eq(p.d[t * wide + e], t * way[k].mul + way[k].add + 100 + e);
            ck_assert_int_eq(p.d[70 * wide], -1);
        }
}
END_TEST

/* A false predicate reads nothing, not even outside, and gives the fill; a store under one writes nothing. */
START_TEST(test_predicates)
{
    pair p;
    job j = pair_job(&p, A_D "block 128\n" IDS "%4 = const i32 10\n%5 = mul i32 %0, %4\n%6 = const i32 1000\n%7 = lt i1 %5, %6\n%8 = const i32 7\n"
                     "%9 = load i32 %2[%5] align 4 pred %7 fill %8\n%10 = const i32 120\n%11 = lt i1 %0, %10\nstore %3[%0] i32 %9 align 4 pred %11\n", 1, 128);
    runs(&j);
    for (int t = 0; t < 128; t++)
        ck_assert_int_eq(p.d[t], t >= 120 ? -1 : t < 100 ? t * 10 : 7);
}
END_TEST

/* Wide accesses that need no turning, where lanes are missing, guarded, or all at one address; the same
 * sum once in memory's order and once in rows, which the fold of `x` asks for. */
START_TEST(test_memory_order)
{
    static const char *const twist[] = {"", "%30 = reduce.add i32 %12, %10\nstore %3[900] i32 %30 align 4\n"};
    for (int k = 0; k < 2; k++) {
        char text[2048];
        pair p;
        snprintf(text, sizeof text,
            A_D "block 72\n%s%%4 = const i32 8\n%%5 = mul i32 %%0, %%4\n%%6 = const i32 70\n%%7 = lt i1 %%0, %%6\n%%10 "
                "= const i32 7\n"
                "%%11 = load i32x4 %%2[%%5] align 4 pred %%7 fill %%10\n%%12 = load i32x4 %%2[%%5 + 4] align 4\n%%13 = "
                "load i32x4 %%2[20] align 4\n"
                "%%14 = pack i32x8 %%11, %%12\n%%15 = pack i32x8 %%13, %%13\n%%16 = mul i32x8 %%15, %%10\n%%17 = add "
                "i32x8 %%14, %%16\n%%18 = lt i1x8 %%14, %%15\n"
                "%%19 = select i32x8 %%18, %%14, %%17\n%%20 = pick i32x4 %%19 [4..7]\n%%21 = pick i32x4 %%19 [0..3]\n"
                "store %%3[%%5 + 4] i32x4 %%20 align 4\nif %%7 {\nstore %%3[%%5] i32x4 %%21 align 4\n}\n%s",
            IDS, twist[k]);
        job j = pair_job(&p, text, 1, 72);
        runs(&j);
        for (int i = 0; i < 576; i++) {
            int x = i / 8 >= 70 && i % 8 < 4 ? 7 : i, y = 20 + i % 4;
            ck_assert_int_eq(p.d[i], i / 8 >= 70 && i % 8 < 4 ? -1 : x < y ? x : x + 7 * y);
        }
    }
}
END_TEST

/* What is loaded counts as it was at the load, whatever is stored before it is used: halves exchanged in place,
 * with arithmetic between, without, and through a thread's array. */
START_TEST(test_loads_keep)
{
    static const char *const way[] = {
        "%10 = load i32x4 %3[%5] align 4\n%11 = load i32x4 %3[%5 + 4] align 4\n%12 = pack i32x8 %10, %11\n"
        "%13 = add i32x8 %12, %7\n%14 = pick i32x4 %13 [0..3]\n%15 = pick i32x4 %13 [4..7]\n"
        "store %3[%5 + 4] i32x4 %14 align 4\nstore %3[%5] i32x4 %15 align 4\n",
        "%10 = load i32x4 %3[%5] align 4\n%11 = load i32x4 %3[%5 + 4] align 4\nstore %3[%5 + 4] i32x4 %10 align 4\n"
        "%14 = add i32x4 %11, %7\nstore %3[%5] i32x4 %14 align 4\n%15 = add i32x4 %10, %7\n"
        "store %3[%5 + 4] i32x4 %15 align 4\n",
        "%10 = rmem i32x8\n%11 = load i32x4 %3[%5] align 4\nstore %10[4] i32x4 %11 align 4\n%12 = load i32x4 %3[%5 + 4] align 4\n"
        "store %10[0] i32x4 %12 align 4\n%13 = load i32x8 %10[0] align 4\nstore %10[2] i32 %7 align 4\nstore %10[4] i32x4 %12 align 4\n"
        "%14 = add i32x8 %13, %7\n%15 = pick i32x4 %14 [0..3]\n%16 = pick i32x4 %14 [4..7]\n"
        "store %3[%5] i32x4 %15 align 4\nstore %3[%5 + 4] i32x4 %16 align 4\n",
    };
    for (int lanes = 24; lanes <= 64; lanes += 20)
        for (size_t k = 0; k < SETT__COUNT(way); k++) {
            char text[2048];
            pair p;
            snprintf(text, sizeof text, HEAD("param A i32 (1000):(1) align 4 read\nparam D i32 (1000):(1) align 4 read write\n") "block %d\n%s%%4 = const i32 8\n%%5 = mul i32 %%0, %%4\n%%7 = const i32 1000\n%s", lanes, IDS, way[k]);
            job j = pair_job(&p, text, 1, (uint32_t)lanes);
            for (int i = 0; i < 1000; i++)
                p.d[i] = i;
            runs(&j);
            for (int i = 0; i < 8 * lanes; i++)
                ck_assert_int_eq(p.d[i], 1000 + (i ^ 4));
        }
}
END_TEST

/* A thread's array in memory's order, written in whole accesses by some lanes and element by element by others. */
START_TEST(test_array_in_memory_order)
{
    pair p;
    job j = pair_job(&p, A_D "block 64\n" IDS
                     "%4 = const i32 8\n%5 = mul i32 %0, %4\n%6 = const i32 40\n%7 = lt i1 %0, %6\n%8 = rmem i32x8\n%9 = const i32 5\n"
                     "%20 = pack i32x4 %9, %9, %9, %9\nstore %8[0] i32x4 %20 align 4\n"
                     "if %7 {\n%10 = load i32x4 %2[%5] align 4\nstore %8[4] i32x4 %10 align 4\n} else {\n"
                     "%11 = load i32 %2[%5 + 1] align 4\nstore %8[5] i32 %11 align 4\nstore %8[7] i32 %0 align 4\n%12 = load i32 %8[7] align 4\n"
                     "store %8[4] i32 %12 align 4\nstore %8[6] i32 %9 align 4\n}\n"
                     "%13 = load i32x8 %8[0] align 4\n%14 = pick i32x4 %13 [4..7]\n%15 = pick i32 %13 [5]\n%16 = pick i32x4 %13 [0..3]\n"
                     "%17 = add i32x4 %14, %16\nstore %3[%5] i32x4 %17 align 4\nstore %3[%5 + 4] i32 %15 align 4\n", 1, 64);
    runs(&j);
    for (int t = 0; t < 64; t++) {
        const int x = t * 8, want[5] = {5 + (t < 40 ? x : t), x + 6, 5 + (t < 40 ? x + 2 : 5), 5 + (t < 40 ? x + 3 : t), x + 1};
        for (int e = 0; e < 5; e++)
            ck_assert_int_eq(p.d[x + e], want[e]);
    }
}
END_TEST

/* Lanes that follow each other do so until their sum wraps. */
START_TEST(test_order_that_wraps)
{
    pair p;
    job j = pair_job(&p, A_D "block 32\n" IDS "%4 = const i32 2147483632\n%6 = add i32 %1, %4\n%7 = add i32 %0, %6\n"
                     "%8 = sub i32 %7, %6\nstore %3[%8] i32 %0 align 4\n"
                     "%11 = load i32 %2[%7 - 2147483632] align 4 @ a.c:3 f\nstore %3[%0] i32 %11 align 4\n", 1, 32);
    faults(&j, "a.c:3: load of A: element -4294967280 of 1000 (byte -17179869120) is outside, block (0,0,0) thread (16,0,0), kernel k");
    for (int t = 0; t < 32; t++)
        ck_assert_int_eq(p.d[t], t);
}
END_TEST

/* Tensors too large for any cache take another way to memory; the last warps' and odd starts' too. */
START_TEST(test_large)
{
    enum { N = (33 << 20) / 4, SKEW = 3 };
    int32_t *a = malloc(((size_t)N + SKEW) * 4), *d = malloc(((size_t)N + SKEW) * 4);
    ck_assert(a && d);
    for (int i = 0; i < N + SKEW; i++)
        a[i] = i * 7;
    for (int skew = 0; skew <= SKEW; skew += SKEW) {
        job j = {.text = HEAD("sym M\nparam A i32 (M):(1) align 4 read\nparam D i32 (M):(1) align 4 write\nblock 128\n")
                     "%0 = tid.x i32\n%1 = bid.x i32\n%2 = param i32 A\n%3 = param i32 D\n%4 = const i32 4\n%5 = mul i32 %0, %4\n%6 = const i32 512\n"
                     "%7 = mul i32 %1, %6\n%8 = add i32 %5, %7\n%9 = load i32x4 %2[%8] align 4\n%10 = add i32x4 %9, %4\nstore %3[%8] i32x4 %10 align 4\n",
                 .grid = {N / 512}, .block = {128}, .data = {a + skew, d + skew}, .bytes = {(size_t)N * 4, (size_t)N * 4}, .n_data = 2, .n_sym = 1,
                 .sym = {N}, .threads = 2};
        memset(d, 0, ((size_t)N + SKEW) * 4);
        runs(&j);
        for (int i = 0; i < N; i++)
            if (d[skew + i] != (i + skew) * 7 + 4)
                ck_assert_int_eq(d[skew + i], (i + skew) * 7 + 4);
    }
    free(a), free(d);
}
END_TEST

/* Values of several elements: views, packs, folds, splats, regrouped bits, arrays of a thread. */
START_TEST(test_elements)
{
    pair p;
    job j = pair_job(&p, A_D "block 32\n" IDS
                     "%4 = const i32 8\n%5 = mul i32 %0, %4\n%6 = load i32x8 %2[%5] align 4\n"
                     "%7 = pick i32x4 %6 [2..5]\n%8 = pick i32x3 %6 [7,0,7]\n%9 = pick i32 %6 [1]\n%10 = pack i32x8 %7, %8, %9\n"
                     "%11 = rmem i32x16\n%12 = const i32 3\nstore %11[4] i32x8 %10 align 4\n%13 = add i32 %0, %12\n%14 = const i32 7\n%15 = and i32 %13, %14\n"
                     "store %11[%15 + 4] i32 %12 align 4\n%16 = load i32x8 %11[4] align 4\n%17 = const i32 0\n%18 = reduce.add i32 %16, %17\n"
                     "%19 = bitcast i16x16 %16\n%20 = pick i16x2 %19 [0,3]\n%21 = bitcast i32 %20\n%22 = bitcast u32x8 %16\n%23 = pick u32 %22 [7]\n%24 = bitcast i32 %23\n"
                     "%25 = pack i32x4 %18, %21, %24, %12\n%26 = const i32 4\n%27 = mul i32 %0, %26\nstore %3[%27] i32x4 %25 align 4\n", 1, 32);
    runs(&j);
    for (int t = 0; t < 32; t++) {
        int x = t * 8, v[8] = {x + 2, x + 3, x + 4, x + 5, x + 7, x, x + 7, x + 1}, sum = 0;
        v[(t + 3) & 7] = 3;
        for (int i = 0; i < 8; i++)
            sum += v[i];
        ck_assert_int_eq(p.d[t * 4], sum);
        ck_assert_int_eq(p.d[t * 4 + 1], (int)((uint32_t)(v[0] & 0xffff) | (uint32_t)v[1] >> 16 << 16));
        ck_assert_int_eq(p.d[t * 4 + 2], v[7]);
        ck_assert_int_eq(p.d[t * 4 + 3], 3);
    }
}
END_TEST

/* Memory that nothing has written is all ones. */
START_TEST(test_poison)
{
    pair p;
    job j = pair_job(&p, A_D "block 32\nsmem 64 align 16\n" IDS "%4 = smem f32x16 at 0\n%5 = load f32 %4[3] align 4\n%6 = bitcast i32 %5\n%7 = rmem i16x2\n%8 = load i16x2 %7[0] align 2\n"
                     "%9 = bitcast i32 %8\n%10 = const i32 -1\n%11 = eq i1 %6, %10\n%12 = eq i1 %9, %10\n%13 = and i1 %11, %12\n%14 = convert i32 %13\n"
                     "store %4[3] f32 %5 align 4\nstore %3[%0] i32 %14 align 4\n%15 = const f32 0.0\nstore %4[3] f32 %15 align 4\n", 2, 32);
    runs(&j);
    ck_assert_int_eq(p.d[0], 1);
    ck_assert_int_eq(p.d[31], 1);
}
END_TEST

START_TEST(test_atomics)
{
    enum { GRID = 300 };
    int32_t word[8] = {0, INT32_MAX, INT32_MIN, -1, 0, 0, 0, 0};
    float sum[2] = {0, 0};
    job j = {.text = "sett tape 2\nparam W i32 (8):(1) align 4 read write\nparam S f32 (2):(1) align 4 read write\nblock 64\nsmem 4 align 4\n"
                     "%0 = tid.x i32\n%1 = bid.x i32\n%2 = const i32 64\n%3 = mul i32 %1, %2\n%4 = add i32 %3, %0\n%5 = param i32 W\n%6 = param f32 S\n"
                     "%10 = const i32 1\n%11 = atom.add i32 %5[0] %10\n%12 = atom.min i32 %5[1] %4\n%13 = atom.max i32 %5[2] %4\n%14 = const i32 -256\n"
                     "%15 = or i32 %4, %14\n%16 = atom.and i32 %5[3] %15\n%17 = atom.or i32 %5[4] %4\n%18 = atom.xor i32 %5[5] %4\n%19 = const f32 0.5\n"
                     "%20 = atom.add f32 %6[0] %19\n%21 = smem i32x1 at 0\n%22 = const i32 0\n%23 = eq i1 %0, %22\nstore %21[0] i32 %22 align 4 pred %23\nbarrier\n"
                     "%24 = atom.add i32 %21[0] %10\nbarrier\n%25 = load i32 %21[0] align 4\n%26 = atom.add i32 %5[6] %25 pred %23\n%27 = atom.xchg i32 %5[7] %10\n",
             .grid = {GRID}, .block = {64}, .data = {word, sum}, .bytes = {sizeof word, sizeof sum}, .n_data = 2, .threads = 4};
    int x = 0;
    for (int i = 0; i < GRID * 64; i++)
        x ^= i;
    runs(&j);
    ck_assert_int_eq(word[0], GRID * 64);
    ck_assert_int_eq(word[1], 0);
    ck_assert_int_eq(word[2], GRID * 64 - 1);
    ck_assert_int_eq(word[3], -256);
    ck_assert_int_eq(word[4], 32767);
    ck_assert_int_eq(word[5], x);
    ck_assert_int_eq(word[6], GRID * 64);
    ck_assert_int_eq(word[7], 1);
    ck_assert_float_eq(sum[0], GRID * 32);
}
END_TEST

/* What is known of a base is known of one warp: here warp 1's lanes follow each other and warp 0's do not, and each waits for the other
 * between two accesses by it. */
START_TEST(test_order_of_each_warp)
{
    static const char *const wait[] = {"cluster.arrive\ncluster.wait\n", "barrier\n"};
    for (size_t k = 0; k < SETT__COUNT(wait); k++)
        for (int plain = 0; plain < 2; plain++) {
            char text[1024];
            pair p;
            snprintf(text, sizeof text, A_D "block 64\n%s%%5 = load i32 %%2[%%0] align 4\n%%6 = load i32 %%2[%%5 + 100] align 4\n%sstore %%3[%%5] i32 %%6 align 4\n", IDS, wait[k]);
            job j = pair_job(&p, text, 1, 64);
            j.plain = plain;
            for (int i = 0; i < 32; i++)
                p.a[i] = i ^ 5;
            runs(&j);
            for (int i = 0; i < 64; i++)
                ck_assert_int_eq(p.d[i], i + 100);
        }
}
END_TEST

/* A store to an array that nothing reads is a fault where it is outside, faster or not. */
START_TEST(test_outside_unread)
{
    for (int plain = 0; plain < 2; plain++) {
        pair p;
        job j = pair_job(&p, A_D "block 32\n" IDS "%4 = rmem i32x8\nstore %4[%0] i32 %0 align 4 @ a.c:5 f\n%5 = rmem i32x1\nstore %5[0] i32 %0 align 4\n%6 = load i32 %5[0] align 4\n"
                         "store %3[%0] i32 %6 align 4\n", 1, 32);
        j.plain = plain;
        faults(&j, "a.c:5: store to a register array: element 8 of 8 (byte 32) is outside, block (0,0,0) thread (8,0,0), kernel k");
    }
}
END_TEST

/* What a volatile load gave stays what it was: others may write there before it is used again. */
START_TEST(test_volatile_is_read_once)
{
    static const char *const how[] = {"", " volatile"};
    for (int k = 0; k < 2; k++) {
        char text[1024];
        sett__tape t = {0};
        sett__program *p;
        sett_error e = {.status = SETT_OK};
        snprintf(text, sizeof text, A_D "block 32\n%s%%4 = load i32 %%2[%%0] align 4%s\n%%5 = const i32 5\n%%6 = add i32 %%4, %%5\n%%7 = mul i32 %%6, %%4\nstore %%3[%%0] i32 %%7 align 4\n", IDS, how[k]);
        parse(&t, text);
        ck_assert_msg(!sett__program_make(&t, false, &p, &e), "%s", e.text);
        ck_assert_uint_eq(p->n_lazy, !k);
        ck_assert_uint_eq(p->n_access, k ? 0 : 2);
        sett__program_free(p);
        sett__tape_free(&t);
    }
}
END_TEST

Suite *sim_memory_suite(void)
{
    Suite *s = suite_create("sim_memory");
    TCase *c = tcase_create("memory");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, test_access_patterns);
    tcase_add_test(c, test_predicates);
    tcase_add_test(c, test_memory_order);
    tcase_add_test(c, test_loads_keep);
    tcase_add_test(c, test_array_in_memory_order);
    tcase_add_test(c, test_order_that_wraps);
    tcase_add_test(c, test_large);
    tcase_add_test(c, test_elements);
    tcase_add_test(c, test_poison);
    tcase_add_test(c, test_atomics);
    tcase_add_test(c, test_order_of_each_warp);
    tcase_add_test(c, test_outside_unread);
    tcase_add_test(c, test_volatile_is_read_once);
    suite_add_tcase(s, c);
    return s;
}
