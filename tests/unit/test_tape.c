/* SPDX-License-Identifier: Apache-2.0 */
/* The tape: text and bytes of one another's making, damage of every byte, the verifier's words, and
 * memory that runs out at any point. */
#include "lib/print/print.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

Suite *tape_suite(void);

/* Every class of op, every attribute, in the printer's own form. */
static const char good[] =
    "sett tape 2\n"
    "sym M\n"
    "sym N div 8 wide\n"
    "sym \"odd name\"\n"
    "param A f16 (M,(N/8,8)):(N,(8,1)) align 16 read wide\n"
    "param C f16 (M,N):(N,1) align 16 write restrict\n"
    "param z f8E4M3FN ():() align 1\n"
    "param v f32 (M):(1) align 4 read write\n"
    "scalar alpha f32\n"
    "scalar k i32\n"
    "struct knobs 26 align 8\n"
    "grid (M+15)/16, min(max(N,3),select(M<4,k,\"odd name\"-(M-1))), (M&3)*(2+1)%5<<2>>1\n"
    "block 32*4\n"
    "cluster _, 2\n"
    "smem 4096 align 128 more (M+1)*4+k\n"
    "\n"
    "%0 = tid.y i32 @ a.c:3 f\n"
    "%1 = param f16 A @ a.c:4 f\n"
    "%2 = param f16 C @ a.c:4 f\n"
    "%3 = smem f32x64 at 128\n"
    "%4 = rmem f16x16\n"
    "%5 = const i32 -5\n"
    "%6 = const f32 0x3dcccccd ; 0.100000001\n"
    "%7 = const f16 1.5\n"
    "%8 = const i1 true\n"
    "%9 = sym i64 N\n"
    "%10 = scalar f32 alpha\n"
    "%11 = load f16x8 %1[%0 + 16] align 16 pred %8 fill %7 @ \"x y.c\":77 \"\"\n"
    "%12 = add f16x8 %11, %7\n"
    "%13 = pick f16x4 %12 [0,2,4,7]\n"
    "%14 = pack f16x12 %12, %13\n"
    "%15 = reduce.max f16 %14, %7\n"
    "%16 = lt i1x8 %11, %12\n"
    "%17 = convert f32x8 %12\n"
    "store %2[%9 - 4] f16x8 %12 align 8 pred %8 volatile\n"
    "if %8 {\n"
    "    %20 = ex2.approx f32x8 %17 @ b.c:9 g\n"
    "    barrier\n"
    "} else {\n"
    "    for %23 = %0 to %5 step %0 {\n"
    "        printf \"a %d \\\"q\\\"\\n %lld%%\", %23, %9 @ b.c:9 g\n"
    "    }\n"
    "}\n"
    "%27 = atom.add f32 %3[3] %10 pred %8\n"
    "%28 = shfl.bfly f32 %10, %0\n"
    "assert %8, \"bad\\x01\"\n"
    "%30 = rem i32 %0, %5 nonneg\n"
    "%31 = bitcast i32x4 %11\n"
    "%32 = fma f16x8 %11, %12, %7\n"
    "%33 = select f16x8 %16, %11, %12\n"
    "store %4[0] f16x8 %33 align 16\n"
    "%35 = load f16x16 %4[0] align 2\n";

static sett__tape parsed(const char *text)
{
    sett__tape t;
    sett_error err = {SETT_OK, ""};
    ck_assert_msg(sett__tape_parse(&t, text, &err) == SETT_OK, "%s", err.text);
    return t;
}

static char *printed(const sett__tape *t, bool sites)
{
    char *text;
    ck_assert_int_eq(sett__tape_print(t, sites, NULL, &text, NULL), SETT_OK);
    return text;
}

static unsigned char *written(const sett__tape *t, bool sites, size_t *len)
{
    void *bytes;
    ck_assert_int_eq(sett__tape_write(t, sites, NULL, &bytes, len, NULL), SETT_OK);
    return bytes;
}

START_TEST(text_comes_back)
{
    sett__tape t = parsed(good);
    char *text = printed(&t, true);
    ck_assert_str_eq(text, good);
    free(text);
    sett__tape_free(&t);
}
END_TEST

START_TEST(bytes_come_back)
{
    for (int sites = 0; sites < 2; sites++) {
        sett__tape t = parsed(good), u;
        size_t n, m;
        unsigned char *a = written(&t, sites, &n), *b;
        ck_assert_int_eq(sett__tape_read(&u, a, n, NULL), SETT_OK);
        b = written(&u, sites, &m);
        ck_assert(n == m && !memcmp(a, b, n));
        char *text = printed(&u, sites), *want = printed(&t, sites);
        ck_assert_str_eq(text, want);
        free(text), free(want), free(a), free(b);
        sett__tape_free(&t), sett__tape_free(&u);
    }
}
END_TEST

/* Sites, value numbers, comments and the order of arrays in memory are no part of what a tape is. */
START_TEST(equal_tapes_give_equal_bytes)
{
    static const char one[] =
        "sett tape 2\nsym N\nblock 32\n%0 = tid.x i32 @ a.c:1 f\n%1 = sym i32 N\n%2 = lt i1 %0, %1\n"
        "%3 = const f32 2.0\nassert %2, \"x\"\nprintf \"y %f\", %3\nassert %2, \"x\"\n";
    static const char two[] =
        "\n; made by hand\nsett tape 2\nblock 32 ; threads\nsym N\n%7 = tid.x i32\n%4=sym i32 N\n"
        "%0 = lt i1 %7,%4\n%9 = const f32 0x40000000\nassert %0, \"x\"\nprintf \"y %f\", %9\nassert %0, \"x\"";
    sett__tape t = parsed(one), u = parsed(two);
    size_t n, m;
    unsigned char *a = written(&t, false, &n), *b = written(&u, false, &m);
    ck_assert(n == m && !memcmp(a, b, n));
    free(a), free(b);
    sett__tape_free(&t);
    const char *swap = u.string[0]; /* strings in another order, one twice */
    u.op[6].imm = 2, u.op[4].imm = 1, u.op[5].imm = 0;
    u.string[0] = u.string[1], u.string[1] = swap;
    a = written(&u, false, &n);
    sett__tape_read(&t, a, n, NULL);
    ck_assert_uint_eq(t.n_string, 2);
    ck_assert_uint_eq(n, m);
    free(a);
    sett__tape_free(&t), sett__tape_free(&u);
}
END_TEST

/* ---- damage ----------------------------------------------------------------------------- */
/* Whatever the bytes are: a status, or a tape that is the same after another round. */
static bool survives(const unsigned char *bytes, size_t n)
{
    sett__tape t, u;
    sett_error err = {SETT_OK, ""};
    unsigned char *copy = malloc(n ? n : 1); /* of its own, so that reading past the end is seen */
    memcpy(copy, bytes, n);
    sett_status status = sett__tape_read(&t, copy, n, &err);
    free(copy);
    if (status) {
        if (err.status != status || !*err.text)
            ck_abort_msg("a failure has no text");
        return false;
    }
    size_t a, b;
    unsigned char *first = written(&t, true, &a), *second;
    if (sett__tape_read(&u, first, a, &err))
        ck_abort_msg("what was written is not read: %s", err.text);
    second = written(&u, true, &b);
    if (a != b || memcmp(first, second, a))
        ck_abort_msg("another round gives other bytes");
    free(first), free(second);
    sett__tape_free(&t), sett__tape_free(&u);
    return true;
}

START_TEST(every_byte_may_be_damaged)
{
    sett__tape t = parsed(good);
    size_t n, refused = 0, total = 0;
    unsigned char *bytes = written(&t, _i, &n);
    ck_assert(survives(bytes, n));
    for (size_t i = 0; i < n; i++) {
        static const unsigned char flips[] = {1, 2, 4, 8, 16, 32, 64, 128, 255, 127};
        for (size_t k = 0; k < sizeof flips; k++, total++) {
            bytes[i] ^= flips[k];
            refused += !survives(bytes, n);
            bytes[i] ^= flips[k];
        }
        if (survives(bytes, i)) /* no beginning of a tape is one */
            ck_abort_msg("%zu bytes of %zu are read", i, n);
    }
    ck_assert_uint_gt(refused, total / 2);
    free(bytes);
    sett__tape_free(&t);
}
END_TEST

START_TEST(hostile_bytes)
{
    /* Counts that promise more than there is: refused before anything is allocated for them. */
    static const unsigned char huge[] = {'s', 'e', 't', 't', 2, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 15, 0};
    static const unsigned char version[] = {'s', 'e', 't', 't', 1, 0};
    sett_error err;
    sett__tape t;
    ck_assert_int_eq(sett__tape_read(&t, huge, sizeof huge, &err), SETT_E_PARSE);
    ck_assert(strstr(err.text, "a count is larger than what follows"));
    ck_assert_int_eq(sett__tape_read(&t, version, sizeof version, &err), SETT_E_PARSE);
    ck_assert(strstr(err.text, "another version"));
    ck_assert_int_eq(sett__tape_read(&t, NULL, 0, &err), SETT_E_PARSE);
    sett__tape_free(&t);
}
END_TEST

START_TEST(damaged_text)
{
    uint32_t seed = 7;
    size_t n = strlen(good);
    char *text = malloc(n + 1);
    for (int i = 0; i < 3000; i++) {
        memcpy(text, good, n + 1);
        for (int k = 0; k < 2; k++) {
            seed = seed * 1664525 + 1013904223;
            text[(seed >> 8) % n] = "%0{}()\"\\,;x@ \n-9"[seed >> 28];
        }
        if (i % 3 == 0)
            text[(seed >> 4) % n] = 0;
        sett__tape t;
        sett_error err = {SETT_OK, ""};
        sett_status status = sett__tape_parse(&t, text, &err);
        if (status && (err.status != status || !*err.text))
            ck_abort_msg("a failure has no text");
        sett__tape_free(&t);
    }
    free(text);
}
END_TEST

/* ---- what the verifier says -------------------------------------------------------------------- */
#define HEAD \
    "sett tape 2\nsym N\nparam A f32 (N):(1) align 16 read\nscalar s f32\nsmem 1024 align 16\n" \
    "%0 = tid.x i32\n%1 = param f32 A\n%2 = const f32 1.0\n%3 = const i1 true\n%4 = smem f32x64 at 256\n" \
    "%5 = rmem f16x8\n%6 = const i64 3\n%7 = load f32x4 %1[%0] align 16\n%8 = const i8 1\n"
static const struct {
    const char *body;
    sett_status status;
    const char *text;
} refusals[] = {
    {"%9 = add i32 %0, %2 @ a.c:31 f", SETT_E_DTYPE, "a.c:31: op 9 `%9 = add i32 %0, %2`: operand 1 is f32, not i32"},
    {"%9 = add f32x8 %7, %2", SETT_E_SHAPE, "operand 0 has 4 elements, not 8"},
    {"%9 = add f32 %1, %2", SETT_E_VERIFY, "operand 0 is memory"},
    {"%9 = and f32 %2, %2", SETT_E_DTYPE, "and takes i1, i8, i16, i32, i64, u8, u16, u32, u64, i128 or u128, not f32"},
    {"%9 = const i128 1", SETT_E_PARSE, "the number does not fit the type"},
    {"%9 = const i128 0x1", SETT_E_PARSE, "the number does not fit the type"},
    {"%9 = convert i128 %2", SETT_E_DTYPE, "there is no step from f32 to i128"},
    {"%9 = convert u128 %0\n%10 = convert f64 %9", SETT_E_DTYPE, "there is no step from u128 to f64"},
    {"%9 = convert i128 %0\n%10 = atom.add i128 %4[0] %9", SETT_E_DTYPE, "no such atomic of i128"},
    {"%9 = convert i128 %0\n%10 = load f32 %4[%9] align 4", SETT_E_DTYPE, "the offset must be one i32 or i64"},
    {"%9 = add i1 %3, %3", SETT_E_DTYPE, "add takes i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, i128 or u128, not i1"},
    {"%9 = bitcast i8 %3", SETT_E_DTYPE, "f8E4M3 or f8E4M3B11FNUZ, not i1"},
    {"%9 = lt i32 %0, %0", SETT_E_VERIFY, "the result must be i1"},
    {"%9 = select f32 %0, %2, %2", SETT_E_DTYPE, "operand 0 is i32, not i1"},
    {"%9 = tid.x u32", SETT_E_VERIFY, "the result must be i32"},
    {"%9 = sym i64 N", SETT_E_VERIFY, "the result must be i32"},
    {"%9 = scalar i32 s", SETT_E_VERIFY, "the result must be f32"},
    {"%9 = param f16 A", SETT_E_VERIFY, "the result must be f32"},
    {"%9 = scalar f32 A", SETT_E_VERIFY, "no such scalar"},
    {"%9 = param f32 s", SETT_E_VERIFY, "no such tensor"},
    {"%9 = smem f32x256 at 256", SETT_E_VERIFY, "leaves the block's 1024 bytes"},
    {"%9 = smem f32x4 at -16", SETT_E_VERIFY, "leaves the block's 1024 bytes"},
    {"%9 = smem f32x0 at 0", SETT_E_VERIFY, "no elements"},
    {"struct p 24 align 8\n%9 = param u8 p\n%10 = load i32x2 %9[5] align 4", SETT_E_RANGE, "elements 5 to 6 are not in %9"},
    {"struct p 24 align 8\n%9 = param u8 p\n%10 = load i32x4 %9[0] align 16", SETT_E_ALIGN, "%9 is aligned to 8 bytes"},
    {"struct p 24 align 8\n%9 = param u8 p\nstore %9[0] f32 %2 align 4", SETT_E_SPACE, "p is passed by value: it is only read"},
    {"struct p 24 align 8\n%9 = param u8 p\n%10 = atom.add f32 %9[0] %2", SETT_E_SPACE, "p is passed by value: it is only read"},
    {"struct p 24 align 8\n%9 = scalar u8 p", SETT_E_VERIFY, "no such scalar"},
    {"struct p 24 align 8\n%9 = addr u64 p", SETT_E_VERIFY, "no such tensor"},
    {"struct p 0 align 8", SETT_E_VERIFY, "parameter p: a scalar with a tensor's attributes"},
    {"struct p 8 align 3", SETT_E_VERIFY, "parameter p: a scalar with a tensor's attributes"},
    {"struct p 4097 align 8", SETT_E_PARSE, "a number above"},
    {"struct p 4000 align 8\nstruct q 80 align 8", SETT_E_LIMIT, "take 4100 bytes, of at most 4096"},
    {"struct p 24 align 8\ngrid p", SETT_E_PARSE, "there is no symbol or scalar p"},
    {"%9 = rmem f32x65537", SETT_E_LIMIT, "at most 65536"},
    {"%9 = rmem f32x0", SETT_E_VERIFY, "no elements"},
    {"%9 = load f32 %2[0] align 4", SETT_E_SPACE, "operand 0 is not memory"},
    {"%9 = load f32 %1[%6] align 32", SETT_E_ALIGN, "%1 is aligned to 16 bytes"},
    {"%9 = load f32 %1[1] align 8", SETT_E_ALIGN, "offset 1 is not aligned to 8 bytes"},
    {"%9 = load f32 %4[%0] align 32", SETT_E_ALIGN, "%4 is aligned to 16 bytes"},
    {"%9 = load f32x4 %4[61] align 4", SETT_E_RANGE, "elements 61 to 64 are not in %4"},
    {"%9 = load f32 %4[-1] align 4", SETT_E_RANGE, "elements -1 to -1"},
    {"%9 = load f32x4 %5[1] align 4", SETT_E_RANGE, "elements 1 to 4 are not in %5"},
    {"%9 = load f32 %1[999999999999999999] align 4", SETT_E_RANGE, "too large"},
    {"%9 = load f32 %1[%8] align 4", SETT_E_DTYPE, "the offset must be one i32 or i64"},
    /* The rules of most accesses, which the verifier looks at in another way: at a base in a parameter. */
    {"%9 = load f32 %1[%6+281474976710656] align 4", SETT_E_RANGE, "too large"},
    {"%9 = load f32 %1[%6-281474976710657] align 4", SETT_E_RANGE, "too large"},
    {"%9 = load f32 %1[%7] align 4", SETT_E_DTYPE, "the offset must be one i32 or i64"},
    {"%9 = smem i32x1 at 0\n%10 = load f32 %1[%9] align 4", SETT_E_VERIFY, "operand 1 is memory"},
    {"%9 = load f32 %1[%0] align 4 fill %2", SETT_E_VERIFY, "a fill needs a predicate"},
    {"%9 = load f32 %1[%0] align 4 pred %0", SETT_E_DTYPE, "operand 2 is i32, not i1"},
    {"%9 = load f4E2M1FN %1[%0] align 1", SETT_E_DTYPE, "memory is not accessed as f4E2M1FN"},
    {"%9 = load f32x0 %1[%0] align 4", SETT_E_LIMIT, "0 elements: a value has 1 to 65536"},
    {"%9 = load f32x65537 %1[%0] align 4", SETT_E_LIMIT, "65537 elements: a value has 1 to 65536"},
    {"store %1[%0] f32 %2 align 4", SETT_E_VERIFY, "parameter A is not declared as written"},
    {"param B f32 (N):(1) align 4 write\n%9 = param f32 B\nstore %9[%0] f32 %2 align 8", SETT_E_ALIGN, "%9 is aligned to 4 bytes"},
    {"param B f32 (N):(1) align 4 write\n%9 = param f32 B\n%10 = load f32 %9[%0] align 4", SETT_E_VERIFY, "parameter B is not declared as read"},
    {"param B f32 (N):(1) align 4 write\n%9 = param f32 B\nstore %9[%0] f32x64 %4 align 4", SETT_E_VERIFY, "operand 3 is memory"},
    {"param B f32 (N):(1) align 4 write\n%9 = param f32 B\nif %3 {\n%11 = neg i32 %0\n}\nstore %9[%11] f32 %2 align 4", SETT_E_REGION, "operand 1, %11, was made in a region that has ended"},
    {"param B i32 (N):(1) align 4 write\n%9 = param i32 B\nif %3 {\n%11 = neg i32 %0\n}\nstore %9[%0] i32 %11 align 4", SETT_E_REGION, "operand 3, %11, was made in a region that has ended"},
    {"struct p 24 align 8\n%9 = param u8 p\nstore %9[%0] f32 %2 align 4", SETT_E_SPACE, "p is passed by value: it is only read"},
    {"%9 = load f32 %1[0] align 4 pred %0", SETT_E_DTYPE, "operand 2 is i32, not i1"},
    {"%9 = load f32 %1[0] align 4 fill %2", SETT_E_VERIFY, "a fill needs a predicate"},
    {"%9 = load f32 %1[0] align 4 pred %3 fill %8", SETT_E_DTYPE, "operand 3 is i8, not f32"},
    {"%9 = load f4E2M1FN %5[0] align 1", SETT_E_DTYPE, "memory is not accessed as f4E2M1FN"},
    {"store %1[0] f32 %2 align 4", SETT_E_VERIFY, "parameter A is not declared as written"},
    {"%9 = atom.add f32 %1[0] %2", SETT_E_VERIFY, "parameter A is not declared as read and written"},
    {"store %5[0] f32x4 %7 align 16 pred %2", SETT_E_DTYPE, "operand 2 is f32, not i1"},
    {"%9 = atom.add f16 %5[0] %2", SETT_E_DTYPE, "operand 3 is f32, not f16"},
    {"%9 = rmem i32x2\n%10 = atom.add i32 %9[0] %0", SETT_E_SPACE, "registers have no atomics"},
    {"%9 = atom.and f32 %4[0] %2", SETT_E_DTYPE, "no such atomic of f32"},
    {"%9 = atom.xchg i8 %4[0] %2", SETT_E_DTYPE, "operand 3 is f32, not i8"},
    {"%9 = atom.mul f32 %4[0] %2", SETT_E_VERIFY, "no such atomic"},
    {"%9 = atom.add f32x3 %4[0] %2", SETT_E_VERIFY, "3 elements: an atomic has one, or 2, 4, 8 or 16 in up to 16 bytes"},
    {"%9 = atom.add f32x8 %4[0] %2", SETT_E_VERIFY, "8 elements: an atomic has one"},
    {"%9 = atom.add f32x4 %4[2] %2", SETT_E_ALIGN, "offset 2 is not aligned to 16 bytes"},
    {"%9 = pick f32x2 %7 [3,4]", SETT_E_VERIFY, "index 4 of 4 elements"},
    {"%9 = pack f32x6 %7, %2", SETT_E_SHAPE, "5 elements, not 6"},
    {"%9 = bitcast i8x3 %2", SETT_E_SHAPE, "32 bits become 24"},
    {"%9 = convert f16 %7", SETT_E_SHAPE, "4 elements, not 1"},
    {"%9 = reduce.sub f32 %7, %2", SETT_E_VERIFY, "does not know"},
    {"%9 = reduce.and f32 %7, %2", SETT_E_DTYPE, "and takes i1, i8, i16, i32, i64, u8, u16, u32, u64, i128 or u128, not f32"},
    {"%9 = reduce.add f32x2 %7, %2", SETT_E_VERIFY, "the result must be f32"},
    {"%9 = shfl.idx f32 %2, %0 width=12", SETT_E_RANGE, "width 12 is not a power of two"},
    {"%9 = shfl.idx i64 %6, %0", SETT_E_DTYPE, "16 or 32 bits"},
    {"%9 = shfl.idx f32 %2, %6", SETT_E_DTYPE, "the lane must be one i32"},
    {"%9 = add f32 %2, %2 nonneg", SETT_E_PARSE, "the line should end here"},
    {"%9 = shfl.idx f32 %2, %0 width=", SETT_E_PARSE, "expected a number"},
    {"%9 = shfl.idx f32 %2, %0 width=0", SETT_E_RANGE, "width 0 is not a power of two from 2 to 32"},
    {"%9 = shfl.idx f32 %2, %0 width=4294967328", SETT_E_PARSE, "has 32 bits"},
    {"fence", SETT_E_VERIFY, "it needs the attribute scope="},
    {"fence scope=all", SETT_E_PARSE, "there is no such scope"},
    {"fence scope=gpu scope=gpu", SETT_E_PARSE, "it is given twice, or out of order: the order is scope"},
    {"cp.async.wait pending=256", SETT_E_RANGE, "pending 256 is not -1 to 255"},
    {"cp.async.wait pending=-2", SETT_E_RANGE, "pending -2 is not -1 to 255"},
    {"%9 = atom.add f32 %4[0] %2 order=acq_rel scope=cta order=acquire", SETT_E_PARSE, "it is given twice, or out of order: the order is was, pred, order, scope"},
    {"%9 = div f32 %2, %2 nonneg", SETT_E_VERIFY, "attribute"},
    {"if %0 {\n}", SETT_E_DTYPE, "operand 0 is i32, not i1"},
    {"if %3 {\n%10 = neg i32 %0\n}\n%12 = neg i32 %10", SETT_E_REGION, "%10, was made in a region that has ended"},
    {"if %3 {\n%10 = neg i32 %0\n} else {\n%12 = neg i32 %10\n}", SETT_E_REGION, "made in a region that has ended"},
    {"for %9 = %0 to %0 step %0 {\n}\n%11 = neg i32 %9", SETT_E_REGION, "made in a region that has ended"},
    {"if %3 {\n%10 = const i32 1\n}", SETT_E_REGION, "outside of all regions"},
    {"loop {\n}", SETT_E_REGION, "its loop has no while"},
    {"loop {\nwhile %3\nwhile %3\n}", SETT_E_REGION, "once in each loop"},
    {"loop {\nif %3 {\nwhile %3\n}\n}", SETT_E_REGION, "directly in it"},
    {"while %3", SETT_E_REGION, "directly in it"},
    {"loop {\nwhile %0\n}", SETT_E_DTYPE, "operand 0 is"},
    {"loop {\nwhile %3\n} else {\n}", SETT_E_PARSE, "regions do not nest"},
    {"loop {\n%10 = neg i32 %0\nwhile %3\n}\n%13 = neg i32 %10", SETT_E_REGION, "made in a region that has ended"},
    {"for %9 = %0 to %0 step %6 {\n}", SETT_E_DTYPE, "operand 2 is i64, not i32"},
    {"for %9 = %8 to %8 step %8 {\n}", SETT_E_DTYPE, "32 or 64 bits"},
    {"%9 = const i32 0\nfor %10 = %0 to %0 step %9 {\n}", SETT_E_RANGE, "the step must be positive"},
    {"%9 = const i32 -1\nfor %10 = %0 to %0 step %9 {\n}", SETT_E_RANGE, "the step must be positive"},
    {"printf \"%d\", %2", SETT_E_DTYPE, "%d does not print f32"},
    {"printf \"%d\", %6", SETT_E_DTYPE, "%d does not print i64"},
    {"printf \"%lld\", %0", SETT_E_DTYPE, "%lld does not print i32"},
    {"printf \"%d %d\", %0", SETT_E_VERIFY, "2 conversions for 1 operands"},
    {"printf \"100%% %s\", %0", SETT_E_VERIFY, "conversion 0 is none"},
    {"printf \"%f\", %7", SETT_E_SHAPE, "operand 0 has 4 elements"},
    {"assert %0, \"x\"", SETT_E_DTYPE, "operand 0 is i32, not i1"},
    {"}", SETT_E_PARSE, "regions do not nest"},
    {"if %3 {", SETT_E_PARSE, "regions do not nest"},
    {"if %3 {\n} else {\n} else {\n}", SETT_E_PARSE, "regions do not nest"},
    {"sym N", SETT_E_VERIFY, "two symbols or parameters are called N"},
    {"sym A", SETT_E_VERIFY, "two symbols or parameters are called A"},
    {"sym Q div 0", SETT_E_VERIFY, "divisor must be positive"},
    {"param B f32 (N):(1) align 3", SETT_E_VERIFY, "alignment 3 is not a power of two"},
    {"param B f32 (3-4):(1) align 4", SETT_E_VERIFY, "an extent is negative"},
    {"param B f32 (3/0):(1) align 4", SETT_E_VERIFY, "an extent is negative or has no value"},
    {"scalar q i128", SETT_E_VERIFY, "no type that can be passed"},
    {"block 1025", SETT_E_LIMIT, "block: extent 0 is 1025, not 1 to 1024"},
    {"block 512, 4", SETT_E_LIMIT, "block: more than 1024"},
    {"grid 1, 65536", SETT_E_LIMIT, "grid: extent 1 is 65536"},
    {"cluster 4, 8", SETT_E_LIMIT, "cluster: more than 16"},
    /* the parser's own */
    {"%9 = frob i32 %0", SETT_E_PARSE, "line 15, column 6: there is no op frob\n  %9 = frob i32 %0\n       ^"},
    {"%9 = ad i32 %0, %0", SETT_E_PARSE, "there is no op ad; did you mean add?"},
    {"%9 = ad.f32 %2, %2", SETT_E_PARSE, "there is no op ad.f32; did you mean add?"},
    {"%9 = mul.f32 %2, %2", SETT_E_PARSE, "there is no op mul.f32; did you mean mul?"},
    {"%9 = frob.f32 %2, %2", SETT_E_PARSE, "there is no op frob.f32\n"},
    {"%9 = mbarier.try_wait i1 %0", SETT_E_PARSE, "there is no op mbarier.try_wait; did you mean mbarrier.try_wait?"},
    {"%9 = reduce.mx f32 %7, %2", SETT_E_PARSE, "there is no op reduce.mx; did you mean reduce.max?"},
    {"%9 = shfl.bly f32 %2, %0", SETT_E_PARSE, "there is no op shfl.bly; did you mean shfl.bfly?"},
    {"%9 = tid.wave i32", SETT_E_PARSE, "there is no op tid.wave\n"},
    {"%9 = neg i32 %99", SETT_E_PARSE,
        "line 15, column 14: %99 is not made above\n  %9 = neg i32 %99\n               ^"},
    {"%0 = tid.x i32", SETT_E_PARSE, "%0 is made twice"},
    {"%9999999 = tid.x i32", SETT_E_PARSE, "at most the text's length"},
    {"%9 = neg j32 %0", SETT_E_PARSE, "expected a type"},
    {"neg i32 %0", SETT_E_PARSE, "neg has a result"},
    {"%9 = barrier", SETT_E_PARSE, "barrier has no result"},
    {"%9 = const i8 256", SETT_E_PARSE, "does not fit"},
    {"%9 = const i8 -129", SETT_E_PARSE, "does not fit"},
    {"%9 = const f32 0x100000000", SETT_E_PARSE, "does not fit"},
    {"%9 = const f32 1234567890123456789.5", SETT_E_PARSE, "too many digits"},
    {"%9 = const f32 1.2.3", SETT_E_PARSE, "two points"},
    {"%9 = sym i32 Q", SETT_E_PARSE, "there is no symbol Q\n"},
    {"sym Rows\n%9 = sym i32 Row", SETT_E_PARSE, "there is no symbol Row; did you mean Rows?"},
    {"%9 = neg i32 %0 extra", SETT_E_PARSE, "the line should end here"},
    {"printf \"x", SETT_E_PARSE, "does not end on its line"},
    {"printf \"\\q\"", SETT_E_PARSE, "no such escape"},
    {"%9 = pick f32x2 %7 [0..2]", SETT_E_PARSE, "3 indices for 2 elements"},
    {"store %4[0] f32x2 %7 align 4", SETT_E_PARSE, "not of this type"},
    {"%9 = load f32 %1[0] align 3", SETT_E_PARSE, "power of two"},
    {"%9 = load f32 %1[0] align4", SETT_E_PARSE, "expected align"},
    {"%9 = load f32 %1[0] align 4volatile", SETT_E_PARSE, "a number ends before a letter: a blank is missing"},
    {"param B f32 (N):(1) align 4read", SETT_E_PARSE, "a number ends before a letter"},
    {"%9 = load f32 %1[0] align 4 volatile pred %3", SETT_E_PARSE, "it is given twice, or out of order: the order is align, pred, fill, cache, volatile"},
    {"%9 = load f32 %1[0] align 4 fill %2 pred %3", SETT_E_PARSE, "the order is align, pred, fill"},
    {"cp.async %5[0] %1[0] of=4 bytes=4", SETT_E_PARSE, "the order is pred, keep, bytes, of, cg"},
    {"param B f32 (N,2):(1) align 4", SETT_E_PARSE, "do not have the extents' profile"},
    {"param B f32 (N,2):((1,2)) align 4", SETT_E_PARSE, "do not have the extents' profile"},
    {"smem 4 align 4", SETT_E_PARSE, "given twice"},
    {"grid 1\ngrid 2", SETT_E_PARSE, "given twice"},
    {"grid Q", SETT_E_PARSE, "there is no symbol or scalar Q"},
    {"grid 1, 2, 3, 4", SETT_E_PARSE, "more than three extents"},
    {"grid 99999999999999999999", SETT_E_PARSE, "a number above"},
};

START_TEST(refusals_say_why)
{
    sett__tape t;
    sett_error err = {SETT_OK, ""};
    char text[1024];
    snprintf(text, sizeof text, "%s%s\n", HEAD, refusals[_i].body);
    sett_status status = sett__tape_parse(&t, text, &err);
    ck_assert_msg(strstr(err.text, refusals[_i].text), "`%s` gives: %s", refusals[_i].body, err.text);
    ck_assert_str_eq(sett_status_name(status), sett_status_name(refusals[_i].status));
    ck_assert_int_eq(err.status, status);
    ck_assert(!t.n_op && !t.arena.head);
}
END_TEST

/* What text cannot say. */
START_TEST(refusals_in_memory)
{
    for (int k = 0; k < 12; k++) {
        sett__tape t = parsed(HEAD "%9 = neg i32 %0\nbarrier\n%11 = pick f32x2 %7 [0,1]\nif %3 {\n}");
        sett_error err = {SETT_OK, ""};
        switch (k) {
        case 0: t.arg[t.op[9].args] = SETT__NONE; break;
        case 1: t.arg[t.op[9].args] = 9; break;
        case 2: t.op[9].args = t.n_arg; break;
        case 3: t.op[9].code = SETT__N_CODES; break;
        case 4: t.op[9].sub = 1; break;
        case 5: t.op[9].n_args = 2; break;
        case 6: t.op[9].dtype = 77; break;
        case 7: t.op[10].dtype = SETT_I32; break;
        case 8: t.op[11].imm = 5; break;
        case 9: t.op[9].depth = 1; break;
        case 10: t.op[13].other = 3; break;
        case 11: t.op[2].imm = (int64_t)1 << 40; break;
        }
        ck_assert_msg(sett__tape_verify(&t, NULL, &err) != SETT_OK, "case %d passes", k);
        ck_assert(strstr(err.text, "op "));
        sett__tape_free(&t);
    }
}
END_TEST

START_TEST(targets)
{
    sett__tape t = parsed(HEAD "%9 = tanh.approx f32 %2 @ a.c:9 f");
    sett_error err;
    ck_assert_int_eq(t.min_sm, 75);
    ck_assert_int_eq(t.min_ptx, 70);
    ck_assert_int_eq(sett__tape_verify(&t, "sm_75", &err), SETT_OK);
    ck_assert_int_eq(sett__tape_verify(&t, "sm_70", &err), SETT_E_TARGET);
    ck_assert_str_eq(err.text, "a.c:9: sett_tanh_approx needs sm_75, the target is sm_70");
    ck_assert_int_eq(sett__tape_verify(&t, "gfx90a", &err), SETT_E_TARGET);
    t.sig.smem_align = 24;
    ck_assert_int_eq(sett__tape_verify(&t, NULL, &err), SETT_E_LIMIT);
    ck_assert_str_eq(err.text, "1024 bytes of shared memory aligned to 24: not possible on any device");
    t.sig.smem_align = 16;
    t.sig.smem = 100 * 1024;
    ck_assert_int_eq(sett__tape_verify(&t, "sm_80", &err), SETT_OK);
    ck_assert_int_eq(sett__tape_verify(&t, "sm_89", &err), SETT_E_LIMIT);
    ck_assert_str_eq(err.text, "102400 bytes of shared memory, and sm_89 gives a block at most 101376: 256 at line 10");
    sett__tape_free(&t);
    t = parsed("sett tape 2\ngrid 2\ncluster 2\n");
    ck_assert_int_eq(sett__tape_verify(&t, "sm_90a", &err), SETT_OK);
    ck_assert_int_eq(sett__tape_verify(&t, "sm_89", &err), SETT_E_TARGET);
    sett__tape_free(&t);
}
END_TEST

/* A message may have to show an op that no tape may hold. */
START_TEST(constants_of_no_type)
{
    static const uint8_t types[] = {0, SETT_I128, SETT_U128, SETT_F4E2M1FN, 200};
    static const char *const texts[] = {"const 0x5", "0x00000000000000000000000000000005", "0x00000000000000000000000000000005",
        "0x5", "const ? 0x5"};
    for (size_t i = 0; i < SETT__COUNT(types); i++) {
        sett__op op = {.code = SETT__CONST, .dtype = types[i], .n = 1, .imm = 5};
        const sett__tape t = {.n_op = 1, .op = &op};
        char text[120];
        sett__op_str(&t, 0, text, sizeof text);
        ck_assert_msg(strstr(text, texts[i]) != NULL, "%s", text);
    }
}
END_TEST

START_TEST(target_names)
{
    static const struct {
        const char *name;
        bool ok;
        int sm;
        char suffix;
    } rows[] = {{"sm_90a", true, 90, 'a'}, {"sm_80", true, 80, 0}, {"sm_100f", true, 100, 'f'},
        {"sm_121a", true, 121, 'a'}, {"sm_80a", false, 0, 0}, {"sm_90f", false, 0, 0}, {"sm_91", false, 0, 0},
        {"sm_", false, 0, 0}, {"sm_90ab", false, 0, 0}, {"sm_9999", false, 0, 0}, {"sm_080", false, 0, 0}, {"sm_090a", false, 0, 0}, {"90", false, 0, 0},
        {"", false, 0, 0}};
    for (size_t i = 0; i < SETT__COUNT(rows); i++) {
        int sm = -1;
        char suffix = '?';
        ck_assert_int_eq(sett__target_parse(rows[i].name, &sm, &suffix), rows[i].ok);
        if (rows[i].ok)
            ck_assert(sm == rows[i].sm && suffix == rows[i].suffix);
    }
    ck_assert(!sett__target_parse(NULL, &(int){0}, &(char){0}));
    ck_assert_int_eq(sett__target_isa("sm_90", 60), 78);
    ck_assert_int_eq(sett__target_isa("sm_90a", 60), 80);
    ck_assert_int_eq(sett__target_isa("sm_100f", 0), 88);
    ck_assert_int_eq(sett__target_isa("sm_80", 86), 86); /* what the ops need */
    ck_assert_int_eq(sett__target_isa("sm_101", 86), 0); /* no code is made for it */
    ck_assert_int_eq(sett__target_isa("cpu", 86), 0);
    ck_assert_uint_eq(sett__target_smem(90), 232448);
}
END_TEST

START_TEST(regions_are_linked)
{
    sett__tape t = parsed(HEAD "if %3 {\nbarrier\n} else {\nfor %12 = %0 to %0 step %0 {\n}\n}\nif %3 {\n}");
    ck_assert_uint_eq(t.op[9].other, 11);  /* if: its else */
    ck_assert_uint_eq(t.op[11].other, 14); /* else: its end */
    ck_assert_uint_eq(t.op[14].other, 11); /* end: what it ends */
    ck_assert_uint_eq(t.op[12].other, 13);
    ck_assert_uint_eq(t.op[13].other, 12);
    ck_assert_uint_eq(t.op[15].other, 16);
    ck_assert(t.op[9].depth == 0 && t.op[10].depth == 1 && t.op[11].depth == 0 && t.op[12].depth == 1);
    sett__tape_free(&t);
}
END_TEST

/* What no text can say must not be in bytes: found by fuzzing. */
START_TEST(scalars_before_layouts)
{
    sett__tape t = parsed("sett tape 2\nscalar k i32\nparam A f32 (8):(k) align 4");
    sett_error err;
    ck_assert_int_eq(sett__tape_verify(&t, NULL, &err), SETT_OK);
    sett__param k = t.sig.param[0];
    t.sig.param[0] = t.sig.param[1], t.sig.param[1] = k;
    for (uint32_t i = 0; i < t.sig.n_code; i++)
        t.sig.code[i].imm += t.sig.code[i].code == SETT__X_SCALAR;
    ck_assert_int_eq(sett__tape_verify(&t, NULL, &err), SETT_E_VERIFY);
    ck_assert_str_eq(err.text, "parameter A: its layout names k, which comes after it");
    sett__tape_free(&t);
}
END_TEST

/* That a kernel begins early is said of its ops in the signature, which alone travels with its code. */
START_TEST(early_signature)
{
    static const char *const text[] = {"sett tape 2\n%0 = const i32 1 @ a.c:1 f", "sett tape 2\ngriddepcontrol.wait @ a.c:1 f",
        "sett tape 2\ngriddepcontrol.launch_dependents @ a.c:1 f"};
    for (int i = 0; i < 3; i++) {
        sett__tape t = parsed(text[i]), u;
        sett_error err;
        sett__arena arena = {.mem = NULL};
        sett__sig s;
        void *bytes;
        size_t n;
        ck_assert_int_eq(t.sig.early, i == 1);
        ck_assert(!sett__sig_write(&t.sig, NULL, &bytes, &n, NULL) && !sett__sig_read(&s, &arena, bytes, n, NULL));
        ck_assert_int_eq(s.early, i == 1);
        free(bytes);
        for (int lie = 0; lie < 2; lie++) {
            t.sig.early ^= lie;
            ck_assert(!sett__tape_write(&t, true, NULL, &bytes, &n, NULL));
            ck_assert_int_eq(sett__tape_read(&u, bytes, n, &err), lie ? SETT_E_PARSE : SETT_OK);
            if (lie)
                ck_assert_str_eq(err.text, i == 1 ? "the tape says that it has no griddepcontrol.wait" : "the tape says that it has griddepcontrol.wait");
            else
                sett__tape_free(&u);
            free(bytes);
        }
        sett__arena_free(&arena);
        sett__tape_free(&t);
    }
}
END_TEST

START_TEST(signature_travels_alone)
{
    sett__tape t = parsed(good);
    void *bytes, *again;
    size_t n, m;
    ck_assert_int_eq(sett__sig_write(&t.sig, NULL, &bytes, &n, NULL), SETT_OK);
    sett__sig s;
    sett__arena arena = {.mem = NULL};
    ck_assert_int_eq(sett__sig_read(&s, &arena, bytes, n, NULL), SETT_OK);
    ck_assert_int_eq(sett__sig_write(&s, NULL, &again, &m, NULL), SETT_OK);
    ck_assert(n == m && !memcmp(bytes, again, n));
    ck_assert_str_eq(s.param[0].name, "A");
    ck_assert_uint_eq(s.smem, 4096);
    for (size_t i = 0; i < n; i++)
        ck_assert(sett__sig_read(&s, &arena, bytes, i, NULL) != SETT_OK);
    free(bytes), free(again);
    sett__arena_free(&arena);
    sett__tape_free(&t);
}
END_TEST

/* Runs of indices and long operand lists. */
START_TEST(wide_values)
{
    char *text = malloc(1 << 20), *at = text;
    at += sprintf(at, "sett tape 2\n\n%%0 = const i32 0\n%%1 = pack i32x300 %%0");
    for (int i = 1; i < 300; i++)
        at += sprintf(at, ", %%0");
    sprintf(at, "\n%%2 = pick i32x303 %%1 [0..299,7,7,8]\n%%3 = const f64 -0.0\n%%4 = const f64 0x0000000000000001"
                " ; 4.94065646e-324\n%%5 = const u64 18446744073709551615\n%%6 = const i64 -9223372036854775808\n"
                "%%7 = const bf16 0x7fff ; nan\n%%8 = const f32 -1024.0009765625\n");
    sett__tape t = parsed(text), u;
    char *back = printed(&t, false);
    ck_assert_str_eq(back, text);
    ck_assert_uint_eq((uint64_t)t.op[3].imm, UINT64_C(1) << 63);
    size_t n;
    unsigned char *bytes = written(&t, false, &n);
    ck_assert_int_eq(sett__tape_read(&u, bytes, n, NULL), SETT_OK);
    ck_assert_uint_eq(u.index[302], 8);
    free(back), free(bytes), free(text);
    sett__tape_free(&t), sett__tape_free(&u);
}
END_TEST

/* What verifies at a limit is written, printed and read as any other: copies from as far as imm can say, a window of
 * elements of 4 bits, a name of as many characters as there may be, each of which is printed as four. */
START_TEST(limits_come_back)
{
    char *text = malloc(8 * SETT__MAX_STRING), *at = text;
    at += sprintf(at, "sett tape 2\nsym N\nparam A f16 (N):(1) align 16 read wide\nscalar \"");
    for (int i = 0; i < SETT__MAX_STRING; i++)
        at += sprintf(at, "\\x01");
    sprintf(at, "\" f32\nsmem 1048576 align 16\n\n%%0 = tid.x i32\n%%1 = param f16 A\n%%2 = smem f4E2M1FNx2097152 at 0\n"
                "cp.async %%2[%%0 + 2147483647] %%1[%%0 + 140737488355327] bytes=4 of=2\n"
                "cp.async %%2[%%0 - 2147483648] %%1[%%0 - 140737488355328] bytes=4 of=2\n");
    sett__tape t = parsed(text), u;
    char *back = printed(&t, false);
    ck_assert_str_eq(back, text);
    size_t n;
    unsigned char *bytes = written(&t, false, &n);
    ck_assert_int_eq(sett__tape_read(&u, bytes, n, NULL), SETT_OK);
    ck_assert_int_eq(sett__attr(u.arg, &u.op[3], SETT__AT_CPASYNC_TO), INT32_MAX);
    ck_assert_int_eq(u.op[4].imm, -(INT64_C(1) << 47));
    free(back), free(bytes), free(text);
    sett__tape_free(&t), sett__tape_free(&u);
}
END_TEST

/* What neither bytes nor text could say is no tape. */
START_TEST(beyond_limits)
{
    sett_error err;
    sett__tape t = parsed("sett tape 2\n\n%0 = rmem f32x4\n%1 = load f32 %0[0] align 4 @ a.c:9 f\n");
    t.op[1].sub += 64;
    ck_assert_int_eq(sett__tape_verify(&t, NULL, &err), SETT_E_ALIGN);
    ck_assert_msg(strstr(err.text, "an alignment is at most 128 bytes") != NULL, "%s", err.text);
    t.op[1].sub -= 64;
    ck_assert_int_eq(sett__tape_verify(&t, NULL, &err), SETT_OK);
    char *file = calloc(SETT__MAX_STRING + 2, 1);
    memset(file, 'a', SETT__MAX_STRING + 1);
    t.string[0] = file;
    ck_assert_int_eq(sett__tape_verify(&t, NULL, &err), SETT_E_LIMIT);
    ck_assert_str_eq(err.text, "a text of the tape has more than 65535 characters");
    file[SETT__MAX_STRING] = 0;
    ck_assert_int_eq(sett__tape_verify(&t, NULL, &err), SETT_OK);
    sett__tape_free(&t);
    free(file);
}
END_TEST

/* ---- memory ------------------------------------------------------------------------------------------- */
struct budget {
    int left, live;
};

static void *take(void *user, size_t bytes)
{
    struct budget *b = user;
    if (b->left-- <= 0)
        return NULL;
    b->live++;
    return malloc(bytes);
}

static void give(void *user, void *p)
{
    ((struct budget *)user)->live--;
    free(p);
}

static sett_status all_ways(const sett__allocator *mem, sett_error *err)
{
    sett__tape t, u = {.n_op = 0};
    void *bytes = NULL;
    char *text = NULL;
    size_t n;
    sett_status status = sett__tape_parse_in(&t, mem, good, err);
    if (!status)
        status = sett__tape_print(&t, true, mem, &text, err);
    if (!status)
        status = sett__tape_write(&t, true, mem, &bytes, &n, err);
    if (!status)
        status = sett__tape_read_in(&u, mem, bytes, n, err);
    sett__mem_free(mem, bytes);
    sett__mem_free(mem, text);
    sett__tape_free(&t);
    sett__tape_free(&u);
    return status;
}

START_TEST(memory_runs_out_at_every_point)
{
    sett_status status = SETT_E_MEMORY;
    int n = 0;
    for (; status; n++) {
        struct budget b = {n, 0};
        sett__allocator mem = {take, give, &b};
        sett_error err = {SETT_OK, ""};
        status = all_ways(&mem, &err);
        ck_assert_int_eq(b.live, 0);
        ck_assert_msg(!status || status == SETT_E_MEMORY, "%s", err.text);
        ck_assert(!status || strstr(err.text, "out of memory"));
    }
    ck_assert_int_gt(n, 20);
}
END_TEST

START_TEST(arena_gives_zeroed_aligned_memory)
{
    struct budget b = {1000, 0};
    sett__allocator mem = {take, give, &b};
    sett__arena a = {.mem = &mem};
    for (size_t n = 0; n < 3000; n += 37) {
        unsigned char *p = sett__arena_alloc(&a, n * (n % 5 ? 1 : 40));
        ck_assert(p && (uintptr_t)p % 16 == 0);
        for (size_t i = 0; i < n; i++)
            ck_assert(!p[i]);
        memset(p, 0xff, n);
    }
    ck_assert_ptr_null(sett__arena_alloc(&a, SIZE_MAX - 8));
    ck_assert_str_eq(sett__arena_str(&a, "text"), "text");
    ck_assert_int_lt(b.live, 60);
    sett__arena_free(&a);
    ck_assert_int_eq(b.live, 0);
    void *data = NULL;
    uint32_t cap = 0;
    ck_assert(sett__grow(&mem, &data, &cap, 3, 8) && cap >= 3);
    memset(data, 5, 24);
    ck_assert(sett__grow(&mem, &data, &cap, 1000, 8) && cap >= 1000 && ((char *)data)[23] == 5);
    ck_assert(!sett__grow(&mem, &data, &cap, UINT32_MAX, SIZE_MAX / 4) && cap >= 1000);
    sett__mem_free(&mem, data);
    ck_assert_int_eq(b.live, 0);
}
END_TEST

Suite *tape_suite(void)
{
    Suite *s = suite_create("tape");
    TCase *t = tcase_create("tape");
    tcase_add_test(t, text_comes_back);
    tcase_add_test(t, bytes_come_back);
    tcase_add_test(t, equal_tapes_give_equal_bytes);
    tcase_add_loop_test(t, every_byte_may_be_damaged, 0, 2);
    tcase_add_test(t, hostile_bytes);
    tcase_add_test(t, damaged_text);
    tcase_add_loop_test(t, refusals_say_why, 0, (int)SETT__COUNT(refusals));
    tcase_add_test(t, refusals_in_memory);
    tcase_add_test(t, targets);
    tcase_add_test(t, constants_of_no_type);
    tcase_add_test(t, target_names);
    tcase_add_test(t, regions_are_linked);
    tcase_add_test(t, signature_travels_alone);
    tcase_add_test(t, early_signature);
    tcase_add_test(t, scalars_before_layouts);
    tcase_add_test(t, wide_values);
    tcase_add_test(t, limits_come_back);
    tcase_add_test(t, beyond_limits);
    tcase_add_test(t, memory_runs_out_at_every_point);
    tcase_add_test(t, arena_gives_zeroed_aligned_memory);
    suite_add_tcase(s, t);
    return s;
}
