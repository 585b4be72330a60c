#!/usr/bin/env python3
"""Loss and gradients of tiny transformers, computed by PyTorch: the reference of tests/runtime/pytorch_test.cpp.

    python3 make_reference.py FOLDER      (any PyTorch from 2.0 on, CPU)

Parameters and tokens are functions of counters (runtime/random.hpp, parameter_layout.cpp, data.cpp), written here again
in Python, so that nothing but results is stored. Attention, norms, losses and activations are PyTorch's own; only the
order of modules is written out. Everything in fp64.
"""

import json
import math
import sys

import torch
import torch.nn.functional as F

torch.set_default_dtype(torch.float64)
MASK64 = (1 << 64) - 1


def random_bits(key, counter):
    z = (key + (counter + 1) * 0x9E3779B97F4A7C15) & MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


def random_unit(key, counter):
    return (random_bits(key, counter) >> 11) * 2.0**-52 - 1.0


def random_key(seed, text):
    hashed = 0xCBF29CE484222325
    for letter in text.encode():
        hashed = ((hashed ^ letter) * 0x100000001B3) & MASK64
    return random_bits(hashed, seed)


LAYERS, HIDDEN, FFN, HEADS, DIM, SEQ, VOCAB, POSITIONS = 2, 64, 256, 4, 16, 12, 30, 64
MICRO_BATCH, GLOBAL_BATCH, SEED, DATA_SEED = 2, 4, 1, 1


class Model:
    """Parameters by name, made when first asked for."""

    def __init__(self, form):
        self.form = form
        self.kv_heads = 2 if form == "llama" else HEADS
        self.parameters = {}

    def get(self, name, shape, kind):
        if name in self.parameters:
            return self.parameters[name]
        key = random_key(SEED, name)
        width = 0.5 * math.sqrt(3.0 / HIDDEN)
        units = [random_unit(key, i) for i in range(math.prod(shape))]
        scale = {
            "matrix": lambda u: width * u,
            "residual": lambda u: width / math.sqrt(2.0 * LAYERS) * u,
            "norm": lambda u: 1.0 + 0.1 * u,
            "bias": lambda u: 0.02 * u,
        }[kind]
        tensor = torch.tensor([scale(u) for u in units]).reshape(shape).requires_grad_()
        self.parameters[name] = tensor
        return tensor

    def norm(self, x, name):
        weight = self.get(name + ".weight", (HIDDEN,), "norm")
        if self.form == "llama":
            return F.rms_norm(x, (HIDDEN,), weight, 1e-5)
        return F.layer_norm(x, (HIDDEN,), weight, self.get(name + ".bias", (HIDDEN,), "bias"), 1e-5)

    def linear(self, x, name, out, kind="matrix"):
        bias = None if self.form == "llama" else self.get(name + ".bias", (out,), "bias")
        return F.linear(x, self.get(name + ".weight", (out, x.shape[-1]), kind), bias)

    def attention(self, x, layer):
        batch, seq, _ = x.shape
        packed = self.linear(x, layer + "qkv", (HEADS + 2 * self.kv_heads) * DIM)
        q, k, v = packed.split([HEADS * DIM, self.kv_heads * DIM, self.kv_heads * DIM], -1)
        q = q.reshape(batch, seq, HEADS, DIM).transpose(1, 2)
        k = k.reshape(batch, seq, self.kv_heads, DIM).transpose(1, 2)
        v = v.reshape(batch, seq, self.kv_heads, DIM).transpose(1, 2)
        if self.form == "llama":
            q, k = rotate(q), rotate(k)
            k = k.repeat_interleave(HEADS // self.kv_heads, 1)
            v = v.repeat_interleave(HEADS // self.kv_heads, 1)
        context = F.scaled_dot_product_attention(q, k, v, is_causal=self.form != "bert")
        return self.linear(context.transpose(1, 2).reshape(batch, seq, HEADS * DIM), layer + "projection", HIDDEN, "residual")

    def mlp(self, x, layer):
        if self.form == "llama":
            gate, up = self.linear(x, layer + "fc1", 2 * FFN).split(FFN, -1)
            return self.linear(F.silu(gate) * up, layer + "fc2", HIDDEN, "residual")
        return self.linear(F.gelu(self.linear(x, layer + "fc1", FFN)), layer + "fc2", HIDDEN, "residual")

    def layer(self, x, index):
        name = f"layers.{index}."
        if self.form == "bert":
            x = self.norm(x + self.attention(x, name), name + "norm1")
            return self.norm(x + self.mlp(x, name), name + "norm2")
        x = x + self.attention(self.norm(x, name + "norm1"), name)
        return x + self.mlp(self.norm(x, name + "norm2"), name)

    def logits(self, tokens):
        table = self.get("embedding.weight", (VOCAB, HIDDEN), "matrix")
        x = F.embedding(tokens, table)
        if self.form != "llama":
            x = x + self.get("positions.weight", (POSITIONS, HIDDEN), "matrix")[:SEQ]
        if self.form == "bert":
            kinds = torch.tensor([0 if 2 * i < SEQ else 1 for i in range(SEQ)])
            x = x + F.embedding(kinds, self.get("token_types.weight", (2, HIDDEN), "matrix"))
            x = self.norm(x, "embedding_norm")
        for index in range(LAYERS):
            x = self.layer(x, index)
        if self.form == "bert":
            x = F.gelu(self.linear(x, "transform", HIDDEN))
        x = self.norm(x, "norm")
        if self.form == "llama":
            return F.linear(x, self.get("output.weight", (VOCAB, HIDDEN), "matrix"))
        bias = self.get("output.bias", (VOCAB,), "bias") if self.form == "bert" else None
        return F.linear(x, table, bias)


def rotate(x):
    half = DIM // 2
    angles = torch.arange(SEQ)[:, None] * 10000.0 ** (-torch.arange(half) / half)[None, :]
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * angles.cos() - b * angles.sin(), a * angles.sin() + b * angles.cos()], -1)


def sequence(number):
    own = random_bits(random_key(DATA_SEED, "sequence"), number)
    tokens = []
    for i in range(SEQ + 1):
        bits = random_bits(own, i)
        drawn = tokens[-1] * 31 + 7 if i > 0 and bits >> 63 == 1 else bits
        tokens.append(drawn % VOCAB)
    return tokens


def batch(form):
    inputs, targets = [], []
    for number in range(GLOBAL_BATCH):
        tokens = sequence(number)
        if form != "bert":
            inputs.append(tokens[:-1])
            targets.append(tokens[1:])
            continue
        key = random_bits(random_key(DATA_SEED, "mask"), number)
        hidden = sorted(range(SEQ), key=lambda i: (random_bits(key, i), i))[: max(SEQ * 15 // 100, 1)]
        inputs.append([0 if i in hidden else tokens[i] for i in range(SEQ)])
        targets.append([tokens[i] if i in hidden else -100 for i in range(SEQ)])
    return torch.tensor(inputs), torch.tensor(targets)


def reference(form):
    model = Model(form)
    tokens, targets = batch(form)
    loss = F.cross_entropy(model.logits(tokens).reshape(-1, VOCAB), targets.reshape(-1))
    loss.backward()
    gradients = {name: tensor.grad.reshape(-1) for name, tensor in model.parameters.items()}
    # One update of torch.optim.AdamW on a single tensor, to compare the optimizer with.
    return {
        "form": form,
        "loss": loss.item(),
        "gradient_norms": {name: torch.linalg.vector_norm(g).item() for name, g in sorted(gradients.items())},
        "first_gradients": {name: g[:8].tolist() for name, g in sorted(gradients.items())},
    }


def adamw():
    weight = torch.tensor([random_unit(random_key(7, "weight"), i) for i in range(6)]).requires_grad_()
    optimizer = torch.optim.AdamW([weight], lr=0.01, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.1)
    for step in range(3):
        weight.grad = torch.tensor([random_unit(random_key(8, "gradient"), 6 * step + i) for i in range(6)])
        optimizer.step()
    return weight.tolist()


def main():
    folder = sys.argv[1]
    provenance = {"made_by": "tests/golden/pytorch/make_reference.py", "torch": torch.__version__, "dtype": "float64"}
    for form in ("gpt", "llama", "bert"):
        with open(f"{folder}/{form}.json", "w") as file:
            json.dump({"provenance": provenance, **reference(form)}, file, indent=1)
            file.write("\n")
    with open(f"{folder}/adamw.json", "w") as file:
        json.dump({"provenance": provenance, "weights_after_3_steps": adamw()}, file, indent=1)
        file.write("\n")


main()
