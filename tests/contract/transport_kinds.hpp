// The transports that the contract is held against: a line each. A scheme that is added gets its
// own.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "core/tuning.hpp"
#ifdef ZLINK_WITH_TLS
#include "certificates.hpp"
#endif
#include "transport_bench.hpp"

namespace zlink::test {

struct transport_kind {
    const char *name;
    const char *scheme;
    const char *any;  // to bind where the transport chooses
    // to bind where others may bind later; "@FOLDER" stands for a folder of the test's
    const char *again;
    const char *peer_address;  // what a peer of this machine has
    const char *no_address;    // neither to bind nor to connect to
    bool is_confirmed_late;    // the peer's system says later that it has what was written
    bool is_taken_over;        // binding takes an address over from whoever has it
    std::size_t shared_memory = 0;
    bool is_secured = false;        // with certificates
    const char *streams = nullptr;  // the scheme whose streams it has, where that is another
};

inline constexpr transport_kind transport_kinds[] = {
    {"tcp", "tcp", "127.0.0.1:*", "127.0.0.1:*", "127.0.0.1", "127.0.0.1:no_port", true, false},
    {"ipc", "ipc", "*", "@FOLDER/socket", "", "@", false, true},
    {"ipc_in_shared_memory", "ipc", "*", "@FOLDER/socket", "", "@", false, true, default_shared_memory},
#ifdef ZLINK_WITH_WS
    {"ws", "ws", "127.0.0.1:*", "127.0.0.1:*", "127.0.0.1", "127.0.0.1:no_port", true, false, 0, false,
     "tcp"},
#endif
#ifdef ZLINK_WITH_TLS
    {"tls", "tls", "127.0.0.1:*", "127.0.0.1:*", "127.0.0.1", "127.0.0.1:no_port", true, false, 0, true},
#endif
#if defined(ZLINK_WITH_TLS) && defined(ZLINK_WITH_WS)
    {"wss", "wss", "127.0.0.1:*", "127.0.0.1:*", "127.0.0.1", "127.0.0.1:no_port", true, false, 0, true,
     "tls"},
#endif
};

inline void prepare(transport_bench &bench, const transport_kind &which) {
    bench.knobs.ipc.shared_memory = which.shared_memory;
#ifdef ZLINK_WITH_TLS
    bench.has_handshake = which.is_secured;
    if (which.is_secured) {
        bench.options.tls_cert = zlink_test::good().cert;
        bench.options.tls_key = zlink_test::good().key;
        bench.options.tls_ca = zlink_test::good().ca;
    }
#endif
}

inline void PrintTo(const transport_kind &which, std::ostream *out) { *out << which.name; }

class of_every_transport : public ::testing::TestWithParam<transport_kind> {
protected:
    void SetUp() override { prepare(bench, GetParam()); }
    void listen() {
        std::string address = GetParam().again;
        if (const auto at = address.find("@FOLDER"); at != std::string::npos)
            address.replace(at, 7, bench.knobs.temporary_directory);
        ASSERT_NO_FATAL_FAILURE(bench.listen(address));
    }
    driven_loop &drive() { return *bench.drive; }

    transport_bench bench{GetParam().scheme};
};

}  // namespace zlink::test
