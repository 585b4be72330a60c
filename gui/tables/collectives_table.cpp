#include "gui/tables/collectives_table.hpp"

#include <array>
#include <cmath>

#include "gui/charts/draw.hpp"
#include "sim/result/span_accounts.hpp"
#include "sim/result/span_query.hpp"

namespace foreshard::gui {

namespace {

/// Communication of one kind inside the window.
struct Traffic {
    std::size_t spans = 0;
    Picoseconds time = 0;
    Picoseconds transfer = 0;
    Picoseconds wait = 0;
};

constexpr std::array communication = {SpanKind::tp,  SpanKind::cp, SpanKind::ep,
                                      SpanKind::p2p, SpanKind::dp, SpanKind::offload};

std::array<Traffic, span_kind_count> trafficOf(const SpanTable& spans) {
    const std::vector<CommSplit> splits = comm_splits(spans);
    std::array<Traffic, span_kind_count> all{};
    for (std::size_t span = 0; span < spans.size(); ++span) {
        if (spans.start[span] < spans.window_begin || spans.start[span] >= spans.window_end) continue;
        Traffic& traffic = all[static_cast<std::size_t>(spans.kind[span])];
        ++traffic.spans;
        traffic.time += spans.end[span] - spans.start[span];
        traffic.transfer += splits[span].transfer;
        traffic.wait += splits[span].wait;
    }
    return all;
}

Cell timeCell(Picoseconds time) {
    return {durationText(time), static_cast<qlonglong>(time)};
}

/// "8.46 GiB", "2 MiB", "512 KiB", "40 B".
Cell sizeCell(double bytes) {
    constexpr double kib = 1024.0;
    const QString text = bytes >= kib * kib * kib ? figureText(bytes / (kib * kib * kib)) + " GiB"
                         : bytes >= kib * kib     ? figureText(bytes / (kib * kib)) + " MiB"
                         : bytes >= kib           ? figureText(bytes / kib) + " KiB"
                                                  : figureText(bytes) + " B";
    return {text, bytes};
}

QString between(const CommReport& message) {
    if (message.from_rank >= 0) return QString("PP%1 \u2192 PP%2").arg(message.from_rank).arg(message.to_rank);
    return QString("group of %1").arg(message.group_size);
}

Picoseconds meanExposed(const Run& run, SpanKind kind) {
    double sum = 0.0;
    for (const RankAccount& account : run.accounts) {
        sum += static_cast<double>(account[static_cast<std::size_t>(account_of(kind))]);
    }
    return std::llround(sum / static_cast<double>(run.accounts.size()));
}

}  // namespace

Table messagesTable(const Run& run) {
    Table table;
    if (run.communication.empty()) return table;
    table.columns = {{"axis"},
                     {"collective"},
                     {"between"},
                     {"NVLink domains", Column::Kind::number},
                     {"message", Column::Kind::number},
                     {"time", Column::Kind::number},
                     {"algorithm bandwidth", Column::Kind::number},
                     {"limited by"}};
    for (const CommReport& message : run.communication) {
        const double gigabytes = message.time_us > 0.0 ? message.message_bytes / message.time_us / 1e3 : 0.0;
        table.rows.push_back({{QString::fromStdString(message.axis)},
                              {QString::fromStdString(message.collective)},
                              {between(message)},
                              {QString::number(message.domains), message.domains},
                              sizeCell(message.message_bytes),
                              {durationText(std::llround(message.time_us * 1e6)), message.time_us},
                              {figureText(gigabytes) + " GB/s", gigabytes},
                              {QString::fromStdString(message.limit)}});
    }
    return table;
}

Table trafficTable(const Run& run) {
    Table table;
    if (run.spans.size() == 0) return table;
    const std::array<Traffic, span_kind_count> all = trafficOf(run.spans);
    const auto ranks = static_cast<Picoseconds>(std::max<std::size_t>(1, run.spans.ranks.size()));
    table.columns = {{"kind"},
                     {"spans", Column::Kind::number},
                     {"time per rank", Column::Kind::number},
                     {"transfer", Column::Kind::number},
                     {"wait for partners", Column::Kind::number},
                     {"exposed", Column::Kind::number}};
    for (const SpanKind kind : communication) {
        const Traffic& traffic = all[static_cast<std::size_t>(kind)];
        if (traffic.spans == 0) continue;
        const std::string_view name = to_string(kind);
        const bool known = !run.accounts.empty();
        table.rows.push_back({{QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()))},
                              {QString::number(traffic.spans), static_cast<qulonglong>(traffic.spans)},
                              timeCell(traffic.time / ranks),
                              timeCell(traffic.transfer / ranks),
                              timeCell(traffic.wait / ranks),
                              known ? timeCell(meanExposed(run, kind)) : Cell{"-", -1}});
    }
    return table;
}

}  // namespace foreshard::gui
