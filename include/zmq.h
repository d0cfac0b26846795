/* The C interface of zlink: the functions, constants and structures of libzmq 4.3.5, binary
 * compatible with libzmq.so.5, plus a few additions of zlink's own.
 *
 * Conventions that hold for every function unless its comment says otherwise:
 *   returns   0 on success and -1 on failure, with errno set; a function that returns a pointer
 *             gives NULL.
 *   errors    ENOTSOCK for something that is not an open socket, EFAULT for another bad pointer or
 *             handle.
 *   strings   NUL-terminated; read during the call and never kept.
 *   time      milliseconds; -1 waits without end.
 *   threads   a context may be used by every thread; a socket, a message, a timer set and a poller
 *             by one thread at a time, with a full memory fence when it moves to another. */

/* The name that libzmq's header has for this: where both are installed, one is enough (czmq.h asks
 * for each). */
#ifndef __ZMQ_H_INCLUDED__
#define __ZMQ_H_INCLUDED__

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifdef ZMQ_BUILD_DRAFT_API
#include <signal.h>
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Versions -------------------------------------------------------------------------------- */

/* The libzmq release whose interface this is; programs test it. */
#define ZMQ_VERSION_MAJOR 4
#define ZMQ_VERSION_MINOR 3
#define ZMQ_VERSION_PATCH 5

#define ZMQ_MAKE_VERSION(major, minor, patch) ((major)*10000 + (minor)*100 + (patch))
#define ZMQ_VERSION                           ZMQ_MAKE_VERSION(ZMQ_VERSION_MAJOR, ZMQ_VERSION_MINOR, ZMQ_VERSION_PATCH)

/* zlink's own release. */
#define ZLINK_VERSION_MAJOR 0
#define ZLINK_VERSION_MINOR 1
#define ZLINK_VERSION_PATCH 0
#define ZLINK_VERSION       ZMQ_MAKE_VERSION(ZLINK_VERSION_MAJOR, ZLINK_VERSION_MINOR, ZLINK_VERSION_PATCH)

/* ---- What this header provides --------------------------------------------------------------- */

#define ZMQ_DEFINED_STDINT   1
#define ZMQ_HAS_CAPABILITIES 1
#define ZMQ_HAVE_TIMERS      1
#define ZMQ_HAVE_POLLER      1

/* Define ZMQ_STATIC (for a program that links libzmq.a) or ZMQ_NO_EXPORT before including this
 * header to take the attribute away. */
#if defined ZMQ_STATIC || defined ZMQ_NO_EXPORT
#define ZMQ_EXPORT
#elif defined(__GNUC__)
#define ZMQ_EXPORT __attribute__((visibility("default")))
#else
#define ZMQ_EXPORT
#endif

/* ---- Error numbers --------------------------------------------------------------------------- */

/* Base of the numbers that no operating system uses. */
#define ZMQ_HAUSNUMERO 156384712

/* POSIX names, for systems that lack them. */
#ifndef ENOTSUP
#define ENOTSUP (ZMQ_HAUSNUMERO + 1)
#endif
#ifndef EPROTONOSUPPORT
#define EPROTONOSUPPORT (ZMQ_HAUSNUMERO + 2)
#endif
#ifndef ENOBUFS
#define ENOBUFS (ZMQ_HAUSNUMERO + 3)
#endif
#ifndef ENETDOWN
#define ENETDOWN (ZMQ_HAUSNUMERO + 4)
#endif
#ifndef EADDRINUSE
#define EADDRINUSE (ZMQ_HAUSNUMERO + 5)
#endif
#ifndef EADDRNOTAVAIL
#define EADDRNOTAVAIL (ZMQ_HAUSNUMERO + 6)
#endif
#ifndef ECONNREFUSED
#define ECONNREFUSED (ZMQ_HAUSNUMERO + 7)
#endif
#ifndef EINPROGRESS
#define EINPROGRESS (ZMQ_HAUSNUMERO + 8)
#endif
#ifndef ENOTSOCK
#define ENOTSOCK (ZMQ_HAUSNUMERO + 9)
#endif
#ifndef EMSGSIZE
#define EMSGSIZE (ZMQ_HAUSNUMERO + 10)
#endif
#ifndef EAFNOSUPPORT
#define EAFNOSUPPORT (ZMQ_HAUSNUMERO + 11)
#endif
#ifndef ENETUNREACH
#define ENETUNREACH (ZMQ_HAUSNUMERO + 12)
#endif
#ifndef ECONNABORTED
#define ECONNABORTED (ZMQ_HAUSNUMERO + 13)
#endif
#ifndef ECONNRESET
#define ECONNRESET (ZMQ_HAUSNUMERO + 14)
#endif
#ifndef ENOTCONN
#define ENOTCONN (ZMQ_HAUSNUMERO + 15)
#endif
#ifndef ETIMEDOUT
#define ETIMEDOUT (ZMQ_HAUSNUMERO + 16)
#endif
#ifndef EHOSTUNREACH
#define EHOSTUNREACH (ZMQ_HAUSNUMERO + 17)
#endif
#ifndef ENETRESET
#define ENETRESET (ZMQ_HAUSNUMERO + 18)
#endif

/* Numbers of our own. EFSM: not in this state. ENOCOMPATPROTO: the transport does not suit the
 * socket type. ETERM: the context is being terminated. EMTHREAD: no I/O thread is available. */
#define EFSM           (ZMQ_HAUSNUMERO + 51)
#define ENOCOMPATPROTO (ZMQ_HAUSNUMERO + 52)
#define ETERM          (ZMQ_HAUSNUMERO + 53)
#define EMTHREAD       (ZMQ_HAUSNUMERO + 54)

/* The error of the last call of this library that failed on this thread.
 *
 * returns    the value of errno; useful to programs linked with another C runtime than the
 *            library. */
ZMQ_EXPORT int zmq_errno(void);

/* Describes an error number.
 *
 * errnum     any errno value, ours included.
 * returns    a string that the library or the C runtime owns; never NULL. Do not free or change
 *            it. */
ZMQ_EXPORT const char *zmq_strerror(int errnum);

/* Tells which libzmq interface the library implements: 4, 3, 5.
 *
 * major, minor, patch   each written to. */
ZMQ_EXPORT void zmq_version(int *major, int *minor, int *patch);

/* Tells zlink's own release.
 *
 * major, minor, patch   each written to; a null pointer is skipped. */
ZMQ_EXPORT void zlink_version(int *major, int *minor, int *patch);

/* Asks whether a policy, which ZLINK_POLICY names in the environment of this process, says what its
 * sockets may bind and connect to: docs/policy.md. The file is read for the answer.
 *
 * returns  1 when one does, 0 when there is none; -1 with EACCES when the file cannot be used, so
 *          that every zmq_bind and zmq_connect fails with EACCES, but over inproc. */
ZMQ_EXPORT int zlink_policy_in_force(void);

/* It tells what a socket, or a context with all its sockets, has done since it was made, and what
 * it holds now: docs/metrics.md. Numbers of the past only grow; those of the present do not:
 * queued_out to slow_peers, subscriptions, open_descriptors and spare_octets. Nor do the highest
 * numbers of a context, which are those of its open sockets. A message counts once for each peer
 * that it is for, all its parts together. */
typedef struct zlink_stats_t {
    uint64_t messages_sent;     /* given to a peer's queue */
    uint64_t messages_received; /* taken by the application */
    uint64_t octets_sent;       /* of these, with the headers of their parts, and of commands, as
                                   ZMTP has them; none of ZMQ_CONFLATE */
    uint64_t octets_received;

    /* Messages that ended unread. */
    uint64_t dropped_hwm;           /* the peer's queue was full, and the type of the socket does
                                       not wait */
    uint64_t dropped_no_peer;       /* nobody was connected */
    uint64_t dropped_unroutable;    /* a ROUTER or STREAM knows no peer of that routing id */
    uint64_t dropped_filtered_late; /* came to a SUB that has ended its subscription */
    uint64_t dropped_conflate;      /* a newer one came first (ZMQ_CONFLATE) */
    uint64_t dropped_linger;        /* unsent when the time of ZMQ_LINGER was over */
    uint64_t dropped_too_large;     /* larger than ZMQ_MAXMSGSIZE */
    uint64_t dropped_peer_gone;     /* the peer went before they were sent */
    uint64_t dropped_unread;        /* received, and not taken before the socket was closed or
                                       disconnected */
    uint64_t dropped_unwanted;      /* replies that nobody waits for, requests without an
                                       envelope, what is sent to a PUSH or PUB; what a poll, or an
                                       XPUB, had ready when the socket was closed, or with
                                       ZMQ_CONFLATE when a newer one came */

    uint64_t sends_blocked;            /* calls that waited for room */
    uint64_t send_blocked_nanoseconds; /* how long, together */

    uint64_t connects;       /* connections that this side has begun, ... */
    uint64_t accepts;        /* ... and that it has let in, before any handshake */
    uint64_t accepts_failed; /* those that it could not, as where descriptors are short */
    uint64_t reconnects;     /* attempts that followed one that failed, or a connection that
                                broke */

    /* Ends of connections whose handshake was done. */
    uint64_t disconnects_peer;      /* the peer went */
    uint64_t disconnects_error;     /* it broke the rules, sent too much, or the network failed */
    uint64_t disconnects_heartbeat; /* nothing was heard of it within ZMQ_HEARTBEAT_TIMEOUT */
    uint64_t disconnects_local;     /* this side closed, or cut the peer off; below are two more */

    /* Connections that ended before. */
    uint64_t handshakes_failed_timeout;  /* ZMQ_HANDSHAKE_IVL */
    uint64_t handshakes_failed_protocol; /* not ZMTP, or of another mechanism or socket type */
    uint64_t handshakes_failed_auth;     /* refused, here or there */
    uint64_t handshakes_failed_other;    /* TLS, or the peer went */

    uint64_t queued_out;        /* messages sent, and not taken by peers or written for them yet */
    uint64_t queued_in;         /* messages that have come, and were not received yet */
    uint64_t queued_out_octets; /* their octets, as above */
    uint64_t queued_in_octets;
    uint64_t peers;      /* queues: one for each peer, and for each address connected to */
    uint64_t sockets;    /* open ones: 1, of a socket */
    uint64_t slow_peers; /* peers whose queue is full now, so that there is no room for a message */

    /* Attempts as in reconnects, by what each of them followed. */
    uint64_t reconnects_ended;               /* a connection that one side has ended in good
                                                order */
    uint64_t reconnects_refused;             /* ECONNREFUSED: nobody listens there */
    uint64_t reconnects_reset;               /* ECONNRESET: the peer, or the network, has cut it */
    uint64_t reconnects_timed_out;           /* ETIMEDOUT: also of a handshake, or without an answer
                                                to a PING */
    uint64_t reconnects_host_unreachable;    /* EHOSTUNREACH */
    uint64_t reconnects_network_unreachable; /* ENETUNREACH */
    uint64_t reconnects_no_entry;            /* ENOENT: there is no such path */
    uint64_t reconnects_not_permitted;       /* EACCES: by the system or a policy */
    uint64_t reconnects_protocol; /* EPROTO: the handshake failed, or the peer broke the protocol */
    uint64_t reconnects_other;    /* as a name that is not known */

    /* Handshakes that failed, as above, by the mechanism of this side: [ZMQ_NULL], [ZMQ_PLAIN],
     * [ZMQ_CURVE], and [3] where the peer speaks no ZMTP. */
    uint64_t handshakes_failed_timeout_by[4];
    uint64_t handshakes_failed_protocol_by[4];
    uint64_t handshakes_failed_auth_by[4];
    uint64_t handshakes_failed_other_by[4];

    uint64_t heartbeats;            /* answers to PINGs of this side's whose time is known, ... */
    uint64_t heartbeat_nanoseconds; /* ... and how long all of them took, from the writing of the
                                       PING on */

    uint64_t highest_out; /* the most messages that were seen to wait in one queue, as in
                             queued_out; docs/metrics.md says by whom */
    uint64_t highest_in;
    uint64_t highest_out_octets;
    uint64_t highest_in_octets;
    uint64_t subscriptions; /* of PUB and XPUB: those of all peers together; of SUB and XSUB: its
                               own topics */

    /* These are of a context alone, and 0 of a socket. */
    uint64_t io_threads;
    uint64_t io_wakeups;          /* sleeps of these that have ended */
    uint64_t io_polls;            /* their system calls: looks at what is ready, ... */
    uint64_t io_reads;            /* ... reads and ... */
    uint64_t io_writes;           /* ... writes; those of the application's threads are not
                                     counted */
    uint64_t io_busy_nanoseconds; /* their processor time */
    uint64_t open_descriptors;    /* of I/O threads, sockets, connections and listeners, and
                                     those of ZMQ_FD, ZLINK_EVENT_FD and ZLINK_ROOM_FD */
    uint64_t spare_octets;        /* of memory that is kept for the next messages */

    /* More ends of connections whose handshake was done. */
    uint64_t disconnects_unbind;   /* this side called zmq_unbind or zmq_disconnect */
    uint64_t disconnects_handover; /* a peer that came later had the same routing id, and
                                      ZMQ_ROUTER_HANDOVER was set */
} zlink_stats_t;

/* Tells what a socket or a context has done, and holds. Takes no memory, and waits for no peer, no
 * I/O thread and no disk. The numbers are taken one after the other while others go on: each is
 * true, but not all of the same moment.
 *
 * socket_or_context  any thread may ask; a socket must not be closed meanwhile. The numbers of a
 *                    context are those of all its sockets, of closed ones as well, but for ZMQ_PAIR
 *                    sockets of its monitors.
 * stats              written to. Owned by the caller.
 * size               sizeof (zlink_stats_t). What a newer library knows beyond it is left out; what
 *                    an older one does not know is 0.
 * returns            0, or -1 with ENOTSOCK: neither a socket nor a context; EFAULT: stats is
 *                    NULL. */
ZMQ_EXPORT int zlink_stats(void *socket_or_context, zlink_stats_t *stats, size_t size);

/* States of a peer. */
#define ZLINK_PEER_CONNECTING  0 /* an address that is connected to, where nobody is just now */
#define ZLINK_PEER_HANDSHAKING 1
#define ZLINK_PEER_READY       2
#define ZLINK_PEER_CLOSING     3 /* what was sent before a close or disconnect still goes out */

/* A peer of a socket, or an address that it connects to. Everything belongs to the library, and is
 * gone when the function that it is given to returns. The numbers begin with the queue: that of an
 * address connected to outlives its connections. */
typedef struct zlink_peer_t {
    const char *endpoint;   /* bound or connected to; "" where an inproc peer has connected */
    const char *address;    /* of the peer, "tcp://192.0.2.1:40000"; "" while there is none */
    const char *mechanism;  /* "NULL", "PLAIN" or "CURVE"; "" over inproc, and where the peer speaks
                               no ZMTP */
    const char *user_id;    /* "User-Id" of zmq_msg_gets, or "" */
    const void *routing_id; /* as the peer has announced it */
    size_t routing_id_size; /* octets, 0 where it has not */
    int state;              /* ZLINK_PEER_ */
    int is_connecting;      /* 1: this side connects, 0: the peer does */

    uint64_t messages_sent;     /* into its queue */
    uint64_t messages_received; /* by the application */
    uint64_t octets_sent;       /* as in zlink_stats_t */
    uint64_t octets_received;
    uint64_t queued_out; /* messages that it has not been sent yet */
    uint64_t queued_in;  /* messages of its that were not received yet */
    uint64_t queued_out_octets;
    uint64_t queued_in_octets;
    uint64_t dropped_hwm; /* messages that it did not get, since its queue was full */
    uint64_t id;          /* for zlink_disconnect: no other peer of the socket ever has it */

    const char *tls_version; /* of its connection, "TLSv1.3"; "" without TLS */
    uint64_t highest_out;    /* the most that was seen to wait, as in zlink_stats_t */
    uint64_t highest_in;
    uint64_t highest_out_octets;
    uint64_t highest_in_octets;
    uint64_t subscriptions;              /* of a PUB or XPUB: topics that this peer is subscribed
                                            to */
    uint64_t heartbeats;                 /* its answers to PINGs, since its connection began, ... */
    uint64_t heartbeat_nanoseconds;      /* ... how long all of them took, ... */
    uint64_t last_heartbeat_nanoseconds; /* ... and how long the last one did */
} zlink_peer_t;

/* Shows the peers of a socket, one after the other. Waits for the I/O threads, which answer between
 * two turns of their work.
 *
 * socket   any thread may ask, but none of the functions that the library calls; it must not be
 *          closed meanwhile.
 * each     called on this thread for each peer, with the size of what it is given: what lies beyond
 *          an older library's is not there. Returns 0 to go on. Must not throw.
 * arg      handed to each.
 * returns  the number of peers shown, or -1 with ENOTSOCK; EFAULT: each is NULL; ENOMEM. */
ZMQ_EXPORT int zlink_peers(void *socket, int (*each)(void *arg, const zlink_peer_t *peer, size_t size),
                           void *arg);

/* clang-format off */
/* Peers that zlink_wait_ready waits for. */
#define ZLINK_READY_PEERS       1 /* peers that are connected, and whose handshake is done; over
                                     inproc, whose other side is there */
#define ZLINK_READY_SUBSCRIBERS 2 /* of PUB and XPUB: peers with one subscription or more that holds
                                     now */
/* clang-format on */

/* Waits until at least n peers are ready, so that nobody sleeps for those that are slow to join:
 * what is sent next is for them.
 *
 * what          one of the above. With ZMQ_XPUB_MANUAL the subscriptions are those that the
 *               application has made.
 * n             0 and more: how many.
 * milliseconds  0: asks without waiting; -1: waits without end.
 * errors        EAGAIN (the time is up), EINVAL (n is less than 0, no such what, or not of this
 *               type), ETERM, EINTR, ENOTSOCK.
 * blocks        for milliseconds at most. Takes no message: an XPUB still has its notices to
 *               receive.
 * threads       one thread at a time per socket; a full fence is needed to migrate.
 * note          a peer that was ready may go at any time. */
ZMQ_EXPORT int zlink_wait_ready(void *socket, int what, int n, long milliseconds);

/* It tells what has become of the messages that waited for peers when zlink_drain was called. A
 * message counts once for each peer. */
typedef struct zlink_drain_t {
    uint64_t sent; /* given to the operating system, or taken by a peer over inproc */
    uint64_t left; /* they still wait */
    uint64_t lost; /* their peer went, or with ZMQ_CONFLATE a newer one came before */
} zlink_drain_t;

/* Waits until everything that was sent so far has gone out: to be called before zmq_close where it
 * matters how much did.
 *
 * milliseconds  0: asks without waiting; -1: waits without end.
 * result        written to whatever the function returns, but for ENOTSOCK and ENOMEM; NULL: nobody
 *               asks.
 * size          sizeof (zlink_drain_t). What a newer library knows beyond it is left out; what an
 *               older one does not know is 0.
 * errors        EAGAIN (the time is up, and something is left), ETERM, EINTR, ENOTSOCK, ENOMEM.
 * blocks        for milliseconds at most.
 * threads       one thread at a time per socket; a full fence is needed to migrate.
 * note          what the operating system has is not with the peer yet: ZMQ_LINGER still counts for
 *               it. What is sealed (CURVE, TLS) counts as sent when it is sealed, but is waited for
 *               until it has gone out. Of an endpoint that was disconnected nothing is counted. */
ZMQ_EXPORT int zlink_drain(void *socket, long milliseconds, zlink_drain_t *result, size_t size);

/* Cuts one peer off. Over the network the connection ends at once, a monitor hears why
 * (ZMQ_EVENT_REASONS), and what was queued for a peer that had connected is lost. An address that
 * this side has connected to is connected to again, and keeps its queue: zmq_disconnect ends that.
 * Over inproc it ends for both, and the peer can still receive what it was sent.
 *
 * peer      id of a zlink_peer_t that zlink_peers has shown.
 * errors    ENOENT (no such peer, or it has gone), ETERM, ENOTSOCK.
 * blocks    never.
 * threads   one thread at a time per socket; a full fence is needed to migrate.
 * note      an address that is being dialled has no connection to end yet: nothing happens then,
 *           and 0 is returned. */
ZMQ_EXPORT int zlink_disconnect(void *socket, uint64_t peer);

/* Formats of zlink_stats_text. */
#define ZLINK_STATS_PROMETHEUS  0 /* the text format 0.0.4 of Prometheus */
#define ZLINK_STATS_OPENMETRICS 1 /* OpenMetrics 1.0 */
#define ZLINK_STATS_JSON        2

/* Tells the numbers of zlink_stats as text, for each of the 64 oldest sockets of a context, and in
 * sum for the others, under the names of docs/metrics.md. Takes memory; waits for nobody.
 *
 * context  any thread may ask.
 * format   one of the above.
 * write    called once, on this thread, before the function returns, with the text (size octets, no
 *          NUL behind it), which is the library's and goes afterwards. Must not throw.
 * arg      handed to write.
 * returns  0, or -1 with EFAULT: not a context, or write is NULL; EINVAL: no such format;
 *          ENOMEM. */
ZMQ_EXPORT int zlink_stats_text(void *context, int format,
                                void (*write)(void *arg, const char *text, size_t size), void *arg);

/* Asks whether the library has a transport or a feature.
 *
 * capability  "ipc", "curve", "tls", "ws", "wss", "WS", "WSS", "draft", "gssapi", "pgm", "norm",
 *             "tipc", ...
 * returns     1 when it has, 0 when it has not or the name is unknown. */
ZMQ_EXPORT int zmq_has(const char *capability);

/* ---- Contexts -------------------------------------------------------------------------------- */

/* clang-format off */
/* Context options, for zmq_ctx_set and zmq_ctx_get; ZMQ_IPV6 and ZMQ_BLOCKY are two more. Rows as
 * those of the socket options. */
#define ZMQ_IO_THREADS                 1 /* int threads, default 1, first socket: they do the work
                                            of connections; 0 for inproc alone */
#define ZMQ_MAX_SOCKETS                2 /* int sockets, default 1023, next socket: as many at a
                                            time, at most ZMQ_SOCKET_LIMIT */
#define ZMQ_SOCKET_LIMIT               3 /* int sockets, read only: 65535 */
#define ZMQ_THREAD_PRIORITY            3 /* int, set only, default -1, first socket: of the I/O
                                            threads; -1 leaves it to the system */
#define ZMQ_THREAD_SCHED_POLICY        4 /* int SCHED_..., default -1, first socket: of the I/O
                                            threads; -1 leaves it to the system */
#define ZMQ_MAX_MSGSZ                  5 /* int octets, default 2147483647, next socket: it sends no
                                            longer part: EMSGSIZE */
#define ZMQ_MSG_T_SIZE                 6 /* int octets, read only: sizeof (zmq_msg_t), 64 */
#define ZMQ_THREAD_AFFINITY_CPU_ADD    7 /* int processor, set only, default none, first socket: the
                                            I/O threads run on it; with none, on all */
#define ZMQ_THREAD_AFFINITY_CPU_REMOVE 8 /* int processor, set only, default none, first socket:
                                            takes one of them back, or EINVAL */
#define ZMQ_THREAD_NAME_PREFIX         9 /* int number, default 0, first socket: begins the I/O
                                            threads' names, once it is set */
/* clang-format on */

/* Their defaults. */
#define ZMQ_IO_THREADS_DFLT          1
#define ZMQ_MAX_SOCKETS_DFLT         1023
#define ZMQ_THREAD_PRIORITY_DFLT     -1
#define ZMQ_THREAD_SCHED_POLICY_DFLT -1

/* Makes a context: the owner of the I/O threads and of the inproc names.
 *
 * returns    a context that zmq_ctx_term releases, or NULL. I/O threads start with the first
 *            socket.
 * errors     EMFILE, ENOMEM. */
ZMQ_EXPORT void *zmq_ctx_new(void);

/* Ends a context and releases it.
 *
 * ctx        unusable once the call has returned 0.
 * errors     EFAULT (not a context), EINTR (interrupted by a signal; call it again), EBUSY (called
 *            by the function of zlink_set_log).
 * blocks     until every socket of the context is closed and its queued messages are sent or their
 *            linger period is over, and the function of zlink_set_log has been told what waits.
 *            Calls that wait on those sockets fail with ETERM.
 * threads    any, also several at once: each returns 0. Once it has returned 0 the context is gone:
 *            EFAULT. */
ZMQ_EXPORT int zmq_ctx_term(void *ctx);

/* Makes every present and later operation on the context's sockets fail with ETERM; closing them
 * still works.
 *
 * errors     EFAULT.
 * threads    any. */
ZMQ_EXPORT int zmq_ctx_shutdown(void *ctx);

/* Sets a context option.
 *
 * option     its row above says when the new value acts.
 * optval     the value.
 * errors     EINVAL (unknown option or bad value), EFAULT.
 * threads    any. */
ZMQ_EXPORT int zmq_ctx_set(void *ctx, int option, int optval);

/* Reads a context option.
 *
 * returns    the value, -1 on failure; options whose default is -1 answer -1 with errno untouched.
 * errors     EINVAL (unknown option), EFAULT.
 * threads    any. */
ZMQ_EXPORT int zmq_ctx_get(void *ctx, int option);

/* Levels of a log; each has those before it. */
#define ZLINK_LOG_ERROR 1 /* calls that have failed, and why; peers that could not be let in */
#define ZLINK_LOG_WARN  2 /* and other reasons, and handshakes that have failed */
#define ZLINK_LOG_INFO  3 /* and which library this is, who listens, and peers that come and go */
#define ZLINK_LOG_DEBUG 4 /* and each event of a monitor, with its value */

/* Is told what is logged: arg, a level, and a line without its end, "PUSH tcp://127.0.0.1:5555:
 * what has happened", which is the library's and goes when the function returns. It must not
 * throw. */
typedef void(zlink_log_fn)(void *arg, int level, const char *line);

/* Has a function told what the environment variable ZLINK_LOG has written on stderr, of the sockets
 * of a context that are there and of those to come. Nobody is told anything before that. The words
 * are those of docs/reasons.md.
 *
 * log        called on a thread that the context has for it, for one line after the other, and
 *            under no lock: it may take its time, and call the library, but not this function, nor
 *            zmq_ctx_term of this context. Up to 1000 lines wait for it; what comes then is left
 *            out, and a line says how much. NULL: nobody is told any more. One that was set before,
 *            or has its context end, is told what waits, and does not run any more when this
 *            function, or zmq_ctx_term, returns.
 * arg        handed to log.
 * level      ZLINK_LOG_, whatever the variable says. Without a function it does not matter.
 * errors     EFAULT (not a context), EINVAL (no such level), EBUSY (called by log), EMTHREAD (no
 *            thread for it), ENOMEM; what was set before stays.
 * blocks     until a function that was set before has been told what waits.
 * threads    any. */
ZMQ_EXPORT int zlink_set_log(void *context, zlink_log_fn *log, void *arg, int level);

/* Deprecated: zmq_ctx_new, then zmq_ctx_set with ZMQ_IO_THREADS.
 *
 * io_threads  number of I/O threads, 0 or more.
 * errors      EINVAL, EMFILE, ENOMEM. */
ZMQ_EXPORT void *zmq_init(int io_threads);

/* Deprecated: another name of zmq_ctx_term. */
ZMQ_EXPORT int zmq_term(void *ctx);

/* Deprecated: another name of zmq_ctx_term. */
ZMQ_EXPORT int zmq_ctx_destroy(void *ctx);

/* ---- Messages -------------------------------------------------------------------------------- */

/* One message part. Only the functions below may look inside. A variable of this type holds nothing
 * until one of the zmq_msg_init functions has prepared it, and must be closed, or sent, before it
 * goes away. Copying the structure itself is an error: use zmq_msg_copy or zmq_msg_move. */
typedef struct zmq_msg_t {
#if defined(__GNUC__)
    unsigned char _[64] __attribute__((aligned(sizeof(void *))));
#else
    unsigned char _[64];
#endif
} zmq_msg_t;

/* Releases a buffer handed to zmq_msg_init_data; called once, on any thread. */
typedef void(zmq_free_fn)(void *data, void *hint);

/* Integer properties of a message. */
#define ZMQ_MORE   1
#define ZMQ_SRCFD  2
#define ZMQ_SHARED 3

/* Prepares an empty message; used before receiving into it. Cannot fail. */
ZMQ_EXPORT int zmq_msg_init(zmq_msg_t *msg);

/* Prepares a message of the given size, whose content is not set.
 *
 * size       bytes, 0 allowed.
 * errors     ENOMEM; the message is then not prepared. */
ZMQ_EXPORT int zmq_msg_init_size(zmq_msg_t *msg, size_t size);

/* Prepares a message around memory of the caller's, which is not copied.
 *
 * data, size  size in bytes; owned by the message once the call succeeds, and untouched by the
 *             caller until ffn has run.
 * ffn, hint   called as ffn(data, hint) when the last user of the memory is done: on an I/O thread,
 *             or inside any call of any thread on a message that holds the body (zmq_msg_close) or
 *             on a socket that it passes, the zmq_msg_send itself included. A lock that is held
 *             around such calls must not be waited for in it. NULL: the memory is constant and
 *             outlives every message that refers to it.
 * errors      ENOMEM; data stays the caller's and ffn is not called. */
ZMQ_EXPORT int zmq_msg_init_data(zmq_msg_t *msg, void *data, size_t size, zmq_free_fn *ffn, void *hint);

/* Queues a message part for sending; the form of zmq_send that can pass large bodies without a
 * copy.
 *
 * msg        given to the library on success and empty afterwards (closing it is allowed, not
 *            needed); still the caller's, content included, on failure.
 * flags      ZMQ_DONTWAIT: fail instead of waiting. ZMQ_SNDMORE: more parts follow.
 * returns    the size in bytes (at most INT_MAX is reported), -1 on failure.
 * errors     EAGAIN, ENOTSUP, EINVAL, EFSM, ETERM, ENOTSOCK, EINTR, EFAULT, EHOSTUNREACH (as
 *            zmq_send).
 * blocks     as zmq_send.
 * threads    one thread at a time per socket. */
ZMQ_EXPORT int zmq_msg_send(zmq_msg_t *msg, void *s, int flags);

/* Receives one message part into a prepared message.
 *
 * msg        what it held is released, before a wait already: whoever lent it may wait for that.
 *            Filled on success; unchanged after ENOTSUP, EFSM, ENOTSOCK, EFAULT, and in a context
 *            that had ended before; empty after other failures.
 * flags      ZMQ_DONTWAIT: fail instead of waiting.
 * returns    the size in bytes (at most INT_MAX is reported), -1 on failure.
 * errors     EAGAIN, ENOTSUP, EFSM, ETERM, ENOTSOCK, EINTR, EFAULT (as zmq_recv).
 * blocks     as zmq_recv.
 * threads    one thread at a time per socket. */
ZMQ_EXPORT int zmq_msg_recv(zmq_msg_t *msg, void *s, int flags);

/* Releases what a message holds. Memory shared with other messages lives on until the last is
 * closed.
 *
 * errors     EFAULT (the message was not prepared, or is closed already). */
ZMQ_EXPORT int zmq_msg_close(zmq_msg_t *msg);

/* Moves the content: dest takes what src held, src becomes empty. The content that dest held is
 * released.
 *
 * errors     EFAULT. */
ZMQ_EXPORT int zmq_msg_move(zmq_msg_t *dest, zmq_msg_t *src);

/* Makes dest another reference to the content of src; large bodies are shared, not copied. The
 * content that dest held is released. Neither may be changed afterwards.
 *
 * errors     EFAULT. */
ZMQ_EXPORT int zmq_msg_copy(zmq_msg_t *dest, zmq_msg_t *src);

/* The bytes of a message.
 *
 * returns    a pointer valid until the message is closed, sent, moved or received into. */
ZMQ_EXPORT void *zmq_msg_data(zmq_msg_t *msg);

/* The size of a message in bytes. */
ZMQ_EXPORT size_t zmq_msg_size(const zmq_msg_t *msg);

/* Whether another part of the same message follows: 1 or 0. */
ZMQ_EXPORT int zmq_msg_more(const zmq_msg_t *msg);

/* Reads an integer property.
 *
 * property   ZMQ_MORE (0 or 1), ZMQ_SHARED (1 when the content may be shared), ZMQ_SRCFD (the
 *            descriptor it came from, -1 when there is none; deprecated).
 * returns    the value, -1 on failure.
 * errors     EINVAL (unknown property, or ZMQ_SRCFD of a message that has none), EFAULT (no
 *            message). */
ZMQ_EXPORT int zmq_msg_get(const zmq_msg_t *msg, int property);

/* Sets an integer property. There is none that can be set.
 *
 * errors     EINVAL, always. */
ZMQ_EXPORT int zmq_msg_set(zmq_msg_t *msg, int property, int optval);

/* Reads a string property of a received message: "Socket-Type", "Routing-Id", "User-Id",
 * "Peer-Address", and whatever the peer's handshake or the authenticator added.
 *
 * returns    a string owned by the message, valid until it is closed; NULL on failure.
 * errors     EINVAL (no such property), EFAULT (no message). */
ZMQ_EXPORT const char *zmq_msg_gets(const zmq_msg_t *msg, const char *property);

/* ---- Sockets --------------------------------------------------------------------------------- */

/* Socket types. */
#define ZMQ_PAIR   0
#define ZMQ_PUB    1
#define ZMQ_SUB    2
#define ZMQ_REQ    3
#define ZMQ_REP    4
#define ZMQ_DEALER 5
#define ZMQ_ROUTER 6
#define ZMQ_PULL   7
#define ZMQ_PUSH   8
#define ZMQ_XPUB   9
#define ZMQ_XSUB   10
#define ZMQ_STREAM 11

/* Their deprecated names. */
#define ZMQ_XREQ ZMQ_DEALER
#define ZMQ_XREP ZMQ_ROUTER

/* clang-format off */
/* Socket options; the numbers are part of the binary interface. A row names the type with its unit
 * or values, the default, and when a new value acts; then it says what the option is.
 *
 *   bool         an int, 0 or 1.
 *   string       text, with its NUL or without; read with it. octets may be any, a key has 32.
 *                Where the default is none, no octets are read.
 *   set only     zmq_getsockopt answers EINVAL.
 *   at once      also at connections that are there.
 *   next ...     from the next message, call, connect, peer or socket on.
 *   later        at binds and connects made later, and at what is accepted there.
 *   not built    zmq_setsockopt and zmq_getsockopt answer EINVAL.
 *   since ...    at the end of a row: of no release before that one. */
#define ZMQ_AFFINITY                          4  /* uint64 bits, default 0, later: the I/O threads
                                                    to choose from, bit 0 the first; 0 is all */
#define ZMQ_ROUTING_ID                        5  /* octets, default none, later: a ROUTER calls this
                                                    peer so; 1 to 255. STREAM: its newest peer */
#define ZMQ_SUBSCRIBE                         6  /* octets, set only, default none, at once: SUB
                                                    takes what begins so; XPUB: ZMQ_XPUB_MANUAL */
#define ZMQ_UNSUBSCRIBE                       7  /* octets, set only, default none, at once: takes
                                                    one ZMQ_SUBSCRIBE back */
#define ZMQ_RATE                              8  /* int kbit/s, default 100, no effect: kept for
                                                    pgm */
#define ZMQ_RECOVERY_IVL                      9  /* int ms, default 10000, no effect: kept for
                                                    pgm */
#define ZMQ_SNDBUF                            11 /* int octets, default -1, later: SO_SNDBUF; -1
                                                    leaves it to the system, or to zlink within one
                                                    machine */
#define ZMQ_RCVBUF                            12 /* int octets, default -1, later: SO_RCVBUF; -1
                                                    leaves it to the system */
#define ZMQ_RCVMORE                           13 /* bool, read only: the part received last is not
                                                    the last of its message */
#define ZMQ_FD                                14 /* int descriptor, read only: readable when
                                                    something has happened; see zmq_getsockopt */
#define ZMQ_EVENTS                            15 /* int ZMQ_POLLIN | ZMQ_POLLOUT, read only: what
                                                    can be done now */
#define ZMQ_TYPE                              16 /* int ZMQ_PAIR to ZMQ_STREAM, read only: what
                                                    zmq_socket was given */
#define ZMQ_LINGER                            17 /* int ms, default -1 (SUB, XSUB 0), at once: what
                                                    is queued at the end still goes out; -1: all of
                                                    it */
#define ZMQ_RECONNECT_IVL                     18 /* int ms, default 100, later: until a connection
                                                    is tried again; 0 and -1: it is not */
#define ZMQ_BACKLOG                           19 /* int connections, default 100, later: that may
                                                    wait to be accepted */
#define ZMQ_RECONNECT_IVL_MAX                 21 /* int ms, default 0, later: ZMQ_RECONNECT_IVL
                                                    doubles up to it; 0: it stays */
#define ZMQ_MAXMSGSIZE                        22 /* int64 octets, default -1, later: a peer that
                                                    sends a longer part is cut off; -1, and STREAM:
                                                    no limit */
#define ZMQ_SNDHWM                            23 /* int messages, default 1000, at once: high-water
                                                    mark: so many may wait for one peer; 0: no
                                                    limit */
#define ZMQ_RCVHWM                            24 /* int messages, default 1000, at once: high-water
                                                    mark: so many may wait of one peer; 0: no
                                                    limit */
#define ZMQ_MULTICAST_HOPS                    25 /* int hops, default 1, no effect: kept for pgm and
                                                    norm */
#define ZMQ_RCVTIMEO                          27 /* int ms, default -1, next call: a receive waits
                                                    so long; -1 without end */
#define ZMQ_SNDTIMEO                          28 /* int ms, default -1, next call: a send waits so
                                                    long; -1 without end */
#define ZMQ_LAST_ENDPOINT                     32 /* string, read only: what was bound or connected
                                                    last, with its port or path */
#define ZMQ_ROUTER_MANDATORY                  33 /* bool, set only, default 0, next message: 1:
                                                    EHOSTUNREACH, or wait for room; 0: drop */
#define ZMQ_TCP_KEEPALIVE                     34 /* int 0 or 1, default -1, later: SO_KEEPALIVE; -1
                                                    leaves it to the system */
#define ZMQ_TCP_KEEPALIVE_CNT                 35 /* int probes, default -1, later: TCP_KEEPCNT, with
                                                    ZMQ_TCP_KEEPALIVE 1 */
#define ZMQ_TCP_KEEPALIVE_IDLE                36 /* int s, default -1, later: TCP_KEEPIDLE, with
                                                    ZMQ_TCP_KEEPALIVE 1 */
#define ZMQ_TCP_KEEPALIVE_INTVL               37 /* int s, default -1, later: TCP_KEEPINTVL, with
                                                    ZMQ_TCP_KEEPALIVE 1 */
#define ZMQ_IMMEDIATE                         39 /* bool, default 0, later: 1: messages go to
                                                    complete connections only */
#define ZMQ_XPUB_VERBOSE                      40 /* bool, set only, default 0, next message: XPUB
                                                    receives every subscription, known ones too */
#define ZMQ_ROUTER_RAW                        41 /* bool, set only, default 0, later: ROUTER: its
                                                    peers do not speak ZMTP; see zmq_socket */
#define ZMQ_IPV6                              42 /* bool, default 0, later: 1: IPv6 too. Of contexts
                                                    too: the default of the next socket */
#define ZMQ_MECHANISM                         43 /* int ZMQ_NULL to ZMQ_GSSAPI, read only: as the
                                                    options of the mechanisms have chosen */
#define ZMQ_PLAIN_SERVER                      44 /* bool, default 0, later: a handler (RFC 27)
                                                    judges each peer's name and password; without
                                                    one nobody comes in */
#define ZMQ_PLAIN_USERNAME                    45 /* string, default none, later: of a client of
                                                    PLAIN, shown in clear; a null pointer takes it
                                                    back */
#define ZMQ_PLAIN_PASSWORD                    46 /* string, default none, later: of a client of
                                                    PLAIN, shown in clear; a null pointer takes it
                                                    back */
#define ZMQ_CURVE_SERVER                      47 /* bool, default 0, later: lets in clients that
                                                    know its public key, and of these those that a
                                                    handler (RFC 27) accepts, where there is one */
#define ZMQ_CURVE_PUBLICKEY                   48 /* key, default 0, later: of a client: 32 octets,
                                                    or 40 characters of Z85 with or without a NUL;
                                                    read as 32 octets, or as 41 */
#define ZMQ_CURVE_SECRETKEY                   49 /* key, default 0, later: of a client or a server,
                                                    which proves with it that its public key is its
                                                    own */
#define ZMQ_CURVE_SERVERKEY                   50 /* key, default 0, later: makes a client of this
                                                    side, for the server whose public key it is */
#define ZMQ_PROBE_ROUTER                      51 /* bool, set only, default 0, next peer: REQ,
                                                    DEALER, ROUTER send it an empty message first */
#define ZMQ_REQ_CORRELATE                     52 /* bool, set only, default 0, next message:
                                                    requests are numbered, other replies are
                                                    dropped */
#define ZMQ_REQ_RELAXED                       53 /* bool, set only, default 0, next message: a REQ
                                                    may send again before the reply has come */
#define ZMQ_CONFLATE                          54 /* bool, default 0, later: PUSH, PULL, PUB, SUB,
                                                    DEALER: each queue keeps the newest message
                                                    only; no parts */
#define ZMQ_ZAP_DOMAIN                        55 /* string, default none, later: told to the handler
                                                    with each question; with NULL none is asked
                                                    without it */
#define ZMQ_ROUTER_HANDOVER                   56 /* bool, set only, default 0, next peer: 1: it may
                                                    take over a routing id; 0: it is refused */
#define ZMQ_TOS                               57 /* int, default 0, later: IP_TOS and IPV6_TCLASS; 0
                                                    leaves it to the system */
#define ZMQ_CONNECT_ROUTING_ID                61 /* octets, set only, default none, next connect:
                                                    ROUTER, REP, STREAM call that peer so; holds
                                                    once */
#define ZMQ_GSSAPI_SERVER                     62 /* not built: EINVAL */
#define ZMQ_GSSAPI_PRINCIPAL                  63 /* not built: EINVAL */
#define ZMQ_GSSAPI_SERVICE_PRINCIPAL          64 /* not built: EINVAL */
#define ZMQ_GSSAPI_PLAINTEXT                  65 /* not built: EINVAL */
#define ZMQ_HANDSHAKE_IVL                     66 /* int ms, default 30000, later: a handshake may
                                                    take so long; 0: no limit */
#define ZMQ_SOCKS_PROXY                       68 /* string, default none, later: "host:port" to
                                                    connect through, "source;" in front, but for ipc
                                                    and inproc; null pointer: none */
#define ZMQ_XPUB_NODROP                       69 /* bool, set only, default 0, next message: 1: PUB,
                                                    XPUB wait for a full peer; 0: drop */
#define ZMQ_BLOCKY                            70 /* bool, default 1, next socket: of contexts: 0:
                                                    ZMQ_LINGER is 0 at first */
#define ZMQ_XPUB_MANUAL                       71 /* bool, set only, default 0, next message:
                                                    ZMQ_SUBSCRIBE is for the peer heard of last */
#define ZMQ_XPUB_WELCOME_MSG                  72 /* octets, set only, default none, next peer: PUB
                                                    and XPUB send it this first */
#define ZMQ_STREAM_NOTIFY                     73 /* bool, set only, default 1, later: STREAM gets an
                                                    empty message for each connection, and its
                                                    end */
#define ZMQ_INVERT_MATCHING                   74 /* bool, default 0, next message: PUB, XPUB, SUB
                                                    let through what does not match */
#define ZMQ_HEARTBEAT_IVL                     75 /* int ms, default 0, later: between PINGs; 0: none
                                                    are sent */
#define ZMQ_HEARTBEAT_TTL                     76 /* int ms, default 0, later: told to the peer: it
                                                    gives up after such a silence; steps of 100 */
#define ZMQ_HEARTBEAT_TIMEOUT                 77 /* int ms, default -1, later: a PING may go
                                                    unanswered so long; -1: ZMQ_HEARTBEAT_IVL */
#define ZMQ_XPUB_VERBOSER                     78 /* bool, set only, default 0, next message: as
                                                    ZMQ_XPUB_VERBOSE, and every cancellation */
#define ZMQ_CONNECT_TIMEOUT                   79 /* int ms, default 0, later: an attempt may take so
                                                    long; 0: as the system says */
#define ZMQ_TCP_MAXRT                         80 /* int ms, default 0, later: TCP_USER_TIMEOUT; 0
                                                    leaves it to the system */
#define ZMQ_THREAD_SAFE                       81 /* bool, read only: 0 */
#define ZMQ_MULTICAST_MAXTPDU                 84 /* int octets, default 1500, no effect: kept for
                                                    pgm */
#define ZMQ_VMCI_BUFFER_SIZE                  85 /* not built: EINVAL */
#define ZMQ_VMCI_BUFFER_MIN_SIZE              86 /* not built: EINVAL */
#define ZMQ_VMCI_BUFFER_MAX_SIZE              87 /* not built: EINVAL */
#define ZMQ_VMCI_CONNECT_TIMEOUT              88 /* not built: EINVAL */
#define ZMQ_USE_FD                            89 /* int descriptor, default -1, later: it listens
                                                    already, and is bound instead of a new one */
#define ZMQ_GSSAPI_PRINCIPAL_NAMETYPE         90 /* not built: EINVAL */
#define ZMQ_GSSAPI_SERVICE_PRINCIPAL_NAMETYPE 91 /* not built: EINVAL */
#define ZMQ_BINDTODEVICE                      92 /* string, default none, later: SO_BINDTODEVICE,
                                                    tcp and tls only; null pointer: none */

/* Socket option, for ws:// and wss://: zlink's own, in a range that libzmq does not use. */
#define ZMQ_WS_ORIGIN 0x5A10 /* string, default none, later: what a client says it comes from; a
                                server: pages of "http://a,http://b" only */

/* Socket options, for marks in octets: zlink's own, in a range that libzmq does not use; see
 * zmq_setsockopt. */
#define ZLINK_SNDHWM_BYTES 0x5A21 /* uint64 octets, default 0, at once: while so many wait for one
                                     peer it is full; 0: no limit */
#define ZLINK_RCVHWM_BYTES 0x5A22 /* uint64 octets, default 0, at once: while so many wait of one
                                     peer no more is read; 0: no limit */

/* Socket option, for slow peers: what is done where a message finds the queue of its peer full. */
#define ZLINK_SLOW_PEER       0x5A23 /* int 0 to 3, default 0, next message: of PUB, XPUB, ROUTER:
                                        ZLINK_SLOW_PEER_ as below */
#define ZLINK_SLOW_PEER_AFTER 0x5A24 /* int ms, default 0, later: a monitor is told of a peer whose
                                        queue has been full so long; 0: of lost messages alone */

/* Socket options, for loops that wait on descriptors: levels, where ZMQ_FD tells of changes.
 * zmq_close closes them. */
#define ZLINK_EVENT_FD 0x5A25 /* int descriptor, read only: readable while a message can be
                                 received; see zmq_getsockopt */
#define ZLINK_ROOM_FD  0x5A26 /* int descriptor, read only: readable while a message can be sent to
                                 some peer */

/* Socket option, for metrics: zlink's own, in a range that libzmq does not use. */
#define ZLINK_SOCKET_NAME 0x5A20 /* string, default none, at once: the name of the socket in
                                    metrics, at most 64; none: its number and endpoint */

/* TLS options, for tls://: zlink's own, in a range that libzmq does not use. Files are PEM, by
 * path. A build without TLS has none: EINVAL. */
#define ZMQ_TLS_CERT                0x5A00 /* string, default none, later: file of the certificate
                                              and its chain; a server needs one */
#define ZMQ_TLS_KEY                 0x5A01 /* string, default none, later: file of the private key
                                              of ZMQ_TLS_CERT */
#define ZMQ_TLS_CA                  0x5A02 /* string, default none, later: file of the authorities
                                              to trust */
#define ZMQ_TLS_VERIFY              0x5A03 /* bool, default 1, later: 0: a client takes any server:
                                              nobody knows who listens */
#define ZMQ_TLS_REQUIRE_CLIENT_CERT 0x5A04 /* bool, default 0, later: 1: a server lets in clients
                                              with a certificate of ZMQ_TLS_CA only */
#define ZMQ_TLS_HOSTNAME            0x5A05 /* string, default none, later: the name that the server
                                              must prove; none: that of the endpoint */
#define ZMQ_TLS_TRUST_SYSTEM        0x5A06 /* int -1 to 1, default -1, later: 1: trust the system's
                                              authorities, too; -1: a client without ZMQ_TLS_CA
                                              does */
#define ZMQ_TLS_PASSWORD            0x5A07 /* string, default none, later: password of
                                              ZMQ_TLS_KEY */
#define ZMQ_TLS_GROUPS              0x5A08 /* string, default none, later: "P-384:P-256", the groups
                                              for keys, best first; none: X25519 and P-256 */
#define ZMQ_TLS_ZAP                 0x5A09 /* bool, default 0, later: 1: as
                                              ZMQ_TLS_REQUIRE_CLIENT_CERT, and a handler at
                                              inproc://zeromq.zap.01 says who may come in */

/* Deprecated options. */
#define ZMQ_IPV4ONLY          31 /* bool, default 1, later: the opposite of ZMQ_IPV6 */
#define ZMQ_TCP_ACCEPT_FILTER 38 /* string, set only, default none, later: "ADDRESS/BITS" is let in,
                                    too; null pointer: all are */
#define ZMQ_IPC_FILTER_PID    58 /* int pid, set only, default none, later: this process is let in,
                                    too; null pointer: all are */
#define ZMQ_IPC_FILTER_UID    59 /* int uid, set only, default none, later: this user is let in,
                                    too; null pointer: all are */
#define ZMQ_IPC_FILTER_GID    60 /* int gid, set only, default none, later: this group is let in,
                                    too; null pointer: all are */
/* clang-format on */

/* Deprecated names of options. */
#define ZMQ_IDENTITY                ZMQ_ROUTING_ID
#define ZMQ_CONNECT_RID             ZMQ_CONNECT_ROUTING_ID
#define ZMQ_DELAY_ATTACH_ON_CONNECT ZMQ_IMMEDIATE
#define ZMQ_FAIL_UNROUTABLE         ZMQ_ROUTER_MANDATORY
#define ZMQ_ROUTER_BEHAVIOR         ZMQ_ROUTER_MANDATORY

/* clang-format off */
/* Values of ZLINK_SLOW_PEER. */
#define ZLINK_SLOW_PEER_AS_TYPE    0 /* PUB and XPUB drop; a ROUTER drops, and with
                                        ZMQ_ROUTER_MANDATORY it blocks */
#define ZLINK_SLOW_PEER_BLOCK      1 /* the send waits for room, or fails with EAGAIN; of PUB and
                                        XPUB the same as ZMQ_XPUB_NODROP */
#define ZLINK_SLOW_PEER_DROP       2 /* that message is not for that peer */
#define ZLINK_SLOW_PEER_DISCONNECT 3 /* that too, and the peer is cut off, as by zlink_disconnect */
/* clang-format on */

/* Flags of the send and receive functions. */
#define ZMQ_DONTWAIT 1
#define ZMQ_SNDMORE  2
#define ZMQ_NOBLOCK  ZMQ_DONTWAIT /* deprecated */

/* Security mechanisms, the values of ZMQ_MECHANISM. */
#define ZMQ_NULL   0
#define ZMQ_PLAIN  1
#define ZMQ_CURVE  2
#define ZMQ_GSSAPI 3

/* Name types of the GSSAPI options. */
#define ZMQ_GSSAPI_NT_HOSTBASED      0
#define ZMQ_GSSAPI_NT_USER_NAME      1
#define ZMQ_GSSAPI_NT_KRB5_PRINCIPAL 2

/* Longest group name of RADIO and DISH sockets, in bytes. */
#define ZMQ_GROUP_MAX_LENGTH 255

/* Makes a socket.
 *
 * ctx        must outlive the socket.
 * type       ZMQ_PAIR to ZMQ_STREAM.
 * returns    a socket that zmq_close releases, or NULL.
 * errors     EINVAL (unknown type, or one not built), EFAULT (not a context), EMFILE
 *            (ZMQ_MAX_SOCKETS reached), ETERM.
 * note       the peers of a ZMQ_STREAM do not speak ZMTP. A message is a routing id and octets: as
 *            many as were read at once, 8 KiB at most, and to be sent as they are. It is empty
 *            where a connection is made, or gone; an empty one that is sent ends the connection
 *            behind all that was sent before. The id of a connection of the socket's own is
 *            ZMQ_ROUTING_ID after zmq_connect. EHOSTUNREACH: the id is nobody's. */
ZMQ_EXPORT void *zmq_socket(void *ctx, int type);

/* Closes a socket. Queued messages are sent in the background for at most ZMQ_LINGER milliseconds.
 *
 * s          unusable afterwards; a second close is refused.
 * errors     ENOTSOCK.
 * blocks     never. */
ZMQ_EXPORT int zmq_close(void *s);

/* Sets a socket option. Its row above says of which type, and when the new value acts.
 *
 * optval     copied; int options take an int, byte and string options any bytes.
 * optvallen  bytes.
 * errors     EINVAL (unknown option, wrong size or value, or what is not built), ETERM, ENOTSOCK,
 *            EINTR.
 * note       ZMQ_SOCKS_PROXY, "host:port" or "source:0;host:port", holds for tcp, tls, ws and wss;
 *            zmq_connect fails with EINVAL where that is no such address.
 * note       ZLINK_SNDHWM_BYTES and ZLINK_RCVHWM_BYTES stand beside ZMQ_SNDHWM and ZMQ_RCVHWM: what
 *            is full by either mark is full. They count octets as ZMTP has them, with headers. A
 *            message is let in while less than the mark waits, so that it is passed by one message
 *            at most, of any size. Over inproc there is one queue, whose mark is what both sides
 *            have set together. With ZMQ_CONFLATE there is none. Set on a socket that has bound or
 *            connected, they hold at once for the peers that are there; one that comes to such an
 *            endpoint later has the marks that were set when that began, as with ZMQ_SNDHWM. */
ZMQ_EXPORT int zmq_setsockopt(void *s, int option, const void *optval, size_t optvallen);

/* Reads a socket option.
 *
 * optval     buffer of the caller's.
 * optvallen  in: its size in bytes; out: how many the value takes, the rest of the buffer is zero.
 *            An int option wants exactly sizeof (int), other than ZMQ_RCVMORE, ZMQ_FD, ZMQ_EVENTS
 *            and ZMQ_THREAD_SAFE.
 * errors     EINVAL (unknown option, or the buffer has the wrong size), ETERM, ENOTSOCK, EINTR.
 * note       ZMQ_FD is readable when the events may have changed: after it was asked for first,
 *            after zmq_bind, zmq_connect, zmq_unbind and zmq_disconnect, when a peer has come or
 *            gone, and when something happens that the socket did not have when it was asked last:
 *            input, or room. The socket is asked by reading ZMQ_EVENTS, by zmq_poll and the pollers
 *            (for both), by a receive (for input) and a send (for room) that fail with EAGAIN. Any
 *            of these, and any other receive or send, makes the descriptor quiet: read ZMQ_EVENTS
 *            after them, and before you wait, and go on until it has nothing more that you want.
 *            Other calls leave it readable. zmq_close closes it: take it out of what watches it
 *            before. ZLINK_EVENT_FD is readable while a receive would get a message, and
 *            ZLINK_ROOM_FD while a send would find room, whatever was asked, sent or received
 *            before: wait on it with poll or a level-triggered epoll, and take one message each
 *            time, or all. A peer that comes or goes, or news that only the other one is for, makes
 *            either readable until the next call, so use ZMQ_DONTWAIT. Of a ROUTER room is a hint:
 *            it may be at another peer than that of the message. A part that follows another is
 *            there already. Each is made on first use, and stays; a socket that has one costs more
 *            for each message. */
ZMQ_EXPORT int zmq_getsockopt(void *s, int option, void *optval, size_t *optvallen);

/* Listens on an endpoint and accepts connections in the background.
 *
 * addr       tcp://ADDRESS:PORT, ipc://PATH, inproc://NAME, tls://ADDRESS:PORT,
 *            ws://ADDRESS:PORT/PATH, wss:// likewise. ADDRESS may be * or an interface; PORT may be
 *            * for any: ZMQ_LAST_ENDPOINT tells which. Without a PATH it is "/"; with its query it
 *            is at most 7 KiB, and what zmq_connect is given, with ZMQ_WS_ORIGIN, too. zmq_has
 *            knows what is built.
 * errors     EINVAL, EPROTONOSUPPORT, ENOCOMPATPROTO, EADDRINUSE, EADDRNOTAVAIL, ENODEV, EACCES,
 *            EMFILE, ETERM, ENOTSOCK, EMTHREAD; of ipc also ENAMETOOLONG and what the system says
 *            of PATH. A socket there is replaced, in use or not, no other file. */
ZMQ_EXPORT int zmq_bind(void *s, const char *addr);

/* Connects to an endpoint in the background, again and again until it is there, and again when it
 * breaks.
 *
 * addr       as zmq_bind, with a host name and no wild cards. tcp://SOURCE:PORT;HOST:PORT chooses
 *            the local end.
 * errors     EINVAL, EPROTONOSUPPORT, ENOCOMPATPROTO, ENAMETOOLONG (ipc), EADDRINUSE
 *            (ZMQ_CONNECT_ROUTING_ID), ETERM, ENOTSOCK, EMTHREAD.
 * blocks     never: success does not mean that a peer is there. */
ZMQ_EXPORT int zmq_connect(void *s, const char *addr);

/* Stops listening on an endpoint; connections accepted there end, as in libzmq. Messages that they
 * have delivered can still be received.
 *
 * addr       as given to zmq_bind, or as ZMQ_LAST_ENDPOINT told it.
 * errors     EINVAL, ETERM, ENOTSOCK, ENOENT (not bound there). */
ZMQ_EXPORT int zmq_unbind(void *s, const char *addr);

/* Ends a connection made by zmq_connect; its queued messages linger, messages not yet received are
 * dropped, as in libzmq. With ZMQ_IMMEDIATE they can still be received, and so can those of a peer
 * over inproc that had closed before.
 *
 * addr       as given to zmq_connect.
 * errors     EINVAL, ETERM, ENOTSOCK, ENOENT (not connected there). */
ZMQ_EXPORT int zmq_disconnect(void *s, const char *addr);

/* Queues one message part for sending.
 *
 * buf, len   copied before the call returns; len in bytes, 0 allowed.
 * flags      ZMQ_DONTWAIT: fail instead of waiting. ZMQ_SNDMORE: more parts follow.
 * returns    len on success, -1 with errno on failure; on failure nothing is queued.
 * errors     EAGAIN (would wait, or ZMQ_SNDTIMEO ms passed), ENOTSUP (this type cannot send),
 *            EINVAL, EFSM (not its turn to send), EMSGSIZE (beyond ZMQ_MAX_MSGSZ), EHOSTUNREACH
 *            (ZMQ_ROUTER_MANDATORY and no such peer), ETERM, EINTR, ENOTSOCK.
 * blocks     until a peer has room below its high-water mark, unless ZMQ_DONTWAIT; types that drop
 *            never wait.
 * threads    one thread at a time per socket; a full fence is needed to migrate.
 * note       success means queued, not delivered. */
ZMQ_EXPORT int zmq_send(void *s, const void *buf, size_t len, int flags);

/* zmq_send for constant memory, which may be referred to instead of copied.
 *
 * buf, len   must keep its value and outlive the context; len in bytes.
 * returns, errors, blocks, threads   as zmq_send. */
ZMQ_EXPORT int zmq_send_const(void *s, const void *buf, size_t len, int flags);

/* Receives one message part.
 *
 * buf, len   the caller's; at most len bytes are written, the rest of the part is discarded.
 * flags      ZMQ_DONTWAIT: fail instead of waiting.
 * returns    the full size of the part in bytes, even when it did not fit; -1 on failure.
 * errors     EAGAIN (nothing there, or ZMQ_RCVTIMEO ms passed), ENOTSUP (this type cannot receive),
 *            EFSM (not its turn to receive), ETERM, EINTR, ENOTSOCK.
 * blocks     until a message is complete, unless ZMQ_DONTWAIT. The other parts of it are then there
 *            too.
 * threads    one thread at a time per socket; a full fence is needed to migrate. */
ZMQ_EXPORT int zmq_recv(void *s, void *buf, size_t len, int flags);

/* ---- Connection events ----------------------------------------------------------------------- */

/* Events of zmq_socket_monitor; the comment names the value that comes with the event. */
#define ZMQ_EVENT_CONNECTED                  0x0001 /* descriptor */
#define ZMQ_EVENT_CONNECT_DELAYED            0x0002 /* nothing */
#define ZMQ_EVENT_CONNECT_RETRIED            0x0004 /* ms until the next attempt */
#define ZMQ_EVENT_LISTENING                  0x0008 /* descriptor */
#define ZMQ_EVENT_BIND_FAILED                0x0010 /* errno */
#define ZMQ_EVENT_ACCEPTED                   0x0020 /* descriptor */
#define ZMQ_EVENT_ACCEPT_FAILED              0x0040 /* errno */
#define ZMQ_EVENT_CLOSED                     0x0080 /* descriptor */
#define ZMQ_EVENT_CLOSE_FAILED               0x0100 /* errno */
#define ZMQ_EVENT_DISCONNECTED               0x0200 /* descriptor */
#define ZMQ_EVENT_MONITOR_STOPPED            0x0400 /* 0 */
#define ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL 0x0800 /* errno */
#define ZMQ_EVENT_HANDSHAKE_SUCCEEDED        0x1000 /* 0 */
#define ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL  0x2000 /* ZMQ_PROTOCOL_ERROR_... */
#define ZMQ_EVENT_HANDSHAKE_FAILED_AUTH      0x4000 /* ZAP status: 300, 400 or 500 */
#define ZMQ_EVENT_ALL                        0xFFFF

/* zlink's own, beyond what ZMQ_EVENT_ALL asks for: why the event that follows has happened, in
 * words. ZMQ_EVENT_REASONS asks for it in the mask; the message has three parts: ZMQ_EVENT_REASON
 * with the errno, the endpoint, and the words, without a zero at their end. */
#define ZMQ_EVENT_REASON  0x8000     /* errno, or 0 where nothing has failed */
#define ZMQ_EVENT_REASONS 0x40000000 /* in the mask of zmq_socket_monitor */

/* clang-format off */
/* zlink's own, too: the queue to a peer is full. It comes with the first message that is not for
 * the peer, or, of any type of socket, when the queue has been full for ZLINK_SLOW_PEER_AFTER, by
 * two looks in that time; and once, until less than half of the marks has waited, or a monitor
 * begins. Behind the endpoint follow three parts more: the address of the peer, its routing id and
 * its user, empty where they are not known. In version 2 there are two values, the second of which
 * is how many messages wait for the peer, and its address is the remote one. */
#define ZLINK_EVENT_SLOW_PEER  0x8001     /* messages that there was no room for, of this peer's, so
                                             far */
#define ZLINK_EVENT_SLOW_PEERS 0x20000000 /* in the mask of zmq_socket_monitor */
/* clang-format on */

/* In the mask: each event has these three parts, or in version 2 the last two of them, behind its
 * addresses and in front of words. They are empty where the event is about no peer, or where it is
 * not known. */
#define ZLINK_EVENT_PEER_NAMES 0x10000000

/* clang-format off */
/* zlink's own, too, of SUB and XSUB: messages that this socket subscribes to, and does not get from
 * the publisher at the endpoint, which had no room for them, and is of zlink as well. It is told
 * when the socket comes to the next message from there. The numbers of all events are to be added.
 * ZLINK_EVENT_GAPS asks for it in the mask, before the socket binds or connects. */
#define ZLINK_EVENT_GAP  0x8002     /* messages, 4294967295 for more; 0 where a connection was made
                                       again: how many is not known */
#define ZLINK_EVENT_GAPS 0x08000000 /* in the mask of zmq_socket_monitor */
/* clang-format on */

/* The faults of a handshake. */
#define ZMQ_PROTOCOL_ERROR_ZMTP_UNSPECIFIED                   0x10000000
#define ZMQ_PROTOCOL_ERROR_ZMTP_UNEXPECTED_COMMAND            0x10000001
#define ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_SEQUENCE              0x10000002
#define ZMQ_PROTOCOL_ERROR_ZMTP_KEY_EXCHANGE                  0x10000003
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_UNSPECIFIED 0x10000011
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_MESSAGE     0x10000012
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_HELLO       0x10000013
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_INITIATE    0x10000014
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_ERROR       0x10000015
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_READY       0x10000016
#define ZMQ_PROTOCOL_ERROR_ZMTP_MALFORMED_COMMAND_WELCOME     0x10000017
#define ZMQ_PROTOCOL_ERROR_ZMTP_INVALID_METADATA              0x10000018
#define ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC                 0x11000001
#define ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH            0x11000002
#define ZMQ_PROTOCOL_ERROR_ZAP_UNSPECIFIED                    0x20000000
#define ZMQ_PROTOCOL_ERROR_ZAP_MALFORMED_REPLY                0x20000001
#define ZMQ_PROTOCOL_ERROR_ZAP_BAD_REQUEST_ID                 0x20000002
#define ZMQ_PROTOCOL_ERROR_ZAP_BAD_VERSION                    0x20000003
#define ZMQ_PROTOCOL_ERROR_ZAP_INVALID_STATUS_CODE            0x20000004
#define ZMQ_PROTOCOL_ERROR_ZAP_INVALID_METADATA               0x20000005
#define ZMQ_PROTOCOL_ERROR_WS_UNSPECIFIED                     0x30000000

/* Publishes what happens to a socket's connections on a PAIR socket that it binds to addr. Each
 * event is a message of two parts: a uint16 event and a uint32 value in host order, six bytes; then
 * the endpoint.
 *
 * addr       an inproc endpoint; NULL ends the monitor with ZMQ_EVENT_MONITOR_STOPPED.
 * events     the ZMQ_EVENT_ bits wanted; ZMQ_EVENT_ALL | ZMQ_EVENT_REASONS for words, too.
 * errors     ETERM, EPROTONOSUPPORT (not inproc), EINVAL (address in use), ENOTSOCK.
 * threads    as the other functions of the socket; the monitor itself needs no call into the
 *            socket. */
ZMQ_EXPORT int zmq_socket_monitor(void *s, const char *addr, int events);

/* ---- Waiting for several sockets ------------------------------------------------------------- */

typedef int zmq_fd_t;

/* One thing to wait for: a socket, or, when socket is NULL, a descriptor of the system. */
typedef struct zmq_pollitem_t {
    void *socket;
    zmq_fd_t fd;
    short events;
    short revents;
} zmq_pollitem_t;

/* Events; ZMQ_POLLERR and ZMQ_POLLPRI concern descriptors only. */
#define ZMQ_POLLIN  1
#define ZMQ_POLLOUT 2
#define ZMQ_POLLERR 4
#define ZMQ_POLLPRI 8

#define ZMQ_POLLITEMS_DFLT 16

/* Waits until one of the items has an event it asks for.
 *
 * items      the caller's; revents of each is written on success.
 * nitems     how many; 0 makes it a sleep.
 * timeout    ms; 0 returns at once, -1 waits without end.
 * returns    the number of items with events, 0 when the time is up, -1 on failure.
 * errors     ETERM, EFAULT (items is NULL, or a bad socket), ENOTSOCK, EINTR.
 * blocks     as timeout says.
 * threads    one thread at a time per socket in the list. */
ZMQ_EXPORT int zmq_poll(zmq_pollitem_t *items, int nitems, long timeout);

/* The finding of a poller; for a descriptor socket is NULL, for a socket fd has no meaning. */
typedef struct zmq_poller_event_t {
    void *socket;
    zmq_fd_t fd;
    void *user_data;
    short events;
} zmq_poller_event_t;

/* Makes an empty poller: a set of sockets and descriptors that is kept between waits.
 *
 * returns    a poller that zmq_poller_destroy releases, or NULL.
 * errors     ENOMEM, EMFILE. */
ZMQ_EXPORT void *zmq_poller_new(void);

/* Releases a poller and sets the variable to NULL. The sockets in it are not touched.
 *
 * errors     EFAULT. */
ZMQ_EXPORT int zmq_poller_destroy(void **poller_p);

/* The number of sockets and descriptors in a poller.
 *
 * returns    the number, -1 on failure.
 * errors     EFAULT. */
ZMQ_EXPORT int zmq_poller_size(void *poller);

/* Adds a socket.
 *
 * socket     must stay open until it is removed.
 * user_data  handed back with its events; never looked at.
 * events     ZMQ_POLLIN, ZMQ_POLLOUT, or both.
 * errors     EINVAL (already in it, or bad events), ENOTSOCK, EFAULT, ENOMEM, EMFILE. */
ZMQ_EXPORT int zmq_poller_add(void *poller, void *socket, void *user_data, short events);

/* Changes the events a socket is waited for.
 *
 * errors     EINVAL (not in it, or bad events), ENOTSOCK, EFAULT. */
ZMQ_EXPORT int zmq_poller_modify(void *poller, void *socket, short events);

/* Removes a socket.
 *
 * errors     EINVAL (not in it), ENOTSOCK, EFAULT. */
ZMQ_EXPORT int zmq_poller_remove(void *poller, void *socket);

/* Waits for one event.
 *
 * event      written on success.
 * timeout    ms; 0 returns at once, -1 waits without end.
 * errors     EAGAIN (the time is up), EFAULT (bad poller, or the wait is endless and nothing in it
 *            is watched for any event), ETERM, EINTR, ENOMEM.
 * blocks     as timeout says. */
ZMQ_EXPORT int zmq_poller_wait(void *poller, zmq_poller_event_t *event, long timeout);

/* Waits for events and collects as many as there are.
 *
 * events     the caller's array of n_events places.
 * returns    the number of events written, -1 on failure.
 * errors, blocks   as zmq_poller_wait; EINVAL when n_events is negative. */
ZMQ_EXPORT int zmq_poller_wait_all(void *poller, zmq_poller_event_t *events, int n_events, long timeout);

/* A descriptor that becomes readable when the poller may have events; for thread-safe sockets only.
 *
 * fd         written on success; the poller's, do not close it.
 * errors     EINVAL (the poller has no thread-safe socket), EFAULT. */
ZMQ_EXPORT int zmq_poller_fd(void *poller, zmq_fd_t *fd);

/* Adds a descriptor of the system.
 *
 * fd         stays the caller's, open until it is removed.
 * events     ZMQ_POLLIN, ZMQ_POLLOUT, ZMQ_POLLERR, ZMQ_POLLPRI, combined.
 * errors     EINVAL (already in it, or bad events), EBADF, EFAULT, ENOMEM, EMFILE. */
ZMQ_EXPORT int zmq_poller_add_fd(void *poller, zmq_fd_t fd, void *user_data, short events);

/* Changes the events a descriptor is waited for.
 *
 * errors     EINVAL (not in it, or bad events), EBADF, EFAULT. */
ZMQ_EXPORT int zmq_poller_modify_fd(void *poller, zmq_fd_t fd, short events);

/* Removes a descriptor.
 *
 * errors     EINVAL (not in it), EBADF, EFAULT. */
ZMQ_EXPORT int zmq_poller_remove_fd(void *poller, zmq_fd_t fd);

/* ---- Proxies --------------------------------------------------------------------------------- */

/* Passes messages between two sockets until the context ends.
 *
 * frontend, backend   each receives from its peers and sends to the other's; may be the same
 *                     socket.
 * capture    gets a copy of every message; NULL for none.
 * returns    -1 when it ends.
 * errors     ETERM, EINTR, EFAULT, ENOTSOCK.
 * blocks     until the context is terminated.
 * threads    the sockets belong to the calling thread for as long as it runs. */
ZMQ_EXPORT int zmq_proxy(void *frontend, void *backend, void *capture);

/* zmq_proxy with a handle on it.
 *
 * control    receives the one-part commands PAUSE, RESUME, TERMINATE and STATISTICS; the last is
 *            answered with eight uint64: messages and bytes received and sent, frontend first. A
 *            REP socket is answered always. NULL for none.
 * returns    0 after TERMINATE, -1 otherwise.
 * errors, blocks, threads   as zmq_proxy. */
ZMQ_EXPORT int zmq_proxy_steerable(void *frontend, void *backend, void *capture, void *control);

/* ---- Keys and Z85 ---------------------------------------------------------------------------- */

/* Encodes bytes as Z85 text (RFC 32).
 *
 * dest       the caller's, at least size * 5 / 4 + 1 bytes.
 * data, size  size in bytes, a multiple of 4.
 * returns    dest, NULL on failure.
 * errors     EINVAL (bad size), EFAULT (a null pointer). */
ZMQ_EXPORT char *zmq_z85_encode(char *dest, const uint8_t *data, size_t size);

/* Decodes Z85 text.
 *
 * dest       the caller's, at least strlen(string) * 4 / 5 bytes.
 * string     its length is a multiple of 5.
 * returns    dest, NULL on failure.
 * errors     EINVAL (bad length, character or value), EFAULT (a null pointer). */
ZMQ_EXPORT uint8_t *zmq_z85_decode(uint8_t *dest, const char *string);

/* Makes a new CURVE key pair.
 *
 * z85_public_key, z85_secret_key   the caller's, 41 bytes each: 40 characters of Z85 and a NUL.
 * errors     EFAULT (a null pointer), ENOTSUP (no key could be made, or the library
 *            was built without CURVE). */
ZMQ_EXPORT int zmq_curve_keypair(char *z85_public_key, char *z85_secret_key);

/* Derives the public key of a secret one.
 *
 * z85_public_key   the caller's, 41 bytes.
 * z85_secret_key   40 characters of Z85.
 * errors     EINVAL (not a key), EFAULT (a null pointer), ENOTSUP (without CURVE). */
ZMQ_EXPORT int zmq_curve_public(char *z85_public_key, const char *z85_secret_key);

/* ---- Atomic counters ------------------------------------------------------------------------- */

/* Makes a counter that stands at 0 and that every thread may use.
 *
 * returns    a counter that zmq_atomic_counter_destroy releases, or NULL. */
ZMQ_EXPORT void *zmq_atomic_counter_new(void);

/* Sets the counter. */
ZMQ_EXPORT void zmq_atomic_counter_set(void *counter, int value);

/* Adds one and returns the value before. */
ZMQ_EXPORT int zmq_atomic_counter_inc(void *counter);

/* Takes one away; returns 1 while the counter is above 0, 0 when it has reached 0. */
ZMQ_EXPORT int zmq_atomic_counter_dec(void *counter);

/* The present value. */
ZMQ_EXPORT int zmq_atomic_counter_value(void *counter);

/* Releases a counter and sets the variable to NULL. */
ZMQ_EXPORT void zmq_atomic_counter_destroy(void **counter_p);

/* ---- Timers ---------------------------------------------------------------------------------- */

/* Called by zmq_timers_execute when a timer is due. */
typedef void(zmq_timer_fn)(int timer_id, void *arg);

/* Makes an empty set of timers.
 *
 * returns    a set that zmq_timers_destroy releases, or NULL. */
ZMQ_EXPORT void *zmq_timers_new(void);

/* Releases a set of timers and sets the variable to NULL.
 *
 * errors     EFAULT. */
ZMQ_EXPORT int zmq_timers_destroy(void **timers_p);

/* Adds a timer that repeats.
 *
 * interval   ms between two calls.
 * handler    called as handler(id, arg), inside zmq_timers_execute only.
 * returns    the timer's id, -1 on failure.
 * errors     EFAULT (bad set, or handler is NULL). */
ZMQ_EXPORT int zmq_timers_add(void *timers, size_t interval, zmq_timer_fn handler, void *arg);

/* Removes a timer.
 *
 * errors     EINVAL (no such timer), EFAULT. */
ZMQ_EXPORT int zmq_timers_cancel(void *timers, int timer_id);

/* Changes the interval of a timer, in ms, starting now.
 *
 * errors     EINVAL (no such timer), EFAULT. */
ZMQ_EXPORT int zmq_timers_set_interval(void *timers, int timer_id, size_t interval);

/* Starts the interval of a timer anew, from now.
 *
 * errors     EINVAL (no such timer), EFAULT. */
ZMQ_EXPORT int zmq_timers_reset(void *timers, int timer_id);

/* The time until the next timer is due.
 *
 * returns    ms, 0 when one is due already, -1 when there is none (or on failure, with errno).
 * errors     EFAULT. */
ZMQ_EXPORT long zmq_timers_timeout(void *timers);

/* Calls the handlers of all timers that are due.
 *
 * errors     EFAULT.
 * threads    handlers run on the calling thread. */
ZMQ_EXPORT int zmq_timers_execute(void *timers);

/* ---- Utilities ------------------------------------------------------------------------------- */

/* Starts a stopwatch.
 *
 * returns    a stopwatch that zmq_stopwatch_stop releases. */
ZMQ_EXPORT void *zmq_stopwatch_start(void);

/* Microseconds since the start; the stopwatch goes on. */
ZMQ_EXPORT unsigned long zmq_stopwatch_intermediate(void *watch);

/* Microseconds since the start; the stopwatch is released. */
ZMQ_EXPORT unsigned long zmq_stopwatch_stop(void *watch);

/* Sleeps.
 *
 * seconds    whole seconds.
 * blocks     for that long. */
ZMQ_EXPORT void zmq_sleep(int seconds);

/* The function that zmq_threadstart runs. */
typedef void(zmq_thread_fn)(void *);

/* Starts a thread.
 *
 * func, arg  run as func(arg) on the new thread; arg stays the caller's.
 * returns    a handle that zmq_threadclose releases, or NULL. */
ZMQ_EXPORT void *zmq_threadstart(zmq_thread_fn *func, void *arg);

/* Waits for a thread and releases its handle.
 *
 * blocks     until the thread's function has returned. */
ZMQ_EXPORT void zmq_threadclose(void *thread);

/* ---- Debug counters -------------------------------------------------------------------------- */

/* These tell how bodies went from the application to the kernel, in all contexts of the process.
 * Define ZMQ_DEBUG_COUNTERS only for a library that was built with this option: other builds do not
 * have these functions.
 *
 * threads    any; a count may follow what it counts by a moment, and no two are taken at the same
 *            one. */
#ifdef ZMQ_DEBUG_COUNTERS

/* Bodies that the kernel has taken, each as a whole, from the message's own memory: those of 8 KiB
 * and more that came as a zmq_msg_t, above 2 KiB all that zmq_msg_init_data lent with an ffn, and
 * from 128 KiB on what zmq_send wrote before it returned. A body sent to several peers counts for
 * each. */
ZMQ_EXPORT size_t zmq_debug_get_zerocopy_count(void);

/* Writes of which the kernel took copied octets only: small messages, however many in one write,
 * and handshakes. */
ZMQ_EXPORT size_t zmq_debug_get_fallback_count(void);

/* Octets of bodies copied on the way, without frame headers and handshakes. Messages over inproc do
 * not count. */
ZMQ_EXPORT size_t zmq_debug_get_bytes_copied(void);

/* Writes that gathered more than one range of memory, such as a header and a body. */
ZMQ_EXPORT size_t zmq_debug_get_scatter_gather_count(void);

/* Writes of which the kernel took some octets, but not all. */
ZMQ_EXPORT size_t zmq_debug_get_partial_write_count(void);

/* Sets all of them to 0. */
ZMQ_EXPORT void zmq_debug_reset_counters(void);

#endif

/* ---- Deprecated functions -------------------------------------------------------------------- */

#define ZMQ_STREAMER  1
#define ZMQ_FORWARDER 2
#define ZMQ_QUEUE     3

struct iovec;

/* Deprecated: zmq_proxy without a capture.
 *
 * type       ignored. */
ZMQ_EXPORT int zmq_device(int type, void *frontend, void *backend);

/* Deprecated: zmq_msg_send with its arguments in another order. */
ZMQ_EXPORT int zmq_sendmsg(void *s, zmq_msg_t *msg, int flags);

/* Deprecated: zmq_msg_recv with its arguments in another order. */
ZMQ_EXPORT int zmq_recvmsg(void *s, zmq_msg_t *msg, int flags);

/* Deprecated: sends several bodies: as the parts of one message with ZMQ_SNDMORE, which ends with
 * the last of them, and as messages of their own without it.
 *
 * iov, count  the bodies, copied; at least one.
 * flags       as zmq_send, but for ZMQ_SNDMORE.
 * returns     the size of the last one, -1 on failure: those before the one that failed are sent,
 *             then.
 * errors      EINVAL, and those of zmq_send. */
ZMQ_EXPORT int zmq_sendiov(void *s, struct iovec *iov, size_t count, int flags);

/* Deprecated: receives a message of several parts.
 *
 * iov        filled with buffers made by malloc, which the caller frees.
 * count      in: the room in iov; out: the parts received.
 * returns    the number of parts, -1 on failure.
 * errors     EINVAL, ENOMEM, and those of zmq_recv. */
ZMQ_EXPORT int zmq_recviov(void *s, struct iovec *iov, size_t *count, int flags);

/* ---- Draft constants ------------------------------------------------------------------------- */

/* Numbers that libzmq calls drafts, kept for source compatibility. zmq_setsockopt answers EINVAL
 * for options that are not built. */
#ifdef ZMQ_BUILD_DRAFT_API

#define ZMQ_SERVER  12
#define ZMQ_CLIENT  13
#define ZMQ_RADIO   14
#define ZMQ_DISH    15
#define ZMQ_GATHER  16
#define ZMQ_SCATTER 17
#define ZMQ_DGRAM   18
#define ZMQ_PEER    19
#define ZMQ_CHANNEL 20

/* clang-format off */
/* Draft context option. */
#define ZMQ_ZERO_COPY_RECV 10 /* bool, default 1, no effect: of contexts: not built, 0: EINVAL */

/* TLS options, as libzmq's drafts have them: text instead of files. For wss:// and tls://. A build
 * without TLS has none: EINVAL. */
#define ZMQ_WSS_KEY_PEM      103 /* string PEM, set only, default none, later: as ZMQ_TLS_KEY, but
                                    the key itself */
#define ZMQ_WSS_CERT_PEM     104 /* string PEM, set only, default none, later: as ZMQ_TLS_CERT, but
                                    the certificates themselves */
#define ZMQ_WSS_TRUST_PEM    105 /* string PEM, set only, default none, later: as ZMQ_TLS_CA, but
                                    the authorities themselves */
#define ZMQ_WSS_HOSTNAME     106 /* string, set only, default none, later: as ZMQ_TLS_HOSTNAME */
#define ZMQ_WSS_TRUST_SYSTEM 107 /* bool, set only, default none, later: as ZMQ_TLS_TRUST_SYSTEM */

/* Draft options. */
#define ZMQ_ZAP_ENFORCE_DOMAIN       93  /* bool, default 0, later: with NULL and a domain nobody
                                            comes in without a handler */
#define ZMQ_LOOPBACK_FASTPATH        94  /* bool, default 0, no effect: of Windows, 1: EINVAL */
#define ZMQ_METADATA                 95  /* string, set only, default none, later: "X-name:value",
                                            told to the peer in the handshake */
#define ZMQ_MULTICAST_LOOP           96  /* bool, default 1, no effect: kept for pgm and norm */
#define ZMQ_ROUTER_NOTIFY            97  /* int ZMQ_NOTIFY_..., default 0, next peer: ROUTER
                                            receives a notice of who comes, or goes */
#define ZMQ_XPUB_MANUAL_LAST_VALUE   98  /* bool, set only, default 0, next message: as
                                            ZMQ_XPUB_MANUAL, and sends to that peer only */
#define ZMQ_SOCKS_USERNAME           99  /* string, default none, later: for ZMQ_SOCKS_PROXY; at
                                            most 255 */
#define ZMQ_SOCKS_PASSWORD           100 /* string, default none, later: for ZMQ_SOCKS_PROXY; at
                                            most 255 */
#define ZMQ_IN_BATCH_SIZE            101 /* int octets, default 8192, later: of a read, at least 8
                                            KiB are asked for; until set, 64 KiB */
#define ZMQ_OUT_BATCH_SIZE           102 /* int octets, default 8192, later: of a write, at most;
                                            until set, 256 KiB */
#define ZMQ_ONLY_FIRST_SUBSCRIBE     108 /* bool, set only, default 0, next message: later parts are
                                            no subscriptions; PUB, XPUB, XSUB */
#define ZMQ_RECONNECT_STOP           109 /* int ZMQ_RECONNECT_STOP_..., default 0, later: when a
                                            connection is not tried again */
#define ZMQ_HELLO_MSG                110 /* octets, set only, default none, later: PAIR, DEALER,
                                            ROUTER send it first to each new peer */
#define ZMQ_DISCONNECT_MSG           111 /* octets, set only, default none, later: the same receive
                                            it when a peer is gone for good; not inproc */
#define ZMQ_PRIORITY                 112 /* int, default 0, later: SO_PRIORITY, tcp only; 0 leaves
                                            it to the system */
#define ZMQ_BUSY_POLL                113 /* int us, default 0, later: SO_BUSY_POLL, tcp only; 0
                                            leaves it to the system */
#define ZMQ_HICCUP_MSG               114 /* octets, set only, default none, later: the same receive
                                            it when one has gone and is to come again */
#define ZMQ_XSUB_VERBOSE_UNSUBSCRIBE 115 /* bool, set only, default 0, next message: XSUB passes
                                            every cancellation on */
#define ZMQ_TOPICS_COUNT             116 /* int topics, read only: that are subscribed; PUB, XPUB,
                                            SUB, XSUB */
#define ZMQ_NORM_MODE                117 /* not built: EINVAL */
#define ZMQ_NORM_UNICAST_NACK        118 /* not built: EINVAL */
#define ZMQ_NORM_BUFFER_SIZE         119 /* not built: EINVAL */
#define ZMQ_NORM_SEGMENT_SIZE        120 /* not built: EINVAL */
#define ZMQ_NORM_BLOCK_SIZE          121 /* not built: EINVAL */
#define ZMQ_NORM_NUM_PARITY          122 /* not built: EINVAL */
#define ZMQ_NORM_NUM_AUTOPARITY      123 /* not built: EINVAL */
#define ZMQ_NORM_PUSH                124 /* not built: EINVAL */
/* clang-format on */

#define ZMQ_NORM_FIXED       0
#define ZMQ_NORM_CC          1
#define ZMQ_NORM_CCL         2
#define ZMQ_NORM_CCE         3
#define ZMQ_NORM_CCE_ECNONLY 4

#define ZMQ_RECONNECT_STOP_CONN_REFUSED     1
#define ZMQ_RECONNECT_STOP_HANDSHAKE_FAILED 2
#define ZMQ_RECONNECT_STOP_AFTER_DISCONNECT 4

#define ZMQ_NOTIFY_CONNECT    1
#define ZMQ_NOTIFY_DISCONNECT 2

#define ZMQ_MSG_PROPERTY_ROUTING_ID   "Routing-Id"
#define ZMQ_MSG_PROPERTY_SOCKET_TYPE  "Socket-Type"
#define ZMQ_MSG_PROPERTY_USER_ID      "User-Id"
#define ZMQ_MSG_PROPERTY_PEER_ADDRESS "Peer-Address"

#define ZMQ_EVENT_PIPES_STATS           0x10000 /* outbound and inbound queue lengths */
#define ZMQ_CURRENT_EVENT_VERSION       1
#define ZMQ_CURRENT_EVENT_VERSION_DRAFT 2
#define ZMQ_EVENT_ALL_V1                ZMQ_EVENT_ALL
#define ZMQ_EVENT_ALL_V2                (ZMQ_EVENT_ALL_V1 | ZMQ_EVENT_PIPES_STATS)

/* ---- Draft functions ------------------------------------------------------------------------- */

/* The library exports them in any case. Those for SERVER, CLIENT, RADIO, DISH, PEER and the like,
 * which are not built, fail with ENOTSUP. The pollers, which are drafts in libzmq, stand above. */

/* zmq_ctx_set and zmq_ctx_get for values of any type: an int, and for ZMQ_THREAD_NAME_PREFIX a
 * string of 1 to 16 bytes, too.
 *
 * optval, optvallen   as of zmq_setsockopt and zmq_getsockopt.
 * errors     EINVAL (unknown option, bad value or size), EFAULT.
 * threads    any. */
ZMQ_EXPORT int zmq_ctx_set_ext(void *ctx, int option, const void *optval, size_t optvallen);
ZMQ_EXPORT int zmq_ctx_get_ext(void *ctx, int option, void *optval, size_t *optvallen);

/* zmq_msg_init_size, and a copy of size bytes at buf in it.
 *
 * errors     ENOMEM, EFAULT. */
ZMQ_EXPORT int zmq_msg_init_buffer(zmq_msg_t *msg, const void *buf, size_t size);

/* Not built: ENOTSUP, or EFAULT for what is no message. No message has a routing id (0), or a group
 * (""). */
ZMQ_EXPORT int zmq_msg_set_routing_id(zmq_msg_t *msg, uint32_t routing_id);
ZMQ_EXPORT uint32_t zmq_msg_routing_id(zmq_msg_t *msg);
ZMQ_EXPORT int zmq_msg_set_group(zmq_msg_t *msg, const char *group);
ZMQ_EXPORT const char *zmq_msg_group(zmq_msg_t *msg);

/* Not built: ENOTSUP, or ENOTSOCK. zmq_connect_peer returns 0 then. */
ZMQ_EXPORT int zmq_join(void *s, const char *group);
ZMQ_EXPORT int zmq_leave(void *s, const char *group);
ZMQ_EXPORT uint32_t zmq_connect_peer(void *s, const char *addr);
ZMQ_EXPORT int zmq_disconnect_peer(void *s, uint32_t routing_id);

/* Asks a ZMQ_ROUTER whether a message for one peer would be taken now.
 *
 * routing_id  of the peer, routing_id_size octets.
 * returns     ZMQ_POLLOUT, or 0 where its queue is full; -1 on failure.
 * errors      EHOSTUNREACH (no peer has that routing id), ENOTSUP (another type of socket),
 *             ENOTSOCK, ETERM, EFAULT.
 * threads     as the other functions of the socket. */
ZMQ_EXPORT int zmq_socket_get_peer_state(void *s, const void *routing_id, size_t routing_id_size);

/* Has the monitor of a socket tell of each connected peer how much waits: ZMQ_EVENT_PIPES_STATS,
 * with two values, messages to be sent to it, and messages of its to be received. Waits for the I/O
 * threads, which answer between two turns of their work.
 *
 * errors     EINVAL (no monitor of version 2 has asked for these), EAGAIN (nobody is connected),
 *            ENOTSOCK, ETERM, ENOMEM.
 * threads    as the other functions of the socket. */
ZMQ_EXPORT int zmq_socket_monitor_pipes_stats(void *s);

/* zmq_socket_monitor, with the version of what is published.
 *
 * addr       NULL stops monitoring, whatever the others are.
 * events     the ZMQ_EVENT_ bits wanted, ZMQ_EVENT_REASONS as well.
 * version    1 as zmq_socket_monitor. 2: an event is a message of parts of a uint64 each in host
 *            order, the event, the number of values, and the values, one but for
 *            ZMQ_EVENT_PIPES_STATS; then the local address and the remote one, of which the one
 *            that is not known is empty; then what ZLINK_EVENT_PEER_NAMES asks for, and the words
 *            of a reason.
 * type       ZMQ_PAIR.
 * errors     ENOTSUP (another version or type), EINVAL (version 1: events beyond an int), and those
 *            of zmq_socket_monitor. */
ZMQ_EXPORT int zmq_socket_monitor_versioned(void *s, const char *addr, uint64_t events, int version,
                                            int type);

/* zmq_poll, which lets other signals in while it sleeps: so a signal that is blocked otherwise ends
 * this wait and nothing else, and none is missed in front of it. It is declared where <signal.h>
 * has the type of its last argument.
 *
 * sigmask    the signals that are blocked while it sleeps, as ppoll(2) has it; NULL: those that are
 *            blocked already.
 * returns, errors, blocks   as zmq_poll. */
#ifdef SIG_BLOCK
ZMQ_EXPORT int zmq_ppoll(zmq_pollitem_t *items, int nitems, long timeout, const sigset_t *sigmask);
#endif

#endif

#ifdef __cplusplus
}
#endif

#endif
