#include "runtime/cuda/bodies/loss.hpp"
#include "runtime/cuda/kernels.hpp"
#include "runtime/cuda/launch.hpp"

namespace foreshard::runtime::cuda::kernels {

void softmax_parts(Queue queue, const std::int32_t* targets, Vocabulary part, Tensor logits, Tensor maximum, Tensor sum,
                   Tensor target) {
    with_types(logits.type, [&]<class A, class C>(Types<A, C>) {
        const VocabularySoftmax<A, C> work{
            targets,           part, data_of<A>(logits), logits.columns, data_of<C>(maximum), data_of<C>(sum),
            data_of<C>(target)};
        launch_blocks(queue, "softmax of logits", work, logits.rows, block_threads * sizeof(C));
    });
}

void softmax_rescale_logits(Queue queue, Tensor maximum, Tensor logits, Tensor own_maximum) {
    with_types(logits.type, [&]<class A, class C>(Types<A, C>) {
        const RescaleLogits<A, C> work{data_of<C>(own_maximum), data_of<C>(maximum), data_of<A>(logits),
                                       logits.columns};
        launch_each(queue, "softmax rescaling", work, logits.size());
    });
}

void softmax_rescale_sums(Queue queue, Tensor maximum, Tensor own_maximum, Tensor sum) {
    with_types(sum.type, [&]<class A, class C>(Types<A, C>) {
        const RescaleSums<C> work{data_of<C>(own_maximum), data_of<C>(maximum), data_of<C>(sum)};
        launch_each(queue, "softmax rescaling", work, sum.size());
    });
}

void softmax_divide(Queue queue, Tensor sum, Tensor logits) {
    with_types(logits.type, [&]<class A, class C>(Types<A, C>) {
        const DivideLogits<A, C> work{data_of<C>(sum), data_of<A>(logits), logits.columns};
        launch_each(queue, "softmax division", work, logits.size());
    });
}

void cross_entropy(Queue queue, const std::int32_t* targets, Tensor maximum, Tensor sum, Tensor target, double scale,
                   Tensor loss) {
    const auto run = [&]<class C>(C) {
        const CrossEntropy<C> work{targets, data_of<C>(maximum),  data_of<C>(sum), data_of<C>(target), sum.size(),
                                   scale,   data_of<double>(loss)};
        launch_blocks(queue, "cross-entropy", work, 1, block_threads * sizeof(double));
    };
    sum.type == ElementType::fp64 ? run(0.0) : run(0.0F);
}

void cross_entropy_grad(Queue queue, const std::int32_t* targets, Vocabulary part, double scale, Tensor probabilities) {
    with_types(probabilities.type, [&]<class A, class C>(Types<A, C>) {
        const CrossEntropyGrad<A, C> work{targets, part, static_cast<C>(scale), data_of<A>(probabilities),
                                          probabilities.columns};
        launch_each(queue, "cross-entropy gradient", work, probabilities.size());
    });
}

}  // namespace foreshard::runtime::cuda::kernels
