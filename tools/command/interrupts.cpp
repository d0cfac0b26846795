#include "interrupts.hpp"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace command {

namespace {

sigset_t both() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
}

}  // namespace

interrupts::interrupts() {
    const sigset_t set = both();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    descriptor_ = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

interrupts::~interrupts() {
    close(descriptor_);
    restore();
}

bool interrupts::take() {
    signalfd_siginfo taken;
    return read(descriptor_, &taken, sizeof taken) == static_cast<ssize_t>(sizeof taken);
}

void interrupts::release() { restore(); }

void interrupts::restore() {
    const sigset_t set = both();
    pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace command
