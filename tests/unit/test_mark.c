/* SPDX-License-Identifier: Apache-2.0 */
/* Marking: what is refused and how it is said, what a launch checks of it, one compile for tensors of a kind. What the
 * marks make of a layout is golden (tests/golden/dlpack); what kernels do with it is conform's. */
#define SETT_SHORT
#include "third_party/dlpack/dlpack.h"
#include "lib/print/print.h"
#include "tests/rig/recording.h"
#include <sett/dlpack.h>
#include <string.h>

static sett_engine *engine;
static sett_error err;
static const sett_stream CPU = {SETT_CPU, NULL};
static float memory[4096] __attribute__((aligned(256)));

static void set_up(void)
{
    sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_threads = 1};
    ck_assert_msg(!sett_engine_open(&engine, &o, &err), "%s", err.text);
}
static void tear_down(void)
{
    sett_engine_close(engine);
}

/* Of two modes, in the test's memory. */
static sett_buf buf(int64_t m, int64_t n, int64_t dm, int64_t dn)
{
    return (sett_buf){memory, SETT_F32, 2, {m, n}, {dm, dn}};
}

static sett_marked from(const sett_buf *t, int align, bool narrow)
{
    sett_marked m;
    ck_assert_msg(!sett_from_buf(t, align, narrow, &m, &err), "%s", err.text);
    return m;
}

/* ---- refusals ---------------------------------------------------------------------------------- */
START_TEST(buffers_are_refused)
{
    sett_buf t = buf(4, 6, 6, 1);
    sett_marked m;
    REFUSED(sett_from_buf(NULL, 0, false, &m, &err), SETT_E_ARGUMENT, "sett_from_buf: the buffer is NULL");
    REFUSED(
        sett_from_buf(&t, 0, false, NULL, &err), SETT_E_ARGUMENT, "sett_from_buf: the place for the result is NULL");
    REFUSED(sett_from_buf(&t, 12, false, &m, &err), SETT_E_ALIGN,
        "sett_from_buf: assumed_align is 12, it must be a power of two up to 65536");
    ck_assert_int_eq(sett_from_buf(&t, -16, false, &m, NULL), SETT_E_ALIGN);
    ck_assert_int_eq(sett_from_buf(&t, 1 << 17, false, &m, NULL), SETT_E_ALIGN);
    t.shape[1] = -1;
    REFUSED(sett_from_buf(&t, 0, false, &m, &err), SETT_E_SHAPE, "sett_from_buf: mode 1 is -1");
    t.rank = 9;
    REFUSED(sett_from_buf(&t, 0, false, &m, &err), SETT_E_RANK, "sett_from_buf: a buffer has 0 to 8 modes, not 9");
    t.dtype = (sett_dtype)99;
    REFUSED(sett_from_buf(&t, 0, false, &m, &err), SETT_E_DTYPE, "sett_from_buf: 99 is not an element type");
    REFUSED(sett_from_dlpack(NULL, 0, false, &m, &err), SETT_E_ARGUMENT, "the DLPack tensor is NULL");
}
END_TEST

START_TEST(layout_marks_are_refused)
{
    sett_buf t = buf(4, 6, 8, 1), back = buf(4, 6, -6, 1), ones = buf(4, 6, 1, 1),
             large = buf(INT64_C(1) << 31, 2, 2, 1);
    sett_marked m = from(&t, 0, false), was = m, b = from(&back, 0, false), o = from(&ones, 0, false),
                l = from(&large, 0, false), n = from(&large, 0, true), none = {0};
    REFUSED(sett_mark_layout_dynamic(NULL, 0, &err), SETT_E_ARGUMENT, "sett_mark_layout_dynamic: the tensor is NULL");
    REFUSED(sett_mark_layout_dynamic(&none, 0, &err), SETT_E_ARGUMENT,
        "sett_mark_layout_dynamic: this is no tensor that sett_from_buf filled");
    REFUSED(sett_mark_layout_dynamic(&m, 2, &err), SETT_E_RANGE,
        "sett_mark_layout_dynamic: leading_dim is 2, (4,6):(8,1) has modes -2 to 1");
    REFUSED(sett_mark_layout_dynamic(&m, -2, &err), SETT_E_SHAPE,
        "sett_mark_layout_dynamic: the leading mode 0 of (4,6):(8,1) has stride 8, not 1");
    ck_assert_mem_eq(&m, &was, sizeof m);
    REFUSED(sett_mark_layout_dynamic(&b, 1, &err), SETT_E_SHAPE,
        "sett_mark_layout_dynamic: mode 0 of (4,6):(-6,1) runs backwards; a dynamic stride is not negative");
    REFUSED(sett_mark_layout_dynamic(&o, SETT_DEDUCE, &err), SETT_E_ARGUMENT,
        "sett_mark_layout_dynamic: 2 modes of (4,6):(1,1) have stride 1: say which one leads");
    REFUSED(sett_mark_layout_dynamic(&l, 1, &err), SETT_E_RANGE,
        "sett_mark_layout_dynamic: mode 0 is 2147483648, a dynamic extent has 32 bits");
    REFUSED(sett_mark_layout_dynamic(&n, 1, &err), SETT_E_RANGE,
        "sett_mark_layout_dynamic: (2147483648,2):(2,1) spans more elements than 32-bit strides reach");
    sett_forget_sizes(&m);
    REFUSED(sett_mark_layout_dynamic(&m, 1, &err), SETT_E_ARGUMENT,
        "sett_mark_layout_dynamic: sett_forget_sizes was the last call on this tensor");
    sett_forget_sizes(NULL);
}
END_TEST

START_TEST(compact_marks_are_refused)
{
    sett_buf t = buf(4, 6, 6, 1), wide = buf(4, 6, 8, 1), row = buf(1, 6, 1, 1);
    sett_marked m = from(&t, 0, false), was = m, w = from(&wide, 0, false), r = from(&row, 0, false);
    const int rows[] = {0, 1}, columns[] = {1, 0}, twice[] = {1, 1}, past[] = {0, 2};
#define COMPACT(m, mode, order, div) sett_mark_compact_shape_dynamic(m, mode, order, div, &err)
    REFUSED(COMPACT(NULL, 0, NULL, 1), SETT_E_ARGUMENT, "sett_mark_compact_shape_dynamic: the tensor is NULL");
    REFUSED(
        COMPACT(&m, -1, NULL, 1), SETT_E_RANGE, "sett_mark_compact_shape_dynamic: mode is -1, (4,6):(6,1) has 2 modes");
    REFUSED(COMPACT(&m, 0, NULL, 0), SETT_E_ARGUMENT,
        "sett_mark_compact_shape_dynamic: divisibility is 0, it must be positive");
    REFUSED(COMPACT(&m, 1, NULL, 4), SETT_E_DIVIDE,
        "sett_mark_compact_shape_dynamic: mode 1 of (4,6):(6,1) is not a multiple of 4");
    REFUSED(COMPACT(&m, 0, twice, 1), SETT_E_ARGUMENT,
        "sett_mark_compact_shape_dynamic: stride_order names mode 1 twice; it is each mode of (4,6):(6,1) once, the "
        "slowest first");
    REFUSED(COMPACT(&m, 0, past, 1), SETT_E_ARGUMENT,
        "sett_mark_compact_shape_dynamic: stride_order names mode 2; it is each mode of (4,6):(6,1) once, the slowest "
        "first");
    REFUSED(COMPACT(&m, 0, columns, 1), SETT_E_SHAPE,
        "sett_mark_compact_shape_dynamic: (4,6):(6,1) is not compact in the order (1,0)");
    ck_assert_mem_eq(&m, &was, sizeof m);
    REFUSED(COMPACT(&w, 0, NULL, 1), SETT_E_SHAPE,
        "sett_mark_compact_shape_dynamic: (4,6):(8,1) is not compact in any order of its modes");
    REFUSED(COMPACT(&r, 0, NULL, 1), SETT_E_ARGUMENT,
        "sett_mark_compact_shape_dynamic: (1,6):(1,1) is compact in several orders of its modes: give stride_order");
    ck_assert_msg(!COMPACT(&r, 0, rows, 1), "%s", err.text);
    REFUSED(COMPACT(&r, 1, columns, 1), SETT_E_ARGUMENT,
        "sett_mark_compact_shape_dynamic: stride_order is (1,0), an earlier mark had another");
    ck_assert_msg(!COMPACT(&r, 1, NULL, 1), "%s", err.text); /* the order is known by now */
}
END_TEST

/* ---- the parameter ------------------------------------------------------------------------------ */
START_TEST(parameters_are_refused)
{
    sett_buf none = buf(0, 6, 6, 1), t = buf(4, 6, 6, 1);
    sett_marked empty = from(&none, 0, false), m = from(&t, 0, false), bad = m;
    const char *text;
    bad.kind = 2, bad.order[0] = bad.order[1] = 1;
    sett_mark_layout_dynamic(&m, 1, NULL);
    const struct {
        const sett_marked *m;
        const char *name, *text;
    } cases[] = {
        {NULL, "X", "sett_param_marked: X: the tensor is NULL"},
        {&bad, "X", "sett_param_marked: X: this is no tensor that sett_from_buf filled"},
        {&empty, "X", "sett_param_marked: X: mode 0 has no elements: mark it dynamic"},
        {&m, "2x", "sett_sym: a name is 1 to 255 letters, digits and _, not starting with a digit: \"2x_shape0\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sett_build *b = sett__build_new(NULL, true);
        char want[300];
        int line = __LINE__ + 1;
        sett_param_marked(b, cases[i].name, cases[i].m);
        snprintf(want, sizeof want, "%s:%d: %s", __FILE__, line, cases[i].text);
        ck_assert_int_ne(sett_build_status(b, &text), SETT_OK);
        ck_assert_str_eq(text, want);
        sett_build_end(b, NULL);
    }
    ck_assert_ptr_null(sett_param_marked(NULL, "X", &m));
}
END_TEST

/* Dynamic extents are 32 bits; what they could reach decides how wide offsets are, unless strides have 32 bits. */
START_TEST(offsets_are_as_wide_as_needed)
{
    const struct {
        int64_t m, n;
        bool narrow, layout, wide;
    } cases[] = {{30, 20, false, false, true}, {30, 20, true, false, false}, {30, 20, false, true, true},
        {1, 30, false, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sett_buf t = buf(cases[i].m, cases[i].n, cases[i].n, 1);
        sett_marked m = from(&t, 0, cases[i].narrow);
        if (cases[i].layout)
            ck_assert(!sett_mark_layout_dynamic(&m, 1, &err));
        else
            ck_assert_msg(!sett_mark_compact_shape_dynamic(&m, 0, NULL, 1, &err), "%s", err.text);
        sett_build *b = sett__build_new(NULL, true);
        sett_param_marked(b, "X", &m);
        ck_assert_int_eq(b->sig.param[0].wide, cases[i].wide);
        sett_build_end(b, NULL);
    }
    sett_buf line = sett_buf_1d(memory, SETT_F32, 30);
    sett_marked m = from(&line, 0, false);
    ck_assert(!sett_mark_layout_dynamic(&m, 0, &err));
    sett_build *b = sett__build_new(NULL, true);
    sett_param_marked(b, "X", &m);
    ck_assert_int_eq(b->sig.param[0].wide, false); /* 2^31 - 1 elements side by side */
    sett_build_end(b, NULL);
}
END_TEST

/* ---- launches -------------------------------------------------------------------------------------- */
static void twice(sett_build *b, const void *user)
{
    sett_tensor *X = sett_param_marked(b, "X", (const sett_marked *)user);
    sett_grid(b, sett_get(sett_shape(X), 0));
    sett_val *row = sett_block_idx(b, 0);
    sett_for (b, j, 0, sett_get(sett_shape(X), 1), 1)
        sett_set(X, sett_mul(sett_at(X, row, j), 2), row, j);
}

static sett_kernel *compile(const sett_marked *m)
{
    const sett_compile_options o = {
        .size = sizeof o, .name = "twice", .user = m, .user_size = sizeof *m, .target = "cpu"};
    sett_kernel *k;
    ck_assert_msg(!sett_compile(engine, twice, &o, &k, &err), "%s", err.text);
    return k;
}

/* Launches on an (m,n):(dm,dn) that begins `at` elements from 256 bytes; text NULL: it runs. */
static void launch(sett_kernel *k, int64_t m, int64_t n, int64_t dm, int64_t dn, int at, const char *text)
{
    sett_buf t = buf(m, n, dm, dn);
    t.data = memory + at;
    for (int i = 0; i < 4096; i++)
        memory[i] = 1;
    err.text[0] = 0;
    sett_status s = sett_launch(k, CPU, &err, &t);
    ck_assert_msg(!s == !text, "%s", err.text);
    if (text)
        ck_assert_str_eq(err.text, text);
    int changed = 0;
    for (int i = 0; i < 4096; i++)
        changed += memory[i] == 2;
    ck_assert_int_eq(changed, text ? 0 : m * n);
}

START_TEST(launches_check_a_layout_mark)
{
    sett_buf t = buf(4, 6, 8, 1);
    sett_marked m = from(&t, 16, false);
    ck_assert(!sett_mark_layout_dynamic(&m, SETT_DEDUCE, &err));
    sett_kernel *k = compile(&m);
    launch(k, 4, 6, 8, 1, 0, NULL);
    launch(k, 9, 31, 40, 1, 4, NULL);
    launch(k, 1, 7, -5, 1, 0, NULL); /* the stride of one row says nothing */
    launch(k, 4, 6, 1, 8, 0, "twice: X's mode 1 must be contiguous: its stride is 8; X is (X_shape0,X_shape1)");
    char text[200];
    snprintf(text, sizeof text, "twice: X is at %p, which is not a multiple of 16 bytes", (void *)(memory + 1));
    launch(k, 4, 6, 8, 1, 1, text);
    launch(k, 4, 6, -8, 1, 400, "twice: X_stride0 = -8 (X stride 0) is negative");
    launch(k, INT64_C(1) << 31, 1, 1, 1, 0,
        "twice: X_shape0 = 2147483648 (X mode 0) is past 2^31 - 1: declare it .wide and form own indices from "
        "sett_to(sett_block_idx(b, 0), SETT_I64)");
    sett_kernel_release(k);
}
END_TEST

START_TEST(launches_check_a_compact_mark)
{
    sett_buf t = buf(4, 6, 6, 1);
    sett_marked m = from(&t, 0, true), rows = m;
    ck_assert_msg(!sett_mark_compact_shape_dynamic(&m, 1, NULL, 2, &err), "%s", err.text);
    ck_assert_msg(!sett_mark_compact_shape_dynamic(&rows, 0, NULL, 1, &err), "%s", err.text);
    sett_kernel *k = compile(&m), *by_rows = compile(&rows);
    launch(k, 4, 6, 6, 1, 0, NULL);
    launch(k, 4, 60, 60, 1, 0, NULL);
    launch(k, 4, 7, 7, 1, 0, "twice: X_shape1 = 7 (X mode 1) is not a multiple of 2");
    launch(k, 4, 6, 8, 1, 0, "twice: X stride 0 is 8, X mode 1 gives X_shape1 = 6");
    launch(k, 5, 6, 6, 1, 0, "twice: X mode 0 is 5, the kernel was made for 4");
    launch(k, 4, INT64_C(1) << 30, INT64_C(1) << 30, 1, 0,
        "twice: X spans 4294967296 elements, past the 2^31 of 32-bit offsets: declare its symbols .wide (of a marked tensor: no use_32bit_stride) and form own "
        "indices "
        "from sett_to(sett_block_idx(b, 0), SETT_I64)");
    launch(by_rows, 600, 6, 6, 1, 0, NULL);
    launch(by_rows, 5, 5, 5, 1, 0, "twice: X mode 1 is 5, the kernel was made for 6");
    sett_kernel_release(k);
    sett_kernel_release(by_rows);
}
END_TEST

/* Two DLPack tensors of a kind are one recording; those of another kind, another. */
START_TEST(tensors_of_a_kind_are_one_compile)
{
    int64_t shape[][2] = {{4, 6}, {9, 31}, {6, 4}}, stride[][2] = {{8, 1}, {40, 1}, {1, 6}};
    sett_kernel *k[3];
    for (int i = 0; i < 3; i++) {
        DLTensor t = {.data = memory,
            .device = {kDLCPU, 0},
            .ndim = 2,
            .dtype = {kDLFloat, 32, 1},
            .shape = shape[i],
            .strides = stride[i]};
        sett_marked m;
        ck_assert_msg(!sett_from_dlpack(&t, 16, false, &m, &err), "%s", err.text);
        ck_assert_msg(!sett_mark_layout_dynamic(&m, SETT_DEDUCE, &err), "%s", err.text);
        sett_forget_sizes(&m);
        k[i] = compile(&m);
    }
    sett_stats st = {.size = sizeof st};
    sett_engine_stats(engine, &st);
    ck_assert(k[0] == k[1] && k[0] != k[2] && st.records == 2 && st.memo_hits == 1);
    for (int i = 0; i < 3; i++)
        sett_kernel_release(k[i]);
}
END_TEST

Suite *mark_suite(void)
{
    Suite *s = suite_create("mark");
    TCase *t = tcase_create("mark");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_test(t, buffers_are_refused);
    tcase_add_test(t, layout_marks_are_refused);
    tcase_add_test(t, compact_marks_are_refused);
    tcase_add_test(t, parameters_are_refused);
    tcase_add_test(t, offsets_are_as_wide_as_needed);
    tcase_add_test(t, launches_check_a_layout_mark);
    tcase_add_test(t, launches_check_a_compact_mark);
    tcase_add_test(t, tensors_of_a_kind_are_one_compile);
    suite_add_tcase(s, t);
    return s;
}
