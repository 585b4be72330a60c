#include "tests/support/conv_nets.hpp"

namespace foreshard::test {

namespace {

/// Builds the list layer by layer; the image shrinks at strides.
class Net {
public:
    void conv(std::int64_t in, std::int64_t out, int kernel, int side) {
        const std::int64_t weights = in * out * kernel * kernel;
        add("conv.weight", weights, static_cast<double>(weights) * side * side);
        ++unit_;
    }
    void norm(std::int64_t width) {
        add("bn.weight", width, 0.0);
        add("bn.bias", width, 0.0);
    }
    void classifier(std::int64_t in, std::int64_t out) {
        add("fc.weight", in * out, static_cast<double>(in * out));
        add("fc.bias", out, 0.0);
    }
    std::vector<ConvTensor> take() { return std::move(list_); }

private:
    void add(std::string_view name, std::int64_t elements, double macs) {
        list_.push_back({{name, elements, unit_}, macs});
    }
    std::vector<ConvTensor> list_;
    std::int32_t unit_ = 0;
};

void basic_block(Net& net, std::int64_t in, std::int64_t width, int side) {
    net.conv(in, width, 3, side);
    net.norm(width);
    net.conv(width, width, 3, side);
    net.norm(width);
    if (in == width) return;
    net.conv(in, width, 1, side);
    net.norm(width);
}

/// v1.5: the stride is in the 3x3 convolution.
void bottleneck(Net& net, std::int64_t in, std::int64_t width, int side_in, int side, bool first) {
    net.conv(in, width, 1, side_in);
    net.norm(width);
    net.conv(width, width, 3, side);
    net.norm(width);
    net.conv(width, 4 * width, 1, side);
    net.norm(4 * width);
    if (!first) return;
    net.conv(in, 4 * width, 1, side);
    net.norm(4 * width);
}

}  // namespace

std::vector<ConvTensor> resnet18() {
    Net net;
    net.conv(3, 64, 7, 112);
    net.norm(64);
    std::int64_t in = 64;
    int side = 56;
    for (const std::int64_t width : {64, 128, 256, 512}) {
        basic_block(net, in, width, side);
        basic_block(net, width, width, side);
        in = width;
        side /= 2;
    }
    net.classifier(512, 1000);
    return net.take();
}

std::vector<ConvTensor> resnet50() {
    Net net;
    net.conv(3, 64, 7, 112);
    net.norm(64);
    std::int64_t in = 64;
    int side = 56;
    const int depth[] = {3, 4, 6, 3};
    int stage = 0;
    for (const std::int64_t width : {64, 128, 256, 512}) {
        for (int i = 0; i < depth[stage]; ++i) {
            const int side_in = i == 0 && stage > 0 ? 2 * side : side;
            bottleneck(net, in, width, side_in, side, i == 0);
            in = 4 * width;
        }
        side /= 2;
        ++stage;
    }
    net.classifier(2048, 1000);
    return net.take();
}

std::vector<GradientTensor> in_ready_order(const std::vector<ConvTensor>& net) {
    std::vector<GradientTensor> tensors;
    for (auto layer = net.rbegin(); layer != net.rend(); ++layer) tensors.push_back(layer->tensor);
    return tensors;
}

std::int64_t total_elements(const std::vector<GradientTensor>& tensors) {
    std::int64_t sum = 0;
    for (const GradientTensor& tensor : tensors) sum += tensor.elements;
    return sum;
}

}  // namespace foreshard::test
