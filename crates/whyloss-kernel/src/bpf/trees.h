/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Turns signals into log-odds of congestion with the library's trees (`sender/trees`), and evidence
 * with those of the scheme (`congestion/whyloss`).
 *
 * The loader (`src/load.rs`) writes the library's tables here before the verifier runs, so the
 * trees exist only once.
 */
#ifndef WHYLOSS_TREES_H
#define WHYLOSS_TREES_H

#include "signals.h"

enum { QUESTIONS = 15, LEAVES = 16, MOST_TREES = 64 };

/* Question k separates leaves k and k + 1. Each step of the binary search evaluates the middle
 * one of the remaining questions.
 */
struct tree {
	s16 bounds[QUESTIONS];
	s16 leaves[LEAVES];
	u8 asked[QUESTIONS]; /* numbers of quantities */
	u8 spare[3];
};

struct forest {
	u32 count;
	s32 threshold; /* thousandths of log-odds; above it, a loss is congestion, or cuts begin */
	struct tree trees[MOST_TREES];
};

_Static_assert(sizeof(struct forest) == 8 + MOST_TREES * 80, "src/load.rs fills it");

enum { OF_CLASSIFIER, OF_SCHEME, FORESTS };

const volatile struct forest wl_forests[FORESTS] SEC(".rodata.wl_forests");

/* Evaluates one question about the quantities from `first` on; `half` leaves are on either side. */
INLINE u32 ask(const volatile struct tree *tree, const struct signals *s, u32 first, u32 at, u32 half)
{
	u32 question = at + half - 1;

	if (question >= QUESTIONS)
		return at;
	return s->evidence[(first + tree->asked[question]) & (EVIDENCE_ROOM - 1)] > tree->bounds[question] ? at + half
													   : at;
}

/* Returns the leaf of one tree. As a separate function, it is verified once for any tree. Inlined,
 * it would make the verifier follow each path through all trees and give up.
 */
__attribute__((noinline)) int leaf_of(u32 forest, u32 number, const struct signals *s)
{
	const volatile struct tree *tree;
	u32 first = forest == OF_SCHEME ? 0 : BEFORE_SIGNALS, at = 0;

	if (!s || forest >= FORESTS || number >= MOST_TREES)
		return 0;
	tree = &wl_forests[forest].trees[number];
	at = ask(tree, s, first, at, 8);
	at = ask(tree, s, first, at, 4);
	at = ask(tree, s, first, at, 2);
	at = ask(tree, s, first, at, 1);
	return tree->leaves[at & (LEAVES - 1)];
}

/* Returns the log-odds of congestion, in thousandths. */
INLINE s32 log_odds(u32 forest, const struct signals *s)
{
	s32 sum = 0;

	for (u32 k = 0; k < MOST_TREES && k < wl_forests[forest].count; k++)
		sum += leaf_of(forest, k, s);
	return sum;
}

#endif
