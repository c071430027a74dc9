// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Compares the programs' reals with the processor's. Prints differences and exits with 1 if
 * there are any.
 */
#include <stdio.h>
#include <string.h>

#include "real.h"

static unsigned long long state = 88172645463325252ULL;

static unsigned long long draw(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static double number(real a)
{
	double number;

	memcpy(&number, &a, sizeof(number));
	return number;
}

/* Draws exponents near one, and often fractions with few bits, so that ties and carries occur. */
static real drawn(void)
{
	int width = 1 + draw() % 80;
	real a = (draw() & ~(0x7ffULL << 52)) | (real)(REAL_BIAS - width / 2 + draw() % width) << 52;

	if (draw() % 4 == 0)
		a &= ~0ULL << draw() % 53;
	return draw() % 100 ? a : 0;
}

static int differs(const char *what, real a, real b, real ours, double theirs)
{
	/* The sign of a zero does not matter. */
	if (number(ours) == theirs)
		return 0;
	printf("%s of %a and %a: %a for %a\n", what, number(a), number(b), number(ours), theirs);
	return 1;
}

int main(void)
{
	int wrong = 0;

	for (int k = 0; k < 500000 && wrong < 10; k++) {
		real a = drawn(), b = drawn();
		long long whole = draw() >> draw() % 64;

		/* Some sums cancel. */
		if (draw() % 20 == 0)
			b = a ^ draw() % 8 ^ (draw() & REAL_SIGN);
		wrong += differs("sum", a, b, real_add(a, b), number(a) + number(b));
		wrong += differs("difference", a, b, real_sub(a, b), number(a) - number(b));
		wrong += differs("product", a, b, real_mul(a, b), number(a) * number(b));
		if (number(b) != 0)
			wrong += differs("quotient", a, b, real_div(a, b), number(a) / number(b));
		wrong += differs("single", a, 0, real_single(a), (float)number(a));
		wrong += differs("order", a, b, REAL(1.0), real_less(a, b) == (number(a) < number(b)));
		whole = draw() & 1 ? whole : -whole;
		wrong += differs("integer", 0, 0, real_of(whole), (double)whole);
		a = real_mul(a, REAL(1e6));
		wrong += differs("whole", a, 0, real_of(real_whole(a)), (double)(long long)number(a));
	}
	wrong += differs("most", 0, 0, real_of(real_whole(REAL(1e300))), 0x1p63);
	wrong += differs("least", 0, 0, real_of(real_whole(REAL(-1e300))), -0x1p63);
	wrong += differs("nothing", 0, 0, real_mul(REAL(1e-200), REAL(1e-200)), 0);
	return wrong != 0;
}
