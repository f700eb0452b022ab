/* SPDX-License-Identifier: Apache-2.0 */
/* The tape as text: parsing what print.c prints. Value numbers may be any that are not used twice,
 * so that a line can be added by hand; printing numbers them anew. */
#include "parse.h"
#include <stdio.h>
#include <string.h>

/* ---- growing arrays ---------------------------------------------------------------------- */
static bool add_word(sett__parser *p, uint32_t word)
{
    sett__tape *t = p->t;
    if (!sett__parse_grow(p, (void **)&t->arg, &p->cap_arg, t->n_arg, sizeof *t->arg))
        return false;
    t->arg[t->n_arg++] = word;
    return true;
}

static bool add_arg(sett__parser *p, uint32_t value)
{
    sett__op *op = &p->t->op[p->t->n_op];
    if (op->n_args == UINT16_MAX)
        return SETT__LEX_FAIL(&p->x, "too many operands");
    op->n_args++;
    return add_word(p, value);
}

static bool add_string(sett__parser *p, const char *s, uint32_t *id)
{
    sett__tape *t = p->t;
    if (!sett__parse_grow(p, (void **)&t->string, &p->cap_string, t->n_string, sizeof *t->string))
        return false;
    *id = t->n_string;
    t->string[t->n_string++] = s;
    return true;
}

/* ---- ops --------------------------------------------------------------------------------------------- */
static sett__op *now(sett__parser *p)
{
    return &p->t->op[p->t->n_op];
}

/* %7, which an earlier line made. */
static bool value(sett__parser *p, uint32_t *id)
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

static bool operand(sett__parser *p)
{
    uint32_t id;
    return value(p, &id) && add_arg(p, id);
}

static bool operands(sett__parser *p)
{
    do {
        if (!operand(p))
            return false;
    } while (sett__accept(&p->x, ","));
    return true;
}

/* Numbers below the text's length: what is printed never has others, and it bounds memory. */
static bool define(sett__parser *p, uint64_t number, const char *at)
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

static bool folds(int code)
{
    return code == SETT__REDUCE || code == SETT__ATOM || code == SETT__REDUX;
}

static bool find_sub(sett__op *op, const char *s, size_t n)
{
    sett__code code = (sett__code)op->code;
    if (folds(code)) {
        bool exchange = code == SETT__ATOM && n == 4 && !memcmp(s, "xchg", 4), cas = code == SETT__ATOM && n == 3 && !memcmp(s, "cas", 3);
        op->sub = exchange ? SETT__XCHG : cas ? SETT__CAS : 0;
        return exchange || cas || find_op(s, n, &op->sub);
    }
    const char *word;
    for (int i = 0; (word = sett__sub_word(code, i)); i++)
        if (strlen(word) == n && !memcmp(word, s, n)) {
            op->sub = (uint8_t)i;
            return true;
        }
    return false;
}

static sett__guess guess_op(const char *s, size_t n, int from, int to)
{
    sett__guess g = sett__guess_of(s, n);
    for (int c = from; c < to; c++)
        sett__guess_add(&g, sett__ops[c].text);
    return g;
}

/* dot: behind the dot of a name that is known; 0: it is not. A type is no part of a name: ad.f32 means add. */
static bool no_such_op(sett__parser *p, const char *s, size_t n, size_t dot)
{
    const sett__code code = (sett__code)now(p)->code;
    const char *word;
    sett__guess g = dot ? guess_op(s + dot, n - dot, SETT__ADD, folds(code) ? SETT__XOR + 1 : 0) : guess_op(s, n, 0, SETT__N_CODES);
    const size_t first = strcspn(s, ".");
    if (!dot && !g.best && first < n)
        g = guess_op(s, first, 0, SETT__N_CODES);
    for (int i = 0; dot && (word = sett__sub_word(code, i)); i++)
        sett__guess_add(&g, word);
    if (!g.best)
        return SETT__LEX_FAIL(&p->x, "there is no op %.*s", (int)(n < 40 ? n : 40), s);
    return SETT__LEX_FAIL(&p->x, "there is no op %.*s; did you mean %.*s%s?", (int)(n < 40 ? n : 40), s, (int)dot, s, g.best);
}

/* add, ex2.approx, reduce.add: a whole name first, else what the last dot cuts off. */
static bool op_name(sett__parser *p)
{
    sett__lex_space(&p->x);
    const char *s = p->x.at;
    size_t n = strspn(s, SETT__LETTERS SETT__DIGITS "._"), dot = n;
    sett__op *op = now(p);
    bool found = find_op(s, n, &op->code);
    while (!found && dot && s[dot - 1] != '.')
        dot--;
    const bool head = !found && dot > 1 && find_op(s, dot - 1, &op->code) && (folds(op->code) || sett__sub_word((sett__code)op->code, 0));
    if (!found && !(head && find_sub(op, s + dot, n - dot)))
        return no_such_op(p, s, n, head ? dot : 0);
    p->x.at = s + n;
    return true;
}

/* Digits with a point, exactly or to the nearest: up to 2^53 over a power of ten that a double holds. */
static bool decimal(sett__parser *p, sett_dtype d, uint64_t *bits)
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

static bool constant(sett__parser *p)
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

static const char *name_of(const sett__sig *s, int code, uint32_t i)
{
    return code == SETT__SYM ? s->sym[i].name : code == SETT__TMAP ? s->map[i].name : s->param[i].name;
}

static bool named(sett__parser *p)
{
    const sett__sig *s = &p->t->sig;
    bool sym = now(p)->code == SETT__SYM, map = now(p)->code == SETT__TMAP;
    const char *text;
    sett__lex_space(&p->x);
    const char *at = p->x.at;
    if (!sett__lex_name(&p->x, sym ? "a symbol's name" : map ? "a map's name" : "a parameter's name", &text))
        return false;
    const uint32_t n = sym ? s->n_sym : map ? s->n_map : s->n_param;
    for (uint32_t i = 0; i < n; i++)
        if (!strcmp(name_of(s, now(p)->code, i), text)) {
            now(p)->imm = i;
            return true;
        }
    sett__guess g = sett__guess_of(text, strlen(text));
    for (uint32_t i = 0; i < n; i++)
        sett__guess_add(&g, name_of(s, now(p)->code, i));
    return sett__lex_fail(&p->x, at, "there is no %s %.60s%s", sym ? "symbol" : map ? "map" : "parameter", text, sett__guess_text(&g));
}

static bool pick_list(sett__parser *p)
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
            if (!sett__parse_grow(p, (void **)&t->index, &p->cap_index, t->n_index, sizeof *t->index))
                return false;
            t->index[t->n_index++] = first;
        }
    } while (sett__accept(&p->x, ","));
    if (t->n_index - (uint32_t)now(p)->imm != now(p)->n)
        return SETT__LEX_FAIL(&p->x, "%u indices for %u elements", t->n_index - (uint32_t)now(p)->imm, now(p)->n);
    return sett__expect(&p->x, "]");
}

/* %1[%2 + 4], %1[4] */
static bool place(sett__parser *p, int64_t *imm)
{
    if (!operand(p) || !sett__expect(&p->x, "["))
        return false;
    if (!sett__sees(&p->x, "%"))
        return add_arg(p, SETT__NONE) && sett__lex_int(&p->x, imm) && sett__expect(&p->x, "]");
    if (!operand(p))
        return false;
    bool minus = sett__sees(&p->x, "-");
    if (minus || sett__sees(&p->x, "+")) {
        uint64_t u = 0;
        p->x.at++;
        if (!sett__lex_digits(&p->x, &u, (uint64_t)INT64_MAX + minus))
            return false;
        *imm = (int64_t)(minus ? 0 - u : u);
    }
    return sett__expect(&p->x, "]");
}

static bool align_of(sett__parser *p)
{
    uint32_t bytes;
    if (!sett__expect(&p->x, "align") || !sett__lex_u32(&p->x, &bytes, SETT__MAX_ALIGN))
        return false;
    if (!bytes || bytes & (bytes - 1))
        return SETT__LEX_FAIL(&p->x, "an alignment is a power of two");
    now(p)->sub = (uint8_t)__builtin_ctz(bytes);
    return true;
}

static bool option(sett__parser *p, const char *word)
{
    return sett__accept_word(&p->x, word) ? operand(p) : add_arg(p, SETT__NONE);
}

static bool load(sett__parser *p)
{
    return place(p, &now(p)->imm) && align_of(p) && option(p, "pred") && option(p, "fill");
}

/* f32x4 %7, or the value alone. */
static bool stored(sett__parser *p, uint32_t *id)
{
    uint32_t n;
    uint8_t dtype;
    sett__lex_space(&p->x);
    const char *at = p->x.at;
    bool typed = !sett__sees(&p->x, "%");
    if ((typed && !sett__lex_type(&p->x, &dtype, &n)) || !value(p, id))
        return false;
    return !typed || (p->t->op[*id].dtype == dtype && p->t->op[*id].n == n) || sett__lex_fail(&p->x, at, "the value is not of this type");
}

/* The value comes before the predicate here, and after it in the operands. */
static bool store(sett__parser *p, bool atom)
{
    uint32_t id, was = SETT__NONE;
    if (!place(p, &now(p)->imm) || !stored(p, &id))
        return false;
    if (atom && sett__accept_word(&p->x, "was") && !value(p, &was))
        return false;
    return (atom || align_of(p)) && option(p, "pred") && add_arg(p, id) && (was == SETT__NONE || add_arg(p, was));
}

/* %2[%5 + 8] %1[%4] pred %7: the predicate is written behind, and stands between. */
static bool cp_async(sett__parser *p, int64_t *to)
{
    uint32_t pred = SETT__NONE;
    if (!place(p, to) || !add_arg(p, SETT__NONE) || !place(p, &now(p)->imm) ||
        (sett__accept_word(&p->x, "pred") && !value(p, &pred)))
        return false;
    p->t->arg[now(p)->args + 2] = pred;
    return option(p, "keep");
}

static bool form_item(sett__parser *p, const sett__form *f, int64_t *hidden)
{
    uint32_t id;
    if (f->kinds & SETT__F_PLACE)
        return place(p, f->place ? &hidden[f->place - 1] : &now(p)->imm);
    return (f->kinds & SETT__F_TYPED ? stored(p, &id) : value(p, &id)) && add_arg(p, id);
}

static bool form(sett__parser *p, int64_t *hidden)
{
    for (sett__form f = sett__form_of(now(p)->code); sett__form_next(&f);) {
        bool there = !*f.name || sett__accept_word(&p->x, f.name);
        if (!there && !f.optional)
            return SETT__LEX_FAIL(&p->x, "expected %s", f.name);
        if (f.optional && f.repeated && !sett__sees(&p->x, "%"))
            continue;
        if (f.comma && !sett__expect(&p->x, ","))
            return false;
        for (uint32_t k = 0; !there && !f.repeated && k < f.words; k++)
            if (!add_arg(p, SETT__NONE))
                return false;
        for (bool more = there; more; more = f.repeated && sett__accept(&p->x, ","))
            if (!form_item(p, &f, hidden))
                return false;
    }
    return true;
}

static bool barrier_line(sett__parser *p)
{
    return (now(p)->code != SETT__BARSYNC && now(p)->code != SETT__BARARRIVE) || operands(p);
}

static bool print_line(sett__parser *p)
{
    const char *s;
    uint32_t id;
    if (now(p)->code == SETT__ASSERT && (!operand(p) || !sett__expect(&p->x, ",")))
        return false;
    if (!sett__lex_string(&p->x, &s) || !add_string(p, s, &id))
        return false;
    now(p)->imm = id;
    return !sett__accept(&p->x, ",") || operands(p);
}

static bool for_line(sett__parser *p)
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

/* What follows name and type, but for attributes. hidden: those that have no text. */
static bool rest(sett__parser *p, int64_t *hidden)
{
    sett__op *op = now(p);
    switch (sett__ops[op->code].cls) {
    case SETT__C_SREG: return true;
    case SETT__C_BARRIER: return barrier_line(p);
    case SETT__C_FORM: return form(p, hidden);
    case SETT__C_CPASYNC: return cp_async(p, hidden);
    case SETT__C_WARP: return op->code == SETT__ELECT || op->code == SETT__SPECIAL || operands(p);
    case SETT__C_CONST: return constant(p);
    case SETT__C_SYM:
    case SETT__C_SCALAR: return named(p);
    case SETT__C_ROOT:
        if (op->code == SETT__PARAM || op->code == SETT__TMAP)
            op->n = 0;
        return op->code == SETT__PARAM || op->code == SETT__TMAP ? named(p)
               : op->code == SETT__GMEM || op->code == SETT__PEER
                   ? operands(p)
                   : op->code == SETT__RMEM || (sett__expect(&p->x, "at") && sett__lex_int(&p->x, &op->imm));
    case SETT__C_PICK: return pick_list(p);
    case SETT__C_LOAD: return load(p);
    case SETT__C_STORE: return store(p, false);
    case SETT__C_ATOM: return store(p, true);
    case SETT__C_IF: return operand(p) && sett__expect(&p->x, "{");
    case SETT__C_LOOP: return sett__expect(&p->x, "{");
    case SETT__C_WHILE: return operand(p);
    case SETT__C_FOR: return for_line(p);
    case SETT__C_PRINTF:
    case SETT__C_INLINE: return print_line(p);
    default: return operands(p);
    }
}

/* Names the words that there are, if they are few, else the nearest. */
static bool no_such_word(sett__parser *p, const sett__attr_info *a)
{
    char words[128] = "";
    size_t n = 0;
    sett__lex_space(&p->x);
    sett__guess g = sett__guess_of(p->x.at, strcspn(p->x.at, " \t\r\n;"));
    for (int64_t k = a->least; k <= a->most; k++) {
        sett__guess_add(&g, a->word[k]);
        if (*a->word[k] && n < sizeof words)
            n += (size_t)snprintf(words + n, sizeof words - n, "%s%s", n ? ", " : "", a->word[k]);
    }
    if (n >= sizeof words)
        return SETT__LEX_FAIL(&p->x, "there is no such %s%s", a->text, sett__guess_text(&g));
    return SETT__LEX_FAIL(&p->x, "there is no such %s: it is one of %s", a->text, words);
}

static bool attr_value(sett__parser *p, const sett__attr_info *a, int64_t *x)
{
    *x = a->kind == SETT__A_FLAG;
    if (a->kind == SETT__A_FLAG || !sett__expect(&p->x, "="))
        return *x;
    if (a->kind != SETT__A_WORD)
        return sett__lex_int(&p->x, x);
    for (*x = a->most; *x >= a->least; --*x)
        if (*a->word[*x] && sett__accept_word(&p->x, a->word[*x]))
            return true;
    return no_such_word(p, a);
}

/* Those at the end that are usual are left out. */
static bool attributes(sett__parser *p, const int64_t *hidden)
{
    uint32_t first = p->t->n_arg;
    for (const sett__attr_info *a = SETT__ATTR_ROW(now(p)->code, 0); a->text; a++) {
        int64_t x = *a->text ? a->usual : *hidden++;
        if (*a->text && sett__accept_word(&p->x, a->text) && !attr_value(p, a, &x))
            return false;
        if (x != (int32_t)x)
            return SETT__LEX_FAIL(&p->x, "an attribute, or an offset in shared memory, has 32 bits");
        if (!add_word(p, (uint32_t)x))
            return false;
        if (x != a->usual)
            now(p)->n_attrs = (uint8_t)(p->t->n_arg - first);
    }
    p->t->n_arg = first + now(p)->n_attrs;
    return true;
}

/* The words of a class before its attributes, in their order; NULL ends them. */
static const char *const *options_of(int cls)
{
    static const char *const none[] = {NULL}, *const load[] = {"align", "pred", "fill", NULL}, *const store[] = {"align", "pred", NULL},
                             *const atom[] = {"was", "pred", NULL}, *const copy[] = {"pred", "keep", NULL};
    return cls == SETT__C_LOAD ? load : cls == SETT__C_STORE ? store : cls == SETT__C_ATOM ? atom : cls == SETT__C_CPASYNC ? copy : none;
}

static void list(sett__sink *to, sett__parser *p, size_t len, const char *word, bool *here)
{
    if (*word)
        sett__putf(to, "%s%s", to->len ? ", " : "", word);
    *here |= len == strlen(word) && !memcmp(p->x.at, word, len);
}

/* Does the line go on with a word whose place was before? Then it is told what the order is. */
static bool out_of_order(sett__parser *p)
{
    char order[120];
    sett__sink to = {.buf = order, .cap = sizeof order};
    bool here = false;
    const int code = now(p)->code, cls = sett__ops[code].cls;
    sett__lex_space(&p->x);
    const size_t len = strspn(p->x.at, SETT__LETTERS SETT__DIGITS "_");
    if (!len)
        return false;
    for (const char *const *word = options_of(cls); *word; word++)
        list(&to, p, len, *word, &here);
    for (sett__form f = sett__form_of(code); cls == SETT__C_FORM && sett__form_next(&f);)
        list(&to, p, len, f.name, &here);
    for (const sett__attr_info *a = SETT__ATTR_ROW(code, 0); a->text; a++)
        list(&to, p, len, a->text, &here);
    return here && !SETT__LEX_FAIL(&p->x, "it is given twice, or out of order: the order is %s", order);
}

/* "file", as the last site has it, or a new one. */
static bool same_or_new(sett__parser *p, const char *s, const uint32_t *last, uint32_t *id)
{
    if (last && !strcmp(p->t->string[*last], s)) {
        *id = *last;
        return true;
    }
    return add_string(p, s, id);
}

static bool site(sett__parser *p)
{
    sett__tape *t = p->t;
    const char *file, *func;
    sett__site_ref s = {0, 0, 0}, *last = t->n_site ? &t->site[t->n_site - 1] : NULL;
    if (!sett__accept(&p->x, "@"))
        return !p->x.status;
    if (!sett__parse_place(p, &file, &s.line) ||
        !sett__lex_chars(&p->x, SETT__LETTERS SETT__DIGITS "_./+-", "a function", &func) ||
        !same_or_new(p, file, last ? &last->file : NULL, &s.file) ||
        !same_or_new(p, func, last ? &last->func : NULL, &s.func) ||
        !sett__parse_grow(p, (void **)&t->site, &p->cap_site, t->n_site, sizeof *t->site))
        return false;
    now(p)->site = t->n_site;
    t->site[t->n_site++] = s;
    return true;
}

static bool has_result(sett__code code)
{
    switch (sett__ops[code].cls) {
    case SETT__C_FORM: return sett__form_result(code) != 0;
    case SETT__C_STORE:
    case SETT__C_BARRIER:
    case SETT__C_CPASYNC:
    case SETT__C_IF:
    case SETT__C_ELSE:
    case SETT__C_FOR: /* which is not written as one */
    case SETT__C_END:
    case SETT__C_LOOP:
    case SETT__C_WHILE:
    case SETT__C_PRINTF: return false;
    default: return true;
    }
}

static bool op_line(sett__parser *p)
{
    sett__tape *t = p->t;
    uint64_t number = 0;
    if (t->n_op == SETT__MAX_OPS)
        return SETT__LEX_FAIL(&p->x, "more than %u ops", SETT__MAX_OPS);
    if (!sett__parse_grow(p, (void **)&t->op, &p->cap_op, t->n_op, sizeof *t->op) ||
        !sett__parse_grow(p, (void **)&t->line, &p->cap_line, t->n_op, sizeof *t->line))
        return false;
    t->line[t->n_op] = p->n_line;
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
    bool gives = code == SETT__PTXV ? result : has_result(code);
    if (gives != result)
        return sett__lex_fail(&p->x, start, gives ? "%s has a result" : "%s has no result", sett__ops[code].text);
    if (result && !sett__lex_type(&p->x, &now(p)->dtype, &now(p)->n))
        return false;
    int64_t hidden[SETT__FORM_PLACES] = {0};
    if (end ? code == SETT__ELSE && !sett__expect(&p->x, "{") : !rest(p, hidden) || !attributes(p, hidden) || out_of_order(p))
        return false;
    if (!site(p) || (result && !define(p, number, start)))
        return false;
    t->n_op++;
    return true;
}

/* ---- the whole --------------------------------------------------------------------------------------------- */
static bool parse_line(sett__parser *p, bool *header)
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
    return sett__parse_sig_line(p, &found) || (!found && op_line(p));
}

static bool parse_lines(sett__parser *p)
{
    bool header = false;
    while (*p->x.at) {
        p->x.line = p->x.at;
        p->n_line++;
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
static void settle(sett__parser *p, void *field, size_t bytes)
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
    sett__parser p = {
        .x = {.text = text, .at = text, .line = text, .len = strlen(text), .arena = &t->arena, .err = err},
        .mem = mem,
        .t = t};
    sett__sig *s = &t->sig;
    parse_lines(&p);
    settle(&p, &t->op, t->n_op * sizeof *t->op);
    settle(&p, &t->line, t->n_op * sizeof *t->line);
    settle(&p, &t->arg, t->n_arg * sizeof *t->arg);
    settle(&p, &t->index, t->n_index * sizeof *t->index);
    settle(&p, &t->string, t->n_string * sizeof *t->string);
    settle(&p, &t->site, t->n_site * sizeof *t->site);
    settle(&p, &s->sym, s->n_sym * sizeof *s->sym);
    settle(&p, &s->param, s->n_param * sizeof *s->param);
    settle(&p, &s->leaf, s->n_leaf * sizeof *s->leaf);
    settle(&p, &s->code, s->n_code * sizeof *s->code);
    settle(&p, &s->check, s->n_check * sizeof *s->check);
    settle(&p, &s->map, s->n_map * sizeof *s->map);
    if (!p.x.status && !sett__tape_link(t))
        p.x.status = sett__error(
            err, SETT_E_PARSE, "regions do not nest: an end or else has no beginning, or one is open at the end");
    if (!p.x.status)
        p.x.status = sett__tape_verify(t, NULL, err);
    if (!p.x.status && !sett__tape_claims(t))
        p.x.status = sett__error(err, SETT_E_MEMORY, "out of memory while reading a tape");
    sett__mem_free(mem, p.def);
    if (p.x.status)
        sett__tape_free(t);
    return p.x.status;
}

sett_status sett__tape_parse(sett__tape *t, const char *text, sett_error *err)
{
    return sett__tape_parse_in(t, NULL, text, err);
}
