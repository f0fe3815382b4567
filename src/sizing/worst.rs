//! The most that arrives on a link after a pause, in the `scala` model with the egress held.
//!
//! Owns the exact calculation of the simulator's own events on one link, and a bound for senders
//! that mix packet sizes. Refuses to simulate: [`replay`](super::replay) confirms it.
//!
//! The frame that takes a port above Xoff has arrived at `t0`; the sender started its next frame
//! when that one left, `delay` earlier. From that start the sender goes on for
//!
//! ```text
//! held after = own frame in progress + PFC frames of the group + 2 × delay + PfcResponseTime
//! ```
//!
//! and a frame that starts at the very instant the pause takes effect is sent too, because an end
//! of serialization, with the start of the next frame, comes before arrivals. So
//! `⌊held after ÷ frame time⌋ + 1` frames arrive and find the port paused. That is
//! `⌈held after ÷ frame time⌉` unless the division is even: then it is one frame more.
//!
//! The models of ns-3 differ: `hpcc` and `ns3-datacenter` keep headroom of a port and queue, of
//! `HeadroomFactor` (`XoffFactor`) × rate × delay, and pause at a threshold that moves with what
//! is free. What arrives after a pause is the same there; what the settings offer for it is not.

use super::LinkCase;
use crate::scenario::Timing;
use crate::scenario::offered::{FRAME_OVERHEAD, MIN_CHARGE};
use crate::units::Ps;
use thiserror::Error;

/// ps × bit/s of one byte.
const BYTE: u128 = 8_000_000_000_000;

/// The worst case of a link. Bytes as charged, times in ps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worst {
    /// From the start of the first frame after the one that paused until the pause takes effect,
    /// with the longest frame of the switch's own just begun.
    pub held_after: u64,
    /// Full frames that arrive meanwhile.
    pub frames: u64,
    /// Headroom they take: what the port needs if all packets are of the largest size.
    pub bytes: u64,
    /// The same if the switch has no frame of its own on the link: what a receiver that only
    /// receives sees.
    pub quiet_bytes: u64,
    /// No mix of packets of 46 B of IP or more can take more than this; `None` where times are cut
    /// down to whole ns, which lets small frames overtake any bound by bytes.
    pub any_mix: Option<u64>,
}

/// No headroom is enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "no headroom is enough: a pause lasts {pause} and is sent again every {refresh}, but the \
     sender needs {response} to act on it and may have to wait {own} for a frame to pass, so that \
     it goes on sending between two pauses; lower the response time"
)]
pub struct Unbounded {
    /// How long a pause lasts.
    pub pause: Ps,
    /// When it is sent again.
    pub refresh: Ps,
    /// What the sender takes to act on it.
    pub response: Ps,
    /// Longest frame of the switch's own.
    pub own: Ps,
}

/// The worst case over all alignments of the sender's frames, the pause and the frames the switch
/// itself sends on the link.
///
/// # Errors
/// A sender so slow to respond that pauses lapse before the next one acts.
pub fn worst(case: &LinkCase) -> Result<Worst, Unbounded> {
    let (pause, own) = (case.pause_time(), case.own_time());
    let refresh = pause / 2;
    if case.response.saturating_add(own) >= pause - refresh {
        return Err(Unbounded {
            pause: Ps(pause),
            refresh: Ps(refresh),
            response: Ps(case.response),
            own: Ps(own),
        });
    }
    let held_after = held_after(case, own);
    let frames = frames(case, own);
    Ok(Worst {
        held_after,
        frames,
        bytes: frames.saturating_mul(case.packet),
        quiet_bytes: frames_bytes(case, 0),
        any_mix: any_mix(case),
    })
}

/// Frames that arrive after the pause if the switch's own frame in progress has `own_left` ps to
/// go when the pause is queued; at most [`LinkCase::own_time`] matters.
pub fn frames(case: &LinkCase, own_left: u64) -> u64 {
    held_after(case, own_left) / case.frame_time() + 1
}

fn frames_bytes(case: &LinkCase, own_left: u64) -> u64 {
    frames(case, own_left).saturating_mul(case.packet)
}

fn held_after(case: &LinkCase, own_left: u64) -> u64 {
    own_left + case.pfc_frames * case.pfc_time() + 2 * case.delay + case.response
}

/// As much as any mix of sizes takes: full frames, what else fits before the pause takes effect,
/// and a full frame that starts then. PFC frames of other classes may wait twice: a refresh and a
/// resume.
fn any_mix(case: &LinkCase) -> Option<u64> {
    if case.timing == Timing::WholeNs {
        return None;
    }
    let other_pfc = (case.pfc_frames - 1) * case.pfc_time();
    let time = held_after(case, case.own_time()) + other_pfc;
    // Wire bytes that end within the time; frames are rounded up to a ps, so no more do.
    let wire = u64::try_from(u128::from(time) * u128::from(case.rate) / BYTE).unwrap_or(u64::MAX);
    let full = case.packet + FRAME_OVERHEAD;
    let (whole, rest) = (wire / full, wire % full);
    // A rest below the smallest frame of its own still helps: a full frame gives up what the
    // smallest frame lacks.
    let own_frame = whole > 0 || rest >= MIN_CHARGE + FRAME_OVERHEAD;
    let rest = if own_frame { rest.saturating_sub(FRAME_OVERHEAD) } else { 0 };
    Some((whole + 1).saturating_mul(case.packet).saturating_add(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const G400: u64 = 400_000_000_000;

    #[test]
    fn the_link_of_the_defaults() {
        let case = LinkCase::simple(G400, 500_000, 4_000);
        let found = worst(&case).unwrap();
        // 80,360 of its own, 1,280 of the pause, 1,000,000 of cable: 13.46 frames.
        assert_eq!((found.held_after, found.frames, found.bytes), (1_081_640, 14, 56_000));
        // Nothing of its own: 12.46 frames.
        assert_eq!(found.quiet_bytes, 52_000);
        // 54,082 B on the wire: 13 full frames, 1,848 B, and the frame that starts last.
        assert_eq!(found.any_mix, Some(13 * 4_000 + 1_830 + 4_000));
    }

    #[test]
    fn an_even_division_is_one_frame_more_than_the_closed_form() {
        // 64 + 4,018 B and a cable of 3,954 B in all: exactly two frames.
        let case = LinkCase::simple(G400, 3_954 * 10, 4_000);
        let found = worst(&case).unwrap();
        assert_eq!(found.held_after, 2 * case.frame_time());
        assert_eq!(found.frames, 3);
        let shorter = LinkCase { delay: case.delay - 1, ..case };
        assert_eq!(worst(&shorter).unwrap().frames, 2);
    }

    #[test]
    fn the_guideline_can_be_46_bytes_short() {
        use crate::scenario::sizing::guideline;
        let case = LinkCase::simple(G400, 3_954 * 10, 4_000);
        assert_eq!(guideline(case.rate, case.delay, 4_000), 11_954);
        assert_eq!(worst(&case).unwrap().bytes, 12_000);
    }

    #[test]
    fn a_mix_takes_at_least_what_full_frames_take() {
        for delay in (0..400).map(|n| n * 1_237) {
            let case = LinkCase { pfc_frames: 2, ..LinkCase::simple(G400, delay, 1_000) };
            let found = worst(&case).unwrap();
            let mix = found.any_mix.unwrap();
            assert!((found.bytes..found.bytes + 1_000 + 64).contains(&mix), "{found:?}");
        }
    }

    #[test]
    fn whole_nanoseconds_have_no_bound_by_bytes() {
        let case = LinkCase { timing: Timing::WholeNs, ..LinkCase::simple(G400, 500_000, 4_000) };
        let found = worst(&case).unwrap();
        assert_eq!(case.frame_time(), 80_000);
        assert_eq!((found.held_after, found.any_mix), (1_081_000, None));
    }

    #[test]
    fn pauses_that_lapse_have_no_worst_case() {
        let late =
            |response| worst(&LinkCase { response, ..LinkCase::simple(G400, 500_000, 4_000) });
        // Half of 84.3848 us, less a frame of 80.36 ns.
        assert!(late(42_192_400 - 80_360 - 1).is_ok());
        let error = late(42_192_400 - 80_360).unwrap_err().to_string();
        assert!(error.contains("lasts 84.3848us and is sent again every 42.1924us"), "{error}");
        assert!(error.contains("needs 42.11204us to act on it"), "{error}");
    }
}
