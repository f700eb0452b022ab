// SPDX-License-Identifier: Apache-2.0
// A C++17 host: compiles a kernel written in C, launches it by plain functions, checks it.
#include <sett/sett.h>
#include "host_kernel.h"
#include <cstdio>
#include <vector>

struct parameters {
    int columns;
    bool fast;
    sett_dtype dtype;
    double factor;
};
static constexpr sett_family_param members[] = {SETT_FAMILY_PARAM(parameters, columns), SETT_FAMILY_PARAM(parameters, fast),
    SETT_FAMILY_PARAM(parameters, dtype), SETT_FAMILY_PARAM(parameters, factor)};
static_assert(!members[0].floating && !members[1].floating && !members[2].floating && members[3].floating &&
                  members[3].bytes == 8,
    "what a family's parameters are");

int main()
{
    sett_engine *e = nullptr;
    sett_kernel *k = nullptr;
    sett_error err{};
    sett_engine_options options{};
    options.size = sizeof options;
    options.no_gpu = true;
    if (sett_engine_open(&e, &options, &err) || sett_compile(e, host_kernel, nullptr, &k, &err)) {
        std::fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    std::vector<float> y(1000, 41.0f);
    sett_buf Y = sett_buf_1d(y.data(), SETT_F32, 1000);
    if (sett_launch(k, sett_stream_of(SETT_CPU, nullptr), &err, &Y)) {
        std::fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (float v : y)
        if (v != 42.0f)
            return 1;
    if (sett_launch(k, sett_stream_of(SETT_CPU, nullptr), &err, SETT_STRUCT(options)) != SETT_E_BIND) // it takes a buffer
        return 1;
    sett_call *call = nullptr;
    if (sett_call_make(k, SETT_CPU, &call, &err, &Y) || sett_call_run(call, sett_stream_of(SETT_CPU, nullptr)) || y[999] != 43.0f)
        return 1;
    sett_call_free(call);
    sett_kernel_release(k);
    sett_engine_close(e);
    std::puts("C++ host: ok");
    return 0;
}
