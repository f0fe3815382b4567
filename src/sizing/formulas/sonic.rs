//! The dynamic buffer calculation of SONiC on Spectrum switches.
//!
//! In doubles, in the order of the published script: its results are rounded up to whole KiB, so
//! an exact fraction could come out one KiB lower where the script does not.

use super::{Cable, FormulaError};
use num_traits::ToPrimitive;
use std::fmt;
use std::str::FromStr;

const NAME: &str = "sonic-mellanox";
const KIB: f64 = 1_024.0;
/// Bytes of a smallest packet, and of a quantum.
const SMALL: f64 = 64.0;
/// Light in the medium, m/s.
const LIGHT: f64 = 198_000_000.0;
/// Response of the peer by Gbit/s, quanta of 64 B.
const QUANTA: [(u64, u32); 8] =
    [(10, 67), (25, 80), (40, 118), (50, 147), (100, 394), (200, 453), (400, 905), (800, 905)];

/// A generation of the Spectrum switch chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Asic {
    Spectrum1,
    Spectrum2,
    Spectrum3,
    Spectrum4,
    Spectrum5,
    Spectrum6,
}

impl Asic {
    /// Every generation.
    pub const ALL: [Asic; 6] = [
        Asic::Spectrum1,
        Asic::Spectrum2,
        Asic::Spectrum3,
        Asic::Spectrum4,
        Asic::Spectrum5,
        Asic::Spectrum6,
    ];

    /// The one usual for a rate (bit/s): the third up to 400 Gbit/s, the fourth above.
    pub fn usual(rate: u64) -> Asic {
        if rate > 400_000_000_000 { Asic::Spectrum4 } else { Asic::Spectrum3 }
    }

    /// Its name: `spectrum-3`.
    pub fn name(self) -> &'static str {
        match self {
            Asic::Spectrum1 => "spectrum-1",
            Asic::Spectrum2 => "spectrum-2",
            Asic::Spectrum3 => "spectrum-3",
            Asic::Spectrum4 => "spectrum-4",
            Asic::Spectrum5 => "spectrum-5",
            Asic::Spectrum6 => "spectrum-6",
        }
    }

    /// Bytes of a buffer cell.
    pub fn cell(self) -> u32 {
        match self {
            Asic::Spectrum1 => 96,
            Asic::Spectrum2 | Asic::Spectrum3 => 144,
            Asic::Spectrum4 | Asic::Spectrum5 => 192,
            Asic::Spectrum6 => 256,
        }
    }

    /// Whether packets wait in tiles on their way in.
    fn has_tiles(self) -> bool {
        matches!(self, Asic::Spectrum4 | Asic::Spectrum5)
    }
}

impl fmt::Display for Asic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Asic {
    type Err = String;

    fn from_str(text: &str) -> Result<Asic, String> {
        Asic::ALL.into_iter().find(|asic| asic.name() == text).ok_or_else(|| {
            let known: Vec<&str> = Asic::ALL.iter().map(|asic| asic.name()).collect();
            format!("no such ASIC; known are {}", known.join(", "))
        })
    }
}

/// What `sonic-mellanox` asks beside the cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sonic {
    /// The switch chip.
    pub asic: Asic,
    /// Lanes of the port, 1 to 8. With eight of them Xon doubles.
    pub lanes: u64,
    /// Largest packet of the port, bytes, 64 to 16,384.
    pub port_mtu: u64,
    /// Largest packet of lossless traffic, bytes, 64 to 16,384.
    pub lossless_mtu: u64,
    /// Percentage of smallest packets in lossless traffic, 0 to 100.
    pub small_packets: u64,
    /// Delay of a gearbox, ns, at most 1,000,000.
    pub gearbox_ns: u64,
    /// A pool of headroom that ports share is on.
    pub shared_headroom: bool,
    /// The script adds 2 KiB where small packets could still raise Xoff. Outputs published before
    /// that rule have it off.
    pub two_kib_rule: bool,
}

impl Sonic {
    /// The script's own defaults on a chip: a port of 4 lanes, packets of 9,100 B, lossless ones
    /// of 1,024 B, half of the packets small, no gearbox, no shared headroom.
    pub fn on(asic: Asic) -> Sonic {
        Sonic {
            asic,
            lanes: 4,
            port_mtu: 9_100,
            lossless_mtu: 1_024,
            small_packets: 50,
            gearbox_ns: 0,
            shared_headroom: false,
            two_kib_rule: true,
        }
    }
}

/// What the script answers; bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SonicSizes {
    /// Below this a port resumes.
    pub xon: u64,
    /// Headroom: what may arrive after a pause.
    pub xoff: u64,
    /// What is reserved for the port.
    pub size: u64,
}

impl Sonic {
    /// Xon, headroom and reserved size of a port on this cable, bytes.
    ///
    /// # Errors
    /// A speed other than 10, 25, 40, 50, 100, 200, 400 and 800 Gbit/s; inputs out of range.
    pub fn sizes(&self, cable: &Cable) -> Result<SonicSizes, FormulaError> {
        self.check()?;
        let quanta = cable.look_up(NAME, &QUANTA)?;
        let mut xoff = self.xoff(cable, quanta, self.small_packets);
        let may_grow = self.small_packets < 100 && xoff < self.xoff(cable, quanta, 100);
        if self.two_kib_rule && !self.shared_headroom && may_grow {
            xoff += 2.0 * KIB;
        }
        let wide = self.lanes == 8;
        let kib = if self.asic == Asic::Spectrum6 { 42.0 } else { 19.0 };
        let xon = kib * KIB * if wide { 2.0 } else { 1.0 };
        let reserved = xoff + xon + if wide { self.port_mtu as f64 } else { 0.0 };
        let size = if self.shared_headroom { xon } else { whole_kib(reserved) };
        let whole = |bytes: f64| bytes.to_u64().ok_or(FormulaError::TooLarge);
        Ok(SonicSizes { xon: whole(xon)?, xoff: whole(xoff)?, size: whole(size)? })
    }

    /// Headroom with this percentage of small packets, before the 2 KiB rule.
    fn xoff(&self, cable: &Cable, quanta: u32, small_packets: u64) -> f64 {
        let (lossless, small_share) = (self.lossless_mtu as f64, small_packets as f64);
        let cell = f64::from(self.asic.cell());
        let worst =
            if cell > 128.0 { (cell / SMALL).ceil() } else { (2.0 * cell / (1.0 + cell)).ceil() };
        let average = (small_share * SMALL + (100.0 - small_share) * lossless) / 100.0;
        let p = 100.0 * SMALL / average;
        let occupied = (100.0 - p + p * worst) / 100.0;
        let metres = *cable.metres.numer() as f64 / *cable.metres.denom() as f64;
        let rate = cable.rate as f64;
        let tile = if self.asic.has_tiles() { rate / 1e9 * 15.0 } else { 0.0 };
        let propagation = self.port_mtu as f64
            + 2.0 * metres / LIGHT * rate / 8.0
            + 2.0 * (rate / 1e6) * self.gearbox_ns as f64 / 8192.0
            + 0.8 * KIB
            + f64::from(quanta) * SMALL
            + tile;
        let more = if self.asic == Asic::Spectrum6 { 18.0 * KIB } else { 0.0 };
        whole_kib(lossless + propagation * occupied) + more
    }

    fn check(&self) -> Result<(), FormulaError> {
        const PACKET: &str = "64 to 16384 bytes";
        let packet = 64..=16_384;
        for (what, value, fits, range) in [
            ("lanes", self.lanes, (1..=8).contains(&self.lanes), "1 to 8"),
            ("port MTU", self.port_mtu, packet.contains(&self.port_mtu), PACKET),
            ("lossless MTU", self.lossless_mtu, packet.contains(&self.lossless_mtu), PACKET),
            ("small packets", self.small_packets, self.small_packets <= 100, "0 to 100 percent"),
            ("gearbox", self.gearbox_ns, self.gearbox_ns <= 1_000_000, "0 to 1000000 ns"),
        ] {
            if !fits {
                return Err(FormulaError::Input { formula: NAME, what, value, range });
            }
        }
        Ok(())
    }
}

/// Rounded up to whole KiB.
fn whole_kib(bytes: f64) -> f64 {
    (bytes / KIB).ceil() * KIB
}
