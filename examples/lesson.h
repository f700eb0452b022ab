/* SPDX-License-Identifier: Apache-2.0 */
/* What the tutorials (layout_algebra.c, tensors.c ...) share: each line shows an expression, what it is, and checks it
 * against what CuTe DSL's notebooks and its own answers give. KNOWN looks at what is known while a kernel is built;
 * KEEP has the kernel store a value, which lesson_end fetches from the device, prints and compares. */
#ifndef EXAMPLES_LESSON_H
#define EXAMPLES_LESSON_H
#include "common.h"

/* Rows are printed in the order of the program, by lesson_end. */
enum { LESSON_ROWS = 96, LESSON_VALUES = 1024 };
static struct lesson {
    sett_tensor *out; /* Float32; only while the body records */
    int rows, values;
    struct lesson_row {
        const char *what;
        char text[96];
        int first, n;
        float want[64];
    } row[LESSON_ROWS];
} lesson;

static inline struct lesson_row *lesson_row(const char *what)
{
    if (lesson.rows == LESSON_ROWS) {
        fprintf(stderr, "%s: too many rows\n", what);
        exit(1);
    }
    struct lesson_row *r = &lesson.row[lesson.rows++];
    *r = (struct lesson_row){.what = what, .first = lesson.values};
    return r;
}
#define TITLE(text) ((void)lesson_row("-- " text))

/* The text of x, as sett_text gives it and as CuTe DSL prints it. */
#define KNOWN(b, x, text) lesson_known(#x, sett_text(b, x), text)
static inline void lesson_known(const char *what, const char *got, const char *want)
{
    struct lesson_row *r = lesson_row(what);
    snprintf(r->text, sizeof r->text, "%s", got);
    if (!strcmp(got, want))
        return;
    fprintf(stderr, "%s is %s, should be %s\n", what, got, want);
    exit(1);
}

/* The first line of a body: one thread, and where it keeps what the host is to see. */
static inline void lesson_begin(sett_build *b)
{
    lesson.out = sett_param(b, "out", SETT_F32, sett_make_layout(b, SETT_T1(LESSON_VALUES)));
    sett_grid(b, 1);
    sett_block(b, 1);
}

/* Stores x, a value of any shape and type, as Float32; what follows is what its elements should be, the first mode
 * fastest. */
#define KEEP(b, x, ...) \
    lesson_keep(b, #x, x, sizeof(float[]){__VA_ARGS__} / sizeof(float), (const float[]){__VA_ARGS__})
static inline void lesson_keep(sett_build *b, const char *what, const sett_val *x, size_t n, const float *want)
{
    struct lesson_row *r = lesson_row(what);
    bool fits = n <= sizeof r->want / sizeof *want && lesson.values + (int)n <= LESSON_VALUES;
    if (!fits || (!sett_build_status(b, NULL) && sett_static(b, sett_size(x)) != (int64_t)n)) {
        fprintf(stderr, "%s: %zu values are too many, or not those of its shape\n", what, n);
        exit(1);
    }
    memcpy(r->want, want, n * sizeof *want);
    lesson.values += r->n = (int)n;
    sett_tensor *slot = sett_composition(sett_domain_offset(lesson.out, r->first), sett_make_layout(b, SETT_T1(r->n)));
    sett_store(slot, sett_reshape(sett_to(x, SETT_F32), SETT_T1(r->n)));
}

static inline sett_kernel *lesson_compile(run *r, const char *name, sett_body body, matrix *out)
{
    sett_kernel *k;
    sett_compile_options opt = {.size = sizeof opt, .name = name};
    check(r, sett_compile(r->e, body, &opt, &k, &r->err));
    *out = matrix_random(r, SETT_F32, 1, LESSON_VALUES);
    out->buf = sett_buf_1d(out->buf.data, SETT_F32, LESSON_VALUES);
    return k;
}

static inline void lesson_end(run *r, sett_kernel *k, matrix *out)
{
    matrix_fetch(r, out);
    for (const struct lesson_row *row = lesson.row; row < lesson.row + lesson.rows; row++) {
        printf(row->n || *row->text ? "%-64s %s" : "%s%s", row->what, row->text);
        for (int i = 0; i < row->n; i++)
            printf("%s%g", i ? " " : "", get(SETT_F32, out->host, (size_t)(row->first + i)));
        puts("");
        for (int i = 0; i < row->n; i++)
            expect(row->what, (size_t)i, get(SETT_F32, out->host, (size_t)(row->first + i)), row->want[i], 1e-6);
    }
    sett_kernel_release(k);
    matrix_free(r, out);
    run_close(r);
}

/* A row-major tensor 0, 1, 2, ... in the device's memory, as NumPy's arange(n).reshape(shape). */
static inline matrix arange(run *r, int rank, const int64_t *shape)
{
    int64_t n = 1;
    for (int i = 0; i < rank; i++)
        n *= shape[i];
    matrix m = matrix_random(r, SETT_F32, 1, n);
    for (size_t i = 0; i < (size_t)n; i++)
        put(SETT_F32, m.host, i, (double)i);
    check(r, sett_memcpy(r->e, r->stream, m.buf.data, m.host, m.bytes));
    m.buf = sett_buf_nd(m.buf.data, SETT_F32, rank, shape);
    return m;
}
#endif
