/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that ops carry: formats of printf, and inline PTX. */
#include "ops.h"
#include <string.h>

char sett__next_conversion(const char **p, int *longs)
{
    const char *s = *p;
    *longs = 0;
    for (; *s; s++) {
        if (*s != '%')
            continue;
        if (*++s == '%')
            continue;
        s += strspn(s, "-+ #0");
        s += strspn(s, "0123456789");
        if (*s == '.')
            s += 1 + strspn(s + 1, "0123456789");
        for (; *s == 'l' || *s == 'h'; s++)
            *longs += *s == 'l';
        *p = *s ? s + 1 : s;
        return *s && strchr("dioxXucfFeEgGaA", *s) ? *s : '?';
    }
    *p = s;
    return 0;
}

/* ---- inline PTX -------------------------------------------------------------------------- */
bool sett__inline_takes(int dtype)
{
    int bits = sett_dtype_bits((sett_dtype)dtype);
    return dtype == SETT_BOOL || bits == 8 || bits == 16 || bits == 32 || bits == 64;
}

/* By the PTX manual's list of releases, as far as LLVM 22 knows them. */
bool sett__ptx_isa_known(int isa)
{
    int major = isa / 10, minor = isa % 10;
    return !isa || (major == 6 && minor <= 5) || ((major == 7 || major == 8) && minor <= 8) || isa == 90;
}

static bool read_types(const char **s, sett__inline *to, char *what)
{
    while (**s != ':') {
        size_t n = strcspn(*s, ",:");
        sett_dtype d = n < 32 ? sett__dtype_parse(*s, n) : (sett_dtype)0;
        if (!d || !sett__inline_takes(d) || to->n_result == SETT__INLINE_RESULTS) {
            snprintf(what, SETT__INLINE_WHAT, "there is no result %u of type %.*s", to->n_result, (int)(n < 32 ? n : 32), *s);
            return false;
        }
        to->result[to->n_result++] = (uint8_t)d;
        *s += n + (**s && (*s)[n] == ',');
        if (!**s)
            break;
    }
    return true;
}

/* Every result and operand must be named: what is not was forgotten, or the numbers are off by one. */
static bool read_places(const char *s, uint32_t n_result, uint32_t n_operands, char *what)
{
    uint64_t named = 0;
    uint32_t n = n_result + n_operands;
    for (; *s; s++) {
        if ((unsigned char)*s > 126 || ((unsigned char)*s < ' ' && *s != '\n' && *s != '\t'))
            return snprintf(what, SETT__INLINE_WHAT, "the PTX holds the byte 0x%02x", (unsigned char)*s), false;
        if (*s != '$' || *++s == '$')
            continue;
        size_t digits = strspn(s, SETT__DIGITS);
        uint32_t k = 0;
        for (size_t i = 0; i < digits && i < 4; i++)
            k = 10 * k + (uint32_t)(s[i] - '0');
        if (!digits)
            return snprintf(what, SETT__INLINE_WHAT, "in the PTX a $ is followed by an operand's number, or by another $"), false;
        if (digits > 4 || k >= n)
            return snprintf(what, SETT__INLINE_WHAT, "the PTX names $%.*s: it has %u result%s and %u operand%s", (int)(digits < 9 ? digits : 9), s,
                       n_result, n_result == 1 ? "" : "s", n_operands, n_operands == 1 ? "" : "s"),
                   false;
        named |= UINT64_C(1) << k;
        s += digits - 1;
    }
    for (uint32_t k = 0; k < n; k++)
        if (!(named >> k & 1))
            return snprintf(what, SETT__INLINE_WHAT, "the PTX does not name $%u, its %s %u", k, k < n_result ? "result" : "operand",
                       k < n_result ? k : k - n_result),
                   false;
    return true;
}

bool sett__inline_read(const char *s, uint32_t n_operands, sett__inline *to, char what[SETT__INLINE_WHAT])
{
    size_t n = strspn(s, SETT__LETTERS SETT__DIGITS "_.");
    *to = (sett__inline){.name = s, .name_len = (uint32_t)n};
    if (n > 100 || (n ? s[n] != ' ' : strncmp(s, "- ", 2) != 0)) {
        snprintf(what, SETT__INLINE_WHAT, SETT__INLINE_NAME);
        return false;
    }
    s += n ? n + 1 : 2;
    if (n_operands > SETT__INLINE_OPERANDS) {
        snprintf(what, SETT__INLINE_WHAT, "it has %u operands: at most %d", n_operands, SETT__INLINE_OPERANDS);
        return false;
    }
    if (!read_types(&s, to, what))
        return false;
    to->nothing = n == strlen(SETT_NOTHING) && !memcmp(to->name, SETT_NOTHING, n);
    if (to->nothing && to->n_result)
        return snprintf(what, SETT__INLINE_WHAT, SETT_NOTHING " stands in for what has no result"), false;
    to->text = s + 1;
    if (*s != ':' || !s[1]) {
        snprintf(what, SETT__INLINE_WHAT, "there is no PTX");
        return false;
    }
    return read_places(to->text, to->n_result, n_operands, what);
}

bool sett__strings_fit(const sett__tape *t)
{
    for (uint32_t i = 0; i < t->n_string; i++)
        if (!t->string[i] || strnlen(t->string[i], SETT__MAX_STRING + 1) > SETT__MAX_STRING)
            return false;
    return true;
}

/* sett_gemm records a fence in front of its products; other fences are a caller's. */
static bool of_gemm(const sett__tape *t, uint32_t i)
{
    const uint32_t site = t->op[i].site;
    while (i < t->n_op && t->op[i].site == site && t->op[i].code != SETT__WGMMA)
        i++;
    return i < t->n_op && t->op[i].site == site;
}

static bool increases(const sett__tape *t, const sett__op *op)
{
    return !sett__attr(t->arg, op, SETT__AT_MAXNREG_WAY);
}

const char *sett__op_call(const sett__tape *t, uint32_t op)
{
    switch (t->op[op].code) {
    case SETT__MATCH: return t->op[op].sub == SETT__VOTE_ANY ? "sett_match_any_sync" : "sett_match_all_sync";
    case SETT__MAXNREG: return increases(t, &t->op[op]) ? "sett_setmaxregister_increase" : "sett_setmaxregister_decrease";
    case SETT__MBINVAL: return "sett_mbarrier_inval";
    case SETT__MBTEST: return "sett_mbarrier_test_wait";
    case SETT__CPASYNC: return "sett_cp_async";
    case SETT__CPCOMMIT: return "sett_cp_async_commit_group";
    case SETT__CPWAIT: return "sett_cp_async_wait_group";
    case SETT__REDUX: return "sett_warp_redux_sync";
    case SETT__TANHA: return "sett_tanh_approx";
    case SETT__MMA:
    case SETT__DP4A:
    case SETT__DESC:
    case SETT__WGMMA: return "sett_gemm";
    case SETT__WGFENCE: return of_gemm(t, op) ? "sett_gemm" : "sett_mma_fence";
    case SETT__WGCOMMIT: return "sett_mma_commit";
    case SETT__WGWAIT: return "sett_mma_wait";
    case SETT__LDMATRIX:
    case SETT__MOVMATRIX:
    case SETT__STMATRIX: return "sett_copy";
    case SETT__PEER: return "sett_map_dsmem";
    case SETT__TMALOAD: return "sett_tma_load";
    case SETT__TMASTORE: return "sett_tma_store";
    case SETT__TMAREDUCE: return "sett_tma_reduce";
    case SETT__TMAFETCH: return "sett_tma_prefetch";
    case SETT__BULKLOAD: return "sett_bulk_load";
    case SETT__BULKSTORE: return "sett_bulk_store";
    case SETT__BULKREDUCE: return "sett_bulk_reduce";
    case SETT__BULKPEER: return "sett_bulk_peer";
    case SETT__STASYNC: return "sett_store_async";
    case SETT__MAPFETCH: return "sett_prefetch_descriptor";
    case SETT__MAPCOPY: return "sett_copy_tensormap";
    case SETT__MAPREPLACE: return "sett_update_tma_descriptor";
    case SETT__POLICY: return "sett_cache_policy";
    default: return NULL;
    }
}

/* Its PTX, all blanks one, at most ~100 characters of it. */
static void put_ptx(sett__sink *out, const char *s)
{
    uint32_t n = 0;
    for (s += strspn(s, " \t\r\n"); *s && n < 100; n++) {
        size_t blank = strspn(s, " \t\r\n");
        if (blank && !s[blank])
            return;
        sett__putf(out, "%c", blank ? ' ' : *s);
        s += blank ? blank : 1;
    }
    sett__put(out, *s ? "..." : "");
}

void sett__op_title(const sett__tape *t, uint32_t i, char *buf, size_t size)
{
    const sett__op *op = &t->op[i];
    char text[160];
    sett__inline in;
    sett__sink out = {.buf = buf, .cap = size};
    bool ptx = op->code < SETT__N_CODES && sett__ops[op->code].cls == SETT__C_INLINE && op->imm >= 0 && op->imm < t->n_string &&
               sett__inline_read(t->string[op->imm], op->n_args, &in, text);
    if (ptx) {
        sett__put(&out, "sett_inline_ptx `");
        put_ptx(&out, in.text);
    } else {
        sett__op_str(t, i, text, sizeof text);
        sett__putf(&out, "op %u `%s", i, text);
    }
    sett__put(&out, "`");
}
