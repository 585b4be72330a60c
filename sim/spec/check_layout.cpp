#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/error.hpp"
#include "sim/spec/layout.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

using Rules = std::vector<BrokenRule>;

/// An uneven split with the extra layers in the middle, as people write it: 30 layers on 4 stages -> [7, 8, 8, 7].
std::vector<int> middle_heavy_split(int layers, int stages) {
    std::vector<int> counts(static_cast<std::size_t>(stages), layers / stages);
    const int extra = layers % stages;
    const int begin = (stages - extra) / 2;
    for (int i = begin; i < begin + extra; ++i) ++counts[static_cast<std::size_t>(i)];
    return counts;
}

std::string division_advice(const Job& job, int slots) {
    const ParallelPlan& plan = job.plan;
    const int chunks = stages_per_rank(job);
    std::string advice;
    if (chunks > 1 && slots % plan.pp == 0) {
        advice = fmt::format("valid vpp for pp={}: {}; ", plan.pp, join(divisors(slots / plan.pp)));
    }
    std::vector<int> pps;
    for (const int d : divisors(slots)) {
        if (d % chunks == 0) pps.push_back(d / chunks);
    }
    advice += fmt::format("valid pp for vpp={}: {}", plan.vpp, pps.empty() ? "none" : join(pps));
    const bool ends_count = plan.embedding_in_split || plan.loss_in_split;
    if (!ends_count && (slots + 2) % stage_count(job) == 0) {
        advice += "; or --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split";
    }
    const std::vector<int> split = middle_heavy_split(job.model.num_layers, stage_count(job));
    advice += fmt::format("; or {} layers", nearest_multiples(job.model.num_layers, stage_count(job)));
    if (split.size() <= 64) advice += fmt::format("; or an uneven split such as --layout {}", fmt::join(split, ","));
    return advice;
}

void check_division(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    const int extra = (plan.embedding_in_split ? 1 : 0) + (plan.loss_in_split ? 1 : 0);
    const int slots = job.model.num_layers + extra;
    const int stages = stage_count(job);
    if (slots % stages == 0 && slots / stages >= std::min(extra, 1)) return;
    const std::string what =
        extra == 0 ? fmt::format("{} layers", slots)
                   : fmt::format("{} layers + {} for embedding and loss (= {})", job.model.num_layers, extra, slots);
    const std::string where = stages_per_rank(job) > 1
                                  ? fmt::format("{} stages x {} chunks (= {})", plan.pp, plan.vpp, stages)
                                  : fmt::format("{} pipeline stages", stages);
    rules.push_back({"num_layers, pp, vpp",
                     fmt::format("{} cannot be divided over {}: {} mod {} = {}; layers are never dropped", what, where,
                                 slots, stages, slots % stages),
                     division_advice(job, slots)});
}

void check_ends(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    const int given = (plan.first_stage_layers ? 1 : 0) + (plan.last_stage_layers ? 1 : 0);
    const int fixed = plan.first_stage_layers.value_or(0) + plan.last_stage_layers.value_or(0);
    const int rest = job.model.num_layers - fixed;
    const int ranks = plan.pp - given;
    const std::string fields = "num_layers, pp, decoder_first_pipeline_num_layers, decoder_last_pipeline_num_layers";
    if (plan.embedding_in_split || plan.loss_in_split) {
        rules.push_back({fields, "first/last stage counts cannot be combined with embedding or loss in the split",
                         "use one of the two, or --layout"});
    }
    const bool divides = ranks > 0 ? rest >= 0 && rest % ranks == 0 : rest == 0;
    if (!divides) {
        rules.push_back({fields,
                         fmt::format("{} layers less {} on the given end stages leave {}, which {} other stages "
                                     "cannot share evenly",
                                     job.model.num_layers, fixed, rest, ranks),
                         ranks > 0 ? fmt::format("the given counts should sum to {} or {}",
                                                 job.model.num_layers - rest / ranks * ranks,
                                                 job.model.num_layers - (rest / ranks + 1) * ranks)
                                   : fmt::format("the given counts must sum to {}", job.model.num_layers)});
    }
}

int mtp_total(const std::vector<StageContents>& stages) {
    return std::accumulate(stages.begin(), stages.end(), 0, [](int n, const auto& s) { return n + s.mtp_layers; });
}

void check_explicit_ends(const std::vector<StageContents>& stages, Rules& rules) {
    const auto embeddings = std::count_if(stages.begin(), stages.end(), [](const auto& s) { return s.embedding; });
    const auto losses = std::count_if(stages.begin(), stages.end(), [](const auto& s) { return s.loss; });
    if (embeddings != 1 || !stages.front().embedding) {
        rules.push_back({"layout", fmt::format("E must stand once, in the first stage (found {})", embeddings), ""});
    }
    if (losses != 1 || !stages.back().loss) {
        rules.push_back({"layout", fmt::format("L must stand once, in the last stage (found {})", losses), ""});
    }
}

void check_explicit(const Job& job, Rules& rules) {
    const std::vector<StageContents> stages = parse_layout(job.plan.layout);
    const int want = stage_count(job);
    const int have = static_cast<int>(stages.size());
    const bool per_rank_list =
        stages_per_rank(job) > 1 && have == job.plan.pp && job.plan.layout.find('|') == std::string::npos;
    if (have != want && !per_rank_list) {
        rules.push_back(
            {"layout, pp, vpp",
             fmt::format("the layout has {} stages, but pp {} x vpp {} = {}", have, job.plan.pp, job.plan.vpp, want),
             have % job.plan.pp == 0 ? fmt::format("vpp {}", have / job.plan.pp)
                                     : fmt::format("pp {} with vpp 1", have)});
    }
    const int layers =
        std::accumulate(stages.begin(), stages.end(), 0, [](int n, const auto& s) { return n + s.layers; });
    if (layers != job.model.num_layers) {
        rules.push_back(
            {"layout, num_layers",
             fmt::format("the layout has {} transformer layers, the model {}", layers, job.model.num_layers),
             fmt::format("{} layers in all", job.model.num_layers)});
    }
    const int mtp = mtp_total(stages);
    if (mtp != 0 && mtp != job.model.mtp_layers) {
        rules.push_back({"layout, mtp_num_layers",
                         fmt::format("the layout has {} multi-token-prediction layers (m), the model {}", mtp,
                                     job.model.mtp_layers),
                         fmt::format("{} m, or --mtp-num-layers {}", job.model.mtp_layers, mtp)});
    }
    check_explicit_ends(stages, rules);
}

/// The search chooses every stage; it starts from the even split and leaves a layer between the ends.
void check_balance(const Job& job, Rules& rules) {
    const ParallelPlan& plan = job.plan;
    if (job.stage_times) {
        rules.push_back(
            {"balance, stage_times", "stage times are given, so there is nothing to balance", "leave one of them out"});
    }
    if (plan.first_stage_layers || plan.last_stage_layers || plan.embedding_in_split || plan.loss_in_split) {
        rules.push_back({"balance",
                         "an automatic split cannot be combined with first/last stage counts or with embedding or loss "
                         "in the split",
                         "give one of them"});
    }
    if (job.model.num_layers < stage_count(job)) {
        rules.push_back(
            {"balance, num_layers, pp, vpp",
             fmt::format("{} layers cannot be spread over {} stages", job.model.num_layers, stage_count(job)),
             fmt::format("at most {} stages", job.model.num_layers)});
    }
}

}  // namespace

std::vector<BrokenRule> check_layout(const Job& job) {
    Rules rules;
    const ParallelPlan& plan = job.plan;
    if (plan.pp < 1 || plan.vpp < 1 || job.model.num_layers < 1) return rules;  // said by check(job)
    const bool ends = plan.first_stage_layers || plan.last_stage_layers;
    if (!plan.layout.empty()) {
        if (plan.balance) {
            rules.push_back({"layout, balance", "an explicit layout leaves nothing to balance", "give one of them"});
        }
        if (ends || plan.embedding_in_split || plan.loss_in_split) {
            rules.push_back({"layout",
                             "an explicit layout cannot be combined with first/last stage counts or with "
                             "embedding or loss in the split",
                             "give one of them"});
        }
        check_explicit(job, rules);
    } else if (plan.balance) {
        check_balance(job, rules);
    } else if (job.stage_times) {
        return rules;  // layers serve memory only and are spread, zero allowed
    } else if (ends) {
        check_ends(job, rules);
    } else {
        check_division(job, rules);
    }
    return rules;
}

}  // namespace foreshard
