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

typedef sett_layout *(*on_layout)(sett_site, const sett_layout *, sett_arg);
static const struct call {
    const char *name;
    on_layout op; /* (layout, anything) */
} calls[] = {
    {"composition", sett_composition_layout_at}, {"logical_divide", sett_logical_divide_layout_at},
    {"zipped_divide", sett_zipped_divide_layout_at}, {"tiled_divide", sett_tiled_divide_layout_at},
    {"flat_divide", sett_flat_divide_layout_at}, {"complement", sett_complement_at},
    {"logical_product", sett_logical_product_at}, {"slice", sett_slice_layout_at}, {"dice", sett_dice_layout_at},
    {"select", sett_select_layout_at}, {"coalesce", sett_coalesce_layout_at},
};

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

static sett_layout *as_layout(eval *v, sett_arg a, const char *text, size_t len)
{
    if (a.kind == SETT_LAYOUT)
        return a.u.l;
    if (a.kind == SETT_POISON)
        return NULL;
    return sett_make_layout_at(SETT_HERE, v->b, a, SETT_ALL); /* a bare shape is compact */
    (void)text, (void)len;
}

static sett_layout *tv_layout(eval *v, const sett_layout *thr, const sett_layout *val)
{
    sett_tv tv = sett_make_layout_tv(thr, val);
    v->tiler = tv.tiler;
    return tv.tv;
}

/* Calls that make a layout from tuples, or take numbers first. */
static sett_arg special(eval *v, const char *name, size_t n, int argc, const sett_arg *a, bool *known)
{
    sett_layout *l = NULL;
    *known = true;
    if (!strncmp(name, "make_layout", n) && n == 11 && (argc == 1 || argc == 2))
        l = sett_make_layout_at(SETT_HERE, v->b, a[0], argc == 2 ? a[1] : SETT_ALL);
    else if (!strncmp(name, "make_ordered_layout", n) && n == 19 && argc == 2)
        l = sett_make_ordered_layout(v->b, a[0], a[1]);
    else if (!strncmp(name, "row_major", n) && n == 9 && argc == 1)
        l = sett_row_major(v->b, a[0]);
    else if (!strncmp(name, "make_identity_layout", n) && n == 20 && argc == 1)
        l = sett_make_identity_layout(v->b, a[0]);
    else if (!strncmp(name, "recast_layout", n) && n == 13 && argc == 3 && a[0].kind == SETT_INT && a[1].kind == SETT_INT)
        l = sett_recast_layout((int)a[0].u.i, (int)a[1].u.i, as_layout(v, a[2], name, n));
    else if (!strncmp(name, "make_layout_tv", n) && n == 14 && argc == 2)
        l = tv_layout(v, as_layout(v, a[0], name, n), as_layout(v, a[1], name, n));
    else
        *known = false;
    return l ? SETT_A(l) : (sett_arg){.kind = SETT_POISON};
}

static sett_arg call(eval *v, const char *s, size_t n, const char *args, size_t args_len)
{
    const char *part[4];
    size_t part_len[4];
    sett_arg a[4];
    bool known;
    int argc = split(args, args_len, part, part_len, 4);
    if (argc > 4)
        return bad(v, "%.*s: too many arguments", s, n);
    for (int i = 0; i < argc; i++) {
        a[i] = evaluate(v, part[i], part_len[i]);
        if (a[i].kind == SETT_POISON)
            return a[i];
    }
    v->tiler = (sett_arg){0};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strlen(calls[i].name) != n || strncmp(calls[i].name, s, n))
            continue;
        bool one = argc == 1 && calls[i].op == sett_coalesce_layout_at;
        if (argc != 2 && !one)
            return bad(v, "%.*s takes a layout and one more argument", s, n);
        sett_layout *l = as_layout(v, a[0], part[0], part_len[0]);
        return l ? SETT_A(calls[i].op(SETT_HERE, l, one ? SETT_ALL : a[1])) : a[0];
    }
    sett_arg r = special(v, s, n, argc, a, &known);
    return known ? r : bad(v, "%.*s: no such call, or not with these arguments", s, n);
}

static sett_arg evaluate(eval *v, const char *s, size_t len)
{
    while (len && isspace((unsigned char)*s))
        s++, len--;
    while (len && isspace((unsigned char)s[len - 1]))
        len--;
    size_t name = 0;
    while (name < len && (isalpha((unsigned char)s[name]) || s[name] == '_'))
        name++;
    if (name > 1 && name < len && s[name] == '(' && s[len - 1] == ')')
        return call(v, s, name, s + name + 1, len - name - 2);
    char *text = strndup(s, len);
    if (!text)
        return bad(v, "%.*s: out of memory", s, 0);
    sett_arg a = strchr(text, ':') && *text != '<' ? SETT_A(sett_layout_parse(v->b, text)) : sett_arg_parse(v->b, text);
    free(text);
    return a;
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

static void print_facts(const options *o, const sett_layout *l, const char *text)
{
    char size[64], cosize[64];
    sett_arg_str(sett_size(l), size, sizeof size);
    sett_arg_str(sett_cosize(l), cosize, sizeof cosize);
    if (o->json) {
        fputs("{\"schema_version\": 1, \"layout\": ", stdout), json_string(stdout, text);
        printf(", \"rank\": %d, \"depth\": %d, \"size\": \"%s\", \"cosize\": \"%s\"}\n", sett_rank(l), sett_depth(l), size, cosize);
    } else {
        printf("rank %d, depth %d, size %s, cosize %s\n", sett_rank(l), sett_depth(l), size, cosize);
    }
}

/* A layout as SVG; a TV layout as the tile that it covers. */
static int draw(const options *o, const eval *v, const sett_layout *l)
{
    const char *why, *svg = sett_layout_svg(l, .tiler = v->tiler);
    if (sett_build_status(v->b, &why))
        return fail("%s", why);
    return file_write(o->output ? o->output : "-", svg, strlen(svg));
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
    int code = EXIT_OK;
    char text[4096];
    const char *why = NULL;
    sett_arg a = evaluate(&v, o->argv[0], strlen(o->argv[0]));
    if (v.why[0])
        code = usage("%s", v.why);
    else if (sett_build_status(v.b, &why))
        code = fail("%s", why);
    else if (a.kind != SETT_LAYOUT)
        sett_arg_str(a, text, sizeof text), puts(text);
    else {
        sett_layout_str(a.u.l, text, sizeof text);
        if (o->emit && !strcmp(o->emit, "svg"))
            code = draw(o, &v, a.u.l);
        else if (!o->json)
            puts(text);
        if (o->facts || o->json)
            print_facts(o, a.u.l, text);
        if (!o->json && !o->facts && !o->emit)
            print_table(v.b, a.u.l);
    }
    sett_build_end(v.b, NULL);
    return code;
}
