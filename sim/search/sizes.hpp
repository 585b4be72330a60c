#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// Sizes of a sweep as people write them: numbers, lists and ranges, "8,64..512,1000..2000:250". A range stands for the
/// sizes that make sense in it, not for every number; with a step it counts from its first number.
namespace foreshard {

/// GPUs, in ascending order. A range holds a node times powers of two, and below one node the divisors of its GPUs.
/// @throws InputError naming --gpus and the part that is malformed, or a range that holds none of these
std::vector<int> parse_gpu_sizes(const std::string& text, int gpus_per_node);

/// GPUs of so many nodes. A range holds powers of two. @throws InputError naming --nodes
std::vector<int> parse_node_sizes(const std::string& text, int gpus_per_node);

/// Sequences a step. A range doubles its first number. @throws InputError naming --gbs
std::vector<std::int64_t> parse_batch_sizes(const std::string& text);

}  // namespace foreshard
