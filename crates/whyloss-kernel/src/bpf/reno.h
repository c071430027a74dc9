/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Grows the window like the kernel's Reno. */
#ifndef WHYLOSS_RENO_H
#define WHYLOSS_RENO_H

#include "answers.h"
#include "state.h"

SEC("struct_ops")
void wl_avoid(u64 *ctx)
{
	tcp_reno_cong_avoid((struct sock *)ctx[0], ctx[1], ctx[2]);
}

#define LIKE_RENO(called) \
	COMMON(called), ANSWERS, .cong_avoid = (void *)wl_avoid, .set_state = (void *)wl_state

#endif
