//! Weights of the evidence for the end of a turn. Made by `bench-turns --fit`; do not edit.

/// The log odds of an end without any evidence.
pub(super) const BIAS: f32 = 0.68;

/// Log odds that each kind of evidence adds, in the order of `Evidence::ALL`.
pub(super) const WEIGHTS: [f32; 20] = [
    -0.59, // no_words
    -0.40, // not_final
    0.90,  // answer
    -2.59, // open_word
    -1.63, // loose_word
    -2.30, // dictation_begun
    -0.97, // dictation_partial
    2.35,  // dictation_complete
    0.60,  // question
    -0.78, // doubtful_question
    0.46,  // closed_sentence
    -2.00, // suspension
    0.10,  // request
    -0.69, // short_phrase
    0.42,  // short_answer
    -1.43, // missing_object
    -2.21, // subordinate_clause
    -1.21, // missing_number
    -0.40, // long_pauses
    -0.45, // unknown_language
];
