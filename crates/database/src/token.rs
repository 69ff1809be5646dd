//! SQL split into tokens exactly where SQLite splits it.
//!
//! The guard must agree with SQLite on where a string, a comment or a statement ends: a disagreement would let a
//! second statement hide. The rules are those of `sqlite3GetToken` in SQLite's `tokenize.c`.

/// What a token is, as far as the guard cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// White space or a comment.
    Space,
    /// A bare identifier or keyword.
    Word,
    /// An identifier in `"…"`, `` `…` `` or `[…]`.
    Quoted,
    /// A string in `'…'`.
    Text,
    /// A number or a BLOB literal.
    Literal,
    /// `?1`, `:name`, `@name`, `$name`, `#1`.
    Placeholder,
    /// `;`
    Semicolon,
    /// `(`
    Open,
    /// `)`
    Close,
    /// `,`
    Comma,
    /// `.`
    Dot,
    /// `=` or `==`
    Equals,
    /// Any other operator.
    Operator,
    /// Text that is no token of SQL, such as an unterminated string. SQLite refuses the statement there.
    Illegal,
}

/// One token and its text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub kind: Kind,
    pub text: &'a str,
}

impl Token<'_> {
    /// Whether this is the bare word `word` (given in capitals).
    pub(crate) fn is(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    /// Whether SQLite takes this for a name.
    pub(crate) fn is_name(&self) -> bool {
        matches!(self.kind, Kind::Word | Kind::Quoted | Kind::Text)
    }

    /// The name that the token stands for: quotes taken off, doubled quotes made single.
    pub(crate) fn name(&self) -> String {
        if !matches!(self.kind, Kind::Quoted | Kind::Text) {
            return self.text.to_owned();
        }
        let inner = self.text.get(1..self.text.len().saturating_sub(1)).unwrap_or("");
        match self.text.as_bytes().first() {
            Some(b'[') | None => inner.to_owned(),
            Some(&quote) => {
                let quote = char::from(quote);
                inner.replace(&format!("{quote}{quote}"), &quote.to_string())
            }
        }
    }
}

/// The tokens of `sql` in order, white space and comments among them; together they are the whole text.
pub(crate) fn tokens(sql: &str) -> impl Iterator<Item = Token<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = &sql.as_bytes()[at..];
        if rest.is_empty() {
            return None;
        }
        let (kind, mut len) = next(rest);
        len = len.clamp(1, rest.len());
        // Only a stray control byte is a token of one byte; no token ends inside a character. The loop keeps that
        // true whatever happens above, since slicing a `str` elsewhere would panic.
        while !sql.is_char_boundary(at + len) {
            len += 1;
        }
        let text = &sql[at..at + len];
        at += len;
        Some(Token { kind, text })
    })
}

fn is_space(byte: u8) -> bool {
    matches!(byte, 0x09..=0x0d | b' ')
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// The number of leading bytes for which `test` holds.
fn run(bytes: &[u8], test: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|&byte| !test(byte)).unwrap_or(bytes.len())
}

/// Kind and length of the token at the start of `z`, which is not empty.
fn next(z: &[u8]) -> (Kind, usize) {
    let at = |i: usize| z.get(i).copied().unwrap_or(0);
    match z[0] {
        // A vertical tab is white space to SQLite only after other white space.
        b' ' | b'\t' | b'\n' | b'\x0c' | b'\r' => (Kind::Space, run(z, is_space)),
        0xef if at(1) == 0xbb && at(2) == 0xbf => (Kind::Space, 3),
        b'-' if at(1) == b'-' => (Kind::Space, run(z, |byte| byte != b'\n')),
        b'-' if at(1) == b'>' => (Kind::Operator, if at(2) == b'>' { 3 } else { 2 }),
        // `/*` at the very end of the text is a slash and a star.
        b'/' if at(1) == b'*' && z.len() > 2 => {
            let end = z[2..].windows(2).position(|pair| pair == b"*/");
            (Kind::Space, end.map_or(z.len(), |end| end + 4))
        }
        b'(' => (Kind::Open, 1),
        b')' => (Kind::Close, 1),
        b';' => (Kind::Semicolon, 1),
        b',' => (Kind::Comma, 1),
        b'=' => (Kind::Equals, if at(1) == b'=' { 2 } else { 1 }),
        b'<' => (Kind::Operator, if matches!(at(1), b'=' | b'>' | b'<') { 2 } else { 1 }),
        b'>' => (Kind::Operator, if matches!(at(1), b'=' | b'>') { 2 } else { 1 }),
        b'!' if at(1) == b'=' => (Kind::Operator, 2),
        b'|' => (Kind::Operator, if at(1) == b'|' { 2 } else { 1 }),
        b'-' | b'+' | b'*' | b'/' | b'%' | b'&' | b'~' => (Kind::Operator, 1),
        quote @ (b'\'' | b'"' | b'`') => quoted(z, quote),
        b'[' => match z.iter().position(|&byte| byte == b']') {
            Some(end) => (Kind::Quoted, end + 1),
            None => (Kind::Illegal, z.len()),
        },
        b'.' if !at(1).is_ascii_digit() => (Kind::Dot, 1),
        b'.' | b'0'..=b'9' => number(z),
        b'?' => (Kind::Placeholder, 1 + run(&z[1..], |byte| byte.is_ascii_digit())),
        b'$' | b'@' | b':' | b'#' => match run(&z[1..], is_word) {
            0 if at(1) != b':' => (Kind::Illegal, 1),
            len => (Kind::Placeholder, 1 + len),
        },
        b'x' | b'X' if at(1) == b'\'' => {
            let digits = run(&z[2..], |byte| byte.is_ascii_hexdigit());
            let end = 2 + run(&z[2..], |byte| byte != b'\'');
            let good = at(2 + digits) == b'\'' && digits % 2 == 0;
            (if good { Kind::Literal } else { Kind::Illegal }, end + 1)
        }
        byte if byte.is_ascii_alphabetic() || byte == b'_' || byte >= 0x80 => (Kind::Word, run(z, is_word)),
        _ => (Kind::Illegal, 1),
    }
}

/// A string or name in quotes; a doubled quote inside stands for itself.
fn quoted(z: &[u8], quote: u8) -> (Kind, usize) {
    let mut i = 1;
    while i < z.len() {
        if z[i] == quote {
            if z.get(i + 1) == Some(&quote) {
                i += 1;
            } else {
                return (if quote == b'\'' { Kind::Text } else { Kind::Quoted }, i + 1);
            }
        }
        i += 1;
    }
    (Kind::Illegal, z.len())
}

/// A number; letters that run on from it make it illegal, as `12abc` is.
fn number(z: &[u8]) -> (Kind, usize) {
    let at = |i: usize| z.get(i).copied().unwrap_or(0);
    let digit = |byte: u8| byte.is_ascii_digit() || byte == b'_';
    let mut len;
    if z[0] == b'0' && matches!(at(1), b'x' | b'X') && at(2).is_ascii_hexdigit() {
        len = 2 + run(&z[2..], |byte| byte.is_ascii_hexdigit() || byte == b'_');
    } else {
        len = run(z, digit);
        if at(len) == b'.' {
            len += 1;
            len += run(&z[len..], digit);
        }
        if matches!(at(len), b'e' | b'E') {
            let sign = usize::from(matches!(at(len + 1), b'+' | b'-'));
            if at(len + 1 + sign).is_ascii_digit() {
                len += 1 + sign;
                len += run(&z[len..], digit);
            }
        }
    }
    let tail = run(&z[len..], is_word);
    (if tail == 0 { Kind::Literal } else { Kind::Illegal }, len + tail)
}
