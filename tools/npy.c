/* SPDX-License-Identifier: Apache-2.0 */
/* NumPy's .npy files, versions 1 to 3: magic, a Python dict as text, raw elements. */
#include "tools.h"
#include <stdlib.h>
#include <string.h>

static const struct type {
    const char *descr, *name;
    sett_dtype dtype;
} types[] = {
    {"|b1", "bool", SETT_BOOL}, {"|i1", "int8", SETT_I8}, {"<i2", "int16", SETT_I16}, {"<i4", "int32", SETT_I32},
    {"<i8", "int64", SETT_I64}, {"|u1", "uint8", SETT_U8}, {"<u2", "uint16", SETT_U16}, {"<u4", "uint32", SETT_U32},
    {"<u8", "uint64", SETT_U64}, {"<f2", "float16", SETT_F16}, {"<f4", "float32", SETT_F32}, {"<f8", "float64", SETT_F64},
    {"<V2", "bfloat16", SETT_BF16}, /* as ml_dtypes writes it */
};

sett_dtype dtype_of_name(const char *s)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(s, types[i].descr) || !strcmp(s, types[i].name) || !strcmp(s, sett_dtype_name(types[i].dtype)))
            return types[i].dtype;
    if (!strcmp(s, "bf16"))
        return SETT_BF16;
    return strcmp(s, "|V2") ? (sett_dtype)0 : SETT_BF16;
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
    return true;
}

int npy_read(const char *path, npy *a)
{
    size_t len, head;
    *a = (npy){0};
    char *file = file_read(path, &len);
    if (!file)
        return EXIT_FAILED;
    const unsigned char *u = (const unsigned char *)file;
    const char *why = NULL;
    if (len < 12 || memcmp(file, "\x93NUMPY", 6) || u[6] < 1 || u[6] > 3)
        why = "not a .npy file";
    size_t start = u[6] == 1 ? 10 : 12;
    head = why ? 0 : u[6] == 1 ? u[8] | (size_t)u[9] << 8 : u[8] | (size_t)u[9] << 8 | (size_t)u[10] << 16 | (size_t)u[11] << 24;
    if (!why && head > len - start)
        why = "its header is cut";
    char *dict = why ? NULL : strndup(file + start, head);
    if (dict)
        why = parse_header(dict, a);
    else if (!why)
        why = "out of memory";
    free(dict);
    if (!why && (!size_of(a) || a->bytes != len - start - head))
        why = "its size is not what its shape says";
    if (!why && !(a->data = malloc(a->bytes + 1)))
        why = "out of memory";
    if (a->data)
        memcpy(a->data, file + start + head, a->bytes);
    free(file);
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
