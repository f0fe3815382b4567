//! `frontier`: the points of a sweep that no other beats in two or more figures.

use super::exit::{Exit, Failure};
use super::figures::{Computed, Figure, Row, rows};
use super::location::{Location, location};
use super::search::amount;
use super::summary::{View, point_name, varying};
use super::text::{self, Align, TextTable, count};
use crate::record::Dataset;
use crate::sizing::frontier::{Direction, Over, frontier};
use crate::sweep::expr::Value;
use crate::sweep::float;
use crate::sweep::plan::{JobId, Overrides, Plan};
use crate::units::{Rational, thousands};
use clap::Args;
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

/// Arguments of `frontier`.
#[derive(Debug, Args)]
pub struct FrontierArgs {
    /// A dataset, or the sweep file of one
    #[arg(value_parser = location())]
    file: Location,
    /// A figure to keep small: an expression over columns of jobs and axes; may be given again
    #[arg(long, value_name = "EXPRESSION")]
    minimize: Vec<String>,
    /// A figure to have much of; may be given again
    #[arg(long, value_name = "EXPRESSION")]
    maximize: Vec<String>,
    /// What the repetitions of a point count as
    #[arg(long, value_enum, default_value_t = OverArg::Worst)]
    over: OverArg,
    /// The dataset of a sweep file [default: out/NAME]
    #[arg(long, value_name = "DIR", value_parser = location())]
    out: Option<Location>,
    /// The points as JSON, in base units
    #[arg(long)]
    json: bool,
}

/// What the repetitions of a point count as.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum OverArg {
    /// The worst of them, in each figure
    Worst,
    /// Their mean
    Mean,
}

/// A figure and what is wanted of it.
struct Wanted {
    direction: Direction,
    figure: Figure,
}

/// A point of the sweep, its repetitions taken together.
struct Candidate {
    /// The first of its rows of `points`.
    point: usize,
    jobs: Vec<JobId>,
    values: Vec<Value>,
}

/// What there is.
#[derive(Default)]
struct Points {
    candidates: Vec<Candidate>,
    /// Points left out, by why.
    left_out: BTreeMap<String, usize>,
}

/// Prints the points on the frontier.
///
/// # Errors
/// Fewer than two figures, or such that cannot be computed; no dataset; a damaged file.
pub fn run(args: &FrontierArgs, out: &mut dyn Write) -> Result<(), Failure> {
    if args.minimize.len() + args.maximize.len() < 2 {
        return Err(Failure::new(
            Exit::Usage,
            "a frontier is between two figures or more: give --minimize and --maximize, each as \
             often as needed",
        ));
    }
    let (plan, dataset, place) = planned(args)?;
    let read = |option: &str, direction: Direction, text: &String| {
        let figure = Figure::read(option, text, &plan)?;
        figure.must_be_amount(option, &plan)?;
        Ok(Wanted { direction, figure })
    };
    let low = args.minimize.iter().map(|text| read("--minimize", Direction::Minimize, text));
    let high = args.maximize.iter().map(|text| read("--maximize", Direction::Maximize, text));
    let wanted = low.chain(high).collect::<Result<Vec<Wanted>, Failure>>()?;
    let ids: BTreeSet<JobId> = plan.jobs.iter().map(|job| job.id).collect();
    let figures: Vec<&Figure> = wanted.iter().map(|wanted| &wanted.figure).collect();
    let rows = rows(&dataset, &ids, &figures)?;
    let over = match args.over {
        OverArg::Worst => Over::Worst,
        OverArg::Mean => Over::Mean,
    };
    let points = collect(&plan, &rows, &wanted, over)?;
    let directions: Vec<Direction> = wanted.iter().map(|wanted| wanted.direction).collect();
    let amounts: Vec<Vec<Rational>> = points
        .candidates
        .iter()
        .map(|candidate| candidate.values.iter().filter_map(Value::amount).collect())
        .collect();
    let on = frontier(&directions, &amounts);
    let shown = Shown { plan: &plan, wanted: &wanted, points: &points, on: &on, over };
    let text = if args.json { shown.json(&place)? } else { shown.text(&place) };
    out.write_all(text.as_bytes())?;
    Ok(())
}

/// The dataset, its plan, and what it is called.
fn planned(args: &FrontierArgs) -> Result<(Plan, Dataset, Location), Failure> {
    let place = match &args.file {
        Location::Folder(file) if !file.is_dir() => {
            let overrides = Overrides { yes: true, ..Overrides::default() };
            let named = Plan::load(file, &overrides)?;
            let usual = || Location::Folder(Path::new("out").join(&named.name));
            args.out.clone().unwrap_or_else(usual)
        }
        _ if args.out.is_some() => {
            let text = "--out goes with a sweep file: a dataset is named alone";
            return Err(Failure::new(Exit::Usage, text));
        }
        data => data.clone(),
    };
    // The plan that ran may have had more laid over the file.
    let mut plan = None;
    let (_, dataset) = place.read_planned(&mut plan)?;
    match plan {
        Some(plan) => Ok((plan, dataset, place)),
        None => Err(Failure::new(Exit::Internal, "a dataset that was read without its plan")),
    }
}

fn collect(
    plan: &Plan,
    rows: &BTreeMap<JobId, Row>,
    wanted: &[Wanted],
    over: Over,
) -> Result<Points, Failure> {
    let mut points = Points::default();
    let repetitions = usize::try_from(plan.repetitions.max(1)).unwrap_or(1);
    for first in (0..plan.points.len()).step_by(repetitions) {
        let all = first..plan.points.len().min(first + repetitions);
        match candidate(plan, rows, wanted, over, all)? {
            Ok(candidate) => points.candidates.push(candidate),
            Err(why) => *points.left_out.entry(why).or_default() += 1,
        }
    }
    Ok(points)
}

/// A point, or why it has no place on any frontier.
fn candidate(
    plan: &Plan,
    rows: &BTreeMap<JobId, Row>,
    wanted: &[Wanted],
    over: Over,
    all: std::ops::Range<usize>,
) -> Result<Result<Candidate, String>, Failure> {
    let point = all.start;
    let mut jobs = Vec::new();
    let mut values: Vec<Vec<Value>> = vec![Vec::new(); wanted.len()];
    for index in all {
        let Some(job) = plan.points[index].job.map(|job| plan.jobs[job].id) else {
            return Ok(Err("excluded by a constraint".into()));
        };
        let Some(row) = rows.get(&job) else {
            return Ok(Err("outstanding".into()));
        };
        if row.status != "ok" {
            return Ok(Err(row.status.clone()));
        }
        jobs.push(job);
        for (values, Wanted { figure, .. }) in values.iter_mut().zip(wanted) {
            match figure.at(plan, index, row) {
                Ok(Computed::Value(value)) => values.push(value),
                Ok(Computed::Missing(name)) => return Ok(Err(format!("{name} has no value"))),
                Err(error) => {
                    let view = View::of(plan);
                    let name = point_name(view, &varying(view), index);
                    return Err(Failure::new(Exit::Usage, format!("at {name}: {error}")));
                }
            }
        }
    }
    let mut combined = Vec::with_capacity(wanted.len());
    for (values, Wanted { direction, figure }) in values.iter().zip(wanted) {
        let amounts: Vec<Rational> = values.iter().filter_map(Value::amount).collect();
        let amount = over.of(*direction, &amounts).filter(|_| amounts.len() == values.len());
        let Some((amount, first)) = amount.zip(values.first()) else {
            return Ok(Err(format!("{} is no number there", figure.source())));
        };
        combined.push(match first {
            Value::Bytes(_) => Value::Bytes(amount),
            Value::Rate(_) => Value::Rate(amount),
            Value::Time(_) => Value::Time(amount),
            _ => Value::Number(amount),
        });
    }
    Ok(Ok(Candidate { point, jobs, values: combined }))
}

/// What is printed.
struct Shown<'a> {
    plan: &'a Plan,
    wanted: &'a [Wanted],
    points: &'a Points,
    on: &'a [usize],
    over: Over,
}

impl Shown<'_> {
    fn heads(&self) -> Vec<String> {
        let head = |wanted: &Wanted| match wanted.direction {
            Direction::Minimize => format!("min {}", wanted.figure.source()),
            Direction::Maximize => format!("max {}", wanted.figure.source()),
        };
        self.wanted.iter().map(head).collect()
    }

    fn repetitions(&self) -> String {
        match (self.plan.repetitions, self.over) {
            (0 | 1, _) => String::new(),
            (n, Over::Worst) => format!(", the worst of {n} repetitions"),
            (n, Over::Mean) => format!(", the mean of {n} repetitions"),
        }
    }

    fn text(&self, data: &Location) -> String {
        let view = View::of(self.plan);
        let shown = varying(view);
        let candidates = &self.points.candidates;
        let mut out = format!(
            "{}: {} of {} on the frontier{}\n",
            self.plan.name,
            self.on.len(),
            count(candidates.len(), "point"),
            self.repetitions(),
        );
        let mut head = vec![];
        let scenarios = self.plan.points.iter().any(|point| point.scenario.is_some());
        if scenarios {
            head.push(("scenario".to_owned(), Align::Left));
        }
        let columns = &self.plan.columns;
        head.extend(shown.iter().map(|&c| (columns[c].name.clone(), text::align(&columns[c]))));
        head.extend(self.heads().into_iter().map(|head| (head, Align::Right)));
        let mut table = TextTable::new(head);
        for &index in self.on {
            let candidate = &candidates[index];
            let mut cells = vec![];
            if scenarios {
                let label = self.plan.points[candidate.point].scenario.clone();
                cells.push(label.unwrap_or_default());
            }
            cells.extend(shown.iter().map(|&c| text::cell(&columns[c], candidate.point)));
            cells.extend(candidate.values.iter().map(brief));
            table.row(cells);
        }
        if !self.on.is_empty() {
            out.push('\n');
            out.push_str(&table.render());
        }
        out.push('\n');
        for (why, &points) in &self.points.left_out {
            out.push_str(&format!("left out {}: {why}\n", count(points, "point")));
        }
        out.push_str(&format!("data    {data}\n"));
        out
    }

    fn json(&self, data: &Location) -> Result<String, Failure> {
        let heads = self.heads();
        let columns = &self.plan.columns;
        let point = |&index: &usize| {
            let candidate = &self.points.candidates[index];
            let axes: serde_json::Map<String, Json> = columns
                .iter()
                .map(|column| {
                    let value = super::figures::axis_value(column, candidate.point);
                    (column.name.clone(), value.map_or(Json::Null, |value| as_json(&value)))
                })
                .collect();
            let values: serde_json::Map<String, Json> =
                heads.iter().cloned().zip(candidate.values.iter().map(as_json)).collect();
            let jobs: Vec<String> = candidate.jobs.iter().map(JobId::to_string).collect();
            json!({
                "scenario": self.plan.points[candidate.point].scenario,
                "axes": axes,
                "figures": values,
                "job_ids": jobs,
            })
        };
        let document = json!({
            "sweep": self.plan.name,
            "over": match self.over { Over::Worst => "worst", Over::Mean => "mean" },
            "repetitions": self.plan.repetitions,
            "figures": heads,
            "points": self.points.candidates.len(),
            "left_out": self.points.left_out,
            "frontier": self.on.iter().map(point).collect::<Vec<_>>(),
            "data": data.to_string(),
        });
        let text = serde_json::to_string_pretty(&document)
            .map_err(|error| Failure::new(Exit::Internal, error))?;
        Ok(text + "\n")
    }
}

fn as_json(value: &Value) -> Json {
    match value {
        Value::Bool(truth) => Json::from(*truth),
        Value::Text(text) => Json::from(text.as_str()),
        Value::List(items) => items.iter().map(as_json).collect(),
        _ => value.amount().map_or(Json::Null, |value| amount(&value)),
    }
}

/// Whole amounts as they are; others to four digits, as nobody reads more.
fn brief(value: &Value) -> String {
    let Some(exact) = value.amount() else { return value.to_string() };
    if exact.is_integer() {
        return match value {
            Value::Number(_) => thousands(*exact.numer()),
            _ => value.to_string(),
        };
    }
    let nearest = float(&exact);
    match value {
        Value::Time(_) => text::about_time(nearest),
        Value::Rate(_) => text::about_rate(nearest),
        Value::Bytes(_) => Value::Bytes(exact.round()).to_string(),
        _ => {
            let digits = 3 - (nearest.abs().log10().floor() as i32).clamp(-9, 3);
            format!("{nearest:.*}", usize::try_from(digits).unwrap_or(0))
        }
    }
}
