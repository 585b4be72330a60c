#include "tests/fuzz/fuzz.hpp"
#include "traces/file_kind.hpp"
#include "traces/read_search.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace foreshard;
    return fuzz::run(data, size, [](const std::string& text) {
        kind_of_text("search.json", text);
        const ReadSearch search = parse_search("search.json", text);
        for (const std::size_t plan : search.pareto) {
            fuzz::require(plan < search.plans.size(), "plans of the front are there");
            fuzz::require(search.plans[plan].fits && search.plans[plan].infeasible.empty(), "plans of the front fit");
        }
    });
}
