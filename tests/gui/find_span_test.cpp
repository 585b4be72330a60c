#include "gui/app/find_span.hpp"

#include <gtest/gtest.h>

#include "gui/app/document.hpp"
#include "sim/spec/catalogue.hpp"

namespace foreshard::gui {
namespace {

TEST(FindSpan, GoesAroundInBothDirections) {
    const Document document = simulateRequest("a", load_job_request("gpt-tiny-pp4"));
    const SpanTable& spans = document.run.spans;
    const auto first = findSpan(spans, "2f1", std::nullopt, FindDirection::forward);
    ASSERT_TRUE(first);
    EXPECT_EQ(span_name(spans, *first), "2F1");
    EXPECT_EQ(findSpan(spans, "2F1", first, FindDirection::forward), first) << "the only one is found again";
    const auto part = findSpan(spans, "send 0", std::nullopt, FindDirection::forward);
    ASSERT_TRUE(part);
    const auto next = findSpan(spans, "send 0", part, FindDirection::forward);
    ASSERT_TRUE(next);
    EXPECT_GT(*next, *part);
    EXPECT_EQ(findSpan(spans, "send 0", next, FindDirection::backward), part);
    EXPECT_FALSE(findSpan(spans, "no such", std::nullopt, FindDirection::forward));
    EXPECT_FALSE(findSpan(spans, "", std::nullopt, FindDirection::forward));
    EXPECT_FALSE(findSpan(SpanTable{}, "2F1", std::nullopt, FindDirection::forward));
}

}  // namespace
}  // namespace foreshard::gui
