/* SPDX-License-Identifier: Apache-2.0 */
/* cost COMMAND...: runs it, then prints the CPU seconds and the peak resident kB of it and all that it waited for, as "s kB". */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

int main(int argc, char **argv)
{
    struct rusage use;
    int status = 1;
    pid_t child = argc > 1 ? fork() : -1;
    if (!child) {
        execvp(argv[1], argv + 1);
        _exit(127);
    }
    if (child < 0 || waitpid(child, &status, 0) != child || getrusage(RUSAGE_CHILDREN, &use))
        return 1;
    printf("%.2f %ld\n", seconds(use.ru_utime) + seconds(use.ru_stime), use.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
