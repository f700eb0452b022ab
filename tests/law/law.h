/* SPDX-License-Identifier: Apache-2.0 */
/* Laws of the layout algebra, checked on random cases against plain arithmetic.
 *
 * A case is what a law draws: a list of small numbers, from a seed, from a fuzzer's bytes or from an earlier
 * case. So every law shrinks in one way: drop and lower numbers as long as it still fails. The smallest
 * failing case is printed with its operands in CuTe notation and the seed that gives it again. */
#ifndef SETT_TESTS_LAW_H
#define SETT_TESTS_LAW_H
#include "lib/print/print.h"
#include <inttypes.h>

__extension__ typedef __int128 law_wide; /* the reference: what does not fit it is its largest value */

/* ---- law.c: one case ----------------------------------------------------------------------------- */
enum { LAW_DRAWS = 512, LAW_TEXT = 4096, LAW_SYMBOLS = 64, LAW_OPS = 4096 };
typedef struct trial {
    const uint32_t *given; /* the first n_given numbers; then from the seed, or 0 without one */
    int n_given, n_drawn;
    uint64_t state;
    bool seeded;
    uint32_t drawn[LAW_DRAWS];
    sett_build *b;
    int64_t value[LAW_SYMBOLS]; /* of the symbols that law_hide made */
    int n_symbol, first_symbol; /* what their names count from, where several cases share a build */
    uint64_t bits[LAW_OPS]; /* what the first n_bits ops of b give for them */
    uint32_t n_bits;
    char text[LAW_TEXT]; /* operands, then what is wrong */
    size_t len;
    bool failed, refused;
} trial;
int law_pick(trial *, int n); /* 0 to n-1; the lower the simpler */
int64_t law_huge(trial *);     /* 1 to 2^63-1, of all sizes */
/* Notes an operand; printed when the case fails. */
void law_note(trial *, const char *name, sett_arg);
void law_note_layout(trial *, const char *name, const sett_layout *);
void law_fail(trial *, const char *format, ...) SETT_PRINTF(2, 3);
/* In a function without a result. */
#define LAW(t, cond, ...) \
    do { \
        if (!(cond)) { \
            law_fail(t, __VA_ARGS__); \
            return; \
        } \
    } while (0)

typedef struct law {
    const char *name;
    void (*run)(trial *);
    int least;        /* of 100 cases that many are not refused: else the law says little */
    uint64_t refuses; /* statuses that a case may end with, a bit each */
} law;
#define LAW_BIT(status) (UINT64_C(1) << (status))
extern const law laws[];
extern const int n_laws;
/* Draws and runs one case, then ends its build. */
void law_run(const law *, trial *);
void law_from_seed(trial *, uint64_t seed);
/* `cases` cases, seeds from `seed` on. False: one failed (or too many were refused); then why is printed. */
bool law_check(const law *, uint64_t seed, int cases);

/* ---- law.c: layouts as lists of leaves, and plain arithmetic on them ------------------------------------ */
enum { LAW_LEAVES = 64, LAW_SIZE = 1024, LAW_OFFSETS = 1 << 20 };
typedef struct flat {
    int n;
    int64_t s[LAW_LEAVES], d[LAW_LEAVES];
} flat;
law_wide flat_size(const flat *);
law_wide flat_at(const flat *, law_wide c); /* colexicographic; the last leaf takes what is left */
flat flat_of(trial *, const sett_layout *); /* shape:stride; symbols as their values. Fails the case if a leaf is neither */
/* Static leaves: any; a bijection onto [0,size) in some order of modes; the same with gaps. At most LAW_SIZE elements. */
flat flat_any(trial *, int most);
flat flat_compact(trial *, int most);
flat flat_injective(trial *, int most, int gap);
/* What composes with a: leaves that walk along its modes. */
flat flat_along(trial *, const flat *a, int most);
/* Under a random profile. */
sett_layout *law_layout(trial *, sett_build *, const flat *);
/* The same with some leaves as symbols of that value, with true claims of what divides it. */
/* The same in another build: static, and of plain layouts. */
sett_arg law_copy(sett_build *, sett_arg);
sett_layout *law_copied(sett_build *, const sett_layout *);
sett_arg law_hide(trial *, sett_arg);
sett_layout *law_hidden(trial *, const sett_layout *);
sett_arg law_reveal(trial *, sett_arg); /* symbols as their values; claims and ranges are checked on the way */
sett__ctx law_ctx(sett_build *);
/* Are x and y the same function? Else the case fails, naming them. */
void law_same(trial *, const char *what, const flat *x, const flat *y);
/* Of offsets in [0, LAW_OFFSETS): all different; x's, divided by m, are among y's, divided by n. */
bool law_is_injective(const flat *);
bool law_within(const flat *x, int m, const flat *y, int n);

/* ---- law_algebra.c, law_tiles.c, law_dynamic.c, law_range.c ------------------------------------------------ */
/* Does A o (T, complement of T) exist, mode by mode for a tuple? CuTe's divide also gives a result where it does not. */
bool law_divides_evenly(const sett_layout *a, sett_arg tiler);
/* An operation with operands that it accepts often: the result on static leaves, and with some of them hidden.
 * False: refused, or failed. */
typedef struct law_pair { sett_build *fixed; sett_layout *want, *got; } law_pair;
bool law_both(trial *, law_pair *);
bool law_launches(const trial *); /* what the build could not prove holds for the symbols' values */
/* Printed, it is read as the same. */
void law_reads_back(trial *, sett_arg);
#define LAW_LIST(X) \
    X(evaluates, 90, 0) X(coalesces, 90, 0) X(composes, 30, LAW_BIT(SETT_E_DIVIDE)) X(composes_by_mode, 20, LAW_BIT(SETT_E_DIVIDE)) \
    X(complements, 90, 0) X(right_inverts, 90, 0) X(left_inverts, 50, LAW_BIT(SETT_E_DIVIDE)) X(commons, 20, LAW_BIT(SETT_E_DIVIDE)) \
    X(nulls, 90, 0) X(divides, 30, LAW_BIT(SETT_E_DIVIDE)) X(divides_by_mode, 30, LAW_BIT(SETT_E_DIVIDE)) \
    X(multiplies, 30, LAW_BIT(SETT_E_DIVIDE)) X(multiplies_by_mode, 30, LAW_BIT(SETT_E_DIVIDE)) X(fills, 90, 0) \
    X(slices, 90, 0) X(recasts, 30, LAW_BIT(SETT_E_DIVIDE)) X(covers, 90, 0) X(orders, 90, 0) X(prints, 90, 0) \
    X(dynamic, 40, LAW_BIT(SETT_E_DIVIDE) | LAW_BIT(SETT_E_STATIC)) \
    X(dynamic_inverts, 90, 0) \
    X(stays_in_range, 10, LAW_BIT(SETT_E_DIVIDE) | LAW_BIT(SETT_E_RANGE)) \
    X(counts, 90, 0) X(survives, 1, ~UINT64_C(1))
#define LAW_DECLARE(name, least, refuses) void law_##name(trial *);
LAW_LIST(LAW_DECLARE)
#endif
