/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of shared objects that are unloaded: what the engine remembers by a body's address is not found for the body that is loaded
 * there next, and what stays loaded is found all the same. */
#include "tests/rig/faces.h"
#include "tests/rig/rig.h"
#include "tests/rig/suite.h"
#include <dlfcn.h>
#include <stdlib.h>

static sett_error err;
static const int32_t user = 7;

typedef struct plugin {
    void *object;
    union {
        void *address;
        sett_body body;
    } code;
} plugin;

/* One of the two, by the same name. */
static plugin load(const char *which)
{
    plugin p;
    char from[4096], command[9000];
    ck_assert(sett__beside(which, from, sizeof from));
    snprintf(command, sizeof command, "cp %s %s", from, in_root("plugin.so"));
    ck_assert_int_eq(system(command), 0);
    p.object = dlopen(in_root("plugin.so"), RTLD_NOW | RTLD_LOCAL);
    ck_assert_msg(p.object != NULL, "%s", dlerror());
    p.code.address = dlsym(p.object, "unloaded_body");
    ck_assert_ptr_nonnull(p.code.address);
    return p;
}

static void unload(plugin p)
{
    ck_assert_int_eq(dlclose(p.object), 0);
}

/* What its kernel makes of 5. */
static int run(sett_engine *e, sett_body body)
{
    int32_t x[32] = {5};
    const sett_buf X = sett_buf_1d(x, SETT_I32, 32);
    const sett_compile_options o = {.size = sizeof o, .target = "cpu", .user = &user, .user_size = sizeof user};
    sett_kernel *k;
    ck_assert_msg(!sett_compile(e, body, &o, &k, &err), "%s", err.text);
    ck_assert_msg(!sett_launch(k, sett_stream_of(SETT_CPU, NULL), &err, &X), "%s", err.text);
    sett_kernel_release(k);
    return x[0];
}

static void own(sett_build *b, const void *bytes)
{
    (void)bytes;
    sett_tensor *X = sett_param(b, "X", SETT_I32, sett_make_layout(b, 32));
    sett_set(X, 4, 0);
}

/* How many of the rounds had their body where the first had it; all, here, as the loader takes the same place. */
static int in_turn(sett_engine *e)
{
    static const char *const which[] = {"test-unloaded-2.so", "test-unloaded-3.so"};
    void *first = NULL;
    int same = 0;
    for (int i = 0; i < 4; i++) {
        plugin p = load(which[i % 2]);
        first = first ? first : p.code.address;
        same += p.code.address == first;
        ck_assert_int_eq(run(e, p.code.body), 10 + 5 * (i % 2));
        ck_assert_int_eq(run(e, p.code.body), 10 + 5 * (i % 2));
        unload(p);
    }
    return same;
}

START_TEST(another_body_at_the_same_address)
{
    sett_engine *e = open_engine();
    const int same = in_turn(e);
    ck_assert_uint_eq(stats(e).records, 4);
    ck_assert_uint_eq(stats(e).memo_hits, 4);
    if (same != 4)
        printf("the loader took other places: %d of 4 at the first\n", same);
    sett_engine_close(e);
}
END_TEST

/* That a body was replaced is no difference of a body. */
START_TEST(while_verified)
{
    sett_engine_options o = options();
    o.verify_user = true;
    sett_engine *e = open_with(&o);
    in_turn(e);
    ck_assert_uint_eq(stats(e).memo_differences, 0);
    sett_engine_close(e);
}
END_TEST

/* An unload costs bodies of other objects one recording, those of the program none; what is remembered does not grow by that. */
START_TEST(what_stays)
{
    sett_engine *e = open_engine();
    plugin two = load("test-unloaded-2.so"), three;
    run(e, own);
    for (int i = 0; i < 5000; i++) {
        ck_assert_int_eq(run(e, two.code.body), 10);
        ck_assert_int_eq(run(e, own), 4);
        if (i < 4 || i > 4990) {
            ck_assert_int_eq(run(e, two.code.body), 10);
            ck_assert_uint_eq(stats(e).records, 2 + (uint64_t)i);
        }
        char path[4096];
        ck_assert(sett__beside("test-unloaded-3.so", path, sizeof path));
        three.object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        ck_assert_ptr_nonnull(three.object);
        unload(three);
    }
    unload(two);
    ck_assert_int_eq(run(e, own), 4);
    ck_assert_uint_eq(stats(e).records, 5001);
    sett_engine_close(e);
}
END_TEST

/* The program, the library (here they are one), what was loaded later, what lies in no object. */
START_TEST(how_long_code_holds)
{
    sett__identity last = {0};
    union {
        sett_body body;
        const void *address;
    } here = {own};
    const uint64_t before = sett__unloads();
    ck_assert_uint_eq(sett__code_holds(&last, here.address), SETT__ALWAYS);
    plugin p = load("test-unloaded-2.so");
    ck_assert_uint_eq(sett__code_holds(&last, p.code.address), before);
    ck_assert_uint_eq(sett__code_holds(&last, here.address), SETT__ALWAYS);
    unload(p);
    ck_assert_uint_eq(sett__unloads(), before + 1);
    ck_assert_uint_eq(sett__code_holds(&last, &user), SETT__ALWAYS);
    void *heap = malloc(100);
    ck_assert_uint_eq(sett__code_holds(&last, heap), before + 1);
    free(heap);
}
END_TEST

SUITE_IN_ROOT(unload, another_body_at_the_same_address, while_verified, what_stays, how_long_code_holds)
