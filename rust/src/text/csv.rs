//! Comma-separated values (RFC 4180), a block at a time, into columns of fields.

use crate::system::cancel::checkpoint;
use memchr::{memchr_iter, memchr2_iter, memchr3};

/// A column of fields: value i is `block[starts[i]..ends[i]]`.
#[derive(Default)]
pub struct Column {
    pub starts: Vec<i64>,
    pub ends: Vec<i64>,
}

/// Rows of a block, and how many bytes of it they took.
pub struct Parsed {
    pub columns: Vec<Column>,
    pub rows: usize,
    pub consumed: usize,
    /// Rows that do not fit, by their place in the block.
    pub ragged: Vec<Ragged>,
    /// The row, by its place in the block, whose last field has a quote that is never closed.
    pub unclosed: Option<usize>,
}

/// A row with a different number of fields than the header, and where it is.
#[derive(Clone, Copy)]
pub struct Ragged {
    pub row: usize,
    pub fields: usize,
    pub start: usize,
    pub end: usize,
}

pub struct Dialect {
    pub delimiter: u8,
    /// `None`: quotes are ordinary characters.
    pub quote: Option<u8>,
}

/// Where the text of a field is. `quotes`: if quotes must be removed from it, the index of the first one among all
/// quotes of the block.
#[derive(Clone, Copy)]
struct Field {
    start: usize,
    end: usize,
    quotes: Option<usize>,
}

/// The places of all quotes of a block: found in one pass, which is faster than searching for one at a time.
struct Quotes {
    places: Vec<usize>,
    /// The first that was not passed.
    next: usize,
}

impl Quotes {
    fn new(block: &[u8], quote: Option<u8>) -> Self {
        Quotes {
            places: quote.map_or(Vec::new(), |quote| memchr_iter(quote, block).collect()),
            next: 0,
        }
    }

    /// Pass the quotes before `position`; return whether there is one at it.
    fn is_at(&mut self, position: usize) -> bool {
        while self.places.get(self.next).is_some_and(|&place| place < position) {
            self.next += 1;
        }
        self.places.get(self.next) == Some(&position)
    }
}

enum End {
    Field,
    Row,
    /// The file ends inside quotes.
    Unclosed,
}

impl Dialect {
    /// Split `block` into rows of `wanted.len()` fields, keeping the columns that are wanted.
    ///
    /// The last row counts only if it ends with a line break or nothing `follows` the block. Empty lines are not rows,
    /// unless there is only one column. Ragged rows are left out and reported. Fields are not copied: doubled quotes
    /// are removed in the block itself.
    pub fn parse(&self, block: &mut [u8], wanted: &[bool], follows: bool) -> Parsed {
        let mut parsed = Parsed {
            columns: wanted.iter().map(|_| Column::default()).collect(),
            rows: 0,
            consumed: 0,
            ragged: Vec::new(),
            unclosed: None,
        };
        let (mut fields, mut quotes) = (Vec::new(), Quotes::new(block, self.quote));
        let before_quotes = quotes.places.first().copied().unwrap_or(block.len());
        self.parse_plain(&block[..before_quotes], wanted, &mut parsed);
        while parsed.consumed < block.len() {
            checkpoint();
            let start = parsed.consumed;
            let Some((end, unclosed)) = self.row(block, start, follows, &mut quotes, &mut fields) else {
                break;
            };
            let row = parsed.rows + parsed.ragged.len();
            if unclosed {
                parsed.unclosed = Some(row);
            }
            parsed.consumed = end;
            if wanted.len() > 1 && is_line_break(&block[start..end]) {
                continue;
            }
            if fields.len() == wanted.len() {
                keep(block, &quotes.places, &fields, wanted, &mut parsed.columns);
                parsed.rows += 1;
            } else {
                let fields = fields.len();
                parsed.ragged.push(Ragged {
                    row,
                    fields,
                    start,
                    end,
                });
            }
        }
        parsed
    }

    /// Split the rows before the first quote, up to one that does not fit: one search finds the ends of all fields.
    fn parse_plain(&self, block: &[u8], wanted: &[bool], parsed: &mut Parsed) {
        let (mut start, mut ends) = (0, Vec::with_capacity(wanted.len() + 1));
        for place in memchr2_iter(self.delimiter, b'\n', block) {
            ends.push(place);
            if block[place] != b'\n' {
                continue;
            }
            checkpoint();
            if wanted.len() < 2 || !is_line_break(&block[start..=place]) {
                if ends.len() != wanted.len() {
                    return;
                }
                if let Some(last) = ends.last_mut() {
                    *last -= usize::from(block[start..place].ends_with(b"\r"));
                }
                let mut from = start;
                for ((&end, column), wanted) in ends.iter().zip(&mut parsed.columns).zip(wanted) {
                    if *wanted {
                        column.starts.push(from as i64);
                        column.ends.push(end as i64);
                    }
                    from = end + 1;
                }
                parsed.rows += 1;
            }
            ends.clear();
            start = place + 1;
            parsed.consumed = start;
        }
    }

    /// Find the fields of the row at `start`; return where it ends and whether within quotes, or `None` if the block
    /// ends first.
    fn row(
        &self,
        block: &[u8],
        start: usize,
        follows: bool,
        quotes: &mut Quotes,
        fields: &mut Vec<Field>,
    ) -> Option<(usize, bool)> {
        fields.clear();
        let mut position = start;
        loop {
            let (field, next, end) = if quotes.is_at(position) {
                self.quoted(block, follows, quotes)?
            } else {
                self.unquoted(block, position, follows)?
            };
            fields.push(field);
            match end {
                End::Field => position = next,
                End::Row => return Some((next, false)),
                End::Unclosed => return Some((next, true)),
            }
        }
    }

    /// The field, where the next one starts, and what ended it; `None` if the block ends within.
    fn unquoted(&self, block: &[u8], start: usize, follows: bool) -> Option<(Field, usize, End)> {
        let rest = &block[start.min(block.len())..];
        let mut from = 0;
        let (length, next, end) = loop {
            match memchr3(self.delimiter, b'\n', b'\r', &rest[from..]).map(|found| from + found) {
                None if follows => return None,
                None => break (rest.len(), rest.len(), End::Row),
                Some(found) if rest[found] == self.delimiter => break (found, found + 1, End::Field),
                Some(found) if rest[found] == b'\n' => break (found, found + 1, End::Row),
                // A carriage return ends a row only together with a line feed.
                Some(found) => match rest.get(found + 1) {
                    Some(b'\n') => break (found, found + 2, End::Row),
                    None if follows => return None,
                    _ => from = found + 1,
                },
            }
        };
        let field = Field {
            start,
            end: start + length,
            quotes: None,
        };
        Some((field, start + next, end))
    }

    /// A field behind the next quote. Text between the closing quote and the delimiter is kept.
    fn quoted(&self, block: &[u8], follows: bool, quotes: &mut Quotes) -> Option<(Field, usize, End)> {
        let opening = quotes.next;
        let (start, mut at) = (quotes.places[opening] + 1, opening + 1);
        let inner = |at: usize| (at > opening + 1).then_some(opening + 1);
        while let Some(&closing) = quotes.places.get(at) {
            if closing + 1 == block.len() && follows {
                return None;
            }
            if quotes.places.get(at + 1) != Some(&(closing + 1)) {
                quotes.next = at + 1;
                let (behind, next, end) = self.unquoted(block, closing + 1, follows)?;
                let whole = behind.end == behind.start;
                let field = Field {
                    start,
                    end: if whole { closing } else { behind.end },
                    quotes: if whole { inner(at) } else { Some(opening + 1) },
                };
                return Some((field, next, end));
            }
            at += 2;
        }
        let (end, quotes) = (block.len(), inner(at));
        (!follows).then_some((Field { start, end, quotes }, end, End::Unclosed))
    }
}

/// Append the fields of a row to the columns that are wanted.
fn keep(block: &mut [u8], quotes: &[usize], fields: &[Field], wanted: &[bool], columns: &mut [Column]) {
    for ((field, column), _) in fields.iter().zip(columns).zip(wanted).filter(|(_, wanted)| **wanted) {
        let end = match field.quotes {
            Some(first) => unquote(block, field, &quotes[first..]),
            None => field.end,
        };
        column.starts.push(field.start as i64);
        column.ends.push(end as i64);
    }
}

/// Remove the closing quote of a field, and one of each pair before it; return where the field ends then.
fn unquote(block: &mut [u8], field: &Field, quotes: &[usize]) -> usize {
    let (mut from, mut to, mut quotes) = (field.start, field.start, quotes.iter());
    while let Some(&quote) = quotes.next().filter(|&&quote| quote < field.end) {
        let doubled = quotes.as_slice().first() == Some(&(quote + 1));
        let kept = from..quote + usize::from(doubled);
        (from, to) = (kept.end + 1, move_to(block, kept, to));
        if !doubled {
            break;
        }
        quotes.next();
    }
    move_to(block, from..field.end, to)
}

/// Move bytes to an earlier place; return where they end there.
fn move_to(block: &mut [u8], kept: std::ops::Range<usize>, to: usize) -> usize {
    let end = to + kept.len();
    if kept.start != to {
        block.copy_within(kept, to);
    }
    end
}

fn is_line_break(bytes: &[u8]) -> bool {
    matches!(bytes, b"\n" | b"\r\n")
}

impl Column {
    /// The first value that is not UTF-8.
    pub fn first_invalid(&self, block: &[u8]) -> Option<usize> {
        let mut spans = self.starts.iter().zip(&self.ends);
        spans.position(|(&start, &end)| std::str::from_utf8(&block[start as usize..end as usize]).is_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Return the values of each column, and the rest of the result.
    fn parse(file: &[u8], wanted: &[bool], follows: bool) -> (Vec<Vec<String>>, Parsed) {
        let mut block = file.to_vec();
        let parsed = COMMA.parse(&mut block, wanted, follows);
        let value =
            |(&start, &end): (&i64, &i64)| String::from_utf8_lossy(&block[start as usize..end as usize]).into_owned();
        let columns = parsed.columns.iter();
        let values = columns.map(|column| column.starts.iter().zip(&column.ends).map(value).collect());
        (values.collect(), parsed)
    }

    const COMMA: Dialect = Dialect {
        delimiter: b',',
        quote: Some(b'"'),
    };

    #[test]
    fn quotes_line_breaks_and_crlf() {
        let file = b"a,\"x \"\"y\"\", z\"\r\nb,\"two\nlines\"\n\nc,plain\rreturn\r\nd,";
        let (values, parsed) = parse(file, &[true, true], false);
        assert_eq!(values[0], ["a", "b", "c", "d"]);
        assert_eq!(values[1], ["x \"y\", z", "two\nlines", "plain\rreturn", ""]);
        assert!(parsed.ragged.is_empty());
    }

    #[test]
    fn what_stands_behind_a_closing_quote_is_kept_as_it_is() {
        let (values, _) = parse(b"\"a\"b\"\"c,\"\"\"\"d,\"\"\"x\"\"\"\n", &[true, true, true], false);
        assert_eq!(values, [["ab\"\"c"], ["\"d"], ["\"x\""]]);
    }

    #[test]
    fn any_cut_of_the_file_gives_the_same_rows() {
        let file = b"a,\"x \"\"y\"\", z\"\r\nb,\"two\nlines\"\nc,\"\"\nd,end";
        let (whole, _) = parse(file, &[true, true], false);
        for cut in 0..file.len() {
            let mut block = file[..cut].to_vec();
            let first = COMMA.parse(&mut block, &[true, true], true);
            // What was not consumed is as it was: it is read again, with what follows.
            assert_eq!(block[first.consumed..], file[first.consumed..cut]);
            let (mut all, _) = parse(&file[..first.consumed], &[true, true], true);
            let (second, _) = parse(&file[first.consumed..], &[true, true], false);
            all.iter_mut().zip(second).for_each(|(all, second)| all.extend(second));
            assert_eq!(all, whole, "cut at {cut}");
        }
    }

    #[test]
    fn ragged_rows_are_named() {
        let file = b"a,b\nc\nd,\"e\",f\ng,h";
        let (values, parsed) = parse(file, &[true, false], false);
        assert_eq!(values[0], ["a", "g"]);
        assert!(values[1].is_empty());
        let ragged: Vec<_> = parsed
            .ragged
            .iter()
            .map(|r| (r.row, r.fields, &file[r.start..r.end]))
            .collect();
        assert_eq!(ragged, [(1, 1, b"c\n" as &[u8]), (2, 3, b"d,\"e\",f\n")]);
    }

    #[test]
    fn a_quote_that_is_never_closed_is_reported() {
        let unclosed = |file: &[u8], follows| parse(file, &[true, true], follows).1.unclosed;
        assert_eq!(unclosed(b"a,b\nc,\"d\ne,f\n", false), Some(1));
        assert_eq!(unclosed(b"a,b\nc,\"d\ne,f\n", true), None);
        assert_eq!(unclosed(b"a,b\nc,\"d\ne,f\"", false), None);
    }

    #[test]
    fn invalid_utf8_is_found() {
        let block = b"ok\n\xC3\n\xA9\n";
        let parsed = COMMA.parse(&mut block.to_vec(), &[true], false);
        assert_eq!(parsed.columns[0].first_invalid(block), Some(1));
    }
}
