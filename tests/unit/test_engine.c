/* SPDX-License-Identifier: Apache-2.0 */
/* The engine from opening to closing: devices, keys, what compiling refuses, memory and the memo, lives. */
#define SETT_SHORT
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <sett/bench.h>
#include <sett/memory.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void broken(sett_build *b, const void *user)
{
    (void)user;
    sett_param(b, "X", SETT_F32, sett_row_major(b, 4, 0));
    sett_sym(b, "");
}

/* ---- opening ------------------------------------------------------------------------------- */
START_TEST(open_refuses)
{
    struct {
        sett_engine_options o;
        int64_t more;
    } newer = {options(), 1};
    static const struct {
        const char *text;
        int which;
    } t[] = {{"sett_engine_options.size is 0; set it to sizeof(sett_engine_options)", 0},
        {"sett_engine_options has a field set that this version of sett (" SETT_VERSION ") does not know", 1},
        {"cache_dir is not an absolute path: some/where", 2}, {"cpu_threads -1 is out of range", 3},
        {"assembler 9 is none of SETT_ASM_*", 4}};
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett_engine *e = (sett_engine *)&newer;
        sett_error err = {0};
        sett_engine_options o = options();
        if (t[i].which == 0)
            o.size = 0;
        if (t[i].which == 2)
            o.cache_dir = "some/where";
        if (t[i].which == 3)
            o.cpu_threads = -1;
        if (t[i].which == 4)
            o.assembler = (sett_assembler)9;
        newer.o.size = sizeof newer;
        ck_assert_int_eq(sett_engine_open(&e, t[i].which == 1 ? &newer.o : &o, &err), SETT_E_ARGUMENT);
        ck_assert_str_eq(err.text, t[i].text);
        ck_assert_ptr_null(e);
    }
    ck_assert_int_eq(sett_engine_open(NULL, NULL, NULL), SETT_E_ARGUMENT);
    sett_engine_close(NULL);
    newer.more = 0; /* a newer header whose new field is at its default */
    sett_engine_close(open_with(&newer.o));
}
END_TEST

static void keep_log(void *user, sett_log_level level, const char *component, const char *message)
{
    char *text = user;
    if (level <= SETT_LOG_WARNING)
        snprintf(text + strlen(text), 900 - strlen(text), "%s: %s\n", component, message);
}

/* A cache that cannot be had costs one line in the log and nothing else. */
START_TEST(memory_only)
{
    char log[1000] = "", text[8192];
    sett_engine_options o = options();
    o.cache_dir = in_root("cubin/below-a-file");
    o.log = keep_log;
    o.user = log;
    sett_engine *e = open_with(&o);
    ck_assert_ptr_eq(strstr(log, "cache: /"), log);
    ck_assert_ptr_nonnull(strstr(log, "below-a-file is not used: cannot make the cache folder: "));
    ck_assert_ptr_eq(strchr(log, '\n'), log + strlen(log) - 1);
    sett_kernel *k = compile(e, NULL), *again = compile(e, NULL);
    ck_assert_ptr_eq(k, again);
    int n = sett_engine_describe(e, text, sizeof text);
    ck_assert_int_eq(n, (int)strlen(text));
    ck_assert_ptr_nonnull(strstr(text, "below-a-file is not used: cannot make the cache folder: "));
    ck_assert_ptr_nonnull(strstr(text, "driver: none: the engine was opened with .no_gpu"));
    ck_assert_int_eq(sett_engine_describe(e, text, 10), n);
    ck_assert_uint_eq(strlen(text), 9);
    sett_kernel_release(k);
    sett_kernel_release(again);
    sett_engine_close(e);
    o.cache_dir = "";
    log[0] = 0;
    sett_engine_close(open_with(&o));
    ck_assert_str_eq(log, "");
}
END_TEST

START_TEST(devices_and_memory)
{
    sett_engine *e = open_engine();
    char target[16] = "";
    const sett_stream cpu = {SETT_CPU, NULL}, gpu = {0, NULL};
    ck_assert_int_eq(sett_default_device(e), SETT_CPU);
    ck_assert_int_eq(sett_gpu_count(e), 0);
    ck_assert_int_eq(sett_device_target(e, SETT_DEFAULT_DEVICE, target, sizeof target), 3);
    ck_assert_str_eq(target, "cpu");
    ck_assert_int_lt(sett_device_target(e, 0, target, sizeof target), 0);
    ck_assert_int_lt(sett_device_target(e, -3, target, sizeof target), 0);
    unsigned char *p = sett_alloc(e, SETT_CPU, 1000), *q = sett_alloc(e, SETT_DEFAULT_DEVICE, 0);
    ck_assert_uint_eq((uintptr_t)p % 256, 0);
    ck_assert_ptr_nonnull(q);
    ck_assert_ptr_null(sett_alloc(e, SETT_CPU, SIZE_MAX));
    ck_assert_ptr_null(sett_alloc(e, SETT_CPU, SIZE_MAX / 2));
    ck_assert_ptr_null(sett_alloc(e, 0, 16));
    for (int i = 0; i < 1000; i++)
        p[i] = (unsigned char)i;
    ck_assert_int_eq(sett_memcpy(e, cpu, p + 1, p, 100), SETT_OK);
    ck_assert_uint_eq(p[100], 99);
    ck_assert_int_eq(sett_memcpy(e, cpu, NULL, p, 1), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_memcpy(e, cpu, NULL, NULL, 0), SETT_OK);
    ck_assert_int_eq(sett_memcpy(e, gpu, p, q, 1), SETT_E_NO_DEVICE);
    sett_error err = {0};
    ck_assert_int_eq(sett_sync_error(e, gpu, &err), SETT_E_NO_DEVICE);
    ck_assert_str_eq(err.text, "device 0: the engine was opened with .no_gpu");
    ck_assert_int_eq(sett_sync(e, cpu), SETT_OK);
    sett_free(e, SETT_CPU, p);
    sett_free(e, SETT_CPU, q);
    sett_free(e, SETT_CPU, NULL);
    sett_engine_close(e);
}
END_TEST

/* $SETT_DEVICE where there is no GPU; test_devices.c has it where there are two. An engine that may not use GPUs ignores which it names. */
START_TEST(default_device_is_asked_for)
{
    static const struct {
        const char *text, *why;
        sett_status status[2]; /* without .no_gpu, with it */
    } t[] = {{"", "", {0, 0}}, {"cpu", "", {0, 0}},
        {"0", "SETT_DEVICE is 0 in the environment: device 0: ", {SETT_E_NO_DEVICE, 0}},
        {"gpu", "SETT_DEVICE is gpu in the environment: device 0: ", {SETT_E_NO_DEVICE, 0}},
#define NONE(text) "SETT_DEVICE is \"" text "\" in the environment: it is cpu, gpu or the number of a GPU, and they count from 0"
        {"-1", NONE("-1"), {SETT_E_ARGUMENT, SETT_E_ARGUMENT}}, {"cuda:0", NONE("cuda:0"), {SETT_E_ARGUMENT, SETT_E_ARGUMENT}},
        {" 0", NONE(" 0"), {SETT_E_ARGUMENT, SETT_E_ARGUMENT}}, {"0x1", NONE("0x1"), {SETT_E_ARGUMENT, SETT_E_ARGUMENT}},
        {"4294967295", NONE("4294967295"), {SETT_E_ARGUMENT, SETT_E_ARGUMENT}},
        {"99999999999999999999", NONE("99999999999999999999"), {SETT_E_ARGUMENT, SETT_E_ARGUMENT}}};
    char told[4096];
    sett_engine_options o = options();
    o.no_gpu = false;
    sett_engine *e = open_with(&o);
    const bool gpus = sett_gpu_count(e) > 0;
    sett_engine_close(e);
    for (size_t i = 0; i < 2 * SETT__COUNT(t); i++) {
        sett_error err = {0};
        o.no_gpu = i % 2;
        if (gpus && !o.no_gpu)
            continue;
        setenv("SETT_DEVICE", t[i / 2].text, 1);
        ck_assert_msg(sett_engine_open(&e, &o, &err) == t[i / 2].status[i % 2], "%s: %s", t[i / 2].text, err.text);
        ck_assert_msg(e || !strncmp(err.text, t[i / 2].why, strlen(t[i / 2].why)), "%s", err.text);
        ck_assert_int_eq(sett_default_device(e), SETT_CPU);
        sett_engine_describe(e, told, sizeof told);
        ck_assert_msg(!e || strstr(told, !i || i == 1 ? "default device: cpu\n" : o.no_gpu ? "default device: cpu, and not what SETT_DEVICE says: " : "default device: cpu, as SETT_DEVICE says\n"),
            "%s: %s", t[i / 2].text, told);
        sett_engine_close(e);
    }
    unsetenv("SETT_DEVICE");
}
END_TEST

/* A program that did not look at what sett_engine_open() returned. */
START_TEST(no_engine)
{
    const sett_stream cpu = {SETT_CPU, NULL}, gpu = {0, NULL};
    char text[16] = "kept";
    sett_error err = {0};
    sett_stats stats = {.size = sizeof stats, .compiles = 7};
    ck_assert_int_eq(sett_default_device(NULL), SETT_CPU);
    ck_assert_int_eq(sett_gpu_count(NULL), 0);
    for (int device = -3; device < 2; device++) {
        ck_assert_int_eq(sett_device_target(NULL, device, text, sizeof text), -1);
        ck_assert_ptr_null(sett_alloc(NULL, device, 16));
        sett_free(NULL, device, text);
    }
    ck_assert_str_eq(text, "kept");
    ck_assert_int_eq(sett_engine_describe(NULL, text, sizeof text), 0);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(sett_memcpy(NULL, cpu, text, "x", 2), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_sync(NULL, gpu), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_sync_error(NULL, cpu, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_sync_error: the engine is NULL");
    sett_engine_stats(NULL, &stats);
    ck_assert_uint_eq(stats.compiles, 7);
    sett_engine *e = open_engine(); /* no buffer: the length alone, whatever the size says */
    ck_assert_int_eq(sett_device_target(e, SETT_CPU, NULL, 10), 3);
    ck_assert_int_eq(sett_engine_describe(e, NULL, 10), sett_engine_describe(e, NULL, 0));
    sett_engine_close(e);
}
END_TEST

/* A size that no struct has is a field that was not set, or set to -1: nothing is written. */
START_TEST(sizes_of_structs)
{
    static const size_t wrong[] = {0, 7, 4097, (size_t)-1};
    sett_engine *e = open_engine();
    sett_kernel *k = compile(e, NULL);
    for (size_t i = 0; i < SETT__COUNT(wrong); i++) {
        sett_kernel_info info = {.size = wrong[i], .registers = 77};
        sett_param_info param = {.size = wrong[i], .rank = 77};
        sett_stats stats = {.size = wrong[i], .compiles = 77};
        sett_engine_options eo = {.size = wrong[i]};
        sett_compile_options co = {.size = wrong[i]};
        sett_engine *other;
        sett_kernel *none;
        ck_assert_int_eq(sett_kernel_query(k, &info), SETT_E_ARGUMENT);
        ck_assert_int_eq(sett_kernel_param(k, 0, &param), SETT_E_ARGUMENT);
        sett_engine_stats(e, &stats);
        ck_assert_int_eq(info.registers, 77);
        ck_assert_int_eq(param.rank, 77);
        ck_assert_uint_eq(stats.compiles, 77);
        ck_assert_int_eq(sett_engine_open(&other, &eo, NULL), SETT_E_ARGUMENT);
        ck_assert_int_eq(sett_compile(e, scale, &co, &none, NULL), SETT_E_ARGUMENT);
    }
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

static void note(void *user, sett_log_level level, const char *component, const char *message)
{
    (void)component;
    if (level == SETT_LOG_ERROR)
        snprintf(user, 200, "%s", message);
}

/* Freeing twice, foreign memory and addresses inside are told and left alone; a copy ends where its block does. */
START_TEST(memory_that_is_not_there)
{
    enum { N = 300 };
    char logged[200] = "", *p[N], foreign[16] = "kept";
    sett_engine_options o = options();
    o.log = note, o.user = logged;
    sett_engine *e = open_with(&o);
    const sett_stream cpu = {SETT_CPU, NULL};
    for (int i = 0; i < N; i++)
        ck_assert_ptr_nonnull(p[i] = sett_alloc(e, SETT_CPU, (size_t)i * 8));
    ck_assert_int_eq(sett_memcpy(e, cpu, p[2] + 8, foreign, 8), SETT_OK);
    ck_assert_int_eq(sett_memcpy(e, cpu, p[2] + 9, foreign, 8), SETT_E_RANGE);
    ck_assert_int_eq(sett_memcpy(e, cpu, foreign, p[1], 9), SETT_E_RANGE);
    ck_assert_str_eq(foreign, "kept");
    for (int i = 0; i < N; i += 2)
        sett_free(e, SETT_CPU, p[i]);
    ck_assert_str_eq(logged, "");
    void *const wrong[] = {p[4], foreign, p[5] + 1};
    for (int i = 0; i < 3; i++) {
        logged[0] = 0;
        sett_free(e, SETT_CPU, wrong[i]);
        ck_assert_msg(strstr(logged, "was not given by sett_alloc, or was freed before") != NULL, "%d: %s", i, logged);
    }
    for (int i = 1; i < N; i += 2)
        sett_free(e, SETT_CPU, p[i]);
    sett_engine_close(e);
}
END_TEST

/* ---- keys -------------------------------------------------------------------------------------- */
static void key_of(sett_engine *e, const sett_compile_options *o, uint8_t key[32])
{
    sett_error err = {0};
    ck_assert_msg(!sett_key(e, scale, o, key, &err), "%s", err.text);
}

START_TEST(keys)
{
    static const variant narrow = {48, 64, 2.0}, block = {0, 128, 2.0}, factor = {0, 64, 3.0};
    const sett_compile_options same = {.size = sizeof same, .name = "other", .target = "sm_90a"};
    sett_compile_options other[] = {sm90, sm90, sm90, sm90, sm90, sm90, sm90};
    uint8_t base[32], key[SETT__COUNT(other)][32];
    sett_engine *e = open_engine();
    other[0].target = "sm_90";
    other[1].opt_level = 1;
    other[2].line_info = true;
    other[3].user = &narrow;
    other[4].user = &block;
    other[5].user = &factor;
    other[6].target = "cpu";
    key_of(e, &sm90, base);
    key_of(e, &same, key[0]); /* the name is not in it, and two builds agree */
    ck_assert_mem_eq(base, key[0], 32);
    other[1].opt_level = 3; /* the default, spelt out */
    key_of(e, &other[1], key[0]);
    ck_assert_mem_eq(base, key[0], 32);
    other[1].opt_level = 1;
    for (size_t i = 0; i < SETT__COUNT(other); i++) {
        key_of(e, &other[i], key[i]);
        ck_assert_msg(memcmp(key[i], base, 32) != 0, "change %zu leaves the key", i);
        for (size_t j = 0; j < i; j++)
            ck_assert_msg(memcmp(key[i], key[j], 32) != 0, "changes %zu and %zu give one key", i, j);
    }
    sett_engine_close(e);
}
END_TEST

/* What says the same in other words, in every combination; and what is no part of the code. */
START_TEST(keys_of_equal_options)
{
    static const variant usual = {0, 64, 2.0}; /* what no user data stand for */
    variant copy = usual;
    uint8_t base[32], key[32];
    sett_engine *e = open_engine();
    key_of(e, &sm90, base);
    for (unsigned i = 0; i < 64; i++) {
        sett_compile_options o = sm90;
        char target[] = "sm_90a";
        o.target = i & 1 ? target : o.target;
        o.opt_level = i & 2 ? 3 : 0;
        o.name = i & 4 ? "other" : NULL;
        o.user = i & 8 ? &copy : i & 16 ? &usual : NULL;
        o.user_size = i & 16 ? sizeof copy : 0;
        o.ptx_only = (i & 32) != 0;
        key_of(e, &o, key);
        ck_assert_msg(!memcmp(key, base, 32), "combination %u", i);
    }
    sett_engine_close(e);
}
END_TEST

/* A second process, started afresh (other addresses), forms the same key; so does the tape's text and bytes. */
START_TEST(keys_of_tapes)
{
    sett_engine *e = open_engine();
    uint8_t key[32];
    sett_compile_options o = {.size = sizeof o, .target = "cpu"};
    key_of(e, &o, key);
    for (int text = 0; text < 2; text++) {
        void *tape;
        size_t len;
        sett_error err = {0};
        sett_kernel *k;
        sett_kernel_info info = {.size = sizeof info};
        ck_assert_msg(!sett_record(scale, NULL, text, &tape, &len, &err), "%s", err.text);
        ck_assert_msg(!sett_compile_tape(e, tape, len, &o, &k, &err), "%s", err.text);
        ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
        ck_assert_mem_eq(info.key, key, 32);
        sett_kernel_release(k);
        sett_text_free(tape);
    }
    sett_engine_close(e);
}
END_TEST

/* ---- what compiling refuses -------------------------------------------------------------------------- */
/* 128 KiB and 128 bytes less than 100 KiB: each is named, also if nothing uses it. */
static const int first_line = __LINE__ + 4;
static void too_much(sett_build *b, const void *user)
{
    sett_block(b, 32);
    sett_tensor *s = sett_make_smem_tensor(b, SETT_F32, 25568, 0);
    sett_tensor *t = sett_make_smem_tensor(b, SETT_F32, sett_make_layout(b, T1(32768)), 0);
    if (!user) {
        sett_set(s, 1, 0);
        sett_set(t, 1, 0);
    }
}

START_TEST(too_much_shared_memory)
{
    const sett_compile_options used = {.size = sizeof used, .name = "hungry", .target = "sm_90a"};
    sett_compile_options unused = used;
    char want[200];
    sett_engine *e = open_engine();
    sett_kernel *k;
    sett_error err = {0};
    unused.user = "unused";
    snprintf(want, sizeof want,
        "hungry: 233344 bytes of shared memory, and sm_90a gives a block at most 232448: 102272 at %s:%d, 131072 at %s:%d",
        __FILE__, first_line, __FILE__, first_line + 1);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(sett_compile(e, too_much, i ? &unused : &used, &k, &err), SETT_E_LIMIT);
        ck_assert_str_eq(err.text, want);
    }
    sett_engine_close(e);
}
END_TEST

/* By the PTX manual's releases; sm_101 was renamed to sm_110, and no code is made for it. */
#define TARGETS \
    "cpu, sm_70, sm_72, sm_75, sm_80, sm_86, sm_87, sm_88, sm_89, sm_90[a], sm_100[a|f], sm_103[a|f], sm_110[a|f], " \
    "sm_120[a|f], sm_121[a|f]"

START_TEST(compile_refuses)
{
    static const struct {
        sett_compile_options o;
        sett_status status;
        const char *text;
    } t[] = {
        {{.size = 0}, SETT_E_ARGUMENT, "sett_compile_options.size is 0; set it to sizeof(sett_compile_options)"},
        {{.size = sizeof(sett_compile_options), .name = ""}, SETT_E_ARGUMENT,
            "sett_compile: \"\" is no kernel name: letters, digits and _, at most 128, no digit first"},
        {{.size = sizeof(sett_compile_options), .name = "9a"}, SETT_E_ARGUMENT,
            "sett_compile: \"9a\" is no kernel name: letters, digits and _, at most 128, no digit first"},
        {{.size = sizeof(sett_compile_options), .name = "a-b"}, SETT_E_ARGUMENT,
            "sett_compile: \"a-b\" is no kernel name: letters, digits and _, at most 128, no digit first"},
        {{.size = sizeof(sett_compile_options), .target = "sm90"}, SETT_E_ARGUMENT,
            "sett_compile: \"sm90\" is no target: they are " TARGETS},
        {{.size = sizeof(sett_compile_options), .target = ""}, SETT_E_ARGUMENT,
            "sett_compile: \"\" is no target: they are " TARGETS},
        {{.size = sizeof(sett_compile_options), .opt_level = 5}, SETT_E_ARGUMENT, "sett_compile: opt_level 5 is not 0 to 4"},
        {{.size = sizeof(sett_compile_options), .user_size = 8}, SETT_E_ARGUMENT, "sett_compile: user_size is 8 and user is NULL"},
        {{.size = sizeof(sett_compile_options), .target = "cpu", .ptx_only = true}, SETT_E_ARGUMENT,
            "sett_compile: ptx_only needs a GPU's target, such as \"sm_90a\""},
    };
    sett_engine *e = open_engine();
    sett_kernel *k;
    sett_error err;
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        memset(&err, 0, sizeof err);
        ck_assert_int_eq(sett_compile(e, scale, &t[i].o, &k, &err), t[i].status);
        ck_assert_str_eq(err.text, t[i].text);
        ck_assert_ptr_null(k);
    }
    sett_compile_options nine = {.size = sizeof nine, .opt_level = 9}, none = {.size = sizeof none, .target = "sm90"};
    uint8_t key[32];
    void *tape;
    size_t len;
    ck_assert_int_eq(sett_key(e, scale, &nine, key, &err), SETT_E_ARGUMENT); /* each function by its own name */
    ck_assert_str_eq(err.text, "sett_key: opt_level 9 is not 0 to 4");
    ck_assert_int_eq(sett_record(scale, &nine, true, &tape, &len, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_record: opt_level 9 is not 0 to 4");
    ck_assert_int_eq(sett_compile_tape(e, "", 0, &none, &k, &err), SETT_E_ARGUMENT);
    ck_assert_str_eq(err.text, "sett_compile_tape: \"sm90\" is no target: they are " TARGETS);
    ck_assert_int_eq(sett_compile(NULL, scale, NULL, &k, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_compile(e, NULL, NULL, &k, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_compile(e, scale, NULL, NULL, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_compile_tape(e, NULL, 0, NULL, &k, &err), SETT_E_ARGUMENT);
    ck_assert_int_ne(sett_compile_tape(e, "no tape", 7, NULL, &k, &err), SETT_OK);
    ck_assert_int_ne(sett_compile_tape(e, "sett\1\0\0\0", 8, NULL, &k, &err), SETT_OK);
    ck_assert_int_eq(sett_compile_tape(e, "a\0b", 3, NULL, &k, &err), SETT_E_PARSE);
    ck_assert_str_eq(err.text, "the tape's text holds a NUL");
    ck_assert_ptr_null(k);
    ck_assert_int_ne(sett_compile(e, broken, NULL, &k, &err), SETT_OK);
    ck_assert_msg(strstr(err.text, "test_engine.c:") != NULL, "no line of the caller in \"%s\"", err.text);
    ck_assert_ptr_null(k);
    sett_engine_close(e);
}
END_TEST

START_TEST(sealed)
{
    sett_engine_options o = options();
    sett_kernel *k;
    sett_error err = {0};
    o.sealed = true;
    sett_engine *e = open_with(&o);
    ck_assert_int_eq(sett_compile(e, scale, &sm90, &k, &err), SETT_E_NOT_CACHED);
    uint8_t key[32];
    char hex[65], want[400];
    key_of(e, &sm90, key);
    sett__hex_write(key, hex);
    snprintf(want, sizeof want, "scale for sm_90a, key %s, is not in the cache, and the engine is sealed: %s is not used: the cache folder cannot be opened: No such file or directory", hex, in_root("cache"));
    ck_assert_str_eq(err.text, want);
    ck_assert_int_eq(stats(e).sealed_misses, 1);
    ck_assert_int_eq(sett_kernel_get(e, key, &k, &err), SETT_E_NOT_CACHED); /* by key it is no less a miss */
    snprintf(want, sizeof want, "no kernel of key %s: %s is not used: the cache folder cannot be opened: No such file or directory", hex, in_root("cache"));
    ck_assert_str_eq(err.text, want);
    ck_assert_int_eq(stats(e).sealed_misses, 2);
    ck_assert_int_eq(stats(e).misses, 2);
    ck_assert_int_eq(stats(e).compiles, 0);
    sett_kernel_release(compile(e, NULL)); /* the CPU engine compiles nothing */
    sett_engine_seal(e, false);
    sett_engine_seal(NULL, true);
    if (have_compiler()) { /* a server warms up, and seals: what it has it has */
        const variant other = {40, 64, 2.0};
        sett_compile_options c = sm90;
        sett_kernel_release(compile(e, &sm90));
        sett_engine_seal(e, true);
        sett_kernel_release(compile(e, &sm90));
        c.user = &other;
        ck_assert_int_eq(sett_compile(e, scale, &c, &k, &err), SETT_E_NOT_CACHED);
        ck_assert_int_eq(stats(e).compiles, 1);
    }
    sett_engine_close(e);
}
END_TEST

/* ---- memory and the memo --------------------------------------------------------------------------------- */
START_TEST(memo)
{
    sett_engine *e = open_engine();
    variant v = {48, 64, 2.0};
    sett_compile_options o = {.size = sizeof o, .user = &v, .user_size = sizeof v};
    sett_kernel *k[4];
    k[0] = compile(e, &o);
    k[1] = compile(e, &o);
    ck_assert_ptr_eq(k[0], k[1]);
    ck_assert_uint_eq(stats(e).records, 1);
    ck_assert_uint_eq(stats(e).memo_hits, 1);
    v.factor = 5;
    k[2] = compile(e, &o);
    ck_assert_ptr_ne(k[0], k[2]);
    ck_assert_uint_eq(stats(e).records, 2);
    o.user_size = 0; /* recorded again, and found by its key */
    k[3] = compile(e, &o);
    ck_assert_ptr_eq(k[3], k[2]);
    ck_assert_uint_eq(stats(e).records, 3);
    ck_assert_uint_eq(stats(e).memory_hits, 1);
    ck_assert_uint_eq(stats(e).misses, 2);
    for (int i = 0; i < 4; i++)
        sett_kernel_release(k[i]);
    sett_engine_close(e);
}
END_TEST

/* What is remembered takes no check from its callers: what a first call is refused for, a later one is. All of the options
 * counts, and so does a struct of an older header. */
START_TEST(memo_of_options)
{
    sett_engine *e = open_engine();
    variant v = {48, 64, 2.0};
    const sett_compile_options good = {.size = sizeof good, .user = &v, .user_size = sizeof v, .target = "cpu"};
    sett_compile_options bad[8], old = good;
    static const char *const why[] = {"sett_compile: \"a-b\" is no kernel name", "sett_compile: \"\" is no kernel name",
        "sett_compile: opt_level 5", "sett_compile: opt_level -1", "sett_compile: asserts 3 is none", "sett_compile: \"cpv\" is no target",
        "sett_compile: \"\" is no target", "sett_compile: ptx_only needs"};
    char name[131];
    sett_error err;
    sett_kernel *k = compile(e, &good), *again;
    for (size_t i = 0; i < SETT__COUNT(bad); i++)
        bad[i] = good;
    bad[0].name = "a-b", bad[1].name = "", bad[2].opt_level = 5, bad[3].opt_level = -1, bad[4].asserts = 3;
    bad[5].target = "cpv", bad[6].target = "", bad[7].ptx_only = true;
    for (size_t i = 0; i < SETT__COUNT(bad); i++) {
        ck_assert_int_eq(sett_compile(e, scale, &bad[i], &again, &err), SETT_E_ARGUMENT);
        ck_assert_msg(!strncmp(err.text, why[i], strlen(why[i])), "%s", err.text);
        ck_assert_ptr_null(again);
    }
    memset(name, 'n', sizeof name);
    name[129] = 0;
    bad[0].name = name;
    ck_assert_int_eq(sett_compile(e, scale, &bad[0], &again, &err), SETT_E_ARGUMENT);
    ck_assert_uint_eq(stats(e).memo_hits, 0);
    name[128] = 0;
    old.size = offsetof(sett_compile_options, asserts);
    const sett_compile_options *const hits[] = {&good, &bad[0], &old};
    for (size_t i = 0; i < SETT__COUNT(hits); i++) {
        again = compile(e, hits[i]);
        ck_assert_ptr_eq(again, k);
        sett_kernel_release(again);
        ck_assert_uint_eq(stats(e).memo_hits, i + 1);
    }
    old.size = sizeof old + 8; /* of a newer header, whose field is not set */
    struct { sett_compile_options o; uint64_t more; } newer = {old, 0};
    again = compile(e, &newer.o);
    ck_assert_ptr_eq(again, k);
    ck_assert_uint_eq(stats(e).memo_hits, 4);
    newer.more = 1;
    sett_kernel_release(again);
    ck_assert_int_eq(sett_compile(e, scale, &newer.o, &again, &err), SETT_E_ARGUMENT);
    ck_assert_msg(strstr(err.text, "does not know") != NULL, "%s", err.text);
    ck_assert_uint_eq(stats(e).records, 1);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

START_TEST(many_kernels)
{
    enum { N = 300 };
    sett_engine *e = open_engine();
    static sett_kernel *k[N];
    for (int i = 0; i < N; i++) {
        variant v = {32 + i, 64, 2.0};
        sett_compile_options o = {.size = sizeof o, .user = &v, .user_size = sizeof v};
        k[i] = compile(e, &o);
    }
    for (int i = 0; i < N; i++) {
        variant v = {32 + i, 64, 2.0};
        sett_compile_options o = {.size = sizeof o, .user = &v, .user_size = sizeof v};
        sett_kernel *again = compile(e, &o), *by_key;
        sett_kernel_info info = {.size = sizeof info};
        ck_assert_ptr_eq(again, k[i]);
        ck_assert_int_eq(sett_kernel_query(again, &info), SETT_OK);
        ck_assert_int_eq(sett_kernel_get(e, info.key, &by_key, NULL), SETT_OK);
        ck_assert_ptr_eq(by_key, k[i]);
        sett_kernel_release(by_key);
        sett_kernel_release(again);
        sett_kernel_release(k[i]);
    }
    ck_assert_uint_eq(stats(e).records, N);
    sett_engine_close(e);
}
END_TEST

START_TEST(runs_on_the_cpu)
{
    sett_engine *e = open_engine();
    sett_kernel *k = compile(e, NULL);
    float x[6] = {1, 2, 3, 4, 5, 6}, y[6] = {0};
    sett_buf X = sett_buf_2d(x, SETT_F32, 2, 3), Y = sett_buf_2d(y, SETT_F32, 2, 3);
    const sett_stream cpu = {SETT_CPU, NULL};
    sett_error err = {0};
    sett_kernel_info info = {.size = sizeof info};
    ck_assert_msg(!sett_launch(k, cpu, &err, &X, &Y), "%s", err.text);
    for (int i = 0; i < 6; i++)
        ck_assert_float_eq(y[i], 2 * x[i]);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_str_eq(info.target, "cpu");
    ck_assert_str_eq(info.name, "kernel");
    ck_assert_int_eq(info.block[0], 64);
    ck_assert_int_eq(info.block[1], 1);
    ck_assert_ptr_null(info.cubin);
    ck_assert_int_eq(sett_prepare(k, SETT_CPU, &err), SETT_OK);
    ck_assert_int_eq(sett_unload(k, &err), SETT_OK); /* there is nothing to unload */
    ck_assert_int_eq(sett_unload(NULL, &err), SETT_E_ARGUMENT);
    ck_assert_int_eq(sett_prepare(k, 0, &err), SETT_E_NO_DEVICE);
    sett_kernel_info part = {.size = offsetof(sett_kernel_info, key)}; /* an older caller's */
    part.smem = 77;
    ck_assert_int_eq(sett_kernel_query(k, &part), SETT_OK);
    ck_assert_str_eq(part.target, "cpu");
    ck_assert_int_eq(part.smem, 77);
    ck_assert_int_eq(sett_kernel_query(NULL, &part), SETT_E_ARGUMENT);
    sett_kernel_release(k);
    sett_kernel_release(NULL);
    sett_engine_close(e);
}
END_TEST

/* ---- life and death -------------------------------------------------------------------------------------- */
START_TEST(kernel_outlives_engine)
{
    sett_engine *e = open_engine();
    sett_kernel *k = compile(e, NULL);
    float x[6] = {0};
    sett_buf X = sett_buf_2d(x, SETT_F32, 2, 3);
    sett_error err = {0};
    sett_kernel_info info = {.size = sizeof info};
    sett_benchmark_result result = {.size = sizeof result};
    const sett_stream cpu = {SETT_CPU, NULL};
    sett_prepared *c, *none = NULL;
    ck_assert(!sett_prepared_make(k, SETT_CPU, &c, &err, &X, &X));
    sett_engine_close(e);
    for (int i = 0; i < 6; i++) { /* each says which kernel it is about */
        err = (sett_error){0};
        const sett_status s = i == 0   ? sett_launch(k, cpu, &err, &X, &X)
                              : i == 1 ? sett_prepare(k, SETT_CPU, &err)
                              : i == 2 ? sett_unload(k, &err)
                              : i == 3 ? sett_prepared_commit(c, &err)
                              : i == 4 ? sett_prepared_make(k, SETT_CPU, &none, &err, &X, &X)
                                       : sett_benchmark(k, cpu, NULL, &result, &err, &X, &X);
        ck_assert_int_eq(s, SETT_E_CLOSED);
        ck_assert_str_eq(err.text, "kernel: the engine was closed");
    }
    ck_assert_int_eq(sett_prepared_run(c, cpu), SETT_E_CLOSED);
    ck_assert_ptr_null(none);
    sett_prepared_free(c);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    ck_assert_str_eq(info.name, "kernel");
    sett_kernel_release(k);
}
END_TEST

START_TEST(forked_child)
{
    sett_engine *e = open_engine();
    sett_kernel *k = compile(e, NULL);
    float x[6] = {0};
    sett_buf X = sett_buf_2d(x, SETT_F32, 2, 3);
    const sett_stream cpu = {SETT_CPU, NULL};
    pid_t child = fork();
    if (!child) {
        sett_kernel *other;
        int wrong = sett_compile(e, scale, NULL, &other, NULL) != SETT_E_FORKED;
        wrong |= (sett_launch(k, cpu, NULL, &X, &X) != SETT_E_FORKED) << 1;
        wrong |= (sett_alloc(e, SETT_CPU, 1) != NULL) << 2;
        sett_kernel_release(k);
        sett_engine_close(e);
        _exit(wrong);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert(WIFEXITED(status));
    ck_assert_int_eq(WEXITSTATUS(status), 0);
    ck_assert_int_eq(sett_launch(k, cpu, NULL, &X, &X), SETT_OK); /* the parent is as it was */
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

SUITE_IN_ROOT(engine, open_refuses, memory_only, devices_and_memory, default_device_is_asked_for, no_engine, sizes_of_structs,
    memory_that_is_not_there, keys, keys_of_equal_options, keys_of_tapes, compile_refuses, too_much_shared_memory, sealed, memo,
    memo_of_options, many_kernels,
    runs_on_the_cpu, kernel_outlives_engine, forked_child)
