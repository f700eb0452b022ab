/* SPDX-License-Identifier: Apache-2.0 */
/* sett layout: evaluates layout literals and calls of the algebra, prints text and table.
 *
 *     (8,8):(8,1)      zipped_divide((8,8):(8,1),(2,4))      composition((6,2):(8,2),(4,3):(3,1)) */
#include "tools.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct eval {
    sett_build *b;
    const char *text; /* whole, for messages */
    char why[256];
    sett_arg tiler; /* of the outermost make_layout_tv, for the picture */
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
    sett_layout *(*li)(sett_site, const sett_layout *, int);
    sett_tv (*tv)(sett_site, const sett_layout *, const sett_layout *);
    sett_arg (*ask)(const sett_layout *);
    sett_arg (*find)(sett_site, const sett_layout *);
    sett_arg (*at)(sett_site, const sett_layout *, sett_arg);
    sett_arg (*both)(sett_site, const sett_layout *, const sett_layout *);
    sett_arg (*bargs)(sett_site, sett_build *, sett_arg, sett_arg);
    int (*count)(const sett_layout *);
    int (*relation)(sett_site, sett_arg, sett_arg);
} fn;
enum form { F_L, F_LA, F_LL, F_LAA, F_LAL, F_LII, F_IIL, F_IIIL, F_BA, F_BAA, F_LI, F_TV, F_ASK, F_FIND, F_AT, F_BOTH, F_BARGS,
    F_COUNT, F_RELATION };
static const char *const operands[] = {[F_L] = "L", [F_LA] = "LA", [F_LL] = "LL", [F_LAA] = "LAA", [F_LAL] = "LAL",
    [F_LII] = "LII", [F_IIL] = "IIL", [F_IIIL] = "IIIL", [F_BA] = "A", [F_BAA] = "AA", [F_LI] = "LI", [F_TV] = "LL", [F_ASK] = "L",
    [F_FIND] = "L", [F_AT] = "LA", [F_BOTH] = "LL", [F_BARGS] = "AA", [F_COUNT] = "L", [F_RELATION] = "AA"};

static const struct call {
    const char *name, *args;
    enum form form;
    fn op;
    bool short_ok; /* the last operand may be left out: it is `_` */
} calls[] = {
    {"make_layout", "SHAPE[,STRIDE]", F_BAA, {.baa = sett_make_layout_at}, true},
    {"make_ordered_layout", "SHAPE,ORDER", F_BAA, {.baa = sett_make_ordered_layout_at}, false},
    {"make_layout_like", "L", F_L, {.l = sett_make_layout_like_at}, false},
    {"make_identity_layout", "SHAPE", F_BA, {.ba = sett_make_identity_layout_at}, false},
    {"make_swizzled", "BITS,BASE,SHIFT,L", F_IIIL, {.iiil = sett_make_swizzled_at}, false},
    {"make_composed_layout", "L,OFFSET,L", F_LAL, {.lal = sett_make_composed_layout_at}, false},
    {"make_layout_tv", "THREADS,VALUES", F_TV, {.tv = sett_make_layout_tv_at}, false},
    {"row_major", "SHAPE", F_BA, {.ba = sett_row_major_at}, false},
    {"composition", "L,TILER", F_LA, {.la = sett_composition_layout_at}, false},
    {"complement", "L[,SHAPE]", F_LA, {.la = sett_complement_at}, true},
    {"coalesce", "L[,PROFILE]", F_LA, {.la = sett_coalesce_layout_at}, true},
    {"filter", "L", F_L, {.l = sett_filter_at}, false},
    {"filter_by", "L,PROFILE", F_LA, {.la = sett_filter_by_at}, false},
    {"filter_zeros", "L", F_L, {.l = sett_filter_zeros_at}, false},
    {"flatten", "L", F_L, {.l = sett_flatten_at}, false},
    {"group_modes", "L,BEGIN,END", F_LII, {.lii = sett_group_modes_at}, false},
    {"append", "L,MODE", F_LL, {.ll = sett_append_at}, false},
    {"prepend", "L,MODE", F_LL, {.ll = sett_prepend_at}, false},
    {"get", "L,MODE", F_LI, {.li = sett_get_layout_at}, false},
    {"select", "L,MODES", F_LA, {.la = sett_select_layout_at}, false},
    {"slice", "L,COORD", F_LA, {.la = sett_slice_layout_at}, false},
    {"dice", "L,COORD", F_LA, {.la = sett_dice_layout_at}, false},
    {"logical_divide", "L,TILER", F_LA, {.la = sett_logical_divide_layout_at}, false},
    {"zipped_divide", "L,TILER", F_LA, {.la = sett_zipped_divide_layout_at}, false},
    {"tiled_divide", "L,TILER", F_LA, {.la = sett_tiled_divide_layout_at}, false},
    {"flat_divide", "L,TILER", F_LA, {.la = sett_flat_divide_layout_at}, false},
    {"logical_product", "L,TILER", F_LA, {.la = sett_logical_product_at}, false},
    {"zipped_product", "L,TILER", F_LA, {.la = sett_zipped_product_at}, false},
    {"tiled_product", "L,TILER", F_LA, {.la = sett_tiled_product_at}, false},
    {"flat_product", "L,TILER", F_LA, {.la = sett_flat_product_at}, false},
    {"blocked_product", "L,L", F_LL, {.ll = sett_blocked_product_at}, false},
    {"raked_product", "L,L", F_LL, {.ll = sett_raked_product_at}, false},
    {"tile_to_shape", "L,SHAPE[,ORDER]", F_LAA, {.laa = sett_tile_to_shape_at}, true},
    {"right_inverse", "L", F_L, {.l = sett_right_inverse_at}, false},
    {"left_inverse", "L", F_L, {.l = sett_left_inverse_at}, false},
    {"nullspace", "L", F_L, {.l = sett_nullspace_at}, false},
    {"max_common_layout", "L,L", F_LL, {.ll = sett_max_common_layout_at}, false},
    {"max_common_vector", "L,L", F_BOTH, {.both = sett_max_common_vector_at}, false},
    {"recast_layout", "NEW_BITS,OLD_BITS,L", F_IIL, {.iil = sett_recast_layout_at}, false},
    {"shape", "L", F_ASK, {.ask = sett_shape_layout}, false},
    {"stride", "L", F_ASK, {.ask = sett_stride_layout}, false},
    {"size", "L", F_ASK, {.ask = sett_size_layout}, false},
    {"cosize", "L", F_ASK, {.ask = sett_cosize_layout}, false},
    {"rank", "L", F_COUNT, {.count = sett_rank_layout}, false},
    {"depth", "L", F_COUNT, {.count = sett_depth_layout}, false},
    {"max_alignment", "L", F_FIND, {.find = sett_max_alignment_at}, false},
    {"crd2idx", "L,COORD", F_AT, {.at = sett_crd2idx_at}, false},
    {"idx2crd", "INDEX,SHAPE", F_BARGS, {.bargs = sett_idx2crd_at}, false},
    {"get_flat_coord", "L,INDEX", F_AT, {.at = sett_get_flat_coord_at}, false},
    {"ceil_div", "A,B", F_BARGS, {.bargs = sett_ceil_div_in_at}, false},
    {"congruent", "A,B", F_RELATION, {.relation = sett_congruent_at}, false},
    {"weakly_congruent", "A,B", F_RELATION, {.relation = sett_weakly_congruent_at}, false},
    {"compatible", "A,B", F_RELATION, {.relation = sett_compatible_at}, false},
    {"evenly_divides", "A,B", F_RELATION, {.relation = sett_evenly_divides_at}, false},
    {"tuple_less", "A,B", F_RELATION, {.relation = sett_tuple_less_at}, false},
    {"tuple_leq", "A,B", F_RELATION, {.relation = sett_tuple_leq_at}, false},
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
    case F_LI: return of_layout(f.li(s, l[0], (int)a[1].u.i));
    case F_TV:
        tv = f.tv(s, l[0], l[1]);
        v->tiler = tv.tiler;
        return of_layout(tv.tv);
    case F_ASK: return f.ask(l[0]);
    case F_FIND: return f.find(s, l[0]);
    case F_AT: return f.at(s, l[0], a[1]);
    case F_BOTH: return f.both(s, l[0], l[1]);
    case F_BARGS: return f.bargs(s, v->b, a[0], a[1]);
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

static sett_arg call(eval *v, const char *s, size_t n, const char *args, size_t args_len)
{
    const char *part[4];
    size_t part_len[4];
    sett_arg a[4];
    sett_layout *l[4] = {NULL};
    const struct call *c = call_find(s, n);
    if (!c)
        return bad(v, "%.*s: no such call; sett layout --help lists them", s, n);
    int argc = split(args, args_len, part, part_len, 4), want = (int)strlen(operands[c->form]);
    if (argc != want && !(c->short_ok && argc == want - 1)) {
        char format[128];
        snprintf(format, sizeof format, "%%.*s takes (%s)", c->args);
        return bad(v, format, s, n);
    }
    for (int i = 0; i < want; i++) {
        a[i] = i < argc ? evaluate(v, part[i], part_len[i]) : SETT_ALL;
        if (a[i].kind == SETT_POISON)
            return a[i];
        if (operands[c->form][i] == 'I' && (a[i].kind != SETT_INT || a[i].u.i != (int)a[i].u.i))
            return bad(v, "%.*s: not a number", part[i], part_len[i]);
        if (operands[c->form][i] == 'L')
            l[i] = as_layout(v, a[i]);
    }
    v->tiler = (sett_arg){0};
    return apply(v, c, a, l);
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
    if (name > 1 && name < len && s[name] == '(' && s[len - 1] == ')')
        return call(v, s, name, s + name + 1, len - name - 2);
    if (name > 1 && name < len && s[name] == '(')
        return bad(v, "%.*s( has no closing bracket", s, name);
    char *text = strndup(s, len);
    if (!text)
        return bad(v, "%.*s: out of memory", s, 0);
    sett_arg a = strchr(text, ':') && *text != '<' ? SETT_A(sett_layout_parse(v->b, text)) : sett_arg_parse(v->b, text);
    free(text);
    return a;
}

/* A message of the library without the line of this file that called it, and without the reader's own name: the user
 * wrote an expression. */
static int refuse(const char *why)
{
    static const char *const readers[] = {"sett_layout_parse: ", "sett_arg_parse: "};
    if (!strncmp(why, __FILE__ ":", sizeof __FILE__)) {
        const char *end = strstr(why, ": ");
        why = end ? end + 2 : why;
    }
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (!strncmp(why, readers[i], strlen(readers[i])))
            why += strlen(readers[i]);
    return fail("%s", why);
}

static int64_t extent(sett_build *b, sett_arg a)
{
    return a.kind == SETT_INT ? a.u.i : sett_static_at(SETT_HERE, b, a);
}

/* Offsets of a rank-2 layout (rank 1: one row), row by row. */
static void print_table(sett_build *b, const sett_layout *l)
{
    int64_t rows = 1, cols = extent(b, sett_size(l));
    if (sett_rank(l) == 2) {
        rows = extent(b, sett_size(sett_get(l, 0)));
        cols = extent(b, sett_size(sett_get(l, 1)));
    }
    if (sett_rank(l) > 2 || rows > 64 || cols > 64)
        return;
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++) {
            char cell[64];
            sett_arg at = rows == 1 && sett_rank(l) != 2 ? sett_crd2idx(j, l) : sett_crd2idx(sett_tuple(b, i, j), l);
            sett_arg_str(at, cell, sizeof cell);
            printf("%5s%s", cell, j + 1 < cols ? " " : "\n");
        }
}

/* Of a static layout of at most MOST_FACTS elements: do no two coordinates share an offset, and is every offset below the
 * cosize met? False: that is not known. */
enum { MOST_FACTS = 65536 };
static bool image(const sett_layout *l, bool *injective, bool *surjective)
{
    sett_arg size = sett_size(l), cosize = sett_cosize(l);
    if (size.kind != SETT_INT || cosize.kind != SETT_INT || size.u.i > MOST_FACTS || cosize.u.i < 0 || cosize.u.i > INT32_MAX)
        return false;
    unsigned char *met = calloc((size_t)cosize.u.i + 1, 1);
    int64_t different = 0, i = 0;
    for (; met && i < size.u.i; i++) {
        sett_arg at = sett_crd2idx(i, l);
        if (at.kind != SETT_INT || at.path || at.u.i < 0 || at.u.i >= cosize.u.i)
            break;
        different += !met[at.u.i];
        met[at.u.i] = 1;
    }
    bool known = met && i == size.u.i;
    free(met);
    *injective = different == size.u.i;
    *surjective = different == cosize.u.i;
    return known;
}

static void print_facts(const options *o, const sett_layout *l, const char *text)
{
    char size[64], cosize[64];
    bool in = false, on = false, known = image(l, &in, &on);
    sett_arg_str(sett_size(l), size, sizeof size);
    sett_arg_str(sett_cosize(l), cosize, sizeof cosize);
    if (o->json) {
        fputs("{\"schema_version\": 1, \"layout\": ", stdout), json_string(stdout, text);
        printf(", \"rank\": %d, \"depth\": %d, \"size\": \"%s\", \"cosize\": \"%s\"", sett_rank(l), sett_depth(l), size, cosize);
        if (known)
            printf(", \"injective\": %s, \"surjective\": %s, \"bijective\": %s", in ? "true" : "false", on ? "true" : "false",
                in && on ? "true" : "false");
        puts("}");
        return;
    }
    printf("rank %d, depth %d, size %s, cosize %s\n", sett_rank(l), sett_depth(l), size, cosize);
    if (known)
        printf("%sinjective, %ssurjective, %sbijective onto its cosize\n", in ? "" : "not ", on ? "" : "not ", in && on ? "" : "not ");
}

/* A layout as SVG; a TV layout as the tile that it covers. */
static int draw(const options *o, const eval *v, const sett_layout *l)
{
    const char *why, *svg = sett_layout_svg(l, .tiler = v->tiler);
    if (sett_build_status(v->b, &why))
        return refuse(why);
    return file_write(o->output ? o->output : "-", svg, strlen(svg));
}

/* What is no layout: a number, a tuple, a truth. */
static int print_value(const options *o, sett_arg a)
{
    char text[4096];
    sett_arg_str(a, text, sizeof text);
    if (o->emit && !strcmp(o->emit, "svg"))
        return usage("--emit svg draws a layout; this is %s", text);
    int code = output_open(o);
    if (code)
        return code;
    if (o->json)
        fputs("{\"schema_version\": 1, \"value\": ", stdout), json_string(stdout, text), puts("}");
    else
        puts(text);
    return EXIT_OK;
}

static int print_layout(const options *o, const eval *v, const sett_layout *l)
{
    char text[4096];
    sett_layout_str(l, text, sizeof text);
    if (o->emit && !strcmp(o->emit, "svg"))
        return draw(o, v, l);
    int code = output_open(o);
    if (code)
        return code;
    if (!o->json)
        puts(text);
    if (o->facts || o->json)
        print_facts(o, l, text);
    if (!o->json && !o->facts && !o->emit)
        print_table(v->b, l);
    return EXIT_OK;
}

int layout_command(const options *o)
{
    if (o->emit && strcmp(o->emit, "text") && strcmp(o->emit, "svg"))
        return usage("--emit %s: text or svg", o->emit);
    if (o->argc != 1)
        return usage("layout takes one expression");
    eval v = {.b = sett_build_begin(), .text = o->argv[0]};
    if (!v.b)
        return fail("out of memory");
    const char *why = NULL, *first = v.text + strspn(v.text, " \t\n");
    sett_arg a = evaluate(&v, v.text, strlen(v.text));
    /* Asked for what only layouts have, a shape that was written out is a compact one. */
    if (!v.why[0] && !sett_build_status(v.b, &why) && a.kind != SETT_LAYOUT && strchr("(0123456789", *first) &&
        (o->json || o->facts || (o->emit && !strcmp(o->emit, "svg"))))
        a = of_layout(as_layout(&v, a));
    int code;
    if (v.why[0])
        code = usage("%s", v.why);
    else if (sett_build_status(v.b, &why))
        code = refuse(why);
    else
        code = a.kind == SETT_LAYOUT ? print_layout(o, &v, a.u.l) : print_value(o, a);
    sett_build_end(v.b, NULL);
    return code;
}
