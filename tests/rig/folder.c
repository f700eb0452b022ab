/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/rig/folder.h"
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool folder_make(char path[64])
{
    strcpy(path, "/tmp/sett-test-XXXXXX");
    return mkdtemp(path) != NULL;
}

void folder_remove(const char *path)
{
    DIR *dir = opendir(path);
    for (struct dirent *d; dir && (d = readdir(dir));) {
        char below[600];
        struct stat st;
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, ".."))
            continue;
        snprintf(below, sizeof below, "%s/%s", path, d->d_name);
        if (!lstat(below, &st) && S_ISDIR(st.st_mode))
            folder_remove(below);
        else
            unlink(below);
    }
    if (dir)
        closedir(dir);
    rmdir(path);
}
