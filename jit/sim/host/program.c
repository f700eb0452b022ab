/* SPDX-License-Identifier: Apache-2.0 */
/* A tape becomes a program, or two. */
#include "inside.h"
#include "jit/sim/async/async.h"
#include "jit/sim/check/check.h"
#include <stdlib.h>

/* Blocks of both kinds run in one launch: an atomic in one of them is seen by all. */
static sett_status make_unguarded(sett__program *p, sett_error *e)
{
    sett__program *q = p->unguarded = calloc(1, sizeof *q);
    if (!q || !sett__rewrite(p->given, true, &q->rewritten))
        return sett__no_room(e);
    if (!q->rewritten.changed) {
        q->n_call = 0;
        sett__program_free(q);
        p->unguarded = NULL;
        return SETT_OK;
    }
    q->call = p->call;
    q->n_call = p->n_call;
    sett_status status = sett__decode(q, p->given, e);
    q->atomics = p->atomics;
    if (!status && !sett__find_facts(p, q->rewritten.test, q->rewritten.n_test))
        status = sett__no_room(e);
    return status;
}

/* Who is told of effects: the checker, else what faults whatever the order. */
static const sett__watch *watch_of(const sett__program *p, sett_checks checks)
{
    const sett__watch *checker = p->checked ? sett__check_watch(p->given, checks) : NULL;
    return checker ? checker : p->async ? sett__proxy_watch(p->given) : NULL;
}

/* plain: as sett__program_make takes it. */
static sett_status make(const sett__tape *tape, bool plain, sett_checks checks, sett__program **out, sett_error *e)
{
    *out = NULL;
    sett__program *p = calloc(1, sizeof *p);
    const bool checked = checks > SETT_CHECKS_OFF, async = checked || sett__is_async(tape);
    plain |= async;
    sett_status status = p && (plain || sett__rewrite(tape, false, &p->rewritten)) ? SETT_OK : sett__no_room(e);
    if (!status) {
        p->given = p->tape = tape;
        p->plain = plain;
        p->async = async;
        p->checked = checked;
        p->listens = async && sett__listens(tape);
        p->watch = watch_of(p, checks);
        p->follow = checked ? &sett__check_follow : NULL;
        status = checked && !sett__proof_begin(p) ? sett__no_room(e) : sett__find_calls(p, e);
    }
    if (!status)
        status = sett__decode(p, tape, e);
    if (!status && !plain)
        status = make_unguarded(p, e);
    if (status) {
        sett__program_free(p);
        p = NULL;
    }
    *out = p;
    return status;
}

sett_status sett__program_make(const sett__tape *tape, bool plain, sett__program **out, sett_error *e)
{
    return make(tape, plain, SETT_CHECKS_OFF, out, e);
}

sett_status sett__program_check(const sett__tape *tape, sett_checks checks, sett__program **out, sett_error *e)
{
    return make(tape, true, checks, out, e);
}

void sett__program_free(sett__program *p)
{
    if (!p)
        return;
    if (p->unguarded)
        p->unguarded->n_call = 0; /* they are ours */
    sett__program_free(p->unguarded);
    sett__free_calls(p);
    sett__arena_free(&p->rewritten.tape.arena);
    free(p->fact);
    sett__mem_free(NULL, p->code);
    sett__mem_free(NULL, p->root);
    sett__mem_free(NULL, p->place);
    sett__mem_free(NULL, p->spot);
    sett__mem_free(NULL, p->matmul);
    free(p);
}
