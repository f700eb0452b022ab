/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses of builds and their objects.
 *
 * Users keep pointers to objects, and may use one after its build has ended. A pointer says nothing but where it points. If
 * a new build got the memory of an ended one, an old pointer would be taken for a new object; a stamp in the object does not
 * help, since the new object has the new stamp, and reading it from memory that was freed is an error by itself. So no
 * address is given to two builds. All builds lie in one range of addresses, reserved when the process begins its first build
 * and given out from its start to its end. A table has one entry for each grain (4 KiB) of the range: the build that it
 * belongs to, or NULL. To ask the table is one load, at any pointer, and does not touch what the pointer points to.
 *
 * Reserved addresses cost no memory. The memory of ended builds is moved to the addresses of the next ones, a segment (2 MiB)
 * at a time; 32 segments at most wait for that, and the rest goes back to the system, as does the table of a segment that
 * nobody uses.
 *
 * When the whole range was given out it is begun anew, and segments in use are passed over. From then on a pointer that was
 * kept from before may be taken for a new object. That is the limit of the promise in sett/build.h.
 *
 * lib/ has no globals but constants, and this table: an object may come from any build of the process, made by any engine or
 * thread, and a call on an object of an ended build has nothing else to ask. The table decides no result: builds that are
 * open record the same whatever it says of others. A mutex guards what is given out and the list of open builds, and is held
 * over a fork; the table is read without it. */
#define _GNU_SOURCE /* mremap */
#include "base.h"
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/lsan_interface.h>
#define ROOTS(p, n) __lsan_register_root_region(p, n) /* builds in it hold memory of malloc */
#define NO_ROOTS(p, n) __lsan_unregister_root_region(p, n)
#define CLOSE(p, n) __asan_poison_memory_region(p, n)
#define OPEN(p, n) __asan_unpoison_memory_region(p, n)
#else
#define CLOSE(p, n) ((void)(p))
#define OPEN(p, n) ((void)(p))
#define ROOTS(p, n) ((void)(p))
#define NO_ROOTS(p, n) ((void)(p))
#endif

enum { GRAIN = 1 << SETT__GRAIN_SHIFT, SEGMENT = 1 << 21, GRAINS = SEGMENT / GRAIN };
#define LARGEST ((size_t)16 << 30)
#define SMALLEST ((size_t)16 << 20)

sett__address_space sett__addresses = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_once_t forks = PTHREAD_ONCE_INIT;

/* ---- reserving ------------------------------------------------------------------------------ */
static void *map(size_t bytes, int protection)
{
    void *p = mmap(NULL, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return p == MAP_FAILED ? NULL : p;
}

bool sett__space_reserve(sett__address_space *s, size_t size)
{
    size_t grains = size / GRAIN, segments = size / SEGMENT;
    char *p = map(size + SEGMENT, PROT_NONE); /* so much that it can begin at a large page */
    char *tables = p ? map(grains * sizeof *s->owner + segments * sizeof *s->used + sizeof *s->open, PROT_READ | PROT_WRITE) : NULL;
    if (!tables) {
        if (p)
            munmap(p, size + SEGMENT);
        return false;
    }
    s->mapped = p;
    ROOTS(p, size + SEGMENT);
    s->owner = (void *)tables;
    s->used = (void *)(s->owner + grains);
    s->open = (void *)(s->used + segments);
    s->base = ((uintptr_t)p + SEGMENT - 1) & ~(uintptr_t)(SEGMENT - 1);
    s->size = size;
    return true;
}

void sett__space_release(sett__address_space *s)
{
    NO_ROOTS(s->mapped, s->size + SEGMENT);
    munmap(s->mapped, s->size + SEGMENT);
    munmap((void *)s->owner, s->size / GRAIN * sizeof *s->owner + s->size / SEGMENT * sizeof *s->used + sizeof *s->open);
    s->size = 0;
}

static void lock_for_fork(void)
{
    pthread_mutex_lock(&sett__addresses.lock);
}

static void unlock_after_fork(void)
{
    pthread_mutex_unlock(&sett__addresses.lock);
}

static void at_fork(void)
{
    pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork);
}

/* Where a process may have few addresses, the eighth part of them. */
static void reserve(void)
{
    struct rlimit most;
    size_t size = LARGEST;
    if (!getrlimit(RLIMIT_AS, &most) && most.rlim_cur != RLIM_INFINITY)
        while (size > most.rlim_cur / 8 && size > SMALLEST)
            size /= 2;
    while (!sett__space_reserve(&sett__addresses, size) && size > SMALLEST)
        size /= 2;
}

sett__address_space *sett__space_get(void)
{
    pthread_once(&forks, at_fork);
    pthread_mutex_lock(&sett__addresses.lock);
    if (!sett__addresses.size) /* also where the builds before this one found no addresses */
        reserve();
    pthread_mutex_unlock(&sett__addresses.lock);
    return &sett__addresses;
}

/* ---- giving out ------------------------------------------------------------------------------- */
static char *address(const sett__address_space *s, size_t grain)
{
    return (char *)s->base + grain * GRAIN;
}

/* Its memory goes back to the system, its addresses do not. */
static void discard(const sett__address_space *s, size_t segment)
{
    char *p = address(s, segment * GRAINS);
    if (mmap(p, SEGMENT, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
        madvise(p, SEGMENT, MADV_DONTNEED);
}

/* The table of a segment that nobody uses is zeros, which need no memory where they fill a page: so the table does not
 * grow with what was recorded. */
static void forget_owners(sett__address_space *s, size_t segment)
{
    size_t bytes = GRAINS * sizeof *s->owner;
    if ((size_t)sysconf(_SC_PAGESIZE) == bytes)
        madvise((void *)(s->owner + segment * GRAINS), bytes, MADV_DONTNEED);
}

/* Nobody uses it any more. Its memory waits for the next segment: to fault in fresh pages would take as long as to record. */
static void set_free(sett__address_space *s, size_t segment)
{
    OPEN(address(s, segment * GRAINS), SEGMENT);
    forget_owners(s, segment);
    if (s->n_spare < SETT__COUNT(s->spare))
        s->spare[s->n_spare++] = (uint32_t)segment;
    else
        discard(s, segment);
}

/* Is it one of those whose memory waits? It is no longer. */
static bool take_back(sett__address_space *s, size_t segment)
{
    for (size_t i = 0; i < s->n_spare; i++)
        if (s->spare[i] == segment) {
            s->spare[i] = s->spare[--s->n_spare];
            return true;
        }
    return false;
}

/* The pages of a segment that waits, at another address. False: there is none, or the system does not move it. */
static bool move_in(sett__address_space *s, char *to)
{
    if (!s->n_spare)
        return false;
    size_t from = s->spare[--s->n_spare];
    void *p = MAP_FAILED;
#ifdef MREMAP_DONTUNMAP
    p = mremap(address(s, from * GRAINS), SEGMENT, SEGMENT, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, to);
#endif
    discard(s, from);
    return p == to;
}

/* The segment that the next grain is in, if some of it was given out; SIZE_MAX: none is begun. */
static size_t begun(const sett__address_space *s)
{
    return s->at % GRAINS ? s->at / GRAINS : SIZE_MAX;
}

/* Segments in a row that nobody uses, from the next one on and once around. */
static size_t find(const sett__address_space *s, size_t n)
{
    size_t all = s->size / SEGMENT, first = (s->at + GRAINS - 1) / GRAINS;
    for (size_t tries = 0, run = 0; tries < all + n && n <= all; tries++, first++) {
        if (first >= all)
            first = 0, run = 0;
        run = s->used[first] ? 0 : run + 1;
        if (run == n)
            return first + 1 - n;
    }
    return SIZE_MAX;
}

static bool enter(sett__address_space *s, size_t n)
{
    size_t last = begun(s), segments = (n + GRAINS - 1) / GRAINS, first = find(s, segments), fresh = 0;
    atomic_store(&s->full, first == SIZE_MAX);
    if (first == SIZE_MAX)
        return false;
    if (last != SIZE_MAX && !s->used[last])
        set_free(s, last);
    s->at = first * GRAINS;
    for (size_t i = first; i < first + segments; i++) {
        char *p = address(s, i * GRAINS);
        if (take_back(s, i) || move_in(s, p))
            continue;
        if (mprotect(p, SEGMENT, PROT_READ | PROT_WRITE))
            return false;
        fresh++;
    }
    if (fresh == segments && segments > 1)
        sett__huge_pages(address(s, first * GRAINS), segments * SEGMENT);
    return true;
}

static void count(sett__address_space *s, size_t at, size_t n, sett_build *owner, bool in)
{
    for (size_t i = at; i < at + n; i++) {
        atomic_store_explicit(&s->owner[i], owner, memory_order_relaxed);
        s->used[i / GRAINS] += in ? 1 : UINT32_MAX;
    }
}

void *sett__space_take(sett__address_space *s, size_t bytes, sett_build *owner)
{
    size_t n = (bytes + GRAIN - 1) / GRAIN;
    char *p = NULL;
    pthread_mutex_lock(&s->lock);
    if ((s->at % GRAINS && s->at % GRAINS + n <= GRAINS) || enter(s, n)) {
        p = address(s, s->at);
        count(s, s->at, n, owner ? owner : (sett_build *)p, true);
        s->at += n;
        OPEN(p, n * GRAIN);
    }
    pthread_mutex_unlock(&s->lock);
    return p;
}

/* What was not used of the last piece is given out next. */
void sett__space_give(sett__address_space *s, void *p, size_t bytes, size_t used)
{
    size_t at = ((uintptr_t)p - s->base) / GRAIN, n = (bytes + GRAIN - 1) / GRAIN;
    pthread_mutex_lock(&s->lock);
    count(s, at, n, NULL, false);
    CLOSE(p, n * GRAIN);
    if (s->at == at + n && at % GRAINS + n <= GRAINS)
        s->at = at + (used + GRAIN - 1) / GRAIN;
    for (size_t i = at / GRAINS; i <= (at + n - 1) / GRAINS; i++)
        if (!s->used[i] && i != begun(s))
            set_free(s, i);
    pthread_mutex_unlock(&s->lock);
}
