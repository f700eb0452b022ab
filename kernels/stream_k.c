/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_k.h"

enum { WIDE = 4, REGISTERS = 144 /* of a thread: its sums, and those that it reads before it adds the first */, MOST = 64 };

stream_k sett__stream_k(sett_build *b, sett_dtype sums, int threads, int values)
{
    sett_val *n = sett_sym(b, "partial_values", .div = WIDE), *slots = sett_sym(b, "slots");
    stream_k s = {.threads = threads, .values = values};
    s.sums = sett_param(b, "partial", sums, sett_make_layout(b, T1(n)), .align = 16);
    s.left = sett_param(b, "left", SETT_U32, sett_make_layout(b, T1(slots)));
    return s;
}

/* A thread's sums in a slot, (4, values / 4): 16 bytes of a thread stand beside those of the next, so that a warp's accesses are contiguous. */
static sett_tensor *place_of(sett_build *b, const stream_k *s, sett_val *slot, sett_val *thread)
{
    sett_val *first = sett_add(sett_mul(slot, s->threads * s->values), sett_mul(thread, WIDE));
    return sett_composition(sett_domain_offset(s->sums, T1(first)), sett_make_layout(b, T(WIDE, s->values / WIDE), T(1, WIDE * s->threads)));
}

void sett__leave_sums(sett_build *b, const stream_k *s, sett_tensor *acc, const sums_inside *inside, sett_val *slot, sett_arg barrier, sett_val *thread)
{
    sett_tensor *to = place_of(b, s, slot, thread), *from = sett_composition(acc, sett_make_layout(b, T(WIDE, s->values / WIDE)));
    for (int i = 0; i < s->values; i += inside->each)
        sett_if (b, inside->is[i / inside->each])
            for (int j = i / WIDE; j < (i + inside->each) / WIDE; j++)
                sett_store(sett_slice(to, ALL, j), sett_load(sett_slice(from, ALL, j)));
    sett_barrier(b, barrier, s->threads); /* all have, before one says so */
    sett_if (b, sett_eq(thread, 0))
        sett_atomic_ordered(s->left, SETT_ATOMIC_EXCH, SETT_SEM_RELEASE, SETT_SCOPE_GPU, 1, slot);
}

/* Waits for `n` slots, `step` apart, a thread for each, so that they wait side by side. Taking a word sets it back for the next launch. */
static void wait_for(sett_build *b, const stream_k *s, sett_val *first, sett_val *step, sett_val *n, sett_val *thread)
{
    sett_tensor *i = sett_var(b, SETT_I32, thread);
    sett_while (b, sett_lt(sett_at(i, 0), n)) {
        sett_tensor *came = sett_var(b, SETT_U32, 0);
        sett_val *slot = sett_add(first, sett_mul(sett_at(i, 0), step));
        sett_while (b, sett_eq(sett_at(came, 0), 0))
            sett_set(came, sett_atomic_cas_ordered(s->left, SETT_SEM_ACQUIRE, SETT_SCOPE_GPU, 1, 0, slot), 0);
        sett_set(i, sett_add(sett_at(i, 0), s->threads), 0);
    }
}

void sett__take_sums(sett_build *b, const stream_k *s, sett_tensor *acc, sett_val *first, sett_val *step, sett_val *n, sett_arg barrier, sett_val *thread)
{
    sett_tensor *to = sett_composition(acc, sett_make_layout(b, T(WIDE, s->values / WIDE)));
    const int all = s->values / WIDE, room = REGISTERS - s->values, together = (room > MOST ? MOST : room < 16 ? 16 : room) / WIDE;
    wait_for(b, s, first, step, n, thread);
    sett_barrier(b, barrier, s->threads);
    sett_for (b, p, 0, n, 1) {
        sett_tensor *from = place_of(b, s, sett_add(first, sett_mul(p, step)), thread);
        for (int i = 0; i < all; i += together) {
            sett_val *x[MOST / WIDE];
            for (int j = 0; j < together && i + j < all; j++)
                x[j] = sett_load(sett_slice(from, ALL, i + j));
            for (int j = 0; j < together && i + j < all; j++) {
                sett_tensor *mine = sett_slice(to, ALL, i + j);
                sett_store(mine, sett_add(sett_load(mine), x[j]));
            }
        }
    }
}
