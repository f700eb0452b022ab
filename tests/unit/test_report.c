/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel's report says of its accesses, and conjunctions of predicates, which keep them wide. */
#define SETT_SHORT
#include "tests/rig/faces.h"
#include "tests/rig/folder.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <sett/cluster.h>
#include <sett/mma.h>
#include <stdlib.h>
#include <string.h>

enum { N = 1000, THREADS = 64, EACH = 8 };

/* ---- Y = X, EACH elements a thread, under some predicate --------------------------------- */
typedef enum how { BOUND, SCALAR_AND, AND_SCALAR, TWO_BOUNDS, TWO_SCALARS, C_TRUE, C_FALSE, AS_VALUE, ONE_COORDINATE } how;

static sett_tensor *mine(sett_build *b, sett_tensor *t)
{
    return sett_local_tile(t, EACH, sett_add(sett_mul(sett_block_idx(b, 0), THREADS), sett_thread_idx(b, 0)));
}

/* Even threads only; below the second bound only. */
static sett_val *predicate(sett_build *b, how h, sett_val *n, sett_val *m)
{
    sett_tensor *crd = sett_identity_tensor(b, N);
    sett_val *in = sett_elem_less(mine(b, crd), n), *lane = sett_thread_idx(b, 0);
    sett_val *even = sett_eq(sett_and(lane, 1), 0);
    switch (h) {
    case SCALAR_AND: return sett_and(even, in);
    case AND_SCALAR: return sett_and(in, even);
    case TWO_BOUNDS: return sett_and(in, sett_elem_less(mine(b, crd), m));
    case TWO_SCALARS: return sett_and(sett_and(in, even), sett_and(sett_lt(lane, 40), in));
    case C_TRUE: return sett_and(in, true);
    case C_FALSE: return sett_and(0, in);
    case AS_VALUE: return sett_or(sett_and(in, even), sett_lt(lane, 3));
    case ONE_COORDINATE: return sett_and(sett_elem_less(sett_slice(crd, sett_mul(lane, 16)), m), in);
    default: return in;
    }
}

static bool inside(how h, int i, int n, int m)
{
    int lane = i / EACH % THREADS;
    switch (h) {
    case SCALAR_AND:
    case AND_SCALAR: return i < n && lane % 2 == 0;
    case TWO_BOUNDS: return i < n && i < m;
    case TWO_SCALARS: return i < n && lane % 2 == 0 && lane < 40;
    case C_FALSE: return false;
    case AS_VALUE: return (i < n && lane % 2 == 0) || lane < 3;
    case ONE_COORDINATE: return lane * 16 < m && i < n;
    default: return i < n;
    }
}

static void copy(sett_build *b, const void *user)
{
    const how *h = user;
    sett_val *n = sett_scalar(b, "n", SETT_I32), *m = sett_scalar(b, "m", SETT_I32);
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_make_layout(b, 1024), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", SETT_F16, sett_make_layout(b, 1024), .align = 16);
    sett_grid(b, 1024 / (THREADS * EACH));
    sett_block(b, THREADS);
    sett_val *p = predicate(b, *h, n, m);
    sett_store(mine(b, Y), sett_load(mine(b, X), .pred = p), .pred = p);
}

#define WIDE \
    "1 x 16 bytes where a test finds all of its elements inside, else by element; a bound or " \
    "coordinate is not known to be a multiple of 8\n"
static const struct {
    how h;
    const char *widths;
} cases[] = {
    {BOUND, WIDE},
    {SCALAR_AND, WIDE},
    {AND_SCALAR, WIDE},
    {TWO_BOUNDS, WIDE},
    {TWO_SCALARS, WIDE},
    {C_TRUE, WIDE},
    {C_FALSE, WIDE},
    {ONE_COORDINATE, WIDE},
    {AS_VALUE, "8 x 2 bytes; have 2 bytes of 16: the predicate is a Boolean for each element, which only sett_elem_less and "
               "its sett_and test for several at once\n"},
};

/* The CPU's kernel has the report too; and what is guarded is what every element's own test says, folded or not. */
START_TEST(conjunctions)
{
    static uint16_t x[1024], y[1024];
    sett_engine *e = open_engine();
    sett_kernel *k;
    sett_kernel_info info = {.size = sizeof info};
    sett_error err = {0};
    const int bounds[][2] = {{1000, 500}, {997, 1000}, {3, 1000}, {0, 0}, {512, 511}};
    how h = cases[_i].h;
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &h};
    for (int i = 0; i < 1024; i++)
        x[i] = (uint16_t)(i + 1);
    for (int fold = 0; fold < 2; fold++) {
        sett_compile_options with = o;
        with.no_fold = !fold;
        ck_assert_msg(!sett_compile(e, copy, &with, &k, &err), "%s", err.text);
        sett_kernel_query(k, &info);
        if (fold) {
            char want[400];
            snprintf(want, sizeof want, "sett_load: X (8):(1): %s", cases[_i].widths);
            ck_assert_msg(strstr(info.report, want) != NULL, "%d: %s", (int)h, info.report);
        }
        for (size_t j = 0; j < SETT__COUNT(bounds); j++) {
            sett_buf X = sett_buf_1d(x, SETT_F16, 1024), Y = sett_buf_1d(y, SETT_F16, 1024);
            memset(y, 0xee, sizeof y);
            ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, bounds[j][0], bounds[j][1], &X, &Y), "%s", err.text);
            for (int i = 0; i < 1024; i++)
                ck_assert_int_eq(y[i], inside(h, i, bounds[j][0], bounds[j][1]) ? i + 1 : 0xeeee);
        }
        sett_kernel_release(k);
    }
    sett_engine_close(e);
}
END_TEST

/* A row for all rows: its elements at one address, each with a predicate of its own, are loaded once. */
typedef struct bias {
    int div;
    bool rows_first, by_row;
} bias;

static sett_tensor *of_thread(sett_build *b, sett_tensor *t, sett_tv tv)
{
    sett_tensor *tile = sett_local_tile(t, tv.tiler, T(sett_block_idx(b, 1), sett_block_idx(b, 0)));
    return sett_slice(sett_composition(tile, tv.tv), sett_thread_idx(b, 0), ALL);
}

static void broadcast_row(sett_build *b, const void *user)
{
    const bias *p = user;
    sett_val *M = sett_sym(b, "M", .div = 8), *cols = sett_sym(b, "N", .div = p->div);
    sett_tensor *B = sett_param(b, "B", SETT_BF16, sett_make_layout(b, T(M, cols), T(0, 1)), .align = 16);
    sett_layout *values = p->rows_first ? sett_make_layout(b, T(2, 8)) : sett_row_major(b, 2, 8);
    sett_tv tv = sett_make_layout_tv(sett_row_major(b, 4, 32), values);
    sett_grid(b, sett_ceil_div(cols, 256), sett_ceil_div(M, 8));
    sett_block(b, 128);
    sett_val *in = sett_elem_less(of_thread(b, sett_identity_tensor(b, M, cols), tv), T(M, cols));
    if (p->by_row) { /* one Boolean for each */
        sett_tensor *rows = sett_make_rmem_tensor(b, SETT_BOOL, sett_make_layout(b, T1(T(1, 2))));
        sett_set(rows, sett_lt(sett_thread_idx(b, 0), 5), 0);
        sett_set(rows, sett_lt(sett_thread_idx(b, 0), 7), 1);
        in = sett_load(rows);
    }
    sett_load(of_thread(b, B, tv), .pred = in);
}

START_TEST(broadcast_rows_stay_wide)
{
    static const struct {
        bias user;
        const char *line;
    } lines[] = {
        {{256, false, false}, "B ((8,2)):((1,0)): 1 x 16 bytes; 16 elements lie in 8 places, by a stride of 0, and each place is loaded once\n"},
        {{256, true, false}, "B ((2,8)):((0,1)): 1 x 16 bytes; 16 elements lie in 8 places"},
        {{1, false, false}, "B ((8,2)):((1,0)): 1 x 16 bytes where a test finds all of its elements inside, else by element; 16 elements lie in 8"},
        {{256, false, true}, "B ((8,2)):((1,0)): 1 x 16 bytes; 16 elements lie in 8 places"},
    };
    for (size_t i = 0; i < SETT__COUNT(lines); i++) {
        sett_build *b = sett__build_new(NULL, true);
        broadcast_row(b, &lines[i].user);
        const char *report = sett__report_text(b), *text;
        ck_assert_msg(!sett_build_status(b, &text), "%s", text);
        ck_assert_msg(strstr(report, lines[i].line) != NULL, "%zu: %s", i, report);
        sett_build_end(b, NULL);
    }
}
END_TEST

/* A kernel that came as a tape has none: what its layouts were is gone. */
START_TEST(tapes_have_no_report)
{
    sett_engine *e = open_engine();
    how h = BOUND;
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &h};
    sett_kernel_info info = {.size = sizeof info};
    sett_kernel *k;
    sett_error err = {0};
    void *tape;
    size_t len;
    ck_assert_msg(!sett_record(copy, &o, true, &tape, &len, &err), "%s", err.text);
    ck_assert_msg(!sett_compile_tape(e, tape, len, &o, &k, &err), "%s", err.text);
    sett_kernel_query(k, &info);
    ck_assert_str_eq(info.report, "");
    sett_kernel_release(k);
    sett_text_free(tape);
    sett_engine_close(e);
}
END_TEST

/* A NULL place is named by what is missing. */
START_TEST(tape_places_are_named)
{
    static const char *const calls[] = {"sett_record", "sett_kernel_tape"}, *const first[] = {"body", "kernel"};
    sett_engine *e = open_engine();
    how h = BOUND;
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &h};
    sett_kernel *k;
    sett_error err = {0};
    ck_assert_msg(!sett_compile(e, copy, &o, &k, &err), "%s", err.text);
    for (int call = 0; call < 2; call++)
        for (int missing = 0; missing < 3; missing++) {
            char want[100];
            void *tape, **at = missing == 1 ? NULL : &tape;
            size_t len, *room = missing == 2 ? NULL : &len;
            sett_status s = call ? sett_kernel_tape(missing ? k : NULL, true, at, room, &err)
                                 : sett_record(missing ? copy : NULL, &o, true, at, room, &err);
            ck_assert_int_eq(s, SETT_E_ARGUMENT);
            snprintf(want, sizeof want, "%s: the %s is NULL", calls[call],
                !missing ? first[call] : missing == 1 ? "place for the tape" : "place for its length");
            ck_assert_str_eq(err.text, want);
        }
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* ---- who and what ------------------------------------------------------------------------------ */
static void many(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "n", .div = 4), *t = sett_thread_idx(b, 0);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(n)), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T(n)), .align = 16);
    sett_grid(b, 1);
    sett_block(b, 64);
#line 98
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, 64, 0, .name = "sums");
    sett_tensor *R = sett_make_smem_tensor(b, SETT_F32, 64, 16);
    sett_set(S, sett_add(sett_add(sett_at(X, t), sett_at(X, sett_add(t, 1))), sett_at(X, sett_add(t, 2))), t);
    for (int i = 0; i < 20; i++)
        sett_set(R, sett_add(sett_at(X, i), sett_at(X, sett_add(t, i))), t);
    sett_for (b, row, 0, n, 3)
        sett_store(sett_local_tile(Y, 4, row), sett_load(sett_domain_offset(sett_local_tile(X, 4, 0), row)));
    sett_for (b, col, 0, n, 1, .unroll = 2)
        sett_store(sett_local_tile(Y, 4, 0), sett_load(sett_domain_offset(sett_local_tile(S, 4, 0), sett_add(col, 1))));
    sett_set(Y, sett_block_reduce(sett_at(R, t), SETT_MAX), t);
}

/* Each access by itself, also those of one line, but not those of each round of a C loop; shared memory by its name, or where it is
 * made; a loop's variable as the body calls it; what a call of the library does under the call's name. */
START_TEST(who_and_what)
{
#define AT(line) "tests/unit/test_report.c:" #line ": "
#define OF_X "sett_at: X (n{div=4}):(1): 1 x 4 bytes\n"
    static const char want[] =
        AT(100) OF_X AT(100) OF_X AT(100) OF_X
        AT(100) "sett_set: sums 64:1: 1 x 4 bytes\n"
        AT(102) OF_X AT(102) OF_X
        AT(102) "sett_set: smem@test_report.c:99 64:1: 1 x 4 bytes\n"
        AT(104) "sett_load: X (4):(1): 4 x 4 bytes; have 4 bytes, need 16: offset row{div=3} x 4 bytes: needs a multiple of 4 elements\n"
        AT(104) "sett_store: Y (4):(1): 1 x 16 bytes\n"
        AT(106) "sett_load: sums (4):(1): 1 x 8 bytes, 2 x 4 bytes; have 4 bytes, need 16: offset col{div=2} x 4 bytes: needs a multiple of 4 elements\n"
        AT(106) "sett_store: Y (4):(1): 1 x 16 bytes\n"
        AT(106) "sett_load: sums (4):(1): 2 x 8 bytes; have 8 bytes, need 16: offset col{div=2} x 4 bytes: needs a multiple of 4 elements\n"
        AT(106) "sett_load: sums (4):(1): 4 x 4 bytes; have 4 bytes, need 16: offset col x 4 bytes: needs a multiple of 4 elements\n"
        AT(107) "sett_at: smem@test_report.c:99 64:1: 1 x 4 bytes\n"
        AT(107) "sett_block_reduce: one a warp 2:1: 1 x 4 bytes\n"
        AT(107) "sett_set: Y (n{div=4}):(1): 1 x 4 bytes\n"
        "shared memory: 520 bytes a block\n";
    sett_engine *e = open_engine();
    sett_kernel *k;
    sett_kernel_info info = {.size = sizeof info};
    sett_error err = {0};
    const sett_compile_options o = {.size = sizeof o, .target = "cpu"};
    ck_assert_msg(!sett_compile(e, many, &o, &k, &err), "%s", err.text);
    sett_kernel_query(k, &info);
    ck_assert_str_eq(info.report, want);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* A row that may begin anywhere, and the same peeled: eight elements at a thread. */
static void edges(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "n"), *t = sett_thread_idx(b, 0);
    sett_tensor *X = sett_param(b, "X", SETT_F16, sett_row_major(b, 4, n), .align = 16);
    sett_tensor *row = sett_slice(X, sett_block_idx(b, 0), SETT_ALL), *crd[2];
    sett_grid(b, 4), sett_block(b, 64);
    sett_peeled x = sett_peel(row, 16);
    sett_val *end = sett_add(x.skip, n);
    crd[0] = sett_local_tile(sett_identity_tensor(b, T1(n)), T1(8), T1(t));
    crd[1] = sett_local_tile(sett_identity_tensor(b, T1(end)), T1(8), T1(t));
    row = sett_local_tile(row, T1(8), T1(t)), x.tensor = sett_local_tile(x.tensor, T1(8), T1(t));
    sett_store(row, sett_load(row, .pred = sett_elem_less(crd[0], T1(n))), .pred = sett_elem_less(crd[0], T1(n)));
    sett_val *in = sett_and(sett_elem_at_least(crd[1], T1(x.skip)), sett_elem_less(crd[1], T1(end)));
    sett_store(x.tensor, sett_load(x.tensor, .pred = in), .pred = in);
}

/* Of the address only where it is not known. */
START_TEST(tests_are_of_what_is_unknown)
{
    sett_engine *e = open_engine();
    sett_kernel *k;
    sett_kernel_info info = {.size = sizeof info};
    sett_error err = {0};
    const sett_compile_options o = {.size = sizeof o, .target = "cpu"};
    ck_assert_msg(!sett_compile(e, edges, &o, &k, &err), "%s", err.text);
    sett_kernel_query(k, &info);
    const char *line = info.report;
    for (int i = 0; i < 4; i++, line = strchr(line, '\n') + 1) {
        const char *want = i < 2 ? "1 x 16 bytes where a test finds all of its elements inside and aligned, else by element"
                                 : "1 x 16 bytes where a test finds all of its elements inside, else by element", *at = strstr(line, want);
        ck_assert_msg(at && at < strchr(line, '\n'), "line %d of\n%s", i, info.report);
    }
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* A number a row, for each sum of the row that a thread has, under a bound of rows and columns. */
static void by_rows(sett_build *b, const void *user)
{
    const int n = *(const int *)user;
    sett_val *rows = sett_sym(b, "M"), *columns = sett_sym(b, "N");
    sett_tensor *S = sett_param(b, "S", SETT_F32, sett_make_layout(b, T1(rows))), *Y = sett_param(b, "Y", SETT_F32, sett_row_major(b, rows, columns));
    sett_tensor *all[] = {sett_composition(S, sett_make_layout(b, T(rows, columns), T(1, 0))), sett_identity_tensor(b, rows, columns), Y};
    sett_tiled_mma *mma = sett_make_tiled_mma(sett_wgmma(b, .a = SETT_BF16, .b = SETT_BF16, .acc = SETT_F32, .n = n), T(2, 1, 1), ALL);
    sett_grid(b, sett_ceil_div(rows, 128)), sett_block(b, 256);
    for (int i = 0; i < 3; i++)
        all[i] = sett_partition_C(sett_get_slice(mma, sett_thread_idx(b, 0)), sett_local_tile(all[i], T(128, n), T(sett_block_idx(b, 0), 0)));
    sett_val *in = sett_elem_less(all[1], T(rows, columns));
    sett_store(all[2], sett_load(all[0], .pred = in), .pred = in);
}

START_TEST(broadcasts_stay_in_registers)
{
    sett_engine *e = open_engine();
    for (int n = 8; n <= 256; n += n < 128 ? 8 : 32) {
        const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = &n, .ptx_only = true};
        sett_kernel_info info = {.size = sizeof info};
        sett_error err;
        sett_kernel *k;
        ck_assert_msg(!sett_compile(e, by_rows, &o, &k, &err), "%s", err.text);
        sett_kernel_query(k, &info);
        ck_assert_msg(!strstr(info.ptx, "__local_depot"), "n = %d: local memory", n);
        sett_kernel_release(k);
    }
    sett_engine_close(e);
}
END_TEST

/* ---- registers ---------------------------------------------------------------------------------- */
typedef enum work { SCALED, NORMALIZED, EXPONENTS, SOFTMAX, IN_PLACE, BY_PARTS, N_WORKS } work;
typedef struct wide { work what; int elements, threads; } wide;

/* What a thread has are `elements` floats, all read before the first is written but for BY_PARTS. */
static void wide_body(sett_build *b, const void *user)
{
    const wide *w = user;
    sett_val *n = sett_sym(b, "n", .div = 8);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(n)), .align = 16), *x;
    sett_grid(b, sett_ceil_div(n, w->threads * w->elements)), sett_block(b, w->threads);
    x = sett_local_tile(X, T1(w->threads * w->elements), T1(sett_block_idx(b, 0)));
    x = sett_local_tile(x, T1(w->elements), T1(sett_thread_idx(b, 0)));
    if (w->what == BY_PARTS) {
        sett_for (b, i, 0, w->elements / 16, 1)
            sett_store(sett_local_tile(x, T1(16), T1(i)), sett_exp(sett_load(sett_local_tile(x, T1(16), T1(i)))));
        return;
    }
    sett_val *v = sett_load(x), *e = NULL;
    switch (w->what) {
    case NORMALIZED: v = sett_mul(v, sett_reduce(v, SETT_MAX, 0)); break;
    case EXPONENTS: v = sett_exp(v); break;
    case SOFTMAX: e = sett_exp(sett_sub(v, sett_reduce(v, SETT_MAX, 0))), v = sett_div(e, sett_reduce(e, SETT_ADD, 0)); break;
    case IN_PLACE: {
        sett_tensor *r = sett_make_rmem_tensor(b, SETT_F32, T1(w->elements));
        sett_store(r, v);
        sett_for (b, i, 0, n, 1)
            sett_store(r, sett_mul(sett_load(r), 2));
        v = sett_load(r);
        break;
    }
    default: v = sett_mul(v, 2);
    }
    sett_store(x, v);
}

typedef struct heard {
    int n;
    char message[500]; /* the last one */
} heard;
static void hear_spill(void *user, sett_log_level level, const char *component, const char *message)
{
    heard *h = user;
    if (level != SETT_LOG_WARNING || strcmp(component, "compile") || !strstr(message, "registers: a thread's values take about "))
        return;
    h->n++;
    snprintf(h->message, sizeof h->message, "%s", message);
}

/* The log has the report's line, and behind it the kernel, if it has a name. */
static bool told(sett_body body, const void *user, const char *name)
{
    heard h = {0};
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .log = hear_spill, .user = &h};
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = user, .name = name};
    sett_kernel_info info = {.size = sizeof info};
    sett_engine *e;
    sett_kernel *k;
    sett_error err;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err) && !sett_compile(e, body, &o, &k, &err), "%s", err.text);
    sett_kernel_query(k, &info);
    const char *line = strstr(info.report, "registers: ");
    bool found = line != NULL;
    ck_assert_int_eq(h.n, found);
    if (found) {
        char want[500];
        for (; line > info.report && line[-1] != '\n'; line--)
            ;
        snprintf(want, sizeof want, "%.*s%s%s", (int)strcspn(line, "\n"), line, name ? ", kernel " : "", name ? name : "");
        ck_assert_str_eq(h.message, want);
        ck_assert_msg(!strncmp(h.message, "tests/unit/test_report.c:", 20), "%s", h.message);
    }
    sett_kernel_release(k);
    sett_engine_close(e);
    return found;
}

/* More floats than registers: 256 of 255, and 64 of 64 in blocks of 1024 threads. */
START_TEST(many_values_are_told)
{
    for (work k = SCALED; k < N_WORKS; k++)
        for (int elements = 16; elements <= 1024; elements *= 2) {
            bool more = k != BY_PARTS && elements >= 256, of_many = k != BY_PARTS && elements >= 64;
            ck_assert_msg(told(wide_body, &(wide){k, elements, 32}, NULL) == more, "work %d, %d floats", (int)k, elements);
            ck_assert_msg(told(wide_body, &(wide){k, elements, 1024}, "wide") == of_many, "work %d, %d floats, 1024 threads", (int)k, elements);
        }
}
END_TEST

/* Who compiles is warned, if values did spill; who finds the kernel on disk has the line in its report. */
START_TEST(found_ones_are_not_told_again)
{
    const wide large = {NORMALIZED, 512, 32};
    char folder[64];
    heard h = {0};
    ck_assert(folder_make(folder));
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = folder, .no_gpu = true, .log = hear_spill, .user = &h};
    const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = &large};
    for (int i = 0; i < 2 && have_compiler(); i++) {
        sett_kernel_info info = {.size = sizeof info};
        sett_engine *e;
        sett_kernel *k;
        sett_error err;
        ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
        sett_status s = sett_compile(e, wide_body, &o, &k, &err);
        if (!s) {
            sett_kernel_query(k, &info);
            ck_assert_msg(strstr(info.report, "registers: a thread's values take about "), "%s", info.report);
            ck_assert_int_eq(h.n, 1);
            sett_kernel_release(k);
        }
        ck_assert_msg(!s || s == SETT_E_NO_ASSEMBLER, "%s", err.text);
        sett_engine_close(e);
    }
    folder_remove(folder);
}
END_TEST

/* ---- Booleans that nothing uses --------------------------------------------------------------- */
typedef enum how_used { BY_A_C_IF, BY_NOTHING, OF_TWO, OF_ONE, BY_SETT_IF, BY_WHERE, BY_A_PREDICATE, BY_FOLDING, OF_TWO_USED, BY_A_STORE, N_USES } how_used;

static void asking_body(sett_build *b, const void *user)
{
    const how_used use = *(const how_used *)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, 32));
    sett_grid(b, 1), sett_block(b, 32);
    sett_val *t = sett_thread_idx(b, 0), *less = sett_lt(t, 3), *both;
    switch (use) {
    case BY_A_C_IF:
        if (less)
            sett_set(X, 1, t);
        break;
    case BY_NOTHING: break;
    case OF_TWO: both = sett_and(less, sett_gt(t, 1)), (void)both; break;
    case OF_ONE:
        if (sett_not(less))
            sett_set(X, 1, t);
        break;
    case BY_SETT_IF:
        sett_if (b, less)
            sett_set(X, 1, t);
        break;
    case BY_WHERE: sett_set(X, sett_where(less, 1.0, 2.0), t); break;
    case BY_A_PREDICATE: sett_store(sett_local_tile(X, T1(1), T1(t)), sett_const(b, SETT_F32, 1), .pred = less); break;
    case BY_FOLDING: sett_set(X, sett_where(less, 1.0, 1.0), t); break;
    case OF_TWO_USED:
        sett_if (b, sett_and(less, sett_gt(t, 1)))
            sett_set(X, 1, t);
        break;
    default: sett_set(X, sett_to(less, SETT_F32), t); break;
    }
}

static void hear_boolean(void *user, sett_log_level level, const char *component, const char *message)
{
    heard *h = user;
    if (level == SETT_LOG_WARNING && !strcmp(component, "compile") && strstr(message, "nothing uses this Boolean"))
        h->n++, snprintf(h->message, sizeof h->message, "%s", message);
}

START_TEST(booleans_that_nothing_uses_are_told)
{
    static const char lost[] = "nothing uses this Boolean, of thread_idx.x and 3: a C if, ?: or && asks whether there is a value, and there is always one; sett_if and sett_where branch by it";
    heard h = {0};
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .log = hear_boolean, .user = &h};
    sett_error err;
    for (how_used use = 0; use < N_USES; use++) {
        const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &use};
        sett_kernel_info info = {.size = sizeof info};
        sett_engine *e; /* of its own: without what nothing uses, two of these are one kernel */
        sett_kernel *k;
        h = (heard){0};
        ck_assert_msg(!sett_engine_open(&e, &eo, &err) && !sett_compile(e, asking_body, &o, &k, &err), "%s", err.text);
        ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
        const char *line = strstr(info.report, "nothing uses this Boolean");
        ck_assert_msg(h.n == (use <= OF_ONE), "%d: %d lines in the log: %s", (int)use, h.n, info.report);
        ck_assert_msg((line != NULL) == (use <= OF_ONE), "%d: %s", (int)use, info.report);
        ck_assert_msg(!line || !strstr(line + 1, "nothing uses"), "%d: %s", (int)use, info.report);
        if (line)
            ck_assert_msg(!strncmp(h.message, "tests/unit/test_report.c:", 25) && strstr(info.report, h.message), "%s", h.message);
        if (use < OF_TWO)
            ck_assert_msg(!strcmp(strstr(h.message, "nothing"), lost) && strstr(h.message, ": sett_lt: "), "%s", h.message);
        else if (line)
            ck_assert_msg(strstr(h.message, use == OF_TWO ? ": sett_and: " : ": sett_not: ") != NULL, "%s", h.message);
        sett_kernel_release(k);
        sett_engine_close(e);
    }
}
END_TEST

/* 192 floats in warp groups 0 and 1 of three, to which the third gives registers, or does not. */
static void taking_body(sett_build *b, const void *user)
{
    const int taken = *(const int *)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(192, 256)), .align = 16);
    sett_grid(b, 1), sett_block(b, 384);
    sett_val *t = sett_thread_idx(b, 0);
    sett_if (b, sett_ge(t, 256)) {
        if (taken)
            sett_setmaxregister_decrease(b, 24);
    }
    sett_else (b) {
        if (taken)
            sett_setmaxregister_increase(b, taken);
        sett_tensor *x = sett_slice(X, ALL, t);
        sett_val *v = sett_load(x);
        sett_store(x, sett_mul(v, sett_reduce(v, SETT_MAX, 0)));
    }
}

/* Each quarter of a multiprocessor holds 16384 registers, and takes warps in turn: blocks of 9 to 12 warps have as many a thread. */
START_TEST(registers_by_warps)
{
    static const struct { int threads, registers; } has[] = {
        {32, 255}, {256, 255}, {257, 168}, {288, 168}, {384, 168}, {416, 128}, {512, 128}, {544, 96}, {640, 96}, {672, 80}, {800, 72}, {1024, 64}};
    for (size_t i = 0; i < SETT__COUNT(has); i++)
        for (int more = -16; more <= 16; more += 16) {
            const wide w = {NORMALIZED, (has[i].registers + 7) / 8 * 8 + more, has[i].threads};
            ck_assert_msg(told(wide_body, &w, NULL) == (more >= 0), "%d floats, %d threads", w.elements, w.threads);
        }
}
END_TEST

START_TEST(registers_that_are_taken)
{
    static const struct { int taken; bool told; } groups[] = {{0, true}, {240, false}, {184, true}}; /* 65536 / 384 are 168 */
    for (size_t i = 0; i < SETT__COUNT(groups); i++)
        ck_assert_msg(told(taking_body, &groups[i].taken, NULL) == groups[i].told, "%d registers", groups[i].taken);
}
END_TEST

static void hear_dropped(void *user, sett_log_level level, const char *component, const char *message)
{
    *(int *)user += level == SETT_LOG_WARNING && !strcmp(component, "assembler") && strstr(message, "setmaxnreg is left out");
}

/* What an assembler leaves out is told, by the report and once by the log; ptxas keeps it. */
START_TEST(registers_that_are_not_taken)
{
    static const sett_assembler by[] = {SETT_ASM_NVJITLINK, SETT_ASM_PTXAS};
    for (size_t i = 0; i < SETT__COUNT(by); i++)
        for (int taken = 0; taken <= 240; taken += 240) {
            int n = 0;
            const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .log = hear_dropped, .user = &n, .assembler = by[i]};
            const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = &taken};
            sett_kernel_info info = {.size = sizeof info};
            sett_engine *e;
            sett_kernel *k;
            sett_error err;
            ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
            sett_status s = sett_compile(e, taking_body, &o, &k, &err);
            ck_assert_msg(!s || s == SETT_E_NO_ASSEMBLER, "%s", err.text);
            if (!s) {
                const int left_out = taken && by[i] == SETT_ASM_NVJITLINK;
                sett_kernel_query(k, &info);
                ck_assert_msg(!strstr(info.report, "\nwarning: setmaxnreg is left out") == !left_out && n == left_out, "%d\n%s", n, info.report);
                sett_kernel_release(k);
            }
            sett_engine_close(e);
        }
}
END_TEST

/* A work against the assembler, where there is one: what is not guessed does not spill. What is guessed spills where each value is needed until
 * the last is known; an assembler that may finish one element after another (SCALED, and EXPONENTS up to 128) needs fewer. The report and the log
 * tell what does spill alone. */
START_TEST(what_is_told_spills)
{
    const work k = (work)_i;
    const bool slow = k == EXPONENTS || k == SOFTMAX, kept = k == NORMALIZED || k == SOFTMAX || k == IN_PLACE;
    heard h = {0};
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .log = hear_spill, .user = &h};
    sett_engine *e;
    ck_assert(!sett_engine_open(&e, &eo, NULL));
    static const int elements[] = {32, 64, 128, 192, 256}, threads[] = {32, 288, 1024};
    for (size_t i = 0; i < SETT__COUNT(elements) && elements[i] <= (slow ? 64 : 256); i++)
        for (size_t j = 0; j < SETT__COUNT(threads); j++) {
            const wide w = {k, elements[i], threads[j]};
            const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .user = &w};
            sett_kernel_info info = {.size = sizeof info};
            sett_error err = {0};
            sett_kernel *kernel;
            h.n = 0;
            sett_status s = sett_compile(e, wide_body, &o, &kernel, &err);
            if (s == SETT_E_NO_ASSEMBLER)
                continue;
            ck_assert_msg(!s, "%s", err.text);
            sett_kernel_query(kernel, &info);
            const bool said = strstr(info.report, "registers: a thread's values take about "), spills = info.spill_stores > 0, guessed = told(wide_body, &w, NULL);
            ck_assert_msg(said == spills && h.n == said && (kept ? guessed == spills : guessed || !spills), "work %d, %d floats, %d threads: %d bytes\n%s", (int)k, w.elements,
                w.threads, info.spill_stores, info.report);
            sett_kernel_release(kernel);
        }
    sett_engine_close(e);
}
END_TEST

Suite *report_suite(void);
Suite *report_suite(void)
{
    Suite *s = suite_create("report");
    TCase *c = tcase_create("report");
    tcase_add_loop_test(c, conjunctions, 0, SETT__COUNT(cases));
    tcase_add_test(c, tapes_have_no_report);
    tcase_add_test(c, tape_places_are_named);
    tcase_add_test(c, broadcast_rows_stay_wide);
    tcase_add_test(c, who_and_what);
    tcase_add_test(c, many_values_are_told);
    tcase_add_test(c, found_ones_are_not_told_again);
    tcase_add_test(c, booleans_that_nothing_uses_are_told);
    tcase_add_test(c, broadcasts_stay_in_registers);
    tcase_add_test(c, registers_by_warps);
    tcase_add_test(c, registers_that_are_taken);
    tcase_set_timeout(c, 60); /* the assembler's */
    tcase_add_test(c, registers_that_are_not_taken);
    tcase_add_loop_test(c, what_is_told_spills, SCALED, N_WORKS);
    tcase_add_test(c, tests_are_of_what_is_unknown);
    suite_add_tcase(s, c);
    return s;
}
