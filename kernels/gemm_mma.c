/* SPDX-License-Identifier: Apache-2.0 */
/* C = epilogue(A B^T) by the tensor cores of a warp, or by fma: the rules and the choice of a tile, the way out. gemm_mma_loop.c has the
 * main loop. A block computes one tile. */
#include "gemm_mma.h"
#include <limits.h>

enum { RASTER = 8, MOST_SUMS = 128, MOST_STAGES = 8, USUAL_STAGES = 4 };

/* ---- rules --------------------------------------------------------------------------------------------- */
bool sett__mma_by_fma(const sett_gemm_mma_options *o)
{
    return o->dtype == SETT_F32 && !o->tf32;
}

int sett__mma_columns(const sett_gemm_mma_options *o)
{
    return o->swiglu ? o->tuning.bn / 2 : o->tuning.bn;
}

int sett__mma_high(const sett_gemm_mma_options *o)
{
    const int bm = o->tuning.bm, warps = o->tuning.warps;
    if (sett__mma_by_fma(o))
        return bm < 64 ? bm : warps > 1 ? 64 : 32;
    return 16 * (bm >= 256 && warps >= 8 ? 4 : bm >= 64 && warps >= 2 ? 2 : 1);
}

int sett__mma_wide(const sett_gemm_mma_options *o)
{
    const int each = sett__mma_by_fma(o) ? 4 * 4 * 32 : 16 * 16; /* rows times columns of a warp */
    return each * o->tuning.warps / sett__mma_high(o);
}

int sett__mma_lanes_high(const sett_gemm_mma_options *o)
{
    const int high = sett__mma_high(o) / 4;
    return high < 8 ? high : 8;
}

int sett__mma_padding(const sett_gemm_mma_options *o, int major)
{
    return sett__mma_by_fma(o) ? 4 : o->tf32 && major == SETT_MN_MAJOR ? 8 : 0; /* so that neither threads that write nor those that read share banks */
}

static void check_types(sett_gemm_mma_options *o, choice *c)
{
    const sett_dtype t = o->dtype;
    const bool ints = t == SETT_I8;
    if (!sett__is_small_float(t) && !sett__is_f8(t) && !ints)
        REFUSE(c, ".dtype is %s: f16, bf16, f8E4M3FN, f8E5M2, i8 or f32", t ? sett_dtype_name(t) : "not given");
    o->b = o->b ? o->b : t;
    if (o->b != t && !(sett__is_f8(t) && sett__is_f8(o->b)))
        REFUSE(c, ".b is %s: %s", sett_dtype_name(o->b), sett__is_f8(t) ? "f8E4M3FN or f8E5M2" : "it differs from .dtype among f8E4M3FN and f8E5M2 alone");
    o->c = o->c ? o->c : t == SETT_F16 || t == SETT_F32 ? t : ints && !o->scaled && !sett__has_terms(&o->terms) ? SETT_I32 : SETT_BF16;
    if (!sett__is_small_float(o->c) && !sett__is_f8(o->c) && !(ints && (o->c == SETT_I32 || o->c == SETT_I8)) && !(o->c == SETT_I8 && o->terms.quantise))
        REFUSE(c, ".c is %s: f32, f16, bf16, f8E4M3FN or f8E5M2%s", sett_dtype_name(o->c), ints ? ", i32 or i8" : "; i8 with .quantise");
    if (o->c == SETT_I32 && o->scaled)
        REFUSE(c, ".c is i32: with .scaled it is a float, or i8");
    if (o->tf32 && t != SETT_F32)
        REFUSE(c, ".tf32 is 1: .dtype is f32 then, and not %s", sett_dtype_name(t));
}

/* Bytes, by an option: of elements of `least` bytes. */
static void check_align(choice *c, const char *name, int align, int least)
{
    if (align != 16 && align != 8 && align != 4 && align != 2 && align != 1)
        REFUSE(c, ".%s is %d: 16, 8, 4, 2 or 1", name, align);
    if (align < least)
        REFUSE(c, ".%s is %d: an element has %d bytes", name, align, least);
}

static epilogue_options epilogue_of(const sett_gemm_mma_options *o)
{
    return (epilogue_options){.named = &o->terms, .scaled = o->scaled, .residual = o->residual, .swiglu = o->swiglu, .sums = o->dtype == SETT_I8 ? SETT_I32 : SETT_F32, .c = o->c};
}

static void check_problem(sett_gemm_mma_options *o, choice *c)
{
    const struct {
        const char *name;
        int value;
    } flags[] = {{"a_major", o->a_major}, {"b_major", o->b_major}, {"batched", o->batched}, {"tf32", o->tf32}, {"pointer_array", o->pointer_array}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        sett__in_range(c, flags[i].name, flags[i].value, 0, 1);
    sett__is_zero(c, "reserved", o->reserved);
    if (o->pointer_array && !o->batched)
        REFUSE(c, ".pointer_array is 1: .batched is 1 then, whose operands the addresses are of");
    check_types(o, c);
    const epilogue_options e = epilogue_of(o);
    sett__check_epilogue(&e, c);
    if (*c->why)
        return;
    sett__either(&o->align, 16);
    check_align(c, "align", o->align, sett__bytes_of(o->dtype));
    sett__either(&o->align_c, o->align > sett__bytes_of(o->c) ? o->align : sett__bytes_of(o->c));
    check_align(c, "align_c", o->align_c, sett__bytes_of(o->c));
}

/* ---- the tile ------------------------------------------------------------------------------------------- */
static int stage_bytes(const sett_gemm_mma_options *o)
{
    const sett_gemm_mma_tuning *tune = &o->tuning;
    return (tune->bm + tune->bn) * tune->bk + (sett__mma_padding(o, o->a_major) + sett__mma_padding(o, o->b_major)) * tune->bk;
}

/* Of .quantise 2. */
static int bytes_of_blocks(const sett_gemm_mma_options *o)
{
    return in_blocks(&o->terms) ? sett__block_scaling_bytes(o->tuning.bm, sett__mma_columns(o), 1) : 0;
}

/* Columns of C that a tile has at least. */
static int least_columns(const sett_gemm_mma_options *o)
{
    return in_blocks(&o->terms) ? EPILOGUE_BLOCK : 1;
}

/* Of a thread. */
static int sums_of(const sett_gemm_mma_options *o)
{
    return o->tuning.bm * o->tuning.bn / (32 * o->tuning.warps);
}

/* For as many sums a thread has registers, beside what copies and conversions take. */
static int usual_sums(const sett_gemm_mma_options *o)
{
    if (sett__mma_by_fma(o))
        return MOST_SUMS;
    if (sett__is_f8(o->dtype))
        return MOST_SUMS / 4;
    return o->align == 4 || (o->tf32 && o->a_major && o->b_major) ? MOST_SUMS / 2 : MOST_SUMS;
}

/* What a product takes with this bn, in units of a row of B: the rounds of tiles that run at once, two a multiprocessor, times the tile's
 * rows of B and a constant for what each takes besides. */
static int64_t cost(const sett_gemm_mma_options *o, int bn, const device *d)
{
    enum { SHARE = 32, AT_ONCE = 2 };
    const int64_t wide = o->swiglu ? bn / 2 : bn, at_once = AT_ONCE * (d->multiprocessors ? d->multiprocessors : 100);
    const int64_t tiles = (((int64_t)o->tuning.m + o->tuning.bm - 1) / o->tuning.bm) * ((o->tuning.n + wide - 1) / wide);
    return (tiles + at_once - 1) / at_once * (bn + SHARE);
}

/* 128, or what is faster by .m and .n, of those that the warps divide. */
static int choose_bn(const sett_gemm_mma_options *given, const device *d)
{
    sett_gemm_mma_options o = *given;
    const bool known = o.tuning.m && o.tuning.n;
    int best = 0;
    for (int bn = 256; bn >= 16; bn /= 2) {
        o.tuning.bn = bn;
        const bool fits = sett__mma_columns(&o) % sett__mma_wide(&o) == 0 && sums_of(&o) <= usual_sums(&o) && sett__mma_columns(&o) >= least_columns(&o);
        if (fits && (!best || best > 128 || (known && cost(&o, bn, d) < cost(&o, best, d))))
            best = bn;
    }
    return best ? best : least_columns(&o) == EPILOGUE_BLOCK && o.swiglu ? 256 : 128;
}

/* Of .quantise 2: rows for which a thread has registers beside 128 columns, and for m no more than it takes. */
static int highest_with_blocks(const sett_gemm_mma_options *o)
{
    const int sums = usual_sums(o) * 32 * o->tuning.warps / (EPILOGUE_BLOCK << o->swiglu), m = o->tuning.m ? o->tuning.m : INT_MAX;
    int bm = 16;
    while (2 * bm <= sums && bm < m && bm < 128)
        bm *= 2;
    return bm;
}

/* Chooses what the caller left 0, but .bn and .stages. */
static void choose_tile(sett_gemm_mma_options *o)
{
    sett_gemm_mma_tuning *tune = &o->tuning;
    const int m = tune->m;
    sett__either(&tune->warps, 4);
    if (in_blocks(&o->terms) && !tune->bm)
        tune->bm = highest_with_blocks(o);
    sett__either(&tune->bm, (!m || m > 64) && usual_sums(o) == MOST_SUMS ? 128 : !m || m > 32 ? 64 : m > 16 ? 32 : 16);
    sett__either(&tune->bk, !sett__mma_by_fma(o) && tune->bm < 64 ? 128 : 64);
}

/* Two blocks share a multiprocessor's shared memory. */
static int usual_stages(const sett_gemm_mma_options *o, const device *d)
{
    const int most = (d->shared_memory_bytes / 2 - bytes_of_blocks(o)) / stage_bytes(o);
    return most < 2 ? 2 : most > USUAL_STAGES ? USUAL_STAGES : most;
}

static bool is_power_of_two(int x, int from, int to)
{
    return x >= from && x <= to && !(x & (x - 1));
}

static void check_power(choice *c, const char *name, int value, int from, int to)
{
    if (!is_power_of_two(value, from, to))
        REFUSE(c, ".%s is %d: a power of two from %d to %d", name, value, from, to);
}

/* What the warps cover at once divides the tile: by rows and columns. */
static void check_cover(const sett_gemm_mma_options *o, choice *c)
{
    const sett_gemm_mma_tuning *tune = &o->tuning;
    const int high = sett__mma_high(o), wide = sett__mma_wide(o), columns = sett__mma_columns(o);
    if (tune->bm % high)
        REFUSE(c, ".bm is %d: %d warps compute %d rows at once", tune->bm, tune->warps, high);
    if (columns % wide)
        REFUSE(c, ".bn is %d: %d warps compute %d columns at once%s", tune->bn, tune->warps, wide, o->swiglu ? ", of each half" : "");
    if (in_blocks(&o->terms) && columns % EPILOGUE_BLOCK)
        REFUSE(c, ".bn is %d: of .quantise 2 %s, as a tile has whole blocks of 128 columns of C", tune->bn, o->swiglu ? "and .swiglu 256" : "256 or 128");
    if (in_blocks(&o->terms) && wide > EPILOGUE_BLOCK)
        REFUSE(c, ".warps is %d: of .quantise 2 they compute at most 128 columns at once, and with .bm %d these compute %d", tune->warps, tune->bm, wide);
    if (sums_of(o) > MOST_SUMS)
        REFUSE(c, ".bn is %d: with .bm %d and %d warps a thread has %d sums, at most %d", tune->bn, tune->bm, tune->warps, sums_of(o), MOST_SUMS);
}

static void settle(void *options, choice *c)
{
    sett_gemm_mma_options *o = options;
    sett_gemm_mma_tuning *tune = &o->tuning;
    const device *d = sett__device_of(c->sm);
    check_problem(o, c);
    sett__in_range(c, "m", tune->m, 0, INT_MAX);
    sett__in_range(c, "n", tune->n, 0, INT_MAX);
    if (*c->why)
        return;
    choose_tile(o);
    check_power(c, "bm", tune->bm, 16, 256);
    check_power(c, "bk", tune->bk, 32, 128);
    check_power(c, "warps", tune->warps, 1, 8);
    if (*c->why)
        return;
    tune->bn = tune->bn ? tune->bn : choose_bn(o, d);
    check_power(c, "bn", tune->bn, 16, 256);
    check_cover(o, c);
    if (*c->why)
        return;
    sett__either(&tune->stages, usual_stages(o, d));
    const int most = (d->shared_memory_bytes - bytes_of_blocks(o)) / stage_bytes(o);
    if (most < 2)
        REFUSE(c, ".bk is %d: two stages have no room", tune->bk);
    sett__in_range(c, "stages", tune->stages, 2, most > MOST_STAGES ? MOST_STAGES : most);
    tune->m = tune->n = 0; /* the same tile is the same kernel */
}

/* ---- the way out ------------------------------------------------------------------------------------------ */
/* A part of a tile: what its epilogue is given. */
typedef struct place {
    sett_epilogue_tile base;
    const mma_tile *t;
    int part;
} place;

enum { ADJACENT = 4 }; /* columns that a thread has beside each other, of fma */

/* Of a partition (values,M,N): two columns of atoms; of fma adjacent columns of a row. */
static sett_tensor *part_of(const mma_tile *t, sett_tensor *x, int part)
{
    const int rows = t->o->tuning.bm / sett__mma_high(t->o);
    if (sett__mma_by_fma(t->o))
        return sett_local_tile(sett_slice(x, 0, part % (rows * ADJACENT), ALL), T1(ADJACENT), T1(part / (rows * ADJACENT)));
    return sett_local_tile(x, T(T(2, 2), rows, 2), T(0, 0, part));
}

/* Parts of C's tile that a thread has. */
static int parts_of(const sett_gemm_mma_options *o)
{
    const int rows = o->tuning.bm / sett__mma_high(o), columns = sett__mma_columns(o) / sett__mma_wide(o);
    return sett__mma_by_fma(o) ? rows * ADJACENT * columns : columns;
}

static sett_tensor *partition(sett_site site, const sett_epilogue_tile *base, sett_tensor *whole)
{
    const place *p = (const place *)base;
    const mma_tile *t = p->t;
    (void)site;
    return base->partition_tile(base, sett_local_tile(whole, T(t->o->tuning.bm, sett__mma_columns(t->o)), T(t->m, t->n)));
}

static sett_tensor *partition_tile(const sett_epilogue_tile *base, sett_tensor *tile)
{
    const place *p = (const place *)base;
    const mma_tile *t = p->t;
    if (sett__mma_dealt(t->o))
        tile = sett_composition(tile, T(t->o->tuning.bm, SETT__MMA_COLUMNS(t->b, sett__mma_columns(t->o))));
    return part_of(t, sett_partition_C(t->mine, tile), p->part);
}

/* The sums of part i; of .swiglu silu(gate) up: as many parts further on. */
static sett_val *values_of(const mma_tile *t, const terms *s, int i)
{
    sett_val *x = sett_load(part_of(t, t->acc, i));
    return t->o->swiglu ? sett_mul(sett__gate(s, x), sett__up(s, sett_load(part_of(t, t->acc, i + parts_of(t->o))))) : x;
}

/* Of tensor cores a row has four lanes. */
static int same_rows(const sett_gemm_mma_options *o)
{
    return sett__mma_by_fma(o) ? 31 & ~(2 * (sett__mma_lanes_high(o) - 1)) : 3;
}

/* Lanes that differ in the other bits have the same columns. */
static int column_lanes(const sett_gemm_mma_options *o)
{
    return 31 & ~same_rows(o);
}

/* Parts of C that lie in the same columns of the tile. */
static int parts_high(const sett_gemm_mma_options *o)
{
    return parts_of(o) / (sett__mma_columns(o) / sett__mma_wide(o));
}

/* What becomes of a part, in the shape that sett_epilogue_partition gives. */
static sett_val *finished(place *at, terms *s)
{
    const mma_tile *t = at->t;
    sett_arg shape = sett_shape(partition(SETT_HERE, &at->base, s->crd));
    at->base.same_columns = sett__mma_by_fma(t->o) && at->part % parts_high(t->o);
    return sett__epilogue(&at->base, sett_reshape(values_of(t, s, at->part), shape), s);
}

/* Of .quantise 2: what is stored of the tile stays in the registers of its sums until all threads know the largest of each row's 128 columns. */
static void scale_block(const place *at, terms *s)
{
    const sett_gemm_mma_options *o = at->t->o;
    sett__block_scaling_at(s, NULL, at->part / parts_high(o) * sett__mma_wide(o) / EPILOGUE_BLOCK, sett__mma_columns(o));
}

static void settle_blocks(place *at, sett_tensor *SD, terms *s)
{
    const mma_tile *t = at->t;
    const sett_gemm_mma_options *o = t->o;
    const int bm = o->tuning.bm, columns = sett__mma_columns(o), threads = 32 * o->tuning.warps;
    s->blocks = sett__block_scaling(t->b, bm, columns, 1);
    sett__block_scaling_begin(t->b, &s->blocks, threads);
    sett_sync_threads(t->b);
    for (at->part = 0; at->part < parts_of(o); at->part++) {
        scale_block(at, s);
        sett__hold(part_of(t, t->acc, at->part), finished(at, s));
    }
    sett_sync_threads(t->b);
    const block_place to = {.SD = SD, .row = sett_value(t->b, sett_mul(t->m, bm)), .rows = sett_value(t->b, sett_get(s->extent, 0)), .block = sett_value(t->b, sett_mul(t->n, columns / EPILOGUE_BLOCK))};
    sett__settle_blocks(s, &to, t->thread, threads);
    sett_sync_threads(t->b);
}

static sett_val *scaled(place *at, terms *s)
{
    scale_block(at, s);
    return sett__block_scaled(s, &at->base, sett_reshape(sett__held(part_of(at->t, at->t->acc, at->part)), sett_shape(partition(SETT_HERE, &at->base, s->crd))));
}

static void store(const mma_tile *t, sett_tensor *C, sett_tensor *SD, sett_val *batch, terms *s)
{
    place at = {.base = {.b = t->b, .batch = batch, .partition = partition, .partition_tile = partition_tile, .same_rows = same_rows(t->o), .column_lanes = column_lanes(t->o)}, .t = t};
    sett__epilogue_begin(s);
    if (SD)
        settle_blocks(&at, SD, s);
    for (at.part = 0; at.part < parts_of(t->o); at.part++) {
        sett_val *x = (SD ? scaled : finished)(&at, s);
        sett_store(partition(SETT_HERE, &at.base, C), sett__rounded(x, t->o->c), .pred = sett_elem_less(partition(SETT_HERE, &at.base, s->crd), s->extent));
    }
    sett__epilogue_end(s);
}

/* ---- the body --------------------------------------------------------------------------------------------- */
/* Which tile a block has: RASTER rows of tiles at a time, column by column, so that blocks that run at once read the same rows of A and B.
 * Gives the batch, or NULL. */
static sett_val *locate(mma_tile *t, const product *p)
{
    sett_build *b = t->b;
    const sett_arg mtiles = sett_ceil_div(p->M, t->o->tuning.bm), ntiles = sett_ceil_div(p->N, sett__mma_columns(t->o)), tiles = sett_mul(mtiles, ntiles);
    sett_grid(b, p->L ? SETT_A(sett_mul(p->L, tiles)) : tiles);
    sett_block(b, 32 * t->o->tuning.warps);
    if (t->o->tuning.warps == 8 && sums_of(t->o) <= MOST_SUMS / 2)
        sett_min_blocks(b, 2); /* 128 registers a thread are enough */
    t->thread = sett_thread_idx(b, 0);
    const sett_quot_rem batch = p->L ? sett_divmod(sett_block_idx(b, 0), sett_make_fast_divmod(b, tiles)) : (sett_quot_rem){.remainder = SETT_A(sett_block_idx(b, 0))};
    const sett_quot_rem band = sett_divmod(batch.remainder, sett_make_fast_divmod(b, sett_mul(ntiles, RASTER)));
    const sett_arg first = sett_mul(band.quotient, RASTER), rows = sett_min(sett_sub(mtiles, first), RASTER);
    t->m = sett_add(first, sett_mod(band.remainder, rows));
    t->n = sett_floordiv(band.remainder, rows);
    return p->L ? sett_value(b, batch.quotient) : NULL;
}

/* Of an array of pointers t is the batch's already. */
static sett_tensor *of_batch(const product *p, sett_tensor *t, sett_val *batch)
{
    return batch && !p->one_of ? sett_slice(t, ALL, ALL, batch) : t;
}

void sett_gemm_mma_with_at(sett_site site, sett_build *b, const sett_gemm_mma_options *user, sett_gemm_epilogue then, void *data)
{
    sett_gemm_mma_options o;
    if (!sett__kernel_options(b, &sett__gemm_mma, user, &o))
        return;
    product p = {.b = b, .M = sett_sym(b, "M"), .align_c = o.align_c, .wide = true, .of = epilogue_of(&o)};
    /* Where rows of B lie along N, those of up begin N elements behind the gate's. */
    p.N = sett_sym(b, "N", .div = o.swiglu && o.b_major ? o.align / sett__bytes_of(o.b) : 1);
    mma_tile t = {.o = &o, .b = b, .bk = o.tuning.bk / sett__bytes_of(o.dtype), .K = sett_sym(b, "K")};
    p.L = o.batched ? sett_sym(b, "L") : NULL;
    sett_val *batch = locate(&t, &p);
    sett__begin(b, o.no_pdl); /* before addresses are read, which a kernel before this one may have written */
    p.one_of = o.pointer_array ? batch : NULL;
    sett_tensor *A = sett__operand(&p, "A", o.dtype, o.align, p.M, t.K, (sett_major)o.a_major);
    sett_tensor *B = sett__operand(&p, "B", o.b, o.align, o.swiglu ? sett_mul(p.N, 2) : p.N, t.K, (sett_major)o.b_major);
    const outputs to = sett__outputs(&p);
    sett__mma_prepare(&t, of_batch(&p, A, batch), of_batch(&p, B, batch), p.M, p.N);
    sett_fill(t.acc, 0);
    sett__mma_loop(&t, sett_arg_i(0), sett_ceil_div(t.K, t.bk));
    terms s = sett__terms(&p, &to, batch);
    s.then = then, s.user = data, s.site = site, s.function = "sett_gemm_mma_with";
    store(&t, of_batch(&p, to.C, batch), to.SD ? of_batch(&p, to.SD, batch) : NULL, batch, &s);
}

void sett_gemm_mma(sett_build *b, const void *user)
{
    sett_gemm_mma_with(b, user, NULL, NULL);
}

#define P(member_) SETT_FAMILY_PARAM(sett_gemm_mma_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_gemm_mma_options, member_)
static const sett_family_param params[] = {P(dtype), P(no_pdl), P(b), P(c), P(a_major), P(b_major), P(align), P(align_c), P(scaled), P(swiglu), P(residual), P(batched), P(tf32), P(pointer_array),
    TUNED(bm), TUNED(bn), TUNED(bk), TUNED(stages), TUNED(warps), TUNED(m), TUNED(n),
    TERM_PARAMS(sett_gemm_mma_options)};
FAMILY_OF(gemm_mma, params, .least = "sm_80"); /* cp.async */
