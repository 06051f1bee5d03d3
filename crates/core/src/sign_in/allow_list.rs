//! The list of who may sign in, by e-mail address.

use std::str::FromStr;

/// Maximum length of an address (RFC 5321 section 4.5.3.1.3, without the angle brackets).
const MAX_EMAIL: usize = 254;

/// Addresses and domains whose owners may sign in. An empty list admits everyone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AllowList(Vec<AllowedAddress>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum AllowedAddress {
    Address(String),
    Domain(String),
}

/// Returns whether `text` has the form of an e-mail address: one `@` between two parts without white space.
#[must_use]
pub fn is_email(text: &str) -> bool {
    let part = |part: &str| !part.is_empty() && !part.chars().any(|c| c == '@' || c.is_whitespace() || c.is_control());
    text.chars().count() <= MAX_EMAIL && text.split_once('@').is_some_and(|(local, domain)| part(local) && part(domain))
}

impl AllowList {
    /// Returns whether the owner of this address may sign in. Ignores case only in ASCII letters: more general rules equate different addresses.
    /// `verified_email` is `None` if the identity provider has verified none.
    #[must_use]
    pub fn admits(&self, verified_email: Option<&str>) -> bool {
        if self.0.is_empty() {
            return true;
        }
        let Some(email) = verified_email.map(str::to_ascii_lowercase) else { return false };
        let Some((_, domain)) = email.rsplit_once('@') else { return false };
        self.0.iter().any(|entry| match entry {
            AllowedAddress::Address(address) => *address == email,
            AllowedAddress::Domain(allowed) => allowed == domain,
        })
    }
}

impl FromStr for AllowList {
    type Err = String;

    /// Parses `user@host` and `@domain`, separated by commas.
    fn from_str(text: &str) -> Result<Self, String> {
        let entry = |entry: &str| {
            let lower = entry.trim().to_ascii_lowercase();
            match lower.strip_prefix('@') {
                Some(domain) if is_email(&format!("x@{domain}")) => Ok(AllowedAddress::Domain(domain.to_owned())),
                None if is_email(&lower) => Ok(AllowedAddress::Address(lower)),
                _ => Err(format!(
                    "must be addresses such as user@example.com and domains such as @example.com, not {entry:?}"
                )),
            }
        };
        text.split(',').map(entry).collect::<Result<_, _>>().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_whole_domains_are_admitted_if_they_are_verified() {
        let list: AllowList =
            "ana@example.com, kim@example.com, @Example.org, @work.example, @books.example".parse().expect("valid");
        for (email, admitted) in [
            (Some("ana@example.com"), true),
            (Some("Ana@Example.COM"), true),
            (Some("bob@example.com"), false),
            (Some("bob@example.org"), true),
            (Some("bob@sub.example.org"), false),
            (Some("bob@badexample.org"), false),
            (Some("bob@example.org@evil.test"), false),
            (Some("example.org"), false),
            // KELVIN SIGN and LATIN SMALL LETTER LONG S, which Unicode lowers or folds to letters of ASCII.
            (Some("\u{212A}im@example.com"), false),
            (Some("ana@book\u{17F}.example"), false),
            (Some("ana@wor\u{212A}.example"), false),
            (None, false),
        ] {
            assert_eq!(list.admits(email), admitted, "{email:?}");
        }
        assert!(AllowList::default().admits(None), "an empty list admits everybody");
    }

    #[test]
    fn malformed_and_wildcard_entries_are_refused() {
        for wrong in ["example.com", "@", "ana@", "a@b@c", "ana@example.com,", "a b@example.com", "*"] {
            assert!(wrong.parse::<AllowList>().is_err(), "{wrong}");
        }
    }
}
