//! Tests of the language as its users write it.

use super::*;
use crate::units::Rational;
use proptest::prelude::*;

/// The names the tests know.
fn known(name: &str) -> Option<Value> {
    let list = |items: &[&str]| {
        let items = items.iter().map(|item| parse_quantity(item));
        Some(Value::List(items.collect::<Result<_, _>>().ok()?))
    };
    let text = match name {
        "headroom" => "256KB",
        "hosts" => "33",
        "topology.rate" => "400Gbps",
        "topology.delay" => "500ns",
        "traffic[0].bytes" => "4MB",
        "nic.hosts.0.receive_rate" => "200Gbps",
        "model" => "scala",
        "ratio" => "1/8",
        "a" => "3",
        "b" => "4",
        "huge" => return Some(Value::integer(i128::MAX)),
        "lowest" => return Some(Value::integer(i128::MIN)),
        "pfc" => return Some(Value::Bool(true)),
        "pools" => return list(&["0", "1", "2"]),
        "sizes" => return list(&["1KB", "2KB", "3KB"]),
        "none_at_all" => return list(&[]),
        _ => return None,
    };
    parse_quantity(text).ok()
}

fn run(source: &str) -> Result<Value, ExprError> {
    parse(source)?.eval(&known)
}

/// The value as people read it, or the message.
fn shown(source: &str) -> String {
    match run(source) {
        Ok(value) => value.to_string(),
        Err(error) => format!("error: {}", error.message),
    }
}

#[test]
fn expressions_come_to_their_exact_values() {
    for (source, expected) in [
        // Precedence and grouping.
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("10 - 4 - 3", "3"),
        ("24 / 4 / 3", "2"),
        ("-2 * -3", "6"),
        ("--2", "2"),
        ("2 - -2", "4"),
        ("1/3 + 1/6", "0.5"),
        ("1/3", "1/3"),
        ("0.1 + 0.2 == 0.3", "true"),
        ("1e-6 * 1e6", "1"),
        // Dimensions.
        ("64KB + 1KiB", "65024B"),
        ("headroom * hosts", "8448KB"),
        ("hosts * headroom", "8448KB"),
        ("headroom / 2", "128KB"),
        ("headroom / 1KB", "256"),
        ("topology.rate * topology.delay", "25KB"),
        ("topology.delay * topology.rate", "25KB"),
        ("25KB / topology.delay", "400Gbps"),
        ("25KB / topology.rate", "500ns"),
        ("traffic[0].bytes / nic.hosts.0.receive_rate", "160us"),
        ("-headroom + 1MB", "744KB"),
        ("1B / 3", "1/3 B"),
        ("1B / 3 * 3 == 1B", "true"),
        // Comparisons and logic.
        ("headroom * hosts <= 16MB * 0.5", "false"),
        ("not 1 == 2", "true"),
        ("not 1 == 2 and 3 < 4", "true"),
        ("true or false and false", "true"),
        ("1 < 2 and 2 <= 2 and 3 > 2 and 3 >= 3 and 1 != 2", "true"),
        ("1KB == 1000B", "true"),
        ("pfc == true", "true"),
        ("false and 1/0 > 0", "false"),
        ("true or nobody", "true"),
        ("if(a < b, a, 1/0)", "3"),
        ("if(a > b, nobody, headroom)", "256KB"),
        // Words.
        ("model == 'scala'", "true"),
        ("model == \"hpcc\"", "false"),
        ("model == scala", "true"),
        ("model != hpcc", "true"),
        ("model in [hpcc, scala]", "true"),
        ("model not in [hpcc, 'scala']", "false"),
        ("not model in [hpcc]", "true"),
        ("'it''' == 'it'", "error: an operator or the end is expected before `''`"),
        // Lists.
        ("pools", "[0, 1, 2]"),
        ("pools[1]", "1"),
        ("pools[a - 1]", "2"),
        ("[[1, 2], [3, 4]][1][0]", "3"),
        ("[]", "[]"),
        ("pools == [0, 1, 2]", "true"),
        ("pools == [0, 1]", "false"),
        ("2KB in sizes", "true"),
        ("4KB in sizes", "false"),
        ("[1, 2] in [[1, 2], [3]]", "true"),
        // Functions.
        ("min(3, 1, 2)", "1"),
        ("max(sizes)", "3KB"),
        ("sum(sizes)", "6KB"),
        ("sum(1ns, 1us)", "1001ns"),
        ("len(sizes) + len([])", "3"),
        ("abs(1KB - 3KB)", "2KB"),
        ("floor(7/2)", "3"),
        ("floor(-7/2)", "-4"),
        ("ceil(7/2)", "4"),
        ("ceil(-7/2)", "-3"),
        ("ceil(4)", "4"),
        ("round(5/2)", "3"),
        ("round(-5/2)", "-2"),
        ("round(7/3)", "2"),
        ("round(1B / 2)", "1B"),
        ("round(100KB, 208B)", "100048B"),
        ("floor(100KB, 208B)", "99840B"),
        ("ceil(17, 5)", "20"),
        // A function's name is a name where nothing is called.
        (
            "if(min == 1, 1, 2)",
            "error: `min` is not a known name; if a word is meant, write it in quotes",
        ),
        // Spacing.
        (" 1\n+\t1 ", "2"),
        ("1+1", "2"),
        ("8Gb/s", "8Gbps"),
        ("10ns/a", "10000/3 ps"),
    ] {
        assert_eq!(shown(source), expected, "{source}");
    }
}

#[test]
fn messages_point_at_the_mistake() {
    for (source, expected) in [
        ("64KB + 500ns", "`+` between a byte count and a time\n  64KB + 500ns\n       ^"),
        (
            "a * (headroom >= 3)",
            "`>=` between a byte count and a number: write the number with its unit\n  a * (headroom >= 3)\n                ^^",
        ),
        (
            "1 + topology.hots",
            "`topology.hots` is not a known name; if a word is meant, write it in quotes\n  1 + topology.hots\n      ^^^^^^^^^^^^^",
        ),
        ("a * (b + 1", "the expression ends where `)` is expected\n  a * (b + 1\n            ^"),
        (
            "64kb > 1",
            "`kb` is not a unit: write `KB` for bytes or `Kbps` for a rate\n  64kb > 1\n    ^^",
        ),
        ("1 /\n0", "division by zero\n  1 / 0\n    ^"),
        ("é > 1", "`é` means nothing here\n  é > 1\n  ^"),
    ] {
        let error = run(source).expect_err(source);
        assert_eq!(error.to_string(), expected, "{source}");
        assert_eq!(error.source, source);
    }
}

#[test]
fn mistakes_are_named_with_the_way_out() {
    for (source, expected) in [
        ("", "the expression ends where a value is expected"),
        ("1 +", "the expression ends where a value is expected"),
        ("1 2", "an operator or the end is expected before `2`"),
        ("64 KB", "no space before a unit: write `KB` right after the number"),
        ("a = b", "`=` is not an operator: write `==`"),
        ("a && b", "write `and`"),
        ("a || b", "write `or`"),
        ("!pfc", "write `not`"),
        ("a % 2", "there is no remainder"),
        ("a ** 2", "there are no powers"),
        ("pfc ? 1 : 2", "write `if(condition, then, else)`"),
        ("1 < a < 3", "comparisons do not chain"),
        ("1 == not pfc", "put it in parentheses"),
        ("1 + + 2", "leave out the `+`"),
        ("(1", "ends where `)` is expected"),
        ("1)", "before `)`"),
        ("[1, 2", "ends where `,` or `]` is expected"),
        ("[1, ]", "a value is expected before `]`"),
        ("pools[1", "ends where `]` is expected"),
        ("'open", "this quote is never closed"),
        ("1_000 > a", "write `1000`"),
        ("010 > a", "write `10`"),
        (".5 > a", "write `0.5`"),
        ("5. > a", "write `5.0`"),
        ("50GB/s > topology.rate", "write `Gbps`"),
        ("5m > topology.delay", "minute, a metre"),
        ("maxi(1, 2)", "did you mean `max`?"),
        ("logarithm(2)", "there are if, min, max"),
        ("if(1, 2)", "`if` takes three values"),
        ("if", "`if` takes three values"),
        ("abs(1, 2)", "write abs(value)"),
        ("min()", "write min(a, b, ...) or min(list)"),
        // Found when it is computed.
        ("headroom + 1", "write the number with its unit"),
        ("headroom * headroom", "`*` has no meaning between two values of the kind byte count"),
        ("1 / headroom", "`/` between a number and a byte count"),
        ("topology.delay / topology.rate", "`/` between a time and a bit rate"),
        ("model + 1", "`+` between a word and a number"),
        ("pfc + pfc", "no meaning"),
        ("headroom == 5ns", "`==` between a byte count and a time"),
        ("model == 1", "`==` between a word and a number"),
        ("model < scala", "`scala` is not a known name"),
        ("model < 'scala'", "`<` has no meaning between two values of the kind word"),
        ("modle == scala", "`modle` is not a known name"),
        ("scala == model", "`scala` is not a known name"),
        ("a == scala", "`scala` is not a known name"),
        ("model == topology.kind", "`topology.kind` is not a known name"),
        ("a in [nobody]", "`nobody` is not a known name"),
        ("1KB in [1KB, 1ns]", "`in` between a byte count and a time"),
        ("1 in 2", "`in` needs a list on its right: this is a number"),
        ("a and pfc", "`and` needs a truth value, such as a comparison: this is a number"),
        ("not a", "`not` needs a truth value"),
        ("if(a, 1, 2)", "the condition of `if` needs a truth value"),
        ("-model", "`-` needs a number or a quantity: this is a word"),
        ("pools[3]", "there is no element 3: the list has 3 elements, 0 to 2"),
        ("pools[-1]", "there is no element -1"),
        ("pools[0.5]", "there is no element 0.5"),
        ("pools[1B]", "an index is a number"),
        ("none_at_all[0]", "the list is empty"),
        ("a[0]", "only a list has elements: this is a number"),
        ("min([])", "`min` of an empty list"),
        ("sum([])", "`sum` of an empty list"),
        ("sum(1B, 1ns)", "in `sum`: `+` between a byte count and a time"),
        ("max(1, 1B)", "there are a number and a byte count"),
        ("max(pfc)", "there is a truth value"),
        ("len(3)", "`len` needs a list"),
        ("round(1B, 2)", "in steps of a number"),
        ("round(5, 0)", "larger than zero: it is 0"),
        ("huge + 1", "too large to be kept exact"),
        ("huge * 2", "too large to be kept exact"),
        ("lowest - 1", "too large to be kept exact"),
        ("-lowest", "too large to be kept exact"),
        ("abs(lowest)", "too large to be kept exact"),
        ("lowest / -1", "too large to be kept exact"),
        ("lowest / 3", "too large to be kept exact"),
        ("lowest + 1/3", "too large to be kept exact"),
        ("1e38 * 1e38", "too large to be kept exact"),
        ("1/1e38/1e38", "too large to be kept exact"),
        ("1e39", "too many digits"),
    ] {
        let error = run(source).expect_err(source);
        assert!(error.message.contains(expected), "{source}: {}", error.message);
        assert!(
            error.span.start <= error.span.end && error.span.end <= error.source.len(),
            "{source}: {:?}",
            error.span
        );
    }
}

#[test]
fn long_expressions_are_shown_around_the_mistake() {
    let source = format!("{}a + 1B{}", "a + ".repeat(60), " + a".repeat(60));
    let text = run(&source).unwrap_err().to_string();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 3);
    assert!(lines[1].starts_with("  ...") && lines[1].ends_with("..."), "{text}");
    let caret = lines[2].find('^').unwrap();
    assert_eq!(&lines[1][caret..caret + 4], "+ 1B", "{text}");
}

#[test]
fn names_are_listed_once_in_order() {
    let expr = parse("b * traffic[0].bytes + pools[a] > b and model == scala").unwrap();
    assert_eq!(expr.names(), ["b", "traffic[0].bytes", "pools", "a", "model", "scala"]);
    assert_eq!(expr.words(), ["scala"]);
    let both = parse("model in [x, y.z] or x > 1").unwrap();
    assert!(both.words().is_empty());
    assert_eq!(parse("min(max, 1)").unwrap().names(), ["max"]);
}

#[test]
fn printing_uses_the_fewest_parentheses() {
    for (source, printed) in [
        ("((1)+(2*3))", "1 + 2 * 3"),
        ("(1+2)*3", "(1 + 2) * 3"),
        ("1-(2-3)", "1 - (2 - 3)"),
        ("(1-2)-3", "1 - 2 - 3"),
        ("-(1+2)", "-(1 + 2)"),
        ("not(a and b)", "not (a and b)"),
        ("(a<b)==(b<a)", "(a < b) == (b < a)"),
        ("a not in[1]", "not a in [1]"),
        ("(not a) == b", "(not a) == b"),
        ("(a+b)[0]", "(a + b)[0]"),
        ("1.50KB+'x'", "1.50KB + 'x'"),
        ("if((a),min((1),2),[ ])", "if(a, min(1, 2), [])"),
        ("(a or b) and c or d", "(a or b) and c or d"),
    ] {
        assert_eq!(parse(source).unwrap().to_string(), printed);
    }
}

#[test]
fn depth_and_length_are_limited() {
    let deep = [
        ("(".repeat(5000), "too deep parentheses"),
        ("[".repeat(5000), "lists"),
        ("-".repeat(5000), "signs"),
        ("not ".repeat(2000), "negations"),
        ("min(".repeat(2000), "calls"),
        ("if(".repeat(2000), "conditions"),
        (format!("1{}", "+1".repeat(4000)), "a sum"),
        (format!("a{}", "[0]".repeat(2000)), "indices"),
    ];
    for (source, what) in deep {
        let error = parse(&source).expect_err(what);
        assert!(error.message.contains("inside each other"), "{what}: {error}");
    }
    let long = parse(&" ".repeat(MAX_LEN + 1)).unwrap_err();
    assert!(long.message.contains("the limit is 8192"), "{long}");
    let most = format!("1{}", "+1".repeat(MAX_DEPTH - 1));
    assert_eq!(shown(&most), "200");
    let nested = format!("{}1{}", "(".repeat(MAX_DEPTH - 1), ")".repeat(MAX_DEPTH - 1));
    assert_eq!(shown(&nested), "1");
}

/// The deepest trees there may be have to fit a small stack, in every walk.
#[test]
fn the_deepest_expression_needs_little_stack() {
    let worker = std::thread::Builder::new().stack_size(512 * 1024);
    let walk = || {
        for (open, close) in [("-(", ")"), ("[", "][0]"), ("min(", ")"), ("if(pfc, ", ", 2)")] {
            let levels = MAX_DEPTH / 2 - 1;
            let source = format!("{}1{}", open.repeat(levels), close.repeat(levels));
            let expr = parse(&source).unwrap();
            assert!(expr.eval(&known).is_ok());
            assert_eq!(parse(&expr.to_string()).unwrap(), expr.clone());
        }
    };
    worker.spawn(walk).unwrap().join().unwrap();
}

#[test]
fn expressions_cross_threads() {
    fn crosses<T: Clone + Send + Sync>(_: &T) {}
    crosses(&parse("1").unwrap());
}

/// 2^61 - 1, a prime: fractions computed modulo it are exact and never overflow.
const PRIME: u128 = (1 << 61) - 1;

fn power(base: u128, exponent: u128) -> u128 {
    let (mut result, mut base, mut exponent) = (1, base % PRIME, exponent);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % PRIME;
        }
        base = base * base % PRIME;
        exponent >>= 1;
    }
    result
}

fn inverse(value: u128) -> u128 {
    power(value, PRIME - 2)
}

fn residue(value: Rational) -> u128 {
    let prime = PRIME as i128;
    let numer = value.numer().rem_euclid(prime) as u128;
    let denom = value.denom().rem_euclid(prime) as u128;
    numer * inverse(denom) % PRIME
}

/// An expression of numbers and its value modulo [`PRIME`]; `None`: it divides by zero.
fn arithmetic() -> impl Strategy<Value = (String, Option<u128>)> {
    let leaf = prop_oneof![
        (0u32..2000).prop_map(|n| (n.to_string(), Some(u128::from(n)))),
        (0u32..50, 0u32..100).prop_map(|(whole, part)| {
            let value = u128::from(whole * 100 + part) * inverse(100) % PRIME;
            (format!("{whole}.{part:02}"), Some(value))
        }),
    ];
    leaf.prop_recursive(4, 24, 2, |inner| {
        (inner.clone(), inner, 0usize..5).prop_map(|((a, x), (b, y), operator)| {
            let both = x.zip(y);
            match operator {
                0 => (format!("({a} + {b})"), both.map(|(x, y)| (x + y) % PRIME)),
                1 => (format!("({a} - {b})"), both.map(|(x, y)| (x + PRIME - y) % PRIME)),
                2 => (format!("({a} * {b})"), both.map(|(x, y)| x * y % PRIME)),
                3 => {
                    let quotient = both.and_then(|(x, y)| (y != 0).then(|| x * inverse(y) % PRIME));
                    (format!("({a} / {b})"), quotient)
                }
                _ => (format!("(-{a})"), x.map(|x| (PRIME - x) % PRIME)),
            }
        })
    })
}

/// Any expression of the language, well-typed or not.
fn any_expression() -> impl Strategy<Value = String> {
    let leaf = prop::sample::select(vec![
        "1",
        "0.25",
        "64KB",
        "400Gbps",
        "2ns",
        "true",
        "'x'",
        "\"y z\"",
        "a",
        "pools",
        "sizes",
        "model",
        "scala",
        "topology.rate",
        "traffic[0].bytes",
        "[]",
    ])
    .prop_map(str::to_owned);
    leaf.prop_recursive(5, 40, 3, |inner| {
        let operators =
            vec!["or", "and", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "+", "-", "*", "/"];
        let calls = vec!["min", "max", "sum", "floor", "ceil", "round", "abs", "len", "if"];
        let operation = (inner.clone(), prop::sample::select(operators), inner.clone());
        let call = (prop::sample::select(calls), prop::collection::vec(inner.clone(), 0..4));
        prop_oneof![
            operation.clone().prop_map(|(a, o, b)| format!("({a}) {o} ({b})")),
            operation.prop_map(|(a, o, b)| format!("{a} {o} {b}")),
            inner.clone().prop_map(|a| format!("not {a}")),
            inner.clone().prop_map(|a| format!("-{a}")),
            inner.clone().prop_map(|a| format!("(({a}))")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{a}[{b}]")),
            prop::collection::vec(inner, 0..3).prop_map(|all| format!("[{}]", all.join(", "))),
            call.prop_map(|(name, all)| format!("{name}({})", all.join(","))),
        ]
    })
}

proptest! {
    #[test]
    fn arithmetic_is_exact((source, expected) in arithmetic()) {
        match (run(&source), expected) {
            (Ok(Value::Number(value)), Some(expected)) => {
                prop_assert_eq!(residue(value), expected, "{}", source);
            }
            (Err(error), None) => prop_assert_eq!(error.message, "division by zero"),
            (Err(error), Some(_)) => {
                prop_assert!(error.message.contains("too large"), "{}", error);
            }
            (other, _) => prop_assert!(false, "{}: {:?}", source, other),
        }
    }

    #[test]
    fn quantities_convert_exactly(
        rate in 1u64..2_000_000_000_000, time in 1u64..1_000_000_000_000,
    ) {
        let bytes = run(&format!("{rate}bps * {time}ps")).unwrap();
        let expected = Rational::new(i128::from(rate) * i128::from(time), 8_000_000_000_000);
        prop_assert_eq!(&bytes, &Value::Bytes(expected));
        let lookup = |_: &str| Some(bytes.clone());
        let back = |source: String| parse(&source).unwrap().eval(&lookup).unwrap();
        prop_assert_eq!(back(format!("x / {rate}bps")), Value::Time(Rational::from_integer(time.into())));
        prop_assert_eq!(back(format!("x / {time}ps")), Value::Rate(Rational::from_integer(rate.into())));
    }

    #[test]
    fn rounding_goes_to_the_nearest_halves_up(numer in -100_000i128..100_000, denom in 1i128..200) {
        let exact = format!("{}({} / {denom})", if numer < 0 { "-" } else { "" }, numer.abs());
        let whole = |name: &str| run(&format!("{name}({exact})")).unwrap().amount().unwrap().to_integer();
        prop_assert_eq!(whole("floor"), numer.div_euclid(denom));
        prop_assert_eq!(whole("ceil"), -(-numer).div_euclid(denom));
        prop_assert_eq!(whole("round"), (2 * numer + denom).div_euclid(2 * denom));
    }

    #[test]
    fn printing_and_parsing_round_trip(source in any_expression()) {
        // What does not parse (`1 < 2 < 3`, `min()`) has nothing to print.
        if let Ok(expr) = parse(&source) {
            let printed = expr.to_string();
            let again = parse(&printed).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(&again, &expr, "{} printed as {}", source, printed);
            prop_assert_eq!(again.to_string(), printed);
            let (a, b) = (expr.eval(&known), again.eval(&known));
            prop_assert_eq!(a.map_err(|e| e.message), b.map_err(|e| e.message));
        }
    }

    #[test]
    fn any_text_is_computed_or_refused(
        text in "\\PC{0,60}|[-+*/()\\[\\],.<>=!&|'\" 0-9a-eKMGBbps_]{0,60}|((not|and|or|in|if|min|a|pools|1|2KB|==|<|\\+|-|\\*|/|\\(|\\)|\\[|\\]|,) ?){0,30}",
    ) {
        if let Err(error) = run(&text) {
            prop_assert!(error.source.get(error.span.clone()).is_some(), "{:?}", error);
            let caret = error.to_string().lines().count();
            prop_assert!(caret == 3 || (caret == 1 && text.is_empty()), "{}", error);
        }
    }
}
