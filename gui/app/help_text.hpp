#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace foreshard::gui {

struct KeyHelp {
    std::string_view keys;
    std::string_view what;
};

/// All keys, as the help and the guide list them.
const std::vector<KeyHelp>& keyHelp();

std::string helpHtml();

}  // namespace foreshard::gui
