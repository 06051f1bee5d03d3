//! Finds the tools that a server refuses without naming them, by leaving some out of requests that have to be sent anyway.
//!
//! Tools under suspicion form groups. A request offers a part of one group, the trial, besides the tools that nothing is known against. If
//! it is accepted, the trial is cleared; if it is refused, one of the trial is refused. A search takes several requests: each ends once
//! one form of it is accepted.

use std::collections::HashSet;

use crate::ToolSpec;

/// Tools of which some may be refused.
struct Group {
    /// The tools, as they are sent. Those to try next are the first ones.
    members: Vec<String>,
    /// How many of them to try next.
    trial: usize,
    /// Whether a request with them was refused.
    tainted: bool,
    /// Whether that was with one of them alone.
    alone: bool,
    /// The server's message.
    words: String,
}

/// The groups under suspicion, the next one first.
#[derive(Default)]
pub(super) struct Search(Vec<Group>);

/// A tool that was found, as it is sent, and the server's message.
pub(super) type Found = (String, String);

impl Search {
    /// Returns those of `tools` to offer, and leaves out all under suspicion; except for a trial, if one is wanted.
    pub(super) fn offered(&self, tools: &[(String, ToolSpec)], trial: bool) -> Vec<ToolSpec> {
        let suspects: HashSet<&String> = self.0.iter().flat_map(|group| &group.members).collect();
        let next = self.0.iter().filter(|_| trial).find_map(|group| group.next_trial(tools));
        let next = next.unwrap_or_default();
        let offered = tools.iter().filter(|(tool, _)| !suspects.contains(tool) || next.contains(&tool));
        offered.map(|(_, spec)| spec.clone()).collect()
    }

    /// Returns whether one of these tools is under suspicion.
    pub(super) fn suspects(&self, tools: &[String]) -> bool {
        self.0.iter().any(|group| group.members.iter().any(|member| tools.contains(member)))
    }

    /// Takes note that a request with these tools was accepted. Returns the tools that are refused, as that shows.
    pub(super) fn accepted(&mut self, offered: &[String]) -> Vec<Found> {
        let mut found = Vec::new();
        for group in &mut self.0 {
            let before = group.members.len();
            group.members.retain(|member| !offered.contains(member));
            if group.members.len() < before {
                group.trial = group.half();
            }
            // With it a request was refused, and without it accepted.
            if group.alone {
                found.extend(group.members.pop().map(|member| (member, group.words.clone())));
            }
        }
        self.0.retain(|group| !group.members.is_empty());
        found
    }

    /// Takes note that a request with these tools was refused, by a message that names none of them; `hint` is the position of the one that it
    /// may mean. Returns the tool that is refused, if that shows.
    pub(super) fn refused(&mut self, offered: Vec<String>, hint: Option<usize>, words: &str) -> Option<Found> {
        let tried = |group: &Group| group.members.iter().any(|member| offered.contains(member));
        let Some(at) = self.0.iter().position(tried) else {
            self.0.insert(0, Group::tainted(offered, hint, words));
            return None;
        };
        let mut rest = self.0.remove(at);
        let (trial, others): (Vec<String>, _) = rest.members.into_iter().partition(|member| offered.contains(member));
        // Nothing shows whether the others are refused too: all of them are tried next.
        if !others.is_empty() {
            (rest.trial, rest.tainted) = (others.len(), false);
            self.0.insert(0, Group { members: others, ..rest });
        }
        if let [only] = trial.as_slice() {
            return Some((only.clone(), words.to_owned()));
        }
        self.0.push(Group::tainted(trial, None, words));
        None
    }

    /// Forgets the suspicion against these tools.
    pub(super) fn clear(&mut self, tools: &[String]) {
        for group in &mut self.0 {
            group.members.retain(|member| !tools.contains(member));
        }
        self.0.retain(|group| !group.members.is_empty());
    }
}

impl Group {
    fn tainted(mut members: Vec<String>, hint: Option<usize>, words: &str) -> Self {
        let hinted = hint.filter(|at| *at < members.len() && members.len() > 1);
        if let Some(at) = hinted {
            let hinted = members.remove(at);
            members.push(hinted);
        }
        let alone = members.len() == 1;
        let mut group = Self { members, trial: 0, tainted: true, alone, words: words.to_owned() };
        group.trial = if hinted.is_some() { group.members.len() - 1 } else { group.half() };
        group
    }

    /// Returns how many to try next: half of them, but all of those that no request was refused with, and none that was refused alone.
    fn half(&self) -> usize {
        match (self.alone, self.tainted) {
            (true, _) => 0,
            (false, true) => self.members.len().div_ceil(2),
            (false, false) => self.members.len(),
        }
    }

    /// Returns the tools of a request to try next, if any of them are in this group.
    fn next_trial(&self, tools: &[(String, ToolSpec)]) -> Option<Vec<&String>> {
        let present = |member: &&String| tools.iter().any(|(tool, _)| tool == *member);
        let present: Vec<&String> = self.members.iter().filter(present).take(self.trial).collect();
        (!present.is_empty()).then_some(present)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Sends requests to a server that refuses these of so many tools, until nothing is left to find. Returns the tools found, the number
    /// of requests, and the most attempts that one took.
    fn search(count: usize, bad: &[usize], hint: Option<usize>) -> (Vec<String>, usize, usize) {
        let tool = |at: usize| {
            let name = format!("tool_{at:02}");
            (name.clone(), ToolSpec { name, description: String::new(), parameters: json!({}) })
        };
        let all: Vec<_> = (0..count).map(tool).collect();
        let (mut search, mut found) = (Search::default(), Vec::<String>::new());
        let (mut requests, mut most) = (0, 0);
        loop {
            requests += 1;
            let mut attempts = 0;
            loop {
                attempts += 1;
                let left: Vec<_> = all.iter().filter(|(tool, _)| !found.contains(tool)).cloned().collect();
                let offered = search.offered(&left, attempts <= 4);
                let offered: Vec<String> = offered.into_iter().map(|tool| tool.name).collect();
                if bad.iter().any(|at| offered.contains(&all[*at].0)) {
                    found.extend(search.refused(offered, hint.filter(|_| attempts == 1), "no").map(|(tool, _)| tool));
                } else {
                    found.extend(search.accepted(&offered).into_iter().map(|(tool, _)| tool));
                    break;
                }
            }
            most = most.max(attempts);
            let names: Vec<String> = all.iter().map(|(tool, _)| tool.clone()).collect();
            if !search.suspects(&names) || requests > 100 {
                found.sort();
                return (found, requests, most);
            }
        }
    }

    #[test]
    fn a_refusal_that_had_another_reason_convicts_no_tool() {
        let names = ["a", "b", "c"].map(str::to_owned).to_vec();
        let tools: Vec<_> = names
            .iter()
            .map(|name| {
                let spec = ToolSpec { name: name.clone(), description: String::new(), parameters: json!({}) };
                (name.clone(), spec)
            })
            .collect();
        let mut search = Search::default();
        assert_eq!(search.refused(names.clone(), None, "no"), None);
        for _ in 0..3 {
            let offered: Vec<String> = search.offered(&tools, true).into_iter().map(|tool| tool.name).collect();
            assert_eq!(search.accepted(&offered), Vec::new());
        }
        assert!(!search.suspects(&names), "each was tried");
    }

    #[test]
    fn the_refused_tools_are_found_in_few_requests_and_no_others() {
        for count in [1, 2, 3, 8, 20] {
            for bad in 0..count {
                let (found, requests, most) = search(count, &[bad], None);
                assert_eq!(found, [format!("tool_{bad:02}")], "of {count}");
                assert!(requests <= 7 && most <= 6, "{bad} of {count}: {requests} requests, {most} attempts");
                let (found, requests, most) = search(count, &[bad], Some(bad));
                assert_eq!((found.len(), requests, most), (1, count.min(2), 2), "a right hint, {bad} of {count}");
                let (found, ..) = search(count, &[bad], Some(count - 1 - bad));
                assert_eq!(found, [format!("tool_{bad:02}")], "a wrong hint, {bad} of {count}");
            }
        }
        for bad in [&[0, 1][..], &[0, 7], &[3, 4, 5], &[0, 1, 2, 3, 4, 5, 6, 7]] {
            let (found, requests, most) = search(8, bad, None);
            assert_eq!(found, bad.iter().map(|at| format!("tool_{at:02}")).collect::<Vec<_>>());
            assert!(requests <= 16 && most <= 7, "{bad:?}: {requests} requests, {most} attempts");
        }
    }
}
