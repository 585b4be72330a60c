#pragma once

#include <string>
#include <string_view>

#include "sim/fit/measurements.hpp"
#include "sim/spec/json_reader.hpp"

/// One reader a kind of file; `input` is the file's place in Measurements::inputs.
namespace foreshard {

void read_microbench(const Json& document, const std::string& file, Measurements& into);
void read_measured_report(const Json& document, const std::string& file, Measurements& into);

bool is_nccl_tests_text(const std::string& text);
void read_nccl_tests_text(const std::string& text, const std::string& file, Measurements& into);
bool is_nccl_tests_json(const Json& document);
void read_nccl_tests_json(const Json& document, const std::string& file, Measurements& into);

/// Why a time cannot be used; empty: it can.
std::string reason_against_time(double time_us);

/// Enters a value that cannot be used.
void reject_value(Measurements& into, int row, const std::string& what, double time_us, const std::string& reason);

/// Inputs that are measured in different number formats or with different software say nothing about one machine.
/// @throws InputError
void agree_on(const std::string& file, const std::string& key, std::string& known, const std::string& found);

/// The last input's place.
inline int input_index(const Measurements& into) {
    return static_cast<int>(into.inputs.size()) - 1;
}

}  // namespace foreshard
