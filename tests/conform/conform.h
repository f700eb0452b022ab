/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance suite: one test for the CPU engine and for GPUs. Kernels run on the CPU, or on GPU 0 when
 * SETT_TEST_GPU is set and there is one, and their results are compared with plain C. */
#ifndef SETT_TESTS_CONFORM_H
#define SETT_TESTS_CONFORM_H
#define SETT_SHORT
#include "lib/print/print.h"
#include <check.h>
#include <inttypes.h>
#include <sett/launch.h>

/* Check writes a message to a pipe for each assertion that holds too: of one an element, that is most of the time. */
#undef ck_assert
#undef ck_assert_msg
#define ck_assert(x) ((x) ? (void)0 : ck_abort_msg("Assertion '%s' failed", #x))
#define ck_assert_msg(x, ...) ((x) ? (void)0 : ck_abort_msg(__VA_ARGS__))

/* ---- conform.c: where it runs -------------------------------------------------------------------- */
bool conform_on_gpu(void);
sett_engine *conform_engine(void);
/* Of many cases, those of this process: $SETT_TEST_PART is "2/16" for those whose number is 2 modulo 16. Without it, all. */
bool conform_mine(int number);
/* For the device; cpu: for the CPU, wherever the others run; no_fold: as the engines compute it. A test fails with the
 * error's text. The kernel is the caller's. */
typedef struct conform_how { bool cpu, no_fold; } conform_how;
sett_kernel *conform_compile(sett_body, const void *user, conform_how);
sett_kernel *conform_compile_text(const char *tape);
/* Runs with host arrays as buffers: they are copied to the device between guards, and back; no guard may change. */
void conform_launch(sett_kernel *, bool cpu, int n, const sett_launch_arg *); /* on the CPU also by the plain interpreter: the same bytes */
#define conform_run(k, ...) conform_launch(k, false, SETT_LAUNCH_ARGS(__VA_ARGS__, 0))
/* Compile, run, release. */
#define conform_body(body, user, ...) \
    do { \
        sett_kernel *conform_k = conform_compile(body, user, (conform_how){0}); \
        conform_run(conform_k, __VA_ARGS__); \
        sett_kernel_release(conform_k); \
    } while (0)
/* For what launches otherwise: the kernel for the plain interpreter (NULL: on a GPU, or it reads clocks), which stays the callee's; a
 * stand-in of C for all that launch. */
sett_kernel *conform_plain(const sett_kernel *);
void conform_stand_in(const char *name, const char *types, void (*)(void));
/* What kernels printed since the last call; an address past 0x10000 of 16 digits reads 0x*. */
const char *conform_printed(void);

/* ---- conform.c: numbers --------------------------------------------------------------------------- */
#define CONFORM_TYPES 13
extern const sett_dtype conform_types[CONFORM_TYPES]; /* those with arithmetic */
uint64_t conform_random(uint64_t *state);
uint64_t conform_mask(sett_dtype);
bool conform_is_nan(sett_dtype, uint64_t bits);
bool conform_same(sett_dtype, uint64_t x, uint64_t y); /* NaN is NaN */
uint64_t conform_get(const void *array, sett_dtype, size_t i);
void conform_put(void *array, sett_dtype, size_t i, uint64_t bits);
/* One of the edge values of the type, for small i; past them random bits, many of them of small magnitude. */
enum { CONFORM_EDGES = 40 };
uint64_t conform_value(sett_dtype, size_t i, uint64_t *state);
/* An array of n such values; free() it. */
void *conform_array(sett_dtype, size_t n, uint64_t seed);

/* ---- conform_random.c ------------------------------------------------------------------------------- */
void conform_program(sett_build *, const void *seed); /* a random program, of a uint64_t */

/* ---- conform_ref.c: what an op gives, in plain C and independent of the library ------------------- */
/* False: no opinion. */
bool conform_reference(sett__code, sett_dtype, sett_dtype to, const uint64_t in[3], uint64_t *out);
double conform_number(sett_dtype, uint64_t bits);
/* The approximations: true if got is inside the documented bound of op(x). */
bool conform_approximates(sett__code, float x, float got);
/* Within `ulps` of the last place of the type. */
bool conform_near(sett_dtype, uint64_t got, long double want, long double ulps);

/* ---- each part's tests, added by conform_suite() ----------------------------------------------------- */
void conform_add_values(TCase *);
void conform_add_program(TCase *);
void conform_add_ops(TCase *);
void conform_add_control(TCase *);
void conform_add_memory(TCase *);
void conform_add_lanes(TCase *);
void conform_add_random(TCase *);
void conform_add_narrow(TCase *);
void conform_add_mark(TCase *);
void conform_add_async(TCase *);
void conform_add_arch(TCase *);
void conform_add_atoms(TCase *);
void conform_add_bits(TCase *);
void conform_add_print(TCase *);
void conform_add_wide(TCase *);
void conform_add_packed(TCase *);
void conform_add_assert(TCase *);
void conform_add_struct(TCase *);
void conform_add_divmod(TCase *);
void conform_add_inline(TCase *);
void conform_add_atomic(TCase *);
#endif
