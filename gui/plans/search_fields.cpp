#include "gui/plans/search_fields.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/search/axes.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard::gui {

namespace {

/// Fields of a plan that are about its axes, in other words or in detail: they mean nothing to another plan.
constexpr std::array freed_details = {"layout",
                                      "decoder_first_pipeline_num_layers",
                                      "decoder_last_pipeline_num_layers",
                                      "account_for_embedding_in_pipeline_split",
                                      "account_for_loss_in_pipeline_split",
                                      "num_layers_per_virtual_pipeline_stage",
                                      "placement",
                                      "mesh",
                                      "use_distributed_optimizer"};

/// "max_memory_gib" of "--max-memory-gib".
std::string flagName(const std::string& flag) {
    std::string name = flag.substr(flag.starts_with("--") ? 2 : 0);
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
}

std::vector<std::string> freedNames() {
    std::vector<std::string> names(freed_details.begin(), freed_details.end());
    for (const SearchAxis& axis : search_axes()) {
        if (!axis.kept) names.push_back(axis.name);
    }
    return names;
}

PlanField axisField(std::string_view name, std::string_view label) {
    for (const SearchAxis& axis : search_axes()) {
        if (axis.name == name) return {axis.name, label, FieldKind::text, axis.help};
    }
    return {name, label, FieldKind::text, ""};
}

/// As fields are named: "gpu_idle_w" of "gpu_idle_W".
std::string operatingName(const char* key) {
    return flagName(operating_flag(key));
}

/// Figures of the cluster that objectives need.
FieldGroup operatingGroup() {
    static const std::array labels = {"$ a GPU hour", "Idle GPU, W",   "Busy GPU, W",   "Rest of node, W",
                                      "Node MTBF, h", "Checkpoint, s", "Storage, GB/s", "Restart, s"};
    static std::array<std::string, labels.size()> names;
    FieldGroup group{"Money, energy, failures", false, {}};
    visit_operating_figures([&](const char* key, auto, const char* help) {
        const std::size_t i = group.fields.size();
        names.at(i) = operatingName(key);
        group.fields.push_back({names.at(i), labels.at(i), FieldKind::text, help});
    });
    group.fields.push_back({"train_tokens", "Train tokens", FieldKind::text, "To train on, for time-to-train: 15e12"});
    return group;
}

std::vector<FieldGroup> makeGroups() {
    FieldGroup usual{"Constraints", true, {}};
    usual.fields = {
        {"gpus", "GPUs", FieldKind::text,
         "In place of the plan's: 64, 64,128 or 64..4096 (a node times powers of two); each size is searched"},
        {"gbs", "Batch", FieldKind::text,
         "Sequences a step, in place of the plan's: 256, 256,512 or 256..2048 (doubles)"},
        {"objective", "Best by", FieldKind::choice, "What is best; step time where nothing is chosen"},
        axisField("tp", "TP"),
        axisField("pp", "PP"),
        axisField("schedule", "Schedules"),
        axisField("recompute", "Recompute"),
        {"max_memory_gib", "Memory, GiB", FieldKind::text, "A plan may need so much of a GPU's memory"},
        {"space", "Space", FieldKind::choice,
         "default: what keeps numerics and batch, in the usual order of axes; full: all that the search can "
         "bound"},
        {"top", "Best plans", FieldKind::count, "So many of the fastest are simulated and listed"}};
    FieldGroup rest{"More axes", false, {}};
    rest.fields = {axisField("dp", "DP"),
                   axisField("cp", "CP"),
                   axisField("ep", "EP"),
                   axisField("etp", "Expert TP"),
                   axisField("vpp", "Chunks"),
                   axisField("balance", "Balance layers"),
                   axisField("mbs", "Micro-batch"),
                   axisField("sp", "Sequence parallel"),
                   axisField("zero", "ZeRO stage"),
                   axisField("data_parallel", "Scheme"),
                   axisField("recompute_method", "Recompute by"),
                   axisField("recompute_num_layers", "Layers"),
                   axisField("precision", "Precision"),
                   axisField("order", "Order of axes"),
                   axisField("overlap_grad_reduce", "Overlap reduce"),
                   axisField("overlap_param_gather", "Overlap gather"),
                   axisField("tp_comm_overlap", "Overlap TP"),
                   axisField("offload_optimizer", "Offload optimizer"),
                   axisField("offload_parameters", "Offload parameters"),
                   axisField("offload_activation_layers", "Offload layers")};
    return {usual, rest, operatingGroup()};
}

template <class Number>
std::optional<Number> numberOf(const std::string& text) {
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool whole_text = error == std::errc() && end == text.data() + text.size();
    return whole_text ? std::optional(value) : std::nullopt;
}

template <class Number>
Number positiveNumber(const char* flag, const std::string& text, const char* what) {
    const std::optional<Number> value = numberOf<Number>(text);
    if (!value || !(*value > 0)) throw InputError(flag, "", fmt::format("'{}' is no {}", text, what));
    return *value;
}

/// Whether it is one; the search knows what is out of range.
bool setOperatingFigure(const std::string& name, const std::string& text, OperatingFigures& figures) {
    bool found = false;
    visit_operating_figures([&](const char* key, auto member, const char*) {
        if (operatingName(key) != name) return;
        found = true;
        figures.*member = numberOf<double>(text);
        if (!(figures.*member)) throw InputError(operating_flag(key), "", fmt::format("'{}' is no number", text));
    });
    return found;
}

Objective objectiveOf(const std::string& text) {
    const std::optional<Objective> kind = parse_objective(text);
    if (kind) return *kind;
    throw InputError("--objective", "", fmt::format("'{}': valid are {}", text, fmt::join(objective_names(), ", ")));
}

void setText(const std::string& name, const std::string& text, SearchRequest& request, SizeTexts& sizes) {
    if (name == "gpus") {
        sizes.gpus = text;
    } else if (name == "gbs") {
        sizes.batches = text;
    } else if (name == "space") {
        request.space = text == "full" ? SpaceKind::full : SpaceKind::usual;
    } else if (name == "objective") {
        request.objective.kind = objectiveOf(text);
    } else if (name == "train_tokens") {
        request.objective.train_tokens = positiveNumber<double>("--train-tokens", text, "positive number of tokens");
    } else if (name == "top") {
        request.top = positiveNumber<int>("--top", text, "count of plans from 1 on");
    } else if (name == "max_memory_gib") {
        request.max_memory_gib = positiveNumber<double>("--max-memory-gib", text, "positive number of GiB");
    } else if (!setOperatingFigure(name, text, request.objective.operation)) {
        request.constraints[name] = text;
    }
}

}  // namespace

const std::vector<FieldGroup>& searchFieldGroups() {
    static const std::vector<FieldGroup> groups = makeGroups();
    return groups;
}

bool isSearchField(std::string_view name) {
    for (const FieldGroup& group : searchFieldGroups()) {
        for (const PlanField& field : group.fields) {
            if (field.name == name) return true;
        }
    }
    return false;
}

SweepRequest searchRequestOf(const JobRequest& edited, const Job* resolved, const SearchTexts& texts) {
    SearchRequest request;
    SizeTexts sizes;
    request.base = edited;
    for (const std::string& name : freedNames()) request.base = with_value(std::move(request.base), name, "");
    if (resolved != nullptr && !request.base.gpus) request.base.gpus = resolved->gpus;
    if (resolved != nullptr && !request.base.gbs) request.base.gbs = resolved->global_batch;
    for (const auto& [name, text] : texts) setText(name, text, request, sizes);
    // Texts that no job would make right are told before the search begins.
    SearchAxes(request).check_texts();
    return with_sizes(std::move(request), sizes);
}

std::string freedText(const JobRequest& edited) {
    std::string text;
    const std::vector<std::string> names = freedNames();
    for (const RequestValue& value : request_values(edited)) {
        if (std::find(names.begin(), names.end(), value.name) == names.end()) continue;
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", value.name, value.text);
    }
    return text;
}

FieldMessage searchMessageOf(const std::string& flag, const std::string& error) {
    const std::string name = flagName(flag);
    return {isSearchField(name) ? name : "", error};
}

}  // namespace foreshard::gui
