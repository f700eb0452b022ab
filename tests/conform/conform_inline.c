/* SPDX-License-Identifier: Apache-2.0 */
/* Inline PTX: what the assembler makes of it on a GPU, and its stand-ins in C on the CPU, against a third way to compute it. */
#include "tests/conform/conform.h"
#include <stdlib.h>
#include <string.h>

enum { N = 64, EACH = 4 };
typedef void (*function)(void);

/* ---- one result, of scalars and of values with a shape ---------------------------------------------------- */
static uint32_t majority(uint32_t x, uint32_t y, uint32_t z)
{
    return (x & y) | (z & (x | y));
}

static void majorities(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_U32, sett_make_layout(b, T(N, EACH)), .align = 16), *D = sett_param(b, "D", SETT_U32, sett_make_layout(b, T(N, EACH + 1)));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_load(sett_slice(X, t, ALL)), *y = sett_at(X, t, 0), *z = sett_at(X, t, 1);
    sett_val *d = sett_inline_ptx(b, "lop3.b32 $0, $1, $2, $3, 0xe8;", .result = {SETT_U32}, .in = SETT_IN(x, y, z), .stand_in = "majority");
    sett_store(sett_slice(sett_local_tile(D, T(N, EACH), T(0, 0)), t, ALL), d);
    sett_set(D, sett_inline_ptx(b, "lop3.b32 $0, $1, $2, $3, 0xe8;", .result = {SETT_U32}, .in = SETT_IN(sett_at(X, t, 3), y, z), .stand_in = "majority"), t, EACH);
}

START_TEST(of_values)
{
    static uint32_t x[EACH][N], d[EACH + 1][N];
    uint64_t seed = 5;
    for (int i = 0; i < N * EACH; i++)
        x[i / N][i % N] = (uint32_t)conform_random(&seed);
    conform_stand_in("majority", "u32(u32, u32, u32)", (function)majority);
    sett_buf X = {x, SETT_U32, 2, {N, EACH}, {1, N}}, D = {d, SETT_U32, 2, {N, EACH + 1}, {1, N}};
    conform_body(majorities, NULL, &X, &D);
    for (int t = 0; t < N; t++)
        for (int k = 0; k <= EACH; k++)
            for (int bit = 0; bit < 32; bit++) {
                uint32_t yes = (x[k < EACH ? k : 3][t] >> bit & 1) + (x[0][t] >> bit & 1) + (x[1][t] >> bit & 1);
                ck_assert_uint_eq(d[k][t] >> bit & 1, yes > 1);
            }
}
END_TEST

/* ---- several results: of one type, and of three --------------------------------------------------------------- */
static void add64(uint32_t *lo, uint32_t *hi, uint32_t xl, uint32_t xh, uint32_t yl, uint32_t yh)
{
    *lo = xl + yl;
    *hi = xh + yh + (*lo < xl);
}

static void parts(float *half, int64_t *square, bool *odd, int32_t x)
{
    *half = (float)x * 0.5f;
    *square = (int64_t)x * x;
    *odd = x & 1;
}

static void several(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_U64, sett_make_layout(b, T(N, 2))), *S = sett_param(b, "S", SETT_U32, sett_make_layout(b, T(N, 2)));
    sett_tensor *H = sett_param(b, "H", SETT_F32, sett_make_layout(b, T1(N))), *Q = sett_param(b, "Q", SETT_I64, sett_make_layout(b, T1(N)));
    sett_tensor *O = sett_param(b, "O", SETT_BOOL, sett_make_layout(b, T1(N)));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_at(X, t, 0), *y = sett_at(X, t, 1), *sum[2], *p[3];
    sett_inline_ptx(b, "{ add.cc.u32 $0, $2, $4;\n\taddc.u32 $1, $3, $5; }", .result = {SETT_U32, SETT_U32}, .to = sum, .stand_in = "add64",
        .in = SETT_IN(sett_to(x, SETT_U32), sett_to(sett_shr(x, 32), SETT_U32), sett_to(y, SETT_U32), sett_to(sett_shr(y, 32), SETT_U32)));
    for (int k = 0; k < 2; k++)
        sett_set(S, sum[k], t, k);
    sett_inline_ptx(b, "{ .reg .b32 one; cvt.rn.f32.s32 $0, $3; mul.f32 $0, $0, 0f3f000000; mul.wide.s32 $1, $3, $3; and.b32 one, $3, 1; setp.ne.s32 $2, one, 0; }",
        .result = {SETT_F32, SETT_I64, SETT_BOOL}, .to = p, .in = SETT_IN(sett_to(x, SETT_I32)), .stand_in = "parts");
    sett_set(H, p[0], t);
    sett_set(Q, p[1], t);
    sett_set(O, p[2], t);
}

START_TEST(of_several)
{
    static uint64_t x[2][N];
    static uint32_t s[2][N];
    static float h[N];
    static int64_t q[N];
    static uint8_t o[N];
    uint64_t seed = 6;
    for (int i = 0; i < 2 * N; i++)
        x[i / N][i % N] = i % 7 ? conform_random(&seed) : UINT64_MAX >> i % 5;
    conform_stand_in("add64", "u32,u32(u32,u32,u32,u32)", (function)add64);
    conform_stand_in("parts", "f32,i64,i1(i32)", (function)parts);
    sett_buf X = {x, SETT_U64, 2, {N, 2}, {1, N}}, S = {s, SETT_U32, 2, {N, 2}, {1, N}}, H = sett_buf_1d(h, SETT_F32, N), Q = sett_buf_1d(q, SETT_I64, N),
             O = sett_buf_1d(o, SETT_BOOL, N);
    conform_body(several, NULL, &X, &S, &H, &Q, &O);
    for (int t = 0; t < N; t++) {
        uint64_t sum = x[0][t] + x[1][t];
        int32_t n = (int32_t)x[0][t];
        uint32_t in = (uint32_t)n, bits;
        uint64_t float_bits = sett__float_of_integer(SETT_F32, n < 0, n < 0 ? UINT64_C(4294967296) - in : in);
        memcpy(&bits, &h[t], 4);
        ck_assert_msg(s[0][t] == (uint32_t)sum && s[1][t] == sum >> 32, "%d: got %x %x", t, s[1][t], s[0][t]);
        ck_assert_msg(bits == (n ? (uint32_t)float_bits - (1u << 23) : 0), "%d: half of %d is %g", t, n, (double)h[t]);
        ck_assert_int_eq(q[t], (int64_t)n * n);
        ck_assert_int_eq(o[t], in % 2);
    }
}
END_TEST

/* ---- every type, there and back ---------------------------------------------------------------------------------- */
static const struct passed { sett_dtype d; const char *ptx, *name, *types; } passes[] = {
    {SETT_BOOL, "not.pred $0, $1;", "not1", "i1(i1)"}, {SETT_I8, "not.b16 $0, $1;", "not8", "i8(i8)"}, {SETT_U8, "not.b16 $0, $1;", "notu8", "u8(u8)"},
    {SETT_I16, "not.b16 $0, $1;", "not16", "i16(i16)"}, {SETT_U16, "not.b16 $0, $1;", "notu16", "u16(u16)"}, {SETT_F16, "not.b16 $0, $1;", "noth", "f16(f16)"},
    {SETT_BF16, "not.b16 $0, $1;", "notb", "bf16(bf16)"}, {SETT_I32, "not.b32 $0, $1;", "not32", "i32(i32)"},
    {SETT_TF32, "not.b32 $0, $1;", "nott", "tf32(tf32)"}, {SETT_U64, "not.b64 $0, $1;", "not64", "u64(u64)"},
    {SETT_F32, "neg.f32 $0, $1;", "negf", "f32(f32)"}, {SETT_F64, "neg.f64 $0, $1;", "negd", "f64(f64)"}, {SETT_F8E4M3FN, "not.b16 $0, $1;", "note", "f8E4M3FN(f8E4M3FN)"},
};
static bool not1(bool x) { return !x; }
static int8_t not8(int8_t x) { return (int8_t)~x; }
static uint8_t notu8(uint8_t x) { return (uint8_t)~x; }
static int16_t not16(int16_t x) { return (int16_t)~x; }
static uint16_t notu16(uint16_t x) { return (uint16_t)~x; }
static int32_t not32(int32_t x) { return ~x; }
static uint32_t notu32(uint32_t x) { return ~x; }
static uint64_t not64(uint64_t x) { return ~x; }
static float negf(float x) { return -x; }
static double negd(double x) { return -x; }
static const function pass_functions[] = {(function)not1, (function)not8, (function)notu8, (function)not16, (function)notu16, (function)notu16, (function)notu16,
    (function)not32, (function)notu32, (function)not64, (function)negf, (function)negd, (function)notu8};

static void pass(sett_build *b, const void *user)
{
    const struct passed *p = user;
    sett_tensor *X = sett_param(b, "X", p->d, sett_make_layout(b, T1(N))), *D = sett_param(b, "D", p->d, sett_make_layout(b, T(N, 2)));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0), *x = sett_at(X, t), *two[2];
    char twice[80];
    sett_set(D, sett_inline_ptx(b, p->ptx, .result = {p->d}, .in = SETT_IN(x), .stand_in = p->name), t, 0);
    char first[40]; /* "$0, $1" to "$0, $2" and "$1, $2": the first result is written before the operand is read again */
    strstr(strcpy(first, p->ptx), "$1")[1] = '2';
    snprintf(twice, sizeof twice, "%s %s", first, first);
    strstr(twice + strlen(first), "$0")[1] = '1';
    char pair[40], types[80];
    snprintf(pair, sizeof pair, "%s.2", p->name);
    snprintf(types, sizeof types, "%.*s,%s", (int)strcspn(p->types, "("), p->types, p->types);
    sett_inline_ptx(b, twice, .result = {p->d, p->d}, .to = two, .in = SETT_IN(x), .stand_in = pair);
    sett_set(D, two[1], t, 1);
}

static void pair8(uint8_t *a, uint8_t *b, uint8_t x) { *a = *b = (uint8_t)~x; }
static void pairb(bool *a, bool *b, bool x) { *a = *b = !x; }
static void pair16(uint16_t *a, uint16_t *b, uint16_t x) { *a = *b = (uint16_t)~x; }
static void pair32(uint32_t *a, uint32_t *b, uint32_t x) { *a = *b = ~x; }
static void pair64(uint64_t *a, uint64_t *b, uint64_t x) { *a = *b = ~x; }
static void pairf(float *a, float *b, float x) { *a = *b = -x; }
static void paird(double *a, double *b, double x) { *a = *b = -x; }
static const function pair_functions[] = {(function)pairb, (function)pair8, (function)pair8, (function)pair16, (function)pair16, (function)pair16, (function)pair16,
    (function)pair32, (function)pair32, (function)pair64, (function)pairf, (function)paird, (function)pair8};

START_TEST(of_every_type)
{
    const struct passed *p = &passes[_i];
    static uint64_t d[2 * N];
    char *x = conform_array(p->d == SETT_TF32 ? SETT_U32 : p->d == SETT_F8E4M3FN ? SETT_U8 : p->d, N, 3), name[40], types[80];
    snprintf(name, sizeof name, "%s.2", p->name);
    snprintf(types, sizeof types, "%.*s,%s", (int)strcspn(p->types, "("), p->types, p->types);
    conform_stand_in(p->name, p->types, pass_functions[_i]);
    conform_stand_in(name, types, pair_functions[_i]);
    sett_buf X = sett_buf_1d(x, p->d, N), D = {d, p->d, 2, {N, 2}, {1, N}};
    conform_body(pass, p, &X, &D);
    bool real = p->d == SETT_F32 || p->d == SETT_F64;
    uint64_t mask = conform_mask(p->d), flip = real ? mask ^ mask >> 1 : mask;
    for (size_t i = 0; i < 2 * N; i++) {
        uint64_t in = conform_get(x, p->d, i % N) & mask, got = conform_get(d, p->d, i);
        if (!real || !conform_is_nan(p->d, in))
            ck_assert_msg(got == (in ^ flip), "%s, %zu: %" PRIx64 " gives %" PRIx64, p->types, i, in, got);
    }
    free(x);
}
END_TEST

/* ---- predicates, numbers, effects, branches and loops -------------------------------------------------------------- */
static int32_t guarded(int32_t x, bool more, int32_t by)
{
    return more ? x + by : x;
}

static uint32_t next(uint32_t x)
{
    return x * 1664525u + 1013904223u;
}

static void controlled(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_make_layout(b, T(N, 2))), *R = sett_param(b, "R", SETT_U32, sett_make_layout(b, T1(N)));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_set(D, sett_inline_ptx(b, "mov.b32 $0, $1; @$2 add.s32 $0, $0, $3;", .result = {SETT_I32}, .in = SETT_IN(t, sett_gt(t, 40), 1000), .stand_in = "guarded"), t, 0);
    sett_set(D, -1, t, 1);
    sett_if (b, sett_lt(t, 21))
        sett_set(D, sett_inline_ptx(b, "{ .reg .pred p; setp.ne.b32 p, $2, $2; mov.b32 $0, $1; @!p add.s32 $0, $0, $2; }", .result = {SETT_I32}, .in = SETT_IN(t, 5),
            .is_volatile = true, .stand_in = "plus"), t, 1);
    sett_tensor *x = sett_var(b, SETT_U32, sett_to(t, SETT_U32));
    sett_for (b, i, 0, sett_add(t, 1), 1)
        sett_set(x, sett_inline_ptx(b, "mad.lo.u32 $0, $1, 1664525, 1013904223;", .result = {SETT_U32}, .in = SETT_IN(sett_at(x, 0)), .stand_in = "next"), 0);
    sett_inline_ptx(b, "{ .reg .b32 t; mov.u32 t, %laneid; mov.u32 t, t; }", .stand_in = "nothing"); /* $$ has no place in it */
    sett_set(R, sett_at(x, 0), t);
}

static int32_t plus(int32_t x, int32_t y)
{
    return x + y;
}

static void nothing(void)
{
}

START_TEST(in_control)
{
    static int32_t d[2][N];
    static uint32_t r[N];
    conform_stand_in("guarded", "i32(i32,i1,i32)", (function)guarded);
    conform_stand_in("plus", "i32(i32,i32)", (function)plus);
    conform_stand_in("next", "u32(u32)", (function)next);
    conform_stand_in("nothing", "void()", nothing);
    sett_buf D = {d, SETT_I32, 2, {N, 2}, {1, N}}, R = sett_buf_1d(r, SETT_U32, N);
    conform_body(controlled, NULL, &D, &R);
    for (uint32_t t = 0; t < N; t++) {
        uint64_t x = t;
        for (uint32_t i = 0; i <= t; i++)
            x = (x * 1664525 + 1013904223) % 4294967296;
        ck_assert_int_eq(d[0][t], t > 40 ? (int)t + 1000 : (int)t);
        ck_assert_int_eq(d[1][t], t < 21 ? (int)t + 5 : -1);
        ck_assert_uint_eq(r[t], (uint32_t)x);
    }
}
END_TEST

/* ---- addresses ------------------------------------------------------------------------------------------------------- */
static void red(uint64_t at, uint32_t x)
{
    __atomic_fetch_add((uint32_t *)(uintptr_t)at, x, __ATOMIC_RELAXED);
}

static uint16_t load16(uint64_t at)
{
    uint16_t x;
    memcpy(&x, (const void *)(uintptr_t)at, sizeof x);
    return x;
}

static void by_address(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "n");
    sett_tensor *X = sett_param(b, "X", SETT_U16, sett_make_layout(b, T(n, 2), T(2, 1))), *D = sett_param(b, "D", SETT_U32, sett_make_layout(b, T1(N)));
    sett_block(b, N);
    sett_val *t = sett_thread_idx(b, 0);
    sett_prefetch(X, SETT_PREFETCH_L2, sett_add(t, 1000), 0);
    sett_val *x = sett_inline_ptx(b, "ld.global.u16 $0, [$1];", .result = {SETT_U16}, .in = SETT_IN(sett_address(X, t, 1)), .memory = true, .stand_in = "load16");
    sett_inline_ptx(b, "red.global.add.u32 [$0], $1;", .in = SETT_IN(sett_address(sett_domain_offset(D, 3), sett_mod(t, 8)), sett_to(x, SETT_U32)), .memory = true,
        .stand_in = "red");
    sett_inline_ptx(b, "membar.gl;", .memory = true, .stand_in = SETT_NOTHING);
}

START_TEST(of_addresses)
{
    static uint16_t x[N][2];
    static uint32_t d[N];
    for (int i = 0; i < 2 * N; i++)
        x[i / 2][i % 2] = (uint16_t)(i * 977);
    conform_stand_in("load16", "u16(u64)", (function)load16);
    conform_stand_in("red", "void(u64,u32)", (function)red);
    sett_buf X = {x, SETT_U16, 2, {N, 2}, {2, 1}}, D = sett_buf_1d(d, SETT_U32, N);
    conform_body(by_address, NULL, &X, &D);
    for (int i = 0; i < N; i++) {
        uint32_t want = 0;
        for (int t = i - 3; i >= 3 && i < 11 && t < N; t += 8)
            want += (uint16_t)((2 * t + 1) * 977);
        ck_assert_uint_eq(d[i], want);
    }
}
END_TEST

void conform_add_inline(TCase *t)
{
    tcase_add_test(t, of_addresses);
    tcase_add_test(t, of_values);
    tcase_add_test(t, of_several);
    tcase_add_loop_test(t, of_every_type, 0, (int)SETT__COUNT(passes));
    tcase_add_test(t, in_control);
}
