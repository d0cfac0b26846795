// Sends one message, to the server whose key it knows.
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <zmq.hpp>

// A key as the file has it: NAME = "40 characters".
static std::string key_of(const std::string &path, const std::string &name) {
    std::ifstream file(path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto found = text.find(name + " = \"");
    if (found == text.npos)
        throw std::runtime_error(path + " has no " + name);
    return text.substr(found + name.size() + 4, 40);
}

int main() {
    zmq::context_t context;
    zmq::socket_t client(context, zmq::socket_type::push);
    client.set(zmq::sockopt::curve_publickey, key_of("clients/alice.key_secret", "public-key"));
    client.set(zmq::sockopt::curve_secretkey, key_of("clients/alice.key_secret", "secret-key"));
    client.set(zmq::sockopt::curve_serverkey, key_of("server.key", "public-key"));
    client.connect("tcp://127.0.0.1:5561");
    client.send(zmq::str_buffer("sealed"));
}  // waits until it is sent
