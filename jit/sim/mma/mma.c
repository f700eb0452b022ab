/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of a warp, and matrices between shared memory and registers. A matrix is put together from the threads' parts by the
 * layouts of mma.def, multiplied (tensor_core.h), and taken apart again. */
#include "mma.h"

/* ---- where a thread's elements are ------------------------------------------------------------------- */
/* The modes of a layout's text: of threads, and of a thread's elements. */
typedef struct modes {
    uint32_t n[2], extent[2][4], stride[2][4];
} modes;

/* "((4,8),(2,2))" up to `end`. N, the last mode of elements, is left out: who needs them goes on by itself. */
static const char *read_half(const char *s, char end, uint32_t to[2][4], uint32_t n[2])
{
    uint32_t depth = 0, which = 0;
    n[0] = n[1] = 0;
    for (; *s != end; s++) {
        depth += *s == '(' ? 1 : *s == ')' ? UINT32_MAX : 0;
        which += *s == ',' && depth == 1;
        if (*s < '0' || *s > '9')
            continue;
        uint32_t x = (uint32_t)(*s - '0');
        for (; s[1] >= '0' && s[1] <= '9'; s++)
            x = x * 10 + (uint32_t)(s[1] - '0');
        to[which][n[which]++] = x;
    }
    return s + 1;
}

static uint32_t place_at(const modes *m, int which, uint32_t i)
{
    uint32_t at = 0;
    for (uint32_t k = 0; k < m->n[which]; k++) {
        at += i % m->extent[which][k] * m->stride[which][k];
        i /= m->extent[which][k];
    }
    return at;
}

/* Rows of `width` elements: as the places of threads and elements are of digits apart, so are they in rows. */
static sett__fragment fragment_of(const char *layout, uint32_t height, uint32_t width, bool columns)
{
    modes m;
    uint32_t strides[2];
    sett__fragment f = {.n = 1};
    read_half(read_half(layout, ':', m.extent, m.n), 0, m.stride, strides);
    for (uint32_t k = 0; k < m.n[1]; k++)
        f.n *= m.extent[1][k];
    for (uint32_t l = 0; l < WARP; l++) {
        uint32_t at = place_at(&m, 0, l);
        f.lane[l] = (uint16_t)(columns ? at % height + at / height * width : at % height * width + at / height);
    }
    for (uint32_t e = 0; e < f.n; e++) {
        uint32_t at = place_at(&m, 1, e);
        f.element[e] = (uint16_t)(columns ? at % height + at / height * width : at % height * width + at / height);
    }
    return f;
}

static sett__matmul matmul_of(const sett__mma *row, uint32_t op)
{
    sett__matmul x = {.row = row, .op = op};
    x.a = fragment_of(row->layout[0], row->m, row->k, false);
    if (*row->layout[1])
        x.b = fragment_of(row->layout[1], row->n, SETT__COLUMNS, true);
    x.c = fragment_of(row->layout[2], row->m, SETT__COLUMNS, false);
    return x;
}

bool sett__matmul_find(sett__program *p, uint32_t *cap, const uint32_t *arg, const sett__op *o, uint32_t op, uint32_t *at)
{
    *at = 0;
    if (o->code != SETT__MMA && o->code != SETT__WGMMA)
        return true;
    const sett__mma *row = &sett__mmas[sett__attr(arg, o, o->code == SETT__MMA ? SETT__AT_MMA_ROW : SETT__AT_WGMMA_ROW)];
    while (*at < p->n_matmul && p->matmul[*at].row != row)
        ++*at;
    if (*at < p->n_matmul)
        return true;
    if (!sett__grow(NULL, (void **)&p->matmul, cap, p->n_matmul + 1, sizeof *p->matmul))
        return false;
    p->matmul[p->n_matmul++] = matmul_of(row, op);
    return true;
}

bool sett__matmuls_check(const sett__program *p, const sett__sim_launch *l, sett_error *e)
{
    sett__unit u;
    char where[128];
    int sm = sett__modelled_sm(l);
    for (const sett__matmul *x = p->matmul; x < p->matmul + p->n_matmul; x++)
        if (!sett__unit_of(&u, x->row, sm))
            return sett__error(e, SETT_E_TARGET, "%s: %s %s needs %s%s, and the CPU engine models the tensor cores of sm_%d", sett__where(p, x->op, where, sizeof where),
                       sett__ops[p->given->op[x->op].code].text, sett__mma_word[x->row - sett__mmas], x->row->targets[0] == '=' ? "" : "sm_",
                       x->row->targets + (x->row->targets[0] == '='), sm), false;
    return true;
}

/* Between a matrix and the rows of a thread's elements; step: elements from one row to the next. */
#define TAKING(T) \
    static void take_##T(const sett__fragment *f, T *restrict m, const T *restrict rows, uint32_t step) \
    { \
        const sett__fragment at = *f; \
        for (uint32_t e = 0; e < at.n; e++, rows += step) { \
            T *to = m + at.element[e]; \
            for (uint32_t l = 0; l < WARP; l++) \
                to[at.lane[l]] = rows[l]; \
        } \
    }
#define GIVING(T) \
    static void give_##T(const sett__fragment *f, const T *restrict m, T *restrict rows) \
    { \
        const sett__fragment at = *f; \
        for (uint32_t e = 0; e < at.n; e++, rows += WARP) { \
            const T *from = m + at.element[e]; \
            for (uint32_t l = 0; l < WARP; l++) \
                rows[l] = from[at.lane[l]]; \
        } \
    }
TAKING(uint8_t)
TAKING(uint16_t)
TAKING(uint32_t)
TAKING(uint64_t)
GIVING(uint16_t)
GIVING(uint32_t)
GIVING(uint64_t)

void sett__fragment_take(const sett__fragment *f, sett_dtype type, void *matrix, const void *rows, bool splat)
{
    uint32_t step = splat ? 0 : WARP;
    switch (sett__dtype_bytes(type)) {
    case 1:
        take_uint8_t(f, matrix, rows, step);
        break;
    case 2:
        take_uint16_t(f, matrix, rows, step);
        break;
    case 4:
        take_uint32_t(f, matrix, rows, step);
        break;
    default:
        take_uint64_t(f, matrix, rows, step);
        break;
    }
}

void sett__fragment_give(const sett__fragment *f, sett_dtype type, const void *matrix, void *rows)
{
    switch (sett__dtype_bytes(type)) {
    case 2:
        give_uint16_t(f, matrix, rows);
        break;
    case 4:
        give_uint32_t(f, matrix, rows);
        break;
    default:
        give_uint64_t(f, matrix, rows);
        break;
    }
}

/* ---- mma ------------------------------------------------------------------------------------------------ */
sett__unit sett__matmul_unit(const sett__core *c, const sett__matmul *p)
{
    sett__unit u;
    sett__unit_of(&u, p->row, sett__modelled_sm(c->launch));
    u.fast = c->launch->fast_mma;
    return u;
}

static void take_operand(const sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t k, const sett__fragment *f, int type, void *to)
{
    sett__ref r = sett__form_ref(c, i, k);
    sett__fragment_take(f, (sett_dtype)type, to, sett__at(w, r), r & SETT__REF_SPLAT);
}

bool sett__mma_run(sett__core *c, sett__warp *w, const sett__insn *i)
{
    _Alignas(64) uint64_t a[256], b[128], d[128]; /* f64 of 16 x 16, 16 x 8, 16 x 8 */
    sett__left left;
    const sett__matmul *p = &c->program->matmul[i->form.matmul];
    const sett__unit u = sett__matmul_unit(c, p);
    if (!sett__full_warp(c, w, i))
        return false;
    take_operand(c, w, i, 0, &p->a, u.a, a);
    take_operand(c, w, i, 1, &p->b, u.b, b);
    take_operand(c, w, i, 2, &p->c, u.c, d);
    c->program->wide->left(&u, p->row->m, a, &left);
    c->program->wide->columns(&u, &left, b, d);
    sett__fragment_give(&p->c, (sett_dtype)u.c, d, sett__at(w, i->d));
    return true;
}

/* ---- ldmatrix, stmatrix ------------------------------------------------------------------------------------- */
enum { PIECE = 16, ROWS = 8 };
typedef struct matrices {
    unsigned char *row[WARP]; /* those that lanes name, 8 of a matrix */
    unsigned char *value;     /* what a thread has of them, in its frame; elements of `size` bytes */
    uint32_t n, size, step;   /* step: bytes from an element's row to the next one's */
    bool trans;
} matrices;

/* The rows of 16 bytes, inside shared memory and aligned; lanes past them name nothing. */
static bool find_rows(sett__core *c, sett__warp *w, const sett__insn *i, matrices *m)
{
    const sett__place *at = &c->program->spot[i->form.places];
    const sett__root *r = &c->program->root[at->root];
    int64_t room = (int64_t)(r->bytes ? r->bytes : c->launch->smem_more);
    for (int l = 0; l < (int)(m->n * ROWS); l++) {
        int64_t index = sett__place_index(w, at, l), first = index * m->size;
        if (index < 0 || index > room || first + PIECE > room)
            return sett__fault(c, w, l, i->op, SETT_CHECK_BOUNDS, "%s: the row of 16 bytes from element %lld on is outside shared memory of %lld", sett__form_text(c, i),
                (long long)index, (long long)room / m->size);
        m->row[l] = c->cta->shared + r->offset + first;
        if ((uintptr_t)m->row[l] % PIECE &&
            !sett__object(c, w, l, i->op, SETT_CHECK_ALIGN, "%s: the row from element %lld on is not aligned to 16 bytes", sett__form_text(c, i), (long long)index))
            return false;
    }
    return true;
}

/* Of matrix r, element s of lane l's four bytes: where it is, in memory. */
static unsigned char *in_memory(const matrices *m, uint32_t r, uint32_t l, uint32_t s)
{
    unsigned char *const *row = m->row + r * ROWS;
    return m->trans ? row[2 * (l % 4) + s] + 2 * (l / 4) : row[l / 4] + 4 * (l % 4) + s * m->size;
}

/* store: from registers. */
static void move_matrices(const matrices *m, bool store)
{
    for (uint32_t r = 0; r < m->n; r++)
        for (uint32_t s = 0; s < 4 / m->size; s++) {
            unsigned char *value = m->value + (r * (4 / m->size) + s) * m->step;
            for (uint32_t l = 0; l < WARP; l++) {
                unsigned char *x = in_memory(m, r, l, s), *y = value + l * m->size;
                if (m->size == 2)
                    memcpy(store ? x : y, store ? y : x, 2);
                else
                    memcpy(store ? x : y, store ? y : x, m->size);
            }
        }
}

static bool tell_rows(sett__core *c, const sett__warp *w, const sett__insn *i, const matrices *m, uint8_t how)
{
    if (!c->program->watch || !(c->program->watch->threads & how))
        return true;
    if (c->program->watch->accesses) {
        sett__accesses a = {.warp = w, .insn = i, .how = how, .op = i->op, .of = c->cta, .bytes = PIECE, .lanes = UINT32_MAX >> (WARP - m->n * ROWS)};
        for (uint32_t l = 0; l < m->n * ROWS; l++)
            a.at[l] = (uint64_t)(m->row[l] - c->cta->shared);
        return c->program->watch->accesses(c, &a);
    }
    sett__effect e = {.warp = w, .how = how, .op = i->op, .of = c->cta, .bytes = PIECE};
    for (e.lane = 0; e.lane < (int)(m->n * ROWS); e.lane++) {
        e.at = (uint32_t)(m->row[e.lane] - c->cta->shared);
        if (!sett__tell(c, &e))
            return false;
    }
    return true;
}

static bool matrices_of(sett__core *c, sett__warp *w, const sett__insn *i, bool store)
{
    const sett__op *o = sett__form_op(c, i), *value = store ? &c->program->given->op[sett__arg(c->program->given, o, 2)] : o;
    sett__ref at = store ? sett__form_ref(c, i, 2) : i->d;
    matrices m = {.size = (uint32_t)sett__dtype_bytes((sett_dtype)value->dtype), .value = sett__at(w, at), .trans = sett__form_attr(c, i, SETT__AT_MATRIX_TRANS)};
    m.n = value->n * m.size / 4;
    m.step = at & SETT__REF_SPLAT ? 0 : WARP * m.size;
    if (!sett__full_warp(c, w, i) || !find_rows(c, w, i, &m))
        return false;
    move_matrices(&m, store);
    return tell_rows(c, w, i, &m, store ? SETT__WRITE : SETT__READ);
}

bool sett__ldmatrix(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return matrices_of(c, w, i, false);
}

bool sett__stmatrix(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return matrices_of(c, w, i, true);
}

/* ---- between registers ---------------------------------------------------------------------------------- */
/* Byte `at` of a lane's four, in rows of elements. */
static unsigned char *byte_of(unsigned char *rows, uint32_t step, uint32_t size, uint32_t lane, uint32_t at)
{
    return rows + at / size * step + lane * size + at % size;
}

bool sett__movmatrix(sett__core *c, sett__warp *w, const sett__insn *i)
{
    enum { UNIT = 2 }; /* bytes; a row is of four lanes, of two units each */
    const uint32_t size = (uint32_t)sett__dtype_bytes((sett_dtype)sett__form_op(c, i)->dtype);
    const sett__ref from = sett__form_ref(c, i, 0);
    unsigned char *x = sett__at(w, from), *to = sett__at(w, i->d), was[WARP][4];
    if (!sett__full_warp(c, w, i))
        return false;
    for (uint32_t l = 0; l < WARP; l++)
        for (uint32_t k = 0; k < 4; k++)
            was[l][k] = *byte_of(x, from & SETT__REF_SPLAT ? 0 : WARP * size, size, l, k);
    for (uint32_t l = 0; l < WARP; l++)
        for (uint32_t k = 0; k < 4; k++) {
            const uint32_t row = 2 * (l % 4) + k / UNIT, column = l / 4;
            *byte_of(to, WARP * size, size, l, k) = was[4 * row + column / 2][column % 2 * UNIT + k % UNIT];
        }
    return true;
}

/* Element e of a factor of dp4a, of all lanes. */
static void widen(const sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t k, uint32_t e, int32_t to[WARP])
{
    const sett__tape *t = c->program->given;
    const sett__ref r = sett__form_ref(c, i, k);
    const uint8_t *row = (const uint8_t *)sett__at(w, r) + (r & SETT__REF_SPLAT ? 0 : e * WARP);
    const bool sign = t->op[sett__arg(t, sett__form_op(c, i), (int)k)].dtype == SETT_I8;
    for (uint32_t l = 0; l < WARP; l++)
        to[l] = sign ? (int8_t)row[l] : row[l];
}

bool sett__dp4a(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint32_t sum[WARP];
    int32_t x[WARP], y[WARP];
    memcpy(sum, sett__at(w, sett__form_ref(c, i, 2)), sizeof sum);
    for (uint32_t e = 0; e < 4; e++) {
        widen(c, w, i, 0, e, x);
        widen(c, w, i, 1, e, y);
        for (uint32_t l = 0; l < WARP; l++)
            sum[l] += (uint32_t)(x[l] * y[l]);
    }
    memcpy(sett__at(w, i->d), sum, sizeof sum);
    return true;
}
