/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch must know, as constants of C: the signature, the plan, the cubin. The structs are those of the engine, whose
 * declarations stand in the same file. */
#include "inside.h"
#include <inttypes.h>
#include <string.h>

#define P(...) sett__export_putf(x, &x->source, __VA_ARGS__)

/* A string of C, in pieces that a compiler must take. NULL: NULL. */
static void put_string(sett__export *x, const char *s)
{
    enum { LINE = 100 };
    if (!s) {
        P("NULL");
        return;
    }
    sett__put(&x->source, "\"");
    for (size_t i = 0; s[i]; i++) {
        const unsigned char c = (unsigned char)s[i];
        if (i && i % LINE == 0)
            sett__put(&x->source, "\"\n        \"");
        if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\' || c == '?')
            sett__putf(&x->source, "\\%03o", (unsigned)c);
        else
            sett__put_n(&x->source, s + i, 1);
    }
    sett__put(&x->source, "\"");
}

static void put_number(sett__export *x, int64_t v)
{
    if (v == INT64_MIN)
        P("INT64_MIN");
    else if (v > INT32_MAX || v < -INT32_MAX)
        P("INT64_C(%" PRId64 ")", v);
    else
        P("%" PRId64, v);
}

static void put_expr(sett__export *x, sett__expr e)
{
    P("{%u, %u}", (unsigned)e.first, (unsigned)e.count);
}

static void put_exprs(sett__export *x, const char *before, const sett__expr *e, int n)
{
    P("%s{", before);
    for (int i = 0; i < n; i++) {
        P("%s", i ? ", " : "");
        put_expr(x, e[i]);
    }
    P("}");
}

static unsigned number_at(const unsigned char *at, size_t size)
{
    const void *p = at;
    return size == 1 ? *at : size == 2 ? *(const uint16_t *)p : *(const uint32_t *)p;
}

static void put_member(sett__export *x, const sett__member *f, const void *of)
{
    const unsigned char *at = (const unsigned char *)of + f->at;
    P(", .%s = ", f->name);
    if (!f->size)
        put_exprs(x, "", (const sett__expr *)(const void *)at, f->n);
    else if (f->n == 1)
        P("%u", number_at(at, f->size));
    for (int k = 0; f->size && f->n > 1 && k < f->n; k++)
        P("%s%u%s", k ? ", " : "{", number_at(at + k * f->size, f->size), k + 1 < f->n ? "" : "}");
}

/* ---- the signature ----------------------------------------------------------------------------------------------- */
static void put_symbols(sett__export *x, const sett__sig *s)
{
    P("    .n_sym = %u, .n_derived = %u, .sym = (sett__symbol[]){\n", (unsigned)s->n_sym, (unsigned)s->n_derived);
    for (uint32_t i = 0; i < s->n_sym; i++) {
        P("        {.name = ");
        put_string(x, s->sym[i].name);
        P(", .div = ");
        put_number(x, s->sym[i].div);
        P(", .wide = %d, .value = ", s->sym[i].wide);
        put_expr(x, s->sym[i].value);
        P("},\n");
    }
    P("    },\n");
}

static void put_params(sett__export *x, const sett__sig *s)
{
    P("    .n_param = %u, .param = (sett__param[]){\n", (unsigned)s->n_param);
    for (uint32_t i = 0; i < s->n_param; i++) {
        const sett__param *p = &s->param[i];
        P("        {.name = ");
        put_string(x, p->name);
        P(", .scalar = %d, .dtype = %d", p->scalar, p->dtype);
        for (const sett__member *f = sett__param_options; f->name; f++)
            put_member(x, f, p);
        P(", .align = %u, .rank = %d, .leaf = %u, .n_leaf = %u, .bytes = %u},\n", (unsigned)p->align, p->rank, (unsigned)p->leaf, (unsigned)p->n_leaf, (unsigned)p->bytes);
    }
    P("    },\n");
}

static void put_leaves(sett__export *x, const sett__sig *s)
{
    P("    .n_leaf = %u, .leaf = (sett__leaf[]){\n", (unsigned)s->n_leaf);
    for (uint32_t i = 0; i < s->n_leaf; i++) {
        P("        {%d, ", s->leaf[i].mode);
        put_expr(x, s->leaf[i].extent);
        P(", ");
        put_expr(x, s->leaf[i].stride);
        P("},\n");
    }
    P("    },\n");
}

static void put_code(sett__export *x, const sett__sig *s)
{
    P("    .n_code = %u, .code = (sett__xop[]){", (unsigned)s->n_code);
    for (uint32_t i = 0; i < s->n_code; i++) {
        P("%s{%d, ", i % 12 ? ", " : i ? ",\n        " : "\n        ", s->code[i].code);
        put_number(x, s->code[i].imm);
        P("}");
    }
    P("},\n");
}

static void put_checks(sett__export *x, const sett__sig *s)
{
    P("    .n_check = %u, .check = (sett__check[]){\n", (unsigned)s->n_check);
    for (uint32_t i = 0; i < s->n_check; i++) {
        P("        {");
        put_expr(x, s->check[i].expr);
        P(", ");
        put_string(x, s->check[i].text);
        P(", ");
        put_string(x, s->check[i].file);
        P(", %u},\n", (unsigned)s->check[i].line);
    }
    P("    },\n");
}

static void put_claims(sett__export *x, const sett__sig *s)
{
    P("    .n_claim = %u, .claim = (sett__claim[]){\n", (unsigned)s->n_claim);
    for (uint32_t i = 0; i < s->n_claim; i++) {
        const sett__claim *k = &s->claim[i];
        P("        {");
        put_string(x, k->text);
        P(", ");
        put_string(x, k->file);
        P(", ");
        put_string(x, k->types);
        P(", %u, %u},\n", (unsigned)k->line, (unsigned)k->op);
    }
    P("    },\n");
}

static void put_maps(sett__export *x, const sett__sig *s)
{
    P("    .n_map = %u, .map = (sett__map[]){\n", (unsigned)s->n_map);
    for (uint32_t i = 0; i < s->n_map; i++) {
        const sett__map *m = &s->map[i];
        P("        {.name = ");
        put_string(x, m->name);
        for (const sett__member *f = sett__map_members; f->name; f++)
            put_member(x, f, m);
        P("},\n");
    }
    P("    },\n");
}

/* An array of none is none. */
static void put_signature(sett__export *x, int i, const sett__sig *s)
{
    const struct {
        uint32_t n;
        void (*put)(sett__export *, const sett__sig *);
    } arrays[] = {{s->n_sym, put_symbols}, {s->n_param, put_params}, {s->n_leaf, put_leaves}, {s->n_code, put_code}, {s->n_check, put_checks},
        {s->n_claim, put_claims}, {s->n_map, put_maps}};
    P("static const sett__sig sig_%d = {\n", i);
    for (size_t k = 0; k < SETT__COUNT(arrays); k++)
        if (arrays[k].n)
            arrays[k].put(x, s);
    put_exprs(x, "    .grid = ", s->grid, 3);
    put_exprs(x, ", .block = ", s->block, 3);
    put_exprs(x, ", .cluster = ", s->cluster, 3);
    P(",\n    .smem = %u, .smem_align = %u, .smem_more = ", (unsigned)s->smem, (unsigned)s->smem_align);
    put_expr(x, s->smem_more);
    P(", .cooperative = %d, .big_cluster = %d, .early = %d,\n};\n", s->cooperative, s->big_cluster, s->early);
}

/* ---- the plan ------------------------------------------------------------------------------------------------------ */
static void put_plan_arrays(sett__export *x, const sett__plan *p)
{
    if (p->n_arg)
        P("    {\n");
    for (uint32_t i = 0; i < p->n_arg; i++) {
        const sett__arg_plan *a = &sett__plan_args(p)[i];
        P("        {%d, %d, %d, %d, %u, %u},\n", a->dtype, a->rank, a->reach, a->align, (unsigned)a->bytes, (unsigned)a->at);
    }
    if (p->n_arg)
        P("    },\n");
    if (p->n_all_sym)
        P("    {\n");
    for (uint32_t i = 0; i < p->n_all_sym; i++) {
        const sett__sym_plan *y = &sett__plan_syms(p)[i];
        P("        {%u, %u, %d, %d, %d, %uu},\n", (unsigned)y->from, (unsigned)y->at, y->bits, y->odd, y->only, (unsigned)y->mask);
    }
    if (p->n_all_sym)
        P("    },\n");
    if (p->n_mode)
        P("    {");
    for (uint32_t i = 0; i < p->n_mode; i++)
        P("%s{%u, %u}", i ? ", " : "", (unsigned)sett__plan_modes(p)[i].extent, (unsigned)sett__plan_modes(p)[i].stride);
    if (p->n_mode)
        P("},\n");
    if (p->n_dim)
        P("    {\n");
    for (uint32_t i = 0; i < p->n_dim; i++) {
        const sett__dim_plan *d = &sett__plan_dims(p)[i];
        P("        {%d, %d, %u, %u, %u, %u},\n", d->slot, d->form, (unsigned)d->sym, (unsigned)d->by, (unsigned)d->least, (unsigned)d->most);
    }
    if (p->n_dim)
        P("    },\n");
    if (p->n_place)
        P("    {");
    for (uint32_t i = 0; i < p->n_place; i++)
        P("%s%u", i ? ", " : "", (unsigned)sett__plan_places(p)[i]);
    if (p->n_place)
        P("},\n");
}

static void put_three(sett__export *x, const uint32_t v[3])
{
    P("{%u, %u, %u}", (unsigned)v[0], (unsigned)v[1], (unsigned)v[2]);
}

/* One object, as sett__plan_make lays it out. */
static void put_plan(sett__export *x, int i)
{
    const sett__plan *p = x->item[i].kernel->plan;
    const struct {
        unsigned n;
        const char *type, *name;
    } arrays[] = {{p->n_arg, "arg", "arg"}, {p->n_all_sym, "sym", "sym"}, {p->n_mode, "mode", "mode"}, {p->n_dim, "dim", "dim"}};
    P("static const struct {\n    sett__plan plan;\n");
    for (size_t k = 0; k < SETT__COUNT(arrays); k++)
        if (arrays[k].n)
            P("    sett__%s_plan %s[%u];\n", arrays[k].type, arrays[k].name, arrays[k].n);
    if (p->n_place)
        P("    uint16_t place[%u];\n", (unsigned)p->n_place);
    P("} plan_%d = {\n    {.sig = &sig_%d, .name = \"%s\", .n_arg = %u, .n_sym = %u, .n_all_sym = %u, .n_mode = %u, .n_dim = %u, .params_len = %u,\n", i, i,
        x->item[i].function, (unsigned)p->n_arg, (unsigned)p->n_sym, (unsigned)p->n_all_sym, (unsigned)p->n_mode, (unsigned)p->n_dim, (unsigned)p->params_len);
    P("        .gaps = %d, .more = %d, .n_map = %d, .map_at = %u, .n_place = %u, .dims = {", p->gaps, p->more, p->n_map, (unsigned)p->map_at, (unsigned)p->n_place);
    put_three(x, p->dims.grid);
    P(", ");
    put_three(x, p->dims.block);
    P(", ");
    put_three(x, p->dims.cluster);
    P(", %u}},\n", (unsigned)p->dims.smem);
    put_plan_arrays(x, p);
    P("};\n");
}

/* ---- the cubin ------------------------------------------------------------------------------------------------------- */
static void put_cubin(sett__export *x, int i)
{
    const sett_kernel *k = x->item[i].kernel;
    const unsigned char *at = sett__kernel_cubin(k);
    P("static const unsigned char cubin_%d[%u] = {", i, (unsigned)k->rest->cubin_len);
    for (uint32_t b = 0; b < k->rest->cubin_len; b++) {
        char digits[16];
        snprintf(digits, sizeof digits, b % 32 ? "%u," : "\n    %u,", at[b]);
        sett__put(&x->source, digits);
    }
    P("\n};\n");
}

void sett__export_data(sett__export *x, int i)
{
    P("\n/* ---- %s for %s ---- */\n", x->item[i].function, sett__meta_of(x->item[i].kernel)->target);
    put_signature(x, i, sett__export_sig(x, i));
    put_plan(x, i);
    put_cubin(x, i);
}
