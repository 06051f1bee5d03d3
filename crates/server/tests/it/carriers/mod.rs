//! Real carriers, by their doubles: calls placed through the API, answered by nobody real.

mod telnyx;
