// The lines of `zlink dump`.

#pragma once

#include "failure.hpp"
#include "output.hpp"
#include "zmtp_decoder.hpp"

#include <memory>
#include <string>

namespace command {

struct dump_flags {
    std::vector<std::string> places;  // LISTEN and TARGET, or FILE
    bool is_relay = false;
    bool has_headers_only = false;
    bool shows_secrets = false;
    std::string format = "quoted";
    size_t shown = 32;
    std::uint64_t count = 0;  // connections; 0: as many as come
};

/// Both directions of a connection; ">" is of the side that has connected.
class dumped_connection {
public:
    dumped_connection(const dump_flags &flags, output &to, int number);
    dumped_connection(const dumped_connection &) = delete;  // each decoder knows the other
    dumped_connection &operator=(const dumped_connection &) = delete;

    void at(double seconds) { seconds_ = seconds; }
    zmtp_decoder &decoder(bool is_back) { return is_back ? back_ : there_; }
    void say(const std::string &words);

private:
    void print(bool is_back, const zmtp_record &record);

    const dump_flags &flags_;
    output &to_;
    int number_;
    double seconds_ = 0;
    zmtp_decoder there_, back_;
};

/// Each returns when there is no more, or it was interrupted.
status dump_relay(const dump_flags &flags);
status dump_capture(const dump_flags &flags);

}  // namespace command
