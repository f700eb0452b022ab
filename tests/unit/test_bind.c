/* SPDX-License-Identifier: Apache-2.0 */
/* Binding: what a launch refuses, with its words, and what it hands to the driver otherwise. */
#include "tests/rig/planned.h"
#include <check.h>
#include <math.h>
#include <string.h>

/* A signature made by hand: symbols, parameters and leaves in arrays, expressions appended. */
typedef struct fixture {
    sett__symbol sym[8];
    sett__param param[8];
    sett__leaf leaf[16];
    sett__xop code[64];
    sett__sig sig;
} fixture;

static void start(fixture *f)
{
    memset(f, 0, sizeof *f);
    f->sig = (sett__sig){.sym = f->sym, .param = f->param, .leaf = f->leaf, .code = f->code};
}

static sett__expr op(fixture *f, sett__expr before, int code, int64_t imm)
{
    sett__expr e = before.count ? before : (sett__expr){f->sig.n_code, 0};
    f->code[f->sig.n_code++] = (sett__xop){(uint8_t)code, imm};
    e.count = f->sig.n_code - e.first;
    return e;
}

static sett__expr num(fixture *f, int64_t v)
{
    return op(f, (sett__expr){0, 0}, SETT__X_CONST, v);
}

static sett__expr symbol(fixture *f, int s)
{
    return op(f, (sett__expr){0, 0}, SETT__X_SYM, s);
}

static sett__expr ceil_div(fixture *f, int s, int64_t by)
{
    sett__expr e = op(f, symbol(f, s), SETT__X_CONST, by - 1);
    e = op(f, e, SETT__X_ADD, 0);
    e = op(f, e, SETT__X_CONST, by);
    return op(f, e, SETT__X_DIV, 0);
}

static int add_sym(fixture *f, const char *name, int64_t div, bool wide)
{
    f->sym[f->sig.n_sym] = (sett__symbol){.name = name, .div = div, .wide = wide};
    return (int)f->sig.n_sym++;
}

static sett__param *add_param(fixture *f, const char *name, sett_dtype dtype, int rank)
{
    sett__param *p = &f->param[f->sig.n_param++];
    *p = (sett__param){.name = name,
        .dtype = (uint8_t)dtype,
        .access = 3,
        .align = (uint32_t)sett__dtype_bytes(dtype),
        .rank = (uint8_t)rank,
        .leaf = f->sig.n_leaf};
    return p;
}

static void add_leaf(fixture *f, int mode, sett__expr extent, sett__expr stride)
{
    f->leaf[f->sig.n_leaf++] = (sett__leaf){(uint8_t)mode, extent, stride};
    f->param[f->sig.n_param - 1].n_leaf++;
}

static void add_scalar(fixture *f, const char *name, sett_dtype dtype)
{
    add_param(f, name, dtype, 0)->scalar = 1;
}

/* As sett_ceil_div records it. */
static sett__expr recorded_ceil_div(fixture *f, int s, int64_t by)
{
    static const uint8_t code[] = {SETT__X_SYM, SETT__X_CONST, SETT__X_REM, SETT__X_CONST, SETT__X_MIN, SETT__X_SYM, SETT__X_CONST,
        SETT__X_DIV, SETT__X_ADD};
    const int64_t imm[] = {s, by, 0, 1, 0, s, by, 0, 0};
    sett__expr e = {0, 0};
    for (size_t i = 0; i < sizeof code; i++)
        e = op(f, e, code[i], imm[i]);
    return e;
}

/* (M,N) row-major, as sett_row_major(b, M, N) declares it. */
static void add_matrix(fixture *f, const char *name, sett_dtype dtype, int M, int N, uint32_t align)
{
    add_param(f, name, dtype, 2)->align = align;
    add_leaf(f, 0, symbol(f, M), symbol(f, N));
    add_leaf(f, 1, symbol(f, N), num(f, 1));
}

static void add_kernel(fixture *f, int64_t div)
{
    start(f);
    int M = add_sym(f, "M", 1, false), N = add_sym(f, "N", div, false);
    add_matrix(f, "A", SETT_F16, M, N, 16);
    add_matrix(f, "B", SETT_F16, M, N, 16);
    add_matrix(f, "C", SETT_F16, M, N, 16);
    f->sig.grid[0] = ceil_div(f, N, 256);
    f->sig.grid[1] = ceil_div(f, M, 16);
    f->sig.block[0] = num(f, 128);
}

static alignas(64) char memory[4096];

/* Every bind of this suite is beside the reference. */
#define sett__bind bind_beside

static sett_buf buf2(int64_t m, int64_t n)
{
    return (sett_buf){memory, SETT_F16, 2, {m, n}, {n, 1}};
}

static sett_status bind3(const fixture *f, const sett_buf *a, const sett_buf *b, const sett_buf *c, sett__bound *out, sett_error *err)
{
    const sett_launch_arg args[3] = {{SETT_LAUNCH_ARG_BUF, .u = {.t = a}}, {SETT_LAUNCH_ARG_BUF, .u = {.t = b}}, {SETT_LAUNCH_ARG_BUF, .u = {.t = c}}};
    memset(err, 0, sizeof *err);
    return sett__bind(&f->sig, "add", 3, args, true, out, NULL, err);
}

static void expect(sett_status got, sett_status want, const sett_error *err, const char *text)
{
    ck_assert_str_eq(err->text, text);
    ck_assert(got == want && err->status == want);
}

START_TEST(packs_and_evaluates)
{
    fixture f;
    sett__bound out;
    sett_error err;
    sett_buf a = buf2(1999, 1203), b = a, c = a;
    struct {
        void *a, *b, *c;
        int32_t m, n;
    } want = {memory, memory + 64, memory + 128, 1999, 1203};
    add_kernel(&f, 1);
    b.data = memory + 64;
    c.data = memory + 128;
    ck_assert_msg(!bind3(&f, &a, &b, &c, &out, &err), "%s", err.text);
    ck_assert_uint_eq(out.params_len, sizeof want);
    ck_assert_mem_eq(out.params, &want, sizeof want);
    const sett__launch_dims dims = {{5, 125, 1}, {128, 1, 1}, {1, 1, 1}, 0};
    ck_assert_mem_eq(&out.dims, &dims, sizeof dims);
    ck_assert(!out.empty);
}
END_TEST

START_TEST(packs_scalars)
{
    fixture f;
    sett__bound out;
    sett__extent extent[8];
    sett_error err = {0};
    struct {
        uint8_t flag;
        uint16_t half;
        int8_t byte;
        double d;
        float x;
        uint64_t wide;
        int32_t k;
    } want;
    memset(&want, 0, sizeof want);
    want.flag = 1, want.half = 0x3E00, want.byte = -3, want.d = 0.1, want.x = 7, want.wide = UINT64_MAX, want.k = 40;
    static const struct {
        const char *name;
        sett_dtype dtype;
        sett_launch_arg value;
    } s[] = {{"flag", SETT_BOOL, {SETT_LAUNCH_ARG_INT, .u = {.i = 1}}}, {"half", SETT_F16, {SETT_LAUNCH_ARG_FLOAT, .u = {.f = 1.5}}},
        {"byte", SETT_I8, {SETT_LAUNCH_ARG_INT, .u = {.i = -3}}}, {"d", SETT_F64, {SETT_LAUNCH_ARG_FLOAT, .u = {.f = 0.1}}},
        {"x", SETT_F32, {SETT_LAUNCH_ARG_INT, .u = {.i = 7}}}, {"wide", SETT_U64, {SETT_LAUNCH_ARG_INT, .u = {.i = -1}}}};
    sett_launch_arg args[7];
    start(&f);
    for (size_t i = 0; i < SETT__COUNT(s); i++) {
        add_scalar(&f, s[i].name, s[i].dtype);
        args[i] = s[i].value;
    }
    add_sym(&f, "k", 1, false);
    args[6] = (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = 40}}; /* a symbol that no buffer gives */
    ck_assert_msg(!sett__bind(&f.sig, "k", 7, args, false, &out, extent, &err), "%s", err.text);
    ck_assert_uint_eq(out.params_len, offsetof(__typeof__(want), k) + 4);
    ck_assert_mem_eq(out.params, &want, out.params_len);
    for (int i = 0; i < 6; i++)
        ck_assert(!extent[i].data && !extent[i].bytes);
}
END_TEST

/* ---- what is refused ------------------------------------------------------------------ */
/* One buffer of three is changed. */
typedef struct misuse {
    int arg; /* 0 A, 1 B, 2 C */
    sett_buf buf;
    sett_status status;
    const char *text;
} misuse;

static const misuse misuses[] = {
    {1, {memory, SETT_F16, 2, {64, 1204}, {1204, 1}}, SETT_E_SHAPE, "add: B mode 1 is 1204, A mode 1 gives N = 1203; B is (M,N)"},
    {2, {memory, SETT_F16, 2, {63, 1203}, {1203, 1}}, SETT_E_SHAPE, "add: C mode 0 is 63, A mode 0 gives M = 64; C is (M,N)"},
    {1, {memory, SETT_F16, 2, {64, 1203}, {1204, 1}}, SETT_E_SHAPE, "add: B stride 0 is 1204, A mode 1 gives N = 1203"},
    {2, {memory, SETT_F16, 2, {64, 1203}, {1203, 2}}, SETT_E_SHAPE, "add: C's mode 1 must be contiguous: its stride is 2; C is (M,N)"},
    {0, {memory, SETT_BF16, 2, {64, 1203}, {1203, 1}}, SETT_E_DTYPE, "add: A is f16, the buffer given is bf16"},
    {0, {memory, SETT_F16, 3, {64, 1203, 1}, {1203, 1, 1}}, SETT_E_RANK, "add: A has 2 modes, the buffer given 3"},
    {0, {memory, SETT_F16, -1, {64, 1203, 1}, {1203, 1, 1}}, SETT_E_RANK, "add: A has 2 modes, and the buffer given was made with a rank that is none"},
    {1, {memory, SETT_F16, 2, {-64, 1203}, {1203, 1}}, SETT_E_SHAPE, "add: B mode 0 is -64"},
    {1, {NULL, SETT_F16, 2, {64, 1203}, {1203, 1}}, SETT_E_BIND, "add: B is a null pointer"},
};

START_TEST(refuses_buffers)
{
    const misuse *m = &misuses[_i];
    fixture f;
    sett__bound out;
    sett_error err;
    sett_buf t[3] = {buf2(64, 1203), buf2(64, 1203), buf2(64, 1203)};
    add_kernel(&f, 1);
    t[m->arg] = m->buf;
    sett_status s = bind3(&f, &t[0], &t[1], &t[2], &out, &err);
    expect(s, m->status, &err, m->text);
    ck_assert_int_eq(bind3(&f, &t[0], &t[1], &t[2], &out, &(sett_error){0}), m->status);
}
END_TEST

START_TEST(refuses_alignment)
{
    fixture f;
    sett__bound out;
    sett_error err;
    char want[200];
    sett_buf a = buf2(64, 1203), b = a;
    add_kernel(&f, 1);
    b.data = memory + 8;
    snprintf(want, sizeof want, "add: B is at %p, which is not a multiple of 16 bytes", (void *)(memory + 8));
    expect(bind3(&f, &a, &b, &a, &out, &err), SETT_E_ALIGN, &err, want);
}
END_TEST

START_TEST(refuses_div)
{
    fixture f;
    sett__bound out;
    sett_error err;
    sett_buf a = buf2(64, 1203);
    add_kernel(&f, 8);
    expect(bind3(&f, &a, &a, &a, &out, &err), SETT_E_DIVIDE, &err, "add: N = 1203 (A mode 1) is not a multiple of 8");
    a = buf2(64, 1208);
    ck_assert_int_eq(bind3(&f, &a, &a, &a, &out, &err), SETT_OK);
    add_kernel(&f, 3); /* no power of two */
    expect(bind3(&f, &a, &a, &a, &out, &err), SETT_E_DIVIDE, &err, "add: N = 1208 (A mode 1) is not a multiple of 3");
    a = buf2(64, 1203);
    ck_assert_int_eq(bind3(&f, &a, &a, &a, &out, &err), SETT_OK);
}
END_TEST

START_TEST(refuses_counts_and_kinds)
{
    fixture f;
    sett__bound out;
    sett_error err = {0};
    sett_buf a = buf2(64, 1203);
    sett_launch_arg args[6] = {
        {SETT_LAUNCH_ARG_BUF, .u = {.t = &a}}, {SETT_LAUNCH_ARG_BUF, .u = {.t = &a}}, {SETT_LAUNCH_ARG_BUF, .u = {.t = &a}}, {SETT_LAUNCH_ARG_BUF, .u = {.t = &a}}};
    add_kernel(&f, 1);
    expect(sett__bind(&f.sig, "add", 2, args, true, &out, NULL, &err), SETT_E_BIND, &err,
        "add takes 3 arguments (A, B, C), 2 were given");
    expect(sett__bind(&f.sig, "add", 4, args, true, &out, NULL, &err), SETT_E_BIND, &err,
        "add takes 3 arguments (A, B, C), 4 were given");
    expect(sett__bind(&f.sig, "add", -1, args, true, &out, NULL, &err), SETT_E_BIND, &err,
        "add takes 3 arguments (A, B, C), -1 were given");
    expect(sett__bind(&f.sig, "add", 6, args, true, &out, NULL, &err), SETT_E_BIND, &err,
        "add takes 3 arguments (A, B, C), 6 were given");
    expect(sett__bind(&f.sig, "add", 3, NULL, true, &out, NULL, &err), SETT_E_BIND, &err,
        "add: the array of its 3 arguments is NULL");
    args[1] = (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = 5}};
    expect(sett__bind(&f.sig, "add", 3, args, true, &out, NULL, &err), SETT_E_BIND, &err,
        "add: B is a tensor, and a number was given (argument 1)");
    args[1] = (sett_launch_arg){SETT_LAUNCH_ARG_BUF, .u = {.t = NULL}};
    expect(sett__bind(&f.sig, "add", 3, args, true, &out, NULL, &err), SETT_E_BIND, &err,
        "add: B: the buffer given is NULL (argument 1)");
    start(&f);
    ck_assert_int_eq(sett__bind(&f.sig, "hello", 0, NULL, true, &out, NULL, &err), SETT_OK);
    ck_assert_uint_eq(out.params_len, 0);
    expect(sett__bind(&f.sig, "hello", 1, args, true, &out, NULL, &err), SETT_E_BIND, &err,
        "hello takes no arguments, 1 was given");
}
END_TEST

START_TEST(refuses_scalars)
{
    static const struct {
        sett_dtype dtype;
        sett_launch_arg value;
        sett_status status;
        const char *text;
    } bad[] = {
        {SETT_I32, {SETT_LAUNCH_ARG_INT, .u = {.i = INT64_C(1) << 31}}, SETT_E_RANGE, "k: a = 2147483648 does not fit i32"},
        {SETT_I8, {SETT_LAUNCH_ARG_INT, .u = {.i = -129}}, SETT_E_RANGE, "k: a = -129 does not fit i8"},
        {SETT_U16, {SETT_LAUNCH_ARG_INT, .u = {.i = -1}}, SETT_E_RANGE, "k: a = -1 does not fit u16"},
        {SETT_U32, {SETT_LAUNCH_ARG_INT, .u = {.i = INT64_C(1) << 32}}, SETT_E_RANGE, "k: a = 4294967296 does not fit u32"},
        {SETT_BOOL, {SETT_LAUNCH_ARG_INT, .u = {.i = 2}}, SETT_E_RANGE, "k: a = 2 does not fit i1"},
        {SETT_I32, {SETT_LAUNCH_ARG_FLOAT, .u = {.f = 1.0}}, SETT_E_DTYPE, "k: a is i32, and the floating number 1 was given"},
        {SETT_F16, {SETT_LAUNCH_ARG_FLOAT, .u = {.f = 1e6}}, SETT_E_RANGE, "k: a = 1e+06 does not fit f16"},
        {SETT_F16, {SETT_LAUNCH_ARG_INT, .u = {.i = 70000}}, SETT_E_RANGE, "k: a = 70000 does not fit f16"},
        {SETT_F32, {SETT_LAUNCH_ARG_FLOAT, .u = {.f = -1e39}}, SETT_E_RANGE, "k: a = -1e+39 does not fit f32"},
        {SETT_F32, {SETT_LAUNCH_ARG_BUF, .u = {.t = NULL}}, SETT_E_BIND, "k: a is a number, and a buffer was given (argument 0)"},
        {SETT_F32, {0, .u = {.i = 0}}, SETT_E_BIND, "k: a is a number, and nothing was given (argument 0)"},
    };
    static const struct {
        sett_dtype dtype;
        sett_launch_arg value;
    } good[] = {{SETT_I32, {SETT_LAUNCH_ARG_INT, .u = {.i = INT32_MIN}}}, {SETT_U32, {SETT_LAUNCH_ARG_INT, .u = {.i = UINT32_MAX}}},
        {SETT_I64, {SETT_LAUNCH_ARG_INT, .u = {.i = INT64_MIN}}}, {SETT_F16, {SETT_LAUNCH_ARG_FLOAT, .u = {.f = 65504}}},
        {SETT_F32, {SETT_LAUNCH_ARG_FLOAT, .u = {.f = HUGE_VAL}}}, {SETT_BF16, {SETT_LAUNCH_ARG_FLOAT, .u = {.f = 3e38}}},
        {SETT_I8, {SETT_LAUNCH_ARG_INT, .u = {.i = 127}}}};
    sett__bound out;
    for (size_t i = 0; i < SETT__COUNT(bad) + SETT__COUNT(good); i++) {
        fixture f;
        sett_error err = {0};
        bool is_bad = i < SETT__COUNT(bad);
        size_t g = i - SETT__COUNT(bad);
        start(&f);
        add_scalar(&f, "a", is_bad ? bad[i].dtype : good[g].dtype);
        sett_status s = sett__bind(&f.sig, "k", 1, is_bad ? &bad[i].value : &good[g].value, true, &out, NULL, &err);
        if (is_bad)
            expect(s, bad[i].status, &err, bad[i].text);
        else
            ck_assert_msg(!s, "%s", err.text);
    }
}
END_TEST

START_TEST(refuses_sizes)
{
    fixture f;
    sett__bound out;
    sett_error err;
    add_kernel(&f, 1);
    sett_buf a = buf2(INT64_C(1) << 31, 1);
    expect(bind3(&f, &a, &a, &a, &out, &err), SETT_E_RANGE, &err,
        "add: M = 2147483648 (A mode 0) is past 2^31 - 1: declare it .wide and form own indices from sett_to(sett_block_idx(b, 0), SETT_I64)");
    a = buf2(1 << 16, (1 << 15) + 1);
    expect(bind3(&f, &a, &a, &a, &out, &err), SETT_E_RANGE, &err,
        "add: A spans 2147549184 elements, past the 2^31 of 32-bit offsets: declare its symbols .wide (of a marked tensor: no use_32bit_stride) and form own indices from sett_to(sett_block_idx(b, 0), SETT_I64)");
    a = buf2(1 << 16, 1 << 15); /* exactly 2^31 */
    ck_assert_int_eq(bind3(&f, &a, &a, &a, &out, &err), SETT_OK);
    for (int i = 0; i < 3; i++)
        f.param[i].wide = 1;
    f.sym[0].wide = f.sym[1].wide = 1;
    a = buf2(INT64_C(1) << 40, INT64_C(1) << 30);
    expect(bind3(&f, &a, &a, &a, &out, &err), SETT_E_RANGE, &err, "add: the extents and strides of A overflow 64 bits");
    a = buf2(1 << 20, 1 << 20);
    expect(bind3(&f, &a, &a, &a, &out, &err), SETT_E_LIMIT, &err, "add: the grid's y, (M+15)/16, is 65536; its limits are 0 and 65535");
}
END_TEST

START_TEST(refuses_dimensions)
{
    static const struct {
        int which; /* 0 grid, 1 block, 2 cluster */
        int dim;
        int64_t value;
        const char *text; /* NULL: fine */
    } t[] = {
        {0, 0, INT64_C(1) << 31, "k: the grid's x is 2147483648; its limits are 0 and 2147483647"},
        {0, 0, INT32_MAX, NULL},
        {0, 0, -1, "k: the grid's x is -1; its limits are 0 and 2147483647"},
        {0, 1, 65536, "k: the grid's y is 65536; its limits are 0 and 65535"},
        {0, 2, 65535, NULL},
        {1, 0, 0, "k: the block's x is 0; its limits are 1 and 1024"},
        {1, 0, 1025, "k: the block's x is 1025; its limits are 1 and 1024"},
        {1, 1, 1024, "k: a block of 2048 threads; 1024 is the limit"},
        {1, 2, 65, "k: the block's z is 65; its limits are 1 and 64"},
        {2, 0, 17, "k: the cluster's x is 17; its limits are 1 and 16"},
    };
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        fixture f;
        sett__bound out;
        sett_error err = {0};
        start(&f);
        if (t[i].which == 1 && t[i].dim == 1)
            f.sig.block[0] = num(&f, 2);
        (t[i].which == 0 ? f.sig.grid : t[i].which == 1 ? f.sig.block : f.sig.cluster)[t[i].dim] = num(&f, t[i].value);
        sett_status s = sett__bind(&f.sig, "k", 0, NULL, true, &out, NULL, &err);
        if (t[i].text)
            expect(s, SETT_E_LIMIT, &err, t[i].text);
        else
            ck_assert_msg(!s, "%s", err.text);
    }
    fixture f;
    sett__bound out;
    sett_error err = {0};
    start(&f);
    f.sig.grid[1] = num(&f, 6), f.sig.cluster[1] = num(&f, 4);
    expect(sett__bind(&f.sig, "k", 0, NULL, true, &out, NULL, &err), SETT_E_DIVIDE, &err,
        "k: the grid's y is 6, which is not a multiple of the cluster's, 4");
    f.sig.grid[1] = num(&f, 12), f.sig.cluster[1] = num(&f, 12);
    expect(sett__bind(&f.sig, "k", 0, NULL, true, &out, NULL, &err), SETT_E_LIMIT, &err, "k: a cluster of 12 blocks; 8 is the limit");
    f.sig.big_cluster = 1;
    ck_assert(!sett__bind(&f.sig, "k", 0, NULL, true, &out, NULL, &err));
    start(&f);
    f.sig.smem = 227 * 1024 + 1;
    expect(sett__bind(&f.sig, "k", 0, NULL, true, &out, NULL, &err), SETT_E_LIMIT, &err,
        "k: 232449 bytes of shared memory; 232448 is the limit");
}
END_TEST

START_TEST(grid_overflow)
{
    fixture f;
    sett__bound out;
    sett_error err = {0};
    const sett_launch_arg huge[] = {{SETT_LAUNCH_ARG_INT, .u = {.i = INT64_MAX}}}, none[] = {{SETT_LAUNCH_ARG_INT, .u = {.i = 0}}};
    start(&f);
    add_sym(&f, "N", 1, true);
    f.sig.grid[0] = op(&f, op(&f, symbol(&f, 0), SETT__X_CONST, 2), SETT__X_MUL, 0);
    ck_assert_int_eq(sett__bind(&f.sig, "k", 1, huge, true, &out, NULL, &err), SETT_E_RANGE);
    ck_assert_ptr_nonnull(strstr(err.text, "k: the grid's x, "));
    ck_assert_ptr_nonnull(strstr(err.text, ", overflows or divides by zero"));
    f.sig.grid[0] = op(&f, op(&f, num(&f, 2), SETT__X_SYM, 0), SETT__X_DIV, 0);
    ck_assert_int_eq(sett__bind(&f.sig, "k", 1, none, true, &out, NULL, &err), SETT_E_RANGE);
}
END_TEST

/* ---- symbols ---------------------------------------------------------------------------- */
START_TEST(zero_grid_is_empty)
{
    fixture f;
    sett__bound out;
    sett_error err;
    sett_buf a = buf2(0, 1203);
    a.data = NULL; /* nothing to point to */
    add_kernel(&f, 1);
    ck_assert_msg(!bind3(&f, &a, &a, &a, &out, &err), "%s", err.text);
    ck_assert(out.empty);
    ck_assert_uint_eq(out.dims.grid[1], 0);
}
END_TEST

/* A (M,K):(LD,1) where LD is a stride of its own. */
static void ld_kernel(fixture *f)
{
    start(f);
    int M = add_sym(f, "M", 1, false), K = add_sym(f, "K", 1, false), LD = add_sym(f, "LD", 8, false);
    add_param(f, "A", SETT_F32, 2);
    add_leaf(f, 0, symbol(f, M), symbol(f, LD));
    add_leaf(f, 1, symbol(f, K), num(f, 1));
}

START_TEST(strides_of_one_are_ignored)
{
    fixture f;
    sett__bound out;
    sett_error err;
    int32_t sym[3];
    static const struct {
        int64_t rows, cols, stride0, stride1, ld;
    } t[] = {{4, 10, 16, 1, 16}, {1, 10, 24, 1, 24}, {1, 10, 1, 1, 8}, {1, 10, -7, 1, 8}, {4, 1, 16, 999, 16},
        {1, 1, INT64_MAX, 5, 8}, {0, 10, 3, 77, 8}};
    ld_kernel(&f);
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett_buf a = {memory, SETT_F32, 2, {t[i].rows, t[i].cols}, {t[i].stride0, t[i].stride1}};
        const sett_launch_arg arg = {SETT_LAUNCH_ARG_BUF, .u = {.t = &a}};
        ck_assert_msg(!sett__bind(&f.sig, "k", 1, &arg, true, &out, NULL, &err), "case %zu: %s", i, err.text);
        memcpy(sym, out.params + 8, sizeof sym);
        ck_assert_int_eq(sym[0], t[i].rows);
        ck_assert_int_eq(sym[1], t[i].cols);
        ck_assert_int_eq(sym[2], t[i].ld);
    }
    sett_buf a = {memory, SETT_F32, 2, {4, 10}, {12, 1}};
    const sett_launch_arg arg = {SETT_LAUNCH_ARG_BUF, .u = {.t = &a}};
    expect(sett__bind(&f.sig, "k", 1, &arg, true, &out, NULL, &err), SETT_E_DIVIDE, &err,
        "k: LD = 12 (A stride 0) is not a multiple of 8");
    a.stride[0] = -16;
    expect(sett__bind(&f.sig, "k", 1, &arg, true, &out, NULL, &err), SETT_E_RANGE, &err,
        "k: LD = -16 (A stride 0) is negative");
}
END_TEST

START_TEST(free_symbols)
{
    fixture f;
    sett__bound out;
    sett_error err = {0};
    sett_buf a = {memory, SETT_F32, 1, {10}, {1}};
    sett_launch_arg args[3] = {{SETT_LAUNCH_ARG_BUF, .u = {.t = &a}}, {0, .u = {.i = 0}}, {SETT_LAUNCH_ARG_INT, .u = {.i = 6}}};
    start(&f);
    int N = add_sym(&f, "N", 1, false);
    add_sym(&f, "steps", 2, false);
    add_param(&f, "X", SETT_F32, 1);
    add_leaf(&f, 0, symbol(&f, N), num(&f, 1));
    for (int n = 1; n <= 2; n++) /* a number that is meant for steps is N's, as that comes first */
        expect(sett__bind(&f.sig, "k", n, (const sett_launch_arg[]){args[0], args[2]}, true, &out, NULL, &err), SETT_E_BIND, &err,
            n == 1 ? "k: no argument gives steps a value: append N, steps to the launch as integers" : "k: no argument gives steps a value: append N, steps to the launch as integers, and 1 came");
    ck_assert_int_eq(sett__bind(&f.sig, "k", 3, args, true, &out, NULL, &err), SETT_OK);
    ck_assert_int_eq(((int32_t *)(void *)out.params)[2], 10);
    ck_assert_int_eq(((int32_t *)(void *)out.params)[3], 6);
    args[2].u.i = 5;
    expect(sett__bind(&f.sig, "k", 3, args, true, &out, NULL, &err), SETT_E_DIVIDE, &err,
        "k: steps = 5 (the caller) is not a multiple of 2");
    args[2].u.i = 6, args[1] = (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = 11}};
    expect(sett__bind(&f.sig, "k", 3, args, true, &out, NULL, &err), SETT_E_BIND, &err,
        "k: N = 11 was given, X mode 0 gives 10");
    args[1].u.i = 10;
    ck_assert_int_eq(sett__bind(&f.sig, "k", 3, args, true, &out, NULL, &err), SETT_OK);
    f.sym[1].div = 1; /* one too many, as a launch and as a call with a place for each symbol give it */
    sett_buf b = {memory, SETT_F32, 1, {6}, {1}};
    add_param(&f, "Y", SETT_F32, 1);
    add_leaf(&f, 0, symbol(&f, 1), num(&f, 1));
    sett_launch_arg more[4] = {args[0], {SETT_LAUNCH_ARG_BUF, .u = {.t = &b}}, {SETT_LAUNCH_ARG_INT, .u = {.i = 11}}, {0, .u = {.i = 0}}};
    for (int n = 3; n <= 4; n++)
        expect(sett__bind(&f.sig, "k", n, more, true, &out, NULL, &err), SETT_E_BIND, &err,
            "k takes 2 arguments (X, Y), 3 were given; a number behind them is a symbol: N = 11, and X mode 0 gives 10");
    more[2] = (sett_launch_arg){SETT_LAUNCH_ARG_FLOAT, .u = {.f = 11}};
    expect(sett__bind(&f.sig, "k", 3, more, true, &out, NULL, &err), SETT_E_BIND, &err,
        "k takes 2 arguments (X, Y), 3 were given");
    ck_assert_int_eq(sett__bind(&f.sig, "k", 2, more, true, &out, NULL, &err), SETT_OK);
    start(&f);
    add_sym(&f, "steps", 1, false);
    expect(sett__bind(&f.sig, "k", 0, NULL, true, &out, NULL, &err), SETT_E_BIND, &err,
        "k: no argument gives steps a value: append it to the launch as an integer");
}
END_TEST

/* X (2*N), declared before Y (N): the expression must agree with what Y gives. */
START_TEST(expressions_agree)
{
    fixture f;
    sett__bound out;
    sett_error err;
    sett_buf x = {memory, SETT_F32, 1, {20}, {1}}, y = {memory, SETT_F32, 1, {10}, {1}};
    const sett_launch_arg args[2] = {{SETT_LAUNCH_ARG_BUF, .u = {.t = &x}}, {SETT_LAUNCH_ARG_BUF, .u = {.t = &y}}};
    start(&f);
    int N = add_sym(&f, "N", 1, false);
    add_param(&f, "X", SETT_F32, 1);
    add_leaf(&f, 0, op(&f, op(&f, num(&f, 2), SETT__X_SYM, N), SETT__X_MUL, 0), num(&f, 1));
    add_param(&f, "Y", SETT_F32, 1);
    add_leaf(&f, 0, symbol(&f, N), num(&f, 1));
    ck_assert_msg(!sett__bind(&f.sig, "k", 2, args, true, &out, NULL, &err), "%s", err.text);
    x.shape[0] = 21;
    ck_assert_int_eq(sett__bind(&f.sig, "k", 2, args, true, &out, NULL, &err), SETT_E_SHAPE);
    ck_assert_ptr_eq(strstr(err.text, "k: X mode 0 is 21, "), err.text);
    ck_assert_str_eq(err.text + strlen(err.text) - 6, " is 20");
}
END_TEST

/* One buffer mode of ((4,N)):((1,4)): flat extent 4N, stride 1. */
START_TEST(nested_modes)
{
    fixture f;
    sett__bound out;
    sett_error err;
    sett_buf x = {memory, SETT_F32, 1, {40}, {1}};
    sett_launch_arg args[3] = {{SETT_LAUNCH_ARG_BUF, .u = {.t = &x}}, {SETT_LAUNCH_ARG_INT, .u = {.i = 10}}};
    start(&f);
    int N = add_sym(&f, "N", 1, false);
    add_param(&f, "X", SETT_F32, 1);
    add_leaf(&f, 0, num(&f, 4), num(&f, 1));
    add_leaf(&f, 0, symbol(&f, N), num(&f, 4));
    ck_assert_msg(!sett__bind(&f.sig, "k", 2, args, true, &out, NULL, &err), "%s", err.text);
    x.shape[0] = 41;
    expect(sett__bind(&f.sig, "k", 2, args, true, &out, NULL, &err), SETT_E_SHAPE, &err,
        "k: X mode 0 is 41, its nested extents make 40");
    x.shape[0] = 40;
    x.stride[0] = 2;
    expect(sett__bind(&f.sig, "k", 2, args, true, &out, NULL, &err), SETT_E_SHAPE, &err,
        "k: X stride 0 is 2, its nested mode needs 1 where that gives 2");
}
END_TEST

START_TEST(memory_bounds)
{
    fixture f;
    sett__bound out;
    sett__extent extent[1];
    sett_error err;
    static const struct {
        sett_dtype dtype;
        int64_t rows, cols, stride0, stride1, low, bytes;
    } t[] = {{SETT_F32, 4, 10, 16, 1, 0, (3 * 16 + 9 + 1) * 4},
        {SETT_F32, 4, 10, -16, 1, -48 * 4, (3 * 16 + 9 + 1) * 4}, {SETT_BOOL, 2, 3, 3, 1, 0, 6},
        {SETT_F32, 4, 10, 0, 0, 0, 4}, {SETT_F4E2M1FN, 2, 5, 5, 1, 0, 5}, {SETT_F64, 0, 5, 5, 1, 0, 0}};
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett_buf a = {memory + 1024, t[i].dtype, 2, {t[i].rows, t[i].cols}, {t[i].stride0, t[i].stride1}};
        const sett_launch_arg arg = {SETT_LAUNCH_ARG_BUF, .u = {.t = &a}};
        start(&f);
        add_param(&f, "A", t[i].dtype, 2)->align = 1;
        add_leaf(&f, 0, num(&f, t[i].rows), num(&f, t[i].stride0));
        add_leaf(&f, 1, num(&f, t[i].cols), num(&f, t[i].stride1));
        ck_assert_msg(!sett__bind(&f.sig, "k", 1, &arg, false, &out, extent, &err), "case %zu: %s", i, err.text);
        ck_assert_ptr_eq(extent[0].data, memory + 1024 + t[i].low);
        ck_assert_int_eq((int64_t)extent[0].bytes, t[i].bytes);
    }
}
END_TEST

/* Random sizes against the formulas written in C. */
START_TEST(law_of_sizes)
{
    fixture f;
    sett__bound out;
    sett_error err;
    uint32_t seed = 4711;
    add_kernel(&f, 1);
    for (int i = 0; i < 2000; i++) {
        int64_t m = (seed = seed * 1664525 + 1013904223) >> 16, n = (seed = seed * 1664525 + 1013904223) >> 18;
        sett_buf a = buf2(m, n);
        ck_assert_msg(!bind3(&f, &a, &a, &a, &out, &err), "%lld x %lld: %s", (long long)m, (long long)n, err.text);
        const int32_t *sym = (int32_t *)(void *)out.params + 6;
        ck_assert(out.dims.grid[0] == (n + 255) / 256 && out.dims.grid[1] == (m + 15) / 16);
        ck_assert(out.empty == (!m || !n) && sym[0] == m && sym[1] == n);
    }
}
END_TEST

/* ---- beside the reference --------------------------------------------------------------------------------- */
static uint32_t pick(uint32_t *seed, uint32_t n)
{
    return (uint32_t)(((uint64_t)(*seed = *seed * 1664525 + 1013904223) * n) >> 32);
}

typedef struct chance {
    fixture f;
    int64_t value[3]; /* of the symbols */
    sett_buf buf[4];
    sett_launch_arg arg[8];
    int n; /* of arg */
} chance;

static int64_t random_leaf(chance *c, uint32_t *seed, sett__expr *e)
{
    int s = (int)pick(seed, 3);
    int64_t k = pick(seed, 5) + 1;
    switch (pick(seed, 4)) {
    case 0: return *e = num(&c->f, k), k;
    case 1: return *e = op(&c->f, op(&c->f, num(&c->f, k), SETT__X_SYM, s), SETT__X_MUL, 0), (int64_t)((uint64_t)k * (uint64_t)c->value[s]);
    default: return *e = symbol(&c->f, s), c->value[s];
    }
}

static void random_argument(chance *c, uint32_t *seed, int i)
{
    static const sett_dtype types[] = {SETT_F32, SETT_F16, SETT_I8, SETT_U16, SETT_BOOL, SETT_I64, SETT_F64, SETT_BF16};
    static const double floats[] = {0, 1.5, -65504, 1e5, 1e38, 1e39, HUGE_VAL};
    static const int64_t ints[] = {0, 1, -1, 127, -128, 65535, INT64_MAX};
    sett_dtype dtype = types[pick(seed, SETT__COUNT(types))];
    if (!pick(seed, 3)) {
        add_scalar(&c->f, "a", dtype);
        c->arg[i] = pick(seed, 2) ? (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = ints[pick(seed, SETT__COUNT(ints))]}}
                                  : (sett_launch_arg){SETT_LAUNCH_ARG_FLOAT, .u = {.f = floats[pick(seed, SETT__COUNT(floats))]}};
        return;
    }
    sett_buf *t = &c->buf[i];
    *t = (sett_buf){.data = memory + 16 * pick(seed, 4), .dtype = dtype, .rank = (int)pick(seed, 4)};
    sett__param *p = add_param(&c->f, "X", dtype, t->rank);
    p->wide = (uint8_t)pick(seed, 2);
    p->align = 1u << pick(seed, 6);
    for (int m = 0; m < t->rank; m++) {
        sett__expr extent, stride;
        t->shape[m] = random_leaf(c, seed, &extent);
        t->stride[m] = random_leaf(c, seed, &stride);
        add_leaf(&c->f, m, extent, stride);
        if (!pick(seed, 8) && t->shape[m] < INT32_MAX && t->stride[m] < INT32_MAX) { /* and another leaf of the same mode */
            add_leaf(&c->f, m, num(&c->f, 2), num(&c->f, t->shape[m] * t->stride[m]));
            t->shape[m] *= 2;
        }
    }
    c->arg[i] = (sett_launch_arg){SETT_LAUNCH_ARG_BUF, .u = {.t = t}};
}

/* One thing wrong, or not. */
static void spoil(chance *c, uint32_t *seed)
{
    sett_buf *t = &c->buf[pick(seed, 3)];
    static const int64_t odd[] = {0, -1, INT64_MAX, INT64_MIN, (int64_t)1 << 31, (int64_t)1 << 53, 3};
    int64_t v = odd[pick(seed, SETT__COUNT(odd))];
    switch (pick(seed, 12)) {
    case 0: t->shape[pick(seed, 3)] = v; break;
    case 1: t->stride[pick(seed, 3)] = v; break;
    case 2: t->data = pick(seed, 2) ? NULL : memory + 1; break;
    case 3: t->dtype = (sett_dtype)pick(seed, 20); break;
    case 4: t->rank = (int)pick(seed, 9) - 2; break;
    case 5: c->n += (int)pick(seed, 3) - 1; break;
    case 6: c->arg[pick(seed, 6)].kind = (int)pick(seed, 5); break;
    default: break;
    }
}

static void random_launch(chance *c, uint32_t *seed)
{
    static const int64_t divs[] = {1, 1, 2, 8, 3, 1 << 20}, values[] = {1, 2, 8, 24, 24, 48, 4096, (int64_t)1 << 31, INT64_MAX};
    memset(c, 0, sizeof *c);
    start(&c->f);
    for (int s = 0; s < 3; s++) {
        add_sym(&c->f, "S", divs[pick(seed, SETT__COUNT(divs))], pick(seed, 2));
        c->value[s] = values[pick(seed, pick(seed, 4) ? 6 : SETT__COUNT(values))];
    }
    if (!pick(seed, 3)) { /* one that the launch computes, as a divisor's */
        sett__expr e = op(&c->f, op(&c->f, symbol(&c->f, 0), SETT__X_CONST, pick(seed, 9)), SETT__X_DIV, 0);
        c->f.sym[add_sym(&c->f, "D", 1, false)].value = e;
        c->f.sig.n_derived = 1;
    }
    int params = (int)pick(seed, 3) + 1;
    for (int i = 0; i < params; i++)
        random_argument(c, seed, i);
    for (int s = 0; s < 3; s++) /* some of them are given by nothing else */
        c->arg[params + s] = pick(seed, 3) ? (sett_launch_arg){SETT_LAUNCH_ARG_INT, .u = {.i = c->value[s]}} : (sett_launch_arg){0, .u = {.i = 0}};
    c->n = params + (int)pick(seed, 4);
    c->f.sig.grid[0] = pick(seed, 2) ? recorded_ceil_div(&c->f, 0, pick(seed, 300) + 1) : symbol(&c->f, 1);
    c->f.sig.grid[1] = ceil_div(&c->f, 2, 16);
    c->f.sig.block[0] = pick(seed, 4) ? num(&c->f, 128) : symbol(&c->f, 1);
    c->f.sig.cluster[1] = pick(seed, 8) ? num(&c->f, 1) : num(&c->f, 2);
    c->f.sig.smem = pick(seed, 8) ? 0 : 60000;
    spoil(c, seed);
}

/* Status, text, block, dimensions and extents, of what is right and of all that can be wrong. */
START_TEST(as_the_reference)
{
    static chance c;
    static sett__bound out;
    uint32_t seed = 12345;
    int right = 0;
    for (int i = 0; i < 100000; i++) {
        sett_error err = {0};
        random_launch(&c, &seed);
        right += !sett__bind(&c.f.sig, "k", c.n, c.arg, i & 1, &out, NULL, &err) && !out.empty;
    }
    ck_assert_msg(right > 3000, "%d launches were right", right);
}
END_TEST

/* What kernels usually are. */
START_TEST(usual_kernels)
{
    fixture f;
    sett__bound out;
    sett_error err = {0};
    sett_buf a = buf2(1999, 1203), ld = {memory, SETT_F32, 2, {4, 10}, {16, 1}};
    const int64_t half = INT64_C(1) << 30; /* the last offset is 2^31, of two modes that are each below */
    sett_buf far = {memory, SETT_I8, 2, {2, half + 1}, {half, 1}};
    const sett_launch_arg arg = {SETT_LAUNCH_ARG_BUF, .u = {.t = &ld}}, x = {SETT_LAUNCH_ARG_BUF, .u = {.t = &far}}, a_bind = {SETT_LAUNCH_ARG_BUF, .u = {.t = &a}};
    const sett_launch_arg each[] = {a_bind, a_bind, a_bind, {0, .u = {.i = 0}}, {0, .u = {.i = 0}}};
    add_kernel(&f, 1);
    f.sig.grid[0] = recorded_ceil_div(&f, 1, 256);
    ck_assert_int_eq(bind3(&f, &a, &a, &a, &out, &err), SETT_OK);
    ck_assert_int_eq(sett__bind(&f.sig, "add", 5, each, true, &out, NULL, &err), SETT_OK); /* as a call's commit gives them */
    ld_kernel(&f);
    ck_assert_int_eq(sett__bind(&f.sig, "k", 1, &arg, true, &out, NULL, &err), SETT_OK);
    f.sig.n_claim = 1, f.sig.claim = (sett__claim[]){{"", NULL, "", 0, 0}}; /* the address of a report is behind the arguments */
    ck_assert_int_eq(sett__bind(&f.sig, "k", 1, &arg, true, &out, NULL, &err), SETT_OK);
    start(&f);
    ck_assert_int_eq(sett__bind(&f.sig, "hello", 0, NULL, true, &out, NULL, &err), SETT_OK);
    add_param(&f, "X", SETT_I8, 2);
    add_leaf(&f, 0, num(&f, 2), num(&f, half));
    add_leaf(&f, 1, num(&f, half + 1), num(&f, 1));
    ck_assert_int_eq(sett__bind(&f.sig, "k", 1, &x, true, &out, NULL, &err), SETT_E_RANGE);
}
END_TEST

Suite *bind_suite(void);
Suite *bind_suite(void)
{
    Suite *s = suite_create("bind");
    TCase *t = tcase_create("bind");
    tcase_add_test(t, packs_and_evaluates);
    tcase_add_test(t, packs_scalars);
    tcase_add_loop_test(t, refuses_buffers, 0, (int)SETT__COUNT(misuses));
    tcase_add_test(t, refuses_alignment);
    tcase_add_test(t, refuses_div);
    tcase_add_test(t, refuses_counts_and_kinds);
    tcase_add_test(t, refuses_scalars);
    tcase_add_test(t, refuses_sizes);
    tcase_add_test(t, refuses_dimensions);
    tcase_add_test(t, grid_overflow);
    tcase_add_test(t, zero_grid_is_empty);
    tcase_add_test(t, strides_of_one_are_ignored);
    tcase_add_test(t, free_symbols);
    tcase_add_test(t, expressions_agree);
    tcase_add_test(t, nested_modes);
    tcase_add_test(t, memory_bounds);
    tcase_add_test(t, law_of_sizes);
    tcase_add_test(t, as_the_reference);
    tcase_add_test(t, usual_kernels);
    suite_add_tcase(s, t);
    return s;
}
