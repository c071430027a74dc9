/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Keeps the state of a socket, reports its events to observers, and recognises losses.
 *
 * `src/event.rs` reads both structures byte by byte, so it must change with them.
 */
#ifndef WHYLOSS_SOCKET_H
#define WHYLOSS_SOCKET_H

#include "kernel.h"

/* The reason why the kernel requests a new threshold. */
enum detection {
	DUPLICATES, /* acknowledgements of later segments (SACK with RACK, or duplicates): a recovery begins */
	PROBE,	    /* a tail loss probe filled the hole, so no recovery is needed */
	TIMEOUT,    /* the retransmission timer expired */
	MARK,	    /* ECN, or the host's own queue dropped a packet: congestion, without a classifier */
};

enum cause { CONGESTION, WIRELESS };

/* The state of a classifier and an estimator; see vegas.h, veno.h, and the estimators' files. */
struct judge {
	u32 rtt_us;
	u32 min_rtt_us; /* ~0 before the first sample */
	u32 round_min_us;
	u32 round_end; /* sequence number */
	u64 smoothed;  /* eighths of us */
	u64 random[2]; /* enhanced Veno: time of the last random loss; congestion losses since then */
	u64 span[2];   /* time and congestion losses between the previous two random losses */
	u8 congested;
	u8 has_round;
	u8 randoms;
	u8 has_end;
	s32 odds;   /* trees: thousandths of log-odds of congestion, at the latest loss; watched: now */
	u32 digest; /* of the evidence about the latest loss; watched: of the signals now */
	u16 cut;    /* of the latest loss, thousandths of the reduction */
	u8 starting; /* whether that loss came before the first cut */
	u8 spare;
};

/* The odds before the warm-up is over, and those of controls without trees. */
#define NO_ODDS (-0x7fffffff - 1)

struct estimator {
	u64 estimate; /* bytes/s in sixteenths; 0 before the first */
	u64 last;     /* when the last sample was taken; the receiver's stamp with SARBE */
	u64 sample;
	u64 pending; /* bytes since the last sample */
	u32 accounted;
	u8 started;
	u8 has_estimate;
	u8 spare[2];
	u64 more[10];
};

struct socket_state {
	u64 id;		 /* counts sockets of this control */
	u64 acks;	 /* acknowledgements seen */
	u32 events;	 /* events reported in this watch, or lost because the ring was full */
	u32 session;	 /* the watch to which this socket was reported */
	u32 una;	 /* snd_una before the current acknowledgement */
	u32 ssthresh;	 /* snd_ssthresh after the recovery; 0: unchanged */
	u32 wireless;	 /* verdicts */
	u32 congestion;	 /* verdicts */
	u32 timeouts;	 /* verdicts of either kind after a timeout */
	u32 marks;	 /* reductions without a lost segment */
	u64 probe_stamp; /* time of the last acknowledgement that came while a tail loss probe was in flight */
	u8 state;	 /* icsk_ca_state */
	u8 odd;		 /* Veno: an acknowledged segment that is not counted yet */
	u8 answering_late;
	u8 spare;
	u32 late;	 /* reductions that the kernel began without the program */
	struct judge judge;
	struct estimator estimator;
};

enum kind { SOCKET, ACK, ASKED, STATE, UNDO, CLOSED };

/* One event, in the layout that observers read. */
struct event {
	u64 id;
	u64 now_us;
	u64 estimate;
	u32 serial; /* counts the socket's events of this watch: a gap is an event for which the ring was full */
	u8 kind;
	u8 detection;
	u8 cause;
	u8 state;
	u32 una;
	u32 nxt;
	u32 acked; /* bytes */
	s32 rtt_us;
	u32 min_rtt_us;
	u32 used_rtt_us; /* the round trip that the classifier compares with the smallest */
	u32 cwnd;	 /* segments */
	u32 ssthresh;	 /* ASKED: the answer */
	u32 packets_out;
	u32 sacked_out;
	u32 lost_out;
	u32 mss;
	u32 stamp; /* the receiver's, 0: none */
	u8 congested;
	u8 ecn;
	u8 fresh; /* SOCKET: observed since the connection began */
	u8 late;  /* ASKED: the kernel had reduced the window before, without running the program */
	s32 odds;
	u32 digest;
	u16 cut; /* ASKED: thousandths of the reduction */
	u8 starting;
	u8 spare[5];
};

/* The event SOCKET: the ends of the socket. */
struct introduction {
	struct event event;
	u32 local[4]; /* network byte order; IPv4 in the first */
	u32 remote[4];
	u16 local_port; /* host byte order */
	u16 remote_port;
	u16 family;
	u16 spare;
	u32 namespace;
	u32 spare2;
};

/* The state of a loaded control, shared with its users. */
struct control {
	u64 watched_until_us; /* events are reported until then; an observer keeps extending this time */
	u32 session;
	u32 spare;
	u32 watcher; /* process */
	u32 holder;  /* process; 0: pinned */
	u32 states;  /* id of the map of states */
	u32 events;  /* id of the ring */
	u32 algorithm;
	u32 spare2;
	char name[16];
};

/* Counters of the programs, separate from the fields that processes write. */
struct counts {
	u64 sockets;
	u64 untold; /* events for which the ring was full */
};

_Static_assert(sizeof(struct event) == 104, "src/event.rs has it");
_Static_assert(sizeof(struct introduction) == 152, "src/event.rs has it");
_Static_assert(sizeof(struct socket_state) == 256, "src/event.rs has it");
_Static_assert(sizeof(struct control) == 56, "src/shared.rs has it");

struct {
	UINT(type, MAP_TYPE_SK_STORAGE);
	UINT(map_flags, F_NO_PREALLOC);
	TYPE(key, int);
	TYPE(value, struct socket_state);
} wl_states SEC(".maps");

struct {
	UINT(type, MAP_TYPE_RINGBUF);
	UINT(max_entries, 1 << 22);
} wl_events SEC(".maps");

struct {
	UINT(type, MAP_TYPE_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct control);
} wl_control SEC(".maps");

struct {
	UINT(type, MAP_TYPE_ARRAY);
	UINT(max_entries, 1);
	TYPE(key, u32);
	TYPE(value, struct counts);
} wl_counts SEC(".maps");

char dual[] SEC("license") = "Dual MIT/GPL";

INLINE struct tcp_sock *tcp_of(struct sock *sk)
{
	return (struct tcp_sock *)sk;
}

INLINE struct socket_state *state_of(struct sock *sk)
{
	return bpf_sk_storage_get(&wl_states, sk, NULL, 0);
}

INLINE struct control *control_of(void)
{
	u32 zero = 0;
	return bpf_map_lookup_elem(&wl_control, &zero);
}

INLINE u64 count_socket(void)
{
	u32 zero = 0;
	struct counts *counts = bpf_map_lookup_elem(&wl_counts, &zero);

	return counts ? __sync_fetch_and_add(&counts->sockets, 1) + 1 : 0;
}

INLINE void count_untold(void)
{
	u32 zero = 0;
	struct counts *counts = bpf_map_lookup_elem(&wl_counts, &zero);

	if (counts)
		__sync_fetch_and_add(&counts->untold, 1);
}

INLINE u32 least(u32 a, u32 b)
{
	return a < b ? a : b;
}

INLINE u32 most(u32 a, u32 b)
{
	return a > b ? a : b;
}

INLINE void fill(struct event *event, struct tcp_sock *tp, struct socket_state *p, u8 kind)
{
	event->id = p->id;
	event->now_us = tp->tcp_mstamp;
	event->estimate = p->estimator.estimate;
	event->serial = p->events;
	event->kind = kind;
	event->detection = 0;
	event->cause = 0;
	event->state = p->state;
	event->una = tp->snd_una;
	event->nxt = tp->snd_nxt;
	event->acked = 0;
	event->rtt_us = -1;
	event->min_rtt_us = p->judge.min_rtt_us;
	event->used_rtt_us = p->judge.rtt_us;
	event->cwnd = tp->snd_cwnd;
	event->ssthresh = tp->snd_ssthresh;
	event->packets_out = tp->packets_out;
	event->sacked_out = tp->sacked_out;
	event->lost_out = tp->lost_out;
	event->mss = tp->mss_cache;
	event->stamp = tp->rx_opt.rcv_tsval;
	event->congested = p->judge.congested;
	event->ecn = tp->ecn_flags;
	event->fresh = 0;
	event->late = 0;
	event->odds = p->judge.odds;
	event->digest = p->judge.digest;
	event->cut = p->judge.cut;
	event->starting = p->judge.starting;
}

/* Fills in the addresses and ports of a socket. */
INLINE void name_ends(struct introduction *said, struct sock *sk)
{
	said->family = sk->__sk_common.skc_family;
	said->local_port = sk->__sk_common.skc_num;
	said->remote_port = __builtin_bswap16(sk->__sk_common.skc_dport);
	said->namespace = sk->__sk_common.skc_net.net->ns.inum;
	said->spare = 0;
	said->spare2 = 0;
	if (said->family == AF_INET6) {
		said->local[0] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[0];
		said->local[1] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[1];
		said->local[2] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[2];
		said->local[3] = sk->__sk_common.skc_v6_rcv_saddr.in6_u.u6_addr32[3];
		said->remote[0] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[0];
		said->remote[1] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[1];
		said->remote[2] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[2];
		said->remote[3] = sk->__sk_common.skc_v6_daddr.in6_u.u6_addr32[3];
	} else {
		said->local[0] = sk->__sk_common.skc_rcv_saddr;
		said->remote[0] = sk->__sk_common.skc_daddr;
		said->local[1] = said->local[2] = said->local[3] = 0;
		said->remote[1] = said->remote[2] = said->remote[3] = 0;
	}
}

/* Reports the addresses and ports of this socket to the observer. */
INLINE void introduce(struct sock *sk, struct socket_state *p, struct control *control, u8 kind)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct introduction *said;

	p->session = control->session;
	p->events = 0;
	said = bpf_ringbuf_reserve(&wl_events, sizeof(*said), 0);
	if (!said) {
		count_untold();
		/* Retry with the next event, which must not look like the connection's first. */
		p->session = 0;
		return;
	}
	fill(&said->event, tp, p, SOCKET);
	/* The acknowledgement that is reported next has already been counted. */
	said->event.fresh = p->acks == (kind == ACK);
	name_ends(said, sk);
	bpf_ringbuf_submit(said, 0);
}

INLINE bool is_watched(struct tcp_sock *tp)
{
	struct control *control = control_of();

	return control && tp->tcp_mstamp < control->watched_until_us;
}

/* Reserves an event of this socket in the ring. Returns NULL without an observer, or if the ring
 * is full.
 */
INLINE struct event *tell(struct sock *sk, struct socket_state *p, u8 kind)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct control *control = control_of();
	struct event *event;

	if (!control || tp->tcp_mstamp >= control->watched_until_us)
		return NULL;
	if (p->session != control->session)
		introduce(sk, p, control, kind);
	p->events++;
	event = bpf_ringbuf_reserve(&wl_events, sizeof(*event), 0);
	if (!event) {
		count_untold();
		return NULL;
	}
	fill(event, tp, p, kind);
	return event;
}

/* Reads icsk_ca_state, a bit field whose position depends on the kernel. */
INLINE u8 kernel_state(struct tcp_sock *tp)
{
	struct inet_connection_sock *icsk = (struct inet_connection_sock *)tp;
	u32 at = __builtin_preserve_field_info(icsk->icsk_ca_state, FIELD_OFFSET);
	u64 word = *(u8 *)((void *)icsk + at);

	word <<= __builtin_preserve_field_info(icsk->icsk_ca_state, FIELD_SHIFT_LEFT);
	return word >> __builtin_preserve_field_info(icsk->icsk_ca_state, FIELD_SHIFT_RIGHT);
}

/* Initialises a socket that starts with this control or switches to it. */
INLINE struct socket_state *begin(struct sock *sk)
{
	struct socket_state *p = bpf_sk_storage_get(&wl_states, sk, NULL, SK_STORAGE_CREATE);

	if (!p)
		return NULL;
	__builtin_memset(p, 0, sizeof(*p));
	p->id = count_socket();
	p->una = tcp_of(sk)->snd_una;
	p->state = kernel_state(tcp_of(sk));
	p->judge.min_rtt_us = ~0U;
	p->judge.round_min_us = ~0U;
	p->judge.odds = NO_ODDS;
	return p;
}

/* Returns the bytes that the current acknowledgement acknowledges cumulatively. */
INLINE u32 newly_acked(struct tcp_sock *tp, struct socket_state *p)
{
	u32 acked = tp->snd_una - p->una;

	p->una = tp->snd_una;
	p->acks++;
	/* A tail loss probe is in flight. If it repaired a loss, this acknowledgement shows it. */
	if (tp->tlp_high_seq)
		p->probe_stamp = tp->tcp_mstamp;
	return acked;
}

/* Returns the reason for the kernel's request, by the kernel's state. A recovery has set high_seq
 * to snd_nxt and undo_marker to snd_una. A timeout has set neither yet, but has marked segments as
 * lost. Otherwise, no segment is lost.
 */
INLINE enum detection detect(struct tcp_sock *tp, struct socket_state *p)
{
	if (!tp->lost_out) {
		/* With ECN, a mark on the same acknowledgement looks equal and is assumed. */
		bool probe = p->probe_stamp && p->probe_stamp == tp->tcp_mstamp;
		return probe && !(tp->ecn_flags & ECN_OK) ? PROBE : MARK;
	}
	if (tp->high_seq == tp->snd_nxt && tp->undo_marker == tp->snd_una)
		return DUPLICATES;
	return TIMEOUT;
}

/* Returns whether the kernel began a reduction without running this program.
 *
 * This happens on a busy machine, without notice (Linux 6.18: in about one of a hundred recoveries
 * that begin in RACK's timer). The kernel then uses an uninitialised value of its stack as the
 * threshold, and the window is unbounded when the recovery ends. At every acknowledgement, this
 * control therefore compares the kernel's state with its own record, and sets the threshold before
 * it takes effect.
 */
INLINE bool was_passed_over(struct tcp_sock *tp, struct socket_state *p, enum detection *detection)
{
	u8 state = kernel_state(tp);

	if (state <= DISORDER || p->state > DISORDER)
		return false;
	p->state = state;
	p->late++;
	p->answering_late = true;
	/* The window may already have followed the threshold. */
	tp->snd_cwnd = most(least(tp->snd_cwnd, tp->prior_cwnd), 1);
	*detection = state == RECOVERY ? DUPLICATES : state == LOSS ? TIMEOUT : MARK;
	return true;
}

/* Returns FlightSize in segments, without segments sent on duplicates (RFC 5681, section 3.2). At a
 * timeout, also without those known to have arrived.
 */
INLINE u32 flight(struct tcp_sock *tp, enum detection detection)
{
	return detection == TIMEOUT ? tp->packets_out - tp->sacked_out : least(tp->packets_out, tp->snd_cwnd);
}

/* Counts a verdict and reports it. `ssthresh` is the new threshold. */
INLINE u32 answer(struct sock *sk, struct socket_state *p, enum detection detection, enum cause cause, u32 ssthresh)
{
	struct event *event;

	if (detection == MARK)
		p->marks++;
	else if (cause == WIRELESS)
		p->wireless++;
	else
		p->congestion++;
	if (detection == TIMEOUT)
		p->timeouts++;
	event = tell(sk, p, ASKED);
	if (event) {
		event->detection = detection;
		event->cause = cause;
		event->ssthresh = ssthresh;
		event->late = p->answering_late;
		bpf_ringbuf_submit(event, 0);
	}
	p->answering_late = false;
	return ssthresh;
}

/* Reports an acknowledgement after all state is updated. `cwnd` is the window before it. */
INLINE void tell_ack(struct sock *sk, struct socket_state *p, u32 acked, s32 rtt_us)
{
	struct event *event = tell(sk, p, ACK);

	if (event) {
		event->acked = acked;
		event->rtt_us = rtt_us;
		bpf_ringbuf_submit(event, 0);
	}
}

#endif
