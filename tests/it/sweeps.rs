//! The sweeps that come with the program: each plans as it is, and its answer is what it says.

use poolsweep::scenario::links::Outline;
use poolsweep::scenario::offered::Offered;
use poolsweep::scenario::sizing::{self, Sizing};
use poolsweep::scenario::startup::Startup;
use poolsweep::scenario::{Scenario, Switch, Table, Traffic};
use poolsweep::sim::observe::{BuffId, DropReason, Observations};
use poolsweep::sim::traffic::Traces;
use poolsweep::sweep::plan::{ColumnValues, Job, Overrides, Plan};
use poolsweep::units::Bytes;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

mod buffers;
mod chips;
mod fabrics;
mod reactive;

/// Every packet of the shipped sweeps with open-loop NICs is of this size.
const PACKET: u64 = 4_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sweeps")
}

fn plan(file: &str) -> Plan {
    Plan::load(&folder().join(file), &Overrides::default()).unwrap_or_else(|e| panic!("{e}"))
}

fn run(scenario: &Scenario, job: &Job) -> Observations {
    poolsweep::sim::run(scenario, job.seeds, &Traces::new()).expect("a scenario that was checked")
}

/// One point of a sweep, simulated.
struct Answer {
    /// The entry of `scenarios`.
    label: String,
    /// Place in [`Plan::points`].
    point: usize,
    scenario: Scenario,
    seen: Observations,
}

impl Answer {
    fn drops(&self) -> u64 {
        self.seen.totals.drops.iter().sum()
    }

    fn drops_by(&self, reason: DropReason) -> u64 {
        let place = DropReason::ALL.iter().position(|r| *r == reason).expect("listed");
        self.seen.totals.drops[place]
    }

    fn startup(&self) -> Startup {
        let outline = Outline::new(&self.scenario).expect("links");
        Startup::new(&self.scenario.switch, outline.kinds[0].ports()).expect("a switch that starts")
    }

    /// The three conditions of a lossless class.
    fn sizing(&self, class: u8) -> Sizing {
        let outline = Outline::new(&self.scenario).expect("links");
        let offered = Offered::new(&self.scenario);
        Sizing::new(&self.startup(), class, &[outline.host_links], &offered).expect("lossless")
    }

    fn senders(&self) -> u64 {
        match &self.scenario.traffic[0] {
            Traffic::Incast(incast) => u64::from(incast.senders),
            other => panic!("an incast, not {other:?}"),
        }
    }
}

/// Every point of a sweep, simulated with these tables besides its own.
fn answers(file: &str, more: &[Table]) -> (Plan, Vec<Answer>) {
    let plan = plan(file);
    let answers = simulated(&plan, more);
    (plan, answers)
}

fn simulated(plan: &Plan, more: &[Table]) -> Vec<Answer> {
    (0..plan.points.len())
        .into_par_iter()
        .map(|point| {
            let job = plan.points[point].job.expect("no point is excluded");
            let mut scenario = plan.scenario(job).expect("planned");
            scenario.record.tables.extend_from_slice(more);
            let seen = run(&scenario, &plan.jobs[job]);
            let label = plan.points[point].scenario.clone().unwrap_or_default();
            Answer { label, point, scenario, seen }
        })
        .collect()
}

/// A number of an axis or derived value at a point.
fn number(plan: &Plan, name: &str, point: usize) -> f64 {
    let column = plan.columns.iter().find(|c| c.name == name).expect("a column of that name");
    match &column.values {
        ColumnValues::Int(values) => values[point].map(|v| v as f64),
        ColumnValues::Float(values) => values[point],
        other => panic!("{name} holds {other:?}"),
    }
    .expect("a value at every point")
}

#[test]
fn every_sweep_plans_as_shipped_and_asks_a_question() {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder()).expect("sweeps") {
        let path = entry.expect("entry").path();
        if path.is_file() {
            found.push(path.file_name().expect("name").to_string_lossy().into_owned());
        }
    }
    found.sort();
    let known = [
        "alpha.yaml",
        "buffer-models.yaml",
        "chips.yaml",
        "collectives.yaml",
        "ecn.yaml",
        "flowlet.yaml",
        "headroom.yaml",
        "hpcc-incast.yaml",
        "mixed.yaml",
        "pfc-storm.yaml",
        "pools.yaml",
        "roce-pfc-ecn.yaml",
        "uet-ecn.yaml",
        "uet-trimming.yaml",
    ];
    assert_eq!(found, known, "a sweep that ships has its answer tested here");
    for file in known {
        let text = std::fs::read_to_string(folder().join(file)).expect("readable");
        let question = text.lines().next().expect("a line");
        assert!(question.starts_with("# ") && question.ends_with('?'), "{file}: {question}");
        let plan = plan(file);
        assert_eq!(plan.name, file.trim_end_matches(".yaml"));
        assert_eq!((plan.infeasible(), plan.excluded()), (0, 0), "{file}");
        assert_eq!(plan.jobs.len(), plan.points.len(), "{file}: no point repeats another");
        assert!(plan.points.len() <= 40, "{file}: the answer is a table of every point");
        // A minute on two cores is hundreds of millions; a first try should take seconds.
        let hops: f64 = plan.jobs.iter().map(|job| job.cost).sum();
        assert!(hops < 2e7, "{file}: {hops} packet-hops");
    }
}

#[test]
fn the_preset_is_the_documented_default_switch() {
    let plan = plan("presets/default-128.yaml");
    let scenario = plan.scenario(0).expect("one point");
    assert_eq!(scenario.switch, Switch::default());
    let outline = Outline::new(&scenario).expect("links");
    let link = outline.host_links;
    assert_eq!((link.count, link.rate, link.delay), (128, 400_000_000_000, 500_000));
    let startup = Startup::new(&scenario.switch, outline.kinds[0].ports()).expect("it starts");
    let sizes: Vec<u64> = startup.pools.iter().flatten().map(|pool| pool.size).collect();
    assert_eq!((startup.sizing_total, sizes), (223_232_000, vec![200_908_800, 22_323_200]));
    assert_eq!(run(&scenario, &plan.jobs[0]).totals.drops, [0; 7]);
}

#[test]
fn headroom_held_lies_within_two_frames_of_the_guideline() {
    let (plan, answers) = answers("headroom.yaml", &[]);
    let mut smallest = Vec::new();
    for a in &answers {
        let link = Outline::new(&a.scenario).expect("links").host_links;
        let response = a.scenario.nic.pfc_response_time.0;
        let guideline = sizing::guideline(link.rate, link.delay, PACKET)
            + sizing::response_bytes(link.rate, response);
        assert_eq!(number(&plan, "let.guideline", a.point), guideline as f64);
        let limit = a.scenario.switch.shared_buffer_manager.head_room_per_port_limit.0;
        let case = format!("{} {link:?}, response {response} ps, {limit} B", a.label);
        if limit < guideline {
            assert!(a.label == "draining" || a.drops() > 0, "{case}: too little, nothing lost");
            continue;
        }
        assert_eq!(a.drops(), 0, "{case}");
        let peak = a.seen.totals.peak_headroom;
        if a.label == "held" {
            assert!(peak.abs_diff(guideline) <= 2 * PACKET, "{case}: needs {peak} B");
        }
        smallest.push((a, guideline, peak, case));
    }
    assert_eq!(smallest.len(), 16);
    // The peak is the answer: that much is enough, one byte less is not.
    smallest.par_iter().for_each(|(a, _, peak, case)| {
        let job = &plan.jobs[plan.points[a.point].job.expect("planned")];
        let drops_with = |headroom: u64| {
            let mut scenario = a.scenario.clone();
            scenario.record.tables = vec![Table::Jobs];
            scenario.switch.shared_buffer_manager.head_room_per_port_limit = Bytes(headroom);
            run(&scenario, job).totals.drops.iter().sum::<u64>()
        };
        assert_eq!(drops_with(*peak), 0, "{case}");
        assert!(drops_with(*peak - 1) > 0, "{case}");
    });
    // Draining beside it needs less, on every link.
    let (held, draining) = smallest.split_at(8);
    for ((h, _, most, case), (d, _, less, _)) in held.iter().zip(draining) {
        assert_eq!((h.label.as_str(), d.label.as_str()), ("held", "draining"));
        assert!(less < most, "{case}: {less} B while draining, {most} B held");
    }
}

#[test]
fn pools_lose_nothing_with_the_three_conditions_and_overflow_without_the_second() {
    let (_, answers) = answers("pools.yaml", &[]);
    let (mut safe, mut lucky, mut full) = (0, 0, 0);
    for a in &answers {
        let sizing = a.sizing(1);
        let xoff = a.startup().xoff;
        let pool = sizing.pool_size;
        let case = format!("{} senders, Xoff {xoff}, pool {}", a.senders(), pool.have);
        assert!(sizing.headroom.met() && sizing.sharing == 0, "{case}");
        if sizing.met() {
            safe += 1;
            assert_eq!(a.drops(), 0, "{case}");
            continue;
        }
        // The first whole packet above Xoff pauses a port and is still charged to the pool.
        // Nothing drains, so what the senders bring in before they are paused has to fit.
        let pause_point = (xoff / PACKET + 1) * PACKET;
        if a.senders() * pause_point > pool.have {
            full += 1;
            assert!(a.drops_by(DropReason::IngressPool) > 0, "{case}: the pool should overflow");
            assert_eq!(a.drops(), a.drops_by(DropReason::IngressPool), "{case}");
        } else {
            lucky += 1;
            assert_eq!(a.drops(), 0, "{case}: the traffic cannot fill the pool");
        }
    }
    assert_eq!((safe, lucky, full), (24, 6, 6));
}

#[test]
fn alpha_levels_queues_off_within_a_packet() {
    let (plan, answers) = answers("alpha.yaml", &[]);
    for a in &answers {
        let alpha = a.scenario.switch.shared_buffer_manager.lossy_alpha;
        let receivers: Vec<u32> = (a.scenario.traffic.iter())
            .map(|traffic| match traffic {
                Traffic::Incast(incast) => incast.receiver,
                other => panic!("an incast, not {other:?}"),
            })
            .collect();
        let busy = receivers.len() as f64;
        assert_eq!(number(&plan, "let.busy", a.point), busy);
        let pool = a.startup().pools[1].expect("pool 1").size as f64;
        let level = alpha * pool / (1.0 + alpha * busy);
        assert!((number(&plan, "let.level", a.point) - level).abs() <= 501.0);
        // Every busy queue has its own row in the last interval, and no other queue has any.
        let queues: Vec<(u32, f64)> = (a.seen.port_buffers.iter())
            .filter(|row| row.buff == BuffId::Egress && row.pool == 1)
            .filter(|row| row.occupancy.sim_time == a.scenario.duration.0)
            .map(|row| (row.port, row.occupancy.integral as f64 / row.occupancy.length as f64))
            .collect();
        let ports: Vec<u32> = queues.iter().map(|(port, _)| *port).collect();
        assert_eq!(ports, receivers);
        let mean = queues.iter().map(|(_, bytes)| bytes).sum::<f64>() / busy;
        assert!(
            (mean - level).abs() <= PACKET as f64,
            "alpha {alpha}, {busy} queues: mean {mean}, level {level}, single {queues:?}"
        );
        assert_eq!(a.drops(), a.drops_by(DropReason::EgressQueueLimit));
    }
}

#[test]
fn ecn_marks_follow_thresholds_weight_and_fan_in() {
    let (_, answers) = answers("ecn.yaml", &[Table::Flows]);
    let marks = |a: &Answer| a.seen.totals.ecn_marks;
    let sent = |a: &Answer| a.senders() * 250;
    for a in &answers {
        let ecn = &a.scenario.switch.ecn_handler;
        let case = format!(
            "{} to {}, weight {}, {} senders",
            ecn.min_threshold,
            ecn.max_threshold,
            ecn.ewma_weight,
            a.senders()
        );
        let received: u64 = a.seen.flows.iter().map(|flow| flow.received_ce).sum();
        assert_eq!(received, marks(a), "{case}: every mark arrives, once");
        assert_eq!((a.drops(), a.seen.totals.delivered_packets), (0, sent(a)), "{case}");
        if ecn.max_threshold == 0.0 {
            assert_eq!(marks(a), sent(a), "{case}: all");
        } else if (a.seen.totals.peak_egress as f64) < a.startup().pools[0].expect("0").ecn_lower {
            assert_eq!(marks(a), 0, "{case}: none");
        } else {
            assert!(marks(a) > 0 && marks(a) < sent(a), "{case}: {} of {}", marks(a), sent(a));
        }
    }
    // Axes: four bands, three weights, three numbers of senders, the last the fastest.
    let at =
        |band: usize, weight: usize, senders: usize| &answers[(band * 3 + weight) * 3 + senders];
    assert_eq!(answers.len(), 36);
    for (x, y) in (0..3).flat_map(|x| (0..3).map(move |y| (x, y))) {
        let share = |a: &Answer| marks(a) as f64 / sent(a) as f64;
        let bands: Vec<f64> = (0..4).map(|band| share(at(band, x, y))).collect();
        assert!(bands.is_sorted_by(|low, high| low >= high), "by band {bands:?}");
        assert!(y == 0 || bands[1] > bands[2] && bands[2] > bands[3], "by band {bands:?}");
    }
    for (band, x) in (1..4).flat_map(|band| (0..3).map(move |x| (band, x))) {
        let senders: Vec<u64> = (0..3).map(|s| marks(at(band, x, s))).collect();
        assert!(senders.is_sorted() && senders[0] < senders[2], "by senders {senders:?}");
        let weights: Vec<u64> = (0..3).map(|weight| marks(at(band, weight, x))).collect();
        // With four senders (the last) the queue falls too while packets still join it.
        assert!(x == 2 || weights.is_sorted(), "by weight {weights:?}");
    }
    assert!(marks(at(2, 0, 1)) < marks(at(2, 2, 1)), "a growing queue is read late");
    assert!(marks(at(3, 2, 2)) < marks(at(3, 1, 2)), "a falling queue is read late");
}

#[test]
fn mixed_pools_strand_and_lose_lossless_packets_and_pools_of_their_own_do_not() {
    let (_, answers) = answers("mixed.yaml", &[]);
    assert_eq!(answers.len(), 8);
    for a in &answers {
        let alpha = a.scenario.switch.shared_buffer_manager.lossy_alpha;
        let case = format!("{}, alpha {alpha}", a.label);
        let lost = |tc: u8| -> u64 {
            a.seen.drops.iter().filter(|row| row.tc == tc).map(|row| row.packets).sum()
        };
        let unfinished: Vec<u32> = (a.seen.flows.iter())
            .filter(|flow| flow.tc == 3 && flow.end.is_none())
            .map(|flow| flow.src)
            .collect();
        let stuck = a.seen.totals.stuck_pauses;
        assert!(lost(0) > 0, "{case}: the lossy queues are full");
        if a.label == "own" {
            assert!(a.sizing(3).met(), "{case}");
            assert_eq!((stuck, lost(3), &unfinished[..]), (0, 0, &[][..]), "{case}");
            assert_eq!(a.drops(), a.drops_by(DropReason::EgressQueueLimit), "{case}");
            continue;
        }
        assert_eq!(a.label, "shared");
        assert_ne!(a.sizing(3).sharing, 0, "{case}");
        // Hosts 0 to 7 send both classes, 13 to 15 lossless only.
        let stranded: Vec<u32> = unfinished.iter().copied().filter(|&src| src < 8).collect();
        assert_eq!(stuck, stranded.len() as u64, "{case}: {unfinished:?}");
        assert_eq!(stuck > 0, alpha > 0.1, "{case}: {stuck} stuck");
        for port in stranded {
            let lossy = (a.seen.port_buffers.iter())
                .filter(|row| (row.buff, row.port) == (BuffId::Ingress, port))
                .find(|row| row.occupancy.sim_time == a.scenario.duration.0)
                .expect("the port still holds lossy bytes");
            assert!(lossy.occupancy.min > a.startup().xon, "{case}: port {port} could resume");
        }
        if alpha < 8.0 {
            assert_eq!(lost(3), 0, "{case}");
        } else {
            assert!(lost(3) > 0 && a.seen.totals.drops_without_pause >= lost(3), "{case}");
            assert!(unfinished.iter().any(|&src| src > 12), "{case}: {unfinished:?}");
        }
    }
}
