#include <algorithm>

#include "sim/plan/schedules.hpp"

/// Source: pytorch torch/distributed/pipelining/schedules.py, ScheduleZBVZeroBubble.
namespace foreshard {

namespace {

/// Writes a list for `padded` micro-batches and leaves out those from m on.
class VWriter {
public:
    VWriter(std::vector<Action>& list, int p, int rank, int m) : list_(list), stage_{rank, 2 * p - 1 - rank}, m_(m) {}

    int count(int chunk, Pass pass) const { return counts_[chunk][static_cast<std::size_t>(pass)]; }

    void add(int chunk, Pass pass) {
        const int k = counts_[chunk][static_cast<std::size_t>(pass)]++;
        if (k < m_) list_.push_back({stage_[chunk], k, pass});
    }
    void backward(int chunk) {
        add(chunk, Pass::input_grad);
        add(chunk, Pass::weight_grad);
    }

    void write(int p, int rank, int padded) {
        for (int i = 0; i < 2 * (p - rank) - 1; ++i) add(0, Pass::forward);
        for (int i = 0; i < rank; ++i) {
            add(1, Pass::forward);
            add(0, Pass::forward);
        }
        for (int i = 0; i < p - rank; ++i) {
            add(1, Pass::forward);
            backward(1);
        }
        while (count(1, Pass::forward) < count(0, Pass::forward) || count(0, Pass::forward) < padded) {
            if (count(0, Pass::forward) < padded) add(0, Pass::forward);
            backward(0);
            add(1, Pass::forward);
            backward(1);
        }
        for (int i = 0; i < rank; ++i) {
            add(0, Pass::input_grad);
            add(1, Pass::input_grad);
        }
        for (int i = 0; i < p - rank; ++i) backward(0);
        for (const int chunk : {1, 0}) {
            while (count(chunk, Pass::weight_grad) < count(chunk, Pass::input_grad)) add(chunk, Pass::weight_grad);
        }
    }

private:
    std::vector<Action>& list_;
    int stage_[2];
    int m_;
    int counts_[2][4] = {};
};

}  // namespace

Schedule zb_v_handmade_schedule(int p, int m) {
    Schedule schedule = blank_schedule("zb-v", Placement::v, p, m, 2);
    for (int r = 0; r < p; ++r) VWriter(schedule.actions[r], p, r, m).write(p, r, std::max(m, 2 * p - 1));
    return schedule;
}

}  // namespace foreshard
