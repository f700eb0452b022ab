/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of tests that a busy machine does not reach. What computes for ever ends by its CPU time, SIGXCPU. What waits for ever is
 * found by a watcher: a process that looks once a second whether any thread of the program and its children runs, could run, or has
 * run since; after so many seconds of none it kills the program's children, or the program where it has none. */
#ifndef LIMITS_H
#define LIMITS_H

/* Seconds of CPU time, of all threads, that the calling process may use from here on; $CK_TIMEOUT_MULTIPLIER times as many. */
void limit_cpu(int seconds);
/* CPU time that the process, or this thread, has used: what a busy machine does not stretch. */
double cpu_ms(void);
double thread_cpu_ms(void);
long most_memory(void); /* KiB that the process has had at once */
/* Starts the watcher, and ends it; one a process. $SETT_TEST_QUIET_S: seconds, 120 without it. */
void watch_begin(void);
void watch_end(void);

/* What a suite calls as Check's own (assert.h): the limit of a case is CPU time. seconds: 30 by itself, else 60, 120, 300 or 600. */
struct TCase *limited_case(const char *name);
void limit_case(struct TCase *, int seconds);
#endif
