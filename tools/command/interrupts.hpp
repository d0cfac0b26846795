// Signals that ask for an end as something to poll for: SIGINT, SIGTERM, SIGHUP and SIGQUIT.
//
// Ignored: of the last two whatever is ignored when the command starts stays so, for nohup means
//          it.

#pragma once

namespace command {

class interrupts {
public:
    /// Before the first context: threads take the mask over from whoever starts them.
    interrupts();
    ~interrupts();
    interrupts(const interrupts &) = delete;
    interrupts &operator=(const interrupts &) = delete;

    int descriptor() const { return descriptor_; }

    /// Whether there was one; it is pending no more then.
    bool take();

    /// From here on a signal ends the process: for what may take long and cannot be polled.
    void release();

    /// In a child, before exec: the signals are as others expect them.
    static void restore();

    /// The terminal is not there any more: SIGHUP comes, if it has not come yet. False where that
    /// is ignored.
    static bool hang_up();

private:
    int descriptor_;
};

}  // namespace command
