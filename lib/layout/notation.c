/* SPDX-License-Identifier: Apache-2.0 */
/* CuTe's notation, out and in:
 *
 *     tuple    5  -3  _  1@0@1  (4,(2,3))  ()         ? and ?{i64 div=8} when printed
 *     layout   (4,8):(1,4)     S<3,4,3> o 0 o (8,64):(64,1)     (4,5):(1,4) o 2 o (2,2):(1,5)
 *     tiler    [(2,3):(1,2);4;_]    also <(2,3):(1,2),4,_>
 *
 * In only: S<3,4,3> o (8,64):(64,1), Swizzle<...> and Sw<...> for S<...>, and C++'s _8 for 8.
 */
#include "layout.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- printing ---------------------------------------------------------------------- */

typedef struct out {
    sett__sink *s;
    bool names; /* of symbols and scalars, in place of `?`: for messages */
} out;

static void put_text(out *o, const char *text)
{
    sett__put(o->s, text);
}

static void put_int(out *o, const char *before, int64_t i)
{
    sett__putf(o->s, "%s%" PRId64, before, i);
}

static void put_layout(out *o, const sett_layout *l);

/* A tuple with a layout in it is a tiler, which has brackets of its own. */
static bool has_layout(sett_arg a, int level)
{
    if (a.kind != SETT_NODE)
        return a.kind == SETT_LAYOUT;
    for (int i = 0; a.u.kid && level < SETT__MAX_NEST && i < a.rank; i++)
        if (has_layout(a.u.kid[i], level + 1))
            return true;
    return false;
}

bool sett__has_layout(sett_arg a)
{
    return has_layout(a, 0);
}

enum { WORDS_DEPTH = 5 };

/* How an op that computes an integer reads: infix where it has a level. */
static const struct {
    uint8_t code, level;
    char text[11]; /* in place: pointers would be relocated */
} words[] = {{SETT__ADD, 1, "+"}, {SETT__SUB, 1, "-"}, {SETT__MUL, 2, "*"}, {SETT__DIV, 2, "/"}, {SETT__REM, 2, "%"}, {SETT__SHR, 2, "/"}, {SETT__AND, 2, "%"},
    {SETT__MIN, 0, "min"}, {SETT__MAX, 0, "max"}, {SETT__TID, 0, "thread_idx"}, {SETT__BID, 0, "block_idx"},
    {SETT__BDIM, 0, "block_dim"}, {SETT__GDIM, 0, "grid_dim"}, {SETT__LANE, 0, "lane_idx"}};

typedef struct loop_name {
    struct loop_name *older;
    const char *name;
    uint32_t op;
} loop_name;
static const sett__build_slot loop_names = {.size = sizeof(loop_name *)};

void sett__name_loop(sett_build *b, uint32_t op, const char *name)
{
    loop_name *n = sett__new(b, sizeof *n), **newest = sett__in_slot(b, &loop_names);
    *n = (loop_name){*newest, sett__arena_str(&b->arena, name), op};
    if (!b->error.status)
        *newest = n;
}

/* "?": unknown. */
static const char *loop_variable(const sett_build *b, uint32_t op)
{
    loop_name *const *newest = sett__seen_in_slot(b, &loop_names);
    const loop_name *n = newest ? *newest : NULL;
    while (n && n->op != op)
        n = n->older;
    return n && n->name ? n->name : "?";
}

static void put_words(out *o, const sett_build *b, uint32_t id, int level, int depth);

static int64_t constant(const sett_build *b, uint32_t id)
{
    const sett__op *op = &b->op[id];
    return op->code == SETT__CONST ? sett__int_of_bits((sett_dtype)op->dtype, (uint64_t)op->imm) : -1;
}

/* Shifts and masks that folding made of divisions read as divisions again. */
static void put_operands(out *o, const sett_build *b, const sett__op *op, size_t w, int level, int depth)
{
    int own = words[w].level;
    bool open = !own || own < level;
    uint32_t second = b->arg[op->args + 1];
    put_text(o, own ? "" : words[w].text);
    put_text(o, open ? "(" : "");
    put_words(o, b, b->arg[op->args], own, depth);
    put_text(o, own ? words[w].text : ",");
    if (op->code == SETT__SHR || op->code == SETT__AND)
        put_int(o, "", op->code == SETT__SHR ? INT64_C(1) << constant(b, second) : constant(b, second) + 1);
    else
        put_words(o, b, second, !own || op->code == SETT__ADD ? own : own + 1, depth);
    put_text(o, open ? ")" : "");
}

static size_t word_of(const sett_build *b, const sett__op *op)
{
    size_t w = 0;
    while (w < SETT__COUNT(words) && words[w].code != op->code)
        w++;
    if (op->code == SETT__SHR || op->code == SETT__AND) {
        int64_t k = constant(b, b->arg[op->args + 1]);
        bool power = op->code == SETT__SHR ? k >= 0 && k < 62 : k > 0 && k < INT64_MAX && !(k & (k + 1));
        return power ? w : SETT__COUNT(words);
    }
    return w;
}

static bool same_number(const sett_build *b, const sett__op *op)
{
    return op->code == SETT__CONVERT && sett__dtype_is_int((sett_dtype)op->dtype) &&
           sett__dtype_is_int((sett_dtype)b->op[b->arg[op->args]].dtype);
}

/* As the caller would write it, of symbols, scalar parameters and indices; `?` where it is made of other things. */
static void put_words(out *o, const sett_build *b, uint32_t id, int level, int depth)
{
    const sett__op *op = &b->op[id];
    size_t w = word_of(b, op);
    if (op->code == SETT__SYM) { /* `_1` stands for a `?` that was read */
        const char *name = b->sig.sym[op->imm].name;
        put_text(o, *name == '_' && !name[1 + strspn(name + 1, "0123456789")] && !b->in_kernel ? "?" : name);
    } else if (op->code == SETT__SCALAR) {
        put_text(o, b->sig.param[op->imm].name);
    } else if (op->code == SETT__FOR) {
        put_text(o, loop_variable(b, id));
    } else if (op->code == SETT__CONST && sett__dtype_is_int((sett_dtype)op->dtype)) {
        put_int(o, "", sett__int_of_bits((sett_dtype)op->dtype, (uint64_t)op->imm));
    } else if (same_number(b, op) && depth) {
        put_words(o, b, b->arg[op->args], level, depth - 1);
    } else if (w < SETT__COUNT(words) && sett__ops[op->code].cls == SETT__C_SREG) {
        put_text(o, words[w].text);
        put_text(o, op->code == SETT__LANE ? "" : op->sub == 0 ? ".x" : op->sub == 1 ? ".y" : ".z");
    } else if (w < SETT__COUNT(words) && depth && op->n == 1) {
        put_operands(o, b, op, w, level, depth - 1);
    } else {
        put_text(o, "?");
    }
}

static void put_dynamic(out *o, const sett_val *v)
{
    bool wide = v->dtype == SETT_I64 || v->dtype == SETT_U64;
    if (o->names && v->scalar && v->id < v->head.b->n_op)
        put_words(o, v->head.b, v->id, 0, WORDS_DEPTH);
    else
        put_text(o, "?");
    if (!v->scalar || (!wide && v->div <= 1))
        return;
    put_text(o, wide ? "{i64" : "{");
    if (v->div > 1)
        put_int(o, wide ? " div=" : "div=", v->div);
    put_text(o, "}");
}

/* Shows what is refused, too: a message is made of it. */
static void put_nested(out *o, sett_arg a, int level)
{
    char text[40];
    bool tiler = has_layout(a, level);
    switch (a.kind) {
    case SETT_INT:
        put_int(o, "", a.u.i);
        break;
    case SETT_FLOAT:
        snprintf(text, sizeof text, "%g", a.u.f);
        put_text(o, text);
        break;
    case SETT_VALUE:
        put_dynamic(o, a.u.v);
        break;
    case SETT_LAYOUT:
        put_layout(o, a.u.l);
        break;
    case SETT_TENSOR:
        sett__put_tensor(o->s, a.u.t);
        break;
    case SETT_SLICE:
        put_text(o, "_");
        break;
    case SETT_NODE:
        put_text(o, tiler ? "[" : "(");
        if (a.rank && (level > SETT__MAX_NEST || !a.u.kid))
            put_text(o, "...");
        for (int i = 0; a.u.kid && level <= SETT__MAX_NEST && i < a.rank; i++) {
            put_text(o, !i ? "" : tiler ? ";" : ",");
            put_nested(o, a.u.kid[i], level + 1);
        }
        put_text(o, tiler ? "]" : ")");
        break;
    default:
        put_text(o, "poison");
        break;
    }
    for (int at = 7; a.kind != SETT_NODE && at >= 0; at--) /* the innermost mode first */
        if (a.path >> (4 * at) & 15)
            put_int(o, "@", (int64_t)(a.path >> (4 * at) & 15) - 1);
}

static void put_arg(out *o, sett_arg a)
{
    put_nested(o, a, 0);
}

static void put_layout(out *o, const sett_layout *l)
{
    char text[48];
    if (!l || l->head.poison) {
        put_text(o, "poison");
        return;
    }
    if (l->has_inner == 1) {
        snprintf(text, sizeof text, "S<%d,%d,%d>", l->bits, l->base, l->shift);
        put_text(o, text);
    } else if (l->has_inner) {
        put_layout(o, l->inner);
    }
    if (l->has_inner) {
        put_text(o, " o ");
        put_arg(o, l->offset);
        put_text(o, " o ");
    }
    put_arg(o, l->shape);
    put_text(o, ":");
    put_arg(o, l->stride);
}

void sett__put_arg(sett__sink *s, sett_arg a)
{
    put_arg(&(out){s, false}, a);
}

void sett__put_layout(sett__sink *s, const sett_layout *l)
{
    put_layout(&(out){s, false}, l);
}

int sett__arg_str(sett_arg a, char *buf, size_t size)
{
    sett__sink s = {.buf = buf, .cap = size};
    sett__put(&s, "");
    sett__put_arg(&s, a);
    return (int)s.len;
}

int sett__layout_str(const sett_layout *l, char *buf, size_t size)
{
    sett__sink s = {.buf = buf, .cap = size};
    sett__put(&s, "");
    sett__put_layout(&s, l);
    return (int)s.len;
}

/* Messages show the start of what is very long. */
enum { LONGEST = 160 };

static const char *shorten_text(const sett__sink *s)
{
    if (s->len >= LONGEST)
        memcpy(s->buf + LONGEST - 4, "...", 4);
    return s->buf;
}

const char *sett__arg_text(sett_build *b, sett_arg a)
{
    if (!b)
        return "?";
    sett__sink s = {.buf = sett__new(b, LONGEST), .cap = LONGEST};
    put_arg(&(out){&s, true}, a);
    return shorten_text(&s);
}

const char *sett__of_tuple(sett_arg a)
{
    return a.kind == SETT_NODE && a.rank ? ": an element of a tuple is sett_get(x, 0)" : "";
}

const char *sett__layout_text(sett_build *b, const sett_layout *l)
{
    sett__sink s = {.buf = sett__new(b, LONGEST), .cap = LONGEST};
    put_layout(&(out){&s, true}, l);
    return shorten_text(&s);
}

int sett_layout_str(const sett_layout *l, char *buf, size_t size)
{
    bool ok = sett__use_layout(NULL, (sett_site){0}, "sett_layout_str", l);
    return sett__layout_str(ok ? l : NULL, buf, size);
}

int sett_arg_str(sett_arg a, char *buf, size_t size)
{
    sett_build *b = sett__build_of(a);
    if (!sett__use_arg(b, (sett_site){0}, "sett_arg_str", a))
        a = (sett_arg){.kind = SETT_POISON};
    return sett__arg_str(a, buf, size);
}

/* ---- parsing ------------------------------------------------------------------------ */

enum { DEEPEST = 64 };

typedef struct parser {
    const sett__ctx *c;
    const char *text, *at;
    sett__dynamic_fn *dynamic; /* reads what begins with `?`; NULL: an error */
    void *user;
    int depth;
    bool failed;
} parser;

/* The line around the place, and a caret under it. */
static void parse_fail(parser *p, const char *what)
{
    enum { AROUND = 60 };
    char line[8 * AROUND + 1] = "";
    sett__sink shown = {.buf = line, .cap = sizeof line};
    if (p->failed)
        return;
    p->failed = true;
    size_t at = (size_t)(p->at - p->text), from = at > AROUND ? at - AROUND : 0, n = strlen(p->text + from);
    if (n > 2 * AROUND)
        n = 2 * AROUND;
    int caret = (int)sett__put_shown(&shown, p->text + from, n, at - from);
    sett__bad(p->c, SETT_E_PARSE, "column %zu: %s\n    %s\n    %*s^", at + 1, what, line, caret, "");
}

static void skip_blanks(parser *p)
{
    while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n')
        p->at++;
}

static bool accept_char(parser *p, char c)
{
    skip_blanks(p);
    if (*p->at != c)
        return false;
    p->at++;
    return true;
}

static void expect_char(parser *p, char c, const char *what)
{
    if (!accept_char(p, c))
        parse_fail(p, what);
}

static int64_t number(parser *p)
{
    skip_blanks(p);
    const char *start = p->at;
    bool minus = *p->at == '-';
    int64_t x = 0;
    p->at += minus;
    if (*p->at < '0' || *p->at > '9') {
        p->at = start;
        parse_fail(p, "a number is needed here");
        return 0;
    }
    for (; *p->at >= '0' && *p->at <= '9'; p->at++) {
        int digit = minus ? '0' - *p->at : *p->at - '0';
        if (__builtin_mul_overflow(x, 10, &x) || __builtin_add_overflow(x, digit, &x)) {
            p->at = start;
            parse_fail(p, "the number does not fit 64 bits");
            return 0;
        }
    }
    return x;
}

static int parse_small(parser *p, int low, int high)
{
    skip_blanks(p);
    const char *start = p->at;
    int64_t x = number(p);
    if (!p->failed && (x < low || x > high)) {
        p->at = start;
        parse_fail(p, "the number is out of range here");
    }
    return p->failed ? low : (int)x;
}

static sett_arg parse_any(parser *p);
static sett_arg tuple(parser *p);

static uint32_t path(parser *p)
{
    uint32_t r = 0;
    for (int level = 0; accept_char(p, '@'); level++) {
        int mode = parse_small(p, 0, 14);
        if (level == 8) {
            parse_fail(p, "at most 8 levels of a basis");
            return 0;
        }
        r = r << 4 | (uint32_t)(mode + 1); /* the innermost mode comes first */
    }
    return r;
}

/* ( a , b ) and the two forms of a tiler. */
static sett_arg parse_list(parser *p, char close, char comma, bool tiler)
{
    sett_arg small_kids[16], *kid = small_kids;
    int n = 0, cap = (int)SETT__COUNT(small_kids);
    p->at++;
    if (++p->depth > DEEPEST)
        parse_fail(p, "nested too deeply");
    while (!p->failed && !accept_char(p, close)) {
        if (n && !accept_char(p, comma)) {
            parse_fail(p, comma == ',' ? "`,` or the closing bracket is needed here" : "`;` or `]` is needed here");
            break;
        }
        if (n == UINT8_MAX) {
            parse_fail(p, "a tuple has at most 255 children");
            break;
        }
        if (n == cap) {
            sett_arg *more = sett__kids(p->c, UINT8_MAX);
            memcpy(more, kid, sizeof *kid * (size_t)n);
            kid = more;
            cap = UINT8_MAX;
        }
        kid[n++] = tiler ? parse_any(p) : tuple(p);
    }
    p->depth--;
    if (p->failed)
        return (sett_arg){.kind = SETT_POISON};
    sett_arg *kept = sett__kids(p->c, n);
    memcpy(kept, kid, sizeof *kid * (size_t)n);
    return sett__node(p->c, n, kept);
}

/* A leaf or a tuple, no layout. */
static sett_arg tuple(parser *p)
{
    skip_blanks(p);
    sett_arg a;
    switch (*p->at) {
    case '(':
        return parse_list(p, ')', ',', false);
    case '[':
        return parse_list(p, ']', ';', true);
    case '<':
        return parse_list(p, '>', ',', true);
    case '_':
        p->at++;
        if (*p->at < '0' || *p->at > '9')
            return SETT_ALL;
        a = sett_arg_i(number(p));
        break;
    case '?':
        if (!p->dynamic || !p->dynamic(p->user, &p->at, &a)) {
            parse_fail(p, p->dynamic ? "a run-time number is written ?, ?{div=8}, ?{i64} or ?{i64 div=8}"
                               : "a run-time number has no text that can be read back in a kernel: use its symbol");
            return (sett_arg){.kind = SETT_POISON};
        }
        break;
    default:
        a = sett_arg_i(number(p));
    }
    a.path = path(p);
    return a;
}

static bool word_o(parser *p)
{
    skip_blanks(p);
    if (*p->at != 'o')
        return false;
    p->at++;
    return true;
}

static sett_layout *parse_plain(parser *p, sett_arg shape)
{
    expect_char(p, ':', "`:` and a stride are needed here");
    const char *start = p->at;
    sett_arg stride = p->failed ? shape : tuple(p);
    if (p->failed)
        return sett__poison_layout(p->c->b);
    sett_layout *l = sett__make(p->c, shape, stride);
    if (sett__layout_poison(l)) {
        p->at = start;
        p->failed = true; /* sett__make has said why */
    }
    return l;
}

/* What follows `inner`: o offset o layout. Of a swizzle the offset may be left out. */
static sett_layout *composed(parser *p, const int *swizzle, sett_layout *inner)
{
    sett_arg offset = tuple(p), shape = offset;
    skip_blanks(p);
    bool brief = swizzle && *p->at == ':';
    if (brief)
        offset = sett_arg_i(0);
    if (!p->failed && !brief && !word_o(p))
        parse_fail(p, "`o` and the outer layout are needed here");
    if (!p->failed && !brief)
        shape = tuple(p);
    sett_layout *outer = p->failed ? NULL : parse_plain(p, shape);
    if (p->failed)
        return sett__poison_layout(p->c->b);
    sett_layout *l = swizzle ? sett_make_swizzled_at(p->c->site, swizzle[0], swizzle[1], swizzle[2], outer)
                             : sett_make_composed_layout_at(p->c->site, inner, offset, outer);
    if (sett__layout_poison(l))
        p->failed = true;
    else if (l->has_inner)
        l->offset = offset;
    return l;
}

static sett_layout *swizzled(parser *p)
{
    static const char *const word[] = {"Swizzle", "Sw", "S"};
    int s[3];
    for (size_t i = 0; i < SETT__COUNT(word); i++)
        if (!strncmp(p->at, word[i], strlen(word[i]))) {
            p->at += strlen(word[i]);
            break;
        }
    expect_char(p, '<', "`<` is needed here");
    s[0] = parse_small(p, 0, 30);
    expect_char(p, ',', "`,` is needed here");
    s[1] = parse_small(p, 0, 30);
    expect_char(p, ',', "`,` is needed here");
    s[2] = parse_small(p, -30, 30);
    expect_char(p, '>', "`>` is needed here");
    if (!p->failed && !word_o(p)) { /* alone: over all that it looks at; more bits than there are is its maker's error */
        int bits = s[0] + s[1] + abs(s[2]);
        sett_layout *all = sett__own(p->c, sett_arg_i(INT64_C(1) << (bits < 62 ? bits : 62)), sett_arg_i(1));
        sett_layout *l = sett_make_swizzled_at(p->c->site, s[0], s[1], s[2], all);
        p->failed = sett__layout_poison(l);
        return l;
    }
    return p->failed ? sett__poison_layout(p->c->b) : composed(p, s, NULL);
}

/* A o x o B o y o C is (A o x o B) o y o C: an outer layout is never composed itself. */
static sett_arg parse_any(parser *p)
{
    sett_layout *l;
    skip_blanks(p);
    if (*p->at == 'S') {
        l = swizzled(p);
    } else {
        sett_arg a = tuple(p);
        skip_blanks(p);
        if (p->failed || *p->at != ':')
            return a;
        l = parse_plain(p, a);
    }
    while (!p->failed && word_o(p))
        l = composed(p, NULL, l);
    return sett_arg_l(l);
}

sett_arg sett__parse(const sett__ctx *c, const char *text, sett__dynamic_fn *dynamic, void *user)
{
    parser p = {.c = c, .text = text ? text : "", .at = text ? text : "", .dynamic = dynamic, .user = user};
    sett_arg a = parse_any(&p);
    skip_blanks(&p);
    if (!p.failed && *p.at)
        parse_fail(&p, "nothing more is expected here");
    return p.failed ? (sett_arg){.kind = SETT_POISON, .u = {.poisoned = c->b}} : a;
}

/* `?` and its marks as a symbol without a name of the caller's. */
static bool unnamed_symbol(void *user, const char **at, sett_arg *leaf)
{
    const sett__ctx *c = user;
    static const char *const mark[] = {"?{i64 div=", "?{div=", "?{i64}", "?"};
    sett_sym_args a = {.size = sizeof a, .div = 1};
    char name[16], *end;
    for (size_t i = 0; i < SETT__COUNT(mark); i++) {
        size_t n = strlen(mark[i]);
        if (strncmp(*at, mark[i], n))
            continue;
        end = (char *)(uintptr_t)*at + n;
        a.wide = i == 0 || i == 2;
        if (mark[i][n - 1] == '=') {
            a.div = strtoll(*at + n, &end, 10);
            if (end == *at + n || *end++ != '}' || a.div < 1 || a.div == INT64_MAX)
                return false;
        } else if (*end == '{') {
            return false;
        }
        *at = end;
        snprintf(name, sizeof name, "_%u", (unsigned)c->b->sig.n_sym);
        a.name = name;
        *leaf = sett_arg_v(sett_sym_at(c->site, c->b, &a));
        return true;
    }
    return false;
}

/* In a kernel a `?` would be no argument's; beside one it is a number that nothing more is known of. */
static sett_arg parse_notation(sett__ctx *c, const char *text)
{
    if (!text)
        return sett__bad(c, SETT_E_ARGUMENT, "the text is NULL");
    return sett__parse(c, text, c->b->in_kernel ? NULL : unnamed_symbol, c);
}

sett_arg sett_arg_parse_at(sett_site site, sett_build *b, const char *text)
{
    b = sett__given(b, site, "sett_arg_parse");
    sett__ctx c = {b, site, "sett_arg_parse"};
    if (!b)
        return (sett_arg){.kind = SETT_POISON};
    return parse_notation(&c, text);
}

sett_layout *sett_layout_parse_at(sett_site site, sett_build *b, const char *text)
{
    b = sett__given(b, site, "sett_layout_parse");
    sett__ctx c = {b, site, "sett_layout_parse"};
    if (!b)
        return NULL;
    sett_arg a = parse_notation(&c, text);
    if (a.kind == SETT_LAYOUT)
        return a.u.l;
    if (a.kind != SETT_POISON)
        sett__bad(&c, SETT_E_PARSE, "%s is no layout; `:` and a stride are needed", sett__arg_text(b, a));
    return sett__poison_layout(b);
}
