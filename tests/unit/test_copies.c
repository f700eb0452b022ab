/* SPDX-License-Identifier: Apache-2.0 */
/* CuTe's other copies: as wide as can be, of one type; and element by element, of dynamic extents too. */
#define SETT_SHORT
#include "tests/rig/rig.h"
#include <check.h>
#include <string.h>

enum { AUTOVEC, BASIC, BASIC_IF, BASIC_DYNAMIC, BASIC_DYNAMIC_IF, N_WAYS };
enum { N = 64, EACH = 16, EXTENT = 13 };

static sett_val *even(sett_build *b)
{
    sett_tensor *x = sett_make_rmem_tensor(b, SETT_BOOL, EACH);
    for (int i = 0; i < EACH; i++)
        sett_set(x, i % 2 == 0, i);
    return sett_load(x);
}

/* Elements of f16 by 4 threads; where there is a predicate, of the even elements, or of thread 1 alone. */
static void body(sett_build *b, const void *user)
{
    const int way = *(const int *)user;
    sett_tensor *A = sett_param(b, "A", SETT_F16, sett_make_layout(b, N), .align = 16), *out = sett_param(b, "out", SETT_F16, sett_make_layout(b, N), .align = 16);
    sett_val *n = sett_sym(b, "n");
    sett_grid(b, 1);
    sett_block(b, N / EACH);
    sett_val *t = sett_thread_idx(b, 0);
    sett_tensor *from = sett_local_tile(A, EACH, t), *to = sett_local_tile(out, EACH, t);
    if (way >= BASIC_DYNAMIC) {
        sett_layout *first = sett_make_layout(b, n);
        from = sett_composition(from, first), to = sett_composition(to, first);
    }
    switch (way) {
    case AUTOVEC: sett_autovec_copy(from, to); break;
    case BASIC_IF: sett_basic_copy_if(even(b), from, to); break;
    case BASIC_DYNAMIC_IF: sett_basic_copy_if(sett_eq(t, 1), from, to); break;
    default: sett_basic_copy(from, to);
    }
}

static int count(const char *text, const char *what)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, what)); at += strlen(what))
        n++;
    return n;
}

static void run(int way, const uint16_t *in, uint16_t *out)
{
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &way};
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k;
    ck_assert_msg(!sett_engine_open(&e, &eo, &err) && !sett_compile(e, body, &o, &k, &err), "%s", err.text);
    sett_buf A = sett_buf_1d((void *)(uintptr_t)in, SETT_F16, N), B = sett_buf_1d(out, SETT_F16, N);
    ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &A, &B, EXTENT), "%s", err.text);
    sett_kernel_release(k);
    sett_engine_close(e);
}

START_TEST(what_is_copied)
{
    static const struct { int wide, single, loops; } want[N_WAYS] = {
        [AUTOVEC] = {2, 0, 0}, [BASIC] = {0, EACH, 0}, [BASIC_IF] = {0, EACH, 0}, [BASIC_DYNAMIC] = {0, 1, 1}, [BASIC_DYNAMIC_IF] = {0, 1, 1}};
    const int way = _i;
    const sett_compile_options o = {.size = sizeof o, .user = &way};
    uint16_t in[N], out[N];
    char *text = tape_of(body, &o);
    ck_assert_msg(count(text, "load f16x8 %") == want[way].wide && count(text, "load f16 %") == want[way].single && count(text, "\nfor ") + count(text, "  for ") == want[way].loops,
        "%.2000s", text);
    sett_text_free(text);
    for (int i = 0; i < N; i++)
        in[i] = (uint16_t)(i + 1), out[i] = 0x7777;
    run(way, in, out);
    for (int i = 0; i < N; i++) {
        const bool early = i % EACH < EXTENT;
        const bool copied = way == BASIC_IF ? i % 2 == 0 : way == BASIC_DYNAMIC ? early : way == BASIC_DYNAMIC_IF ? i / EACH == 1 && early : true;
        ck_assert_msg(out[i] == (copied ? i + 1 : 0x7777), "element %d is %x", i, out[i]);
    }
}
END_TEST

/* Elements of few bits behind a stride that only the kernel knows: the first one's place is known all the same. Four of one place, of
 * which the last one's predicate is false. */
typedef struct few { sett_dtype d; bool shared; } few;
static void narrow(sett_build *b, const void *user)
{
    const few *f = user;
    sett_tensor *A = sett_param(b, "A", f->d, sett_make_layout(b, N), .align = 16), *out = sett_param(b, "out", f->d, sett_make_layout(b, 8), .align = 16);
    sett_grid(b, 1);
    sett_block(b, 1);
    sett_val *three = sett_add(sett_block_idx(b, 0), 3);
    sett_tensor *from = sett_domain_offset(A, 10), *held = sett_make_rmem_tensor(b, f->d, 4, 2);
    if (!f->shared) {
        sett_copy(sett_composition(from, sett_make_layout(b, T1(8), T1(three))), out);
        return;
    }
    sett_fill(held, 0);
    sett_copy_if(sett_elem_less(sett_identity_tensor(b, 4, 2), T(three, 2)), sett_composition(from, sett_make_layout(b, T(4, 2), T(0, 1))), held);
    sett_copy(held, out);
}

static unsigned bits_at(const unsigned char *p, int i, int bits)
{
    unsigned v = 0;
    for (int k = 0; k < bits; k++)
        v |= (unsigned)(p[(i * bits + k) / 8] >> (i * bits + k) % 8 & 1) << k;
    return v;
}

START_TEST(narrow_elements)
{
    const few f = {_i % 2 ? SETT_F6E3M2FN : SETT_I4, _i / 2};
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &f};
    const int bits = sett_dtype_bits(f.d);
    sett_error err = {0};
    sett_engine *e;
    sett_kernel *k;
    _Alignas(16) unsigned char in[N], out[N];
    for (int i = 0; i < N; i++)
        in[i] = (unsigned char)(i * 37 + 11);
    ck_assert_msg(!sett_engine_open(&e, &eo, &err) && !sett_compile(e, narrow, &o, &k, &err), "%s", err.text);
    sett_buf A = sett_buf_1d(in, f.d, N), B = sett_buf_1d(out, f.d, 8);
    ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &A, &B), "%s", err.text);
    for (int i = 0; i < 8; i++)
        ck_assert_uint_eq(bits_at(out, i, bits), f.shared && i % 4 == 3 ? 0 : bits_at(in, f.shared ? 10 + i / 4 : 10 + 3 * i, bits));
    sett_kernel_release(k);
    sett_engine_close(e);
}
END_TEST

static sett_tensor *held(sett_build *b, sett_dtype d, int n)
{
    return sett_make_rmem_tensor(b, d, n);
}

static sett_tensor *dynamic(sett_build *b)
{
    return sett_param(b, "A", SETT_F32, sett_make_layout(b, sett_sym(b, "N")));
}

enum { OTHER_TYPE, AUTOVEC_DYNAMIC, OTHER_SIZE, COORDINATES, NO_TENSOR, PREDICATES, N_WRONG };
static void wrong(sett_build *b, int which)
{
    sett_tensor *x = which == AUTOVEC_DYNAMIC || which == PREDICATES ? dynamic(b) : NULL, *crd = which == COORDINATES ? sett_identity_tensor(b, sett_sym(b, "N")) : NULL;
    switch (which) {
    case OTHER_TYPE: sett_autovec_copy(held(b, SETT_F16, 8), held(b, SETT_F32, 8)); break;
    case AUTOVEC_DYNAMIC: sett_autovec_copy(x, x); break;
    case OTHER_SIZE: sett_basic_copy(held(b, SETT_F16, 8), held(b, SETT_F16, 7)); break;
    case COORDINATES: sett_basic_copy(crd, crd); break;
    case NO_TENSOR: sett_basic_copy(held(b, SETT_F16, 8), NULL); break;
    default: sett_basic_copy_if(sett_full(b, SETT_BOOL, T1(4), 1), x, x);
    }
}

START_TEST(refused)
{
    static const struct { sett_status status; const char *text; } want[N_WRONG] = {
        [OTHER_TYPE] = {SETT_E_DTYPE, "sett_autovec_copy: rmem 8:1 is of f16 and rmem 8:1 of f32: it moves bits, and sett_copy converts"},
        [AUTOVEC_DYNAMIC] = {SETT_E_STATIC, "sett_autovec_copy: the extent N of mode 0 is not static"},
        [OTHER_SIZE] = {SETT_E_SHAPE, "sett_basic_copy: 8 elements of rmem 8:1 to 7 of rmem 7:1"},
        [COORDINATES] = {SETT_E_SPACE, "sett_basic_copy: coordinates cannot be copied"},
        [NO_TENSOR] = {SETT_E_ARGUMENT, "sett_basic_copy: "},
        [PREDICATES] = {SETT_E_STATIC, "sett_basic_copy_if: a predicate of shape (4), and the extents of A N:1 and A N:1 are not static: it is one Boolean for all"},
    };
    sett_build *b = sett__build_new(NULL, true);
    const char *text;
    wrong(b, _i);
    ck_assert_msg(sett_build_status(b, &text) == want[_i].status && strstr(text, want[_i].text) && strstr(text, "test_copies.c:"), "%s", text);
    sett_build_end(b, NULL);
}
END_TEST

Suite *copies_suite(void)
{
    Suite *s = suite_create("copies");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, what_is_copied, 0, N_WAYS);
    tcase_add_loop_test(t, narrow_elements, 0, 4);
    tcase_add_loop_test(t, refused, 0, N_WRONG);
    suite_add_tcase(s, t);
    return s;
}
