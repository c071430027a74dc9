/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Shares in fixed point: 2^32 is one. */
#ifndef WHYLOSS_FRACTION_H
#define WHYLOSS_FRACTION_H

#include "kernel.h"

#define ONE (1ULL << 32)

/* A share of a number below 2^40, rounded: wrong by half at most. Both halves of the product fit. */
INLINE u64 share_of(u64 number, u64 share)
{
	return (number >> 32) * share + (((number & (ONE - 1)) * share + (1ULL << 31)) >> 32);
}

/* From `from` so far towards `to`: from + share*(to - from). */
INLINE u64 towards(u64 from, u64 to, u64 share)
{
	return to >= from ? from + share_of(to - from, share) : from - share_of(from - to, share);
}

#endif
