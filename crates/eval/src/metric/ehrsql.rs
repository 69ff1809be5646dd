//! EHRSQL's execution accuracy (`evaluate.py` of its repository).

use glowworm_database::python;

use crate::question::Table;

/// The moment that "now" means in EHRSQL's databases.
const NOW: &str = "'2105-12-31 23:59:00'";

/// Normal ranges of vital signs, which EHRSQL's queries name and do not define.
const VITALS: [(&str, &str, &str); 7] = [
    ("temperature", "35.5", "38.1"),
    ("sao2", "95.0", "100.0"),
    ("heart_rate", "60.0", "100.0"),
    ("respiration", "12.0", "18.0"),
    ("systolic_bp", "90.0", "120.0"),
    ("diastolic_bp", "60.0", "90.0"),
    ("mean_bp", "60.0", "110.0"),
];

/// The query in lower case, with the time and the ranges put in. The databases are in lower case throughout.
pub(super) fn query(sql: &str) -> String {
    let mut sql = sql.to_lowercase().replace("current_time", NOW);
    for (name, low, high) in VITALS {
        let (lower, upper) = (format!("{name}_lower"), format!("{name}_upper"));
        if sql.contains(&lower) && sql.contains(&upper) {
            sql = sql.replace(&lower, low).replace(&upper, high);
            // The script looks at one pair only.
            break;
        }
    }
    // strftime's year and Julian day are in capitals.
    sql.replace("''", "'").replace("< =", "<=").replace("%y", "%Y").replace("%j", "%J")
}

/// The first column's values, as text and sorted, are the same.
pub(super) fn equal(gold: &Table, predicted: &Table) -> bool {
    let answer = |table: &Table| {
        let mut texts: Vec<String> = table.column(0).into_iter().map(python::str).collect();
        texts.sort_unstable();
        texts
    };
    answer(gold) == answer(predicted)
}
