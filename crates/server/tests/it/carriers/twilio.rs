//! Calls over Twilio.
