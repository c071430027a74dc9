// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Whyloss: classifies each loss with the library's trees, over the kernel's own CUBIC.
 *
 * Signals (signals.h), odds (trees.h), evidence (evidence.h), cuts (cut.h) and the answer
 * (response.h) are the same numbers as in the library. If the kernel undoes a
 * reduction because the loss was spurious, the loss stays in the evidence; the library forgets it.
 * docs/guides/kernel.md lists all differences.
 */
#include "cubic.h"
#include "response.h"

INLINE struct signals *signals_of(struct sock *sk)
{
	return bpf_sk_storage_get(&wl_signals, sk, NULL, 0);
}

INLINE void meet(struct sock *sk, struct socket_state *p)
{
	struct signals *s = bpf_sk_storage_get(&wl_signals, sk, NULL, SK_STORAGE_CREATE);

	if (s)
		begin_signals(s);
}

/* Returns a digest of the quantities from `first` on. */
INLINE u32 digest_of(const struct signals *s, u32 first)
{
	u32 digest = 2166136261U;

	for (u32 k = first; k < EVIDENCE; k++)
		digest = (digest ^ (u16)s->evidence[k]) * 16777619U;
	return digest;
}

/* Computes the odds that a loss detected now is congestion, and a digest of the signals. */
INLINE void weigh(struct tcp_sock *tp, struct socket_state *p, struct signals *s, bool timeout)
{
	p->judge.odds = NO_ODDS;
	p->judge.digest = 0;
	p->judge.congested = true;
	if (!describe(tp, s, timeout))
		return;
	p->judge.odds = log_odds(OF_CLASSIFIER, s);
	p->judge.congested = p->judge.odds > wl_forests[OF_CLASSIFIER].threshold;
	p->judge.digest = digest_of(s, BEFORE_SIGNALS);
}

INLINE u32 decide(struct sock *sk, struct socket_state *p, enum detection detection)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct signals *s = signals_of(sk);
	u32 cut = FULL;

	if (s && detection != MARK) {
		weigh(tp, p, s, detection == TIMEOUT);
		/* HyStart may have ended slow start, but no loss has. */
		p->judge.starting = !p->congestion && !p->marks;
		cut = cut_of(s, (u64)tp->snd_cwnd * tp->mss_cache, tp->mss_cache, p->judge.odds, p->judge.starting);
		if (p->judge.odds != NO_ODDS)
			p->judge.digest = digest_of(s, 0);
		remember_loss(tp, s, (u64)tp->packets_out * tp->mss_cache);
	}
	p->judge.cut = cut;
	return answer(sk, p, detection, cut ? CONGESTION : WIRELESS, respond(sk, p, detection, cut));
}

INLINE void learn(struct sock *sk, struct socket_state *p, u32 acked, s32 rtt_us)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct signals *s = signals_of(sk);

	if (rtt_us > 0) {
		p->judge.rtt_us = rtt_us;
		p->judge.min_rtt_us = least(p->judge.min_rtt_us, rtt_us);
	}
	if (!s)
		return;
	hear(tp, s, p->state, acked, rtt_us);
	grow_in_recovery(sk, p, s, tp->delivered - s->delivered);
	s->delivered = tp->delivered;
	if (is_watched(tp))
		weigh(tp, p, s, false);
}

/* Fills the window. The kernel calls this function after it sets the window and before it sends. */
SEC("struct_ops")
u32 whyloss_min_tso_segs(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct socket_state *p = state_of(sk);
	struct signals *s = signals_of(sk);

	if (p && s)
		fill_in_recovery(tcp_of(sk), p, s);
	return MIN_TSO_SEGS;
}

SEC(".struct_ops.link")
struct tcp_congestion_ops whyloss = { LIKE_CUBIC("wl_whyloss"), .min_tso_segs = (void *)whyloss_min_tso_segs };
