/* SPDX-License-Identifier: Apache-2.0 */
/* See hand.h. Lane 4 g + q of a warp holds, of each matrix, 4 bytes of row g, or of column g of B, at byte 4 q; and so on by 8 rows
 * and by 16 bytes. Nothing here reads mma.def. */
#include "tests/rig/hand.h"
#include <check.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 16, ROW = 32, CORE = 128 }; /* bytes: of a copy, of a row of wgmma's operands, of 8 rows by 16 bytes */

static int bytes_of(const char *type)
{
    static const struct { const char *name; int bytes; } types[] = {{"f64", 8}, {"f32", 4}, {"tf32", 4}, {"s32", 4}, {"bf16", 2}, {"f16", 2},
        {"e4m3", 1}, {"e5m2", 1}, {"s8", 1}, {"u8", 1}};
    size_t n = strcspn(type, ".");
    for (size_t i = 0; i < SETT__COUNT(types); i++)
        if (strlen(types[i].name) == n && !strncmp(types[i].name, type, n))
            return types[i].bytes;
    ck_abort_msg("%s: no such type", type);
}

hand hand_of(const char *row, int n)
{
    hand h = {.n = n};
    const char *types = strchr(row, '.'), *a = strchr(types + 1, '.');
    bool group = strstr(row, "nN") != NULL;
    int got = group ? sscanf(row, "m%dnNk%d", &h.m, &h.k) + 1 : sscanf(row, "m%dn%dk%d", &h.m, &h.n, &h.k);
    ck_assert_int_eq(got, 3);
    h.threads = group ? 128 : 32;
    h.c_bytes = bytes_of(types + 1), h.a_bytes = bytes_of(a + 1);
    snprintf(h.ptx, sizeof h.ptx, "m%dn%dk%d%s%s", h.m, h.n, h.k, group ? "" : ".row.col", types);
    return h;
}

/* ---- text ---------------------------------------------------------------------------------- */
typedef struct out {
    char *s;
    size_t len;
} out;

__attribute__((format(printf, 2, 3))) static void put(out *o, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    o->len += (size_t)vsnprintf(o->s + o->len, HAND_TEXT - o->len, format, ap);
    va_end(ap);
    ck_assert_uint_lt(o->len, HAND_TEXT);
}

static void put_list(out *o, char name, int n, const char *end)
{
    put(o, "{");
    for (int i = 0; i < n; i++)
        put(o, "%s%%%c%d", i ? ", " : "", name, i);
    put(o, "}%s", end);
}

static const char *letters(const hand *h, bool accumulator)
{
    bool f32 = strstr(h->ptx, ".f32.") != NULL;
    return h->a_bytes == 8 ? "f64" : accumulator && f32 ? "f32" : "b32";
}

/* pd_a = A + block * bytes + a thread's offset, which is lane's g times a row and q times a step */
static void put_base(out *o, char name, int problem, int row, int step)
{
    put(o, "ld.param.u64 %%p%c, [p%c];\nmad.wide.u32 %%p%c, %%block, %d, %%p%c;\nmad.wide.u32 %%p%c, %%g, %d, %%p%c;\nmad.wide.u32 %%p%c, %%q, %d, %%p%c;\n", name,
        name, name, problem, name, name, row, name, name, step, name);
}

static void put_head(out *o, const hand *h, int n_a, int n_b, int n_c)
{
    put(o, ".version 8.7\n.target sm_90a\n.address_size 64\n.visible .entry hand(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd)\n{\n");
    put(o, ".reg .b32 %%block, %%id, %%lane, %%warp, %%g, %%q, %%at, %%t;\n.reg .b64 %%pa, %%pb, %%pc, %%pd, %%da, %%db;\n.reg .pred %%yes;\n");
    put(o, ".reg .b32 %%v<4>;\n.reg .%s %%a<%d>;\n.reg .%s %%b<%d>;\n.reg .%s %%c<%d>;\n", letters(h, false), n_a, letters(h, false), n_b, letters(h, true), n_c);
    put(o, "mov.u32 %%block, %%ctaid.x;\nmov.u32 %%id, %%tid.x;\nand.b32 %%lane, %%id, 31;\nshr.u32 %%warp, %%id, 5;\nshr.u32 %%g, %%lane, 2;\nand.b32 %%q, %%lane, 3;\n");
}

/* ---- mma.sync -------------------------------------------------------------------------------- */
/* C: row g, columns 2 q and 2 q + 1; then row g + 8. Two of 16 bits are one register. */
static void put_sums(out *o, const hand *h, const char *what, char base)
{
    const int each = h->c_bytes == 2 ? 1 : 2, bytes = h->c_bytes == 2 ? 4 : h->c_bytes;
    for (int i = 0; i < h->m / 8; i++)
        for (int j = 0; j < each; j++)
            if (*what == 'l')
                put(o, "ld.global.b%d %%c%d, [%%p%c+%d];\n", 8 * bytes, each * i + j, base, 8 * i * h->n * h->c_bytes + j * bytes);
            else
                put(o, "st.global.b%d [%%p%c+%d], %%c%d;\n", 8 * bytes, base, 8 * i * h->n * h->c_bytes + j * bytes, each * i + j);
}

static void write_warp(out *o, const hand *h)
{
    const int row = h->k * h->a_bytes, reg = h->a_bytes == 8 ? 8 : 4, rows = h->m / 8;
    const int n_a = h->m * row / (32 * reg), n_b = h->n * row / (32 * reg), n_c = h->m / 8 * (h->c_bytes == 2 ? 1 : 2);
    put_head(o, h, n_a, n_b, n_c);
    put_base(o, 'a', h->m * row, row, reg);
    put_base(o, 'b', h->n * row, row, reg);
    put_base(o, 'c', h->m * h->n * h->c_bytes, h->n * h->c_bytes, 2 * h->c_bytes);
    put_base(o, 'd', h->m * h->n * h->c_bytes, h->n * h->c_bytes, 2 * h->c_bytes);
    for (int i = 0; i < n_a; i++) /* rows first, then along k */
        put(o, "ld.global.b%d %%a%d, [%%pa+%d];\n", 8 * reg, i, i % rows * 8 * row + i / rows * 4 * reg);
    for (int i = 0; i < n_b; i++)
        put(o, "ld.global.b%d %%b%d, [%%pb+%d];\n", 8 * reg, i, i * 4 * reg);
    put_sums(o, h, "load", 'c');
    put(o, "mma.sync.aligned.%s ", h->ptx);
    put_list(o, 'c', n_c, ", ");
    put_list(o, 'a', n_a, ", ");
    put_list(o, 'b', n_b, ", ");
    put_list(o, 'c', n_c, ";\n");
    put_sums(o, h, "store", 'd');
}

/* ---- wgmma ------------------------------------------------------------------------------------ */
/* So many rows of 32 bytes to shared memory: pieces of 16 bytes, eight rows of which are 128 bytes that lie together. */
static void put_copy(out *o, char base, int rows, int to)
{
    for (int first = 0; first < 2 * rows; first += 128) {
        put(o, "add.u32 %%at, %%id, %d;\nsetp.lt.u32 %%yes, %%at, %d;\nmad.wide.u32 %%da, %%at, %d, %%p%c;\n", first, 2 * rows, PIECE, base);
        put(o, "@%%yes ld.global.v4.b32 {%%v0, %%v1, %%v2, %%v3}, [%%da];\n");
        /* piece 2 r + h: row r, half h */
        put(o, "shr.u32 %%t, %%at, 4;\nmul.lo.u32 %%t, %%t, %d;\nmov.u32 %%lane, room;\nadd.u32 %%t, %%t, %%lane;\n", 2 * CORE);
        put(o, "and.b32 %%lane, %%at, 1;\nmad.lo.u32 %%t, %%lane, %d, %%t;\nshr.u32 %%lane, %%at, 1;\nand.b32 %%lane, %%lane, 7;\nmad.lo.u32 %%t, %%lane, %d, %%t;\n", CORE, PIECE);
        put(o, "@%%yes st.shared.v4.b32 [%%t+%d], {%%v0, %%v1, %%v2, %%v3};\n", to);
    }
}

/* The address without its low 4 bits; 128 bytes along k; 256 bytes from 8 rows to the next. */
static void put_descriptor(out *o, const char *name, int at)
{
    put(o, "mov.u32 %%t, room;\nadd.u32 %%t, %%t, %d;\nand.b32 %%t, %%t, 0x3ffff;\nshr.u32 %%t, %%t, 4;\ncvt.u64.u32 %s, %%t;\nor.b64 %s, %s, 0x%llx;\n", at, name, name, name,
        (unsigned long long)CORE >> 4 << 16 | (unsigned long long)(2 * CORE) >> 4 << 32);
}

/* Columns 8 j to 8 j + 7 as mma.sync's m16n8; warp w has rows 16 w to 16 w + 15. */
static void put_columns(out *o, const hand *h, bool load, char base)
{
    const int each = h->c_bytes == 2 ? 2 : 4;
    for (int i = 0; i < each * h->n / 8; i++) {
        int column = i / each, half = i % each, row = each == 2 ? half : half / 2, second = each == 2 ? 0 : half % 2;
        int at = (8 * row * h->n + 8 * column + second) * h->c_bytes;
        if (load)
            put(o, "ld.global.b32 %%c%d, [%%p%c+%d];\n", i, base, at);
        else
            put(o, "st.global.b32 [%%p%c+%d], %%c%d;\n", base, at, i);
    }
}

static void write_group(out *o, const hand *h)
{
    const int n_c = (h->c_bytes == 2 ? 2 : 4) * h->n / 8;
    put_head(o, h, 1, 1, n_c);
    put(o, ".shared .align 1024 .b8 room[%d];\nmad.lo.u32 %%g, %%warp, 16, %%g;\n", (h->m + h->n) * ROW);
    put_base(o, 'c', h->m * h->n * h->c_bytes, h->n * h->c_bytes, 2 * h->c_bytes);
    put_base(o, 'd', h->m * h->n * h->c_bytes, h->n * h->c_bytes, 2 * h->c_bytes);
    put_base(o, 'a', h->m * ROW, 0, 0);
    put_base(o, 'b', h->n * ROW, 0, 0);
    put_copy(o, 'a', h->m, 0);
    put_copy(o, 'b', h->n, h->m * ROW);
    put_columns(o, h, true, 'c');
    put(o, "fence.proxy.async;\nbar.sync 0;\n");
    put_descriptor(o, "%da", 0);
    put_descriptor(o, "%db", h->m * ROW);
    put(o, "setp.eq.u32 %%yes, %%id, %%id;\nwgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.%s ", h->ptx);
    put_list(o, 'c', n_c, ", %da, %db, %yes");
    put(o, "%s%s;\n", strstr(h->ptx, ".s32.") ? "" : ", 1, 1", h->a_bytes == 2 ? ", 0, 0" : "");
    put(o, "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n");
    put_columns(o, h, false, 'd');
}

void hand_write(const hand *h, char ptx[HAND_TEXT])
{
    out o = {.s = ptx};
    if (h->threads == 128)
        write_group(&o, h);
    else
        write_warp(&o, h);
    put(&o, "ret;\n}\n");
}

/* Behind a line's beginning. */
static int number_behind(const char *ptx, const char *line)
{
    const char *at = strstr(ptx, line);
    return at ? atoi(at + strlen(line)) : -1;
}

int hand_byte(const char *ptx, char which, int thread, int r)
{
    char row[40], step[40], load[40];
    const int lane = thread % SETT__WARP, warp = thread / SETT__WARP;
    snprintf(row, sizeof row, "mad.wide.u32 %%p%c, %%g, ", which);
    snprintf(step, sizeof step, "mad.wide.u32 %%p%c, %%q, ", which);
    snprintf(load, sizeof load, " %%%c%d, [%%p%c+", which, r, which);
    const int at = number_behind(ptx, load), rows = strstr(ptx, "mad.lo.u32 %g, %warp, 16, %g;") ? 16 * warp : 0;
    return at < 0 ? -1 : (rows + lane / 4) * number_behind(ptx, row) + lane % 4 * number_behind(ptx, step) + at;
}

/* ---- running ------------------------------------------------------------------------------------ */
static sett__cuda *cuda;
static sett__asm *assembler;
static atomic_uint gate = SETT__GATE_OPEN;

static void find(bool with_driver)
{
    sett_error err;
    if (with_driver && !cuda)
        ck_assert_msg(!sett__cuda_open(&cuda, &gate, NULL, &err), "%s", err.text);
    const sett__asm_config config = {.cuda = cuda};
    if (!assembler)
        ck_assert_msg(!sett__asm_open(&assembler, &config, &err), "%s", err.text);
}

/* The cubin to free; NULL: there is no assembler. */
static void *assemble(const char *ptx, size_t *len)
{
    sett_error err;
    sett__asm_out made = {0};
    const sett__asm_job job = {.ptx = ptx, .ptx_len = strlen(ptx), .target = "sm_90a", .opt_level = 3};
    sett_status s = sett__assemble(assembler, &job, &made, &err);
    ck_assert_msg(!s || s == SETT_E_NO_ASSEMBLER, "%s\n%s", err.text, ptx);
    void *cubin = made.cubin;
    *len = made.cubin_len;
    made.cubin = NULL;
    sett__asm_out_free(&made);
    return s ? NULL : cubin;
}

bool hand_assembles(const char *ptx)
{
    size_t len;
    find(false);
    void *cubin = assemble(ptx, &len);
    free(cubin);
    return cubin != NULL;
}

/* The program's cubin, kept for the next problems of the same shape. */
static const void *cubin_of(const hand *h, size_t *len)
{
    static char ptx[HAND_TEXT];
    static hand last;
    static void *cubin;
    static size_t cubin_len;
    if (!cubin || strcmp(last.ptx, h->ptx)) {
        free(cubin);
        hand_write(h, ptx);
        ck_assert_ptr_nonnull(cubin = assemble(ptx, &cubin_len));
        last = *h;
    }
    *len = cubin_len;
    return cubin;
}

/* A copy on the device; of NULL room alone. */
static void *to_device(const void *from, size_t bytes)
{
    sett_error err;
    void *p = sett__cuda_alloc(cuda, 0, bytes);
    ck_assert_ptr_nonnull(p);
    if (from)
        ck_assert_msg(!sett__cuda_memcpy(cuda, (sett_stream){0, NULL}, p, from, bytes, &err), "%s", err.text);
    return p;
}

static void launch(const hand *h, sett__gpu_kernel *k, int problems, void *block[4])
{
    sett_error err;
    sett__shot shot = {.gate = &gate};
    const sett_stream s = {0, NULL};
    const sett__launch_dims dims = {.grid = {(uint32_t)problems, 1, 1}, .block = {(uint32_t)h->threads, 1, 1}, .cluster = {1, 1, 1}};
    ck_assert_msg(!sett__gpu_aim(&shot, k, NULL, s, &dims, block, 4 * sizeof *block, &err), "%s", err.text);
    ck_assert_msg(!sett__gpu_shoot(&shot, NULL, block, &err) && !sett__cuda_sync(cuda, s, &err), "%s", err.text);
}

void hand_run(const hand *h, int problems, const void *a, const void *b, const void *c, void *d)
{
    alignas(8) char room[SETT__GPU_KERNEL_BYTES];
    sett__gpu_kernel *k = (sett__gpu_kernel *)(void *)room;
    sett_error err;
    size_t len, row = (size_t)(h->k * h->a_bytes), n_a = (size_t)(h->m * problems) * row, n_b = (size_t)(h->n * problems) * row;
    size_t n_c = (size_t)problems * (size_t)(h->m * h->n * h->c_bytes);
    find(true);
    const void *cubin = cubin_of(h, &len);
    void *block[4] = {to_device(a, n_a), to_device(b, n_b), to_device(c, n_c), to_device(NULL, n_c)};
    ck_assert_msg(!sett__gpu_kernel_make(cuda, cubin, len, "hand", 0, false, k, &err), "%s", err.text);
    launch(h, k, problems, block);
    ck_assert_msg(!sett__cuda_memcpy(cuda, (sett_stream){0, NULL}, d, block[3], n_c, &err) && !sett__cuda_sync(cuda, (sett_stream){0, NULL}, &err), "%s", err.text);
    ck_assert_msg(!sett__gpu_unload(k, &err), "%s", err.text);
    sett__gpu_kernel_end(k);
    for (int i = 0; i < 4; i++)
        sett__cuda_free(cuda, 0, block[i]);
}
