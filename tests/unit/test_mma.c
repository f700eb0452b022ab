/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices: every row of mma.def, matrices between shared memory and registers, what is refused. */
#include "tests/rig/rig.h"
#include "tests/rig/tapes.h"
#include <check.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* As text has it. */
static const char *type(char buf[24], int dtype, int n)
{
    snprintf(buf, 24, n == 1 ? "%s" : "%sx%d", sett_dtype_name((sett_dtype)dtype), n);
    return buf;
}

#define HEAD \
    "sett tape 2\nparam X u8 (4096):(1) align 16 read\nparam D u8 (4096):(1) align 16 write\nblock 32\nsmem 1024 align 128\n\n" \
    "%0 = tid.x i32\n%1 = param u8 X\n%2 = param u8 D\n"

/* The rows of the operation mma come first. */
static int rows(void)
{
    int n = 0;
    while (n < SETT__N_MMAS && sett__mmas[n].kind == SETT__MMA_WARP)
        n++;
    return n;
}

/* D = A B + C by a row, of what lies in memory. */
static void product(char *text, size_t size, int row)
{
    const sett__mma *x = &sett__mmas[row];
    const int n[3] = {x->m * x->k / 32, x->n * x->k / 32, x->m * x->n / 32}, dtype[3] = {x->a, x->b, x->c};
    char buf[24];
    int at = snprintf(text, size, "%s", HEAD);
    for (int k = 0; k < 3; k++)
        at += snprintf(text + at, size - (size_t)at, "%%%d = load %s %%1[%%0 + %d] align %d\n", 3 + k, type(buf, dtype[k], n[k]), 64 * k,
            sett__dtype_bytes((sett_dtype)dtype[k]));
    at += snprintf(text + at, size - (size_t)at, "%%6 = mma %s %%3, %%4, %%5 row=%s\n", type(buf, x->c, n[2]), sett__mma_word[row]);
    snprintf(text + at, size - (size_t)at, "store %%2[%%0] %s %%6 align %d\n", buf, sett__dtype_bytes((sett_dtype)x->c));
}

START_TEST(every_row)
{
    const sett__mma *x = &sett__mmas[_i];
    const char *word = sett__mma_word[_i], *dot = strchr(word, '.');
    char text[1024], want[128], target[TAPE_TARGETS][16], least[64];
    sett_error err = {0};
    sett__tape t;
    product(text, sizeof text, _i);
    tape_comes_back(text);
    snprintf(want, sizeof want, "CHECK: mma.sync.aligned.%.*s.row.col%s", (int)(dot - word), word, dot);
    ck_assert_msg(!sett__tape_parse(&t, text, &err), "%s", err.text);
    sett_engine *e = have_compiler() ? tapes_engine() : NULL;
    for (int i = 0, n = tape_targets(target); i < n; i++) {
        snprintf(least, sizeof least, "mma needs sm_%s, the target is %.15s", x->targets, target[i]);
        bool has = atoi(target[i] + 3) >= atoi(x->targets), plain = isdigit((unsigned char)target[i][strlen(target[i]) - 1]);
        ck_assert_int_eq(sett__tape_verify(&t, target[i], &err), has ? SETT_OK : SETT_E_TARGET);
        ck_assert_msg(has || (strstr(err.text, least) && strstr(err.text, word)), "%s", err.text);
        if (has && plain && e)
            tape_gives(e, text, target[i], want);
    }
    sett__tape_free(&t);
    if (e)
        sett_engine_close(e);
}
END_TEST

/* A row's layouts name each place of its matrix once. */
START_TEST(layouts_fill_matrices)
{
    const sett__mma *x = &sett__mmas[_i];
    const int size[3] = {x->m * x->k, x->n * x->k, x->m * x->n};
    sett_build *b = sett_build_begin();
    for (int k = 0; k < 3; k++) {
        sett_layout *l = sett_layout_parse(b, x->layout[k]);
        uint8_t seen[16 * 32] = {0};
        ck_assert_int_eq(sett_size(l).u.i, size[k]);
        for (int i = 0; i < size[k]; i++) {
            int64_t at = sett_crd2idx(i, l).u.i;
            ck_assert(at >= 0 && at < size[k] && !seen[at]++);
        }
    }
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* ---- matrices --------------------------------------------------------------------------------- */
static const struct {
    sett_dtype dtype;
    int n;
    bool trans;
} matrices[] = {{SETT_F16, 2, false}, {SETT_F16, 4, false}, {SETT_F16, 8, false}, {SETT_F16, 2, true}, {SETT_BF16, 4, true}, {SETT_I16, 8, true},
    {SETT_I8, 4, false}, {SETT_F8E5M2, 16, false}, {SETT_TF32, 1, false}, {SETT_F32, 4, false}};

START_TEST(matrices_move)
{
    char text[1024], load[96], both[256], buf[24];
    const char *trans = matrices[_i].trans ? " trans" : "", *t = type(buf, matrices[_i].dtype, matrices[_i].n);
    const int bytes = sett__dtype_bytes(matrices[_i].dtype), n = matrices[_i].n * bytes / 4;
    snprintf(load, sizeof load, "CHECK: ldmatrix.sync.aligned.m8n8.x%d%s.shared.b16", n, *trans ? ".trans" : "");
    snprintf(both, sizeof both, "%s\nCHECK: stmatrix.sync.aligned.m8n8.x%d%s.shared.b16", load, n, *trans ? ".trans" : "");
    int at = snprintf(text, sizeof text, "%s%%3 = smem %s at 0\n%%4 = const i32 %d\n%%5 = mul i32 %%0, %%4\n%%6 = ldmatrix %s %%3[%%5 + %d]%s\nstore %%2[%%0] %s %%6 align %d\n",
        HEAD, type((char[24]){0}, matrices[_i].dtype, 1024 / bytes), 16 / bytes, t, 16 / bytes, trans, t, bytes);
    tape_comes_back(text);
    sett_engine *e = have_compiler() ? tapes_engine() : NULL;
    if (e)
        tape_gives(e, text, "sm_75", load);
    snprintf(text + at, sizeof text - (size_t)at, "stmatrix %%3[%%5] %s %%6%s\n", t, trans);
    tape_comes_back(text);
    if (e) {
        tape_gives(e, text, "sm_90a", both);
        sett_engine_close(e);
    }
}
END_TEST

/* ---- between registers, of a thread ------------------------------------------------------------- */
static const struct { const char *lines, *want; } registers[] = {
    {"%3 = load f16x2 %1[%0] align 2\n%4 = movmatrix f16x2 %3\nstore %2[%0] f16x2 %4 align 2\n", "CHECK: movmatrix.sync.aligned.m8n8.trans.b16"},
    {"%3 = load u8x4 %1[%0] align 1\n%4 = movmatrix u8x4 %3\nstore %2[%0] u8x4 %4 align 1\n", "CHECK: movmatrix.sync.aligned.m8n8.trans.b16"},
    {"%3 = load f32 %1[%0] align 4\n%4 = movmatrix f32 %3\nstore %2[%0] f32 %4 align 4\n", "CHECK: movmatrix.sync.aligned.m8n8.trans.b16"},
    {"%3 = load i8x4 %1[%0] align 1\n%4 = load i8x4 %1[%0 + 8] align 1\n%5 = dp4a i32 %3, %4, %0\nstore %2[%0] i32 %5 align 4\n", "CHECK: dp4a.s32.s32"},
    {"%3 = load i8x4 %1[%0] align 1\n%4 = load u8x4 %1[%0 + 8] align 1\n%5 = dp4a i32 %3, %4, %0\nstore %2[%0] i32 %5 align 4\n", "CHECK: dp4a.s32.u32"},
    {"%3 = load u8x4 %1[%0] align 1\n%4 = load i8x4 %1[%0 + 8] align 1\n%5 = dp4a i32 %3, %4, %0\nstore %2[%0] i32 %5 align 4\n", "CHECK: dp4a.u32.s32"},
    {"%3 = load u8x4 %1[%0] align 1\n%4 = load u8x4 %1[%0 + 8] align 1\n%5 = dp4a i32 %3, %4, %0\nstore %2[%0] i32 %5 align 4\n", "CHECK: dp4a.u32.u32"},
};

START_TEST(of_registers)
{
    char text[1024], target[TAPE_TARGETS][16];
    snprintf(text, sizeof text, "%s%s", HEAD, registers[_i].lines);
    tape_comes_back(text);
    sett_engine *e = have_compiler() ? tapes_engine() : NULL;
    for (int i = 0, n = e ? tape_targets(target) : 0; i < n; i++)
        if (atoi(target[i] + 3) >= 75 && isdigit((unsigned char)target[i][strlen(target[i]) - 1]))
            tape_gives(e, text, target[i], registers[_i].want);
    if (e)
        sett_engine_close(e);
}
END_TEST

/* ---- refusals ---------------------------------------------------------------------------------- */
static const wrong_lines wrong[] = {
    {"%20 = mma f32x4 %10, %11, %12", SETT_E_VERIFY, "it needs the attribute row="},
    {"%20 = mma f32x4 %10, %11, %12 row=k99", SETT_E_PARSE, "there is no such row\n"},
    {"%20 = mma f32x4 %10, %11, %12 row=m16n8k16.f32.bf16.b16.f32", SETT_E_PARSE, "there is no such row; did you mean m16n8k16.f32.bf16.bf16.f32?"},
    {"%20 = mma f32x4 %10, %12, %12 row=m16n8k16.f32.f16.f16.f32", SETT_E_SHAPE, "operand 1 is 4 of f32: it needs 4 of f16"},
    {"%20 = mma f32x4 %11, %11, %12 row=m16n8k16.f32.f16.f16.f32", SETT_E_SHAPE, "operand 0 is 4 of f16: it needs 8 of f16"},
    {"%20 = mma f32x4 %10, %11, %12 row=m16n8k16.f32.bf16.bf16.f32", SETT_E_SHAPE, "operand 0 is 8 of f16: it needs 8 of bf16"},
    {"%20 = mma f16x4 %10, %11, %12 row=m16n8k16.f32.f16.f16.f32", SETT_E_VERIFY, "the result must be f32x4"},
    {"%20 = mma f32x4 %3, %11, %12 row=m16n8k16.f32.f16.f16.f32", SETT_E_SPACE, "operand 0 is not a value"},
    {"%20 = mma f32x4 %10, %11 row=m16n8k16.f32.f16.f16.f32", SETT_E_PARSE, "expected ,"},
    {"%20 = ldmatrix f16x8 %1[%0]", SETT_E_SPACE, "operand 0 is not shared memory"},
    {"%20 = ldmatrix f16x6 %3[%0]", SETT_E_SHAPE, "12 bytes a thread: 1, 2 or 4 matrices are 4, 8 or 16"},
    {"%20 = ldmatrix f64x2 %3[%0]", SETT_E_DTYPE, "elements of 8, 16 or 32 bits, not f64"},
    {"%20 = ldmatrix i1x4 %3[%0]", SETT_E_DTYPE, "elements of 8, 16 or 32 bits, not i1"},
    {"%20 = ldmatrix i8x16 %3[%0] trans", SETT_E_DTYPE, "only elements of 16 bits are transposed, not i8"},
    {"%20 = ldmatrix f16x8 %4[%0]", SETT_E_ALIGN, "is aligned to 8 bytes, and the access needs 16"},
    {"%20 = ldmatrix f16x8 %3[4]", SETT_E_ALIGN, "offset 4 is not aligned to 16 bytes"},
    {"%20 = ldmatrix f16x8 %3[128]", SETT_E_RANGE, "elements 128 to 135 are not in %3"},
    {"%20 = ldmatrix f16x8 %3[%10]", SETT_E_DTYPE, "the offset must be one i32 or i64"},
    {"stmatrix %3[%0] f32x8 %13", SETT_E_SHAPE, "32 bytes a thread"},
    {"%20 = movmatrix f16x4 %11", SETT_E_SHAPE, "operand 0 is 4 of f16: it needs 4 bytes, of elements of 8, 16 or 32 bits"},
    {"%20 = pick f16x2 %11[0, 1]\n%21 = movmatrix f16x4 %20", SETT_E_VERIFY, "the result must be f16x2"},
    {"%20 = movmatrix f16x2 %3", SETT_E_SPACE, "operand 0 is not a value"},
    {"%20 = bitcast i8x16 %10\n%21 = dp4a i32 %20, %20, %0", SETT_E_SHAPE, "operand 0 is 16 of i8: it needs 4 of i8 or u8"},
    {"%20 = load u8x4 %1[%0] align 1\n%21 = dp4a i32 %20, %12, %0", SETT_E_SHAPE, "operand 1 is 4 of f32: it needs 4 of i8 or u8"},
    {"%20 = load u8x4 %1[%0] align 1\n%21 = dp4a i32 %20, %20, %12", SETT_E_SHAPE, "operand 2 is 4 of f32: it needs one i32"},
    {"%20 = load u8x4 %1[%0] align 1\n%21 = dp4a u32 %20, %20, %0", SETT_E_VERIFY, "the result must be i32"},
    {"stmatrix %3[%0] %3", SETT_E_SPACE, "operand 2 is not a value"},
    {"stmatrix %3[%0] f16x4 %10", SETT_E_PARSE, "the value is not of this type"},
    {"%20 = stmatrix f16x8 %3[%0] %10", SETT_E_PARSE, "stmatrix has no result"},
};

START_TEST(wrong_tapes)
{
    char text[1024];
    snprintf(text, sizeof text, "%s%%3 = smem f16x128 at 0\n%%4 = smem f16x128 at 264\n%%10 = load f16x8 %%1[%%0] align 2\n%%11 = load f16x4 %%1[%%0] align 2\n"
        "%%12 = load f32x4 %%1[%%0] align 4\n%%13 = load f32x8 %%1[%%0] align 4\n%s\n", HEAD, wrong[_i].lines);
    lines_refused(text, &wrong[_i]);
}
END_TEST

/* The last warp of a block of 48 has 16 lanes: what mma would give there is undefined. */
START_TEST(warps_are_whole)
{
    static const char *const lines[] = {"%20 = load f16x2 %1[%0] align 2\n%21 = movmatrix f16x2 %20", "%20 = ldmatrix f16x2 %3[0]", "%20 = load f16x2 %1[%0] align 2\nstmatrix %3[0] f16x2 %20",
        "%20 = load f16x8 %1[%0] align 2\n%21 = load f16x4 %1[%0] align 2\n%22 = load f32x4 %1[%0] align 4\n%23 = mma f32x4 %20, %21, %22 row=m16n8k16.f32.f16.f16.f32"};
    char text[1024], *block;
    snprintf(text, sizeof text, "%s%%3 = smem f16x128 at 0\n%s\n", HEAD, lines[_i]);
    ck_assert_ptr_nonnull(block = strstr(text, "block 32"));
    tape_comes_back(text);
    memcpy(block, "block 48", 8);
    tape_refused(text, SETT_E_VERIFY, "it is of whole warps, and a block has 48 threads, no multiple of 32");
    memcpy(block, "block 31", 8);
    tape_refused(text, SETT_E_VERIFY, "it is of 32 threads, and a block has 31");
}
END_TEST

Suite *mma_suite(void)
{
    Suite *s = suite_create("mma");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, every_row, 0, rows());
    tcase_add_loop_test(t, layouts_fill_matrices, 0, rows());
    tcase_add_loop_test(t, matrices_move, 0, (int)SETT__COUNT(matrices));
    tcase_add_loop_test(t, wrong_tapes, 0, (int)SETT__COUNT(wrong));
    tcase_add_loop_test(t, of_registers, 0, (int)SETT__COUNT(registers));
    tcase_add_loop_test(t, warps_are_whole, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
