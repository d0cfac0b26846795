#include "handler.hpp"

#include "c_calls.hpp"
#include "socket/options.hpp"
#include "zmq.h"

namespace zlink::sim {

namespace {

constexpr const char *endpoint = "inproc://zeromq.zap.01";
constexpr int patience_ms = 20;            // after that it looks whether it is still wanted
constexpr std::uint64_t longest_ms = 400;  // to answer, in chaos

bool is_patient(error e) noexcept { return e == error::again || e == error::interrupted; }

}  // namespace

void handler::live() {
    while (!home_.is_terminating() && !world_.is_over()) {
        const bool is_router = chance_.coin();
        settings options = default_settings(is_router ? socket_type::router : socket_type::rep);
        options.receive_timeout_ms = options.send_timeout_ms = patience_ms;
        options.linger_ms = 0;
        auto self = home_.make_socket(options, false);
        if (!self)
            return;
        if (!failed(self->bind(endpoint)))
            serve(*self, is_router);
        home_.close_socket(std::move(self));
        world_.sleep_for(milliseconds(is_calm_ ? 1 : chance_.between(1, 200)));
    }
}

void handler::serve(socket &self, bool is_router) {
    for (;;) {
        frames asked;
        const error e = receive(self, asked);
        if (world_.is_over() || (failed(e) && !is_patient(e)))
            return;
        if (!failed(e) && !answer(self, asked, is_router))
            return;
    }
}

error handler::receive(socket &self, frames &out) {
    for (bool has_more = true; has_more;) {
        message part;
        part.init();
        const error e = self.receive(part, 0);
        if (!failed(e)) {
            out.emplace_back(as_text(part.body()));
            has_more = part.has_more();
        }
        (void)part.close();
        if (failed(e) && (out.empty() || !is_patient(e) || world_.is_over()))
            return e;
    }
    return error::none;
}

error handler::send(socket &self, const frames &what) {
    for (std::size_t i = 0; i < what.size();) {
        const error e = test::send_as_in_c(self, as_bytes(what[i]), i + 1 < what.size() ? ZMQ_SNDMORE : 0);
        if (failed(e) && (i == 0 || !is_patient(e) || world_.is_over()))
            return e;
        i += !failed(e);
    }
    return error::none;
}

handler::mood handler::choose_mood() {
    if (is_calm_)
        return mood::admits;
    constexpr mood moods[] = {mood::admits,  mood::admits,       mood::admits,        mood::is_late,
                              mood::is_late, mood::says_nothing, mood::answers_twice, mood::is_wrong,
                              mood::refuses, mood::goes_away};
    return chance_.pick(moods);
}

bool handler::answer(socket &self, const frames &asked, bool is_router) {
    ++asked_;
    // Whatever a ROUTER has in front goes back with the answer.
    const std::size_t front = is_router ? 2 : 0;
    if (asked.size() < front + 6) {
        world_.violate(promise::admits, "a question of " + std::to_string(asked.size()) + " frames");
        return false;
    }
    const int link = network::link_of_address(asked[front + 3]);
    frames reply(asked.begin(), asked.begin() + static_cast<std::ptrdiff_t>(front));
    reply.insert(reply.end(), {"1.0", asked[front + 1], "200", "", "user", ""});
    std::string &status = reply[front + 2];
    const mood how = choose_mood();
    bool admits = true;
    switch (how) {
    case mood::goes_away:
        return false;
    case mood::says_nothing:
        return is_router;  // a REP has to answer before it is asked again
    case mood::is_late:
        world_.sleep_for(milliseconds(chance_.between(1, longest_ms)));
        break;
    case mood::is_wrong:
        reply = wrong(std::move(reply));
        admits = false;
        break;
    case mood::refuses:
    case mood::answers_twice:
        admits = how == mood::answers_twice && chance_.coin();
        if (!admits)
            status = may_refuse_for_good_ && chance_.coin() ? "400" : "300";
        break;
    case mood::admits:
        break;
    }
    world_.tell("the handler ", admits ? "lets in" : "refuses", " connection ", link);
    if (judged_.insert(link).second && admits)
        admitted_.insert(link);
    (void)send(self, reply);
    if (how == mood::answers_twice && is_router) {
        status = admits ? "300" : "200";
        (void)send(self, reply);
    }
    return true;
}

handler::frames handler::wrong(frames reply) {
    switch (chance_.next() % 4) {
    case 0:
        reply.pop_back();
        break;
    case 1:
        reply[reply.size() - 4] = "2OO";
        break;
    case 2:
        reply[reply.size() - 5] = "somebody else";
        break;
    case 3:
        reply.emplace_back("more");
        break;
    }
    return reply;
}

}  // namespace zlink::sim
