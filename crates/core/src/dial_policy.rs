//! Which numbers a tenant may call. Toll fraud turns stolen keys and manipulated agents into cash with numbers that cost their
//! callers money, so those are refused unless an operator allows them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::Timestamp;
use crate::phone_number::PhoneNumber;

/// Default limit of calls to one number in 24 hours.
pub const PER_NUMBER_PER_DAY: u32 = 20;

/// The time within which calls to one number are counted.
pub const COUNTED_WITHIN: Duration = Duration::from_secs(24 * 3600);

/// The tariff of a number, by its numbering plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tariff {
    /// The carrier's normal price for the country.
    Ordinary,
    /// The called party earns from the call.
    PremiumRate,
    /// The called party pays a part.
    SharedCost,
    /// Satellite phones and international networks.
    Satellite,
}

/// A prefix of numbers (`+` and digits) or of SIP addresses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prefix(String);

impl Prefix {
    /// Returns it as written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The text is not a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be + and 1 to 15 digits, such as +44, or start with sip: or sips:")]
pub struct ParsePrefixError;

impl FromStr for Prefix {
    type Err = ParsePrefixError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = |digits: &str| (1..=15).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        let sip = ["sip:", "sips:"].iter().any(|scheme| text.starts_with(scheme));
        let valid = text.strip_prefix('+').map_or(sip && text.len() <= 255, digits);
        if valid && !text.contains([',', ' ']) { Ok(Self(text.to_owned())) } else { Err(ParsePrefixError) }
    }
}

/// Parses a comma-separated list of prefixes.
///
/// # Errors
/// Fails if one of them is not a prefix.
pub fn parse_prefixes(text: &str) -> Result<Vec<Prefix>, ParsePrefixError> {
    text.split(',').map(str::trim).filter(|prefix| !prefix.is_empty()).map(str::parse).collect()
}

/// The rules for one tenant.
#[derive(Clone, Debug, PartialEq)]
pub struct DialPolicy {
    /// Allowed prefixes; all if empty.
    pub allow: Vec<Prefix>,
    /// Denied prefixes.
    pub deny: Vec<Prefix>,
    /// Calls and transfers to one number in 24 hours.
    pub per_number_per_day: Option<u32>,
    /// Cost of a day's calls (UTC) at which calls are refused, in millionths of a dollar.
    pub cost_per_day_micros: Option<u64>,
}

impl Default for DialPolicy {
    fn default() -> Self {
        Self {
            allow: Vec::new(),
            deny: Vec::new(),
            per_number_per_day: Some(PER_NUMBER_PER_DAY),
            cost_per_day_micros: None,
        }
    }
}

/// A number's entry in the numbering plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NumberingPlan {
    /// The tariff.
    pub tariff: Tariff,
    /// The length of the number's country calling code, in digits; 0 for an address without a number.
    pub country_code_digits: usize,
}

/// Facts for a decision, besides the policy.
#[derive(Clone, Copy, Debug)]
pub struct DialFacts {
    /// The numbering plan entry.
    pub plan: NumberingPlan,
    /// Whether it is one of the tenant's own numbers.
    pub own_number: bool,
    /// Calls and transfers to it within 24 hours of this one, see [`most_in_a_day`]; `None` if they are not counted.
    pub dialed_in_a_day: Option<u32>,
    /// Cost of the day's calls so far, in millionths of a dollar.
    pub cost_today_micros: u64,
}

/// The rule that refuses a number. `Display` is the sentence for the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialRefused {
    /// It is one of the tenant's own numbers.
    OwnNumber,
    /// It has a denied prefix.
    Denied(Prefix),
    /// It has no allowed prefix.
    NotAllowed,
    /// Its tariff is denied.
    Tariff(Tariff),
    /// It reached the limit of calls in 24 hours.
    PerNumber(u32),
    /// The day's calls reached the cost cap, in millionths of a dollar.
    Cost(u64),
}

impl DialRefused {
    /// Returns whether the rule refuses the number until the policy or the number changes, and not for today only.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        !matches!(self, Self::PerNumber(_) | Self::Cost(_))
    }
}

impl fmt::Display for DialRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OwnNumber => f.write_str("is one of your own numbers; calling it would be a loop"),
            Self::Denied(prefix) => {
                write!(f, "is refused by this tenant's dial policy: numbers with prefix {} are denied", prefix.0)
            }
            Self::NotAllowed => {
                f.write_str("is refused by this tenant's dial policy: it has none of the allowed prefixes")
            }
            Self::Tariff(tariff) => {
                let kind = match tariff {
                    Tariff::Ordinary | Tariff::PremiumRate => "premium-rate",
                    Tariff::SharedCost => "shared-cost",
                    Tariff::Satellite => "satellite",
                };
                write!(f, "is refused by this tenant's dial policy: {kind} numbers are denied")
            }
            Self::PerNumber(most) => write!(
                f,
                "is refused by this tenant's dial policy: at most {most} calls to the same number in 24 hours"
            ),
            Self::Cost(micros) => {
                let dollars = micros / 1_000_000;
                let cents = micros % 1_000_000 / 10_000;
                write!(f, "is refused by this tenant's dial policy: calls may cost {dollars}.{cents:02} USD per day")
            }
        }
    }
}

impl DialPolicy {
    /// Decides whether `to` may be called.
    ///
    /// An allowed prefix longer than a country code (`+1900`, `+881`) also allows denied tariffs.
    ///
    /// # Errors
    /// The first rule that refuses it.
    pub fn check(&self, to: &PhoneNumber, facts: &DialFacts) -> Result<(), DialRefused> {
        // No number is dialled for a conversation in a browser; its cost still counts.
        if !to.is_web() {
            self.check_number(to, facts)?;
        }
        match self.cost_per_day_micros {
            Some(most) if facts.cost_today_micros >= most => Err(DialRefused::Cost(most)),
            _ => Ok(()),
        }
    }

    fn check_number(&self, to: &PhoneNumber, facts: &DialFacts) -> Result<(), DialRefused> {
        let matches = |prefix: &&Prefix| names(to, prefix);
        if facts.own_number {
            return Err(DialRefused::OwnNumber);
        }
        if let Some(prefix) = self.deny.iter().find(|prefix| reaches(to, prefix)) {
            return Err(DialRefused::Denied(prefix.clone()));
        }
        if !self.allow.is_empty() && !self.allow.iter().any(|prefix| matches(&prefix)) {
            return Err(DialRefused::NotAllowed);
        }
        let NumberingPlan { tariff, country_code_digits } = facts.plan;
        let country = if tariff == Tariff::Satellite { 0 } else { country_code_digits };
        let lifted = self.allow.iter().filter(matches).any(|prefix| prefix.0.len() > country + 1);
        if tariff != Tariff::Ordinary && !lifted {
            return Err(DialRefused::Tariff(tariff));
        }
        if let (Some(most), Some(dialed)) = (self.per_number_per_day, facts.dialed_in_a_day)
            && dialed >= most
        {
            return Err(DialRefused::PerNumber(most));
        }
        Ok(())
    }
}

/// Returns whether `to` starts with `prefix`: as written, or by the number in the user part of its SIP address.
fn names(to: &PhoneNumber, prefix: &Prefix) -> bool {
    to.reveal().starts_with(&prefix.0) || to.e164().is_some_and(|number| number.starts_with(&prefix.0))
}

/// Returns whether any spelling of `to` starts with `prefix`.
fn reaches(to: &PhoneNumber, prefix: &Prefix) -> bool {
    let same_scheme = prefix.0.replacen("sips:", "sip:", 1);
    names(to, prefix) || to.called_party().starts_with(&same_scheme)
}

/// Returns how many of `others`, in order, fall within the fullest 24 hours that include `at`: a scheduled call counts at its own time.
#[must_use]
pub fn most_in_a_day(others: &[Timestamp], at: Timestamp) -> u32 {
    let before = |end: Timestamp| others.partition_point(|other| *other < end);
    let begins = &others
        [others.partition_point(|other| *other + COUNTED_WITHIN <= at)..others.partition_point(|other| *other <= at)];
    let most = begins.iter().copied().chain([at]).map(|begin| before(begin + COUNTED_WITHIN) - before(begin)).max();
    most.and_then(|most| u32::try_from(most).ok()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDINARY: DialFacts = DialFacts {
        plan: NumberingPlan { tariff: Tariff::Ordinary, country_code_digits: 1 },
        own_number: false,
        dialed_in_a_day: Some(0),
        cost_today_micros: 0,
    };

    fn policy(allow: &str, deny: &str) -> DialPolicy {
        let prefixes = |text| parse_prefixes(text).expect("prefixes");
        DialPolicy { allow: prefixes(allow), deny: prefixes(deny), ..DialPolicy::default() }
    }

    fn check(policy: &DialPolicy, to: &str, facts: &DialFacts) -> Result<(), DialRefused> {
        policy.check(&to.parse().expect("a number"), facts)
    }

    #[test]
    fn prefixes_allow_and_deny() {
        let any = policy("", "");
        assert_eq!(check(&any, "+12025550100", &ORDINARY), Ok(()));
        let some = policy("+1, +44,sip:", "+1900,+1202555");
        for (to, expected) in [
            ("+12125550100", Ok(())),
            ("+442079460000", Ok(())),
            ("sip:bob@example.com", Ok(())),
            ("+4930123456", Err(DialRefused::NotAllowed)),
            ("sips:bob@example.com", Err(DialRefused::NotAllowed)),
            ("+12025550100", Err(DialRefused::Denied("+1202555".parse().expect("a prefix")))),
            ("sip:+12025550100@example.com", Err(DialRefused::Denied("+1202555".parse().expect("a prefix")))),
        ] {
            assert_eq!(check(&some, to, &ORDINARY), expected, "{to}");
        }
    }

    #[test]
    fn a_denied_address_is_denied_in_every_spelling() {
        let denied = policy("", "sip:bob@example.com");
        for to in
            ["sip:bob@example.com", "sips:bob@EXAMPLE.com", "sip:%62ob@example.com:5060", "sip:bob:pw@example.com"]
        {
            assert!(check(&denied, to, &ORDINARY).is_err(), "{to}");
        }
        assert_eq!(check(&denied, "sip:rob@example.com", &ORDINARY), Ok(()));
        let by_tls = policy("", "sips:bob@example.com");
        assert!(check(&by_tls, "sip:bob@example.com", &ORDINARY).is_err());
    }

    #[test]
    fn calls_count_in_every_day_that_includes_them() {
        let hour = |hour: i64| Timestamp::from_micros(hour * 3_600_000_000);
        let most = |others: &[i64], at| most_in_a_day(&others.iter().map(|at| hour(*at)).collect::<Vec<_>>(), hour(at));
        assert_eq!(most(&[], 0), 0);
        assert_eq!(most(&[0, 1, 2], 3), 3);
        assert_eq!(most(&[0, 1, 2], 24), 2, "the first one is a day ago");
        assert_eq!(most(&[0, 1, 2], 100), 0);
        assert_eq!(most(&[10, 11, 40, 41, 42], 30), 3, "those before, or those after");
        assert_eq!(most(&[20, 21, 40, 41, 42], 30), 5, "all within a day");
    }

    #[test]
    fn numbers_that_cost_are_denied_unless_a_prefix_names_them() {
        let facts =
            |tariff, country_code_digits| DialFacts { plan: NumberingPlan { tariff, country_code_digits }, ..ORDINARY };
        let (premium, satellite) = (facts(Tariff::PremiumRate, 1), facts(Tariff::Satellite, 3));
        let refused = |tariff| Err(DialRefused::Tariff(tariff));
        for (allow, expected) in
            [("", refused(Tariff::PremiumRate)), ("+1", refused(Tariff::PremiumRate)), ("+1,+1900", Ok(()))]
        {
            assert_eq!(check(&policy(allow, ""), "+19002345678", &premium), expected, "{allow}");
        }
        assert_eq!(check(&policy("", ""), "+881612345678", &satellite), refused(Tariff::Satellite));
        assert_eq!(check(&policy("+881", ""), "+881612345678", &satellite), Ok(()));
    }

    #[test]
    fn a_number_a_day_and_a_dollar_have_their_limits() {
        let mut policy = DialPolicy { cost_per_day_micros: Some(2_500_000), ..DialPolicy::default() };
        let often = |calls| DialFacts { dialed_in_a_day: Some(calls), ..ORDINARY };
        assert_eq!(check(&policy, "+12025550100", &often(19)), Ok(()));
        assert_eq!(check(&policy, "+12025550100", &often(20)), Err(DialRefused::PerNumber(20)));
        policy.per_number_per_day = None;
        assert_eq!(check(&policy, "+12025550100", &often(2000)), Ok(()));
        let spent = |micros| DialFacts { cost_today_micros: micros, ..ORDINARY };
        assert_eq!(check(&policy, "+12025550100", &spent(2_499_999)), Ok(()));
        let refused = check(&policy, "+12025550100", &spent(2_500_000)).expect_err("enough");
        assert_eq!(refused.to_string(), "is refused by this tenant's dial policy: calls may cost 2.50 USD per day");
        let own = DialFacts { own_number: true, ..ORDINARY };
        assert_eq!(check(&policy, "+12025550100", &own), Err(DialRefused::OwnNumber));
        assert!(DialRefused::OwnNumber.is_lasting() && !refused.is_lasting(), "tomorrow has its own limits");
    }

    #[test]
    fn a_prefix_is_digits_or_a_sip_scheme() {
        for bad in ["44", "+", "+1a", "+1234567890123456", "tel:", "sip:a b"] {
            assert!(bad.parse::<Prefix>().is_err(), "{bad}");
        }
        assert_eq!(parse_prefixes(" +1 ,, sip:a@b").map(|all| all.len()), Ok(2));
    }
}
