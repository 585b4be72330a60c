#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// What makes equal ranks differ in time: shared links, slower devices and links, random variation.
namespace foreshard {

/// What concurrent work shares. links: communication shares links; full: it also shares each device with compute.
enum class Contention { off, links, full };
std::string_view to_string(Contention contention);
/// @throws InputError naming --contention
Contention parse_contention(const std::string& text);

/// Compute of some ranks runs `factor` times as fast.
struct SpeedFactor {
    int first = 0;  ///< inclusive; first > last: every rank
    int last = -1;
    bool pipeline = false;  ///< pipeline ranks; else global ranks
    double factor = 1.0;
    bool everywhere() const { return first > last; }
    bool operator==(const SpeedFactor&) const = default;
};

enum class LinkKind { nic, nvlink };

/// Links of some global ranks carry `factor` times their bandwidth, in both directions.
struct LinkFactor {
    LinkKind kind = LinkKind::nic;
    int first = 0;  ///< inclusive; first > last: every rank
    int last = -1;
    double factor = 1.0;
    bool everywhere() const { return first > last; }
    bool operator==(const LinkFactor&) const = default;
};

struct Variability {
    std::vector<SpeedFactor> speed;
    std::vector<LinkFactor> links;
    double jitter_pct = 0.0;  ///< standard deviation of every pass's time
    std::uint64_t seed = 0;
    int runs = 1;
};

/// No factors and no jitter.
bool ranks_alike(const Variability& variability);

/// "0.9" (every rank), "3:0.9,8-15:0.8" (global ranks), "pp1:0.9" (pipeline ranks); a later entry wins.
/// @throws InputError naming --speed-factor
std::vector<SpeedFactor> parse_speed_factors(const std::string& text);
std::string to_string(const std::vector<SpeedFactor>& factors);

/// "0.9" and "nic:0.9" (every NIC), "nvlink:0.8", "nic3:0.5", "nvlink8-15:0.9" (those of global ranks); a later entry
/// wins.
/// @throws InputError naming --link-factor
std::vector<LinkFactor> parse_link_factors(const std::string& text);
std::string to_string(const std::vector<LinkFactor>& factors);

/// Speed of one global rank, which belongs to pipeline rank `pp`; 1 where nothing was said.
double speed_of(const Variability& variability, int global_rank, int pp);
double link_speed_of(const Variability& variability, LinkKind kind, int global_rank);

/// Axes of a device mesh, outermost first: "pp=2,dp=8,tp=4".
struct MeshAxis {
    std::string name;
    int degree = 1;
};
/// @throws InputError naming --mesh: unknown or repeated axis, degree below 1
std::vector<MeshAxis> parse_mesh(const std::string& text);
/// The order of axes, inner to outer, that a mesh says; axes that it does not name stand at their default places.
std::string order_of(const std::vector<MeshAxis>& mesh);

}  // namespace foreshard
