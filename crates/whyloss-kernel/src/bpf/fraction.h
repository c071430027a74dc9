/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Shares in fixed point: 2^32 is one. */
#ifndef WHYLOSS_FRACTION_H
#define WHYLOSS_FRACTION_H

#include "kernel.h"

#define ONE (1ULL << 32)

/* Returns a share of a number below 2^40, rounded, with an error of at most 1/2. Both halves of
 * the product fit in 64 bits.
 */
INLINE u64 share_of(u64 number, u64 share)
{
	return (number >> 32) * share + (((number & (ONE - 1)) * share + (1ULL << 31)) >> 32);
}

/* Returns from + share*(to - from). */
INLINE u64 towards(u64 from, u64 to, u64 share)
{
	return to >= from ? from + share_of(to - from, share) : from - share_of(from - to, share);
}

#endif
