#pragma once

#include <Eigen/Core>

#include "runtime/tensor.hpp"

/// Views of tensors as Eigen matrices.
namespace foreshard::runtime::cpu {

template <class T>
using Matrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using MatrixView = Eigen::Map<Matrix<T>>;
/// Columns of a wider matrix.
template <class T>
using BlockView = Eigen::Map<Matrix<T>, 0, Eigen::OuterStride<>>;

template <class T>
T* data_of(Tensor tensor) {
    return reinterpret_cast<T*>(tensor.data);
}

template <class T>
MatrixView<T> view(Tensor tensor) {
    return MatrixView<T>(data_of<T>(tensor), tensor.rows, tensor.columns);
}

template <class T>
T* row_of(Tensor tensor, std::int64_t row) {
    return data_of<T>(tensor) + row * tensor.columns;
}

/// `columns` columns from (row, column) on.
template <class T>
BlockView<T> block(Tensor tensor, std::int64_t row, std::int64_t column, std::int64_t rows, std::int64_t columns) {
    return BlockView<T>(row_of<T>(tensor, row) + column, rows, columns, Eigen::OuterStride<>(tensor.columns));
}

}  // namespace foreshard::runtime::cpu
