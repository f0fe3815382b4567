//! The table of NICs that react: its columns and their formulas.
//!
//! Owns one list of counters, from which both the layout and the rows are made. Names are the
//! documented ones where there are any; every counter has a twin of the interval.

use super::rows::{Columns, quotient};
use super::schema::{Column, JOB_ID, NODE_ID, SIM_TIME, StoredTable, float, walk};
use crate::record::Result;
use crate::sim::nic::stats::{NicStats, Samples};
use crate::sim::observe::TransportRow;
use crate::sweep::plan::JobId;
use arrow::array::RecordBatch;

/// Columns of a list of counters, and what fills them.
macro_rules! counters {
    ($($name:ident: $text:literal),* $(,)?) => {
        const COUNTERS: &[Counter] = &[$(
            Counter {
                name: stringify!($name),
                interval: concat!("ivl_", stringify!($name)),
                of: |stats| stats.$name,
            },
        )*];

        /// Columns of `transport`.
        pub(super) const TRANSPORT: &[Column] = &[
            JOB_ID,
            SIM_TIME,
            NODE_ID,
            $(
                walk(stringify!($name), "1", concat!($text, ", so far")),
                walk(concat!("ivl_", stringify!($name)), "1", concat!($text, ", in the interval")),
            )*
            walk("cwnd_min_bytes", "B", "smallest window at a first transmission; null: none, or no window").or_null(),
            float("cwnd_mean_bytes", "B", "mean window at first transmissions").or_null(),
            walk("cwnd_max_bytes", "B", "largest window at a first transmission").or_null(),
            walk("rate_min_bps", "bit/s", "smallest allowed rate at a first transmission; null: none, or no rate").or_null(),
            float("rate_mean_bps", "bit/s", "mean allowed rate at first transmissions").or_null(),
            walk("rate_max_bps", "bit/s", "largest allowed rate at a first transmission").or_null(),
            walk("rtt_min_ps", "ps", "smallest round trip; null: none was measured").or_null(),
            float("rtt_mean_ps", "ps", "mean round trip").or_null(),
            walk("rtt_max_ps", "ps", "largest round trip").or_null(),
            walk("in_flight_min_bytes", "B", "fewest bytes in flight at a first transmission").or_null(),
            float("in_flight_mean_bytes", "B", "mean bytes in flight at first transmissions").or_null(),
            walk("in_flight_max_bytes", "B", "most bytes in flight at a first transmission").or_null(),
        ];
    };
}

struct Counter {
    name: &'static str,
    interval: &'static str,
    of: fn(&NicStats) -> u64,
}

counters! {
    total_pkts_sent: "packets sent, probes and PFC frames left out",
    total_pkts_rcvd: "packets received, probes and PFC frames left out",
    write_pkts_sent: "data packets sent, retransmissions included",
    write_pkts_rcvd: "data packets received whole",
    ack_pkts_sent: "acknowledgements sent",
    ack_pkts_rcvd: "acknowledgements received",
    nack_pkts_sent: "negative acknowledgements sent",
    nack_pkts_rcvd: "negative acknowledgements received",
    wqes_created: "messages posted",
    wqes_completed: "messages acknowledged to their end",
    num_out_of_order_events_on_nic: "data packets received out of order",
    num_dup_events_on_nic: "data packets received again",
    probe_sent: "base-RTT probes sent",
    probe_ack_rcvd: "answers to probes received",
    num_rto: "retransmission timeouts",
    num_rtx: "data packets retransmitted",
    m_marked_pkts_rcvd: "data packets received with CE",
    num_quick_adapt: "Quick Adapt cuts of a window",
    num_cnp_sent: "congestion notifications sent",
    num_cnp_recvd: "congestion notifications received",
    trimmed_pkts_rcvd: "data packets received trimmed",
}

/// Rows of `transport`.
pub(super) fn transport(job: JobId, rows: &[TransportRow]) -> Result<RecordBatch> {
    let mut columns = Columns::of(StoredTable::Transport, job, rows);
    columns.id();
    columns.int("sim_time_ps", |r| r.sim_time)?;
    columns.small("node_id", |r| r.node)?;
    for counter in COUNTERS {
        columns.int(counter.name, |r| (counter.of)(&r.stats))?;
        columns.int(counter.interval, |r| (counter.of)(&r.stats) - (counter.of)(&r.before))?;
    }
    let window = |r: &TransportRow| (!r.rates).then_some(r.stats.window);
    let rate = |r: &TransportRow| r.rates.then_some(r.stats.window);
    samples(&mut columns, ["cwnd_min_bytes", "cwnd_mean_bytes", "cwnd_max_bytes"], window)?;
    samples(&mut columns, ["rate_min_bps", "rate_mean_bps", "rate_max_bps"], rate)?;
    samples(&mut columns, ["rtt_min_ps", "rtt_mean_ps", "rtt_max_ps"], |r| Some(r.stats.rtt))?;
    let names = ["in_flight_min_bytes", "in_flight_mean_bytes", "in_flight_max_bytes"];
    samples(&mut columns, names, |r| Some(r.stats.in_flight))?;
    columns.finish()
}

fn samples(
    columns: &mut Columns<'_, TransportRow>,
    [min, mean, max]: [&'static str; 3],
    of: impl Fn(&TransportRow) -> Option<Samples>,
) -> Result<()> {
    let some = |r: &TransportRow| of(r).filter(|samples| samples.count > 0);
    columns.maybe(min, |r| some(r).map(|s| s.min))?;
    columns.float(mean, |r| some(r).and_then(|s| quotient(s.sum, u128::from(s.count))));
    columns.maybe(max, |r| some(r).map(|s| s.max))
}
