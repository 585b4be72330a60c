#pragma once

#include <QObject>
#include <optional>

#include "sim/result/spans.hpp"

/// What all views of a window share: the visible time, the cursor, what is selected and what is lit.
namespace foreshard::gui {

/// Which of the shown runs, and what of it.
struct Selection {
    enum class Kind { none, span, gap, area };
    Kind kind = Kind::none;
    std::size_t run = 0;   ///< index of the run among the shown ones
    std::size_t span = 0;  ///< kind span
    std::size_t row = 0;   ///< kind gap: of SpanTable::rows; kind area: first row
    std::size_t lastRow = 0;
    Picoseconds begin = 0;  ///< kinds gap and area
    Picoseconds end = 0;
    bool operator==(const Selection&) const = default;
};

class ViewState : public QObject {
    Q_OBJECT

public:
    explicit ViewState(QObject* parent = nullptr) : QObject(parent) {}

    Picoseconds begin() const { return begin_; }
    Picoseconds end() const { return end_; }
    std::optional<Picoseconds> cursor() const { return cursor_; }
    const Selection& selection() const { return selection_; }
    int litMicrobatch() const { return litMicrobatch_; }

    /// Setters signal only when something changed.
    void setVisible(Picoseconds begin, Picoseconds end);
    void setCursor(std::optional<Picoseconds> time);
    void select(const Selection& selection);
    void lightMicrobatch(int microbatch);  ///< -1: none

signals:
    void visibleChanged();
    void cursorChanged();
    void selectionChanged();
    void lightChanged();

private:
    Picoseconds begin_ = 0;
    Picoseconds end_ = 1;
    std::optional<Picoseconds> cursor_;
    Selection selection_;
    int litMicrobatch_ = -1;
};

}  // namespace foreshard::gui
