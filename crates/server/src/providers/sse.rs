//! Server-sent events: bytes in any pieces, the `data` of whole events out (WHATWG HTML, section 9.2.6).

/// The longest line that is kept; a server that sends more is broken.
const LONGEST_LINE: usize = 1 << 20;

/// An event stream being read.
#[derive(Default)]
pub(crate) struct Events {
    line: Vec<u8>,
    data: Vec<String>,
    /// The last byte was a carriage return: a line feed right after it belongs to it.
    after_return: bool,
}

impl Events {
    /// Takes more bytes and gives the data of every event that they complete. Comments and other fields are skipped.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut ready = Vec::new();
        for byte in bytes {
            match byte {
                b'\n' if self.after_return => self.after_return = false,
                b'\n' | b'\r' => {
                    self.after_return = *byte == b'\r';
                    ready.extend(self.end_of_line());
                }
                _ => {
                    self.after_return = false;
                    if self.line.len() < LONGEST_LINE {
                        self.line.push(*byte);
                    }
                }
            }
        }
        ready
    }

    fn end_of_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            let data = std::mem::take(&mut self.data);
            return (!data.is_empty()).then(|| data.join("\n"));
        }
        let line = String::from_utf8_lossy(&line);
        if let Some(value) = line.strip_prefix("data:") {
            self.data.push(value.strip_prefix(' ').unwrap_or(value).to_owned());
        }
        None
    }
}

#[cfg(test)]
pub(crate) const FUZZED: crate::fuzz::Target = crate::fuzz::Target {
    file: file!(),
    seeds: || {
        crate::fuzz::texts(&[&[
            "event: message\ndata: {\"x\":1}\n\n",
            ": comment\r\n\r\ndata:a\r\ndata: b\r\n\r\n",
            "data: [DONE]\n\n",
        ]])
    },
    read: |messages| {
        let mut events = Events::default();
        crate::fuzz::Read::each(messages, |bytes| Ok::<_, ()>(events.push(bytes).iter().map(String::len).sum()))
    },
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_whole_however_they_are_cut() {
        let stream =
            "data: {\"a\":\"é\"}\n\n: ping\r\n\r\nevent: x\rdata:one\rdata: two\r\rdata: [DONE]\n\n".as_bytes();
        for size in 1..stream.len() {
            let mut events = Events::default();
            let all: Vec<String> = stream.chunks(size).flat_map(|piece| events.push(piece)).collect();
            assert_eq!(all, ["{\"a\":\"é\"}", "one\ntwo", "[DONE]"], "in pieces of {size}");
        }
    }
}
