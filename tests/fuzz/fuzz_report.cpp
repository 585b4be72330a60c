#include <numeric>

#include "sim/result/compare.hpp"
#include "sim/result/waterfall.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "traces/read_report.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace foreshard;
    return fuzz::run(data, size, [](const std::string& text) {
        const ReadReport report = parse_report("report.json", text);
        mismatches(report, report.figures);
        const Run run = run_of(report);
        for (const RankAccount& account : run.accounts) {
            fuzz::require(std::accumulate(account.begin(), account.end(), Picoseconds{0}) == run.step_time,
                          "accounts sum up");
        }
        compare(run, run);
        if (!run.accounts.empty()) waterfall(run, run);
    });
}
