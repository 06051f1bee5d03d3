//! Copies JSON token by token, so that all else stays as it was written.

use std::borrow::Cow;

/// The maximum depth of a value; the parser rejects deeper ones.
const MAX_DEPTH: usize = 128;

/// Copies valid JSON without the fields that `keeps` refuses. It is asked about every value, with its path and the text that begins with
/// it. `None` if the text is nested too deeply.
pub(super) fn copy(json: &[u8], keeps: impl FnMut(&[Cow<'_, str>], &[u8]) -> bool) -> Option<Vec<u8>> {
    let mut copy = Copy { rest: json, out: Vec::with_capacity(json.len()), path: Vec::new(), keeps };
    copy.value()?;
    copy.out.extend_from_slice(copy.rest);
    Some(copy.out)
}

struct Copy<'a, F> {
    rest: &'a [u8],
    out: Vec<u8>,
    path: Vec<Cow<'a, str>>,
    keeps: F,
}

impl<'a, F: FnMut(&[Cow<'_, str>], &[u8]) -> bool> Copy<'a, F> {
    /// Returns whether it is kept.
    fn value(&mut self) -> Option<bool> {
        self.space();
        if self.path.len() > MAX_DEPTH {
            return None;
        }
        let keeps = (self.keeps)(&self.path, self.rest);
        match self.rest.first()? {
            b'{' => self.members(b'}', Self::field),
            b'[' => self.members(b']', Self::item),
            b'"' => self.string().map(drop),
            _ => self.word(),
        }?;
        Some(keeps)
    }

    /// Copies the members of an object or list, with the commas between those that are left.
    fn members(&mut self, end: u8, member: fn(&mut Self, usize) -> Option<bool>) -> Option<()> {
        self.take(1);
        let mut is_first = true;
        for index in 0.. {
            self.space();
            if self.rest.first() == Some(&end) && index == 0 {
                break;
            }
            let before = self.out.len();
            if !is_first {
                self.out.push(b',');
            }
            if member(self, index)? {
                is_first = false;
            } else {
                self.out.truncate(before);
            }
            self.space();
            match self.rest.first()? {
                b',' => self.rest = &self.rest[1..],
                byte if *byte == end => break,
                _ => return None,
            }
        }
        self.take(1);
        Some(())
    }

    fn item(&mut self, index: usize) -> Option<bool> {
        self.path.push(Cow::Owned(index.to_string()));
        self.value()?;
        self.path.pop();
        Some(true)
    }

    /// Returns whether the field stays.
    fn field(&mut self, _: usize) -> Option<bool> {
        let name = self.string()?;
        self.space();
        (self.rest.first() == Some(&b':')).then(|| self.take(1))?;
        self.path.push(serde_json::from_slice::<String>(name).map(Cow::Owned).ok()?);
        let keeps = self.value()?;
        self.path.pop();
        Some(keeps)
    }

    fn string(&mut self) -> Option<&'a [u8]> {
        if self.rest.first() != Some(&b'"') {
            return None;
        }
        let mut end = 1;
        while *self.rest.get(end)? != b'"' {
            end += if self.rest[end] == b'\\' { 2 } else { 1 };
        }
        let text = self.rest;
        self.take(end + 1);
        Some(&text[..=end])
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Option<()> {
        let ends = |byte: &u8| byte.is_ascii_whitespace() || b",:[]{}\"".contains(byte);
        let length = self.rest.iter().position(ends).unwrap_or(self.rest.len());
        (length > 0).then(|| self.take(length))
    }

    fn space(&mut self) {
        let length = self.rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        self.take(length);
    }

    fn take(&mut self, length: usize) {
        let (taken, rest) = self.rest.split_at(length);
        self.out.extend_from_slice(taken);
        self.rest = rest;
    }
}
