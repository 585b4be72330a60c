#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/job.hpp"
#include "sim/spec/job_request.hpp"

/// What the plan editor offers: every field that a job file or a flag can say, without Qt.
namespace foreshard::gui {

enum class FieldKind {
    choice,       ///< one of choices()
    open_choice,  ///< one of choices(), or the name of a file
    degree,       ///< a positive whole number that steps by doubling
    count,        ///< a positive whole number
    toggle,       ///< on, off, or by default
    text,
};

struct PlanField {
    std::string_view name;  ///< as in request_text.hpp
    std::string_view label;
    FieldKind kind;
    std::string_view help;
};

struct FieldGroup {
    std::string_view title;
    bool open;  ///< shown unfolded at first
    std::vector<PlanField> fields;
};

const std::vector<FieldGroup>& fieldGroups();

/// Values of a choice, in the order in which they are offered.
std::vector<std::string> choices(std::string_view field);

/// What a field that is not said was taken to be; empty where that cannot be told in a word.
std::string resolvedText(const Job& job, std::string_view field);

/// A message that belongs beside a field; an empty name: to the whole plan.
struct FieldMessage {
    std::string field;
    std::string text;
    bool operator==(const FieldMessage&) const = default;
};

/// Each broken rule, at the first field that it names.
std::vector<FieldMessage> messagesOf(const std::vector<BrokenRule>& broken);

/// Of bad input; `flag` as in InputError::source.
FieldMessage messageOf(std::string_view flag, const std::string& error);

/// The requests that were edited, to go back and forth.
class History {
public:
    explicit History(JobRequest first) { states_.push_back(std::move(first)); }

    const JobRequest& current() const { return states_[at_]; }
    bool canUndo() const { return at_ > 0; }
    bool canRedo() const { return at_ + 1 < states_.size(); }
    /// Forgets what was undone.
    void push(JobRequest next);
    void undo();  ///< nothing at the first state
    void redo();  ///< nothing at the last state

private:
    std::vector<JobRequest> states_;
    std::size_t at_ = 0;
};

}  // namespace foreshard::gui
