/* SPDX-License-Identifier: Apache-2.0 */
/* The targets that are known: what their blocks may use, and the PTX ISA that each needs. */
#include "ops.h"
#include <stdio.h>
#include <string.h>

/* By the PTX manual's list of releases: the version that introduced sm_N, sm_Na, sm_Nf; 0: there is none. PTX 9.0
 * renamed sm_101 to sm_110, so a tape may be for it but no code is made. */
static const struct target {
    int sm, smem_kib; /* of shared memory that a block may opt in to */
    int plain, a, f;
} targets[] = {
    {70, 96, 60, 0, 0},
    {72, 96, 61, 0, 0},
    {75, 64, 63, 0, 0},
    {80, 163, 70, 0, 0},
    {86, 99, 71, 0, 0},
    {87, 163, 74, 0, 0},
    {88, 99, 90, 0, 0},
    {89, 99, 78, 0, 0},
    {90, 227, 78, 80, 0},
    {100, 227, 86, 86, 88},
    {101, 227, 0, 0, 0},
    {103, 227, 88, 88, 88},
    {110, 227, 90, 90, 90},
    {120, 99, 87, 87, 88},
    {121, 99, 88, 88, 88},
};

static const struct target *target_of(int sm)
{
    for (size_t i = 0; i < SETT__COUNT(targets); i++)
        if (targets[i].sm == sm)
            return &targets[i];
    return NULL;
}

uint32_t sett__target_smem(int sm)
{
    const struct target *t = target_of(sm);
    return (uint32_t)(t ? t->smem_kib : 48) * 1024;
}

uint32_t sett__target_smem_most(void)
{
    int most = 0;
    for (size_t i = 0; i < SETT__COUNT(targets); i++)
        most = targets[i].smem_kib > most ? targets[i].smem_kib : most;
    return (uint32_t)most * 1024;
}

bool sett__target_parse(const char *target, int *sm, char *suffix)
{
    if (!target || strncmp(target, "sm_", 3))
        return false;
    const char *p = target + 3;
    size_t digits = strspn(p, "0123456789");
    if (digits < 2 || digits > 3 || *p == '0') /* LLVM knows each by one name */
        return false;
    int n = 0;
    for (size_t i = 0; i < digits; i++)
        n = 10 * n + (p[i] - '0');
    char c = p[digits];
    if (!target_of(n) || (c && p[digits + 1]) || (c && !(c == 'a' && n >= 90) && !(c == 'f' && n >= 100)))
        return false;
    *sm = n, *suffix = c;
    return true;
}

const char *sett__target_list(char *buf, size_t size)
{
    size_t at = 0;
    buf[0] = 0;
    for (size_t i = 0; i < SETT__COUNT(targets) && at < size; i++) {
        const struct target *t = &targets[i];
        if (t->plain)
            at += (size_t)snprintf(buf + at, size - at, "%ssm_%d%s", at ? ", " : "", t->sm, t->f ? "[a|f]" : t->a ? "[a]" : "");
    }
    return buf;
}

int sett__target_isa(const char *target, int min_ptx)
{
    int sm;
    char suffix;
    if (!sett__target_parse(target, &sm, &suffix))
        return 0;
    const struct target *t = target_of(sm);
    int isa = suffix == 'a' ? t->a : suffix == 'f' ? t->f : t->plain;
    return isa && min_ptx > isa ? min_ptx : isa;
}

int sett__tape_isa(const sett__tape *t, const char *target)
{
    int sm = 0;
    char suffix;
    bool more = sett__target_parse(target, &sm, &suffix) && sm >= 90 && t->min_ptx_90 > t->min_ptx;
    return sett__target_isa(target, more ? t->min_ptx_90 : t->min_ptx);
}

/* ---- what a tape needs ---- */
/* The sum is too large: what it is of, as far as there is room to say it. */
static sett_status too_much_smem(const sett__tape *t, const char *who, uint32_t most, sett_error *err)
{
    char parts[340] = "";
    size_t at = 0;
    uint32_t more = 0;
    for (uint32_t i = 0; i < t->n_op; i++) {
        const sett__op *op = &t->op[i];
        char where[130];
        if (op->code != SETT__SMEM)
            continue;
        sett__op_where(t, i, where, sizeof where);
        if (at + strlen(where) + 32 > sizeof parts)
            more++;
        else
            at += (size_t)snprintf(parts + at, sizeof parts - at, "%s %llu at %s", at ? "," : ":",
                (unsigned long long)sett__bytes_of(op->dtype, op->n), where);
    }
    if (more)
        snprintf(parts + at, sizeof parts - at, ", %u more", more);
    return sett__error(err, SETT_E_LIMIT, "%u bytes of shared memory, and %s gives a block at most %u%s", t->sig.smem, who, most, parts);
}

sett_status sett__target_cpu_gives(const sett__tape *t, sett_error *err)
{
    uint32_t most = sett__target_smem_most();
    return t->sig.smem > most ? too_much_smem(t, "no GPU, which the CPU engine stands for,", most, err) : SETT_OK;
}

sett_status sett__target_read(const char *target, int *sm, sett_error *err)
{
    char suffix;
    return sett__target_parse(target, sm, &suffix) ? SETT_OK : sett__error(err, SETT_E_TARGET, "%s is not a target that sett knows, such as sm_90a", target);
}

sett_status sett__target_gives(const sett__tape *t, const char *target, int sm, sett_error *err)
{
    const sett__sig *s = &t->sig;
    int64_t extent;
    for (int d = 0; d < 3; d++)
        if (s->cluster[d].count && sm < 90 && !(sett__expr_const(s, s->cluster[d], &extent) && extent == 1))
            return sett__error(err, SETT_E_TARGET, "clusters need sm_90, the target is sm_%d", sm);
    return s->smem > sett__target_smem(sm) ? too_much_smem(t, target, sett__target_smem(sm), err) : SETT_OK;
}
