/* SPDX-License-Identifier: Apache-2.0 */
/* A part of tape.h, which alone includes it: texts that operations carry, and operations in messages. */
#ifndef SETT_INLINE_TEXT_H
#define SETT_INLINE_TEXT_H
/* ---- inline_text.c: texts that ops carry ------------------------------------------------------------ */
/* The next conversion of a printf format after *p: its letter; 0: none left; '?': one that a kernel may not print. */
char sett__next_conversion(const char **p, int *longs);
/* The text of inline PTX, "xor3 u32:lop3.b32 $0, $1, $2, $3, 0x96;": the stand-in's name or -, the results' types, and what the
 * assembler reads, where $n is a result or, after the results, an operand, and $$ a dollar. */
enum { SETT__INLINE_RESULTS = 16, SETT__INLINE_OPERANDS = 32, SETT__INLINE_WHAT = 160 };
typedef struct sett__inline {
    const char *name, *text; /* name: not NUL-ended; of length 0: none */
    uint32_t name_len;
    bool nothing; /* its stand-in is SETT_NOTHING */
    uint8_t n_result, result[SETT__INLINE_RESULTS];
} sett__inline;
/* False: the text is wrong, or does not fit an op of so many operands; `what` tells. */
bool sett__inline_read(const char *, uint32_t n_operands, sett__inline *, char what[SETT__INLINE_WHAT]);
#define SETT__INLINE_MARK "// of op " /* in PTX, in front of such text and followed by the op's number */
#define SETT__INLINE_NAME "a stand-in's name is 1 to 100 letters, digits, _ and dots"
const char *sett__op_call(const sett__tape *, uint32_t op); /* the call that records it; NULL: several record such */
bool sett__strings_fit(const sett__tape *);
/* An op in errors: "op 9 `%9 = add i32 ...`", or "sett_inline_ptx `its text`". */
void sett__op_title(const sett__tape *, uint32_t op, char *buf, size_t size);
bool sett__inline_takes(int dtype); /* as an operand or a result */
bool sett__ptx_isa_known(int isa);  /* 78 for 7.8; 0 too */
#endif
