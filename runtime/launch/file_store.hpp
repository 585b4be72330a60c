#pragma once

#include <memory>

#include "runtime/launch/store.hpp"

namespace foreshard::runtime {

/// A store in a folder that all hosts share, for clusters where no port is open between nodes. Slow; files carry the
/// run id in their names, so those that another run left behind are not read.
class FileStore {
public:
    /// @throws TransportError when the folder cannot be written to
    /// @throws InputError when this rank's files of a run with this id lie there already
    FileStore(const std::string& folder, const std::string& run_id, int rank);
    /// Removes the files that this process wrote for several readers; what one reads it removes itself. All ranks
    /// should have met before.
    ~FileStore();
    FileStore(const FileStore&) = delete;
    FileStore& operator=(const FileStore&) = delete;

    Store store();  ///< valid as long as this lives

private:
    class Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace foreshard::runtime
