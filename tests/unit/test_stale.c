/* SPDX-License-Identifier: Apache-2.0 */
/* Ended builds and objects of another build, in every public call that takes one: the calls and their operands come from
 * the headers (stale_calls.sh). Each call is made once an operand and kind of object with that operand of another build, and
 * the others of a build that is open and has objects of the same kinds; and once with an ended build for its build. It must
 * fail with SETT_E_STALE. The address sanitizer sees that what lies in an ended build is not read. */
#define SETT_SHORT
#include "tests/rig/recording.h"
#include <sett/sett.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- objects ------------------------------------------------------------------------------------ */
enum { FORMS = 6 };
typedef struct objects {
    sett_val *v;
    sett_layout *l;
    sett_tensor *t;
    sett_struct *s;
    sett_arg a[FORMS], child[1]; /* what an argument can be; an argument of an open build is a number */
    sett_region r;
    sett_fast_divmod d;
    sett_mma_atom *m;
    sett_tiled_mma *x;
    sett_thr_mma *y;
    sett_copy_atom *c;
    sett_tiled_copy *p;
    sett_thr_copy *q;
    sett_tma *u;
    sett_pipeline *i;
    sett_pipeline_state *e;
    sett_scheduler *k;
    sett_work_tile *w;
} objects;

static void make(sett_build *b, objects *o)
{
    sett_val *n = sett_sym(b, "N");
    sett_grid(b, 1), sett_block(b, 32);
    o->v = sett_scalar(b, "v", SETT_I32);
    o->l = sett_make_layout(b, T(4, n));
    o->t = sett_param(b, "X", SETT_F32, sett_make_layout(b, T(4, 2)));
    o->s = sett_make_struct(b, "pair", SETT_FIELD("x", SETT_F32), SETT_FIELD("y", SETT_I32));
    o->d = sett_make_fast_divmod(b, n);
    o->m = sett_mma_universal(b, .acc = SETT_F32);
    o->x = sett_make_tiled_mma(o->m, T(2, 2, 1), ALL);
    o->y = sett_get_slice(o->x, 0);
    o->c = sett_copy_universal(b, SETT_F32, 32);
    o->p = sett_make_tiled_copy_tv(o->c, sett_make_layout(b, T(2, 2)), sett_make_layout(b, T(1, 1)));
    o->q = sett_get_slice(o->p, 0);
    o->u = sett_make_tma(o->t, .layout = sett_make_layout(b, T(4, 2)), .tile = T(4, 2));
    o->i = sett_pipeline_async(b, .stages = 2, .producers = SETT_THREADS(1), .consumers = SETT_THREADS(1));
    o->e = sett_pipeline_producer_state(o->i);
    o->k = sett_tile_scheduler(b, .tiles = T(4, 2), .clusters = SETT_A(1));
    o->w = sett_initial_work_tile(o->k);
    o->r = sett_while_begin(SETT_HERE, b);
    o->child[0] = SETT_A(o->v);
    o->a[0] = SETT_A(o->v);
    o->a[1] = SETT_A(o->l);
    o->a[2] = sett_tuple(b, 4, 2);
    o->a[3] = sett_arg_n(1, o->child);
    o->a[4] = sett_shape(o->l);
    o->a[5] = b->poison->arg;
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_OK);
}

/* ---- calls -------------------------------------------------------------------------------------- */
/* The objects of each operand, and which form an argument has. */
typedef struct operands {
    const objects *of[8];
    sett_arg a[8];
    int other; /* which one is another build's */
} operands;
#define V(i) (o->of[i]->v)
#define L(i) (o->of[i]->l)
#define T_(i) (o->of[i]->t)
#define S(i) (o->of[i]->s)
#define A(i) (o->a[i])
#define R(i) (&(sett_region){o->of[i]->r.b, o->of[i]->r.iv, o->of[i]->r.serial, o->of[i]->r.open, o->of[i]->r.done, o->of[i]->r.copies})
#define D(i) (o->of[i]->d)
#define M(i) (o->of[i]->m)
#define X(i) (o->of[i]->x)
#define Y(i) (o->of[i]->y)
#define C(i) (o->of[i]->c)
#define P(i) (o->of[i]->p)
#define Q(i) (o->of[i]->q)
#define U(i) (o->of[i]->u)
#define I(x) (o->of[x]->i)
#define E(i) (o->of[i]->e)
#define K(i) (o->of[i]->k)
#define W(i) (o->of[i]->w)
typedef struct call {
    const char *name, *kinds, *text;
    void (*make)(sett_build *, const operands *);
    int by_hand; /* operands that the headers have; 0: the headers say which */
} call;

static sett_arg leaf(sett_arg x, void *user)
{
    (void)user;
    return x;
}

static bool test(sett_arg x, void *user)
{
    (void)user, (void)x;
    return false;
}

#define HAND_sett_transform_leaf_at "a", sett_transform_leaf_at(SETT_HERE, b, A(0), leaf, NULL)
#define HAND_sett_filter_tuple_at "a", sett_filter_tuple_at(SETT_HERE, b, A(0), leaf, NULL)
#define HAND_sett_find_if_at "a", sett_find_if_at(SETT_HERE, b, A(0), test, NULL)
#define HAND_sett_load_at "tv", sett_load(T_(0), .pred = V(1))
#define HAND_sett_store_at "tav", sett_store_at(SETT_HERE, T_(0), &(sett_store_args){.size = sizeof(sett_store_args), .val = A(1), .pred = V(2)})
#define HAND_sett_gather_at "tvv", sett_gather(T_(0), V(1), .pred = V(2))
#define HAND_sett_scatter_at "tvav", sett_scatter_at(SETT_HERE, T_(0), \
    &(sett_scatter_args){.size = sizeof(sett_scatter_args), .idx = V(1), .val = A(2), .pred = V(3)})
#define HAND_sett_atomic_how_at "taav", \
    sett_atomic_how_at(SETT_HERE, "x", T_(0), (sett_atomic_how){.pred = V(3)}, A(1), A(2))
#define HAND_sett_cp_async_at "ttv", sett_cp_async(T_(0), T_(1), .pred = V(2))
#define HAND_sett_mma_atom_at "", sett_mma_universal(b, .acc = SETT_F32)
#define HAND_sett_gemm_at "mttttv", sett_gemm(M(0), T_(1), T_(2), T_(3), T_(4), .accumulate = V(5))
#define HAND_sett_mma_fence_at "tt", sett_mma_fence(T_(0), T_(1))
#define HAND_sett_copy_at "tttv", sett_copy(T_(0), T_(1), T_(2), .pred = V(3))
#define HAND_sett_copy_by_atom_at "cttv", sett_copy(C(0), T_(1), T_(2), .pred = V(3))
#define HAND_sett_copy_by_tiled_at "pttv", sett_copy(P(0), T_(1), T_(2), .pred = V(3))
#define HAND_sett_param_at "l", sett_param(b, "Y", SETT_F32, L(0))
#define HAND_sett_make_smem_tensor_at "a", sett_make_smem_tensor_at(SETT_HERE, b, SETT_F32, A(0), &(sett_smem_options){.size = sizeof(sett_smem_options)})
#define HAND_sett_make_gmem_tensor_at "va", sett_make_gmem_tensor_at(SETT_HERE, b, SETT_F32, V(0), A(1), &(sett_gmem_options){.size = sizeof(sett_gmem_options)})
#define HAND_sett_for_begin "aaa", sett_for_begin(SETT_HERE, b, A(0), A(1), A(2), &(sett_for_options){.size = sizeof(sett_for_options)})
#define HAND_sett_print_tensor_at "a", sett_print_tensor_at(SETT_HERE, &(sett_print_tensor_args){.size = sizeof(sett_print_tensor_args), .what = A(0)})
#define HAND_sett_access_cost_at "ll", \
    sett_access_cost_at(SETT_HERE, &(sett_access_cost_args){.size = sizeof(sett_access_cost_args), .layout = L(0), .tensor = L(1)})
/* Of a TV layout over a tiler, or of an operation on two operands. */
#define PICTURE(as) "lalala", sett_layout_##as##_at(SETT_HERE, \
    o->other < 4 ? &(sett_picture_args){.size = sizeof(sett_picture_args), .layout = L(0), .tiler = A(1), .tensor = L(2), .isolate = A(3)} \
                 : &(sett_picture_args){.size = sizeof(sett_picture_args), .layout = L(0), .draw = SETT_DRAW_DIVIDE, .a = L(4), .b = A(5)})
#define HAND_sett_layout_svg_at PICTURE(svg)
#define HAND_sett_layout_text_at PICTURE(text)
#define HAND_sett_layout_html_at PICTURE(html)
#define HAND_sett_make_tma_at "ttla", sett_make_tma(T_(0), .smem = T_(1), .layout = L(2), .tile = A(3))
#define HAND_sett_tma_partition_at "ualtt", sett_tma_partition(U(0), A(1), L(2), T_(3), T_(4), NULL, NULL)
#define HAND_sett_tma_copy_at "utttvvvt", sett_tma_load(U(0), T_(1), T_(2), T_(3), .mask = V(4), .policy = V(5), .pred = V(6), .map = T_(7))
#define HAND_sett_update_tma_descriptor_at "utvaa", sett_update_tma_descriptor(U(0), T_(1), .address = V(2), .shape = A(3), .stride = A(4))
#define HAND_sett_bulk_copy_at "tttvvvv", sett_bulk_load(T_(0), T_(1), T_(2), .mask = V(3), .policy = V(4), .pred = V(5), .bytes = V(6))
#define HAND_sett_store_async_at "tatv", sett_store_async(T_(0), A(1), T_(2), .pred = V(3))
#define HAND_sett_mbarrier_arrive_at "tav", \
    sett_mbarrier_arrive_at(SETT_HERE, &(sett_mbarrier_args){.size = sizeof(sett_mbarrier_args), .bar = T_(0), .bytes = A(1), .pred = V(2)})
#define HAND_sett_mbarrier_expect_tx_at "tav", sett_mbarrier_expect_tx(T_(0), A(1), .pred = V(2))
#define HAND_sett_mbarrier_wait_at "ta", sett_mbarrier_wait(T_(0), A(1))
#define HAND_sett_pipeline_at "lvv", \
    sett_pipeline_async(b, .stages = 2, .producers = SETT_THREADS(1), .consumers = SETT_THREADS(1), .cluster_layout = L(0), .commit_to = V(1), .release_to = V(2))
#define HAND_sett_tile_scheduler_at "aaaaatt", \
    sett_tile_scheduler(b, .tiles = A(0), .clusters = A(1), .k_tiles = A(2), .streamed = A(3), .together = A(4), .counts = T_(5), .offsets = T_(6))
#define HAND_sett_sym_at "", sett_sym(b, "M")
#define HAND_sett_param_marked_at "", \
    sett_param_marked_at(SETT_HERE, b, "Y", &(sett_param_marked_args){.size = sizeof(sett_param_marked_args)})
#define HAND_sett_make_struct_at "s", sett_make_struct(b, "outer", SETT_FIELD_OF("in", S(0)))
#define HAND_sett_inline_ptx_at "a", sett_inline_ptx(b, "add $0, $1;", .in = {1, &A(0)})

#define NAME_(name) call_##name
#define EXPAND(name, n, ...) CALL(name, __VA_ARGS__)
#define EXPAND_(...) EXPAND(__VA_ARGS__)
#define BY_HAND(name, n) EXPAND_(name, n, HAND_##name)
#undef T
#define T T_
#define CALL(name, kinds, expr) \
    static void NAME_(name)(sett_build *b, const operands *o) \
    { \
        char buf[64]; \
        sett_val *out; \
        (void)b, (void)o, (void)buf, (void)out; \
        (void)(expr); \
    }
#include "stale_calls.h"
#undef CALL
#undef EXPAND
#define CALL(name, kinds, expr) {#name, kinds, #expr, NAME_(name), 0},
#define EXPAND(name, n, kinds, expr) {#name, kinds, #expr, NAME_(name), n},
static const call calls[] = {
#include "stale_calls.h"
};

#undef T
#define T SETT_T

/* ---- builds ------------------------------------------------------------------------------------- */
/* How the other build came to its end: as by hand, as in an engine, or not at all. Where the build itself has ended, OPEN
 * is by hand, and no other one begins. */
typedef enum world { BY_HAND_ENDED, AGAIN, OPEN } world;

/* The next build is made as the first one was, with the same objects in the same order: where memory is used again, each
 * lies where an old one lay. */
static sett_build *next_build(sett_build *old, world w)
{
    if (w == OPEN)
        return kernel();
    if (w == AGAIN) {
        sett_build *b = sett__build_again(old);
        ck_assert_ptr_nonnull(b);
        b->in_kernel = true;
        sett__build_open(b);
        return b;
    }
    ck_assert_int_eq(sett_build_end(old, NULL), SETT_OK);
    return kernel();
}

static bool has_build(const call *c)
{
    return strstr(c->text, "(b,") || strstr(c->text, " b,") || strstr(c->text, " b)");
}

/* An object of a build that is open is wrong beside a build, or an object of another one: not alone, not beside numbers,
 * and not where two layouts are compared. */
static bool sees_two(const call *c, int operand)
{
    bool two = has_build(c);
    for (int i = 0; c->kinds[i]; i++)
        two = two || (i != operand && c->kinds[i] != 'a');
    return two && strcmp(c->name, "sett_layout_equal");
}

/* Poison goes through what has no build to fail. */
static bool passes(const call *c, int operand, int form)
{
    return c->kinds[operand] == 'a' && form == FORMS - 1 && !has_build(c);
}

/* What some calls need of their other operands, to come to look at the one. */
static void suit(const call *c, sett_build *b, objects *own, operands *o)
{
    static const char *const of_shape[] = {"sett_element_at", "sett_reduce_at"};
    for (size_t i = 0; i < SETT__COUNT(of_shape); i++)
        if (!strcmp(c->name, of_shape[i]))
            own->v = sett_full(b, SETT_I32, T(4, 2), 1);
    if (!strcmp(c->name, "sett_coord_at_at"))
        own->t = sett_identity_tensor(b, 4, 2);
    if (!strncmp(c->name, "sett_mbarrier_", 14))
        own->t = sett_slice(sett_make_mbarriers(b, 2), 0);
    if (!strcmp(c->name, "sett_barrier_at") && o->other == 0)
        o->a[1] = sett_arg_i(32);
}

static int made_wrong;
static void one(const call *c, int operand, int form, world w)
{
    objects gone = {0}, own = {0};
    operands o = {0};
    sett_build *old = kernel();
    make(old, &gone);
    sett_build *b = next_build(old, w);
    make(b, &own);
    for (int i = 0; c->kinds[i]; i++) {
        o.of[i] = i == operand ? &gone : &own;
        o.a[i] = i == operand ? gone.a[form] : sett_arg_i(2);
    }
    o.other = operand;
    suit(c, b, &own, &o);
    c->make(b, &o);
    const char *text;
    sett_status s = sett_build_status(b, &text);
    if (w == OPEN && s != SETT_E_STALE)
        s = sett_build_status(old, NULL);
    if (s != SETT_E_STALE && !passes(c, operand, form) && (w != OPEN || sees_two(c, operand))) {
        made_wrong++;
        fprintf(stderr, "%s, operand %d, form %d, world %d: %s %s\n", c->name, operand, form, (int)w, sett_status_name(s), text);
    }
    sett_build_end(b, NULL);
    if (w == OPEN)
        sett_build_end(old, NULL);
}

START_TEST(another_builds)
{
    const call *c = &calls[_i];
    made_wrong = 0;
    ck_assert_msg(!c->by_hand || (int)strlen(c->kinds) == c->by_hand, "%s has %d objects for operands", c->name, c->by_hand);
    for (int i = 0; c->kinds[i]; i++)
        for (int form = 0; form < (c->kinds[i] == 'a' ? FORMS : 1); form++)
            for (world w = BY_HAND_ENDED; w <= OPEN; w++)
                one(c, i, form, w);
    ck_assert_int_eq(made_wrong, 0);
}
END_TEST

/* An ended build where a call takes a build: the open one fails; where none is open, nothing happens. */
static void given(const call *c, world w)
{
    objects own = {0};
    operands o = {0};
    const char *text;
    sett_build *old = kernel();
    make(old, &own);
    sett_build *b = w == OPEN ? NULL : next_build(old, w);
    if (b)
        make(b, &own);
    else
        sett_build_end(old, NULL);
    for (int i = 0; c->kinds[i]; i++) {
        o.of[i] = &own;
        o.a[i] = sett_arg_i(2);
    }
    c->make(old, &o);
    if (!b)
        return;
    ck_assert_msg(sett_build_status(b, &text) == SETT_E_STALE && strstr(text, ": the build has ended"), "%s: %s", c->name, text);
    sett_build_end(b, NULL);
}

START_TEST(ended_build)
{
    if (has_build(&calls[_i]))
        for (world w = BY_HAND_ENDED; w <= OPEN; w++)
            given(&calls[_i], w);
}
END_TEST

START_TEST(ends_once)
{
    sett_build *b = kernel();
    sett_error err;
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
    ck_assert_int_eq(sett_build_end(b, &err), SETT_E_STALE);
    ck_assert_str_eq(err.text, "sett_build_end: the build has ended before");
    ck_assert_int_eq(sett_build_status(b, NULL), SETT_E_STALE);
}
END_TEST

/* A space of 16 MiB, of which most is given back: an address comes again only when the space was gone through, and never
 * while it is in use. */
START_TEST(addresses_come_once)
{
    enum { SIZE = 16 << 20, PIECE = 20480, ROUND = SIZE / PIECE / 2 };
    sett__address_space s = {.lock = PTHREAD_MUTEX_INITIALIZER};
    static char *last[ROUND];
    ck_assert(sett__space_reserve(&s, SIZE));
    char *held = sett__space_take(&s, PIECE, NULL);
    memset(held, 1, PIECE);
    int wrong = 0; /* an assertion each would take longer than the rest of the suite */
    for (int k = 0; k < 40 * ROUND; k++) {
        char *p = sett__space_take(&s, PIECE, NULL);
        ck_assert_ptr_nonnull(p);
        wrong += p + PIECE > held && p < held + PIECE;
        for (int i = 0; i < ROUND; i++)
            wrong += p == last[i];
        memset(p, 2, PIECE);
        last[k % ROUND] = p;
        sett__space_give(&s, p, PIECE, PIECE);
    }
    ck_assert_int_eq(wrong, 0);
    char *large = sett__space_take(&s, 5 << 20, NULL);
    ck_assert_ptr_nonnull(large);
    memset(large, 3, 5 << 20);
    ck_assert_ptr_null(sett__space_take(&s, SIZE, NULL));
    ck_assert(held[0] == 1 && !memcmp(held, held + 1, PIECE - 1));
    sett__space_give(&s, large, 5 << 20, 5 << 20);
    sett__space_give(&s, held, PIECE, PIECE);
    sett__space_release(&s);
}
END_TEST

#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ /* which take all addresses for themselves */
/* A process that has too few addresses for its first build has builds as soon as there are more. */
START_TEST(addresses_later)
{
    unsigned long pages = 0;
    struct rlimit all;
    FILE *f = fopen("/proc/self/statm", "r");
    ck_assert(f && fscanf(f, "%lu", &pages) == 1 && !fclose(f) && !getrlimit(RLIMIT_AS, &all));
    ck_assert(!setrlimit(RLIMIT_AS, &(struct rlimit){pages * (size_t)sysconf(_SC_PAGESIZE) + (8 << 20), all.rlim_max}));
    sett_build *none = sett_build_begin();
    ck_assert(!setrlimit(RLIMIT_AS, &all));
    ck_assert_ptr_null(none);
    sett_build *b = sett_build_begin();
    ck_assert_ptr_nonnull(b);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
}
END_TEST

/* A recording that needs more addresses than builds have here is told so. */
START_TEST(addresses_used_up)
{
    const size_t most = 1 << 30;
    ck_assert(!setrlimit(RLIMIT_AS, &(struct rlimit){most, most}));
    sett_build *b = kernel();
    sett_val *x = sett_scalar(b, "x", SETT_I32);
    const char *text = "";
    for (int i = 0; i < 4000000 && !sett_build_status(b, &text); i++)
        x = sett_add(x, i + 1);
    ck_assert_msg(sett_build_status(b, &text) == SETT_E_MEMORY && strstr(text, " MiB of addresses that builds have, an eighth of RLIMIT_AS"), "%s", text);
    sett_build_end(b, NULL);
}
END_TEST
#endif

/* Memory of its own pages, which can be shut. */
enum { MOST_PIECES = 200, PAGE = 65536 };
static struct { char *p; size_t bytes; } piece[MOST_PIECES];
static int pieces;
static void *page_alloc(void *user, size_t bytes)
{
    (void)user;
    bytes = (bytes + PAGE - 1) & ~(size_t)(PAGE - 1);
    char *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED || pieces == MOST_PIECES)
        return NULL;
    piece[pieces].p = p;
    piece[pieces++].bytes = bytes;
    return p;
}

static void page_free(void *user, void *p)
{
    (void)user, (void)p; /* the process ends */
}

static void protect(int protection)
{
    for (int i = 0; i < pieces; i++)
        ck_assert_int_eq(mprotect(piece[i].p, piece[i].bytes, protection), 0);
}

static void record(sett_val *x, int n)
{
    sett_val *y = x;
    for (int i = 0; i < n; i++)
        y = i & 1 ? sett_add(y, x) : sett_mul(y, sett_add(y, i));
}

/* Once a build has failed, calls on its own objects do nothing that could take longer the more was recorded: its arrays, and
 * the heads of its arena's chunks, can be shut, and no call touches them, grows them or asks for memory. */
START_TEST(failed_records_nothing)
{
    const sett__allocator mem = {page_alloc, page_free, NULL};
    sett_build *b = sett__build_new(&mem, true);
    objects o = {0};
    make(b, &o);
    record(o.v, 100000);
    ck_assert_uint_gt(b->n_op, 100000);
    sett__fail(b, (sett_site){0}, "the test", SETT_E_LIMIT, "as of too many operations");
    int asked = pieces;
    size_t used = b->arena.used;
    protect(PROT_NONE);
    record(o.v, 1000);
    operands at = {.of = {&o, &o, &o, &o, &o, &o, &o, &o}};
    for (int k = 0; k < 8; k++)
        at.a[k] = sett_arg_i(2);
    for (size_t k = 0; k < SETT__COUNT(calls); k++)
        calls[k].make(b, &at);
    protect(PROT_READ | PROT_WRITE);
    ck_assert_int_eq(pieces, asked);
    ck_assert_uint_eq(b->arena.used, used);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_E_LIMIT);
}
END_TEST

Suite *stale_suite(void);
Suite *stale_suite(void)
{
    Suite *s = suite_create("stale");
    TCase *t = tcase_create("stale");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, another_builds, 0, (int)SETT__COUNT(calls));
    tcase_add_loop_test(t, ended_build, 0, (int)SETT__COUNT(calls));
    tcase_add_test(t, ends_once);
    tcase_add_test(t, failed_records_nothing);
    tcase_add_test(t, addresses_come_once);
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    tcase_add_test(t, addresses_later);
    tcase_add_test(t, addresses_used_up);
#endif
    suite_add_tcase(s, t);
    return s;
}
