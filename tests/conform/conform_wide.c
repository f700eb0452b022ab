/* SPDX-License-Identifier: Apache-2.0 */
/* i128 and u128: every op and every conversion against the C compiler's __int128. */
#include "tests/conform/conform.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

enum { EDGES = 24, N = EDGES * EDGES + 448, EACH = 2, BLOCK = 64 };

static u128 whole(uint64_t hi, uint64_t lo)
{
    return (u128)hi << 64 | lo;
}

static u128 value(size_t i, uint64_t *seed)
{
    static const struct { uint64_t hi, lo; } edge[EDGES] = {{0, 0}, {0, 1}, {~0ull, ~0ull}, {0, 2}, {0, 7}, {~0ull, ~6ull}, {0, 63},
        {0, 64}, {0, 65}, {0, 127}, {0, 128}, {0, 1ull << 53}, {0, ~0ull}, {0, 1ull << 63}, {~0ull, 1ull << 63}, {1, 0}, {1, 1},
        {0, 0x20000000000001ull}, {0x7fffffff, ~0ull}, {~0ull >> 1, ~0ull}, {1ull << 63, 0}, {1ull << 63, 1}, {1ull << 54, 1},
        {0xffffff7fffffffffull, 0}};
    if (i < EDGES)
        return whole(edge[i].hi, edge[i].lo);
    u128 x = whole(conform_random(seed), conform_random(seed));
    return x >> (conform_random(seed) & 127);
}

/* ---- ops ---------------------------------------------------------------------------------- */
static const struct binary { sett_binary_op op; const char *name; } binaries[] = {{SETT_ADD, "add"}, {SETT_SUB, "sub"}, {SETT_MUL, "mul"},
    {SETT_FLOORDIV, "floordiv"}, {SETT_MOD, "mod"}, {SETT_MIN, "min"}, {SETT_MAX, "max"}, {SETT_AND, "and"}, {SETT_OR, "or"},
    {SETT_XOR, "xor"}, {SETT_SHL, "shl"}, {SETT_SHR, "shr"}, {SETT_LT, "lt"}, {SETT_LE, "le"}, {SETT_GT, "gt"}, {SETT_GE, "ge"},
    {SETT_EQ, "eq"}, {SETT_NE, "ne"}};
enum { BINARIES = sizeof binaries / sizeof *binaries, UNARIES = 3, OPS = BINARIES + UNARIES + 1 }; /* and one of C numbers */

static u128 binary(int op, bool sign, u128 x, u128 y)
{
    i128 a = (i128)x, b = (i128)y;
    bool less = sign ? a < b : x < y;
    switch (op) {
    case SETT_ADD: return x + y;
    case SETT_SUB: return x - y;
    case SETT_MUL: return x * y;
    case SETT_FLOORDIV:
        if (!y) /* all ones less what a rest that is not 0, and is of another sign than 0, takes away */
            return sign && a < 0 ? ~(u128)1 : ~(u128)0;
        if (!sign)
            return x / y;
        return b == -1 ? 0 - x : (u128)(a / b - (a % b != 0 && (a < 0) != (b < 0)));
    case SETT_MOD: return !y ? x : !sign ? x % y : b == -1 ? 0 : (u128)(a % b);
    case SETT_MIN: return less ? x : y;
    case SETT_MAX: return less ? y : x;
    case SETT_AND: return x & y;
    case SETT_OR: return x | y;
    case SETT_XOR: return x ^ y;
    case SETT_SHL: return y < 128 ? x << y : 0;
    case SETT_SHR: return sign ? (u128)(a >> (y < 128 ? (int)y : 127)) : y < 128 ? x >> y : 0;
    case SETT_LT: return less;
    case SETT_LE: return less || x == y;
    case SETT_GT: return !less && x != y;
    case SETT_GE: return !less;
    case SETT_EQ: return x == y;
    default: return x != y;
    }
}

/* The last: (5 - x) * 3 + 2^63 - 1, chosen where x is odd, else the fold of the pair by max from 3. */
static void all_ops(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    sett_tensor *X = sett_param(b, "X", d, sett_make_layout(b, T1(N)), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", d, sett_make_layout(b, T1(N)), .align = 16);
    sett_tensor *D = sett_param(b, "D", d, sett_make_layout(b, T(N, OPS)), .align = 16);
    sett_grid(b, N / EACH / BLOCK);
    sett_block(b, BLOCK);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), BLOCK), sett_thread_idx(b, 0));
    sett_val *x = sett_load(sett_local_tile(X, T1(EACH), T1(i))), *y = sett_load(sett_local_tile(Y, T1(EACH), T1(i)));
    for (int k = 0; k < OPS; k++) {
        sett_val *r;
        if (k < BINARIES)
            r = sett_binary_at(SETT_HERE, binaries[k].name, binaries[k].op, sett_arg_v(x), sett_arg_v(y));
        else if (k < OPS - 1)
            r = k == BINARIES ? sett_neg(x) : k == BINARIES + 1 ? sett_abs(x) : sett_not(x);
        else
            r = sett_where(sett_eq(sett_and(x, 1), 1), sett_add(sett_mul(sett_sub(5, x), 3), INT64_MAX), sett_reduce(x, SETT_MAX, 3));
        sett_store(sett_local_tile(sett_slice(D, ALL, k), T1(EACH), T1(i)), sett_to(r, d));
    }
}

static u128 last_op(bool sign, const u128 *pair, u128 x)
{
    u128 most = binary(SETT_MAX, sign, binary(SETT_MAX, sign, 3, pair[0]), pair[1]);
    return x & 1 ? (5 - x) * 3 + INT64_MAX : most;
}

START_TEST(wide_ops)
{
    sett_dtype d = _i ? SETT_U128 : SETT_I128;
    u128 *x = aligned_alloc(16, N * sizeof *x), *y = aligned_alloc(16, N * sizeof *y), *out = aligned_alloc(16, N * OPS * sizeof *out);
    uint64_t seed = 128;
    ck_assert(x && y && out);
    for (size_t i = 0; i < N; i++) {
        bool edge = i < EDGES * EDGES;
        x[i] = value(edge ? i / EDGES : EDGES, &seed);
        y[i] = value(edge ? i % EDGES : EDGES, &seed);
    }
    sett_buf X = sett_buf_1d(x, d, N), Y = sett_buf_1d(y, d, N), D = {out, d, 2, {N, OPS}, {1, N}};
    conform_body(all_ops, &d, &X, &Y, &D);
    for (size_t k = 0; k < OPS; k++)
        for (size_t i = 0; i < N; i++) {
            bool sign = !_i;
            u128 want, got = out[k * N + i];
            if (k < BINARIES)
                want = binary(binaries[k].op, sign, x[i], y[i]);
            else if (k < OPS - 1)
                want = k == BINARIES ? 0 - x[i] : k == BINARIES + 2 ? ~x[i] : sign && (i128)x[i] < 0 ? 0 - x[i] : x[i];
            else
                want = last_op(sign, x + i / EACH * EACH, x[i]);
            ck_assert_msg(got == want, "%s %s (%" PRIx64 "%016" PRIx64 ", %" PRIx64 "%016" PRIx64 "): got %" PRIx64 "%016" PRIx64
                ", want %" PRIx64 "%016" PRIx64, sett_dtype_name(d), k < BINARIES ? binaries[k].name : "unary", (uint64_t)(x[i] >> 64),
                (uint64_t)x[i], (uint64_t)(y[i] >> 64), (uint64_t)y[i], (uint64_t)(got >> 64), (uint64_t)got, (uint64_t)(want >> 64), (uint64_t)want);
        }
    free(x);
    free(y);
    free(out);
}
END_TEST

/* ---- conversions ----------------------------------------------------------------------------- */
enum { TYPES = CONFORM_TYPES };
typedef struct job { sett_dtype wide, other; } job;

static void convert(sett_build *b, const void *user)
{
    const job *j = user;
    sett_tensor *X = sett_param(b, "X", j->wide, sett_make_layout(b, T1(N)), .align = 16);
    sett_tensor *Y = sett_param(b, "Y", j->other, sett_make_layout(b, T1(N)), .align = 16);
    sett_tensor *DX = sett_param(b, "DX", j->other, sett_make_layout(b, T1(N)), .align = 16);
    sett_tensor *DY = sett_param(b, "DY", j->wide, sett_make_layout(b, T1(N)), .align = 16);
    sett_grid(b, N / EACH / BLOCK);
    sett_block(b, BLOCK);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), BLOCK), sett_thread_idx(b, 0));
    sett_store(sett_local_tile(DX, T1(EACH), T1(i)), sett_to(sett_load(sett_local_tile(X, T1(EACH), T1(i))), j->other));
    sett_store(sett_local_tile(DY, T1(EACH), T1(i)), sett_to(sett_load(sett_local_tile(Y, T1(EACH), T1(i))), j->wide));
}

/* The bits of an integer of 128 bits as another type. gcc rounds once; f16 and bf16 are rounded here from a sticky f64. */
static uint64_t narrowed(sett_dtype d, bool sign, u128 x)
{
    bool minus = sign && (i128)x < 0;
    u128 m = minus ? 0 - x : x;
    if (d == SETT_BOOL)
        return x != 0;
    if (!sett__dtype_is_float(d))
        return (uint64_t)x & conform_mask(d);
    union { double d; uint64_t u; } f64;
    union { float f; uint32_t u; } f32;
    f64.d = minus ? -(double)m : (double)m;
    f32.f = minus ? -(float)m : (float)m;
    if (d == SETT_F64)
        return f64.u;
    if (d == SETT_F32)
        return f32.u;
    int drop = 0; /* to 40 bits, the last one sticky: exact in a double */
    while (m >> 40) {
        m = m >> 1 | (m & 1);
        drop++;
    }
    return sett__bits_of_float(d, ldexp(minus ? -(double)m : (double)m, drop));
}

static u128 widened(sett_dtype from, bool sign, uint64_t bits)
{
    if (!sett__dtype_is_float(from))
        return sett__dtype_kind(from) == 'i' ? (u128)(i128)sett__int_of_bits(from, bits) : bits;
    double x = conform_number(from, bits), most = sign ? 0x1p127 : 0x1p128;
    if (x != x)
        return 0;
    if (x >= most)
        return sign ? ~(u128)0 >> 1 : ~(u128)0;
    if (!sign)
        return x <= 0 ? 0 : (u128)x;
    return x <= -most ? (u128)1 << 127 : (u128)(i128)x;
}

static void check_conversions(const job *j)
{
    size_t bytes = (size_t)sett__dtype_bytes(j->other);
    u128 *x = aligned_alloc(16, N * sizeof *x), *dy = aligned_alloc(16, N * sizeof *dy);
    char *y = aligned_alloc(16, N * bytes), *dx = aligned_alloc(16, N * bytes);
    uint64_t seed = 77;
    bool sign = j->wide == SETT_I128;
    ck_assert(x && y && dx && dy);
    for (size_t i = 0; i < N; i++) {
        x[i] = value(i, &seed);
        conform_put(y, j->other, i, conform_value(j->other, i, &seed));
    }
    for (size_t i = EDGES; i < 400 && sett__dtype_is_float(j->other); i++) /* ties, and what is just beside them */
        x[i] = ((((u128)1 << 60 | conform_random(&seed) >> 40 << 36) + 1) << (i % 60)) + (u128)(i % 3) - 1;
    sett_kernel *k = conform_compile(convert, j, (conform_how){0});
    sett_buf X = sett_buf_1d(x, j->wide, N), Y = sett_buf_1d(y, j->other, N), DX = sett_buf_1d(dx, j->other, N), DY = sett_buf_1d(dy, j->wide, N);
    conform_run(k, &X, &Y, &DX, &DY);
    for (size_t i = 0; i < N; i++) {
        uint64_t in = conform_get(y, j->other, i), got = conform_get(dx, j->other, i), want = narrowed(j->other, sign, x[i]);
        ck_assert_msg(got == want, "%s %" PRIx64 "%016" PRIx64 " to %s: got %" PRIx64 ", want %" PRIx64, sett_dtype_name(j->wide),
            (uint64_t)(x[i] >> 64), (uint64_t)x[i], sett_dtype_name(j->other), got, want);
        u128 w = widened(j->other, sign, in);
        ck_assert_msg(dy[i] == w, "%s %" PRIx64 " to %s: got %" PRIx64 "%016" PRIx64 ", want %" PRIx64 "%016" PRIx64, sett_dtype_name(j->other),
            in, sett_dtype_name(j->wide), (uint64_t)(dy[i] >> 64), (uint64_t)dy[i], (uint64_t)(w >> 64), (uint64_t)w);
    }
    sett_kernel_release(k);
    free(x);
    free(y);
    free(dx);
    free(dy);
}

START_TEST(wide_conversions)
{
    for (int s = 0; s < 2; s++)
        check_conversions(&(job){s ? SETT_U128 : SETT_I128, conform_types[_i]});
}
END_TEST

/* To f8E8M0FNU, of which the code is a power of two: rounded up, once, wherever between two the integer lies. */
static void scales(sett_build *b, const void *user)
{
    sett_val *n = sett_sym(b, "n"), *i = sett_add(sett_mul(sett_block_idx(b, 0), BLOCK), sett_thread_idx(b, 0));
    sett_tensor *X = sett_param(b, "X", *(const sett_dtype *)user, sett_make_layout(b, T1(n))), *D = sett_param(b, "D", SETT_F8E8M0FNU, sett_make_layout(b, T1(n)));
    sett_grid(b, sett_ceil_div(n, BLOCK));
    sett_block(b, BLOCK);
    sett_if (b, sett_lt(i, n))
        sett_set(D, sett_to(sett_at(X, i), SETT_F8E8M0FNU), i);
}

START_TEST(wide_scales)
{
    enum { n = 128 * 9 };
    const sett_dtype d = _i ? SETT_U128 : SETT_I128;
    u128 x[n];
    uint8_t got[n];
    uint64_t seed = 5;
    for (int k = 0; k < 128; k++) {
        u128 two = (u128)1 << k, low = two - 1, any = ((u128)conform_random(&seed) << 64 | conform_random(&seed)) & low;
        const u128 near[9] = {two, two + 1, low, two + (two >> 1), two + any, two | low, two + (low & 1), two + (two >> 24 & low), two + (two >> 53 & low)};
        for (int e = 0; e < 9; e++)
            x[k * 9 + e] = near[e];
    }
    sett_buf X = sett_buf_1d(x, d, n), D = sett_buf_1d(got, SETT_F8E8M0FNU, n);
    conform_body(scales, &d, &X, &D);
    for (int i = 0; i < n; i++) {
        int up = 0;
        while (up < 127 && (u128)1 << up < x[i]) /* the least power that holds it, 2^127 at most */
            up++;
        int want = d == SETT_I128 && (i128)x[i] < 0 ? 0xff : x[i] ? 127 + up : 0;
        ck_assert_msg(got[i] == want, "%s %" PRIx64 "%016" PRIx64 " to f8E8M0FNU: got %d, want %d", sett_dtype_name(d), (uint64_t)(x[i] >> 64),
            (uint64_t)x[i], got[i], want);
    }
}
END_TEST

/* ---- memory, constants, bits ------------------------------------------------------------------- */
static void places(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "n");
    sett_tensor *X = sett_param(b, "X", SETT_I128, sett_make_layout(b, T1(n)));
    sett_tensor *D = sett_param(b, "D", SETT_U128, sett_make_layout(b, T(BLOCK, 8)));
    sett_grid(b, 1);
    sett_block(b, BLOCK);
    sett_val *i = sett_thread_idx(b, 0);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_I128, sett_make_layout(b, T1(BLOCK)), 0);
    sett_tensor *r = sett_make_rmem_tensor(b, SETT_I128, T1(4));
    sett_tensor *c = sett_local_tile(sett_identity_tensor(b, T1(n)), T1(1), T1(i));
    sett_val *x = sett_load(sett_local_tile(X, T1(1), T1(i)), .pred = sett_elem_less(c, T1(n)), .fill = -9);
    sett_set(s, sett_element_at(SETT_HERE, x, sett_arg_i(0)), i);
    sett_sync_threads(b);
    sett_fill(r, -1);
    sett_set(r, sett_at(s, sett_sub(BLOCK - 1, i)), 2);
    sett_val *count = sett_const(b, SETT_I128, 0);
    sett_tensor *sum = sett_var(b, SETT_I128, count);
    sett_for (b, k, 0, 4, 1)
        sett_set(sum, sett_add(sett_mul(sett_at(sum, 0), 1000003), sett_at(r, k)), 0);
    sett_set(D, sett_to(sett_at(r, 2), SETT_U128), i, 0);
    sett_set(D, sett_to(sett_at(sum, 0), SETT_U128), i, 1);
    sett_set(D, sett_const(b, SETT_U128, -1), i, 2);
    sett_val *word = sett_bitcast(x, SETT_U32);
    sett_set(D, sett_to(sett_element(word, 3), SETT_U128), i, 3);
    sett_set(D, sett_element(sett_bitcast(sett_bitcast(word, SETT_U8), SETT_U128), 0), i, 4);
    sett_set(D, sett_to(sett_const(b, SETT_I128, -2.75), SETT_U128), i, 5);
    sett_set(D, sett_pow(sett_to(i, SETT_U128), 29), i, 6);
    sett_set(D, sett_to(sett_min(sett_at(r, 2), -5), SETT_U128), i, 7);
}

START_TEST(wide_places)
{
    enum { n = BLOCK - 7 };
    u128 x[BLOCK], out[8][BLOCK];
    uint64_t seed = 9;
    for (size_t i = 0; i < BLOCK; i++)
        x[i] = i < n ? value(EDGES, &seed) : (u128)-9;
    sett_buf X = sett_buf_1d(x, SETT_I128, n), D = {out, SETT_U128, 2, {BLOCK, 8}, {1, BLOCK}};
    conform_body(places, NULL, &X, &D);
    for (size_t i = 0; i < BLOCK; i++) {
        u128 other = x[BLOCK - 1 - i], sum = 0, power = 1;
        for (int k = 0; k < 4; k++)
            sum = sum * 1000003 + (k == 2 ? other : (u128)-1);
        for (int k = 0; k < 29; k++)
            power *= i;
        const u128 want[8] = {other, sum, (u128)-1, x[i] >> 96, x[i], (u128)-2, power, (i128)other < -5 ? other : (u128)-5};
        for (int k = 0; k < 8; k++)
            ck_assert_msg(out[k][i] == want[k], "result %d of thread %zu: %" PRIx64 "%016" PRIx64 ", not %" PRIx64 "%016" PRIx64, k, i,
                (uint64_t)(out[k][i] >> 64), (uint64_t)out[k][i], (uint64_t)(want[k] >> 64), (uint64_t)want[k]);
    }
}
END_TEST

static void speak(sett_build *b, const void *user)
{
    (void)user;
    sett_grid(b, 1);
    sett_block(b, 1);
    sett_val *i = sett_to(sett_thread_idx(b, 0), SETT_I128);
    sett_printf(b, "{} {}", sett_sub(i, 2), sett_shl(sett_to(sett_add(i, 5), SETT_U128), 64));
}

START_TEST(wide_print)
{
    sett_kernel *k = conform_compile(speak, NULL, (conform_how){.cpu = true});
    conform_printed();
    conform_launch(k, true, 0, NULL);
    ck_assert_str_eq(conform_printed(), "0xfffffffffffffffffffffffffffffffe 0x00000000000000050000000000000000\n");
    sett_kernel_release(k);
}
END_TEST

void conform_add_wide(TCase *t)
{
    tcase_add_loop_test(t, wide_ops, 0, 2);
    tcase_add_loop_test(t, wide_conversions, 0, TYPES);
    tcase_add_loop_test(t, wide_scales, 0, 2);
    tcase_add_test(t, wide_places);
    tcase_add_test(t, wide_print);
}
