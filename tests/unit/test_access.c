/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and stores: the tape that they record, and by running it that random layouts, offsets,
 * widths and predicates touch what brute force says. */
#define SETT_SHORT
#include "tests/rig/faces.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

typedef void (*body)(sett_build *, const void *user);

static sett_build *begin(void)
{
    sett_build *b = sett__build_new(NULL, true);
    ck_assert_ptr_nonnull(b);
    return b;
}

static void finish(sett_build *b, sett__tape *tape)
{
    const char *text;
    sett_error e = {0};
    sett_status status = sett_build_status(b, &text);
    ck_assert_msg(status == SETT_OK, "%s", text);
    ck_assert_msg(sett__build_finish(b, tape, &e) == SETT_OK, "%s", e.text);
}

/* The tape text of a body, and its report if asked for. */
static char *text_of(body f, const void *user, char *report, size_t size)
{
    sett__tape tape = {0};
    sett_error e = {0};
    char *text = NULL;
    sett_build *b = begin();
    f(b, user);
    if (report)
        snprintf(report, size, "%s", sett__report_text(b));
    finish(b, &tape);
    ck_assert_msg(sett__tape_print(&tape, false, NULL, &text, &e) == SETT_OK, "%s", e.text);
    sett__tape_free(&tape);
    sett_build_end(b, NULL);
    return text;
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

/* Check cuts a message that is too long by ending the test run. */
#define ck_count(text, what, n) \
    ck_assert_msg(count(text, what) == (n), "%d times \"%s\", not %d, in\n%.2500s", count(text, what), what, n, text)

/* ---- the tape of C = A over a ragged matrix ---------------------------------------------- */
typedef struct copy2d {
    int div, align;
    sett_dtype dtype;
    bool pred;
} copy2d;

static sett_tensor *mine(sett_build *b, sett_tensor *t, sett_tv tv)
{
    sett_tensor *tile = sett_slice(sett_zipped_divide(t, tv.tiler), ALL, T(sett_block_idx(b, 1), sett_block_idx(b, 0)));
    return sett_slice(sett_composition(tile, tv.tv), sett_thread_idx(b, 0), ALL);
}

static void copy_matrix(sett_build *b, const void *user)
{
    const copy2d *p = user;
    sett_val *M = sett_sym(b, "M"), *N = sett_sym(b, "N", .div = p->div);
    sett_tensor *A = sett_param(b, "A", p->dtype, sett_row_major(b, M, N), .align = p->align);
    sett_tensor *C = sett_param(b, "C", p->dtype, sett_row_major(b, M, N), .align = p->align);
    sett_tv tv = sett_make_layout_tv(sett_row_major(b, 4, 32), sett_row_major(b, 4, 8));
    sett_grid(b, sett_ceil_div(N, 256), sett_ceil_div(M, 16));
    sett_block(b, 128);
    sett_val *in = sett_elem_less(mine(b, sett_identity_tensor(b, M, N), tv), T(M, N));
    sett_val *x = sett_load(mine(b, A, tv), .pred = p->pred ? in : NULL);
    sett_store(mine(b, C, tv), x, .pred = p->pred ? in : NULL);
}

/* N a multiple of the width: one test an access, shared by load and store; no branch. */
START_TEST(divisible_bound)
{
    char *t = text_of(copy_matrix, &(copy2d){8, 16, SETT_F16, true}, NULL, 0);
    ck_count(t, "load f16x8 ", 4);
    ck_count(t, "f16x8", 8);
    ck_count(t, " align 16 pred ", 8);
    ck_count(t, "if ", 0);
    ck_count(t, " gt i1 ", 5); /* four rows, one column test */
    ck_count(t, " and i1 ", 4);
    ck_count(t, " sub i32 ", 2);
    free(t);
}
END_TEST

/* Any N: wide in one arm, by element in the other; the tests are still shared. */
START_TEST(ragged_bound)
{
    char report[2048];
    char *t = text_of(copy_matrix, &(copy2d){1, 16, SETT_F16, true}, report, sizeof report);
    ck_count(t, "\nif ", 2);     /* all four rows, of the load and of the store */
    ck_count(t, "\n    if ", 8); /* each row by itself */
    ck_count(t, "load f16x8 ", 8);
    ck_count(t, "load f16 ", 32);
    ck_count(t, " sub i32 ", 2);
    ck_count(t, " eq i1 ", 4); /* alignment of four rows */
    ck_count(t, "rmem f16x32", 1);
    char *first = strstr(t, "\nif ");
    *first = 0;
    ck_count(t, " gt i1 ", 5); /* before any branch: what is all inside; by element only where it is not */
    *first = '\n';
    ck_assert_ptr_nonnull(
        strstr(report, "sett_load: A ((8,4)):((1,N)): 4 x 16 bytes where a test finds all of its elements inside"));
    free(t);
}
END_TEST

/* Alignment proven for 8 bytes only: no branch, and the report names the symbol. */
START_TEST(half_divisible_bound)
{
    char report[2048];
    char *t = text_of(copy_matrix, &(copy2d){4, 16, SETT_F16, true}, report, sizeof report);
    ck_count(t, "load f16x4 ", 8);
    ck_count(t, "if ", 0);
    ck_assert_ptr_nonnull(strstr(report, "8 x 8 bytes; have 8 bytes, need 16: offset N+"));
    ck_assert_ptr_nonnull(strstr(report, "{div=4} x 2 bytes: needs .div = 8 on N"));
    free(t);
}
END_TEST

START_TEST(no_predicate)
{
    static const struct {
        copy2d user;
        const char *load;
        int n;
        const char *why;
    } cases[] = {
        {{8, 16, SETT_F16, false}, "load f16x8 ", 4, "A ((8,4)):((1,N{div=8})): 4 x 16 bytes\n"},
        {{4, 16, SETT_F16, false}, "load f16x4 ", 4,
            "4 x 8 bytes; have 8 bytes, need 16: offset N+block_idx.x*256+block_idx.y*(N*16)+thread_idx.x%32*8+"
            "thread_idx.x/32*(N*4){div=4} x 2 bytes: needs .div = 8 on N"},
        {{1, 16, SETT_F16, false}, "load f16 ", 16, "needs .div = 8 on N"},
        {{8, 8, SETT_F16, false}, "load f16x4 ", 8, "the alignment of A is 8 bytes"},
        {{8, 0, SETT_F16, false}, "load f16 ", 32, "the alignment of A is 2 bytes"},
        {{4, 16, SETT_F32, false}, "load f32x4 ", 8, "8 x 16 bytes\n"},
        {{2, 16, SETT_F64, false}, "load f64x2 ", 16, "16 x 16 bytes\n"},
        {{8, 16, SETT_U8, false}, "load u8x8 ", 4, "4 x 8 bytes; have 8 bytes of 16: at most so many are adjacent"},
        {{8, 16, SETT_BOOL, false}, "load i1x8 ", 4, "4 x 8 bytes"},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        char report[2048];
        char *t = text_of(copy_matrix, &cases[i].user, report, sizeof report);
        ck_count(t, cases[i].load, cases[i].n);
        ck_assert_msg(strstr(report, cases[i].why) != NULL, "%s", report);
        free(t);
    }
}
END_TEST

/* ---- what each kind of predicate and space records --------------------------------------- */
static void scalar_predicate(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, 64), .align = 16);
    sett_block(b, sett_scalar(b, "threads", SETT_I32));
    sett_tensor *x = sett_local_tile(A, T1(8), T1(sett_thread_idx(b, 0)));
    sett_val *in = sett_lt(sett_thread_idx(b, 0), 7);
    sett_store(x, sett_add(sett_load(x, .pred = in, .fill = 2.5), 1.0), .pred = in);
}

START_TEST(scalar_predicate_is_wide)
{
    char *t = text_of(scalar_predicate, NULL, NULL, 0);
    ck_count(t, "load f32x4 ", 2);
    ck_count(t, " align 16 pred ", 4);
    ck_count(t, "const f32 2.5", 1);
    ck_count(t, "if ", 0);
    free(t);
}
END_TEST

static void vector_predicate(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, 8, 4), .align = 16);
    sett_block(b, sett_scalar(b, "threads", SETT_I32));
    sett_tensor *row = sett_slice(A, sett_thread_idx(b, 0), ALL),
                *c = sett_slice(sett_identity_tensor(b, 8, 4), sett_thread_idx(b, 0), ALL);
    sett_val *n = sett_scalar(b, "n", SETT_I32);
    sett_store(row, sett_full(b, SETT_F32, T1(4), 1.0), .pred = sett_not(sett_elem_less(c, T(ALL, n))));
}

START_TEST(vector_predicate_is_by_element)
{
    char *t = text_of(vector_predicate, NULL, NULL, 0);
    ck_count(t, "store ", 4);
    ck_count(t, " pred ", 4);
    ck_count(t, " gt i1x4 ", 1); /* the comparison itself is one op */
    ck_count(t, "if ", 0);
    free(t);
}
END_TEST

/* A predicate over rows, broadcast along them: each row's access stays wide. */
static void row_predicate(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_make_layout(b, T(4, 4), T(1, 4)), .align = 16);
    sett_tensor *p = sett_make_rmem_tensor(b, SETT_BOOL, 1, 4);
    sett_store(A, sett_full(b, SETT_F32, T(4, 4), 1.0), .pred = sett_load(p));
}

START_TEST(broadcast_predicate_stays_wide)
{
    char *t = text_of(row_predicate, NULL, NULL, 0);
    ck_count(t, "store ", 4);
    ck_count(t, " align 16 pred ", 4);
    free(t);
}
END_TEST

static void static_bound(sett_build *b, const void *user)
{
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, 16), .align = 16);
    sett_store(A, sett_full(b, SETT_F32, T1(16), 1.0),
        .pred = sett_elem_less(sett_identity_tensor(b, 16), *(const sett_arg *)user));
}

/* All is known: what is inside is written plainly, what is outside not at all. */
START_TEST(known_predicate_leaves_no_test)
{
    const sett_arg bound = T(16), none = T(0), some = T(10), free_bound = T(ALL);
    static const int stores[] = {4, 0, 3, 4};
    const sett_arg *cases[] = {&bound, &none, &some, &free_bound};
    for (size_t i = 0; i < 4; i++) {
        sett_arg one = SETT_T1(cases[i]->u.kid[0]);
        char *t = text_of(static_bound, &one, NULL, 0);
        ck_count(t, "store ", stores[i]);
        ck_count(t, " pred ", 0);
        ck_count(t, "if ", 0);
        free(t);
    }
}
END_TEST

static void registers(sett_build *b, const void *user)
{
    const bool *dynamic = user;
    sett_tensor *r = sett_make_rmem_tensor(b, SETT_F32, 4, 3);
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, 64), .align = 16);
    sett_block(b, 4);
    sett_fill(r, 1.5);
    sett_set(r, 2.5, 1, 2);
    if (*dynamic)
        sett_set(r, 3.5, sett_thread_idx(b, 0), 1);
    sett_val *in = sett_elem_less(sett_identity_tensor(b, 4, 3), T(sett_thread_idx(b, 0), 3));
    sett_store(sett_composition(A, sett_make_layout(b, T(4, 3))), sett_load(r, .pred = in, .fill = 9), .pred = NULL);
}

START_TEST(registers_are_whole)
{
    char report[2048];
    bool dynamic = false;
    char *t = text_of(registers, &dynamic, report, sizeof report);
    ck_count(t, "load f32x12 ", 1); /* wider than any access to memory */
    ck_count(t, " select f32x12 ", 1);
    ck_count(t, "if ", 0);
    ck_assert_ptr_null(strstr(report, "local memory"));
    free(t);
    dynamic = true;
    t = text_of(registers, &dynamic, report, sizeof report);
    ck_assert_ptr_nonnull(
        strstr(report, "sett_set: rmem (4,3):(1,4): a dynamic index into registers puts them in local memory"));
    free(t);
}
END_TEST

/* Offsets of a wide parameter: 64 bits at the base, 32 where the range is small. */
static void wide_offsets(sett_build *b, const void *user)
{
    const bool *wide = user;
    sett_val *M = sett_sym(b, "M", .wide = *wide);
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_make_layout(b, T(M, 4096), T(4096, 1)), .align = 16);
    sett_grid(b, M);
    sett_block(b, 128);
    sett_tensor *row = sett_slice(A, sett_block_idx(b, 0), ALL);
    sett_tensor *x = sett_local_tile(row, T1(4), T1(sett_thread_idx(b, 0)));
    sett_store(x, sett_load(x));
}

START_TEST(index_width)
{
    bool wide = true;
    char *t = text_of(wide_offsets, &wide, NULL, 0);
    ck_count(t, " convert i64 ", 2); /* the block's index, and the thread's part when it is added */
    ck_count(t, " mul i64 ", 1);
    ck_count(t, " mul i32 ", 1);
    ck_count(t, "load f32x4 ", 1);
    free(t);
    wide = false;
    t = text_of(wide_offsets, &wide, NULL, 0);
    ck_count(t, "i64", 0);
    ck_count(t, "load f32x4 ", 1);
    free(t);
}
END_TEST

static void narrower(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, 4, sett_sym(b, "N")), .align = 16);
    sett_grid(b, sett_sym(b, "N"));
    sett_block(b, 4);
    sett_tensor *x = sett_slice(sett_recast_tensor(A, SETT_U8), sett_thread_idx(b, 0), sett_block_idx(b, 0));
    sett_store(x, sett_load(x));
}

/* 2^31 elements of a parameter have more bytes than 32 bits count. */
START_TEST(recast_to_narrower_is_wide)
{
    char *t = text_of(narrower, NULL, NULL, 0);
    ck_count(t, " mul i32 ", 0);
    ck_count(t, " mul i64 ", 2);
    free(t);
}
END_TEST

/* Unrolled accesses share one base; what is static is in the immediate part. */
static void unrolled(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *A = sett_param(b, "A", SETT_F32, sett_row_major(b, 8, 64), .align = 16);
    sett_block(b, 16);
    sett_tensor *tile = sett_slice(sett_zipped_divide(A, T(1, 4)), T(0, ALL), ALL);
    for (int i = 0; i < 8; i++) {
        sett_tensor *x = sett_slice(tile, ALL, T(i, sett_thread_idx(b, 0)));
        sett_store(x, sett_load(x));
    }
}

START_TEST(constants_are_immediate)
{
    char *t = text_of(unrolled, NULL, NULL, 0);
    ck_count(t, " mul i32 ", 1);
    ck_count(t, " add i32 ", 0);
    ck_count(t, " + 448]", 2);
    ck_count(t, "load f32x4 ", 8);
    free(t);
}
END_TEST

/* ---- running -------------------------------------------------------------------------------- */
#define MOST 4096
typedef struct memory {
    unsigned char a[MOST * 8], out[MOST * 8];
} memory;

static void put64(unsigned char *params, size_t *at, uint64_t x, size_t bytes)
{
    *at = (*at + bytes - 1) & ~(bytes - 1);
    memcpy(params + *at, &x, bytes); /* little endian, as all that sett runs on */
    *at += bytes;
}

/* Runs a body on A and out, with the values of its symbols. */
static void run(body f, const void *user, memory *m, const int64_t *sym, int block)
{
    sett__tape tape = {0};
    sett_error e = {0};
    sett__program *program;
    unsigned char params[512];
    size_t at = 0;
    sett_build *b = begin();
    f(b, user);
    finish(b, &tape);
    void *data[2] = {m->a, m->out};
    sett__extent extent[2] = {{m->a, sizeof m->a}, {m->out, sizeof m->out}};
    ck_assert_uint_le(tape.sig.n_param, 2);
    for (uint32_t i = 0; i < tape.sig.n_param; i++)
        put64(params, &at, (uint64_t)(uintptr_t)data[i], 8);
    for (uint32_t i = 0; i < tape.sig.n_sym; i++)
        put64(params, &at, (uint64_t)sym[i], tape.sig.sym[i].wide ? 8 : 4);
    ck_assert_msg(sett__program_make(&tape, false, &program, &e) == SETT_OK, "%s", e.text);
    sett__sim_launch launch = {.grid = {1, 1, 1},
        .block = {(uint32_t)block, 1, 1},
        .params = params,
        .params_len = at,
        .extent = extent,
        .threads = 1,
        .name = "law"};
    char *text = NULL;
    sett_status status = sett__sim_run(program, &launch, &e);
    if (status)
        sett__tape_print(&tape, true, NULL, &text, &e);
    ck_assert_msg(status == SETT_OK, "%s\n%.2500s", e.text, text);
    sett__program_free(program);
    sett__tape_free(&tape);
    sett_build_end(b, NULL);
}

static uint64_t rng;
static uint32_t any(uint32_t n)
{
    rng ^= rng << 13;
    rng ^= rng >> 7;
    rng ^= rng << 17;
    return (uint32_t)(rng >> 33) % n;
}

/* ---- memory runs out at every allocation in turn ------------------------------------------------ */
typedef struct scarce {
    int left;
} scarce;

static void *scarce_alloc(void *user, size_t bytes)
{
    scarce *s = user;
    return s->left-- > 0 ? malloc(bytes) : NULL;
}

static void scarce_free(void *user, void *p)
{
    (void)user;
    free(p);
}

START_TEST(memory_runs_out)
{
    bool done = false;
    for (int n = 0; !done; n++) {
        scarce s = {n};
        const sett__allocator mem = {scarce_alloc, scarce_free, &s};
        sett_build *b = sett__build_new(&mem, true);
        if (!b)
            continue;
        copy_matrix(b, &(copy2d){1, 16, SETT_F16, true});
        sett_store(sett_make_rmem_tensor(b, SETT_F32, 20000), sett_full(b, SETT_F32, 20000, 1.0));
        sett__report_text(b);
        sett_status status = sett_build_end(b, NULL);
        ck_assert(status == SETT_OK || status == SETT_E_MEMORY);
        done = status == SETT_OK;
    }
}
END_TEST

/* ---- law: a view's elements are those of its layout --------------------------------------------- */
enum { NONE, LESS, BOOLEAN, SCALAR, N_PREDS };
#define LEAVES 4
typedef struct leaf {
    int64_t extent, stride, bound, origin;
    bool dynamic, dynamic_bound, dynamic_origin;
} leaf;
typedef struct law {
    sett_dtype dtype;
    int n, group, pred, align, div; /* group: leaves of the first, nested mode */
    int64_t offset;
    bool store, wide, scalar;
    uint32_t other; /* how the other side of the access has the same elements: other_shape */
    leaf leaf[LEAVES];
    int64_t sym[16];
    int64_t sym_div[16];
} law;

static int64_t div_of(int64_t x) /* something that divides x, as a user may promise */
{
    static const int64_t choices[] = {16, 8, 4, 2, 3};
    uint32_t from = any(6);
    for (uint32_t i = from; i < 5; i++)
        if (x % choices[i] == 0)
            return choices[i];
    return 1;
}

static law make_law(void)
{
    static const sett_dtype dtypes[] = {SETT_U8, SETT_I16, SETT_F32, SETT_I32, SETT_I64};
    static const int64_t extents[] = {1, 2, 3, 4, 5, 8, 8, 8}, strides[] = {0, 1, 1, 1, 2, 4, 8, 8, 16, 5, 24, 32};
    static const int align[] = {16, 16, 16, 8};
    law l = {.dtype = dtypes[any(5)], .n = 1 + (int)any(LEAVES), .pred = (int)any(N_PREDS), .align = align[any(4)]};
    l.group = (int)any((uint32_t)l.n) + 1;
    l.store = any(2);
    l.wide = any(4) == 0;
    l.scalar = any(2);
    l.other = any(1u << 2 * LEAVES);
    l.offset = any(3) ? 8 * (int64_t)any(8) : any(64);
    for (int i = 0; i < l.n; i++) {
        leaf *x = &l.leaf[i];
        x->extent = extents[any(8)];
        x->stride = strides[any(12)];
        x->dynamic = any(3) == 0;
        x->origin = any(2) ? 0 : any(2) ? 8 : any(9);
        x->dynamic_origin = any(2);
        x->bound = any(3) ? x->extent + x->origin : 8 * (int64_t)any(3) + any(2) * any(9);
        x->dynamic_bound = any(2);
    }
    return l;
}

/* Where elements share a place, which of them a store leaves there is not specified. */
static bool one_each(const law *l)
{
    bool used[MOST] = {false};
    int64_t n = 1;
    for (int i = 0; i < l->n; i++)
        n *= l->leaf[i].extent;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = 0, rest = i;
        for (int k = 0; k < l->n; k++) {
            at += rest % l->leaf[k].extent * l->leaf[k].stride;
            rest /= l->leaf[k].extent;
        }
        if (used[at])
            return false;
        used[at] = true;
    }
    return true;
}

/* A number of the law: static, or a symbol that the launch binds to it. */
static sett_arg number(sett_build *b, law *l, int64_t x, bool dynamic, const char *name, int i, bool wide)
{
    static const char *const names[] = {"0", "1", "2", "3"};
    char text[8];
    if (!dynamic)
        return sett_arg_i(x);
    snprintf(text, sizeof text, "%s%s", name, names[i]);
    int at = (int)b->sig.n_sym;
    if (!l->sym_div[at])
        l->sym_div[at] = div_of(x);
    l->sym[at] = x;
    return sett_arg_v(sett_sym(b, text, .div = l->sym_div[at], .wide = wide));
}

static sett_arg nested(sett_build *b, const law *l, const sett_arg *x)
{
    sett_arg top[LEAVES + 1];
    int n = 0;
    top[n++] = l->group > 1 ? sett_arg_n(l->group, x) : x[0];
    for (int i = l->group; i < l->n; i++)
        top[n++] = x[i];
    return sett_arg_keep(b, sett_arg_n(n, top));
}

/* The extents of the view in the same order: each as it is, halved, joined with the next one, or with a 1 behind it. */
static sett_arg other_shape(sett_build *b, const law *l)
{
    sett_arg to[2 * LEAVES];
    int n = 0;
    for (int i = 0; i < l->n; i++) {
        const uint32_t how = l->other >> 2 * i & 3;
        int64_t e = l->leaf[i].extent;
        if (how == 1 && e % 2 == 0)
            to[n++] = sett_arg_i(2), e /= 2;
        else if (how == 2 && i + 1 < l->n)
            e *= l->leaf[++i].extent;
        to[n++] = sett_arg_i(e);
        if (how == 3)
            to[n++] = sett_arg_i(1);
    }
    return sett_arg_keep(b, sett_arg_n(n, to));
}

static void law_body(sett_build *b, const void *user)
{
    law *l = *(law *const *)user;
    sett_arg shape[LEAVES], stride[LEAVES], bound[LEAVES], origin[LEAVES];
    for (int i = 0; i < l->n; i++) {
        shape[i] = sett_arg_i(l->leaf[i].extent);
        stride[i] = number(b, l, l->leaf[i].stride, l->leaf[i].dynamic, "S", i, l->wide);
        bound[i] = number(b, l, l->leaf[i].bound, l->leaf[i].dynamic_bound, "B", i, false);
        origin[i] = number(b, l, l->leaf[i].origin, l->leaf[i].dynamic_origin, "O", i, false);
    }
    sett_arg s = nested(b, l, shape), off = number(b, l, l->offset, true, "X", 0, l->wide);
    sett_layout *all = sett_make_layout(b, T(s, MOST / 2), T(nested(b, l, stride), 1));
    sett_tensor *A = sett_param(b, "A", l->dtype, all, .align = l->align);
    sett_tensor *out = sett_param(b, "out", l->dtype, sett_make_layout(b, other_shape(b, l)), .align = l->align);
    sett_tensor *view = sett_slice(A, ALL, off);
    sett_tensor *crd = sett_domain_offset(sett_identity_tensor(b, s), nested(b, l, origin));
    sett_val *pred = NULL;
    if (l->pred == LESS || l->pred == BOOLEAN)
        pred = sett_elem_less(crd, nested(b, l, bound));
    if (l->pred == BOOLEAN)
        pred = sett_not(sett_not(pred));
    if (l->pred == SCALAR)
        sett_grid(b, 1), pred = sett_eq(sett_block_idx(b, 0), l->scalar ? 0 : 1);
    if (l->store)
        sett_store(view, sett_load(out), .pred = pred);
    else
        sett_store(out, sett_load(view, .pred = pred, .fill = 77));
}

static void law_brute(const law *l, memory *m)
{
    size_t bytes = (size_t)sett__dtype_bytes(l->dtype);
    int64_t n = 1, fill = 77;
    float fill_f = 77;
    for (int i = 0; i < l->n; i++)
        n *= l->leaf[i].extent;
    for (int64_t i = 0; i < n; i++) {
        int64_t at = l->offset, rest = i;
        bool in = l->pred != SCALAR || l->scalar;
        for (int k = 0; k < l->n; k++) {
            int64_t c = rest % l->leaf[k].extent;
            rest /= l->leaf[k].extent;
            at += c * l->leaf[k].stride;
            in = in && ((l->pred != LESS && l->pred != BOOLEAN) || c + l->leaf[k].origin < l->leaf[k].bound);
        }
        unsigned char *a = m->a + (size_t)at * bytes, *out = m->out + (size_t)i * bytes;
        if (l->store && in)
            memcpy(a, out, bytes);
        if (!l->store)
            memcpy(out, in ? (void *)a : l->dtype == SETT_F32 ? (void *)&fill_f : (void *)&fill, bytes);
    }
}

static void randomise(memory *m)
{
    unsigned char *bytes = (unsigned char *)m;
    for (size_t i = 0; i < sizeof *m; i++)
        bytes[i] = (unsigned char)any(128); /* no float of these is a NaN */
}

START_TEST(law_holds)
{
    memory *m = aligned_alloc(64, (sizeof *m + 63) & ~(size_t)63), *want = malloc(sizeof *want);
    ck_assert(m && want);
    for (int i = 0; i < 150; i++) {
        uint64_t seed = rng = (uint64_t)(_i + 1) * 1000003u + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
        for (int k = 0; k < 8; k++)
            any(2);
        law l = make_law(), *user = &l;
        l.store = l.store && one_each(&l);
        randomise(m);
        memcpy(want, m, sizeof *m);
        run(law_body, &user, m, l.sym, 1);
        law_brute(&l, want);
        ck_assert_msg(!memcmp(m->a, want->a, sizeof m->a), "A differs; seed %llu", (unsigned long long)seed);
        ck_assert_msg(!memcmp(m->out, want->out, sizeof m->out), "out differs; seed %llu", (unsigned long long)seed);
    }
    free(m), free(want);
}
END_TEST

/* ---- law: through swizzled shared memory and back ------------------------------------------------- */
typedef struct swizzled {
    int bits, base, shift;
    sett_dtype dtype;
} swizzled;

static void through_smem(sett_build *b, const void *user)
{
    const swizzled *s = user;
    sett_tensor *A = sett_param(b, "A", s->dtype, sett_row_major(b, 32, 32), .align = 16);
    sett_tensor *out = sett_param(b, "out", s->dtype, sett_row_major(b, 32, 32), .align = 16);
    sett_tensor *tile = sett_make_smem_tensor(
        b, s->dtype, sett_make_swizzled(s->bits, s->base, s->shift, sett_row_major(b, 32, 32)), 128);
    sett_tv rows = sett_make_layout_tv(sett_row_major(b, 8, 4), sett_row_major(b, 4, 8));
    sett_val *t = sett_thread_idx(b, 0);
    sett_block(b, 32);
    sett_copy(sett_slice(sett_composition(A, rows.tv), t, ALL), sett_slice(sett_composition(tile, rows.tv), t, ALL));
    sett_sync_threads(b);
    for (int i = 0; i < 16; i++) /* half of it by column views, */
        sett_set(sett_slice(out, ALL, i), sett_at(sett_slice(tile, ALL, i), t), t);
    sett_store(sett_local_tile(sett_slice(out, t, ALL), T1(16), T1(1)), /* half by row views */
        sett_load(sett_local_tile(sett_slice(tile, t, ALL), T1(16), T1(1))));
}

START_TEST(swizzle_returns_what_it_took)
{
    static const swizzled cases[] = {{3, 3, 3, SETT_I16}, {2, 4, 3, SETT_I16}, {1, 2, 4, SETT_F32}, {3, 0, 5, SETT_I32},
        {2, 3, -2, SETT_F32}, {0, 4, 3, SETT_U8}, {2, 1, 3, SETT_I64}};
    memory *m = aligned_alloc(64, (sizeof *m + 63) & ~(size_t)63);
    ck_assert_ptr_nonnull(m);
    const swizzled *s = &cases[_i];
    rng = 12345;
    randomise(m);
    run(through_smem, s, m, NULL, 32);
    ck_assert_msg(
        !memcmp(m->a, m->out, 1024 * (size_t)sett__dtype_bytes(s->dtype)), "S<%d,%d,%d>", s->bits, s->base, s->shift);
    free(m);
    if (_i == 0) {
        char *t = text_of(through_smem, s, NULL, 0);
        ck_count(t, "i16x8", 4 + 4 + 2 + 2); /* the swizzle keeps runs of 8 */
        free(t);
    }
}
END_TEST

/* ---- misuse ------------------------------------------------------------------------------------------- */
/* clang-format off */
static void e_dynamic(sett_build *b) { sett_load(sett_param(b, "A", SETT_F32, sett_row_major(b, 4, sett_sym(b, "N")))); }
static void e_coord_all(sett_build *b) { sett_coord_at(sett_identity_tensor(b, 4, 2), ALL, 1); }
static void e_coord_load(sett_build *b) { sett_load(sett_identity_tensor(b, 4)); }
static void e_coord_store(sett_build *b) { sett_store(sett_identity_tensor(b, 4), sett_full(b, SETT_I32, T1(4), 0)); }
static sett_tensor *regs(sett_build *b) { return sett_make_rmem_tensor(b, SETT_F16, 4, 2); }
static void e_shape(sett_build *b) { sett_store(regs(b), sett_full(b, SETT_F16, T(2, 4), 0)); }
static void e_straddles(sett_build *b) { sett_store(sett_make_rmem_tensor(b, SETT_F16, T(T(2, 3), T(4, 1))), sett_full(b, SETT_F16, T(4, 3, 2), 0)); }
static void e_size(sett_build *b) { sett_store(regs(b), sett_full(b, SETT_F16, T(4, 2, 2), 0)); }
static void e_dtype(sett_build *b) { sett_store(regs(b), sett_full(b, SETT_F32, T(4, 2), 0)); }
static void e_range(sett_build *b) { sett_at(regs(b), 4, 0); }
static void e_negative(sett_build *b) { sett_at(regs(b), -1); }
static void e_rank(sett_build *b) { sett_at(regs(b), 1, 0, 0); }
static void e_all(sett_build *b) { sett_at(regs(b), ALL, 0); }
static void e_set_number(sett_build *b) { sett_set(sett_make_rmem_tensor(b, SETT_I8, 4), 300, 0); }
static void e_set_kind(sett_build *b) { sett_set(sett_make_rmem_tensor(b, SETT_I8, 4), 1.5, 0); }
static void e_pred_type(sett_build *b) { sett_load(regs(b), .pred = sett_full(b, SETT_I32, T(4, 2), 1)); }
static void e_pred_shape(sett_build *b) { sett_load(regs(b), .pred = sett_full(b, SETT_BOOL, T1(3), 1)); }
static void e_cache(sett_build *b) { sett_load(regs(b), .cache = 1); }
static void e_copy_size(sett_build *b) { sett_copy(regs(b), sett_make_rmem_tensor(b, SETT_F16, 7)); }
static void e_copy_type(sett_build *b) { sett_copy(regs(b), sett_make_rmem_tensor(b, SETT_F8E5M2, 8)); }
static void e_atomic_space(sett_build *b) { sett_atomic(sett_make_rmem_tensor(b, SETT_I32, 4), SETT_ADD, 1, 0); }
static void e_atomic_op(sett_build *b) { sett_atomic(sett_param(b, "A", SETT_I32, sett_row_major(b, 4)), SETT_SUB, 1, 0); }
static void e_atomic_type(sett_build *b) { sett_atomic(sett_param(b, "A", SETT_F32, sett_row_major(b, 4)), SETT_OR, 1, 0); }
static void e_past(sett_build *b) { sett_set(sett_domain_offset(regs(b), T(3, 1)), 1, T(1, 1)); }
static void e_past_wide(sett_build *b)
{
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, 32), 0, .name = "smem");
    sett_load(sett_composition(s, sett_make_layout(b, 16, 3)));
}
static void e_past_narrow(sett_build *b)
{
    sett_tensor *s = sett_recast_tensor(sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, 8), 0, .name = "smem"), SETT_F16);
    sett_store(sett_domain_offset(s, 4), sett_full(b, SETT_F16, 16, 0));
}
static void e_before(sett_build *b)
{
    sett_at(sett_domain_offset(sett_param(b, "A", SETT_F32, sett_row_major(b, 4)), -1), 0);
}
static void e_bound(sett_build *b) { sett_elem_less(sett_identity_tensor(b, 4, 4), T1(3)); }
static void e_not_coords(sett_build *b) { sett_elem_less(regs(b), T(4, 2)); }
/* clang-format on */

START_TEST(misuse_is_named)
{
    static const struct {
        void (*f)(sett_build *);
        sett_status status;
        const char *text;
    } cases[] = {
        {e_dynamic, SETT_E_STATIC, "sett_load: the extent N of mode 1 is not static: take a tile of static shape with "
                                   "sett_local_tile, or an element with sett_at (of coordinates sett_coord_at)"},
        {e_coord_load, SETT_E_SPACE, "sett_load: the tensor of coordinates"},
        {e_coord_store, SETT_E_SPACE, "sett_store: the tensor of coordinates"},
        {e_shape, SETT_E_SHAPE, "sett_store: a value of shape (2,4) into rmem (4,2):(1,4), whose extents in order are others; "
                                "sett_reshape(value, sett_shape(tensor)) takes it element by element all the same"},
        {e_straddles, SETT_E_SHAPE, "sett_store: a value of shape (4,3,2) into rmem ((2,3),(4,1)):((1,2),(6,0)), whose extents in order are others; "},
        {e_size, SETT_E_SHAPE, "sett_store: a value of shape (4,2,2) into rmem (4,2):(1,4): 16 elements into 8"},
        {e_dtype, SETT_E_DTYPE, "sett_store: a value of f32 into rmem (4,2):(1,4) of f16: convert it with sett_to"},
        {e_range, SETT_E_RANGE, "sett_at: coordinate 4 is outside extent 4 of rmem (4,2):(1,4)"},
        {e_negative, SETT_E_RANGE, "sett_at: coordinate -1 is outside extent (4,2)"},
        {e_rank, SETT_E_RANK, "sett_at: coordinate (1,0,0) does not fit mode (4,2)"},
        {e_all, SETT_E_ARGUMENT, "sett_at: the coordinate of one element of rmem (4,2):(1,4) has no _: sett_slice gives the tensor"},
        {e_coord_all, SETT_E_ARGUMENT, "sett_coord_at: the coordinate of one element of coordinates (4,2):(1@0,1@1) has no _: sett_slice gives the tensor of the modes where _ stands"},
        {e_set_number, SETT_E_RANGE, "sett_set: "}, {e_set_kind, SETT_E_RANGE, "sett_set: "},
        {e_pred_type, SETT_E_DTYPE, "sett_load: a predicate is Boolean, not i32"},
        {e_pred_shape, SETT_E_SHAPE, "sett_load: a predicate of shape (3) does not broadcast to (4,2)"},
        {e_cache, SETT_E_SPACE, "sett_load: a cache mode for rmem"},
        {e_copy_size, SETT_E_SHAPE, "sett_copy: 8 elements of rmem (4,2):(1,4) to 7 of rmem"},
        {e_copy_type, SETT_E_DTYPE, "sett_copy: a value of f16 into rmem"},
        {e_atomic_space, SETT_E_SPACE, "sett_atomic: an atomic on rmem"},
        {e_atomic_op, SETT_E_ARGUMENT, "sett_atomic: an atomic is ADD, MIN, MAX, AND, OR or XOR"},
        {e_atomic_type, SETT_E_DTYPE, "sett_atomic: no atomic OR of f32"},
        {e_past, SETT_E_RANGE, "sett_set: rmem (4,2):(1,4) reaches element 12 of its memory, which has 8"},
        {e_past_wide, SETT_E_RANGE, "sett_load: smem 16:3 reaches element 33 of its memory, which has 32"},
        {e_past_narrow, SETT_E_RANGE, "sett_store: smem 16:1 reaches element 19 of its memory, which has 16"},
        {e_before, SETT_E_RANGE, "sett_at: A 4:1 reaches element -1, before its memory begins"},
        {e_bound, SETT_E_RANK, "sett_elem_less: the bound (3) does not fit coordinates like (0,0)"},
        {e_not_coords, SETT_E_SPACE, "sett_elem_less: rmem (4,2):(1,4) is no tensor of coordinates"},
    };
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        sett_build *b = begin();
        const char *text;
        cases[i].f(b);
        ck_assert_msg(sett_build_status(b, &text) == cases[i].status, "%zu: %s", i, text);
        ck_assert_msg(strstr(text, cases[i].text) && strstr(text, "test_access.c:"), "%s", text);
        sett_build_end(b, NULL);
    }
}
END_TEST

Suite *access_suite(void)
{
    Suite *s = suite_create("access");
    TCase *c = tcase_create("tape");
    const TTest *const one[] = {divisible_bound, ragged_bound, half_divisible_bound, no_predicate, scalar_predicate_is_wide,
        vector_predicate_is_by_element, broadcast_predicate_stays_wide, known_predicate_leaves_no_test, registers_are_whole,
        index_width, recast_to_narrower_is_wide, constants_are_immediate, misuse_is_named, memory_runs_out};
    for (size_t i = 0; i < SETT__COUNT(one); i++)
        tcase_add_test(c, one[i]);
    suite_add_tcase(s, c);
    c = tcase_create("laws");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, law_holds, 0, 4), tcase_add_loop_test(c, swizzle_returns_what_it_took, 0, 7);
    suite_add_tcase(s, c);
    return s;
}
