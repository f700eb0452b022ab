/* SPDX-License-Identifier: Apache-2.0 */
/* wgmma: products of a warp group, which go on beside it. Their atoms, descriptors of shared memory, fences, and the calls that commit
 * them and wait for them. */
#include "inside.h"

/* ---- atoms ------------------------------------------------------------------------------------------- */
/* Every thread has the whole matrix of rows x k. */
static sett_layout *whole_layout(const sett__ctx *c, int rows, int k)
{
    char text[96];
    snprintf(text, sizeof text, "(%d,(%d,%d)):(0,(1,%d))", SETT__WARP_GROUP, rows, k, rows);
    return sett__layout_of(c, text);
}

static bool check_args(const sett__ctx *c, const sett_mma_args *a)
{
    SETT__FAIL_IF(c->b, c->site, c->func, a->a_from && a->a_from != SETT_SMEM && a->a_from != SETT_RMEM, false, SETT_E_SPACE,
        ".a_from is %s: A comes from smem, or from rmem", (unsigned)a->a_from <= SETT_COORD ? sett__space_name(a->a_from) : "no space");
    bool rmem = a->a_from == SETT_RMEM, turned = a->a_major || a->b_major;
    SETT__FAIL_IF(c->b, c->site, c->func, rmem && a->a_major, false, SETT_E_ARGUMENT, "A from registers has no major mode: leave .a_major out");
    SETT__FAIL_IF(c->b, c->site, c->func, turned && sett_dtype_bits(a->a) != 16, false, SETT_E_DTYPE,
        "matrices of %s are K-major: only those of 16-bit types may be MN-major", sett_dtype_name(a->a));
    SETT__FAIL_IF(c->b, c->site, c->func, (a->negate_a || a->negate_b) && sett__dtype_is_int(a->a), false, SETT_E_DTYPE, "only floats are negated, not %s",
        sett_dtype_name(a->a));
    return true;
}

static int find_row(const sett__ctx *c, const sett_mma_args *a)
{
    const char *rows = NULL, *steps = sett__dtype_is_int(a->acc) ? "8 up to 32, then 16" : "8";
    int row = sett__find_mma_row(c, a, SETT__MMA_GROUP, &rows);
    SETT__FAIL_IF(c->b, c->site, c->func, rows && !a->n, -1, SETT_E_SHAPE, ".n is not given: of %s there is %s, of which N is 8 to 256, in steps of %s",
        sett_dtype_name(a->a), rows, steps);
    SETT__FAIL_IF(c->b, c->site, c->func, rows, -1, SETT_E_SHAPE,
        "m %d, n %d, k %d: of %s there is %s, of which N is 8 to 256, in steps of %s", a->m, a->n, a->k, sett_dtype_name(a->a), rows, steps);
    return row;
}

static sett_mma_atom *wgmma(const sett__ctx *c, sett_mma_args *a)
{
    int row = check_args(c, a) ? find_row(c, a) : -1;
    if (row < 0)
        return NULL;
    const sett__mma *x = &sett__mmas[row];
    char name[96];
    snprintf(name, sizeof name, "wgmma %s n=%d", sett__mma_word[row], a->n);
    sett_mma_atom r = {.name = name, .row = row, .dtype = {x->a, x->b, x->c}, .major = {(uint8_t)a->a_major, (uint8_t)a->b_major},
        .negate = {a->negate_a, a->negate_b}, .shared = {a->a_from != SETT_RMEM, true}, .mnk = {x->m, a->n, x->k}};
    r.thr_id = sett__layout_of(c, "128:1");
    for (int i = 0; i < 3; i++)
        r.tv[i] = i < 2 && r.shared[i] ? whole_layout(c, r.mnk[i], x->k) : sett__mma_row_layout(c, x->layout[i], a->n);
    return sett__keep_mma_atom(c, &r);
}

/* ---- descriptors -------------------------------------------------------------------------------------- */
/* The descriptors of one operand: the first part's, to which distances are added. */
typedef struct described {
    int operand;
    int32_t attrs[3]; /* swizzle, lead, stride */
    uint32_t first;   /* DESC; NONE: none yet */
    sett_arg base;
    int64_t imm;
} described;

/* Where it starts, before the swizzle: at a row of 16 << swizzle bytes that is the first of 8. */
static bool find_start(const sett__gemm *g, const described *d, const sett_tensor *t, sett_arg *base, int64_t *imm)
{
    enum { PIECE = 16 };
    int64_t bytes = sett__dtype_bytes((sett_dtype)t->dtype), pattern = INT64_C(128) << d->attrs[0], row = INT64_C(16) << d->attrs[0];
    bool swizzled = t->layout->has_inner == 1;
    sett_arg at = swizzled ? sett__add_offset(&g->c, t->offset, t->layout->offset) : t->offset;
    if (at.kind == SETT_POISON)
        return false;
    *base = sett__peel(g->c.b, at, imm);
    bool fine = d->attrs[0] ? sett__leaf_div(t->offset) * bytes % pattern == 0 && sett__leaf_div(*base) * bytes % pattern == 0 && *imm * bytes % pattern < row
                            : sett__leaf_div(*base) * bytes % PIECE == 0;
    SETT__FAIL_IF(g->c.b, g->c.site, g->c.func, !fine || *imm * bytes % PIECE, false, SETT_E_ALIGN,
        "%s %s does not start where its swizzle does: at a multiple of 8 rows of %lld bytes, and in pieces of 16 bytes", sett__gemm_letter(d->operand), sett__tensor_text(g->c.b, t), (long long)row);
    return true;
}

static bool take_descriptor(const sett__gemm *g, described *d, int operand)
{
    static const uint8_t swizzle[] = {0, 3, 2, 1};
    const sett_tensor *t = g->t[operand];
    sett_smem_descriptor x = sett__descriptor(&g->c, sett__rewrap(&g->c, t->layout, sett__mode(&g->c, t->layout, 0)), (sett_dtype)t->dtype, (sett_major)g->atom->major[operand]);
    *d = (described){.operand = operand, .first = SETT__NONE};
    if (x.type < 0)
        return false;
    d->attrs[0] = swizzle[x.type];
    d->attrs[1] = 16 * x.lead;
    d->attrs[2] = 16 * x.stride;
    return true;
}

/* The numbers that add up to a value, so many at most; more: the value itself. */
typedef struct terms {
    uint32_t id[8];
    int n, sums; /* sums: operations seen so far, one fewer than the numbers that they add */
} terms;

static bool find_terms(const sett_build *b, uint32_t id, terms *t)
{
    const sett__op *op = &b->op[id];
    if (op->code == SETT__ADD)
        return ++t->sums < (int)SETT__COUNT(t->id) && find_terms(b, b->arg[op->args], t) && find_terms(b, b->arg[op->args + 1], t);
    t->id[t->n++] = id;
    return true;
}

static sett_arg plus(const sett__gemm *g, sett_arg sum, uint32_t id)
{
    return sett__add_offset(&g->c, sum, sett_arg_v(sett__scalar_val(g->c.b, id)));
}

/* A stage's place is known in the loop, the rest of an offset before it: takes from *base what is known only where all of it is,
 * and gives that in units of 16 bytes. */
static sett_arg take_late(const sett__gemm *g, sett_arg *base, int64_t elements)
{
    sett_build *b = g->c.b;
    terms t = {.n = 0};
    sett_arg early = sett_arg_i(0), late = early;
    const int depth = base->kind == SETT_VALUE ? b->op[base->u.v->id].depth : 0;
    if (!depth || !find_terms(b, base->u.v->id, &t))
        return late;
    for (int i = 0; i < t.n && !b->error.status; i++) {
        const bool is_late = b->op[t.id[i]].depth == depth && sett__know(b, t.id[i]).div % elements == 0;
        *(is_late ? &late : &early) = plus(g, is_late ? late : early, t.id[i]);
    }
    *base = early;
    return sett__div(&g->c, late, sett_arg_i(elements));
}

static uint32_t add_pieces(const sett__gemm *g, uint32_t desc, sett_val *pieces)
{
    const uint32_t args[2] = {desc, pieces->id};
    return sett__record(g->c.b, g->c.site, &(sett__emit){.code = SETT__ADD, .dtype = SETT_U64, .n = 1, .n_args = 2, .args = args});
}

/* The first part's. */
static uint32_t first_descriptor(const sett__gemm *g, const described *d, const sett_tensor *t, sett_arg base, int64_t imm)
{
    sett_build *b = g->c.b;
    sett_arg late = take_late(g, &base, 16 / sett__dtype_bytes((sett_dtype)t->dtype));
    if (b->error.status)
        return SETT__NONE;
    char why[40] = "an operand of wgmma";
    if (d->attrs[0])
        snprintf(why, sizeof why, "a swizzle of %u bytes", 16u << d->attrs[0]);
    if (!sett__smem_aligned(&g->c, t, d->attrs[0] ? 128u << d->attrs[0] : 16, why))
        return SETT__NONE;
    const uint32_t args[2] = {t->root, base.kind == SETT_VALUE ? base.u.v->id : SETT__NONE};
    if (base.kind == SETT_INT)
        imm += base.u.i;
    uint32_t id = sett__record(b, g->c.site, &(sett__emit){.code = SETT__DESC, .dtype = SETT_U64, .n = 1, .imm = imm, .n_args = 2, .args = args, .n_attrs = 3, .attrs = d->attrs});
    return late.kind == SETT_VALUE && !b->error.status ? add_pieces(g, id, sett__to(b, g->c.site, late.u.v, SETT_U64)) : id;
}

static uint32_t descriptor_of(const sett__gemm *g, described *d, int64_t i, int64_t k)
{
    const sett_tensor *t = sett__gemm_part(g, d->operand, -1, i, k);
    sett_build *b = g->c.b;
    sett_arg base;
    int64_t imm;
    if (t->head.poison || !find_start(g, d, t, &base, &imm))
        return SETT__NONE;
    bool near = d->first != SETT__NONE && imm >= d->imm && base.kind == d->base.kind && (base.kind == SETT_INT || base.u.v == d->base.u.v);
    if (near) {
        int64_t pieces = (imm - d->imm) * sett__dtype_bytes((sett_dtype)t->dtype) / 16;
        return pieces ? add_pieces(g, d->first, sett__const_bits(b, g->c.site, SETT_U64, (uint64_t)pieces)) : d->first;
    }
    uint32_t id = first_descriptor(g, d, t, base, imm);
    if (d->first == SETT__NONE)
        *d = (described){d->operand, {d->attrs[0], d->attrs[1], d->attrs[2]}, id, base, imm};
    return id;
}

/* ---- checks ------------------------------------------------------------------------------------------ */
static bool check_flat(const sett__gemm *g, int operand)
{
    SETT__FAIL_IF(g->c.b, g->c.site, g->c.func, !sett__gemm_is_flat(g, operand), false, SETT_E_SHAPE, "the values of an atom in %s %s do not follow each other: sett_make_fragment_%s lays them so",
        sett__gemm_letter(operand), sett__tensor_text(g->c.b, g->t[operand]), sett__gemm_letter(operand == D ? C : operand));
    return true;
}

static bool in_place(const sett__gemm *g)
{
    const sett_tensor *c = g->t[C], *d = g->t[D];
    bool same = c->root == d->root && sett__same_shape(c->layout->stride, d->layout->stride) && c->offset.kind == SETT_INT && sett__is_int(d->offset, c->offset.u.i);
    SETT__FAIL_IF(g->c.b, g->c.site, g->c.func, !same && !g->overwrite, false, SETT_E_ARGUMENT, "%s adds to its accumulator: C %s must be D %s, or .overwrite = true leaves C out", g->atom->name,
        sett__tensor_text(g->c.b, c), sett__tensor_text(g->c.b, d));
    return true;
}

static bool check(const sett__gemm *g)
{
    return in_place(g) && check_flat(g, D) && (g->atom->shared[A] || check_flat(g, A));
}

/* ---- registers in flight (lib/tape/flight.h) ------------------------------------------------------------ */
/* What is known of roots that wgmma or a fence of it was given, by the operations so far. Those in flight are named by a wait, the
 * newest first, in the order in which each first flew. */
typedef struct tracked {
    struct tracked *older;
    uint32_t root;
    bool flew;
    sett__root_state state;
} tracked;
/* An open region. `other` holds the states of roots before the region, since a program may pass it by; behind `else` it holds those at the end of
 * the first branch. */
typedef struct region {
    struct region *outer;
    tracked *other;
} region;
typedef struct flights {
    uint32_t seen; /* operations */
    tracked *newest;
    region *inner;
} flights;

static tracked *find(const flights *f, uint32_t root)
{
    tracked *t = f->newest;
    while (t && t->root != root)
        t = t->older;
    return t;
}

static void put_first(flights *f, tracked *t)
{
    tracked **at = &f->newest;
    while (*at && *at != t)
        at = &(*at)->older;
    if (*at)
        *at = t->older;
    t->older = f->newest;
    f->newest = t;
}

/* Where the build fails, its state is of no use any more. */
static tracked *track(sett_build *b, flights *f, uint32_t root)
{
    tracked *t = find(f, root);
    if (t)
        return t;
    t = sett__new(b, sizeof *t);
    *t = (tracked){.root = root, .state = sett__flight_new(root)};
    if (!b->error.status)
        put_first(f, t);
    return t;
}

static bool is_root(const sett_build *b, uint32_t id)
{
    return id < b->n_op && b->op[id].code == SETT__RMEM;
}

static void begin(sett_build *b, flights *f, uint32_t product, int k)
{
    tracked *t = track(b, f, b->arg[b->op[product].args + (uint32_t)k]);
    if (!t->flew && !b->error.status)
        put_first(f, t);
    t->flew = true;
    sett__flight_begin(&t->state, product, k ? SETT__FACTOR : SETT__SUM);
}

/* An assembler wants a fence in each round of a loop, and behind a wait: what was fenced before is so no more. */
static void touch_all(flights *f, uint32_t op)
{
    for (tracked *t = f->newest; t; t = t->older)
        sett__flight_touch(&t->state, op);
}

/* ---- regions ---- */
static sett__root_state *other_of(sett_build *b, region *r, uint32_t root)
{
    tracked *t = r->other;
    while (t && t->root != root)
        t = t->older;
    if (!t) { /* the root is newer than the region's first operation */
        t = sett__new(b, sizeof *t);
        *t = (tracked){.older = r->other, .root = root, .state = sett__flight_new(root)};
        if (!b->error.status)
            r->other = t;
    }
    return &t->state;
}

static void open_region(sett_build *b, flights *f)
{
    region *r = sett__new(b, sizeof *r);
    if (b->error.status)
        return;
    *r = (region){.outer = f->inner};
    f->inner = r;
    for (tracked *t = f->newest; t; t = t->older)
        *other_of(b, r, t->root) = t->state;
}

/* `else` begins with the states before the `if`. */
static void change_branch(sett_build *b, const flights *f)
{
    for (tracked *t = f->newest; t; t = t->older) {
        sett__root_state *other = other_of(b, f->inner, t->root), was = t->state;
        t->state = *other;
        *other = was;
    }
}

/* Behind a region a root has the join of both states. */
static void close_region(sett_build *b, flights *f)
{
    const sett__op_list ops = {b->op, b->arg};
    for (tracked *t = f->newest; t; t = t->older)
        sett__flight_join(ops, &t->state, other_of(b, f->inner, t->root));
    f->inner = f->inner->outer;
}

static void step_region(sett_build *b, flights *f, int code)
{
    if (code == SETT__IF || code == SETT__FOR || code == SETT__LOOP)
        open_region(b, f);
    else if (f->inner && code == SETT__ELSE)
        change_branch(b, f);
    else if (f->inner && code == SETT__END)
        close_region(b, f);
}

static void step(sett_build *b, flights *f, uint32_t i)
{
    const sett__op *op = &b->op[i];
    const uint32_t *arg = b->arg + op->args;
    if (op->code == SETT__WGMMA) {
        begin(b, f, i, 0);
        if (is_root(b, arg[1]))
            begin(b, f, i, 1);
        return;
    }
    for (tracked *t = op->code == SETT__WGCOMMIT ? f->newest : NULL; t; t = t->older)
        sett__flight_commit(&t->state);
    for (int k = 0; k < op->n_args; k++) {
        tracked *t = !is_root(b, arg[k]) ? NULL : op->code == SETT__WGFENCE ? track(b, f, arg[k]) : find(f, arg[k]);
        if (t && op->code == SETT__WGFENCE)
            sett__flight_fence(&t->state);
        else if (t && op->code == SETT__WGWAIT)
            sett__flight_wait(&t->state);
        else if (t)
            sett__flight_touch(&t->state, i);
    }
    step_region(b, f, op->code);
    if (sett__opens(op->code) || sett__closes(op->code) || op->code == SETT__WHILE || op->code == SETT__WGWAIT)
        touch_all(f, i);
}

/* What is known now. */
static flights *flights_of(sett_build *b)
{
    static const sett__build_slot slot = {.size = sizeof(flights)};
    flights *f = sett__in_slot(b, &slot);
    for (; f->seen < b->n_op && !b->error.status; f->seen++)
        step(b, f, f->seen);
    return f;
}

/* Is operand k of the products fenced, and used by nothing since but products of this kind, as the same operand? */
static bool is_fenced(const sett__gemm *g, uint32_t root, int k)
{
    const sett_build *b = g->c.b;
    const tracked *t = find(flights_of(g->c.b), root);
    if (!t || t->state.touched != SETT__NONE)
        return false;
    if (t->state.flags & SETT__FENCED)
        return true;
    const sett__op *op = &b->op[t->state.by];
    return t->state.flags & (k ? SETT__FACTOR : SETT__SUM) && sett__attr(b->arg, op, SETT__AT_WGMMA_ROW) == g->atom->row &&
           sett__attr(b->arg, op, SETT__AT_WGMMA_N) == g->atom->mnk[1];
}

static void fence(const sett__gemm *g, const uint32_t root[2], int n)
{
    bool fenced = true;
    for (int i = 0; i < n; i++)
        fenced = fenced && is_fenced(g, root[i], i);
    if (!fenced)
        sett__record(g->c.b, g->c.site, &(sett__emit){.code = SETT__WGFENCE, .n_args = n, .args = root});
}

/* ---- products --------------------------------------------------------------------------------------- */
static void one_product(const sett__gemm *g, uint32_t first, uint32_t second, const int64_t at[3])
{
    const sett_mma_atom *a = g->atom;
    const int64_t acc = sett__gemm_place(g, D, at[0], at[1]), from = a->shared[A] ? 0 : sett__gemm_place(g, A, at[0], at[2]);
    const uint32_t adds = g->accumulate && !at[2] ? g->accumulate->id : sett__const_bits(g->c.b, g->c.site, SETT_BOOL, !g->overwrite || at[2])->id;
    const uint32_t args[4] = {g->t[D]->root, first, second, adds};
    const int32_t attrs[] = {a->row, a->mnk[1], (int32_t)acc, (int32_t)from, a->shared[A] && a->major[A], a->major[B], a->negate[A], a->negate[B]};
    sett__record(g->c.b, g->c.site, &(sett__emit){.code = SETT__WGMMA, .n_args = 4, .args = args, .n_attrs = SETT__COUNT(attrs), .attrs = attrs});
}

/* Of one operand: of part i of M or N at k, in place i + k extent. NULL: A is in registers, or the build has failed. */
static uint32_t *descriptors(const sett__gemm *g, int operand, int64_t n)
{
    described d;
    if (!g->atom->shared[operand] || !take_descriptor(g, &d, operand))
        return NULL;
    uint32_t *id = sett__new(g->c.b, (size_t)(n * g->k) * sizeof *id);
    for (int64_t i = 0; i < n * g->k && !g->c.b->error.status; i++)
        id[i] = descriptor_of(g, &d, i % n, i / n);
    return g->c.b->error.status ? NULL : id;
}

/* All descriptors first, then a fence of the registers, so that nothing is between the products. */
static void products(const sett__gemm *g)
{
    const bool held = !g->atom->shared[A];
    const uint32_t roots[2] = {g->t[D]->root, g->t[A]->root};
    const uint32_t *x = descriptors(g, A, g->m), *y = descriptors(g, B, g->n);
    if ((!x && !held) || !y)
        return;
    fence(g, roots, held ? 2 : 1);
    for (int64_t k = 0; k < g->k; k++)
        for (int64_t j = 0; j < g->n; j++)
            for (int64_t i = 0; i < g->m && !g->c.b->error.status; i++)
                one_product(g, x ? x[i + k * g->m] : g->t[A]->root, y[j + k * g->n], (const int64_t[]){i, j, k});
}

const sett__mma_family sett__family_wgmma = {.func = "sett_wgmma", .atom = wgmma, .check = check, .record = products};

/* ---- the calls ------------------------------------------------------------------------------------------- */
void sett_mma_fence_at(sett_site site, const sett_tensor *const *t, int n)
{
    const sett__ctx c = {n > 0 ? sett__home(t[0]) : NULL, site, "sett_mma_fence"};
    for (int i = 0; i < n; i++)
        if (!sett__use_tensor(c.b, site, c.func, t[i]))
            return;
    if (!sett__in_kernel(c.b, site, c.func))
        return;
    uint32_t *root = sett__new(c.b, (size_t)n * sizeof *root);
    for (int i = 0; i < n; i++) {
        SETT__FAIL_IF(c.b, site, c.func, t[i]->space != SETT_RMEM, , SETT_E_SPACE, "%s is in %s: it fences registers; of shared memory sett_fence_view_async_shared is the fence",
            sett__tensor_text(c.b, t[i]), sett__space_name((sett_space)t[i]->space));
        root[i] = t[i]->root;
    }
    sett__record(c.b, site, &(sett__emit){.code = SETT__WGFENCE, .n_args = n, .args = root});
}

void sett_mma_commit_at(sett_site site, sett_build *b)
{
    b = sett__given(b, site, "sett_mma_commit");
    if (!b)
        return;
    sett__record(b, site, &(sett__emit){.code = SETT__WGCOMMIT});
}

void sett_mma_wait_at(sett_site site, sett_build *b, int pending)
{
    enum { MOST = 7 };
    b = sett__given(b, site, "sett_mma_wait");
    if (!b)
        return;
    SETT__FAIL_IF(b, site, "sett_mma_wait", pending < 0 || pending > MOST, , SETT_E_RANGE, "%d groups: 0 to %d may be left pending", pending, MOST);
    int n = 0;
    const tracked *newest = flights_of(b)->newest;
    for (const tracked *t = newest; t; t = t->older)
        n += sett__flight_lands(&t->state, pending);
    uint32_t *root = sett__new(b, (size_t)(n + 1) * sizeof *root);
    n = 0;
    for (const tracked *t = newest; t; t = t->older)
        if (sett__flight_lands(&t->state, pending))
            root[n++] = t->root;
    sett__record(b, site, &(sett__emit){.code = SETT__WGWAIT, .n_args = n, .args = root, .n_attrs = 1, .attrs = &(const int32_t){pending}});
}

void sett_fence_view_async_shared_at(sett_site site, sett_build *b)
{
    enum { ASYNC_SHARED = 1 }; /* sett__proxy_word */
    const uint32_t no_map[2] = {SETT__NONE, SETT__NONE};
    b = sett__given(b, site, "sett_fence_view_async_shared");
    if (b)
        sett__record(b, site, &(sett__emit){.code = SETT__PROXY, .n_args = 2, .args = no_map, .n_attrs = 1, .attrs = &(const int32_t){ASYNC_SHARED}});
}
