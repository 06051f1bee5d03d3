mod openings;

use super::*;
use crate::agent::{AgentConfig, GreetingMode, Interruption};

/// Returns every list of a table by its name.
fn lists(language: &Language) -> Vec<(&'static str, WordList)> {
    let Language { phrases, yes_no, .. } = language;
    let question_words = match yes_no {
        YesNo::By { first, .. } => first,
        YesNo::Without(question_words) => question_words,
    };
    vec![
        ("reprompts", phrases.reprompts),
        ("unclear", phrases.unclear),
        ("fillers", phrases.fillers),
        ("still_here", phrases.still_here),
        ("goodbyes", phrases.goodbyes),
        ("retrying", phrases.retrying),
        ("lost_thread", phrases.lost_thread),
        ("technical", phrases.technical),
        ("not_put_through", phrases.not_put_through),
        ("time_is_up", phrases.time_is_up),
        ("backchannels", language.backchannels),
        ("commands", language.commands),
        ("hesitations", language.hesitations),
        ("farewells", language.farewells),
        ("courtesies", language.courtesies),
        ("answers", language.answers),
        ("always_open", language.always_open),
        ("open_unless_closed", language.open_unless_closed),
        ("digits", language.digits),
        ("one_letter_words", language.one_letter_words),
        ("yes_no", question_words),
        ("question_endings", language.question_endings),
        ("abbreviations", language.abbreviations),
        ("recordings", language.recordings),
        ("voicemail", language.voicemail),
        ("offers", language.offers),
        ("machine_questions", language.machine_questions),
    ]
}

/// Lists that are intentionally empty in a language.
const DECLARED_EMPTY: &[(&str, &[&str])] = &[
    ("one_letter_words", &["en", "de", "hi", "ja"]),
    ("question_endings", &["en", "de", "es", "fr", "hi", "it", "nl", "pt", "pt-PT"]),
    ("abbreviations", &["ja"]),
];

#[test]
fn nothing_is_missing_in_any_language() {
    let mut missing = Vec::new();
    for language in LANGUAGES {
        for (name, list) in lists(language) {
            let declared = DECLARED_EMPTY.iter().any(|(list, tags)| *list == name && tags.contains(&language.tag));
            if list.is_empty() != declared {
                missing.push(format!("{}: {name} ({} words)", language.tag, list.len()));
            }
        }
        for (name, enough) in
            [("greeting", !language.greeting.is_empty()), ("phone_digits", (8..=12).contains(&language.phone_digits))]
        {
            if !enough {
                missing.push(format!("{}: {name}", language.tag));
            }
        }
    }
    assert!(missing.is_empty(), "neither there nor declared empty: {missing:#?}");
    let tags: Vec<&str> = LANGUAGES.iter().map(|language| language.tag).collect();
    for tag in ["en", "es", "fr", "de", "it", "pt", "nl", "hi", "ja"] {
        assert!(tags.contains(&tag), "{tag}");
    }
}

#[test]
fn words_of_tables_are_found_as_callers_words_are() {
    for language in LANGUAGES {
        let join = if language.spaced { " " } else { "" };
        for (name, list) in lists(language).into_iter().skip(10) {
            for (i, entry) in list.iter().enumerate() {
                let found = match name {
                    "abbreviations" => entry.to_lowercase(),
                    "recordings" if language.machine_words(entry, true) == Some(MachineWords::Recording) => {
                        (*entry).to_owned()
                    }
                    "voicemail" if language.machine_words(entry, true) == Some(MachineWords::Voicemail) => {
                        (*entry).to_owned()
                    }
                    _ => language.words(entry).join(join),
                };
                assert_eq!(&found, entry, "{}: {name}", language.tag);
                assert!(!list[..i].contains(entry), "{}: {name} has {entry} twice", language.tag);
            }
        }
    }
}

#[test]
fn a_tag_finds_its_own_table_or_that_of_its_language() {
    let table = [
        ("en", "en"),
        ("en-GB", "en"),
        ("EN-us", "en"),
        ("multi", "en"),
        ("", "en"),
        ("pt-BR", "pt"),
        ("pt-PT", "pt-PT"),
        ("es-MX", "es"),
        ("de-CH-1996", "de"),
        ("ja-JP", "ja"),
        ("xx", ""),
        ("sv-SE", ""),
        ("engl", ""),
    ];
    for (tag, found) in table {
        assert_eq!(Language::of(tag).tag, found, "{tag}");
    }
    assert!(
        lists(Language::of("xx")).iter().all(|(_, list)| list.is_empty()) && Language::of("xx").greeting.is_empty()
    );
}

#[test]
fn japanese_words_stand_apart_by_what_is_known_and_by_script() {
    let table = [
        ("はい、そうです。", vec!["はい", "そうです"]),
        ("えーと予約をお願いします", vec!["えーと", "予約", "をお", "願", "いします"]),
        ("三月七日にテーブルを", vec!["三", "月七日", "に", "テーブル", "を"]),
        ("はいはい", vec!["はい", "はい"]),
        ("ＡＢＣ 090", vec!["ａｂｃ", "090"]),
    ];
    for (text, words) in table {
        assert_eq!(Language::of("ja").words(text), words, "{text}");
    }
}

#[test]
fn defaults_of_an_agent_are_in_its_language_and_its_own_words_stay() {
    let localised = |language: &str, change: fn(&mut AgentConfig)| {
        let mut agent = AgentConfig::new("Book tables.");
        language.clone_into(&mut agent.language);
        change(&mut agent);
        agent.localise();
        agent
    };
    let german = localised("de-DE", |_| {});
    assert_eq!(
        (german.greeting.text.as_str(), german.greeting.mode),
        (Language::of("de").greeting, GreetingMode::Speak)
    );
    assert_eq!(german.interruption.backchannels, Language::of("de").backchannels);
    let own = localised("de-DE", |agent| {
        agent.greeting.text = "Moin!".to_owned();
        agent.interruption.backchannels = vec!["jo".to_owned()];
    });
    assert_eq!((own.greeting.text.as_str(), own.interruption.backchannels.len()), ("Moin!", 1));
    let unknown = localised("xx", |_| {});
    assert_eq!((unknown.greeting.text.as_str(), unknown.greeting.mode), ("", GreetingMode::Generate));
    assert!(unknown.interruption.backchannels.is_empty());
    assert_eq!(localised("en-GB", |_| {}).interruption, Interruption::default());
    assert_eq!(localised("multi", |_| {}).greeting, AgentConfig::new("").greeting);
}

#[test]
fn greetings_of_voicemail_are_recognised_and_people_are_not() {
    let machines = [
        ("en", "Hi, I can\u{2019}t take your call right now."),
        ("de", "Hallo, hier ist Anna Weiß. Bitte hinterlassen Sie eine Nachricht nach dem Signalton."),
        ("de", "Sie sind verbunden mit der Mailbox von null eins sieben"),
        ("es", "El buzón de voz del número marcado. Por favor, deje su mensaje después de la señal."),
        ("fr", "Vous êtes bien sur la messagerie de Paul. Laissez-moi un message après le bip."),
        ("it", "Segreteria telefonica di Marco. Lasciate un messaggio dopo il segnale acustico."),
        ("it", "Il cliente da lei chiamato non è al momento raggiungibile."),
        ("pt-BR", "Sua chamada está sendo encaminhada para a caixa postal."),
        ("pt-PT", "De momento não posso atender. Deixe a sua mensagem após o sinal."),
        ("nl", "Dit is de voicemail van Jan. Spreek een bericht in na de piep."),
        ("hi", "जिस व्यक्ति से आप संपर्क करना चाहते हैं वह उपलब्ध नहीं है। कृपया बीप के बाद संदेश छोड़ें।"),
        ("ja", "ただいま電話に出ることができません。発信音の後に、メッセージをお話しください。"),
        ("ja", "発信音 の 後 に お名前 を どうぞ"),
        ("en", "Please leave a message after the tone."),
        ("en", "Hey, it's Bob. Leave me a message."),
        ("en", "If you'd like to leave a message, press one."),
        ("en", "Your call has been forwarded to an automated voice messaging system."),
        ("en", "Your call has been forwarded to voicemail."),
        ("en", "No one is available to take your call."),
        ("de", "Leider kann ich Ihren Anruf im Moment nicht entgegennehmen, hinterlassen Sie mir gern eine Nachricht."),
    ];
    for (tag, words) in machines {
        assert!(Language::of(tag).machine_words(words, true).is_some(), "{tag}: {words}");
    }
    let people = [
        ("en", "Hello, this is Ava, who is calling?"),
        ("de", "Weiß, guten Tag. Nein, sie ist gerade in einer Besprechung."),
        ("es", "¿Bueno? Sí, dígame, ¿quién habla?"),
        ("fr", "Allô ? Non, il n'est pas là, je peux lui laisser un mot ?"),
        ("it", "Pronto? Sì, chi parla? Un momento, glielo passo."),
        ("pt", "Alô? Sim, quem fala, por favor?"),
        ("nl", "Met Jan. Ja, ik luister, waar gaat het over?"),
        ("hi", "हैलो? जी, बोलिए, कौन बात कर रहे हैं?"),
        ("ja", "はい、田中でございます。どちら様でしょうか。"),
        ("en", "She is out today, can you leave a message with me?"),
        ("en", "she is out today can you leave a message with me"),
        ("en", "He is in a meeting. Would you like to leave a message?"),
        ("en", "You want to leave a message?"),
        ("en", "Your call was forwarded to me, how can I help?"),
        ("en", "It got forwarded to our front desk."),
        ("en", "Mr. Miller is unable to take your call, but I am his assistant."),
        ("de", "Frau Weiß ist nicht da, möchten Sie eine Nachricht hinterlassen?"),
        ("de", "Sie können bei mir eine Nachricht hinterlassen."),
        ("es", "No está, ¿quiere dejar un mensaje?"),
        ("es", "Ahora no puedo atenderle, llámeme luego."),
        ("fr", "Elle est absente, vous voulez laisser un message ?"),
        ("fr", "Je ne suis pas disponible, rappelez demain."),
        ("it", "Segreteria di direzione, buongiorno."),
        ("it", "Non c'è, vuole lasciare un messaggio?"),
        ("pt", "Não posso atender agora, ligo depois."),
        ("pt", "Ela saiu, quer deixar uma mensagem?"),
        ("nl", "Hij is er niet, wilt u een bericht achterlaten?"),
        ("hi", "वे बाहर हैं, क्या आप संदेश छोड़ना चाहेंगे?"),
        ("ja", "外出しておりますが、メッセージをお残しになりますか。"),
    ];
    for (tag, words) in people {
        assert_eq!(Language::of(tag).machine_words(words, true), None, "{tag}: {words}");
    }
}
