#pragma once

#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include "sim/search/search.hpp"
#include "sim/search/sweep.hpp"

namespace foreshard::cli {

/// Plans of a search as they are found: lines of JSON in a file, and lines for people on stderr.
class FoundPlanLines {
public:
    /// @param file "-": standard output @param verbose on stderr also where it is no terminal
    /// @throws InputError when the file cannot be written
    FoundPlanLines(const std::optional<std::string>& file, bool verbose);

    /// Every line is written at once, so that others can read along. @throws InputError when it cannot be written
    void show(const Improvement& improvement);
    /// Of a sweep. @throws as above
    void show(const SweepPoint& point, const Improvement& improvement);

private:
    struct Close {
        void operator()(std::FILE* file) const;
    };

    bool told(const Improvement& improvement) const { return told_ && (improvement.best || improvement.on_front); }
    void tell(const std::string& line) const;
    void write(const std::string& line);

    std::string name_;
    std::unique_ptr<std::FILE, Close> file_;  ///< null: none is wanted
    bool terminal_;
    bool told_;
};

}  // namespace foreshard::cli
