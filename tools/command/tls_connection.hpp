// A connection of tls:// for a probe, which speaks ZMTP on it itself.
//
// Owns: a socket of octets (STREAM), so that the library does TLS as for any other socket: with its
// checks of certificates, and its words for what fails.

#pragma once

#include "arguments.hpp"
#include "peer_stream.hpp"
#include "sockets.hpp"

#include <initializer_list>
#include <optional>
#include <string>

namespace command {

class tls_connection : public peer_stream {
public:
    /// The flags must outlive it.
    explicit tls_connection(const connection_flags &flags);

    /// Whether the options ask for PLAIN or CURVE, which octets cannot have.
    bool wants_mechanism() const;

    /// Connects by TCP alone; what it is connected to.
    std::string connect(const std::string &endpoint, clock::time_point deadline);

    /// TLS: its version, and what is known of the certificate.
    std::string shake_hands(clock::time_point deadline);

    void write(const std::string &octets, clock::time_point deadline) override;
    /// A `refused` where the peer goes because of this side's certificate: of TLS 1.3 that is told
    /// when the handshake is over here.
    std::string read_some(size_t most, clock::time_point deadline) override;
    bool end_writing() override { return false; }

private:
    void wait(std::initializer_list<void *> sockets, clock::time_point deadline, const char *what);
    std::optional<watch_event> next_event();
    bool take_octets();
    [[noreturn]] void tell_why_it_has_gone(clock::time_point deadline);
    std::string name_of_certificate() const;

    const connection_flags &flags_;
    context context_;
    socket socket_;
    watch watch_;
    std::string endpoint_;
    std::string id_;  // of the connection; set when TLS is done
    std::string octets_;
    bool has_closed_ = false;
};

}  // namespace command
