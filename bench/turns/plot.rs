//! Systems as a drawing: how often the agent speaks too early against how long callers wait for it.

use std::fmt::Write as _;
use std::path::Path;

use super::corpus::Class;
use super::figures;
use super::outcome::Outcome;

const WIDTH: f64 = 480.0;
const HEIGHT: f64 = 360.0;
const MARGIN: f64 = 60.0;
/// The axes end here.
const MOST_MS: f64 = 2_000.0;
const COLOURS: [&str; 6] = ["#c00", "#06c", "#080", "#a50", "#60a", "#555"];

/// A system with one setting, or a curve of several.
pub(crate) struct Curve {
    pub(crate) name: String,
    pub(crate) settings: Vec<Vec<Outcome>>,
}

/// Writes an SVG: on the left how often the agent was heard in a pause, on the right how often the turn was split, both against
/// the mean time from the true end of complete turns to the first audio, which shows what waits long now and then.
pub(crate) fn draw(curves: &[Curve], file: &Path) -> anyhow::Result<()> {
    let (width, height) = (2.0 * (WIDTH + 2.0 * MARGIN), HEIGHT + 2.0 * MARGIN);
    let mut svg = format!(
        r##"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="#fff"/>
"##
    );
    panel(&mut svg, MARGIN, "paused turns in which the agent was heard, %", curves, |outcome| outcome.cut_off)?;
    panel(&mut svg, WIDTH + 3.0 * MARGIN, "paused turns that were split, %", curves, |outcome| outcome.split)?;
    svg.push_str("</svg>\n");
    Ok(std::fs::write(file, svg)?)
}

fn panel(
    svg: &mut String,
    left: f64,
    title: &str,
    curves: &[Curve],
    is: impl Fn(&Outcome) -> bool + Copy,
) -> anyhow::Result<()> {
    let (x, y) =
        (|ms: f64| left + WIDTH * (ms / MOST_MS).min(1.0), |percent: f64| MARGIN + HEIGHT * (1.0 - percent / 100.0));
    let bottom = MARGIN + HEIGHT;
    writeln!(svg, r#"<text x="{left}" y="{}">{title}</text>"#, MARGIN - 16.0)?;
    for percent in (0..=100).step_by(20) {
        let at = y(f64::from(percent));
        writeln!(
            svg,
            r##"<path d="M{left},{at:.1} h{WIDTH}" stroke="#ddd"/><text x="{}" y="{:.1}" text-anchor="end">{percent}</text>"##,
            left - 6.0,
            at + 4.0
        )?;
    }
    for ms in (0..=2_000).step_by(500) {
        let at = x(f64::from(ms));
        writeln!(
            svg,
            r##"<path d="M{at:.1},{MARGIN} V{bottom}" stroke="#ddd"/><text x="{at:.1}" y="{}" text-anchor="middle">{ms}</text>"##,
            bottom + 18.0
        )?;
    }
    writeln!(
        svg,
        r#"<text x="{}" y="{}" text-anchor="middle">true end to first audio, complete turns, mean, ms</text>"#,
        left + WIDTH / 2.0,
        bottom + 40.0
    )?;
    for (number, curve) in curves.iter().enumerate() {
        let colour = COLOURS[number % COLOURS.len()];
        let points: Vec<(f64, f64)> = curve
            .settings
            .iter()
            .filter_map(|outcomes| point(outcomes, is))
            .map(|(ms, percent)| (x(ms), y(percent)))
            .collect();
        let line: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        writeln!(svg, r#"<polyline points="{}" fill="none" stroke="{colour}" stroke-width="1.5"/>"#, line.join(" "))?;
        for (x, y) in &points {
            writeln!(
                svg,
                r#"<circle cx="{x:.1}" cy="{y:.1}" r="{}" fill="{colour}"/>"#,
                if points.len() == 1 { 6 } else { 3 }
            )?;
        }
        let row = MARGIN + 18.0 * (number as f64 + 1.0);
        writeln!(
            svg,
            r#"<text x="{}" y="{row}" text-anchor="end" fill="{colour}">{}</text>"#,
            left + WIDTH - 6.0,
            curve.name
        )?;
    }
    Ok(())
}

/// Mean time and share of one setting; nothing when no complete turn was answered in time, or no turn has a pause.
fn point(outcomes: &[Outcome], is: impl Fn(&Outcome) -> bool) -> Option<(f64, f64)> {
    let complete = figures::of(outcomes, Class::Complete, None, None);
    let times: Vec<i64> = complete.filter_map(|outcome| outcome.latency_ms).collect();
    let paused: Vec<&Outcome> = figures::of(outcomes, Class::Paused, None, None).collect();
    let too_early = paused.iter().filter(|outcome| is(outcome)).count();
    let mean = times.iter().sum::<i64>() as f64 / times.len().max(1) as f64;
    let known = !times.is_empty() && !paused.is_empty();
    known.then_some((mean, 100.0 * too_early as f64 / paused.len() as f64))
}
