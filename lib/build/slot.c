/* SPDX-License-Identifier: Apache-2.0 */
/* Slots of a build: memory that a room above lib/build, as lib/async, keeps in it under the address of a sett__build_slot. A build has
 * few of them, so they are a list. */
#include "build.h"

enum { GRAIN = 16 }; /* memory begins at a multiple of it */
struct sett__slot_room {
    struct sett__slot_room *older;
    const sett__build_slot *slot;
    _Alignas(GRAIN) char memory[];
};

const void *sett__seen_in_slot(const sett_build *b, const sett__build_slot *slot)
{
    const struct sett__slot_room *r = b->slots;
    while (r && r->slot != slot)
        r = r->older;
    return r ? r->memory : NULL;
}

void *sett__in_slot(sett_build *b, const sett__build_slot *slot)
{
    const void *seen = sett__seen_in_slot(b, slot);
    if (seen)
        return (void *)(uintptr_t)seen;
    struct sett__slot_room *r = sett__new(b, sizeof *r + slot->size);
    if (b->error.status) /* memory of the reserve is given again */
        return r->memory;
    *r = (struct sett__slot_room){.older = b->slots, .slot = slot};
    b->slots = r;
    return r->memory;
}

void sett__end_slots(sett_build *b)
{
    for (const struct sett__slot_room *r = b->slots; r; r = r->older)
        if (r->slot->ends)
            r->slot->ends(b, r->memory);
}
