// Adds up what two workers find, and sends them home.
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>
#include <zmq_addon.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t pull(context, zmq::socket_type::pull);
    zmq::socket_t over(context, zmq::socket_type::xpub);
    pull.bind("tcp://127.0.0.1:5563");
    over.set(zmq::sockopt::xpub_verbose, true);  // tells of each subscriber
    over.bind("tcp://127.0.0.1:5570");

    long found = 0, results = 0;
    std::optional<long> total;
    while (results != total) {  // the total may come before the last results
        std::vector<zmq::message_t> parts;
        if (!zmq::recv_multipart(pull, std::back_inserter(parts)) || parts.size() != 2)
            return 1;
        const long value = std::stol(parts[1].to_string());
        if (parts[0].to_string_view() == "total") {
            total = value;
        } else {
            found += value;
            ++results;
        }
    }
    std::cout << found << "\n";
    zmq::message_t notice;
    for (int worker = 0; worker < 2; ++worker)
        if (!over.recv(notice))  // a worker that listens
            return 1;
    over.send(zmq::str_buffer("go home"));
}
