// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* BaLDE: Reno with a bandwidth estimate from the receiver's timestamps (SARBE) and a test for
 * filling queues (LDEA).
 *
 * Le & Hong, IEICE Trans. Commun. E89-B(4), 2006, section 3.2 (BAL-3 to BAL-7). oCwnd =
 * max(eBw*RTT_min, 2) segments.
 *
 *	new acknowledgement	if cwnd < ssthresh and LDEA: ssthresh = oCwnd
 *	loss, congestion	ssthresh = oCwnd, cwnd = min(cwnd, ssthresh)
 *	loss, wireless		ssthresh = oCwnd, cwnd stays
 *	timeout			ssthresh = oCwnd, cwnd = 1; never called wireless
 *
 * LDEA is the Vegas predictor, at first not congested. Here, one predictor takes every round-trip
 * time; the core's controller has a separate one for slow start, which ignores duplicates. Without
 * timestamps (from a peer that refuses them), there is no estimate, and oCwnd is half of
 * FlightSize. Formulas and errors: sarbe.h, vegas.h, westwood_ops.h.
 */
/* As in balde.rs of the core, the predictor is not congested at first. */
#define CONGESTED_AT_FIRST false

#include "sarbe.h"
#include "vegas.h"
#include "westwood_ops.h"

/* Returns the new threshold, in segments. */
INLINE u32 decide(struct sock *sk, struct socket_state *p, enum detection detection)
{
	return reduce(sk, p, detection, detection == TIMEOUT ? CONGESTION : vegas_cause(&p->judge, detection));
}

INLINE void learn(struct tcp_sock *tp, struct socket_state *p, u32 acked, s32 rtt_us)
{
	u32 optimal;

	vegas_sample(&p->judge, tp->snd_cwnd, rtt_us);
	sarbe_sample(&p->estimator, tp->rx_opt.rcv_tsval, acked);
	if (acked && p->judge.congested && p->state <= DISORDER && tp->snd_cwnd < tp->snd_ssthresh) {
		optimal = pipe(&p->estimator, &p->judge, tp->mss_cache);
		if (optimal)
			tp->snd_ssthresh = optimal;
	}
}

SEC(".struct_ops.link")
struct tcp_congestion_ops balde = { LIKE_RENO("wl_balde") };
