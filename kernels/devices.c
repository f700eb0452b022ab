/* SPDX-License-Identifier: Apache-2.0 */
#include "devices.h"

enum { KIB = 1024 };

static const device devices[] = {
    {70, 80, 96 * KIB},    /* V100 */
    {75, 40, 64 * KIB},    /* T4 */
    {80, 108, 163 * KIB},  /* A100 */
    {86, 84, 99 * KIB},    /* A40 */
    {87, 16, 163 * KIB},   /* Orin */
    {88, 0, 99 * KIB},
    {89, 142, 99 * KIB},   /* L40S */
    {90, 132, 227 * KIB},  /* H100, H200 */
    {100, 148, 227 * KIB}, /* B200 */
    {120, 170, 99 * KIB},  /* RTX 5090 */
};

const device *sett__device_of(int sm)
{
    const device *found = devices;
    for (int i = 0; i < (int)(sizeof devices / sizeof *devices); i++)
        if (devices[i].sm <= (sm ? sm : 90))
            found = &devices[i];
    return found;
}
