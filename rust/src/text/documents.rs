//! Documents as slices of bytes, and their division into portions of work.

/// A column of documents. Each is one piece of text, or a list of finished terms.
pub struct Documents<'a> {
    pieces: Vec<&'a [u8]>,
    /// Where the pieces of each document end; `None` if each has just one.
    ends: Option<Vec<usize>>,
}

impl<'a> Documents<'a> {
    pub fn texts(pieces: Vec<&'a [u8]>) -> Self {
        Documents { pieces, ends: None }
    }

    /// Take lists of finished terms: `ends[i]` is where those of document i end. `None` unless the ends are sorted and
    /// within `pieces`.
    pub fn terms(pieces: Vec<&'a [u8]>, ends: Vec<usize>) -> Option<Self> {
        let sorted = ends.is_sorted() && ends.last().is_none_or(|&end| end <= pieces.len());
        sorted.then_some(Documents {
            pieces,
            ends: Some(ends),
        })
    }

    pub fn len(&self) -> usize {
        self.ends.as_ref().map_or(self.pieces.len(), Vec::len)
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn document(&self, index: usize) -> &[&'a [u8]] {
        match &self.ends {
            None => &self.pieces[index..=index],
            Some(ends) => &self.pieces[if index == 0 { 0 } else { ends[index - 1] }..ends[index]],
        }
    }

    /// Return whether every document is UTF-8.
    pub fn are_utf8(&self) -> bool {
        self.pieces.iter().all(|piece| std::str::from_utf8(piece).is_ok())
    }

    fn size(&self, index: usize) -> usize {
        self.document(index).iter().map(|piece| piece.len() + 8).sum()
    }

    /// Cut rows, in the order given, into ranges of about `bytes` bytes each.
    pub fn portions(&self, order: &[usize], bytes: usize) -> Vec<std::ops::Range<usize>> {
        let (mut portions, mut start, mut size) = (Vec::new(), 0, 0);
        for (place, &row) in order.iter().enumerate() {
            size += self.size(row);
            if size >= bytes {
                portions.push(start..place + 1);
                (start, size) = (place + 1, 0);
            }
        }
        if start < order.len() {
            portions.push(start..order.len());
        }
        portions
    }

    pub fn total_size(&self) -> usize {
        self.pieces.iter().map(|piece| piece.len() + 8).sum()
    }
}
