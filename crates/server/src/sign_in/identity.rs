//! The identity of a person, as reported by the identity provider.

use switchhook_core::sign_in::is_email;

use super::SignInError;
use crate::store::people::ProvidedEmail;

/// The issuer of the person of `switchhook dev`.
pub const LOCAL: &str = "local";
/// Maximum length of an issuer's subject (OpenID Connect Core section 2).
const MAX_SUBJECT: usize = 255;
/// Maximum length of a name.
const MAX_NAME: usize = 200;

/// An identity. It has no `Debug`, which would print personal data.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The issuer that vouches for it.
    pub issuer: String,
    /// Unique per issuer, and never given to anybody else.
    pub subject: String,
    /// Its e-mail address.
    pub email: Option<String>,
    /// Whether the issuer has verified that address.
    pub email_verified: bool,
    /// The person's name.
    pub name: Option<String>,
}

impl Identity {
    /// The person of `switchhook dev`.
    #[must_use]
    pub fn local() -> Self {
        Self {
            issuer: LOCAL.to_owned(),
            subject: "developer".to_owned(),
            email: Some("developer@localhost".to_owned()),
            email_verified: true,
            name: Some("Developer".to_owned()),
        }
    }

    /// Brings what the provider sent into a form that can be stored and compared.
    ///
    /// # Errors
    /// If its subject is not one.
    pub(super) fn checked(self) -> Result<Self, SignInError> {
        let subject_fits = (1..=MAX_SUBJECT).contains(&self.subject.chars().count());
        if !subject_fits || self.subject.chars().any(char::is_control) {
            return Err(SignInError::refused("its subject is malformed"));
        }
        let clean = |name: String| name.chars().filter(|c| !is_hidden(*c)).take(MAX_NAME).collect::<String>();
        let email = self.email.map(|email| email.to_ascii_lowercase()).filter(|email| is_email(email));
        let verified = email.as_deref().filter(|_| self.email_verified);
        // Others would take it for an address that the provider has verified.
        let looks_like_another = |name: &str| name.contains('@') && verified != Some(&*name.to_ascii_lowercase());
        let name = self.name.map(|name| clean(name).trim().to_owned());
        let name = name.filter(|name| !name.is_empty() && !looks_like_another(name));
        Ok(Self { email, name, ..self })
    }

    /// The address that the issuer vouches for.
    #[must_use]
    pub fn verified_email(&self) -> Option<&str> {
        self.email.as_deref().filter(|_| self.email_verified)
    }

    /// The address, verified or not, to be stored.
    pub(super) fn provided_email(&self) -> Option<ProvidedEmail<'_>> {
        let verified = self.email_verified;
        self.email.as_deref().map(|address| ProvidedEmail { address, verified })
    }

    /// The name of a tenant that is made for this person.
    #[must_use]
    pub fn tenant_name(&self) -> String {
        self.name.as_deref().or(self.verified_email()).unwrap_or("My workspace").to_owned()
    }
}

/// Returns whether a character changes how those around it are shown, or shows nothing: it would make one name look like another.
fn is_hidden(character: char) -> bool {
    let formats = matches!(character,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
    character.is_control() || formats
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(subject: &str, email: &str, name: &str) -> Option<Identity> {
        let some = |text: &str| Some(text.to_owned());
        let sent = Identity {
            issuer: "https://issuer.test".to_owned(),
            subject: subject.to_owned(),
            email: some(email),
            email_verified: true,
            name: some(name),
        };
        sent.checked().ok()
    }

    #[test]
    fn what_cannot_be_stored_or_compared_is_left_out() {
        let ana = identity("7", "Ana@Example.com", " Ana\u{0}\n ").expect("an identity");
        assert_eq!((ana.verified_email(), ana.tenant_name()), (Some("ana@example.com"), "Ana".to_owned()));
        let lookalike = identity("7", "\u{212A}im@Example.com", "Kim").expect("an identity");
        assert_eq!(lookalike.verified_email(), Some("\u{212A}im@example.com"), "another letter than k");
        let bare = identity("7", "no address", " ").expect("an identity");
        assert_eq!((bare.verified_email(), bare.tenant_name()), (None, "My workspace".to_owned()));
        let turned = identity("7", "kim@example.com", "K\u{202E}i\u{200B}m").expect("an identity");
        assert_eq!(turned.tenant_name(), "Kim");
        let posing = identity("7", "kim@example.com", "ceo@example.com").expect("an identity");
        assert_eq!(posing.tenant_name(), "kim@example.com", "no name is another's address");
        let unverified = Identity { email_verified: false, name: None, ..posing };
        assert_eq!(unverified.tenant_name(), "My workspace");
        for subject in ["", "a\u{0}", &"x".repeat(256)] {
            assert!(identity(subject, "a@b.c", "A").is_none(), "{subject:?}");
        }
    }
}
