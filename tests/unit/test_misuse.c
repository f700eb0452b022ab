/* SPDX-License-Identifier: Apache-2.0 */
/* What no caller should do: NULL builds, operands and argument structs, tuples that are none, ending a build that is not
 * one's own. Each gives an error or poison, and what is given poison says nothing more. */
#define SETT_SHORT
#include "tests/rig/faces.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

/* ---- no build: there is none to fail ------------------------------------------------------ */
START_TEST(null_builds)
{
    sett_build *no = NULL, *b = sett_build_begin();
    sett_layout *made[] = {sett_make_layout(no, T(1, 2)), sett_make_layout(no, T(1, 2), T(1, 1)), sett_row_major(no, 1, 2),
        sett_make_ordered_layout(no, T(1, 2), T(0, 1)), sett_make_identity_layout(no, 2, 3), sett_layout_parse(no, "1:1")};
    sett_arg args[] = {sett_tuple(no, 1, 2), sett_arg_keep(no, T(1, 2)), sett_arg_parse(no, "1"), sett_idx2crd(no, 1, T(2, 2)),
        sett_ceil_div(sett_sym(no, "n"), 4), sett_round_up(4, sett_sym(no, "n")), sett_shape_div(sett_sym(no, "n"), 4)};
    for (size_t i = 0; i < SETT__COUNT(made); i++) {
        ck_assert_ptr_null(made[i]);
        ck_assert_int_eq(sett_rank(made[i]), 1);
        ck_assert_int_eq(sett_size(made[i]).kind, SETT_POISON);
    }
    for (size_t i = 0; i < SETT__COUNT(args); i++)
        ck_assert_int_eq(args[i].kind, SETT_POISON);
    ck_assert_int_eq(sett_static(no, 3), 3);
    ck_assert_int_eq(sett_static(no, ALL), 1);
    ck_assert_ptr_null(sett_thread_idx(no, 0));
    ck_assert_ptr_null(sett_param(no, "x", SETT_F32, NULL));
    ck_assert_ptr_null(sett_sym(no, "x"));
    sett_grid(no, 1);
    sett_block(no, 1);
    sett_printf(no, "x");
    sett_sync_threads(no);
    sett_region_end(NULL);
    sett_layout_equal(sett_make_layout(b, args[0]), made[0]); /* the first build that poison reaches says so */
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_E_ARGUMENT);
}
END_TEST

/* ---- operands: the build that another one knows ------------------------------------------------ */
typedef struct world {
    sett_build *b;
    sett_tensor *t, *none;
    sett_layout *l, *no_layout;
    sett_val *v, *no_val;
    sett_arg dynamic;
} world;

#define CASE(name, call) \
    static void name(world *w) \
    { \
        (void)(call); \
    }
#define STATEMENT(name, call) \
    static void name(world *w) \
    { \
        call; \
    }
CASE(add_left, sett_add(w->no_val, w->v))
CASE(add_right, sett_add(w->v, w->no_val))
CASE(divmod_of, sett_divmod(w->no_val, sett_make_fast_divmod(w->b, 3)))
CASE(where_cond, sett_where(w->no_val, w->v, 1))
CASE(fma_first, sett_fma(w->no_val, w->v, 1))
CASE(shuffle_of, sett_shuffle_sync(w->no_val, w->v, 32))
CASE(element_of, sett_element(w->no_val, w->v))
CASE(at_of, sett_at(w->none, w->v))
CASE(coord_of, sett_coord_at(w->none, w->v))
CASE(load_of, sett_load(w->none, .pred = w->v))
CASE(atomic_of, sett_atomic(w->none, SETT_ADD, w->v, 0))
CASE(slice_of, sett_slice(w->none, ALL, w->v))
CASE(tile_of, sett_local_tile(w->none, T(1, 2), T(w->v, 0)))
CASE(partition_of, sett_local_partition(w->none, w->l, 0))
CASE(offset_of, sett_domain_offset(w->none, w->v, 0))
CASE(less_of, sett_elem_less(w->none, T(w->v, 2)))
CASE(at_least_of, sett_elem_at_least(w->none, T(w->v, 2)))
CASE(coord_value_of, sett_coord_value(w->none, T(w->v, 2)))
CASE(tensor_composition, sett_composition(w->none, w->l))
CASE(layout_composition, sett_composition(w->no_layout, w->l))
CASE(layout_slice, sett_slice(w->no_layout, ALL, w->v))
CASE(divide_of, sett_zipped_divide(w->no_layout, T(w->l, 2)))
CASE(product_of, sett_logical_product(w->no_layout, w->l))
CASE(blocked_of, sett_blocked_product(w->no_layout, w->l))
CASE(tv_of, sett_make_layout_tv(w->no_layout, w->l))
CASE(index_of, sett_crd2idx(T(w->v, 1), w->no_layout))
STATEMENT(store_to, sett_store(w->none, w->v))
STATEMENT(store_what, sett_store(w->t, w->no_val))
STATEMENT(store_nothing, sett_store_at(SETT_HERE, w->t, NULL))
STATEMENT(set_to, sett_set(w->none, w->v, 0))
STATEMENT(set_at, sett_set(w->none, 1, w->v))
STATEMENT(set_what, sett_set(w->t, w->no_val, 0))
STATEMENT(fill_to, sett_fill(w->none, w->v))
STATEMENT(copy_from, sett_copy(w->none, w->t))
STATEMENT(copy_to, sett_copy(w->t, w->none))
STATEMENT(if_what, sett_if (w->b, NULL) {})
/* argument structs, lists and tuples */
CASE(sym_args, sett_sym_at(SETT_HERE, w->b, NULL))
CASE(sym_size, sett_sym_at(SETT_HERE, w->b, &(sett_sym_args){.size = 8, .name = "n"}))
CASE(sym_large, sett_sym_at(SETT_HERE, w->b, &(sett_sym_args){.size = (size_t)-1, .name = "n"}))
CASE(param_args, sett_param_at(SETT_HERE, w->b, "p", SETT_F32, NULL))
CASE(param_size, sett_param_at(SETT_HERE, w->b, "p", SETT_F32, &(sett_param_args){.size = 5000, .layout = w->l}))
CASE(param_layout, sett_param(w->b, "p", SETT_F32, NULL))
CASE(store_size, (sett_store_at(SETT_HERE, w->t, &(sett_store_args){.size = 4097, .val = sett_arg_v(w->v)}), 0))
STATEMENT(printf_list, sett_printf_n(SETT_HERE, w->b, "{}", 1, NULL))
STATEMENT(printf_count, sett_printf_n(SETT_HERE, w->b, "{}", -5, NULL))
CASE(tuple_kids, sett_make_layout(w->b, sett_arg_n(3, NULL)))
CASE(tuple_count, sett_make_layout(w->b, sett_arg_n(-1, &w->dynamic)))
CASE(tuple_wide, sett_make_layout(w->b, sett_arg_n(256, &w->dynamic)))
CASE(tuple_by_hand, sett_make_layout(w->b, ((sett_arg){.kind = SETT_NODE, .rank = 3})))
CASE(value_by_hand, sett_make_layout(w->b, ((sett_arg){.kind = SETT_VALUE})))
CASE(number_of, sett_const(w->b, SETT_F32, w->no_val))
CASE(append_rank, sett_append(w->l, w->l, w->no_val))
CASE(parse_nothing, sett_layout_parse(w->b, NULL))
CASE(kind_by_hand, sett_make_layout(w->b, ((sett_arg){.kind = 77})))

typedef struct test_case {
    const char *name;
    void (*f)(world *);
} test_case;
#define ROW(f) {#f, f},
static const test_case operands[] = {ROW(add_left) ROW(add_right) ROW(divmod_of) ROW(where_cond) ROW(fma_first) ROW(shuffle_of)
    ROW(element_of) ROW(at_of) ROW(coord_of) ROW(load_of) ROW(atomic_of) ROW(slice_of) ROW(tile_of) ROW(partition_of)
    ROW(offset_of) ROW(less_of) ROW(at_least_of) ROW(coord_value_of) ROW(tensor_composition) ROW(layout_composition) ROW(layout_slice) ROW(divide_of)
    ROW(product_of) ROW(blocked_of) ROW(tv_of) ROW(index_of) ROW(store_to) ROW(store_what) ROW(store_nothing) ROW(set_to)
    ROW(set_at) ROW(set_what) ROW(fill_to) ROW(copy_from) ROW(copy_to) ROW(if_what) ROW(sym_args) ROW(sym_size)
    ROW(sym_large) ROW(param_args) ROW(param_size) ROW(param_layout) ROW(store_size) ROW(printf_list) ROW(printf_count)
    ROW(tuple_kids) ROW(tuple_count) ROW(tuple_wide) ROW(tuple_by_hand) ROW(value_by_hand) 
    ROW(number_of) ROW(append_rank) ROW(parse_nothing) ROW(kind_by_hand)};

START_TEST(fails_the_build)
{
    const char *text;
    world w = {.b = sett__build_new(NULL, true)};
    w.v = sett_thread_idx(w.b, 0);
    w.l = sett_make_layout(w.b, T(2, 2));
    w.t = sett_make_rmem_tensor(w.b, SETT_I32, T(2, 2));
    w.dynamic = SETT_A(w.v);
    ck_assert_int_eq(sett_build_status(w.b, NULL), SETT_OK);
    operands[_i].f(&w);
    ck_assert_msg(sett_build_status(w.b, &text) == SETT_E_ARGUMENT, "%s: \"%s\"", operands[_i].name, text);
    ck_assert_msg(strstr(text, "test_misuse.c:") != NULL, "%s: \"%s\"", operands[_i].name, text);
    sett_build_end(w.b, NULL);
}
END_TEST

/* Of the operation whose operand is NULL, as long as another says which build that is. Else the next one that knows a build
 * is where it comes out, and says that the cause may lie before it. */
START_TEST(null_operands)
{
    sett_val *none = NULL;
    sett_error err;
    for (int i = 0; i < 3; i++) {
        sett_build *b = sett_build_begin();
        sett_val *f = sett_const(b, SETT_F32, 1);
        int line = __LINE__ + 1;
        sett_val *r = i == 0 ? sett_add(none, f) : i == 1 ? sett_fma(none, 2, f) : sett_add(none, 1);
        sett_mul(r, f);
        char want[300];
        snprintf(want, sizeof want,
            "test_misuse.c:%d: %s: the value is NULL, or comes of a call that was given NULL",
            line + (i == 2), i == 0 ? "sett_add" : i == 1 ? "sett_fma" : "sett_mul");
        ck_assert_int_eq(sett_build_end(b, &err), SETT_E_ARGUMENT);
        ck_assert_msg(strstr(err.text, want) != NULL, "%s\n%s", err.text, want);
    }
}
END_TEST

/* ---- tuples too deep ---------------------------------------------------------------------------- */
enum { DEEP = 200000 };

START_TEST(nesting)
{
    sett_arg *x = malloc((DEEP + 1) * sizeof *x), at64;
    x[0] = sett_arg_i(2);
    for (int i = 0; i < DEEP; i++)
        x[i + 1] = sett_arg_n(1, &x[i]);
    at64 = x[64];
    sett_build *b = sett_build_begin();
    ck_assert_int_eq(sett_rank(sett_make_layout(b, at64)), 1);
    ck_assert_int_eq(sett_depth(at64), 64);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_OK);
    const sett_arg deep[] = {x[65], x[DEEP]};
    for (int i = 0; i < 2; i++)
        for (int call = 0; call < 6; call++) {
            char text[64];
            b = sett_build_begin();
            sett_layout *l = sett_make_layout(b, 4);
            switch (call) {
            case 0: sett_make_layout(b, deep[i]); break;
            case 1: sett_tuple(b, 1, deep[i]); break;
            case 2: sett_composition(l, deep[i]); break;
            case 3: sett_slice(l, deep[i]); break;
            case 4: sett_add(deep[i], sett_const(b, SETT_I32, 1)); break;
            default: sett_grid(b, deep[i]); break;
            }
            sett_error err;
            sett_status s = sett_build_end(b, &err);
            ck_assert_msg(s == SETT_E_LIMIT || (call == 4 && s == SETT_E_ARGUMENT), "%d: %d %s", call, s, err.text);
            sett_size(deep[i]), sett_depth(deep[i]), sett_rank(deep[i]), sett_get(deep[i], 0);
            sett_ceil_div(deep[i], deep[i]);
            ck_assert_int_ge(sett_arg_str(deep[i], text, sizeof text), 0);
            ck_assert_int_eq(sett_congruent(deep[i], deep[i]), -1);
            ck_assert_int_eq(sett_compatible(deep[i], 4), -1);
            ck_assert_int_eq(sett_tuple_less(deep[i], deep[i]), -1);
        }
    free(x);
}
END_TEST

START_TEST(grown_too_deep)
{
    sett_build *b = sett_build_begin();
    sett_layout *l = sett_make_layout(b, T1(2));
    for (int i = 0; i < 1000; i++)
        l = sett_group_modes(l, 0, 1);
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_E_LIMIT);
    b = sett_build_begin();
    l = sett_make_layout(b, 2);
    for (int i = 0; i < 1000; i++)
        l = sett_make_composed_layout(l, 0, sett_make_layout(b, 2));
    ck_assert_int_eq(sett_build_end(b, NULL), SETT_E_LIMIT);
}
END_TEST

/* ---- ending what is another's ------------------------------------------------------------------- */
static void ends_its_build(sett_build *b, const void *user)
{
    (void)user;
    sett_error err;
    sett_block(b, 32);
    ck_assert_int_eq(sett_build_end(b, &err), SETT_E_ARGUMENT);
    sett_sync_threads(b);
}

/* A text that has no room ends in dots: whoever reads it knows that there is more. */
START_TEST(long_texts)
{
    sett_error e;
    char name[600];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = 0;
    sett__error(&e, SETT_E_ARGUMENT, "%s", name + 92); /* 507 */
    ck_assert_str_eq(e.text, name + 92);
    sett__error(&e, SETT_E_ARGUMENT, "%s", name);
    ck_assert(strlen(e.text) == 507 && !strcmp(e.text + 503, "n..."));
    const char *text;
    sett_build *b = sett__build_new(NULL, true);
    sett__fail(b, SETT_HERE, "sett_sym", SETT_E_ARGUMENT, "%s", name);
    ck_assert(sett_build_status(b, &text) == SETT_E_ARGUMENT && strlen(text) == 507 && !strcmp(text + 503, "n..."));
    sett_build_end(b, NULL);
}
END_TEST

START_TEST(body_ends_its_build)
{
    sett_engine *e;
    sett_kernel *k;
    sett_error err = {0};
    const sett_engine_options eo = {.size = sizeof eo, .cache_dir = "", .no_gpu = true, .cpu_threads = 1};
    const sett_compile_options o = {.size = sizeof o, .target = "cpu"};
    ck_assert_msg(!sett_engine_open(&e, &eo, &err), "%s", err.text);
    ck_assert_int_eq(sett_compile(e, ends_its_build, &o, &k, &err), SETT_E_ARGUMENT);
    ck_assert_msg(strstr(err.text, "sett_build_end: a build is not ended by what it calls: a kernel's body, or the function of a leaf") != NULL, "%s", err.text);
    sett_engine_close(e);
}
END_TEST

Suite *misuse_suite(void);
Suite *misuse_suite(void)
{
    Suite *s = suite_create("misuse");
    TCase *c = tcase_create("misuse");
    tcase_add_test(c, null_builds);
    tcase_add_test(c, null_operands);
    tcase_add_loop_test(c, fails_the_build, 0, (int)SETT__COUNT(operands));
    tcase_add_test(c, nesting);
    tcase_add_test(c, grown_too_deep);
    tcase_add_test(c, body_ends_its_build);
    tcase_add_test(c, long_texts);
    suite_add_tcase(s, c);
    return s;
}
