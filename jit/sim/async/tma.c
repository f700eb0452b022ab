/* SPDX-License-Identifier: Apache-2.0 */
/* Boxes of tensors by maps. A map is 128 bytes of our own: the driver's are for GPUs alone. */
#include "async.h"
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x50414d53u /* "SMAP" */
enum { ALIGN = 128, PIECE = 16, MOST = 228 << 10 };

typedef struct tensor_map {
    uint32_t magic;
    uint8_t dtype, rank, swizzle, nan, step[SETT__MAP_RANK];
    uint16_t box[SETT__MAP_RANK];
    uint32_t extent[SETT__MAP_RANK];
    uint64_t address, stride[SETT__MAP_RANK - 1];
} tensor_map;
static_assert(sizeof(tensor_map) <= SETT__MAP_BYTES, "a map");

void sett__sim_map(const sett__map *m, const void *address, const uint64_t *extent, const uint64_t *stride, void *to)
{
    tensor_map x = {.magic = MAGIC, .dtype = m->dtype, .rank = m->rank, .swizzle = m->swizzle, .nan = m->nan, .address = (uintptr_t)address};
    for (int k = 0; k < m->rank; k++) {
        x.step[k] = m->step[k];
        x.box[k] = m->box[k];
        x.extent[k] = (uint32_t)extent[k];
        if (k)
            x.stride[k - 1] = stride[k - 1];
    }
    memset(to, 0, SETT__MAP_BYTES);
    memcpy(to, &x, sizeof x);
}

/* ---- a box ------------------------------------------------------------------------------------------------ */
typedef struct box {
    tensor_map m;
    int64_t at[SETT__MAP_RANK];     /* where it begins */
    uint32_t many[SETT__MAP_RANK];  /* elements that are copied */
    uint32_t size, row, rows;       /* bytes of an element, and of a row of mode 0; how many rows */
    uint32_t pitch;                 /* from a row to the next in shared memory: what the swizzle has, however short rows are */
    uint8_t reduce;                 /* a code; SETT__CONST: none */
} box;

static uint32_t bytes_of(const box *b)
{
    return b->row * b->rows;
}

/* What it takes of shared memory. */
static uint32_t room_of(const box *b)
{
    return b->pitch * b->rows;
}

/* A map that a kernel changed may be none; of the others the launch has seen all this. */
static const char *wrong(const tensor_map *m)
{
    const uint32_t size = m->dtype && sett__dtype_valid(m->dtype) ? (uint32_t)sett__dtype_bytes((sett_dtype)m->dtype) : 0;
    if (m->magic != MAGIC || !size || m->swizzle > 3)
        return "there is no tensor map";
    if (m->rank < 1 || m->rank > SETT__MAP_RANK)
        return "the tensor map's rank is not 1 to 5";
    for (int k = 0; k < m->rank; k++) {
        if (m->box[k] < 1 || m->box[k] > SETT__MAP_BOX)
            return "an extent of the tensor map's box is not 1 to 256";
        if (m->step[k] < 1 || m->step[k] > (k ? SETT__MAP_STEP : 1))
            return "a step of the tensor map is not 1 to 8, of the first mode 1";
        if (!m->extent[k])
            return "an extent of the tensor map is 0";
        if (k && (m->stride[k - 1] % PIECE || m->stride[k - 1] >> 40))
            return "a stride of the tensor map is not a multiple of 16 below 2^40";
    }
    if (m->nan && (!sett__dtype_is_float((sett_dtype)m->dtype) || size == 1))
        return "the tensor map fills with NaN, and its type has none for that";
    if (m->address % PIECE)
        return "the tensor map's address is not a multiple of 16";
    if (m->box[0] * size % PIECE)
        return "a row of the tensor map's box is not a multiple of 16 bytes";
    if (m->nan && (size == 1 || !sett__dtype_is_float((sett_dtype)m->dtype)))
        return "what is outside the tensor map's extents cannot be NaN in its type";
    return m->swizzle && m->box[0] * size > 16u << m->swizzle ? "a row of the tensor map's box is longer than its swizzle" : NULL;
}

/* Operand k: the bytes of a map of the parameters, or of one at an address. NULL: faulted. */
static const unsigned char *map_bytes(sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t k, int lane)
{
    const sett__tape *t = c->program->given;
    if (t->op[sett__arg(t, sett__form_op(c, i), (int)k)].code == SETT__TMAP)
        return (const unsigned char *)c->launch->params + c->program->root[sett__form_ref(c, i, k)].offset;
    uint64_t address = (uint64_t)sett__form_value(c, w, i, k, lane, 0);
    char verb[64];
    snprintf(verb, sizeof verb, "%s: a map in", sett__form_text(c, i));
    if (address % SETT__MAP_ALIGN && !sett__object(c, w, lane, i->op, SETT_CHECK_ALIGN, "%s: a map lies at a multiple of 64, not at 0x%llx", sett__form_text(c, i), (unsigned long long)address))
        return NULL;
    if (sett__check_address(c, w, lane, i->op, verb, NULL, address, address, SETT__MAP_BYTES))
        return (const unsigned char *)(uintptr_t)address;
    return NULL;
}

/* Of one in memory: a copy reads it by a proxy of its own. */
static bool tell_map(sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t k, int lane, const unsigned char *from)
{
    const sett__tape *t = c->program->given;
    const sett__op *o = sett__form_op(c, i);
    const bool in_memory = t->op[sett__arg(t, o, (int)k)].code != SETT__TMAP, copies = o->code != SETT__TMAFETCH && o->code != SETT__MAPFETCH;
    return !in_memory || !copies || sett__tell(c, &(sett__effect){.warp = w, .lane = lane, .how = SETT__READ, .proxy = SETT__TENSORMAP_PROXY, .op = i->op, .p = from, .bytes = SETT__MAP_BYTES});
}

static bool take_map(sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t k, int lane, tensor_map *m)
{
    const unsigned char *from = map_bytes(c, w, i, k, lane);
    if (!from || !sett__map_seen(c, w, lane, i->op, from) || !tell_map(c, w, i, k, lane, from))
        return false;
    memcpy(m, from, sizeof *m);
    const char *why = wrong(m);
    return !why || sett__fault(c, w, lane, i->op, SETT_CHECK_TENSORMAP, "%s: %s", sett__form_text(c, i), why);
}

/* Which the machine takes for an illegal instruction, of a load too. */
static bool begins_at_16_bytes(sett__core *c, const sett__warp *w, const sett__insn *i, int lane, const box *b)
{
    return b->at[0] * b->size % 16 == 0 ||
           sett__object(c, w, lane, i->op, SETT_CHECK_ALIGN, "%s: coordinate 0 is %lld, of elements of %u bytes, and a box begins at a multiple of 16 bytes", sett__form_text(c, i), (long long)b->at[0], b->size);
}

/* Its coordinates are the operands from `first` on. */
static bool take_box(sett__core *c, const sett__warp *w, const sett__insn *i, uint32_t map, uint32_t first, int lane, box *b)
{
    const uint32_t n = sett__form_op(c, i)->n_args - first;
    *b = (box){.rows = 1, .reduce = SETT__CONST};
    if (!take_map(c, w, i, map, lane, &b->m))
        return false;
    if (n != b->m.rank)
        return sett__fault(c, w, lane, i->op, SETT_CHECK_TENSORMAP, "%s: %u coordinates of a tensor map of %u modes", sett__form_text(c, i), n, b->m.rank);
    b->size = (uint32_t)sett__dtype_bytes((sett_dtype)b->m.dtype);
    b->row = b->m.box[0] * b->size;
    b->pitch = b->m.swizzle ? 16u << b->m.swizzle : b->row;
    for (uint32_t k = 0; k < n; k++) {
        b->at[k] = sett__form_value(c, w, i, first + k, lane, 0);
        b->many[k] = (b->m.box[k] + b->m.step[k] - 1u) / b->m.step[k];
        b->rows *= k ? b->many[k] : 1;
        if ((uint64_t)b->rows * b->pitch > MOST)
            return sett__fault(c, w, lane, i->op, SETT_CHECK_BOUNDS, "%s: a box of more bytes than shared memory has", sett__form_text(c, i));
    }
    return begins_at_16_bytes(c, w, i, lane, b);
}

/* Row r: where its first element lies in global memory, and which of its elements are inside; false: none. */
static bool row_of(const box *b, uint32_t r, unsigned char **p, uint32_t *from, uint32_t *to)
{
    uint64_t offset = 0;
    for (int k = 1; k < b->m.rank; k++) {
        int64_t x = b->at[k] + (int64_t)(r % b->many[k]) * b->m.step[k];
        r /= b->many[k];
        if (x < 0 || x >= (int64_t)b->m.extent[k])
            return false;
        offset += (uint64_t)x * b->m.stride[k - 1];
    }
    int64_t least = b->at[0] < 0 ? -b->at[0] : 0, most = (int64_t)b->m.extent[0] - b->at[0];
    most = most < (int64_t)b->many[0] ? most : (int64_t)b->many[0];
    if (most <= least)
        return false;
    *from = (uint32_t)least, *to = (uint32_t)most;
    *p = (unsigned char *)(uintptr_t)(b->m.address + offset + (uint64_t)(b->at[0] + least) * b->size);
    return true;
}

/* Where a piece of 16 bytes of the packed box is: it changes places by bits of the address from 7 on. The box begins where the pattern does. */
static uint32_t placed(const box *b, uint32_t piece)
{
    const uint32_t at = piece / b->row * b->pitch + piece % b->row;
    return at ^ ((at >> 7 & ((1u << b->m.swizzle) - 1)) << 4);
}

/* NaN is 0x7ff7 in each 16 bits, whatever the type. */
static void fill(const box *b, unsigned char *to, uint32_t n)
{
    for (size_t k = 0; k < (size_t)n * b->size; k++)
        to[k] = b->m.nan ? k % 2 ? 0x7f : 0xf7 : 0;
}

/* Of the rows that are touched; the allocation is remembered. */
static bool check_rows(sett__core *c, const sett__warp *w, const sett__insn *i, int lane, const box *b)
{
    unsigned char *p;
    uint32_t from, to;
    const char *verb = sett__ops[sett__form_op(c, i)->code].colon;
    for (uint32_t r = 0; r < b->rows; r++)
        if (row_of(b, r, &p, &from, &to) && !sett__check_address(c, w, lane, i->op, verb, NULL, b->m.address, (uintptr_t)p, (uint64_t)(to - from) * b->size))
            return false;
    return true;
}

/* ---- loads ---------------------------------------------------------------------------------------------------- */
typedef struct tile {
    box b;
    sett__landing at;          /* of a load */
    const unsigned char *from; /* of a store */
    _Alignas(16) unsigned char data[]; /* row by row */
} tile;

static bool tell_row(sett__core *c, const sett__event *e, uint8_t how, const unsigned char *p, uint64_t bytes)
{
    sett__effect x = sett__event_effect(e, how, bytes);
    x.p = p;
    return sett__tell(c, &x);
}

static bool read_rows(sett__core *c, const sett__event *e, tile *x)
{
    uint32_t from, to;
    unsigned char *p;
    for (uint32_t r = 0; r < x->b.rows; r++) {
        unsigned char *row = x->data + (size_t)r * x->b.row;
        const bool any = row_of(&x->b, r, &p, &from, &to);
        if (!any || to - from < x->b.many[0])
            fill(&x->b, row, x->b.many[0]);
        if (!any)
            continue;
        if (!tell_row(c, e, SETT__READ, p, (uint64_t)(to - from) * x->b.size))
            return false;
        memcpy(row + (size_t)from * x->b.size, p, (size_t)(to - from) * x->b.size);
    }
    return true;
}

/* Rows of one piece are in no swizzle: what lies in such a box lies there as its coordinates say. */
static void say_swizzle(const box *b, sett__effect *e)
{
    e->boxed = b->m.swizzle || b->row > PIECE;
    e->bits = (uint8_t)((1u << b->m.swizzle) - 1);
}

/* Is what it takes of shared memory all of its own? A swizzle changes places within a row. */
static bool has_no_gaps(const box *b)
{
    return b->pitch == b->row;
}

static bool write_box(sett__core *c, const sett__event *e, const tile *x, sett__cta *of)
{
    sett__effect write = sett__event_effect(e, SETT__WRITE, PIECE);
    write.of = of;
    say_swizzle(&x->b, &write);
    const bool whole = has_no_gaps(&x->b);
    for (uint32_t at = 0; at < bytes_of(&x->b); at += PIECE) {
        write.at = x->at.offset + placed(&x->b, at);
        memcpy(of->shared + write.at, x->data + at, PIECE);
        if (!whole && !sett__tell(c, &write))
            return false;
    }
    write.at = x->at.offset, write.bytes = bytes_of(&x->b);
    return !whole || sett__tell(c, &write);
}

/* What nobody had written of the rows that were read. */
static void follow_box(const sett__core *c, const sett__event *e, const tile *x, sett__cta *of)
{
    uint32_t from, to;
    unsigned char *p;
    const uint32_t map = sett__arg(c->program->given, &c->program->given->op[e->op], 2);
    for (uint32_t r = 0; r < x->b.rows; r++) {
        if (!row_of(&x->b, r, &p, &from, &to) || sett__is_written(c, p, (size_t)(to - from) * x->b.size))
            continue;
        for (uint32_t at = r * x->b.row + from * x->b.size, end = r * x->b.row + to * x->b.size, n; at < end; at += n, p += n) {
            n = sett__least(PIECE - at % PIECE, end - at);
            sett__poison_copied(c, e->op, map, of, x->at.offset + placed(&x->b, at), p, n);
        }
    }
}

static bool load_part(sett__core *c, sett__event *e, uint32_t part)
{
    tile *x = (void *)e->data;
    if (!part)
        return read_rows(c, e, x);
    for (uint32_t k = 0; k < x->at.n; k++) {
        if (!write_box(c, e, x, x->at.to[k]))
            return false;
        if (c->program->follow)
            follow_box(c, e, x, x->at.to[k]);
    }
    return sett__landed(c, e, &x->at, bytes_of(&x->b));
}

/* Shared memory of a box begins where its swizzle's pattern does. */
static uint64_t align_of(const box *b)
{
    return (uint64_t)ALIGN << b->m.swizzle;
}

static sett__event *make(sett__core *c, sett__warp *w, const sett__insn *i, int lane, sett__event_fn part, const box *b)
{
    sett__event *e = sett__event_make(c, w, i, lane, part, 2, sizeof(tile) + bytes_of(b));
    if (e) {
        *(tile *)(void *)e->data = (tile){.b = *b};
        e->kind = SETT__EVENT_LOAD;
    }
    return e;
}

static bool load_lane(sett__core *c, sett__warp *w, const sett__insn *i, int lane)
{
    enum { MAP = 2, MASK = 6, AT = 8, DONE = 1 };
    box b;
    sett__landing at;
    if (!take_box(c, w, i, MAP, AT, lane, &b) || !check_rows(c, w, i, lane, &b) ||
        !sett__landing_of(c, w, i, lane, DONE, MASK, room_of(&b), align_of(&b), &at))
        return false;
    sett__event *e = make(c, w, i, lane, load_part, &b);
    if (!e)
        return false;
    ((tile *)(void *)e->data)->at = at;
    e->waited = true;
    e->mbar = at.mbar;
    e->ranks = e->writes = at.ranks;
    return sett__event_begin(c, e);
}

bool sett__tma_load(sett__core *c, sett__warp *w, const sett__insn *i)
{
    enum { PRED = 5 };
    uint32_t lanes = sett__form_lanes(c, w, i, PRED);
    for (int l = 0; l < WARP; l++)
        if (lanes >> l & 1 && !load_lane(c, w, i, l))
            return false;
    return true;
}

/* ---- stores and reductions --------------------------------------------------------------------------------------- */
/* A store writes the part of a box that lies inside the tensor; only poison in that part counts. */
static void follow_rows(sett__core *c, const sett__event *e, const tile *x)
{
    uint32_t from, to;
    unsigned char *p;
    for (uint32_t r = 0; r < x->b.rows; r++) {
        if (!row_of(&x->b, r, &p, &from, &to))
            continue;
        for (uint32_t at = r * x->b.row + from * x->b.size, end = r * x->b.row + to * x->b.size, n; at < end; at += n) {
            n = sett__least(PIECE - at % PIECE, end - at);
            c->program->follow->stored(c, e->warp, e->lane, e->op, (uint32_t)(x->from + placed(&x->b, at) - c->cta->shared), n);
        }
    }
}

static bool read_box(sett__core *c, const sett__event *e, tile *x)
{
    sett__effect read = sett__event_effect(e, SETT__READ, PIECE);
    const bool whole = has_no_gaps(&x->b);
    read.of = c->cta;
    say_swizzle(&x->b, &read);
    read.at = (uint32_t)(x->from - c->cta->shared), read.bytes = bytes_of(&x->b);
    if (whole && !sett__tell(c, &read))
        return false;
    read.bytes = PIECE;
    for (uint32_t at = 0; at < bytes_of(&x->b); at += PIECE) {
        const unsigned char *piece = x->from + placed(&x->b, at);
        read.at = (uint32_t)(piece - c->cta->shared);
        if (!whole && !sett__tell(c, &read))
            return false;
        memcpy(x->data + at, piece, PIECE);
    }
    if (c->program->follow)
        follow_rows(c, e, x);
    return true;
}

static bool store_part(sett__core *c, sett__event *e, uint32_t part)
{
    tile *x = (void *)e->data;
    const uint32_t size = x->b.size;
    const bool reduces = x->b.reduce != SETT__CONST;
    uint32_t from, to;
    unsigned char *p;
    if (!part)
        return read_box(c, e, x);
    for (uint32_t r = 0; r < x->b.rows; r++) {
        const unsigned char *row = x->data + (size_t)r * x->b.row;
        if (!row_of(&x->b, r, &p, &from, &to))
            continue;
        if (!reduces)
            memcpy(p, row + (size_t)from * size, (size_t)(to - from) * size);
        for (uint32_t k = from; k < to && reduces; k++)
            sett__reduce_into(c, x->b.reduce, x->b.m.dtype, p + (size_t)(k - from) * size, row + (size_t)k * size);
        if (!tell_row(c, e, reduces ? SETT__UPDATE : SETT__WRITE, p, (uint64_t)(to - from) * size))
            return false;
    }
    return true;
}

/* Of a map that the tape does not know. */
static bool has_reduction(sett__core *c, const sett__warp *w, const sett__insn *i, int lane, const box *b)
{
    uint32_t lg = (uint32_t)__builtin_ctz(b->size);
    bool has = lg <= 3 && b->m.dtype < SETT__ROW_TYPES && c->program->wide->op[b->reduce][b->m.dtype];
    return has || sett__fault(c, w, lane, i->op, SETT_CHECK_TENSORMAP, "tma.reduce: there is no such operation on %s", sett_dtype_name((sett_dtype)b->m.dtype));
}

/* Which the machine takes for an illegal instruction. */
static bool begins_inside(sett__core *c, const sett__warp *w, const sett__insn *i, int lane, const box *b)
{
    for (int k = 0; k < b->m.rank; k++)
        if (b->at[k] < 0)
            return sett__fault(c, w, lane, i->op, SETT_CHECK_BOUNDS, "%s: coordinate %d is %lld, and what is written begins at none below 0", sett__form_text(c, i), k, (long long)b->at[k]);
    return true;
}

static bool store_lane(sett__core *c, sett__warp *w, const sett__insn *i, int lane)
{
    static const uint8_t code[] = {SETT__ADD, SETT__MIN, SETT__MAX};
    enum { MAP = 2, AT = 5 };
    const bool reduce = sett__form_op(c, i)->code == SETT__TMAREDUCE;
    box b;
    sett__aim from;
    if (!take_box(c, w, i, MAP, AT, lane, &b) || !begins_inside(c, w, i, lane, &b))
        return false;
    if (reduce)
        b.reduce = code[sett__form_attr(c, i, SETT__AT_TMAREDUCE_OP)];
    if ((reduce && !has_reduction(c, w, i, lane, &b)) || !check_rows(c, w, i, lane, &b) ||
        !sett__form_place(c, w, i, 0, lane, room_of(&b), align_of(&b), &from))
        return false;
    sett__event *e = make(c, w, i, lane, store_part, &b);
    if (!e)
        return false;
    ((tile *)(void *)e->data)->from = from.p;
    e->kind = SETT__EVENT_STORE;
    e->group = w->apart.groups[lane];
    e->reads = (uint16_t)(1u << c->cta->rank);
    return sett__event_begin(c, e);
}

bool sett__tma_store(sett__core *c, sett__warp *w, const sett__insn *i)
{
    enum { PRED = 3 };
    uint32_t lanes = sett__form_lanes(c, w, i, PRED);
    for (int l = 0; l < WARP; l++)
        if (lanes >> l & 1 && !store_lane(c, w, i, l))
            return false;
    return true;
}

/* ---- what copies nothing ------------------------------------------------------------------------------------------ */
bool sett__tma_prefetch(sett__core *c, sett__warp *w, const sett__insn *i)
{
    enum { PRED = 1, AT = 3 };
    const bool whole = sett__form_op(c, i)->code == SETT__MAPFETCH;
    uint32_t lanes = sett__form_lanes(c, w, i, PRED);
    box b;
    for (int l = 0; l < WARP; l++)
        if (lanes >> l & 1 && !(whole ? take_map(c, w, i, 0, l, &b.m) : take_box(c, w, i, 0, AT, l, &b)))
            return false;
    return true;
}

bool sett__map_address(sett__core *c, sett__warp *w, const sett__insn *i)
{
    uint64_t *d = sett__at(w, i->d);
    sett__aim s;
    for (int l = 0; l < WARP; l++) {
        if (!(w->active >> l & 1))
            continue;
        if (!sett__form_place(c, w, i, 0, l, SETT__MAP_BYTES, SETT__MAP_ALIGN, &s))
            return false;
        d[l] = (uintptr_t)s.p;
    }
    return true;
}

/* By PTX's number of a type; 0: it flushes to zero, which is not modelled. */
static uint8_t type_of(uint64_t number)
{
    static const uint8_t types[] = {SETT_U8, SETT_U16, SETT_U32, SETT_I32, SETT_U64, SETT_I64, SETT_F16, SETT_F32, 0, SETT_F64, SETT_BF16, SETT_TF32, 0};
    return number < sizeof types ? types[number] : 0;
}

static void replace(tensor_map *m, int field, int mode, uint64_t x)
{
    const uint8_t byte = (uint8_t)(x > UINT8_MAX ? 0 : x);
    switch (field) {
    case SETT__FIELD_ADDRESS: m->address = x; break;
    case SETT__FIELD_RANK: m->rank = byte; break;
    case SETT__FIELD_BOX: m->box[mode] = (uint16_t)(x > UINT16_MAX ? 0 : x); break;
    case SETT__FIELD_EXTENT: m->extent[mode] = (uint32_t)x; break;
    case SETT__FIELD_STRIDE: m->stride[mode] = x; break;
    case SETT__FIELD_TYPE: m->dtype = type_of(x); break;
    case SETT__FIELD_SWIZZLE: m->swizzle = byte; break;
    case SETT__FIELD_FILL: m->nan = byte; break;
    default: m->step[mode] = byte; break;
    }
}

static bool change(sett__core *c, const sett__warp *w, const sett__insn *i, int lane, unsigned char *at)
{
    enum { VALUE = 2 };
    const int field = sett__form_attr(c, i, SETT__AT_REPLACE_FIELD);
    tensor_map m;
    memcpy(&m, at, sizeof m);
    if (m.magic != MAGIC)
        return sett__fault(c, w, lane, i->op, SETT_CHECK_TENSORMAP, "tensormap.replace: there is no tensor map");
    replace(&m, field, sett__form_attr(c, i, SETT__AT_REPLACE_ORDINAL), (uint64_t)sett__form_value(c, w, i, VALUE, lane, 0));
    if (!m.dtype)
        return sett__fault(c, w, lane, i->op, SETT__NO_KIND, "tensormap.replace: types that flush to zero are not modelled");
    memcpy(at, &m, sizeof m);
    return true;
}

static bool copy(sett__core *c, const sett__warp *w, const sett__insn *i, int lane, unsigned char *at)
{
    enum { FROM = 2 };
    const unsigned char *from = map_bytes(c, w, i, FROM, lane);
    if (from)
        memmove(at, from, SETT__MAP_BYTES);
    return from != NULL;
}

bool sett__map_write(sett__core *c, sett__warp *w, const sett__insn *i)
{
    bool (*const put)(sett__core *, const sett__warp *, const sett__insn *, int, unsigned char *) = sett__form_op(c, i)->code == SETT__MAPCOPY ? copy : change;
    sett__aim s;
    for (int l = 0; l < WARP; l++) {
        if (!(w->active >> l & 1))
            continue;
        if (!sett__form_place(c, w, i, 0, l, SETT__MAP_BYTES, SETT__MAP_ALIGN, &s) || !put(c, w, i, l, s.p))
            return false;
        sett__map_changed(c->cta->cluster, s.p, i->op);
        const uint8_t space = c->program->root[s.root].space;
        const bool is_shared = space == SETT__SHARED || space == SETT__PEERS;
        const sett__effect write = {.warp = w, .lane = l, .how = SETT__WRITE, .op = i->op, .of = is_shared ? s.of : NULL, .at = s.offset, .p = s.p, .bytes = SETT__MAP_BYTES};
        if (is_shared && s.of->shadow)
            sett__shadow_put(s.of->shadow, s.offset, SETT__MAP_BYTES, false);
        if (!sett__tell(c, &write))
            return false;
    }
    return true;
}
