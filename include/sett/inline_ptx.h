/* SPDX-License-Identifier: Apache-2.0 */
/* Inline PTX: a piece of assembly as an operation of the kernel, for what sett has no call for. */
#ifndef SETT_INLINE_PTX_H
#define SETT_INLINE_PTX_H
#include <sett/tensor.h>

#ifndef __cplusplus

/* ---- PTX of your own ------------------------------------------------------------------------------- */
/* What sett has no function for, in the assembler's words. $0, $1, ... are the results and, after them, the operands, each
 * named at least once; $$ is a dollar. Several instructions are separated by `;`, and registers and labels of their own stand
 * in braces. A Boolean is a predicate register: `@$1 ...` guards by one, `setp` gives one.
 *
 *     r = sett_inline_ptx(b, "lop3.b32 $0, $1, $2, $3, 0x96;", .result = {SETT_U32}, .in = SETT_IN(x, y, z), .stand_in = "xor3");
 *     sett_inline_ptx(b, "{ add.cc.u32 $0, $2, $4; addc.u32 $1, $3, $5; }", .result = {SETT_U32, SETT_U32}, .to = sum,
 *         .in = SETT_IN(x_lo, x_hi, y_lo, y_hi), .stand_in = "add64");
 *     sett_inline_ptx(b, "nanosleep.u32 $0;", .in = SETT_IN(100), .stand_in = "nap");
 *
 * Returns the first result (without results nothing to use), and puts all of them into .to, an array of as many. Operands are
 * values, or C numbers: Int32 (Int64 where it does not fit), with a fraction Float32. Types are Boolean and those of 8, 16, 32
 * and 64 bits; of 8 bits the register has 16, extended by the sign; floats of 8 and 16 bits and tf32 come as their bits (b16,
 * b32). Operands with a shape (all the same; scalars beside them) go element by element, one piece of PTX each, and the
 * results have that shape.
 *
 * The text has no effect but its results, unless it is .is_volatile (never dropped, merged or moved past another such one; what
 * has no result is) or .memory (volatile, and it reads or writes memory; what has an address, `[$1]`, is, but a mere hint,
 * SETT_NOTHING). .least_sm, .least_ptx: what it needs, 90 and 78 for
 * sm_90 and PTX 7.8: an older target is refused (SETT_E_TARGET), and the PTX is of that version. What the assembler refuses
 * is SETT_E_ASSEMBLE with its text, in front of it the line of this call. All of it is in the key.
 *
 * .stand_in: the name of a C function that does the same for one thread: what the CPU engine calls. The program gives it to the
 * engine by sett_engine_stand_in() before it launches; without, a launch on the CPU is SETT_E_TARGET. What lanes give each
 * other (shfl, mma) has no stand-in. SETT_E_ARGUMENT: the text names no such operand, leaves one out, does not end in ; or },
 * or holds another byte than a printable one. */
#define SETT_NOTHING "sett.nothing" /* a .stand_in: without results; the CPU engine does nothing, and needs no function */
enum { SETT_INLINE_RESULTS = 16 };
typedef struct sett_operands { int n; const sett_arg *arg; } sett_operands; /* up to 32 */
#define SETT_IN(...) ((sett_operands){SETT_NARG(__VA_ARGS__), (const sett_arg[]){SETT_EACH(SETT_A, __VA_ARGS__)}})
typedef struct sett_inline_ptx_args {
    size_t size;
    const char *text;
    sett_dtype result[SETT_INLINE_RESULTS]; /* the first that is 0 ends them */
    sett_val **to;
    sett_operands in;
    const char *stand_in;
    bool is_volatile, memory;
    int least_sm, least_ptx;
} sett_inline_ptx_args;
/* Where an element of gmem lies, an Uint64, for such PTX as an operand of `[$1]`: sett_address(t, i, j). The kernel counts as
 * one that reads and writes the parameter. A stand-in gets the address too, and what it does with it nobody checks.
 *
 *     sett_inline_ptx(b, "red.global.add.v4.f32 [$0], {$1, $2, $3, $4};", .in = SETT_IN(sett_address(Y, i), x, y, z, w),
 *         .memory = true, .least_sm = 90, .least_ptx = 81, .stand_in = "add4"); */
SETT_API sett_val *sett_address_at(sett_site, const sett_tensor *, sett_arg coord);
#define sett_address(t, ...) sett_address_at(SETT_HERE_OF(#__VA_ARGS__), t, SETT_TUPLE(__VA_ARGS__))
SETT_API sett_val *sett_inline_ptx_at(sett_site, sett_build *, const sett_inline_ptx_args *);
#define sett_inline_ptx(b, ...) \
    sett_inline_ptx_at(SETT_HERE, b, &(sett_inline_ptx_args){.size = sizeof(sett_inline_ptx_args), .text = __VA_ARGS__})

#endif /* __cplusplus */
#endif
