#include "group.h"

#include <cerrno>
#include <stdexcept>
#include <utility>

namespace jaccl
{

static void check(int status, const cj_error &error)
{
    if (status != CJ_OK)
        throw std::runtime_error(error.message);
}

/* No exception may cross C: it is kept, and thrown when cjaccl has returned. */
int CjacclGroup::gather(void *ctx, const void *mine, void *all,
                        std::size_t bytes)
{
    auto *group = static_cast<CjacclGroup *>(ctx);

    try {
        group->all_gather_(static_cast<const char *>(mine),
                           static_cast<char *>(all), bytes);
        return 0;
    } catch (...) {
        group->gather_error_ = std::current_exception();
        return -EIO;
    }
}

CjacclGroup::CjacclGroup(cj_config config, AllGatherFn all_gather)
    : all_gather_(std::move(all_gather))
{
    const cj_gather own = {this, gather};
    cj_error error;

    if (all_gather_)
        config.gather = &own;
    int status = cj_init(&config, &group_, &error);
    if (gather_error_) {
        (void)cj_finalize(group_, nullptr);
        std::rethrow_exception(gather_error_);
    }
    check(status, error);
}

CjacclGroup::~CjacclGroup()
{
    (void)cj_finalize(group_, nullptr);
}

int CjacclGroup::rank()
{
    return cj_rank(group_);
}

int CjacclGroup::size()
{
    return cj_size(group_);
}

void CjacclGroup::reduce(Reduction *reduction, const void *input, void *output,
                         std::size_t n_bytes, int dtype)
{
    cj_error error;

    /* Before it becomes an enumerator: in C++ it has to be one of them. */
    if (dtype < 0 || dtype >= CJ_TYPE_COUNT)
        throw std::runtime_error("cjaccl: there is no element type " +
                                 std::to_string(dtype));
    const auto type = static_cast<cj_type>(dtype);
    const std::size_t element = cj_type_size(type);
    if (n_bytes % element != 0)
        throw std::runtime_error("cjaccl: " + std::to_string(n_bytes) +
                                 " bytes are no whole number of elements of " +
                                 std::to_string(element) + " bytes");
    check(reduction(group_, input, output, n_bytes / element, type, &error),
          error);
}

void CjacclGroup::all_sum(const void *input, void *output, std::size_t n_bytes,
                          int dtype)
{
    reduce(cj_all_sum, input, output, n_bytes, dtype);
}

void CjacclGroup::all_max(const void *input, void *output, std::size_t n_bytes,
                          int dtype)
{
    reduce(cj_all_max, input, output, n_bytes, dtype);
}

void CjacclGroup::all_min(const void *input, void *output, std::size_t n_bytes,
                          int dtype)
{
    reduce(cj_all_min, input, output, n_bytes, dtype);
}

void CjacclGroup::sum_scatter(const void *input, void *output,
                              std::size_t n_bytes, int dtype)
{
    reduce(cj_sum_scatter, input, output, n_bytes, dtype);
}

void CjacclGroup::all_gather(const void *input, void *output,
                             std::size_t n_bytes)
{
    cj_error error;

    check(cj_all_gather(group_, input, output, n_bytes, &error), error);
}

void CjacclGroup::send(const void *input, std::size_t n_bytes, int dst)
{
    cj_error error;

    check(cj_send(group_, input, n_bytes, dst, &error), error);
}

void CjacclGroup::recv(void *output, std::size_t n_bytes, int src)
{
    cj_error error;

    check(cj_recv(group_, output, n_bytes, src, &error), error);
}

void CjacclGroup::barrier()
{
    cj_error error;

    check(cj_barrier(group_, &error), error);
}

} // namespace jaccl
