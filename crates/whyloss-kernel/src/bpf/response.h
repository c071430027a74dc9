/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Answers a verdict, as the library's policy `keep` does (policy.rs).
 *
 *	congestion		CUBIC's reduction
 *	wireless		keeps cwnd and ssthresh, so that slow start goes on
 *	wireless, timeout	ssthresh = max(cwnd, ssthresh), cwnd = 1
 *
 * During a recovery ssthresh is cwnd all the same, because the kernel sets the window to ssthresh at
 * its end. The old ssthresh comes back after that (`on_state`).
 */
#ifndef WHYLOSS_RESPONSE_H
#define WHYLOSS_RESPONSE_H

#include "cubic.h"

/* Returns the new threshold, in segments. */
INLINE u32 respond(struct sock *sk, struct socket_state *p, enum detection detection, enum cause cause)
{
	struct tcp_sock *tp = tcp_of(sk);
	u32 keep = most(tp->snd_cwnd, 2);

	if (cause == CONGESTION)
		return cubictcp_recalc_ssthresh(sk);
	/* Before a late answer the kernel has overwritten ssthresh. */
	if (p->answering_late)
		return keep;
	if (detection == TIMEOUT)
		return most(keep, tp->snd_ssthresh);
	p->ssthresh = tp->snd_ssthresh;
	return keep;
}

#endif
