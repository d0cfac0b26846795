// Which conversation a socket leads.
#include "zmtp/conversation.hpp"

namespace zlink {

std::unique_ptr<conversation> make_conversation(const settings &options, bool is_server,
                                                const web_place *place, web_memory *memory) {
    if (place)
        return make_web_conversation(options, is_server, *place, memory);
    return options.is_raw() ? make_raw_conversation(options) : make_peer(options, is_server);
}

}  // namespace zlink
