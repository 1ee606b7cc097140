/*
 * JACCL's public C++ interface over cjaccl: a program that was written for
 * JACCL (MLX's backend, for one) compiles against this unchanged, and links
 * with libcjaccl_cxx and libcjaccl in place of libjaccl. C++17.
 *
 * In CMake: find_package(cjaccl), then link with cjaccl::cxx. Else
 * `pkg-config cjaccl-cxx`.
 *
 * Where this does more than JACCL: one rank alone is a group, and needs no
 * device; a device file may also be an mlx.launch hostfile; the environment's
 * CJ_ variables count (cjaccl.h lists them); a rank that is not a number is
 * refused and is not rank 0.
 */
#ifndef CJACCL_JACCL_JACCL_H
#define CJACCL_JACCL_JACCL_H

#include "jaccl/group.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace jaccl
{

/*
 * The caller's own side channel: writes the `n_bytes` bytes of every rank into
 * `dst`, in the order of the ranks. An exception ends init() and comes out of
 * it.
 */
using AllGatherFn =
    std::function<void(const char *src, char *dst, std::size_t n_bytes)>;

/*
 * What init() has to know. A setter that takes a C string leaves things as they
 * are when it is given nullptr.
 */
class Config
{
  public:
    Config() = default;

    Config &set_rank(const char *rank);
    Config &set_rank(int rank);
    /* Where rank 0 listens: "address:port". */
    Config &set_coordinator(const char *coordinator);
    Config &set_coordinator(std::string coordinator);
    /*
     * devices[r][p]: the devices that lead from rank r to rank p, one per wire.
     * Throws when there are not as many columns as rows, or when the file is
     * not to be read. A hostfile also gives the coordinator, if none is set.
     */
    Config &set_devices_from_file(const char *path);
    Config &
    set_devices(std::vector<std::vector<std::vector<std::string>>> devices);
    Config &prefer_ring(bool prefer = true);
    /* A side channel in place of the coordinator, or what makes one for a rank
     * and a number of ranks; of both, the latter counts. */
    Config &set_all_gather(AllGatherFn all_gather);
    Config &
    set_all_gather_factory(std::function<AllGatherFn(int, int)> factory);

    /* Every rank has a device for every other one and none for itself. */
    bool is_valid_mesh() const;
    /* Every rank has as many devices for its left as for its right neighbour,
     * and all have the same number. */
    bool is_valid_ring() const;
    /* There is a rank, a way to reach the others, and a mesh or a ring; or one
     * rank, which needs none of it. */
    bool is_valid() const;

    int get_rank() const
    {
        return rank_;
    }
    int get_size() const
    {
        return size_;
    }
    std::string get_coordinator() const
    {
        return coordinator_;
    }
    bool get_prefer_ring() const
    {
        return prefer_ring_;
    }

    /*
     * The variables are those of cj_settings_from_env(). Without a device file
     * among them the result is not valid, and that is all; one that cannot be
     * used is a std::runtime_error.
     */
    static Config from_env();

  private:
    friend std::shared_ptr<Group> init(const Config &config, bool strict);

    int rank_ = 0;
    int size_ = 0;
    std::string coordinator_;
    std::vector<std::vector<std::vector<std::string>>> devices_;
    bool prefer_ring_ = false;
    AllGatherFn all_gather_;
    std::function<AllGatherFn(int, int)> all_gather_factory_;
    /* cjaccl's own: enum cj_backend, enum cj_fallback, nanoseconds. */
    int backend_ = 0;
    int fallback_ = 0;
    std::int64_t start_timeout_ns_ = 0;
    std::int64_t operation_timeout_ns_ = 0;
};

/* Is a verbs library with a device there? */
bool is_available();

/*
 * Starts a group and returns once every rank has started; from the environment,
 * from the environment with a side channel of the caller's, or from a Config.
 *
 * Where the configuration is not valid, `strict` decides: nullptr (this process
 * is no rank) or a std::runtime_error. With a valid one a failure is a
 * std::runtime_error in any case, as it is in JACCL: a rank that was to be
 * one of several does not go on alone by mistake.
 */
std::shared_ptr<Group> init(bool strict = false);
std::shared_ptr<Group> init(bool strict,
                            std::function<AllGatherFn(int, int)> factory);
std::shared_ptr<Group> init(const Config &config, bool strict = false);

} // namespace jaccl

#endif
