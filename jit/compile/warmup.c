/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that a compiling thread keeps at hand. LLVM and nvJitLink ask malloc for some 10 MB a compile and give all of it
 * back, and glibc gives it to the system each time: a warm compile spent 2 of its 13 ms in 970 page faults, now in about
 * 10. So blocks are taken, then a small one above them, then the blocks are given back: malloc trims only what no block
 * in use lies above. That one, the lid, goes when its thread has had nothing to do for a while. An allocator that keeps
 * what it is given makes nothing worse of it.
 *
 * In the first compile the pages are new all the same. There they are touched by threads that would otherwise wait: for
 * the loader while the plug-in is opened, and for the assembler to be mapped. */
#include "compile.h"
#include <stdlib.h>
#include <unistd.h>

enum { BLOCK = 2 << 20 };

void sett__spare_take(sett__spare *s)
{
    /* Below the bound from which malloc maps each block by itself. It rises to what is freed; nvJitLink's first compile
     * moves it as far. */
    void *volatile large = malloc(BLOCK + BLOCK / 8);
    free(large);
    for (int i = 0; i < SETT__SPARE_BLOCKS; i++)
        s->block[i] = malloc(BLOCK);
    s->lid = malloc(BLOCK / 8);
}

void sett__spare_touch(sett__spare *s, const atomic_bool *until)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = atomic_load(&s->touched); i < SETT__SPARE_BLOCKS && !atomic_load(until); i++) {
        _Atomic char *block = s->block[i]; /* two threads may be at one for a moment */
        for (size_t at = 0; block && at < BLOCK && !atomic_load_explicit(until, memory_order_relaxed); at += page)
            atomic_store_explicit(&block[at], 0, memory_order_relaxed);
        if (!atomic_load(until))
            atomic_store(&s->touched, i + 1);
    }
}

void sett__spare_give(sett__spare *s, bool all)
{
    int end = all ? SETT__SPARE_BLOCKS : atomic_load(&s->touched);
    for (int i = 0; i < end; i++) {
        free(s->block[i]);
        s->block[i] = NULL;
    }
}

void sett__spare_drop(sett__spare *s)
{
    sett__spare_give(s, true);
    free(s->lid);
    s->lid = NULL;
    atomic_store(&s->touched, 0);
}
