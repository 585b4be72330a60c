#pragma once

#include <QObject>
#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "gui/app/document.hpp"
#include "gui/app/worker_thread.hpp"
#include "sim/spec/request_text.hpp"

namespace foreshard::gui {

/// What to open: a source, with changes that are made to its plan (or to none, for an empty source).
struct OpenRequest {
    std::string source{};
    std::vector<RequestValue> changes{};
    std::string name{};       ///< empty: the source's
    bool bubbleFree = false;  ///< add the same plan without bubbles
    bool operator==(const OpenRequest&) const = default;
};

struct OpenResult {
    OpenRequest request;
    Opened opened;
    std::string error;  ///< empty: it worked
};

/// Opens on the calling thread; bad input becomes `error`.
OpenResult openNow(const OpenRequest& request);

/// Opens files one after the other on a worker thread.
class FileOpener : public QObject {
    Q_OBJECT

public:
    explicit FileOpener(QObject* parent = nullptr);

    void open(const OpenRequest& request);
    /// Forgets files that were not begun, and the result of the one at hand.
    void cancel();
    int waiting() const { return waiting_; }
    std::optional<OpenResult> take();  ///< once after each opened()

signals:
    void opened();
    void waitingChanged(int files);

private:
    struct Item {
        int generation = 0;
        OpenRequest request;
    };
    struct Result {
        int generation = 0;
        OpenResult result;
    };
    void deliver();

    int generation_ = 0;
    int waiting_ = 0;
    std::optional<OpenResult> result_;
    WorkerThread<Item, Result> worker_;
};

}  // namespace foreshard::gui
