// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* NewReno-LP: Reno that keeps its window at a loss while the Vegas predictor sees no queue.
 *
 * Martignon & Fratta, "Loss differentiation schemes for TCP over wireless networks", 2005, section
 * 2 (MAR-1 to MAR-3).
 *
 *	acknowledgement		grows like Reno (the kernel's own)
 *	loss, congestion	ssthresh = max(FlightSize/2, 2)			segments
 *	loss, wireless		ssthresh = max(FlightSize, 2)
 *	timeout			likewise, cwnd = 1
 *
 * The kernel repairs the loss and brings cwnd to ssthresh by the end of the recovery (proportional
 * rate reduction). The recovery is the kernel's, with SACK and RACK if both ends have them, not
 * NewReno's. Halves are rounded down. There is no other fraction, so there is no error.
 */
#include "reno.h"
#include "vegas.h"

/* Returns the new threshold, in segments. */
INLINE u32 decide(struct sock *sk, struct socket_state *p, enum detection detection)
{
	struct tcp_sock *tp = tcp_of(sk);
	enum cause cause;
	u32 flying;

	cause = vegas_cause(&p->judge, detection);
	flying = flight(tp, detection);
	return answer(sk, p, detection, cause, most(cause == WIRELESS ? flying : flying / 2, 2));
}

INLINE void learn(struct tcp_sock *tp, struct socket_state *p, u32 acked, s32 rtt_us)
{
	vegas_sample(&p->judge, tp->snd_cwnd, rtt_us);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops newreno_lp = { LIKE_RENO("wl_newreno_lp") };
