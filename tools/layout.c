/* SPDX-License-Identifier: Apache-2.0 */
/* sett layout: evaluates layout literals and calls of the algebra, prints text and table.
 *
 *     (8,8):(8,1)      zipped_divide((8,8):(8,1),(2,4))      composition((6,2):(8,2),(4,3):(3,1)) */
#include "tools.h"
#include <ctype.h>
#include <sett/layout.h>
#include <stdlib.h>
#include <string.h>

typedef struct eval {
    sett_build *b;
    const char *text; /* whole, for messages */
    char why[256];
    /* Of the outermost call, for its picture: its name, operands (a NULL: no layout), and a TV layout's tile. */
    const char *call;
    const sett_layout *a;
    sett_arg second, tiler;
} eval;

/* What an operand is: L a layout (a shape is a compact one), A anything, I a C number. */
typedef union fn {
    sett_layout *(*l)(sett_site, const sett_layout *);
    sett_layout *(*la)(sett_site, const sett_layout *, sett_arg);
    sett_layout *(*ll)(sett_site, const sett_layout *, const sett_layout *);
    sett_layout *(*laa)(sett_site, const sett_layout *, sett_arg, sett_arg);
    sett_layout *(*lal)(sett_site, const sett_layout *, sett_arg, const sett_layout *);
    sett_layout *(*lii)(sett_site, const sett_layout *, int, int);
    sett_layout *(*iil)(sett_site, int, int, const sett_layout *);
    sett_layout *(*iiil)(sett_site, int, int, int, const sett_layout *);
    sett_layout *(*ba)(sett_site, sett_build *, sett_arg);
    sett_layout *(*baa)(sett_site, sett_build *, sett_arg, sett_arg);
    sett_tv (*tv)(sett_site, const sett_layout *, const sett_layout *);
    sett_arg (*ask)(const sett_layout *);
    sett_arg (*find)(sett_site, const sett_layout *);
    sett_arg (*at)(sett_site, const sett_layout *, sett_arg);
    sett_arg (*both)(sett_site, const sett_layout *, const sett_layout *);
    sett_arg (*bargs)(sett_site, sett_build *, sett_arg, sett_arg);
    sett_arg (*mask)(sett_site, const sett_layout *, sett_arg, int);
    int (*count)(const sett_layout *);
    int (*relation)(sett_site, sett_arg, sett_arg);
} fn;
enum form { F_L, F_LA, F_LL, F_LAA, F_LAL, F_LII, F_IIL, F_IIIL, F_BA, F_BAA, F_TV, F_ASK, F_FIND, F_AT, F_BOTH, F_BARGS,
    F_MASK, F_COUNT, F_RELATION };
static const char *const operands[] = {[F_L] = "L", [F_LA] = "LA", [F_LL] = "LL", [F_LAA] = "LAA", [F_LAL] = "LAL",
    [F_LII] = "LII", [F_IIL] = "IIL", [F_IIIL] = "IIIL", [F_BA] = "A", [F_BAA] = "AA", [F_TV] = "LL", [F_ASK] = "L",
    [F_FIND] = "L", [F_AT] = "LA", [F_BOTH] = "LL", [F_BARGS] = "AA", [F_MASK] = "LAI", [F_COUNT] = "L", [F_RELATION] = "AA"};

static sett_layout *append_ones(sett_site s, const sett_layout *l, sett_arg rank)
{
    return sett_append_upto_at(s, l, SETT_ALL, rank);
}

static sett_layout *prepend_ones(sett_site s, const sett_layout *l, sett_arg rank)
{
    return sett_prepend_upto_at(s, l, SETT_ALL, rank);
}

static const struct call {
    const char *name, *args;
    enum form form;
    fn op;
    enum { EXACT, SHORT, MANY } last; /* SHORT: the last operand may be left out, and is `_`. MANY: it may be several, which
                                       * are a tuple, as in C: row_major(4,8) is row_major((4,8)) */
} calls[] = {
    {"make_layout", "SHAPE[,STRIDE]", F_BAA, {.baa = sett_make_layout_at}, SHORT},
    {"make_ordered_layout", "SHAPE,ORDER", F_BAA, {.baa = sett_make_ordered_layout_at}, EXACT},
    {"make_layout_like", "L", F_L, {.l = sett_make_layout_like_at}, EXACT},
    {"make_identity_layout", "SHAPE...", F_BA, {.ba = sett_make_identity_layout_at}, MANY},
    {"make_swizzled", "BITS,BASE,SHIFT,L", F_IIIL, {.iiil = sett_make_swizzled_at}, EXACT},
    {"make_composed_layout", "L,OFFSET,L", F_LAL, {.lal = sett_make_composed_layout_at}, EXACT},
    {"make_layout_tv", "THREADS,VALUES", F_TV, {.tv = sett_make_layout_tv_at}, EXACT},
    {"row_major", "SHAPE...", F_BA, {.ba = sett_row_major_at}, MANY},
    {"composition", "L,TILER", F_LA, {.la = sett_composition_layout_at}, EXACT},
    {"complement", "L[,SHAPE]", F_LA, {.la = sett_complement_at}, SHORT},
    {"coalesce", "L[,PROFILE]", F_LA, {.la = sett_coalesce_layout_at}, SHORT},
    {"filter", "L", F_L, {.l = sett_filter_at}, EXACT},
    {"filter_by", "L,PROFILE", F_LA, {.la = sett_filter_by_at}, EXACT},
    {"filter_zeros", "L", F_L, {.l = sett_filter_zeros_at}, EXACT},
    {"flatten", "L", F_L, {.l = sett_flatten_at}, EXACT},
    {"group_modes", "L,BEGIN,END", F_LII, {.lii = sett_group_modes_at}, EXACT},
    {"append", "L,MODE", F_LL, {.ll = sett_append_at}, EXACT},
    {"prepend", "L,MODE", F_LL, {.ll = sett_prepend_at}, EXACT},
    {"get", "L,MODES...", F_LA, {.la = sett_get_layout_at}, MANY},
    {"select", "L,MODES...", F_LA, {.la = sett_select_layout_at}, MANY},
    {"slice", "L,COORD...", F_LA, {.la = sett_slice_layout_at}, MANY},
    {"dice", "L,COORD...", F_LA, {.la = sett_dice_layout_at}, MANY},
    {"logical_divide", "L,TILER", F_LA, {.la = sett_logical_divide_layout_at}, EXACT},
    {"zipped_divide", "L,TILER", F_LA, {.la = sett_zipped_divide_layout_at}, EXACT},
    {"tiled_divide", "L,TILER", F_LA, {.la = sett_tiled_divide_layout_at}, EXACT},
    {"flat_divide", "L,TILER", F_LA, {.la = sett_flat_divide_layout_at}, EXACT},
    {"logical_product", "L,TILER", F_LA, {.la = sett_logical_product_at}, EXACT},
    {"zipped_product", "L,TILER", F_LA, {.la = sett_zipped_product_at}, EXACT},
    {"tiled_product", "L,TILER", F_LA, {.la = sett_tiled_product_at}, EXACT},
    {"flat_product", "L,TILER", F_LA, {.la = sett_flat_product_at}, EXACT},
    {"blocked_product", "L,L", F_LL, {.ll = sett_blocked_product_at}, EXACT},
    {"raked_product", "L,L", F_LL, {.ll = sett_raked_product_at}, EXACT},
    {"tile_to_shape", "L,SHAPE[,ORDER]", F_LAA, {.laa = sett_tile_to_shape_at}, SHORT},
    {"right_inverse", "L", F_L, {.l = sett_right_inverse_at}, EXACT},
    {"left_inverse", "L", F_L, {.l = sett_left_inverse_at}, EXACT},
    {"nullspace", "L", F_L, {.l = sett_nullspace_at}, EXACT},
    {"max_common_layout", "L,L", F_LL, {.ll = sett_max_common_layout_at}, EXACT},
    {"max_common_vector", "L,L", F_BOTH, {.both = sett_max_common_vector_at}, EXACT},
    {"recast_layout", "NEW_BITS,OLD_BITS,L", F_IIL, {.iil = sett_recast_layout_at}, EXACT},
    {"shape", "L", F_ASK, {.ask = sett_shape_layout}, EXACT},
    {"stride", "L", F_ASK, {.ask = sett_stride_layout}, EXACT},
    {"size", "L", F_ASK, {.ask = sett_size_layout}, EXACT},
    {"cosize", "L", F_ASK, {.ask = sett_cosize_layout}, EXACT},
    {"rank", "L", F_COUNT, {.count = sett_rank_layout}, EXACT},
    {"depth", "L", F_COUNT, {.count = sett_depth_layout}, EXACT},
    {"max_alignment", "L", F_FIND, {.find = sett_max_alignment_at}, EXACT},
    {"crd2idx", "L,COORD", F_AT, {.at = sett_crd2idx_at}, EXACT},
    {"idx2crd", "INDEX,SHAPE", F_BARGS, {.bargs = sett_idx2crd_at}, EXACT},
    {"get_flat_coord", "L,INDEX", F_AT, {.at = sett_get_flat_coord_at}, EXACT},
    {"ceil_div", "A,B", F_BARGS, {.bargs = sett_ceil_div_in_at}, EXACT},
    {"round_up", "A,B", F_BARGS, {.bargs = sett_round_up_in_at}, EXACT},
    {"shape_div", "A,B", F_BARGS, {.bargs = sett_shape_div_in_at}, EXACT},
    {"product_like", "A,PROFILE", F_BARGS, {.bargs = sett_product_like_at}, EXACT},
    {"unflatten", "A,PROFILE", F_BARGS, {.bargs = sett_unflatten_at}, EXACT},
    {"increment_coord", "COORD,SHAPE", F_BARGS, {.bargs = sett_increment_coord_at}, EXACT},
    {"append_ones", "L,RANK", F_LA, {.la = append_ones}, EXACT},
    {"prepend_ones", "L,RANK", F_LA, {.la = prepend_ones}, EXACT},
    {"get_swizzle_portion", "L", F_L, {.l = sett_get_swizzle_portion_at}, EXACT},
    {"get_nonswizzle_portion", "L", F_L, {.l = sett_get_nonswizzle_portion_at}, EXACT},
    {"make_layout_image_mask", "L,COORD,MODE", F_MASK, {.mask = sett_make_layout_image_mask_at}, EXACT},
    {"leading_dim", "L", F_FIND, {.find = sett_leading_dim_at}, EXACT},
    {"congruent", "A,B", F_RELATION, {.relation = sett_congruent_at}, EXACT},
    {"weakly_congruent", "A,B", F_RELATION, {.relation = sett_weakly_congruent_at}, EXACT},
    {"compatible", "A,B", F_RELATION, {.relation = sett_compatible_at}, EXACT},
    {"evenly_divides", "A,B", F_RELATION, {.relation = sett_evenly_divides_at}, EXACT},
    {"tuple_less", "A,B", F_RELATION, {.relation = sett_tuple_less_at}, EXACT},
    {"tuple_leq", "A,B", F_RELATION, {.relation = sett_tuple_leq_at}, EXACT},
};

void layout_calls(FILE *f)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        fprintf(f, "  %s(%s)\n", calls[i].name, calls[i].args);
}

static sett_arg evaluate(eval *, const char *from, size_t len);

static sett_arg bad(eval *v, const char *format, const char *text, size_t len)
{
    if (!v->why[0])
        snprintf(v->why, sizeof v->why, format, (int)len, text);
    return (sett_arg){.kind = SETT_POISON};
}

/* Splits at commas outside parentheses; gives how many. */
static int split(const char *s, size_t len, const char **part, size_t *part_len, int most)
{
    int depth = 0, n = 0;
    size_t start = 0;
    for (size_t i = 0; i <= len; i++) {
        if (i == len || (s[i] == ',' && !depth)) {
            if (n < most)
                part[n] = s + start, part_len[n] = i - start;
            n++;
            start = i + 1;
        } else {
            depth += strchr("(<[", s[i]) ? 1 : strchr(")>]", s[i]) ? -1 : 0;
        }
    }
    return n;
}

/* A bare shape is compact. NULL: the build has failed. */
static sett_layout *as_layout(eval *v, sett_arg a)
{
    return a.kind == SETT_LAYOUT ? a.u.l : sett_make_layout_at(SETT_HERE, v->b, a, SETT_ALL);
}

static sett_arg of_layout(sett_layout *l)
{
    return l ? SETT_A(l) : (sett_arg){.kind = SETT_POISON};
}

static sett_arg apply(eval *v, const struct call *c, const sett_arg *a, sett_layout *const *l)
{
    const sett_site s = SETT_HERE;
    const fn f = c->op;
    sett_tv tv;
    switch (c->form) {
    case F_L: return of_layout(f.l(s, l[0]));
    case F_LA: return of_layout(f.la(s, l[0], a[1]));
    case F_LL: return of_layout(f.ll(s, l[0], l[1]));
    case F_LAA: return of_layout(f.laa(s, l[0], a[1], a[2]));
    case F_LAL: return of_layout(f.lal(s, l[0], a[1], l[2]));
    case F_LII: return of_layout(f.lii(s, l[0], (int)a[1].u.i, (int)a[2].u.i));
    case F_IIL: return of_layout(f.iil(s, (int)a[0].u.i, (int)a[1].u.i, l[2]));
    case F_IIIL: return of_layout(f.iiil(s, (int)a[0].u.i, (int)a[1].u.i, (int)a[2].u.i, l[3]));
    case F_BA: return of_layout(f.ba(s, v->b, a[0]));
    case F_BAA: return of_layout(f.baa(s, v->b, a[0], a[1]));
    case F_TV:
        tv = f.tv(s, l[0], l[1]);
        v->tiler = tv.tiler;
        return of_layout(tv.tv);
    case F_ASK: return f.ask(l[0]);
    case F_FIND: return f.find(s, l[0]);
    case F_AT: return f.at(s, l[0], a[1]);
    case F_BOTH: return f.both(s, l[0], l[1]);
    case F_BARGS: return f.bargs(s, v->b, a[0], a[1]);
    case F_MASK: return f.mask(s, l[0], a[1], (int)a[2].u.i);
    case F_COUNT: return SETT_A(f.count(l[0]));
    default: return SETT_A(f.relation(s, a[0], a[1]));
    }
}

static const struct call *call_find(const char *s, size_t n)
{
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strlen(calls[i].name) == n && !strncmp(calls[i].name, s, n))
            return &calls[i];
    return NULL;
}

static sett_arg no_call(eval *v, const char *s, size_t n)
{
    char format[128];
    sett__guess g = sett__guess_of(s, n);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        sett__guess_add(&g, calls[i].name);
    snprintf(format, sizeof format, "%%.*s: no such call%s", g.best ? sett__guess_text(&g) : "; sett layout --help lists them");
    return bad(v, format, s, n < 60 ? n : 60);
}

/* The operands from `from` to `end`, as if a bracket stood around them. */
static sett_arg tuple_of(eval *v, const char *from, const char *end)
{
    size_t len = (size_t)(end - from);
    char *text = malloc(len + 3);
    if (!text)
        return bad(v, "%.*s: out of memory", from, 0);
    snprintf(text, len + 3, "(%.*s)", (int)len, from);
    sett_arg a = evaluate(v, text, len + 2);
    free(text);
    return a;
}

static sett_arg call(eval *v, const char *s, size_t n, const char *args, size_t args_len)
{
    const char *part[4];
    size_t part_len[4];
    sett_arg a[4];
    sett_layout *l[4] = {NULL};
    const struct call *c = call_find(s, n);
    if (!c)
        return no_call(v, s, n);
    int argc = split(args, args_len, part, part_len, 4), want = (int)strlen(operands[c->form]);
    bool many = c->last == MANY && argc > want;
    if (argc != want && !many && !(c->last == SHORT && argc == want - 1)) {
        char format[128];
        snprintf(format, sizeof format, "%%.*s takes (%s)", c->args);
        return bad(v, format, s, n);
    }
    for (int i = 0; i < want; i++) {
        a[i] = i >= argc              ? SETT_ALL
               : many && i + 1 == want ? tuple_of(v, part[i], args + args_len)
                                       : evaluate(v, part[i], part_len[i]);
        if (a[i].kind == SETT_POISON)
            return a[i];
        if (operands[c->form][i] == 'I' && (a[i].kind != SETT_INT || a[i].u.i != (int)a[i].u.i))
            return bad(v, "%.*s: not a number of 32 bits", part[i], part_len[i]);
        if (operands[c->form][i] == 'L')
            l[i] = as_layout(v, a[i]);
    }
    v->call = c->name;
    v->a = l[0];
    v->second = want < 2 ? (sett_arg){0} : l[1] ? SETT_A(l[1]) : a[1];
    v->tiler = (sett_arg){0};
    return apply(v, c, a, l);
}

/* Where the bracket at s[at] is closed; len: nowhere. */
static size_t closing(const char *s, size_t len, size_t at)
{
    for (int depth = 0; at < len; at++) {
        depth += strchr("(<[", s[at]) ? 1 : strchr(")>]", s[at]) ? -1 : 0;
        if (!depth)
            break;
    }
    return at;
}

static sett_arg evaluate(eval *v, const char *s, size_t len)
{
    while (len && isspace((unsigned char)*s))
        s++, len--;
    while (len && isspace((unsigned char)s[len - 1]))
        len--;
    size_t name = 0;
    while (name < len && (isalpha((unsigned char)s[name]) || s[name] == '_' || (name && isdigit((unsigned char)s[name]))))
        name++;
    if (name > 1 && name < len && s[name] == '(') {
        size_t end = closing(s, len, name);
        if (end == len)
            return bad(v, "%.*s( has no closing bracket", s, name);
        if (end + 1 < len)
            return bad(v, "nothing more is expected behind %.*s", s, end + 1);
        return call(v, s, name, s + name + 1, len - name - 2);
    }
    char *text = strndup(s, len);
    if (!text)
        return bad(v, "%.*s: out of memory", s, 0);
    sett_arg a = strchr(text, ':') && *text != '<' ? SETT_A(sett_layout_parse(v->b, text)) : sett_arg_parse(v->b, text);
    free(text);
    return a;
}

/* The layout that an option gives; NULL: the reason was printed, and *code is an exit code. */
static sett_layout *option_layout(sett_build *b, const char *option, const char *text, int *code)
{
    eval v = {.b = b, .text = text};
    const char *why;
    sett_arg a = evaluate(&v, text, strlen(text));
    sett_layout *l = v.why[0] || a.kind == SETT_POISON ? NULL : as_layout(&v, a);
    *code = v.why[0] ? usage("%s: %s", option, v.why) : sett_build_status(b, &why) ? layout_refuse(why) : EXIT_OK;
    return *code ? NULL : l;
}

static int option_tuple(sett_build *b, const char *text, sett_arg *out)
{
    const char *why;
    if (!text)
        return EXIT_OK;
    *out = sett_arg_parse(b, text);
    return sett_build_status(b, &why) ? layout_refuse(why) : EXIT_OK;
}

/* The operands of the picture. An exit code. */
static int take_operands(const options *o, const eval *v, sett_picture_args *p)
{
    int code;
    p->a = v->a;
    p->b = v->second;
    p->tiler = v->tiler;
    if ((code = option_tuple(v->b, o->tile, &p->tiler)) || (code = option_tuple(v->b, o->isolate, &p->isolate)))
        return code;
    if (o->isolate && p->isolate.kind != SETT_NODE) /* 3 is (3,_) */
        p->isolate = sett_tuple(v->b, p->isolate, SETT_ALL);
    if (o->tensor && !(p->tensor = option_layout(v->b, "--tensor", o->tensor, &code)))
        return code;
    if (o->panels && (code = layout_link(v->call, v->text, p)))
        return code;
    if (o->diff && (p->a = option_layout(v->b, "--diff", o->diff, &code)))
        p->draw = SETT_DRAW_DIFF;
    return code;
}

int layout_command(const options *o)
{
    sett_picture_args p;
    int emit, code;
    if (o->argc != 1)
        return usage("layout takes one expression");
    if ((code = layout_options(o, &p, &emit)))
        return code;
    eval v = {.b = sett_build_begin(), .text = o->argv[0]};
    if (!v.b)
        return fail("out of memory");
    bool picture = o->panels || o->diff || o->tile || o->tensor || o->isolate || o->by || o->emit;
    const char *why = NULL, *first = v.text + strspn(v.text, " \t\n");
    sett_arg a = evaluate(&v, v.text, strlen(v.text));
    /* Asked for what only layouts have, a shape that was written out is a compact one. */
    if (!v.why[0] && !sett_build_status(v.b, &why) && a.kind != SETT_LAYOUT && strchr("(0123456789", *first) &&
        (o->json || o->facts || picture))
        a = of_layout(as_layout(&v, a));
    if (v.why[0])
        code = usage("%s", v.why);
    else if (sett_build_status(v.b, &why))
        code = layout_refuse(why);
    else if (a.kind != SETT_LAYOUT)
        code = picture ? usage("a picture shows a layout; this is %s", v.text) : layout_print_value(o, a);
    else if (!(code = take_operands(o, &v, &p))) {
        p.layout = a.u.l;
        code = layout_print(o, v.b, &p, emit, picture);
    }
    sett_build_end(v.b, NULL);
    return code;
}
