// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* TIBET: Westwood's reaction, with an estimate that averages sizes and intervals separately.
 *
 * Capone, Fratta, Martignon, IEEE TMC 3(2), 2004, as in the core (whose constants are from memory).
 * Formulas and errors: tibet.h, westwood_ops.h. Every loss is congestion; the Vegas predictor only
 * serves observers.
 */
#include "tibet.h"
#include "vegas.h"
#include "westwood_ops.h"

/* Returns the new threshold, in segments. */
INLINE u32 decide(struct sock *sk, struct socket_state *p, enum detection detection)
{
	return reduce(sk, p, detection, CONGESTION);
}

INLINE void learn(struct tcp_sock *tp, struct socket_state *p, u32 acked, s32 rtt_us)
{
	vegas_sample(&p->judge, tp->snd_cwnd, rtt_us);
	tibet_sample(&p->estimator, tp->tcp_mstamp, acked, tp->mss_cache);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops tibet = { LIKE_RENO("wl_tibet") };
