#include "runtime/cuda/kernels.hpp"
#include "runtime/cuda/launch.hpp"

namespace foreshard::runtime::cuda::kernels {

void rotate(Queue queue, const Heads& heads, Tensor qkv, bool back) {
    with_types(qkv.type, [&]<class A, class C>(Types<A, C>) {
        const Rotate<A, C> work{data_of<A>(qkv), heads, back};
        launch_each(queue, "rotary embedding", work, work.count());
    });
}

void score_softmax(Queue queue, const Heads& heads, Tensor scores) {
    with_types(scores.type, [&]<class A, class C>(Types<A, C>) {
        const ScoreSoftmax<A, C> work{data_of<A>(scores), heads};
        launch_blocks(queue, "softmax", work, scores.rows, block_threads * sizeof(C));
    });
}

void score_softmax_grad(Queue queue, Tensor probabilities, Tensor gradient) {
    with_types(gradient.type, [&]<class A, class C>(Types<A, C>) {
        const ScoreSoftmaxGrad<A, C> work{data_of<A>(probabilities), data_of<A>(gradient), gradient.columns};
        launch_blocks(queue, "softmax gradient", work, gradient.rows, block_threads * sizeof(C));
    });
}

}  // namespace foreshard::runtime::cuda::kernels
