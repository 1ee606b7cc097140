#include "jaccl/jaccl.h"

#include "cjaccl/cjaccl.h"

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <utility>

namespace jaccl
{

namespace
{

/* Digits only; -1, which is no rank, for everything else. */
int parse_rank(const char *text)
{
    char *end;
    long rank;

    if (*text < '0' || *text > '9')
        return -1;
    rank = std::strtol(text, &end, 10);
    return *end == '\0' && rank <= CJ_MAX_RANKS ? static_cast<int>(rank) : -1;
}

/* Of two names the first that is set counts. */
const char *look_up(const char *first, const char *second)
{
    const char *value = std::getenv(first);

    return value != nullptr ? value : std::getenv(second);
}

/* Settings that take back their memory. */
class Settings
{
  public:
    Settings() = default;
    Settings(const Settings &) = delete;
    Settings &operator=(const Settings &) = delete;
    ~Settings()
    {
        cj_settings_free(&settings_);
    }

    /* What cj_settings_from_...() answered. */
    void check(int status) const
    {
        if (status != CJ_OK)
            throw std::runtime_error(error_.message);
    }

    std::vector<std::vector<std::vector<std::string>>> devices() const
    {
        const cj_config &config = settings_.config;
        const auto size = static_cast<std::size_t>(config.size);
        std::vector<std::vector<std::vector<std::string>>> devices(size);

        for (std::size_t row = 0; row < size; row++) {
            for (std::size_t column = 0; column < size; column++) {
                /* A list of hosts without devices. */
                if (config.cells == nullptr) {
                    devices[row].emplace_back();
                    continue;
                }
                const cj_cell &cell = config.cells[row * size + column];

                devices[row].emplace_back(cell.names, cell.names + cell.count);
            }
        }
        return devices;
    }

    cj_settings settings_ = {};
    cj_error error_ = {};
};

} // namespace

Config &Config::set_rank(const char *rank)
{
    if (rank != nullptr)
        rank_ = parse_rank(rank);
    return *this;
}

Config &Config::set_rank(int rank)
{
    rank_ = rank;
    return *this;
}

Config &Config::set_coordinator(const char *coordinator)
{
    if (coordinator != nullptr)
        coordinator_ = coordinator;
    return *this;
}

Config &Config::set_coordinator(std::string coordinator)
{
    coordinator_ = std::move(coordinator);
    return *this;
}

Config &Config::set_devices_from_file(const char *path)
{
    Settings file;

    if (path == nullptr)
        return *this;
    /* The rank may be set later, so any rank will do: there is a rank 0. */
    file.check(
        cj_settings_from_file(&file.settings_, path, 0, nullptr, &file.error_));
    if (coordinator_.empty())
        set_coordinator(file.settings_.config.coordinator);
    return set_devices(file.devices());
}

Config &
Config::set_devices(std::vector<std::vector<std::vector<std::string>>> devices)
{
    for (std::size_t row = 0; row < devices.size(); row++) {
        if (devices[row].size() != devices.size())
            throw std::invalid_argument(
                "cjaccl: row " + std::to_string(row) + " of the devices has " +
                std::to_string(devices[row].size()) + " columns: with " +
                std::to_string(devices.size()) +
                " rows it has to have as many");
    }
    devices_ = std::move(devices);
    size_ = static_cast<int>(devices_.size());
    return *this;
}

Config &Config::prefer_ring(bool prefer)
{
    prefer_ring_ = prefer;
    return *this;
}

Config &Config::set_all_gather(AllGatherFn all_gather)
{
    all_gather_ = std::move(all_gather);
    return *this;
}

Config &
Config::set_all_gather_factory(std::function<AllGatherFn(int, int)> factory)
{
    all_gather_factory_ = std::move(factory);
    return *this;
}

bool Config::is_valid_mesh() const
{
    if (size_ < 2)
        return false;
    for (std::size_t row = 0; row < devices_.size(); row++) {
        for (std::size_t column = 0; column < devices_.size(); column++) {
            if (devices_[row][column].empty() != (row == column))
                return false;
        }
    }
    return true;
}

bool Config::is_valid_ring() const
{
    const std::size_t size = devices_.size();

    if (size_ < 2)
        return false;
    const std::size_t wires = devices_[0][1].size();
    for (std::size_t row = 0; row < size; row++) {
        if (devices_[row][(row + 1) % size].size() != wires ||
            devices_[row][(row + size - 1) % size].size() != wires)
            return false;
    }
    return true;
}

bool Config::is_valid() const
{
    if (rank_ < 0 || rank_ >= size_)
        return false;
    if (size_ == 1)
        return true;
    if (coordinator_.empty() && !all_gather_ && !all_gather_factory_)
        return false;
    /* The socket ring needs no device. */
    const char *backend = std::getenv("CJ_BACKEND");
    if (backend != nullptr && std::strcmp(backend, "sockets") == 0)
        return true;
    return is_valid_mesh() || is_valid_ring();
}

Config Config::from_env()
{
    Config config;
    Settings settings;
    const cj_config &found = settings.settings_.config;

    if (look_up("JACCL_IBV_DEVICES", "MLX_IBV_DEVICES") == nullptr)
        return config.set_rank(look_up("JACCL_RANK", "MLX_RANK"))
            .set_coordinator(
                look_up("JACCL_COORDINATOR", "MLX_JACCL_COORDINATOR"))
            .prefer_ring(look_up("JACCL_RING", "MLX_JACCL_RING") != nullptr);
    settings.check(cj_settings_from_env(&settings.settings_, &settings.error_));
    config.set_rank(found.rank)
        .set_coordinator(found.coordinator)
        .set_devices(settings.devices())
        .prefer_ring(found.topology == CJ_TOPOLOGY_RING);
    config.backend_ = found.backend;
    config.fallback_ = found.fallback;
    config.start_timeout_ns_ = found.start_timeout_ns;
    config.operation_timeout_ns_ = found.operation_timeout_ns;
    return config;
}

} // namespace jaccl
