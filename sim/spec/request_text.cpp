#include "sim/spec/request_text.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <type_traits>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/spec/calibration.hpp"
#include "sim/spec/job_request_fields.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

template <class Visit>
void visit_inputs(Visit&& visit) {
    visit("model", &JobRequest::model);
    visit("cluster", &JobRequest::cluster);
    visit("software", &JobRequest::software);
    visit("calibration", &JobRequest::calibration);
    visit("stage_times", &JobRequest::stage_times);
    visit("schedule_file", &JobRequest::schedule_file);
}

template <class Visit>
void visit_values(Visit&& visit) {
    visit("gpus", &JobRequest::gpus);
    visit("gbs", &JobRequest::gbs);
    visit("mbs", &JobRequest::mbs);
    visit("seq_length", &JobRequest::seq_length);
    visit_plan_fields(visit);
    visit_model_fields(visit);
}

const std::string& name_of(const LoadedModel& model) {
    return model.spec.id;
}
const std::string& name_of(const ClusterSpec& cluster) {
    return cluster.id;
}
const std::string& name_of(const SoftwareProfile& software) {
    return software.id;
}
const std::string& name_of(const SharedCalibration& calibration) {
    return calibration->id;
}
const std::string& name_of(const ScheduleFile& file) {
    return file.name;
}
std::string name_of(const StageTimes& /*times*/) {
    return "given in the job";
}

std::string text_of(bool value) {
    return value ? "true" : "false";
}
const std::string& text_of(const std::string& value) {
    return value;
}
std::string text_of(double value) {
    return fmt::format("{}", value);
}
template <class T>
requires(std::is_integral_v<T>) std::string text_of(T value) {
    return std::to_string(value);
}
template <class Spec>
std::string text_of(const NameOr<Spec>& value) {
    const auto* name = std::get_if<std::string>(&value);
    return name ? *name : std::string(name_of(std::get<Spec>(value)));
}

std::string flag_of(std::string_view name) {
    std::string flag(name);
    std::replace(flag.begin(), flag.end(), '_', '-');
    return "--" + flag;
}

[[noreturn]] void refuse(std::string_view name, const std::string& text, const char* wanted) {
    throw InputError(flag_of(name), "", fmt::format("'{}' is not {}", text, wanted));
}

template <class T>
T parse_number(std::string_view name, const std::string& text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) refuse(name, text, "a number that fits");
    const bool whole = std::is_integral_v<T>;
    if (error != std::errc() || end != text.data() + text.size())
        refuse(name, text, whole ? "a whole number" : "a number");
    return value;
}

bool parse_switch(std::string_view name, const std::string& text) {
    if (text == "true") return true;
    if (text != "false") refuse(name, text, "true or false");
    return false;
}

template <class T>
T parse(std::string_view name, const std::string& text) {
    if constexpr (std::is_same_v<T, std::string>) {
        return text;
    } else if constexpr (std::is_same_v<T, bool>) {
        return parse_switch(name, text);
    } else {
        return parse_number<T>(name, text);
    }
}

std::vector<std::string> all_names() {
    std::vector<std::string> names;
    const auto add = [&](const char* name, auto /*member*/) { names.emplace_back(name); };
    visit_inputs(add);
    visit_values(add);
    return names;
}

[[noreturn]] void refuse_name(std::string_view name) {
    const std::string close = did_you_mean(name, all_names());
    throw InputError(flag_of(name), "",
                     "no such field" + (close.empty() ? "" : "; did you mean " + flag_of(close) + "?"));
}

std::string quoted(const std::string& text) {
    if (!text.empty() && text.find_first_of(" \t\n'\"\\$&|;<>()*?[]#~`!{}") == std::string::npos) return text;
    std::string result = "'";
    for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return result + "'";
}

/// Flags that have no form with "--no-".
constexpr std::array<std::string_view, 2> one_way = {"untie_embeddings_and_output_weights", "swiglu"};

std::string switch_flag(std::string_view name, bool on) {
    if (on) return flag_of(name);
    if (name == "no_symmetry") return "--symmetry";
    if (name == "sync_every_microbatch") return "--no-sync";
    if (std::find(one_way.begin(), one_way.end(), name) != one_way.end()) return flag_of(name) + "=false";
    return "--no-" + flag_of(name).substr(2);
}

}  // namespace

std::vector<RequestValue> request_values(const JobRequest& request) {
    std::vector<RequestValue> values;
    const auto add = [&](const char* name, auto member) {
        if (request.*member) values.push_back({name, text_of(*(request.*member))});
    };
    visit_inputs(add);
    visit_values(add);
    return values;
}

std::string request_value(const JobRequest& request, std::string_view name) {
    std::string text;
    bool known = false;
    const auto look = [&](const char* field, auto member) {
        if (name != field) return;
        known = true;
        if (request.*member) text = text_of(*(request.*member));
    };
    visit_inputs(look);
    visit_values(look);
    if (!known) refuse_name(name);
    return text;
}

JobRequest with_value(JobRequest request, std::string_view name, const std::string& text) {
    bool known = false;
    visit_inputs([&](const char* field, auto member) {
        if (name != field) return;
        known = true;
        (request.*member).reset();
        if (!text.empty()) request.*member = text;
    });
    visit_values([&]<class Value>(const char* field, std::optional<Value> JobRequest::*member) {
        if (name != field) return;
        known = true;
        (request.*member).reset();
        if (!text.empty()) request.*member = parse<Value>(name, text);
    });
    if (!known) refuse_name(name);
    if (name == "schedule_file") request.schedule_counts.reset();
    return request;
}

std::string request_flags(const JobRequest& request) {
    std::string line;
    const auto add = [&](const std::string& words) { line += (line.empty() ? "" : " ") + words; };
    visit_inputs([&](const char* name, auto member) {
        if (!(request.*member)) return;
        if (const auto* text = std::get_if<std::string>(&*(request.*member))) add(flag_of(name) + " " + quoted(*text));
    });
    visit_values([&]<class Value>(const char* name, std::optional<Value> JobRequest::*member) {
        if (!(request.*member)) return;
        if constexpr (std::is_same_v<Value, bool>) {
            add(switch_flag(name, *(request.*member)));
        } else {
            add(flag_of(name) + " " + quoted(text_of(*(request.*member))));
        }
    });
    return line;
}

std::vector<RequestValue> changed_values(const JobRequest& a, const JobRequest& b) {
    std::vector<RequestValue> changes;
    for (const std::string& name : all_names()) {
        std::string text = request_value(b, name);
        if (text != request_value(a, name)) changes.push_back({name, std::move(text)});
    }
    return changes;
}

}  // namespace foreshard
