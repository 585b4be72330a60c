#include "sim/plan/schedule_request.hpp"

#include "sim/plan/schedule_csv.hpp"
#include "sim/spec/text_file.hpp"

namespace foreshard {

JobRequest with_schedule_counts(JobRequest request) {
    if (!request.schedule_file) return request;
    if (const auto* name = std::get_if<std::string>(&*request.schedule_file)) {
        request.schedule_file = ScheduleFile{.name = *name, .text = read_text_file(*name)};
    }
    const auto& file = std::get<ScheduleFile>(*request.schedule_file);
    const ScheduleExtent extent = schedule_extent(file.name, file.text);
    request.schedule_counts = ScheduleCounts{extent.ranks, extent.stages, extent.microbatches};
    return request;
}

}  // namespace foreshard
