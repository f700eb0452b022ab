/* SPDX-License-Identifier: Apache-2.0 */
/* file.c: files that a caller named, none of which is waited on. */
#ifndef SETT_JIT_FILE_H
#define SETT_JIT_FILE_H
#include "jit.h"
const char *sett__file_kind(mode_t); /* "a folder", "a FIFO" */
int sett__file_open(const char *path, sett_error *); /* a descriptor of a regular file, O_RDONLY; -1: the error says why */
/* As dlopen, but NULL for a path that is no regular file. why: of a NULL. */
void *sett__library_open(const char *path_or_name, int flags, char *why, size_t size);
#endif
