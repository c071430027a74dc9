/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The functions that all programs share: state changes, undone reductions, the end of a socket,
 * and Reno's growth.
 */
#ifndef WHYLOSS_OPS_H
#define WHYLOSS_OPS_H

#include "socket.h"

/* Handles a change of the kernel's state. At the end of a recovery, sets the threshold that was
 * deferred until then.
 */
INLINE void on_state(struct sock *sk, struct socket_state *p, u8 state)
{
	struct tcp_sock *tp = tcp_of(sk);
	struct event *event;

	p->state = state;
	if (state == LOSS)
		p->ssthresh = 0;
	if (state <= DISORDER && p->ssthresh) {
		if (p->ssthresh > tp->snd_ssthresh)
			tp->snd_ssthresh = p->ssthresh;
		p->ssthresh = 0;
	}
	event = tell(sk, p, STATE);
	if (event)
		bpf_ringbuf_submit(event, 0);
}

/* Undoes a window reduction, because the packets counted as lost have arrived. */
SEC("struct_ops")
u32 wl_undo(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct socket_state *p = state_of(sk);
	struct event *event;

	if (p) {
		p->ssthresh = 0;
		event = tell(sk, p, UNDO);
		if (event)
			bpf_ringbuf_submit(event, 0);
	}
	return tcp_reno_undo_cwnd(sk);
}

SEC("struct_ops")
void wl_release(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct socket_state *p = state_of(sk);
	struct event *event;

	if (!p)
		return;
	event = tell(sk, p, CLOSED);
	if (event)
		bpf_ringbuf_submit(event, 0);
}

/* The programs of every control, and the name of src/control.rs. */
#define COMMON(called)					\
	.undo_cwnd = (void *)wl_undo,			\
	.release = (void *)wl_release,			\
	.flags = NON_RESTRICTED,			\
	.name = called

#endif
