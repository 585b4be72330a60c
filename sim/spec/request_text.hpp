#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/job_request.hpp"

/// The fields of a JobRequest as text: for editors, saved sessions and command lines.
namespace foreshard {

/// A field that the request says something about. Names are those of job files, with "gbs", "mbs" for the batch.
struct RequestValue {
    std::string name;
    std::string text;
    bool operator==(const RequestValue&) const = default;
};

/// All fields that the request says, inputs first. A thing given inline is named by its id.
std::vector<RequestValue> request_values(const JobRequest& request);

/// The text of one field; empty: not said. @throws InputError for an unknown name
std::string request_value(const JobRequest& request, std::string_view name);

/// The request with one field changed; empty text: not said any more.
/// @throws InputError naming the flag, for an unknown name or a text that is not of the field's type
JobRequest with_value(JobRequest request, std::string_view name, const std::string& text);

/// "--model gpt3-175b --tp 8 --no-sp", quoted for a shell. Things given inline cannot be named so: they are left out.
std::string request_flags(const JobRequest& request);

/// Fields in which two requests differ, with the text in `b`.
std::vector<RequestValue> changed_values(const JobRequest& a, const JobRequest& b);

}  // namespace foreshard
