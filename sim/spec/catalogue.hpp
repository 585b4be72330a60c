#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/spec/cluster_spec.hpp"
#include "sim/spec/job_request.hpp"
#include "sim/spec/model_spec.hpp"
#include "sim/spec/software_profile.hpp"

/// The models, clusters, ... that are compiled into the library, and files of the same formats.
namespace foreshard {

struct CatalogueEntry {
    std::string_view kind;  ///< its folder: "models", "clusters", ...
    std::string_view id;
    std::string_view text;  ///< its JSON
};

/// "models", "clusters", "devices", "software", "calibrations", "plans".
const std::vector<std::string>& catalogue_kinds();

/// All entries of a kind, sorted by id; empty for an unknown kind.
std::vector<CatalogueEntry> catalogue(std::string_view kind);

/// @throws InputError naming close ids when there is no such entry
CatalogueEntry find_in_catalogue(std::string_view kind, const std::string& id);

/// The JSON Schema of a format: "model" or "foreshard.model". @throws InputError with the list of names
std::string_view schema_text(const std::string& name);

/// True for a name that means a file: it contains '/' or ends in ".json".
bool is_file_name(const std::string& name);

/// An entry by its id, or a file by its name.
/// @throws UnreadableFile or InputError
LoadedModel load_model(const std::string& name);
ClusterSpec load_cluster(const std::string& name);
DeviceSpec load_device(const std::string& name);
std::vector<CollectiveFit> load_fabric(const std::string& name);
KernelTable load_kernels(const std::string& name);
SoftwareProfile load_software(const std::string& name);
SharedCalibration load_calibration(const std::string& name);
StageTimes load_stage_times(const std::string& file);
JobRequest load_job_request(const std::string& name);

/// A foreshard.kernels file.
std::string kernels_text(const KernelTable& table);

/// A foreshard.calibration file.
std::string calibration_text(const Calibration& calibration);

}  // namespace foreshard
