#include "runtime/cuda/bodies/elementwise.hpp"
#include "runtime/cuda/kernels.hpp"
#include "runtime/cuda/launch.hpp"

namespace foreshard::runtime::cuda::kernels {

void fill(Queue queue, Tensor to, double value) {
    with_types(to.type, [&]<class A, class C>(Types<A, C>) {
        launch_each(queue, "fill", Fill<A>{data_of<A>(to), static_cast<A>(value)}, to.size());
    });
}

void convert(Queue queue, Tensor from, Tensor to) {
    if (from.type == ElementType::bf16) {
        launch_each(queue, "convert", Convert<Bf16, float>{data_of<Bf16>(from), data_of<float>(to)}, to.size());
    } else {
        launch_each(queue, "convert", Convert<float, Bf16>{data_of<float>(from), data_of<Bf16>(to)}, to.size());
    }
}

void add(Queue queue, Tensor from, Tensor to) {
    with_types(to.type, [&]<class A, class C>(Types<A, C>) {
        launch_each(queue, "add", Add<A, C>{data_of<A>(from), data_of<A>(to)}, to.size());
    });
}

void spoil(Queue queue, Tensor tensor) {
    with_types(tensor.type,
               [&]<class A, class C>(Types<A, C>) { launch_each(queue, "spoil", Spoil<A, C>{data_of<A>(tensor)}, 1); });
}

void activation(Queue queue, bool gated, Tensor x, Tensor y) {
    with_types(y.type, [&]<class A, class C>(Types<A, C>) {
        if (gated) {
            launch_each(queue, "swiglu", Swiglu<A, C>{data_of<A>(x), data_of<A>(y), y.columns}, y.size());
        } else {
            launch_each(queue, "gelu", Gelu<A, C>{data_of<A>(x), data_of<A>(y)}, y.size());
        }
    });
}

void activation_grad(Queue queue, bool gated, Tensor x, Tensor dy, Tensor dx) {
    with_types(dy.type, [&]<class A, class C>(Types<A, C>) {
        if (gated) {
            const SwigluGrad<A, C> work{data_of<A>(x), data_of<A>(dy), data_of<A>(dx), dy.columns};
            launch_each(queue, "swiglu gradient", work, dy.size());
        } else {
            launch_each(queue, "gelu gradient", GeluGrad<A, C>{data_of<A>(x), data_of<A>(dy), data_of<A>(dx)},
                        dy.size());
        }
    });
}

void add_residual(Queue queue, Tensor x, Tensor branch, Tensor bias, Tensor y) {
    with_types(y.type, [&]<class A, class C>(Types<A, C>) {
        const Residual<A, C> work{data_of<A>(x), data_of<A>(branch), data_of<A>(bias), data_of<A>(y), y.columns};
        launch_each(queue, "residual", work, y.size());
    });
}

}  // namespace foreshard::runtime::cuda::kernels
