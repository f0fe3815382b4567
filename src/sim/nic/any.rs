//! The transport a job's hosts run, chosen when the job starts.
//!
//! Owns the choice. One branch a call on a value that never changes, so that the network need not
//! be built once more for every transport.

use super::roce::Roce;
use super::uet::Uet;
use super::window::FixedWindow;
use super::{Header, Incoming, Io, Message, NicRates, Outgoing, Transport};
use super::{roce, uet};
use crate::scenario::{NicModel, Scenario};
use crate::sim::random::Seeds;

/// Every transport there is. All hosts of a job run the same one.
#[derive(Debug)]
pub enum AnyTransport {
    /// Ultra Ethernet transport.
    Uet(Box<Uet>),
    /// RoCE.
    Roce(Box<Roce>),
    /// A window and line rate.
    FixedWindow(Box<FixedWindow>),
}

macro_rules! each {
    ($self:expr, $transport:ident => $call:expr) => {
        match $self {
            AnyTransport::Uet($transport) => $call,
            AnyTransport::Roce($transport) => $call,
            AnyTransport::FixedWindow($transport) => $call,
        }
    };
}

impl AnyTransport {
    /// The transport of a scenario's hosts with links of these rates (bit/s); `None` for open-loop
    /// senders.
    pub fn new(scenario: &Scenario, rates: &[u64], seeds: &Seeds) -> Option<AnyTransport> {
        let nic = &scenario.nic;
        let nics: Vec<NicRates> = (0..)
            .zip(rates)
            .map(|(host, &line)| NicRates { line, host_link: nic.of_host(host).host_link.rate() })
            .collect();
        match nic.model {
            NicModel::Uet => {
                let (pds, cc) = (&nic.pds_manager, &nic.congestion_control);
                let uet = Uet::new(pds, cc, &nics, seeds);
                Some(AnyTransport::Uet(Box::new(uet)))
            }
            NicModel::Roce => {
                let roce = Roce::new(&nic.roce, &nics);
                Some(AnyTransport::Roce(Box::new(roce)))
            }
            NicModel::FixedWindow => {
                let window = FixedWindow::new(&nic.fixed_window, rates.len() as u32);
                Some(AnyTransport::FixedWindow(Box::new(window)))
            }
            NicModel::OpenLoop => None,
        }
    }

    /// IP bytes of a data packet that are not payload.
    pub fn overhead(&self) -> u64 {
        match self {
            AnyTransport::Uet(_) => u64::from(uet::DATA_HEADERS),
            AnyTransport::Roce(_) => u64::from(roce::DATA_HEADER),
            AnyTransport::FixedWindow(window) => window.header(),
        }
    }
}

impl Transport for AnyTransport {
    #[inline]
    fn post(&mut self, now: u64, message: &Message, io: &mut Io<'_>) {
        each!(self, t => t.post(now, message, io));
    }

    #[inline]
    fn receive(&mut self, now: u64, host: u32, packet: &Incoming, io: &mut Io<'_>) {
        each!(self, t => t.receive(now, host, packet, io));
    }

    #[inline]
    fn lost(&mut self, header: &Header) {
        each!(self, t => t.lost(header));
    }

    #[inline]
    fn deadline(&self, host: u32) -> u64 {
        each!(self, t => t.deadline(host))
    }

    #[inline]
    fn timer(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        each!(self, t => t.timer(now, host, io));
    }

    #[inline]
    fn rate(&mut self, now: u64, packet: &Outgoing) -> u64 {
        each!(self, t => t.rate(now, packet))
    }

    #[inline]
    fn sending(&mut self, now: u64, end: u64, host: u32, packet: &Outgoing, io: &mut Io<'_>) {
        each!(self, t => t.sending(now, end, host, packet, io));
    }

    #[inline]
    fn room(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        each!(self, t => t.room(now, host, io));
    }
}
