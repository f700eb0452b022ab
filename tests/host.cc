// SPDX-License-Identifier: Apache-2.0
// A C++17 host: compiles a kernel written in C, launches it by plain functions, checks it.
#include <sett/sett.h>
#include "host_kernel.h"
#include <cstdio>
#include <vector>

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
    sett_bind bind{};
    bind.kind = SETT_BIND_BUF;
    bind.u.t = &Y;
    if (sett_launch_n(k, sett_stream_of(SETT_CPU, nullptr), 1, &bind, &err)) {
        std::fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    for (float v : y)
        if (v != 42.0f)
            return 1;
    sett_kernel_release(k);
    sett_engine_close(e);
    std::puts("C++ host: ok");
    return 0;
}
