/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files, versions 1 to 3: magic, a Python dict as text, raw elements. */
#include "tools.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_MOST = 1 << 20 };

static const struct type {
    const char *descr;
    sett_dtype dtype;
} types[] = {
    {"|b1", SETT_BOOL}, {"|i1", SETT_I8}, {"<i2", SETT_I16}, {"<i4", SETT_I32}, {"<i8", SETT_I64}, {"|u1", SETT_U8}, {"<u2", SETT_U16},
    {"<u4", SETT_U32}, {"<u8", SETT_U64}, {"<f2", SETT_F16}, {"<f4", SETT_F32}, {"<f8", SETT_F64},
    {"|V2", SETT_BF16}, {"<V2", SETT_BF16}, /* as ml_dtypes writes it: of two the last is written */
};

sett_dtype dtype_of_name(const char *s)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(s, types[i].descr))
            return types[i].dtype;
    return sett__dtype_named(s);
}

/* The text after 'key': in the header dict; NULL if it is not there. */
static const char *value(const char *dict, const char *key)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "'%s':", key);
    const char *p = strstr(dict, quoted);
    if (!p)
        return NULL;
    p += strlen(quoted);
    return p + strspn(p, " ");
}

static const char *parse_header(const char *dict, npy *a)
{
    const char *p = value(dict, "descr");
    char descr[16] = "";
    if (!p || sscanf(p, "'%15[^']'", descr) != 1 || !(a->dtype = dtype_of_name(descr)))
        return "an element type that sett does not have";
    p = value(dict, "fortran_order");
    if (!p)
        return "no fortran_order";
    a->fortran = !strncmp(p, "True", 4);
    if (!(p = value(dict, "shape")) || *p++ != '(')
        return "no shape";
    for (a->rank = 0; *p && *p != ')'; p += strspn(p, ", ")) {
        char *end;
        long long n = strtoll(p, &end, 10);
        if (end == p || n < 0)
            return "a shape that does not parse";
        if (a->rank == 8)
            return "more than 8 modes";
        a->shape[a->rank++] = n;
        p = end;
    }
    return *p == ')' ? NULL : "a shape that does not end";
}

static bool size_of(npy *a)
{
    size_t n = (size_t)(sett_dtype_bits(a->dtype) + 7) / 8;
    for (int i = 0; i < a->rank; i++)
        if (__builtin_mul_overflow(n, (size_t)a->shape[i], &n))
            return false;
    a->bytes = n;
    return n < SIZE_MAX / 2;
}

/* Magic, version and the dict; the file stands at the data behind them. Why not, or NULL. */
static const char *read_head(FILE *f, npy *a)
{
    unsigned char u[12];
    size_t start = 10, n = fread(u, 1, start, f);
    if (ferror(f))
        return strerror(errno);
    if (n < start || memcmp(u, "\x93NUMPY", 6) || u[6] < 1 || u[6] > 3)
        return "not a .npy file";
    size_t len = u[8] | (size_t)u[9] << 8;
    if (u[6] > 1) {
        if (fread(u + start, 1, 2, f) != 2)
            return "its header is cut";
        len |= (size_t)u[10] << 16 | (size_t)u[11] << 24;
    }
    if (len > HEAD_MOST)
        return "its header is longer than 1 MiB";
    char *dict = calloc(1, len + 1);
    const char *why = !dict                             ? "out of memory"
                      : fread(dict, 1, len, f) != len ? "its header is cut"
                                                      : parse_header(dict, a);
    free(dict);
    return why ? why : size_of(a) ? NULL : "its shape has more bytes than there can be";
}

int npy_head(const char *path, npy *a)
{
    *a = (npy){0};
    FILE *f = input_open(path);
    const char *why = f ? read_head(f, a) : NULL;
    if (f)
        input_close(f);
    return !f ? EXIT_FAILED : why ? fail("%s: %s", path, why) : EXIT_OK;
}

/* No more is read than the shape says, and a byte to see that nothing follows. */
int npy_read(const char *path, npy *a)
{
    size_t len = 0;
    *a = (npy){0};
    FILE *f = input_open(path);
    if (!f)
        return EXIT_FAILED;
    char none[80];
    const char *why = read_head(f, a);
    if (!why && !(a->data = stream_read(f, a->bytes, &len, &why))) {
        if (why && !ferror(f))
            snprintf(none, sizeof none, "out of memory for the %zu bytes of its shape", a->bytes), why = none;
        why = why ? why : "there is more in it than its shape says";
    }
    input_close(f);
    if (!why && len < a->bytes)
        why = "there is less in it than its shape says";
    return why ? fail("%s: %s", path, why) : EXIT_OK;
}

int npy_write(const char *path, const npy *a)
{
    char dict[256], shape[200] = "";
    const char *descr = NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].dtype == a->dtype)
            descr = types[i].descr;
    if (!descr)
        return fail("%s: NumPy has no %s", path, sett_dtype_name(a->dtype));
    for (int i = 0, n = 0; i < a->rank; i++)
        n += snprintf(shape + n, sizeof shape - (size_t)n, "%lld,%s", (long long)a->shape[i], i + 1 < a->rank ? " " : "");
    int n = snprintf(dict, sizeof dict, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", descr, shape);
    size_t head = ((size_t)n + 1 + 10 + 63) / 64 * 64 - 10; /* data starts at a multiple of 64 */
    char *file = malloc(10 + head + a->bytes);
    if (!file)
        return fail("%s: out of memory", path);
    memcpy(file, "\x93NUMPY\x01\x00", 8);
    file[8] = (char)(head & 255), file[9] = (char)(head >> 8);
    memset(file + 10, ' ', head);
    memcpy(file + 10, dict, (size_t)n);
    file[10 + head - 1] = '\n';
    memcpy(file + 10 + head, a->data, a->bytes);
    int code = file_write(path, file, 10 + head + a->bytes);
    free(file);
    return code;
}
