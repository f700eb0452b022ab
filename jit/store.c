/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine has in memory: kernels by slot, kernels by what their caller will ask with (the memo), and the
 * compiles under way. Kernels are found by digest without a lock; the rest has one, never held while anything is recorded,
 * read or compiled. */
#include "jit.h"
#include <stdlib.h>
#include <string.h>

/* A key is two runs of bytes, kept together behind the node. */
typedef struct node {
    struct node *next;
    uint64_t hash;
    sett_kernel *kernel;
    size_t len;
    unsigned char key[];
} node;

typedef struct table {
    node **bucket;
    size_t cap, count; /* cap: a power of two, or 0 */
} table;

typedef struct key_ref {
    const void *head, *rest;
    size_t head_len, rest_len;
} key_ref;

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

struct sett__kernels {
    sett__heads *heads;
    kernel_map slots;
    kernel_map cpu; /* kernels of the CPU by public key, which is not their slot */
    pthread_mutex_t lock;
    table memo;
    sett__flight *flights;
};

/* ---- tables ---------------------------------------------------------------------------- */
static uint64_t mix(uint64_t h, const void *data, size_t len)
{
    const unsigned char *p = data;
    uint64_t word;
    for (; len >= sizeof word; len -= sizeof word, p += sizeof word) {
        memcpy(&word, p, sizeof word);
        h = (h ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        h ^= h >> 29;
    }
    for (; len; len--)
        h = (h ^ *p++) * UINT64_C(0x100000001B3);
    return h ^ h >> 32;
}

static uint64_t hash_of(const key_ref *k)
{
    return mix(mix(k->head_len * 31 + k->rest_len, k->head, k->head_len), k->rest, k->rest_len);
}

static bool same(const node *n, const key_ref *k)
{
    return n->len == k->head_len + k->rest_len && !memcmp(n->key, k->head, k->head_len) &&
           (!k->rest_len || !memcmp(n->key + k->head_len, k->rest, k->rest_len));
}

static node *look(const table *t, const key_ref *k)
{
    uint64_t h = hash_of(k);
    node *n = t->cap ? t->bucket[h & (t->cap - 1)] : NULL;
    while (n && !(n->hash == h && same(n, k)))
        n = n->next;
    return n;
}

static bool widen(table *t)
{
    size_t cap = t->cap ? 2 * t->cap : 64;
    node **bucket = calloc(cap, sizeof *bucket);
    if (!bucket)
        return false;
    for (size_t i = 0; i < t->cap; i++)
        for (node *n = t->bucket[i], *next; n; n = next) {
            next = n->next;
            n->next = bucket[n->hash & (cap - 1)];
            bucket[n->hash & (cap - 1)] = n;
        }
    free(t->bucket);
    t->bucket = bucket;
    t->cap = cap;
    return true;
}

/* Takes a reference of its own. False: no memory; the table is as it was. */
static bool insert(table *t, const key_ref *k, sett_kernel *kernel)
{
    if (t->count >= t->cap && !widen(t) && !t->cap)
        return false;
    node *n = malloc(sizeof *n + k->head_len + k->rest_len);
    if (!n)
        return false;
    n->hash = hash_of(k);
    n->kernel = sett_kernel_retain(kernel);
    n->len = k->head_len + k->rest_len;
    memcpy(n->key, k->head, k->head_len);
    if (k->rest_len)
        memcpy(n->key + k->head_len, k->rest, k->rest_len);
    n->next = t->bucket[n->hash & (t->cap - 1)];
    t->bucket[n->hash & (t->cap - 1)] = n;
    t->count++;
    return true;
}

static void drop(table *t)
{
    for (size_t i = 0; i < t->cap; i++)
        for (node *n = t->bucket[i], *next; n; n = next) {
            next = n->next;
            sett_kernel_release(n->kernel);
            free(n);
        }
    free(t->bucket);
}

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

/* Whoever calls holds a reference of his own. */
static void forget(table *t, const sett_kernel *kernel)
{
    for (size_t i = 0; i < t->cap; i++)
        for (node **at = &t->bucket[i], *n; (n = *at);) {
            if (n->kernel != kernel) {
                at = &n->next;
                continue;
            }
            *at = n->next;
            t->count--;
            sett_kernel_release(n->kernel);
            free(n);
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
    drop(&ks->memo);
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

bool sett__kernels_refuse(sett__kernels *ks, sett_kernel *kernel)
{
    bool first = !atomic_exchange(&kernel->refused, true);
    pthread_mutex_lock(&ks->lock);
    forget(&ks->memo, kernel);
    pthread_mutex_unlock(&ks->lock);
    return first;
}

/* Called with the lock. */
static sett_kernel *adopt(sett__kernels *ks, sett_kernel *kernel)
{
    const slot_key k = key_of(&ks->slots, kernel), by_key = key_of(&ks->cpu, kernel);
    sett_kernel *there = map_look(&ks->slots, ks->heads, &k);
    if (there)
        return sett_kernel_retain(there);
    map_insert(&ks->slots, ks->heads, kernel);
    if (kernel->cpu && !map_look(&ks->cpu, ks->heads, &by_key))
        map_insert(&ks->cpu, ks->heads, kernel);
    return kernel;
}

sett_kernel *sett__kernels_adopt(sett__kernels *ks, sett_kernel *kernel)
{
    pthread_mutex_lock(&ks->lock);
    sett_kernel *kept = adopt(ks, kernel);
    pthread_mutex_unlock(&ks->lock);
    if (kept != kernel)
        sett_kernel_release(kernel);
    return kept;
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
    if (kernel) {
        sett_kernel *kept = adopt(ks, kernel);
        if (kept != kernel)
            sett_kernel_release(kept);
    }
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
typedef struct memo_head {
    uint64_t body;
    int32_t opt_level;
    uint8_t flags[4];
    char target[32];
} memo_head;
static_assert(sizeof(memo_head) == 48, "no padding: it is compared as bytes");

static bool memo_ref(const sett__memo_key *k, memo_head *h, key_ref *ref)
{
    memset(h, 0, sizeof *h);
    if (strlen(k->target) >= sizeof h->target)
        return false;
    h->body = (uint64_t)(uintptr_t)k->body;
    h->opt_level = k->opt_level;
    h->flags[0] = k->line_info, h->flags[1] = k->no_fold, h->flags[2] = k->ptx_only, h->flags[3] = k->asserts;
    strcpy(h->target, k->target);
    *ref = (key_ref){h, k->user, sizeof *h, k->user_size};
    return true;
}

sett_kernel *sett__memo_get(sett__kernels *ks, const sett__memo_key *k)
{
    memo_head h;
    key_ref ref;
    if (!memo_ref(k, &h, &ref))
        return NULL;
    pthread_mutex_lock(&ks->lock);
    node *n = look(&ks->memo, &ref);
    sett_kernel *kernel = n ? sett_kernel_retain(n->kernel) : NULL;
    pthread_mutex_unlock(&ks->lock);
    return kernel;
}

void sett__memo_put(sett__kernels *ks, const sett__memo_key *k, sett_kernel *kernel)
{
    memo_head h;
    key_ref ref;
    if (!memo_ref(k, &h, &ref))
        return;
    pthread_mutex_lock(&ks->lock);
    if (!look(&ks->memo, &ref))
        insert(&ks->memo, &ref, kernel);
    pthread_mutex_unlock(&ks->lock);
}
