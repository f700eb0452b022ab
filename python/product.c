/* SPDX-License-Identifier: Apache-2.0 */
/* sett.Product: a run of sett/kernels/product.h from Python. Tensors are checked against the problem, and a stream's workspace is found, in a
 * microsecond or two; _product.py has the rest. */
#include "fast.h"
#include "signals.h"
#include <limits.h>
#include <sett/kernels/product.h>
#include <string.h>

/* A workspace. busy: a run on the CPU is in it, where launches of one stream may go on at the same time. */
typedef struct room {
    void *handle, *at;
    PyObject *memory; /* keeps it */
    bool busy;
} room;
typedef struct product {
    PyObject_HEAD
    state *st;
    PyObject *engine;
    sett_product *plan;
    sett_product_problem p; /* settled */
    int device, max_m;
    size_t bytes;           /* of a workspace */
    size_t packed_bytes, scales_bytes; /* of packed weights; 0: b is a matrix */
    room *room;
    int n_room;
} product;

enum { A, B, OUT, R, SA, SB, BIAS, AUX, S, QS, AMAX, SW, OFFSETS, COUNTS, ROW_SUM, COLUMN_SUM, ROW_MAX, COLUMN_MAX, SD, OPERANDS };
static const char *const names_of[] = {"a", "b", "out", "r", "sa", "sb", "bias", "aux", "s", "qs", "amax", "sw", "offsets", "counts", "row_sum", "column_sum", "row_max", "column_max", "sd"};
/* Numbers of a call. */
enum { ALPHA, CAP, BETA, LOW, HIGH, NUMBERS };
static const char *const number_names[] = {"alpha", "cap", "beta", "low", "high"};

/* What packed weights have, of a problem that is settled. */
static void take_packed(product *x)
{
    const sett_product_problem *p = &x->p;
    const sett_weights w = {.size = sizeof w, .dtype = p->dtype, .b = p->b, .sw = p->sw, .group = p->group, .zeros = p->zeros, .n = p->n, .k = p->k, .swiglu = p->swiglu};
    if (p->sw)
        sett_product_weights_bytes(&w, &x->packed_bytes, &x->scales_bytes, NULL);
}

/* ---- making and ending ------------------------------------------------------------------------------ */
/* A class of Python's that is made from Product has no module of its own. */
static state *state_of(PyTypeObject *type)
{
    state *st = NULL;
    while (type && !(st = PyType_GetModuleState(type))) {
        PyErr_Clear();
        type = PyType_GetSlot(type, Py_tp_base);
    }
    return st;
}

/* Product(...): the function _plan(...) of the type gives the engine, a plan, which is taken over, the bytes of a workspace, device, max_m. */
static PyObject *product_new(PyTypeObject *type, PyObject *args, PyObject *names)
{
    PyObject *engine, *plan, *function = PyObject_GetAttrString((PyObject *)type, "_plan"), *planned = function ? PyObject_Call(function, args, names) : NULL;
    Py_ssize_t bytes;
    int device, max_m;
    product *x = NULL;
    Py_XDECREF(function);
    if (planned && PyTuple_Check(planned) && PyArg_ParseTuple(planned, "OOnii", &engine, &plan, &bytes, &device, &max_m) && (x = new_object(type))) {
        x->st = state_of(type);
        x->engine = Py_NewRef(engine);
        x->plan = PyLong_AsVoidPtr(plan), x->bytes = (size_t)bytes, x->device = device, x->max_m = max_m;
        x->p.size = sizeof x->p;
        sett_product_query(x->plan, &x->p);
        take_packed(x);
    }
    Py_XDECREF(planned);
    return (PyObject *)x;
}

static int product_traverse(PyObject *o, visitproc visit, void *arg)
{
    const product *x = (const product *)o;
    Py_VISIT((PyObject *)Py_TYPE(o));
    Py_VISIT(x->engine);
    for (int i = 0; i < x->n_room; i++)
        Py_VISIT(x->room[i].memory);
    return 0;
}

static void product_free(PyObject *o)
{
    product *x = (product *)o;
    PyObject_GC_UnTrack(o);
    Py_BEGIN_ALLOW_THREADS /* a log function may want the lock that this thread holds */
    sett_product_free(x->plan);
    Py_END_ALLOW_THREADS
    for (int i = 0; i < x->n_room; i++)
        Py_XDECREF(x->room[i].memory);
    PyMem_Free(x->room);
    Py_CLEAR(x->engine);
    free_object(o);
}

/* ---- workspaces ----------------------------------------------------------------------------------------- */
/* Another one for the stream, by the method _workspace(handle), which gives an object with .address. */
static int add_room(product *x, void *handle)
{
    PyObject *memory = PyObject_CallMethod((PyObject *)x, "_workspace", "N", PyLong_FromVoidPtr(handle));
    PyObject *address = memory ? PyObject_GetAttrString(memory, "address") : NULL;
    void *at = address ? PyLong_AsVoidPtr(address) : NULL;
    Py_XDECREF(address);
    room *more = at ? PyMem_Realloc(x->room, (size_t)(x->n_room + 1) * sizeof *more) : NULL;
    if (!more) {
        Py_XDECREF(memory);
        return PyErr_Occurred() ? -1 : (PyErr_NoMemory(), -1);
    }
    x->room = more;
    x->room[x->n_room] = (room){handle, at, memory, false};
    return x->n_room++;
}

/* The number of one that a run on the stream may have; -1: an exception is set. */
static int find_room(product *x, void *handle)
{
    for (int i = 0; i < x->n_room; i++)
        if (x->room[i].handle == handle && !x->room[i].busy)
            return i;
    return add_room(x, handle);
}

static PyObject *product_reserve(PyObject *self, PyObject *number)
{
    product *x = (product *)self;
    void *handle = PyLong_AsVoidPtr(number);
    if (PyErr_Occurred() || (x->bytes && find_room(x, handle) < 0))
        return NULL;
    return Py_NewRef(Py_None);
}

/* ---- operands ------------------------------------------------------------------------------------------- */
/* Of operands that lie by rows of a, and of b: how many there are, of a mode of their own; 0: no such mode. */
static int batch_of(const sett_product_problem *p)
{
    return p->batch > 1 || p->pointer_array ? p->batch : 0;
}

static int kinds_of_a(const sett_product_problem *p)
{
    return p->grouped == SETT_GROUPED_MASKED ? p->groups : batch_of(p);
}

static int kinds_of_b(const sett_product_problem *p)
{
    return p->grouped ? p->groups : batch_of(p);
}

/* How an operand of the problem lies: its extents, and how far apart its rows and batches are. `option`: the end of the names of
 * strides, as in ldaux. */
typedef struct form {
    sett_dtype dtype;
    int64_t rows, cols, apart, batch;
    int major;
    const char *option;
    int kinds; /* products of a batch, or groups; 0: no mode of them */
} form;

SETT_PRINTF(4, 5) static int refuse_form(const taken *t, int i, sett_status s, const char *format, ...)
{
    char why[300];
    va_list args;
    va_start(args, format);
    PyOS_vsnprintf(why, sizeof why, format, args);
    va_end(args);
    return refuse(t, i, s, why);
}

static const char *kinds_of(const product *x)
{
    return x->p.grouped ? "groups" : "products";
}

static int refuse_rank(const product *x, const taken *t, int i, int deep)
{
    return refuse_form(t, i, SETT_E_RANK, "it has %d mode%s, and the product takes %d: %s%srows, columns%s", t->buf[i].rank, t->buf[i].rank == 1 ? "" : "s", 2 + deep, deep ? kinds_of(x) : "",
        deep ? ", " : "", i == B && deep && !x->p.grouped && t->buf[i].rank == 2 ? "; of one b that all share the product has no batch, and M is the rows of all" : "");
}

static int check_strides(const product *x, const taken *t, int i, const form *f)
{
    const sett_buf *b = &t->buf[i];
    const int deep = f->kinds > 0;
    const int64_t row = b->stride[deep], col = b->stride[deep + 1], apart = f->major ? col : row, one = f->major ? row : col;
    const bool many = f->rows > 1, wide = f->cols > 1;
    if (!f->rows || !f->cols) /* which producers give any strides */
        return 0;
    if ((f->major ? many : wide) && one != 1)
        return refuse_form(t, i, SETT_E_SHAPE, "its %s lie %lld elements apart, and those of the product beside each other%s", f->major ? "rows" : "columns",
            (long long)one, i == A ? f->major ? ": a_major is 1" : ": a_major is 0" : i == B ? f->major ? ": b_major is 1" : ": b_major is 0" : "");
    if ((f->major ? wide : many) && apart != f->apart)
        return refuse_form(t, i, SETT_E_SHAPE, "its %s lie %lld elements apart, and those of the product %lld: ld%s of sett.Product, or Product.of with such tensors, says it",
            f->major ? "columns" : "rows", (long long)apart, (long long)f->apart, f->option);
    if (f->kinds > 1 && b->stride[0] != f->batch && i == AUX)
        return refuse_form(t, i, SETT_E_SHAPE, "its %s lie %lld elements apart, and those of the problem %lld: max_m rows, %d, as those of out do", kinds_of(x), (long long)b->stride[0],
            (long long)f->batch, x->max_m);
    if (f->kinds > 1 && !b->stride[0] && i == B && !x->p.grouped)
        return refuse_form(t, i, SETT_E_SHAPE, "its products lie 0 elements apart: of one b that all share the product has no batch, and M is the rows of all");
    if (f->kinds > 1 && b->stride[0] != f->batch && i == SB)
        return refuse_form(t, i, SETT_E_SHAPE, "its %s lie %lld elements apart, and those of the problem %lld: one behind the other", kinds_of(x), (long long)b->stride[0], (long long)f->batch);
    if (f->kinds > 1 && b->stride[0] != f->batch)
        return refuse_form(t, i, SETT_E_SHAPE, "its %s lie %lld elements apart, and those of the problem %lld: batch_%s says it", kinds_of(x), (long long)b->stride[0], (long long)f->batch, f->option);
    return 0;
}

/* A run takes columns of sa, and of sd, at multiples of 16 bytes, one group behind the other. A buffer with such rows of its own, transposed, has them for any m. */
static int check_scales(const taken *t, int i, const form *f)
{
    const sett_buf *b = &t->buf[i];
    const int deep = f->kinds > 0;
    const long long m = f->rows, blocks = f->cols, padded = (m + 3) / 4 * 4, given[] = {b->stride[0], b->stride[1], deep ? b->stride[2] : 0};
    if (!m || !blocks || ((m < 2 || b->stride[deep] == 1) && (blocks < 2 || (b->stride[deep + 1] == f->apart && f->apart % 4 == 0 && f->apart >= m)) && (f->kinds < 2 || b->stride[0] == f->batch)))
        return 0;
    if (deep)
        return refuse_form(t, i, SETT_E_SHAPE, "its strides are (%lld, %lld, %lld), and the product takes (%lld S, 1, S), S a multiple of 4 and at least %lld, the rows of a: a buffer (%d, %lld, %lld) .swapaxes(1, 2)[:, :%lld] has them",
            given[0], given[1], given[2], blocks, m, f->kinds, blocks, padded, m);
    return refuse_form(t, i, SETT_E_SHAPE, "its strides are (%lld, %lld), and the product takes (1, S), S a multiple of 4 and at least %lld, the rows of a: a buffer (%lld, %lld) .T[:%lld] has them", given[0],
        given[1], m, blocks, padded, m);
}

/* Of pointer_array: the addresses of what each product has. */
static int check_addresses(const product *x, const taken *t, int i)
{
    const sett_buf *b = &t->buf[i];
    if (b->dtype != SETT_U64 && b->dtype != SETT_I64)
        return refuse_form(t, i, SETT_E_DTYPE, "it is of %s, and pointer_array=1: addresses are of u64 or i64, as Product.pointers makes them of a list of tensors%s", sett_dtype_name(b->dtype),
            b->rank == 3 ? "; of a tensor of 3 modes list(...) is one" : "");
    if (b->rank != 1)
        return refuse_form(t, i, SETT_E_SHAPE, "it has %d modes, and the product takes one of batch, %d, addresses beside each other", b->rank, x->p.batch);
    if (b->shape[0] != x->p.batch)
        return refuse_form(t, i, SETT_E_SHAPE, "it has %lld addresses, and the product takes batch, %d", (long long)b->shape[0], x->p.batch);
    if (b->shape[0] > 1 && b->stride[0] != 1)
        return refuse_form(t, i, SETT_E_SHAPE, "its addresses lie %lld elements apart, and the product takes them beside each other", (long long)b->stride[0]);
    return 0;
}

static int check_matrix(const product *x, const taken *t, int i, const form *f)
{
    const sett_buf *b = &t->buf[i];
    const int deep = f->kinds > 0;
    if (deep && x->p.pointer_array)
        return check_addresses(x, t, i);
    if (b->dtype != f->dtype)
        return refuse_form(t, i, SETT_E_DTYPE, "it is of %s, and the product takes %s", sett_dtype_name(b->dtype), sett_dtype_name(f->dtype));
    if (b->rank != 2 + deep)
        return refuse_rank(x, t, i, deep);
    if (deep && b->shape[0] != f->kinds)
        return refuse_form(t, i, SETT_E_SHAPE, "it has %lld %s, and the product %d: %s", (long long)b->shape[0], kinds_of(x), f->kinds, x->p.grouped ? "groups" : "batch");
    if (b->shape[deep] != f->rows || b->shape[deep + 1] != f->cols)
        return refuse_form(t, i, SETT_E_SHAPE, "it is %lld x %lld, and the product takes %lld x %lld%s", (long long)b->shape[deep], (long long)b->shape[deep + 1], (long long)f->rows, (long long)f->cols,
            i == SA ? ": rows of a, ceil(K/128)" : i == SD ? ": rows of a, ceil(N/128)" : "");
    return i == SA || i == SD ? check_scales(t, i, f) : check_strides(x, t, i, f);
}

/* Numbers beside each other; kinds: so many for each product of a batch, or group, one behind the other. */
static int check_vector(const product *x, const taken *t, int i, sett_dtype dtype, int64_t n, int kinds)
{
    const sett_buf *b = &t->buf[i];
    const int deep = kinds > 0;
    if (deep && x->p.pointer_array)
        return check_addresses(x, t, i);
    if (b->dtype != dtype)
        return refuse_form(t, i, SETT_E_DTYPE, "it is of %s, and the product takes %s", sett_dtype_name(b->dtype), sett_dtype_name(dtype));
    const bool fits = b->rank == 1 + deep && (!deep || b->shape[0] == kinds) && b->shape[deep] == n;
    const char *each = !deep ? "" : x->p.grouped ? ", for each group" : ", for each product", *by = x->packed_bytes && (i == B || i == SW) ? ": what sett.pack_weights gives" : "";
    char has[100];
    if (fits && (n < 2 || b->stride[deep] == 1) && (kinds < 2 || b->stride[0] == n))
        return 0;
    if (fits)
        PyOS_snprintf(has, sizeof has, "they lie %lld apart", (long long)(n > 1 && b->stride[deep] != 1 ? b->stride[deep] : b->stride[0]));
    else if (b->rank != 1 + deep)
        PyOS_snprintf(has, sizeof has, "it has %d mode%s", b->rank, b->rank == 1 ? "" : "s");
    else if (deep)
        PyOS_snprintf(has, sizeof has, "it has %lld x %lld", (long long)b->shape[0], (long long)b->shape[1]);
    else
        PyOS_snprintf(has, sizeof has, "it has %lld", (long long)b->shape[0]);
    return refuse_form(t, i, SETT_E_SHAPE, "it takes %lld element%s beside each other%s, and %s%s", (long long)n, n == 1 ? "" : "s", each, has, by);
}

/* What sett.pack_weights gives, of each product or group: bytes, of other numbers where it was told another problem. */
static int check_packed(const product *x, const taken *t, int i, size_t bytes)
{
    const sett_buf *b = &t->buf[i];
    const sett_product_problem *p = &x->p;
    const int deep = kinds_of_b(p) > 0;
    if (b->rank == 1 + deep && b->shape[deep] != (int64_t)bytes)
        return refuse_form(t, i, SETT_E_SHAPE, "it has %lld elements: packed %s of n=%d, k=%d, group=%d, zeros=%d%s are %zu bytes beside each other", (long long)b->shape[deep], i == B ? "weights" : "scales",
            p->n, p->k, p->group, p->zeros, p->swiglu ? ", swiglu=1" : "", bytes);
    return check_vector(x, t, i, SETT_U8, (int64_t)bytes, kinds_of_b(p));
}

/* One operand that the problem has; pointers: it may be an array of addresses, which is only read. */
static int take_operand(taken *t, int i, PyObject *arg, bool pointers)
{
    static const want read = {0, 0}, written = {WRITTEN, 0};
    t->want = !pointers && (i == OUT || i == AUX || i == AMAX || i >= ROW_SUM) ? &written : &read;
    t->kept[i] = NULL, t->bind[i] = (sett_launch_arg){.kind = 0};
    if (take(t, i, arg))
        return -1;
    if (t->bind[i].kind == SETT_LAUNCH_ARG_BUF)
        return 0;
    PyObject *shown = PyObject_Repr(arg);
    const char *text = shown ? PyUnicode_AsUTF8AndSize(shown, NULL) : NULL;
    const int r = text ? refuse_form(t, i, SETT_E_BIND, "it is %.60s, and no tensor", text) : -1;
    Py_XDECREF(shown);
    return r;
}

/* Of batch=1 an operand may have the mode of products, of which there is one: the product takes it without. Had it that mode? */
static bool drop_mode(const product *x, taken *t, int i)
{
    const sett_product_problem *p = &x->p;
    const bool matrix = i == A || (i == B && !x->packed_bytes) || i == OUT || i == R || i == AUX || i == SD || (p->block_scales && (i == SA || i == SB)), of_all = i == S || i == QS || (i == AMAX && p->terms.amax == 1);
    sett_buf *b = &t->buf[i];
    if (p->batch != 1 || p->pointer_array || p->grouped || of_all || b->rank != 2 + matrix || b->shape[0] != 1)
        return false;
    b->rank--;
    memmove(b->shape, b->shape + 1, sizeof *b->shape * (size_t)b->rank);
    memmove(b->stride, b->stride + 1, sizeof *b->stride * (size_t)b->rank);
    return true;
}

/* What the problem takes, and no more. */
static int check_given(const product *x, const taken *t, PyObject *const arg[OPERANDS])
{
    const bool scales = x->p.scaled || x->p.block_scales;
    const char *of_scales = x->p.block_scales ? "block_scales=1" : "scaled=1";
    const struct {
        int i, wanted;
        const char *option;
    } of[] = {{R, x->p.residual, "residual=1"}, {SA, scales, of_scales}, {SB, scales, of_scales}, {BIAS, x->p.terms.bias, "bias=1"}, {AUX, x->p.terms.aux, "aux=1"},
        {S, x->p.terms.scale, "scale=1"}, {QS, x->p.terms.quantise == 1, "quantise=1"}, {SD, x->p.terms.quantise == 2, "quantise=2"}, {AMAX, x->p.terms.amax, "amax=1"},
        {OFFSETS, x->p.grouped == SETT_GROUPED_CONTIGUOUS, "grouped=contiguous"}, {COUNTS, x->p.grouped == SETT_GROUPED_MASKED, "grouped=masked"},
        {ROW_SUM, x->p.terms.row_sum, "row_sum=1"}, {COLUMN_SUM, x->p.terms.column_sum, "column_sum=1"}, {ROW_MAX, x->p.terms.row_max, "row_max=1"}, {COLUMN_MAX, x->p.terms.column_max, "column_max=1"}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        const bool given = arg[of[k].i] != NULL;
        if (given != (of[k].wanted != 0))
            return refuse_form(t, of[k].i, SETT_E_BIND, given ? "it is given, and the product is without %s" : "it is missing: the product has %s", of[k].option);
    }
    if ((arg[SW] != NULL) != (x->scales_bytes > 0))
        return refuse_form(t, SW, SETT_E_BIND, arg[SW] ? "it is given, and b is not packed" : "it is missing: b is packed weights");
    return 0;
}

static int64_t blocks_of(int64_t n)
{
    return (n + 127) / 128;
}

/* How far apart columns of scales lie, of sa or sd, which has one for 128 of so many columns: of one, which has no stride, as sett_product_run takes it. */
static int64_t apart_of(const taken *t, int i, int columns, int64_t m)
{
    const sett_buf *scales = &t->buf[i];
    return columns > 128 && scales->rank > 1 ? scales->stride[scales->rank - 1] : (m + 3) / 4 * 4;
}

/* only: one operand alone is checked; OPERANDS: all. */
static int check_all(const product *x, const taken *t, int64_t m, int only)
{
    const sett_product_problem *p = &x->p;
    const sett_dtype beside = p->d == SETT_F32 || p->d == SETT_F16 || p->d == SETT_BF16 ? p->d : SETT_F32; /* of bias and aux: gemm.h */
    const int of_a = kinds_of_a(p), of_b = kinds_of_b(p);
    const int64_t ldsa = p->block_scales ? apart_of(t, SA, p->k, m) : 0; /* any, of each call */
    const int64_t ldsd = p->terms.quantise != 2 ? 0 : only == OPERANDS ? apart_of(t, SD, p->n, m) : (m + 3) / 4 * 4; /* one of a list, which says none */
    const int64_t rows_sb = blocks_of(p->n) << p->swiglu;
    const struct {
        int i, has;
        form form;
    } matrix[] = {{A, 1, {p->dtype, m, p->k, p->lda, p->batch_a, p->a_major, "a", of_a}}, {B, !x->packed_bytes, {p->b, (int64_t)p->n << p->swiglu, p->k, p->ldb, p->batch_b, p->b_major, "b", of_b}},
        {OUT, 1, {p->d, m, p->n, p->ldd, p->batch_d, 0, "d", of_a}}, {R, p->residual, {p->d, m, p->n, p->ldr, p->batch_r, 0, "r", of_a}},
        {AUX, p->terms.aux, {beside, m, p->n, p->ldaux, p->ldaux * x->max_m, 0, "aux", of_a}}, {SA, p->block_scales, {SETT_F32, m, blocks_of(p->k), ldsa, ldsa * blocks_of(p->k), 1, "sa", of_a}},
        {SB, p->block_scales, {SETT_F32, rows_sb, blocks_of(p->k), p->ldsb, p->ldsb * rows_sb, 0, "sb", of_b}},
        {SD, p->terms.quantise == 2, {SETT_F32, m, blocks_of(p->n), ldsd, ldsd * blocks_of(p->n), 1, "sd", of_a}}};
    const struct {
        int i, has;
        sett_dtype dtype;
        int64_t n;
        int kinds;
    } vector[] = {{SA, p->scaled, SETT_F32, m, of_a}, {SB, p->scaled, SETT_F32, p->n, of_b}, {BIAS, p->terms.bias, beside, p->n, of_b}, {S, p->terms.scale, SETT_F32, 1, 0},
        {QS, p->terms.quantise == 1, SETT_F32, 1, 0}, {AMAX, p->terms.amax, SETT_F32, p->terms.amax == 2 ? m : 1, p->terms.amax == 2 ? of_a : 0},
        {OFFSETS, p->grouped == SETT_GROUPED_CONTIGUOUS, SETT_I32, (int64_t)p->groups + 1, 0}, {COUNTS, p->grouped == SETT_GROUPED_MASKED, SETT_I32, p->groups, 0},
        {ROW_SUM, p->terms.row_sum, SETT_F32, m, of_a}, {COLUMN_SUM, p->terms.column_sum, SETT_F32, p->n, of_b}, {ROW_MAX, p->terms.row_max, SETT_F32, m, of_a}, {COLUMN_MAX, p->terms.column_max, SETT_F32, p->n, of_b}};
    for (size_t k = 0; k < sizeof matrix / sizeof *matrix; k++)
        if (matrix[k].has && (only == OPERANDS || matrix[k].i == only) && check_matrix(x, t, matrix[k].i, &matrix[k].form))
            return -1;
    if (x->packed_bytes && (check_packed(x, t, B, x->packed_bytes) || check_packed(x, t, SW, x->scales_bytes)))
        return -1;
    for (size_t k = 0; k < sizeof vector / sizeof *vector; k++)
        if (vector[k].has && (only == OPERANDS || vector[k].i == only) && check_vector(x, t, vector[k].i, vector[k].dtype, vector[k].n, vector[k].kinds))
            return -1;
    return 0;
}

/* m as it is given; -1: it is not. */
static int check_m(const product *x, const char *who, long long m)
{
    char why[160];
    if (m == -1 || !(m < -1 || (x->p.pointer_array && m > x->max_m)))
        return 0;
    PyOS_snprintf(why, sizeof why, "%s: m is %lld: from 0 to %d, the product's max_m", who, m, x->max_m);
    return fail(x->st, SETT_E_ARGUMENT, why);
}

/* The rows of a, once it is taken. Of pointer_array *m is what the call says, and not less than 0. */
static int rows_of(const product *x, const taken *t, int64_t *m)
{
    const int deep = kinds_of_a(&x->p) > 0;
    char why[100];
    if (x->p.pointer_array && *m < 0)
        return refuse(t, A, SETT_E_BIND, "it is an array of addresses, which do not say the rows: m is given");
    if (!x->p.pointer_array && *m >= 0)
        return refuse(t, A, SETT_E_BIND, "its rows are M: m is of pointer_array=1");
    if (!x->p.pointer_array && t->buf[A].rank != 2 + deep)
        return refuse_rank(x, t, A, deep);
    *m = x->p.pointer_array ? *m : t->buf[A].shape[deep];
    PyOS_snprintf(why, sizeof why, "it has %lld rows, and the product is for at most %d, its max_m", (long long)*m, x->max_m);
    return *m > x->max_m ? refuse(t, A, SETT_E_SHAPE, why) : 0;
}

/* ---- a run ------------------------------------------------------------------------------------------------ */
static PyObject *tuple_of(const int64_t *n, int count)
{
    PyObject *t = PyTuple_New(count);
    for (int i = 0; t && i < count; i++) {
        PyObject *one = PyLong_FromLongLong(n[i]);
        if (!one || PyTuple_SetItem(t, i, one))
            Py_CLEAR(t);
    }
    return t;
}

/* By the method _empty(a, shape, strides, dtype), which makes one of a's framework. of_one: it has a mode of products, of batch=1. */
static PyObject *empty(product *x, PyObject *a, int64_t m, bool of_one)
{
    const sett_product_problem *p = &x->p;
    const int deep = of_one || kinds_of_a(p) > 0;
    const int64_t shape[] = {of_one ? 1 : kinds_of_a(p), m, p->n}, stride[] = {p->batch_d, p->ldd, 1};
    PyObject *shapes = tuple_of(shape + 1 - deep, 2 + deep), *strides = tuple_of(stride + 1 - deep, 2 + deep);
    PyObject *made = shapes && strides ? PyObject_CallMethod((PyObject *)x, "_empty", "OOOi", a, shapes, strides, (int)p->d) : NULL;
    Py_XDECREF(shapes), Py_XDECREF(strides);
    return made;
}

/* arg[OUT]: NULL: one is made. */
static int take_operands(product *x, taken *t, PyObject *arg[OPERANDS], PyObject **out, int64_t *m)
{
    for (int i = 0; i < OPERANDS; i++)
        t->kept[i] = NULL;
    t->n = OPERANDS;
    const bool pointers = x->p.pointer_array != 0;
    if (take_operand(t, A, arg[A], pointers) || (pointers && check_addresses(x, t, A)))
        return -1;
    const bool of_one = drop_mode(x, t, A);
    if (rows_of(x, t, m) || check_given(x, t, arg))
        return -1;
    if (!arg[OUT] && pointers)
        return refuse(t, OUT, SETT_E_BIND, "it is missing: with pointer_array=1 the call makes none");
    *out = arg[OUT] ? Py_NewRef(arg[OUT]) : empty(x, arg[A], *m, of_one);
    if (!*out || take_operand(t, B, arg[B], pointers) || take_operand(t, OUT, *out, pointers))
        return -1;
    for (int i = R; i < OPERANDS; i++)
        if (arg[i] && take_operand(t, i, arg[i], pointers && i != AMAX))
            return -1;
    for (int i = B; i < OPERANDS; i++)
        if (arg[i] || i == OUT)
            drop_mode(x, t, i);
    return check_all(x, t, *m, OPERANDS);
}

/* ---- arrays of pointers ------------------------------------------------------------------------------------- */
/* Which operand has that name; OPERANDS: none that each product has one of. */
static int operand_named(const char *name)
{
    int i = 0;
    while (i < OPERANDS && (strcmp(names_of[i], name) || i == S || i == QS || i == SW || i == OFFSETS || i == COUNTS))
        i++;
    return i;
}

/* The address of a tensor of one product: *m rows; less than 0: as many as it has, if it is `a`. */
static int address_of(const product *x, taken *t, int i, PyObject *tensor, int64_t *m, uint64_t *address)
{
    product one = {.p = x->p, .max_m = x->max_m};
    const bool matrix = i == A || i == B || i == OUT || i == R || i == AUX;
    one.p.pointer_array = one.p.batch = 0;
    if (take_operand(t, i, tensor, false))
        return -1;
    if (i == A && *m < 0 && t->buf[A].rank == 2)
        *m = t->buf[A].shape[0];
    /* Without rows, those that it has: what lies by rows of a is checked by itself. */
    const int64_t rows = *m >= 0 ? *m : t->buf[i].rank ? t->buf[i].shape[0] : 0;
    *address = (uintptr_t)t->buf[i].data;
    if (matrix && *address % (uint64_t)x->p.align)
        return refuse_form(t, i, SETT_E_ALIGN, "it is at 0x%llx, which is not a multiple of align, %d", (unsigned long long)*address, x->p.align);
    return check_all(&one, t, rows, i);
}

/* Is it a list that can be one of addresses? 0; else -1. */
static int check_list(const product *x, const char *name, int i, Py_ssize_t n)
{
    char why[200];
    if (!x->p.pointer_array)
        return fail(x->st, SETT_E_ARGUMENT, "sett.Product.pointers: the product is without pointer_array=1");
    if (i == OPERANDS)
        PyOS_snprintf(why, sizeof why, "sett.Product.pointers: %.40s is no operand that each product has", name);
    else
        PyOS_snprintf(why, sizeof why, "sett.Product.pointers: %s: the product has batch=%d, and the list %lld tensors", name, x->p.batch, (long long)n);
    return i == OPERANDS ? fail(x->st, SETT_E_ARGUMENT, why) : n != x->p.batch ? fail(x->st, SETT_E_SHAPE, why) : 0;
}

/* _addresses(name, tensors, m) -> (addresses, m) */
static PyObject *product_addresses(PyObject *self, PyObject *args)
{
    product *x = (product *)self;
    const char *name;
    PyObject *tensors, *list = NULL, *made = NULL;
    long long rows;
    taken t;
    if (!PyArg_ParseTuple(args, "sOL:_addresses", &name, &tensors, &rows) || !(list = PySequence_List(tensors)))
        return NULL;
    const int i = operand_named(name);
    const Py_ssize_t n = PyList_Size(list);
    int64_t m = rows;
    int bad = check_list(x, name, i, n) || check_m(x, "sett.Product.pointers", rows) || !(made = PyList_New(n));
    for (Py_ssize_t k = 0; k < n && !bad; k++) {
        const char *names[OPERANDS];
        char which[40];
        uint64_t address = 0;
        PyOS_snprintf(which, sizeof which, "%s[%lld]", name, (long long)k);
        begin_taken(&t, NULL, x->device);
        t.st = x->st, t.names_of = names, t.n = i + 1, names[i] = which;
        for (int j = 0; j < i; j++)
            t.kept[j] = NULL;
        bad = address_of(x, &t, i, PyList_GetItem(list, k), &m, &address);
        drop(&t);
        PyObject *number = bad ? NULL : PyLong_FromUnsignedLongLong(address);
        bad = !number || PyList_SetItem(made, k, number);
    }
    Py_DECREF(list);
    PyObject *both = bad ? NULL : Py_BuildValue("OL", made, (long long)m);
    Py_XDECREF(made);
    return both;
}

/* What is a list, or a tuple, of tensors becomes an array of their addresses, by the method _pointers(name, tensors, m); *m: rows of a's. */
static int take_lists(product *x, PyObject *arg[OPERANDS], PyObject *made[OPERANDS], int64_t *m)
{
    for (int i = 0; i < OPERANDS; i++) {
        if (!x->p.pointer_array || !arg[i] || !(PyList_Check(arg[i]) || PyTuple_Check(arg[i])))
            continue;
        PyObject *both = PyObject_CallMethod((PyObject *)x, "_pointers", "sOL", names_of[i], arg[i], (long long)*m), *array = NULL;
        long long rows;
        const bool fine = both && PyArg_ParseTuple(both, "OL", &array, &rows);
        made[i] = fine ? Py_NewRef(array) : NULL;
        Py_XDECREF(both);
        if (!fine)
            return -1;
        arg[i] = made[i], *m = rows;
    }
    return 0;
}

/* Numbers of terms: those that the problem has, and no others. */
static int take_numbers(const product *x, PyObject *const given[NUMBERS], sett_product_operands *o)
{
    const struct {
        int wanted;
        const char *option;
        float *to;
    } of[] = {[ALPHA] = {x->p.terms.alpha, "alpha", &o->alpha}, [CAP] = {x->p.terms.softcap, "softcap", &o->cap}, [BETA] = {x->p.terms.beta, "beta", &o->beta},
        [LOW] = {x->p.terms.clamp, "clamp", &o->low}, [HIGH] = {x->p.terms.clamp, "clamp", &o->high}};
    char text[200];
    for (int i = 0; i < NUMBERS; i++) {
        const bool is = given[i] && given[i] != Py_None;
        if (is != (of[i].wanted != 0)) {
            PyOS_snprintf(text, sizeof text, is ? "sett.Product: %s is given, and the product is without %s=1" : "sett.Product: %s is missing: the product has %s=1", number_names[i], of[i].option);
            return fail(x->st, SETT_E_BIND, text);
        }
        *of[i].to = is ? (float)PyFloat_AsDouble(given[i]) : 0;
        if (is && PyErr_Occurred())
            return -1;
    }
    return 0;
}

static int run(product *x, taken *t, int m, int expected_m, PyObject *const arg[OPERANDS], PyObject *const number[NUMBERS])
{
    void *at[OPERANDS];
    sett_error err;
    for (int i = 0; i < OPERANDS; i++)
        at[i] = arg[i] || i == OUT ? t->buf[i].data : NULL;
    if (!x->p.pointer_array && !x->p.k) /* some frameworks have an address of no elements */
        at[A] = at[B] = NULL;
    if (!x->p.n)
        at[B] = at[OUT] = NULL;
    sett_product_operands o = {.size = sizeof o, .a = at[A], .b = at[B], .d = at[OUT], .r = at[R], .sa = at[SA], .sb = at[SB], .s = at[S], .qs = at[QS], .bias = at[BIAS], .aux = at[AUX],
        .amax = at[AMAX], .sw = at[SW], .ldsa = x->p.block_scales ? apart_of(t, SA, x->p.k, m) : 0, .sd = at[SD], .ldsd = x->p.terms.quantise == 2 ? apart_of(t, SD, x->p.n, m) : 0, .offsets = at[OFFSETS], .counts = at[COUNTS], .expected_m = expected_m,
        .row_sum = at[ROW_SUM], .column_sum = at[COLUMN_SUM], .row_max = at[ROW_MAX], .column_max = at[COLUMN_MAX]};
    if (take_numbers(x, number, &o))
        return -1;
    sett_status s;
    if (!t->handle_known && find_stream(t->st, t->stream, t->from, t->device, &t->handle))
        return -1;
    const int i = x->bytes ? find_room(x, t->handle) : -1;
    if (x->bytes && i < 0)
        return -1;
    void *workspace = x->bytes ? x->room[i].at : NULL;
    if (i >= 0)
        x->room[i].busy = x->device == SETT_CPU;
    WITHOUT_LOCK(s, x->engine, sett_product_run(x->plan, m, &o, workspace, x->bytes, (sett_stream){x->device, t->handle}, &err));
    if (i >= 0)
        x->room[i].busy = false;
    return PyErr_Occurred() ? -1 : s ? fail(x->st, s, err.text) : 0; /* a handler's or a print function's */
}

/* A name that is none is refused with those that there are; other exceptions stay. */
static void name_operands(PyObject *names, char *words[])
{
    PyObject *name, *value;
    char text[400];
    for (Py_ssize_t at = 0; names && PyDict_Next(names, &at, &name, &value);) {
        int i = 0, n = 0;
        const char *given = text_of(name);
        while (given && words[i] && strcmp(words[i], given))
            i++;
        if (given && words[i])
            continue;
        PyErr_Clear();
        n = PyOS_snprintf(text, sizeof text, "sett.Product: %.60s is no operand: ", given ? given : "?");
        for (i = 0; words[i]; i++)
            n += PyOS_snprintf(text + n, sizeof text - (size_t)n, "%s%s", i ? ", " : "", words[i]);
        PyErr_SetString(PyExc_TypeError, text);
        return;
    }
}

static PyObject *product_call(PyObject *self, PyObject *args, PyObject *names)
{
    static char *words[] = {"a", "b", "out", "r", "sa", "sb", "stream", "bias", "aux", "s", "qs", "amax", "sw", "alpha", "cap", "beta", "low", "high", "offsets", "counts", "expected_m",
        "row_sum", "column_sum", "row_max", "column_max", "sd", "m", NULL};
    product *x = (product *)self;
    PyObject *arg[OPERANDS] = {NULL}, *made[OPERANDS] = {NULL}, *number[NUMBERS] = {NULL}, *stream = NULL, *out = NULL;
    taken t;
    long long rows = -1;
    int expected_m = 0;
    if (!PyArg_ParseTupleAndKeywords(args, names, "OO|OOOOO$OOOOOOOOOOOOOiOOOOOL:Product", words, &arg[A], &arg[B], &arg[OUT], &arg[R], &arg[SA], &arg[SB], &stream, &arg[BIAS], &arg[AUX],
            &arg[S], &arg[QS], &arg[AMAX], &arg[SW], &number[ALPHA], &number[CAP], &number[BETA], &number[LOW], &number[HIGH], &arg[OFFSETS], &arg[COUNTS], &expected_m,
            &arg[ROW_SUM], &arg[COLUMN_SUM], &arg[ROW_MAX], &arg[COLUMN_MAX], &arg[SD], &rows))
        return name_operands(names, words), NULL;
    int64_t m = rows;
    for (int i = 0; i < OPERANDS; i++)
        arg[i] = arg[i] == Py_None ? NULL : arg[i];
    if (!arg[A] || !arg[B])
        return fail(x->st, SETT_E_BIND, "sett.Product: a and b are tensors"), NULL;
    PyObject *given = arg[OUT];
    int r = check_m(x, "sett.Product", rows) || take_lists(x, arg, made, &m) ? -1 : 0;
    if (!r) {
        begin_taken(&t, NULL, x->device);
        t.st = x->st, t.names_of = names_of, t.stream = stream;
        r = take_operands(x, &t, arg, &out, &m) || run(x, &t, (int)m, expected_m, arg, number);
        drop(&t);
    }
    for (int i = 0; i < OPERANDS; i++)
        Py_XDECREF(made[i]);
    if (r || made[OUT]) /* the list is given back */
        Py_CLEAR(out);
    return r ? NULL : out ? out : Py_NewRef(given);
}

/* ---- a tensor's shape --------------------------------------------------------------------------------------- */
PyObject *shape_of(PyObject *module, PyObject *tensor, const char *name)
{
    taken t;
    begin_taken(&t, NULL, SETT_DEFAULT_DEVICE);
    t.st = PyModule_GetState(module), t.names_of = &name, t.n = 1;
    PyObject *made = NULL;
    if (!take_operand(&t, 0, tensor, false)) {
        PyObject *shape = tuple_of(t.buf[0].shape, t.buf[0].rank), *stride = tuple_of(t.buf[0].stride, t.buf[0].rank);
        made = shape && stride ? Py_BuildValue("iOOi", (int)t.buf[0].dtype, shape, stride, t.device) : NULL;
        Py_XDECREF(shape), Py_XDECREF(stride);
    }
    drop(&t);
    return made;
}

/* ---- members ------------------------------------------------------------------------------------------------ */
enum { PLAN, DEVICE, MAX_M, BYTES };
static PyObject *product_member(PyObject *self, void *which)
{
    const product *x = (const product *)self;
    switch ((int)(intptr_t)which) {
    case PLAN: return PyLong_FromVoidPtr(x->plan);
    case DEVICE: return PyLong_FromLong(x->device);
    case MAX_M: return PyLong_FromLong(x->max_m);
    default: return PyLong_FromSize_t(x->bytes);
    }
}

static PyObject *product_engine(PyObject *self, void *unused)
{
    (void)unused;
    return Py_NewRef(((product *)self)->engine);
}

#define MEMBER(name, what, doc) {name, product_member, NULL, doc, (void *)what}
static PyGetSetDef members[] = {
    MEMBER("address", PLAN, "The sett_product *, as an integer, for calls of the C library."),
    MEMBER("device", DEVICE, "The device that it runs on; -1 is the CPU."),
    MEMBER("max_m", MAX_M, "The most rows of a call."),
    MEMBER("workspace_bytes", BYTES, "The bytes of each stream's workspace."),
    {"engine", product_engine, NULL, "The engine that it is of.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};
#define METHOD(f) (PyCFunction)(void (*)(void))f
static PyMethodDef methods[] = {
    {"__call__", METHOD(product_call), METH_VARARGS | METH_KEYWORDS | METH_COEXIST,
        "__call__($self, /, a, b, out=None, r=None, sa=None, sb=None, stream=None, *, bias=None, aux=None, s=None, qs=None, amax=None, sw=None, alpha=None, cap=None, beta=None, low=None, high=None, offsets=None, counts=None, expected_m=0, row_sum=None, column_sum=None, row_max=None, column_max=None, sd=None, m=-1)\n--\n\n"
        "One product; gives out.\n\n"
        "a: (M,K), of any M from 0 to max_m. b: (N,K), of swiglu (2N,K), gate above up. out: (M,N); None: a new one, of a's framework. r: (M,N), of\n"
        "    residual=1, may be out. sa, sb: M and N numbers of Float32, of scaled=1; of block_scales=1 (M,ceil(K/128)), whose columns\n"
        "    are contiguous and a multiple of 4 apart, and (ceil(N/128),ceil(K/128)). Of batch=L each has a mode of L before these.\n"
        "offsets: of grouped=\"contiguous\", groups + 1 of Int32: a, r, out and aux have the rows of all groups, b, sb and bias a mode of groups before these.\n"
        "counts: of grouped=\"masked\", groups of Int32: all but s and qs have that mode. expected_m: the rows that most groups have; 0: not known.\n"
        "bias, aux, s, qs, amax: (N), (M,N) which is written, (1), (1), and (1) or (M) which is raised, of the terms bias=1, aux=1, scale=1, quantise=1, amax=1\n"
        "    or 2. row_sum, column_sum, row_max, column_max: (M), (N), (M), (N), which are added to, or raised, of the terms of these names. alpha, cap, beta, low, high: numbers of alpha=1, softcap=1, beta=1, clamp=1. sett/kernels/gemm.h has their order and types.\n"
        "sd: of quantise=2 (M,ceil(N/128)) of Float32, which is written: scales of out, that lie as sa of block_scales=1, and are those of a product whose a is out.\n"
        "m: of pointer_array=1, whose operands are lists of tensors, or tensors of addresses (u64, i64), one of each product: the rows, where a is no list.\n"
        "    sw: of b=\"i4\" and other weights of fewer bits than a; b and sw are what sett.pack_weights gives, on the device, of a batch and of groups with a mode of\n"
        "    these before: np.stack([b of each]).\n"
        "    Tensors are whatever has DLPack, on the product's device, and lie as the problem says: of a call with fewer rows than max_m the products of a\n"
        "    batch, and masked groups, of a, r, out and aux lie max_m rows apart, unless batch_a ... say another distance.\n"
        "stream: a handle as an integer, or a stream of PyTorch, CuPy or cuda.core; None: the one that a's framework works on.\n\n"
        "On a GPU the launch is asynchronous, and memory must stay valid until the stream has come that far. On the CPU it has ended when the call\n"
        "returns. The first call on a stream allocates that stream's workspace, and waits for the stream.\n\n"
        "Raises sett.Error: E_DTYPE, E_RANK, E_SHAPE (also strides that differ), E_BIND (an operand that the problem has not, or that is missing),\n"
        "E_NO_DEVICE, E_ALIGN, E_CAPTURING (a stream that is being captured and has no workspace: call .prepare(stream) before), E_CLOSED; TypeError: what\nis no stream. KeyboardInterrupt ends a run on the CPU, as it does a launch of a kernel."},
    {"_reserve", product_reserve, METH_O, NULL},
    {"_addresses", product_addresses, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};
static PyType_Slot slots[] = {{Py_tp_new, (void *)product_new}, {Py_tp_dealloc, (void *)product_free}, {Py_tp_traverse, (void *)product_traverse},
    {Py_tp_call, (void *)product_call}, {Py_tp_getset, members}, {Py_tp_methods, methods}, {0, NULL}};
PyType_Spec product_spec = {"sett.Product", sizeof(product), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE, slots};
