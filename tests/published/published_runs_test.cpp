#include <cstdlib>
#include <fstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/validate/json_validation.hpp"
#include "sim/validate/text_validation.hpp"
#include "tests/support/jobs.hpp"

/// All published runs, against what was recorded when predictions last changed on purpose.
/// UPDATE_GOLDEN=1 rewrites the record; the difference belongs into CHANGELOG.md under "Changed predictions".
namespace foreshard {
namespace {

std::string record_file() {
    return std::string(FORESHARD_SOURCE_DIR) + "/tests/published/record.json";
}

std::vector<PublishedRun> all_runs() {
    std::vector<PublishedRun> runs;
    for (const char* file : {"training.jsonl", "vtrain_single_node.jsonl"}) {
        const std::vector<PublishedRun> more = read_dataset(test::data_folder() + "/published/" + file);
        runs.insert(runs.end(), more.begin(), more.end());
    }
    return runs;
}

TEST(PublishedRuns, NoSourceGetsWorseUnnoticed) {
    if (test::data_folder().empty()) GTEST_SKIP() << "FORESHARD_DATA is not set: no published runs";
    const Validation validation = validate(all_runs());
    fmt::print("{}", validation_text(validation));
    if (std::getenv("UPDATE_GOLDEN") != nullptr) std::ofstream(record_file()) << record_json(validation);
    for (const std::string& line : regressions(validation, record_file(), 0.5)) ADD_FAILURE() << line;
}

}  // namespace
}  // namespace foreshard
