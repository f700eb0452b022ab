/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays of a thread on the CPU engine, of any number of elements, accessed in part and by some of the lanes: against plain C, with
 * what makes the engine faster and without. */
#include "tests/rig/sim_rig.h"
#include <stdarg.h>

enum { THREADS = 40, EACH = 24, ELEMENTS = THREADS * EACH, MOST = 9 };
enum { NEXT = 10, NEXT_N = 3, NEW = 14 }; /* a thread's elements of A: those of the array that lies next; what is stored later */

static const char *const type_name[] = {"i8", "i16", "i32", "i64"};

typedef struct tensor {
    _Alignas(16) unsigned char byte[ELEMENTS * 8];
} tensor;

/* An array of n elements of 1 << lg bytes, of which `in` are stored at once, under a guard, and `out` are loaded at once. */
typedef struct form {
    int lg, n, in, out;
    enum { BY_ALL, BY_ARM, BY_PREDICATE, GUARDS } guard;
} form;

/* What plain C has: which of a thread's elements of A is in each of its arrays', and then in D's; -1: none. */
typedef struct model {
    int array[THREADS][MOST], d[THREADS][EACH];
} model;

static bool takes_part(const form *f, int thread)
{
    return f->guard == BY_ALL || (thread & 3) == 1;
}

/* ---- texts ------------------------------------------------------------------------------------------------- */
typedef struct text {
    char at[8192];
    size_t len;
    int next; /* the number of the next value */
} text;

static void line(text *t, const char *format, ...) SETT_PRINTF(2, 3);
static void line(text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    t->len += (size_t)vsnprintf(t->at + t->len, sizeof t->at - t->len, format, args);
    va_end(args);
    ck_assert_uint_lt(t->len, sizeof t->at);
}

static void type(text *t, int lg, int n)
{
    line(t, n > 1 ? "%sx%d" : "%s", type_name[lg], n);
}

/* n elements from `at` on: of A and D a thread's own. */
static int load(text *t, int lg, int n, const char *root, int at)
{
    line(t, "%%%d = load ", t->next);
    type(t, lg, n);
    line(t, " %s%d] align %d\n", root, at, 1 << lg);
    return t->next++;
}

static void store(text *t, int lg, int n, const char *root, int at, int value, const char *guard)
{
    line(t, "store %s%d] ", root, at);
    type(t, lg, n);
    line(t, " %%%d align %d%s\n", value, 1 << lg, guard);
}

#define OF_A "%2[%5 + "
#define OF_D "%3[%5 + "
#define ARRAY "%6["
#define NEXT_ARRAY "%7["

static void begin(text *t, model *m, const form *f)
{
    const char *name = type_name[f->lg];
    *t = (text){.next = 20};
    line(t, HEAD("param A %s (%d):(1) align 16 read\nparam D %s (%d):(1) align 16 write\n") "block %d\n", name, ELEMENTS, name, ELEMENTS, THREADS);
    line(t, "%%0 = tid.x i32\n%%2 = param %s A\n%%3 = param %s D\n%%4 = const i32 %d\n%%5 = mul i32 %%0, %%4\n%%6 = rmem ", name, name, EACH);
    type(t, f->lg, f->n > 1 ? f->n : 2);
    line(t, "\n%%7 = rmem %sx%d\n%%8 = const i32 3\n%%9 = and i32 %%0, %%8\n%%10 = const i32 1\n%%11 = eq i1 %%9, %%10\n", name, NEXT_N);
    for (int e = 0; e < f->n; e++)
        store(t, f->lg, 1, ARRAY, e, load(t, f->lg, 1, OF_A, e), "");
    for (int e = 0; e < NEXT_N; e++)
        store(t, f->lg, 1, NEXT_ARRAY, e, load(t, f->lg, 1, OF_A, NEXT + e), "");
    for (int i = 0; i < THREADS * EACH; i++)
        m->d[i / EACH][i % EACH] = -1;
    for (int i = 0; i < THREADS * MOST; i++)
        m->array[i / MOST][i % MOST] = i % MOST;
}

/* `value` is A's from `from` on in each thread that takes part. */
static void change(text *t, model *m, const form *f, int at, int n, int value, int from)
{
    if (f->guard == BY_ARM)
        line(t, "if %%11 {\n");
    store(t, f->lg, n, ARRAY, at, value, f->guard == BY_PREDICATE ? " pred %11" : "");
    if (f->guard == BY_ARM)
        line(t, "}\n");
    for (int i = 0; i < THREADS * n; i++)
        if (takes_part(f, i / n))
            m->array[i / n][at + i % n] = from + i % n;
}

/* Both arrays to D: of the first as many at a time as are to be, and those that are left one by one. */
static void end(text *t, model *m, const form *f)
{
    for (int e = 0, n; e < f->n; e += n) {
        n = e + f->out <= f->n ? f->out : 1;
        store(t, f->lg, n, OF_D, e, load(t, f->lg, n, ARRAY, e), "");
    }
    for (int e = 0; e < NEXT_N; e++)
        store(t, f->lg, 1, OF_D, NEXT + e, load(t, f->lg, 1, NEXT_ARRAY, e), "");
    for (int i = 0; i < THREADS * EACH; i++) {
        int thread = i / EACH, e = i % EACH;
        m->d[thread][e] = e < f->n ? m->array[thread][e] : e >= NEXT && e < NEXT + NEXT_N ? e : -1;
    }
}

static void runs_as(const text *t, const model *m, int lg)
{
    static tensor a, d;
    const size_t size = (size_t)1 << lg;
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof a.byte; i++)
        a.byte[i] = (unsigned char)((random = random * 1664525u + 1013904223u) >> 24);
    for (int plain = 0; plain < 2; plain++) {
        job j = {.text = t->at, .block = {THREADS}, .data = {&a, &d}, .bytes = {size * ELEMENTS, size * ELEMENTS}, .n_data = 2, .threads = 1, .plain = plain};
        memset(&d, 0x5a, sizeof d);
        runs(&j);
        for (int i = 0; i < ELEMENTS; i++) {
            int from = m->d[i / EACH][i % EACH];
            unsigned char want[8] = {0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a, 0x5a};
            memcpy(want, from < 0 ? want : a.byte + (size_t)(i / EACH * EACH + from) * size, from < 0 ? 0 : size);
            ck_assert_msg(!memcmp(d.byte + (size_t)i * size, want, size), "%s: thread %d's element %d of D is not its element %d of A in\n%s",
                plain ? "plain" : "default", i / EACH, i % EACH, from, t->at);
        }
    }
}

/* ---- tests ------------------------------------------------------------------------------------------------- */
static form form_of(int i)
{
    return (form){.lg = i % 4, .guard = i / 4 % GUARDS, .in = 1 << i / (4 * GUARDS) % 4, .out = 1 << i / (16 * GUARDS) % 4};
}
enum { FORMS = 64 * GUARDS };

/* Some elements are stored as they were loaded from A: an array may have their order then, and need not be a multiple of them. */
START_TEST(test_in_part)
{
    text t;
    model m;
    form f = form_of(_i);
    for (f.n = 1; f.n <= MOST; f.n++)
        for (int at = 0; at + f.in <= f.n; at++) {
            begin(&t, &m, &f);
            change(&t, &m, &f, at, f.in, load(&t, f.lg, f.in, OF_A, NEW), NEW);
            end(&t, &m, &f);
            runs_as(&t, &m, f.lg);
        }
}
END_TEST

/* The whole array as it was is stored by some lanes, after others have changed a part of it. */
START_TEST(test_whole)
{
    text t;
    model m;
    form f = form_of(_i), all = {.lg = f.lg};
    for (f.n = f.in; f.n <= MOST && f.n > 1; f.n += f.in) {
        begin(&t, &m, &f);
        int whole = load(&t, f.lg, f.n, ARRAY, 0);
        change(&t, &m, &all, 0, f.in, load(&t, f.lg, f.in, OF_A, NEW), NEW);
        change(&t, &m, &f, 0, f.n, whole, 0);
        end(&t, &m, &f);
        runs_as(&t, &m, f.lg);
    }
}
END_TEST

/* Parts that were loaded from A, packed to all that the array has. */
START_TEST(test_packed)
{
    text t;
    model m;
    form f = form_of(_i);
    for (f.n = f.in; f.n <= 8; f.n += f.in) {
        int part[8], parts = f.n / f.in;
        begin(&t, &m, &f);
        for (int k = 0; k < parts; k++)
            part[k] = load(&t, f.lg, f.in, OF_A, NEW + k * f.in);
        line(&t, "%%%d = pack ", t.next);
        type(&t, f.lg, f.n);
        for (int k = 0; k < parts; k++)
            line(&t, "%s %%%d", k ? "," : "", part[k]);
        line(&t, "\n");
        change(&t, &m, &f, 0, f.n, t.next++, NEW);
        end(&t, &m, &f);
        runs_as(&t, &m, f.lg);
    }
}
END_TEST

Suite *sim_arrays_suite(void);
Suite *sim_arrays_suite(void)
{
    Suite *s = suite_create("sim_arrays");
    TCase *c = tcase_create("sim_arrays");
    tcase_add_loop_test(c, test_in_part, 0, FORMS);
    tcase_add_loop_test(c, test_whole, 0, FORMS);
    tcase_add_loop_test(c, test_packed, 0, FORMS);
    suite_add_tcase(s, c);
    return s;
}
