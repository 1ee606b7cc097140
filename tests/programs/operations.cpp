/*
 * Every operation of a group, through JACCL's public C++ interface, so that it
 * is built with cjaccl and with the real JACCL: what both print is to be the
 * same, whichever of the two a rank is (tests/mixed.sh).
 *
 *   operations [-q] [-g] [OPERATION...]
 *
 *   -q   few sizes
 *   -g   leave all_gather out (in a ring JACCL's is wrong)
 *
 * Prints a line for each result: operation, type, elements, a digest of all
 * bytes. What the ranks put in is the same in every run.
 *
 * Values. Where the order in which a group combines them is fixed, they are of
 * all kinds: any exponent, both zeros, infinities, NaN; of a sum never two
 * NaNs, of which C leaves open which is the result. In a mesh of three ranks or
 * more JACCL combines as things arrive, if they are large: there it is small
 * whole numbers, whose sums are exact.
 */
#include <jaccl/jaccl.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <memory>
#include <string>
#include <vector>

namespace
{

struct Type {
    const char *name;
    int dtype;
    std::size_t size;
    int part; /* bytes of what is rounded: half a complex64; 0: no float */
};

const Type types[] = {
    {"bool", jaccl::Bool, 1, 0},         {"int8", jaccl::Int8, 1, 0},
    {"int16", jaccl::Int16, 2, 0},       {"int32", jaccl::Int32, 4, 0},
    {"int64", jaccl::Int64, 8, 0},       {"uint8", jaccl::UInt8, 1, 0},
    {"uint16", jaccl::UInt16, 2, 0},     {"uint32", jaccl::UInt32, 4, 0},
    {"uint64", jaccl::UInt64, 8, 0},     {"float16", jaccl::Float16, 2, 2},
    {"bfloat16", jaccl::BFloat16, 2, 2}, {"float32", jaccl::Float32, 4, 4},
    {"float64", jaccl::Float64, 8, 8},   {"complex64", jaccl::Complex64, 8, 4},
};

using Bytes = std::vector<unsigned char>;

/* splitmix64 */
std::uint64_t mix(std::uint64_t x)
{
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

/* The bits of a float's exponent, and of a small whole number. */
std::uint64_t exponent_mask(const Type &type)
{
    if (type.part == 2)
        return type.dtype == jaccl::Float16 ? 0x7c00 : 0x7f80;
    return type.part == 4 ? 0x7f800000u : 0x7ff0000000000000u;
}

std::uint64_t whole_number(const Type &type, int value)
{
    std::uint64_t bits = 0;

    if (type.part == 8) {
        const double wide = value;
        std::memcpy(&bits, &wide, 8);
        return bits;
    }
    const float number = static_cast<float>(value);
    std::uint32_t single;
    std::memcpy(&single, &number, 4);
    if (type.part == 4)
        return single;
    if (type.dtype == jaccl::BFloat16)
        return single >> 16;
    const std::uint32_t magnitude = single & 0x7fffffff;
    bits = single >> 16 & 0x8000;
    /* Whole numbers up to 16 lose nothing. */
    return magnitude == 0 ? bits : bits | ((magnitude >> 13) - (112 << 10));
}

/* Of rank's number `i`, a float of all kinds. */
std::uint64_t any_float(const Type &type, std::uint64_t i, int rank, int size,
                        std::uint64_t random)
{
    const std::uint64_t mask = exponent_mask(type);
    const std::uint64_t sign = std::uint64_t{1} << (8 * type.part - 1);

    switch (i % 61) {
    case 0: /* one NaN, and what is none */
        if (i / 61 % static_cast<std::uint64_t>(size) ==
            static_cast<std::uint64_t>(rank))
            return (random & sign) | mask | (mask >> 1 & ~mask) | 1;
        break;
    case 1:
        return (random & sign) | mask; /* infinity */
    case 2:
        return random & sign;
    case 3:
        return random & ~mask; /* subnormal */
    default:
        break;
    }
    /* A third near one another, so that there are ties and rounding. */
    if (random >> 62 == 0)
        return (random & sign) | (mask >> 1 & mask) | (random & 0x3);
    return (random & mask) == mask ? random & ~(mask & (mask << 1)) : random;
}

struct Case {
    const char *operation;
    const Type *type;
    std::size_t count;
    bool ordered;
};

Bytes input(const Case &one, int rank, int size, std::size_t elements)
{
    const Type &type = *one.type;
    const std::size_t part =
        type.part > 0 ? static_cast<std::size_t>(type.part) : type.size;
    const std::size_t parts = elements * type.size / part;
    Bytes bytes(elements * type.size);
    std::uint64_t seed = mix(static_cast<std::uint64_t>(type.dtype) << 40 ^
                             one.count << 8 ^ static_cast<unsigned>(rank));

    for (std::size_t i = 0; i < parts; i++) {
        std::uint64_t random = mix(seed + i);

        if (type.dtype == jaccl::Bool)
            random &= 1;
        else if (type.part > 0 && one.ordered)
            random = any_float(type, i, rank, size, random);
        else if (type.part > 0)
            random = whole_number(type, static_cast<int>(random % 17) - 8);
        std::memcpy(bytes.data() + i * part, &random, part);
    }
    return bytes;
}

void print(const Case &one, const char *what, const Bytes &bytes)
{
    std::uint64_t digest = 0xcbf29ce484222325;

    for (unsigned char byte : bytes)
        digest = (digest ^ byte) * 0x100000001b3;
    std::printf("%s%s %s %zu %016llx\n", one.operation, what, one.type->name,
                one.count, static_cast<unsigned long long>(digest));
}

class Program
{
  public:
    Program(bool few, std::vector<std::string> wanted)
        : config_(jaccl::Config::from_env()),
          group_(jaccl::init(config_, true)), rank_(group_->rank()),
          size_(group_->size()),
          ring_(config_.is_valid_ring() &&
                (config_.get_prefer_ring() || !config_.is_valid_mesh())),
          few_(few), wanted_(std::move(wanted))
    {
    }

    void run()
    {
        reduce("all_sum", &jaccl::Group::all_sum);
        reduce("all_max", &jaccl::Group::all_max);
        reduce("all_min", &jaccl::Group::all_min);
        each("sum_scatter", [&](const Case &one) { sum_scatter(one); });
        each("all_gather", [&](const Case &one) { all_gather(one); });
        each("send_recv", [&](const Case &one) { send_recv(one); });
        for (int i = 0; wants("barrier") && i < 50; i++)
            group_->barrier();
        /* Nobody leaves while another may still wait for it. */
        group_->barrier();
    }

  private:
    bool wants(const char *operation) const
    {
        return std::find(wanted_.begin(), wanted_.end(), operation) !=
               wanted_.end();
    }

    /* Elements. Of none at all JACCL's ring divides by zero. */
    std::vector<std::size_t> counts() const
    {
        std::vector<std::size_t> counts = {1, 4097, 40000};

        if (!few_)
            counts = {1,    2,    3,    511,   1023,  1024,   1025,
                      4095, 4096, 4097, 20001, 40000, 100003, 524289};
        if (!ring_)
            counts.push_back(0);
        return counts;
    }

    template <typename Call> void each(const char *operation, Call call)
    {
        if (!wants(operation))
            return;
        for (const Type &type : types) {
            for (std::size_t count : counts()) {
                const bool scatters =
                    std::strcmp(operation, "sum_scatter") == 0;
                const bool small = !scatters && count * type.size <= 32768;

                call(Case{operation, &type, count,
                          ring_ || size_ == 2 || small});
            }
            std::fflush(stdout);
        }
    }

    void reduce(const char *operation,
                void (jaccl::Group::*function)(const void *, void *,
                                               std::size_t, int))
    {
        each(operation, [&](const Case &one) {
            Bytes in = input(one, rank_, size_, one.count);
            Bytes out(in.size());

            (group_.get()->*function)(in.data(), out.data(), in.size(),
                                      one.type->dtype);
            print(one, "", out);
            (group_.get()->*function)(in.data(), in.data(), in.size(),
                                      one.type->dtype);
            print(one, "_in_place", in);
        });
    }

    void sum_scatter(const Case &one)
    {
        const auto size = static_cast<std::size_t>(size_);
        Bytes in = input(one, rank_, size_, one.count * size);
        Bytes out(in.size() / size);

        group_->sum_scatter(in.data(), out.data(), out.size(), one.type->dtype);
        print(one, "", out);
    }

    void all_gather(const Case &one)
    {
        const Bytes in = input(one, rank_, size_, one.count);
        Bytes out(in.size() * static_cast<std::size_t>(size_));

        group_->all_gather(in.data(), out.data(), in.size());
        print(one, "", out);
    }

    bool may_send(int from, int to) const
    {
        const int far = (to - from + size_) % size_;

        return from != to && (!ring_ || far == 1 || far == size_ - 1);
    }

    void send_recv(const Case &one)
    {
        const Bytes in = input(one, rank_, size_, one.count);
        Bytes out(in.size());

        for (int from = 0; from < size_; from++) {
            for (int to = 0; to < size_; to++) {
                if (!may_send(from, to))
                    continue;
                if (from == rank_)
                    group_->send(in.data(), in.size(), to);
                if (to == rank_) {
                    group_->recv(out.data(), out.size(), from);
                    print(one, ("_" + std::to_string(from)).c_str(), out);
                }
            }
        }
    }

    jaccl::Config config_;
    std::shared_ptr<jaccl::Group> group_;
    int rank_;
    int size_;
    bool ring_;
    bool few_;
    std::vector<std::string> wanted_;
};

} // namespace

int main(int argc, char **argv)
{
    std::vector<std::string> wanted(argv + (argc > 0), argv + argc);
    bool few = false;
    bool gather = true;

    while (!wanted.empty() && (wanted[0] == "-q" || wanted[0] == "-g")) {
        (wanted[0] == "-q" ? few : gather) = wanted[0] == "-q";
        wanted.erase(wanted.begin());
    }
    if (wanted.empty()) {
        wanted = {"all_sum",     "all_max",   "all_min",
                  "sum_scatter", "send_recv", "barrier"};
        if (gather)
            wanted.emplace_back("all_gather");
    }
    try {
        Program(few, wanted).run();
        return 0;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
