//! The component sum of the IEEE's data-centre bridging annex.

use super::{Cable, FormulaError, bytes};
use crate::units::Rational;

/// Bits of the frame that a pause waits for, and of the one that starts as it takes effect: 9,236 B
/// each.
const FRAMES: i128 = 2 * 9_236 * 8;
/// Bits of the pause frame.
const PAUSE: i128 = 672;
/// Bit times by Gbit/s: of one interface, and until the receiver of a pause responds.
const DELAYS: [(u64, (i128, i128)); 6] = [
    (10, (8_192, 30_720)),
    (25, (6_144, 40_960)),
    (40, (24_576, 60_416)),
    (100, (122_880, 201_728)),
    (400, (122_880, 463_360)),
    (800, (122_880, 463_360)),
];

/// `ieee`: two largest frames of 9,236 B, the pause frame, both interfaces, the cable both ways and
/// the response, in bit times; bytes, rounded up.
///
/// # Errors
/// A speed other than 10, 25, 40, 100, 400 and 800 Gbit/s.
pub fn ieee(cable: &Cable) -> Result<u64, FormulaError> {
    let (interface, response) = cable.look_up("ieee", &DELAYS)?;
    let fixed = Rational::new(FRAMES + PAUSE + 2 * interface + response, 8);
    bytes((fixed + cable.in_flight() * 2).ceil())
}
