//! The keys of a reactive NIC's pools and of the link to its host.

use crate::scenario::attributes::{Attribute, Kind, attribute};

/// What every reactive NIC has, in file order.
pub(in crate::scenario::attributes) static PORT: &[Attribute] = &[
    attribute(
        "nic.Ingress.TotalBufferSize",
        Kind::Bytes,
        Some("4MB"),
        "1B to 4,294,967,295B",
        "Receive buffer of a reactive NIC, in bytes without the Ethernet header.",
        "fixed-window, uet, roce",
    ),
    attribute(
        "nic.Ingress.PoolAllocationVector",
        Kind::Eight(&Kind::Number),
        Some("[0.9, 0.1, 0, 0, 0, 0, 0, 0]"),
        "each 0 to 1, summing to at most 1; at least two above 0, from class 0 without a gap",
        "Share of the receive buffer that each class has for itself. A packet that does not fit is dropped.",
        "fixed-window, uet, roce",
    ),
    attribute(
        "nic.Egress.TotalBufferSize",
        Kind::Bytes,
        Some("256KB"),
        "1B to 4,294,967,295B",
        "Transmit buffer of a reactive NIC, in wire bytes.",
        "fixed-window, uet, roce",
    ),
    attribute(
        "nic.Egress.PoolAllocationVector",
        Kind::Eight(&Kind::Number),
        Some("[0.9, 0.1, 0, 0, 0, 0, 0, 0]"),
        "each 0 to 1, summing to at most 1; at least two above 0, from class 0 without a gap",
        "Share of the transmit buffer that each class has for itself. A packet is not committed before it fits.",
        "fixed-window, uet, roce",
    ),
    attribute(
        "nic.Egress.QueueSchedulingType",
        Kind::Enum(&["StrictPriority", "RoundRobin", "WeightedRoundRobin"]),
        Some("StrictPriority"),
        "",
        "How the port chooses among its classes: the highest class number, one packet each in turn, or `WRRQueueWeights` packets each in turn.",
        "fixed-window, uet, roce",
    ),
    attribute(
        "nic.Egress.WRRQueueWeights",
        Kind::Eight(&Kind::Int),
        Some("[1, 3, 0, 0, 0, 0, 0, 0]"),
        "each 0 to 4,294,967,295; 0 counts as 1",
        "Packets of each class in a turn of `WeightedRoundRobin`. With model `uet` the default is 1, 5.",
        "fixed-window, uet, roce",
    ),
    attribute(
        "nic.HostLink.LaneBps",
        Kind::Rate,
        Some("31520Mbps"),
        "1kbps to 100Tbps",
        "Rate of one lane of the link between a reactive NIC and its host, each direction.",
        "fixed-window, uet, roce",
    ),
    attribute(
        "nic.HostLink.LaneCount",
        Kind::Count,
        Some("16"),
        "1 to 1,024",
        "Lanes of the link between a reactive NIC and its host. Received payload crosses it at LaneBps x LaneCount x 512 / 546.",
        "fixed-window, uet, roce",
    ),
    attribute(
        "nic.hosts.*.HostLink.LaneBps",
        Kind::Rate,
        None,
        "1kbps to 100Tbps",
        "Rate of one lane of the link between a reactive NIC and its host, each direction. At this host only.",
        "fixed-window, uet, roce",
    ),
    attribute(
        "nic.hosts.*.HostLink.LaneCount",
        Kind::Count,
        None,
        "1 to 1,024",
        "Lanes of the link between a reactive NIC and its host. At this host only: a slow host.",
        "fixed-window, uet, roce",
    ),
];
