/* SPDX-License-Identifier: Apache-2.0 */
/* The tape as text: parsing the lines of the signature, which print.c prints. */
#include "parse.h"
#include <string.h>

/* ---- growing arrays ---------------------------------------------------------------------- */
bool sett__parse_grow(sett__parser *p, void **data, uint32_t *cap, uint32_t n, size_t item)
{
    return sett__grow(p->mem, data, cap, n + 1, item) || sett__lex_no_memory(&p->x);
}

/* ---- expressions and layouts ----------------------------------------------------------------- */
static bool add_code(sett__parser *p, sett__xcode code, int64_t imm)
{
    sett__sig *s = &p->t->sig;
    if (!sett__parse_grow(p, (void **)&s->code, &p->cap_code, s->n_code, sizeof *s->code))
        return false;
    s->code[s->n_code++] = (sett__xop){(uint8_t)code, imm};
    return true;
}

static bool binary(sett__parser *p, int level);

static bool call(sett__parser *p, sett__xcode code)
{
    for (int i = 0; i < sett__xops[code].operands; i++)
        if (!sett__expect(&p->x, i ? "," : "(") || !binary(p, 1))
            return false;
    return sett__expect(&p->x, ")") && add_code(p, code, 0);
}

static bool symbol(sett__parser *p)
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
        if (s->param[i].scalar == SETT__BY_NUMBER && !strcmp(s->param[i].name, text))
            return add_code(p, SETT__X_SCALAR, i);
    return sett__lex_fail(&p->x, at, "there is no symbol or scalar %.60s", text);
}

static bool primary(sett__parser *p)
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
static sett__xcode operator_at(sett__parser *p, int level)
{
    sett__xcode best = SETT__N_XCODES;
    for (int code = 0; code < SETT__N_XCODES; code++)
        if (sett__xops[code].level && sett__sees(&p->x, sett__xops[code].text) &&
            (best == SETT__N_XCODES || strlen(sett__xops[code].text) > strlen(sett__xops[best].text)))
            best = (sett__xcode)code;
    return best != SETT__N_XCODES && sett__xops[best].level >= level ? best : SETT__N_XCODES;
}

static bool binary(sett__parser *p, int level)
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

static bool expr(sett__parser *p, sett__expr *e)
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
static bool leaf(sett__parser *p, sett__param *param, bool strides, uint32_t *k, uint8_t mode)
{
    sett__sig *s = &p->t->sig;
    sett__expr e;
    if (strides ? *k >= param->n_leaf || s->leaf[param->leaf + *k].mode != mode : *k >= SETT__MAX_LEAVES)
        return SETT__LEX_FAIL(&p->x, strides ? "the strides do not have the extents' profile" : "too many extents");
    if (!expr(p, &e))
        return false;
    if (!strides) {
        if (!sett__parse_grow(p, (void **)&s->leaf, &p->cap_leaf, s->n_leaf, sizeof *s->leaf))
            return false;
        s->leaf[s->n_leaf++] = (sett__leaf){.mode = mode, .extent = e};
        param->n_leaf++;
    } else {
        s->leaf[param->leaf + *k].stride = e;
    }
    ++*k;
    return true;
}

static bool mode_of(sett__parser *p, sett__param *param, bool strides, uint32_t *k, uint8_t mode)
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

static bool tuple(sett__parser *p, sett__param *param, bool strides)
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
static bool sym_line(sett__parser *p)
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
    if (sett__accept(&p->x, "=") && !expr(p, &sym.value))
        return false;
    if (s->n_sym == SETT__MAX_PARAMS)
        return SETT__LEX_FAIL(&p->x, "more than %d symbols", SETT__MAX_PARAMS);
    if (!sett__parse_grow(p, (void **)&s->sym, &p->cap_sym, s->n_sym, sizeof *s->sym))
        return false;
    s->sym[s->n_sym++] = sym;
    s->n_derived += sym.value.count > 0;
    return true;
}

/* "24 align 8" */
static bool struct_line(sett__parser *p, sett__param *param)
{
    param->dtype = SETT_U8;
    return sett__lex_u32(&p->x, &param->bytes, SETT__PARAM_BYTES) && sett__expect(&p->x, "align") &&
           sett__lex_u32(&p->x, &param->align, SETT__VALUE_ALIGN);
}

static bool type_of(sett__parser *p, sett__param *param)
{
    uint32_t n;
    if (!sett__lex_type(&p->x, &param->dtype, &n))
        return false;
    param->align = (uint32_t)sett__dtype_bytes((sett_dtype)param->dtype);
    return n == 1 || SETT__LEX_FAIL(&p->x, "a parameter has one type");
}

static uint8_t param_option(sett__parser *p, const char *first, const char *second)
{
    uint8_t bits = sett__accept_word(&p->x, first) ? 1 : 0;
    if (*second && sett__accept_word(&p->x, second))
        bits |= 2;
    return bits;
}

/* by: SETT__BY_*, or 0 for a tensor. */
static bool param_line(sett__parser *p, uint8_t by)
{
    sett__sig *s = &p->t->sig;
    sett__param param = {.scalar = by, .leaf = by ? 0 : s->n_leaf};
    if (s->n_param == SETT__MAX_PARAMS)
        return SETT__LEX_FAIL(&p->x, "more than %d parameters", SETT__MAX_PARAMS);
    if (!sett__lex_name(&p->x, "a name", &param.name) ||
        !(by == SETT__BY_STRUCT ? struct_line : type_of)(p, &param))
        return false;
    if (!by) {
        if (!tuple(p, &param, false) || !sett__expect(&p->x, ":") || !tuple(p, &param, true) ||
            !sett__expect(&p->x, "align") || !sett__lex_u32(&p->x, &param.align, UINT32_MAX))
            return false;
#define PARAM_OPTION(name, bit, first, second) param.name = param_option(p, first, second);
#include "sig.def"
    }
    if (!sett__parse_grow(p, (void **)&s->param, &p->cap_param, s->n_param, sizeof *s->param))
        return false;
    s->param[s->n_param++] = param;
    return true;
}

static bool dims_line(sett__parser *p, sett__expr *dim)
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

static bool smem_line(sett__parser *p, sett__sig *s)
{
    if (s->smem_align)
        return SETT__LEX_FAIL(&p->x, "it is given twice");
    return sett__lex_u32(&p->x, &s->smem, UINT32_MAX) && sett__expect(&p->x, "align") &&
           sett__lex_u32(&p->x, &s->smem_align, UINT32_MAX) &&
           (!sett__accept_word(&p->x, "more") || expr(p, &s->smem_more));
}

static bool hint(sett__parser *p, const char *word, uint16_t *to)
{
    uint32_t x = 0;
    bool ok = !sett__accept_word(&p->x, word) || sett__lex_u32(&p->x, &x, UINT16_MAX);
    *to = (uint16_t)x;
    return ok;
}

static bool hints_line(sett__parser *p, sett__sig *s)
{
    if (s->cooperative | s->big_cluster | s->max_registers | s->min_blocks)
        return SETT__LEX_FAIL(&p->x, "it is given twice");
    s->cooperative = sett__accept_word(&p->x, "cooperative");
    s->big_cluster = sett__accept_word(&p->x, "big_cluster");
    return hint(p, "max_registers", &s->max_registers) && hint(p, "min_blocks", &s->min_blocks);
}

bool sett__parse_place(sett__parser *p, const char **file, uint32_t *line)
{
    return sett__lex_chars(&p->x, SETT__LETTERS SETT__DIGITS "_./+-", "a file", file) && sett__expect(&p->x, ":") &&
           sett__lex_u32(&p->x, line, UINT32_MAX);
}

static bool check_line(sett__parser *p, sett__sig *s)
{
    sett__check k = {.file = NULL};
    if (s->n_check == SETT__MAX_CHECKS)
        return SETT__LEX_FAIL(&p->x, "more than %d checks", SETT__MAX_CHECKS);
    if (!expr(p, &k.expr) || !sett__lex_string(&p->x, &k.text) ||
        (sett__accept(&p->x, "@") && !sett__parse_place(p, &k.file, &k.line)) ||
        !sett__parse_grow(p, (void **)&s->check, &p->cap_check, s->n_check, sizeof k))
        return false;
    s->check[s->n_check++] = k;
    return true;
}

/* "(64,128)": n of them. */
static bool numbers(sett__parser *p, int n, uint32_t *x)
{
    for (int k = 0; k < n; k++)
        if (!sett__expect(&p->x, k ? "," : "(") || !sett__lex_u32(&p->x, &x[k], UINT16_MAX))
            return false;
    return sett__expect(&p->x, ")");
}

/* "(K,M)", a list of each mode from `from` on. The first list says how many modes there are. */
static bool exprs(sett__parser *p, const char *word, int from, uint8_t *rank, sett__expr *e)
{
    const bool counts = !*rank;
    int k = from;
    if (!counts && k >= *rank)
        return true;
    if (*word && !sett__expect(&p->x, word))
        return false;
    do {
        if (k == SETT__MAP_RANK)
            return SETT__LEX_FAIL(&p->x, "a map has at most %d modes", SETT__MAP_RANK);
        if (!sett__expect(&p->x, k > from ? "," : "(") || !expr(p, &e[k]))
            return false;
        k++;
    } while (counts ? sett__sees(&p->x, ",") : k < *rank);
    *rank = (uint8_t)k;
    return sett__expect(&p->x, ")");
}

/* usual 0: the word must be there. */
static bool mode_numbers(sett__parser *p, const char *word, uint32_t usual, int n, uint32_t *x)
{
    for (int k = 0; k < n; k++)
        x[k] = usual;
    if (usual)
        return !sett__accept_word(&p->x, word) || numbers(p, n, x);
    return sett__expect(&p->x, word) && numbers(p, n, x);
}

static bool map_modes(sett__parser *p, sett__map *m)
{
    uint32_t x[SETT__MAP_RANK];
#define MAP_MODE_EXPR(name, word, from) \
    if (!exprs(p, word, from, &m->rank, m->name)) \
        return false;
#include "map.def"
#define MAP_MODE(type, name, least, most_of_0, most, usual) \
    if (!mode_numbers(p, #name, usual, m->rank, x)) \
        return false; \
    for (int k = 0; k < m->rank; k++) \
        m->name[k] = (type)(x[k] > (type)-1 ? 0 : x[k]);
#include "map.def"
    return true;
}

/* " swizzle 128" of 32, 64 and 128; " l2 256" of 64, 128 and 256; " nan": the number of the choice. */
static bool option(sett__parser *p, const char *word, uint32_t first, uint32_t most, uint8_t *to)
{
    uint32_t x;
    const char *at = p->x.at;
    char list[80];
    if (!sett__accept_word(&p->x, word))
        return true;
    if (!first)
        return *to = 1, true;
    if (!sett__lex_u32(&p->x, &x, 256))
        return false;
    for (uint32_t k = 0, n = 0; k < most; k++) {
        if (x == first << k)
            return *to = (uint8_t)(k + 1), true;
        n += (uint32_t)snprintf(list + n, sizeof list - n, "%s%u", !k ? "" : k + 1 < most ? ", " : " or ", first << k);
    }
    return sett__lex_fail(&p->x, at, "%s is %s", word, list);
}

static bool map_options(sett__parser *p, sett__map *m)
{
#define MAP_OPTION(name, word, bit, most, first) \
    if (!option(p, word, first, most, &m->name)) \
        return false;
#include "map.def"
    return true;
}

static bool map_line(sett__parser *p, sett__sig *s)
{
    sett__map m = {.param = 0};
    const char *at, *of;
    if (s->n_map == SETT__MAX_MAPS)
        return SETT__LEX_FAIL(&p->x, "more than %d maps", SETT__MAX_MAPS);
    if (!sett__lex_name(&p->x, "a name", &m.name))
        return false;
    at = p->x.at;
    if (!sett__lex_name(&p->x, "a tensor's name", &of))
        return false;
    while (m.param < s->n_param && strcmp(s->param[m.param].name, of))
        m.param++;
    if (m.param == s->n_param)
        return sett__lex_fail(&p->x, at, "there is no parameter %.60s", of);
    uint32_t n;
    if (!sett__lex_type(&p->x, &m.dtype, &n) || !map_modes(p, &m) || !map_options(p, &m))
        return false;
    if (n != 1)
        return SETT__LEX_FAIL(&p->x, "a map has one type");
    if (!sett__parse_grow(p, (void **)&s->map, &p->cap_map, s->n_map, sizeof m))
        return false;
    s->map[s->n_map++] = m;
    return true;
}

bool sett__parse_sig_line(sett__parser *p, bool *found)
{
    sett__sig *s = &p->t->sig;
    *found = true;
    if (sett__accept_word(&p->x, "sym"))
        return sym_line(p);
    if (sett__accept_word(&p->x, "param"))
        return param_line(p, 0);
    if (sett__accept_word(&p->x, "scalar"))
        return param_line(p, SETT__BY_NUMBER);
    if (sett__accept_word(&p->x, "struct"))
        return param_line(p, SETT__BY_STRUCT);
    if (sett__accept_word(&p->x, "map"))
        return map_line(p, s);
    if (sett__accept_word(&p->x, "grid"))
        return dims_line(p, s->grid);
    if (sett__accept_word(&p->x, "block"))
        return dims_line(p, s->block);
    if (!sett__sees(&p->x, "cluster.") && sett__accept_word(&p->x, "cluster")) /* cluster.arrive is an op */
        return dims_line(p, s->cluster);
    if (sett__accept_word(&p->x, "smem"))
        return smem_line(p, s);
    if (sett__accept_word(&p->x, "launch"))
        return hints_line(p, s);
    if (sett__accept_word(&p->x, "check"))
        return check_line(p, s);
    return *found = false;
}
