use super::*;
use proptest::prelude::*;

/// A cable at 5 ns/m.
fn cable(gbps: u64, metres: i128) -> Cable {
    let five = Rational::from_integer(5);
    Cable::of_length(gbps * 1_000_000_000, Rational::from_integer(metres), five).unwrap()
}

fn published(asic: Asic, lanes: u64, cable: &Cable) -> (u64, u64, u64) {
    let script = Sonic { lanes, two_kib_rule: false, ..Sonic::on(asic) };
    let sizes = script.sizes(cable).unwrap();
    (sizes.xon, sizes.xoff, sizes.size)
}

#[test]
fn sonic_gives_its_published_outputs() {
    let three = |lanes, cable| published(Asic::Spectrum3, lanes, &cable);
    assert_eq!(three(8, cable(400, 300)), (38_912, 272_384, 320_512));
    assert_eq!(three(4, cable(100, 40)), (19_456, 51_200, 70_656));
    let four = |lanes, cable| published(Asic::Spectrum4, lanes, &cable);
    assert_eq!(four(8, cable(800, 300)), (38_912, 474_112, 522_240));
    assert_eq!(four(4, cable(200, 40)), (19_456, 65_536, 84_992));
}

#[test]
fn one_link_through_every_formula() {
    let rows = [
        (100, 5, [48_128, 108_544, 42_524, 75_117, 6_581, 936]),
        (100, 300, [94_208, 220_160, 106_324, 111_992, 43_456, 56_250]),
        (400, 40, [112_640, 265_216, 166_224, 127_196, 25_956, 30_000]),
        (400, 300, [274_432, 659_456, 391_024, 257_196, 155_956, 225_000]),
        (800, 300, [476_160, 1_149_952, 770_624, 407_196, 305_956, 450_000]),
    ];
    for (gbps, metres, expected) in rows {
        let link = cable(gbps, metres);
        let usual = Sonic::on(Asic::usual(link.rate));
        let xoff = |small_packets| Sonic { small_packets, ..usual }.sizes(&link).unwrap().xoff;
        let found = [
            xoff(50),
            xoff(100),
            mlx5(&link, 4_200).unwrap(),
            ieee(&link).unwrap(),
            reverie(&link, 1_000).unwrap(),
            hpcc(&link).unwrap(),
        ];
        assert_eq!(found, expected, "{gbps}G {metres} m");
    }
}

#[test]
fn conweave_is_the_guideline() {
    assert_eq!(conweave(&cable(400, 100), 4_000), 58_000);
    assert_eq!(conweave(&cable(100, 5), 1_000), 2_625);
}

#[test]
fn mlx5_knows_no_speed_below_40_gbps_and_cuts_down() {
    assert_eq!(mlx5(&cable(10, 10), 1_500), mlx5(&cable(40, 10), 1_500));
    // 2.72 × 1,501 = 4,082.72.
    assert_eq!(mlx5(&cable(40, 0), 1_501), Ok(301 * 40 + 4_082));
    // ⌊2.16 × 1⌋ = 2.
    assert_eq!(mlx5(&cable(100, 1), 0), Ok(30_300));
}

#[test]
fn a_shared_headroom_pool_reserves_xon_alone_and_skips_the_rule() {
    let link = cable(400, 300);
    let own = Sonic { lanes: 8, ..Sonic::on(Asic::Spectrum3) };
    let shared = Sonic { shared_headroom: true, ..own };
    let (own, shared) = (own.sizes(&link).unwrap(), shared.sizes(&link).unwrap());
    assert_eq!((shared.size, shared.xon), (38_912, 38_912));
    assert_eq!(own.xoff, shared.xoff + 2_048);
}

#[test]
fn the_two_kib_rule_ends_at_100_percent() {
    let link = cable(100, 40);
    let with = |small_packets, two_kib_rule| {
        let sonic = Sonic { small_packets, two_kib_rule, ..Sonic::on(Asic::Spectrum3) };
        sonic.sizes(&link).unwrap().xoff
    };
    assert_eq!(with(50, true), with(50, false) + 2_048);
    assert_eq!(with(100, true), with(100, false));
}

#[test]
fn generations_differ_in_cells_tiles_and_allowances() {
    let link = cable(100, 40);
    let of = |asic| published(asic, 4, &link);
    assert_eq!(of(Asic::Spectrum2), of(Asic::Spectrum3));
    assert_eq!(of(Asic::Spectrum4), of(Asic::Spectrum5));
    // Cells of 256 B: a smallest packet wastes four times its size; 42 and 18 KiB on top.
    let (xon, xoff, size) = of(Asic::Spectrum6);
    assert_eq!((xon, size), (43_008, xoff + 43_008));
    assert!(xoff > of(Asic::Spectrum5).1 + 18 * 1_024);
    // A cell of 96 B holds one and a half smallest packets.
    assert!(of(Asic::Spectrum1).1 < of(Asic::Spectrum2).1);
}

#[test]
fn a_gearbox_adds_its_delay() {
    let link = cable(400, 40);
    let with =
        |gearbox_ns| Sonic { gearbox_ns, ..Sonic::on(Asic::Spectrum3) }.sizes(&link).unwrap().xoff;
    // 2 × 400,000 × 500 ÷ 8,192 = 48,828 B, times 1.24 for the cells.
    assert!((59_000..62_000).contains(&(with(500) - with(0))), "{}", with(500) - with(0));
}

#[test]
fn a_speed_a_table_lacks_is_not_guessed() {
    let odd = cable(60, 10);
    assert_eq!(
        ieee(&odd).unwrap_err().to_string(),
        "ieee has figures for 10, 25, 40, 100, 400, 800 Gbps, none for 60Gbps"
    );
    assert_eq!(
        Sonic::on(Asic::Spectrum3).sizes(&odd).unwrap_err().to_string(),
        "sonic-mellanox has figures for 10, 25, 40, 50, 100, 200, 400, 800 Gbps, none for 60Gbps"
    );
    assert!(ieee(&cable(50, 10)).is_err() && ieee(&cable(200, 10)).is_err());
}

#[test]
fn inputs_out_of_range_say_so() {
    let link = cable(400, 40);
    let usual = Sonic::on(Asic::Spectrum3);
    let text = |sonic: Sonic| sonic.sizes(&link).unwrap_err().to_string();
    assert_eq!(
        text(Sonic { small_packets: 101, ..usual }),
        "sonic-mellanox: small packets = 101: must be 0 to 100 percent"
    );
    assert!(text(Sonic { lanes: 0, ..usual }).contains("lanes = 0: must be 1 to 8"));
    assert!(text(Sonic { lossless_mtu: 63, ..usual }).contains("64 to 16384 bytes"));
    let whole = Rational::from_integer;
    assert_eq!(Cable::of_length(0, whole(1), whole(5)), Err(FormulaError::Rate(BitRate(0))));
    assert_eq!(Cable::of_length(1, whole(-1), whole(5)), Err(FormulaError::Length));
    assert_eq!(Cable::of_length(1, whole(1), whole(0)), Err(FormulaError::Slope));
    let odd = Cable::of_length(1, Rational::new(1, 30_000), whole(5));
    assert_eq!(odd, Err(FormulaError::DelayNotWhole));
    assert!("spectrum-9".parse::<Asic>().unwrap_err().contains("spectrum-1, spectrum-2"));
    assert_eq!("spectrum-4".parse(), Ok(Asic::Spectrum4));
}

#[test]
fn a_length_and_its_delay_are_one_cable() {
    let (metres, five) = (Rational::new(25, 2), Rational::from_integer(5));
    let link = Cable::of_length(100_000_000_000, metres, five).unwrap();
    assert_eq!(link.delay, 62_500);
    assert_eq!(Cable::of_delay(100_000_000_000, 62_500, five), Ok(link));
}

proptest! {
    /// No formula overflows or gives less for a longer cable.
    #[test]
    fn longer_is_never_less(
        speed in prop::sample::select(vec![10u64, 40, 100, 400, 800]),
        metres in 0i128..100_000,
        more in 0i128..100_000,
        mtu in 64u64..16_384,
    ) {
        let (short, long) = (cable(speed, metres), cable(speed, metres + more));
        let all = |link: &Cable| [
            hpcc(link).unwrap(),
            conweave(link, mtu),
            reverie(link, mtu).unwrap(),
            mlx5(link, mtu).unwrap(),
            ieee(link).unwrap(),
            Sonic::on(Asic::usual(link.rate)).sizes(link).unwrap().xoff,
        ];
        for (short, long) in all(&short).into_iter().zip(all(&long)) {
            prop_assert!(short <= long);
        }
    }
}
