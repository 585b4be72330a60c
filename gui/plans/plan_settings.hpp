#pragma once

#include <QString>

#include "traces/read_search.hpp"

/// A found plan in the words of programs that run it.
namespace foreshard::gui {

enum class SettingsFormat { foreshard, megatron, torchtitan };

/// "Megatron-LM flags"
QString settingsName(SettingsFormat format);

struct PlanSettings {
    QString text;     ///< as foreshard export writes it; what cannot be expressed stands in comments
    QString refused;  ///< why the program cannot run the plan; empty: it can
};
PlanSettings settingsOf(const SearchPlan& plan, SettingsFormat format);

}  // namespace foreshard::gui
