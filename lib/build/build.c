/* SPDX-License-Identifier: Apache-2.0 */
/* A build's life: memory, objects and their stamps, the first error, strings and sites. */
#include "build.h"
#include <string.h>
#include <time.h>

/* Two builds that live at once differ by address; the clock tells a build from an
 * earlier one at the same address. */
static uint64_t new_stamp(const sett_build *b)
{
    struct timespec now = {0};
    timespec_get(&now, TIME_UTC);
    uint64_t x = (uint64_t)(uintptr_t)b * 0x9e3779b97f4a7c15u;
    x ^= (uint64_t)now.tv_sec * 1000000007u + (uint64_t)now.tv_nsec;
    return x | 1;
}

static sett__head poison_head(sett_build *b, sett__kind kind)
{
    return (sett__head){.b = b, .kind = kind.id, .poison = true};
}

/* Poison is well formed, so that code that looks at it before checking reads no garbage. */
static void init_poison(sett_build *b)
{
    sett__poison *p = b->poison;
    p->arg = (sett_arg){.kind = SETT_POISON, .u = {.poisoned = b}};
    p->val = (sett_val){.head = poison_head(b, SETT__K_VAL), .n = 1, .scalar = true, .div = 1};
    p->val.shape = (sett_arg){.kind = SETT_NODE};
    p->layout = (sett_layout){.head = poison_head(b, SETT__K_LAYOUT)};
    p->layout.shape = (sett_arg){.kind = SETT_INT, .u = {.i = 1}};
    p->tensor = (sett_tensor){.head = poison_head(b, SETT__K_TENSOR), .space = SETT_GENERIC, .param = -1, .align = 1};
    p->tensor.layout = &p->layout;
    p->tensor.name = "";
    p->atom = poison_head(b, (sett__kind){0});
}

/* Of one build's symbols, parameters and their expressions. */
static void free_signature(sett_build *b)
{
    void *arrays[] = {b->sig.sym, b->sig.param, b->sig.leaf, b->sig.code, b->sig.check, b->sig.map, b->sym_val};
    for (size_t i = 0; i < SETT__COUNT(arrays); i++)
        sett__mem_free(b->mem, arrays[i]);
}

/* All but the arrays. The build lies in its own arena. */
static void free_objects(sett_build *b)
{
    sett__arena a = b->arena;
    sett__space_shut(a.space, b);
    free_signature(b);
    sett__arena_free(&a);
}

static void build_free(sett_build *b)
{
    void *arrays[] = {b->op, b->next, b->arg, b->index, b->site, b->string, b->val_of, b->cse, b->site_tab, b->string_tab};
    for (size_t i = 0; i < SETT__COUNT(arrays); i++)
        sett__mem_free(b->mem, arrays[i]);
    free_objects(b);
}

/* All but the memory is zero. */
static bool begin_build(sett_build *b)
{
    b->stamp = new_stamp(b);
    b->ended_if = SETT__NONE;
    b->reserve = sett__arena_room(&b->arena, SETT__RESERVE);
    b->poison = sett__arena_alloc(&b->arena, sizeof *b->poison);
    if (!b->reserve || !b->poison)
        return false;
    init_poison(b);
    /* Op 0 heads the list of ops and is what a failed call gives as an index. */
    sett__record(b, (sett_site){0}, &(sett__emit){.code = SETT__CONST, .dtype = SETT_BOOL, .n = 1});
    return !b->error.status;
}

/* Zeros but for its memory. */
static sett_build *new_zeroed(const sett__allocator *mem)
{
    sett__arena a = {.mem = mem, .space = sett__space_get()};
    sett_build *b = sett__arena_alloc(&a, sizeof *b);
    if (!b)
        return NULL;
    b->mem = mem;
    b->arena = a;
    return b;
}

void sett__build_open(sett_build *b)
{
    sett__space_open(b->arena.space, b);
}

sett_build *sett__build_new(const sett__allocator *mem, bool in_kernel)
{
    sett_build *b = new_zeroed(mem);
    if (!b)
        return NULL;
    b->in_kernel = in_kernel;
    if (begin_build(b)) {
        sett__build_open(b);
        return b;
    }
    build_free(b);
    return NULL;
}

static size_t bytes_held(const sett_build *b)
{
    return b->arena.used + b->cap_op * sizeof *b->op + b->cap_next * sizeof *b->next + b->cap_arg * sizeof *b->arg +
           b->cap_index * sizeof *b->index + b->cap_site * sizeof *b->site + b->cap_string * sizeof *b->string +
           b->cap_val_of * sizeof *b->val_of + b->cap_cse * sizeof *b->cse;
}

/* One that was hardly used would cost more to clear than to make again. */
static void clear_table(const sett_build *b, void **tab, uint32_t *cap, uint32_t n, size_t item)
{
    if (*tab && n >= *cap / 16) {
        memset(*tab, 0, *cap * item);
        return;
    }
    sett__mem_free(b->mem, *tab);
    *tab = NULL;
    *cap = 0;
}

sett_build *sett__build_again(sett_build *b)
{
    sett_build *next = bytes_held(b) > SETT__KEPT ? NULL : new_zeroed(b->mem);
    if (!next) {
        build_free(b);
        return NULL;
    }
    clear_table(b, (void **)&b->cse, &b->cap_cse, b->n_cse, sizeof *b->cse);
    clear_table(b, (void **)&b->site_tab, &b->cap_site_tab, b->n_site, sizeof *b->site_tab);
    clear_table(b, (void **)&b->string_tab, &b->cap_string_tab, b->n_string, sizeof *b->string_tab);
    memcpy(next, b, offsetof(sett_build, arena)); /* the arrays */
    free_objects(b);
    if (begin_build(next))
        return next;
    build_free(next);
    return NULL;
}

sett_build *sett_build_begin(void)
{
    return sett__build_new(NULL, false);
}

sett_status sett_build_end(sett_build *b, sett_error *err)
{
    if (!b)
        return sett__error(err, SETT_E_ARGUMENT, "sett_build_end: the build is NULL");
    if (sett__owner(b) != b)
        return sett__error(err, SETT_E_STALE, "sett_build_end: the build has ended before");
    if (b->lent) {
        sett__fail(b, (sett_site){0}, "sett_build_end", SETT_E_ARGUMENT, "a build is not ended by what it calls: a kernel's body, or the function of a leaf");
        if (err)
            *err = b->error;
        return b->error.status;
    }
    sett_status status = b->error.status;
    if (err && status)
        *err = b->error;
    build_free(b);
    return status;
}

sett_status sett_build_status(const sett_build *b, const char **text)
{
    if (b && sett__owner(b) != b) {
        if (text)
            *text = "the build has ended";
        return SETT_E_STALE;
    }
    if (text)
        *text = b && b->error.status ? b->error.text : "";
    return b ? b->error.status : SETT_E_ARGUMENT;
}

/* ---- errors ------------------------------------------------------------------ */
void sett__fail(sett_build *b, sett_site site, const char *func, sett_status status, const char *format, ...)
{
    if (!b || b->error.status)
        return;
    char *text = b->error.text;
    size_t size = sizeof b->error.text, at = 0;
    b->error.status = status;
    text[0] = 0;
    if (site.file)
        at = (size_t)snprintf(text, size, "%s:%d: ", site.file, site.line);
    if (func && at < size)
        at += (size_t)snprintf(text + at, size - at, "%s: ", func);
    va_list list;
    va_start(list, format);
    if (at < size)
        at += (size_t)vsnprintf(text + at, size - at, format, list);
    if (at >= size)
        memcpy(text + size - 4, "...", 4);
    va_end(list);
}

void sett_fail_at(sett_site site, sett_build *b, sett_status status, const char *function, const char *text)
{
    b = sett__given(b, site, "sett_fail");
    if (b)
        sett__fail(b, site, function, status ? status : SETT_E_ARGUMENT, "%s", text ? text : "no reason is given");
}

/* ---- memory and objects -------------------------------------------------------- */
void *sett__new(sett_build *b, size_t bytes)
{
    void *p = sett__arena_alloc(&b->arena, bytes);
    if (p)
        return p;
    const sett__address_space *s = b->arena.space;
    if (s && atomic_load(&s->full))
        sett__fail(b, (sett_site){0}, NULL, SETT_E_MEMORY, "out of memory: the %zu MiB of addresses that builds have, an eighth of RLIMIT_AS where that is low, are in use", s->size >> 20);
    else
        sett__fail(b, (sett_site){0}, NULL, SETT_E_MEMORY, "out of memory");
    if (bytes > SETT__RESERVE)
        return NULL;
    /* Pieces do not overlap until it is used up, so that no object can contain itself. */
    bytes = (bytes + 15) & ~(size_t)15;
    if (b->reserve_at + bytes > SETT__RESERVE)
        b->reserve_at = 0;
    p = b->reserve + b->reserve_at;
    b->reserve_at += bytes;
    return memset(p, 0, bytes);
}

void *sett__new_object(sett_build *b, sett__kind kind, size_t bytes)
{
    sett__head *head = sett__new(b, bytes);
    *head = sett__head_of(b, kind);
    return head;
}

enum { LOWEST_ADDRESS = 4096 }; /* what lies below is a C number that was taken for a pointer */
bool sett__use_object(sett_build *b, sett_site site, const char *func, const sett__head *head, sett__kind kind)
{
    const char *name = kind.name;
    if (b && head && sett__fine(b, head, kind))
        return true;
    SETT__FAIL_IF(b, site, func, !head, false, SETT_E_ARGUMENT, "the %s is NULL, or comes of a call that was given NULL", name);
    SETT__FAIL_IF(b, site, func, (uintptr_t)head < LOWEST_ADDRESS, false, SETT_E_ARGUMENT,
        "the %s is the C number %d: a comparison of values is sett_lt(i, n), and a number as a value sett_const(b, dtype, x)", name,
        (int)(uintptr_t)head);
    sett_build *owner = sett__owner(head);
    b = b ? b : sett__home(head);
    if (!b || b->error.status)
        return false;
    SETT__FAIL_IF(b, site, func, owner != b, false, SETT_E_STALE, "the %s belongs to another build, or to one that has ended", name);
    if (head->poison)
        return false;
    SETT__FAIL_IF(b, site, func, head->kind != kind.id, false, SETT_E_ARGUMENT, "this is not a %s", name);
    SETT__FAIL_IF(b, site, func, head->stamp != b->stamp || b->ended, false, SETT_E_STALE,
        "the %s belongs to a build that has ended", name);
    return true;
}

/* What a failing build cannot be told of is lost: nobody records. */
sett_build *sett__failing(const void *object)
{
    return object ? sett__space_newest(&sett__addresses) : NULL;
}

sett_build *sett__given_ended(sett_build *b, sett_site site, const char *func)
{
    sett__fail(sett__failing(b), site, func, SETT_E_STALE, "the build has ended");
    return NULL;
}

bool sett__lives(const char *func, const void *object, sett__kind kind)
{
    if (!object || sett__owner(object))
        return object != NULL;
    sett__fail(sett__failing(object), (sett_site){0}, func, SETT_E_STALE, "the %s belongs to a build that has ended", kind.name);
    return false;
}

/* Do the children of a tuple lie in the memory of another build than b (NULL: of one that has ended)? */
static bool children_gone(const sett_build *b, sett_arg node)
{
    const sett_build *owner = sett__owner(node.u.kid);
    return sett__in_space(node.u.kid) && (!owner || (b && owner != b));
}

static const char *opener_name(const sett_build *b, uint32_t serial)
{
    /* Openers carry the serial of what they open until the tape is made. */
    for (uint32_t i = 0; i < b->n_op; i++) {
        const sett__op *op = &b->op[i];
        if (op->imm != serial)
            continue;
        if (sett__opens(op->code))
            return sett__opener(op->code);
    }
    return "a region";
}

/* A region that has been closed took its values with it. */
static bool use_visible(sett_build *b, sett_site site, const char *func, const sett_val *v)
{
    if (sett__visible(v))
        return true;
    uint32_t at = v->id < b->n_op ? b->op[v->id].site : SETT__NONE;
    const char *opener = opener_name(b, v->serial);
    if (at == SETT__NONE)
        sett__fail(b, site, func, SETT_E_REGION, "a value made inside %s is used outside it: keep it in a sett_var or an rmem tensor", opener);
    else
        sett__fail(b, site, func, SETT_E_REGION, "a value made at %s:%u inside %s is used outside it: keep it in a sett_var or an rmem tensor",
            b->string[b->site[at].file], b->site[at].line, opener);
    return false;
}

bool sett__use_val(sett_build *b, sett_site site, const char *func, const sett_val *v)
{
    return (b && v && sett__fine_val(b, v)) ||
           (sett__use_object(b, site, func, (const sett__head *)(const void *)v, SETT__K_VAL) && use_visible(v->head.b, site, func, v));
}

static bool use_layout_parts(sett_build *b, sett_site site, const char *func, const sett_layout *l)
{
    bool ok = sett__use_arg(b, site, func, l->shape) && sett__use_arg(b, site, func, l->stride);
    if (ok && l->has_inner)
        ok = sett__use_arg(b, site, func, l->offset);
    return ok && (l->has_inner != 2 || sett__use_layout(b, site, func, l->inner));
}

/* A layout does not change: what was visible stays so until the region ends that was the innermost one then. */
static bool layout_was_seen(const sett_build *b, const sett_layout *l)
{
    return l->seen == 1 || (l->seen && l->seen - 2 < (uint32_t)b->depth && b->region[l->seen - 2].serial == l->seen_in);
}

bool sett__use_layout(sett_build *b, sett_site site, const char *func, const sett_layout *l)
{
    if (!sett__use_object(b, site, func, l ? &l->head : NULL, SETT__K_LAYOUT))
        return false;
    b = l->head.b;
    if (layout_was_seen(b, l))
        return true;
    if (!use_layout_parts(b, site, func, l))
        return false;
    ((sett_layout *)l)->seen = (uint32_t)b->depth + 1;
    ((sett_layout *)l)->seen_in = b->depth ? b->region[b->depth - 1].serial : 0;
    return true;
}

/* A peer's memory is known in the region where it was asked for. */
static bool use_root(sett_build *b, sett_site site, const char *func, const sett_tensor *t)
{
    const sett__op *op = &b->op[t->root];
    bool open = !op->depth || (op->depth <= b->depth && b->region[op->depth - 1].serial == op->other);
    SETT__FAIL_IF(b, site, func, !open, false, SETT_E_REGION, "%s of a peer was made in a region that has ended: call sett_map_dsmem here, or before it", t->name);
    return true;
}

bool sett__use_tensor(sett_build *b, sett_site site, const char *func, const sett_tensor *t)
{
    if (b && t && sett__fine(b, &t->head, SETT__K_TENSOR) && t->space != SETT_DSMEM && layout_was_seen(b, t->layout) &&
        (t->offset.kind == SETT_INT || (t->offset.kind == SETT_VALUE && sett__fine_val(b, t->offset.u.v))))
        return true;
    return sett__use_object(b, site, func, t ? &t->head : NULL, SETT__K_TENSOR) && sett__use_arg(t->head.b, site, func, t->offset) &&
           sett__use_layout(t->head.b, site, func, t->layout) && (t->space != SETT_DSMEM || use_root(t->head.b, site, func, t));
}

/* The result of a call that had no build to fail: it fails the one that it reaches. */
static bool use_constant(sett_build *b, sett_site site, const char *func, unsigned from)
{
    static const char *const ops[] = {[SETT_ADD] = "add", [SETT_SUB] = "sub", [SETT_MUL] = "mul", [SETT_DIV] = "div",
        [SETT_FLOORDIV] = "floordiv", [SETT_MOD] = "mod", [SETT_MIN] = "min", [SETT_MAX] = "max", [SETT_AND] = "and",
        [SETT_OR] = "or", [SETT_XOR] = "xor", [SETT_SHL] = "shl", [SETT_SHR] = "shr", [SETT_LT] = "lt", [SETT_LE] = "le",
        [SETT_GT] = "gt", [SETT_GE] = "ge", [SETT_EQ] = "eq", [SETT_NE] = "ne"};
    static const char *const divisions[] = {"ceil_div", "round_up", "shape_div"};
    if (from == SETT__FROM_TUPLE)
        sett__fail(b, site, func, SETT_E_ARGUMENT, "a tuple has 0 to 255 children, and they are not NULL");
    else if (from == SETT__FROM_TOO_LARGE)
        sett__fail(b, site, func, SETT_E_RANGE, "a number is above 2^63-1");
    else if (from >= SETT__FROM_CEIL_DIV && from <= SETT__FROM_SHAPE_DIV) {
        const char *name = divisions[from - SETT__FROM_CEIL_DIV];
        sett__fail(b, site, func, SETT_E_RANGE,
            "an argument has no value: it is sett_%s of numbers that have no quotient, or of tuples without a dynamic leaf, for "
            "which there is sett_%s(b, ...)",
            name, name);
    } else if (from == SETT__FROM_BASIS)
        sett__fail(b, site, func, SETT_E_LIMIT,
            "an argument has no value: a scaled basis is an integer @ 1 to 8 modes of 0 to 14");
    else if (from >= SETT__FROM_BINARY && from - SETT__FROM_BINARY < SETT__COUNT(ops))
        sett__fail(b, site, func, SETT_E_RANGE,
            "an argument has no value: it is sett_%s of constants that have no result", ops[from - SETT__FROM_BINARY]);
    else
        sett__fail(b, site, func, SETT_E_ARGUMENT, "an argument has no value: the call that gave it failed and had no build");
    return false;
}

static bool use_nested(sett_build *b, sett_site site, const char *func, sett_arg a, int level, int *room)
{
    SETT__FAIL_IF(b, site, func, --*room < 0, false, SETT_E_LIMIT, "a tuple has more than %d leaves", SETT__TUPLE_LEAVES);
    switch (a.kind) {
    case SETT_VALUE:
        return sett__use_val(b, site, func, a.u.v);
    case SETT_LAYOUT:
        return sett__use_layout(b, site, func, a.u.l);
    case SETT_NODE:
        SETT__FAIL_IF(b, site, func, a.rank && !a.u.kid, false, SETT_E_ARGUMENT, "a tuple's %d children are NULL", a.rank);
        SETT__FAIL_IF(b, site, func, level > SETT__MAX_NEST, false, SETT_E_LIMIT, "a tuple nests deeper than %d", SETT__MAX_NEST);
        if (a.rank && children_gone(b, a)) {
            sett__fail(b ? b : sett__home(a.u.kid), site, func, SETT_E_STALE,
                "the argument belongs to another build, or to one that has ended");
            return false;
        }
        for (int i = 0; i < a.rank; i++)
            if (!use_nested(b, site, func, a.u.kid[i], level + 1, room))
                return false;
        ++*room; /* it was no leaf */
        return true;
    case SETT_POISON:
        if (!a.u.poisoned)
            return use_constant(b, site, func, a.reserved);
        if (!b)
            b = sett__home(a.u.poisoned);
        SETT__FAIL_IF(b, site, func, a.u.poisoned != b, false, SETT_E_STALE,
            "the argument belongs to another build, or to one that has ended");
        return false;
    case SETT_INT:
    case SETT_FLOAT:
    case SETT_SLICE:
        return !b || !b->error.status;
    default:
        sett__fail(b, site, func, SETT_E_ARGUMENT, "this is not a sett_arg");
        return false;
    }
}

/* The first part of an argument that lies in a build which has ended; NULL: none does. */
static const void *first_gone(sett_arg a, int level, int *room)
{
    const void *gone = NULL;
    if (--*room < 0)
        return NULL;
    if (a.kind == SETT_VALUE || a.kind == SETT_LAYOUT || a.kind == SETT_TENSOR || a.kind == SETT_POISON)
        return sett__owner(a.u.v) ? NULL : a.u.v;
    if (a.kind != SETT_NODE || !a.rank || !a.u.kid || level > SETT__MAX_NEST)
        return NULL;
    if (sett__in_space(a.u.kid))
        return sett__owner(a.u.kid) ? NULL : a.u.kid;
    for (int i = 0; i < a.rank && !gone; i++)
        gone = first_gone(a.u.kid[i], level + 1, room);
    return gone;
}

bool sett__arg_lives(sett_site site, const char *func, sett_arg a)
{
    int room = SETT__TUPLE_LEAVES + SETT__MAX_NEST;
    const void *gone = first_gone(a, 1, &room);
    if (gone)
        sett__fail(sett__failing(gone), site, func, SETT_E_STALE, "the argument belongs to a build that has ended");
    return !gone;
}

bool sett__use_arg(sett_build *b, sett_site site, const char *func, sett_arg a)
{
    int room = SETT__TUPLE_LEAVES;
    if (a.kind == SETT_INT ? !b || !b->error.status : a.kind == SETT_VALUE && a.u.v && b && sett__fine_val(b, a.u.v))
        return true;
    return use_nested(b, site, func, a, 1, &room);
}

/* Looks at no more than what sett__use_arg lets pass. */
static sett_build *build_below(sett_arg a, int level, int *room)
{
    sett_build *b = NULL;
    if (--*room < 0)
        return NULL;
    if (a.kind == SETT_VALUE)
        return sett__home(a.u.v);
    if (a.kind == SETT_LAYOUT)
        return sett__home(a.u.l);
    if (a.kind == SETT_POISON)
        return sett__home(a.u.poisoned);
    if (a.kind == SETT_NODE && a.rank && children_gone(NULL, a))
        return sett__home(a.u.kid);
    if (a.kind == SETT_NODE && a.u.kid && level <= SETT__MAX_NEST)
        for (int i = 0; i < a.rank && !b; i++)
            b = build_below(a.u.kid[i], level + 1, room);
    return b;
}

sett_build *sett__build_below(sett_arg a)
{
    int room = SETT__TUPLE_LEAVES + SETT__MAX_NEST;
    return build_below(a, 1, &room);
}

bool sett__take_args(const sett__ctx *c, void *to, size_t size, const void *from)
{
    size_t given = 0;
    memset(to, 0, size);
    SETT__FAIL_IF(c->b, c->site, c->func, !from, false, SETT_E_ARGUMENT, "the arguments are NULL");
    memcpy(&given, from, sizeof given);
    bool sane = given >= sizeof(size_t) + sizeof(void *) && given <= 4096; /* all begin with size and a pointer */
    SETT__FAIL_IF(c->b, c->site, c->func, !sane, false, SETT_E_ARGUMENT,
        "the arguments' size is %zu: set it to the sizeof of their struct", given);
    memcpy(to, from, given < size ? given : size);
    return true;
}

/* ---- strings and sites: each kept once --------------------------------------------- */
static uint32_t hash_text(const char *s)
{
    uint32_t h = 2166136261u;
    while (*s)
        h = (h ^ (unsigned char)*s++) * 16777619u;
    return h;
}

static uint32_t hash_site(sett__site_ref r)
{
    uint32_t h = (r.file * 0x9e3779b1u) ^ (r.func * 0x85ebca77u) ^ (r.line * 0xc2b2ae3du);
    return h ^ (h >> 15);
}

static uint32_t hash_entry(const sett_build *b, bool strings, uint32_t i)
{
    return strings ? hash_text(b->string[i]) : hash_site(b->site[i]);
}

/* Makes room for one more in an index table (entries are item + 1) of n items. */
static bool table_room(sett_build *b, bool strings, uint32_t **tab, uint32_t *cap, uint32_t n)
{
    if (*cap && n < *cap / 2)
        return true;
    uint32_t grown = *cap ? *cap * 2 : 64;
    uint32_t *fresh = sett__mem_zeroed(b->mem, grown * sizeof *fresh);
    SETT__FAIL_IF(b, (sett_site){0}, NULL, !fresh, false, SETT_E_MEMORY, "out of memory");
    for (uint32_t i = 0; i < n; i++) {
        uint32_t at = hash_entry(b, strings, i) & (grown - 1);
        while (fresh[at])
            at = (at + 1) & (grown - 1);
        fresh[at] = i + 1;
    }
    sett__mem_free(b->mem, *tab);
    *tab = fresh;
    *cap = grown;
    return true;
}

uint32_t sett__intern(sett_build *b, const char *s)
{
    if (!table_room(b, true, &b->string_tab, &b->cap_string_tab, b->n_string))
        return 0;
    uint32_t mask = b->cap_string_tab - 1, at = hash_text(s) & mask;
    for (; b->string_tab[at]; at = (at + 1) & mask)
        if (!strcmp(b->string[b->string_tab[at] - 1], s))
            return b->string_tab[at] - 1;
    char *copy = sett__arena_str(&b->arena, s);
    if (!copy || !sett__grow(b->mem, (void **)&b->string, &b->cap_string, b->n_string + 1, sizeof *b->string)) {
        sett__fail(b, (sett_site){0}, NULL, SETT_E_MEMORY, "out of memory");
        return 0;
    }
    b->string[b->n_string] = copy;
    b->string_tab[at] = ++b->n_string;
    return b->n_string - 1;
}

/* The caller is mostly on the line of the call before: compare with the last site first. */
uint32_t sett__site(sett_build *b, sett_site site)
{
    if (!site.file || b->error.status)
        return SETT__NONE;
    char both[600];
    const char *func = site.func ? site.func : "";
    if (b->race_ok) {
        snprintf(both, sizeof both, "%.200s%s", func, b->race_ok);
        func = both;
    }
    uint32_t line = site.line > 0 ? (uint32_t)site.line : 0;
    sett__site_ref r = {.line = line};
    const sett__site_ref *last = b->n_site ? &b->site[b->last_site] : NULL;
    bool same_file = last && !strcmp(b->string[last->file], site.file), same_func = last && !strcmp(b->string[last->func], func);
    if (same_file && same_func && last->line == line)
        return b->last_site;
    r.file = same_file ? last->file : sett__intern(b, site.file);
    r.func = same_func ? last->func : sett__intern(b, func);
    if (b->error.status || !table_room(b, false, &b->site_tab, &b->cap_site_tab, b->n_site))
        return SETT__NONE;
    uint32_t mask = b->cap_site_tab - 1, at = hash_site(r) & mask;
    for (; b->site_tab[at]; at = (at + 1) & mask) {
        const sett__site_ref *x = &b->site[b->site_tab[at] - 1];
        if (x->file == r.file && x->func == r.func && x->line == line)
            return b->last_site = b->site_tab[at] - 1;
    }
    if (!sett__grow(b->mem, (void **)&b->site, &b->cap_site, b->n_site + 1, sizeof *b->site)) {
        sett__fail(b, (sett_site){0}, NULL, SETT_E_MEMORY, "out of memory");
        return SETT__NONE;
    }
    b->site[b->n_site] = r;
    b->site_tab[at] = ++b->n_site;
    return b->last_site = b->n_site - 1;
}

/* ---- open builds ------------------------------------------------------------------------------ */
void sett__space_open(sett__address_space *s, sett_build *b)
{
    pthread_mutex_lock(&s->lock);
    b->open = true;
    b->thread = pthread_self();
    b->older = *s->open;
    if (b->older)
        b->older->newer = b;
    *s->open = b;
    pthread_mutex_unlock(&s->lock);
}

void sett__space_shut(sett__address_space *s, sett_build *b)
{
    pthread_mutex_lock(&s->lock);
    if (b->open) {
        *(b->newer ? &b->newer->older : s->open) = b->older;
        if (b->older)
            b->older->newer = b->newer;
    }
    b->open = false;
    b->older = b->newer = NULL;
    pthread_mutex_unlock(&s->lock);
}

sett_build *sett__space_newest(sett__address_space *s)
{
    if (!s->size)
        return NULL;
    pthread_mutex_lock(&s->lock);
    sett_build *b = *s->open;
    while (b && !pthread_equal(b->thread, pthread_self()))
        b = b->older;
    pthread_mutex_unlock(&s->lock);
    return b;
}

const char *sett__opener(int code)
{
    return code == SETT__FOR ? "sett_for" : code == SETT__LOOP ? "sett_while" : code == SETT__IF ? "sett_if" : "sett_else";
}
