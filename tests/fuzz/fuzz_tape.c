/* SPDX-License-Identifier: Apache-2.0 */
/* Tapes, as bytes and as text, and a mutator that changes one field of a tape so that it still verifies: see fuzz.h. */
#include "lib/print/print.h"
#include "tests/fuzz/fuzz.h"
#include <stdlib.h>
#include <string.h>

/* ---- any tape that verifies is its bytes, and its text -------------------------------------------- */
typedef struct bytes {
    void *p;
    size_t len;
} bytes;

static bytes written(const sett__tape *t, bool sites)
{
    bytes b = {0};
    sett_error e;
    if (sett__tape_write(t, sites, NULL, &b.p, &b.len, &e))
        fuzz_broken("a tape that verifies cannot be written", e.text);
    return b;
}

static void same_bytes(const char *promise, bytes a, bytes b, const char *text)
{
    if (a.len != b.len || memcmp(a.p, b.p, a.len))
        fuzz_broken(promise, text);
    free(a.p);
    free(b.p);
}

/* Print, then parse, then write: the bytes are those of the tape itself. */
static void prints_back(const sett__tape *t, bool sites)
{
    char *text;
    sett_error e;
    sett__tape again;
    if (sett__tape_print(t, sites, NULL, &text, &e))
        fuzz_broken("a tape that verifies cannot be printed", e.text);
    if (sett__tape_parse(&again, text, &e))
        fuzz_broken(e.text, text);
    same_bytes("its text is read as another tape", written(t, sites), written(&again, sites), text);
    sett__tape_free(&again);
    free(text);
}

static void reads_back(const sett__tape *t)
{
    sett_error e;
    sett__tape again;
    bytes a = written(t, true);
    if (sett__tape_read(&again, a.p, a.len, &e))
        fuzz_broken("a tape that verifies cannot be read of its bytes", e.text);
    same_bytes("its bytes are read as another tape", a, written(&again, true), "");
    sett__tape_free(&again);
}

static void hold_laws(const sett__tape *t)
{
    prints_back(t, true);
    prints_back(t, false);
    reads_back(t);
}

void fuzz_tape_bytes(const uint8_t *data, size_t len)
{
    sett__tape t;
    sett_error e;
    if (!sett__tape_read(&t, data, len, &e)) {
        sett__tape_verify(&t, "sm_90a", &e);
        hold_laws(&t);
    }
    sett__tape_free(&t);
}

void fuzz_tape_text(const uint8_t *data, size_t len)
{
    sett__tape t;
    sett_error e;
    char *text = malloc(len + 1);
    if (!text)
        abort();
    memcpy(text, data, len);
    text[len] = 0;
    if (!sett__tape_parse(&t, text, &e))
        hold_laws(&t);
    sett__tape_free(&t);
    free(text);
}

/* ---- a field is changed ------------------------------------------------------------------------------- */
typedef struct mutator {
    sett__tape *t;
    uint64_t state;
} mutator;

static uint64_t draw(mutator *m, uint64_t below) /* 0: any */
{
    m->state ^= m->state << 13, m->state ^= m->state >> 7, m->state ^= m->state << 17;
    uint64_t x = m->state * UINT64_C(0x2545f4914f6cdd1d);
    return below ? (x >> 16) % below : x;
}

/* Near the old number, or near a power of two, where limits are. */
static int64_t number(mutator *m, int64_t old)
{
    uint64_t power = UINT64_C(1) << draw(m, 64), near = draw(m, 5) - 2;
    switch (draw(m, 6)) {
    case 0: return (int64_t)((uint64_t)old + near);
    case 1: return (int64_t)((uint64_t)old ^ power);
    case 2: return (int64_t)(power + near);
    case 3: return (int64_t)(0 - power + near);
    case 4: return (int64_t)draw(m, 70);
    default: return (int64_t)(draw(m, 0) >> draw(m, 64));
    }
}

static void of_shape(mutator *m, sett__op *op)
{
    sett__tape *t = m->t;
    uint32_t old = op->n, n = (uint32_t)number(m, old);
    uint8_t was = op->dtype, dtype = (uint8_t)draw(m, 40);
    switch (draw(m, 4)) {
    case 0: op->n = n; break;
    case 1: op->dtype = dtype; break;
    case 2: /* what it is computed with goes along */
        for (uint32_t k = 0; k < t->n_op; k++)
            t->op[k].n = t->op[k].n == old ? n : t->op[k].n;
        break;
    default:
        for (uint32_t k = 0; k < t->n_op; k++)
            t->op[k].dtype = t->op[k].dtype == was ? dtype : t->op[k].dtype;
        for (uint32_t k = 0; k < t->sig.n_param; k++)
            t->sig.param[k].dtype = t->sig.param[k].dtype == was ? dtype : t->sig.param[k].dtype;
    }
}

static uint32_t earlier(mutator *m, uint32_t i)
{
    return draw(m, 6) && i ? (uint32_t)draw(m, i) : SETT__NONE;
}

/* Rare classes as often as others. */
static uint32_t any_op(mutator *m)
{
    const sett__tape *t = m->t;
    uint64_t cls = draw(m, SETT__C_FORM + 1), start = draw(m, t->n_op);
    for (uint32_t k = 0; k < t->n_op; k++) {
        uint32_t i = (uint32_t)((start + k) % t->n_op);
        if (sett__ops[t->op[i].code].cls == cls)
            return i;
    }
    return (uint32_t)start;
}

static void of_op(mutator *m)
{
    sett__tape *t = m->t;
    uint32_t i = any_op(m);
    sett__op *op = &t->op[i];
    uint8_t code = (uint8_t)draw(m, SETT__N_CODES);
    switch (draw(m, 8)) {
    case 0: op->code = draw(m, 2) || sett__ops[code].cls == sett__ops[op->code].cls ? code : op->code; break;
    case 1: op->sub = (uint8_t)number(m, op->sub); break;
    case 2: op->n_attrs = (uint8_t)number(m, op->n_attrs); break;
    case 3: op->imm = number(m, op->imm); break;
    case 4:
        if (op->n_attrs && sett__words_there(t, op)) {
            uint32_t *word = &t->arg[op->args + op->n_args + draw(m, op->n_attrs)];
            *word = (uint32_t)number(m, (int32_t)*word);
        }
        break;
    case 5:
        if (op->n_args)
            t->arg[op->args + draw(m, op->n_args)] = earlier(m, i);
        break;
    case 6:
        if (op->code == SETT__PICK && op->n)
            t->index[(uint32_t)op->imm + draw(m, op->n)] = (uint32_t)number(m, t->index[op->imm]);
        break;
    default: of_shape(m, op);
    }
}

static void *copied(mutator *m, const void *from, size_t size, size_t more)
{
    char *p = sett__arena_alloc(&m->t->arena, size + more + 1);
    if (!p)
        abort();
    if (size)
        memcpy(p, from, size);
    return p;
}

/* One more op at the end, of the type of another, with any operands. */
static void one_more_op(mutator *m)
{
    enum { MOST = 6 };
    sett__tape *t = m->t;
    const sett__op *like = &t->op[any_op(m)];
    sett__op op = *like;
    if (draw(m, 2)) {
        op.code = (uint8_t)draw(m, SETT__N_CODES);
        op.n_args = (uint16_t)draw(m, MOST + 1);
        op.n_attrs = (uint8_t)draw(m, 3);
    }
    uint32_t n = op.n_args + (sett__words_there(t, &op) ? op.n_attrs : 0u);
    op.n_attrs = (uint8_t)(n - op.n_args);
    t->arg = copied(m, t->arg, t->n_arg * sizeof *t->arg, n * sizeof *t->arg);
    for (uint32_t k = 0; k < n; k++)
        t->arg[t->n_arg + k] = op.code == like->code && draw(m, 4) ? t->arg[like->args + k] : k < op.n_args ? earlier(m, t->n_op) : (uint32_t)draw(m, 4);
    op.args = t->n_arg;
    t->n_arg += n;
    t->op = copied(m, t->op, t->n_op * sizeof *t->op, sizeof *t->op);
    t->op[t->n_op++] = op;
}

/* Any text of the tape: a name, a format, a place, what a check says. */
static const char **any_text(mutator *m)
{
    sett__tape *t = m->t;
    sett__sig *s = &t->sig;
    uint32_t n = t->n_string + s->n_sym + s->n_param + 2 * s->n_check, k = n ? (uint32_t)draw(m, n) : 0;
    if (!n)
        return NULL;
    if (k < t->n_string)
        return &t->string[k];
    if ((k -= t->n_string) < s->n_sym)
        return &s->sym[k].name;
    if ((k -= s->n_sym) < s->n_param)
        return &s->param[k].name;
    k -= s->n_param;
    return k % 2 ? &s->check[k / 2].file : &s->check[k / 2].text;
}

static void of_text(mutator *m)
{
    static const char special[] = "\"\\\n\t\r ;%$@:#_,()xX0\x01\x7f\x80\xff";
    static const uint32_t lengths[] = {0, 1, 2, 100, 255, SETT__MAX_STRING / 4, SETT__MAX_STRING / 2, SETT__MAX_STRING - 1, SETT__MAX_STRING,
        SETT__MAX_STRING + 1};
    const char **text = any_text(m);
    if (!text || !*text)
        return;
    size_t n = strlen(*text), at = draw(m, n + 1), longer = draw(m, 64) ? 1 : lengths[draw(m, SETT__COUNT(lengths))];
    char c = draw(m, 4) ? special[draw(m, sizeof special - 1)] : (char)(1 + draw(m, 255));
    char *s = copied(m, *text, n + 1, longer);
    if (draw(m, 2) && at < n) {
        s[at] = c;
    } else {
        memmove(s + at + longer, s + at, n + 1 - at);
        memset(s + at, c, longer);
    }
    *text = s;
}

static sett__expr *any_expr(mutator *m)
{
    sett__sig *s = &m->t->sig;
    sett__expr *const dims[] = {s->grid, s->block, s->cluster};
    uint64_t kind = draw(m, 5);
    if (kind == 0 && s->n_leaf) {
        sett__leaf *l = &s->leaf[draw(m, s->n_leaf)];
        return draw(m, 2) ? &l->extent : &l->stride;
    }
    if (kind == 1 && s->n_check)
        return &s->check[draw(m, s->n_check)].expr;
    if (kind == 2 && s->n_sym)
        return &s->sym[draw(m, s->n_sym)].value;
    return kind == 3 ? &s->smem_more : &dims[draw(m, 3)][draw(m, 3)];
}

static void of_param(mutator *m, sett__param *p)
{
    sett__sig *s = &m->t->sig;
    switch (draw(m, 7)) {
    case 0: p->align = UINT32_C(1) << draw(m, 32); break;
    case 1: p->access = (uint8_t)draw(m, 5); break;
    case 2: p->wide ^= 1; break;
    case 3: p->restricted ^= 1; break;
    case 4: p->bytes = (uint32_t)number(m, p->bytes); break;
    case 5: p->rank = (uint8_t)number(m, p->rank); break;
    default:
        if (p->n_leaf)
            s->leaf[p->leaf + draw(m, p->n_leaf)].mode = (uint8_t)draw(m, 9);
    }
}

static void of_code(mutator *m)
{
    sett__sig *s = &m->t->sig;
    sett__xop *x = s->n_code ? &s->code[draw(m, s->n_code)] : NULL;
    sett__expr *e = any_expr(m);
    const sett__expr *from = any_expr(m);
    switch (x ? draw(m, 4) : 4) {
    case 0: x->imm = number(m, x->imm); break;
    case 1: x->code = (uint8_t)draw(m, SETT__N_XCODES); break;
    case 2: *e = *from; break;
    default: *e = (sett__expr){(uint32_t)draw(m, s->n_code + UINT64_C(1)), (uint32_t)draw(m, 6)};
    }
}

/* Any field, to a small number or to one near what it was; little endian. */
static void of_map(mutator *m, sett__map *x)
{
    unsigned n = 0;
    while (sett__map_members[n].name)
        n++;
    const sett__member *f = &sett__map_members[draw(m, n)];
    unsigned char *at = (unsigned char *)x + f->at + (f->size ? f->size : sizeof(sett__expr)) * draw(m, f->n);
    int64_t was = 0;
    if (!f->size) {
        const sett__expr *from = any_expr(m);
        memcpy(at, from, sizeof *from);
        return;
    }
    memcpy(&was, at, f->size);
    const int64_t now = draw(m, 2) ? (int64_t)draw(m, 10) : number(m, was);
    memcpy(at, &now, f->size);
}

static void of_sig(mutator *m)
{
    sett__sig *s = &m->t->sig;
    sett__symbol *sym = s->n_sym ? &s->sym[draw(m, s->n_sym)] : NULL;
    sett__check *k = s->n_check ? &s->check[draw(m, s->n_check)] : NULL;
    if (s->n_map && !draw(m, 4)) {
        of_map(m, &s->map[draw(m, s->n_map)]);
        return;
    }
    switch (draw(m, 7)) {
    case 0: s->smem = (uint32_t)number(m, s->smem); break;
    case 1: s->smem_align = draw(m, 4) ? UINT32_C(1) << draw(m, 32) : (uint32_t)number(m, s->smem_align); break;
    case 2:
        if (sym)
            sym->div = number(m, sym->div);
        break;
    case 3:
        if (sym)
            sym->wide = (uint8_t)draw(m, 3);
        break;
    case 4:
        if (k)
            k->line = (uint32_t)number(m, k->line);
        break;
    case 5:
        if (s->n_param)
            of_param(m, &s->param[draw(m, s->n_param)]);
        break;
    default: of_code(m);
    }
}

static void of_site(mutator *m)
{
    sett__tape *t = m->t;
    if (!t->n_site)
        return;
    sett__site_ref *s = &t->site[draw(m, t->n_site)];
    if (draw(m, 2))
        s->line = (uint32_t)number(m, s->line);
    else
        s->file = (uint32_t)draw(m, t->n_string);
    uint32_t site = (uint32_t)draw(m, t->n_site + UINT64_C(1));
    t->op[draw(m, t->n_op)].site = site < t->n_site ? site : SETT__NONE;
}

static void change(mutator *m)
{
    uint64_t what = m->t->n_op ? draw(m, 16) : 15;
    if (what < 8)
        of_op(m);
    else if (what < 10)
        one_more_op(m);
    else if (what < 12)
        of_text(m);
    else if (what < 13)
        of_site(m);
    else
        of_sig(m);
}

bool fuzz_tapes_run;
unsigned long fuzz_tapes_changed, fuzz_tapes_sound;
size_t fuzz_mutate_tape(uint8_t *data, size_t len, size_t most, uint64_t seed)
{
    enum { TRIES = 12 };
    mutator m = {.state = seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
    size_t n = 0;
    for (int i = 0; i < TRIES && !n; i++) {
        sett__tape t;
        sett_error e;
        if (sett__tape_read(&t, data, len, &e))
            return 0;
        m.t = &t;
        change(&m);
        fuzz_tapes_changed++;
        if (sett__tape_link(&t) && !sett__tape_verify(&t, NULL, &e)) {
            fuzz_tapes_sound++;
            if (!fuzz_tapes_run)
                hold_laws(&t);
            bytes b = written(&t, true);
            n = b.len <= most ? b.len : 0;
            memcpy(data, b.p, n);
            free(b.p);
        }
        sett__tape_free(&t);
    }
    return n;
}
