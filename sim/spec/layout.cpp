#include "sim/spec/layout.hpp"

#include <algorithm>
#include <cassert>
#include <numeric>

#include <fmt/format.h>

#include "sim/error.hpp"

namespace foreshard {

namespace {

constexpr std::size_t layout_limit = 1 << 16;

/// Recursive descent over `item*n` with item = letter | '|' | '(' items ')'. Commas and blanks only separate.
class LayoutExpander {
public:
    explicit LayoutExpander(const std::string& text) : text_(text) {}

    std::string expand() {
        std::string out = items();
        if (at_ < text_.size()) fail("unmatched ')'");
        return out;
    }

private:
    [[noreturn]] void fail(const std::string& reason) const {
        throw InputError("--layout", fmt::format("character {} of '{}'", at_ + 1, text_), reason);
    }

    std::string items() {
        std::string out;
        while (at_ < text_.size() && text_[at_] != ')') {
            out += repeated(item());
            if (out.size() > layout_limit) fail("expands to more than 65536 layers");
        }
        return out;
    }

    std::string item() {
        const char c = text_[at_];
        if (c == '(') return group();
        ++at_;
        if (c == ',' || c == ' ') return "";
        if (c == 'E' || c == 't' || c == 'm' || c == 'L' || c == '|') return {c};
        --at_;
        fail(
            fmt::format("unknown letter '{}'; valid: E (embedding), t (transformer layer), m (multi-token prediction), "
                        "L (loss), |, (...)*n, or a list such as 7,8,8,7",
                        c));
    }

    std::string group() {
        ++at_;
        if (++depth_ > 64) fail("groups are nested deeper than 64");
        std::string inner = items();
        if (at_ >= text_.size()) fail("missing ')'");
        ++at_;
        --depth_;
        return inner;
    }

    std::string repeated(const std::string& unit) {
        if (at_ >= text_.size() || text_[at_] != '*') return unit;
        ++at_;
        const std::size_t begin = at_;
        std::size_t count = 0;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && count < layout_limit) {
            count = count * 10 + static_cast<std::size_t>(text_[at_++] - '0');
        }
        if (at_ == begin) fail("'*' needs a count");
        if (count * unit.size() > layout_limit) fail("expands to more than 65536 layers");
        std::string out;
        for (std::size_t i = 0; i < count; ++i) out += unit;
        return out;
    }

    const std::string& text_;
    std::size_t at_ = 0;
    int depth_ = 0;
};

bool is_list(const std::string& text) {
    return text.find_first_not_of("0123456789, []") == std::string::npos;
}

void number_layers(std::vector<StageContents>& stages) {
    int next = 0;
    for (StageContents& stage : stages) {
        stage.first_layer = next;
        next += stage.layers;
    }
}

std::vector<StageContents> from_counts(const std::vector<int>& layers) {
    std::vector<StageContents> stages(layers.size());
    for (std::size_t i = 0; i < layers.size(); ++i) stages[i].layers = layers[i];
    stages.front().embedding = true;
    stages.back().loss = true;
    number_layers(stages);
    return stages;
}

std::vector<int> parse_counts(const std::string& text) {
    std::vector<int> counts;
    std::string digits;
    const auto flush = [&] {
        if (digits.empty()) return;
        if (digits.size() > 6) throw InputError("--layout", "", "'" + digits + "' layers in a stage is out of range");
        counts.push_back(std::stoi(digits));
        digits.clear();
    };
    for (const char c : text) {
        if (c >= '0' && c <= '9') {
            digits += c;
        } else {
            flush();
        }
    }
    flush();
    if (counts.empty()) throw InputError("--layout", "", "the list of layers per stage is empty");
    return counts;
}

StageContents parse_stage(const std::string& letters) {
    StageContents stage;
    for (const char c : letters) {
        if (stage.loss) throw InputError("--layout", "", fmt::format("'{}' stands after L in stage '{}'", c, letters));
        switch (c) {
            case 'E':
                if (stage.embedding || stage.layers > 0) {
                    throw InputError("--layout", "", "E must stand once, first in its stage '" + letters + "'");
                }
                stage.embedding = true;
                break;
            case 't':
                if (stage.mtp_layers > 0)
                    throw InputError("--layout", "", "t stands after m in stage '" + letters + "'");
                ++stage.layers;
                break;
            case 'm':
                ++stage.mtp_layers;
                break;
            default:
                stage.loss = true;
                break;
        }
    }
    return stage;
}

/// A list with one entry a rank, while each rank holds v chunks: spread over the chunks, earlier ones larger. Every
/// second chunk runs back over the ranks in a V or a snake.
std::vector<int> spread_over_chunks(const std::vector<int>& per_rank, int chunks, Placement placement) {
    const int ranks = static_cast<int>(per_rank.size());
    std::vector<int> stages(per_rank.size() * static_cast<std::size_t>(chunks));
    for (int r = 0; r < ranks; ++r) {
        const std::vector<StageContents> part = even_layout(per_rank[static_cast<std::size_t>(r)], chunks);
        for (int c = 0; c < chunks; ++c) {
            const bool back = (placement == Placement::v || placement == Placement::snake) && c % 2 == 1;
            const int stage = c * ranks + (back ? ranks - 1 - r : r);
            stages[static_cast<std::size_t>(stage)] = part[static_cast<std::size_t>(c)].layers;
        }
    }
    return stages;
}

std::vector<StageContents> explicit_layout(const Job& job) {
    std::vector<StageContents> stages = parse_layout(job.plan.layout);
    const ParallelPlan& plan = job.plan;
    const int chunks = stages_per_rank(job);
    if (!is_list(plan.layout) || chunks == 1 || static_cast<int>(stages.size()) != plan.pp) return stages;
    std::vector<int> counts;
    counts.reserve(stages.size());
    for (const StageContents& stage : stages) counts.push_back(stage.layers);
    return from_counts(spread_over_chunks(counts, chunks, placement_of(plan)));
}

std::vector<StageContents> ends_layout(const Job& job) {
    const ParallelPlan& plan = job.plan;
    const int first = plan.first_stage_layers.value_or(-1);
    const int last = plan.last_stage_layers.value_or(-1);
    const int fixed = (first >= 0 ? first : 0) + (last >= 0 ? last : 0);
    const int free_ranks = plan.pp - (first >= 0 ? 1 : 0) - (last >= 0 ? 1 : 0);
    const int each = free_ranks > 0 ? (job.model.num_layers - fixed) / free_ranks : 0;
    std::vector<int> ranks(static_cast<std::size_t>(plan.pp), each);
    if (first >= 0) ranks.front() = first;
    if (last >= 0) ranks.back() = last;
    return from_counts(spread_over_chunks(ranks, stages_per_rank(job), placement_of(plan)));
}

std::vector<StageContents> divided_layout(const Job& job) {
    const ParallelPlan& plan = job.plan;
    const int stages = stage_count(job);
    const int extra = (plan.embedding_in_split ? 1 : 0) + (plan.loss_in_split ? 1 : 0);
    std::vector<int> counts(static_cast<std::size_t>(stages), (job.model.num_layers + extra) / stages);
    if (plan.embedding_in_split) --counts.front();
    if (plan.loss_in_split) --counts.back();
    return from_counts(counts);
}

}  // namespace

std::vector<StageContents> parse_layout(const std::string& text) {
    if (is_list(text)) return from_counts(parse_counts(text));
    const std::string letters = LayoutExpander(text).expand();
    std::vector<StageContents> stages;
    std::size_t begin = 0;
    while (true) {
        const std::size_t bar = letters.find('|', begin);
        stages.push_back(parse_stage(letters.substr(begin, bar - begin)));
        if (bar == std::string::npos) break;
        begin = bar + 1;
    }
    number_layers(stages);
    return stages;
}

std::string to_string(const std::vector<StageContents>& stages) {
    std::string out;
    for (const StageContents& stage : stages) {
        if (&stage != stages.data()) out += '|';
        if (stage.embedding) out += 'E';
        out.append(static_cast<std::size_t>(stage.layers), 't');
        out.append(static_cast<std::size_t>(stage.mtp_layers), 'm');
        if (stage.loss) out += 'L';
    }
    return out;
}

std::vector<StageContents> even_layout(int layers, int stages) {
    assert(stages > 0);
    std::vector<int> counts(static_cast<std::size_t>(stages), layers / stages);
    for (int i = 0; i < layers % stages; ++i) ++counts[static_cast<std::size_t>(i)];
    return from_counts(counts);
}

int stage_count(const Job& job) {
    if (placement_of(job.plan) == Placement::bidirectional) return job.plan.pp;
    return job.plan.pp * job.plan.vpp;
}

int stages_per_rank(const Job& job) {
    return stage_count(job) / job.plan.pp;
}

std::vector<StageContents> stage_layout(const Job& job) {
    std::vector<StageContents> stages;
    if (!job.plan.layout.empty()) {
        stages = explicit_layout(job);
    } else if (job.stage_times || job.plan.balance) {
        stages = even_layout(job.model.num_layers, stage_count(job));
    } else if (job.plan.first_stage_layers || job.plan.last_stage_layers) {
        stages = ends_layout(job);
    } else {
        stages = divided_layout(job);
    }
    const bool placed =
        std::any_of(stages.begin(), stages.end(), [](const StageContents& s) { return s.mtp_layers > 0; });
    if (!placed) stages.back().mtp_layers = job.model.mtp_layers;
    return stages;
}

}  // namespace foreshard
