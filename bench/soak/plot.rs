//! Plots the minutes: each figure as a separate line, from zero.

use std::fmt::Write as _;
use std::path::Path;

use crate::minute::Minute;

const WIDTH: f64 = 800.0;
const HEIGHT: f64 = 160.0;
const MARGIN: f64 = 30.0;

/// Writes an SVG with memory, processor time per call and the database's share of it.
pub(crate) fn draw(minutes: &[Minute], file: &Path) -> anyhow::Result<()> {
    let values = |of: fn(&Minute) -> f64| minutes.iter().map(of).collect::<Vec<_>>();
    let figures = [
        ("resident memory, MB", values(|minute| minute.resident_mb)),
        ("CPU per call, ms", values(|minute| minute.cpu_per_call * 1_000.0)),
        ("the database's share of it, %", values(|minute| minute.database_percent)),
    ];
    let (width, height) = (WIDTH + 2.0 * MARGIN, (HEIGHT + 2.0 * MARGIN) * figures.len() as f64);
    let mut svg = format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif">"#
    );
    for (row, (title, values)) in figures.into_iter().enumerate() {
        write!(svg, "{}", line(title, &values, MARGIN + (HEIGHT + 2.0 * MARGIN) * row as f64))?;
    }
    svg.push_str("</svg>\n");
    Ok(std::fs::write(file, svg)?)
}

/// One line below its title, whose top is at `top`.
fn line(title: &str, values: &[f64], top: f64) -> String {
    let most = values.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    let step = WIDTH / values.len().saturating_sub(1).max(1) as f64;
    let points: Vec<_> = values
        .iter()
        .enumerate()
        .map(|(at, value)| format!("{:.1},{:.1}", MARGIN + step * at as f64, top + HEIGHT * (1.0 - value / most)))
        .collect();
    let (bottom, end) = (top + HEIGHT, MARGIN + WIDTH);
    format!(
        r##"<text x="{MARGIN}" y="{}" font-size="13">{title}: from 0 to {most:.1}, {} minutes</text>
<path d="M{MARGIN},{top} V{bottom} H{end}" fill="none" stroke="#999"/>
<polyline points="{}" fill="none" stroke="#06c" stroke-width="1.5"/>
"##,
        top - 8.0,
        values.len(),
        points.join(" "),
    )
}
