//! A connection that is made while the phone rings.

use switchhook_providers::ProviderError;
use tokio_util::task::AbortOnDropHandle;
use tracing::Instrument as _;

/// The state of a connection.
pub(super) enum Connecting<T> {
    InProgress(AbortOnDropHandle<Result<T, ProviderError>>),
    Done(Result<T, ProviderError>),
}

impl<T: Send + 'static> Connecting<T> {
    /// Starts to connect; dropping it cancels it.
    pub(super) fn start(work: impl Future<Output = Result<T, ProviderError>> + Send + 'static) -> Self {
        Self::InProgress(AbortOnDropHandle::new(tokio::spawn(work.in_current_span())))
    }

    /// Waits for the result. A panic becomes an error that names `provider`. Cancel safe.
    pub(super) async fn wait(&mut self, provider: &'static str) -> &mut Result<T, ProviderError> {
        if let Self::InProgress(task) = self {
            let stopped = || ProviderError::Failed { provider, message: "it stopped unexpectedly".to_owned() };
            let connected = task.await.unwrap_or_else(|_| Err(stopped()));
            *self = Self::Done(connected);
        }
        match self {
            Self::Done(connected) => connected,
            Self::InProgress(_) => unreachable!("it was waited for above"),
        }
    }
}
