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
 * The version of this interface. `init` rejects any other.
 */
#define WHYLOSS_ABI 1

/**
 * The maximum number of losses that one call reports.
 */
#define WHYLOSS_MOST_LOSSES 17

/**
 * The time of a timeout that is never due.
 */
#define WHYLOSS_NEVER UINT64_MAX

/**
 * The number of packets that a scheme remembers by default.
 */
#define WHYLOSS_DEFAULT_PACKETS (1 << 14)

/**
 * The pacing rate that means no pacing: the scheme sends as acknowledgements arrive.
 */
#define WHYLOSS_UNPACED UINT64_MAX

/**
 * The outcome of a call.
 */
enum whyloss_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The call succeeded.
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
   * The packet number or the time is before an earlier one.
   */
  WHYLOSS_STATUS_ORDER = 7,
  /**
   * There is not enough memory for this number of packets.
   */
  WHYLOSS_STATUS_ALLOCATION = 8,
  /**
   * The library failed; the object can no longer be used.
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
 * The cause of a loss.
 */
enum whyloss_cause
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The cause is not known.
   */
  WHYLOSS_CAUSE_UNKNOWN = 0,
  /**
   * A full queue dropped the packet.
   */
  WHYLOSS_CAUSE_CONGESTION = 1,
  /**
   * A channel damaged the packet.
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
 * Tells how an arriving packet was classified.
 */
enum whyloss_seen
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The first packet of the stream.
   */
  WHYLOSS_SEEN_FIRST = 0,
  /**
   * A new packet.
   */
  WHYLOSS_SEEN_NEW = 1,
  /**
   * A packet for which the tracker was waiting: it was reordered, not lost.
   */
  WHYLOSS_SEEN_LATE = 2,
  /**
   * A packet that was already reported lost, or is older than the tracker remembers.
   */
  WHYLOSS_SEEN_TOO_LATE = 3,
  /**
   * A packet that had arrived before.
   */
  WHYLOSS_SEEN_DUPLICATE = 4,
  /**
   * A number outside the expected range. If its successor follows, the sender has restarted.
   */
  WHYLOSS_SEEN_SUSPECT = 5,
  /**
   * The second packet since the sender restarted.
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
   * No loss has been found, or the loss belongs to an earlier event.
   */
  WHYLOSS_FOUND_NONE = 0,
  /**
   * Three later packets were acknowledged (RFC 9002, section 6.1.1).
   */
  WHYLOSS_FOUND_DUPLICATES = 1,
  /**
   * A later packet was acknowledged, and this one was in flight for too long (RFC 9002, section
   * 6.1.2).
   */
  WHYLOSS_FOUND_TIME = 2,
  /**
   * The retransmission timer expired.
   */
  WHYLOSS_FOUND_TIMEOUT = 3,
  /**
   * Everything sent over a long period was lost (RFC 9002, section 7.6).
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
 * The fate of a packet in a report.
 */
enum whyloss_fate
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
  /**
   * The packet did not arrive.
   */
  WHYLOSS_FATE_LOST = 0,
  /**
   * The packet arrived at the reported time.
   */
  WHYLOSS_FATE_ARRIVED = 1,
  /**
   * The packet arrived at an unknown time.
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
 * An estimator in the caller's memory.
 */
typedef struct whyloss_media whyloss_media;

/**
 * A receiver's loss tracker in the caller's memory.
 */
typedef struct whyloss_receiver whyloss_receiver;

/**
 * A connection under a scheme in the caller's memory.
 */
typedef struct whyloss_scheme whyloss_scheme;

/**
 * The options of `whyloss_media_init`.
 */
typedef struct whyloss_media_options {
  /**
   * Must be `WHYLOSS_ABI`, the version of this interface.
   */
  uint32_t abi;
  /**
   * The initial bitrate, in bit/s, from 0 to 1e12 like the bounds.
   */
  double initial_bps;
  /**
   * The lowest bitrate, in bit/s.
   */
  double least_bps;
  /**
   * The highest bitrate, in bit/s.
   */
  double most_bps;
} whyloss_media_options;

/**
 * A receiver's report of one packet.
 */
typedef struct whyloss_media_report {
  /**
   * The packet's number, which increases by one per packet in order of departure.
   */
  uint64_t id;
  /**
   * The departure time on the sender's clock, in nanoseconds.
   */
  uint64_t departed_ns;
  /**
   * The arrival time on the receiver's clock, in nanoseconds.
   */
  uint64_t received_ns;
  /**
   * The size on the wire, in bytes.
   */
  uint32_t bytes;
  /**
   * The fate, a value of `whyloss_fate`.
   */
  int32_t fate;
  /**
   * The two ECN bits with which the packet arrived.
   */
  int32_t ecn;
  /**
   * The true cause of a loss, a value of `whyloss_cause`, if the path reports it.
   */
  int32_t cause;
} whyloss_media_report;

/**
 * The state behind the bitrate, for logs. Programs should not base decisions on it.
 */
typedef struct whyloss_media_state {
  /**
   * The bitrate to send at, in bit/s.
   */
  double target_bps;
  /**
   * The queueing delay of the latest round, in seconds.
   */
  double queue_s;
  /**
   * The growth of the queueing delay in the latest round, in seconds per second.
   */
  double trend;
  /**
   * The estimated capacity of the path at the last congestion, in bit/s; 0 before the first.
   */
  double capacity_bps;
  /**
   * The share of packets lost in the latest round, in [0, 1].
   */
  double lost;
  /**
   * The share of packets in the latest round that a full queue dropped, in [0, 1], estimated
   * from the odds of each loss.
   */
  double refused;
  /**
   * The time from the first departure of the latest round to its report, in seconds.
   */
  double trip_s;
} whyloss_media_state;

/**
 * The options of `whyloss_receiver_init`.
 */
typedef struct whyloss_receiver_options {
  /**
   * Must be `WHYLOSS_ABI`, the version of this interface.
   */
  uint32_t abi;
  /**
   * The width of sequence numbers in bits, 2 to 64; 16 for RTP.
   */
  uint32_t bits;
  /**
   * The name of a receiver classifier, such as `"trees"`.
   */
  const char *name;
  /**
   * The parameters of the classifier, such as `"upper=1.3"`, separated by commas. May be null.
   */
  const char *parameters;
  /**
   * The number of later packets after whose arrival a missing packet counts as lost; 0 for no
   * limit.
   */
  uint32_t wait_packets;
  /**
   * The time after which a missing packet counts as lost, in nanoseconds; 0 for no limit. If
   * both limits are 0, a missing packet immediately counts as lost.
   */
  uint64_t wait_ns;
} whyloss_receiver_options;

/**
 * A packet that arrived.
 */
typedef struct whyloss_arrival {
  /**
   * The packet's sequence number.
   */
  uint64_t number;
  /**
   * The departure time on the sender's clock, in nanoseconds.
   */
  uint64_t sent_ns;
  /**
   * The arrival time on the receiver's clock, in nanoseconds.
   */
  uint64_t received_ns;
  /**
   * The size, in bytes.
   */
  uint32_t bytes;
} whyloss_arrival;

/**
 * A run of consecutive lost packets.
 */
typedef struct whyloss_loss {
  /**
   * The number of the first lost packet, extended past every wrap-around.
   */
  uint64_t first;
  /**
   * The number of consecutive lost packets.
   */
  uint64_t count;
  /**
   * When the gap was revealed on the receiver's clock, in nanoseconds.
   */
  uint64_t revealed_ns;
  /**
   * The cause of the loss.
   */
  whyloss_cause cause;
} whyloss_loss;

/**
 * The options of `whyloss_scheme_init`.
 */
typedef struct whyloss_scheme_options {
  /**
   * Must be `WHYLOSS_ABI`, the version of this interface.
   */
  uint32_t abi;
  /**
   * The size of a full packet in bytes, at least 1.
   */
  uint32_t mtu;
  /**
   * The name of a scheme (`"whyloss"`), or of a controller, a policy and a sender classifier
   * (`"cubic/keep/trees"`).
   */
  const char *name;
  /**
   * The parameters of these parts, such as `"percent=80"`, separated by commas. May be null.
   */
  const char *parameters;
  /**
   * The number of packets in flight that the scheme remembers, up to 262,144; 0 means 16,384.
   * With more, a new packet replaces the oldest. `init` allocates room for all of them.
   */
  size_t packets;
} whyloss_scheme_options;

/**
 * The verdict on a loss event.
 */
typedef struct whyloss_verdict {
  /**
   * The cause; `UNKNOWN` exactly if `found` is `NONE`.
   */
  whyloss_cause cause;
  /**
   * How the loss was found.
   */
  whyloss_found found;
  /**
   * The odds of congestion, p/(1 - p); NaN if the classifier has no odds, and for `whyloss`.
   */
  double odds;
  /**
   * When the loss was found, in nanoseconds.
   */
  uint64_t at_ns;
} whyloss_verdict;

/**
 * How much data may be sent, and at which rate.
 */
typedef struct whyloss_allowance {
  /**
   * The bytes that may be in flight, at least two packets.
   */
  uint64_t window;
  /**
   * The bytes in flight: sent, not acknowledged, not lost.
   */
  uint64_t in_flight;
  /**
   * The pacing rate, in bit/s; `WHYLOSS_UNPACED` means to send as acknowledgements arrive.
   */
  uint64_t pacing_bps;
  /**
   * The bytes that a paced sender may send back to back.
   */
  uint64_t quantum;
} whyloss_allowance;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Returns the version of the library's interface: `WHYLOSS_ABI` of its header.
 */
uint32_t whyloss_abi(void);

/**
 * Returns a sentence that explains a status. The caller must not free it.
 */
const char *whyloss_status_text(int32_t status);

/**
 * Returns the size of an estimator in bytes. Its memory must be aligned as by `malloc`.
 */
size_t whyloss_media_size(void);

/**
 * Initialises an estimator in `size` bytes at `media`, which must hold no live object. If the
 * status is not `OK`, writes the reason into `room` bytes at `text`, which may be null.
 */
whyloss_status whyloss_media_init(struct whyloss_media *media,
                                  size_t size,
                                  const struct whyloss_media_options *options,
                                  char *text,
                                  size_t room);

/**
 * Frees the memory that `init` allocated. The caller keeps the object's own memory and may pass it
 * to `init` again.
 */
whyloss_status whyloss_media_drop(struct whyloss_media *media);

/**
 * Updates the bitrate with `count` reports, in any order, that arrived at `now_ns` on the sender's
 * clock. If a clock jumps, the estimator needs a few rounds to recover.
 */
whyloss_status whyloss_media_on_reports(struct whyloss_media *media,
                                        uint64_t now_ns,
                                        const struct whyloss_media_report *reports,
                                        size_t count);

/**
 * Lowers the target if the deadline has passed at `now_ns` on the sender's clock; otherwise does
 * nothing.
 */
whyloss_status whyloss_media_on_timeout(struct whyloss_media *media, uint64_t now_ns);

/**
 * Writes when to call `on_timeout` unless a report arrives first, or `WHYLOSS_NEVER`.
 */
whyloss_status whyloss_media_next_timeout(struct whyloss_media *media, uint64_t *due_ns);

/**
 * Writes the bitrate to send at and the state behind it.
 */
whyloss_status whyloss_media_target(struct whyloss_media *media, struct whyloss_media_state *state);

/**
 * Returns the size of a receiver in bytes. Its memory must be aligned as by `malloc`.
 */
size_t whyloss_receiver_size(void);

/**
 * Writes the name of the receiver classifier at `index`, counted from 0, into `room` bytes.
 * Returns `RANGE` after the last one, and `MEMORY` if the name does not fit. A room of 64 bytes is
 * enough for any name.
 */
whyloss_status whyloss_receiver_name(size_t index, char *name, size_t room);

/**
 * Initialises a receiver in `size` bytes at `receiver`, which must hold no live object. If the
 * status is not `OK`, writes the reason into `room` bytes at `text`, which may be null.
 */
whyloss_status whyloss_receiver_init(struct whyloss_receiver *receiver,
                                     size_t size,
                                     const struct whyloss_receiver_options *options,
                                     char *text,
                                     size_t room);

/**
 * Marks the receiver as dropped. A receiver allocates nothing, so there is nothing to free.
 */
whyloss_status whyloss_receiver_drop(struct whyloss_receiver *receiver);

/**
 * Processes the arrival of a packet. Writes the losses that are now certain to `losses` and their
 * number to `count`. `room` is the length of `losses`, at least `WHYLOSS_MOST_LOSSES`. `seen` may
 * be null.
 */
whyloss_status whyloss_receiver_on_packet(struct whyloss_receiver *receiver,
                                          const struct whyloss_arrival *packet,
                                          struct whyloss_loss *losses,
                                          size_t room,
                                          size_t *count,
                                          whyloss_seen *seen);

/**
 * Writes the losses that are certain by `now_ns` on the receiver's clock, like `on_packet`.
 */
whyloss_status whyloss_receiver_on_timeout(struct whyloss_receiver *receiver,
                                           uint64_t now_ns,
                                           struct whyloss_loss *losses,
                                           size_t room,
                                           size_t *count);

/**
 * Ends the stream at `now_ns` and writes the packets that are still missing as losses, like
 * `on_packet`. `last` points to the sequence number of the last packet sent, or is null if it is
 * unknown. The next packet begins another stream; the classifier keeps its knowledge of the path.
 */
whyloss_status whyloss_receiver_finish(struct whyloss_receiver *receiver,
                                       const uint64_t *last,
                                       uint64_t now_ns,
                                       struct whyloss_loss *losses,
                                       size_t room,
                                       size_t *count);

/**
 * Writes when to call `on_timeout` unless a packet arrives first, or `WHYLOSS_NEVER`.
 */
whyloss_status whyloss_receiver_next_timeout(struct whyloss_receiver *receiver, uint64_t *due_ns);

/**
 * Returns the size of a scheme in bytes. Its memory must be aligned as by `malloc`.
 */
size_t whyloss_scheme_size(void);

/**
 * Writes the name of the scheme at `index`, counted from 0, into `room` bytes. Returns `RANGE`
 * after the last one, and `MEMORY` if the name does not fit. A room of 64 bytes is enough for any
 * name.
 */
whyloss_status whyloss_scheme_name(size_t index, char *name, size_t room);

/**
 * Initialises a connection in `size` bytes at `scheme`, which must hold no live object. If the
 * status is not `OK`, writes the reason into `room` bytes at `text`, which may be null.
 */
whyloss_status whyloss_scheme_init(struct whyloss_scheme *scheme,
                                   size_t size,
                                   const struct whyloss_scheme_options *options,
                                   char *text,
                                   size_t room);

/**
 * Frees the memory that `init` allocated. The caller keeps the object's own memory and may pass it
 * to `init` again.
 */
whyloss_status whyloss_scheme_drop(struct whyloss_scheme *scheme);

/**
 * Records that packet `number` of `bytes` bytes leaves. Set `app_limited` to 1 if the application
 * has no more data although window and pacing would allow it, else to 0. Numbers must increase.
 * Leave out packets that do not count as in flight, such as acknowledgements.
 */
whyloss_status whyloss_scheme_on_sent(struct whyloss_scheme *scheme,
                                      uint64_t number,
                                      uint32_t bytes,
                                      uint64_t now_ns,
                                      int32_t app_limited);

/**
 * Sets the round-trip time of the next acknowledgement, without the delay that the peer reports
 * (RFC 9002, section 5.3; at most its `max_ack_delay`). The delay then does not look like a queue.
 * The value is clamped between the smallest round-trip time so far and the scheme's own
 * measurement.
 */
whyloss_status whyloss_scheme_on_rtt(struct whyloss_scheme *scheme, uint64_t rtt_ns);

/**
 * Processes an acknowledgement that arrived at `now_ns` and newly acknowledges these packets. Call
 * this function once for each acknowledgement, before `on_lost`. Unknown and settled numbers have
 * no effect.
 */
whyloss_status whyloss_scheme_on_acked(struct whyloss_scheme *scheme,
                                       const uint64_t *numbers,
                                       size_t count,
                                       uint64_t now_ns);

/**
 * Processes an acknowledgement of every packet up to number `through` except the `count` packets
 * in `missing`, in increasing order. Use this function instead of `on_acked` in a stack that lists
 * the packets in flight, but does not report which ones an acknowledgement removed.
 */
whyloss_status whyloss_scheme_on_acked_through(struct whyloss_scheme *scheme,
                                               uint64_t through,
                                               const uint64_t *missing,
                                               size_t count,
                                               uint64_t now_ns);

/**
 * Records that these packets are lost, as detected by acknowledgements of later packets or by
 * time. Writes the verdict if they begin a new loss event; otherwise, `found` of the verdict is
 * `NONE`. `verdict` may be null.
 */
whyloss_status whyloss_scheme_on_lost(struct whyloss_scheme *scheme,
                                      const uint64_t *numbers,
                                      size_t count,
                                      uint64_t now_ns,
                                      struct whyloss_verdict *verdict);

/**
 * Records that the retransmission timer expired. Afterwards, report the packets that are given up
 * as lost. QUIC's probe timeout does not count (RFC 9002, section 6.2). `verdict` may be null.
 */
whyloss_status whyloss_scheme_on_timeout(struct whyloss_scheme *scheme,
                                         uint64_t now_ns,
                                         struct whyloss_verdict *verdict);

/**
 * Records persistent congestion: everything sent over a long period was lost (RFC 9002, section
 * 7.6). Call it after `on_lost`. `verdict` may be null.
 */
whyloss_status whyloss_scheme_on_persistent_congestion(struct whyloss_scheme *scheme,
                                                       uint64_t now_ns,
                                                       struct whyloss_verdict *verdict);

/**
 * Records that the last acknowledgement reports ECN-CE marks. They count once per recovery period.
 */
whyloss_status whyloss_scheme_on_ecn(struct whyloss_scheme *scheme, uint64_t now_ns);

/**
 * Undoes the effect of the last loss event, because all its packets have arrived after all.
 */
whyloss_status whyloss_scheme_on_spurious(struct whyloss_scheme *scheme, uint64_t now_ns);

/**
 * Sets the size of full packets, in bytes; at least 1.
 */
whyloss_status whyloss_scheme_on_mtu(struct whyloss_scheme *scheme, uint32_t mtu);

/**
 * Writes the window, the bytes in flight, the pacing rate and the burst size. Send while the next
 * packet fits into the window.
 */
whyloss_status whyloss_scheme_allowance(struct whyloss_scheme *scheme,
                                        struct whyloss_allowance *allowance);

/**
 * Writes the verdict on the last loss event; before the first event, its `found` is `NONE`. A
 * classifier that revises its verdicts changes the cause when the recovery ends.
 */
whyloss_status whyloss_scheme_verdict(struct whyloss_scheme *scheme,
                                      struct whyloss_verdict *verdict);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* WHYLOSS_H */
