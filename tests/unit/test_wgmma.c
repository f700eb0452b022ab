/* SPDX-License-Identifier: Apache-2.0 */
/* Products of a warp group: every row of mma.def with every n, what each lowers to, the state of roots in flight, what is refused. */
#include "tests/rig/rig.h"
#include "tests/rig/tapes.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

#define HEAD \
    "sett tape 2\nparam X u8 (4096):(1) align 16 read\nparam D u8 (4096):(1) align 16 write\nblock 128\nsmem 32768 align 1024\n\n" \
    "%0 = tid.x i32\n%1 = param u8 X\n%2 = param u8 D\n%3 = smem u8x32768 at 0\n%4 = const i1 true\n%5 = const i1 false\n" \
    "%6 = desc u64 %3[0] swizzle=128 stride=1024\n"

static int first_row(void)
{
    int i = 0;
    while (sett__mmas[i].kind != SETT__MMA_GROUP)
        i++;
    return i;
}

/* One product by a row, with A from registers or not, and what is behind; its operands' sizes by PTX's tables. */
static void product(char *text, size_t size, int row, int n, bool in_registers, const char *more)
{
    const sett__mma *x = &sett__mmas[row];
    char fence[16] = "";
    int at = snprintf(text, size, "%s%%10 = rmem %sx%d\n", HEAD, sett_dtype_name((sett_dtype)x->c), n / 2);
    if (in_registers) { /* 16 bytes a thread */
        at += snprintf(text + at, size - (size_t)at, "%%11 = rmem %sx%d\n", sett_dtype_name((sett_dtype)x->a), 16 / sett__dtype_bytes((sett_dtype)x->a));
        snprintf(fence, sizeof fence, ", %%11");
    }
    at += snprintf(text + at, size - (size_t)at, "wgmma.fence %%10%s\nwgmma %%10, %s, %%6, %%5 row=%s n=%d%s\nwgmma.commit\nwgmma.wait %%10%s pending=0\n",
        fence, in_registers ? "%11" : "%6", sett__mma_word[row], n, more, fence);
    snprintf(text + at, size - (size_t)at, "%%20 = load %s %%10[0] align 4\nstore %%2[%%0] %%20 align 1\n", sett_dtype_name((sett_dtype)x->c));
}

START_TEST(every_row)
{
    const sett__mma *x = &sett__mmas[_i];
    const char *word = sett__mma_word[_i], *n = strchr(word, 'N');
    char text[2048], want[256], why[160], target[TAPE_TARGETS][16];
    sett_error err = {0};
    sett__tape t;
    sett_engine *e = have_compiler() ? tapes_engine() : NULL;
    const bool wide = sett__dtype_bytes((sett_dtype)x->a) != 2;
    for (int i = 0; i < 4; i++) {
        int columns = i & 1 ? 64 : 8;
        const char *trans = wide ? "" : i & 2 ? ", 0" : ", 0, 0";
        product(text, sizeof text, _i, columns, i & 2, "");
        tape_comes_back(text);
        snprintf(want, sizeof want, "CHECK: wgmma.fence.sync.aligned;\nCHECK: wgmma.mma_async.sync.aligned.%.*s%d%s {{{*}}}, %s{{*}}, 0%s%s;\nCHECK: wgmma.commit_group\n"
            "CHECK: wgmma.wait_group.sync.aligned 0;", (int)(n - word), word, columns, n + 1, i & 2 ? "{" : "", x->model == SETT__MMA_INT ? "" : ", 1, 1", trans);
        if (e)
            tape_gives(e, text, "sm_90a", want);
    }
    ck_assert_msg(!sett__tape_parse(&t, text, &err), "%s", err.text);
    sett__tape one = t; /* the product alone: its fence, which comes first, is refused as well */
    while (one.op->code != SETT__WGMMA)
        one.op++;
    one.n_op = 1;
    for (int i = 0, targets = tape_targets(target); i < targets; i++) {
        if (!strcmp(target[i], "sm_90a"))
            continue;
        snprintf(why, sizeof why, "wgmma needs sm_90a, the target is %.15s", target[i]);
        ck_assert_int_eq(sett__tape_fits(&one, target[i], &err), SETT_E_TARGET);
        ck_assert_msg(strstr(err.text, why) && strstr(err.text, word), "%s", err.text);
        ck_assert_int_eq(sett__tape_verify(&t, target[i], &err), SETT_E_TARGET);
        ck_assert_msg(strstr(err.text, "wgmma.fence needs sm_90a"), "%s", err.text);
    }
    sett__tape_free(&t);
    if (e)
        sett_engine_close(e);
}
END_TEST

/* PTX's tables of n: multiples of 8; of integers those that the manual lists. */
START_TEST(every_n)
{
    static const int ints[] = {8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240, 256};
    char text[2048];
    sett_error err = {0};
    sett__tape t;
    for (int n = 8; n <= 256; n += 4) {
        bool has = n % 8 == 0;
        if (sett__mmas[_i].c == SETT_I32) {
            has = false;
            for (size_t k = 0; k < SETT__COUNT(ints); k++)
                has |= ints[k] == n;
        }
        product(text, sizeof text, _i, n, false, "");
        sett_status s = sett__tape_parse(&t, text, &err);
        ck_assert_msg(s == (has ? SETT_OK : SETT_E_RANGE), "n %d: %s", n, err.text);
        if (has)
            sett__tape_free(&t);
        else
            ck_assert_msg(strstr(err.text, sett__mma_word[_i]) && strstr(err.text, "up to 256"), "%s", err.text);
    }
}
END_TEST

/* What a text has after its flags, and of what. */
static const struct {
    const char *row, *flags, *end;
    bool in_registers;
} flags[] = {
    {"m64nNk16.f32.bf16.bf16", " trans_a", ", 0, 1, 1, 1, 0;", false},
    {"m64nNk16.f32.f16.f16", " trans_b", ", 0, 1, 1, 0, 1;", false},
    {"m64nNk16.f16.f16.f16", " trans_b neg_a", ", 0, -1, 1, 1;", true},
    {"m64nNk8.f32.tf32.tf32", " neg_b", ", 0, 1, -1;", false},
    {"m64nNk32.f16.e5m2.e4m3", " neg_a neg_b", ", 0, -1, -1;", true},
    {"m64nNk32.s32.u8.s8", "", ", 0;", true},
};

START_TEST(flags_are_said)
{
    char text[2048], want[160];
    int row = first_row();
    while (strcmp(sett__mma_word[row], flags[_i].row))
        row++;
    product(text, sizeof text, row, 32, flags[_i].in_registers, flags[_i].flags);
    tape_comes_back(text);
    if (!have_compiler())
        return;
    snprintf(want, sizeof want, "CHECK: wgmma.mma_async.sync{{*}}%s", flags[_i].end);
    sett_engine *e = tapes_engine();
    tape_gives(e, text, "sm_90a", want);
    sett_engine_close(e);
}
END_TEST

/* ---- descriptors and fences --------------------------------------------------------------------- */
/* The bits of a descriptor that is constant but for its address, and which fences are one piece of assembly with the product behind:
 * those of all its registers, and of no others. Else loads and stores of the rest could move across. */
static const struct {
    const char *lines, *checks;
} spelled[] = {
    {"%10 = desc u64 %3[0] stride=16\nstore %2[0] %10 align 16", "CHECK: or.b64 {{*}}, 4295032832;"},
    {"%10 = desc u64 %3[0] lead=32 stride=262128\nstore %2[0] %10 align 16", "CHECK: or.b64 {{*}}, 70364449341440;"},
    {"%10 = desc u64 %3[0] swizzle=32 lead=262128 stride=256\nstore %2[0] %10 align 16", "CHECK: or.b64 {{*}}, -4611685948634234880;"},
    {"%10 = desc u64 %3[0] swizzle=64 stride=512\nstore %2[0] %10 align 16", "CHECK: or.b64 {{*}}, -9223371899415756800;"},
    {"%10 = rmem f32x16\nwgmma.fence %10\nwgmma %10, %6, %6, %5 row=m64nNk16.f32.f16.f16 n=32\nwgmma.commit\nwgmma.wait %10 pending=0",
        "CHECK: wgmma.fence\nNOT: end inline asm\nCHECK: wgmma.mma_async"},
    {"%10 = rmem f32x32\nwgmma.fence %10\nwgmma %10, %6, %6, %5 row=m64nNk16.f32.f16.f16 n=32\nwgmma.commit\nwgmma.wait %10 pending=0",
        "CHECK: wgmma.fence\nCHECK: end inline asm\nCHECK: wgmma.mma_async"},
    {"%10 = rmem f32x16\n%11 = rmem f32x16\nwgmma.fence %10\nwgmma.fence %11\nwgmma %10, %6, %6, %5 row=m64nNk16.f32.f16.f16 n=32\nwgmma.commit\n"
     "wgmma.wait %10 pending=0", "CHECK: wgmma.fence\nCHECK: end inline asm\nCHECK: wgmma.fence\nCHECK: end inline asm\nCHECK: wgmma.mma_async"},
    {"%10 = rmem f32x32\nwgmma.fence %10\nwgmma %10, %6, %6, %5 row=m64nNk16.f32.f16.f16 n=32\nwgmma %10, %6, %6, %4 row=m64nNk16.f32.f16.f16 n=32 acc_at=16\n"
     "wgmma.commit\nwgmma.wait %10 pending=0", "CHECK: wgmma.mma_async\nCHECK: end inline asm\nCHECK: wgmma.mma_async"},
    {"%10 = rmem f32x16\nwgmma.fence %10\nwgmma %10, %6, %6, %4 row=m64nNk16.f32.f16.f16 n=32\nwgmma %10, %6, %6, %5 row=m64nNk16.f32.f16.f16 n=32\n"
     "wgmma.commit\nwgmma.wait %10 pending=0", "CHECK: wgmma.mma_async{{*}}, 1, 1, 1, 0, 0;\nCHECK: end inline asm\nCHECK: wgmma.mma_async{{*}}, 0, 1, 1, 0, 0;"},
};

START_TEST(pieces_of_assembly)
{
    char text[2048];
    snprintf(text, sizeof text, "%s%s\n", HEAD, spelled[_i].lines);
    tape_comes_back(text);
    if (!have_compiler())
        return;
    sett_engine *e = tapes_engine();
    tape_gives(e, text, "sm_90a", spelled[_i].checks);
    sett_engine_close(e);
}
END_TEST

/* "N" of a layout as n / 8, n 256. */
START_TEST(layouts_fill_matrices)
{
    const sett__mma *x = &sett__mmas[_i];
    const int size[3] = {x->m * x->k, 0, x->m * 256};
    sett_build *b = sett_build_begin();
    for (int k = 0; k < 3; k += 2) {
        char text[96];
        uint8_t seen[64 * 256] = {0};
        const char *n = strchr(x->layout[k], 'N');
        if (n)
            snprintf(text, sizeof text, "%.*s32%s", (int)(n - x->layout[k]), x->layout[k], n + 1);
        sett_layout *l = sett_layout_parse(b, n ? text : x->layout[k]);
        ck_assert_int_eq(sett_size(l).u.i, size[k]);
        for (int i = 0; i < size[k]; i++) {
            int64_t at = sett_crd2idx(i, l).u.i;
            ck_assert(at >= 0 && at < size[k] && !seen[at]++);
        }
    }
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* ---- refusals, and what is none ------------------------------------------------------------------ */
#define STATE \
    HEAD "%7 = const u64 2\n%8 = const i32 4\n%9 = const i32 0\n%10 = rmem f32x32\n%11 = rmem bf16x32\n%12 = rmem f32x32\n%13 = load f32x32 %1[%0] align 1\n" \
    "%14 = load bf16x32 %1[%0] align 1\n%15 = lt i1 %0, %8\n%16 = rmem f64x4\n%17 = rmem f16x33\n%18 = rmem i8x64\n%19 = rmem f32x128\n"
#define BF16 " row=m64nNk16.f32.bf16.bf16 n=64"
#define READ "%50 = load f32x32 %10[0] align 16\n"

static const wrong_lines wrong[] = {
    /* of each operation */
    {"wgmma %10, %6, %6, %4", SETT_E_VERIFY, "it needs the attribute row="},
    {"wgmma %10, %6, %6, %4 row=m64nNk16.f32.bf16.bf16", SETT_E_VERIFY, "it needs the attribute n="},
    {"wgmma %10, %6, %6, %4 row=m16n8k16.f32.bf16.bf16.f32 n=64", SETT_E_VERIFY, "m16n8k16.f32.bf16.bf16.f32 is of mma"},
    {"wgmma %10, %6, %6, %4 row=m64nNk32.s32.s8.s8 n=40", SETT_E_RANGE, "n 40: m64nNk32.s32.s8.s8 has 8, 16, 24, 32, and multiples of 16"},
    {"wgmma %10, %6, %6, %4 row=m64nNk16.f32.bf16.bf16 n=60", SETT_E_RANGE, "n 60: m64nNk16.f32.bf16.bf16 has multiples of 8, up to 256"},
    {"wgmma %10, %6, %6, %4 row=m64nNk16.f32.bf16.bf16 n=264", SETT_E_RANGE, "n 264 is not 8 to 256"},
    {"wgmma %10, %6, %6, %4 row=m64nNk16.f32.bf16.bf16 n=72", SETT_E_RANGE, "the accumulator is 36 elements: elements 0 to 35 are not in %10"},
    {"wgmma %10, %6, %6, %4" BF16 " acc_at=4", SETT_E_RANGE, "elements 4 to 35 are not in %10"},
    {"wgmma %10, %11, %6, %4" BF16 " a_at=25", SETT_E_ALIGN, "A begins at element 25, not with a register"},
    {"wgmma %10, %11, %6, %4" BF16 " a_at=26", SETT_E_RANGE, "A is 8 elements: elements 26 to 33 are not in %11"},
    {"wgmma %10, %6, %6, %4" BF16 " a_at=8", SETT_E_VERIFY, "a_at is of A in registers"},
    {"wgmma %11, %6, %6, %4" BF16, SETT_E_DTYPE, "the accumulator is of f32, and %11 of bf16"},
    {"wgmma %10, %12, %6, %4" BF16, SETT_E_DTYPE, "A is of bf16, and %12 of f32"},
    {"wgmma %10, %10, %6, %4" BF16, SETT_E_DTYPE, "A is of bf16"},
    {"wgmma %3, %6, %6, %4" BF16, SETT_E_SPACE, "operand 0 is not registers"},
    {"wgmma %10, %3, %6, %4" BF16, SETT_E_SPACE, "operand 1 is not registers or one u64"},
    {"wgmma %10, %6, %11, %4" BF16, SETT_E_SPACE, "operand 2 is not one u64"},
    {"wgmma %10, %6, %8, %4" BF16, SETT_E_DTYPE, "operand 2 is 1 of i32: it must be one u64"},
    {"wgmma %10, %6, %6, %8" BF16, SETT_E_DTYPE, "operand 3 is 1 of i32: it must be one i1"},
    {"wgmma %10, %6, %6" BF16, SETT_E_PARSE, "expected ,"},
    {"wgmma %10, %11, %6, %4" BF16 " trans_a", SETT_E_VERIFY, "A in registers is not transposed"},
    {"wgmma %10, %6, %6, %4 row=m64nNk8.f32.tf32.tf32 n=64 trans_b", SETT_E_DTYPE, "only matrices of 16 bits are transposed, not tf32"},
    {"%30 = rmem i32x32\nwgmma %30, %6, %6, %4 row=m64nNk32.s32.s8.s8 n=64 neg_a", SETT_E_DTYPE, "only floats are negated"},
    {"%30 = rmem i32x32\nwgmma %30, %6, %6, %4 row=m64nNk32.s32.s8.s8 n=64 neg_b", SETT_E_DTYPE, "only floats are negated"},
    {"%30 = rmem f16x32\nwgmma.fence %30\nwgmma %30, %30, %6, %5 row=m64nNk16.f16.f16.f16 n=64", SETT_E_VERIFY, "the accumulator is A too"},
    {"%30 = mma f32x4 %13, %13, %13 row=m64nNk16.f32.bf16.bf16", SETT_E_VERIFY, "m64nNk16.f32.bf16.bf16 is of wgmma"},
    {"wgmma.fence", SETT_E_PARSE, "expected %"},
    {"wgmma.fence %10, %10", SETT_E_VERIFY, "%10 is named twice"},
    {"wgmma.fence %3", SETT_E_SPACE, "operand 0 is not registers"},
    {"wgmma.fence %16", SETT_E_DTYPE, "%16 is 4 of f64: wgmma takes registers of 32 bits"},
    {"wgmma.wait %17 pending=0", SETT_E_DTYPE, "%17 is 33 of f16: wgmma takes registers of 32 bits"},
    {"wgmma.wait %10", SETT_E_VERIFY, "it needs the attribute pending="},
    {"%30 = rmem f32x256\nwgmma.fence %30", SETT_E_LIMIT, "%20 is 256 registers: a thread has 255"},
    {"%30 = rmem f32x128\nwgmma.fence %19, %30", SETT_E_LIMIT, "it names more than 255 registers, which a thread has"},
    {"wgmma.wait pending=8", SETT_E_RANGE, "pending 8 is not 0 to 7"},
    {"wgmma.commit %10", SETT_E_PARSE, "the line should end here"},
    {"%30 = desc u64 %3[8] stride=1024", SETT_E_ALIGN, "offset 8 is not aligned to 16 bytes"},
    {"%30 = desc u64 %3[0] stride=8", SETT_E_ALIGN, "lead and stride are multiples of 16 bytes"},
    {"%30 = desc u64 %3[0] lead=8 stride=1024", SETT_E_ALIGN, "lead and stride are multiples of 16 bytes"},
    {"%30 = desc u64 %3[0] stride=262144", SETT_E_RANGE, "stride 262144 is not 0 to 262128"},
    {"%30 = desc u64 %3[0]", SETT_E_VERIFY, "it needs the attribute stride="},
    {"%30 = smem f16x64 at 512\n%31 = desc u64 %30[0] swizzle=128 stride=1024", SETT_E_ALIGN, "%20 is aligned to 512 bytes: swizzle=128 needs 1024"},
    {"%30 = smem f16x64 at 256\n%31 = desc u64 %30[0] swizzle=64 stride=512", SETT_E_ALIGN, "is aligned to 256 bytes: swizzle=64 needs 512"},
    {"%30 = desc u64 %3[32768] stride=1024", SETT_E_RANGE, "are not in %3"},
    {"%30 = smem f16x64 at 0\n%31 = desc u64 %30[8] stride=16", SETT_E_RANGE, "elements 8 to 71 are not in %"},
    {"%30 = smem f16x504 at 0\n%31 = desc u64 %30[64] swizzle=128 stride=1024", SETT_E_RANGE, "elements 64 to 519 are not in %"},
    {"%30 = desc u64 %1[0] stride=1024", SETT_E_SPACE, "operand 0 is not shared memory"},
    {"%30 = desc i64 %3[0] stride=1024", SETT_E_VERIFY, "the result must be u64"},
    /* of roots in flight; a line has a site, so that both are named */
    {"wgmma %10, %6, %6, %5" BF16 " @ g.c:5 f\n", SETT_E_VERIFY, "it needs wgmma.fence %10: none has named it yet, made at line "},
    {"wgmma.fence %10\nstore %10[0] %13 align 4 @ g.c:4 f\nwgmma %10, %6, %6, %4" BF16 " @ g.c:5 f", SETT_E_VERIFY,
        "it needs wgmma.fence %10, which g.c:4 used since the last"},
    {"wgmma.fence %10\nwgmma %10, %11, %6, %4" BF16, SETT_E_VERIFY, "it needs wgmma.fence %11: none has named it yet"},
    {"wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 " @ g.c:41 f\n" READ, SETT_E_VERIFY,
        "%10 is in flight since g.c:41, which no wgmma.commit follows: wgmma.wait must name it before it is read or written"},
    {"wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 " @ g.c:41 f\nwgmma.commit\nwgmma.wait pending=0\n%50 = load f32x32 %10[0] align 16 @ g.c:44 f", SETT_E_VERIFY,
        "g.c:44: op 24 `%24 = load f32x32 %10[0] align 16`: %10 is in flight since g.c:41: wgmma.wait must name it"},
    {"wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 "\nwgmma.commit\nstore %10[0] %13 align 4", SETT_E_VERIFY, "%10 is in flight since line "},
    {"wgmma.fence %10, %11\nwgmma %10, %11, %6, %5" BF16 " @ g.c:9 f\nwgmma.commit\nwgmma.wait %10 pending=0\nstore %11[0] %14 align 2", SETT_E_VERIFY,
        "%11 is A of a wgmma in flight since g.c:9: wgmma.wait must name it before it is read or written"},
    {"wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 "\nwgmma.commit\nwgmma.wait %10 pending=1", SETT_E_VERIFY,
        "it may be of a group that is still pending: let fewer be"},
    {"wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 "\nwgmma.wait %10 pending=0", SETT_E_VERIFY, "a wait is for groups that are committed"},
    {"wgmma.fence %10, %12\nwgmma %10, %6, %6, %5" BF16 "\nwgmma.commit\nwgmma %12, %6, %6, %5" BF16 " @ g.c:7 f\nwgmma.commit\nwgmma.wait %10, %12 pending=1",
        SETT_E_VERIFY, "%12 is in flight since g.c:7: it may be of a group that is still pending"},
    {"wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 " @ g.c:3 f\nwgmma.commit", SETT_E_VERIFY, "the kernel ends while %10 is in flight: wgmma.wait must name it"},
    {"wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 "\nwgmma %10, %6, %6, %4 row=m64nNk16.f32.bf16.bf16 n=32", SETT_E_VERIFY,
        "an accumulator of another shape, or of other registers"},
    {"wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 "\nwgmma %10, %6, %6, %4 row=m64nNk8.f32.tf32.tf32 n=64", SETT_E_VERIFY, "an accumulator of another shape"},
    {"wgmma.fence %19\nwgmma %19, %6, %6, %5" BF16 "\nwgmma %19, %6, %6, %4" BF16 " acc_at=16", SETT_E_VERIFY, "an accumulator of another shape, or of other registers"},
    {"wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 "\nwgmma.commit\nwgmma.wait %10 pending=0\nwgmma %10, %6, %6, %4 row=m64nNk16.f32.bf16.bf16 n=32", SETT_E_VERIFY,
        "it needs wgmma.fence %10, which line "},
    {"%30 = rmem bf16x8\n%31 = rmem f16x32\nwgmma.fence %31\nwgmma %31, %6, %6, %5 row=m64nNk16.f16.f16.f16 n=64\nwgmma.fence %10, %31\nwgmma %10, %31, %6, %5 row=m64nNk16.f32.f16.f16 n=64",
        SETT_E_VERIFY, "wgmma.wait must name it before it is A"},
    {"%31 = rmem f16x32\nwgmma.fence %31\nwgmma %31, %6, %6, %5 row=m64nNk16.f16.f16.f16 n=64 @ g.c:2 f\nwgmma.commit\nwgmma.wait %31 pending=0\nwgmma.fence %10\n"
     "wgmma %10, %31, %6, %5 row=m64nNk16.f32.f16.f16 n=64", SETT_E_VERIFY, "which g.c:2 used since the last"},
    {"%31 = rmem f16x32\nwgmma.fence %10, %31\nwgmma %10, %31, %6, %5 row=m64nNk16.f32.f16.f16 n=64\nwgmma %31, %6, %6, %5 row=m64nNk16.f16.f16.f16 n=64",
        SETT_E_VERIFY, "wgmma.wait must name it before it is an accumulator"},
    /* joined: over an arm, over a loop's end, out of a loop */
    {"wgmma.fence %10\nif %15 {\n    wgmma %10, %6, %6, %5" BF16 " @ g.c:7 f\n    wgmma.commit\n}\n" READ, SETT_E_VERIFY, "%10 is in flight since g.c:7"},
    {"wgmma.fence %10\nif %15 {\n    wgmma.commit\n} else {\n    wgmma %10, %6, %6, %5" BF16 " @ g.c:7 f\n}\nwgmma.commit\nwgmma.wait %10 pending=1", SETT_E_VERIFY,
        "it may be of a group that is still pending"},
    {"wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 " @ g.c:3 f\nwgmma.commit\nwgmma.wait %10 pending=0\nif %15 {\n    wgmma %10, %6, %6, %4" BF16
     " @ g.c:7 f\n} else {\n    wgmma.commit\n}\n" READ, SETT_E_VERIFY, "%10 is in flight since g.c:7"},
    {"wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 "\nif %15 {\n    wgmma.commit\n} else {\n    wgmma.commit\n    wgmma.commit\n}\nwgmma.wait %10 pending=1", SETT_E_VERIFY,
        "it may be of a group that is still pending"},
    {"wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 "\nif %15 {\n    wgmma.commit\n    wgmma.commit\n} else {\n    wgmma.commit\n}\nwgmma.wait %10 pending=1", SETT_E_VERIFY,
        "it may be of a group that is still pending"},
    {"wgmma.fence %10\nif %15 {\n    wgmma %10, %6, %6, %5" BF16 "\n} else {\n    wgmma %10, %6, %6, %5 row=m64nNk16.f32.bf16.bf16 n=32\n}\nwgmma %10, %6, %6, %4" BF16, SETT_E_VERIFY,
        "an accumulator of another shape"},
    {"wgmma.fence %10\nif %15 {\n    wgmma %10, %6, %6, %5 row=m64nNk16.f32.bf16.bf16 n=32\n} else {\n    wgmma %10, %6, %6, %5" BF16 "\n}\nwgmma %10, %6, %6, %4" BF16, SETT_E_VERIFY,
        "an accumulator of another shape"},
    {"%31 = rmem f16x32\nwgmma.fence %10, %31\nif %15 {\n    wgmma %31, %6, %6, %5 row=m64nNk16.f16.f16.f16 n=64\n} else {\n    wgmma %10, %31, %6, %5 row=m64nNk16.f32.f16.f16 n=64\n}\n"
     "wgmma %31, %6, %6, %4 row=m64nNk16.f16.f16.f16 n=64", SETT_E_VERIFY, "an accumulator of another shape"},
    {"wgmma.fence %10\nif %15 {\n    store %10[0] %13 align 4 @ g.c:6 f\n}\nwgmma %10, %6, %6, %4" BF16, SETT_E_VERIFY, "which g.c:6 used since the last"},
    {"for %30 = %9 to %8 step %8 {\n    %40 = load f32 %10[0] align 4\n    wgmma.fence %10\n    wgmma %10, %6, %6, %5" BF16 " @ g.c:8 f\n    wgmma.commit\n}\nwgmma.wait %10 pending=0",
        SETT_E_VERIFY, "load f32 %10[0] align 4`: %10 is in flight since g.c:8"},
    {"wgmma.fence %10\nfor %30 = %9 to %8 step %8 {\n    wgmma %10, %6, %6, %5" BF16 "\n    wgmma.commit\n    wgmma.wait %10 pending=0\n    store %10[0] %13 align 4 @ g.c:9 f\n}",
        SETT_E_VERIFY, "which g.c:9 used since the last"},
    {"loop {\n    wgmma.fence %10\n    wgmma %10, %6, %6, %5" BF16 " @ g.c:8 f\n    wgmma.commit\n    while %15\n    wgmma.wait %10 pending=0\n}", SETT_E_VERIFY,
        "the kernel ends while %10 is in flight"},
    {"wgmma.fence %10\nfor %30 = %9 to %8 step %8 {\n    wgmma.wait %10 pending=1\n    wgmma %10, %6, %6, %5" BF16 " @ g.c:8 f\n    wgmma.commit\n}\nwgmma.wait %10 pending=0", SETT_E_VERIFY,
        "%10 is in flight since g.c:8: it may be of a group that is still pending"},
    {"wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 "\nwgmma.commit\nwgmma.commit\nfor %30 = %9 to %8 step %8 {\n    wgmma.wait %10 pending=1\n    wgmma %10, %6, %6, %4" BF16
     " @ g.c:8 f\n    wgmma.commit\n}\nwgmma.wait %10 pending=0", SETT_E_VERIFY, "it may be of a group that is still pending"},
    {"wgmma.fence %10\nfor %30 = %9 to %8 step %8 {\n    for %31 = %9 to %8 step %8 {\n        wgmma %10, %6, %6, %5" BF16 " @ g.c:8 f\n    }\n    wgmma.commit\n    store %10[0] %13 align 4\n}", SETT_E_VERIFY,
        "%10 is in flight since g.c:8"},
    /* what would take registers to memory */
    {"wgmma.fence %10\n%30 = load f32 %10[%9] align 4", SETT_E_VERIFY, "%10 is a root that wgmma holds in registers: it has constant offsets"},
    {"wgmma.fence %10\n%30 = load f32 %10[0] align 4 volatile", SETT_E_VERIFY, "nothing is volatile"},
};

START_TEST(wrong_tapes)
{
    char text[4096];
    snprintf(text, sizeof text, "%s%s\n", STATE, wrong[_i].lines);
    lines_refused(text, &wrong[_i]);
}
END_TEST

static const char *const right[] = {
    /* a chain of one shape needs one fence, and a wait between needs none */
    "wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 "\nwgmma %10, %6, %6, %4" BF16 "\nwgmma.commit\nwgmma.wait %10 pending=0\nwgmma %10, %6, %6, %4" BF16
    "\nwgmma.commit\nwgmma.wait %10 pending=0\n" READ,
    /* an older group is read while a younger one is in flight */
    "wgmma.fence %10, %12\nwgmma %10, %6, %6, %5" BF16 "\nwgmma.commit\nwgmma %12, %6, %6, %5" BF16 "\nwgmma.commit\nwgmma.wait %10 pending=1\n" READ "wgmma.wait %12 pending=0",
    /* two accumulators of one root; A twice */
    "wgmma.fence %19, %11\nwgmma %19, %11, %6, %5" BF16 "\nwgmma %19, %11, %6, %5" BF16 " acc_at=32 a_at=8\nwgmma.commit\nwgmma.wait %11, %19 pending=0\nstore %11[0] %14 align 2",
    /* in flight over a loop's end, and idle before it */
    "for %30 = %9 to %8 step %8 {\n    wgmma.fence %10\n    wgmma %10, %6, %6, %5" BF16 "\n    wgmma.commit\n    wgmma.wait pending=1\n}\nwgmma.wait %10 pending=0\n" READ,
    /* an age that both arms reach */
    "wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 "\nif %15 {\n    wgmma.commit\n} else {\n    wgmma.commit\n    wgmma.commit\n}\nwgmma.wait %10 pending=0\n" READ,
    /* as old as a wait can ask for */
    "wgmma.fence %10\nwgmma %10, %6, %6, %5" BF16 "\nwgmma.commit\nwgmma.commit\nwgmma.commit\nwgmma.commit\nwgmma.commit\nwgmma.commit\nwgmma.commit\nwgmma.commit\n"
    "wgmma.wait %10 pending=7\n" READ,
    /* every round of a while loop waits, before it is left too */
    "loop {\n    wgmma.fence %10\n    wgmma %10, %6, %6, %5" BF16 "\n    wgmma.commit\n    wgmma.wait %10 pending=0\n    while %15\n    store %10[0] %13 align 4\n}\n" READ,
    /* all registers of a thread */
    "%30 = rmem f32x127\nwgmma.fence %19, %30",
    "wgmma.fence %10\nwgmma.wait %10 pending=3\nwgmma.wait pending=0\nwgmma.commit",
};

START_TEST(right_tapes)
{
    char text[4096];
    snprintf(text, sizeof text, "%s%s\n", STATE, right[_i]);
    tape_comes_back(text);
}
END_TEST

/* ---- states of roots in flight ------------------------------------------------------------------- */
/* Letters are events on an accumulator: f is a fence, p and q products of 64 and of 32 columns, c a commit, w a wait, t a load. What
 * two texts give is joined at a |. Then: may another p come, and does a wait for all, or for all but one, end its flight? */
static const struct {
    const char *events;
    int may;
    bool lands, early;
} flight_states[] = {
    {"", SETT__FLIGHT_NEEDS_FENCE, false, false}, {"f", SETT__FLIGHT_FINE, false, false}, {"ft", SETT__FLIGHT_NEEDS_FENCE, false, false},
    {"fp", SETT__FLIGHT_FINE, false, false}, {"fpc", SETT__FLIGHT_FINE, true, false}, {"fpcc", SETT__FLIGHT_FINE, true, true},
    {"fpccp", SETT__FLIGHT_FINE, false, false}, {"fpcw", SETT__FLIGHT_FINE, false, false}, {"fpcwc", SETT__FLIGHT_FINE, false, false},
    {"fpcwt", SETT__FLIGHT_NEEDS_FENCE, false, false}, {"fpcwtf", SETT__FLIGHT_FINE, false, false}, {"fq", SETT__FLIGHT_NEEDS_WAIT, false, false},
    {"fqf", SETT__FLIGHT_NEEDS_WAIT, false, false}, {"fqcw", SETT__FLIGHT_NEEDS_FENCE, false, false}, {"fqcwf", SETT__FLIGHT_FINE, false, false},
    {"f|f", SETT__FLIGHT_FINE, false, false}, {"f|", SETT__FLIGHT_NEEDS_FENCE, false, false}, {"ft|fpcw", SETT__FLIGHT_NEEDS_FENCE, false, false},
    {"fpcc|fpc", SETT__FLIGHT_FINE, true, false}, {"fpc|f", SETT__FLIGHT_FINE, true, false}, {"f|fpcc", SETT__FLIGHT_FINE, true, true},
    {"fp|fq", SETT__FLIGHT_NEEDS_WAIT, false, false}, {"fpcw|fqcw", SETT__FLIGHT_NEEDS_FENCE, false, false},
};

START_TEST(states_of_roots)
{
    const uint32_t row = (uint32_t)first_row(), arg[] = {row, 64, row, 32};
    static const sett__op op[] = {{.code = SETT__RMEM}, {.code = SETT__WGMMA, .n_attrs = 2}, {.code = SETT__WGMMA, .n_attrs = 2, .args = 2}};
    const sett__op_list ops = {op, arg};
    const char *text = flight_states[_i].events;
    sett__root_state s = sett__flight_new(0), first = s;
    bool joins = false, grew = false;
    for (const char *at = text; *at; at++)
        switch (*at) {
        case 'f': sett__flight_fence(&s); break;
        case 'p': sett__flight_begin(&s, 1, SETT__SUM); break;
        case 'q': sett__flight_begin(&s, 2, SETT__SUM); break;
        case 'c': sett__flight_commit(&s); break;
        case 'w': sett__flight_wait(&s); break;
        case 't': sett__flight_touch(&s, 3); break;
        default: joins = true, first = s, s = sett__flight_new(0);
        }
    if (joins)
        grew = sett__flight_join(ops, &first, &s), s = first;
    ck_assert_msg(!grew || !sett__flight_join(ops, &s, &first), "%s grows by what it has", text);
    ck_assert_msg(sett__flight_may_begin(ops, &s, 1, SETT__SUM) == flight_states[_i].may, "%s: %d", text, sett__flight_may_begin(ops, &s, 1, SETT__SUM));
    ck_assert_msg(sett__flight_lands(&s, 0) == flight_states[_i].lands && sett__flight_lands(&s, 1) == flight_states[_i].early, "%s", text);
    ck_assert(sett__flight_may_touch(&s) == !(s.flags & SETT__FLIES));
}
END_TEST

START_TEST(a_block_has_a_group)
{
    char text[2048], *block;
    product(text, sizeof text, first_row(), 8, false, "");
    ck_assert_ptr_nonnull(block = strstr(text, "block 128"));
    memcpy(block, "block 96 ", 9);
    sett_error err = {0};
    sett__tape t;
    ck_assert_int_eq(sett__tape_parse(&t, text, &err), SETT_E_VERIFY);
    ck_assert_msg(strstr(err.text, "it is of 128 threads, and a block has 96"), "%s", err.text);
}
END_TEST

/* Loops within loops, each of which may be in flight: the checker ends. */
START_TEST(deep_loops_end)
{
    char text[16384];
    sett_error err = {0};
    sett__tape t;
    int at = snprintf(text, sizeof text, "%swgmma.fence %%10\n", STATE);
    for (int i = 0; i < 60; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "for %%%d = %%9 to %%8 step %%8 {\nwgmma.fence %%10\nwgmma %%10, %%6, %%6, %%5" BF16 "\nwgmma.commit\n", 100 + i);
    for (int i = 0; i < 60; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "}\n");
    snprintf(text + at, sizeof text - (size_t)at, "wgmma.wait %%10 pending=0\n");
    ck_assert_msg(!sett__tape_parse(&t, text, &err), "%s", err.text);
    sett__tape_free(&t);
}
END_TEST

START_TEST(too_many_roots)
{
    char text[8192];
    sett_error err = {0};
    sett__tape t;
    int at = snprintf(text, sizeof text, "%s", HEAD);
    for (int i = 0; i < 129; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "%%%d = rmem f32x4\n", 100 + i);
    for (int i = 0; i < 129; i++)
        at += snprintf(text + at, sizeof text - (size_t)at, "wgmma.fence %%%d\n", 100 + i);
    ck_assert_int_eq(sett__tape_parse(&t, text, &err), SETT_E_LIMIT);
    ck_assert_msg(strstr(err.text, "wgmma holds at most 128 roots in registers"), "%s", err.text);
}
END_TEST

/* The registers that a tape needs at least count an accumulator from its first use to its last, over the loop between. */
START_TEST(accumulators_are_counted)
{
    char text[2048];
    sett_error err = {0};
    sett__tape t;
    uint32_t at = 0;
    snprintf(text, sizeof text, "%s%s\n", STATE, "%50 = rmem f32x120\nwgmma.fence %19, %50\nfor %30 = %9 to %8 step %8 {\n    wgmma %19, %6, %6, %4 row=m64nNk16.f32.bf16.bf16 n=256\n"
        "    wgmma %50, %6, %6, %4 row=m64nNk16.f32.bf16.bf16 n=240\n    wgmma.commit\n    wgmma.wait pending=0\n}\nwgmma.wait %19, %50 pending=0");
    ck_assert_msg(!sett__tape_parse(&t, text, &err), "%s", err.text);
    uint32_t live = sett__tape_live(&t, 200, &at);
    ck_assert_msg(live >= 248 && live < 300, "%u registers", live);
    sett__tape_free(&t);
}
END_TEST

Suite *wgmma_suite(void)
{
    Suite *s = suite_create("wgmma");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, every_row, first_row(), SETT__N_MMAS);
    tcase_add_loop_test(t, every_n, first_row(), SETT__N_MMAS);
    tcase_add_loop_test(t, flags_are_said, 0, (int)SETT__COUNT(flags));
    tcase_add_loop_test(t, pieces_of_assembly, 0, (int)SETT__COUNT(spelled));
    tcase_add_loop_test(t, layouts_fill_matrices, first_row(), SETT__N_MMAS);
    tcase_add_loop_test(t, wrong_tapes, 0, (int)SETT__COUNT(wrong));
    tcase_add_loop_test(t, right_tapes, 0, (int)SETT__COUNT(right));
    tcase_add_loop_test(t, states_of_roots, 0, (int)SETT__COUNT(flight_states));
    tcase_add_test(t, a_block_has_a_group);
    tcase_add_test(t, deep_loops_end);
    tcase_add_test(t, too_many_roots);
    tcase_add_test(t, accumulators_are_counted);
    suite_add_tcase(s, t);
    return s;
}
