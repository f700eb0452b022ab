/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a caller named, opened so that none of them holds the call up: a FIFO makes an open() wait until somebody else
 * opens its other end, which may be never. */
#include "support.h"
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

const char *sett__file_kind(mode_t mode)
{
    static const struct {
        mode_t type;
        const char *text;
    } kinds[] = {{S_IFREG, "a regular file"}, {S_IFDIR, "a folder"}, {S_IFLNK, "a symbolic link"}, {S_IFIFO, "a FIFO"},
        {S_IFCHR, "a character device"}, {S_IFBLK, "a block device"}, {S_IFSOCK, "a socket"}};
    for (size_t i = 0; i < SETT__COUNT(kinds); i++)
        if ((mode & S_IFMT) == kinds[i].type)
            return kinds[i].text;
    return "of an unknown kind";
}

int sett__file_open(const char *path, sett_error *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st))
        sett__error(err, SETT_E_IO, "%.300s: %s", path, strerror(errno));
    else if (!S_ISREG(st.st_mode))
        sett__error(err, SETT_E_IO, "%.300s is %s, no regular file", path, sett__file_kind(st.st_mode));
    else
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

void *sett__library_open(const char *path, int flags, char *why, size_t size)
{
    struct stat st;
    if (strchr(path, '/') && !stat(path, &st) && !S_ISREG(st.st_mode)) {
        snprintf(why, size, "%s is %s, no shared object", path, sett__file_kind(st.st_mode));
        return NULL;
    }
    void *lib = dlopen(path, flags);
    const char *said = lib ? NULL : dlerror();
    if (!lib)
        snprintf(why, size, "%s", said ? said : path);
    return lib;
}
