// Takes one message, of those whose keys are in the folder `clients`.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>
#include <string>
#include <thread>
#include <zmq_addon.hpp>

// A key as the file has it: NAME = "40 characters".
static std::string key_of(const std::filesystem::path &path, const std::string &name) {
    std::ifstream file(path);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    const auto found = text.find(name + " = \"");
    return found == text.npos ? "" : text.substr(found + name.size() + 4, 40);
}

// Is asked about each client (RFC 27), until it is told to end by a message of one part.
static void judge(zmq::socket_t handler) {
    std::set<std::string> known;
    for (const auto &file : std::filesystem::directory_iterator("clients"))
        if (file.path().extension() == ".key")
            known.insert(key_of(file.path(), "public-key"));

    for (zmq::multipart_t question; question.recv(handler) && question.size() > 1;) {
        // version, number, domain, address, routing id, mechanism, key
        std::string key(41, 0);
        const bool is_shown = question.size() == 7 && question[5].to_string_view() == "CURVE" &&
                              question[6].size() == 32;
        if (is_shown)
            zmq_z85_encode(key.data(), question[6].data<const unsigned char>(), 32);
        key.pop_back();
        const bool is_good = is_shown && known.contains(key);
        zmq::multipart_t answer;
        answer.addstr("1.0");
        answer.addstr(question[1].to_string());
        answer.addstr(is_good ? "200" : "400");
        answer.addstr("");                  // why
        answer.addstr(is_good ? key : "");  // the user
        answer.addstr("");                  // properties
        answer.send(handler);
    }
}

int main() {
    zmq::context_t context;
    zmq::socket_t handler(context, zmq::socket_type::rep);
    handler.bind("inproc://zeromq.zap.01");
    std::jthread thread(judge, std::move(handler));  // the socket is that thread's now

    zmq::socket_t server(context, zmq::socket_type::pull);
    server.set(zmq::sockopt::curve_server, true);
    server.set(zmq::sockopt::curve_secretkey, key_of("server.key_secret", "secret-key"));
    server.bind("tcp://127.0.0.1:5561");
    zmq::message_t message;
    if (server.recv(message))
        std::cout << message.to_string_view() << "\n";

    zmq::socket_t end(context, zmq::socket_type::req);
    end.connect("inproc://zeromq.zap.01");
    end.send(zmq::str_buffer("end"));
    thread.join();
}
