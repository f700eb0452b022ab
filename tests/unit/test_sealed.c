/* SPDX-License-Identifier: Apache-2.0 */
/* A sealed engine over a cache that it could write: it writes nothing. The whole tree, before and after, is compared: names,
 * kinds, modes, owners, sizes, times of change, contents. */
#include "tests/rig/faces.h"
#include "jit/cache/inside.h"
#include "tests/rig/folder.h"
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <ftw.h>
#include <sett/warm.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- a tree as text ------------------------------------------------------------------------------ */
static FILE *tree_out;

static int tree_line(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    sett__digest sum = {{0}};
    char hex[65];
    (void)at;
    if (kind == FTW_F && st->st_size < 1 << 20) {
        void *data = malloc((size_t)st->st_size + 1);
        FILE *f = fopen(path, "rb");
        ck_assert(data && f && fread(data, 1, (size_t)st->st_size, f) == (size_t)st->st_size);
        sett__sha256(data, (size_t)st->st_size, &sum);
        fclose(f), free(data);
    }
    sett__hex_write(sum.b, hex);
    fprintf(tree_out, "%s %o %u %ju %jd %jd.%09ld %jd.%09ld %s\n", path, st->st_mode, st->st_uid, (uintmax_t)st->st_ino,
        (intmax_t)st->st_size, (intmax_t)st->st_mtim.tv_sec, st->st_mtim.tv_nsec, (intmax_t)st->st_ctim.tv_sec, st->st_ctim.tv_nsec, hex);
    return 0;
}

static char *tree(void)
{
    char *text;
    size_t len;
    tree_out = open_memstream(&text, &len);
    ck_assert_int_eq(nftw(in_root(""), tree_line, 16, FTW_PHYS), 0);
    fclose(tree_out);
    return text;
}

/* ---- caches ---------------------------------------------------------------------------------------- */
static uint8_t key_of[32];

static void entry_path(char path[400], const char *in)
{
    sett__entry_name n;
    sett__digest d;
    memcpy(d.b, key_of, sizeof d.b);
    sett__entry_name_of(&d, &n);
    snprintf(path, 400, "%s/%s/v1/%s/%s", in_root(""), in, n.dir, n.file);
}

static void old(const char *path, int days)
{
    const struct timespec both[2] = {{.tv_sec = time(NULL) - days * 86400}, {.tv_sec = time(NULL) - days * 86400}};
    ck_assert_int_eq(utimensat(AT_FDCWD, path, both, 0), 0);
}

static void damage_entry(const char *in)
{
    char path[400];
    entry_path(path, in);
    ck_assert_int_eq(truncate(path, 700), 0);
}

static void nothing(void)
{
}
static void no_folder(void)
{
    folder_remove(in_root("cache"));
}
static void empty_folder(void)
{
    no_folder();
    ck_assert_int_eq(mkdir(in_root("cache"), 0700), 0);
}
static void marker_alone(void)
{
    empty_folder();
    write_file(in_root("cache/SETT1"), "", 0, 0600);
}
static void half_made(void)
{
    marker_alone();
    ck_assert_int_eq(mkdir(in_root("cache/v1"), 0700), 0);
}
static void damaged(void)
{
    damage_entry("cache");
}
static void damaged_without_quarantine(void)
{
    damaged();
    folder_remove(in_root("cache/quarantine"));
}
static void damaged_twice(void)
{
    damaged();
    damage_entry("layer");
}
static void long_unused(void)
{
    char path[400];
    entry_path(path, "cache");
    old(path, 400);
}
static void folder_for_an_entry(void)
{
    char path[400];
    entry_path(path, "cache");
    ck_assert(!unlink(path) && !mkdir(path, 0700));
}
static void link_for_a_shard(void)
{
    char path[400];
    entry_path(path, "cache");
    *strrchr(path, '/') = 0;
    folder_remove(path);
    ck_assert_int_eq(symlink("/tmp", path), 0);
}
static void old_temps(void)
{
    write_file(in_root("cache/tmp/17-0-1700000000.000000123"), "x", 1, 0600);
    old(in_root("cache/tmp/17-0-1700000000.000000123"), 30);
    write_file(in_root("pack.17-0-1700000000.000000123"), "x", 1, 0600);
    old(in_root("pack.17-0-1700000000.000000123"), 30);
    unlink(in_root("cache/trim"));
}
static void without_rights(void)
{
    ck_assert(!chmod(in_root("cache/tmp"), 0) && !chmod(in_root("cache/locks"), 0) && !chmod(in_root("cache/quarantine"), 0500));
}
static void damaged_pack(void)
{
    FILE *f = fopen(in_root("pack"), "r+b");
    ck_assert(f && !fseek(f, -40, SEEK_END) && fputc('X', f) == 'X' && !fclose(f));
    damaged_twice();
}
static void cut_pack(void)
{
    ck_assert_int_eq(truncate(in_root("pack"), 300), 0);
    damaged();
}

static const struct state {
    void (*make)(void);
    bool hit; /* the folder gives the kernel */
} states[] = {{nothing, true}, {no_folder, false}, {empty_folder, false}, {marker_alone, false}, {half_made, false}, {damaged, false},
    {damaged_without_quarantine, false}, {damaged_twice, false}, {long_unused, true}, {folder_for_an_entry, false},
    {link_for_a_shard, false}, {old_temps, true}, {without_rights, true}, {damaged_pack, false}, {cut_pack, false}};

/* Its paths outlive other uses of in_root(). */
static sett_engine_options lasting(void)
{
    static char dir[200], ptxas[200];
    sett_engine_options o = options();
    snprintf(dir, sizeof dir, "%s", o.cache_dir);
    snprintf(ptxas, sizeof ptxas, "%s", o.ptxas);
    o.cache_dir = dir, o.ptxas = ptxas;
    return o;
}

/* cache/, layer/ and pack with the entry of `scale`. */
static void warm_all(void)
{
    sett_engine_options o = lasting();
    sett_error err = {0};
    sett_engine *e = open_with(&o);
    ck_assert_int_eq(sett_key(e, scale, &sm90, key_of, NULL), SETT_OK);
    sett_kernel_release(compile(e, &sm90));
    sett_engine_close(e);
    e = open_with(&o);
    ck_assert_msg(!sett_pack_write(e, in_root("pack"), NULL, NULL, &err), "%s", err.text);
    sett_engine_close(e);
    o.cache_dir = in_root("layer");
    e = open_with(&o);
    sett_kernel_release(compile(e, &sm90));
    sett_engine_close(e);
}

static bool seen(void *user, const sett_cache_entry *entry)
{
    (void)user, (void)entry;
    return true;
}

static void refuses_to_write(sett_engine *e)
{
    sett_error err = {0};
    sett_warm_options w = {.size = sizeof w, .targets = "sm_90a"};
    sett_warm_result r = {.size = sizeof r};
    ck_assert_int_eq(sett_cache_trim(e, 0, NULL, &err), SETT_E_IO);
    ck_assert_str_eq(err.text, "sett_cache_trim: the engine is sealed, and writes nothing");
    ck_assert_int_eq(sett_pack_unpack(e, NULL, &err), SETT_E_IO);
    ck_assert_str_eq(err.text, "sett_pack_unpack: the engine is sealed, and writes nothing");
    ck_assert_int_eq(sett_warm(e, in_root("none.warm"), &w, &r, &err), SETT_E_IO);
    ck_assert_str_eq(err.text, "sett_warm: the engine is sealed, and writes nothing");
}

/* All that a server asks of an engine. */
static void serve(sett_engine *e, sett_status compiles, sett_status gets)
{
    char text[8192];
    sett_kernel *k;
    sett_error err = {0};
    for (int round = 0; round < 2; round++) {
        ck_assert_msg(sett_compile(e, scale, &sm90, &k, &err) == compiles, "%s", err.text);
        sett_kernel_release(k);
        ck_assert_int_eq(sett_kernel_get(e, key_of, &k, &err), gets);
        sett_kernel_release(k);
        sett_cache_walk(e, seen, NULL, NULL);
        sett_cache_explain(e, key_of, key_of, text, sizeof text, NULL);
        sett_engine_describe(e, text, sizeof text);
    }
}

static void same_tree(char *before, const char *what)
{
    char *after = tree();
    size_t same = 0;
    for (size_t i = 0; before[i] && before[i] == after[i]; i++)
        same = before[i] == '\n' ? i + 1 : same;
    ck_assert_msg(!strcmp(before, after), "%s: %.300s is now %.300s", what, before + same, after + same);
    free(before), free(after);
}

/* layers: none, or those two with the pack first. */
static void sealed_over(const struct state *state, bool layers, bool sealed_later)
{
    sett_engine_options o = lasting();
    char paths[500];
    snprintf(paths, sizeof paths, "%s:%s", in_root("pack"), in_root("layer"));
    o.cache_layers = layers ? paths : "";
    o.sealed = !sealed_later;
    sett_engine *e = sealed_later ? open_with(&o) : NULL;
    state->make();
    char *before = tree();
    if (e)
        sett_engine_seal(e, true);
    else
        e = open_with(&o);
    bool hit = state->hit || (layers && state->make != damaged_pack);
    serve(e, hit ? SETT_OK : SETT_E_NOT_CACHED, hit ? SETT_OK : SETT_E_NOT_CACHED);
    sett_engine_close(e);
    same_tree(before, "serving");
}

START_TEST(writes_nothing)
{
    if (!have_compiler())
        return;
    for (size_t i = 0; i < SETT__COUNT(states); i++)
        for (int kind = 0; kind < 4; kind++) {
            folder_remove(in_root("cache")), folder_remove(in_root("layer")), unlink(in_root("pack"));
            warm_all();
            sealed_over(&states[i], kind & 1, kind & 2);
        }
}
END_TEST

START_TEST(asked_to_write)
{
    sett_engine_options o = lasting();
    o.sealed = true;
    if (!have_compiler())
        return;
    warm_all();
    for (int missing = 0; missing < 2; missing++) {
        char *before = tree();
        sett_engine *e = open_with(&o);
        ck_assert(!layer(e, 0).writable);
        refuses_to_write(e);
        sett_engine_close(e);
        same_tree(before, "asked");
        no_folder();
    }
}
END_TEST

/* An engine that is opened sealed and unsealed later has its folder then, whatever was there; sealed again it writes no more. */
START_TEST(unsealed)
{
    if (!have_compiler())
        return;
    for (size_t i = 0; i < SETT__COUNT(states); i++) {
        sett_kernel *k;
        folder_remove(in_root("cache")), folder_remove(in_root("layer")), unlink(in_root("pack"));
        warm_all();
        states[i].make();
        sett_engine_options o = lasting();
        o.sealed = true;
        sett_engine *e = open_with(&o);
        ck_assert_int_eq(sett_kernel_get(e, key_of, &k, NULL), states[i].hit ? SETT_OK : SETT_E_NOT_CACHED);
        sett_kernel_release(k);
        sett_engine_seal(e, false);
        ck_assert_msg(layer(e, 0).writable && !layer(e, 0).why_not, "%zu: %s", i, layer(e, 0).why_not);
        sett_kernel_release(compile(e, &sm90));
        sett_engine_close(e);
        o.sealed = false;
        e = open_with(&o);
        ck_assert_int_eq(sett_kernel_get(e, key_of, &k, NULL), SETT_OK);
        sett_kernel_release(k);
        sett_engine_seal(e, true);
        ck_assert(!layer(e, 0).writable);
        sett_engine_close(e);
    }
}
END_TEST

/* What was compiled before the seal is written all the same: the server that warms up, seals and is restarted. */
START_TEST(sealed_behind_a_compile)
{
    sett_kernel *k;
    if (!have_compiler())
        return;
    sett_engine *e = open_engine();
    sett_kernel_release(compile(e, &sm90));
    sett_engine_seal(e, true);
    ck_assert_int_eq(sett_key(e, scale, &sm90, key_of, NULL), SETT_OK);
    sett_engine_close(e);
    e = open_engine();
    ck_assert_int_eq(sett_kernel_get(e, key_of, &k, NULL), SETT_OK);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

SUITE_IN_ROOT(sealed, writes_nothing, asked_to_write, unsealed, sealed_behind_a_compile)
