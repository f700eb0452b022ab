/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's report: what the layouts decided about each access, what made one narrower than it could be, and the shared
 * memory of a block. */
#include "tensor.h"
#include <string.h>

#define LINE 1024

/* ---- text ---------------------------------------------------------------------------- */
typedef struct line {
    char *text;
    size_t at;
} line;

SETT_PRINTF(2, 3) static void put(line *l, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int n = vsnprintf(l->text + l->at, LINE - l->at, format, list);
    va_end(list);
    l->at = n < 0 || (size_t)n >= LINE - l->at ? LINE - 1 : l->at + (size_t)n;
}

static void put_site(const sett_build *b, const sett__note *note, line *l)
{
    if (note->site != SETT__NONE)
        put(l, "%s:%u: ", b->string[b->site[note->site].file], b->site[note->site].line);
    put(l, "%s: ", note->func);
}

static void put_widths(const sett__note *note, line *l)
{
    const char *between = "";
    for (int k = 31; k >= 0; k--)
        if (note->count[k]) {
            put(l, "%s%u x %u byte%s", between, note->count[k], 1u << k, k ? "s" : "");
            between = ", ";
        }
    unsigned all = 0;
    for (int k = 0; k < 32; k++)
        all += note->count[k];
    if (note->split && note->split != all)
        put(l, ", %u of them", note->split);
    if (note->split)
        put(l, " where a test finds all of its elements inside%s, else by element", note->tests_align ? " and aligned" : "");
    if (note->places)
        put(l, "; %u elements lie in %u places, by a stride of 0, and each place is loaded once", note->elements, note->places);
}

/* The symbol, among those that an offset is made of, that is not known to be a multiple of div. */
static const char *culprit(const sett_build *b, uint32_t id, uint64_t div, int depth)
{
    const sett__op *op = &b->op[id];
    const sett_val *v = b->val_of[id];
    if (depth > 32 || (v && !((uint64_t)v->div % div)))
        return NULL;
    if (op->code == SETT__SYM)
        return b->sig.sym[op->imm].name;
    const char *name = NULL;
    bool through = sett__ops[op->code].cls == SETT__C_BINARY || op->code == SETT__CONVERT;
    for (int i = 0; through && i < op->n_args && !name; i++)
        if (b->arg[op->args + i] != SETT__NONE)
            name = culprit(b, b->arg[op->args + i], div, depth + 1);
    return name;
}

static void put_base(sett_build *b, const sett__note *note, line *l)
{
    uint64_t div = note->need / note->bytes;
    const char *name = note->base.kind == SETT_VALUE ? culprit(b, note->base.u.v->id, div, 0) : NULL;
    const bool padded = note->t->space == SETT_SMEM && note->base.kind == SETT_VALUE && note->base.u.v->div > 1 && note->base.u.v->div % 2; /* as 17 of 16 */
    put(l, "offset %s x %u bytes: needs ", sett__arg_text(b, note->base), note->bytes);
    if (name)
        put(l, ".div = %llu on %s", (unsigned long long)div, name);
    else
        put(l, "a multiple of %llu elements%s", (unsigned long long)div, padded ? ", as rows that are padded against bank conflicts by so many have" : "");
}

static void put_lost(sett_build *b, const sett__note *note, line *l)
{
    if (!note->lost)
        return;
    if (note->lost == SETT__LOST_RMEM) {
        put(l, "a dynamic index into registers puts them in local memory");
        return;
    }
    if (note->lost == SETT__LOST_ADJACENCY) {
        put(l, "; have %u bytes of 16: at most so many are adjacent", note->have);
        return;
    }
    if (note->lost == SETT__LOST_PRED) {
        put(l, "; have %u bytes of 16: the predicate is a Boolean for each element, which only sett_elem_less and its sett_and "
               "test for several at once", note->have);
        return;
    }
    if (note->lost == SETT__LOST_BOUND) { /* the addresses are aligned: there are no bytes to be had */
        put(l, "; a bound or coordinate is not known to be a multiple of %u", note->need / note->bytes);
        return;
    }
    put(l, "; have %u bytes, need %u: ", note->have, note->need);
    switch (note->lost) {
    case SETT__LOST_ROOT:
        put(l, "the alignment of %s is %u bytes", note->t->name, note->t->align);
        break;
    case SETT__LOST_CONSTANT:
        put(l, "it starts %lld elements past a multiple of %u", (long long)note->imm, note->need / note->bytes);
        break;
    default: /* LOST_BASE */
        put_base(b, note, l);
    }
}

/* "shared memory: 4096 bytes a block, and 4*n that the launch adds" */
static void put_shared(const sett_build *b, char *to, size_t size)
{
    sett__sink out = {.buf = to, .cap = size};
    *to = 0;
    if (b->smem_used || b->more_align)
        sett__putf(&out, "shared memory: %u bytes a block", b->smem_used);
    if (b->more_align) {
        char more[200];
        sett__expr_words(&b->sig, b->sig.smem_more, more, sizeof more);
        sett__putf(&out, ", and %s that the launch adds", more);
    }
    if (out.len)
        sett__put(&out, "\n");
}

static const char *line_text(sett_build *b, const sett__note *n)
{
    char buf[LINE];
    line l = {buf, 0};
    put_site(b, n, &l);
    if (n->text) {
        put(&l, "%s", n->text);
    } else {
        put(&l, "%s: ", sett__tensor_text(b, n->t));
        put_widths(n, &l);
        put_lost(b, n, &l);
    }
    const char *text = sett__arena_str(&b->arena, buf);
    if (!text)
        sett__fail(b, (sett_site){0}, NULL, SETT_E_MEMORY, "out of memory");
    return text;
}

/* A line for each note, or for each that warns, the oldest first, and what follows. */
static const char *notes_text(sett_build *b, bool warnings, const char *then)
{
    size_t count = 0, size = strlen(then) + 1;
    for (const sett__note *n = b->notes; n; n = n->older)
        count += !warnings || n->warns;
    const char **text = sett__new(b, (count + 1) * sizeof *text);
    size_t i = count;
    for (const sett__note *n = b->notes; text && n; n = n->older) {
        if (warnings && !n->warns)
            continue;
        text[--i] = line_text(b, n);
        size += text[i] ? strlen(text[i]) + 1 : 0;
    }
    char *all = sett__new(b, size), *at = all;
    if (!text || !all)
        return "";
    for (i = 0; i < count; i++)
        if (text[i])
            at += sprintf(at, "%s\n", text[i]);
    memcpy(at, then, strlen(then) + 1);
    return all;
}

const char *sett__report_text(sett_build *b)
{
    char shared[400];
    put_shared(b, shared, sizeof shared);
    return notes_text(b, false, shared);
}

const char *sett__report_warnings(sett_build *b)
{
    return notes_text(b, true, "");
}

/* ---- what a promise would widen ---------------------------------------------------------- */
/* Where a test at run time decides, a promise saves the test alone; what starts at an odd constant no promise moves. */
static bool is_narrow(const sett__note *n)
{
    return !n->text && !n->split && n->t && n->t->space != SETT_RMEM && (n->lost == SETT__LOST_ROOT || n->lost == SETT__LOST_BASE) && n->need >= 2 * n->have;
}

static const sett__site_ref *site_of(const sett_build *b, uint32_t site)
{
    return site == SETT__NONE ? NULL : &b->site[site];
}

bool sett__narrow_next(sett_build *b, sett__narrow *x)
{
    char buf[LINE];
    line l = {buf, 0};
    const sett__note *n = x->note ? x->note->older : b->notes;
    while (n && !is_narrow(n))
        n = n->older;
    if (!n)
        return false;
    put(&l, "%s: %s: ", n->func, sett__tensor_text(b, n->t));
    put_widths(n, &l);
    put_lost(b, n, &l);
    *x = (sett__narrow){n, sett__arena_str(&b->arena, buf), site_of(b, n->site), n->t->root == SETT__NONE ? NULL : site_of(b, b->op[n->t->root].site)};
    return x->text != NULL;
}
