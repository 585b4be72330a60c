#include "runtime/cuda/bodies/norm.hpp"
#include "runtime/cuda/kernels.hpp"
#include "runtime/cuda/launch.hpp"

namespace foreshard::runtime::cuda::kernels {

void norm_statistics(Queue queue, bool centred, Tensor x, Tensor statistics) {
    with_types(x.type, [&]<class A, class C>(Types<A, C>) {
        const NormStatistics<A, C> work{data_of<A>(x), data_of<C>(statistics), x.columns, centred};
        launch_blocks(queue, "norm statistics", work, x.rows, block_threads * sizeof(C));
    });
}

void norm(Queue queue, Tensor x, Tensor statistics, Tensor weight, Tensor bias, Tensor y) {
    with_types(x.type, [&]<class A, class C>(Types<A, C>) {
        const Norm<A, C> work{data_of<A>(x),    data_of<C>(statistics), data_of<A>(weight),
                              data_of<A>(bias), data_of<A>(y),          x.columns};
        launch_each(queue, "norm", work, y.size());
    });
}

/// Parameters first: dx may lie in dy.
void norm_grad(Queue queue, bool centred, Tensor dy, Tensor x, Tensor statistics, Tensor weight, Tensor residual,
               Tensor dx, Tensor dweight, Tensor dbias) {
    with_types(x.type, [&]<class A, class C>(Types<A, C>) {
        const std::size_t shared = block_threads * sizeof(C);
        const NormWeightGrad<A, C> of_weight{data_of<A>(dy),      data_of<A>(x), data_of<C>(statistics),
                                             data_of<C>(dweight), x.rows,        x.columns};
        launch_blocks(queue, "norm weight gradient", of_weight, parts(x.columns, summed_columns), shared);
        if (dbias) bias_grad(queue, dy, dbias);
        const NormInputGrad<A, C> of_input{data_of<A>(dy),
                                           data_of<A>(x),
                                           data_of<C>(statistics),
                                           data_of<A>(weight),
                                           data_of<A>(residual),
                                           data_of<A>(dx),
                                           x.columns,
                                           centred};
        launch_blocks(queue, "norm gradient", of_input, x.rows, shared);
    });
}

void bias_grad(Queue queue, Tensor dy, Tensor bias) {
    with_types(dy.type, [&]<class A, class C>(Types<A, C>) {
        const BiasGrad<A, C> work{data_of<A>(dy), data_of<C>(bias), dy.rows, dy.columns};
        launch_blocks(queue, "bias gradient", work, parts(dy.columns, summed_columns), block_threads * sizeof(C));
    });
}

}  // namespace foreshard::runtime::cuda::kernels
