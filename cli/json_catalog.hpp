#pragma once

#include <string>

namespace foreshard::cli {

struct CatalogOptions {
    std::string kind;  ///< empty: all kinds
    std::string id;    ///< empty: list the kind
    bool json = false;
};

/// The catalogue as text for stdout: ids with names, or the JSON of one entry. @throws InputError
std::string catalog_text(const CatalogOptions& options);

}  // namespace foreshard::cli
