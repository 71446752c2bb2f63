//! Comma-separated values (RFC 4180), a block at a time, into columns of strings.

use crate::patience::beat;
use memchr::{memchr, memchr3};

/// A column of strings: value i is `bytes[offsets[i]..offsets[i + 1]]`.
#[derive(Default)]
pub struct Column {
    pub bytes: Vec<u8>,
    pub offsets: Vec<i64>,
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

/// A row with another number of fields than the header.
#[derive(Clone, Copy)]
pub struct Ragged {
    pub row: usize,
    pub fields: usize,
}

pub struct Dialect {
    pub delimiter: u8,
    /// `None`: quotes are ordinary characters.
    pub quote: Option<u8>,
}

enum End {
    Field,
    Row,
    /// The file ends inside quotes.
    Unclosed,
    /// The block ends inside the field: wait for more.
    Block,
}

/// Where a row ends, and how many fields it has.
struct Row {
    end: usize,
    fields: usize,
    unclosed: bool,
}

impl Dialect {
    /// Splits `block` into rows of `wanted.len()` fields, keeping the columns that are wanted.
    ///
    /// The last row counts only if it ends with a line break or nothing `follows` the block. Lines that are
    /// quite empty are no rows, unless there is just one column. Ragged rows are left out and reported.
    pub fn parse(&self, block: &[u8], wanted: &[bool], follows: bool) -> Parsed {
        // Memory that is not written costs nothing; but of many columns each should ask for less.
        let share = block.len() / wanted.iter().filter(|&&wanted| wanted).count().div_ceil(4).max(1);
        let column = |&wanted| Column {
            bytes: Vec::with_capacity(if wanted { share } else { 0 }),
            offsets: vec![0],
        };
        let columns: Vec<Column> = wanted.iter().map(column).collect();
        let mut parsed = Parsed {
            columns,
            rows: 0,
            consumed: 0,
            ragged: Vec::new(),
            unclosed: None,
        };
        while parsed.consumed < block.len() {
            beat();
            match self.row(block, parsed.consumed, wanted, follows, &mut parsed.columns) {
                None => {
                    parsed.cut_back();
                    break;
                }
                Some(Row { end, fields, unclosed }) => {
                    if unclosed {
                        parsed.unclosed = Some(parsed.rows + parsed.ragged.len());
                    }
                    let blank = wanted.len() > 1 && is_line_break(&block[parsed.consumed..end]);
                    if blank {
                        parsed.cut_back();
                    } else if fields != wanted.len() {
                        parsed.cut_back();
                        parsed.ragged.push(Ragged {
                            row: parsed.rows + parsed.ragged.len(),
                            fields,
                        });
                    } else {
                        parsed.rows += 1;
                        let columns = parsed.columns.iter_mut();
                        columns.for_each(|column| column.offsets.push(column.bytes.len() as i64));
                    }
                    parsed.consumed = end;
                }
            }
        }
        parsed
    }

    /// Reads one row from `start`; `None` if the block ends within it.
    fn row(&self, block: &[u8], start: usize, wanted: &[bool], follows: bool, columns: &mut [Column]) -> Option<Row> {
        let (mut position, mut field) = (start, 0);
        let mut unwanted = Vec::new();
        loop {
            let keep = wanted.get(field).copied().unwrap_or(false);
            let target = if keep { &mut columns[field].bytes } else { &mut unwanted };
            let (next, end) = match self.quote {
                Some(quote) if block.get(position) == Some(&quote) => {
                    self.quoted(block, position + 1, quote, follows, keep, target)
                }
                _ => self.unquoted(block, position, follows, keep, target),
            };
            field += 1;
            match end {
                End::Field => position = next,
                End::Row => {
                    return Some(Row {
                        end: next,
                        fields: field,
                        unclosed: false,
                    });
                }
                End::Unclosed => {
                    return Some(Row {
                        end: next,
                        fields: field,
                        unclosed: true,
                    });
                }
                End::Block => return None,
            }
        }
    }

    fn unquoted(&self, block: &[u8], start: usize, follows: bool, keep: bool, target: &mut Vec<u8>) -> (usize, End) {
        let rest = &block[start.min(block.len())..];
        let mut from = 0;
        let (length, next, end) = loop {
            match memchr3(self.delimiter, b'\n', b'\r', &rest[from..]).map(|found| from + found) {
                None if follows => return (start, End::Block),
                None => break (rest.len(), rest.len(), End::Row),
                Some(found) if rest[found] == self.delimiter => break (found, found + 1, End::Field),
                Some(found) if rest[found] == b'\n' => break (found, found + 1, End::Row),
                // A carriage return ends a row only together with a line feed.
                Some(found) => match rest.get(found + 1) {
                    Some(b'\n') => break (found, found + 2, End::Row),
                    None if follows => return (start, End::Block),
                    _ => from = found + 1,
                },
            }
        };
        if keep {
            target.extend_from_slice(&rest[..length]);
        }
        (start + next, end)
    }

    /// A field behind its opening quote. What stands between the closing quote and the delimiter is kept.
    fn quoted(
        &self,
        block: &[u8],
        start: usize,
        quote: u8,
        follows: bool,
        keep: bool,
        target: &mut Vec<u8>,
    ) -> (usize, End) {
        let mut position = start;
        loop {
            let Some(found) = memchr(quote, &block[position..]) else {
                if follows {
                    return (start, End::Block);
                }
                target.extend_from_slice(if keep { &block[position..] } else { &[] });
                return (block.len(), End::Unclosed);
            };
            let closing = position + found;
            let doubled = block.get(closing + 1) == Some(&quote);
            if keep {
                target.extend_from_slice(&block[position..closing + usize::from(doubled)]);
            }
            if closing + 1 == block.len() && follows {
                return (start, End::Block);
            }
            if !doubled {
                return self.unquoted(block, closing + 1, follows, keep, target);
            }
            position = closing + 2;
        }
    }
}

impl Parsed {
    /// Forgets what was read of an unfinished or unfit row.
    fn cut_back(&mut self) {
        for column in &mut self.columns {
            column
                .bytes
                .truncate(column.offsets.last().map_or(0, |&offset| offset as usize));
        }
    }
}

fn is_line_break(bytes: &[u8]) -> bool {
    matches!(bytes, b"\n" | b"\r\n")
}

impl Column {
    /// The first value that is not UTF-8.
    pub fn first_invalid(&self) -> Option<usize> {
        let boundary = |offset: i64| self.bytes.get(offset as usize).is_none_or(|byte| byte & 0xC0 != 0x80);
        if std::str::from_utf8(&self.bytes).is_ok() && self.offsets.iter().all(|&offset| boundary(offset)) {
            return None;
        }
        let mut spans = self.offsets.windows(2);
        spans.position(|span| std::str::from_utf8(&self.bytes[span[0] as usize..span[1] as usize]).is_err())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(column: &Column) -> Vec<String> {
        let spans = column.offsets.windows(2);
        spans
            .map(|w| String::from_utf8_lossy(&column.bytes[w[0] as usize..w[1] as usize]).into_owned())
            .collect()
    }

    const COMMA: Dialect = Dialect {
        delimiter: b',',
        quote: Some(b'"'),
    };

    #[test]
    fn quotes_line_breaks_and_crlf() {
        let block = b"a,\"x \"\"y\"\", z\"\r\nb,\"two\nlines\"\n\nc,plain\rreturn\r\nd,";
        let parsed = COMMA.parse(block, &[true, true], false);
        assert_eq!(values(&parsed.columns[0]), ["a", "b", "c", "d"]);
        assert_eq!(
            values(&parsed.columns[1]),
            ["x \"y\", z", "two\nlines", "plain\rreturn", ""]
        );
        assert!(parsed.ragged.is_empty());
    }

    #[test]
    fn any_cut_of_the_file_gives_the_same_rows() {
        let file = b"a,\"x \"\"y\"\", z\"\r\nb,\"two\nlines\"\nc,\"\"\nd,end";
        let whole = COMMA.parse(file, &[true, true], false);
        for cut in 0..file.len() {
            let first = COMMA.parse(&file[..cut], &[true, true], true);
            let second = COMMA.parse(&file[first.consumed..], &[true, true], false);
            for column in 0..2 {
                let mut all = values(&first.columns[column]);
                all.extend(values(&second.columns[column]));
                assert_eq!(all, values(&whole.columns[column]), "cut at {cut}");
            }
        }
    }

    #[test]
    fn ragged_rows_are_named() {
        let parsed = COMMA.parse(b"a,b\nc\nd,e,f\ng,h", &[true, false], false);
        assert_eq!(values(&parsed.columns[0]), ["a", "g"]);
        let ragged: Vec<(usize, usize)> = parsed.ragged.iter().map(|r| (r.row, r.fields)).collect();
        assert_eq!(ragged, [(1, 1), (2, 3)]);
    }

    #[test]
    fn a_quote_that_is_never_closed_is_reported() {
        assert_eq!(
            COMMA.parse(b"a,b\nc,\"d\ne,f\n", &[true, true], false).unclosed,
            Some(1)
        );
        assert_eq!(COMMA.parse(b"a,b\nc,\"d\ne,f\n", &[true, true], true).unclosed, None);
        assert_eq!(COMMA.parse(b"a,b\nc,\"d\ne,f\"", &[true, true], false).unclosed, None);
    }

    #[test]
    fn invalid_utf8_is_found() {
        let parsed = COMMA.parse(b"ok\n\xC3\n\xA9\n", &[true], false);
        assert_eq!(parsed.columns[0].first_invalid(), Some(1));
    }
}
