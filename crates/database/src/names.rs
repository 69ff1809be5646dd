//! Names: quoting them, and finding the ones that a misspelt name may have meant.

/// A name as SQL: in double quotes, those inside doubled. Any string without a NUL is a name when quoted so.
pub fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The position in `names` of `wanted`: spelt exactly so, else without regard to ASCII case (which is how SQLite
/// compares names), else with quotes or brackets around it taken off.
pub(crate) fn find<'n>(names: impl Iterator<Item = &'n str> + Clone, wanted: &str) -> Option<usize> {
    let exact = |wanted: &str| {
        names
            .clone()
            .position(|name| name == wanted)
            .or_else(|| names.clone().position(|name| name.eq_ignore_ascii_case(wanted)))
    };
    exact(wanted).or_else(|| exact(&unquote(wanted)?))
}

/// The name inside `"…"`, `'…'`, `` `…` `` or `[…]`, or behind `main.`; `None` where there is nothing to take off.
fn unquote(text: &str) -> Option<String> {
    let trimmed = text.trim();
    if let Some((schema, rest)) = trimmed.split_once('.')
        && schema.eq_ignore_ascii_case("main")
    {
        return Some(unquote(rest).unwrap_or_else(|| rest.to_owned()));
    }
    for (open, close) in [('"', '"'), ('\'', '\''), ('`', '`'), ('[', ']')] {
        if let Some(inner) = trimmed.strip_prefix(open).and_then(|rest| rest.strip_suffix(close)) {
            return Some(if open == close {
                inner.replace(&format!("{open}{open}"), &open.to_string())
            } else {
                inner.to_owned()
            });
        }
    }
    (trimmed.len() < text.len()).then(|| trimmed.to_owned())
}

/// Names near to `wanted`, the nearest first, five at most: few letters changed, or one held in the other.
pub fn nearest<'n>(names: impl Iterator<Item = &'n str>, wanted: &str) -> Vec<&'n str> {
    let fold = |name: &str| -> Vec<char> {
        name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(64).collect()
    };
    let target = fold(wanted);
    if target.is_empty() {
        return Vec::new();
    }
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    for (order, name) in names.enumerate() {
        let candidate = fold(name);
        if candidate.is_empty() {
            continue;
        }
        let distance = edits(&target, &candidate);
        let (short, long) =
            if target.len() < candidate.len() { (&target, &candidate) } else { (&candidate, &target) };
        let held = short.len() >= 3 && long.windows(short.len()).any(|window| window == short.as_slice());
        if distance <= 1 + target.len() / 4 {
            found.push((distance, order, name));
        } else if held {
            // Behind the misspellings, shorter additions first.
            found.push((100 + distance, order, name));
        }
    }
    found.sort_unstable_by_key(|&(distance, order, _)| (distance, order));
    found.into_iter().take(5).map(|(_, _, name)| name).collect()
}

/// The number of letters to insert, delete or replace to make `b` of `a` (Levenshtein's distance).
fn edits(a: &[char], b: &[char]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
