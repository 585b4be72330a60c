#include "runtime/cuda/bodies/flash.hpp"
#include "runtime/cuda/kernels.hpp"
#include "runtime/cuda/launch.hpp"

namespace foreshard::runtime::cuda::kernels {

namespace {

/// A tile has as many score elements.
constexpr int flash_threads = 256;

template <class A, class C>
FlashInput<A, C> input(const Heads& heads, Tensor qkv) {
    return {heads, C(1) / std::sqrt(static_cast<C>(heads.dim)), data_of<A>(qkv)};
}

}  // namespace

void flash(Queue queue, const Heads& heads, Tensor qkv, Tensor context, Tensor log_sum) {
    with_types(qkv.type, [&]<class A, class C>(Types<A, C>) {
        const FlashForward<A, C> work{input<A, C>(heads, qkv), data_of<A>(context), data_of<C>(log_sum)};
        launch_blocks(queue, "flash attention", work, work.blocks(), work.shared_bytes(), flash_threads);
    });
}

void flash_grad(Queue queue, const Heads& heads, Tensor qkv, Tensor context, Tensor log_sum, Tensor dcontext,
                Tensor dqkv) {
    with_types(qkv.type, [&]<class A, class C>(Types<A, C>) {
        const FlashGradInput<A, C> grad{input<A, C>(heads, qkv), data_of<A>(context), data_of<C>(log_sum),
                                        data_of<A>(dcontext)};
        const FlashQueryGrad<A, C> queries{grad, data_of<A>(dqkv)};
        const FlashKeyValueGrad<A, C> keys{grad, data_of<A>(dqkv)};
        launch_blocks(queue, "flash attention gradient", queries, queries.blocks(), queries.shared_bytes(),
                      flash_threads);
        launch_blocks(queue, "flash attention gradient", keys, keys.blocks(), keys.shared_bytes(), flash_threads);
    });
}

}  // namespace foreshard::runtime::cuda::kernels
