#include "gui/plans/plan_settings.hpp"

#include <QStringList>

#include "gui/charts/draw.hpp"
#include "sim/error.hpp"
#include "sim/spec/launch_config.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard::gui {

namespace {

QString rulesText(const std::vector<BrokenRule>& rules) {
    QStringList lines;
    for (const BrokenRule& rule : rules) {
        QString line = qt(rule.fields + ": " + rule.rule);
        if (!rule.nearest.empty()) line += "; nearest valid: " + qt(rule.nearest);
        lines << line;
    }
    return lines.join('\n');
}

}  // namespace

QString settingsName(SettingsFormat format) {
    switch (format) {
        case SettingsFormat::foreshard:
            return "flags of foreshard";
        case SettingsFormat::megatron:
            return "Megatron-LM flags";
        case SettingsFormat::torchtitan:
            return "torchtitan settings";
    }
    return {};
}

PlanSettings settingsOf(const SearchPlan& plan, SettingsFormat format) {
    if (format == SettingsFormat::foreshard) return {qt(request_flags(plan.request)), {}};
    try {
        const Job job = resolve(plan.request);
        const std::vector<BrokenRule> broken = check(job);
        if (!broken.empty()) return {{}, rulesText(broken)};
        const LaunchConfig config = format == SettingsFormat::megatron ? megatron_args(job) : torchtitan_config(job);
        if (!config.refused.empty()) return {{}, rulesText(config.refused)};
        return {qt(to_text(config)), {}};
    } catch (const InputError& error) {
        return {{}, qt(error.what())};
    }
}

}  // namespace foreshard::gui
