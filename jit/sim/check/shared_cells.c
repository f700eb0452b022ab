/* SPDX-License-Identifier: Apache-2.0 */
/* Room for cells of shared memory, and for the accesses that they know of. */
#include "shared_cells.h"
#include <stdlib.h>

/* ---- room ------------------------------------------------------------------------------------------------------------ */
static void free_cells(struct cells *s)
{
    if (!s)
        return;
    free(s->row);
    free(s->write);
    free(s->read);
    free(s->write_lane);
    free(s->read_lane);
    free(s);
}

void sett__shared_free(near *n)
{
    for (uint32_t r = 0; r < n->blocks; r++)
        free_cells(n->block[r].cells);
    if (n->readers)
        free(n->readers->of);
    free(n->readers);
}

bool sett__shared_begin(near *n, near_block *b, const sett__core *c)
{
    const uint32_t bytes = c->program->tape->sig.smem + c->launch->smem_more;
    struct cells *s = b->cells ? b->cells : (b->cells = calloc(1, sizeof *s));
    n->readers = n->readers ? n->readers : calloc(1, sizeof *n->readers);
    if (!s || !n->readers)
        return false;
    if (!s->row && !(s->row = calloc(bytes / ROW + 1, sizeof *s->row)))
        return false;
    s->n_row = bytes / ROW + 1;
    memset(s->row, 0, s->n_row * sizeof *s->row);
    s->n = 1;
    n->readers->n = 1;
    n->readers->was = n->readers->swept = 0;
    return true;
}

static bool grow(void *p, size_t size, uint32_t cap)
{
    void **at = p, *to = realloc(*at, cap * size);
    if (to)
        *at = to;
    return to;
}

static bool make_cells(struct cells *s, uint32_t more)
{
    const uint32_t cap = s->n + more + s->cap / 2;
    if (s->n + more <= s->cap)
        return true;
    if (!grow(&s->write, sizeof *s->write, cap) || !grow(&s->read, sizeof *s->read, cap) || !grow(&s->write_lane, 1, cap) || !grow(&s->read_lane, 1, cap))
        return false;
    s->cap = cap;
    return true;
}

/* Cells of so many bytes in a row. */
static bool refine(struct cells *s, row *r, uint8_t lg)
{
    const uint32_t k = ROW >> lg, from = r->at;
    if (!make_cells(s, k))
        return false;
    const uint32_t to = s->n;
    s->n += k;
    for (uint32_t i = 0; i < k; i++) {
        const uint32_t was = from + (i << lg >> r->lg);
        s->write[to + i] = from ? s->write[was] : 0;
        s->read[to + i] = from ? s->read[was] : 0;
        s->write_lane[to + i] = from ? s->write_lane[was] : 0;
        s->read_lane[to + i] = from ? s->read_lane[was] : 0;
    }
    r->at = to;
    r->lg = lg;
    return true;
}

bool sett__cut_row(struct cells *s, row *r, uint32_t edges)
{
    uint8_t lg = UNIT_LG;
    while (lg && edges & ((1u << lg) - 1))
        lg = lg == UNIT_LG ? 2 : lg - 1;
    return (r->at && lg >= r->lg) || refine(s, r, lg);
}

/* ---- what is remembered ---------------------------------------------------------------------------------------------- */
static void mark(const near *n, bool *chunk, uint32_t time)
{
    if (time && time / CHUNK < n->n_chunk)
        chunk[time / CHUNK] = true;
}

static void mark_read(const near *n, bool *chunk, uint32_t *number, uint32_t read)
{
    for (; read & SET; read = n->readers->of[read & ~SET].next) {
        if (number[read & ~SET])
            return;
        number[read & ~SET] = 1;
        mark(n, chunk, n->readers->of[read & ~SET].time);
    }
    mark(n, chunk, read);
}

static void each_cell(near *n, bool *chunk, uint32_t *number, bool renumber)
{
    for (uint32_t r = 0; r < n->blocks; r++) {
        struct cells *s = n->block[r].cells;
        for (uint32_t k = 0; s && k < s->n_row; k++)
            for (uint32_t i = s->row[k].at; i && i < s->row[k].at + (ROW >> s->row[k].lg); i++)
                if (!renumber)
                    mark(n, chunk, s->write[i]), mark_read(n, chunk, number, s->read[i]);
                else if (s->read[i] & SET)
                    s->read[i] = SET | number[s->read[i] & ~SET];
    }
}

/* Sets lead from newer nodes to older ones. */
void sett__sweep(near *n)
{
    bool *chunk = calloc((size_t)n->n_chunk + 1, sizeof *chunk);
    struct readers *x = n->readers;
    uint32_t *number = calloc((size_t)x->n + 1, sizeof *number), left = 1;
    if (chunk && number) {
        each_cell(n, chunk, number, false);
        for (const flight *f = n->flight; f; f = f->next)
            for (uint32_t r = 0; r < MOST_RANKS; r++)
                mark(n, chunk, f->time[r]);
        for (uint32_t k = 1; k < x->n; k++) {
            if (!number[k])
                continue;
            x->of[left] = x->of[k];
            if (x->of[left].next & SET)
                x->of[left].next = SET | number[x->of[left].next & ~SET];
            number[k] = left++;
        }
        each_cell(n, chunk, number, true);
        x->n = left;
        x->was = 0;
        n->live = 0;
        for (uint32_t k = 0; k < n->n_chunk; k++) {
            if (!chunk[k] && k + 1 < n->n_chunk)
                sett__chunk_drop(n, k);
            n->live += n->chunk[k] != NULL;
        }
        n->swept = n->live;
        x->swept = left;
    }
    free(chunk);
    free(number);
}

uint32_t sett__add_reader(near *n, uint32_t time, uint8_t lane, uint32_t next)
{
    struct readers *x = n->readers;
    if (x->n >= x->cap) {
        const uint32_t cap = 2 * x->cap + 256;
        if (!grow(&x->of, sizeof *x->of, cap)) {
            n->full = true;
            return 0;
        }
        x->cap = cap;
    }
    x->of[x->n] = (reader){.time = time, .next = next, .lane = lane};
    return SET | x->n++;
}
