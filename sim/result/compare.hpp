#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/result/run.hpp"

/// Two runs side by side: which span of one is which of the other, and what they were run with.
namespace foreshard {

/// How well two spans are known to be the same work.
enum class MatchLevel : std::uint8_t {
    exact,    ///< rank, lane, kind, step, stage, chunk, micro-batch, name and occurrence are equal
    similar,  ///< the same without name and chunk; an input gradient stands for a backward pass
    order,    ///< the n-th of its kind on its rank, where one run is imported and does not know stage or micro-batch
};
inline constexpr int match_level_count = 3;
std::string_view to_string(MatchLevel level);

/// Spans of run A and run B that are the same work. Times are relative to the begin of each run's window.
struct SpanPair {
    std::size_t a = 0;
    std::size_t b = 0;
    MatchLevel level = MatchLevel::exact;
    Picoseconds late = 0;    ///< start in B minus start in A: positive when B is late
    Picoseconds longer = 0;  ///< length in B minus length in A
};

/// A setting whose value differs; a value is empty where the run lacks the setting.
struct SettingDifference {
    std::string name;
    std::string a;
    std::string b;
};

struct Comparison {
    std::vector<SettingDifference> settings;  ///< in the order of Run::settings
    std::vector<SpanPair> pairs;              ///< in the order of A's spans
    std::vector<std::size_t> only_a;          ///< unmatched, in the order of the table
    std::vector<std::size_t> only_b;
    std::array<std::size_t, match_level_count> matched{};  ///< pairs per level
    std::size_t outside_a = 0;  ///< of other steps, and ends of steps without length: not compared
    std::size_t outside_b = 0;
    std::vector<std::string> notes;  ///< why a comparison of times may mislead

    /// Share of the compared spans of both runs that have a partner; 1 when there is nothing to compare.
    double match_ratio() const;
};

/// Compares the spans of the window's step. Ranks meet by pipeline rank and replica (-1 stands for every replica).
Comparison compare(const Run& a, const Run& b);

/// Settings that differ, in the order of A's, then those that B alone has. "tp 8" is the setting "tp" of value "8".
/// Traces say little about what was run: of imported runs only settings that both have are compared.
std::vector<SettingDifference> differing_settings(const Run& a, const Run& b);

/// Of `settings`, those that make the work of the runs another one, whose times then say little against each other:
/// model, layers, heads, widths, batch, sequence length; layers, heads and batch first.
std::vector<SettingDifference> different_work(const std::vector<SettingDifference>& settings);

/// "num_layers 4 and 8, global_batch_size 8 and 16"
std::string pairs_text(const std::vector<SettingDifference>& settings);

/// The step that a run's figures are taken from: the one most of the window's compute time belongs to.
int window_step(const SpanTable& spans);

/// A figure of the summaries of two runs.
struct FigureDifference {
    std::string key;
    double a = 0.0;
    double b = 0.0;
    double difference() const { return b - a; }
    double ratio() const { return a != 0.0 ? b / a : 0.0; }  ///< 0: not known
};

/// Figures that both runs have, what a plan is judged by first: step time, tokens per s, MFU, bubble, exposed
/// communication, memory, then the rest; those of other programs last, by key.
std::vector<FigureDifference> compare_figures(const Run& a, const Run& b);

}  // namespace foreshard
