/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel holds in memory beside its cubin: how much that is, and that it is what META said. */
#include "bench/matrices.h"
#include "tests/rig/faces.h"
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <check.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

static void matrices(sett_build *b, const void *user)
{
    sett_val *size[4];
    (void)user;
    six_matrices(b, size);
    sett_grid(b, sett_mul(sett_ceil_div(size[1], 128), sett_ceil_div(size[2], 64)), size[0]);
}

/* A mode of two leaves. */
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
    sett_engine *e;
    sett_kernel *k;
} kernel_read;

static void read_in(kernel_read *r, sett_body body, const char *name)
{
    sett_error err = {0};
    void *bytes;
    size_t len;
    const sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .asserts = SETT_ASSERTS_ON};
    *r = (kernel_read){.e = open_engine()};
    ck_assert_msg(!sett_record(body, &o, false, &bytes, &len, &err), "%s", err.text);
    ck_assert_msg(!sett__tape_read(&r->tape, bytes, len, &err), "%s", err.text);
    sett_text_free(bytes);
    const sett__meta m = {.sig = r->tape.sig, .name = name, .target = "sm_90a", .assembler = "ptxas 13.0.88", .compiler = "LLVM 22.1.0",
        .min_driver = 13000, .registers = 168, .ptx_isa = 80};
    ck_assert_msg(!sett__meta_write(&m, &bytes, &len, &err), "%s", err.text);
    sett__entry entry = {.meta = {bytes, len}};
    const sett__digest key = {{1}};
    ck_assert_msg(!sett__kernel_of_entry(r->e->runtime, &key, &entry, SETT_FROM_DISK, "/var/cache/kernels", &r->k, &err), "%s", err.text);
    free(bytes); /* it has copies */
}

static void leave(kernel_read *r)
{
    sett_kernel_release(r->k);
    sett_engine_close(r->e);
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
/* Beside its cubin and its report a kernel takes at most 4 KiB: its block with what loads it, META and plan, and of its place as much
 * as when the table has just grown. */
START_TEST(sum_of_parts)
{
    enum { MALLOC = 16, PLACE = 16 };
    kernel_read r;
    read_in(&r, matrices, "attention_f16_128x64_of_head_size_64");
    size_t block = sizeof(sett_kernel) + sizeof(sett__rest) + SETT__GPU_KERNEL_BYTES + MALLOC + 2 * alignof(sett_kernel);
    size_t meta = malloc_usable_size(r.k->rest->owned) + sizeof(size_t), sum = block + meta + 4 * PLACE;
    ck_assert_msg(sum <= 4096, "block %zu, META and plan %zu: %zu bytes", block, meta, sum);
    leave(&r);
}
END_TEST

/* What META said, all of it, and where it was. */
START_TEST(as_meta_says)
{
    static const sett_body of[] = {matrices, relying, nested};
    for (size_t i = 0; i < SETT__COUNT(of); i++) {
        kernel_read r;
        read_in(&r, of[i], "kernel");
        sett_kernel_info info = {.size = sizeof info};
        ck_assert(!sett_kernel_query(r.k, &info) && info.registers == 168);
        ck_assert_str_eq(info.name, "kernel");
        ck_assert_str_eq(info.compiler, "LLVM 22.1.0");
        ck_assert_str_eq(info.layer, "/var/cache/kernels");
        ck_assert_str_eq(info.report, "");
        ck_assert_ptr_eq(r.k->plan->sig, &sett__meta_of(r.k)->sig);
        same_signature(r.k->plan->sig, &r.tape.sig);
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
    static const int64_t fixed[9][3] = {{-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}, {-1, -1, -1}, {-1, -1}, {-1, -1}};
    for (int i = 0; i < 9; i++) {
        sett_param_info p = {.size = sizeof p}, q = p;
        ck_assert(!sett_kernel_param(k, i, &p) && !sett_kernel_param(k, i, &q) && p.name == q.name);
        ck_assert_str_eq(p.name, names[i]);
        ck_assert(p.rank == (i < 4 ? 3 : i < 6 ? 2 : 0) && p.scalar == (i > 5) && p.written == (i == 3) && p.read == (i < 6 && i != 3));
        for (int m = 0; m < p.rank; m++)
            ck_assert_int_eq(p.extent[m], fixed[i][m]);
    }
    ck_assert_int_eq(sett_kernel_param(k, 9, &(sett_param_info){.size = sizeof(sett_param_info)}), SETT_E_ARGUMENT);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

SUITE_IN_ROOT(held, sum_of_parts, as_meta_says, parameters)
