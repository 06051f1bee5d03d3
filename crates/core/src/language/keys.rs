//! The names of the keys `*` and `#` on a telephone, as a speaker of the language says them.

/// The names of both keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyNames {
    /// `*`.
    pub star: &'static str,
    /// `#`.
    pub hash: &'static str,
}

/// By BCP 47 tag, those of a region before those of the whole language.
const NAMES: &[(&str, &str, &str)] = &[
    ("en-GB", "star", "hash"),
    ("en-IE", "star", "hash"),
    ("en-AU", "star", "hash"),
    ("en-NZ", "star", "hash"),
    ("en-ZA", "star", "hash"),
    ("en-IN", "star", "hash"),
    ("en", "star", "pound"),
    ("de", "Stern", "Raute"),
    ("es-ES", "asterisco", "almohadilla"),
    ("es-MX", "asterisco", "gato"),
    ("es-419", "asterisco", "numeral"),
    ("es-AR", "asterisco", "numeral"),
    ("es-CL", "asterisco", "gato"),
    ("es-CO", "asterisco", "numeral"),
    ("es-PE", "asterisco", "numeral"),
    ("es", "asterisco", "almohadilla"),
    ("fr-CA", "étoile", "carré"),
    ("fr", "étoile", "dièse"),
    ("hi", "स्टार", "हैश"),
    ("it", "asterisco", "cancelletto"),
    ("ja", "こめじるし", "シャープ"),
    ("nl", "sterretje", "hekje"),
    ("pt-PT", "asterisco", "cardinal"),
    ("pt", "asterisco", "jogo da velha"),
    ("cs", "hvězdička", "křížek"),
    ("da", "stjerne", "firkant"),
    ("fi", "tähti", "ruutu"),
    ("hu", "csillag", "kettőskereszt"),
    ("ko", "별표", "우물 정자"),
    ("nb", "stjerne", "firkant"),
    ("no", "stjerne", "firkant"),
    ("pl", "gwiazdka", "krzyżyk"),
    ("ro", "steluță", "diez"),
    ("ru", "звёздочка", "решётка"),
    ("sv", "stjärna", "fyrkant"),
    ("tr", "yıldız", "kare"),
    ("uk", "зірочка", "решітка"),
    ("zh", "星号键", "井号键"),
];

impl KeyNames {
    /// The characters themselves, for a TTS that knows the language better.
    pub const NONE: Self = Self { star: "*", hash: "#" };

    /// Returns the names for a BCP 47 tag: those of the tag, else of its primary subtag, else the characters. Agents that speak any language
    /// (`multi`, or no tag) use the English ones.
    #[must_use]
    pub fn of(tag: &str) -> Self {
        let tag = if tag.is_empty() || tag.eq_ignore_ascii_case("multi") { "en" } else { tag };
        let find = |tag: &str| NAMES.iter().find(|(known, ..)| known.eq_ignore_ascii_case(tag));
        let primary = tag.split('-').next().unwrap_or_default();
        find(tag).or_else(|| find(primary)).map_or(Self::NONE, |(_, star, hash)| Self { star, hash })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_names_of_the_region_or_the_language() {
        for (tag, star, hash) in [
            ("en-US", "star", "pound"),
            ("EN-gb", "star", "hash"),
            ("", "star", "pound"),
            ("multi", "star", "pound"),
            ("de-AT", "Stern", "Raute"),
            ("fr-CA", "étoile", "carré"),
            ("tlh", "*", "#"),
        ] {
            assert_eq!(KeyNames::of(tag), KeyNames { star, hash }, "{tag}");
        }
    }
}
