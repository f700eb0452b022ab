/* SPDX-License-Identifier: Apache-2.0 */
/* Host expressions: what a launch computes of its symbols. */
#include "tape.h"

const sett__xinfo sett__xops[SETT__N_XCODES] = {
    [SETT__X_CONST] = {0, 0, "number"}, [SETT__X_SYM] = {0, 0, "symbol"}, [SETT__X_SCALAR] = {0, 0, "scalar"},
    [SETT__X_ADD] = {2, 4, "+"},        [SETT__X_SUB] = {2, 4, "-"},      [SETT__X_MUL] = {2, 5, "*"},
    [SETT__X_DIV] = {2, 5, "/"},        [SETT__X_REM] = {2, 5, "%"},      [SETT__X_SHL] = {2, 3, "<<"},
    [SETT__X_SHR] = {2, 3, ">>"},       [SETT__X_LT] = {2, 2, "<"},       [SETT__X_AND] = {2, 1, "&"},
    [SETT__X_MIN] = {2, 0, "min"},      [SETT__X_MAX] = {2, 0, "max"},    [SETT__X_SELECT] = {3, 0, "select"},
    [SETT__X_LOG2] = {1, 0, "ceil_log2"},
};

static bool in_code(const sett__sig *s, sett__expr e)
{
    return e.count <= SETT__MAX_EXPR && e.count <= s->n_code && e.first <= s->n_code - e.count;
}

static bool leaf_exists(const sett__sig *s, const sett__xop *x)
{
    if (x->code == SETT__X_SYM)
        return x->imm >= 0 && x->imm < s->n_sym && !s->sym[x->imm].value.count;
    if (x->code != SETT__X_SCALAR)
        return true;
    return x->imm >= 0 && x->imm < s->n_param && s->param[x->imm].scalar == SETT__BY_NUMBER &&
           sett__dtype_is_int((sett_dtype)s->param[x->imm].dtype);
}

bool sett__expr_valid(const sett__sig *s, sett__expr e)
{
    int depth = 0;
    if (!e.count || !in_code(s, e))
        return false;
    for (uint32_t i = 0; i < e.count; i++) {
        const sett__xop *x = &s->code[e.first + i];
        if (x->code >= SETT__N_XCODES || !leaf_exists(s, x) || depth < sett__xops[x->code].operands)
            return false;
        depth += 1 - sett__xops[x->code].operands;
        if (depth > SETT__EXPR_DEPTH)
            return false;
    }
    return depth == 1;
}

static bool shift_left(int64_t a, int64_t b, int64_t *r)
{
    if (b < 0 || b > 62)
        return b > 62 && a == 0 && (*r = 0, true);
    return !__builtin_mul_overflow(a, INT64_C(1) << b, r);
}

/* The least k for which 2^k is at least x. */
static bool ceil_log2(int64_t x, int64_t *r)
{
    if (x < 1)
        return false;
    *r = x == 1 ? 0 : 64 - __builtin_clzll((unsigned long long)x - 1);
    return true;
}

static bool apply(sett__xcode code, int64_t a, int64_t b, int64_t *r)
{
    switch (code) {
    case SETT__X_ADD: return !__builtin_add_overflow(a, b, r);
    case SETT__X_SUB: return !__builtin_sub_overflow(a, b, r);
    case SETT__X_MUL: return !__builtin_mul_overflow(a, b, r);
    case SETT__X_DIV: return b && !(a == INT64_MIN && b == -1) && (*r = a / b, true);
    case SETT__X_REM: return b && (*r = b == -1 ? 0 : a % b, true);
    case SETT__X_MIN: return *r = a < b ? a : b, true;
    case SETT__X_MAX: return *r = a > b ? a : b, true;
    case SETT__X_SHL: return shift_left(a, b, r);
    case SETT__X_SHR: return b >= 0 && (*r = a >> (b < 63 ? b : 63), true);
    case SETT__X_AND: return *r = a & b, true;
    case SETT__X_LT: return *r = a < b, true;
    default: return false;
    }
}

/* One code upon the numbers so far. */
static inline bool step(const sett__xop *x, const int64_t *sym, const int64_t *scalar, int64_t *stack, int *top)
{
    switch (x->code) {
    case SETT__X_CONST: stack[(*top)++] = x->imm; return true;
    case SETT__X_SYM: stack[(*top)++] = sym[x->imm]; return true;
    case SETT__X_SCALAR: stack[(*top)++] = scalar[x->imm]; return true;
    case SETT__X_SELECT:
        *top -= 2;
        stack[*top - 1] = stack[*top - 1] ? stack[*top] : stack[*top + 1];
        return true;
    case SETT__X_LOG2: return ceil_log2(stack[*top - 1], &stack[*top - 1]);
    default:
        --*top;
        return apply((sett__xcode)x->code, stack[*top - 1], stack[*top], &stack[*top - 1]);
    }
}

bool sett__expr_eval(const sett__sig *s, sett__expr e, const int64_t *sym, const int64_t *scalar, int64_t *out)
{
    int64_t stack[SETT__EXPR_DEPTH + 1];
    int top = 0;
    if (!e.count) {
        *out = 1;
        return true;
    }
    for (const sett__xop *x = &s->code[e.first], *end = x + e.count; x < end; x++)
        if (!step(x, sym, scalar, stack, &top))
            return false;
    *out = stack[0];
    return true;
}

bool sett__expr_same(const sett__sig *s, sett__expr a, sett__expr b)
{
    bool same = a.count == b.count;
    for (uint32_t i = 0; i < a.count && same; i++) {
        const sett__xop *x = &s->code[a.first + i], *y = &s->code[b.first + i];
        same = x->code == y->code && x->imm == y->imm;
    }
    return same;
}

bool sett__expr_const(const sett__sig *s, sett__expr e, int64_t *out)
{
    for (uint32_t i = 0; i < e.count; i++)
        if (s->code[e.first + i].code == SETT__X_SYM || s->code[e.first + i].code == SETT__X_SCALAR)
            return false;
    return sett__expr_eval(s, e, NULL, NULL, out);
}

/* ---- text ---------------------------------------------------------------------- */
struct printer {
    sett__sink *out;
    const sett__sig *sig;
    const sett__xop *code;
    bool named; /* writes ceil_div(x, y) and round_up(x, y) for what people know by these names; the parser does not take them */
    uint16_t first[SETT__MAX_EXPR]; /* of a postfix expression's entry i: where the operands of entry i begin, so that its subtree is first[i] to i */
};

static uint32_t right(uint32_t end)
{
    return end - 1;
}

static uint32_t left(const struct printer *p, uint32_t end)
{
    return p->first[end - 1] - 1u;
}

static bool is_number(const struct printer *p, uint32_t end, int64_t n)
{
    return p->code[end].code == SETT__X_CONST && p->code[end].imm == n;
}

static bool same_tree(const struct printer *p, uint32_t a, uint32_t b)
{
    uint32_t n = a - p->first[a];
    bool same = n == b - p->first[b];
    for (uint32_t i = 0; same && i <= n; i++)
        same = p->code[a - i].code == p->code[b - i].code && p->code[a - i].imm == p->code[b - i].imm;
    return same;
}

/* x/y and one more for a rest above 0, as sett_ceil_div records it: x/y + max(min(x%y, 1), 0), either way round, without the max
 * where x is not negative. */
static bool is_ceil_div(const struct printer *p, uint32_t end, uint32_t *x, uint32_t *y)
{
    if (p->code[end].code != SETT__X_ADD)
        return false;
    for (int turn = 0; turn < 2; turn++) {
        uint32_t ratio = turn ? right(end) : left(p, end), more = turn ? left(p, end) : right(end);
        if (p->code[more].code == SETT__X_MAX && is_number(p, right(more), 0))
            more = left(p, more);
        if (p->code[ratio].code != SETT__X_DIV || p->code[more].code != SETT__X_MIN || !is_number(p, right(more), 1))
            continue;
        uint32_t rest = left(p, more);
        *x = left(p, ratio), *y = right(ratio);
        if (p->code[rest].code == SETT__X_REM && same_tree(p, *x, left(p, rest)) && same_tree(p, *y, right(rest)))
            return true;
    }
    return false;
}

/* ceil_div(x, y)*y, also with (x + 15)/16 for the ceil_div. */
static bool is_round_up(const struct printer *p, uint32_t end, uint32_t *x, uint32_t *y)
{
    if (p->code[end].code != SETT__X_MUL)
        return false;
    for (int turn = 0; turn < 2; turn++) {
        uint32_t units = turn ? right(end) : left(p, end), by = turn ? left(p, end) : right(end);
        bool is = is_ceil_div(p, units, x, y);
        if (!is && p->code[units].code == SETT__X_DIV && p->code[right(units)].code == SETT__X_CONST &&
            p->code[left(p, units)].code == SETT__X_ADD) {
            *x = left(p, left(p, units)), *y = right(units);
            is = is_number(p, right(left(p, units)), p->code[*y].imm - 1);
        }
        if (is && same_tree(p, *y, by))
            return true;
    }
    return false;
}

static void print_tree(const struct printer *p, uint32_t end, int level);

/* What a reader knows by name. */
static bool print_named(const struct printer *p, uint32_t end)
{
    uint32_t x, y;
    const char *name = !p->named                       ? NULL
                       : is_round_up(p, end, &x, &y) ? "round_up("
                       : is_ceil_div(p, end, &x, &y) ? "ceil_div("
                                                     : NULL;
    if (!name)
        return false;
    sett__put(p->out, name);
    print_tree(p, x, 0);
    sett__put(p->out, ",");
    print_tree(p, y, 0);
    sett__put(p->out, ")");
    return true;
}

/* A left operand needs brackets if it binds less, a right one also if it binds the same, so that the
 * text parses back to the same postfix. */
static void print_tree(const struct printer *p, uint32_t end, int level)
{
    const sett__xop *x = &p->code[end];
    int own = sett__xops[x->code].level;
    switch (x->code) {
    case SETT__X_CONST: sett__put_int(p->out, x->imm); return;
    case SETT__X_SYM: sett__put_name(p->out, p->sig->sym[x->imm].name); return;
    case SETT__X_SCALAR: sett__put_name(p->out, p->sig->param[x->imm].name); return;
    default: break;
    }
    if (print_named(p, end))
        return;
    int operands = sett__xops[x->code].operands;
    uint32_t last = end - 1, mid = p->first[last] - 1u, open = own && own < level;
    if (!own) { /* a call */
        sett__put(p->out, sett__xops[x->code].text);
        sett__put(p->out, "(");
        if (operands == 3) {
            print_tree(p, p->first[mid] - 1u, 0);
            sett__put(p->out, ",");
        }
    } else if (open) {
        sett__put(p->out, "(");
    }
    if (operands > 1) {
        print_tree(p, mid, own);
        sett__put(p->out, own ? sett__xops[x->code].text : ",");
    }
    print_tree(p, last, own ? own + 1 : 0);
    if (!own || open)
        sett__put(p->out, ")");
}

static void put(sett__sink *out, const sett__sig *s, sett__expr e, bool named)
{
    struct printer p = {.out = out, .sig = s, .named = named};
    uint16_t stack[SETT__EXPR_DEPTH + 1];
    int top = 0;
    if (!e.count) {
        sett__put(out, "_");
        return;
    }
    if (!sett__expr_valid(s, e)) {
        sett__put(out, "?");
        return;
    }
    p.code = s->code + e.first;
    for (uint32_t i = 0; i < e.count; i++) {
        int n = sett__xops[p.code[i].code].operands;
        top -= n;
        p.first[i] = n ? stack[top] : (uint16_t)i;
        stack[top++] = p.first[i];
    }
    print_tree(&p, e.count - 1, 0);
}

void sett__put_expr(sett__sink *out, const sett__sig *s, sett__expr e)
{
    put(out, s, e, false);
}

void sett__put_modes(sett__sink *out, const sett__sig *s, const sett__param *p, bool strides, bool words)
{
    const sett__leaf *leaf = p->n_leaf ? s->leaf + p->leaf : NULL;
    sett__put(out, "(");
    for (uint32_t i = 0; i < p->n_leaf; i++) {
        const bool first = !i || leaf[i - 1].mode != leaf[i].mode, last = i + 1 == p->n_leaf || leaf[i + 1].mode != leaf[i].mode;
        sett__put(out, i ? "," : "");
        sett__put(out, first && !last ? "(" : "");
        put(out, s, strides ? leaf[i].stride : leaf[i].extent, words);
        sett__put(out, last && !first ? ")" : "");
    }
    sett__put(out, ")");
}

static int in_buffer(const sett__sig *s, sett__expr e, bool named, char *buf, size_t size)
{
    sett__sink out = {.buf = buf, .cap = size};
    if (size)
        buf[0] = 0;
    put(&out, s, e, named);
    return (int)out.len;
}

int sett__expr_str(const sett__sig *s, sett__expr e, char *buf, size_t size)
{
    return in_buffer(s, e, false, buf, size);
}

int sett__expr_words(const sett__sig *s, sett__expr e, char *buf, size_t size)
{
    return in_buffer(s, e, true, buf, size);
}
