//! Fractions of 128-bit integers that say when they would overflow.
//!
//! Most values are whole, and whole values take a path without a greatest common divisor.
//! Every function is `None` where the exact result does not fit, and for the one integer whose
//! negative does not.

use crate::units::Rational;
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub};
use std::cmp::Ordering;

/// Both as integers, if they are.
fn whole(a: Rational, b: Rational) -> Option<(i128, i128)> {
    (*a.denom() == 1 && *b.denom() == 1).then(|| (*a.numer(), *b.numer()))
}

fn fits(value: Rational) -> Option<Rational> {
    (*value.numer() != i128::MIN).then_some(value)
}

pub(super) fn add(a: Rational, b: Rational) -> Option<Rational> {
    match whole(fits(a)?, fits(b)?) {
        Some((a, b)) => a.checked_add(b).map(Rational::from_integer),
        None => CheckedAdd::checked_add(&a, &b),
    }
    .and_then(fits)
}

pub(super) fn subtract(a: Rational, b: Rational) -> Option<Rational> {
    match whole(fits(a)?, fits(b)?) {
        Some((a, b)) => a.checked_sub(b).map(Rational::from_integer),
        None => CheckedSub::checked_sub(&a, &b),
    }
    .and_then(fits)
}

pub(super) fn multiply(a: Rational, b: Rational) -> Option<Rational> {
    match whole(fits(a)?, fits(b)?) {
        Some((a, b)) => a.checked_mul(b).map(Rational::from_integer),
        None => CheckedMul::checked_mul(&a, &b),
    }
    .and_then(fits)
}

/// Also `None` if `b` is zero: ask before.
pub(super) fn divide(a: Rational, b: Rational) -> Option<Rational> {
    match whole(fits(a)?, fits(b)?) {
        Some((a, b)) if b != 0 && a % b == 0 => Some(Rational::from_integer(a / b)),
        _ => CheckedDiv::checked_div(&a, &b),
    }
    .and_then(fits)
}

pub(super) fn negate(a: Rational) -> Option<Rational> {
    fits(a).map(|a| Rational::new_raw(-a.numer(), *a.denom()))
}

pub(super) fn absolute(a: Rational) -> Option<Rational> {
    fits(a).map(|a| Rational::new_raw(a.numer().abs(), *a.denom()))
}

/// Never overflows.
pub(super) fn compare(a: Rational, b: Rational) -> Ordering {
    if a.denom() == b.denom() { a.numer().cmp(b.numer()) } else { a.cmp(&b) }
}

pub(super) fn floor(a: Rational) -> Rational {
    Rational::from_integer(a.numer().div_euclid(*a.denom()))
}

pub(super) fn ceil(a: Rational) -> Option<Rational> {
    let whole = a.numer().rem_euclid(*a.denom()) == 0;
    add(floor(a), Rational::from_integer(i128::from(!whole)))
}

/// To the nearest integer, halves up.
pub(super) fn round(a: Rational) -> Option<Rational> {
    let over = a.numer().rem_euclid(*a.denom());
    let up = over >= a.denom() - over && over != 0;
    add(floor(a), Rational::from_integer(i128::from(up)))
}
