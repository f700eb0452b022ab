/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of laws: drawing, shrinking, and the plain arithmetic that they are checked against. See law.h. */
#include "tests/law/law.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const law laws[] = {
#define LAW_ENTRY(name, least, refuses) {#name, law_##name, least, refuses},
    LAW_LIST(LAW_ENTRY)
};
const int n_laws = (int)SETT__COUNT(laws);

/* ---- drawing -------------------------------------------------------------------------------------- */

static uint64_t next_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Past LAW_DRAWS only 0: every law comes to an end on zeros. */
int law_pick(trial *t, int n)
{
    uint32_t x = 0;
    if (t->n_drawn == LAW_DRAWS)
        return 0;
    if (t->n_drawn < t->n_given)
        x = t->given[t->n_drawn] % (uint32_t)n;
    else if (t->seeded)
        x = (uint32_t)(next_random(&t->state) >> 33) % (uint32_t)n;
    t->drawn[t->n_drawn++] = x;
    return (int)x;
}

void law_from_seed(trial *t, uint64_t seed)
{
    *t = (trial){.state = seed, .seeded = true};
}

static void say(trial *t, const char *format, ...) SETT_PRINTF(2, 3);
static void say(trial *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (t->len < LAW_TEXT)
        t->len += (size_t)vsnprintf(t->text + t->len, LAW_TEXT - t->len, format, args);
    va_end(args);
}

void law_note(trial *t, const char *name, sett_arg a)
{
    char text[512];
    sett__arg_str(a, text, sizeof text);
    say(t, "  %s = %s\n", name, text);
}

void law_note_layout(trial *t, const char *name, const sett_layout *l)
{
    law_note(t, name, sett_arg_l(l));
}

void law_fail(trial *t, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!t->failed)
        say(t, "  %s\n", text);
    t->failed = true;
}

/* ---- running --------------------------------------------------------------------------------------- */

void law_run(const law *l, trial *t)
{
    const char *text;
    t->b = sett__build_new(NULL, true);
    if (!t->b)
        abort();
    l->run(t);
    sett_status s = sett_build_status(t->b, &text);
    if (s && !(l->refuses >> s & 1))
        law_fail(t, "%s", text);
    t->refused |= s != SETT_OK;
    sett_build_end(t->b, NULL);
}

static bool fails_with(const law *l, const uint32_t *given, int n, trial *out)
{
    *out = (trial){.given = given, .n_given = n};
    law_run(l, out);
    out->given = NULL;
    return out->failed;
}

/* Without numbers [at, at + n), or with the one at `at` lowered: still a failure? Then that is the case now. */
static bool drop(const law *l, trial *t, int at, int n)
{
    static trial next;
    uint32_t given[LAW_DRAWS];
    memcpy(given, t->drawn, sizeof given);
    memmove(given + at, given + at + n, sizeof *given * (size_t)(t->n_drawn - at - n));
    bool ok = fails_with(l, given, t->n_drawn - n, &next);
    if (ok)
        *t = next;
    return ok;
}

static bool lower(const law *l, trial *t, int at, uint32_t to)
{
    static trial next;
    uint32_t given[LAW_DRAWS];
    if (at >= t->n_drawn || to >= t->drawn[at])
        return false;
    memcpy(given, t->drawn, sizeof given);
    given[at] = to;
    bool ok = fails_with(l, given, t->n_drawn, &next);
    if (ok)
        *t = next;
    return ok;
}

static void shrink(const law *l, trial *t)
{
    bool better = true;
    for (int round = 0; better && round < 20; round++) {
        better = false;
        for (int n = 16; n; n /= 2)
            for (int at = 0; at + n <= t->n_drawn; at++)
                better |= drop(l, t, at, n);
        for (int at = 0; at < t->n_drawn; at++) {
            better |= lower(l, t, at, 0);
            while (at < t->n_drawn && lower(l, t, at, t->drawn[at] / 2))
                better = true;
            while (at < t->n_drawn && t->drawn[at] && lower(l, t, at, t->drawn[at] - 1))
                better = true;
        }
    }
}

static void report(const law *l, uint64_t seed, trial *t)
{
    printf("law %s fails (again: make properties LAW=%s CASES=1 SEED=%" PRIu64 "):\n%s", l->name, l->name, seed, t->text);
    shrink(l, t);
    printf("the smallest like it:\n%s", t->text);
    fflush(stdout); /* the test's process ends without */
}

/* A case that crashes cannot shrink; at least it is named. */
static char running[128];

static void crashed(int sig)
{
    ssize_t ignored = write(STDERR_FILENO, running, strlen(running));
    (void)ignored;
    signal(sig, SIG_DFL);
    raise(sig);
}

bool law_check(const law *l, uint64_t seed, int cases)
{
    static trial t;
    int held = 0;
    signal(SIGFPE, crashed);
    signal(SIGABRT, crashed);
    signal(SIGSEGV, crashed);
    for (int i = 0; i < cases; i++) {
        snprintf(running, sizeof running, "law %s crashes: LAW=%s CASES=1 SEED=%" PRIu64 "\n", l->name, l->name, seed + (uint64_t)i);
        law_from_seed(&t, seed + (uint64_t)i);
        law_run(l, &t);
        held += !t.refused;
        if (t.failed) {
            report(l, seed + (uint64_t)i, &t);
            return false;
        }
    }
    printf("law %s: %d cases from seed %" PRIu64 ", %d of them refused\n", l->name, cases, seed, cases - held);
    if (cases >= 100 && held < cases / 100 * l->least)
        printf("law %s holds for %d of %d cases only\n", l->name, held, cases);
    fflush(stdout);
    return cases < 100 || held >= cases / 100 * l->least;
}

/* ---- plain arithmetic ---------------------------------------------------------------------------------- */

static const law_wide largest = (((law_wide)1 << 126) - 1) * 2 + 1;

law_wide flat_size(const flat *f)
{
    law_wide n = 1;
    for (int i = 0; i < f->n; i++)
        if (__builtin_mul_overflow(n, f->s[i], &n))
            return largest;
    return n;
}

law_wide flat_at(const flat *f, law_wide c)
{
    law_wide v = 0, step;
    for (int i = 0; i < f->n; i++) {
        bool last = i == f->n - 1;
        if (__builtin_mul_overflow(last ? c : c % f->s[i], f->d[i], &step) || __builtin_add_overflow(v, step, &v))
            return largest;
        c /= f->s[i];
    }
    return v;
}

flat flat_of(trial *t, const sett_layout *l)
{
    sett_arg s[LAW_LEAVES], d[LAW_LEAVES];
    flat f = {0};
    if (sett__layout_poison(l) || sett__leaves(l->shape) > LAW_LEAVES) {
        law_fail(t, "no layout, or one of very many modes");
        return f;
    }
    f.n = sett__flat(law_reveal(t, l->shape), s);
    sett__flat(law_reveal(t, l->stride), d);
    for (int i = 0; i < f.n; i++) {
        if (s[i].kind != SETT_INT || d[i].kind != SETT_INT || s[i].path || d[i].path)
            law_fail(t, "mode %d has a leaf that is no number", i);
        f.s[i] = s[i].u.i;
        f.d[i] = d[i].u.i;
    }
    return f;
}

void law_same(trial *t, const char *what, const flat *x, const flat *y)
{
    law_wide n = flat_size(x);
    LAW(t, n == flat_size(y), "%s: sizes %" PRId64 " and %" PRId64, what, (int64_t)n, (int64_t)flat_size(y));
    for (law_wide c = 0; c < n; c += n / LAW_SIZE / 4 + 1) /* of large ones some */
        LAW(t, flat_at(x, c) == flat_at(y, c), "%s: at %" PRId64 " %" PRId64 ", want %" PRId64, what, (int64_t)c,
            (int64_t)flat_at(x, c), (int64_t)flat_at(y, c));
}

static bool mark(uint32_t *seen, uint32_t round, law_wide v, bool *again)
{
    bool inside = v >= 0 && v < LAW_OFFSETS;
    *again = inside && seen[v] == round;
    if (inside)
        seen[v] = round;
    return inside;
}

bool law_is_injective(const flat *f)
{
    static uint32_t seen[LAW_OFFSETS], round;
    bool again;
    round++;
    for (law_wide c = 0; c < flat_size(f); c++)
        if (!mark(seen, round, flat_at(f, c), &again) || again)
            return false;
    return true;
}

bool law_within(const flat *x, int m, const flat *y, int n)
{
    static uint32_t seen[LAW_OFFSETS], round;
    bool again;
    round++;
    for (law_wide c = 0; c < flat_size(y); c++)
        if (!mark(seen, round, flat_at(y, c) / n, &again))
            return false;
    for (law_wide c = 0; c < flat_size(x); c++)
        if (!mark(seen, round, flat_at(x, c) / m, &again) || !again)
            return false;
    return true;
}

/* ---- random layouts ----------------------------------------------------------------------------------------- */

static int64_t extent(trial *t)
{
    static const int64_t of[] = {1, 2, 3, 4, 2, 5, 6, 8, 4, 7, 12, 16};
    return of[law_pick(t, (int)SETT__COUNT(of))];
}

flat flat_any(trial *t, int most)
{
    flat f = {.n = 1 + law_pick(t, most)};
    int64_t size = 1;
    for (int i = 0; i < f.n; i++) {
        f.s[i] = extent(t);
        if (size * f.s[i] > LAW_SIZE)
            f.s[i] = 1;
        size *= f.s[i];
        f.d[i] = law_pick(t, 5) ? (int64_t)1 << law_pick(t, 6) : law_pick(t, 13);
    }
    return f;
}

flat flat_injective(trial *t, int most, int gap)
{
    flat f = flat_any(t, most);
    bool done[LAW_LEAVES] = {0};
    int64_t d = 1;
    for (int k = 0; k < f.n; k++) {
        int i = law_pick(t, f.n);
        while (done[i])
            i = (i + 1) % f.n;
        done[i] = true;
        d *= gap ? 1 + law_pick(t, gap) : 1;
        f.d[i] = d;
        d *= f.s[i];
    }
    return f;
}

flat flat_compact(trial *t, int most)
{
    return flat_injective(t, most, 0);
}

/* A divisor of n, 1 first. */
static int64_t divisor(trial *t, int64_t n)
{
    int64_t of[LAW_SIZE];
    int k = 0;
    for (int64_t d = 1; d <= n && k < LAW_SIZE; d++)
        if (n % d == 0)
            of[k++] = d;
    return of[law_pick(t, k)];
}

flat flat_along(trial *t, const flat *a, int most)
{
    flat f = {.n = 1 + law_pick(t, most)};
    int64_t size = 1;
    for (int i = 0; i < f.n; i++) {
        int mode = law_pick(t, a->n);
        int64_t before = 1;
        for (int k = 0; k < mode; k++)
            before *= a->s[k];
        int64_t skip = divisor(t, a->s[mode]);
        f.d[i] = before * skip;
        f.s[i] = divisor(t, a->s[mode] / skip) * (mode + 1 < a->n && !law_pick(t, 3) ? divisor(t, a->s[mode + 1]) : 1);
        if (size * f.s[i] > LAW_SIZE)
            f.s[i] = 1;
        size *= f.s[i];
    }
    return f;
}

sett__ctx law_ctx(sett_build *b)
{
    return (sett__ctx){b, {"law", "law", 1, 0}, "law"};
}

/* Leaves [at, at + n) as a tuple, or a leaf. */
static void profile(trial *t, sett_build *b, const flat *f, int at, int n, int level, sett_arg *s, sett_arg *d)
{
    sett__ctx c = law_ctx(b);
    if (n == 1 && !(level < 3 && law_pick(t, 8) == 7)) {
        *s = sett_arg_i(f->s[at]);
        *d = sett_arg_i(f->d[at]);
        return;
    }
    sett_arg *ks = sett__kids(&c, n), *kd = sett__kids(&c, n);
    int k = 0;
    for (int i = 0; i < n; k++) {
        int take = level < 3 && law_pick(t, 3) == 2 ? 1 + law_pick(t, n - i) : 1;
        if (take == n)
            take = 1;
        profile(t, b, f, at + i, take, level + 1, &ks[k], &kd[k]);
        i += take;
    }
    *s = sett_arg_n(k, ks);
    *d = sett_arg_n(k, kd);
}

sett_layout *law_layout(trial *t, sett_build *b, const flat *f)
{
    sett_arg s, d;
    profile(t, b, f, 0, f->n, 0, &s, &d);
    return sett__layout(b, s, d);
}

/* ---- run-time leaves -------------------------------------------------------------------------------------------- */

/* A symbol as the library makes them: never negative, 32 bits unless it is wide. */
static sett_arg symbol(trial *t, int64_t v)
{
    char name[16];
    sett_sym_args a = {.size = sizeof a, .name = name, .div = 1};
    a.wide = v > INT32_MAX || law_pick(t, 6) == 5;
    a.div = v ? v < LAW_SIZE ? divisor(t, v) : 1 : 1 + law_pick(t, 8);
    snprintf(name, sizeof name, "s%d", t->first_symbol + t->n_symbol);
    t->value[t->n_symbol++] = v;
    return sett_arg_v(sett_sym_at(SETT_HERE, t->b, &a));
}

sett_arg law_copy(sett_build *b, sett_arg a)
{
    sett__ctx c = law_ctx(b);
    if (a.kind == SETT_LAYOUT)
        return sett_arg_l(law_copied(b, a.u.l));
    if (a.kind != SETT_NODE)
        return a;
    sett_arg *kid = sett__kids(&c, a.rank);
    for (int i = 0; i < a.rank; i++)
        kid[i] = law_copy(b, a.u.kid[i]);
    return sett_arg_n(a.rank, kid);
}

sett_layout *law_copied(sett_build *b, const sett_layout *l)
{
    return sett__layout(b, law_copy(b, l->shape), law_copy(b, l->stride));
}

sett_arg law_hide(trial *t, sett_arg a)
{
    sett__ctx c = law_ctx(t->b);
    if (a.kind == SETT_LAYOUT)
        return sett_arg_l(law_hidden(t, a.u.l));
    if (a.kind == SETT_NODE) {
        sett_arg *kid = sett__kids(&c, a.rank);
        for (int i = 0; i < a.rank; i++)
            kid[i] = law_hide(t, a.u.kid[i]);
        return sett_arg_n(a.rank, kid);
    }
    bool hide = a.kind == SETT_INT && a.u.i >= 0 && t->n_symbol < LAW_SYMBOLS && law_pick(t, 2);
    return hide ? symbol(t, a.u.i) : a;
}

sett_layout *law_hidden(trial *t, const sett_layout *l)
{
    sett_arg shape = law_hide(t, l->shape), stride = law_hide(t, l->stride);
    return sett__layout(t->b, shape, stride);
}

/* As an engine would compute it, 32 bits wide where the op is. False: it depends on more than symbols. */
static bool compute(trial *t, uint32_t id)
{
    const sett_build *b = t->b;
    const sett__op *op = &b->op[id];
    uint64_t in[3];
    if (op->code == SETT__CONST || op->code == SETT__SYM) {
        t->bits[id] = (uint64_t)(op->code == SETT__SYM ? t->value[op->imm] : op->imm);
        return true;
    }
    for (int i = 0; i < op->n_args && i < 3; i++)
        in[i] = t->bits[b->arg[op->args + (uint32_t)i]];
    uint32_t typed = op->code == SETT__SELECT ? id : b->arg[op->args];
    return op->n_args <= 3 && sett__eval((sett__code)op->code, (sett_dtype)b->op[typed].dtype, (sett_dtype)op->dtype,
                                  in, op->n_args, &t->bits[id]);
}

static sett_arg reveal_leaf(trial *t, sett_arg a)
{
    int64_t v = 0, div = sett__leaf_div(a);
    bool ok = t->b->n_op <= LAW_OPS;
    for (; ok && t->n_bits < t->b->n_op; t->n_bits++)
        ok = compute(t, t->n_bits);
    if (ok)
        v = sett__int_of_bits((sett_dtype)a.u.v->dtype, t->bits[a.u.v->id]);
    else
        law_fail(t, "a leaf of it has no value");
    if (div ? v % div != 0 : v != 0)
        law_fail(t, "%" PRId64 " is said to be a multiple of %" PRId64, v, div);
    if (ok && (v < a.u.v->lo || v > a.u.v->hi))
        law_fail(t, "%" PRId64 " is said to be in [%" PRId64 ",%" PRId64 "]", v, a.u.v->lo, a.u.v->hi);
    sett_arg r = sett_arg_i(v);
    r.path = a.path;
    return r;
}

sett_arg law_reveal(trial *t, sett_arg a)
{
    sett__ctx c = law_ctx(t->b);
    if (a.kind == SETT_NODE) {
        sett_arg *kid = sett__kids(&c, a.rank);
        for (int i = 0; i < a.rank; i++)
            kid[i] = law_reveal(t, a.u.kid[i]);
        return sett_arg_n(a.rank, kid);
    }
    return a.kind == SETT_VALUE ? reveal_leaf(t, a) : a;
}
