//! Fourier transforms, and the resampler that is made of them, each behind a trait object.
//!
//! rustfft and rubato are generic: every crate that plans a transform compiles all transforms, which takes half a minute. This crate does it
//! for the others.

use std::sync::Arc;

use rubato::{FixedSync, ResamplerConstructionError, WindowFunction};
pub use rubato::{Resampler, audioadapter_buffers};
use rustfft::FftPlanner;
pub use rustfft::{Fft, num_complex::Complex32};

/// Plans a transform of `len` samples.
#[must_use]
pub fn forward(len: usize) -> Arc<dyn Fft<f32>> {
    FftPlanner::new().plan_fft_forward(len)
}

/// Plans the inverse transform of `len` values, which are not scaled: transformed forward and back, a signal is `len` times itself.
#[must_use]
pub fn inverse(len: usize) -> Arc<dyn Fft<f32>> {
    FftPlanner::new().plan_fft_inverse(len)
}

/// Makes a resampler of one channel, from one rate in Hz to another, for chunks of at least `chunk` samples of input.
///
/// # Errors
/// Fails if a rate or `chunk` is 0.
pub fn resampler(
    from_hz: usize,
    to_hz: usize,
    chunk: usize,
) -> Result<Box<dyn Resampler<f32> + Send + Sync>, ResamplerConstructionError> {
    let window = WindowFunction::BlackmanHarris2;
    Ok(Box::new(rubato::Fft::new_custom(from_hz, to_hz, chunk, 1, 1, window, FixedSync::Both)?))
}
