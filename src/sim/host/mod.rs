//! Hosts: the open-loop NIC as sender and as receiver.
//!
//! Owns turns, rate caps, pauses and the choice of the next frame ([`sender`]), and the slow
//! receiver with its pools and its own PFC ([`receiver`]). A NIC knows nothing of the switch; the
//! clock is an argument.

pub mod receiver;
pub mod sender;
mod turn;
