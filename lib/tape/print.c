/* SPDX-License-Identifier: Apache-2.0 */
/* The tape as text: printing. parse.c reads it back.
 *
 *     sett tape 2
 *     sym N div 8
 *     param A f32 (N):(1) align 16 read
 *     grid (N+255)/256
 *     block 256
 *
 *     %0 = tid.x i32
 *     %1 = param f32 A
 *     %2 = load f32x4 %1[%0 + 4] align 16
 *
 * A result is written with its type (x and its count of elements); a value is called by the
 * number of its op. Attributes stand at the end, in the order of attrs.def. `;` begins a comment. */
#include "ops.h"
#include <string.h>

static void print_value(sett__sink *out, uint32_t id)
{
    sett__put(out, id == SETT__NONE ? "-" : "%");
    if (id != SETT__NONE)
        sett__put_int(out, id);
}

static void print_type(sett__sink *out, int dtype, uint32_t n)
{
    sett__put(out, sett_dtype_name((sett_dtype)dtype));
    if (n != 1) {
        sett__put(out, "x");
        sett__put_int(out, n);
    }
}

/* Operand k, or NONE where the op has fewer: printing must not trust a tape. */
static uint32_t operand(const sett__tape *t, const sett__op *op, uint32_t k)
{
    if (k >= op->n_args || op->args > t->n_arg || k >= t->n_arg - op->args)
        return SETT__NONE;
    return t->arg[op->args + k];
}

static void print_operands(sett__sink *out, const sett__tape *t, const sett__op *op, uint32_t from)
{
    for (uint32_t k = from; k < op->n_args; k++) {
        sett__put(out, k == from ? " " : ", ");
        print_value(out, operand(t, op, k));
    }
}

/* ---- constants --------------------------------------------------------------------- */
/* Numbers that decimal shows exactly in few digits; others are shown by their bits. */
static bool is_plain(double x)
{
    double a = x < 0 ? -x : x;
    if (a < 1e-3) /* by its bits: a caller may have subnormals compare as zero */
        return sett__bits_of_float(SETT_F64, x) << 1 == 0;
    if (!(a < 1e14))
        return false;
    if (a < 1e5)
        a *= 1024;
    return a == (double)(int64_t)a;
}

static void print_plain(sett__sink *out, double x, bool negative)
{
    double a = x < 0 ? -x : x;
    int64_t whole = (int64_t)a;
    unsigned rest = (unsigned)((a - (double)whole) * 1024);
    sett__put(out, negative ? "-" : "");
    sett__put_int(out, whole);
    sett__put(out, ".");
    do {
        rest *= 10;
        sett__put_n(out, &"0123456789"[rest >> 10], 1);
        rest &= 1023;
    } while (rest);
}

static void print_const(sett__sink *out, sett_dtype d, int64_t imm)
{
    uint64_t bits = (uint64_t)imm;
    int width = sett_dtype_bits(d);
    bool fits = width == 64 || (width > 0 && width < 64 && !(bits >> width));
    double x = fits ? sett__float_of_bits(d, bits) : 0;
    if (fits && d == SETT_BOOL)
        sett__put(out, bits ? "true" : "false");
    else if (fits && sett__dtype_kind(d) == 'i')
        sett__put_int(out, sett__int_of_bits(d, bits));
    else if (fits && sett__dtype_kind(d) == 'u')
        sett__putf(out, "%llu", (unsigned long long)bits);
    else if (fits && sett__dtype_is_float(d) && is_plain(x))
        print_plain(out, x, bits >> (width - 1) != 0);
    else
        sett__putf(out, "0x%0*llx", width / 4, (unsigned long long)bits);
}

/* What a constant shown by its bits is, roughly. */
static void print_comment(sett__sink *out, const sett__op *op)
{
    char buf[40];
    if (op->code != SETT__CONST || !sett__dtype_is_float((sett_dtype)op->dtype))
        return;
    double x = sett__float_of_bits((sett_dtype)op->dtype, (uint64_t)op->imm);
    if (is_plain(x))
        return;
    int n = snprintf(buf, sizeof buf, "%.9g", x);
    sett__put(out, " ; ");
    for (int i = 0; i < n && i < (int)sizeof buf - 1; i++) /* a locale's decimal point may be anything */
        if (strchr("+-0123456789einfa", buf[i]))
            sett__put_n(out, buf + i, 1);
        else if (i && strchr("0123456789", buf[i - 1]))
            sett__put(out, ".");
}

/* ---- ops ---------------------------------------------------------------------------- */
#define SREG_TEXT(name, text, bits) text,
#define SREG_WIDE(name, text, bits) bits == 64,
sett_dtype sett__sreg_type(int sub)
{
    static const bool wide[] = {SETT__SREGS(SREG_WIDE)};
    return wide[sub] ? SETT_U64 : SETT_U32;
}

const char *sett__sub_word(sett__code code, int sub)
{
    static const char *const dims[] = {"x", "y", "z", NULL}, *const lanes[] = {"idx", "up", "down", "bfly", NULL},
                             *const votes[] = {"all", "any", "uni", "ballot", NULL},
                             *const sregs[] = {SETT__SREGS(SREG_TEXT) NULL};
    const char *const *words = code == SETT__LANE ? NULL
                               : code == SETT__SHFL                        ? lanes
                               : code == SETT__VOTE || code == SETT__MATCH ? votes
                               : code == SETT__SPECIAL                     ? sregs
                               : sett__ops[code].cls == SETT__C_SREG       ? dims
                                                                           : NULL;
    for (int i = 0; words && words[i]; i++)
        if (i == sub)
            return words[i];
    return NULL;
}

static const char *sub_name(const sett__op *op)
{
    sett__code code = (sett__code)op->code;
    if (code == SETT__REDUCE || code == SETT__ATOM || code == SETT__REDUX)
        return op->sub == SETT__CAS ? "cas" : op->sub == SETT__XCHG ? "xchg" : op->sub < SETT__N_CODES ? sett__ops[op->sub].text : "?";
    const char *word = sett__sub_word(code, op->sub);
    return word || !sett__sub_word(code, 0) ? word : "?";
}

static void print_name(sett__sink *out, const sett__tape *t, const sett__op *op)
{
    const sett__sig *s = &t->sig;
    bool sym = op->code == SETT__SYM, map = op->code == SETT__TMAP;
    sett__put(out, " ");
    if (op->imm < 0 || op->imm >= (sym ? s->n_sym : map ? s->n_map : s->n_param))
        sett__putf(out, "?%lld", (long long)op->imm);
    else
        sett__put_name(out, sym ? s->sym[op->imm].name : map ? s->map[op->imm].name : s->param[op->imm].name);
}

static void print_string(sett__sink *out, const sett__tape *t, int64_t string)
{
    if (string >= 0 && string < t->n_string)
        sett__put_quoted(out, t->string[string]);
    else
        sett__put(out, "?");
}

/* [0..3,7,7]: a run of at least three is written by its ends. */
static void print_pick(sett__sink *out, const sett__tape *t, const sett__op *op)
{
    sett__put(out, " [");
    if (op->imm < 0 || op->n > t->n_index || op->imm > t->n_index - op->n) {
        sett__put(out, "?]");
        return;
    }
    const uint32_t *index = op->n ? t->index + op->imm : NULL;
    for (uint32_t i = 0, end; i < op->n; i = end) {
        for (end = i + 1; end < op->n && index[end] == index[end - 1] + 1; end++)
            ;
        if (end - i < 3)
            end = i + 1;
        sett__put(out, i ? "," : "");
        sett__put_int(out, index[i]);
        if (end > i + 1) {
            sett__put(out, "..");
            sett__put_int(out, index[end - 1]);
        }
    }
    sett__put(out, "]");
}

/* Operands k and k + 1: %root[%base + imm]. */
static void print_place(sett__sink *out, const sett__tape *t, const sett__op *op, uint32_t k, int64_t imm)
{
    uint32_t base = operand(t, op, k + 1);
    sett__put(out, " ");
    print_value(out, operand(t, op, k));
    sett__put(out, "[");
    if (base == SETT__NONE) {
        sett__put_int(out, imm);
    } else {
        print_value(out, base);
        if (imm) {
            sett__put(out, imm < 0 ? " - " : " + ");
            char buf[24]; /* the magnitude, which an int64 may not hold */
            snprintf(buf, sizeof buf, "%llu", (unsigned long long)(imm < 0 ? 0 - (uint64_t)imm : (uint64_t)imm));
            sett__put(out, buf);
        }
    }
    sett__put(out, "]");
}

static void print_option(sett__sink *out, const char *word, uint32_t value)
{
    if (value == SETT__NONE)
        return;
    sett__put(out, word);
    print_value(out, value);
}

static void print_stored(sett__sink *out, const sett__tape *t, uint32_t value, bool type)
{
    sett__put(out, " ");
    if (type && value < t->n_op) {
        print_type(out, t->op[value].dtype, t->op[value].n);
        sett__put(out, " ");
    }
    print_value(out, value);
}

static void print_access(sett__sink *out, const sett__tape *t, const sett__op *op)
{
    bool load = op->code == SETT__LOAD, atom = op->code == SETT__ATOM;
    print_place(out, t, op, 0, op->imm);
    if (!load) {
        print_stored(out, t, operand(t, op, 3), !atom);
    }
    if (!atom)
        sett__putf(out, " align %llu", op->sub < 64 ? 1ull << op->sub : 0ull);
    else
        print_option(out, " was ", operand(t, op, 4));
    print_option(out, " pred ", operand(t, op, 2));
    if (load)
        print_option(out, " fill ", operand(t, op, 3));
}

/* cp.async %2[%5 + 8] %1[%4] pred %7 bytes=16 of=4 cg */
static void print_cp_async(sett__sink *out, const sett__tape *t, const sett__op *op)
{
    print_place(out, t, op, 0, sett__words_there(t, op) ? sett__attr(t->arg, op, SETT__AT_CPASYNC_TO) : 0);
    print_place(out, t, op, 3, op->imm);
    print_option(out, " pred ", operand(t, op, 2));
    print_option(out, " keep ", operand(t, op, 5));
}

static void print_item(sett__sink *out, const sett__tape *t, const sett__op *op, const sett__form *f, uint32_t k)
{
    bool named = *f->name && k == f->k;
    sett__put(out, named ? " " : f->comma || k > f->k ? "," : "");
    sett__put(out, named ? f->name : "");
    if (f->kinds & SETT__F_PLACE)
        print_place(out, t, op, k, !f->place || sett__words_there(t, op) ? sett__form_offset(t->arg, op, f->place) : 0);
    else
        print_stored(out, t, operand(t, op, k), (f->kinds & SETT__F_TYPED) != 0);
}

static void print_form(sett__sink *out, const sett__tape *t, const sett__op *op)
{
    for (sett__form f = sett__form_of(op->code); sett__form_next(&f);)
        for (uint32_t k = f.k; k < (f.repeated ? op->n_args : f.k + f.words); k += f.words)
            if (!f.optional || operand(t, op, k) != SETT__NONE)
                print_item(out, t, op, &f, k);
}

/* An assertion's condition stands before its text. */
static void print_talk(sett__sink *out, const sett__tape *t, const sett__op *op)
{
    uint32_t first = op->code == SETT__ASSERT && op->n_args;
    if (first) {
        sett__put(out, " ");
        print_value(out, operand(t, op, 0));
        sett__put(out, ",");
    }
    sett__put(out, " ");
    print_string(out, t, op->imm);
    if (op->n_args > first) {
        sett__put(out, ",");
        print_operands(out, t, op, first);
    }
}

static void print_attrs(sett__sink *out, const sett__tape *t, const sett__op *op)
{
    const sett__attr_info *a = SETT__ATTR_ROW(op->code, 0);
    for (uint32_t k = 0; sett__words_there(t, op) && k < op->n_attrs && a->text; k++, a++) {
        int32_t x = (int32_t)t->arg[op->args + op->n_args + k];
        if (x == a->usual || !*a->text)
            continue;
        sett__putf(out, " %s", a->text);
        if (a->kind == SETT__A_WORD && x >= a->least && x <= a->most)
            sett__putf(out, "=%s", a->word[x]);
        else if (a->kind != SETT__A_FLAG || x != 1)
            sett__putf(out, "=%d", x);
    }
}

/* What follows the op's name and type. */
static void print_rest(sett__sink *out, const sett__tape *t, const sett__op *op)
{
    switch (sett__ops[op->code].cls) {
    case SETT__C_CONST:
        sett__put(out, " ");
        print_const(out, (sett_dtype)op->dtype, op->imm);
        break;
    case SETT__C_SYM:
    case SETT__C_SCALAR: print_name(out, t, op); break;
    case SETT__C_ROOT:
        if (op->code == SETT__PARAM || op->code == SETT__TMAP)
            print_name(out, t, op);
        else if (op->code == SETT__SMEM)
            sett__putf(out, " at %lld", (long long)op->imm);
        else
            print_operands(out, t, op, 0);
        break;
    case SETT__C_LOAD:
    case SETT__C_STORE:
    case SETT__C_ATOM: print_access(out, t, op); break;
    case SETT__C_FORM: print_form(out, t, op); break;
    case SETT__C_CPASYNC: print_cp_async(out, t, op); break;
    case SETT__C_LOOP:
    case SETT__C_IF:
        print_operands(out, t, op, 0);
        sett__put(out, " {");
        break;
    case SETT__C_PRINTF:
    case SETT__C_INLINE: print_talk(out, t, op); break;
    default:
        print_operands(out, t, op, 0);
        if (op->code == SETT__PICK)
            print_pick(out, t, op);
    }
}

static void print_for(sett__sink *out, const sett__tape *t, uint32_t i)
{
    static const char *const before[] = {" = ", " to ", " step "};
    sett__put(out, "for ");
    print_value(out, i);
    for (uint32_t k = 0; k < 3; k++) {
        sett__put(out, before[k]);
        print_value(out, operand(t, &t->op[i], k));
    }
    sett__put(out, " {");
}

static void print_op(sett__sink *out, const sett__tape *t, uint32_t i)
{
    const sett__op *op = &t->op[i];
    if (op->code >= SETT__N_CODES) {
        sett__putf(out, "?%u", op->code);
        return;
    }
    switch (op->code) {
    case SETT__END: sett__put(out, "}"); return;
    case SETT__ELSE: sett__put(out, "} else {"); return;
    case SETT__FOR: print_for(out, t, i); return;
    default: break;
    }
    const char *sub = sub_name(op);
    if (op->dtype) {
        print_value(out, i);
        sett__put(out, " = ");
    }
    sett__put(out, sett__ops[op->code].text);
    if (sub) {
        sett__put(out, ".");
        sett__put(out, sub);
    }
    if (op->dtype) {
        sett__put(out, " ");
        print_type(out, op->dtype, op->code == SETT__PARAM || op->code == SETT__TMAP ? 1 : op->n);
    }
    print_rest(out, t, op);
    print_attrs(out, t, op);
}

int sett__op_str(const sett__tape *t, uint32_t i, char *buf, size_t size)
{
    sett__sink out = {.buf = buf, .cap = size};
    if (size)
        buf[0] = 0;
    print_op(&out, t, i);
    return (int)out.len;
}

/* ---- the signature --------------------------------------------------------------------- */
static void print_param(sett__sink *out, const sett__sig *s, const sett__param *p)
{
    sett__put(out, p->scalar == SETT__BY_STRUCT ? "struct " : p->scalar ? "scalar " : "param ");
    sett__put_name(out, p->name);
    sett__put(out, " ");
    if (p->scalar == SETT__BY_STRUCT) {
        sett__putf(out, "%u align %u\n", p->bytes, p->align);
        return;
    }
    print_type(out, p->dtype, 1);
    if (!p->scalar) {
        sett__put(out, " ");
        sett__put_modes(out, s, p, false, false);
        sett__put(out, ":");
        sett__put_modes(out, s, p, true, false);
        sett__putf(out, " align %u", p->align);
#define PARAM_OPTION(name, bit, first, second) \
    sett__put(out, p->name & 1 ? " " first : ""); \
    sett__put(out, p->name & 2 ? " " second : "");
#include "sig.def"
    }
    sett__put(out, "\n");
}

static void print_dims(sett__sink *out, const sett__sig *s, const char *word, const sett__expr *dim)
{
    int n = dim[2].count ? 3 : dim[1].count ? 2 : dim[0].count ? 1 : 0;
    for (int d = 0; d < n; d++) {
        sett__put(out, d ? ", " : word);
        sett__put_expr(out, s, dim[d]);
    }
    sett__put(out, n ? "\n" : "");
}

static void print_place_word(sett__sink *out, const char *s)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./+-";
    if (*s && strspn(s, plain) == strlen(s))
        sett__put(out, s);
    else
        sett__put_quoted(out, s);
}

static void print_check(sett__sink *out, const sett__sig *s, const sett__check *k, bool places)
{
    sett__put(out, "check ");
    sett__put_expr(out, s, k->expr);
    sett__put(out, " ");
    sett__put_quoted(out, k->text);
    if (places && k->file) {
        sett__put(out, " @ ");
        print_place_word(out, k->file);
        sett__putf(out, ":%u", k->line);
    }
    sett__put(out, "\n");
}

static void print_sym(sett__sink *out, const sett__sig *s, const sett__symbol *sym)
{
    sett__put(out, "sym ");
    sett__put_name(out, sym->name);
    if (sym->div != 1)
        sett__putf(out, " div %lld", (long long)sym->div);
    sett__put(out, sym->wide ? " wide" : "");
    if (sym->value.count) {
        sett__put(out, " = ");
        sett__put_expr(out, s, sym->value);
    }
    sett__put(out, "\n");
}

/* launch cooperative big_cluster max_registers 168 min_blocks 1 */
static void print_hints(sett__sink *out, const sett__sig *s)
{
    if (!(s->cooperative | s->big_cluster | s->max_registers | s->min_blocks))
        return;
    sett__put(out, s->cooperative ? "launch cooperative" : "launch");
    sett__put(out, s->big_cluster ? " big_cluster" : "");
    if (s->max_registers)
        sett__putf(out, " max_registers %u", s->max_registers);
    if (s->min_blocks)
        sett__putf(out, " min_blocks %u", s->min_blocks);
    sett__put(out, "\n");
}

static void print_map_option(sett__sink *out, const char *word, uint32_t first, uint32_t x)
{
    if (x && first)
        sett__putf(out, " %s %u", word, first << (x - 1));
    else if (x)
        sett__putf(out, " %s", word);
}

static void print_numbers(sett__sink *out, const char *word, int n, const uint32_t *x, uint32_t usual)
{
    bool other = !usual;
    for (int k = 0; k < n; k++)
        other = other || x[k] != usual;
    if (!other)
        return;
    sett__putf(out, " %s (", word);
    for (int k = 0; k < n; k++)
        sett__putf(out, k ? ",%u" : "%u", x[k]);
    sett__put(out, ")");
}

static void print_exprs(sett__sink *out, const sett__sig *s, const char *word, int from, int n, const sett__expr *e)
{
    if (from >= n)
        return;
    sett__putf(out, *word ? " %s (" : "%s (", word);
    for (int k = from; k < n; k++) {
        sett__put(out, k > from ? "," : "");
        sett__put_expr(out, s, e[k]);
    }
    sett__put(out, ")");
}

static void print_map(sett__sink *out, const sett__sig *s, const sett__map *m)
{
    uint32_t x[SETT__MAP_RANK];
    sett__put(out, "map ");
    sett__put_name(out, m->name);
    sett__put(out, " ");
    sett__put_name(out, s->param[m->param].name);
    sett__put(out, " ");
    print_type(out, m->dtype, 1);
#define MAP_MODE_EXPR(name, word, from) print_exprs(out, s, word, from, m->rank, m->name);
#include "map.def"
#define MAP_MODE(type, name, least, most_of_0, most, usual) \
    for (int k = 0; k < m->rank; k++) \
        x[k] = m->name[k]; \
    print_numbers(out, #name, m->rank, x, usual);
#include "map.def"
#define MAP_OPTION(name, word, bit, most, first) print_map_option(out, word, first, m->name);
#include "map.def"
    sett__put(out, "\n");
}

static void print_sig(sett__sink *out, const sett__sig *s, bool places)
{
    for (uint32_t i = 0; i < s->n_sym - s->n_derived; i++)
        print_sym(out, s, &s->sym[i]);
    for (uint32_t i = 0; i < s->n_param; i++)
        print_param(out, s, &s->param[i]);
    for (uint32_t i = s->n_sym - s->n_derived; i < s->n_sym; i++) /* may name scalars */
        print_sym(out, s, &s->sym[i]);
    for (uint32_t i = 0; i < s->n_map; i++)
        print_map(out, s, &s->map[i]);
    print_dims(out, s, "grid ", s->grid);
    print_dims(out, s, "block ", s->block);
    print_dims(out, s, "cluster ", s->cluster);
    if (s->smem || s->smem_align) {
        sett__putf(out, "smem %u align %u", s->smem, s->smem_align);
        if (s->smem_more.count) {
            sett__put(out, " more ");
            sett__put_expr(out, s, s->smem_more);
        }
        sett__put(out, "\n");
    }
    print_hints(out, s);
    for (uint32_t i = 0; i < s->n_check; i++)
        print_check(out, s, &s->check[i], places);
}

static void print_site(sett__sink *out, const sett__tape *t, const sett__op *op)
{
    const sett__site_ref *s = op->site < t->n_site ? &t->site[op->site] : NULL;
    if (!s || s->file >= t->n_string || s->func >= t->n_string)
        return;
    sett__put(out, " @ ");
    print_place_word(out, t->string[s->file]);
    sett__putf(out, ":%u ", s->line);
    print_place_word(out, t->string[s->func]);
}

sett_status sett__tape_print(const sett__tape *t, bool sites, const sett__allocator *mem, char **text, sett_error *err)
{
    sett__sink out = {.mem = mem, .grow = true};
    *text = NULL;
    sett_status status = sett__sig_verify(&t->sig, err);
    if (status)
        return status;
    sett__putf(&out, "sett tape %d\n", SETT__TAPE_VERSION);
    print_sig(&out, &t->sig, sites);
    sett__put(&out, "\n");
    for (uint32_t i = 0; i < t->n_op; i++) {
        for (int d = t->op[i].depth; d > 0; d--)
            sett__put(&out, "    ");
        print_op(&out, t, i);
        if (sites)
            print_site(&out, t, &t->op[i]);
        print_comment(&out, &t->op[i]);
        sett__put(&out, "\n");
    }
    if (out.failed) {
        sett__mem_free(mem, out.buf);
        return sett__error(err, SETT_E_MEMORY, "out of memory while printing a tape");
    }
    *text = out.buf;
    return SETT_OK;
}
