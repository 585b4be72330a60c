#include "gui/app/json_session.hpp"
#include "tests/fuzz/fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace foreshard;
    return fuzz::run(data, size, [](const std::string& text) {
        const gui::Session session = gui::parseSession("session.json", text);
        fuzz::require(gui::parseSession("again.json", gui::sessionText(session)) == session, "it is written as read");
    });
}
