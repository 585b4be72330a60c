#include "gui/program/command_line.hpp"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "cli/flags.hpp"
#include "sim/error.hpp"
#include "sim/sim.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard::gui {

namespace {

constexpr const char* description =
    "Shows bubbles, memory and differences of training plans, and simulates them again while you edit.\n\n"
    "Examples:\n"
    "  foreshard-gui gpt3-175b-selene-64\n"
    "  foreshard-gui --job gpt3-175b-selene-64 --schedule zb-h1 --vpp 1\n"
    "  foreshard-gui predicted.json measured.json trace.json.gz\n"
    "  foreshard-gui gpt3-175b-selene-64 --screenshot bubbles.png --size 1600x900 --theme dark\n";

struct Texts {
    std::vector<std::string> inputs;
    std::string session;
    std::string screenshot;
    std::string size;
    std::string view = "timeline";
    std::string theme;
};

QSize sizeOf(const std::string& text) {
    constexpr int least = 200;
    constexpr int most = 16384;
    const std::size_t cross = text.find('x');
    bool width_read = false;
    bool height_read = false;
    const int width = QString::fromStdString(text.substr(0, cross)).toInt(&width_read);
    const int height =
        cross == std::string::npos ? 0 : QString::fromStdString(text.substr(cross + 1)).toInt(&height_read);
    const bool fits = std::min(width, height) >= least && std::max(width, height) <= most;
    if (!width_read || !height_read || !fits) {
        throw InputError(
            "--size", "",
            fmt::format("'{}' is not WIDTHxHEIGHT with {} to {} pixels each, e.g. 1600x900", text, least, most));
    }
    return {width, height};
}

ThemeKind themeOf(const std::string& name) {
    try {
        return themeKind(name);
    } catch (const std::invalid_argument& error) {
        throw InputError("--theme", "", error.what());
    }
}

/// Flags change the one plan that is named, or make one.
std::vector<OpenRequest> requestsOf(const Texts& texts, const cli::JobFlags& flags) {
    std::vector<OpenRequest> requests;
    if (flags.job_file) requests.push_back({.source = *flags.job_file});
    for (const std::string& input : texts.inputs) requests.push_back({.source = input});
    cli::JobFlags named = flags;
    if (requests.size() == 1) named.job_file = requests.front().source;
    const std::vector<RequestValue> changes =
        request_values(flags.megatron.any() ? cli::requested(named) : flags.request);
    if (changes.empty()) return requests;
    if (requests.empty()) requests.push_back({});
    if (requests.size() > 1) {
        throw InputError("--" + changes.front().name, "", "changes a plan, but several inputs are given: which one?");
    }
    requests.front().changes = changes;
    return requests;
}

void addOptions(CLI::App& app, Texts& texts) {
    app.add_option("inputs", texts.inputs,
                   "Plans of the catalogue; job, report, trace (Chrome, PyTorch) and search files")
        ->type_name("NAME|FILE");
    app.add_option("--session", texts.session, "Open a saved session")->type_name("FILE");
    app.add_option("--screenshot", texts.screenshot, "Write a picture (PNG) and leave; no display is needed")
        ->type_name("FILE");
    app.add_option("--size", texts.size, "Of the window or picture, e.g. 1600x900 (default 1440x900)")
        ->type_name("WxH");
    app.add_option(
        "--view", texts.view,
        "What gets most room: timeline, memory, compare or search; compare with one "
        "input compares it with the same plan without bubbles, search with one plan searches for better ones");
    app.add_option("--theme", texts.theme, "light, dark or high-contrast");
}

CommandLine interpreted(const Texts& texts, const cli::JobFlags& flags) {
    CommandLine line;
    line.inputs = requestsOf(texts, flags);
    if (!texts.session.empty()) line.session = texts.session;
    line.screenshot = QString::fromStdString(texts.screenshot);
    if (!texts.size.empty()) line.size = sizeOf(texts.size);
    line.view = windowView(texts.view);
    if (!texts.theme.empty()) line.theme = themeOf(texts.theme);
    if (line.inputs.size() == 1) {
        line.inputs.front().bubbleFree = line.view == WindowView::compare;
        line.inputs.front().findPlans = line.view == WindowView::search;
    }
    return line;
}

CommandLine textOnly(const std::string& text) {
    CommandLine line;
    line.text = text;
    return line;
}

}  // namespace

CommandLine parseCommandLine(int count, const char* const* arguments) {
    CLI::App app(description, "foreshard-gui");
    Texts texts;
    cli::JobFlags flags;
    cli::prepare_command(app);
    app.set_version_flag("--version", std::string("foreshard-gui ") + version());
    addOptions(app, texts);
    cli::add_job_flags(app, flags);
    std::vector<std::string> words = cli::normalised_arguments(count, arguments);
    std::reverse(words.begin(), words.end());
    try {
        app.parse(std::move(words));
    } catch (const CLI::CallForVersion&) {
        return textOnly(std::string("foreshard-gui ") + version() + "\n");
    } catch (const CLI::Success&) {
        return textOnly(app.help());
    } catch (const CLI::ParseError& error) {
        throw InputError("foreshard-gui", "", error.what());
    }
    cli::refuse_extras(app);
    return interpreted(texts, flags);
}

bool drawsOffScreen(int count, const char* const* arguments) {
    return std::any_of(arguments + 1, arguments + count, [](const char* argument) {
        const std::string word(argument);
        return word == "--help" || word == "-h" || word == "--version" || word.rfind("--screenshot", 0) == 0;
    });
}

}  // namespace foreshard::gui
