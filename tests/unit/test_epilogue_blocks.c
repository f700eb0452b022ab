/* SPDX-License-Identifier: Apache-2.0 */
/* .quantise 2, by the largest of a row's 128 columns: each way in which the threads of a tile share its rows, against double precision; numbers that are none;
 * what is chosen and what is refused. On the CPU engine or, with SETT_TEST_GPU=1, on GPU 0. */
#include "tests/rig/epilogue_rig.h"

#define TILE(...) .tile = {__VA_ARGS__}
#define ALL_TERMS .t = {.quantise = 2, .alpha = 1, .bias = 1, .aux = 1, .activation = SETT_ACTIVATION_RELU, .clamp = 1, .amax = 2, .row_sum = 1, .column_sum = 1, .row_max = 1, .column_max = 1}
/* By each way in which the threads of a tile share its rows. */
static const struct {
    problem p;
    int which;
} blocks[] = {{{TILE(64, 128)}, WGMMA}, {{TILE(48, 256), .residual = 1}, WGMMA}, {{TILE(128, 128, .ping_pong = 1), ALL_TERMS}, WGMMA}, {{TILE(64, 128, .ping_pong = 1), .residual = 1}, WGMMA}, {{TILE(32, 128, .cluster = 2)}, WGMMA},
    {{TILE(8, 128), .dtype = SETT_F16, .c = SETT_F8E5M2}, WGMMA}, {{TILE(144, 128), ALL_TERMS}, WGMMA}, {{TILE(128, 256), .swiglu = 1}, WGMMA}, {{TILE(56, 256), .swiglu = 1, .dtype = SETT_F8E4M3FN, .blocks = 1}, WGMMA},
    {{TILE(128, 128), .dtype = SETT_F8E4M3FN, .blocks = 1, ALL_TERMS}, WGMMA}, {{TILE(64, 128), .dtype = SETT_F8E4M3FN, .blocks = 1, .residual = 1}, WGMMA}, {{TILE(96, 128), .dtype = SETT_I8, .scaled = 1, .t = {.quantise = 2, .bias = 1}}, WGMMA},
    {{TILE(128, 256), .t = {.quantise = 2, .amax = 1}}, WGMMA}, {{TILE(40, 256, .ping_pong = 1)}, WGMMA},
    {{TILE(32, 128)}, MMA}, {{TILE(16, 256), .dtype = SETT_F8E4M3FN, .c = SETT_F8E5M2, ALL_TERMS}, MMA}, {{TILE(64, 256, 8), .residual = 1}, MMA}, {{TILE(128, 128, 8), ALL_TERMS}, MMA}, {{TILE(64, 256), .swiglu = 1}, MMA},
    {{TILE(16, 128), .dtype = SETT_F32, .fma = 1, ALL_TERMS}, MMA}, {{TILE(128, 128, 8), .dtype = SETT_F32, .fma = 1}, MMA}, {{TILE(64, 256, 8), .dtype = SETT_F32, .fma = 1, .residual = 1}, MMA}, {{TILE(32, 128, 1), .dtype = SETT_F32, .fma = 1}, MMA},
    {{TILE(32, 256), .l = 3, .scaled = 1, .t = {.quantise = 2, .bias = 1}}, MMA}, {{TILE(64, 128), .dtype = SETT_I8, .t = {.quantise = 2, .scale = 1}}, MMA}, {{TILE(256, 128, 8)}, MMA}};

START_TEST(of_blocks)
{
    static const size_t extents[][2] = {{73, 288}, {150, 144}}; /* the last block has 32 or 16 columns */
    problem p = blocks[_i / 2].p;
    p.dtype = p.dtype ? p.dtype : SETT_BF16, p.c = p.c ? p.c : SETT_F8E4M3FN, p.t.quantise = 2, p.l = p.l ? p.l : 1;
    p.m = extents[_i % 2][0], p.n = extents[_i % 2][1], p.k = 40;
    check_problem(&p, blocks[_i / 2].which);
}
END_TEST

/* Zeros stay zeros, with the least scale; a NaN makes its block NaN, an infinity the others of its block 0; the blocks beside it have none of that. */
START_TEST(blocks_of_no_numbers)
{
    problem p = {.dtype = SETT_BF16, .c = SETT_F8E5M2, .m = 40, .n = 256, .k = 16, .l = 1, .residual = 1, .t = {.quantise = 2}, TILE(32, 128)};
    const unsigned char no_number = 0x7e, infinite = 0x7c;
    tensor x[OPERANDS];
    sett_kernel *k = kernel_of(&p, _i);
    if (!k)
        return;
    make_operands(&p, x);
    memset(x[A].host, 0, size_of(&x[A])), send(&x[A]);
    memset(at_of(&x[R], 3, 128, 0), 0, 128), *at_of(&x[R], 5, 7, 0) = no_number, *at_of(&x[R], 33, 130, 0) = infinite, send(&x[R]);
    const args a = args_of(&p, x);
    launch(k, &a);
    receive(&x[C]), receive(&x[SD]);
    for (size_t col = 0; col < 256; col++) {
        const double was = value_at(&x[R], 33, col, 0), in_nan = value_at(&x[C], 5, col, 0), in_infinite = value_at(&x[C], 33, col, 0);
        ck_assert(isnan(in_nan) == (col < 128));
        ck_assert(col < 128 ? fabs(in_infinite) > 0 || was == 0 : col == 130 ? isnan(in_infinite) : in_infinite == 0);
        ck_assert(col < 128 || value_at(&x[C], 3, col, 0) == 0);
    }
    ck_assert_double_eq(value_at(&x[SD], 1, 3, 0), (double)(1e-12f / 57344));
    ck_assert(isnan(value_at(&x[SD], 0, 5, 0)) && isinf(value_at(&x[SD], 1, 33, 0)) && isfinite(value_at(&x[SD], 1, 5, 0)) && isfinite(value_at(&x[SD], 0, 33, 0)));
    drop_tensors(OPERANDS, x);
}
END_TEST

/* Tiles without whole blocks of columns. */
START_TEST(no_blocks)
{
    sett_gemm_mma_options m = {.size = sizeof m, .dtype = SETT_F16, .c = SETT_F8E4M3FN, .terms.quantise = 2, .tuning = {.bm = 32, .bn = 64}};
    sett_gemm_wgmma_options w = {.size = sizeof w, .dtype = SETT_F16, .c = SETT_F8E4M3FN, .terms.quantise = 2, .tuning.bn = 64};
    sett_gemm_few_rows_options f = {.size = sizeof f, .dtype = SETT_F16, .c = SETT_F8E4M3FN, .terms.quantise = 2};
    check_wrong(sett_gemm_mma, &m, "sett_kernels_choose: gemm_mma: .bn is 64: of .quantise 2 256 or 128, as a tile has whole blocks of 128 columns of C");
    m.tuning.bn = 128, m.swiglu = 1;
    check_wrong(sett_gemm_mma, &m, "sett_kernels_choose: gemm_mma: .bn is 128: of .quantise 2 and .swiglu 256, as a tile has whole blocks of 128 columns of C");
    m.swiglu = 0, m.tuning.bm = 16, m.tuning.bn = 256, m.tuning.warps = 8, m.dtype = SETT_F32;
    check_wrong(sett_gemm_mma, &m, "sett_kernels_choose: gemm_mma: .warps is 8: of .quantise 2 they compute at most 128 columns at once, and with .bm 16 these compute 256");
    check_wrong(sett_gemm_wgmma, &w, "sett_kernels_choose: gemm_wgmma: .bn is 64: of .quantise 2 256 or 128, as a tile has whole blocks of 128 columns of C");
    w.tuning.bn = 128, w.swiglu = 1;
    check_wrong(sett_gemm_wgmma, &w, "sett_kernels_choose: gemm_wgmma: .bn is 128: of .quantise 2 and .swiglu 256, as a tile has whole blocks of 128 columns of C");
    check_wrong(sett_gemm_few_rows, &f, "sett_kernels_choose: gemm_few_rows: .quantise is 2: 0 or 1, as a block of sett_gemm_few_rows has fewer than 128 columns");
}
END_TEST

/* What is chosen has them. */
START_TEST(chosen_blocks)
{
    static const sett_dtype types[] = {SETT_F16, SETT_F8E4M3FN, SETT_I8, SETT_F32};
    for (int i = 0; i < 4 * 2 * 7; i++) {
        const int swiglu = i / 4 % 2 && types[i % 4] != SETT_I8;
        sett_gemm_mma_options m = {.size = sizeof m, .dtype = types[i % 4], .c = SETT_F8E4M3FN, .swiglu = swiglu, .terms.quantise = 2, .tuning = {.m = 1 << i / 8 * 2, .n = 4096}};
        sett_gemm_wgmma_options w = {.size = sizeof w, .dtype = types[i % 4], .tf32 = types[i % 4] == SETT_F32, .c = SETT_F8E4M3FN, .swiglu = swiglu, .terms.quantise = 2, .tuning = {.m = i / 8 ? 1 << i / 8 * 2 : 0, .n = 4096}};
        ck_assert_msg(!sett_kernels_choose(sett_gemm_mma, &m, "sm_89", &err) && !sett_kernels_choose(sett_gemm_wgmma, &w, "sm_90a", &err), "%s", err.text);
        ck_assert_int_eq((m.tuning.bn >> swiglu) % 128, 0);
        ck_assert_int_eq((w.tuning.bn >> swiglu) % 128, 0);
    }
}
END_TEST

Suite *epilogue_blocks_suite(void)
{
    Suite *s = suite_create("epilogue_blocks");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, of_blocks, 0, 2 * sizeof blocks / sizeof *blocks);
    tcase_add_loop_test(t, blocks_of_no_numbers, 0, FEW);
    tcase_add_test(t, no_blocks);
    tcase_add_test(t, chosen_blocks);
    suite_add_tcase(s, t);
    return s;
}
