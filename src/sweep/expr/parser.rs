//! Tokens to a tree, by precedence climbing.
//!
//! Written out rather than taken from a combinator, because nesting has to be counted: a sweep
//! file must never be able to exhaust the stack.

use super::ast::{Function, Node, Operator, Shape, Span, level};
use super::error::ExprError;
use super::lexer::{Token, tokens};
use super::value::Value;
use super::{MAX_DEPTH, MAX_LEN};
use crate::units::Unit;
use indexmap::IndexSet;
use std::ops::Range;

/// The tree of `source`, and the names in it in order of appearance.
pub(super) fn parse(source: &str) -> Result<(Node, Vec<String>), ExprError> {
    if source.len() > MAX_LEN {
        // Only the beginning is kept: the text may be anything.
        let shown: String = source.chars().take(60).collect();
        let end = shown.len();
        return Err(ExprError::new(
            format!(
                "the expression is {} bytes long and the limit is {MAX_LEN}: split it into `derived` values",
                source.len()
            ),
            end..end,
            &format!("{shown} ..."),
        ));
    }
    let mut parser =
        Parser { source, tokens: tokens(source)?, next: 0, depth: 0, names: IndexSet::new() };
    let tree = parser.expression(level::OR)?;
    if *parser.token() != Token::End {
        return Err(parser.expected("an operator or the end"));
    }
    Ok((tree, parser.names.into_iter().collect()))
}

struct Parser<'a> {
    source: &'a str,
    tokens: Vec<(Token, Span)>,
    next: usize,
    depth: usize,
    names: IndexSet<String>,
}

impl Parser<'_> {
    fn token(&self) -> &Token {
        &self.tokens[self.next].0
    }

    fn span(&self) -> Span {
        self.tokens[self.next].1
    }

    /// Takes the next token; the last one, [`Token::End`], is never passed.
    fn advance(&mut self) -> Span {
        let span = self.span();
        if self.next + 1 < self.tokens.len() {
            self.next += 1;
        }
        span
    }

    fn accept(&mut self, token: &Token) -> bool {
        let found = self.token() == token;
        if found {
            self.advance();
        }
        found
    }

    fn fail(&self, message: impl Into<String>, span: Range<usize>) -> ExprError {
        ExprError::new(message, span, self.source)
    }

    /// The error at the next token.
    fn expected(&self, what: &str) -> ExprError {
        let span = self.span().range();
        let found = &self.source[span.clone()];
        let message = match self.token() {
            Token::End => format!("the expression ends where {what} is expected"),
            Token::Name(name) if self.after_number() && Unit::lookup(name).is_ok() => {
                format!("no space before a unit: write `{name}` right after the number")
            }
            Token::Not if what == VALUE => {
                "`not` binds less tightly than the operator before it: put it in parentheses".into()
            }
            Token::Operator(Operator::Add) if what == VALUE => {
                "a value is expected: leave out the `+`".into()
            }
            _ => format!("{what} is expected before `{found}`"),
        };
        self.fail(message, span)
    }

    fn after_number(&self) -> bool {
        self.next
            .checked_sub(1)
            .is_some_and(|before| matches!(self.tokens[before].0, Token::Literal(Value::Number(_))))
    }

    /// A node, unless the tree grows too high for whoever walks it.
    fn node(&self, shape: Shape, at: Span) -> Result<Node, ExprError> {
        let node = Node::new(shape, at);
        if usize::from(node.height) > MAX_DEPTH {
            return Err(self.too_deep(at));
        }
        Ok(node)
    }

    fn too_deep(&self, at: Span) -> ExprError {
        self.fail(
            format!(
                "more than {MAX_DEPTH} operations inside each other: split it into `derived` values"
            ),
            at.range(),
        )
    }

    /// Runs `inner` one level of nesting further in.
    fn nested<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, ExprError>,
    ) -> Result<T, ExprError> {
        if self.depth >= MAX_DEPTH {
            return Err(self.too_deep(self.span()));
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Everything from here on that binds at `least` as tightly.
    fn expression(&mut self, least: u8) -> Result<Node, ExprError> {
        self.nested(|parser| {
            let mut left = parser.prefix(least)?;
            let mut compared = false;
            while let Some((operator, negated)) = parser.operator() {
                let own = operator.level();
                if own < least {
                    break;
                }
                if compared && own == level::COMPARISON {
                    return Err(parser.fail(
                        "comparisons do not chain: write `a < b and b < c`",
                        parser.span().range(),
                    ));
                }
                compared = own == level::COMPARISON;
                let at = parser.advance();
                if negated {
                    parser.advance();
                }
                let right = parser.expression(own + 1)?;
                left = parser.node(Shape::Operation(operator, Box::new([left, right])), at)?;
                if negated {
                    left = parser.node(Shape::Not(Box::new(left)), at)?;
                }
            }
            Ok(left)
        })
    }

    /// The operator that comes next, and whether it is the two words `not in`.
    fn operator(&self) -> Option<(Operator, bool)> {
        let following = self.tokens.get(self.next + 1).map(|(token, _)| token);
        match self.token() {
            Token::Operator(operator) => Some((*operator, false)),
            Token::Not if following == Some(&Token::Operator(Operator::In)) => {
                Some((Operator::In, true))
            }
            _ => None,
        }
    }

    fn prefix(&mut self, least: u8) -> Result<Node, ExprError> {
        match self.token() {
            Token::Not if least <= level::NOT => {
                let at = self.advance();
                let inner = self.expression(level::NOT)?;
                self.node(Shape::Not(Box::new(inner)), at)
            }
            Token::Operator(Operator::Subtract) => {
                let at = self.advance();
                let inner = self.expression(level::NEGATION)?;
                self.node(Shape::Negate(Box::new(inner)), at)
            }
            _ => self.postfix(),
        }
    }

    /// A value and the indices after it.
    fn postfix(&mut self) -> Result<Node, ExprError> {
        let mut value = self.atom()?;
        while *self.token() == Token::OpenList {
            let start = self.advance().range().start;
            let index = self.expression(level::OR)?;
            let end = self.span().range().end;
            if !self.accept(&Token::CloseList) {
                return Err(self.expected("`]`"));
            }
            value = self.node(Shape::Index(Box::new([value, index])), Span::from(start..end))?;
        }
        Ok(value)
    }

    fn atom(&mut self) -> Result<Node, ExprError> {
        match self.token().clone() {
            Token::Literal(value) => {
                let at = self.advance();
                self.node(Shape::Literal(value), at)
            }
            Token::Name(name) => {
                let at = self.advance();
                if *self.token() == Token::Open {
                    return self.call(&name, at);
                }
                let (index, _) = self.names.insert_full(name);
                self.node(Shape::Name(index), at)
            }
            Token::If => {
                let at = self.advance();
                let usage = "`if` takes three values: if(condition, then, else)";
                if *self.token() != Token::Open {
                    return Err(self.fail(usage, at.range()));
                }
                let arguments = self.arguments()?;
                let triple: [Node; 3] =
                    arguments.try_into().map_err(|_| self.fail(usage, at.range()))?;
                self.node(Shape::If(Box::new(triple)), at)
            }
            Token::Open => {
                self.advance();
                let inner = self.expression(level::OR)?;
                if !self.accept(&Token::Close) {
                    return Err(self.expected("`)`"));
                }
                Ok(inner)
            }
            Token::OpenList => {
                let start = self.advance().range().start;
                let items = self.list(&Token::CloseList, "`,` or `]`")?;
                // The closing bracket has just been taken.
                let end = self.tokens[self.next - 1].1.range().end;
                self.node(Shape::List(items), Span::from(start..end))
            }
            _ => Err(self.expected(VALUE)),
        }
    }

    fn call(&mut self, name: &str, at: Span) -> Result<Node, ExprError> {
        let Some(function) = Function::ALL.into_iter().find(|f| f.name() == name) else {
            return Err(self.fail(unknown_function(name), at.range()));
        };
        let arguments = self.arguments()?;
        if !function.takes(arguments.len()) {
            return Err(self
                .fail(format!("wrong number of values: write {}", function.usage()), at.range()));
        }
        self.node(Shape::Call(function, arguments), at)
    }

    /// `(a, b)`.
    fn arguments(&mut self) -> Result<Vec<Node>, ExprError> {
        self.advance();
        self.list(&Token::Close, "`,` or `)`")
    }

    /// Values with commas between them up to `close`, which is taken.
    fn list(&mut self, close: &Token, expected: &str) -> Result<Vec<Node>, ExprError> {
        let mut items = Vec::new();
        if self.accept(close) {
            return Ok(items);
        }
        loop {
            items.push(self.expression(level::OR)?);
            if self.accept(close) {
                return Ok(items);
            }
            if !self.accept(&Token::Comma) {
                return Err(self.expected(expected));
            }
        }
    }
}

const VALUE: &str = "a value";

fn unknown_function(name: &str) -> String {
    let nearest = Function::ALL
        .iter()
        .map(|function| function.name())
        .min_by_key(|known| strsim::damerau_levenshtein(known, &name.to_lowercase()))
        .filter(|known| strsim::damerau_levenshtein(known, &name.to_lowercase()) <= 2);
    match nearest {
        Some(known) => format!("there is no function `{name}`: did you mean `{known}`?"),
        None => {
            let all: Vec<_> = Function::ALL.iter().map(|f| f.name()).collect();
            format!("there is no function `{name}`: there are if, {}", all.join(", "))
        }
    }
}
