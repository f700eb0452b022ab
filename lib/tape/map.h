/* SPDX-License-Identifier: Apache-2.0 */
/* A part of tape.h: tensor maps as parameters. Included there alone. */
#ifndef SETT_MAP_H
#define SETT_MAP_H

/* A tensor map: how the hardware copies boxes of a tensor. A launch encodes it from the tensor's address and its symbols, and it
 * is 128 bytes of the packed block. Mode 0 is contiguous. */
enum { SETT__MAP_RANK = 5, SETT__MAP_BYTES = 128, SETT__MAP_ALIGN = 64, SETT__MAX_MAPS = 16, SETT__MAP_BOX = 256, SETT__MAP_STEP = 8 };
typedef struct sett__map {
    const char *name;
    uint32_t param; /* the tensor */
    uint8_t dtype, rank;
    uint8_t swizzle;   /* 0: none; k: of 16 << k bytes */
    uint8_t nan;       /* what is outside is read as NaN, not as zero */
    uint8_t promotion; /* of what L2 fetches: 0: none; k: to 32 << k bytes */
    uint8_t step[SETT__MAP_RANK]; /* every step-th element of a box is copied */
    uint16_t box[SETT__MAP_RANK];
    sett__expr extent[SETT__MAP_RANK], stride[SETT__MAP_RANK]; /* strides in bytes; stride[0] is absent */
} sett__map;
/* ---- map.c --------------------------------------------------------------------------------------------- */
struct sett__sig;
sett_status sett__map_verify(const struct sett__sig *, const sett__map *, sett_error *);
int sett__map_type(int dtype); /* a CUtensorMapDataType; -1: it has none */
uint32_t sett__map_bytes(const sett__map *); /* that a box takes in shared memory: its rows begin a swizzle apart */
#endif
