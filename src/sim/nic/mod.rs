//! NICs that react: transports with windows, rates, acknowledgements and retransmissions.
//!
//! Owns the interface between a transport and whatever carries its packets, the queues of a NIC's
//! port, and its receive pools. A transport is a state machine with the clock as an argument: it
//! takes messages, packets and deadlines, and puts packets into its port's queues. Refuses to know
//! switches, events and links, which is how the worked examples are tested packet by packet.

pub mod any;
pub mod egress;
pub mod host_link;
pub mod hpcc;
pub mod ingress;
pub mod packets;
pub mod roce;
pub mod stats;
pub mod turns;
pub mod uet;
pub mod window;

/// Code point of a packet under the UET policy.
pub use crate::scenario::Role as CodePoint;
use egress::Egress;
use stats::{FlowStats, NicStats};

/// Rates of a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NicRates {
    /// Line rate: the lower of its own and of its switch port's, bit/s, above 0.
    pub line: u64,
    /// Rate of its host link in one direction, `LaneBps` × `LaneCount`, bit/s, above 0.
    pub host_link: u64,
}

/// A message to send: one flow. Slots are the owner's; a transport hands them back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Message {
    /// The owner's slot for the flow: index into [`Io::flows`].
    pub flow: u32,
    /// Sending host.
    pub src: u32,
    /// Receiving host.
    pub dst: u32,
    /// Payload bytes; 0 is one packet without payload.
    pub bytes: u64,
    /// Class of its data packets at a switch without the UET policy.
    pub tc: u8,
    /// A number of its own among all flows of the job, for choices by flow.
    pub id: u64,
}

/// What a packet is to the transports at its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PacketKind {
    /// Payload.
    Data,
    /// Acknowledgement.
    Ack,
    /// Negative acknowledgement: of a trimmed packet, or of a gap.
    Nack,
    /// Base-RTT probe.
    Probe,
    /// Acknowledgement of a probe.
    ProbeAck,
    /// Congestion notification.
    Cnp,
}

/// What a packet carries for the transport at the other end. One layout for every transport:
/// which fields a kind uses, and the bits of `flags`, are the transport's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// SACK bitmap, or whatever else takes 64 bits.
    pub bits: u64,
    /// Place of its connection in the transport's table.
    pub connection: u32,
    /// Its sequence number, or that of the packet that drew it.
    pub psn: u32,
    /// Acknowledgements: every PSN below this has been received.
    pub cumulative: u32,
    /// First PSN that `bits` stands for.
    pub base: u32,
    /// Acknowledgements: service time, in steps of 128 ns.
    pub service: u16,
    /// Acknowledgements: receiver penalty, 0 to 127.
    pub penalty: u8,
    /// What it is.
    pub kind: PacketKind,
    /// Bits of the transport's own.
    pub flags: u8,
    /// Acknowledgements: received bytes, the low 24 bits of their number of units.
    received: [u8; 3],
}

const _: () = assert!(size_of::<Header>() == 32, "a header travels with every packet");

impl Header {
    /// A header of a kind, every other field 0.
    pub fn new(kind: PacketKind, connection: u32, psn: u32) -> Header {
        Header {
            bits: 0,
            connection,
            psn,
            cumulative: 0,
            base: 0,
            service: 0,
            penalty: 0,
            kind,
            flags: 0,
            received: [0; 3],
        }
    }

    /// Received bytes, in units of the transport's: the low 24 bits of what was set.
    #[inline]
    pub fn received(&self) -> u32 {
        let [low, middle, high] = self.received;
        u32::from_le_bytes([low, middle, high, 0])
    }

    /// Sets the received bytes, in units of the transport's; 24 bits of them are kept.
    #[inline]
    pub fn set_received(&mut self, units: u64) {
        let [low, middle, high, ..] = units.to_le_bytes();
        self.received = [low, middle, high];
    }

    /// Its PSN, for transports whose PSNs do not wrap: the one nearest to another one.
    #[inline]
    pub fn psn_near(&self, near: u64) -> u64 {
        nearest(near, self.psn)
    }

    /// The same of `cumulative`.
    #[inline]
    pub fn cumulative_near(&self, near: u64) -> u64 {
        nearest(near, self.cumulative)
    }
}

/// The number nearest to `near` that ends in these 32 bits.
#[inline]
fn nearest(near: u64, low: u32) -> u64 {
    let distance = low.wrapping_sub(near as u32) as i32;
    near.saturating_add_signed(i64::from(distance))
}

/// UDP source port of a flow, as open-loop flows have it.
fn source_port(id: u64) -> u16 {
    49_152 + (id % 16_384) as u16
}

/// A packet a transport hands to its port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    /// For the other end.
    pub header: Header,
    /// Receiving host.
    pub dst: u32,
    /// IP bytes; 18 more on the wire.
    pub ip: u16,
    /// UDP source port: what equal-cost choices see.
    pub entropy: u16,
    /// Class at a switch without the UET policy.
    pub tc: u8,
    /// Class of its queue in the NIC.
    pub class: u8,
    /// Code point under the UET policy.
    pub code_point: CodePoint,
    /// ECN-capable.
    pub ect: bool,
    /// Sent before its flow could have heard of the network.
    pub unscheduled: bool,
}

/// How a data packet reached its receiver.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whole {
    /// With its payload.
    Whole,
    /// Cut by a switch.
    Trimmed,
    /// Cut by the switch on the receiver's own link.
    TrimmedLastHop,
}

/// A packet that has arrived at a host and fitted its receive pool.
#[derive(Debug, Clone, Copy)]
pub struct Incoming {
    /// What the sender wrote.
    pub header: Header,
    /// Its UDP source port.
    pub entropy: u16,
    /// IP bytes it has now.
    pub ip: u16,
    /// Whether it still has its payload.
    pub whole: Whole,
    /// Congestion experienced.
    pub ce: bool,
    /// Bytes in its class's receive pool, itself included.
    pub held: u64,
    /// Size of that pool, bytes.
    pub pool: u64,
}

/// Something an application or a flow's row wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Done {
    /// Every packet of the flow has been handed to the port once.
    Sent(u32),
    /// Every byte of the flow has been acknowledged; its sender is done with it.
    Acknowledged(u32),
    /// Every byte of the flow is at its receiver.
    Received(u32),
}

/// What a transport acts on besides its own state.
#[derive(Debug)]
pub struct Io<'a> {
    /// Queues of the acting host's port.
    pub egress: &'a mut Egress,
    /// Counts by flow slot.
    pub flows: &'a mut [FlowStats],
    /// Counts of the acting host.
    pub stats: &'a mut NicStats,
    /// What has completed, in order.
    pub done: &'a mut Vec<Done>,
}

/// Never: no deadline is pending.
pub const NEVER: u64 = u64::MAX;

/// The transports of all hosts of a job. Times are ps; `host` is the acting host and `io` its.
///
/// A connection's table entry may be used again only when its message is complete at both ends and
/// every packet of it that was handed to a port has come back through [`Transport::receive`] or
/// [`Transport::lost`]: then no header can name a wrong one.
pub trait Transport {
    /// A message is posted at its source.
    fn post(&mut self, now: u64, message: &Message, io: &mut Io<'_>);

    /// A packet has arrived at a host.
    fn receive(&mut self, now: u64, host: u32, packet: &Incoming, io: &mut Io<'_>);

    /// A packet is gone: dropped on its way or refused by a receive pool.
    fn lost(&mut self, header: &Header);

    /// Earliest deadline of a host, or [`NEVER`]; may be early (nothing is due then), never late.
    fn deadline(&self, host: u32) -> u64;

    /// A deadline of a host has come.
    fn timer(&mut self, now: u64, host: u32, io: &mut Io<'_>);

    /// Bit rate at which a packet that starts now is sent, 0: the line's. Asked just before
    /// [`Transport::sending`], for rates that change while a packet waits.
    fn rate(&mut self, _now: u64, _packet: &Outgoing) -> u64 {
        0
    }

    /// A packet starts to be serialized at `now` and will have left at `end`.
    fn sending(&mut self, now: u64, end: u64, host: u32, packet: &Outgoing, io: &mut Io<'_>);

    /// A frame has left a port whose pool had been full ([`Egress::starved`]) and the pool of
    /// that class is at most half full: generation restarts. Or this was asked for
    /// ([`Egress::want`]).
    fn room(&mut self, now: u64, host: u32, io: &mut Io<'_>);

    /// The switch has released a class of a host. For transports that choose a packet only when it
    /// can start.
    fn resumed(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        let _ = (now, host, io);
    }
}
