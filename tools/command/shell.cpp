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
    interrupts::restore();
    signal(SIGPIPE, SIG_DFL);
    dup2(in, 0);
    dup2(out, 1);
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
}

/// Writes and reads at once, so that neither side waits for the other.
std::string exchange_with(int to, int from, const std::string &octets) {
    std::string answer;
    size_t written = 0;
    fcntl(to, F_SETFL, O_NONBLOCK);
    for (bool is_open = true; is_open;) {
        if (to >= 0 && written == octets.size()) {
            close(to);
            to = -1;
        }
        std::array<pollfd, 2> ends{{{from, POLLIN, 0}, {to, POLLOUT, 0}}};
        poll(ends.data(), ends.size(), -1);
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

}  // namespace

std::string output_of_shell(const std::string &line, const std::string &octets) {
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
    close(in[0]);
    close(out[1]);
    std::string answer = exchange_with(in[1], out[0], octets);
    close(out[0]);
    int how = 0;
    while (waitpid(child, &how, 0) < 0 && errno == EINTR) {
    }
    if (how != 0) {
        complain(fmt::format("{}: has ended with {}", line,
                             WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how)));
    }
    return answer;
}

}  // namespace command
