/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object with families, for the suite warm: sound ones, one whose compile kills its process, one that never
 * records the same, and ones that are declared wrongly. */
#define SETT_SHORT
#include <errno.h>
#include <signal.h>
#include <sett/kernels.h>
#include <sett/sett.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct scaling {
    bool deadly, odd;
    short block;
    int64_t columns;
    float factor;
    double more;
    sett_dtype dtype;
} scaling;

static void scaled(sett_build *b, const void *user)
{
    const scaling *p = user;
    bool working = !strcmp(program_invocation_short_name, "sett");
    const char *once = p->odd ? getenv("SETT_TEST_ONCE") : NULL; /* it is recorded once, and what compiles it dies */
    if (p->deadly && working && !(once && !mkdir(once, 0700)))
        raise(SIGKILL);
    sett_val *M = sett_sym(b, "M");
    sett_layout *l = sett_row_major(b, M, p->columns);
    sett_tensor *X = sett_param(b, "X", p->dtype, l), *Y = sett_param(b, "Y", p->dtype, l);
    sett_grid(b, M);
    sett_block(b, p->block);
    sett_val *row = sett_block_idx(b, 0), *j = sett_thread_idx(b, 0);
    sett_if (b, sett_lt(j, p->columns))
        sett_set(Y, sett_mul(sett_at(X, row, j), p->factor + p->more + (p->odd && !p->deadly ? (double)getpid() : 0.0)), row, j);
}

static bool narrow_enough(const void *user)
{
    const scaling *p = user;
    return p->columns <= p->block;
}

static const scaling plain = {.block = 64, .columns = 40, .factor = 2, .dtype = SETT_F32};
static const sett_family_param params[] = {SETT_FAMILY_PARAM(scaling, deadly), SETT_FAMILY_PARAM(scaling, odd),
    SETT_FAMILY_PARAM(scaling, block), SETT_FAMILY_PARAM(scaling, columns), SETT_FAMILY_PARAM(scaling, factor),
    SETT_FAMILY_PARAM(scaling, more), SETT_FAMILY_PARAM(scaling, dtype)};
#define FAMILY(...) \
    { \
        .size = sizeof(sett_family), .body = scaled, .user_size = sizeof(scaling), .params = params, .n_params = 7, \
        __VA_ARGS__ \
    }
extern const sett_family defaults_family, bare_family, wrong_size, wrong_param;
const sett_family defaults_family = FAMILY(.name = "scaled", .defaults = &plain, .wanted = narrow_enough);
const sett_family bare_family = FAMILY(.name = NULL);
const sett_family wrong_size = {.size = 3};
static sett_status mute(sett_body body, void *user, const char *target, sett_error *err)
{
    (void)body, (void)user, (void)target, (void)err;
    return SETT_E_SHAPE;
}

extern const sett_family chosen_family, mute_family;
static const sett_rms_norm_options rms_norm_defaults = {.size = sizeof(sett_rms_norm_options)};
static const sett_family_param rms_norm_params[] = {SETT_FAMILY_PARAM(sett_rms_norm_options, dtype), SETT_FAMILY_PARAM(sett_rms_norm_options, cols)};
const sett_family chosen_family = {.size = sizeof(sett_family),
    .body = sett_rms_norm,
    .name = "rms_norm",
    .user_size = sizeof(sett_rms_norm_options),
    .defaults = &rms_norm_defaults,
    .params = rms_norm_params,
    .n_params = 2,
    .choose = sett_kernels_choose};
const sett_family mute_family = FAMILY(.name = "mute", .defaults = &plain, .choose = mute);
static const sett_family_param outside[] = {{"far", sizeof(scaling), 4, false}};
const sett_family wrong_param = {
    .size = sizeof(sett_family), .body = scaled, .user_size = sizeof(scaling), .params = outside, .n_params = 1};
