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

/* A hash table of pointers, half of it empty. Readers take no lock: what was put in stays until the end, a place's item is stored
 * after its hash, and tables that were outgrown stay until the end too. Writers hold the lock. */
typedef struct place {
    uint64_t hash;
    _Atomic(void *) item; /* NULL: the place is empty */
} place;
typedef struct places {
    struct places *older;
    size_t cap; /* a power of two */
    place at[];
} places;
typedef struct table {
    _Atomic(places *) now;
    size_t count;
} table;

/* What a caller asked with and what it got. */
typedef struct memo {
    sett__memo_head head;
    sett_kernel *kernel;
    _Atomic(uint64_t) holds; /* sett__memo_key */
    size_t user_size;
    unsigned char user[];
} memo;

struct sett__kernels {
    table kernels; /* by slot; the first CPU kernel of a public key by that too */
    table memos;
    size_t held;
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
    h = mix(h, h >> 32);
    return h ^ h >> 32; /* the last word too must reach the low bits, which choose a place */
}

static uint64_t digest_hash(const slot_key *k)
{
    uint64_t h;
    memcpy(&h, k->slot.b, sizeof h); /* a digest is as random as a hash can be */
    return h ^ k->ptx_only;
}

/* ---- tables ---------------------------------------------------------------------------- */
/* The next item of this hash; *at begins as the hash. NULL: there is no other. */
static inline void *next_of(const places *p, uint64_t hash, uint64_t *at)
{
    void *item = NULL;
    bool found = false;
    while (p && !found) {
        const place *x = &p->at[(*at)++ & (p->cap - 1)];
        item = atomic_load_explicit(&x->item, memory_order_acquire);
        found = !item || x->hash == hash;
    }
    return item;
}

static void put(places *p, uint64_t hash, void *item)
{
    size_t i = hash & (p->cap - 1);
    while (atomic_load_explicit(&p->at[i].item, memory_order_relaxed))
        i = (i + 1) & (p->cap - 1);
    p->at[i].hash = hash;
    atomic_store_explicit(&p->at[i].item, item, memory_order_release);
}

static bool widen(table *t)
{
    places *old = atomic_load_explicit(&t->now, memory_order_relaxed);
    size_t cap = old ? 2 * old->cap : 64;
    places *p = sett__mem_zeroed(NULL, sizeof *p + cap * sizeof *p->at);
    if (!p)
        return false;
    p->cap = cap;
    p->older = old;
    for (size_t i = 0; old && i < old->cap; i++) {
        void *item = atomic_load_explicit(&old->at[i].item, memory_order_relaxed);
        if (item)
            put(p, old->at[i].hash, item);
    }
    atomic_store_explicit(&t->now, p, memory_order_release);
    return true;
}

/* Without memory a table is filled to its last but one place; false: it is full. */
static bool insert(table *t, uint64_t hash, void *item)
{
    const places *p = atomic_load_explicit(&t->now, memory_order_relaxed);
    if ((!p || 2 * (t->count + 1) > p->cap) && !widen(t) && (!p || t->count + 2 > p->cap))
        return false;
    t->count++;
    put(atomic_load_explicit(&t->now, memory_order_relaxed), hash, item);
    return true;
}

static void drop(table *t, void (*release)(void *))
{
    places *p = atomic_load_explicit(&t->now, memory_order_relaxed), *older;
    for (size_t i = 0; p && i < p->cap; i++)
        release(atomic_load_explicit(&p->at[i].item, memory_order_relaxed));
    for (; p; p = older) {
        older = p->older;
        free(p);
    }
}

/* ---- kernels --------------------------------------------------------------------------- */
static bool has_key(const sett_kernel *k, const slot_key *key)
{
    return k->ptx_only == key->ptx_only && (!memcmp(&k->slot, &key->slot, sizeof key->slot) ||
                                               (k->cpu && !memcmp(&k->rest->cpu->key, &key->slot, sizeof key->slot)));
}

/* refused: the one whose code the driver would not load. It stays in its place, as readers take no lock, and is passed over. */
static sett_kernel *look_for(const sett__kernels *ks, const slot_key *key, bool refused)
{
    const places *p = atomic_load_explicit(&ks->kernels.now, memory_order_acquire);
    const uint64_t hash = digest_hash(key);
    uint64_t at = hash;
    sett_kernel *k;
    while ((k = next_of(p, hash, &at)))
        if (has_key(k, key) && atomic_load_explicit(&k->refused, memory_order_relaxed) == refused)
            break;
    return k;
}

static sett_kernel *look(const sett__kernels *ks, const slot_key *k)
{
    return look_for(ks, k, false);
}

/* Takes a reference of its own. Without memory the kernel is simply not found again. */
static bool insert_kernel(sett__kernels *ks, const slot_key *key, sett_kernel *kernel)
{
    const bool put = insert(&ks->kernels, digest_hash(key), kernel);
    if (put)
        sett_kernel_retain(kernel);
    return put;
}

static void release_kernel(void *kernel)
{
    sett_kernel_release(kernel);
}

/* ---- memos ------------------------------------------------------------------------------ */
static bool is_memo(const memo *m, const sett__memo_key *k)
{
    return sett__memo_same(&(sett__memo_key){.head = m->head, .user = m->user, .user_size = m->user_size}, k);
}

/* The unloads are counted for bodies that can be unloaded alone: to count is as much as the rest of a hit. */
static bool still_holds(const memo *m)
{
    const uint64_t holds = atomic_load_explicit(&m->holds, memory_order_relaxed);
    return holds == SETT__ALWAYS || holds == sett__unloads();
}

/* One whose kernel was refused is passed over. only: that kernel's, whether or not it still holds. */
static memo *memo_look(const sett__kernels *ks, uint64_t hash, const sett__memo_key *k, const sett_kernel *only)
{
    const places *p = atomic_load_explicit(&ks->memos.now, memory_order_acquire);
    uint64_t at = hash;
    memo *m;
    while ((m = next_of(p, hash, &at)))
        if (is_memo(m, k) && !atomic_load_explicit(&m->kernel->refused, memory_order_relaxed) && (only ? m->kernel == only : still_holds(m)))
            break;
    return m;
}

enum { MEMOS_FREE = 4096, MEMOS_A_KERNEL = 8 };
/* Without memory it is not remembered, nor where callers say the same in ever other bytes (padding). */
static void memo_insert(sett__kernels *ks, const sett__memo_key *k, uint64_t hash, sett_kernel *kernel)
{
    memo *m = ks->memos.count < MEMOS_FREE + MEMOS_A_KERNEL * ks->held ? malloc(sizeof *m + k->user_size) : NULL;
    if (!m)
        return;
    *m = (memo){.head = k->head, .kernel = kernel, .holds = k->holds, .user_size = k->user_size};
    memcpy(m->user, k->user, k->user_size);
    if (insert(&ks->memos, hash, m))
        sett_kernel_retain(kernel);
    else
        free(m);
}

static void release_memo(void *item)
{
    const memo *m = item;
    if (m)
        sett_kernel_release(m->kernel);
    free(item);
}

/* ---- opening and closing ------------------------------------------------------------------- */
sett_status sett__kernels_open(sett__kernels **out, sett_error *err)
{
    sett__kernels *ks = calloc(1, sizeof *ks);
    *out = NULL;
    if (!ks || pthread_mutex_init(&ks->lock, NULL)) {
        free(ks);
        return sett__error(err, SETT_E_MEMORY, "no memory for an engine");
    }
    *out = ks;
    return SETT_OK;
}

void sett__kernels_close(sett__kernels *ks)
{
    if (!ks)
        return;
    drop(&ks->memos, release_memo);
    drop(&ks->kernels, release_kernel);
    pthread_mutex_destroy(&ks->lock);
    free(ks);
}

/* ---- by slot ----------------------------------------------------------------------------------- */
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
    const slot_key k = {*slot, ptx_only};
    *found = (sett__found){.kernel = sett_kernel_retain(look(ks, &k))};
    if (found->kernel)
        return SETT_OK;
    pthread_mutex_lock(&ks->lock);
    found->kernel = sett_kernel_retain(look(ks, &k)); /* it may have landed meanwhile */
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
    uint64_t n = ks->held;
    pthread_mutex_unlock(&ks->lock);
    return n;
}

sett_kernel *sett__kernels_peek(sett__kernels *ks, const sett__digest *key)
{
    const slot_key k = {*key, false};
    return sett_kernel_retain(look(ks, &k));
}

bool sett__kernels_refused(sett__kernels *ks, const sett__digest *key)
{
    const slot_key k = {*key, false};
    return look_for(ks, &k, true) != NULL;
}

bool sett__kernels_refuse(sett_kernel *kernel)
{
    return !atomic_exchange(&kernel->refused, true);
}

/* Called with the lock. The one of its slot that all will find from now on. */
static sett_kernel *adopt(sett__kernels *ks, sett_kernel *kernel)
{
    const slot_key slot = {kernel->slot, kernel->ptx_only}, key = {*sett__kernel_key(kernel), false};
    sett_kernel *held = look(ks, &slot);
    if (held)
        return held;
    ks->held += insert_kernel(ks, &slot, kernel);
    if (kernel->cpu && !look(ks, &key))
        insert_kernel(ks, &key, kernel);
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
sett_kernel *sett__memo_get(sett__kernels *ks, const sett__memo_key *k)
{
    const memo *m = memo_look(ks, sett__memo_hash(k), k, NULL);
    return m ? sett_kernel_retain(m->kernel) : NULL;
}

void sett__memo_put(sett__kernels *ks, const sett__memo_key *k, sett_kernel *kernel)
{
    uint64_t hash = sett__memo_hash(k);
    pthread_mutex_lock(&ks->lock);
    memo *old = memo_look(ks, hash, k, kernel); /* of before an unload that took another object */
    if (old)
        atomic_store_explicit(&old->holds, k->holds, memory_order_relaxed);
    else if (!memo_look(ks, hash, k, NULL))
        memo_insert(ks, k, hash, kernel);
    pthread_mutex_unlock(&ks->lock);
}
