/* SPDX-License-Identifier: Apache-2.0 */
/* What sett layout says of a result: its text, a picture, facts. */
#include "tools.h"
#include <sett/cost.h>
#include <sett/layout.h>
#include <sett/tuple.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int layout_refuse(const char *why)
{
    static const char *const readers[] = {"sett_layout_parse: ", "sett_arg_parse: "};
    if (!strncmp(why, "tools/", 6)) { /* the line that called is not the user's */
        const char *end = strstr(why, ": ");
        why = end ? end + 2 : why;
    }
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++)
        if (!strncmp(why, readers[i], strlen(readers[i])))
            why += strlen(readers[i]);
    return fail("%s", why);
}

/* ---- options ------------------------------------------------------------------------------------- */
typedef struct word {
    const char *name;
    int is;
} word;

static int choose(const char *option, const char *text, const word *words, int *out)
{
    char all[128];
    int n = 0;
    sett__guess g = sett__guess_of(text, strlen(text));
    for (const word *w = words; w->name; w++) {
        if (!strcmp(text, w->name)) {
            *out = w->is;
            return EXIT_OK;
        }
        n += snprintf(all + n, sizeof all - (size_t)n, "%s%s", n ? ", " : "", w->name);
        sett__guess_add(&g, w->name);
    }
    return usage("%s %s: one of %s is needed%s", option, text, all, sett__guess_text(&g));
}

static int color_wanted(const options *o)
{
    enum { AUTO, ALWAYS, NEVER };
    static const word words[] = {{"auto", AUTO}, {"always", ALWAYS}, {"never", NEVER}, {NULL, 0}};
    const char *no = getenv("NO_COLOR");
    int when = AUTO, code = o->color ? choose("--color", o->color, words, &when) : EXIT_OK;
    if (code)
        return -1;
    return when == ALWAYS || (when == AUTO && !o->output && isatty(1) && !(no && *no));
}

static int dtype_wanted(const options *o, sett_dtype *out)
{
    *out = (sett_dtype)0;
    if (!o->dtype)
        return EXIT_OK;
    *out = dtype_of_name(o->dtype);
    for (int id = 1; !*out && sett_dtype_bits((sett_dtype)id); id++)
        if (!strcmp(o->dtype, sett_dtype_name((sett_dtype)id)))
            *out = (sett_dtype)id;
    return *out ? EXIT_OK : dtype_refused(o->dtype);
}

enum { EMIT_TEXT, EMIT_SVG, EMIT_HTML };
static int emit_wanted(const options *o, int *out)
{
    static const word words[] = {{"text", EMIT_TEXT}, {"svg", EMIT_SVG}, {"html", EMIT_HTML}, {NULL, 0}};
    *out = EMIT_TEXT;
    return o->emit ? choose("--emit", o->emit, words, out) : EXIT_OK;
}

static int by_wanted(const options *o, int *out)
{
    static const word words[] = {{"offset", SETT_BY_OFFSET}, {"thread", SETT_BY_THREAD}, {"value", SETT_BY_VALUE},
        {"bank", SETT_BY_BANK}, {NULL, 0}};
    *out = SETT_BY_DEFAULT;
    return o->by ? choose("--by", o->by, words, out) : EXIT_OK;
}

int layout_options(const options *o, sett_picture_args *p, int *emit)
{
    int by = 0, color = 0, code = emit_wanted(o, emit);
    *p = (sett_picture_args){.size = sizeof *p};
    if (!code)
        code = by_wanted(o, &by);
    if (!code && (color = color_wanted(o)) < 0)
        code = EXIT_USAGE;
    if (!code)
        code = dtype_wanted(o, &p->dtype);
    p->by = (sett_color_by)by;
    p->color = color == 1 && *emit == EMIT_TEXT;
    return code;
}

/* ---- pictures ---------------------------------------------------------------------------------------- */
/* Calls whose operands have a picture beside the result. */
static const struct {
    const char *call;
    sett_draw draw;
} linked[] = {
    {"composition", SETT_DRAW_COMPOSITION},
    {"complement", SETT_DRAW_COMPLEMENT},
    {"right_inverse", SETT_DRAW_INVERSE},
    {"left_inverse", SETT_DRAW_INVERSE},
    {"make_swizzled", SETT_DRAW_SWIZZLE},
    {"logical_divide", SETT_DRAW_DIVIDE},
    {"zipped_divide", SETT_DRAW_DIVIDE},
    {"tiled_divide", SETT_DRAW_DIVIDE},
    {"flat_divide", SETT_DRAW_DIVIDE},
    {"logical_product", SETT_DRAW_PRODUCT},
    {"zipped_product", SETT_DRAW_PRODUCT},
    {"tiled_product", SETT_DRAW_PRODUCT},
    {"flat_product", SETT_DRAW_PRODUCT},
    {"blocked_product", SETT_DRAW_PRODUCT},
    {"raked_product", SETT_DRAW_PRODUCT},
    {"coalesce", SETT_DRAW_VIEW},
    {"filter", SETT_DRAW_VIEW},
    {"filter_by", SETT_DRAW_VIEW},
    {"filter_zeros", SETT_DRAW_VIEW},
    {"flatten", SETT_DRAW_VIEW},
    {"group_modes", SETT_DRAW_VIEW},
    {"select", SETT_DRAW_VIEW},
    {"slice", SETT_DRAW_VIEW},
    {"dice", SETT_DRAW_VIEW},
    {"get", SETT_DRAW_VIEW},
    {"tile_to_shape", SETT_DRAW_VIEW},
};

int layout_link(const char *call, const char *text, sett_picture_args *p)
{
    for (size_t i = 0; call && i < sizeof linked / sizeof *linked; i++)
        if (!strcmp(call, linked[i].call)) {
            p->draw = linked[i].draw;
            return EXIT_OK;
        }
    if (!call && !strncmp(text, "S<", 2)) {
        p->draw = SETT_DRAW_SWIZZLE;
        return EXIT_OK;
    }
    return usage("--panels: %s has no operands to draw", call ? call : text);
}

static int draw(const options *o, sett_build *b, const sett_picture_args *p, int emit)
{
    static const char *(*const writers[])(sett_site, const sett_picture_args *) = {
        [EMIT_TEXT] = sett_layout_text_at, [EMIT_SVG] = sett_layout_svg_at, [EMIT_HTML] = sett_layout_html_at};
    const char *why, *text = writers[emit](SETT_HERE, p);
    if (sett_build_status(b, &why))
        return layout_refuse(why);
    return file_write(o->output ? o->output : "-", text, strlen(text));
}

/* ---- facts --------------------------------------------------------------------------------------------- */
static const char *yes(bool b)
{
    return b ? "" : "not ";
}

static void print_access(const sett_cost *f)
{
    printf("%lld thread%s x %lld value%s: %lld access%s of %d element%s (%d byte%s) a thread\n", (long long)f->threads,
        f->threads > 1 ? "s" : "", (long long)f->values, f->values > 1 ? "s" : "", (long long)f->accesses,
        f->accesses > 1 ? "es" : "", f->width, f->width > 1 ? "s" : "", f->width_bytes, f->width_bytes > 1 ? "s" : "");
    printf("alignment: %s\n", f->alignment);
    if (!f->exact) /* what memory makes of dynamic strides is not known yet */
        return;
    printf("global: %lld request%s of up to %d bytes, up to %d sector%s of 32 bytes each (%d would hold its bytes)\n",
        (long long)f->requests, f->requests > 1 ? "s" : "", f->request_bytes, f->sectors, f->sectors > 1 ? "s" : "",
        f->sectors_least);
    printf("shared: %d-way%s\n", f->bank_ways, f->bank_ways > 1 ? " bank conflict" : ", no bank conflict");
}

static void print_coverage(const sett_cost *f, bool tensor)
{
    bool in = f->injective, on = f->surjective;
    printf("%sinjective, %ssurjective, %sbijective onto its %s: %lld of %lld reached, %lld hole%s\n", yes(in), yes(on),
        yes(in && on), tensor ? "tensor" : "cosize", (long long)f->reached, (long long)f->elements,
        (long long)(f->elements - f->reached), f->elements - f->reached == 1 ? "" : "s");
}

static void json_bool(const char *name, bool b)
{
    printf(", \"%s\": %s", name, b ? "true" : "false");
}

static void json_facts(const sett_cost *f, bool access)
{
    printf(", \"threads\": %lld, \"values\": %lld", (long long)f->threads, (long long)f->values);
    if (f->exact) {
        json_bool("injective", f->injective);
        json_bool("surjective", f->surjective);
        json_bool("bijective", f->injective && f->surjective);
        printf(", \"low\": %lld, \"high\": %lld, \"elements\": %lld, \"reached\": %lld", (long long)f->low,
            (long long)f->high, (long long)f->elements, (long long)f->reached);
    }
    if (!access)
        return;
    printf(", \"width\": %d, \"width_bytes\": %d, \"accesses\": %lld, \"alignment\": ", f->width, f->width_bytes,
        (long long)f->accesses);
    json_string(stdout, f->alignment);
    if (!f->exact)
        return;
    printf(", \"requests\": %lld, \"request_bytes\": %d, \"sectors\": %d, \"sectors_least\": %d, \"sectors_all\": %lld",
        (long long)f->requests, f->request_bytes, f->sectors, f->sectors_least, (long long)f->sectors_all);
    printf(", \"bank_ways\": %d", f->bank_ways);
}

static void print_facts(const options *o, const sett_layout *l, const char *text, const sett_cost *f, bool tensor)
{
    char size[64], cosize[64];
    sett_arg_str(sett_size(l), size, sizeof size);
    sett_arg_str(sett_cosize(l), cosize, sizeof cosize);
    if (o->json) {
        fputs("{\"schema_version\": 1, \"layout\": ", stdout), json_string(stdout, text);
        printf(", \"rank\": %d, \"depth\": %d, \"size\": \"%s\", \"cosize\": \"%s\"", sett_rank(l), sett_depth(l), size, cosize);
        if (f)
            json_facts(f, f->width > 0);
        puts("}");
        return;
    }
    puts(text);
    printf("rank %d, depth %d, size %s, cosize %s\n", sett_rank(l), sett_depth(l), size, cosize);
    if (f && f->exact)
        print_coverage(f, tensor);
    if (f && f->width)
        print_access(f);
}

/* Coverage is left out where nobody asked for more and there is none: too many coordinates, or no offsets. */
static int facts(const options *o, sett_build *b, const sett_picture_args *p, const char *text)
{
    sett_arg size = sett_size(p->layout);
    bool countable = size.kind == SETT_INT && size.u.i > 0 && size.u.i <= 1 << 20;
    sett_arg last = countable ? sett_crd2idx(size.u.i - 1, p->layout) : size;
    countable = countable && last.kind == SETT_INT && !last.path;
    const sett_cost *f = NULL;
    const char *why;
    if (countable || p->tensor || p->dtype)
        f = sett_access_cost(p->layout, .tensor = p->tensor, .dtype = p->dtype, .align = o->align);
    if (sett_build_status(b, &why))
        return layout_refuse(why);
    int code = output_open(o);
    if (!code)
        print_facts(o, p->layout, text, f, p->tensor);
    return code;
}

/* ---- results --------------------------------------------------------------------------------------------- */
int layout_print_value(const options *o, sett_arg a)
{
    char text[4096];
    sett_arg_str(a, text, sizeof text);
    int code = output_open(o);
    if (code)
        return code;
    if (o->json)
        fputs("{\"schema_version\": 1, \"value\": ", stdout), json_string(stdout, text), puts("}");
    else
        puts(text);
    return EXIT_OK;
}

/* Is the table of a layout, which nobody asked for by name, of a size to be read? */
static bool small(const sett_layout *l)
{
    sett_arg size = sett_size(l), rows = sett_rank(l) > 1 ? sett_size(sett_get(l, 0)) : SETT_A(1);
    return sett_is_static(l) && size.kind == SETT_INT && rows.kind == SETT_INT && size.u.i > 0 && rows.u.i <= 64 && size.u.i / rows.u.i <= 64;
}

int layout_print(const options *o, sett_build *b, const sett_picture_args *p, int emit, bool picture)
{
    char text[4096];
    sett_layout_str(p->layout, text, sizeof text);
    if (o->facts || o->json)
        return facts(o, b, p, text);
    if (picture || (!o->emit && small(p->layout)))
        return draw(o, b, p, emit);
    int code = output_open(o);
    if (code)
        return code;
    puts(text);
    fflush(stdout);
    if (sett_is_static(p->layout))
        fputs("(tables have at most 64 rows and columns; --emit text prints a larger one, --emit svg -o FILE draws it, --facts "
              "has what can be counted)\n", stderr);
    return EXIT_OK;
}
