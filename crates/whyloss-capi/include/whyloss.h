/*
 * whyloss: tells why packets were lost, and how fast to send. See whyloss(3) and docs/guides/c.md.
 *
 * Made by cbindgen from crates/whyloss-capi; change that, then run
 *   WRITE_HEADER=1 cargo test -p whyloss-capi --features header --test header
 */

#ifndef WHYLOSS_H
#define WHYLOSS_H

#include <stddef.h>
#include <stdint.h>

/**
 * Number of this interface, which `init` compares.
 */
#define WHYLOSS_ABI 1

/**
 * Losses that one call tells at most.
 */
#define WHYLOSS_MOST_LOSSES 17

/**
 * Time at which nothing is due.
 */
#define WHYLOSS_NEVER UINT64_MAX

/**
 * Packets that a scheme remembers by default.
 */
#define WHYLOSS_DEFAULT_PACKETS (1 << 14)

/**
 * Pacing rate of a scheme that paces by acknowledgements alone.
 */
#define WHYLOSS_UNPACED UINT64_MAX

/**
 * Outcome of a call.
 */
enum whyloss_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Done.
   */
  WHYLOSS_STATUS_OK = 0,
  /**
   * A pointer is null.
   */
  WHYLOSS_STATUS_NULL = 1,
  /**
   * The object was not initialised, or was dropped.
   */
  WHYLOSS_STATUS_UNINITIALISED = 2,
  /**
   * The memory is smaller than the object, or not aligned as `malloc` aligns.
   */
  WHYLOSS_STATUS_MEMORY = 3,
  /**
   * The program was compiled with a header of another ABI.
   */
  WHYLOSS_STATUS_ABI = 4,
  /**
   * A name or a parameter is unknown or out of its range.
   */
  WHYLOSS_STATUS_NAME = 5,
  /**
   * A number is out of its range.
   */
  WHYLOSS_STATUS_RANGE = 6,
  /**
   * The packet number or the time lies before one told earlier.
   */
  WHYLOSS_STATUS_ORDER = 7,
  /**
   * There is no memory for so many packets.
   */
  WHYLOSS_STATUS_ALLOCATION = 8,
  /**
   * The library failed; the object is of no use any more.
   */
  WHYLOSS_STATUS_BROKEN = 9,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum whyloss_status whyloss_status;
#else
typedef int32_t whyloss_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Cause of a loss.
 */
enum whyloss_cause
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * Not known.
   */
  WHYLOSS_CAUSE_UNKNOWN = 0,
  /**
   * A full queue refused the packet.
   */
  WHYLOSS_CAUSE_CONGESTION = 1,
  /**
   * A channel damaged it.
   */
  WHYLOSS_CAUSE_WIRELESS = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum whyloss_cause whyloss_cause;
#else
typedef int32_t whyloss_cause;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * The verdict on a packet's arrival.
 */
enum whyloss_seen
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The first packet of all.
   */
  WHYLOSS_SEEN_FIRST = 0,
  /**
   * A new packet.
   */
  WHYLOSS_SEEN_NEW = 1,
  /**
   * A packet that was waited for: it was overtaken, not lost.
   */
  WHYLOSS_SEEN_LATE = 2,
  /**
   * A packet that was given up, or is older than what is remembered.
   */
  WHYLOSS_SEEN_TOO_LATE = 3,
  /**
   * A packet that had arrived before.
   */
  WHYLOSS_SEEN_DUPLICATE = 4,
  /**
   * A number out of nowhere. If the next one follows it, the sender has started anew.
   */
  WHYLOSS_SEEN_SUSPECT = 5,
  /**
   * The sender has started anew: this is the second packet of the new count.
   */
  WHYLOSS_SEEN_RESTART = 6,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum whyloss_seen whyloss_seen;
#else
typedef int32_t whyloss_seen;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * How a loss was found.
 */
enum whyloss_found
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * No loss has been found, or this one belongs to an event told before.
   */
  WHYLOSS_FOUND_NONE = 0,
  /**
   * Three later packets were acknowledged.
   */
  WHYLOSS_FOUND_DUPLICATES = 1,
  /**
   * A later packet was acknowledged, and too much time has passed.
   */
  WHYLOSS_FOUND_TIME = 2,
  /**
   * The retransmission timer expired.
   */
  WHYLOSS_FOUND_TIMEOUT = 3,
  /**
   * Everything sent over a long period was lost.
   */
  WHYLOSS_FOUND_PERSISTENT = 4,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum whyloss_found whyloss_found;
#else
typedef int32_t whyloss_found;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * Fate of a packet in a report.
 */
enum whyloss_fate
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * It did not arrive.
   */
  WHYLOSS_FATE_LOST = 0,
  /**
   * It arrived, at the time that the report tells.
   */
  WHYLOSS_FATE_ARRIVED = 1,
  /**
   * It arrived, at a time that is not known.
   */
  WHYLOSS_FATE_ARRIVED_UNTIMED = 2,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum whyloss_fate whyloss_fate;
#else
typedef int32_t whyloss_fate;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * An estimator, in memory of the caller.
 */
typedef struct whyloss_media whyloss_media;

/**
 * A receiver's tracker of losses, in memory of the caller.
 */
typedef struct whyloss_receiver whyloss_receiver;

/**
 * A connection under a scheme, in memory of the caller.
 */
typedef struct whyloss_scheme whyloss_scheme;

/**
 * Options of `whyloss_media_init`.
 */
typedef struct whyloss_media_options {
  /**
   * `WHYLOSS_ABI`.
   */
  uint32_t abi;
  /**
   * Bit/s to start at, 0 to 1e12 like the bounds.
   */
  double initial;
  /**
   * The lowest bit/s to send at.
   */
  double least;
  /**
   * The highest bit/s to send at.
   */
  double most;
} whyloss_media_options;

/**
 * A receiver's report of one packet.
 */
typedef struct whyloss_media_report {
  /**
   * Number of the packet, counted up by one in the order of departure.
   */
  uint64_t id;
  /**
   * When it left, on the sender's clock, nanoseconds.
   */
  uint64_t departed_ns;
  /**
   * When it arrived, on the receiver's clock, nanoseconds.
   */
  uint64_t received_ns;
  /**
   * Bytes on the wire.
   */
  uint32_t bytes;
  /**
   * One of `whyloss_fate`.
   */
  int32_t fate;
  /**
   * The two bits of ECN with which it arrived.
   */
  int32_t ecn;
  /**
   * One of `whyloss_cause`, if the path knows why it was lost.
   */
  int32_t cause;
} whyloss_media_report;

/**
 * State behind the bitrate, for logs. No decision should rest on it.
 */
typedef struct whyloss_media_state {
  /**
   * Bit/s to send at.
   */
  double target;
  /**
   * Queue of the latest round, seconds.
   */
  double queue;
  /**
   * Growth of the queue, seconds per second.
   */
  double trend;
  /**
   * Capacity at the last congestion, bit/s; 0 before the first.
   */
  double capacity;
  /**
   * Share of packets lost in the latest round.
   */
  double lost;
  /**
   * Share of packets that a full queue refused.
   */
  double refused;
  /**
   * Seconds from the first departure of the latest round to its report.
   */
  double trip;
} whyloss_media_state;

/**
 * Options of `whyloss_receiver_init`.
 */
typedef struct whyloss_receiver_options {
  /**
   * `WHYLOSS_ABI`.
   */
  uint32_t abi;
  /**
   * Bits of a sequence number, 2 to 64: RTP has 16.
   */
  uint32_t bits;
  /**
   * Name of a receiver classifier, such as `"trees"`.
   */
  const char *name;
  /**
   * Its parameters, such as `"upper=1.3"`, separated by commas. May be null.
   */
  const char *parameters;
  /**
   * Packets that may overtake a missing one before it counts as lost; 0: however many.
   */
  uint32_t wait_packets;
  /**
   * Nanoseconds until a missing packet counts as lost; 0: however many. If both are 0, it
   * counts at once.
   */
  uint64_t wait_ns;
} whyloss_receiver_options;

/**
 * Lost packets in a row.
 */
typedef struct whyloss_loss {
  /**
   * Number of the first one, counted on past every wrap-around.
   */
  uint64_t first;
  /**
   * How many packets in a row were lost.
   */
  uint64_t count;
  /**
   * When the gap was revealed, on the receiver's clock, nanoseconds.
   */
  uint64_t revealed_ns;
  /**
   * Why they were lost.
   */
  whyloss_cause cause;
} whyloss_loss;

/**
 * Options of `whyloss_scheme_init`.
 */
typedef struct whyloss_scheme_options {
  /**
   * `WHYLOSS_ABI`.
   */
  uint32_t abi;
  /**
   * Bytes of a full packet, at least 1.
   */
  uint32_t mtu;
  /**
   * Name of a scheme (`"whyloss"`), or of a controller, a policy and a sender classifier
   * (`"cubic/keep/trees"`).
   */
  const char *name;
  /**
   * Parameters of these, such as `"percent=80"`, separated by commas. May be null.
   */
  const char *parameters;
  /**
   * Packets under way that the scheme remembers: 0 (16,384) to 262,144. With one more, it
   * forgets the oldest. `init` allocates room for all of them.
   */
  size_t packets;
} whyloss_scheme_options;

/**
 * Why packets were lost.
 */
typedef struct whyloss_verdict {
  /**
   * Cause; `UNKNOWN` exactly if `found` is `NONE`.
   */
  whyloss_cause cause;
  /**
   * How the loss was found.
   */
  whyloss_found found;
  /**
   * Odds of congestion, p/(1 - p); NaN if the classifier weighs none.
   */
  double odds;
  /**
   * When it was found, nanoseconds.
   */
  uint64_t at_ns;
} whyloss_verdict;

/**
 * How much may be sent, and how fast.
 */
typedef struct whyloss_allowance {
  /**
   * Bytes that may be under way, at least two packets.
   */
  uint64_t window;
  /**
   * Bytes that are under way: sent, not acknowledged, not lost.
   */
  uint64_t in_flight;
  /**
   * Bit/s to pace packets at; `WHYLOSS_UNPACED`: send as acknowledgements arrive.
   */
  uint64_t pacing;
  /**
   * Bytes that may leave at once when paced.
   */
  uint64_t quantum;
} whyloss_allowance;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the number of the interface that the library has: `WHYLOSS_ABI` of its header.
 */
uint32_t whyloss_abi(void);

/**
 * Returns a sentence about a status, which is never freed.
 */
const char *whyloss_status_text(int32_t status);

/**
 * Returns the bytes that an estimator takes, of memory as `malloc` returns it.
 */
size_t whyloss_media_size(void);

/**
 * Starts an estimator in `size` bytes at `media`, which hold no live object. If the status is
 * not `OK`, writes the reason into `room` bytes at `text`, which may be null.
 */
whyloss_status whyloss_media_init(struct whyloss_media *media,
                                  size_t size,
                                  const struct whyloss_media_options *options,
                                  char *text,
                                  size_t room);

/**
 * Frees what `init` allocated. The memory itself is the caller's, for another `init`.
 */
whyloss_status whyloss_media_drop(struct whyloss_media *media);

/**
 * Takes `count` reports that came at `now_ns` on the sender's clock, in any order. A clock that
 * jumps costs a few rounds.
 */
whyloss_status whyloss_media_on_reports(struct whyloss_media *media,
                                        uint64_t now_ns,
                                        const struct whyloss_media_report *reports,
                                        size_t count);

/**
 * Tells that `now_ns` has come; lowers the target if a timeout was due.
 */
whyloss_status whyloss_media_on_timeout(struct whyloss_media *media, uint64_t now_ns);

/**
 * Writes when `on_timeout` is due if no report comes before; `WHYLOSS_NEVER`: not at all.
 */
whyloss_status whyloss_media_next_timeout(struct whyloss_media *media, uint64_t *due_ns);

/**
 * Writes the bitrate to send at, and the state behind it.
 */
whyloss_status whyloss_media_target(struct whyloss_media *media, struct whyloss_media_state *state);

/**
 * Returns the bytes that a receiver takes, of memory as `malloc` returns it.
 */
size_t whyloss_receiver_size(void);

/**
 * Writes the name of the receiver classifier at `index`, counted from 0, into `room` bytes;
 * `RANGE` behind the last one, `MEMORY` if it does not fit. Sixty-four bytes hold any name.
 */
whyloss_status whyloss_receiver_name(size_t index, char *name, size_t room);

/**
 * Starts a receiver in `size` bytes at `receiver`, which hold no live object. If the status is
 * not `OK`, writes the reason into `room` bytes at `text`, which may be null.
 */
whyloss_status whyloss_receiver_init(struct whyloss_receiver *receiver,
                                     size_t size,
                                     const struct whyloss_receiver_options *options,
                                     char *text,
                                     size_t room);

/**
 * Ends the use of a receiver, which has allocated nothing.
 */
whyloss_status whyloss_receiver_drop(struct whyloss_receiver *receiver);

/**
 * A packet of `bytes` arrives, stamped by the sender's clock and the receiver's. Writes the
 * packets that count as lost now to `losses`, which has `room` for at least
 * `WHYLOSS_MOST_LOSSES`, and their number to `count`. `seen` may be null.
 */
whyloss_status whyloss_receiver_on_packet(struct whyloss_receiver *receiver,
                                          uint64_t number,
                                          uint64_t sent_ns,
                                          uint64_t received_ns,
                                          uint32_t bytes,
                                          struct whyloss_loss *losses,
                                          size_t room,
                                          size_t *count,
                                          whyloss_seen *seen);

/**
 * Writes the packets that count as lost by `now_ns` on the receiver's clock, as `on_packet` does.
 */
whyloss_status whyloss_receiver_on_timeout(struct whyloss_receiver *receiver,
                                           uint64_t now_ns,
                                           struct whyloss_loss *losses,
                                           size_t room,
                                           size_t *count);

/**
 * Ends the stream at `now_ns` and writes the packets that are waited for, as `on_packet` does.
 * `last` points to the number of the last packet sent, or is null if that is not known. The next
 * packet begins another stream; the classifier keeps what it knows of the path.
 */
whyloss_status whyloss_receiver_finish(struct whyloss_receiver *receiver,
                                       const uint64_t *last,
                                       uint64_t now_ns,
                                       struct whyloss_loss *losses,
                                       size_t room,
                                       size_t *count);

/**
 * Writes when `on_timeout` is due if no packet arrives before; `WHYLOSS_NEVER`: not at all.
 */
whyloss_status whyloss_receiver_next_timeout(struct whyloss_receiver *receiver, uint64_t *due_ns);

/**
 * Returns the bytes that a scheme takes, of memory as `malloc` returns it.
 */
size_t whyloss_scheme_size(void);

/**
 * Writes the name of the scheme at `index`, counted from 0, into `room` bytes; `RANGE` behind the
 * last one, `MEMORY` if it does not fit. Sixty-four bytes hold any name.
 */
whyloss_status whyloss_scheme_name(size_t index, char *name, size_t room);

/**
 * Starts a connection in `size` bytes at `scheme`, which hold no live object. If the status is
 * not `OK`, writes the reason into `room` bytes at `text`, which may be null.
 */
whyloss_status whyloss_scheme_init(struct whyloss_scheme *scheme,
                                   size_t size,
                                   const struct whyloss_scheme_options *options,
                                   char *text,
                                   size_t room);

/**
 * Frees what `init` allocated. The memory itself is the caller's, for another `init`.
 */
whyloss_status whyloss_scheme_drop(struct whyloss_scheme *scheme);

/**
 * Packet `number` of `bytes` leaves. `app_limited` is not 0 if there is nothing more to send
 * although window and pacing would allow it. Numbers rise; packets that count towards nothing
 * under way (acknowledgements alone) are left out.
 */
whyloss_status whyloss_scheme_on_sent(struct whyloss_scheme *scheme,
                                      uint64_t number,
                                      uint32_t bytes,
                                      uint64_t now_ns,
                                      int32_t app_limited);

/**
 * Tells the round trip of the acknowledgement told next, less the delay that the peer reports
 * (RFC 9002, section 5.3; at most its `max_ack_delay`), so that this delay does not look like a
 * queue. A value below the least round trip counts as that one, and a value above the scheme's own
 * measurement as its own.
 */
whyloss_status whyloss_scheme_on_rtt(struct whyloss_scheme *scheme, uint64_t rtt_ns);

/**
 * An acknowledgement arrives that acknowledges these packets anew. One call for each
 * acknowledgement, before `on_lost`. Numbers that are unknown or settled do nothing.
 */
whyloss_status whyloss_scheme_on_acked(struct whyloss_scheme *scheme,
                                       const uint64_t *numbers,
                                       size_t count,
                                       uint64_t now_ns);

/**
 * An acknowledgement arrives, by which every packet up to number `through` has arrived but the
 * `count` in `missing`, whose numbers rise. It stands for `on_acked` in a stack that keeps a list
 * of packets under way, but does not say which ones an acknowledgement removed from it.
 */
whyloss_status whyloss_scheme_on_acked_through(struct whyloss_scheme *scheme,
                                               uint64_t through,
                                               const uint64_t *missing,
                                               size_t count,
                                               uint64_t now_ns);

/**
 * These packets are lost, by acknowledgements of later ones or by time. Writes the verdict if
 * that is a new loss event, else one whose `found` is `NONE`. `verdict` may be null.
 */
whyloss_status whyloss_scheme_on_lost(struct whyloss_scheme *scheme,
                                      const uint64_t *numbers,
                                      size_t count,
                                      uint64_t now_ns,
                                      struct whyloss_verdict *verdict);

/**
 * The retransmission timer expired; packets given up are told as lost afterwards. QUIC's probe
 * timeout is none (RFC 9002, section 6.2). `verdict` may be null.
 */
whyloss_status whyloss_scheme_on_timeout(struct whyloss_scheme *scheme,
                                         uint64_t now_ns,
                                         struct whyloss_verdict *verdict);

/**
 * Everything sent over a long period was lost (RFC 9002, section 7.6), after `on_lost` has told
 * of it. `verdict` may be null.
 */
whyloss_status whyloss_scheme_on_persistent_congestion(struct whyloss_scheme *scheme,
                                                       uint64_t now_ns,
                                                       struct whyloss_verdict *verdict);

/**
 * The acknowledgement told last reports marks of ECN.
 */
whyloss_status whyloss_scheme_on_ecn(struct whyloss_scheme *scheme, uint64_t now_ns);

/**
 * All packets that the last loss event called lost have arrived: its effect is undone.
 */
whyloss_status whyloss_scheme_on_spurious(struct whyloss_scheme *scheme, uint64_t now_ns);

/**
 * Packets have at most `mtu` bytes from now on, at least 1.
 */
whyloss_status whyloss_scheme_on_mtu(struct whyloss_scheme *scheme, uint32_t mtu);

/**
 * Writes how much may be sent, and how fast.
 */
whyloss_status whyloss_scheme_allowance(struct whyloss_scheme *scheme,
                                        struct whyloss_allowance *allowance);

/**
 * Writes the verdict on the last loss event; before the first, one whose `found` is `NONE`. A
 * classifier that revises its verdicts changes the cause when the recovery ends.
 */
whyloss_status whyloss_scheme_verdict(struct whyloss_scheme *scheme,
                                      struct whyloss_verdict *verdict);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WHYLOSS_H */
