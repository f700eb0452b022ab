/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic format: op, expression, inputs (TRACED|RUN), result while tracing, result at run time,
 * provenance. A line passes if our result is the same function at run time, and while tracing static
 * wherever theirs is and known to be divided by what theirs is. What they refuse we may refuse, or
 * answer as on static leaves. */
#include "tests/golden/golden.h"
#include <stdlib.h>
#include <string.h>

/* How an operation reads as one of the layout format: $n is input n, $ns its shape, $nd its stride. */
static const struct {
    const char *op, *expression, *as, *arg[3]; /* expression NULL: any */
} forms[] = {
    {"coalesce", 0, "coalesce", {"$0"}},
    {"coalesce_prof", 0, "coalesce_by", {"$0", "(1,1)"}},
    {"flatten", 0, "flatten", {"$0"}},
    {"filter", 0, "filter", {"$0"}},
    {"filter_zeros", 0, "filter_zeros", {"$0"}},
    {"size", 0, "size", {"$0"}},
    {"cosize", 0, "cosize", {"$0"}},
    {"cosize0", 0, "cosize_mode", {"$0", "(0)"}},
    {"leading_dim", 0, "leading_dim", {"$0"}},
    {"elem_less", 0, "all_less", {"$0", "$1"}},
    {"size0", 0, "size_mode", {"$0", "(0)"}},
    {"size1", 0, "size_mode", {"$0", "(1)"}},
    {"shape", 0, "flatten_none", {"$0s"}},
    {"stride", 0, "flatten_none", {"$0d"}},
    {"make_layout_like", 0, "make_layout_like", {"$0"}},
    {"right_inverse", 0, "right_inverse", {"$0"}},
    {"left_inverse", 0, "left_inverse", {"$0"}},
    {"nullspace", 0, "nullspace", {"$0"}},
    {"get0", 0, "get", {"$0", "(0)"}},
    {"append", "append(x0,make_layout(3))", "append", {"$0", "3:1"}},
    {"append", "append(make_layout(2),x0)", "append", {"2:1", "$0"}},
    {"prepend", "prepend(x0,make_layout(3))", "prepend", {"$0", "3:1"}},
    {"make_layout", 0, "make_layout", {"$0s"}},
    {"make_identity_layout", 0, "make_identity_layout", {"$0"}},
    {"make_ordered_layout", 0, "make_ordered_layout", {"$0", "$1"}},
    {"select", "select(x0,mode=[1,0])", "select", {"$0", "(1,0)"}},
    {"select", "select(x0,mode=[1])", "select", {"$0", "(1)"}},
    {"group_modes", "group_modes(x0,0,2)", "group_modes", {"$0", "0", "2"}},
    {"slice", 0, "slice", {"$1", "$0"}},
    {"dice", 0, "dice", {"$1", "$0"}},
    {"crd2idx", 0, "eval", {"$0", "$1"}},
    {"call", 0, "eval", {"$0", "$1"}},
    {"idx2crd", "idx2crd(5,x0)", "idx2crd", {"5", "$0"}},
    {"idx2crd", "idx2crd(x1,x0)", "idx2crd", {"$1", "$0"}},
    {"composition", 0, "composition", {"$0", "$1"}},
    {"complement", 0, "complement", {"$0", "$1"}},
    {"logical_divide", 0, "logical_divide", {"$0", "$1"}},
    {"zipped_divide", 0, "zipped_divide", {"$0", "$1"}},
    {"tiled_divide", 0, "tiled_divide", {"$0", "$1"}},
    {"flat_divide", 0, "flat_divide", {"$0", "$1"}},
    {"logical_product", 0, "logical_product", {"$0", "$1"}},
    {"zipped_product", 0, "zipped_product", {"$0", "$1"}},
    {"tiled_product", 0, "tiled_product", {"$0", "$1"}},
    {"flat_product", 0, "flat_product", {"$0", "$1"}},
    {"blocked_product", 0, "blocked_product", {"$0", "$1"}},
    {"raked_product", 0, "raked_product", {"$0", "$1"}},
    {"local_tile", 0, "local_tile", {"$0", "$1", "$2"}},
    {"local_partition", 0, "local_partition", {"$0", "$1", "$2"}},
    {"product", 0, "product", {"$0"}},
    {"ceil_div", 0, "ceil_div", {"$0", "$1"}},
    {"round_up", 0, "round_up", {"$0", "$1"}},
    {"shape_div", 0, "shape_div", {"$0", "$1"}},
    {"recast_layout", "cute.recast_layout(16,32,x0)", "recast_layout", {"16", "32", "$0"}},
    {"recast_layout", "cute.recast_layout(32,16,x0)", "recast_layout", {"32", "16", "$0"}},
    {"tile_to_shape", 0, "tile_to_shape", {"(2,4):(4,1)", "$0s", "(0,1)"}},
    {"max_common_layout", 0, "max_common_layout", {"$0", "(4,8):(1,4)"}},
    {"max_common_vector", 0, "max_common_vector", {"$0", "(4,8):(1,4)"}},
    {"swizzle_compose", 0, "flatten_none", {"S<2,3,3>o0o$0"}},
    {"swizzle_compose_off", 0, "flatten_none", {"S<2,3,3>o?|8o$0"}},
    {"swizzle_divide", 0, "zipped_divide", {"S<2,3,3>o0o$0", "(2,4)"}},
    {"swizzle_coalesce", 0, "coalesce", {"S<2,3,3>o0o$0"}},
};

/* Arithmetic on one run-time integer: its form is the expression itself. */
enum { SCALAR = 1000 };
static const struct {
    const char *before, *after; /* around the constant, or (no constant) the whole */
    sett_binary_op op;
} scalars[] = {{"x0+", "", SETT_ADD}, {"", "+x0", SETT_ADD}, {"x0-", "", SETT_SUB}, {"x0*", "", SETT_MUL}, {"", "*x0", SETT_MUL},
    {"x0//", "", SETT_FLOORDIV}, {"x0%", "", SETT_MOD}, {"x0<<", "", SETT_SHL}, {"x0>>", "", SETT_SHR}};

static sett_arg scalar_result(run *r, const char *expression)
{
    const sett_site here = {"golden", "golden", 1, 0};
    sett_arg x = r->in[0];
    long long c;
    int end = 0;
    if (!strcmp(expression, "-x0"))
        return sett_index_at(here, "sett_sub", SETT_SUB, sett_arg_i(0), x);
    if (sscanf(expression, "assume(x0,%lld)%n", &c, &end) == 1 && !expression[end])
        return sett_arg_v(sett_assume_at(here, x.u.v, c));
    if (sscanf(expression, "assume(x0*2,%lld)%n", &c, &end) == 1 && end && !expression[end])
        return sett_arg_v(sett_assume_at(here, sett_index_at(here, "sett_mul", SETT_MUL, x, sett_arg_i(2)).u.v, c));
    for (size_t i = 0; i < SETT__COUNT(scalars); i++) {
        size_t n = strlen(scalars[i].before);
        char *behind;
        if (strncmp(expression, scalars[i].before, n))
            continue;
        bool itself = n && !strcmp(expression + n, "x0");
        c = strtoll(expression + n, &behind, 10);
        if (!itself && (behind == expression + n || strcmp(behind, scalars[i].after)))
            continue;
        sett_arg y = itself ? x : sett_arg_i(c);
        return n ? sett_index_at(here, "golden", scalars[i].op, x, y) : sett_index_at(here, "golden", scalars[i].op, y, x);
    }
    return (sett_arg){.kind = SETT_POISON};
}

static int find_form(const char *op, const char *expression)
{
    if (!strncmp(op, "scalar:", 7))
        return SCALAR;
    for (size_t i = 0; i < SETT__COUNT(forms); i++)
        if (!strcmp(forms[i].op, op) && (!forms[i].expression || !strcmp(forms[i].expression, expression)))
            return (int)i;
    return -1;
}

/* One half (0 traced, 1 run) of an input. */
static void half(const char *input, int which, char *buf, size_t size)
{
    const char *bar = strchr(input, '|');
    if (!bar)
        snprintf(buf, size, "%s", input);
    else if (which)
        snprintf(buf, size, "%s", bar + 1);
    else
        snprintf(buf, size, "%.*s", (int)(bar - input), input);
}

static void build_text(const char *form, char **field, int which, char *buf, size_t size)
{
    char part[512];
    const char *dollar = strchr(form, '$');
    if (!dollar) {
        snprintf(buf, size, "%s", form);
        return;
    }
    char lead[64];
    snprintf(lead, sizeof lead, "%.*s", (int)(dollar - form), form);
    if (strstr(lead, "?|8")) /* an offset with a run-time value of 8 */
        snprintf(lead, sizeof lead, "%s", which ? "S<2,3,3>o8o" : "S<2,3,3>o?o");
    half(field[2 + (dollar[1] - '0')], which, part, sizeof part);
    char *colon = strchr(part, ':');
    const char *from = part;
    if (dollar[2] == 's' && colon)
        *colon = 0;
    if (dollar[2] == 'd' && colon)
        from = colon + 1;
    snprintf(buf, size, "%s%s", lead, from);
}

/* Runs the operation on one half of the inputs. False: not done; why in got. */
static bool evaluate(run *r, int form, char **field, int which, char *plain, char *traced, size_t size)
{
    char text[640], values[640];
    sett__ctx c = {r->b, {"golden", "golden", 1, 0}, "golden"};
    static const char *const one[3] = {"$0"};
    const char *const *arg = form == SCALAR ? one : forms[form].arg, *as = form == SCALAR ? "scalar" : forms[form].as;
    for (int i = 0; i < 3 && arg[i]; i++) {
        build_text(arg[i], field, which, text, sizeof text);
        build_text(arg[i], field, 1, values, sizeof values);
        /* Only the numbers that stand where `?` does: walk both texts together. */
        static char supply[640];
        size_t n = 0;
        const char *v = values;
        for (const char *t = text; *t && n + 24 < sizeof supply;) {
            size_t digits = strspn(v, "-0123456789");
            if (*t == '?') {
                n += (size_t)snprintf(supply + n, sizeof supply - n, "%.*s ", (int)digits, v);
                v += digits;
                t += 1 + (t[1] == '{' ? strcspn(t, "}") : 0);
            } else {
                t++;
                v += *v != 0;
            }
        }
        supply[n] = 0;
        r->supply = supply;
        r->in[i] = sett__parse(&c, text, golden_dynamic, r);
        r->n = i + 1;
    }
    if (r->b->error.status)
        return false;
    /* Python's ceil_div of a tuple by a number divides its size. */
    if (!strcmp(field[0], "ceil_div") && r->in[0].kind == SETT_NODE && r->in[1].kind != SETT_NODE)
        r->in[0] = sett__product(&c, r->in[0]);
    if (form == SCALAR)
        r->out[r->n_out++] = scalar_result(r, field[1]);
    else if (!strcmp(as, "flatten_none"))
        r->out[r->n_out++] = r->in[0];
    else if (!golden_op(r, as))
        return false;
    if (r->b->error.status || !r->n_out)
        return false;
    golden_show(r, r->out[0], SHOW_PLAIN, plain, size);
    sett__arg_str(r->out[0], traced, size);
    return true;
}

static void no_blanks(char *s)
{
    char *to = s;
    bool inside = false;
    for (; *s; s++) {
        inside = *s == '{' || (inside && *s != '}');
        if (*s != ' ' || inside)
            *to++ = *s;
    }
    *to = 0;
}

static long div_of(const char *mark)
{
    const char *end = strchr(mark, '}'), *div = strstr(mark, "div=");
    long n = *mark == '{' && end && div && div < end ? strtol(div + 4, NULL, 10) : 1;
    return n > 0 ? n : 1;
}

/* Leaf by leaf while the profiles agree; false if a leaf of ours is known less. */
static bool as_strong(const char *a, const char *b)
{
    while (*a && *b) {
        bool da = *a == '?', db = *b == '?';
        if (da && (db || strchr("-0123456789", *b))) {
            if (!db)
                return false;
            long x = div_of(a + 1), y = div_of(b + 1);
            if (x % y)
                return false;
        } else if (!da && !db && *a != *b && !strchr("-0123456789", *a)) {
            return true; /* another profile: the run-time comparison decides */
        }
        a += da ? 1 + (a[1] == '{' ? strcspn(a, "}") : 0) : 0;
        b += db ? 1 + (b[1] == '{' ? strcspn(b, "}") : 0) : 0;
        size_t na = strspn(a, "-0123456789"), nb = strspn(b, "-0123456789");
        a += na ? na : !da && *a;
        b += nb ? nb : !db && *b;
    }
    return true;
}

static bool same_result(const char *ours, const char *theirs)
{
    return !strcmp(ours, theirs) || golden_same_function(ours, theirs);
}

static bool not_composition(char **field)
{
    char a[512], b[512];
    half(field[2], 1, a, sizeof a);
    half(field[3], 1, b, sizeof b);
    return golden_not_composition(a, b, field[5]);
}

/* Would the launch with these values be refused? */
static bool launch_refuses(const run *r, char *got, size_t size)
{
    for (const sett__check *k = r->b->sig.check; k < r->b->sig.check + r->b->sig.n_check; k++) {
        int64_t v;
        if (sett__expr_eval(&r->b->sig, k->expr, r->value, NULL, &v) && !v)
            continue;
        golden_refusal("refused at launch:", k->text, got, size);
        return true;
    }
    return false;
}

/* Where theirs is not what static leaves give: ours is that, or is refused, while building or at launch. */
void golden_dynamic_divergent_line(tally *t, const char *file, int line, char **field, int n)
{
    static char plain[TEXT], traced[TEXT], fixed[TEXT], other[TEXT], got[2 * TEXT];
    run r = {0}, s = {0};
    int form = n >= 6 ? find_form(field[0], field[1]) : -1;
    if (form < 0) {
        golden_aside(t, "pointers and expressions that are no operation on layouts");
        return;
    }
    if (!golden_begin(&r) || !golden_begin(&s))
        return;
    bool done = evaluate(&r, form, field, 0, plain, traced, TEXT), done_static = evaluate(&s, form, field, 1, fixed, other, TEXT);
    const char *who = "as static leaves";
    if (!done)
        golden_refusal("refused:", r.b->error.text, got, sizeof got);
    else if (!launch_refuses(&r, got, sizeof got))
        snprintf(got, sizeof got, "%s", traced);
    bool refused = !done || !strncmp(got, "refused", 7);
    bool ok = refused || (done_static && same_result(plain, fixed));
    if (refused)
        who = done_static ? "static leaves give another" : "static leaves are refused too";
    char *key[MOST_FIELDS] = {field[0]};
    int inputs = n - 5;
    for (int i = 0; i < inputs; i++)
        key[i + 1] = field[i + 2];
    if (ok)
        golden_answer(t, file, line, key, inputs + 1, got, who);
    else
        golden_verdict(t, false, file, line, field, n, "neither a refusal nor what static leaves give");
    golden_end(&r);
    golden_end(&s);
}

void golden_dynamic_line(tally *t, const char *file, int line, char **field, int n)
{
    static char plain[TEXT], traced[TEXT], got[2 * TEXT + 64];
    int form = n >= 6 ? find_form(field[0], field[1]) : -1;
    bool refused = n >= 6 && !strcmp(field[n - 3], "!");
    if (form < 0 || (refused && !strcmp(field[n - 2], "verify"))) {
        golden_aside(t, form < 0 ? "pointers and expressions that are no operation on layouts"
                                 : "refused there when the finished program is checked: its inputs are expressions");
        return;
    }
    run r = {0}, s = {0};
    if (!golden_begin(&r))
        return;
    bool done = evaluate(&r, form, field, 0, plain, traced, TEXT), ok;
    no_blanks(field[n - 3]);
    no_blanks(field[n - 2]);
    no_blanks(traced);
    if (!done) {
        snprintf(got, sizeof got, "error: %s", r.b->error.text);
        ok = refused || (!strcmp(field[0], "composition") && not_composition(field));
    } else if (refused) { /* what static leaves give is the right answer */
        static char fixed[TEXT];
        ok = golden_begin(&s) && evaluate(&s, form, field, 1, fixed, traced, TEXT) && same_result(plain, fixed);
        snprintf(got, sizeof got, "%s where static leaves give %s", plain, s.b->error.status ? s.b->error.text : fixed);
        golden_end(&s);
    } else if (launch_refuses(&r, got, sizeof got)) {
        ok = !strcmp(field[0], "composition") && not_composition(field);
    } else {
        ok = same_result(plain, field[n - 2]) && as_strong(traced, field[n - 3]);
        snprintf(got, sizeof got, "%s = %s", traced, plain);
    }
    golden_verdict(t, ok, file, line, field, n, got);
    golden_end(&r);
}
