/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of a warp group. Each of its four warps computes its 16 rows. Matrices in shared memory are read by the bits of their
 * descriptors, as the machine does: nothing is known of a tile but what is in them. */
#include "mma.h"
#include <string.h>

enum { PIECE = 16, ROWS = 8, WARP_ROWS = 16, K_BYTES = 32 }; /* a row of every product is 32 bytes along k */

/* ---- descriptors ------------------------------------------------------------------------------------------ */
/* Bits 0 to 13 of the address, 16 to 29 of lead, 32 to 45 of stride, each without its low 4; 62 and 63 the swizzle. The address is
 * that in the block's shared memory. */
bool sett__desc(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const sett__place *at = &c->program->spot[i->form.places];
    const sett__root *r = &c->program->root[at->root];
    uint64_t lead = (uint64_t)sett__form_attr(c, i, SETT__AT_DESC_LEAD), stride = (uint64_t)sett__form_attr(c, i, SETT__AT_DESC_STRIDE);
    uint64_t swizzle = (uint64_t)sett__form_attr(c, i, SETT__AT_DESC_SWIZZLE), *d = sett__at(w, i->d);
    for (int l = 0; l < WARP; l++) {
        uint64_t address = r->offset + ((uint64_t)sett__place_index(w, at, l) << r->lg);
        d[l] = (address & 0x3ffff) >> 4 | lead >> 4 << 16 | stride >> 4 << 32 | (swizzle ? 4 - swizzle : 0) << 62;
    }
    return true;
}

typedef struct tile {
    uint32_t start, lead, stride, row, mask; /* row: bytes of a swizzle's rows, 0: none; mask: of the bits that it exchanges */
    const unsigned char *shared;
    uint32_t room;
    sett__effect read; /* of a piece, but for where it lies */
    bool told;         /* by another warp: all four of a group read B, at once */
} tile;

static tile tile_of(const sett__core *c, const sett__warp *w, const sett__insn *i, uint64_t desc)
{
    uint32_t kind = (uint32_t)(desc >> 62), row = kind ? 16u << (4 - kind) : 0;
    return (tile){.start = (uint32_t)(desc & 0x3fff) << 4, .lead = (uint32_t)(desc >> 16 & 0x3fff) << 4, .stride = (uint32_t)(desc >> 32 & 0x3fff) << 4,
        .row = row, .mask = row ? row - 16 : 0, .shared = c->cta->shared, .room = c->program->tape->sig.smem + c->launch->smem_more,
        .read = {.warp = w, .agent = true, .how = SETT__READ, .proxy = SETT__ASYNC_PROXY, .boxed = true, .bits = (uint8_t)(row ? row / PIECE - 1 : 0),
            .op = i->op, .of = c->cta, .bytes = PIECE}};
}

/* Where piece p along a row that is contiguous lies, and row r of the others; of contiguous k, pieces go on along k. */
static uint32_t piece_at(const tile *t, uint32_t r, uint32_t p, bool trans)
{
    uint32_t at = t->start + (t->row ? r % ROWS * t->row : r % ROWS * PIECE);
    if (!trans)
        at += r / ROWS * t->stride + p * (t->row ? PIECE : t->lead);
    else if (t->row)
        at += r / ROWS * t->stride + p / (t->row / PIECE) * t->lead + p % (t->row / PIECE) * PIECE;
    else
        at += r / ROWS * t->lead + p * t->stride;
    at &= 0x3ffff;
    return at ^ (at >> 3 & t->mask);
}

/* NULL: outside, and told. */
static const unsigned char *piece(sett__core *c, const sett__warp *w, const sett__insn *i, tile *t, uint32_t r, uint32_t p, bool trans)
{
    uint32_t at = piece_at(t, r, p, trans);
    if (at + PIECE <= t->room)
        return t->read.at = at, t->told || sett__tell(c, &t->read) ? t->shared + at : NULL;
    sett__fault(c, w, 0, i->op, SETT_CHECK_BOUNDS, "wgmma reads bytes %u to %u of shared memory, and the block has %u: the descriptor begins at %u, lead %u, stride %u, swizzle %u", at,
        at + PIECE - 1, t->room, t->start, t->lead, t->stride, t->row);
    return NULL;
}

/* Contiguous elements of a piece, `apart` elements from each other. */
static void spread_piece(void *to, const unsigned char *from, uint32_t size, uint32_t apart)
{
    for (uint32_t e = 0; e < PIECE / size; e++)
        if (size == 1)
            ((uint8_t *)to)[e * apart] = from[e];
        else
            memcpy((char *)to + (size_t)e * apart * size, from + e * size, size);
}

/* The two pieces of row r along k, which mostly lie side by side. */
static bool pieces_of(sett__core *c, const sett__warp *w, const sett__insn *i, tile *t, uint32_t r, const unsigned char *from[2])
{
    const uint32_t a = piece_at(t, r, 0, false), b = piece_at(t, r, 1, false);
    if ((a ^ b) != PIECE || (a | b) + PIECE > t->room) {
        for (uint32_t p = 0; p < 2; p++)
            if (!(from[p] = piece(c, w, i, t, r, p, false)))
                return false;
        return true;
    }
    from[0] = t->shared + a, from[1] = t->shared + b;
    t->read.at = a & b;
    t->read.bytes = 2 * PIECE;
    const bool fine = t->told || sett__tell(c, &t->read);
    t->read.bytes = PIECE;
    return fine;
}

/* n rows of m or n from `first` on, multiples of 8. k_step, row_step: elements of `to` from one k, and one row, to the next. */
static bool read_matrix(sett__core *c, const sett__warp *w, const sett__insn *i, tile *t, bool trans, uint32_t size, uint32_t first, uint32_t n,
    void *to, uint32_t k_step, uint32_t row_step)
{
    const unsigned char *from, *two[K_BYTES / PIECE];
    if (!trans)
        for (uint32_t r = 0; r < n; r++) {
            if (!pieces_of(c, w, i, t, first + r, two))
                return false;
            for (uint32_t p = 0; p < K_BYTES / PIECE; p++)
                spread_piece((char *)to + (size_t)(r * row_step + p * (PIECE / size) * k_step) * size, two[p], size, k_step);
        }
    else
        for (uint32_t p = 0; p < n / ROWS; p++) /* a piece is 8 elements of 16 bits */
            for (uint32_t k = 0; k < K_BYTES / size; k++) {
                if (!(from = piece(c, w, i, t, k, first / ROWS + p, true)))
                    return false;
                spread_piece((char *)to + (size_t)(p * ROWS * row_step + k * k_step) * size, from, size, row_step);
            }
    return true;
}

/* ---- products ----------------------------------------------------------------------------------------------- */
/* The elements of operand k, a root of registers, from element `at` on. */
static void *held(const sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t k, uint32_t at)
{
    const sett__root *r = &c->program->root[sett__form_ref(c, i, k)];
    return w->frame[0] + r->offset + ((size_t)at * WARP << r->lg);
}

static bool in_registers(const sett__core *c, const sett__insn *i)
{
    return c->program->given->op[sett__arg(c->program->given, sett__form_op(c, i), 1)].code == SETT__RMEM;
}

/* What a product takes when it begins; registers and shared memory are read when it runs. */
typedef struct operands {
    const sett__insn *insn;
    uint64_t a, b; /* descriptors; a: unless A is in registers */
    uint64_t adds;
} operands;

static bool take_left(sett__core *c, const sett__warp *w, const sett__insn *i, const operands *x, const sett__unit *u, sett__left *left)
{
    _Alignas(64) unsigned char a[WARP_ROWS * K_BYTES];
    const sett__matmul *p = &c->program->matmul[i->form.matmul];
    uint32_t size = (uint32_t)sett__dtype_bytes((sett_dtype)u->a);
    if (in_registers(c, i)) {
        sett__fragment_take(&p->a, (sett_dtype)u->a, a, held(c, w, i, 1, (uint32_t)sett__form_attr(c, i, SETT__AT_WGMMA_A_AT)), false);
    } else {
        tile t = tile_of(c, w, i, x->a);
        uint32_t first = w->index % 4 * WARP_ROWS;
        if (!read_matrix(c, w, i, &t, sett__form_attr(c, i, SETT__AT_WGMMA_TRANS_A), size, first, WARP_ROWS, a, 1, u->k))
            return false;
    }
    c->program->wide->left(u, WARP_ROWS, a, left);
    return true;
}

/* ---- poison, of a program that is followed ------------------------------------------------------------------ */
/* May there be poison in what a matrix takes: its rows or columns [first, first + n)? Looked at as one stretch of memory. */
static bool may_have(const sett__shadow *s, tile t, bool trans, uint32_t size, uint32_t first, uint32_t n)
{
    enum { PATTERN = 1024 }; /* swizzles exchange within so many bytes */
    const uint32_t along = t.row ? t.row / PIECE - 1 : 0, low = t.start / PATTERN * PATTERN;
    t.mask = 0;
    const uint32_t top = trans ? piece_at(&t, (K_BYTES / size - 1) | (ROWS - 1), ((first + n) / ROWS - 1) | along, true) : piece_at(&t, (first + n - 1) | (ROWS - 1), 1, false);
    return top < low || sett__shadow_any(s, low, top / PATTERN * PATTERN + PATTERN - low);
}

/* Rows or columns [first, first + n), 32 at most, of a matrix in shared memory that have poison: bits. at: a byte of it. */
static uint32_t lines_of(const sett__shadow *s, const tile *t, bool trans, uint32_t size, uint32_t first, uint32_t n, uint32_t *at)
{
    uint32_t lines = 0;
    for (uint32_t r = 0; r < (trans ? K_BYTES / size : n); r++)
        for (uint32_t p = 0; p < (trans ? n / ROWS : K_BYTES / PIECE); p++) {
            const uint32_t here = trans ? piece_at(t, r, first / ROWS + p, true) : piece_at(t, first + r, p, false);
            const uint32_t bits = sett__shadow_bits(s, here, PIECE);
            for (uint32_t e = 0; bits && e < PIECE / size; e++)
                lines |= bits >> e * size & ((1u << size) - 1) ? 1u << (trans ? p * ROWS + e : r) : 0;
            *at = bits ? here + (uint32_t)__builtin_ctz(bits) : *at;
        }
    return lines;
}

static void follow(sett__core *c, sett__warp *w, const sett__insn *i, const operands *x, const sett__unit *u)
{
    const sett__shadow *s = c->cta->shadow;
    const sett__matmul *p = &c->program->matmul[i->form.matmul];
    const sett__root *acc = &c->program->root[sett__form_ref(c, i, 0)];
    const uint32_t n = (uint32_t)sett__form_attr(c, i, SETT__AT_WGMMA_N), first = w->index % SETT__GROUP * WARP_ROWS;
    const uint32_t at = (uint32_t)sett__form_attr(c, i, SETT__AT_WGMMA_ACC_AT), a_size = (uint32_t)sett__dtype_bytes((sett_dtype)u->a), b_size = (uint32_t)sett__dtype_bytes((sett_dtype)u->b);
    const bool trans_a = sett__form_attr(c, i, SETT__AT_WGMMA_TRANS_A), trans_b = sett__form_attr(c, i, SETT__AT_WGMMA_TRANS_B);
    uint32_t read = SETT__NONE, rows = 0, byte = 0;
    const tile a = tile_of(c, w, i, x->a), b = tile_of(c, w, i, x->b);
    if (in_registers(c, i)) {
        const sett__root *r = &c->program->root[sett__form_ref(c, i, 1)];
        rows = sett__wgmma_poison(c, w, p, r->offset + ((uint32_t)sett__form_attr(c, i, SETT__AT_WGMMA_A_AT) * WARP << r->lg), a_size, &read);
        if (rows && read == SETT__NONE)
            read = sett__poison_read_at(c, i->op, sett__form_ref(c, i, 1), 0);
    } else if (may_have(s, a, trans_a, a_size, first, WARP_ROWS)) {
        rows = lines_of(s, &a, trans_a, a_size, first, WARP_ROWS, &byte);
        read = rows ? sett__poison_read_at(c, i->op, SETT__NONE, byte) : read;
    }
    const bool look = may_have(s, b, trans_b, b_size, 0, n);
    for (uint32_t j = 0; j < n; j += SETT__COLUMNS) {
        const uint32_t columns = look ? lines_of(s, &b, trans_b, b_size, j, SETT__COLUMNS, &byte) : 0;
        const uint32_t from = columns ? sett__poison_read_at(c, i->op, SETT__NONE, byte) : read;
        sett__wgmma_shadow(c, w, p, sett__form_ref(c, i, 0), acc->offset + ((at + j / SETT__COLUMNS * p->c.n) * WARP << acc->lg), i->op, x->adds, rows, columns, from);
    }
}

/* An event: the warp's rows of a product. */
static bool multiply(sett__core *c, sett__event *e, uint32_t part)
{
    (void)part;
    const operands *x = (const void *)e->data;
    const sett__warp *w = e->warp;
    const sett__insn *i = x->insn;
    _Alignas(64) unsigned char b[SETT__MOST_K * SETT__COLUMNS * 4];
    _Alignas(64) uint32_t d[WARP_ROWS * SETT__COLUMNS];
    sett__left left;
    const sett__matmul *p = &c->program->matmul[i->form.matmul];
    const bool trans = sett__form_attr(c, i, SETT__AT_WGMMA_TRANS_B);
    const uint32_t n = (uint32_t)sett__form_attr(c, i, SETT__AT_WGMMA_N), at = (uint32_t)sett__form_attr(c, i, SETT__AT_WGMMA_ACC_AT);
    tile t = tile_of(c, w, i, x->b);
    t.told = w->index % SETT__GROUP;
    sett__unit u = sett__matmul_unit(c, p);
    u.negate_a = sett__form_attr(c, i, SETT__AT_WGMMA_NEG_A);
    u.negate_b = sett__form_attr(c, i, SETT__AT_WGMMA_NEG_B);
    if (!take_left(c, w, i, x, &u, &left))
        return false;
    if (c->program->follow && c->cta->shadow)
        follow(c, e->warp, i, x, &u);
    for (uint32_t j = 0; j < n; j += SETT__COLUMNS) {
        void *acc = held(c, w, i, 0, at + j / SETT__COLUMNS * p->c.n);
        if (!read_matrix(c, w, i, &t, trans, (uint32_t)sett__dtype_bytes((sett_dtype)u.b), j, SETT__COLUMNS, b, SETT__COLUMNS, 1))
            return false;
        if (x->adds)
            sett__fragment_take(&p->c, (sett_dtype)u.c, d, acc, false);
        else
            memset(d, 0, sizeof d);
        c->program->wide->columns(&u, &left, b, d);
        sett__fragment_give(&p->c, (sett_dtype)u.c, d, acc);
    }
    return true;
}

/* What all lanes of the warp must agree on. */
static bool one_for_all(sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t k, const char *what, uint64_t *out)
{
    uint8_t lg = k == 3 ? 0 : 3;
    const void *row = sett__at(w, sett__form_ref(c, i, k));
    *out = sett__bits_at(row, 0, lg);
    for (int l = 1; l < WARP; l++)
        if (sett__bits_at(row, l, lg) != *out)
            return sett__object(c, w, l, i->op, SETT_CHECK_DIVERGENCE, "wgmma: %s differs from lane to lane: 0x%llx in lane 0, 0x%llx in lane %d", what, (unsigned long long)*out,
                (unsigned long long)sett__bits_at(row, l, lg), l);
    return true;
}

/* All four warps begin the same product: what the others have begun is under way as long as one is missing. */
static bool is_alike(sett__core *c, const sett__warp *w, const sett__insn *i, const operands *x)
{
    const sett__cluster *k = c->cta->cluster;
    for (uint32_t n = 0; n < k->n_event; n++) {
        const sett__event *e = k->event[n];
        const operands *y = (const void *)e->data;
        if (e->kind != SETT__EVENT_WGMMA || e->cta != c->cta || e->warp->index / SETT__GROUP != w->index / SETT__GROUP || e->nth != w->apart.products)
            continue;
        char where[96];
        if (y->insn != i)
            return sett__fault(c, w, 0, i->op, SETT_CHECK_DIVERGENCE, "wgmma: warp %u of its group is at another one, of %s", e->warp->index, sett__where_noted(c, e->op, where, sizeof where));
        if (y->a != x->a || y->b != x->b || y->adds != x->adds)
            return sett__object(c, w, 0, i->op, SETT_CHECK_DIVERGENCE, "wgmma: a descriptor, or whether it adds, differs from warp to warp: 0x%llx, 0x%llx and %d in warp %u, 0x%llx, 0x%llx and %d here",
                (unsigned long long)y->a, (unsigned long long)y->b, (int)y->adds, e->warp->index, (unsigned long long)x->a, (unsigned long long)x->b, (int)x->adds);
    }
    return true;
}

bool sett__wgmma(sett__core *c, sett__warp *w, const sett__insn *i)
{
    operands x = {.insn = i};
    if (!sett__whole_group(c, w, i) || (!in_registers(c, i) && !one_for_all(c, w, i, 1, "the descriptor of A", &x.a)) ||
        !one_for_all(c, w, i, 2, "the descriptor of B", &x.b) || !one_for_all(c, w, i, 3, "whether it adds", &x.adds) || !is_alike(c, w, i, &x))
        return false;
    sett__event *e = sett__event_make(c, w, i, 0, multiply, 1, sizeof x);
    if (!e)
        return false;
    memcpy(e->data, &x, sizeof x);
    e->kind = SETT__EVENT_WGMMA;
    e->group = w->apart.committed;
    e->nth = w->apart.products++;
    e->reads = (uint16_t)(1u << c->cta->rank);
    return sett__event_begin(c, e);
}

bool sett__wgmma_commit(sett__core *c, sett__warp *w, const sett__insn *i)
{
    w->apart.committed++;
    return sett__whole_group(c, w, i) && sett__tell_sync(c, (sett__sync){.what = SETT__WGMMA_COMMIT, .warp = w, .lanes = w->active, .op = i->op});
}

/* The verifier has followed the registers. */
bool sett__wgmma_fence(sett__core *c, sett__warp *w, const sett__insn *i)
{
    return sett__whole_group(c, w, i);
}
