//! Rules about the pauses that a NIC sends: how long they last, how large their frames are.

use crate::scenario::check::Report;
use crate::scenario::links::{LinkKind, pause_of};
use crate::scenario::{Nic, NicModel};
use crate::units::{Ps, thousands};

/// Bytes of an Ethernet header and its frame check sequence.
const LEAST_FRAME: u64 = 18;
/// The largest Ethernet frame that is no jumbo frame.
const LARGEST_FRAME: u64 = 1_518;
/// ps × bit/s of a byte and of a quantum.
const BYTE: u128 = 8_000_000_000_000;
const QUANTUM: u128 = 512_000_000_000_000;

/// The rules for a NIC with PFC in the classes `enabled`, on links known to be like `links`.
pub(super) fn check(
    path: &str,
    nic: &Nic,
    enabled: u8,
    links: Option<LinkKind>,
    report: &mut Report,
) {
    let frame = match nic.model.has_pools() {
        true => nic.egress.pfc_frame_size,
        false => Nic::of_model(NicModel::OpenLoop).egress.pfc_frame_size,
    };
    if !(LEAST_FRAME..=LARGEST_FRAME).contains(&frame.0) {
        report.refuse(format!("{path}.Egress.pfc_frame_size"), frame, "must be 18B to 1518B");
    }
    let held = nic.hold.iter().flat_map(|hold| &hold.classes).filter(|&&class| class < 8);
    let pausing = held.fold(enabled, |mask, class| mask | 1 << class);
    if pausing == 0 && nic.quanta_value != Nic::of_model(nic.model).quanta_value {
        report.warn(
            format!("{path}.QuantaValue"),
            format!("{:?}", nic.quanta_value),
            "has no effect: the NIC pauses no class of PFCEnableVector or hold",
        );
    }
    for (class, &value) in nic.quanta_value.iter().enumerate() {
        let name = format!("{path}.QuantaValue[{class}]");
        let Some(quanta) = u16::try_from(value).ok().filter(|&quanta| quanta > 0) else {
            report.refuse(name, value, "must be 1 to 65535: a frame with 0 resumes");
            continue;
        };
        let Some(links) = links.filter(|_| pausing >> class & 1 == 1) else { continue };
        let frames = u64::from(pausing.count_ones());
        let least = least_quanta(frames * frame.0.min(LARGEST_FRAME), links);
        if u128::from(quanta) < least {
            let half = Ps(pause_of(quanta, links.rate, links.delay) / 2);
            let what = match frames {
                1 => "its frame is".to_owned(),
                n => format!("the frames of {n} classes are"),
            };
            report.refuse(
                name,
                value,
                format!(
                    "such a pause is sent again every {half}, before {what} out: nothing else \
                     would be sent; needs {} or more",
                    thousands(i128::try_from(least).unwrap_or(i128::MAX))
                ),
            );
        }
    }
}

/// The least quanta half of whose pause is longer than `bytes` take on a link.
fn least_quanta(bytes: u64, links: LinkKind) -> u128 {
    let rate = u128::from(links.rate.max(1));
    let time = (u128::from(bytes) * BYTE).div_ceil(rate);
    let pause = (2 * (time + 1)).saturating_sub(u128::from(links.delay));
    // The pause is quanta × 512 bit, rounded up to a ps.
    match pause {
        0 => 1,
        pause => ((pause - 1) * rate / QUANTUM + 1).max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_least_quanta_are_the_least(
            bytes in 18u64..=8 * 1_518,
            rate in 1_000u64..=100_000_000_000_000,
            delay in prop_oneof![Just(0u64), 0u64..1_000_000],
        ) {
            let links = LinkKind { count: 1, rate, delay };
            let least = least_quanta(bytes, links);
            let time = (u128::from(bytes) * BYTE).div_ceil(u128::from(rate));
            let half = |quanta: u128| {
                u128::from(pause_of(u16::try_from(quanta).unwrap(), rate, delay) / 2)
            };
            prop_assert!(half(least) > time);
            if least > 1 {
                prop_assert!(half(least - 1) <= time);
            }
        }
    }
}
