/* SPDX-License-Identifier: Apache-2.0 */
/* The tape as text: parsing what tape_text.c prints. Value numbers may be any that are not used twice,
 * so that a line can be added by hand; printing numbers them anew. */
#include "lib.h"
#include <string.h>

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

struct parser {
    const char *text, *at, *line; /* all, here, and the start of this line */
    size_t len;
    const sett__allocator *mem;
    sett__tape *t;
    sett_error *err;
    sett_status status; /* the first failure; then nothing more is read */
    int nest;           /* of expressions */
    uint32_t cap_op, cap_arg, cap_index, cap_string, cap_site, cap_sym, cap_param, cap_leaf, cap_code, cap_def;
    uint32_t *def; /* op of a value number, plus one */
};

/* ---- errors: line, column, the line and a caret ---------------------------------- */
enum { SHOWN = 100 };

SETT_PRINTF(3, 4) static bool fail_at(struct parser *p, const char *at, const char *format, ...)
{
    char what[160], shown[SHOWN + 1], caret[SHOWN + 1];
    if (p->status)
        return false;
    va_list ap;
    va_start(ap, format);
    vsnprintf(what, sizeof what, format, ap);
    va_end(ap);
    int line = 1;
    for (const char *s = p->text; s < p->line; s++)
        line += *s == '\n';
    size_t column = (size_t)(at - p->line), from = column > SHOWN - 20 ? column - (SHOWN - 20) : 0;
    size_t n = strcspn(p->line + from, "\n");
    n = n < SHOWN ? n : SHOWN;
    for (size_t i = 0; i < n; i++)
        shown[i] = p->line[from + i] == '\t' ? ' ' : p->line[from + i];
    shown[n] = 0;
    memset(caret, ' ', column - from);
    memcpy(caret + (column - from), "^", 2);
    p->status = sett__error(p->err, SETT_E_PARSE, "line %d, column %zu: %s\n  %s\n  %s", line, column + 1, what, shown, caret);
    return false;
}

#define FAIL(p, ...) fail_at(p, (p)->at, __VA_ARGS__)

static bool no_memory(struct parser *p)
{
    if (!p->status)
        p->status = sett__error(p->err, SETT_E_MEMORY, "out of memory while parsing a tape");
    return false;
}

/* ---- tokens -------------------------------------------------------------------------- */
static void space(struct parser *p)
{
    p->at += strspn(p->at, " \t\r");
    if (*p->at == ';')
        p->at += strcspn(p->at, "\n");
}

static bool sees(struct parser *p, const char *token)
{
    space(p);
    return !strncmp(p->at, token, strlen(token));
}

static bool accept(struct parser *p, const char *token)
{
    if (p->status || !sees(p, token))
        return false;
    p->at += strlen(token);
    return true;
}

/* A word that does not go on. */
static bool accept_word(struct parser *p, const char *word)
{
    size_t n = strlen(word);
    if (p->status || !sees(p, word) || strspn(p->at + n, LETTERS DIGITS "_"))
        return false;
    p->at += n;
    return true;
}

static bool expect(struct parser *p, const char *token)
{
    return accept(p, token) || FAIL(p, "expected %s", token);
}

static bool digits(struct parser *p, uint64_t *x, uint64_t most)
{
    space(p);
    const char *start = p->at;
    for (*x = 0; *p->at >= '0' && *p->at <= '9'; p->at++) {
        uint64_t digit = (uint64_t)(*p->at - '0');
        if (*x > (most - digit) / 10)
            return fail_at(p, start, "a number above %llu", (unsigned long long)most);
        *x = 10 * *x + digit;
    }
    return p->at > start || FAIL(p, "expected a number");
}

static bool u32(struct parser *p, uint32_t *x, uint32_t most)
{
    uint64_t wide = 0;
    bool ok = digits(p, &wide, most);
    *x = (uint32_t)wide;
    return ok;
}

static bool integer(struct parser *p, int64_t *x)
{
    bool negative = accept(p, "-");
    uint64_t u = 0;
    if (!digits(p, &u, (uint64_t)INT64_MAX + negative))
        return false;
    *x = (int64_t)(negative ? 0 - u : u);
    return true;
}

static int hex_digit(char c)
{
    const char *all = "0123456789abcdef0123456789ABCDEF", *s = c ? strchr(all, c) : NULL;
    return s ? (int)((s - all) & 15) : -1;
}

static bool hex(struct parser *p, uint64_t *x)
{
    const char *start = p->at;
    for (*x = 0; hex_digit(*p->at) >= 0; p->at++) {
        if (*x >> 60)
            return fail_at(p, start, "more than 64 bits");
        *x = *x << 4 | (uint64_t)hex_digit(*p->at);
    }
    return p->at > start || FAIL(p, "expected hexadecimal digits");
}

/* One character after a backslash; -1: there is no such escape. */
static int escaped(struct parser *p)
{
    static const char letter[] = "nt\"\\", plain[] = "\n\t\"\\";
    const char *s = *p->at ? strchr(letter, *p->at) : NULL;
    if (s) {
        p->at++;
        return plain[s - letter];
    }
    int high, low;
    if (*p->at != 'x' || (high = hex_digit(p->at[1])) < 0 || (low = hex_digit(p->at[2])) < 0 || !(high | low))
        return -1;
    p->at += 3;
    return high << 4 | low;
}

static char *new_text(struct parser *p, const char *from, size_t n)
{
    char *s = n <= SETT__MAX_STRING ? sett__arena_alloc(&p->t->arena, n + 1) : NULL;
    if (s)
        memcpy(s, from, n);
    else if (n > SETT__MAX_STRING)
        FAIL(p, "more than %d characters", SETT__MAX_STRING);
    else
        no_memory(p);
    return s;
}

static bool quoted(struct parser *p, const char **out)
{
    if (!expect(p, "\""))
        return false;
    const char *start = p->at;
    size_t n = 0;
    while (start[n] && start[n] != '\n' && start[n] != '"')
        n += start[n] == '\\' && start[n + 1] && start[n + 1] != '\n' ? 2 : 1;
    if (start[n] != '"')
        return fail_at(p, start - 1, "the string does not end on its line");
    char *s = new_text(p, start, n), *to = s;
    if (!s)
        return false;
    while (p->at < start + n) {
        int c = *p->at++;
        if (c == '\\' && (c = escaped(p)) < 0)
            return FAIL(p, "there is no such escape");
        *to++ = (char)c;
    }
    *to = 0;
    p->at++;
    *out = s;
    return true;
}

/* Characters of a set, or a quoted string. */
static bool name_of(struct parser *p, const char *set, const char *what, const char **out)
{
    if (sees(p, "\""))
        return quoted(p, out);
    size_t n = strspn(p->at, set);
    if (!n)
        return FAIL(p, "expected %s", what);
    *out = new_text(p, p->at, n);
    p->at += n;
    return *out != NULL;
}

static bool name(struct parser *p, const char *what, const char **out)
{
    space(p);
    if (strchr(DIGITS, *p->at) && *p->at)
        return FAIL(p, "expected %s", what);
    return name_of(p, LETTERS DIGITS "_", what, out);
}

/* f16, f16x8 */
static bool type(struct parser *p, uint8_t *dtype, uint32_t *n)
{
    space(p);
    const char *start = p->at;
    size_t len = strspn(start, LETTERS DIGITS), base = len;
    while (base && strchr(DIGITS, start[base - 1]))
        base--;
    bool wide = base > 1 && base < len && start[base - 1] == 'x';
    *dtype = (uint8_t)sett__dtype_parse(start, wide ? base - 1 : len);
    *n = 1;
    if (!*dtype)
        return FAIL(p, "expected a type, such as f16 or f16x8");
    p->at = start + (wide ? base : len);
    return !wide || u32(p, n, SETT__MAX_SMEM);
}

/* ---- growing arrays ---------------------------------------------------------------------- */
static bool grow(struct parser *p, void **data, uint32_t *cap, uint32_t n, size_t item)
{
    return sett__grow(p->mem, data, cap, n + 1, item) || no_memory(p);
}

static bool add_arg(struct parser *p, uint32_t value)
{
    sett__tape *t = p->t;
    if (t->op[t->n_op].n_args == UINT16_MAX)
        return FAIL(p, "too many operands");
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
        if (!expect(p, i ? "," : "(") || !binary(p, 1))
            return false;
    return expect(p, ")") && add_code(p, code, 0);
}

static bool symbol(struct parser *p)
{
    const sett__sig *s = &p->t->sig;
    const char *at = p->at, *text;
    if (!name(p, "a number, a symbol or a bracket", &text))
        return false;
    if (*at != '"' && sees(p, "("))
        for (int code = 0; code < SETT__N_XCODES; code++)
            if (sett__xops[code].operands && !sett__xops[code].level && !strcmp(sett__xops[code].text, text))
                return call(p, (sett__xcode)code);
    for (uint32_t i = 0; i < s->n_sym; i++)
        if (!strcmp(s->sym[i].name, text))
            return add_code(p, SETT__X_SYM, i);
    for (uint32_t i = 0; i < s->n_param; i++)
        if (s->param[i].scalar && !strcmp(s->param[i].name, text))
            return add_code(p, SETT__X_SCALAR, i);
    return fail_at(p, at, "there is no symbol or scalar %.60s", text);
}

static bool primary(struct parser *p)
{
    int64_t x;
    bool ok;
    space(p);
    if (*p->at == '-' || (*p->at >= '0' && *p->at <= '9'))
        return integer(p, &x) && add_code(p, SETT__X_CONST, x);
    if (++p->nest > SETT__MAX_EXPR)
        return FAIL(p, "brackets nest too deep");
    ok = accept(p, "(") ? binary(p, 1) && expect(p, ")") : symbol(p);
    p->nest--;
    return ok;
}

/* The operator here that binds at least as tight as level; N_XCODES: none. */
static sett__xcode operator_at(struct parser *p, int level)
{
    sett__xcode best = SETT__N_XCODES;
    for (int code = 0; code < SETT__N_XCODES; code++)
        if (sett__xops[code].level && sees(p, sett__xops[code].text) &&
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
        p->at += strlen(sett__xops[code].text);
        if (!binary(p, sett__xops[code].level + 1) || !add_code(p, code, 0))
            return false;
    }
    return true;
}

static bool expr(struct parser *p, sett__expr *e)
{
    const char *start = p->at;
    e->first = p->t->sig.n_code;
    if (!binary(p, 1))
        return false;
    e->count = p->t->sig.n_code - e->first;
    return sett__expr_valid(&p->t->sig, *e) || fail_at(p, start, "the expression is too long, or takes too much room");
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
        return FAIL(p, strides ? "the strides do not have the extents' profile" : "too many extents");
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
    space(p);
    if (*p->at != '(' || !is_tuple(p->at))
        return leaf(p, param, strides, k, mode);
    p->at++;
    do {
        if (!leaf(p, param, strides, k, mode))
            return false;
    } while (accept(p, ","));
    return expect(p, ")");
}

static bool tuple(struct parser *p, sett__param *param, bool strides)
{
    uint32_t k = 0;
    uint8_t mode = 0;
    if (!expect(p, "("))
        return false;
    if (!sees(p, ")"))
        do {
            if (mode == SETT__MAX_RANK)
                return FAIL(p, "more than %d modes", SETT__MAX_RANK);
            if (!mode_of(p, param, strides, &k, mode++))
                return false;
        } while (accept(p, ","));
    if (strides && (k != param->n_leaf || mode != param->rank))
        return FAIL(p, "the strides do not have the extents' profile");
    param->rank = mode;
    return expect(p, ")");
}

/* ---- the signature ------------------------------------------------------------------------------ */
static bool sym_line(struct parser *p)
{
    sett__sig *s = &p->t->sig;
    sett__symbol sym = {.div = 1};
    uint64_t div;
    if (!name(p, "a name", &sym.name))
        return false;
    if (accept_word(p, "div")) {
        if (!digits(p, &div, INT64_MAX))
            return false;
        sym.div = (int64_t)div;
    }
    sym.wide = accept_word(p, "wide");
    if (s->n_sym == SETT__MAX_PARAMS)
        return FAIL(p, "more than %d symbols", SETT__MAX_PARAMS);
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
        return FAIL(p, "more than %d parameters", SETT__MAX_PARAMS);
    if (!name(p, "a name", &param.name) || !type(p, &param.dtype, &n))
        return false;
    if (n != 1)
        return FAIL(p, "a parameter has one type");
    param.align = (uint32_t)sett__dtype_bytes((sett_dtype)param.dtype);
    if (!scalar) {
        if (!tuple(p, &param, false) || !expect(p, ":") || !tuple(p, &param, true) || !expect(p, "align") ||
            !u32(p, &param.align, UINT32_MAX))
            return false;
        param.access = accept_word(p, "read") ? SETT__ACCESS_READ : 0;
        if (accept_word(p, "write"))
            param.access |= SETT__ACCESS_WRITE;
        param.wide = accept_word(p, "wide");
        param.restricted = accept_word(p, "restrict");
    }
    if (!grow(p, (void **)&s->param, &p->cap_param, s->n_param, sizeof *s->param))
        return false;
    s->param[s->n_param++] = param;
    return true;
}

static bool dims_line(struct parser *p, sett__expr *dim)
{
    for (int d = 0; d < 3; d++) {
        bool absent = accept_word(p, "_");
        if (!absent && !expr(p, &dim[d]))
            return false;
        if (!accept(p, ","))
            return true;
    }
    return FAIL(p, "more than three extents");
}

/* False also where the line is none of the signature's, with nothing read. */
static bool sig_line(struct parser *p, bool *found)
{
    sett__sig *s = &p->t->sig;
    *found = true;
    if (accept_word(p, "sym"))
        return sym_line(p);
    if (accept_word(p, "param"))
        return param_line(p, false);
    if (accept_word(p, "scalar"))
        return param_line(p, true);
    if (accept_word(p, "grid"))
        return dims_line(p, s->grid);
    if (accept_word(p, "block"))
        return dims_line(p, s->block);
    if (accept_word(p, "cluster"))
        return dims_line(p, s->cluster);
    if (accept_word(p, "smem"))
        return u32(p, &s->smem, UINT32_MAX) && expect(p, "align") && u32(p, &s->smem_align, UINT32_MAX);
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
    space(p);
    const char *start = p->at;
    if (!expect(p, "%") || !digits(p, &number, UINT32_MAX))
        return false;
    if (number >= p->cap_def || !p->def[number])
        return fail_at(p, start, "%%%llu is not made above", (unsigned long long)number);
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
    } while (accept(p, ","));
    return true;
}

/* Numbers below the text's length: what is printed never has others, and it bounds memory. */
static bool define(struct parser *p, uint64_t number, const char *at)
{
    uint32_t old = p->cap_def;
    if (number > p->len)
        return fail_at(p, at, "value numbers are at most the text's length, %zu", p->len);
    if (!sett__grow(p->mem, (void **)&p->def, &p->cap_def, (uint32_t)number + 1, sizeof *p->def))
        return no_memory(p);
    if (p->cap_def > old)
        memset(p->def + old, 0, (p->cap_def - old) * sizeof *p->def);
    if (p->def[number])
        return fail_at(p, at, "%%%llu is made twice", (unsigned long long)number);
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
    int from = cls == SETT__C_SHFL ? 3 : 0, to = cls == SETT__C_SHFL ? 7 : cls == SETT__C_SREG && op->code != SETT__LANE ? 3 : 0;
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
    space(p);
    const char *s = p->at;
    size_t n = strspn(s, LETTERS DIGITS "."), dot = n;
    sett__op *op = now(p);
    bool found = find_op(s, n, &op->code);
    while (!found && dot && s[dot - 1] != '.')
        dot--;
    if (!found && dot > 1)
        found = find_op(s, dot - 1, &op->code) && find_sub(op, s + dot, n - dot);
    if (!found)
        return FAIL(p, "there is no op %.*s", (int)(n < 40 ? n : 40), s);
    p->at = s + n;
    return true;
}

/* Digits with a point, exactly or to the nearest: up to 2^53 over a power of ten that a double holds. */
static bool decimal(struct parser *p, sett_dtype d, uint64_t *bits)
{
    space(p);
    const char *start = p->at;
    bool negative = accept(p, "-"), point = false;
    uint64_t m = 0;
    double scale = 1;
    size_t n = strspn(p->at, DIGITS "."), seen = 0;
    for (size_t i = 0; i < n; i++) {
        char c = p->at[i];
        if (c == '.' && point)
            return FAIL(p, "two points in a number");
        point |= c == '.';
        if (c == '.')
            continue;
        m = 10 * m + (uint64_t)(c - '0');
        scale *= point ? 10 : 1;
        if (++seen > 22 || m > UINT64_C(1) << 53)
            return fail_at(p, start, "too many digits: give the bits as 0x...");
    }
    if (!seen)
        return FAIL(p, "expected a number, or its bits as 0x...");
    p->at += n;
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
    space(p);
    const char *start = p->at;
    if (accept(p, "0x"))
        ok = hex(p, &bits);
    else if (d == SETT_BOOL && (accept_word(p, "true") || accept_word(p, "false")))
        ok = true, bits = start[0] == 't';
    else if (sett__dtype_is_float(d))
        ok = decimal(p, d, &bits);
    else if (*p->at == '-')
        ok = integer(p, &x), bits = sett__bits_of_int(d, x);
    else
        ok = digits(p, &bits, UINT64_MAX);
    if (ok && (width < 64 ? bits >> width != 0 : width != 64))
        return fail_at(p, start, "the number does not fit the type");
    if (ok && x && sett__int_of_bits(d, bits) != x)
        return fail_at(p, start, "the number does not fit the type");
    op->imm = (int64_t)bits;
    return ok;
}

static bool named(struct parser *p)
{
    const sett__sig *s = &p->t->sig;
    bool sym = now(p)->code == SETT__SYM;
    const char *text;
    space(p);
    const char *at = p->at;
    if (!name(p, sym ? "a symbol's name" : "a parameter's name", &text))
        return false;
    for (uint32_t i = 0; i < (sym ? s->n_sym : s->n_param); i++)
        if (!strcmp(sym ? s->sym[i].name : s->param[i].name, text)) {
            now(p)->imm = i;
            return true;
        }
    return fail_at(p, at, "there is no %s %.60s", sym ? "symbol" : "parameter", text);
}

static bool pick_list(struct parser *p)
{
    sett__tape *t = p->t;
    if (!operand(p) || !expect(p, "["))
        return false;
    now(p)->imm = t->n_index;
    do {
        uint32_t first, last;
        if (!u32(p, &first, SETT__MAX_WIDTH))
            return false;
        last = first;
        if (accept(p, "..") && !u32(p, &last, SETT__MAX_WIDTH))
            return false;
        for (; first <= last; first++) {
            if (t->n_index - (uint32_t)now(p)->imm == SETT__MAX_WIDTH)
                return FAIL(p, "more than %d indices", SETT__MAX_WIDTH);
            if (!grow(p, (void **)&t->index, &p->cap_index, t->n_index, sizeof *t->index))
                return false;
            t->index[t->n_index++] = first;
        }
    } while (accept(p, ","));
    if (t->n_index - (uint32_t)now(p)->imm != now(p)->n)
        return FAIL(p, "%u indices for %u elements", t->n_index - (uint32_t)now(p)->imm, now(p)->n);
    return expect(p, "]");
}

/* %1[%2 + 4], %1[4] */
static bool place(struct parser *p)
{
    if (!operand(p) || !expect(p, "["))
        return false;
    if (!sees(p, "%"))
        return add_arg(p, SETT__NONE) && integer(p, &now(p)->imm) && expect(p, "]");
    if (!operand(p))
        return false;
    bool minus = sees(p, "-");
    if (minus || sees(p, "+")) {
        uint64_t u = 0;
        p->at++;
        if (!digits(p, &u, (uint64_t)INT64_MAX + minus))
            return false;
        now(p)->imm = (int64_t)(minus ? 0 - u : u);
    }
    return expect(p, "]");
}

static bool align_of(struct parser *p)
{
    uint32_t bytes;
    if (!expect(p, "align") || !u32(p, &bytes, SETT__MAX_ALIGN))
        return false;
    if (!bytes || bytes & (bytes - 1))
        return FAIL(p, "an alignment is a power of two");
    now(p)->sub = (uint8_t)__builtin_ctz(bytes);
    return true;
}

static bool option(struct parser *p, const char *word)
{
    return accept_word(p, word) ? operand(p) : add_arg(p, SETT__NONE);
}

static bool load(struct parser *p)
{
    if (!place(p) || !align_of(p) || !option(p, "pred") || !option(p, "fill"))
        return false;
    now(p)->flags = accept_word(p, "volatile") ? SETT__F_VOLATILE : 0;
    return true;
}

/* The value comes before the predicate here, and after it in the operands. */
static bool store(struct parser *p, bool atom)
{
    uint32_t id, n;
    uint8_t dtype;
    if (!place(p))
        return false;
    space(p);
    const char *at = p->at;
    bool typed = !sees(p, "%");
    if ((typed && !type(p, &dtype, &n)) || !value(p, &id))
        return false;
    if (typed && (p->t->op[id].dtype != dtype || p->t->op[id].n != n))
        return fail_at(p, at, "the value is not of this type");
    if ((!atom && !align_of(p)) || !option(p, "pred") || !add_arg(p, id))
        return false;
    if (!atom && accept_word(p, "volatile"))
        now(p)->flags = SETT__F_VOLATILE;
    return true;
}

static bool print_line(struct parser *p)
{
    const char *s;
    uint32_t id;
    if (now(p)->code == SETT__ASSERT && (!operand(p) || !expect(p, ",")))
        return false;
    if (!quoted(p, &s) || !add_string(p, s, &id))
        return false;
    now(p)->imm = id;
    return now(p)->code == SETT__ASSERT || !accept(p, ",") || operands(p);
}

static bool for_line(struct parser *p)
{
    uint64_t number;
    sett__op *op = now(p);
    space(p);
    const char *at = p->at;
    if (!expect(p, "%") || !digits(p, &number, UINT32_MAX) || !expect(p, "=") || !operand(p) || !expect(p, "to") ||
        !operand(p) || !expect(p, "step") || !operand(p) || !expect(p, "{"))
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
        return op->code == SETT__PARAM ? named(p) : op->code == SETT__RMEM || (expect(p, "at") && integer(p, &op->imm));
    case SETT__C_PICK: return pick_list(p);
    case SETT__C_LOAD: return load(p);
    case SETT__C_STORE: return store(p, false);
    case SETT__C_ATOM: return store(p, true);
    case SETT__C_IF: return operand(p) && expect(p, "{");
    case SETT__C_FOR: return for_line(p);
    case SETT__C_PRINTF: return print_line(p);
    case SETT__C_SHFL: return operands(p) && expect(p, "width") && integer(p, &op->imm);
    default:
        if (!operands(p))
            return false;
        op->flags = accept_word(p, "nonneg") ? SETT__F_NONNEG : 0;
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
    static const char plain[] = LETTERS DIGITS "_./+-";
    sett__tape *t = p->t;
    const char *file, *func;
    sett__site_ref s = {0, 0, 0}, *last = t->n_site ? &t->site[t->n_site - 1] : NULL;
    if (!accept(p, "@"))
        return !p->status;
    if (!name_of(p, plain, "a file", &file) || !expect(p, ":") || !u32(p, &s.line, UINT32_MAX) ||
        !name_of(p, plain, "a function", &func) || !same_or_new(p, file, last ? &last->file : NULL, &s.file) ||
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
        return FAIL(p, "more than %u ops", SETT__MAX_OPS);
    if (!grow(p, (void **)&t->op, &p->cap_op, t->n_op, sizeof *t->op))
        return false;
    *now(p) = (sett__op){.args = t->n_arg, .site = SETT__NONE, .other = SETT__NONE};
    space(p);
    const char *start = p->at;
    bool result = accept(p, "%"), end = !result && accept(p, "}");
    if (result && (!digits(p, &number, UINT32_MAX) || !expect(p, "=")))
        return false;
    if (end)
        now(p)->code = accept_word(p, "else") ? SETT__ELSE : SETT__END;
    else if (!op_name(p))
        return false;
    sett__code code = (sett__code)now(p)->code;
    bool gives = has_result(code);
    if (gives != result)
        return fail_at(p, start, gives ? "%s has a result" : "%s has no result", sett__ops[code].text);
    if (result && !type(p, &now(p)->dtype, &now(p)->n))
        return false;
    if (end ? code == SETT__ELSE && !expect(p, "{") : !rest(p))
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
    space(p);
    if (*p->at == '\n' || !*p->at)
        return true;
    if (!*header) {
        *header = true;
        if (!accept_word(p, "sett") || !accept_word(p, "tape") || !u32(p, &version, UINT32_MAX))
            return FAIL(p, "a tape begins with: sett tape %d", SETT__TAPE_VERSION);
        return version == SETT__TAPE_VERSION || FAIL(p, "it is of another version of sett");
    }
    return sig_line(p, &found) || (!found && op_line(p));
}

static bool parse_lines(struct parser *p)
{
    bool header = false;
    while (*p->at) {
        p->line = p->at;
        if (!parse_line(p, &header))
            return p->status ? false : FAIL(p, "the line is not understood");
        space(p);
        if (*p->at && *p->at != '\n')
            return FAIL(p, "the line should end here");
        p->at += *p->at == '\n';
    }
    return header || FAIL(p, "a tape begins with: sett tape %d", SETT__TAPE_VERSION);
}

/* The tape's arrays move into its arena; the growing ones are freed, whatever happened. */
static void settle(struct parser *p, void *field, size_t bytes)
{
    void *from, *to = NULL;
    memcpy(&from, field, sizeof from);
    if (bytes && !p->status && !(to = sett__arena_alloc(&p->t->arena, bytes)))
        no_memory(p);
    if (to)
        memcpy(to, from, bytes);
    sett__mem_free(p->mem, from);
    memcpy(field, &to, sizeof to);
}

sett_status sett__tape_parse_in(sett__tape *t, const sett__allocator *mem, const char *text, sett_error *err)
{
    *t = (sett__tape){.arena = {.mem = mem}};
    struct parser p = {.text = text, .at = text, .line = text, .len = strlen(text), .mem = mem, .t = t, .err = err};
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
    sett__mem_free(mem, p.def);
    if (!p.status && !sett__tape_link(t))
        p.status = sett__error(err, SETT_E_PARSE, "regions do not nest: an end or else has no beginning, or one is open at the end");
    if (!p.status)
        p.status = sett__tape_verify(t, NULL, err);
    if (p.status)
        sett__tape_free(t);
    return p.status;
}

sett_status sett__tape_parse(sett__tape *t, const char *text, sett_error *err)
{
    return sett__tape_parse_in(t, NULL, text, err);
}
