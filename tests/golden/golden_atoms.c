/* SPDX-License-Identifier: Apache-2.0 */
/* The operations of the golden files on atoms and tiled operations. Their atoms have CuTe's C++ names. What mma.def has is asked
 * of the library; what it has not (SM70, elements of 4 bits and 1 bit, shuffles) is written here, as layouts alone. */
#include "tests/golden/golden.h"
#include "lib/atom/atom.h"
#include <stdlib.h>
#include <string.h>

static const sett_site here = {"golden", "golden", 1, 0};

/* ---- names ------------------------------------------------------------------------------------ */
static const struct {
    const char *name;
    int dtype, bits; /* 0: no type of ours */
} types[] = {{"TF32", SETT_TF32, 32}, {"BF16", SETT_BF16, 16}, {"F16", SETT_F16, 16}, {"F32", SETT_F32, 32}, {"F64", SETT_F64, 64},
    {"E4M3", SETT_F8E4M3FN, 8}, {"E5M2", SETT_F8E5M2, 8}, {"S8", SETT_I8, 8}, {"U8", SETT_U8, 8}, {"S32", SETT_I32, 32}, {"S4", 0, 4},
    {"U4", 0, 4}, {"U1", 0, 1}, {"C64", 0, 64}};

typedef struct mma_name {
    int sm, m, n, k, n_types, type[4]; /* of D, A, B, C */
    const char *rest;                  /* behind the types: "_TN", "_SS<K,K>" */
} mma_name;

static bool read_name(const char *s, mma_name *x)
{
    int used = 0;
    *x = (mma_name){0};
    if (sscanf(s, "SM%d_%dx%dx%d_%n", &x->sm, &x->m, &x->n, &x->k, &used) != 4 || !used)
        return false;
    s += used;
    for (size_t i = 0; x->n_types < 4 && i < SETT__COUNT(types); i++)
        if (!strncmp(s, types[i].name, strlen(types[i].name))) {
            x->type[x->n_types++] = (int)i;
            s += strlen(types[i].name);
            i = (size_t)-1;
        }
    x->rest = s;
    return x->n_types >= 3 && x->m > 0 && x->n > 0 && x->k > 0 && x->m <= 64 && x->n <= 256 && x->k <= 256;
}

/* ---- layouts of the golden files alone ---------------------------------------------------------- */
static sett_layout *text_layout(const sett__ctx *c, const char *format, ...)
{
    char text[160];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return sett__layout_of(c, text);
}

/* Registers of 32 bits, e elements each: in pairs of rows 8 apart, then along k. */
static sett_layout *register_layout(const sett__ctx *c, int rows, int k, int bits)
{
    int e = bits < 32 ? 32 / bits : 1, next = 4 * e;
    if (rows == 8 && k == next)
        return text_layout(c, bits == 4 ? "((4,8),(%d)):((%d,1),(8))" : "((4,8),%d):((%d,1),8)", e, 8 * e);
    if (rows == 8)
        return text_layout(c, "((4,8),(%d,%d)):((%d,1),(8,%d))", e, k / next, 8 * e, 8 * next);
    if (k == next)
        return text_layout(c, "((4,8),(%d,2)):((%d,1),(%d,8))", e, 16 * e, rows);
    return text_layout(c, "((4,8),(%d,2,%d)):((%d,1),(%d,8,%d))", e, k / next, 16 * e, rows, 16 * next);
}

static sett_mma_atom *own_atom(const sett__ctx *c, const mma_name *x)
{
    sett_mma_atom a = {.name = "golden", .row = -1, .dtype = {SETT_U8, SETT_U8, SETT_I32}, .mnk = {x->m, x->n, x->k}};
    int bits = types[x->type[1]].bits;
    if (x->sm == 70) {
        const char *lines = "(8,4):(1,8)", *columns = "((4,2),4):((8,4),1)";
        a.thr_id = sett__layout_of(c, "(4,2):(1,16)");
        a.tv[0] = sett__layout_of(c, x->rest[1] == 'T' ? lines : columns);
        a.tv[1] = sett__layout_of(c, x->rest[1] && x->rest[2] == 'N' ? lines : columns);
        a.tv[2] = sett__layout_of(c, types[x->type[0]].bits == 16 ? "(8,8):(1,8)" : "((2,2,2),(2,2,2)):((1,16,4),(8,2,32))");
    } else {
        a.thr_id = sett__layout_of(c, "32:1");
        a.tv[0] = register_layout(c, x->m, x->k, bits);
        a.tv[1] = register_layout(c, x->n, x->k, bits);
        a.tv[2] = sett__layout_of(c, x->m == 8 ? "((4,8),2):((16,1),8)" : "((4,8),(2,2)):((32,1),(16,8))");
    }
    return c->b->error.status ? NULL : sett__keep_mma_atom(c, &a);
}

static const sett_mma_atom *atom_of(const sett__ctx *c, const char *name)
{
    mma_name x;
    if (!strncmp(name, "UniversalFMA", 12))
        return sett_mma_universal(c->b, .acc = SETT_F32);
    if (!strcmp(name, "SM61_DP4A"))
        return sett_dp4a(c->b, .a = SETT_I8, .b = SETT_I8);
    if (!read_name(name, &x)) {
        sett__bad(c, SETT_E_ARGUMENT, "no atom %.80s", name);
        return NULL;
    }
    sett_mma_args a = {.size = sizeof a, .a = (sett_dtype)types[x.type[1]].dtype, .b = (sett_dtype)types[x.type[2]].dtype,
        .acc = (sett_dtype)types[x.type[0]].dtype, .m = x.m, .n = x.n, .k = x.k};
    bool group = x.sm == 90 && x.m == 64;
    if (x.sm == 70 || !a.a || !a.b || !a.acc)
        return own_atom(c, &x);
    if (group) {
        const char *second = strchr(x.rest, ',');
        a.a_from = strstr(x.rest, "_RS") ? SETT_RMEM : SETT_SMEM;
        a.a_major = strstr(x.rest, "<MN") && a.a_from == SETT_SMEM ? SETT_MN_MAJOR : SETT_K_MAJOR;
        a.b_major = second && second[1] == 'M' ? SETT_MN_MAJOR : SETT_K_MAJOR;
    }
    return sett_mma_atom_at(here, c->b, group ? SETT_MMA_WGMMA : SETT_MMA_SYNC, &a);
}

static sett_dtype dtype_of(const sett__ctx *c, const char *name)
{
    static const struct {
        const char *name;
        sett_dtype dtype;
    } names[] = {{"s8", SETT_I8}, {"s16", SETT_I16}, {"s32", SETT_I32}, {"s64", SETT_I64}, {"e4m3", SETT_F8E4M3FN}, {"e5m2", SETT_F8E5M2}};
    for (size_t i = 0; i < SETT__COUNT(names); i++)
        if (!strcmp(names[i].name, name))
            return names[i].dtype;
    for (int d = SETT_BOOL; sett__dtype_valid((sett_dtype)d); d++)
        if (!strcmp(sett_dtype_name((sett_dtype)d), name))
            return (sett_dtype)d;
    sett__bad(c, SETT_E_DTYPE, "no type %.40s", name);
    return SETT_U8;
}

/* Of the four copies of 64 bits that exchange halves between lanes 1, or 4, apart. */
static const sett_copy_atom *shuffle(const sett__ctx *c, sett_dtype dtype, int far)
{
    sett_copy_atom a = {.name = "shuffle", .dtype = (uint8_t)dtype};
    a.thr_id = sett__layout_of(c, "32:1");
    a.bit[SETT__SRC] = a.bit[SETT__REF] = sett__layout_of(c, "(32,64):(64,1)");
    a.bit[SETT__DST] = sett__layout_of(c, far == 1 ? "((2,16),(32,2)):((32,128),(1,64))" : "((4,2,4),(32,2)):((64,32,512),(1,256))");
    return sett__keep_copy_atom(c, &a);
}

static const sett_copy_atom *copy_of(const sett__ctx *c, const char *name, const char *type)
{
    int n = 0, words = 0;
    char trans = 0;
    const sett_dtype dtype = type ? dtype_of(c, type) : strstr(name, "U16x") ? SETT_U16 : SETT_U8;
    const char *angle = strchr(name, '<');
    if (c->b->error.status)
        return NULL;
    if (!strncmp(name, "SM50_Shuffle_U32_2x2Trans_XOR", 29))
        return shuffle(c, dtype, atoi(name + 29));
    if (angle && (!strncmp(name, "UniversalCopy<", 14) || !strncmp(name, "SM80_CP_ASYNC", 13)))
        return sett_copy_atom_at(here, c->b, *name == 'U' ? SETT_COPY_UNIVERSAL : SETT_COPY_ASYNC, dtype, atoi(angle + 1), false);
    if (!strcmp(name, "SM75_U32x1_MOVM_T"))
        return sett_movmatrix(c->b, dtype);
    bool load = sscanf(name, "SM75_U%dx%d_LDSM_%c", &words, &n, &trans) == 3, store = !load && sscanf(name, "SM90_U%dx%d_STSM_%c", &words, &n, &trans) == 3;
    if (load || store)
        return sett_copy_atom_at(here, c->b, load ? SETT_COPY_LDMATRIX : SETT_COPY_STMATRIX, dtype, words == 16 ? n / 2 : n, trans == 'T');
    sett__bad(c, SETT_E_ARGUMENT, "no copy %.80s", name);
    return NULL;
}

/* ---- inputs and results -------------------------------------------------------------------------- */
static sett_arg parsed(const sett__ctx *c, const char *text)
{
    return sett__parse(c, text, NULL, NULL);
}

static sett_layout *layout(const sett__ctx *c, const char *text)
{
    return sett__layout_of(c, text);
}

/* The same of what is tiled and of the thread, which may be known at run time only. */
static sett_arg parsed_dynamic(run *r, const sett__ctx *c, const char *text)
{
    return sett__parse(c, text, golden_dynamic, r);
}

static sett_layout *layout_dynamic(run *r, const sett__ctx *c, const char *text)
{
    sett_arg a = parsed_dynamic(r, c, text);
    return a.kind == SETT_LAYOUT ? a.u.l : sett__poison_layout(c->b);
}

static void give(run *r, sett_arg a)
{
    r->out[r->n_out++] = a;
}

static void give_layout(run *r, sett_layout *l)
{
    give(r, sett_arg_l(l));
}

/* The layout as a tensor: of coordinates, or of elements that nobody reads. */
static const sett_tensor *tensor_of(const sett__ctx *c, sett_layout *l)
{
    sett_tensor *t = sett__new_object(c->b, SETT__K_TENSOR, sizeof *t);
    bool basis = sett__has_basis(l->stride);
    *t = (sett_tensor){.head = t->head, .space = basis ? SETT_COORD : SETT_GENERIC, .dtype = basis ? 0 : SETT_F32, .root = SETT__NONE, .param = -1, .align = 1,
        .layout = l, .name = "golden"};
    sett_arg *zero = sett__kids(c, sett__arity(l->shape));
    for (int i = 0; i < sett__arity(l->shape); i++)
        zero[i] = sett_arg_i(0);
    t->offset = basis ? sett_arg_n(sett__arity(l->shape), zero) : sett_arg_i(0);
    return t;
}

/* A thread's part: its layout and where it begins, or, of a "_values_" operation, the place of each element, which any spelling of
 * a swizzled layout has in common. */
static void give_tensor(run *r, const char *op, const sett_tensor *t)
{
    if (strstr(op, "_values_")) {
        sett_arg n = sett_size(t->layout), at;
        r->spoken = calloc(1, TEXT);
        for (int64_t i = 0, used = 0, to, from; n.kind == SETT_INT && i < n.u.i && used + 32 < TEXT; i++) {
            at = sett_crd2idx_at(here, t->layout, sett_arg_i(i));
            if (!golden_eval(r, at, &to) || !golden_eval(r, t->offset, &from))
                return;
            used += snprintf(r->spoken + used, 32, "%s%lld", i ? "," : "", (long long)(to + from));
        }
        return;
    }
    give_layout(r, t->layout);
    give(r, t->offset);
}

static const char *const fields_of_mma[] = {"shape", "thrid", "A", "B", "C"}, *const fields_of_tiled[] = {"thr_layout_vmnk", "tile_mnk", "A_TV", "B_TV", "C_TV"},
    *const fields_of_copy[] = {"thrid", "src", "dst", "ref"}, *const fields_of_tiled_copy[] = {"tiler", "tv", "S_TV", "D_TV"};

/* The result that a field names. */
static bool give_field(run *r, const char *field, const char *const *name, int n, const sett_arg *of)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(name[i], field)) {
            give(r, of[i]);
            return true;
        }
    return false;
}

static sett_operand operand_of(const char *op) /* by its last letter */
{
    return (sett_operand)(op[strlen(op) - 1] - 'A');
}

/* ---- operations ------------------------------------------------------------------------------------ */
static const sett_tiled_mma *tiled_of(const sett__ctx *c, char **in)
{
    const sett_mma_atom *a = atom_of(c, in[0]);
    sett_arg atoms = parsed(c, in[1]), perm = parsed(c, in[2]);
    return a && !c->b->error.status ? sett_make_tiled_mma_at(here, a, atoms, perm) : NULL;
}

/* Registers of thread 0 for its part of a matrix of this layout. */
static const sett_tensor *fragment_of(const sett__ctx *c, const sett_tiled_mma *m, sett_operand which, sett_layout *l)
{
    const sett_tensor *part = sett_partition_at(here, sett_get_slice_mma_at(here, m, sett_arg_i(0)), which, tensor_of(c, l));
    return sett_make_fragment_at(here, m, which, part);
}

static bool op_mma_atom(run *r, const sett__ctx *c, const char *op, char **in, int n)
{
    (void)op, (void)n;
    const sett_mma_atom *a = atom_of(c, in[0]);
    if (!a || c->b->error.status)
        return true;
    sett_mma_traits t = sett_mma_atom_traits(a);
    return give_field(r, in[1], fields_of_mma, 5, (sett_arg[]){t.shape_mnk, SETT_A(t.thr_id), SETT_A(t.A), SETT_A(t.B), SETT_A(t.C)});
}

static bool op_tiled_mma(run *r, const sett__ctx *c, const char *op, char **in, int n)
{
    const sett_tiled_mma *m = tiled_of(c, in);
    if (!m || c->b->error.status)
        return true;
    if (!strcmp(op, "tiled_mma")) {
        sett_tiled_mma_traits t = sett_tiled_mma_traits(m);
        return give_field(r, in[3], fields_of_tiled, 5, (sett_arg[]){SETT_A(t.thr_layout_vmnk), t.tile_mnk, SETT_A(t.A), SETT_A(t.B), SETT_A(t.C)});
    }
    const sett_operand which = operand_of(op);
    if (!strncmp(op, "tiled_mma_partition_shape_", 26)) {
        give(r, sett_partition_shape_at(here, m, which, parsed_dynamic(r, c, in[3])));
        return true;
    }
    sett_layout *l = layout_dynamic(r, c, in[3]);
    if (c->b->error.status)
        return true;
    if (!strncmp(op, "tiled_mma_thrfrg_", 17))
        give_layout(r, sett_thrfrg_at(here, m, which, l));
    else if (!strncmp(op, "tiled_mma_fragment_", 19))
        give_layout(r, fragment_of(c, m, which, l)->layout);
    else if ((!strncmp(op, "tiled_mma_partition_", 20) || !strncmp(op, "tiled_mma_values_", 17)) && n > 4)
        give_tensor(r, op, sett_partition_at(here, sett_get_slice_mma_at(here, m, parsed_dynamic(r, c, in[4])), which, tensor_of(c, l)));
    return r->n_out > 0 || r->spoken;
}

static bool op_copy_atom(run *r, const sett__ctx *c, const char *op, char **in, int n)
{
    bool bits = !strcmp(op, "copy_atom");
    const sett_copy_atom *a = copy_of(c, in[0], bits ? NULL : in[1]);
    if (!a || c->b->error.status)
        return true;
    sett_copy_traits t = sett_copy_atom_traits(a, bits);
    return give_field(r, in[n - 1], fields_of_copy, 4, (sett_arg[]){SETT_A(t.thr_id), SETT_A(t.src), SETT_A(t.dst), SETT_A(t.ref)});
}

/* A tiled copy, and what the operation does with it: `rest` are the inputs behind the copy's own. */
static bool with_copy(run *r, const sett__ctx *c, const char *op, const sett_tiled_copy *x, const sett_tiled_mma *mma, char **rest, int n)
{
    bool written = op[strlen(op) - 1] == 'D';
    if (!x || c->b->error.status)
        return true;
    const char *last = strrchr(op, '_');
    if (!strcmp(op, "tiled_copy") || !strcmp(op, "tiled_copy_mma") || strstr(op, "_like_") || !strcmp(last, "_atom") || !strcmp(last, "_co")) {
        sett_tiled_copy_traits t = sett_tiled_copy_traits(x);
        return give_field(r, rest[0], fields_of_tiled_copy, 4, (sett_arg[]){t.tiler, SETT_A(t.tv), SETT_A(t.S), SETT_A(t.D)});
    }
    sett_layout *l = layout_dynamic(r, c, rest[0]);
    if (c->b->error.status)
        return true;
    if (strstr(op, "_tidfrg_"))
        give_layout(r, sett_tidfrg_at(here, x, written, l));
    else if ((strstr(op, "_partition_") || strstr(op, "_values_")) && n > 1)
        give_tensor(r, op, sett_partition_copy_at(here, sett_get_slice_copy_at(here, x, parsed_dynamic(r, c, rest[1])), written, tensor_of(c, l)));
    else if (strstr(op, "_retile_") && mma) { /* the fragment of a thread's partition */
        const sett_tensor *fragment = fragment_of(c, mma, operand_of(rest[-4]), l);
        give_layout(r, fragment->layout);
        give_layout(r, sett_retile_at(here, sett_get_slice_copy_at(here, x, sett_arg_i(0)), fragment)->layout);
    }
    return r->n_out > 0 || r->spoken;
}

static const sett_tiled_copy *copy_tv(const sett__ctx *c, const sett_copy_atom *a, char **in)
{
    const sett_layout *thr = layout(c, in[0]), *val = layout(c, in[1]);
    return a && !c->b->error.status ? sett_make_tiled_copy_tv_at(here, a, thr, val) : NULL;
}

/* Made of another copy, of a product's accumulator, or of offsets; what is left of the inputs is the field. */
static bool op_tiled_copy_of(run *r, const sett__ctx *c, const char *op, char **in, int n)
{
    const sett_copy_atom *a = copy_of(c, in[0], in[1]);
    const sett_tiled_copy *x = NULL;
    int used = 4;
    if (strstr(op, "_like_") && n > 6) {
        const sett_tiled_copy *as = copy_tv(c, copy_of(c, in[2], in[3]), in + 4);
        x = a && as ? sett_make_tiled_copy_like_at(here, a, as, op[strlen(op) - 1] == 'D') : NULL;
        used = 6;
    } else if (!strcmp(op, "tiled_copy_C_atom") && n > 5) {
        const sett_tiled_mma *m = tiled_of(c, in + 2);
        x = a && m ? sett_make_tiled_copy_c_atom_at(here, a, m) : NULL;
        used = 5;
    } else if (!strcmp(op, "tiled_copy_co")) {
        const sett_layout *tv = layout(c, in[2]), *data = layout(c, in[3]);
        x = a && !c->b->error.status ? sett_make_cotiled_copy_at(here, a, tv, data) : NULL;
    }
    return c->b->error.status || (x && with_copy(r, c, op, x, NULL, in + used, n - used));
}

static bool op_tiled_copy(run *r, const sett__ctx *c, const char *op, char **in, int n)
{
    if (!strncmp(op, "tiled_copy_like_", 16) || !strcmp(op, "tiled_copy_C_atom") || !strcmp(op, "tiled_copy_co"))
        return op_tiled_copy_of(r, c, op, in, n);
    const sett_copy_atom *a = copy_of(c, in[0], in[1]);
    if (strncmp(op, "tiled_copy_mma", 14))
        return with_copy(r, c, op, copy_tv(c, a, in + 2), NULL, in + 4, n - 4);
    const sett_tiled_mma *m = n > 6 ? tiled_of(c, in + 3) : NULL;
    bool letter = in[2][0] >= 'A' && in[2][0] <= 'C' && !in[2][1];
    if (!m || !a || !letter || c->b->error.status)
        return letter && n > 6;
    return with_copy(r, c, op, sett_make_tiled_copy_mma_at(here, a, m, operand_of(in[2])), m, in + 6, n - 6);
}

static void say(run *r, const char *text)
{
    r->spoken = strdup(text);
}

/* "K_SW128" and a type. */
static sett_layout *smem_atom(const sett__ctx *c, char **in, int *bits)
{
    const char *kind = strchr(in[0], '_');
    static const char *const kinds[] = {"_INTER", "_SW32", "_SW64", "_SW128"};
    for (*bits = 0; kind && *bits < 4; ++*bits)
        if (!strcmp(kinds[*bits], kind))
            return sett_smem_layout_atom_at(here, c->b, dtype_of(c, in[1]), in[0][0] == 'K' ? SETT_K_MAJOR : SETT_MN_MAJOR, 16 << *bits);
    return NULL;
}

/* As the DSL prints it: a swizzle of addresses in bytes, around a layout of elements. */
static void say_swizzled(run *r, const sett_layout *l, int bits)
{
    char text[512];
    if (sett__layout_poison(l))
        return;
    int n = snprintf(text, sizeof text, "S<%d,4,3>o0o", bits);
    golden_show(r, sett_arg_l(sett__layout(r->b, l->shape, l->stride)), SHOW_PLAIN, text + n, sizeof text - (size_t)n);
    say(r, text);
}

static bool op_gmma(run *r, const sett__ctx *c, const char *op, char **in, int n)
{
    int bits;
    sett_layout *l = smem_atom(c, in, &bits);
    if (!l || c->b->error.status)
        return l != NULL;
    if (!strcmp(op, "gmma_smem_atom_pi"))
        give_layout(r, l);
    else if (!strcmp(op, "gmma_smem_atom"))
        say_swizzled(r, l, bits);
    if (r->n_out || r->spoken || n < 4)
        return r->n_out || r->spoken;
    bool desc = !strcmp(op, "gmma_desc");
    l = sett_tile_to_shape_at(here, l, parsed(c, in[2]), desc ? SETT_ALL : parsed(c, in[3]));
    if (desc) {
        char text[64];
        l = c->b->error.status ? l : sett_composition_layout_at(here, l, parsed(c, in[3]));
        sett_smem_descriptor d = sett_make_smem_descriptor(l, dtype_of(c, in[1]), in[0][0] == 'K' ? SETT_K_MAJOR : SETT_MN_MAJOR);
        snprintf(text, sizeof text, "%d,%d,%d", d.type, d.lead, d.stride);
        say(r, text);
    } else if (!strcmp(op, "gmma_tile_eval") && n > 4) {
        give(r, sett_crd2idx_at(here, l, parsed(c, in[4])));
    } else {
        say_swizzled(r, l, bits);
    }
    return true;
}

static const struct {
    const char *family; /* an operation begins so */
    bool (*f)(run *, const sett__ctx *, const char *op, char **in, int n);
    int least;
} families[] = {{"mma_atom", op_mma_atom, 2}, {"tiled_mma", op_tiled_mma, 4}, {"copy_atom", op_copy_atom, 2}, {"tiled_copy", op_tiled_copy, 5}, {"gmma_", op_gmma, 2}};

bool golden_is_atom_op(const char *op)
{
    for (size_t i = 0; i < SETT__COUNT(families); i++)
        if (!strncmp(families[i].family, op, strlen(families[i].family)))
            return true;
    return false;
}

bool golden_atom_op(run *r, const char *op, char **in, int n)
{
    const sett__ctx c = {r->b, here, "golden"};
    for (size_t i = 0; i < SETT__COUNT(families); i++)
        if (!strncmp(families[i].family, op, strlen(families[i].family)))
            return n >= families[i].least && families[i].f(r, &c, op, in, n);
    return false;
}
