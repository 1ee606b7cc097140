/*
 * What a group costs, through JACCL's public C++ interface: built once with
 * cjaccl and, where a libjaccl is installed, once with that one
 * (bench/collectives runs both).
 *
 *   bench_collectives_cjaccl [-m BYTES] [OPERATION...]
 *   bench_collectives_jaccl  the same
 *
 * Every rank runs it, with the configuration in its environment. Rank 0 prints
 * one `name value unit` a line, as cjaccl-bench does; `memory` is what the
 * process's private memory grew by when it started its second group (the mock
 * has all of its own by then), touched or not, since a device holds all of it.
 */
#include <jaccl/jaccl.h>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace
{

using Clock = std::chrono::steady_clock;
using GroupPointer = std::shared_ptr<jaccl::Group>;

constexpr int starts = 7;

double us_since(Clock::time_point start)
{
    return std::chrono::duration<double, std::micro>(Clock::now() - start)
        .count();
}

double median(std::vector<double> &values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/* While groups are measured, a freed block goes back at once, whoever freed it:
 * else a group finds the memory that the one before has left to the heap, and
 * seems to need none. While operations are, none does. */
void keep_freed(bool keep)
{
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, keep ? 32 << 20 : 32 << 10);
    mallopt(M_TRIM_THRESHOLD, keep ? 64 << 20 : 0);
#else
    static_cast<void>(keep);
#endif
}

/* Private memory of this process, touched or not; 0 where nobody tells. */
double private_bytes()
{
    std::ifstream status("/proc/self/status");
    std::string word;
    double kib = 0;

    while (status >> word) {
        if (word == "VmData:" && status >> kib)
            return kib * 1024;
    }
    return 0;
}

struct Buffers {
    explicit Buffers(std::size_t bytes)
        : in(bytes / sizeof(float), 1), out(bytes / sizeof(float), 1)
    {
    }
    std::vector<float> in;
    std::vector<float> out;
};

/* There and back between ranks 0 and 1. */
void ping_pong(jaccl::Group &group, Buffers &b, std::size_t bytes)
{
    const int rank = group.rank();

    if (rank > 1 || group.size() == 1)
        return;
    if (rank == 0)
        group.send(b.in.data(), bytes, 1);
    group.recv(b.out.data(), bytes, 1 - rank);
    if (rank == 1)
        group.send(b.in.data(), bytes, 0);
}

struct Operation {
    const char *name;
    std::function<void(jaccl::Group &, Buffers &, std::size_t)> run;
    int messages = 1; /* one after the other in a call */
    bool sized = true;
};

const std::vector<Operation> operations = {
    {"all_sum",
     [](jaccl::Group &g, Buffers &b, std::size_t n) {
         g.all_sum(b.in.data(), b.out.data(), n, jaccl::Float32);
     }},
    {"all_max",
     [](jaccl::Group &g, Buffers &b, std::size_t n) {
         g.all_max(b.in.data(), b.out.data(), n, jaccl::Float32);
     }},
    {"all_min",
     [](jaccl::Group &g, Buffers &b, std::size_t n) {
         g.all_min(b.in.data(), b.out.data(), n, jaccl::Float32);
     }},
    {"all_gather",
     [](jaccl::Group &g, Buffers &b, std::size_t n) {
         g.all_gather(b.in.data(), b.out.data(),
                      n / static_cast<std::size_t>(g.size()));
     }},
    {"sum_scatter",
     [](jaccl::Group &g, Buffers &b, std::size_t n) {
         g.sum_scatter(b.in.data(), b.out.data(),
                       n / static_cast<std::size_t>(g.size()) / 4 * 4,
                       jaccl::Float32);
     }},
    {"send_recv", ping_pong, 2},
    {"barrier", [](jaccl::Group &g, Buffers &, std::size_t) { g.barrier(); }, 1,
     false},
};

/* All ranks make the same number of calls. */
int calls_of(std::size_t bytes)
{
    if (bytes <= 32 * 1024)
        return 1000;
    if (bytes <= 1024 * 1024)
        return 200;
    return bytes <= 16 * 1024 * 1024 ? 21 : 7;
}

void measure(jaccl::Group &group, Buffers &buffers, const Operation &operation,
             std::size_t bytes)
{
    const int calls = calls_of(bytes);
    std::vector<double> times;

    group.barrier();
    for (int i = -1 - calls / 10; i < calls; i++) {
        const auto start = Clock::now();

        operation.run(group, buffers, bytes);
        if (i >= 0)
            times.push_back(us_since(start));
    }
    if (group.rank() != 0)
        return;
    std::printf("%s", operation.name);
    if (operation.sized)
        std::printf("_%zu", bytes);
    std::printf(" %.2f us\n", median(times) / operation.messages);
    std::fflush(stdout);
}

/*
 * Rank 0 starts first and waits for the others, so that none of them finds
 * nobody listening: the time is that of the slowest of these.
 */
GroupPointer measure_start()
{
    keep_freed(false);

    std::vector<double> times;
    GroupPointer group = jaccl::init(true);
    const int rank = group->rank();
    double grown = 0;

    for (int i = 0; i < starts; i++) {
        double slowest = 0;

        group.reset();
        if (rank > 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        const double without = private_bytes();
        const auto start = Clock::now();
        group = jaccl::init(true);
        if (rank > 0 || group->size() == 1)
            slowest = us_since(start);
        /* Later ones find memory that earlier ones left to the heap. */
        if (i == 0)
            grown = private_bytes() - without;
        group->all_max(&slowest, &slowest, sizeof slowest, jaccl::Float64);
        times.push_back(slowest);
    }
    keep_freed(true);
    if (rank == 0) {
        std::printf("ranks %d ranks\n", group->size());
        std::printf("start_up %.1f us\n", median(times));
        std::printf("memory %.0f bytes\n", grown);
        std::fflush(stdout);
    }
    return group;
}

int run(std::size_t most, const std::vector<std::string> &wanted)
{
    Buffers buffers(most);
    GroupPointer group = measure_start();

    for (const auto &operation : operations) {
        if (!wanted.empty() && std::find(wanted.begin(), wanted.end(),
                                         operation.name) == wanted.end())
            continue;
        for (std::size_t bytes = 64; bytes <= most; bytes *= 4) {
            measure(*group, buffers, operation, bytes);
            if (!operation.sized)
                break;
        }
    }
    return 0;
}

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> wanted(argv + (argc > 0), argv + argc);
    std::size_t most = std::size_t{64} << 20;

    if (wanted.size() > 1 && wanted[0] == "-m") {
        most = std::max<std::size_t>(64, std::strtoull(argv[2], nullptr, 10));
        wanted.erase(wanted.begin(), wanted.begin() + 2);
    }
    try {
        return run(most, wanted);
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
