/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian fields, whatever the machine, at any alignment; and a sett__cursor over
 * untrusted bytes that can only fail, never read past its end. */
#ifndef SETT_CACHE_BYTES_H
#define SETT_CACHE_BYTES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline void sett__put_le(uint8_t *p, uint64_t v, int bytes)
{
    for (int i = 0; i < bytes; i++)
        p[i] = (uint8_t)(v >> (8 * i));
}

static inline uint64_t sett__get_le(const uint8_t *p, int bytes)
{
    uint64_t v = 0;
    for (int i = 0; i < bytes; i++)
        v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static inline bool sett__all_zero(const uint8_t *p, size_t n)
{
    uint8_t any = 0;
    for (size_t i = 0; i < n; i++)
        any |= p[i];
    return !any;
}

typedef struct sett__cursor {
    const uint8_t *at;
    size_t left;
    bool bad; /* something did not fit; reads give 0 from then on */
} sett__cursor;

static inline const uint8_t *sett__cursor_take(sett__cursor *c, size_t n)
{
    if (c->bad || n > c->left) {
        c->bad = true;
        return NULL;
    }
    const uint8_t *p = c->at;
    c->at += n;
    c->left -= n;
    return p;
}

static inline uint64_t sett__cursor_le(sett__cursor *c, int bytes)
{
    const uint8_t *p = sett__cursor_take(c, (size_t)bytes);
    return p ? sett__get_le(p, bytes) : 0;
}
#endif
