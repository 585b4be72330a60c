#include "gui/plans/plan_filter.hpp"

#include <QRegularExpression>
#include <QStringList>
#include <algorithm>
#include <array>
#include <set>

namespace foreshard::gui {

namespace {

/// A figure with a short name and the unit that people say it in.
struct NamedFigure {
    const char* name;
    const char* key;
    double unit;
};

constexpr std::array figures = {
    NamedFigure{"step", "step_time_ms", 1.0},
    NamedFigure{"tokens", "tokens_per_s", 1.0},
    NamedFigure{"mfu", "mfu_ratio", 0.01},
    NamedFigure{"bubble", "bubble_ratio", 0.01},
    NamedFigure{"memory", "peak_memory_bytes", 1024.0 * 1024.0 * 1024.0},
};

std::set<std::string> knownKeys(const ReadSearch& search) {
    std::set<std::string> keys;
    for (const NamedFigure& figure : figures) keys.insert(figure.name);
    for (const SearchPlan& plan : search.plans) {
        for (const auto& [key, value] : plan.plan) keys.insert(key);
    }
    return keys;
}

FilterTerm::Kind kindOf(const QString& sign) {
    if (sign == "<") return FilterTerm::Kind::less;
    if (sign == "<=") return FilterTerm::Kind::less_equal;
    if (sign == ">") return FilterTerm::Kind::greater;
    if (sign == ">=") return FilterTerm::Kind::greater_equal;
    return sign == "!=" ? FilterTerm::Kind::not_equal : FilterTerm::Kind::equal;
}

bool holds(FilterTerm::Kind kind, int order) {
    switch (kind) {
        case FilterTerm::Kind::less:
            return order < 0;
        case FilterTerm::Kind::less_equal:
            return order <= 0;
        case FilterTerm::Kind::equal:
            return order == 0;
        case FilterTerm::Kind::not_equal:
            return order != 0;
        case FilterTerm::Kind::greater_equal:
            return order >= 0;
        case FilterTerm::Kind::greater:
            return order > 0;
        case FilterTerm::Kind::word:
            break;
    }
    return true;
}

int orderOf(double a, double b) {
    return a < b ? -1 : a > b ? 1 : 0;
}

/// A figure in the unit of its short name, or a setting; nothing when the plan lacks it.
std::optional<QString> termValue(const SearchPlan& plan, const std::string& key) {
    for (const NamedFigure& figure : figures) {
        if (key != figure.name) continue;
        const std::optional<double> value = plan.figure(figure.key);
        return value ? std::optional(QString::number(*value / figure.unit, 'g', 12)) : std::nullopt;
    }
    const auto setting = plan.plan.find(key);
    return setting == plan.plan.end() ? std::nullopt : std::optional(QString::fromStdString(setting->second));
}

bool holdsFor(const FilterTerm& term, const SearchPlan& plan) {
    const QString wanted = QString::fromStdString(term.value);
    if (term.kind == FilterTerm::Kind::word) {
        const auto contains = [&](const std::string& text) {
            return QString::fromStdString(text).contains(wanted, Qt::CaseInsensitive);
        };
        return contains(plan.infeasible) || std::any_of(plan.plan.begin(), plan.plan.end(),
                                                        [&](const auto& setting) { return contains(setting.second); });
    }
    const std::optional<QString> value = termValue(plan, term.key);
    if (!value) return false;
    bool bothNumbers = false;
    bool wantedNumber = false;
    const double a = value->toDouble(&bothNumbers);
    const double b = wanted.toDouble(&wantedNumber);
    if (bothNumbers && wantedNumber) return holds(term.kind, orderOf(a, b));
    return holds(term.kind, value->compare(wanted, Qt::CaseInsensitive));
}

}  // namespace

PlanFilter parsePlanFilter(const QString& text, const ReadSearch& search) {
    static const QRegularExpression comparison("^([A-Za-z_]+)(<=|>=|!=|<|>|=)(.+)$");
    const std::set<std::string> keys = knownKeys(search);
    PlanFilter filter;
    for (const QString& word : text.split(' ', Qt::SkipEmptyParts)) {
        const QRegularExpressionMatch match = comparison.match(word);
        if (!match.hasMatch()) {
            filter.terms.push_back({FilterTerm::Kind::word, "", word.toStdString()});
            continue;
        }
        const std::string key = match.captured(1).toLower().toStdString();
        if (keys.count(key) == 0) {
            QStringList all;
            for (const std::string& known : keys) all << QString::fromStdString(known);
            filter.error = QString("no key '%1' (%2)").arg(match.captured(1), all.join(", "));
        }
        filter.terms.push_back({kindOf(match.captured(2)), key, match.captured(3).toStdString()});
    }
    return filter;
}

bool passes(const PlanFilter& filter, const SearchPlan& plan) {
    return std::all_of(filter.terms.begin(), filter.terms.end(),
                       [&](const FilterTerm& term) { return holdsFor(term, plan); });
}

}  // namespace foreshard::gui
