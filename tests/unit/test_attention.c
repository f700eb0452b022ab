/* SPDX-License-Identifier: Apache-2.0 */
/* sett_attention with all its options, at random, against sums of double; batches, pages and places that may not change a bit; and what is
 * refused. On the CPU engine or, with SETT_TEST_GPU=1, on GPU 0. */
#include "tests/rig/attention_rig.h"
#include <sett/build.h>
#include <sett/control.h>
#include <sett/layout.h>

/* ---- random problems -------------------------------------------------------------------------------------------------- */
static int random_length(void)
{
    static const int most[] = {0, 3, 20, 140, 300};
    return random_int(0, most[random_int(0, 4)]);
}

/* What a kernel is not compiled for. */
static void draw_lengths(problem *p)
{
    p->requests = random_int(1, 3), p->shared = random_int(1, 2), p->heads = p->shared * (p->o.group ? p->o.group : random_int(1, 2));
    p->window = random_int(0, 9) ? random_int(1, 200) : INT_MAX;
    for (int i = 0; i < p->requests; i++) {
        p->rows[i] = p->o.ragged || !i ? random_length() : p->rows[0];
        p->keys[i] = p->o.ragged || p->o.page || !i ? random_length() : p->keys[0];
        p->prefix[i] = random_length();
    }
}

static problem random_problem(const char *target)
{
    static const int heads_of[][2] = {{64, 64}, {64, 64}, {128, 128}, {128, 128}, {96, 96}, {192, 192}, {192, 128}, {256, 256}}, pages[] = {16, 32, 48, 64, 128, 256};
    const int *d = heads_of[random_int(0, 7)], mask = random_int(0, 5), score = random_int(0, 3), source = random_int(0, 3);
    problem p = {.gap = random_int(0, 1) * 8, .cap = 1 + random_int(0, 3), .target = target};
    p.o = (sett_attention_options){.size = sizeof p.o, .dtype = random_int(0, 1) ? SETT_BF16 : SETT_F16, .d = d[0], .dv = d[1], .causal = mask == 1 || mask == 2, .window = mask == 2 || mask == 3, .prefix = mask == 4,
        .softcap = score == 1, .alibi = score == 2, .sinks = !random_int(0, 2), .lse = random_int(0, 1), .ragged = source & 1, .page = source & 2 ? pages[random_int(0, 5)] : 0};
    p.o.tuning.blocks = random_int(0, 1) ? 3 : 0, p.o.tuning.rows = random_int(0, 5) ? 0 : 64;
    p.o.group = random_int(0, 1) ? 1 << random_int(1, 3) : 0;
    p.o.dynamic = random_int(0, 1), p.o.scale = !random_int(0, 2), p.scale = 0.05 * random_int(1, 4);
    p.o.exact = !random_int(0, 3);
    if (target)
        p.o.tuning.rows = random_int(0, 3) ? 0 : 16 * random_int(1, d[0] > 128 ? 4 : 8);
    else if (d[0] == d[1] && d[0] != 96 && d[0] != 192 && !random_int(0, 2))
        p.o.dtype = SETT_F8E4M3FN, p.o.exact &= d[0] < 256 || !p.o.softcap, p.o.out = random_int(0, 1) ? SETT_F16 : 0, p.o.scaled = random_int(0, 1), p.gap *= 2 /* 16 bytes */, p.o.tuning.keys = d[0] < 256 && random_int(0, 1) ? 32 << random_int(0, 2) | 64 * random_int(0, 2) : 0; /* rows of turned V in panels of 32, 64 and 128 bytes */
    draw_lengths(&p);
    return p;
}

static void describe(const problem *p, char *text, size_t size)
{
    const sett_attention_options *o = &p->o;
    int at = snprintf(text, size, "%s %s d=%d dv=%d exact=%d causal=%d window=%d prefix=%d softcap=%d alibi=%d sinks=%d lse=%d ragged=%d page=%d dynamic=%d group=%d scale=%g scaled=%d blocks=%d rows=%d keys=%d, %d requests, heads %d/%d, window %d, gap %d, rows x keys", p->target ? p->target : "", sett_dtype_name(o->dtype), o->d,
        o->dv, o->exact, o->causal, o->window, o->prefix, o->softcap, o->alibi, o->sinks, o->lse, o->ragged, o->page, o->dynamic, o->group, o->scale ? p->scale : 0, o->scaled, o->tuning.blocks, o->tuning.rows, o->tuning.keys, p->requests, p->heads, p->shared, p->window, p->gap);
    for (int i = 0; i < p->requests; i++)
        at += snprintf(text + at, size - (size_t)at, " %dx%d", p->rows[i], p->keys[i]);
}

#ifdef __SANITIZE_ADDRESS__ /* several times as slow */
enum { RANDOM = 4, BITS_OF = 1 /* of wgmma alone */ };
#else
enum { RANDOM = 12 /* of each test of the loop */, BITS_OF = 2 };
#endif
enum { RANDOM_TESTS = 8, OTHER_TESTS = 6 /* of other targets, behind these */ };

START_TEST(random_problems)
{
    in_order(_i, getenv("ATTENTION_SEED"));
    r.seed = 77 + (unsigned)_i * 1000;
    const char *more = getenv("ATTENTION_SEED"), *shapes = getenv("ATTENTION_SHAPES"); /* of each kernel */
    r.seed += more ? (unsigned)atoi(more) * 100000 : 0;
    for (int i = 0; runs(target_of(_i, RANDOM_TESTS)) && i < (r.stream.device == SETT_CPU ? RANDOM : RANDOM / 3) /* an assembler takes a second for each */; i++) {
        problem p = random_problem(target_of(_i, RANDOM_TESTS));
        sett_kernel *k = compiled_as(sett_attention, &p.o, p.target);
        for (int shape = 0; shape < (shapes ? atoi(shapes) : r.stream.device == SETT_CPU ? 1 : 10); shape++, draw_lengths(&p)) {
            describe(&p, said, sizeof said);
            launch x = make_launch(&p);
            for (int again = 0; again <= p.o.dynamic; again++)
                launch_by(k, &x);
            check_launch(&x, &by_options);
            drop_launch(&x);
        }
        sett_kernel_release(k);
    }
}
END_TEST

/* Tiles of which no query sees a key follow each other fast: no warp of a group may be left behind. */
START_TEST(tiles_without_keys)
{
    problem p = {.requests = 5, .heads = 2, .shared = 1, .rows = {70, 3, 260, 1, 64}, .target = target_of(_i, 2)};
    p.o = (sett_attention_options){.size = sizeof p.o, .dtype = SETT_BF16, .d = _i % 2 ? 64 : 128, .ragged = 1, .lse = 1, .tuning.blocks = 1};
    for (int order = 2; runs(p.target) && order < 40; order += 4) {
        in_order(order + _i % 2, getenv("ATTENTION_SEED"));
        sett_kernel *k = compiled_as(sett_attention, &p.o, p.target);
        launch x = make_launch(&p);
        launch_by(k, &x);
        check_launch(&x, &by_options);
        drop_launch(&x);
        sett_kernel_release(k);
    }
}
END_TEST

/* Requests of at most 64 rows beside longer ones: those are taken two heads of K and V at a time where there are 2 or 4, and not where there are 3. */
START_TEST(pairs_of_heads)
{
    problem p = {.requests = 5, .shared = 2 + _i % 3, .gap = 8, .window = 90, .rows = {1, 16, 17, 40, 0}, .keys = {300, 129, 17, 90, 40}};
    p.heads = 4 * p.shared;
    p.o = (sett_attention_options){.size = sizeof p.o, .dtype = SETT_BF16, .d = 128, .dv = 128, .page = _i % 2 ? 64 : 16, .ragged = 1, .lse = 1, .sinks = 1, .group = 4, .causal = _i % 2, .window = _i / 3 % 2, .dynamic = _i / 2 % 2, .tuning.blocks = 3};
    in_order(_i, getenv("ATTENTION_SEED"));
    if (!has_wgmma())
        return;
    sett_kernel *k = compiled_as(sett_attention, &p.o, NULL);
    launch x = make_launch(&p);
    for (int again = 0; again <= p.o.dynamic; again++)
        launch_by(k, &x);
    check_launch(&x, &by_options);
    drop_launch(&x);
    sett_kernel_release(k);
}
END_TEST

/* K and V without a key: nothing in memory, and no address. */
START_TEST(no_keys_at_all)
{
    static const struct { int ragged, page; } ways[] = {{0, 0}, {1, 0}, {0, 32}, {1, 16}};
    problem p = {.requests = 3, .heads = 2, .shared = 1, .rows = {70, 70, 70}, .target = target_of(_i, 4)};
    p.o = (sett_attention_options){.size = sizeof p.o, .dtype = SETT_F16, .d = 64, .lse = 1, .ragged = ways[_i % 4].ragged, .page = ways[_i % 4].page, .group = 2, .causal = 1};
    if (!runs(p.target))
        return;
    sett_kernel *k = compiled_as(sett_attention, &p.o, p.target);
    launch x = make_launch(&p);
    operand *const of[] = {&x.k, &x.v};
    for (int i = 0; i < 2; i++)
        of[i]->buf.data = NULL, of[i]->buf.shape[p.o.page ? 0 : p.o.ragged ? 1 : 2] = 0;
    launch_by(k, &x);
    check_launch(&x, &by_options);
    drop_launch(&x);
    sett_kernel_release(k);
}
END_TEST

/* ---- masks and scores of the caller's ------------------------------------------------------------------------------------ */
enum { DOCUMENT = 37 };

/* Documents of so many keys, each causal: the bounds are those of the query's own place. */
static sett_attention_keys of_document(const sett_attention_at *at, sett_val *query, void *user)
{
    sett_val *own = sett_add(query, sett_sub(at->keys, at->queries));
    (void)user;
    return (sett_attention_keys){SETT_A(sett_mul(sett_floordiv(own, DOCUMENT), DOCUMENT)), SETT_A(sett_add(own, 1))};
}

static bool in_document(const problem *p, int request, int head, int query, int key)
{
    (void)head;
    const int own = query + p->keys[request] - p->rows[request], first = own < 0 ? own : own / DOCUMENT * DOCUMENT;
    return key >= first && key <= own;
}

static sett_attention_keys first_half(const sett_attention_at *at, sett_val *query, void *user)
{
    (void)query, (void)user;
    return (sett_attention_keys){SETT_A(0), SETT_A(sett_floordiv(at->keys, 2))};
}

static sett_val *every_third(const sett_attention_at *at, sett_val *query, sett_val *key, void *user)
{
    (void)user;
    return sett_ne(sett_mod(sett_add(sett_add(query, key), at->head), 3), 0);
}

static bool is_every_third(const problem *p, int request, int head, int query, int key)
{
    (void)p;
    (void)request;
    return (query + key + head) % 3 != 0;
}

static bool is_third_of_half(const problem *p, int request, int head, int query, int key)
{
    return key < p->keys[request] / 2 && (query + key + head) % 3 != 0;
}

static sett_val *bent(const sett_attention_at *at, sett_val *score, sett_val *query, sett_val *key, void *user)
{
    (void)at, (void)user;
    return sett_sub(sett_mul(score, 0.5), sett_mul(sett_to(sett_sub(query, key), SETT_F32), 1.0 / 64));
}

static double is_bent(const problem *p, double score, int head, int query, int key)
{
    (void)p, (void)head;
    return score / 2 - (query - key) / 64.0;
}

static const struct own { sett_attention_functions f; right y; int flags; } own[] = {
    {{.size = sizeof(sett_attention_functions), .bounds = of_document}, {in_document, NULL}, 1},
    {{.size = sizeof(sett_attention_functions), .predicate = every_third}, {is_every_third, NULL}, 0},
    {{.size = sizeof(sett_attention_functions), .score = bent}, {NULL, is_bent}, 2},
    {{.size = sizeof(sett_attention_functions), .bounds = of_document, .score = bent}, {in_document, is_bent}, 1},
    {{.size = sizeof(sett_attention_functions), .bounds = first_half, .predicate = every_third}, {is_third_of_half, NULL}, 0},
};

typedef struct with { sett_attention_options o; int own; } with;

static void with_own(sett_build *b, const void *user)
{
    const with *w = user;
    sett_attention_with(b, &w->o, &own[w->own].f);
}

enum { OWN = sizeof own / sizeof *own };
START_TEST(functions_of_the_caller)
{
    static const int shapes[][4] = {{1, 1, 100, 100}, {2, 1, 70, 300}, {1, 1, 300, 200}, {2, 1, 5, 0}};
    const struct own *mine = &own[_i % OWN];
    const char *target = target_of(_i, OWN);
    for (int i = 0; runs(target) && i < 4; i++) {
        const int group = i == 1 || i == 3 ? 2 : 0;
        problem p = {.requests = shapes[i][0], .heads = group ? group : 1, .shared = shapes[i][1], .gap = 8};
        with w = {.own = _i % OWN, .o = {.size = sizeof w.o, .dtype = SETT_F16, .d = i % 2 ? 128 : 64, .lse = 1, .page = i % 2 ? 32 : 0, .ragged = i == 3, .causal = mine->flags == 2, .sinks = i == 2, .group = group}};
        for (int k = 0; k < p.requests; k++)
            p.rows[k] = shapes[i][2], p.keys[k] = shapes[i][3];
        p.o = w.o;
        if (target)
            ck_assert_msg(!sett_kernels_choose(sett_attention, &w.o, target, &err), "%s", err.text);
        describe(&p, said, sizeof said);
        const sett_compile_options co = {.size = sizeof co, .user = &w, .user_size = sizeof w};
        sett_kernel *k;
        ck_assert_msg(!sett_compile(r.e, with_own, &co, &k, &err), "%s", err.text);
        launch x = make_launch(&p);
        launch_by(k, &x);
        check_launch(&x, &mine->y);
        drop_launch(&x);
        sett_kernel_release(k);
    }
}
END_TEST

/* Functions that give what cannot be are the error of the line that names them. */
static sett_attention_keys by_floats(const sett_attention_at *at, sett_val *query, void *user)
{
    (void)user;
    return (sett_attention_keys){SETT_A(0), SETT_A(sett_to(sett_add(query, at->keys), SETT_F32))};
}

static sett_attention_keys by_fraction(const sett_attention_at *at, sett_val *query, void *user)
{
    (void)at, (void)query, (void)user;
    return (sett_attention_keys){SETT_A(0.5), SETT_A(8)};
}

static sett_val *a_number(const sett_attention_at *at, sett_val *query, sett_val *key, void *user)
{
    (void)at, (void)user;
    return sett_add(query, key);
}

static sett_val *no_score(const sett_attention_at *at, sett_val *score, sett_val *query, sett_val *key, void *user)
{
    (void)at, (void)score, (void)query, (void)key, (void)user;
    return NULL;
}

static sett_val *one_score(const sett_attention_at *at, sett_val *score, sett_val *query, sett_val *key, void *user)
{
    (void)at, (void)query, (void)key, (void)user;
    return sett_element(score, 0);
}

static int odd_line;
static const struct odd { sett_attention_functions f; sett_attention_options o; const char *text; } odd[] = {
    {{.bounds = by_floats}, {.d = 64}, "sett_attention_with: .bounds gives a .last that is no scalar of i32"},
    {{.bounds = by_fraction}, {.d = 64}, "sett_attention_with: .bounds gives a .first that is no scalar of i32"},
    {{.predicate = a_number}, {.d = 64, .tuning = {.keys = 16}}, "sett_attention_with: .predicate gives i32 of shape ((2,2,2),1,1), and it is asked about ((2,2,2),1,1): it gives i1 of that shape"},
    {{.score = no_score}, {.d = 64, .tuning = {.keys = 16}}, "sett_attention_with: .score gives NULL, and it is asked about ((2,2,2),1,1): it gives f32 of that shape"},
    {{.score = one_score}, {.d = 64, .tuning = {.keys = 16}}, "sett_attention_with: .score gives f32 of shape (), and it is asked about ((2,2,2),1,1): it gives f32 of that shape"},
    {{.bounds = of_document}, {.causal = 1}, "sett_attention_with: .bounds is given: then .causal is 0"},
    {{.predicate = every_third}, {.prefix = 1}, "sett_attention_with: .predicate is given: then .prefix is 0"},
    {{.score = bent}, {.alibi = 1}, "sett_attention_with: .score is given: then .alibi is 0"},
    {{.size = 8, .score = bent}, {.d = 64}, "sett_attention_with: the functions' .size is 8: sizeof(sett_attention_functions), 40"},
    {{0}, {.d = 64}, "sett_attention_with: the functions' .size is 0: sizeof(sett_attention_functions), 40"},
};

static void with_odd(sett_build *b, const void *user)
{
    const struct odd *x = &odd[*(const int *)user];
    sett_attention_options o = x->o;
    sett_attention_functions f = x->f;
    o.size = sizeof o, o.dtype = SETT_BF16;
    f.size = f.size || (!f.bounds && !f.predicate && !f.score) ? f.size : sizeof f;
    odd_line = __LINE__ + 1;
    sett_attention_with(b, &o, &f);
}

START_TEST(functions_that_cannot_be)
{
    const sett_compile_options co = {.size = sizeof co, .user = &_i, .user_size = sizeof _i};
    char want[400];
    void *tape = NULL;
    size_t len;
    ck_assert_int_eq(sett_record(with_odd, &co, true, &tape, &len, &err), SETT_E_ARGUMENT);
    snprintf(want, sizeof want, "%s:%d: %s", __FILE__, odd_line, odd[_i].text);
    ck_assert_str_eq(err.text, want);
}
END_TEST

static void send(operand *x)
{
    ck_assert(!sett_memcpy(r.e, r.stream, x->data, x->host, x->n * (size_t)sett_dtype_bits(x->type) / 8) && !sett_sync(r.e, r.stream));
}

/* What is chosen for options that can be is a tile that can be. */
START_TEST(tiles_that_are_chosen)
{
    static const sett_attention_options types[] = {{.dtype = SETT_F16, .d = 64}, {.dtype = SETT_F16, .d = 96}, {.dtype = SETT_F16, .d = 128}, {.dtype = SETT_BF16, .d = 192}, {.dtype = SETT_BF16, .d = 192, .dv = 128},
        {.dtype = SETT_BF16, .d = 256}, {.dtype = SETT_F8E4M3FN, .d = 64}, {.dtype = SETT_F8E4M3FN, .d = 128}, {.dtype = SETT_F8E4M3FN, .d = 256}};
    for (int i = 0; i < 9; i++)
        for (int flags = 0; flags < 32; flags++) {
            sett_attention_options o = types[i];
            o.size = sizeof o, o.exact = flags & 1, o.softcap = flags >> 1 & 1, o.window = flags >> 2 & 1, o.ragged = flags >> 3 & 1, o.page = flags & 16 ? 48 : 0;
            if (o.d != 256 || o.dtype != SETT_F8E4M3FN || !o.exact || !o.softcap)
                ck_assert_msg(!sett_kernels_choose(sett_attention, &o, NULL, &err), "%s", err.text);
        }
}
END_TEST

/* What lies in memory and cannot be: the CPU engine says which number it is. */
static sett_attention_keys falling(const sett_attention_at *at, sett_val *query, void *user)
{
    (void)user;
    return (sett_attention_keys){SETT_A(0), SETT_A(sett_sub(at->keys, query))};
}

static void with_falling(sett_build *b, const void *user)
{
    sett_attention_with(b, user, &(sett_attention_functions){.size = sizeof(sett_attention_functions), .bounds = falling});
}

static const struct in_memory { int page, ragged, window, falls; int at; int32_t is; const char *text; } in_memory[] = {
    {16, 0, 0, 0, 1, 9, "TABLE[0,1] is 9, and there are 9 pages"},
    {16, 1, 0, 0, 2, -1, "TABLE[0,2] is -1, and there are 9 pages"},
    {0, 1, 0, 0, 2, 30, "QOFFSETS[1] and the next are 40, 30: they do not fall, from 0 on, and end within 44 rows"},
    {0, 1, 0, 0, 2, 45, "QOFFSETS[1] and the next are 40, 45: they do not fall, from 0 on, and end within 44 rows"},
    {0, 1, 0, 0, 0, -1, "QOFFSETS[0] and the next are -1, 40: they do not fall, from 0 on, and end within 44 rows"},
    {0, 1, 0, 0, 0, -1, "KOFFSETS[0] and the next are -1, 60: they do not fall, from 0 on, and end within 101 keys"},
    {0, 1, 0, 0, 1, 101, "KOFFSETS[1] and the next are 101, 100: they do not fall, from 0 on, and end within 101 keys"},
    {16, 0, 0, 0, 1, 81, "KEYS[1] is 81, and a row of TABLE has 5 pages"},
    {0, 0, 1, 0, 0, 0, "window is 0: 1 or more"},
    {0, 0, 0, 0, 0, 1000, "NEXT gave 100"},
    {0, 0, 0, 1, 0, 0, ".bounds: from query 0 on they fall"},
};

enum { IN_MEMORY = sizeof in_memory / sizeof *in_memory };
START_TEST(numbers_in_memory)
{
    const struct in_memory *y = &in_memory[_i % IN_MEMORY];
    problem p = {.target = target_of(_i, IN_MEMORY), .requests = 2, .heads = 1, .shared = 1, .rows = {40, y->ragged ? 4 : 40}, .keys = {60, y->ragged || y->page ? 40 : 60}, .window = 0};
    p.o = (sett_attention_options){.size = sizeof p.o, .dtype = SETT_F16, .d = 64, .page = y->page, .ragged = y->ragged, .window = y->window, .dynamic = *y->text == 'N'};
    const sett_compile_options co = {.size = sizeof co, .user = &p.o, .user_size = sizeof p.o};
    sett_kernel *k;
    sett_launch_arg arg[ARGS];
    if (r.stream.device != SETT_CPU)
        return; /* a GPU has no assertions if they are not asked for */
    ck_assert_msg(!sett_kernels_choose(sett_attention, &p.o, p.target, &err), "%s", err.text);
    launch x = make_launch(&p);
    operand *of = *y->text == 'T' ? &x.table : *y->text == 'Q' ? &x.offsets : *y->text == 'K' && y->page ? &x.lengths : *y->text == 'K' ? &x.key_offsets : *y->text == 'N' ? &x.next : NULL;
    if (of)
        put_int(of, y->at, y->is), send(of);
    ck_assert_msg(!(y->falls ? sett_compile(r.e, with_falling, &co, &k, &err) : sett_kernels_compile(r.e, sett_attention, &p.o, NULL, &k, &err)), "%s", err.text);
    sett_status s = sett_launch_n(k, r.stream, arguments(&x, arg), arg, &err);
    s = s ? s : sett_sync_error(r.e, r.stream, &err);
    ck_assert_msg(s == SETT_E_FAULT && strstr(err.text, y->text), "%s", err.text);
    drop_launch(&x);
    sett_kernel_release(k);
}
END_TEST

static const struct number { int window; double cap, scale; const char *text; } number[] = {{0, 3, 1, "window is 0: 1 or more"}, {INT_MIN, 3, 1, "window is -2147483648: 1 or more"},
    {4, 0, 1, "cap is 0.000000: above 0, and finite"}, {4, NAN, 1, "cap is nan: above 0, and finite"}, {4, INFINITY, 1, "cap is inf: above 0, and finite"}, {4, 3, -0.5, "scale is -0.500000: above 0, and finite"}};

START_TEST(numbers_of_a_launch)
{
    const struct number *y = &number[_i];
    problem p = {.requests = 1, .heads = 1, .shared = 1, .rows = {3}, .keys = {3}, .window = y->window, .cap = y->cap, .scale = y->scale};
    p.o = (sett_attention_options){.size = sizeof p.o, .dtype = SETT_F16, .d = 64, .window = 1, .softcap = 1, .scale = 1};
    sett_launch_arg arg[ARGS];
    if (r.stream.device != SETT_CPU)
        return;
    launch x = make_launch(&p);
    sett_kernel *k = compiled(sett_attention, &p.o);
    sett_status s = sett_launch_n(k, r.stream, arguments(&x, arg), arg, &err);
    s = s ? s : sett_sync_error(r.e, r.stream, &err);
    ck_assert_msg(s == SETT_E_FAULT && strstr(err.text, y->text), "%s", err.text);
    drop_launch(&x);
    sett_kernel_release(k);
}
END_TEST

/* A ragged O may span more than 2^31 elements, though threads store to it; and with cp.async pools, which they load. */
START_TEST(far_rows)
{
    enum { FAR_ROWS = 1 << 20, FAR_PAGES = 1 << 16 };
    const sett_attention_options o = {.size = sizeof o, .dtype = SETT_BF16, .ragged = 1, .page = _i ? 256 : 0};
    sett_prepared *c;
    if (r.stream.device != SETT_CPU)
        return;
    sett_kernel *k = compiled_as(sett_attention, &o, _i ? "sm_80" : NULL);
    void *any = (void *)(uintptr_t)4096; /* nothing is read before a run */
    sett_buf q = sett_buf_nd(any, SETT_BF16, 3, (const int64_t[]){64, FAR_ROWS, 128}), kv = sett_buf_nd(any, SETT_BF16, 3, (const int64_t[]){8, FAR_ROWS, 128}), offsets = sett_buf_1d(any, SETT_I32, 9);
    sett_buf pool = sett_buf_nd(any, SETT_BF16, 4, (const int64_t[]){FAR_PAGES, 8, 256, 128}), table = sett_buf_nd(any, SETT_I32, 2, (const int64_t[]){8, FAR_PAGES}), lengths = sett_buf_1d(any, SETT_I32, 8);
    const sett_status status = _i ? sett_prepared_make(k, SETT_CPU, &c, &err, &q, &pool, &pool, &q, &offsets, &table, &lengths) : sett_prepared_make(k, SETT_CPU, &c, &err, &q, &kv, &kv, &q, &offsets, &offsets);
    ck_assert_msg(!status, "%s", err.text);
    sett_prepared_free(c);
    sett_kernel_release(k);
}
END_TEST

/* ---- bits ---------------------------------------------------------------------------------------------------------------- */
/* Row `row` of a request of an operand, in bytes. */
static const unsigned char *row_of(const launch *x, const operand *y, int request, int head, int row, size_t *bytes)
{
    const int flat = x->p->o.ragged;
    *bytes = (size_t)(y->shape[3] * sett_dtype_bits(y->type) / 8);
    return y->host + at_of(y, flat ? 0 : request, head, flat ? x->first_row[request] + row : row) * (size_t)sett_dtype_bits(y->type) / 8;
}

/* Q, K and V of request i of `from` to request j of `to`. */
static void copy_request(const launch *from, int i, launch *to, int j)
{
    size_t n;
    for (int h = 0; h < from->p->heads; h++)
        for (int m = 0; m < from->p->rows[i]; m++) {
            const unsigned char *source = row_of(from, &from->q, i, h, m, &n);
            memcpy((void *)(uintptr_t)row_of(to, &to->q, j, h, m, &n), source, n);
        }
    for (int h = 0; h < from->p->shared; h++)
        for (int key = 0; key < from->p->keys[i]; key++) {
            int64_t a, b, c, d;
            key_place(from, i, key, &a, &b), key_place(to, j, key, &c, &d);
            const size_t bytes = (size_t)sett_dtype_bits(from->k.type) / 8;
            memcpy(to->k.host + at_of(&to->k, c, h, d) * bytes, from->k.host + at_of(&from->k, a, h, b) * bytes, (size_t)from->k.shape[3] * bytes);
            memcpy(to->v.host + at_of(&to->v, c, h, d) * bytes, from->v.host + at_of(&from->v, a, h, b) * bytes, (size_t)from->v.shape[3] * bytes);
        }
}

/* Requests of a ragged batch, each by itself and not ragged, with pages and without, heads packed or not: all bits are the same. */
enum { BITS = 6 };
START_TEST(bits_of_a_request)
{
    static const struct { int d, dv, causal, window, softcap; sett_dtype type; } kinds[] = {{64, 64, 0, 0, 0, SETT_BF16}, {128, 128, 1, 0, 0, SETT_BF16}, {192, 128, 0, 1, 0, SETT_BF16},
        {256, 256, 1, 1, 0, SETT_F16}, {96, 96, 1, 0, 1, SETT_BF16}, {128, 128, 1, 0, 0, SETT_F8E4M3FN}};
    const char *target = target_of(_i, BITS);
    problem p = {.requests = 5, .heads = 4, .shared = 2, .window = 90, .cap = 2, .rows = {100, 0, 1, 130, 257}, .keys = {131, 50, 300, 128, 200}};
    p.o = (sett_attention_options){.size = sizeof p.o, .dtype = kinds[_i % BITS].type, .d = kinds[_i % BITS].d, .dv = kinds[_i % BITS].dv, .causal = kinds[_i % BITS].causal, .window = kinds[_i % BITS].window, .softcap = kinds[_i % BITS].softcap, .ragged = 1, .lse = 1};
    if (!runs(target) || (target && p.o.dtype == SETT_F8E4M3FN))
        return;
    launch all = make_launch(&p);
    sett_kernel *k = compiled_as(sett_attention, &p.o, target);
    launch_by(k, &all);
    sett_kernel_release(k);
    fetch(&all.out), fetch(&all.lse);
    static const struct { int page, ragged, group; } ways[] = {{0, 0, 0}, {16, 0, 0}, {64, 0, 2}, {256, 1, 0}, {0, 1, 2}, {16, 1, 2}};
    for (int way = 0; way < 6; way++)
        for (int i = 0; i < p.requests; i++) {
            problem one = p;
            one.requests = 1, one.rows[0] = p.rows[i], one.keys[0] = p.keys[i], one.gap = 16;
            one.o.ragged = ways[way].ragged, one.o.page = ways[way].page, one.o.group = ways[way].group;
            launch x = make_launch(&one);
            copy_request(&all, i, &x, 0);
            send(&x.q), send(&x.k), send(&x.v);
            k = compiled_as(sett_attention, &one.o, target);
            launch_by(k, &x);
            sett_kernel_release(k);
            fetch(&x.out), fetch(&x.lse);
            for (int h = 0; h < p.heads; h++)
                for (int m = 0; m < p.rows[i]; m++) {
                    size_t n;
                    const unsigned char *a = row_of(&all, &all.out, i, h, m, &n), *b = row_of(&x, &x.out, 0, h, m, &n);
                    ck_assert_msg(!memcmp(a, b, n), "way %d, request %d, head %d, query %d", way, i, h, m);
                    const float *la = (const float *)all.lse.host + at_of(&all.lse, 0, h, 0) + all.first_row[i] + m, *lb = (const float *)x.lse.host + at_of(&x.lse, 0, h, 0) + m;
                    ck_assert_msg(!memcmp(la, lb, sizeof *la), "way %d, request %d, head %d, query %d: the logarithm", way, i, h, m);
                }
            drop_launch(&x);
        }
    drop_launch(&all);
}
END_TEST

Suite *attention_suite(void)
{
    Suite *s = suite_create("attention");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 300);
    tcase_add_checked_fixture(t, set_up, tear_down);
    tcase_add_loop_test(t, random_problems, 0, RANDOM_TESTS + OTHER_TESTS);
    tcase_add_loop_test(t, tiles_without_keys, 0, 4);
    tcase_add_loop_test(t, pairs_of_heads, 0, 12);
    tcase_add_loop_test(t, no_keys_at_all, 0, 8);
    tcase_add_loop_test(t, functions_of_the_caller, 0, 2 * OWN);
    tcase_add_loop_test(t, functions_that_cannot_be, 0, (int)(sizeof odd / sizeof *odd));
    tcase_add_test(t, tiles_that_are_chosen);
    tcase_add_loop_test(t, far_rows, 0, 2);
    tcase_add_loop_test(t, numbers_in_memory, 0, 2 * IN_MEMORY);
    tcase_add_loop_test(t, numbers_of_a_launch, 0, (int)(sizeof number / sizeof *number));
    tcase_add_loop_test(t, bits_of_a_request, 0, BITS_OF * BITS);
    suite_add_tcase(s, t);
    return s;
}
