/* A struct cj_group behind JACCL's interface. */
#ifndef CJACCL_CXX_GROUP_H
#define CJACCL_CXX_GROUP_H

#include "jaccl/jaccl.h"

#include "cjaccl/cjaccl.h"

#include <exception>

namespace jaccl
{

class CjacclGroup : public Group
{
  public:
    /* Starts it. An empty `all_gather`: none, the coordinator serves. */
    CjacclGroup(cj_config config, AllGatherFn all_gather);
    CjacclGroup(const CjacclGroup &) = delete;
    CjacclGroup &operator=(const CjacclGroup &) = delete;
    ~CjacclGroup() override;

    int rank() override;
    int size() override;
    void all_sum(const void *input, void *output, std::size_t n_bytes,
                 int dtype) override;
    void all_max(const void *input, void *output, std::size_t n_bytes,
                 int dtype) override;
    void all_min(const void *input, void *output, std::size_t n_bytes,
                 int dtype) override;
    void all_gather(const void *input, void *output,
                    std::size_t n_bytes) override;
    void sum_scatter(const void *input, void *output, std::size_t n_bytes,
                     int dtype) override;
    void send(const void *input, std::size_t n_bytes, int dst) override;
    void recv(void *output, std::size_t n_bytes, int src) override;
    void barrier() override;

  private:
    using Reduction = int(cj_group *, const void *, void *, std::size_t,
                          cj_type, cj_error *);

    void reduce(Reduction *reduction, const void *input, void *output,
                std::size_t n_bytes, int dtype);
    static int gather(void *ctx, const void *mine, void *all,
                      std::size_t bytes);

    AllGatherFn all_gather_;
    std::exception_ptr gather_error_;
    cj_group *group_ = nullptr;
};

} // namespace jaccl

#endif
