/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor cores on the CPU engine: vector code against the plain function of mma_truth.c, for each row of mma.def, machine and
 * instruction set; operations that multiply and move matrices, whose elements are placed here by PTX's own formulas;
 * what a warp that is not whole, or a descriptor that leads out of shared memory, is told. */
#include "tests/rig/mma_truth.h"
#include "tests/rig/sim_rig.h"
#include "tests/rig/tapes.h"
#include <math.h>

/* ---- numbers ---------------------------------------------------------------------------------------- */
static uint64_t dice(uint64_t *seed)
{
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return *seed ^ *seed >> 31;
}

enum { ANY, NEAR, SPECIAL, SMALL, N_WAYS };

/* Bits of the type: any; exponents near each other; zeros, infinities and NaNs between numbers; small ones. */
static uint64_t number_of(sett_dtype t, int way, uint64_t *seed)
{
    int bits = t == SETT_TF32 ? 32 : sett_dtype_bits(t);
    int mantissa = t == SETT_F16 ? 10 : t == SETT_BF16 ? 7 : t == SETT_F8E4M3FN ? 3 : t == SETT_F8E5M2 ? 2 : t == SETT_F64 ? 52 : 23;
    uint64_t all = bits == 64 ? ~UINT64_C(0) : (UINT64_C(1) << bits) - 1, x = dice(seed) & all, r = dice(seed);
    uint64_t top = all >> 1 & ~((UINT64_C(1) << mantissa) - 1), fraction = (UINT64_C(1) << mantissa) - 1, middle = top / 2 & top;
    if (way == ANY || t == SETT_I8 || t == SETT_U8 || t == SETT_I32)
        return x;
    if (way == NEAR || (way == SPECIAL && r % 4))
        return (x & ~top & all) | (middle + ((r >> 8) % 4 << mantissa) - (UINT64_C(1) << mantissa));
    if (way == SMALL)
        return (x & ~top & all) | ((r >> 8) % 3 << mantissa);
    switch (r >> 8 & 3) {
    case 0:
        return x & ~(all >> 1);
    case 1:
        return (x & ~(all >> 1)) | top;
    case 2:
        return x | top;
    default:
        return (x & ~(all >> 1) & all) | (top - 1) | fraction;
    }
}

static uint64_t element(const void *v, size_t i, sett_dtype t)
{
    uint64_t x = 0;
    memcpy(&x, (const char *)v + i * (size_t)sett__dtype_bytes(t), (size_t)sett__dtype_bytes(t));
    return x;
}

static void put(void *v, size_t i, sett_dtype t, uint64_t x)
{
    memcpy((char *)v + i * (size_t)sett__dtype_bytes(t), &x, (size_t)sett__dtype_bytes(t));
}

static void fill(void *v, size_t n, sett_dtype t, int way, uint64_t *seed)
{
    for (size_t i = 0; i < n; i++)
        put(v, i, t, number_of(t, way, seed));
}

static truth truth_of_row(const sett__mma *r, int sm)
{
    return truth_of(sm, r->kind == SETT__MMA_GROUP, (sett_dtype)r->a, (sett_dtype)r->b, (sett_dtype)r->c, r->k);
}

/* ---- vector code --------------------------------------------------------------------------------------- */
static const int machines[] = {75, 80, 86, 89, 90, 100, 120};
enum { BLOCKS = 48 };

/* A's products with the second half of k are those with the first, of the other sign: all that is left is what was cut. */
static void cancel(const sett__mma *r, void *a, void *b)
{
    int bits = r->a == SETT_TF32 ? 32 : sett_dtype_bits((sett_dtype)r->a), half = r->k / 2;
    for (int i = 0; i < r->m; i++)
        for (int k = half; k < r->k; k++)
            put(a, (size_t)(i * r->k + k), (sett_dtype)r->a, element(a, (size_t)(i * r->k + k - half), (sett_dtype)r->a) ^ UINT64_C(1) << (bits - 1));
    for (int k = half; k < r->k; k++)
        memcpy((char *)b + (size_t)(k * 8 * sett__dtype_bytes((sett_dtype)r->b)), (char *)b + (size_t)((k - half) * 8 * sett__dtype_bytes((sett_dtype)r->b)),
            (size_t)(8 * sett__dtype_bytes((sett_dtype)r->b)));
}

static void block_is_true(const sett__mma *r, const sett__unit *u, const truth *t, const sett__wide *wide, int way, uint64_t *seed)
{
    static sett__left left;
    uint64_t a[64 * 32], b[32 * 8], c[64 * 8], d[64 * 8], row[32], column[8][32];
    fill(a, (size_t)(r->m * r->k), (sett_dtype)r->a, way % N_WAYS, seed);
    fill(b, (size_t)(r->k * 8), (sett_dtype)r->b, way / 4 % N_WAYS, seed);
    fill(c, (size_t)(r->m * 8), (sett_dtype)r->c, way / 2 % N_WAYS, seed);
    if (way % 3 == 1 && t->keep)
        cancel(r, a, b);
    memcpy(d, c, sizeof d);
    wide->left(u, r->m, a, &left);
    wide->columns(u, &left, b, d);
    for (int k = 0; k < r->k; k++)
        for (int j = 0; j < 8; j++)
            column[j][k] = element(b, (size_t)(k * 8 + j), (sett_dtype)r->b);
    for (int i = 0; i < r->m; i++) {
        for (int k = 0; k < r->k; k++)
            row[k] = element(a, (size_t)(i * r->k + k), (sett_dtype)r->a);
        for (int j = 0; j < 8; j++) {
            uint64_t is = element(d, (size_t)(i * 8 + j), (sett_dtype)r->c), want = truth_element(t, row, column[j], element(c, (size_t)(i * 8 + j), (sett_dtype)r->c));
            ck_assert_msg(is == want, "%s way %d: %llx, not %llx", sett__mma_word[r - sett__mmas], way, (unsigned long long)is, (unsigned long long)want);
        }
    }
}

START_TEST(vectors_are_true)
{
    const sett__mma *r = &sett__mmas[_i];
    const sett__wide *wide[] = {&sett__wide_base, sett__wide_best()};
    uint64_t seed = (uint64_t)_i + 1;
    for (size_t m = 0; m < SETT__COUNT(machines); m++) {
        sett__unit u;
        if (!sett__unit_of(&u, r, machines[m]))
            continue;
        truth t = truth_of_row(r, machines[m]);
        for (int n = 0; n < BLOCKS; n++) {
            u.clamp = t.clamp = r->model == SETT__MMA_INT && n % 2;
            block_is_true(r, &u, &t, wide[n % 4 > 0], n, &seed);
        }
    }
}
END_TEST

/* As a target that lacks a row is refused, so is a machine. */
START_TEST(machines_have_rows)
{
    sett__unit u;
    for (int i = 0; i < SETT__N_MMAS; i++) {
        const sett__mma *r = &sett__mmas[i];
        for (size_t m = 0; m < SETT__COUNT(machines); m++) {
            bool has = r->kind == SETT__MMA_GROUP ? machines[m] == 90 : machines[m] >= atoi(r->targets);
            ck_assert_int_eq(sett__unit_of(&u, r, machines[m]), has);
        }
    }
}
END_TEST

/* Products and sums that no step rounds: one fma after another gives them too. */
START_TEST(fast_is_close)
{
    static sett__left left;
    const sett__mma *r = &sett__mmas[_i];
    const sett__wide *wide[] = {&sett__wide_base, sett__wide_best()};
    uint64_t a[64 * 32], b[32 * 8], c[64 * 8], d[3][64 * 8], seed = (uint64_t)_i;
    sett__unit u;
    ck_assert(sett__unit_of(&u, r, 90));
    static const struct { sett_dtype t; uint64_t x[4]; } small[] = {{SETT_F16, {0, 0x3c00, 0x4000, 0xbc00}}, {SETT_BF16, {0, 0x3f80, 0x4000, 0xbf80}},
        {SETT_TF32, {0, 0x3f800000, 0x40000000, 0xbf800000}}, {SETT_F8E4M3FN, {0, 0x38, 0x40, 0xb8}}, {SETT_F8E5M2, {0, 0x3c, 0x40, 0xbc}},
        {SETT_I8, {0, 1, 2, 0xff}}, {SETT_U8, {0, 1, 2, 3}}, {SETT_F64, {0, UINT64_C(0x3ff0000000000000), UINT64_C(0x4000000000000000), UINT64_C(0xbff0000000000000)}}};
    for (size_t s = 0; s < SETT__COUNT(small); s++) {
        for (int k = 0; k < r->m * r->k && small[s].t == r->a; k++)
            put(a, (size_t)k, small[s].t, small[s].x[dice(&seed) & 3]);
        for (int k = 0; k < 8 * r->k && small[s].t == r->b; k++)
            put(b, (size_t)k, small[s].t, small[s].x[dice(&seed) & 3]);
    }
    memset(c, 0, sizeof c);
    for (int n = 0; n < 3; n++) {
        u.fast = n;
        memcpy(d[n], c, sizeof c);
        wide[n % 2]->left(&u, r->m, a, &left);
        wide[n % 2]->columns(&u, &left, b, d[n]);
        ck_assert_mem_eq(d[0], d[n], (size_t)(r->m * 8 * sett__dtype_bytes((sett_dtype)r->c)));
    }
}
END_TEST

/* ---- mma ------------------------------------------------------------------------------------------------ */
/* Where PTX has element e of lane l: of A its row and k; of B its k and column; of C its row and column. */
typedef struct at { int x, y; } at;
static at in_a(const sett__mma *r, int l, int e)
{
    int g = l / 4, t = l % 4, size = sett__dtype_bytes((sett_dtype)r->a), reg = e * size / 4, in = e % (4 / (size > 4 ? 4 : size)), small = r->m == 8;
    if (r->a == SETT_F64)
        return small ? (at){g, t + 4 * e} : (at){g + 8 * (e & 1), t + 4 * (e >> 1)};
    return small ? (at){g, (4 * t + 16 * reg) / size + in} : (at){g + 8 * (reg & 1), (4 * t + 16 * (reg >> 1)) / size + in};
}
static at in_b(const sett__mma *r, int l, int e)
{
    int g = l / 4, t = l % 4, size = sett__dtype_bytes((sett_dtype)r->b), reg = e * size / 4, in = e % (4 / (size > 4 ? 4 : size));
    return r->b == SETT_F64 ? (at){t + 4 * e, g} : (at){(4 * t + 16 * reg) / size + in, g};
}
static at in_c(int l, int e)
{
    return (at){l / 4 + 8 * (e >> 1 & 1), l % 4 * 2 + (e & 1) + 8 * (e >> 2)};
}

#define MMA_HEAD(smem) "sett tape 2\nparam A u8 (65536):(1) align 16 read\nparam B u8 (65536):(1) align 16 read\nparam C u8 (65536):(1) align 16 read\nparam D u8 (65536):(1) align 16 write\n" smem "\n\n"

static const char *typed(char buf[24], int dtype, int n)
{
    snprintf(buf, 24, n == 1 ? "%s" : "%sx%d", sett_dtype_name((sett_dtype)dtype), n);
    return buf;
}

/* Each lane's parts lie one after another. */
static void product_text(char *text, size_t size, int row, const char *before, const char *after)
{
    const sett__mma *r = &sett__mmas[row];
    const int n[3] = {r->m * r->k / 32, r->n * r->k / 32, r->m * r->n / 32}, dtype[3] = {r->a, r->b, r->c};
    char buf[24];
    int len = snprintf(text, size, MMA_HEAD("block 32") "%%0 = lane i32\n%%1 = param u8 A\n%%2 = param u8 B\n%%3 = param u8 C\n%%4 = param u8 D\n%s", before);
    for (int k = 0; k < 3; k++)
        len += snprintf(text + len, size - (size_t)len, "%%%d = const i32 %d\n%%%d = mul i32 %%0, %%%d\n%%%d = load %s %%%d[%%%d] align %d\n", 10 + k, n[k], 20 + k, 10 + k,
            30 + k, typed(buf, dtype[k], n[k]), k + 1, 20 + k, sett__dtype_bytes((sett_dtype)dtype[k]));
    len += snprintf(text + len, size - (size_t)len, "%%40 = mma %s %%30, %%31, %%32 row=%s\n", buf, sett__mma_word[row]);
    snprintf(text + len, size - (size_t)len, "store %%4[%%22] %s %%40 align %d\n%s", buf, sett__dtype_bytes((sett_dtype)r->c), after);
}

static unsigned char bytes_a[65536], bytes_b[65536], bytes_c[65536], bytes_d[65536];
static job bytes_job(const char *text, uint32_t threads)
{
    return (job){.text = text, .grid = {1}, .block = {threads}, .data = {bytes_a, bytes_b, bytes_c, bytes_d},
        .bytes = {sizeof bytes_a, sizeof bytes_b, sizeof bytes_c, sizeof bytes_d}, .n_data = 4, .threads = 1};
}

static int warp_rows(void)
{
    int n = 0;
    while (n < SETT__N_MMAS && sett__mmas[n].kind == SETT__MMA_WARP)
        n++;
    return n;
}

/* Does element e of lane l hold what the truth has? The matrices are looked up element by element. */
static void parts_are_true(const sett__mma *r, const truth *t)
{
    const int na = r->m * r->k / 32, nb = 8 * r->k / 32, nc = r->m * 8 / 32;
    uint64_t a[16][32], b[8][32];
    for (int l = 0; l < 32; l++) {
        for (int e = 0; e < na; e++)
            a[in_a(r, l, e).x][in_a(r, l, e).y] = element(bytes_a, (size_t)(l * na + e), (sett_dtype)r->a);
        for (int e = 0; e < nb; e++)
            b[in_b(r, l, e).y][in_b(r, l, e).x] = element(bytes_b, (size_t)(l * nb + e), (sett_dtype)r->b);
    }
    for (int l = 0; l < 32; l++)
        for (int e = 0; e < nc; e++) {
            size_t i = (size_t)(l * nc + e);
            uint64_t want = truth_element(t, a[in_c(l, e).x], b[in_c(l, e).y], element(bytes_c, i, (sett_dtype)r->c));
            ck_assert_msg(element(bytes_d, i, (sett_dtype)r->c) == want, "%s: element %d of lane %d", sett__mma_word[r - sett__mmas], e, l);
        }
}

START_TEST(mma_places_operands)
{
    static const int sms[] = {0, 80, 89, 100};
    char text[2048];
    const sett__mma *r = &sett__mmas[_i];
    uint64_t seed = (uint64_t)_i;
    product_text(text, sizeof text, _i, "", "");
    for (int n = 0; n < 8; n++) {
        job j = bytes_job(text, 32);
        j.sm = sms[n % 4];
        if (j.sm && atoi(r->targets) > j.sm)
            continue;
        truth t = truth_of_row(r, j.sm ? j.sm : 90);
        fill(bytes_a, (size_t)(r->m * r->k), (sett_dtype)r->a, n, &seed);
        fill(bytes_b, (size_t)(8 * r->k), (sett_dtype)r->b, NEAR, &seed);
        fill(bytes_c, (size_t)(8 * r->m), (sett_dtype)r->c, NEAR, &seed);
        runs(&j);
        parts_are_true(r, &t);
    }
}
END_TEST

START_TEST(machine_lacks_row)
{
    char text[2048], want[256];
    sett_error err;
    product_text(text, sizeof text, _i, "", "");
    job j = bytes_job(text, 32);
    j.sm = 75;
    bool has = atoi(sett__mmas[_i].targets) <= 75;
    ck_assert_int_eq(run(&j, &err), has ? SETT_OK : SETT_E_TARGET);
    snprintf(want, sizeof want, "mma %s needs sm_%s, and the CPU engine models the tensor cores of sm_75", sett__mma_word[_i], sett__mmas[_i].targets);
    ck_assert_msg(has || strstr(err.text, want), "%s", err.text);
}
END_TEST

START_TEST(partial_warps_fault)
{
    char text[2048], sized[2060];
    sett_error err;
    product_text(text, sizeof text, 0, "%5 = const i32 7\n%6 = lt i1 %0, %5\n", "}\n");
    char *mma = strstr(text, "%40 = mma"), rest[512];
    snprintf(rest, sizeof rest, "%s", mma);
    sprintf(mma, "if %%6 {\n%s", rest);
    job j = bytes_job(text, 32);
    ck_assert_int_eq(run(&j, &err), SETT_E_FAULT);
    ck_assert_msg(strstr(err.text, "mma: only 7 of the warp's 32 threads are here; lanes 7-31 did not take the branch"), "%s", err.text);
    product_text(text, sizeof text, 0, "", "");
    memcpy(strstr(text, "block 32"), "block T ", 8);
    snprintf(sized, sizeof sized, "sett tape 2\nsym T%s", strchr(text, '\n'));
    j.text = sized;
    j.block[0] = 40;
    j.sym[0] = 40, j.n_sym = 1;
    ck_assert_int_eq(run(&j, &err), SETT_E_FAULT);
    ck_assert_msg(strstr(err.text, "mma: the block's last warp has 8 threads, and it is of 32"), "%s", err.text);
}
END_TEST

/* ---- ldmatrix, stmatrix ------------------------------------------------------------------------------------ */
static const struct {
    sett_dtype t;
    int n; /* matrices */
    bool trans;
} moved[] = {{SETT_F16, 1, false}, {SETT_F16, 4, false}, {SETT_F16, 4, true}, {SETT_BF16, 2, true}, {SETT_U8, 4, false}, {SETT_I8, 1, false}, {SETT_F32, 2, false}, {SETT_TF32, 4, false}};

/* Memory, then rows in any order to registers and thence to D; back by stmatrix, then memory again to D. */
START_TEST(matrices_move)
{
    char text[4096], t[24];
    const int size = sett__dtype_bytes(moved[_i].t), n = moved[_i].n, part = n * 4 / size;
    const char *trans = moved[_i].trans ? " trans" : "";
    snprintf(text, sizeof text,
        MMA_HEAD("block 32\nsmem 2048 align 128")
        "%%0 = lane i32\n%%1 = param u8 A\n%%4 = param u8 D\n%%5 = smem u8x1024 at 0\n%%6 = smem u8x1024 at 1024\n%%7 = const i32 16\n%%8 = const i32 5\n%%9 = const i32 31\n"
        "%%10 = mul i32 %%0, %%7\n%%11 = load u8x16 %%1[%%10] align 16\nstore %%5[%%10] u8x16 %%11 align 16\n%%12 = const i32 %d\n%%13 = mul i32 %%0, %%8\n%%14 = and i32 %%13, %%9\n"
        "%%15 = mul i32 %%14, %%12\nbarrier\n%%16 = ldmatrix %s %%5[%%15]%s\n%%17 = const i32 %d\n%%18 = mul i32 %%0, %%17\nstore %%4[%%18] %%16 align %d\n"
        "store %%6[%%10] u8x16 %%11 align 16\nstmatrix %%6[%%15] %s %%16%s\nbarrier\n%%19 = load u8x16 %%6[%%10] align 16\nstore %%4[%%10 + 1024] u8x16 %%19 align 16\n",
        16 / size, typed(t, moved[_i].t, part), trans, part, size, t, trans);
    for (int i = 0; i < 512; i++)
        bytes_a[i] = (unsigned char)(i * 7 + i / 256);
    job j = bytes_job(text, 32);
    runs(&j);
    ck_assert_mem_eq(bytes_d + 1024, bytes_a, 512);
    for (int m = 0; m < n; m++)
        for (int l = 0; l < 32; l++)
            for (int byte = 0; byte < 4; byte++) {
                int h = byte / 2, line = moved[_i].trans ? 2 * (l % 4) + h : l / 4, in = moved[_i].trans ? 2 * (l / 4) + byte % 2 : 4 * (l % 4) + byte;
                int row = (m * 8 + line) * 5 % 32;
                ck_assert_int_eq(bytes_d[l * part * size + m * 4 + byte], bytes_a[row * 16 + in]);
            }
}
END_TEST

START_TEST(matrices_are_inside)
{
    static const struct { const char *by, *want; } bad[] = {{"24", "ldmatrix: the row of 16 bytes from element 264 on is outside shared memory of 256"},
        {"4", "ldmatrix: the row from element 4 on is not aligned to 16 bytes"}, {"-8", "ldmatrix: the row of 16 bytes from element -8 on is outside shared memory of 256"}};
    char text[1024];
    sett_error err;
    snprintf(text, sizeof text, MMA_HEAD("block 32\nsmem 512 align 128") "%%0 = lane i32\n%%4 = param u8 D\n%%5 = smem u8x512 at 0\n%%6 = const i32 %s\n%%7 = mul i32 %%0, %%6\n"
        "%%8 = ldmatrix f16x8 %%5[%%7]\nstore %%4[%%7] f16x8 %%8 align 2\n", bad[_i].by);
    job j = bytes_job(text, 32);
    ck_assert_int_eq(run(&j, &err), SETT_E_FAULT);
    ck_assert_msg(strstr(err.text, bad[_i].want), "%s", err.text);
}
END_TEST

/* ---- wgmma -------------------------------------------------------------------------------------------------- */
/* Byte of element (row, k) of a tile, as descriptors have tiles: core matrices of 8 rows of 16 bytes; of a swizzle, rows of its bytes,
 * 8 of which are exchanged in pieces of 16 by their number. */
static uint32_t tile_byte(int swizzle, bool trans, int size, uint32_t lead, uint32_t stride, uint32_t row, uint32_t k)
{
    uint32_t wide = swizzle ? 16u << swizzle : 16, line = trans ? k : row, along = (trans ? row : k) * (uint32_t)size;
    uint32_t byte = line % 8 * wide + along % wide;
    if (swizzle || !trans)
        byte += line / 8 * stride + along / wide * lead;
    else
        byte += line / 8 * lead + along / wide * stride;
    if (!swizzle)
        return byte;
    uint32_t piece = byte / 16 % (wide / 16), by = swizzle == 3 ? byte / 128 % 8 : swizzle == 2 ? byte / 128 % 4 : byte / 128 % 2;
    return byte - piece * 16 + (piece ^ by) * 16;
}

typedef struct tiles {
    const char *row;
    int n, swizzle;
    bool trans_a, trans_b, held, neg_a, neg_b, adds;
} tiles;
static const tiles shapes[] = {
    {"m64nNk16.f32.f16.f16", 8, 0, .adds = true}, {"m64nNk16.f32.f16.f16", 256, 3, .adds = true}, {"m64nNk16.f16.f16.f16", 64, 2, .adds = true},
    {"m64nNk16.f32.bf16.bf16", 24, 1, .adds = true}, {"m64nNk16.f32.bf16.bf16", 64, 3, .trans_a = true, .trans_b = true, .adds = true},
    {"m64nNk16.f32.f16.f16", 96, 2, .trans_b = true, .held = true, .adds = true}, {"m64nNk16.f32.f16.f16", 32, 1, .trans_a = true},
    {"m64nNk16.f16.f16.f16", 16, 0, .trans_a = true, .trans_b = true, .adds = true}, {"m64nNk8.f32.tf32.tf32", 40, 3, .neg_a = true, .adds = true},
    {"m64nNk8.f32.tf32.tf32", 16, 0, .held = true, .neg_b = true, .adds = true}, {"m64nNk32.f32.e4m3.e5m2", 64, 3, .neg_a = true, .neg_b = true, .adds = true},
    {"m64nNk32.f16.e5m2.e4m3", 8, 2, .held = true, .adds = true}, {"m64nNk32.s32.u8.s8", 48, 3, .adds = true}, {"m64nNk32.s32.s8.s8", 8, 1, .held = true}};

/* Tiles begin at 0 and 32768; lead and stride hold them apart. */
static void tile_steps(const tiles *s, bool trans, int rows, uint32_t *lead, uint32_t *stride)
{
    uint32_t wide = s->swizzle ? 16u << s->swizzle : 16;
    *stride = 8 * wide;
    *lead = s->swizzle ? (trans ? 2 * *stride : 16) : 128 * (uint32_t)(trans ? 32 : rows / 8);
}

static int row_named(const char *name)
{
    int i = 0;
    while (strcmp(sett__mma_word[i], name))
        i++;
    return i;
}

static void wgmma_text(char *text, size_t size, const tiles *s, const sett__mma *r, const char *a, const char *more)
{
    static const char *const word[] = {"none", "32", "64", "128"};
    uint32_t lead[2], stride[2];
    char c[24], held[24];
    const int nc = s->n / 2, na = 64 * r->k / 128;
    tile_steps(s, s->trans_a, 64, &lead[0], &stride[0]);
    tile_steps(s, s->trans_b, s->n, &lead[1], &stride[1]);
    typed(c, r->c, nc), typed(held, r->a, na);
    snprintf(text, size,
        MMA_HEAD("block 128\nsmem 65536 align 1024")
        "%%0 = tid.x i32\n%%1 = param u8 A\n%%2 = param u8 B\n%%3 = param u8 C\n%%4 = param u8 D\n%%5 = smem u8x32768 at 0\n%%6 = smem u8x32768 at 32768\n%%7 = rmem %s\n%%8 = rmem %s\n"
        "%%9 = const i32 0\n%%10 = const i32 2048\n%%11 = const i32 16\n%%12 = const i32 32768\n%%13 = mul i32 %%0, %%11\n"
        "for %%20 = %%13 to %%12 step %%10 {\n%%21 = load u8x16 %%1[%%20] align 16\nstore %%5[%%20] u8x16 %%21 align 16\n%%22 = load u8x16 %%2[%%20] align 16\nstore %%6[%%20] u8x16 %%22 align 16\n}\n"
        "%%30 = const i32 %d\n%%31 = mul i32 %%0, %%30\n%%32 = load %s %%3[%%31] align %d\nstore %%7[0] %s %%32 align 4\n"
        "%%33 = const i32 %d\n%%34 = mul i32 %%0, %%33\n%%35 = load %s %%1[%%34 + %d] align %d\nstore %%8[0] %s %%35 align 4\nfence.proxy kind=async.shared\nbarrier\n"
        "%%40 = desc u64 %%5[0] swizzle=%s lead=%u stride=%u\n%%41 = desc u64 %%6[0] swizzle=%s lead=%u stride=%u\n%%42 = const i1 %s\n%s"
        "wgmma.fence %%7, %%8\nwgmma %%7, %s, %%41, %%42 row=%s n=%d%s%s%s%s\nwgmma.commit\nwgmma.wait %%7, %%8 pending=0\n"
        "%%50 = load %s %%7[0] align 4\nstore %%4[%%31] %s %%50 align %d\n",
        c, held, nc, c, sett__dtype_bytes((sett_dtype)r->c), c, na, held, 32768 / sett__dtype_bytes((sett_dtype)r->a), sett__dtype_bytes((sett_dtype)r->a), held, word[s->swizzle], lead[0], stride[0],
        word[s->swizzle], lead[1], stride[1], s->adds ? "true" : "false", more, s->held ? "%8" : a, s->row, s->n, s->trans_a ? " trans_a" : "", s->trans_b ? " trans_b" : "",
        s->neg_a ? " neg_a" : "", s->neg_b ? " neg_b" : "", c, c, sett__dtype_bytes((sett_dtype)r->c));
}

/* Thread t of the group: warp t / 32 has rows from 16 of it on. */
static void group_is_true(const tiles *s, const sett__mma *r)
{
    static uint64_t a[64][32], b[256][32];
    const int size = sett__dtype_bytes((sett_dtype)r->a), nc = s->n / 2, na = 64 * r->k / 128;
    uint64_t sign = UINT64_C(1) << (r->a == SETT_TF32 ? 31 : sett_dtype_bits((sett_dtype)r->a) - 1);
    sett__mma warp = *r;
    uint32_t lead, stride;
    truth t = truth_of_row(r, 90);
    warp.m = 16;
    tile_steps(s, s->trans_a, 64, &lead, &stride);
    for (uint32_t i = 0; i < 64; i++)
        for (uint32_t k = 0; k < r->k; k++)
            a[i][k] = element(bytes_a + tile_byte(s->swizzle, s->trans_a, size, lead, stride, i, k), 0, (sett_dtype)r->a);
    for (int l = 0; s->held && l < 128; l++)
        for (int e = 0; e < na; e++)
            a[l / 32 * 16 + in_a(&warp, l % 32, e).x][in_a(&warp, l % 32, e).y] = element(bytes_a + 32768, (size_t)(l * na + e), (sett_dtype)r->a);
    tile_steps(s, s->trans_b, s->n, &lead, &stride);
    for (uint32_t i = 0; i < (uint32_t)s->n; i++)
        for (uint32_t k = 0; k < r->k; k++)
            b[i][k] = element(bytes_b + tile_byte(s->swizzle, s->trans_b, size, lead, stride, i, k), 0, (sett_dtype)r->b);
    for (int i = 0; i < 64 * 32; i++)
        a[i / 32][i % 32] ^= s->neg_a ? sign : 0;
    for (int i = 0; i < s->n * 32; i++)
        b[i / 32][i % 32] ^= s->neg_b ? sign : 0;
    for (int l = 0; l < 128; l++)
        for (int e = 0; e < nc; e++) {
            size_t i = (size_t)(l * nc + e);
            at x = in_c(l % 32, e);
            uint64_t want = truth_element(&t, a[l / 32 * 16 + x.x], b[x.y], s->adds ? element(bytes_c, i, (sett_dtype)r->c) : 0);
            ck_assert_msg(element(bytes_d, i, (sett_dtype)r->c) == want, "element %d of thread %d", e, l);
        }
}

START_TEST(wgmma_is_true)
{
    char text[4096];
    const tiles *s = &shapes[_i];
    const sett__mma *r = &sett__mmas[row_named(s->row)];
    uint64_t seed = (uint64_t)_i + 9;
    wgmma_text(text, sizeof text, s, r, "%40", "");
    for (int n = 0; n < 3; n++) {
        size_t all = 65536 / (size_t)sett__dtype_bytes((sett_dtype)r->a);
        fill(bytes_a, all, (sett_dtype)r->a, n, &seed);
        fill(bytes_b, all, (sett_dtype)r->b, NEAR, &seed);
        fill(bytes_c, 65536 / (size_t)sett__dtype_bytes((sett_dtype)r->c), (sett_dtype)r->c, NEAR, &seed);
        job j = bytes_job(text, 128);
        runs(&j);
        group_is_true(s, r);
    }
}
END_TEST

#define WARP_3 "%60 = const i32 96\n%61 = lt i1 %0, %60\n" /* %61: it is none of that warp */
START_TEST(wrong_wgmma)
{
    static const struct { const char *more, *a; uint32_t threads; const char *want; } bad[] = {
        {"%43 = const u64 4095\n%44 = add u64 %40, %43\n", "%44", 128, "wgmma reads bytes 65536 to 65551 of shared memory, and the block has 65536: the descriptor begins at 65520, lead 16, stride 1024, swizzle 128"},
        {"%43 = convert u64 %0\n%44 = add u64 %40, %43\n", "%44", 128, "wgmma: the descriptor of A differs from lane to lane: 0x4000004000010000 in lane 0, 0x4000004000010001 in lane 1"},
        {"", "%40", 192, "wgmma.fence: warp 4 is in a warp group of 2 warps, and it is of 4"},
        {WARP_3 "if %61 {\n", "%40", 128, ": a wait that never ends: warps 0-2 at "},
        {WARP_3 "if %61 {\n", "%40", 128, ": a product that warp 3 of its group has not begun; warp 3 ended, "},
        {WARP_3 "%62 = const u64 2\n%63 = add u64 %40, %62\n%64 = select u64 %61, %40, %63\n", "%64", 128, "wgmma: a descriptor, or whether it adds, differs from warp to warp: 0x"},
        {WARP_3 "wgmma.fence %7\nwgmma %7, %40, %41, %61 row=m64nNk16.f32.f16.f16 n=64\nwgmma.commit\nwgmma.wait %7 pending=0\n", "%40", 128,
            "wgmma: a descriptor, or whether it adds, differs from warp to warp: 0x"},
        {WARP_3 "if %61 {\nwgmma.fence %7\nwgmma %7, %40, %41, %42 row=m64nNk16.f32.f16.f16 n=64\nwgmma.commit\nwgmma.wait %7 pending=0\n}\n", "%40", 128,
            "wgmma: warp 0 of its group is at another one, of line "}};
    char text[4096], *block;
    sett_error err;
    tiles s = {"m64nNk16.f32.f16.f16", 64, 3, .adds = true};
    wgmma_text(text, sizeof text, &s, &sett__mmas[row_named(s.row)], bad[_i].a, bad[_i].more);
    block = strstr(text, "block 128");
    memcpy(block, bad[_i].threads == 192 ? "block 192" : "block 128", 9);
    if (strstr(bad[_i].more, "{\n") && !strstr(bad[_i].more, "}"))
        strcat(text, "}\n");
    job j = bytes_job(text, bad[_i].threads);
    ck_assert_int_eq(run(&j, &err), SETT_E_FAULT);
    ck_assert_msg(strstr(err.text, bad[_i].want), "%s", err.text);
}
END_TEST

/* What is lazy reads shared memory when a wait asks for it: what is written there too early is found. */
START_TEST(tiles_are_read_late)
{
    static const char zeros[] = "%81 = const u8 0\n%82 = pick u8x16 %81 [0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0]\nfor %83 = %13 to %12 step %10 {\nstore %5[%83] u8x16 %82 align 16\n}\n";
    static const char *const after[] = {"wgmma.wait %7, %8 pending=0\n", "wgmma.commit\n"};
    char text[6000], rest[2000];
    tiles s = {"m64nNk16.f32.f16.f16", 64, 3, .adds = false};
    const sett__mma *r = &sett__mmas[row_named(s.row)];
    uint64_t seed = 4;
    wgmma_text(text, sizeof text, &s, r, "%40", "");
    char *to = strstr(text, after[_i]) + strlen(after[_i]);
    snprintf(rest, sizeof rest, "%s", to);
    snprintf(to, sizeof text - (size_t)(to - text), "%s%s", _i ? zeros : "barrier\n", rest);
    if (!_i)
        strcat(text, zeros);
    fill(bytes_a, 32768, SETT_F16, NEAR, &seed), fill(bytes_b, 32768, SETT_F16, NEAR, &seed);
    job j = bytes_job(text, 128);
    sett_error err;
    ck_assert_int_eq(run(&j, &err), _i ? SETT_E_FAULT : SETT_OK);
    if (!_i)
        group_is_true(&s, r);
    else
        ck_assert_msg(strstr(err.text, "wrote, and no fence.proxy kind=async.shared came in between"), "%s", err.text);
}
END_TEST

/* ---- the engine's options ----------------------------------------------------------------------------------------- */
/* The machine of an engine, by option or environment: its bits come out of a launch. 0: fast. */
static void launched_as(const sett_engine_options *o, const char *variable, const char *value, int sm)
{
    char text[2048];
    const int row = row_named("m16n8k16.f32.f16.f16.f32");
    sett_engine *e;
    sett_kernel *k;
    sett_error err = {0};
    uint64_t seed = 11;
    sett_compile_options how = {.size = sizeof how, .target = "cpu"};
    sett_buf A = sett_buf_1d(bytes_a, SETT_U8, 65536), B = sett_buf_1d(bytes_b, SETT_U8, 65536), C = sett_buf_1d(bytes_c, SETT_U8, 65536), D = sett_buf_1d(bytes_d, SETT_U8, 65536);
    fill(bytes_a, 256, SETT_F16, NEAR, &seed);
    fill(bytes_b, 128, SETT_F16, NEAR, &seed);
    fill(bytes_c, 128, SETT_F32, NEAR, &seed);
    product_text(text, sizeof text, row, "", "");
    setenv(variable, value, 1);
    ck_assert_int_eq(sett_engine_open(&e, o, &err), SETT_OK);
    unsetenv(variable);
    ck_assert_msg(!sett_compile_tape(e, text, strlen(text), &how, &k, &err), "%s", err.text);
    ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &A, &B, &C, &D), "%s", err.text);
    ck_assert(sett_engine_describe(e, text, sizeof text) > 0);
    ck_assert_msg(strstr(text, !sm ? "tensor cores of sm_90, by plain fma\n" : sm == 90 ? "tensor cores of sm_90, measured\n" : "as public captures have them\n"), "%s", text);
    truth t = truth_of(sm ? sm : 90, false, SETT_F16, SETT_F16, SETT_F32, 16);
    if (sm)
        parts_are_true(&sett__mmas[row], &t);
    sett_kernel_release(k);
    sett_engine_close(e);
}

START_TEST(options_choose_machines)
{
    static unsigned char exact[512];
    sett_error err = {0};
    sett_engine *e;
    sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_sm = 85};
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "cpu_sm 85 is none of 75, 80, 86, 89, 90, 100, 120");
    o.cpu_sm = 80;
    launched_as(&o, "SETT_CPU_SM", "90", 80);
    o.cpu_sm = 0;
    launched_as(&o, "SETT_CPU_SM", "80", 80);
    launched_as(&o, "SETT_CPU_SM", "100", 100);
    memcpy(exact, bytes_d, sizeof exact);
    launched_as(&o, "SETT_CPU_FAST_MMA", "1", 0);
    ck_assert_mem_ne(exact, bytes_d, sizeof exact);
}
END_TEST

Suite *tensor_core_suite(void)
{
    Suite *s = suite_create("tensor_core");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, vectors_are_true, 0, SETT__N_MMAS);
    tcase_add_test(t, machines_have_rows);
    tcase_add_loop_test(t, fast_is_close, 0, SETT__N_MMAS);
    tcase_add_loop_test(t, mma_places_operands, 0, warp_rows());
    tcase_add_loop_test(t, machine_lacks_row, 0, warp_rows());
    tcase_add_test(t, partial_warps_fault);
    tcase_add_loop_test(t, matrices_move, 0, (int)SETT__COUNT(moved));
    tcase_add_loop_test(t, matrices_are_inside, 0, 3);
    tcase_add_loop_test(t, wgmma_is_true, 0, (int)SETT__COUNT(shapes));
    tcase_add_loop_test(t, wrong_wgmma, 0, 8);
    tcase_add_loop_test(t, tiles_are_read_late, 0, 2);
    tcase_add_test(t, options_choose_machines);
    suite_add_tcase(s, t);
    return s;
}
