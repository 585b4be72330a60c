#include "runtime/cuda/bodies/rows.hpp"
#include "runtime/cuda/kernels.hpp"
#include "runtime/cuda/launch.hpp"

namespace foreshard::runtime::cuda::kernels {

void take_rows(Queue queue, const std::int32_t* ids, std::int32_t first, Tensor table, Tensor y) {
    with_types(y.type, [&]<class A, class C>(Types<A, C>) {
        const TakeRows<A> work{ids, first, data_of<A>(table), table.rows, data_of<A>(y), y.columns};
        launch_each(queue, "embedding", work, y.size());
    });
}

void add_rows(Queue queue, const std::int32_t* ids, Tensor table, Tensor y) {
    with_types(y.type, [&]<class A, class C>(Types<A, C>) {
        const AddRows<A, C> work{ids, data_of<A>(table), data_of<A>(y), y.columns};
        launch_each(queue, "embedding", work, y.size());
    });
}

void rows_grad(Queue queue, const GroupedTokens& grouped, Tensor dy, Tensor table) {
    with_types(dy.type, [&]<class A, class C>(Types<A, C>) {
        const RowsGrad<A, C> work{grouped.rows,   grouped.bounds,    grouped.tokens,
                                  data_of<A>(dy), data_of<C>(table), dy.columns};
        launch_blocks(queue, "embedding gradient", work, grouped.groups, 0);
    });
}

}  // namespace foreshard::runtime::cuda::kernels
