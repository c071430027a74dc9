/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Handles each acknowledgement and loss of every control except those on the kernel's CUBIC
 * (cubic.h).
 */
#ifndef WHYLOSS_ANSWERS_H
#define WHYLOSS_ANSWERS_H

#include "ops.h"

/* Returns the new threshold in segments after a loss. Each program defines this function and the
 * next.
 */
INLINE u32 decide(struct sock *sk, struct socket_state *p, enum detection detection);

/* Updates the classifier and estimator after an acknowledgement of `acked` new bytes, with its
 * round-trip time in us.
 */
INLINE void learn(struct tcp_sock *tp, struct socket_state *p, u32 acked, s32 rtt_us);

/* Whether the Vegas predictor sees congestion before the first acknowledgement. */
#ifndef CONGESTED_AT_FIRST
#define CONGESTED_AT_FIRST true
#endif

SEC("struct_ops")
void wl_init(u64 *ctx)
{
	struct socket_state *p = begin((struct sock *)ctx[0]);

	if (p)
		p->judge.congested = CONGESTED_AT_FIRST;
}

SEC("struct_ops")
void wl_acked(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	const struct ack_sample *sample = (const struct ack_sample *)ctx[1];
	struct tcp_sock *tp = tcp_of(sk);
	struct socket_state *p = state_of(sk);
	enum detection detection;
	u32 acked;

	if (!p)
		return;
	acked = newly_acked(tp, p);
	if (was_passed_over(tp, p, &detection))
		tp->snd_ssthresh = decide(sk, p, detection);
	learn(tp, p, acked, sample->rtt_us);
	tell_ack(sk, p, acked, sample->rtt_us);
}

SEC("struct_ops")
u32 wl_ssthresh(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct tcp_sock *tp = tcp_of(sk);
	struct socket_state *p = state_of(sk);

	return p ? decide(sk, p, detect(tp, p)) : most(tp->snd_cwnd / 2, 2);
}

#define ANSWERS .init = (void *)wl_init, .pkts_acked = (void *)wl_acked, .ssthresh = (void *)wl_ssthresh

#endif
