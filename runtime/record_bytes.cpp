#include "runtime/record_bytes.hpp"

#include <cstring>

namespace foreshard::runtime {

namespace {

using Word = std::int64_t;

Word word_of(Clock::time_point time) {
    return time.time_since_epoch().count();
}

Clock::time_point time_of(Word word) {
    return Clock::time_point(Clock::duration(word));
}

void add_ops(const OpSpans& spans, Clock::duration ahead, std::vector<Word>& words) {
    words.push_back(static_cast<Word>(spans.ops.size()));
    for (const OpSpan& span : spans.ops) {
        words.insert(words.end(), {span.op, span.call, word_of(span.start - ahead), word_of(span.end - ahead)});
    }
    words.push_back(static_cast<Word>(spans.calls.size()));
    for (const CallSpan& span : spans.calls) {
        words.insert(words.end(), {word_of(span.issued - ahead), word_of(span.met - ahead), word_of(span.end - ahead)});
    }
}

void add_run(const RunRecord& run, Clock::duration ahead, std::vector<Word>& words) {
    words.insert(words.end(), {word_of(run.start - ahead), word_of(run.end - ahead), run.warmup ? 1 : 0,
                               run.spans.first_task, static_cast<Word>(run.spans.spans.size())});
    for (const TaskSpan& span : run.spans.spans) {
        words.insert(words.end(),
                     {word_of(span.issued - ahead), word_of(span.start - ahead), word_of(span.end - ahead)});
    }
    add_ops(run.ops, ahead, words);
}

class RecordReader {
public:
    explicit RecordReader(std::vector<Word> words) : words_(std::move(words)) {}
    Word next() { return words_[place_++]; }

    RunRecord run() {
        RunRecord run;
        run.start = time_of(next());
        run.end = time_of(next());
        run.warmup = next() != 0;
        run.spans.first_task = static_cast<std::int32_t>(next());
        run.spans.spans.resize(static_cast<std::size_t>(next()));
        for (TaskSpan& span : run.spans.spans) {
            span.issued = time_of(next());
            span.start = time_of(next());
            span.end = time_of(next());
        }
        run.ops = ops();
        return run;
    }

    OpSpans ops() {
        OpSpans spans;
        spans.ops.resize(static_cast<std::size_t>(next()));
        for (OpSpan& span : spans.ops) {
            span.op = static_cast<std::int32_t>(next());
            span.call = static_cast<std::int32_t>(next());
            span.start = time_of(next());
            span.end = time_of(next());
        }
        spans.calls.resize(static_cast<std::size_t>(next()));
        for (CallSpan& span : spans.calls) {
            span.issued = time_of(next());
            span.met = time_of(next());
            span.end = time_of(next());
        }
        return spans;
    }

private:
    std::vector<Word> words_;
    std::size_t place_ = 0;
};

}  // namespace

std::vector<std::byte> to_bytes(const RankRecord& record, const ClockOffset& clock) {
    std::vector<Word> words = {record.rank, clock.ahead.count(), clock.residual.count()};
    words.insert(words.end(), record.high_water.bytes.begin(), record.high_water.bytes.end());
    const PoolUse& pool = record.pool;
    for (const std::size_t part : {pool.reserved, pool.most}) words.push_back(static_cast<Word>(part));
    words.push_back(pool.ranges);
    words.push_back(record.updated_elements);
    words.push_back(static_cast<Word>(record.runs.size()));
    for (const RunRecord& run : record.runs) add_run(run, clock.ahead, words);
    const auto bytes = std::as_bytes(std::span(words));
    return {bytes.begin(), bytes.end()};
}

TimedRecord from_bytes(std::span<const std::byte> bytes) {
    std::vector<Word> words(bytes.size() / sizeof(Word));
    std::memcpy(words.data(), bytes.data(), bytes.size());
    RecordReader reader(std::move(words));
    TimedRecord timed;
    timed.record.rank = static_cast<int>(reader.next());
    timed.clock.ahead = std::chrono::nanoseconds(reader.next());
    timed.clock.residual = std::chrono::nanoseconds(reader.next());
    for (std::int64_t& part : timed.record.high_water.bytes) part = reader.next();
    timed.record.pool.reserved = static_cast<std::size_t>(reader.next());
    timed.record.pool.most = static_cast<std::size_t>(reader.next());
    timed.record.pool.ranges = static_cast<int>(reader.next());
    timed.record.updated_elements = reader.next();
    const Word runs = reader.next();
    for (Word i = 0; i < runs; ++i) timed.record.runs.push_back(reader.run());
    return timed;
}

}  // namespace foreshard::runtime
