//! Dividing a buffer among headroom, lossless and lossy pools.

use super::{Budget, Line, Part, Settings, XoffRule, largest, shortfall};
use crate::scenario::links::{LinkKind, SwitchKind};
use crate::scenario::offered::Offered;
use crate::scenario::sizing::Sizing;
use crate::scenario::startup::Startup;
use crate::scenario::{SharedBufferManager, Switch};

/// Packets between Xoff and Xon at least: with one alone, pause and resume alternate.
const BAND: u64 = 2;
/// Xoff is rounded down to this where it is chosen, bytes.
const ROUND: u64 = 1_000;
/// Fewest and most decimals of a pool's share.
const DECIMALS: std::ops::RangeInclusive<u32> = 2..=12;

/// A pool of lossy classes.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LossyPool {
    number: u8,
    classes: u8,
    /// Its share now.
    share: f64,
    /// Largest packet, bytes.
    packet: u64,
}

/// What a tier's switches have to hold.
#[derive(Debug, Clone)]
pub(super) struct Demand<'a> {
    switch: &'a Switch,
    offered: &'a Offered,
    /// Connected ports of each kind.
    ports: Vec<u32>,
    /// The links of all of them.
    links: Vec<LinkKind>,
    /// The most of them.
    most: u32,
    lossless: u8,
    headroom: u64,
    /// Largest packet of the lossless classes, bytes.
    packet: u64,
    lossy: Vec<LossyPool>,
}

impl<'a> Demand<'a> {
    pub(super) fn new(
        switch: &'a Switch,
        kinds: &[&SwitchKind],
        lossless: u8,
        offered: &'a Offered,
        headroom: u64,
    ) -> Demand<'a> {
        let ports: Vec<u32> = kinds.iter().map(|kind| kind.ports()).collect();
        let links = kinds.iter().flat_map(|kind| kind.links.iter().copied()).collect();
        let most = ports.iter().copied().max().unwrap_or(1).max(1);
        let lossy = match switch.shared_buffer_manager.uet_policy_enabled {
            // Its pools have fixed proportions, and no class chooses its own.
            true => Vec::new(),
            false => lossy_pools(&switch.shared_buffer_manager, lossless, offered),
        };
        let packet = largest(offered, lossless);
        Demand { switch, offered, ports, links, most, lossless, headroom, packet, lossy }
    }

    fn uet(&self) -> bool {
        self.switch.shared_buffer_manager.uet_policy_enabled
    }

    fn total(&self) -> u64 {
        self.switch.shared_buffer_manager.total_shared_buffer_size.0
    }

    fn classes(&self) -> impl Iterator<Item = u8> {
        let lossless = self.lossless;
        (0..8u8).filter(move |class| lossless >> class & 1 == 1)
    }

    /// What the headroom leaves, bytes; below 0 if it takes more than there is.
    fn rest(&self) -> i128 {
        i128::from(self.total()) - i128::from(self.headroom) * i128::from(self.most)
    }

    /// What the pause points of a class take, bytes.
    fn points(&self, class: u8, xoff: u64) -> i128 {
        let packet = self.offered.largest_of(class);
        (i128::from(xoff) + i128::from(packet)) * i128::from(self.most)
    }

    /// The least a lossy pool has to hold: a packet a port.
    fn floor(&self, pool: &LossyPool) -> i128 {
        i128::from(pool.packet) * i128::from(self.most)
    }

    /// The sizing total with which Xoff fits, bytes.
    fn needs(&self, xoff: u64) -> i128 {
        if self.uet() {
            let share = |class: u8| if class == 0 { 3 } else { 2 };
            // The pools are three, two and two sevenths, rounded down.
            let of = |class| (self.points(class, xoff) * 7 + share(class) - 1) / share(class) + 1;
            return self.classes().map(of).max().unwrap_or(0);
        }
        let lossless: i128 = self.classes().map(|class| self.points(class, xoff)).sum();
        lossless + self.lossy.iter().map(|pool| self.floor(pool)).sum::<i128>()
    }

    /// The least Xoff with which a port sends on while a resume is under way.
    fn least_xoff(&self) -> u64 {
        self.headroom.saturating_add(BAND * self.packet)
    }

    /// The largest Xoff with which no more than `needs` of `rest` is taken; `None`: not even 0.
    fn largest_xoff(&self, rest: i128) -> Option<u64> {
        if self.needs(0) > rest {
            return None;
        }
        // The need grows with Xoff: bisect on it.
        let (mut fits, mut beyond) = (0u64, 1u64 << 32);
        while beyond - fits > 1 {
            let middle = fits + (beyond - fits) / 2;
            if self.needs(middle) <= rest { fits = middle } else { beyond = middle }
        }
        Some(fits)
    }

    /// The first Xoff by the rules that can be set, with its settings and their account.
    pub(super) fn settle(&self) -> Option<(Settings, Budget)> {
        let set = self.switch.shared_buffer_manager.static_pool_xoff_threshold.0;
        let found = self.settings(set, XoffRule::AsSet);
        found
            .or_else(|| {
                let floors: i128 = self.lossy.iter().map(|pool| self.floor(pool)).sum();
                let share: f64 = self.lossy.iter().map(|pool| pool.share).sum();
                let kept = (share.min(1.0) * self.rest().max(0) as f64) as i128;
                let kept = if self.uet() { 0 } else { (kept - floors).max(0) };
                let largest = self.largest_xoff(self.rest() - kept)? / ROUND * ROUND;
                let fine = largest >= self.least_xoff();
                fine.then(|| self.settings(largest, XoffRule::Largest)).flatten()
            })
            .or_else(|| self.settings(self.least_xoff(), XoffRule::Least))
    }

    /// Settings with this Xoff, if they fit and meet the conditions when started.
    fn settings(&self, xoff: u64, xoff_rule: XoffRule) -> Option<(Settings, Budget)> {
        if self.needs(xoff) > self.rest() {
            return None;
        }
        let set = self.switch.shared_buffer_manager.static_pool_xon_threshold.0;
        let highest = xoff.saturating_sub(BAND * self.packet);
        let xon_as_set = set <= highest;
        let xon = if xon_as_set { set } else { self.headroom.max(xoff / 2).min(highest) };
        let with = |allocation, mapping| Settings {
            headroom: self.headroom,
            xoff,
            xoff_rule,
            xon,
            xon_as_set,
            allocation,
            mapping,
        };
        if self.uet() {
            return self.prove(with(None, None));
        }
        let mapping = self.mapping();
        DECIMALS.into_iter().find_map(|decimals| {
            let allocation = self.allocation(xoff, decimals)?;
            self.prove(with(Some(allocation), Some(mapping)))
        })
    }

    /// Lossless classes to the pools of their numbers, lossy ones to theirs, the others as set.
    fn mapping(&self) -> [i64; 8] {
        let mut mapping = self.switch.shared_buffer_manager.traffic_class_pool_mapping;
        for class in self.classes() {
            mapping[usize::from(class)] = i64::from(class);
        }
        for pool in &self.lossy {
            for class in (0..8).filter(|class| pool.classes >> class & 1 == 1) {
                mapping[class] = i64::from(pool.number);
            }
        }
        mapping
    }

    /// Shares of that many decimals that sum to 1; `None` if so few cannot say it.
    fn allocation(&self, xoff: u64, decimals: u32) -> Option<[f64; 8]> {
        let steps = 10i128.pow(decimals);
        let rest = self.rest().max(1);
        // Rounded up, and one step more where floating point cuts a byte off.
        let up = |bytes: i128| (bytes * steps + rest - 1) / rest;
        let mut taken = [0i128; 8];
        for class in self.classes() {
            taken[usize::from(class)] = up(self.points(class, xoff));
        }
        let whole = steps - taken.iter().sum::<i128>();
        let shares: f64 = self.lossy.iter().map(|pool| pool.share).sum();
        let mut left = whole;
        for (index, pool) in self.lossy.iter().enumerate() {
            let even = 1.0 / self.lossy.len() as f64;
            let part = if shares > 0.0 { pool.share / shares } else { even };
            let last = index + 1 == self.lossy.len();
            let part = if last { left } else { (part * whole as f64) as i128 };
            let part = part.max(up(self.floor(pool)));
            taken[usize::from(pool.number)] = part;
            left -= part;
        }
        // The last pool takes in bytes what the others leave, so its own share is what is left of
        // 1, even if that says a byte less than it gets.
        let lossy = self.lossy.last().map(|pool| pool.number);
        let last = self.classes().chain(lossy).max()?;
        taken[usize::from(last)] += steps - taken.iter().sum::<i128>();
        if taken.iter().any(|&steps| steps < 0) {
            return None;
        }
        // The double nearest to the decimal, as the file's parser finds it.
        Some(taken.map(|share| share as f64 / steps as f64))
    }

    /// The account of a switch started with these settings, if every kind of the tier meets the
    /// conditions with them.
    fn prove(&self, settings: Settings) -> Option<(Settings, Budget)> {
        let mut switch = self.switch.clone();
        settings.lay_over(&mut switch.shared_buffer_manager);
        let mut account = None;
        for &ports in &self.ports {
            let startup = Startup::new(&switch, ports).ok()?;
            if !self.met(&startup) {
                return None;
            }
            if ports == self.most {
                account = Some(Budget::of(&startup, self.offered));
            }
        }
        Some((settings, account?))
    }

    /// Whether a started switch meets the three conditions for every lossless class, and holds a
    /// packet a port in lossy pools.
    fn met(&self, startup: &Startup) -> bool {
        let lossless = self.classes().all(|class| {
            let sizing = Sizing::new(startup, class, &self.links, self.offered);
            sizing.is_some_and(|sizing| sizing.met())
        });
        let lossy = self.lossy.iter().all(|pool| {
            let least = pool.packet.saturating_mul(u64::from(startup.ports));
            startup.pools[usize::from(pool.number)].is_some_and(|own| own.size >= least)
        });
        lossless && lossy
    }

    /// The account of the least that is needed, and of what does not fit.
    pub(super) fn account(&self) -> Budget {
        let (ports, xoff) = (self.most, self.least_xoff());
        let headroom = Part::Headroom { ports, per_port: self.headroom };
        let reserved = i128::from(self.headroom) * i128::from(ports);
        let mut lines = vec![Line::new(headroom, reserved)];
        for class in self.classes() {
            let packet = largest(self.offered, 1 << class);
            let part = Part::PausePoints { pool: class, classes: 1 << class, ports, xoff, packet };
            lines.push(Line::new(part, self.points(class, xoff)));
        }
        if self.uet() {
            let own: i128 = self.classes().map(|class| self.points(class, xoff)).sum();
            lines.push(Line::new(Part::Proportions, self.needs(xoff) - own));
        }
        for pool in &self.lossy {
            let part = Part::Lossy { pool: pool.number, classes: pool.classes };
            lines.push(Line::new(part, self.floor(pool)));
        }
        shortfall(self.total(), lines)
    }
}

/// The pools of lossy classes with traffic: where they are now, unless a lossless class is there.
fn lossy_pools(buffer: &SharedBufferManager, lossless: u8, offered: &Offered) -> Vec<LossyPool> {
    let mut pools: Vec<LossyPool> = Vec::new();
    for class in (0..8u8).filter(|class| (offered.classes & !lossless) >> class & 1 == 1) {
        let own = u8::try_from(buffer.traffic_class_pool_mapping[usize::from(class)]).ok();
        let free = own.filter(|&pool| pool < 8 && lossless >> pool & 1 == 0);
        // No lossless class has this one's number.
        let number = free.unwrap_or(class);
        let packet = offered.largest_of(class);
        match pools.iter_mut().find(|pool| pool.number == number) {
            Some(pool) => {
                pool.classes |= 1 << class;
                pool.packet = pool.packet.max(packet);
            }
            None => {
                let share = buffer.pool_allocation_map[usize::from(number)];
                let share = if share.is_finite() { share.max(0.0) } else { 0.0 };
                pools.push(LossyPool { number, classes: 1 << class, share, packet });
            }
        }
    }
    pools.sort_by_key(|pool| pool.number);
    pools
}
