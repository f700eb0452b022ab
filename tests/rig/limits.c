/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/rig/limits.h"
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* ---- CPU time ------------------------------------------------------------------------------ */
static int number_of(const char *variable, int otherwise)
{
    const char *text = getenv(variable);
    int n = text ? atoi(text) : 0;
    return n > 0 ? n : otherwise;
}

void limit_cpu(int seconds)
{
    struct rusage used;
    struct rlimit most;
    if (getrusage(RUSAGE_SELF, &used) || getrlimit(RLIMIT_CPU, &most))
        return;
    rlim_t until = (rlim_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec + 1 + (time_t)seconds * number_of("CK_TIMEOUT_MULTIPLIER", 1));
    most.rlim_cur = until < most.rlim_max ? until : most.rlim_max;
    setrlimit(RLIMIT_CPU, &most);
}

static double ms_of(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

double cpu_ms(void)
{
    return ms_of(CLOCK_PROCESS_CPUTIME_ID);
}

double thread_cpu_ms(void)
{
    return ms_of(CLOCK_THREAD_CPUTIME_ID);
}

long most_memory(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_maxrss;
}

/* ---- the watcher ------------------------------------------------------------------------------ */
enum { PROCESSES = 4096, TICKS_OF_LIFE = 2 }; /* clock ticks a second: what polls uses fewer */
typedef struct process {
    pid_t id, parent;
    unsigned long ticks;
    bool ours;
} process;
static pid_t watcher = -1;

/* State, parent and clock ticks, of the file of a process or a thread. */
static bool read_stat(const char *path, char *state, process *p)
{
    char text[1024], *at;
    unsigned long user, system;
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = 0;
    at = strrchr(text, ')'); /* a name may hold blanks and parentheses */
    if (!at || sscanf(at + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", state, &p->parent, &user, &system) != 4)
        return false;
    p->ticks = user + system;
    return true;
}

static bool a_thread_may_run(pid_t id)
{
    char path[64], file[400], state = 0;
    bool may = false;
    process ignored;
    snprintf(path, sizeof path, "/proc/%d/task", (int)id);
    DIR *d = opendir(path);
    for (struct dirent *e; d && !may && (e = readdir(d));) {
        snprintf(file, sizeof file, "%s/%s/stat", path, e->d_name);
        may = *e->d_name != '.' && read_stat(file, &state, &ignored) && (state == 'R' || state == 'D');
    }
    if (d)
        closedir(d);
    return may;
}

/* All processes, those that descend from root marked. */
static int look_around(process *all, pid_t root)
{
    int n = 0;
    char file[64], state;
    DIR *d = opendir("/proc");
    for (struct dirent *e; d && n < PROCESSES && (e = readdir(d));) {
        process p = {.id = atoi(e->d_name)};
        if (p.id <= 0 || p.id == getpid())
            continue;
        snprintf(file, sizeof file, "/proc/%d/stat", (int)p.id);
        p.ours = p.id == root;
        if (read_stat(file, &state, &p) && state != 'Z')
            all[n++] = p;
    }
    if (d)
        closedir(d);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < n; i++)
            for (int k = 0; k < n && !all[i].ours; k++)
                if (all[k].ours && all[k].id == all[i].parent)
                    more = all[i].ours = true;
    }
    return n;
}

static bool lives(const process *all, int n, unsigned long *ticks)
{
    unsigned long sum = 0, before = *ticks;
    bool may = false;
    for (int i = 0; i < n; i++)
        if (all[i].ours) {
            sum += all[i].ticks;
            may = may || a_thread_may_run(all[i].id);
        }
    *ticks = sum;
    return may || sum < before || sum - before >= TICKS_OF_LIFE;
}

static void end_it(const process *all, int n, pid_t root, int quiet)
{
    bool child = false;
    fprintf(stderr, "no thread has run for %d s: what is waited for does not come\n", quiet);
    for (int i = 0; i < n; i++)
        if (all[i].parent == root) {
            child = true;
            if (kill(-all[i].id, SIGKILL)) /* Check's tests are groups */
                kill(all[i].id, SIGKILL);
        }
    if (!child)
        kill(root, SIGABRT);
}

static void watch(pid_t root)
{
    static process all[PROCESSES];
    unsigned long ticks = 0;
    const int most = number_of("SETT_TEST_QUIET_S", 120);
    for (int quiet = 0; getppid() == root;) {
        sleep(1);
        int n = look_around(all, root);
        quiet = lives(all, n, &ticks) ? 0 : quiet + 1;
        if (quiet >= most) {
            end_it(all, n, root, quiet);
            quiet = 0;
        }
    }
}

void watch_begin(void)
{
    pid_t root = getpid();
    fflush(NULL);
    watcher = fork();
    if (watcher)
        return;
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    watch(root);
    _exit(0);
}

void watch_end(void)
{
    if (watcher > 0 && !kill(watcher, SIGKILL))
        waitpid(watcher, NULL, 0);
    watcher = -1;
}
