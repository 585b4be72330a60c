#pragma once

#include <vector>

#include "sim/result/account.hpp"
#include "sim/result/spans.hpp"

namespace foreshard {

/// Where every rank's time goes over the table's window, from its spans alone: for runs whose task graph is not known.
/// Each account sums to the window exactly. Inside spans of the first compute row, collectives of TP, CP and EP rows
/// count as exposed where no kernel (of kind `other` in a row of lane `other`) runs beside them. Time between them
/// counts as exposed while a message to the rank, a gradient or parameter collective, or an offload is in flight, in
/// this order; else as bubble. A simulation knows which message is awaited, here any message counts, so the split of
/// waiting is coarser. Compute of kind `other` counts as host.
std::vector<RankAccount> accounts_of(const SpanTable& spans);

}  // namespace foreshard
