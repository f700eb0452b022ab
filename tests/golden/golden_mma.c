/* SPDX-License-Identifier: Apache-2.0 */
/* Results of tensor cores, as GPUs gave them: kind, type of the accumulator, distribution, a, b, c, d; of public captures the GPU
 * comes first; of whole matrices M, N and K come before A, B, C and D. Both the plain function of the tests and the vector code of
 * the CPU engine, for each instruction set that runs here, must give the same bits. */
#include "tests/golden/golden.h"
#include "jit/sim/rows/rows.h"
#include "tests/rig/mma_truth.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_MN = 64 * 256 };
typedef struct kind {
    const sett__mma *row;
    int sm, m, n, k; /* m, n: of the matrices of the line */
    bool clamp;
} kind;

static const struct {
    const char *name;
    sett_dtype type;
} types[] = {{"f16", SETT_F16}, {"bf16", SETT_BF16}, {"tf32", SETT_TF32}, {"e4m3", SETT_F8E4M3FN}, {"e5m2", SETT_F8E5M2}, {"s8", SETT_I8}, {"u8", SETT_U8},
    {"f64", SETT_F64}, {"f32", SETT_F32}, {"s32", SETT_I32}};

static sett_dtype type_named(const char *s, size_t n)
{
    for (size_t i = 0; i < SETT__COUNT(types); i++)
        if (strlen(types[i].name) == n && !memcmp(types[i].name, s, n))
            return types[i].type;
    return 0;
}

/* The machine of a captured file; 0: none that mma.def has rows for. */
static int machine(const char *gpu)
{
    static const struct {
        const char *name;
        int sm;
    } gpus[] = {{"A100", 80}, {"A2", 86}, {"Ada", 89}, {"H100", 90}, {"H200", 90}, {"B200", 100}};
    size_t n = strcspn(gpu, "+");
    for (size_t i = 0; i < SETT__COUNT(gpus); i++)
        if (strlen(gpus[i].name) == n && !memcmp(gpus[i].name, gpu, n))
            return gpus[i].sm;
    return 0;
}

/* "mma_m8n8_s8_u8_sat_k16", and the row of it. NULL: there is none. */
static const sett__mma *row_of(const char *name, const char *acc, kind *x)
{
    bool group = !strncmp(name, "wgmma_", 6), small = strstr(name, "_m8n8_");
    sett_dtype type[2] = {0, 0}, c = type_named(acc, strlen(acc));
    const char *s = strchr(name, '_');
    for (int n = 0; s && n < 2;) {
        size_t len = strcspn(++s, "_");
        sett_dtype t = type_named(s, len);
        if (t && t != SETT_F32)
            type[n++] = t;
        s = s[len] ? s + len : NULL;
    }
    bool one = type[0] == SETT_F16 || type[0] == SETT_BF16 || type[0] == SETT_TF32 || type[0] == SETT_F64; /* of both operands */
    type[1] = one ? type[0] : type[1];
    const char *k = strstr(name, "_k");
    x->k = k ? atoi(k + 2) : type[0] == SETT_TF32 ? 8 : one ? 16 : 32;
    x->clamp = strstr(name, "_sat") != NULL;
    for (int i = 0; i < SETT__N_MMAS; i++) {
        const sett__mma *r = &sett__mmas[i];
        bool right = (r->kind == SETT__MMA_GROUP) == group && (r->m == 8) == small;
        if (right && r->a == type[0] && r->b == type[1] && r->c == c && r->k == x->k)
            return r;
    }
    return NULL;
}

/* n numbers of hexadecimal digits, or fewer: the others are 0. False: that is not what the text is. */
static bool read_hex(const char *s, sett_dtype type, int n, uint64_t *to)
{
    size_t width = (size_t)sett_dtype_bits(type == SETT_TF32 ? SETT_F32 : type) / 4, len = strlen(s);
    char one[20];
    if (strspn(s, "0123456789abcdef") != len || len % width || len / width > (size_t)n)
        return false;
    for (int i = 0; i < n; i++) {
        bool here = (size_t)i * width < len;
        snprintf(one, sizeof one, "%.*s", (int)width, here ? s + (size_t)i * width : "0");
        to[i] = strtoull(one, NULL, 16);
    }
    return true;
}

static void put(void *to, size_t i, sett_dtype type, uint64_t x)
{
    size_t bytes = (size_t)sett__dtype_bytes(type);
    memcpy((char *)to + i * bytes, &x, bytes);
}

/* Eight columns of the line's matrices by an instruction set; a matrix with fewer rows or columns is repeated. NULL: they are d. */
static const char *columns(const kind *x, const sett__wide *wide, int n0, const uint64_t *a, const uint64_t *b, const uint64_t *c, const uint64_t *d)
{
    static sett__left left;
    static char got[256];
    uint64_t as[64 * 32], bs[32 * 8], cs[64 * 8]; /* the widest elements */
    const sett__mma *r = x->row;
    sett__unit u;
    if (!sett__unit_of(&u, r, x->sm))
        return "the machine has no such row";
    u.clamp = x->clamp;
    for (int i = 0; i < r->m; i++) {
        for (int k = 0; k < x->k; k++)
            put(as, (size_t)(i * x->k + k), r->a, a[i % x->m * x->k + k]);
        for (int j = 0; j < 8; j++)
            put(cs, (size_t)(i * 8 + j), r->c, c[i % x->m * x->n + (n0 + j) % x->n]);
    }
    for (int k = 0; k < x->k; k++)
        for (int j = 0; j < 8; j++)
            put(bs, (size_t)(k * 8 + j), r->b, b[(n0 + j) % x->n * x->k + k]);
    wide->left(&u, r->m, as, &left);
    wide->columns(&u, &left, bs, cs);
    for (int i = 0; i < r->m; i++)
        for (int j = 0; j < 8; j++) {
            uint64_t is = 0, want = d[i % x->m * x->n + (n0 + j) % x->n];
            memcpy(&is, (char *)cs + (size_t)(i * 8 + j) * (size_t)sett__dtype_bytes(r->c), (size_t)sett__dtype_bytes(r->c));
            snprintf(got, sizeof got, "%llx by %s code at (%d,%d)", (unsigned long long)is, wide == &sett__wide_base ? "plain" : "vector", i, n0 + j);
            if (is != want)
                return got;
        }
    return NULL;
}

static const char *judge(const kind *x, const uint64_t *a, const uint64_t *b, const uint64_t *c, const uint64_t *d)
{
    static char got[128];
    const sett__mma *r = x->row;
    truth t = truth_of(x->sm, r->kind == SETT__MMA_GROUP, r->a, r->b, r->c, x->k);
    t.clamp = x->clamp;
    for (int i = 0; i < x->m; i++)
        for (int j = 0; j < x->n; j++) {
            uint64_t is = truth_element(&t, a + i * x->k, b + j * x->k, c[i * x->n + j]);
            snprintf(got, sizeof got, "%llx by the plain function at (%d,%d)", (unsigned long long)is, i, j);
            if (is != d[i * x->n + j])
                return got;
        }
    for (int n0 = 0; n0 < x->n; n0 += 8) {
        const char *base = columns(x, &sett__wide_base, n0, a, b, c, d), *best = columns(x, sett__wide_best(), n0, a, b, c, d);
        if (base || best)
            return base ? base : best;
    }
    return NULL;
}

/* Is it one that mma.def leaves out? */
static const char *left_out(const char *name)
{
    return strstr(name, "_s4") || strstr(name, "_u4") ? "products of s4 and u4 are not in mma.def"
           : strstr(name, "_b1")                      ? "products of b1 are not in mma.def"
                                                      : NULL;
}

void golden_mma_line(tally *t, const char *file, int line, char **field, int n)
{
    static uint64_t in[4][MOST_MN];
    kind x = {.sm = 90, .m = 1, .n = 1};
    char **f = field, *number[3] = {NULL};
    const char *got = "not read";
    if (n == 8)
        x.sm = machine(*f++);
    if (n != 7 && n != 8 && n != 10) {
        golden_verdict(t, false, file, line, field, n, "a line of this format has 7, 8 or 10 fields");
        return;
    }
    if (n == 8 && !strcmp(field[0], "V100")) {
        golden_aside(t, "mma.def has no row that a V100 has");
        return;
    }
    if (left_out(f[0])) {
        golden_aside(t, left_out(f[0]));
        return;
    }
    x.row = x.sm ? row_of(f[0], f[1], &x) : NULL;
    for (int i = 0; n == 10 && i < 3; i++)
        *(i == 0 ? &x.m : i == 1 ? &x.n : &x.k) = atoi(number[i] = f[3 + i]);
    char **data = f + (n == 10 ? 6 : 3);
    bool sized = x.row && x.k == x.row->k && x.m >= 1 && x.m <= x.row->m && x.n >= 1 && x.n <= 256;
    if (sized && read_hex(data[0], x.row->a, x.m * x.k, in[0]) && read_hex(data[1], x.row->b, x.n * x.k, in[1]) &&
        read_hex(data[2], x.row->c, x.m * x.n, in[2]) && read_hex(data[3], x.row->c, x.m * x.n, in[3]))
        got = judge(&x, in[0], in[1], in[2], in[3]);
    golden_verdict(t, !got, file, line, field, n, got);
}
