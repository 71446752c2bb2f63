//! Bytes to terms: files are split into fields, documents into tokens, and tokens get numbers.

pub mod bag;
pub mod characters;
pub mod csv;
pub mod documents;
mod escapes;
pub mod json;
pub mod key;
pub mod lexicon;
pub mod numbers;
pub mod reader;
mod symbols;
pub mod tokenizer;
pub mod tokens;
