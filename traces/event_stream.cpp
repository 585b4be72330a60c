#include "traces/event_stream.hpp"

namespace foreshard {

void EventStream::flush() {
    sink_({text_.data(), text_.size()});
    text_.clear();
}

}  // namespace foreshard
