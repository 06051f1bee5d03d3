//! Breaks lines between words.

use console::measure_text_width;

/// Fewest columns for words: a narrower terminal breaks the lines.
const NARROW: usize = 20;

/// Breaks `line` between words so that it fits into `width` columns, later rows behind `indent` spaces. Escape codes take no columns.
pub(super) fn wrapped(line: &str, width: Option<usize>, indent: usize) -> String {
    let Some(width) = width.filter(|width| *width >= indent + NARROW && measure_text_width(line) > *width) else {
        return line.to_owned();
    };
    let (mut rows, mut column) = (String::with_capacity(line.len() + 2 * indent), 0);
    let mut blanks = "";
    for piece in pieces(line) {
        if piece.starts_with(' ') {
            blanks = piece;
            continue;
        }
        let (gap, word) = (blanks.len(), measure_text_width(piece));
        if column > indent && column + gap + word > width {
            rows.push('\n');
            rows.push_str(&" ".repeat(indent));
            column = indent + word;
        } else {
            rows.push_str(blanks);
            column += gap + word;
        }
        rows.push_str(piece);
        blanks = "";
    }
    rows
}

/// The words of a line and the blanks between them.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let blank = rest.starts_with(' ');
        let end = rest.find(|char| (char == ' ') != blank).unwrap_or(rest.len());
        let (piece, behind) = rest.split_at(end);
        rest = behind;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_never_broken() {
        let line = "    0.0 s   Agent  Hello, this is Ava from Harbor Table. You asked us for a table.";
        assert_eq!(wrapped(line, None, 19), line);
        assert_eq!(wrapped(line, Some(200), 19), line);
        let rows = wrapped(line, Some(52), 19);
        let expected =
            "    0.0 s   Agent  Hello, this is Ava from Harbor\n                   Table. You asked us for a table.";
        assert_eq!(rows, expected);
        assert_eq!(wrapped(line, Some(30), 19), line, "too narrow");
        let long = format!("a {} b", "x".repeat(60));
        assert_eq!(wrapped(&long, Some(40), 0), format!("a\n{}\nb", "x".repeat(60)));
    }

    #[test]
    fn colours_take_no_room() {
        let line = format!("\u{1b}[32m{}\u{1b}[0m end", "x".repeat(26));
        assert_eq!(wrapped(&line, Some(30), 0), line);
        assert!(wrapped(&line, Some(29), 0).ends_with("\nend"));
    }
}
