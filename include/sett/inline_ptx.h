/* SPDX-License-Identifier: Apache-2.0 */
/* Inline PTX: assembly as an operation of the kernel, for what sett has no call for. */
#ifndef SETT_INLINE_PTX_H
#define SETT_INLINE_PTX_H
#include <sett/tensor.h>

#ifndef __cplusplus

/* Records a piece of PTX. In the text $0, $1, ... are the results and then the operands, each used at least
 * once; $$ is a dollar. Instructions are separated by `;`; registers and labels that the text declares stand
 * in braces. A Boolean is a predicate register: `@$1 ...` tests one, `setp` writes one.
 *
 *     r = sett_inline_ptx(b, "lop3.b32 $0, $1, $2, $3, 0x96;", .result = {SETT_U32}, .in = SETT_IN(x, y, z),
 *         .stand_in = "xor3");
 *     sett_inline_ptx(b, "{ add.cc.u32 $0, $2, $4; addc.u32 $1, $3, $5; }", .result = {SETT_U32, SETT_U32},
 *         .to = sum,
 *         .in = SETT_IN(x_lo, x_hi, y_lo, y_hi), .stand_in = "add64");
 *     sett_inline_ptx(b, "nanosleep.u32 $0;", .in = SETT_IN(100), .stand_in = "nap");
 *
 * The call returns the first result, and writes all of them to .to, an array of as many. Do not use what it
 * returns if there are no results. Operands are values or C numbers: Int32 (Int64 if it does not fit),
 * Float32 with a fraction. Types are Boolean and those of 8, 16, 32 and 64 bits. An element of 8 bits comes
 * in a register of 16, sign-extended; floats of 8 and 16 bits and tf32 come as their bits (b16, b32).
 * Operands with a shape have one shape, beside which scalars may stand. The text is then repeated for each
 * element, and the results have that shape.
 *
 * .is_volatile: the text is never dropped, merged or moved past another volatile one; implied if it has no
 * results.
 * .memory: volatile, and it reads or writes memory; implied if it has an address, `[$1]`, unless it is a mere
 * hint (SETT_NOTHING). Otherwise the text must have no effect but its results.
 * .least_sm, .least_ptx: what the text needs, 90 and 78 for sm_90 and PTX 7.8. An older target refuses the
 * kernel (SETT_E_TARGET), and the kernel's PTX has at least that version. If the assembler refuses the text,
 * the compile is SETT_E_ASSEMBLE with this line and the assembler's message. All of these are part of the
 * key.
 *
 * .stand_in: the name of a C function that does the same for one thread. The program gives it to the engine
 * by sett_engine_stand_in() before it launches on the CPU; without it such a launch is SETT_E_TARGET. Texts
 * by which lanes exchange values (shfl, mma) can have no stand-in.
 * SETT_E_ARGUMENT: the text uses an operand that there is not, leaves one out, does not end in ; or }, or has
 * a byte that is not printable. */
#define SETT_NOTHING "sett.nothing" /* a .stand_in for a text without results: the CPU engine does nothing,
                                     * and needs no function */
enum { SETT_INLINE_RESULTS = 16 };
typedef struct sett_operands { int n; const sett_arg *arg; } sett_operands; /* up to 32 */
#define SETT_IN(...) \
    ((sett_operands){SETT_NARG(__VA_ARGS__), (const sett_arg[]){SETT_EACH(SETT_A, __VA_ARGS__)}})
typedef struct sett_inline_ptx_args {
    size_t size;
    const char *text;
    sett_dtype result[SETT_INLINE_RESULTS]; /* the first 0 ends them */
    sett_val **to;
    sett_operands in;
    const char *stand_in;
    bool is_volatile, memory;
    int least_sm, least_ptx;
} sett_inline_ptx_args;
/* The address of an element of gmem, Uint64, as an operand for `[$1]`: sett_address(t, i, j). The kernel then
 * counts as one that reads and writes the parameter. A stand-in gets the address too; nothing checks what it
 * does with it.
 *
 *     sett_inline_ptx(b, "red.global.add.v4.f32 [$0], {$1, $2, $3, $4};", .in = SETT_IN(sett_address(Y, i),
 *         x, y, z, w),
 *         .memory = true, .least_sm = 90, .least_ptx = 81, .stand_in = "add4"); */
SETT_API sett_val *sett_address_at(sett_site, const sett_tensor *, sett_arg coord);
#define sett_address(t, ...) sett_address_at(SETT_HERE_OF(#__VA_ARGS__), t, SETT_TUPLE(__VA_ARGS__))
SETT_API sett_val *sett_inline_ptx_at(sett_site, sett_build *, const sett_inline_ptx_args *);
#define sett_inline_ptx(b, ...) \
    sett_inline_ptx_at(SETT_HERE, b, &(sett_inline_ptx_args){.size = sizeof(sett_inline_ptx_args), \
        .text = __VA_ARGS__})

#endif /* __cplusplus */
#endif
