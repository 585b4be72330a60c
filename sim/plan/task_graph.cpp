#include "sim/plan/task_graph.hpp"

#include <fmt/format.h>

#include "sim/plan/op_graph.hpp"
#include "sim/plan/parameters.hpp"

namespace foreshard {

std::string_view to_string(Lane lane) {
    switch (lane) {
        case Lane::compute:
            return "compute";
        case Lane::send_forward:
            return "send activation";
        case Lane::recv_forward:
            return "receive activation";
        case Lane::send_backward:
            return "send gradient";
        case Lane::recv_backward:
            return "receive gradient";
        case Lane::dp:
            return "data parallel";
        case Lane::dp_replica:
            return "data parallel, between groups";
        case Lane::embedding:
            return "tied embedding";
        case Lane::vocabulary:
            return "vocabulary";
        case Lane::offload:
            return "offload to host";
        case Lane::reload:
            return "reload from host";
    }
    return "";
}

std::vector<Unit> stage_units(const StageOps& stage) {
    std::vector<Unit> units;
    for (std::size_t b = 0; b < stage.blocks.size(); ++b) {
        for (int r = 0; r < stage.blocks[b].repeat; ++r) units.push_back({static_cast<int>(b), r});
    }
    return units;
}

std::vector<ByteCount> leaving_bytes(const StageOps& stage, int layers) {
    std::vector<ByteCount> bytes;
    for (const Unit& unit : stage_units(stage)) {
        const OpBlock& block = stage.blocks[static_cast<std::size_t>(unit.block)];
        const bool leaves = block.kind == BlockKind::layer && layers-- > 0;
        bytes.push_back(leaves ? block.saved : 0);
    }
    return bytes;
}

bool is_lookup(const TaskGraph& graph, const Task& task) {
    if (task.kind != TaskKind::pass || !is_vocabulary(task.pass)) return false;
    const Work& work = graph.works[static_cast<std::size_t>(task.work)];
    return work.first_unit == 0 && work.units == 1;
}

std::string_view to_string(VocabularyUse use) {
    switch (use) {
        case VocabularyUse::none:
            break;
        case VocabularyUse::hidden_state:
            return "hidden state";
        case VocabularyUse::maximum:
            return "softmax maximum";
        case VocabularyUse::target:
            return "target logit";
        case VocabularyUse::sum:
            return "softmax sum";
        case VocabularyUse::output_gradient:
            return "output layer's input gradient";
        case VocabularyUse::embedding:
            return "embedding";
        case VocabularyUse::embedding_gradient:
            return "embedding gradient";
    }
    return "";
}

std::string task_name(const TaskGraph& graph, std::int32_t id) {
    const Task& task = graph.tasks[static_cast<std::size_t>(id)];
    std::string action = fmt::format("{}{}{}", task.stage, letter(task.pass), task.microbatch);
    switch (task.kind) {
        case TaskKind::pass:
            return is_lookup(graph, task) ? "lookup " + action : action;
        case TaskKind::send:
            return "send " + action;
        case TaskKind::recv:
            return "receive " + action;
        case TaskKind::grad_reduce:
            if (task.microbatch >= 0) return "reduce " + action;
            return task.stage < 0 ? "gradient reduction" : fmt::format("gradient reduction stage {}", task.stage);
        case TaskKind::embedding_reduce:
            return "tied embedding reduction";
        case TaskKind::optimizer:
            return "optimizer";
        case TaskKind::param_gather:
            return task.microbatch < 0 ? fmt::format("parameter gather stage {}", task.stage) : "gather " + action;
        case TaskKind::vocabulary:
            return fmt::format("vocabulary {} ({}) of micro-batch {}",
                               to_string(graph
                                             .comm_classes[static_cast<std::size_t>(
                                                 graph.comms[static_cast<std::size_t>(task.comm)].comm_class)]
                                             .kind),
                               to_string(task.use), task.microbatch);
        case TaskKind::offload:
            return "offload of " + action;
        case TaskKind::reload:
            return "reload for " + action;
        case TaskKind::step_end:
            return "step end";
    }
    return "";
}

Bytes pipeline_message(const Job& job) {
    const OpShapes shapes = op_shapes(job);
    const bool scattered = job.plan.sequence_parallel || job.software.structure.scatter_gather_p2p;
    const double full = static_cast<double>(shapes.element) * static_cast<double>(shapes.tokens * shapes.hidden);
    return Bytes(scattered ? full / job.plan.tp : full);
}

double embedding_gradient_bytes(const Job& job) {
    const std::int64_t elements = vocabulary_rows(job) * job.model.hidden;
    return static_cast<double>(elements) * gradient_bytes(job);
}

}  // namespace foreshard
