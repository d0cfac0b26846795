// The size of the send buffer, and where large writes are cut; see socket_stream.hpp. Map: the
// buffer; a large write in two; what the peer's system has not got.
#include "transport/socket_stream.hpp"

#include <sys/socket.h>

namespace zlink {

std::size_t socket_stream::unconfirmed() noexcept { return unconfirmed_octets(descriptor()); }

bool socket_stream::finish_writing() noexcept { return ::shutdown(ready_.descriptor(), SHUT_WR) == 0; }

}  // namespace zlink
