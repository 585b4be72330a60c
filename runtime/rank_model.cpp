#include "runtime/rank_model.hpp"

#include "runtime/rank_work.hpp"

namespace foreshard::runtime {

RankModel::RankModel(const Job& job, const TaskGraph& graph, int rank, Device& device, Transport& transport,
                     ModelOptions options)
    : work_(std::make_unique<RankWork>(job, graph, rank, device, transport, std::move(options))) {}
RankModel::~RankModel() = default;

void RankModel::record_ops(OpSpans* into) {
    work_->record_ops(into);
}
void RankModel::begin_step(int step) {
    work_->begin_step(step);
}
PassMemory RankModel::run(const Work& work, int microbatch) {
    return work_->run(work, microbatch);
}
std::span<std::byte> RankModel::incoming(int stage, int microbatch, Direction direction) {
    return work_->incoming({stage, microbatch, direction});
}
void RankModel::arrived(int stage, int microbatch, Direction direction) {
    work_->arrived({stage, microbatch, direction});
}
Elements RankModel::outgoing(int stage, int microbatch, Direction direction) {
    return work_->outgoing({stage, microbatch, direction});
}
void RankModel::sent(int stage, int microbatch, Direction direction) {
    work_->sent({stage, microbatch, direction});
}
Elements RankModel::parameters(int stage) {
    ParameterStore& held = work_->store(stage);
    return held.elements(held.group(0).weights);
}
Elements RankModel::gradients(int stage) {
    ParameterStore& held = work_->store(stage);
    return held.elements(held.group(0).gradients);
}
Elements RankModel::shard(int stage, int group) {
    ParameterStore& held = work_->store(stage);
    return held.elements(held.group(group).weight_shard);
}
Elements RankModel::begin_gather(int stage, int group) {
    return work_->store(stage).begin_gather(group);
}
void RankModel::end_gather(int stage, int group) {
    work_->store(stage).end_gather(group);
}
void RankModel::end_use(int stage, int group) {
    work_->store(stage).end_use(group);
}
Elements RankModel::detach_gradients(int stage, int group) {
    return work_->store(stage).detach_gradients(group);
}
Elements RankModel::whole_gradients(int stage, int group) {
    return work_->store(stage).whole_gradients(group);
}
Device& RankModel::device() {
    return work_->context().device;
}
Elements RankModel::gradient_shard(int stage, int group) {
    ParameterStore& held = work_->store(stage);
    return held.elements(held.group(group).gradient_shard);
}
void RankModel::end_reduce(int stage, int group) {
    work_->store(stage).end_reduce(group);
}
Elements RankModel::tied_gradient() {
    ParameterStore* held = work_->tied_store();
    if (held == nullptr) return {};
    return held->table_gradient();
}
void RankModel::finish_gradients() {
    work_->finish_gradients();
}
void RankModel::optimizer_step() {
    work_->optimizer_step();
}
std::int64_t RankModel::updated_elements() const {
    return work_->updated_elements();
}
double RankModel::loss() const {
    return work_->loss();
}
std::vector<double> RankModel::losses() const {
    return work_->losses();
}
MemoryPool& RankModel::memory() {
    return work_->pool();
}
std::vector<RankModel::Parameter> RankModel::described_parameters() {
    return work_->described_parameters();
}

}  // namespace foreshard::runtime
