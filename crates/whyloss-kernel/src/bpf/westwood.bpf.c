// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Westwood: grows like Reno; after a loss, the window becomes the estimated bandwidth-delay
 * product.
 *
 * Casetti, Gerla, Mascolo, Sanadidi, Wang, MobiCom 2001. The filter by time is that of Le & Hong
 * 2006, as in the simulation of Martignon & Fratta's test bed. Formulas and errors: westwood.h,
 * westwood_ops.h. Without a classifier, every loss is congestion. The predictor only serves
 * observers.
 */
#include "vegas.h"
#include "westwood.h"
#include "westwood_ops.h"

/* Returns the new threshold, in segments. */
INLINE u32 decide(struct sock *sk, struct socket_state *p, enum detection detection)
{
	return reduce(sk, p, detection, CONGESTION);
}

INLINE void learn(struct tcp_sock *tp, struct socket_state *p, u32 acked, s32 rtt_us)
{
	vegas_sample(&p->judge, tp->snd_cwnd, rtt_us);
	westwood_sample(&p->estimator, tp->tcp_mstamp, acked, tp->mss_cache);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops westwood = { LIKE_RENO("wl_westwood") };
