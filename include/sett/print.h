/* SPDX-License-Identifier: Apache-2.0 */
/* Printing and assertions: what a kernel says while it runs, and what is shown while it is recorded.
 *
 *     sett_printf(b, "thread {} has {}", tid, x);          while the kernel runs
 *     sett_print_tensor(A);
 *     sett_assert(b, sett_lt(i, N));
 *     puts(sett_text(b, A));                               while it is recorded */
#ifndef SETT_PRINT_H
#define SETT_PRINT_H
#include <sett/arg.h>

#ifndef __cplusplus

/* Prints from the kernel: each `{}` stands for one operand (integers %d, floats %f,
 * Booleans 1/0), C conversions are taken as in printf, with their widths checked. As many operands as `{}` and conversions
 * are needed; what else stands in braces is text. Numbers, scalar values, tuples, coordinates, layouts and tilers may be
 * given, dynamic leaves with the value that they have, and tensors in memory:
 *
 *     raw_ptr(0x00007f2c18000000: i32, gmem, align<16>) o (2,3):(1,2) =      of a dynamic layout without elements
 *       ( 0, 1, 2, 3, 4, 5 )
 *
 * A newline is added if there is none. The CPU engine writes through the engine's print callback, else to
 * stdout of the process that runs the kernel, as the driver does for GPUs, at the next sett_sync; a GPU keeps the last
 * MiB or so of what was printed since. Up to 32 operands. */
SETT_API void sett_printf_n(sett_site, sett_build *, const char *format, int n, const sett_arg *);
#define sett_printf(b, ...) SETT_PRINTF_(b, __VA_ARGS__, 0)
#define SETT_PRINTF_(b, format, ...) \
    sett_printf_n(SETT_HERE, b, format, SETT_NARG(__VA_ARGS__) - 1, (const sett_arg[]){SETT_EACH(SETT_SHOWN, __VA_ARGS__)})
/* What sett_printf and sett_text take: whatever SETT_A does, and tensors. */
#define SETT_SHOWN(x) \
    _Generic((x), sett_tensor *: sett_arg_t, const sett_tensor *: sett_arg_t, SETT_A_KINDS)(x)
static inline sett_arg sett_arg_t(const sett_tensor *t)
{
    return (sett_arg){.kind = SETT_TENSOR, .u = {.t = (sett_tensor *)(uintptr_t)t}};
}

/* What CuTe's print shows while a kernel is traced, of numbers, values, tuples, coordinates, layouts, tilers and tensors:
 *
 *     puts(sett_text(b, A));        tensor<ptr<f32, gmem, align<16>> o (?,8):(8,1)>
 *
 * The text lives in the build; "" after an error. The sett_..._str calls write the same into a buffer. */
SETT_API const char *sett_text_at(sett_site, sett_build *, sett_arg);
#define sett_text(b, x) sett_text_at(SETT_HERE, b, SETT_SHOWN(x))

/* Prints a tensor as CuTe's print_tensor does; of a coordinate tensor its coordinates, of a value with a shape
 * (TensorSSA) what it would be in registers. Every thread that gets here prints: mostly that is for one thread to do.
 *
 *     tensor(raw_ptr(0x00007f2c18000000: f32, gmem, align<4>) o (8,5):(5,1), data=
 *            [[ 0.000000,  1.000000,  2.000000,  3.000000,  4.000000, ],
 *             [ 5.000000,  6.000000, ...
 *
 * Mode 0 is the rows, mode 1 the columns, the blocks after them go through the other modes, the earliest fastest. Of more
 * than 6 rows or columns the first and last three are shown. .verbose: every element, none left out, one a line:
 * `(i,j)= v`, in colexicographic order. The address is that of element 0; in shared memory the byte offset in the block's
 * window, in registers in the tensor's own. It is printed by loops, so an rmem tensor is copied to local memory first.
 * Floats of 8 bits print as numbers, 128-bit integers as hexadecimal.
 * SETT_E_RANK of a scalar, which sett_printf prints. NULL prints nothing: it has no build that could fail. */
typedef struct sett_print_tensor_args {
    size_t size;
    sett_arg what; /* a tensor or a value */
    bool verbose;
} sett_print_tensor_args;
SETT_API void sett_print_tensor_at(sett_site, const sett_print_tensor_args *);
#define sett_print_tensor(...) SETT_PRINT_TENSOR_(__VA_ARGS__, .size = sizeof(sett_print_tensor_args))
#define SETT_PRINT_TENSOR_(x, ...) \
    sett_print_tensor_at(SETT_HERE, &(sett_print_tensor_args){ \
        .what = _Generic((x), sett_tensor *: sett_arg_t, const sett_tensor *: sett_arg_t, sett_val *: sett_arg_v, \
            const sett_val *: sett_arg_v)(x), __VA_ARGS__})

/* A claim of the kernel: sett_assert(b, cond), or with a text as sett_printf takes it, without which the text is the
 * condition's source.
 *     sett_assert(b, sett_lt(i, N));
 *     sett_assert(b, sett_gt(x, 0.0), "x[{}] is {}", i, x);
 * cond is a Boolean value, of any shape: all of its elements must be true. A C number is judged while recording
 * (SETT_E_ARGUMENT). Assertions are compiled in as sett_compile_options.asserts says; without, this records nothing.
 *
 * A text that is too long for a sett_error ends in "...". One that fails reports "file:line: assertion failed: text, block (x,y,z) thread (x,y,z), kernel name" as SETT_E_FAULT. The
 * CPU engine stops the launch and gives it there. On a GPU the thread that failed leaves the kernel and all others
 * go on, no trap and no lost context; the first failure of a kernel on a device is kept, and the next sett_sync or sett_poll
 * of the device gives it. Barriers of the block and shuffles do not wait for a thread that has left; code that counts
 * threads by itself does, an mbarrier or a counter in memory, and hangs. A compile that takes assertions in is like any other: where its
 * assembler runs in this process and gets no memory, that may end the process (compile.h, sett_compile). With .line_info or not, the place is the one of the body that was compiled first under
 * this key. Up to 31 operands. */
SETT_API void sett_assert_n(
    sett_site, sett_build *, sett_arg cond, const char *said, const char *format_or_null, int n, const sett_arg *);
#define sett_assert(b, ...) SETT_ASSERT_(b, #__VA_ARGS__, __VA_ARGS__, 0, 0)
#define SETT_ASSERT_(b, said, cond, format, ...) \
    sett_assert_n(SETT_HERE, b, SETT_A(cond), said, format, SETT_NARG(__VA_ARGS__) - 2, \
        (const sett_arg[]){SETT_EACH(SETT_A, __VA_ARGS__)})

#endif /* __cplusplus */
#endif
