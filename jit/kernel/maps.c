/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps of a launch: what their recipes are of its symbols, checked before the driver is asked, and the driver's 128 bytes
 * of each. */
#include "kernel.h"
#include <inttypes.h>
#include <string.h>

typedef struct mapped {
    const sett__sig *sig;
    const sett__map *map;
    const char *kernel;
    const int64_t *sym, *scalar;
    sett_error *err;
} mapped;

static const char *tensor_of(const mapped *m)
{
    return m->sig->param[m->map->param].name;
}

/* "k: A: map mA: stride 1, K * 2, is 24 bytes, which is not a multiple of 16" */
static sett_status refuse(const mapped *m, sett_status status, sett__expr e, const char *what, int k, const char *is)
{
    char expr[200];
    sett__expr_words(m->sig, e, expr, sizeof expr);
    return sett__error(m->err, status, "%s: %s: map %s: %s %d, %s, %s", m->kernel, tensor_of(m), m->map->name, what, k, expr, is);
}

static sett_status take_extent(const mapped *m, int k, uint64_t *to)
{
    int64_t x;
    char is[80];
    if (!sett__expr_eval(m->sig, m->map->extent[k], m->sym, m->scalar, &x))
        return refuse(m, SETT_E_RANGE, m->map->extent[k], "extent", k, "overflows or divides by zero");
    *to = (uint64_t)x;
    if (x >= !m->map->empty && x <= UINT32_MAX)
        return SETT_OK;
    snprintf(is, sizeof is, "is %" PRId64 ", and a map takes %d to 2^32 - 1", x, !m->map->empty);
    return refuse(m, SETT_E_RANGE, m->map->extent[k], "extent", k, is);
}

/* Nothing uses the stride of a mode of one element: where it is none that the driver takes, 16 stands for it. */
static sett_status take_stride(const mapped *m, int k, bool used, uint64_t *to)
{
    int64_t x;
    char is[80];
    *to = 16;
    bool known = sett__expr_eval(m->sig, m->map->stride[k], m->sym, m->scalar, &x), fits = known && x >= 0 && !(x >> 40);
    if (fits && x % 16 == 0)
        *to = (uint64_t)x;
    if (!used || (fits && x % 16 == 0))
        return SETT_OK;
    if (!known)
        return refuse(m, SETT_E_RANGE, m->map->stride[k], "stride", k, "overflows or divides by zero");
    snprintf(is, sizeof is, fits ? "is %" PRId64 " bytes, which is not a multiple of 16" : "is %" PRId64 " bytes, not 0 to 2^40 - 1", x);
    return refuse(m, fits ? SETT_E_ALIGN : SETT_E_RANGE, m->map->stride[k], "stride", k, is);
}

/* All that it names lies in the tensor's buffer, which ends behind the greatest offset of its layout. */
static sett_status check_reach(const mapped *m, const sett_buf *t, const sett__map_facts *f)
{
    int64_t lo, hi;
    const uint64_t bits = (uint64_t)sett_dtype_bits((sett_dtype)m->map->dtype);
    uint64_t reach = f->extent[0] * ((bits + 7) / 8), far;
    for (int k = 1; k < m->map->rank && reach < UINT64_MAX; k++)
        if (__builtin_mul_overflow(f->extent[k] - 1, f->stride[k - 1], &far) || __builtin_add_overflow(reach, far, &reach))
            reach = UINT64_MAX;
    const uint64_t has = sett__buf_span(t, &lo, &hi) && hi < INT64_MAX / 16 ? sett__bytes_of((int)t->dtype, (uint64_t)hi + 1) : UINT64_MAX;
    if (reach <= has)
        return SETT_OK;
    return sett__error(m->err, SETT_E_RANGE, "%s: %s: map %s: it names %" PRIu64 " bytes, and the buffer given has %" PRIu64, m->kernel,
        tensor_of(m), m->map->name, reach, has);
}

/* Of such a tensor the bytes of the map are zeros: a driver takes none, and nothing is copied by it. */
static bool is_empty(const sett__map *m, const sett__map_facts *f)
{
    for (int k = 0; k < m->rank; k++)
        if (!f->extent[k])
            return true;
    return false;
}

static sett_status bind_map(const mapped *m, const sett_buf *t, sett__map_facts *f)
{
    sett_status s = SETT_OK;
    memset(f, 0, sizeof *f);
    for (int k = 0; k < m->map->rank && !s; k++)
        s = take_extent(m, k, &f->extent[k]);
    if (s || is_empty(m->map, f))
        return s;
    f->address = t->data;
    if ((uintptr_t)t->data % 16)
        return sett__error(m->err, SETT_E_ALIGN, "%s: %s is at %p, which is not a multiple of 16 bytes, as map %s needs", m->kernel,
            tensor_of(m), t->data, m->map->name);
    for (int k = 1; k < m->map->rank && !s; k++)
        s = take_stride(m, k, f->extent[k] > 1, &f->stride[k - 1]);
    return s ? s : check_reach(m, t, f);
}

sett_status sett__maps_bind(const sett__sig *sig, const char *kernel, const sett_launch_arg *arg, const int64_t *sym, const int64_t *scalar,
    sett__map_facts *to, sett_error *err)
{
    sett_status s = SETT_OK;
    for (uint32_t i = 0; i < sig->n_map && !s; i++) {
        const mapped m = {sig, &sig->map[i], kernel, sym, scalar, err};
        s = bind_map(&m, arg[sig->map[i].param].u.t, &to[i]);
    }
    return s;
}

sett_status sett__maps_encode(const sett__plan *p, sett__cuda *cuda, int device, sett__bound *b, const sett__map_facts *was, const void *from,
    sett_error *err)
{
    alignas(SETT__MAP_ALIGN) unsigned char bytes[SETT__MAP_BYTES];
    for (uint32_t i = 0; i < p->n_map && !b->empty; i++) {
        const uint32_t at = p->map_at + i * SETT__MAP_BYTES;
        const sett__map *m = &p->sig->map[i];
        if (is_empty(m, &b->map[i])) {
            memset(b->params + at, 0, sizeof bytes);
            continue;
        }
        if (was && !memcmp(&was[i], &b->map[i], sizeof *was)) {
            memcpy(b->params + at, (const unsigned char *)from + at, sizeof bytes);
            continue;
        }
        if (!cuda) { /* the CPU engine's */
            sett__sim_map(m, b->map[i].address, b->map[i].extent, b->map[i].stride, b->params + at);
            continue;
        }
        sett_status s = sett__cuda_map(cuda, device, p->name, p->sig->param[m->param].name, m, &b->map[i], bytes, err);
        if (s)
            return s;
        memcpy(b->params + at, bytes, sizeof bytes);
    }
    return SETT_OK;
}
