/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Sets the threshold from the bandwidth estimate after a loss (`congestion/westwood.rs` of the
 * core).
 *
 *	loss, congestion	ssthresh = max(Bw*RTT_min, 2), cwnd = min(cwnd, ssthresh)		segments
 *	loss, wireless		ssthresh likewise, cwnd stays (MIL-8)
 *	timeout			ssthresh likewise, cwnd = 1
 *
 * When a recovery ends, the kernel sets cwnd to the threshold, even if the threshold is larger. The
 * answer is therefore the new cwnd, and `on_state` sets the real threshold at the end; slow start
 * then grows the window to it. RTT_min includes the sample of the current acknowledgement. Before
 * the first estimate, the threshold is half of FlightSize.
 */
#ifndef WHYLOSS_WESTWOOD_OPS_H
#define WHYLOSS_WESTWOOD_OPS_H

#include "rate.h"
#include "reno.h"

INLINE u32 reduce(struct sock *sk, struct socket_state *p, enum detection detection, enum cause cause)
{
	struct tcp_sock *tp = tcp_of(sk);
	u32 share = pipe(&p->estimator, &p->judge, tp->mss_cache);

	if (!share)
		share = most(flight(tp, detection) / 2, 2);
	if (detection == TIMEOUT)
		return answer(sk, p, detection, cause, share);
	p->ssthresh = share;
	return answer(sk, p, detection, cause, most(cause == WIRELESS ? tp->snd_cwnd : least(tp->snd_cwnd, share), 2));
}

#endif
