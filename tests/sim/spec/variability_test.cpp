#include "sim/spec/variability.hpp"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard {
namespace {

using testing::HasSubstr;

TEST(Variability, SpeedFactorsNameRanks) {
    const auto factors = parse_speed_factors("0.95,3:0.9,8-15:0.8,pp1:0.5");
    ASSERT_EQ(factors.size(), 4U);
    EXPECT_TRUE(factors[0].everywhere());
    EXPECT_EQ(factors[2], (SpeedFactor{8, 15, false, 0.8}));
    EXPECT_EQ(factors[3], (SpeedFactor{1, 1, true, 0.5}));
    Variability v;
    v.speed = factors;
    EXPECT_EQ(speed_of(v, 0, 0), 0.95);
    EXPECT_EQ(speed_of(v, 3, 0), 0.9);
    EXPECT_EQ(speed_of(v, 15, 0), 0.8);
    EXPECT_EQ(speed_of(v, 16, 0), 0.95);
    EXPECT_EQ(speed_of(v, 3, 1), 0.5) << "a later entry wins";
    EXPECT_EQ(parse_speed_factors(to_string(factors)), factors);
}

TEST(Variability, LinkFactorsNameLinks) {
    const auto factors = parse_link_factors("0.9,nvlink:0.8,nic3:0.5,nvlink8-15:0.25");
    ASSERT_EQ(factors.size(), 4U);
    Variability v;
    v.links = factors;
    EXPECT_EQ(link_speed_of(v, LinkKind::nic, 2), 0.9);
    EXPECT_EQ(link_speed_of(v, LinkKind::nic, 3), 0.5);
    EXPECT_EQ(link_speed_of(v, LinkKind::nvlink, 3), 0.8);
    EXPECT_EQ(link_speed_of(v, LinkKind::nvlink, 9), 0.25);
    EXPECT_EQ(parse_link_factors(to_string(factors)), factors);
}

std::string refusal(const std::function<void()>& parse) {
    try {
        parse();
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(Variability, MalformedFactorsAreRefusedWithTheForm) {
    for (const char* text : {"", "x", "3:", ":0.9", "3:0.9,", "5-3:0.9", "pp:0.9", "-1:0.9", "0", "3:nan", "1e9"}) {
        EXPECT_THAT(refusal([&] { parse_speed_factors(text); }), HasSubstr("--speed-factor")) << text;
    }
    for (const char* text : {"nik:0.9", "nic3-1:0.9", "nvlink:0", "0.9x"}) {
        EXPECT_THAT(refusal([&] { parse_link_factors(text); }), HasSubstr("nvlink8-15:0.9")) << text;
    }
    for (const char* text : {"", "dp", "dp=0", "dp=2,dp=4", "xp=2", "dp=2,"}) {
        EXPECT_THAT(refusal([&] { parse_mesh(text); }), HasSubstr("--mesh")) << text;
    }
}

TEST(Variability, FactorsOfOneChangeNothing) {
    JobRequest request = test::tiny_request(2, 4);
    request.speed_factor = "1";
    request.link_factor = "1.0";
    request.jitter_pct = 0.0;
    const Job job = test::valid_job(request);
    EXPECT_TRUE(job.plan.variability.speed.empty());
    EXPECT_TRUE(job.plan.variability.links.empty());
}

TEST(Variability, RanksThatDoNotExistBreakARule) {
    JobRequest request = test::tiny_request(2, 4);
    request.speed_factor = "7:0.9";
    const std::vector<BrokenRule> broken = check(resolve(request));
    ASSERT_EQ(broken.size(), 1U);
    EXPECT_THAT(broken[0].rule, HasSubstr("rank 7 does not exist"));
    EXPECT_EQ(broken[0].nearest, "0 to 1");
    request.speed_factor = "pp1:0.9";
    EXPECT_TRUE(check(resolve(request)).empty());
    request.link_factor = "nic5:0.9";
    EXPECT_EQ(check(resolve(request)).size(), 1U);
}

TEST(Variability, MeshAndOrderContradict) {
    JobRequest request = test::tiny_request(2, 4);
    request.mesh = "pp=2,dp=1";
    request.order = "tp-cp-ep-dp-pp";
    EXPECT_THAT(refusal([&] { resolve(request); }), HasSubstr("--order"));
    request.order.reset();
    request.pp = 4;
    EXPECT_THAT(refusal([&] { resolve(request); }), HasSubstr("contradicts --mesh"));
}

}  // namespace
}  // namespace foreshard
