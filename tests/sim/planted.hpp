// Faults that are planted on purpose, each at a seam and outside of the library, to show that the
// simulator finds them.
#pragma once

namespace zlink::sim {

enum class planted {
    nothing,
    // a stream that alters what it carries, at message or frame boundaries
    dropped_frame,
    shortened_frame,
    altered_octet,
    repeated_message,
    swapped_messages,
    dropped_message,
    bottomless_stream,  // takes far more than its buffers hold, and loses it all when it breaks
    // a loop
    lost_timer,
    lost_task,
    // the way back to a caller
    lost_signal,
    unheard_recall,       // a borrower that sleeps is not told that its stream is wanted back
    unheard_full_stream,  // nor that it is to wait for room as well
    deaf_waiter,          // does not look at the descriptors that a caller borrowed
    // lending
    lost_lease_timer,       // that looks whether a lease is still used
    wait_outlives_lending,  // the loop goes on to look at a stream that it has lent
    deaf_after_lending,     // the loop never looks again at a stream that came back
    // between the two ends of a pipe
    lease_given_twice,  // the socket's thread gets it, and the loop reads on
    ignored_recall,     // the borrower reads on, and the loop takes its having left for granted
    kept_turn,          // a write turn that nobody gives back
    unsent_wake,        // who was refused the turn is not told that it is free
    // a shared ring
    unrung_bell,  // a reader that waits is not told of octets
    // the monitor, the subscriptions
    lost_event,
    dropped_subscription,
    dropped_cancel,    // of a subscription
    dropped_upstream,  // a message of a subscriber's
    untold_leaving,    // the application is not told that a topic ended with its last subscriber
    // the authentication handler's verdicts, the boxes of CURVE
    verdict_twice,  // counts for the next connection, too
    late_verdict,   // on a connection that has gone counts for another
    repeated_box,
    // the composition root
    lost_high_water_mark,
    forgotten_session_end,
    kept_message,
    kept_stream,
    // a count that has missed one message
    uncounted_full,
    uncounted_nobody,
    uncounted_unroutable,
    uncounted_late,
    uncounted_unwanted,
    uncounted_upstream,  // of these, one at a publisher
    uncounted_unread,
    uncounted_lingering,
    uncounted_gone,
    uncounted_sent,
    uncounted_received,
    // a dialer that never answers
    silent_dialer,
    // a peer that ends the process
    abort_on_accept,
};

}  // namespace zlink::sim
