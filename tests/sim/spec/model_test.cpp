#include <ostream>

#include <gtest/gtest.h>

#include "sim/spec/catalogue.hpp"
#include "sim/spec/model_spec.hpp"

namespace foreshard {

namespace {

struct PublishedCount {
    const char* model;
    std::int64_t parameters;
    std::int64_t tolerance = 0;  ///< 0 where the checkpoint was counted; else the rounding of the publication
    int padded_for_tp = 0;       ///< the checkpoint holds the vocabulary as padded for this TP; 0: not padded
};

void PrintTo(const PublishedCount& count, std::ostream* out) {
    *out << count.model;
}

class ParameterCount : public ::testing::TestWithParam<PublishedCount> {};

}  // namespace

TEST_P(ParameterCount, IsAsPublished) {
    const PublishedCount& published = GetParam();
    ModelSpec model = load_model(published.model).spec;
    if (published.padded_for_tp > 0) model.vocab_size = padded_vocab(model, published.padded_for_tp);
    const std::int64_t counted = total_parameters(model);
    EXPECT_LE(std::abs(counted - published.parameters), published.tolerance) << counted;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, ParameterCount,
                         ::testing::Values(
                             // Checkpoints on the Hugging Face hub, by the sizes of their tensors.
                             PublishedCount{"gpt2-xl", 1'557'611'200}, PublishedCount{"llama2-7b", 6'738'415'616},
                             PublishedCount{"llama2-13b", 13'015'864'320}, PublishedCount{"llama2-70b", 68'976'648'192},
                             PublishedCount{"llama3-8b", 8'030'261'248}, PublishedCount{"llama3-70b", 70'553'706'496},
                             PublishedCount{"llama3-405b", 405'853'388'800},
                             PublishedCount{"mistral-7b", 7'241'732'096}, PublishedCount{"qwen2.5-7b", 7'615'616'512},
                             PublishedCount{"mixtral-8x7b", 46'702'792'704},
                             PublishedCount{"bloom-176b", 176'247'271'424, 0, 4},
                             // bert-large-uncased with its pooler has 335,141,888; the masked-LM transform, its norm
                             // and the output bias add 1024 * 1024 + 1024 + 2048 + 30522.
                             PublishedCount{"bert-large", 336'224'058},
                             // Brown et al. 2020, table 2.1: 174.6e9; ours has the padded vocabulary of 51200.
                             PublishedCount{"gpt3-175b", 174'600'000'000, 50'000'000}));

TEST(ParameterCount, EveryModelIsWithinThreePercentOfItsPublication) {
    for (const CatalogueEntry& entry : catalogue("models")) {
        const ModelSpec model = load_model(std::string(entry.id)).spec;
        if (!model.published_parameters) continue;
        EXPECT_NEAR(static_cast<double>(total_parameters(model)) / *model.published_parameters, 1.0, 0.03) << entry.id;
    }
}

// L (2S (2h^2 + 2h h_kv) + 2S h ffn n + 4 S^2 h) + 2 S h V for one layer of round numbers.
TEST(Flops, FollowTheUniformFormula) {
    ModelSpec model;
    model.num_layers = 2;
    model.hidden = 8;
    model.heads = 4;
    model.kv_heads = 2;
    model.head_dim = 2;
    model.ffn_hidden = 32;
    model.vocab_size = 100;
    const double attention = 2.0 * 16 * (2 * 8 * 8 + 2 * 8 * 4);
    const double scores = 4.0 * 16 * 16 * 8;
    const double plain_mlp = 2.0 * 16 * 8 * 32 * 2;
    const double logits = 2.0 * 16 * 8 * 100;
    EXPECT_DOUBLE_EQ(forward_flops_per_sequence(model, 16, false), 2 * (attention + plain_mlp + scores) + logits);
    EXPECT_DOUBLE_EQ(forward_flops_per_sequence(model, 16, true), 2 * (attention + plain_mlp + scores / 2) + logits);
    model.gated_mlp = true;
    EXPECT_DOUBLE_EQ(forward_flops_per_sequence(model, 16, false), 2 * (attention + plain_mlp * 1.5 + scores) + logits);
}

}  // namespace foreshard
