// The CURVE mechanism: which role a socket plays in it. curve_handshake.hpp has what stands on the
// wire.
#include "zmtp/curve_client.hpp"
#include "zmtp/curve_server.hpp"

namespace zlink {

std::unique_ptr<mechanism> make_mechanism_curve(const settings &options) {
    if (options.curve_server)
        return std::make_unique<curve::server>(options, curve::system_octets());
    return std::make_unique<curve::client>(options, curve::system_octets());
}

}  // namespace zlink
