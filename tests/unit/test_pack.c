/* SPDX-License-Identifier: Apache-2.0 */
/* Packs: their bytes, who is believed, merging, and that each rule of the format holds by itself. The fault campaign
 * (fault_pack.c) flips every bit. No compiler is needed but where it says so. */
#include "tests/rig/faces.h"
#include "jit/cache/inside.h"
#include "tests/rig/rig.h"
#include "tests/rig/sample.h"
#include "tests/rig/suite.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { ENTRIES = 5 };
#define SECRET "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60" /* RFC 8032, 7.1, test 1 */
#define PUBLIC "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
#define OTHER "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"

static sett__entry entry_of(int i, char material[40], uint8_t cubin[CUBIN])
{
    fill_cubin(cubin);
    cubin[100] = (uint8_t)i, cubin[101] = 0;
    snprintf(material, 40, "key material of kernel %d", i);
    return (sett__entry){.key_material = {material, strlen(material)},
        .meta = {"some meta", 9},
        .cubin = {cubin, CUBIN},
        .notes = {"/home/someone/file.c: notes", 27}};
}

static void key_of(int i, sett__digest *key)
{
    char material[40];
    uint8_t cubin[CUBIN];
    sett__entry e = entry_of(i, material, cubin);
    sett__sha256(e.key_material.data, e.key_material.len, key);
}

static void put(const char *folder, int i, uint8_t code)
{
    sett__disk *d;
    sett__digest key;
    char material[40];
    uint8_t cubin[CUBIN];
    sett_error err = {0};
    sett__entry e = entry_of(i, material, cubin);
    cubin[101] = code;
    key_of(i, &key);
    ck_assert_msg(!sett__disk_open(&d, &(sett__disk_options){.path = folder}, &err), "%s", err.text);
    ck_assert_msg(!sett__disk_put(d, &key, &e, false, &err), "%s", err.text);
    sett__disk_close(d);
}

static sett_engine *with(const char *layers, const char *folder, sett_cache_trust trust, const char *signers)
{
    sett_engine_options o = options();
    o.cache_layers = layers;
    o.cache_dir = folder;
    o.cache_trust = trust;
    o.cache_signers = signers;
    return open_with(&o);
}

static uint64_t write_pack(sett_engine *e, const char *path, const sett_pack_options *o)
{
    uint64_t n = 0;
    sett_error err = {0};
    ck_assert_msg(!sett_pack_write(e, path, o, &n, &err), "%s", err.text);
    return n;
}

/* The pack of a folder with entries 0 to n - 1. */
static void make_pack(const char *name, int n, bool sign)
{
    char folder[300];
    snprintf(folder, sizeof folder, "%s.folder", in_root(name));
    for (int i = 0; i < n; i++)
        put(folder, i, 0);
    if (!n) {
        sett__disk *d;
        ck_assert_int_eq(sett__disk_open(&d, &(sett__disk_options){.path = folder}, NULL), SETT_OK);
        sett__disk_close(d);
    }
    write_file(in_root("secret"), SECRET "\n", 65, 0600);
    sett_engine *e = with("", folder, SETT_TRUST_PRIVATE, NULL);
    sett_pack_options o = {.size = sizeof o, .secret_key = sign ? in_root("secret") : NULL};
    ck_assert_uint_eq(write_pack(e, in_root(name), &o), (uint64_t)n);
    sett_engine_close(e);
}

static uint8_t *slurp(const char *path, size_t *len)
{
    *len = file_size(path);
    uint8_t *p = malloc(*len + 1);
    FILE *f = fopen(path, "rb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fread(p, 1, *len, f), *len);
    fclose(f);
    return p;
}

static const char *refused(const char *path, sett_cache_trust trust, const char *signers)
{
    static char text[600];
    sett_engine *e = with(path, "", trust, signers);
    snprintf(text, sizeof text, "%s", layer(e, 0).why_not ? layer(e, 0).why_not : "in use");
    sett_engine_close(e);
    return text;
}

/* ---- bytes ------------------------------------------------------------------------------------- */
START_TEST(same_kernels_same_bytes)
{
    size_t n, m;
    struct stat st;
    make_pack("one", ENTRIES, false);
    for (int i = ENTRIES; i--;)
        put(in_root("other"), i, 0);
    mode_t mask = umask(0);
    sett_engine *e = with("", in_root("other"), SETT_TRUST_PRIVATE, NULL);
    ck_assert_uint_eq(write_pack(e, in_root("two"), NULL), ENTRIES);
    sett_engine_close(e);
    umask(mask);
    uint8_t *a = slurp(in_root("one"), &n), *b = slurp(in_root("two"), &m);
    ck_assert_uint_eq(n, m);
    ck_assert(!memcmp(a, b, n));
    ck_assert_ptr_null(memmem(a, n, "someone", 7)); /* no path leaves the machine */
    ck_assert(!stat(in_root("two"), &st) && (st.st_mode & 0777) == 0644);
    free(a), free(b);
}
END_TEST

START_TEST(every_entry_is_found)
{
    sett__cache *c;
    make_pack("p", ENTRIES, false);
    ck_assert_int_eq(sett__cache_open(&c, &(sett__cache_options){.layers = in_root("p")}, NULL), SETT_OK);
    const char *path, *why;
    sett__layer *l = sett__cache_place(c, 0, &path, &why);
    ck_assert_ptr_nonnull(l);
    for (int i = 0; i < ENTRIES + 2; i++) {
        char material[40];
        uint8_t cubin[CUBIN];
        sett__entry want = entry_of(i, material, cubin), got;
        sett__digest key;
        key_of(i, &key);
        sett_status s = l->ops->get(l, &key, &want.key_material, &got, NULL);
        ck_assert_int_eq(s, i < ENTRIES ? SETT_OK : SETT_E_NOT_CACHED);
        if (s)
            continue;
        ck_assert(got.cubin.len == CUBIN && !memcmp(got.cubin.data, cubin, CUBIN) && !got.notes.len);
        sett__entry_free(&got);
        want.key_material.len--;
        ck_assert_int_eq(l->ops->get(l, &key, &want.key_material, &got, NULL), SETT_E_PARSE);
    }
    ck_assert_uint_gt(l->read_bytes, ENTRIES * CUBIN);
    ck_assert_uint_eq(l->refusals, ENTRIES);
    sett__cache_close(c);
}
END_TEST

START_TEST(none_and_some)
{
    uint8_t keys[3][32];
    sett__digest key;
    sett_error err = {0};
    char text[200];
    make_pack("none", 0, false);
    ck_assert_uint_eq(file_size(in_root("none")), SETT__PACK_HEAD);
    make_pack("p", ENTRIES, false);
    sett_engine *e = with(in_root("p"), "", SETT_TRUST_PRIVATE, NULL);
    ck_assert(layer(e, 0).pack && !layer(e, 0).writable && !layer(e, 0).is_signed);
    ck_assert_uint_eq(layer(e, 0).entries, ENTRIES);
    for (int i = 0; i < 3; i++) {
        key_of(i == 2 ? 0 : i + 1, &key); /* a key may be asked for twice */
        memcpy(keys[i], key.b, 32);
    }
    sett_pack_options o = {.size = sizeof o, .keys = (const uint8_t(*)[32])keys, .n_keys = 3};
    ck_assert_uint_eq(write_pack(e, in_root("some"), &o), 3);
    memcpy(keys[0], keys[1], 32);
    ck_assert_uint_eq(write_pack(e, in_root("fewer"), &o), 2);
    memset(keys[1], 7, 32);
    ck_assert_int_eq(sett_pack_write(e, in_root("some"), &o, NULL, &err), SETT_E_NOT_CACHED);
    snprintf(text, sizeof text, "sett_pack_write: %064d is in no layer of the cache; a kernel of the CPU engine never is", 0);
    for (char *c = text + 17, i = 0; i < 64; i++)
        c[(int)i] = i % 2 ? '7' : '0';
    ck_assert_str_eq(err.text, text);
    sett_engine_close(e);
}
END_TEST

/* ---- rules of the format, each with digests that are right ------------------------------------------ */
static void reseal(uint8_t *p)
{
    sett__digest sum;
    sett__sha256(p + SETT__PACK_HEAD, (size_t)(p[24] * SETT__PACK_ROW), &sum);
    memcpy(p + 32, sum.b, 32);
    sett__sha256(p, 224, &sum);
    memcpy(p + 224, sum.b, 32);
}

static void change(uint8_t *p, size_t at, uint64_t v, int bytes)
{
    le(p + at, v, bytes);
}

START_TEST(rules)
{
    enum { ROW0 = SETT__PACK_HEAD, ROW1 = ROW0 + SETT__PACK_ROW };
    static const struct {
        size_t at;
        uint64_t v;
        int bytes;
        const char *why;
    } cases[] = {
        {0, 0, 1, "it does not start as a pack does"},
        {8, 2, 2, "it is a pack of format 2, not 1"},
        {12, 2, 4, "its header has fields that this version does not know"},
        {12, 4, 4, "its header has fields that this version does not know"},
        {64, 1, 1, "its header has fields that this version does not know"},
        {200, 1, 1, "its header has fields that this version does not know"},
        {16, 5, 8, "bytes and says 5"},
        {24, 255, 8, "its index of 255 entries does not fit into it"},
        {24, 1ull << 40, 8, "its index of 1099511627776 entries does not fit into it"},
        {24, 1, 8, "there are bytes"},
        {ROW0 + 32, 0, 8, "entry 0 of its index lies outside it or over another"},
        {ROW0 + 40, 32, 8, "entry 0 of its index lies outside it or over another"},
        {ROW0 + 40, UINT64_MAX, 8, "entry 0 of its index lies outside it or over another"},
        {ROW1 + 32, 512, 8, "entry 1 of its index lies outside it or over another"},
        {ROW1, 0, 8, "the keys of its index do not ascend at entry 1"},
        {ROW0 + 2 * SETT__PACK_ROW, 1, 1, "there are bytes behind its index"},
    };
    size_t len;
    make_pack("p", 2, false);
    uint8_t *p = slurp(in_root("p"), &len), *copy = malloc(len);
    ck_assert_str_eq(refused(in_root("p"), SETT_TRUST_PRIVATE, NULL), "in use");
    for (size_t i = 0; i < SETT__COUNT(cases); i++) {
        memcpy(copy, p, len);
        change(copy, cases[i].at, cases[i].v, cases[i].bytes);
        if (cases[i].at != 24 || cases[i].v == 1)
            reseal(copy);
        else {
            sett__digest sum;
            sett__sha256(copy, 224, &sum);
            memcpy(copy + 224, sum.b, 32);
        }
        write_file(in_root("q"), copy, len, 0600);
        const char *why = refused(in_root("q"), SETT_TRUST_PRIVATE, NULL);
        ck_assert_msg(strstr(why, cases[i].why) != NULL, "case %zu: %s", i, why);
    }
    copy[0] = p[0];
    memcpy(copy, p, len);
    copy[30] ^= 1;
    write_file(in_root("q"), copy, len, 0600);
    ck_assert_ptr_nonnull(strstr(refused(in_root("q"), SETT_TRUST_PRIVATE, NULL), "header's digest does not match"));
    memcpy(copy, p, len);
    copy[ROW0] ^= 1;
    write_file(in_root("q"), copy, len, 0600);
    ck_assert_ptr_nonnull(strstr(refused(in_root("q"), SETT_TRUST_PRIVATE, NULL), "index's digest does not match"));
    write_file(in_root("q"), p, 100, 0600);
    ck_assert_ptr_nonnull(strstr(refused(in_root("q"), SETT_TRUST_PRIVATE, NULL), "a pack of 100 bytes"));
    free(p), free(copy);
}
END_TEST

/* ---- who is believed ------------------------------------------------------------------------------------ */
START_TEST(owners_and_modes)
{
    make_pack("p", 1, false);
    ck_assert_int_eq(chmod(in_root("p"), 0666), 0);
    ck_assert_str_eq(refused(in_root("p"), SETT_TRUST_PRIVATE, NULL),
        "the pack cannot be used: it is not trusted: it may be written by others");
    ck_assert_str_eq(refused(in_root("p"), SETT_TRUST_OFF, NULL), "in use");
    ck_assert_int_eq(chmod(in_root("p"), 0444), 0);
    ck_assert_str_eq(refused(in_root("p"), SETT_TRUST_PRIVATE, NULL), "in use");
    ck_assert_int_eq(symlink(in_root("p"), in_root("link")), 0);
    ck_assert_ptr_nonnull(strstr(refused(in_root("link"), SETT_TRUST_PRIVATE, NULL), "Too many levels of symbolic links"));
    ck_assert_int_eq(mkfifo(in_root("pipe"), 0600), 0);
    ck_assert_str_eq(
        refused(in_root("pipe"), SETT_TRUST_PRIVATE, NULL), "the pack cannot be used: it is no plain file");
    ck_assert_int_eq(mkdir(in_root("open"), 0777) || chmod(in_root("open"), 0777), 0);
    ck_assert_int_eq(rename(in_root("p"), in_root("open/p")), 0);
    ck_assert_ptr_nonnull(
        strstr(refused(in_root("open/p"), SETT_TRUST_PRIVATE, NULL), "/open may be written by others"));
}
END_TEST

START_TEST(signatures)
{
    size_t len;
    uint8_t key[32];
    char text[65], path[300];
    sett_error err = {0};
    make_pack("p", 2, false);
    make_pack("s", 2, true);
    snprintf(path, sizeof path, "%s", in_root("s"));
    ck_assert_int_eq(sett_pack_public_key(in_root("secret"), key, &err), SETT_OK);
    sett__hex_write(key, text);
    ck_assert_str_eq(text, PUBLIC);
    ck_assert_str_eq(refused(path, SETT_TRUST_SIGNED, PUBLIC), "in use");
    ck_assert_str_eq(refused(path, SETT_TRUST_SIGNED, OTHER ":" PUBLIC), "in use");
    ck_assert_str_eq(refused(path, SETT_TRUST_SIGNED, OTHER),
        "the pack cannot be used: it is signed by " PUBLIC ", which is none of .cache_signers");
    ck_assert_str_eq(refused(in_root("p"), SETT_TRUST_SIGNED, PUBLIC),
        "the pack cannot be used: it is not signed, and only signed packs are used");
    ck_assert_str_eq(
        refused(in_root("p.folder"), SETT_TRUST_SIGNED, PUBLIC), "it is a folder, and only signed packs are used");
    /* Whoever may write it can make its digests good, and not its signature. */
    uint8_t *p = slurp(path, &len);
    sett__digest sum;
    for (int i = 0; i < 2; i++) {
        uint8_t *at = p + (i ? 100 : SETT__PACK_HEAD + 48);
        *at ^= 1;
        sett__sha256(p + SETT__PACK_HEAD, 2 * SETT__PACK_ROW, &sum);
        memcpy(p + 32, sum.b, 32);
        sett__sha256(p, 224, &sum);
        memcpy(p + 224, sum.b, 32);
        write_file(in_root("forged"), p, len, 0600);
        ck_assert_str_eq(refused(in_root("forged"), SETT_TRUST_SIGNED, PUBLIC),
            "the pack cannot be used: its signature does not match its bytes");
        ck_assert_str_eq(
            refused(in_root("forged"), SETT_TRUST_OFF, NULL), "in use"); /* its entries are looked at later */
        *at ^= 1;
    }
    free(p);
    /* Among those who share a folder by a secret a pack is believed by its signature. */
    sett_engine_options o = options();
    o.cache_trust = SETT_TRUST_MAC, o.cache_secret = in_root("secret"), o.cache_layers = in_root("p"), o.cache_dir = "";
    sett_engine *e = open_with(&o);
    ck_assert_ptr_nonnull(strstr(layer(e, 0).why_not, "it is not signed"));
    sett_engine_close(e);
    o.cache_layers = path, o.cache_signers = PUBLIC;
    e = open_with(&o);
    ck_assert_ptr_null(layer(e, 0).why_not);
    ck_assert(layer(e, 0).is_signed && !memcmp(layer(e, 0).signer, key, 32));
    sett_engine_close(e);
}
END_TEST

START_TEST(misuse)
{
    sett_engine_options o = options();
    sett_engine *e;
    sett_error err = {0};
    uint8_t key[32];
    o.cache_trust = SETT_TRUST_SIGNED;
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "cache_trust is SETT_TRUST_SIGNED and cache_signers names no public key");
    char control[65] = ""; /* '0' without a bit is no digit */
    const char *const bad[] = {"abc", PUBLIC ":", PUBLIC "x", PUBLIC ":" PUBLIC "0", control};
    memset(control, '0' & ~0x20, 64);
    for (size_t i = 0; i < SETT__COUNT(bad); i++) {
        o.cache_signers = bad[i];
        ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_ARGUMENT);
        ck_assert_ptr_nonnull(
            strstr(err.text, "cache_signers are public keys of 64 hexadecimal digits with ':' between"));
    }
    e = open_engine();
    ck_assert_int_eq(sett_pack_write(NULL, "x", NULL, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_pack_write: the engine is NULL");
    ck_assert_int_eq(sett_pack_write(e, NULL, NULL, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_pack_write: the path is empty");
    ck_assert_int_eq(sett_pack_write(e, "x", &(sett_pack_options){.size = 3}, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.text, "sett_pack_options.size is 3"));
    ck_assert_int_eq(sett_pack_write(e, in_root("nowhere/x"), NULL, NULL, &err), SETT_E_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "No such file"));
    ck_assert_int_eq(sett_pack_unpack(NULL, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_pack_public_key(in_root("none"), NULL, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_pack_public_key(NULL, key, &err), SETT_E_IO);
    write_file(in_root("wide"), SECRET "\n", 65, 0644);
    ck_assert_int_eq(sett_pack_public_key(in_root("wide"), key, &err), SETT_E_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "a secret must be a plain file that only its owner may read"));
    write_file(in_root("twice"), SECRET "\n" SECRET "\n", 130, 0600);
    ck_assert_int_eq(sett_pack_public_key(in_root("twice"), key, &err), SETT_E_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "a secret key is one line of 64 hexadecimal digits"));
    sett_engine_close(e);
}
END_TEST

/* ---- merging, unpacking ------------------------------------------------------------------------------------ */
static const char *two(const char *a, const char *b)
{
    static char paths[600];
    snprintf(paths, sizeof paths, "%s:%s", a, b);
    return paths;
}

START_TEST(merging)
{
    size_t n, m;
    sett_error err = {0};
    char text[1200];
    sett__digest key;
    make_pack("all", ENTRIES, false);
    make_pack("few", 3, false);
    for (int i = 2; i < ENTRIES; i++)
        put(in_root("rest"), i, 0);
    sett_engine *e = with(two(in_root("few"), in_root("rest")), "", SETT_TRUST_PRIVATE, NULL);
    ck_assert_uint_eq(write_pack(e, in_root("merged"), NULL), ENTRIES);
    uint8_t *a = slurp(in_root("all"), &n), *b = slurp(in_root("merged"), &m);
    ck_assert(n == m && !memcmp(a, b, n));
    free(a), free(b);
    sett_engine_close(e);
    /* One key and two kernels. */
    put(in_root("odd"), 1, 1);
    e = with(two(in_root("few"), in_root("odd")), "", SETT_TRUST_PRIVATE, NULL);
    ck_assert_int_eq(sett_pack_write(e, in_root("never"), NULL, NULL, &err), SETT_E_ARGUMENT);
    char digits[65];
    key_of(1, &key);
    sett__hex_write(key.b, digits);
    snprintf(text, sizeof text, "sett_pack_write: %.16s is one kernel in %s and another in %s", digits, in_root("few"),
        in_root("odd"));
    ck_assert_str_eq(err.text, text);
    ck_assert_int_eq(access(in_root("never"), F_OK), -1);
    sett_engine_close(e);
    /* A source that is not there, or is damaged. */
    e = with(two(in_root("few"), in_root("gone")), "", SETT_TRUST_PRIVATE, NULL);
    ck_assert_int_eq(sett_pack_write(e, in_root("never"), NULL, NULL, &err), SETT_E_IO);
    ck_assert_ptr_nonnull(strstr(err.text, "/gone cannot be read: "));
    sett_engine_close(e);
    a = slurp(in_root("few"), &n);
    a[n - 700] ^= 1;
    write_file(in_root("bad"), a, n, 0600);
    free(a);
    e = with(in_root("bad"), in_root("into"), SETT_TRUST_PRIVATE, NULL);
    ck_assert_int_eq(sett_pack_write(e, in_root("never"), NULL, NULL, &err), SETT_E_PARSE);
    ck_assert_ptr_nonnull(strstr(err.text, " is damaged: "));
    ck_assert_int_eq(sett_pack_unpack(e, NULL, &err), SETT_E_PARSE);
    ck_assert_ptr_nonnull(strstr(err.text, " is damaged: "));
    sett_engine_close(e);
}
END_TEST

START_TEST(unpacking)
{
    uint64_t n;
    sett_error err = {0};
    size_t len, len2;
    make_pack("p", ENTRIES, false);
    sett_engine *e = with(in_root("p"), in_root("into"), SETT_TRUST_PRIVATE, NULL);
    ck_assert_int_eq(sett_pack_unpack(e, &n, &err), SETT_OK);
    ck_assert_uint_eq(n, ENTRIES);
    sett_engine_close(e);
    e = with("", in_root("into"), SETT_TRUST_PRIVATE, NULL);
    ck_assert_uint_eq(write_pack(e, in_root("again"), NULL), ENTRIES);
    sett_engine_close(e);
    uint8_t *a = slurp(in_root("p"), &len), *b = slurp(in_root("again"), &len2);
    ck_assert(len == len2 && !memcmp(a, b, len));
    free(a), free(b);
    e = with(in_root("p"), "", SETT_TRUST_PRIVATE, NULL);
    ck_assert_int_eq(sett_pack_unpack(e, NULL, &err), SETT_E_IO);
    ck_assert_str_eq(err.text, "sett_pack_unpack: there is no cache folder to write to");
    sett_engine_close(e);
}
END_TEST

/* ---- where it goes --------------------------------------------------------------------------------------------- */
/* What stands at a path, and what is about to. */
static const char *at_path;
static int kind_to_be;
static const char *const kinds[] = {"a FIFO", "a folder", "a symbolic link to nowhere", "a character device"};

static bool stand(const char *path, int kind)
{
    return !(kind == 0   ? mkfifo(path, 0600)
             : kind == 1 ? mkdir(path, 0700)
             : kind == 2 ? symlink("nowhere", path)
                         : mknod(path, S_IFCHR | 0600, makedev(1, 3)));
}

/* Something else takes the path while the pack is written. */
static int sync_late(int fd)
{
    unlink(at_path);
    ck_assert(stand(at_path, kind_to_be));
    return fdatasync(fd);
}

static int no_access(int at, const char *path, int mode, int flags)
{
    if (strcmp(path, "/proc/self/fd")) /* else files without a name are used */
        return faccessat(at, path, mode, flags);
    errno = ENOENT;
    return -1;
}

static int names_in(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    while (d && readdir(d))
        n++;
    closedir(d);
    return n;
}

enum { BEFORE, BESIDE_NO_NAME, BESIDE_A_NAME, WAYS }; /* it comes before all, or while a temporary file of that kind is written */

static void refuse_over(int kind, int way)
{
    struct stat before, after;
    sett_error err = {0};
    uint64_t n;
    sett__os os = sett__os_libc;
    char path[320], folder[300], name[20];
    snprintf(name, sizeof name, "out%d%d", kind, way);
    snprintf(folder, sizeof folder, "%s", in_root(name));
    snprintf(path, sizeof path, "%s/p", folder);
    ck_assert(!mkdir(folder, 0700) && (way != BEFORE || stand(path, kind)));
    if (way != BEFORE)
        write_file(path, "old", 3, 0600);
    at_path = path, kind_to_be = kind;
    os.fdatasync = way != BEFORE ? sync_late : fdatasync;
    os.faccessat = way == BESIDE_A_NAME ? no_access : faccessat;
    sett__cache *c;
    ck_assert(!sett__cache_open(&c, &(sett__cache_options){.layers = in_root("source"), .os = &os}, NULL));
    lstat(path, &before);
    ck_assert_int_eq(sett__pack_write(c, path, &(sett_pack_options){.size = sizeof(sett_pack_options)}, &n, &err), SETT_E_IO);
    sett__cache_close(c);
    ck_assert_msg(strstr(err.text, kinds[kind]) != NULL, "%s", err.text);
    ck_assert(!lstat(path, &after) && !S_ISREG(after.st_mode) && (way != BEFORE || before.st_ino == after.st_ino));
    ck_assert_int_eq(names_in(folder), 3); /* ".", ".." and it */
}

START_TEST(only_files_are_replaced)
{
    put(in_root("source"), 1, 0);
    int n = (int)SETT__COUNT(kinds) - !stand(in_root("device"), 3); /* which may not be allowed here */
    for (int i = 0; i < n * WAYS; i++)
        refuse_over(i % n, i / n);
}
END_TEST

/* ---- a kernel ------------------------------------------------------------------------------------------------- */
/* What was compiled on one machine serves another without a compiler; damage in a pack is healed by the folder. */
START_TEST(serves_a_kernel)
{
    sett_kernel_info info = {.size = sizeof info};
    size_t len;
    if (!have_compiler())
        return;
    sett_engine *e = open_engine();
    sett_kernel_release(compile(e, &sm90));
    sett_engine_close(e);
    e = open_engine();
    ck_assert_uint_eq(write_pack(e, in_root("p"), NULL), 1);
    sett_engine_close(e);
    sett_engine_options o = options();
    o.cache_layers = in_root("p"), o.cache_dir = "", o.sealed = true;
    e = open_with(&o);
    sett_kernel *k = compile(e, &sm90);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_str_eq(info.layer, in_root("p"));
    ck_assert_int_eq(info.origin, SETT_FROM_DISK);
    ck_assert_str_eq(info.name, "scale");
    sett_kernel_release(k);
    ck_assert_uint_eq(layer(e, 0).hits, 1);
    const uint8_t none[32] = {1, 2, 3};
    sett_error err;
    char want[300], hex[65];
    ck_assert_int_eq(sett_kernel_get(e, none, &k, &err), SETT_E_NOT_CACHED);
    sett__hex_write(none, hex);
    snprintf(want, sizeof want, "no kernel of key %s: %s: it is not in the pack", hex, in_root("p"));
    ck_assert_str_eq(err.text, want);
    sett_engine_close(e);
    uint8_t *p = slurp(in_root("p"), &len);
    p[len - 100] ^= 1;
    write_file(in_root("p"), p, len, 0600);
    free(p);
    o.cache_dir = in_root("own"), o.sealed = false;
    for (int round = 0; round < 2; round++) {
        e = open_with(&o);
        sett_kernel_release(compile(e, &sm90));
        ck_assert_uint_eq(stats(e).compiles, round == 0);
        ck_assert_uint_eq(layer(e, 0).refusals, 1); /* in turn our own folder alone is looked at again */
        sett_engine_close(e);
    }
}
END_TEST

SUITE_IN_ROOT(pack, same_kernels_same_bytes, every_entry_is_found, none_and_some, rules, owners_and_modes, signatures,
    misuse, merging, unpacking, only_files_are_replaced, serves_a_kernel)
