#pragma once

#include <QObject>
#include <QString>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gui/app/document.hpp"
#include "gui/app/open_request.hpp"
#include "gui/app/worker_thread.hpp"

namespace foreshard::gui {

struct OpenResult {
    OpenRequest request;
    Opened opened;
    std::string error;  ///< empty: it worked
};

/// Opens on the calling thread; bad input becomes `error`.
OpenResult openNow(const OpenRequest& request, const std::stop_token& stop = {});

/// Opens files and plans one after the other on a worker thread.
class FileOpener : public QObject {
    Q_OBJECT

public:
    explicit FileOpener(QObject* parent = nullptr);

    void open(const OpenRequest& request);
    /// A plan that is in no file, e.g. of a search.
    void openPlan(const std::string& name, const JobRequest& plan);
    /// Forgets files that were not begun, and stops the one at hand.
    void cancel();
    int waiting() const { return waiting_; }
    std::optional<OpenResult> take();  ///< once after each opened()

signals:
    void opened();
    void waitingChanged(int files);

private:
    using Work = std::function<OpenResult(const std::stop_token&)>;
    struct Item {
        int generation = 0;
        Work work;
    };
    struct Result {
        int generation = 0;
        OpenResult result;
    };
    void post(Work work);
    void deliver();

    int generation_ = 0;
    int waiting_ = 0;
    std::optional<OpenResult> result_;
    WorkerThread<Item, Result> worker_;
};

}  // namespace foreshard::gui
