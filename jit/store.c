/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine has in memory: kernels by slot, kernels by what their caller will ask with (the memo), and the
 * compiles under way. Kernels and memos are found without a lock; the rest has one, never held while anything is recorded,
 * read or compiled. */
#include "jit.h"
#include <stdlib.h>
#include <string.h>

typedef struct slot_key {
    sett__digest slot;
    uint8_t ptx_only;
} slot_key;

struct sett__flight {
    sett__flight *next;
    slot_key key;
    bool landed;
    int waiting;
    sett_kernel *kernel; /* one reference for each waiter */
    sett_status status;
    sett_error error;
    pthread_cond_t done;
};

/* Kernels by digest. Readers take no lock: no kernel leaves before the engine closes, a place is stored after what it names,
 * and tables that were outgrown stay until the end. A place is one word, so that a million of them are little beside a
 * machine's last cache; the digest is in the kernel's handle, beside the count of references that a hit adds to: with many
 * kernels a hit waits for that one line of memory. */
enum { PLACE_INDEX = (1 << SETT__HEAD_BITS) - 1 }; /* of a place: its handle's index and 1; above, bits of the digest. 0: empty */
typedef struct places {
    struct places *older;
    size_t cap; /* a power of two; half of them are empty */
    atomic_uint at[];
} places;
typedef struct kernel_map {
    _Atomic(places *) now;
    size_t count;
    bool by_key; /* not by slot */
} kernel_map;

/* What a caller asked with and what it got. It stays until the engine closes. */
typedef struct memo {
    sett_kernel *kernel; /* a reference */
    size_t user_size;
    sett__memo_head head;
    unsigned char user[];
} memo;

/* Memos by all that was asked with: as places, but that one says beside which memo it names, and its kernel. */
typedef struct memo_place {
    _Atomic(memo *) at; /* NULL: empty; stored last */
    uint32_t hash, index;
} memo_place;
typedef struct memo_places {
    struct memo_places *older;
    size_t cap; /* a power of two; half of them are empty */
    memo_place place[];
} memo_places;

struct sett__kernels {
    sett__heads *heads;
    kernel_map slots;
    kernel_map cpu; /* kernels of the CPU by public key, which is not their slot */
    _Atomic(memo_places *) memos;
    pthread_mutex_t lock;
    size_t n_memo;
    sett__flight *flights;
};

/* ---- maps ------------------------------------------------------------------------------ */
static uint64_t digest_hash(const slot_key *k)
{
    uint64_t h;
    memcpy(&h, k->slot.b, sizeof h); /* a digest is as random as a hash can be */
    return h ^ k->ptx_only;
}

static slot_key key_of(const kernel_map *m, const sett_kernel *k)
{
    return m->by_key ? (slot_key){*sett__kernel_key(k), false} : (slot_key){k->slot, k->ptx_only};
}

static bool has_key(const kernel_map *m, const sett_kernel *k, const slot_key *key)
{
    return m->by_key ? !memcmp(sett__kernel_key(k), &key->slot, sizeof key->slot)
                     : !memcmp(&k->slot, &key->slot, sizeof key->slot) && k->ptx_only == key->ptx_only;
}

static uint32_t mark_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32) & ~(uint32_t)PLACE_INDEX; /* where a place lies comes of the low bits */
}

/* refused: the one whose code the driver would not load. It stays in its place, as readers take no lock, and is passed over. */
static SETT__HOT sett_kernel *map_look_for(const kernel_map *m, const sett__heads *heads, const slot_key *k, bool refused)
{
    const places *p = atomic_load_explicit(&m->now, memory_order_acquire);
    uint64_t h = digest_hash(k);
    for (size_t i = h; p; i++) {
        uint32_t at = atomic_load_explicit(&p->at[i & (p->cap - 1)], memory_order_acquire);
        if (!at)
            return NULL;
        if (mark_of(h) != (at & ~(uint32_t)PLACE_INDEX))
            continue;
        sett_kernel *kernel = sett__head_at(heads, (at & PLACE_INDEX) - 1);
        if (has_key(m, kernel, k) && atomic_load_explicit(&kernel->refused, memory_order_relaxed) == refused)
            return kernel;
    }
    return NULL;
}

static SETT__HOT sett_kernel *map_look(const kernel_map *m, const sett__heads *heads, const slot_key *k)
{
    return map_look_for(m, heads, k, false);
}

/* Under the lock, as all that writes. */
static void map_put(places *p, uint64_t hash, uint32_t index)
{
    size_t i = hash & (p->cap - 1);
    while (atomic_load_explicit(&p->at[i], memory_order_relaxed))
        i = (i + 1) & (p->cap - 1);
    atomic_store_explicit(&p->at[i], mark_of(hash) | (index + 1), memory_order_release);
}

/* The kernel that a place names; NULL: it is empty. */
static sett_kernel *kernel_at(const places *p, size_t i, const sett__heads *heads)
{
    uint32_t at = atomic_load_explicit(&p->at[i], memory_order_relaxed);
    return at ? sett__head_at(heads, (at & PLACE_INDEX) - 1) : NULL;
}

static bool map_widen(kernel_map *m, const sett__heads *heads)
{
    places *old = atomic_load_explicit(&m->now, memory_order_relaxed);
    size_t cap = old ? 2 * old->cap : 64;
    places *p = sett__mem_zeroed(NULL, sizeof *p + cap * sizeof *p->at);
    if (!p)
        return false;
    p->cap = cap;
    p->older = old;
    for (size_t i = 0; old && i < old->cap; i++) {
        const sett_kernel *k = kernel_at(old, i, heads);
        const slot_key key = k ? key_of(m, k) : (slot_key){0};
        if (k)
            map_put(p, digest_hash(&key), (atomic_load_explicit(&old->at[i], memory_order_relaxed) & PLACE_INDEX) - 1);
    }
    atomic_store_explicit(&m->now, p, memory_order_release);
    return true;
}

/* Takes a reference of its own. Without memory the kernel is simply not found again. */
static void map_insert(kernel_map *m, sett__heads *heads, sett_kernel *kernel)
{
    const places *p = atomic_load_explicit(&m->now, memory_order_relaxed);
    const slot_key k = key_of(m, kernel);
    const uint32_t index = sett__head_index(heads, kernel);
    if (index >= PLACE_INDEX || ((!p || 2 * (m->count + 1) > p->cap) && !map_widen(m, heads) && (!p || m->count + 2 > p->cap)))
        return;
    m->count++;
    sett_kernel_retain(kernel);
    map_put(atomic_load_explicit(&m->now, memory_order_relaxed), digest_hash(&k), index);
}

static void map_drop(kernel_map *m, const sett__heads *heads)
{
    places *p = atomic_load_explicit(&m->now, memory_order_relaxed);
    for (size_t i = 0; p && i < p->cap; i++)
        sett_kernel_release(kernel_at(p, i, heads));
    for (places *older; p; p = older) {
        older = p->older;
        free(p);
    }
}

/* ---- memos ------------------------------------------------------------------------------ */
static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

uint32_t sett__memo_hash(const sett__memo_key *k)
{
    const unsigned char *p = k->user;
    uint64_t word, h = mix(k->head.body, k->head.options) ^ mix(k->head.target, k->user_size << 1);
    size_t left = k->user_size;
    for (; left >= sizeof word; left -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        h = mix(h, word);
    }
    for (; left; left--)
        h = mix(h, *p++);
    return (uint32_t)(mix(h, h >> 32) >> 32); /* the last word too must reach each bit that a place is chosen by */
}

static bool is_memo(const memo *m, const sett__memo_key *k)
{
    return m->user_size == k->user_size && !memcmp(&m->head, &k->head, sizeof m->head) && !memcmp(m->user, k->user, k->user_size);
}

/* One whose kernel was refused is passed over. */
static SETT__HOT sett_kernel *memo_look(const memo_places *p, const sett__heads *heads, uint32_t h, const sett__memo_key *k)
{
    for (size_t i = h; p; i++) {
        const memo_place *at = &p->place[i & (p->cap - 1)];
        const memo *m = atomic_load_explicit(&at->at, memory_order_acquire);
        if (!m)
            return NULL;
        if (at->hash != h)
            continue;
        sett_kernel *kernel = sett__head_at(heads, at->index);
        __builtin_prefetch(kernel);
        if (is_memo(m, k) && !atomic_load_explicit(&kernel->refused, memory_order_relaxed))
            return kernel;
    }
    return NULL;
}

/* Under the lock, as all that writes. */
static void memo_put(memo_places *p, memo *m, uint32_t hash, uint32_t index)
{
    size_t i = hash;
    while (atomic_load_explicit(&p->place[i & (p->cap - 1)].at, memory_order_relaxed))
        i++;
    memo_place *to = &p->place[i & (p->cap - 1)];
    to->hash = hash, to->index = index;
    atomic_store_explicit(&to->at, m, memory_order_release);
}

static memo_places *memo_widen(sett__kernels *ks)
{
    memo_places *old = atomic_load_explicit(&ks->memos, memory_order_relaxed);
    size_t cap = old ? 2 * old->cap : 64;
    memo_places *p = sett__mem_zeroed(NULL, sizeof *p + cap * sizeof *p->place);
    if (!p)
        return NULL;
    p->cap = cap;
    p->older = old;
    for (size_t i = 0; old && i < old->cap; i++) {
        memo *m = atomic_load_explicit(&old->place[i].at, memory_order_relaxed);
        if (m)
            memo_put(p, m, old->place[i].hash, old->place[i].index);
    }
    atomic_store_explicit(&ks->memos, p, memory_order_release);
    return p;
}

enum { MEMOS_FREE = 4096, MEMOS_A_KERNEL = 8 };
/* Without memory it is not remembered, nor where callers say the same in ever other bytes (padding). */
static void memo_insert(sett__kernels *ks, const sett__memo_key *k, uint32_t hash, sett_kernel *kernel)
{
    memo_places *p = atomic_load_explicit(&ks->memos, memory_order_relaxed);
    if (ks->n_memo >= MEMOS_FREE + MEMOS_A_KERNEL * ks->slots.count)
        return;
    if (!p || 2 * (ks->n_memo + 1) > p->cap)
        p = memo_widen(ks);
    memo *m = p ? malloc(sizeof *m + k->user_size) : NULL;
    if (!m)
        return;
    *m = (memo){.kernel = sett_kernel_retain(kernel), .user_size = k->user_size, .head = k->head};
    memcpy(m->user, k->user, k->user_size);
    memo_put(p, m, hash, sett__head_index(ks->heads, kernel));
    ks->n_memo++;
}

static void memo_drop(memo_places *p)
{
    for (size_t i = 0; p && i < p->cap; i++) {
        memo *m = atomic_load_explicit(&p->place[i].at, memory_order_relaxed);
        if (m)
            sett_kernel_release(m->kernel);
        free(m);
    }
    for (memo_places *older; p; p = older) {
        older = p->older;
        free(p);
    }
}

/* ---- opening and closing ------------------------------------------------------------------- */
sett_status sett__kernels_open(sett__kernels **out, sett__heads *heads, sett_error *err)
{
    sett__kernels *ks = calloc(1, sizeof *ks);
    *out = NULL;
    if (!ks || pthread_mutex_init(&ks->lock, NULL)) {
        free(ks);
        return sett__error(err, SETT_E_MEMORY, "no memory for an engine");
    }
    ks->cpu.by_key = true;
    ks->heads = heads;
    *out = ks;
    return SETT_OK;
}

void sett__kernels_close(sett__kernels *ks)
{
    if (!ks)
        return;
    memo_drop(atomic_load_explicit(&ks->memos, memory_order_relaxed));
    map_drop(&ks->cpu, ks->heads);
    map_drop(&ks->slots, ks->heads);
    pthread_mutex_destroy(&ks->lock);
    free(ks);
}

/* ---- by slot ----------------------------------------------------------------------------------- */
static slot_key make_slot_key(const sett__digest *slot, bool ptx_only)
{
    return (slot_key){*slot, ptx_only};
}

static_assert(sizeof(slot_key) == 33, "no padding: it is compared as bytes");

static sett__flight *new_flight(sett__kernels *ks, const slot_key *k)
{
    sett__flight *f = calloc(1, sizeof *f);
    if (!f || pthread_cond_init(&f->done, NULL)) {
        free(f);
        return NULL;
    }
    f->key = *k;
    f->next = ks->flights;
    ks->flights = f;
    return f;
}

sett_status sett__kernels_find(
    sett__kernels *ks, const sett__digest *slot, bool ptx_only, sett__found *found, sett_error *err)
{
    const slot_key k = make_slot_key(slot, ptx_only);
    *found = (sett__found){.kernel = sett_kernel_retain(map_look(&ks->slots, ks->heads, &k))};
    if (found->kernel)
        return SETT_OK;
    pthread_mutex_lock(&ks->lock);
    found->kernel = sett_kernel_retain(map_look(&ks->slots, ks->heads, &k)); /* it may have landed meanwhile */
    for (sett__flight *f = ks->flights; f && !found->kernel && !found->flight; f = f->next)
        if (!memcmp(&f->key, &k, sizeof k)) {
            found->flight = f;
            f->waiting++;
        }
    if (!found->kernel && !found->flight) {
        found->flight = new_flight(ks, &k);
        found->lead = true;
    }
    pthread_mutex_unlock(&ks->lock);
    return found->kernel || found->flight ? SETT_OK : sett__error(err, SETT_E_MEMORY, "no memory for a compile");
}

uint64_t sett__kernels_held(sett__kernels *ks)
{
    pthread_mutex_lock(&ks->lock);
    uint64_t n = ks->slots.count;
    pthread_mutex_unlock(&ks->lock);
    return n;
}

SETT__HOT sett_kernel *sett__kernels_peek(sett__kernels *ks, const sett__digest *key)
{
    const slot_key k = make_slot_key(key, false);
    sett_kernel *kernel = map_look(&ks->slots, ks->heads, &k);
    return sett_kernel_retain(kernel ? kernel : map_look(&ks->cpu, ks->heads, &k));
}

bool sett__kernels_refused(sett__kernels *ks, const sett__digest *key)
{
    const slot_key k = make_slot_key(key, false);
    return map_look_for(&ks->slots, ks->heads, &k, true) != NULL;
}

bool sett__kernels_refuse(sett_kernel *kernel)
{
    return !atomic_exchange(&kernel->refused, true);
}

/* Called with the lock. */
static void adopt(sett__kernels *ks, sett_kernel *kernel)
{
    const slot_key k = key_of(&ks->slots, kernel), by_key = key_of(&ks->cpu, kernel);
    if (!map_look(&ks->slots, ks->heads, &k))
        map_insert(&ks->slots, ks->heads, kernel);
    if (kernel->cpu && !map_look(&ks->cpu, ks->heads, &by_key))
        map_insert(&ks->cpu, ks->heads, kernel);
}

/* ---- compiles under way ---------------------------------------------------------------------------- */
static void free_flight(sett__flight *f)
{
    pthread_cond_destroy(&f->done);
    free(f);
}

/* Takes the leader's flight, not its reference to the kernel. */
void sett__kernels_land(
    sett__kernels *ks, sett__flight *f, sett_kernel *kernel, sett_status status, const sett_error *err)
{
    pthread_mutex_lock(&ks->lock);
    sett__flight **link = &ks->flights;
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    if (kernel)
        adopt(ks, kernel);
    for (int i = 0; i < f->waiting; i++)
        sett_kernel_retain(kernel);
    f->kernel = kernel;
    f->status = status;
    if (err)
        f->error = *err;
    f->landed = true;
    bool last = !f->waiting;
    pthread_cond_broadcast(&f->done);
    pthread_mutex_unlock(&ks->lock);
    if (last)
        free_flight(f);
}

sett_status sett__kernels_wait(sett__kernels *ks, sett__flight *f, sett_kernel **kernel, sett_error *err)
{
    pthread_mutex_lock(&ks->lock);
    while (!f->landed)
        pthread_cond_wait(&f->done, &ks->lock);
    sett_status s = f->status;
    *kernel = f->kernel;
    if (s && err)
        *err = f->error;
    bool last = !--f->waiting;
    pthread_mutex_unlock(&ks->lock);
    if (last)
        free_flight(f);
    return s;
}

/* ---- the memo ------------------------------------------------------------------------------------------ */
SETT__HOT sett_kernel *sett__memo_get(sett__kernels *ks, const sett__memo_key *k)
{
    return sett_kernel_retain(memo_look(atomic_load_explicit(&ks->memos, memory_order_acquire), ks->heads, sett__memo_hash(k), k));
}

void sett__memo_put(sett__kernels *ks, const sett__memo_key *k, sett_kernel *kernel)
{
    uint32_t hash = sett__memo_hash(k);
    pthread_mutex_lock(&ks->lock);
    if (!memo_look(atomic_load_explicit(&ks->memos, memory_order_relaxed), ks->heads, hash, k))
        memo_insert(ks, k, hash, kernel);
    pthread_mutex_unlock(&ks->lock);
}
