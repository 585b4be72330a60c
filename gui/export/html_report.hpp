#pragma once

#include <QString>
#include <vector>

#include "gui/app/document.hpp"
#include "gui/export/picture.hpp"

namespace foreshard::gui {

/// One file with figures, pictures (SVG inside), settings, assumptions and provenance; it loads nothing else.
QString htmlReport(const std::vector<const Document*>& shown, const std::vector<Picture>& pictures);

/// @throws InputError when it cannot be written
void writeHtmlReport(const QString& path, const std::vector<const Document*>& shown,
                     const std::vector<Picture>& pictures);

}  // namespace foreshard::gui
