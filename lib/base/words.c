/* SPDX-License-Identifier: Apache-2.0 */
/* How far a word is from another, and the nearest of those known; element types by all of their names. */
#include "words.h"
#include <stdio.h>
#include <string.h>

static int least(int a, int b)
{
    return a < b ? a : b;
}

/* Letters inserted, left out, changed, or two neighbours exchanged (optimal string alignment). */
static int edits(const char *a, int n, const char *b, int m)
{
    int d[SETT__WORD_MOST + 1][SETT__WORD_MOST + 1];
    for (int i = 0; i <= n; i++)
        for (int j = 0; j <= m; j++) {
            if (!i || !j) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = least(least(d[i - 1][j], d[i][j - 1]) + 1, d[i - 1][j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = least(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d[n][m];
}

sett__guess sett__guess_of(const char *word, size_t len)
{
    return (sett__guess){.word = word, .len = len};
}

void sett__guess_add(sett__guess *g, const char *known)
{
    size_t n = known ? strlen(known) : 0;
    if (!n || n > SETT__WORD_MOST || !g->len || g->len > SETT__WORD_MOST)
        return;
    int far = edits(g->word, (int)g->len, known, (int)n), most = (int)(n > g->len ? n : g->len) / 3;
    if (far <= (most ? most : 1) && far < (int)n && (!g->best || far < g->far))
        g->best = known, g->far = far;
}

const char *sett__guess_text(sett__guess *g)
{
    g->text[0] = 0;
    if (g->best)
        snprintf(g->text, sizeof g->text, "; did you mean %.*s?", SETT__WORD_MOST, g->best);
    return g->text;
}

sett_dtype sett__dtype_named(const char *text)
{
    static const char *const other[][2] = {{"bool", "i1"}, {"bool_", "i1"}, {"int4", "i4"}, {"int8", "i8"}, {"int16", "i16"}, {"int32", "i32"},
        {"int64", "i64"}, {"uint8", "u8"}, {"uint16", "u16"}, {"uint32", "u32"}, {"uint64", "u64"}, {"half", "f16"}, {"float16", "f16"},
        {"fp16", "f16"}, {"bfloat16", "bf16"}, {"float", "f32"}, {"float32", "f32"}, {"fp32", "f32"}, {"double", "f64"}, {"float64", "f64"},
        {"fp64", "f64"}, {"float8_e4m3fn", "f8E4M3FN"}, {"float8_e5m2", "f8E5M2"}, {"float8_e8m0fnu", "f8E8M0FNU"}, {"float4_e2m1fn", "f4E2M1FN"}};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (!strcmp(text, other[i][0]))
            text = other[i][1];
    for (int d = 1; sett_dtype_bits((sett_dtype)d); d++)
        if (!strcmp(text, sett_dtype_name((sett_dtype)d)))
            return (sett_dtype)d;
    return (sett_dtype)0;
}
