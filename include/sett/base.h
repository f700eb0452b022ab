/* SPDX-License-Identifier: Apache-2.0 */
/* What every other header of sett needs: the export mark, versions, status codes, errors, call sites, element
 * types. Plain C11 and C++17.
 *
 * Outside a build, a call that can fail returns a sett_status and fills an optional sett_error. Inside a
 * build (see build.h) the build keeps the first error, with the caller's file and line, and later calls do
 * nothing. */
#ifndef SETT_BASE_H
#define SETT_BASE_H
#ifdef __cplusplus
#if __cplusplus < 201703L
#error "sett's headers need C++17: compile with -std=c++17 or later"
#endif
#elif !defined(__STDC_VERSION__) || __STDC_VERSION__ < 201112L
#error "sett's headers need C11: compile with -std=c11 or later"
#endif
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define SETT_API __attribute__((visibility("default")))
#define SETT_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define SETT_API
#define SETT_PRINTF(f, a)
#endif

#define SETT_VERSION_MAJOR 0
#define SETT_VERSION_MINOR 1
#define SETT_VERSION_PATCH 0
#define SETT_VERSION "0.1.0"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the loaded library, "0.1.0". Static storage. */
SETT_API const char *sett_version(void);

/* Name, number and meaning of each status. Numbers never change. 1x and 2x: mistakes of the caller; 3x: the
 * environment; 5x: compiling; 7x: resources and faults. */
#define SETT_STATUSES(X) \
    X(OK, 0, "success") \
    X(E_ARGUMENT, 10, "an argument is not valid") \
    X(E_RANK, 11, "ranks or profiles do not match") \
    X(E_SHAPE, 12, "extents do not match") \
    X(E_DIVIDE, 13, "an extent or stride does not divide") \
    X(E_DTYPE, 14, "the element type does not fit") \
    X(E_STATIC, 15, "a static value is needed here") \
    X(E_SPACE, 16, "the memory space does not allow this") \
    X(E_REGION, 17, "a region is misused, or a value left it") \
    X(E_TARGET, 18, "the target lacks this operation") \
    X(E_STALE, 19, "an object of another or an ended build") \
    X(E_BIND, 20, "launch arguments do not fit the kernel") \
    X(E_ALIGN, 21, "an address or stride is not aligned as promised") \
    X(E_RANGE, 22, "a number is out of range or would overflow") \
    X(E_PARSE, 23, "text or bytes do not parse") \
    X(E_NO_DEVICE, 30, "no such device") \
    X(E_NOT_CACHED, 31, "not in the cache, and compiling is not allowed") \
    X(E_CAPTURING, 32, "not possible while the stream is captured") \
    X(E_NO_COMPILER, 33, "the compiler plug-in libsett-ptx.so is missing or unfit") \
    X(E_NO_ASSEMBLER, 34, "no assembler for PTX was found") \
    X(E_IO, 35, "a file or folder could not be read or written") \
    X(E_DRIVER, 36, "the CUDA driver reported an error") \
    X(E_FORKED, 37, "the engine was opened before a fork") \
    X(E_CLOSED, 38, "the engine was closed") \
    X(E_CANCELLED, 39, "it was cancelled") \
    X(E_COMPILE, 50, "the code generator refused the kernel") \
    X(E_ASSEMBLE, 51, "the assembler refused the PTX") \
    X(E_VERIFY, 52, "the tape is not valid") \
    X(E_MEMORY, 70, "out of memory") \
    X(E_LIMIT, 71, "a limit of the device or of sett is exceeded") \
    X(E_FAULT, 72, "the kernel faulted while running") \
    X(E_INTERNAL, 90, "a defect in sett; please report it")

typedef enum sett_status {
#define SETT_STATUS_ENUM(name, number, text) SETT_##name = number,
    SETT_STATUSES(SETT_STATUS_ENUM)
#undef SETT_STATUS_ENUM
} sett_status;

/* "SETT_E_DIVIDE", and its meaning in one line. "unknown status" for other numbers. */
SETT_API const char *sett_status_name(sett_status);
SETT_API const char *sett_status_text(sett_status);

/* The first error: "add.c:31: sett_composition: mode 1: 6 does not divide shape (4,(8,2))". Filled only on
 * failure; text ends in a NUL. */
typedef struct sett_error {
    sett_status status;
    char text[508];
} sett_error;

/* Where a call stands in the user's program. The library copies the strings. */
typedef struct sett_site {
    const char *file, *func;
    int line;
    unsigned call; /* tells several calls on one line apart, in reports; 0: not given */
} sett_site;
#ifdef __cplusplus
#define SETT_HERE (sett_site{__FILE__, __func__, __LINE__, __COUNTER__ + 1u})
#else
#define SETT_HERE ((sett_site){__FILE__, __func__, __LINE__, __COUNTER__ + 1u})
#endif

/* Element types (in C SETT_F8E4M3FN: SETT_ and the first column): name, id, CuTe's printed name, bits, kind.
 * Ids never change, since tapes and cached kernels hold them; 0 means "not given". Kinds: b Boolean, i
 * signed, u unsigned, f IEEE-like float, s storage only (convert to compute). */
#define SETT_DTYPES(X) \
    X(BOOL, 1, "i1", 1, 'b') \
    X(I8, 2, "i8", 8, 'i') \
    X(I16, 3, "i16", 16, 'i') \
    X(I32, 4, "i32", 32, 'i') \
    X(I64, 5, "i64", 64, 'i') \
    X(U8, 6, "u8", 8, 'u') \
    X(U16, 7, "u16", 16, 'u') \
    X(U32, 8, "u32", 32, 'u') \
    X(U64, 9, "u64", 64, 'u') \
    X(F16, 10, "f16", 16, 'f') \
    X(BF16, 11, "bf16", 16, 'f') \
    X(TF32, 12, "tf32", 32, 's') \
    X(F32, 13, "f32", 32, 'f') \
    X(F64, 14, "f64", 64, 'f') \
    X(F8E4M3FN, 15, "f8E4M3FN", 8, 's') \
    X(F8E5M2, 16, "f8E5M2", 8, 's') \
    X(F8E8M0FNU, 17, "f8E8M0FNU", 8, 's') \
    X(F6E3M2FN, 18, "f6E3M2FN", 6, 's') \
    X(F6E2M3FN, 19, "f6E2M3FN", 6, 's') \
    X(F4E2M1FN, 20, "f4E2M1FN", 4, 's') \
    X(I4, 21, "i4", 4, 's') \
    X(I128, 22, "i128", 128, 'i') \
    X(U128, 23, "u128", 128, 'u') \
    X(F8E4M3, 24, "f8E4M3", 8, 's') \
    X(F8E4M3B11FNUZ, 25, "f8E4M3B11FNUZ", 8, 's')

typedef enum sett_dtype {
#define SETT_DTYPE_ENUM(name, id, text, bits, kind) SETT_##name = id,
    SETT_DTYPES(SETT_DTYPE_ENUM)
#undef SETT_DTYPE_ENUM
} sett_dtype;

/* Bits of one element: 1 for SETT_BOOL, which is stored as a byte; 0 for an unknown id. Name: "f16"; "?" for
 * an unknown id. */
SETT_API int sett_dtype_bits(sett_dtype);
SETT_API const char *sett_dtype_name(sett_dtype);

#ifdef __cplusplus
}
#endif
#endif
