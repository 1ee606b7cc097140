// The subject `native`: an installed libjaccl, through its public API. What
// its process is made of is in native.h.
#include <cstdlib>
#include <cstring>
#include <exception>
#include <iostream>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <jaccl/jaccl.h>
#include <jaccl/rdma.h>

extern "C" {
#include "sim/fiber.h"
#include "sim/subjects/native.h"
#include "sim/subjects/subjects.h"
}

#include <cxxabi.h>

// ---- what a process has once
// --------------------------------------------------

namespace
{

// The table of verbs is static in the library, so that all ranks would share
// it. Each has its own copy, put in place whenever its fiber goes on.
using Table = jaccl::IBVWrapper;
static_assert(std::is_trivially_copyable_v<Table>);

struct Process {
    bool loaded;
    alignas(Table) unsigned char table[sizeof(Table)];
};

Process processes[SCN_RANKS_MAX];

// As at the first use in a process: zeroed, and then what the constructor
// finds in the library.
void load(int rank)
{
    static unsigned char zeroes[sizeof(Table)];
    void *place = &jaccl::ibv();
    if (processes[rank].loaded)
        return;
    std::memcpy(place, zeroes, sizeof(Table));
    new (place) Table();
    std::memcpy(processes[rank].table, place, sizeof(Table));
    processes[rank].loaded = true;
}

void resume(struct sim_rank *rank)
{
    const Process &process = processes[sim_rank_number(rank)];
    if (process.loaded)
        std::memcpy(static_cast<void *>(&jaccl::ibv()), process.table,
                    sizeof(Table));
}

void forget()
{
    for (Process &process : processes)
        process.loaded = false;
    native_forget();
}

void *exceptions_of_thread()
{
    return abi::__cxa_get_globals();
}

// The library reports its tries to connect there; a thousand runs would, too.
struct Quiet : std::streambuf {
    int overflow(int c) override
    {
        return c;
    }
};

void set_up()
{
    static Quiet quiet;
    if (fiber_thread_state)
        return;
    fiber_thread_state = exceptions_of_thread;
    std::cerr.rdbuf(&quiet);
}

// ---- operations
// ---------------------------------------------------------------

struct Inside {
    explicit Inside(struct sim_rank *entered) : rank(entered)
    {
        set_up();
        native_enter(rank);
        load(sim_rank_number(rank));
    }
    ~Inside()
    {
        native_leave(rank);
    }
    struct sim_rank *rank;
};

void fail(struct sim_failure *failure, const char *message)
{
    std::strncpy(failure->message, message, sizeof failure->message - 1);
    failure->message[sizeof failure->message - 1] = '\0';
}

// 0, or -1 with what was thrown.
template <typename Call>
int guarded(struct sim_rank *rank, struct sim_failure *failure, Call call)
{
    Inside inside(rank);
    try {
        call();
        return 0;
    } catch (const std::exception &error) {
        fail(failure, error.what());
    } catch (...) {
        fail(failure, "an exception without a message");
    }
    return -1;
}

using Group = std::shared_ptr<jaccl::Group>;

Group &group_of(void *group)
{
    return *static_cast<Group *>(group);
}

std::vector<std::vector<std::vector<std::string>>>
devices_of(struct sim_rank *rank)
{
    int size = sim_rank_size(rank);
    std::vector<std::vector<std::vector<std::string>>> devices(size);
    for (int row = 0; row < size; row++) {
        devices[row].resize(size);
        for (int column = 0; column < size; column++) {
            const struct sim_cell *cell = sim_rank_cell(rank, row, column);
            devices[row][column].assign(cell->names, cell->names + cell->count);
        }
    }
    return devices;
}

// What jaccl::init() makes of the environment, where it looks at it at all.
template <typename Config> void check(const Config &config)
{
    if constexpr (requires { config.is_valid(); })
        if (!config.is_valid())
            throw std::runtime_error("[jaccl] rank, device file and "
                                     "coordinator are needed");
}

// The group's own memory, for the plan's `alloc`.
struct Counted {
    explicit Counted(struct sim_rank *owner)
        : rank(owner), memory(sim_alloc(owner, 16, 1))
    {
        if (!memory)
            throw std::bad_alloc();
    }
    ~Counted()
    {
        sim_free(rank, memory);
    }
    struct sim_rank *rank;
    void *memory;
};

int start(struct sim_rank *rank, void **group, struct sim_failure *failure)
{
    return guarded(rank, failure, [&] {
        Counted counted(rank);
        auto config = jaccl::Config()
                          .set_rank(sim_rank_number(rank))
                          .set_coordinator(sim_rank_coordinator(rank))
                          .set_devices(devices_of(rank))
                          .prefer_ring(sim_rank_prefers_ring(rank));
        check(config);
        auto started = std::make_unique<Group>(jaccl::init(config, true));
        *group = started.release();
    });
}

int dtype_of(enum scn_type type)
{
    static const int dtypes[SCN_TYPE_COUNT] = {
        jaccl::Bool,    jaccl::Int8,     jaccl::Int16,    jaccl::Int32,
        jaccl::Int64,   jaccl::UInt8,    jaccl::UInt16,   jaccl::UInt32,
        jaccl::UInt64,  jaccl::Float16,  jaccl::BFloat16, jaccl::Float32,
        jaccl::Float64, jaccl::Complex64};
    return dtypes[type];
}

// A revision from before sum_scatter has none.
template <typename Any>
void sum_scatter_of(Any &group, const struct sim_operation &operation,
                    size_t bytes)
{
    if constexpr (requires { group.sum_scatter(nullptr, nullptr, 0, 0); })
        group.sum_scatter(operation.input, operation.output, bytes,
                          dtype_of(operation.type));
    else
        throw std::runtime_error("[jaccl] this revision has no sum_scatter");
}

void operate_on(jaccl::Group &group, const struct sim_operation &operation)
{
    size_t bytes = operation.count * scn_type_size(operation.type);
    int dtype = dtype_of(operation.type);
    switch (operation.what) {
    case SCN_ALL_SUM:
        return group.all_sum(operation.input, operation.output, bytes, dtype);
    case SCN_ALL_MAX:
        return group.all_max(operation.input, operation.output, bytes, dtype);
    case SCN_ALL_MIN:
        return group.all_min(operation.input, operation.output, bytes, dtype);
    case SCN_ALL_GATHER:
        return group.all_gather(operation.input, operation.output, bytes);
    case SCN_SUM_SCATTER:
        return sum_scatter_of(group, operation, bytes);
    case SCN_SEND:
        if (operation.input)
            return group.send(operation.input, bytes, operation.peer);
        return group.recv(operation.output, bytes, operation.peer);
    default:
        throw std::runtime_error("no such operation");
    }
}

int operate(struct sim_rank *rank, void *group,
            const struct sim_operation *operation, struct sim_failure *failure)
{
    return guarded(rank, failure,
                   [&] { operate_on(*group_of(group), *operation); });
}

// A revision without a barrier has users that sum a byte.
template <typename Any> void barrier_of(Any &group)
{
    if constexpr (requires { group.barrier(); }) {
        group.barrier();
    } else {
        unsigned char byte = 0;
        group.all_sum(&byte, &byte, 1, jaccl::UInt8);
    }
}

int barrier(struct sim_rank *rank, void *group, struct sim_failure *failure)
{
    return guarded(rank, failure, [&] { barrier_of(*group_of(group)); });
}

int finalize(struct sim_rank *rank, void *group, struct sim_failure *failure)
{
    return guarded(rank, failure, [&] { delete &group_of(group); });
}

} // namespace

const struct sim_subject sim_subject_native = {
    .name = "native",
    .about = "the installed libjaccl: " NATIVE_LIBRARY,
    .fixed = false,
    .ring_only = false,
    .waits = false,
    .init = start,
    .operate = operate,
    .barrier = barrier,
    .finalize = finalize,
    .resume = resume,
    .program = nullptr,
    .told = nullptr,
    .empty = nullptr,
    .forget = forget,
};

// ---- the heap
// -------------------------------------------------------------------

// All of the unaligned ones: a sanitizer's own do not call each other.
void *operator new(std::size_t size)
{
    void *memory = native_new(size);
    if (!memory)
        throw std::bad_alloc();
    return memory;
}

void *operator new[](std::size_t size)
{
    return operator new(size);
}

void *operator new(std::size_t size, const std::nothrow_t &) noexcept
{
    return native_new(size);
}

void *operator new[](std::size_t size, const std::nothrow_t &) noexcept
{
    return native_new(size);
}

void operator delete(void *memory) noexcept
{
    native_delete(memory);
}

void operator delete[](void *memory) noexcept
{
    native_delete(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
    native_delete(memory);
}

void operator delete[](void *memory, std::size_t) noexcept
{
    native_delete(memory);
}

void operator delete(void *memory, const std::nothrow_t &) noexcept
{
    native_delete(memory);
}

void operator delete[](void *memory, const std::nothrow_t &) noexcept
{
    native_delete(memory);
}

// ---- threads
// ----------------------------------------------------------------------

#ifdef __GLIBCXX__
// std::thread and what it waits with, under the names that the linker knows.
namespace
{

void run_state(void *state)
{
    std::unique_ptr<std::thread::_State>(
        static_cast<std::thread::_State *>(state))
        ->_M_run();
}

pthread_t &id_of(std::thread *thread)
{
    static_assert(sizeof(std::thread) == sizeof(pthread_t));
    return *reinterpret_cast<pthread_t *>(thread);
}

} // namespace

extern "C" {

using State = std::unique_ptr<std::thread::_State>;
using Lock = std::unique_lock<std::mutex>;

#define START                                                                  \
    _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE
#define JOIN _ZNSt6thread4joinEv
#define WAIT _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE
#define NOTIFY_ONE _ZNSt18condition_variable10notify_oneEv
#define NOTIFY_ALL _ZNSt18condition_variable10notify_allEv
#define FUTEX_WAIT                                                             \
    _ZNSt28__atomic_futex_unsigned_base19_M_futex_wait_untilEPjjbNSt6chrono8durationIlSt5ratioILl1ELl1EEEENS2_IlS3_ILl1ELl1000000000EEEE
#define REAL_(name) __real_##name
#define WRAP_(name) __wrap_##name
#define REAL(name) REAL_(name)
#define WRAP(name) WRAP_(name)

void REAL(START)(std::thread *thread, State &state, void (*depend)());
void WRAP(START)(std::thread *thread, State &state, void (*depend)());
void WRAP(START)(std::thread *thread, State &state, void (*depend)())
{
    struct sim_rank *rank = native_here();
    unsigned id;
    if (!rank)
        return REAL(START)(thread, state, depend);
    id = native_thread_start(rank, run_state, state.release());
    if (id == 0)
        throw std::bad_alloc();
    id_of(thread) = id;
}

void REAL(JOIN)(std::thread *thread);
void WRAP(JOIN)(std::thread *thread);
void WRAP(JOIN)(std::thread *thread)
{
    struct sim_rank *rank = native_here();
    if (!rank)
        return REAL(JOIN)(thread);
    native_thread_join(rank, static_cast<unsigned>(id_of(thread)));
    id_of(thread) = 0;
}

void REAL(WAIT)(void *condition, Lock &lock);
void WRAP(WAIT)(void *condition, Lock &lock);
void WRAP(WAIT)(void *condition, Lock &lock)
{
    struct sim_rank *rank = native_here();
    if (!rank)
        return REAL(WAIT)(condition, lock);
    lock.unlock();
    native_thread_wait(rank, condition);
    while (!lock.mutex()->try_lock())
        native_thread_again(rank);
    lock = Lock(*lock.release(), std::adopt_lock);
}

void REAL(NOTIFY_ONE)(void *condition);
void WRAP(NOTIFY_ONE)(void *condition);
void WRAP(NOTIFY_ONE)(void *condition)
{
    struct sim_rank *rank = native_here();
    if (!rank)
        return REAL(NOTIFY_ONE)(condition);
    /* Waking all of them is one of the things that may happen. */
    native_thread_notify(rank, condition);
}

void REAL(NOTIFY_ALL)(void *condition);
void WRAP(NOTIFY_ALL)(void *condition);
void WRAP(NOTIFY_ALL)(void *condition)
{
    struct sim_rank *rank = native_here();
    if (!rank)
        return REAL(NOTIFY_ALL)(condition);
    native_thread_notify(rank, condition);
}

using Seconds = std::chrono::seconds;
using Nanoseconds = std::chrono::nanoseconds;

bool REAL(FUTEX_WAIT)(void *base, unsigned *word, unsigned value, bool until,
                      Seconds s, Nanoseconds ns);
bool WRAP(FUTEX_WAIT)(void *base, unsigned *word, unsigned value, bool until,
                      Seconds s, Nanoseconds ns);
bool WRAP(FUTEX_WAIT)(void *base, unsigned *word, unsigned value, bool until,
                      Seconds s, Nanoseconds ns)
{
    struct sim_rank *rank = native_here();
    if (!rank)
        return REAL(FUTEX_WAIT)(base, word, value, until, s, ns);
    native_thread_wait(rank, word);
    return true;
}
}
#endif
