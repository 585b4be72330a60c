#include "gui/breakdown/breakdown_table.hpp"

#include <algorithm>
#include <array>
#include <numeric>

#include "gui/breakdown/breakdown_painter.hpp"
#include "gui/charts/run_text.hpp"

namespace foreshard::gui {

namespace {

using Times = std::array<double, account_count>;

/// Four digits that count, for steps of seconds as for those of a millisecond.
QString inMilliseconds(double picoseconds, Picoseconds step) {
    const double ms = to_milliseconds(step);
    return QString::number(picoseconds / 1e9, 'f', ms >= 1000.0 ? 0 : ms >= 100.0 ? 1 : ms >= 10.0 ? 2 : 4);
}

std::vector<std::size_t> usedAccounts(const Run& run) {
    std::vector<std::size_t> used;
    for (std::size_t a = 0; a < account_count; ++a) {
        if (std::any_of(run.accounts.begin(), run.accounts.end(), [&](const auto& rank) { return rank[a] != 0; })) {
            used.push_back(a);
        }
    }
    return used;
}

Times meanTimes(const Run& run) {
    Times mean{};
    for (const RankAccount& account : run.accounts) {
        for (std::size_t a = 0; a < mean.size(); ++a) {
            mean[a] += static_cast<double>(account[a]) / static_cast<double>(run.accounts.size());
        }
    }
    return mean;
}

std::vector<Cell> rowOf(const QString& name, const Times& times, const std::vector<std::size_t>& accounts,
                        const Run& run) {
    const double step = std::accumulate(times.begin(), times.end(), 0.0);
    const auto cell = [&](double time) {
        const double share = step > 0.0 ? 100.0 * time / step : 0.0;
        return Cell{inMilliseconds(time, run.step_time), time,
                    QString("%1 % of the step").arg(QString::number(share, 'f', 2))};
    };
    std::vector<Cell> row = {{name}};
    for (const std::size_t account : accounts) row.push_back(cell(times[account]));
    row.push_back(cell(step));
    return row;
}

}  // namespace

Table breakdownTable(const Run& run) {
    Table table;
    if (run.accounts.empty()) return table;
    const std::vector<std::size_t> accounts = usedAccounts(run);
    table.columns.push_back({"rank"});
    for (const std::size_t account : accounts) {
        table.columns.push_back({accountName(static_cast<Account>(account)) + ", ms", Column::Kind::number});
    }
    table.columns.push_back({"step, ms", Column::Kind::number});
    for (std::size_t rank = 0; rank < run.accounts.size(); ++rank) {
        Times times{};
        std::copy(run.accounts[rank].begin(), run.accounts[rank].end(), times.begin());
        table.rows.push_back(rowOf(rankName(run, rank), times, accounts, run));
        table.rows.back().front().sort = static_cast<int>(rank);
    }
    table.rows.push_back(rowOf("mean", meanTimes(run), accounts, run));
    table.rows.back().front().sort = static_cast<int>(run.accounts.size());
    return table;
}

}  // namespace foreshard::gui
