#include "runtime/cuda/bodies/elementwise.hpp"
#include "runtime/cuda/kernels.hpp"
#include "runtime/cuda/launch.hpp"

namespace foreshard::runtime::cuda::kernels {

namespace {

/// By the type of weights where there is a copy, else by that of states.
ElementType update_type(Tensor weight, Tensor copy) {
    return copy ? copy.type : weight.type;
}

template <class C>
AdamNumbers<C> numbers_of(const AdamScalars& s) {
    return {static_cast<C>(s.rate),        static_cast<C>(s.beta1), static_cast<C>(s.beta2),
            static_cast<C>(s.epsilon),     static_cast<C>(s.keep),  static_cast<C>(s.first_scale),
            static_cast<C>(s.second_scale)};
}

}  // namespace

void adamw(Queue queue, const AdamScalars& scalars, Tensor gradient, Tensor first_moment, Tensor second_moment,
           Tensor weight, Tensor copy) {
    with_types(update_type(weight, copy), [&]<class A, class C>(Types<A, C>) {
        const AdamW<A, C> work{numbers_of<C>(scalars),    data_of<C>(gradient), data_of<C>(first_moment),
                               data_of<C>(second_moment), data_of<C>(weight),   data_of<A>(copy)};
        launch_each(queue, "AdamW", work, weight.size());
    });
}

void sgd(Queue queue, double rate, Tensor gradient, Tensor weight, Tensor copy) {
    with_types(update_type(weight, copy), [&]<class A, class C>(Types<A, C>) {
        const Sgd<A, C> work{static_cast<C>(rate), data_of<C>(gradient), data_of<C>(weight), data_of<A>(copy)};
        launch_each(queue, "SGD", work, weight.size());
    });
}

}  // namespace foreshard::runtime::cuda::kernels
