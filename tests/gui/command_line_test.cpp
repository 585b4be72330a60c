#include "gui/program/command_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/error.hpp"

namespace foreshard::gui {
namespace {

CommandLine parse(std::vector<const char*> words) {
    words.insert(words.begin(), "foreshard-gui");
    return parseCommandLine(static_cast<int>(words.size()), words.data());
}

std::string message(const std::vector<const char*>& words) {
    try {
        parse(words);
    } catch (const InputError& error) {
        return error.what();
    }
    return "accepted";
}

TEST(GuiCommandLine, InputsFlagsAndPictures) {
    EXPECT_TRUE(parse({}).inputs.empty());
    EXPECT_EQ(parse({"a.json", "gpt-tiny-pp4"}).inputs,
              (std::vector<OpenRequest>{{.source = "a.json"}, {.source = "gpt-tiny-pp4"}}));
    const CommandLine line = parse({"gpt-tiny-pp4", "--tensor-model-parallel-size", "2", "--no-sp", "--screenshot",
                                    "x.png", "--size", "800x600", "--view", "memory", "--theme", "high-contrast"});
    ASSERT_EQ(line.inputs.size(), 1U);
    EXPECT_THAT(line.inputs[0].changes, testing::ElementsAre(RequestValue{"tp", "2"}, RequestValue{"sp", "false"}));
    EXPECT_EQ(line.screenshot, "x.png");
    EXPECT_EQ(line.size, QSize(800, 600));
    EXPECT_EQ(line.view, WindowView::memory);
    EXPECT_EQ(line.theme, ThemeKind::high_contrast);
    EXPECT_FALSE(line.inputs[0].bubbleFree);
}

TEST(GuiCommandLine, CompareWithOneInputComparesWithNoBubbles) {
    EXPECT_TRUE(parse({"a.json", "--view", "compare"}).inputs[0].bubbleFree);
    EXPECT_FALSE(parse({"a.json", "b.json", "--view", "compare"}).inputs[0].bubbleFree);
}

TEST(GuiCommandLine, SearchWithOneInputSearchesPlans) {
    EXPECT_TRUE(parse({"gpt-tiny-pp4", "--view", "search"}).inputs[0].findPlans);
    EXPECT_FALSE(parse({"gpt-tiny-pp4", "--view", "memory"}).inputs[0].findPlans);
    EXPECT_FALSE(parse({"a.json", "b.json", "--view", "search"}).inputs[0].findPlans);
}

TEST(GuiCommandLine, MessagesNameTheArgument) {
    EXPECT_THAT(message({"--size", "big"}), testing::HasSubstr("--size: 'big'"));
    EXPECT_THAT(message({"--size", "99999x100"}), testing::HasSubstr("--size"));
    EXPECT_THAT(message({"--view", "side"}), testing::HasSubstr("timeline, memory, compare, search"));
    EXPECT_THAT(message({"--theme", "blue"}), testing::HasSubstr("--theme"));
    EXPECT_THAT(message({"--screnshot", "x"}), testing::HasSubstr("did you mean --screenshot"));
    EXPECT_THAT(message({"a", "b", "--tp", "2"}), testing::HasSubstr("--tp"));
}

TEST(GuiCommandLine, KnowsWhenNoDisplayIsNeeded) {
    const char* picture[] = {"foreshard-gui", "a", "--screenshot=x.png"};
    const char* window[] = {"foreshard-gui", "a"};
    EXPECT_TRUE(drawsOffScreen(3, picture));
    EXPECT_FALSE(drawsOffScreen(2, window));
    EXPECT_THAT(*parse({"--help"}).text, testing::HasSubstr("--screenshot"));
    EXPECT_THAT(*parse({"--version"}).text, testing::HasSubstr("foreshard-gui"));
}

}  // namespace
}  // namespace foreshard::gui
