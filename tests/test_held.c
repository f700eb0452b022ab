/* SPDX-License-Identifier: Apache-2.0 */
/* What a cached kernel takes in memory beside its cubin: the sum of a kernel's parts, and its signature, which is made
 * of its plan when somebody asks. */
#include "../bench/matrices.h"
#include "faces.h"
#include "rig.h"
#include "suite.h"
#include <check.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static void matrices(sett_build *b, const void *user)
{
    sett_val *size[4];
    (void)user;
    six_matrices(b, size);
    sett_grid(b, sett_mul(sett_ceil_div(size[1], 128), sett_ceil_div(size[2], 64)), size[0]);
}

/* A mode of two leaves, which no plan takes. */
static void nested(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, SETT_T(SETT_T(4, n), 2)));
    sett_set(X, 1.0, 0, 0);
}

/* What only a launch confirms, a divisor that it computes, and what is told when it fails. */
static void relying(sett_build *b, const void *user)
{
    (void)user;
    sett_val *n = sett_sym(b, "N", .div = 3), *i = sett_thread_idx(b, 0), *k = sett_scalar(b, "k", SETT_I32);
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, SETT_T(n, 100000), SETT_T(100000, 1)));
    sett_composition(sett_make_layout(b, SETT_T(n, 4)), sett_make_layout(b, 4, 4));
    sett_block(b, 32);
    sett_assert(b, sett_lt(i, k));
    sett_set(X, sett_to(sett_mod(i, n), SETT_F32), 0, i);
}

typedef struct kernel_read {
    sett__tape tape;
    sett__commons all;
    sett__common *common;
    sett__rest rest;
    sett_kernel kernel; /* as far as its signature needs it */
} kernel_read;

static void read_in(kernel_read *r, sett_body body, const char *name)
{
    sett_error err = {0};
    void *bytes;
    size_t len;
    const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .asserts = SETT_ASSERTS_ON};
    *r = (kernel_read){.all = {.lock = PTHREAD_MUTEX_INITIALIZER}};
    ck_assert_msg(!sett_record(body, &o, false, &bytes, &len, &err), "%s", err.text);
    ck_assert_msg(!sett__tape_read(&r->tape, bytes, len, &err), "%s", err.text);
    sett_text_free(bytes);
    const sett__meta m = {.sig = r->tape.sig, .name = name, .target = "sm_90a", .assembler = "ptxas 13.0.88", .compiler = "LLVM 22.1.0",
        .min_driver = 13000, .registers = 168, .ptx_isa = 80};
    ck_assert_msg(!sett__meta_write(&m, &bytes, &len, &err), "%s", err.text);
    ck_assert_msg(!sett__common_get(&r->all, (sett__blob){bytes, len}, "/var/cache/kernels", &r->common, &err), "%s", err.text);
    free(bytes);
    r->rest.common = r->common;
    r->kernel.rest = &r->rest;
    ck_assert_str_eq(r->common->name, name);
}

static void leave(kernel_read *r)
{
    sett__common_drop(&r->all, r->common);
    ck_assert_ptr_null(r->all.tree);
    sett__commons_free(&r->all);
    sett__tape_free(&r->tape);
}

/* The whole signature, as bytes and with what those leave out. */
static void same_signature(const sett__sig *a, const sett__sig *b)
{
    void *bytes[2];
    size_t len[2];
    ck_assert_int_eq(sett__sig_write(a, NULL, &bytes[0], &len[0], NULL), SETT_OK);
    ck_assert_int_eq(sett__sig_write(b, NULL, &bytes[1], &len[1], NULL), SETT_OK);
    ck_assert_uint_eq(len[0], len[1]);
    ck_assert_mem_eq(bytes[0], bytes[1], len[0]);
    ck_assert_uint_eq(a->n_claim, b->n_claim);
    for (uint32_t i = 0; i < a->n_claim; i++) {
        ck_assert_str_eq(a->claim[i].text, b->claim[i].text);
        ck_assert_str_eq(a->claim[i].types, b->claim[i].types);
        ck_assert(a->claim[i].line == b->claim[i].line && a->claim[i].op == b->claim[i].op);
    }
    free(bytes[0]);
    free(bytes[1]);
}

/* ---- the sum ------------------------------------------------------------------------------------------ */
/* What a kernel takes beside its cubin is at most 4 KiB, with META that no other has: its block with what loads it, META and plan,
 * a node of the tree, and of its place as much as when the table has just grown. */
START_TEST(sum_of_parts)
{
    enum { MALLOC = 16, TREE_NODE = 32, PLACE = 16 };
    kernel_read r;
    read_in(&r, matrices, "attention_f16_128x64_of_head_size_64");
    ck_assert(r.common->planned);
    size_t block = sizeof(sett_kernel) + sizeof(sett__rest) + SETT__GPU_KERNEL_BYTES + MALLOC + 2 * alignof(sett_kernel);
    size_t meta = malloc_usable_size(r.common) + sizeof(size_t), sum = block + meta + TREE_NODE + 4 * PLACE;
    ck_assert_msg(sum <= 4096, "block %zu, META and plan %zu: %zu bytes", block, meta, sum);
    leave(&r);
}
END_TEST

/* ---- the signature, made when it is asked for ------------------------------------------------------------- */
enum { THREADS = 8 };
typedef struct asker {
    pthread_barrier_t *together;
    const sett_kernel *k;
    const sett__sig *got;
} asker;

static void *ask(void *user)
{
    asker *a = user;
    pthread_barrier_wait(a->together);
    a->got = sett__sig_of(a->k, NULL);
    return NULL;
}

/* Whoever asks first, all have the same one, and it is what META said. */
START_TEST(asked_at_once)
{
    static const struct { sett_body body; bool planned; } of[] = {{matrices, true}, {relying, true}, {nested, false}};
    for (size_t i = 0; i < SETT__COUNT(of); i++) {
        pthread_barrier_t together;
        pthread_t thread[THREADS];
        asker a[THREADS];
        kernel_read r;
        read_in(&r, of[i].body, "kernel");
        ck_assert_int_eq(r.common->planned, of[i].planned);
        ck_assert_int_eq(atomic_load(&r.common->sig) != NULL, !of[i].planned);
        pthread_barrier_init(&together, NULL, THREADS);
        for (int t = 0; t < THREADS; t++) {
            a[t] = (asker){&together, &r.kernel, NULL};
            ck_assert(!pthread_create(&thread[t], NULL, ask, &a[t]));
        }
        for (int t = 0; t < THREADS; t++)
            pthread_join(thread[t], NULL);
        for (int t = 0; t < THREADS; t++)
            ck_assert_ptr_eq(a[t].got, a[0].got);
        same_signature(a[0].got, &r.tape.sig);
        pthread_barrier_destroy(&together);
        leave(&r);
    }
}
END_TEST

/* Parameters and names of a kernel for a GPU: the same strings each time, for as long as it lives. */
START_TEST(parameters)
{
    if (!have_compiler())
        return;
    sett_engine *e = open_engine();
    sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .ptx_only = true};
    sett_error err = {0};
    sett_kernel *k;
    ck_assert_msg(!sett_compile(e, matrices, &o, &k, &err), "%s", err.text);
    ck_assert_int_eq(sett_kernel_params(k), 9);
    static const char *const names[] = {"Q", "Kt", "V", "O", "bias", "W", "scale", "softcap", "window", "B", "M", "N", "D", "qm", "qb"};
    for (int i = 0; i < (int)SETT__COUNT(names); i++)
        ck_assert_int_eq(sett_kernel_argument(k, names[i]), i);
    ck_assert_int_eq(sett_kernel_argument(k, "nobody"), -1);
    for (int i = 0; i < 9; i++) {
        sett_param_info p = {.size = sizeof p}, q = p;
        ck_assert(!sett_kernel_param(k, i, &p) && !sett_kernel_param(k, i, &q) && p.name == q.name);
        ck_assert_str_eq(p.name, names[i]);
        ck_assert(p.rank == (i < 4 ? 3 : i < 6 ? 2 : 0) && p.scalar == (i > 5) && p.written == (i == 3) && p.read == (i < 6 && i != 3));
    }
    ck_assert_int_eq(sett_kernel_param(k, 9, &(sett_param_info){.size = sizeof(sett_param_info)}), SETT_E_ARGUMENT);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* which take all addresses for themselves */
typedef struct block {
    struct block *next;
} block;

/* All that malloc has or may get; what it is given goes back by give_back. */
static block *take_all(struct rlimit *was)
{
    block *all = NULL;
    ck_assert(!getrlimit(RLIMIT_AS, was) && !setrlimit(RLIMIT_AS, &(struct rlimit){1 << 20, was->rlim_max}));
    for (size_t bytes = (size_t)1 << 26; bytes >= sizeof(block); bytes /= 2)
        for (block *b; (b = malloc(bytes)); all = b)
            b->next = all;
    return all;
}

static void give_back(block *b, const struct rlimit *was)
{
    ck_assert(!setrlimit(RLIMIT_AS, was));
    for (block *next; b; b = next) {
        next = b->next;
        free(b);
    }
}

/* A launch that is refused says why by the signature, which takes memory: without it that is the error, and nothing is kept, so
 * that the same launch is told why when there is some again. One that the plan takes needs none. */
START_TEST(refused_without_memory)
{
    kernel_read r;
    sett__bound bound;
    sett_error err = {0}, why = {0};
    struct rlimit was;
    if (under_valgrind())
        return;
    read_in(&r, matrices, "kernel");
    r.kernel.plan = sett__common_plan(r.common);
    block *all = take_all(&was);
    sett_status s = sett__bind_kernel(&r.kernel, 0, NULL, &bound, NULL, &err);
    give_back(all, &was);
    ck_assert_int_eq(s, SETT_E_MEMORY);
    ck_assert_str_eq(err.text, "kernel: no memory for what its arguments must be");
    ck_assert_ptr_null(atomic_load(&r.common->sig));
    ck_assert_int_eq(sett__bind_kernel(&r.kernel, 0, NULL, &bound, NULL, &why), SETT_E_BIND);
    ck_assert_msg(strstr(why.text, "kernel takes 9 arguments (Q, Kt, V, O, bias, W, scale, softcap, window)") != NULL, "%s", why.text);
    leave(&r);
}
END_TEST
#define WITHOUT_MEMORY , refused_without_memory
#else
#define WITHOUT_MEMORY
#endif

SUITE_IN_ROOT(held, sum_of_parts, asked_at_once, parameters WITHOUT_MEMORY)
