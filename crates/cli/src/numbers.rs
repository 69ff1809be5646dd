//! Numbers in words.

use std::time::Duration;

/// A whole number with thousands separated: `12,288`.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A size: `1.2 GiB`, `3.1 MiB`, `512 bytes`.
pub fn size(bytes: u64) -> String {
    let number = bytes as f64;
    for (unit, name) in [(1u64 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
        if bytes >= unit {
            let number = number / unit as f64;
            let digits = usize::from(number < 100.0);
            return format!("{number:.digits$} {name}");
        }
    }
    format!("{bytes} bytes")
}

/// A time: `3.2 s`, `15 ms`, `2 min 5 s`.
pub fn time(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds >= 90.0 {
        format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
    } else if seconds >= 1.0 {
        format!("{seconds:.1} s")
    } else {
        format!("{} ms", time.as_millis())
    }
}

/// A number and its noun: `1 turn`, `4 turns`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// `number` to three digits that matter: for speeds.
pub fn speed(number: f64) -> String {
    match number {
        _ if number >= 100.0 => grouped(number.round() as u64),
        _ if number >= 10.0 => format!("{number:.1}"),
        _ => format!("{number:.2}"),
    }
}

/// The number that the same digits mean in f64: 0.95 and not 0.949999988079071.
pub fn shortest(number: f32) -> f64 {
    number.to_string().parse().unwrap_or_else(|_| number.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        let groups = [0, 12, 999, 1000, 12_288, 1_234_567].map(grouped);
        assert_eq!(groups, ["0", "12", "999", "1,000", "12,288", "1,234,567"]);
        assert_eq!(
            [0, 1023, 1536, 3 << 20, 1205 << 20].map(size),
            ["0 bytes", "1023 bytes", "1.5 KiB", "3.0 MiB", "1.2 GiB"]
        );
        let times = [15, 1500, 125_000].map(|ms| time(Duration::from_millis(ms)));
        assert_eq!(times, ["15 ms", "1.5 s", "2 min 5 s"]);
        assert_eq!((count(1, "turn"), count(4, "turn")), ("1 turn".into(), "4 turns".into()));
        assert_eq!([1234.5, 45.67, 1.234].map(speed), ["1,235", "45.7", "1.23"]);
        assert_eq!((shortest(0.95), shortest(0.0), shortest(1e-7)), (0.95, 0.0, 1e-7));
    }
}
