//! Tariffs of phone numbers, from the numbering plans of the world.

use std::str::FromStr as _;

use phonenumber::metadata::DATABASE;
use phonenumber::{PhoneNumber as Parsed, Type};
use switchhook_core::dial_policy::{NumberingPlan, Tariff};
use switchhook_core::phone_number::PhoneNumber;

/// Country calling codes that belong to no country: Inmarsat, the global mobile satellite systems, and the international networks, among
/// them Thuraya and other satellite phones (ITU-T, "List of Recommendation E.164 assigned country codes").
const SATELLITE: [u16; 4] = [870, 881, 882, 883];

/// Loads the numbering plans, so that the first call does not have to wait for it.
pub fn warm_up() {
    let any = PhoneNumber::from_str("+12025550100").expect("a number");
    let _ = numbering_plan(&any);
}

/// Returns what the numbering plans say about a number. For a SIP address, that is the number in it.
#[must_use]
pub fn numbering_plan(to: &PhoneNumber) -> NumberingPlan {
    let Some(parsed) = to.e164().and_then(|number| phonenumber::parse(None, number).ok()) else {
        return NumberingPlan { tariff: Tariff::Ordinary, country_code_digits: 0 };
    };
    let country = parsed.country().code();
    NumberingPlan { tariff: of_type(&parsed, country), country_code_digits: country.to_string().len() }
}

fn of_type(number: &Parsed, country: u16) -> Tariff {
    if SATELLITE.contains(&country) {
        return Tariff::Satellite;
    }
    match number.number_type(&DATABASE) {
        Type::PremiumRate => Tariff::PremiumRate,
        Type::SharedCost => Tariff::SharedCost,
        _ => Tariff::Ordinary,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_earn_their_owners_money_are_known() {
        for (number, (tariff, country_code_digits)) in [
            ("+12025550100", (Tariff::Ordinary, 1)),
            ("+18005550100", (Tariff::Ordinary, 1)),
            ("+19002345678", (Tariff::PremiumRate, 1)),
            ("+4930123456", (Tariff::Ordinary, 2)),
            ("+499001234567", (Tariff::PremiumRate, 2)),
            ("+441514960000", (Tariff::Ordinary, 2)),
            ("+449091234567", (Tariff::PremiumRate, 2)),
            ("+491801234567", (Tariff::SharedCost, 2)),
            ("+33892123456", (Tariff::PremiumRate, 2)),
            ("+881612345678", (Tariff::Satellite, 3)),
            ("+870773123456", (Tariff::Satellite, 3)),
            ("+88216123456", (Tariff::Satellite, 3)),
            ("sip:+19002345678@gateway.example.com", (Tariff::PremiumRate, 1)),
            ("sip:bob@example.com", (Tariff::Ordinary, 0)),
        ] {
            let expected = NumberingPlan { tariff, country_code_digits };
            assert_eq!(numbering_plan(&number.parse().expect("a number")), expected, "{number}");
        }
    }
}
