/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels print: the same text from the CPU engine and from a GPU, against plain C. */
#include "tests/conform/conform.h"
#include <math.h>
#include <sett/memory.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MODES = 4, ROOM = 1 << 15 };
static char want[ROOM];
static size_t n_want;

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    n_want += (size_t)vsnprintf(want + n_want, ROOM - n_want, format, ap);
    va_end(ap);
    ck_assert(n_want < ROOM);
}

static void expect_printed(void)
{
    ck_assert_str_eq(conform_printed(), want);
}

/* ---- single lines ---------------------------------------------------------------------------------- */
static void speak(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(2)));
    sett_val *n = sett_scalar(b, "n", SETT_I32), *w = sett_scalar(b, "w", SETT_I64);
    sett_block(b, 2);
    sett_val *i = sett_thread_idx(b, 0), *x = sett_at(X, i);
    sett_if (b, sett_eq(i, 1)) {
        sett_printf(b, "thread {}: {} %5.2f %d %llx {}", i, x, sett_to(x, SETT_F16), sett_to(x, SETT_I8), sett_to(x, SETT_U64), sett_gt(x, 1));
        sett_printf(b, "{} {} {}", T(n, T(w, 6)), sett_make_layout(b, T(n, 8)), T(ALL, T(1, n)));
        sett_printf(b, "{} and {}", T(T(2, sett_make_layout(b, 3)), 4), T(sett_make_layout(b, T(n, 3)), sett_make_layout(b, 8)));
        sett_printf(b, "{} {}", sett_make_swizzled(3, 4, 3, sett_make_layout(b, T(8, 8))), sett_make_identity_layout(b, T(n, 8)));
        sett_printf(b, "100% {{{}}} {}|%-6d|%06.2f|%c", n, sett_to(n, SETT_U8), n, x, sett_add(n, 61));
    }
}

START_TEST(formats)
{
    float x[2] = {1, -2.75f};
    sett_buf X = sett_buf_1d(x, SETT_F32, 2);
    sett_kernel *k = conform_compile(speak, NULL, (conform_how){0});
    conform_run(k, &X, 4, 5000000000);
    sett_kernel_release(k);
    n_want = 0;
    say("thread 1: -2.750000 -2.75 -2 0 0\n(4,(5000000000,6)) (4,8):(1,4) (_,(1,4))\n[[2:1;3:1];4:1] and [(4,3):(1,4);8:1]\n");
    say("S<3,4,3> o 0 o (8,8):(1,8) (4,8):(1@0,1@1)\n100%% {{4}} 4|4     |-02.75|A\n");
    expect_printed();
}
END_TEST

/* ---- print_tensor -------------------------------------------------------------------------------------- */
typedef struct shown {
    sett_dtype dtype;
    sett_space space;
    int modes, extent[MOST_MODES], stride[MOST_MODES];
    bool dynamic[MOST_MODES], verbose, swizzled;
    int count; /* elements of the buffer */
} shown;

static sett_layout *layout_of(sett_build *b, const shown *s)
{
    static const char *const name[] = {"e0", "e1", "e2", "e3"};
    sett_arg extent[MOST_MODES], stride[MOST_MODES];
    for (int i = 0; i < s->modes; i++) {
        extent[i] = s->dynamic[i] ? sett_arg_v(sett_scalar(b, name[i], SETT_I32)) : sett_arg_i(s->extent[i]);
        stride[i] = SETT_A(s->stride[i]);
    }
    sett_layout *l = sett_make_layout_at(SETT_HERE, b, sett_arg_n(s->modes, extent), sett_arg_n(s->modes, stride));
    return s->swizzled ? sett_make_swizzled(2, 0, 3, l) : l;
}

static void print_one(sett_build *b, const void *user)
{
    const shown *s = user;
    sett_tensor *M = sett_param(b, "M", s->dtype, sett_make_layout(b, T1(s->count)), .align = 16), *t = M;
    sett_layout *l = layout_of(b, s);
    sett_block(b, 32);
    if (s->space == SETT_SMEM)
        t = sett_make_smem_tensor(b, s->dtype, sett_make_layout(b, T1(s->count)), 16);
    else if (s->space == SETT_RMEM)
        t = sett_make_rmem_tensor(b, s->dtype, T1(s->count));
    if (t != M) {
        sett_copy(M, t);
        sett_sync_warp(b);
    }
    sett_if (b, sett_eq(sett_thread_idx(b, 0), 5))
        sett_print_tensor(sett_composition(t, l), .verbose = s->verbose);
}

static int offset_of(const shown *s, const int *at)
{
    int k = 0;
    for (int i = 0; i < s->modes; i++)
        k += at[i] * s->stride[i];
    return s->swizzled ? k ^ (k >> 3 & 3) : k;
}

static void say_value(const shown *s, const void *data, const int *at)
{
    uint64_t bits = conform_get(data, s->dtype, (size_t)offset_of(s, at));
    char kind = sett__dtype_kind(s->dtype);
    if (kind == 'f' || kind == 's') {
        double x = kind == 'f' ? conform_number(s->dtype, bits) : (double)(float)sett__float_of_bits(SETT_F32, s->dtype == SETT_TF32 ? bits : sett__f32_of_narrow(s->dtype, bits));
        say(isnan(x) ? "nan" : x >= 0 ? " %f" : "%f", x);
    } else if (kind == 'i') {
        int64_t i = sett__int_of_bits(s->dtype, bits);
        say(i < 0 ? "%" PRId64 : " %" PRId64, i);
    } else {
        say(" %" PRIu64, bits);
    }
}

/* Every coordinate of the modes from `first`, the earliest fastest: false after the last. */
static bool next(const shown *s, int first, int *at)
{
    for (int i = first; i < s->modes; i++) {
        if (++at[i] < s->extent[i])
            return true;
        at[i] = 0;
    }
    return false;
}

static void say_row(const shown *s, const void *data, int *at)
{
    int n = s->modes > 1 ? s->extent[1] : 1;
    for (int j = 0; j < n; j++) {
        if (n > 6 && j == 3) {
            say("..., ");
            j = n - 3;
        }
        at[1] = s->modes > 1 ? j : 0;
        say_value(s, data, at);
        say(", ");
    }
    at[1] = 0;
    say("]");
}

static void say_grid(const shown *s, const void *data)
{
    static const char *const open[] = {"", "[", "[[", "[[["}, *const end[] = {"", ")\n", "])\n", "]])\n"}, *const blank = "          ";
    int at[MOST_MODES] = {0}, deep = s->modes < 3 ? s->modes : 3;
    for (bool first = true, more = true; more; first = false) {
        for (int i = 0; i < s->extent[0]; i++) {
            int opened = i ? 1 : first ? deep : deep - 1;
            if (s->extent[0] > 6 && i == 3) {
                say("%.*s...\n", 6 + deep, blank);
                i = s->extent[0] - 3;
            }
            say("%.*s%s", 7 + deep - opened, blank, open[opened]);
            at[0] = i;
            say_row(s, data, at);
            say(i < s->extent[0] - 1 ? ",\n" : "");
        }
        at[0] = 0;
        more = next(s, 2, at);
        say("%s", more ? "],\n\n" : end[deep]);
    }
}

static void say_list(const shown *s, const void *data)
{
    int at[MOST_MODES] = {0};
    do {
        say("\t(");
        for (int i = 0; i < s->modes; i++)
            say(i ? ",%d" : "%d", at[i]);
        say(")=");
        say_value(s, data, at);
        say("\n");
    } while (next(s, 0, at));
    say(")\n");
}

static void say_tuple(const int *x, int n)
{
    for (int i = 0; i < n; i++)
        say("%c%d", i ? ',' : '(', x[i]);
    say(")");
}

static void say_tensor(const shown *s, const void *data, int align)
{
    static const char *const type[] = {"i8", "i8", "i16", "i32", "i64", "i8", "i16", "i32", "i64"};
    n_want = 0;
    say("tensor(raw_ptr(%s: %s, %s, align<%d>) o ", s->space == SETT_GMEM ? "0x*" : "0x0000000000000000",
        s->dtype <= SETT_U64 ? type[s->dtype - SETT_BOOL] : sett_dtype_name(s->dtype),
        s->space == SETT_GMEM ? "gmem" : s->space == SETT_SMEM ? "smem" : "rmem", align);
    if (s->swizzled)
        say("S<2,0,3> o 0 o ");
    say_tuple(s->extent, s->modes);
    say(":");
    say_tuple(s->stride, s->modes);
    say(s->verbose ? ", data= (\n" : ", data=\n");
    (s->verbose ? say_list : say_grid)(s, data);
}

/* The same by sett_buf_print, which reads the device's memory. */
static void from_host(const shown *s, const void *data)
{
    sett_error err;
    sett_stream stream = {sett_default_device(conform_engine()), NULL};
    size_t bytes = (size_t)s->count * (size_t)sett__dtype_bytes(s->dtype);
    char layout[256];
    sett_buf_print_options o = {.size = sizeof o, .verbose = s->verbose};
    sett_buf M = {sett_alloc(conform_engine(), stream.device, bytes), s->dtype, s->modes, {0}, {0}};
    for (int i = 0; i < s->modes; i++) {
        M.shape[i] = s->extent[i];
        M.stride[i] = s->stride[i];
    }
    ck_assert_ptr_nonnull(M.data);
    ck_assert_int_eq(sett_memcpy(conform_engine(), stream, M.data, data, bytes), SETT_OK);
    say_tensor(s, data, sett__dtype_bytes(s->dtype));
    if (s->swizzled) {
        const char *from = strstr(want, "S<");
        snprintf(layout, sizeof layout, "%.*s", (int)(strstr(from, ", data") - from), from);
        o.layout = layout;
    }
    ck_assert_msg(!sett_buf_print(conform_engine(), stream, &M, &o, &err), "%s", err.text);
    expect_printed();
    sett_free(conform_engine(), stream.device, M.data);
}

static void run_one(const shown *s, uint64_t seed)
{
    void *data = conform_array(s->dtype, (size_t)s->count, seed);
    sett_launch_arg bind[1 + MOST_MODES];
    int n = 1;
    if (sett__dtype_kind(s->dtype) == 'b')
        for (int i = 0; i < s->count; i++)
            conform_put(data, s->dtype, (size_t)i, conform_get(data, s->dtype, (size_t)i) & 1);
    sett_buf M = sett_buf_1d(data, s->dtype, s->count);
    bind[0] = sett_launch_arg_buf(&M);
    for (int i = 0; i < s->modes; i++)
        if (s->dynamic[i])
            bind[n++] = sett_launch_arg_int(s->extent[i]);
    sett_kernel *k = conform_compile(print_one, s, (conform_how){0});
    conform_launch(k, false, n, bind);
    sett_kernel_release(k);
    say_tensor(s, data, s->space == SETT_RMEM ? 32 : 16);
    expect_printed();
    if (s->space == SETT_GMEM)
        from_host(s, data);
    free(data);
}

/* A compact layout in a random order of its modes. */
static void strides(shown *s, uint64_t *seed)
{
    int left[MOST_MODES];
    s->count = 1;
    for (int i = 0; i < s->modes; i++)
        left[i] = i;
    for (int n = s->modes; n; n--) {
        int k = (int)(conform_random(seed) % (unsigned)n), i = left[k];
        s->stride[i] = s->extent[i] > 1 ? s->count : 0;
        s->count *= s->extent[i];
        left[k] = left[n - 1];
    }
    if (s->swizzled)
        s->count = s->count + 8; /* the swizzle moves within 4 */
}

START_TEST(every_type)
{
    static const sett_dtype more[] = {SETT_TF32, SETT_F8E4M3FN, SETT_F8E5M2, SETT_F8E8M0FNU};
    shown s = {.space = SETT_GMEM, .modes = 2, .extent = {6, 8}, .stride = {8, 1}, .count = 48};
    for (size_t i = 0; i < CONFORM_TYPES + SETT__COUNT(more); i++) {
        s.dtype = i < CONFORM_TYPES ? conform_types[i] : more[i - CONFORM_TYPES];
        s.verbose = false;
        run_one(&s, i + 1);
        s.verbose = true;
        run_one(&s, i + 1);
    }
}
END_TEST

START_TEST(shapes_and_spaces)
{
    static const sett_space spaces[] = {SETT_GMEM, SETT_SMEM, SETT_RMEM};
    uint64_t seed = 20;
    for (int i = 0; i < 48; i++) {
        shown s = {.dtype = i % 2 ? SETT_I32 : SETT_F32, .space = spaces[i % 3], .modes = 1 + i / 3 % 4, .verbose = i % 7 == 3};
        s.swizzled = i % 5 == 4;
        for (int m = 0; m < s.modes; m++) {
            s.extent[m] = 1 + (int)(conform_random(&seed) % (m < 2 ? 9 : 3));
            s.dynamic[m] = !s.swizzled && s.extent[m] > 1 && conform_random(&seed) % 3 == 0;
        }
        strides(&s, &seed);
        run_one(&s, seed);
    }
}
END_TEST

/* ---- values, coordinates, tensors in a format, extents of 0 ------------------------------------------------ */
static void others(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, T(2, 3)), .align = 64);
    sett_val *n = sett_scalar(b, "n", SETT_I32);
    sett_block(b, 1);
    sett_val *x = sett_load(X);
    sett_print_tensor(x);
    sett_print_tensor(sett_lt(x, 3));
    sett_print_tensor(sett_identity_tensor(b, T(2, n)));
    sett_print_tensor(sett_local_tile(sett_identity_tensor(b, 16, 8), T(2, 2), T(n, 1)), .verbose = true);
    sett_printf(b, "X is {}, its row {} and no more", X, sett_slice(X, 1, ALL));
    sett_printf(b, "{}", sett_composition(X, sett_make_layout(b, n)));
    sett_print_tensor(sett_composition(X, sett_make_layout(b, T(sett_sub(n, 3), 2))));
    sett_print_tensor(sett_slice(X, ALL, sett_sub(n, 1)));
    sett_print_tensor(sett_to(sett_element(x, ALL, 2), SETT_I128));
}

START_TEST(other_objects)
{
    int32_t x[6] = {0, 1, 2, 3, -4, 5};
    sett_buf X = {x, SETT_I32, 2, {2, 3}, {1, 2}};
    sett_kernel *k = conform_compile(others, NULL, (conform_how){0});
    conform_run(k, &X, 3);
    sett_kernel_release(k);
    n_want = 0;
    say("tensor(raw_ptr(0x0000000000000000: i32, rmem, align<32>) o (2,3):(1,2), data=\n       [[ 0,  2, -4, ],\n        [ 1,  3,  5, ]])\n");
    say("tensor(raw_ptr(0x0000000000000000: i8, rmem, align<32>) o (2,3):(1,2), data=\n       [[ 1,  1,  1, ],\n        [ 1,  0,  0, ]])\n");
    say("tensor((0,0) o (2,3):(1@0,1@1), data=\n       [[ (0,0),  (0,1),  (0,2), ],\n        [ (1,0),  (1,1),  (1,2), ]])\n");
    say("tensor((6,2) o (2,2):(1@0,1@1), data= (\n\t(0,0)= (6,2)\n\t(1,0)= (7,2)\n\t(0,1)= (6,3)\n\t(1,1)= (7,3)\n)\n");
    say("X is raw_ptr(0x*: i32, gmem, align<64>) o (2,3):(1,2) = \n  ( 0, 1, 2, 3, -4, 5 ), its row ");
    say("raw_ptr(0x*: i32, gmem, align<4>) o (3):(2) = \n  ( 1, 3, 5 ) and no more\n");
    say("raw_ptr(0x*: i32, gmem, align<64>) o 3:1\n");
    say("tensor(raw_ptr(0x*: i32, gmem, align<64>) o (0,2):(1,0), data=\n       [])\n");
    say("tensor(raw_ptr(0x*: i32, gmem, align<8>) o (2):(1), data=\n       [-4, ],\n       [ 5, ])\n");
    say("tensor(raw_ptr(0x0000000000000000: i128, rmem, align<32>) o (2):(1), data=\n");
    say("       [ 0xfffffffffffffffffffffffffffffffc, ],\n       [ 0x00000000000000000000000000000005, ])\n");
    expect_printed();
}
END_TEST

void conform_add_print(TCase *t)
{
    tcase_add_test(t, formats);
    tcase_add_test(t, every_type);
    tcase_add_test(t, shapes_and_spaces);
    tcase_add_test(t, other_objects);
}
