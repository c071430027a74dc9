/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Computes with doubles in integer registers, because BPF has no floating point.
 *
 * A real is the 64 bits of an IEEE 754 double: sign, 11 bits of exponent (1023: one), and 52 bits
 * of fraction after a leading one. Every operation rounds to the nearest double, ties to even, like
 * the library's processor, so both compute the same bits.
 *
 *	infinities, NaN		do not occur
 *	below 2^-1022		becomes 0; signals only use 1 - x and y + x, which stay the same
 *
 * `tests/host.rs` compiles this file for the host and compares it with the processor.
 */
#ifndef WHYLOSS_REAL_H
#define WHYLOSS_REAL_H

typedef unsigned long long real;

/* Returns the bits of a constant. */
#define REAL(constant)            \
	(((union {                \
		 double number;   \
		 real bits;       \
	 }){ constant }).bits)

#define REAL_SIGN (1ULL << 63)
#define REAL_HIDDEN (1ULL << 52)

enum { REAL_BIAS = 1023 };

/* The verifier checks a function without `static` once, not at each call. */
#ifndef REAL_FUNCTION
#define REAL_FUNCTION __attribute__((noinline))
#endif
#define REAL_INLINE static inline __attribute__((always_inline))

REAL_INLINE int real_exponent(real a)
{
	return a >> 52 & 0x7ff;
}

REAL_INLINE unsigned long long real_fraction(real a)
{
	return (a & (REAL_HIDDEN - 1)) | REAL_HIDDEN;
}

/* Rounds m, whose bit 63 has this exponent. The lowest bit of m represents all cut bits. */
REAL_INLINE real real_packed(real sign, int exponent, unsigned long long m)
{
	unsigned long long cut;

	if (!m)
		return 0;
	if (!(m >> 32)) {
		m <<= 32;
		exponent -= 32;
	}
	if (!(m >> 48)) {
		m <<= 16;
		exponent -= 16;
	}
	if (!(m >> 56)) {
		m <<= 8;
		exponent -= 8;
	}
	if (!(m >> 60)) {
		m <<= 4;
		exponent -= 4;
	}
	if (!(m >> 62)) {
		m <<= 2;
		exponent -= 2;
	}
	if (!(m >> 63)) {
		m <<= 1;
		exponent -= 1;
	}
	if (exponent <= 0)
		return sign;
	cut = m & 0x7ff;
	m >>= 11;
	m += cut + (m & 1) > 0x400;
	/* The leading one adds one to the exponent. A carry of rounding adds one more. */
	return sign | (((unsigned long long)(exponent - 1) << 52) + m);
}

REAL_FUNCTION real real_of(long long number)
{
	real sign = number < 0 ? REAL_SIGN : 0;

	return real_packed(sign, REAL_BIAS + 63, sign ? -(unsigned long long)number : (unsigned long long)number);
}

/* Truncates towards zero and saturates. */
REAL_FUNCTION long long real_whole(real a)
{
	int exponent = real_exponent(a) - REAL_BIAS;
	long long most = ~REAL_SIGN, m = real_fraction(a);

	if (exponent < 0)
		return 0;
	if (exponent > 62)
		return a & REAL_SIGN ? -most - 1 : most;
	m = exponent > 52 ? m << (exponent - 52) : m >> (52 - exponent);
	return a & REAL_SIGN ? -m : m;
}

REAL_FUNCTION real real_add(real a, real b)
{
	unsigned long long m, n;
	unsigned int apart;
	real larger = a;

	if ((a << 1) < (b << 1)) {
		a = b;
		b = larger;
	}
	if (!(b << 1))
		return a;
	apart = real_exponent(a) - real_exponent(b);
	if (apart > 63)
		apart = 63;
	m = real_fraction(a) << 10;
	n = real_fraction(b) << 10;
	n = n >> apart | ((n & ((1ULL << apart) - 1)) != 0);
	return real_packed(a & REAL_SIGN, real_exponent(a) + 1, (a ^ b) & REAL_SIGN ? m - n : m + n);
}

REAL_INLINE real real_sub(real a, real b)
{
	return real_add(a, b ^ REAL_SIGN);
}

REAL_FUNCTION real real_mul(real a, real b)
{
	unsigned long long m = real_fraction(a) << 11, n = real_fraction(b) << 11;
	unsigned long long low = (m & 0xffffffff) * (n & 0xffffffff);
	unsigned long long one = (m >> 32) * (n & 0xffffffff), other = (m & 0xffffffff) * (n >> 32);
	unsigned long long middle = (low >> 32) + (one & 0xffffffff) + (other & 0xffffffff);
	unsigned long long high = (m >> 32) * (n >> 32) + (one >> 32) + (other >> 32) + (middle >> 32);

	if (!(a << 1) || !(b << 1))
		return 0;
	high |= ((low & 0xffffffff) | (middle & 0xffffffff)) != 0;
	return real_packed((a ^ b) & REAL_SIGN, real_exponent(a) + real_exponent(b) - REAL_BIAS + 1, high);
}

/* Divides by a `b` other than zero, eleven bits at a time. A remainder is below 2^53. */
REAL_FUNCTION real real_div(real a, real b)
{
	unsigned long long rest = real_fraction(a), by = real_fraction(b), quotient = 0, digit;

	if (!(a << 1))
		return 0;
	if (rest >= by) {
		rest -= by;
		quotient = 1;
	}
#pragma unroll
	for (int k = 0; k < 5; k++) {
		rest <<= 11;
		digit = rest / by;
		rest -= digit * by;
		quotient = quotient << 11 | digit;
	}
	quotient |= rest != 0;
	return real_packed((a ^ b) & REAL_SIGN, real_exponent(a) - real_exponent(b) + REAL_BIAS + 63 - 55, quotient);
}

/* Rounds to single precision. A double has more than twice its bits, so rounding twice equals
 * rounding once.
 */
REAL_FUNCTION real real_single(real a)
{
	unsigned long long cut = a & ((1ULL << 29) - 1);

	return a - cut + (cut + (a >> 29 & 1) > 1ULL << 28 ? 1ULL << 29 : 0);
}

REAL_INLINE _Bool real_less(real a, real b)
{
	long long m = a, n = b;

	/* The bits of negative numbers count backwards. */
	m ^= (m >> 63) & ~REAL_SIGN;
	n ^= (n >> 63) & ~REAL_SIGN;
	return m < n;
}

REAL_INLINE real real_smaller(real a, real b)
{
	return real_less(a, b) ? a : b;
}

/* Divides, or returns 0 if `b` is not above zero. */
REAL_INLINE real real_ratio(real a, real b)
{
	return (long long)b > 0 ? real_div(a, b) : 0;
}

#endif
