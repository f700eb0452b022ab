/* SPDX-License-Identifier: Apache-2.0 */
/* META: what a launch must know beside the code, so that it needs neither tape nor compiler.
 *
 *     u16 version, u16 ptx_isa, u32 params_len, i32 min_driver, registers, spill_stores, spill_loads, stack,
 *     then {u32 len, bytes} each: name, target, assembler, compiler, signature (as sett__sig_write gives it), assertions:
 *     {u32 line, op, len of text, file ("": not known) and types, the three texts} each
 *
 * Little endian, read to the last byte or refused. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

enum { VERSION = 3, FIXED = 28, N_BLOBS = 6, MAX_TEXT = 512, CLAIM = 20 };

/* The kernel's parameter block, as sett__sig describes it: for the reader to check what it is told. */
uint32_t sett__params_len(const sett__sig *sig)
{
    uint64_t at = sett__packed_at(sig, SETT__NONE);
    if (sig->n_claim)
        at = (at + 7) / 8 * 8 + 8;
    return at > UINT32_MAX ? UINT32_MAX : (uint32_t)at;
}

sett_status sett__meta_check(const sett__meta *m, sett_error *err)
{
    const sett__sig *sig = &m->sig;
    if (sig->n_param > SETT__MAX_ARGS || sig->n_sym > SETT__MAX_ARGS)
        return sett__error(err, SETT_E_LIMIT, "%s has %u parameters and %u symbols; %d of each are the limit", m->name,
            (unsigned)sig->n_param, (unsigned)sig->n_sym, SETT__MAX_ARGS);
    for (uint32_t i = 0; i < sig->n_param; i++) {
        const sett__param *p = &sig->param[i];
        int bytes = sett__dtype_bytes((sett_dtype)p->dtype);
        if (bytes < 1 || p->rank > SETT__MAX_RANK || (p->scalar && bytes > 8))
            return sett__error(
                err, SETT_E_PARSE, "%s: parameter %s has a type or rank that a launch cannot bind", m->name, p->name);
    }
    if (sett__params_len(sig) > SETT__PARAM_BYTES)
        return sett__error(err, SETT_E_LIMIT, "the parameters of %s take %u bytes; the limit is %d", m->name,
            (unsigned)sett__params_len(sig), SETT__PARAM_BYTES);
    return SETT_OK;
}

/* ---- assertions ------------------------------------------------------------------------ */
static void *put_claims(const sett__sig *sig, size_t *len)
{
    *len = 0;
    for (uint32_t i = 0; i < sig->n_claim; i++) {
        const sett__claim *k = &sig->claim[i];
        *len += CLAIM + strlen(k->text) + (k->file ? strlen(k->file) : 0) + strlen(k->types);
    }
    uint8_t *bytes = malloc(*len ? *len : 1), *p = bytes;
    for (uint32_t i = 0; bytes && i < sig->n_claim; i++) {
        const sett__claim *k = &sig->claim[i];
        const char *texts[] = {k->text, k->file ? k->file : "", k->types};
        uint8_t *at = p;
        sett__put_le(p, k->line, 4);
        sett__put_le(p + 4, k->op, 4);
        p += CLAIM;
        for (int t = 0; t < 3; t++) {
            size_t n = strlen(texts[t]);
            sett__put_le(at + 8 + 4 * t, n, 4);
            memcpy(p, texts[t], n);
            p += n;
        }
    }
    return bytes;
}

static char *take_chars(sett__cursor *c, sett__arena *a, size_t len, sett_status *s)
{
    const uint8_t *p = sett__cursor_take(c, len);
    char *text = p ? sett__arena_chars(a, len + 1) : NULL;
    if (p && !text)
        *s = SETT_E_MEMORY;
    if (!text)
        return NULL;
    memcpy(text, p, len);
    c->bad |= memchr(text, 0, len) != NULL;
    return text;
}

static bool types_valid(const char *types)
{
    size_t n = 0;
    while (types[n] && sett__dtype_valid(types[n]) && sett__dtype_class((sett_dtype)types[n]) != 's')
        n++;
    return !types[n] && n <= SETT__MAX_PRINT;
}

static void take_claim(sett__cursor *c, sett__arena *a, sett__claim *k, sett_status *s)
{
    size_t len[3];
    k->line = (uint32_t)sett__cursor_le(c, 4);
    k->op = (uint32_t)sett__cursor_le(c, 4);
    for (int t = 0; t < 3; t++)
        len[t] = (size_t)sett__cursor_le(c, 4);
    k->text = take_chars(c, a, len[0], s);
    const char *file = take_chars(c, a, len[1], s);
    k->file = file && *file ? file : NULL;
    k->types = take_chars(c, a, len[2], s);
    c->bad |= k->types && !types_valid(k->types);
}

static void take_claims(sett__cursor *c, sett__arena *a, sett__sig *sig, sett_status *s)
{
    size_t len = (size_t)sett__cursor_le(c, 4);
    sett__cursor in = {sett__cursor_take(c, len), len, false};
    if (c->bad || !len)
        return;
    sig->claim = sett__arena_alloc(a, len / CLAIM * sizeof *sig->claim + 1);
    if (!sig->claim)
        *s = SETT_E_MEMORY;
    for (; !*s && !in.bad && in.left >= CLAIM; sig->n_claim++)
        take_claim(&in, a, &sig->claim[sig->n_claim], s);
    c->bad |= in.bad || in.left;
}

sett_status sett__meta_write(const sett__meta *m, void **bytes, size_t *len, sett_error *err)
{
    void *sig = NULL;
    size_t sig_len = 0, claims_len, at = FIXED;
    sett_status s = sett__sig_write(&m->sig, NULL, &sig, &sig_len, err);
    if (s)
        return s;
    void *claims = put_claims(&m->sig, &claims_len);
    const sett__blob blobs[N_BLOBS] = {{m->name, strlen(m->name)}, {m->target, strlen(m->target)},
        {m->assembler, strlen(m->assembler)}, {m->compiler, strlen(m->compiler)}, {sig, sig_len}, {claims, claims_len}};
    for (int i = 0; i < N_BLOBS; i++)
        at += 4 + blobs[i].len;
    uint8_t *p = claims ? malloc(at) : NULL;
    if (!p) {
        sett__mem_free(NULL, sig);
        free(claims);
        return sett__error(err, SETT_E_MEMORY, "no memory for META of %zu bytes", at);
    }
    *bytes = p;
    *len = at;
    const int32_t numbers[] = {
        (int32_t)sett__params_len(&m->sig), m->min_driver, m->registers, m->spill_stores, m->spill_loads, m->stack};
    sett__put_le(p, VERSION, 2);
    sett__put_le(p + 2, m->ptx_isa, 2);
    for (size_t i = 0; i < SETT__COUNT(numbers); i++)
        sett__put_le(p + 4 + 4 * i, (uint32_t)numbers[i], 4);
    p += FIXED;
    for (int i = 0; i < N_BLOBS; i++) {
        sett__put_le(p, blobs[i].len, 4);
        memcpy(p + 4, blobs[i].data, blobs[i].len);
        p += 4 + blobs[i].len;
    }
    sett__mem_free(NULL, sig);
    free(claims);
    return SETT_OK;
}

static const char *take_text(sett__cursor *c, sett__arena *a, sett_status *s)
{
    size_t len = (size_t)sett__cursor_le(c, 4);
    const uint8_t *p = sett__cursor_take(c, len);
    if (!p || len > MAX_TEXT || memchr(p, 0, len)) {
        c->bad = true;
        return "";
    }
    char *text = sett__arena_chars(a, len + 1);
    if (!text) {
        *s = SETT_E_MEMORY;
        return "";
    }
    memcpy(text, p, len);
    return text;
}

sett_status sett__meta_read(sett__meta *m, sett__arena *arena, const void *bytes, size_t len, sett_error *err)
{
    sett__cursor c = {bytes, len, false};
    int32_t numbers[6];
    sett_status s = SETT_OK;
    *m = (sett__meta){0};
    unsigned version = (unsigned)sett__cursor_le(&c, 2);
    m->ptx_isa = (uint16_t)sett__cursor_le(&c, 2);
    for (size_t i = 0; i < SETT__COUNT(numbers); i++)
        numbers[i] = (int32_t)sett__cursor_le(&c, 4);
    m->name = take_text(&c, arena, &s);
    m->target = take_text(&c, arena, &s);
    m->assembler = take_text(&c, arena, &s);
    m->compiler = take_text(&c, arena, &s);
    size_t sig_len = (size_t)sett__cursor_le(&c, 4);
    const uint8_t *sig = sett__cursor_take(&c, sig_len);
    sett__sig claims = {0};
    take_claims(&c, arena, &claims, &s);
    if (s)
        return sett__error(err, s, "no memory for META");
    if (c.bad || c.left || version != VERSION)
        return sett__error(
            err, SETT_E_PARSE, version == VERSION ? "META is damaged" : "META is of version %u", version);
    m->params_len = (uint32_t)numbers[0];
    m->min_driver = numbers[1];
    m->registers = numbers[2];
    m->spill_stores = numbers[3];
    m->spill_loads = numbers[4];
    m->stack = numbers[5];
    s = sett__sig_read(&m->sig, arena, sig, sig_len, err);
    m->sig.claim = claims.claim, m->sig.n_claim = s ? 0 : claims.n_claim;
    if (!s)
        s = sett__meta_check(m, err);
    if (!s && m->params_len != sett__params_len(&m->sig))
        s = sett__error(err, SETT_E_PARSE, "META's parameter block has %u bytes, its signature %u",
            (unsigned)m->params_len, (unsigned)sett__params_len(&m->sig));
    return s;
}
