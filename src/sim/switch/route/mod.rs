//! Where a packet may go: equal-cost sets, and which member a flow takes.
//!
//! Owns the shortest paths of a network as tables ([`Routes`]), the hashes that spread flows over
//! equal-cost members ([`member`]), and the choice on the per-packet path ([`Forwarding`]).
//! Refuses to know what happens on the way: queues, pauses and flowlets are the switch's.

mod choice;
mod ecmp;
mod tables;

pub use choice::{FlowHashes, Forwarding};
pub use ecmp::{FlowIdentity, hash, member};
pub use tables::{RouteError, Routes, SetId};
