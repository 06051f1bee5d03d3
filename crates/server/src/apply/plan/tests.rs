use std::cell::Cell;

use switchhook_core::id::AgentId;

use super::super::document::Found;
use super::super::export::Export;
use super::super::files::Document;
use super::super::yaml;
use super::*;

/// A tenant that things are planned for, without a database.
#[derive(Default)]
struct Tenant {
    existing: Existing,
    secrets: HashMap<Uuid, Credentials>,
    last_id: Cell<u128>,
}

impl Tenant {
    fn plan(&self, documents: &[&str]) -> Result<Plan, Vec<String>> {
        self.plan_with(documents, &|name| (name == "OPENAI_API_KEY").then(|| "sk-0123456789".to_owned()))
    }

    fn plan_with(&self, documents: &[&str], environment: &dyn Fn(&str) -> Option<String>) -> Result<Plan, Vec<String>> {
        let mut found = Found::default();
        for (at, text) in documents.iter().enumerate() {
            let place = Place::file(format!("{at}.yaml"));
            let content = yaml::parse(text).expect("YAML");
            found.add(Document { place, folder: "/nowhere".into(), content }, environment);
        }
        let new_id = || {
            self.last_id.set(self.last_id.get() + 1);
            Uuid::from_u128(self.last_id.get())
        };
        let context = Context {
            tenant: TenantId::from_uuid(Uuid::nil()),
            addresses: AddressPolicy::default(),
            now: Timestamp::from_micros(1),
            new_id: &new_id,
            open: &|row| Ok(Private::new(self.secrets.get(&row.id).cloned().unwrap_or_default())),
        };
        let planned = plan(&found.entries, &self.existing, &context);
        let problems: Vec<Problem> =
            found.problems.into_iter().chain(planned.as_ref().err().into_iter().flatten().cloned()).collect();
        if problems.is_empty() {
            planned.map_err(|_| Vec::new())
        } else {
            Err(problems.iter().map(ToString::to_string).collect())
        }
    }

    /// Does what a plan says.
    fn apply(&mut self, plan: Plan) {
        for step in plan.connections {
            let mut row = ConnectionRow::new(
                step.id.into(),
                TenantId::from_uuid(Uuid::nil()),
                step.name,
                step.wanted.provider,
                Timestamp::from_micros(1),
            );
            row.settings.0 = step.wanted.settings;
            row.max_concurrent = step.wanted.limits.max_concurrent;
            row.hints.0 = step.wanted.credentials.reveal().keys().map(|name| (name.clone(), String::new())).collect();
            self.secrets.insert(row.id, step.wanted.credentials.reveal().clone());
            self.existing.connections.retain(|old| old.id != row.id);
            self.existing.connections.push(row);
        }
        for step in plan.agents {
            let row = agents::new_row(
                TenantId::from_uuid(Uuid::nil()),
                AgentId::from_uuid(step.id),
                step.wanted,
                Timestamp::from_micros(1),
            );
            self.existing.agents.retain(|old| old.id != row.id);
            self.existing.agents.push(row);
        }
        for step in plan.numbers {
            let wanted = step.wanted;
            self.existing.numbers.push(NumberRow {
                id: Uuid::from_u128(1_000_000 + self.existing.numbers.len() as u128),
                tenant_id: Uuid::nil(),
                number: wanted.number.reveal().to_owned(),
                label: wanted.label,
                connection_id: wanted.connection_id,
                provider: "simulator".to_owned(),
                inbound_agent_id: wanted.inbound_agent_id,
                created_at: 1,
                updated_at: 1,
            });
        }
    }

    fn with(documents: &[&str]) -> Self {
        let mut tenant = Self::default();
        let plan =
            tenant.plan(documents).map_err(|problems| problems.join("\n")).unwrap_or_else(|words| panic!("{words}"));
        tenant.apply(plan);
        tenant
    }
}

const OPENAI: &str =
    "connections:\n  - name: OpenAI\n    provider: openai\n    credentials: {api_key: \"${OPENAI_API_KEY}\"}\n";
const PHONE: &str = "connections:\n  - {name: Phone, provider: simulator}\nnumbers:\n  - {number: +12025550100, connection: Phone, agent: Ava}\n";
const AVA: &str = "agents:\n  - name: Ava\n    instructions: You answer the phone.\n    llm: {connection: OpenAI, temperature: 0.7}\n    \
    silence: {hangup_after_seconds: null}\n    tools: [{type: end_call}]\n";

fn changes<T, R>(steps: &[Step<T, R>]) -> Vec<String> {
    steps.iter().flat_map(|step| &step.changes).map(ToString::to_string).collect()
}

#[test]
fn things_of_all_files_refer_to_each_other_and_to_what_exists() {
    // The order of files does not matter.
    let tenant = Tenant::with(&[AVA, PHONE, OPENAI]);
    let [number] = tenant.existing.numbers.as_slice() else { panic!("one number") };
    assert_eq!(number.inbound_agent_id, Some(tenant.existing.agents[0].id));
    let plan = tenant.plan(&[AVA]).expect("the connection exists");
    assert!(plan.agents[0].is_unchanged());
    let left: Vec<_> = plan.others.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(left, ["OpenAI", "Phone", "+12025550100 on Phone"]);
}

#[test]
fn what_is_described_again_is_unchanged() {
    let tenant = Tenant::with(&[OPENAI, PHONE, AVA]);
    let plan = tenant.plan(&[OPENAI, PHONE, AVA]).expect("valid");
    assert!(plan.connections.iter().all(Step::is_unchanged) && plan.agents[0].is_unchanged());
    assert!(plan.numbers[0].is_unchanged() && plan.others.is_empty());
}

#[test]
fn what_is_exported_is_unchanged_when_it_is_applied() {
    let tenant = Tenant::with(&[OPENAI, PHONE, AVA]);
    let mut copy = Tenant { existing: Existing::default(), secrets: tenant.secrets.clone(), last_id: Cell::default() };
    copy.existing.connections.clone_from(&tenant.existing.connections);
    copy.existing.agents.clone_from(&tenant.existing.agents);
    copy.existing.numbers.clone_from(&tenant.existing.numbers);
    let export = Export::of(tenant.existing);
    let text = export.yaml();
    assert!(text.contains("api_key: ${OPENAI_API_KEY}") && text.contains("hangup_after_seconds: null"), "{text}");
    assert!(!text.contains("turn_taking") && text.contains("temperature: 0.7\n"), "defaults are left out: {text}");
    let files = export.files();
    let names: Vec<_> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["connections.yaml", "numbers.yaml", "agent-ava.yaml"]);
    let texts: Vec<_> = files.iter().map(|(_, text)| text.as_str()).collect();
    for documents in [vec![text.as_str()], texts] {
        let plan = copy.plan_with(&documents, &|_| None).expect("valid");
        let unchanged = plan.connections.iter().all(Step::is_unchanged) && plan.agents.iter().all(Step::is_unchanged);
        assert!(unchanged && plan.numbers.iter().all(Step::is_unchanged), "{documents:?}");
        assert_eq!(plan.connections[0].notes, ["credentials kept: the environment variable OPENAI_API_KEY is not set"]);
    }
}

#[test]
fn changes_are_told_field_by_field_without_secrets() {
    let tenant = Tenant::with(&[OPENAI, PHONE, AVA]);
    let settings = OPENAI.replace(
        "provider: openai\n",
        "provider: openai\n    settings: {model: gpt-5}\n    limits: {max_concurrent: 3}\n",
    );
    let ava = AVA.replace("the phone", "every phone").replace("connection: OpenAI, ", "");
    let number = PHONE.replace(", agent: Ava", ", label: Main");
    let environment = |name: &str| (name == "OPENAI_API_KEY").then(|| "sk-another-secret".to_owned());
    let plan = tenant.plan_with(&[&settings, &ava, &number], &environment).expect("valid");
    let expected =
        ["limits.max_concurrent: none -> 3", "settings.model: none -> \"gpt-5\"", "credentials.api_key: changed"];
    assert_eq!(changes(&plan.connections), expected);
    let expected = [
        "instructions: \"You answer the phone.\" -> \"You answer every phone.\"",
        "llm.connection: \"OpenAI\" -> none",
    ];
    assert_eq!(changes(&plan.agents), expected);
    assert_eq!(changes(&plan.numbers), ["agent: \"Ava\" -> none", "label: none -> \"Main\""]);
}

#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let wrong = "\
connections:
  - {name: OpenAI, provider: opnai}
  - {name: Search, provider: http, settings: {base_ur: \"https://example.com\"}}
agents:
  - {name: Ava, instructions: x, llm: {connection: OpenAi}, limits: {max_duration_seconds: 1}, colour: red}
  - {name: Eve, instruction: x}
  - {name: Bob, instructions: x, stt: {connection: Search}}
  - {name: Zoe, instructions: x, llm: {connection: OpenAI}}
numbers:
  - {number: 12025550100, connection: Search}
  - {number: +12025550100, connection: Search, agent: Nobody}
webhooks:
  - {url: \"https://example.com/hook\", events: [call.ended]}
  - {url: nonsense}
";
    let problems = Tenant::default().plan(&[wrong]).err().expect("wrong");
    let expected = [
        "0.yaml: connections[0].provider: must be one of: ",
        "0.yaml: connections[1].settings.base_ur: is unknown; did you mean base_url?",
        "0.yaml: agents[0].llm.connection: there is no connection \"OpenAi\"; did you mean \"OpenAI\"?",
        "0.yaml: agents[0].limits.max_duration_seconds: must be from 10 to 14400",
        "0.yaml: agents[1].instructions: is required",
        "0.yaml: agents[2].stt.connection: names a connection to http, which is not ",
        "0.yaml: numbers[0].number: must be a string: put it in quotes",
        "0.yaml: numbers[1].agent: there is no agent \"Nobody\"",
        "0.yaml: numbers[1].connection: names a connection to http, which is not ",
        "0.yaml: webhooks[0].events.0: must be one of: ",
        "0.yaml: webhooks[1].url: ",
    ];
    assert_eq!(problems.len(), expected.len(), "{problems:#?}");
    for (problem, expected) in problems.iter().zip(expected) {
        assert!(problem.starts_with(expected), "{problem} instead of {expected}");
    }
}

#[test]
fn unknown_fields_are_refused() {
    let agent = "agents:\n  - {name: Ava, instructions: x, llm: {modle: y}, colour: red}\n";
    let problems = Tenant::default().plan(&[agent]).err().expect("wrong");
    assert_eq!(
        problems,
        ["0.yaml: agents[0].colour: is unknown", "0.yaml: agents[0].llm.modle: is unknown; did you mean model?"]
    );
}

#[test]
fn the_same_thing_twice_names_both_places() {
    let problems = Tenant::default().plan(&[OPENAI, OPENAI, AVA, PHONE, PHONE, AVA]).err().expect("twice");
    let expected = [
        "1.yaml: connections[0]: the connection \"OpenAI\" is also at 0.yaml: connections[0]",
        "4.yaml: connections[0]: the connection \"Phone\" is also at 3.yaml: connections[0]",
        "5.yaml: agents[0]: the agent \"Ava\" is also at 2.yaml: agents[0]",
        "4.yaml: numbers[0]: the number \"+12025550100 on Phone\" is also at 3.yaml: numbers[0]",
    ];
    assert_eq!(problems, expected);
}

#[test]
fn a_secret_that_is_not_set_is_kept_only_where_it_went_before() {
    let unset = |_: &str| None;
    let missing = "0.yaml: connections[0].credentials.api_key: the environment variable OPENAI_API_KEY is not set";
    assert_eq!(
        Tenant::default().plan_with(&[OPENAI], &unset).err(),
        Some(vec![missing.to_owned()]),
        "a new connection"
    );
    let tenant = Tenant::with(&[OPENAI]);
    let plan = tenant.plan_with(&[OPENAI], &unset).expect("kept");
    assert!(plan.connections[0].is_unchanged());
    assert_eq!(plan.connections[0].wanted.credentials.reveal()["api_key"], "sk-0123456789");
    let renamed = OPENAI.replace("name: OpenAI", "name: Other");
    assert_eq!(tenant.plan_with(&[&renamed], &unset).err(), Some(vec![missing.to_owned()]));
    let moved = OPENAI
        .replace("provider: openai\n", "provider: openai\n    settings: {base_url: \"https://example.com/v1\"}\n");
    let problems = tenant.plan_with(&[&moved], &unset).err().expect("elsewhere");
    let words = format!("{missing}, and stored credentials are not sent to a new address: set it");
    assert_eq!(problems, [words]);
    tenant.plan(&[&moved]).expect("with the secret itself it may go there");
}

#[test]
fn the_provider_of_a_connection_stays() {
    let tenant = Tenant::with(&[OPENAI]);
    let problems = tenant.plan(&[&OPENAI.replace("provider: openai", "provider: anthropic")]).err().expect("refused");
    assert!(problems[0].starts_with("0.yaml: connections[0].provider: cannot be changed"), "{problems:?}");
    let problems = tenant.plan_with(&[&OPENAI.replace("provider: openai", "provider: anthropic")], &|_| None);
    assert!(problems.err().expect("refused").iter().any(|problem| problem.contains("OPENAI_API_KEY is not set")));
}
