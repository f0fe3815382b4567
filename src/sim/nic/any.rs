//! The transport a job's hosts run, chosen when the job starts.
//!
//! Owns the choice. One branch a call on a value that never changes, so that the network need not
//! be built once more for every transport.

use super::hpcc::Hpcc;
use super::roce::{NicRates, Roce};
use super::uet::Uet;
use super::window::FixedWindow;
use super::{Header, Incoming, Io, Message, Outgoing, Transport};
use super::{hpcc, roce, uet};
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
    /// The NIC of HPCC's ns-3 code.
    Hpcc(Box<Hpcc>),
}

macro_rules! each {
    ($self:expr, $transport:ident => $call:expr) => {
        match $self {
            AnyTransport::Uet($transport) => $call,
            AnyTransport::Roce($transport) => $call,
            AnyTransport::FixedWindow($transport) => $call,
            AnyTransport::Hpcc($transport) => $call,
        }
    };
}

impl AnyTransport {
    /// The transport of a scenario's hosts with links of these rates (bit/s); `None` for open-loop
    /// senders.
    pub fn new(scenario: &Scenario, rates: &[u64], seeds: &Seeds) -> Option<AnyTransport> {
        let nic = &scenario.nic;
        match nic.model {
            NicModel::Uet => {
                let (pds, cc) = (&nic.pds_manager, &nic.congestion_control);
                let uet = Uet::new(pds, cc, nic.host_link, rates, seeds);
                Some(AnyTransport::Uet(Box::new(uet)))
            }
            NicModel::Roce => {
                let nics = (0..).zip(rates).map(|(host, &line)| NicRates {
                    line,
                    host_link: nic.of_host(host).host_link.rate(),
                });
                let roce = Roce::new(&nic.roce, &nics.collect::<Vec<_>>());
                Some(AnyTransport::Roce(Box::new(roce)))
            }
            NicModel::FixedWindow => {
                let window = FixedWindow::new(&nic.fixed_window, rates.len() as u32);
                Some(AnyTransport::FixedWindow(Box::new(window)))
            }
            NicModel::Hpcc => {
                let hpcc = Hpcc::new(&nic.hpcc, rates.len() as u32);
                Some(AnyTransport::Hpcc(Box::new(hpcc)))
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
            AnyTransport::Hpcc(_) => u64::from(hpcc::DATA_HEADER),
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
    fn sending(&mut self, now: u64, end: u64, host: u32, packet: &Outgoing, io: &mut Io<'_>) {
        each!(self, t => t.sending(now, end, host, packet, io));
    }

    #[inline]
    fn room(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        each!(self, t => t.room(now, host, io));
    }

    #[inline]
    fn resumed(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        each!(self, t => t.resumed(now, host, io));
    }
}
