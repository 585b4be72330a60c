#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "sim/result/text.hpp"
#include "sim/result/text_format.hpp"

namespace foreshard {

namespace {

std::string account_lines(const RankReport& rank, double step_ms) {
    std::string text = fmt::format("  pp rank {} ({} layers, stages", rank.pp_rank, rank.layers);
    for (const int stage : rank.stages) text += fmt::format(" {}", stage);
    text += ")\n";
    Picoseconds total = 0;
    for (int i = 0; i < account_count; ++i) {
        const Picoseconds time = rank.account[static_cast<std::size_t>(i)];
        total += time;
        if (time == 0) continue;
        const double ms = to_milliseconds(time);
        const auto bar = static_cast<std::size_t>(std::lround(30.0 * ms / step_ms));
        text += fmt::format("    {:<16}{:>14.3f} ms {:>6.1f} %{}{}\n", to_string(static_cast<Account>(i)), ms,
                            100.0 * ms / step_ms, bar > 0 ? "  " : "", std::string(bar, '#'));
    }
    return text + fmt::format("    {:<16}{:>14.3f} ms\n", "= step", to_milliseconds(total));
}

/// The ranks worth reading: first, last, busiest, most idle.
std::vector<std::size_t> telling_ranks(const std::vector<RankReport>& ranks) {
    std::vector<std::size_t> chosen = {0, ranks.size() - 1};
    const auto by_busy = [](const RankReport& a, const RankReport& b) {
        return busy_time(a.account) < busy_time(b.account);
    };
    const auto [idle, busy] = std::minmax_element(ranks.begin(), ranks.end(), by_busy);
    chosen.push_back(static_cast<std::size_t>(idle - ranks.begin()));
    chosen.push_back(static_cast<std::size_t>(busy - ranks.begin()));
    if (ranks.size() <= 8) {
        for (std::size_t r = 0; r < ranks.size(); ++r) chosen.push_back(r);
    }
    std::sort(chosen.begin(), chosen.end());
    chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
    return chosen;
}

std::string what(const PathSegment& s) {
    const std::string range = s.first_microbatch == s.last_microbatch
                                  ? fmt::format("{}", s.first_microbatch)
                                  : fmt::format("{}..{}", s.first_microbatch, s.last_microbatch);
    switch (s.kind) {
        case TaskKind::pass: {
            static constexpr const char* names[] = {"forward", "backward", "input gradient", "weight gradient"};
            if (is_vocabulary(s.pass)) {
                return fmt::format("{} of micro-batch {}, share {}",
                                   s.pass == Pass::vocab_forward ? "logits" : "gradients of logits", range, s.stage);
            }
            return fmt::format("{} of micro-batch {}, stage {}", names[static_cast<int>(s.pass)], range, s.stage);
        }
        case TaskKind::send:
        case TaskKind::recv:
            return fmt::format("{} of micro-batch {} to stage {}", s.pass == Pass::forward ? "activation" : "gradient",
                               range, s.stage);
        case TaskKind::grad_reduce:
            return "gradient reduction over data parallel ranks";
        case TaskKind::embedding_reduce:
            return "tied embedding gradient, first and last rank";
        case TaskKind::optimizer:
            return "optimizer";
        case TaskKind::param_gather:
            return "parameter gather over data parallel ranks";
        case TaskKind::vocabulary:
            return "collective of the vocabulary, micro-batch " + range;
        case TaskKind::offload:
        case TaskKind::reload:
            return fmt::format("{} of saved tensors of micro-batch {}, stage {}",
                               s.kind == TaskKind::offload ? "offload" : "reload", range, s.stage);
        case TaskKind::step_end:
            return "fixed work per step";
    }
    return "";
}

std::string path_text(const Report& report) {
    std::string text = "\nCritical path (what the step waits for, first to last)\n";
    constexpr std::size_t shown = 24;
    const std::vector<PathSegment>& path = report.critical_path;
    for (std::size_t i = 0; i < path.size(); ++i) {
        if (path.size() > shown && i == shown / 2) {
            const std::size_t skipped = path.size() - shown;
            text +=
                fmt::format("    ... {} more, {} to {} ...\n", skipped, milliseconds(to_milliseconds(path[i].start)),
                            milliseconds(to_milliseconds(path[i + skipped].start)));
            i += skipped;
        }
        const PathSegment& s = path[i];
        text += fmt::format("  {:>10}  {:>10}  rank {:<3} {}\n", milliseconds(to_milliseconds(s.start)),
                            milliseconds(to_milliseconds(s.end - s.start)), s.rank, what(s));
    }
    return text;
}

/// Equal messages between different pairs of ranks are told once.
struct ManyAlike {
    const CommReport* comm = nullptr;
    int count = 1;
};

std::vector<ManyAlike> alike(const std::vector<CommReport>& all) {
    std::vector<ManyAlike> groups;
    for (const CommReport& c : all) {
        const auto same = std::find_if(groups.begin(), groups.end(), [&](const ManyAlike& known) {
            return known.comm->axis == c.axis && known.comm->collective == c.collective &&
                   known.comm->message_bytes == c.message_bytes && known.comm->limit == c.limit;
        });
        if (same == groups.end()) {
            groups.push_back({&c, 1});
        } else {
            ++same->count;
        }
    }
    return groups;
}

std::string communication_text(const Report& report) {
    if (report.communication.empty()) return "";
    std::string text = "\nCommunication\n";
    for (const ManyAlike& group : alike(report.communication)) {
        const CommReport& c = *group.comm;
        const bool pair = c.from_rank >= 0;
        const std::string who = pair && group.count > 1 ? fmt::format("{} pairs", group.count)
                                : pair                  ? fmt::format("{} to {}", c.from_rank, c.to_rank)
                                                        : fmt::format("{} ranks", c.group_size);
        text += fmt::format("  {:<9} {:<14} {:<9} {:>9.2f} MiB {:>10}\n      {}\n", c.axis, c.collective, who,
                            c.message_bytes / (1024.0 * 1024.0), milliseconds(c.time_us / 1000.0), c.limit);
    }
    return text;
}

/// Breaks at spaces so that lines stay below 80 columns.
std::string wrapped(const std::string& item) {
    constexpr std::size_t width = 76;
    std::string text;
    std::string line = "  -";
    std::size_t begin = 0;
    while (begin < item.size()) {
        const std::size_t end = std::min(item.find(' ', begin), item.size());
        if (line.size() + 1 + end - begin > width) {
            text += line + "\n";
            line = "   ";
        }
        line += ' ';
        line.append(item, begin, end - begin);
        begin = end + 1;
    }
    return text + line + "\n";
}

}  // namespace

std::string explain_text(const Job& job, const Report& report) {
    std::string text =
        fmt::format("{}\nWhere the step's {} go\n", heading(job), milliseconds(report.summary.step_time_ms));
    const std::vector<std::size_t> ranks = telling_ranks(report.ranks);
    for (const std::size_t r : ranks) text += account_lines(report.ranks[r], report.summary.step_time_ms);
    if (ranks.size() < report.ranks.size()) {
        text += fmt::format("  ({} other ranks in the JSON report)\n", report.ranks.size() - ranks.size());
    }
    text += path_text(report) + communication_text(report) + "\nAssumptions\n";
    for (const std::string& assumption : report.assumptions) text += wrapped(assumption);
    return text;
}

}  // namespace foreshard
