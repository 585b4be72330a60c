#include "cli/provenance.hpp"

#include <array>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "sim/spec/catalogue.hpp"
#include "sim/spec/text_file.hpp"

namespace foreshard::cli {

namespace {

std::string sha256(const std::string& text) {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
    unsigned int size = 0;
    EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
    std::string hex;
    for (unsigned int i = 0; i < size; ++i) hex += fmt::format("{:02x}", digest[i]);
    return hex;
}

void add_file(const std::string& name, std::vector<InputFile>& files) {
    if (is_file_name(name)) files.push_back({name, sha256(read_text_file(name))});
}

template <class Spec>
void add(const std::optional<NameOr<Spec>>& value, std::vector<InputFile>& files) {
    if (value && std::holds_alternative<std::string>(*value)) add_file(std::get<std::string>(*value), files);
}

/// Schedules and stage times are always files.
template <class Spec>
void add_always(const std::optional<NameOr<Spec>>& value, std::vector<InputFile>& files) {
    if (!value || !std::holds_alternative<std::string>(*value)) return;
    const auto& name = std::get<std::string>(*value);
    files.push_back({name, sha256(read_text_file(name))});
}

}  // namespace

std::string file_sha256(const std::string& name) {
    constexpr std::size_t limit_bytes = std::size_t{256} << 20;
    return sha256(read_text_file(name, limit_bytes));
}

std::vector<InputFile> input_files(const JobFlags& flags) {
    std::vector<InputFile> files;
    if (flags.job_file) add_file(*flags.job_file, files);
    const JobRequest file = flags.job_file ? load_job_request(*flags.job_file) : JobRequest{};
    const JobRequest request = merge(file, flags.request);  // Megatron-LM's own flags name no files
    add(request.model, files);
    add(request.cluster, files);
    add(request.software, files);
    add(request.calibration, files);
    add_always(request.stage_times, files);
    add_always(request.schedule_file, files);
    return files;
}

std::string command_line(int count, const char* const* arguments) {
    std::string line = "foreshard";
    for (int i = 1; i < count; ++i) {
        const std::string argument = arguments[i];
        const bool plain =
            !argument.empty() && argument.find_first_of(" \t\n'\"\\$&|;<>()*?[]#~`!{}") == std::string::npos;
        if (plain) {
            line += " " + argument;
            continue;
        }
        std::string quoted;
        for (const char c : argument) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
        line += " '" + quoted + "'";
    }
    return line;
}

}  // namespace foreshard::cli
