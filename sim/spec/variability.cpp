#include "sim/spec/variability.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "sim/error.hpp"
#include "sim/spec/suggest.hpp"

namespace foreshard {

namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    std::size_t begin = 0;
    while (begin <= text.size()) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

template <class T>
std::optional<T> parse_number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
    return value;
}

/// One entry of a list of factors: "WHO:FACTOR", or "FACTOR" with an empty `who`.
struct Entry {
    std::string_view who;
    double factor = 1.0;
};

class FactorList {
public:
    FactorList(const char* flag, const char* form, const std::string& text) : flag_(flag), form_(form), text_(text) {}

    std::vector<Entry> entries() const {
        std::vector<Entry> all;
        for (const std::string_view part : split(text_, ',')) {
            const std::size_t colon = part.rfind(':');
            const bool named = colon != std::string_view::npos;
            const auto factor = parse_number<double>(named ? part.substr(colon + 1) : part);
            // Beyond a factor of 1000 either way it is a slip of the pen.
            if (!factor || !std::isfinite(*factor) || *factor < 1e-3 || *factor > 1e3) fail(part);
            all.push_back({named ? part.substr(0, colon) : std::string_view(), *factor});
            if (named && all.back().who.empty()) fail(part);
        }
        return all;
    }

    /// "3" or "8-15".
    std::pair<int, int> range(std::string_view ranks) const {
        const std::size_t dash = std::min(ranks.find('-'), ranks.size());
        const auto first = parse_number<int>(ranks.substr(0, dash));
        const auto last = dash < ranks.size() ? parse_number<int>(ranks.substr(dash + 1)) : first;
        if (!first || !last || *first < 0 || *last < *first) fail(ranks);
        return {*first, *last};
    }

    [[noreturn]] void fail(std::string_view part) const {
        throw InputError(flag_, "", fmt::format("'{}' is not valid in '{}'; valid: {}", part, text_, form_));
    }

private:
    const char* flag_;
    const char* form_;
    const std::string& text_;
};

std::string range_text(int first, int last) {
    return first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
}

constexpr std::array<std::string_view, 5> axes_inner_to_outer = {"tp", "cp", "ep", "dp", "pp"};

}  // namespace

std::string_view to_string(Contention contention) {
    switch (contention) {
        case Contention::off:
            return "off";
        case Contention::links:
            return "links";
        case Contention::full:
            return "full";
    }
    return "";
}

Contention parse_contention(const std::string& text) {
    for (const Contention contention : {Contention::off, Contention::links, Contention::full}) {
        if (text == to_string(contention)) return contention;
    }
    const std::string close = did_you_mean(text, {"off", "links", "full"});
    throw InputError("--contention", "",
                     fmt::format("'{}' is not known{}; valid: off, links, full", text,
                                 close.empty() ? "" : fmt::format(" (did you mean {}?)", close)));
}

bool ranks_alike(const Variability& v) {
    return v.speed.empty() && v.links.empty() && v.jitter_pct == 0.0;
}

std::vector<SpeedFactor> parse_speed_factors(const std::string& text) {
    const FactorList list("--speed-factor", "0.9, 3:0.9, 8-15:0.9 or pp1:0.9, with commas between", text);
    std::vector<SpeedFactor> factors;
    for (const Entry& entry : list.entries()) {
        SpeedFactor factor{.factor = entry.factor};
        factor.pipeline = entry.who.starts_with("pp");
        if (!entry.who.empty()) {
            std::tie(factor.first, factor.last) = list.range(entry.who.substr(factor.pipeline ? 2 : 0));
        }
        factors.push_back(factor);
    }
    return factors;
}

std::string to_string(const std::vector<SpeedFactor>& factors) {
    std::string text;
    for (const SpeedFactor& f : factors) {
        const std::string who = f.everywhere() ? "" : (f.pipeline ? "pp" : "") + range_text(f.first, f.last) + ":";
        text += fmt::format("{}{}{}", text.empty() ? "" : ",", who, f.factor);
    }
    return text;
}

std::vector<LinkFactor> parse_link_factors(const std::string& text) {
    const FactorList list("--link-factor", "0.9, nic:0.9, nvlink:0.9, nic3:0.5 or nvlink8-15:0.9, with commas between",
                          text);
    std::vector<LinkFactor> factors;
    for (const Entry& entry : list.entries()) {
        LinkFactor factor{.factor = entry.factor};
        std::string_view ranks = entry.who;
        if (ranks.starts_with("nvlink")) {
            factor.kind = LinkKind::nvlink;
            ranks.remove_prefix(6);
        } else if (ranks.starts_with("nic")) {
            ranks.remove_prefix(3);
        } else if (!ranks.empty()) {
            list.fail(entry.who);
        }
        if (!ranks.empty()) std::tie(factor.first, factor.last) = list.range(ranks);
        factors.push_back(factor);
    }
    return factors;
}

std::string to_string(const std::vector<LinkFactor>& factors) {
    std::string text;
    for (const LinkFactor& f : factors) {
        const std::string who = f.everywhere() ? "" : range_text(f.first, f.last);
        text += fmt::format("{}{}{}:{}", text.empty() ? "" : ",", f.kind == LinkKind::nic ? "nic" : "nvlink", who,
                            f.factor);
    }
    return text;
}

double speed_of(const Variability& variability, int global_rank, int pp) {
    double speed = 1.0;
    for (const SpeedFactor& f : variability.speed) {
        const int rank = f.pipeline ? pp : global_rank;
        if (f.everywhere() || (f.first <= rank && rank <= f.last)) speed = f.factor;
    }
    return speed;
}

double link_speed_of(const Variability& variability, LinkKind kind, int global_rank) {
    double speed = 1.0;
    for (const LinkFactor& f : variability.links) {
        if (f.kind != kind) continue;
        if (f.everywhere() || (f.first <= global_rank && global_rank <= f.last)) speed = f.factor;
    }
    return speed;
}

std::vector<MeshAxis> parse_mesh(const std::string& text) {
    const auto fail = [&](std::string_view part, const char* why) {
        throw InputError("--mesh", "",
                         fmt::format("'{}' {} in '{}'; valid: axes tp, cp, ep, dp, pp once each, outermost first, as "
                                     "in pp=2,dp=8,tp=4",
                                     part, why, text));
    };
    std::vector<MeshAxis> mesh;
    for (const std::string_view part : split(text, ',')) {
        const std::size_t equals = std::min(part.find('='), part.size());
        const std::string name(part.substr(0, equals));
        const auto degree = parse_number<int>(part.substr(std::min(equals + 1, part.size())));
        if (std::find(axes_inner_to_outer.begin(), axes_inner_to_outer.end(), name) == axes_inner_to_outer.end()) {
            fail(part, "is not an axis");
        }
        if (!degree || *degree < 1) fail(part, "has no degree of 1 or more");
        if (std::any_of(mesh.begin(), mesh.end(), [&](const MeshAxis& known) { return known.name == name; })) {
            fail(part, "stands twice");
        }
        mesh.push_back({name, *degree});
    }
    return mesh;
}

std::string order_of(const std::vector<MeshAxis>& mesh) {
    std::vector<std::string> order;
    order.reserve(axes_inner_to_outer.size());
    for (std::size_t i = mesh.size(); i-- > 0;) order.push_back(mesh[i].name);
    // An axis without a degree has degree 1 and may stand anywhere; in front of the axes that follow it by default.
    for (std::size_t i = 0; i < axes_inner_to_outer.size(); ++i) {
        const std::string name(axes_inner_to_outer[i]);
        if (std::find(order.begin(), order.end(), name) != order.end()) continue;
        const auto later = std::find_if(order.begin(), order.end(), [&](const std::string& known) {
            const auto* const at = std::find(axes_inner_to_outer.begin(), axes_inner_to_outer.end(), known);
            return at - axes_inner_to_outer.begin() > static_cast<std::ptrdiff_t>(i);
        });
        order.insert(later, name);
    }
    return fmt::format("{}", fmt::join(order, "-"));
}

}  // namespace foreshard
