// The octets that the peer's system has not got, and the end of writing; the rest is in the header,
// see socket_stream.hpp.
#include "transport/socket_stream.hpp"

#include <sys/socket.h>

namespace zlink {

std::size_t socket_stream::unconfirmed() noexcept { return unconfirmed_octets(descriptor()); }

bool socket_stream::finish_writing() noexcept { return ::shutdown(ready_.descriptor(), SHUT_WR) == 0; }

}  // namespace zlink
