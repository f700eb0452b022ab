/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps as parameters: their text, what a signature refuses, the packed block, what a launch hands to the driver and what
 * it refuses before. The driver is fake_cuda.c's, whose maps say what they were made of. */
#include "tests/rig/faces.h"
#include "jit/cuda/inside.h"
#include "tests/fake/fake_cuda.h"
#include "tests/rig/match.h"
#include "tests/rig/rig.h"
#include <check.h>
#include <dlfcn.h>
#include <sett/mma.h>
#include <sett/pipeline.h>
#include <sett/tma.h>
#include <stdlib.h>
#include <string.h>

#define PARAMS \
    "sett tape 2\nsym M\nsym K\nsym S\nparam A bf16 (M,K):(S,1) align 2 read\nparam B f32 (64):(1) align 4 read write\nscalar n i32\n"
#define MAPS "map mA A bf16 (K,M) bytes (S*2) box (32,128) step (1,2) swizzle 64 l2 256\nmap \"m B\" B f32 (n) box (32) nan empty\n"
#define BODY "grid (M+127)/128\nblock 128\n\n%0 = tid.x i32\n"

/* ---- the signature -------------------------------------------------------------------------- */
START_TEST(text_and_bytes)
{
    sett__tape t, u;
    sett_error err = {0};
    char *a, *b;
    void *bytes;
    size_t len;
    ck_assert_msg(!sett__tape_parse(&t, PARAMS MAPS BODY, &err), "%s", err.text);
    ck_assert(!sett__tape_print(&t, false, NULL, &a, &err) && !sett__tape_write(&t, false, NULL, &bytes, &len, &err));
    ck_assert_msg(strstr(a, MAPS) != NULL, "%s", a);
    ck_assert_msg(!sett__tape_read(&u, bytes, len, &err), "%s", err.text);
    ck_assert(!sett__tape_print(&u, false, NULL, &b, &err));
    ck_assert_str_eq(a, b);
    ck_assert_uint_eq(sett__packed_at(&t.sig, t.sig.n_param + t.sig.n_sym), 64); /* after 8, 8, 4 and three symbols of 4 */
    ck_assert_uint_eq(sett__packed_at(&t.sig, t.sig.n_param + t.sig.n_sym + 1), 192);
    ck_assert_uint_eq(sett__packed_at(&t.sig, SETT__NONE), 320);
    ck_assert_uint_eq(sett__map_bytes(&t.sig.map[0]), 32 * 64 * 2);
    ck_assert_uint_eq(sett__map_bytes(&t.sig.map[1]), 32 * 4);
    free(a), free(b), free(bytes);
    sett__tape_free(&t), sett__tape_free(&u);
}
END_TEST

static const struct {
    const char *map;
    sett_status status;
    const char *text;
} wrong[] = {
    {"map m A bf16 (K,M) bytes (S*2) box (64,257)", SETT_E_LIMIT, "map m: box 1 is 257, not 1 to 256"},
    {"map m A bf16 (K,M) bytes (S*2) box (0,128)", SETT_E_LIMIT, "map m: box 0 is 0, not 1 to 256"},
    {"map m A bf16 (K,M) bytes (24) box (64,128)", SETT_E_ALIGN, "map m: stride 1 is 24 bytes, which is not a multiple of 16"},
    {"map m A bf16 (K,M) bytes (1<<40) box (64,128)", SETT_E_LIMIT, "map m: stride 1 is 1099511627776 bytes, not 0 to 2^40 - 1"},
    {"map m A bf16 (K,M) bytes (-16) box (64,128)", SETT_E_LIMIT, "map m: stride 1 is -16 bytes"},
    {"map m A bf16 (0,M) bytes (S*2) box (64,128)", SETT_E_LIMIT, "map m: extent 0 is 0, not 1 to 2^32 - 1"},
    {"map m A bf16 (K,1<<32) bytes (S*2) box (64,128)", SETT_E_LIMIT, "map m: extent 1 is 4294967296"},
    {"map m A bf16 (K,M) bytes (S*2) box (128,128) swizzle 128", SETT_E_SHAPE, "a row of its box has 256 bytes, and the swizzle takes at most 128"},
    {"map m A bf16 (K,M) bytes (S*2) box (64,64) swizzle 64", SETT_E_SHAPE, "has 128 bytes, and the swizzle takes at most 64"},
    {"map m A bf16 (K,M) bytes (S*2) box (32,64) swizzle 32", SETT_E_SHAPE, "has 64 bytes, and the swizzle takes at most 32"},
    {"map m A bf16 (K,M) bytes (S*2) box (20,128)", SETT_E_ALIGN, "a row of its box has 40 bytes, which is not a multiple of 16"},
    {"map m A bf16 (K,M) bytes (S*2) box (64,128) step (2,1)", SETT_E_LIMIT, "step 0 is 2, not 1, as the first mode's is"},
    {"map m A bf16 (K,M) bytes (S*2) box (64,128) step (1,9)", SETT_E_LIMIT, "step 1 is 9, not 1 to 8"},
    {"map m A bf16 (K,M) bytes (S*2) box (64,128) step (1,257)", SETT_E_LIMIT, "step 1 is 0"},
    {"map m A u16 (K,M) bytes (S*2) box (64,128) nan", SETT_E_DTYPE, "what is outside cannot be NaN in u16"},
    {"map m B f8E4M3FN (n) box (32) nan", SETT_E_DTYPE, "what is outside cannot be NaN in f8E4M3FN"},
    {"map m A i4 (K,M) bytes (S*2) box (64,128)", SETT_E_DTYPE, "there are no maps of i4"},
    {"map m A i128 (K,M) bytes (S*2) box (64,128)", SETT_E_DTYPE, "there are no maps of i128"},
    {"map m n i32 (K) box (64)", SETT_E_VERIFY, "map m: it is of no tensor"},
    {"map m C bf16 (K) box (64)", SETT_E_PARSE, "there is no parameter C"},
    {"map A A bf16 (K) box (64)", SETT_E_VERIFY, "two symbols or parameters are called A"},
    {"map m A bf16x2 (K) box (64)", SETT_E_PARSE, "a map has one type"},
    {"map m A bf16 (K,1,1,1,1,1) bytes (0,0,0,0,0) box (64,1,1,1,1,1)", SETT_E_PARSE, "a map has at most 5 modes"},
    {"map m A bf16 (K,M) bytes (S*2) box (64)", SETT_E_PARSE, "expected ,"},
    {"map m A bf16 (K,M) box (64,64)", SETT_E_PARSE, "expected bytes"},
    {"map m A bf16 (K) box (64) swizzle 48", SETT_E_PARSE, "swizzle is 32, 64 or 128"},
    {"map m A bf16 (K) box (64) l2 32", SETT_E_PARSE, "l2 is 64, 128 or 256"},
};

START_TEST(wrong_recipes)
{
    char text[1024];
    snprintf(text, sizeof text, "%s%s\n%s", PARAMS, wrong[_i].map, BODY);
    tape_refused(text, wrong[_i].status, wrong[_i].text);
}
END_TEST

/* Five hundred recipes that are wrong in one place, each refused with the map's name and that place. */
static uint32_t drawn(uint64_t *state, uint32_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33) % n;
}

static void break_map(sett__map *m, uint64_t *state, char want[60])
{
    const uint32_t size = (uint32_t)sett__dtype_bytes((sett_dtype)m->dtype), k = drawn(state, m->rank);
    switch (drawn(state, 8)) {
    case 0: m->box[k] = (uint16_t)(drawn(state, 2) ? 0 : 257 + drawn(state, 1000)), snprintf(want, 60, "box %u is %u", k, m->box[k]); break;
    case 1: m->step[k] = (uint8_t)(drawn(state, 2) ? 0 : 9 + drawn(state, 200)), snprintf(want, 60, "step %u is %u", k, m->step[k]); break;
    case 2: m->step[0] = (uint8_t)(2 + drawn(state, 7)), snprintf(want, 60, "step 0 is %u", m->step[0]); break;
    case 3: m->box[0] = (uint16_t)(m->box[0] - (size < 16)), snprintf(want, 60, "a row of its box has %u bytes", m->box[0] * size); break;
    case 4: m->swizzle = 1, m->box[0] = (uint16_t)((48 + 16 * drawn(state, 4)) / size), snprintf(want, 60, "a row of its box has %u bytes", m->box[0] * size); break;
    case 5: m->rank = (uint8_t)(drawn(state, 2) ? 0 : 6 + drawn(state, 200)), snprintf(want, 60, "it has %u modes", m->rank); break;
    case 6: m->dtype = SETT_I128, snprintf(want, 60, "there are no maps of i128"); break;
    default: m->dtype = SETT_U16, m->nan = 1, snprintf(want, 60, "what is outside cannot be NaN in u16"); break;
    }
}

START_TEST(many_wrong_recipes)
{
    static const uint8_t types[] = {SETT_U8, SETT_U16, SETT_F16, SETT_BF16, SETT_F32, SETT_I32, SETT_F64, SETT_U64};
    uint64_t state = 17;
    sett_error err = {0};
    sett__tape t;
    ck_assert(!sett__tape_parse(&t, PARAMS MAPS BODY, &err));
    for (int n = 0; n < 500; n++) {
        char want[60];
        sett__map m = t.sig.map[0];
        m.dtype = types[drawn(&state, SETT__COUNT(types))];
        m.swizzle = 0, m.rank = (uint8_t)(1 + drawn(&state, 5));
        for (int k = 0; k < m.rank; k++) {
            m.extent[k] = t.sig.map[0].extent[k % 2], m.stride[k] = t.sig.map[0].stride[1];
            m.box[k] = (uint16_t)(k ? 1 + drawn(&state, 256) : 16 * (1 + drawn(&state, 15)) / (uint32_t)sett__dtype_bytes((sett_dtype)m.dtype));
            m.step[k] = (uint8_t)(k ? 1 + drawn(&state, 8) : 1);
        }
        ck_assert_msg(!sett__map_verify(&t.sig, &m, &err), "%d: %s", n, err.text);
        break_map(&m, &state, want);
        ck_assert_msg(sett__map_verify(&t.sig, &m, &err) && !strncmp(err.text, "map mA: ", 8) && strstr(err.text, want), "%d: %s, not %s", n, err.text, want);
    }
    sett__tape_free(&t);
}
END_TEST

START_TEST(as_many_as_fit)
{
    char text[4096] = PARAMS;
    sett_error err = {0};
    sett__tape t;
    size_t at = strlen(text);
    for (int i = 0; i <= SETT__MAX_MAPS; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "map m%d B f32 (64) box (64)\n", i);
    ck_assert_int_eq(sett__tape_parse(&t, text, &err), SETT_E_PARSE);
    ck_assert_msg(strstr(err.text, "more than 16 maps"), "%s", err.text);
}
END_TEST

/* ---- code ---------------------------------------------------------------------------------------- */
START_TEST(parameters_of_code)
{
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    sett_compile_options o = {.size = sizeof o, .target = "sm_90a", .ptx_only = true};
    sett_kernel_info info = {.size = sizeof info};
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k;
    if (!have_compiler())
        return;
    ck_assert(!sett_engine_open(&e, &eo, &err));
    ck_assert_msg(!sett_compile_tape(e, PARAMS MAPS BODY, strlen(PARAMS MAPS BODY), &o, &k, &err), "%s", err.text);
    ck_assert_int_eq(sett_kernel_query(k, &info), SETT_OK);
    char *bad = match(info.ptx, "CHECK: .param .u32 \nCHECK: .param .align 64 .b8 \nCHECK: [128]\nCHECK: .param .align 64 .b8 \nCHECK: [128]");
    ck_assert_msg(!bad, "%s: %s", bad, info.ptx);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* ---- launches ------------------------------------------------------------------------------------- */
enum { A_ELEMENTS = 1 << 15 };
alignas(128) static uint16_t a[A_ELEMENTS + 64];
alignas(128) static float b[128];
static fake_state *fake;
static struct {
    fake_map map[2];
    size_t len;
    int launches;
} seen;

static void keep(void *user, const fake_launch *l)
{
    (void)user;
    seen.len = l->params_len;
    seen.launches++;
    memcpy(seen.map, l->params + 48, sizeof seen.map);
}

/* An engine over the fake driver and the kernel; NULL: skipped. */
static sett_engine *open_over(sett_kernel **k)
{
    sett_engine_options o = {.size = sizeof o, .cache_dir = "", .assembler = SETT_ASM_DRIVER};
    sett_compile_options co = {.size = sizeof co};
    sett_error err = {0};
    if (!have_compiler() || !fake_driver())
        return NULL;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    fake = dlsym(lib, "fake_cuda");
    sett_engine *e = open_with(&o);
    static const unsigned char sizes[] = {8, 8, 4, 4, 4, 4, 128, 128, 0};
    fake->kernel = keep;
    fake->sizes = sizes;
    ck_assert_msg(!sett_compile_tape(e, PARAMS MAPS BODY, strlen(PARAMS MAPS BODY), &co, k, &err), "%s", err.text);
    return e;
}

static sett_buf matrix(void *data, int64_t m, int64_t k, int64_t stride)
{
    sett_buf t = sett_buf_2d(data, SETT_BF16, m, k);
    t.stride[0] = stride;
    return t;
}

static sett_status launch(sett_kernel *k, sett_buf t, int64_t n, sett_error *err)
{
    const sett_buf u = sett_buf_1d(b, SETT_F32, 64);
    return sett_launch_n(k, (sett_stream){0, NULL}, 3, (const sett_launch_arg[]){{SETT_LAUNCH_ARG_BUF, .u = {.t = &t}}, {SETT_LAUNCH_ARG_BUF, .u = {.t = &u}}, {SETT_LAUNCH_ARG_INT, .u = {.i = n}}},
        err);
}

START_TEST(what_the_driver_is_told)
{
    sett_kernel *k;
    sett_error err = {0};
    sett_engine *e = open_over(&k);
    if (!e)
        return;
    ck_assert_msg(!launch(k, matrix(a, 100, 72, 80), 50, &err), "%s", err.text);
    const fake_map *m = seen.map;
    ck_assert_uint_eq(seen.len, 304);
    ck_assert(m->address == a && m->rank == 2 && m->type == 9 && m->swizzle == 2 && m->l2 == 3 && !m->fill);
    ck_assert(m->dim[0] == 72 && m->dim[1] == 100 && m->stride[1] == 160 && m->box[0] == 32 && m->box[1] == 128 && m->step[0] == 1 && m->step[1] == 2);
    ck_assert(m[1].address == b && m[1].rank == 1 && m[1].type == 7 && m[1].fill == 1 && m[1].dim[0] == 50 && m[1].box[0] == 32 && !m[1].swizzle);
    /* The stride of one row is nobody's: 3 would be refused. */
    ck_assert_msg(!launch(k, matrix(a, 1, 72, 3), 50, &err), "%s", err.text);
    ck_assert(m->dim[1] == 1 && m->stride[1] % 16 == 0);
    ck_assert_int_eq(seen.launches, 2);
    /* Of a tensor without elements the driver is not asked, if its map may be empty. */
    static const fake_map none;
    const int maps = fake->maps;
    ck_assert_msg(!launch(k, matrix(a, 100, 72, 80), 0, &err), "%s", err.text);
    ck_assert(fake->maps == maps + 1 && m->address == a && !memcmp(&m[1], &none, sizeof none));
    /* Of an empty grid nothing is encoded. */
    ck_assert_msg(!launch(k, matrix(a, 0, 72, 80), 50, &err), "%s", err.text);
    ck_assert(seen.launches == 3 && fake->maps == 5 && !fake->failures);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

START_TEST(what_a_launch_refuses)
{
    static const struct {
        int64_t m, k, stride, n;
        int off; /* of A, in elements */
        sett_status status;
        const char *text;
    } bad[] = {
        {100, 72, 80, 50, 4, SETT_E_ALIGN, ", which is not a multiple of 16 bytes, as map mA needs"},
        {100, 72, 76, 50, 0, SETT_E_ALIGN, "A: map mA: stride 1, S*2, is 152 bytes, which is not a multiple of 16"},
        {100, 72, -80, 50, 8000, SETT_E_RANGE, ""},
        {100, 0, 80, 50, 0, SETT_E_RANGE, "A: map mA: extent 0, K, is 0, and a map takes 1 to 2^32 - 1"},
        {100, 72, 80, -1, 0, SETT_E_RANGE, "B: map m B: extent 0, n, is -1, and a map takes 0 to 2^32 - 1"},
        {100, 72, 80, 65, 0, SETT_E_RANGE, "B: map m B: it names 260 bytes, and the buffer given has 256"},
    };
    sett_kernel *k;
    sett_error err = {0};
    sett_engine *e = open_over(&k);
    for (size_t i = 0; e && i < SETT__COUNT(bad); i++) {
        sett_status s = launch(k, matrix(a + bad[i].off, bad[i].m, bad[i].k, bad[i].stride), bad[i].n, &err);
        ck_assert_msg(s == bad[i].status && strstr(err.text, bad[i].text), "%zu: %s", i, err.text);
    }
    if (!e)
        return;
    ck_assert(!seen.launches && !fake->failures);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

START_TEST(only_what_changed_is_encoded_again)
{
    sett_kernel *k;
    sett_prepared *c;
    sett_error err = {0};
    sett_engine *e = open_over(&k);
    if (!e)
        return;
    const struct {
        int64_t m, k;
        int off;
        int64_t n;
        int maps; /* that are encoded */
    } step[] = {{100, 72, 0, 50, 2}, {100, 72, 0, 50, 0}, {100, 72, 64, 50, 1}, {100, 72, 64, 51, 1}, {99, 72, 64, 51, 1}, {0, 72, 64, 51, 0},
        {99, 72, 64, 51, 2}, {99, 64, 0, 50, 2}};
    ck_assert(!sett_prepared_make_n(k, 0, 0, NULL, &c, &err));
    const sett_buf u = sett_buf_1d(b, SETT_F32, 64);
    sett_prepared_buf(c, 1, &u);
    for (size_t i = 0; i < SETT__COUNT(step); i++) {
        const sett_buf t = matrix(a + step[i].off, step[i].m, step[i].k, 80);
        const int maps = fake->maps, launches = seen.launches;
        sett_prepared_buf(c, 0, &t);
        sett_prepared_int(c, 2, step[i].n);
        ck_assert_msg(!sett_prepared_commit(c, &err), "%zu: %s", i, err.text);
        ck_assert_msg(fake->maps - maps == step[i].maps, "%zu: %d", i, fake->maps - maps);
        /* A commit that is refused leaves what was committed. */
        sett_prepared_int(c, 2, 65);
        ck_assert_int_eq(sett_prepared_commit(c, &err), step[i].m ? SETT_E_RANGE : SETT_OK);
        sett_prepared_int(c, 2, step[i].n);
        ck_assert_int_eq(sett_prepared_run(c, (sett_stream){0, NULL}), SETT_OK);
        ck_assert_int_eq(seen.launches - launches, step[i].m > 0);
        ck_assert(!step[i].m || (seen.map[0].address == a + step[i].off && seen.map[0].dim[1] == (uint64_t)step[i].m &&
                                    seen.map[0].dim[0] == (uint64_t)step[i].k && seen.map[1].dim[0] == (uint64_t)step[i].n));
    }
    sett_prepared_free(c);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

/* The same of a kernel that C records: two maps of A, one of D. */
static void copies(sett_build *build, const void *unused)
{
    (void)unused;
    sett_tensor *A = sett_param(build, "A", SETT_BF16, sett_row_major(build, 64, 64), .align = 16), *D = sett_param(build, "D", SETT_BF16, sett_row_major(build, 64, 64), .align = 16);
    sett_grid(build, 1), sett_block(build, 32);
    sett_tensor *s = sett_make_smem_tensor(build, SETT_BF16, sett_smem_layout(build, SETT_BF16, SETT_K_MAJOR, 64, 64), 1024), *bar = sett_make_mbarriers(build, 1);
    sett_layout *half = sett_smem_layout(build, SETT_BF16, SETT_K_MAJOR, 32, 64);
    sett_tma *whole = sett_make_tma(A, .smem = s, .tile = SETT_T(64, 64)), *part = sett_make_tma(A, .layout = half, .tile = SETT_T(32, 64)), *to = sett_make_tma(D, .smem = s, .tile = SETT_T(64, 64));
    sett_tma_load(whole, sett_local_tile(sett_tma_tensor(whole), SETT_T(64, 64), SETT_T(0, 0)), s, bar);
    sett_tma_load(part, sett_local_tile(sett_tma_tensor(part), SETT_T(32, 64), SETT_T(1, 0)), sett_local_tile(s, SETT_T(32, 64), SETT_T(0, 0)), bar);
    sett_tma_store(to, s, sett_local_tile(sett_tma_tensor(to), SETT_T(64, 64), SETT_T(0, 0)));
}

START_TEST(maps_of_what_moved)
{
    sett_kernel *tape, *k;
    sett_prepared *c;
    sett_error err = {0};
    sett_engine *e = open_over(&tape);
    if (!e)
        return;
    static const unsigned char sizes[] = {8, 8, 128, 128, 128, 0};
    static const struct {
        int a, d, maps; /* where they lie; maps that are encoded */
    } step[] = {{0, 0, 3}, {0, 0, 0}, {64, 0, 2}, {64, 64, 1}, {0, 0, 3}};
    fake->sizes = sizes;
    fake->kernel = NULL;
    ck_assert_msg(!sett_compile(e, copies, NULL, &k, &err), "%s", err.text);
    ck_assert(!sett_prepared_make_n(k, 0, 0, NULL, &c, &err));
    for (size_t i = 0; i < SETT__COUNT(step); i++) {
        const sett_buf from = matrix(a + step[i].a, 64, 64, 64), to = matrix(a + 8192 + step[i].d, 64, 64, 64);
        const int maps = fake->maps;
        sett_prepared_buf(c, 0, &from), sett_prepared_buf(c, 1, &to);
        ck_assert_msg(!sett_prepared_commit(c, &err), "%s", err.text);
        ck_assert_msg(fake->maps - maps == step[i].maps, "%zu: %d", i, fake->maps - maps);
    }
    sett_prepared_free(c);
    sett_kernel_release(k), sett_kernel_release(tape);
    sett_engine_close(e);
}
END_TEST

/* With assertions the address of their page is one parameter more, behind the maps. */
static void asserting(sett_build *build, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(build, "M");
    sett_tensor *A = sett_param(build, "A", SETT_F32, sett_make_layout(build, SETT_T(M, 32), SETT_T(32, 1)), .align = 16);
    sett_grid(build, 1), sett_block(build, 32);
    sett_tma *map = sett_make_tma(A, .layout = sett_make_layout(build, SETT_T(8, 32), SETT_T(32, 1)), .tile = SETT_T(8, 32));
    sett_tma_prefetch(map, sett_local_tile(sett_tma_tensor(map), SETT_T(8, 32), SETT_T(0, 0)));
    sett_assert(build, sett_lt(sett_thread_idx(build, 0), M), "fewer rows than threads");
}

static struct { uint64_t address, page; int32_t rows; fake_map map; size_t len; } with_page;
static void keep_page(void *user, const fake_launch *l)
{
    const unsigned char *p = l->params;
    (void)user;
    with_page.len = l->params_len;
    memcpy(&with_page.address, p, 8), memcpy(&with_page.rows, p + 8, 4), memcpy(&with_page.map, p + 48, 128), memcpy(&with_page.page, p + 176, 8);
}

START_TEST(maps_beside_assertions)
{
    static const unsigned char sizes[] = {8, 4, 128, 8, 0};
    const sett_engine_options o = {.size = sizeof o, .cache_dir = "", .assembler = SETT_ASM_DRIVER};
    const sett_compile_options co = {.size = sizeof co, .target = "sm_90a", .asserts = SETT_ASSERTS_ON};
    const sett_buf t = sett_buf_2d(b, SETT_F32, 4, 32);
    sett_error err = {0};
    sett_kernel *k;
    if (!have_compiler() || !fake_driver())
        return;
    fake = dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "fake_cuda");
    sett_engine *e = open_with(&o);
    fake->kernel = keep_page;
    fake->sizes = sizes;
    ck_assert_msg(!sett_compile(e, asserting, &co, &k, &err), "%s", err.text);
    ck_assert_msg(!sett_launch(k, ((sett_stream){0, NULL}), &err, &t), "%s", err.text);
    ck_assert_uint_eq(with_page.len, 184);
    ck_assert(with_page.address == (uintptr_t)b && with_page.rows == 4 && with_page.map.address == b && with_page.map.dim[1] == 4);
    ck_assert(with_page.page && with_page.page != with_page.address && with_page.page % 8 == 0);
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

START_TEST(an_old_driver)
{
    static sett__cuda old; /* which has nothing */
    const sett__map m = {.name = "m", .rank = 1};
    const sett__map_facts f = {.extent = {1}};
    sett_error err = {0};
    alignas(64) unsigned char to[SETT__MAP_BYTES];
    ck_assert_int_eq(sett__cuda_map(&old, 0, "k", "A", &m, &f, to, &err), SETT_E_DRIVER);
    ck_assert_str_eq(err.text, "k: A: map m: the driver has no cuTensorMapEncodeTiled; that of CUDA 12.0 and later has");
}
END_TEST

Suite *maps_suite(void)
{
    Suite *s = suite_create("maps");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, make_root, drop_root);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, text_and_bytes);
    tcase_add_loop_test(t, wrong_recipes, 0, (int)SETT__COUNT(wrong));
    tcase_add_test(t, many_wrong_recipes);
    tcase_add_test(t, as_many_as_fit);
    tcase_add_test(t, parameters_of_code);
    tcase_add_test(t, what_the_driver_is_told);
    tcase_add_test(t, what_a_launch_refuses);
    tcase_add_test(t, only_what_changed_is_encoded_again);
    tcase_add_test(t, maps_of_what_moved);
    tcase_add_test(t, maps_beside_assertions);
    tcase_add_test(t, an_old_driver);
    suite_add_tcase(s, t);
    return s;
}
