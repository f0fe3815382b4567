//! What findings, rules and settings are called in words.

use crate::report::text::{about_time, quantity};
use crate::sim::observe::DropReason;
use crate::sizing::explain::{Advice, AxisRuns, Because, FLAP_FRAMES, Finding, HOG_SHARE, Run};
use crate::units::{BitRate, Ps, thousands};

/// `58,000 B`.
pub fn bytes(value: u64) -> String {
    format!("{} B", thousands(value))
}

/// What a finding means and what to do about it.
pub fn finding(finding: Finding) -> String {
    match finding {
        Finding::Infeasible => "the switch refuses these settings, so nothing ran".into(),
        Finding::DropsWithoutPause => {
            "lossless packets lost at ports that had not paused their sender: the pool was full \
             before Xoff; give the pool ports x (Xoff + packet), or lower StaticPoolXoffThreshold"
                .into()
        }
        Finding::ZeroHeadroom => {
            "drops and pauses together: senders obey, but with no headroom what is on the wire \
             when a pause goes out has no place; set HeadRoomPerPortLimit"
                .into()
        }
        Finding::HeadroomTooSmall => {
            "lossless packets lost after a pause: headroom was full before the sender stopped; \
             raise HeadRoomPerPortLimit"
                .into()
        }
        Finding::FactorTooSmall => {
            "lossless packets lost after a pause: the queue's headroom was full before the sender \
             stopped; raise HPCC.HeadroomFactor, or Ns3Datacenter.XoffFactor (Xoff)"
                .into()
        }
        Finding::SizingMissed => {
            "packets lost where a lossless class misses one of the three sizing conditions \
             (headroom, pool, own pool)"
                .into()
        }
        Finding::LossyDrops => {
            "a lossy class at its egress limit: lossy classes never pause anybody, so PFC cannot \
             help it; LossyAlpha and pool sizes set the limit, EnablePFC would make it lossless"
                .into()
        }
        Finding::LossyPauses => {
            "a lossy class has bytes in a pool whose lossless classes pause: they count against \
             Xoff; give it a pool of its own in TrafficClassPoolMapping"
                .into()
        }
        Finding::StuckPauses => {
            "a port stays paused with nothing lossless inside that could end it (only a lossless \
             departure does); keep lossy bytes out of the pool, or raise it above the pause points"
                .into()
        }
        Finding::Deadlock => {
            "pauses wait for one another in a circle; deadlock_ports in jobs names it".into()
        }
        Finding::PauseHog => format!(
            "a port and class was held more than {} % of the measured time: throughput is gone \
             though no drop counter moves",
            HOG_SHARE * 100.0
        ),
        Finding::Flapping => format!(
            "pauses and resumes in quick succession: more than {FLAP_FRAMES} pause frames per port \
             and class in the held time of one pause (a kept pause takes 2); widen Xoff - Xon"
        ),
    }
}

/// Along which values of an axis a finding holds.
pub fn runs(axis: &AxisRuns) -> String {
    if let [one] = &axis.runs[..] {
        return if one.holds == one.of {
            "everywhere".into()
        } else {
            "some at every value".into()
        };
    }
    let say = |run: &Run| {
        let at = match run.from == run.to {
            true => run.from.clone(),
            false => format!("{} to {}", run.from, run.to),
        };
        match run.holds {
            0 => format!("none at {at}"),
            n if n == run.of => format!("all at {at}"),
            n => format!("{} of {} at {at}", thousands(n as i128), thousands(run.of as i128)),
        }
    };
    axis.runs.iter().map(say).collect::<Vec<_>>().join(", ")
}

/// The rule by which a packet was dropped.
pub fn rule(reason: DropReason) -> &'static str {
    match reason {
        DropReason::IngressHeadroom => {
            "the port had paused its sender, and headroom + packet > HeadRoomPerPortLimit"
        }
        DropReason::IngressPool => {
            "the pool with this packet > its size (lossless or lossy; the port may not have paused)"
        }
        DropReason::EgressQueueLimit => "a lossy queue with this packet > its egress limit",
        DropReason::EgressPool => "the pool at egress with this packet > its size",
        DropReason::TrimFailed => "what was left after trimming found no room either",
        DropReason::NicReceivePool => "the receive pool of the NIC with this packet > receive_pool",
        DropReason::IngressAdmission => {
            "over the threshold of its ingress queue, and its headroom was full"
        }
    }
}

/// A value of a setting.
pub fn value(amount: f64, unit: &str) -> String {
    if unit == "B" { quantity(amount as i64, unit) } else { format!("{amount}") }
}

/// Why a setting is to move.
pub fn because(advice: &Advice) -> String {
    match advice.because {
        Because::HeadroomBelowNeed { rate, delay, mtu, response } => {
            let late = match response {
                0 => String::new(),
                _ => format!(" + rate x {} of response", Ps(response)),
            };
            format!(
                "2 x rate x delay / 8 + 2 x packet{late} at {}, {}, packets of {}: {} more",
                BitRate(rate),
                Ps(delay),
                bytes(mtu),
                bytes((advice.to - advice.from) as u64)
            )
        }
        Because::HeadroomOfQueue { rate, delay, mtu, response, need } => {
            let late = match response {
                0 => String::new(),
                _ => format!(" + rate x {} of response", Ps(response)),
            };
            format!(
                "2 x rate x delay / 8 + 2 x packet{late} at {}, {}, packets of {}: {} a queue",
                BitRate(rate),
                Ps(delay),
                bytes(mtu),
                bytes(need)
            )
        }
        Because::PoolBelowNeed { ports, pause_point } => format!(
            "the pool then holds the pause points of all {ports} ports, {} each (Xoff + packet)",
            bytes(pause_point)
        ),
        Because::XoffAboveShare { ports, pool } => {
            format!("all {ports} ports then pause before the pool of {} is full", bytes(pool))
        }
        Because::QueueLimit { queue, free } => format!(
            "admits this packet: its queue would be {}, free at egress {}; an overload that lasts \
             fills any limit",
            bytes(queue),
            bytes(free)
        ),
        Because::ReceivePool => {
            "a first step; the NIC takes packets in faster than it hands them on".into()
        }
    }
}

/// What a setting that does not fit takes along.
pub fn does_not_fit(advice: &Advice) -> &'static str {
    match advice.because {
        Because::XoffAboveShare { .. } => "lower StaticPoolXonThreshold below it first",
        Because::HeadroomBelowNeed { .. } | Because::HeadroomOfQueue { .. } => {
            "more than the buffer for all ports: fewer ports, a shorter cable or a slower link"
        }
        Because::PoolBelowNeed { .. } => {
            "more than the other lossless pools leave: lower StaticPoolXoffThreshold instead"
        }
        _ => "more than the pool: enlarge it first",
    }
}

/// A time with its unit.
pub fn time(ps: u64) -> String {
    about_time(ps as f64)
}
