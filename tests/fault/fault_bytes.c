/* SPDX-License-Identifier: Apache-2.0 */
/* F1, F2: damaged bytes; Z: random ones. */
#include "tests/fault/fault.h"
#include "tests/rig/sample.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SMALL_CUBIN = 7500, LARGE_CUBIN = 64 << 10, HEAD = 512, DIGEST = 32 };

typedef struct patient {
    made m;
    sett__disk *d;
    uint8_t *file;
    size_t len;
    char path[300];
} patient;

static bool admit(patient *p, size_t cubin)
{
    sett__entry_name n;
    made_new(&p->m, (unsigned)cubin, cubin);
    p->d = disk_open(in_root("cache"), NULL, 0);
    sett__entry_name_of(&p->m.key, &n);
    snprintf(p->path, sizeof p->path, "%s/v1/%s/%s", in_root("cache"), n.dir, n.file);
    void *file = NULL;
    bool ok = p->d && !sett__disk_put(p->d, &p->m.key, &p->m.entry, false, NULL) && made_get(p->d, &p->m) == SETT_OK &&
              !sett__entry_encode(&p->m.key, &p->m.entry, NULL, &file, &p->len, NULL);
    p->file = file;
    return ok;
}

static void discharge(patient *p)
{
    sett__disk_close(p->d);
    free(p->file);
    made_free(&p->m);
}

/* These bytes in the entry's place: refused and out of the way, so that a put heals. */
static long is_refused(patient *p, const uint8_t *bytes, size_t len, bool heal, const char *what, size_t which)
{
    write_file(p->path, bytes, len, 0600);
    sett_status s = made_get(p->d, &p->m);
    if (s != SETT_E_PARSE || !access(p->path, F_OK))
        return complain("%s %zu: status %d, %s", what, which, s, access(p->path, F_OK) ? "gone" : "still there");
    if (heal && (sett__disk_put(p->d, &p->m.key, &p->m.entry, false, NULL) || made_get(p->d, &p->m)))
        return complain("%s %zu: not healed", what, which);
    return 0;
}

static long header_values(patient *p, size_t step, size_t *tried)
{
    sett__entry e;
    long bad = 0;
    for (size_t k = 0; k < HEAD * 255; k += step, ++*tried) {
        p->file[k / 255] ^= (uint8_t)(k % 255 + 1);
        if (sett__entry_decode(p->file, p->len, &p->m.key, NULL, &e, NULL) != SETT_E_PARSE)
            bad += complain("header byte %zu ^ %zu was accepted", k / 255, k % 255 + 1);
        p->file[k / 255] ^= (uint8_t)(k % 255 + 1);
    }
    return bad;
}

long f1_bits(bool full, char *figures, size_t size)
{
    patient p = {0}, large = {0};
    long bad = 0;
    size_t step = full ? 1 : 67, flips = 0, values = 0;
    if (!admit(&p, SMALL_CUBIN) || !admit(&large, LARGE_CUBIN))
        return complain("no entry to damage");
    for (size_t bit = 0; bit < 8 * p.len; bit += step, flips++) {
        p.file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        bad += is_refused(&p, p.file, p.len, false, "bit", bit);
        p.file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        bad += flips % 64 == 0 && is_refused(&p, p.file, p.len - 1, true, "healing after bit", bit);
    }
    bad += header_values(&large, step, &values);
    snprintf(figures, size, "%zu bits of %zu bytes, %zu header values of %zu bytes", flips, p.len, values, large.len);
    discharge(&p);
    discharge(&large);
    return bad;
}

long f2_lengths(bool full, char *figures, size_t size)
{
    patient p = {0};
    long bad = 0;
    size_t cuts = 0;
    if (!admit(&p, SMALL_CUBIN))
        return complain("no entry to damage");
    for (size_t n = 0; n < p.len; n += full ? 1 : 41, cuts++)
        bad += is_refused(&p, p.file, n, n % 100 == 0, "length", n);
    uint8_t *longer = calloc(1, p.len + 64);
    memcpy(longer, p.file, p.len);
    for (size_t n = 1; n <= 64; n++)
        bad += is_refused(&p, longer, p.len + n, n % 16 == 0, "longer by", n);
    free(longer);
    snprintf(figures, size, "%zu lengths, 64 longer", cuts);
    discharge(&p);
    return bad;
}

/* Power fails between the size and the bytes: a page, or all from a page on, is zeros. */
long f2_pages(bool full, char *figures, size_t size)
{
    patient p = {0};
    long bad = 0;
    size_t tried = 0;
    (void)full;
    if (!admit(&p, LARGE_CUBIN))
        return complain("no entry to damage");
    uint8_t *copy = malloc(p.len);
    for (size_t at = 0; at < p.len; at += 4096)
        for (int rest = 0; rest < 2; rest++, tried++) {
            memcpy(copy, p.file, p.len);
            memset(copy + at, 0, rest || p.len - at < 4096 ? p.len - at : 4096);
            bad += is_refused(&p, copy, p.len, true, "page at", at);
        }
    free(copy);
    snprintf(figures, size, "%zu cases of %zu bytes", tried, p.len);
    discharge(&p);
    return bad;
}

/* ---- random damage ------------------------------------------------------------------------------ */
static void reseal(uint8_t *file, size_t len)
{
    sett__digest sum;
    sett__sha256(file, len - DIGEST, &sum);
    memcpy(file + len - DIGEST, sum.b, DIGEST);
}

static bool within(const sett__blob *b, const uint8_t *file, size_t len)
{
    const uint8_t *p = b->data;
    return !b->len || (p >= file && b->len <= len - (size_t)(p - file));
}

/* Values that sit on the edges of what a field may hold. */
static uint64_t edge(uint64_t *seed, size_t len)
{
    const uint64_t edges[] = {0, 1, 63, 64, 65, len - 1, len, len + 1, UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 63};
    uint64_t r = dice(seed);
    return r % 3 ? edges[r / 3 % SETT__COUNT(edges)] : r % (2 * len);
}

static void damage(uint8_t *bytes, size_t span, size_t len, uint64_t *seed)
{
    for (uint64_t k = dice(seed) % 4 + 1; k; k--) {
        uint64_t v = edge(seed, len);
        size_t width = (size_t)1 << dice(seed) % 4, at = dice(seed) % (span - width + 1) / width * width;
        memcpy(bytes + at, &v, width);
    }
}

/* The digest made good, so that each rule has to hold by itself; the sanitized run watches the reads. */
long fuzz_entry(bool full, char *figures, size_t size)
{
    made m;
    void *file;
    size_t len, accepted = 0;
    uint64_t seed = 20261121;
    long bad = 0, rounds = full ? 1000000 : 20000;
    sett__entry e;
    made_new(&m, 1, 200);
    if (sett__entry_encode(&m.key, &m.entry, NULL, &file, &len, NULL))
        return complain("no entry to damage");
    uint8_t *copy = malloc(len);
    for (long i = 0; i < rounds; i++) {
        memcpy(copy, file, len);
        damage(copy, i % 4 ? 64 + 4 * 24 : len - DIGEST, len, &seed);
        reseal(copy, len);
        if (sett__entry_decode(copy, len, &m.key, NULL, &e, NULL))
            continue;
        accepted++;
        bad += !within(&e.key_material, copy, len) || !within(&e.meta, copy, len) || !within(&e.cubin, copy, len) ||
               !within(&e.ptx, copy, len) || !within(&e.notes, copy, len);
    }
    snprintf(figures, size, "%ld rounds, %zu still entries", rounds, accepted);
    free(copy);
    free(file);
    made_free(&m);
    return bad;
}

/* In a block of its own size, so that the sanitized run sees one byte too many. */
long fuzz_elf(bool full, char *figures, size_t size)
{
    uint8_t whole[WHOLE_CUBIN];
    size_t len = sizeof whole, passed = 0;
    uint64_t seed = 20261121;
    long bad = 0, rounds = full ? 20000000 : 200000;
    fill_whole_cubin(whole);
    if (sett__elf_check(whole, len, NULL))
        return complain("the gate refuses a sound cubin");
    for (size_t n = 0; n < len; n++) {
        uint8_t *cut = malloc(n ? n : 1);
        memcpy(cut, whole, n);
        bad += !sett__elf_check(cut, n, NULL) ? complain("cut to %zu bytes it passes", n) : 0;
        free(cut);
    }
    uint8_t *copy = malloc(len);
    for (long i = 0; i < rounds; i++) {
        memcpy(copy, whole, len);
        damage(copy, len, len, &seed);
        passed += !sett__elf_check(copy, len, NULL);
    }
    free(copy);
    bad += !passed || (long)passed == rounds;
    snprintf(figures, size, "%zu lengths, %ld rounds, %zu still sound", len, rounds, passed);
    return bad;
}
