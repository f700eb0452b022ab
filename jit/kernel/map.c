/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine has in memory: kernels by slot, kernels by what their caller will ask with (the memo), and the
 * compiles under way. Kernels and memos are found without a lock; the rest has one, never held while anything is recorded,
 * read or compiled. */
#include "kernel.h"
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

/* Kernels and memos by hash. Readers take no lock: no kernel leaves before the engine closes, a place is stored after what it
 * names, and tables that were outgrown stay until the end. A place is one word, so that a million of them are little beside a
 * machine's last cache; what is compared is in the line that it names: the digest in the kernel's handle, beside the count of
 * references that a hit adds to. With many kernels a hit waits for that one line of memory. */
enum { PLACE_INDEX = (1 << SETT__HEAD_BITS) - 1 }; /* of a place: what it names and 1; above, bits of the hash. 0: empty */
typedef struct places {
    struct places *older;
    size_t cap; /* a power of two; half of them are empty */
    atomic_uint at[];
} places;
typedef enum map_id { BY_SLOT, BY_KEY, BY_MEMO, MAPS } map_id;
typedef struct map {
    _Atomic(places *) now;
    size_t count;
    map_id by;
} map;

/* What a caller asked with and what it got, in one line. It stays until the engine closes. A kernel's first lies in a table of
 * lines beside that of the handles, by the handle's index: a place names both, and a hit waits for both at once. Its others are
 * numbered from FURTHER on. */
enum { FURTHER = 1 << (SETT__HEAD_BITS - 1), NEAR_BYTES = 32 };
typedef struct memo {
    sett__memo_head head;
    uint32_t index;     /* of the kernel's handle and 1; 0: there is none yet */
    uint32_t user_size;
    union {
        unsigned char near[NEAR_BYTES];
        unsigned char *far; /* malloc'ed, of what is larger */
    } user;
} memo;
static_assert(sizeof(memo) == 64, "one line");

struct sett__kernels {
    sett__heads *heads;
    map of[MAPS]; /* BY_KEY: kernels of the CPU alone, whose public key is not their slot */
    memo *memos[2][SETT__HEAD_CHUNKS]; /* as the handles' chunks; further ones */
    uint32_t n_further;
    pthread_mutex_t lock;
    sett__flight *flights;
};

/* ---- hashes ---------------------------------------------------------------------------- */
static uint64_t mix(uint64_t h, uint64_t word)
{
    h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
    return h ^ h >> 29;
}

uint64_t sett__memo_hash(const sett__memo_key *k)
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
    h = mix(h, h >> 32) >> 32; /* the last word too must reach each bit that a place is chosen by */
    return h << 32 | h;        /* and each of its mark */
}

static const unsigned char *bytes_of(const memo *m)
{
    return m->user_size > NEAR_BYTES ? m->user.far : m->user.near;
}

static uint64_t hash_of_memo(const memo *m)
{
    const sett__memo_key k = {m->head, bytes_of(m), m->user_size};
    return sett__memo_hash(&k);
}

/* ---- maps ------------------------------------------------------------------------------ */
static uint64_t digest_hash(const slot_key *k)
{
    uint64_t h;
    memcpy(&h, k->slot.b, sizeof h); /* a digest is as random as a hash can be */
    return h ^ k->ptx_only;
}

static slot_key key_of(map_id by, const sett_kernel *k)
{
    return by == BY_KEY ? (slot_key){*sett__kernel_key(k), false} : (slot_key){k->slot, k->ptx_only};
}

static bool has_key(map_id by, const sett_kernel *k, const slot_key *key)
{
    return by == BY_KEY ? !memcmp(sett__kernel_key(k), &key->slot, sizeof key->slot)
                        : !memcmp(&k->slot, &key->slot, sizeof key->slot) && k->ptx_only == key->ptx_only;
}

static uint32_t mark_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32) & ~(uint32_t)PLACE_INDEX; /* where a place lies comes of the low bits */
}

/* refused: the one whose code the driver would not load. It stays in its place, as readers take no lock, and is passed over. */
static SETT__HOT sett_kernel *look_for(const sett__kernels *ks, map_id by, const slot_key *k, bool refused)
{
    const places *p = atomic_load_explicit(&ks->of[by].now, memory_order_acquire);
    uint64_t h = digest_hash(k);
    for (size_t i = h; p; i++) {
        uint32_t at = atomic_load_explicit(&p->at[i & (p->cap - 1)], memory_order_acquire);
        if (!at)
            return NULL;
        if (mark_of(h) != (at & ~(uint32_t)PLACE_INDEX))
            continue;
        sett_kernel *kernel = sett__head_at(ks->heads, (at & PLACE_INDEX) - 1);
        if (has_key(by, kernel, k) && atomic_load_explicit(&kernel->refused, memory_order_relaxed) == refused)
            return kernel;
    }
    return NULL;
}

static SETT__HOT sett_kernel *look(const sett__kernels *ks, map_id by, const slot_key *k)
{
    return look_for(ks, by, k, false);
}

static memo *memo_at(const sett__kernels *ks, uint32_t index)
{
    uint32_t place;
    bool further = index >= FURTHER;
    unsigned c = sett__head_chunk(index - further * FURTHER, &place);
    return ks->memos[further][c] + place;
}

/* Of what has that index in a map. */
static uint64_t hash_at(const sett__kernels *ks, map_id by, uint32_t index)
{
    if (by == BY_MEMO)
        return hash_of_memo(memo_at(ks, index));
    const slot_key key = key_of(by, sett__head_at(ks->heads, index));
    return digest_hash(&key);
}

/* Under the lock, as all that writes. */
static void put(places *p, uint64_t hash, uint32_t index)
{
    size_t i = hash & (p->cap - 1);
    while (atomic_load_explicit(&p->at[i], memory_order_relaxed))
        i = (i + 1) & (p->cap - 1);
    atomic_store_explicit(&p->at[i], mark_of(hash) | (index + 1), memory_order_release);
}

/* The index that a place names; UINT32_MAX: it is empty. */
static uint32_t index_in(const places *p, size_t i)
{
    uint32_t at = atomic_load_explicit(&p->at[i], memory_order_relaxed);
    return at ? (at & PLACE_INDEX) - 1 : UINT32_MAX;
}

static bool widen(const sett__kernels *ks, map *m)
{
    places *old = atomic_load_explicit(&m->now, memory_order_relaxed);
    size_t cap = old ? 2 * old->cap : 64;
    places *p = sett__mem_zeroed(NULL, sizeof *p + cap * sizeof *p->at);
    if (!p)
        return false;
    p->cap = cap;
    p->older = old;
    for (size_t i = 0; old && i < old->cap; i++) {
        uint32_t index = index_in(old, i);
        if (index != UINT32_MAX)
            put(p, hash_at(ks, m->by, index), index);
    }
    atomic_store_explicit(&m->now, p, memory_order_release);
    return true;
}

/* Is there room for one more in the map? Without memory it is filled to its last but one place. */
static bool room_in(const sett__kernels *ks, map *m)
{
    const places *p = atomic_load_explicit(&m->now, memory_order_relaxed);
    return (p && 2 * (m->count + 1) <= p->cap) || widen(ks, m) || (p && m->count + 2 <= p->cap);
}

/* After room_in(). */
static void insert(map *m, uint64_t hash, uint32_t index)
{
    m->count++;
    put(atomic_load_explicit(&m->now, memory_order_relaxed), hash, index);
}

/* Takes a reference of its own. Without memory the kernel is simply not found again. */
static void insert_kernel(sett__kernels *ks, map_id by, sett_kernel *kernel)
{
    const slot_key k = key_of(by, kernel);
    const uint32_t index = sett__head_index(ks->heads, kernel);
    if (index < PLACE_INDEX && room_in(ks, &ks->of[by]))
        insert(&ks->of[by], digest_hash(&k), index), sett_kernel_retain(kernel);
}

static void drop(sett__kernels *ks, map *m)
{
    places *p = atomic_load_explicit(&m->now, memory_order_relaxed);
    for (size_t i = 0; p && i < p->cap; i++) {
        uint32_t index = index_in(p, i);
        if (index == UINT32_MAX)
            continue;
        const memo *one = m->by == BY_MEMO ? memo_at(ks, index) : NULL;
        sett_kernel_release(sett__head_at(ks->heads, one ? one->index - 1 : index));
        if (one && one->user_size > NEAR_BYTES)
            free(one->user.far);
    }
    for (places *older; p; p = older) {
        older = p->older;
        free(p);
    }
}

/* ---- memos ------------------------------------------------------------------------------ */
static bool is_memo(const memo *m, const sett__memo_key *k)
{
    return !memcmp(&m->head, &k->head, sizeof m->head) && m->user_size == k->user_size && !memcmp(bytes_of(m), k->user, k->user_size);
}

/* One whose kernel was refused is passed over. */
static SETT__HOT sett_kernel *memo_look(const sett__kernels *ks, uint64_t h, const sett__memo_key *k)
{
    const places *p = atomic_load_explicit(&ks->of[BY_MEMO].now, memory_order_acquire);
    for (size_t i = h; p; i++) {
        uint32_t at = atomic_load_explicit(&p->at[i & (p->cap - 1)], memory_order_acquire);
        if (!at)
            return NULL;
        if (mark_of(h) != (at & ~(uint32_t)PLACE_INDEX))
            continue;
        const uint32_t index = (at & PLACE_INDEX) - 1;
        const memo *m = memo_at(ks, index);
        sett_kernel *kernel = index < FURTHER ? sett__head_at(ks->heads, index) : sett__head_at(ks->heads, m->index - 1);
        __builtin_prefetch(kernel, 1);
        if (is_memo(m, k) && !atomic_load_explicit(&kernel->refused, memory_order_relaxed))
            return kernel;
    }
    return NULL;
}

/* A line on a line's bound, in pages that are touched when they are used; where they are large, in large ones. */
static memo *new_lines(size_t n)
{
    char *block = sett__mem_zeroed(NULL, (n + 1) * sizeof(memo));
    if (!block)
        return NULL;
    char *line = block + sizeof(memo) - (uintptr_t)block % sizeof(memo);
    memcpy(line - sizeof block, &block, sizeof block); /* malloc's own bound leaves that much before it */
    return (memo *)(void *)line;
}

static void free_lines(memo *line)
{
    void *block = NULL;
    if (line)
        memcpy(&block, (char *)line - sizeof block, sizeof block);
    free(block);
}

/* NULL: there is one already, no memory, or no more numbers. */
static memo *free_line(sett__kernels *ks, bool further, uint32_t index)
{
    uint32_t place;
    unsigned c = sett__head_chunk(index, &place);
    memo **chunk = &ks->memos[further][c];
    if (index >= (further ? PLACE_INDEX - FURTHER : FURTHER) || (!*chunk && !(*chunk = new_lines(sett__heads_in(c)))))
        return NULL;
    return (*chunk)[place].index ? NULL : *chunk + place;
}

enum { MEMOS_FREE = 4096, MEMOS_A_KERNEL = 8 };
/* Without memory it is not remembered, nor where callers say the same in ever other bytes (padding). */
static void memo_insert(sett__kernels *ks, const sett__memo_key *k, uint64_t hash, sett_kernel *kernel)
{
    map *in = &ks->of[BY_MEMO];
    const uint32_t head = sett__head_index(ks->heads, kernel);
    if (in->count >= MEMOS_FREE + MEMOS_A_KERNEL * ks->of[BY_SLOT].count || k->user_size > UINT32_MAX || head >= PLACE_INDEX ||
        !room_in(ks, in))
        return;
    memo *beside = free_line(ks, false, head), *m = beside ? beside : free_line(ks, true, ks->n_further);
    unsigned char *far = m && k->user_size > NEAR_BYTES ? malloc(k->user_size) : NULL;
    if (!m || (!far && k->user_size > NEAR_BYTES))
        return;
    *m = (memo){.head = k->head, .user_size = (uint32_t)k->user_size, .index = head + 1};
    if (far)
        m->user.far = far;
    memcpy(far ? far : m->user.near, k->user, k->user_size);
    insert(in, hash, beside ? head : FURTHER + ks->n_further++);
    sett_kernel_retain(kernel);
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
    for (map_id by = 0; by < MAPS; by++)
        ks->of[by].by = by;
    ks->heads = heads;
    *out = ks;
    return SETT_OK;
}

void sett__kernels_close(sett__kernels *ks)
{
    if (!ks)
        return;
    for (map_id by = MAPS; by--;)
        drop(ks, &ks->of[by]);
    for (unsigned c = 0; c < SETT__HEAD_CHUNKS; c++)
        free_lines(ks->memos[0][c]), free_lines(ks->memos[1][c]);
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
    *found = (sett__found){.kernel = sett_kernel_retain(look(ks, BY_SLOT, &k))};
    if (found->kernel)
        return SETT_OK;
    pthread_mutex_lock(&ks->lock);
    found->kernel = sett_kernel_retain(look(ks, BY_SLOT, &k)); /* it may have landed meanwhile */
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
    uint64_t n = ks->of[BY_SLOT].count;
    pthread_mutex_unlock(&ks->lock);
    return n;
}

SETT__HOT sett_kernel *sett__kernels_peek(sett__kernels *ks, const sett__digest *key)
{
    const slot_key k = make_slot_key(key, false);
    sett_kernel *kernel = look(ks, BY_SLOT, &k);
    return sett_kernel_retain(kernel ? kernel : look(ks, BY_KEY, &k));
}

bool sett__kernels_refused(sett__kernels *ks, const sett__digest *key)
{
    const slot_key k = make_slot_key(key, false);
    return look_for(ks, BY_SLOT, &k, true) != NULL;
}

bool sett__kernels_refuse(sett_kernel *kernel)
{
    return !atomic_exchange(&kernel->refused, true);
}

/* Called with the lock. The one of its slot that all will find from now on. */
static sett_kernel *adopt(sett__kernels *ks, sett_kernel *kernel)
{
    const slot_key k = key_of(BY_SLOT, kernel), by_key = key_of(BY_KEY, kernel);
    sett_kernel *held = look(ks, BY_SLOT, &k);
    if (held)
        return held;
    insert_kernel(ks, BY_SLOT, kernel);
    if (kernel->cpu && !look(ks, BY_KEY, &by_key))
        insert_kernel(ks, BY_KEY, kernel);
    return kernel;
}

/* ---- compiles under way ---------------------------------------------------------------------------- */
static void free_flight(sett__flight *f)
{
    pthread_cond_destroy(&f->done);
    free(f);
}

void sett__kernels_land(
    sett__kernels *ks, sett__flight *f, sett_kernel **to, sett_status status, const sett_error *err)
{
    sett_kernel *made = status ? NULL : *to, *kernel = NULL;
    pthread_mutex_lock(&ks->lock);
    sett__flight **link = &ks->flights;
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    if (made)
        *to = kernel = adopt(ks, made);
    for (int i = kernel == made; i < f->waiting + 1; i++) /* each who waits, and the leader, who has made's */
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
    if (kernel != made)
        sett_kernel_release(made);
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
    return sett_kernel_retain(memo_look(ks, sett__memo_hash(k), k));
}

void sett__memo_put(sett__kernels *ks, const sett__memo_key *k, sett_kernel *kernel)
{
    uint64_t hash = sett__memo_hash(k);
    pthread_mutex_lock(&ks->lock);
    if (!memo_look(ks, hash, k))
        memo_insert(ks, k, hash, kernel);
    pthread_mutex_unlock(&ks->lock);
}
