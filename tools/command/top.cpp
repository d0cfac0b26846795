// zlink top: the sockets and peers of a process, live.
//
// Flow: a look each `--delay`, drawn in place where stdout is a terminal, one below the other where
// it is not. It goes on until q, an interrupt, `--count`, or the end of the process.

#include "interrupts.hpp"
#include "numbers_table.hpp"
#include "output.hpp"
#include "subcommands.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace command {

namespace {

struct top_flags {
    std::string target;
    std::optional<milliseconds> delay = milliseconds(1000);
    std::uint64_t count = 0;  // 0: for ever
    std::string sort = "queue";
    bool is_once = false;
    bool is_json = false;
};

bool is_screen() {
    const char *const kind = std::getenv("TERM");
    return isatty(1) != 0 && kind && *kind && std::string_view(kind) != "dumb";
}

place_for_lines place_on_screen() {
    place_for_lines place;
    winsize size{};
    if (ioctl(1, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        place.width = size.ws_col;
        place.height = size.ws_row;
    }
    const char *const no_colour = std::getenv("NO_COLOR");
    place.has_colour = !no_colour || !*no_colour;
    return place;
}

/// The terminal while it is drawn on: as it was when this goes.
class screen {
public:
    explicit screen(output &to) : to_(to) {
        has_keys_ = isatty(0) != 0 && tcgetattr(0, &kept_) == 0;
        if (has_keys_) {
            termios keys = kept_;
            keys.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
            tcsetattr(0, TCSANOW, &keys);
        }
        to_.write("\033[?1049h\033[?25l");  // another page, no cursor
    }
    ~screen() {
        to_.write("\033[?25h\033[?1049l");
        to_.flush();
        if (has_keys_) {
            tcsetattr(0, TCSANOW, &kept_);
        }
    }
    screen(const screen &) = delete;
    screen &operator=(const screen &) = delete;

    bool has_keys() const { return has_keys_; }
    /// Over what is there, by one write: nothing is seen of the way.
    void draw(const std::vector<std::string> &lines) {
        std::string octets = "\033[H";
        for (const std::string &each : lines) {
            octets += each + "\033[K" + (&each == &lines.back() ? "" : "\n");
        }
        to_.write(octets + "\033[J");
        to_.flush();
    }

private:
    output &to_;
    termios kept_{};
    bool has_keys_ = false;
};

class live_table {
public:
    explicit live_table(const top_flags &flags) : flags_(flags), source_(flags.target) {
        if (!flags.is_once && !flags.is_json && is_screen()) {
            screen_.emplace(to_);
        }
    }

    status run() {
        bool has_shown = false;
        for (std::uint64_t shown = 0;;) {
            if (!take_look()) {
                return end(has_shown);
            }
            if (screen_ || has_rates()) {
                show();
                has_shown = true;
                if (++shown == flags_.count || flags_.is_once) {
                    return status::done;
                }
            }
            if (looks_.last().has_ended) {
                return end(true);
            }
            if (const auto why = wait()) {
                return *why;
            }
        }
    }

private:
    /// The first look has none, and so it is not shown by itself where it would stay. A process
    /// that stands still never has any.
    bool has_rates() const {
        constexpr milliseconds long_enough{1500};  // a file is written once a second
        return looks_.interval() > 0 || looks_.last().has_ended ||
               std::chrono::steady_clock::now() - began_ > *flags_.delay + long_enough;
    }

    /// False when the process has gone. One that does not answer may do so later.
    bool take_look() {
        const bool is_first = looks_.last().process() == 0;
        try {
            looks_.take(source_.look());
            return true;
        } catch (const no_answer_yet &) {
            if (is_first) {
                throw;
            }
            looks_.take_silence();
            return true;
        } catch (const failure &error) {
            if (is_first || error.code() != status::unreachable) {
                throw;
            }
            return false;
        }
    }

    void show() {
        if (flags_.is_json) {
            to_.write(json_of(looks_, flags_.sort));
        } else if (screen_) {
            screen_->draw(lines_of(looks_, flags_.sort, place_on_screen()));
            return;
        } else {
            print(place_for_lines());
        }
        to_.flush();
    }

    void print(const place_for_lines &place) {
        for (const std::string &each : lines_of(looks_, flags_.sort, place)) {
            to_.write(each + '\n');
        }
        to_.write("\n");
    }

    /// The table that was seen last stays on the terminal.
    status end(bool has_shown) {
        if (screen_) {
            screen_.reset();
            place_for_lines place = place_on_screen();
            place.height = 0;
            print(place);
        } else if (!has_shown) {
            show();
        }
        to_.flush();
        complain(fmt::format("the process {} has ended", looks_.last().process()));
        return status::peer_gone;
    }

    /// Until the next look is due; a status where there is none. A new size of the terminal is
    /// drawn at once.
    std::optional<status> wait() {
        const auto until = std::chrono::steady_clock::now() + *flags_.delay;
        for (;;) {
            const auto left = std::chrono::ceil<milliseconds>(until - std::chrono::steady_clock::now());
            if (left.count() <= 0) {
                return std::nullopt;
            }
            const bool has_keys = screen_ && screen_->has_keys();
            std::array<pollfd, 2> ends{{{signals_.descriptor(), POLLIN, 0}, {has_keys ? 0 : -1, POLLIN, 0}}};
            (void)poll(ends.data(), ends.size(), static_cast<int>(std::min<long>(left.count(), redraw)));
            if (ends[0].revents != 0 && signals_.take()) {
                return status::interrupted;
            }
            char key = 0;
            if (ends[1].revents != 0 && (read(0, &key, 1) <= 0 || key == 'q' || key == 'Q')) {
                return status::done;
            }
            if (screen_ && is_resized()) {
                show();
            }
        }
    }

    bool is_resized() {
        const place_for_lines now = place_on_screen();
        const bool has_changed = now.width != place_.width || now.height != place_.height;
        place_ = now;
        return has_changed;
    }

    static constexpr long redraw = 100;  // milliseconds between two looks at the terminal's size
    const top_flags &flags_;
    const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
    interrupts signals_;
    const numbers_source source_;
    two_looks looks_;
    output to_;
    place_for_lines place_ = place_on_screen();
    std::optional<screen> screen_;
};

}  // namespace

void add_top(CLI::App &root, action &chosen) {
    CLI::App *app = root.add_subcommand("top", "Watch the sockets and peers of a process");
    auto flags = std::make_shared<top_flags>();
    app->add_option(
           "PROCESS", flags->target,
           "Its number, or the address of its ZLINK_METRICS: tcp://HOST:PORT, unix:PATH or file:PATH")
        ->required()
        ->check(not_empty("PROCESS"))
        ->type_name("");
    add_duration(*app, "-d,--delay", flags->delay, "Between two looks; 1 s unless said otherwise");
    app->add_option("-n,--count", flags->count, "End after so many tables")->type_name("N");
    app->add_option("--sort", flags->sort,
                    "queue, drops, out, in, reconnects, silent (peers that say nothing), or name for the "
                    "order of the process")
        ->check(CLI::IsMember(sort_names()))
        ->type_name("BY");
    app->add_flag("--once", flags->is_once, "One table, of the time of one delay");
    app->add_flag("--json", flags->is_json, "Each table as a line of JSON");
    app->footer(
        "q ends it. Peers are shown where the process tells them: at unix:, or at tcp: with ?peers=1. "
        "Exit status: 0; 4 where the process tells nothing; 6 where something else answers; 7 when it has "
        "ended; 130 interrupted.");
    app->callback([flags, &chosen] {
        if (flags->delay->count() < 50) {
            throw CLI::ValidationError("--delay", "is 50 ms at least");
        }
        chosen = [flags] { return live_table(*flags).run(); };
    });
}

}  // namespace command
