#include "socket_options.hpp"

#include "text.hpp"

#include <fmt/format.h>
#include <zmq.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>

namespace command {

namespace {

std::string as_in_header(std::string name) {
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return c == '-' ? '_' : static_cast<char>(std::toupper(c)); });
    return name.rfind("ZMQ_", 0) == 0 ? name.substr(4) : name;
}

const socket_option &find(const std::string &name) {
    const std::string wanted = as_in_header(name);
    for (const socket_option &each : socket_options()) {
        if (wanted == each.name) {
            return each;
        }
    }
    throw failure(status::usage, fmt::format("there is no option {}; zlink help options lists them", name));
}

std::int64_t number_of(const std::string &name, const std::string &value) {
    if (value == "true" || value == "on" || value == "yes") {
        return 1;
    }
    if (value == "false" || value == "off" || value == "no") {
        return 0;
    }
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc() || end != value.data() + value.size() || value.empty()) {
        throw failure(status::usage, fmt::format("option {}: its value is no number", name));
    }
    return number;
}

}  // namespace

std::string octets_of(const std::string &text) {
    return text.rfind("0x", 0) == 0 ? from_hex(text.substr(2)) : text;
}

void set_option(socket &of, const std::string &assignment) {
    // No message holds a value: it may be a secret.
    const size_t equals = assignment.find('=');
    if (equals == std::string::npos) {
        throw failure(status::usage, "-o takes NAME=VALUE");
    }
    const std::string name = assignment.substr(0, equals), value = assignment.substr(equals + 1);
    const socket_option &option = find(name);
    int result = 0;
    switch (option.kind) {
    case option_kind::number:
    case option_kind::truth: {
        const std::int64_t wide = number_of(name, value);
        const int number = static_cast<int>(wide);
        if (number != wide) {
            throw failure(status::usage, fmt::format("option {}: its value is too large", name));
        }
        result = zmq_setsockopt(of.handle(), option.number, &number, sizeof number);
        break;
    }
    case option_kind::number64: {
        const std::int64_t number = number_of(name, value);
        result = zmq_setsockopt(of.handle(), option.number, &number, sizeof number);
        break;
    }
    case option_kind::octets: {
        const std::string octets = octets_of(value);
        result = zmq_setsockopt(of.handle(), option.number, octets.data(), octets.size());
        break;
    }
    case option_kind::text:
    case option_kind::key:
        result = zmq_setsockopt(of.handle(), option.number, value.data(), value.size());
        break;
    }
    if (result != 0) {
        throw failure(status::usage, fmt::format("option {}: {}", name, zmq_strerror(zmq_errno())));
    }
}

}  // namespace command
