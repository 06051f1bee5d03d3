//! Enums with the same fixed values in the database, in JSON and in URLs.

/// The text is not a value of the enum.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be one of: {expected}")]
pub struct UnknownWord {
    /// The valid values, comma-separated.
    pub expected: String,
}

/// Declares a fieldless enum with fixed external values.
macro_rules! wire_words {
    ($($(#[doc = $doc:literal])* pub enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),* $(,)? })*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant),* }

        impl $name {
            /// Every variant, in order of declaration.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns the external value of this variant.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::wire::UnknownWord;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => Err($crate::wire::UnknownWord { expected: [$($word),*].join(", ") }),
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::schema::Schema> {
                let words = utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .description(Some(concat!($($doc),*).trim()))
                    .enum_values(Some([$($word),*]));
                words.into()
            }
        }

        #[cfg(feature = "openapi")]
        impl utoipa::ToSchema for $name {}
    )*};
}
pub(crate) use wire_words;

#[cfg(test)]
mod tests {
    #![allow(unreachable_pub, reason = "the macro is made for public enumerations")]

    wire_words! {
        /// A fruit.
        pub enum Fruit {
            /// Red or green.
            Apple = "apple",
            /// Yellow and long.
            Banana = "yellow_banana",
        }
    }

    #[test]
    fn a_word_is_the_same_in_text_and_in_json_and_strangers_are_refused() {
        assert_eq!("yellow_banana".parse(), Ok(Fruit::Banana));
        assert_eq!(serde_json::to_string(&Fruit::Apple).expect("a string"), "\"apple\"");
        assert_eq!(serde_json::from_str::<Fruit>("\"\\u0061pple\"").expect("escaped, but the word"), Fruit::Apple);
        let refusal = "Apple".parse::<Fruit>().expect_err("words are written in lower case");
        assert_eq!(refusal.to_string(), "must be one of: apple, yellow_banana");
        assert_eq!(Fruit::ALL, [Fruit::Apple, Fruit::Banana]);
    }
}
