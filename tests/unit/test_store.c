/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine has in memory, without an engine: kernels by digest, memos by what was asked with; found while others put more
 * in. The kernels are handles and nothing else. */
#include "tests/rig/faces.h"
#include <check.h>
#include <stdlib.h>

typedef struct rig {
    sett__kernels *ks;
    sett_kernel **made;
    size_t n;
} rig;

static void start(rig *r)
{
    *r = (rig){0};
    ck_assert_int_eq(sett__kernels_open(&r->ks, NULL), SETT_OK);
}

/* Each handle keeps the reference that it was made with: nothing is freed behind it. */
static void finish(rig *r)
{
    sett__kernels_close(r->ks);
    while (r->n)
        free(r->made[--r->n]);
    free(r->made);
}

/* Digests of numbers; crowded: with hashes of which many are the same. */
static sett__digest digest_of(uint64_t number, bool crowded)
{
    sett__digest d;
    sett__sha256(&number, sizeof number, &d);
    if (crowded)
        memset(d.b, (int)(number % 3), 8);
    return d;
}

static sett_kernel *make(rig *r, const sett__digest *d)
{
    sett_kernel *k = aligned_alloc(alignof(sett_kernel), sizeof *k);
    ck_assert_ptr_nonnull(k);
    if (!(r->n & (r->n - 1))) /* a power of two, or none */
        ck_assert_ptr_nonnull(r->made = realloc(r->made, 2 * (r->n + 1) * sizeof(sett_kernel *)));
    *k = (sett_kernel){.slot = *d};
    atomic_init(&k->refs, 1);
    return r->made[r->n++] = k;
}

/* As who compiled it. */
static void land(rig *r, sett_kernel *k)
{
    sett__found found;
    ck_assert_int_eq(sett__kernels_find(r->ks, &k->slot, false, &found, NULL), SETT_OK);
    ck_assert(found.lead && !found.kernel);
    sett__kernels_land(r->ks, found.flight, &k, SETT_OK, NULL);
}

/* Two of one slot, who read it and who compiled it: all have the one that landed first. */
START_TEST(two_of_one_slot)
{
    rig r;
    sett__found read, compile, waits;
    sett_kernel *one, *k;
    const sett__digest slot = digest_of(1, false), name = digest_of(2, false);
    start(&r);
    sett_kernel *const first = make(&r, &slot), *const second = make(&r, &slot);
    atomic_store(&second->refs, 2);
    ck_assert_int_eq(sett__kernels_find(r.ks, &slot, false, &compile, NULL), SETT_OK);
    ck_assert_int_eq(sett__kernels_find(r.ks, &slot, false, &waits, NULL), SETT_OK);
    ck_assert_int_eq(sett__kernels_find(r.ks, &name, false, &read, NULL), SETT_OK);
    ck_assert(compile.lead && !waits.lead && read.lead);
    one = first;
    sett__kernels_land(r.ks, read.flight, &one, SETT_OK, NULL);
    ck_assert_ptr_eq(one, first);
    one = second;
    sett__kernels_land(r.ks, compile.flight, &one, SETT_OK, NULL);
    ck_assert_ptr_eq(one, first);
    ck_assert_int_eq(sett__kernels_wait(r.ks, waits.flight, &k, NULL), SETT_OK);
    ck_assert_ptr_eq(k, first);
    ck_assert_uint_eq(atomic_load(&first->refs), 4); /* ours, the map's, and two of those who asked */
    ck_assert_uint_eq(atomic_load(&second->refs), 1);
    atomic_store(&first->refs, 2);
    finish(&r);
}
END_TEST

/* Each kernel is found by its digest and no other is, among few and among many; a refused one is passed over for its heir. */
START_TEST(by_digest)
{
    enum { N = 100000 };
    static sett_kernel *k[N];
    rig r;
    const uint64_t n = _i ? 500 : N;
    start(&r);
    for (uint64_t i = 0; i < n; i++) {
        const sett__digest d = digest_of(i, _i), none = digest_of(n + i, _i);
        k[i] = make(&r, &d);
        land(&r, k[i]);
        ck_assert_ptr_null(sett__kernels_peek(r.ks, &none));
    }
    ck_assert_uint_eq(sett__kernels_held(r.ks), n);
    for (uint64_t i = 0; i < n; i++) {
        const sett__digest d = digest_of(i, _i);
        ck_assert_ptr_eq(sett__kernels_peek(r.ks, &d), k[i]);
    }
    const sett__digest d = digest_of(7, _i);
    ck_assert(!sett__kernels_refused(r.ks, &d));
    ck_assert(sett__kernels_refuse(k[7]) && !sett__kernels_refuse(k[7]));
    ck_assert(sett__kernels_refused(r.ks, &d));
    ck_assert_ptr_null(sett__kernels_peek(r.ks, &d));
    sett_kernel *heir = make(&r, &d);
    land(&r, heir);
    ck_assert_ptr_eq(sett__kernels_peek(r.ks, &d), heir);
    finish(&r);
}
END_TEST

/* ---- memos ------------------------------------------------------------------------------ */
enum { MEMOS = 2000 };

/* Whatever kind of data tells kernels apart, and whichever of its bytes do, the memos' places are as spread as by chance: of 4096
 * places 2048 take 1612. */
START_TEST(memo_places)
{
    enum { KINDS = 6, N = 2048, PLACES = 4096 };
    for (int kind = 0; kind < KINDS; kind++) {
        bool taken[PLACES] = {false};
        int n = 0;
        for (int i = 0; i < N; i++) {
            const int64_t number = i, high = (int64_t)i << 48;
            const double d = i;
            const float pair[2] = {1, (float)i}, first[2] = {(float)i, 1};
            const int32_t shifted[3] = {7, i << 16, 7};
            const void *const user[KINDS] = {&number, &high, &d, pair, first, shifted};
            const sett__memo_key key = {{42, 3, 7}, user[kind], kind == KINDS - 1 ? sizeof shifted : 8, SETT__ALWAYS};
            bool *at = &taken[sett__memo_hash(&key) % PLACES];
            n += !*at;
            *at = true;
        }
        ck_assert_msg(n > 1500, "kind %d: %d places", kind, n);
    }
}
END_TEST

/* All the ways to ask for one kernel are told from each other's, among many kernels. */
START_TEST(ways_of_one)
{
    enum { KERNELS = 300, WAYS = 7 };
    static sett_kernel *k[KERNELS];
    rig r;
    start(&r);
    for (uint64_t way = 0; way < WAYS; way++)
        for (uint64_t i = 0; i < KERNELS; i++) {
            const sett__digest d = digest_of(i, false);
            const uint64_t user[2] = {i, way}, none[2] = {i, WAYS};
            const sett__memo_key key = {{1, 0, way % 2}, user, sizeof user, SETT__ALWAYS}, no = {{1, 0, way % 2}, none, sizeof none, SETT__ALWAYS};
            if (!way)
                k[i] = make(&r, &d);
            sett__memo_put(r.ks, &key, k[i]);
            ck_assert_ptr_null(sett__memo_get(r.ks, &no));
        }
    for (uint64_t n = 0; n < KERNELS * WAYS; n++) {
        const uint64_t user[2] = {n / WAYS, n % WAYS};
        const sett__memo_key key = {{1, 0, n % WAYS % 2}, user, sizeof user, SETT__ALWAYS};
        ck_assert_ptr_eq(sett__memo_get(r.ks, &key), k[n / WAYS]);
    }
    finish(&r);
}
END_TEST

/* A caller whose bytes differ each time, for one kernel, costs no more memory for ever. */
START_TEST(memos_end)
{
    enum { TRIES = 20000 };
    rig r;
    start(&r);
    const sett__digest d = digest_of(1, false);
    sett_kernel *k = make(&r, &d);
    land(&r, k);
    int found = 0;
    for (uint64_t i = 0; i < TRIES; i++) {
        const sett__memo_key key = {{1, 0, 0}, &i, sizeof i, SETT__ALWAYS};
        sett__memo_put(r.ks, &key, k);
        sett_kernel *got = sett__memo_get(r.ks, &key);
        found += got == k;
        ck_assert(got == k || !got);
    }
    ck_assert_int_gt(found, 4000);
    ck_assert_int_lt(found, 5000);
    finish(&r);
}
END_TEST

/* The i'th way to ask: user data of 0 to 47 bytes, which many share, and some body, options and target. Where some of it lies
 * elsewhere than the rest of its memo, its last byte alone tells. */
enum { USER = 47 };
static sett__memo_key asked(uint64_t i, unsigned char user[USER])
{
    static const size_t sizes[4] = {0, 32, 33, USER};
    size_t size = sizes[i % 4];
    memset(user, 7, USER);
    if (size)
        user[size - 1] = (unsigned char)(i % 2);
    return (sett__memo_key){{i / 21, i / 63 % 2, i % 3}, user, size, SETT__ALWAYS};
}

/* What was asked with first has the answer, all of it counts, and a refused kernel's place is its heir's. */
START_TEST(memos)
{
    static sett_kernel *want[MEMOS];
    unsigned char user[2][USER];
    rig r;
    start(&r);
    for (uint64_t i = 0; i < MEMOS; i++) {
        const sett__memo_key key = asked(i, user[0]);
        const sett__digest d = digest_of(i, false);
        sett_kernel *k = make(&r, &d);
        want[i] = k;
        for (uint64_t j = i / 21 * 21; j < i; j++) {
            const sett__memo_key other = asked(j, user[1]);
            if (sett__memo_same(&key, &other))
                want[i] = want[j];
        }
        ck_assert_ptr_eq(sett__memo_get(r.ks, &key), want[i] == k ? NULL : want[i]);
        sett__memo_put(r.ks, &key, k);
        ck_assert_ptr_eq(sett__memo_get(r.ks, &key), want[i]);
    }
    for (uint64_t i = 0; i < MEMOS; i++) {
        const sett__memo_key key = asked(i, user[0]);
        if (want[i]->refused)
            continue;
        ck_assert_ptr_eq(sett__memo_get(r.ks, &key), want[i]);
        if (i % 3)
            continue;
        const sett__digest d = digest_of(MEMOS + i, false);
        sett_kernel *heir = make(&r, &d);
        sett__kernels_refuse(want[i]);
        ck_assert_ptr_null(sett__memo_get(r.ks, &key));
        sett__memo_put(r.ks, &key, heir);
        ck_assert_ptr_eq(sett__memo_get(r.ks, &key), heir);
    }
    finish(&r);
}
END_TEST

/* ---- while others put more in ------------------------------------------------------------------ */
typedef struct reader {
    rig *r;
    atomic_int *put;
    sett_kernel **all;
    uint64_t seed;
    const char *wrong;
} reader;

static void *read_all(void *user)
{
    reader *m = user;
    int there = 0;
    while (!m->wrong && there < MEMOS) {
        there = atomic_load_explicit(m->put, memory_order_acquire);
        for (int n = 0; n < 200 && there; n++) {
            m->seed ^= m->seed << 13, m->seed ^= m->seed >> 7, m->seed ^= m->seed << 17;
            uint64_t i = m->seed % (uint64_t)there;
            const sett__memo_key key = {{i, 0, 0}, &i, sizeof i, SETT__ALWAYS}, none = {{i, 1, 0}, &i, sizeof i, SETT__ALWAYS};
            const sett__digest d = digest_of(i, false), no = digest_of(i + MEMOS, false);
            if (sett__memo_get(m->r->ks, &key) != m->all[i] || sett__kernels_peek(m->r->ks, &d) != m->all[i])
                m->wrong = "what was put is not found";
            if (sett__memo_get(m->r->ks, &none) || sett__kernels_peek(m->r->ks, &no))
                m->wrong = "what was not put is found";
        }
    }
    return NULL;
}

START_TEST(while_it_grows)
{
    enum { READERS = 3 };
    static sett_kernel *all[MEMOS];
    atomic_int put = 0;
    rig r;
    reader m[READERS];
    pthread_t id[READERS];
    start(&r);
    for (int i = 0; i < READERS; i++) {
        m[i] = (reader){&r, &put, all, (uint64_t)(77 + i), NULL};
        ck_assert_int_eq(pthread_create(&id[i], NULL, read_all, &m[i]), 0);
    }
    for (uint64_t i = 0; i < MEMOS; i++) {
        const sett__memo_key key = {{i, 0, 0}, &i, sizeof i, SETT__ALWAYS};
        const sett__digest d = digest_of(i, false);
        all[i] = make(&r, &d);
        land(&r, all[i]);
        sett__memo_put(r.ks, &key, all[i]);
        atomic_store_explicit(&put, (int)i + 1, memory_order_release);
    }
    for (int i = 0; i < READERS; i++) {
        pthread_join(id[i], NULL);
        ck_assert_msg(!m[i].wrong, "%s", m[i].wrong);
    }
    finish(&r);
}
END_TEST

Suite *store_suite(void);
Suite *store_suite(void)
{
    Suite *s = suite_create("store");
    TCase *t = tcase_create("store");
    tcase_add_loop_test(t, by_digest, 0, 2);
    tcase_add_test(t, two_of_one_slot);
    tcase_add_test(t, memos);
    tcase_add_test(t, memo_places);
    tcase_add_test(t, ways_of_one);
    tcase_add_test(t, memos_end);
    tcase_add_test(t, while_it_grows);
    tcase_set_timeout(t, 60);
    suite_add_tcase(s, t);
    return s;
}
