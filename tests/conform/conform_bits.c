/* SPDX-License-Identifier: Apache-2.0 */
/* Bits of integers: those of value.h that are made of several operations, against plain C. The single ones are in conform_ops.c. */
#include "tests/conform/conform.h"
#include <stdlib.h>
#include <string.h>

enum { N = 1024, RESULTS = 14 };
typedef struct made { sett_val *v[RESULTS]; } made;

/* Results of each thread, as 64 bits by their signs. */
static void bits(sett_build *b, const void *user)
{
    sett_dtype d = *(const sett_dtype *)user;
    int width = sett_dtype_bits(d);
    bool wide = width >= 32, word = width == 32;
    sett_tensor *X = sett_param(b, "X", d, sett_make_layout(b, T(N, 3))), *P = sett_param(b, "P", SETT_I32, sett_make_layout(b, T(N, 2)));
    sett_tensor *D = sett_param(b, "D", SETT_I64, sett_make_layout(b, T(N, RESULTS)));
    sett_block(b, 128);
    sett_grid(b, N / 128);
    sett_val *t = sett_add(sett_mul(sett_block_idx(b, 0), 128), sett_thread_idx(b, 0));
    sett_val *x = sett_at(X, t, 0), *y = sett_at(X, t, 1), *z = sett_at(X, t, 2), *p = sett_at(P, t, 0), *n = sett_at(P, t, 1);
    made r = {{sett_popc(x), sett_clz(x), sett_brev(x), sett_bfind(x), sett_add_sat(x, y), sett_sub_sat(x, y), sett_mul_hi(x, y), sett_lop3(x, y, z, 0x1b)}};
    if (wide) {
        r.v[8] = sett_bfe(x, p, n);
        r.v[9] = sett_bfi(y, x, p, n);
        r.v[10] = sett_bfe(x, 5, 9);
    }
    if (word) {
        r.v[11] = sett_shf_l(x, y, p);
        r.v[12] = sett_prmt(x, y, sett_and(z, 0xffff));
        r.v[13] = sett_mad24(x, y, z);
    }
    for (int k = 0; k < RESULTS; k++)
        if (r.v[k])
            sett_set(D, sett_to(r.v[k], SETT_I64), t, k);
}

__extension__ typedef __int128 wide_int;
__extension__ typedef unsigned __int128 uwide_int;
typedef struct num { wide_int v; int width; bool sign; } num;

static int64_t fit(wide_int v, int width, bool sign)
{
    uint64_t u = (uint64_t)v << (64 - width);
    return sign ? (int64_t)u >> (64 - width) : (int64_t)(u >> (64 - width));
}

static int64_t clamp(wide_int v, int width, bool sign)
{
    wide_int one = 1, lo = sign ? -(one << (width - 1)) : 0, hi = (one << (width - sign)) - 1;
    return (int64_t)(v < lo ? lo : v > hi ? hi : v);
}

static int bit(uint64_t x, int i)
{
    return (int)(x >> i & 1);
}

/* bfe and bfi as the PTX ISA spells them. */
static int64_t extract(uint64_t x, int pos, int len, int width, bool sign)
{
    int top = pos + len - 1 < width - 1 ? pos + len - 1 : width - 1, fill = sign && len ? bit(x, top < 0 ? 0 : top) : 0;
    uint64_t r = 0;
    for (int i = 0; i < width; i++)
        r |= (uint64_t)(i < len && pos + i < width ? bit(x, pos + i) : fill) << i;
    return fit((wide_int)r, width, sign);
}

static uint64_t insert(uint64_t f, uint64_t x, int pos, int len, int width)
{
    for (int i = 0; i < len && pos + i < width; i++)
        x = (x & ~(UINT64_C(1) << (pos + i))) | (uint64_t)bit(f, i) << (pos + i);
    return x;
}

static uint32_t permute(uint32_t x, uint32_t y, uint32_t s)
{
    uint32_t r = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t digit = s >> 4 * i & 15, byte = (uint32_t)(((uint64_t)y << 32 | x) >> (digit & 7) * 8) & 255;
        r |= (digit & 8 ? (byte >> 7) * 255 : byte) << 8 * i;
    }
    return r;
}

static void want_of(sett_dtype d, const uint64_t in[3], int p, int n, int64_t want[RESULTS])
{
    int w = sett_dtype_bits(d);
    bool sign = sett__dtype_kind(d) == 'i';
    wide_int x = sign ? (wide_int)fit((wide_int)in[0], w, true) : (wide_int)in[0], y = sign ? (wide_int)fit((wide_int)in[1], w, true) : (wide_int)in[1];
    uint64_t u = in[0], lop = 0, rev = 0;
    int count = 0, top = -1, find = -1;
    for (int i = 0; i < w; i++) {
        count += bit(u, i);
        top = bit(u, i) ? i : top;
        find = bit(u, i) != (sign && x < 0) ? i : find;
        rev |= (uint64_t)bit(u, i) << (w - 1 - i);
        lop |= (uint64_t)(0x1b >> (4 * bit(u, i) + 2 * bit(in[1], i) + bit(in[2], i)) & 1) << i;
    }
    uint64_t hi = sign ? (uint64_t)((x * y) >> w) : (uint64_t)(((uwide_int)in[0] * in[1]) >> w);
    uint64_t both = in[1] << 32 | (in[0] & UINT32_MAX);
    int64_t a24 = sign ? (int64_t)(in[0] << 40) >> 40 : (int64_t)(in[0] & 0xffffff), b24 = sign ? (int64_t)(in[1] << 40) >> 40 : (int64_t)(in[1] & 0xffffff);
    const int64_t all[RESULTS] = {count, w - 1 - top, fit((wide_int)rev, w, sign), find, clamp(x + y, w, sign), clamp(x - y, w, sign),
        fit((wide_int)hi, w, sign), fit((wide_int)lop, w, sign), extract(u, p, n, w, sign), fit((wide_int)insert(in[1], u, p, n, w), w, sign),
        extract(u, 5, 9, w, sign), fit((wide_int)(both << (p & 31) >> 32), 32, sign), fit((wide_int)permute((uint32_t)in[0], (uint32_t)in[1], (uint32_t)in[2] & 0xffff), 32, sign),
        fit((wide_int)((uint64_t)(a24 * b24) + in[2]), 32, sign)};
    memcpy(want, all, sizeof all);
}

START_TEST(every_bit)
{
    static const sett_dtype types[] = {SETT_I8, SETT_U8, SETT_I16, SETT_U16, SETT_I32, SETT_U32, SETT_I64, SETT_U64};
    sett_dtype d = types[_i];
    int width = sett_dtype_bits(d), n_results = width < 32 ? 8 : width == 32 ? RESULTS : 11;
    size_t bytes = (size_t)width / 8;
    char *x = malloc(3 * N * bytes);
    static int64_t out[RESULTS][N];
    static int32_t p[2][N];
    uint64_t state = 77;
    for (size_t i = 0; i < 3 * N; i++) { /* edges against edges, then random */
        size_t k = i / N == 0 ? i % 32 : i / N == 1 ? i % N / 32 : 100 + i;
        conform_put(x, d, i, conform_value(d, i % N < 800 ? k : 100 + i, &state));
    }
    for (int i = 0; i < N; i++) {
        p[0][i] = i % 7 ? (int)(conform_random(&state) % (uint64_t)(width + 4)) : (int)(conform_random(&state) % 256);
        p[1][i] = i % 5 ? (int)(conform_random(&state) % (uint64_t)(width + 4)) : (int)(conform_random(&state) % 256);
    }
    for (int folded = 0; folded < 2; folded++) {
        sett_buf X = {x, d, 2, {N, 3}, {1, N}}, P = {p, SETT_I32, 2, {N, 2}, {1, N}}, D = {out, SETT_I64, 2, {N, RESULTS}, {1, N}};
        sett_kernel *k = conform_compile(bits, &d, (conform_how){.no_fold = folded});
        conform_run(k, &X, &P, &D);
        sett_kernel_release(k);
        for (size_t i = 0; i < N; i++) {
            const uint64_t in[3] = {conform_get(x, d, i), conform_get(x, d, N + i), conform_get(x, d, 2 * N + i)};
            int64_t want[RESULTS];
            want_of(d, in, p[0][i], p[1][i], want);
            for (int r = 0; r < n_results; r++)
                ck_assert_msg(out[r][i] == want[r], "%s, result %d of (%" PRIx64 ",%" PRIx64 ",%" PRIx64 ") at %d,%d: got %" PRIx64 ", want %" PRIx64,
                    sett_dtype_name(d), r, in[0], in[1], in[2], p[0][i], p[1][i], (uint64_t)out[r][i], (uint64_t)want[r]);
        }
    }
    free(x);
}
END_TEST

/* Every table, against its own definition; the eight inputs are one byte's bits. */
static void tables(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *D = sett_param(b, "D", SETT_U32, sett_make_layout(b, T1(256)));
    sett_block(b, 32);
    sett_val *lane = sett_to(sett_lane_idx(b), SETT_U32), *zero = sett_sub(lane, lane);
    sett_val *x = sett_add(zero, 0xf0), *y = sett_add(zero, 0xcc), *z = sett_add(zero, 0xaa);
    for (int lut = 0; lut < 256; lut++)
        sett_set(D, sett_and(sett_lop3(x, y, z, lut), 0xff), lut);
}

START_TEST(every_table)
{
    static uint32_t d[256];
    sett_buf D = sett_buf_1d(d, SETT_U32, 256);
    conform_body(tables, NULL, &D);
    for (uint32_t lut = 0; lut < 256; lut++)
        ck_assert_uint_eq(d[lut], lut);
}
END_TEST

void conform_add_bits(TCase *t)
{
    tcase_add_loop_test(t, every_bit, 0, 8);
    tcase_add_test(t, every_table);
}
