#include "sim/spec/kernel_table.hpp"

namespace foreshard {

KernelTable scaled_to_peak(KernelTable table, double peak_tflops) {
    const double ratio = peak_tflops / table.peak_tflops;
    for (RateTable* rates : {&table.gemm, &table.attention}) {
        for (double& rate : rates->tflops) rate *= ratio;
    }
    table.peak_tflops = peak_tflops;
    return table;
}

}  // namespace foreshard
