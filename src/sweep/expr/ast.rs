//! The shape of an expression, and how it is written out again.

use super::value::Value;
use std::fmt;
use std::ops::Range;

/// A part of the source, in bytes. Sources are far shorter than 4 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    start: u32,
    end: u32,
}

impl Span {
    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

impl From<Range<usize>> for Span {
    fn from(range: Range<usize>) -> Self {
        let narrow = |at| u32::try_from(at).unwrap_or(u32::MAX);
        Self { start: narrow(range.start), end: narrow(range.end) }
    }
}

/// An operator between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// How tightly things bind; larger is tighter.
pub(super) mod level {
    pub const OR: u8 = 1;
    pub const AND: u8 = 2;
    pub const NOT: u8 = 3;
    pub const COMPARISON: u8 = 4;
    pub const SUM: u8 = 5;
    pub const PRODUCT: u8 = 6;
    pub const NEGATION: u8 = 7;
    pub const INDEX: u8 = 8;
    pub const ATOM: u8 = 9;
}

impl Operator {
    pub(super) fn spelling(self) -> &'static str {
        match self {
            Self::Or => "or",
            Self::And => "and",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
            Self::In => "in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
        }
    }

    pub(super) fn level(self) -> u8 {
        match self {
            Self::Or => level::OR,
            Self::And => level::AND,
            Self::Equal
            | Self::NotEqual
            | Self::Less
            | Self::LessEqual
            | Self::Greater
            | Self::GreaterEqual
            | Self::In => level::COMPARISON,
            Self::Add | Self::Subtract => level::SUM,
            Self::Multiply | Self::Divide => level::PRODUCT,
        }
    }
}

/// A named function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Function {
    Min,
    Max,
    Floor,
    Ceil,
    Round,
    Abs,
    Sum,
    Len,
}

impl Function {
    pub(super) const ALL: [Self; 8] = [
        Self::Min,
        Self::Max,
        Self::Floor,
        Self::Ceil,
        Self::Round,
        Self::Abs,
        Self::Sum,
        Self::Len,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Min => "min",
            Self::Max => "max",
            Self::Floor => "floor",
            Self::Ceil => "ceil",
            Self::Round => "round",
            Self::Abs => "abs",
            Self::Sum => "sum",
            Self::Len => "len",
        }
    }

    /// How it is called, for messages.
    pub(super) fn usage(self) -> &'static str {
        match self {
            Self::Min => "min(a, b, ...) or min(list)",
            Self::Max => "max(a, b, ...) or max(list)",
            Self::Floor => "floor(value) or floor(value, step)",
            Self::Ceil => "ceil(value) or ceil(value, step)",
            Self::Round => "round(value) or round(value, step)",
            Self::Abs => "abs(value)",
            Self::Sum => "sum(a, b, ...) or sum(list)",
            Self::Len => "len(list)",
        }
    }

    pub(super) fn takes(self, arguments: usize) -> bool {
        match self {
            Self::Min | Self::Max | Self::Sum => arguments >= 1,
            Self::Floor | Self::Ceil | Self::Round => (1..=2).contains(&arguments),
            Self::Abs | Self::Len => arguments == 1,
        }
    }
}

/// One node of the tree.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub shape: Shape,
    /// What a message about this node points at: the operator of an operation, the name of a
    /// call, the whole of anything else.
    pub at: Span,
    /// Levels of nodes, this one included.
    pub height: u16,
}

/// Two nodes are equal if they mean the same, wherever they stand.
impl PartialEq for Node {
    fn eq(&self, other: &Self) -> bool {
        self.shape == other.shape
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    Literal(Value),
    /// Index into the expression's names.
    Name(usize),
    List(Vec<Node>),
    Index(Box<[Node; 2]>),
    Not(Box<Node>),
    Negate(Box<Node>),
    Operation(Operator, Box<[Node; 2]>),
    If(Box<[Node; 3]>),
    Call(Function, Vec<Node>),
}

impl Node {
    pub(super) fn new(shape: Shape, at: Span) -> Self {
        let below = match &shape {
            Shape::Literal(_) | Shape::Name(_) => 0,
            Shape::Not(node) | Shape::Negate(node) => node.height,
            Shape::Index(pair) | Shape::Operation(_, pair) => tallest(pair.as_slice()),
            Shape::If(triple) => tallest(triple.as_slice()),
            Shape::List(nodes) | Shape::Call(_, nodes) => tallest(nodes),
        };
        Self { shape, at, height: below.saturating_add(1) }
    }

    fn level(&self) -> u8 {
        match &self.shape {
            Shape::Operation(operator, _) => operator.level(),
            Shape::Not(_) => level::NOT,
            Shape::Negate(_) => level::NEGATION,
            Shape::Index(_) => level::INDEX,
            Shape::Literal(_)
            | Shape::Name(_)
            | Shape::List(_)
            | Shape::If(_)
            | Shape::Call(..) => level::ATOM,
        }
    }
}

fn tallest(nodes: &[Node]) -> u16 {
    nodes.iter().map(|node| node.height).max().unwrap_or(0)
}

/// Writes a tree with the fewest parentheses that read back as the same tree.
pub(super) struct Printer<'a> {
    pub source: &'a str,
    pub names: &'a [String],
}

impl Printer<'_> {
    /// Writes `node` where only something that binds at `least` as tightly may stand bare.
    pub(super) fn write(&self, f: &mut fmt::Formatter<'_>, node: &Node, least: u8) -> fmt::Result {
        let bare = node.level() >= least;
        if !bare {
            f.write_str("(")?;
        }
        match &node.shape {
            // A literal keeps the spelling it was given.
            Shape::Literal(_) => f.write_str(&self.source[node.at.range()])?,
            Shape::Name(index) => f.write_str(&self.names[*index])?,
            Shape::List(items) => {
                f.write_str("[")?;
                self.write_list(f, items)?;
                f.write_str("]")?;
            }
            Shape::Index(pair) => {
                self.write(f, &pair[0], level::INDEX)?;
                f.write_str("[")?;
                self.write(f, &pair[1], level::OR)?;
                f.write_str("]")?;
            }
            Shape::Not(inner) => {
                f.write_str("not ")?;
                self.write(f, inner, level::NOT)?;
            }
            Shape::Negate(inner) => {
                f.write_str("-")?;
                self.write(f, inner, level::NEGATION)?;
            }
            Shape::Operation(operator, pair) => {
                let own = operator.level();
                // Comparisons do not chain; everything else groups from the left.
                let left = own + u8::from(own == level::COMPARISON);
                self.write(f, &pair[0], left)?;
                write!(f, " {} ", operator.spelling())?;
                self.write(f, &pair[1], own + 1)?;
            }
            Shape::If(triple) => {
                f.write_str("if(")?;
                self.write_list(f, triple.as_slice())?;
                f.write_str(")")?;
            }
            Shape::Call(function, arguments) => {
                write!(f, "{}(", function.name())?;
                self.write_list(f, arguments)?;
                f.write_str(")")?;
            }
        }
        if !bare {
            f.write_str(")")?;
        }
        Ok(())
    }

    fn write_list(&self, f: &mut fmt::Formatter<'_>, nodes: &[Node]) -> fmt::Result {
        for (index, node) in nodes.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            self.write(f, node, level::OR)?;
        }
        Ok(())
    }
}
