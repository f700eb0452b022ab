/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of its own for a test. */
#ifndef FOLDER_H
#define FOLDER_H
#include <stdbool.h>
bool folder_make(char path[64]); /* under /tmp; writes its name */
void folder_remove(const char *path); /* with all that is in it */
#endif
