#pragma once

#include <string>
#include <vector>

#include "sim/search/search.hpp"

/// Money, energy and time to train as columns of tables.
namespace foreshard {

/// Of the figures that any of the plans knows.
class FigureColumns {
public:
    explicit FigureColumns(const std::vector<const PlanFigures*>& plans);
    explicit FigureColumns(const std::vector<FoundPlan>& plans);

    bool empty() const { return shown_.empty(); }
    std::string header() const;
    std::string cells(const PlanFigures& figures) const;  ///< "-" for what a plan does not know
    std::string csv_header() const;                       ///< each name with a comma in front
    std::string csv_cells(const PlanFigures& figures) const;

    /// A line on what the figures leave out because nobody said it; mostly empty.
    std::string note(const OperatingFigures& operation) const;

private:
    struct Column {
        const char* key;
        std::optional<double> PlanFigures::*member;
    };
    void find(const std::vector<const PlanFigures*>& plans);
    std::vector<Column> shown_;
};

}  // namespace foreshard
