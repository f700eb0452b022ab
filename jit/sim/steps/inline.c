/* SPDX-License-Identifier: Apache-2.0 */
/* Inline PTX on the CPU: a C function of the program's does it, called by libffi for each lane that is there. */
#include "steps.h"
#include <stdlib.h>
#include <string.h>

static ffi_type *c_type(int dtype)
{
    ffi_type *const sign[] = {[1] = &ffi_type_sint8, [2] = &ffi_type_sint16, [4] = &ffi_type_sint32, [8] = &ffi_type_sint64};
    ffi_type *const plain[] = {[1] = &ffi_type_uint8, [2] = &ffi_type_uint16, [4] = &ffi_type_uint32, [8] = &ffi_type_uint64};
    int bytes = sett__dtype_bytes((sett_dtype)dtype);
    return dtype == SETT_F32                                ? &ffi_type_float
           : dtype == SETT_F64                              ? &ffi_type_double
           : sett__dtype_kind((sett_dtype)dtype) == 'i' ? sign[bytes]
                                                            : plain[bytes];
}

/* "u32,u32(f32,i1)" */
static void put_types(sett__sink *out, const sett__call *k)
{
    for (int r = 0; r < k->n_result; r++) {
        sett__put(out, r ? "," : "");
        sett__put(out, sett_dtype_name((sett_dtype)k->result[r]));
    }
    sett__put(out, k->n_result ? "(" : "void(");
    for (int a = 0; a < k->n_arg; a++) {
        sett__put(out, a ? "," : "");
        sett__put(out, sett_dtype_name((sett_dtype)k->arg[a]));
    }
    sett__put(out, ")");
}

/* The verifier has read the text before. */
bool sett__is_call(const sett__tape *t, const sett__op *o)
{
    char what[SETT__INLINE_WHAT];
    sett__inline x;
    return sett__ops[o->code].cls == SETT__C_INLINE && sett__inline_read(t->string[o->imm], o->n_args, &x, what) && !x.nothing;
}

uint32_t sett__call_of(const sett__program *p, uint32_t op)
{
    uint32_t i = 0;
    while (p->call[i].op != op)
        i++;
    return i;
}

static sett_status make_call(sett__program *p, uint32_t op, sett_error *err)
{
    const sett__tape *t = p->given;
    const sett__op *o = &t->op[op];
    char what[SETT__INLINE_WHAT];
    sett__inline x;
    sett__call *k = &p->call[p->n_call];
    if (!sett__inline_read(t->string[o->imm], o->n_args, &x, what))
        return sett__error(err, SETT_E_VERIFY, "%s", what);
    *k = (sett__call){.name = x.name, .name_len = x.name_len, .op = op, .n_result = x.n_result, .n_arg = (uint8_t)o->n_args};
    memcpy(k->result, x.result, sizeof k->result);
    unsigned n = 0;
    for (; x.n_result > 1 && n < x.n_result; n++)
        k->type[n] = &ffi_type_pointer;
    for (int a = 0; a < o->n_args; a++) {
        k->arg[a] = t->op[t->arg[o->args + (uint32_t)a]].dtype;
        k->type[n++] = c_type(k->arg[a]);
    }
    sett__sink types = {.grow = true};
    put_types(&types, k);
    k->types = types.buf;
    p->n_call++;
    if (types.failed)
        return sett__no_room(err);
    if (ffi_prep_cif(&k->cif, FFI_DEFAULT_ABI, n, x.n_result == 1 ? c_type(x.result[0]) : &ffi_type_void, k->type) != FFI_OK)
        return sett__error(err, SETT_E_INTERNAL, "libffi refuses the types %s", k->types);
    return SETT_OK;
}

sett_status sett__find_calls(sett__program *p, sett_error *err)
{
    const sett__tape *t = p->given;
    uint32_t n = 0;
    sett_status status = SETT_OK;
    for (uint32_t i = 0; i < t->n_op; i++)
        n += sett__is_call(t, &t->op[i]);
    if (n && !(p->call = calloc(n, sizeof *p->call)))
        return sett__no_room(err);
    for (uint32_t i = 0; n && i < t->n_op && !status; i++)
        if (sett__is_call(t, &t->op[i]))
            status = make_call(p, i, err);
    return status;
}

void sett__free_calls(sett__program *p)
{
    for (uint32_t i = 0; i < p->n_call; i++)
        sett__mem_free(NULL, p->call[i].types);
    if (p->n_call)
        free(p->call);
}

/* ---- before a launch --------------------------------------------------------------------------- */
const sett__call *sett__program_call(const sett__program *p, uint32_t i)
{
    return i < p->n_call ? &p->call[i] : NULL;
}

const char *sett__call_name(const sett__call *k, size_t *len)
{
    *len = k->name_len;
    return k->name;
}

sett_status sett__call_check(const sett__program *p, const sett__call *k, const char *kernel, const char *types, sett_error *err)
{
    char where[160];
    int n = (int)k->name_len;
    sett__where(p, k->op, where, sizeof where);
    if (types && n && !strcmp(types, k->types))
        return SETT_OK;
    return sett__error(err, types ? SETT_E_DTYPE : SETT_E_TARGET, "%s: sett_inline_ptx: on the CPU %s needs a C function for this PTX, %s%.*s as %s, %s%s",
        where, kernel, n ? "the .stand_in " : "which has no .stand_in, one", n, k->name, k->types,
        types ? "and sett_engine_stand_in was given " : "from sett_engine_stand_in", types ? types : "");
}

/* ---- running -------------------------------------------------------------------------------------- */
/* Operands lie in their rows as C has them. libffi widens an integer that is returned. */
bool sett__stand_in(sett__core *c, sett__warp *w, const sett__insn *i)
{
    const sett__call *k = &c->program->call[i->talk.call];
    const sett__ref *place = c->program->place + i->talk.place;
    union { ffi_arg word; double d; uint64_t bits; } one;
    uint64_t many[SETT__INLINE_RESULTS], *to[SETT__INLINE_RESULTS];
    void *in[SETT__INLINE_RESULTS + SETT__INLINE_OPERANDS];
    unsigned char *row[SETT__INLINE_OPERANDS], *d = k->n_result ? sett__at(w, i->d) : NULL;
    int first = k->n_result > 1 ? k->n_result : 0;
    for (int r = 0; r < first; r++)
        to[r] = &many[r], in[r] = &to[r];
    for (int a = 0; a < k->n_arg; a++)
        row[a] = sett__at(w, place[a]);
    for (int l = 0; l < WARP; l++) {
        if (!(w->active >> l & 1))
            continue;
        if (sett__ended_now(c))
            return sett__halt(c, w, i);
        for (int a = 0; a < k->n_arg; a++)
            in[first + a] = row[a] + l * sett__dtype_bytes((sett_dtype)k->arg[a]);
        one.bits = 0;
        memset(many, 0, sizeof many);
        ffi_call(&((sett__call *)(uintptr_t)k)->cif, c->launch->stand_in[i->talk.call], &one, in);
        for (int r = 0; r < first; r++)
            memcpy(d + ((size_t)r * WARP + (size_t)l) * 8, &many[r], 8);
        if (k->n_result == 1)
            memcpy(d + ((size_t)l << i->lg), &one, (size_t)1 << i->lg);
    }
    return !sett__ended_now(c) || sett__halt(c, w, i);
}
