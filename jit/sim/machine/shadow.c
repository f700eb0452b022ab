/* SPDX-License-Identifier: Apache-2.0 */
/* The shadow of a block: which bytes are poison. */
#include "machine.h"
#include <stdlib.h>
#include <string.h>

enum { WORD = 64, PIECE = 4 };

/* ---- memory ------------------------------------------------------------------------------------------------- */
static uint32_t words_of(uint32_t bytes)
{
    return bytes / WORD + 1;
}

sett__shadow *sett__shadow_make(const sett__core *c)
{
    const sett__program *p = c->program;
    const size_t words = (size_t)c->cta->n_warps * (p->warp_bytes / SETT__ROW_ALIGN + 1);
    sett__shadow *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->bytes = p->tape->sig.smem + c->launch->smem_more;
    s->frame = (uint32_t)(p->warp_bytes / SETT__ROW_ALIGN + 1);
    s->bit = malloc(words_of(s->bytes) * sizeof *s->bit);
    s->some = malloc(words_of(words_of(s->bytes)) * sizeof *s->some);
    s->mask = malloc(words * sizeof *s->mask);
    s->read = malloc(words * sizeof *s->read);
    if (s->bit && s->some && s->mask && s->read)
        return s;
    sett__shadow_free(s);
    return NULL;
}

void sett__shadow_free(sett__shadow *s)
{
    if (!s)
        return;
    free(s->bit);
    free(s->some);
    free(s->from);
    free(s->mask);
    free(s->read);
    free(s->first);
    free(s);
}

/* ---- a block begins ------------------------------------------------------------------------------------------- */
/* Mbarriers are no data. */
static void begin_window(sett__core *c, sett__shadow *s)
{
    const sett__program *p = c->program;
    memset(s->bit, 0, words_of(s->bytes) * sizeof *s->bit);
    memset(s->some, 0, words_of(words_of(s->bytes)) * sizeof *s->some);
    free(s->from);
    s->from = NULL;
    for (uint32_t k = 0; k < p->n_root; k++) {
        const sett__root *r = &p->root[k];
        const uint64_t bytes = r->bytes ? r->bytes : c->launch->smem_more;
        const sett__op *op = &p->given->op[r->op];
        if (r->space == SETT__SHARED && !sett__attr(p->given->arg, op, SETT__AT_SMEM_MBARRIER))
            sett__shadow_put(s, r->offset, bytes, true);
    }
}

void sett__shadow_begin(sett__core *c)
{
    sett__cta *b = c->cta;
    const sett__program *p = c->program;
    sett__shadow *s = b->shadow;
    begin_window(c, s);
    memset(s->mask, 0, (size_t)b->n_warps * s->frame * sizeof *s->mask);
    for (uint32_t i = 0; i < b->n_warps; i++) {
        const size_t at = sett__shadow_word(s, &b->warp[i], p->local_at), bytes = p->local_bytes / SETT__ROW_ALIGN * sizeof *s->mask;
        memset(s->mask + at, 0xff, bytes);
        memset(s->read + at, 0xff, bytes);
        b->warp[i].follows = false;
    }
}

/* ---- shared memory ---------------------------------------------------------------------------------------------- */
/* Bits of word k that are among [at, end). */
static uint64_t bits_in(uint32_t k, uint32_t at, uint32_t end)
{
    uint64_t x = UINT64_MAX;
    if (at > k * WORD)
        x &= UINT64_MAX << (at - k * WORD);
    if (end < (k + 1) * WORD)
        x &= UINT64_MAX >> ((k + 1) * WORD - end);
    return x;
}

bool sett__shadow_any(const sett__shadow *s, uint32_t at, uint64_t bytes)
{
    if (at >= s->bytes || !bytes)
        return false;
    const uint32_t end = bytes < s->bytes - at ? at + (uint32_t)bytes : s->bytes, last = (end - 1) / WORD;
    for (uint32_t k = at / WORD; k <= last; k++) {
        const uint64_t some = s->some[k / WORD] >> k % WORD;
        if (!some) { /* none of the words that this one tells of */
            k |= WORD - 1;
            continue;
        }
        k += (uint32_t)__builtin_ctzll(some);
        if (k <= last && s->bit[k] & bits_in(k, at, end))
            return true;
    }
    return false;
}

void sett__shadow_put(sett__shadow *s, uint32_t at, uint64_t bytes, bool poison)
{
    if (at >= s->bytes || !bytes)
        return;
    const uint32_t end = bytes < s->bytes - at ? at + (uint32_t)bytes : s->bytes;
    for (uint32_t k = at / WORD; k <= (end - 1) / WORD; k++) {
        const uint64_t in = bits_in(k, at, end), here = UINT64_C(1) << k % WORD;
        s->bit[k] = poison ? s->bit[k] | in : s->bit[k] & ~in;
        s->some[k / WORD] = s->bit[k] ? s->some[k / WORD] | here : s->some[k / WORD] & ~here;
    }
}

uint32_t sett__shadow_bits(const sett__shadow *s, uint32_t at, uint32_t bytes)
{
    if (at >= s->bytes)
        return 0;
    const uint32_t k = at / WORD, skip = at % WORD;
    uint64_t x = s->bit[k] >> skip;
    if (skip && k + 1 < words_of(s->bytes))
        x |= s->bit[k + 1] << (WORD - skip);
    return (uint32_t)(bytes < 32 ? x & ((UINT64_C(1) << bytes) - 1) : x);
}

/* ---- who has read ------------------------------------------------------------------------------------------------- */
/* The root in whose part of the window a byte lies. */
static uint32_t root_around(const sett__program *p, uint32_t at)
{
    for (uint32_t k = 0; k < p->n_root; k++)
        if (p->root[k].space == SETT__SHARED && at >= p->root[k].offset && (!p->root[k].bytes || at - p->root[k].offset < p->root[k].bytes))
            return k;
    return SETT__NONE;
}

uint32_t sett__poison_read_at(sett__core *c, uint32_t op, uint32_t root, uint32_t at)
{
    const sett__program *p = c->program;
    sett__shadow *s = c->cta->shadow;
    if (s->from && (root == SETT__NONE || p->root[root].space == SETT__SHARED || p->root[root].space == SETT__PEERS) && at < s->bytes && s->from[at / PIECE] != SETT__NONE)
        return s->from[at / PIECE];
    if (!s->first && !(s->first = calloc((size_t)p->given->n_op + 1, sizeof *s->first)))
        return op;
    root = root == SETT__NONE ? root_around(p, at) : root;
    if (!s->first[op].root)
        s->first[op] = (sett__poison_read){.root = root + 1, .at = at};
    return op;
}

static uint32_t root_made_by(const sett__program *p, uint32_t op)
{
    for (uint32_t k = 0; k < p->n_root; k++)
        if (p->root[k].op == op)
            return k;
    return SETT__NONE;
}

bool sett__is_written(const sett__core *c, const void *p, size_t bytes)
{
    sett__allocations *blocks = c->launch->blocks;
    return !blocks || !blocks->marks || sett__unwritten(blocks, p, bytes) < 0;
}

void sett__poison_copied(const sett__core *c, uint32_t op, uint32_t made, sett__cta *of, uint32_t at, const void *from, size_t bytes)
{
    sett__shadow *s = of->shadow;
    for (size_t done = 0; s && done < bytes && !sett__is_written(c, (const unsigned char *)from + done, bytes - done); done += PIECE) {
        const int64_t next = sett__unwritten(c->launch->blocks, (const unsigned char *)from + done, bytes - done);
        if (!s->first && !(s->first = calloc((size_t)c->program->given->n_op + 1, sizeof *s->first)))
            return;
        done += (size_t)next;
        if (!s->first[op].root)
            s->first[op].root = root_made_by(c->program, made) + 1;
        sett__shadow_put(s, at + (uint32_t)done, bytes - done < PIECE ? bytes - done : PIECE, true);
        sett__shadow_from(s, at + (uint32_t)done, 1, op);
    }
}

void sett__poison_moved(const sett__core *c, uint32_t op, const sett__cta *from, uint32_t from_at, sett__cta *of, uint32_t at, uint32_t bytes)
{
    sett__shadow *s = of->shadow;
    if (!s || !from->shadow || !sett__shadow_any(from->shadow, from_at, bytes) || (!s->first && !(s->first = calloc((size_t)c->program->given->n_op + 1, sizeof *s->first))))
        return;
    for (uint32_t k = 0; k < bytes; k++) {
        if (!sett__shadow_bits(from->shadow, from_at + k, 1))
            continue;
        if (!s->first[op].root)
            s->first[op] = (sett__poison_read){.root = root_around(c->program, from_at + k) + 1, .at = from_at + k};
        sett__shadow_put(s, at + k, 1, true);
        sett__shadow_from(s, at + k, 1, op);
    }
}

void sett__shadow_from(sett__shadow *s, uint32_t at, uint32_t bytes, uint32_t read)
{
    const size_t n = s->bytes / PIECE + 1;
    if (!s->from && read != SETT__NONE && (s->from = malloc(n * sizeof *s->from)))
        memset(s->from, 0xff, n * sizeof *s->from);
    for (uint32_t k = at / PIECE; s->from && bytes && at + bytes <= s->bytes && k <= (at + bytes - 1) / PIECE; k++)
        s->from[k] = read;
}
