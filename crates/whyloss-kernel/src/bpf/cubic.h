/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Puts the kernel's own CUBIC under a classifier.
 *
 *	congestion	ssthresh = 717/1024*cwnd, the curve restarts
 *	wireless	the curve continues
 *	any timeout	the curve restarts
 *
 * CUBIC, with HyStart, keeps its state where the kernel's CUBIC does. The classifier's state is in
 * the socket's storage.
 */
#ifndef WHYLOSS_CUBIC_H
#define WHYLOSS_CUBIC_H

#include "ops.h"

extern void cubictcp_init(struct sock *sk) KSYM;
extern u32 cubictcp_recalc_ssthresh(struct sock *sk) KSYM;
extern void cubictcp_cong_avoid(struct sock *sk, u32 ack, u32 acked) KSYM;
extern void cubictcp_state(struct sock *sk, u8 state) KSYM;
extern void cubictcp_cwnd_event(struct sock *sk, enum tcp_ca_event event) KSYM;
extern void cubictcp_acked(struct sock *sk, const struct ack_sample *sample) KSYM;

/* Prepares the classifier's state for a new socket. Each program defines this function and the
 * next two.
 */
INLINE void meet(struct sock *sk, struct socket_state *p);

/* Handles a loss and returns the new slow start threshold in segments. */
INLINE u32 decide(struct sock *sk, struct socket_state *p, enum detection detection);

/* Handles an acknowledgement of new bytes, with its round-trip time in us (negative: none). */
INLINE void learn(struct sock *sk, struct socket_state *p, u32 acked, s32 rtt_us);

SEC("struct_ops")
void cubic_init(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct socket_state *p = begin(sk);

	if (p) {
		p->judge.congested = true;
		meet(sk, p);
	}
	cubictcp_init(sk);
}

SEC("struct_ops")
void cubic_acked(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct ack_sample *sample = (const struct ack_sample *)ctx[1];
	struct tcp_sock *tp = tcp_of(sk);
	struct socket_state *p = state_of(sk);
	enum detection detection;
	u32 acked;

	if (p) {
		acked = newly_acked(tp, p);
		if (was_passed_over(tp, p, &detection))
			tp->snd_ssthresh = decide(sk, p, detection);
		learn(sk, p, acked, sample->rtt_us);
		tell_ack(sk, p, acked, sample->rtt_us);
	}
	cubictcp_acked(sk, sample);
}

SEC("struct_ops")
u32 cubic_ssthresh(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct socket_state *p = state_of(sk);

	return p ? decide(sk, p, detect(tcp_of(sk), p)) : cubictcp_recalc_ssthresh(sk);
}

SEC("struct_ops")
void cubic_avoid(u64 *ctx)
{
	cubictcp_cong_avoid((struct sock *)ctx[0], ctx[1], ctx[2]);
}

SEC("struct_ops")
void cubic_state(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct socket_state *p = state_of(sk);

	if (p)
		on_state(sk, p, ctx[1]);
	cubictcp_state(sk, ctx[1]);
}

SEC("struct_ops")
void cubic_event(u64 *ctx)
{
	cubictcp_cwnd_event((struct sock *)ctx[0], ctx[1]);
}

#define LIKE_CUBIC(called)                                                                      \
	COMMON(called), .init = (void *)cubic_init, .pkts_acked = (void *)cubic_acked,          \
			.ssthresh = (void *)cubic_ssthresh, .cong_avoid = (void *)cubic_avoid,  \
			.set_state = (void *)cubic_state, .cwnd_event = (void *)cubic_event

#endif
