#include "runtime/cuda/blas.hpp"

#include <utility>

#include <fmt/format.h>

#include "runtime/cuda/check.hpp"

namespace foreshard::runtime::cuda {

namespace {

/// cuBLAS' advice for Hopper.
constexpr std::size_t workspace_bytes = std::size_t{32} << 20;

cudaDataType_t data_type(ElementType type) {
    switch (type) {
        case ElementType::fp32:
            return CUDA_R_32F;
        case ElementType::fp64:
            return CUDA_R_64F;
        case ElementType::bf16:
            return CUDA_R_16BF;
    }
    return CUDA_R_32F;
}

cublasComputeType_t compute_type(ElementType type, MathMode mode) {
    if (type == ElementType::fp64) return CUBLAS_COMPUTE_64F;
    return type == ElementType::fp32 && mode == MathMode::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
}

class Operation {
public:
    Operation(const Gemm& gemm, MathMode mode) {
        check(cublasLtMatmulDescCreate(&desc_, compute_type(gemm.type, mode), data_type(state_type_of(gemm.type))),
              "cublasLtMatmulDescCreate");
        // cuBLAS thinks in columns: it computes the transpose, with the factors in the other order.
        set(CUBLASLT_MATMUL_DESC_TRANSA, gemm.b.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
        set(CUBLASLT_MATMUL_DESC_TRANSB, gemm.a.transposed ? CUBLAS_OP_T : CUBLAS_OP_N);
        if (gemm.bias == nullptr) return;
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
        set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, data_type(gemm.type));
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, gemm.bias);
    }
    ~Operation() { cublasLtMatmulDescDestroy(desc_); }
    Operation(const Operation&) = delete;
    Operation& operator=(const Operation&) = delete;
    cublasLtMatmulDesc_t get() const { return desc_; }

private:
    template <class Value>
    void set(cublasLtMatmulDescAttributes_t attribute, Value value) {
        check(cublasLtMatmulDescSetAttribute(desc_, attribute, &value, sizeof(value)),
              "cublasLtMatmulDescSetAttribute");
    }
    cublasLtMatmulDesc_t desc_ = nullptr;
};

/// A row-major operand as cuBLAS' matrix of columns.
class Layout {
public:
    Layout(const GemmOperand& operand, std::int64_t rows, std::int64_t columns, int batch, ElementType type) {
        if (operand.transposed) std::swap(rows, columns);
        check(cublasLtMatrixLayoutCreate(&layout_, data_type(type), static_cast<std::uint64_t>(columns),
                                         static_cast<std::uint64_t>(rows), operand.leading),
              "cublasLtMatrixLayoutCreate");
        if (batch == 1) return;
        set(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, batch);
        set(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, operand.step);
    }
    ~Layout() { cublasLtMatrixLayoutDestroy(layout_); }
    Layout(const Layout&) = delete;
    Layout& operator=(const Layout&) = delete;
    cublasLtMatrixLayout_t get() const { return layout_; }

private:
    template <class Value>
    void set(cublasLtMatrixLayoutAttribute_t attribute, Value value) {
        check(cublasLtMatrixLayoutSetAttribute(layout_, attribute, &value, sizeof(value)),
              "cublasLtMatrixLayoutSetAttribute");
    }
    cublasLtMatrixLayout_t layout_ = nullptr;
};

class Preference {
public:
    Preference() {
        check(cublasLtMatmulPreferenceCreate(&preference_), "cublasLtMatmulPreferenceCreate");
        const std::size_t most = workspace_bytes;
        check(cublasLtMatmulPreferenceSetAttribute(preference_, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
                                                   sizeof(most)),
              "cublasLtMatmulPreferenceSetAttribute");
    }
    ~Preference() { cublasLtMatmulPreferenceDestroy(preference_); }
    Preference(const Preference&) = delete;
    Preference& operator=(const Preference&) = delete;
    cublasLtMatmulPreference_t get() const { return preference_; }

    /// Tensors may begin anywhere in a flat buffer of parameters.
    void set_alignment(cublasLtMatmulPreferenceAttributes_t attribute, const std::byte* data) {
        const auto address = reinterpret_cast<std::uintptr_t>(data);
        const auto bytes = static_cast<std::uint32_t>(address % 256 == 0 ? 256 : address & (~address + 1));
        check(cublasLtMatmulPreferenceSetAttribute(preference_, attribute, &bytes, sizeof(bytes)),
              "cublasLtMatmulPreferenceSetAttribute");
    }

private:
    cublasLtMatmulPreference_t preference_ = nullptr;
};

std::int64_t alignment_of(const std::byte* data) {
    return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(data) % 256);
}

}  // namespace

DeviceBytes::DeviceBytes(std::size_t bytes) {
    void* data = nullptr;
    check(cudaMalloc(&data, bytes), fmt::format("cudaMalloc of {} bytes", bytes));
    data_.reset(data);
}

Blas::Blas(MathMode mode) : mode_(mode), workspace_(workspace_bytes) {
    cublasLtHandle_t handle = nullptr;
    check(cublasLtCreate(&handle), "cublasLtCreate");
    handle_.reset(handle);
}

const cublasLtMatmulAlgo_t& Blas::algorithm(const Gemm& gemm, cublasLtMatmulDesc_t operation,
                                            const cublasLtMatrixLayout_t layouts[3]) {
    const Shape shape{gemm.rows,
                      gemm.columns,
                      gemm.inner,
                      gemm.batch,
                      gemm.a.leading,
                      gemm.b.leading,
                      gemm.c.leading,
                      gemm.a.step,
                      gemm.b.step,
                      gemm.c.step,
                      alignment_of(gemm.a.data),
                      alignment_of(gemm.b.data),
                      alignment_of(gemm.c.data),
                      alignment_of(gemm.bias),
                      static_cast<std::int64_t>(gemm.a.transposed) + 2 * static_cast<std::int64_t>(gemm.b.transposed) +
                          4 * static_cast<std::int64_t>(gemm.bias != nullptr) +
                          8 * static_cast<std::int64_t>(gemm.beta != 0.0),
                      static_cast<std::int64_t>(gemm.type),
                      static_cast<std::int64_t>(gemm.out)};
    const auto known = algorithms_.find(shape);
    if (known != algorithms_.end()) return known->second;
    Preference preference;
    preference.set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, gemm.b.data);
    preference.set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, gemm.a.data);
    preference.set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, gemm.c.data);
    preference.set_alignment(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, gemm.c.data);
    cublasLtMatmulHeuristicResult_t found{};
    int count = 0;
    const cublasStatus_t status = cublasLtMatmulAlgoGetHeuristic(
        handle_.get(), operation, layouts[0], layouts[1], layouts[2], layouts[2], preference.get(), 1, &found, &count);
    check(count == 0 && status == CUBLAS_STATUS_SUCCESS ? CUBLAS_STATUS_NOT_SUPPORTED : status,
          fmt::format("cublasLtMatmulAlgoGetHeuristic of a product of {} x {} x {}, {} to {}", gemm.rows, gemm.columns,
                      gemm.inner, to_string(gemm.type), to_string(gemm.out)));
    return algorithms_.emplace(shape, found.algo).first->second;
}

void Blas::multiply(const Gemm& gemm, cudaStream_t stream) {
    if (gemm.rows == 0 || gemm.columns == 0) return;
    const Operation operation(gemm, mode_);
    const Layout first(gemm.b, gemm.inner, gemm.columns, gemm.batch, gemm.type);
    const Layout second(gemm.a, gemm.rows, gemm.inner, gemm.batch, gemm.type);
    const Layout result(gemm.c, gemm.rows, gemm.columns, gemm.batch, gemm.out);
    const cublasLtMatrixLayout_t layouts[] = {first.get(), second.get(), result.get()};
    const cublasLtMatmulAlgo_t& chosen = algorithm(gemm, operation.get(), layouts);
    const bool wide = gemm.type == ElementType::fp64;
    const auto alpha = static_cast<float>(gemm.alpha);
    const auto beta = static_cast<float>(gemm.beta);
    const void* scales[] = {wide ? static_cast<const void*>(&gemm.alpha) : &alpha,
                            wide ? static_cast<const void*>(&gemm.beta) : &beta};
    check(cublasLtMatmul(handle_.get(), operation.get(), scales[0], gemm.b.data, layouts[0], gemm.a.data, layouts[1],
                         scales[1], gemm.c.data, layouts[2], gemm.c.data, layouts[2], &chosen, workspace_.get(),
                         workspace_bytes, stream),
          "cublasLtMatmul");
}

}  // namespace foreshard::runtime::cuda
