/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of global memory at addresses that the kernel computes, on the CPU engine or, with SETT_TEST_GPU=1, on GPU 0: arrays of
 * pointers, elements of any size, what is refused while building, and what the CPU engine finds at an access. */
#define SETT_SHORT
#include "tests/rig/kernels_rig.h"
#include <sett/async.h>
#include <sett/inline_ptx.h>
#include <sett/print.h>
#include <sett/sett.h>

enum { THREADS = 32, MOST = 128, BATCHES = 3 };
#define SELF(body) compiled_here(body, NULL, 0)

static sett_kernel *compiled_here(sett_body body, const void *user, size_t size)
{
    sett_kernel *k = NULL;
    const sett_compile_options o = {.size = sizeof o, .user = user, .user_size = size};
    ck_assert_msg(!sett_compile(r.e, body, &o, &k, &err), "%s", err.text);
    return k;
}

static void *device_of(const void *host, size_t bytes)
{
    void *data = sett_alloc(r.e, r.stream.device, bytes);
    ck_assert(data && !sett_memcpy(r.e, r.stream, data, host, bytes) && !sett_sync(r.e, r.stream));
    return data;
}

static void fetch(void *host, const void *data, size_t bytes)
{
    ck_assert(!sett_memcpy(r.e, r.stream, host, data, bytes) && !sett_sync(r.e, r.stream));
}

/* ---- arrays of pointers ----------------------------------------------------------------------------------- */
/* Y[l] += X[l], N of Float32: loads by cp.async, 16 bytes at a time, and by registers; of the last vector only what is inside. */
static void add_each(sett_build *b, const void *user)
{
    (void)user;
    sett_val *N = sett_sym(b, "N"), *L = sett_sym(b, "L");
    sett_tensor *P = sett_param(b, "P", SETT_U64, sett_make_layout(b, L)), *Q = sett_param(b, "Q", SETT_U64, sett_make_layout(b, L));
    sett_block(b, THREADS), sett_grid(b, L);
    sett_val *l = sett_block_idx(b, 0), *t = sett_thread_idx(b, 0);
    sett_tensor *X = sett_make_gmem_tensor(b, SETT_F32, sett_at(P, l), sett_make_layout(b, N), 16, .name = "X");
    sett_tensor *Y = sett_make_gmem_tensor(b, SETT_F32, sett_at(Q, l), T1(N), 16, .name = "Y"), *S = sett_make_smem_tensor(b, SETT_F32, MOST, 16);
    sett_tensor *crd = sett_local_tile(sett_identity_tensor(b, T1(N)), T1(4), T1(t)), *mine = sett_local_tile(S, T1(4), T1(t)), *to = sett_local_tile(Y, T1(4), T1(t));
    sett_val *in = sett_elem_less(crd, T1(N));
    sett_prefetch(X, SETT_PREFETCH_L2, 0);
    sett_cp_async(sett_local_tile(X, T1(4), T1(t)), mine, .pred = in, .zfill = true);
    sett_cp_async_commit_group(b);
    sett_cp_async_wait_all(b);
    sett_sync_threads(b);
    sett_store(to, sett_add(sett_load(to, .pred = in), sett_load(mine)), .pred = in);
}

START_TEST(each_at_an_address)
{
    float x[BATCHES][MOST], y[BATCHES][MOST];
    void *X[BATCHES], *Y[BATCHES];
    uint64_t p[BATCHES], q[BATCHES];
    const int n = _i ? MOST : MOST - 5;
    for (int i = 0; i < BATCHES * MOST; i++)
        x[i / MOST][i % MOST] = (float)i, y[i / MOST][i % MOST] = 1000;
    for (int l = 0; l < BATCHES; l++)
        X[l] = device_of(x[l], sizeof x[l]), Y[l] = device_of(y[l], sizeof y[l]);
    for (int l = 0; l < BATCHES; l++)
        p[l] = (uintptr_t)X[l == 2 ? 0 : 1], q[l] = (uintptr_t)Y[l]; /* one of them twice */
    void *P = device_of(p, sizeof p), *Q = device_of(q, sizeof q);
    sett_buf arrays[] = {sett_buf_1d(P, SETT_U64, BATCHES), sett_buf_1d(Q, SETT_U64, BATCHES)};
    sett_kernel *k = SELF(add_each);
    ck_assert_msg(!sett_launch(k, r.stream, &err, &arrays[0], &arrays[1], n), "%s", err.text);
    ck_assert_msg(!sett_sync_error(r.e, r.stream, &err), "%s", err.text);
    for (int l = 0; l < BATCHES; l++) {
        fetch(y[l], Y[l], sizeof y[l]);
        for (int i = 0; i < MOST; i++)
            ck_assert_msg(y[l][i] == (i < n ? 1000 + x[l == 2 ? 0 : 1][i] : 1000), "%d: element %d is %g", l, i, (double)y[l][i]);
        sett_free(r.e, r.stream.device, X[l]), sett_free(r.e, r.stream.device, Y[l]);
    }
    sett_free(r.e, r.stream.device, P), sett_free(r.e, r.stream.device, Q);
    sett_kernel_release(k);
}
END_TEST

/* Views, an atomic, elements of 4 bits, Booleans, an address of an element of a tensor at an address: of one word of memory each. */
static void many_ways(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_make_layout(b, T1(16)), .align = 16);
    sett_block(b, 1), sett_grid(b, 1);
    sett_tensor *W = sett_make_gmem_tensor(b, SETT_I32, sett_address(D, 4), T(2, 4), 16);
    sett_set(W, 7, 1, 0);                                                         /* D[5] */
    sett_atomic_add(sett_slice(W, ALL, 1), 5, 0);                                 /* D[6] */
    sett_tensor *again = sett_make_gmem_tensor(b, SETT_I32, sett_address(W, 1, 2), T1(1), 0); /* D[9] */
    sett_set(again, sett_add(sett_at(again, 0), 100), 0);
    sett_tensor *nibbles = sett_make_gmem_tensor(b, SETT_I4, sett_address(W, 0, 3), T1(8), 4); /* D[10] */
    sett_store(nibbles, sett_to(sett_full(b, SETT_I32, T1(8), 3), SETT_I4));
    sett_tensor *flags = sett_make_gmem_tensor(b, SETT_BOOL, sett_address(W, 1, 3), T1(4), 4); /* D[11] */
    sett_store(flags, sett_full(b, SETT_BOOL, T1(4), true));
    sett_tensor *halves = sett_recast_tensor(sett_make_gmem_tensor(b, SETT_I32, sett_address(D, 12), sett_make_layout(b, T1(1), T1(1)), 4), SETT_I16);
    sett_set(halves, -1, 1);
}

START_TEST(every_access)
{
    int32_t d[16], want[16];
    for (int i = 0; i < 16; i++)
        d[i] = want[i] = i;
    want[5] = 7, want[6] = 11, want[9] = 109, want[10] = 0x33333333, want[11] = 0x01010101, want[12] = (int32_t)0xffff000c;
    void *data = device_of(d, sizeof d);
    sett_buf D = sett_buf_1d(data, SETT_I32, 16);
    sett_kernel *k = SELF(many_ways);
    ck_assert_msg(!sett_launch(k, r.stream, &err, &D) && !sett_sync_error(r.e, r.stream, &err), "%s", err.text);
    fetch(d, data, sizeof d);
    for (int i = 0; i < 16; i++)
        ck_assert_msg(d[i] == want[i], "%d is 0x%x, not 0x%x", i, (unsigned)d[i], (unsigned)want[i]);
    sett_free(r.e, r.stream.device, data);
    sett_kernel_release(k);
}
END_TEST

/* More than 2^31 elements further on, from an address that lies as far before: of a dynamic stride, and a static one. */
static void far_away(sett_build *b, const void *user)
{
    (void)user;
    sett_val *apart = sett_sym(b, "apart", .wide = true);
    sett_tensor *D = sett_param(b, "D", SETT_U8, sett_make_layout(b, T1(8)), .align = 8);
    sett_block(b, 2), sett_grid(b, 1);
    sett_val *before = sett_sub(sett_address(D, 0), sett_to(sett_mul(apart, 3), SETT_U64)), *t = sett_thread_idx(b, 0);
    sett_set(sett_make_gmem_tensor(b, SETT_U8, before, sett_make_layout(b, T(4, 2), T(apart, 1)), 0), 5, 3, t);
    const int64_t step = INT64_C(3) << 30;
    sett_val *lower = sett_sub(sett_address(D, 4), sett_const(b, SETT_U64, step));
    sett_set(sett_make_gmem_tensor(b, SETT_U8, lower, sett_make_layout(b, T(2, 2), T(1, step)), 0), 6, t, sett_add(sett_mul(t, 0), 1));
}

START_TEST(far_elements)
{
    uint8_t d[8] = {0};
    const uint8_t want[8] = {5, 5, 0, 0, 6, 6, 0, 0};
    void *data = device_of(d, sizeof d);
    sett_buf D = sett_buf_1d(data, SETT_U8, 8);
    sett_kernel *k = SELF(far_away);
    ck_assert_msg(!sett_launch(k, r.stream, &err, &D, INT64_C(1) << 31) && !sett_sync_error(r.e, r.stream, &err), "%s", err.text);
    fetch(d, data, sizeof d);
    ck_assert_mem_eq(d, want, sizeof d);
    sett_free(r.e, r.stream.device, data);
    sett_kernel_release(k);
}
END_TEST

/* ---- text ---------------------------------------------------------------------------------------------------- */
static char heard[4096];
static void hear(void *user, const char *text, size_t n)
{
    (void)user;
    const size_t at = strlen(heard);
    snprintf(heard + at, sizeof heard - at, "%.*s", (int)n, text);
}

static void printed(sett_build *b, const void *user)
{
    char text[100];
    (void)user;
    sett_tensor *P = sett_param(b, "P", SETT_U64, sett_make_layout(b, T1(1)));
    sett_block(b, 1), sett_grid(b, 1);
    sett_tensor *X = sett_make_gmem_tensor(b, SETT_I32, sett_at(P, 0), sett_make_layout(b, T(2, 3), T(4, 1)), 16, .name = "X");
    sett_tensor_str(X, text, sizeof text);
    ck_assert_str_eq(text, "tensor<ptr<i32, gmem, align<16>> o (2,3):(4,1)>");
    sett_tensor_str(sett_make_gmem_tensor(b, SETT_I32, sett_at(P, 0), T(2, 3), 0), text, sizeof text);
    ck_assert_str_eq(text, "tensor<ptr<i32, gmem> o (2,3):(1,2)>");
    sett_print_tensor(sett_slice(X, 1, ALL));
}

START_TEST(its_text)
{
    static int32_t x[8] __attribute__((aligned(16))) = {0, 1, 2, 3, 4, 5, 6, 7};
    uint64_t p = (uintptr_t)x;
    char want[100];
    sett_engine *e;
    sett_kernel *k;
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true, .print = hear};
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    sett_buf P = sett_buf_1d(&p, SETT_U64, 1);
    const sett_compile_options co = {.size = sizeof co, .target = "cpu"};
    ck_assert_msg(!sett_compile(e, printed, &co, &k, &err), "%s", err.text);
    ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &P) && !sett_sync(e, sett_stream_of(SETT_CPU, NULL)), "%s", err.text);
    snprintf(want, sizeof want, "raw_ptr(0x%016llx: i32, gmem, align<16>) o (3):(1)", (unsigned long long)(uintptr_t)&x[4]);
    ck_assert_msg(strstr(heard, want) != NULL, "%s", heard);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* ---- refused --------------------------------------------------------------------------------------------------- */
typedef struct world {
    sett_build *b;
    sett_val *at, *n;
    sett_tensor *P;
} world;
#define CASE(name, ...) static void name(world *w) { sett_build *b = w->b; (void)b; __VA_ARGS__; }
CASE(an_integer, sett_make_gmem_tensor(b, SETT_F32, w->n, T1(4), 16, .name = "X"))
CASE(a_vector, sett_make_gmem_tensor(b, SETT_F32, sett_load(sett_local_tile(w->P, T1(2), T1(0))), T1(4), 16))
CASE(nothing, sett_make_gmem_tensor(b, SETT_F32, (sett_val *)NULL, T1(4), 16))
CASE(an_alignment, sett_make_gmem_tensor(b, SETT_F32, w->at, T1(4), 12, .name = "X"))
CASE(a_large_one, sett_make_gmem_tensor(b, SETT_F32, w->at, T1(4), 1 << 17))
CASE(less_than_none, sett_make_gmem_tensor(b, SETT_F32, w->at, T1(4), -4))
CASE(a_swizzle, sett_make_gmem_tensor(b, SETT_F16, w->at, sett_smem_layout(b, SETT_F16, SETT_K_MAJOR, 8, 64), 16))
CASE(a_basis, sett_make_gmem_tensor(b, SETT_F32, w->at, sett_make_identity_layout(b, T(4, 4)), 16))
CASE(no_type, sett_make_gmem_tensor(b, (sett_dtype)0, w->at, T1(4), 16))
CASE(a_map, sett_make_tma(sett_make_gmem_tensor(b, SETT_F16, w->at, sett_make_layout(b, T(w->n, 64), T(64, 1)), 16, .name = "X"), .layout = sett_make_layout(b, T(8, 64)), .tile = T(8, 64)))
CASE(a_narrow_access, sett_cp_async(sett_make_gmem_tensor(b, SETT_F16, w->at, T1(2), 0, .name = "X"), sett_make_smem_tensor(b, SETT_F16, 2, 16)))
static const struct { void (*f)(world *); sett_status status; const char *text; } wrong[] = {
    {an_integer, SETT_E_DTYPE, "sett_make_gmem_tensor: X: the address is of i32: a u64, as arrays of addresses have them, or sett_address gives"},
    {a_vector, SETT_E_DTYPE, "sett_make_gmem_tensor: the address must be an integer scalar, not u64 of shape (2)"},
    {nothing, SETT_E_ARGUMENT, "sett_make_gmem_tensor: the value is NULL, or comes of a call that was given NULL"},
    {an_alignment, SETT_E_ALIGN, "sett_make_gmem_tensor: X: an alignment of 12 is no power of two up to 65536"},
    {a_large_one, SETT_E_ALIGN, "an alignment of 131072 is no power of two up to 65536"},
    {less_than_none, SETT_E_ALIGN, "gmem@test_gmem.c:"},
    {a_swizzle, SETT_E_ARGUMENT, "a layout of global memory is shape:stride of integers, not S<"},
    {a_basis, SETT_E_ARGUMENT, "a layout of global memory is shape:stride of integers, not (4,4):(1@0,1@1)"},
    {no_type, SETT_E_DTYPE, "0 is no element type"},
    {a_map, SETT_E_SPACE, "X (N,64):(64,1) is no tensor argument: a map is made of one, when the kernel is launched"},
    {a_narrow_access, SETT_E_ALIGN, "X (2):(1)"},
};

static void make_wrong(sett_build *b, const void *user)
{
    world w = {.b = b, .n = sett_sym(b, "N")};
    w.P = sett_param(b, "P", SETT_U64, sett_make_layout(b, w.n));
    sett_block(b, 1), sett_grid(b, 1);
    w.at = sett_at(w.P, 0);
    wrong[*(const int *)user].f(&w);
}

START_TEST(refused)
{
    sett_kernel *k;
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &_i};
    const sett_status s = sett_compile(r.e, make_wrong, &o, &k, &err);
    ck_assert_msg(s == wrong[_i].status && strstr(err.text, wrong[_i].text), "%d: %s", (int)s, err.text);
}
END_TEST

START_TEST(outside_of_a_kernel)
{
    const char *text;
    sett_build *b = sett_build_begin();
    sett_make_gmem_tensor(b, SETT_F32, NULL, T1(4), 16);
    ck_assert_int_eq(sett_build_status(b, &text), SETT_E_ARGUMENT);
    ck_assert_msg(strstr(text, "sett_make_gmem_tensor: is possible only in a kernel's body"), "%s", text);
    sett_build_end(b, NULL);
}
END_TEST

/* ---- what the CPU engine finds ----------------------------------------------------------------------------------- */
/* Of an array of one address: a load, a store, a copy, of 16 bytes of Float32 from element `n` on. */
enum { LOADS, STORES, COPIES };
static void touch(sett_build *b, const void *user)
{
    sett_val *n = sett_sym(b, "n");
    sett_tensor *P = sett_param(b, "P", SETT_U64, sett_make_layout(b, T1(1))), *D = sett_param(b, "D", SETT_F32, sett_make_layout(b, T1(4)), .align = 16);
    sett_block(b, 1), sett_grid(b, 1);
    sett_tensor *X = sett_local_tile(sett_make_gmem_tensor(b, SETT_F32, sett_at(P, 0), sett_make_layout(b, sett_mul(sett_add(n, 1), 4)), 16), T1(4), T1(n));
    if (*(const int *)user == LOADS)
        sett_store(D, sett_load(X));
    else if (*(const int *)user == STORES)
        sett_store(X, sett_load(D));
    else {
        sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, 4, 16);
        sett_cp_async(X, S);
        sett_cp_async_commit_group(b);
        sett_cp_async_wait_all(b);
        sett_store(D, sett_load(S));
    }
}

START_TEST(faults)
{
    static const char *const verb[] = {"load of", "store to", "cp.async of"};
    sett_engine *e;
    sett_kernel *k;
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .no_gpu = true};
    ck_assert_msg(!sett_engine_open(&e, &o, &err), "%s", err.text);
    char *x = sett_alloc(e, SETT_CPU, 64), *gone = sett_alloc(e, SETT_CPU, 64);
    float d[4] __attribute__((aligned(16))) = {0};
    sett_free(e, SETT_CPU, gone);
    const struct { uint64_t at; int n; const char *text; } of[] = {{(uintptr_t)x, 3, NULL}, {0, 0, "global memory that P points to: 0x0 is no address of it"}, {(uintptr_t)x + 4, 0, "points to: it begins 4 bytes behind a multiple of 16, and gmem promises such a multiple"},
        {(uintptr_t)x, 4, "global memory that P points to: bytes 64 to 79 of an allocation of 64 are outside"}, {(uintptr_t)gone, 0, "of an allocation that sett_free took back, of 64"}};
    const sett_compile_options co = {.size = sizeof co, .target = "cpu", .user = &_i};
    ck_assert_msg(!sett_compile(e, touch, &co, &k, &err), "%s", err.text);
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        uint64_t p = of[i].at;
        sett_buf P = sett_buf_1d(&p, SETT_U64, 1), D = sett_buf_1d(d, SETT_F32, 4);
        const sett_status s = sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &P, &D, of[i].n);
        ck_assert_msg(s == (of[i].text ? SETT_E_FAULT : SETT_OK), "%zu: %s", i, err.text);
        ck_assert_msg(!s || (strstr(err.text, of[i].text) && strstr(err.text, verb[_i])), "%zu: %s", i, err.text);
    }
    sett_kernel_release(k);
    sett_free(e, SETT_CPU, x);
    sett_engine_close(e);
}
END_TEST

/* ---- other targets ------------------------------------------------------------------------------------------------ */
START_TEST(targets)
{
    static const char *const target[] = {"sm_80", "sm_89", "sm_90a", "sm_120a"};
    for (int i = 0; i < 2; i++) {
        sett_kernel *k;
        const sett_compile_options o = {.size = sizeof o, .target = target[_i]};
        ck_assert_msg(!sett_compile(r.e, i ? many_ways : add_each, &o, &k, &err), "%s", err.text);
        sett_kernel_release(k);
    }
}
END_TEST

Suite *gmem_suite(void)
{
    Suite *s = suite_create("gmem");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 60);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, each_at_an_address, 0, 2);
    tcase_add_test(t, every_access);
    tcase_add_test(t, far_elements);
    tcase_add_test(t, its_text);
    tcase_add_loop_test(t, refused, 0, sizeof wrong / sizeof *wrong);
    tcase_add_test(t, outside_of_a_kernel);
    tcase_add_loop_test(t, faults, 0, 3);
    tcase_add_loop_test(t, targets, 0, 4);
    suite_add_tcase(s, t);
    return s;
}
