/* SPDX-License-Identifier: Apache-2.0 */
/* The scheduler's tiles of groups: numbers of rows that a kernel alone knows. On the CPU engine or, with SETT_TEST_GPU=1, on GPU 0. */
#define SETT_SHORT
#include "tests/rig/kernels_rig.h"

enum { GROUPS = 23, TALL = 5, GROUP_N = 7 };
typedef struct grouping { int x, y, swizzle, raster, clusters, rows; bool offsets; } grouping;
static const int group_rows[GROUPS] = {0, 1, 0, 0, 30, 8, 17, 0, 31, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 5, 0, 0};
static int32_t group_table[GROUPS + 1];

/* At each tile of a group, which of all clusters of tiles it was of; elsewhere -1. Behind them, the rows that its group was said to have. */
static void grouping_body(sett_build *b, const void *user)
{
    const grouping *p = user;
    sett_tensor *D = sett_param(b, "D", SETT_I32, sett_row_major(b, GROUPS, TALL * GROUP_N + 2));
    sett_tensor *table = sett_param(b, "table", SETT_I32, sett_make_layout(b, T1(GROUPS + p->offsets)));
    sett_cluster(b, p->x, p->y);
    sett_scheduler *s = sett_tile_scheduler(b, .tiles = T(TALL, GROUP_N, GROUPS), .clusters = SETT_A(p->clusters), .swizzle = p->swizzle, .raster = (sett_raster)p->raster,
        .counts = p->offsets ? NULL : table, .offsets = p->offsets ? table : NULL, .rows = p->rows);
    sett_grid(b, sett_scheduler_grid(s)), sett_block(b, 1);
    sett_work_tile *w = sett_initial_work_tile(s);
    sett_tensor *number = sett_var(b, SETT_I32, sett_block_idx(b, 2));
    sett_while (b, sett_is_valid_tile(w)) {
        sett_arg at = sett_tile_coord(w), rows = sett_tile_rows(w);
        sett_val *m = sett_value(b, sett_get(at, 0)), *n = sett_value(b, sett_get(at, 1)), *g = sett_value(b, sett_get(at, 2)), *high = sett_sub(sett_value(b, sett_get(rows, 1)), sett_value(b, sett_get(rows, 0)));
        sett_if (b, sett_and(sett_lt(sett_mul(m, p->rows), high), sett_lt(n, GROUP_N)))
            sett_set(D, sett_at(number, 0), g, sett_add(sett_mul(m, GROUP_N), n));
        sett_set(D, sett_get(rows, 0), g, TALL * GROUP_N);
        sett_set(D, sett_get(rows, 1), g, TALL * GROUP_N + 1);
        sett_set(number, sett_add(sett_at(number, 0), sett_grid_dim(b, 2)), 0);
        sett_advance_to_next_work(w);
    }
}

/* Group after group, and a group's clusters of tiles band after band, a band row after row: of raster M; of raster N with both exchanged. */
static void check_grouping(const grouping *p, const int *d)
{
    int number = 0, first = 0;
    static int want[GROUPS][TALL * GROUP_N + 2];
    memset(want, 0xff, sizeof want);
    for (int g = 0; g < GROUPS; first += group_rows[g++]) {
        const int tall = (group_rows[g] + p->rows - 1) / p->rows, cm = (tall + p->x - 1) / p->x, cn = (GROUP_N + p->y - 1) / p->y;
        const int major = p->raster ? cn : cm, minor = p->raster ? cm : cn, wide = p->swizzle ? p->swizzle : 1;
        for (int band = 0; band < minor; band += wide)
            for (int along = 0; along < major; along++)
                for (int across = band; across < minor && across < band + wide; across++, number++)
                    for (int i = 0; i < p->x * p->y; i++) {
                        const int m = (p->raster ? across : along) * p->x + i % p->x, n = (p->raster ? along : across) * p->y + i / p->x;
                        if (m < tall && n < GROUP_N)
                            want[g][m * GROUP_N + n] = number;
                    }
        if (tall)
            want[g][TALL * GROUP_N] = p->offsets ? first : 0, want[g][TALL * GROUP_N + 1] = (p->offsets ? first : 0) + group_rows[g];
    }
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < TALL * GROUP_N + 2; i++, d++)
            ck_assert_msg(*d == want[g][i], "group %d, number %d: %d, not %d", g, i, *d, want[g][i]);
}

static const grouping groupings[] = {{1, 1, 0, 0, 3, 8, false}, {1, 1, 8, 1, 5, 8, true}, {1, 2, 2, 1, 2, 16, false}, {2, 1, 3, 0, 4, 7, true}, {2, 2, 4, 1, 100, 31, true}};

START_TEST(groups_are_taken_in_order)
{
    const grouping *p = &groupings[_i];
    const sett_compile_options co = {.size = sizeof co, .user = p, .user_size = sizeof *p};
    static int host[GROUPS * (TALL * GROUP_N + 2)];
    sett_kernel *k = NULL;
    for (int g = 0; g <= GROUPS; g++)
        group_table[g] = p->offsets ? (g ? group_table[g - 1] + group_rows[g - 1] : 0) : g < GROUPS ? group_rows[g] : 0;
    void *d = sett_alloc(r.e, r.stream.device, sizeof host), *table = sett_alloc(r.e, r.stream.device, sizeof group_table);
    memset(host, 0xff, sizeof host);
    ck_assert(d && table && !sett_memcpy(r.e, r.stream, d, host, sizeof host) && !sett_memcpy(r.e, r.stream, table, group_table, sizeof group_table));
    const sett_status s = sett_compile(r.e, grouping_body, &co, &k, &err);
    if (s == SETT_E_TARGET && p->x * p->y > 1) { /* no clusters */
        sett_free(r.e, r.stream.device, d), sett_free(r.e, r.stream.device, table);
        return;
    }
    ck_assert_msg(!s, "%s", err.text);
    sett_buf D = sett_buf_2d(d, SETT_I32, GROUPS, TALL * GROUP_N + 2), of = sett_buf_1d(table, SETT_I32, GROUPS + p->offsets);
    ck_assert_msg(!sett_launch(k, r.stream, &err, &D, &of), "%s", err.text);
    ck_assert_msg(!sett_memcpy(r.e, r.stream, host, d, sizeof host) && !sett_sync_error(r.e, r.stream, &err), "%s", err.text);
    check_grouping(p, host);
    sett_kernel_release(k);
    sett_free(r.e, r.stream.device, d), sett_free(r.e, r.stream.device, table);
}
END_TEST

Suite *scheduler_groups_suite(void);
Suite *scheduler_groups_suite(void)
{
    Suite *s = suite_create("scheduler_groups");
    TCase *t = tcase_create("all");
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, groups_are_taken_in_order, 0, (int)(sizeof groupings / sizeof *groupings));
    suite_add_tcase(s, t);
    return s;
}
