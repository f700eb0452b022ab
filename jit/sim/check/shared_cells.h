/* SPDX-License-Identifier: Apache-2.0 */
/* Cells of shared memory: who wrote each of them last, and who has read it since, or changed it by atomics. A row of 128 bytes has cells of
 * 16 bytes; where an access begins or ends inside of one, the row gets smaller ones, down to a byte. */
#ifndef SETT_JIT_SIM_CHECK_SHARED_CELLS_H
#define SETT_JIT_SIM_CHECK_SHARED_CELLS_H
#include "agents.h"

enum { ROW_LG = 7, ROW = 1 << ROW_LG, UNIT_LG = 4 };
#define SET 0x80000000u /* of `read`: an index in the table of readers */

typedef struct reader { /* one of several */
    uint32_t time, next; /* next: the index of another one, or the last one's time; 0: none */
    uint8_t lane;
} reader;
struct readers {
    reader *of;
    uint32_t n, cap, swept;
    uint32_t was, is; /* the last one that was made: of which set */
};
typedef struct row {
    uint32_t at; /* its first cell; 0: nobody has touched it */
    uint8_t lg;  /* of a cell's bytes */
    bool atomics; /* some of `read` are */
} row;
struct cells {
    row *row;
    uint32_t n_row, n, cap;
    uint32_t *write, *read; /* times; of several readers SET */
    uint8_t *write_lane, *read_lane;
};

bool sett__cut_row(struct cells *, row *, uint32_t edges);
/* In a row, cells that an access from or to a multiple of `edges` does not cut. False: out of memory. */
static inline bool sett__make_row(struct cells *s, row *r, uint32_t edges)
{
    return (r->at && !(edges & ((1u << r->lg) - 1))) || sett__cut_row(s, r, edges);
}
/* Puts a reader in front of the list that begins at `next`; returns the new list. 0: out of memory. */
uint32_t sett__add_reader(near *, uint32_t time, uint8_t lane, uint32_t next);

#endif
