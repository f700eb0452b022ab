/* SPDX-License-Identifier: Apache-2.0 */
/* What a printf format prints of operands that are given as bits, and the report of an assertion that failed. */
#include "ops.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A kernel that was given no name is called "kernel", which tells nobody anything. */
const char *sett__kernel_words(const char **name)
{
    if (strcmp(*name, "kernel"))
        return ", kernel ";
    return *name = "";
}

typedef struct conversion {
    char spec[24]; /* "%-8" and so on, without length and letter */
    char letter;
    const char *end; /* behind it */
} conversion;

/* The conversion that starts at a '%'; false: not one that can be printed. */
static bool parse(const char *s, conversion *c)
{
    const char *p = s + 1;
    p += strspn(p, "-+ #0");
    p += strspn(p, "0123456789");
    if (*p == '.')
        p += 1 + strspn(p + 1, "0123456789");
    size_t n = (size_t)(p - s);
    if (n >= sizeof c->spec - 4)
        return false;
    memcpy(c->spec, s, n);
    c->spec[n] = 0;
    p += strspn(p, "hljztL");
    c->letter = *p;
    c->end = p + 1;
    return *p && strchr("%diuxXocfFeEgGaA", *p);
}

sett_status sett__print_check(const sett__tape *t, const sett__op *o, sett_error *e)
{
    if (o->imm < 0 || o->imm >= t->n_string)
        return sett__error(e, SETT_E_VERIFY, "printf: no such format");
    const char *format = t->string[o->imm];
    conversion c;
    int n = o->code == SETT__ASSERT; /* its condition */
    for (const char *s = strchr(format, '%'); s; s = strchr(c.end, '%')) {
        if (!parse(s, &c))
            return sett__error(e, SETT_E_VERIFY, "printf: not a conversion that kernels have: \"%.40s\"", s);
        n += c.letter != '%';
    }
    return n == o->n_args ? SETT_OK
                          : sett__error(e, SETT_E_VERIFY, "printf: %d conversions for %d operands: \"%.60s\"", n,
                                o->n_args, format);
}

static void put_operand(sett__sink *t, conversion *c, uint8_t dtype, uint64_t bits)
{
    char buf[512];
    size_t n = strlen(c->spec);
    bool number = strchr("fFeEgGaA", c->letter), is_float = sett__dtype_is_float(dtype);
    int64_t i = is_float ? (int64_t)sett__integer_of_float(dtype, SETT_I64, bits) : sett__int_of_bits(dtype, bits);
    int len;
    if (number) {
        double f = is_float                         ? sett__float_of_bits(dtype, bits)
                   : sett__dtype_kind(dtype) == 'u' ? (double)(uint64_t)i
                                                    : (double)i;
        snprintf(c->spec + n, 4, "%c", c->letter);
        len = snprintf(buf, sizeof buf, c->spec, f);
    } else if (c->letter == 'c') {
        snprintf(c->spec + n, 4, "c");
        len = snprintf(buf, sizeof buf, c->spec, (int)(unsigned char)i);
    } else {
        if (!strchr("di", c->letter) && sett__dtype_bytes(dtype) <= 4)
            i &= UINT32_MAX; /* as C prints an int */
        snprintf(c->spec + n, 4, "j%c", c->letter);
        len = snprintf(buf, sizeof buf, c->spec, (intmax_t)i);
    }
    if (len > 0)
        sett__put_n(t, buf, (size_t)len < sizeof buf ? (size_t)len : sizeof buf - 1);
}

/* Text and operands of the types given; what has no operand is left out. */
void sett__put_format(sett__sink *t, const char *s, const char *types, const uint64_t *operand)
{
    for (const char *at = strchr(s, '%'); at; at = strchr(s, '%')) {
        conversion conv;
        sett__put_n(t, s, (size_t)(at - s));
        if (!parse(at, &conv))
            return;
        s = conv.end;
        if (conv.letter == '%')
            sett__put_n(t, "%", 1);
        else if (*types)
            put_operand(t, &conv, (uint8_t)*types++, *operand++);
    }
    sett__put_n(t, s, strlen(s));
}

/* ---- where ------------------------------------------------------------------------------------- */
/* A long file loses its end, never its line. */
static void put_where(char *buf, size_t size, const char *file, uint32_t line, uint32_t op)
{
    enum { LINE = 12 };
    if (file)
        snprintf(buf, size, "%.*s:%u", (int)size - LINE, file, line);
    else
        snprintf(buf, size, "%s %u", line ? "line" : "op", line ? line : op);
}

const sett__site_ref *sett__op_site(const sett__tape *t, uint32_t op)
{
    const uint32_t at = op < t->n_op ? t->op[op].site : SETT__NONE;
    return at < t->n_site && t->site[at].file < t->n_string ? &t->site[at] : NULL;
}

const char *sett__op_where(const sett__tape *t, uint32_t op, char *buf, size_t size)
{
    const sett__site_ref *s = sett__op_site(t, op);
    put_where(buf, size, s ? t->string[s->file] : NULL, s ? s->line : t->line && op < t->n_op ? t->line[op] : 0, op);
    return buf;
}

/* Who launches a kernel has no text of a tape at hand: a line that is of no file is told to be the tape's. */
static const char *of_tape(const char *file)
{
    return file ? "" : " of the tape";
}

const char *sett__op_where_tape(const sett__tape *t, uint32_t op)
{
    const sett__site_ref *s = sett__op_site(t, op);
    return of_tape(s ? t->string[s->file] : NULL);
}

sett_status sett__claim_error(sett_error *e, const sett__claim *k, const uint64_t *operand, const uint32_t block[3],
    const uint32_t thread[3], const char *kernel)
{
    sett__sink t = {.grow = true};
    char where[160], who[200];
    sett__put_format(&t, k->text, k->types, operand);
    put_where(where, sizeof where, k->file, k->line, k->op);
    const char *words = sett__kernel_words(&kernel);
    int rest = snprintf(who, sizeof who, ", block (%u,%u,%u) thread (%u,%u,%u)%s%.100s", block[0], block[1], block[2],
        thread[0], thread[1], thread[2], words, kernel);
    const char *said = t.failed || !t.buf ? k->text : t.buf, *of = of_tape(k->file), before[] = ": assertion failed: ";
    int room = (int)(sizeof e->text - sizeof before - strlen(where) - strlen(of)) - rest;
    bool cut = strlen(said) > (size_t)room;
    sett_status s = sett__error(e, SETT_E_FAULT, "%s%s%s%.*s%s%s", where, of, before, cut ? room - 3 : room, said, cut ? "..." : "", who);
    sett__mem_free(t.mem, t.buf);
    return s;
}
