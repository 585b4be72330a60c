#include "gui/breakdown/breakdown_painter.hpp"
#include "gui/charts/draw.hpp"

namespace foreshard::gui {

namespace {

SpanKind kindOf(Account account) {
    switch (account) {
        case Account::forward:
            return SpanKind::forward;
        case Account::backward:
            return SpanKind::backward;
        case Account::weight_grad:
            return SpanKind::weight_grad;
        case Account::recompute:
            return SpanKind::recompute;
        case Account::optimizer:
            return SpanKind::optimizer;
        case Account::host:
        case Account::data:
        case Account::bubble:
            return SpanKind::host;
        case Account::exposed_tp:
        case Account::exposed_cp:
        case Account::exposed_ep:
        case Account::exposed_pp:
        case Account::exposed_offload:
            return SpanKind::tp;
        case Account::exposed_dp:
            return SpanKind::dp;
    }
    return SpanKind::other;
}

}  // namespace

QColor accountColor(const Theme& theme, Account account) {
    return account == Account::bubble ? theme.bubble : theme.fill(kindOf(account));
}

/// Accounts of one colour differ by their hatch.
Qt::BrushStyle accountPattern(Account account) {
    switch (account) {
        case Account::weight_grad:
        case Account::recompute:
            return Theme::pattern(kindOf(account));
        case Account::data:
            return Qt::CrossPattern;
        case Account::exposed_cp:
            return Qt::HorPattern;
        case Account::exposed_ep:
            return Qt::VerPattern;
        case Account::exposed_pp:
            return Qt::BDiagPattern;
        case Account::exposed_dp:
            return Qt::FDiagPattern;
        case Account::exposed_offload:
            return Qt::DiagCrossPattern;
        case Account::forward:
        case Account::backward:
        case Account::optimizer:
        case Account::host:
        case Account::exposed_tp:
        case Account::bubble:
            return Qt::SolidPattern;
    }
    return Qt::SolidPattern;
}

QString accountName(Account account) {
    switch (account) {
        case Account::weight_grad:
            return "weight gradient";
        case Account::exposed_tp:
            return "exposed TP";
        case Account::exposed_cp:
            return "exposed CP";
        case Account::exposed_ep:
            return "exposed EP";
        case Account::exposed_pp:
            return "exposed PP";
        case Account::exposed_dp:
            return "exposed DP";
        case Account::exposed_offload:
            return "exposed offload";
        case Account::forward:
        case Account::backward:
        case Account::recompute:
        case Account::optimizer:
        case Account::host:
        case Account::data:
        case Account::bubble:
            break;
    }
    const std::string_view name = to_string(account);
    return qt(name);
}

}  // namespace foreshard::gui
