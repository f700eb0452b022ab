/* SPDX-License-Identifier: Apache-2.0 */
/* The tape as text: parsing what tape_text.c prints. Value numbers may be any that are not used twice,
 * so that a line can be added by hand; printing numbers them anew. */
#include "lib.h"
#include <string.h>

struct parser {
    sett__lex x;
    const sett__allocator *mem;
    sett__tape *t;
    int nest; /* of expressions */
    uint32_t cap_op, cap_arg, cap_index, cap_string, cap_site, cap_sym, cap_param, cap_leaf, cap_code, cap_check, cap_def;
    uint32_t *def; /* op of a value number, plus one */
};

/* ---- growing arrays ---------------------------------------------------------------------- */
static bool grow(struct parser *p, void **data, uint32_t *cap, uint32_t n, size_t item)
{
    return sett__grow(p->mem, data, cap, n + 1, item) || sett__lex_no_memory(&p->x);
}

static bool add_arg(struct parser *p, uint32_t value)
{
    sett__tape *t = p->t;
    if (t->op[t->n_op].n_args == UINT16_MAX)
        return SETT__LEX_FAIL(&p->x, "too many operands");
    if (!grow(p, (void **)&t->arg, &p->cap_arg, t->n_arg, sizeof *t->arg))
        return false;
    t->arg[t->n_arg++] = value;
    t->op[t->n_op].n_args++;
    return true;
}

static bool add_string(struct parser *p, const char *s, uint32_t *id)
{
    sett__tape *t = p->t;
    if (!grow(p, (void **)&t->string, &p->cap_string, t->n_string, sizeof *t->string))
        return false;
    *id = t->n_string;
    t->string[t->n_string++] = s;
    return true;
}

/* ---- expressions and layouts ----------------------------------------------------------------- */
static bool add_code(struct parser *p, sett__xcode code, int64_t imm)
{
    sett__sig *s = &p->t->sig;
    if (!grow(p, (void **)&s->code, &p->cap_code, s->n_code, sizeof *s->code))
        return false;
    s->code[s->n_code++] = (sett__xop){(uint8_t)code, imm};
    return true;
}

static bool binary(struct parser *p, int level);

static bool call(struct parser *p, sett__xcode code)
{
    for (int i = 0; i < sett__xops[code].operands; i++)
        if (!sett__expect(&p->x, i ? "," : "(") || !binary(p, 1))
            return false;
    return sett__expect(&p->x, ")") && add_code(p, code, 0);
}

static bool symbol(struct parser *p)
{
    const sett__sig *s = &p->t->sig;
    const char *at = p->x.at, *text;
    if (!sett__lex_name(&p->x, "a number, a symbol or a bracket", &text))
        return false;
    if (*at != '"' && sett__sees(&p->x, "("))
        for (int code = 0; code < SETT__N_XCODES; code++)
            if (sett__xops[code].operands && !sett__xops[code].level && !strcmp(sett__xops[code].text, text))
                return call(p, (sett__xcode)code);
    for (uint32_t i = 0; i < s->n_sym; i++)
        if (!strcmp(s->sym[i].name, text))
            return add_code(p, SETT__X_SYM, i);
    for (uint32_t i = 0; i < s->n_param; i++)
        if (s->param[i].scalar && !strcmp(s->param[i].name, text))
            return add_code(p, SETT__X_SCALAR, i);
    return sett__lex_fail(&p->x, at, "there is no symbol or scalar %.60s", text);
}

static bool primary(struct parser *p)
{
    int64_t x;
    bool ok;
    sett__lex_space(&p->x);
    if (*p->x.at == '-' || (*p->x.at >= '0' && *p->x.at <= '9'))
        return sett__lex_int(&p->x, &x) && add_code(p, SETT__X_CONST, x);
    if (++p->nest > SETT__MAX_EXPR)
        return SETT__LEX_FAIL(&p->x, "brackets nest too deep");
    ok = sett__accept(&p->x, "(") ? binary(p, 1) && sett__expect(&p->x, ")") : symbol(p);
    p->nest--;
    return ok;
}

/* The operator here that binds at least as tight as level; N_XCODES: none. */
static sett__xcode operator_at(struct parser *p, int level)
{
    sett__xcode best = SETT__N_XCODES;
    for (int code = 0; code < SETT__N_XCODES; code++)
        if (sett__xops[code].level && sett__sees(&p->x, sett__xops[code].text) &&
            (best == SETT__N_XCODES || strlen(sett__xops[code].text) > strlen(sett__xops[best].text)))
            best = (sett__xcode)code;
    return best != SETT__N_XCODES && sett__xops[best].level >= level ? best : SETT__N_XCODES;
}

static bool binary(struct parser *p, int level)
{
    sett__xcode code;
    if (!primary(p))
        return false;
    while ((code = operator_at(p, level)) != SETT__N_XCODES) {
        p->x.at += strlen(sett__xops[code].text);
        if (!binary(p, sett__xops[code].level + 1) || !add_code(p, code, 0))
            return false;
    }
    return true;
}

static bool expr(struct parser *p, sett__expr *e)
{
    const char *start = p->x.at;
    e->first = p->t->sig.n_code;
    if (!binary(p, 1))
        return false;
    e->count = p->t->sig.n_code - e->first;
    return sett__expr_valid(&p->t->sig, *e) ||
           sett__lex_fail(&p->x, start, "the expression is too long, or takes too much room");
}

/* Is the bracket here a tuple, and not an expression's: has it a comma of its own? */
static bool is_tuple(const char *s)
{
    int depth = 0;
    for (; *s && *s != '\n'; s++) {
        if (*s == '"')
            for (s++; *s && *s != '\n' && *s != '"'; s++)
                s += *s == '\\' && s[1] && s[1] != '\n';
        if (!*s || *s == '\n')
            return false;
        depth += (*s == '(') - (*s == ')');
        if (!depth || (depth == 1 && *s == ','))
            return depth == 1;
    }
    return false;
}

/* The leaves of one tuple: extents make leaves, strides must find them. */
static bool leaf(struct parser *p, sett__param *param, bool strides, uint32_t *k, uint8_t mode)
{
    sett__sig *s = &p->t->sig;
    sett__expr e;
    if (strides ? *k >= param->n_leaf || s->leaf[param->leaf + *k].mode != mode : *k >= SETT__MAX_LEAVES)
        return SETT__LEX_FAIL(&p->x, strides ? "the strides do not have the extents' profile" : "too many extents");
    if (!expr(p, &e))
        return false;
    if (!strides) {
        if (!grow(p, (void **)&s->leaf, &p->cap_leaf, s->n_leaf, sizeof *s->leaf))
            return false;
        s->leaf[s->n_leaf++] = (sett__leaf){.mode = mode, .extent = e};
        param->n_leaf++;
    } else {
        s->leaf[param->leaf + *k].stride = e;
    }
    ++*k;
    return true;
}

static bool mode_of(struct parser *p, sett__param *param, bool strides, uint32_t *k, uint8_t mode)
{
    sett__lex_space(&p->x);
    if (*p->x.at != '(' || !is_tuple(p->x.at))
        return leaf(p, param, strides, k, mode);
    p->x.at++;
    do {
        if (!leaf(p, param, strides, k, mode))
            return false;
    } while (sett__accept(&p->x, ","));
    return sett__expect(&p->x, ")");
}

static bool tuple(struct parser *p, sett__param *param, bool strides)
{
    uint32_t k = 0;
    uint8_t mode = 0;
    if (!sett__expect(&p->x, "("))
        return false;
    if (!sett__sees(&p->x, ")"))
        do {
            if (mode == SETT__MAX_RANK)
                return SETT__LEX_FAIL(&p->x, "more than %d modes", SETT__MAX_RANK);
            if (!mode_of(p, param, strides, &k, mode++))
                return false;
        } while (sett__accept(&p->x, ","));
    if (strides && (k != param->n_leaf || mode != param->rank))
        return SETT__LEX_FAIL(&p->x, "the strides do not have the extents' profile");
    param->rank = mode;
    return sett__expect(&p->x, ")");
}

/* ---- the signature ------------------------------------------------------------------------------ */
static bool sym_line(struct parser *p)
{
    sett__sig *s = &p->t->sig;
    sett__symbol sym = {.div = 1};
    uint64_t div;
    if (!sett__lex_name(&p->x, "a name", &sym.name))
        return false;
    if (sett__accept_word(&p->x, "div")) {
        if (!sett__lex_digits(&p->x, &div, INT64_MAX))
            return false;
        sym.div = (int64_t)div;
    }
    sym.wide = sett__accept_word(&p->x, "wide");
    if (s->n_sym == SETT__MAX_PARAMS)
        return SETT__LEX_FAIL(&p->x, "more than %d symbols", SETT__MAX_PARAMS);
    if (!grow(p, (void **)&s->sym, &p->cap_sym, s->n_sym, sizeof *s->sym))
        return false;
    s->sym[s->n_sym++] = sym;
    return true;
}

static bool param_line(struct parser *p, bool scalar)
{
    sett__sig *s = &p->t->sig;
    sett__param param = {.scalar = scalar, .leaf = s->n_leaf};
    uint32_t n;
    if (s->n_param == SETT__MAX_PARAMS)
        return SETT__LEX_FAIL(&p->x, "more than %d parameters", SETT__MAX_PARAMS);
    if (!sett__lex_name(&p->x, "a name", &param.name) || !sett__lex_type(&p->x, &param.dtype, &n))
        return false;
    if (n != 1)
        return SETT__LEX_FAIL(&p->x, "a parameter has one type");
    param.align = (uint32_t)sett__dtype_bytes((sett_dtype)param.dtype);
    if (!scalar) {
        if (!tuple(p, &param, false) || !sett__expect(&p->x, ":") || !tuple(p, &param, true) ||
            !sett__expect(&p->x, "align") || !sett__lex_u32(&p->x, &param.align, UINT32_MAX))
            return false;
        param.access = sett__accept_word(&p->x, "read") ? SETT__ACCESS_READ : 0;
        if (sett__accept_word(&p->x, "write"))
            param.access |= SETT__ACCESS_WRITE;
        param.wide = sett__accept_word(&p->x, "wide");
        param.restricted = sett__accept_word(&p->x, "restrict");
    }
    if (!grow(p, (void **)&s->param, &p->cap_param, s->n_param, sizeof *s->param))
        return false;
    s->param[s->n_param++] = param;
    return true;
}

static bool dims_line(struct parser *p, sett__expr *dim)
{
    if (dim[0].count || dim[1].count || dim[2].count)
        return SETT__LEX_FAIL(&p->x, "it is given twice");
    for (int d = 0; d < 3; d++) {
        bool absent = sett__accept_word(&p->x, "_");
        if (!absent && !expr(p, &dim[d]))
            return false;
        if (!sett__accept(&p->x, ","))
            return true;
    }
    return SETT__LEX_FAIL(&p->x, "more than three extents");
}

static bool smem_line(struct parser *p, sett__sig *s)
{
    if (s->smem_align)
        return SETT__LEX_FAIL(&p->x, "it is given twice");
    return sett__lex_u32(&p->x, &s->smem, UINT32_MAX) && sett__expect(&p->x, "align") &&
           sett__lex_u32(&p->x, &s->smem_align, UINT32_MAX);
}

static bool file_and_line(struct parser *p, const char **file, uint32_t *line)
{
    return sett__lex_chars(&p->x, SETT__LETTERS SETT__DIGITS "_./+-", "a file", file) && sett__expect(&p->x, ":") &&
           sett__lex_u32(&p->x, line, UINT32_MAX);
}

static bool check_line(struct parser *p, sett__sig *s)
{
    sett__check k = {.file = NULL};
    if (s->n_check == SETT__MAX_CHECKS)
        return SETT__LEX_FAIL(&p->x, "more than %d checks", SETT__MAX_CHECKS);
    if (!expr(p, &k.expr) || !sett__lex_string(&p->x, &k.text) ||
        (sett__accept(&p->x, "@") && !file_and_line(p, &k.file, &k.line)) ||
        !grow(p, (void **)&s->check, &p->cap_check, s->n_check, sizeof k))
        return false;
    s->check[s->n_check++] = k;
    return true;
}

/* False also where the line is none of the signature's, with nothing read. */
static bool sig_line(struct parser *p, bool *found)
{
    sett__sig *s = &p->t->sig;
    *found = true;
    if (sett__accept_word(&p->x, "sym"))
        return sym_line(p);
    if (sett__accept_word(&p->x, "param"))
        return param_line(p, false);
    if (sett__accept_word(&p->x, "scalar"))
        return param_line(p, true);
    if (sett__accept_word(&p->x, "grid"))
        return dims_line(p, s->grid);
    if (sett__accept_word(&p->x, "block"))
        return dims_line(p, s->block);
    if (sett__accept_word(&p->x, "cluster"))
        return dims_line(p, s->cluster);
    if (sett__accept_word(&p->x, "smem"))
        return smem_line(p, s);
    if (sett__accept_word(&p->x, "check"))
        return check_line(p, s);
    return *found = false;
}

/* ---- ops --------------------------------------------------------------------------------------------- */
static sett__op *now(struct parser *p)
{
    return &p->t->op[p->t->n_op];
}

/* %7, which an earlier line made. */
static bool value(struct parser *p, uint32_t *id)
{
    uint64_t number;
    sett__lex_space(&p->x);
    const char *start = p->x.at;
    if (!sett__expect(&p->x, "%") || !sett__lex_digits(&p->x, &number, UINT32_MAX))
        return false;
    if (number >= p->cap_def || !p->def[number])
        return sett__lex_fail(&p->x, start, "%%%llu is not made above", (unsigned long long)number);
    *id = p->def[number] - 1;
    return true;
}

static bool operand(struct parser *p)
{
    uint32_t id;
    return value(p, &id) && add_arg(p, id);
}

static bool operands(struct parser *p)
{
    do {
        if (!operand(p))
            return false;
    } while (sett__accept(&p->x, ","));
    return true;
}

/* Numbers below the text's length: what is printed never has others, and it bounds memory. */
static bool define(struct parser *p, uint64_t number, const char *at)
{
    uint32_t old = p->cap_def;
    if (number > p->x.len)
        return sett__lex_fail(&p->x, at, "value numbers are at most the text's length, %zu", p->x.len);
    if (!sett__grow(p->mem, (void **)&p->def, &p->cap_def, (uint32_t)number + 1, sizeof *p->def))
        return sett__lex_no_memory(&p->x);
    if (p->cap_def > old)
        memset(p->def + old, 0, (p->cap_def - old) * sizeof *p->def);
    if (p->def[number])
        return sett__lex_fail(&p->x, at, "%%%llu is made twice", (unsigned long long)number);
    p->def[number] = p->t->n_op + 1;
    return true;
}

static bool find_op(const char *s, size_t n, uint8_t *code)
{
    for (int c = 0; c < SETT__N_CODES; c++)
        if (strlen(sett__ops[c].text) == n && !memcmp(sett__ops[c].text, s, n)) {
            *code = (uint8_t)c;
            return true;
        }
    return false;
}

static bool find_sub(sett__op *op, const char *s, size_t n)
{
    static const char *const words[] = {"x", "y", "z", "idx", "up", "down", "bfly"};
    sett__class cls = (sett__class)sett__ops[op->code].cls;
    if (cls == SETT__C_REDUCE || cls == SETT__C_ATOM) {
        bool exchange = cls == SETT__C_ATOM && n == 4 && !memcmp(s, "xchg", 4);
        op->sub = exchange ? SETT__XCHG : 0;
        return exchange || find_op(s, n, &op->sub);
    }
    int from = cls == SETT__C_SHFL ? 3 : 0, to = cls == SETT__C_SHFL                             ? 7
                                                 : cls == SETT__C_SREG && op->code != SETT__LANE ? 3
                                                                                                 : 0;
    for (int i = from; i < to; i++)
        if (strlen(words[i]) == n && !memcmp(words[i], s, n)) {
            op->sub = (uint8_t)(i - from);
            return true;
        }
    return false;
}

/* add, ex2.approx, reduce.add: a whole name first, else what the last dot cuts off. */
static bool op_name(struct parser *p)
{
    sett__lex_space(&p->x);
    const char *s = p->x.at;
    size_t n = strspn(s, SETT__LETTERS SETT__DIGITS "."), dot = n;
    sett__op *op = now(p);
    bool found = find_op(s, n, &op->code);
    while (!found && dot && s[dot - 1] != '.')
        dot--;
    if (!found && dot > 1)
        found = find_op(s, dot - 1, &op->code) && find_sub(op, s + dot, n - dot);
    if (!found)
        return SETT__LEX_FAIL(&p->x, "there is no op %.*s", (int)(n < 40 ? n : 40), s);
    p->x.at = s + n;
    return true;
}

/* Digits with a point, exactly or to the nearest: up to 2^53 over a power of ten that a double holds. */
static bool decimal(struct parser *p, sett_dtype d, uint64_t *bits)
{
    sett__lex_space(&p->x);
    const char *start = p->x.at;
    bool negative = sett__accept(&p->x, "-"), point = false;
    uint64_t m = 0;
    double scale = 1;
    size_t n = strspn(p->x.at, SETT__DIGITS "."), seen = 0;
    for (size_t i = 0; i < n; i++) {
        char c = p->x.at[i];
        if (c == '.' && point)
            return SETT__LEX_FAIL(&p->x, "two points in a number");
        point |= c == '.';
        if (c == '.')
            continue;
        m = 10 * m + (uint64_t)(c - '0');
        scale *= point ? 10 : 1;
        if (++seen > 22 || m > UINT64_C(1) << 53)
            return sett__lex_fail(&p->x, start, "too many digits: give the bits as 0x...");
    }
    if (!seen)
        return SETT__LEX_FAIL(&p->x, "expected a number, or its bits as 0x...");
    p->x.at += n;
    *bits = sett__bits_of_float(d, (double)m / scale);
    *bits |= negative ? UINT64_C(1) << (sett_dtype_bits(d) - 1) : 0;
    return true;
}

static bool constant(struct parser *p)
{
    sett__op *op = now(p);
    sett_dtype d = (sett_dtype)op->dtype;
    int width = sett_dtype_bits(d);
    uint64_t bits = 0;
    int64_t x = 0;
    bool ok;
    sett__lex_space(&p->x);
    const char *start = p->x.at;
    if (sett__accept(&p->x, "0x"))
        ok = sett__lex_hex(&p->x, &bits);
    else if (d == SETT_BOOL && (sett__accept_word(&p->x, "true") || sett__accept_word(&p->x, "false")))
        ok = true, bits = start[0] == 't';
    else if (sett__dtype_is_float(d))
        ok = decimal(p, d, &bits);
    else if (*p->x.at == '-')
        ok = sett__lex_int(&p->x, &x), bits = sett__bits_of_int(d, x);
    else
        ok = sett__lex_digits(&p->x, &bits, UINT64_MAX);
    if (ok && (width < 64 ? bits >> width != 0 : width != 64))
        return sett__lex_fail(&p->x, start, "the number does not fit the type");
    if (ok && x && sett__int_of_bits(d, bits) != x)
        return sett__lex_fail(&p->x, start, "the number does not fit the type");
    op->imm = (int64_t)bits;
    return ok;
}

static bool named(struct parser *p)
{
    const sett__sig *s = &p->t->sig;
    bool sym = now(p)->code == SETT__SYM;
    const char *text;
    sett__lex_space(&p->x);
    const char *at = p->x.at;
    if (!sett__lex_name(&p->x, sym ? "a symbol's name" : "a parameter's name", &text))
        return false;
    for (uint32_t i = 0; i < (sym ? s->n_sym : s->n_param); i++)
        if (!strcmp(sym ? s->sym[i].name : s->param[i].name, text)) {
            now(p)->imm = i;
            return true;
        }
    return sett__lex_fail(&p->x, at, "there is no %s %.60s", sym ? "symbol" : "parameter", text);
}

static bool pick_list(struct parser *p)
{
    sett__tape *t = p->t;
    if (!operand(p) || !sett__expect(&p->x, "["))
        return false;
    now(p)->imm = t->n_index;
    do {
        uint32_t first, last;
        if (!sett__lex_u32(&p->x, &first, SETT__MAX_WIDTH))
            return false;
        last = first;
        if (sett__accept(&p->x, "..") && !sett__lex_u32(&p->x, &last, SETT__MAX_WIDTH))
            return false;
        for (; first <= last; first++) {
            if (t->n_index - (uint32_t)now(p)->imm == SETT__MAX_WIDTH)
                return SETT__LEX_FAIL(&p->x, "more than %d indices", SETT__MAX_WIDTH);
            if (!grow(p, (void **)&t->index, &p->cap_index, t->n_index, sizeof *t->index))
                return false;
            t->index[t->n_index++] = first;
        }
    } while (sett__accept(&p->x, ","));
    if (t->n_index - (uint32_t)now(p)->imm != now(p)->n)
        return SETT__LEX_FAIL(&p->x, "%u indices for %u elements", t->n_index - (uint32_t)now(p)->imm, now(p)->n);
    return sett__expect(&p->x, "]");
}

/* %1[%2 + 4], %1[4] */
static bool place(struct parser *p)
{
    if (!operand(p) || !sett__expect(&p->x, "["))
        return false;
    if (!sett__sees(&p->x, "%"))
        return add_arg(p, SETT__NONE) && sett__lex_int(&p->x, &now(p)->imm) && sett__expect(&p->x, "]");
    if (!operand(p))
        return false;
    bool minus = sett__sees(&p->x, "-");
    if (minus || sett__sees(&p->x, "+")) {
        uint64_t u = 0;
        p->x.at++;
        if (!sett__lex_digits(&p->x, &u, (uint64_t)INT64_MAX + minus))
            return false;
        now(p)->imm = (int64_t)(minus ? 0 - u : u);
    }
    return sett__expect(&p->x, "]");
}

static bool align_of(struct parser *p)
{
    uint32_t bytes;
    if (!sett__expect(&p->x, "align") || !sett__lex_u32(&p->x, &bytes, SETT__MAX_ALIGN))
        return false;
    if (!bytes || bytes & (bytes - 1))
        return SETT__LEX_FAIL(&p->x, "an alignment is a power of two");
    now(p)->sub = (uint8_t)__builtin_ctz(bytes);
    return true;
}

static bool option(struct parser *p, const char *word)
{
    return sett__accept_word(&p->x, word) ? operand(p) : add_arg(p, SETT__NONE);
}

static bool load(struct parser *p)
{
    if (!place(p) || !align_of(p) || !option(p, "pred") || !option(p, "fill"))
        return false;
    now(p)->flags = sett__accept_word(&p->x, "volatile") ? SETT__F_VOLATILE : 0;
    return true;
}

/* The value comes before the predicate here, and after it in the operands. */
static bool store(struct parser *p, bool atom)
{
    uint32_t id, n;
    uint8_t dtype;
    if (!place(p))
        return false;
    sett__lex_space(&p->x);
    const char *at = p->x.at;
    bool typed = !sett__sees(&p->x, "%");
    if ((typed && !sett__lex_type(&p->x, &dtype, &n)) || !value(p, &id))
        return false;
    if (typed && (p->t->op[id].dtype != dtype || p->t->op[id].n != n))
        return sett__lex_fail(&p->x, at, "the value is not of this type");
    if ((!atom && !align_of(p)) || !option(p, "pred") || !add_arg(p, id))
        return false;
    if (!atom && sett__accept_word(&p->x, "volatile"))
        now(p)->flags = SETT__F_VOLATILE;
    return true;
}

static bool print_line(struct parser *p)
{
    const char *s;
    uint32_t id;
    if (now(p)->code == SETT__ASSERT && (!operand(p) || !sett__expect(&p->x, ",")))
        return false;
    if (!sett__lex_string(&p->x, &s) || !add_string(p, s, &id))
        return false;
    now(p)->imm = id;
    return now(p)->code == SETT__ASSERT || !sett__accept(&p->x, ",") || operands(p);
}

static bool for_line(struct parser *p)
{
    uint64_t number;
    sett__op *op = now(p);
    sett__lex_space(&p->x);
    const char *at = p->x.at;
    if (!sett__expect(&p->x, "%") || !sett__lex_digits(&p->x, &number, UINT32_MAX) || !sett__expect(&p->x, "=") ||
        !operand(p) || !sett__expect(&p->x, "to") || !operand(p) || !sett__expect(&p->x, "step") || !operand(p) ||
        !sett__expect(&p->x, "{"))
        return false;
    op->dtype = p->t->op[p->t->arg[op->args]].dtype;
    op->n = 1;
    return define(p, number, at);
}

/* What follows name and type. */
static bool rest(struct parser *p)
{
    sett__op *op = now(p);
    switch (sett__ops[op->code].cls) {
    case SETT__C_SREG:
    case SETT__C_BARRIER: return true;
    case SETT__C_CONST: return constant(p);
    case SETT__C_SYM:
    case SETT__C_SCALAR: return named(p);
    case SETT__C_ROOT:
        if (op->code == SETT__PARAM)
            op->n = 0;
        return op->code == SETT__PARAM
                   ? named(p)
                   : op->code == SETT__RMEM || (sett__expect(&p->x, "at") && sett__lex_int(&p->x, &op->imm));
    case SETT__C_PICK: return pick_list(p);
    case SETT__C_LOAD: return load(p);
    case SETT__C_STORE: return store(p, false);
    case SETT__C_ATOM: return store(p, true);
    case SETT__C_IF: return operand(p) && sett__expect(&p->x, "{");
    case SETT__C_FOR: return for_line(p);
    case SETT__C_PRINTF: return print_line(p);
    case SETT__C_SHFL: return operands(p) && sett__expect(&p->x, "width") && sett__lex_int(&p->x, &op->imm);
    default:
        if (!operands(p))
            return false;
        op->flags = sett__accept_word(&p->x, "nonneg") ? SETT__F_NONNEG : 0;
        return true;
    }
}

/* "file", as the last site has it, or a new one. */
static bool same_or_new(struct parser *p, const char *s, const uint32_t *last, uint32_t *id)
{
    if (last && !strcmp(p->t->string[*last], s)) {
        *id = *last;
        return true;
    }
    return add_string(p, s, id);
}

static bool site(struct parser *p)
{
    sett__tape *t = p->t;
    const char *file, *func;
    sett__site_ref s = {0, 0, 0}, *last = t->n_site ? &t->site[t->n_site - 1] : NULL;
    if (!sett__accept(&p->x, "@"))
        return !p->x.status;
    if (!file_and_line(p, &file, &s.line) ||
        !sett__lex_chars(&p->x, SETT__LETTERS SETT__DIGITS "_./+-", "a function", &func) ||
        !same_or_new(p, file, last ? &last->file : NULL, &s.file) ||
        !same_or_new(p, func, last ? &last->func : NULL, &s.func) ||
        !grow(p, (void **)&t->site, &p->cap_site, t->n_site, sizeof *t->site))
        return false;
    now(p)->site = t->n_site;
    t->site[t->n_site++] = s;
    return true;
}

static bool has_result(sett__code code)
{
    switch (sett__ops[code].cls) {
    case SETT__C_STORE:
    case SETT__C_BARRIER:
    case SETT__C_IF:
    case SETT__C_ELSE:
    case SETT__C_FOR: /* which is not written as one */
    case SETT__C_END:
    case SETT__C_PRINTF: return false;
    default: return true;
    }
}

static bool op_line(struct parser *p)
{
    sett__tape *t = p->t;
    uint64_t number = 0;
    if (t->n_op == SETT__MAX_OPS)
        return SETT__LEX_FAIL(&p->x, "more than %u ops", SETT__MAX_OPS);
    if (!grow(p, (void **)&t->op, &p->cap_op, t->n_op, sizeof *t->op))
        return false;
    *now(p) = (sett__op){.args = t->n_arg, .site = SETT__NONE, .other = SETT__NONE};
    sett__lex_space(&p->x);
    const char *start = p->x.at;
    bool result = sett__accept(&p->x, "%"), end = !result && sett__accept(&p->x, "}");
    if (result && (!sett__lex_digits(&p->x, &number, UINT32_MAX) || !sett__expect(&p->x, "=")))
        return false;
    if (end)
        now(p)->code = sett__accept_word(&p->x, "else") ? SETT__ELSE : SETT__END;
    else if (!op_name(p))
        return false;
    sett__code code = (sett__code)now(p)->code;
    bool gives = has_result(code);
    if (gives != result)
        return sett__lex_fail(&p->x, start, gives ? "%s has a result" : "%s has no result", sett__ops[code].text);
    if (result && !sett__lex_type(&p->x, &now(p)->dtype, &now(p)->n))
        return false;
    if (end ? code == SETT__ELSE && !sett__expect(&p->x, "{") : !rest(p))
        return false;
    if (!site(p) || (result && !define(p, number, start)))
        return false;
    t->n_op++;
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------- */
static bool parse_line(struct parser *p, bool *header)
{
    uint32_t version;
    bool found;
    sett__lex_space(&p->x);
    if (*p->x.at == '\n' || !*p->x.at)
        return true;
    if (!*header) {
        *header = true;
        if (!sett__accept_word(&p->x, "sett") || !sett__accept_word(&p->x, "tape") ||
            !sett__lex_u32(&p->x, &version, UINT32_MAX))
            return SETT__LEX_FAIL(&p->x, "a tape begins with: sett tape %d", SETT__TAPE_VERSION);
        return version == SETT__TAPE_VERSION || SETT__LEX_FAIL(&p->x, "it is of another version of sett");
    }
    return sig_line(p, &found) || (!found && op_line(p));
}

static bool parse_lines(struct parser *p)
{
    bool header = false;
    while (*p->x.at) {
        p->x.line = p->x.at;
        if (!parse_line(p, &header))
            return p->x.status ? false : SETT__LEX_FAIL(&p->x, "the line is not understood");
        sett__lex_space(&p->x);
        if (*p->x.at && *p->x.at != '\n')
            return SETT__LEX_FAIL(&p->x, "the line should end here");
        p->x.at += *p->x.at == '\n';
    }
    return header || SETT__LEX_FAIL(&p->x, "a tape begins with: sett tape %d", SETT__TAPE_VERSION);
}

/* The tape's arrays move into its arena; the growing ones are freed, whatever happened. */
static void settle(struct parser *p, void *field, size_t bytes)
{
    void *from, *to = NULL;
    memcpy(&from, field, sizeof from);
    if (bytes && !p->x.status && !(to = sett__arena_alloc(&p->t->arena, bytes)))
        sett__lex_no_memory(&p->x);
    if (to)
        memcpy(to, from, bytes);
    sett__mem_free(p->mem, from);
    memcpy(field, &to, sizeof to);
}

sett_status sett__tape_parse_in(sett__tape *t, const sett__allocator *mem, const char *text, sett_error *err)
{
    *t = (sett__tape){.arena = {.mem = mem}};
    struct parser p = {
        .x = {.text = text, .at = text, .line = text, .len = strlen(text), .arena = &t->arena, .err = err},
        .mem = mem,
        .t = t};
    sett__sig *s = &t->sig;
    parse_lines(&p);
    settle(&p, &t->op, t->n_op * sizeof *t->op);
    settle(&p, &t->arg, t->n_arg * sizeof *t->arg);
    settle(&p, &t->index, t->n_index * sizeof *t->index);
    settle(&p, &t->string, t->n_string * sizeof *t->string);
    settle(&p, &t->site, t->n_site * sizeof *t->site);
    settle(&p, &s->sym, s->n_sym * sizeof *s->sym);
    settle(&p, &s->param, s->n_param * sizeof *s->param);
    settle(&p, &s->leaf, s->n_leaf * sizeof *s->leaf);
    settle(&p, &s->code, s->n_code * sizeof *s->code);
    settle(&p, &s->check, s->n_check * sizeof *s->check);
    sett__mem_free(mem, p.def);
    if (!p.x.status && !sett__tape_link(t))
        p.x.status = sett__error(
            err, SETT_E_PARSE, "regions do not nest: an end or else has no beginning, or one is open at the end");
    if (!p.x.status)
        p.x.status = sett__tape_verify(t, NULL, err);
    if (p.x.status)
        sett__tape_free(t);
    return p.x.status;
}

sett_status sett__tape_parse(sett__tape *t, const char *text, sett_error *err)
{
    return sett__tape_parse_in(t, NULL, text, err);
}
