#include "tests/gui/view_runs.hpp"

#include <map>

#include "sim/engine/evaluate.hpp"
#include "sim/spec/catalogue.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard::gui::test {

Run runOf(const std::string& name, const JobRequest& request) {
    const Evaluation e = evaluate(foreshard::test::valid_job(request));
    return make_run(name, e.job, e.graph, e.timeline, e.report);
}

const Run& catalogueRun(const std::string& plan) {
    static std::map<std::string, Run> runs;
    const auto known = runs.find(plan);
    return known != runs.end() ? known->second : runs.emplace(plan, runOf(plan, load_job_request(plan))).first->second;
}

const Run& runThatDoesNotFit() {
    static const Run run = [] {
        JobRequest request = load_job_request("gpt3-175b-selene-64");
        request.recompute = "none";
        return runOf("no recomputation", request);
    }();
    return run;
}

}  // namespace foreshard::gui::test
