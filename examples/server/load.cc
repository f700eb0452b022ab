// SPDX-License-Identifier: Apache-2.0
// Load for the server: threads that compare every answer with plain C, while the model's link is turned from one folder to the next and the
// server told to reload. Each answer must be right for the version that it names.
//
//     load --port N --threads N --seconds N [--reload MS LINK FOLDER...] [--pid N] [--shape-only]
//
// --pid: prints the server's memory as it goes on. --shape-only: over a driver that runs nothing, only the sizes of answers are compared.
#include "http.h"
#include "kernels.h"
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

static int port, threads = 8, period, pid;
static double seconds = 5;
static bool shape_only;
static std::string link_path;
static std::vector<std::string> folders;
static std::atomic<bool> over;
static std::atomic<uint64_t> good, wrong, broken, reloads;
static std::mutex lock;
static std::map<uint32_t, uint64_t> versions; // answers by each

static const weights &weights_at(uint32_t version)
{
    thread_local std::map<uint32_t, std::unique_ptr<weights>> known;
    auto &w = known[version];
    if (!w)
        w = std::make_unique<weights>(), weights_of(version, w.get());
    return *w;
}

static bool right(const message &m, const float *x, int rows, uint32_t version)
{
    static thread_local float want[MAX_ROWS * WIDTH];
    const size_t bytes = sizeof *x * (size_t)rows * WIDTH;
    reference(&weights_at(version), x, want, rows);
    return m.body.size() == bytes && (shape_only || !std::memcmp(m.body.data(), want, bytes));
}

static void ask(uint32_t seed)
{
    connection c(connect_to(port));
    std::map<uint32_t, uint64_t> mine;
    float x[MAX_ROWS * WIDTH];
    while (!over) {
        const int rows = 1 + (int)((seed = seed * 1664525u + 1013904223u) >> 16) % MAX_ROWS;
        for (int i = 0; i < rows * WIDTH; i++)
            x[i] = (float)((seed = seed * 1664525u + 1013904223u) >> 8) / 16777216.0f - 0.5f;
        message m = {"POST /run HTTP/1.1", "", std::string((const char *)x, sizeof *x * (size_t)rows * WIDTH)};
        if (!c.send(m) || !c.receive(m, [] { return false; }) || m.first != "HTTP/1.1 200 OK") {
            if (!broken++)
                std::fprintf(stderr, "no answer: %s: %s", m.first.c_str(), m.body.c_str());
            break;
        }
        const uint32_t version = (uint32_t)std::atoi(m.field("X-Model").c_str());
        mine[version]++;
        ++(right(m, x, rows, version) ? good : wrong);
    }
    std::lock_guard<std::mutex> hold(lock);
    for (const auto &[version, n] : mine)
        versions[version] += n;
}

// The link turns at once: another is made beside it and renamed over it.
static void turn_and_reload()
{
    connection c(connect_to(port));
    for (size_t i = 1; !over; i++) {
        const std::string next = link_path + ".next";
        message m = {"POST /reload HTTP/1.1", "", ""};
        std::this_thread::sleep_for(std::chrono::milliseconds(period));
        unlink(next.c_str());
        if (symlink(folders[i % folders.size()].c_str(), next.c_str()) || rename(next.c_str(), link_path.c_str()) || !c.send(m) ||
            !c.receive(m, [] { return false; }) || m.first != "HTTP/1.1 200 OK") {
            broken++;
            std::fprintf(stderr, "no reload: %s: %s", m.first.c_str(), m.body.c_str());
            return;
        }
        reloads++;
    }
}

static long resident_kib()
{
    std::ifstream f("/proc/" + std::to_string(pid) + "/status");
    std::string line;
    while (std::getline(f, line))
        if (!line.compare(0, 6, "VmRSS:"))
            return std::atol(line.c_str() + 6);
    return 0;
}

static bool options(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const std::string a = argv[i];
        const bool more = i + 1 < argc;
        if (a == "--shape-only")
            shape_only = true;
        else if (more && a == "--port")
            port = std::atoi(argv[++i]);
        else if (more && a == "--threads")
            threads = std::atoi(argv[++i]);
        else if (more && a == "--seconds")
            seconds = std::atof(argv[++i]);
        else if (more && a == "--pid")
            pid = std::atoi(argv[++i]);
        else if (a == "--reload" && i + 3 < argc) {
            period = std::atoi(argv[++i]);
            link_path = argv[++i];
            while (i + 1 < argc && std::strncmp(argv[i + 1], "--", 2))
                folders.push_back(argv[++i]);
        } else
            return false;
    }
    return port > 0;
}

int main(int argc, char **argv)
{
    if (!options(argc, argv))
        return std::fprintf(stderr, "load --port N [--threads N] [--seconds N] [--reload MS LINK FOLDER...] [--pid N] [--shape-only]\n"), 2;
    std::vector<std::thread> all;
    for (int i = 0; i < threads; i++)
        all.emplace_back(ask, (uint32_t)i + 1);
    if (!folders.empty())
        all.emplace_back(turn_and_reload);
    long early = 0, last = 0;
    for (int tenth = 1; tenth <= 10; tenth++) {
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds / 10));
        last = pid ? resident_kib() : 0;
        early = tenth == 2 ? last : early;
        if (pid && seconds >= 60)
            std::printf("%d %%: %ld KiB, %llu answers\n", tenth * 10, last, (unsigned long long)good.load()), std::fflush(stdout);
    }
    over = true;
    for (auto &t : all)
        t.join();
    for (const auto &[version, n] : versions)
        std::printf("version %u: %llu\n", version, (unsigned long long)n);
    std::printf("answers %llu, wrong %llu, broken %llu, reloads %llu, grown %ld KiB\n", (unsigned long long)good.load(), (unsigned long long)wrong.load(),
        (unsigned long long)broken.load(), (unsigned long long)reloads.load(), last - early);
    return wrong || broken || !good;
}
