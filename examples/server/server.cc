// SPDX-License-Identifier: Apache-2.0
// A server: threads that each have a stream and a graph, over kernels of a sealed pack; metrics as text; another model without a stop.
//
//     server --build FOLDER VERSION TARGET...                  a model: compiled kernels and weights
//     server --model LINK [--port N] [--threads N] [--cpu]     prints its port, and serves until SIGTERM
//
//     POST /run      rows of 64 floats; answers as many, and the model's version in X-Model
//     POST /reload   loads what LINK names now; if that fails, the old model serves on
//     GET /metrics   counters for Prometheus       GET /health
#include "http.h"
#include "model.h"
#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <poll.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

static std::atomic<bool> ended;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may write it");

using timer = std::chrono::steady_clock;

// What a thread serves with.
struct seat {
    const sett_stream stream;
    std::unique_ptr<runner> mine;
    std::shared_ptr<const model> refused; // there was no memory to run it: the old one serves until `again`, and longer
    timer::time_point again;
};

class server {
public:
    server(const std::string &link, int device) : link(link), device(device), now(std::make_shared<const model>(link, device)) {}
    void work(int thread);
    void accept_all(int listener);

private:
    std::shared_ptr<const model> current();
    void renew(seat &);
    message answer(const message &, seat &);
    message run(const message &, runner &);
    message reload();
    message metrics();

    const std::string link;
    const int device;
    std::mutex lock;     // over now and waiting
    std::mutex reloading;
    std::condition_variable ready;
    std::shared_ptr<const model> now;
    std::deque<int> waiting;
    std::atomic<uint64_t> requests{0}, failures{0}, reloads{0};
};

static message says(const char *status, const std::string &body, const char *type = "text/plain")
{
    return {std::string("HTTP/1.1 ") + status, std::string("Content-Type: ") + type + "\r\n", body};
}

std::shared_ptr<const model> server::current()
{
    std::lock_guard<std::mutex> hold(lock);
    return now;
}

// A thread that has an old model takes the new one, between two requests. The last to do so ends the old one. A thread that has no memory
// for the new one serves on with the old, and tries again once a second.
void server::renew(seat &s)
{
    auto wanted = current();
    if (s.mine && (s.mine->of == wanted || (s.refused == wanted && timer::now() < s.again)))
        return;
    try {
        s.mine = std::make_unique<runner>(wanted, s.stream);
        s.refused.reset();
    } catch (const std::exception &e) {
        if (!s.mine)
            throw;
        failures++;
        std::fprintf(stderr, "version %u: %s\n", (unsigned)wanted->version, e.what());
        s.refused = wanted;
        s.again = timer::now() + std::chrono::seconds(1);
    }
}

// ---- requests --------------------------------------------------------------------------------------
message server::run(const message &m, runner &with)
{
    const size_t row = sizeof(float) * WIDTH, rows = m.body.size() / row;
    if (m.body.size() % row || rows < 1 || rows > MAX_ROWS)
        return says("400 Bad Request", "1 to " + std::to_string((int)MAX_ROWS) + " rows of " + std::to_string((int)WIDTH) + " floats\n");
    float x[MAX_ROWS * WIDTH], y[MAX_ROWS * WIDTH];
    std::memcpy(x, m.body.data(), m.body.size());
    with.run(x, y, (int)rows);
    message a = says("200 OK", std::string((const char *)y, m.body.size()), "application/octet-stream");
    a.fields += "X-Model: " + std::to_string(with.of->version) + "\r\n";
    return a;
}

// Loaded beside the old one; only then the pointer turns.
message server::reload()
{
    std::lock_guard<std::mutex> one(reloading);
    auto next = std::make_shared<const model>(link, device);
    const uint32_t version = next->version;
    {
        std::lock_guard<std::mutex> hold(lock);
        now.swap(next);
    }
    ready.notify_all(); // idle threads let the old one go
    reloads++;
    return says("200 OK", "version " + std::to_string(version) + "\n");
}

static bool append(void *to, const char *text, size_t len)
{
    ((std::string *)to)->append(text, len);
    return true;
}

message server::metrics()
{
    const auto m = current();
    const sett_metrics_source source = {m->engine.get(), "model"};
    std::string text;
    sett_error err = {};
    must(sett_metrics_write(&source, 1, append, &text, &err), err);
    const std::pair<const char *, uint64_t> own[] = {{"requests_total", requests}, {"failures_total", failures}, {"reloads_total", reloads}};
    for (const auto &[name, value] : own)
        text += std::string("# TYPE server_") + name + " counter\nserver_" + name + " " + std::to_string(value) + "\n";
    text += "# TYPE server_model_version gauge\nserver_model_version " + std::to_string(m->version) + "\n";
    return says("200 OK", text, "text/plain; version=0.0.4");
}

message server::answer(const message &m, seat &s)
{
    const std::string what = m.first.substr(0, m.first.rfind(' '));
    try {
        if (what == "POST /run")
            return requests++, run(m, *s.mine);
        if (what == "POST /reload")
            return reload();
        if (what == "GET /metrics")
            return metrics();
        return what == "GET /health" ? says("200 OK", "ok\n") : says("404 Not Found", "there is no " + what + "\n");
    } catch (const std::exception &e) {
        failures++;
        return says("500 Internal Server Error", std::string(e.what()) + "\n");
    }
}

// ---- threads ------------------------------------------------------------------------------------------
void server::work(int thread)
{
    seat s = {make_stream(device, thread), nullptr, nullptr, {}};
    while (!ended) {
        int fd = -1;
        renew(s);
        {
            std::unique_lock<std::mutex> hold(lock);
            ready.wait_for(hold, std::chrono::milliseconds(200), [&] { return !waiting.empty() || ended || (s.mine->of != now && s.refused != now); });
            if (!waiting.empty())
                fd = waiting.front(), waiting.pop_front();
        }
        if (fd < 0)
            continue;
        connection c(fd);
        message m;
        const auto idle = [&] { return renew(s), ended.load(); };
        while (!ended && c.receive(m, idle)) {
            renew(s);
            if (!c.send(answer(m, s)))
                break;
        }
    }
}

void server::accept_all(int listener)
{
    pollfd p = {listener, POLLIN, 0};
    while (!ended) {
        const int fd = poll(&p, 1, 100) > 0 ? accept(listener, nullptr, nullptr) : -1;
        if (fd < 0)
            continue;
        std::lock_guard<std::mutex> hold(lock);
        waiting.push_back(fd);
        ready.notify_one();
    }
}

static int serve(const std::string &link, int port, int threads, bool cpu)
{
    int bound = 0;
    server s(link, cpu ? (int)SETT_CPU : 0);
    const int listener = listen_on(port, &bound);
    if (listener < 0)
        throw failure("port " + std::to_string(port) + " cannot be listened on");
    std::signal(SIGTERM, [](int) { ended = true; });
    std::signal(SIGINT, [](int) { ended = true; });
    std::printf("port %d\n", bound);
    std::fflush(stdout);
    std::atomic<bool> failed{false};
    std::vector<std::thread> all;
    for (int i = 0; i < threads; i++)
        all.emplace_back([&s, &failed, i] {
            try {
                s.work(i);
            } catch (const std::exception &e) {
                std::fprintf(stderr, "thread %d: %s\n", i, e.what());
                ended = failed = true;
            }
        });
    s.accept_all(listener);
    for (auto &t : all)
        t.join();
    close(listener);
    return failed;
}

int main(int argc, char **argv)
{
    std::string link;
    int port = 0, threads = 8;
    bool cpu = false;
    try {
        if (argc > 4 && !std::strcmp(argv[1], "--build"))
            return build_model(argv[2], (uint32_t)std::atoi(argv[3]), argv + 4, argc - 4), 0;
        for (int i = 1; i < argc; i++) {
            const std::string a = argv[i];
            if (a == "--cpu")
                cpu = true;
            else if (i + 1 < argc && a == "--model")
                link = argv[++i];
            else if (i + 1 < argc && a == "--port")
                port = std::atoi(argv[++i]);
            else if (i + 1 < argc && a == "--threads")
                threads = std::clamp(std::atoi(argv[++i]), 1, 256);
            else
                link.clear(), i = argc;
        }
        if (!link.empty())
            return serve(link, port, threads, cpu);
        std::fprintf(stderr, "server --model LINK [--port N] [--threads N] [--cpu] | server --build FOLDER VERSION TARGET...\n");
        return 2;
    } catch (const std::exception &e) {
        std::fprintf(stderr, "server: %s\n", e.what());
        return 1;
    }
}
