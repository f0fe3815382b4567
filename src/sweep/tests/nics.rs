//! Attributes of NIC models in sweeps: names, axes, identities.

use super::{BASE, error, floats, ints, load, plan, whole};
use crate::sweep::plan::{JobId, Plan};
use std::collections::BTreeSet;

pub(super) fn ids(plan: &Plan) -> Vec<JobId> {
    plan.jobs.iter().map(|j| j.id).collect()
}

/// Every job's kept text is that of its scenario, and its id that of its text.
pub(super) fn agree(plan: &Plan) {
    for (index, job) in plan.jobs.iter().enumerate() {
        let text = plan.scenario_json(index).unwrap();
        let scenario = plan.scenario(index).unwrap();
        assert_eq!(text, serde_json::to_value(&scenario).unwrap().to_string());
        let (id, seeds, back) =
            crate::sweep::identity::identify(&text, job.repetition, job.seeds.sweep).unwrap();
        assert_eq!((id, seeds, back), (job.id, job.seeds, scenario));
    }
}

#[test]
fn gains_are_axes_like_any_other() {
    let plan = plan(
        "  nic: {model: uet}\naxes: {nic.ScalaUETCongestionControl.Gamma: [0.5, 0.8], \
         InitialBaseRTT: [6us, 7us]}\nderived: {AlphaMultiplier: Gamma * 10}",
    );
    assert_eq!(floats(&plan, "nic.ScalaUETCongestionControl.Gamma"), [0.5, 0.5, 0.8, 0.8]);
    assert_eq!(whole(&plan, "InitialBaseRTT"), [6_000_000, 7_000_000, 6_000_000, 7_000_000]);
    assert_eq!(floats(&plan, "AlphaMultiplier"), [5.0, 5.0, 8.0, 8.0]);
    assert_eq!(plan.jobs.len(), 4);
    agree(&plan);
    assert_eq!(plan.scenario(1).unwrap().nic.congestion_control.gamma, 0.5);
    // A value that is the default is the default.
    let usual = load(&format!("{BASE}  nic: {{model: uet}}\n  AlphaMultiplier: 8\n")).unwrap();
    assert_eq!(ids(&usual), [ids(&plan)[2]]);
}

#[test]
fn what_the_model_does_not_read_leaves_no_trace_while_it_is_as_usual() {
    let alone = ids(&plan(""));
    for more in [
        "  nic: {Egress: {TotalBufferSize: 256KB}}",
        "  nic: {HostLink: {LaneCount: 16}, ScalaRoceTransport: {dcqcn: {g: 1/256}}}",
        "  nic.fixed_window.window: 450KB",
    ] {
        assert_eq!(ids(&plan(more)), alone, "{more}");
    }
    let idle = plan("\naxes: {Gamma: [0.8, 0.7, 0.8]}");
    agree(&idle);
    assert_eq!(ids(&idle).len(), 2);
    assert_eq!(ids(&idle)[0], alone[0]);
    let place = plan("\naxes: {\"Egress.PoolAllocationVector[0]\": [0.9, 0.8]}");
    agree(&place);
    assert_eq!(ids(&place)[0], alone[0]);
}

#[test]
fn a_model_that_is_an_axis_brings_its_own_defaults() {
    let plan = plan("\naxes: {nic.model: [open-loop, uet, roce, fixed-window]}");
    agree(&plan);
    let pfc = |job: usize| plan.scenario(job).unwrap().nic.pfc_enable_vector[0];
    assert_eq!([pfc(0), pfc(1), pfc(2), pfc(3)], [0, 0, 1, 0]);
    let weight = |job: usize| plan.scenario(job).unwrap().nic.egress.wrr_queue_weights[1];
    assert_eq!([weight(1), weight(2)], [5, 3]);
    let single = ids(&super::plan("  nic: {model: roce}"));
    assert_eq!(ids(&plan)[2], single[0]);
    assert_eq!(ids(&plan)[0], ids(&super::plan(""))[0]);
    assert_eq!(ids(&plan).into_iter().collect::<BTreeSet<_>>().len(), 4);
}

#[test]
fn one_place_of_a_list_keeps_the_model_s_others() {
    let plan = plan(
        "  nic: {model: roce}\naxes: {\"PFCEnableVector[1]\": [0, 1], \
         \"Egress.WRRQueueWeights[0]\": [2]}",
    );
    agree(&plan);
    let nic = plan.scenario(0).unwrap().nic;
    assert_eq!(nic.pfc_enable_vector[..3], [1, 0, 0]);
    assert_eq!(nic.egress.wrr_queue_weights[..3], [2, 3, 0]);
}

#[test]
fn names_that_two_blocks_share_need_their_block() {
    let plan = plan(
        "  nic: {model: uet}\naxes: {Egress.TotalBufferSize: [256KB, 128KB]}\n\
         derived: {Ingress.TotalBufferSize: Egress.TotalBufferSize * 10}",
    );
    assert_eq!(plan.scenario(1).unwrap().nic.ingress.total_buffer_size.0, 1_280_000);
    let error = error("\naxes: {TotalBufferSize: [1KB]}");
    assert!(error.contains("`nic.Egress.TotalBufferSize`"), "{error}");
    assert!(error.contains("`nic.Ingress.TotalBufferSize`"), "{error}");
}

#[test]
fn expressions_know_what_the_text_leaves_out() {
    let plan = plan("\nderived: {LossyAlpha: Gamma * 2}");
    assert_eq!(floats(&plan, "LossyAlpha"), [1.6]);
    let plan = super::plan(
        "\nderived: {LossyAlpha: 'nic.Egress.PoolAllocationVector[0] * 10'}\naxes: {senders: [1, 2]}",
    );
    assert_eq!(floats(&plan, "LossyAlpha"), [9.0, 9.0]);
    assert_eq!(ints(&plan, "senders").len(), 2);
}

#[test]
fn a_typo_is_told_the_nearest_name() {
    let error = error("\naxes: {QuickAdaptTreshold: [1us]}");
    assert!(error.contains("QuickAdaptThreshold"), "{error}");
    let error = super::error("  nic: {ScalaUETCongestionControl: {Gama: 1}}");
    assert!(error.contains("Gamma"), "{error}");
}
