// zlink dump: what two ends say to each other in ZMTP, of a relay between them or of a capture.

#include "dump_output.hpp"
#include "subcommands.hpp"
#include "text.hpp"

#include <fmt/format.h>

#include <memory>

namespace command {

dumped_connection::dumped_connection(const dump_flags &flags, output &to, int number)
    : flags_(flags), to_(to), number_(number),
      there_(flags.shown, flags.shows_secrets, [this](const zmtp_record &record) { print(false, record); }),
      back_(flags.shown, flags.shows_secrets, [this](const zmtp_record &record) { print(true, record); }) {
    there_.tell_version_to(back_);
    back_.tell_version_to(there_);
}

void dumped_connection::say(const std::string &words) {
    to_.write(
        flags_.format == "json"
            ? fmt::format("{{\"time\":{:.6f},\"connection\":{},\"kind\":\"connection\",\"words\":{}}}\n",
                          seconds_, number_, json_string(words))
            : fmt::format("{:.6f} #{}   {}\n", seconds_, number_, safe_for_terminal(words)));
}

void dumped_connection::print(bool is_back, const zmtp_record &record) {
    const bool has_octets = record.has_octets && !flags_.has_headers_only;
    const bool is_cut = record.octets.size() < record.size;
    if (flags_.format == "json") {
        to_.write(fmt::format(
            "{{\"time\":{:.6f},\"connection\":{},\"from\":\"{}\",\"kind\":\"{}\",\"size\":{},"
            "\"more\":{},\"words\":{}{}}}\n",
            seconds_, number_, is_back ? "target" : "client", record.kind, record.size, record.has_more,
            json_string(record.words), has_octets ? ",\"hex\":\"" + to_hex(record.octets) + '"' : ""));
        return;
    }
    std::string text = fmt::format("{:.6f} #{} {} {:8}", seconds_, number_, is_back ? '<' : '>', record.kind);
    text += record.kind == "greeting"
                ? ""
                : fmt::format(" {} octets{}", record.size, record.has_more ? ", more" : "");
    text += record.words.empty() ? "" : record.kind == "greeting" ? " " + record.words : ", " + record.words;
    if (has_octets && !record.octets.empty()) {
        const bool is_hex = flags_.format == "hex" || record.kind == "octets";
        text += ": " + (is_hex ? to_hex(record.octets) : '"' + escaped(record.octets) + '"') +
                (is_cut ? "..." : "");
    }
    to_.write(text + '\n');
}

void add_dump(CLI::App &root, action &chosen) {
    CLI::App *app = root.add_subcommand("dump", "Tell what two ends say to each other in ZMTP");
    auto flags = std::make_shared<dump_flags>();
    app->add_option("PLACE", flags->places, "A capture of tcpdump -w; with --relay LISTEN and TARGET")
        ->required()
        ->check(not_empty("PLACE"))
        ->type_name("");
    app->add_flag("--relay", flags->is_relay,
                  "Listen at the first place, and pass on to the second: tcp://host:port or ipc://path");
    app->add_option("-f,--format", flags->format,
                    "The first octets of a message: quoted or hex; json: a line each")
        ->check(CLI::IsMember({"quoted", "hex", "json"}))
        ->type_name("NAME");
    app->add_option("--octets", flags->shown, "How many octets are shown; 32, unless it is set")
        ->check(CLI::Range(size_t{1}, size_t{65536}))
        ->type_name("COUNT");
    app->add_flag("--headers-only", flags->has_headers_only, "Show no octets of messages");
    app->add_flag("--show-secrets", flags->shows_secrets, "Show the passwords of PLAIN");
    app->add_option("-n,--count", flags->count, "End when so many connections of a relay have ended")
        ->type_name("COUNT");
    app->footer("Exit status: 0; 1 where the file cannot be read; 2 usage; 4 where it cannot listen; 6 where "
                "the file is no capture; 130 interrupted.");
    app->callback([flags, &chosen] {
        if (flags->places.size() != (flags->is_relay ? 2U : 1U)) {
            throw CLI::ValidationError("PLACE", "is one capture, or with --relay LISTEN and TARGET");
        }
        chosen = [flags] { return flags->is_relay ? dump_relay(*flags) : dump_capture(*flags); };
    });
}

}  // namespace command
