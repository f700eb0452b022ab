/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of few bits: what they may be, and packing them. */
#include "weights.h"
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { ROWS = WEIGHTS_PIECE, USUAL_GROUP = 128, NV_GROUP = 16, MX_GROUP = 32, WORD_NIBBLES = 8 };

/* ---- what they may be ----------------------------------------------------------------------------------- */
static bool is_group(int group)
{
    return group == -1 || group == 16 || group == 32 || (group > 0 && group % WEIGHTS_PIECE == 0);
}

void sett__check_weights(const weights_options *o, choice *c)
{
    const char *b = sett_dtype_name(o->b);
    if (o->dtype != SETT_F16 && o->dtype != SETT_BF16)
        REFUSE(c, ".b is %s: of fewer bits than A, whose .dtype is f16 or bf16 then, and not %s", o->b ? b : "not given", o->dtype ? sett_dtype_name(o->dtype) : "not given");
    if (o->b != SETT_I4 && o->b != SETT_I8 && !sett__is_f8(o->b) && o->b != SETT_F4E2M1FN)
        REFUSE(c, ".b is %s: packed weights are i4, i8, f8E4M3FN, f8E5M2 or f4E2M1FN", o->b ? b : "not given");
    sett__in_range(c, "zeros", o->zeros, 0, 1);
    if (o->zeros && o->b != SETT_I4 && o->b != SETT_I8)
        REFUSE(c, ".zeros is 1: .b is i4 or i8 then, and not %s", b);
    *o->sw = *o->sw ? *o->sw : o->dtype;
    const int of_type = *o->sw == SETT_F8E4M3FN ? NV_GROUP : *o->sw == SETT_F8E8M0FNU ? MX_GROUP : 0;
    if (*o->sw != o->dtype && (!of_type || o->b != SETT_F4E2M1FN))
        REFUSE(c, ".sw is %s: A's type, %s%s", sett_dtype_name(*o->sw), sett_dtype_name(o->dtype), o->b == SETT_F4E2M1FN ? ", f8E4M3FN or f8E8M0FNU" : "");
    if (*o->sw == SETT_F8E8M0FNU && o->dtype != SETT_BF16)
        REFUSE(c, ".sw is f8E8M0FNU: .dtype is bf16 then, as f16 has not its values");
    sett__either(o->group, of_type ? of_type : USUAL_GROUP);
    if (!is_group(*o->group))
        REFUSE(c, ".group is %d: 16, 32, a multiple of 64, or -1 for all of K", *o->group);
    if (of_type && *o->group != of_type)
        REFUSE(c, ".group is %d: of .sw %s it is %d", *o->group, sett_dtype_name(*o->sw), of_type);
}

void sett__no_weights(sett_dtype sw, int group, int zeros, choice *c)
{
    static const char only[] = "packed weights alone have it, whose .b has fewer bits than .dtype";
    if (sw)
        REFUSE(c, ".sw is %s: %s", sett_dtype_name(sw), only);
    if (group || zeros)
        REFUSE(c, ".%s is %d: %s", group ? "group" : "zeros", group ? group : zeros, only);
}

/* ---- packing ---------------------------------------------------------------------------------------------- */
static size_t blocks_of(int64_t n, int64_t each)
{
    return (size_t)((n + each - 1) / each);
}

/* Groups of a row as they are packed: those of whole pieces. */
static size_t packed_groups(const sett_weights *w)
{
    const size_t pieces = blocks_of(w->k, WEIGHTS_PIECE);
    return w->group < 0 ? 1 : w->group < WEIGHTS_PIECE ? pieces * (size_t)(WEIGHTS_PIECE / w->group) : blocks_of((int64_t)pieces, w->group / WEIGHTS_PIECE);
}

static int group_of(const sett_weights *w)
{
    return w->group < 0 ? w->k : w->group;
}

void sett__packed_bufs(const sett_weights *w, int matrices, const void *weights, const void *scales, sett_buf *b, sett_buf *sw)
{
    const int64_t blocks = (int64_t)blocks_of(w->n, ROWS) << w->swiglu, boxes = (int64_t)blocks_of(w->k, WEIGHTS_PIECE) * sett_dtype_bits(w->b) / WEIGHTS_BOX_BITS;
    const int64_t rows = ROWS * (1 + w->zeros), groups = (int64_t)packed_groups(w);
    const int rank = 3 + (matrices > 0);
    *b = (sett_buf){.data = (void *)(uintptr_t)weights, .dtype = SETT_U64, .rank = rank, .shape = {WEIGHTS_WORDS, boxes, blocks, matrices}, .stride = {1, WEIGHTS_WORDS, WEIGHTS_WORDS * boxes, WEIGHTS_WORDS * boxes * blocks}};
    *sw = (sett_buf){.data = (void *)(uintptr_t)scales, .dtype = w->sw, .rank = rank, .shape = {rows, groups, blocks, matrices}, .stride = {1, rows, rows * groups, rows * groups * blocks}};
}

static sett_status say(sett_error *err, const char *function, const char *why)
{
    if (err) {
        err->status = SETT_E_ARGUMENT;
        snprintf(err->text, sizeof err->text, "%s: %s", function, why);
    }
    return SETT_E_ARGUMENT;
}

/* What is stored in whole words of eight has as many. */
static void check_order(const sett_weights *w, choice *c)
{
    const bool words = w->order != SETT_WEIGHTS_ROWS;
    if ((int)w->order < 0 || w->order > SETT_WEIGHTS_AWQ)
        REFUSE(c, ".order is %d: SETT_WEIGHTS_ROWS, GPTQ, GPTQ_V2 or AWQ", (int)w->order);
    if (words && w->b != SETT_I4)
        REFUSE(c, ".order is %s: .b is i4 then, and not %s", w->order == SETT_WEIGHTS_AWQ ? "AWQ" : "GPTQ", sett_dtype_name(w->b));
    if (words && w->order != SETT_WEIGHTS_AWQ && w->k % WORD_NIBBLES)
        REFUSE(c, ".k is %d: of GPTQ a multiple of 8", w->k);
    if (words && (w->order == SETT_WEIGHTS_AWQ || w->zeros) && w->n % WORD_NIBBLES)
        REFUSE(c, ".n is %d: of %s a multiple of 8", w->n, w->order == SETT_WEIGHTS_AWQ ? "AWQ" : "GPTQ with .zeros");
    if (!words && w->k * (int64_t)sett_dtype_bits(w->b) % CHAR_BIT)
        REFUSE(c, ".k is %d: a row of %s is of whole bytes", w->k, sett_dtype_name(w->b));
}

/* A copy of the caller's, settled. */
static sett_status take(const char *function, const sett_weights *given, sett_weights *w, sett_error *err)
{
    choice c = {0};
    char why[80];
    if (!given)
        return say(err, function, "there are no weights");
    snprintf(why, sizeof why, "the weights' .size is %zu: sizeof(sett_weights), %zu", given->size, sizeof *w);
    if (given->size != sizeof *w)
        return say(err, function, why);
    *w = *given;
    sett__check_weights(&(weights_options){w->dtype, w->b, &w->sw, &w->group, w->zeros}, &c);
    sett__in_range(&c, "n", w->n, 1, INT_MAX / 2 - 1024);
    sett__in_range(&c, "k", w->k, 1, INT_MAX - 1024);
    sett__in_range(&c, "swiglu", w->swiglu, 0, 1);
    if (!*c.why)
        check_order(w, &c);
    return *c.why ? say(err, function, c.why) : SETT_OK;
}

static void bytes_of(const sett_weights *w, size_t *packed, size_t *scales)
{
    const size_t blocks = blocks_of(w->n, ROWS) << w->swiglu, pieces = blocks_of(w->k, WEIGHTS_PIECE);
    *packed = blocks * pieces * ROWS * WEIGHTS_PIECE * (size_t)sett_dtype_bits(w->b) / CHAR_BIT;
    *scales = blocks * packed_groups(w) * ROWS * (size_t)(1 + w->zeros) * (size_t)sett__bytes_of(w->sw);
}

sett_status sett_product_weights_bytes(const sett_weights *given, size_t *packed, size_t *scales, sett_error *err)
{
    static const char function[] = "sett_product_weights_bytes";
    sett_weights w;
    if (!packed || !scales)
        return say(err, function, "there is no place for the bytes");
    *packed = *scales = 0;
    const sett_status s = take(function, given, &w, err);
    if (!s)
        bytes_of(&w, packed, scales);
    return s;
}

/* Bits 4 i to 4 i + 3 of words of 32 bits, wherever these lie. */
static unsigned nibble(const void *words, size_t word, size_t i)
{
    uint32_t x;
    memcpy(&x, (const char *)words + word * sizeof x, sizeof x);
    return x >> 4 * i & 15;
}

/* The place of column i of eight in AWQ's words. */
static size_t place_in_awq(size_t i)
{
    return i / 2 + i % 2 * 4;
}

/* What is packed of element (row,k) of `rows` rows in all: integers are unsigned. */
typedef unsigned (*code_of)(const sett_weights *, const void *weights, size_t rows, size_t row, size_t k);

static unsigned middle_of(const sett_weights *w)
{
    return w->zeros ? 0 : (unsigned)weights_middle(w->b);
}

static unsigned byte_code(const sett_weights *w, const void *weights, size_t rows, size_t row, size_t k)
{
    (void)rows;
    return ((const unsigned char *)weights)[row * (size_t)w->k + k] ^ middle_of(w);
}

static unsigned nibble_code(const sett_weights *w, const void *weights, size_t rows, size_t row, size_t k)
{
    const size_t i = row * (size_t)w->k + k;
    (void)rows;
    return (((const unsigned char *)weights)[i / 2] >> i % 2 * 4 & 15) ^ middle_of(w);
}

static unsigned gptq_code(const sett_weights *w, const void *weights, size_t rows, size_t row, size_t k)
{
    (void)w;
    return nibble(weights, k / WORD_NIBBLES * rows + row, k % WORD_NIBBLES);
}

static unsigned awq_code(const sett_weights *w, const void *weights, size_t rows, size_t row, size_t k)
{
    (void)w;
    return nibble(weights, k * (rows / WORD_NIBBLES) + row / WORD_NIBBLES, place_in_awq(row % WORD_NIBBLES));
}

static code_of reader_of(const sett_weights *w)
{
    if (w->order == SETT_WEIGHTS_ROWS)
        return sett_dtype_bits(w->b) == CHAR_BIT ? byte_code : nibble_code;
    return w->order == SETT_WEIGHTS_AWQ ? awq_code : gptq_code;
}

static unsigned zero_of(const sett_weights *w, const void *zeros, size_t rows, size_t groups, size_t row, size_t group)
{
    const size_t word = group * (rows / WORD_NIBBLES) + row / WORD_NIBBLES;
    switch (w->order) {
    case SETT_WEIGHTS_GPTQ:
        return nibble(zeros, word, row % WORD_NIBBLES) + 1;
    case SETT_WEIGHTS_GPTQ_V2:
        return nibble(zeros, word, row % WORD_NIBBLES);
    case SETT_WEIGHTS_AWQ:
        return nibble(zeros, word, place_in_awq(row % WORD_NIBBLES));
    default:
        return ((const unsigned char *)zeros)[row * groups + group];
    }
}

enum { MOST_ZERO_4 = 16 /* of i4: one more than a nibble, as GPTQ has them */ };

/* Of i8 a byte is always one; words of nibbles are up to 16. */
static sett_status check_zeros(const char *function, const sett_weights *w, const void *zeros, sett_error *err)
{
    const size_t groups = blocks_of(w->k, group_of(w)), rows = (size_t)w->n << w->swiglu;
    char why[120];
    for (size_t i = 0; w->zeros && w->b == SETT_I4 && w->order == SETT_WEIGHTS_ROWS && i < rows * groups; i++) {
        const unsigned zero = zero_of(w, zeros, rows, groups, i / groups, i % groups);
        if (zero <= MOST_ZERO_4)
            continue;
        snprintf(why, sizeof why, "zeros of row %zu, group %zu is %u: from 0 to %d", i / groups, i % groups, zero, MOST_ZERO_4);
        return say(err, function, why);
    }
    return SETT_OK;
}

/* An integer up to 256 as f16 or bf16, which have it exactly. */
static uint16_t small_float(sett_dtype t, unsigned x)
{
    const int fraction = t == SETT_F16 ? 10 : 7, bias = t == SETT_F16 ? 15 : 127;
    int e = 0;
    if (!x)
        return 0;
    while (x >> (e + 1))
        e++;
    const int rest = (int)(x - (1u << e));
    return (uint16_t)((e + bias) << fraction | (e <= fraction ? rest << (fraction - e) : rest >> (e - fraction)));
}

/* Where element (row,k) of a piece goes, in elements; of wgmma's A row 16 warp + lane / 4 + 8 i, column 2 (lane % 4) + j + 8 l of 16 is value
 * j of register i + 2 l. */
static size_t place_in_piece(size_t row, size_t k, int bits)
{
    const size_t step = k / 16, column = k % 16, thread = row / 16 * 32 + row % 8 * 4 + column % 8 / 2, reg = row % 16 / 8 + column / 8 * 2, value = column % 2;
    if (bits == 4)
        return thread * 32 + step * 8 + value * 4 + reg;
    return step / 2 * (128 * 16) + thread * 16 + step % 2 * 8 + reg * 2 + value;
}

static void put_code(unsigned char *to, size_t at, int bits, unsigned code)
{
    if (bits == CHAR_BIT)
        to[at] = (unsigned char)code;
    else
        to[at / 2] |= (unsigned char)(code << at % 2 * 4); /* they are zeros before */
}

/* Piece number `piece` of rows block x 64 on of a half that begins with row `first`; place: of each of its elements. */
static void pack_piece(const sett_weights *w, const void *weights, size_t first, size_t block, size_t piece, const uint16_t *place, unsigned char *to)
{
    const int bits = sett_dtype_bits(w->b);
    const code_of read = reader_of(w);
    const size_t rows = (size_t)w->n << w->swiglu, n = (size_t)w->n - block * ROWS, depth = (size_t)w->k - piece * WEIGHTS_PIECE;
    for (size_t i = 0; i < ROWS && i < n; i++) {
        const size_t row = first + block * ROWS + i;
        for (size_t k = 0; k < WEIGHTS_PIECE && k < depth; k++)
            put_code(to, place[i * WEIGHTS_PIECE + k], bits, read(w, weights, rows, row, piece * WEIGHTS_PIECE + k));
    }
}

/* All weights of one half. */
static void pack_half(const sett_weights *w, const void *weights, size_t first, unsigned char *to)
{
    enum { PIECE = ROWS * WEIGHTS_PIECE };
    const size_t pieces = blocks_of(w->k, WEIGHTS_PIECE), bits = (size_t)sett_dtype_bits(w->b), bytes = PIECE * bits / CHAR_BIT;
    uint16_t place[PIECE];
    for (size_t i = 0; i < PIECE; i++)
        place[i] = (uint16_t)place_in_piece(i / WEIGHTS_PIECE, i % WEIGHTS_PIECE, (int)bits);
    for (size_t i = 0; i < blocks_of(w->n, ROWS) * pieces; i++)
        pack_piece(w, weights, first, i / pieces, i % pieces, place, to + i * bytes);
}

/* Rows 8 apart, which a thread has, stand beside each other; zero points, as A's type, behind the scales of 64 rows. */
static void pack_scales(const sett_weights *w, const void *scales, const void *zeros, size_t first, unsigned char *to)
{
    const size_t groups = blocks_of(w->k, group_of(w)), all = packed_groups(w), rows = (size_t)w->n << w->swiglu, bytes = (size_t)sett__bytes_of(w->sw), each = ROWS * (size_t)(1 + w->zeros);
    for (size_t i = 0; i < (size_t)w->n * groups; i++) {
        const size_t row = i / groups, group = i % groups, from = w->order == SETT_WEIGHTS_ROWS ? (first + row) * groups + group : group * rows + first + row;
        const size_t at = (row / ROWS * all + group) * each + row % ROWS / 16 * 16 + row % 8 * 2 + row % 16 / 8;
        memcpy(to + at * bytes, (const char *)scales + from * bytes, bytes);
        if (w->zeros) {
            const uint16_t zero = small_float(w->dtype, zero_of(w, zeros, rows, groups, first + row, group));
            memcpy(to + (at + ROWS) * bytes, &zero, sizeof zero);
        }
    }
}

sett_status sett_product_pack_weights(const sett_weights *given, const void *weights, const void *scales, const void *zeros, void *packed, void *packed_scales, sett_error *err)
{
    static const char function[] = "sett_product_pack_weights";
    sett_weights w;
    size_t bytes, scales_bytes;
    const sett_status s = take(function, given, &w, err);
    if (s)
        return s;
    if (!weights || !scales || !packed || !packed_scales)
        return say(err, function, !weights ? "weights is NULL" : !scales ? "scales is NULL" : !packed ? "packed is NULL" : "packed_scales is NULL");
    if (!zeros != !w.zeros)
        return say(err, function, zeros ? "zeros is given, and .zeros is 0" : "zeros is NULL, and .zeros is 1");
    if (check_zeros(function, &w, zeros, err))
        return SETT_E_ARGUMENT;
    bytes_of(&w, &bytes, &scales_bytes);
    memset(packed, 0, bytes), memset(packed_scales, 0, scales_bytes);
    for (int half = 0; half <= w.swiglu; half++) {
        pack_half(&w, weights, (size_t)half * (size_t)w.n, (unsigned char *)packed + bytes / 2 * (size_t)half);
        pack_scales(&w, scales, zeros, (size_t)half * (size_t)w.n, (unsigned char *)packed_scales + scales_bytes / 2 * (size_t)half);
    }
    return SETT_OK;
}
