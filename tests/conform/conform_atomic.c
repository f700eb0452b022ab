/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics on views: every element of a slice at once, of each type, width, alignment and space, under predicates, in
 * places that overlap; what they give, and what they leave. The sums are of small integers, exact in any order. */
#include "tests/conform/conform.h"
#include <string.h>

enum { ROWS = 3, WORKERS = 96, MOST = 16, ROOM = 20 };
static const sett_dtype types[] = {SETT_I8, SETT_U16, SETT_I32, SETT_U64, SETT_F16, SETT_BF16, SETT_F32, SETT_F64};
/* Elements of a row, from row to row, before row 0; bytes that the launch promises. */
static const struct shape { int width, pitch, first, align; } shapes[] = {
    {16, 16, 0, 16}, {8, 8, 0, 16}, {8, 8, 0, 8}, {4, 4, 0, 16}, {2, 2, 0, 16}, {8, 10, 2, 16}, {7, 8, 0, 16}, {8, 9, 1, 8}, {1, 2, 0, 16}, {12, 16, 4, 16}};
typedef struct views {
    sett_dtype dtype;
    struct shape s;
} views;

/* G[row] += A[i], and in smem, which goes to H; D[i] is what an add of 1 to each element of C found; M: least and most. */
static void sums(sett_build *b, const void *user)
{
    const views *p = user;
    const int w = p->s.width, bytes = sett__dtype_bytes(p->dtype), align = p->s.align > bytes ? p->s.align : bytes;
    sett_tensor *A = sett_param(b, "A", p->dtype, sett_make_layout(b, T(w, WORKERS)));
    sett_tensor *G = sett_param(b, "G", p->dtype, sett_make_layout(b, T(ROOM, ROWS), T(1, p->s.pitch)), .align = align);
    sett_tensor *H = sett_param(b, "H", p->dtype, sett_make_layout(b, T(w, ROWS, 2)));
    sett_tensor *D = sett_param(b, "D", p->dtype, sett_make_layout(b, T(w, WORKERS)));
    sett_tensor *C = sett_param(b, "C", p->dtype, sett_make_layout(b, T1(w)), .align = align);
    sett_tensor *M = sett_param(b, "M", p->dtype, sett_make_layout(b, T(w, 2)), .align = align);
    sett_tensor *S = sett_make_smem_tensor(b, p->dtype, sett_make_layout(b, T(w, ROWS), T(1, p->s.pitch)), 16);
    sett_grid(b, 2);
    sett_block(b, WORKERS / 2);
    sett_val *t = sett_thread_idx(b, 0), *block = sett_block_idx(b, 0), *i = sett_add(sett_mul(block, WORKERS / 2), t), *row = sett_mod(i, ROWS);
    sett_if (b, sett_lt(t, ROWS))
        sett_store(sett_slice(S, ALL, t), 0);
    sett_sync_threads(b);
    sett_val *a = sett_load(sett_slice(A, ALL, i));
    sett_tensor *rows = sett_composition(sett_domain_offset(G, T(p->s.first, 0)), T(w, ROWS));
    sett_atomic_add(rows, a, ALL, row);
    sett_atomic_ordered(S, SETT_ATOMIC_ADD, SETT_SEM_ACQ_REL, SETT_SCOPE_CTA, a, ALL, row);
    sett_store(sett_slice(D, ALL, i), sett_atomic_add(C, 1, ALL));
    sett_atomic_min(M, a, ALL, 0);
    sett_atomic_max(M, a, ALL, 1);
    sett_sync_threads(b);
    sett_if (b, sett_lt(t, ROWS))
        sett_store(sett_slice(H, ALL, t, block), sett_load(sett_slice(S, ALL, t)));
}

static uint64_t small(sett_dtype d, int v)
{
    return (sett__dtype_is_float(d) ? sett__bits_of_float(d, v) : (uint64_t)(int64_t)v) & conform_mask(d);
}

static void fold(sett__code code, sett_dtype d, uint64_t *into, uint64_t v)
{
    const uint64_t in[3] = {*into, v, 0};
    ck_assert(conform_reference(code, d, d, in, into));
}

static void equal(const views *p, const char *what, const void *got, size_t at, uint64_t want)
{
    uint64_t v = conform_get(got, p->dtype, at);
    ck_assert_msg(v == want, "%s of %s x%d from %d by %d align %d, element %zu: got %" PRIx64 ", want %" PRIx64, what, sett_dtype_name(p->dtype),
        p->s.width, p->s.first, p->s.pitch, p->s.align, at, v, want);
}

START_TEST(of_rows)
{
    const views p = {types[(size_t)_i / SETT__COUNT(shapes)], shapes[(size_t)_i % SETT__COUNT(shapes)]};
    const sett_dtype d = p.dtype;
    const size_t w = (size_t)p.s.width;
    uint64_t a[WORKERS * MOST], g[ROWS * ROOM] = {0}, h[2 * ROWS * MOST] = {0}, out[WORKERS * MOST] = {0}, c[MOST] = {0}, m[2 * MOST] = {0};
    uint64_t want[ROWS * ROOM] = {0}, shared[2 * ROWS * MOST] = {0}, ends[2 * MOST] = {0}, seed = 3 + (uint64_t)_i;
    for (size_t k = 0; k < WORKERS * w; k++) {
        uint64_t v = small(d, (int)(conform_random(&seed) % 7) - 3);
        size_t worker = k / w, row = worker % ROWS, e = k % w;
        conform_put(a, d, k, v);
        fold(SETT__ADD, d, &want[row * (size_t)p.s.pitch + (size_t)p.s.first + e], v);
        fold(SETT__ADD, d, &shared[(worker / (WORKERS / 2) * ROWS + row) * w + e], v);
        fold(SETT__MIN, d, &ends[e], v);
        fold(SETT__MAX, d, &ends[w + e], v);
    }
    int64_t n = p.s.width;
    sett_buf A = {a, d, 2, {n, WORKERS}, {1, n}}, G = {g, d, 2, {ROOM, ROWS}, {1, p.s.pitch}}, H = {h, d, 3, {n, ROWS, 2}, {1, n, n * ROWS}},
             D = {out, d, 2, {n, WORKERS}, {1, n}}, C = sett_buf_1d(c, d, n), M = {m, d, 2, {n, 2}, {1, n}};
    conform_body(sums, &p, &A, &G, &H, &D, &C, &M);
    for (size_t k = 0; k < (ROWS - 1) * (size_t)p.s.pitch + ROOM; k++)
        equal(&p, "gmem", g, k, want[k]);
    for (size_t k = 0; k < 2 * ROWS * w; k++)
        equal(&p, "smem", h, k, shared[k]);
    for (size_t k = 0; k < 2 * w; k++)
        equal(&p, "least and most", m, k, ends[k]);
    for (size_t e = 0; e < w; e++) { /* each element is a counter of its own */
        bool seen[WORKERS] = {false};
        for (size_t k = 0; k < WORKERS; k++) {
            uint64_t bits = conform_get(out, d, k * w + e);
            double v = sett__dtype_is_float(d) ? conform_number(d, bits) : (double)bits;
            ck_assert_msg(v >= 0 && v < WORKERS && !seen[(int)v], "%s x%zu, element %zu: the counter was %g", sett_dtype_name(d), w, e, v);
            seen[(int)v] = true;
        }
        equal(&p, "counter", c, e, small(d, WORKERS));
    }
}
END_TEST

/* Y[i] += 1 + i % 3 for i < N by tiles of 8, D[i] what was there: only the ends of rows are told apart. */
static void edges(sett_build *b, const void *user)
{
    const sett_dtype d = *(const sett_dtype *)user;
    sett_val *N = sett_sym(b, "N"), *t = sett_thread_idx(b, 0);
    sett_tensor *Y = sett_param(b, "Y", d, sett_row_major(b, 2, N), .align = 16), *X = sett_param(b, "X", d, sett_row_major(b, 2, 64));
    sett_tensor *D = sett_param(b, "D", d, sett_row_major(b, 2, 64));
    sett_block(b, 8);
    sett_val *row = sett_block_idx(b, 0), *in;
    sett_grid(b, 2);
    sett_arg tile = sett_tuple(b, 1, 8), at = sett_tuple(b, row, t);
    in = sett_elem_less(sett_local_tile(sett_identity_tensor(b, 2, N), tile, at), T(2, N));
    sett_val *x = sett_load(sett_local_tile(X, tile, at));
    sett_store(sett_local_tile(D, tile, at), sett_atomic_if(in, sett_local_tile(Y, tile, at), SETT_ATOMIC_ADD, x, ALL));
    sett_atomic_if(sett_eq(t, 0), Y, SETT_ATOMIC_ADD, 1, row, 0); /* of one element */
}

START_TEST(under_predicates)
{
    sett_dtype d = types[_i];
    for (int n = 1; n <= 64; n += n < 20 ? 1 : 11) {
        uint64_t y[128] = {0}, x[128], out[128];
        for (size_t k = 0; k < 128; k++)
            conform_put(x, d, k, small(d, 1 + (int)(k % 3)));
        for (size_t k = 0; k < 2 * (size_t)n; k++)
            conform_put(y, d, k, small(d, 5));
        sett_buf Y = sett_buf_2d(y, d, 2, n), X = sett_buf_2d(x, d, 2, 64), D = sett_buf_2d(out, d, 2, 64);
        conform_body(edges, &d, &Y, &X, &D);
        for (size_t k = 0; k < 128; k++) {
            int c = (int)(k % 64), row = (int)(k / 64);
            double old = sett__dtype_is_float(d) ? conform_number(d, conform_get(out, d, k)) : (double)conform_get(out, d, k);
            ck_assert_msg(old == (c >= n ? 0 : 5) || (c == 0 && old == 6), "%s, %d, found at %zu: %g", sett_dtype_name(d), n, k, old);
            if (c < n)
                ck_assert_msg(conform_get(y, d, (size_t)(row * n + c)) == small(d, 5 + 1 + (int)(k % 3) + (c == 0)), "%s, %d, at %zu", sett_dtype_name(d), n, k);
        }
    }
}
END_TEST

/* Places that several elements share take each of them; a swizzled window; exchanges and bits of whole views. */
static void others(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(4)), .align = 16);
    sett_tensor *I = sett_param(b, "I", SETT_I32, sett_make_layout(b, T(4, 5)), .align = 16);
    sett_tensor *W = sett_param(b, "W", SETT_F16, sett_make_layout(b, T(16, 4)), .align = 16);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F16, sett_make_swizzled(2, 2, 2, sett_make_layout(b, T(16, 4))), 16);
    sett_block(b, 1);
    sett_tensor *twice = sett_composition(X, sett_make_layout(b, T(4, 2), T(1, 0)));
    sett_atomic_add(twice, sett_to(sett_load(sett_slice(I, ALL, 0)), SETT_F32), ALL, 0);
    sett_atomic_add(twice, 3, ALL);
    sett_fill(S, 0);
    sett_val *w = sett_load(W);
    sett_atomic_add(S, w, ALL);
    sett_atomic_add(S, w, ALL);
    sett_store(W, sett_load(S));
    sett_val *first = sett_load(sett_slice(I, ALL, 0));
    sett_store(sett_slice(I, ALL, 2), sett_atomic_exch(I, first, ALL, 1));
    sett_atomic_cas(I, sett_mul(first, 2), -1, ALL, 3);
    sett_atomic_xor(I, first, ALL, 4);
}

/* Each edge of Float32 added to each: in gmem by one and by four at once, and in smem. */
enum { EDGES = 8, PAIRS = EDGES * EDGES };
static void edge_sums(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *G = sett_param(b, "G", SETT_F32, sett_make_layout(b, T1(PAIRS))), *W = sett_param(b, "W", SETT_F32, sett_make_layout(b, T(4, PAIRS / 4)), .align = 16);
    sett_tensor *H = sett_param(b, "H", SETT_F32, sett_make_layout(b, T1(PAIRS))), *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(PAIRS)), .align = 16);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T1(PAIRS)), 16);
    sett_block(b, PAIRS);
    sett_val *t = sett_thread_idx(b, 0), *y = sett_at(Y, t);
    sett_set(S, sett_at(H, t), t);
    sett_atomic_add(S, y, t);
    sett_set(H, sett_at(S, t), t);
    sett_atomic_add(G, y, t);
    sett_if (b, sett_lt(t, PAIRS / 4))
        sett_atomic_add(W, sett_load(sett_slice(sett_composition(Y, sett_make_layout(b, T(4, PAIRS / 4))), ALL, t)), ALL, t);
}

static uint32_t no_subnormal(uint32_t x)
{
    return x & 0x7f800000 ? x : x & 0x80000000;
}

START_TEST(of_subnormals)
{
    static const uint32_t edge[EDGES] = {0, 0x80000000, 1, 0x80000002, 0x7fffff, 0x800001, 0x80800000, 0x3f800000};
    uint32_t g[PAIRS], w[PAIRS], h[PAIRS], y[PAIRS];
    for (int i = 0; i < PAIRS; i++)
        g[i] = w[i] = h[i] = edge[i % EDGES], y[i] = edge[i / EDGES];
    sett_buf G = sett_buf_1d(g, SETT_F32, PAIRS), W = {w, SETT_F32, 2, {4, PAIRS / 4}, {1, 4}}, H = sett_buf_1d(h, SETT_F32, PAIRS), Y = sett_buf_1d(y, SETT_F32, PAIRS);
    conform_body(edge_sums, NULL, &G, &W, &H, &Y);
    for (int i = 0; i < PAIRS; i++) {
        const uint32_t a = edge[i % EDGES], c = edge[i / EDGES];
        const uint64_t flushed[3] = {no_subnormal(a), no_subnormal(c)}, kept[3] = {a, c};
        uint64_t in_gmem, in_smem;
        ck_assert(conform_reference(SETT__ADD, SETT_F32, SETT_F32, flushed, &in_gmem) && conform_reference(SETT__ADD, SETT_F32, SETT_F32, kept, &in_smem));
        ck_assert_msg(g[i] == no_subnormal((uint32_t)in_gmem) && w[i] == g[i] && h[i] == in_smem, "%#x + %#x: gmem %#x, by four %#x, smem %#x", a, c, g[i], w[i], h[i]);
    }
}
END_TEST


START_TEST(of_other_views)
{
    float x[4] = {0, 0, 0, 0};
    int32_t i[20] = {1, 2, 3, 4, 10, 20, 30, 40, 0, 0, 0, 0, 2, 5, 6, 9, 7, 7, 7, 7};
    const int32_t want[20] = {1, 2, 3, 4, 1, 2, 3, 4, 10, 20, 30, 40, -1, 5, -1, 9, 6, 5, 4, 3};
    uint64_t w[16];
    for (size_t k = 0; k < 64; k++)
        conform_put(w, SETT_F16, k, small(SETT_F16, (int)k));
    sett_buf X = sett_buf_1d(x, SETT_F32, 4), I = {i, SETT_I32, 2, {4, 5}, {1, 4}}, W = {w, SETT_F16, 2, {16, 4}, {1, 16}};
    conform_body(others, NULL, &X, &I, &W);
    for (size_t k = 0; k < 4; k++)
        ck_assert_msg(x[k] == (float)(k + 1) + 6, "element %zu of two places: %g", k, (double)x[k]);
    for (size_t k = 0; k < 20; k++)
        ck_assert_msg(i[k] == want[k], "%zu: %d, want %d", k, i[k], want[k]);
    for (size_t k = 0; k < 64; k++)
        ck_assert_uint_eq(conform_get(w, SETT_F16, k), small(SETT_F16, 2 * (int)k));
}
END_TEST

void conform_add_atomic(TCase *t)
{
    tcase_add_loop_test(t, of_rows, 0, (int)(SETT__COUNT(types) * SETT__COUNT(shapes)));
    tcase_add_loop_test(t, under_predicates, 0, (int)SETT__COUNT(types));
    tcase_add_test(t, of_other_views);
    tcase_add_test(t, of_subnormals);
}
