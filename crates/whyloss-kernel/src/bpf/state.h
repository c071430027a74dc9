/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Reports changes of the kernel's state, for controls that do nothing else at such a change. */
#ifndef WHYLOSS_STATE_H
#define WHYLOSS_STATE_H

#include "ops.h"

SEC("struct_ops")
void wl_state(u64 *ctx)
{
	struct sock *sk = (struct sock *)ctx[0];
	struct socket_state *p = state_of(sk);

	if (p)
		on_state(sk, p, ctx[1]);
}

#endif
