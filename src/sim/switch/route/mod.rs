//! Where a packet may go: equal-cost sets, and which member a flow takes.
//!
//! Owns the shortest paths of a network as tables ([`Routes`]), the hashes that spread flows over
//! equal-cost members ([`member`]), the choice on the per-packet path ([`Forwarding`]), flowlets and
//! what is counted of members ([`Balancer`]), and whether paths can wait for one another in a
//! circle ([`may_circle`]). Refuses to know what happens on the way: queues and pauses are the
//! switch's, and told where they matter.

mod balance;
mod choice;
mod circles;
mod ecmp;
mod tables;

pub use balance::{Asking, Balancer, Choice, FlowletSettings, MemberStats, SLOTS};
pub use choice::{FlowHashes, Forwarding};
pub use circles::may_circle;
pub use ecmp::{FlowIdentity, hash, member};
pub use tables::{RouteError, Routes, SetId};
