/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions of CuTe DSL's host language, as golden/print holds them, read and recorded: `i32(4)` is a number that the launch
 * gives, `ten('Float32',(2,3))` memory with known contents. A table says what each name takes; what it does not take has no
 * reading here. */
#include "tests/golden/golden_print.h"
#include <sett/launch.h>

print_case golden_now;

/* ---- memory ------------------------------------------------------------------------------------------ */
static double fill_of(char fill, int bits, int64_t k)
{
    switch (fill) {
    case 'p': return (double)((7 * k + 3) % 11 - 4);
    case 'h': return (double)k / 2 - 2.25;
    case 'b': return (5 * k + 1) % 3 == 0;
    default: return (double)(bits == 8 ? k % 120 : k);
    }
}

static uint64_t bits_at(sett_dtype d, char fill, int64_t k)
{
    double x = fill_of(fill, sett_dtype_bits(d), k);
    if (sett__dtype_is_float(d))
        return sett__bits_of_float(d, x);
    if (d == SETT_TF32)
        return sett__bits_of_float(SETT_F32, x);
    if (sett__dtype_kind(d) == 's')
        return sett__narrow_of_f32(d, (uint32_t)sett__bits_of_float(SETT_F32, x), true);
    return (uint64_t)(int64_t)x;
}

/* For one more argument of the kernel? */
static bool room(void)
{
    if (golden_now.n_bind == MOST_BINDS)
        golden_unknown("more arguments than the runner keeps for a line");
    return golden_now.n_bind < MOST_BINDS;
}

static sett_arg scalar_of(sett_build *b, sett_dtype d, sett_arg number)
{
    char name[16];
    if (!room())
        return number;
    snprintf(name, sizeof name, "v%d", golden_now.n_bind);
    double f = number.kind == SETT_FLOAT ? number.u.f : (double)number.u.i;
    bool fraction = sett__dtype_is_float(d) || d == SETT_TF32;
    golden_now.bind[golden_now.n_bind++] = fraction ? sett_launch_arg_float(f) : sett_launch_arg_int(number.kind == SETT_FLOAT ? (int64_t)f : number.u.i);
    sett_val *v = sett_scalar(b, name, d == SETT_TF32 ? SETT_F32 : d);
    return sett_arg_v(d == SETT_TF32 ? sett_to(v, SETT_TF32) : v);
}

static sett_tensor *seen_as(const sett_tensor *m, sett_layout *l)
{
    sett_tensor *t = sett__new_object(m->head.b, SETT__K_TENSOR, sizeof *t);
    sett__head head = t->head;
    *t = *m;
    t->head = head;
    t->layout = l;
    return l->head.poison ? &m->head.b->poison->tensor : t;
}

static sett_tensor *memory(sett_build *b, sett_dtype d, sett_layout *l, char fill, int align)
{
    char name[16];
    if (!room())
        return &b->poison->tensor;
    int i = golden_now.n_bind++, bytes = sett__dtype_bytes(d);
    snprintf(name, sizeof name, "m%d", i);
    free(golden_now.data[i]);
    golden_now.data[i] = calloc(ELEMENTS, (size_t)bytes + 1);
    if (!golden_now.data[i])
        abort();
    for (int k = 0; k < ELEMENTS; k++) {
        uint64_t bits = bits_at(d, fill, k);
        memcpy(golden_now.data[i] + k * bytes, &bits, (size_t)(bytes < 8 ? bytes : 8));
    }
    golden_now.buf[i] = sett_buf_1d(golden_now.data[i], d, ELEMENTS);
    golden_now.bind[i] = sett_launch_arg_buf(&golden_now.buf[i]);
    return seen_as(sett_param(b, name, d, sett_make_layout(b, SETT_T1(ELEMENTS)), .align = align), l);
}

static sett_tensor *registers(sett_build *b, sett_dtype d, sett_arg shape, char fill)
{
    sett_tensor *t = sett_make_rmem_tensor_at(SETT_HERE, b, d, shape);
    sett_arg n = t->head.poison ? sett_arg_i(0) : sett_size_layout(t->layout);
    if (n.kind != SETT_INT || n.u.i > ELEMENTS)
        golden_unknown("more elements than the runner fills");
    for (int64_t i = 0; !golden_now.unknown && !t->head.poison && i < n.u.i; i++) {
        sett_val *v = sett__const_bits(b, SETT_HERE, d == SETT_TF32 ? SETT_F32 : d, bits_at(d, fill, i));
        sett_set(t, d == SETT_TF32 ? sett_to(v, SETT_TF32) : v, i);
    }
    return t;
}

/* ---- reading an expression --------------------------------------------------------------------------------- */
typedef struct reader { sett_build *b; const char *at; int depth; } reader;
typedef struct call { thing arg[12], stride; int n; } call;
static thing read_binary(reader *r, int level);

static thing of_arg(sett_arg a)
{
    return (thing){.is = ARG, .a = a};
}

static thing of_tensor(const sett_tensor *t)
{
    return (thing){.is = TENSOR, .t = t};
}

thing golden_unknown(const char *why)
{
    if (!golden_now.unknown)
        golden_now.unknown = why;
    return (thing){.is = NOTHING};
}

sett_arg golden_shown(thing x)
{
    return x.is == TENSOR ? sett_arg_t(x.t) : x.a;
}

static bool take(reader *r, const char *text)
{
    size_t n = strlen(text);
    if (strncmp(r->at, text, n))
        return false;
    r->at += n;
    return true;
}

const char golden_other_type[] = "C's compiler refuses an operand of another type";
const char golden_no_word[] = "a function or object that has no counterpart in C";

static sett_dtype type_of(const char *name)
{
    static const struct { const char *name; sett_dtype d; } marks[] = {{"i8", SETT_I8}, {"i16", SETT_I16}, {"i32", SETT_I32}, {"i64", SETT_I64},
        {"u8", SETT_U8}, {"u16", SETT_U16}, {"u32", SETT_U32}, {"u64", SETT_U64}, {"f16", SETT_F16}, {"bf16", SETT_BF16},
        {"tf32", SETT_TF32}, {"f32", SETT_F32}, {"f64", SETT_F64}, {"b1", SETT_BOOL}};
    for (size_t i = 0; i < SETT__COUNT(marks); i++)
        if (!strcmp(marks[i].name, name))
            return marks[i].d;
    return value_dtype(name, strlen(name));
}

static thing make_layout(reader *r, const call *c)
{
    sett_arg stride = c->stride.is == NOTHING ? c->n > 1 ? c->arg[1].a : SETT_ALL : c->stride.a;
    return of_arg(sett_arg_l(sett_make_layout_at(SETT_HERE, r->b, c->arg[0].a, stride)));
}

static thing composed(const call *c)
{
    if (c->arg[0].is != SWIZZLE)
        return of_arg(sett_arg_l(sett_make_composed_layout_at(SETT_HERE, c->arg[0].a.u.l, c->arg[1].a, c->arg[2].a.u.l)));
    const int *s = c->arg[0].s;
    sett_layout *l = sett_make_swizzled(s[0], s[1], s[2], c->arg[2].a.u.l);
    if (!l->head.poison)
        l->offset = c->arg[1].a;
    return of_arg(sett_arg_l(l));
}

static char fill_in(const call *c, int i)
{
    return c->n > i && c->arg[i].is == WORD ? c->arg[i].word[0] : 'i';
}

static sett_layout *layout_in(reader *r, sett_arg a)
{
    return a.kind == SETT_LAYOUT ? a.u.l : sett_make_layout_at(SETT_HERE, r->b, a, SETT_ALL);
}

static thing make_data(reader *r, const char *f, const call *c)
{
    sett_dtype d = type_of(c->arg[0].word);
    char fill = d == SETT_BOOL && c->n < 3 ? 'b' : fill_in(c, 2);
    if (!strcmp(f, "ten"))
        return of_tensor(memory(r->b, d, layout_in(r, c->arg[1].a), fill, 64));
    sett_tensor *t = registers(r->b, d, c->arg[1].a, fill);
    return !strcmp(f, "reg") ? of_tensor(t) : of_arg(sett_arg_v(sett_load(t)));
}

static thing on_tensor(reader *r, const char *f, const call *c)
{
    const sett_tensor *t = c->arg[0].t;
    sett_arg a = c->n > 1 ? c->arg[1].a : sett_arg_i(0);
    (void)r;
    if (!strcmp(f, "zipped_divide"))
        return of_tensor(sett_zipped_divide_tensor_at(SETT_HERE, t, a));
    if (!strcmp(f, "flat_divide"))
        return of_tensor(sett_flat_divide_tensor_at(SETT_HERE, t, a));
    if (!strcmp(f, "local_tile"))
        return of_tensor(sett_local_tile_at(SETT_HERE, t, a, c->arg[2].a));
    if (!strcmp(f, "coalesce"))
        return of_tensor(seen_as(t, sett_coalesce(t->layout)));
    if (!strcmp(f, "recast_tensor"))
        return of_tensor(sett_recast_tensor(t, type_of(c->arg[1].word)));
    if (!strcmp(f, "make_fragment_like") || !strcmp(f, "make_rmem_tensor_like"))
        return of_tensor(sett_make_fragment_like(t, c->n > 1 ? type_of(c->arg[1].word) : (sett_dtype)0));
    return golden_unknown(golden_no_word);
}

static thing on_layout(reader *r, const char *f, const call *c)
{
    sett_build *b = r->b;
    sett_arg a = c->arg[0].a;
    if (!strcmp(f, "make_layout"))
        return make_layout(r, c);
    if (!strcmp(f, "make_identity_layout"))
        return of_arg(sett_arg_l(sett_make_identity_layout_at(SETT_HERE, b, a)));
    if (!strcmp(f, "make_ordered_layout"))
        return of_arg(sett_arg_l(sett_make_ordered_layout_at(SETT_HERE, b, a, c->arg[1].a)));
    if (!strcmp(f, "make_composed_layout"))
        return composed(c);
    if (!strcmp(f, "make_identity_tensor"))
        return of_tensor(sett_identity_tensor_at(SETT_HERE, b, a));
    if (!strcmp(f, "make_tensor") && c->arg[0].is == ARG && c->arg[1].a.kind == SETT_LAYOUT) { /* coordinates that start elsewhere */
        sett_tensor *t = seen_as(sett_identity_tensor_at(SETT_HERE, b, c->arg[1].a.u.l->shape), c->arg[1].a.u.l);
        if (!t->head.poison)
            t->offset = a;
        return of_tensor(t);
    }
    if (!strcmp(f, "size") || !strcmp(f, "cosize"))
        return of_arg(f[0] == 's' ? sett_size_layout(a.u.l) : sett_cosize_layout(a.u.l));
    if (!strcmp(f, "rank"))
        return of_arg(sett_arg_i(sett_rank_layout(a.u.l)));
    if (!strcmp(f, "shape"))
        return of_arg(a);
    return golden_unknown(golden_no_word);
}

static thing basis(reader *r, sett_arg modes, sett_arg number)
{
    sett_arg one = number;
    for (int i = 0; i < sett__arity(modes); i++) /* the first mode is the outermost */
        one.path |= (uint32_t)(sett__kid(modes, i).u.i + 1) << (4 * i);
    (void)r;
    return of_arg(one);
}

/* What a name takes, an argument a letter: n a C integer, c a number, v a number of the launch, m modes, a any argument, l a
 * layout, t a tensor, s a swizzle, d a type's name, w a word; behind the bar those that may be left out. */
static const struct {
    const char *name, *takes;
} signatures[] = {{"ten", "da|w"}, {"reg", "da|w"}, {"ssa", "da|w"}, {"make_rmem_tensor", "ad"}, {"make_swizzle", "nnn"},
    {"full", "aad"}, {"assume", "vn"}, {"assume", "nn"}, {"domain_offset", "at"}, {"float", "w"}, {"E", "m"}, {"ScaledBasis", "nm"},
    {"ScaledBasis", "vm"}, {"zipped_divide", "ta"}, {"flat_divide", "ta"}, {"local_tile", "taa"}, {"coalesce", "t"},
    {"recast_tensor", "td"}, {"make_fragment_like", "t|d"}, {"make_rmem_tensor_like", "t|d"}, {"make_layout", "a|a"},
    {"make_identity_layout", "a"}, {"make_ordered_layout", "aa"}, {"make_composed_layout", "lal"}, {"make_composed_layout", "sal"},
    {"make_identity_tensor", "a"}, {"make_tensor", "al"}, {"size", "l"}, {"cosize", "l"}, {"rank", "l"}, {"shape", "a"}};

static bool are_modes(sett_arg a)
{
    bool ok = sett__arity(a) <= 8;
    for (int i = 0; ok && i < sett__arity(a); i++) {
        sett_arg k = sett__kid(a, i);
        ok = k.kind == SETT_INT && !k.path && k.u.i >= 0 && k.u.i < 15;
    }
    return ok;
}

static bool fits(const thing *x, char kind)
{
    switch (kind) {
    case 'n': return x->is == ARG && x->a.kind == SETT_INT && !x->a.path;
    case 'c': return x->is == ARG && (x->a.kind == SETT_INT || x->a.kind == SETT_FLOAT) && !x->a.path;
    case 'v': return x->is == ARG && x->a.kind == SETT_VALUE && !x->a.path;
    case 'm': return x->is == ARG && are_modes(x->a);
    case 'a': return x->is == ARG;
    case 'l': return x->is == ARG && x->a.kind == SETT_LAYOUT;
    case 't': return x->is == TENSOR;
    case 's': return x->is == SWIZZLE;
    case 'd': return x->is == WORD && type_of(x->word);
    default: return x->is == WORD;
    }
}

static bool takes(const call *c, const char *kinds)
{
    int n = 0;
    bool optional = false;
    for (; *kinds; kinds++) {
        if (*kinds == '|')
            optional = true;
        else if (n == c->n && optional)
            return true;
        else if (n == c->n || !fits(&c->arg[n++], *kinds))
            return false;
    }
    return n == c->n;
}

/* NULL: it takes these arguments; else why not. */
static const char *refuses(const char *f, const call *c)
{
    const char *why = golden_no_word;
    if (!strcmp(f, "ptr") || !strcmp(f, "recast_ptr"))
        return "pointers are no objects of their own: a tensor has the address";
    if (type_of(f))
        return takes(c, "c") ? NULL : golden_other_type;
    for (size_t i = 0; i < SETT__COUNT(signatures); i++)
        if (!strcmp(signatures[i].name, f)) {
            if (takes(c, signatures[i].takes))
                return NULL;
            why = golden_other_type;
        }
    return why;
}

/* A C integer needs no promise: it is a multiple or it is not. */
static thing assumed(sett_arg a, int64_t div)
{
    if (a.kind == SETT_VALUE)
        return of_arg(sett_arg_v(sett_assume(a.u.v, div)));
    return div > 0 && a.u.i % div == 0 ? of_arg(a) : golden_unknown("sett_assume takes a value, and this C integer is no such multiple");
}

static thing called(reader *r, const char *f, const call *c)
{
    sett_build *b = r->b;
    sett_arg a = c->arg[0].a;
    const char *why = refuses(f, c);
    if (why)
        return golden_unknown(why);
    if (type_of(f))
        return of_arg(islower((unsigned char)f[0]) ? scalar_of(b, type_of(f), a) : sett_arg_v(sett_const_at(SETT_HERE, b, type_of(f), a)));
    if (!strcmp(f, "ten") || !strcmp(f, "reg") || !strcmp(f, "ssa"))
        return make_data(r, f, c);
    if (!strcmp(f, "make_rmem_tensor"))
        return of_tensor(sett_make_rmem_tensor_at(SETT_HERE, b, type_of(c->arg[1].word), a));
    if (!strcmp(f, "make_swizzle"))
        return (thing){.is = SWIZZLE, .s = {(int)a.u.i, (int)c->arg[1].a.u.i, (int)c->arg[2].a.u.i}};
    if (!strcmp(f, "full"))
        return of_arg(sett_arg_v(sett_full_at(SETT_HERE, b, type_of(c->arg[2].word), a, c->arg[1].a)));
    if (!strcmp(f, "assume"))
        return assumed(a, c->arg[1].a.u.i);
    if (!strcmp(f, "domain_offset"))
        return of_tensor(sett_domain_offset_at(SETT_HERE, c->arg[1].t, a));
    if (!strcmp(f, "float"))
        return of_arg(sett_arg_f(strtod(c->arg[0].word, NULL)));
    if (!strcmp(f, "E"))
        return basis(r, a, sett_arg_i(1));
    if (!strcmp(f, "ScaledBasis"))
        return basis(r, c->arg[1].a, a);
    return (c->arg[0].is == TENSOR ? on_tensor : on_layout)(r, f, c);
}

static thing malformed(void)
{
    return golden_unknown("an expression that is not well formed");
}

/* Behind an item of a list: a comma, or what closes it; -1: neither. */
static int separated(reader *r, char close)
{
    return take(r, ",") ? 1 : *r->at == close ? 0 : -1;
}

static thing read_call(reader *r, const char *f)
{
    call c = {.n = 0, .stride = {.is = NOTHING}};
    while (!golden_now.unknown && !take(r, ")")) {
        if (c.n == SETT__COUNT(c.arg))
            return golden_unknown("more arguments than the runner keeps for a call");
        if (take(r, "stride=")) {
            c.stride = read_binary(r, 0);
        } else {
            if ((take(r, "dtype=") || take(r, "order=")) && c.n != 1)
                return malformed();
            c.arg[c.n++] = read_binary(r, 0);
        }
        if (separated(r, ')') < 0)
            return malformed();
    }
    return golden_now.unknown ? (thing){.is = NOTHING} : called(r, f, &c);
}

static thing read_tuple(reader *r, char close)
{
    const char end[] = {close, 0};
    thing x[32];
    int n = 0;
    bool comma = false;
    while (!golden_now.unknown && !take(r, end)) {
        if (n == SETT__COUNT(x))
            return golden_unknown("more modes than the runner keeps for a tuple");
        x[n] = read_binary(r, 0);
        if (x[n].is == SWIZZLE || (x[n].is == WORD && close == ')' && !type_of(x[n].word)))
            return golden_unknown(golden_other_type);
        n++;
        int more = separated(r, close);
        if (more < 0)
            return malformed();
        comma |= more;
    }
    if (golden_now.unknown)
        return (thing){.is = NOTHING};
    if (n == 1 && !comma && close == ')')
        return x[0];
    sett_arg *kid = sett__new(r->b, ((size_t)n + 1) * sizeof *kid);
    for (int i = 0; i < n; i++)
        kid[i] = golden_shown(x[i]);
    return of_arg(sett_arg_n(n, kid));
}

static thing read_word(reader *r)
{
    thing x = {.is = WORD};
    size_t n = strspn(r->at, SETT__LETTERS SETT__DIGITS "_.");
    const char *from = r->at;
    r->at += n;
    for (const char *prefix = from; (prefix = memchr(from, '.', n)); n -= (size_t)(prefix + 1 - from), from = prefix + 1)
        ;
    snprintf(x.word, sizeof x.word, "%.*s", (int)n, from);
    if (!strcmp(x.word, "None"))
        return of_arg(SETT_ALL);
    if (!strcmp(x.word, "True") || !strcmp(x.word, "False"))
        return of_arg(sett_arg_i(x.word[0] == 'T'));
    return take(r, "(") ? read_call(r, x.word) : x;
}

static thing read_primary(reader *r)
{
    char *end;
    if (take(r, "("))
        return read_tuple(r, ')');
    if (take(r, "["))
        return read_tuple(r, ']');
    if (take(r, "'")) {
        thing x = {.is = WORD};
        snprintf(x.word, sizeof x.word, "%.*s", (int)strcspn(r->at, "'"), r->at);
        r->at += strcspn(r->at, "'");
        return take(r, "'") ? x : malformed();
    }
    if (!isdigit((unsigned char)*r->at))
        return strspn(r->at, SETT__LETTERS) ? read_word(r) : golden_unknown(golden_no_word);
    size_t n = strspn(r->at, SETT__DIGITS);
    if (n > 1 && *r->at == '0')
        return malformed();
    if (r->at[n] == '.' || r->at[n] == 'e') {
        double f = strtod(r->at, &end);
        r->at = end;
        return of_arg(sett_arg_f(f));
    }
    errno = 0;
    int64_t i = strtoll(r->at, &end, 10);
    r->at = end;
    if (errno == ERANGE)
        return golden_unknown("an argument holds 63 bits");
    return of_arg(sett_arg_i(i));
}

static thing indexed(reader *r, thing x, sett_arg at)
{
    (void)r;
    if (x.is == TENSOR && sett__any_slice(at))
        return of_tensor(sett_slice_tensor_at(SETT_HERE, x.t, at));
    if (x.is == TENSOR && x.t->space == SETT_COORD)
        return of_arg(sett_coord_at_at(SETT_HERE, x.t, at));
    if (x.is == TENSOR)
        return of_arg(sett_arg_v(sett_at_at(SETT_HERE, x.t, at)));
    return x.is == ARG && x.a.kind == SETT_VALUE ? of_arg(sett_arg_v(sett_element_at(SETT_HERE, x.a.u.v, at))) : golden_unknown(golden_no_word);
}

static thing method(reader *r, thing x)
{
    bool value = x.is == ARG && x.a.kind == SETT_VALUE;
    if (value && take(r, "reshape(")) {
        thing shape = read_tuple(r, ')');
        return shape.is == ARG ? of_arg(sett_arg_v(sett_reshape_at(SETT_HERE, x.a.u.v, shape.a))) : golden_unknown(golden_other_type);
    }
    if (value && take(r, "to(")) {
        thing to = read_tuple(r, ')');
        return fits(&to, 'd') ? of_arg(sett_arg_v(sett_to(x.a.u.v, type_of(to.word)))) : golden_unknown(golden_other_type);
    }
    return golden_unknown("an attribute of the host language's objects");
}

static thing read_postfix(reader *r)
{
    thing x = read_primary(r);
    while (!golden_now.unknown && (*r->at == '[' || *r->at == '.')) {
        if (take(r, ".")) {
            x = method(r, x);
            continue;
        }
        take(r, "[");
        thing at = read_tuple(r, ']'); /* x[1], x[1,2], x[(1,2)] */
        if (golden_now.unknown)
            return (thing){.is = NOTHING};
        if (at.a.rank == 1)
            at.a = at.a.u.kid[0];
        x = indexed(r, x, at.a);
    }
    return x;
}

static thing negated(thing x, bool invert)
{
    if (fits(&x, 'v'))
        return of_arg(sett_arg_v(invert ? sett_not(x.a.u.v) : sett_neg(x.a.u.v)));
    if (!fits(&x, invert ? 'n' : 'c') || (x.a.kind == SETT_INT && x.a.u.i == INT64_MIN))
        return golden_unknown(golden_other_type);
    return of_arg(x.a.kind == SETT_FLOAT ? sett_arg_f(-x.a.u.f) : sett_arg_i(invert ? ~x.a.u.i : -x.a.u.i));
}

static thing joined(reader *r, const char *op, thing x, thing y)
{
    if (x.is != ARG || y.is != ARG)
        return golden_unknown(golden_no_word);
    if (x.a.path || y.a.path)
        return of_arg(sett__mul(&(sett__ctx){r->b, SETT_HERE, "*"}, x.a, y.a));
    if (x.a.kind == SETT_VALUE || y.a.kind == SETT_VALUE)
        return of_arg(sett_arg_v(sett_binary_at(SETT_HERE, op, (sett_binary_op)value_op(op), x.a, y.a)));
    if (!strcmp(op, "**")) {
        int64_t p = 1;
        bool ok = fits(&x, 'n') && fits(&y, 'n') && y.a.u.i >= 0 && y.a.u.i < 64;
        for (int64_t i = 0; ok && i < y.a.u.i; i++)
            ok = !__builtin_mul_overflow(p, x.a.u.i, &p);
        return ok ? of_arg(sett_arg_i(p)) : golden_unknown(golden_other_type);
    }
    return of_arg(sett_index_at(SETT_HERE, op, (sett_binary_op)value_op(op), x.a, y.a));
}

static thing read_binary(reader *r, int level)
{
    static const char *const ops[][4] = {{"<"}, {"&"}, {"<<"}, {"+", "-"}, {"*", "//", "/", "%"}, {"**"}};
    enum { DEEPEST = 64 };
    thing x;
    if (golden_now.unknown || r->depth > DEEPEST)
        return golden_unknown("nested deeper than the runner reads");
    if (level == 6) {
        r->depth++;
        bool minus = take(r, "-"), invert = !minus && take(r, "~");
        x = minus || invert ? negated(read_binary(r, 6), invert) : read_postfix(r);
        r->depth--;
        return x;
    }
    x = read_binary(r, level + 1);
    for (int i = 0; i < 4 && ops[level][i] && !golden_now.unknown; i++) {
        const char *op = ops[level][i];
        bool longer = (*r->at == '<' && r->at[1] == '<' && !op[1]) || (*r->at == '*' && r->at[1] == '*' && !op[1]);
        if (longer || !take(r, op))
            continue;
        x = joined(r, op, x, read_binary(r, level + 1));
        i = -1;
    }
    return x;
}

thing golden_read(sett_build *b, const char *text)
{
    reader r = {.b = b, .at = text};
    thing x = read_binary(&r, 0);
    return *r.at ? malformed() : x;
}
