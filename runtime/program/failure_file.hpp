#pragma once

#include <filesystem>
#include <optional>
#include <string>

/// The file of --json when a job fails: whoever is left writes it.
namespace foreshard::runtime {

class FailureFile {
public:
    /// Remembers what lies at the path now.
    explicit FailureFile(std::string path);

    /// Rank 0 writes at once. Other ranks wait their turn, some milliseconds, and write unless someone has done so
    /// since the start. Readers find a whole file or none.
    /// @throws InputError when the file cannot be written
    void write(int rank, const std::string& text) const;

private:
    struct State {
        std::filesystem::file_time_type time;
        std::uintmax_t bytes = 0;
        bool operator==(const State&) const = default;
    };
    std::optional<State> state() const;

    std::string path_;
    std::optional<State> before_;
};

}  // namespace foreshard::runtime
