//! A sweep file to a plan.
//!
//! Owns the order of the steps: read and merge files, read axes and rules, refuse what is too
//! large, build the blocks, resolve every point. Refuses to hold the rules of any one of them.

use super::assemble::assemble;
use super::axis::{self, Axis, Context, FREE, Sort, Spec};
use super::base;
use super::bind::{self, Derived, Rule, Scope};
use super::expr::Value;
use super::fault::{Fault, Pos, Sources, SweepError, suggest};
use super::grid::{Block, Grid, Names, Repeat};
use super::keys::{self, Path, Step};
use super::layers::{self, Merged};
use super::plan::{Overrides, Plan};
use super::settings::{self, Variant};
use super::template::{self, Slot, Template};
use super::value;
use super::yaml::{self, Map, Node, Tree};
use crate::scenario::attributes::Kind;
use crate::scenario::check::MAX_TIME;
use crate::scenario::{Nic, NicBlock, NicModel, Switch};
use crate::units::Rational;
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Most points (repetitions counted) that are planned without being asked twice.
pub const SOFT_LIMIT: u64 = 100_000;
/// Most points of one plan.
pub const HARD_LIMIT: u64 = 10_000_000;

/// Plans a sweep file.
pub(crate) fn plan(path: &std::path::Path, overrides: &Overrides) -> Result<Plan, SweepError> {
    plan_from(Sources::default(), path, overrides)
}

/// Plans a sweep file, its texts read through these sources.
pub(crate) fn plan_from(
    mut sources: Sources,
    path: &std::path::Path,
    overrides: &Overrides,
) -> Result<Plan, SweepError> {
    let merged = layers::read(path, &mut sources)?;
    let stem = path.file_stem().map_or_else(String::new, |s| s.to_string_lossy().into_owned());
    let draft = Draft::read(merged, overrides, &stem, &mut sources);
    let draft = draft.map_err(|f| sources.error(f))?;
    let mut plan = draft.finish(sources)?;
    plan.overrides = overrides.clone();
    Ok(plan)
}

/// What the file says, read but not yet multiplied out.
struct Draft {
    merged: Merged,
    name: String,
    repeats: Vec<Repeat>,
    specs: Vec<Spec>,
    derived: Vec<Derived>,
    constraints: Vec<Rule>,
    checks: Vec<Rule>,
    variants: Vec<Variant>,
    warnings: Vec<String>,
}

impl Draft {
    fn read(
        mut merged: Merged,
        overrides: &Overrides,
        stem: &str,
        sources: &mut Sources,
    ) -> Result<Draft, Fault> {
        merged.yes = overrides.yes;
        let mut axis_settings: Vec<String> = overrides.axis.clone();
        for setting in &overrides.set {
            // A free variable has no place in `base`: a fixed one is an axis of one value.
            if setting.starts_with(FREE) {
                axis_settings.push(setting.clone());
            } else {
                layers::set_override(&mut merged, sources, setting)?;
            }
        }
        let (name, repeats) = settings::head(&merged, stem)?;
        let mut draft = Draft {
            name,
            repeats,
            specs: Vec::new(),
            derived: Vec::new(),
            constraints: settings::rules(&merged, "constraints")?,
            checks: settings::rules(&merged, "checks")?,
            variants: settings::variants(&merged)?,
            merged,
            warnings: Vec::new(),
        };
        draft.read_axes(&axis_settings, sources)?;
        draft.read_derived()?;
        draft.apart()?;
        Ok(draft)
    }

    fn traffic(&self) -> Vec<Node> {
        layers::list_of(&self.merged.base, "traffic").unwrap_or_default().to_vec()
    }

    fn read_axes(&mut self, settings: &[String], sources: &mut Sources) -> Result<(), Fault> {
        let traffic = self.traffic();
        let mut cx = Context { traffic: &traffic, sources };
        if let Some(entry) = self.merged.sections.get("axes") {
            for (name, entry) in &layers::mapping(entry.node.clone(), "axes")? {
                self.specs.push(axis::read(name, entry, &mut cx)?);
            }
        }
        for setting in settings {
            let (key, node) = layers::parse_setting(cx.sources, "--axis", setting)?;
            let node = match node.value {
                Tree::List(_) | Tree::Map(_) => node,
                // `a,b,c` on the command line is a list without its brackets.
                _ => {
                    let text = setting.split_once('=').map_or("", |(_, v)| v);
                    yaml::parse(node.at.file, &format!("[{text}]"))?
                }
            };
            let entry = yaml::Entry { key_at: node.at, node };
            let spec = axis::read(&key, &entry, &mut cx)?;
            let same = |s: &Spec| {
                s.name == spec.name
                    || (s.members.len() == 1
                        && spec.members.len() == 1
                        && !s.members[0].paths.is_empty()
                        && s.members[0].paths == spec.members[0].paths)
            };
            match self.specs.iter().position(same) {
                Some(i) => self.specs[i] = spec,
                None => self.specs.push(spec),
            }
        }
        // A value fixed on the command line no longer varies.
        for (written, paths) in &self.merged.set_paths {
            let hit = |s: &Spec| s.members.iter().any(|m| overlap(&m.paths, paths));
            let Some(i) = self.specs.iter().position(hit) else { continue };
            if self.specs[i].members.len() > 1 {
                let zip = &self.specs[i].name;
                return Err(Fault::nowhere(format!(
                    "--set {written}: the axis `{zip}` varies it together with other keys"
                ))
                .help(format!("replace the axis: `--axis '{zip}={{zip: {{...}}}}'`")));
            }
            let spec = self.specs.remove(i);
            self.warnings.push(format!("--set {written} replaces the axis `{}`", spec.name));
        }
        Ok(())
    }

    fn read_derived(&mut self) -> Result<(), Fault> {
        let Some(entry) = self.merged.sections.get("derived") else { return Ok(()) };
        let traffic = self.traffic();
        for (key, entry) in &layers::mapping(entry.node.clone(), "derived")? {
            let (paths, sort) = axis::target(key, entry.key_at, &traffic)?;
            if let Sort::Inner(_) = sort {
                return Err(Fault::new(
                    entry.key_at,
                    key,
                    "is a part of the scenario, not a value",
                )
                .help("derive its keys one by one"));
            }
            let rule = Rule::parse(&entry.node, key)?;
            if self.merged.set_paths.iter().any(|(_, set)| overlap(set, &paths)) {
                self.warnings.push(format!("--set {key} replaces the derived value"));
                continue;
            }
            self.derived.push(Derived { rule, paths, sort });
        }
        Ok(())
    }

    /// Nothing may be given its value twice.
    fn apart(&self) -> Result<(), Fault> {
        let mut given: Vec<(&str, &str, &[Path], Pos)> = Vec::new();
        for spec in &self.specs {
            for m in &spec.members {
                given.push(("an axis", &m.written, &m.paths, m.at));
            }
        }
        for d in &self.derived {
            given.push(("a derived value", &d.rule.key, &d.paths, d.rule.at));
        }
        // Sorted by path, two that overlap are neighbours; free variables go by name.
        let mut places: Vec<(Path, usize)> = Vec::new();
        for (i, (_, written, paths, _)) in given.iter().enumerate() {
            if paths.is_empty() {
                places.push((Path::default().key(written), i));
            }
            places.extend(paths.iter().map(|p| (p.clone(), i)));
        }
        places.sort();
        for pair in places.windows(2) {
            if pair[0].0.covers(&pair[1].0) {
                let (first, second) = (pair[0].1.min(pair[1].1), pair[0].1.max(pair[1].1));
                let (what, name, _, _) = given[first];
                let (other, written, _, at) = given[second];
                let message = format!(
                    "`{}` is given a value by {what} (`{name}`) and by {other} (`{written}`)",
                    pair[1].0
                );
                return Err(Fault::new(at, written, message).help("remove one of the two"));
            }
        }
        Ok(())
    }

    /// Which axes vary in each block.
    fn active(&self) -> Result<Vec<Vec<usize>>, Fault> {
        if self.variants.is_empty() {
            return Ok(vec![(0..self.specs.len()).collect()]);
        }
        let traffic = self.traffic();
        let mut all = Vec::with_capacity(self.variants.len());
        for variant in &self.variants {
            let mut dropped = vec![false; self.specs.len()];
            for (name, at) in &variant.drop {
                let paths = keys::resolve(name, &traffic).unwrap_or_default();
                let same = |s: &Spec| {
                    s.name == *name
                        || (!paths.is_empty()
                            && s.members.len() == 1
                            && s.members[0].paths == paths)
                };
                let Some(i) = self.specs.iter().position(same) else {
                    let names: Vec<&str> = self.specs.iter().map(|s| s.name.as_str()).collect();
                    let key = format!("scenarios.{}.drop-axes", variant.label);
                    return Err(Fault::new(*at, key, format!("`{name}` is not an axis"))
                        .maybe_help(suggest(name, &names)));
                };
                dropped[i] = true;
            }
            let active: Vec<usize> = (0..self.specs.len()).filter(|&i| !dropped[i]).collect();
            self.set_apart(variant, &active)?;
            all.push(active);
        }
        Ok(all)
    }

    /// A scenario may not fix what an axis varies or what is derived.
    fn set_apart(&self, variant: &Variant, active: &[usize]) -> Result<(), Fault> {
        let key = format!("scenarios.{}.set", variant.label);
        let mut set: Vec<(Path, Pos)> =
            variant.set.patches.iter().map(|(p, node)| (p.clone(), node.at)).collect();
        leaves(&variant.set.tree, &mut |path, at| set.push((path, at)));
        for (path, at) in set {
            axis::refuse_recording(&path, at, &key)?;
            let one = std::slice::from_ref(&path);
            for &i in active {
                if self.specs[i].members.iter().any(|m| overlap(&m.paths, one)) {
                    let axis = &self.specs[i].name;
                    return Err(Fault::new(
                        at,
                        key,
                        format!("`{path}` is varied by the axis `{axis}`"),
                    )
                    .help(format!("add `drop-axes: [{axis}]` to this scenario")));
                }
            }
            if let Some(d) = self.derived.iter().find(|d| overlap(&d.paths, one)) {
                return Err(Fault::new(
                    at,
                    key,
                    format!("`{path}` is derived (`{}`)", d.rule.expr.source()),
                )
                .help("remove it here or from `derived`"));
            }
        }
        Ok(())
    }

    /// Refuses a grid that is too large, before anything of it exists.
    fn guard(&self, active: &[Vec<usize>], yes: bool) -> Result<Vec<u64>, Fault> {
        let mut counts = Vec::with_capacity(active.len());
        let mut total = 0u128;
        for axes in active {
            let product =
                axes.iter().fold(1u128, |n, &i| n.saturating_mul(self.specs[i].len.into()));
            total = total.saturating_add(product.saturating_mul(self.repeats.len() as u128));
            counts.push(u64::try_from(product).unwrap_or(u64::MAX));
        }
        let limit = if yes { HARD_LIMIT } else { SOFT_LIMIT };
        if total > limit.into() {
            let mut factors: Vec<String> =
                self.specs.iter().map(|s| format!("{} {}", s.len, s.name)).collect();
            if self.repeats.len() > 1 {
                factors.push(format!("{} repetitions", self.repeats.len()));
            }
            if active.len() > 1 {
                factors.insert(0, format!("{} scenarios", active.len()));
            }
            let listed = factors.join(" × ");
            let help = if total > HARD_LIMIT.into() {
                format!("no plan may have more than {HARD_LIMIT}: take fewer values")
            } else {
                "take fewer values, or add `--yes` if that many are meant".to_owned()
            };
            let at = self.specs.iter().max_by_key(|s| s.len).map(|s| s.at);
            let message = format!("the grid has {total} points ({listed}), more than {limit}");
            return Err(Fault { at, ..Fault::nowhere(message) }.help(help));
        }
        Ok(counts)
    }

    fn finish(self, sources: Sources) -> Result<Plan, SweepError> {
        let fault = |f: Fault| sources.error(f);
        let yes = self.merged.yes;
        let active = self.active().map_err(fault)?;
        let counts = self.guard(&active, yes).map_err(fault)?;
        let Draft {
            merged,
            name,
            repeats,
            specs,
            derived,
            constraints,
            checks,
            variants,
            mut warnings,
        } = self;
        let mut axes = Vec::with_capacity(specs.len());
        for spec in specs {
            axes.push(spec.expand(&sources).map_err(fault)?);
        }
        lint(&merged, &axes, &mut warnings);
        let mut grid = Grid {
            axes,
            derived,
            derived_order: Vec::new(),
            constraints,
            checks,
            blocks: Vec::new(),
            repeats,
            traces: BTreeMap::new(),
        };
        let mut first = 0;
        for (i, active) in active.into_iter().enumerate() {
            let block = build_block(&mut grid, &merged, variants.get(i), active, &sources)
                .map_err(|f| sources.error(f))?;
            let count = counts[i];
            grid.blocks.push(Block { first, count, ..block });
            first += count;
        }
        grid.traces = sources.outlooks();
        check_recording(&grid).map_err(|f| sources.error(f))?;
        assemble(grid, merged, name, variants, warnings, sources)
    }
}

/// Refuses an interval that cannot be. What is recorded is no part of a job, so it makes no point
/// infeasible: the whole file is wrong.
fn check_recording(grid: &Grid) -> Result<(), Fault> {
    for block in &grid.blocks {
        for key in ["record.interval", "switch.SharedBufferManager.BufferStatsReportInterval"] {
            let Ok(path) = Path::parse(key) else { continue };
            let Some(node) = keys::node_at(&block.base, &path) else { continue };
            if let Value::Time(time) = value::read(Kind::Time, node, key)?
                && !(Rational::from_integer(1)..=Rational::from_integer(MAX_TIME.into()))
                    .contains(&time)
            {
                return Err(Fault::new(node.at, key, format!("`{}` is no interval", node.show()))
                    .help("write a time above 0s and at most 1000000s, such as `10us`"));
            }
        }
    }
    Ok(())
}

/// Whether some path of one list covers, or is covered by, one of the other.
fn overlap(a: &[Path], b: &[Path]) -> bool {
    a.iter().any(|a| b.iter().any(|b| a.covers(b) || b.covers(a)))
}

/// Calls `see` for every value of a tree that is no mapping.
fn leaves(tree: &Map, see: &mut dyn FnMut(Path, Pos)) {
    fn walk(map: &Map, path: &Path, see: &mut dyn FnMut(Path, Pos)) {
        for (key, entry) in map {
            match &entry.node.value {
                Tree::Map(inner) => walk(inner, &path.key(key), see),
                _ => see(path.key(key), entry.node.at),
            }
        }
    }
    walk(tree, &Path::default(), see);
}

/// What is allowed but probably not meant, in the values themselves.
fn lint(merged: &Merged, axes: &[Axis], warnings: &mut Vec<String>) {
    base::visit(&merged.base, &mut |path, node| {
        warnings.extend(value::binary_lint(node, &path.to_string()));
    });
    for axis in axes {
        for m in axis.members.iter().filter(|m| !m.hidden) {
            warnings.extend(m.lints.iter().cloned());
            let alone = axis.members.iter().filter(|m| !m.hidden).count() == 1;
            let twice = m.values.windows(2).find(|w| w[0] == w[1]);
            if let (true, Some(pair), false) = (alone, twice, matches!(m.sort, Sort::Inner(_))) {
                warnings.push(format!("axis {}: {} stands there twice", axis.name, pair[0]));
            }
        }
    }
}

/// The scenario of a block with gaps for what varies, and its names bound.
fn build_block(
    grid: &mut Grid,
    merged: &Merged,
    variant: Option<&Variant>,
    active: Vec<usize>,
    sources: &Sources,
) -> Result<Block, Fault> {
    let mut base = merged.base.clone();
    if let Some(variant) = variant {
        variant.set.apply(&mut base)?;
        for layer in &merged.overrides {
            layer.apply(&mut base)?;
        }
    }
    let gaps = gaps(grid, &active);
    let mut json = base::read(&base, sources)?;
    whole_lists(&mut json, &gaps);
    for (path, slot) in &gaps {
        let (example, at) = match *slot {
            Slot::Axis { axis, member } => {
                (grid.axes[axis].members[member].json.first().cloned(), None)
            }
            Slot::Derived(i) => {
                let derived = &grid.derived[i];
                let kind = if let Sort::Leaf(kind) = derived.sort { kind } else { Kind::Number };
                // Only its shape matters: the gap takes its place.
                let there = template::get(&json, path).filter(|j| !j.is_null()).cloned();
                (Some(there.unwrap_or_else(|| example(kind))), Some(derived.rule.at))
            }
        };
        let example = example.unwrap_or(Json::Null);
        template::put(&mut json, path, example).ok_or_else(|| nowhere(path, at, &base))?;
    }
    let scenario = base::scenario(&json, &base)?;
    let no_form =
        |e: serde_json::Error| Fault::nowhere(format!("the scenario has no JSON form: {e}"));
    let complete = serde_json::to_value(&scenario).map_err(no_form)?;
    let tag = |path: &Path| matches!(path.0.last(), Some(Step::Key(key)) if key == "kind" || key == "pattern");
    let model = scenario.nic.model;
    let parts = active
        .iter()
        .any(|&a| grid.axes[a].members.iter().any(|m| matches!(m.sort, Sort::Inner(_))));
    let varied = parts || gaps.iter().any(|(path, _)| tag(path) || comes_and_goes(path, model));
    // Where the shape varies, defaults differ from point to point: they are filled in later.
    let shape = if varied { &json } else { &complete };
    let full = Template::new(shape, &gaps).map_err(|p| nowhere(&p, None, &base))?;
    let identity = Template::identity(shape, &gaps).map_err(|p| nowhere(&p, None, &base))?;
    let traffic = layers::list_of(&base, "traffic").unwrap_or_default();
    // Expressions may name what the scenario's own text leaves out.
    let known = scenario.in_full().map_err(no_form)?;
    let scope =
        Scope { axes: &grid.axes, active: &active, derived: &grid.derived, traffic, json: &known };
    let bind = |rule: &Rule| scope.bind(rule).map(|names| names.into_iter().collect::<Names>());
    let derived_names: Vec<Names> =
        grid.derived.iter().map(|d| bind(&d.rule)).collect::<Result<_, _>>()?;
    let constraint_names = grid.constraints.iter().map(bind).collect::<Result<_, _>>()?;
    let check_names = grid.checks.iter().map(bind).collect::<Result<_, _>>()?;
    let needs: Vec<Vec<usize>> = derived_names
        .iter()
        .map(|names| {
            let mut needs: Vec<usize> = names.values().flat_map(bind::Binding::needs).collect();
            needs.sort_unstable();
            needs.dedup();
            needs
        })
        .collect();
    let order = bind::order(&needs).map_err(|cycle| {
        let names: Vec<&str> = cycle.iter().map(|&i| grid.derived[i].rule.key.as_str()).collect();
        let at = grid.derived[cycle[0]].rule.at;
        Fault::new(at, names[0], format!("derived values need each other: {}", names.join(" -> ")))
    })?;
    // Needs follow from names and paths, which are the same in every block.
    grid.derived_order = order;
    Ok(Block {
        label: variant.map(|v| v.label.clone()),
        active,
        first: 0,
        count: 0,
        base,
        full,
        identity,
        varied,
        derived_names,
        constraint_names,
        check_names,
    })
}

/// Whether the text of a scenario has this key at some points and lacks it at others, or has other
/// defaults beside it: the NIC's model, and what the model does not read; blocks of the switch that
/// are left out while they hold only defaults, and so are quanta that nobody sends.
fn comes_and_goes(path: &Path, model: NicModel) -> bool {
    match path.0.as_slice() {
        [Step::Key(key)] => key == "stop_on_deadlock",
        [Step::Key(switch), Step::Key(key), ..] if switch == "switch" => {
            Switch::OPTIONAL_BLOCKS.contains(&key.as_str())
        }
        [Step::Key(nic), Step::Key(key), ..] if nic == "nic" => {
            key == "model"
                || key == "QuantaValue"
                || NicBlock::of_key(key).is_some_and(|block| !block.is_read_by(model))
        }
        _ => false,
    }
}

/// Gives lists of which single places vary their default values, where the file is silent.
fn whole_lists(json: &mut Json, gaps: &[(Path, Slot)]) {
    let model = json.pointer("/nic/model").cloned().unwrap_or_default();
    let defaults = || {
        let model = serde_json::from_value(model.clone()).unwrap_or_default();
        let nic = Nic::of_model(model).in_full().unwrap_or_default();
        let switch = Switch::default().in_full().unwrap_or_default();
        serde_json::json!({"switch": switch, "nic": nic})
    };
    for (path, _) in gaps {
        let Some((Step::At(_), list)) = path.0.split_last() else { continue };
        let list = Path(list.to_vec());
        if template::get(json, &list).is_none_or(Json::is_null)
            && let Some(default) = template::get(&defaults(), &list)
        {
            // A list that cannot be put here is reported when the place itself is.
            let _ = template::put(json, &list, default.clone());
        }
    }
}

fn nowhere(path: &Path, at: Option<Pos>, base: &Map) -> Fault {
    let at = at.or_else(|| base::place(base, path));
    Fault { at, ..Fault::nowhere(format!("`{path}` is not a place in the scenario of `base`")) }
}

fn gaps(grid: &Grid, active: &[usize]) -> Vec<(Path, Slot)> {
    let mut gaps = Vec::new();
    for &axis in active {
        for (member, m) in grid.axes[axis].members.iter().enumerate() {
            let slot = Slot::Axis { axis, member };
            gaps.extend(m.paths.iter().map(|p| (p.clone(), slot)));
        }
    }
    for (i, derived) in grid.derived.iter().enumerate() {
        gaps.extend(derived.paths.iter().map(|p| (p.clone(), Slot::Derived(i))));
    }
    gaps
}

/// Some value of a kind.
fn example(kind: Kind) -> Json {
    match kind {
        Kind::Bytes | Kind::Rate | Kind::Time | Kind::Count | Kind::Int => Json::from(1),
        Kind::Number => Json::from(1.0),
        Kind::Bool => Json::from(false),
        Kind::Enum(words) => Json::from(*words.first().unwrap_or(&"")),
        Kind::Text => Json::from(""),
        Kind::Eight(inner) => Json::from(vec![example(*inner); 8]),
        Kind::List(_) => Json::from(Vec::<Json>::new()),
    }
}
