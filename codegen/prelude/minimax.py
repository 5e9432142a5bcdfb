#!/usr/bin/env python3
"""Finds the polynomials of the device prelude, and says how good they are.

Each row of FITS asks for target(x) ~ base(x) + x^lead * P(x^step) on an interval, where the greatest value
of |error| * weight(x) is to be least (least squares on a grid, reweighted after Lawson, 40 digits). The
coefficients are then rounded to binary32 one by one from the lowest power up, which matters most, and the
rest are fitted again around those already rounded. Printed are the coefficients, highest power first as
Horner's rule wants them, and the weighted error before any rounding in the evaluation.

A row of QUOTIENTS asks for target(x) ~ P(x) / Q(x) with Q(0) = 1 and the least relative error; here all
coefficients are rounded at once.

    pip install mpmath; minimax.py [NAME...]
"""
import struct
import sys

from mpmath import mp, mpf

mp.dps = 40
GRID = 300
ROUNDS = 60


def to_f32(x):
    """The binary32 number nearest to x."""
    return mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def least_maximum(points, wanted, weights, powers):
    """Coefficients c of sum c[i]*x^powers[i] with the least max |wanted - sum| * weight over the points."""
    n = len(powers)
    rows = [[x**p * s for p in powers] for x, s in zip(points, weights)]
    right = [w * s for w, s in zip(wanted, weights)]
    shares = [mpf(1) / len(points)] * len(points)
    best = None
    for _ in range(ROUNDS):
        system, sums = mp.matrix(n, n), mp.matrix(n, 1)
        shared = [[v * h for v in row] for row, h in zip(rows, shares)]
        columns = list(zip(*rows))
        for i, column in enumerate(zip(*shared)):
            sums[i] = mp.fdot(column, right)
            for j in range(i, n):
                system[i, j] = system[j, i] = mp.fdot(column, columns[j])
        coefficients = list(mp.lu_solve(system, sums))
        error = [abs(r - mp.fdot(row, coefficients)) for r, row in zip(right, rows)]
        if best is None or max(error) < best[1]:
            best = coefficients, max(error)
        total = mp.fdot(shares, error)
        shares = [h * e / total for h, e in zip(shares, error)]
    return best


def fit(interval, target, base, weight, lead, step, terms):
    """The rounded coefficients, lowest power first, and the weighted error they leave."""
    a, b = map(mpf, interval)
    points = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (i + mpf(1) / 2) / GRID) for i in range(GRID)]
    powers = [lead + step * i for i in range(terms)]
    rest = [target(x) - base(x) for x in points]
    weights = [weight(x) for x in points]
    fixed = []
    while len(fixed) < terms:
        coefficients, _ = least_maximum(points, rest, weights, powers[len(fixed):])
        fixed.append(to_f32(coefficients[0]))
        rest = [r - fixed[-1] * x ** powers[len(fixed) - 1] for r, x in zip(rest, points)]
    return fixed, max(abs(r) * w for r, w in zip(rest, weights))


def fit_quotient(interval, target, above, below):
    """Coefficients of P and Q, lowest power first, of those degrees, and the relative error they leave."""
    a, b = map(mpf, interval)
    points = [(a + b) / 2 - (b - a) / 2 * mp.cos(mp.pi * (i + mpf(1) / 2) / GRID) for i in range(GRID)]
    wanted = [target(x) for x in points]
    shares, divisors, best = [mpf(1) / GRID] * GRID, [mpf(1)] * GRID, None
    for _ in range(6 * ROUNDS):
        # P - wanted (Q - 1) ~ wanted, each point weighted by what it counts in P / Q.
        weights = [mp.sqrt(h) / (d * y) for h, d, y in zip(shares, divisors, wanted)]
        rows = mp.matrix([[w * x**i for i in range(above + 1)] + [-w * y * x**i for i in range(1, below + 1)]
                          for w, x, y in zip(weights, points, wanted)])
        found = list(mp.lu_solve(rows, mp.matrix([w * y for w, y in zip(weights, wanted)])))
        p, q = found[:above + 1], [mpf(1)] + found[above + 1:]
        divisors = [mp.polyval(q[::-1], x) for x in points]
        error = [abs(mp.polyval(p[::-1], x) / d / y - 1) for x, d, y in zip(points, divisors, wanted)]
        if best is None or max(error) < best[2]:
            best = p, q, max(error)
        shares = [h * mp.sqrt(e / max(error)) for h, e in zip(shares, error)]
        total = mp.fsum(shares)
        shares = [h / total for h in shares]
    p, q = ([to_f32(c) for c in side] for side in best[:2])
    left = max(abs(mp.polyval(p[::-1], x) / mp.polyval(q[::-1], x) / y - 1) for x, y in zip(points, wanted))
    return p, q, left


def relative(function):
    return lambda x: 1 / abs(function(x)) if x != 0 else mpf(10) ** 9


def zero(x):
    return mpf(0)


def one(x):
    return mpf(1)


def same(x):
    return x


def exp2(x):
    return mpf(2) ** x


def scaled_erfc(q):
    """(1 + 2a) exp(a^2) erfc(a) for q = (a - 2) / (a + 2); Shepherd and Laframboise, Math. Comp. 36, 1981."""
    a = 2 * (1 + q) / (1 - q)
    return (1 + 2 * a) * mp.exp(a * a) * mp.erfc(a)


def scaled_tail(factor):
    """exp(a^2) erfc(a) of t = 1 / (1 + factor a)."""
    def function(t):
        a = (1 / t - 1) / factor
        return mp.exp(a * a) * mp.erfc(a)
    return function


def by_root(function):
    """function(x) / x of the square of x."""
    return lambda square: function(mp.sqrt(square)) / mp.sqrt(square)


NARROW_ERFC, COARSE_ERFC = mpf("0.36"), mpf("0.515")
HALF_LOG2 = mp.log(2) / 2 * mpf("1.0001")
LOG2E = 1 / mp.log(2)
LOG10E = 1 / mp.log(10)
QUARTER_PI = mp.pi / 4 * mpf("1.0001")

# name: interval, target, base, weight, lead, step, terms
FITS = {
    "exp": ((-HALF_LOG2, HALF_LOG2), mp.exp, lambda x: 1 + x, relative(mp.exp), 2, 1, 5),
    "exp2": ((-0.50001, 0.50001), exp2, one, relative(exp2), 1, 1, 6),
    "exp2_short": ((-0.50001, 0.50001), exp2, one, relative(exp2), 1, 1, 5),
    "expm1": ((-HALF_LOG2, HALF_LOG2), mp.expm1, same, relative(mp.expm1), 2, 1, 5),
    "log": ((-1 / mpf(3), 1 / mpf(3)), mp.log1p, same, relative(mp.log1p), 2, 1, 9),
    "log1p": ((-0.25, 0.5), mp.log1p, same, relative(mp.log1p), 2, 1, 9),
    "log2": ((-1 / mpf(3), 1 / mpf(3)), lambda x: mp.log1p(x) * LOG2E, lambda x: x * LOG2E,
             relative(lambda x: mp.log1p(x) * LOG2E), 2, 1, 9),
    "log10": ((-1 / mpf(3), 1 / mpf(3)), lambda x: mp.log1p(x) * LOG10E, lambda x: x * LOG10E,
              relative(lambda x: mp.log1p(x) * LOG10E), 2, 1, 9),
    "atanh": ((0, mpf("0.2001")), mp.atanh, same, relative(mp.atanh), 3, 2, 4),
    "sin": ((0, QUARTER_PI), mp.sin, same, relative(mp.sin), 3, 2, 4),
    "cos": ((0, QUARTER_PI), mp.cos, lambda x: 1 - x * x / 2, relative(mp.cos), 4, 2, 3),
    "tan": ((0, QUARTER_PI), mp.tan, same, relative(mp.tan), 3, 2, 6),
    "asin": ((0, mpf("0.5001")), mp.asin, same, relative(mp.asin), 3, 2, 5),
    "atan": ((0, 1), mp.atan, same, relative(mp.atan), 3, 2, 8),
    "sinh": ((0, 1), mp.sinh, same, relative(mp.sinh), 3, 2, 4),
    "erf_small": ((0, mpf("0.9375")), mp.erf, same, relative(mp.erf), 1, 2, 6),
    "erf_large": ((mpf("0.9375"), mpf("4")), lambda x: mp.log(mp.erfc(x), 2), zero,
                  lambda x: mp.log(2) * mp.erfc(x) / mp.erf(x), 1, 1, 7),
    "erfc": ((-1, mpf("0.68")), scaled_erfc, one, relative(scaled_erfc), 0, 1, 9),
    "narrow_erfc": ((1 / (1 + NARROW_ERFC * mpf("10.2")), 1), scaled_tail(NARROW_ERFC), zero,
                    relative(scaled_tail(NARROW_ERFC)), 0, 1, 8),
    "coarse_erfc": ((1 / (1 + COARSE_ERFC * mpf("10.2")), 1), scaled_tail(COARSE_ERFC), zero,
                    relative(scaled_tail(COARSE_ERFC)), 0, 1, 6),
    "narrow_log1p": ((-0.2501, 0.5001), mp.log1p, zero, relative(mp.log1p), 1, 1, 7),
}

# name: interval of x^2, target, degrees of P and Q
QUOTIENTS = {
    "narrow_tanh": ((0, mpf("6.7")**2), by_root(mp.tanh), 3, 3),
    "narrow_erf": ((0, mpf("3.3")**2), by_root(mp.erf), 3, 3),
}


def main(names):
    for name in names or [*FITS, *QUOTIENTS]:
        *sides, error = fit(*FITS[name]) if name in FITS else fit_quotient(*QUOTIENTS[name])
        print(f"{name}: weighted error {mp.nstr(error, 3)} = 2^{mp.nstr(mp.log(error, 2), 4)}")
        for coefficients in sides:
            for c in reversed(coefficients):
                print(f"  {float(c).hex()}f  {float(c):.9g}")
            print()


if __name__ == "__main__":
    main(sys.argv[1:])
