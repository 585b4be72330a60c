#include "sim/spec/request_text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"
#include "sim/spec/catalogue.hpp"

namespace foreshard {
namespace {

TEST(RequestText, EveryPlanOfTheCatalogueIsRebuiltFromItsTexts) {
    for (const CatalogueEntry& plan : catalogue("plans")) {
        const JobRequest request = load_job_request(std::string(plan.id));
        JobRequest rebuilt;
        for (const RequestValue& value : request_values(request)) {
            rebuilt = with_value(std::move(rebuilt), value.name, value.text);
        }
        EXPECT_EQ(request_values(rebuilt), request_values(request)) << plan.id;
        EXPECT_TRUE(changed_values(request, rebuilt).empty()) << plan.id;
        EXPECT_EQ(resolve(rebuilt).plan.tp, resolve(request).plan.tp) << plan.id;
    }
}

TEST(RequestText, EmptyTextMeansNotSaid) {
    JobRequest request = with_value({}, "tp", "8");
    EXPECT_EQ(request.tp, 8);
    EXPECT_EQ(request_value(request, "tp"), "8");
    request = with_value(request, "tp", "");
    EXPECT_FALSE(request.tp);
    EXPECT_EQ(request_value(request, "tp"), "");
}

TEST(RequestText, FlagsAreThoseOfTheCommandLine) {
    JobRequest request;
    request.model = "my models/a.json";
    request.gbs = 64;
    request.tp = 8;
    request.sp = true;
    request.overlap_p2p = false;
    request.no_symmetry = false;
    request.layout = "Et|tL";
    request.bucket_mb = 12.5;
    request.swiglu = false;
    EXPECT_EQ(request_flags(request),
              "--model 'my models/a.json' --gbs 64 --tp 8 --sp --layout 'Et|tL' --no-overlap-p2p --bucket-mb 12.5 "
              "--symmetry --swiglu=false");
}

TEST(RequestText, MessagesNameFlagAndValue) {
    const auto message = [](const char* name, const char* text) -> std::string {
        try {
            with_value({}, name, text);
        } catch (const InputError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_EQ(message("tp", "eight"), "--tp: 'eight' is not a whole number");
    EXPECT_EQ(message("tp", "8x"), "--tp: '8x' is not a whole number");
    EXPECT_EQ(message("tp", "99999999999"), "--tp: '99999999999' is not a number that fits");
    EXPECT_EQ(message("sp", "yes"), "--sp: 'yes' is not true or false");
    EXPECT_EQ(message("bucket_mb", "big"), "--bucket-mb: 'big' is not a number");
    EXPECT_EQ(message("shedule", "1f1b"), "--shedule: no such field; did you mean --schedule?");
}

TEST(RequestText, ChangesAreNamed) {
    const JobRequest a = load_job_request("gpt3-175b-selene-64");
    JobRequest b = with_value(a, "schedule", "zb-h1");
    b = with_value(b, "vpp", "");
    EXPECT_THAT(changed_values(a, b), testing::ElementsAre(RequestValue{"vpp", ""}, RequestValue{"schedule", "zb-h1"}));
}

}  // namespace
}  // namespace foreshard
