#include "interrupts.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace command {

namespace {

bool has_taken_one = false;

bool is_ignored(int number) {
    struct sigaction present {};
    return sigaction(number, nullptr, &present) == 0 && present.sa_handler == SIG_IGN;
}

/// A signal that is blocked is not ignored, whatever is said of it.
sigset_t all_that_end() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    for (const int number : {SIGHUP, SIGQUIT}) {
        if (!is_ignored(number)) {
            sigaddset(&set, number);
        }
    }
    return set;
}

}  // namespace

interrupts::interrupts() {
    const sigset_t set = all_that_end();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    descriptor_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

interrupts::~interrupts() {
    close(descriptor_);
    restore();
}

bool interrupts::take() {
    signalfd_siginfo taken;
    const bool has_one = read(descriptor_, &taken, sizeof taken) == static_cast<ssize_t>(sizeof taken);
    has_taken_one |= has_one;
    return has_one;
}

void interrupts::release() { restore(); }

void interrupts::restore() {
    const sigset_t set = all_that_end();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

bool interrupts::hang_up() {
    if (is_ignored(SIGHUP)) {
        return false;
    }
    if (!has_taken_one) {
        kill(getpid(), SIGHUP);
    }
    return true;
}

}  // namespace command
