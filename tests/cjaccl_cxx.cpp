/*
 * JACCL's C++ interface: what makes a configuration valid, when init() answers
 * nullptr and when it throws, and that a group of one does everything.
 */
#include <jaccl/jaccl.h>
#include <jaccl/types.h>

#include <cjaccl/cjaccl.h>

#include <csetjmp>
#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

extern "C" {
#include <cmocka.h>
}

using Devices = std::vector<std::vector<std::vector<std::string>>>;

static const Devices mesh = {
    {{}, {"a"}, {"b"}}, {{"a"}, {}, {"b"}}, {{"a"}, {"b"}, {}}};
static const Devices pair_of_two_wires = {{{}, {"a", "b"}}, {{"a", "b"}, {}}};
/* Ranks 0 and 2 of four are not neighbours. */
static const Devices ring = {{{}, {"a"}, {}, {"b"}},
                             {{"a"}, {}, {"b"}, {}},
                             {{}, {"a"}, {}, {"b"}},
                             {{"a"}, {}, {"b"}, {}}};

static const char *const variables[] = {
    "JACCL_RANK",
    "JACCL_IBV_DEVICES",
    "JACCL_COORDINATOR",
    "JACCL_RING",
    "MLX_RANK",
    "MLX_IBV_DEVICES",
    "MLX_JACCL_RING",
    "MLX_JACCL_COORDINATOR",
    "CJ_FALLBACK",
    "CJ_START_TIMEOUT",
    "CJ_OPERATION_TIMEOUT",
    "CJ_BACKEND",
};

static int clear_environment(void **)
{
    for (const char *variable : variables)
        unsetenv(variable);
    return 0;
}

/* What `call` throws: a std::runtime_error's text, or "" for nothing. */
template <typename Call> static std::string thrown_by(Call call)
{
    try {
        call();
    } catch (const std::runtime_error &error) {
        return error.what();
    }
    return "";
}

static bool contains(const std::string &text, const char *part)
{
    return text.find(part) != std::string::npos;
}

/* A file with that text, for as long as this lives. */
class File
{
  public:
    explicit File(const char *text)
    {
        std::FILE *file = std::fopen(name(), "w");

        assert_non_null(file);
        assert_true(std::fputs(text, file) >= 0);
        assert_int_equal(std::fclose(file), 0);
    }
    ~File()
    {
        std::remove(name());
    }
    static const char *name()
    {
        return BINARY_DIR "/tests/cjaccl_cxx.json";
    }
};

static void dtypes_are_numbered_as_the_c_types(void **)
{
    assert_int_equal(int(jaccl::Bool), int(CJ_BOOL));
    assert_int_equal(int(jaccl::Int64), int(CJ_INT64));
    assert_int_equal(int(jaccl::UInt8), int(CJ_UINT8));
    assert_int_equal(int(jaccl::Float16), int(CJ_FLOAT16));
    assert_int_equal(int(jaccl::Complex64), int(CJ_COMPLEX64));
    assert_int_equal(int(jaccl::Complex64) + 1, int(CJ_TYPE_COUNT));
}

static void halves_are_made_of_floats(void **)
{
    jaccl::float16_t half(1.5f);
    jaccl::bfloat16_t bfloat(-2.0f);

    half += jaccl::float16_t(0.25f);
    bfloat += jaccl::bfloat16_t(1.0f);
    assert_true(float(half) == 1.75f);
    assert_true(float(bfloat) == -1.0f);
    assert_int_equal(sizeof half, 2);
    assert_int_equal(sizeof bfloat, 2);
    assert_int_equal(jaccl::float16_t(1.0f).bits_, 0x3c00);
    assert_int_equal(jaccl::bfloat16_t(1.0f).bits_, 0x3f80);
    assert_true(jaccl::float16_t(1.0f) < jaccl::float16_t(2.0f));
}

static jaccl::Config config_of(const Devices &devices)
{
    return jaccl::Config()
        .set_rank(1)
        .set_coordinator("127.0.0.1:9")
        .set_devices(devices);
}

static void shapes_are_told_apart(void **)
{
    assert_true(config_of(mesh).is_valid_mesh());
    assert_true(config_of(mesh).is_valid_ring());
    assert_true(config_of(pair_of_two_wires).is_valid_mesh());
    assert_true(config_of(pair_of_two_wires).is_valid_ring());
    assert_false(config_of(ring).is_valid_mesh());
    assert_true(config_of(ring).is_valid_ring());
    assert_true(config_of(ring).is_valid());

    Devices broken = mesh;
    broken[2][2] = {"a"};
    assert_false(config_of(broken).is_valid_mesh());
    broken = mesh;
    broken[2][1] = {};
    assert_false(config_of(broken).is_valid_mesh());
    assert_false(config_of(broken).is_valid_ring());
    assert_false(config_of(broken).is_valid());
}

static void a_configuration_needs_rank_devices_and_a_way_to_rank_0(void **)
{
    const auto gather = [](const char *, char *, std::size_t) {};

    assert_false(jaccl::Config().is_valid());
    assert_true(config_of(mesh).is_valid());
    assert_false(config_of(mesh).set_rank(3).is_valid());
    assert_false(config_of(mesh).set_rank(-1).is_valid());
    assert_false(config_of(mesh).set_rank("1x").is_valid());
    assert_false(config_of(mesh).set_rank("").is_valid());
    assert_true(config_of(mesh).set_rank("2").is_valid());
    assert_false(config_of(mesh).set_coordinator("").is_valid());
    assert_true(
        config_of(mesh).set_coordinator("").set_all_gather(gather).is_valid());
    assert_true(config_of(mesh)
                    .set_coordinator("")
                    .set_all_gather_factory([&](int, int) { return gather; })
                    .is_valid());
    assert_true(jaccl::Config().set_devices({{{}}}).is_valid());
    assert_false(jaccl::Config().set_devices({{{}}}).is_valid_mesh());
}

static void getters_tell_what_was_set(void **)
{
    jaccl::Config config = config_of(mesh).set_rank("2").prefer_ring();
    const char *nothing = nullptr;

    config.set_rank(nothing).set_coordinator(nothing).set_devices_from_file(
        nothing);
    assert_int_equal(config.get_rank(), 2);
    assert_int_equal(config.get_size(), 3);
    assert_string_equal(config.get_coordinator().c_str(), "127.0.0.1:9");
    assert_true(config.get_prefer_ring());
    assert_false(config.prefer_ring(false).get_prefer_ring());
}

static void rows_of_another_length_are_refused(void **)
{
    bool refused = false;

    try {
        jaccl::Config().set_devices({{{}, {"a"}}, {{"a"}}});
    } catch (const std::invalid_argument &error) {
        refused = contains(error.what(), "row 1");
    }
    assert_true(refused);
}

static void device_files_are_read_or_refused(void **)
{
    File file("[[null, \"a\"], [[\"a\"], null]]");
    jaccl::Config config;

    config.set_devices_from_file(File::name());
    assert_int_equal(config.get_size(), 2);
    assert_true(config.is_valid_mesh());
    assert_true(contains(
        thrown_by([] { jaccl::Config().set_devices_from_file("/none/x"); }),
        "/none/x"));
    {
        File hosts("{\"hosts\": [{\"ips\": [\"10.0.0.1\"]}, "
                   "{\"ips\": [\"10.0.0.2\"]}]}");
        jaccl::Config without;

        without.set_rank(1).set_devices_from_file(File::name());
        assert_int_equal(without.get_size(), 2);
        assert_false(without.is_valid_mesh());
        setenv("CJ_BACKEND", "sockets", 1);
        assert_true(without.is_valid());
        unsetenv("CJ_BACKEND");
    }
    File broken("[[null, 5], [null]]");
    assert_true(contains(
        thrown_by([] { jaccl::Config().set_devices_from_file(File::name()); }),
        "cjaccl_cxx.json"));
}

static void an_mlx_hostfile_is_a_device_file_too(void **)
{
    File file("{\"hosts\": [{\"rdma\": [null, \"a\"], \"ips\": [\"10.0.0.1\"]},"
              " {\"rdma\": [\"a\", null], \"ips\": []}]}");
    jaccl::Config config;

    config.set_devices_from_file(File::name());
    assert_true(config.is_valid());
    assert_string_equal(config.get_coordinator().c_str(), "10.0.0.1:32323");
    config.set_coordinator("10.0.0.9:1").set_devices_from_file(File::name());
    assert_string_equal(config.get_coordinator().c_str(), "10.0.0.9:1");
}

static void the_environment_makes_a_configuration(void **)
{
    File file("[[null, \"a\"], [\"a\", null]]");

    setenv("MLX_RANK", "1", 1);
    setenv("MLX_IBV_DEVICES", File::name(), 1);
    setenv("MLX_JACCL_COORDINATOR", "127.0.0.1:9", 1);
    setenv("MLX_JACCL_RING", "", 1);
    const jaccl::Config config = jaccl::Config::from_env();
    assert_true(config.is_valid());
    assert_int_equal(config.get_rank(), 1);
    assert_int_equal(config.get_size(), 2);
    assert_true(config.get_prefer_ring());
    /* JACCL's own names count before MLX's. */
    setenv("JACCL_RANK", "0", 1);
    assert_int_equal(jaccl::Config::from_env().get_rank(), 0);
}

/* As when another backend of MLX was launched, which also sets MLX_RANK. */
static void a_process_that_is_no_rank_gets_nullptr(void **)
{
    assert_null(jaccl::init().get());
    setenv("MLX_RANK", "1", 1);
    assert_null(jaccl::init().get());
    assert_null(jaccl::init(false, [](int, int) {
                    return jaccl::AllGatherFn();
                }).get());
    assert_null(jaccl::init(jaccl::Config()).get());
}

static void a_strict_one_is_told_what_is_missing(void **)
{
    assert_true(contains(thrown_by([] { jaccl::init(true); }), "JACCL_RANK"));
    assert_true(contains(thrown_by([] {
                             jaccl::init(true, [](int, int) {
                                 return jaccl::AllGatherFn();
                             });
                         }),
                         "JACCL_IBV_DEVICES"));
    assert_true(contains(thrown_by([] { jaccl::init(jaccl::Config(), true); }),
                         "devices"));
}

static void a_start_that_fails_throws_in_any_case(void **)
{
    const auto start = [] {
        jaccl::init(config_of(mesh).set_coordinator("nonsense"), false);
    };

    assert_true(contains(thrown_by(start), "nonsense"));
}

static void what_the_callers_all_gather_throws_comes_out(void **)
{
    int made = 0;
    const auto factory = [&](int rank, int size) {
        assert_int_equal(rank, 1);
        assert_int_equal(size, 3);
        made++;
        return [](const char *, char *, std::size_t) {
            throw std::runtime_error("out of reach");
        };
    };
    const auto start = [&] {
        jaccl::init(config_of(mesh).set_all_gather_factory(factory), false);
    };

    assert_string_equal(thrown_by(start).c_str(), "out of reach");
    assert_int_equal(made, 1);
}

static void a_group_of_one_does_everything(void **)
{
    auto group = jaccl::init(jaccl::Config().set_devices({{{}}}), true);
    const float in[3] = {1, -2, 3};
    float out[3] = {};

    assert_int_equal(group->rank(), 0);
    assert_int_equal(group->size(), 1);
    group->all_sum(in, out, sizeof in, jaccl::Float32);
    assert_memory_equal(in, out, sizeof in);
    std::memset(out, 0, sizeof out);
    group->all_max(in, out, sizeof in, jaccl::Float32);
    assert_memory_equal(in, out, sizeof in);
    std::memset(out, 0, sizeof out);
    group->all_min(in, out, sizeof in, jaccl::Float32);
    assert_memory_equal(in, out, sizeof in);
    std::memset(out, 0, sizeof out);
    group->sum_scatter(in, out, sizeof in, jaccl::Float32);
    assert_memory_equal(in, out, sizeof in);
    std::memset(out, 0, sizeof out);
    group->all_gather(in, out, sizeof in);
    assert_memory_equal(in, out, sizeof in);
    group->barrier();
}

static void wrong_arguments_throw_and_do_no_harm(void **)
{
    auto group = jaccl::init(jaccl::Config().set_devices({{{}}}), true);
    float number = 1;

    assert_true(
        contains(thrown_by([&] { group->send(&number, 4, 0); }), "cjaccl"));
    assert_true(
        contains(thrown_by([&] { group->recv(&number, 4, 7); }), "cjaccl"));
    assert_true(contains(
        thrown_by([&] { group->all_sum(&number, &number, 4, 99); }), "99"));
    assert_true(contains(
        thrown_by([&] { group->all_sum(&number, &number, 3, jaccl::Float32); }),
        "3 bytes"));
    group->all_sum(&number, &number, 4, jaccl::Float32);
    assert_true(number == 1);
}

#define TEST(function) cmocka_unit_test_setup(function, clear_environment)

int main()
{
    const struct CMUnitTest tests[] = {
        TEST(dtypes_are_numbered_as_the_c_types),
        TEST(halves_are_made_of_floats),
        TEST(shapes_are_told_apart),
        TEST(a_configuration_needs_rank_devices_and_a_way_to_rank_0),
        TEST(getters_tell_what_was_set),
        TEST(rows_of_another_length_are_refused),
        TEST(device_files_are_read_or_refused),
        TEST(an_mlx_hostfile_is_a_device_file_too),
        TEST(the_environment_makes_a_configuration),
        TEST(a_process_that_is_no_rank_gets_nullptr),
        TEST(a_strict_one_is_told_what_is_missing),
        TEST(a_start_that_fails_throws_in_any_case),
        TEST(what_the_callers_all_gather_throws_comes_out),
        TEST(a_group_of_one_does_everything),
        TEST(wrong_arguments_throw_and_do_no_harm),
    };

    return cmocka_run_group_tests(tests, nullptr, nullptr);
}
