/* SPDX-License-Identifier: Apache-2.0 */
/* A part of machine.h, which includes it: which bytes of shared memory and of registers nobody has written, or were made of such. These are
 * poison. A program is decoded to be followed (sett__follow) or not, and what is not followed has no shadow.
 *
 * A row of a frame is 32 lanes of an element; its shadow is a word for each byte of the element, a bit for each lane. So word k of a value
 * or of a thread's array is byte k of each thread's, whatever the elements' size. */
#ifndef SETT_JIT_SIM_SHADOW_H
#define SETT_JIT_SIM_SHADOW_H
#include "block.h"
#include "effect.h"

/* The first poison that an operation read. */
typedef struct sett__poison_read {
    uint32_t root; /* in program->root, 1 +; 0: it has read none */
    uint32_t at;   /* byte of the window, or of the thread's array */
    uint32_t used; /* the operation that was told to use it, 1 + */
} sett__poison_read;
struct sett__shadow {
    uint32_t bytes, frame;   /* of the window; words of a warp's frame */
    uint64_t *bit, *some;    /* of the window: a bit a byte; a bit for each word of those that is not 0 */
    uint32_t *from;          /* of the window, a word for 4 bytes: what read the poison that was stored there; NULL: none was yet */
    uint32_t *mask, *read;   /* of the frames, warp after warp: lanes; what read the poison. SETT__NONE: nobody has */
    sett__poison_read *first; /* by operation; NULL: nobody has read poison */
};
/* Instructions of the body are carried out by `step` once their warp has read poison (warp->follows), and always if their bit is in `always`. */
typedef struct sett__follow {
    uint64_t always; /* by sett__step */
    bool (*step)(sett__core *, sett__warp *, const sett__insn *);
    void (*begin)(sett__core *); /* c->cta begins */
    /* Bytes of shared memory that go to global memory by themselves, for a lane's operation. */
    void (*stored)(sett__core *, const sett__warp *, int lane, uint32_t op, uint32_t at, uint32_t bytes);
} sett__follow;

/* ---- shadow.c ---------------------------------------------------------------------------------------------------- */
sett__shadow *sett__shadow_make(const sett__core *); /* of c->cta; NULL: out of memory */
void sett__shadow_free(sett__shadow *);               /* NULL is ignored */
void sett__shadow_begin(sett__core *);                /* c->cta begins: only what the launch and constants give is there */
bool sett__shadow_any(const sett__shadow *, uint32_t at, uint64_t bytes); /* sett__shadow_put: effect.h; of the window: is one of them poison? */
uint32_t sett__shadow_bits(const sett__shadow *, uint32_t at, uint32_t bytes); /* at most 32 */
/* Operation `op` has read poison from byte `at` of a root (SETT__NONE: of the window). Gives what is to be kept as the read: op, or,
 * where a store passed poison on that was read before, that read. */
uint32_t sett__poison_read_at(sett__core *, uint32_t op, uint32_t root, uint32_t at);
bool sett__is_written(const sett__core *, const void *, size_t bytes); /* global memory, as far as anybody knows: all of it */
/* A copy has read bytes `from` global memory, and written them to block `of` at byte `at` of its window: what nobody had written is poison
 * there. made: the operation that makes where they come from. */
void sett__poison_copied(const sett__core *, uint32_t op, uint32_t made, sett__cta *of, uint32_t at, const void *from, size_t bytes);
/* The same of a copy from shared memory of one block to that of another. */
void sett__poison_moved(const sett__core *, uint32_t op, const sett__cta *from, uint32_t from_at, sett__cta *of, uint32_t at, uint32_t bytes);
void sett__shadow_from(sett__shadow *, uint32_t at, uint32_t bytes, uint32_t read); /* poison that `read` has read is stored there */
/* The words of a place in a warp's frame: lanes, and who read. */
static inline size_t sett__shadow_word(const sett__shadow *s, const sett__warp *w, uint32_t offset)
{
    return (size_t)w->index * s->frame + offset / SETT__ROW_ALIGN;
}

#endif
