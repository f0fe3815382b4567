//! The keys of `nic.HPCC`: the `hpcc` model.

use crate::scenario::attributes::{Attribute, Kind, attribute};

/// The `hpcc` model, in file order.
pub(in crate::scenario::attributes) static HPCC: &[Attribute] = &[
    attribute(
        "nic.HPCC.PACKET_PAYLOAD_SIZE",
        Kind::Bytes,
        Some("1000B"),
        "1B to 65,501B",
        "Largest payload of a packet.",
        "hpcc",
    ),
    attribute(
        "nic.HPCC.L2_CHUNK_SIZE",
        Kind::Bytes,
        Some("4000B"),
        "1B or more",
        "A receiver acknowledges whenever it has a whole multiple of this in order.",
        "hpcc",
    ),
    attribute(
        "nic.HPCC.L2_ACK_INTERVAL",
        Kind::Bytes,
        Some("1B"),
        "1B or more",
        "A receiver acknowledges every packet of a flow from which on it has so much in order; 1B: every packet.",
        "hpcc",
    ),
    attribute(
        "nic.HPCC.ACK_HIGH_PRIO",
        Kind::Bool,
        Some("false"),
        "",
        "Acknowledgements use queue 0 of the switches, which is never paused and charged nowhere, not that of their data.",
        "hpcc",
    ),
    attribute(
        "nic.HPCC.NACK_INTERVAL",
        Kind::Time,
        Some("500us"),
        "0s to 1s",
        "Shortest time between two negative acknowledgements of the same bytes.",
        "hpcc",
    ),
    attribute(
        "nic.HPCC.ect",
        Kind::Bool,
        Some("true"),
        "",
        "Whether data is ECN-capable; marks are counted, nothing reacts to them.",
        "hpcc",
    ),
];
