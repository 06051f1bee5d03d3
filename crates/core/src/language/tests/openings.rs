//! How people and machines begin a call that an agent has placed, and how callers begin one that it answers.

use crate::language::{Language, MachineWords};

/// Receptionists, assistants, answering services, callers who want to leave a message, and screeners that ask who is calling.
const PEOPLE: &[(&str, &str)] = &[
    ("en", "You've reached the office of Dr. Miller, Anna speaking."),
    ("en", "Harbor Table, this is Tom, please hold."),
    ("en", "Please hold, I'll connect you."),
    ("en", "Leave it with me, I'll tell her when she is back."),
    ("en", "Your call was forwarded to me, she's on vacation."),
    ("en", "Your call was forwarded to my desk, what is it about?"),
    ("en", "He can't take your call right now, I'm his assistant."),
    ("en", "I can take a message if you like."),
    ("en", "You may leave a message with my colleague."),
    ("en", "Do you want me to put you through to her voice mailbox?"),
    ("en", "Shall I forward you to his voicemail box?"),
    ("en", "Dr. Lee's answering service, can I take a message?"),
    ("en", "I'd like to leave a message for Doctor Miller."),
    ("en", "Hi, I just want to leave a message for Bob."),
    ("en", "I was told to leave a message with someone there."),
    ("en", "I don't want to leave a message, I want to talk to him."),
    ("en", "Hi, if you record your name and reason for calling, I'll see if this person is available."),
    ("en", "The person you are calling is using a screening service from Google. Go ahead and say your name."),
    ("de", "Praxis Doktor Weiß, Sie sprechen mit Anna Klein, einen Moment bitte."),
    ("de", "Ihr Anruf wurde zu mir weitergeleitet, Frau Weiß ist im Urlaub."),
    ("de", "Ich möchte eine Nachricht für Frau Weiß hinterlassen."),
    ("de", "Soll ich ihr eine Nachricht hinterlassen?"),
    ("de", "Soll ich Sie auf die Mailbox von Herrn Klein verbinden?"),
    ("de", "Darf ich etwas ausrichten oder wollen Sie eine Nachricht hinterlassen?"),
    ("es", "Oficina del doctor Ruiz, habla Ana, un momento por favor."),
    ("es", "Quisiera dejar un mensaje para la señora Ruiz."),
    ("es", "¿Quiere que le pase al buzón de voz?"),
    ("es", "Puede dejar un mensaje conmigo."),
    ("fr", "Cabinet du docteur Petit, Anne à l'appareil, ne quittez pas."),
    ("fr", "Je voudrais laisser un message pour madame Petit."),
    ("fr", "Vous voulez que je vous passe sa messagerie vocale ?"),
    ("fr", "Vous pouvez me laisser un message, je lui transmettrai."),
    ("it", "Studio Rossi, sono Anna, attenda in linea."),
    ("it", "Vorrei lasciare un messaggio per la signora Rossi."),
    ("it", "Può lasciare un messaggio a me."),
    ("it", "Vuole che la passi alla casella vocale?"),
    ("pt", "Consultório da doutora Silva, Ana falando, um momento."),
    ("pt", "Eu queria deixar uma mensagem para o doutor Silva."),
    ("pt-PT", "Posso deixar uma mensagem para a doutora Silva?"),
    ("pt", "Você pode deixar uma mensagem comigo."),
    ("nl", "Praktijk De Vries, u spreekt met Anna, een ogenblik."),
    ("nl", "Ik wil graag een bericht achterlaten voor meneer De Vries."),
    ("nl", "U kunt bij mij een bericht achterlaten."),
    ("nl", "Zal ik u doorverbinden met de voicemail van Jan?"),
    ("hi", "डॉक्टर शर्मा का ऑफ़िस, मैं अनीता बोल रही हूँ, एक मिनट रुकिए।"),
    ("hi", "मैं डॉक्टर शर्मा के लिए एक संदेश छोड़ना चाहती हूँ।"),
    ("hi", "आप मेरे पास संदेश छोड़ सकते हैं।"),
    ("ja", "はい、田中医院の鈴木でございます。少々お待ちください。"),
    ("ja", "伝言をお願いしたいのですが。"),
    ("ja", "私がご伝言を承ります。"),
    ("en", "Hello? Is this an automated voice?"),
    ("en", "Hello, am I speaking to an automated voice or to a person?"),
    ("en", "hello is this an automated voice"),
    ("en", "Have I reached the voicemail of Doctor Miller?"),
    ("en", "This is an automated voice?"),
    ("en", "Sorry, are you an automatic voice."),
    ("de", "Hallo? Ist das die Mailbox von Herrn Klein?"),
    ("de", "Spreche ich mit dem Anrufbeantworter von Frau Weiß?"),
    ("es", "¿Es un contestador automático?"),
    ("es", "Hola, ¿estoy hablando con un buzón de voz?"),
    ("fr", "C\u{2019}est une messagerie vocale ?"),
    ("fr", "Allô, est-ce que je suis bien sur le répondeur de Paul ?"),
    ("it", "Parlo con una segreteria telefonica?"),
    ("it", "Pronto, è la segreteria telefonica di Marco?"),
    ("pt", "É uma caixa de mensagens?"),
    ("pt-PT", "Estou a falar com o correio de voz?"),
    ("nl", "Spreek ik met de voicemail van Jan?"),
    ("nl", "Is dit het antwoordapparaat van mevrouw De Vries?"),
    ("hi", "हैलो, क्या यह वॉइसमेल है?"),
    ("ja", "これは留守番電話サービスですか。"),
    ("ja", "もしもし、留守番電話サービスでしょうか？"),
];

/// Voicemail in two parts or one, answering machines, and networks.
const MACHINES: &[(&str, &str)] = &[
    ("en", "Hi, this is Bob. Please leave a message after the tone."),
    ("en", "You have reached the voicemail of 5 5 5 0 1 0 0."),
    ("en", "The number you have dialed is not in service."),
    ("en", "The mailbox is full and cannot accept any messages at this time."),
    ("en", "Hey, you've reached Anna, I'm not here right now, so leave me a message and I'll call you back."),
    ("en", "We are unable to take your call. Please leave your name and number."),
    ("en", "Your call has been forwarded to an automatic voice message system."),
    ("en", "The subscriber you have dialed is not available."),
    ("en", "At the tone, please record your message. When you have finished recording, you may hang up."),
    ("en", "Could you please leave your message after the beep."),
    ("en", "The wireless customer you are calling is not available."),
    ("en", "Thank you for calling Harbor Table. Our office is closed. Please leave your name and number."),
    ("en", "You have reached the voicemail of Anna Klein. Would you like to leave a message?"),
    ("en", "This is an automated voice messaging system."),
    ("en", "Is anybody there? Then speak after the beep."),
    ("en", "Hi this is Bob leave a message after the tone"),
    ("de", "Das ist die Mailbox von Anna Klein."),
    ("es", "Este es el contestador automático de Juan."),
    ("fr", "C'est la messagerie vocale de Paul."),
    ("it", "Questa è la segreteria telefonica di Marco."),
    ("nl", "Dit is de voicemail van Jan."),
    ("pt", "Este é o correio de voz de Ana."),
    ("hi", "यह वॉइसमेल है।"),
    ("ja", "これは留守番電話サービスです。"),
    ("de", "Guten Tag, hier ist der Anschluss von Anna Klein. Bitte sprechen Sie nach dem Signalton."),
    ("de", "Der Teilnehmer ist vorübergehend nicht erreichbar."),
    ("de", "The person you have called is temporarily not available."),
    ("de", "Leider kann ich Ihren Anruf gerade nicht entgegennehmen."),
    ("de", "Hi, hier ist die Mailbox von Paul, ihr könnt mir was draufsprechen nach dem Piep."),
    ("de", "Kein Anschluss unter dieser Nummer."),
    ("es", "En este momento no puedo atender su llamada. Deje su mensaje después de la señal."),
    ("es", "Hola, soy Marta, ahora no puedo contestar, deja tu mensaje."),
    ("es", "El número que usted marcó no está disponible."),
    ("es", "El teléfono al que llama está apagado o fuera de cobertura."),
    ("fr", "Bonjour, vous êtes bien sur le répondeur de Paul, laissez un message."),
    ("fr", "Je ne suis pas disponible pour le moment, merci de laisser un message après le bip."),
    ("fr", "Votre correspondant n'est pas joignable."),
    ("fr", "Le numéro que vous avez demandé n'est pas attribué."),
    ("it", "Risponde la segreteria telefonica del numero tre tre tre."),
    ("it", "Ciao, al momento non posso rispondere, lasciate un messaggio dopo il bip."),
    ("it", "Il numero da lei chiamato non è raggiungibile."),
    ("it", "Il numero selezionato è inesistente."),
    ("pt", "Oi, aqui é a Ana, deixe seu recado após o sinal."),
    ("pt", "O número chamado está desligado ou fora da área de cobertura."),
    ("pt-PT", "O número que marcou não está disponível."),
    ("pt-PT", "Ligou para o correio de voz de Ana."),
    ("nl", "U bent verbonden met de voicemail van Jan de Vries."),
    ("nl", "Ik kan de telefoon nu niet opnemen, spreek een bericht in."),
    ("nl", "Het door u gekozen nummer is niet in gebruik."),
    ("hi", "आप जिस व्यक्ति से आप संपर्क करना चाहते हैं, वह अभी उत्तर नहीं दे रहे हैं।"),
    ("hi", "जिस नंबर पर आप कॉल कर रहे हैं वह अभी स्विच ऑफ है।"),
    ("hi", "कृपया टोन के बाद अपना संदेश रिकॉर्ड करें।"),
    ("ja", "おかけになった電話は電波の届かない場所にあります。"),
    ("ja", "ただいま留守にしております。ピーという音の後にご用件をお話しください。"),
    ("ja", "おかけになった電話番号は現在使われておりません。"),
];

#[test]
fn people_who_answer_or_call_are_no_machines() {
    let taken = PEOPLE.iter().filter(|(tag, text)| Language::of(tag).machine_words(text, true).is_some());
    assert_eq!(taken.collect::<Vec<_>>(), [&("", ""); 0]);
}

#[test]
fn machines_are_known_by_their_first_sentences() {
    let missed = MACHINES.iter().filter(|(tag, text)| Language::of(tag).machine_words(text, true).is_none());
    assert_eq!(missed.collect::<Vec<_>>(), [&("", ""); 0]);
}

#[test]
fn an_offer_is_no_recording_before_its_end_is_known() {
    let en = Language::of("en");
    let offer = "Do you want me to put you through to her voice mailbox";
    for (text, is_final, words) in [
        (offer, false, None),
        ("Do you want me to put you through to her voice mailbox?", true, None),
        ("after the tone", false, Some(MachineWords::Recording)),
        ("leave a message", false, None),
        ("leave a message", true, Some(MachineWords::Voicemail)),
        ("Could you please leave your message after the beep", false, None),
        ("Could you please leave your message after the beep.", true, Some(MachineWords::Recording)),
    ] {
        assert_eq!(en.machine_words(text, is_final), words, "{text} {is_final}");
    }
}

#[test]
fn a_question_under_way_whether_a_machine_speaks_is_no_recording() {
    for (tag, text) in [
        ("en", "Hello? Is this an automated voice"),
        ("de", "Ist das die Mailbox von"),
        ("es", "¿Es un contestador automático"),
        ("fr", "C'est une messagerie vocale"),
        ("it", "Parlo con una segreteria telefonica"),
        ("nl", "Is dit de voicemail van"),
        ("pt", "É uma caixa de mensagens"),
        ("hi", "क्या यह वॉइसमेल"),
        ("ja", "これは留守番電話サービス"),
    ] {
        assert_eq!(Language::of(tag).machine_words(text, false), None, "{tag}: {text}");
    }
    let reached = "You have reached the voicemail of Anna";
    assert_eq!(Language::of("en").machine_words(reached, false), Some(MachineWords::Recording));
}
