// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Westwood: Reno's growth, and after a loss the window that a bandwidth estimate says the path can hold.
 *
 * Casetti, Gerla, Mascolo, Sanadidi, Wang, MobiCom 2001; the filter by time as in Le & Hong 2006, which is what the simulation
 * of Martignon & Fratta's test bed runs. The formulas and their errors stand in westwood.h and westwood_ops.h. It asks no
 * classifier: every loss is congestion. The predictor runs beside it, for whoever watches.
 */
#include "vegas.h"
#include "westwood.h"
#include "westwood_ops.h"

/* The answer when a loss was found. */
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
