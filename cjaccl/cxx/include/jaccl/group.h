/*
 * A group of ranks, as JACCL's C++ programs see it. The functions are those of
 * cjaccl (cjaccl/cjaccl.h), which says what each does and may be given.
 *
 * Whatever goes wrong is a std::runtime_error with cjaccl's message. A wrong
 * argument does no harm; after any other error the group is of no more use and
 * every further call throws again.
 */
#ifndef CJACCL_JACCL_GROUP_H
#define CJACCL_JACCL_GROUP_H

#include <cstddef>
#include <memory>

namespace jaccl
{

/* The element types; numbers and order are enum cj_type's. */
enum Dtype {
    Bool = 0,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
    Float16,
    BFloat16,
    Float32,
    Float64,
    Complex64,
};

/*
 * Sizes are in bytes, of one rank's share: what all_gather writes and
 * sum_scatter reads is size() times as much. A size has to be a multiple of the
 * type's. The caller's memory is neither kept nor freed.
 *
 * All ranks call the same function with the same size and type, but for send,
 * which another rank's recv takes. One thread at a time uses a group.
 */
class Group
{
  public:
    /* Takes the group down, without waiting for the other ranks. */
    virtual ~Group() = default;

    virtual int rank() = 0;
    virtual int size() = 0;

    virtual void all_sum(const void *input, void *output, std::size_t n_bytes,
                         int dtype) = 0;
    virtual void all_max(const void *input, void *output, std::size_t n_bytes,
                         int dtype) = 0;
    virtual void all_min(const void *input, void *output, std::size_t n_bytes,
                         int dtype) = 0;
    virtual void all_gather(const void *input, void *output,
                            std::size_t n_bytes) = 0;
    virtual void sum_scatter(const void *input, void *output,
                             std::size_t n_bytes, int dtype) = 0;
    virtual void send(const void *input, std::size_t n_bytes, int dst) = 0;
    virtual void recv(void *output, std::size_t n_bytes, int src) = 0;
    virtual void barrier() = 0;
};

} // namespace jaccl

#endif
