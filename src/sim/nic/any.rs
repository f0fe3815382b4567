//! The transport a job's hosts run, chosen when the job starts.

use super::{Header, Incoming, Io, Message, Outgoing, Transport};
use crate::scenario::Scenario;
use crate::sim::random::Seeds;

/// Every transport there is. All hosts of a job run the same one.
#[derive(Debug)]
pub enum AnyTransport {}

impl AnyTransport {
    /// The transport of a scenario's hosts with links of these rates (bit/s); `None` for open-loop
    /// senders.
    pub fn new(_scenario: &Scenario, _rates: &[u64], _seeds: &Seeds) -> Option<AnyTransport> {
        None
    }

    /// NIC class of what is neither whole data nor urgent.
    pub fn control_class(&self) -> u8 {
        match *self {}
    }

    /// IP bytes of a data packet that are not payload.
    pub fn overhead(&self) -> u64 {
        match *self {}
    }
}

impl Transport for AnyTransport {
    fn post(&mut self, _: u64, _: &Message, _: &mut Io<'_>) {
        match *self {}
    }
    fn receive(&mut self, _: u64, _: u32, _: &Incoming, _: &mut Io<'_>) {
        match *self {}
    }
    fn lost(&mut self, _: &Header) {
        match *self {}
    }
    fn deadline(&self, _: u32) -> u64 {
        match *self {}
    }
    fn timer(&mut self, _: u64, _: u32, _: &mut Io<'_>) {
        match *self {}
    }
    fn sending(&mut self, _: u64, _: u64, _: u32, _: &Outgoing, _: &mut Io<'_>) {
        match *self {}
    }
    fn room(&mut self, _: u64, _: u32, _: &mut Io<'_>) {
        match *self {}
    }
}
