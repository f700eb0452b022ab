/* SPDX-License-Identifier: Apache-2.0 */
/* Where conformance tests run, and the numbers that they run on: see conform.h. */
#include "tests/conform/conform.h"
#include <math.h>
#include <sett/graph.h>
#include <sett/memory.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GUARD = 256, ARGUMENTS = 512 };
static sett_engine *engine, *plain_engine, *single_engine;
/* Kernels that were launched, by key, for the plain interpreter of the CPU engine on one thread; NULL: it reads clocks. Where results depend
 * on the order of blocks, as those of atomics do, also for the usual way on one thread, which has the order of the plain one. */
static struct twin { uint8_t key[32]; bool made; sett_kernel *plain, *single; } twin[64];
static size_t n_twins;
static char printed[1 << 16];
static size_t n_printed;

/* Pieces of a launch may come from several threads, but one at a time. */
static void keep_print(void *user, const char *text, size_t len)
{
    (void)user;
    if (len > sizeof printed - 1 - n_printed)
        len = sizeof printed - 1 - n_printed;
    memcpy(printed + n_printed, text, len);
    n_printed += len;
    printed[n_printed] = 0;
}

const char *conform_printed(void)
{
    static char text[sizeof printed];
    size_t n = 0;
    for (const char *s = printed; *s && n_printed; s++) {
        bool address = !strncmp(s, "0x", 2) && strspn(s + 2, "0123456789abcdef") == 16 && strtoull(s, NULL, 16) > 0x10000;
        text[n++] = *s;
        if (address) {
            text[n++] = 'x', text[n++] = '*';
            s += 17;
        }
    }
    text[n] = 0;
    n_printed = 0;
    printed[0] = 0;
    return text;
}

/* On a GPU the driver writes to the process's stdout, at the latest when the stream is waited for. */
static int divert(FILE *to)
{
    fflush(stdout);
    int was = dup(STDOUT_FILENO);
    ck_assert(to && was >= 0 && dup2(fileno(to), STDOUT_FILENO) >= 0);
    return was;
}

static void restore(FILE *from, int was)
{
    char text[4096];
    fflush(stdout);
    dup2(was, STDOUT_FILENO);
    close(was);
    rewind(from);
    for (size_t n; (n = fread(text, 1, sizeof text, from)) > 0;)
        keep_print(NULL, text, n);
    fclose(from);
}

/* No kernel of these suites leaves a Boolean or threads over, by accident or in what the library records: the log would say so.
 * Programs at random do. */
static void no_mistakes(void *user, sett_log_level level, const char *component, const char *message)
{
    (void)user;
    const bool mistake = level == SETT_LOG_WARNING && !strcmp(component, "compile") && (strstr(message, "nothing uses") || strstr(message, "come here too"));
    ck_assert_msg(!mistake || strstr(message, "conform_program.c") || strstr(message, "conform_random.c"), "%s", message);
}

/* Opened by the first test of a process: an engine does not survive a fork. */
sett_engine *conform_engine(void)
{
    sett_error err;
    sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = !getenv("SETT_TEST_GPU"), .cpu_threads = 2,
                             .print = keep_print, .log = no_mistakes};
    if (!engine)
        ck_assert_msg(!sett_engine_open(&engine, &o, &err), "%s", err.text);
    return engine;
}

bool conform_on_gpu(void)
{
    return sett_gpu_count(conform_engine()) > 0;
}

bool conform_mine(int number)
{
    int part, of;
    const char *text = getenv("SETT_TEST_PART");
    return !text || sscanf(text, "%d/%d", &part, &of) != 2 || of < 1 || number % of == part;
}

/* Without a GPU: what it would be given is compiled at least, when SETT_TEST_TARGET names a target (sm_90a). */
static const char *other_target(void)
{
    return getenv("SETT_TEST_TARGET");
}

static void drop_print(void *user, const char *text, size_t len)
{
    (void)user, (void)text, (void)len;
}

static void open_here(sett_engine **e, bool plain)
{
    sett_error err;
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .cpu_threads = 1, .cpu_plain = plain, .print = drop_print};
    if (!*e)
        ck_assert_msg(!sett_engine_open(e, &o, &err), "%s", err.text);
}

void conform_stand_in(const char *name, const char *types, void (*f)(void))
{
    sett_error err;
    open_here(&plain_engine, true), open_here(&single_engine, false);
    sett_engine *const all[] = {conform_engine(), plain_engine, single_engine};
    for (size_t i = 0; i < SETT__COUNT(all); i++)
        ck_assert_msg(!sett_engine_stand_in(all[i], name, types, f, &err), "%s", err.text);
}

static void make_twin(struct twin *t, const sett_kernel *k, const sett_kernel_info *info)
{
    sett_error err;
    void *tape;
    size_t len;
    const sett_compile_options c = {.size = sizeof c, .name = info->name, .target = "cpu"};
    sett_kernel_release(t->plain), sett_kernel_release(t->single);
    *t = (struct twin){.made = true};
    memcpy(t->key, info->key, sizeof t->key);
    open_here(&plain_engine, true), open_here(&single_engine, false);
    ck_assert_msg(!sett_kernel_tape(k, true, &tape, &len, &err), "%s", err.text);
    const bool timed = strstr(tape, "special.clock") || strstr(tape, "special.globaltimer");
    if (!timed)
        ck_assert_msg(!sett_compile_tape(plain_engine, tape, len, &c, &t->plain, &err), "%s", err.text);
    if (!timed && strstr(tape, "atom."))
        ck_assert_msg(!sett_compile_tape(single_engine, tape, len, &c, &t->single, &err), "%s", err.text);
    sett_text_free(tape);
}

static const struct twin *twin_of(const sett_kernel *k)
{
    sett_kernel_info info = {.size = sizeof info};
    ck_assert(!sett_kernel_query(k, &info));
    for (size_t i = 0; i < SETT__COUNT(twin); i++)
        if (twin[i].made && !memcmp(twin[i].key, info.key, sizeof info.key))
            return &twin[i];
    struct twin *t = &twin[n_twins++ % SETT__COUNT(twin)];
    make_twin(t, k, &info);
    return t;
}

sett_kernel *conform_plain(const sett_kernel *k)
{
    return conform_on_gpu() ? NULL : twin_of(k)->plain;
}

sett_kernel *conform_compile(sett_body body, const void *user, conform_how how)
{
    sett_error err;
    sett_kernel *k = NULL;
    sett_compile_options o = {.size = sizeof o, .name = "conform", .user = user, .no_fold = how.no_fold,
                              .target = how.cpu ? "cpu" : NULL};
    if (other_target() && !how.cpu) {
        sett_compile_options other = o;
        other.target = other_target();
        ck_assert_msg(!sett_compile(conform_engine(), body, &other, &k, &err), "%s", err.text);
        sett_kernel_release(k);
    }
    ck_assert_msg(!sett_compile(conform_engine(), body, &o, &k, &err), "%s", err.text);
    return k;
}

sett_kernel *conform_compile_text(const char *tape)
{
    sett_error err;
    sett_kernel *k = NULL;
    const sett_compile_options o = {.size = sizeof o, .name = "conform"},
                               other = {.size = sizeof o, .name = "conform", .target = other_target()};
    if (other.target) {
        ck_assert_msg(!sett_compile_tape(conform_engine(), tape, strlen(tape), &other, &k, &err), "%s", err.text);
        sett_kernel_release(k);
    }
    ck_assert_msg(!sett_compile_tape(conform_engine(), tape, strlen(tape), &o, &k, &err), "%s", err.text);
    return k;
}

/* ---- launching ------------------------------------------------------------------------------------- */
static size_t bytes_of(const sett_buf *t)
{
    int64_t last = 0;
    for (int i = 0; i < t->rank; i++) {
        if (!t->shape[i])
            return 0;
        last += (t->shape[i] - 1) * t->stride[i];
    }
    return ((size_t)(last + 1) * (size_t)(t->dtype == SETT_BOOL ? 8 : sett_dtype_bits(t->dtype)) + 7) / 8;
}

typedef struct placed {
    sett_buf buf;
    char *device, *host; /* guard, data, guard */
    char *plain;         /* what the plain interpreter left there; NULL: it was not asked */
    char *usual;         /* what the usual way leaves there on one thread; NULL: the same as on several */
    size_t bytes;
    void *to;
} placed;

/* The address keeps its place in 16 bytes, so that a test can choose the alignment. */
static void place(sett_stream s, placed *p, const sett_buf *t)
{
    size_t odd = (uintptr_t)t->data % 16, all;
    p->buf = *t;
    p->to = t->data;
    p->bytes = bytes_of(t);
    all = p->bytes + 2 * GUARD + odd;
    p->host = malloc(all);
    p->device = sett_alloc(engine, s.device, all);
    ck_assert(p->host && p->device);
    memset(p->host, 0xa5, all);
    if (p->bytes)
        memcpy(p->host + GUARD + odd, p->to, p->bytes);
    ck_assert_int_eq(sett_memcpy(engine, s, p->device, p->host, all), SETT_OK);
    p->buf.data = p->device + GUARD + odd;
}

/* What is left in the same memory, which is then as it was. */
static void launch_twin(sett_kernel *k, int n, const sett_launch_arg *args, const placed *p, char **left)
{
    sett_error err;
    ck_assert_msg(!sett_launch_n(k, (sett_stream){SETT_CPU, NULL}, n, args, &err), "plain: %s", err.text);
    for (int i = 0; i < n; i++) {
        size_t all = p[i].bytes + 2 * GUARD + (uintptr_t)p[i].to % 16;
        if (!p[i].device)
            continue;
        ck_assert_ptr_nonnull(left[i] = malloc(all));
        memcpy(left[i], p[i].device, all);
        memcpy(p[i].device, p[i].host, all);
    }
}

static void launch_twins(const struct twin *t, int n, const sett_launch_arg *args, placed *p)
{
    char **left = calloc(2 * ARGUMENTS, sizeof *left), **single = left + ARGUMENTS;
    ck_assert(left);
    if (t->plain)
        launch_twin(t->plain, n, args, p, left);
    if (t->single)
        launch_twin(t->single, n, args, p, single);
    for (int i = 0; i < n; i++) {
        p[i].plain = left[i];
        p[i].usual = single[i];
    }
    free(left);
}

static void compare_twin(placed *p, int index)
{
    const char *usual = p->usual ? p->usual : p->device;
    size_t all = p->bytes + 2 * GUARD + (uintptr_t)p->to % 16;
    for (size_t i = 0; p->plain && i < all; i++)
        ck_assert_msg(p->plain[i] == usual[i], "argument %d: byte %lld is %d, by the plain interpreter %d", index, (long long)i - GUARD, usual[i], p->plain[i]);
    free(p->plain), free(p->usual);
}

static void fetch(sett_stream s, placed *p, int index)
{
    size_t odd = (uintptr_t)p->to % 16, all = p->bytes + 2 * GUARD + odd;
    ck_assert_int_eq(sett_memcpy(engine, s, p->host, p->device, all), SETT_OK);
    ck_assert_int_eq(sett_sync(engine, s), SETT_OK);
    for (size_t i = 0; i < all; i++)
        if (i < GUARD + odd || i >= GUARD + odd + p->bytes)
            ck_assert_msg((unsigned char)p->host[i] == 0xa5, "argument %d: byte %lld of %zu was written", index,
                (long long)i - GUARD - (long long)odd, p->bytes);
    if (p->bytes)
        memcpy(p->to, p->host + GUARD + odd, p->bytes);
    free(p->host);
    sett_free(engine, s.device, p->device);
}

/* With SETT_TEST_GRAPH=1 launches go through a sett_graph, committed before with other buffers: on a GPU its CUDA graph's node is updated. */
static sett_status launch_as_graph(sett_kernel *k, sett_stream s, int n, const sett_launch_arg *args, const placed *p, sett_error *err)
{
    sett_launch_arg name[ARGUMENTS];
    char text[ARGUMENTS][12];
    void *other[ARGUMENTS] = {NULL};
    sett_graph *graph = NULL;
    for (int i = 0; i < n; i++) {
        snprintf(text[i], sizeof text[i], "%d", i);
        name[i] = args[i].kind ? sett_launch_arg_name(text[i]) : args[i];
    }
    sett_status status = sett_graph_make(s.device, NULL, &graph, err);
    if (!status)
        status = sett_graph_add_n(graph, k, NULL, n, name, err);
    for (int round = 0; round < 2 && !status; round++) {
        for (int i = 0; i < n; i++) {
            sett_buf b = p[i].device ? p[i].buf : (sett_buf){0};
            if (!round && p[i].device) {
                other[i] = sett_alloc(engine, s.device, p[i].bytes + 2 * GUARD + 16);
                b.data = (char *)other[i] + ((char *)p[i].buf.data - p[i].device);
            }
            if (args[i].kind)
                sett_graph_set_named(graph, text[i], p[i].device ? sett_launch_arg_buf(&b) : args[i]);
        }
        status = sett_graph_commit(graph, err);
    }
    if (!status)
        status = sett_graph_run(graph, s, err);
    sett_graph_info info = {.size = sizeof info};
    ck_assert(s.device == SETT_CPU || status || (!sett_graph_query(graph, &info) && info.cuda_graphs <= 1 && info.updates == info.cuda_graphs));
    sett_graph_free(graph);
    if (!status)
        status = sett_sync_error(engine, s, err);
    for (int i = 0; i < n; i++)
        sett_free(engine, s.device, other[i]);
    return status;
}

void conform_launch(sett_kernel *k, bool cpu, int n, const sett_launch_arg *bind)
{
    placed *p = calloc(ARGUMENTS, sizeof *p);
    sett_launch_arg args[ARGUMENTS];
    sett_error err;
    const sett_stream s = {!cpu && conform_on_gpu() ? 0 : SETT_CPU, NULL};
    ck_assert(p && n <= ARGUMENTS);
    for (int i = 0; i < n; i++) {
        args[i] = bind[i];
        if (bind[i].kind == SETT_LAUNCH_ARG_BUF) {
            place(s, &p[i], bind[i].u.t);
            args[i].u.t = &p[i].buf;
        }
    }
    if (s.device == SETT_CPU && !conform_on_gpu())
        launch_twins(twin_of(k), n, args, p);
    FILE *said = s.device == SETT_CPU ? NULL : tmpfile();
    int was = said ? divert(said) : -1;
    bool ok = getenv("SETT_TEST_GRAPH") ? !launch_as_graph(k, s, n, args, p, &err)
                                       : !sett_launch_n(k, s, n, args, &err) && !sett_sync_error(engine, s, &err);
    if (said)
        restore(said, was);
    ck_assert_msg(ok, "%s", err.text);
    for (int i = 0; i < n; i++)
        if (p[i].device) {
            compare_twin(&p[i], i);
            fetch(s, &p[i], i);
        }
    free(p);
}

/* ---- numbers ----------------------------------------------------------------------------------------- */
const sett_dtype conform_types[CONFORM_TYPES] = {SETT_BOOL, SETT_I8, SETT_I16, SETT_I32, SETT_I64, SETT_U8, SETT_U16,
    SETT_U32, SETT_U64, SETT_F16, SETT_BF16, SETT_F32, SETT_F64};

uint64_t conform_random(uint64_t *state)
{
    uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

bool conform_is_nan(sett_dtype d, uint64_t bits)
{
    double x = sett__dtype_is_float(d) ? conform_number(d, bits) : 0;
    return x != x;
}

bool conform_same(sett_dtype d, uint64_t x, uint64_t y)
{
    return x == y || (conform_is_nan(d, x) && conform_is_nan(d, y));
}

uint64_t conform_get(const void *array, sett_dtype d, size_t i)
{
    uint64_t v = 0;
    size_t bytes = (size_t)sett__dtype_bytes(d);
    memcpy(&v, (const char *)array + i * bytes, bytes);
    return v;
}

void conform_put(void *array, sett_dtype d, size_t i, uint64_t bits)
{
    size_t bytes = (size_t)sett__dtype_bytes(d);
    memcpy((char *)array + i * bytes, &bits, bytes);
}

uint64_t conform_value(sett_dtype d, size_t i, uint64_t *state)
{
    static const double number[CONFORM_EDGES] = {0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, 7, -7.75, 127.5, 128, 255.5,
        -128.5, 32767.5, 65504, 65520, 65519, 2147483647.5, 2147483648.0, -2147483649.0, 4294967296.0,
        9223372036854775808.0, 18446744073709551616.0, -9.3e18, 1e-8, 6e-8, 5.97e-8, 6.2e-5, 1.1754944e-38, 1e-40, 3.4e38,
        3.5e38, 1e-310, 1.7e308, INFINITY, -INFINITY, NAN};
    static const int64_t whole[CONFORM_EDGES] = {0, 1, -1, 2, 3, -3, 5, 7, -7, 8, 10, 15, 16, 17, 31, 32, 33, 63, 64, 65,
        100, 127, 128, -128, 129, 255, 256, 32767, 32768, -32768, 65535, 65519, INT32_MAX, INT32_MIN, UINT32_MAX,
        (1ll << 53) + 1, (1ll << 62) + (1ll << 37) + 1, INT64_MAX, INT64_MIN, INT64_MAX - 1024};
    uint64_t r = conform_random(state);
    if (i < CONFORM_EDGES)
        return (sett__dtype_is_float(d) ? sett__bits_of_float(d, number[i]) : (uint64_t)whole[i]) & conform_mask(d);
    if (sett__dtype_is_float(d) && r & 1) /* a magnitude near 1, so that sums and products stay finite */
        return sett__bits_of_float(d, (double)((int64_t)conform_random(state) >> 32) * 0x1p-26);
    return (r & 2 ? r >> (r >> 2 & 63) : r) & conform_mask(d);
}

void *conform_array(sett_dtype d, size_t n, uint64_t seed)
{
    void *a = malloc(n * (size_t)sett__dtype_bytes(d) + 1);
    ck_assert_ptr_nonnull(a);
    for (size_t i = 0; i < n; i++)
        conform_put(a, d, i, conform_value(d, i, &seed));
    return a;
}
