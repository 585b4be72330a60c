#include "tests/support/runs.hpp"

#include <random>

#include "sim/engine/evaluate.hpp"
#include "tests/support/jobs.hpp"

namespace foreshard::test {

Run run_of(const Job& job, const std::string& name) {
    const Evaluation e = evaluate(job);
    return make_run(name, e.job, e.graph, e.timeline, e.report);
}

Run any_run(std::uint64_t seed) {
    return run_of(any_plan(seed), "plan " + std::to_string(seed));
}

SpanTable random_spans(std::uint64_t seed, int rows, int spans_per_row) {
    std::mt19937_64 random(seed);
    const auto draw = [&](int below) { return static_cast<int>(random() % static_cast<std::uint64_t>(below)); };
    SpanTable table;
    table.names = {"x"};
    for (int r = 0; r < rows; ++r) {
        table.ranks.push_back({r, r, -1, "PP" + std::to_string(r)});
        SpanRow row{r, SpanLane::compute, 0, table.size(), 0, "compute"};
        Picoseconds at = draw(20);
        for (int s = 0; s < spans_per_row; ++s) {
            at += draw(3) == 0 ? draw(30) : 0;
            table.start.push_back(at);
            at += draw(5) == 0 ? 0 : draw(40);
            table.end.push_back(at);
            table.kind.push_back(static_cast<SpanKind>(draw(span_kind_count)));
            table.stage.push_back(static_cast<std::int16_t>(r));
            table.chunk.push_back(0);
            table.step.push_back(0);
            table.microbatch.push_back(s);
            table.task.push_back(static_cast<std::int32_t>(table.task.size()));
            table.name.push_back(0);
        }
        row.last = table.size();
        table.rows.push_back(row);
        table.finish = std::max(table.finish, at);
    }
    table.window_end = table.finish;
    return table;
}

}  // namespace foreshard::test
