#include "jaccl/jaccl.h"

#include "group.h"

#include <stdexcept>
#include <utility>

namespace jaccl
{

bool is_available()
{
    return cj_is_available(nullptr);
}

std::shared_ptr<Group> init(const Config &config, bool strict)
{
    std::vector<const char *> names;
    std::vector<cj_cell> cells;
    cj_config c_config = {};
    AllGatherFn all_gather = config.all_gather_;

    if (!config.is_valid()) {
        if (strict)
            throw std::runtime_error(
                "cjaccl: the configuration needs this process's rank, the "
                "devices of all ranks (a mesh or a ring), and the address and "
                "port of rank 0 or an all-gather");
        return nullptr;
    }
    for (const auto &row : config.devices_)
        for (const auto &cell : row)
            for (const auto &name : cell)
                names.push_back(name.c_str());
    const char *const *next = names.data();
    for (const auto &row : config.devices_) {
        for (const auto &cell : row) {
            cells.push_back({next, static_cast<int>(cell.size())});
            next += cell.size();
        }
    }
    c_config.rank = config.rank_;
    c_config.size = config.size_;
    c_config.cells = cells.data();
    c_config.coordinator = config.coordinator_.c_str();
    if (config.coordinator_.empty())
        c_config.coordinator = nullptr;
    if (config.prefer_ring_)
        c_config.topology = CJ_TOPOLOGY_RING;
    c_config.backend = static_cast<cj_backend>(config.backend_);
    c_config.fallback = static_cast<cj_fallback>(config.fallback_);
    c_config.start_timeout_ns = config.start_timeout_ns_;
    c_config.operation_timeout_ns = config.operation_timeout_ns_;
    if (config.all_gather_factory_ && config.size_ > 1)
        all_gather = config.all_gather_factory_(config.rank_, config.size_);
    return std::make_shared<CjacclGroup>(c_config, std::move(all_gather));
}

static std::shared_ptr<Group> start(const Config &config, bool strict,
                                    const char *needed)
{
    if (config.is_valid())
        return init(config, strict);
    if (strict)
        throw std::runtime_error(
            std::string("cjaccl: the environment does not make this process a "
                        "rank: set JACCL_RANK (or MLX_RANK), ") +
            needed);
    return nullptr;
}

std::shared_ptr<Group> init(bool strict)
{
    return start(Config::from_env(), strict,
                 "JACCL_IBV_DEVICES (or MLX_IBV_DEVICES) to a device file with "
                 "a mesh or a ring, and JACCL_COORDINATOR (or "
                 "MLX_JACCL_COORDINATOR) to the address and port of rank 0");
}

std::shared_ptr<Group> init(bool strict,
                            std::function<AllGatherFn(int, int)> factory)
{
    return start(Config::from_env().set_all_gather_factory(std::move(factory)),
                 strict,
                 "and JACCL_IBV_DEVICES (or MLX_IBV_DEVICES) to a device file "
                 "with a mesh or a ring");
}

} // namespace jaccl
