//! Tests of how quantities are spelled.

use super::*;
use proptest::prelude::*;

fn bytes(text: &str) -> Result<u64, String> {
    text.parse::<Bytes>().map(|b| b.0).map_err(|e| e.to_string())
}

fn rate(text: &str) -> Result<u64, String> {
    text.parse::<BitRate>().map(|r| r.0).map_err(|e| e.to_string())
}

fn time(text: &str) -> Result<u64, String> {
    text.parse::<Ps>().map(|t| t.0).map_err(|e| e.to_string())
}

#[test]
fn every_unit_has_its_exact_size() {
    for (text, value) in [
        ("7B", 7),
        ("64KB", 64_000),
        ("64KiB", 65_536),
        ("3MB", 3_000_000),
        ("3MiB", 3_145_728),
        ("4GB", 4_000_000_000),
        ("4GiB", 4_294_967_296),
        ("1.5KB", 1_500),
        ("0.5KiB", 512),
        ("1e3B", 1_000),
        ("+1B", 1),
        (" 1B ", 1),
        ("0B", 0),
        ("0.250KB", 250),
        ("18446744073709551615B", u64::MAX),
    ] {
        assert_eq!(bytes(text), Ok(value), "{text}");
    }
    for (text, value) in [
        ("9bps", 9),
        ("9Kbps", 9_000),
        ("9Mbps", 9_000_000),
        ("400Gbps", 400_000_000_000),
        ("1.6Tbps", 1_600_000_000_000),
        ("400Gb/s", 400_000_000_000),
        ("8b/s", 8),
    ] {
        assert_eq!(rate(text), Ok(value), "{text}");
    }
    for (text, value) in [
        ("1ps", 1),
        ("83.68ns", 83_680),
        ("84.3848us", 84_384_800),
        ("2ms", 2_000_000_000),
        ("1s", 1_000_000_000_000),
        ("1e-12s", 1),
    ] {
        assert_eq!(time(text), Ok(value), "{text}");
    }
}

#[test]
fn wrong_spellings_are_refused_with_the_right_one() {
    type Reader = fn(&str) -> Result<u64, String>;
    let cases: [(Reader, &str, &str); 37] = [
        (bytes, "64kb", "write `KB` for bytes or `Kbps` for a rate"),
        (bytes, "64Kb", "write `KB` for bytes or `Kbps` for a rate"),
        (bytes, "64kB", "write `KB`"),
        (bytes, "64K", "write `KB` for bytes"),
        (bytes, "64M", "write `MB` for bytes or `Mbps` for a rate"),
        (rate, "1T", "write `GB` for bytes or `Tbps` for a rate"),
        (rate, "40Gbits/s", "write `Gbps`"),
        (bytes, "1TB", "1000GB"),
        (bytes, "1Tb", "write `GB` for bytes or `Tbps` for a rate"),
        (bytes, "64kib", "write `KiB`"),
        (bytes, "64bytes", "write `B`"),
        (bytes, "64", "for example `64B`"),
        (bytes, "64us", "is a time: byte count expected, for example `64KB`"),
        (bytes, "0.3B", "not a whole number of B: the nearest below is 0B"),
        (bytes, "1.0005KB", "the nearest below is 1000B"),
        (bytes, "-1B", "negative"),
        (bytes, "1_000B", "`_` is not a digit separator: write `1000`"),
        (bytes, "1,000B", "`,` is not a digit separator"),
        (bytes, "010B", "write `10`"),
        (bytes, ".5KB", "write `0.5`"),
        (bytes, "5.KB", "write `5.0`"),
        (bytes, "1.2.3KB", "one point"),
        (bytes, "64 KB", "no space before the unit: write `64KB`"),
        (bytes, "18446744073709551616B", "largest value is 18446744073709551615B"),
        (bytes, "1e30GB", "too many digits"),
        (bytes, "1e99999999999B", "too many digits"),
        (bytes, "", "a number is expected"),
        (bytes, "many", "a number is expected"),
        (rate, "400Gb", "write `GB` for bytes or `Gbps` for a rate"),
        (rate, "50GB/s", "multiply by 8 and write `Gbps`"),
        (rate, "50GBps", "multiply by 8 and write `Gbps`"),
        (rate, "400gbps", "write `Gbps`"),
        (rate, "400Gbit/s", "write `Gbps`"),
        (rate, "400", "for example `400Gbps`"),
        (time, "5m", "minute, a metre or a thousandth"),
        (time, "5\u{b5}s", "write `us`"),
        (time, "5MS", "write `ms`"),
    ];
    for (read, text, expected) in cases {
        let message = read(text).expect_err(text);
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn prints_the_shortest_exact_spelling() {
    for (value, text) in [
        (0, "0B"),
        (500, "500B"),
        (1_500, "1.5KB"),
        (4_184, "4184B"),
        (256_000, "256KB"),
        (262_144, "256KiB"),
        (16_000_000, "16MB"),
        (4_294_967_295, "4294967295B"),
        (4_294_967_296, "4GiB"),
    ] {
        assert_eq!(Bytes(value).to_string(), text);
    }
    assert_eq!(BitRate(400_000_000_000).to_string(), "400Gbps");
    assert_eq!(BitRate(1_600_000_000_000).to_string(), "1.6Tbps");
    assert_eq!(Ps(0).to_string(), "0s");
    assert_eq!(Ps(84_384_800).to_string(), "84.3848us");
    assert_eq!(Ps(83_680).to_string(), "83.68ns");
    assert_eq!(format!("[{:>8}]", Bytes(64_000)), "[    64KB]");
}

#[test]
fn arithmetic_never_wraps() {
    assert_eq!(Bytes(1).checked_add(Bytes(2)), Some(Bytes(3)));
    assert_eq!(Bytes(u64::MAX).checked_add(Bytes(1)), None);
    assert_eq!(Ps(1).checked_sub(Ps(2)), None);
    assert_eq!(BitRate(1 << 63).checked_mul(2), None);
    assert_eq!(BitRate(5).checked_mul(2), Some(BitRate(10)));
    let third = Bytes::from_rational(Rational::new(10, 3)).unwrap_err();
    assert_eq!(third.to_string(), "`10/3 B` is not a whole number of B: the nearest below is 3B");
}

#[test]
fn thousands_are_grouped() {
    assert_eq!(thousands(0u64), "0");
    assert_eq!(thousands(999u64), "999");
    assert_eq!(thousands(1_000u64), "1,000");
    assert_eq!(thousands(16_000_000u64), "16,000,000");
    assert_eq!(thousands(-123_456i64), "-123,456");
    assert_eq!(thousands(u64::MAX), "18,446,744,073,709,551,615");
}

proptest! {
    #[test]
    fn printing_and_parsing_round_trip(value: u64, shift in 0u32..64) {
        // Shifted, so that small values come up as often as large ones.
        let value = value >> shift;
        prop_assert_eq!(bytes(&Bytes(value).to_string()), Ok(value));
        prop_assert_eq!(rate(&BitRate(value).to_string()), Ok(value));
        prop_assert_eq!(time(&Ps(value).to_string()), Ok(value));
    }

    #[test]
    fn round_values_print_short(amount in 1u64..1000, unit in 0usize..4) {
        let factor = [1, 1_000, 1_000_000, 1_000_000_000][unit];
        let text = Bytes(amount * factor).to_string();
        prop_assert!(text.len() <= 5, "{}", text);
    }

    #[test]
    fn decimals_are_read_exactly(integer in 0u64..1_000_000, thousandths in 0u64..1000) {
        let text = format!("{integer}.{thousandths:03}KB");
        prop_assert_eq!(bytes(&text), Ok(integer * 1000 + thousandths));
    }

    #[test]
    fn any_text_is_read_or_refused(text in "\\PC*") {
        let _ = bytes(&text);
        let _ = rate(&text);
        let _ = time(&text);
    }

    #[test]
    fn any_number_like_text_is_read_or_refused(text in "[-+]?[0-9._eE]{0,50}[KMGTib/spnu]{0,5}") {
        for result in [bytes(&text), rate(&text), time(&text)] {
            if let Err(message) = result {
                prop_assert!(message.starts_with('`'));
            }
        }
    }
}
