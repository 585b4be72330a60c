#include "gui/app/document.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "sim/engine/stoppable.hpp"
#include "sim/error.hpp"
#include "sim/plan/schedule_request.hpp"
#include "sim/result/without_bubbles.hpp"
#include "sim/spec/catalogue.hpp"
#include "traces/file_kind.hpp"
#include "traces/read_report.hpp"
#include "traces/read_trace.hpp"
#include "traces/report_run.hpp"

namespace foreshard::gui {

namespace {

Document evaluated(std::string name, const JobRequest& request, const Job& job, const std::stop_token& stop) {
    Document document;
    document.name = name;
    document.request = request;
    document.base = request;
    document.evaluation = std::make_unique<Evaluation>(evaluate(job, stop));
    check_stop(stop);
    const Evaluation& e = *document.evaluation;
    document.run = make_run(std::move(name), e.job, e.graph, e.timeline, e.report);
    document.warnings = e.report.warnings;
    return document;
}

std::string shortName(const std::string& source) {
    return is_file_name(source) ? std::filesystem::path(source).filename().string() : source;
}

Document openJob(const std::string& source, const std::stop_token& stop) {
    Document document = simulateRequest(shortName(source), load_job_request(source), stop);
    document.source = source;
    return document;
}

Document measuredRun(const ReadReport& report, const std::string& source) {
    Document document;
    document.name = shortName(source);
    document.source = source;
    document.run = run_with_spans(report);
    document.run.name = document.name;
    return document;
}

Opened openReport(const std::string& source, const std::stop_token& stop) {
    const ReadReport report = read_report(source);
    const bool measured = report.source != RunSource::simulated;
    const std::string name = (measured ? "prediction of " : "") + shortName(source);
    Opened opened;
    opened.documents.push_back(simulateRequest(name, report.job, stop));
    Document& predicted = opened.documents.front();
    predicted.source = source;
    for (std::string& line : mismatches(report, predicted.run.figures)) {
        predicted.warnings.push_back("simulated again, the report differs: " + std::move(line));
    }
    if (measured) opened.documents.push_back(measuredRun(report, source));
    return opened;
}

Document openTrace(const std::string& source, const std::stop_token& stop) {
    Document document;
    TraceLimits limits;
    limits.stop = stop;
    document.run = read_trace(source, limits);
    check_stop(stop);
    document.name = shortName(source);
    document.run.name = document.name;
    document.source = source;
    return document;
}

bool isPlanId(const std::string& source) {
    return !is_file_name(source) && !std::filesystem::exists(source);
}

}  // namespace

std::string brokenText(const std::vector<BrokenRule>& broken) {
    std::string text;
    for (const BrokenRule& rule : broken) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", rule.fields, rule.rule);
        if (!rule.nearest.empty()) text += fmt::format(" (nearest: {})", rule.nearest);
    }
    return text;
}

Document simulateRequest(std::string name, const JobRequest& request, const std::stop_token& stop) {
    const Job job = resolve(with_schedule_counts(request));
    const std::vector<BrokenRule> broken = check(job);
    if (!broken.empty()) throw InputError(name, "", "the plan cannot run: " + brokenText(broken));
    return evaluated(std::move(name), request, job, stop);
}

Outcome tryRequest(std::string name, const JobRequest& request, const std::stop_token& stop) {
    Outcome outcome;
    try {
        const Job job = resolve(with_schedule_counts(request));
        outcome.broken = check(job);
        if (outcome.broken.empty()) outcome.document = evaluated(std::move(name), request, job, stop);
    } catch (const Stopped&) {
        outcome.broken.clear();
    } catch (const InputError& error) {
        outcome.flag = error.source();
        outcome.error = error.what();
    } catch (const std::exception& error) {
        outcome.error = std::string("internal error: ") + error.what();
    }
    return outcome;
}

Opened openSource(const std::string& source, const std::stop_token& stop) {
    Opened opened;
    const FileKind kind = isPlanId(source) ? FileKind::job : kind_of_file(source);
    switch (kind) {
        case FileKind::job:
            opened.documents.push_back(openJob(source, stop));
            break;
        case FileKind::report:
            return openReport(source, stop);
        case FileKind::search:
            opened.search = read_search(source);
            break;
        case FileKind::trace:
            opened.documents.push_back(openTrace(source, stop));
            break;
    }
    return opened;
}

Document bubbleFree(const Document& document) {
    Document ideal;
    ideal.run = without_bubbles(document.run);
    ideal.name = document.name + " without bubbles";
    ideal.run.name = ideal.name;
    return ideal;
}

}  // namespace foreshard::gui
