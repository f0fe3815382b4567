//! The keys of `nic.fixed_window`: the `fixed-window` model.

use crate::scenario::attributes::{Attribute, Kind, attribute};

/// The `fixed-window` model, in file order.
pub(in crate::scenario::attributes) static WINDOW: &[Attribute] = &[
    attribute(
        "nic.fixed_window.window",
        Kind::Bytes,
        Some("450KB"),
        "1B or more",
        "IP bytes a sender may have unacknowledged at one receiver in one class; a packet larger than that goes alone.",
        "fixed-window",
    ),
    attribute(
        "nic.fixed_window.mss",
        Kind::Bytes,
        Some("4096B"),
        "1B or more, with `header` at most 65,535B",
        "Largest payload of a packet.",
        "fixed-window",
    ),
    attribute(
        "nic.fixed_window.header",
        Kind::Bytes,
        Some("88B"),
        "20B or more",
        "IP bytes of a data packet above its payload.",
        "fixed-window",
    ),
    attribute(
        "nic.fixed_window.ack",
        Kind::Bytes,
        Some("60B"),
        "20B to 65,535B",
        "IP bytes of an acknowledgement.",
        "fixed-window",
    ),
    attribute(
        "nic.fixed_window.retransmit_timeout",
        Kind::Time,
        Some("6ms"),
        "above 0s, at most 1000000s",
        "Time from the end of a transmission until it is sent again. Constant.",
        "fixed-window",
    ),
    attribute(
        "nic.fixed_window.control_class",
        Kind::Count,
        Some("1"),
        "0 to 7",
        "Class of acknowledgements.",
        "fixed-window",
    ),
    attribute(
        "nic.fixed_window.ect",
        Kind::Bool,
        Some("true"),
        "",
        "Whether data is ECN-capable; marks are counted, nothing reacts to them.",
        "fixed-window",
    ),
];
