/* SPDX-License-Identifier: Apache-2.0 */
/* Mbarriers: making them, arriving at them, waiting for their phases. */
#include "async.h"

enum { MOST_COUNT = (1 << 20) - 1 };

/* ---- one of them ---------------------------------------------------------------------------------- */
sett_tensor *sett_make_mbarriers_at(sett_site site, sett_build *b, int n)
{
    b = sett__given(b, site, "sett_make_mbarriers");
    const sett__ctx c = {b, site, "sett_make_mbarriers"};
    if (!sett__in_kernel(b, site, c.func))
        return b ? &b->poison->tensor : NULL;
    return sett__make_mbarriers(&c, n, "mbarriers");
}

sett_tensor *sett__make_mbarriers(const sett__ctx *c, int64_t n, const char *name)
{
    enum { BYTES = 8, MOST = SETT__MAX_SMEM / BYTES };
    sett_build *b = c->b;
    SETT__FAIL_IF(b, c->site, c->func, n < 1 || n > MOST, &b->poison->tensor, SETT_E_RANGE, "%lld mbarriers: 1 to %d", (long long)n, MOST);
    const sett_arg extent = sett_arg_i(n), one = sett_arg_i(1);
    sett_tensor *t = sett__new_object(b, SETT__K_TENSOR, sizeof *t);
    const uint32_t at = sett__smem_alloc(b, c->site, c->func, (uint64_t)n * BYTES, BYTES);
    const sett__head head = t->head;
    *t = (sett_tensor){.head = head, .space = SETT_SMEM, .dtype = SETT_U64, .param = -1, .align = BYTES, .mbarrier = true, .offset = sett_arg_i(0), .name = name,
        .layout = sett__layout(b, sett_arg_n(1, &extent), sett_arg_n(1, &one)),
        .root = sett__record(b, c->site, &(sett__emit){.code = SETT__SMEM, .dtype = SETT_U64, .n = (uint32_t)n, .imm = at, .n_attrs = 1, .attrs = &(const int32_t){1}})};
    return b->error.status ? &b->poison->tensor : t;
}

bool sett__take_bar(const sett__ctx *c, const sett_tensor *t, bool peer, sett__bar *bar)
{
    sett_build *b = c->b;
    if (!sett__use_tensor(b, c->site, c->func, t) || !sett__in_kernel(b, c->site, c->func))
        return false;
    SETT__FAIL_IF(b, c->site, c->func, !t->mbarrier, false, SETT_E_SPACE, "%s is no mbarrier: sett_make_mbarriers makes them", sett__tensor_text(b, t));
    SETT__FAIL_IF(b, c->site, c->func, t->space != SETT_SMEM && !peer, false, SETT_E_SPACE, "the mbarrier is a peer's, at which threads only arrive");
    SETT__FAIL_IF(b, c->site, c->func, !sett__is_int(sett__product(c, t->layout->shape), 1) || t->layout->has_inner, false, SETT_E_SHAPE,
        "%s has not one mbarrier: sett_slice(bars, i) gives one", sett__tensor_text(b, t));
    *bar = (sett__bar){.root = t->root, .base = SETT__NONE, .peer = t->space == SETT_DSMEM};
    sett_arg base = sett__peel(b, t->offset, &bar->imm);
    if (base.kind == SETT_VALUE)
        bar->base = base.u.v->id;
    return !b->error.status && sett__inside(c, t, base, bar->imm, 1, (uint32_t)sizeof(uint64_t));
}

uint32_t sett__record_bar(const sett__ctx *c, const sett__bar *bar, sett__code code, int n_args, const uint32_t *args, int n_attrs, const int32_t *attrs)
{
    enum { MOST = 2 };
    uint32_t all[2 + MOST] = {bar->root, bar->base};
    for (int i = 0; i < n_args && i < MOST; i++)
        all[2 + i] = args[i];
    const bool asks = code == SETT__MBTRY || code == SETT__MBTEST;
    return sett__record(c->b, c->site, &(sett__emit){.code = code, .dtype = asks ? SETT_BOOL : (sett_dtype)0, .n = asks, .imm = bar->imm, .n_args = 2 + n_args, .args = all,
                                           .n_attrs = (uint8_t)n_attrs, .attrs = attrs});
}

/* The call's build and its mbarrier; false: nothing is to be recorded. */
static bool begin(sett__ctx *c, const sett_tensor *t, bool peer, sett__bar *bar)
{
    c->b = sett__home(t);
    return sett__take_bar(c, t, peer, bar);
}

void sett_mbarrier_init_at(sett_site site, const sett_tensor *t, sett_arg count)
{
    sett__ctx c = {NULL, site, "sett_mbarrier_init"};
    sett__bar bar;
    uint32_t n;
    if (!begin(&c, t, false, &bar))
        return;
    SETT__FAIL_IF(c.b, site, c.func, count.kind == SETT_INT && (count.u.i < 1 || count.u.i > MOST_COUNT), , SETT_E_RANGE, "a count of %lld: 1 to %d arrivals end a phase", (long long)count.u.i,
        MOST_COUNT);
    if (sett__int_operand(&c, count, "the count", &n))
        sett__record_bar(&c, &bar, SETT__MBINIT, 1, &n, 0, NULL);
}

void sett_mbarrier_inval_at(sett_site site, const sett_tensor *t)
{
    sett__ctx c = {NULL, site, "sett_mbarrier_inval"};
    sett__bar bar;
    if (begin(&c, t, false, &bar))
        sett__record_bar(&c, &bar, SETT__MBINVAL, 0, NULL, 0, NULL);
}

void sett_cp_async_mbarrier_arrive_at(sett_site site, const sett_tensor *t, bool noinc)
{
    sett__ctx c = {NULL, site, noinc ? "sett_cp_async_mbarrier_arrive_noinc" : "sett_cp_async_mbarrier_arrive"};
    sett__bar bar;
    if (begin(&c, t, false, &bar))
        sett__record_bar(&c, &bar, SETT__CPARRIVE, 0, NULL, 1, &(const int32_t){noinc});
}

/* ---- arrivals ---------------------------------------------------------------------------------------- */
/* The arguments, the mbarrier, and a predicate as operations take it. */
static bool take_arrival(sett__ctx *c, const sett_mbarrier_args *given, sett_mbarrier_args *a, sett__bar *bar, uint32_t *pred)
{
    if (!sett__take_args(c, a, sizeof *a, given))
        return false;
    c->b = sett__home(a->bar);
    *pred = SETT__NONE;
    if (!sett__use_tensor(c->b, c->site, c->func, a->bar) || !sett__use_arg(c->b, c->site, c->func, a->bytes) ||
        (a->pred && !sett__use_val(c->b, c->site, c->func, a->pred)) || !sett__take_bar(c, a->bar, true, bar))
        return false;
    const sett_val *p = a->pred ? sett__need_scalar(c, a->pred, "the predicate", true) : NULL;
    *pred = p ? p->id : SETT__NONE;
    return !a->pred || p;
}

void sett_mbarrier_arrive_at(sett_site site, const sett_mbarrier_args *given)
{
    sett__ctx c = {NULL, site, "sett_mbarrier_arrive"};
    sett_mbarrier_args a;
    sett__bar bar;
    uint32_t args[2] = {SETT__NONE};
    if (!take_arrival(&c, given, &a, &bar, &args[1]))
        return;
    SETT__FAIL_IF(c.b, site, c.func, a.count < 0 || a.count > MOST_COUNT, , SETT_E_RANGE, ".count is %d: 1 to %d arrivals", a.count, MOST_COUNT);
    if (a.count > 1)
        args[0] = sett__const_bits(c.b, site, SETT_I32, (uint64_t)a.count)->id;
    sett__record_bar(&c, &bar, SETT__MBARRIVE, 2, args, 2, (const int32_t[]){bar.peer, a.relaxed});
}

void sett_mbarrier_expect_tx_at(sett_site site, const char *func, bool arrive, const sett_mbarrier_args *given)
{
    sett__ctx c = {NULL, site, func};
    sett_mbarrier_args a;
    sett__bar bar;
    uint32_t args[2];
    if (!take_arrival(&c, given, &a, &bar, &args[1]))
        return;
    SETT__FAIL_IF(c.b, site, func, a.bytes.kind == SETT_INT && (a.bytes.u.i < 0 || a.bytes.u.i > MOST_COUNT), , SETT_E_RANGE, "%lld bytes: 0 to %d are expected at once", (long long)a.bytes.u.i,
        MOST_COUNT);
    if (sett__int_operand(&c, a.bytes, "the number of bytes", &args[0]))
        sett__record_bar(&c, &bar, SETT__MBEXPECT, 2, args, 2, (const int32_t[]){bar.peer, arrive});
}

/* ---- waits -------------------------------------------------------------------------------------------- */
void sett__wait_bar(const sett__ctx *c, const sett__bar *bar, uint32_t parity, bool cluster)
{
    sett_build *b = c->b;
    sett_region r = sett__open_region(b, c->site, &(sett__emit){.code = SETT__LOOP});
    const uint32_t ended = sett__record_bar(c, bar, SETT__MBTRY, 1, &parity, 1, &(const int32_t){cluster});
    const uint32_t again = sett__record(b, c->site, &(sett__emit){.code = SETT__NOT, .dtype = SETT_BOOL, .n = 1, .n_args = 1, .args = &ended});
    sett__record(b, c->site, &(sett__emit){.code = SETT__WHILE, .n_args = 1, .args = &again});
    r.done = true;
    sett_region_end(&r);
}

sett_val *sett_mbarrier_wait_at(sett_site site, sett_mbarrier_ask ask, const sett_tensor *t, const sett_mbarrier_wait_args *given)
{
    static const char *const func[] = {"sett_mbarrier_wait", "sett_mbarrier_try_wait", "sett_mbarrier_test_wait"};
    sett__ctx c = {NULL, site, (unsigned)ask < SETT__COUNT(func) ? func[ask] : func[0]};
    sett_mbarrier_wait_args a;
    sett__bar bar;
    uint32_t parity;
    if (!sett__take_args(&c, &a, sizeof a, given))
        return NULL;
    if (!begin(&c, t, false, &bar))
        return sett__poison_val(c.b);
    SETT__FAIL_IF(c.b, site, c.func, a.phase.kind == SETT_INT && (a.phase.u.i < 0 || a.phase.u.i > 1), &c.b->poison->val, SETT_E_RANGE, "the phase is %lld: a parity is 0 or 1",
        (long long)a.phase.u.i);
    if (!sett__int_operand(&c, a.phase, "the phase", &parity))
        return sett__poison_val(c.b);
    if (ask == SETT_MBARRIER_WAIT) {
        sett__wait_bar(&c, &bar, parity, a.cluster);
        return NULL;
    }
    return sett__scalar_val(c.b, sett__record_bar(&c, &bar, ask == SETT_MBARRIER_TRY_WAIT ? SETT__MBTRY : SETT__MBTEST, 1, &parity, 1, &(const int32_t){a.cluster}));
}

/* ---- one lane of a warp ---------------------------------------------------------------------------------- */
/* Is a Boolean an election, or one and something else? */
static bool elects(const sett_build *b, uint32_t id, int deep)
{
    const sett__op *op = &b->op[id];
    return op->code == SETT__ELECT || (deep && op->code == SETT__AND && (elects(b, b->arg[op->args], deep - 1) || elects(b, b->arg[op->args + 1], deep - 1)));
}

const sett__region *sett__electing(const sett_build *b)
{
    enum { DEEP = 4 };
    for (int i = 0; i < b->depth; i++) {
        const sett__op *op = &b->op[b->region[i].op];
        if (op->code == SETT__IF && elects(b, b->arg[op->args], DEEP))
            return &b->region[i];
    }
    return NULL;
}

uint32_t sett__one_lane(const sett__ctx *c)
{
    sett_build *b = c->b;
    if (b->error.status || !sett__in_kernel(b, c->site, c->func))
        return SETT__NONE;
    const sett__region *r = sett__electing(b);
    SETT__FAIL_IF(b, c->site, c->func, r, SETT__NONE, SETT_E_REGION,
        "the sett_if of %s:%d elects one lane, and this call elects one of a whole warp: leave that sett_if out", r->site.file ? r->site.file : "?", r->site.line);
    sett__async_kept *kept = sett__async_of(b);
    if (!kept->one_lane || !sett__visible(kept->one_lane))
        kept->one_lane = sett__scalar_val(b, sett__record(b, c->site, &(sett__emit){.code = SETT__ELECT, .dtype = SETT_BOOL, .n = 1}));
    return b->error.status ? SETT__NONE : kept->one_lane->id;
}
