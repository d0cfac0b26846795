#include "shell.hpp"

#include "arguments.hpp"
#include "interrupts.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>
#include <vector>

namespace command {

namespace {

[[noreturn]] void become_shell(const std::string &line, int in, int out, bool has_own_group) {
    if (has_own_group) {
        setpgid(0, 0);  // so that it can be ended with all that it begins
    }
    interrupts::restore();
    signal(SIGPIPE, SIG_DFL);
    dup2(in, 0);
    dup2(out, 1);
    execl("/bin/sh", "sh", "-c", line.c_str(), nullptr);
    _exit(127);
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

int descriptor_of(pid_t child) { return static_cast<int>(syscall(SYS_pidfd_open, child, 0)); }

/// Also where the kernel has no descriptors of processes.
int wait_ms_without(int process) { return process < 0 ? 10 : -1; }

bool has_ended(pid_t child) {
    siginfo_t how{};
    return waitid(P_PID, static_cast<id_t>(child), &how, WEXITED | WNOHANG | WNOWAIT) != 0 ||
           how.si_pid == child;
}

/// Each process that has not ended, and who has begun it.
std::vector<std::pair<pid_t, pid_t>> all_processes() {
    std::vector<std::pair<pid_t, pid_t>> all;
    std::error_code none;
    for (const auto &each : std::filesystem::directory_iterator("/proc", none)) {
        const std::string name = each.path().filename();
        if (name.find_first_not_of("0123456789") != std::string::npos) {
            continue;
        }
        std::string line;
        std::getline(std::ifstream(each.path() / "stat"), line);
        std::istringstream words(line.substr(std::min(line.size(), line.rfind(')') + 1)));
        char state = 0;
        pid_t parent = 0;
        if (words >> state >> parent && state != 'Z' && state != 'X') {
            all.emplace_back(std::stoi(name), parent);
        }
    }
    return all;
}

/// A command and those that stem from it: but for whoever had lost its parent, and left the group
/// of the command, before it is to end.
class processes_of_command {
public:
    explicit processes_of_command(pid_t child) : child_(child) {
        for (const auto &[each, parent] : all_processes()) {
            if (parent == getpid() && each != child) {
                others_.push_back(each);
            }
        }
        prctl(PR_SET_CHILD_SUBREAPER, 1);  // whose parent ends is a child of this process then
    }

    /// Whether there was any left.
    bool signal_all(int number) const {
        if (!has_ended(child_)) {
            kill(child_, number);
        }
        const bool has_group = kill(-child_, number) == 0;
        std::vector<pid_t> found{getpid()};
        const auto all = all_processes();
        for (size_t i = 0; i < found.size(); ++i) {
            for (const auto &[each, parent] : all) {
                if (parent == found[i] && std::find(others_.begin(), others_.end(), each) == others_.end()) {
                    found.push_back(each);
                }
            }
        }
        for (size_t i = 1; i < found.size(); ++i) {
            kill(found[i], number);
        }
        return has_group || found.size() > 1;
    }

private:
    pid_t child_;
    std::vector<pid_t> others_;  // children of who was here before this program
};

/// Asks it to end, and does not wait for one that will not.
void end_all_of(pid_t child, int its_output, int interrupted) {
    using std::chrono::milliseconds;
    constexpr milliseconds patience(500);
    const auto limit = std::chrono::steady_clock::now() + patience;
    signalfd_siginfo first{};
    const bool has_first = read(interrupted, &first, sizeof first) == static_cast<ssize_t>(sizeof first);
    const processes_of_command all(child);
    all.signal_all(SIGTERM);
    all.signal_all(SIGCONT);
    const int process = descriptor_of(child);
    bool is_open = true;
    for (int left = 1; left > 0 && (is_open || !has_ended(child));) {
        std::array<pollfd, 3> ends{{{is_open ? its_output : -1, POLLIN, 0},
                                    {has_ended(child) ? -1 : process, POLLIN, 0},
                                    {interrupted, POLLIN, 0}}};
        left = static_cast<int>(
            std::chrono::ceil<milliseconds>(limit - std::chrono::steady_clock::now()).count());
        poll(ends.data(), ends.size(), std::max(0, process < 0 ? std::min(left, 10) : left));
        if (ends[2].revents != 0) {
            break;  // another one
        }
        std::array<char, 4096> rest;
        if (ends[0].revents != 0 && read(its_output, rest.data(), rest.size()) == 0) {
            is_open = false;  // all have closed it
        }
    }
    if (process >= 0) {
        close(process);
    }
    constexpr int most_looks = 100;  // one that another user runs cannot be ended
    for (int i = 0; i < most_looks && all.signal_all(SIGKILL); ++i) {
        waitpid(child, nullptr, WNOHANG);
        while (waitpid(-child, nullptr, WNOHANG) > 0) {
        }
        poll(nullptr, 0, 1);
    }
    if (has_first) {
        kill(getpid(), static_cast<int>(first.ssi_signo));  // it is for the caller
    }
}

/// False where it is interrupted before the command has ended.
bool wait_for(pid_t child, int interrupted, int &how) {
    const int process = descriptor_of(child);
    std::array<pollfd, 2> ends{{{process, POLLIN, 0}, {interrupted, POLLIN, 0}}};
    bool is_over = false;
    while (!is_over && ends[1].revents == 0) {
        poll(ends.data(), ends.size(), wait_ms_without(process));
        const pid_t ended = waitpid(child, &how, WNOHANG);
        is_over = ended == child || (ended < 0 && errno != EINTR);
    }
    if (process >= 0) {
        close(process);
    }
    return is_over;
}

/// At a terminal a command stays in the group that may read from it, and that ^C and ^Z go to.
bool has_terminal() {
    const int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
    if (terminal >= 0) {
        close(terminal);
    }
    return terminal >= 0;
}

}  // namespace

std::optional<std::string> output_of_shell(const std::string &line, const std::string &octets,
                                           int interrupted) {
    std::array<int, 2> in{}, out{};
    if (pipe2(in.data(), O_CLOEXEC) != 0 || pipe2(out.data(), O_CLOEXEC) != 0) {
        throw failure(status::other, fmt::format("no pipe: {}", std::strerror(errno)));
    }
    const bool has_own_group = !has_terminal();
    const pid_t child = fork();
    if (child < 0) {
        throw failure(status::other, fmt::format("no process: {}", std::strerror(errno)));
    }
    if (child == 0) {
        become_shell(line, in[0], out[1], has_own_group);
    }
    if (has_own_group) {
        setpgid(child, child);  // here, too: it may not have come to it yet
    }
    close(in[0]);
    close(out[1]);
    std::optional<std::string> answer = exchange_with(in[1], out[0], octets, interrupted);
    int how = 0;
    if (!answer || !wait_for(child, interrupted, how)) {
        end_all_of(child, out[0], interrupted);
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
