#include <cstdlib>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/json_report.hpp"
#include "sim/spec/catalogue.hpp"
#include "tests/support/jobs.hpp"

/// Every plan of the catalogue runs, and its figures are those of tests/golden/<plan>.json, exactly.
/// UPDATE_GOLDEN=1 rewrites the files; the difference belongs into CHANGELOG.md under "Changed predictions".
namespace foreshard {
namespace {

std::string golden_file(const std::string& plan) {
    return std::string(FORESHARD_SOURCE_DIR) + "/tests/golden/" + plan + ".json";
}

std::string read(const std::string& file) {
    std::ifstream in(file);
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
}

/// The summary, and the first and the last rank.
std::string figures(const Evaluation& e) {
    const auto report = nlohmann::ordered_json::parse(report_json(e, {}));
    nlohmann::ordered_json kept;
    kept["summary"] = report["summary"];
    kept["first_rank"] = report["ranks"].front();
    kept["last_rank"] = report["ranks"].back();
    return kept.dump(2) + "\n";
}

TEST(Golden, EveryPlanOfTheCatalogue) {
    const bool update = std::getenv("UPDATE_GOLDEN") != nullptr;
    for (const CatalogueEntry& entry : catalogue("plans")) {
        const std::string plan(entry.id);
        const std::string now = figures(evaluate(test::valid_job(load_job_request(plan))));
        if (update) std::ofstream(golden_file(plan)) << now;
        EXPECT_EQ(now, read(golden_file(plan))) << plan;
    }
}

}  // namespace
}  // namespace foreshard
