// SPDX-License-Identifier: Apache-2.0
// A model that is loaded, and what a thread needs to run it. A model is a folder with two files: kernels.pack, and weights.
#ifndef SERVER_MODEL_H
#define SERVER_MODEL_H
#include "kernels.h"
#include <memory>
#include <stdexcept>
#include <string>

struct failure : std::runtime_error {
    using runtime_error::runtime_error;
};
// Throws what a call of sett says.
void must(sett_status, const sett_error &);

template <typename object, void (*end)(object *)> struct ends {
    void operator()(object *o) const { end(o); }
};
using engine_handle = std::unique_ptr<sett_engine, ends<sett_engine, sett_engine_close>>;
using kernel_handle = std::unique_ptr<sett_kernel, ends<sett_kernel, sett_kernel_release>>;
using graph_handle = std::unique_ptr<sett_graph, ends<sett_graph, sett_graph_free>>;

// A buffer of floats on a device.
class device_floats {
public:
    device_floats(sett_engine *, int device, size_t n);
    device_floats(const device_floats &) = delete;
    ~device_floats();
    sett_buf rows(int n) const { return sett_buf_2d(data, SETT_F32, n, WIDTH); }
    float *const data;

private:
    sett_engine *const engine;
    const int device;
};

// A folder's model, ready to run: a sealed engine over its pack, its kernels, its weights on the device. Immutable; any number of threads may
// use it. It goes with the last runner that has it: then its kernels are unloaded and its engine closed, so that a server that loads models for ever
// keeps the memory of those in use.
class model {
public:
    model(const std::string &folder, int device);
    ~model();
    const int device;
    uint32_t version = 0;
    float scale = 0;
    engine_handle engine;
    kernel_handle hidden, output, residual;
    std::unique_ptr<device_floats> w1, b1, w2, b2;
};

// What one thread has of a model: a graph, a stream, memory. For that thread alone.
class runner {
public:
    runner(std::shared_ptr<const model>, sett_stream);
    runner(const runner &) = delete;
    ~runner();
    void run(const float *x, float *y, int rows); // at most MAX_ROWS
    const std::shared_ptr<const model> of;

private:
    const sett_stream stream;
    device_floats x, h, z, y;
    graph_handle graph;
    int arg[4];
};

// Build job: writes such a folder. targets: "sm_80", "sm_90a", ...; it needs the compiler and an assembler, and no GPU.
void build_model(const std::string &folder, uint32_t version, const char *const *targets, int n);

// A stream of a GPU, made by the driver; of the CPU it only names launches.
sett_stream make_stream(int device, int thread);
#endif
