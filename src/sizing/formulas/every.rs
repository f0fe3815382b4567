//! One link through every formula.

use super::{Cable, FormulaError, REVERIE_HEADER, Sonic, conweave, hpcc, ieee, mlx5, reverie};
use crate::scenario::sizing::guideline;
use crate::units::{BitRate, format_rational, thousands};

/// What a formula says of a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Estimate {
    /// Name of the formula.
    pub name: &'static str,
    /// Headroom, bytes.
    pub bytes: Result<u64, FormulaError>,
    /// What it took into account.
    pub note: String,
}

/// Every formula for a cable and a largest packet of `mtu` bytes as charged, which is what each
/// takes for its frame unless it has a size of its own.
pub fn every(cable: &Cable, mtu: u64, sonic: &Sonic) -> Vec<Estimate> {
    let (frame, rate) = (format!("{} B", thousands(mtu)), BitRate(cable.rate));
    // To a centimetre: the exact length may be a fraction without end.
    let metres = (cable.metres * 100).round() / 100;
    let metres = format!("{} m", format_rational(metres));
    let one = |name, bytes, note| Estimate { name, bytes, note };
    let payload = mtu.saturating_sub(REVERIE_HEADER);
    let sizes = sonic.sizes(cable);
    let script = match &sizes {
        Ok(sizes) => format!(
            "{}, {} lanes, {metres}, port MTU {}, lossless MTU {}, {} % small packets{}{}; xon {}, size {}",
            sonic.asic,
            sonic.lanes,
            thousands(sonic.port_mtu),
            thousands(sonic.lossless_mtu),
            sonic.small_packets,
            match sonic.gearbox_ns {
                0 => String::new(),
                ns => format!(", gearbox {ns} ns"),
            },
            if sonic.shared_headroom { ", shared headroom" } else { "" },
            thousands(sizes.xon),
            thousands(sizes.size),
        ),
        Err(_) => sonic.asic.to_string(),
    };
    vec![
        one(
            "guideline",
            Ok(guideline(cable.rate, cable.delay, mtu)),
            format!("2 x rate x delay / 8 + 2 x {frame}"),
        ),
        one("hpcc", hpcc(cable), "3 x rate x delay / 8, no frame in it".to_owned()),
        one("conweave", Ok(conweave(cable, mtu)), "as the guideline".to_owned()),
        one(
            "reverie",
            reverie(cable, payload),
            format!(
                "2 x rate x delay / 8 + 2 x {} B + 3,860 B",
                thousands(payload + REVERIE_HEADER)
            ),
        ),
        one("mlx5", mlx5(cable, mtu), format!("(301 + 2.16 x {metres}) x Gbps + 2.72 x {frame}")),
        one(
            "ieee",
            ieee(cable),
            format!("2 frames of 9,236 B, cable, interfaces and response of its table at {rate}"),
        ),
        one("sonic-mellanox", sizes.map(|sizes| sizes.xoff), script),
    ]
}
