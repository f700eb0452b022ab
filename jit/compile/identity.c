/* SPDX-License-Identifier: Apache-2.0 */
/* What a recorded kernel is known by: its public key, its slot in memory, and its identity, by which this process finds it
 * again without writing its bytes.
 *
 * The identity is a hash of the tape as it lies in memory. Each block of it is hashed by NH on 64-bit words,
 *
 *     NH(m) = sum of (m[2i] + k[2i] mod 2^64) * (m[2i+1] + k[2i+1] mod 2^64) mod 2^128
 *
 * with words k that the engine draws at random: two different blocks of one length have the same sum with a chance of at most
 * 2^-64, whatever they are (Black, Halevi, Krawczyk, Krovetz, Rogaway: UMAC, CRYPTO '99, theorem 1). The list of all lengths and
 * sums, hashed so with words of its own, is the identity: two different tapes have one with a chance of at most 2^-63, and any two
 * of a million with 10^-7. That holds because nothing that is hashed can depend on k: an identity never leaves its engine, and
 * tells nothing but hit or miss. Where others see it or keep it, between processes and in files, it would be worth nothing, and
 * it says how this build lays out its structs: there, keys are SHA-256 of canonical bytes. Hashes made for tables promise no such
 * bound. In XXH3, which multiplies 32 bits by 32, two numbers exchanged between two ops are as good as none with some 2^-34. */
#include "identity.h"
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* ---- keys ---------------------------------------------------------------------------------------- */
static sett_status encode_key(const sett__request *r, const sett__recorded *rec, const void *bytes, size_t len, bool line_info,
    void **material, size_t *material_len, sett__digest *key, sett_error *err)
{
    const sett__key_parts parts = {.tape = {bytes, len},
        .target = r->target,
        .line_info = line_info,
        .opt_level = r->cpu ? 0 : r->opt_level,
        .ptx_isa = r->cpu ? 0 : sett__tape_isa(&rec->tape, r->target)};
    return sett__key_encode(&parts, material, material_len, key, err);
}

/* Reports of the CPU engine name the kernel's lines, so in memory two bodies of one tape are two kernels there. */
static sett_status cpu_slot(const sett__request *r, sett__recorded *rec, sett_error *err)
{
    void *bytes = NULL, *material = NULL;
    size_t len = 0, material_len;
    sett_status s = sett__tape_write(&rec->tape, true, NULL, &bytes, &len, err);
    if (!s)
        s = encode_key(r, rec, bytes, len, true, &material, &material_len, &rec->slot, err);
    free(bytes);
    free(material);
    return s;
}

sett_status sett__keys_make(const sett__request *r, sett__recorded *rec, sett_error *err)
{
    /* Whoever made the tape has verified it for no target. */
    sett_error why;
    sett_status s = r->cpu ? SETT_OK : sett__tape_fits(&rec->tape, r->target, &why);
    if (s)
        sett__error(err, s, "%s%s%s", s == SETT_E_LIMIT ? r->name : "", s == SETT_E_LIMIT ? ": " : "", why.text);
    if (!s)
        s = sett__tape_write(&rec->tape, r->opt.line_info, NULL, &rec->bytes, &rec->len, err);
    if (!s)
        s = encode_key(
            r, rec, rec->bytes, rec->len, r->opt.line_info, &rec->material, &rec->material_len, &rec->key, err);
    rec->slot = rec->key;
    return s || !r->cpu ? s : cpu_slot(r, rec, err);
}

/* ---- a hash of what lies in memory ------------------------------------------------------------------ */
__extension__ typedef unsigned __int128 sum;

/* Lengths and sums, in the order in which they can be read back: a length says how many sums follow. The first word is how many
 * there are; what is too much for the list is its own digest from there on. */
typedef struct list {
    const uint64_t *key;
    uint64_t word[SETT__IDENTITY_LIST];
} list;

static void put(list *l, uint64_t word)
{
    if (*l->word == SETT__IDENTITY_LIST - 1) {
        sett__digest d;
        sett__sha256(l->word, sizeof l->word, &d);
        memset(l->word, 0, sizeof l->word);
        memcpy(l->word + 1, d.b, sizeof d.b);
        *l->word = sizeof d.b / sizeof *l->word;
    }
    l->word[++*l->word] = word;
}

static void put_sum(list *l, sum s)
{
    put(l, (uint64_t)s);
    put(l, (uint64_t)(s >> 64));
}

static inline sum nh(const uint64_t *k, uint64_t x, uint64_t y)
{
    return (sum)(x + k[0]) * (y + k[1]);
}

static sum sum_of_bytes(const uint64_t *k, const unsigned char *p, size_t n)
{
    sum s = 0;
    uint64_t w[2];
    for (; n >= sizeof w; n -= sizeof w, p += sizeof w, k += 2) {
        memcpy(w, p, sizeof w);
        s += nh(k, w[0], w[1]);
    }
    if (n) {
        memset(w, 0, sizeof w);
        memcpy(w, p, n);
        s += nh(k, w[0], w[1]);
    }
    return s;
}

static void put_bytes(list *l, const void *data, size_t n)
{
    const unsigned char *p = data;
    put(l, n);
    for (size_t part; n; n -= part, p += part) {
        part = n < SETT__IDENTITY_BLOCK * sizeof *l->key ? n : SETT__IDENTITY_BLOCK * sizeof *l->key;
        put_sum(l, sum_of_bytes(l->key, p, part));
    }
}

/* Of four words of an op: what it is, its operands' place, its own (which is its call site, and what follows of the others), and
 * its number. */
static_assert(sizeof(sett__op) == 32 && offsetof(sett__op, n) == 4 && offsetof(sett__op, args) == 8 && offsetof(sett__op, depth) == 14 &&
                  offsetof(sett__op, site) == 16 && offsetof(sett__op, imm) == 24, "no gaps");
enum { WHAT, ARGS, PLACE, IMM };
static inline uint64_t word_of(const sett__op *op, int i)
{
    uint64_t w;
    memcpy(&w, (const unsigned char *)op + 8 * i, sizeof w);
    return w;
}

static inline sum sum_of_two(const uint64_t *k, const sett__op *a, const sett__op *b, bool sites)
{
    sum s = nh(k, word_of(a, WHAT), word_of(a, IMM)) + nh(k + 2, word_of(b, WHAT), word_of(b, IMM)) +
            nh(k + 4, word_of(a, ARGS), word_of(b, ARGS));
    return sites ? s + nh(k + 6, word_of(a, PLACE), word_of(b, PLACE)) : s;
}

static void put_ops(list *l, const sett__op *op, uint32_t n, bool sites)
{
    const uint32_t words = sites ? 8 : 6, most = SETT__IDENTITY_BLOCK / words;
    put(l, n);
    while (n) {
        sum s = 0;
        const uint64_t *k = l->key;
        uint32_t twos = n / 2 < most ? n / 2 : most;
        n -= 2 * twos;
        for (; twos; twos--, op += 2, k += words)
            s += sum_of_two(k, op, op + 1, sites);
        if (n == 1 && k < l->key + words * most) {
            s += sum_of_two(k, op, &(sett__op){0}, sites);
            n = 0;
        }
        put_sum(l, s);
    }
}

/* ---- a tape's identity --------------------------------------------------------------------------------- */
static_assert(sizeof(sett__site_ref) == 12, "no gaps");

/* The signature by its canonical bytes, which decide the key: no field of it can be forgotten here. What links and counts a tape's
 * ops follows of the rest. */
bool sett__tape_identity(
    const uint64_t key[SETT__IDENTITY_KEY], const sett__tape *t, bool sites, unsigned char id[SETT__IDENTITY_BYTES])
{
    unsigned char sig[8192];
    const size_t n = sett__sig_bytes(&t->sig, sites, sig, sizeof sig);
    const uint32_t texts = t->n_string - (sites ? 0 : t->n_path);
    list l = {.key = key};
    if (!n)
        return false;
    put_bytes(&l, sig, n);
    put_ops(&l, t->op, t->n_op, sites);
    put_bytes(&l, t->arg, t->n_arg * sizeof *t->arg);
    put_bytes(&l, t->index, t->n_index * sizeof *t->index);
    put(&l, texts);
    for (uint32_t i = 0; i < texts; i++)
        put_bytes(&l, t->string[i], strlen(t->string[i]));
    if (sites)
        put_bytes(&l, t->site, t->n_site * sizeof *t->site);
    const sum s = sum_of_bytes(key + SETT__IDENTITY_BLOCK, (const unsigned char *)l.word, sizeof l.word);
    static_assert(sizeof s == SETT__IDENTITY_BYTES, "all of it");
    memcpy(id, &s, sizeof s);
    return true;
}

/* Drawn by who records first, so that an engine that only launches has none; NULL: it cannot be had now. */
static const uint64_t *key_of(sett_engine *e)
{
    uint64_t *key = atomic_load_explicit(&e->identity_key, memory_order_acquire), *other = NULL;
    const size_t bytes = SETT__IDENTITY_KEY * sizeof *key;
    if (key || !(key = malloc(bytes)))
        return key;
    for (size_t n = 0; n < bytes;) {
        ssize_t got = getrandom((unsigned char *)key + n, bytes - n, GRND_NONBLOCK);
        if (got <= 0) {
            free(key);
            return NULL;
        }
        n += (size_t)got;
    }
    if (atomic_compare_exchange_strong(&e->identity_key, &other, key))
        return key;
    free(key);
    return other;
}

bool sett__identify(const sett__request *r, const sett__tape *t, sett__identity *k)
{
    const uint64_t *key = key_of(r->e);
    k->memo = (sett__memo_key){.head.options = r->cpu ? 0 : (uint64_t)r->opt_level | (uint64_t)r->opt.line_info << 8 |
                                                               (uint64_t)r->opt.ptx_only << 9,
        .user = k->user, .user_size = sizeof k->user}; /* and no body, which every other memo has */
    return key && sett__memo_target(r->target, &k->memo.head.target) &&
           sett__tape_identity(key, t, r->cpu || r->opt.line_info, k->user);
}
