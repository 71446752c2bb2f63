//! Words and symbols: punctuation marks, emoji and other symbols are words, each alone.

use super::characters::{Kind, kind};
use super::tokenizer::{PORTION, Scratch, Script, Text, hand_over};
use super::tokens::Tokens;

impl Text {
    /// Push words and, between them, each character that is neither part of a word nor a space.
    pub(super) fn words_and_symbols(
        &self,
        document: &[u8],
        shortest: usize,
        scratch: &mut Scratch,
        tokens: &mut Tokens,
        take: &mut impl FnMut(&Tokens),
    ) {
        self.lowered(document, &mut scratch.text);
        let Scratch {
            text, word, invalid, ..
        } = scratch;
        for chunk in text.utf8_chunks() {
            let (valid, mut start) = (chunk.valid(), 0);
            for (place, character) in valid.char_indices() {
                if self.is_inside(character) {
                    continue;
                }
                self.words_of_lowered(&valid[start..place], shortest, word, tokens);
                start = place + character.len_utf8();
                if !character.is_whitespace() && !character.is_control() {
                    tokens.push(&valid.as_bytes()[place..start]);
                }
                hand_over(tokens, take, PORTION);
            }
            self.words_of_lowered(&valid[start..], shortest, word, tokens);
            *invalid |= !chunk.invalid().is_empty();
        }
    }

    /// Return whether a character is part of a word, or between two words that a segmenter finds.
    fn is_inside(&self, character: char) -> bool {
        match &self.script {
            Script::Python(tables) => tables.is_word(character),
            Script::World => kind(character) != Kind::Apart,
        }
    }

    fn words_of_lowered(&self, run: &str, shortest: usize, word: &mut String, tokens: &mut Tokens) {
        if !run.is_ascii() {
            self.words_of_run(run.as_bytes(), shortest, word, tokens);
        } else if run.len() >= shortest.max(1) {
            tokens.push(run.as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokenizer::tests::{text, tokens_of};
    use super::super::tokenizer::{Analyzer, Text};

    #[test]
    fn symbols_are_words() {
        let symbols = Text {
            symbols: true,
            ..text(Analyzer::Words { shortest: 1 })
        };
        let cases = [
            ("Win £5!! now :)", "win|£|5|!|!|now|:|)"),
            ("don't\tA", "don|'|t|a"),
            ("我们去北京。", "我们|去|北京|。"),
            ("ΟΔΟΣ 👍🏽", "οδος|👍|🏽"),
            ("", ""),
        ];
        for (document, expected) in cases {
            assert_eq!(tokens_of(&symbols, document).join("|"), expected);
        }
    }
}
