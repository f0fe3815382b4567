//! Text to tokens.

use super::ast::{Operator, Span};
use super::error::ExprError;
use super::value::Value;
use crate::units::{AmountError, Unit, scan_amount, scan_unit};
use std::ops::Range;
use winnow::LocatingSlice;
use winnow::Parser;
use winnow::ascii::{digit1, multispace0};
use winnow::combinator::{alt, eof, peek, repeat};
use winnow::error::ParserError;
use winnow::stream::{Location, Stream};
use winnow::token::{any, one_of, rest, take, take_while};

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Literal(Value),
    /// A name with its dots: `topology.hosts`, `traffic[0].bytes`.
    Name(String),
    Operator(Operator),
    Not,
    If,
    Open,
    Close,
    OpenList,
    CloseList,
    Comma,
    End,
}

type Input<'a> = LocatingSlice<&'a str>;

/// What is wrong and where, before the source is attached.
#[derive(Debug)]
struct Fault {
    message: String,
    span: Range<usize>,
}

impl Fault {
    fn new(message: impl Into<String>, span: Range<usize>) -> Self {
        Self { message: message.into(), span }
    }
}

impl<'a> ParserError<Input<'a>> for Fault {
    type Inner = Self;

    fn from_input(input: &Input<'a>) -> Self {
        let start = input.current_token_start();
        let next = input.chars().next();
        let message = next.map_or_else(
            || "the expression ends too early".to_owned(),
            |c| format!("`{}` means nothing here", c.escape_debug()),
        );
        Self::new(message, start..start + next.map_or(0, char::len_utf8))
    }

    fn into_inner(self) -> Result<Self::Inner, Self> {
        Ok(self)
    }
}

/// All tokens of `source`; the last is [`Token::End`].
pub(super) fn tokens(source: &str) -> Result<Vec<(Token, Span)>, ExprError> {
    let mut input = Input::new(source);
    let mut tokens = Vec::new();
    loop {
        match spanned(&mut input) {
            Ok((token, span)) => {
                let last = token == Token::End;
                tokens.push((token, span.into()));
                if last {
                    return Ok(tokens);
                }
            }
            Err(fault) => return Err(ExprError::new(fault.message, fault.span, source)),
        }
    }
}

fn spanned(input: &mut Input<'_>) -> Result<(Token, Range<usize>), Fault> {
    multispace0.parse_next(input)?;
    token.with_span().parse_next(input)
}

fn token(input: &mut Input<'_>) -> Result<Token, Fault> {
    if input.is_empty() {
        return eof.value(Token::End).parse_next(input);
    }
    match peek(any).parse_next(input)? {
        '0'..='9' | '.' => number(input),
        'a'..='z' | 'A'..='Z' | '_' => word(input),
        '\'' | '"' => string(input),
        _ => symbol(input),
    }
}

/// A number and the unit that touches it.
fn number(input: &mut Input<'_>) -> Result<Token, Fault> {
    let start = input.current_token_start();
    let text: &str = peek(rest).parse_next(input)?;
    let amount = scan_amount(text).map_err(|error| {
        let digits = text
            .find(|c: char| !c.is_alphanumeric() && !matches!(c, '.' | '_'))
            .unwrap_or(text.len());
        Fault::new(error.to_string(), start..start + digits)
    })?;
    take(amount.len).parse_next(input)?;
    let at = input.current_token_start();
    let len = scan_unit(&text[amount.len..]);
    let unit = &text[amount.len..amount.len + len];
    if unit.is_empty() {
        return Ok(Token::Literal(Value::Number(amount.value)));
    }
    take(unit.chars().count()).parse_next(input)?;
    let unit = Unit::lookup(unit)
        .map_err(|hint| Fault::new(format!("`{unit}` is not a unit: {hint}"), at..at + len))?;
    let base = unit
        .apply(amount.value)
        .ok_or_else(|| Fault::new(AmountError::TooLong.to_string(), start..at + len))?;
    Ok(Token::Literal(Value::quantity(base, unit.dimension)))
}

/// A word of the language or a name.
fn word(input: &mut Input<'_>) -> Result<Token, Fault> {
    let segment = |input: &mut Input<'_>| {
        take_while(1.., |c: char| c.is_ascii_alphanumeric() || c == '_').void().parse_next(input)
    };
    // An index belongs to the name only where a key follows; at the end it indexes a list.
    let part = alt((('.', segment).void(), ('[', digit1, ']', peek(('.', segment))).void()));
    let text: &str = (segment, repeat::<_, _, (), _, _>(0.., part)).take().parse_next(input)?;
    Ok(match text {
        "and" => Token::Operator(Operator::And),
        "or" => Token::Operator(Operator::Or),
        "in" => Token::Operator(Operator::In),
        "not" => Token::Not,
        "if" => Token::If,
        "true" => Token::Literal(Value::Bool(true)),
        "false" => Token::Literal(Value::Bool(false)),
        name => Token::Name(name.to_owned()),
    })
}

/// Text between two equal quotes; there are no escapes.
fn string(input: &mut Input<'_>) -> Result<Token, Fault> {
    let start = input.current_token_start();
    let quote = one_of(['\'', '"']).parse_next(input)?;
    let text: &str = take_while(0.., |c| c != quote).parse_next(input)?;
    if input.is_empty() {
        let end = input.current_token_start();
        return Err(Fault::new(
            format!("this quote is never closed: end the word with `{quote}`"),
            start..end,
        ));
    }
    any.parse_next(input)?;
    Ok(Token::Literal(Value::Text(text.to_owned())))
}

fn symbol(input: &mut Input<'_>) -> Result<Token, Fault> {
    let start = input.checkpoint();
    let at = input.current_token_start();
    // Spellings of other languages, refused by name.
    let pairs = alt((
        "&&".value("write `and`"),
        "||".value("write `or`"),
        "<>".value("write `!=`"),
        "**".value("there are no powers: multiply"),
        "//".value("write `floor(a / b)`"),
        "===".value("write `==`"),
        "=>".value("write `>=`"),
        "=<".value("write `<=`"),
    ));
    let single = alt((
        '&'.value("write `and`"),
        '|'.value("write `or`"),
        '^'.value("there are no powers: multiply"),
        '%'.value("there is no remainder: write `a - floor(a / b) * b`"),
        '?'.value("write `if(condition, then, else)`"),
        '{'.value("lists are written `[a, b]`"),
    ));
    let foreign = alt((pairs, single));
    let refused: Result<(&str, &str), Fault> = foreign.with_taken().parse_next(input);
    if let Ok((hint, text)) = refused {
        return Err(Fault::new(
            format!("`{text}` is not an operator: {hint}"),
            at..at + text.len(),
        ));
    }
    input.reset(&start);

    let comparison = alt((
        "==".value(Operator::Equal),
        "!=".value(Operator::NotEqual),
        "<=".value(Operator::LessEqual),
        ">=".value(Operator::GreaterEqual),
        "<".value(Operator::Less),
        ">".value(Operator::Greater),
    ));
    let arithmetic = alt((
        '+'.value(Operator::Add),
        '-'.value(Operator::Subtract),
        '*'.value(Operator::Multiply),
        '/'.value(Operator::Divide),
    ));
    let operator = alt((comparison, arithmetic)).map(Token::Operator);
    let bracket = alt((
        '('.value(Token::Open),
        ')'.value(Token::Close),
        '['.value(Token::OpenList),
        ']'.value(Token::CloseList),
        ','.value(Token::Comma),
    ));
    let found: Result<Token, Fault> = alt((operator, bracket)).parse_next(input);
    found.map_err(|fault| match input.chars().next() {
        Some('=') => Fault::new("`=` is not an operator: write `==`", fault.span),
        Some('!') => Fault::new("`!` is not an operator: write `not`", fault.span),
        _ => fault,
    })
}
