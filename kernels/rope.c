/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks are of one token, and a warp is of one of Q, K and V. A thread has two accesses of a head: what it rotates with each other, or what it copies, so that
 * nobody waits for anybody, but for the sums of a head's squares, which its lanes add. */
#include "kernels.h"

/* Columns of the two accesses of a thread. */
static int pair_of(const sett_rope_options *o)
{
    return 2 * sett__vec(o->dtype);
}

/* Lanes that have a head: with .norm a power of two, so that they can add. */
static int lanes_of(const sett_rope_options *o)
{
    int lanes = o->d / pair_of(o), power = 1;
    while (power < lanes)
        power *= 2;
    return o->norm ? power : lanes;
}

static void check_type(choice *c, const char *name, sett_dtype t, sett_dtype own)
{
    if (t != own && !sett__is_f8(t))
        REFUSE(c, ".%s is %s: as .dtype, f8E4M3FN or f8E5M2", name, sett_dtype_name(t));
}

static void check_multiple(choice *c, const char *name, int columns, int least, int most, int step)
{
    if (columns % step)
        REFUSE(c, ".%s is %d: a multiple of %d, 32 bytes", name, columns, step);
    sett__in_range(c, name, columns, least, most);
}

static void check_columns(choice *c, const sett_rope_options *o)
{
    enum { MOST = 1024 };
    const int step = pair_of(o);
    check_multiple(c, "d", o->d, step, MOST, step);
    if (!*c->why)
        check_multiple(c, "first", o->first, 0, o->d - step, step);
    if (!*c->why)
        check_multiple(c, "rotary", o->rotary, step, o->d - o->first, step);
}

static void settle(void *options, choice *c)
{
    enum { MOST_PAGE = 1 << 24, USUAL = 128, COLUMNS = 128 };
    sett_rope_options *o = options;
    sett__is_float(c, o->dtype);
    sett__either(&o->d, COLUMNS);
    if (!o->rotary && o->first >= 0 && o->first < o->d)
        o->rotary = o->d - o->first;
    sett__in_range(c, "pairs", o->pairs, 0, 1);
    sett__in_range(c, "norm", o->norm, 0, 1);
    sett__in_range(c, "page", o->page, 0, MOST_PAGE);
    sett__in_range(c, "latent", o->latent, 0, o->page ? 1 : 0);
    sett__in_range(c, "scaled", o->scaled, 0, 1);
    if (*c->why)
        return;
    check_columns(c, o);
    o->out = o->out ? o->out : o->dtype, o->kv = o->kv ? o->kv : o->dtype;
    check_type(c, "out", o->out, o->dtype), check_type(c, "kv", o->kv, o->dtype);
    if (o->scaled && !sett__is_f8(o->out) && !sett__is_f8(o->kv))
        REFUSE(c, ".scaled is 1: .out or .kv is f8E4M3FN or f8E5M2 then");
    if (o->norm && !*c->why && lanes_of(o) > 32)
        REFUSE(c, ".norm is 1: .d is at most %d then, and not %d", 32 * pair_of(o), o->d);
    sett__is_zero(c, "reserved", o->tuning.reserved);
    sett__either(&o->tuning.threads, USUAL);
    sett__whole_warps(c, o->tuning.threads);
}

/* ---- parameters ------------------------------------------------------------------------------------------------ */
enum { Q, K, V, PARTS, WARP = 32 };
typedef struct part {
    sett_tensor *from, *to, *weight, *scales; /* NULL: there is none */
    sett_val *heads;
    bool cached; /* `to` has pages */
} part;
typedef struct work {
    const sett_rope_options *o;
    sett_build *b;
    sett_tensor *positions, *table, *slots;
    part part[PARTS];
    sett_val *eps, *token;
} work;

/* (..., d), whose last mode is contiguous; of the others strides are symbols. */
static sett_tensor *strided(sett_build *b, const char *name, sett_dtype t, int n, const sett_arg *extent)
{
    enum { MOST = 4 };
    sett_arg stride[MOST];
    for (int i = 0; i + 1 < n; i++) {
        const char symbol[] = {'L', name[0], name[1] ? name[1] : (char)('0' + i), name[1] ? (char)('0' + i) : 0, 0};
        stride[i] = SETT_A(sett_sym(b, symbol, .div = 16 / sett__bytes_of(t), .wide = true));
    }
    stride[n - 1] = sett_arg_i(1);
    return sett_param(b, name, t, sett_make_layout(b, sett_arg_n(n, extent), sett_arg_n(n, stride)), .align = 16);
}

static sett_tensor *head_scales(sett_build *b, const char *name, const char *stride, sett_val *heads)
{
    return sett_param(b, name, SETT_F32, sett_make_layout(b, T1(heads), T1(sett_sym(b, stride))));
}

static work params(sett_build *b, const sett_rope_options *o)
{
    static const char *const from[PARTS] = {"Q", "K", "V"}, *const to[PARTS] = {"QO", "KO", "VO"}, *const cache[PARTS] = {NULL, "KC", "VC"};
    static const char *const scales[PARTS][2] = {{"QSCALES", "LQSCALES0"}, {"KSCALES", "LKSCALES0"}, {"VSCALES", "LVSCALES0"}};
    const int parts = o->page && !o->latent ? PARTS : V;
    work w = {.o = o, .b = b};
    sett_val *M = sett_sym(b, "M"), *H = sett_sym(b, "H"), *HK = sett_sym(b, "HK"), *N = sett_sym(b, "N"), *P = o->page ? sett_sym(b, "P") : NULL;
    sett_layout *columns = sett_make_layout(b, T1(o->d));
    w.positions = sett_param(b, "POSITIONS", SETT_I32, sett_make_layout(b, T1(M)));
    w.table = sett_param(b, "TABLE", SETT_F32, sett_row_major(b, N, o->rotary), .align = 16);
    for (int i = 0; i < parts; i++) {
        part *p = &w.part[i];
        p->heads = i == Q ? H : HK, p->cached = i != Q && o->page;
        p->from = strided(b, from[i], o->dtype, 3, (const sett_arg[]){SETT_A(M), SETT_A(p->heads), sett_arg_i(o->d)});
    }
    for (int i = 0; o->norm && i < V; i++)
        w.part[i].weight = sett_param(b, i == Q ? "QW" : "KW", o->dtype, columns, .align = 16);
    for (int i = 0; i < parts; i++) {
        part *p = &w.part[i];
        if (p->cached)
            p->to = strided(b, cache[i], o->kv, 4, (const sett_arg[]){SETT_A(P), SETT_A(p->heads), sett_arg_i(o->page), sett_arg_i(o->d)});
        else
            p->to = strided(b, to[i], i == Q ? o->out : o->kv, 3, (const sett_arg[]){SETT_A(M), SETT_A(p->heads), sett_arg_i(o->d)});
    }
    w.slots = o->page ? sett_param(b, "SLOTS", SETT_I64, sett_make_layout(b, T1(M))) : NULL;
    for (int i = 0; o->scaled && i < parts; i++)
        if (sett__is_f8(i == Q ? o->out : o->kv))
            w.part[i].scales = head_scales(b, scales[i][0], scales[i][1], w.part[i].heads);
    w.eps = o->norm ? sett_scalar(b, "eps", SETT_F32) : NULL;
    return w;
}

/* ---- a thread ---------------------------------------------------------------------------------------------------- */
/* A thread's place: its head, and which accesses of 16 bytes are its two. Of those that are rotated the second is as far behind the first as columns of a pair in
 * halves are; so lie those that are not, among themselves, so that neighbours in a warp access neighbours. */
typedef struct place {
    sett_val *head, *in, *turns; /* turns: NULL: all do */
    sett_val *access[2], *angles; /* angles: which of the accesses that are rotated first it is */
} place;

static place place_of(const work *w, const part *p, sett_val *warp)
{
    const sett_rope_options *o = w->o;
    const int lanes = lanes_of(o), step = pair_of(o), all = o->d / step, first = o->first / step, turning = o->rotary / step, apart = all - turning;
    sett_val *n = sett_add(sett_mul(warp, WARP), sett_lane_idx(w->b)), *j = sett_mod(n, lanes);
    place x = {.head = sett_floordiv(n, lanes), .access = {j, sett_add(j, turning)}, .angles = sett_sub(j, first)};
    x.in = sett_lt(x.head, p->heads);
    if (lanes > all)
        x.in = sett_and(x.in, sett_lt(j, all));
    if (!apart)
        return x;
    x.turns = sett_and(sett_ge(j, first), sett_lt(j, first + turning));
    sett_val *rest = sett_where(sett_lt(j, first), j, sett_sub(j, turning)); /* among those that are not rotated */
    for (int i = 0; i < 2; i++) {
        sett_val *at = sett_add(rest, i * apart);
        x.access[i] = sett_where(x.turns, sett_add(j, first + i * turning), sett_where(sett_lt(at, 2 * first), at, sett_add(at, 2 * turning)));
    }
    return x;
}

/* One of the two accesses, Float32. */
static sett_val *load(const work *w, const place *x, sett_tensor *row, int i)
{
    return sett_to(sett_load(sett_local_tile(row, T1(sett__vec(w->o->dtype)), T1(x->access[i])), .pred = x->in), SETT_F32);
}

/* x / sqrt(mean(x x) + eps) weight of a head, of which each lane has two accesses. */
static void norm(const work *w, const place *x, sett_tensor *weight, sett_val *v[2])
{
    sett_val *squares = sett_reduce(sett_fma(v[0], v[0], sett_mul(v[1], v[1])), SETT_ADD, 0.0);
    if (lanes_of(w->o) > 1)
        squares = sett_warp_reduce(squares, SETT_ADD, lanes_of(w->o));
    sett_val *scale = sett_rsqrt(sett_fma(squares, 1.0 / w->o->d, w->eps));
    for (int i = 0; i < 2; i++)
        v[i] = sett_mul(sett_mul(v[i], scale), load(w, x, weight, i));
}

/* Cosines and sines of as many angles, from a multiple of these on. */
static void load_angles(const work *w, const place *x, int n, sett_val *number, sett_val *cosine_and_sine[2])
{
    sett_tensor *row = sett_slice(w->table, sett_at(w->positions, w->token), ALL);
    for (int i = 0; i < 2; i++)
        cosine_and_sine[i] = sett_load(sett_local_tile(row, T1(n), T1(sett_add(number, i * w->o->rotary / 2 / n))), .pred = x->turns ? sett_and(x->in, x->turns) : x->in);
}

static void turn(sett_val *v[2], sett_val *const by[2])
{
    sett_val *x = v[0], *y = v[1];
    v[0] = sett_fma(x, by[0], sett_neg(sett_mul(y, by[1])));
    v[1] = sett_fma(y, by[0], sett_mul(x, by[1]));
}

/* Neighbours are pairs, and an access has whole ones. */
static sett_val *turn_pairs(const work *w, const place *x, sett_val *v, sett_val *number)
{
    const int pairs = sett__vec(w->o->dtype) / 2;
    sett_val *by[2], *each = sett_reshape(v, T(2, pairs)), *of[2] = {sett_element(each, 0, ALL), sett_element(each, 1, ALL)};
    sett_tensor *to = sett_make_rmem_tensor(w->b, SETT_F32, 2, pairs);
    load_angles(w, x, pairs, number, by);
    turn(of, by);
    for (int i = 0; i < 2; i++)
        sett_store(sett_slice(to, i, ALL), of[i]);
    return sett_reshape(sett_load(to), T1(2 * pairs));
}

static void rotate(const work *w, const place *x, sett_val *v[2])
{
    sett_val *turned[2] = {v[0], v[1]}, *by[2];
    if (w->o->pairs) {
        for (int i = 0; i < 2; i++)
            turned[i] = turn_pairs(w, x, v[i], sett_add(x->angles, i * w->o->rotary / pair_of(w->o)));
    } else {
        load_angles(w, x, sett__vec(w->o->dtype), x->angles, by);
        turn(turned, by);
    }
    for (int i = 0; i < 2; i++)
        v[i] = x->turns ? sett_where(x->turns, turned[i], v[i]) : turned[i];
}

/* Where a head of this token goes, and whether it does. */
static sett_tensor *goes_to(const work *w, const part *p, const place *x, sett_val **in)
{
    *in = x->in;
    if (!p->cached)
        return sett_slice(p->to, w->token, x->head, ALL);
    sett_val *slot = sett_at(w->slots, w->token), *at = sett_to(sett_max(slot, 0), SETT_I32);
    *in = sett_and(x->in, sett_ge(slot, 0));
    return sett_slice(p->to, sett_floordiv(at, w->o->page), x->head, sett_mod(at, w->o->page), ALL);
}

/* A warp's part of what a token has of Q, K or V. */
static void move(const work *w, int which, sett_val *warp)
{
    const part *p = &w->part[which];
    const place x = place_of(w, p, warp);
    sett_val *in, *by = NULL;
    sett_tensor *to = goes_to(w, p, &x, &in), *row = sett_slice(p->from, w->token, x.head, ALL);
    sett_val *v[2] = {load(w, &x, row, 0), load(w, &x, row, 1)};
    if (p->scales)
        by = sett_rcp(sett_load(sett_local_tile(p->scales, T1(1), T1(x.head)), .pred = x.in, .fill = 1));
    if (p->weight)
        norm(w, &x, p->weight, v);
    if (which != V)
        rotate(w, &x, v);
    for (int i = 0; i < 2; i++)
        sett_store(sett_local_tile(to, T1(sett__vec(w->o->dtype)), T1(x.access[i])), sett_to(by ? sett_mul(v[i], by) : v[i], sett_tensor_dtype(to)), .pred = in);
}

void sett_rope(sett_build *b, const void *user)
{
    sett_rope_options o;
    if (!sett__kernel_options(b, &sett__rope, user, &o))
        return;
    work w = params(b, &o);
    const int warps_of_block = o.tuning.threads / WARP;
    sett_val *warps[PARTS];
    for (int i = 0; i < PARTS; i++)
        warps[i] = w.part[i].from ? sett_value(b, sett_ceil_div(sett_mul(w.part[i].heads, lanes_of(&o)), WARP)) : NULL;
    sett_val *all = sett_add(warps[Q], warps[K]);
    sett_grid(b, sett_sym(b, "M"), sett_ceil_div(warps[V] ? sett_add(all, warps[V]) : all, warps_of_block));
    sett_block(b, o.tuning.threads);
    sett__begin(b, o.no_pdl);
    w.token = sett_block_idx(b, 0);
    sett_val *warp = sett_add(sett_mul(sett_block_idx(b, 1), warps_of_block), sett_warp_idx(b)), *behind = sett_sub(warp, warps[Q]);
    sett_if (b, sett_lt(warp, warps[Q]))
        move(&w, Q, warp);
    sett_else (b) {
        if (!warps[V]) {
            move(&w, K, behind);
        } else {
            sett_if (b, sett_lt(behind, warps[K]))
                move(&w, K, behind);
            sett_else (b)
                move(&w, V, sett_sub(behind, warps[K]));
        }
    }
}

#define P(member_) SETT_FAMILY_PARAM(sett_rope_options, member_)
#define TUNED(member_) TUNING_PARAM(sett_rope_options, member_)
static const sett_family_param params_[] = {P(dtype), P(no_pdl), P(d), P(rotary), P(first), P(pairs), P(norm), P(page), P(latent), P(out), P(kv), P(scaled), TUNED(threads)};
FAMILY(rope, params_);
