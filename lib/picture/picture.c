/* SPDX-License-Identifier: Apache-2.0 */
/* What a picture shows, before anybody draws it: panels of cells, each with its offset, owner, bank, colour, and the key
 * of the element that it is. svg.c, text.c and html.c write it. */
#include "picture.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 65536 }; /* cells of one panel */

typedef struct drawing {
    sett__ctx c;
    sett_picture_args a;
    sett__picture *p;
} drawing;

static bool given(sett_arg a)
{
    return a.kind != SETT_INT || a.u.i;
}

/* ---- panels ------------------------------------------------------------------------------------ */
static bool extent_of(sett_arg shape, int64_t *n)
{
    sett_arg size = sett_size_arg(shape);
    *n = size.kind == SETT_INT ? size.u.i : 0;
    return size.kind == SETT_INT;
}

/* Rows and columns of a shape: rank 1 is one row, and what follows mode 0 is the columns. */
static bool set_extents(const drawing *d, sett__panel *panel, sett_arg shape)
{
    const sett__ctx *c = &d->c;
    panel->row_shape = sett_arg_i(1);
    panel->col_shape = shape;
    if (shape.kind == SETT_NODE && shape.rank == 1)
        panel->col_shape = shape.u.kid[0];
    panel->rank = sett__arity(shape);
    if (panel->rank > 1) {
        panel->row_shape = shape.u.kid[0];
        panel->col_shape = shape.rank == 2 ? shape.u.kid[1] : sett_arg_n(shape.rank - 1, shape.u.kid + 1);
    }
    bool known = extent_of(panel->row_shape, &panel->rows) && extent_of(panel->col_shape, &panel->cols);
    SETT__FAIL_IF(c->b, c->site, c->func, !known, false, SETT_E_RANGE, "%s has no size", sett__arg_text(c->b, shape));
    bool fits = panel->rows > 0 && panel->cols > 0 && panel->rows <= MOST / panel->cols;
    SETT__FAIL_IF(c->b, c->site, c->func, !fits, false, SETT_E_LIMIT, "%s: %" PRId64 " x %" PRId64 " cells, at most %d",
        panel->text, panel->rows, panel->cols, MOST);
    panel->cell = sett__new(c->b, (size_t)(panel->rows * panel->cols) * sizeof *panel->cell);
    return panel->cell != NULL;
}

static int64_t cell_count(const sett__panel *panel)
{
    return panel->rows * panel->cols;
}

static sett__panel *panel_new(const drawing *d, const char *name, sett_arg shape, const char *text)
{
    sett__panel *panel = &d->p->panel[d->p->n];
    panel->name = name;
    panel->text = text;
    if (!set_extents(d, panel, shape))
        return NULL;
    d->p->n++;
    return panel;
}

static int8_t color_of_number(int64_t number)
{
    return (int8_t)((uint64_t)number & 7);
}

/* FNV-1a of what a cell says: equal coordinates are one element. */
static int64_t key_of_name(const char *name)
{
    uint64_t h = 14695981039346656037u;
    for (; *name; name++)
        h = (h ^ (unsigned char)*name) * 1099511628211u;
    return (int64_t)(h >> 1);
}

/* Coordinates of an identity layout, where a number stands otherwise. */
static bool fill_names(const drawing *d, const sett_layout *l, sett__panel *panel)
{
    for (int64_t i = 0; i < cell_count(panel); i++) {
        sett_arg at = sett__layout_at(&d->c, l, sett_arg_i(i));
        if (sett__is_poison(at))
            return false;
        panel->cell[i] = (sett__cell){.offset = -1, .thread = -1, .bank = -1, .color = color_of_number(i)};
        panel->cell[i].name = sett__arg_text(d->c.b, at);
        panel->cell[i].key = key_of_name(panel->cell[i].name);
    }
    return true;
}

/* A panel of a layout's offsets; NULL: the build has failed. */
static sett__panel *add_offsets(const drawing *d, const char *name, const sett_layout *l)
{
    const sett__ctx *c = &d->c;
    const char *text = sett__layout_text(c->b, l);
    SETT__FAIL_IF(c->b, c->site, c->func, !sett__all_static(l), NULL, SETT_E_STATIC,
        "%s is dynamic: there is no picture of it", text);
    sett__panel *panel = panel_new(d, name, l->shape, text);
    if (!panel)
        return NULL;
    if (sett__gives_coordinates(l))
        return fill_names(d, l, panel) ? panel : NULL;
    int64_t *offset = sett__new(c->b, (size_t)cell_count(panel) * sizeof *offset);
    if (!offset || !sett__offsets(c, l, cell_count(panel), offset))
        return NULL;
    for (int64_t i = 0; i < cell_count(panel); i++) {
        sett__cell cell = {.offset = offset[i], .key = offset[i], .thread = -1, .bank = -1, .color = color_of_number(offset[i])};
        panel->cell[i] = cell;
    }
    return panel;
}

/* ---- keys and colours ----------------------------------------------------------------------------- */
typedef struct group_of {
    int64_t key;
    int64_t group;
} group_of;

static int compare_groups(const void *x, const void *y)
{
    const group_of *a = x, *b = y;
    return a->key != b->key ? (a->key > b->key) - (a->key < b->key) : (a->group > b->group) - (a->group < b->group);
}

/* The group of a key in a sorted list, or -1. Of several the least. */
static int64_t find_group(const group_of *list, int64_t n, int64_t key)
{
    int64_t low = 0, high = n;
    while (low < high) {
        int64_t mid = low + (high - low) / 2;
        if (list[mid].key < key)
            low = mid + 1;
        else
            high = mid;
    }
    return low < n && list[low].key == key ? list[low].group : -1;
}

/* Every cell's key, with its index, or its column, as the group. */
static group_of *groups_by_key(const drawing *d, const sett__panel *panel, bool by_column)
{
    int64_t n = cell_count(panel);
    group_of *list = sett__new(d->c.b, (size_t)n * sizeof *list);
    if (!list)
        return NULL;
    for (int64_t i = 0; i < n; i++)
        list[i] = (group_of){panel->cell[i].key, by_column ? i / panel->rows : i};
    qsort(list, (size_t)n, sizeof *list, compare_groups);
    return list;
}

/* Colours n panels by where in `by` the same element is: its column, or its index. What is not there fades. */
static bool color_by(const drawing *d, const sett__panel *by, bool by_column, int n, sett__panel *const *panel)
{
    group_of *list = groups_by_key(d, by, by_column);
    for (int k = 0; list && k < n; k++)
        for (int64_t i = 0; i < cell_count(panel[k]); i++) {
            int64_t group = find_group(list, cell_count(by), panel[k]->cell[i].key);
            panel[k]->cell[i].color = group < 0 ? SETT__DIM : color_of_number(group);
        }
    return list != NULL;
}
#define COLOR_BY(d, by, by_column, ...) \
    color_by(d, by, by_column, sizeof((sett__panel *[]){__VA_ARGS__}) / sizeof(sett__panel *), (sett__panel *[]){__VA_ARGS__})

static int element_bits(const drawing *d)
{
    return d->a.dtype == SETT_BOOL ? 8 : sett_dtype_bits(d->a.dtype); /* a Boolean is stored as a byte */
}

static void set_banks(const drawing *d, sett__panel *panel)
{
    int64_t bits = element_bits(d);
    for (int64_t i = 0; i < cell_count(panel); i++) {
        sett__cell *cell = &panel->cell[i];
        if (cell->offset < 0 || cell->offset > INT64_MAX / 128)
            continue;
        cell->bank = (int8_t)(cell->offset * bits / 32 % 32);
        if (cell->color != SETT__DIM)
            cell->color = color_of_number(cell->bank / 4);
    }
}

static void set_note(const drawing *d, const char *format, ...) SETT_PRINTF(2, 3);
static void set_note(const drawing *d, const char *format, ...)
{
    char text[160];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    const char *kept = sett__arena_str(&d->c.b->arena, text);
    d->p->note = kept ? kept : "";
}

static void note_banks(const drawing *d)
{
    set_note(d, "b: shared-memory bank of 4 bytes, elements of %d bits (%s); colour: four banks", element_bits(d),
        sett_dtype_name(d->a.dtype));
}

/* ---- the tile of a TV layout -------------------------------------------------------------------- */
static bool isolated(sett_arg only, int64_t thread, int64_t value)
{
    const int64_t at[2] = {thread, value};
    for (int i = 0; only.kind == SETT_NODE && i < 2; i++)
        if (only.u.kid[i].kind == SETT_INT && only.u.kid[i].u.i != at[i])
            return false;
    return true;
}

static bool check_isolate(const drawing *d, int64_t threads, int64_t values)
{
    const sett__ctx *c = &d->c;
    const int64_t most[2] = {threads, values};
    sett_arg only = d->a.isolate;
    bool ok = !given(only) || (only.kind == SETT_NODE && only.rank == 2);
    for (int i = 0; ok && given(only) && i < 2; i++) {
        sett_arg x = only.u.kid[i];
        ok = x.kind == SETT_SLICE || (x.kind == SETT_INT && x.u.i >= 0 && x.u.i < most[i]);
    }
    SETT__FAIL_IF(c->b, c->site, c->func, !ok, false, SETT_E_ARGUMENT,
        "isolate %s: (thread,value) or `_` of %" PRId64 " threads and %" PRId64 " values is needed",
        sett__arg_text(c->b, only), threads, values);
    return true;
}

/* Where the tile's elements lie: their offsets in the tensor, or their places in the tile. */
static bool fill_tile(const drawing *d, sett__panel *panel)
{
    const sett__ctx *c = &d->c;
    const sett_layout *tensor = d->a.tensor;
    int64_t n = cell_count(panel), size = 0, *offset = sett__new(c->b, (size_t)n * sizeof *offset);
    if (!offset)
        return false;
    for (int64_t i = 0; i < n; i++)
        offset[i] = i;
    if (tensor) {
        const char *text = sett__layout_text(c->b, tensor);
        SETT__FAIL_IF(c->b, c->site, c->func, !sett__all_static(tensor), false, SETT_E_STATIC,
            "%s is dynamic: there is no picture of it", text);
        SETT__FAIL_IF(c->b, c->site, c->func, !extent_of(tensor->shape, &size) || size != n, false, SETT_E_SHAPE,
            "the tensor %s has %" PRId64 " elements, the tile %s has %" PRId64, text, size,
            sett__arg_text(c->b, d->a.tiler), n);
        if (!sett__offsets(c, tensor, n, offset))
            return false;
    }
    for (int64_t i = 0; i < n; i++)
        panel->cell[i] =
            (sett__cell){.offset = offset[i], .key = offset[i], .thread = -1, .bank = -1, .color = SETT__DIM};
    return true;
}

static int8_t owner_color(const drawing *d, int64_t thread, int64_t value)
{
    if (!isolated(d->a.isolate, thread, value))
        return SETT__DIM;
    return color_of_number(d->a.by == SETT_BY_VALUE ? value : thread);
}

/* (thread, value) of every element: who comes first is shown, and how many others there are. */
static bool fill_owners(const drawing *d, sett__panel *panel, int64_t threads, int64_t values)
{
    const sett__ctx *c = &d->c;
    int64_t n = cell_count(panel), *at = sett__new(c->b, (size_t)(threads * values) * sizeof *at);
    if (!at || !sett__offsets(c, d->a.layout, threads * values, at))
        return false;
    for (int64_t i = 0; i < threads * values; i++) {
        int64_t t = i % threads, v = i / threads;
        SETT__FAIL_IF(c->b, c->site, c->func, at[i] < 0 || at[i] >= n, false, SETT_E_SHAPE,
            "%s: thread %" PRId64 ", value %" PRId64 " is element %" PRId64 " of the tile %s, which has %" PRId64,
            panel->text, t, v, at[i], sett__arg_text(c->b, d->a.tiler), n);
        sett__cell *cell = &panel->cell[at[i]];
        bool shown = cell->thread < 0;
        cell->more += !shown;
        /* An isolated owner is shown before those who are not. */
        if (shown || (cell->color == SETT__DIM && isolated(d->a.isolate, t, v))) {
            cell->thread = (int32_t)t, cell->value = (int32_t)v;
            cell->color = owner_color(d, t, v);
        }
    }
    return true;
}

static bool add_owners(const drawing *d)
{
    static const char *const by_name[] = {"thread", "offset", "thread", "value", ""};
    const sett__ctx *c = &d->c;
    const sett_layout *tv = d->a.layout;
    const char *text = sett__layout_text(c->b, tv);
    int64_t threads = 0, values = 0;
    SETT__FAIL_IF(c->b, c->site, c->func, !sett__all_static(tv), false, SETT_E_STATIC,
        "%s is dynamic: there is no picture of it", text);
    bool pair = tv->shape.kind == SETT_NODE && tv->shape.rank == 2 && extent_of(tv->shape.u.kid[0], &threads) &&
                extent_of(tv->shape.u.kid[1], &values);
    SETT__FAIL_IF(c->b, c->site, c->func, !pair, false, SETT_E_RANK,
        "%s: a TV layout has two modes, (thread,value)", text);
    SETT__FAIL_IF(c->b, c->site, c->func, threads < 1 || values < 1 || threads > MOST / values, false, SETT_E_LIMIT,
        "%s: %" PRId64 " threads x %" PRId64 " values, at most %d", text, threads, values, MOST);
    if (!check_isolate(d, threads, values))
        return false;
    sett__panel *panel = panel_new(d, NULL, d->a.tiler, text);
    if (!panel || !fill_tile(d, panel) || !fill_owners(d, panel, threads, values))
        return false;
    d->p->owners = true;
    if (d->a.by == SETT_BY_BANK)
        set_banks(d, panel);
    for (int64_t i = 0; d->a.by == SETT_BY_OFFSET && i < cell_count(panel); i++)
        if (panel->cell[i].color != SETT__DIM)
            panel->cell[i].color = color_of_number(panel->cell[i].offset);
    if (d->a.by == SETT_BY_BANK)
        set_note(d, "T: thread, V: value; colour: four banks of 4 bytes, elements of %d bits", element_bits(d));
    else
        set_note(d, "T: thread, V: value; colour: %s modulo 8", by_name[d->a.by]);
    return true;
}

/* ---- one kind each --------------------------------------------------------------------------------- */
static bool draw_layout(const drawing *d)
{
    if (given(d->a.tiler))
        return add_owners(d);
    sett__panel *panel = add_offsets(d, NULL, d->a.layout);
    if (panel && d->a.by == SETT_BY_BANK) {
        set_banks(d, panel);
        note_banks(d);
    }
    return panel != NULL;
}

/* The same coordinate is the same element: what moves is where it lies. */
static void key_by_index(sett__panel *panel)
{
    for (int64_t i = 0; i < cell_count(panel); i++)
        panel->cell[i].key = i;
}

static bool draw_swizzle(const drawing *d)
{
    const sett__ctx *c = &d->c;
    const sett_layout *l = d->a.layout;
    SETT__FAIL_IF(c->b, c->site, c->func, l->has_inner != 1, false, SETT_E_ARGUMENT, "%s has no swizzle",
        sett__layout_text(c->b, l));
    const sett_layout *outer = sett__layout(c->b, l->shape, l->stride);
    if (!add_offsets(d, "before", outer) || !add_offsets(d, "after", l))
        return false;
    for (int i = 0; i < 2; i++) {
        key_by_index(&d->p->panel[i]);
        set_banks(d, &d->p->panel[i]);
    }
    note_banks(d);
    return true;
}

static bool draw_diff(const drawing *d)
{
    const sett__ctx *c = &d->c;
    const sett__panel *a = add_offsets(d, "A", d->a.a), *b = a ? add_offsets(d, "B", d->a.layout) : NULL;
    int64_t different = 0;
    if (!b)
        return false;
    SETT__FAIL_IF(c->b, c->site, c->func, a->rows != b->rows || a->cols != b->cols, false, SETT_E_SHAPE,
        "%s and %s: %" PRId64 " x %" PRId64 " cells and %" PRId64 " x %" PRId64 " have no difference to show", a->text,
        b->text, a->rows, a->cols, b->rows, b->cols);
    for (int64_t i = 0; i < cell_count(a); i++) {
        sett__cell *x = &a->cell[i], *y = &b->cell[i];
        bool same = x->name && y->name ? !strcmp(x->name, y->name) : x->offset == y->offset && !x->name && !y->name;
        x->key = y->key = i;
        x->color = same ? SETT__DIM : 1;
        y->color = same ? SETT__DIM : 0;
        different += !same;
    }
    set_note(d, "%" PRId64 " of %" PRId64 " cells differ", different, cell_count(a));
    return true;
}

static bool draw_view(const drawing *d)
{
    sett__panel *a = add_offsets(d, "A", d->a.a), *r = a ? add_offsets(d, "result", d->a.layout) : NULL;
    set_note(d, "colour: index in the result, modulo 8; grey is not in it");
    return r && COLOR_BY(d, r, false, a, r);
}

/* b as a layout into the coordinates of a; a tuple of modes takes a's own extents. NULL: none to draw. */
static const sett_layout *operand(const drawing *d)
{
    sett_arg b = d->a.b;
    if (b.kind == SETT_LAYOUT)
        return b.u.l;
    if (b.kind == SETT_INT)
        return sett__layout(d->c.b, b, sett_arg_i(1));
    const sett_layout *index = sett__layout(d->c.b, d->a.a->shape, sett__compact(&d->c, d->a.a->shape, sett_arg_i(1), NULL));
    return sett__compose(&d->c, index, b);
}

/* Element b(i) of a lies at offset(i): where `through` has its cell i. */
static void key_through(sett__panel *b, const sett__panel *through)
{
    for (int64_t i = 0; i < cell_count(b) && i < cell_count(through); i++)
        b->cell[i].key = through->cell[i].key;
}

static bool draw_composition(const drawing *d)
{
    const sett_layout *with = operand(d);
    sett__panel *a = add_offsets(d, "A", d->a.a), *b = a ? add_offsets(d, "B", with) : NULL;
    sett__panel *r = b ? add_offsets(d, "A o B", d->a.layout) : NULL;
    if (!r)
        return false;
    key_through(b, r);
    set_note(d, "B says which index of A, and A o B the offset there; colour: index in A o B, modulo 8");
    return COLOR_BY(d, r, false, a, b, r);
}

/* Inside a tile, which tile: a panel that is not shown, for its columns. */
static bool add_hidden(const drawing *d, const sett_layout *l, sett__panel *out)
{
    sett__panel *panel = add_offsets(d, NULL, l);
    if (!panel)
        return false;
    *out = *panel;
    d->p->n--;
    return true;
}

static bool draw_divide(const drawing *d)
{
    const sett__ctx *c = &d->c;
    sett__panel tiles = {0};
    const sett_layout *tile = operand(d), *zipped = sett__zip_tiles(c, sett__logical_divide(c, d->a.a, d->a.b), d->a.b);
    sett__panel *a = add_offsets(d, "A", d->a.a), *b = a ? add_offsets(d, "tile", tile) : NULL;
    sett__panel *r = b ? add_offsets(d, "result", d->a.layout) : NULL;
    if (!r || !add_hidden(d, zipped, &tiles))
        return false;
    key_through(b, &tiles);
    set_note(d, "the tile says which indices of A; colour: which tile, modulo 8");
    return COLOR_BY(d, &tiles, true, a, b, r);
}

/* Copy j of the block begins at row 0 of column j. */
static void key_by_copy(sett__panel *b, const sett__panel *copies)
{
    for (int64_t j = 0; j < cell_count(b) && j < copies->cols; j++) {
        b->cell[j].key = copies->cell[j * copies->rows].key;
        b->cell[j].color = color_of_number(j);
    }
}

static bool draw_product(const drawing *d)
{
    const sett__ctx *c = &d->c;
    sett__panel copies = {0};
    sett_arg by = d->a.b;
    SETT__FAIL_IF(c->b, c->site, c->func, by.kind != SETT_LAYOUT && !sett__is_static(by), false, SETT_E_ARGUMENT,
        "%s: a picture of a product takes a layout or a static shape", sett__arg_text(c->b, by));
    const sett_layout *with = by.kind == SETT_LAYOUT ? by.u.l : sett__make(c, by, SETT_ALL);
    const sett_layout *pair = sett__zip_tiles(c, sett__logical_product(c, d->a.a, by), by);
    sett__panel *a = add_offsets(d, "A", d->a.a), *b = a ? add_offsets(d, "B", with) : NULL;
    sett__panel *r = b ? add_offsets(d, "result", d->a.layout) : NULL;
    if (!r || !add_hidden(d, pair, &copies))
        return false;
    key_by_copy(b, &copies);
    set_note(d, "one copy of A for each cell of B; colour: which copy, modulo 8");
    return COLOR_BY(d, &copies, true, a, r);
}

static bool draw_complement(const drawing *d)
{
    const sett__ctx *c = &d->c;
    sett_layout *both[2] = {sett__layout(c->b, d->a.a->shape, d->a.a->stride), (sett_layout *)(uintptr_t)d->a.layout};
    sett__panel *a = add_offsets(d, "A", d->a.a), *r = a ? add_offsets(d, "complement", d->a.layout) : NULL;
    sett__panel *all = r ? add_offsets(d, "(A, complement)", sett__join(c, 2, both)) : NULL;
    set_note(d, "together they meet every offset once; colour: which element of the complement, modulo 8");
    return all && COLOR_BY(d, all, true, a, r, all);
}

static bool draw_inverse(const drawing *d)
{
    sett__panel *a = add_offsets(d, "A", d->a.a), *r = a ? add_offsets(d, "inverse", d->a.layout) : NULL;
    if (!r)
        return false;
    key_by_index(r);
    set_note(d, "the inverse has, at an offset, the index of A that maps to it; colour: offset modulo 8");
    if (!COLOR_BY(d, r, false, a) || !COLOR_BY(d, a, false, r))
        return false;
    for (int64_t i = 0; i < cell_count(r); i++)
        r->cell[i].color = r->cell[i].color == SETT__DIM ? SETT__DIM : color_of_number(i);
    return true;
}

/* ---- the public calls' common part -------------------------------------------------------------------- */
static const struct {
    bool (*draw)(const drawing *);
    bool a, b;
} kinds[] = {
    [SETT_DRAW_LAYOUT] = {draw_layout, false, false},
    [SETT_DRAW_SWIZZLE] = {draw_swizzle, false, false},
    [SETT_DRAW_DIFF] = {draw_diff, true, false},
    [SETT_DRAW_VIEW] = {draw_view, true, false},
    [SETT_DRAW_COMPOSITION] = {draw_composition, true, true},
    [SETT_DRAW_DIVIDE] = {draw_divide, true, true},
    [SETT_DRAW_PRODUCT] = {draw_product, true, true},
    [SETT_DRAW_COMPLEMENT] = {draw_complement, true, false},
    [SETT_DRAW_INVERSE] = {draw_inverse, true, false},
};

static bool check_operands(const drawing *d)
{
    const sett__ctx *c = &d->c;
    const sett_picture_args *a = &d->a;
    const sett_arg args[] = {a->tiler, a->isolate, a->b};
    SETT__FAIL_IF(c->b, c->site, c->func, (unsigned)a->draw >= SETT__COUNT(kinds), false, SETT_E_ARGUMENT,
        "draw %d is no kind of picture", a->draw);
    SETT__FAIL_IF(c->b, c->site, c->func, (unsigned)a->by > SETT_BY_BANK, false, SETT_E_ARGUMENT, "by %d is no colouring",
        a->by);
    SETT__FAIL_IF(c->b, c->site, c->func, !sett_dtype_bits(a->dtype), false, SETT_E_DTYPE, "%d is no element type", a->dtype);
    SETT__FAIL_IF(c->b, c->site, c->func, (kinds[a->draw].a && !a->a) || (kinds[a->draw].b && !given(a->b)), false,
        SETT_E_ARGUMENT, "this picture needs the operand %s", kinds[a->draw].a && !a->a ? "a" : "b");
    bool owners = a->draw == SETT_DRAW_LAYOUT && given(a->tiler);
    bool asks = a->by == SETT_BY_THREAD || a->by == SETT_BY_VALUE || given(a->isolate) || a->tensor;
    SETT__FAIL_IF(c->b, c->site, c->func, !owners && asks, false, SETT_E_ARGUMENT,
        "threads, values and a tensor are those of a TV layout over a tiler, which is not given");
    bool colored = a->draw == SETT_DRAW_LAYOUT || !a->by || (a->draw == SETT_DRAW_SWIZZLE && a->by == SETT_BY_BANK);
    SETT__FAIL_IF(c->b, c->site, c->func, !colored, false, SETT_E_ARGUMENT,
        "the colours of a picture of several panels say what is the same element; they have no choice of by");
    for (size_t i = 0; i < SETT__COUNT(args); i++)
        if (!sett__use_arg(c->b, c->site, c->func, args[i]))
            return false;
    return (!a->a || sett__use_layout(c->b, c->site, c->func, a->a)) &&
           (!a->tensor || sett__use_layout(c->b, c->site, c->func, a->tensor));
}

bool sett__picture_make(const sett__ctx *c, const sett_picture_args *args, sett__picture *p)
{
    drawing d = {*c, {0}, p};
    memset(p, 0, sizeof *p);
    if (!sett__take_args(c, &d.a, sizeof d.a, args))
        return false;
    if (!d.a.dtype)
        d.a.dtype = SETT_F32;
    p->note = "";
    p->color = d.a.color;
    return check_operands(&d) && kinds[d.a.draw].draw(&d) && !c->b->error.status;
}

/* The build of a picture's layout; NULL: none, or it has failed. */
const char *sett__picture_written(sett_site site, const char *func, const sett_picture_args *a,
    void (*put)(sett__sink *, const sett__ctx *, const sett__picture *))
{
    const bool lives = a && sett__use_layout(NULL, site, func, a->layout);
    const sett__ctx c = {lives ? a->layout->head.b : NULL, site, func};
    sett__picture p;
    if (!c.b || !sett__picture_make(&c, a, &p))
        return "";
    sett__sink s = {.mem = c.b->mem, .grow = true};
    put(&s, &c, &p);
    const char *kept = s.failed || c.b->error.status ? NULL : s.buf ? sett__arena_str(&c.b->arena, s.buf) : "";
    sett__mem_free(s.mem, s.buf);
    if (!kept && !c.b->error.status)
        sett__fail(c.b, (sett_site){0}, NULL, SETT_E_MEMORY, "out of memory");
    return kept ? kept : "";
}

/* ---- what a cell says ------------------------------------------------------------------------------- */
int sett__cell_lines(const sett__picture *p, const sett__cell *cell, char line[2][SETT__CELL_TEXT])
{
    if (p->owners) {
        if (cell->thread < 0)
            return 0;
        snprintf(line[0], SETT__CELL_TEXT, "T%d%s", cell->thread, cell->more ? "+" : "");
        snprintf(line[1], SETT__CELL_TEXT, "V%d", cell->value);
        return 2;
    }
    if (cell->name)
        snprintf(line[0], SETT__CELL_TEXT, "%s", cell->name);
    else
        snprintf(line[0], SETT__CELL_TEXT, "%" PRId64, cell->offset);
    if (cell->bank < 0)
        return 1;
    snprintf(line[1], SETT__CELL_TEXT, "b%d", cell->bank);
    return 2;
}

int sett__edge(sett_arg shape, int64_t i)
{
    sett_arg leaf[SETT__MAX_LEAVES];
    int level = 0, n = sett__leaves(shape);
    int64_t size = 1;
    if (n > SETT__MAX_LEAVES || !i)
        return 0;
    sett__flat(shape, leaf);
    for (int k = 0; k < n; k++) {
        level += leaf[k].u.i > 1 && size > 1 && i % size == 0;
        size *= leaf[k].u.i;
    }
    return level < 3 ? level : 3;
}

int sett__place_str(const sett__ctx *c, sett_arg shape, int64_t i, char *buf, size_t size)
{
    return sett__arg_str(sett__idx2crd(c, sett_arg_i(i), shape), buf, size);
}

int sett__place_width(const sett__ctx *c, sett_arg shape, int64_t n)
{
    char text[SETT__PLACE_TEXT];
    int most = 1;
    for (int64_t i = 0; i < n; i++) {
        int len = sett__place_str(c, shape, i, text, sizeof text);
        most = len > most ? len : most;
    }
    return most;
}
