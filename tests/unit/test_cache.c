/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache's bytes: keys, entries, META, and what a damaged or hostile file does to a reader (nothing but
 * a miss). */
#include "tests/rig/faces.h"
#include "jit/cache/inside.h"
#include "tests/rig/sample.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HEADER = 512, DIGEST = 32 };

static void reseal(uint8_t *file, size_t len)
{
    sett__digest sum;
    sett__sha256(file, len - DIGEST, &sum);
    memcpy(file + len - DIGEST, sum.b, DIGEST);
}

/* ---- hash and key -------------------------------------------------------------------------- */
START_TEST(sha256_vectors)
{
    static const struct {
        const char *text, *hex; /* FIPS 180-4 examples */
    } v[] = {{"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"}};
    for (size_t i = 0; i < SETT__COUNT(v); i++) {
        sett__digest d;
        char hex[65];
        sett__sha256(v[i].text, strlen(v[i].text), &d);
        for (int k = 0; k < 32; k++)
            snprintf(hex + 2 * k, 3, "%02x", d.b[k]);
        ck_assert_str_eq(hex, v[i].hex);
    }
}
END_TEST

/* A million times the letter a (FIPS 180-4). */
START_TEST(sha256_million)
{
    enum { MILLION = 1000000 };
    static const uint8_t million[32] = {0xcd, 0xc7, 0x6e, 0x5c, 0x99, 0x14, 0xfb, 0x92, 0x81, 0xa1, 0xc7, 0xe2, 0x84, 0xd7, 0x3e,
        0x67, 0xf1, 0x80, 0x9a, 0x48, 0xa4, 0x97, 0x20, 0x0e, 0x04, 0x6d, 0x39, 0xcc, 0xc7, 0x11, 0x2c, 0xd0};
    sett__digest d;
    char *a = malloc(MILLION);
    memset(a, 'a', MILLION);
    sett__sha256(a, MILLION, &d);
    ck_assert(!memcmp(d.b, million, 32));
    free(a);
}
END_TEST

/* RFC 4231, cases 1 and 2: a shorter key is one that ends in zeros. */
START_TEST(hmac_vectors)
{
    static const struct {
        const char *key, *text, *mac;
    } v[] = {{"\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b\x0b", "Hi There",
                 "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"},
        {"Jefe", "what do ya want for nothing?", "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"}};
    for (size_t i = 0; i < SETT__COUNT(v); i++) {
        uint8_t key[32] = {0}, mac[32];
        char hex[65];
        memcpy(key, v[i].key, strlen(v[i].key));
        sett__hmac_sha256(key, v[i].text, strlen(v[i].text), mac);
        sett__hex_write(mac, hex);
        ck_assert_str_eq(hex, v[i].mac);
    }
}
END_TEST

static sett__digest key_of(const sett__key_parts *k)
{
    void *bytes;
    size_t len;
    sett__digest key;
    sett_error err = {0};
    ck_assert_msg(!sett__key_encode(k, &bytes, &len, &key, &err), "%s", err.text);
    free(bytes);
    return key;
}

static size_t field(uint8_t *p, size_t at, uint16_t tag, const void *data, size_t len)
{
    le(p + at, tag, 2);
    le(p + at + 2, len, 4);
    memcpy(p + at + 6, data, len);
    return at + 6 + len;
}

/* The encoding written down a second time: it may never change for fields that exist. */
START_TEST(key_encoding)
{
    const sett__key_parts k = {
        .tape = {"tape", 4}, .target = "sm_90a", .ptx_isa = 80, .opt_level = 3, .line_info = true};
    uint8_t want[512];
    sett__digest tape, key, again;
    void *bytes;
    size_t len, at = 11;
    sett__sha256("tape", 4, &tape);
    memcpy(want, "sett-key\0v1", 11);
    at = field(want, at, 1, tape.b, 32);
    at = field(want, at, 2, (uint8_t[]){SETT__TAPE_VERSION, 0, 0, 0}, 4);
    at = field(want, at, 3, SETT__CODEGEN_ID, strlen(SETT__CODEGEN_ID));
    at = field(want, at, 4, "sm_90a", 6);
    at = field(want, at, 5, (uint8_t[]){80, 0, 0, 0}, 4);
    at = field(want, at, 6, (uint8_t[]){3, 0, 0, 0}, 4);
    at = field(want, at, 7, (uint8_t[]){1}, 1);
    ck_assert_int_eq(sett__key_encode(&k, &bytes, &len, &key, NULL), SETT_OK);
    ck_assert_uint_eq(len, at);
    ck_assert_mem_eq(bytes, want, len);
    sett__sha256(want, at, &again);
    ck_assert_mem_eq(key.b, again.b, 32);
    free(bytes);
}
END_TEST

START_TEST(key_has_every_field)
{
    const sett__key_parts base = {.tape = {"tape", 4}, .target = "sm_90a", .ptx_isa = 80, .opt_level = 3};
    sett__key_parts other[] = {base, base, base, base, base, base};
    other[0].tape.data = "tapf";
    other[1].tape.len = 3;
    other[2].target = "sm_90";
    other[3].ptx_isa = 81;
    other[4].opt_level = 2;
    other[5].line_info = true;
    sett__digest key = key_of(&base), same = key_of(&base);
    ck_assert_mem_eq(key.b, same.b, 32);
    for (size_t i = 0; i < SETT__COUNT(other); i++) {
        sett__digest changed = key_of(&other[i]);
        ck_assert_msg(memcmp(key.b, changed.b, 32) != 0, "field %zu is not in the key", i);
    }
}
END_TEST

/* ---- entries as bytes ------------------------------------------------------------------------ */
START_TEST(entry_round_trip)
{
    sample s;
    size_t len;
    uint8_t *file = encode_sample(&s, &len);
    sett__entry e;
    ck_assert_int_eq(sett__entry_decode(file, len, &s.key, NULL, &e, NULL), SETT_OK);
    ck_assert_uint_eq(e.cubin.len, CUBIN);
    ck_assert_mem_eq(e.cubin.data, s.cubin, CUBIN);
    ck_assert_mem_eq(e.key_material.data, sample_material, sizeof sample_material);
    ck_assert_mem_eq(e.meta.data, "some meta", 9);
    ck_assert_mem_eq(e.notes.data, "notes", 5);
    ck_assert_uint_eq(e.ptx.len, 0);
    ck_assert_uint_eq(len % 64, DIGEST);
    free(file);
}
END_TEST

START_TEST(entry_every_bit_flip_and_truncation)
{
    sample s;
    size_t len;
    sett__entry e;
    uint8_t *file = encode_sample(&s, &len), *copy = malloc(len + 64);
    for (size_t bit = 0; bit < 8 * len; bit++) {
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_msg(
            sett__entry_decode(file, len, &s.key, NULL, &e, NULL) == SETT_E_PARSE, "bit %zu flipped was not seen", bit);
        file[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    for (size_t n = 0; n < len; n++) {
        uint8_t *cut = malloc(n ? n : 1); /* its own block: a read past it shows under the sanitizer */
        memcpy(cut, file, n);
        ck_assert_int_eq(sett__entry_decode(cut, n, &s.key, NULL, &e, NULL), SETT_E_PARSE);
        free(cut);
    }
    memcpy(copy, file, len);
    for (size_t n = 1; n <= 64; n++) {
        copy[len + n - 1] = 0;
        ck_assert_int_eq(sett__entry_decode(copy, len + n, &s.key, NULL, &e, NULL), SETT_E_PARSE);
    }
    free(copy);
    free(file);
}
END_TEST

/* With the digest made good again each rule must hold by itself. */
START_TEST(entry_rules)
{
    static const struct {
        size_t at;
        int bytes;
        uint64_t value;
        const char *text;
    } bad[] = {
        {0, 1, 'P', "does not start as an entry does"},
        {8, 2, 2, "of format 2, not 1"},
        {12, 4, 448, "header is of 448"},
        {12, 4, 520, "header is of 520"},
        {12, 4, 1 << 20, "header is of"},
        {16, 8, 7, "and says 7"},
        {24, 4, 1, "compressed or signed"},
        {24, 4, 2, "authentication is of a kind"},
        {24, 4, 4, "compressed or signed"},
        {28, 4, 0xFFFFFFFF, "section table is damaged"},
        {28, 4, 3, "section table is damaged"},
        {28, 4, 5, "outside the file"},
        {32, 1, 0, "another key"},
        {64, 4, 0, "type 0 is not known"},
        {64, 4, 77, "type 77 is not known"},
        {64, 4, 2, "stands in it twice"},
        {68, 4, 2, "unknown flags"},
        {72, 8, 448, "outside the file or over another"},
        {72, 8, 513, "outside the file or over another"},
        {72, 8, UINT64_MAX - 63, "outside the file or over another"},
        {80, 8, 0, "outside the file or over another"},
        {80, 8, UINT64_MAX, "outside the file or over another"},
        {80, 8, 65, "outside the file or over another"}, /* the second starts before this ends */
        {HEADER + 60, 1, 1, "bytes between its sections"},
        {HEADER - 1, 1, 1, "section table is damaged"},
    };
    for (size_t i = 0; i < SETT__COUNT(bad); i++) {
        sample s;
        size_t len;
        sett__entry e;
        sett_error err = {0};
        uint8_t *file = encode_sample(&s, &len);
        le(file + bad[i].at, bad[i].value, bad[i].bytes);
        reseal(file, len);
        ck_assert_int_eq(sett__entry_decode(file, len, &s.key, NULL, &e, &err), SETT_E_PARSE);
        ck_assert_msg(
            strstr(err.text, bad[i].text) != NULL, "case %zu: \"%s\" is not in \"%s\"", i, bad[i].text, err.text);
        free(file);
    }
}
END_TEST

/* A later writer's section that a reader may pass over; and a key section that is not the key's. */
START_TEST(entry_optional_section)
{
    sample s;
    size_t len;
    sett__entry e;
    uint8_t *file = encode_sample(&s, &len);
    le(file + 64 + 3 * 24, 900, 4); /* NOTES becomes type 900 */
    reseal(file, len);
    ck_assert_int_eq(sett__entry_decode(file, len, &s.key, NULL, &e, NULL), SETT_E_PARSE);
    le(file + 64 + 3 * 24 + 4, 1, 4);
    reseal(file, len);
    ck_assert_int_eq(sett__entry_decode(file, len, &s.key, NULL, &e, NULL), SETT_OK);
    ck_assert_uint_eq(e.notes.len, 0);
    file[HEADER] ^= 1;
    reseal(file, len);
    ck_assert_int_eq(sett__entry_decode(file, len, &s.key, NULL, &e, NULL), SETT_E_PARSE);
    free(file);
}
END_TEST

/* Whatever is sealed, a reader ends with a status and inside its bytes (watched by the sanitizer). */
START_TEST(entry_random_damage)
{
    uint32_t seed = 20261121, accepted = 0;
    for (int round = 0; round < 3000; round++) {
        sample s;
        size_t len;
        sett__entry e;
        uint8_t *file = encode_sample(&s, &len);
        for (int k = 0; k < 3; k++) {
            seed = seed * 1664525 + 1013904223;
            file[seed >> 8 & (k ? 127 : 1023) % len] = (uint8_t)(seed >> 24);
        }
        reseal(file, len);
        if (!sett__entry_decode(file, len, &s.key, NULL, &e, NULL)) {
            accepted++;
            ck_assert((const uint8_t *)e.cubin.data >= file);
            ck_assert((const uint8_t *)e.cubin.data + e.cubin.len <= file + len - DIGEST);
        }
        free(file);
    }
    ck_assert_msg(accepted < 3000, "damage to the header was accepted every time");
}
END_TEST

/* Each rule of the gate by one damage. Where the parts of the cubin lie: see fill_whole_cubin. */
START_TEST(elf_gate)
{
    enum { SECTION = 448, SEGMENT = SECTION + 7 * 64, SYMBOL = 192, RELOC = 320, NOTES = 384 };
    static const struct {
        size_t at;
        int bytes;
        uint64_t value;
        const char *text; /* NULL: it is no damage */
    } t[] = {
        {0, 1, 0, "no ELF64 header"},
        {4, 1, 1, "no ELF64 header"},
        {5, 1, 2, "no ELF64 header"},
        {6, 1, 0, "no ELF64 header"},
        {18, 2, 62, "another machine"},
        {20, 4, 2, "another version or size"},
        {52, 2, 52, "another version or size"},
        {60, 2, 0, "a section table without sections"},
        {60, 2, 20, "its section table lies outside"},
        {58, 2, 40, "its section table lies outside"},
        {40, 8, UINT64_MAX, "its section table lies outside"},
        {62, 2, 7, "its section table lies outside"},
        {62, 2, 3, "its section table lies outside"}, /* the symbols are no names */
        {62, 2, 0, NULL},
        {SECTION + 64, 4, 40, "a section's name lies outside"},
        {SECTION + 64 + 48, 8, 3, "alignment is no power of two"},
        {SECTION + 64 + 48, 8, 0, NULL},
        {SECTION + 64 + 24, 8, WHOLE_CUBIN, "a section lies outside"},
        {SECTION + 4 * 64 + 32, 8, UINT64_MAX, "a section lies outside"},
        {SECTION + 2 * 64 + 32, 8, 4, "a string table has no end"},
        {SECTION + 2 * 64 + 32, 8, 0, "a symbol's name lies outside"},
        {SECTION + 3 * 64 + 40, 4, 9, "a symbol table is damaged"},
        {SECTION + 3 * 64 + 40, 4, 4, "a symbol table is damaged"},
        {SECTION + 3 * 64 + 56, 8, 16, "a symbol table is damaged"},
        {SECTION + 3 * 64 + 32, 8, 47, "a symbol table is damaged"},
        {SYMBOL + 24, 4, 16, "a symbol's name lies outside"},
        {SYMBOL + 24 + 6, 2, 7, "a symbol is in no section"},
        {SYMBOL + 24 + 6, 2, 0xFFF1, NULL}, /* absolute */
        {SECTION + 3 * 64 + 4, 4, 11, NULL}, /* a table for the dynamic linker */
        {SECTION + 5 * 64 + 40, 4, 9, "a table of relocations is damaged"},
        {SECTION + 5 * 64 + 40, 4, 2, "a table of relocations is damaged"},
        {SECTION + 5 * 64 + 32, 8, 47, "a table of relocations is damaged"},
        {SECTION + 5 * 64 + 56, 8, 16, "a table of relocations is damaged"},
        {SECTION + 5 * 64 + 4, 4, 9, "a table of relocations is damaged"}, /* those without addends are shorter */
        {SECTION + 5 * 64 + 44, 4, 9, "a relocation lies outside its section"},
        {RELOC + 24, 8, 64, "a relocation lies outside its section"},
        {RELOC + 24, 8, UINT64_MAX, "a relocation lies outside its section"},
        {RELOC + 24 + 12, 4, 2, "a relocation's symbol lies outside"},
        {NOTES, 4, UINT32_MAX, "a note lies outside"},
        {NOTES + 4, 4, 100, "a note lies outside"},
        {NOTES + 4, 4, 16, NULL},
        {SECTION + 4 * 64 + 4, 4, 0x7000000A, NULL}, /* shared memory: a size, and no bytes */
        {SECTION + 4 * 64 + 4, 4, 0x70000009, NULL}, /* local, global, zeros */
        {SECTION + 4 * 64 + 4, 4, 0x70000007, NULL},
        {SECTION + 4 * 64 + 4, 4, 8, NULL},
        {54, 2, 32, "its program headers lie outside"},
        {56, 2, 3, "its program headers lie outside"},
        {32, 8, UINT64_MAX - 5, "its program headers lie outside"},
        {56, 2, 0, NULL},
        {SEGMENT + 8, 8, WHOLE_CUBIN, "a segment lies outside"},
        {SEGMENT + 32, 8, UINT64_MAX, "a segment lies outside"},
        {SEGMENT + 40, 8, 63, "a segment's size or alignment is damaged"},
        {SEGMENT + 48, 8, 6, "a segment's size or alignment is damaged"},
        {SEGMENT + 56 + 32, 8, 30, "a note lies outside"},
    };
    uint8_t cubin[CUBIN], whole[WHOLE_CUBIN];
    fill_cubin(cubin);
    ck_assert_int_eq(sett__elf_check(cubin, CUBIN, NULL), SETT_OK);
    ck_assert_int_eq(sett__elf_check(cubin, 63, NULL), SETT_E_PARSE);
    fill_whole_cubin(whole);
    ck_assert_int_eq(sett__elf_check(whole, WHOLE_CUBIN, NULL), SETT_OK);
    for (size_t i = 0; i < SETT__COUNT(t); i++) {
        sett_error err = {0};
        fill_whole_cubin(whole);
        le(whole + t[i].at, t[i].value, t[i].bytes);
        sett_status s = sett__elf_check(whole, WHOLE_CUBIN, &err);
        ck_assert_msg(s == (t[i].text ? SETT_E_PARSE : SETT_OK) && (!s || strstr(err.text, t[i].text)), "case %zu: %s", i, err.text);
    }
}
END_TEST

/* What no file of a folder can show: sizes past the limit, an entry without room for its code, none asked for by key. */
START_TEST(entry_limits)
{
    sample s;
    size_t len;
    void *none;
    sett__entry e, big;
    sett_error err = {0};
    uint8_t *file = encode_sample(&s, &len), small[HEADER + DIGEST] = {0};
    ck_assert_int_eq(sett__entry_decode(file, len, NULL, NULL, &e, NULL), SETT_OK);
    big = s.entry;
    big.cubin.len = 1 << 28;
    ck_assert_int_eq(sett__entry_encode(&s.key, &big, NULL, &none, &len, &err), SETT_E_LIMIT);
    ck_assert_str_eq(err.text, "a kernel past 256 MiB is not cached");
    ck_assert_int_eq(sett__entry_decode(file, ((size_t)1 << 28) + 1, NULL, NULL, &e, &err), SETT_E_PARSE);
    memcpy(small, file, 64);
    le(small + 12, HEADER, 4), le(small + 16, sizeof small, 8), le(small + 24, 2, 4), le(small + 28, 0, 4);
    reseal(small, sizeof small);
    ck_assert_int_eq(sett__entry_decode(small, sizeof small, &s.key, NULL, &e, &err), SETT_E_PARSE);
    ck_assert_str_eq(err.text, "it is too short to be authenticated");
    le(small + 24, 0, 4);
    reseal(small, sizeof small);
    ck_assert_int_eq(sett__entry_decode(small, sizeof small, &s.key, NULL, &e, &err), SETT_E_PARSE);
    ck_assert_str_eq(err.text, "section 1 is missing");
    free(file);
}
END_TEST

START_TEST(keys_compared)
{
    const sett__key_parts one = {.tape = {"tape", 4}, .target = "sm_90a", .ptx_isa = 80, .opt_level = 3},
                          two = {.tape = {"tapf", 4}, .target = "sm_80", .ptx_isa = 70, .opt_level = 2, .line_info = true};
    sett__blob a = {NULL, 0}, b = {NULL, 0};
    sett__digest key;
    char text[500];
    ck_assert_int_eq(sett__key_encode(&one, (void **)&a.data, &a.len, &key, NULL), SETT_OK);
    ck_assert_int_eq(sett__key_encode(&two, (void **)&b.data, &b.len, &key, NULL), SETT_OK);
    ck_assert_int_eq(sett__key_compare(a, a, text, sizeof text), 0);
    int n = sett__key_compare(a, b, text, sizeof text);
    ck_assert_int_eq(n, (int)strlen(text));
    const char *rest = strchr(text, '\n');
    ck_assert_int_eq(strncmp(text, "tape: ", 6), 0);
    ck_assert_str_eq(rest, "\ntarget: sm_90a | sm_80\nPTX version: 80 | 70\noptimisation: 3 | 2\nline info: 0 | 1\n");
    ck_assert_int_eq(sett__key_compare(a, b, NULL, 0), n);
    for (size_t cut = 0; cut < a.len; cut++) { /* no cut is read past, none is taken for whole unless a field ends there */
        void *part = malloc(cut ? cut : 1);
        memcpy(part, a.data, cut);
        sett__key_compare((sett__blob){part, cut}, b, text, sizeof text);
        ck_assert_int_le(cut < 11 ? sett__key_compare((sett__blob){part, cut}, b, text, sizeof text) : -1, -1);
        free(part);
    }
    free((void *)(uintptr_t)a.data);
    free((void *)(uintptr_t)b.data);
}
END_TEST

/* ---- META ---------------------------------------------------------------------------------------- */
static sett__meta sample_meta(void)
{
    static sett__symbol sym[] = {{.name = "N", .div = 8}, {.name = "K", .div = 1, .wide = 1}};
    static sett__xop code[] = {{SETT__X_SYM, 0}, {SETT__X_CONST, 1}, {SETT__X_CONST, 128}};
    static sett__leaf leaf[] = {{0, {0, 1}, {1, 1}}};
    static sett__param param[] = {
        {.name = "A", .dtype = SETT_F16, .access = SETT__ACCESS_READ, .align = 16, .rank = 1, .leaf = 0, .n_leaf = 1},
        {.name = "a", .dtype = SETT_F32, .scalar = 1, .align = 4, .leaf = 1}};
    static sett__claim claim[] = {{"%d of %f", "k.c", "\4\16", 31, 7}, {"x", NULL, "", 0, 9}};
    sett__meta m = {.name = "kern",
        .target = "sm_90a",
        .assembler = "ptxas 13.0",
        .compiler = "LLVM 22.0",
        .min_driver = 13000,
        .registers = 24,
        .spill_stores = 0,
        .spill_loads = 4,
        .stack = -1,
        .ptx_isa = 80};
    m.sig = (sett__sig){.n_sym = 2,
        .n_param = 2,
        .n_leaf = 1,
        .n_code = 3,
        .sym = sym,
        .param = param,
        .leaf = leaf,
        .code = code,
        .smem = 1024,
        .smem_align = 16,
        .n_claim = 2,
        .claim = claim};
    m.sig.block[0] = (sett__expr){2, 1};
    return m;
}

START_TEST(meta_round_trip)
{
    sett__meta m = sample_meta(), r;
    sett__arena arena = {0};
    sett_error err = {0};
    void *bytes;
    size_t len;
    ck_assert_msg(!sett__meta_write(&m, &bytes, &len, &err), "%s", err.text);
    ck_assert_msg(!sett__meta_read(&r, &arena, bytes, len, &err), "%s", err.text);
    ck_assert_str_eq(r.name, "kern");
    ck_assert_str_eq(r.target, "sm_90a");
    ck_assert_str_eq(r.assembler, "ptxas 13.0");
    ck_assert_str_eq(r.compiler, "LLVM 22.0");
    ck_assert_int_eq(r.min_driver, 13000);
    ck_assert_int_eq(r.registers, 24);
    ck_assert_int_eq(r.spill_loads, 4);
    ck_assert_int_eq(r.stack, -1);
    ck_assert_int_eq(r.ptx_isa, 80);
    ck_assert_uint_eq(r.params_len, 8 + 4 + 4 + 8 + 8); /* A, a, N, K: each at its natural alignment; where assertions write */
    ck_assert_str_eq(r.sig.claim[0].types, "\4\16");
    ck_assert_uint_eq(r.sig.claim[0].line, 31);
    ck_assert_ptr_null(r.sig.claim[1].file);
    ck_assert_uint_eq(r.sig.n_param, 2);
    ck_assert_str_eq(r.sig.sym[1].name, "K");
    ck_assert_uint_eq(r.sig.smem, 1024);
    sett__arena_free(&arena);
    free(bytes);
}
END_TEST

START_TEST(meta_damage)
{
    sett__meta m = sample_meta(), r;
    void *bytes;
    size_t len;
    ck_assert_int_eq(sett__meta_write(&m, &bytes, &len, NULL), SETT_OK);
    for (size_t n = 0; n < len; n++) {
        sett__arena arena = {0};
        uint8_t *cut = malloc(n ? n : 1);
        memcpy(cut, bytes, n);
        ck_assert_msg(sett__meta_read(&r, &arena, cut, n, NULL) != SETT_OK, "META cut to %zu bytes was read", n);
        sett__arena_free(&arena);
        free(cut);
    }
    ((uint8_t *)bytes)[0] = 9; /* the version */
    sett__arena arena = {0};
    sett_error err = {0};
    ck_assert_int_eq(sett__meta_read(&r, &arena, bytes, len, &err), SETT_E_PARSE);
    ck_assert_str_eq(err.text, "META is of version 9");
    ((uint8_t *)bytes)[0] = 3;
    ((uint8_t *)bytes)[4] ^= 1; /* params_len */
    ck_assert_int_eq(sett__meta_read(&r, &arena, bytes, len, &err), SETT_E_PARSE);
    ck_assert_str_eq(err.text, "META's parameter block has 33 bytes, its signature 32");
    sett__arena_free(&arena);
    free(bytes);
}
END_TEST

/* ---- where the folder is ------------------------------------------------------------------------------- */
START_TEST(root_rules)
{
    char path[4096];
    setenv("SETT_CACHE_DIR", "/a/b", 1);
    setenv("XDG_CACHE_HOME", "/x", 1);
    setenv("HOME", "/h", 1);
    ck_assert(sett__cache_root("/opt/c", path, sizeof path));
    ck_assert_str_eq(path, "/opt/c");
    ck_assert(!sett__cache_root("", path, sizeof path));
    ck_assert(!sett__cache_root("rel", path, sizeof path));
    ck_assert(!sett__cache_root("/a/../b", path, sizeof path));
    ck_assert(!sett__cache_root("/a/..", path, sizeof path));
    ck_assert(sett__cache_root("/a/..b/c", path, sizeof path));
    ck_assert(!sett__cache_root("/too/long", path, 5));
    ck_assert(sett__cache_root(NULL, path, sizeof path));
    ck_assert_str_eq(path, "/a/b");
    setenv("SETT_CACHE_DIR", "", 1);
    ck_assert(!sett__cache_root(NULL, path, sizeof path));
    unsetenv("SETT_CACHE_DIR");
    ck_assert(sett__cache_root(NULL, path, sizeof path));
    ck_assert_str_eq(path, "/x/sett");
    setenv("XDG_CACHE_HOME", "relative", 1);
    ck_assert(sett__cache_root(NULL, path, sizeof path));
    ck_assert_str_eq(path, "/h/.cache/sett");
    unsetenv("HOME");
    ck_assert(!sett__cache_root(NULL, path, sizeof path));
}
END_TEST

Suite *cache_suite(void);
Suite *cache_suite(void)
{
    Suite *s = suite_create("cache");
    TCase *bytes = tcase_create("bytes");
    tcase_add_test(bytes, sha256_vectors);
    tcase_add_test(bytes, sha256_million);
    tcase_add_test(bytes, hmac_vectors);
    tcase_add_test(bytes, key_encoding);
    tcase_add_test(bytes, key_has_every_field);
    tcase_add_test(bytes, entry_round_trip);
    tcase_add_test(bytes, entry_every_bit_flip_and_truncation);
    tcase_add_test(bytes, entry_rules);
    tcase_add_test(bytes, entry_optional_section);
    tcase_add_test(bytes, entry_random_damage);
    tcase_add_test(bytes, elf_gate);
    tcase_add_test(bytes, entry_limits);
    tcase_add_test(bytes, keys_compared);
    tcase_add_test(bytes, meta_round_trip);
    tcase_add_test(bytes, meta_damage);
    tcase_add_test(bytes, root_rules);
    tcase_set_timeout(bytes, 60);
    suite_add_tcase(s, bytes);
    return s;
}
