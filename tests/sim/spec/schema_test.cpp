#include "tests/support/schema.hpp"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/json_report.hpp"
#include "sim/result/json_comparison.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/json_specs.hpp"
#include "tests/support/jobs.hpp"
#include "tests/support/runs.hpp"

/// The shipped JSON Schemas hold for what is shipped and written.
namespace foreshard {
namespace {

using test::violations;

TEST(Schema, EveryCatalogueFileKeepsItsSchema) {
    const std::pair<const char*, const char*> kinds[] = {{"models", "model"},        {"clusters", "cluster"},
                                                         {"devices", "device"},      {"software", "software"},
                                                         {"calibrations", "fabric"}, {"plans", "job"}};
    for (const auto& [kind, schema] : kinds) {
        ASSERT_FALSE(catalogue(kind).empty()) << kind;
        for (const CatalogueEntry& entry : catalogue(kind)) {
            const nlohmann::json document = nlohmann::json::parse(entry.text);
            const bool kernels = document.at("schema") == "foreshard.kernels";  // the second kind of calibration
            EXPECT_EQ(violations(kernels ? "kernels" : schema, document), "") << kind << "/" << entry.id;
        }
    }
}

TEST(Schema, ReportsKeepTheReportSchema) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const Evaluation e = evaluate(test::random_job(seed));
        const Provenance provenance{"foreshard simulate", {{"a.json", "00"}}};
        EXPECT_EQ(violations("report", nlohmann::json::parse(report_json(e, provenance))), "") << seed;
    }
}

TEST(Schema, ComparisonsKeepTheComparisonSchema) {
    for (std::uint64_t seed = 1; seed <= 4; ++seed) {
        const std::vector<foreshard::Run> runs = {test::any_run(seed), test::any_run(seed + 100)};
        const std::string text = comparison_json(runs, {compare(runs[0], runs[1])});
        EXPECT_EQ(violations("comparison", nlohmann::json::parse(text)), "") << seed;
    }
}

TEST(Schema, ExamplesOfSearchesKeepTheSearchSchema) {
    int files = 0;
    for (const auto& file : std::filesystem::directory_iterator(FORESHARD_SOURCE_DIR "/tests/golden")) {
        if (!file.path().filename().string().starts_with("search-")) continue;
        const nlohmann::json document = nlohmann::json::parse(std::ifstream(file.path()));
        EXPECT_EQ(violations("search", document), "") << file.path();
        ++files;
    }
    EXPECT_GT(files, 0);
}

TEST(Schema, AResolvedJobIsAJobFile) {
    for (std::uint64_t seed = 1; seed <= 12; ++seed) {
        const nlohmann::json job = nlohmann::json::parse(to_json(test::random_job(seed)).dump());
        EXPECT_EQ(violations("job", job), "") << seed;
    }
}

TEST(Schema, AnUnknownKeyIsAViolation) {
    nlohmann::json model = nlohmann::json::parse(find_in_catalogue("models", "gpt-tiny").text);
    model["hiden_size"] = 1;
    EXPECT_NE(violations("model", model), "");
}

}  // namespace
}  // namespace foreshard
