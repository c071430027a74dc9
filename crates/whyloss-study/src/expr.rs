//! Parses the expressions that define metrics of runs and claims about lines in TOML files.
//! ```text
//! 100 * first(gaps.mc)                         numbers, names, calls; + - * /
//! average(a) < 0.5 * average(b) and rises(a)   < <= > >= = , and or not
//! gain(a, b)[< 0.005]   a[1, 5, 10]   a[1..4]  a line at compared, listed or enclosed places
//! ```
//!
//! A name may contain `.`, `:`, `@`, and a `-` between letters: `red:newreno-lp.goodput`. A minus
//! sign has spaces around it.

use core::fmt;

/// An expression whose names have type `N`.
#[derive(Clone, Debug, PartialEq)]
pub enum Expr<N = String> {
    /// A number in the text.
    Number(f64),
    /// A name that the evaluator resolves.
    Name(N),
    /// A function applied to arguments.
    Call(String, Vec<Expr<N>>),
    /// An operator applied to two operands.
    Binary(Op, Box<Expr<N>>, Box<Expr<N>>),
    /// A negation: `not` and its operand.
    Not(Box<Expr<N>>),
    /// A line restricted to some places.
    Only(Box<Expr<N>>, Places),
}

/// A logical, comparing or arithmetic operator between two operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is what its name says")]
pub enum Op {
    Or,
    And,
    Less,
    AtMost,
    Greater,
    AtLeast,
    Equal,
    Plus,
    Minus,
    Times,
    Over,
}

/// Selects places of an axis.
#[derive(Clone, Debug, PartialEq)]
pub enum Places {
    /// Selects the places that compare with a number as stated.
    Compared(Op, f64),
    /// Selects the places with one of these values.
    Listed(Vec<f64>),
    /// Selects the places in a range, both ends included.
    Between(f64, f64),
}

/// Reports a fault in an expression and the byte offset where parsing noticed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExprError {
    /// The fault in words, without the place.
    pub message: String,
    /// The offset in the text, in bytes.
    pub at: usize,
}

impl fmt::Display for ExprError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Op {
    /// Applies the operator to two numbers; comparisons and connectives return 1 or 0.
    pub fn apply(self, a: f64, b: f64) -> f64 {
        match self {
            Self::Plus => a + b,
            Self::Minus => a - b,
            Self::Times => a * b,
            Self::Over => a / b,
            _ => f64::from(u8::from(self.holds(a, b))),
        }
    }

    /// Returns whether a comparison or connective holds. NaN equals only NaN; no order holds of it.
    pub fn holds(self, a: f64, b: f64) -> bool {
        match self {
            Self::Less => a < b,
            Self::AtMost => a <= b,
            Self::Greater => a > b,
            Self::AtLeast => a >= b,
            Self::Equal => crate::line::same(a, b),
            Self::And => a > 0.0 && b > 0.0,
            Self::Or => a > 0.0 || b > 0.0,
            _ => false,
        }
    }

    /// Returns whether this is a comparison.
    pub fn compares(self) -> bool {
        matches!(
            self,
            Self::Less | Self::AtMost | Self::Greater | Self::AtLeast | Self::Equal
        )
    }
}

impl Places {
    /// Returns whether `x` is one of these places.
    pub fn contain(&self, x: f64) -> bool {
        match self {
            Self::Compared(op, than) => op.holds(x, *than),
            Self::Listed(places) => places.iter().any(|&place| crate::line::same(place, x)),
            Self::Between(from, to) => (*from..=*to).contains(&x),
        }
    }
}

impl Expr {
    /// Parses an expression.
    ///
    /// # Errors
    /// Returns the fault and its offset.
    pub fn parse(text: &str) -> Result<Self, ExprError> {
        let mut parser = Parser { text, at: 0 };
        let expr = parser.connective()?;
        match parser.peek() {
            None => Ok(expr),
            Some(_) => Err(parser.expected("an operator or the end")),
        }
    }
}

impl<N> Expr<N> {
    /// Replaces every name by the value that `name` returns.
    ///
    /// # Errors
    /// Returns the first error of `name`.
    pub fn named<M, E>(self, name: &impl Fn(N) -> Result<M, E>) -> Result<Expr<M>, E> {
        let boxed = |inner: Box<Self>| inner.named(name).map(Box::new);
        Ok(match self {
            Self::Number(number) => Expr::Number(number),
            Self::Name(of) => Expr::Name(name(of)?),
            Self::Call(function, arguments) => {
                let arguments = arguments.into_iter().map(|of| of.named(name));
                Expr::Call(function, arguments.collect::<Result<_, E>>()?)
            }
            Self::Binary(op, a, b) => Expr::Binary(op, boxed(a)?, boxed(b)?),
            Self::Not(of) => Expr::Not(boxed(of)?),
            Self::Only(of, places) => Expr::Only(boxed(of)?, places),
        })
    }
}

/// The deepest nesting. Deeper nesting could exhaust the stack.
const DEEPEST: usize = 64;

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&mut self) -> &'a str {
        let rest = self.text[self.at..].trim_start();
        self.at = self.text.len() - rest.len();
        rest
    }

    fn peek(&mut self) -> Option<char> {
        self.rest().chars().next()
    }

    fn expected(&mut self, what: &str) -> ExprError {
        let found: String = self.rest().chars().take(12).collect();
        let found = if found.is_empty() {
            "the end".to_owned()
        } else {
            format!("{found:?}")
        };
        ExprError {
            message: format!("found {found}, expected {what}"),
            at: self.at,
        }
    }

    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest();
        let word = token.chars().all(char::is_alphabetic);
        let ends = |rest: &str| !word || !rest.starts_with(|c: char| c.is_alphanumeric());
        let taken = rest.strip_prefix(token).is_some_and(ends);
        if taken {
            self.at += token.len();
        }
        taken
    }

    fn need(&mut self, token: &str) -> Result<(), ExprError> {
        if self.take(token) {
            return Ok(());
        }
        Err(self.expected(&format!("`{token}`")))
    }

    /// Consumes an operator if the next one is among `ops`.
    fn op(&mut self, ops: &[(&str, Op)]) -> Option<Op> {
        ops.iter()
            .find(|(token, _)| self.take(token))
            .map(|of| of.1)
    }

    fn connective(&mut self) -> Result<Expr, ExprError> {
        self.chain(&[("or", Op::Or)], |parser| {
            parser.chain(&[("and", Op::And)], Self::negation)
        })
    }

    fn negation(&mut self) -> Result<Expr, ExprError> {
        if self.take("not") {
            return Ok(Expr::Not(Box::new(self.negation()?)));
        }
        let left = self.sum()?;
        let Some(op) = self.op(COMPARISONS) else {
            return Ok(left);
        };
        let right = self.sum()?;
        Ok(Expr::Binary(op, Box::new(left), Box::new(right)))
    }

    fn sum(&mut self) -> Result<Expr, ExprError> {
        self.chain(&[("+", Op::Plus), ("-", Op::Minus)], |parser| {
            parser.chain(&[("*", Op::Times), ("/", Op::Over)], Self::part)
        })
    }

    fn chain(
        &mut self,
        ops: &[(&str, Op)],
        next: impl Fn(&mut Self) -> Result<Expr, ExprError>,
    ) -> Result<Expr, ExprError> {
        let mut left = next(self)?;
        let mut links = 0;
        while let Some(op) = self.op(ops) {
            links += 1;
            if links > DEEPEST {
                return Err(self.expected("fewer operands"));
            }
            left = Expr::Binary(op, Box::new(left), Box::new(next(self)?));
        }
        Ok(left)
    }

    fn part(&mut self) -> Result<Expr, ExprError> {
        let mut part = if self.take("(") {
            if self.text[..self.at].matches('(').count() > DEEPEST {
                return Err(self.expected("fewer brackets"));
            }
            let inner = self.connective()?;
            self.need(")")?;
            inner
        } else if self.peek().is_some_and(char::is_alphabetic) {
            self.name_or_call()?
        } else {
            Expr::Number(self.number()?)
        };
        while self.take("[") {
            part = Expr::Only(Box::new(part), self.places()?);
            self.need("]")?;
        }
        Ok(part)
    }

    fn name_or_call(&mut self) -> Result<Expr, ExprError> {
        let rest = self.rest();
        let mut end = 0;
        let mut chars = rest.char_indices().peekable();
        while let Some((index, c)) = chars.next() {
            let joins = c == '-' && chars.peek().is_some_and(|(_, next)| next.is_alphanumeric());
            if !(c.is_alphanumeric() || "_.:@".contains(c) || joins) {
                break;
            }
            end = index + c.len_utf8();
        }
        let name = rest[..end].to_owned();
        self.at += end;
        if !self.take("(") {
            return Ok(Expr::Name(name));
        }
        if self.text[..self.at].matches('(').count() > DEEPEST {
            return Err(self.expected("fewer brackets"));
        }
        let mut arguments = vec![self.connective()?];
        while self.take(",") {
            arguments.push(self.connective()?);
        }
        self.need(")")?;
        Ok(Expr::Call(name, arguments))
    }

    fn number(&mut self) -> Result<f64, ExprError> {
        let rest = self.rest();
        let part = |(index, c): (usize, char)| {
            let exponent = index > 0 && rest[..index].ends_with(['e', 'E']);
            let dot = c == '.' && !rest[index..].starts_with("..");
            c.is_ascii_digit()
                || dot
                || "eE".contains(c)
                || ("+-".contains(c) && (index == 0 || exponent))
        };
        let end = rest.char_indices().find(|&at| !part(at));
        let end = end.map_or(rest.len(), |(index, _)| index);
        let number = rest[..end].parse();
        let number: f64 = number.map_err(|_| self.expected("a number, a name or `(`"))?;
        self.at += end;
        Ok(number)
    }

    fn places(&mut self) -> Result<Places, ExprError> {
        if let Some(op) = self.op(COMPARISONS) {
            return Ok(Places::Compared(op, self.number()?));
        }
        let first = self.number()?;
        if self.take("..") {
            return Ok(Places::Between(first, self.number()?));
        }
        let mut places = vec![first];
        while self.take(",") {
            places.push(self.number()?);
        }
        Ok(Places::Listed(places))
    }
}

const COMPARISONS: &[(&str, Op)] = &[
    ("<=", Op::AtMost),
    ("<", Op::Less),
    (">=", Op::AtLeast),
    (">", Op::Greater),
    ("=", Op::Equal),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> f64 {
        fn of(expr: &Expr) -> f64 {
            match expr {
                Expr::Number(number) => *number,
                Expr::Binary(op, a, b) => op.apply(of(a), of(b)),
                Expr::Not(a) => f64::from(u8::from(of(a) <= 0.0)),
                _ => f64::NAN,
            }
        }
        of(&Expr::parse(text).expect(text))
    }

    #[test]
    fn numbers_by_hand() {
        for (text, expected) in [
            ("1 + 2 * 3 - 4 / 8", 6.5),
            ("(1 + 2) * -3", -9.0),
            ("1e-3 * 2.5E2", 0.25),
            ("1 < 2 and 2 >= 2 and not 1 > 2", 1.0),
            ("1 > 2 or 0.1 + 0.2 = 0.3", 1.0),
            ("8 - 4 - 2", 2.0),
        ] {
            assert!((value(text) - expected).abs() < 1e-12, "{text}");
        }
    }

    #[test]
    fn names_and_places() {
        let expr =
            Expr::parse("gain(red:newreno-lp.rate, b)[1..4] - a@x[< 0.5]").expect("it is one");
        let name = |name: &str| Box::new(Expr::Name(name.to_owned()));
        let gain = Expr::Call(
            "gain".into(),
            vec![*name("red:newreno-lp.rate"), *name("b")],
        );
        let expected = Expr::Binary(
            Op::Minus,
            Box::new(Expr::Only(Box::new(gain), Places::Between(1.0, 4.0))),
            Box::new(Expr::Only(name("a@x"), Places::Compared(Op::Less, 0.5))),
        );
        assert_eq!(expr, expected);
        assert!(Places::Listed(vec![0.1, 0.3]).contain(0.1 + 0.2));
    }

    #[test]
    fn slips_are_told() {
        for text in [
            "",
            "1 +",
            "a(",
            "a[1",
            "1 2",
            "$",
            "a b",
            "f()",
            &"(".repeat(1000),
        ] {
            let error = Expr::parse(text).expect_err(text);
            assert!(error.message.starts_with("found "), "{text}: {error}");
            assert!(error.at <= text.len());
        }
    }
}
