/* SPDX-License-Identifier: Apache-2.0 */
/* The layout format: op, flag, inputs, expected, provenance. */
#include "tests/golden/golden.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const sett_site here = {"golden", "golden", 1, 0};

/* ---- run-time values ------------------------------------------------------------------ */

bool golden_begin(run *r)
{
    r->b = sett__build_new(NULL, true);
    return r->b != NULL;
}

void golden_end(run *r)
{
    free(r->spoken);
    sett_build_end(r->b, NULL);
}

/* Behind `?`: marks in braces, then the value unless it is supplied from elsewhere. */
bool golden_dynamic(void *user, const char **at, sett_arg *leaf)
{
    run *r = user;
    char *end = NULL, name[16];
    sett_sym_args a = {.size = sizeof a, .div = 1, .name = name};
    const char *p = *at + 1;
    if (r->n_sym == (int)SETT__COUNT(r->value))
        return false;
    if (*p == '{') {
        a.wide = !strncmp(p, "{i64", 4);
        const char *div = strstr(p, "div=");
        p += strcspn(p, "}") + 1;
        if (div && div < p)
            a.div = strtoll(div + 4, NULL, 10);
    }
    if (r->supply) {
        r->supply += strcspn(r->supply, "-0123456789");
        r->value[r->n_sym] = strtoll(r->supply, &end, 10);
        r->supply = end;
    } else {
        r->value[r->n_sym] = strtoll(p, &end, 10);
        r->unknown[r->n_sym] = end == p;
        p = end;
    }
    snprintf(name, sizeof name, "x%d", r->n_sym++);
    *leaf = sett_arg_v(sett_sym_at(here, r->b, &a));
    *at = p;
    return true;
}

static bool eval(run *r, uint32_t id, int64_t *out)
{
    const sett__op *op = &r->b->op[id];
    int64_t x[3] = {0};
    if (op->code == SETT__SYM) {
        *out = r->value[op->imm];
        return !r->unknown[op->imm];
    }
    if (op->code == SETT__CONST) {
        *out = sett__int_of_bits((sett_dtype)op->dtype, (uint64_t)op->imm);
        return true;
    }
    for (int i = 0; i < op->n_args && i < 3; i++)
        if (!eval(r, r->b->arg[op->args + (uint32_t)i], &x[i]))
            return false;
    switch ((sett__code)op->code) {
    case SETT__ADD: *out = x[0] + x[1]; break;
    case SETT__SUB: *out = x[0] - x[1]; break;
    case SETT__MUL: *out = x[0] * x[1]; break;
    case SETT__DIV: *out = x[1] ? x[0] / x[1] : -1; break;
    case SETT__REM: *out = x[1] ? x[0] % x[1] : x[0]; break;
    case SETT__MIN: *out = x[0] < x[1] ? x[0] : x[1]; break;
    case SETT__MAX: *out = x[0] > x[1] ? x[0] : x[1]; break;
    case SETT__AND: *out = x[0] & x[1]; break;
    case SETT__OR: *out = x[0] | x[1]; break;
    case SETT__XOR: *out = x[0] ^ x[1]; break;
    case SETT__SHL: *out = (int64_t)((uint64_t)x[0] << x[1]); break;
    case SETT__SHR: *out = x[0] >> x[1]; break;
    case SETT__LT: *out = x[0] < x[1]; break;
    case SETT__LE: *out = x[0] <= x[1]; break;
    case SETT__SELECT: *out = x[0] ? x[1] : x[2]; break;
    case SETT__CONVERT: *out = x[0]; break;
    default: return false;
    }
    return true;
}

bool golden_eval(run *r, sett_arg leaf, int64_t *out)
{
    if (leaf.kind == SETT_INT)
        *out = leaf.u.i;
    return leaf.kind == SETT_INT || (leaf.kind == SETT_VALUE && eval(r, leaf.u.v->id, out));
}

/* The same argument with each dynamic leaf as its value, static. */
static sett_arg at_run_time(run *r, sett_arg a)
{
    sett__ctx c = {r->b, here, "golden"};
    if (a.kind == SETT_NODE) {
        sett_arg *kid = sett__kids(&c, a.rank);
        for (int i = 0; i < a.rank; i++)
            kid[i] = at_run_time(r, a.u.kid[i]);
        return sett_arg_n(a.rank, kid);
    }
    if (a.kind == SETT_LAYOUT && !a.u.l->head.poison) {
        sett_layout *l = sett__new_object(r->b, SETT__K_LAYOUT, sizeof *l);
        *l = *a.u.l;
        l->shape = at_run_time(r, l->shape);
        l->stride = at_run_time(r, l->stride);
        l->offset = at_run_time(r, l->offset);
        if (l->has_inner == 2)
            l->inner = at_run_time(r, sett_arg_l(l->inner)).u.l;
        return sett_arg_l(l);
    }
    int64_t v;
    if (a.kind != SETT_VALUE || !golden_eval(r, a, &v))
        return a;
    sett_arg s = sett_arg_i(v);
    s.path = a.path;
    return s;
}

/* ---- texts ------------------------------------------------------------------------------- */

static void no_blanks(char *s)
{
    char *to = s;
    for (; *s; s++)
        if (*s != ' ')
            *to++ = *s;
    *to = 0;
}

static void drop(char *s, const char *from)
{
    char *to = s;
    for (; *s; s++)
        if (!strchr(from, *s))
            *to++ = *s;
    *to = 0;
}

/* Every `?` and its marks followed by the value: both texts have the same leaves in order. */
static void mark_values(const char *traced, const char *plain, char *buf, size_t size)
{
    size_t n = 0;
    while (*traced && n + 32 < size) {
        if (*traced == '?') {
            buf[n++] = '?';
            traced++;
            if (*traced == '{')
                traced += strcspn(traced, "}") + 1;
            while (*plain == '-' || (*plain >= '0' && *plain <= '9') || *plain == '?')
                buf[n] = *plain++, n += buf[n] != '?';
        } else {
            buf[n++] = *traced++;
            plain += *plain != 0;
        }
    }
    buf[n] = 0;
}

void golden_show(run *r, sett_arg a, int how, char *buf, size_t size)
{
    char *traced = malloc(TEXT), *plain = malloc(TEXT);
    if (!traced || !plain)
        abort();
    sett__arg_str(a, traced, TEXT);
    bool ok = a.kind != SETT_POISON && !r->b->error.status;
    sett__arg_str(ok ? at_run_time(r, a) : a, plain, TEXT);
    drop(plain, "?"); /* a value that is not known leaves nothing */
    char *t = traced; /* blanks inside marks go too */
    no_blanks(t);
    no_blanks(plain);
    if (how == SHOW_PLAIN || !ok)
        snprintf(buf, size, "%s", plain);
    else
        mark_values(traced, plain, buf, size);
    free(traced);
    free(plain);
}

bool golden_same_text(const char *a, const char *b)
{
    while (*a && *b) {
        bool dynamic = *b == '?';
        if (*a == '?' && !dynamic)
            return false;
        a += *a == '?';
        b += dynamic;
        size_t na = strspn(a, "-0123456789"), nb = strspn(b, "-0123456789");
        if (na || nb) { /* no number behind their `?`: any will do */
            if (!(dynamic && !nb) && na && (na != nb || memcmp(a, b, na)))
                return false;
            a += na;
            b += nb;
        } else if (!dynamic && *a++ != *b++) {
            return false;
        }
    }
    return *a == *b;
}

/* The next number that is not behind a `?`; NULL at the end. */
static const char *next_static(const char *s, int *len)
{
    for (; *s; s++) {
        size_t n = strspn(s, "-0123456789");
        if (n && s[-1] != '?') {
            *len = (int)n;
            return s;
        }
        s += n ? n - 1 : 0;
    }
    return NULL;
}

/* Has it a `?` with no value behind? */
static bool unvalued(const char *text)
{
    for (text = strchr(text, '?'); text; text = strchr(text + 1, '?'))
        if (!text[1] || !strchr("-0123456789", text[1]))
            return true;
    return false;
}

/* Where the values are not given, only which leaves are static can be compared. */
static bool same_statics(const char *ours, const char *theirs)
{
    int na = 0, nb = 0;
    const char *a = next_static(ours + 1, &na), *b = next_static(theirs + 1, &nb);
    if (!unvalued(theirs))
        return false;
    while (a && b && na == nb && !memcmp(a, b, (size_t)na)) {
        a = next_static(a + na, &na);
        b = next_static(b + nb, &nb);
    }
    return !a && !b;
}

static bool same_value(sett_arg a, sett_arg b)
{
    if (a.kind == SETT_NODE && b.kind == SETT_NODE) {
        int n = a.rank > b.rank ? a.rank : b.rank;
        for (int i = 0; i < n; i++) /* trailing zeros of a coordinate do not matter */
            if (!same_value(i < a.rank ? a.u.kid[i] : sett_arg_i(0), i < b.rank ? b.u.kid[i] : sett_arg_i(0)))
                return false;
        return true;
    }
    if (a.kind == SETT_NODE || b.kind == SETT_NODE) {
        sett_arg node = a.kind == SETT_NODE ? a : b, leaf = a.kind == SETT_NODE ? b : a;
        for (int i = 0; i < node.rank; i++)
            if (!same_value(node.u.kid[i], sett_arg_i(0)))
                return false;
        return sett__is_int(leaf, 0);
    }
    return a.kind == SETT_INT && b.kind == SETT_INT && a.u.i == b.u.i;
}

enum { MOST_COMPARED = 1 << 22 }; /* elements, one by one */
static bool same_layout(const sett__ctx *c, const sett_layout *a, const sett_layout *b)
{
    sett_arg n = sett_size_layout(a);
    if (n.kind != SETT_INT || !sett__is_int(sett_size_layout(b), n.u.i) || n.u.i > MOST_COMPARED)
        return false;
    for (int64_t i = 0; i < n.u.i; i++)
        if (!same_value(sett__layout_at(c, a, sett_arg_i(i)), sett__layout_at(c, b, sett_arg_i(i))))
            return false;
    return true;
}

/* Nothing is in a layout with an extent of 0; we do not make such, but run-time numbers can. */
static bool is_empty(const char *text)
{
    run r = {0};
    if (!golden_begin(&r))
        return false;
    sett__parse(&(sett__ctx){r.b, here, "golden"}, text, NULL, NULL);
    bool empty = r.b->error.status == SETT_E_SHAPE;
    golden_end(&r);
    return empty;
}

bool golden_same_function(const char *ours, const char *theirs)
{
    run r = {0};
    if (is_empty(ours) && is_empty(theirs))
        return true;
    if (!golden_begin(&r))
        return false;
    sett__ctx c = {r.b, here, "golden"};
    sett_arg a = sett__parse(&c, ours, NULL, NULL), b = sett__parse(&c, theirs, NULL, NULL);
    bool same = false;
    if (a.kind == SETT_LAYOUT && b.kind == SETT_LAYOUT && !r.b->error.status) {
        const sett_layout *x = a.u.l, *y = b.u.l;
        same = same_layout(&c, x, y);
        int n = sett_rank_layout(x); /* where the top ranks agree, so must each mode */
        for (int i = 0; same && !x->has_inner && !y->has_inner && n > 1 && n == sett_rank_layout(y) && i < n; i++)
            same = same_layout(&c, sett__mode(&c, x, i), sett__mode(&c, y, i));
    } else if (!r.b->error.status) {
        same = same_value(a, b);
    }
    golden_end(&r);
    return same;
}

/* ---- running a line ------------------------------------------------------------------------- */

static bool read_inputs(run *r, char **field, int n)
{
    sett__ctx c = {r->b, here, "golden"};
    for (int i = 0; i < n; i++) {
        r->text[i] = field[i];
        bool bare = field[i][0] == 'S' && !strchr(field[i], 'o'); /* a swizzle alone */
        r->in[i] = bare ? sett_arg_i(0) : sett__parse(&c, field[i], golden_dynamic, r);
    }
    r->n = n;
    return !r->b->error.status;
}

/* exact: the text itself, not what it means. */
static bool split_equal(run *r, int flag, bool dynamic, bool exact, char *got, const char *expected)
{
    char theirs[2][TEXT / 8], *semi = strchr(expected, ';');
    bool tiler = strchr(expected, '[') != NULL, ok = true;
    if (semi && !tiler && r->n_out == 2) {
        snprintf(theirs[0], sizeof theirs[0], "%.*s", (int)(semi - expected), expected);
        snprintf(theirs[1], sizeof theirs[1], "%s", semi + 1);
    } else {
        snprintf(theirs[0], sizeof theirs[0], "%s", expected);
    }
    *got = 0;
    for (int i = 0; i < r->n_out; i++) {
        char ours[TEXT / 8];
        golden_show(r, r->out[i], SHOW_VALUES, ours, sizeof ours);
        snprintf(got + strlen(got), TEXT / 2 - strlen(got), "%s%s", i ? ";" : "", ours);
        bool same = exact ? !strcmp(ours, theirs[i]) : golden_same_text(ours, theirs[i]);
        if (!same && !exact && (flag == '~' || dynamic || i == 1)) {
            same = ours[0] == '(' && theirs[i][0] == '(' && same_statics(ours, theirs[i]);
            drop(ours, "?");
            drop(theirs[i], "?");
            same = same || golden_same_function(ours, theirs[i]);
        }
        ok = ok && same;
    }
    return ok;
}

bool golden_not_composition(const char *left, const char *right, const char *expected)
{
    run r = {0};
    bool wrong = false;
    if (!golden_begin(&r))
        return false;
    sett__ctx c = {r.b, here, "golden"};
    sett_arg a = sett__parse(&c, left, NULL, NULL), b = sett__parse(&c, right, NULL, NULL);
    sett_arg e = sett__parse(&c, expected, NULL, NULL);
    if (a.kind == SETT_LAYOUT && b.kind == SETT_LAYOUT && e.kind == SETT_LAYOUT && !r.b->error.status) {
        sett_arg n = sett_size_layout(b.u.l);
        for (int64_t i = 0; n.kind == SETT_INT && n.u.i <= MOST_COMPARED && i < n.u.i && !wrong; i++)
            wrong = !same_value(sett__layout_at(&c, e.u.l, sett_arg_i(i)),
                sett__layout_at(&c, a.u.l, sett__layout_at(&c, b.u.l, sett_arg_i(i))));
    }
    golden_end(&r);
    return wrong;
}

/* Does `expected` put two different (block, copy) pairs of a product at one offset? Then to refuse is right. */
static bool product_overlaps(const char *block, const char *tiler, const char *expected)
{
    enum { LARGEST = 2048 };
    run r = {0};
    bool overlaps = false;
    if (!golden_begin(&r))
        return false;
    sett__ctx c = {r.b, here, "golden"};
    sett_arg in[3] = {sett__parse(&c, block, NULL, NULL), sett__parse(&c, tiler, NULL, NULL), sett__parse(&c, expected, NULL, NULL)};
    if (in[0].kind == SETT_LAYOUT && in[1].kind == SETT_LAYOUT && in[2].kind == SETT_LAYOUT && !r.b->error.status) {
        int64_t n = sett_size_layout(in[0].u.l).u.i, all = sett_size_layout(in[2].u.l).u.i;
        static int64_t v[3][LARGEST];
        for (int64_t i = 0; i < all && all <= LARGEST; i++) {
            v[0][i] = sett__layout_at(&c, in[0].u.l, sett_arg_i(i % n)).u.i;
            v[1][i] = sett__layout_at(&c, in[1].u.l, sett_arg_i(i / n)).u.i;
            v[2][i] = sett__layout_at(&c, in[2].u.l, sett_arg_i(i)).u.i;
            for (int64_t k = 0; k < i && !overlaps; k++)
                overlaps = v[2][i] == v[2][k] && (v[0][i] != v[0][k] || v[1][i] != v[1][k]);
        }
    }
    golden_end(&r);
    return overlaps;
}

/* The two operations whose stored answer is not always what it should be: is this one such line? */
static bool expected_is_wrong(char **field, const char *expected)
{
    if (!strcmp(field[0], "composition"))
        return golden_not_composition(field[2], field[3], expected);
    bool product = !strcmp(field[0], "logical_product") || !strcmp(field[0], "zipped_product");
    return product && product_overlaps(field[2], field[3], expected);
}

/* Runs the operation; false: it is not known, or gave poison without an error. */
static bool run_line(run *r, char **field, int n)
{
    bool known = true;
    if (golden_is_atom_op(field[0]))
        known = golden_atom_op(r, field[0], field + 2, n - 4);
    else if (read_inputs(r, field + 2, n - 4))
        known = golden_op(r, field[0]);
    for (int i = 0; i < r->n_out; i++)
        if ((r->out[i].kind == SETT_POISON && sett__use_arg(r->b, here, field[0], r->out[i])) || (r->out[i].kind == SETT_LAYOUT && sett__layout_poison(r->out[i].u.l)))
            known = known && r->b->error.status;
    return known;
}

static bool well_formed(tally *t, const char *file, int line, char **field, int n)
{
    if (n >= 5 && strlen(field[1]) == 1)
        return true;
    golden_verdict(t, false, file, line, field, n, "a line that is not in this format");
    return false;
}

/* "cpp=A;cg=B;py=C", or one system's A: those that give what we give. Theirs may hold `;` between two results. */
static void who_agrees(run *r, bool dynamic, const char *expected, char *who, size_t size)
{
    static const char *const systems[] = {"cpp=", ";cg=", ";py="}, *const names[] = {"cpp", "cg", "py"};
    static char part[TEXT], got[TEXT];
    who[0] = 0;
    bool one = strncmp(expected, "cpp=", 4) != 0;
    for (size_t i = 0; i < (one ? 1 : SETT__COUNT(systems)); i++) {
        const char *from = one ? expected : strstr(expected, systems[i]);
        const char *to = !one && i + 1 < SETT__COUNT(systems) && from ? strstr(from, systems[i + 1]) : NULL;
        if (!from)
            continue;
        from += one ? 0 : strlen(systems[i]);
        snprintf(part, sizeof part, "%.*s", to ? (int)(to - from) : (int)strlen(from), from);
        bool refused = !strncmp(part, "reject", 6);
        if (strcmp(part, "-") && (r->b->error.status ? refused : !refused && split_equal(r, '~', dynamic, false, got, part)))
            snprintf(who + strlen(who), size - strlen(who), "%s%s", who[0] ? "," : "as ", names[one ? 1 : i]);
    }
}

void golden_divergent_line(tally *t, const char *file, int line, char **field, int n)
{
    static char got[TEXT], who[64];
    run r = {0};
    if (n == 9 && field[0][0] == '(') { /* the other formats with a file of this name */
        golden_dlpack_divergent_line(t, file, line, field, n);
        return;
    }
    if (strstr(file, "print/")) {
        golden_print_divergent_line(t, file, line, field, n);
        return;
    }
    if (golden_is_right_line(field, n)) {
        golden_right_line(t, file, line, field, n);
        return;
    }
    if (n > 1 && strlen(field[1]) > 1) {
        golden_dynamic_divergent_line(t, file, line, field, n);
        return;
    }
    if (!well_formed(t, file, line, field, n) || !golden_begin(&r))
        return;
    bool dynamic = false, known = run_line(&r, field, n);
    for (int i = 2; i < n - 2; i++)
        dynamic = dynamic || strchr(field[i], '?');
    if (!known)
        snprintf(got, sizeof got, "no such operation, or poison without an error");
    else if (r.b->error.status)
        golden_refusal("refused:", r.b->error.text, got, sizeof got);
    else
        split_equal(&r, '?', false, true, got, "");
    who_agrees(&r, dynamic, field[n - 2], who, sizeof who);
    char *key[MOST_FIELDS] = {field[0]};
    for (int i = 2; i < n - 2; i++)
        key[i - 1] = field[i];
    golden_answer(t, file, line, key, n - 3, got, who[0] ? who : "own");
    golden_end(&r);
}

void golden_layout_line(tally *t, const char *file, int line, char **field, int n)
{
    static char got[TEXT];
    run r = {0};
    if (!well_formed(t, file, line, field, n))
        return;
    char flag = field[1][0], *expected = field[n - 2];
    if (!golden_begin(&r)) {
        golden_verdict(t, false, file, line, field, n, "out of memory");
        return;
    }
    bool dynamic = false, ok, known = run_line(&r, field, n);
    for (int i = 2; i < n - 2; i++)
        dynamic = dynamic || strchr(field[i], '?');
    bool inexact = strstr(file, "inexact") != NULL; /* refusing these is right as well */
    if (!known) {
        snprintf(got, sizeof got, "no such operation, or poison without an error");
        ok = false;
    } else if (r.b->error.status) {
        snprintf(got, sizeof got, "error: %s", r.b->error.text);
        ok = (flag == '!' && strstr(r.b->error.text, expected)) || (flag != '!' && (inexact || expected_is_wrong(field, expected)));
    } else if (unvalued(expected) && r.n_out == 1 && r.out[0].kind == SETT_LAYOUT && r.out[0].u.l->has_inner && !strchr(expected, 'o')) {
        golden_aside(t, "a swizzle went into strides whose values are not given");
        golden_end(&r);
        return;
    } else if (r.spoken) {
        snprintf(got, sizeof got, "%s", r.spoken);
        ok = flag == '=' && !strcmp(got, expected);
    } else {
        bool same = split_equal(&r, flag, dynamic, strstr(field[n - 1], "seed") != NULL, got, expected);
        ok = flag != '!' && same;
    }
    golden_verdict(t, ok, file, line, field, n, got);
    golden_end(&r);
}
