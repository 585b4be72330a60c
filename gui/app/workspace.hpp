#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/app/document.hpp"
#include "gui/app/json_session.hpp"

namespace foreshard::gui {

/// The runs of a window in their order, which of them are shown, and which one the editor changes. Documents keep their
/// address until they are replaced or removed.
class Workspace {
public:
    std::size_t size() const { return entries_.size(); }
    const Document& document(std::size_t index) const { return *entries_[index].document; }
    bool isShown(std::size_t index) const { return entries_[index].shown; }
    std::optional<std::size_t> edited() const { return edited_; }
    const Document* editedDocument() const { return edited_ ? entries_[*edited_].document.get() : nullptr; }

    /// Shown runs, A first.
    std::vector<const Document*> shown() const;
    std::vector<const Run*> shownRuns() const;

    /// Adds it last and shows it. The first one with a request is edited.
    void add(Document document);
    void setShown(std::size_t index, bool shown);
    void edit(std::size_t index);
    /// The old document is handed back, since views may still look at it.
    std::unique_ptr<Document> replaceEdited(Document document);
    std::unique_ptr<Document> remove(std::size_t index);
    void makeFirst(std::size_t index);
    /// A copy of the edited run becomes A and stays as it is.
    void pinEdited();

    /// Fills in the runs that can be opened again, all with a source or a request, and which one is edited.
    void describe(Session& session) const;

private:
    struct Entry {
        std::unique_ptr<Document> document;
        bool shown = true;
    };

    std::string freeName(const std::string& wanted) const;

    std::vector<Entry> entries_;
    std::optional<std::size_t> edited_;
};

/// "interleaved-1f1b, tp 8": what a pinned or edited run is told apart by.
std::string planWords(const JobRequest& base, const JobRequest& request);

}  // namespace foreshard::gui
