/* SPDX-License-Identifier: Apache-2.0 */
/* The checker: kernels run on the CPU engine, unmodified, and each access is held against what orders it. It
 * finds races, missing fences and waits, memory that nobody wrote, deadlocks, and what accesses cost.
 * docs/checking.md has a page for each kind.
 *
 *     SETT_CHECK=1 ./program              any program: findings go to stderr
 *     sett check -- ./program             the same, with an exit code
 *     sett_engine_options.checks          all kernels of one engine
 *     sett_compile_options.checks         one kernel
 *     sett_check(kernel, &options, ...)   one launch
 *     sett_ck_assert_clean(kernel, ...)   one launch, in a test with Check: check_unit.h
 *
 * A launch goes on after a finding and returns SETT_OK, unless an access outside of memory or a deadlock ends
 * it. */
#ifndef SETT_CHECK_H
#define SETT_CHECK_H
#include <sett/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Name, and its text in reports, JSON and SARIF. New kinds go to the end. */
#define SETT_CHECK_KINDS(X) \
    X(RACE, "race") \
    X(PROXY_FENCE, "proxy-fence") \
    X(PROXY_FENCE_SIDE, "proxy-fence-side") \
    X(ORDER, "order") \
    X(UNINIT, "uninit") \
    X(BOUNDS, "bounds") \
    X(ALIGN, "align") \
    X(DEADLOCK, "deadlock") \
    X(DIVERGENCE, "divergence") \
    X(BARRIER_COUNT, "barrier-count") \
    X(INIT, "init") \
    X(LIFETIME, "lifetime") \
    X(TENSORMAP, "tensormap") \
    X(PDL, "pdl") \
    X(REGISTERS, "registers") \
    X(SWIZZLE, "swizzle") \
    X(BANK_CONFLICT, "bank-conflict") \
    X(SECTORS, "sectors") \
    X(NARROW, "narrow") \
    X(SUPPRESSION, "suppression")
typedef enum sett_check_kind {
#define SETT_CHECK_KIND_ENUM(name, text) SETT_CHECK_##name,
    SETT_CHECK_KINDS(SETT_CHECK_KIND_ENUM)
#undef SETT_CHECK_KIND_ENUM
} sett_check_kind;
/* ERROR: the execution has no meaning by PTX. WARNING: PTX does not say, or a suppression that nothing needs.
 * COST: right, and slower than it could be. */
typedef enum sett_check_level { SETT_CHECK_ERROR, SETT_CHECK_WARNING, SETT_CHECK_COST } sett_check_level;
/* What a line does in a finding. */
#define SETT_CHECK_ROLES(X) \
    X(READ, "read") \
    X(WRITE, "write") \
    X(ATOMIC, "atomic") \
    X(COPY, "copy") \
    X(USE, "use") \
    X(WAIT, "wait") \
    X(ARRIVE, "arrive") \
    X(INIT, "init") \
    X(BARRIER, "barrier") \
    X(FENCE, "fence") \
    X(RELEASE, "release") \
    X(ALLOC, "alloc")
typedef enum sett_check_role {
#define SETT_CHECK_ROLE_ENUM(name, text) SETT_CHECK_ROLE_##name,
    SETT_CHECK_ROLES(SETT_CHECK_ROLE_ENUM)
#undef SETT_CHECK_ROLE_ENUM
} sett_check_role;

/* Which findings are looked for. DEFAULT: of a compile, the engine's; of an engine, $SETT_CHECK (0, 1, errors
 * or strict) when it was opened, else OFF. ALL: errors, warnings and costs. STRICT: the same, and stores of
 * equal values by one instruction race too. */
typedef enum sett_checks { SETT_CHECKS_DEFAULT, SETT_CHECKS_OFF, SETT_CHECKS_ERRORS, SETT_CHECKS_ALL,
    SETT_CHECKS_STRICT } sett_checks;

/* A line of C that a finding names. file "": a tape's that has no sites; line: of its text then. */
typedef struct sett_check_site {
    const char *file, *function; /* function: ""; not known */
    int line;
    sett_check_role role;
} sett_check_site;
enum { SETT_CHECK_SITES = 6 };
/* One finding for each kind and pair of lines. */
typedef struct sett_finding {
    sett_check_kind kind;
    sett_check_level level;
    const char *text;   /* "gemm.c:91: race: ...", several lines without a newline at the end */
    const char *kernel; /* its name; "": it has none */
    uint64_t count;     /* how often this process found it so far */
    int n_site;         /* the first two are the two accesses, or who waits and what for */
    sett_check_site site[SETT_CHECK_SITES];
} sett_finding;
/* Gets each finding when a launch finds it first. Its strings live until the function returns. The thread
 * that launches calls it; it may call sett, but not close the engine. */
typedef void (*sett_finding_fn)(void *user, const sett_finding *);

/* What a checked launch proved besides, if nothing was found in it: NOTHING; ORDERS: no other order of this
 * launch, with the same arguments and the same contents of memory, can show anything; DATA: nor can other
 * contents of memory, with the same extents and scalars. docs/checking.md says what it stands on. */
typedef enum sett_check_proof { SETT_PROVED_NOTHING, SETT_PROVED_ORDERS, SETT_PROVED_DATA } sett_check_proof;

/* Hands each finding of this process so far to a function, in the order in which they came, without those
 * that are suppressed; .count is how often each came until now. NULL: nobody gets them. Returns how many
 * there are. The function calls nothing of sett: launches of other threads wait until it has returned. */
SETT_API int sett_findings(sett_finding_fn or_null, void *user);

/* "proxy-fence"; "warning"; "read". NULL: none of them. Static storage. */
SETT_API const char *sett_check_kind_name(sett_check_kind);
SETT_API const char *sett_check_level_name(sett_check_level);
SETT_API const char *sett_check_role_name(sett_check_role);

#ifdef __cplusplus
}
#endif
#endif
