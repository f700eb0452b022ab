/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of tiled operations, and those of the block. A share is one thread's part. If the block has fewer threads than
 * the operation, some parts are nobody's: nothing would tell but the result. If it has more, threads do what others do. */
#include "build.h"
#include <stdio.h>

sett__share *sett__share_new(const sett__ctx *c, const sett__share *given)
{
    sett__share *s = c->b->in_kernel && !c->b->error.status ? sett__new(c->b, sizeof *s) : NULL;
    if (!s || c->b->error.status)
        return NULL;
    *s = *given;
    s->older = c->b->shares, s->site = c->site, s->func = c->func;
    c->b->shares = s;
    return s;
}

static bool guarded(const sett_build *b)
{
    for (int i = 0; i < b->depth; i++)
        if (b->op[b->region[i].op].code == SETT__IF || b->op[b->region[i].op].code == SETT__ELSE)
            return true;
    return false;
}

void sett__share_access(const sett__ctx *c, sett__share *s)
{
    if (!s->open && !guarded(c->b))
        s->open = true, s->open_site = c->site, s->open_func = c->func;
}

static int64_t last_thread(const sett__share *s)
{
    return s->thread.kind == SETT_VALUE ? s->thread.u.v->hi : s->thread.u.i;
}

/* Do shares of as many threads together reach the last one? Two may divide the work of one operation. */
static bool reached(const sett_build *b, int64_t threads)
{
    for (const sett__share *s = b->shares; s; s = s->older)
        if (s->threads == threads && last_thread(s) >= threads - 1)
            return true;
    return false;
}

static bool same_line(const sett_site *x, const sett_site *y)
{
    return x->file == y->file && x->line == y->line;
}

/* Of each line of the body one note. */
static void note_open(sett_build *b, const sett__share *s, int64_t block)
{
    for (const sett__share *x = b->shares; x != s; x = x->older)
        if (x->open && same_line(&x->open_site, &s->open_site))
            return;
    const char *then = s->wraps ? "the parts of the first threads again" : "what lies behind the tile";
    char text[700];
    snprintf(text, sizeof text, "%.300s, of sett_get_slice at %.100s:%d, has %lld threads, and the block has %lld: no sett_if or predicate keeps out "
        "a thread of index %lld or more, which has %s",
        s->of, s->site.file ? s->site.file : "?", s->site.line, (long long)s->threads, (long long)block, (long long)s->threads, then);
    sett__note_add(&(sett__ctx){b, s->open_site, s->open_func}, &(sett__note){.text = sett__arena_str(&b->arena, text), .warns = true});
}

void sett__check_shares(sett_build *b)
{
    const int64_t block = b->block_size[0] * b->block_size[1] * b->block_size[2];
    const sett__share *lacking = NULL;
    if (!block || b->error.status)
        return;
    for (const sett__share *s = b->shares; s; s = s->older) {
        if (s->each && s->threads > block && !reached(b, s->threads))
            lacking = s;
        if (s->open && block > s->threads && last_thread(s) >= s->threads && last_thread(s) < block)
            note_open(b, s, block);
    }
    if (lacking)
        sett__fail(b, lacking->site, lacking->func, SETT_E_RANGE, "%s has %lld threads, and the block has %lld: the parts of threads %lld to %lld are nobody's",
            lacking->of, (long long)lacking->threads, (long long)block, (long long)block, (long long)lacking->threads - 1);
}
