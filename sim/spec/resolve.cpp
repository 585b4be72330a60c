#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/prefixes.hpp"
#include "sim/spec/calibration.hpp"
#include "sim/spec/catalogue.hpp"
#include "sim/spec/job_request.hpp"
#include "sim/spec/job_request_fields.hpp"
#include "sim/spec/layout.hpp"
#include "sim/spec/resolve_options.hpp"
#include "sim/spec/schedule_kinds.hpp"
#include "sim/spec/text_file.hpp"

namespace foreshard {

namespace {

/// Builds the Job step by step; each step may read what the ones before have settled.
class Resolver {
public:
    explicit Resolver(const JobRequest& request) : request_(request) {}

    Job resolve() {
        read_times_and_schedule();
        read_specs();
        settle_stages();
        settle_schedule();
        settle_degrees();
        settle_batch();
        settle_layout();
        settle_recompute();
        settle_data_parallel(request_, job_);
        settle_precision();
        take_tf32();
        apply_calibration(job_);
        settle_rest();
        refuse_out_of_range(job_);
        return std::move(job_);
    }

private:
    template <class T>
    void assume(const char* name, const T& value, const std::string& why = "") {
        job_.assumptions.push_back(fmt::format("{} not given: {}{}{}", name, value, why.empty() ? "" : ", ", why));
    }

    /// What was asked for, or the default, which is then named.
    template <class T>
    T value_or_assume(const std::optional<T>& asked, const char* name, const T& otherwise,
                      const std::string& why = "") {
        if (asked) return *asked;
        assume(name, otherwise, why);
        return otherwise;
    }

    static const char* on_off(bool value) { return value ? "on" : "off"; }

    bool flag_or_assume(const std::optional<bool>& asked, const char* name, bool otherwise,
                        const std::string& why = "") {
        if (!asked) assume(name, on_off(otherwise), why);
        return asked.value_or(otherwise);
    }

    template <class Spec, class Load>
    static Spec load_or_take(const NameOr<Spec>& asked, Load load) {
        if (const auto* name = std::get_if<std::string>(&asked)) return load(*name);
        return std::get<Spec>(asked);
    }

    void read_times_and_schedule() {
        if (request_.stage_times) job_.stage_times = load_or_take(*request_.stage_times, load_stage_times);
        if (!request_.schedule_file) return;
        if (request_.schedule && !vocabulary_split(parse_schedule(*request_.schedule))) {
            throw InputError("--schedule", "",
                             "cannot be combined with --schedule-file, unless it is a vocabulary-parallel schedule and "
                             "says how the file's passes S and T depend on each other");
        }
        job_.schedule_file = load_or_take(*request_.schedule_file, [](const std::string& name) {
            return ScheduleFile{.name = name, .text = read_text_file(name)};
        });
        job_.schedule_file->vpp_given = request_.vpp.has_value();
    }

    /// Measured pass times need no model and no machine; these stand in for the memory figures.
    template <class Spec>
    NameOr<Spec> name_or_stand_in(const std::optional<NameOr<Spec>>& asked, const char* name, const char* stand_in) {
        if (asked) return *asked;
        if (!job_.stage_times) {
            const std::string kind = std::string(name) + "s";
            throw InputError(std::string("--") + name, "",
                             fmt::format("a {} is required: an id ('foreshard catalog {}') or a file", name, kind));
        }
        assume(name, stand_in, "it serves memory figures only");
        return std::string(stand_in);
    }

    void read_specs() {
        LoadedModel model = load_or_take(name_or_stand_in(request_.model, "model", "gpt-tiny"), load_model);
        apply_changes(model);
        job_.model = model.spec;
        job_.assumptions.insert(job_.assumptions.end(), model.notes.begin(), model.notes.end());
        if (request_.calibration) job_.calibration = load_or_take(*request_.calibration, load_calibration);
        job_.cluster = cluster();
        const std::string profile = default_software();
        if (!request_.software) assume("software", profile, profile == measured_software() ? "the calibration's" : "");
        job_.software = load_or_take(request_.software.value_or(profile), load_software);
        choose_numbers();
    }

    ClusterSpec cluster() {
        if (request_.cluster || !job_.calibration || !job_.calibration->cluster) {
            return load_or_take(name_or_stand_in(request_.cluster, "cluster", "dgx-a100-80g"), load_cluster);
        }
        assume("cluster", job_.calibration->cluster->id, "the calibration's");
        return *job_.calibration->cluster;
    }

    /// Profile that the calibration's ops were measured with; empty: none.
    std::string measured_software() const { return job_.calibration ? job_.calibration->machine.software : ""; }

    std::string default_software() const {
        const std::string measured = measured_software();
        return measured.empty() ? "megatron-core-te" : measured;
    }

    /// A profile that was fitted on several architectures brings numbers for each.
    void choose_numbers() {
        for (const auto& [architecture, numbers] : job_.software.by_architecture) {
            if (architecture != job_.cluster.device.architecture) continue;
            job_.software.numbers = numbers;
            job_.assumptions.push_back(fmt::format("profile {}: its numbers for {}", job_.software.id, architecture));
        }
        job_.software.by_architecture.clear();
    }

    void apply_changes(LoadedModel& model) {
        std::string changed;
        visit_model_fields([&](const char* name, auto member) {
            if (request_.*member) changed += (changed.empty() ? "" : ", ") + std::string(name);
        });
        if (changed.empty()) return;
        apply_model_changes(request_, model);
        model.spec.published_parameters.reset();
        model.notes.push_back(fmt::format("model {} with changed {}", model.spec.id, changed));
    }

    int given_stages() const { return job_.stage_times ? static_cast<int>(job_.stage_times->stages.size()) : 0; }

    void settle_stages() {
        job_.plan.pp = pipeline_ranks();
        job_.plan.vpp = chunks();
    }

    int pipeline_ranks() {
        if (request_.pp) return *request_.pp;
        if (request_.schedule_counts) {
            return value_or_assume(request_.pp, "pp", request_.schedule_counts->ranks, "lines of the schedule file");
        }
        const int chunks = stages_per_rank();
        if (given_stages() > 0 && chunks > 0 && given_stages() % chunks == 0) {
            return value_or_assume(request_.pp, "pp", given_stages() / chunks, "from the stage times");
        }
        return value_or_assume(request_.pp, "pp", 1);
    }

    /// Of the schedule that was asked for.
    const ScheduleTraits& asked_schedule() const {
        return traits_of(request_.schedule ? parse_schedule(*request_.schedule) : ScheduleKind::none);
    }

    /// Different stages on a rank: two directions hold two replicas of as many stages as there are ranks.
    int stages_per_rank() const {
        const ScheduleTraits& schedule = asked_schedule();
        if (schedule.placement == Placement::bidirectional) return 1;
        return request_.vpp.value_or(schedule.chunks);
    }

    int chunks() {
        if (request_.vpp) return *request_.vpp;
        const int pp = job_.plan.pp;
        const ScheduleTraits& schedule = asked_schedule();
        if (pp > 1 && schedule.placement == Placement::bidirectional) {
            return value_or_assume(request_.vpp, "vpp", 2, "two replicas of the stages");
        }
        if (request_.num_layers_per_virtual_pipeline_stage)
            return chunks_of(*request_.num_layers_per_virtual_pipeline_stage);
        if (pp > 0 && request_.schedule_counts) {
            return value_or_assume(request_.vpp, "vpp", std::max(1, request_.schedule_counts->stages / pp),
                                   "stages of the schedule file");
        }
        if (pp > 0 && given_stages() > 0 && given_stages() % pp == 0) {
            return value_or_assume(request_.vpp, "vpp", given_stages() / pp, "from the stage times");
        }
        const int of_layout = chunks_of_layout();
        if (of_layout > 1) return value_or_assume(request_.vpp, "vpp", of_layout, "from the layout");
        return value_or_assume(request_.vpp, "vpp", pp > 1 ? schedule.chunks : 1);
    }

    /// Megatron's --num-layers-per-virtual-pipeline-stage.
    int chunks_of(int layers_per_chunk) const {
        const std::int64_t layers_at_once = std::int64_t{1} * job_.plan.pp * layers_per_chunk;
        if (layers_at_once < 1 || job_.model.num_layers % layers_at_once != 0) {
            throw InputError("--num-layers-per-virtual-pipeline-stage", "",
                             fmt::format("{} layers cannot be divided over pp {} in chunks of {}",
                                         job_.model.num_layers, job_.plan.pp, layers_per_chunk));
        }
        return static_cast<int>(job_.model.num_layers / layers_at_once);
    }

    int chunks_of_layout() const {
        if (!request_.layout || job_.plan.pp < 1) return 0;
        const int stages = static_cast<int>(parse_layout(*request_.layout).size());
        return stages % job_.plan.pp == 0 ? stages / job_.plan.pp : 0;
    }

    void settle_schedule() {
        ParallelPlan& plan = job_.plan;
        ScheduleKind otherwise = plan.pp > 1 ? ScheduleKind::one_f_one_b : ScheduleKind::none;
        if (plan.vpp > 1) otherwise = ScheduleKind::interleaved;
        plan.schedule = request_.schedule ? parse_schedule(*request_.schedule) : otherwise;
        if (!request_.schedule && !job_.schedule_file) assume("schedule", to_string(plan.schedule));
        if (request_.placement) plan.placement = parse_placement(*request_.placement);
        plan.microbatch_group_size = request_.microbatch_group_size.value_or(0);
        plan.skew_steps = request_.skew_steps.value_or(0);
        const bool grouped = plan.schedule == ScheduleKind::interleaved && !job_.schedule_file;
        if (grouped && !request_.microbatch_group_size) assume("microbatch_group_size", plan.pp, "as many as pp");
    }

    void settle_degrees() {
        ParallelPlan& plan = job_.plan;
        plan.tp = value_or_assume(request_.tp, "tp", 1);
        plan.cp = value_or_assume(request_.cp, "cp", 1);
        plan.ep = value_or_assume(request_.ep, "ep", 1);
        plan.etp = request_.etp.value_or(0);
        if (job_.model.moe && !request_.etp) assume("etp", plan.tp, "equal to tp");
        plan.sequence_parallel = flag_or_assume(request_.sp, "sp", false);
        plan.order = value_or_assume<std::string>(request_.order, "order", "tp-cp-ep-dp-pp");
        const std::int64_t model_ranks = product({plan.tp, plan.pp, plan.cp});
        const std::int64_t needed = product({model_ranks, std::max(request_.dp.value_or(1), 1)});
        job_.gpus = value_or_assume(request_.gpus, "gpus", static_cast<int>(needed), "dp x tp x pp x cp");
        if (request_.dp) {
            plan.dp = *request_.dp;
        } else if (model_ranks > 0 && job_.gpus % model_ranks == 0) {
            plan.dp =
                value_or_assume(request_.dp, "dp", static_cast<int>(job_.gpus / model_ranks), "gpus / (tp x pp x cp)");
        }
    }

    /// Saturates, so that absurd degrees are refused by their range and never overflow.
    static std::int64_t product(const std::vector<std::int64_t>& factors) {
        constexpr std::int64_t most = std::numeric_limits<int>::max();
        std::int64_t result = 1;
        for (const std::int64_t factor : factors) result = std::clamp(result * factor, -most, most);
        return result;
    }

    void settle_batch() {
        job_.micro_batch = value_or_assume(request_.mbs, "mbs", std::int64_t{1});
        job_.seq_length = value_or_assume(request_.seq_length, "seq_length", job_.model.seq_length, "the model's");
        if (request_.gbs) {
            job_.global_batch = *request_.gbs;
            return;
        }
        const std::int64_t microbatches = request_.schedule_counts ? request_.schedule_counts->microbatches : 1;
        job_.global_batch = product({job_.micro_batch, std::max(job_.plan.dp, 1), microbatches});
        assume("gbs", job_.global_batch,
               request_.schedule_counts ? "micro-batches of the schedule file" : "mbs x dp, one micro-batch");
        if (job_.plan.pp > 1 && !request_.schedule_counts) {
            job_.warnings.emplace_back(
                "no global batch given: with one micro-batch the pipeline is mostly idle; "
                "set --gbs");
        }
    }

    void settle_layout() {
        ParallelPlan& plan = job_.plan;
        plan.layout = request_.layout.value_or("");
        if (!plan.layout.empty()) parse_layout(plan.layout);  // a malformed layout is bad input, not a broken rule
        plan.first_stage_layers = request_.decoder_first_pipeline_num_layers;
        plan.last_stage_layers = request_.decoder_last_pipeline_num_layers;
        plan.embedding_in_split = request_.account_for_embedding_in_pipeline_split.value_or(false);
        plan.loss_in_split = request_.account_for_loss_in_pipeline_split.value_or(false);
        plan.balance = request_.balance.value_or(false);
    }

    void settle_recompute() {
        ParallelPlan& plan = job_.plan;
        const auto mode = value_or_assume<std::string>(request_.recompute, "recompute", "none");
        plan.recompute = parse_recompute(mode);
        if (request_.recompute_method) plan.recompute_method = parse_recompute_method(*request_.recompute_method);
        plan.recompute_num_layers = request_.recompute_num_layers.value_or(0);
        if (plan.recompute != Recompute::full) return;
        if (!request_.recompute_method) assume("recompute_method", "uniform");
        plan.recompute_num_layers = value_or_assume(request_.recompute_num_layers, "recompute_num_layers", 1);
    }

    void settle_precision() {
        if (request_.precision) {
            job_.plan.precision = parse_precision_option(*request_.precision);
            return;
        }
        const bool as_measured = job_.calibration && job_.software.id == measured_software();
        const Precision wanted =
            as_measured ? measured_precision(job_.calibration->machine) : job_.software.structure.default_precision;
        std::string why = as_measured ? "as was calibrated" : "by profile " + job_.software.id;
        job_.plan.precision = wanted;
        for (const Precision precision : {wanted, Precision::fp16, Precision::fp32}) {
            if (!job_.cluster.device.peak[static_cast<std::size_t>(precision)]) continue;
            if (precision != wanted) why = fmt::format("{} has no {}", job_.cluster.device.id, to_string(wanted));
            job_.plan.precision = precision;
            break;
        }
        assume("precision", to_string(job_.plan.precision), why);
    }

    /// Of all jobs with the profile, whatever they run in: what compares formats reads the same peaks.
    void take_tf32() {
        auto& peaks = job_.cluster.device.peak;
        const auto& tf32 = peaks[static_cast<std::size_t>(Precision::tf32)];
        if (!job_.software.structure.fp32_products_in_tf32 || !tf32) return;
        peaks[static_cast<std::size_t>(Precision::fp32)] = tf32;
        if (job_.plan.precision != Precision::fp32) return;
        job_.assumptions.push_back(fmt::format("fp32: products run in TF32 ({:.4g} TFLOP/s), as profile {} has it",
                                               tf32->value / tera, job_.software.id));
    }

    void settle_rest() {
        const ProfileStructure& structure = job_.software.structure;
        const ParallelPlan& plan = job_.plan;
        const bool chunked = plan.schedule == ScheduleKind::interleaved && structure.overlap_p2p_chunked;
        // Runtimes of schedules with a split backward post messages ahead and wait for what they receive only.
        const bool split = !job_.schedule_file && traits_of(plan.schedule).split_backward;
        const std::string why = split ? "as the schedule's runtimes do" : "by profile " + job_.software.id;
        job_.plan.overlap_p2p =
            flag_or_assume(request_.overlap_p2p, "overlap_p2p", structure.overlap_p2p || chunked || split, why);
        job_.plan.contention = parse_contention(value_or_assume<std::string>(request_.contention, "contention", "off"));
        job_.plan.variability = parse_variability(request_);
        job_.plan.no_symmetry = request_.no_symmetry.value_or(false);
        job_.plan.tp_comm_overlap = request_.tp_comm_overlap.value_or(false);
    }

    const JobRequest& request_;
    Job job_;
};

}  // namespace

Job resolve(const JobRequest& request) {
    return Resolver(with_mesh(request)).resolve();
}

}  // namespace foreshard
