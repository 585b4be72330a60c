#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/element.hpp"

namespace foreshard::runtime::cuda {

/// A matrix, or as many as the batch says; row-major, `leading` elements from row to row and `step` from matrix to
/// matrix.
struct GemmOperand {
    std::byte* data = nullptr;
    std::int64_t leading = 0;
    std::int64_t step = 0;
    bool transposed = false;  ///< of factors
};

/// c(rows, columns) = alpha a(rows, inner) b(inner, columns) + beta c + bias(1, columns); the bias may be none.
/// Factors and bias are of `type`, products are added up in its state's type, c is of `out`.
struct Gemm {
    std::int64_t rows = 0;
    std::int64_t columns = 0;
    std::int64_t inner = 0;
    GemmOperand a;
    GemmOperand b;
    GemmOperand c;
    int batch = 1;
    double alpha = 1.0;
    double beta = 0.0;
    std::byte* bias = nullptr;
    ElementType type = ElementType::fp32;
    ElementType out = ElementType::fp32;
};

}  // namespace foreshard::runtime::cuda
