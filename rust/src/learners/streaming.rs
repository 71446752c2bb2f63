//! Logistic regression learned from documents while they are read, one after the other.
//!
//! A document is the vector x of 1 + ln(count) of its terms, and a 1 for the bias, divided by its length. With the
//! label y = ±1 and the score s = w·x, the gradient of the logistic loss ln(1 + e^(−ys)) is −y·g·x, where g = 1/(1 +
//! e^(ys)). Each weight has its own rate, which falls with the gradients it has seen (Duchi, Hazan and Singer 2011,
//! McMahan and Streeter 2010):
//!
//! Gⱼ ← Gⱼ + (g·xⱼ)²,   rⱼ = rate / √Gⱼ,   wⱼ ← wⱼ + a·y·rⱼ·xⱼ.
//!
//! The step is implicit (Kulis and Bartlett 2010): a is not g but its value after the step, the root of a = 1/(1 +
//! e^(ys + a·v)) with v = Σ rⱼxⱼ². So a step never overshoots, whatever the rate. A row whose g is negligible changes
//! nothing. Of two classes the second is +1; of more, each has a learner of its own against the rest.
//!
//! Weights are numbers of 32 bits, sums are taken in sixteen lanes: the same rows in the same order lead to the same
//! bits, whatever the batches and the processor's vectors.

use std::sync::Arc;

use crate::system::memory::Table;
use crate::system::vector::vectorized;
use crate::text::bag::Bag;
use crate::text::lexicon::Lexicon;
use crate::text::reader::{Fixed, Growing, Reader};
use crate::text::tokenizer::Text;

/// A row whose label already has a probability of at least 99.5% changes nothing.
const NEGLIGIBLE: f64 = 0.005;
/// Sums of squares start here, so that none is ever zero.
const LEAST_SQUARES: f32 = 1e-12;
/// Lanes in which sums are taken.
const LANES: usize = 16;
/// Counts below this have their logarithm in a table.
const COMMON_COUNTS: usize = 256;
/// The most Newton steps and bisections for a root; far fewer are needed.
const MOST_STEPS: usize = 100;
/// A Newton step shorter than this share leaves an error of about its square.
const CLOSE: f64 = 1e-4;

/// A weight and the sum of the squares of its gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(C, align(8))]
pub struct Cell {
    pub weight: f32,
    pub squares: f32,
}

impl Default for Cell {
    fn default() -> Self {
        Cell {
            weight: 0.0,
            squares: LEAST_SQUARES,
        }
    }
}

impl Cell {
    /// The same for the opposite label.
    fn mirrored(self) -> Self {
        Cell {
            weight: -self.weight,
            ..self
        }
    }
}

/// One class against the others: a cell for each term, in the order of their numbers, and one for the bias.
pub struct Learner {
    cells: Table<Cell>,
    bias: Cell,
}

impl Default for Learner {
    fn default() -> Self {
        Self::new([], Cell::default())
    }
}

impl Learner {
    pub fn new(cells: impl IntoIterator<Item = Cell, IntoIter: ExactSizeIterator>, bias: Cell) -> Self {
        let cells = cells.into_iter();
        let mut table = Table::new(cells.len());
        table.iter_mut().zip(cells).for_each(|(place, cell)| *place = cell);
        Learner { cells: table, bias }
    }

    /// The cells of the first `terms` terms, and then that of the bias.
    pub fn cells(&self, terms: usize) -> impl Iterator<Item = Cell> {
        let unseen = terms.saturating_sub(self.cells.size());
        let seen = self.cells.iter().copied().take(terms);
        seen.chain(std::iter::repeat_n(Cell::default(), unseen))
            .chain([self.bias])
    }

    fn mirrored(&self) -> Self {
        Learner::new(self.cells.iter().map(|cell| cell.mirrored()), self.bias.mirrored())
    }

    fn make_room(&mut self, terms: usize) {
        if self.cells.size() < terms {
            let mut larger = Table::new(2 * terms);
            larger
                .iter_mut()
                .zip(self.cells.iter())
                .for_each(|(place, cell)| *place = *cell);
            self.cells = larger;
        }
    }
}

/// 1 + ln(count) for the counts of a document.
struct Damping(Vec<f32>);

impl Damping {
    fn new() -> Self {
        Damping((0..COMMON_COUNTS).map(|count| damped(count as u32)).collect())
    }

    #[inline(always)]
    fn of(&self, count: u32) -> f32 {
        match self.0.get(count as usize) {
            Some(&value) => value,
            None => damped(count),
        }
    }
}

/// 1 + ln(count), and 0 for 0.
fn damped(count: u32) -> f32 {
    if count == 0 {
        return 0.0;
    }
    (1.0 + f64::from(count).ln()) as f32
}

/// The current row, padded with zeros to whole lanes; the bias follows the terms.
#[derive(Default)]
struct Row {
    values: Vec<f32>,
    weights: Vec<f32>,
    squares: Vec<f32>,
    steps: Vec<f32>,
}

impl Row {
    /// Take the counts of a document's terms; its length becomes 1.
    #[inline(always)]
    fn fill(&mut self, counts: &[u32], damping: &Damping) {
        let lanes = (counts.len() + 1).next_multiple_of(LANES);
        for numbers in [&mut self.values, &mut self.weights, &mut self.squares, &mut self.steps] {
            numbers.resize(lanes, 0.0);
        }
        for (value, &count) in self.values.iter_mut().zip(counts) {
            *value = damping.of(count);
        }
        self.values[counts.len()] = 1.0;
        self.values[counts.len() + 1..].fill(0.0);
        let scale = 1.0 / dot(&self.values, &self.values).sqrt();
        self.values.iter_mut().for_each(|value| *value *= scale);
    }

    /// Fetch the cells of the terms; return the score.
    #[inline(always)]
    fn gather(&mut self, terms: &[u32], learner: &Learner) -> f32 {
        let cells = &learner.cells;
        let targets = self.weights.iter_mut().zip(&mut self.squares);
        for (&term, (weight, squares)) in terms.iter().zip(targets) {
            let cell = cells[term as usize];
            (*weight, *squares) = (cell.weight, cell.squares);
        }
        // The values after the bias are 0, so their weights and squares do not matter.
        self.weights[terms.len()..].fill(learner.bias.weight);
        self.squares[terms.len()..].fill(learner.bias.squares);
        dot(&self.values, &self.weights)
    }

    /// Add the squares of gradients, and compute the whole step; return v = Σ rⱼxⱼ².
    #[inline(always)]
    fn adapt(&mut self, gradient: f32, rate: f32) -> f32 {
        let (values, _) = self.values.as_chunks::<LANES>();
        let (squares, _) = self.squares.as_chunks_mut::<LANES>();
        let (steps, _) = self.steps.as_chunks_mut::<LANES>();
        let mut sums = [0.0f32; LANES];
        for ((values, squares), steps) in values.iter().zip(squares).zip(steps) {
            // Copies, each written in a loop of its own, which the compiler vectorizes.
            let (mut grown, mut whole) = (*squares, [0.0f32; LANES]);
            for lane in 0..LANES {
                let slope = gradient * values[lane];
                grown[lane] += slope * slope;
            }
            for lane in 0..LANES {
                whole[lane] = rate * values[lane] / grown[lane].sqrt();
            }
            for lane in 0..LANES {
                sums[lane] += values[lane] * whole[lane];
            }
            (*squares, *steps) = (grown, whole);
        }
        total(sums)
    }

    /// Go a signed share of the whole step, and write the cells back.
    #[inline(always)]
    fn scatter(&self, share: f32, terms: &[u32], learner: &mut Learner) {
        let changed = self.weights.iter().zip(&self.squares).zip(&self.steps);
        for (&term, ((weight, &squares), step)) in terms.iter().zip(changed) {
            learner.cells[term as usize] = Cell {
                weight: weight + share * step,
                squares,
            };
        }
        let bias = terms.len();
        learner.bias = Cell {
            weight: self.weights[bias] + share * self.steps[bias],
            squares: self.squares[bias],
        };
    }

    /// Make one step of a learner, unless it is negligible.
    #[inline(always)]
    fn learn(&mut self, terms: &[u32], positive: bool, rate: f32, learner: &mut Learner) {
        let sign = if positive { 1.0 } else { -1.0 };
        let margin = f64::from(sign * self.gather(terms, learner));
        let gradient = logistic(-margin);
        if gradient > NEGLIGIBLE {
            let reach = self.adapt(gradient as f32, rate);
            let share = implicit_step(margin, f64::from(reach), gradient) as f32;
            self.scatter(sign * share, terms, learner);
        }
    }
}

fn logistic(score: f64) -> f64 {
    1.0 / (1.0 + (-score).exp())
}

/// The root a of a = 1/(1 + e^(margin + a·reach)), which lies between 0 and the gradient: by Newton's method, with
/// bisection where it would leave the bracket.
fn implicit_step(margin: f64, reach: f64, gradient: f64) -> f64 {
    let (mut low, mut high) = (0.0, gradient);
    let mut step = gradient / (1.0 + reach * gradient * (1.0 - gradient));
    for _ in 0..MOST_STEPS {
        let after = logistic(-margin - step * reach);
        let error = step - after;
        if error > 0.0 {
            high = step;
        } else {
            low = step;
        }
        let newton = step - error / (1.0 + reach * after * (1.0 - after));
        let next = if newton > low && newton < high {
            newton
        } else {
            0.5 * (low + high)
        };
        if (next - step).abs() <= CLOSE * step {
            return next;
        }
        step = next;
    }
    step
}

#[inline(always)]
fn dot(left: &[f32], right: &[f32]) -> f32 {
    let (left, _) = left.as_chunks::<LANES>();
    let (right, _) = right.as_chunks::<LANES>();
    let mut sums = [0.0f32; LANES];
    for (left, right) in left.iter().zip(right) {
        for lane in 0..LANES {
            sums[lane] += left[lane] * right[lane];
        }
    }
    total(sums)
}

/// The sum of the lanes, by adding halves.
#[inline(always)]
fn total(mut sums: [f32; LANES]) -> f32 {
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

/// The memory of a thread that reads documents.
pub struct Workspace {
    reader: Reader,
    bag: Bag,
    row: Row,
    damping: Damping,
}

impl Workspace {
    fn new(text: &Arc<Text>, lexicon: &Lexicon) -> Self {
        Workspace {
            reader: Reader::new(text.clone(), lexicon.seeds()),
            bag: Bag::default(),
            row: Row::default(),
            damping: Damping::new(),
        }
    }

    /// Read a document and add its new terms to the lexicon.
    fn read_growing(&mut self, document: &[&[u8]], lexicon: &mut Lexicon, seen: impl Fn(u32)) {
        let Workspace { reader, bag, .. } = self;
        bag.clear();
        for piece in document {
            if reader.is_plain() {
                reader.tokenize(piece, &mut |tokens| lexicon.fill_bag(tokens, bag, &seen));
            } else {
                reader.read(piece, &mut Growing(lexicon), &mut |numbers, limit| {
                    bag.add(numbers, limit)
                });
            }
        }
    }

    /// Read a document; terms that the lexicon does not have are left out.
    fn read_fixed(&mut self, document: &[&[u8]], lexicon: &Lexicon) {
        let Workspace { reader, bag, .. } = self;
        bag.clear();
        for piece in document {
            reader.read(piece, &mut Fixed(lexicon), &mut |numbers, limit| {
                bag.add(numbers, limit)
            });
        }
    }
}

/// The model learned from documents so far.
pub struct Model {
    text: Arc<Text>,
    lexicon: Lexicon,
    rate: f32,
    classes: usize,
    /// One for up to two classes, of which the second is positive; else one a class.
    learners: Vec<Learner>,
    workspace: Workspace,
}

impl Model {
    /// Start a model for about `bytes` bytes of text: a guess at the size of the vocabulary saves growing it.
    pub fn new(text: &Arc<Text>, rate: f32, bytes: usize) -> Self {
        let words = (bytes / 64).clamp(1 << 10, 1 << 16);
        Self::with(text, rate, Lexicon::with_capacity(words), 0, vec![Learner::default()])
    }

    /// Continue from learners whose cells are those of the lexicon's terms.
    pub fn with(text: &Arc<Text>, rate: f32, lexicon: Lexicon, classes: usize, learners: Vec<Learner>) -> Self {
        let workspace = Workspace::new(text, &lexicon);
        Model {
            text: text.clone(),
            lexicon,
            rate,
            classes,
            learners,
            workspace,
        }
    }

    pub fn classes(&self) -> usize {
        self.classes
    }

    pub fn lexicon(&self) -> &Lexicon {
        &self.lexicon
    }

    pub fn learners(&self) -> &[Learner] {
        &self.learners
    }

    /// Make room for more classes. The learner of two classes is that of the second; mirrored, it is that of the first.
    pub fn widen(&mut self, classes: usize) {
        if classes > 2 && self.learners.len() == 1 {
            let first = self.learners[0].mirrored();
            self.learners.insert(0, first);
        }
        if classes > 2 {
            self.learners.resize_with(classes.max(self.classes), Learner::default);
        }
        self.classes = self.classes.max(classes);
    }

    /// Learn one document, which may be the first of its class.
    pub fn learn(&mut self, document: &[&[u8]], class: usize) {
        self.widen(class + 1);
        let Model {
            lexicon,
            rate,
            learners,
            workspace,
            ..
        } = self;
        let first = &learners[0].cells;
        workspace.read_growing(document, lexicon, |term| first.prefetch(term as usize));
        let Workspace { bag, row, damping, .. } = workspace;
        let alone = learners.len() == 1;
        vectorized(
            #[inline(always)]
            || {
                row.fill(bag.counts(), damping);
                for (place, learner) in learners.iter_mut().enumerate() {
                    learner.make_room(lexicon.len());
                    row.learn(bag.terms(), class == if alone { 1 } else { place }, *rate, learner);
                }
            },
        );
    }

    pub fn workspace(&self) -> Workspace {
        Workspace::new(&self.text, &self.lexicon)
    }

    /// Append the score of each learner.
    pub fn score(&self, workspace: &mut Workspace, document: &[&[u8]], scores: &mut Vec<f64>) {
        workspace.read_fixed(document, &self.lexicon);
        let Workspace { bag, row, damping, .. } = workspace;
        vectorized(
            #[inline(always)]
            || {
                row.fill(bag.counts(), damping);
                let learners = self.learners.iter();
                scores.extend(learners.map(|learner| f64::from(row.gather(bag.terms(), learner))));
            },
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tokenizer::{Analyzer, Script};

    fn text() -> Arc<Text> {
        Arc::new(Text {
            analyzer: Analyzer::Words { shortest: 1 },
            script: Script::World,
            lowercase: true,
            shortest_gram: 1,
            longest_gram: 1,
            stop_words: Default::default(),
            stemmer: None,
            symbols: false,
        })
    }

    #[test]
    fn an_implicit_step_is_the_root_however_far_it_reaches() {
        for margin in [-700.0, -30.0, -1.0, 0.0, 1.0, 5.0] {
            for reach in [1e-9, 0.1, 1.0, 40.0, 1e6, 1e12] {
                let gradient = logistic(-margin);
                let step = implicit_step(margin, reach, gradient);
                let after = logistic(-margin - step * reach);
                // On a steep curve the root is known better than the value there, so the tolerance grows with the
                // slope.
                assert!((0.0..=gradient).contains(&step), "{margin} {reach}");
                assert!(
                    (step - after).abs() <= 1e-6 * step * (1.0 + reach * after * (1.0 - after)),
                    "{margin} {reach} {step} {after}"
                );
            }
        }
    }

    #[test]
    fn a_third_class_finds_both_others_as_if_each_had_learned_alone() {
        let documents: [(&[u8], usize); 4] = [(b"a b b", 0), (b"c a", 1), (b"b d", 0), (b"c c e", 1)];
        let (mut late, mut early) = (Model::new(&text(), 2.0, 0), Model::new(&text(), 2.0, 0));
        early.widen(3);
        for (document, class) in documents {
            late.learn(&[document], class);
            early.learn(&[document], class);
        }
        assert_eq!((late.learners.len(), early.learners.len()), (1, 3));
        late.widen(3);
        for place in 0..2 {
            assert!(late.learners[place].cells(5).eq(early.learners[place].cells(5)));
        }
        assert!(late.learners[2].cells(5).all(|cell| cell == Cell::default()));
        assert!(early.learners[2].bias.weight < 0.0);
    }
}
