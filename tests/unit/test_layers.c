/* SPDX-License-Identifier: Apache-2.0 */
/* Cache layers, trust, caps: what an engine reads from where, whom it believes, what it removes. No compiler is needed:
 * entries are put there by hand, under the keys of a kernel. */
#include "tests/rig/faces.h"
#include "jit/cache/inside.h"
#include "tests/rig/rig.h"
#include "tests/rig/sample.h"
#include "tests/rig/suite.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static sett__disk *open_disk(const char *path, sett_cache_trust trust, const sett__auth *auth)
{
    sett__disk *d;
    sett_error err = {0};
    const sett__disk_options o = {.path = path, .trust = trust, .auth = auth};
    ck_assert_msg(!sett__disk_open(&d, &o, &err), "%s", err.text);
    return d;
}

static void key_of_scale(sett_engine *e, sett__digest *key)
{
    sett_error err = {0};
    ck_assert_msg(!sett_key(e, scale, &sm90, key->b, &err), "%s", err.text);
}

static sett_engine *layered(const char *layers, const char *folder)
{
    sett_engine_options o = options();
    o.cache_layers = layers;
    o.cache_dir = folder;
    return open_with(&o);
}

/* A folder with the entry of `scale`, made by a compile. False: no compiler. */
static bool warm(const char *folder)
{
    if (!have_compiler())
        return false;
    sett_engine *e = layered("", folder);
    sett_kernel_release(compile(e, &sm90));
    sett_engine_close(e);
    return true;
}

START_TEST(order_and_origin)
{
    char paths[900], text[8192];
    sett_kernel_info info = {.size = sizeof info};
    if (!warm(in_root("second")))
        return;
    sett__disk_close(open_disk(in_root("first"), SETT_TRUST_PRIVATE, NULL)); /* a cache folder, and empty */
    snprintf(paths, sizeof paths, "%s:%s::%s", in_root("first"), in_root("missing"), in_root("second"));
    sett_engine *e = layered(paths, in_root("own"));
    ck_assert_int_eq(sett_cache_layers(e), 4);
    sett_kernel *k = compile(e, &sm90);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_int_eq(info.origin, SETT_FROM_DISK);
    ck_assert_str_eq(info.layer, in_root("second"));
    ck_assert_uint_eq(layer(e, 0).misses, 1);
    ck_assert_msg(strstr(layer(e, 1).why_not, "there is no such file or folder") != NULL, "%s", layer(e, 1).why_not);
    ck_assert_uint_eq(layer(e, 2).hits, 1);
    ck_assert(!layer(e, 2).writable && layer(e, 3).writable);
    ck_assert_uint_eq(layer(e, 3).misses + layer(e, 3).writes, 0); /* not asked, and a layer's entry is not copied */
    ck_assert_uint_gt(layer(e, 3).cap, 0);
    sett_engine_describe(e, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "/second (read only)\ncache: "));
    sett_cache_layer_info l = {.size = sizeof l};
    ck_assert_int_eq(sett_cache_layer(e, 4, &l), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_cache_layer(e, -1, &l), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_cache_layers(NULL), 0);
    sett_engine_close(e);
    ck_assert_str_eq(info.layer, in_root("second")); /* the kernel's own */
    sett_kernel_release(k);
}
END_TEST

/* With nowhere to write a layer still serves, also a sealed engine. */
START_TEST(layers_alone)
{
    sett_engine_options o = options();
    char path[300];
    if (!warm(in_root("ro")))
        return;
    snprintf(path, sizeof path, "%s", in_root("ro"));
    setenv("SETT_CACHE_LAYERS", path, 1);
    o.cache_dir = "";
    o.sealed = true;
    sett_engine *e = open_with(&o);
    unsetenv("SETT_CACHE_LAYERS");
    sett_kernel_release(compile(e, &sm90));
    ck_assert_uint_eq(stats(e).disk_hits, 1);
    sett_error err = {0};
    ck_assert_int_eq(sett_cache_trim(e, 0, NULL, &err), SETT_E_IO);
    ck_assert_str_eq(err.text, "sett_cache_trim: the engine is sealed, and writes nothing");
    sett_engine_seal(e, false);
    ck_assert_int_eq(sett_cache_trim(e, 0, NULL, &err), SETT_E_IO);
    ck_assert_str_eq(err.text, "sett_cache_trim: the engine has no cache folder to write to");
    sett_engine_close(e);
}
END_TEST

/* What is damaged in a layer is passed over and stays where it is: it is not ours to change. */
START_TEST(damaged_layer)
{
    char path[300];
    sett__digest key;
    sett__entry_name n;
    if (!warm(in_root("bad")))
        return;
    sett_engine *e = layered(in_root("bad"), in_root("own"));
    key_of_scale(e, &key);
    sett__entry_name_of(&key, &n);
    snprintf(path, sizeof path, "%s/v1/%s/%s", in_root("bad"), n.dir, n.file);
    ck_assert_int_eq(truncate(path, 700), 0);
    for (int round = 0; round < 2; round++) {
        sett_kernel_release(compile(e, &sm90));
        ck_assert_uint_eq(layer(e, 0).refusals, 1); /* with the turn in hand only our own folder is looked at again */
        ck_assert_uint_eq(layer(e, 0).misses, 1);
        ck_assert_uint_eq(layer(e, 1).misses, !round); /* and that look is not counted */
        ck_assert_uint_eq(layer(e, 0).heals, 0);
        ck_assert_uint_eq(file_size(path), 700);
        ck_assert_uint_eq(stats(e).compiles, !round);
        sett_engine_close(e);
        e = layered(in_root("bad"), in_root("own"));
    }
    sett_engine_close(e);
}
END_TEST

/* Another assembler's entry is used unless this machine's own is demanded; then it is replaced by that. */
START_TEST(toolchain)
{
    sett_kernel_info info = {.size = sizeof info};
    char *text = NULL;
    size_t len = 0;
    if (!warm(in_root("cache")))
        return;
    FILE *in = fopen(in_root("ptxas"), "r"), *out = open_memstream(&text, &len);
    for (int c; (c = fgetc(in)) != EOF;)
        fputc(c, out);
    fclose(in), fclose(out);
    for (char *at = text; (at = strstr(at, "13.0"));) /* and not a 3 of the folder's name */
        at[1] = '4';
    write_file(in_root("ptxas"), text, len, 0700);
    free(text);
    for (int round = 0; round < 3; round++) {
        sett_engine_options o = options();
        o.toolchain = round ? SETT_TOOLCHAIN_EXACT : SETT_TOOLCHAIN_ANY;
        sett_engine *e = open_with(&o);
        sett_kernel *k = compile(e, &sm90);
        ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
        ck_assert_str_eq(info.assembler, round ? "ptxas 14.0.99" : "ptxas 13.0.99");
        ck_assert_int_eq(strncmp(info.compiler, "LLVM ", 5), 0);
        ck_assert_int_eq(info.origin, round == 1 ? SETT_FROM_COMPILER : SETT_FROM_DISK);
        ck_assert_uint_eq(stats(e).refusals, 0);
        sett_kernel_release(k);
        sett_engine_close(e);
    }
}
END_TEST

/* ---- message authentication --------------------------------------------------------------------------- */
#define SECRET_A "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
#define SECRET_B "A00102030405060708090A0B0C0D0E0F101112131415161718191A1B1C1D1E1F"

static sett__auth secret(const char *lines)
{
    sett__auth a;
    sett_error err = {0};
    write_file(in_root("secret"), lines, strlen(lines), 0600);
    ck_assert_msg(!sett__auth_read(&sett__os_libc, in_root("secret"), &a, &err), "%s", err.text);
    return a;
}

START_TEST(secrets)
{
    static const struct {
        const char *text;
        mode_t mode;
        const char *says;
    } t[] = {{"", 0600, "not one or two lines"}, {"abc", 0600, "not one or two lines"}, {SECRET_A "0", 0600, "not one or two lines"},
        {SECRET_A "\n" SECRET_B "\n" SECRET_A, 0600, "not one or two lines"}, {"g" SECRET_A, 0600, "not one or two lines"},
        {SECRET_A, 0640, "only its owner may read"}, {SECRET_A, 0604, "only its owner may read"}};
    sett__auth a = secret(SECRET_A "\r\n\n" SECRET_B);
    ck_assert_int_eq(a.n, 2);
    ck_assert_int_eq(a.key[0][31], 0x1F);
    ck_assert_int_eq(a.key[1][0], 0xA0);
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett_error err = {0};
        write_file(in_root("secret"), t[i].text, strlen(t[i].text), t[i].mode);
        ck_assert_int_eq(sett__auth_read(&sett__os_libc, in_root("secret"), &a, &err), SETT_E_IO);
        ck_assert_msg(strstr(err.text, t[i].says) != NULL, "case %zu: %s", i, err.text);
    }
    ck_assert_int_eq(sett__auth_read(&sett__os_libc, in_root("none"), &a, NULL), SETT_E_IO);
    ck_assert_int_eq(sett__auth_read(&sett__os_libc, "relative", &a, NULL), SETT_E_IO);
    ck_assert_int_eq(sett__auth_read(&sett__os_libc, NULL, &a, NULL), SETT_E_IO);
}
END_TEST

/* RFC 4231, case 2 has a short key; the block is checked against HMAC written down from its definition. */
START_TEST(authentication_code)
{
    const sett__auth a = secret(SECRET_A);
    uint8_t block[SETT__AUTH_BYTES], inner[64 + 5], outer[64 + 32];
    sett__digest d;
    sett__auth_sign(&a, "hello", 5, block);
    memset(inner, 0x36, 64), memset(outer, 0x5C, 64);
    for (int i = 0; i < 32; i++)
        inner[i] ^= (uint8_t)i, outer[i] ^= (uint8_t)i;
    memcpy(inner + 64, "hello", 5);
    sett__sha256(inner, sizeof inner, &d);
    memcpy(outer + 64, d.b, 32);
    sett__sha256(outer, sizeof outer, &d);
    ck_assert_mem_eq(block + 24, d.b, 32);
    ck_assert_int_eq(sett__auth_verify(&a, "hello", 5, block, NULL), SETT_OK);
    ck_assert_int_eq(sett__auth_verify(&a, "hellO", 5, block, NULL), SETT_E_PARSE);
}
END_TEST

static sett_status get_sample(sett__disk *d, const sample *s, sett_error *err)
{
    sett__entry e;
    sett_status st = sett__disk_get(d, &s->key, NULL, &e, err);
    if (!st)
        sett__entry_free(&e);
    return st;
}

/* Who has the secret is believed, whatever the modes; a rotated secret too; who has not is refused. */
START_TEST(shared_folder)
{
    const sett__auth a = secret(SECRET_A), b = secret(SECRET_B), both = secret(SECRET_B "\n" SECRET_A);
    const struct {
        const sett__auth *writes, *reads;
        const char *says; /* NULL: believed */
    } t[] = {{&a, &a, NULL}, {&a, &both, NULL}, {&both, &b, NULL}, {&both, &a, "a secret that we do not have"},
        {NULL, &a, "it is not authenticated"}, {&a, NULL, NULL}};
    sample s;
    fill_sample(&s);
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        char path[300];
        sett_error err = {0};
        snprintf(path, sizeof path, "%s-%zu", in_root("shared"), i);
        ck_assert_int_eq(mkdir(path, 0700) || chmod(path, 02770), 0);
        sett__disk *d = open_disk(path, t[i].writes ? SETT_TRUST_MAC : SETT_TRUST_OFF, t[i].writes);
        ck_assert_int_eq(sett__disk_put(d, &s.key, &s.entry, false, NULL), SETT_OK);
        sett__disk_close(d);
        d = open_disk(path, t[i].reads ? SETT_TRUST_MAC : SETT_TRUST_OFF, t[i].reads);
        ck_assert_int_eq(get_sample(d, &s, &err), t[i].says ? SETT_E_PARSE : SETT_OK);
        ck_assert_msg(!t[i].says || strstr(err.text, t[i].says) != NULL, "case %zu: %s", i, err.text);
        sett__disk_close(d);
    }
}
END_TEST

/* Each byte of the file under the code, with the digest made good: forging needs the secret. */
START_TEST(forged)
{
    const sett__auth a = secret(SECRET_A);
    sample s;
    void *made;
    size_t len;
    sett__entry e;
    fill_sample(&s);
    ck_assert_int_eq(sett__entry_encode(&s.key, &s.entry, &a, &made, &len, NULL), SETT_OK);
    uint8_t *file = made;
    ck_assert_int_eq(sett__entry_decode(file, len, &s.key, &a, &e, NULL), SETT_OK);
    ck_assert_int_eq(sett__entry_decode(file, len, &s.key, NULL, &e, NULL), SETT_OK);
    for (size_t i = 0; i < len - 32; i++) {
        sett__digest sum;
        file[i] ^= 4;
        sett__sha256(file, len - 32, &sum);
        memcpy(file + len - 32, sum.b, 32);
        ck_assert_msg(sett__entry_decode(file, len, &s.key, &a, &e, NULL) == SETT_E_PARSE, "byte %zu was forged", i);
        file[i] ^= 4;
    }
    free(made);
}
END_TEST

START_TEST(trust_of_an_engine)
{
    sett_engine_options o = options();
    sett_engine *e;
    sett_error err = {0};
    o.cache_trust = SETT_TRUST_MAC;
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "cache_trust is SETT_TRUST_MAC and cache_secret is NULL");
    o.cache_secret = in_root("no-such-secret");
    e = open_with(&o); /* without its secret no folder is used, and never one unchecked */
    ck_assert_msg(strstr(layer(e, 0).why_not, "no-such-secret: No such file") != NULL, "%s", layer(e, 0).why_not);
    sett_engine_close(e);
    secret(SECRET_A);
    o.cache_secret = in_root("secret");
    e = open_with(&o);
    ck_assert_ptr_null(layer(e, 0).why_not);
    sett_engine_close(e);
    o.cache_trust = (sett_cache_trust)7;
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_ARGUMENT);
    o.cache_trust = SETT_TRUST_PRIVATE;
    o.compile_wait_ms = -1;
    ck_assert_int_eq(sett_engine_open(&e, &o, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "compile_wait_ms -1 is negative");
}
END_TEST

/* Everybody's folder: refused, or believed if that was asked for. */
START_TEST(open_folder)
{
    sett_engine_options o = options();
    ck_assert_int_eq(mkdir(in_root("cache"), 0700) || chmod(in_root("cache"), 0777), 0);
    sett_engine *e = open_with(&o);
    ck_assert_msg(strstr(layer(e, 0).why_not, "may be written by others") != NULL, "%s", layer(e, 0).why_not);
    sett_engine_close(e);
    o.cache_trust = SETT_TRUST_OFF;
    e = open_with(&o);
    ck_assert_ptr_null(layer(e, 0).why_not);
    sett_engine_close(e);
}
END_TEST

/* ---- the cap ------------------------------------------------------------------------------------------------ */
static void put_numbered(sett__disk *d, uint8_t number, sett_status expect)
{
    static char cubin[9000];
    char material[32];
    sett__digest key;
    snprintf(material, sizeof material, "number %d", number);
    sett__sha256(material, strlen(material), &key);
    fill_cubin((uint8_t *)cubin);
    const sett__entry e = {.key_material = {material, strlen(material)}, .meta = {"m", 1}, .cubin = {cubin, sizeof cubin}};
    ck_assert_int_eq(sett__disk_put(d, &key, &e, false, NULL), expect);
}

START_TEST(trimming)
{
    sett__disk *d;
    uint64_t left;
    const sett__disk_options o = {.path = in_root("cache"), .cap = 100000};
    ck_assert_int_eq(sett__disk_open(&d, &o, NULL), SETT_OK);
    for (int i = 0; i < 30; i++)
        put_numbered(d, (uint8_t)i, SETT_OK);
    ck_assert_uint_gt(d->layer.evictions, 10);
    const char *foreign[] = {"cache/v1/mine.txt", "cache/v1/ab.sett", "cache/keep", "cache/tmp/keep"};
    for (size_t i = 0; i < SETT__COUNT(foreign); i++)
        write_file(in_root(foreign[i]), "x", 1, 0600);
    ck_assert_int_eq(sett__disk_trim(d, 0, &left, NULL), SETT_OK);
    ck_assert_uint_eq(left, 0);
    ck_assert_uint_eq(d->layer.evictions, 30);
    for (size_t i = 0; i < SETT__COUNT(foreign); i++)
        ck_assert_msg(file_size(in_root(foreign[i])) == 1, "%s was removed", foreign[i]);
    put_numbered(d, 1, SETT_OK);
    sett__disk_close(d);
    ck_assert_int_eq(sett__disk_open(&d, &(sett__disk_options){.path = in_root("cache"), .cap = 5000}, NULL), SETT_OK);
    put_numbered(d, 2, SETT_E_LIMIT); /* larger than all that may be there */
    sett__disk_close(d);
}
END_TEST

/* ---- the cap while another has its lock ------------------------------------------------------------- */
enum { ROOM = 1 << 20, ENTRY = 20480 /* bytes that one takes */, FULL = 49, MARGIN = ROOM / 5 };

static char capped[40]; /* the folder of these tests */

static sett__disk *open_capped(void)
{
    sett__disk *d;
    sett_error err = {0};
    const sett__disk_options o = {.path = in_root(capped), .cap = ROOM};
    ck_assert_msg(!sett__disk_open(&d, &o, &err), "%s", err.text);
    return d;
}

static void put_many(sett__disk *d, int from, int n)
{
    static uint8_t cubin[16 << 10];
    fill_cubin(cubin);
    for (int i = from; i < from + n; i++) {
        char material[32];
        sett__digest key;
        snprintf(material, sizeof material, "number %d", i);
        sett__sha256(material, strlen(material), &key);
        const sett__entry e = {.key_material = {material, strlen(material)}, .meta = {"m", 1}, .cubin = {cubin, sizeof cubin}};
        ck_assert_int_eq(sett__disk_put(d, &key, &e, false, NULL), SETT_OK);
    }
}

static void add_bytes(void *user, const sett__digest *key, const struct stat *st)
{
    (void)key;
    *(uint64_t *)user += (uint64_t)st->st_blocks * 512;
}

static uint64_t held_bytes(void)
{
    uint64_t sum = 0;
    sett__disk *d = open_capped();
    ck_assert(sett__disk_each(d, add_bytes, &sum));
    sett__disk_close(d);
    return sum;
}

/* A process that holds the lock of who trims, and is stopped. */
static pid_t stopped_trimmer(void)
{
    int status;
    pid_t id = fork();
    if (!id) {
        bool none;
        sett__disk *d = open_capped();
        if (sett__lock_try(d, 0, &none))
            raise(SIGSTOP);
        _exit(1);
    }
    ck_assert(waitpid(id, &status, WUNTRACED) == id && WIFSTOPPED(status));
    return id;
}

static void kill_trimmer(pid_t id)
{
    kill(id, SIGKILL);
    waitpid(id, NULL, 0);
}

enum { NEXT_WRITE, CLOSED, GONE, CLOSED_BEFORE, N_ENDS };

static void written_meanwhile(int end)
{
    int status;
    sett__disk *d = open_capped();
    put_many(d, 0, FULL);
    ck_assert_uint_eq(held_bytes(), FULL * ENTRY);
    pid_t holder = stopped_trimmer(), writer = end == GONE ? fork() : 0;
    if (!writer) {
        put_many(end == GONE ? open_capped() : d, FULL, 8); /* a fork gives no lock file */
        if (end == GONE)
            _exit(0);
    }
    ck_assert(!writer || waitpid(writer, &status, 0) == writer);
    if (end == CLOSED_BEFORE) {
        sett__disk_close(d);
        d = open_capped();
    }
    ck_assert_uint_gt(held_bytes(), ROOM);
    kill_trimmer(holder);
    if (end != CLOSED)
        put_many(d, 100, 1);
    sett__disk_close(d);
    ck_assert_msg(held_bytes() <= ROOM, "%d: %llu bytes", end, (unsigned long long)held_bytes());
}

/* It is counted by the next write, or when its folder is closed; by the next process that writes, where the one that wrote it
 * is gone without a word or could not count when it closed. */
START_TEST(counted_later)
{
    for (int end = 0; end < N_ENDS; end++) {
        snprintf(capped, sizeof capped, "cache%d", end);
        written_meanwhile(end);
    }
}
END_TEST

/* Without the lock it is looked after all the same, a fifth of the cap late. */
START_TEST(held_for_long)
{
    snprintf(capped, sizeof capped, "cache");
    sett__disk *d = open_capped();
    pid_t holder = stopped_trimmer();
    for (int i = 0; i < 200; i++) {
        put_many(d, i, 1);
        ck_assert_uint_le(held_bytes(), ROOM + MARGIN + ENTRY);
    }
    ck_assert_uint_gt(held_bytes(), ROOM / 2);
    kill_trimmer(holder);
    put_many(d, 200, 1);
    ck_assert_uint_le(held_bytes(), ROOM);
    sett__disk_close(d);
}
END_TEST

START_TEST(temporary_names)
{
    static const char *const no[] = {"", "1", "1-2", "1-2-3", "1-2-3.", "1-2-3.4x", "a-2-3.4", "1-2-3.4.5", "-1-2-3.4", "1--3.4"};
    ck_assert(sett__temp_name_is("17-0-1700000000.000000123"));
    for (size_t i = 0; i < SETT__COUNT(no); i++)
        ck_assert_msg(!sett__temp_name_is(no[i]), "%s", no[i]);
}
END_TEST

SUITE_IN_ROOT(layers, order_and_origin, layers_alone, damaged_layer, toolchain, secrets, authentication_code,
    shared_folder, forged, trust_of_an_engine, open_folder, trimming, counted_later, held_for_long, temporary_names)
