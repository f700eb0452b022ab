/* SPDX-License-Identifier: Apache-2.0 */
/* Recording: objects and errors, folding against not folding, merging, hoisting, the signature. */
#include "tests/golden/golden_value.h"
#include "tests/rig/recording.h"
#include "tests/rig/rig.h"
#include <math.h>
#include <time.h>

static sett_error finish_error(sett_build *b)
{
    sett__tape t;
    sett_error e = {SETT_OK, ""};
    if (!sett__build_finish(b, &t, &e))
        sett__tape_free(&t);
    return e;
}

static char *tape_text(sett_build *b)
{
    sett__tape t;
    sett_error e = {SETT_OK, ""};
    char *text = NULL;
    ck_assert_msg(!sett__build_finish(b, &t, &e), "%s", e.text);
    ck_assert_msg(!sett__tape_print(&t, false, NULL, &text, &e), "%s", e.text);
    sett__tape_free(&t);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
    return text;
}

START_TEST(begins_and_ends)
{
    sett_build *b = sett_build_begin();
    const char *text;
    sett_error e = {SETT_E_INTERNAL, "untouched"};
    ck_assert_int_eq(sett_build_status(b, &text), SETT_OK);
    ck_assert_str_eq(text, "");
    ck_assert_int_eq(sett_build_end(b, &e), SETT_OK);
    ck_assert_str_eq(e.text, "untouched");
    ck_assert_int_eq(sett_build_end(NULL, &e), SETT_E_ARGUMENT);
}
END_TEST

START_TEST(first_error_wins)
{
    sett_build *b = kernel();
    sett_val *n = sett_sym(b, "N", .div = -3); int line = __LINE__;
    ck_assert_ptr_eq(n, &b->poison->val);
    sett_val *x = sett_add(sett_mul(n, 3), sett_sym(b, "1bad"));
    ck_assert_ptr_eq(x, &b->poison->val);
    sett_grid(b, x);
    expect(b, SETT_E_ARGUMENT, line, "sett_sym: N: .div is -3, it must be positive");
}
END_TEST

/* ---- a symbol that is declared again ------------------------------------------------------------- */
typedef struct again {
    int64_t first, second; /* .div; 0: left out */
} again;

/* Row 1 of an (8,N) matrix before and after the second declaration. */
static void declares_again(sett_build *b, const void *user)
{
    const again *a = user;
    sett_val *N = sett_sym(b, "N", .div = a->first);
    sett_tensor *X = sett_param(b, "X", SETT_I16, sett_row_major(b, 8, N), .align = 16), *Y = sett_param(b, "Y", SETT_I16, sett_make_layout(b, SETT_T(8)), .align = 16);
    sett_tensor *row = sett_local_tile(sett_slice(X, 1, SETT_ALL), SETT_T(8), SETT_T(0));
    sett_grid(b, 1), sett_block(b, 1);
    sett_val *x = sett_load(row);
    N = sett_sym(b, "N", .div = a->second);
    X = sett_param(b, "Z", SETT_I16, sett_row_major(b, 8, N), .align = 16);
    sett_store(Y, sett_add(x, sett_load(sett_local_tile(sett_slice(X, 1, SETT_ALL), SETT_T(8), SETT_T(0)))));
}

/* Elements of the first load, or of the last one. */
static int width_of(const char *tape, bool last)
{
    const char *at = strstr(tape, "load i16");
    for (const char *next = at; last && next; next = strstr(next + 1, "load i16"))
        at = next;
    ck_assert_ptr_nonnull(at);
    return at[8] == 'x' ? atoi(at + 9) : 1;
}

/* The symbol is a multiple of both, in either order: accesses after it are as wide as that makes them, and a launch checks it. */
START_TEST(symbols_declared_again)
{
    static const struct {
        again div;
        int both, widths[2]; /* loads of so many elements, before and after */
    } t[] = {{{8, 4}, 8, {8, 8}}, {{4, 8}, 8, {4, 8}}, {{4, 6}, 12, {4, 4}}, {{0, 8}, 8, {1, 8}}, {{8, 0}, 8, {8, 8}}, {{2, 4}, 4, {2, 4}}, {{6, 8}, 24, {2, 8}}};
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        static int16_t x[8 * 64], y[8];
        char want[40];
        sett_error err = {0};
        sett_kernel *k;
        sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true};
        const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &t[i].div};
        char *text = tape_of(declares_again, &o);
        snprintf(want, sizeof want, "sym N div %d\n", t[i].both);
        ck_assert_msg(strstr(text, want) != NULL, "%s", text);
        for (int side = 0; side < 2; side++)
            ck_assert_msg(width_of(text, side) == t[i].widths[side], "%d: %d\n%s", side, t[i].widths[side], text);
        sett_text_free(text);
        sett_engine *e = open_with(&eo);
        ck_assert_msg(!sett_compile(e, declares_again, &o, &k, &err), "%s", err.text);
        for (int n = 8; n <= 48; n += 2) {
            for (int j = 0; j < 8 * n; j++)
                x[j] = (int16_t)j;
            sett_buf X = sett_buf_2d(x, SETT_I16, 8, n), Y = sett_buf_1d(y, SETT_I16, 8);
            sett_status s = sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &X, &Y, &X);
            ck_assert_msg(s == (n % t[i].both ? SETT_E_DIVIDE : SETT_OK), "%d of %d: %s", n, t[i].both, err.text);
            for (int j = 0; j < 8 && !s; j++)
                ck_assert_msg(y[j] == 2 * (n + j), "%d: %d", j, y[j]);
        }
        sett_kernel_release(k);
        sett_engine_close(e);
    }
}
END_TEST

START_TEST(errors_of_the_signature)
{
    sett_build *b = kernel();
    int line;
    sett_sym(b, "a b"); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_sym: a name is 1 to 255 letters, digits and _, not starting with a digit: \"a b\"");
    b = kernel();
    sett_scalar(b, "N", SETT_I32);
    sett_sym(b, "N"); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_sym: the name N is taken");
    b = kernel();
    sett_sym(b, "N", .div = INT64_C(1) << 40);
    sett_sym(b, "N", .div = 1594323 * INT64_C(19)); line = __LINE__;
    expect(b, SETT_E_RANGE, line, "sett_sym: N is a multiple of 1099511627776 and of 30292137: no number of 64 bits is");
    b = kernel();
    sett_sym(b, "N"); int first = __LINE__;
    sett_sym(b, "N", .wide = true); line = __LINE__;
    char wide[200];
    snprintf(wide, sizeof wide, "sett_sym: N is needed with .wide = true, which its first declaration lacks, at " __FILE__ ":%d", first);
    expect(b, SETT_E_ARGUMENT, line, wide);
    b = kernel();
    sett_scalar(b, "s", SETT_TF32); line = __LINE__;
    expect(b, SETT_E_DTYPE, line, "sett_scalar: s: a scalar cannot be tf32");
    b = kernel();
    sett_param(b, "X", SETT_F32, sett_row_major(b, 4), .align = 12); line = __LINE__;
    expect(b, SETT_E_ALIGN, line, "sett_param: X: .align is 12, it must be a power of two up to 65536");
    b = kernel();
    sett_param(b, "X", SETT_F32, sett_make_identity_layout(b, 4, 2)); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_param: X: a parameter's strides are integers, not basis vectors");
    b = kernel();
    sett_param(b, "X", SETT_F32, NULL); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_param: the layout is NULL, or comes of a call that was given NULL");
    b = kernel();
    sett_load(sett_param(b, "X", SETT_F32, sett_row_major(b, 4)), .pred = (sett_val *)(intptr_t)(line > 0)); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line,
        "sett_load: the value is the C number 1: a comparison of values is sett_lt(i, n), and a number as a value sett_const(b, dtype, x)");
}
END_TEST

START_TEST(too_many)
{
    sett_build *b = kernel();
    int line = 0;
    char name[16];
    for (int i = 0; i <= 1024; i++) {
        snprintf(name, sizeof name, "n%d", i);
        ck_assert_int_eq(sett_build_status(b, NULL), SETT_OK);
        sett_sym(b, name); line = __LINE__;
    }
    expect(b, SETT_E_LIMIT, line, "sett_sym: a kernel has at most 1024 parameters, and as many symbols");
    b = kernel();
    for (int i = 0; i <= 1024; i++) {
        snprintf(name, sizeof name, "n%d", i);
        sett_scalar(b, name, SETT_I8); line = __LINE__;
    }
    expect(b, SETT_E_LIMIT, line, "sett_scalar: a kernel has at most 1024 parameters, and as many symbols");
    b = kernel();
    for (int i = 0; i <= 64 && !sett_build_status(b, NULL); i++)
        sett_if_begin(SETT_HERE, b, sett_eq(sett_const(b, SETT_I32, i), sett_lane_idx(b)));
    line = __LINE__ - 1;
    expect(b, SETT_E_LIMIT, line, "sett_if: regions nest up to 64 deep");
}
END_TEST

START_TEST(errors_of_the_launch_shape)
{
    char said[200];
    sett_build *b = kernel();
    int line;
    sett_grid(b, 1, 2, 3, 4); line = __LINE__;
    expect(b, SETT_E_RANK, line, "sett_grid: 1 to 3 extents are needed, not (1,2,3,4)");
    b = kernel();
    sett_grid(b, 1, 65536); line = __LINE__;
    expect(b, SETT_E_LIMIT, line, "sett_grid: extent 1 is 65536, it may be up to 65535");
    b = kernel();
    sett_grid(b, 2);
    sett_grid(b, 3); line = __LINE__;
    snprintf(said, sizeof said, "sett_grid: this was said before, at %s:%d", __FILE__, line - 1);
    expect(b, SETT_E_ARGUMENT, line, said);
    b = kernel();
    sett_block(b, 32);
    sett_block(b, 32); line = __LINE__;
    snprintf(said, sizeof said, "sett_block: this was said before, at %s:%d", __FILE__, line - 1);
    expect(b, SETT_E_ARGUMENT, line, said);
    b = kernel();
    sett_block(b, 64, 32); line = __LINE__;
    expect(b, SETT_E_LIMIT, line, "sett_block: a block has 1 to 1024 threads; (64,32) are 2048");
    b = kernel();
    sett_block(b, 1.5); line = __LINE__;
    expect(b, SETT_E_ARGUMENT, line, "sett_block: extent 0 must be an integer, not 1.5");
    b = kernel();
    sett_val *t = sett_thread_idx(b, 0); int made = __LINE__;
    sett_grid(b, sett_add(t, 1)); line = __LINE__;
    char text[200];
    snprintf(text, sizeof text, "sett_grid: extent 0 must be made of symbols, integer scalars and constants, not of tid at %s:%d", __FILE__, made);
    expect(b, SETT_E_STATIC, line, text);
}
END_TEST

START_TEST(objects_of_another_build)
{
    sett_build *a = kernel(), *b = kernel();
    sett_val *x = sett_scalar(a, "x", SETT_I32), *y = sett_scalar(b, "y", SETT_I32);
    sett_add(x, y); int line = __LINE__;
    expect(a, SETT_E_STALE, line, "sett_add: the value belongs to another build, or to one that has ended");
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
    b = kernel();
    x = sett_scalar(b, "x", SETT_I32);
    sett_error e = finish_error(b);
    ck_assert_str_eq(e.text, "");
    sett_add(x, 1); line = __LINE__;
    expect(b, SETT_E_STALE, line, "sett_add: the value belongs to a build that has ended");
}
END_TEST

/* What has died with its build is told by its address, beside anything of a build that lives: valgrind and the address
 * sanitizer see that it is not read. */
START_TEST(objects_of_a_freed_build)
{
    enum { CALLS = 5 };
    sett_build *gone = kernel(), *alive[CALLS];
    sett_layout *l = sett_make_layout(gone, SETT_T(4, 8));
    sett_val *v = sett_scalar(gone, "v", SETT_I32);
    sett_tensor *t = sett_make_rmem_tensor(gone, SETT_F32, 4);
    for (int i = 0; i < CALLS; i++) /* begun now, they cannot get its memory */
        alive[i] = kernel();
    ck_assert_int_eq(sett_build_end(gone, NULL), SETT_OK);
    for (int i = 0; i < CALLS; i++) {
        sett_build *b = alive[i];
        sett_val *own = sett_scalar(b, "own", SETT_I32);
        sett_layout *mine = sett_make_layout(b, SETT_T(4, 8));
        int line = 0;
        switch (i) {
        case 0: sett_param(b, "A", SETT_F32, l); line = __LINE__; break;
        case 1: sett_add(own, v); line = __LINE__; break;
        case 2: sett_composition(mine, l); line = __LINE__; break;
        case 3: sett_grid(b, v); line = __LINE__; break;
        default: sett_copy(sett_make_rmem_tensor(b, SETT_F32, 4), t); line = __LINE__; break;
        }
        static const char *const text[] = {"sett_param: the layout", "sett_add: the value", "sett_composition: the layout",
            "sett_grid: the value", "sett_copy: the tensor"};
        char want[200];
        snprintf(want, sizeof want, "%s belongs to another build, or to one that has ended", text[i]);
        expect(b, SETT_E_STALE, line, want);
    }
}
END_TEST

START_TEST(host_builds_record_no_effects)
{
    sett_build *b = sett_build_begin();
    sett_add(sett_sym(b, "N"), 1);
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_OK);
    sett_sync_threads(b);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_E_ARGUMENT);
}
END_TEST

/* Constants alone have no build: what they lack fails the first build that it reaches, and is named there. */
START_TEST(constants_without_result)
{
    const struct {
        sett_arg arg;
        sett_status status;
        const char *text;
    } t[] = {
        {sett_floordiv(SETT_A(10), 0), SETT_E_RANGE, "an argument has no value: it is sett_floordiv of constants that have no result"},
        {sett_add(sett_mod(SETT_A(10), 0), 1), SETT_E_RANGE, "an argument has no value: it is sett_mod of constants that have no result"},
        {sett_and(SETT_A(1.5), 1), SETT_E_RANGE, "an argument has no value: it is sett_and of constants that have no result"},
        {SETT_A(UINT64_MAX), SETT_E_RANGE, "a number is above 2^63-1"},
        {sett_ceil_div(10, 0), SETT_E_RANGE,
            "an argument has no value: it is sett_ceil_div of numbers that have no quotient, or of tuples without a dynamic leaf, for which there is sett_ceil_div(b, ...)"},
        {sett_ceil_div(SETT_T(10, 7), SETT_T(4, 2)), SETT_E_RANGE,
            "an argument has no value: it is sett_ceil_div of numbers that have no quotient, or of tuples without a dynamic leaf, for which there is sett_ceil_div(b, ...)"},
        {sett_round_up(10, 0), SETT_E_RANGE,
            "an argument has no value: it is sett_round_up of numbers that have no quotient, or of tuples without a dynamic leaf, for which there is sett_round_up(b, ...)"},
        {sett_shape_div(6, 4), SETT_E_RANGE,
            "an argument has no value: it is sett_shape_div of numbers that have no quotient, or of tuples without a dynamic leaf, for which there is sett_shape_div(b, ...)"},
        {sett_E(15), SETT_E_LIMIT, "an argument has no value: a scaled basis is an integer @ 1 to 8 modes of 0 to 14"},
        {{.kind = SETT_POISON}, SETT_E_ARGUMENT, "an argument has no value: the call that gave it failed and had no build"},
    };
    for (size_t i = 0; i < SETT__COUNT(t); i++)
        for (int call = 0; call < 4; call++) {
            static const char *const calls[] = {"sett_make_layout", "sett_grid", "sett_add", "sett_ceil_div"};
            char want[400];
            const char *text;
            ck_assert_int_eq(t[i].arg.kind, SETT_POISON);
            sett_build *b = kernel();
            sett_val *x = sett_scalar(b, "x", SETT_I32);
            if (call == 0)
                sett_make_layout(b, SETT_T(4, t[i].arg));
            else if (call == 1)
                sett_grid(b, t[i].arg);
            else if (call == 2)
                sett_add(x, t[i].arg);
            else
                sett_ceil_div(b, t[i].arg, 2);
            ck_assert_int_eq(sett_build_status(b, &text), t[i].status);
            snprintf(want, sizeof want, ": %s: %s", calls[call], t[i].text);
            ck_assert_msg(strstr(text, want) != NULL, "%s\nshould have\n%s", text, want);
            sett_build_end(b, NULL);
        }
    sett_build *b = kernel();
    char text[40];
    sett_arg_str(sett_ceil_div(b, SETT_T(10, 7), SETT_T(4, 2)), text, sizeof text);
    ck_assert_str_eq(text, "(3,4)");
    sett_arg_str(sett_ceil_div(b, 10, 4), text, sizeof text);
    ck_assert_str_eq(text, "3");
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

START_TEST(equal_ops_are_one_value)
{
    sett_build *b = kernel();
    sett_val *x = sett_scalar(b, "x", SETT_I32), *y = sett_scalar(b, "y", SETT_I32), *f = sett_scalar(b, "f", SETT_F32);
    ck_assert_ptr_eq(sett_add(x, y), sett_add(y, x));
    ck_assert_ptr_eq(sett_mul(f, 2), sett_mul(f, 2.0));
    ck_assert_ptr_eq(sett_sym(b, "N"), sett_sym(b, "N"));
    sett_val *in_if = NULL, *in_else = NULL, *outer = sett_mul(f, f);
    sett_if(b, sett_lt(x, y)) {
        in_if = sett_mul(f, 3);
        ck_assert_ptr_eq(sett_mul(f, 3), in_if);
        ck_assert_ptr_eq(sett_mul(f, f), outer);
        ck_assert_int_eq(b->op[sett_sub(x, y)->id].depth, 0); /* integer scalars move out */
    }
    sett_else(b)
        in_else = sett_mul(f, 3);
    ck_assert_ptr_ne(in_if, in_else);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

enum { FAMILIES = 6 };
/* Constant i of a family of distinct ones: counted, powers of two apart, in high words, floats, and pairs of a low word that counts up to
 * 4096 or 16384 and a high word, whose places in the table begin where others fill it already. */
static void record_constant(sett_build *b, int family, int64_t i)
{
    switch (family) {
    case 0: sett_const(b, SETT_I64, i); break;
    case 1: sett_const(b, SETT_I64, i * 65536); break;
    case 2: sett_const(b, SETT_I64, i << 32); break;
    case 3: sett_const(b, SETT_F64, 1.0 / (double)(i + 1)); break;
    case 4: sett_const(b, SETT_I64, i % 4096 | i / 4096 << 32); break;
    case 5: sett_const(b, SETT_I64, i % 16384 | i / 16384 << 32); break;
    }
}

/* The least of five, ms of this thread. */
static double ms_of_constants(int family, int64_t n)
{
    double best = INFINITY;
    for (int k = 0; k < 5; k++) {
        struct timespec from, to;
        sett_build *b = kernel();
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
        for (int64_t i = 0; i < n; i++)
            record_constant(b, family, i);
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
        ck_assert_uint_ge(b->n_cse, (uint32_t)n); /* none is another */
        ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
        best = fmin(best, (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6);
    }
    return best;
}

/* Eight times as many take some eight times as long; a probe that walks runs of full places takes 64 times as long. */
START_TEST(constants_take_linear_time)
{
    const double few = ms_of_constants(_i, 4000), many = ms_of_constants(_i, 32000);
    ck_assert_msg(many < 32 * few, "32000 constants took %.2f ms, 4000 of them %.3f", many, few);
}
END_TEST

START_TEST(order_of_what_is_recorded)
{
    sett_build *b = kernel();
    sett_val *n = sett_sym(b, "N", .div = 4), *f = sett_scalar(b, "f", SETT_F32);
    sett_grid(b, sett_ceil_div(n, 4), sett_min(n, 7));
    sett_block(b, 32, 2);
    sett_for (b, i, 0, n, 2) {
        sett_val *row = sett_mul(sett_block_idx(b, 1), n);
        sett_val *dead = sett_add(f, 1);
        (void)dead;
        sett_printf(b, "{} {}", sett_add(row, i), sett_mul(f, 0.5));
    }
    char *text = tape_text(b);
    ck_assert_str_eq(text,
        "sett tape 2\n"
        "sym N div 4\n"
        "scalar f f32\n"
        "grid N/4, min(N,7)\n"
        "block 32, 2\n"
        "smem 0 align 1\n"
        "\n"
        "%0 = sym i32 N\n"
        "%1 = scalar f32 f\n"
        "%2 = const i32 2\n"
        "%3 = const i32 0\n"
        "%4 = bid.y i32\n"
        "%5 = const f32 0.5\n"
        "%6 = mul i32 %0, %4\n"
        "for %7 = %3 to %0 step %2 {\n"
        "    %8 = add i32 %7, %6\n"
        "    %9 = mul f32 %1, %5\n"
        "    %10 = convert f64 %9\n"
        "    printf \"%d %f\\n\", %8, %10\n"
        "}\n");
    free(text);
}
END_TEST

START_TEST(what_is_known)
{
    sett_build *b = kernel();
    sett_block(b, 128);
    sett_val *n = sett_sym(b, "N", .div = 8), *t = sett_thread_idx(b, 0);
    uint64_t bits;
    ck_assert_int_eq((int)sett_mul(n, 4)->div, 32);
    ck_assert_int_eq((int)sett_add(sett_mul(n, 4), 12)->div, 4);
    ck_assert_int_eq((int)sett_mul(sett_assume(t, 16), 2)->div, 32);
    ck_assert_int_eq((int)sett_mul(t, 2)->div, 2); /* the promise was about another object */
    ck_assert_int_eq((int)t->hi, 127);
    ck_assert(!t->uniform && sett_mul(n, 3)->uniform && !sett_add(n, t)->uniform);
    ck_assert(sett__val_const(sett_lt(t, 128), &bits) && bits == 1);
    ck_assert(sett__val_const(sett_mod(n, 4), &bits) && bits == 0);
    ck_assert(sett__val_const(sett_block_dim(b, 1), &bits) && bits == 1);
    const sett_val *quotient = sett_floordiv(sett_add(sett_mul(t, 6), 5), 6), *less = sett_floordiv(sett_mul(t, 6), 3);
    ck_assert_ptr_eq(quotient, t);
    ck_assert_ptr_eq(less, sett_mul(t, 2));
    ck_assert_ptr_eq(sett_min(t, 500), t);
    ck_assert_ptr_eq(sett_add(sett_add(n, 3), -3), n);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* ---- folding changes nothing: random integer expressions, both ways ---------------------- */
typedef struct rng { uint64_t s; } rng;

static uint32_t draw(rng *r, uint32_t n)
{
    r->s = r->s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->s >> 33) % n;
}

static const sett_dtype int_types[] = {SETT_I8, SETT_U8, SETT_I16, SETT_U16, SETT_I32, SETT_U32, SETT_I64, SETT_U64, SETT_BOOL};

static uint64_t odd_number(rng *r)
{
    static const int64_t some[] = {0, 1, 2, 3, 7, 8, -1, -2, -8, 127, -128, 255, 32767, 65535, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    return draw(r, 3) ? (uint64_t)some[draw(r, SETT__COUNT(some))] : (uint64_t)draw(r, UINT32_MAX) * 0x10001u;
}

enum { LEAVES = 4, STEPS = 24 };

/* The same expression for the same seed, whatever the build folds. */
static void random_expression(sett_build *b, rng r, const sett_dtype type[LEAVES], sett_val *out[STEPS])
{
    static const char *const names[LEAVES] = {"a", "b", "c", "d"};
    sett_val *pool[LEAVES + STEPS];
    for (int i = 0; i < LEAVES; i++)
        pool[i] = sett_scalar(b, names[i], type[i]);
    for (int i = 0; i < STEPS; i++) {
        sett_val *x = pool[draw(&r, LEAVES + (unsigned)i)], *y = pool[draw(&r, LEAVES + (unsigned)i)], *v;
        sett_dtype d = x->dtype == SETT_BOOL ? SETT_I32 : (sett_dtype)x->dtype;
        uint32_t kind = draw(&r, 12);
        sett_binary_op op = (sett_binary_op)draw(&r, SETT_NE + 1);
        uint64_t c = odd_number(&r);
        op = op == SETT_DIV ? SETT_FLOORDIV : op;
        if (kind < 5)
            v = sett_binary_at((sett_site){0}, "op", op, sett_arg_v(x), sett_arg_v(sett__const_bits(b, (sett_site){0}, d, c)));
        else if (kind < 9)
            v = sett_binary_at((sett_site){0}, "op", op, sett_arg_v(x), sett_arg_v(y));
        else if (kind == 9)
            v = sett_to(x, int_types[draw(&r, SETT__COUNT(int_types))]);
        else if (kind == 10)
            v = sett_where(sett_lt(x, y), sett_to(x, SETT_I32), sett_to(y, SETT_I32));
        else
            v = sett_not(x);
        pool[LEAVES + i] = out[i] = v;
    }
}

static void run_steps(sett_build *b, sett_val *out[STEPS], const uint64_t leaf[LEAVES], uint64_t *result)
{
    uint64_t **v = calloc(b->n_op, sizeof *v);
    for (uint32_t i = 0; i < b->n_op; i++)
        if (b->op[i].code == SETT__SCALAR) {
            v[i] = malloc(sizeof **v);
            v[i][0] = leaf[b->op[i].imm];
        }
    value_run(b, b->n_op - 1, v);
    for (int i = 0; i < STEPS; i++)
        result[i] = v[out[i]->id][0];
    for (uint32_t i = 0; i < b->n_op; i++)
        free(v[i]);
    free(v);
}

START_TEST(folding_changes_nothing)
{
    rng r = {20240607};
    for (int round = 0; round < 1500; round++) {
        sett_dtype type[LEAVES];
        uint64_t leaf[LEAVES], got[2][STEPS];
        sett_val *out[STEPS];
        for (int i = 0; i < LEAVES; i++) {
            type[i] = int_types[draw(&r, SETT__COUNT(int_types))];
            leaf[i] = type[i] == SETT_BOOL ? draw(&r, 2) : sett__bits_of_int(type[i], (int64_t)odd_number(&r));
        }
        rng seed = {r.s ^ 0x5bd1e995};
        for (int plain = 0; plain < 2; plain++) {
            sett_build *b = kernel();
            b->no_fold = plain;
            random_expression(b, seed, type, out);
            ck_assert_msg(!b->error.status, "%s", b->error.text);
            run_steps(b, out, leaf, got[plain]);
            for (int i = 0; i < STEPS; i++) {
                sett_dtype d = (sett_dtype)out[i]->dtype;
                int64_t x = sett__int_of_bits(d, got[plain][i]);
                bool inside = (x >= out[i]->lo && x <= out[i]->hi) || (d == SETT_U64 && out[i]->lo < 0);
                ck_assert_msg(inside, "round %d step %d: %lld is not in %lld..%lld", round, i, (long long)x,
                    (long long)out[i]->lo, (long long)out[i]->hi);
                uint64_t power = out[i]->div ? (uint64_t)out[i]->div & -(uint64_t)out[i]->div : 0;
                ck_assert_msg(power ? (got[plain][i] & (power - 1)) == 0 || d == SETT_BOOL : x == 0,
                    "round %d step %d: %lld and div %lld", round, i, (long long)x, (long long)out[i]->div);
            }
            ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
        }
        for (int i = 0; i < STEPS; i++)
            ck_assert_msg(got[0][i] == got[1][i], "round %d step %d: folded %llx, plain %llx", round, i,
                (unsigned long long)got[0][i], (unsigned long long)got[1][i]);
    }
}
END_TEST

/* ---- out of memory at every allocation --------------------------------------------------- */
typedef struct failing { int left; } failing;

static void *failing_alloc(void *user, size_t bytes)
{
    failing *f = user;
    return f->left-- > 0 ? malloc(bytes) : NULL;
}

static void failing_free(void *user, void *p)
{
    (void)user;
    free(p);
}

static sett_status record_some(const sett__allocator *mem)
{
    sett_build *b = sett__build_new(mem, true);
    if (!b)
        return SETT_E_MEMORY;
    sett_val *n = sett_sym(b, "N"), *f = sett_scalar(b, "f", SETT_F32);
    sett_grid(b, sett_ceil_div(n, 128));
    sett_val *v = sett_full(b, SETT_F32, SETT_T(4, 300), 1.5);
    sett_for (b, i, 0, n, 1) {
        sett_val *s = sett_reduce(sett_add(sett_exp2(v), f), SETT_ADD, 0);
        sett_printf(b, "{} {}", i, s);
    }
    sett__tape t;
    sett_error e;
    sett_status status = sett__build_finish(b, &t, &e);
    if (!status)
        sett__tape_free(&t);
    if (!status && !sett__build_again(b))
        status = SETT_E_MEMORY;
    sett_build_end(b, NULL);
    return status;
}

START_TEST(survives_without_memory)
{
    int n = 0;
    for (sett_status status = SETT_E_MEMORY; status; n++) {
        failing f = {n};
        status = record_some(&(sett__allocator){failing_alloc, failing_free, &f});
        ck_assert_msg(status == SETT_OK || status == SETT_E_MEMORY, "allocation %d: %s", n, sett_status_name(status));
        ck_assert_int_lt(n, 1000);
    }
    ck_assert_int_gt(n, 10);
}
END_TEST

/* What a body of some ops and a parameter records, of which name and number come again in every tape. */
static char *recorded_text(sett_build *b, int n)
{
    sett__tape t;
    sett_error e = {SETT_OK, ""};
    char *text = NULL;
    b->in_kernel = true;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, SETT_T1(sett_sym(b, "N"))));
    sett_grid(b, 1), sett_block(b, 32);
    sett_val *i = sett_thread_idx(b, 0);
    for (int k = 0; k < n; k++)
        sett_set(X, sett_at(X, sett_add(i, k)), sett_add(i, 3 * k));
    sett_printf(b, "{}", i);
    ck_assert_msg(!sett__build_finish(b, &t, &e), "%s", e.text);
    ck_assert_msg(!sett__tape_print(&t, true, NULL, &text, &e), "%s", e.text);
    sett__tape_free(&t);
    return text;
}

START_TEST(begins_again_in_its_memory)
{
    static const int sizes[] = {400, 400, 3, 2000, 400};
    sett_build *b = kernel();
    uint64_t stamp = 0;
    for (size_t k = 0; k < SETT__COUNT(sizes); k++) {
        sett_build *fresh = kernel();
        char *text = recorded_text(b, sizes[k]), *want = recorded_text(fresh, sizes[k]);
        ck_assert_str_eq(text, want);
        ck_assert_uint_ne(b->stamp, stamp);
        stamp = b->stamp;
        if (k == 1) { /* an error does not outlive its build */
            ck_assert_ptr_nonnull(b = sett__build_again(b));
            sett_sym(b, "N", .div = -3);
            ck_assert_int_eq(sett_build_status(b, NULL), SETT_E_ARGUMENT);
        }
        sett_build *old = b;
        uint32_t cap = b->cap_op;
        ck_assert_ptr_nonnull(b = sett__build_again(b));
        ck_assert(b != old && sett__owner(old) != old);
        ck_assert_int_eq(sett_build_status(b, NULL), SETT_OK);
        ck_assert_uint_eq(b->cap_op, cap); /* the arrays are kept */
        free(text);
        free(want);
        sett_build_end(fresh, NULL);
    }
    b->arena.used += SETT__KEPT;
    ck_assert_ptr_null(sett__build_again(b));
}
END_TEST

/* ---- slots: what rooms above keep ------------------------------------------------------------------- */
typedef struct kept { int n; bool refuses; } kept;
static int ended_with;

static void kept_ends(sett_build *b, const void *memory)
{
    const kept *k = memory;
    ended_with = k->n;
    if (k->refuses)
        sett__fail(b, (sett_site){0}, "kept", SETT_E_REGION, "not yet");
}

START_TEST(a_slot_is_made_at_first_use)
{
    static const sett__build_slot one = {.size = sizeof(kept), .ends = kept_ends}, other = {.size = 3};
    sett_build *b = kernel();
    ck_assert_ptr_null(sett__seen_in_slot(b, &one));
    kept *k = sett__in_slot(b, &one);
    ck_assert(!k->n && !k->refuses && (uintptr_t)k % 16 == 0);
    k->n = 7;
    char *c = sett__in_slot(b, &other);
    ck_assert(!c[0] && !c[2]);
    ck_assert_ptr_eq(sett__in_slot(b, &one), k);
    ck_assert_ptr_eq(sett__seen_in_slot(b, &one), k);
    ck_assert_ptr_eq(sett__seen_in_slot(b, &other), c);
    ck_assert_ptr_nonnull(b = sett__build_again(b)); /* what was kept is gone with its build */
    sett__build_open(b);
    ck_assert_ptr_null(sett__seen_in_slot(b, &one));
    sett_build_end(b, NULL);
}
END_TEST

START_TEST(a_slot_is_told_of_the_end)
{
    static const sett__build_slot slot = {.size = sizeof(kept), .ends = kept_ends};
    for (int refuses = 0; refuses < 2; refuses++) {
        sett_build *b = kernel();
        ended_with = 0;
        *(kept *)sett__in_slot(b, &slot) = (kept){.n = 1 + refuses, .refuses = refuses};
        sett_error e = finish_error(b);
        ck_assert_int_eq(ended_with, 1 + refuses);
        ck_assert_str_eq(e.text, refuses ? "kept: not yet" : "");
        sett_build_end(b, NULL);
    }
    sett_build *unused = kernel();
    ended_with = 0;
    finish_error(unused);
    ck_assert_int_eq(ended_with, 0);
    sett_build_end(unused, NULL);
}
END_TEST

START_TEST(a_slot_of_a_failed_build_is_not_kept)
{
    static const sett__build_slot slot = {.size = sizeof(kept), .ends = kept_ends};
    sett_build *b = kernel();
    sett__fail(b, (sett_site){0}, "test", SETT_E_MEMORY, "out of memory");
    kept *k = sett__in_slot(b, &slot);
    ck_assert_int_eq(k->n, 0);
    k->n = 5;
    ck_assert_ptr_null(sett__seen_in_slot(b, &slot));
    sett_build_end(b, NULL);
}
END_TEST

Suite *build_suite(void)
{
    Suite *s = suite_create("build");
    TCase *t = tcase_create("build");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, begins_and_ends);
    tcase_add_test(t, first_error_wins);
    tcase_add_test(t, symbols_declared_again);
    tcase_add_test(t, errors_of_the_signature);
    tcase_add_test(t, too_many);
    tcase_add_test(t, errors_of_the_launch_shape);
    tcase_add_test(t, objects_of_another_build);
    tcase_add_test(t, objects_of_a_freed_build);
    tcase_add_test(t, host_builds_record_no_effects);
    tcase_add_test(t, constants_without_result);
    tcase_add_test(t, equal_ops_are_one_value);
    tcase_add_loop_test(t, constants_take_linear_time, 0, FAMILIES);
    tcase_add_test(t, order_of_what_is_recorded);
    tcase_add_test(t, what_is_known);
    tcase_add_test(t, folding_changes_nothing);
    tcase_add_test(t, survives_without_memory);
    tcase_add_test(t, begins_again_in_its_memory);
    tcase_add_test(t, a_slot_is_made_at_first_use);
    tcase_add_test(t, a_slot_is_told_of_the_end);
    tcase_add_test(t, a_slot_of_a_failed_build_is_not_kept);
    suite_add_tcase(s, t);
    return s;
}
