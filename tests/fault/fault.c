/* SPDX-License-Identifier: Apache-2.0 */
/* fault [--full] [ROW...]: the fault campaign on the disk cache, a sample of it or all. One line a row; exit code 1
 * when a claim failed. */
#include "tests/fault/fault.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <check.h>

static const row rows[] = {
    {"F1", "every bit flipped, every header byte at every value: refused, and healed by the next put", f1_bits},
    {"F2a", "cut to every length, lengthened: refused", f2_lengths},
    {"F2b", "each page of zeros: refused", f2_pages},
    {"F3", "killed at each call of put, trim and heal: nothing damaged is ever read, leftovers go", f3_kills},
    {"F4", "each call fails in each way: the kernel works, nothing leaks, nothing hangs", f4_errors},
    {"F6a", "a full disk: it goes on", f6_full},
    {"F6b", "a disk that is mounted read-only: it serves", f6_read_only},
    {"F6c", "no home, a home that is /, another user: it goes on in memory", f6_homeless},
    {"F7a", "processes that want one key: one compile", f7_one_key},
    {"F7b", "processes that want many keys: one compile each", f7_many_keys},
    {"F7c", "processes of many threads: one compile a key", f7_threads},
    {"F8a", "who compiles is killed: another takes over", f8_killed},
    {"F8b", "who compiles is stopped: the others have a turn of their own at their deadline", f8_stopped},
    {"F8c", "who compiles has forked and is killed: another takes over", f8_forked},
    {"F8d", "who compiles is stopped, and who does so in its place: one of those who wait compiles, for all", f8_herd},
    {"F9", "locks that lie, names that appear late, stale handles, busy names: each works", f9_lies},
    {"F10", "writers, readers and trimmers: never over the cap by more than a fifth a writer and what is being written, every hit right", f10_lru},
    {"F11", "clocks that are wrong: nothing kept for ever, nothing fresh thrown away", f11_clocks},
    {"F12", "links, pipes, owners, modes, swaps: not followed, not waited on, logged", f12_attacks},
    {"F13", "the folder is removed while it is used: made again", f13_removed},
    {"F15", "what is cached is what would be compiled: each kernel is found, compiled again, and the same to the byte", f15_verify},
    {"P1", "every bit of a pack flipped: it is refused, or the entry; the rest serves, a folder behind it heals", p1_bits},
    {"P2", "a pack cut to every length, lengthened, replaced while open: refused, or its old self", p2_lengths},
    {"P3", "killed or failing at each call of writing a pack: all of it stands there, or what stood there", p3_writes},
    {"P4", "a pack of many: it opens at once, each entry is found, nothing is written", p4_many},
    {"P5", "each call of opening and reading a pack fails in each way: an entry, or none; nothing leaks", p5_reads},
    {"R", "whatever stands in an entry's place, and whichever call of reading fails: the entry or a miss, then it heals", r1_folder},
    {"F16", "layers on a read-only mount, read by another user: every get a hit, nothing is written", f16_other_user},
    {"L", "the command itself, its calls to the C library failing under it: an exit status that is documented, the cache whole", l_command},
    {"T", "threads that get, read, write and trim: every one right", t_threads},
    {"Z1", "the entry reader under random damage", fuzz_entry},
    {"Z2", "the ELF gate under random damage", fuzz_elf},
    {"Z3", "the pack reader under random damage", fuzz_packs},
};

long complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fputs("fault: ", stderr), vfprintf(stderr, format, args), fputc('\n', stderr);
    va_end(args);
    return 1;
}

uint64_t dice(uint64_t *state)
{
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return *state;
}

/* What Check's assertions in the shared helpers call, without Check: in a forked child of a row there is no test to
 * fail. */
void _mark_point(const char *file, int line)
{
    (void)file, (void)line;
}

void _ck_assert_failed(const char *file, int line, const char *expr, const char *format, ...)
{
    fprintf(stderr, "fault: %s:%d: %s\n", file, line, expr ? expr : format);
    _exit(99);
}

static bool wanted(const row *r, int argc, char **argv)
{
    bool any = false;
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-')
            continue;
        size_t n = strlen(argv[i]); /* F1 is not F10; F7 is F7a, Z is Z1 */
        bool starts = !strncmp(r->id, argv[i], n);
        bool cut = starts && n && isdigit((unsigned char)argv[i][n - 1]) && isdigit((unsigned char)r->id[n]);
        if (starts && !cut)
            return true;
        any = true;
    }
    return !any;
}

int main(int argc, char **argv)
{
    bool full = argc > 1 && !strcmp(argv[1], "--full");
    int passed = 0, failed = 0;
    watch_begin();
    for (size_t i = 0; i < SETT__COUNT(rows); i++) {
        char figures[300] = "";
        if (!wanted(&rows[i], argc, argv))
            continue;
        double start = sett__now_ms();
        make_root();
        long failures = rows[i].run(full, figures, sizeof figures);
        drop_root();
        printf("%-4s %s: %s, %ld failures (%.1f s)\n", rows[i].id, rows[i].claim, figures, failures,
            (sett__now_ms() - start) / 1e3);
        fflush(stdout);
        *(failures ? &failed : &passed) += 1;
    }
    watch_end();
    printf("fault: %d passed, %d failed\n", passed, failed);
    return failed != 0;
}
