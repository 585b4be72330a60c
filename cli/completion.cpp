#include "cli/completion.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/error.hpp"

namespace foreshard::cli {

namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
    return app.get_subcommands([](const CLI::App*) { return true; });
}

std::vector<std::string> flags_of(const CLI::App& app) {
    std::vector<std::string> flags;
    for (const CLI::Option* option : app.get_options()) {
        for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
    }
    return flags;
}

/// zsh runs the same script through its emulation of bash's completion.
std::string bash_script(const CLI::App& app) {
    std::vector<std::string> names;
    std::string cases;
    for (const CLI::App* command : commands_of(app)) {
        names.push_back(command->get_name());
        cases += fmt::format("        {}) words=\"{}\" ;;\n", command->get_name(), fmt::join(flags_of(*command), " "));
    }
    return fmt::format(
        "_foreshard() {{\n"
        "    local current=\"${{COMP_WORDS[COMP_CWORD]}}\" words=\"\"\n"
        "    case \"${{COMP_WORDS[1]}}\" in\n{}"
        "    esac\n"
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then words=\"{} {}\"; fi\n"
        "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
        "}}\n"
        "complete -o default -F _foreshard foreshard\n",
        cases, fmt::join(names, " "), fmt::join(flags_of(app), " "));
}

std::string fish_script(const CLI::App& app) {
    std::string script;
    for (const CLI::App* command : commands_of(app)) {
        script += fmt::format("complete -c foreshard -n __fish_use_subcommand -a {}\n", command->get_name());
        for (const std::string& flag : flags_of(*command)) {
            script += fmt::format("complete -c foreshard -n '__fish_seen_subcommand_from {}' -l {}\n",
                                  command->get_name(), flag.substr(2));
        }
    }
    return script;
}

}  // namespace

std::string completion_script(const CLI::App& app, const std::string& shell) {
    if (shell == "bash") return bash_script(app);
    if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + bash_script(app);
    if (shell == "fish") return fish_script(app);
    throw InputError("completion", "", fmt::format("'{}' is not known; valid: bash, zsh, fish", shell));
}

}  // namespace foreshard::cli
