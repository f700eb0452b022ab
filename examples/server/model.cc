// SPDX-License-Identifier: Apache-2.0
#include "model.h"
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fstream>
#include <sys/stat.h>
#include <vector>

void must(sett_status s, const sett_error &err)
{
    if (s)
        throw failure(err.text[0] ? err.text : sett_status_text(s));
}

// ---- the kernels -----------------------------------------------------------------------------------
// From the memo, the pack, or (in a build job, and for the CPU) the compiler. The options hold all that a body depends on.
static kernel_handle compile(sett_engine *e, sett_body body, const char *name, const char *target, bool relu)
{
    sett_error err = {};
    sett_kernel *k = nullptr;
    dense_options user = {WIDTH, relu};
    sett_compile_options o = {};
    o.size = sizeof o, o.name = name, o.target = target, o.user = &user, o.user_size = sizeof user;
    must(sett_compile(e, body, &o, &k, &err), err);
    return kernel_handle(k);
}

// ---- memory -----------------------------------------------------------------------------------------
device_floats::device_floats(sett_engine *e, int device, size_t n)
    : data((float *)sett_alloc(e, device, n * sizeof(float))), engine(e), device(device)
{
    if (!data)
        throw failure("no memory on the device");
}

device_floats::~device_floats()
{
    sett_free(engine, device, data);
}

static std::unique_ptr<device_floats> upload(sett_engine *e, int device, const float *from, size_t n)
{
    auto to = std::make_unique<device_floats>(e, device, n);
    sett_error err = {};
    const sett_stream s = sett_stream_of(device, nullptr);
    must(sett_memcpy(e, s, to->data, from, n * sizeof(float)), err);
    must(sett_sync_error(e, s, &err), err);
    return to;
}

// ---- a model ------------------------------------------------------------------------------------------
static weights read_weights(const std::string &folder)
{
    weights w;
    std::ifstream f(folder + "/weights", std::ios::binary);
    if (!f.read((char *)&w, sizeof w))
        throw failure(folder + "/weights cannot be read");
    return w;
}

// By the real path, so that a link that is turned meanwhile does not mix two folders.
static std::string real_folder(const std::string &folder)
{
    std::unique_ptr<char, void (*)(void *)> path(realpath(folder.c_str(), nullptr), std::free);
    if (!path)
        throw failure(folder + ": there is no such folder");
    return path.get();
}

// Sealed: what the pack lacks is an error, never a compile.
static engine_handle open_engine(const std::string &folder, int device)
{
    const std::string pack = folder + "/kernels.pack";
    sett_engine_options o = {};
    sett_engine *e = nullptr;
    sett_error err = {};
    o.size = sizeof o, o.cache_dir = "", o.cache_layers = pack.c_str(), o.sealed = true, o.cache_required = true;
    o.no_gpu = device == SETT_CPU, o.cpu_threads = 1;
    must(sett_engine_open(&e, &o, &err), err);
    return engine_handle(e);
}

model::model(const std::string &link, int device) : device(device)
{
    const std::string folder = real_folder(link);
    const weights w = read_weights(folder);
    sett_error err = {};
    version = w.version, scale = w.scale;
    engine = open_engine(folder, device);
    hidden = compile(engine.get(), dense, "hidden", nullptr, true);
    output = compile(engine.get(), dense, "output", nullptr, false);
    residual = compile(engine.get(), ::residual, "residual", nullptr, false);
    for (sett_kernel *k : {hidden.get(), output.get(), residual.get()})
        must(sett_prepare(k, device, &err), err);
    w1 = upload(engine.get(), device, w.w1, WIDTH * WIDTH), b1 = upload(engine.get(), device, w.b1, WIDTH);
    w2 = upload(engine.get(), device, w.w2, WIDTH * WIDTH), b2 = upload(engine.get(), device, w.b2, WIDTH);
}

// Each runner has waited for its stream, so nothing runs or holds the code.
model::~model()
{
    for (sett_kernel *k : {hidden.get(), output.get(), residual.get()})
        if (k)
            sett_unload(k, nullptr);
}

// ---- a runner -----------------------------------------------------------------------------------------
runner::runner(std::shared_ptr<const model> m, sett_stream stream)
    : of(std::move(m)), stream(stream), x(of->engine.get(), of->device, MAX_ROWS * WIDTH), h(of->engine.get(), of->device, MAX_ROWS * WIDTH),
      z(of->engine.get(), of->device, MAX_ROWS * WIDTH), y(of->engine.get(), of->device, MAX_ROWS * WIDTH)
{
    static const char *const names[] = {"x", "h", "z", "y"};
    sett_error err = {};
    sett_graph *p = nullptr;
    must(sett_graph_make(of->device, nullptr, &p, &err), err);
    graph.reset(p);
    const sett_buf w1 = sett_buf_2d(of->w1->data, SETT_F32, WIDTH, WIDTH), w2 = sett_buf_2d(of->w2->data, SETT_F32, WIDTH, WIDTH);
    const sett_buf b1 = sett_buf_1d(of->b1->data, SETT_F32, WIDTH), b2 = sett_buf_1d(of->b2->data, SETT_F32, WIDTH);
    must(sett_graph_add(p, of->hidden.get(), "hidden", &err, "x", &w1, &b1, "h"), err);
    must(sett_graph_add(p, of->output.get(), "output", &err, "h", &w2, &b2, "z"), err);
    must(sett_graph_add(p, of->residual.get(), "residual", &err, "x", "z", "y", of->scale), err);
    for (int i = 0; i < 4; i++)
        arg[i] = sett_graph_argument(p, names[i]);
}

runner::~runner()
{
    sett_sync(of->engine.get(), stream);
}

void runner::run(const float *in, float *out, int rows)
{
    const device_floats *const buffer[] = {&x, &h, &z, &y};
    const size_t bytes = sizeof *in * (size_t)rows * WIDTH;
    sett_engine *e = of->engine.get();
    sett_error err = {};
    for (int i = 0; i < 4; i++) {
        const sett_buf b = buffer[i]->rows(rows);
        sett_graph_set(graph.get(), arg[i], &b);
    }
    must(sett_memcpy(e, stream, x.data, in, bytes), err);
    must(sett_graph_commit(graph.get(), &err), err);
    must(sett_graph_run(graph.get(), stream, &err), err);
    must(sett_memcpy(e, stream, out, y.data, bytes), err);
    must(sett_sync_error(e, stream, &err), err);
}

// ---- build job, streams --------------------------------------------------------------------------------
void build_model(const std::string &folder, uint32_t version, const char *const *targets, int n)
{
    auto w = std::make_unique<weights>();
    sett_engine_options o = {};
    sett_engine *e = nullptr;
    sett_error err = {};
    uint64_t entries = 0;
    if (mkdir(folder.c_str(), 0755))
        throw failure(folder + " cannot be made, or is there");
    const std::string cache = real_folder(folder) + "/cache", pack = folder + "/kernels.pack"; // a cache's path is absolute
    if (mkdir(cache.c_str(), 0700))
        throw failure(cache + " cannot be made");
    o.size = sizeof o, o.cache_dir = cache.c_str(), o.cache_layers = "";
    must(sett_engine_open(&e, &o, &err), err);
    engine_handle engine(e);
    for (int i = 0; i < n; i++) {
        compile(e, dense, "hidden", targets[i], true);
        compile(e, dense, "output", targets[i], false);
        compile(e, residual, "residual", targets[i], false);
    }
    engine.reset(); // what it compiled is on disk now
    must(sett_engine_open(&e, &o, &err), err);
    engine.reset(e);
    must(sett_pack_write(e, pack.c_str(), nullptr, &entries, &err), err);
    weights_of(version, w.get());
    std::ofstream f(folder + "/weights", std::ios::binary);
    if (!f.write((const char *)w.get(), sizeof *w) || !f.flush())
        throw failure(folder + "/weights cannot be written");
    std::printf("%s: version %u, %llu kernels\n", folder.c_str(), (unsigned)version, (unsigned long long)entries);
}

// sett makes no streams; a program that links CUDA calls cuStreamCreate as it is.
sett_stream make_stream(int device, int thread)
{
    int (*get)(int *, int), (*retain)(void **, int), (*push)(void *), (*pop)(void **), (*create)(void **, unsigned), id;
    void *stream = nullptr, *context;
    if (device == SETT_CPU)
        return sett_stream_of(device, (void *)(uintptr_t)(thread + 1));
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto find = [lib](auto &to, const char *name) {
        void *p = lib ? dlsym(lib, name) : nullptr;
        std::memcpy(&to, &p, sizeof p);
        return p != nullptr;
    };
    if (!find(get, "cuDeviceGet") || !find(retain, "cuDevicePrimaryCtxRetain") || !find(push, "cuCtxPushCurrent_v2") ||
        !find(pop, "cuCtxPopCurrent_v2") || !find(create, "cuStreamCreate") || get(&id, device) || retain(&context, id) || push(context) ||
        create(&stream, 1) || pop(&context))
        throw failure("the driver makes no stream");
    return sett_stream_of(device, stream);
}
