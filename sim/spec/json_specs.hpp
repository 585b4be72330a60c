#pragma once

#include <string>
#include <vector>

#include "sim/spec/calibration.hpp"
#include "sim/spec/cluster_spec.hpp"
#include "sim/spec/job.hpp"
#include "sim/spec/job_request.hpp"
#include "sim/spec/json_reader.hpp"
#include "sim/spec/model_spec.hpp"
#include "sim/spec/software_profile.hpp"

/// The catalogue's kinds as JSON (docs/formats.md). Readers take `source` for messages and, for an object inside
/// another file, its `path`; they throw InputError. Writers give every resolved value, with the unit in its key.
namespace foreshard {

DeviceSpec read_device(const Json& value, const std::string& source, const std::string& path = "");
std::vector<CollectiveFit> read_fabric(const Json& value, const std::string& source, const std::string& path = "");
KernelTable read_kernels(const Json& value, const std::string& source, const std::string& path = "");
Calibration read_calibration(const Json& value, const std::string& source, const std::string& path = "");
CollectiveFit read_collective_fit(JsonObject entry);

/// Names of collectives in files.
const std::vector<std::pair<std::string_view, CollectiveKind>>& collective_names();
ClusterSpec read_cluster(const Json& value, const std::string& source, const std::string& path = "");
SoftwareProfile read_software(const Json& value, const std::string& source, const std::string& path = "");
ModelSpec read_model(const Json& value, const std::string& source, const std::string& path = "");
StageTimes read_stage_times(const Json& value, const std::string& source, const std::string& path = "");
/// Names of files inside it that are relative are relative to the job file's folder.
JobRequest read_job_request(const Json& value, const std::string& source);

/// True for the config.json of a Hugging Face model repository.
bool is_hf_config(const Json& value);
/// Keys that the ModelSpec does not represent are named in the notes.
LoadedModel read_hf_config(const Json& value, const std::string& source);

OrderedJson to_json(const DeviceSpec& device);
OrderedJson to_json(const CollectiveFit& fit);
OrderedJson to_json(const KernelTable& table);
OrderedJson to_json(const Calibration& calibration);
OrderedJson to_json(const ClusterSpec& cluster);  ///< with the device and the fabric inside
OrderedJson to_json(const SoftwareProfile& software);
OrderedJson to_json(const ModelSpec& model);
OrderedJson to_json(const StageTimes& times);
OrderedJson to_json(const ParallelPlan& plan);
/// A complete job file: reading and resolving it gives the same Job.
OrderedJson to_json(const Job& job);

/// value / unit as a person would write it: the shortest number that reads back as the same value.
double in_unit(double value, double unit);

}  // namespace foreshard
