#include <gtest/gtest.h>

#include "gui/app/json_session.hpp"
#include "sim/error.hpp"

namespace foreshard::gui {
namespace {

TEST(Session, IsReadAsItWasWritten) {
    Session session;
    session.runs.push_back(
        {{.source = "gpt3-175b-selene-64", .changes = {{"schedule", "zb-h1"}, {"vpp", ""}}, .name = "A"}, true});
    session.runs.push_back({{.source = "folder/trace \"1\".json.gz"}, false});
    session.searches = {"found.json"};
    session.search = {{"tp", "1..8"}, {"max_memory_gib", "40"}};
    session.edited = 1;
    session.mode = "diff";
    session.theme = "dark";
    session.begin = -5;
    session.end = 1'000'000'000'000;
    session.runs.push_back({{.source = "r.json", .part = ReportPart::measurement}, true});
    session.marks = {-7, 12};
    session.pinnedRanks = {3};
    session.expandedRanks = {0, 2};
    EXPECT_EQ(parseSession("s.json", sessionText(session)), session);
}

TEST(Session, MessagesNameFileAndPlace) {
    const auto message = [](const char* text) -> std::string {
        try {
            parseSession("s.json", text);
        } catch (const InputError& error) {
            return error.what();
        }
        return "accepted";
    };
    EXPECT_NE(message("{").find("s.json"), std::string::npos);
    EXPECT_NE(message(R"({"schema": "foreshard.job", "schema_version": "1.0", "runs": []})").find("foreshard.session"),
              std::string::npos);
    EXPECT_NE(message(R"({"schema": "foreshard.session", "schema_version": "1.0", "runs": [{"source": 3}]})")
                  .find("/runs/0/source"),
              std::string::npos);
    EXPECT_NE(
        message(R"({"schema": "foreshard.session", "schema_version": "1.0", "runs": [], "mod": "x"})").find("mod"),
        std::string::npos);
    EXPECT_NE(
        message(R"({"schema": "foreshard.session", "schema_version": "1.0", "runs": [], "pinned_ranks": [1, -1]})")
            .find("/pinned_ranks"),
        std::string::npos);
}

}  // namespace
}  // namespace foreshard::gui
