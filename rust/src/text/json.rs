//! JSON lines: flat objects, a block at a time, into columns of values.
//!
//! What is rare – a row that is not JSON, a lone surrogate, bytes that are not UTF-8 – is not read here but left to the
//! caller: [`parse`] returns `None`. Nested values and long integers are found, and their text is returned.

use std::collections::HashMap;

use memchr::{memchr, memchr2};

use super::escapes::{escape, unescape_in};
use super::numbers::decimal;
use crate::system::cancel::checkpoint;

/// With more columns a block is left to the caller.
const MOST_COLUMNS: usize = 1 << 13;
/// The most digits of whole numbers that are all doubles.
const MOST_DIGITS: usize = 15;

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Null = 1,
    Truth = 1 << 1,
    Integer = 1 << 2,
    Float = 1 << 3,
    Text = 1 << 4,
    /// An array of numbers.
    Numbers = 1 << 5,
    /// Anything else: other arrays, objects, long integers, NaN.
    Other = 1 << 6,
}

/// A value of a row: where its text is, and the number or truth value that it is.
#[derive(Clone, Copy)]
pub struct Value {
    pub row: usize,
    pub kind: Kind,
    /// Of a string without its quotes.
    pub start: usize,
    pub end: usize,
    pub number: f64,
    has_escapes: bool,
}

/// A column: its name and its values, at most one for each row, in the order of the rows.
pub struct Column {
    pub name: String,
    pub values: Vec<Value>,
    /// The numbers of all arrays, one after the other, and where those of each array end.
    pub numbers: Vec<f64>,
    pub ends: Vec<usize>,
}

/// The rows of a block.
pub struct Parsed {
    pub rows: usize,
    pub columns: Vec<Column>,
}

impl Column {
    /// The kinds of its values, as bits.
    pub fn kinds(&self) -> u8 {
        self.values.iter().fold(0, |kinds, value| kinds | value.kind as u8)
    }

    /// Replace the escapes of all strings, in the block itself.
    pub fn unescape(&mut self, block: &mut [u8]) {
        for value in self.values.iter_mut().filter(|value| value.has_escapes) {
            value.end = unescape_in(block, value.start, value.end);
            value.has_escapes = false;
        }
    }

    fn new(name: String) -> Self {
        Column {
            name,
            values: Vec::new(),
            numbers: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Set the value of a row; the last one counts.
    fn set(&mut self, value: Value, numbers: &[f64]) {
        let is_again = self.values.last().is_some_and(|last| last.row == value.row);
        if is_again && self.values.pop().is_some_and(|last| last.kind == Kind::Numbers) {
            self.ends.pop();
            self.numbers.truncate(self.ends.last().copied().unwrap_or(0));
        }
        if value.kind == Kind::Numbers {
            self.numbers.extend_from_slice(numbers);
            self.ends.push(self.numbers.len());
        }
        self.values.push(value);
    }
}

/// Read a block with an object on each line; blank lines are not rows. `None` if any line is anything else.
pub fn parse(block: &[u8]) -> Option<Parsed> {
    std::str::from_utf8(block).ok()?;
    let mut columns = Columns::default();
    let (mut rows, mut start) = (0, 0);
    let has_controls = block.iter().any(|&byte| byte < b' ' && byte != b'\n');
    while start < block.len() {
        checkpoint();
        let end = memchr(b'\n', &block[start..]).map_or(block.len(), |found| start + found);
        if !block[start..end].iter().all(|byte| matches!(byte, b' ' | 9..=13)) {
            let mut line = Line {
                block: &block[..end],
                place: start,
                has_controls,
            };
            line.object(rows, &mut columns)?;
            rows += 1;
        }
        start = end + 1;
    }
    let columns = columns.list;
    Some(Parsed { rows, columns })
}

#[derive(Default)]
struct Columns {
    list: Vec<Column>,
    places: HashMap<String, usize>,
}

impl Columns {
    /// Return the place of a column; rows mostly have the same columns in the same order.
    fn place(&mut self, name: &str, guess: usize) -> Option<usize> {
        if self.list.get(guess).is_some_and(|column| column.name == name) {
            return Some(guess);
        }
        if let Some(&place) = self.places.get(name) {
            return Some(place);
        }
        let place = self.list.len();
        self.places.insert(name.to_owned(), place);
        self.list.push(Column::new(name.to_owned()));
        (place < MOST_COLUMNS).then_some(place)
    }
}

/// The rest of a line: from `place` to the end of the block.
struct Line<'a> {
    block: &'a [u8],
    place: usize,
    has_controls: bool,
}

impl Line<'_> {
    fn peek(&self) -> Option<u8> {
        self.block.get(self.place).copied()
    }

    fn skip_spaces(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\r')) {
            self.place += 1;
        }
    }

    /// Pass a byte, and the spaces before and behind it.
    fn pass(&mut self, byte: u8) -> Option<()> {
        self.skip_spaces();
        let found = self.peek() == Some(byte);
        self.place += 1;
        self.skip_spaces();
        found.then_some(())
    }

    fn object(&mut self, row: usize, columns: &mut Columns) -> Option<()> {
        self.pass(b'{')?;
        let (mut guess, mut numbers) = (0, Vec::new());
        if self.peek() != Some(b'}') {
            loop {
                self.member(row, &mut guess, columns, &mut numbers)?;
                self.skip_spaces();
                match self.peek()? {
                    b',' => self.place += 1,
                    b'}' => break,
                    _ => return None,
                }
                self.skip_spaces();
            }
        }
        self.place += 1;
        self.skip_spaces();
        (self.place == self.block.len()).then_some(())
    }

    fn member(&mut self, row: usize, guess: &mut usize, columns: &mut Columns, numbers: &mut Vec<f64>) -> Option<()> {
        if self.peek()? != b'"' {
            return None;
        }
        let (start, end, has_escapes) = self.string()?;
        let key = &self.block[start..end];
        let column = if has_escapes {
            let mut key = key.to_vec();
            let end = unescape_in(&mut key, 0, end - start);
            columns.place(std::str::from_utf8(&key[..end]).ok()?, *guess)?
        } else {
            columns.place(std::str::from_utf8(key).ok()?, *guess)?
        };
        self.pass(b':')?;
        let value = self.value(row, numbers)?;
        columns.list[column].set(value, numbers);
        *guess = column + 1;
        Some(())
    }

    fn value(&mut self, row: usize, numbers: &mut Vec<f64>) -> Option<Value> {
        let start = self.place;
        let plain = |kind, start, end, number| Value {
            row,
            kind,
            start,
            end,
            number,
            has_escapes: false,
        };
        match self.peek()? {
            b'"' => {
                let (start, end, has_escapes) = self.string()?;
                Some(Value {
                    has_escapes,
                    ..plain(Kind::Text, start, end, 0.0)
                })
            }
            b'[' => {
                let kind = if self.numbers(numbers).is_some() {
                    Kind::Numbers
                } else {
                    self.place = start;
                    self.nested()?;
                    Kind::Other
                };
                Some(plain(kind, start, self.place, 0.0))
            }
            b'{' => {
                self.nested()?;
                Some(plain(Kind::Other, start, self.place, 0.0))
            }
            b'-' | b'0'..=b'9' => {
                let (kind, number) = self.number()?;
                Some(plain(kind, start, self.place, number))
            }
            _ => {
                let words: [(&[u8], Kind, f64); 5] = [
                    (b"null", Kind::Null, f64::NAN),
                    (b"true", Kind::Truth, 1.0),
                    (b"false", Kind::Truth, 0.0),
                    (b"NaN", Kind::Other, f64::NAN),
                    (b"Infinity", Kind::Other, f64::INFINITY),
                ];
                let rest = &self.block[start..];
                let (word, kind, number) = words.into_iter().find(|(word, ..)| rest.starts_with(word))?;
                self.place += word.len();
                Some(plain(kind, start, self.place, number))
            }
        }
    }

    /// Pass a string; return where its text is, and whether it has escapes. A lone surrogate is none.
    fn string(&mut self) -> Option<(usize, usize, bool)> {
        let start = self.place + 1;
        let (mut place, mut has_escapes) = (start, false);
        loop {
            let rest = &self.block[place.min(self.block.len())..];
            let length = memchr2(b'"', b'\\', rest)?;
            if self.has_controls && rest[..length].iter().any(|&byte| byte < b' ') {
                return None;
            }
            place += length;
            if self.block[place] == b'"' {
                self.place = place + 1;
                return Some((start, place, has_escapes));
            }
            has_escapes = true;
            place += escape(&self.block[place..])?.1;
        }
    }

    /// Pass a number.
    fn number(&mut self) -> Option<(Kind, f64)> {
        let start = self.place;
        self.place += usize::from(self.peek() == Some(b'-'));
        let whole = self.digits();
        if whole == 0 {
            // "-Infinity" is all that may stand here.
            let found = self.block[start..].starts_with(b"-Infinity");
            self.place = start + b"-Infinity".len();
            return found.then_some((Kind::Other, f64::NEG_INFINITY));
        }
        if whole > 1 && self.block[self.place - whole] == b'0' {
            return None;
        }
        let mut kind = if whole > MOST_DIGITS {
            Kind::Other
        } else {
            Kind::Integer
        };
        if self.peek() == Some(b'.') {
            self.place += 1;
            kind = Kind::Float;
            if self.digits() == 0 {
                return None;
            }
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.place += 1;
            kind = Kind::Float;
            self.place += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            if self.digits() == 0 {
                return None;
            }
        }
        let number = decimal(&self.block[start..self.place])?;
        // There is no whole number −0.
        Some((kind, if kind == Kind::Integer { number + 0.0 } else { number }))
    }

    fn digits(&mut self) -> usize {
        let start = self.place;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.place += 1;
        }
        self.place - start
    }

    /// Pass an array of numbers; `None` if it is another.
    fn numbers(&mut self, numbers: &mut Vec<f64>) -> Option<()> {
        numbers.clear();
        self.pass(b'[')?;
        loop {
            if !matches!(self.peek()?, b'-' | b'0'..=b'9') {
                return None;
            }
            let (kind, number) = self.number()?;
            if kind == Kind::Other {
                return None;
            }
            numbers.push(number);
            self.skip_spaces();
            self.place += 1;
            match self.block.get(self.place - 1)? {
                b',' => self.skip_spaces(),
                b']' => return Some(()),
                _ => return None,
            }
        }
    }

    /// Pass an array or object, up to the bracket that closes it; what is inside is checked by whoever reads it.
    fn nested(&mut self) -> Option<()> {
        let mut open = 0usize;
        loop {
            match self.peek()? {
                b'"' => {
                    self.string()?;
                    continue;
                }
                b'[' | b'{' => open += 1,
                b']' | b'}' => open = open.checked_sub(1)?,
                _ => (),
            }
            self.place += 1;
            if open == 0 {
                return Some(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the rows, the names of the columns, and each value as a row, its kind and its text.
    #[allow(clippy::type_complexity)]
    fn read(text: &str) -> Option<(usize, Vec<(String, Vec<(usize, Kind, String)>)>)> {
        let mut block = text.as_bytes().to_vec();
        let mut parsed = parse(&block)?;
        let columns = parsed.columns.iter_mut().map(|column| {
            column.unescape(&mut block);
            let shown = |value: &Value| {
                let text = String::from_utf8_lossy(&block[value.start..value.end]).into_owned();
                (value.row, value.kind, text)
            };
            (column.name.clone(), column.values.iter().map(shown).collect())
        });
        let columns = columns.collect();
        Some((parsed.rows, columns))
    }

    fn only(text: &str) -> Option<(Kind, String, f64)> {
        let line = format!("{{\"x\": {text}}}");
        let (_, columns) = read(&line)?;
        let (_, kind, shown) = columns[0].1[0].clone();
        Some((kind, shown, parse(line.as_bytes())?.columns[0].values[0].number))
    }

    #[test]
    fn rows_become_columns() {
        let text = "\n{\"a\": \"x\", \"b\" : 1 }\r\n  \t\n {\"b\":2.5,\"c\":null,\"a\":\"y\",\"b\":true}";
        let (rows, columns) = read(text).unwrap();
        assert_eq!(rows, 2);
        let of = |row, kind, text: &str| (row, kind, text.to_owned());
        assert_eq!(
            columns[0],
            ("a".to_owned(), vec![of(0, Kind::Text, "x"), of(1, Kind::Text, "y")])
        );
        assert_eq!(
            columns[1],
            (
                "b".to_owned(),
                vec![of(0, Kind::Integer, "1"), of(1, Kind::Truth, "true")]
            )
        );
        assert_eq!(columns[2], ("c".to_owned(), vec![of(1, Kind::Null, "null")]));
        assert_eq!(read(" \n\n").unwrap().0, 0);
        assert_eq!(read("{}\n{ }").unwrap(), (2, vec![]));
    }

    #[test]
    fn escapes_and_names_with_escapes() {
        let text = r#"{"text": "a\"b\\c\/\n\u00e9\ud83d\ude00 end", "a": 1}
{"te\u0078t": "plain é", "a": 2}"#;
        let (_, columns) = read(text).unwrap();
        assert_eq!(columns.len(), 2);
        assert_eq!(columns[0].1[0].2, "a\"b\\c/\né😀 end");
        assert_eq!(columns[0].1[1].2, "plain é");
    }

    #[test]
    fn numbers_of_every_kind() {
        assert_eq!(only("-0"), Some((Kind::Integer, "-0".to_owned(), 0.0)));
        assert!(only("-0").unwrap().2.is_sign_positive());
        assert!(only("-0.0").unwrap().2.is_sign_negative());
        assert_eq!(only("1E2").unwrap().2, 100.0);
        assert_eq!(only("1e999").unwrap().2, f64::INFINITY);
        assert_eq!(only("123456789012345").unwrap().0, Kind::Integer);
        assert_eq!(only("1234567890123456").unwrap().0, Kind::Other);
        for word in [
            "NaN",
            "Infinity",
            "-Infinity",
            "{\"a\": [\"]\"]}",
            "[1, \"x\"]",
            "[]",
            "[NaN]",
            "[[1]]",
        ] {
            assert_eq!(only(word).unwrap().0, Kind::Other, "{word}");
            assert_eq!(only(word).unwrap().1, word);
        }
        let bad = r#"01|1.|.5|-|+1|1e|nan|tru|[1|{"a"|'x'|"\x"|"\u12g4"|"\ud800"|"\udc00"|1 2||"a"#;
        for bad in bad.split('|').chain(["\"\t\""]) {
            assert_eq!(only(bad), None, "{bad}");
        }
    }

    #[test]
    fn arrays_of_numbers() {
        let parsed =
            parse(b"{\"v\": [1, -2.5 ,3e1]}\n{\"v\": [9], \"v\": [ 4,5 ]}\n{\"v\": [7], \"v\": null}").unwrap();
        let column = &parsed.columns[0];
        assert_eq!(
            (column.numbers.as_slice(), column.ends.as_slice()),
            (&[1.0, -2.5, 30.0, 4.0, 5.0][..], &[3, 5][..])
        );
        assert_eq!(column.kinds(), Kind::Numbers as u8 | Kind::Null as u8);
    }

    #[test]
    fn other_lines_are_left_to_the_caller() {
        for text in [
            "[1]",
            "\"a\"",
            "null",
            "{\"a\": 1,}",
            "{\"a\" 1}",
            "{a: 1}",
            "{\"a\": 1} {\"b\": 2}",
            "{\"a\": 1",
            "{",
            "\0{}",
            "{\"a\": 1}\u{b}",
            "{\"a\": \"b",
        ] {
            assert!(parse(text.as_bytes()).is_none(), "{text}");
        }
        assert!(parse(b"{\"a\": \"\xff\"}").is_none());
        assert!(parse(b"{\"a\": \"\xed\xa0\x80\"}").is_none());
    }
}
