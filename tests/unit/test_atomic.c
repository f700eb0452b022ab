/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics on views: how wide the builder makes them and what it says of it, and their PTX on three generations, which the
 * assembler takes where there is one. What they compute: conform_atomic.c. */
#define SETT_SHORT
#include "tests/rig/match.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

/* ---- PTX ---------------------------------------------------------------------------------------- */
static const struct { sett_dtype dtype; uint32_t n; const char *sub; bool shared; const char *target, *want; } vectors[] = {
    {SETT_F32, 4, "add", false, "sm_90", "CHECK: .version 8.1\nCHECK: .relaxed.gpu.global.add.v4.f32\nNOT: .relaxed.\nCHECK: ret"},
    {SETT_F32, 2, "add", false, "sm_90a", "CHECK: .version 8.1\nCHECK: .relaxed.gpu.global.add.v2.f32\nNOT: .relaxed.\nCHECK: ret"},
    {SETT_F16, 8, "add", false, "sm_90", "CHECK: .relaxed.gpu.global.add.noftz.v4.f16x2\nNOT: .relaxed.\nCHECK: ret"},
    {SETT_BF16, 8, "add", false, "sm_90", "CHECK: .relaxed.gpu.global.add.noftz.v4.bf16x2\nNOT: .relaxed.\nCHECK: ret"},
    {SETT_BF16, 4, "add", false, "sm_100", "CHECK: .relaxed.gpu.global.add.noftz.v2.bf16x2\nNOT: .relaxed.\nCHECK: ret"},
    {SETT_BF16, 2, "add", false, "sm_90", "CHECK: .relaxed.gpu.global.add.noftz.bf16x2\nNOT: .relaxed.\nCHECK: ret"},
    {SETT_F16, 2, "add", false, "sm_75", "CHECK: .version 6.3\nCHECK: .relaxed.gpu.global.add.noftz.f16x2\nNOT: .relaxed.\nCHECK: ret"},
    {SETT_F16, 4, "add", true, "sm_90", "CHECK: .relaxed.cta.shared.add.noftz.f16x2\nCHECK: .relaxed.cta.shared.add.noftz.f16x2\nNOT: .relaxed.\nCHECK: ret"},
    {SETT_F16, 8, "add", false, "sm_80",
        "CHECK: .version 7.0\nCHECK: add.noftz.f16x2\nCHECK: add.noftz.f16x2\nCHECK: add.noftz.f16x2\nCHECK: add.noftz.f16x2\nNOT: .relaxed.\nCHECK: ret"},
    {SETT_BF16, 2, "add", false, "sm_80", "NOT: bf16x2\nCHECK: atom.relaxed.gpu.global.cas.b16\nCHECK: atom.relaxed.gpu.global.cas.b16\nCHECK: ret"},
    {SETT_F32, 4, "add", false, "sm_80",
        "CHECK: .version 7.0\nCHECK: global.add.f32\nCHECK: global.add.f32\nCHECK: global.add.f32\nCHECK: global.add.f32\nNOT: .relaxed.\nCHECK: ret"},
    {SETT_F32, 2, "add", true, "sm_90", "CHECK: shared.add.f32\nCHECK: shared.add.f32\nNOT: .relaxed.\nCHECK: ret"},
    {SETT_I32, 2, "add", false, "sm_90", "CHECK: .version 7.8\nCHECK: global.add.u32\nCHECK: global.add.u32\nNOT: .relaxed.\nCHECK: ret"},
    {SETT_F32, 2, "max", false, "sm_90", "CHECK: .version 7.8\nCHECK: cas.b32\nCHECK: cas.b32\nNOT: .relaxed.\nCHECK: ret"},
    {SETT_I32, 2, "cas", false, "sm_90", "CHECK: cas.b32\nCHECK: cas.b32\nNOT: .relaxed.\nCHECK: ret"}};

/* The kernel as text, of which the atomic is one op: by lane, under a predicate or not, with a reader or without. */
static const char kernel[] =
    "sett tape 2\nparam A %s (4096):(1) align 16 read write\nblock 32\nsmem 1024 align 16\n%%0 = tid.x i32\n%%1 = param %s A\n"
    "%%2 = smem %sx64 at 0\n%%3 = const i32 %u\n%%4 = mul i32 %%0, %%3\n%%5 = load %sx%u %%1[%%4] align 2\n"
    "%%6 = gt i1 %%0, %%3\n%%7 = load %s %%1[%%0] align 2\n%%8 = atom.%s %sx%u %%%d[%%4] %%5%s%s\n%s";

START_TEST(of_targets)
{
    if (!have_compiler())
        return;
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    const char *type = sett_dtype_name(vectors[_i].dtype);
    const uint32_t n = vectors[_i].n;
    sett_kernel_info info = {.size = sizeof info};
    sett_error err = {0};
    sett_engine *e;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    for (int form = 0; form < 4; form++) {
        char text[1024], use[64];
        sett_kernel *k;
        snprintf(use, sizeof use, "store %%1[%%4 + 512] %sx%u %%8 align 2\n", type, n);
        snprintf(text, sizeof text, kernel, type, type, type, n, type, n, type, vectors[_i].sub, type, n, vectors[_i].shared ? 2 : 1, strcmp(vectors[_i].sub, "cas") ? "" : " was %7",
            form & 1 ? " pred %6" : "", form & 2 ? use : "");
        sett_compile_options o = {.size = sizeof o, .target = vectors[_i].target};
        sett_status s = sett_compile_tape(e, text, strlen(text), &o, &k, &err);
        o.ptx_only = s == SETT_E_NO_ASSEMBLER;
        if (o.ptx_only)
            s = sett_compile_tape(e, text, strlen(text), &o, &k, &err);
        ck_assert_msg(!s, "%s\n%s", err.text, text);
        ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
        char *bad = match(info.ptx, vectors[_i].want);
        ck_assert_msg(!bad, "%s: %s\n%s", o.target, bad, info.ptx);
        const bool read = form & 2 || strstr(vectors[_i].want, "cas"); /* else a red, which gives nothing */
        ck_assert_msg(!strstr(info.ptx, "red.relaxed") == read && !strstr(info.ptx, "atom.relaxed") == !read, "form %d:\n%s", form, info.ptx);
        sett_kernel_release(k);
    }
    sett_engine_close(e);
}
END_TEST

/* ---- widths --------------------------------------------------------------------------------------- */
typedef struct row {
    int div, align;
    sett_dtype dtype;
} row;

static void add_rows(sett_build *b, const void *user)
{
    const row *p = user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N", .div = p->div);
    sett_tensor *A = sett_param(b, "A", p->dtype, sett_row_major(b, M, N), .align = p->align);
    sett_tensor *S = sett_make_smem_tensor(b, p->dtype, sett_make_layout(b, 64), 16);
    sett_grid(b, M);
    sett_block(b, 32);
    sett_val *x = sett_full(b, p->dtype, 8, 1);
    sett_tensor *at = sett_slice(sett_local_tile(A, T(1, 8), T(sett_block_idx(b, 0), sett_thread_idx(b, 0))), 0, ALL);
    sett_atomic_add(at, x, ALL);
    sett_atomic_max(at, x, ALL);
    sett_atomic_add(sett_local_tile(S, T1(8), T1(1)), x, ALL);
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

#define ck_count(text, what, n) \
    ck_assert_msg(count(text, what) == (n), "%d times \"%s\", not %d, in\n%.2500s", count(text, what), what, n, text)

/* The tape's text and the report of a body. */
static char *recorded(sett_body f, const void *user, char *report, size_t size)
{
    sett__tape tape = {0};
    sett_error e = {0};
    char *text = NULL;
    sett_build *b = sett__build_new(NULL, true);
    ck_assert_ptr_nonnull(b);
    f(b, user);
    snprintf(report, size, "%s", sett__report_text(b));
    ck_assert_msg(!sett__build_finish(b, &tape, &e), "%s", e.text);
    ck_assert_msg(!sett__tape_print(&tape, false, NULL, &text, &e), "%s", e.text);
    sett__tape_free(&tape);
    sett_build_end(b, NULL);
    return text;
}

START_TEST(widths)
{
    static const struct { row of; const char *gmem, *smem, *single, *lost; int n[3]; } rows[] = {
        {{8, 16, SETT_F16}, "atom.add f16x8 ", "atom.add f16x2 ", "atom.add f16 ", NULL, {1, 4, 0}},
        {{4, 16, SETT_BF16}, "atom.add bf16x4 ", "atom.add bf16x2 ", "atom.add bf16 ", "sett_atomic_add: A (8):(1): 2 x 8 bytes; have 8 bytes, need 16: offset N*", {2, 4, 0}},
        {{4, 16, SETT_F32}, "atom.add f32x4 ", "atom.add f32x2 ", "atom.add f32 ", NULL, {2, 0, 8}},
        {{8, 8, SETT_F32}, "atom.add f32x2 ", "atom.add f32x4 ", "atom.add f32 ", "have 8 bytes, need 16: the alignment of A is 8 bytes", {4, 0, 8}},
        {{1, 4, SETT_F32}, "atom.add f32x", "atom.add f32x", "atom.add f32 ", "have 4 bytes, need 16", {0, 0, 16}},
        {{8, 16, SETT_I32}, "atom.add i32x", "atom.add i32x", "atom.add i32 ", NULL, {0, 0, 16}},
        {{8, 16, SETT_F64}, "atom.add f64x", "atom.add f64x", "atom.add f64 ", NULL, {0, 0, 16}}};
    for (size_t i = 0; i < SETT__COUNT(rows); i++) {
        char report[2048];
        char *t = recorded(add_rows, &rows[i].of, report, sizeof report);
        ck_count(t, rows[i].gmem, rows[i].n[0]);
        ck_count(t, rows[i].smem, rows[i].n[1]);
        ck_count(t, rows[i].single, rows[i].n[2]);
        ck_count(t, "atom.max ", 8);
        ck_assert_msg(!rows[i].lost || strstr(report, rows[i].lost), "no \"%s\" in\n%s", rows[i].lost, report);
        ck_assert_msg(rows[i].lost || !strstr(report, "need"), "%s", report);
        free(t);
    }
}
END_TEST

/* A predicate that is NULL is none. */
static void unless(sett_build *b, const void *user)
{
    const bool *plain = user;
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_make_layout(b, 64), .align = 16), *r = sett_make_rmem_tensor(b, SETT_F32, 64);
    sett_block(b, 32);
    sett_fill(r, 1);
    if (*plain) {
        sett_copy(r, A);
        sett_atomic(A, SETT_ADD, 2, sett_thread_idx(b, 0));
        sett_atomic(A, SETT_ADD, 2, ALL);
    } else {
        sett_copy_if(NULL, r, A);
        sett_atomic_if(NULL, A, SETT_ATOMIC_ADD, 2, sett_thread_idx(b, 0));
        sett_atomic_if(NULL, A, SETT_ATOMIC_ADD, 2, ALL);
    }
}

START_TEST(null_is_no_predicate)
{
    char report[2048], *t[2];
    for (int i = 0; i < 2; i++)
        t[i] = recorded(unless, &(bool){i == 1}, report, sizeof report);
    ck_assert_str_eq(t[0], t[1]);
    free(t[0]);
    free(t[1]);
}
END_TEST

Suite *atomic_suite(void)
{
    Suite *s = suite_create("atomic");
    TCase *t = tcase_create("views");
    tcase_add_loop_test(t, of_targets, 0, (int)SETT__COUNT(vectors));
    tcase_add_test(t, widths);
    tcase_add_test(t, null_is_no_predicate);
    suite_add_tcase(s, t);
    return s;
}
