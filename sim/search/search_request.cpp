#include "sim/search/search_request.hpp"

#include <array>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard {

namespace {

struct UnsearchedOption {
    const char* name;
    const char* advice;
};

constexpr const char* chooses_layout = "the search chooses the layers of every stage";
constexpr const char* later = "search without it, then simulate the plan that was found with it";

constexpr std::array<UnsearchedOption, 18> unsearched_options = {{
    {"stage_times", "given pass times belong to one plan"},
    {"schedule_file", "a file of actions belongs to one plan"},
    {"layout", chooses_layout},
    {"decoder_first_pipeline_num_layers", chooses_layout},
    {"decoder_last_pipeline_num_layers", chooses_layout},
    {"account_for_embedding_in_pipeline_split", chooses_layout},
    {"account_for_loss_in_pipeline_split", chooses_layout},
    {"num_layers_per_virtual_pipeline_stage", "the search chooses the chunks: --vpp"},
    {"placement", "the schedule says where stages lie"},
    {"mesh", "give --tp, --pp, --cp, --dp as lists, and --order"},
    {"use_distributed_optimizer", "use --zero 1"},
    {"contention", later},
    {"speed_factor", later},
    {"jitter_pct", later},
    {"link_factor", later},
    {"seed", later},
    {"runs", later},
    {"no_symmetry", later},
}};

bool asks_for_nothing(const std::string& name, const std::string& value) {
    return (name == "contention" && value == "off") || value == "false";
}

}  // namespace

const std::vector<SearchAxis>& search_axes() {
    static const std::vector<SearchAxis> axes = {
        {"tp", "Tensor-parallel sizes: 8, 1,2,4 or 1..8 (default all divisors)"},
        {"cp", "Context-parallel sizes (default all divisors)"},
        {"ep", "Expert-parallel sizes (default all divisors)"},
        {"etp", "Tensor-parallel sizes of experts (default 1 and tp)"},
        {"pp", "Pipeline ranks (default all divisors)"},
        {"dp", "Data-parallel sizes (default what the others leave)"},
        {"vpp", "Model chunks a pipeline rank (default what layers and schedule admit)"},
        {"balance",
         "Layers of stages by what the ends add to their ranks (on), or as even as can be (off) (default both)"},
        {"mbs", "Sequences a micro-batch (default all divisors up to 64)"},
        {"schedule", "Pipeline schedules (default 1f1b, interleaved-1f1b and zb-v; full: all that keep the numerics)"},
        {"recompute",
         "none, selective, full (every layer by itself), partial (some layers) (default all that change something)"},
        {"recompute_method", "Of full and partial recomputation: block, uniform (default block; full: both)"},
        {"recompute_num_layers",
         "Layers of a stage (block) or at a time (uniform) (default powers of two and quarters of a stage)"},
        {"zero", "ZeRO stages (default 0 and 1; full: 0 to 3)"},
        {"data_parallel", "ddp, fsdp1, fsdp2 (default ddp; full: ddp and fsdp2)"},
        {"sp", "Sequence parallelism: on, off (default both)"},
        {"precision", "Number formats: bf16,fp8 (default the job's; full: and those below 16 bits)", true},
        {"order", "Orders of axes: tp-cp-ep-dp-pp,tp-cp-ep-pp-dp (default the job's; full: these two)", true},
        {"overlap_grad_reduce", "Reductions under backward: on, off (default the job's; full: both)", true},
        {"overlap_param_gather", "Gathers of ZeRO-1 under forward: on, off (default the job's; full: both)", true},
        {"tp_comm_overlap", "Sequence parallelism's collectives under GEMMs: on, off (default the job's; full: both)",
         true},
        {"offload_optimizer", "Optimizer on the host: on, off (default the job's; full: both)", true},
        {"offload_parameters", "Sharded parameters on the host: on, off (default the job's; full: both)", true},
        {"offload_activation_layers",
         "Layers of every stage whose saved tensors wait on the host (default the job's; full: none, half, all)", true},
    };
    return axes;
}

void refuse_unsearched(const JobRequest& base) {
    for (const UnsearchedOption& option : unsearched_options) {
        const std::string value = request_value(base, option.name);
        if (value.empty() || asks_for_nothing(option.name, value)) continue;
        std::string flag = std::string("--") + option.name;
        for (char& c : flag) c = c == '_' ? '-' : c;
        throw InputError(flag, "", fmt::format("is not searched over: {}", option.advice));
    }
    for (const SearchAxis& axis : search_axes()) {
        if (axis.kept || request_value(base, axis.name).empty()) continue;
        throw InputError("--" + axis.name, "", "is an axis of the search: give it as a constraint");
    }
}

}  // namespace foreshard
