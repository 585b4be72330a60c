#pragma once

#include <functional>
#include <string>

#include <nlohmann/json.hpp>

#include "sim/plan/dry_run.hpp"
#include "sim/plan/schedule_csv.hpp"

/// Action lists made by other code, with their makespans and peaks; a line of the table is one list.
namespace foreshard::test {

/// Calls use(line of the file); skips the test when the data is not there.
void for_each_oracle(const std::string& name, const std::function<void(const nlohmann::json&)>& use);

/// The grid as CSV; with `fuse_pairs` the pairs that the line names become one cell, "0F3&1B0".
std::string csv_of(const nlohmann::json& oracle, bool fuse_pairs);

/// Shape to read the CSV with; `checked` gives the line's micro-batches, chunks and placement too.
ScheduleShape shape_of(const nlohmann::json& oracle, bool checked);

/// Whole picoseconds of the table's times.
Picoseconds oracle_time(double units);
/// Costs of one entry of a line's results.
PassCosts costs_of(const nlohmann::json& result, int stages);

}  // namespace foreshard::test
