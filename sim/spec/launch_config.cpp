#include "sim/spec/launch_config.hpp"

namespace foreshard {

std::string to_text(const LaunchConfig& config) {
    std::string text;
    for (const std::string& note : config.notes) text += "# " + note + "\n";
    for (const std::string& what : config.not_expressed) text += "# not expressed: " + what + "\n";
    for (const std::string& line : config.lines) text += line + "\n";
    return text;
}

}  // namespace foreshard
