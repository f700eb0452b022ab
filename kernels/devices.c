/* SPDX-License-Identifier: Apache-2.0 */
#include "devices.h"

enum { KIB = 1024 };

static const device devices[] = {
    {70, 80, 96 * KIB, 0, 0, 0},    /* V100 */
    {75, 40, 64 * KIB, 0, 0, 0},    /* T4 */
    {80, 108, 163 * KIB, 0, 0, 0},  /* A100 */
    {86, 84, 99 * KIB, 0, 0, 0},    /* A40 */
    {87, 16, 163 * KIB, 0, 0, 0},   /* Orin */
    {88, 0, 99 * KIB, 0, 0, 0},
    {89, 142, 99 * KIB, 0, 0, 0},   /* L40S */
    {90, 132, 227 * KIB, 1755, 2370, 9380}, /* H100, H200: as measured on an H200 by bench/products.py sweep */
    {100, 148, 227 * KIB, 0, 0, 0}, /* B200 */
    {120, 170, 99 * KIB, 0, 0, 0},  /* RTX 5090 */
};

const device *sett__device_of(int sm)
{
    const device *found = devices;
    for (int i = 0; i < (int)(sizeof devices / sizeof *devices); i++)
        if (devices[i].sm <= (sm ? sm : 90))
            found = &devices[i];
    return found;
}
