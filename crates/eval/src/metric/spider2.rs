//! The comparator of Spider 2.0-lite.
//!
//! Its script writes a prediction to a CSV file and reads it back with pandas, as it reads gold's. So a column of text
//! that looks like numbers is numbers, and empty text is missing. Both sides are put through the same here.

use glowworm_database::{Value, python};

use crate::question::Table;

/// Absolute tolerance between two numbers; `math.isclose` adds a relative one.
const TOLERANCE: f64 = 1e-2;
/// The relative tolerance that `math.isclose` has by itself.
const RELATIVE: f64 = 1e-9;

/// What pandas reads as missing.
const MISSING: [&str; 18] = [
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
    "NA", "NULL", "NaN", "None", "n/a", "nan",
];

/// A cell after the way through the CSV file.
#[derive(Debug, Clone, PartialEq)]
enum Cell {
    Missing,
    Integer(f64),
    Real(f64),
    Text(String),
}

impl Cell {
    fn number(&self) -> Option<f64> {
        match self {
            Cell::Integer(number) | Cell::Real(number) => Some(*number),
            Cell::Missing | Cell::Text(_) => None,
        }
    }

    /// What the script sorts a column by where order is ignored: `(x is None, str(x), is a number)`. pandas has `nan`
    /// for None, which is a number.
    fn sort_key(&self) -> (String, bool) {
        match self {
            Cell::Missing => ("nan".into(), true),
            Cell::Integer(number) => (format!("{number:.0}"), true),
            Cell::Real(number) => (python::float_repr(*number), true),
            Cell::Text(text) => (text.clone(), false),
        }
    }
}

/// Every gold column that counts must match some predicted column.
pub(super) fn equal(gold: &Table, predicted: &Table, counted: &[usize], ignore_order: bool) -> bool {
    let (gold, predicted) = (frame(gold), frame(predicted));
    let counted: Vec<usize> = if counted.is_empty() { (0..gold.len()).collect() } else { counted.to_vec() };
    counted.into_iter().all(|index| {
        // A position past the end is a mistake in the set; pandas raises, and the script scores 0.
        gold.get(index).is_some_and(|gold| predicted.iter().any(|column| matches(gold, column, ignore_order)))
    })
}

fn matches(gold: &[Cell], predicted: &[Cell], ignore_order: bool) -> bool {
    if gold.len() != predicted.len() {
        return false;
    }
    let sorted = |cells: &[Cell]| {
        let mut cells = cells.to_vec();
        if ignore_order {
            cells.sort_by_cached_key(Cell::sort_key);
        }
        cells
    };
    sorted(gold).iter().zip(&sorted(predicted)).all(|(gold, predicted)| match (gold, predicted) {
        (Cell::Missing, Cell::Missing) => true,
        (Cell::Text(gold), Cell::Text(predicted)) => gold == predicted,
        (gold, predicted) => match (gold.number(), predicted.number()) {
            (Some(gold), Some(predicted)) => close(gold, predicted),
            _ => false,
        },
    })
}

/// `math.isclose(a, b, abs_tol=0.01)`.
fn close(a: f64, b: f64) -> bool {
    if a == b {
        return true;
    }
    let difference = (a - b).abs();
    difference.is_finite() && difference <= (RELATIVE * a.abs().max(b.abs())).max(TOLERANCE)
}

/// The columns as pandas reads them.
fn frame(table: &Table) -> Vec<Vec<Cell>> {
    let mut columns: Vec<Vec<Cell>> = (0..table.columns).map(|index| column(&table.column(index))).collect();
    // A frame of numbers alone is turned over as one array of REALs as soon as one of its columns is REAL.
    let is_number = |cell: &Cell| !matches!(cell, Cell::Text(_));
    let any_real =
        |column: &Vec<Cell>| column.iter().any(|cell| matches!(cell, Cell::Real(_) | Cell::Missing));
    if columns.iter().flatten().all(is_number) && columns.iter().any(any_real) {
        for cell in columns.iter_mut().flatten() {
            if let Cell::Integer(number) = *cell {
                *cell = Cell::Real(number);
            }
        }
    }
    columns
}

/// One column: numbers where all that is not missing is a number, REAL where one of them is or where some are missing.
fn column(values: &[&Value]) -> Vec<Cell> {
    let texts: Vec<Option<String>> = values
        .iter()
        .map(|value| match value {
            Value::Null => None,
            other => {
                Some(python::str(other)).filter(|text| !MISSING.contains(&text.as_str()) && text != "null")
            }
        })
        .collect();
    let number = |text: &String| text.trim().parse::<f64>().ok().filter(|_| !text.trim().is_empty());
    let numbers: Option<Vec<Option<f64>>> =
        texts.iter().map(|text| text.as_ref().map_or(Some(None), |text| number(text).map(Some))).collect();
    match numbers {
        Some(numbers) => {
            let is_integer =
                |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().parse::<i64>().is_ok());
            let integers = texts.iter().all(is_integer);
            let cell = |number| if integers { Cell::Integer(number) } else { Cell::Real(number) };
            numbers.into_iter().map(|number| number.map_or(Cell::Missing, cell)).collect()
        }
        None => texts.into_iter().map(|text| text.map_or(Cell::Missing, Cell::Text)).collect(),
    }
}
