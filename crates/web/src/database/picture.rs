//! What a BLOB is, told from its first bytes.

/// A word for the kind of data, and the media type where browsers can show it as a picture. SVG is not among them: it
/// is text, and can hold scripts.
pub(super) fn kind(bytes: &[u8]) -> (&'static str, Option<&'static str>) {
    const KINDS: [(&[u8], &str, Option<&str>); 9] = [
        (b"\x89PNG\r\n\x1a\n", "PNG", Some("image/png")),
        (b"\xff\xd8\xff", "JPEG", Some("image/jpeg")),
        (b"GIF87a", "GIF", Some("image/gif")),
        (b"GIF89a", "GIF", Some("image/gif")),
        (b"BM", "BMP", Some("image/bmp")),
        (b"%PDF-", "PDF", None),
        (b"PK\x03\x04", "zip", None),
        (b"\x1f\x8b", "gzip", None),
        (b"SQLite format 3\0", "SQLite", None),
    ];
    if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        return ("WebP", Some("image/webp"));
    }
    match KINDS.iter().find(|(magic, ..)| bytes.starts_with(magic)) {
        Some(&(_, kind, image)) => (kind, image),
        None => ("BLOB", None),
    }
}

#[cfg(test)]
mod tests {
    use super::kind;

    #[test]
    fn pictures_are_recognised_and_nothing_else_is_shown_as_one() {
        assert_eq!(kind(b"\x89PNG\r\n\x1a\n...."), ("PNG", Some("image/png")));
        assert_eq!(kind(b"RIFF\0\0\0\0WEBPVP8 "), ("WebP", Some("image/webp")));
        assert_eq!(kind(b"<svg xmlns='http://www.w3.org/2000/svg'/>"), ("BLOB", None));
        assert_eq!(kind(b""), ("BLOB", None));
    }
}
