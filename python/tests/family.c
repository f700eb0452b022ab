/* SPDX-License-Identifier: Apache-2.0 */
/* Families for the tests of the Python package, as a user would write them: built with the wheel's own headers. */
#define SETT_SHORT
#include <sett/sett.h>
#include <sett/warm.h>

typedef struct options {
    sett_dtype dtype;
    int threads;
    float factor;
    short small;
    bool twice;
} options;

/* Y = factor X, or twice that. */
static void scale(sett_build *b, const void *user)
{
    const options *o = user;
    sett_val *N = sett_sym(b, "N");
    sett_tensor *X = sett_param(b, "X", o->dtype, sett_make_layout(b, T1(N))), *Y = sett_param(b, "Y", o->dtype, sett_make_layout(b, T1(N)));
    sett_grid(b, sett_ceil_div(N, o->threads));
    sett_block(b, o->threads);
    sett_val *i = sett_add(sett_mul(sett_block_idx(b, 0), o->threads), sett_thread_idx(b, 0));
    sett_if (b, sett_lt(i, N))
        sett_set(Y, sett_to(sett_mul(sett_at(X, i), (double)o->factor * (o->twice ? 2 : 1) + o->small), o->dtype), i);
}

static void talk(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(2)));
    sett_grid(b, 1);
    sett_block(b, 1);
    sett_printf(b, "X[1] = {}\n", sett_at(X, 1));
}

/* For ever, while the number in X is not 0. */
static void spin(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, T1(1)));
    sett_tensor *n = sett_var(b, SETT_I32, 1);
    sett_grid(b, 1);
    sett_block(b, 1);
    sett_while (b, sett_ne(sett_at(n, 0), 0))
        sett_set(n, sett_at(X, 0), 0);
}

/* Four blocks that do so and print. */
static void chat(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, T1(1)));
    sett_tensor *n = sett_var(b, SETT_I32, 1);
    sett_grid(b, 4);
    sett_block(b, 1);
    sett_while (b, sett_ne(sett_at(n, 0), 0)) {
        sett_set(n, sett_at(X, 0), 0);
        sett_printf(b, "{}", sett_at(n, 0));
    }
}

/* Y[i] = a (i + n) for i < M: a struct by value, a Boolean, a symbol that no tensor gives. */
static void ramp(sett_build *b, const void *user)
{
    (void)user;
    sett_val *M = sett_sym(b, "M");
    sett_struct *Knobs = sett_make_struct(b, "knobs", SETT_FIELD("a", SETT_F32), SETT_FIELD("n", SETT_I32));
    sett_tensor *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(64)));
    sett_tensor *k = sett_scalar_struct(b, "k", Knobs);
    sett_val *on = sett_scalar(b, "on", SETT_BOOL);
    sett_grid(b, 1);
    sett_block(b, 64);
    sett_val *i = sett_thread_idx(b, 0);
    sett_if (b, sett_and(sett_lt(i, M), on))
        sett_set(Y, sett_mul(sett_field(k, Knobs, "a"), sett_add(i, sett_field(k, Knobs, "n"))), i);
}

/* Y = (u, h, f, on): numbers that Python has more of than C. */
static void numbers(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *Y = sett_param(b, "Y", SETT_F64, sett_make_layout(b, T1(4)));
    sett_val *u = sett_scalar(b, "u", SETT_U64), *h = sett_scalar(b, "h", SETT_F16), *f = sett_scalar(b, "f", SETT_F32), *on = sett_scalar(b, "on", SETT_BOOL);
    sett_grid(b, 1);
    sett_block(b, 1);
    sett_set(Y, sett_to(u, SETT_F64), 0);
    sett_set(Y, sett_to(h, SETT_F64), 1);
    sett_set(Y, sett_to(f, SETT_F64), 2);
    sett_set(Y, sett_where(on, 1.0, 0.0), 3);
}

/* Y = X turned around, by shared memory and without the barrier that this needs. */
static void mirror(sett_build *b, const void *user)
{
    (void)user;
    sett_tensor *X = sett_param(b, "X", SETT_F32, sett_make_layout(b, T1(64))), *Y = sett_param(b, "Y", SETT_F32, sett_make_layout(b, T1(64)));
    sett_grid(b, 1);
    sett_block(b, 64);
    sett_tensor *S = sett_make_smem_tensor(b, SETT_F32, 64, 16);
    sett_val *i = sett_thread_idx(b, 0);
    sett_set(S, sett_at(X, i), i);
    sett_set(Y, sett_at(S, sett_sub(63, i)), i);
}

static const options plain = {.dtype = SETT_F32, .threads = 64, .factor = 2};
static const sett_family_param params[] = {SETT_FAMILY_PARAM(options, dtype), SETT_FAMILY_PARAM(options, threads),
    SETT_FAMILY_PARAM(options, factor), SETT_FAMILY_PARAM(options, small), SETT_FAMILY_PARAM(options, twice)};

static bool even(const void *user)
{
    return ((const options *)user)->threads % 32 == 0;
}

#define FAMILY(name_, body_, ...) \
    extern const sett_family name_##_family; \
    const sett_family name_##_family = {.size = sizeof(sett_family), .body = body_, .name = #name_, __VA_ARGS__}
#define OPTIONS .user_size = sizeof(options), .params = params, .n_params = 5
FAMILY(scale, scale, OPTIONS, .defaults = &plain, .wanted = even);
FAMILY(bare, scale, OPTIONS);
FAMILY(talk, talk);
FAMILY(spin, spin);
FAMILY(chat, chat);
FAMILY(ramp, ramp);
FAMILY(numbers, numbers);
FAMILY(mirror, mirror);
extern const int no_family;
const int no_family = 3;
