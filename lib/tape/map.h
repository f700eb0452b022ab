/* SPDX-License-Identifier: Apache-2.0 */
/* A part of tape.h: tensor maps as parameters. Included there alone. */
#ifndef SETT_MAP_H
#define SETT_MAP_H

/* A tensor map: how the hardware copies boxes of a tensor. A launch encodes it from the tensor's address and its symbols, and it
 * is 128 bytes of the packed block. Mode 0 is contiguous. */
enum { SETT__MAP_RANK = 5, SETT__MAP_BYTES = 128, SETT__MAP_ALIGN = 64, SETT__MAX_MAPS = 16, SETT__MAP_BOX = 256, SETT__MAP_STEP = 8 };
typedef struct sett__map {
    const char *name;
#define MAP_NUMBER(type, name, most) type name;
#define MAP_OPTION(name, word, bit, most, first) uint8_t name;
#define MAP_MODE(type, name, least, most_of_0, most, usual) type name[SETT__MAP_RANK];
#define MAP_MODE_EXPR(name, word, from) sett__expr name[SETT__MAP_RANK]; /* before `from` absent */
#include "map.def"
} sett__map;
/* ---- map.c --------------------------------------------------------------------------------------------- */
struct sett__sig;
sett_status sett__map_verify(const struct sett__sig *, const sett__map *, sett_error *);
extern const sett__member sett__map_members[]; /* all but the name */
int sett__map_type(int dtype); /* a CUtensorMapDataType; -1: it has none */
uint32_t sett__map_bytes(const sett__map *); /* that a box takes in shared memory: its rows begin a swizzle apart */
#endif
