//! Figures as tables in Markdown.

use super::System;
use super::corpus::Class;
use super::figures::{self, Figure, Overlaps, Turns};
use super::outcome::Outcome;

const PAUSES_MS: [u32; 5] = [300, 500, 700, 1_000, 1_500];

/// Systems in rows.
pub(crate) fn systems(systems: &[System]) -> String {
    let mut table = String::from(
        "| system | agent heard in a pause of 300 / 500 / 700 / 1000 / 1500 ms | all paused turns: agent heard | turn split | \
         complete turns: cut off | true end to first audio, p50 | p95 |\n|---|---|---|---|---|---|---|\n",
    );
    for System { name, outcomes } in systems {
        let Some(outcomes) = outcomes else {
            table.push_str(&format!("| {name} | not available | | | | | |\n"));
            continue;
        };
        let heard = |pause_ms| figures::turns(figures::of(outcomes, Class::Paused, None, Some(pause_ms))).cut_off;
        let heard =
            PAUSES_MS.map(|pause_ms| heard(pause_ms).map_or("–".into(), |heard| format!("{:.0}", heard.value)));
        let paused = figures::turns(figures::of(outcomes, Class::Paused, None, None));
        let complete = figures::turns(figures::of(outcomes, Class::Complete, None, None));
        table.push_str(&format!(
            "| {name} | {} % | {} | {} | {} | {} | {} |\n",
            heard.join(" / "),
            percent(paused.cut_off),
            percent(paused.split),
            percent(complete.cut_off),
            ms(complete.latency_p50),
            ms(complete.latency_p95)
        ));
    }
    table
}

/// The classes and kinds of one system's outcomes in rows.
pub(crate) fn classes(outcomes: &[Outcome]) -> String {
    let mut table = String::from(
        "| class | kind | items | agent heard early | turn split | answered | p50 | p95 |\n|---|---|---|---|---|---|---|---|\n",
    );
    for class in [Class::Complete, Class::Paused] {
        for kind in kinds(outcomes, class) {
            let turns = figures::turns(figures::of(outcomes, class, kind, None));
            table.push_str(&turn_row(class, kind, &turns));
        }
    }
    table.push_str(
        "\n| class | kind | items | silenced | after, p50 | p95 | sentence ended | understood | answered |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for class in [Class::Interruption, Class::Backchannel, Class::Noise] {
        for kind in kinds(outcomes, class) {
            let overlaps = figures::overlaps(figures::of(outcomes, class, kind, None));
            table.push_str(&overlap_row(class, kind, &overlaps));
        }
    }
    table
}

/// The voices of one system's turns in rows: no voice may be what decides.
pub(crate) fn voices(outcomes: &[Outcome]) -> String {
    let mut names: Vec<&str> = outcomes.iter().map(|outcome| outcome.voice.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut table = String::from(
        "| voice | complete turns | cut off | p50 | p95 | paused turns | agent heard | turn split |\n|---|---|---|---|---|---|---|---|\n",
    );
    for name in names {
        let of =
            |class| figures::turns(figures::of(outcomes, class, None, None).filter(|outcome| outcome.voice == name));
        let (complete, paused) = (of(Class::Complete), of(Class::Paused));
        if complete.items + paused.items == 0 {
            continue;
        }
        table.push_str(&format!(
            "| {name} | {} | {} | {} | {} | {} | {} | {} |\n",
            complete.items,
            percent(complete.cut_off),
            ms(complete.latency_p50),
            ms(complete.latency_p95),
            paused.items,
            percent(paused.cut_off),
            percent(paused.split)
        ));
    }
    table
}

/// Every kind of a class, and all of them together.
fn kinds(outcomes: &[Outcome], class: Class) -> Vec<Option<&str>> {
    let mut kinds: Vec<&str> = figures::of(outcomes, class, None, None).map(|outcome| outcome.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    let all = (!kinds.is_empty()).then_some(None);
    kinds.into_iter().map(Some).chain(all).collect()
}

fn turn_row(class: Class, kind: Option<&str>, turns: &Turns) -> String {
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} |\n",
        class.name(),
        kind.unwrap_or("all"),
        turns.items,
        percent(turns.cut_off),
        percent(turns.split),
        percent(turns.answered),
        ms(turns.latency_p50),
        ms(turns.latency_p95)
    )
}

fn overlap_row(class: Class, kind: Option<&str>, overlaps: &Overlaps) -> String {
    format!(
        "| {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        class.name(),
        kind.unwrap_or("all"),
        overlaps.items,
        percent(overlaps.silenced),
        ms(overlaps.silenced_p50),
        ms(overlaps.silenced_p95),
        percent(overlaps.ended_sentence),
        percent(overlaps.understood),
        percent(overlaps.answered)
    )
}

fn percent(figure: Option<Figure>) -> String {
    figure.map_or("–".into(), |Figure { value, low, high }| format!("{value:.0} % ({low:.0}–{high:.0})"))
}

fn ms(figure: Option<Figure>) -> String {
    figure.map_or("–".into(), |Figure { value, low, high }| format!("{value:.0} ms ({low:.0}–{high:.0})"))
}
