//! The rules of the source tree: which folder uses which, where `unsafe` may stand, how long a file may be.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Each folder of `rust/src` and the other folders that it may use.
const LAYERS: [(&str, &[&str]); 6] = [
    ("system", &[]),
    ("text", &["system"]),
    ("counting", &["system", "text"]),
    ("tables", &["system"]),
    ("learners", &["system", "text", "tables"]),
    ("python", &["system", "text", "counting", "tables", "learners"]),
];

const MOST_LINES: usize = 500;

fn source_root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("rust/src")
}

/// The Rust files below a folder, with their text.
fn files(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.push((path, text));
        }
    }
    found
}

/// The folders that a text names as `crate::folder`, also in a list as `crate::{one::…, other::…}`.
fn used(text: &str) -> BTreeSet<String> {
    let word = |text: &str| -> String {
        let letters = text.trim_start().chars();
        letters.take_while(|c| c.is_alphanumeric() || *c == '_').collect()
    };
    let mut names = BTreeSet::new();
    for behind in text.split("crate::").skip(1) {
        match behind.strip_prefix('{') {
            Some(list) => names.extend(list.split('}').next().unwrap_or("").split(',').map(word)),
            None => _ = names.insert(word(behind)),
        }
    }
    names.remove("");
    names
}

/// The code of a text without its comments.
fn code(text: &str) -> String {
    let lines = text.lines().map(|line| line.split("//").next().unwrap_or(""));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn every_folder_has_its_layer() {
    let folders: BTreeSet<String> = fs::read_dir(source_root())
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    assert_eq!(folders, LAYERS.map(|(folder, _)| folder.to_owned()).into());
}

#[test]
fn a_folder_uses_only_the_layers_below_it() {
    for (folder, below) in LAYERS {
        for (path, text) in files(&source_root().join(folder)) {
            for name in used(&code(&text)) {
                let allowed = name == folder || below.contains(&name.as_str());
                assert!(allowed, "{} uses crate::{name}", path.display());
            }
        }
    }
}

#[test]
fn unsafe_code_stands_in_system_alone() {
    let system = source_root().join("system");
    for (path, text) in files(&source_root()) {
        let is_unsafe = code(&text)
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|word| word == "unsafe" || word == "unsafe_code");
        assert!(!is_unsafe || path.starts_with(&system), "{}", path.display());
    }
}

#[test]
fn no_file_is_too_long() {
    for (path, text) in files(&source_root()) {
        let lines = text.lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", path.display());
    }
}

#[test]
fn names_are_found_in_paths_and_in_lists() {
    let text = "use crate::text::key; let x = crate::tables::bins::Bins; use crate::{system, counting::drain};";
    assert_eq!(
        used(text),
        ["counting", "system", "tables", "text"].map(str::to_owned).into()
    );
}
