/* SPDX-License-Identifier: Apache-2.0 */
/* Regions and their misuse, indices, shuffles, printing. */
#include "tests/rig/recording.h"
#include <stdlib.h>
#include <string.h>

#undef expect /* of a kernel that is finished */
static void expect(sett_build *b, sett_status status, int line, const char *text)
{
    char want[600];
    sett__tape t;
    sett_error e = {SETT_OK, ""};
    if (!sett__build_finish(b, &t, &e))
        sett__tape_free(&t);
    snprintf(want, sizeof want, "%s:%d: %s", __FILE__, line, text);
    ck_assert_str_eq(e.text, want);
    ck_assert_int_eq(e.status, status);
    sett_build_end(b, NULL);
}

/* The ops of the tape, without the lines before them; ends the build. */
static char *ops_text(sett_build *b)
{
    sett__tape t;
    sett_error e = {SETT_OK, ""};
    char *text = NULL;
    ck_assert_msg(!sett__build_finish(b, &t, &e), "%s", e.text);
    ck_assert_msg(!sett__tape_print(&t, false, NULL, &text, &e), "%s", e.text);
    sett__tape_free(&t);
    sett_build_end(b, NULL);
    char *ops = strstr(text, "\n\n");
    ck_assert_ptr_nonnull(ops);
    memmove(text, ops + 2, strlen(ops + 2) + 1);
    return text;
}

static void expect_ops(sett_build *b, const char *want)
{
    char *text = ops_text(b);
    ck_assert_str_eq(text, want);
    free(text);
}

/* What has no effect leaves no region: not an empty loop, not an if of dead values, not an empty else. */
START_TEST(empty_regions_go)
{
    sett_build *b = kernel();
    sett_val *n = sett_scalar(b, "n", SETT_I32);
    sett_for (b, i, 0, n, 1) {
        sett_if (b, sett_gt(n, i))
            sett_mul(i, 3);
        sett_else (b)
            sett_add(i, n);
    }
    sett_if (b, sett_gt(n, 3))
        sett_sync_warp(b);
    sett_else (b)
        sett_mul(n, 7);
    sett_if (b, sett_gt(n, 4))
        sett_mul(n, 9);
    sett_else (b) {
        sett_for (b, j, 0, n, 1)
            sett_mul(j, 3);
        sett_sync_threads(b);
    }
    expect_ops(b,
        "%0 = scalar i32 n\n"
        "%1 = const i32 3\n"
        "%2 = const i32 4\n"
        "%3 = gt i1 %0, %1\n"
        "if %3 {\n"
        "    syncwarp\n"
        "}\n"
        "%7 = gt i1 %0, %2\n"
        "if %7 {\n"
        "} else {\n"
        "    barrier\n"
        "}\n");
}
END_TEST

START_TEST(if_else_for)
{
    sett_build *b = kernel();
    sett_val *n = sett_scalar(b, "n", SETT_I32);
    sett_if (b, sett_gt(n, 3)) {
        sett_sync_threads(b);
        sett_if (b, sett_eq(n, 5))
            sett_sync_warp(b);
    }
    sett_else (b) {
        sett_for (b, i, 1, n, 2)
            sett_printf(b, "{}", i);
    }
    sett_if (b, sett_lt(n, 9))
        sett_sync_threads(b);
    expect_ops(b,
        "%0 = scalar i32 n\n"
        "%1 = const i32 3\n"
        "%2 = const i32 5\n"
        "%3 = const i32 1\n"
        "%4 = const i32 2\n"
        "%5 = const i32 9\n"
        "%6 = gt i1 %0, %1\n"
        "%7 = eq i1 %0, %2\n"
        "if %6 {\n"
        "    barrier\n"
        "    if %7 {\n"
        "        syncwarp\n"
        "    }\n"
        "} else {\n"
        "    for %14 = %3 to %0 step %4 {\n"
        "        printf \"%d\\n\", %14\n"
        "    }\n"
        "}\n"
        "%18 = lt i1 %0, %5\n"
        "if %18 {\n"
        "    barrier\n"
        "}\n");
}
END_TEST

START_TEST(loops_take_64_bits)
{
    sett_build *b = kernel();
    sett_val *n = sett_scalar(b, "n", SETT_I64);
    sett_for (b, i, 0, n, 1) {
        ck_assert_int_eq(sett_val_dtype(i), SETT_I64);
        ck_assert_int_eq((int)i->lo, 0);
        ck_assert(i->uniform);
    }
    sett_for (b, i, 8, 64, 8) {
        ck_assert_int_eq(sett_val_dtype(i), SETT_I32);
        ck_assert_int_eq((int)i->hi, 63);
        ck_assert_int_eq((int)i->div, 8);
    }
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* The condition is in the loop, and what does nothing goes, the condition with it. */
START_TEST(while_ops)
{
    sett_build *b = kernel();
    sett_val *n = sett_scalar(b, "n", SETT_I32);
    sett_tensor *v = sett_var(b, SETT_I32, n);
    sett_while (b, sett_gt(n, sett_to(sett_clock(b), SETT_I32)))
        sett_mul(sett_at(v, 0), 3);
    sett_while (b, sett_gt(n, sett_at(v, 0)))
        sett_set(v, n, 0);
    expect_ops(b,
        "%0 = scalar i32 n\n"
        "%1 = rmem i32\n"
        "store %1[0] i32 %0 align 32\n"
        "loop {\n"
        "    %4 = load i32 %1[0] align 32\n"
        "    %5 = gt i1 %0, %4\n"
        "    while %5\n"
        "    store %1[0] i32 %0 align 32\n"
        "}\n");
}
END_TEST

START_TEST(while_misused)
{
    sett_build *b = kernel();
    sett_val *n = sett_scalar(b, "n", SETT_I32);
    int line = __LINE__ + 1;
    sett_while (b, n)
        sett_sync_warp(b);
    expect(b, SETT_E_DTYPE, line, "sett_while: the condition must be a Boolean scalar, not i32 of shape ()");
    b = kernel();
    n = sett_scalar(b, "n", SETT_I32);
    line = __LINE__ + 1;
    sett_while (b, sett_gt(n, 0))
        break;
    expect(b, SETT_E_REGION, line, "sett_while: this region was left by break");
    b = kernel();
    sett_val *late = NULL;
    int made = __LINE__ + 2;
    sett_while (b, sett_gt(sett_to(sett_clock(b), SETT_I32), 0))
        late = sett_at(sett_var(b, SETT_I32, 1), 0);
    line = __LINE__ + 1;
    sett_neg(late);
    char text[200];
    snprintf(text, sizeof text, "sett_neg: a value made at %s:%d inside sett_while is used outside it: keep it in a sett_var or an rmem tensor",
        __FILE__, made);
    expect(b, SETT_E_REGION, line, text);
    static const char unchanged[] = "sett_while: nothing in the loop changes its condition: let it read, in the loop, a sett_var that the body sets, or memory";
    b = kernel(); /* of an argument, a number, a variable that is read before, one that another loop sets */
    n = sett_scalar(b, "n", SETT_I32);
    line = __LINE__ + 1;
    sett_while (b, sett_gt(n, 0))
        sett_sync_warp(b);
    expect(b, SETT_E_REGION, line, unchanged);
    b = kernel();
    line = __LINE__ + 1;
    sett_while (b, sett_const(b, SETT_BOOL, 1))
        sett_sync_warp(b);
    expect(b, SETT_E_REGION, line, unchanged);
    b = kernel();
    sett_tensor *v = sett_var(b, SETT_I32, 9);
    sett_val *early = sett_gt(sett_at(v, 0), 0);
    line = __LINE__ + 1;
    sett_while (b, early)
        sett_set(v, 0, 0);
    expect(b, SETT_E_REGION, line, unchanged);
    b = kernel();
    sett_tensor *u = sett_var(b, SETT_I32, 9), *w = sett_var(b, SETT_I32, 9);
    sett_set(u, 3, 0);
    line = __LINE__ + 1;
    sett_while (b, sett_gt(sett_at(u, 0), 0))
        sett_set(w, 0, 0);
    expect(b, SETT_E_REGION, line, unchanged);
    b = kernel(); /* none at all, and one whose variable an inner loop sets */
    sett_while (b, sett_const(b, SETT_BOOL, 0))
        sett_sync_warp(b);
    u = sett_var(b, SETT_I32, 9);
    sett_while (b, sett_gt(sett_add(sett_at(u, 0), 1), 0))
        sett_for (b, i, 0, 3, 1)
            sett_set(u, i, 0);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
    sett_region none = sett_while_begin(SETT_HERE, NULL); /* without a build nothing happens */
    ck_assert(!none.open);
    sett_while_test(SETT_HERE, NULL, NULL);
    sett_while_test(SETT_HERE, &none, NULL);
    ck_assert_ptr_null(sett_region_next(NULL));
}
END_TEST

START_TEST(unroll_misused)
{
    sett_build *b = kernel();
    sett_val *n = sett_scalar(b, "n", SETT_I32);
    int line = __LINE__ + 1;
    sett_for (b, i, 0, n, 1, .unroll_full = true)
        sett_sync_warp(b);
    expect(b, SETT_E_STATIC, line, "sett_for: a loop that is unrolled in full has static bounds, C integers: .unroll copies a body of others");
    b = kernel();
    n = sett_scalar(b, "n", SETT_I32);
    line = __LINE__ + 1;
    sett_for (b, i, 0, 9, n, .unroll = 2)
        sett_sync_warp(b);
    expect(b, SETT_E_STATIC, line, "sett_for: a loop that is unrolled has a static step, a C integer");
    b = kernel();
    line = __LINE__ + 1;
    sett_for (b, i, 0, 9, 1, .unroll = -2)
        sett_sync_warp(b);
    expect(b, SETT_E_ARGUMENT, line, "sett_for: .unroll is -2, it must be positive");
    b = kernel();
    line = __LINE__ + 1;
    sett_for (b, i, 0, 9, 1, .unroll = 2, .unroll_full = true)
        sett_sync_warp(b);
    expect(b, SETT_E_ARGUMENT, line, "sett_for: .unroll is 2 and .unroll_full is true: one of them");
    b = kernel();
    n = sett_scalar(b, "n", SETT_I32);
    line = __LINE__ + 1;
    sett_for (b, i, 0, n, 1 << 29, .unroll = 4)
        sett_sync_warp(b);
    expect(b, SETT_E_LIMIT, line, "sett_for: a body has up to 4096 copies, and a round of them ends within the variable's type");
    b = kernel();
    line = __LINE__ + 1;
    sett_for (b, i, 0, 10000, 1, .unroll_full = true)
        sett_sync_warp(b);
    expect(b, SETT_E_LIMIT, line, "sett_for: a body has up to 4096 copies, and a round of them ends within the variable's type");
    b = kernel();
    line = __LINE__ + 1;
    sett_for (b, i, 0, 9, 1, .unroll_full = true)
        break;
    expect(b, SETT_E_REGION, line, "sett_for: this region was left by break");
    b = kernel();
    n = sett_scalar(b, "n", SETT_I32);
    line = __LINE__ + 1;
    sett_for (b, i, 0, n, 1, .unroll = 2)
        if (sett_val_dtype(i)) /* in the second copy, or the first */
            break;
    expect(b, SETT_E_REGION, line, "sett_for: this region was left by break");
}
END_TEST

/* Three rounds of two and no rest; the constants of copies. */
START_TEST(unrolled_ops)
{
    sett_build *b = kernel();
    sett_tensor *v = sett_var(b, SETT_I32, 0);
    sett_for (b, i, 1, 7, 1, .unroll = 2)
        sett_set(v, i, 0);
    sett_for (b, j, 4, -1, 1, .unroll_full = true)
        sett_set(v, j, 0);
    sett_for (b, k, 4, 9, 3, .unroll_full = true)
        sett_set(v, k, 0);
    sett_printf(b, "{}", sett_at(v, 0));
    char *text = ops_text(b);
    ck_assert_ptr_nonnull(strstr(text, " step "));
    ck_assert_ptr_null(strstr(strstr(text, " step ") + 1, " step "));
    int stores = 0;
    for (const char *s = text; (s = strstr(s, "store ")); s++)
        stores++;
    ck_assert_int_eq(stores, 1 + 2 + 2);
    free(text);
}
END_TEST

/* Copy times step has no 64 bits, and the variable has. */
START_TEST(unrolled_far)
{
    static const int64_t is[] = {INT64_MIN, -((int64_t)1 << 62), 0, (int64_t)1 << 62};
    sett_build *b = kernel();
    size_t n = 0;
    sett_for (b, i, INT64_MIN, INT64_MAX, (int64_t)1 << 62, .unroll_full = true) {
        ck_assert_uint_lt(n, 4);
        ck_assert_int_eq(i->lo, is[n]);
        ck_assert_int_eq(i->hi, is[n++]);
    }
    ck_assert_uint_eq(n, 4);
    free(ops_text(b));
}
END_TEST

START_TEST(left_by_break)
{
    sett_build *b = kernel();
    int line;
    sett_if (b, sett_lt(sett_scalar(b, "n", SETT_I32), 3)) { line = __LINE__;
        break;
    }
    expect(b, SETT_E_REGION, line, "sett_if: this region was left by break");
    b = kernel();
    sett_for (b, i, 0, 4, 1) { line = __LINE__;
        sett_printf(b, "{}", i);
        break;
    }
    expect(b, SETT_E_REGION, line, "sett_for: this region was left by break");
}
END_TEST

START_TEST(continue_ends_the_body)
{
    sett_build *b = kernel();
    sett_for (b, i, 0, 4, 1) {
        sett_sync_threads(b);
        if (sett_rank(sett_val_shape(i)) == 0)
            continue;
        sett_sync_warp(b);
    }
    char *text = ops_text(b);
    ck_assert_ptr_nonnull(strstr(text, "barrier\n}\n"));
    free(text);
}
END_TEST

static int returns_from_inside(sett_build *b)
{
    sett_if (b, sett_lt(sett_scalar(b, "n", SETT_I32), 3))
        return __LINE__ - 1;
    return 0;
}

START_TEST(left_by_return)
{
    sett_build *b = kernel();
    int line = returns_from_inside(b);
    expect(b, SETT_E_REGION, line, "sett_if: this region was left by return or goto and never ended");
    b = kernel();
    sett_for (b, i, 0, 4, 1)
        line = returns_from_inside(b);
    expect(b, SETT_E_REGION, line, "sett_if: this region was left by break, return or goto");
}
END_TEST

START_TEST(else_needs_its_if)
{
    sett_build *b = kernel();
    int line;
    sett_else (b) { line = __LINE__;
        sett_sync_threads(b);
    }
    expect(b, SETT_E_REGION, line, "sett_else: there is no sett_if that ended just before");
    b = kernel();
    sett_val *n = sett_scalar(b, "n", SETT_F32);
    sett_if (b, sett_lt(n, 3))
        sett_sync_warp(b);
    sett_printf(b, "{}", n); line = __LINE__;
    sett_else (b)
        sett_sync_threads(b);
    expect(b, SETT_E_REGION, line, "sett_else: this was recorded between sett_if and its sett_else");
    b = kernel();
    sett_for (b, i, 0, 4, 1)
        sett_sync_warp(b);
    sett_else (b) { line = __LINE__;
        sett_sync_threads(b);
    }
    expect(b, SETT_E_REGION, line, "sett_else: there is no sett_if that ended just before");
}
END_TEST

START_TEST(values_stay_inside)
{
    sett_build *b = kernel();
    sett_val *f = sett_scalar(b, "f", SETT_F32), *kept = NULL;
    int made = 0, line;
    char text[300];
    sett_if (b, sett_lt(f, 3)) {
        kept = sett_mul(f, 2); made = __LINE__;
    }
    sett_add(kept, 1); line = __LINE__;
    snprintf(text, sizeof text, "sett_add: a value made at %s:%d inside sett_if is used outside it: keep it in a sett_var or an rmem tensor", __FILE__, made);
    expect(b, SETT_E_REGION, line, text);
    b = kernel();
    sett_for (b, i, 0, 4, 1) { made = __LINE__;
        kept = i;
    }
    sett_add(kept, 1); line = __LINE__;
    snprintf(text, sizeof text, "sett_add: a value made at %s:%d inside sett_for is used outside it: keep it in a sett_var or an rmem tensor", __FILE__, made);
    expect(b, SETT_E_REGION, line, text);
}
END_TEST

/* Also of integers, whose ops move out of regions, of symbols, and of what the block's extents make constants. */
START_TEST(every_value_stays_inside)
{
    for (int kind = 0; kind < 5; kind++) {
        sett_build *b = kernel();
        sett_val *lane = sett_lane_idx(b), *f = sett_scalar(b, "f", SETT_F32), *kept = NULL;
        int made = 0, line;
        char text[300];
        sett_if (b, sett_lt(f, 3)) {
            made = __LINE__ + 1;
            kept = kind == 0 ? sett_mul(lane, 2) : kind == 1 ? sett_lt(lane, 2) : kind == 2 ? sett_thread_idx(b, 0) : kind == 3 ? sett_sym(b, "K") : sett_mul(f, 2);
        }
        sett_add(kept, 1); line = __LINE__;
        snprintf(text, sizeof text, "sett_add: a value made at %s:%d inside sett_if is used outside it: keep it in a sett_var or an rmem tensor", __FILE__, made);
        expect(b, SETT_E_REGION, line, text);
    }
}
END_TEST

/* A layout is looked at once in a region: not so that its values get out, into what follows or into another at the same depth. */
START_TEST(values_of_layouts_stay_inside)
{
    for (int kind = 0; kind < 4; kind++) {
        sett_build *b = kernel();
        sett_val *lane = sett_lane_idx(b);
        sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_swizzled(2, 0, 2, sett_row_major(b, 8, 8)), 16), *moved = NULL;
        sett_layout *l = NULL, *outer = sett_make_layout(b, 4, sett_add(lane, 1));
        int made = 0, shifted = 0, line = 0;
        char text[300];
        sett_coalesce(S);
        sett_if (b, sett_lt(lane, 9)) {
            sett_val *n = sett_mul(lane, 2); made = __LINE__;
            l = sett_make_layout(b, 4, n);
            moved = sett_domain_offset(S, SETT_T(n, 0)); shifted = __LINE__;
            for (int i = 0; i < 2; i++)
                sett_coalesce(l), sett_coalesce(outer), sett_coalesce(moved);
            sett_if (b, sett_lt(lane, 3))
                sett_coalesce(l);
            sett_coalesce(l);
        }
        sett_coalesce(outer);
        const char *why;
        ck_assert_msg(!sett_build_status(b, &why), "%s", why);
        if (kind == 0)
            sett_coalesce(l), line = __LINE__;
        else if (kind == 1)
            sett_coalesce(moved), line = __LINE__;
        else
            sett_if (b, sett_lt(lane, 2)) {
                sett_coalesce(outer);
                kind == 2 ? (void)sett_coalesce(l) : (void)sett_coalesce(moved); line = __LINE__;
            }
        snprintf(text, sizeof text, "sett_coalesce: a value made at %s:%d inside sett_if is used outside it: keep it in a sett_var or an rmem tensor",
            __FILE__, kind % 2 ? shifted : made);
        expect(b, SETT_E_REGION, line, text);
    }
}
END_TEST

/* What is made again outside is visible there, though it is the same op; and what was made inside stays there. */
START_TEST(made_again_outside)
{
    sett_build *b = kernel();
    sett_tensor *Y = sett_param(b, "Y", SETT_I32, sett_make_layout(b, 4));
    sett_val *lane = sett_lane_idx(b), *inner = NULL, *k = NULL;
    int line, made = 0;
    sett_if (b, sett_lt(lane, 2)) {
        inner = sett_mul(lane, 2); made = __LINE__;
        k = sett_sym(b, "K");
        sett_if (b, sett_lt(lane, 1))
            sett_set(Y, sett_add(inner, k), 0);
    }
    sett_else (b)
        sett_set(Y, sett_add(sett_mul(lane, 2), sett_sym(b, "K")), 1);
    sett_set(Y, sett_add(sett_mul(lane, 2), sett_sym(b, "K")), 2);
    const char *why;
    ck_assert_msg(!sett_build_status(b, &why), "%s", why);
    ck_assert_uint_eq(sett_mul(lane, 2)->id, inner->id);
    ck_assert_uint_eq(sett_sym(b, "K")->id, k->id);
    sett_set(Y, inner, 3); line = __LINE__;
    char text[300];
    snprintf(text, sizeof text, "sett_set: a value made at %s:%d inside sett_if is used outside it: keep it in a sett_var or an rmem tensor", __FILE__, made);
    expect(b, SETT_E_REGION, line, text);
}
END_TEST

START_TEST(misuse_of_regions)
{
    sett_build *b = kernel();
    sett_val *n = sett_scalar(b, "n", SETT_I32);
    int line;
    sett_if (b, n) { line = __LINE__; }
    expect(b, SETT_E_DTYPE, line, "sett_if: the condition must be a Boolean scalar, not i32 of shape ()");
    b = kernel();
    sett_for (b, i, 0, 8, 0) { line = __LINE__; }
    expect(b, SETT_E_ARGUMENT, line, "sett_for: the step is 0, it must be positive");
    b = kernel();
    sett_for (b, i, 0, 1.5, 1) { line = __LINE__; }
    expect(b, SETT_E_ARGUMENT, line, "sett_for: the second bound must be an integer, not 1.5");
    b = kernel();
    sett_thread_idx(b, 3); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_thread_idx: dim is 3, it may be 0, 1 or 2");
}
END_TEST

START_TEST(warp_index)
{
    sett_build *b = kernel();
    sett_block(b, 8, 16);
    sett_printf(b, "{} {}", sett_warp_idx(b), sett_lane_idx(b));
    expect_ops(b,
        "%0 = const i32 8\n"
        "%1 = tid.y i32\n"
        "%2 = tid.x i32\n"
        "%3 = const i32 5\n"
        "%4 = lane i32\n"
        "%5 = mul i32 %1, %0\n"
        "%6 = add i32 %2, %5\n"
        "%7 = shr i32 %6, %3 nonneg\n"
        "printf \"%d %d\\n\", %7, %4\n");
}
END_TEST

START_TEST(shuffles)
{
    sett_build *b = kernel();
    sett_val *d = sett_scalar(b, "d", SETT_F64);
    sett_printf(b, "{}", sett_shuffle_sync_down(d, 1, 32));
    expect_ops(b,
        "%0 = scalar f64 d\n"
        "%1 = const i32 1\n"
        "%2 = bitcast u32x2 %0\n"
        "%3 = shfl.down u32x2 %2, %1\n"
        "%4 = bitcast f64 %3\n"
        "printf \"%f\\n\", %4\n");
    b = kernel();
    sett_val *x = sett_scalar(b, "x", SETT_F32);
    int line;
    sett_shuffle_sync(x, 0, 12); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_shuffle_sync: the width is 12, it must be 2, 4, 8, 16 or 32");
    b = kernel();
    x = sett_scalar(b, "x", SETT_F32);
    sett_shuffle_sync_bfly(x, 32, 32); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_shuffle_sync_bfly: the lane is 32, it may be 0 to 31");
    b = kernel();
    x = sett_scalar(b, "x", SETT_F32);
    sett_warp_reduce(x, SETT_SUB, 32); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_warp_reduce: the operation must be ADD, MUL, MIN, MAX, AND, OR or XOR");
}
END_TEST

/* Of the indices that take no dimension. */
static sett_val *undimensioned(sett_site site, sett_build *b, int which)
{
    return which == 2 ? sett_lane_idx_at(site, b) : which == 3 ? sett_lanemask_at(site, b, "sett_lanemask_lt", SETT_LANEMASK_LT) : sett_warp_idx_at(site, b);
}

/* An index in a grid or block that was never said is 0 in every thread: a mistake, told at its line. */
START_TEST(launch_must_be_said)
{
    static const char *const names[] = {
        "sett_thread_idx", "sett_block_dim", "sett_lane_idx", "sett_lanemask_lt", "sett_warp_idx", "sett_block_idx", "sett_grid_dim"};
    sett_val *(*const index[])(sett_site, sett_build *, int) = {
        sett_thread_idx_at, sett_block_dim_at, NULL, NULL, NULL, sett_block_idx_at, sett_grid_dim_at};
    for (int i = 0; i < 7; i++)
        for (int said = 0; said < 2; said++) {
            sett_build *b = kernel();
            char want[200];
            const char *what = i < 5 ? "block" : "grid";
            if (i < 5)
                sett_grid(b, 7);
            else
                sett_block(b, 32);
            int line = __LINE__ + 1;
            sett_val *x = index[i] ? index[i](SETT_HERE, b, 1) : undimensioned(SETT_HERE, b, i);
            sett_printf(b, "{}", x);
            if (said && i < 5)
                sett_block(b, sett_scalar(b, "n", SETT_I32));
            else if (said)
                sett_grid(b, 3);
            snprintf(want, sizeof want, "%s: the %s was never said: sett_%s(b, ...)", names[i], what, what);
            if (!said)
                expect(b, SETT_E_ARGUMENT, line, want);
            else
                free(ops_text(b));
        }
}
END_TEST

/* `continue` in an if leaves only the recording of its branch, which the report tells; so does an empty else. */
START_TEST(empty_branches_are_reported)
{
    sett_build *b = kernel();
    sett_val *n = sett_scalar(b, "n", SETT_I32);
    char want[500];
    int line[2];
    sett_for (b, i, 0, 4, 1) {
        sett_if (b, sett_lt(i, n)) { line[0] = __LINE__;
            continue;
        }
        sett_if (b, sett_lt(n, i))
            ;
        sett_else (b)
            sett_sync_warp(b);
        sett_if (b, sett_lt(n, 7))
            sett_sync_warp(b);
        sett_else (b) { line[1] = __LINE__;
            continue;
        }
        sett_for (b, j, 0, 2, 1)
            sett_sync_warp(b);
    }
    const char *text = "this branch records nothing; a C `continue` does not leave a loop of the kernel";
    snprintf(want, sizeof want, "%s:%d: sett_if: %s\n%s:%d: sett_else: %s\n", __FILE__, line[0], text, __FILE__, line[1], text);
    ck_assert_str_eq(sett__report_text(b), want);
    free(ops_text(b));
}
END_TEST

/* ---- printing ---------------------------------------------------------------------------- */
#define PRINTS(want, ...) \
    do { \
        b = kernel(); \
        n = sett_scalar(b, "n", SETT_I32); \
        f = sett_scalar(b, "f", SETT_F16); \
        u = sett_scalar(b, "u", SETT_U64); \
        sett_printf(b, __VA_ARGS__); \
        ck_assert_msg(!b->error.status, "%s", b->error.text); \
        const sett__op *op = &b->op[b->tail]; \
        ck_assert_int_eq(op->code, SETT__PRINTF); \
        ck_assert_str_eq(b->string[op->imm], want); \
        free(ops_text(b)); /* the verifier takes it too */ \
    } while (0)

START_TEST(formats)
{
    sett_build *b;
    sett_val *n, *f, *u;
    PRINTS("hello\n", "hello");
    PRINTS("a\n", "a\n");
    PRINTS("\n", "");
    PRINTS("100%%\n", "100%%");
    PRINTS("100%%\n", "100%");
    PRINTS("%d and %f\n", "{} and {}", n, f);
    PRINTS("%llu\n", "{}", u);
    PRINTS("(16,%d,(2,_))\n", "{}", SETT_T(16, n, SETT_T(2, SETT_ALL)));
    PRINTS("(4,%d):(1,4)\n", "{}", sett_make_layout(b, SETT_T(4, n)));
    PRINTS("3 1.500000 -7\n", "{} {} %d", 3, 1.5, -7);
    PRINTS("{{%d}}\n", "{{{}}}", n);
    PRINTS("{:d} {0}\n", "{:d} {0}");
    PRINTS("%10.3f|%-5d|%llx|%hhd\n", "%10.3f|%-5d|%lx|%hhd", f, n, u, n);
    PRINTS("    7 %%\n", "%5d %", 7);
    PRINTS("0x%llx\n", "%p", u);
    PRINTS("1@0@1\n", "{}", sett_get(sett_get(sett_stride(sett_make_identity_layout(b, 2, SETT_T(3, 4))), 1), 0));
    PRINTS("%d, (1,2), 1.000000\n", NULL, n, SETT_T(1, 2), 1.0);
}
END_TEST

START_TEST(formats_refused)
{
    sett_build *b = kernel();
    int line;
    sett_printf(b, "%d"); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_printf: 0 operands for 1 mark: {} and C conversions are marks, {0} and {:d} are text");
    static const struct {
        const char *format, *want;
        int n;
    } counts[] = {{"{} {}", "1 operand for 2 marks", 1}, {"{}", "2 operands for 1 mark", 2}, {"%d", "2 operands for 1 mark", 2},
        {"{{}}", "0 operands for 1 mark", 0}, {"{0} {:.2f} %% 100%", "1 operand for 0 marks", 1}, {"%% %d {}", "3 operands for 2 marks", 3}};
    for (size_t i = 0; i < SETT__COUNT(counts); i++) {
        char want[200];
        b = kernel();
        sett_printf_n(SETT_HERE, b, counts[i].format, counts[i].n, (const sett_arg[]){SETT_A(1), SETT_A(2), SETT_A(3)}); line = __LINE__;
        snprintf(want, sizeof want, "sett_printf: %s: {} and C conversions are marks, {0} and {:d} are text", counts[i].want);
        expect(b, SETT_E_ARGUMENT, line, want);
    }
    b = kernel();
    sett_printf(b, "%s", 3); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_printf: %s: a kernel has no strings");
    b = kernel();
    sett_printf(b, "%f", sett_thread_idx(b, 0)); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_printf: %f takes a float; operand 0 is i32");
    b = kernel();
    sett_printf(b, "%d", sett_scalar(b, "x", SETT_F32)); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_printf: %d takes an integer; operand 0 is f32");
    b = kernel();
    sett_printf(b, "%d", sett_scalar(b, "x", SETT_I64)); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_printf: %d takes 32 bits and the operand has 64: use %lld");
    b = kernel();
    sett_printf(b, "%d", SETT_T(1, 2)); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_printf: %d takes a number, not (1,2): use {}");
    b = kernel();
    sett_printf(b, "{}", SETT_T(1.5, 2)); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_printf: a tuple holds integers, not floats");
    b = kernel();
    sett_printf(b, "{}", sett_full(b, SETT_F32, SETT_T(2, 3), 0)); line = __LINE__;
    expect(b, SETT_E_RANK, line, "sett_printf: a value of shape (2,3) has no one number: sett_print_tensor prints it");
}
END_TEST

/* As many ops for a large tensor as for a small one. */
START_TEST(print_tensor_is_a_loop)
{
    uint32_t n[2];
    for (int i = 0; i < 2; i++) {
        sett_build *b = kernel();
        int64_t side = i ? 4096 : 8;
        sett_tensor *x = sett_param(b, "X", SETT_F32, sett_make_layout(b, SETT_T(side, side, 7)));
        sett_print_tensor(x);
        sett_print_tensor(x, .verbose = true);
        sett_printf(b, "{}", x);
        n[i] = b->n_op;
        free(ops_text(b));
    }
    ck_assert_uint_le(n[1], n[0] + 8); /* constants */
    ck_assert_uint_lt(n[0], 400);
}
END_TEST

START_TEST(print_tensor_refused)
{
    sett_build *b = kernel();
    int line;
    sett_print_tensor(sett_scalar(b, "x", SETT_F32)); line = __LINE__;
    expect(b, SETT_E_RANK, line, "sett_print_tensor: a scalar of f32 has no elements: sett_printf prints it");
    b = kernel();
    const sett_print_tensor_args layout = {sizeof layout, sett_arg_l(sett_make_layout(b, SETT_T(4, sett_sym(b, "N")))), false};
    sett_print_tensor_at(SETT_HERE, &layout); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_print_tensor: a tensor or a value with a shape is printed, not (4,N):(1,4): use sett_printf");
    b = kernel();
    sett_printf(b, "{}", sett_identity_tensor(b, 2, 3)); line = __LINE__;
    expect(b, SETT_E_SPACE, line, "sett_printf: the tensor of coordinates (2,3):(1@0,1@1) lies in no memory: sett_print_tensor prints it");
    b = kernel();
    sett_printf(b, "%d", sett_make_rmem_tensor(b, SETT_I32, 4)); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_printf: %d takes a number, not tensor<ptr<i32, rmem, align<32>> o 4:1>: use {}");
    b = kernel();
    sett_print_tensor((sett_tensor *)NULL);
    sett_print_tensor((sett_val *)NULL);
    sett_print_tensor_at(SETT_HERE, NULL);
    sett_print_tensor_at(SETT_HERE, &(sett_print_tensor_args){.what = sett_arg_i(3)}); /* no size: nothing is read */
    sett_printf(b, "{}", (sett_tensor *)NULL); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_printf: the tensor is NULL, or comes of a call that was given NULL");
    b = sett_build_begin();
    sett_print_tensor(sett_identity_tensor(b, 4)); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_print_tensor: is possible only in a kernel's body");
}
END_TEST

Suite *control_suite(void)
{
    Suite *s = suite_create("control");
    TCase *t = tcase_create("control");
    tcase_add_test(t, empty_regions_go);
    tcase_add_test(t, if_else_for);
    tcase_add_test(t, loops_take_64_bits);
    tcase_add_test(t, while_ops);
    tcase_add_test(t, while_misused);
    tcase_add_test(t, unroll_misused);
    tcase_add_test(t, unrolled_ops);
    tcase_add_test(t, unrolled_far);
    tcase_add_test(t, left_by_break);
    tcase_add_test(t, continue_ends_the_body);
    tcase_add_test(t, left_by_return);
    tcase_add_test(t, else_needs_its_if);
    tcase_add_test(t, values_stay_inside);
    tcase_add_test(t, every_value_stays_inside);
    tcase_add_test(t, values_of_layouts_stay_inside);
    tcase_add_test(t, made_again_outside);
    tcase_add_test(t, misuse_of_regions);
    tcase_add_test(t, warp_index);
    tcase_add_test(t, shuffles);
    tcase_add_test(t, launch_must_be_said);
    tcase_add_test(t, empty_branches_are_reported);
    tcase_add_test(t, formats);
    tcase_add_test(t, formats_refused);
    tcase_add_test(t, print_tensor_is_a_loop);
    tcase_add_test(t, print_tensor_refused);
    suite_add_tcase(s, t);
    return s;
}
