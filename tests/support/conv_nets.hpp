#pragma once

#include <vector>

#include "sim/plan/data_parallel/gradient_buckets.hpp"

/// Parameter lists of torchvision's ResNets, in registration order. `unit` counts convolutions and the classifier.
namespace foreshard::test {

/// A layer with its forward work per image, for the share of backward that its gradients take.
struct ConvTensor {
    GradientTensor tensor;
    double macs = 0.0;  ///< of the layer that owns it, on 224 x 224 images; 0 for norms
};

std::vector<ConvTensor> resnet18();
std::vector<ConvTensor> resnet50();

/// Reverse of registration.
std::vector<GradientTensor> in_ready_order(const std::vector<ConvTensor>& net);
std::int64_t total_elements(const std::vector<GradientTensor>& tensors);

}  // namespace foreshard::test
