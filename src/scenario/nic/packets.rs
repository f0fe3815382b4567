//! Sizes and classes of what a reactive NIC sends.
//!
//! Owns the layout of each model's packets in IP bytes. Refuses to know when they are sent.

use super::{Nic, NicModel};

/// IP bytes of a UET data packet above its payload: SES 44, PDS 16, UDP 8, IPv4 20.
const UET_HEADER: u64 = 88;
/// IP bytes of the largest UET control packet, the acknowledgement.
const UET_CONTROL: u64 = 60;
/// IP bytes of a RoCE data packet above its payload: BTH 12, UDP 8, IPv4 20.
const ROCE_HEADER: u64 = 40;
/// IP bytes of a data packet of HPCC's code above its payload: sequence 6, UDP 8, IPv4 20.
const HPCC_HEADER: u64 = 34;
/// IP bytes of its acknowledgements: 60 B with the Ethernet header.
const HPCC_ACK: u64 = 46;
/// IP bytes of the largest RoCE control packet, the acknowledgement.
const ROCE_CONTROL: u64 = 108;

/// What the NICs of a reactive model send.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packets {
    /// Largest payload, bytes.
    pub mss: u64,
    /// IP bytes of a data packet above its payload.
    pub header: u64,
    /// IP bytes of the largest control packet.
    pub control: u64,
    /// Class of data packets in the NIC, and at a switch without the UET policy; none: that of the
    /// flow's code point.
    pub data_class: Option<u8>,
    /// Class of control packets there.
    pub control_class: u8,
}

impl Packets {
    /// IP bytes of the largest packet of a message. Saturates.
    pub fn largest(&self, payload: u64) -> u64 {
        self.mss.min(payload).saturating_add(self.header)
    }

    /// Packets of a message: at least one.
    pub fn count(&self, payload: u64) -> u64 {
        payload.div_ceil(self.mss.max(1)).max(1)
    }

    /// Class of a flow's data packets in the NIC; none for a code point above 63.
    pub fn class_of(&self, dscp: u64) -> Option<u8> {
        self.data_class.or_else(|| u8::try_from(dscp / 8).ok().filter(|&class| class < 8))
    }
}

impl Nic {
    /// Packets that answer one data packet while nothing is lost, roughly.
    pub fn answers(&self) -> f64 {
        let (pds, roce) = (&self.pds_manager, &self.roce);
        match self.model {
            NicModel::OpenLoop => 0.0,
            NicModel::FixedWindow => 1.0,
            NicModel::Hpcc => {
                // Every packet of a flow beyond the interval; how long flows are is not known.
                self.hpcc.payload.0 as f64
                    / self.hpcc.ack_interval.0.max(self.hpcc.payload.0).max(1) as f64
            }
            NicModel::Uet => 1.0 / pds.ack_request_every_nth_packet.max(1) as f64,
            NicModel::Roce if roce.ack_coalescing_enabled => {
                1.0 / (roce.ack_threshold as f64 + 1.0)
            }
            NicModel::Roce => 1.0,
        }
    }

    /// What its model sends; none: as the traffic says.
    pub fn packets(&self) -> Option<Packets> {
        // Classes out of range are refused where they stand.
        let class = |class: u64| (class % 8) as u8;
        match self.model {
            NicModel::OpenLoop => None,
            NicModel::FixedWindow => Some(Packets {
                mss: self.fixed_window.mss.0,
                header: self.fixed_window.header.0,
                control: self.fixed_window.ack.0,
                data_class: None,
                control_class: class(self.fixed_window.control_class),
            }),
            NicModel::Hpcc => Some(Packets {
                mss: self.hpcc.payload.0,
                header: HPCC_HEADER,
                control: HPCC_ACK,
                data_class: None,
                control_class: if self.hpcc.ack_high_prio { 0 } else { 3 },
            }),
            NicModel::Uet => Some(Packets {
                mss: self.pds_manager.rdma_data_mss.0,
                header: UET_HEADER,
                control: UET_CONTROL,
                data_class: Some(0),
                control_class: 1,
            }),
            NicModel::Roce => Some(Packets {
                mss: self.roce.mss.0,
                header: ROCE_HEADER,
                control: ROCE_CONTROL,
                data_class: None,
                control_class: class(self.roce.rdma_control_packet_tc),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_packets_are_charged_as_documented() {
        let of = |model| Nic::of_model(model).packets().unwrap();
        assert_eq!(of(NicModel::Uet).largest(u64::MAX), 4_184);
        assert_eq!(of(NicModel::Roce).largest(u64::MAX), 4_136);
        assert_eq!(of(NicModel::FixedWindow).largest(10), 98);
        assert_eq!(Nic::of_model(NicModel::OpenLoop).packets(), None);
    }

    #[test]
    fn answers_follow_the_acknowledgements_asked_for() {
        let mut uet = Nic::of_model(NicModel::Uet);
        assert_eq!(uet.answers(), 1.0);
        uet.pds_manager.ack_request_every_nth_packet = 8;
        assert_eq!(uet.answers(), 0.125);
        assert_eq!(Nic::of_model(NicModel::Roce).answers(), 1.0 / 17.0);
        assert_eq!(Nic::default().answers(), 0.0);
    }

    #[test]
    fn a_message_of_nothing_is_one_packet() {
        let uet = Nic::of_model(NicModel::Uet).packets().unwrap();
        assert_eq!((uet.count(0), uet.count(1 << 20), uet.count(4_097)), (1, 256, 2));
        assert_eq!(uet.largest(0), 88);
    }

    #[test]
    fn classes_follow_the_code_point_or_the_model() {
        let uet = Nic::of_model(NicModel::Uet).packets().unwrap();
        let roce = Nic::of_model(NicModel::Roce).packets().unwrap();
        assert_eq!(
            (uet.class_of(24), roce.class_of(24), roce.class_of(64)),
            (Some(0), Some(3), None)
        );
    }
}
