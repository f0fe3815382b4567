//! The transport a job's hosts run, chosen when the job starts.
//!
//! Owns the choice. One branch a call on a value that never changes, so that the network need not
//! be built once more for every transport.

use super::hpcc::Hpcc;
use super::hpcc::law::Hop;
use super::roce::Roce;
use super::uet::Uet;
use super::window::FixedWindow;
use super::{Header, Incoming, Io, Message, NicRates, Outgoing, Transport};
use super::{hpcc, roce, uet};
use crate::scenario::{NicModel, Scenario, Timing};
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
        // A branch is cheaper than a jump by a table.
        if let AnyTransport::Hpcc($transport) = $self {
            $call
        } else {
            match $self {
                AnyTransport::Uet($transport) => $call,
                AnyTransport::Roce($transport) => $call,
                AnyTransport::FixedWindow($transport) => $call,
                AnyTransport::Hpcc($transport) => $call,
            }
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
            NicModel::Hpcc => {
                let hpcc = Hpcc::new(nic, rates, scenario.timing == Timing::WholeNs);
                Some(AnyTransport::Hpcc(Box::new(hpcc)))
            }
            NicModel::OpenLoop => None,
        }
    }

    /// Whether switches are to write telemetry into data packets.
    pub fn wants_telemetry(&self) -> bool {
        matches!(self, AnyTransport::Hpcc(hpcc) if hpcc.wants_telemetry())
    }

    /// A switch port writes telemetry into a packet.
    #[inline]
    pub fn stamp(&mut self, header: &Header, hop: Hop) {
        if let AnyTransport::Hpcc(hpcc) = self {
            hpcc.stamp(header, hop);
        }
    }

    /// The receiving host of the flow that an answer ends as it arrives, for transports whose
    /// packets may be taken late.
    #[inline]
    pub fn ends_flow(&self, header: &Header) -> Option<u32> {
        match self {
            AnyTransport::Hpcc(hpcc) => hpcc.ends_flow(header),
            _ => None,
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

    #[inline(always)]
    fn receive(&mut self, now: u64, host: u32, packet: &Incoming, io: &mut Io<'_>) {
        each!(self, t => t.receive(now, host, packet, io));
    }

    #[inline]
    fn lost(&mut self, header: &Header) {
        each!(self, t => t.lost(header));
    }

    #[inline(always)]
    fn deadline(&self, host: u32) -> u64 {
        each!(self, t => t.deadline(host))
    }

    #[inline]
    fn timer(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        each!(self, t => t.timer(now, host, io));
    }

    #[inline(always)]
    fn rate(&mut self, now: u64, packet: &Outgoing) -> u64 {
        each!(self, t => t.rate(now, packet))
    }

    #[inline(always)]
    fn sending(&mut self, now: u64, end: u64, host: u32, packet: &Outgoing, io: &mut Io<'_>) {
        each!(self, t => t.sending(now, end, host, packet, io));
    }

    #[inline(always)]
    fn room(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        each!(self, t => t.room(now, host, io));
    }

    #[inline]
    fn resumed(&mut self, now: u64, host: u32, io: &mut Io<'_>) {
        each!(self, t => t.resumed(now, host, io));
    }
}

#[cfg(test)]
mod tests {
    use crate::scenario::roce::{Pacing, RateControl};
    use crate::scenario::{Common, Until};
    use crate::scenario::{
        Incast, Nic, NicModel, Record, Scenario, Switch, Table, Topology, Traffic,
    };
    use crate::sim::observe::Observations;
    use crate::sim::random::Seeds;
    use crate::sim::traffic::Traces;
    use crate::units::{BitRate, Bytes, Ps};

    const LINE: u64 = 400_000_000_000;

    /// Two RoCE senders of 8 MB each into one receiver, marked from about 130 KB of queue on.
    fn incast(rate_control: RateControl, pacing: Pacing) -> Observations {
        let mut nic = Nic::of_model(NicModel::Roce);
        nic.roce.rate_control = rate_control;
        nic.roce.pacing = pacing;
        let mut switch = Switch::default();
        switch.ecn_handler.min_threshold = 0.001;
        switch.ecn_handler.max_threshold = 0.002;
        let common = Common::default();
        let bytes = Bytes(8_000_000);
        let scenario = Scenario {
            stop_on_deadlock: false,
            duration: Ps(1_000_000_000_000),
            until: Until::Drained,
            warm_up: Ps(0),
            seed_streams: Default::default(),
            timing: Default::default(),
            topology: Topology::SingleSwitch {
                hosts: 3,
                rate: Some(BitRate(LINE)),
                delay: Some(Ps(500_000)),
            },
            switch,
            nic,
            traffic: vec![Traffic::Incast(Incast { receiver: 0, senders: 2, bytes, common })],
            record: Record { tables: vec![Table::Transport], ..Record::default() },
            budget: Default::default(),
        };
        crate::sim::run(&scenario, Seeds::default(), &Traces::default()).unwrap()
    }

    fn slowest(run: &Observations) -> u64 {
        let sent = run.transport.iter().map(|row| row.stats.window).filter(|w| w.count > 0);
        sent.map(|window| window.min).min().unwrap()
    }

    #[test]
    fn a_port_sends_a_slowed_queue_pair_at_its_rate() {
        let free = incast(RateControl::None, Pacing::Occupies);
        assert_eq!((slowest(&free), free.totals.flows_finished), (LINE, 2));
        for pacing in [Pacing::Occupies, Pacing::Spaced] {
            let slowed = incast(RateControl::Dcqcn, pacing);
            assert!(slowed.totals.ecn_marks > 0 && slowest(&slowed) <= LINE / 4, "{pacing:?}");
            assert!(2 * slowed.totals.peak_egress < free.totals.peak_egress, "{pacing:?}");
            assert!(slowed.totals.end_time > free.totals.end_time, "{pacing:?}");
            assert_eq!((slowed.totals.flows_finished, slowed.totals.drops), (2, [0; 7]));
        }
    }
}
