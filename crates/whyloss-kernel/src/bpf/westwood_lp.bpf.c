// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Westwood-LP: Westwood that keeps its window at a loss while the Vegas predictor sees no queue.
 *
 * Milenkoski & Stojcevska combine a classifier with Westwood (MIL-8: the estimate continues, the
 * window stays). The predictor is Martignon & Fratta's (MAR-1). Formulas and errors: westwood.h,
 * westwood_ops.h, vegas.h.
 */
#include "vegas.h"
#include "westwood.h"
#include "westwood_ops.h"

/* Returns the new threshold, in segments. */
INLINE u32 decide(struct sock *sk, struct socket_state *p, enum detection detection)
{
	return reduce(sk, p, detection, vegas_cause(&p->judge, detection));
}

INLINE void learn(struct tcp_sock *tp, struct socket_state *p, u32 acked, s32 rtt_us)
{
	vegas_sample(&p->judge, tp->snd_cwnd, rtt_us);
	westwood_sample(&p->estimator, tp->tcp_mstamp, acked, tp->mss_cache);
}

SEC(".struct_ops.link")
struct tcp_congestion_ops westwood_lp = { LIKE_RENO("wl_westwood_lp") };
