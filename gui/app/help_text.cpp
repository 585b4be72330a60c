#include "gui/app/help_text.hpp"

#include "gui/app/inspector_text.hpp"

namespace foreshard::gui {

const std::vector<KeyHelp>& keyHelp() {
    static const std::vector<KeyHelp> keys = {
        {"W, S", "zoom in and out at the cursor (also Ctrl + wheel)"},
        {"A, D", "pan left and right (also Shift + drag, middle button)"},
        {"F", "fit the selection, or the step"},
        {"0", "show the whole run"},
        {". and ,", "next and previous span of the row"},
        {"[ and ]", "to what the span waited for, and to what waits for it"},
        {"B, Shift+B", "next-largest bubble, and back"},
        {"C", "critical path on and off"},
        {"M", "mark at the cursor"},
        {"P", "pin the row at the top"},
        {"E, Shift+E", "lanes of the rank, of all ranks"},
        {"+ and -", "height of the rows"},
        {"1, 2, 3, 4", "single, stack, diff, overlay"},
        {"Enter", "open what is selected"},
        {"Ctrl+C", "copy the row or area as tab-separated values"},
        {"Esc", "clear the selection"},
        {"/", "find a span (2F3, send 2F3) or light a micro-batch (mb 3); Enter next, Shift+Enter previous"},
        {"Ctrl+Shift+P", "all commands"},
        {"?", "this page"},
        {"Ctrl+O", "open a job, report, trace or search file"},
        {"Ctrl+S", "save the session"},
        {"Ctrl+E", "edit the plan"},
        {"Ctrl+Z, Ctrl+Shift+Z", "undo and redo an edit of the plan"},
        {"Ctrl+B", "pin the plan as baseline; what is edited next is compared with it"},
        {"Ctrl+Shift+C", "copy the plan's flags for the command line"},
        {"Ctrl+1 to Ctrl+4", "room for timeline, memory, comparison, found plans"},
        {"Ctrl+R", "search plans for the edited job; Space begins and stops"},
        {"Ctrl+.", "cancel work; a search keeps the best so far"},
    };
    return keys;
}

std::string helpHtml() {
    std::string html = "<h2>Keys</h2><table cellpadding='3'>";
    for (const KeyHelp& key : keyHelp()) {
        html += "<tr><td><b>" + escaped(std::string(key.keys)) + "</b></td><td>" + escaped(std::string(key.what)) +
                "</td></tr>";
    }
    html +=
        "</table><h2>Reading the picture</h2><ul>"
        "<li>A row is a pipeline rank; time runs from left to right.</li>"
        "<li>F forward, B backward, I input gradient, W weight gradient, R recomputation, O optimizer; the number is "
        "the "
        "micro-batch, the shade the model chunk.</li>"
        "<li>What is empty is a bubble. Click it: the inspector says what the rank waits for.</li>"
        "<li>Drag over rows and time for totals.</li>"
        "<li>The memory view shares the time axis: a lane per rank, the line is what the device holds.</li></ul>";
    return html;
}

}  // namespace foreshard::gui
