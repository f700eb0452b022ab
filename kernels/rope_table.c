/* SPDX-License-Identifier: Apache-2.0 */
/* Cosines and sines of positions, on the host: scalings of angles live here alone, and no kernel knows them. */
#include "kernels.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

static const double TURN = 6.283185307179586;

static double or_else(double x, double usual)
{
    return x != 0 ? x : usual;
}

/* What is 0 becomes the usual. */
static void settle(sett_rope_table_options *o)
{
    enum { LLAMA3_POSITIONS = 8192 };
    o->base = or_else(o->base, 10000);
    o->low = or_else(o->low, 1), o->high = or_else(o->high, 4);
    o->beta_fast = or_else(o->beta_fast, 32), o->beta_slow = or_else(o->beta_slow, 1);
    if (o->scaling == SETT_ROPE_LLAMA3 && !o->original)
        o->original = LLAMA3_POSITIONS;
}

static void check(choice *c, const sett_rope_table_options *o)
{
    sett__in_range(c, "positions", o->positions, 1, 1 << 28);
    sett__in_range(c, "rotary", o->rotary, 2, 1 << 16);
    if (o->rotary % 2)
        REFUSE(c, ".rotary is %d: an even number, two columns to an angle", o->rotary);
    sett__in_range(c, "scaling", (int)o->scaling, SETT_ROPE_DEFAULT, SETT_ROPE_YARN);
    if (!(o->base > 1) || !isfinite(o->base))
        REFUSE(c, ".base is %g: a number above 1", o->base);
    if (o->scaling && (!(o->factor >= 1) || !isfinite(o->factor)))
        REFUSE(c, ".factor is %g: with .scaling 1 or more", o->factor);
    if (o->scaling == SETT_ROPE_YARN || o->original)
        sett__in_range(c, "original", o->original, 1, 1 << 28);
    if (!(o->low > 0) || !(o->high > o->low) || !isfinite(o->high))
        REFUSE(c, ".low is %g and .high %g: .low is above 0, and .high above it", o->low, o->high);
    if (!(o->beta_slow > 0) || !(o->beta_fast > o->beta_slow) || !isfinite(o->beta_fast))
        REFUSE(c, ".beta_slow is %g and .beta_fast %g: .beta_slow is above 0, and .beta_fast above it", o->beta_slow, o->beta_fast);
    if (!(o->attention_factor >= 0) || !isfinite(o->attention_factor) || !isfinite(o->mscale) || !isfinite(o->mscale_all))
        REFUSE(c, ".attention_factor is %g, .mscale %g and .mscale_all %g: numbers, the first from 0 on", o->attention_factor, o->mscale, o->mscale_all);
}

/* Waves that are longer than original / low are divided by factor, shorter ones than original / high are not. */
static double by_llama3(const sett_rope_table_options *o, double frequency)
{
    const double turns = o->original * frequency / TURN, of_long = (turns - o->low) / (o->high - o->low);
    const double keep = of_long < 0 ? 0 : of_long > 1 ? 1 : of_long;
    return frequency * (keep + (1 - keep) / o->factor);
}

/* The index of the angle that makes so many turns in the original positions, a fraction. */
static double index_of(const sett_rope_table_options *o, double turns)
{
    return o->rotary * log(o->original / (turns * TURN)) / (2 * log(o->base));
}

static double by_yarn(const sett_rope_table_options *o, double frequency, int i)
{
    const double low = fmax(floor(index_of(o, o->beta_fast)), 0), high = fmin(ceil(index_of(o, o->beta_slow)), o->rotary - 1);
    const double ramp = (i - low) / (high > low ? high - low : 0.001), divided = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
    return frequency * (1 - divided + divided / o->factor);
}

static double frequency_of(const sett_rope_table_options *o, int i)
{
    const double frequency = pow(o->base, -2.0 * i / o->rotary);
    switch (o->scaling) {
    case SETT_ROPE_LINEAR:
        return frequency / o->factor;
    case SETT_ROPE_LLAMA3:
        return by_llama3(o, frequency);
    case SETT_ROPE_YARN:
        return by_yarn(o, frequency, i);
    default:
        return frequency;
    }
}

static double magnitude(const sett_rope_table_options *o, double m)
{
    return 0.1 * m * log(o->factor) + 1;
}

static double amplitude_of(const sett_rope_table_options *o)
{
    if (o->scaling != SETT_ROPE_YARN)
        return 1;
    if (o->attention_factor != 0)
        return o->attention_factor;
    return o->mscale != 0 || o->mscale_all != 0 ? magnitude(o, o->mscale) / magnitude(o, o->mscale_all) : magnitude(o, 1);
}

sett_status sett_rope_table(const sett_rope_table_options *options, float *table, sett_error *err)
{
    static const char none[] = "sett_rope_table: ";
    choice c = {.sm = 0};
    sett_rope_table_options o = {.size = sizeof o};
    if (!options || !table || options->size > sizeof o || !options->size)
        REFUSE(&c, "%s", !options || !table ? "the options or the table are NULL" : "the options' .size is not sizeof(sett_rope_table_options)");
    else
        memcpy(&o, options, options->size);
    settle(&o);
    if (!*c.why)
        check(&c, &o);
    if (*c.why) {
        if (err)
            err->status = SETT_E_ARGUMENT, snprintf(err->text, sizeof err->text, "%s%s", none, c.why);
        return SETT_E_ARGUMENT;
    }
    const int half = o.rotary / 2;
    const double amplitude = amplitude_of(&o);
    for (int i = 0; i < half; i++) {
        const double frequency = frequency_of(&o, i);
        for (int p = 0; p < o.positions; p++) {
            float *row = table + (size_t)p * (size_t)o.rotary;
            row[i] = (float)(amplitude * cos(p * frequency)), row[half + i] = (float)(amplitude * sin(p * frequency));
        }
    }
    return SETT_OK;
}
