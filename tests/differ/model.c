/* SPDX-License-Identifier: Apache-2.0 */
/* A case carried out statement by statement, for each thread of a block in turn, element by element: see differ.h. */
#include "tests/differ/differ.h"
#include <stdlib.h>
#include <string.h>

enum { LANES = 32, RMEM_BYTES = ROOTS * WIDEST * 8, MOST_STEPS = 4000000, MANY = -2, ATOMICS = -3 };

typedef struct touched { /* a byte of shared memory, since the barrier before */
    int16_t writer, reader; /* NO_ARG: nobody */
    int32_t epoch;
    int16_t pending;        /* a copy of this thread is under way; NO_ARG: none */
    bool defined;
} touched;

typedef struct model {
    const tape_case *c;
    void *const *memory;
    int16_t *owner[BUFFERS]; /* by byte: the thread of the launch that it is of, plus 1 */
    uint64_t *value;
    size_t at[STMTS];        /* where its values begin: by thread, then element */
    int end[STMTS];          /* of an opener its END or ELSE; of an ELSE its END */
    int rmem[STMTS];         /* bytes of a thread before this root's */
    int threads, block, epoch;
    uint8_t *registers, *defined; /* RMEM_BYTES a thread */
    uint8_t *shared;
    touched *touch;
    uint64_t steps;
    const char *why;
} model;

static int bytes_of(int dtype)
{
    return sett__dtype_bytes((sett_dtype)dtype);
}

static uint64_t *cell(model *m, int s, int thread)
{
    return &m->value[m->at[s] + (size_t)thread * m->c->s[s].n];
}

/* One of several elements, or the only one. */
static uint64_t element(model *m, int s, int thread, int e)
{
    return cell(m, s, thread)[m->c->s[s].n > 1 ? e : 0];
}

static bool wrong(model *m, const char *why)
{
    if (!m->why)
        m->why = why;
    return false;
}

/* ---- memory ------------------------------------------------------------------------------------------- */
typedef enum how { READS, WRITES, COPIES, ADDS } how;

static bool touch_shared(model *m, int thread, size_t at, size_t n, how h)
{
    for (touched *t = m->touch + at; t < m->touch + at + n; t++) {
        if (t->epoch != m->epoch)
            *t = (touched){NO_ARG, NO_ARG, m->epoch, t->pending, t->defined};
        if (t->pending != NO_ARG)
            return wrong(m, "shared memory that a copy under way writes");
        bool clash = t->writer != NO_ARG && t->writer != (h == ADDS ? ATOMICS : thread);
        if (h != READS)
            clash |= t->reader != NO_ARG && (t->reader != thread || h == ADDS);
        if (clash)
            return wrong(m, "a race in shared memory");
        if (h == READS || h == ADDS)
            if (!t->defined)
                return wrong(m, "undefined shared memory is read");
        if (h == READS)
            t->reader = (int16_t)(t->reader == NO_ARG || t->reader == thread ? thread : MANY);
        else
            t->writer = (int16_t)(h == ADDS ? ATOMICS : thread), t->defined = true;
        if (h == COPIES)
            t->pending = (int16_t)thread;
    }
    return true;
}

static bool touch_global(model *m, int which, int thread, size_t at, size_t n, how h)
{
    const int me = m->block * m->threads + thread + 1, kind = m->c->b[which].kind;
    if (kind == BUFFER_READ || kind == BUFFER_SUMS)
        return h == (kind == BUFFER_READ ? READS : ADDS) || wrong(m, "global memory is used as it may not be");
    for (int16_t *o = m->owner[which] + at; o < m->owner[which] + at + n; o++) {
        if (*o && *o != me)
            return wrong(m, "a race in global memory");
        *o = (int16_t)me;
    }
    return true;
}

static bool touch_registers(model *m, size_t at, size_t n, how h)
{
    for (size_t i = at; i < at + n; i++) {
        if (h == READS && !m->defined[i])
            return wrong(m, "undefined registers are read");
        m->defined[i] = 1;
    }
    return true;
}

/* n elements of a type at root[base + imm]; NULL: they may not be touched so. */
static uint8_t *place(model *m, int root, int base, int64_t imm, int thread, int dtype, int n, int align, how h)
{
    const stmt *r = &m->c->s[root];
    const int size = bytes_of(dtype);
    int64_t index = imm, room = r->code == SETT__PARAM ? (int64_t)m->c->b[r->imm].elements * bytes_of(m->c->b[r->imm].dtype) : r->n * bytes_of(r->dtype);
    if (base != NO_ARG) {
        const uint64_t x = cell(m, base, thread)[0];
        index += m->c->s[base].dtype == SETT_I32 ? (int32_t)x : (int64_t)x;
    }
    if (index < 0 || index > room || (index + n) * size > room)
        return wrong(m, "an access outside"), NULL;
    const size_t at = (size_t)index * (size_t)size, bytes = (size_t)(n * size);
    if (at % (size_t)align)
        return wrong(m, "an access that is not aligned"), NULL;
    if (r->code == SETT__PARAM)
        return touch_global(m, (int)r->imm, thread, at, bytes, h) ? (uint8_t *)m->memory[r->imm] + at : NULL;
    if (r->code == SETT__SMEM)
        return touch_shared(m, thread, (size_t)r->imm + at, bytes, h) ? m->shared + r->imm + at : NULL;
    const size_t of = (size_t)thread * RMEM_BYTES + (size_t)m->rmem[root] + at;
    return touch_registers(m, of, bytes, h) ? m->registers + of : NULL;
}

static uint64_t get(const uint8_t *p, int dtype, int i)
{
    uint64_t x = 0;
    memcpy(&x, p + i * bytes_of(dtype), (size_t)bytes_of(dtype));
    return dtype == SETT_BOOL ? x != 0 : x;
}

static void set(uint8_t *p, int dtype, int i, uint64_t x)
{
    memcpy(p + i * bytes_of(dtype), &x, (size_t)bytes_of(dtype));
}

static bool holds(model *m, int predicate, int thread)
{
    return predicate == NO_ARG || cell(m, predicate, thread)[0];
}

static bool load(model *m, int i, int thread)
{
    const stmt *s = &m->c->s[i];
    const bool reads = holds(m, s->arg[2], thread);
    const uint8_t *p = reads ? place(m, s->arg[0], s->arg[1], s->imm, thread, s->dtype, s->n, s->align, READS) : NULL;
    for (int e = 0; e < s->n; e++)
        cell(m, i, thread)[e] = p ? get(p, s->dtype, e) : s->arg[3] != NO_ARG ? element(m, s->arg[3], thread, e) : 0;
    return p || !reads;
}

static bool store(model *m, int i, int thread)
{
    const stmt *s = &m->c->s[i], *v = &m->c->s[s->arg[3]];
    if (!holds(m, s->arg[2], thread))
        return true;
    uint8_t *p = place(m, s->arg[0], s->arg[1], s->imm, thread, v->dtype, v->n, s->align, WRITES);
    for (int e = 0; p && e < v->n; e++)
        set(p, v->dtype, e, element(m, s->arg[3], thread, e));
    return p != NULL;
}

static bool atom(model *m, int i, int thread)
{
    const stmt *s = &m->c->s[i];
    const stmt op = {.code = s->sub, .dtype = s->dtype, .n = s->n};
    if (!holds(m, s->arg[2], thread))
        return true;
    uint8_t *p = place(m, s->arg[0], s->arg[1], s->imm, thread, s->dtype, s->n, bytes_of(s->dtype) * s->n, ADDS);
    for (int e = 0; p && e < s->n; e++) {
        const uint64_t in[3] = {get(p, s->dtype, e), element(m, s->arg[3], thread, e)};
        set(p, s->dtype, e, element_op(&op, s->dtype, in));
    }
    return p != NULL;
}

static bool copy(model *m, int i, int thread)
{
    static const int type[] = {[1] = SETT_U8, [2] = SETT_U16, [4] = SETT_U32, [8] = SETT_U64};
    const stmt *s = &m->c->s[i];
    const int n = s->bytes / s->of, keeps = holds(m, s->arg[5], thread);
    if (!holds(m, s->arg[2], thread))
        return true;
    uint8_t *from = keeps ? place(m, s->arg[3], s->arg[4], s->imm, thread, type[s->of], n, s->bytes, READS) : NULL;
    uint8_t *to = place(m, s->arg[0], s->arg[1], s->to, thread, type[s->of], n, s->bytes, COPIES);
    if (!to || (keeps && !from))
        return false;
    memset(to, 0, s->bytes);
    if (from)
        memcpy(to, from, s->bytes);
    return true;
}

/* ---- values ------------------------------------------------------------------------------------------------ */
static uint64_t index_of(const model *m, const stmt *s, int thread)
{
    const int x = thread % m->c->block[0], y = thread / m->c->block[0];
    switch (s->code) {
    case SETT__TID: return (uint64_t)(s->sub == 0 ? x : s->sub == 1 ? y : 0);
    case SETT__BID: return (uint64_t)(s->sub ? 0 : m->block);
    case SETT__BDIM: return (uint64_t)(s->sub < 2 ? m->c->block[s->sub] : 1);
    case SETT__GDIM: return (uint64_t)(s->sub ? 1 : m->c->blocks);
    default: return (uint64_t)(thread % LANES);
    }
}

static void bitcast(model *m, int i, int thread)
{
    uint8_t bytes[WIDEST * 8];
    const int from = m->c->s[i].arg[0];
    for (int e = 0; e < m->c->s[from].n; e++)
        set(bytes, m->c->s[from].dtype, e, element(m, from, thread, e));
    for (int e = 0; e < m->c->s[i].n; e++)
        cell(m, i, thread)[e] = get(bytes, m->c->s[i].dtype, e);
}

static void pack(model *m, int i, int thread)
{
    uint64_t *to = cell(m, i, thread);
    for (int k = 0; k < m->c->s[i].n_arg; k++)
        for (int e = 0; e < m->c->s[m->c->s[i].arg[k]].n; e++)
            *to++ = element(m, m->c->s[i].arg[k], thread, e);
}

static void reduce(model *m, int i, int thread)
{
    const stmt *s = &m->c->s[i], op = {.code = s->sub, .dtype = s->dtype, .n = 1};
    uint64_t in[3] = {element(m, s->arg[1], thread, 0)};
    for (int e = 0; e < m->c->s[s->arg[0]].n; e++) {
        in[1] = element(m, s->arg[0], thread, e);
        in[0] = element_op(&op, s->dtype, in);
    }
    cell(m, i, thread)[0] = in[0];
}

static void compute(model *m, int i, int thread)
{
    const stmt *s = &m->c->s[i];
    uint64_t *to = cell(m, i, thread), in[3] = {0};
    const int from = s->code == SETT__SELECT ? s->dtype : m->c->s[s->arg[0]].dtype;
    for (int e = 0; e < s->n; e++) {
        for (int k = 0; k < s->n_arg; k++)
            in[k] = element(m, s->arg[k], thread, e);
        to[e] = element_op(s, from, in);
    }
}

/* Of one thread; false: it stops there. */
static bool step(model *m, int i, int thread)
{
    const stmt *s = &m->c->s[i];
    switch (s->code) {
    case SETT__CONST: cell(m, i, thread)[0] = (uint64_t)s->imm; return true;
    case SETT__SYM: cell(m, i, thread)[0] = (uint64_t)(m->threads * m->c->blocks); return true;
    case SETT__TID:
    case SETT__BID:
    case SETT__BDIM:
    case SETT__GDIM:
    case SETT__LANE: cell(m, i, thread)[0] = index_of(m, s, thread); return true;
    case SETT__LOAD: return load(m, i, thread);
    case SETT__STORE: return store(m, i, thread);
    case SETT__ATOM: return atom(m, i, thread);
    case SETT__CPASYNC: return copy(m, i, thread);
    case SETT__BITCAST: bitcast(m, i, thread); return true;
    case SETT__PACK: pack(m, i, thread); return true;
    case SETT__REDUCE: reduce(m, i, thread); return true;
    case SETT__PICK:
        for (int e = 0; e < s->n; e++)
            cell(m, i, thread)[e] = element(m, s->arg[0], thread, s->index[e]);
        return true;
    case SETT__PARAM:
    case SETT__SMEM:
    case SETT__RMEM:
    case SETT__SYNCWARP:
    case SETT__CPCOMMIT: return true;
    default: compute(m, i, thread); return true;
    }
}

/* ---- threads together ---------------------------------------------------------------------------------------- */
/* As PTX has it; a lane of its own where the source is outside of the group. */
static int source(const stmt *s, int lane, int by)
{
    const int first = lane / s->of * s->of, last = first + s->of - 1;
    int from = lane;
    switch (s->sub) {
    case SETT__SHFL_IDX: from = first + by % s->of; break;
    case SETT__SHFL_UP: from = lane - by < first ? lane : lane - by; break;
    case SETT__SHFL_DOWN: from = lane + by > last ? lane : lane + by; break;
    default: from = (lane ^ by) > last ? lane : lane ^ by;
    }
    return from;
}

static bool shuffle(model *m, int i, int first, int n)
{
    const stmt *s = &m->c->s[i];
    for (int l = 0; l < n; l++) {
        const int from = source(s, l, (int)(cell(m, s->arg[1], first + l)[0] & 31));
        if (from >= n)
            return wrong(m, "a shuffle from a lane that is not there");
        for (int e = 0; e < s->n; e++)
            cell(m, i, first + l)[e] = element(m, s->arg[0], first + from, e);
    }
    return true;
}

static bool vote(model *m, int i, int first, int n)
{
    const stmt *s = &m->c->s[i];
    uint64_t ballot = 0, every = (UINT64_C(1) << n) - 1, got;
    for (int l = 0; l < n; l++)
        ballot |= cell(m, s->arg[0], first + l)[0] << l;
    got = s->sub == SETT__VOTE_ALL ? ballot == every : s->sub == SETT__VOTE_ANY ? ballot != 0 : s->sub == SETT__VOTE_UNI ? !ballot || ballot == every : ballot;
    for (int l = 0; l < n; l++)
        cell(m, i, first + l)[0] = got;
    return true;
}

static bool match(model *m, int i, int first, int n)
{
    const stmt *s = &m->c->s[i];
    for (int l = 0; l < n; l++) {
        uint64_t like = 0, every = (UINT64_C(1) << n) - 1;
        for (int k = 0; k < n; k++)
            like |= (uint64_t)(cell(m, s->arg[0], first + k)[0] == cell(m, s->arg[0], first + l)[0]) << k;
        cell(m, i, first + l)[0] = s->sub == SETT__VOTE_ANY || like == every ? like : 0;
    }
    return true;
}

static bool redux(model *m, int i, int first, int n)
{
    const stmt *s = &m->c->s[i], op = {.code = s->sub, .dtype = s->dtype, .n = 1};
    uint64_t in[3] = {cell(m, s->arg[0], first)[0]};
    for (int l = 1; l < n; l++) {
        in[1] = cell(m, s->arg[0], first + l)[0];
        in[0] = element_op(&op, s->dtype, in);
    }
    for (int l = 0; l < n; l++)
        cell(m, i, first + l)[0] = in[0];
    return true;
}

static bool by_warp(model *m, int i, const bool *active)
{
    const int code = m->c->s[i].code;
    for (int first = 0; first < m->threads; first += LANES) {
        const int n = m->threads - first < LANES ? m->threads - first : LANES;
        int here = 0;
        for (int l = 0; l < n; l++)
            here += active[first + l];
        if (here && here < n)
            return wrong(m, "lanes together in a branch");
        if (here && !(code == SETT__SHFL ? shuffle : code == SETT__VOTE ? vote : code == SETT__MATCH ? match : redux)(m, i, first, n))
            return false;
    }
    return true;
}

static bool barrier(model *m, const bool *active)
{
    for (int t = 0; t < m->threads; t++)
        if (!active[t])
            return wrong(m, "a barrier in a branch");
    m->epoch++;
    return true;
}

static void wait_for_copies(model *m, const bool *active)
{
    for (int i = 0; i < m->c->smem; i++)
        if (m->touch[i].pending != NO_ARG && active[m->touch[i].pending])
            m->touch[i].pending = NO_ARG;
}

/* ---- regions --------------------------------------------------------------------------------------------------- */
static bool run(model *m, int from, int to, const bool *active);

static bool any(const model *m, const bool *active)
{
    for (int t = 0; t < m->threads; t++)
        if (active[t])
            return true;
    return false;
}

static bool run_if(model *m, int i, const bool *active)
{
    const int other = m->end[i], last = m->c->s[other].code == SETT__ELSE ? m->end[other] : other;
    bool arm[THREADS], none[THREADS];
    for (int t = 0; t < m->threads; t++) {
        arm[t] = active[t] && cell(m, m->c->s[i].arg[0], t)[0];
        none[t] = active[t] && !arm[t];
    }
    return run(m, i + 1, other, arm) && (last == other || run(m, other + 1, last, none));
}

/* Where a variable of this type goes on from: false: past the end. */
static bool goes_on(const stmt *s, uint64_t x, uint64_t hi)
{
    if (s->dtype == SETT_I32)
        return (int32_t)x < (int32_t)hi;
    return s->dtype == SETT_I64 ? (int64_t)x < (int64_t)hi : x < hi;
}

static bool run_for(model *m, int i, const bool *active)
{
    const stmt *s = &m->c->s[i];
    bool on[THREADS];
    for (int t = 0; t < m->threads; t++)
        cell(m, i, t)[0] = active[t] ? cell(m, s->arg[0], t)[0] : 0;
    memcpy(on, active, sizeof on);
    for (;;) {
        for (int t = 0; t < m->threads; t++)
            on[t] = on[t] && goes_on(s, cell(m, i, t)[0], cell(m, s->arg[1], t)[0]);
        if (!any(m, on))
            return true;
        if (!run(m, i + 1, m->end[i], on))
            return false;
        for (int t = 0; t < m->threads; t++)
            if (on[t])
                cell(m, i, t)[0] = (cell(m, i, t)[0] + cell(m, s->arg[2], t)[0]) & (UINT64_MAX >> (64 - 8 * bytes_of(s->dtype)));
    }
}

static bool run_loop(model *m, int i, const bool *active)
{
    int at = i + 1;
    bool on[THREADS];
    for (int depth = 0; m->c->s[at].code != SETT__WHILE || depth || m->c->s[at].gone; at++)
        if (!m->c->s[at].gone)
            depth += (m->c->s[at].code == SETT__IF || m->c->s[at].code == SETT__FOR || m->c->s[at].code == SETT__LOOP) - (m->c->s[at].code == SETT__END);
    memcpy(on, active, sizeof on);
    for (;;) {
        if (!run(m, i + 1, at, on))
            return false;
        for (int t = 0; t < m->threads; t++)
            on[t] = on[t] && cell(m, m->c->s[at].arg[0], t)[0];
        if (!any(m, on))
            return true;
        if (!run(m, at + 1, m->end[i], on))
            return false;
    }
}

static bool run_one(model *m, int i, const bool *active)
{
    switch (m->c->s[i].code) {
    case SETT__IF: return run_if(m, i, active);
    case SETT__FOR: return run_for(m, i, active);
    case SETT__LOOP: return run_loop(m, i, active);
    case SETT__BARRIER: return barrier(m, active);
    case SETT__CPWAIT: wait_for_copies(m, active); return true;
    case SETT__SHFL:
    case SETT__VOTE:
    case SETT__MATCH:
    case SETT__REDUX: return by_warp(m, i, active);
    default: break;
    }
    for (int t = 0; t < m->threads; t++)
        if (active[t] && !step(m, i, t))
            return false;
    return true;
}

static bool run(model *m, int from, int to, const bool *active)
{
    if (!any(m, active))
        return true;
    for (int i = from; i < to; i++) {
        const stmt *s = &m->c->s[i];
        if (s->gone)
            continue;
        m->steps += (uint64_t)m->threads * (s->code == SETT__SMEM ? 1u : s->n + 1u);
        if (m->steps > MOST_STEPS)
            return wrong(m, "too long");
        if (!run_one(m, i, active))
            return false;
        if (s->code == SETT__IF && m->c->s[m->end[i]].code == SETT__ELSE)
            i = m->end[m->end[i]];
        else if (s->code == SETT__IF || s->code == SETT__FOR || s->code == SETT__LOOP)
            i = m->end[i];
    }
    return true;
}

/* ---- a launch ---------------------------------------------------------------------------------------------------- */
/* Numbers of elements and of bytes, and which bracket closes which. */
static bool lay_out(model *m, size_t *values)
{
    int open[STMTS], depth = 0, registers = 0;
    for (int i = 0; i < m->c->n_stmt; i++) {
        const stmt *s = &m->c->s[i];
        if (s->gone)
            continue;
        m->at[i] = *values;
        *values += sett__ops[s->code].cls == SETT__C_ROOT ? 0 : (size_t)s->n * (size_t)m->threads;
        m->rmem[i] = registers;
        registers += s->code == SETT__RMEM ? s->n * bytes_of(s->dtype) : 0;
        if ((s->code == SETT__END || s->code == SETT__ELSE) && depth)
            m->end[open[--depth]] = i;
        if (s->code == SETT__IF || s->code == SETT__ELSE || s->code == SETT__FOR || s->code == SETT__LOOP)
            open[depth++] = i;
    }
    return !depth && registers <= RMEM_BYTES;
}

static void run_block(model *m)
{
    bool all[THREADS];
    memset(all, true, sizeof all);
    memset(m->defined, 0, (size_t)m->threads * RMEM_BYTES);
    m->epoch = 0;
    for (int i = 0; i < m->c->smem; i++)
        m->touch[i] = (touched){NO_ARG, NO_ARG, 0, NO_ARG, false};
    run(m, 0, m->c->n_stmt, all);
}

const char *model_run(const tape_case *c, void *const *memory)
{
    static model m; /* large, and of one thread */
    size_t values = 0;
    m = (model){.c = c, .memory = memory, .threads = c->block[0] * c->block[1]};
    if (!lay_out(&m, &values))
        return "regions do not nest, or too many registers";
    m.value = calloc(values + 1, sizeof *m.value);
    m.registers = malloc((size_t)m.threads * RMEM_BYTES);
    m.defined = malloc((size_t)m.threads * RMEM_BYTES);
    m.shared = malloc((size_t)c->smem + 1);
    m.touch = malloc(((size_t)c->smem + 1) * sizeof *m.touch);
    for (int i = 0; i < c->n_buffer; i++)
        m.owner[i] = c->b[i].kind == BUFFER_OWN ? calloc(case_bytes(c, i), sizeof **m.owner) : NULL;
    for (m.block = 0; m.block < c->blocks && !m.why; m.block++)
        run_block(&m);
    for (int i = 0; i < c->n_buffer; i++)
        free(m.owner[i]);
    free(m.value), free(m.registers), free(m.defined), free(m.shared), free(m.touch);
    return m.why;
}
