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

/* Prints from the kernel. Each `{}` in format stands for one operand: integers print as %d, floats as %f,
 * Booleans as 1 or 0. C's conversions work as in printf, and their widths are checked against the operand's
 * type. There must be as many operands, up to 32, as `{}` and conversions together; anything else in braces
 * is text. Operands are numbers, scalar values, tuples, coordinates, layouts and tilers, whose dynamic leaves
 * print with their values, and tensors in memory:
 *
 *     raw_ptr(0x00007f2c18000000: i32, gmem, align<16>) o (2,3):(1,2) =  of a dynamic layout without elements
 *       ( 0, 1, 2, 3, 4, 5 )
 *
 * A newline is added if format does not end in one. The CPU engine writes to sett_engine_options.print, else
 * to the process's stdout. A GPU's output goes to stdout at the next sett_sync; the driver keeps about the
 * last MiB of it. */
SETT_API void sett_printf_n(sett_site, sett_build *, const char *format, int n, const sett_arg *);
#define sett_printf(b, ...) SETT_PRINTF_(b, __VA_ARGS__, 0)
#define SETT_PRINTF_(b, format, ...) \
    sett_printf_n(SETT_HERE, b, format, SETT_NARG(__VA_ARGS__) - 1, (const sett_arg[]){SETT_EACH(SETT_SHOWN, \
        __VA_ARGS__)})
/* The operands of sett_printf and sett_text: those of SETT_A, and tensors. */
#define SETT_SHOWN(x) \
    _Generic((x), sett_tensor *: sett_arg_t, const sett_tensor *: sett_arg_t, SETT_A_KINDS)(x)
static inline sett_arg sett_arg_t(const sett_tensor *t)
{
    return (sett_arg){.kind = SETT_TENSOR, .u = {.t = (sett_tensor *)(uintptr_t)t}};
}

/* What CuTe's print shows while a kernel is traced. x is a number, value, tuple, coordinate, layout, tiler or
 * tensor:
 *
 *     puts(sett_text(b, A));        tensor<ptr<f32, gmem, align<16>> o (?,8):(8,1)>
 *
 * The text lives in the build; it is "" after an error. The calls sett_..._str write the same text to a
 * buffer. */
SETT_API const char *sett_text_at(sett_site, sett_build *, sett_arg);
#define sett_text(b, x) sett_text_at(SETT_HERE, b, SETT_SHOWN(x))

/* Prints a tensor from the kernel, as CuTe's print_tensor does: its elements, of a coordinate tensor its
 * coordinates, of a value with a shape (TensorSSA) what it would be in registers. Every thread that reaches
 * the call prints: choose one thread by sett_if.
 *
 *     tensor(raw_ptr(0x00007f2c18000000: f32, gmem, align<4>) o (8,5):(5,1), data=
 *            [[ 0.000000,  1.000000,  2.000000,  3.000000,  4.000000, ],
 *             [ 5.000000,  6.000000, ...
 *
 * Rows are mode 0, columns mode 1; one block of rows and columns follows another for the other modes, mode 2
 * fastest. More than 6 rows or columns are cut to the first three and last three. The address is that of
 * element 0: in shared memory a byte offset in the block's window, in registers one in the tensor itself.
 * Floats of 8 bits print as numbers, 128-bit integers as hexadecimal. Loops in the kernel print the elements,
 * so an rmem tensor is first copied to local memory.
 * .verbose: prints every element, one a line as `(i,j)= v`, in colexicographic order.
 * SETT_E_RANK: a scalar, which sett_printf prints. NULL prints nothing and reports nothing, since it has no
 * build. */
typedef struct sett_print_tensor_args {
    size_t size;
    sett_arg what; /* a tensor or a value */
    bool verbose;
} sett_print_tensor_args;
SETT_API void sett_print_tensor_at(sett_site, const sett_print_tensor_args *);
#define sett_print_tensor(...) SETT_PRINT_TENSOR_(__VA_ARGS__, .size = sizeof(sett_print_tensor_args))
#define SETT_PRINT_TENSOR_(x, ...) \
    sett_print_tensor_at(SETT_HERE, &(sett_print_tensor_args){ \
        .what = _Generic((x), sett_tensor *: sett_arg_t, const sett_tensor *: sett_arg_t, \
            sett_val *: sett_arg_v, \
            const sett_val *: sett_arg_v)(x), __VA_ARGS__})

/* An assertion of the kernel, with an optional text and up to 31 operands as of sett_printf. Default text:
 * the source of the condition.
 *     sett_assert(b, sett_lt(i, N));
 *     sett_assert(b, sett_gt(x, 0.0), "x[{}] is {}", i, x);
 * cond is a Boolean value of any shape, and all of its elements must be true. A C number is judged while
 * recording (SETT_E_ARGUMENT). sett_compile_options.asserts says whether assertions are compiled in; if not,
 * the call records nothing.
 *
 * A failure is SETT_E_FAULT with "file:line: assertion failed: text, block (x,y,z) thread (x,y,z), kernel
 * name", cut off by "..." if it is too long for a sett_error. Of kernels with one key, line is that of the
 * body that was compiled first, with .line_info or without.
 * The CPU engine stops the launch, which returns the error.
 * On a GPU the thread that failed leaves the kernel, and all others go on: there is no trap, and the context
 * is not lost. The first failure of a kernel on a device is kept, and the next sett_sync or sett_poll of the
 * device returns it. The block's barriers and shuffles do not wait for a thread that left. Code that counts
 * threads itself, by an mbarrier or a counter in memory, waits for it for ever.
 * A kernel with assertions is compiled like any other; see sett_compile for assemblers in process that get no
 * memory. */
SETT_API void sett_assert_n(
    sett_site, sett_build *, sett_arg cond, const char *said, const char *format_or_null, int n,
        const sett_arg *);
#define sett_assert(b, ...) SETT_ASSERT_(b, #__VA_ARGS__, __VA_ARGS__, 0, 0)
#define SETT_ASSERT_(b, said, cond, format, ...) \
    sett_assert_n(SETT_HERE, b, SETT_A(cond), said, format, SETT_NARG(__VA_ARGS__) - 2, \
        (const sett_arg[]){SETT_EACH(SETT_A, __VA_ARGS__)})

#endif /* __cplusplus */
#endif
