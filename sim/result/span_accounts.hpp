#pragma once

#include <vector>

#include "sim/result/account.hpp"
#include "sim/result/spans.hpp"

namespace foreshard {

/// Where every rank's time goes over the table's window, from its spans alone: for runs whose task graph is not known.
/// Each account sums to the window exactly. Inside spans of the first compute row, collectives of TP, CP and EP rows
/// count as exposed where no kernel (of kind `other` in a row of lane `other`) runs beside them. Of the time between
/// spans, that counts as exposed in which a communication is in flight that ends exactly when the gap does; where none
/// does, any message to the rank, gradient or parameter collective, or offload, in this order. The rest is bubble.
/// A communication whose partners are known is in flight for its transfer only (comm_splits). Compute of kind `other`
/// counts as host.
std::vector<RankAccount> accounts_of(const SpanTable& spans);

/// Where a kind of span counts while compute waits for it, or runs it; passes that share the vocabulary as forward.
Account account_of(SpanKind kind);

}  // namespace foreshard
