#include "socket/monitor.hpp"
#include "socket/socket.hpp"
namespace zlink{ monitor::monitor() noexcept = default; monitor::~monitor()=default;}
