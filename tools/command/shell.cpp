#include "shell.hpp"

#include "arguments.hpp"
#include "interrupts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace command {

namespace {

[[noreturn]] void become_shell(const std::string &line, int in, int out) {
    setpgid(0, 0);  // so that it can be ended with all that it begins
    interrupts::restore();
    signal(SIGPIPE, SIG_DFL);
    dup2(in, 0);
    dup2(out, 1);
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
}

bool can_be_read(int descriptor, int wait_ms) {
    pollfd end{descriptor, POLLIN, 0};
    return poll(&end, 1, wait_ms) > 0;
}

/// Writes and reads at once, so that neither side waits for the other. Nothing where it is
/// interrupted.
std::optional<std::string> exchange_with(int to, int from, const std::string &octets, int interrupted) {
    std::string answer;
    size_t written = 0;
    fcntl(to, F_SETFL, O_NONBLOCK);
    for (bool is_open = true; is_open;) {
        if (to >= 0 && written == octets.size()) {
            close(to);
            to = -1;
        }
        std::array<pollfd, 3> ends{{{from, POLLIN, 0}, {to, POLLOUT, 0}, {interrupted, POLLIN, 0}}};
        poll(ends.data(), ends.size(), -1);
        if (ends[2].revents != 0) {
            if (to >= 0) {
                close(to);
            }
            return std::nullopt;
        }
        if (ends[1].revents != 0) {
            const ssize_t count = write(to, octets.data() + written, octets.size() - written);
            if (count > 0) {
                written += static_cast<size_t>(count);
            } else if (count < 0 && errno != EAGAIN && errno != EINTR) {
                written = octets.size();  // the command does not read its input
            }
        }
        if (ends[0].revents != 0) {
            std::array<char, 65536> buffer;
            const ssize_t count = read(from, buffer.data(), buffer.size());
            if (count > 0) {
                answer.append(buffer.data(), static_cast<size_t>(count));
            }
            is_open = count > 0 || (count < 0 && errno == EINTR);
        }
    }
    if (to >= 0) {
        close(to);
    }
    return answer;
}

/// Asks it to end, and does not wait for one that will not.
void end_all_of(pid_t child, int its_output) {
    constexpr int patience_ms = 500;
    kill(-child, SIGTERM);
    std::array<char, 4096> rest;
    while (can_be_read(its_output, patience_ms)) {
        if (read(its_output, rest.data(), rest.size()) == 0) {
            break;  // all have closed it
        }
    }
    kill(-child, SIGKILL);
}

/// False where it is interrupted before the command has ended.
bool wait_for(pid_t child, int interrupted, int &how) {
    for (;;) {
        const pid_t ended = waitpid(child, &how, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR)) {
            return true;
        }
        if (can_be_read(interrupted, 1)) {
            return false;
        }
    }
}

}  // namespace

std::optional<std::string> output_of_shell(const std::string &line, const std::string &octets,
                                           int interrupted) {
    std::array<int, 2> in{}, out{};
    if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) {
        throw failure(status::other, fmt::format("no pipe: {}", std::strerror(errno)));
    }
    const pid_t child = fork();
    if (child < 0) {
        throw failure(status::other, fmt::format("no process: {}", std::strerror(errno)));
    }
    if (child == 0) {
        become_shell(line, in[0], out[1]);
    }
    setpgid(child, child);  // here, too: it may not have come to it yet
    close(in[0]);
    close(out[1]);
    std::optional<std::string> answer = exchange_with(in[1], out[0], octets, interrupted);
    int how = 0;
    if (!answer || !wait_for(child, interrupted, how)) {
        end_all_of(child, out[0]);
        waitpid(child, &how, 0);
        answer.reset();
        how = 0;
    }
    close(out[0]);
    if (how != 0) {
        complain(fmt::format("{}: has ended with {}", line,
                             WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how)));
    }
    return answer;
}

}  // namespace command
