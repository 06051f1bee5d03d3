//! Parses server-sent events: takes bytes in pieces of any size and returns the `data` of whole events (WHATWG HTML, section 9.2.6).

/// The longest event accepted, in bytes; a server that sends more is broken.
const LONGEST: usize = 256 * 1024;

/// The parser of an event stream.
#[derive(Default)]
pub struct EventStream {
    line: Vec<u8>,
    data: Vec<String>,
    /// The size of the current event so far, in bytes.
    size: usize,
    /// Whether a line has ended: a byte order mark may precede the first one.
    begun: bool,
    /// Whether the last byte was a carriage return: a line feed right after it belongs to it.
    after_return: bool,
}

/// An event exceeds the size limit.
#[derive(Debug, PartialEq, Eq)]
pub struct TooLong;

impl EventStream {
    /// Takes more bytes and returns the data of every event that they complete. Comments, other fields and events with blank data, which
    /// servers send to keep a connection open, are skipped.
    ///
    /// # Errors
    /// When an event exceeds the size limit. The rest of the stream cannot be parsed.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<String>, TooLong> {
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
                    self.line.push(*byte);
                }
            }
            if self.size + self.line.len() > LONGEST {
                return Err(TooLong);
            }
        }
        Ok(ready)
    }

    fn end_of_line(&mut self) -> Option<String> {
        let line = std::mem::take(&mut self.line);
        if line.is_empty() {
            self.size = 0;
            let data = std::mem::take(&mut self.data).join("\n");
            return Some(data).filter(|data| !data.trim().is_empty());
        }
        let line = String::from_utf8_lossy(&line);
        let line = if self.begun { &*line } else { line.trim_start_matches('\u{feff}') };
        self.begun = true;
        if let Some(value) = line.strip_prefix("data:") {
            let value = value.strip_prefix(' ').unwrap_or(value).to_owned();
            self.size += size_of::<String>() + value.len();
            self.data.push(value);
        }
        None
    }
}

#[cfg(test)]
pub(crate) const FUZZED: switchhook_fuzz::Target = switchhook_fuzz::Target {
    file: file!(),
    seeds: || {
        switchhook_fuzz::texts(&[&[
            "event: message\ndata: {\"x\":1}\n\n",
            ": comment\r\n\r\ndata:a\r\ndata: b\r\n\r\n",
            "data:\n\ndata: \n\ndata\n\n",
            "data: [DONE]\n\n",
        ]])
    },
    read: |messages| {
        let mut events = EventStream::default();
        switchhook_fuzz::Read::each(messages, |bytes| {
            events.push(bytes).map(|ready| ready.iter().map(String::len).sum())
        })
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
            let mut events = EventStream::default();
            let all: Vec<String> = stream.chunks(size).flat_map(|piece| events.push(piece).expect("short")).collect();
            assert_eq!(all, ["{\"a\":\"é\"}", "one\ntwo", "[DONE]"], "in pieces of {size}");
        }
    }

    #[test]
    fn events_without_data_are_skipped_wherever_they_stand() {
        let blank = "data:\n\ndata: \r\n\r\nevent: ping\ndata:  \t\ndata:\n\n";
        let stream = format!("{blank}data: a\n\n{blank}data: b\ndata:\n\n{blank}");
        for size in 1..stream.len() {
            let mut events = EventStream::default();
            let pieces = stream.as_bytes().chunks(size);
            let all: Vec<String> = pieces.flat_map(|piece| events.push(piece).expect("short")).collect();
            assert_eq!(all, ["a", "b\n"], "in pieces of {size}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_first_line() {
        let mut events = EventStream::default();
        assert_eq!(
            events.push("\u{feff}data: a\n\ndata: \u{feff}b\n\n".as_bytes()),
            Ok(vec!["a".to_owned(), "\u{feff}b".to_owned()])
        );
    }

    #[test]
    fn an_event_that_does_not_end_is_refused_whether_it_is_one_line_or_many() {
        let endless = |line: &[u8]| {
            let mut events = EventStream::default();
            (0..=LONGEST / line.len()).find_map(|_| events.push(line).err())
        };
        assert_eq!(endless(b"xxxxxxxx"), Some(TooLong));
        assert_eq!(endless(b"data:\n"), Some(TooLong), "lines without a byte of data take room as well");
        assert_eq!(endless(b": ping\n"), None, "comments are not kept");
        assert_eq!(endless(b"data: {\"a\":1}\n\n"), None, "nor are events that have ended");
    }
}
