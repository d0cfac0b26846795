// A publisher that tells each newcomer what was said last.
#include <array>
#include <iostream>
#include <iterator>
#include <map>
#include <string>
#include <vector>
#include <zmq_addon.hpp>

int main() {
    zmq::context_t context;
    zmq::socket_t publisher(context, zmq::socket_type::xpub);
    publisher.set(zmq::sockopt::xpub_verbose, true);  // each subscription, not only new topics
    publisher.bind("tcp://127.0.0.1:5557");
    const std::map<std::string, std::string> latest = {{"rate.eur", "1.08"}, {"rate.gbp", "1.27"}};

    zmq::socket_t subscriber(context, zmq::socket_type::sub);  // mostly in another program
    subscriber.connect("tcp://127.0.0.1:5557");
    subscriber.set(zmq::sockopt::subscribe, "rate.eur");

    zmq::message_t notice;  // 1 and the topic, or 0 and the topic where a subscription ends
    if (!publisher.recv(notice) || notice.size() == 0)
        return 1;
    const std::string text = notice.to_string();
    if (auto found = latest.find(text.substr(1)); text[0] == 1 && found != latest.end())
        zmq::send_multipart(publisher,
                            std::array{zmq::buffer(found->first), zmq::buffer(found->second)});

    std::vector<zmq::message_t> parts;
    if (!zmq::recv_multipart(subscriber, std::back_inserter(parts)) || parts.size() != 2)
        return 1;
    std::cout << parts[0].to_string_view() << " " << parts[1].to_string_view() << "\n";
}
